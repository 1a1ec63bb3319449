package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"

	"bgcstat/analysis"
	"bgcstat/parser"
	"bgcstat/parser/iosample"
	"bgcstat/parser/stream"
	"bgcstat/report"
)

// runLog is the span of the server's log that a run is of.
type runLog struct {
	reading
	from  string // "files" or "connection"
	files []string
}

// checkLog holds that the log can be read when the command has ended: from its
// file, or else over the connection. An hour of load is not spent in vain.
func (r *recorder) checkLog(ctx context.Context) error {
	fault := r.checkFile()
	if fault == nil {
		return nil
	}
	s, err := stream.Open(ctx, stream.Config{
		Server: r.options, From: stream.Start{File: r.run.From.File, Offset: r.run.From.Position}, ToLastLog: true,
	})
	if err == nil {
		defer s.Close()
		_, _, err = s.Next() // to the end, or to what others commit
	}
	// What is damaged can be read.
	if _, damaged := errors.AsType[*parser.Error](err); err == nil || damaged || errors.Is(err, io.EOF) {
		return nil
	}
	return fmt.Errorf("the log cannot be read: %w; and from its files: %w", err, fault)
}

// checkFile is checkLog of the file that the server writes.
func (r *recorder) checkFile() error {
	if r.binlogs == "" {
		return errFilesUnknown
	}
	f, err := os.Open(filepath.Join(r.binlogs, r.run.From.File))
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := parser.NewReader(f, r.run.From.File, parser.Options{NoChecksums: true}).Next(); errors.Is(err, parser.ErrEncrypted) {
		return err
	}
	return nil
}

var errFilesUnknown = errors.New("the server's files are not known on this host")

// report reads the log and writes what is to be told of it.
func (r *recorder) report(ctx context.Context) error {
	// 1. The log: from its files, or else from the server.
	var result *analysis.Result
	var joined, exact bool
	log, err := r.logFiles()
	if err == nil {
		result, joined, exact, err = r.analyze(log)
	}
	if err != nil && r.run.To != nil {
		fault := err
		log = r.logOverConnection(ctx)
		if result, joined, exact, err = r.analyze(log); err != nil {
			err = fmt.Errorf("%w; and from its files: %w", err, fault)
		}
	}
	if err != nil {
		r.miss("the log could not be read: %v", err)
	}
	if result == nil {
		log = nil
		result = emptyResult()
	}
	if cpu := result.IO; r.run.Host != nil && cpu != nil && cpu.CPU != nil {
		r.run.Host.CPUs = cpu.CPU.CPUs // and not those that this process may use
	}

	for _, s := range result.Sources {
		if !s.Complete {
			r.miss("%s was not read to its end", s.File)
		}
	}
	for _, w := range result.Warnings {
		if w.Code == "trace-covers-part" {
			r.miss("of %d transactions nothing is reported, since the trace of syncs does not cover them", w.Count)
		}
	}

	// 2. Everything that is kept of it.
	if err := writeResult(r.o.out, result); err != nil {
		r.miss("%s was not written: %v", resultFile, err)
	}
	if log != nil {
		r.run.Read = log.from
		if err := r.writeTransactions(log, joined, exact); err != nil {
			r.miss("%s was not written: %v", transactionsFile, err)
			_ = os.Remove(filepath.Join(r.o.out, transactionsFile)) // it is cut short
		}
	}
	if r.o.keepLog {
		if err := r.keep(log); err != nil {
			r.miss("the logs were not kept: %v", err)
		}
	}

	// 3. For people.
	r.run.Missing = r.missing
	// What was printed of it does not decide what is written.
	w := &tee{mu: &sync.Mutex{}, to: r.u.stderr}
	err = showRun(r.u, w, &r.o.pageOptions, r.run, result, r.o.out)
	if r.o.redact {
		// The page's report.json has short names, and is there also where a plot could
		// not be written; compare and report read the run's own.
		err = errors.Join(err, writeResult(r.o.out, result))
	}
	return err
}

