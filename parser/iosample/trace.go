package iosample

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strconv"
	"time"
)

// TraceVersion is that of the trace format. Fields are only ever added to it.
const TraceVersion = 1

// Header is the first line of a trace: what was sampled, where and how.
type Header struct {
	TraceVersion int       `json:"trace_version"`
	Host         string    `json:"host,omitempty"`
	BootID       string    `json:"boot_id,omitempty"`
	Kernel       string    `json:"kernel,omitempty"`
	PID          int       `json:"pid,omitempty"`         // 0 where the server is not on this host
	StartTicks   uint64    `json:"start_ticks,omitempty"` // of the process, since boot
	Exe          string    `json:"exe,omitempty"`
	Source       string    `json:"source"`
	Exactness    Exactness `json:"exactness"`
	Detail       string    `json:"detail,omitempty"`
	Refused      []Refusal `json:"refused"`
	// ClockOffset is the host's wall clock less CLOCK_MONOTONIC when the trace
	// began, in nanoseconds: Unix time = mono_ns + ClockOffset.
	ClockOffset int64    `json:"clock_offset_ns,omitempty"`
	Interval    float64  `json:"interval_seconds,omitempty"` // between samples
	Device      string   `json:"device,omitempty"`           // the disk that holds the data directory
	WriteCache  string   `json:"write_cache,omitempty"`      // of that disk: "write back" or "write through"
	Server      string   `json:"server,omitempty"`           // what the server was reached as; never with a password
	Settings    Settings `json:"settings,omitempty"`         // nil where the server was not asked
}

// Refusal is why a source could not be used.
type Refusal struct {
	Source string `json:"source"`
	Why    string `json:"why"` // names the missing capability, right or setting
}

// Settings are those of the server that bear on its syncs, by the names of
// its variables, such as "sync_binlog": "1".
type Settings map[string]string

// Sample is the counters at one moment. Syncs, Lost and Latency are cumulative
// since the source was opened, so that a sample that is lost costs resolution
// only.
type Sample struct {
	Time       time.Time `json:"t"`
	Mono       int64     `json:"mono_ns"` // CLOCK_MONOTONIC
	PID        int       `json:"pid,omitempty"`
	StartTicks uint64    `json:"start_ticks,omitempty"` // differs from the header's where the server was restarted
	// Files has the files whose count or size changed since the sample before;
	// the first and the last sample have all.
	Files []Count `json:"files"`
	// What /proc says beside the source, nil where it cannot be read.
	WChar         *int64 `json:"wchar,omitempty"`          // bytes given to write calls since the process was started
	SysCW         *int64 `json:"syscw,omitempty"`          // write calls since then
	DeviceFlushes *int64 `json:"device_flushes,omitempty"` // of the header's device, by all programs; as the kernel has it
	// CPU is in one sample a second, and in the first and the last one.
	CPU  *CPU  `json:"cpu,omitempty"`
	Lost int64 `json:"lost"` // syncs whose events the kernel dropped, of all programs
	// Status has counters of the server, as it has them.
	Status   map[string]int64 `json:"status,omitempty"`
	Latency  []Latency        `json:"latency,omitempty"`  // by class, of all syncs so far
	Settings Settings         `json:"settings,omitempty"` // where they differ from those before
	Gap      string           `json:"gap,omitempty"`      // why syncs since the sample before may be missing
}

// Latency describes how long the syncs of a class took. Percentiles are
// nearest rank, to three significant digits.
type Latency struct {
	Class Class `json:"class"`
	Count int64 `json:"count"`
	P50   int64 `json:"p50_ns"`
	P99   int64 `json:"p99_ns"`
}

// Interval is a sample, and the syncs that came before it and after the one
// before.
type Interval struct {
	Syncs []SyncEvent // of binlogs, by rising time; from sources with events
	// Sample is nil in the last interval of a trace that ends without one, and
	// where there are very many syncs.
	Sample *Sample
}

// syncLine is a sync in a trace. Name is "" in traces of other programs; the
// samples then say which file has the inode.
type syncLine struct {
	Mono    int64  `json:"mono_ns"`
	Name    string `json:"name,omitempty"`
	Ino     uint64 `json:"ino"`
	Size    int64  `json:"size"`
	TID     int    `json:"tid,omitempty"`
	Latency int64  `json:"latency_ns,omitempty"`
}

// Writer writes a trace. It is not safe for concurrent use.
type Writer struct {
	w   io.Writer
	buf bytes.Buffer
	enc *json.Encoder

	name   string // of the log of the last sync
	quoted []byte // as JSON
	err    error  // the first; behind a torn line nothing could be read
}

