package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bgcstat/analysis"
	"bgcstat/parser/iosample"
	"bgcstat/parser/server"
	"bgcstat/parser/stream"
)

type recordOptions struct {
	connectOptions
	pageOptions
	sourceOptions
	label   string
	keepLog bool
}

func (o *recordOptions) addFlags(f *pflag.FlagSet) {
	f.SortFlags = false
	f.SetInterspersed(false) // where -- was forgotten the command's options are none of ours
	o.pageOptions.addFlags(f)
	f.Lookup("out").Usage = "the run's `directory`, which must be new or empty"
	f.StringVar(&o.label, "label", "", "a `name` for the run: runs that share one are repeats to compare")
	o.sourceOptions.addFlags(f)
	f.BoolVar(&o.keepLog, "keep-log", false, "keep the bytes of the logs, too, in log/")
	o.connectOptions.addFlags(f)
}

func recordCommand(u *ui) *cobra.Command {
	o := &recordOptions{}
	cmd := &cobra.Command{
		Use:   "record [flags] --out RUN -- COMMAND [ARGUMENT...]",
		Short: "Run a command, and report on what it made a server commit",
		Long: `Runs a command, such as a load generator, and reports on the commit groups and
the syncs of the server meanwhile. The command's output is passed through, and
sysbench's or mysqlslap's own summary goes into the report, which is printed on
standard error at the end.

The directory RUN holds afterwards
  report.html, plots     the report, as analyze --out writes it
  report.json            the same for programs
  run.json               command, exit status, times, settings, counters, load
  trace.ndjson           the syncs, as sample --trace writes them
  transactions.csv.zst   each transaction, as dump writes it
  output.txt             what the command printed, as it is
  log/                   with --keep-log, the logs

bgcstat report RUN prints it again, bgcstat compare sets runs side by side.

Passwords among COMMAND's arguments are left out of run.json and the report as
far as they look like that; safer are an option file and the environment. With
--redact names are replaced in what is printed, report.html and the plots, and
not in the other files: to send a run, use bgcstat report --redact.

Ctrl-C and signals to end go to COMMAND, and the report is of what there was.

Exit status: that of COMMAND (128 and more where a signal ended it), or else
  0  done
  1  the server or RUN cannot be used, the log cannot be read, or COMMAND cannot
     be run
  2  wrong usage
  3  COMMAND ended well, but the recording is not complete, and RUN says what is
     missing, or the page, a plot or run.json could not be written, which is
     said on standard error alone`,
		Example: `  bgcstat record -u root --out run1 -- sysbench oltp_update_index --threads=8 run
  bgcstat record -u root --out run2 -- sysbench oltp_update_index --threads=16 run
  bgcstat compare run1 run2`,
		RunE: func(cmd *cobra.Command, args []string) error {
			dash := cmd.ArgsLenAtDash()
			if dash < 0 {
				dash = slices.Index(args, "--") // behind the first word nothing is an option
			}
			switch {
			case dash < 0 && len(args) > 0: // which may be a password, so they are not printed
				return usageError("record takes the command behind --, arguments given without it: %d", len(args)).hint("as in bgcstat record --out RUN -- sysbench ...")
			case dash > 0:
				return usageError("record takes the command behind --, arguments given before it: %d", dash).hint("a password stands right behind -p, as in -pPASSWORD")
			case len(args) == 0:
				return usageError("no command given").hint("as in bgcstat record --out RUN -- sysbench ...")
			}
			if err := o.check(cmd.Flags()); err != nil {
				return err
			}
			return o.run(cmd.Context(), u, cmd.Flags(), args)
		},
	}
	o.addFlags(cmd.Flags())
	return cmd
}

func (o *recordOptions) check(f *pflag.FlagSet) error {
	if o.out == "" {
		return usageError("--out is missing, want a directory for the run")
	}
	if err := o.sourceOptions.check(); err != nil {
		return err
	}
	return o.pageOptions.check(f)
}

