package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"bgcstat/parser/iosample"
	"bgcstat/parser/servertest"
)

// TestSampleEnds ends sampling in each way that there is.
func TestSampleEnds(t *testing.T) {
	s := servertest.Start(t, servertest.MySQL97, "--sync-binlog=1")
	pid := []string{"--pid", strconv.Itoa(s.PID), "--source", "proc", "--sample-interval", "10ms", "--interval", "10ms"}
	insert := func() {
		s.Exec(t, "CREATE DATABASE IF NOT EXISTS d; CREATE TABLE IF NOT EXISTS d.t (i INT); INSERT INTO d.t VALUES (1)")
	}

	t.Run("signals", func(t *testing.T) {
		for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
			p := startSampling(t, pid...)
			insert()
			if err := p.cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			p.end(t)
			if !strings.Contains(p.out.String(), "\ntransactions ") || !strings.Contains(p.out.String(), "s by proc (device wide)\n") {
				t.Errorf("%v: no sums:\n%s", signal, &p.out)
			}
			if want := "bgcstat: counting by proc, device wide: no syncs"; !strings.HasPrefix(p.errs.String(), want) {
				t.Errorf("%v: stderr is %q, want %s", signal, &p.errs, want)
			}
		}
	})

	t.Run("duration", func(t *testing.T) {
		// For a busy machine to take samples in between. It may be over before one is looked at.
		p := newSampling(t, append(pid, "--duration", "1s")...)
		if err := p.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		p.end(t)
		samples := 0
		each(t, p.trace, func(*iosample.Interval) { samples++ })
		if samples < 2 || len(p.lines(t)) == 0 {
			t.Errorf("%d samples, and printed was\n%s", samples, &p.out)
		}
	})

	t.Run("reader gone", func(t *testing.T) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		p := newSampling(t, pid...)
		p.cmd.Stdout = w
		p.start(t)
		w.Close()
		r.Close()
		// As of any program that writes to a pipe, and no reason to lose the trace.
		_ = p.cmd.Wait()
		if got := p.cmd.ProcessState.Sys().(syscall.WaitStatus); got.Signal() != syscall.SIGPIPE {
			t.Errorf("ended with %v", p.cmd.ProcessState)
		}
		each(t, p.trace, func(*iosample.Interval) {})
	})

	t.Run("full disk", func(t *testing.T) {
		if os.Geteuid() != 0 {
			need(t, "needs root, to mount a small file system")
		}
		dir := t.TempDir()
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=16k"); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := syscall.Unmount(dir, 0); err != nil {
				t.Error(err)
			}
		}()
		trace := filepath.Join(dir, "trace.ndjson")
		cmd := child(append([]string{"sample", "--trace", trace}, pid...)...)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() != statusNothing {
			t.Errorf("ended with %v, want status %d", err, statusNothing)
		}
		if want := fmt.Sprintf("bgcstat: --trace: write %s: no space left on device; what was written before is whole\n", trace); !strings.HasSuffix(errs.String(), want) {
			t.Errorf("stderr is %q, want %q", &errs, want)
		}
		samples := 0
		if h := each(t, trace, func(*iosample.Interval) { samples++ }); h.PID != s.PID || samples < 10 {
			t.Errorf("%d samples of %+v were left", samples, h)
		}

		trace = "/dev/full"
		cmd = child(append([]string{"sample", "--trace", trace}, pid...)...)
		errs.Reset()
		cmd.Stderr = &errs
		if err := cmd.Run(); err == nil || errs.String() != "bgcstat: --trace: write /dev/full: no space left on device\n" {
			t.Errorf("ended with %v: %s", err, &errs)
		}
	})

	t.Run("server hangs", func(t *testing.T) {
		p := startSampling(t, "-u", "root", "--password=", "-S", s.Socket, "--source", "status")
		if err := syscall.Kill(s.PID, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = syscall.Kill(s.PID, syscall.SIGCONT) }()
		p.interrupt(t)
		if !strings.Contains(p.out.String(), "s by status (estimate)\n") {
			t.Errorf("no sums:\n%s", &p.out)
		}
		if want := "\nbgcstat: warning: the server did not answer at the end: "; !strings.Contains(p.errs.String(), want) {
			t.Errorf("stderr is %q, want %s", &p.errs, want)
		}
	})

	t.Run("server killed", func(t *testing.T) {
		p := startSampling(t, pid...)
		insert()
		s.Kill()
		p.end(t)
		if want := "bgcstat: warning: the server has ended\n"; !strings.HasSuffix(p.errs.String(), want) {
			t.Errorf("stderr is %q, want %q", &p.errs, want)
		}
		if !strings.Contains(p.out.String(), "s by proc (device wide)\n") {
			t.Errorf("no sums:\n%s", &p.out)
		}
		gap := ""
		each(t, p.trace, func(v *iosample.Interval) { gap = v.Sample.Gap })
		if gap != "the server has ended" {
			t.Errorf("the last sample's gap is %q", gap)
		}
	})
}

