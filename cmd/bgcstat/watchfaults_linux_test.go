package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"bgcstat/analysis"
	"bgcstat/parser/server"
	"bgcstat/parser/servertest"
	"bgcstat/parser/stream"
)

// ended waits for a watch that ends by itself, with a status.
func (w *watching) ended(t *testing.T, status int) {
	t.Helper()
	select {
	case <-w.done:
	case <-time.After(60 * time.Second):
		out := w.out.String()
		t.Fatalf("watch goes on:\n%s%s", out[max(0, len(out)-3000):], &w.errs)
	}
	if got := w.cmd.ProcessState.ExitCode(); got != status {
		t.Errorf("status %d, want %d", got, status)
	}
	if strings.Contains(w.out.String()+w.errs.String(), secret) {
		t.Error("the password was printed")
	}
}

func init() { pollEvery = 100 * time.Millisecond }

// here is bgcstat watch in this process.
type here struct {
	out, errs output
	status    chan int // has the exit status when it has ended
}

func startHere(t *testing.T, args ...string) *here {
	t.Helper()
	mine := filepath.Join(t.TempDir(), "my.cnf")
	if err := os.WriteFile(mine, []byte("[client]\npassword="+secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := &here{status: make(chan int, 1)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.status <- run(append([]string{"watch", "--defaults-file", mine}, args...), strings.NewReader(""), &w.out, &w.errs)
	}()
	t.Cleanup(func() {
		select {
		case <-done:
		case <-time.After(60 * time.Second):
			panic("watch goes on") // which would be waited for
		}
	})
	w.await(t, `"type":"interval"`, 1)
	return w
}

func (w *here) await(t *testing.T, text string, times int) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); strings.Count(w.out.String(), text) < times; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("watch has not printed %s: %s", text, &w.errs)
		}
	}
}

// ended waits for the end, and gives the exit status.
func (w *here) ended(t *testing.T) int {
	t.Helper()
	select {
	case status := <-w.status:
		return status
	case <-time.After(60 * time.Second):
		t.Fatalf("watch goes on: %s", &w.errs)
		return -1
	}
}

