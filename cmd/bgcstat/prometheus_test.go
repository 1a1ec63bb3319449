package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"bgcstat/analysis"
	"bgcstat/report/metrics"
)

// prometheus is a real one that scrapes one target twice a second.
type prometheus struct{ base string }

// startPrometheus starts one that scrapes target, HOST:PORT, until the test
// ends, and waits until it has scraped it once. Where there is no Prometheus the
// test is skipped, in CI it fails.
func startPrometheus(t *testing.T, target string) *prometheus {
	t.Helper()
	path, err := exec.LookPath("prometheus")
	if err != nil {
		need(t, "needs prometheus (Debian package prometheus): %v", err)
	}
	dir := t.TempDir()
	config := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(config, fmt.Appendf(nil, `
global: {scrape_interval: 500ms, scrape_timeout: 500ms}
scrape_configs:
- job_name: bgcstat
  static_configs: [{targets: [%q]}]
`, target), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address=127.0.0.1:0")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	address := make(chan string, 1)
	var log strings.Builder
	var reading sync.WaitGroup
	reading.Go(func() {
		listening := regexp.MustCompile(`msg="Listening on".* address=(\S+)`)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			log.WriteString(lines.Text() + "\n")
			if m := listening.FindStringSubmatch(lines.Text()); m != nil {
				select {
				case address <- m[1]:
				default:
				}
			}
		}
		close(address)
	})
	t.Cleanup(func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		reading.Wait()
		if err := cmd.Wait(); err != nil || t.Failed() {
			t.Errorf("prometheus: %v\n%s", err, &log)
		}
	})
	select {
	case a, ok := <-address:
		if !ok {
			t.Fatal("prometheus does not listen")
		}
		p := &prometheus{base: "http://" + a}
		p.wait(t, `up{job="bgcstat"}`, 1)
		return p
	case <-time.After(time.Minute):
		t.Fatal("prometheus does not listen after a minute")
	}
	return nil
}

// query gives the value of an expression that has just one. Behind a scrape that
// took too long there is none until the next.
func (p *prometheus) query(t *testing.T, expr string) float64 {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		v, err := p.ask(expr)
		if err == nil {
			return v
		}
		if time.Now().After(end) {
			t.Fatalf("%s: %v", expr, err)
		}
	}
}

// wait asks until an expression has a value.
func (p *prometheus) wait(t *testing.T, expr string, want float64) {
	t.Helper()
	var v float64
	var err error
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if v, err = p.ask(expr); err == nil && v == want {
			return
		}
	}
	t.Fatalf("%s: is %v after 30 s (%v), want %v", expr, v, err, want)
}

