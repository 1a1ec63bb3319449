package analysis_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bgcstat/analysis"
	"bgcstat/parser"
	"bgcstat/parser/iosample"
)

// set gives one of the project's own sets.
func set(t testing.TB, name string) truth {
	t.Helper()
	for _, s := range truths(t, ownTruth) {
		if s.name == name {
			return s
		}
	}
	t.Fatalf("no set %s", name)
	return truth{}
}

// edited gives a trace after f has changed its header and its intervals.
func edited(t testing.TB, trace []byte, f func(h *iosample.Header, v []*iosample.Interval) []*iosample.Interval) []byte {
	t.Helper()
	h, next := reader(t, trace)
	var all []*iosample.Interval
	for v := next(); v != nil; v = next() {
		all = append(all, v)
	}
	all = f(h, all)
	var buf bytes.Buffer
	w, err := iosample.NewWriter(&buf, h)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range all {
		if err := w.Write(v); err != nil {
			t.Fatal(err)
		}
	}
	return buf.Bytes()
}

func warned(r *analysis.Result, code string) string {
	i := slices.IndexFunc(r.Warnings, func(w analysis.Warning) bool { return w.Code == code })
	if i < 0 {
		return ""
	}
	return r.Warnings[i].Message
}

// Where log and trace cannot be of one load this is said, and nothing that
// needs both is given.
func TestTraceContradictsLog(t *testing.T) {
	s := set(t, "ws-24")
	events, counts := s.events(t), s.counts(t)
	each := func(f func(v *iosample.Interval)) func(*iosample.Header, []*iosample.Interval) []*iosample.Interval {
		return func(_ *iosample.Header, all []*iosample.Interval) []*iosample.Interval {
			for _, v := range all {
				f(v)
			}
			return all
		}
	}
	syncs := func(f func(e *iosample.SyncEvent)) func(*iosample.Header, []*iosample.Interval) []*iosample.Interval {
		return each(func(v *iosample.Interval) {
			for i := range v.Syncs {
				f(&v.Syncs[i])
			}
		})
	}
	files := func(f func(c *iosample.Count)) func(*iosample.Header, []*iosample.Interval) []*iosample.Interval {
		return each(func(v *iosample.Interval) {
			if v.Sample != nil {
				for i := range v.Sample.Files {
					f(&v.Sample.Files[i])
				}
			}
		})
	}
	for _, tt := range []struct {
		name, want string
		trace      []byte
		edit       func(*iosample.Header, []*iosample.Interval) []*iosample.Interval
	}{
		{"another server", "the trace is of server_id 7, the log of 1", events, func(h *iosample.Header, v []*iosample.Interval) []*iosample.Interval {
			h.Settings["server_id"] = "7"
			return v
		}},
		{"other positions", "ended with a transaction", events, syncs(func(e *iosample.SyncEvent) { e.Size += 7 })},
		{"another time", "apart by their clocks", events, syncs(func(e *iosample.SyncEvent) { e.Mono += 3600e9 })},
		{"other names", "of other names than", events, syncs(func(e *iosample.SyncEvent) { e.Name = "master.000001" })},
		{"from the middle, without a size", "it began in the middle of the log", events, func(_ *iosample.Header, v []*iosample.Interval) []*iosample.Interval {
			v[0].Syncs = v[0].Syncs[300:]
			return v
		}},
		{"reset", "RESET", events, func(_ *iosample.Header, v []*iosample.Interval) []*iosample.Interval {
			v[len(v)-1].Sample.Files[0].Size = 1 << 20
			last := *v[len(v)-1].Sample
			last.Files = []iosample.Count{{Class: iosample.Binlog, Name: "mysql-bin.000001", Ino: 8, Size: 200}}
			return append(v, &iosample.Interval{Sample: &last})
		}},
		{"an empty trace", "no samples of a binlog", events, func(*iosample.Header, []*iosample.Interval) []*iosample.Interval { return nil }},
		{"after the log", "do not overlap", counts, files(func(c *iosample.Count) { c.Name = "mysql-bin.000002" })},
		{"more syncs than transactions", "which need one each at most", counts, files(func(c *iosample.Count) { c.Syncs *= 10 })},
		{"fewer syncs than groups", "fewer binlog syncs were counted", counts, files(func(c *iosample.Count) { c.Syncs /= 8 })},
		{"counts of another time", "apart by their clocks", counts, each(func(v *iosample.Interval) { v.Sample.Time = v.Sample.Time.AddDate(0, 0, 3) })},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var rows []analysis.Row
			r := join(t, s.log, edited(t, tt.trace, tt.edit), analysis.Filter{}, func(r *analysis.Row) { rows = append(rows, *r) })
			if got := warned(r, "trace-contradicts-log"); !strings.Contains(got, tt.want) {
				t.Errorf("warned %q, want %q in it: %+v", got, tt.want, r.Warnings)
			}
			if r.IO.BinlogSyncsDurable != nil || r.IO.TransactionsPerBinlogSync != nil || r.Saved != nil && r.Saved.Binlog.Basis == analysis.Measured {
				t.Errorf("it is concluded from anyway: %+v, %+v", r.IO, r.Saved)
			}
			if g := r.Groups.Sync; g != nil && (g.Method == analysis.Traced || g.Method == analysis.FsyncCount) {
				t.Errorf("sync groups are %s", g.Method)
			}
			for _, row := range rows {
				if row.Method != nil && *row.Method == analysis.Traced {
					t.Fatalf("row at %d has a traced group", row.Start)
				}
			}
		})
	}
}