// TestWatchFaults has happen to a server what may while it is watched.
func TestWatchFaults(t *testing.T) {
	for _, kind := range servertest.Some() {
		t.Run(kind.String(), func(t *testing.T) {
			s := servertest.Start(t, kind, "--binlog-format=ROW", "--sync-binlog=1")
			s.Exec(t, "CREATE DATABASE sb; CREATE TABLE sb.t (id INT PRIMARY KEY AUTO_INCREMENT, v INT); CREATE USER sb@localhost IDENTIFIED BY '"+secret+"'; GRANT ALL ON *.* TO sb@localhost")
			args := []string{"-S", s.Socket, "-u", "sb", "--source", "none", "--interval", "100ms", "--format", "json"}
			insert := func() { s.Exec(t, "INSERT INTO sb.t (v) VALUES (1)") }

			t.Run("kill", func(t *testing.T) {
				w := startWatching(t, args...)
				const one = `"transactions":1,"bytes"` // of a line, not of its groups
				insert()
				w.await(t, one, 1)
				id := strings.Fields(s.Exec(t, "SELECT id FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'"))
				if len(id) != 1 {
					t.Fatalf("dumps are %v", id)
				}
				s.Exec(t, "KILL "+id[0])
				w.await(t, `"kind":"connection-resumed"`, 1)
				insert()
				w.await(t, one, 2)
				var kinds []string
				out := w.interrupt(t)
				for _, e := range out.events {
					kinds = append(kinds, e.Kind)
				}
				if !slices.Equal(kinds, []string{"connection-lost", "connection-resumed"}) {
					t.Errorf("events are %+v", out.events)
				}
				if out.summary.Reconnects != 1 || out.summary.Result.Transactions != 2 {
					t.Errorf("%d transactions after %d reconnects", out.summary.Result.Transactions, out.summary.Reconnects)
				}
			})

			// As with Ctrl-S on a terminal, or a pager: metrics go on.
			t.Run("nobody reads", func(t *testing.T) {
				r, out, err := os.Pipe()
				if err != nil {
					t.Fatal(err)
				}
				defer r.Close()
				cmd := child(append([]string{"watch", "--no-defaults", "--web.listen-address", "127.0.0.1:0"}, append(args, "--interval", "10ms", "--sample-interval", "10ms")...)...)
				var said output
				cmd.Stdout, cmd.Stderr = out, &said
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				defer cmd.Wait()
				defer cmd.Process.Kill()
				out.Close()
				address := servedAt(t, &said) // by then it follows the server
				time.Sleep(3 * time.Second)   // a pipe holds 64 kB, of 400 bytes a line
				insert()
				for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
					scrape := http.Client{Timeout: 5 * time.Second}
					page := ""
					if got, err := scrape.Get("http://" + address + "/metrics"); err == nil {
						b, _ := io.ReadAll(got.Body)
						got.Body.Close()
						page = string(b)
					}
					if strings.Contains(page, "\nbgcstat_transactions_total 1\n") {
						return
					}
					if time.Now().After(deadline) {
						t.Fatalf("metrics are %.300q", page)
					}
				}
			})

			// As with | head: what was seen until then is written.
			t.Run("reader gone", func(t *testing.T) {
				r, w, err := os.Pipe()
				if err != nil {
					t.Fatal(err)
				}
				out := t.TempDir()
				cmd := child(append([]string{"watch", "--no-defaults", "--out", out, "--plots", "timeline"}, args...)...)
				var said output
				cmd.Stdout, cmd.Stderr = w, &said
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				defer cmd.Process.Kill()
				w.Close()
				lines := bufio.NewScanner(r)
				lines.Scan()
				insert()
				for lines.Scan() && !strings.Contains(lines.Text(), `"transactions":1`) {
				}
				r.Close()
				if err := cmd.Wait(); err != nil {
					t.Errorf("%v\n%s", err, &said)
				}
				var result analysis.Result
				if b, err := os.ReadFile(filepath.Join(out, "report.json")); err != nil || json.Unmarshal(b, &result) != nil || result.Transactions != 1 {
					t.Errorf("%v, with %d transactions\n%s", err, result.Transactions, &said)
				}
			})

			// The dump knows nothing of it, as little is written afterwards.
			t.Run("reset", func(t *testing.T) {
				defer func(before time.Duration) { pollEvery = before }(pollEvery)
				pollEvery = 5 * time.Second
				began := time.Now()
				w := startHere(t, args...)
				insert()
				w.await(t, `"transactions":1`, 1)
				s.Exec(t, map[bool]string{true: "RESET BINARY LOGS AND GTIDS", false: "RESET MASTER"}[kind.MySQL()])
				if status := w.ended(t); status != statusDamaged {
					t.Errorf("status %d, want %d", status, statusDamaged)
				}
				if took := time.Since(began); took > 3*pollEvery { // the first look finds it, and two soon after
					t.Errorf("it took %v", took)
				}
				if last := lastLine(&w.errs); !strings.HasPrefix(last, "bgcstat: log was replaced: ") {
					t.Errorf("said was\n%s", &w.errs)
				}
				if !strings.HasSuffix(w.errs.String(), "\nbgcstat: hint: start again: --from oldest reads the new logs from their beginning\n") {
					t.Errorf("no hint in\n%s", &w.errs)
				}
				if r := read(t, w.out.String()).summary.Result; r.Transactions != 1 {
					t.Errorf("%d transactions, want 1", r.Transactions)
				}
			})

			// The last one: the server does not come back.
			t.Run("stop", func(t *testing.T) {
				text := slices.Delete(slices.Clone(args), len(args)-2, len(args))
				out := t.TempDir()
				w := startWatching(t, append(args, "--retries", "2")...)
				patient := startWatching(t, args...)
				cmd := child(append([]string{"watch", "--no-defaults", "--retries", "0", "--out", out, "--plots", "timeline"}, text...)...)
				var printed, said output
				cmd.Stdout, cmd.Stderr = &printed, &said
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				defer cmd.Process.Kill() // where the test failed before its end
				has := func(text string) {
					t.Helper()
					for deadline := time.Now().Add(30 * time.Second); !regexp.MustCompile(text).MatchString(printed.String()); time.Sleep(20 * time.Millisecond) {
						if time.Now().After(deadline) {
							t.Fatalf("no %s in\n%s%s", text, &printed, &said)
						}
					}
				}
				has(`\n\d\d:`) // below the heading
				insert()
				w.await(t, `"transactions":1`, 1)
				patient.await(t, `"transactions":1`, 1)
				has(`groups (are|only)`) // with the first transaction
				s.Stop(t)
				w.ended(t, statusDamaged)
				if want := "bgcstat: given up after 2 attempts to connect again: connect to sb@localhost via " + s.Socket + ": "; !strings.HasPrefix(lastLine(&w.errs), want) {
					t.Errorf("said was\n%s", &w.errs)
				}
				if !strings.Contains(w.out.String(), `"type":"summary"`) {
					t.Errorf("no summary:\n%s", &w.out)
				}
				// One that never gives up, and is ended while it waits.
				patient.await(t, `"kind":"connection-lost"`, 1)
				if err := patient.cmd.Process.Signal(os.Interrupt); err != nil {
					t.Fatal(err)
				}
				patient.ended(t, statusDamaged)
				if r := read(t, patient.out.String()).summary.Result; r.Transactions != 1 || !strings.HasPrefix(lastLine(&patient.errs), "bgcstat: ended while the connection was lost: ") {
					t.Errorf("%d transactions; said was\n%s", r.Transactions, &patient.errs)
				}
				_ = cmd.Wait()
				if cmd.ProcessState.ExitCode() != statusDamaged || !strings.Contains(printed.String(), "\ntransactions    1, ") {
					t.Errorf("%v\n%s%s", cmd.ProcessState, &printed, &said)
				}
				if want := "bgcstat: lost connection to sb@localhost via " + s.Socket + ": "; !strings.HasPrefix(lastLine(&said), want) {
					t.Errorf("said was\n%s", &said)
				}
				if found, _ := filepath.Glob(filepath.Join(out, "report.*")); len(found) != 2 {
					t.Errorf("written was %v", found)
				}
			})
		})
	}
}

