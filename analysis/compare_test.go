package analysis

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"bgcstat/parser/loadgen"
)

// madeRun is a run of 2 s at 8 clients: 6,000 transactions in 2,000 groups.
func madeRun(dir string, change func(run *Run, r *Result)) RunResult {
	start := time.Date(2026, 11, 30, 14, 32, 12, 0, time.UTC)
	run := &Run{
		SchemaVersion: 1, Command: []string{"sysbench", "--threads=8", "group_commit", "run"},
		Start: Time{start}, End: Time{start.Add(2 * time.Second)}, Seconds: 2,
		Server:   RunServer{Flavor: "mysql", Version: "9.7.4", Local: true},
		Host:     &RunHost{Name: "db1", Kernel: "6.12", CPUs: 8, Device: "nvme0n1"},
		Settings: map[string]string{"sync_binlog": "1", "innodb_flush_log_at_trx_commit": "1", "server_id": "1"},
		From:     Position{"binlog.000001", 158}, To: &Position{"binlog.000001", 3_000_158}, Read: "files",
		Counters: map[string]int64{"Innodb_os_log_fsyncs": 2100, "Innodb_log_waits": 0},
		Load: &loadgen.Summary{
			Tool: "sysbench", Version: "1.0.20", Clients: new(int64(8)), Transactions: new(int64(6000)), TPS: new(3000.0),
			LatencyAvg: new(2.5), Percentile: new(4.0), PercentileRank: new(int64(95)), Errors: new(int64(0)),
		},
		Others: &Others{Before: new(int64(30))},
	}
	r := &Result{
		SchemaVersion: 1, Sources: []Source{{File: "binlog.000001", Complete: true, Open: true}},
		Transactions: 6000, Bytes: 3_000_000,
		Groups: Groups{
			Sync: &GroupStats{
				Count: new(int64(2000)), Low: 2000, High: 2000, Basis: Exact, Method: Traced,
				Size:      &GroupSize{Mean: 3, P95: 6, Max: 8, AloneShare: 0.1},
				Histogram: []HistogramBin{{1, 600}, {2, 400}, {4, 400}, {5, 600}},
			},
			Flush: &GroupStats{Count: new(int64(2500)), Low: 2400, High: 2700, Basis: Estimated, Method: CommitTimestamps},
		},
		IO: &IO{
			Source: "bpf", Syncs: map[string]Syncs{"binlog": {Count: 2010, Exactness: "exact"}, "redo": {Count: 2600, Exactness: "exact"}},
			Rates: &SyncRates{BucketSeconds: 1, Series: []SyncBucket{
				{Start: Time{start.Add(-500 * time.Millisecond)}, Syncs: map[string]int64{"binlog": 10}},
				{Start: Time{start.Add(500 * time.Millisecond)}, Syncs: map[string]int64{"redo": 3}},
			}},
			CPU: &CPU{CPUs: 8, CPUUse: CPUUse{User: 0.25, System: 0.125, IOWait: 0.5, Idle: 0.125, ServerUser: new(1.5)}},
		},
		Saved: &Saved{Binlog: &SavedSync{Alone: 6000, SavedByGrouping: new(int64(4000)), SavedByGroupingMin: 4000, SavedByGroupingMax: 4000, Share: new(2.0 / 3), Basis: Exact, Method: Traced}},
		Rates: &Rates{BucketSeconds: 1, Series: []Bucket{{Start: Time{start.Add(time.Second)}, Transactions: 6000}}},
	}
	if change != nil {
		change(run, r)
	}
	return RunResult{dir, run, r}
}

// twice has double the clients: 20 % more time, twice the transactions, 25 %
// more groups, 1 % more binlog syncs.
func twice(run *Run, r *Result) {
	run.Command[1] = "--threads=16"
	run.Seconds = 2.4
	*run.Load.Clients, *run.Load.Transactions, *run.Load.TPS, *run.Load.LatencyAvg = 16, 12_000, 5000, 3
	r.Transactions, r.Bytes = 12_000, 6_000_000
	*r.Groups.Sync.Count, r.Groups.Sync.Low, r.Groups.Sync.High = 2500, 2500, 2500
	r.Groups.Sync.Size = &GroupSize{Mean: 4.8, P95: 12, Max: 16, AloneShare: 0.05}
	*r.Groups.Flush.Count, r.Groups.Flush.Low, r.Groups.Flush.High = 2600, 2550, 2800
	r.IO.Syncs["binlog"] = Syncs{Count: 2030, Exactness: "exact"}
	r.IO.CPU.IOWait, *r.IO.CPU.ServerUser = 0.25, 3
}