// TestSecret looks for the password in all that is printed and written, in each
// way to give it and with each thing that can go wrong.
func TestSecret(t *testing.T) {
	s := servertest.Start(t, servertest.MySQL97)
	s.Exec(t, "CREATE USER sb@localhost IDENTIFIED BY '"+secret+"'; GRANT ALL ON *.* TO sb@localhost")
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	mine := filepath.Join(dir, "my.cnf")
	if err := os.WriteFile(mine, []byte("[client]\nuser=sb\npassword='"+secret+"'\npasswort="+secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	torn := filepath.Join(dir, "torn.cnf")
	if err := os.WriteFile(torn, []byte("[client]\npassword="+secret+"\n"+secret+" is it\n["+secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	closed := closedPort(t)

	here := []string{"-S", s.Socket}
	sb := append([]string{"-u", "sb"}, here...)
	given := []string{"--no-defaults", "-p" + secret}
	for _, test := range []struct {
		env    string
		args   []string
		status int
	}{
		// What goes well.
		{secret, append([]string{"--no-defaults"}, sb...), statusDone},
		{"", append(given, sb...), statusDone},
		{"", append([]string{"--no-defaults", "--password=" + secret}, sb...), statusDone},
		{"", append([]string{"--no-defaults", "-up", "-u", "sb", "-p" + secret}, here...), statusDone},
		{"", append([]string{"--defaults-file=" + mine}, here...), statusDone},
		{"", append([]string{"--defaults-file=" + mine, "--source", "status"}, here...), statusDone},
		// What does not.
		{"", append([]string{"--no-defaults", "-p" + secret + "x"}, sb...), statusNothing},
		{secret, append([]string{"--no-defaults", "-u", "other"}, here...), statusNothing},
		{"", append([]string{"--no-defaults", "-p", secret}, sb...), statusUsage},
		{"", append([]string{"--no-defaults", "--password", secret}, sb...), statusUsage},
		{"", append([]string{"--no-defaults", "--pasword=" + secret}, sb...), statusUsage},
		{"", append(given, "--ssl-mode", "SOME"), statusUsage},
		{"", append([]string{"--defaults-file=" + torn}, sb...), statusUsage},
		{"", append(given, "-h", "127.0.0.1", "-P", closed), statusNothing},
		{"", append(given, "-S", "/nonexistent"), statusNothing},
		{"", append(given, append([]string{"--source", "magic"}, sb...)...), statusUsage},
		{"", append(given, append([]string{"--trace", dir}, sb...)...), statusNothing},
	} {
		t.Setenv("MYSQL_PWD", test.env)
		trace := filepath.Join(dir, "trace.ndjson")
		var out, errs bytes.Buffer
		status := run(append([]string{"sample", "--duration", "30ms", "--sample-interval", "10ms", "--interval", "10ms", "--trace", trace}, test.args...),
			strings.NewReader(""), &out, &errs)
		if status != test.status {
			t.Errorf("%q: status %d, want %d: %s", test.args, status, test.status, &errs)
		}
		written, err := os.ReadFile(trace)
		if err != nil && status == statusDone {
			t.Error(err)
		}
		for what, b := range map[string][]byte{"stdout": out.Bytes(), "stderr": errs.Bytes(), "the trace": written} {
			if bytes.Contains(b, []byte(secret)) {
				t.Errorf("%q: the password is in %s:\n%s", test.args, what, b)
			}
		}
		if err := os.Remove(trace); err != nil && !os.IsNotExist(err) {
			t.Error(err)
		}
	}
}