func lastLine(o *output) string {
	lines := strings.Split(strings.TrimSpace(o.String()), "\n")
	for _, line := range slices.Backward(lines) {
		if !strings.HasPrefix(line, "bgcstat: hint: ") {
			return line
		}
	}
	return ""
}

// TestWatchFailover has another server answer where the first one did, with
// other settings. Its own counters are gone on with, and what was seen of the
// first one's process is not taken for its.
func TestWatchFailover(t *testing.T) {
	for _, source := range []string{"bpf", "status"} {
		t.Run(source, func(t *testing.T) {
			t.Parallel()
			start := func(syncBinlog string) *servertest.Server {
				s := servertest.Start(t, servertest.MySQL97, "--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--sync-binlog="+syncBinlog)
				s.Exec(t, "CREATE DATABASE sb; CREATE TABLE sb.t (id INT PRIMARY KEY AUTO_INCREMENT, v INT); CREATE USER sb@localhost IDENTIFIED BY '"+secret+"'; GRANT ALL ON *.* TO sb@localhost")
				return s
			}
			first, second := start("1"), start("100")
			insert := func(s *servertest.Server, n int) {
				t.Helper()
				s.Exec(t, strings.Repeat("INSERT INTO sb.t (v) VALUES (1); ", n))
			}
			insert(second, 500) // so that its counters are far above those of the first
			address := filepath.Join(t.TempDir(), "s")
			point := func(s *servertest.Server) {
				t.Helper()
				if err := errors.Join(os.Symlink(s.Socket, address+"2"), os.Rename(address+"2", address)); err != nil {
					t.Fatal(err)
				}
			}
			point(first)
			watch := startWatching(t, "-S", address, "-u", "sb", "--source", source, "--interval", "200ms", "--format", "json")
			insert(first, 20)
			watch.caughtUp(t, first)
			gtids := strings.TrimSpace(first.Exec(t, "SELECT @@gtid_executed"))
			second.Exec(t, "RESET BINARY LOGS AND GTIDS; SET GLOBAL gtid_purged = '"+gtids+"'")
			point(second)
			first.Kill()
			watch.await(t, `"kind":"server-changed"`, 1)
			time.Sleep(500 * time.Millisecond)
			insert(second, 30)
			watch.caughtUp(t, second)
			w := watch.interrupt(t)
			r := w.summary.Result
			if r.Transactions != 50 {
				t.Errorf("%d transactions\n%s", r.Transactions, &watch.errs)
			}
			if c, ok := warned(r, "settings-changed"); !ok || !strings.Contains(c.Message, "sync_binlog") || r.Saved != nil {
				t.Errorf("saved are %+v, with warnings %+v", r.Saved, r.Warnings)
			}
			ended := slices.ContainsFunc(w.events, func(e jsonEvent) bool { return e.Kind == "sampling-ended" })
			last := w.intervals[len(w.intervals)-10:] // on a busy machine one may be without a sample
			counted := slices.ContainsFunc(last, func(l jsonLine) bool { return l.SyncSource != "" })
			if here := source == "bpf"; ended != here || counted == here {
				t.Errorf("ended %t, the last lines are %+v, after %+v", ended, last, w.events)
			}
			if n := w.summary.Syncs["binlog"]; n < 20 || n > 100 {
				t.Errorf("%d binlog syncs, of 20 transactions and 30 that are hardly synced: %v", n, w.summary.Syncs)
			}
		})
	}
}