func figureNamed(t *testing.T, c *Comparison, name string) ComparedFigure {
	t.Helper()
	i := slices.IndexFunc(c.Figures, func(f ComparedFigure) bool { return f.Name == name })
	if i < 0 {
		t.Fatalf("no figure %s", name)
	}
	return c.Figures[i]
}

// say writes a value: value, [min max], {low high}, basis, change, difference.
func say(v *ColumnValue) string {
	if v == nil {
		return "absent"
	}
	number := func(p *float64) string {
		if p == nil {
			return "-"
		}
		return fmt.Sprintf("%.6g", *p)
	}
	s := number(v.Value)
	if v.Min != nil {
		s += fmt.Sprintf(" [%s %s]", number(v.Min), number(v.Max))
	}
	if v.Low != nil {
		s += fmt.Sprintf(" {%s %s}", number(v.Low), number(v.High))
	}
	s += " " + string(v.Basis)
	if v.Difference != "" {
		s += " " + number(v.Change) + " " + string(v.Difference)
	}
	return s
}

func codes(c *Comparison) []string {
	var out []string
	for _, w := range c.Warnings {
		out = append(out, w.Code)
	}
	return out
}

func TestComparePair(t *testing.T) {
	c := Compare([]RunResult{madeRun("runs/a", nil), madeRun("runs/b", twice)})
	for name, want := range map[string][2]string{
		"elapsed":          {"2 measured", "2.4 measured 0.2 unproven"},
		"transactions":     {"6000 exact", "12000 exact 1 unproven"},
		"tps":              {"3000 measured", "5000 measured 0.666667 unproven"}, // 12,000 / 2.4 / 3,000
		"bytes":            {"3e+06 exact", "6e+06 exact 1 unproven"},            //
		"sync_groups":      {"2000 exact", "2500 exact 0.25 unproven"},           //
		"flush_groups":     {"2500 {2400 2700} estimated", "2600 {2550 2800} estimated 0.04 none"},
		"binlog_syncs":     {"2010 measured", "2030 measured 0.00995025 unproven"}, // 20 / 2,010
		"redo_syncs":       {"2600 measured", "2600 measured 0 none"},
		"all_syncs":        {"4610 measured", "4630 measured 0.00433839 unproven"}, // 20 / 4,610
		"group_size_mean":  {"3 exact", "4.8 exact 0.6 unproven"},
		"group_size_max":   {"8 exact", "16 exact 1 unproven"},
		"alone_share":      {"0.1 exact", "0.05 exact -0.05 unproven"}, // points
		"other_sessions":   {"0.005 exact", "0.0025 exact -0.0025 unproven"},
		"cpu_iowait":       {"0.5 measured", "0.25 measured -0.25 unproven"}, // points
		"server_cpu_user":  {"1.5 measured", "3 measured 1 unproven"},
		"load_latency_avg": {"2.5 measured", "3 measured 0.2 unproven"},
		"load_latency_p95": {"4 measured", "4 measured 0 none"},
		"load_errors":      {"0 measured", "0 measured - none"},
		"fsyncs_saved":     {"4000 exact", "4000 exact 0 none"},
	} {
		f := figureNamed(t, c, name)
		for i := range want {
			if got := say(f.Values[i]); got != want[i] {
				t.Errorf("%s of column %d is %q, want %q", name, i, got, want[i])
			}
		}
	}
	if got := []string{c.Columns[0].Name, c.Columns[1].Name, c.Runs[1].Name}; !slices.Equal(got, []string{"a", "b", "runs/b"}) {
		t.Errorf("names are %q", got)
	}
	if len(c.Settings) != 0 {
		t.Errorf("settings differ: %v", c.Settings)
	}
	var load []string
	for _, d := range c.Load {
		load = append(load, d.Name+": "+c.inWords(d))
	}
	if want := []string{"clients: 8, 16", "--threads: 8, 16"}; !slices.Equal(load, want) {
		t.Errorf("loads differ in %q, want %q", load, want)
	}
	if got := codes(c); !slices.Equal(got, []string{"compare-single-runs"}) {
		t.Errorf("warnings are %v", got)
	}
	if slices.ContainsFunc(c.Figures, func(f ComparedFigure) bool { return f.Name == "Innodb_log_waits" }) {
		t.Error("a counter that is 0 in all runs is shown")
	}
	// The trace began half a second before the command, and saw no binlog sync in
	// its second bucket.
	want := []RunBucket{{-0.5, 10}, {0.5, 0}}
	if got := c.Runs[0].Timeline.BinlogSyncs.Series; !reflect.DeepEqual(got, want) {
		t.Errorf("binlog syncs over time are %v, want %v", got, want)
	}
	if got := c.Runs[0].Timeline.Transactions; got.From != FromCommand || got.Series[0] != (RunBucket{1, 6000}) {
		t.Errorf("transactions over time are %v", got)
	}
	if !c.Complete() || c.Repeats() {
		t.Errorf("complete %v, repeats %v", c.Complete(), c.Repeats())
	}
}

