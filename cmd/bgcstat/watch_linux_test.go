package main

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"bgcstat/analysis"
	"bgcstat/parser/servertest"
)

// watching is bgcstat watch while it runs, as a process of its own.
type watching struct {
	cmd  *exec.Cmd
	out  output
	errs output
	done chan error
}

// output is what a process has printed so far.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

func startWatching(t *testing.T, args ...string) *watching {
	t.Helper()
	w := &watching{cmd: child(append([]string{"watch", "--no-defaults"}, args...)...), done: make(chan error, 1)}
	w.cmd.Stdout, w.cmd.Stderr = &w.out, &w.errs
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { w.done <- w.cmd.Wait() }()
	t.Cleanup(func() { _ = w.cmd.Process.Kill() }) // where the test failed before its end
	w.await(t, `"type":"interval"`, 1)
	return w
}

// await waits until a text was printed so many times.
func (w *watching) await(t *testing.T, text string, times int) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if strings.Count(w.out.String(), text) >= times {
			return
		}
		select {
		case err := <-w.done:
			t.Fatalf("watch ended, %v:\n%s%s", err, &w.out, &w.errs)
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("watch has not printed %s:\n%s%s", text, &w.out, &w.errs)
		}
	}
}

// watched is what a watch printed: its lines added up.
type watched struct {
	intervals []jsonLine
	sum       jsonLine
	events    []jsonEvent
	summary   jsonSummary
}

// interrupt ends the watch, as Ctrl-C does.
func (w *watching) interrupt(t *testing.T) *watched {
	t.Helper()
	if err := w.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := <-w.done; err != nil {
		t.Fatalf("watch: %v\n%s%s", err, &w.out, &w.errs)
	}
	if strings.Contains(w.out.String()+w.errs.String(), secret) {
		t.Error("the password was printed")
	}
	return read(t, w.out.String())
}

// read adds up what a watch printed.
func read(t *testing.T, printed string) *watched {
	t.Helper()
	out := &watched{sum: jsonLine{Sync: &jsonGroups{}, Syncs: map[string]int64{}}}
	for line := range strings.Lines(printed) {
		var kind struct{ Type string }
		into := func(v any) {
			if err := json.Unmarshal([]byte(line), v); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
		}
		into(&kind)
		switch kind.Type {
		case "interval":
			var l jsonLine
			into(&l)
			out.intervals = append(out.intervals, l)
			out.sum.Transactions += l.Transactions
			out.sum.Bytes += l.Bytes
			if l.Sync != nil {
				out.sum.Sync.Count += l.Sync.Count
				out.sum.Sync.Transactions += l.Sync.Transactions
			}
			for c, n := range l.Syncs {
				out.sum.Syncs[c] += n
			}
		case "event":
			var e jsonEvent
			into(&e)
			out.events = append(out.events, e)
		case "summary":
			into(&out.summary)
		default:
			t.Errorf("line of type %q", kind.Type)
		}
	}
	if out.summary.Result == nil {
		t.Fatalf("no summary:\n%s", printed)
	}
	return out
}

// position is up to where the last line has read.
func (w *watching) position() (file string, offset int64) {
	out, before := w.out.String(), `"position":"`
	position, _, _ := strings.Cut(out[strings.LastIndex(out, before)+len(before):], `"`)
	file, at, _ := strings.Cut(position, ":")
	offset, _ = strconv.ParseInt(at, 10, 64)
	return file, offset
}

