package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"bgcstat/analysis"
	"bgcstat/parser/loadgen"
)

// execute runs the command, with its output passed through and kept. It gives
// false where it could not be started.
func (r *recorder) execute(command []string) (started bool) {
	kept, err := os.Create(filepath.Join(r.o.out, outputFile))
	if err != nil {
		r.miss("the command's output was not kept: %v", err)
	}
	summary := &loadgen.Scanner{}
	out := &tee{to: r.u.stdout, kept: kept, summary: summary, miss: r.miss}
	errs := &tee{to: r.u.stderr, kept: kept, miss: r.miss}
	out.mu = &sync.Mutex{}
	errs.mu = out.mu

	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin = r.u.stdin
	cmd.WaitDelay = leftRunning // of a standard input that is no file
	output, err := newPipes(cmd, out, errs)
	if err != nil {
		r.run.Exit = analysis.Exit{Status: -1, Error: err.Error()}
		return false
	}
	// What is meant for the command ends the command; then the report is written.
	signals := make(chan os.Signal, 1)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) { // as by nohup, or by a script's shell in the background
			signal.Notify(signals, s)
		}
	}
	// It may come twice, as from a shell and from the kernel when a terminal is
	// closed, and the second time is no reason to leave the report out.
	defer time.AfterFunc(alsoCommand, func() { signal.Stop(signals) })
	r.before = r.counters()
	start := time.Now()
	err = cmd.Start()
	output.begin()
	if err != nil {
		output.end(0, nil)
		if e, ok := errors.AsType[*os.PathError](err); ok { // the path is that of the command
			err = e.Err
		}
		r.run.Exit = analysis.Exit{Status: -1, Error: err.Error()}
		return false
	}
	done := make(chan struct{})
	go func() {
		for {
			select {
			case s := <-signals:
				if s == os.Interrupt && hasCtrlC(cmd.Process.Pid) {
					continue
				}
				_ = cmd.Process.Signal(s) // it may have ended
			case <-done:
				return
			}
		}
	}()
	err = cmd.Wait()
	close(done)
	end := time.Now()
	// What the command leaves running is part of the run if it ends soon, by the
	// output that it has open. The wait for what does not end is no part of it.
	if output.end(leftRunning, signals) {
		end = time.Now()
	} else {
		r.miss("the command left something running, which had its output open %.1f s later still: the run ends without it", time.Since(end).Seconds())
	}
	r.run.Start, r.run.End = analysis.Time{Time: start.UTC()}, analysis.Time{Time: end.UTC()}
	r.run.Seconds = end.Sub(start).Seconds()
	r.run.Exit = exitOf(cmd, err)
	if kept != nil {
		if err := kept.Close(); err != nil {
			r.miss("the command's output was not kept: %v", err)
		}
	}
	r.run.Load = summary.Summary()
	return true
}

// exitOf says how a command ended.
func exitOf(cmd *exec.Cmd, err error) analysis.Exit {
	state := cmd.ProcessState
	if state == nil {
		return analysis.Exit{Status: -1, Error: err.Error()}
	}
	if w, ok := state.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return analysis.Exit{Status: 128 + int(w.Signal()), Signal: w.Signal().String()}
	}
	return analysis.Exit{Status: state.ExitCode()}
}

// alsoCommand is for how long after its end a signal is still meant for the command.
const alsoCommand = 2 * time.Second

// leftRunning is how long to wait for what a command has left running.
const leftRunning = 5 * time.Second

// lastOutput is how long a signal leaves to output that is about to be closed.
const lastOutput = 500 * time.Millisecond

// pipes are the standard output and the standard error of a command: its own, since
// processes that it leaves behind may have them open for longer than it runs.
type pipes struct {
	read, write [2]*os.File
	to          [2]io.Writer
	copying     sync.WaitGroup
}

func newPipes(cmd *exec.Cmd, out, errs io.Writer) (o *pipes, err error) {
	o = &pipes{to: [2]io.Writer{out, errs}}
	for i := range o.to {
		if o.read[i], o.write[i], err = os.Pipe(); err != nil {
			return nil, err
		}
	}
	cmd.Stdout, cmd.Stderr = o.write[0], o.write[1]
	return o, nil
}

// begin passes on what is written, after the command was started.
func (o *pipes) begin() {
	for i := range o.to {
		o.write[i].Close()
		o.copying.Go(func() { _, _ = io.Copy(o.to[i], o.read[i]) }) // until it is closed
	}
}

// end waits until the output is closed by all that have it, and gives false where
// that takes longer, or a signal ends the wait.
func (o *pipes) end(most time.Duration, signals <-chan os.Signal) (closed bool) {
	done := make(chan struct{})
	go func() {
		o.copying.Wait()
		close(done)
	}()
	late := time.NewTimer(most)
	defer late.Stop()
	for waits := true; waits; {
		select {
		case <-done:
			closed, waits = true, false
		case <-signals: // which may be what has just ended the command, come twice
			signals = nil
			late.Reset(min(most, lastOutput))
		case <-late.C:
			waits = false
		}
	}
	for _, f := range o.read {
		f.Close()
	}
	<-done
	return closed
}

// tee passes output on, and keeps it.
type tee struct {
	mu      *sync.Mutex // of both streams, whose lines are kept in one file
	to      io.Writer
	kept    *os.File
	summary io.Writer // nil for none
	miss    func(format string, args ...any)
}

func (t *tee) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, _ = t.to.Write(b) // whoever reads no more does not end the command
	if t.kept != nil {
		if _, err := t.kept.Write(b); err != nil {
			t.miss("the command's output was kept in part only: %v", err)
			t.kept = nil
		}
	}
	if t.summary != nil {
		_, _ = t.summary.Write(b) // which never fails
	}
	return len(b), nil
}