// NewWriter writes the header to w.
func NewWriter(w io.Writer, h *Header) (*Writer, error) {
	t := &Writer{w: w}
	t.enc = json.NewEncoder(&t.buf)
	t.enc.SetEscapeHTML(false)
	line := *h
	line.TraceVersion = TraceVersion
	if line.Refused == nil {
		line.Refused = []Refusal{}
	}
	if err := t.enc.Encode(&line); err != nil {
		return nil, err
	}
	return t, t.flush()
}

// Write appends an interval, in one write. After an error what was written
// before is whole but perhaps for its last line, which readers pass over, and
// nothing more is written.
func (t *Writer) Write(v *Interval) error {
	for i := range v.Syncs {
		if s := &v.Syncs[i]; s.Class == Binlog {
			if err := t.sync(s); err != nil {
				return err
			}
		}
	}
	if v.Sample != nil {
		line := *v.Sample
		line.Time = line.Time.UTC()
		if line.Files == nil {
			line.Files = []Count{}
		}
		if err := t.enc.Encode(&line); err != nil {
			return err
		}
	}
	return t.flush()
}

// sync appends the line of a sync, as syncLine has it: by hand, since there may be
// thousands in a second.
func (t *Writer) sync(s *SyncEvent) error {
	if s.Name != t.name || t.quoted == nil {
		quoted, err := json.Marshal(s.Name)
		if err != nil {
			return err
		}
		t.name, t.quoted = s.Name, quoted
	}
	b := append(t.buf.AvailableBuffer(), `{"sync":{"mono_ns":`...)
	b = strconv.AppendInt(b, s.Mono, 10)
	if s.Name != "" {
		b = append(append(b, `,"name":`...), t.quoted...)
	}
	b = strconv.AppendUint(append(b, `,"ino":`...), s.File.Ino, 10)
	b = strconv.AppendInt(append(b, `,"size":`...), s.Size, 10)
	if s.TID != 0 {
		b = strconv.AppendInt(append(b, `,"tid":`...), int64(s.TID), 10)
	}
	if s.Latency != 0 {
		b = strconv.AppendInt(append(b, `,"latency_ns":`...), s.Latency, 10)
	}
	t.buf.Write(append(b, "}}\n"...))
	return nil
}

func (t *Writer) flush() error {
	if t.err == nil {
		_, t.err = t.w.Write(t.buf.Bytes())
	}
	t.buf.Reset()
	return t.err
}

// Errors of a trace.
var (
	// ErrNotTrace is of input that does not begin with a trace's header.
	ErrNotTrace = errors.New("not a trace")
	// ErrTraceVersion is of a trace that a later bgcstat wrote.
	ErrTraceVersion = errors.New("unsupported trace version")
)

// maxLine bounds a line of a trace: a sample of 100,000 files is as long.
const maxLine = 16 << 20

// maxSyncs bounds the syncs of one interval: between two samples are far fewer.
const maxSyncs = 1 << 14

// Reader reads a trace. It is not safe for concurrent use.
type Reader struct {
	// Header is that of the trace.
	Header Header
	// Torn reports, at the end, that the last line was cut short.
	Torn bool

	lines *bufio.Scanner
	line  int
	names map[uint64]namedSize // of binlogs, by inode
	err   error
}

// namedSize is a file's name, "" for none, and its size when it was last seen.
type namedSize struct {
	name string
	size int64
}

// NewReader reads the header from r. An error wraps ErrNotTrace or
// ErrTraceVersion where what was read is the cause.
func NewReader(r io.Reader) (*Reader, error) {
	t := &Reader{lines: bufio.NewScanner(r), names: map[uint64]namedSize{}}
	t.lines.Buffer(make([]byte, 64<<10), maxLine)
	if !t.lines.Scan() {
		switch err := t.lines.Err(); {
		case errors.Is(err, bufio.ErrTooLong):
			return nil, fmt.Errorf("%w: the first line is longer than %d bytes", ErrNotTrace, maxLine)
		case err != nil:
			return nil, err
		}
		return nil, fmt.Errorf("%w: it is empty", ErrNotTrace)
	}
	t.line = 1
	var version struct {
		N *int `json:"trace_version"`
	}
	if err := json.Unmarshal(t.lines.Bytes(), &version); err != nil || version.N == nil {
		return nil, fmt.Errorf("%w: the first line has no trace_version", ErrNotTrace)
	}
	if *version.N != TraceVersion {
		return nil, fmt.Errorf("%w: got %d, want %d", ErrTraceVersion, *version.N, TraceVersion)
	}
	if err := json.Unmarshal(t.lines.Bytes(), &t.Header); err != nil {
		return nil, fmt.Errorf("%w: header: %w", ErrNotTrace, plainJSON(err))
	}
	return t, nil
}