// A trace of a part tells the groups of that part, whole ones only.
func TestTraceOfPart(t *testing.T) {
	s := set(t, "ws-24")
	syncs := tracedSyncs(t, s)
	const first, last = 300, 600
	trace := func(settled bool) []byte {
		return edited(t, s.events(t), func(_ *iosample.Header, v []*iosample.Interval) []*iosample.Interval {
			all := v[0]
			files := func(i int) []iosample.Count {
				f := all.Sample.Files[0]
				f.Size, f.Syncs = syncs[i].size, int64(i)
				return []iosample.Count{f}
			}
			sample := func(i int, at float64) *iosample.Sample {
				now, mono := clockAt(at)
				return &iosample.Sample{Time: now, Mono: mono, Files: files(i)}
			}
			out := []*iosample.Interval{{Sample: sample(first, syncs[first].end)}}
			if settled {
				out = append(out, &iosample.Interval{Sample: sample(first, syncs[first].end+1e-5)})
			}
			return append(out, &iosample.Interval{Syncs: all.Syncs[first+1 : last+1], Sample: sample(last, syncs[last].end)})
		})
	}
	for _, settled := range []bool{true, false} {
		var ends, groups []int64
		r := join(t, s.log, trace(settled), analysis.Filter{}, func(r *analysis.Row) {
			if r.Method != nil && *r.Method == analysis.Traced {
				ends, groups = append(ends, r.End), append(groups, *r.SyncGroup)
			}
		})
		// Where it is not known that all was synced when the trace began, the
		// first sync's group may have begun before.
		from := first
		if !settled {
			from++
		}
		want := s.coveredBy(s.ends, ends)
		if int(want[0]) != from+1 || int(want[len(want)-1]) != last {
			t.Errorf("settled %v: groups of syncs %d to %d, want %d to %d", settled, want[0], want[len(want)-1], from+1, last)
		}
		if !slices.Equal(boundaries(groups), boundaries(want)) {
			t.Errorf("settled %v: the groups of the rows are not the true ones", settled)
		}
		if n := int64(last - from); *r.Groups.Sync.Count != n || r.Groups.Sync.Basis != analysis.Exact || *r.IO.BinlogSyncsDurable != n {
			t.Errorf("settled %v: %d sync groups, %s; want exactly %d", settled, *r.Groups.Sync.Count, r.Groups.Sync.Basis, n)
		}
		if r.Transactions != int64(len(ends)) || warned(r, "trace-covers-part") == "" {
			t.Errorf("settled %v: %d transactions are reported, want %d and a warning", settled, r.Transactions, len(ends))
		}
	}
}

// Lost syncs leave no exact groups, and savings only within what was lost.
func TestTraceLostEvents(t *testing.T) {
	s := set(t, "ws-8-delay200us")
	const lost = 40
	trace := edited(t, s.events(t), func(_ *iosample.Header, v []*iosample.Interval) []*iosample.Interval {
		v[0].Syncs = append(slices.Clone(v[0].Syncs[:100]), v[0].Syncs[100+lost:]...)
		v[0].Sample.Lost = lost
		return v
	})
	r := join(t, s.log, trace, analysis.Filter{}, func(r *analysis.Row) {
		if *r.Method == analysis.Traced {
			t.Fatal("a row has a traced group")
		}
	})
	made := int64(len(s.ends))
	if g := r.Groups.Sync; g.Basis != analysis.Estimated {
		t.Errorf("sync groups are %s", g.Basis)
	}
	if b := r.Saved.Binlog; b.GroupedLow > made || b.GroupedHigh < made || b.Basis == analysis.Measured {
		t.Errorf("%d to %d syncs, %s; truth is %d", b.GroupedLow, b.GroupedHigh, b.Basis, made)
	}
	if e := r.IO.Syncs["binlog"].Exactness; e != "lower_bound" || r.IO.TransactionsPerBinlogSync != nil || warned(r, "trace-lost-events") == "" {
		t.Errorf("binlog syncs are %s: %+v", e, r.IO)
	}
}

