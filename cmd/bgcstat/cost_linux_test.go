package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"bgcstat/parser/servertest"
)

// BenchmarkSampleCost prints what sampling costs the server: sysbench's
// transactions per second with bpf attached over those without, of interleaved
// pairs; the same of pt-ioprofile, which counts by strace; and what share of a
// core the sampler itself takes at ten samples a second.
// BGCSTAT_COST_SECONDS is how long each run takes; the sampler's share is of five
// times as long.
func BenchmarkSampleCost(b *testing.B) {
	seconds, s, program := costSeconds(), costServer(b), buildProgram(b)
	sample := func(source string, d time.Duration) *exec.Cmd {
		return exec.Command(program, "sample", "--pid", strconv.Itoa(s.PID), "--source", source,
			"--duration", d.String(), "--trace", filepath.Join(b.TempDir(), "trace"))
	}
	const hour = time.Hour // ended by a signal

	for b.Loop() {
		benchLoad(b, s, seconds, "run") // warm
		alone := func() float64 { return benchLoad(b, s, seconds, "run") }
		ratios := func(pairs int, attach func() *exec.Cmd) []float64 {
			return inPairs(pairs, alone, func() float64 {
				defer attached(b, attach())()
				return alone()
			})
		}
		bpf := ratios(7, func() *exec.Cmd { return sample("bpf", hour) })
		b.Logf("bpf attached, of without: %.3f in the median, %.3f to %.3f", bpf[3], bpf[0], bpf[6])
		b.ReportMetric(bpf[3], "bpf/without")
		if _, err := exec.LookPath("pt-ioprofile"); err == nil {
			strace := ratios(3, func() *exec.Cmd {
				return exec.Command("pt-ioprofile", "--profile-pid", strconv.Itoa(s.PID), "--run-time", strconv.Itoa(2*seconds))
			})
			b.Logf("pt-ioprofile attached, of without: %.3f in the median, %.3f to %.3f", strace[1], strace[0], strace[2])
			b.ReportMetric(strace[1], "pt-ioprofile/without")
		}
		for _, source := range []string{"bpf", "perf"} {
			share := cpuShare(b, s, func(d time.Duration) *exec.Cmd { return sample(source, d) })
			b.Logf("the sampler itself by %s: %.2f %% of a core", source, 100*share)
			b.ReportMetric(share, source+"-cores")
		}
	}
}

// inPairs measures two ways by turns, and gives the ratios of the second to the
// first, by size.
func inPairs(pairs int, first, second func() float64) []float64 {
	var out []float64
	ways := [2]func() float64{first, second}
	for i := range pairs {
		var got [2]float64
		for _, way := range []int{i % 2, 1 - i%2} {
			got[way] = ways[way]()
		}
		out = append(out, got[1]/got[0])
	}
	slices.Sort(out)
	return out
}

// BenchmarkRecordCost prints what record costs a load: sysbench's transactions
// per second under it over those alone, of interleaved pairs.
func BenchmarkRecordCost(b *testing.B) {
	s := costServer(b)
	program := buildProgram(b)
	seconds := costSeconds()
	under := func() float64 {
		dir := b.TempDir()
		args := append([]string{"record", "--no-defaults", "-S", s.Socket, "-u", "root", "--out", filepath.Join(dir, "run"), "--plots", "timeline", "--", "sysbench"}, sysbenchArgs(s, seconds)...)
		out, err := exec.Command(program, append(args, "run")...).Output()
		if err != nil {
			b.Fatal(err)
		}
		return rateOf(b, out)
	}
	for b.Loop() {
		benchLoad(b, s, seconds, "run") // warm
		r := inPairs(7, func() float64 { return benchLoad(b, s, seconds, "run") }, under)
		b.Logf("under record, of alone: %.3f in the median, %.3f to %.3f", r[3], r[0], r[6])
		b.ReportMetric(r[3], "record/alone")
	}
}

