package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"bgcstat/analysis"
	"bgcstat/parser"
	"bgcstat/parser/iosample"
)

// inputOptions say what is read and what of it is reported. All commands that
// read logs share them.
type inputOptions struct {
	startDatetime, stopDatetime string
	startPosition, stopPosition int64
	includeGTIDs, excludeGTIDs  string
	databases, tables           []string
	noChecksum                  bool
	perServer                   bool
	syncBinlog, flushLog        int64
	syncDelay, syncNoDelay      int64
	noSessionBound              bool
	trace                       string

	filter   analysis.Filter
	settings analysis.Settings
}

func (o *inputOptions) addFlags(f *pflag.FlagSet) {
	f.SortFlags = false
	f.StringVar(&o.startDatetime, "start-datetime", "", "report transactions from this `time` on (commit time where the log has it): '2026-11-30 12:00:00' in the local zone, or RFC 3339; reports print UTC, 2026-11-30T12:00:00Z")
	f.StringVar(&o.stopDatetime, "stop-datetime", "", "report transactions before this `time`")
	f.Int64Var(&o.startPosition, "start-position", 0, "report transactions from this `position` of the first log on")
	f.Int64Var(&o.stopPosition, "stop-position", 0, "report transactions that start before this `position` of the last log")
	f.StringVar(&o.includeGTIDs, "include-gtids", "", "report only the transactions of this GTID `set` (uuid:1-5, uuid:tag:7; MariaDB: 0-1-100-200)")
	f.StringVar(&o.excludeGTIDs, "exclude-gtids", "", "leave the transactions of this GTID `set` out")
	f.StringSliceVarP(&o.databases, "database", "d", nil, "report transactions that change a table of this database `name`, or have it as default for a statement; may be repeated")
	f.StringSliceVarP(&o.tables, "table", "T", nil, "report transactions that change this table (`name` or database.name); may be repeated")
	f.Int64Var(&o.syncBinlog, "sync-binlog", 0, "sync_binlog of the server, `N`, which no log tells")
	f.Int64Var(&o.flushLog, "flush-log-at-trx-commit", 0, "innodb_flush_log_at_trx_commit of the server, `N`")
	f.Int64Var(&o.syncDelay, "binlog-group-commit-sync-delay", 0, "binlog_group_commit_sync_delay of the server, in `microseconds`")
	f.Int64Var(&o.syncNoDelay, "binlog-group-commit-sync-no-delay-count", 0, "binlog_group_commit_sync_no_delay_count of the server, `N`")
	f.StringVar(&o.trace, "trace", "", "join this `file`, which bgcstat sample --trace wrote while the log was written: groups and savings by the syncs that were counted")
	f.BoolVar(&o.noSessionBound, "no-session-bound", false, "take thread ids for no proof: for logs behind proxies that set pseudo_thread_id, and of Galera nodes with one server_id")
	f.BoolVar(&o.noChecksum, "no-checksum", false, "do not verify the events' checksums")
	f.BoolVar(&o.perServer, "per-server", false, "part logs of different servers, instead of refusing them")
}

// check reads the flags' values and their combinations.
func (o *inputOptions) check(f *pflag.FlagSet) error {
	o.filter = analysis.Filter{
		StartPosition: o.startPosition, StopPosition: o.stopPosition,
		Databases: o.databases, Tables: o.tables,
	}
	o.settings = analysis.Settings{NoSessionBound: o.noSessionBound}
	if f.Changed("trace") && o.trace == "" {
		return usageError("--trace is empty, want a file")
	}
	if o.trace != "" && o.perServer {
		return usageError("--trace and --per-server contradict each other: a trace is of one server")
	}
	given := analysis.Filters{
		StartDatetime: o.startDatetime, StopDatetime: o.stopDatetime,
		StartPosition: o.startPosition, StopPosition: o.stopPosition,
		IncludeGTIDs: o.includeGTIDs, ExcludeGTIDs: o.excludeGTIDs,
		Databases: o.databases, Tables: o.tables,
	}
	for _, name := range []string{"start-datetime", "stop-datetime", "start-position", "stop-position", "include-gtids", "exclude-gtids", "database", "table"} {
		if f.Changed(name) {
			o.filter.Given = &given
		}
	}
	for _, t := range []struct {
		name, value string
		to          *parser.Micros
	}{{"start-datetime", o.startDatetime, &o.filter.Start}, {"stop-datetime", o.stopDatetime, &o.filter.Stop}} {
		if f.Changed(t.name) {
			at, err := parseTime(t.value)
			if err != nil {
				return usageError("--%s: %v", t.name, err)
			}
			*t.to = parser.Micros(at.UnixMicro())
		}
	}
	if o.filter.Start != 0 && o.filter.Stop != 0 && o.filter.Stop <= o.filter.Start {
		return usageError("--stop-datetime is not after --start-datetime")
	}
	for _, p := range []struct {
		name  string
		value int64
	}{{"start-position", o.startPosition}, {"stop-position", o.stopPosition}} {
		if f.Changed(p.name) && p.value < 4 {
			return usageError("--%s is %d, want at least 4, where the first event of a log begins", p.name, p.value)
		}
	}
	for _, g := range []struct {
		name, value string
		to          **parser.GTIDSet
	}{{"include-gtids", o.includeGTIDs, &o.filter.Include}, {"exclude-gtids", o.excludeGTIDs, &o.filter.Exclude}} {
		if f.Changed(g.name) {
			set, err := parser.ParseGTIDSet(g.value)
			if err != nil {
				return usageError("--%s: %v", g.name, err)
			}
			*g.to = set
		}
	}
	for _, n := range []struct {
		name  string
		value *int64
		most  int64
		to    **int64
	}{
		{"sync-binlog", &o.syncBinlog, 1<<32 - 1, &o.settings.SyncBinlog},
		{"flush-log-at-trx-commit", &o.flushLog, 3, &o.settings.FlushLogAtTrxCommit},
		{"binlog-group-commit-sync-delay", &o.syncDelay, 1_000_000, &o.settings.SyncDelay},
		{"binlog-group-commit-sync-no-delay-count", &o.syncNoDelay, 100_000, &o.settings.SyncNoDelayCount},
	} {
		if !f.Changed(n.name) {
			continue
		}
		if *n.value < 0 || *n.value > n.most {
			return usageError("--%s is %d, want 0 to %d", n.name, *n.value, n.most)
		}
		*n.to = n.value
	}
	return nil
}

