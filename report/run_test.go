package report

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"bgcstat/analysis"
	"bgcstat/parser/loadgen"
)

func aRun() *analysis.Run {
	return &analysis.Run{
		SchemaVersion: 1, Command: []string{"sysbench", "--threads=8", "run"}, Seconds: 5.25,
		Server:   analysis.RunServer{Address: "root@localhost via /s", Flavor: "mysql", Version: "9.7.4", Local: true},
		Settings: map[string]string{"sync_binlog": "1", "port": "3306", "socket": "/s"},
		To:       &analysis.Position{File: "binlog.000001", Position: 4711}, Read: "files",
	}
}

// facts writes them as name|value|note.
func facts(run *analysis.Run, r *analysis.Result) []string {
	var out []string
	for _, f := range RunFacts(run, r) {
		out = append(out, f.Name+"|"+f.Value+"|"+f.Note)
	}
	return out
}

func TestRunFacts(t *testing.T) {
	const server = "server|MySQL 9.7.4 at root@localhost via /s, on this host|"
	load := func(n int64) *loadgen.Summary { return &loadgen.Summary{Tool: "sysbench", Transactions: &n} }
	for _, tt := range []struct {
		name   string
		change func(run *analysis.Run)
		log    int64    // transactions
		want   []string // behind the command
	}{
		{"least", func(*analysis.Run) {}, 7, []string{"ended|exit status 0 after 5.25 s|", server}},
		{"as many", func(run *analysis.Run) {
			run.Load = load(1000)
			// 1000 / 5.25 s = 190.5/s; latencies are in milliseconds.
			run.Load.TPS, run.Load.LatencyAvg, run.Load.Percentile, run.Load.PercentileRank, run.Load.Errors = new(190.5), new(42.0), new(90.5), new(int64(95)), new(int64(0))
		}, 1000, []string{
			"ended|exit status 0 after 5.25 s|", server,
			"load|1,000 transactions, 191/s|by sysbench", "latency|mean 42.0 ms, 95 % within 90.5 ms|by sysbench", "in the log|as many as sysbench counts|exact",
		}},
		{"fewer", func(run *analysis.Run) { run.Load = load(1001); run.Load.Errors = new(int64(3)) }, 1000, []string{
			"ended|exit status 0 after 5.25 s|", server, "load|1,001 transactions|by sysbench", "errors|3, after which a transaction was tried again|by sysbench",
			"in the log|1 fewer than sysbench counts: they read only, changed nothing, or were rolled back|exact",
		}},
		{"more", func(run *analysis.Run) { run.Load = load(1); run.Load.LatencyAvg = new(0.25) }, 3001, []string{
			"ended|exit status 0 after 5.25 s|", server, "load|1 transaction|by sysbench", "latency|mean 250 µs|by sysbench",
			"in the log|3,000 more than sysbench counts: of other sessions, or before and after what it measures|exact",
		}},
		{"part of the log", func(run *analysis.Run) { run.Load, run.Missing = load(1000), []string{"something"} }, 10, []string{
			"ended|exit status 0 after 5.25 s|", server, "load|1,000 transactions|by sysbench",
			"in the log|10 transactions, sysbench counts 1,000; of the recording something is missing|",
		}},
		{"end of the log not known", func(run *analysis.Run) { run.Load, run.To = load(1000), nil }, 1, []string{
			"ended|exit status 0 after 5.25 s|", server, "load|1,000 transactions|by sysbench",
			"in the log|1 transaction, sysbench counts 1,000; of the recording something is missing|",
		}},
		// It counts queries, and no transactions.
		{"mysqlslap", func(run *analysis.Run) {
			run.Load = &loadgen.Summary{Tool: "mysqlslap", Clients: new(int64(4)), Seconds: new(0.079), Queries: new(int64(1000))}
		}, 1000, []string{"ended|exit status 0 after 5.25 s|", server, "load|1,000 queries by 4 clients in 79.0 ms, the mean of its iterations|by mysqlslap"}},
		{"mysqlslap without a number of queries", func(run *analysis.Run) {
			run.Load = &loadgen.Summary{Tool: "mysqlslap", Clients: new(int64(1)), Seconds: new(2.5)}
		}, 1000, []string{"ended|exit status 0 after 5.25 s|", server, "load|by 1 client in 2.50 s, the mean of its iterations|by mysqlslap"}},
		// 0 would be no number of transactions.
		{"no log", func(run *analysis.Run) { run.Load, run.Read = load(1000), "" }, 0, []string{
			"ended|exit status 0 after 5.25 s|", server, "load|1,000 transactions|by sysbench",
		}},
		{"status", func(run *analysis.Run) { run.Exit.Status = 3 }, 0, []string{"ended|exit status 3 after 5.25 s|", server}},
		{"signal", func(run *analysis.Run) { run.Exit = analysis.Exit{Status: 137, Signal: "killed"} }, 0, []string{"ended|ended by killed after 5.25 s|", server}},
		{"not run", func(run *analysis.Run) {
			run.Exit, run.Seconds = analysis.Exit{Status: -1, Error: "exec format error"}, 0
		}, 0, []string{"ended|not run (exec format error)|", server}},
		{"not seen", func(run *analysis.Run) { run.Exit.Status, run.Seconds = -1, 0 }, 0, []string{"ended|not seen|", server}},
		{"label and changes", func(run *analysis.Run) {
			run.Label, run.Changed = "before", map[string]string{"sync_binlog": "0", "port": "3307", "rpl_semi_sync_source_enabled": "ON", "socket": ""}
		}, 0, []string{
			"ended|exit status 0 after 5.25 s|", "label|before|", server,
			"changed|port was 3306, is 3307|between start and end", "changed|rpl_semi_sync_source_enabled was absent, is ON|between start and end", "changed|socket was /s, is absent|between start and end",
			"changed|sync_binlog was 1, is 0|between start and end",
		}},
		{"from afar", func(run *analysis.Run) {
			run.Server = analysis.RunServer{Address: "u@db1:3306", Flavor: "mariadb", Version: "11.8.3"}
			run.Others = &analysis.Others{Before: new(int64(1)), Unknown: 5}
		}, 0, []string{
			"ended|exit status 0 after 5.25 s|", "server|MariaDB 11.8.3 at u@db1:3306, no process of this host that was seen|",
			"by others|1 transaction of sessions that were there before; of 5 the log names no session|by session ids",
		}},
		{"others", func(run *analysis.Run) { run.Others = &analysis.Others{Before: new(int64(0))} }, 0, []string{
			"ended|exit status 0 after 5.25 s|", server, "by others|0 transactions of sessions that were there before|by session ids",
		}},
		{"sessions not known", func(run *analysis.Run) { run.Others = &analysis.Others{Unknown: 5} }, 0, []string{
			"ended|exit status 0 after 5.25 s|", server, "by others|not known, since the sessions of transactions are not|",
		}},
		{"no transactions", func(run *analysis.Run) { run.Others = &analysis.Others{} }, 0, []string{"ended|exit status 0 after 5.25 s|", server}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run := aRun()
			tt.change(run)
			got := facts(run, &analysis.Result{Transactions: tt.log})
			if want := append([]string{"command|sysbench --threads=8 run|"}, tt.want...); !slices.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

func runText(t *testing.T, run *analysis.Run, r *analysis.Result) string {
	t.Helper()
	var buf bytes.Buffer
	if err := RunText(&buf, run, r); err != nil {
		t.Fatal(err)
	}
	return buf.String()
}

func TestRunText(t *testing.T) {
	run := aRun()
	run.Command = append(run.Command, "--mysql-socket=/run/mysqld/mysqld.sock", "--mysql-db=sbtest")
	run.Load = &loadgen.Summary{Tool: "sysbench", Transactions: new(int64(1))}
	run.Without = []string{"syncs of each file and the time that they took, and CPU times: only the server's host tells them"}
	run.Changed = map[string]string{"innodb_flush_log_at_trx_commit": "2"}
	run.Settings["innodb_flush_log_at_trx_commit"] = "1"
	got := runText(t, run, &analysis.Result{Transactions: 3001, Sources: []analysis.Source{{File: "binlog.000001", Complete: true}}})
	want := `command         sysbench --threads=8 run --mysql-socket=/run/mysqld/mysqld.sock
                --mysql-db=sbtest
ended           exit status 0 after 5.25 s
server          MySQL 9.7.4 at root@localhost via /s, on this host
changed         innodb_flush_log_at_trx_commit was 1, is 2 between start and end
load            1 transaction                          by sysbench
in the log      3,000 more than sysbench counts: of other sessions, or before
                and after what it measures (exact)
without         syncs of each file and the time that they took, and CPU times:
                only the server's host tells them

binlog.000001: no format event, 0 B
`
	if !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	run = aRun()
	run.Missing = []string{"binlog.000001, in which the run began, was purged: what was before binlog.000002 is missing", "short"}
	want = `! binlog.000001, in which the run began, was purged: what was before
  binlog.000002 is missing
! short

`
	if got := runText(t, run, &analysis.Result{}); !strings.Contains(got, want) {
		t.Errorf("got\n%s\nwant in it\n%s", got, want)
	}
}

// Whatever is in a run.json, a terminal is not changed, and lines are no longer
// than they must be.
func TestRunTextHostile(t *testing.T) {
	const harm = "\x1b[31mred\u202e\n"
	many := strings.Repeat(harm+" word ", 40)
	run := &analysis.Run{
		Label: harm, Command: []string{many, harm}, Exit: analysis.Exit{Status: 128 + 9, Signal: harm},
		Server:   analysis.RunServer{Address: harm, Flavor: harm, Version: many},
		Settings: map[string]string{harm: harm}, Changed: map[string]string{harm: many},
		Load:    &loadgen.Summary{Tool: harm, Transactions: new(int64(-5)), TPS: new(1e300), LatencyAvg: new(-1e300), Percentile: new(1e300), PercentileRank: new(int64(1 << 60)), Errors: new(int64(1 << 60))},
		Without: []string{many}, Missing: []string{many}, Read: harm,
	}
	got := runText(t, run, &analysis.Result{})
	for line := range strings.Lines(got) {
		if line = strings.TrimSuffix(line, "\n"); Printable(line) != line {
			t.Errorf("%q would change a terminal", line)
		}
	}
	if !strings.Contains(got, "server          ?[31mred") || !strings.Contains(got, "9,000,000,000,000,000,000/s") {
		t.Errorf("got\n%s", got)
	}
}

// A host's name is known where there is no trace, too.
func TestRedactRunHost(t *testing.T) {
	run := aRun()
	run.Host = &analysis.RunHost{Name: "secret1"}
	run.Settings["hostname"] = "secret2"
	run.Without = []string{"counts of syncs: secret1 and secret2 refused"}
	got := RedactRuns([]analysis.RunResult{{Dir: "d", Run: run, Result: &analysis.Result{}}})[0].Run
	if text := runText(t, got, &analysis.Result{}); strings.Contains(text, "secret") {
		t.Errorf("names are left in\n%s", text)
	}
}
