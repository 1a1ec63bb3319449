package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bgcstat/parser"
	"bgcstat/parser/iosample"
)

type sampleOptions struct {
	connectOptions
	pid                      int
	pidFile, dataDir         string
	interval, sampleInterval time.Duration
	duration                 time.Duration
	source                   string
	trace                    string
}

func (o *sampleOptions) addFlags(f *pflag.FlagSet) {
	f.SortFlags = false
	f.IntVar(&o.pid, "pid", 0, "watch the server with this process `id`; sampling ends with it")
	f.StringVar(&o.pidFile, "pid-file", "", "watch the server that wrote its process id into this `file`, also after a restart")
	f.StringVar(&o.dataDir, "datadir", "", "watch the server with this data `directory`, also after a restart")
	f.DurationVar(&o.interval, "interval", time.Second, "print a line each `time`")
	f.DurationVar(&o.sampleInterval, "sample-interval", 100*time.Millisecond, "take a sample each `time`")
	f.DurationVar(&o.duration, "duration", 0, "end after this `time` (default: at Ctrl-C)")
	f.StringVar(&o.source, "source", "auto", "count by `source`: bpf, perf, status, proc, or auto, the first of them that can be used")
	f.StringVar(&o.trace, "trace", "", "write the samples to this `file`, for analyze --trace; - for standard output, and no lines")
	o.connectOptions.addFlags(f)
}

func sampleCommand(u *ui) *cobra.Command {
	o := &sampleOptions{}
	cmd := &cobra.Command{
		Use:   "sample [flags]",
		Short: "Count the fsyncs of a running server, by file",
		Long: `Counts the fsyncs of a running server, by class of file, with transactions per
binlog sync where the binlog can be read. Nothing of the server is changed or
slowed down.

Sources, the best first; each that cannot be used says why:
  bpf     one event for each sync, from the file system itself: exact, with
          latency; analyze --trace then tells the groups exactly. Needs CAP_BPF and
          CAP_PERFMON, or root
  perf    the same, counted by the kernel: exact. Needs CAP_PERFMON, or for the
          server's own user readable tracepoint ids
  status  the server's own counters over SQL, also from afar: within about 1 %
  proc    no syncs, which /proc does not have: flushes of the disk

The server is the one of --pid, --pid-file or --datadir, or else the one that
the connection options lead to, as those of the mysql client do. Connected, its
settings go into the trace.

Exit status:
  0  done
  1  nothing could be counted, or the trace could not be written
  2  wrong usage`,
		Example: `  bgcstat sample --datadir /var/lib/mysql
  bgcstat sample -u root -p --trace run.ndjson --duration 1m
  bgcstat sample -h db1.example.com -u monitor -p --source status
  bgcstat analyze --trace run.ndjson /var/lib/mysql/binlog.index`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 { // which may be a password, so it is not printed
				return usageError("sample takes no arguments, %d given", len(args)).hint("a password stands right behind -p, as in -pPASSWORD")
			}
			if err := o.check(cmd.Flags()); err != nil {
				return err
			}
			return o.run(cmd.Context(), u, cmd.Flags())
		},
	}
	o.addFlags(cmd.Flags())
	return cmd
}

func (o *sampleOptions) check(f *pflag.FlagSet) error {
	if o.source == "auto" {
		o.source = ""
	} else if !slices.Contains(iosample.Sources, o.source) {
		return usageError("--source is %q, want auto, %s", o.source, strings.Join(iosample.Sources, ", "))
	}
	if o.sampleInterval < leastSampleInterval {
		return usageError("--sample-interval is %v, want at least %v", o.sampleInterval, leastSampleInterval)
	}
	if o.interval < o.sampleInterval {
		return usageError("--interval is %v, less than --sample-interval, %v", o.interval, o.sampleInterval)
	}
	if o.duration < 0 || f.Changed("duration") && o.duration == 0 {
		return usageError("--duration is %v, want more than 0", o.duration)
	}
	if f.Changed("pid") && o.pid <= 0 {
		return usageError("--pid is %d, want a process id", o.pid)
	}
	ways := 0
	for _, name := range []string{"pid", "pid-file", "datadir"} {
		if f.Changed(name) {
			ways++
		}
	}
	if ways > 1 {
		return usageError("--pid, --pid-file and --datadir exclude each other")
	}
	for _, p := range []struct{ name, value, want string }{
		{"pid-file", o.pidFile, "file"}, {"datadir", o.dataDir, "directory"}, {"trace", o.trace, "file"},
	} {
		if f.Changed(p.name) && p.value == "" {
			return usageError("--%s is empty, want a %s", p.name, p.want)
		}
	}
	return nil
}