func (p *prometheus) ask(expr string) (float64, error) {
	r, err := http.Get(p.base + "/api/v1/query?" + url.Values{"query": {expr}}.Encode())
	if err != nil {
		return 0, err
	}
	defer r.Body.Close()
	var answer struct {
		Error string
		Data  struct {
			ResultType string
			Result     json.RawMessage
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&answer); err != nil {
		return 0, fmt.Errorf("%s: %w", r.Status, err)
	}
	if answer.Error != "" {
		return 0, fmt.Errorf("%s: %s", r.Status, answer.Error)
	}
	if answer.Data.ResultType != "vector" {
		return 0, fmt.Errorf("result is a %s, want a vector", answer.Data.ResultType)
	}
	var series []struct{ Value [2]any } // a time, and a number as text
	if err := json.Unmarshal(answer.Data.Result, &series); err != nil {
		return 0, err
	}
	if len(series) != 1 {
		return 0, fmt.Errorf("%d series, want 1", len(series))
	}
	text, _ := series[0].Value[1].(string)
	return strconv.ParseFloat(text, 64)
}

// TestPrometheus has a real Prometheus read known values, and what it makes of
// them.
func TestPrometheus(t *testing.T) {
	t.Parallel()
	latency := metrics.NewSyncLatency()
	for range 90 {
		latency.Observe(150_000)
	}
	for range 10 {
		latency.Observe(7_000_000)
	}
	// 50 transactions more at each scrape, each in a group of its own.
	scrapes := int64(0)
	s := serveWeb(t, quiet, metrics.Handler(func() metrics.Values {
		scrapes++
		alone := 100 + 50*scrapes
		return metrics.Values{
			Live: analysis.Live{
				Transactions: alone, Bytes: 1 << 40, Time: 1_796_000_000_250_000, Lower: 40, Upper: 1000, LastCommittedRuns: 300,
				Sync: &analysis.LiveGroups{
					Count: 400, Transactions: 900, Basis: analysis.Measured, Method: analysis.FsyncCount,
					Sizes: []analysis.HistogramBin{{Size: 1, Groups: 100}, {Size: 2, Groups: 200}, {Size: 4, Groups: 100}},
				},
				Observed: analysis.ObservedWritesetOrSession, Certainty: analysis.Proven,
			},
			Syncs: map[string]int64{"binlog": 401, "redo": 77}, SyncSource: "perf", SyncExactness: "exact", SyncLatency: latency,
			Lag: new(0.125), Connected: true, Reconnects: 3, Server: metrics.Server{Flavor: "mariadb", Version: "11.8.6-MariaDB", Address: "/run/mysqld/mysqld.sock"},
		}
	}))

	promtool, err := exec.LookPath("promtool")
	if err != nil {
		need(t, "needs promtool (Debian package prometheus): %v", err)
	}
	_, exposition := get(t, http.DefaultClient, "http://"+s.addr()+"/metrics")
	lint := exec.Command(promtool, "check", "metrics")
	lint.Stdin = strings.NewReader(exposition)
	if out, err := lint.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}

	p := startPrometheus(t, s.addr())
	for _, test := range []struct {
		expr string
		want float64
	}{
		{"bgcstat_binlog_bytes_total", 1 << 40},
		{"bgcstat_last_transaction_timestamp_seconds", 1_796_000_000.25},
		{"bgcstat_sync_groups_total", 400},
		{"bgcstat_sync_groups_lower_bound_total", 40},
		{"bgcstat_sync_groups_upper_bound_total", 1000},
		{"bgcstat_last_committed_runs_total", 300},
		{"bgcstat_sync_group_transactions_total / bgcstat_sync_groups_total", 2.25},
		{"bgcstat_group_size_sum / bgcstat_group_size_count", 2.25}, // (100 + 400 + 400) / 400
		{`bgcstat_group_size_bucket{le="2"}`, 300},
		{`bgcstat_group_size_bucket{le="+Inf"}`, 400},
		// The 200th of 400 is the 100th of the 200 between 1 and 2.
		{"histogram_quantile(0.5, bgcstat_group_size_bucket)", 1.5},
		{`bgcstat_syncs_total{class="binlog"}`, 401},
		{"sum(bgcstat_syncs_total)", 478},
		{"bgcstat_binlog_sync_duration_seconds_count", 100},
		// The 45th of the 90 between 100 µs and 200 µs.
		{"histogram_quantile(0.45, bgcstat_binlog_sync_duration_seconds_bucket)", 150e-6},
		{"bgcstat_lag_seconds", 0.125},
		{"bgcstat_connected", 1},
		{"bgcstat_reconnects_total", 3},
		{`bgcstat_figures_info{basis="measured",method="fsync_count",tracking="WRITESET or WRITESET_SESSION",sync_source="perf"}`, 1},
		{`bgcstat_server_info{flavor="mariadb",version="11.8.6-MariaDB",server="/run/mysqld/mysqld.sock"}`, 1},
		{"count(bgcstat_build_info)", 1},
		// The info is joined to a figure so.
		{`bgcstat_sync_groups_total * on(instance) group_left(basis) bgcstat_figures_info`, 400},
	} {
		if got := p.query(t, test.expr); got < test.want*(1-1e-12) || got > test.want*(1+1e-12) {
			t.Errorf("%s is %v, want %v", test.expr, got, test.want)
		}
	}
	p.wait(t, "bgcstat_transactions_total % 50 == bool 0", 1)
	p.wait(t, "changes(bgcstat_transactions_total[1m]) > bool 2", 1)
	p.wait(t, "resets(bgcstat_transactions_total[1m])", 0)
}
