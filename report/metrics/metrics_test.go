package metrics

import (
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"bgcstat/analysis"
)

// worked is a server that has committed 1,220 transactions, 1,218 of them in 311
// sync groups:
//
//	size      1    2    5   16   17   600
//	groups  100  200    4    4    2     1    311
//	members 100  400   20   64   34   600    1,218
//
// so by size: 100 up to 1, 300 up to 2 to 4, 304 up to 6 to 12, 308 up to 16,
// 310 up to 24 to 512, 311 in all.
func worked() Values {
	latency := NewSyncLatency()
	for _, ns := range []int64{40_000, 50_000, 51_000, 1_500_000, 6_000_000_000} {
		latency.Observe(ns) // 2 up to 50 µs, 3 up to 100 µs, 4 up to 2 ms; 6.001641 s in all
	}
	return Values{
		Live: analysis.Live{
			Transactions: 1220, // two are in a group that is still open
			Bytes:        300_000,
			Time:         1_796_000_000_250_000,
			Sync: &analysis.LiveGroups{
				Count: 311, Transactions: 1218, Basis: analysis.Exact, Method: analysis.Traced,
				Sizes: []analysis.HistogramBin{
					{Size: 1, Groups: 100},
					{Size: 2, Groups: 200},
					{Size: 5, Groups: 4},
					{Size: 16, Groups: 4},
					{Size: 17, Groups: 2},
					{Size: 600, Groups: 1},
				},
			},
			// No sizes: 406 groups of 3 on average.
			Flush: &analysis.LiveGroups{Count: 406, Transactions: 1218, Basis: analysis.Estimated, Method: analysis.CommitTimestamps},
			Lower: 150, Upper: 1220, LastCommittedRuns: 900,
			Observed: analysis.ObservedWriteset, Certainty: analysis.Proven,
		},
		Syncs:      map[string]int64{"binlog": 312, "redo": 407},
		SyncSource: "bpf", SyncExactness: "exact", SyncsLost: 3, SyncLatency: latency,
		Lag: new(0.25), Connected: true, Reconnects: 2, PollErrors: 1,
		Server: Server{Flavor: "mysql", Version: "9.7.0", Address: "db1:3306"},
	}
}

func always(v Values) func() Values { return func() Values { return v } }

// TestWorked compares what is served with testdata/worked.prom, which was
// computed by hand.
func TestWorked(t *testing.T) {
	want, err := os.Open("testdata/worked.prom")
	if err != nil {
		t.Fatal(err)
	}
	defer want.Close()
	if err := testutil.CollectAndCompare(newCollector(always(worked())), want); err != nil {
		t.Error(err)
	}
}

