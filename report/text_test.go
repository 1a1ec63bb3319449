package report

import (
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bgcstat/analysis"
)

var update = flag.Bool("update", false, "write the golden files anew")

func at(s string) analysis.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		panic(err)
	}
	return analysis.Time{Time: t}
}

// traced is a result as a log of MySQL 9.7 and a trace of its syncs give it.
func traced() *analysis.Result {
	start, end := at("2026-11-30T14:32:12.6Z"), at("2026-11-30T14:32:13.57Z")
	return &analysis.Result{
		Sources:      []analysis.Source{{File: "mysql-bin.000001", Bytes: 1854198, Complete: true, Flavor: "mysql", ServerVersion: "9.7.4-2", ServerID: 1, Kind: "binlog"}},
		Window:       &analysis.Window{Start: start, End: end, Seconds: 0.97, Clock: analysis.ClockCommit},
		Transactions: 6000, Bytes: 1854000,
		Groups: analysis.Groups{
			Sync: &analysis.GroupStats{
				Count: new(int64(2061)), Low: 2061, High: 2061, Basis: analysis.Exact, Method: analysis.Traced,
				Size: &analysis.GroupSize{Mean: 2.91, P50: 1, P95: 7, P99: 7, Max: 8, AloneShare: 0.17},
			},
			Bound: &analysis.Bound{Lower: 911, Upper: 6000},
		},
		DependencyTracking: analysis.DependencyTracking{ServerMode: "WRITESET", From: "version"},
		Clock:              analysis.Clock{TransactionsWith: 6000, Verdict: analysis.Contiguous},
		IO: &analysis.IO{
			Source: "bpf", Detail: "ext4_sync_file_enter", Start: start, End: end, Seconds: 0.97,
			Syncs: map[string]analysis.Syncs{
				"binlog": {Count: 2062, Exactness: "exact", Latency: &analysis.SyncLatency{P50: new(98e-6), P99: new(410e-6)}},
				"redo":   {Count: 2177, Exactness: "exact", Latency: &analysis.SyncLatency{P50: new(110e-6), P99: new(1.2e-3)}},
				"data":   {Count: 34, Exactness: "exact"},
				"other":  {Count: 3, Exactness: "exact"},
				"undo":   {Exactness: "exact"},
			},
			BinlogSyncsDurable: new(int64(2061)), TransactionsPerBinlogSync: new(6000.0 / 2061), DurableByNoneYet: new(int64(0)),
			DeviceFlushes: []analysis.DeviceFlushes{{Device: "vda", Count: 4276}},
			CPU: &analysis.CPU{CPUs: 2, CPUUse: analysis.CPUUse{
				User: 0.312, System: 0.218, IOWait: 0.094, Idle: 0.374, Steal: 0.002, ServerUser: new(0.62), ServerSystem: new(0.481),
			}},
		},
		Saved: &analysis.Saved{
			Assumes: analysis.Assumes{SyncBinlog: 1, FlushLogAtTrxCommit: new(int64(1)), From: "server"},
			Binlog: &analysis.SavedSync{
				Alone: 6000, Grouped: new(int64(2061)), GroupedLow: 2061, GroupedHigh: 2061,
				SavedByGrouping: new(int64(3939)), SavedByGroupingMin: 3939, SavedByGroupingMax: 3939, Share: new(3939.0 / 6000), ShareMax: 3939.0 / 6000,
				Basis: analysis.Measured, Method: analysis.FsyncCount,
				FromLog: &analysis.FromLog{Count: new(int64(2034)), Low: 1990, High: 2180, Basis: analysis.Estimated, Method: analysis.CommitTimestamps},
			},
			Redo: &analysis.SavedSync{
				Alone: 6000, Grouped: new(int64(2177)), GroupedLow: 2177, GroupedHigh: 2177,
				SavedByGrouping: new(int64(3823)), SavedByGroupingMin: 3823, SavedByGroupingMax: 3823, Share: new(3823.0 / 6000), ShareMax: 3823.0 / 6000,
				Basis: analysis.Measured, Method: analysis.FsyncCount,
			},
		},
	}
}

