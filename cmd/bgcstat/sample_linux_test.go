package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"bgcstat/analysis"
	"bgcstat/parser/iosample"
	"bgcstat/parser/servertest"
	"bgcstat/report"
)

// secret is the password of user sb. No test may find it in anything printed
// or written.
const secret = "Geheim-4711"

// nobody is a user with no rights to anything of a server's.
const nobody = 65534

// needLoad looks for sysbench, and for the rights to count in the kernel.
func needLoad(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("sysbench"); err != nil {
		need(t, "needs sysbench: %v", err)
	}
	if os.Geteuid() != 0 {
		need(t, "needs root, to count syncs in the kernel")
	}
}

// prepare makes a server ready for sysbench.
func prepare(t *testing.T, s *servertest.Server) {
	t.Helper()
	s.Exec(t, "CREATE DATABASE sb; CREATE USER sb@localhost IDENTIFIED BY '"+secret+"'; GRANT ALL ON *.* TO sb@localhost")
	sysbench(t, s, "prepare")
}

// sysbench runs updates of single rows, each a transaction of its own, by 16
// sessions.
func sysbench(t *testing.T, s *servertest.Server, command string, args ...string) {
	t.Helper()
	if err := runSysbench(s, command, args...); err != nil {
		t.Fatal(err)
	}
}

func runSysbench(s *servertest.Server, command string, args ...string) error {
	args = append([]string{
		"oltp_update_index", "--mysql-socket=" + s.Socket, "--mysql-user=sb", "--mysql-password=" + secret, "--mysql-db=sb",
		"--tables=2", "--table-size=1000", "--threads=16", "--time=0",
	}, args...)
	out, err := exec.Command("sysbench", append(args, command)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("sysbench %s: %w\n%s", command, err, out)
	}
	return nil
}

// ddl is how many statements of DDL a loadWithDDL has.
const ddl = 4

// loadWithDDL runs n updates, and meanwhile DDL and two rotations.
func loadWithDDL(t *testing.T, s *servertest.Server, n int) {
	t.Helper()
	before := counter(t, s, "Handler_update")
	var g errgroup.Group
	g.Go(func() error { return runSysbench(s, "run", "--events="+strconv.Itoa(n)) })
	for i := range int64(2) {
		for counter(t, s, "Handler_update")-before < (i+1)*int64(n)/4 {
			time.Sleep(10 * time.Millisecond)
		}
		s.Exec(t, fmt.Sprintf("CREATE TABLE sb.made%d (id INT PRIMARY KEY); FLUSH LOGS; ALTER TABLE sb.made%d ADD v INT", i, i))
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
}

// sampling is bgcstat sample while it runs, as a process of its own.
type sampling struct {
	cmd       *exec.Cmd
	trace     string
	out, errs bytes.Buffer
}

// startSampling starts bgcstat sample and returns when it has taken its first
// sample.
func startSampling(t *testing.T, args ...string) *sampling {
	t.Helper()
	p := newSampling(t, args...)
	p.start(t)
	return p
}

func newSampling(t *testing.T, args ...string) *sampling {
	t.Helper()
	// Not t.TempDir, which other users may not enter.
	dir, err := os.MkdirTemp("", "bgcstat-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	p := &sampling{trace: filepath.Join(dir, "trace.ndjson")}
	p.cmd = child(append([]string{"sample", "--trace", p.trace}, args...)...)
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.errs
	return p
}

func (p *sampling) start(t *testing.T) {
	t.Helper()
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // where the test failed before its end
		_ = p.cmd.Wait()
	})
	// Where the log was seen to rest, the first sync has none of what was before.
	p.awaitSamples(t, 3)
}

// child is this program, as a process of its own.
func child(args ...string) *exec.Cmd {
	// The link works where the program's directory is closed to a user.
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = append([]string{"bgcstat"}, args...)
	cmd.Env = append(os.Environ(), "MYSQL_PWD="+secret, "HOME=/nonexistent")
	return cmd
}