// TestUnknown has nothing yet: what is not known is absent, and never 0.
func TestUnknown(t *testing.T) {
	const want = `
# HELP bgcstat_connected Whether the binlog is being received from the server: 1 or 0.
# TYPE bgcstat_connected gauge
bgcstat_connected 0
`
	for name, v := range map[string]Values{
		"nothing": {},
		// The counts of groups are known, their sizes are not.
		"no sizes": {Live: analysis.Live{Sync: &analysis.LiveGroups{Count: 9, Transactions: 12}}},
	} {
		c := newCollector(always(v))
		if err := testutil.CollectAndCompare(c, strings.NewReader(want), "bgcstat_connected", "bgcstat_syncs_total", "bgcstat_syncs_lost_total",
			"bgcstat_binlog_sync_duration_seconds", "bgcstat_lag_seconds", "bgcstat_last_transaction_timestamp_seconds", "bgcstat_server_info",
			"bgcstat_group_size", "bgcstat_flush_groups_total", "bgcstat_flush_group_size"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// But the limits are, always.
	const info = `
# HELP bgcstat_sync_groups_lower_bound_total Proven least number of sync groups: there are no fewer, whatever bgcstat_sync_groups_total says.
# TYPE bgcstat_sync_groups_lower_bound_total counter
bgcstat_sync_groups_lower_bound_total 0
`
	c := newCollector(always(Values{}))
	if err := testutil.CollectAndCompare(c, strings.NewReader(info), "bgcstat_sync_groups_lower_bound_total", "bgcstat_sync_groups_total"); err != nil {
		t.Error(err)
	}
	if got := scrape(t, Handler(always(Values{}))); !strings.Contains(got, `bgcstat_figures_info{basis="bound",certainty="",flush_basis="",flush_method="",method="constraints",`) {
		t.Errorf("figures_info is not of limits alone in\n%s", got)
	}
}

// TestNoneSoFar has sizes that are known and no group yet: a histogram of zeros,
// so that the first group is a rise.
func TestNoneSoFar(t *testing.T) {
	got := scrape(t, Handler(always(Values{Live: analysis.Live{Sync: &analysis.LiveGroups{}}})))
	if !strings.Contains(got, "bgcstat_group_size_count 0\n") {
		t.Errorf("no empty histogram in\n%s", got)
	}
}

func TestLint(t *testing.T) {
	r := prometheus.NewRegistry()
	r.MustRegister(newCollector(always(worked())), buildInfo())
	problems, err := testutil.GatherAndLint(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// TestRising lets an estimate fall: two groups of one turn out to be one of two.
func TestRising(t *testing.T) {
	v := Values{Syncs: map[string]int64{"binlog": 7}, Lag: new(3.0)}
	first := []analysis.HistogramBin{{Size: 1, Groups: 4}, {Size: 2, Groups: 1}}
	v.Live.Sync = &analysis.LiveGroups{Count: 5, Transactions: 6, Sizes: first}
	h := Handler(func() Values { return v })
	scrape(t, h)
	v.Syncs, v.Lag = map[string]int64{"binlog": 6}, new(1.0)
	v.Live.Sync = &analysis.LiveGroups{Count: 4, Transactions: 6, Sizes: []analysis.HistogramBin{{Size: 1, Groups: 2}, {Size: 2, Groups: 2}}}
	got := scrape(t, h)
	for _, want := range []string{
		"bgcstat_sync_groups_total 5", "bgcstat_sync_group_transactions_total 6",
		`bgcstat_group_size_bucket{le="1"} 4`, `bgcstat_group_size_bucket{le="2"} 5`, `bgcstat_group_size_bucket{le="+Inf"} 5`,
		"bgcstat_group_size_sum 6", "bgcstat_group_size_count 5", `bgcstat_syncs_total{class="binlog"} 7`, "bgcstat_lag_seconds 1",
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}

// TestHostile has a server whose words are not UTF-8.
func TestHostile(t *testing.T) {
	v := worked()
	v.Server.Version = "9.7\xff\"\n"
	if got := scrape(t, Handler(always(v))); !strings.Contains(got, `version="9.7`+"\uFFFD"+`\"\n"`) {
		t.Errorf("no version in\n%s", got)
	}
}

// TestConcurrent scrapes while everything grows. Snapshots are taken one at a
// time, and a later scrape never shows less.
func TestConcurrent(t *testing.T) {
	latency := NewSyncLatency()
	var taking atomic.Int32
	n := int64(0)
	h := Handler(func() Values {
		if taking.Add(1) != 1 {
			t.Error("two snapshots at once")
		}
		defer taking.Add(-1)
		n++
		return Values{Live: analysis.Live{Transactions: n}, Syncs: map[string]int64{"binlog": n}, SyncLatency: latency}
	})
	count := regexp.MustCompile(`(?m)^bgcstat_transactions_total (\d+)$`)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			var seen []int
			for range 20 {
				latency.Observe(1_000_000)
				m := count.FindStringSubmatch(scrape(t, h))
				if m == nil {
					t.Error("no count")
					return
				}
				transactions, err := strconv.Atoi(m[1])
				if err != nil {
					t.Error(err)
				}
				seen = append(seen, transactions)
			}
			if !slices.IsSorted(seen) {
				t.Errorf("went back: %v", seen)
			}
		})
	}
	wg.Wait()
	if n != 80 {
		t.Errorf("%d snapshots for 80 scrapes", n)
	}
	if got := scrape(t, h); !strings.Contains(got, "bgcstat_binlog_sync_duration_seconds_count 80\n") {
		t.Errorf("not 80 syncs in\n%s", got)
	}
}

// TestProgram looks for what tells of the program itself.
func TestProgram(t *testing.T) {
	got := scrape(t, Handler(always(Values{})))
	for _, want := range []string{"bgcstat_build_info{", "go_goroutines ", "process_cpu_seconds_total ", "promhttp_metric_handler_errors_total{"} {
		if !strings.Contains(got, "\n"+want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}

func scrape(t *testing.T, h http.Handler) string {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func BenchmarkObserve(b *testing.B) {
	l := NewSyncLatency()
	for b.Loop() {
		l.Observe(300_000)
	}
}

func BenchmarkScrape(b *testing.B) {
	h := Handler(always(worked()))
	for b.Loop() {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/metrics", nil))
	}
}
