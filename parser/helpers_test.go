package parser_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"bgcstat/parser"
	"bgcstat/parser/binlogtest"
)

// marshal makes a log of its text form.
func marshal(tb testing.TB, text string) []byte {
	tb.Helper()
	data, err := binlogtest.Marshal(text)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// read gives a line for each transaction of a log, and the log.
func read(src io.Reader, name string) (lines []string, log *parser.Log, err error) {
	r := parser.NewReader(src, name, parser.Options{})
	for {
		t, err := r.Next()
		if err != nil {
			return lines, r.Log(), err
		}
		lines = append(lines, txnLine(t))
	}
}

func readBytes(data []byte, name string) ([]string, *parser.Log, error) {
	return read(bytes.NewReader(data), name)
}

// txnLine is a transaction as the golden files have it:
//
//	start-end GTID last_committed/sequence_number [commit id] thread terminator tables inserts/updates/deletes [more]
func txnLine(t *parser.Txn) string {
	var b strings.Builder
	add := func(format string, args ...any) { fmt.Fprintf(&b, " "+format, args...) }
	fmt.Fprintf(&b, "%d-%d", t.Start, t.End)
	switch {
	case !t.HasGTIDEvent:
		add("no-gtid")
	case t.GTID.IsZero():
		add("anonymous")
	default:
		add("%v", t.GTID)
	}
	if t.HasClock {
		add("%d/%d", t.LastCommitted, t.SequenceNumber)
	} else {
		add("-")
	}
	if t.CommitID != 0 {
		add("cid=%d", t.CommitID)
	}
	if t.HasThreadID {
		add("thread=%d", t.ThreadID)
	}
	add("%v", strings.ReplaceAll(t.Terminator.String(), " ", "-"))
	for _, c := range t.Tables {
		add("%v:%d/%d/%d", c.Table, c.Inserts, c.Updates, c.Deletes)
	}
	add("%d/%d/%d", t.Inserts, t.Updates, t.Deletes)
	add("events=%d", t.Events)
	if t.HasXID {
		add("xid=%d", t.XID)
	}
	if t.CommitTime != 0 {
		add("commit=%d.%06d", t.CommitTime/1e6, t.CommitTime%1e6)
	}
	if t.OriginalCommitTime != t.CommitTime {
		add("original=%d.%06d", t.OriginalCommitTime/1e6, t.OriginalCommitTime%1e6)
	}
	if t.StatedLength != 0 {
		add("length=%d", t.StatedLength)
	}
	if t.ServerVersion != 0 {
		add("version=%d", t.ServerVersion)
	}
	if t.ServerID != t.Log.ServerID {
		add("server=%d", t.ServerID)
	}
	if t.Stretch != 0 {
		add("stretch=%d", t.Stretch)
	}
	if len(t.Databases) > 0 {
		add("db=%s", strings.Join(t.Databases, ","))
	}
	for _, flag := range []struct {
		set  bool
		name string
	}{{t.RBROnly, "rbr"}, {t.Compressed, "compressed"}, {t.Waited, "waited"}, {t.RaisesClock, "raises-clock"}} {
		if flag.set {
			add("%s", flag.name)
		}
	}
	return b.String()
}

// logLines is a log as the golden files have it, and how Next ended.
func logLines(l *parser.Log, err error) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v %q %v server=%d", l.Flavor, l.ServerVersion, l.Kind(), l.ServerID)
	for _, flag := range []struct {
		set  bool
		name string
	}{
		{l.Open(), "open"},
		{l.Complete(), "complete"},
		{l.HasChecksums, "checksums"},
		{l.ServerStarted, "started"},
		{l.InUse, "in-use"},
	} {
		if flag.set {
			b.WriteString(" " + flag.name)
		}
	}
	fmt.Fprintf(&b, "\nbytes=%d events=%d transactions=%d replicated=%d damaged=%d", l.Bytes, l.Events, l.Transactions, l.Replicated, l.Damaged)
	if l.ClosedBy != 0 {
		fmt.Fprintf(&b, " closed-by=%v", l.ClosedBy)
	}
	if l.Next != "" {
		fmt.Fprintf(&b, " next=%s", l.Next)
	}
	b.WriteString("\n")
	if l.PreviousGTIDs != nil {
		fmt.Fprintf(&b, "previous %v\n", l.PreviousGTIDs)
	}
	if l.GTIDs != nil && l.GTIDs.String() != "" {
		fmt.Fprintf(&b, "gtids %v\n", l.GTIDs)
	}
	for typ := range 256 {
		if n := l.Unknown[parser.EventType(typ)]; n > 0 {
			fmt.Fprintf(&b, "unknown %d: %d\n", typ, n)
		}
	}
	for _, w := range l.Warnings {
		fmt.Fprintf(&b, "warning %s x%d at %v: %s\n", w.Code, w.Count, w.At, w.Message)
	}
	if !errors.Is(err, io.EOF) {
		fmt.Fprintf(&b, "error %v\n", err)
	}
	if l.Err == nil && !errors.Is(err, io.EOF) || l.Err != nil && !errors.Is(err, l.Err) {
		fmt.Fprintf(&b, "log error differs: %v\n", l.Err)
	}
	return b.String()
}

// corpus gives the folder with binlogs of many servers that is kept beside the
// repository, and skips the test without it, but not in CI.
func corpus(tb testing.TB) string {
	tb.Helper()
	const dir = "../../shared/corpus"
	if _, err := os.Stat(dir); err != nil {
		if os.Getenv("CI") == "true" {
			tb.Fatal(err)
		}
		tb.Skipf("needs real binlogs: %v", err)
	}
	return dir
}

// realLogs are the plain logs of servers in testdata.
func realLogs(tb testing.TB) []string {
	tb.Helper()
	logs, err := filepath.Glob("../testdata/binlog/*/*bin*.0*[0-9]")
	if err != nil {
		tb.Fatal(err)
	}
	return logs
}

// span gives where the transaction of a line begins and ends.
func span(tb testing.TB, line string) (start, end int) {
	tb.Helper()
	if _, err := fmt.Sscanf(line, "%d-%d", &start, &end); err != nil {
		tb.Fatalf("%q: %v", line, err)
	}
	return start, end
}

func itoa(n int) string { return strconv.Itoa(n) }

// builderLog is a log of n transactions by a Builder.
func builderLog(tb testing.TB, n int) []byte {
	tb.Helper()
	var log bytes.Buffer
	b := binlogtest.NewBuilder(&log)
	for range n {
		if err := b.Txn(); err != nil {
			tb.Fatal(err)
		}
	}
	if err := b.Close(); err != nil {
		tb.Fatal(err)
	}
	return log.Bytes()
}
