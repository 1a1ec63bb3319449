package iosample

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"
)

// readTrace gives all intervals, and the error that they end with unless that
// is io.EOF.
func readTrace(text string) (*Reader, []*Interval, error) {
	r, err := NewReader(strings.NewReader(text))
	if err != nil {
		return nil, nil, err
	}
	var all []*Interval
	for {
		v, err := r.Next()
		if errors.Is(err, io.EOF) {
			return r, all, nil
		}
		if err != nil {
			if _, again := r.Next(); !errors.Is(again, err) {
				return r, all, fmt.Errorf("after %w: %w", err, again)
			}
			return r, all, err
		}
		all = append(all, v)
	}
}

// randomInterval has anything that a sampler may give, and what of it comes back.
func randomInterval(r *rand.Rand) (v, want *Interval) {
	v, want = &Interval{}, &Interval{}
	number := func() int64 { return r.Int64() >> r.IntN(63) }
	pointer := func() *int64 { return new(number()) }
	names := []string{"", "binlog.000001", "näme <&>\u2028\".000002", "d/t.ibd", strings.Repeat("n", 300)}
	for range r.IntN(5) {
		s := SyncEvent{
			Mono: number(), File: FileID{r.Uint64(), r.Uint64()}, Class: Classes[r.IntN(len(Classes))],
			Name: names[r.IntN(len(names))], Size: number(), TID: int(r.Int32()), Latency: number(),
		}
		v.Syncs = append(v.Syncs, s)
		if s.File.Dev = 0; s.Class == Binlog && s.Name != "" {
			want.Syncs = append(want.Syncs, s)
		} else if s.Class == Binlog { // those without a name have tests of their own
			v.Syncs = v.Syncs[:len(v.Syncs)-1]
		}
	}
	s := &Sample{
		Time: time.Unix(r.Int64N(1<<33), 1000*r.Int64N(1e6)).In(time.FixedZone("", 3600)), Mono: number(),
		PID: int(r.Int32()), StartTicks: r.Uint64(), Lost: number(), Gap: names[r.IntN(len(names))],
	}
	for range r.IntN(4) {
		s.Files = append(s.Files, Count{
			Class: Classes[r.IntN(len(Classes))], Name: names[r.IntN(len(names))], Dev: r.Uint64(), Ino: r.Uint64(),
			Syncs: number(), Size: number(), Encrypted: new(r.IntN(2) == 0), Exactness: Estimate, MeanLatency: number(),
		})
	}
	for range r.IntN(3) {
		s.Latency = append(s.Latency, Latency{Redo, number(), number(), number()})
	}
	if r.IntN(2) == 0 {
		s.WChar, s.SysCW, s.DeviceFlushes = pointer(), pointer(), new(int64)
		s.Status, s.Settings = map[string]int64{"Uptime": number()}, Settings{"sync_binlog": "1"}
		ticks := func() float64 { return seconds(r.Uint64() >> (64 - tickBits)) }
		s.CPU = &CPU{CPUs: 1 + r.IntN(9), User: ticks(), System: ticks(), IOWait: ticks(), Idle: ticks(), Steal: ticks()}
		if r.IntN(2) == 0 {
			s.CPU.ServerUser, s.CPU.ServerSystem = new(ticks()), new(ticks())
		}
	}
	v.Sample = s
	back := *s
	back.Time = s.Time.UTC()
	if back.Files == nil {
		back.Files = []Count{}
	}
	want.Sample = &back
	return v, want
}