// recorder is a run of record.
type recorder struct {
	u       *ui
	o       *recordOptions
	options server.Options
	sql     *sqlServer
	run     *analysis.Run
	before  map[string]int64 // counters
	session int64            // id of a session that began just before the command
	// restarted: ids of sessions and counters began anew.
	restarted bool

	sampler *counting // nil for none
	trace   *traceFile
	binlogs string   // directory of the server's logs on this host, "" where not known
	first   *os.File // the log in which the run began, open to know it again; nil where it cannot be

	mu      sync.Mutex
	missing []string
}

// miss takes note of what the run directory will lack.
func (r *recorder) miss(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	// Names of files are those in the directory, which may be moved and sent.
	text := strings.ReplaceAll(fmt.Sprintf(format, args...), filepath.Clean(r.o.out)+string(filepath.Separator), "")
	r.missing = append(r.missing, text)
	r.u.warningf("%s", text)
}

func (o *recordOptions) run(ctx context.Context, u *ui, f *pflag.FlagSet, command []string) error {
	if _, err := exec.LookPath(command[0]); err != nil {
		return err
	}
	if err := checkRunDir(o.out); err != nil { // before a password is asked for
		return err
	}
	options, err := o.options(u, f)
	if err != nil {
		return err
	}
	// Who reads no more of what is printed ends neither the command nor this.
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	defer signal.Stop(pipe)
	r := &recorder{u: u, o: o, options: options, sql: &sqlServer{options: options}}
	defer r.sql.close()
	// 1. What is known before.
	if err := r.start(ctx, command); err != nil {
		return err
	}
	if err := r.openSampler(ctx); err != nil {
		return err
	}
	defer r.sampler.close()
	if err := r.checkLog(ctx); err != nil {
		return err
	}
	_, err = os.Lstat(o.out)
	made := errors.Is(err, fs.ErrNotExist)
	if err := makeRunDir(o.out); err != nil {
		return err
	}
	// Whatever happens from here on, the directory says what it is.
	r.run.Start, r.run.Exit.Status = analysis.Time{Time: time.Now().UTC()}, -1
	r.run.Missing = []string{unfinished}
	if err := cmp.Or(writeRun(o.out, r.run), writeResult(o.out, emptyResult())); err != nil {
		removeRun(o.out, made)
		return fmt.Errorf("--out: %w", err)
	}

	// 2. The command, and beside it the samples.
	sampling, endSampling := context.WithCancel(ctx)
	var beside sync.WaitGroup
	if err := r.openTrace(); err != nil {
		r.miss("syncs were not recorded: %v", err)
	} else if r.sampler != nil {
		first := make(chan struct{})
		beside.Go(func() { r.sample(sampling, first) })
		<-first
	}
	began := r.position(ctx)
	if began != nil && r.binlogs != "" {
		if r.first, err = os.Open(filepath.Join(r.binlogs, began.File)); err == nil {
			defer r.first.Close()
		}
	}
	started := r.execute(command)
	r.finish(ctx, began)
	endSampling()
	beside.Wait()
	if r.trace != nil {
		r.trace.close()
	}
	if !started {
		removeRun(o.out, made) // which has nothing in it
		return fmt.Errorf("%s: %s", command[0], r.run.Exit.Error)
	}

	// 3. The report.
	r.run.Missing = append(slices.Clone(r.missing), unfinished)
	if err := writeRun(o.out, r.run); err != nil {
		r.miss("%s was not written: %v", runFile, err)
	}
	err = r.report(ctx)
	r.run.Missing = r.missing
	if e := writeRun(o.out, r.run); e != nil {
		err = errors.Join(err, fmt.Errorf("--out: %w", e))
	}
	return r.status(err)
}

