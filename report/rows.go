package report

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"bgcstat/analysis"
)

// RowWriter writes rows of dump. Close it to write out what it holds back.
type RowWriter interface {
	Write(row *analysis.Row) error
	Close() error
}

// JSONRows writes one JSON object a line.
func JSONRows(w io.Writer) RowWriter {
	buf := bufio.NewWriterSize(w, 64<<10)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	return &jsonRows{buf, enc}
}

type jsonRows struct {
	buf *bufio.Writer
	enc *json.Encoder
}

func (j *jsonRows) Write(row *analysis.Row) error { return j.enc.Encode(row) }
func (j *jsonRows) Close() error                  { return j.buf.Flush() }

// columns are the fields of a row, in the order of the JSON contract.
var columns = []struct {
	name  string
	value func(r *analysis.Row) string
}{
	{"file", func(r *analysis.Row) string { return r.File }},
	{"start", func(r *analysis.Row) string { return integer(&r.Start) }},
	{"end", func(r *analysis.Row) string { return integer(&r.End) }},
	{"bytes", func(r *analysis.Row) string { return integer(&r.Bytes) }},
	{"gtid", func(r *analysis.Row) string { return text(r.GTID) }},
	{"last_committed", func(r *analysis.Row) string { return integer(r.LastCommitted) }},
	{"sequence_number", func(r *analysis.Row) string { return integer(r.SequenceNumber) }},
	{"commit_id", func(r *analysis.Row) string { return integer(r.CommitID) }},
	{"commit_time", func(r *analysis.Row) string { return timestamp(r.CommitTime) }},
	{"original_commit_time", func(r *analysis.Row) string { return timestamp(r.OriginalCommitTime) }},
	{"event_time", func(r *analysis.Row) string { return timestamp(r.EventTime) }},
	{"server_id", func(r *analysis.Row) string { return integer(&r.ServerID) }},
	{"thread_id", func(r *analysis.Row) string { return integer(r.ThreadID) }},
	{"xid", func(r *analysis.Row) string { return integer(r.XID) }},
	{"rbr_only", func(r *analysis.Row) string { return boolean(r.RBROnly) }},
	{"terminator", func(r *analysis.Row) string { return r.Terminator }},
	{"compressed", func(r *analysis.Row) string { return boolean(&r.Compressed) }},
	{"insert_events", func(r *analysis.Row) string { return integer(&r.InsertEvents) }},
	{"update_events", func(r *analysis.Row) string { return integer(&r.UpdateEvents) }},
	{"delete_events", func(r *analysis.Row) string { return integer(&r.DeleteEvents) }},
	{"tables", func(r *analysis.Row) string { return array(r.Tables) }},
	{"sync_group", func(r *analysis.Row) string { return integer(r.SyncGroup) }},
	{"flush_group", func(r *analysis.Row) string { return integer(r.FlushGroup) }},
	{"basis", func(r *analysis.Row) string { return text(r.Basis) }},
	{"method", func(r *analysis.Row) string { return text(r.Method) }},
}

func integer[T int | int64 | uint32 | uint64](v *T) string {
	if v == nil {
		return ""
	}
	if *v < 0 {
		return strconv.FormatInt(int64(*v), 10)
	}
	return strconv.FormatUint(uint64(*v), 10)
}

func text[T ~string](v *T) string {
	if v == nil {
		return ""
	}
	return string(*v)
}

func boolean(v *bool) string {
	if v == nil {
		return ""
	}
	return strconv.FormatBool(*v)
}

func timestamp(t *analysis.Time) string {
	if t == nil {
		return ""
	}
	return t.String()
}

// array gives names as a JSON array.
func array(names []string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(names); err != nil {
		return "" // strings always encode
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// CSVRows writes a header line and one line a row.
func CSVRows(w io.Writer) RowWriter {
	return &csvRows{out: csv.NewWriter(w), fields: make([]string, len(columns))}
}

type csvRows struct {
	out    *csv.Writer
	fields []string
	begun  bool
}

func (c *csvRows) header() error {
	if c.begun {
		return nil
	}
	c.begun = true
	for i, col := range columns {
		c.fields[i] = col.name
	}
	return c.out.Write(c.fields)
}

func (c *csvRows) Write(row *analysis.Row) error {
	if err := c.header(); err != nil {
		return err
	}
	for i, col := range columns {
		c.fields[i] = col.value(row)
	}
	return c.out.Write(c.fields)
}

func (c *csvRows) Close() error {
	if err := c.header(); err != nil {
		return err
	}
	c.out.Flush()
	return c.out.Error()
}

// TextRows writes a line a row for a person: a header line for each log, then
// what there is, each value under a name where it needs one. All values are in
// the other two formats.
func TextRows(w io.Writer) RowWriter {
	return &textRows{out: bufio.NewWriterSize(w, 64<<10)}
}

type textRows struct {
	out  *bufio.Writer
	file string
}

func (t *textRows) Write(r *analysis.Row) error {
	if r.File != t.file {
		if t.file != "" {
			t.out.WriteByte('\n')
		}
		t.file = r.File
		fmt.Fprintf(t.out, "# %s\n", Printable(r.File))
		fmt.Fprintf(t.out, "# %8s %9s  %-26s %11s %9s %9s %-11s %s\n",
			"at", "bytes", "time (UTC)", "parent/seq", "commit id", "thread", "terminator", "row events and tables, GTID, group")
	}
	at := r.CommitTime
	if at == nil {
		at = r.EventTime
	}
	when := "-"
	if at != nil {
		when = strings.TrimSuffix(at.Format(time.DateTime+".000000"), ".000000")
	}
	clock := "-"
	if r.SequenceNumber != nil {
		clock = integer(r.LastCommitted) + "/" + integer(r.SequenceNumber)
	}
	var line strings.Builder
	fmt.Fprintf(&line, "%10d %9d  %-26s %11s %9s %9s %-11s", r.Start, r.Bytes, when, clock, dash(integer(r.CommitID)), dash(integer(r.ThreadID)), r.Terminator)
	for _, part := range []struct {
		n    int
		name string
	}{{r.InsertEvents, "insert"}, {r.UpdateEvents, "update"}, {r.DeleteEvents, "delete"}} {
		if part.n > 0 {
			fmt.Fprintf(&line, " %d %s", part.n, part.name)
		}
	}
	if len(r.Tables) > 0 {
		fmt.Fprintf(&line, " %s", Printable(strings.Join(r.Tables, ",")))
	}
	if r.Compressed {
		line.WriteString(" compressed")
	}
	if gtid := text(r.GTID); gtid != "" {
		fmt.Fprintf(&line, " %s", Printable(gtid))
	}
	if r.SyncGroup != nil {
		fmt.Fprintf(&line, " group %d (%s)", *r.SyncGroup, text(r.Basis))
	}
	_, err := t.out.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	return err
}

func (t *textRows) Close() error { return t.out.Flush() }

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