// What is written is read, but for syncs of other files, and for devices.
func TestTraceRoundTrip(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 2))
		h := Header{
			Host: "h", BootID: "b", Kernel: "6.18", PID: 7, StartTicks: 8, Exe: "/usr/sbin/mysqld", Source: "bpf", Exactness: Exact, Detail: "d",
			ClockOffset: r.Int64(), Interval: 0.1, Device: "vda", WriteCache: "write back", Server: "root@localhost:3306",
		}
		if seed%2 == 0 {
			h.Refused, h.Settings = []Refusal{{"bpf", "needs CAP_BPF"}, {"perf", "<&>"}}, Settings{"version": "9.7.4"}
		}
		var b bytes.Buffer
		w, err := NewWriter(&b, &h)
		if err != nil {
			t.Fatal(err)
		}
		var want []*Interval
		for range r.IntN(6) {
			v, back := randomInterval(r)
			if err := w.Write(v); err != nil {
				t.Fatal(err)
			}
			want = append(want, back)
		}
		got, all, err := readTrace(b.String())
		if err != nil || got.Torn {
			t.Fatalf("seed %d: torn %v, %v", seed, got.Torn, err)
		}
		if h.TraceVersion = TraceVersion; h.Refused == nil {
			h.Refused = []Refusal{}
		}
		if !reflect.DeepEqual(got.Header, h) {
			t.Errorf("seed %d: got header\n%+v\nwant\n%+v", seed, got.Header, h)
		}
		if !reflect.DeepEqual(all, want) {
			g, _ := json.Marshal(all)
			w, _ := json.Marshal(want)
			t.Fatalf("seed %d: got\n%s\nwant\n%s", seed, g, w)
		}

		// Wherever it was cut, what stands before is there, and no error.
		text := b.String()
		first := strings.IndexByte(text, '\n') + 1
		for range 20 {
			cut := first + r.IntN(len(text)-first+1)
			r, some, err := readTrace(text[:cut])
			lines := strings.Count(text[:cut], "\n")
			torn := !strings.HasSuffix(text[:cut], "\n") && !json.Valid([]byte(text[strings.LastIndexByte(text[:cut], '\n')+1:cut]))
			if err != nil || r.Torn != torn {
				t.Fatalf("seed %d: cut at %d in line %d: torn %v, want %v; %v", seed, cut, lines+1, r.Torn, torn, err)
			}
			if n := len(some); n > 0 && some[n-1].Sample == nil {
				if n > len(want) || !reflect.DeepEqual(some[n-1].Syncs, want[n-1].Syncs[:len(some[n-1].Syncs)]) {
					t.Fatalf("seed %d: cut at %d: got %+v at last", seed, cut, some[n-1])
				}
				some = some[:n-1]
			}
			if !reflect.DeepEqual(some, want[:len(some)]) && len(some) > 0 {
				t.Fatalf("seed %d: cut at %d: got other intervals", seed, cut)
			}
		}
	}
}

const (
	header  = `{"trace_version":1,"source":"bpf","exactness":"exact","refused":[]}` + "\n"
	sample1 = `{"t":"2026-01-01T00:00:01Z","mono_ns":10,"files":[],"lost":0}` + "\n"
	sync1   = `{"sync":{"mono_ns":5,"name":"binlog.000001","ino":7,"size":100}}` + "\n"
)

