package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bgcstat/analysis"
	"bgcstat/parser/iosample"
	"bgcstat/parser/server"
	"bgcstat/parser/stream"
	"bgcstat/report"
	"bgcstat/report/metrics"
)

type watchOptions struct {
	connectOptions
	pageOptions
	sourceOptions
	web        webOptions
	from       string
	interval   time.Duration
	count      int
	format     string
	arrivals   bool
	serverID   uint32
	retries    int
	noChecksum bool

	start stream.Start
}

func (o *watchOptions) addFlags(f *pflag.FlagSet) {
	f.SortFlags = false
	f.StringVar(&o.from, "from", "current", "begin at this `place`: current, where the server's binlog ends now; oldest, its oldest log; a log and an offset, as in binlog.000042:4711; or behind a GTID set")
	f.DurationVar(&o.interval, "interval", time.Second, "print a line each `time`")
	f.IntVar(&o.count, "count", 0, "end after `N` lines (default: at Ctrl-C)")
	f.StringVar(&o.format, "format", "text", "print lines of `text`, or json: an object a line")
	o.sourceOptions.addFlags(f)
	f.BoolVar(&o.arrivals, "arrivals", true, "estimate sync groups by when transactions arrive, where that tells them")
	f.BoolVar(&o.noChecksum, "no-checksum", false, "do not verify the events' checksums")
	f.IntVar(&o.retries, "retries", 0, "give up when `N` attempts in a row to connect again have failed, or brought nothing; 0 makes none (default: never)")
	f.Uint32Var(&o.serverID, "server-id", 0, "be known to the server as replica `N` (default: one by chance, at least 2147483648, that no server has)")
	o.web.addFlags(f)
	o.pageOptions.addFlags(f)
	o.connectOptions.addFlags(f)
}

