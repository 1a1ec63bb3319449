package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"bgcstat/analysis"
	"bgcstat/parser/servertest"
)

// recorded is what a record left and printed.
type recorded struct {
	status    int
	out, errs string
	dir       string
	run       *analysis.Run
	result    *analysis.Result
}

// record runs a command under bgcstat record, as a process of its own, and
// checks what must hold of every run. beside, unless nil, runs beside it.
func record(t *testing.T, dir string, beside func(*os.Process), args ...string) *recorded {
	t.Helper()
	cmd := child(append([]string{"record", "--no-defaults", "--out", dir, "--plots", "timeline"}, args...)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // from a terminal signals go other ways
	// Tests may have been begun with signals ignored, as by nohup, which a process
	// hands down. What is caught here is not ignored there.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, os.Interrupt, syscall.SIGHUP)
	defer signal.Stop(caught)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if beside != nil {
		go beside(cmd.Process)
	}
	err := cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	r := &recorded{status: cmd.ProcessState.ExitCode(), out: out.String(), errs: errs.String(), dir: dir}
	for what, s := range map[string]string{"stdout": r.out, "stderr": r.errs} {
		if strings.Contains(s, secret) {
			t.Errorf("the password is in %s", what)
		}
	}
	if r.run, r.result, err = readRunDir(dir); err != nil {
		t.Fatalf("%v\n%s", err, r.errs)
	}
	run, err := os.ReadFile(filepath.Join(dir, runFile))
	if err != nil || bytes.Contains(run, []byte(secret)) {
		t.Errorf("%v, or the password is in %s", err, runFile)
	}
	// report works on it, whatever happened, and says the same.
	var again, complaint bytes.Buffer
	status := run2status(r.run)
	if got := runBgcstat(&again, &complaint, "report", dir); got != status || !strings.Contains(r.errs, again.String()) {
		t.Errorf("report: status %d, want %d: %s\n%s\nrecord had\n%s", got, status, &complaint, &again, r.errs)
	}
	return r
}

// recordAll records once more where syncs came faster than a busy machine read
// them, without which groups are not exact.
func recordAll(t *testing.T, dir string, args ...string) *recorded {
	t.Helper()
	r := record(t, dir, nil, args...)
	if io := r.result.IO; io != nil && io.Lost > 0 {
		t.Logf("%d syncs were lost", io.Lost)
		r = record(t, dir+"-again", nil, args...)
	}
	return r
}

func run2status(run *analysis.Run) int {
	if len(run.Missing) > 0 {
		return statusDamaged
	}
	return statusDone
}

func runBgcstat(out, errs *bytes.Buffer, args ...string) int {
	return run(args, strings.NewReader(""), out, errs)
}

func sysbenchCommand(s *servertest.Server, events int) []string {
	return []string{
		"sysbench", "oltp_update_index", "--mysql-socket=" + s.Socket, "--mysql-user=sb", "--mysql-password=" + secret, "--mysql-db=sb",
		"--tables=2", "--table-size=1000", "--threads=16", "--time=0", "--events=" + strconv.Itoa(events), "run",
	}
}

func decompressed(t *testing.T, path string) []byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestRecordFaults ends runs in every way but the good one: what there is up to
// then must be there, and the exit status must tell.
func TestRecordFaults(t *testing.T) {
	needLoad(t)
	const updates = 1000
	start := func(t *testing.T) (*servertest.Server, []string) {
		s := servertest.Start(t, servertest.MySQL97, "--sync-binlog=1")
		prepare(t, s)
		return s, []string{"-S", s.Socket, "-u", "sb", "--"}
	}
	// Those that leave the server as it was share one.
	s, args := start(t)
	t.Run("command", func(t *testing.T) {
		load := strings.Join(sysbenchCommand(s, updates), " ")
		for _, test := range []struct {
			script, signal string
			status         int
		}{
			{load + "; exit 3", "", 3},
			{load + "; kill -9 $$", "killed", 128 + 9},
			{load, "", 0},
		} {
			r := recordAll(t, filepath.Join(t.TempDir(), "run"), append(slices.Clone(args), "sh", "-c", test.script)...)
			if r.status != test.status || r.run.Exit.Signal != test.signal || len(r.run.Missing) > 0 {
				t.Errorf("%s: status %d, want %d: %+v, missing %q", test.script, r.status, test.status, r.run.Exit, r.run.Missing)
			}
			if r.result.Transactions != updates || r.result.Groups.Sync.Basis != analysis.Exact || r.run.Load == nil || *r.run.Load.Transactions != updates {
				t.Errorf("%s: %d transactions in %+v, sysbench has %+v, want %d exactly", test.script, r.result.Transactions, r.result.Groups.Sync, r.run.Load, updates)
			}
			if kept, err := os.ReadFile(filepath.Join(r.dir, outputFile)); err != nil || !strings.Contains(string(kept), "transactions:") || string(kept) != r.out {
				t.Errorf("output that was kept: %v, %q; printed %q", err, kept, r.out)
			}
			if *r.run.Others.Before != 0 {
				t.Errorf("others: %+v", r.run.Others)
			}
			// The same transactions in the rows.
			if rows := decompressed(t, filepath.Join(r.dir, transactionsFile)); bytes.Count(rows, []byte("\n")) != updates+1 {
				t.Errorf("%s: %d lines", transactionsFile, bytes.Count(rows, []byte("\n")))
			}
		}
		// Nothing is left of a command that cannot be run.
		dir := filepath.Join(t.TempDir(), "run")
		var out, errs bytes.Buffer
		if status := runBgcstat(&out, &errs, "record", "--no-defaults", "-S", s.Socket, "-u", "root", "--out", dir, "--", "no-such-command"); status != statusNothing {
			t.Errorf("status %d: %s", status, &errs)
		}
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", dir, err)
		}
		// Nor where that is seen late, but for a directory that was there.
		broken, there := filepath.Join(t.TempDir(), "broken"), t.TempDir()
		if err := os.WriteFile(broken, []byte("\x7fELF"), 0o777); err != nil {
			t.Fatal(err)
		}
		for _, dir := range []string{dir, there} {
			if status := runBgcstat(&out, &errs, "record", "--no-defaults", "-S", s.Socket, "-u", "root", "--out", dir, "--", broken); status != statusNothing {
				t.Errorf("status %d: %s", status, &errs)
			}
			if files, err := os.ReadDir(dir); len(files) > 0 || (err == nil) != (dir == there) {
				t.Errorf("%s has %v, %v", dir, files, err)
			}
		}
	})
	t.Run("interrupt", func(t *testing.T) {
		made := func() int {
			out, err := s.Query("SHOW GLOBAL STATUS LIKE 'Handler_update'")
			if f := strings.Fields(out); err == nil && len(f) > 0 {
				n, _ := strconv.Atoi(f[len(f)-1])
				return n
			}
			return 0
		}
		dir, before := filepath.Join(t.TempDir(), "run"), made()
		r := record(t, dir, func(p *os.Process) {
			for p.Signal(syscall.Signal(0)) == nil && made() < before+500 { // as long as it is there
				time.Sleep(10 * time.Millisecond)
			}
			_ = p.Signal(os.Interrupt)
		}, append(slices.Clone(args), sysbenchCommand(s, 1_000_000)...)...)
		if r.run.Exit.Signal != "interrupt" || r.status != 128+2 || len(r.run.Missing) > 0 || r.result.Transactions < 100 {
			t.Errorf("status %d, %+v, missing %q, %d transactions", r.status, r.run.Exit, r.run.Missing, r.result.Transactions)
		}
	})
	// A terminal that is closed sends it by its shell and by the kernel.
	t.Run("signals twice", func(t *testing.T) {
		for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT} {
			dir := filepath.Join(t.TempDir(), "run")
			r := record(t, dir, func(p *os.Process) {
				for p.Signal(syscall.Signal(0)) == nil { // as long as it is there
					if kept, err := os.ReadFile(filepath.Join(dir, outputFile)); err == nil && len(kept) > 0 {
						break
					}
					time.Sleep(10 * time.Millisecond)
				}
				for begin := time.Now(); time.Since(begin) < 200*time.Millisecond && p.Signal(sig) == nil; {
					time.Sleep(time.Millisecond)
				}
			}, append(slices.Clone(args), "sh", "-c", strings.Join(sysbenchCommand(s, updates), " ")+" > /dev/null; echo on; exec sleep 60")...)
			if r.run.Exit.Status != 128+int(sig) || r.status != 128+int(sig) || len(r.run.Missing) > 0 || r.result.Transactions != updates {
				t.Errorf("%v: status %d, %+v, missing %q, %d transactions", sig, r.status, r.run.Exit, r.run.Missing, r.result.Transactions)
			}
		}
	})
	// timeout leaves the process group that Ctrl-C goes to.
	t.Run("terminal", func(t *testing.T) {
		for _, command := range [][]string{{"timeout", "60"}, {"nice"}} {
			ptmx, tty := terminal(t)
			defer tty.Close()
			dir := filepath.Join(t.TempDir(), "run")
			cmd := child(slices.Concat([]string{"record", "--no-defaults", "--plots", "timeline", "--out", dir}, args, command, []string{"sh", "-c", "echo on; exec sleep 60"})...)
			var errs bytes.Buffer
			cmd.Stdin, cmd.Stderr = tty, &errs
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan struct{})
			go func() {
				_ = cmd.Wait()
				close(ended)
			}()
			for typed := false; !typed; {
				select {
				case <-ended:
					t.Fatalf("ended too early:\n%s", &errs)
				case <-time.After(10 * time.Millisecond):
				}
				if kept, err := os.ReadFile(filepath.Join(dir, outputFile)); err == nil && len(kept) > 0 {
					if _, err := ptmx.WriteString("\x03"); err != nil {
						t.Fatal(err)
					}
					typed = true
				}
			}
			<-ended
			if run, _, err := readRunDir(dir); err != nil || run.Exit.Signal != "interrupt" || len(run.Missing) > 0 {
				t.Errorf("%q: %v, %+v\n%s", command, err, run, &errs)
			}
		}
	})
	t.Run("server dies", func(t *testing.T) {
		s, args := start(t)
		r := record(t, filepath.Join(t.TempDir(), "run"), nil, append(args, "sh", "-c",
			strings.Join(sysbenchCommand(s, updates), " ")+fmt.Sprintf("; kill -9 %d; sleep 0.3", s.PID))...)
		if r.status != statusDamaged || r.result.Transactions != updates || r.run.To != nil || r.run.Read != "files" ||
			!slices.ContainsFunc(r.run.Missing, func(m string) bool { return strings.Contains(m, "did not answer at the end") }) {
			t.Errorf("status %d, %d transactions, to %v, read %q, missing %q", r.status, r.result.Transactions, r.run.To, r.run.Read, r.run.Missing)
		}
	})
	t.Run("purged", func(t *testing.T) {
		s, args := start(t)
		load := strings.Join(sysbenchCommand(s, updates), " ")
		sql := func(text string) string {
			return "mysql --no-defaults -S " + s.Socket + " -u sb -e '" + text + "'"
		}
		if _, err := exec.LookPath("mysql"); err != nil {
			need(t, "needs a client: %v", err)
		}
		r := record(t, filepath.Join(t.TempDir(), "run"), nil, append(args, "sh", "-c",
			load+"; "+sql("FLUSH BINARY LOGS")+"; "+load+"; "+sql(`PURGE BINARY LOGS TO "binlog.000002"`))...)
		if r.status != statusDamaged || r.result.Transactions != updates ||
			!slices.ContainsFunc(r.run.Missing, func(m string) bool { return strings.Contains(m, "binlog.000001, in which the run began, was purged") }) {
			t.Errorf("status %d, %d transactions, missing %q", r.status, r.result.Transactions, r.run.Missing)
		}
	})
	// A log that was begun anew has the name of the one before, and none of its positions.
	t.Run("reset", func(t *testing.T) {
		s, args := start(t)
		if _, err := exec.LookPath("mysql"); err != nil {
			need(t, "needs a client: %v", err)
		}
		r := record(t, filepath.Join(t.TempDir(), "run"), nil, append(args, "sh", "-c",
			"mysql --no-defaults -S "+s.Socket+" -u sb -e 'RESET BINARY LOGS AND GTIDS'; "+strings.Join(sysbenchCommand(s, updates), " "))...)
		if r.status != statusDamaged || r.result.Transactions != updates ||
			!slices.ContainsFunc(r.run.Missing, func(m string) bool {
				return strings.Contains(m, "binlog.000001, in which the run began, was begun anew")
			}) {
			t.Errorf("status %d, %d transactions from %+v to %+v, missing %q", r.status, r.result.Transactions, r.run.From, r.run.To, r.run.Missing)
		}
	})
	t.Run("disk full", func(t *testing.T) {
		dir := t.TempDir() // for a trace and rows of more than 600 kB
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=128k"); err != nil {
			need(t, "needs to mount a small disk: %v", err)
		}
		defer syscall.Unmount(dir, syscall.MNT_DETACH)
		cmd := child(slices.Concat([]string{"record", "--no-defaults", "--plots", "timeline", "--out", filepath.Join(dir, "run")}, args, sysbenchCommand(s, 10_000))...)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		err := cmd.Run()
		if cmd.ProcessState.ExitCode() != statusDamaged || !strings.Contains(errs.String(), "no space left") || !strings.Contains(out.String(), "transactions:") {
			t.Errorf("%v\n%s\n%s", err, &out, &errs)
		}
		if strings.Contains(errs.String(), "trace of syncs ends early") && !regexp.MustCompile(`of \d+ transactions nothing is reported`).Match(errs.Bytes()) {
			t.Errorf("what the trace does not cover is not said to be missing:\n%s", &errs)
		}
		if run, _, err := readRunDir(filepath.Join(dir, "run")); err != nil || len(run.Missing) == 0 {
			t.Errorf("%v, or nothing is missing in %+v", err, run)
		}
	})
}

