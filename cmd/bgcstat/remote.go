package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/pflag"

	"bgcstat/analysis"
	"bgcstat/parser"
	"bgcstat/parser/server"
	"bgcstat/parser/stream"
)

// remoteOptions say that logs are read over a connection, in the words of
// mysqlbinlog.
type remoteOptions struct {
	connectOptions
	remote    bool
	toLastLog bool
}

func (o *remoteOptions) addFlags(f *pflag.FlagSet) {
	f.BoolVarP(&o.remote, "read-from-remote-server", "R", false, "LOG is the name of a log of a server, which is read over a connection: for managed servers and encrypted logs")
	f.BoolVar(&o.toLastLog, "to-last-log", false, "with -R go on from LOG to the last log that the server has")
	o.connectOptions.addFlags(f)
}

func (o *remoteOptions) check(f *pflag.FlagSet, args []string) error {
	switch {
	case o.remote && o.toLastLog && len(args) > 1:
		return usageError("--to-last-log and %d logs contradict each other: give the first", len(args))
	case o.toLastLog && f.Changed("stop-position"):
		return usageError("--stop-position and --to-last-log contradict each other: which log is the last is not known")
	case o.remote && len(args) == 0:
		return usageError("no log given").hint("give the name of a log that SHOW BINARY LOGS lists; with --to-last-log also those behind it are read")
	case !o.remote && (o.toLastLog || o.given(f)):
		return usageError("options of a connection without --read-from-remote-server (-R)")
	}
	if !o.remote {
		return nil
	}
	for _, name := range args {
		if start, err := stream.ParseStart(name); err != nil || start.File != name {
			return usageError("%q is not the name of a log, such as binlog.000042", name).hint("with -R names have no directory; SHOW BINARY LOGS lists them")
		}
	}
	return nil
}

// remoteReading gives the logs of a server, by their names, as a reading.
func (o *analyzeOptions) remoteReading(ctx context.Context, u *ui, f *pflag.FlagSet, names []string) (*reading, error) {
	options, err := o.options(u, f)
	if err != nil {
		return nil, err
	}
	conn, err := server.Connect(ctx, options)
	if err != nil {
		return nil, err
	}
	settings, err := conn.Settings(ctx)
	_ = conn.Close() // it is needed no more
	if err != nil {
		return nil, err
	}
	r := &reading{logs: names, filter: o.filter, settings: o.settings.With(settings), again: true}
	r.filter.FirstLog, r.filter.LastLog = names[0], names[len(names)-1]
	if o.toLastLog {
		r.logs, r.filter.LastLog = nil, ""
	}
	r.read = func(u *ui, add func(*parser.Txn) error) ([]*parser.Log, error) {
		var logs []*parser.Log
		for _, name := range names {
			read, err := o.readRemote(ctx, u, options, name, add)
			if len(logs) > 0 && len(read) > 0 {
				parser.CheckJoint(logs[len(logs)-1], read[0])
			}
			logs = append(logs, read...)
			if err != nil {
				return logs, err
			}
		}
		return logs, nil
	}
	return r, nil
}

// remoteRetries is how many attempts in a row to connect again may fail.
const remoteRetries = 5

func (o *analyzeOptions) readRemote(ctx context.Context, u *ui, options server.Options, name string, add func(*parser.Txn) error) ([]*parser.Log, error) {
	logs, err := readStream(ctx, u, stream.Config{
		Server: options, From: stream.Start{File: name, Offset: 4}, Bounded: !o.toLastLog, ToLastLog: o.toLastLog, NoChecksums: o.noChecksum,
	}, add)
	if errors.Is(err, stream.ErrPurged) {
		return logs, (&exitError{status: statusNothing, err: err}).hint("SHOW BINARY LOGS lists those that it has")
	}
	return logs, err
}

// readStream reads a bounded stream to its end.
func readStream(ctx context.Context, u *ui, c stream.Config, add func(*parser.Txn) error) ([]*parser.Log, error) {
	c.Retries = remoteRetries
	c.Notify = func(n stream.Notice) { u.warningf("%s", n.Text) }
	s, err := stream.Open(ctx, c)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	for {
		t, _, err := s.Next()
		if _, ok := errors.AsType[*parser.Error](err); ok {
			u.errorf("%v", err)
			continue
		}
		if errors.Is(err, io.EOF) {
			return s.Logs(), nil
		}
		if err == nil {
			err = add(t)
		}
		if err != nil {
			return s.Logs(), err
		}
	}
}

// reading is the logs of one server that are to be read, from files or over a
// connection.
type reading struct {
	name     string   // subdirectory of --out, where there are several
	logs     []string // names of the logs, nil for all that the server writes
	filter   analysis.Filter
	settings analysis.Settings
	again    bool // they can be read once more
	// read gives the transactions to add, and then the logs.
	read func(u *ui, add func(*parser.Txn) error) ([]*parser.Log, error)
}