// Where the trace itself shows that sync_binlog is not 1, that is not assumed.
func TestTraceRefutesDefault(t *testing.T) {
	for _, s := range truths(t, sharedTruth) {
		if s.syncBinlog == 1 {
			continue
		}
		trace := edited(t, s.events(t), func(h *iosample.Header, v []*iosample.Interval) []*iosample.Interval {
			h.Settings = nil
			return v
		})
		r := join(t, s.log, trace, analysis.Filter{}, func(*analysis.Row) {})
		if r.Saved != nil || r.Groups.Sync.Basis != analysis.Estimated || !strings.Contains(warned(r, "syncs-cover-groups"), "sync_binlog is not 1") {
			t.Errorf("%s: saved %+v, groups %s, %+v", s.name, r.Saved, r.Groups.Sync.Basis, r.Warnings)
		}
	}
}

// A setting that changed meanwhile tells nothing of all transactions, whoever
// saw it change.
func TestSettingsChanged(t *testing.T) {
	s := set(t, "ws-24")
	check := func(r *analysis.Result, code, message string) {
		t.Helper()
		if g := r.Groups.Sync; g == nil || g.Basis != analysis.Estimated || r.Saved != nil {
			t.Errorf("the groups are %+v, saved %+v", g, r.Saved)
		}
		if got := warned(r, code); !strings.HasPrefix(got, message) || len(r.Warnings) > 4 {
			t.Errorf("the warning is %q, want %q, of %+v", got, message, r.Warnings)
		}
	}
	trace := edited(t, s.events(t), func(_ *iosample.Header, v []*iosample.Interval) []*iosample.Interval {
		v[len(v)-1].Sample.Settings = iosample.Settings{"sync_binlog": "100"}
		return v
	})
	check(join(t, s.log, trace, analysis.Filter{}, func(*analysis.Row) {}), "trace-setting-changed", "sync_binlog was set to 100 ")

	a := analysis.New(analysis.Filter{}, analysis.Settings{}.With(map[string]string{"sync_binlog": "1", "innodb_flush_log_at_trx_commit": "1"}))
	logs := read(t, s.log, func(txn *parser.Txn) { a.Add(txn) })
	a.Vary("binlog_row_image", "sync_binlog")
	check(a.Result(logs), "settings-changed", "sync_binlog changed while ")

	// Another setting does not make sync_binlog known.
	a = analysis.New(analysis.Filter{}, analysis.Settings{})
	l := mariadb()
	a.Add(&parser.Txn{Log: l, Start: 4, End: 104, CommitID: 1, Terminator: parser.TerminatorXID})
	a.Vary("innodb_flush_log_at_trx_commit")
	if r := a.Result([]*parser.Log{l}); warned(r, "sync-binlog-unknown") == "" || warned(r, "settings-changed") == "" {
		t.Errorf("warnings are %+v", r.Warnings)
	}
}

// An encrypted binlog is longer than its positions.
func TestTraceOfEncrypted(t *testing.T) {
	s := set(t, "ws-24")
	longer := func(told func(h *iosample.Header, f *iosample.Count)) []byte {
		return edited(t, s.events(t), func(h *iosample.Header, v []*iosample.Interval) []*iosample.Interval {
			for i := range v[0].Syncs {
				v[0].Syncs[i].Size += 512
			}
			told(h, &v[0].Sample.Files[0])
			return v
		})
	}
	for name, trace := range map[string][]byte{
		"by the file":     longer(func(_ *iosample.Header, f *iosample.Count) { f.Encrypted, f.Size = new(true), 1<<30 }),
		"by the settings": longer(func(h *iosample.Header, _ *iosample.Count) { h.Settings["binlog_encryption"] = "ON" }),
	} {
		// The first sample says so, before the syncs.
		trace = edited(t, trace, func(_ *iosample.Header, v []*iosample.Interval) []*iosample.Interval {
			sample := *v[0].Sample
			sample.Files = slices.Clone(sample.Files)
			sample.Files[0].Size, sample.Files[0].Syncs = 4+512, 0
			return append([]*iosample.Interval{{Sample: &sample}}, v...)
		})
		r := join(t, s.log, trace, analysis.Filter{}, func(*analysis.Row) {})
		if g := r.Groups.Sync; g.Basis != analysis.Exact || *g.Count != int64(len(s.ends)) {
			t.Errorf("%s: %d groups, %s; want exactly %d: %+v", name, *g.Count, g.Basis, len(s.ends), r.Warnings)
		}
	}
}