// flushesOnly is a result whose trace has no syncs, only the flushes of disks.
func flushesOnly() *analysis.Result {
	r := traced()
	r.IO = &analysis.IO{
		Source: "proc", Start: r.IO.Start, End: r.IO.End, Seconds: 0.97,
		DeviceFlushes: []analysis.DeviceFlushes{{Device: "vda", Count: 4276}, {Device: "vdb", Count: 12}},
		Refused: []analysis.Refused{
			{Source: "bpf", Why: "needs CAP_BPF"},
			{Source: "perf", Why: "perf_event_open of syscalls:sys_enter_fsync: permission denied; perf_event_paranoid is 3, and this process has no CAP_PERFMON"},
			{Source: "status", Why: "no server was named"},
		},
	}
	r.Groups.Sync = &analysis.GroupStats{Count: new(int64(2034)), Low: 1990, High: 2180, Basis: analysis.Estimated, Method: analysis.CommitTimestamps}
	b := r.Saved.Binlog
	b.Grouped, b.GroupedLow, b.GroupedHigh = new(int64(2034)), 1990, 2180
	b.SavedByGrouping, b.SavedByGroupingMin, b.SavedByGroupingMax, b.Share = new(int64(3966)), 3820, 4010, new(3966.0/6000)
	b.Basis, b.Method, b.FromLog = analysis.Estimated, analysis.CommitTimestamps, nil
	r.Saved.Redo = nil
	r.Saved.Assumes.From = "default of 9.7"
	return r
}

// status is a result whose trace has the counters of a managed server.
func status() *analysis.Result {
	r := traced()
	r.IO = &analysis.IO{
		Source: "status", Start: r.IO.Start, End: r.IO.End, Seconds: 3600,
		Syncs: map[string]analysis.Syncs{
			"binlog":         {Count: 12_345_678, Exactness: "estimate", Latency: &analysis.SyncLatency{Mean: new(0.0123)}},
			"redo":           {Count: 12_345_678, Exactness: "exact"},
			"doublewrite":    {Count: 9_876_543, Exactness: "lower_bound", Latency: &analysis.SyncLatency{Mean: new(1.5)}},
			"unattributed":   {Count: 8_765_432, Exactness: "estimate"},
			"\x1bunheard-of": {Count: 1},
		},
		BinlogSyncsDurable: new(int64(12_345_670)), TransactionsPerBinlogSync: new(1.0), DurableByNoneYet: new(int64(3)), Lost: 12,
	}
	r.Saved.Binlog.FromLog = &analysis.FromLog{Low: 911, High: 6000, Basis: analysis.Bounded, Method: analysis.Constraints}
	r.Saved.Binlog.SavedBySyncBinlog, r.Saved.Assumes.SyncBinlog = new(int64(77)), 10
	return r
}