// parseTime reads a time as mysqlbinlog takes it, in the local zone, or as RFC 3339.
func parseTime(s string) (time.Time, error) {
	if at, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return at, nil
	}
	for _, layout := range []string{"2006-01-02 15:04:05.999999999", "2006-01-02T15:04:05.999999999", "2006-01-02 15:04", time.DateOnly} {
		if at, err := time.ParseInLocation(layout, s, time.Local); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is no time such as '2026-11-30 12:00:00' or 2026-11-30T12:00:00Z", s)
}

// find gives the logs that the arguments name, in one part, or in one for each
// server.
func (o *inputOptions) find(u *ui, args []string) ([][]*parser.Input, error) {
	if len(args) == 0 {
		return nil, usageError("no log given").hint("give binlog files, a directory of them, an .index file, or - for standard input")
	}
	if slices.Contains(args, parser.Stdin) && isTerminal(u.stdin) {
		return nil, usageError("standard input is a terminal, not a log")
	}
	inputs, err := parser.Find(args, u.stdin)
	switch {
	case errors.Is(err, parser.ErrSameLog):
		return nil, usageError("%w", err).hint("groups would be counted twice; give each log once")
	case err != nil:
		return nil, err
	}
	if len(inputs) == 1 && o.startPosition != 0 && o.stopPosition != 0 && o.stopPosition <= o.startPosition {
		return nil, usageError("--stop-position is not after --start-position")
	}
	if !o.perServer {
		if err := parser.OneServer(inputs); err != nil {
			return nil, usageError("%w", err).hint("--per-server reports on each by itself")
		}
	}
	return parser.ByServer(inputs), nil
}

// maxFaults is how many logs' faults are printed.
const maxFaults = 20

// read gives each transaction of one part to f. It says what was wrong with
// which log, and returns the logs.
func (o *inputOptions) read(u *ui, inputs []*parser.Input, f func(*parser.Txn) error) ([]*parser.Log, error) {
	files := parser.NewFiles(inputs, parser.Options{NoChecksums: o.noChecksum})
	defer files.Close()
	stop := u.progress(files)
	defer stop()
	faults := 0
	for t, err := range files.All() {
		if err != nil {
			if faults++; faults <= maxFaults {
				u.errorf("%v", err)
			}
			continue
		}
		if err := f(t); err != nil {
			return nil, err
		}
	}
	if faults > maxFaults {
		u.errorf("and %d more logs that could not be read to their ends", faults-maxFaults)
	}
	return files.Logs(), nil
}

// join opens the trace, if one is given, and has it joined to logs of these
// names by to. done closes it and says what was wrong with it; damaged tells whether
// it had to.
func (o *inputOptions) join(u *ui, logs []string, to func(h *iosample.Header, next func() *iosample.Interval, logs []string)) (done func() (damaged bool), err error) {
	if o.trace == "" {
		return func() bool { return false }, nil
	}
	f, err := os.Open(o.trace)
	if err != nil {
		return nil, fmt.Errorf("--trace: %w", err)
	}
	r, err := iosample.NewReader(f)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("--trace: %s: %w", o.trace, err)
	}
	var bad error
	next := func() *iosample.Interval {
		v, err := r.Next()
		if err != nil && !errors.Is(err, io.EOF) {
			bad = err
		}
		return v
	}
	to(&r.Header, next, logs)
	return func() bool {
		f.Close()
		if bad != nil {
			u.errorf("%s: %v; what stands before it was used", o.trace, bad)
		}
		if r.Torn {
			u.warningf("%s: the last line is cut short and was passed over", o.trace)
		}
		return bad != nil
	}, nil
}

func logNames(inputs []*parser.Input) []string {
	names := make([]string, len(inputs))
	for i, in := range inputs {
		names[i] = in.Head.Name
	}
	return names
}

// filterFor is the filter with the names of the logs that positions are in.
func (o *inputOptions) filterFor(inputs []*parser.Input) analysis.Filter {
	f := o.filter
	f.FirstLog, f.LastLog = inputs[0].Head.Name, inputs[len(inputs)-1].Head.Name
	return f
}

// status is the exit status that the logs deserve, as an error that has been
// said already; nil where all is well.
func status(logs []*parser.Log) error {
	damaged, reported := false, false
	for _, l := range logs {
		damaged = damaged || !l.Complete()
		reported = reported || reports(l)
	}
	switch {
	case !reported:
		return &exitError{status: statusNothing}
	case damaged:
		return &exitError{status: statusDamaged}
	default:
		return nil
	}
}

// traceStatus is the exit status where the trace was damaged, too.
func traceStatus(err error, badTrace bool) error {
	if err != nil || !badTrace {
		return err
	}
	return &exitError{status: statusDamaged}
}

// reports tells whether there is anything to report of a log.
func reports(l *parser.Log) bool {
	if l.Flavor == 0 {
		return false
	}
	return l.Transactions > 0 || !errors.Is(l.Err, parser.ErrEncrypted) && !errors.Is(l.Err, parser.ErrUnsupported)
}