// Of two commands the names of programs and scripts make another load, numbers
// do not.
func TestCompareLoads(t *testing.T) {
	for _, tt := range []struct {
		a, b []string
		want bool
	}{
		{[]string{"sysbench", "oltp_a", "run"}, []string{"sysbench", "oltp_b", "run"}, true},
		{[]string{"sysbench", "oltp_a", "run"}, []string{"tpcc", "oltp_a", "run"}, true},
		{[]string{"load", "8", "run"}, []string{"load", "16", "run"}, false},
		{[]string{"load", "--threads=8"}, []string{"load", "--threads=16"}, false},
		{[]string{"load", "run"}, []string{"load", "run", "more"}, false},
		{[]string{"load", "a.lua"}, []string{"/usr/bin/load", "/share/a.lua"}, false},
	} {
		c := Compare([]RunResult{madeRun("a", func(run *Run, r *Result) { run.Command = tt.a }), madeRun("b", func(run *Run, r *Result) { run.Command = tt.b })})
		if got := slices.Contains(codes(c), "compare-load"); got != tt.want {
			t.Errorf("%q and %q: warned %v, want %v", tt.a, tt.b, got, tt.want)
		}
	}
}

// A run whose recording was killed did not take no time.
func TestCompareUnseenEnd(t *testing.T) {
	c := Compare([]RunResult{madeRun("a", nil), madeRun("b", func(run *Run, r *Result) { run.Seconds, run.Exit.Status, run.Read = 0, -1, "" })})
	if got := figureNamed(t, c, "elapsed").Values[1]; got != nil {
		t.Errorf("elapsed is %s", say(got))
	}
	if w := c.Warnings[0]; w.Message != "b: how the command ended is not known, so that its load may not be whole" {
		t.Errorf("warnings are %v", c.Warnings)
	}
}

func TestCompareOrder(t *testing.T) {
	c := Compare([]RunResult{madeRun("a", nil), madeRun("b", nil)})
	var got []string
	for _, f := range c.Figures {
		got = append(got, f.Section+" "+f.Name)
	}
	want := []string{
		"run elapsed", "run transactions", "run tps", "run bytes", "run other_sessions",
		"load generator load_transactions", "load generator load_tps", "load generator load_latency_avg", "load generator load_latency_p95", "load generator load_errors",
		"groups sync_groups", "groups flush_groups", "groups group_size_mean", "groups group_size_p95", "groups group_size_max", "groups alone_share", "groups fsyncs_saved", "groups fsyncs_saved_share",
		"syncs binlog_syncs", "syncs redo_syncs", "syncs all_syncs",
		"host cpu_user", "host cpu_system", "host cpu_iowait", "host cpu_idle", "host server_cpu_user",
		"server counters Innodb_os_log_fsyncs",
	}
	if !slices.Equal(got, want) {
		t.Errorf("figures are %q, want %q", got, want)
	}
}

// repeats has runs under one label that took so many seconds.
func repeats(label string, seconds ...float64) []RunResult {
	var out []RunResult
	for i, s := range seconds {
		out = append(out, madeRun(fmt.Sprintf("%s/%d", label, i), func(run *Run, r *Result) {
			run.Label, run.Seconds = label, s
		}))
	}
	return out
}