// await returns when the trace is as is says.
func (p *sampling) await(t *testing.T, is func(trace []byte) bool) {
	t.Helper()
	for {
		trace, err := os.ReadFile(p.trace)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if is(trace) {
			return
		}
		if syscall.Kill(p.cmd.Process.Pid, 0) != nil || p.zombie() {
			_ = p.cmd.Wait()
			t.Fatalf("bgcstat sample has ended: %v\n%s", p.cmd.ProcessState, &p.errs)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// awaitSamples returns when the trace has n samples.
func (p *sampling) awaitSamples(t *testing.T, n int) {
	t.Helper()
	p.await(t, func(trace []byte) bool { return bytes.Count(trace, []byte("\n{\"t\":")) >= n })
}

// awaitMore returns when the trace has n samples more than now.
func (p *sampling) awaitMore(t *testing.T, n int) {
	t.Helper()
	had := -1
	p.await(t, func(trace []byte) bool {
		has := bytes.Count(trace, []byte("\n{\"t\":"))
		if had < 0 {
			had = has
		}
		return has >= had+n
	})
}

// zombie reports whether the process has ended and was not waited for.
func (p *sampling) zombie() bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	return err != nil || bytes.Contains(stat, []byte(") Z "))
}

// interrupt is Ctrl-C. It returns the trace.
func (p *sampling) interrupt(t *testing.T) *iosample.Header {
	t.Helper()
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	return p.end(t)
}

// end waits for the end, holds that all is as it should be then, and returns
// the trace's header.
func (p *sampling) end(t *testing.T) *iosample.Header {
	t.Helper()
	if err := p.cmd.Wait(); err != nil {
		t.Fatalf("bgcstat sample: %v\n%s", err, &p.errs)
	}
	h := each(t, p.trace, func(*iosample.Interval) {})
	trace, err := os.ReadFile(p.trace)
	if err != nil {
		t.Fatal(err)
	}
	for what, b := range map[string][]byte{"stdout": p.out.Bytes(), "stderr": p.errs.Bytes(), "the trace": trace} {
		if bytes.Contains(b, []byte(secret)) {
			t.Errorf("the password is in %s", what)
		}
	}
	return h
}

// each reads a trace that must be whole, and returns its header.
func each(t *testing.T, path string, f func(*iosample.Interval)) *iosample.Header {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, err := iosample.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	for {
		v, err := r.Next()
		if errors.Is(err, io.EOF) {
			if r.Torn {
				t.Errorf("%s: the last line is torn", path)
			}
			return &r.Header
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		f(v)
	}
}

// syncsOf adds up the syncs of classes in a trace.
func syncsOf(t *testing.T, path string, classes ...iosample.Class) (n int64) {
	t.Helper()
	each(t, path, func(v *iosample.Interval) {
		n = 0 // the last sample has all files
		for _, f := range v.Sample.Files {
			if slices.Contains(classes, f.Class) {
				n += f.Syncs
			}
		}
	})
	return n
}

// joined analyzes the logs of a server with a trace, and dumps them.
func joined(t *testing.T, s *servertest.Server, trace string) (*analysis.Result, []analysis.Row) {
	t.Helper()
	return joinedTo(t, s.Binlogs(t), trace)
}

func joinedTo(t *testing.T, logs []string, trace string) (*analysis.Result, []analysis.Row) {
	t.Helper()
	r := analyzed(t, append([]string{"--trace", trace}, logs...)...)
	if r.IO == nil || r.IO.Source == "bpf" && r.IO.BinlogSyncsDurable == nil || r.Groups.Sync == nil || r.Groups.Sync.Count == nil || r.Saved == nil {
		t.Fatalf("nothing is concluded: %+v", r.Warnings)
	}
	var rows []analysis.Row
	dec := json.NewDecoder(bytes.NewReader(bgcstat(t, append([]string{"dump", "--format", "json", "--trace", trace}, logs...)...)))
	for dec.More() {
		var row analysis.Row
		if err := dec.Decode(&row); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	if int64(len(rows)) != r.Transactions {
		t.Errorf("dump has %d rows, analyze %d transactions", len(rows), r.Transactions)
	}
	return r, rows
}

func warned(r *analysis.Result, code string) (analysis.Warning, bool) {
	i := slices.IndexFunc(r.Warnings, func(w analysis.Warning) bool { return w.Code == code })
	if i < 0 {
		return analysis.Warning{}, false
	}
	return r.Warnings[i], true
}

// checkSaved holds that what was saved adds up.
func checkSaved(t *testing.T, what string, s *analysis.SavedSync, alone, grouped int64) {
	t.Helper()
	if s == nil || s.Grouped == nil || s.SavedByGrouping == nil || s.Share == nil {
		t.Errorf("%s: got %+v", what, s)
		return
	}
	if s.Alone != alone || *s.Grouped != grouped || *s.SavedByGrouping != alone-grouped || *s.Share != float64(alone-grouped)/float64(alone) || s.Basis != analysis.Measured {
		t.Errorf("%s: got %+v: %d grouped, %d saved, %v; want %d alone and %d grouped", what, s, *s.Grouped, *s.SavedByGrouping, *s.Share, alone, grouped)
	}
}

// TestSampleMariaDB holds the groups of syncs that the kernel saw against the
// commit ids of the log, member by member, and against the server's counters.
func TestSampleMariaDB(t *testing.T) {
	needLoad(t)
	for _, kind := range servertest.Kinds {
		if kind.MySQL() {
			continue
		}
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			const updates = 2000
			s := servertest.Start(t, kind, "--sync-binlog=1", "--binlog-format=ROW")
			prepare(t, s)
			before := int64(len(dumped(t, s.Binlogs(t)...)))
			bpf := startSampling(t, from(s, "bpf")...)
			perf := startSampling(t, from(s, "perf")...)
			status := startSampling(t, from(s, "status")...)
			groups := counter(t, s, "Binlog_group_commits")
			loadWithDDL(t, s, updates)
			groups = counter(t, s, "Binlog_group_commits") - groups
			status.interrupt(t)
			perf.interrupt(t)
			h := bpf.interrupt(t)
			if h.Source != "bpf" || h.Exactness != iosample.Exact || h.Settings["sync_binlog"] != "1" || h.PID != s.PID {
				t.Errorf("header is %+v", h)
			}

			// 1. Events: groups and syncs are the same.
			r, rows := joined(t, s, bpf.trace)
			want := groups + ddl // which is written past the queue that makes groups
			if r.Transactions != updates+ddl || *r.Groups.Sync.Count != want || r.Groups.Sync.Method != analysis.CommitID {
				t.Errorf("%d transactions in %d groups, want %d in %d", r.Transactions, *r.Groups.Sync.Count, updates+ddl, want)
			}
			if n := *r.IO.BinlogSyncsDurable; n != want {
				t.Errorf("%d syncs made transactions durable, want %d", n, want)
			}
			if w, ok := warned(r, "syncs-unlike-commit-ids"); ok {
				t.Errorf("warned of %+v", w)
			}
			if w, _ := warned(r, "trace-covers-part"); w.Count != before {
				t.Errorf("%d transactions are outside of the trace, want %d", w.Count, before)
			}
			checkJoined(t, r, rows)
			checkSaved(t, "binlog saved", r.Saved.Binlog, updates+ddl, want)
			checkSaved(t, "redo saved", r.Saved.Redo, updates+ddl, r.IO.Syncs["redo"].Count)

			// 2. Counters in the kernel: the syncs of a new log are unattributed
			// until it is seen, and so may some be that are not the log's.
			r, _ = joined(t, s, perf.trace)
			n, all := syncsOf(t, perf.trace, iosample.Binlog)+syncsOf(t, perf.trace, iosample.Unattributed), syncsOf(t, bpf.trace, iosample.Binlog)
			if r.Transactions != updates+ddl || n < all-all/20 || n > all+others(t, bpf.trace) {
				t.Errorf("perf: %d transactions, %d syncs of binlogs or unattributed; want %d, %d and at most %d more", r.Transactions, n, updates+ddl, all, others(t, bpf.trace))
			}

			// 3. The server's counter has neither DDL nor rotations.
			r, _ = joined(t, s, status.trace)
			if n := *r.IO.BinlogSyncsDurable; r.Transactions != updates+ddl || n != groups || r.IO.Syncs["binlog"].Count != groups {
				t.Errorf("status: %d transactions by %d syncs of %+v, want %d by %d", r.Transactions, n, r.IO.Syncs["binlog"], updates+ddl, groups)
			}
			testFromAfar(t, s)
		})
	}
}

// testFromAfar samples as a user who may see nothing of the server's host.
func testFromAfar(t *testing.T, s *servertest.Server) {
	s.Exec(t, "CREATE USER watcher@'127.0.0.1' IDENTIFIED BY '"+secret+"'; GRANT REPLICATION CLIENT ON *.* TO watcher@'127.0.0.1'")
	if s.Kind.MySQL() {
		s.Exec(t, "GRANT SELECT ON performance_schema.* TO watcher@'127.0.0.1'")
	} else {
		s.Exec(t, "GRANT BINLOG MONITOR ON *.* TO watcher@'127.0.0.1'")
	}
	p := newSampling(t, "-h", "127.0.0.1", "-P", strconv.Itoa(s.Port), "-u", "watcher", "--source", "status", "--interval", "100ms")
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	p.start(t)
	const updates = 3000
	sysbench(t, s, "run", "--events="+strconv.Itoa(updates))
	p.awaitMore(t, 3) // so that there is a line with what came last
	h := p.interrupt(t)
	if h.PID != 0 || h.Source != "status" || !strings.Contains(h.Server, "watcher@127.0.0.1") {
		t.Errorf("header is %+v", h)
	}
	r, _ := joined(t, s, p.trace)
	if binlog, redo := r.IO.Syncs["binlog"].Count, r.IO.Syncs["redo"].Count; r.Transactions != updates || binlog == 0 || redo == 0 || *r.IO.BinlogSyncsDurable > binlog {
		t.Errorf("%d transactions, %d binlog syncs, %d redo syncs: %+v", r.Transactions, binlog, redo, r.Warnings)
	}
	rates := 0
	for _, l := range p.lines(t) {
		binlog, err1 := strconv.ParseFloat(l[3], 64)
		redo, err2 := strconv.ParseFloat(l[4], 64)
		if err1 == nil && err2 == nil && binlog > 0 && redo > 0 {
			rates++
		}
	}
	if rates == 0 {
		t.Errorf("no line has syncs of binlog and redo a second:\n%s", &p.out)
	}
}

// lines are the columns of what sample printed each interval. They must be as
// wide as the heading, which is no wider than a terminal.
func (p *sampling) lines(t *testing.T) (lines [][]string) {
	t.Helper()
	heading := strings.Split(header, "\n")
	line := regexp.MustCompile(`^\d\d:\d\d:\d\d `)
	for l := range strings.Lines(p.out.String()) {
		l = strings.TrimSuffix(l, "\n")
		if len(l) >= 80 {
			t.Errorf("%d columns: %s", len(l), l)
		}
		if f := strings.Fields(l); line.MatchString(l) {
			lines = append(lines, f)
			if len(l) != len(heading[1]) || len(f) != 11 {
				t.Errorf("line does not stand below\n%s:\n%s", header, l)
			}
		}
	}
	return lines
}

// others counts the syncs of a trace that are not of the binlog, nor of files
// that are there from the beginning.
func others(t *testing.T, trace string) int64 {
	t.Helper()
	return syncsOf(t, trace, iosample.Data, iosample.Other, iosample.Unattributed)
}

// checkJoined holds what must be true of each trace with an event for each
// sync, taken from before the load until it was durable.
func checkJoined(t *testing.T, r *analysis.Result, rows []analysis.Row) {
	t.Helper()
	if *r.IO.DurableByNoneYet != 0 {
		t.Errorf("%d transactions are durable by none", *r.IO.DurableByNoneYet)
	}
	if a := r.Saved.Assumes; a.SyncBinlog != 1 || a.From != "server" || a.FlushLogAtTrxCommit == nil || *a.FlushLogAtTrxCommit != 1 {
		t.Errorf("saved assumes %+v", a)
	}
	if w, ok := warned(r, "trace-contradicts-log"); ok {
		t.Errorf("warned of %+v", w)
	}
	for class, s := range r.IO.Syncs {
		// Of a class that is seldom synced, all can be under way when the trace ends.
		timed := s.Latency != nil || s.Count > 2
		if s.Exactness != "exact" || timed && (s.Latency == nil || s.Latency.P50 == nil || *s.Latency.P50 <= 0 || *s.Latency.P99 < *s.Latency.P50) {
			t.Errorf("%s syncs are %+v", class, s)
		}
	}
	groups := map[int64]bool{}
	for _, row := range rows {
		if row.SyncGroup == nil || *row.Basis != analysis.Exact {
			t.Fatalf("%s:%d: group %v, %v", row.File, row.Start, row.SyncGroup, row.Basis)
		}
		groups[*row.SyncGroup] = true
	}
	if n := int64(len(groups)); n != *r.Groups.Sync.Count {
		t.Errorf("dump has %d groups, analyze %d", n, *r.Groups.Sync.Count)
	}
}

// from are the arguments to sample a server by a source.
func from(s *servertest.Server, source string) []string {
	return []string{"-u", "sb", "-S", s.Socket, "--source", source}
}

// TestSampleMySQL samples by several sources at once. Where sync_binlog is 1
// they must agree on the groups; else there are none to be seen.
func TestSampleMySQL(t *testing.T) {
	needLoad(t)
	t.Parallel()
	s := servertest.Start(t, servertest.MySQL97, "--sync-binlog=1")
	prepare(t, s)
	t.Run("sources", func(t *testing.T) { testSources(t, s) })
	t.Run("rotation", func(t *testing.T) { testRotation(t, s) })
	t.Run("from afar", func(t *testing.T) { testFromAfar(t, s) })
	for _, n := range []int64{100, 0} {
		t.Run(fmt.Sprintf("sync_binlog=%d", n), func(t *testing.T) { testSeldomSynced(t, s, n) })
	}
}

// testSources holds that all sources count the same syncs of one binlog.
func testSources(t *testing.T, s *servertest.Server) {
	bpf := startSampling(t, append(from(s, "bpf"), "--interval", "250ms")...)
	perf := startSampling(t, from(s, "perf")...)
	status := startSampling(t, from(s, "status")...)
	const updates = 2000
	sysbench(t, s, "run", "--events="+strconv.Itoa(updates))
	bpf.awaitMore(t, 6) // so that there is a line with what came last
	for _, p := range []*sampling{status, perf, bpf} {
		p.interrupt(t)
	}
	want := syncsOf(t, bpf.trace, iosample.Binlog)
	if got := syncsOf(t, perf.trace, iosample.Binlog); got != want {
		t.Errorf("perf counted %d binlog syncs, bpf %d", got, want)
	}
	if got := syncsOf(t, status.trace, iosample.Binlog); got < want || got-want > want/100 {
		t.Errorf("status counted %d binlog syncs, bpf %d", got, want)
	}
	r, rows := joined(t, s, bpf.trace)
	checkTraced(t, r, rows, updates, 0, bpf.trace)
	checkScreen(t, bpf, updates, want)
	// A leader may find that the sync before has taken its group along.
	if n := *r.IO.BinlogSyncsDurable; n > want || n < want-want/50 {
		t.Errorf("%d syncs made transactions durable, of %d", n, want)
	}
	for _, p := range []*sampling{perf, status} {
		r, _ := joined(t, s, p.trace)
		n := syncsOf(t, p.trace, iosample.Binlog)
		if g := r.Groups.Sync; r.Transactions != updates || *g.Count != n || g.Basis != analysis.Measured || g.Method != analysis.FsyncCount {
			t.Errorf("%s: %d transactions in %d groups, %s by %s; want %d in %d, measured by fsync_count: %+v",
				r.IO.Source, r.Transactions, *g.Count, g.Basis, g.Method, updates, n, r.Warnings)
		}
		checkSaved(t, r.IO.Source+": binlog saved", r.Saved.Binlog, updates, n)
	}
}

// checkScreen holds what sample printed against what it wrote.
func checkScreen(t *testing.T, p *sampling, transactions, syncs int64) {
	t.Helper()
	lines := p.lines(t)
	timed := 0
	for _, l := range lines {
		if l[9] != "-" {
			timed++
		}
		// A sync that is under way when its line is printed has its time in a later one.
		binlog, err := strconv.ParseFloat(l[3], 64)
		few := binlog < 1/0.05 // one in a line that comes half a sample behind the one before
		if err != nil || l[1] == "-" || binlog > 0 && (l[2] == "-" || l[9] == "-" && !few) || (l[9] == "-") != (l[10] == "-") {
			t.Errorf("of a load that was seen: %q", l)
		}
	}
	if timed == 0 {
		t.Errorf("no line of %d has the time of a sync", len(lines))
	}
	for _, want := range []string{
		`(?m)^[\d.]+ s by bpf \(exact\)$`,
		`(?m)^transactions +` + report.Count(transactions) + ` +\d+(\.\d)?/s$`,
		`(?m)^binlog +` + report.Count(syncs) + ` syncs +\d+(\.\d)?/s   p50 [\d.]+ ms, p99 [\d.]+ ms$`,
		fmt.Sprintf(`(?m)^%.2f transactions a binlog sync$`, float64(transactions)/float64(syncs)),
	} {
		if !regexp.MustCompile(want).MatchString(p.out.String()) {
			t.Errorf("the sums lack %s:\n%s", want, &p.out)
		}
	}
}

// checkTraced holds the groups of a trace with events against what is proven
// of them. The files are longer than their positions by margin.
func checkTraced(t *testing.T, r *analysis.Result, rows []analysis.Row, transactions, margin int64, trace string) {
	t.Helper()
	checkJoined(t, r, rows)
	// 1. The groups are those by the plain rule, member by member.
	var syncs []iosample.SyncEvent
	each(t, trace, func(v *iosample.Interval) { syncs = append(syncs, v.Syncs...) })
	groups, before, unlike := int64(0), -1, 0
	for i, row := range rows {
		by := slices.IndexFunc(syncs, func(e iosample.SyncEvent) bool { return e.Name == filepath.Base(row.File) && e.Size-margin >= row.End })
		begins := by != before
		before = by
		if begins {
			groups++
		}
		if i > 0 && begins != (*row.SyncGroup != *rows[i-1].SyncGroup) {
			unlike++
		}
	}
	if unlike > 0 {
		t.Errorf("%d transactions are in other groups than those of the first sync that reached their ends", unlike)
	}

	// 2. They are the server's, as far as that is proven.
	g, b := r.Groups.Sync, r.Groups.Bound
	if r.Transactions != transactions || *g.Count != groups || g.Basis != analysis.Exact || g.Method != analysis.Traced {
		t.Errorf("%d transactions in %d groups, %s by %s; want %d in %d, exact by traced: %+v", r.Transactions, *g.Count, g.Basis, g.Method, transactions, groups, r.Warnings)
	}
	if b.Lower > groups || groups > b.Upper || b.Upper != transactions {
		t.Errorf("%d groups of %d are outside of the bound %+v", groups, transactions, b)
	}
	for _, row := range rows {
		if *row.Method != analysis.Traced {
			t.Fatalf("%s:%d: group by %v", row.File, row.Start, *row.Method)
		}
	}

	// 3. What was saved follows.
	checkSaved(t, "binlog saved", r.Saved.Binlog, transactions, groups)
	checkSaved(t, "redo saved", r.Saved.Redo, transactions, r.IO.Syncs["redo"].Count)
}

// testRotation holds that nothing is lost where binlogs end and begin.
func testRotation(t *testing.T, s *servertest.Server) {
	bpf := startSampling(t, from(s, "bpf")...)
	perf := startSampling(t, from(s, "perf")...)
	status := startSampling(t, from(s, "status")...)
	const updates = 2000
	loadWithDDL(t, s, updates)
	for _, p := range []*sampling{status, perf, bpf} {
		p.interrupt(t)
	}
	all := syncsOf(t, bpf.trace, iosample.Binlog)
	r, rows := joined(t, s, bpf.trace)
	groups := *r.IO.BinlogSyncsDurable
	if n := r.IO.Syncs["binlog"].Count; n != all || groups > n-2*2 || groups < n-2*2-n/50 {
		t.Errorf("%d binlog syncs, of which %d made transactions durable; want %d, less 2 for each of 2 rotations", n, groups, all)
	}
	checkTraced(t, r, rows, updates+ddl, 0, bpf.trace)

	got, late := syncsOf(t, perf.trace, iosample.Binlog), syncsOf(t, perf.trace, iosample.Unattributed)
	// An inode that was another file's is counted for that one until the new log is
	// seen, which a busy machine may take some samples for.
	few := all / 20
	if got > all || got+late < all-few || got+late > all+others(t, bpf.trace) {
		t.Errorf("perf counted %d binlog syncs and %d unattributed, bpf %d", got, late, all)
		for _, c := range iosample.Classes {
			t.Logf("%s: perf %d, bpf %d", c, syncsOf(t, perf.trace, c), syncsOf(t, bpf.trace, c))
		}
	}
	const opens = 2 * 6
	if got := syncsOf(t, status.trace, iosample.Binlog); got < all || got-all > all/100+opens {
		t.Errorf("status counted %d binlog syncs, bpf %d", got, all)
	}
	for _, p := range []*sampling{perf, status} {
		r, _ := joined(t, s, p.trace)
		// Of the intervals in which perf had not yet seen the new log the number of
		// groups is the log's own estimate.
		g := r.Groups.Sync
		n, more := *g.Count, others(t, bpf.trace)+opens
		if r.IO.Source == "perf" && g.Basis == analysis.Estimated {
			n = min(max(groups, g.Low), g.High)
		} else if g.Basis != analysis.Measured {
			t.Errorf("%s: groups are %s", r.IO.Source, g.Basis)
		}
		if r.Transactions != updates+ddl || g.Method != analysis.FsyncCount || n < groups || n > groups+groups/100+more {
			t.Errorf("%s: %d transactions in %d groups (%d to %d, %s by %s); want %d in %d to %d more: %+v",
				r.IO.Source, r.Transactions, *g.Count, g.Low, g.High, g.Basis, g.Method, updates+ddl, groups, more, r.Warnings)
		}
	}
}

// testSeldomSynced samples where groups are not synced one by one.
func testSeldomSynced(t *testing.T, s *servertest.Server, syncBinlog int64) {
	s.Exec(t, fmt.Sprintf("SET GLOBAL sync_binlog = %d", syncBinlog))
	p := startSampling(t, from(s, "bpf")...)
	const updates = 1500
	sysbench(t, s, "run", "--events="+strconv.Itoa(updates))
	p.interrupt(t)
	r, rows := joined(t, s, p.trace)
	syncs := r.IO.Syncs["binlog"].Count
	if syncs != syncsOf(t, p.trace, iosample.Binlog) || syncBinlog == 0 && syncs != 0 || syncBinlog > 0 && (syncs == 0 || syncs > updates/syncBinlog) {
		t.Errorf("%d binlog syncs", syncs)
	}
	if r.Transactions != updates || int64(len(rows)) != updates {
		t.Errorf("%d transactions, %d rows, want %d: %+v", r.Transactions, len(rows), updates, r.Warnings)
	}
	g, b := r.Groups.Sync, r.Groups.Bound
	if g.Basis != analysis.Estimated || g.Method != analysis.CommitTimestamps || *g.Count < b.Lower || *g.Count <= syncs {
		t.Errorf("%d groups, %s by %s, at %d syncs and a bound of %+v", *g.Count, g.Basis, g.Method, syncs, b)
	}
	for _, row := range rows {
		if *row.Basis != analysis.Estimated || *row.Method != analysis.CommitTimestamps {
			t.Fatalf("%s:%d: %s by %s", row.File, row.Start, *row.Basis, *row.Method)
		}
	}

	// What follows the last sync is durable by none.
	last := lastSync(t, p.trace)
	none := int64(0)
	for _, row := range rows {
		if last == nil || row.File > last.Name || row.File == last.Name && row.End > last.Size {
			none++
		}
	}
	if got := *r.IO.DurableByNoneYet; got != none || *r.IO.BinlogSyncsDurable != syncs {
		t.Errorf("%d transactions are durable by none, want %d; %d syncs made some durable, want %d", got, none, *r.IO.BinlogSyncsDurable, syncs)
	}
	if a := r.Saved.Assumes; a.SyncBinlog != syncBinlog || a.From != "server" {
		t.Errorf("saved assumes %+v", a)
	}
	saved := r.Saved.Binlog
	if syncBinlog == 0 {
		if saved.Alone != 0 || saved.SavedByGrouping == nil || *saved.SavedByGrouping != 0 {
			t.Errorf("saved is %+v", saved)
		}
	} else if *saved.Grouped != syncs || saved.Basis != analysis.Measured || saved.Alone != updates/syncBinlog || *saved.SavedBySyncBinlog != *g.Count-syncs {
		t.Errorf("saved is %+v: %d grouped, %d by sync_binlog", saved, *saved.Grouped, *saved.SavedBySyncBinlog)
	}
}

// lastSync is the last event of a trace, nil for none.
func lastSync(t *testing.T, path string) *iosample.SyncEvent {
	t.Helper()
	var last *iosample.SyncEvent
	each(t, path, func(v *iosample.Interval) {
		if n := len(v.Syncs); n > 0 {
			e := v.Syncs[n-1]
			e.Name = filepath.Base(e.Name)
			last = &e
		}
	})
	return last
}