// sampled is what a run of sample works with.
type sampled struct {
	u       *ui
	sampler *iosample.Sampler
	trace   *traceFile // nil for none
	screen  *sampleScreen
}

func (o *sampleOptions) run(ctx context.Context, u *ui, f *pflag.FlagSet) error {
	// A sampler must not take the server's time: threads that spin for work at
	// each sample would cost as much as the sample, and so would collecting
	// garbage of which there is little.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	config, closeServer, err := o.config(ctx, u, f)
	if err != nil {
		return err
	}
	defer closeServer()
	sampler, err := iosample.Open(ctx, config)
	if err != nil {
		return err
	}
	defer sampler.Close()
	if config.Find != nil && sampler.Header().PID == 0 {
		if _, err := config.Find(); err != nil { // else it has come just now
			if _, ok := sampler.Binlog(); !ok && config.Server == nil {
				return fmt.Errorf("no server is known to run there, and there is no binlog: %w", err)
			}
			if len(sampler.Header().Refused) == 0 { // which would say so
				u.hintf("no process of this host is known to be the server: %v", err)
			}
		}
	}
	s := &sampled{u: u, sampler: sampler}
	if o.trace != "" {
		if s.trace, err = createTrace(o.trace, u.stdout, sampler.Header()); err != nil {
			return fmt.Errorf("--trace: %w", err)
		}
		defer s.trace.close()
	}
	if o.trace != "-" {
		s.screen = newSampleScreen(u.stdout, sampler)
		defer s.screen.close()
	}
	h := sampler.Header()
	u.errorf("counting by %s, %s: %s", h.Source, words(h.Exactness), h.Detail)
	for _, r := range h.Refused {
		u.hintf("not by %s: %s", r.Source, r.Why)
	}
	return s.loop(ctx, o)
}

// config finds the server, by what was given of it, and connects where that
// is wanted.
func (o *sampleOptions) config(ctx context.Context, u *ui, f *pflag.FlagSet) (iosample.Config, func(), error) {
	c := iosample.Config{Source: o.source, Interval: o.sampleInterval}
	closeServer := func() {}
	switch {
	case o.pid != 0:
		p, err := c.Host.Process(o.pid)
		if err != nil {
			return c, closeServer, err
		}
		if !p.IsServer() {
			return c, closeServer, usageError("--pid: process %d is %s, neither mysqld nor mariadbd", o.pid, p.Exe)
		}
		c.Find, c.Once = func() (int, error) { return o.pid, nil }, true
	case o.pidFile != "":
		c.Find = func() (int, error) { return c.Host.FindByPIDFile(o.pidFile) }
	case o.dataDir != "":
		c.Find, c.DataDir = func() (int, error) { return c.Host.FindByDataDir(o.dataDir) }, o.dataDir
	}
	if c.Find != nil && !o.given(f) {
		return c, closeServer, nil
	}
	options, err := o.options(u, f)
	if err != nil {
		return c, closeServer, err
	}
	conn := &sqlServer{options: options}
	settings, err := conn.Settings(ctx)
	if err != nil {
		return c, closeServer, err
	}
	c.Server = conn
	if c.Find == nil {
		findServer(&c, options, settings)
	}
	return c, conn.close, nil
}