func TestCompareRepeats(t *testing.T) {
	for _, tt := range []struct {
		name     string
		a, b     []float64
		want     [2]string
		typical  int // of b, among its runs
		warnings []string
	}{
		{"apart", []float64{2.2, 2, 2.1}, []float64{2.4, 2.3, 2.9, 2.6}, [2]string{"2.1 [2 2.2] measured", "2.5 [2.3 2.9] measured 0.190476 higher"}, 0, []string{"compare-few-repeats"}},
		{"below", []float64{2, 2.1, 2.2, 2.3}, []float64{1, 1.9, 1.5, 1.2}, [2]string{"2.15 [2 2.3] measured", "1.35 [1 1.9] measured -0.372093 lower"}, 3, nil},
		{"overlap", []float64{2, 2.5}, []float64{2.5, 3}, [2]string{"2.25 [2 2.5] measured", "2.75 [2.5 3] measured 0.222222 none"}, 0, []string{"compare-few-repeats"}},
		{"one run outside", []float64{2, 2.5}, []float64{3}, [2]string{"2.25 [2 2.5] measured", "3 measured 0.333333 unproven"}, 0, []string{"compare-single-runs"}},
		{"one run inside", []float64{2, 2.5}, []float64{2.4}, [2]string{"2.25 [2 2.5] measured", "2.4 measured 0.0666667 none"}, 0, []string{"compare-single-runs"}},
	} {
		c := Compare(slices.Concat(repeats("a", tt.a...), repeats("b", tt.b...)))
		f := figureNamed(t, c, "elapsed")
		if len(f.Values) != 2 || say(f.Values[0]) != tt.want[0] || say(f.Values[1]) != tt.want[1] {
			t.Errorf("%s: %q and %q, want %q", tt.name, say(f.Values[0]), say(f.Values[1]), tt.want)
		}
		if got := c.Columns[1].Typical - len(tt.a); got != tt.typical {
			t.Errorf("%s: run %d is typical, want %d", tt.name, got, tt.typical)
		}
		if got := codes(c); !slices.Equal(got, tt.warnings) {
			t.Errorf("%s: warnings %v, want %v", tt.name, got, tt.warnings)
		}
	}
	// 3 and 4 runs can be dealt in 35 ways, 3 and 3 in 20, of which 2 lie apart.
	c := Compare(slices.Concat(repeats("a", 1, 2, 3), repeats("b", 4, 5, 6)))
	if w := c.Warnings[0].Message; !strings.Contains(w, "once in 10 times") {
		t.Errorf("%q", w)
	}
	if c := Compare(repeats("a", 1, 2)); len(c.Columns) != 1 || !slices.Equal(codes(c), []string{"compare-one-column"}) {
		t.Errorf("one label: %v, %v", c.Columns, codes(c))
	}
	// Sizes are added up.
	if got, want := c.Columns[0].Sizes, []HistogramBin{{1, 1800}, {2, 1200}, {4, 1200}, {5, 1800}}; !slices.Equal(got, want) {
		t.Errorf("sizes are %v, want %v", got, want)
	}
}