func summary(t *testing.T, r *analysis.Result) string {
	t.Helper()
	var b strings.Builder
	if err := Text(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTextGolden(t *testing.T) {
	for name, r := range map[string]*analysis.Result{"traced": traced(), "flushes-only": flushesOnly(), "status": status()} {
		got := summary(t, r)
		file := filepath.Join("testdata", name+".txt")
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s: got\n%s\nwant\n%s", file, got, want)
		}
	}
}

// rowsOf gives the lines that the trace alone adds.
func rowsOf(t *testing.T, io *analysis.IO) string {
	t.Helper()
	r := &analysis.Result{Transactions: 1, Clock: analysis.Clock{Verdict: analysis.NoClock}, DependencyTracking: analysis.DependencyTracking{ServerMode: analysis.ModeNone}, IO: io}
	_, rows, ok := strings.Cut(summary(t, r), "0 B\n")
	if !ok {
		t.Fatal("no row of transactions")
	}
	return rows
}

func TestSyncRows(t *testing.T) {
	const notCounted = "binlog syncs    not counted                            proc counts no syncs\n"
	for name, tt := range map[string]struct {
		io   analysis.IO
		want string
	}{
		"nothing": {analysis.IO{Source: "proc"}, notCounted},
		"no binlog": {
			analysis.IO{Source: "perf", Syncs: map[string]analysis.Syncs{"redo": {Count: 5, Exactness: "exact"}}},
			"other syncs     redo 5                                 measured\n",
		},
		"not stated": {
			analysis.IO{Source: "perf", Syncs: map[string]analysis.Syncs{"binlog": {Count: 5}}},
			"binlog syncs    5                                      exactness not stated, by perf\n",
		},
		"lower bound": {
			analysis.IO{Source: "perf", Syncs: map[string]analysis.Syncs{"binlog": {Count: 5, Exactness: "lower_bound"}}},
			"binlog syncs    5                                      at least, by perf\n",
		},
		"latency of one half": {
			analysis.IO{Source: "bpf", Syncs: map[string]analysis.Syncs{"redo": {Latency: &analysis.SyncLatency{P99: new(2.0)}}, "data": {Latency: &analysis.SyncLatency{P50: new(math.NaN())}}}},
			"sync latency    redo p99 2.00 s                        measured, by bpf\n",
		},
		"the host's CPUs": {
			analysis.IO{Source: "proc", CPU: &analysis.CPU{CPUs: 1, CPUUse: analysis.CPUUse{User: 1, Steal: 0.006}}},
			notCounted + "cpu             user 100 %, system 0 %, iowait 0 %, steal 1 % measured, of the host\n",
		},
		"the server's CPUs": {
			analysis.IO{Source: "proc", CPU: &analysis.CPU{CPUs: 128, CPUUse: analysis.CPUUse{User: -1, System: 1.1, IOWait: math.NaN(), ServerUser: new(100.0), ServerSystem: new(0.0)}}},
			notCounted + "cpu             server 100.00 of 128 CPUs              measured\n",
		},
	} {
		if got := rowsOf(t, &tt.io); got != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, tt.want)
		}
	}
}

func TestSavedRows(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(s *analysis.Saved)
		want   string
	}{
		"interval": {func(s *analysis.Saved) {
			*s.Binlog = analysis.SavedSync{Alone: 6000, GroupedLow: 911, GroupedHigh: 6000, SavedByGroupingMax: 5089, ShareMax: 5089.0 / 6000, Basis: analysis.Bounded, Method: analysis.Constraints}
		}, "fsyncs saved    0 to 5,089 of 6,000 (at most 84.8 %)   bound; sync_binlog=1: server\nredo saved "},
		"never synced": {func(s *analysis.Saved) {
			s.Assumes.SyncBinlog = 0
			s.Binlog.FromLog = nil
		}, "fsyncs saved    none are made on commit                measured; sync_binlog=0: server\nredo saved "},
		"redo alone": {func(s *analysis.Saved) { s.Binlog = nil }, "transactions    6,000, 6,186/s, 1.85 MB\nsync groups     2,061                                  exact, by traced\n" +
			"group size      mean 2.91, max 8, alone 17.0 %         exact, by traced\nredo saved      3,823 of 6,000 (63.7 %)                measured, by fsync_count\n"},
		"redo by the log": {func(s *analysis.Saved) {
			s.Redo.FromLog = &analysis.FromLog{Count: new(int64(2180)), Low: 2180, High: 2180, Basis: analysis.Estimated, Method: analysis.CommitTimestamps}
		}, "measured, by fsync_count\n  by the log    2,180 syncs                            estimated, by commit_timestamps\n"},
		"no share": {func(s *analysis.Saved) { s.Redo.Share = nil }, "redo saved      0 to 3,823 of 6,000 (at most 63.7 %)   measured"},
	} {
		r := traced()
		tt.change(r.Saved)
		if got := summary(t, r); !strings.Contains(got, tt.want) {
			t.Errorf("%s: got\n%s\nwant in it\n%s", name, got, tt.want)
		}
	}
}