func watchCommand(u *ui) *cobra.Command {
	o := &watchOptions{}
	cmd := &cobra.Command{
		Use:   "watch [flags]",
		Short: "Follow a running server, and show its commit groups as they happen",
		Long: `Follows a running server, and prints a line each interval: transactions, the
commit groups that they were committed in, syncs, and how far behind reading is.
It reads the binlog as a replica does, from where that ends now or from an
earlier place. Nothing of the server is changed, and nothing of it waits: watch
acknowledges no semi-synchronous commit and is not registered as a replica.

  trx groups       transactions per second, and the sync groups that they made
  mean max         transactions in a group on average, and in the largest one
  alone%           share of the transactions that had no other in their group
  syncs            of the binlog, of InnoDB's redo log, of all other files
  p99 ms           time that 99 % of the binlog's syncs did not exceed
  lag s            how long after its commit the last transaction came

Figures marked ~ are estimated, all others are counted; - is not known. MariaDB's
groups are exact. MySQL's are where syncs are counted by source bpf on the
server's own host and sync_binlog is 1; else they are estimated by when
transactions come, or by their commit timestamps.

Where the connection is lost it is made anew, and reading goes on where it was;
from another server that answers then, by GTID: its syncs are counted by source
status only, as it may be on another host. Ctrl-C ends with a report on all
that was seen; --out writes it as analyze does.

Privileges: REPLICATION SLAVE; REPLICATION CLIENT (MariaDB: BINLOG MONITOR) to
begin at the current place; SELECT on performance_schema for --source status.

Exit status:
  0  done
  1  the server cannot be followed
  2  wrong usage
  3  reported, but following ended early or logs were damaged`,
		Example: `  bgcstat watch -h db1.example.com -u monitor -p
  bgcstat watch -u root --interval 10s --count 6 --out report
  bgcstat watch -u root --web.listen-address 127.0.0.1:9147 --format json
  bgcstat watch -u root --from binlog.000042:4`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 { // which may be a password, so it is not printed
				return usageError("watch takes no arguments, %d given", len(args)).hint("a password stands right behind -p, as in -pPASSWORD")
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

func (o *watchOptions) check(f *pflag.FlagSet) error {
	var err error
	if o.start, err = stream.ParseStart(o.from); err != nil {
		return usageError("--from: %v", err)
	}
	if !slices.Contains([]string{"text", "json"}, o.format) {
		return usageError("--format is %q, want text or json", o.format)
	}
	if err := o.sourceOptions.check(); err != nil {
		return err
	}
	switch {
	case o.interval < leastSampleInterval:
		return usageError("--interval is %v, want at least %v", o.interval, leastSampleInterval)
	case o.interval < o.sampleInterval && o.source != "none":
		return usageError("--interval is %v, less than --sample-interval, %v", o.interval, o.sampleInterval)
	}
	if o.count < 0 || f.Changed("count") && o.count == 0 {
		return usageError("--count is %d, want at least 1", o.count)
	}
	if f.Changed("server-id") && o.serverID == 0 {
		return usageError("--server-id is 0, want 1 to 4294967295")
	}
	if o.retries < 0 {
		return usageError("--retries is %d, want at least 0", o.retries)
	}
	if !f.Changed("retries") {
		o.retries = -1
	}
	if err := o.web.check(f); err != nil {
		return err
	}
	return o.pageOptions.check(f)
}

// watcher is a run of watch.
type watcher struct {
	u      *ui
	o      *watchOptions
	feed   *feed
	stream *stream.Stream
	screen watchScreen
	server metrics.Server

	sampler *counting // nil for none
	first   *iosample.Interval

	replaced  chan error   // has what poll found of the log that is read
	failovers atomic.Int64 // how often another server has answered
	cut       atomic.Bool  // the connection is lost
	unsynced  atomic.Bool  // transactions are not synced each any more

	mu         sync.Mutex // guards what is below
	counts     *syncCounts
	latency    *metrics.SyncLatency
	uncounted  bool         // syncs are counted no more
	changed    []string     // settings that did
	events     []watchEvent // that were not shown yet
	pollErrors int64
}

// watchEvent is something that happened beside transactions.
type watchEvent struct {
	time time.Time
	kind string
	text string
}

func (w *watcher) event(kind, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, watchEvent{time.Now(), kind, fmt.Sprintf(format, args...)})
}

func (o *watchOptions) run(ctx context.Context, u *ui, f *pflag.FlagSet) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	if o.out != "" { // which is written also where nobody reads the lines any more
		pipe := make(chan os.Signal, 1)
		signal.Notify(pipe, syscall.SIGPIPE)
		defer signal.Stop(pipe)
	}
	if err := o.makeDir(); err != nil {
		return err
	}
	web, err := o.web.listen(u)
	if err != nil {
		return err
	}
	defer web.close()
	options, err := o.options(u, f)
	if err != nil {
		return err
	}
	polled := &sqlServer{options: options}
	defer polled.close()
	settings, err := polled.Settings(ctx)
	if err != nil {
		return err
	}
	w := &watcher{u: u, o: o, replaced: make(chan error, 1)}

	// 1. Syncs are counted first, so that none is missed of what is read.
	defer func() { w.sampler.close() }()
	if err := w.openSampler(ctx, options, settings); err != nil {
		return err
	}

	// 2. The stream.
	w.stream, err = stream.Open(ctx, stream.Config{
		Server: options, From: o.start, ServerID: o.serverID, Retries: o.retries, NoChecksums: o.noChecksum,
		Notify: func(n stream.Notice) {
			w.event(string(n.Kind), "%s", n.Text)
			w.cut.Store(n.Kind == stream.Lost)
			if n.Kind == stream.ServerChanged {
				w.failovers.Add(1)
				w.feed.noSamples(true) // whose syncs they are was known of the first one
			}
		},
	})
	if err != nil {
		return followError(err)
	}
	defer w.stream.Close()
	facts := w.stream.Facts()
	w.server = metrics.Server{Flavor: facts.Version.Flavor, Version: facts.Version.Text, Address: options.Target()}
	for _, warning := range cautions(&facts) {
		u.warningf("%s", warning)
	}
	if _, _, err := polled.Position(ctx); err != nil {
		if p, ok := errors.AsType[*server.PrivilegeError](err); ok {
			u.hintf("it is not noticed if the logs are reset: %v", p)
		}
	}
	a := analysis.New(analysis.Filter{}, analysis.Settings{}.With(settings))
	w.feed = newFeed(w.stream, a, func(err error) { w.event("log-damaged", "%v", err) })
	w.feed.arrivals = o.arrivals
	if w.sampler != nil {
		switch {
		case settings["sync_binlog"] == "1" && o.start == stream.Start{}:
			w.feed.join(w.sampler.Header())
		case settings["sync_binlog"] == "1":
			u.hintf("what is read from --from on was written before syncs are counted, so that syncs and groups are shown apart")
		default:
			u.hintf("sync_binlog is %s, so that syncs and groups are shown apart: only at 1 does a sync tell a group as it happens", settings["sync_binlog"])
		}
	}

	// 3. All at once, until the end.
	if o.format == "json" {
		w.screen = newWatchJSON(u.stdout)
	} else {
		w.screen = newWatchText(u.stdout)
	}
	w.screen.begin(w.state(time.Now())) // before anything is counted, so that lines add up
	w.feed.start()
	if err := web.serve(metrics.Handler(w.values)); err != nil {
		return err
	}
	var beside sync.WaitGroup
	sampling, endSampling := context.WithCancel(ctx)
	beside.Go(func() { w.sample(sampling) })
	beside.Go(func() { w.poll(sampling, polled, settings) })
	err = w.loop(ctx)
	switch {
	case err != nil:
	case w.cut.Load():
		err = errCut
	case !w.stream.State().Begun:
		err = errNotBegun
	}
	w.stream.Close()
	<-w.feed.streamDone
	endSampling() // with a last sample, of all that came
	beside.Wait()
	return w.end(err)
}

var (
	// errCut: the user has ended a watch that was waiting for the server.
	errCut = errors.New("ended while the connection was lost: what was committed since then is not in the report")
	// errNotBegun: or one that had not come to the place to begin at.
	errNotBegun = errors.New("ended before reading came to the place that --from gives: whether the log has it is not known")
)

// followError adds to an error of the stream what to do about it.
func followError(err error) *exitError {
	e := &exitError{status: statusNothing, err: err}
	switch {
	case errors.Is(err, stream.ErrServerID):
		return e.hint("give another --server-id, or none for one by chance")
	case errors.Is(err, stream.ErrPurged):
		return e.hint("--from oldest begins at the oldest log that the server still has")
	case errors.Is(err, stream.ErrPosition):
		return e.hint("--from LOG:OFFSET wants the offset of a transaction, as bgcstat dump has it; LOG alone begins with the log")
	case errors.Is(err, stream.ErrNoGTIDs):
		return e.hint("--from LOG:OFFSET begins at a place in a log, --from oldest at the oldest one")
	case errors.Is(err, stream.ErrReplaced):
		return e.hint("start again: --from oldest reads the new logs from their beginning")
	case errors.Is(err, stream.ErrOtherServer):
		return e.hint("start again: --from current follows the server that answers now")
	}
	if p, ok := errors.AsType[*server.PrivilegeError](err); ok && p.Purpose == "the binlog position" {
		return e.hint("--from oldest, or LOG:OFFSET, needs no position")
	}
	return e
}

// cautions are what to know of a server before its figures are believed.
func cautions(f *stream.Facts) (out []string) {
	s := f.Settings
	if format := s["binlog_format"]; format != "" && format != "ROW" {
		out = append(out, fmt.Sprintf("binlog_format is %s: which tables a statement changes is not known, where it is logged as one", format))
	}
	if s["wsrep_on"] == "ON" {
		out = append(out, "a Galera node: transactions of other nodes are in its log, too, and its groups are of what it applies")
	}
	if s["group_replication_group_name"] != "" {
		out = append(out, "a member of Group Replication: transactions of other members are in its log, too, and its groups are of what it applies")
	}
	return out
}

// loop prints lines until the user ends it, or the stream does.
func (w *watcher) loop(ctx context.Context) error {
	tick := time.NewTicker(w.o.interval)
	defer tick.Stop()
	early := time.NewTicker(min(w.o.interval, 200*time.Millisecond)) // for events
	defer early.Stop()
	for lines := 0; ; {
		select {
		case <-tick.C:
			// Not by the tick, which waits while a line is written.
			if err := w.line(time.Now()); err != nil {
				return err
			}
			if lines++; lines == w.o.count {
				return nil
			}
		case <-early.C:
			if err := w.showEvents(); err != nil {
				return err
			}
		case <-w.feed.streamDone:
			return w.feed.err
		case err := <-w.replaced:
			return err
		case <-ctx.Done():
			return nil
		}
	}
}

// watchState is what is known at one moment.
type watchState struct {
	time   time.Time
	live   analysis.Live
	lag    *float64
	stream stream.State
	counts *syncCounts // nil for none
	header *iosample.Header
}

func (w *watcher) state(at time.Time) *watchState {
	s := &watchState{time: at, stream: w.stream.State()}
	var lag time.Duration
	var known bool
	if s.live, lag, known = w.feed.look(); known {
		seconds := lag.Seconds()
		s.lag = &seconds
	}
	if g := s.live.Sync; g != nil && g.Method != analysis.CommitID && w.feed.gaveUp() && w.sampler.Header().Source == "bpf" {
		s.live.Sync = nil // the groups since are not none, but not known as those before
	}
	if w.sampler != nil {
		s.counts, s.header = w.counts, w.sampler.Header()
	}
	return s
}

func (w *watcher) line(at time.Time) error {
	if err := w.showEvents(); err != nil {
		return err
	}
	s := w.state(at)
	if w.counts != nil {
		w.mu.Lock()
		s.counts = w.counts.take()
		w.mu.Unlock()
	}
	return w.screen.line(s) // without the lock: a terminal may be held, and metrics are not
}

func (w *watcher) showEvents() error {
	w.mu.Lock()
	events := w.events
	w.events = nil
	w.mu.Unlock()
	for _, e := range events {
		if err := w.screen.event(e); err != nil {
			return err
		}
	}
	return nil
}

// values is what is served to Prometheus.
func (w *watcher) values() metrics.Values {
	s := w.state(time.Now())
	w.mu.Lock()
	defer w.mu.Unlock()
	v := metrics.Values{
		Live: s.live, Lag: s.lag, Connected: s.stream.Connected, Reconnects: s.stream.Reconnects,
		PollErrors: w.pollErrors, Server: w.server,
	}
	if w.sampler == nil || w.uncounted {
		return v
	}
	v.SyncLatency = w.latency
	v.SyncSource, v.SyncExactness, v.SyncsLost = s.header.Source, string(s.header.Exactness), w.counts.lost
	if w.counts.counts {
		v.Syncs = map[string]int64{}
		if s.header.Source != "status" { // which sees some classes only
			for _, c := range iosample.Classes {
				v.Syncs[string(c)] = 0
			}
		}
		for c, n := range w.counts.total {
			v.Syncs[string(c)] = n
		}
	}
	return v
}

// end reports on all that was seen. why is what ended the watch, nil where that
// was the user and nothing is missing.
func (w *watcher) end(why error) error {
	gone := errors.Is(why, syscall.EPIPE) // who reads what is printed is
	if gone && w.o.out == "" {
		return why
	}
	result := w.feed.finish(w.changed) // by now nobody else is there
	if gone || errors.Is(why, stream.ErrClosed) {
		why = nil
	}
	byUser := errors.Is(why, errCut) || errors.Is(why, errNotBegun)
	if why != nil && result.Transactions == 0 && !byUser {
		if err := w.showEvents(); err != nil {
			return err
		}
		return followError(why)
	}
	if w.feed.overrun {
		result.Warnings = append(result.Warnings, analysis.Warning{
			Code: "trace-joined-in-part", Count: 1,
			Message: "syncs were joined to the transactions of the first part only, since those of others did not come in time, as when sync_binlog is changed, or another server answered: the others are in no traced group",
		})
	}
	if w.o.redact {
		result = report.Redact(result)
	}
	if !gone {
		err := w.print(result)
		if gone = errors.Is(err, syscall.EPIPE); err != nil && !gone {
			return err
		}
	}
	if w.o.out != "" {
		if err := w.o.write(w.u, result, w.o.out); err != nil {
			return err
		}
	}
	if gone {
		return syscall.EPIPE
	}
	for _, l := range w.stream.Logs() {
		if l.Damaged > 0 {
			w.u.warnings(l)
		}
	}
	err := status(w.stream.Logs())
	switch {
	case why != nil:
		e := followError(why)
		e.status = statusDamaged
		return e
	case result.Transactions == 0: // nothing was written
		return nil
	}
	return err
}

// print prints what was not shown yet, and the result.
func (w *watcher) print(r *analysis.Result) error {
	if err := w.showEvents(); err != nil {
		return err
	}
	s := w.state(time.Now())
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.screen.end(s, r)
}