// TestGroupCommit is the classic experiment: the same load by 8 clients and by
// twice as many, which make twice as many transactions.
func TestGroupCommit(t *testing.T) {
	needLoad(t)
	for _, kind := range []servertest.Kind{servertest.MySQL97, servertest.MariaDB1011} {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			s := servertest.Start(t, kind, "--sync-binlog=1")
			s.Exec(t, "CREATE DATABASE sb; CREATE USER sb@localhost IDENTIFIED BY '"+secret+"'; GRANT ALL ON *.* TO sb@localhost")
			const each = 500
			workload := func(clients int, step string) []string {
				return []string{
					"sysbench", "../../testdata/workloads/group_commit.lua", "--mysql-socket=" + s.Socket, "--mysql-user=sb",
					"--mysql-password=" + secret, "--mysql-db=sb", "--rows=1000", "--time=0", "--events-per-client=" + strconv.Itoa(each),
					"--threads=" + strconv.Itoa(clients), step,
				}
			}
			prepare := workload(1, "prepare")
			if out, err := exec.Command(prepare[0], prepare[1:]...).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			dir := t.TempDir()
			var runs []*recorded
			for _, clients := range []int{8, 16} {
				r := recordAll(t, filepath.Join(dir, strconv.Itoa(clients)),
					append([]string{"-S", s.Socket, "-u", "sb", "--"}, workload(clients, "run")...)...)
				runs = append(runs, r)
				g, io := r.result.Groups.Sync, r.result.IO
				if n := int64(clients * each); r.status != 0 || r.result.Transactions != n || *r.run.Load.Transactions != n || r.run.Read != "files" {
					t.Errorf("%d clients: status %d, %d transactions in the log read by %s, %d by sysbench; want %d", clients, r.status, r.result.Transactions, r.run.Read, *r.run.Load.Transactions, n)
				}
				syncs, counter := io.Syncs["binlog"].Count, r.run.Counters["Binlog_group_commits"]
				if kind.MySQL() {
					counter = r.run.Counters[pfsBinlog]
				}
				if 100*max(syncs-counter, counter-syncs) > syncs {
					t.Errorf("%d clients: %d binlog syncs, the server counts %d", clients, syncs, counter)
				}
				// Some transactions are durable with the group before, and their sync makes none so.
				off := *g.Count - *io.BinlogSyncsDurable
				t.Logf("%v, %d clients: %d groups, %d more than syncs that made transactions durable", kind, clients, *g.Count, off)
				if g.Basis != analysis.Exact || 100*max(off, -off) > *g.Count || r.run.Settings["sync_binlog"] != "1" {
					t.Errorf("%d clients: %d groups (%s) by %d syncs", clients, *g.Count, g.Basis, *io.BinlogSyncsDurable)
				}
			}
			checkCompared(t, runs)
			t.Logf("%v: %.2f s and %.2f s, %d and %d groups", kind, runs[0].run.Seconds, runs[1].run.Seconds, *runs[0].result.Groups.Sync.Count, *runs[1].result.Groups.Sync.Count)
		})
	}
}

