package analysis_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"bgcstat/analysis"
	"bgcstat/parser"
	"bgcstat/parser/iosample"
)

// tracedSync is a row of sync_groups.tsv.
type tracedSync struct {
	size       int64
	start, end float64 // Unix seconds
}

func tracedSyncs(t testing.TB, set truth) []tracedSync {
	t.Helper()
	f, err := os.Open(filepath.Join(filepath.Dir(set.log), "sync_groups.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []tracedSync
	lines := bufio.NewScanner(f)
	lines.Scan() // column names
	for lines.Scan() {
		v := strings.Split(lines.Text(), "\t")
		s := tracedSync{}
		if s.size, err = strconv.ParseInt(v[0], 10, 64); err != nil {
			t.Fatal(err)
		}
		for i, to := range []*float64{&s.start, &s.end} {
			if *to, err = strconv.ParseFloat(v[i+1], 64); err != nil {
				t.Fatal(err)
			}
		}
		out = append(out, s)
	}
	return out
}

// bootTime stands between Unix time and the monotonic clock of made traces.
const bootTime = 1_796_000_000_000_000_000

func (s truth) header(source string, e iosample.Exactness) *iosample.Header {
	return &iosample.Header{
		Source: source, Exactness: e, ClockOffset: bootTime,
		Settings: iosample.Settings{"sync_binlog": strconv.FormatInt(s.syncBinlog, 10), "innodb_flush_log_at_trx_commit": strconv.FormatInt(s.flushLog, 10)},
	}
}

func clockAt(unix float64) (time.Time, int64) {
	micros := int64(unix * 1e6)
	return time.UnixMicro(micros).UTC(), micros*1000 - bootTime
}

// events makes a trace with an event for each sync, and a sample at the end.
func (s truth) events(t testing.TB) []byte {
	t.Helper()
	var buf bytes.Buffer
	w, err := iosample.NewWriter(&buf, s.header("bpf", iosample.Exact))
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimSuffix(filepath.Base(s.log), ".zst")
	var v iosample.Interval
	var last tracedSync
	for _, last = range tracedSyncs(t, s) {
		_, mono := clockAt(last.start)
		v.Syncs = append(v.Syncs, iosample.SyncEvent{
			Mono: mono, Class: iosample.Binlog, File: iosample.FileID{Ino: 7}, Size: last.size, Latency: int64((last.end - last.start) * 1e9),
		})
	}
	now, mono := clockAt(last.end)
	v.Sample = &iosample.Sample{Time: now, Mono: mono, Files: []iosample.Count{
		{Class: iosample.Binlog, Name: name, Ino: 7, Syncs: int64(len(v.Syncs))},
	}}
	if err := w.Write(&v); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// counts makes a trace of samples each 100 ms with the number of syncs.
func (s truth) counts(t testing.TB) []byte {
	t.Helper()
	var buf bytes.Buffer
	w, err := iosample.NewWriter(&buf, s.header("perf", iosample.Exact))
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimSuffix(filepath.Base(s.log), ".zst")
	syncs := tracedSyncs(t, s)
	next := syncs[0].start - 0.05
	c := iosample.Count{Class: iosample.Binlog, Name: name, Ino: 7, Size: 4}
	for i := 0; ; next += 0.1 {
		for i < len(syncs) && syncs[i].start < next {
			c.Syncs++
			c.Size = syncs[i].size
			i++
		}
		now, mono := clockAt(next)
		if err := w.Write(&iosample.Interval{Sample: &iosample.Sample{Time: now, Mono: mono, Files: []iosample.Count{c}}}); err != nil {
			t.Fatal(err)
		}
		if i == len(syncs) {
			return buf.Bytes()
		}
	}
}

// reader gives the intervals of a trace.
func reader(t testing.TB, trace []byte) (*iosample.Header, func() *iosample.Interval) {
	t.Helper()
	r, err := iosample.NewReader(bytes.NewReader(trace))
	if err != nil {
		t.Fatal(err)
	}
	return &r.Header, func() *iosample.Interval {
		v, _ := r.Next()
		return v
	}
}

// join analyzes a log with a trace, and gives its rows.
func join(t testing.TB, path string, trace []byte, f analysis.Filter, emit func(*analysis.Row)) *analysis.Result {
	t.Helper()
	a := analysis.New(f, analysis.Settings{})
	h, next := reader(t, trace)
	a.Join(h, next, []string{path})
	logs := read(t, path, func(txn *parser.Txn) { a.Add(txn) })
	r := a.Result(logs)

	rows := analysis.NewRows(f, analysis.Settings{}, func(r *analysis.Row) error {
		emit(r)
		return nil
	})
	if ok, exact := a.Joined(); ok {
		h, next := reader(t, trace)
		rows.Join(h, next, []string{path}, exact)
	}
	read(t, path, func(txn *parser.Txn) {
		if err := rows.Add(txn); err != nil {
			t.Fatal(err)
		}
	})
	if err := rows.End(); err != nil {
		t.Fatal(err)
	}
	return r
}

// The syncs that the kernel saw, given as a trace, give the groups that they
// made durable, member by member.
func TestTraceOfEvents(t *testing.T) {
	for _, dir := range []string{ownTruth, sharedTruth} {
		for _, set := range truths(t, dir) {
			t.Run(set.name, func(t *testing.T) {
				var ends, groups []int64
				r := join(t, set.log, set.events(t), analysis.Filter{}, func(r *analysis.Row) {
					ends, groups = append(ends, r.End), append(groups, *r.SyncGroup)
				})
				want := set.coveredBy(set.ends, ends)
				made := distinct(want)
				none := int64(0)
				for _, g := range want {
					if g == int64(len(set.ends)) {
						none++
					}
				}
				if none > 0 {
					made--
				}
				io := r.IO
				if io == nil || io.BinlogSyncsDurable == nil {
					t.Fatalf("no figures of the trace: %+v", r.Warnings)
				}
				if got := *io.BinlogSyncsDurable; got != made {
					t.Errorf("%d syncs made transactions durable, want %d", got, made)
				}
				if got := *io.DurableByNoneYet; got != none {
					t.Errorf("%d transactions are durable by none, want %d", got, none)
				}
				if got, want := *io.TransactionsPerBinlogSync, float64(r.Transactions-none)/float64(made); got != want {
					t.Errorf("%v transactions a sync, want %v", got, want)
				}
				if got, want := io.Syncs["binlog"], int64(len(set.ends)); got.Count != want || got.Exactness != "exact" || got.Latency == nil {
					t.Errorf("binlog syncs are %+v, want %d, exact, with latency", got, want)
				}
				if got := *r.Saved.Binlog.Grouped; got != made || r.Saved.Binlog.Basis != analysis.Measured || r.Saved.Assumes.From != "server" {
					t.Errorf("saved is %+v by %+v, want %d grouped, measured, by the server", r.Saved.Binlog, r.Saved.Assumes, made)
				}
				if set.syncBinlog != 1 {
					if b := r.Groups.Sync.Basis; b != analysis.Estimated {
						t.Errorf("at sync_binlog=%d the sync groups are %s, want estimated", set.syncBinlog, b)
					}
					return
				}
				if got := r.Groups.Sync; got.Basis != analysis.Exact || *got.Count != made || got.Low != made || got.High != made {
					t.Errorf("sync groups are %d to %d, %s; want exactly %d", got.Low, got.High, got.Basis, made)
				}
				if r.Groups.Bound.Lower > made || made > r.Groups.Bound.Upper {
					t.Errorf("%d groups are outside of the bound %+v", made, r.Groups.Bound)
				}
				if !slices.Equal(boundaries(groups), boundaries(want)) {
					t.Error("the groups of the rows are not the true ones")
				}
			})
		}
	}
}

// Counts per tenth of a second give the true number of groups, and estimates
// of their members that agree with it.
func TestTraceOfCounts(t *testing.T) {
	for _, dir := range []string{ownTruth, sharedTruth} {
		for _, set := range truths(t, dir) {
			if set.syncBinlog != 1 || kind(set) == "mariadb" {
				continue
			}
			t.Run(set.name, func(t *testing.T) {
				var ends, groups []int64
				r := join(t, set.log, set.counts(t), analysis.Filter{}, func(r *analysis.Row) {
					ends, groups = append(ends, r.End), append(groups, *r.SyncGroup)
				})
				g := r.Groups.Sync
				if kind(set) == "alone" { // which the log proves
					if want := int64(len(set.ends)); g.Basis != analysis.Bounded || *g.Count != want {
						t.Errorf("sync groups are %d, %s; want %d, bound", *g.Count, g.Basis, want)
					}
					return
				}
				if want := int64(len(set.ends)); g.Basis != analysis.Measured || g.Method != analysis.FsyncCount || *g.Count != want {
					t.Errorf("sync groups are %d, %s by %s; want %d, measured by fsync_count: %v", *g.Count, g.Basis, g.Method, want, r.Warnings)
				}
				fitted := int64(0)
				for _, b := range g.Histogram {
					fitted += b.Groups
				}
				if off := fitted - *g.Count; off < -2-*g.Count/100 || off > 2+*g.Count/100 {
					t.Errorf("the sizes are of %d groups, counted were %d", fitted, *g.Count)
				}
				acc := measure(t, set, analysis.Settings{})
				want := boundaries(set.coveredBy(set.ends, ends))
				if got := f1(boundaries(groups), want); got < acc.syncF1-0.02 {
					t.Errorf("F1 with counts is %.3f, without %.3f", got, acc.syncF1)
				} else {
					t.Logf("F1 with counts %.3f, without %.3f; %d groups, fitted %d", got, acc.syncF1, *g.Count, fitted)
				}
			})
		}
	}
}

// What /proc said while the sets were made: flushes of the disk, never syncs.
func TestTraceOfProc(t *testing.T) {
	for _, set := range truths(t, sharedTruth) {
		t.Run(set.name, func(t *testing.T) {
			dir := filepath.Dir(set.log)
			var meta struct {
				Flushes int64 `json:"diskstats_flushes"`
			}
			b, err := os.ReadFile(filepath.Join(dir, "meta.json"))
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(b, &meta); err != nil {
				t.Fatal(err)
			}
			f, err := os.Open(filepath.Join(dir, "proc_samples.ndjson"))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			var buf bytes.Buffer
			header := set.header("proc", iosample.DeviceWide)
			header.Device = "vda"
			w, err := iosample.NewWriter(&buf, header)
			if err != nil {
				t.Fatal(err)
			}
			for dec := json.NewDecoder(f); dec.More(); {
				var s struct {
					Unix  float64 `json:"unix"`
					Stats []int64 `json:"diskstats_fields"`
					Pos   int64   `json:"binlog_fd_pos"`
				}
				if err := dec.Decode(&s); err != nil {
					t.Fatal(err)
				}
				now, mono := clockAt(s.Unix)
				if err := w.Write(&iosample.Interval{Sample: &iosample.Sample{
					Time: now, Mono: mono, DeviceFlushes: &s.Stats[15],
					Files: []iosample.Count{{Class: iosample.Binlog, Name: filepath.Base(set.log), Size: s.Pos}},
				}}); err != nil {
					t.Fatal(err)
				}
			}
			r := join(t, set.log, buf.Bytes(), analysis.Filter{}, func(*analysis.Row) {})
			if r.IO == nil || len(r.IO.DeviceFlushes) != 1 || r.IO.DeviceFlushes[0].Count != meta.Flushes {
				t.Errorf("flushes are %+v, want %d", r.IO.DeviceFlushes, meta.Flushes)
			}
			if r.IO.Syncs != nil || r.IO.BinlogSyncsDurable != nil || r.Saved != nil && r.Saved.Binlog.Basis == analysis.Measured {
				t.Errorf("flushes of the disk were taken for syncs: %+v, %+v", r.IO, r.Saved)
			}
			if c := r.Groups.Sync; c.Basis == analysis.Measured {
				t.Errorf("sync groups are %s", c.Basis)
			}
		})
	}
}
