package main

import (
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bgcstat/analysis"
	"bgcstat/parser/loadgen"
	"bgcstat/parser/servertest"
)

// workload runs a script of testdata/workloads. It returns sysbench's output.
func workload(s *servertest.Server, script, command string, args ...string) (string, error) {
	args = append([]string{
		filepath.Join("..", "..", "testdata", "workloads", script+".lua"),
		"--mysql-socket=" + s.Socket, "--mysql-user=sb", "--mysql-password=" + secret, "--mysql-db=sb", "--time=0",
	}, args...)
	out, err := exec.Command("sysbench", append(args, command)...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s %s: %w\n%s", script, command, err, out)
	}
	return string(out), err
}

// TestWorkloads holds that the workloads show what their README says.
func TestWorkloads(t *testing.T) {
	needLoad(t)
	for _, kind := range []servertest.Kind{servertest.MySQL97, servertest.MariaDB1011} {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			args := []string{"--sync-binlog=1", "--innodb-flush-log-at-trx-commit=1"}
			if !kind.MySQL() {
				args = append(args, "--binlog-format=ROW")
			}
			s := servertest.Start(t, kind, args...)
			s.Exec(t, "CREATE DATABASE sb; CREATE USER sb@localhost IDENTIFIED BY '"+secret+"'; GRANT ALL ON *.* TO sb@localhost")
			t.Run("hot_row", func(t *testing.T) { testHotRow(t, s) })
			t.Run("group_commit", func(t *testing.T) { testGroupCommit(t, s) })
		})
	}
}

const eventsPerClient = 125

// sampledLoad runs a workload of so many clients and returns what the log and a
// trace of the syncs say, in text too. All three must have as many transactions
// as the clients were told to make. Where syncs came faster than a busy machine
// read them it runs the workload once more.
func sampledLoad(t *testing.T, s *servertest.Server, script string, clients int64, args ...string) (*analysis.Result, string) {
	t.Helper()
	sample := func() (*analysis.Result, string, string) {
		p := startSampling(t, append(from(s, "bpf"), "--interval", "100ms")...)
		out, err := workload(s, script, "run", append(args, fmt.Sprintf("--threads=%d", clients), fmt.Sprintf("--events-per-client=%d", eventsPerClient))...)
		if err != nil {
			t.Fatal(err)
		}
		p.interrupt(t)
		r, _ := joined(t, s, p.trace)
		return r, p.trace, out
	}
	r, trace, out := sample()
	if r.IO.Lost > 0 {
		t.Logf("%d syncs were lost", r.IO.Lost)
		r, trace, out = sample()
	}
	if w, ok := warned(r, "trace-contradicts-log"); ok {
		t.Errorf("warned of %+v", w)
	}
	if want := clients * eventsPerClient; r.Transactions != want || r.Groups.Sync.Basis != analysis.Exact {
		t.Errorf("%d transactions in groups that are %s, want %d, exact: %+v", r.Transactions, r.Groups.Sync.Basis, want, r.Warnings)
	}
	var summary loadgen.Scanner
	_, _ = io.WriteString(&summary, out) // which never fails
	l := summary.Summary()
	if l == nil || l.Transactions == nil || l.Clients == nil || *l.Transactions != r.Transactions || *l.Clients != clients {
		t.Errorf("sysbench says %+v of %d transactions by %d clients:\n%s", l, r.Transactions, clients, out)
	}
	t.Logf("%s %v by %d: %d transactions, %d groups, %s", script, args, clients, r.Transactions, *r.Groups.Sync.Count, r.Groups.Sync.Method)
	text := bgcstat(t, append([]string{"analyze", "--trace", trace}, s.Binlogs(t)...)...)
	return r, strings.Join(strings.Fields(string(text)), " ")
}

// must runs a command of a workload that has no result.
func must(t *testing.T, s *servertest.Server, script, command string, args ...string) {
	t.Helper()
	if _, err := workload(s, script, command, args...); err != nil {
		t.Fatal(err)
	}
}

func testHotRow(t *testing.T, s *servertest.Server) {
	must(t, s, "hot_row", "prepare")
	r, text := sampledLoad(t, s, "hot_row", 16)
	g := r.Groups.Sync
	if g.Histogram[0].Size != 1 || 100*g.Histogram[0].Groups < 99**g.Count {
		t.Errorf("groups of one row are %+v", g.Histogram)
	}
	// The server lets the next have the lock when it has synced the one before.
	cause := analysis.WriteSets
	if !s.Kind.MySQL() {
		cause = analysis.RowLocks
	}
	if a := r.Alone; a == nil || a.Table != "sb.sbhot" || a.TableTransactions != r.Transactions || a.Cause != cause {
		t.Errorf("of one row: %+v", a)
	}
	for _, said := range []string{"2,000 commits", " a sync ", "all changed sb.sbhot", "It looks like sessions that take turns at one row"} {
		if !strings.Contains(text, said) {
			t.Errorf("the report does not say %q:\n%s", said, text)
		}
	}

	// One client is alone too, which is no lock's doing.
	r, text = sampledLoad(t, s, "hot_row", 1)
	cause = analysis.OneSession
	if !s.Kind.MySQL() {
		cause = analysis.OneAtATime // MariaDB's log names no sessions
	}
	if a := r.Alone; a == nil || a.Cause != cause || !strings.Contains(text, "ne session ") {
		t.Errorf("of one client: %+v", a)
	}

	// Rows that are not there would not be updated.
	if _, err := workload(s, "hot_row", "run", "--rows=1000", "--events-per-client=1"); err == nil || !strings.Contains(err.Error(), "sbhot has 100 rows") {
		t.Errorf("updates of 1,000 of 100 rows: %v", err)
	}
	must(t, s, "hot_row", "cleanup")
	must(t, s, "hot_row", "prepare", "--rows=1000")
	r, _ = sampledLoad(t, s, "hot_row", 16, "--rows=1000")
	if mean := r.Groups.Sync.Size.Mean; mean < 1.5 || r.Alone != nil {
		t.Errorf("over 1,000 rows groups are of %.2f transactions, %+v", mean, r.Alone)
	}
	must(t, s, "hot_row", "cleanup")
}

func testGroupCommit(t *testing.T, s *servertest.Server) {
	shape := []string{"--tables=2", "--rows=1000"}
	must(t, s, "group_commit", "prepare", shape...)
	for _, clients := range []int64{8, 16} {
		for _, mode := range []string{"update", "insert"} {
			r, _ := sampledLoad(t, s, "group_commit", clients, append(shape, "--mode="+mode)...)
			if *r.Groups.Sync.Count >= r.Transactions || r.Alone != nil {
				t.Errorf("%ss by %d clients: %d groups of %d transactions", mode, clients, *r.Groups.Sync.Count, r.Transactions)
			}
			for _, stats := range r.Tables {
				if mode == "insert" && stats.InsertEvents != stats.Transactions || mode == "update" && stats.UpdateEvents != stats.Transactions {
					t.Errorf("%ss are %+v", mode, stats)
				}
			}
		}
	}
	must(t, s, "group_commit", "cleanup", shape...)
	if _, err := workload(s, "group_commit", "run", "--mode=delete"); err == nil || !strings.Contains(err.Error(), "--mode is update or insert") {
		t.Errorf("an unknown mode: %v", err)
	}
}