// shown waits until lines have so many transactions, which may wait for their
// syncs, and for a line behind them.
func (w *watching) shown(t *testing.T, want int64) {
	t.Helper()
	one := regexp.MustCompile(`"transactions":(\d+),"bytes"`)
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		sum := int64(0)
		for _, m := range one.FindAllStringSubmatch(w.out.String(), -1) {
			n, _ := strconv.ParseInt(m[1], 10, 64)
			sum += n
		}
		if sum >= want {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("lines have %d transactions, want %d\n%s", sum, want, &w.errs)
		}
	}
	time.Sleep(1500 * time.Millisecond) // idle, so that the last group ends
	w.await(t, `"type":"interval"`, strings.Count(w.out.String(), `"type":"interval"`)+1)
}

// TestWatchSettings changes settings under a watch: each is told, and groups do
// not wait for syncs that are not made any more.
func TestWatchSettings(t *testing.T) {
	needLoad(t)
	for _, kind := range servertest.Some() {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			s := servertest.Start(t, kind, "--sync-binlog=1")
			prepare(t, s)
			watch := startWatching(t, "-S", s.Socket, "-u", "sb", "--source", "bpf", "--interval", "200ms", "--format", "json")
			sysbench(t, s, "run", "--events=2000")
			watch.shown(t, 2000) // else their groups may be known too late for the lines
			s.Exec(t, "SET GLOBAL sync_binlog = 0")
			watch.await(t, "sync_binlog is 0, was 1", 1)
			sysbench(t, s, "run", "--events=4000")
			s.Exec(t, "SET GLOBAL sync_binlog = 100")
			watch.await(t, "sync_binlog is 100, was 0", 1)
			watch.shown(t, 6000)
			w := watch.interrupt(t)
			var told []string
			for _, e := range w.events {
				if e.Kind == "setting-changed" {
					told = append(told, e.Message)
				}
			}
			if want := []string{"sync_binlog is 0, was 1", "sync_binlog is 100, was 0"}; !slices.Equal(told, want) {
				t.Errorf("told was %q, want %q; %v", told, want, w.events)
			}
			r := w.summary.Result
			if r.Transactions != 6000 || w.sum.Transactions != 6000 {
				t.Errorf("%d transactions of which lines have %d\n%s", r.Transactions, w.sum.Transactions, &watch.errs)
			}
			_, part := warned(r, "trace-joined-in-part")
			changed, _ := warned(r, "settings-changed")
			if !part || !strings.HasPrefix(changed.Message, "sync_binlog changed while ") || r.Saved != nil {
				t.Errorf("saved are %+v, with warnings %+v", r.Saved, r.Warnings)
			}
			// MariaDB's groups are known all the same. Those of MySQL are not told as none.
			last := w.intervals[len(w.intervals)-1].Sync
			if kind.MySQL() && (last != nil || w.sum.Sync.Transactions < 1900 || w.sum.Sync.Transactions > 2000) || !kind.MySQL() && (last == nil || w.sum.Sync.Transactions < 5900) {
				t.Errorf("groups in lines are %+v, and %+v in the last", w.sum.Sync, last)
			}
		})
	}
}