// Filters choose what is reported; an interval whose transactions are only in
// part reported says nothing of them.
func TestTraceWithFilters(t *testing.T) {
	s := set(t, "ws-24")
	var starts []int64
	var tables [][]string
	read(t, s.log, func(txn *parser.Txn) {
		starts = append(starts, txn.Start)
		tables = append(tables, []string{txn.Tables[0].Table.String()})
	})
	middle := starts[len(starts)/2]
	name := filepath.Base(s.log)
	from := analysis.Filter{StartPosition: middle, FirstLog: name, LastLog: name, Given: &analysis.Filters{StartPosition: middle}}

	wantEvents := int64(0) // groups with a transaction at middle or behind
	for i, end := range s.ends {
		if end > middle || i == len(s.ends)-1 {
			wantEvents = int64(len(s.ends) - i)
			break
		}
	}
	r := join(t, s.log, s.events(t), from, func(*analysis.Row) {})
	if g := r.Groups.Sync; g.Basis != analysis.Exact || *g.Count != wantEvents || *r.IO.BinlogSyncsDurable != wantEvents {
		t.Errorf("events: %d groups, %s, %d syncs; want exactly %d", *g.Count, g.Basis, *r.IO.BinlogSyncsDurable, wantEvents)
	}
	r = join(t, s.log, s.counts(t), from, func(*analysis.Row) {})
	if g := r.Groups.Sync; g.Basis != analysis.Estimated || g.Low > wantEvents || g.High < wantEvents || warned(r, "trace-loose-intervals") == "" {
		t.Errorf("counts: %d groups (%d to %d), %s; truth is %d: %+v", *g.Count, g.Low, g.High, g.Basis, wantEvents, r.Warnings)
	}

	some := analysis.Filter{Tables: tables[0], Given: &analysis.Filters{Tables: tables[0]}}
	r = join(t, s.log, s.counts(t), some, func(*analysis.Row) {})
	if r.IO.TransactionsPerBinlogSync != nil || r.Groups.Sync.Method == analysis.FsyncCount || r.Saved != nil {
		t.Errorf("one table by counts: %+v, %+v", r.IO, r.Groups.Sync)
	}
	r = join(t, s.log, s.events(t), some, func(*analysis.Row) {})
	if got, want := *r.IO.TransactionsPerBinlogSync, r.Groups.Sync.Size.Mean; r.Groups.Sync.Method != analysis.Traced || got != want {
		t.Errorf("one table by events: %v transactions a sync, the mean size of their groups is %v, by %s", got, want, r.Groups.Sync.Method)
	}
}

// The JSON of a result with a trace has the names of the contract.
func TestTraceJSON(t *testing.T) {
	s := set(t, "co-8")
	b, err := json.Marshal(join(t, s.log, s.events(t), analysis.Filter{}, func(*analysis.Row) {}))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		IO struct {
			Source  string
			Durable int64   `json:"binlog_syncs_that_made_transactions_durable"`
			Per     float64 `json:"transactions_per_binlog_sync"`
			None    *int64  `json:"transactions_durable_by_none_yet"`
			Syncs   map[string]struct {
				Count     int64
				Exactness string
				Latency   map[string]float64 `json:"latency_seconds"`
			}
		}
		Saved struct {
			Binlog struct {
				Alone, Grouped int64
				Basis, Method  string
			}
		}
	}
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	n := int64(len(s.ends))
	binlog := got.IO.Syncs["binlog"]
	if got.IO.Source != "bpf" || got.IO.Durable != n || got.IO.None == nil || *got.IO.None != 0 || got.IO.Per != 6000/float64(n) ||
		binlog.Count != n || binlog.Exactness != "exact" || binlog.Latency["p50"] <= 0 || binlog.Latency["p99"] < binlog.Latency["p50"] {
		t.Errorf("io is %+v", got.IO)
	}
	if b := got.Saved.Binlog; b.Alone != 6000 || b.Grouped != n || b.Basis != "measured" || b.Method != "fsync_count" {
		t.Errorf("saved is %+v", b)
	}
}