// Intervals and what is at least something differ only where they lie apart;
// an estimate without an interval proves nothing.
func TestCompareIntervals(t *testing.T) {
	estimate := func(n, low, high int64) func(*Run, *Result) {
		return func(run *Run, r *Result) {
			run.Label = fmt.Sprint(n > 1000)
			g := r.Groups.Sync
			g.Count, g.Low, g.High, g.Basis, g.Method = &n, low, high, Estimated, CommitTimestamps
			g.Size.Mean = 6000 / float64(n)
			g.Size.Max = n / 100
		}
	}
	c := Compare([]RunResult{
		madeRun("1", estimate(500, 400, 600)), madeRun("2", estimate(600, 400, 800)),
		madeRun("3", estimate(1500, 1200, 2000)), madeRun("4", estimate(1400, 1200, 1500)),
	})
	for name, want := range map[string][2]string{
		"sync_groups":     {"550 [500 600] {400 800} estimated", "1450 [1400 1500] {1200 2000} estimated 1.63636 higher"},
		"group_size_mean": {"11 [10 12] {7.5 15} estimated", "4.14286 [4 4.28571] {3 5} estimated -0.623377 lower"}, // 6,000/800 and 6,000/400
		"group_size_max":  {"5.5 [5 6] estimated", "14.5 [14 15] estimated 1.63636 unproven"},
	} {
		f := figureNamed(t, c, name)
		for i := range want {
			if got := say(f.Values[i]); got != want[i] {
				t.Errorf("%s: %q, want %q", name, got, want[i])
			}
		}
	}

	if missing := madeRun("a", func(run *Run, r *Result) { run.Missing = []string{"no trace"} }); Compare([]RunResult{missing}).Complete() {
		t.Error("a run that misses something is complete")
	}
	lost := madeRun("lost", func(run *Run, r *Result) { r.IO.Lost = 5 })
	proven := madeRun("proven", func(run *Run, r *Result) {
		r.Groups.Sync = &GroupStats{Low: 100, High: 6000, Basis: Bounded, Method: Constraints}
	})
	c = Compare([]RunResult{lost, proven})
	for name, want := range map[string][2]string{
		"binlog_syncs":    {"2010 {2010 -} bound", "2010 measured 0 none"},
		"sync_groups":     {"2000 exact", "- {100 6000} bound - none"},
		"group_size_mean": {"3 exact", "- {1 60} bound - none"},
		"group_size_max":  {"8 exact", "absent"},
	} {
		f := figureNamed(t, c, name)
		for i := range want {
			if got := say(f.Values[i]); got != want[i] {
				t.Errorf("%s: %q, want %q", name, got, want[i])
			}
		}
	}
}

// What is not known is absent, never zero.
func TestCompareAbsent(t *testing.T) {
	bare := RunResult{"bare", &Run{Seconds: 1}, &Result{}}
	c := Compare([]RunResult{bare, madeRun("b", nil)})
	for _, f := range c.Figures {
		if f.Name != "elapsed" && f.Values[0] != nil {
			t.Errorf("%s is %s in a run of which nothing is known", f.Name, say(f.Values[0]))
		}
		if f.Values[1] == nil || f.Name != "elapsed" && f.Values[1].Difference != "" {
			t.Errorf("%s is %s", f.Name, say(f.Values[1]))
		}
	}
	if c.Complete() || c.Runs[0].Timeline != nil {
		t.Errorf("complete %v, timeline %v", c.Complete(), c.Runs[0].Timeline)
	}
	c = Compare([]RunResult{bare, bare})
	if len(c.Figures) != 1 {
		t.Errorf("figures of nothing: %v", c.Figures)
	}
}

func TestCompareSettings(t *testing.T) {
	b := madeRun("b", func(run *Run, r *Result) {
		run.Server.Version, run.Host = "8.4.6", nil
		run.Settings["sync_binlog"], run.Settings["binlog_order_commits"], run.Settings["server_id"] = "100", "ON", "2"
		run.Settings["innodb_log_file_size"], run.Settings["innodb_io_capacity"] = "100663296", "200"
	})
	a := madeRun("a", func(run *Run, r *Result) {
		run.Settings["innodb_log_file_size"], run.Settings["innodb_io_capacity"] = "50331648", "10000"
	})
	c := Compare([]RunResult{a, b})
	var got []string
	for _, d := range c.Settings {
		s := d.Name + ": " + c.inWords(d)
		if d.Incomparable {
			s = "! " + s
		}
		got = append(got, s)
	}
	want := []string{
		"! server version: 9.7.4, 8.4.6", "! sync_binlog: 1, 100", "! innodb_log_file_size: 50331648, 100663296",
		"binlog_order_commits: absent, ON", "device: nvme0n1, absent", "host: db1, absent", "host CPUs: 8, absent", "host kernel: 6.12, absent",
		"innodb_io_capacity: 10000, 200",
	}
	if !slices.Equal(got, want) {
		t.Errorf("settings differ: %q, want %q", got, want)
	}
	if w := c.Warnings[0]; w.Code != "compare-settings" || !strings.Contains(w.Message, "server version (9.7.4, 8.4.6); sync_binlog (1, 100)") {
		t.Errorf("warning %v", w)
	}
}