// What is no trace, or cannot be read further.
func TestTraceErrors(t *testing.T) {
	const (
		empty   = "not a trace: it is empty"
		no      = "not a trace: the first line has no trace_version"
		version = "unsupported trace version: got 2, want 1"
		badCPU  = "line 3: cpu: a number is missing, below 0 or too large"
	)
	big := strings.Repeat("x", 20<<20)
	for _, test := range []struct {
		name, text string
		intervals  int // with the last without a sample
		err        string
	}{
		{"empty", "", 0, empty},
		{"an empty line", "\n", 0, no},
		{"text", "hello\n", 0, no},
		{"JSON", "{}\n", 0, no},
		{"an array", "[1]\n", 0, no},
		{"null", "null\n", 0, no},
		{"binary", "\xfebin\x00\x01\xff\n\n", 0, no},
		{"no number", `{"trace_version":"1"}` + "\n", 0, no},
		{"a torn header", header[:len(header)-4], 0, no},
		{"a long line", big, 0, "not a trace: the first line is longer than 16777216 bytes"},
		{"a later version", strings.Replace(header, ":1", ":2", 1) + sample1, 0, version},
		{"an odd header", `{"trace_version":1,"pid":"x"}` + "\n", 0, "not a trace: header: pid: got a string, want int"},

		{"only a header", header, 0, ""},
		{"a header without newline", strings.TrimSpace(header), 0, ""},
		{"one sample", header + sample1, 1, ""},
		{"empty lines", header + "\n \n" + sample1 + "\n", 1, ""},
		{"a sync alone", header + sample1 + sync1, 2, ""},
		{"torn", header + sample1 + sync1 + sync1[:20], 2, ""},
		{"whole without newline", header + sample1 + strings.TrimSpace(sync1), 2, ""},
		{"bad in the middle", header + sample1 + sync1 + "{\"sync\"\n" + sample1, 2, "line 4: unexpected end of JSON input"},
		{"binary in the middle", header + sample1 + "\x00\n" + sample1, 1, `line 3: invalid character '\x00' looking for beginning of value`},
		{"a long line in the middle", header + sample1 + sync1 + big + "\n" + sample1, 2, "line 4: longer than 16777216 bytes"},
		{"bad before a long line", header + sample1 + "{\n" + big + "\n", 1, "line 4: longer than 16777216 bytes"},
		{"no object", header + sample1 + "5\n" + sample1, 1, "line 3: got a number, want an object"},
		{"negative inode", header + sync1 + strings.Replace(sync1, "7", "-7", 1) + sample1, 1, "line 3: sync.ino: got a number -7, want uint64"},
		{"too large", header + sync1 + strings.Replace(sync1, "100", "1e30", 1) + sample1, 1, "line 3: sync.size: got a number 1e30, want int64"},
		{"negative size", header + sync1 + strings.Replace(sync1, "100", "-1", 1), 1, "line 3: sync: a number is below 0"},
		{"negative time", header + strings.Replace(sync1, "5", "-5", 1), 0, "line 2: sync: a number is below 0"},
		{"negative latency", header + strings.Replace(sync1, "100", `1,"latency_ns":-1`, 1), 0, "line 2: sync: a number is below 0"},
		{"negative count", header + sync1 + strings.Replace(sample1, "[]", `[{"class":"redo","name":"f","syncs":-1}]`, 1), 1, `line 3: file "f": a number is below 0`},
		{"negative size of a file", header + strings.Replace(sample1, "[]", `[{"class":"redo","name":"f","size":-1}]`, 1), 0, `line 2: file "f": a number is below 0`},
		{"negative loss", header + strings.Replace(sample1, `"lost":0`, `"lost":-1`, 1), 0, "line 2: a number is below 0"},
		{"negative time of a sample", header + strings.Replace(sample1, ":10", ":-10", 1), 0, "line 2: a number is below 0"},
		{"CPU time", header + strings.Replace(sample1, "[]", `[],"cpu":{"cpus":2,"user_seconds":1.5}`, 1), 1, ""},
		{"no CPUs", header + sync1 + strings.Replace(sample1, "[]", `[],"cpu":{}`, 1), 1, badCPU},
		{"negative CPU time", header + sync1 + strings.Replace(sample1, "[]", `[],"cpu":{"cpus":1,"idle_seconds":-0.1}`, 1), 1, badCPU},
		{"much CPU time", header + sync1 + strings.Replace(sample1, "[]", `[],"cpu":{"cpus":1,"user_seconds":1e300}`, 1), 1, badCPU},
		{"half of the server's", header + sync1 + strings.Replace(sample1, "[]", `[],"cpu":{"cpus":1,"server_user_seconds":1}`, 1), 1, badCPU},

		{"what is not known", header + `{"restart":{"pid":3}}` + "\nnull\n" + strings.Replace(sync1, "{", `{"later":[1],`, 1) + strings.Replace(sample1, "{", `{"later":{"a":1},`, 1) +
			strings.Replace(sample1, "[]", `[{"class":"undreamt","name":"f","syncs":1,"later":null}]`, 1), 2, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, all, err := readTrace(test.text)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != test.err || len(all) != test.intervals {
				t.Errorf("got %d intervals, error %.300q; want %d, %q", len(all), got, test.intervals, test.err)
			}
			switch {
			case r == nil:
				if want := map[bool]error{true: ErrTraceVersion, false: ErrNotTrace}[test.err == version]; !errors.Is(err, want) {
					t.Errorf("got %v, want %v", err, want)
				}
			case r.Torn != (test.name == "torn") && err == nil:
				t.Errorf("torn is %v", r.Torn)
			}
			for i, v := range all {
				if v.Sample == nil && (i < len(all)-1 || len(v.Syncs) == 0) {
					t.Errorf("interval %d has no sample", i)
				}
			}
		})
	}
	failing := io.MultiReader(strings.NewReader(header+sync1), errReader{})
	r, err := NewReader(failing)
	if err != nil {
		t.Fatal(err)
	}
	if v, err := r.Next(); err != nil || len(v.Syncs) != 1 {
		t.Errorf("got %+v, %v, want what was read before the error", v, err)
	}
	if _, err := r.Next(); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("got %v", err)
	}
	if _, err := NewReader(errReader{}); !errors.Is(err, io.ErrNoProgress) || errors.Is(err, ErrNotTrace) {
		t.Errorf("got %v", err)
	}
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, io.ErrNoProgress }