// BenchmarkFollow prints how fast logs are read over a connection, analyzed and
// all, against the server's own tool, which writes them to files.
func BenchmarkFollow(b *testing.B) {
	program := buildProgram(b)
	for _, kind := range servertest.Kinds {
		b.Run(kind.String(), func(b *testing.B) {
			s := servertest.Start(b, kind, "--sync-binlog=0", "--innodb-flush-log-at-trx-commit=0")
			s.Exec(b, `CREATE DATABASE big; CREATE TABLE big.t (id INT PRIMARY KEY AUTO_INCREMENT, v INT);
DELIMITER //
CREATE PROCEDURE big.fill(n INT) BEGIN DECLARE i INT DEFAULT 0; WHILE i < n DO INSERT INTO big.t (v) VALUES (i); SET i = i + 1; END WHILE; END//
DELIMITER ;
CALL big.fill(300000);`)
			log := filepath.Base(s.Binlogs(b)[0])
			seconds := func(f func()) float64 {
				start := time.Now()
				f()
				return time.Since(start).Seconds()
			}
			own := func() float64 {
				return 1 / seconds(func() {
					s.Binlog(b, "--read-from-remote-server", "--user=root", "--socket="+s.Socket, "--raw", "--to-last-log", "--result-file=/tmp/", log)
				})
			}
			ours := func() float64 {
				return 1 / seconds(func() {
					cmd := exec.Command(program, "analyze", "--no-defaults", "-R", "-S", s.Socket, "-u", "root", "--to-last-log", log)
					if out, err := cmd.CombinedOutput(); err != nil {
						b.Fatalf("%v\n%s", err, out)
					}
				})
			}
			for b.Loop() {
				r := inPairs(5, own, ours)
				b.Logf("speed of analyze -R, of its own tool's --raw: %.2f in the median, %.2f to %.2f", r[2], r[0], r[4])
				b.ReportMetric(r[2], "speed/tool")
			}
		})
	}
}

// costSeconds is how long a run of a load takes.
func costSeconds() int {
	if n, err := strconv.Atoi(os.Getenv("BGCSTAT_COST_SECONDS")); err == nil && n > 0 {
		return n
	}
	return 2
}

func costServer(b *testing.B) *servertest.Server {
	b.Helper()
	s := servertest.Start(b, servertest.MySQL97, "--sync-binlog=1", "--innodb-flush-log-at-trx-commit=1")
	s.Exec(b, "CREATE DATABASE sb; CREATE USER sb IDENTIFIED BY 'sb'; GRANT ALL ON sb.* TO sb")
	benchLoad(b, s, 0, "prepare")
	return s
}

func buildProgram(b *testing.B) string {
	b.Helper()
	program := filepath.Join(b.TempDir(), "bgcstat")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return program
}

// cpuShare is the share of a core that a sampler takes under load, its start
// left out.
func cpuShare(b *testing.B, s *servertest.Server, sample func(time.Duration) *exec.Cmd) float64 {
	b.Helper()
	load, cancel := context.WithCancel(b.Context())
	defer cancel()
	cmd := exec.CommandContext(load, "sysbench", append(sysbenchArgs(s, 3600), "run")...)
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() { cancel(); _ = cmd.Wait() }()
	took := func(d time.Duration) time.Duration {
		c := sample(d)
		if out, err := c.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		return c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	}
	const short = 2 * time.Second
	long := short + time.Duration(5*costSeconds())*time.Second
	return float64(took(long)-took(short)) / float64(long-short)
}

// attached starts a program that watches the server, and gives it time to be
// there. stop ends it.
func attached(b *testing.B, cmd *exec.Cmd) (stop func()) {
	b.Helper()
	cmd.Stdout, cmd.Stderr = io.Discard, io.Discard
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	time.Sleep(500 * time.Millisecond)
	return func() {
		// Its children, too: a tracer that stays would slow down what follows.
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGINT)
		done := make(chan error, 1)
		go func() { done <- cmd.Wait() }()
		select {
		case <-done:
		case <-time.After(5 * time.Second):
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			<-done
		}
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
}

var perSecond = regexp.MustCompile(`transactions: +\d+ +\(([0-9.]+) per sec`)

func sysbenchArgs(s *servertest.Server, seconds int) []string {
	return []string{
		"oltp_update_index", "--mysql-socket=" + s.Socket, "--mysql-user=sb", "--mysql-password=sb", "--mysql-db=sb",
		"--tables=4", "--table-size=5000", "--threads=16", "--time=" + strconv.Itoa(seconds),
	}
}

// benchLoad runs a step of a load of small updates, and gives its transactions
// per second.
func benchLoad(b *testing.B, s *servertest.Server, seconds int, step string) float64 {
	b.Helper()
	out, err := exec.Command("sysbench", append(sysbenchArgs(s, seconds), step)...).CombinedOutput()
	if err != nil {
		b.Fatalf("sysbench (Debian package sysbench): %v\n%s", err, out)
	}
	if step != "run" {
		return 0
	}
	return rateOf(b, out)
}

// rateOf is the rate that sysbench prints.
func rateOf(b *testing.B, out []byte) float64 {
	b.Helper()
	m := perSecond.FindSubmatch(out)
	if m == nil {
		b.Fatal(fmt.Errorf("sysbench prints no rate:\n%s", out))
	}
	rate, err := strconv.ParseFloat(string(m[1]), 64)
	if err != nil {
		b.Fatal(err)
	}
	return rate
}