// status is the exit status: the command's own, where that is not 0.
func (r *recorder) status(err error) error {
	if err != nil {
		r.u.errorf("%v", err)
	}
	e := r.run.Exit
	switch {
	case e.Status != 0:
		return &exitError{status: e.Status}
	case err != nil || len(r.missing) > 0:
		return &exitError{status: statusDamaged}
	default:
		return nil
	}
}

// start asks the server what it is and where it is.
func (r *recorder) start(ctx context.Context, command []string) error {
	settings, err := r.sql.Settings(ctx)
	if err != nil {
		return err
	}
	if settings["log_bin"] != "ON" {
		return fmt.Errorf("%w: log_bin is %s on %s", stream.ErrNoBinlog, settings["log_bin"], r.options.Target())
	}
	r.run = &analysis.Run{
		SchemaVersion: analysis.SchemaVersion, Bgcstat: version(), Label: r.o.label, Command: withoutPasswords(command),
		Settings: settings,
		Server:   analysis.RunServer{Address: r.options.Target()},
	}
	var file string
	var offset int64
	err = r.sql.use(ctx, func(c *server.Conn) error {
		r.run.Server.Flavor, r.run.Server.Version = c.Version().Flavor, c.Version().Text
		rows, err := c.Query(ctx, "SELECT CONNECTION_ID() AS id")
		if err != nil {
			return err
		}
		r.session, err = strconv.ParseInt(rows[0]["id"], 10, 64)
		if err != nil {
			return err
		}
		file, offset, err = c.Position(ctx)
		return err
	})
	if err != nil {
		return err
	}
	r.run.From = analysis.Position{File: file, Position: offset}
	return nil
}

// position is where the server's log ends.
func (r *recorder) position(ctx context.Context) *analysis.Position {
	file, offset, err := r.sql.Position(ctx)
	if err != nil {
		return nil
	}
	return &analysis.Position{File: file, Position: offset}
}

// openSampler begins to count syncs, if that is wanted and possible.
func (r *recorder) openSampler(ctx context.Context) error {
	c, why, err := r.o.sourceOptions.open(ctx, r.u, r.options, r.run.Settings)
	switch {
	case err != nil:
		return err
	case why != nil:
		r.run.Without = append(r.run.Without, fmt.Sprintf("counts of syncs: %v", why))
	case c == nil:
		r.run.Without = append(r.run.Without, "counts of syncs: --source is none")
	}
	if c == nil {
		return nil
	}
	r.sampler = c
	h := c.Header()
	if b, ok := c.Binlog(); ok {
		r.binlogs = filepath.Dir(b.Path)
	}
	if h.Exactness == iosample.DeviceWide {
		r.run.Without = append(r.run.Without, "counts of syncs: "+h.Detail)
	}
	if r.run.Server.Local = h.PID != 0; !r.run.Server.Local {
		r.run.Without = append(r.run.Without, "syncs of each file and the time that they took, and CPU times: only the server's host tells them")
		return nil
	}
	r.run.Host = &analysis.RunHost{Name: h.Host, Kernel: h.Kernel, CPUs: runtime.NumCPU(), Device: h.Device, WriteCache: h.WriteCache}
	return nil
}

func (r *recorder) openTrace() (err error) {
	if r.sampler != nil {
		r.trace, err = createTrace(filepath.Join(r.o.out, traceName), nil, r.sampler.Header())
	}
	return err
}