// caughtUp waits until the watch has read all that was written.
func (w *watching) caughtUp(t *testing.T, s *servertest.Server) {
	t.Helper()
	status := "SHOW MASTER STATUS"
	if s.Kind.MySQL() {
		status = "SHOW BINARY LOG STATUS"
	}
	f := strings.Fields(s.Exec(t, status))
	end, err := strconv.ParseInt(f[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		// MariaDB may write of a checkpoint at any time.
		if file, offset := w.position(); file == f[0] && offset >= end {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("watch has not come to %s:%d:\n%s%s", f[0], end, &w.out, &w.errs)
		}
	}
	// And one interval more, in which the last group ends.
	w.await(t, `"type":"interval"`, strings.Count(w.out.String(), `"type":"interval"`)+12)
}

// TestWatch follows real servers under load: what it prints adds up to what it
// reports, that is what analyze says of the files, and a real Prometheus has
// the same.
func TestWatch(t *testing.T) {
	needLoad(t)
	for _, kind := range servertest.Some() {
		t.Run(kind.String(), func(t *testing.T) {
			s := servertest.Start(t, kind, "--sync-binlog=1")
			prepare(t, s)
			s.Exec(t, "FLUSH BINARY LOGS")
			log := s.Binlogs(t)[len(s.Binlogs(t))-1]
			alone := startWatching(t, "-S", s.Socket, "-u", "sb", "--from", filepath.Base(log), "--source", "none", "--arrivals=false",
				"--interval", "100ms", "--format", "json")
			exact := startWatching(t, "-S", s.Socket, "-u", "sb", "--source", "bpf", "--interval", "100ms", "--format", "json",
				"--web.listen-address", "127.0.0.1:0")
			p := startPrometheus(t, servedAt(t, &exact.errs))

			const updates = 6000
			loadWithDDL(t, s, updates)
			alone.caughtUp(t, s)
			exact.caughtUp(t, s)
			p.wait(t, "bgcstat_transactions_total", updates+ddl)
			scraped := map[string]float64{}
			for _, expr := range []string{
				"bgcstat_sync_groups_total", "bgcstat_group_size_sum", "bgcstat_group_size_count", `bgcstat_group_size_bucket{le="1"}`,
				`bgcstat_syncs_total{class="binlog"}`, `bgcstat_syncs_total{class="redo"}`, "bgcstat_binlog_sync_duration_seconds_count",
				"bgcstat_reconnects_total", "bgcstat_connected", "bgcstat_binlog_bytes_total",
			} {
				scraped[expr] = p.query(t, expr)
			}

			// 1. Without samples, as analyze has it of the files.
			w := alone.interrupt(t)
			args := []string{"--sync-binlog", "1", "--flush-log-at-trx-commit", "1"}
			if kind.MySQL() {
				args = append(args, "--binlog-group-commit-sync-delay", "0", "--binlog-group-commit-sync-no-delay-count", "0")
			}
			want := analyzed(t, append(args, s.Binlogs(t)[slices.Index(s.Binlogs(t), log):]...)...)
			if got, want := normal(t, w.summary.Result), normal(t, want); got != want {
				t.Errorf("the result of watch differs from analyze's: %s", firstDifference(got, want))
			}
			if w.summary.Result.IO != nil || len(w.sum.Syncs) > 0 {
				t.Error("syncs were counted")
			}
			checkSums(t, w)

			// 2. With the syncs: each group as the kernel has it.
			w = exact.interrupt(t)
			r := w.summary.Result
			checkSums(t, w)
			g := r.Groups.Sync
			if r.Transactions != updates+ddl || g == nil || g.Basis != analysis.Exact || *g.Count != *r.IO.BinlogSyncsDurable {
				t.Errorf("%d transactions in %+v by %+v syncs, want %d exactly; %v", r.Transactions, g, r.IO, updates+ddl, r.Warnings)
			}
			if w.sum.Sync.Count != *g.Count || w.sum.Sync.Transactions != updates+ddl {
				t.Errorf("lines add up to %+v, the result has %d groups", w.sum.Sync, *g.Count)
			}
			for class, n := range w.summary.Syncs {
				least := n - n/50 - 2 // less what came behind the last line
				if class != "binlog" && class != "redo" {
					least = 0 // InnoDB flushes its files when it likes, and many at once
				}
				if w.sum.Syncs[class] > n || w.sum.Syncs[class] < least {
					t.Errorf("lines add up to %d syncs of class %s, the summary has %d", w.sum.Syncs[class], class, n)
				}
			}

			// 3. As Prometheus has it.
			for expr, want := range map[string]float64{
				"bgcstat_sync_groups_total":  float64(*g.Count),
				"bgcstat_group_size_sum":     updates + ddl,
				"bgcstat_group_size_count":   float64(*g.Count),
				"bgcstat_reconnects_total":   0,
				"bgcstat_connected":          1,
				"bgcstat_binlog_bytes_total": float64(r.Bytes),
				`bgcstat_group_size_bucket{le="1"}`: func() float64 {
					if g.Histogram[0].Size == 1 {
						return float64(g.Histogram[0].Groups)
					}
					return 0
				}(),
				`bgcstat_syncs_total{class="binlog"}`:        float64(w.summary.Syncs["binlog"]),
				"bgcstat_binlog_sync_duration_seconds_count": float64(w.summary.Syncs["binlog"]),
			} {
				if scraped[expr] != want {
					t.Errorf("%s is %v, want %v", expr, scraped[expr], want)
				}
			}
		})
	}
}

func checkSums(t *testing.T, w *watched) {
	t.Helper()
	r := w.summary.Result
	if w.sum.Transactions != r.Transactions || w.sum.Bytes != r.Bytes {
		t.Errorf("lines add up to %d transactions of %d bytes, the result has %d of %d", w.sum.Transactions, w.sum.Bytes, r.Transactions, r.Bytes)
	}
	for _, l := range w.intervals {
		if l.Bound.Lower > l.Bound.Upper || l.Sync != nil && l.Sync.Count > l.Sync.Transactions || !l.Connected {
			t.Errorf("line is %+v", l)
		}
	}
}

// servedAt waits until a process says where it serves metrics.
func servedAt(t *testing.T, errs *output) (address string) {
	t.Helper()
	serving := regexp.MustCompile(`(?m)^bgcstat: serving metrics at (\S+)$`)
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if m := serving.FindStringSubmatch(errs.String()); m != nil {
			return m[1]
		}
		if time.Now().After(deadline) {
			t.Fatalf("no metrics are served:\n%s", errs)
		}
	}
}

// closedPort is a port of this host that nobody listens at, nor can until the
// test ends.
func closedPort(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	bound, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return strconv.Itoa(bound.(*syscall.SockaddrInet4).Port)
}
