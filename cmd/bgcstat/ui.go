package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"bgcstat/parser"
	"bgcstat/report"
)

// ui is where the program talks. The rules are:
//
//   - stdout is for results, stderr for everything else;
//   - a line on stderr begins with "bgcstat: ", "bgcstat: warning: " or
//     "bgcstat: hint: ", goes on in lower case and has no period at its end;
//   - progress is shown on a terminal only, of work that takes more than a second;
//   - nothing is coloured, so that there is nothing for NO_COLOR to turn off.
type ui struct {
	stdin          io.Reader
	stdout, stderr io.Writer
}

// quiet says nothing: for work that is done twice.
var quiet = &ui{stderr: io.Discard}

func (u *ui) errorf(format string, args ...any) { u.say("", format, args...) }

func (u *ui) warningf(format string, args ...any) { u.say("warning: ", format, args...) }

func (u *ui) hintf(format string, args ...any) { u.say("hint: ", format, args...) }

func (u *ui) say(kind, format string, args ...any) {
	fmt.Fprintf(u.stderr, "bgcstat: %s%s\n", kind, report.Printable(fmt.Sprintf(format, args...)))
}

// warnings prints what was met in a log.
func (u *ui) warnings(l *parser.Log) {
	for _, w := range l.Warnings {
		if w.Count > 1 {
			u.warningf("%v: %s (%d times)", w.At, w.Message, w.Count)
		} else {
			u.warningf("%v: %s", w.At, w.Message)
		}
	}
}

// exitError is an error that decides the exit status.
type exitError struct {
	status int
	err    error // nil where all has been said
	hints  []string
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.status)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func (e *exitError) hint(h string) *exitError {
	e.hints = append(e.hints, h)
	return e
}

func usageError(format string, args ...any) *exitError {
	return &exitError{status: statusUsage, err: fmt.Errorf(format, args...)}
}

// isTerminal reports whether f is a terminal.
func isTerminal(f any) bool {
	file, ok := f.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// progress shows how far files have been read, until the function that it
// returns is called.
func (u *ui) progress(files *parser.Files) (stop func()) {
	if !isTerminal(u.stderr) {
		return func() {}
	}
	quit := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		start := time.NewTimer(time.Second)
		defer start.Stop()
		select {
		case <-start.C:
		case <-quit:
			return
		}
		_, total := files.Progress()
		if total == 0 {
			total = -1
		}
		bar := progressbar.NewOptions64(total, progressbar.OptionSetWriter(u.stderr),
			progressbar.OptionSetDescription("reading"), progressbar.OptionShowBytes(true),
			progressbar.OptionFullWidth(), progressbar.OptionClearOnFinish())
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			read, _ := files.Progress()
			_ = bar.Set64(read) // a bar that cannot be drawn stops nothing
			select {
			case <-tick.C:
			case <-quit:
				_ = bar.Clear()
				return
			}
		}
	})
	return func() {
		close(quit)
		done.Wait()
	}
}

// version names the build.
func version() string {
	v := "(unknown)"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		v = info.Main.Version
	}
	return fmt.Sprintf("%s %s %s/%s", v, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// flagsTemplate makes cobra's help list flags as flagUsages does.
var flagsTemplate = func() *strings.Replacer {
	cobra.AddTemplateFunc("flagUsages", flagUsages)
	return strings.NewReplacer(".LocalFlags.FlagUsages", "flagUsages .LocalFlags", ".InheritedFlags.FlagUsages", "flagUsages .InheritedFlags")
}()

// flagUsages lists flags, what each does below its name, in 80 columns.
func flagUsages(f *pflag.FlagSet) string {
	var b strings.Builder
	f.VisitAll(func(flag *pflag.Flag) {
		name := "    --" + flag.Name
		if flag.Shorthand != "" {
			name = "-" + flag.Shorthand + ", --" + flag.Name
		}
		value, usage := pflag.UnquoteUsage(flag)
		switch {
		case flag.NoOptDefVal != "" && flag.Value.Type() != "bool":
			name += "[=" + flag.NoOptDefVal + "]"
		case value != "":
			name += " " + value
		}
		if d := flag.DefValue; d != "" && d != "0" && d != "0s" && d != "false" && d != "[]" {
			usage += " (default " + d + ")"
		}
		fmt.Fprintf(&b, "  %s\n          %s\n", name, strings.ReplaceAll(report.Wrap(usage, 70, ""), "\n", "\n          "))
	})
	return b.String()
}