// Next gives the next interval, or io.EOF. The error of a line that cannot be
// read, other than a torn last one, ends the trace, after all before it.
func (t *Reader) Next() (*Interval, error) {
	if t.err != nil {
		return nil, t.err
	}
	v := &Interval{}
	for len(v.Syncs) < maxSyncs && t.lines.Scan() {
		t.line++
		if len(bytes.TrimSpace(t.lines.Bytes())) == 0 {
			continue
		}
		var line struct {
			Sync *syncLine `json:"sync"`
			Sample
		}
		if err := json.Unmarshal(t.lines.Bytes(), &line); err != nil {
			bad := fmt.Errorf("line %d: %w", t.line, plainJSON(err))
			if t.lines.Scan() { // not the last line
				return t.end(v, bad)
			}
			t.Torn = true
			break
		}
		if s := line.Sync; s != nil {
			if s.Size < 0 || s.Mono < 0 || s.Latency < 0 {
				return t.end(v, fmt.Errorf("line %d: sync: a number is below 0", t.line))
			}
			v.Syncs = append(v.Syncs, SyncEvent{
				Mono: s.Mono, File: FileID{Ino: s.Ino}, Class: Binlog, Name: s.Name, Size: s.Size, TID: s.TID, Latency: s.Latency,
			})
			continue
		}
		if line.Sample.Time.IsZero() {
			continue // a kind of line that a later bgcstat may add
		}
		v.Sample = &line.Sample
		if v.Sample.Mono < 0 || v.Sample.Lost < 0 {
			return t.end(&Interval{Syncs: v.Syncs}, fmt.Errorf("line %d: a number is below 0", t.line))
		}
		if c := v.Sample.CPU; c != nil && !c.valid() {
			return t.end(&Interval{Syncs: v.Syncs}, fmt.Errorf("line %d: cpu: a number is missing, below 0 or too large", t.line))
		}
		for i := range v.Sample.Files {
			if f := &v.Sample.Files[i]; f.Syncs < 0 || f.Size < 0 {
				return t.end(&Interval{Syncs: v.Syncs}, fmt.Errorf("line %d: file %q: a number is below 0", t.line, f.Name))
			}
		}
		t.name(v)
		return v, nil
	}
	if len(v.Syncs) == maxSyncs {
		t.name(v)
		return v, nil
	}
	err := t.lines.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		err = fmt.Errorf("line %d: longer than %d bytes", t.line+1, maxLine)
	}
	if err == nil {
		err = io.EOF
	}
	return t.end(v, err)
}

// plainJSON names the field that is of another type, and none of Go's types.
func plainJSON(err error) error {
	e, ok := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case !ok:
		return err
	case e.Field == "":
		return fmt.Errorf("got a %.80s, want an object", e.Value)
	}
	return fmt.Errorf("%s: got a %.80s, want %s", e.Field, e.Value, e.Type.Kind())
}

// end gives what was read before the trace ends with err.
func (t *Reader) end(v *Interval, err error) (*Interval, error) {
	t.err = err
	if len(v.Syncs) == 0 {
		return nil, err
	}
	t.name(v)
	return v, nil
}

// name gives names to syncs that have none: that of the inode so far, or else
// in the sample that follows. Where that sample has another file for an inode
// that had one, the syncs from the first on that is of a smaller size are of
// the new file.
func (t *Reader) name(v *Interval) {
	now := map[uint64]namedSize{}
	if v.Sample != nil {
		for i := range v.Sample.Files {
			if f := &v.Sample.Files[i]; f.Class == Binlog && f.Ino != 0 {
				now[f.Ino] = namedSize{f.Name, f.Size}
			}
		}
	}
	for i := range v.Syncs {
		s := &v.Syncs[i]
		if s.Name != "" {
			continue
		}
		f := t.names[s.File.Ino]
		if after, listed := now[s.File.Ino]; listed && (f.name == "" || after.name != f.name && s.Size < f.size) {
			f.name = after.name
		}
		f.size = s.Size
		t.names[s.File.Ino] = f
		s.Name = f.name
	}
	maps.Copy(t.names, now)
}
