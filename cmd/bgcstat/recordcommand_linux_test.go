package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"bgcstat/analysis"
	"bgcstat/parser/server"
)

// offline is a recorder whose server does not answer.
func offline(t *testing.T, out, errs io.Writer) *recorder {
	r := &recorder{
		u: &ui{stdin: strings.NewReader(""), stdout: out, stderr: errs}, o: &recordOptions{}, run: &analysis.Run{},
		sql: &sqlServer{options: server.Options{Protocol: server.Socket, Socket: filepath.Join(t.TempDir(), "none")}},
	}
	r.o.out = t.TempDir()
	return r
}

// What is told of a command that cannot be run has its name in front.
func TestExecuteFails(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "broken")
	if err := os.WriteFile(broken, []byte("\x7fELF"), 0o777); err != nil {
		t.Fatal(err)
	}
	r := offline(t, io.Discard, io.Discard)
	if r.execute([]string{broken}) || r.run.Exit.Error != "exec format error" {
		t.Errorf("%+v", r.run.Exit)
	}
}

// A command may leave processes behind that write to its output.
func TestExecute(t *testing.T) {
	for _, tt := range []struct {
		script string
		want   analysis.Exit
		least  float64 // seconds
	}{
		{"echo out; echo err >&2; exit 3", analysis.Exit{Status: 3}, 0},
		{"echo out; echo err >&2; kill -9 $$", analysis.Exit{Status: 137, Signal: "killed"}, 0},
		{"(sleep 0.3; echo out; echo err >&2) & exit 0", analysis.Exit{}, 0.3},
	} {
		var out, errs bytes.Buffer
		r := offline(t, &out, &errs)
		if !r.execute([]string{"sh", "-c", tt.script}) || r.run.Exit != tt.want || out.String() != "out\n" || errs.String() != "err\n" || len(r.missing) > 0 {
			t.Errorf("%s: %+v, %q, %q, missing %q", tt.script, r.run.Exit, out.String(), errs.String(), r.missing)
		}
		if s := r.run.Seconds; s < tt.least {
			t.Errorf("%s took %.2f s", tt.script, s)
		}
		kept, err := os.ReadFile(filepath.Join(r.o.out, outputFile))
		if err != nil || !strings.Contains(string(kept), "out\n") || !strings.Contains(string(kept), "err\n") {
			t.Errorf("%s: kept %q, %v", tt.script, kept, err)
		}
	}
}

// What does not end is not waited for, nor longer than a user likes, and nothing
// is written behind the end.
func TestPipesLeftOpen(t *testing.T) {
	signals := make(chan os.Signal, 1)
	signals <- os.Interrupt
	for most, signals := range map[time.Duration]chan os.Signal{50 * time.Millisecond: nil, 200 * time.Second: signals} {
		var out bytes.Buffer
		to := &tee{mu: &sync.Mutex{}, to: &out}
		cmd := exec.Command("sh", "-c", "sleep 300 & echo out; echo $!")
		p, err := newPipes(cmd, to, to)
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		p.begin()
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
		printed := func() []string {
			to.mu.Lock()
			defer to.mu.Unlock()
			return strings.Split(out.String(), "\n")
		}
		for deadline := time.Now().Add(60 * time.Second); len(printed()) < 3; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("printed is %q", printed())
			}
		}
		left, err := strconv.Atoi(printed()[1])
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = syscall.Kill(left, syscall.SIGKILL) }()
		start := time.Now()
		if p.end(most, signals) {
			t.Error("closed")
		}
		if d := time.Since(start); d > 100*time.Second || printed()[0] != "out" {
			t.Errorf("%v, %q", d, printed())
		}
	}
}

// A full disk must leave what was there.
func TestReplaceFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, runFile)
	if err := replaceFile(path, []byte("a")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path+".part", 0o777); err != nil { // it cannot be written
		t.Fatal(err)
	}
	if err := replaceFile(path, []byte("b")); err == nil {
		t.Error("written")
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "a" {
		t.Errorf("%q, %v", b, err)
	}
}

// The page goes into the run's directory, and takes nothing from it where it
// cannot be written: neither report.json itself nor, with --redact, its names.
func TestRecordPageFails(t *testing.T) {
	log, err := filepath.Abs("../../testdata/binlog/mysql-9.7-row/binlog.000001")
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(log)
	if err != nil {
		t.Fatal(err)
	}
	for _, unwritable := range []string{"report.html", "group-size.png"} {
		var errs bytes.Buffer
		r := &recorder{
			u: &ui{stdout: io.Discard, stderr: &errs}, o: &recordOptions{}, binlogs: filepath.Dir(log),
			run: &analysis.Run{
				SchemaVersion: analysis.SchemaVersion, Command: []string{"x"},
				From: analysis.Position{File: "binlog.000001", Position: 4}, To: &analysis.Position{File: "binlog.000001", Position: info.Size()},
			},
		}
		r.o.out, r.o.plots, r.o.redact, r.o.theme, r.o.plotFormat, r.o.width = t.TempDir(), []string{"group-size"}, true, "light", "png", 800
		if err := os.Mkdir(filepath.Join(r.o.out, unwritable+".part"), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := r.report(t.Context()); err == nil || !strings.Contains(err.Error(), unwritable) {
			t.Errorf("%s: %v", unwritable, err)
		}
		if b, err := os.ReadFile(filepath.Join(r.o.out, resultFile)); err != nil || !bytes.Contains(b, []byte(`"shop.`)) {
			t.Errorf("%s cannot be written, and %s has not the names of tables (%v)\n%s", unwritable, resultFile, err, &errs)
		}
	}
}