// A sync without a name has that of its inode.
func TestTraceNames(t *testing.T) {
	sync := func(ino, size int) string { return fmt.Sprintf(`{"sync":{"ino":%d,"size":%d}}`+"\n", ino, size) }
	sample := func(files ...string) string {
		var b strings.Builder
		for i, f := range files {
			if i > 0 {
				b.WriteByte(',')
			}
			var ino, size int
			fmt.Sscanf(f, "%d %d", &ino, &size)
			class := "binlog"
			if strings.HasSuffix(f, "ibd") {
				class = "data"
			}
			fmt.Fprintf(&b, `{"class":%q,"name":%q,"ino":%d,"size":%d}`, class, f[strings.LastIndexByte(f, ' ')+1:], ino, size)
		}
		return strings.Replace(sample1, "[]", "["+b.String()+"]", 1)
	}
	for _, test := range []struct {
		name, text string
		want       string
	}{
		{"before", sample("7 100 a.1") + sync(7, 200) + sync(7, 300) + sample(), "a.1 a.1"},
		{"long before", sample("7 100 a.1") + sample() + sync(7, 200) + sample(), "a.1"},
		{"after", sync(7, 100) + sync(8, 10) + sync(7, 200) + sample("7 200 a.1", "8 10 a.2"), "a.1 a.2 a.1"},
		{"nowhere", sync(7, 100) + sample("8 1 a.2") + sync(7, 200) + sample("7 200 a.1"), "? a.1"},
		{"nowhere, then smaller", sync(7, 100) + sample() + sync(7, 50) + sample("7 200 a.1"), "? a.1"},
		{"at the end", sample("7 100 a.1") + sync(7, 200) + sync(8, 1), "a.1 ?"},
		{"not a binlog", sync(7, 100) + sample("7 100 t.ibd"), "?"},
		{"used again within an interval", sample("7 100 a.1") + sync(7, 200) + sync(7, 300) + sync(7, 50) + sync(7, 400) + sample("7 300 a.1", "7 400 a.3"), "a.1 a.1 a.3 a.3"},
		{"used again from the start of an interval", sample("7 100 a.1") + sync(7, 200) + sample("7 200 a.1") + sync(7, 50) + sync(7, 400) + sample("7 400 a.3"), "a.1 a.3 a.3"},
		{"used again since a size without a sync", sample("7 300 a.1") + sync(7, 200) + sample("7 400 a.3"), "a.3"},
		{"used again, larger at once", sample("7 100 a.1") + sync(7, 200) + sample("7 400 a.3") + sync(7, 500) + sample(), "a.1 a.3"},
		{"smaller, and no other name", sample("7 100 a.1") + sync(7, 200) + sync(7, 50) + sample("7 400 a.1"), "a.1 a.1"},
	} {
		_, all, err := readTrace(header + test.text)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		var got []string
		for _, v := range all {
			for _, s := range v.Syncs {
				if s.Name == "" {
					s.Name = "?"
				}
				got = append(got, s.Name)
			}
		}
		if got := strings.Join(got, " "); got != test.want {
			t.Errorf("%s: got %s, want %s", test.name, got, test.want)
		}
	}
}

// shortWriter has room for some bytes.
type shortWriter struct {
	bytes.Buffer
	room int
}

func (w *shortWriter) Write(b []byte) (int, error) {
	n := min(len(b), w.room)
	w.room -= n
	w.Buffer.Write(b[:n])
	if n < len(b) {
		return n, io.ErrShortWrite
	}
	return n, nil
}

// Nothing is written behind a torn line.
func TestTraceWriterEnds(t *testing.T) {
	v := &Interval{Sample: &Sample{Time: time.Unix(1, 0)}}
	out := &shortWriter{room: 300}
	w, err := NewWriter(out, &Header{})
	for n := 0; err == nil; n++ {
		if n > 100 {
			t.Fatal("it never ends")
		}
		err = w.Write(v)
	}
	if !errors.Is(err, io.ErrShortWrite) {
		t.Error(err)
	}
	before := out.String()
	out.room = 1000
	if err := w.Write(v); !errors.Is(err, io.ErrShortWrite) || out.String() != before {
		t.Errorf("got %v and %d bytes more", err, out.Len()-len(before))
	}
	r, all, err := readTrace(before)
	if err != nil || !r.Torn || len(all) == 0 {
		t.Errorf("got %d samples, %v", len(all), err)
	}
}

func FuzzReader(f *testing.F) {
	for _, s := range []string{
		"", header, header + sample1 + sync1, header + sync1 + sample1, header + sync1 + sync1[:30], header + "{}\nnull\n[]\n",
		header + strings.Repeat(`{"sync":{}}`+"\n", 50), header + `{"t":"2026-01-01T00:00:01Z","files":[{},{},{},{},{"class":"binlog","ino":1}]}` + "\n" + `{"sync":{"ino":1}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, all, err := readTrace(string(b))
		runtime.ReadMemStats(&after)
		// A file of a sample is 104 bytes and may be written in 3, and slices
		// grow by doubling.
		if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20+400*uint64(len(b)) {
			t.Errorf("%d bytes were allocated to read %d", got, len(b))
		}
		lines := bytes.Count(b, []byte("\n"))
		if n := len(all); n > lines+1 {
			t.Errorf("got %d intervals of %d lines", n, lines)
		}
		if err != nil {
			return
		}
		// What was read is written, and reads the same once more.
		var out bytes.Buffer
		w, err := NewWriter(&out, &Header{})
		for _, v := range all {
			if err == nil {
				err = w.Write(v)
			}
		}
		if err != nil {
			if strings.Contains(err.Error(), "year outside of range") {
				return
			}
			t.Fatal(err)
		}
		_, again, err := readTrace(out.String())
		if err != nil || len(again) != len(all) {
			t.Errorf("got %d intervals, want %d, %v", len(again), len(all), err)
		}
	})
}