// TestWatchNotBegun ends a watch while events are passed over in front of the
// place to begin at.
func TestWatchNotBegun(t *testing.T) {
	s := servertest.Start(t, servertest.MariaDB1011, "--binlog-format=ROW")
	s.Exec(t, "CREATE DATABASE sb; CREATE TABLE sb.t (v LONGBLOB); CREATE USER sb@'127.0.0.1' IDENTIFIED BY '"+secret+"'; GRANT ALL ON *.* TO sb@'127.0.0.1'")
	s.Exec(t, "INSERT INTO sb.t VALUES (REPEAT('x', 4000000)); FLUSH BINARY LOGS")
	// The log comes in part only.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", s.Addr())
			if err != nil {
				client.Close()
				continue
			}
			go func() { _, _ = io.Copy(server, client); server.Close() }()
			go func() { _, _ = io.CopyN(client, server, 1_000_000) }()
		}
	}()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	cmd := child("watch", "--no-defaults", "-h", "127.0.0.1", "-P", port, "--ssl-mode", "DISABLED", "-u", "sb",
		"--source", "none", "--interval", "20ms", "--count", "2", "--from", filepath.Base(s.Binlogs(t)[0])+":9999999999")
	var printed, said output
	cmd.Stdout, cmd.Stderr = &printed, &said
	_ = cmd.Run() // whose status is looked at
	const want = "bgcstat: ended before reading came to the place that --from gives: whether the log has it is not known\n"
	if cmd.ProcessState.ExitCode() != statusDamaged || said.String() != want || !strings.HasPrefix(printed.String(), watchHeader) {
		t.Errorf("%v\n%s%s", cmd.ProcessState, &printed, &said)
	}
}

// TestWatchUnsynced sets sync_binlog to 0: a transaction behind that waits for no
// sync.
func TestWatchUnsynced(t *testing.T) {
	if os.Geteuid() != 0 {
		need(t, "needs root, to count syncs in the kernel")
	}
	defer func(before time.Duration) { patience = before }(patience)
	patience = time.Hour
	s := servertest.Start(t, servertest.MySQL97, "--sync-binlog=1")
	s.Exec(t, "CREATE DATABASE sb; CREATE TABLE sb.t (id INT PRIMARY KEY AUTO_INCREMENT, v INT); CREATE USER sb@localhost IDENTIFIED BY '"+secret+"'; GRANT ALL ON *.* TO sb@localhost")
	w := startHere(t, "-S", s.Socket, "-u", "sb", "--source", "bpf", "--interval", "100ms", "--format", "json", "--retries", "0")
	t.Cleanup(s.Kill) // which ends it
	const one = `"transactions":1,"bytes"`
	s.Exec(t, "INSERT INTO sb.t (v) VALUES (1)")
	w.await(t, one, 1)
	s.Exec(t, "SET GLOBAL sync_binlog = 0")
	w.await(t, "sync_binlog is 0, was 1", 1)
	s.Exec(t, "INSERT INTO sb.t (v) VALUES (2)")
	w.await(t, one, 2)
}

// TestCautions has servers that cannot be started for a test.
func TestCautions(t *testing.T) {
	for _, test := range []struct {
		settings map[string]string
		want     []string
	}{
		{map[string]string{"binlog_format": "ROW", "wsrep_on": "OFF", "group_replication_group_name": ""}, nil},
		{nil, nil},
		{map[string]string{"binlog_format": "MIXED"}, []string{"binlog_format is MIXED: which tables a statement changes is not known, where it is logged as one"}},
		{map[string]string{"wsrep_on": "ON"}, []string{"a Galera node: transactions of other nodes are in its log, too, and its groups are of what it applies"}},
		{
			map[string]string{"group_replication_group_name": "aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa"},
			[]string{"a member of Group Replication: transactions of other members are in its log, too, and its groups are of what it applies"},
		},
	} {
		if got := cautions(&stream.Facts{Version: server.Version{}, Settings: test.settings}); !slices.Equal(got, test.want) {
			t.Errorf("%v: got %q, want %q", test.settings, got, test.want)
		}
	}
}
