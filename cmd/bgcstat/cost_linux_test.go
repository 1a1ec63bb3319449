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
// BGCSTAT_COST_SECONDS is how long each run takes.
func BenchmarkSampleCost(b *testing.B) {
	seconds := 2
	if n, err := strconv.Atoi(os.Getenv("BGCSTAT_COST_SECONDS")); err == nil && n > 0 {
		seconds = n
	}
	s := servertest.Start(b, servertest.MySQL97, "--sync-binlog=1", "--innodb-flush-log-at-trx-commit=1")
	s.Exec(b, "CREATE DATABASE sb; CREATE USER sb IDENTIFIED BY 'sb'; GRANT ALL ON sb.* TO sb")
	benchLoad(b, s, 0, "prepare")
	program := filepath.Join(b.TempDir(), "bgcstat")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	sample := func(source string, d time.Duration) *exec.Cmd {
		return exec.Command(program, "sample", "--pid", strconv.Itoa(s.PID), "--source", source,
			"--duration", d.String(), "--trace", filepath.Join(b.TempDir(), "trace"))
	}
	const hour = time.Hour // ended by a signal

	for b.Loop() {
		benchLoad(b, s, seconds, "run") // warm
		ratios := func(pairs int, attach func() *exec.Cmd) []float64 {
			var out []float64
			for i := range pairs {
				var tps [2]float64
				for _, with := range []int{i % 2, 1 - i%2} {
					stop := func() {}
					if with == 1 {
						stop = attached(b, attach())
					}
					tps[with] = benchLoad(b, s, seconds, "run")
					stop()
				}
				out = append(out, tps[1]/tps[0])
			}
			slices.Sort(out)
			return out
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
	const short, long = 2 * time.Second, 12 * time.Second
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
	m := perSecond.FindSubmatch(out)
	if m == nil {
		if step != "run" {
			return 0
		}
		b.Fatal(fmt.Errorf("sysbench prints no rate:\n%s", out))
	}
	rate, err := strconv.ParseFloat(string(m[1]), 64)
	if err != nil {
		b.Fatal(err)
	}
	return rate
}