// checkCompared compares two runs, the second with twice the clients.
func checkCompared(t *testing.T, runs []*recorded) {
	t.Helper()
	var c analysis.Comparison
	if err := json.Unmarshal(bgcstat(t, "compare", "--format", "json", runs[0].dir, runs[1].dir), &c); err != nil {
		t.Fatal(err)
	}
	text := string(bgcstat(t, "compare", runs[0].dir, runs[1].dir))
	for _, want := range []string{"transactions +100 %", "sync groups", "binlog syncs", "clients: A 8, B 16"} {
		if !strings.Contains(text, want) {
			t.Errorf("compare does not say %q:\n%s", want, text)
		}
	}
}

// TestRecordFromAfar records a server by nothing but a login.
func TestRecordFromAfar(t *testing.T) {
	needLoad(t)
	for _, kind := range servertest.Some() {
		t.Run(kind.String(), func(t *testing.T) {
			s := servertest.Start(t, kind, "--sync-binlog=1")
			prepare(t, s)
			s.Exec(t, "CREATE USER watcher@'127.0.0.1' IDENTIFIED BY '"+secret+"'; GRANT REPLICATION CLIENT, REPLICATION SLAVE ON *.* TO watcher@'127.0.0.1'")
			if kind.MySQL() {
				s.Exec(t, "GRANT SELECT ON performance_schema.* TO watcher@'127.0.0.1'")
			}
			port := strconv.Itoa(passOn(t, s))
			// Who may not read the log is told before the command runs.
			s.Exec(t, "CREATE USER stranger@'127.0.0.1' IDENTIFIED BY '"+secret+"'; GRANT REPLICATION CLIENT ON *.* TO stranger@'127.0.0.1'")
			t.Setenv("MYSQL_PWD", secret)
			dir, ran := filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "ran")
			var out, errs bytes.Buffer
			status := runBgcstat(&out, &errs, "record", "--no-defaults", "--source", "none", "-h", "127.0.0.1", "-P", port, "-u", "stranger", "--out", dir, "--", "touch", ran)
			if status != statusNothing || !strings.Contains(errs.String(), "GRANT REPLICATION SLAVE ON *.* TO 'stranger'@'127.0.0.1'") {
				t.Errorf("status %d: %s", status, &errs)
			}
			for _, path := range []string{dir, ran} {
				if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("%s: %v", path, err)
				}
			}
			const updates = 2000
			args := append([]string{"-h", "127.0.0.1", "-P", port, "-u", "watcher", "--"}, sysbenchCommand(s, updates)...)
			r := record(t, filepath.Join(t.TempDir(), "run"), nil, args...)
			if r.status != statusDone || r.run.Read != "connection" || r.run.Server.Local || r.run.Host != nil || r.result.Transactions != updates {
				t.Errorf("status %d, read by %q, %d transactions, missing %q\n%s", r.status, r.run.Read, r.result.Transactions, r.run.Missing, r.errs)
			}
			if !slices.ContainsFunc(r.run.Without, func(w string) bool { return strings.Contains(w, "only the server's host") }) {
				t.Errorf("without %q", r.run.Without)
			}
			if g := r.result.Groups.Sync; g == nil || g.Count == nil || r.result.IO == nil || r.result.IO.Syncs["binlog"].Count == 0 {
				t.Errorf("groups %+v, syncs %+v", g, r.result.IO)
			}
		})
	}
}

// passOn passes connections on to a server, which then looks as if it were on
// another host. It gives the port.
func passOn(t *testing.T, s *servertest.Server) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", s.Addr())
			if err != nil {
				c.Close()
				continue
			}
			go func() { _, _ = io.Copy(to, c); to.Close() }()
			go func() { _, _ = io.Copy(c, to); c.Close() }()
		}
	}()
	return l.Addr().(*net.TCPAddr).Port
}