// loop takes samples until the time is over, the user ends it, or the server
// has ended.
func (s *sampled) loop(ctx context.Context, o *sampleOptions) error {
	tick := time.NewTicker(o.sampleInterval)
	defer tick.Stop()
	var over <-chan time.Time
	if o.duration > 0 {
		timer := time.NewTimer(o.duration)
		defer timer.Stop()
		over = timer.C
	}
	if err := s.sample(ctx, false); err != nil {
		return err
	}
	if err := s.sampler.NoPosition(); err != nil {
		s.u.warningf("samples have no position in the binlog: %v", err)
	}
	if s.screen != nil && s.screen.growth.err != nil {
		s.u.hintf("transactions are not counted: %v", s.screen.growth.err)
	}
	for {
		select {
		case <-tick.C:
			err := s.sample(ctx, false)
			if err == nil && s.screen != nil && s.screen.due(o.interval, o.sampleInterval) {
				err = s.screen.line()
			}
			switch {
			case errors.Is(err, context.Canceled):
				continue // and so to the end
			case errors.Is(err, iosample.ErrGone):
				s.u.warningf("the server has ended")
				return nil
			case err != nil:
				return err
			}
		case <-over:
			return s.sample(context.WithoutCancel(ctx), true)
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
			defer cancel()
			err := s.sample(last, true)
			if errors.Is(err, context.DeadlineExceeded) {
				s.u.warningf("the server did not answer at the end: what it counted since the sample before is missing")
				return nil
			}
			return err
		}
	}
}

// sample takes one sample to the trace and the screen.
func (s *sampled) sample(ctx context.Context, last bool) error {
	v, err := s.sampler.Sample(ctx, last)
	if v == nil {
		return err
	}
	if s.screen != nil {
		s.screen.add(v)
	}
	if s.trace != nil {
		if err := s.trace.write(v); err != nil {
			return fmt.Errorf("--trace: %w; what was written before is whole", err)
		}
	}
	return err
}

// traceFile is a trace that is written.
type traceFile struct {
	file *os.File // nil for standard output
	to   *iosample.Writer
	size int64 // of what was written whole
}

func createTrace(path string, stdout io.Writer, h *iosample.Header) (*traceFile, error) {
	t := &traceFile{}
	w := stdout
	if path != "-" {
		f, err := os.Create(path)
		if err != nil {
			return nil, err
		}
		t.file, w = f, &countingWriter{f, &t.size}
	}
	var err error
	if t.to, err = iosample.NewWriter(w, h); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

func (t *traceFile) write(v *iosample.Interval) error {
	whole := t.size
	err := t.to.Write(v)
	if err != nil && t.file != nil {
		_ = t.file.Truncate(whole) // a torn line is passed over, too
	}
	return err
}

func (t *traceFile) close() {
	if t.file != nil {
		t.file.Close()
	}
}

// countingWriter counts what it writes.
type countingWriter struct {
	w io.Writer
	n *int64
}

func (c *countingWriter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	*c.n += int64(n)
	return n, err
}

// growth counts the transactions that are appended to the server's binlog.
type growth struct {
	tail         parser.Tail
	err          error  // why it cannot be read, once it could not
	path         string // of the log that was read last
	transactions int64  // that were not taken yet
	unknown      bool   // there may be more of them
}

// follow reads the end of a log that has a successor, before that has one, too.
func (g *growth) follow(s *iosample.Sampler) {
	if b, ok := s.Binlog(); ok && b.Path != g.path {
		g.read(b)
	}
}

func (g *growth) read(b iosample.File) {
	if g.err != nil {
		return
	}
	grown, err := g.tail.Read(b.Path, b.Size)
	g.path, g.err = b.Path, err
	g.transactions += grown.Transactions
	g.unknown = g.unknown || grown.Unknown
}

// take gives the transactions since the last call. ok is false where they are
// not known, as in the first.
func (g *growth) take(s *iosample.Sampler) (transactions int64, ok bool) {
	b, ok := s.Binlog()
	if !ok {
		return 0, false
	}
	g.read(b)
	transactions, ok = g.transactions, !g.unknown && g.err == nil
	g.transactions, g.unknown = 0, false
	return transactions, ok
}