// Semi-sync has two names, and none where its plugin is not loaded.
func TestCompareSemiSync(t *testing.T) {
	run := func(settings ...string) RunResult {
		return madeRun(fmt.Sprint(settings), func(run *Run, r *Result) {
			run.Settings["innodb_buffer_pool_size"] = "1"
			for _, name := range settings {
				run.Settings[name] = "ON"
			}
		})
	}
	off, master, source := run(), run("rpl_semi_sync_master_enabled"), run("rpl_semi_sync_source_enabled")
	unknown := madeRun("old", nil)
	for _, test := range []struct {
		a, b RunResult
		want string
	}{{off, source, "semi-sync (OFF, ON)"}, {off, master, "semi-sync (OFF, ON)"}, {source, master, ""}, {unknown, source, ""}} {
		c := Compare([]RunResult{test.a, test.b})
		if w := c.Warnings[0]; (w.Code == "compare-settings") != (test.want != "") || !strings.HasSuffix(w.Message, test.want) {
			t.Errorf("%s and %s: %v, want %s", test.a.Dir, test.b.Dir, w, test.want)
		}
	}
}

func TestCompareWarnings(t *testing.T) {
	for want, change := range map[string]func(*Run, *Result){
		"compare-command-failed":  func(run *Run, r *Result) { run.Exit.Status = 3 },
		"compare-incomplete":      func(run *Run, r *Result) { run.To = nil },
		"compare-damaged-log":     func(run *Run, r *Result) { r.Sources[0].Complete = false },
		"compare-missing":         func(run *Run, r *Result) { run.Missing = []string{"The logs were purged."} },
		"compare-without":         func(run *Run, r *Result) { run.Without = []string{"no syncs: the server is on another host"} },
		"compare-setting-changed": func(run *Run, r *Result) { run.Changed = map[string]string{"sync_binlog": "0"} },
		"compare-other-sessions":  func(run *Run, r *Result) { *run.Others.Before = 100 },
		"compare-load":            func(run *Run, r *Result) { run.Command[0] = "mysqlslap" },
		"compare-time":            func(run *Run, r *Result) { run.Command = append(run.Command, "--time=60") },
		"compare-load-window":     func(run *Run, r *Result) { run.Load.Seconds, run.Seconds = new(1.9), 3.5 },
		"compare-sync-sources":    func(run *Run, r *Result) { r.IO.Source = "status" },
		"compare-bases":           func(run *Run, r *Result) { r.Groups.Sync.Basis = Estimated },
		"compare-repeats-differ":  func(run *Run, r *Result) { run.Settings["gtid_mode"] = "ON" },
	} {
		a, b := madeRun("a", nil), madeRun("b", change)
		if want == "compare-repeats-differ" {
			a.Run.Label, b.Run.Label = "same", "same"
		}
		if c := Compare([]RunResult{a, b}); c.Warnings[0].Code != want || len(c.Warnings) != 2 {
			t.Errorf("warnings are %v, want %s", c.Warnings, want)
		}
	}
}

func TestArguments(t *testing.T) {
	got := arguments([]string{"sysbench", "--threads=8", "--time", "10", "--verbose", "-p", "a.lua", "run", "--threads=9", "-"})
	want := []argument{{"command", "sysbench"}, {"--threads", "8"}, {"--time", "10"}, {"--verbose", ""}, {"-p", "a.lua"}, {"word 1", "run"}, {"--threads (2)", "9"}, {"word 2", "-"}}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := arguments(nil); len(got) != 0 {
		t.Errorf("of nothing: %q", got)
	}
}

// Two runs at one server at the same time have each other's transactions.
func TestCompareOverlap(t *testing.T) {
	at := func(second int, address, uuid string) RunResult {
		return madeRun("x", func(run *Run, r *Result) {
			run.Server.Address, run.Settings["server_uuid"] = address, uuid
			run.Start.Time = run.Start.Add(time.Duration(second) * time.Second)
			run.End.Time = run.Start.Add(2 * time.Second)
		})
	}
	for _, tt := range []struct {
		b    RunResult
		want bool
	}{
		{at(0, "u@db1:3306", "1-2"), true}, // a copy
		{at(1, "/run/s", "1-2"), true},
		{at(-1, "u@db1:3306", "1-2"), true},
		{at(2, "u@db1:3306", "1-2"), false},
		{at(1, "u@db1:3306", "3-4"), false},
		{at(1, "u@db1:3306", ""), false},
	} {
		c := Compare([]RunResult{at(0, "u@db1:3306", "1-2"), tt.b})
		if got := slices.Contains(codes(c), "compare-overlap"); got != tt.want {
			t.Errorf("%v at %q: warned %v, want %v", tt.b.Run.Start, tt.b.Run.Server.Address, got, tt.want)
		}
	}
	if c := Compare([]RunResult{at(0, "u@db1:3306", ""), at(1, "u@db1:3306", "")}); !slices.Contains(codes(c), "compare-overlap") {
		t.Errorf("MariaDB: %v", codes(c))
	}
}