// sample takes samples until ctx ends, and then a last one. first is closed
// behind the first two, by which the log was seen at rest, if it was.
func (r *recorder) sample(ctx context.Context, first chan struct{}) {
	told := false
	tell := func() {
		if !told {
			told = true
			close(first)
		}
	}
	defer tell()
	tick := time.NewTicker(min(r.o.sampleInterval, 100*time.Millisecond)) // the command waits for the first
	defer tick.Stop()
	for n := 1; ; n++ {
		last := ctx.Err() != nil
		sampleCtx, cancel := ctx, context.CancelFunc(func() {})
		if last {
			sampleCtx, cancel = context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		}
		v, err := r.sampler.Sample(sampleCtx, last)
		cancel()
		if v != nil {
			if e := r.trace.write(v); e != nil {
				r.miss("the trace of syncs ends early: %v", e)
				return
			}
		}
		switch {
		case last:
			return
		case err != nil && ctx.Err() == nil:
			r.miss("the trace of syncs ends early: %v", err)
			return
		case n == 3:
			tick.Reset(r.o.sampleInterval)
			tell()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// counterNames are the counters of the server that a run notes.
var counterNames = []string{
	"Com_commit", "Com_rollback", "Com_insert", "Com_update", "Com_delete", "Com_select", "Handler_commit", "Handler_rollback",
	"Binlog_commits", "Binlog_group_commits", "Binlog_cache_disk_use", "Innodb_os_log_fsyncs", "Innodb_data_fsyncs",
	"Innodb_row_lock_waits", "Innodb_row_lock_time", "Connections", "Questions", uptime,
}

// uptime is no figure of a run, but tells whether the others began anew in it.
const uptime = "Uptime"

// counters reads them; nil where the server does not answer.
func (r *recorder) counters() map[string]int64 {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	rows, err := r.sql.Query(ctx, "SHOW GLOBAL STATUS WHERE Variable_name IN ('"+strings.Join(counterNames, "', '")+"')")
	if err != nil {
		return nil
	}
	out := map[string]int64{}
	for _, row := range rows {
		if n, err := strconv.ParseInt(row["Value"], 10, 64); err == nil {
			out[row["Variable_name"]] = n
		}
	}
	// MySQL has no counter of binlog syncs; this one has them, and a few opens and
	// seeks (pfs.cc, end_file_wait). MariaDB's has nothing of the kind.
	if r.run.Server.Flavor == server.MySQL && r.run.Settings["performance_schema"] == "ON" {
		rows, err := r.sql.Query(ctx, "SELECT SUM(COUNT_MISC) AS n FROM performance_schema.file_summary_by_instance WHERE EVENT_NAME = 'wait/io/file/sql/binlog'")
		if err == nil && len(rows) == 1 {
			if n, err := strconv.ParseInt(rows[0]["n"], 10, 64); err == nil {
				out[pfsBinlog] = n
			}
		}
	}
	return out
}

// pfsBinlog is the name that it has in Run.Counters.
const pfsBinlog = "performance_schema.binlog_misc"

// finish asks the server again, what it had to say at the start.
func (r *recorder) finish(ctx context.Context, began *analysis.Position) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if began != nil {
		r.run.From = *began
	}
	after := r.counters()
	if after == nil { // servers end connections that were idle for as long as the command ran
		after = r.counters()
	}
	then, known := r.before[uptime]
	const off = 2 // seconds: they are whole ones
	if now, ok := after[uptime]; known && ok && float64(now-then) < r.run.Seconds-off {
		r.restarted = true
		r.miss("the server's Uptime grew by %d s only: it was started anew during the run, and neither how far its counters grew is known, nor whose transactions are", now-then)
	}
	if after != nil && r.before != nil && !r.restarted {
		r.run.Counters = map[string]int64{}
		for name, n := range after {
			if before, ok := r.before[name]; ok && n >= before && name != uptime {
				r.run.Counters[name] = n - before
			}
		}
	}
	if r.run.To = r.position(ctx); r.run.To == nil {
		r.miss("the server did not answer at the end: its counters and its position are not known")
		return
	}
	if r.before == nil || after == nil {
		r.miss("by how much the server's counters grew is not known")
	}
	now, err := r.sql.Settings(ctx)
	if err != nil {
		return
	}
	for _, name := range differing(r.run.Settings, now) {
		if r.run.Changed == nil {
			r.run.Changed = map[string]string{}
		}
		r.run.Changed[name] = now[name]
	}
}