// showRun prints a run to w, and writes its page and plots into a directory,
// unless that is "".
func showRun(u *ui, w io.Writer, o *pageOptions, run *analysis.Run, r *analysis.Result, dir string) error {
	if o.redact {
		run, r = redactRun(run, r)
	}
	err := report.RunText(w, run, r)
	if dir == "" {
		return err
	}
	return errors.Join(o.writePage(u, r, run, dir), err)
}

func redactRun(run *analysis.Run, r *analysis.Result) (*analysis.Run, *analysis.Result) {
	redacted := report.RedactRuns([]analysis.RunResult{{Run: run, Result: r}})[0]
	return redacted.Run, redacted.Result
}

// logFiles are the files of the run's log, where they are on this host.
func (r *recorder) logFiles() (*runLog, error) {
	if r.binlogs == "" {
		return nil, errFilesUnknown
	}
	files, err := r.names()
	if err != nil {
		return nil, err
	}
	inputs, err := parser.Find(files, nil)
	if err != nil {
		return nil, err
	}
	for _, in := range inputs {
		if in.Err != nil {
			return nil, in.Err
		}
	}
	l := &runLog{from: "files", files: files}
	l.logs, l.settings = logNames(inputs), analysis.Settings{}.With(r.run.Settings)
	l.filter.StartPosition, l.filter.FirstLog = r.run.From.Position, inputs[0].Head.Name
	if to := r.run.To; to != nil {
		l.filter.StopPosition, l.filter.LastLog = to.Position, inputs[len(inputs)-1].Head.Name
	}
	if first := filepath.Base(files[0]); first != r.run.From.File {
		r.miss("%s, in which the run began, was purged: what was before %s is missing", r.run.From.File, first)
		l.filter.StartPosition = 0
	} else if r.begunAnew(files[0]) {
		r.miss("%s, in which the run began, was begun anew, as RESET does: what was before is missing, and syncs are in the trace alone", first)
		l.filter.StartPosition = 0
		r.trace = nil // it has two logs of the name
	}
	o := &inputOptions{}
	l.read = func(u *ui, add func(*parser.Txn) error) ([]*parser.Log, error) { return o.read(u, inputs, add) }
	return l, nil
}

// begunAnew reports whether a log is another than that of its name was when the
// run began.
func (r *recorder) begunAnew(path string) bool {
	if r.first == nil {
		return false
	}
	then, err := r.first.Stat()
	if err != nil {
		return false
	}
	now, err := os.Stat(path)
	return err == nil && !os.SameFile(then, now)
}

// names are the paths of the logs from where the run began to where it ended,
// as far as they are still there.
func (r *recorder) names() ([]string, error) {
	entries, err := os.ReadDir(r.binlogs)
	if err != nil {
		return nil, err
	}
	from := r.run.From.File
	base, _, _ := parser.SplitName(from)
	var out []string
	for _, e := range entries {
		name := e.Name()
		// Archives of logs are not the server's.
		if b, _, ok := parser.SplitName(name); !ok || b != base || strings.HasSuffix(name, ".gz") || strings.HasSuffix(name, ".zst") {
			continue
		}
		if later(from, name) || r.run.To != nil && later(name, r.run.To.File) {
			continue
		}
		out = append(out, filepath.Join(r.binlogs, name))
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s has none of the logs from %s on", r.binlogs, from)
	}
	slices.SortFunc(out, func(a, b string) int { // 1000000 is behind 999999
		if later(a, b) {
			return 1
		}
		return -1
	})
	return out, nil
}

// later reports whether a log is behind another of the same server, by their
// names.
func later(a, b string) bool {
	_, x, _ := parser.SplitName(a)
	_, y, _ := parser.SplitName(b)
	return x > y
}