// Whatever a trace holds, its rows fit a terminal and do not steer it.
func TestSyncRowsHostile(t *testing.T) {
	odd := strings.Repeat("very long \x1b[2J\n", 40)
	for _, n := range []int64{math.MinInt64, -1, 0, 1, 999_999_999_999} {
		for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 0, 5e-324, 1e-6, 123456} {
			latency := &analysis.SyncLatency{P50: &v, P99: &v, Mean: &v}
			io := &analysis.IO{
				Source: odd, Detail: odd, Seconds: v, BinlogSyncsDurable: &n, TransactionsPerBinlogSync: &v, DurableByNoneYet: &n, Lost: n,
				Syncs: map[string]analysis.Syncs{
					"binlog": {Count: n, Exactness: "exact", Latency: latency}, "redo": {Count: n, Exactness: odd, Latency: latency},
					odd: {Count: n, Exactness: odd, Latency: latency}, "": {Count: n}, "doublewrite": {Count: n, Exactness: "lower_bound", Latency: latency},
				},
			}
			for range 20 {
				io.DeviceFlushes = append(io.DeviceFlushes, analysis.DeviceFlushes{Device: odd, Count: n})
			}
			io.Refused = []analysis.Refused{{}, {Source: odd, Why: odd}}
			io.CPU = &analysis.CPU{CPUs: int(n), CPUUse: analysis.CPUUse{User: v, System: v, IOWait: v, Steal: v, ServerUser: &v, ServerSystem: &v}}
			for line := range strings.Lines(rowsOf(t, io)) {
				line = strings.TrimSuffix(line, "\n")
				if most := 100; len([]rune(line)) > most && n != math.MinInt64 { // as with other rows, the basis may reach beyond 80
					t.Errorf("%d and %g: %d columns: %s", n, v, len([]rune(line)), line)
				}
				if strings.ContainsAny(line, "\x1b\n") || strings.Contains(line, "NaN") || strings.Contains(line, "Inf") {
					t.Errorf("%d and %g: %q", n, v, line)
				}
			}
		}
	}
}

func TestShort(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0 µs", 98e-6: "98 µs", 999.4e-6: "999 µs", 999.6e-6: "1.00 ms", 1.2e-3: "1.20 ms", 9.996e-3: "10.0 ms", 0.0123: "12.3 ms",
		0.123: "123 ms", 0.9996: "1.00 s", 1.5: "1.50 s", 1.234e-6: "1.23 µs",
	} {
		if got := Short(v); got != want {
			t.Errorf("Short(%g) is %s, want %s", v, got, want)
		}
	}
}

// What is a part of the logs says so, and so does evidence from all of them.
func TestPartOfLogs(t *testing.T) {
	r := traced()
	r.Sources[0].Transactions = 64_025
	r.DependencyTracking.Stretches = []analysis.Stretch{{Transactions: 64_025, Observed: analysis.ModeWriteset, Certainty: analysis.Proven, Evidence: []analysis.Evidence{{Rule: "same-session", Count: 63_964}}}}
	r.Warnings = []analysis.Warning{
		{Code: "delayed-syncs", Message: "transactions are in stretches", Count: 3000},
		{Code: "other", Message: "transactions are odd", Count: 2, At: &analysis.Position{File: "f", Position: 4}},
	}
	got := summary(t, r)
	for _, want := range []string{
		"transactions    6,000, 6,186/s, 1.85 MB                of 64,025 in the logs\n",
		"\n                counted over all 64,025 transactions there, reported or not\n",
		"\n? delayed-syncs: 3,000 transactions are in stretches\n",
		"\n? other (2 times, first at f:4): transactions are odd\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got\n%s\nwant in it %q", got, want)
		}
	}
}