// A trace that ended early leaves transactions out, which were committed all the
// same.
func TestCompareCoversPart(t *testing.T) {
	c := Compare([]RunResult{madeRun("a", nil), madeRun("b", func(run *Run, r *Result) {
		r.Transactions, r.Warnings = 2000, []Warning{{Code: "trace-covers-part", Count: 4000}}
	})})
	for name, want := range map[string]string{
		"transactions": "2000 {2000 -} bound -0.666667 none", "tps": "1000 {1000 -} bound -0.666667 none",
		"sync_groups": "2000 {2000 -} bound 0 none", "flush_groups": "2500 {2400 -} bound 0 none", "fsyncs_saved": "4000 {4000 -} bound 0 none",
		"group_size_max": "8 exact 0 none",
	} {
		if got := say(figureNamed(t, c, name).Values[1]); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if got := codes(c); c.Complete() || got[0] != "compare-incomplete" {
		t.Errorf("complete %v, warnings %v", c.Complete(), got)
	}
}

// A server's own counters are of the binlog and the redo log, and not of data files.
func TestCompareAllSyncs(t *testing.T) {
	c := Compare([]RunResult{madeRun("a", nil), madeRun("b", func(run *Run, r *Result) { r.IO.Source = "status" })})
	if f := figureNamed(t, c, "all_syncs"); f.Values[0] == nil || f.Values[1] != nil {
		t.Errorf("all syncs are %s by bpf, %s by status", say(f.Values[0]), say(f.Values[1]))
	}
}

// Transactions of unknown sessions may all be of others.
func TestCompareUnknownSessions(t *testing.T) {
	c := Compare([]RunResult{madeRun("a", func(run *Run, r *Result) { run.Others.Unknown = 570 }), madeRun("b", nil)})
	f := figureNamed(t, c, "other_sessions")
	if got, want := say(f.Values[0]), "0.005 {0.005 0.1} bound"; got != want { // 30 and 600 of 6,000
		t.Errorf("%s, want %s", got, want)
	}
}

// Numbers that no run has are no reason to fail.
func TestCompareHostile(t *testing.T) {
	r := madeRun("x", func(run *Run, r *Result) {
		run.Seconds = 1e-308
		r.Groups.Sync.Low, r.Groups.Sync.High = 0, -5
		r.Groups.Flush.Low, r.Groups.Flush.High = 9, 3
		r.Groups.Sync.Size.Mean = 1e308
		r.Saved.Binlog.Share = nil
		r.Rates.Series[0].Start = Time{time.Time{}}
	})
	c := Compare([]RunResult{r, madeRun("y", nil), {"z", &Run{}, &Result{}}})
	for _, f := range c.Figures {
		for _, v := range f.Values {
			if v != nil {
				for _, n := range []*float64{v.Value, v.Min, v.Max, v.Low, v.High, v.Change} {
					if n != nil && !finite(*n) {
						t.Errorf("%s is %s", f.Name, say(v))
					}
				}
			}
		}
	}
}

// A counter that counts no events has the unit of what it adds up.
func TestCounterUnits(t *testing.T) {
	c := Compare([]RunResult{madeRun("a", func(run *Run, _ *Result) {
		run.Counters = map[string]int64{"Innodb_row_lock_time": 9, "Innodb_row_lock_waits": 7}
	})})
	for name, want := range map[string]string{"Innodb_row_lock_time": UnitMilliseconds, "Innodb_row_lock_waits": UnitNumber} {
		i := slices.IndexFunc(c.Figures, func(f ComparedFigure) bool { return f.Section == OfCounters && f.Name == name })
		if i < 0 || c.Figures[i].Unit != want {
			t.Errorf("%s: figure %d, want one in %s", name, i, want)
		}
	}
}