// logOverConnection is the run's log as the server gives it to replicas.
func (r *recorder) logOverConnection(ctx context.Context) *runLog {
	l := &runLog{from: "connection"}
	l.settings = analysis.Settings{}.With(r.run.Settings)
	l.filter = analysis.Filter{StopPosition: r.run.To.Position, LastLog: r.run.To.File}
	l.read = func(u *ui, add func(*parser.Txn) error) ([]*parser.Log, error) {
		return readStream(ctx, u, stream.Config{
			Server: r.options, From: stream.Start{File: r.run.From.File, Offset: r.run.From.Position}, ToLastLog: true,
		}, func(t *parser.Txn) error {
			if later(t.Log.Name, r.run.To.File) {
				return nil // written after the run
			}
			return add(t)
		})
	}
	return l
}

// openTraceFile reads the trace of the run; nil where there is none.
func (r *recorder) openTraceFile(to func(h *iosample.Header, next func() *iosample.Interval)) (done func(), err error) {
	if r.trace == nil {
		return func() {}, nil
	}
	f, err := os.Open(filepath.Join(r.o.out, traceName))
	if err != nil {
		return nil, err
	}
	reader, err := iosample.NewReader(f)
	if err != nil {
		f.Close()
		return nil, err
	}
	to(&reader.Header, func() *iosample.Interval {
		v, _ := reader.Next() // what stands before a fault is used, and the fault was told of when it was written
		return v
	})
	return func() { f.Close() }, nil
}

// analyze reads the log with the trace, and counts the transactions of sessions
// that were there before the command.
func (r *recorder) analyze(l *runLog) (result *analysis.Result, joined, exact bool, err error) {
	a := analysis.New(l.filter, l.settings)
	done, err := r.openTraceFile(func(h *iosample.Header, next func() *iosample.Interval) { a.Join(h, next, l.logs) })
	if err != nil {
		return nil, false, false, err
	}
	defer done()
	others := &analysis.Others{}
	before, sessions := int64(0), int64(0)
	logs, err := l.read(r.u, func(t *parser.Txn) error {
		a.Add(t)
		switch {
		case !l.filter.Match(t):
		case !t.HasThreadID || r.restarted:
			others.Unknown++
		default:
			sessions++
			// Ids are those of the server that the transaction was first committed on.
			id := r.run.Settings["server_id"]
			if int64(t.ThreadID) <= r.session || id != "" && id != strconv.FormatUint(uint64(t.ServerID), 10) {
				before++
			}
		}
		return nil
	})
	if err != nil {
		return nil, false, false, err
	}
	if sessions > 0 {
		others.Before = &before
	}
	r.run.Others = others
	a.Vary(slices.Sorted(maps.Keys(r.run.Changed))...)
	result = a.Result(logs)
	joined, exact = a.Joined()
	if r.trace != nil && result.Transactions == 0 && joined { // the trace covers none of it
		joined = false
	}
	return result, joined && r.trace != nil, exact, nil
}

// writeTransactions writes the rows of dump.
func (r *recorder) writeTransactions(l *runLog, joined, exact bool) error {
	f, err := os.Create(filepath.Join(r.o.out, transactionsFile))
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := zstd.NewWriter(f)
	if err != nil {
		return err
	}
	out := report.CSVRows(z)
	rows := analysis.NewRows(l.filter, l.settings, out.Write)
	if joined {
		done, err := r.openTraceFile(func(h *iosample.Header, next func() *iosample.Interval) { rows.Join(h, next, l.logs, exact) })
		if err != nil {
			return err
		}
		defer done()
	}
	if _, err := l.read(quiet, rows.Add); err != nil {
		return err
	}
	if err := rows.End(); err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return f.Close()
}

// keep copies the logs into the run directory.
func (r *recorder) keep(l *runLog) error {
	if l == nil || l.files == nil {
		return errors.New("only logs whose files are on this host can be kept")
	}
	dir := filepath.Join(r.o.out, logDir)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for _, path := range l.files {
		if err := copyLog(filepath.Join(dir, filepath.Base(path)), path); err != nil {
			return err
		}
	}
	return nil
}

func copyLog(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}
