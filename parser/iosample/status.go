package iosample

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
)

// Server answers SQL.
type Server interface {
	// Query runs a statement. Rows are values by column name, without those that
	// are NULL. A missing privilege is an error that says how to grant it.
	Query(ctx context.Context, sql string) ([]map[string]string, error)
	// Position is where the server writes its binlog.
	Position(ctx context.Context) (file string, offset int64, err error)
	Settings(ctx context.Context) (map[string]string, error)
	// Target is what is connected to, without a password.
	Target() string
}

// statusSource counts syncs by the server's own counters.
//
// MySQL has performance_schema (storage/perfschema/table_file_summary_by_instance.cc):
// COUNT_MISC of the binlog's files counts syncs, opens, closes and seeks, which
// is within 1 % of the syncs alone under load; Innodb_os_log_fsyncs counts the
// redo log's. MariaDB has performance_schema off by default. There
// Binlog_group_commits (sql/log.cc) counts groups: each is one sync at
// sync_binlog=1. DDL that is not logged through a group, and rotation, sync
// besides. MariaDB 10.8 and later count the syncs of all InnoDB files in one.
type statusSource struct {
	server   Server
	mariadb  bool
	schema   bool // performance_schema is on and may be read
	groups   int64
	detail   string
	counts   []Count
	base     map[string]int64 // what the counters had when the source was opened
	times    map[string]opTime
	opened   bool  // the base is known
	grouped  int64 // syncs by Binlog_group_commits when they were last read
	refused  error // why the position in the binlog is not known
	counted  Counted
	variable map[string]int64

	asked, answered int64 // when the server was last read, by CLOCK_MONOTONIC
	uptime          int64 // that it had then, in seconds
	again           bool  // the base is to be taken anew: another server answers
}

// opTime is a number of operations, and how long they took.
type opTime struct{ n, picoseconds int64 }

// openStatus asks the server what it counts.
func openStatus(ctx context.Context, server Server) (*statusSource, error) {
	if server == nil {
		return nil, errors.New("no connection to the server: give --host, --socket or --user")
	}
	s := &statusSource{server: server, base: map[string]int64{}, times: map[string]opTime{}}
	v, err := server.Settings(ctx)
	if err != nil {
		return nil, err
	}
	s.mariadb = strings.Contains(strings.ToLower(v["version"]), "mariadb")
	if err := nothingToCount(v); err != nil {
		return nil, err
	}
	var why error
	if v["performance_schema"] == "ON" {
		_, why = server.Query(ctx, filesQuery)
		s.schema = why == nil
	} else {
		why = errors.New("performance_schema is OFF")
	}
	s.groups, _ = strconv.ParseInt(v["sync_binlog"], 10, 64)
	switch {
	case s.schema:
		s.detail = "performance_schema file_summary_by_instance COUNT_MISC (opens and seeks too)"
	case s.mariadb && s.groups >= 1:
		s.detail = "Binlog_group_commits"
		if s.groups > 1 {
			s.detail += fmt.Sprintf(" / sync_binlog=%d", s.groups)
		}
	case s.mariadb:
		s.detail = "no binlog syncs (sync_binlog=0)"
	default:
		return nil, fmt.Errorf("binlog syncs are not counted: %w", why)
	}
	if s.mariadb {
		s.detail += ", Innodb_data_fsyncs (of all InnoDB files)"
	} else {
		s.detail += ", Innodb_os_log_fsyncs"
	}
	if _, err := s.Read(ctx, false); err != nil { // the base
		return nil, err
	}
	return s, nil
}

// nothingToCount says why a server with these settings syncs no binlog.
func nothingToCount(settings map[string]string) error {
	if _, aurora := settings["aurora_version"]; aurora {
		return errors.New("this is Aurora: it has no local fsync, its storage writes the log, so there is nothing to count or to save")
	}
	if settings["log_bin"] == "OFF" {
		return errors.New("the server writes no binlog (log_bin=OFF)")
	}
	return nil
}

const filesQuery = `SELECT EVENT_NAME, FILE_NAME, COUNT_MISC, SUM_TIMER_MISC FROM performance_schema.file_summary_by_instance
WHERE EVENT_NAME IN ('wait/io/file/sql/binlog', 'wait/io/file/sql/relaylog', 'wait/io/file/innodb/innodb_dblwr_file', 'wait/io/file/innodb/innodb_log_file')`

const statusQuery = `SHOW GLOBAL STATUS WHERE Variable_name IN ('Innodb_os_log_fsyncs', 'Innodb_data_fsyncs', 'Binlog_commits', 'Binlog_group_commits',
'Binlog_group_commit_trigger_count', 'Binlog_group_commit_trigger_lock_wait', 'Binlog_group_commit_trigger_timeout',
'Binlog_snapshot_file', 'Binlog_snapshot_position', 'Uptime')`

func (s *statusSource) Name() string         { return "status" }
func (s *statusSource) Exactness() Exactness { return Estimate }
func (s *statusSource) Detail() string       { return s.detail }
func (s *statusSource) Close() error         { return nil } // the connection is the caller's

// Read asks the server for its counters: counts first, then the binlog's size.
func (s *statusSource) Read(ctx context.Context, _ bool) (*Counted, error) {
	s.variable = map[string]int64{}
	file, size := "", int64(0)
	redo, redoTook := int64(0), int64(0)
	_, asked := clocks()

	// 1. Syncs by file, and counters.
	var files []map[string]string
	var err error
	if s.schema {
		if files, err = s.server.Query(ctx, filesQuery); err != nil {
			return nil, err
		}
	}
	rows, err := s.server.Query(ctx, statusQuery)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		name, value := r["Variable_name"], r["Value"]
		if name == "Binlog_snapshot_file" {
			file = value
		} else if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			s.variable[name] = n
		}
	}
	_, answered := clocks()
	if s.other(asked, answered) { // perhaps between the two
		s.again = true
		return nil, errOther
	}

	// 2. What they have grown by.
	if s.schema {
		for _, r := range files {
			n, err1 := strconv.ParseInt(r["COUNT_MISC"], 10, 64)
			picoseconds, err2 := strconv.ParseInt(r["SUM_TIMER_MISC"], 10, 64)
			if err1 != nil || err2 != nil {
				continue
			}
			switch event := path.Base(r["EVENT_NAME"]); event {
			case "binlog", "relaylog", "innodb_dblwr_file":
				class := map[string]Class{"binlog": Binlog, "relaylog": Relay, "innodb_dblwr_file": Doublewrite}[event]
				c := s.count(class, path.Base(r["FILE_NAME"]), n)
				c.MeanLatency = s.mean(string(class)+"/"+c.Name, n, picoseconds)
			case "innodb_log_file":
				redo, redoTook = redo+n, redoTook+picoseconds
			}
		}
	}

	if n, ok := s.variable["Innodb_os_log_fsyncs"]; ok {
		c := s.count(Redo, "", n)
		c.Exactness = Exact
		c.MeanLatency = s.mean("redo", redo, redoTook)
	} else if n, ok := s.variable["Innodb_data_fsyncs"]; ok && s.mariadb {
		s.count(Redo, "", n)
	}

	// 3. The binlog that is written, and its size; without performance_schema
	// what was synced since the last time was of it.
	if size = s.variable["Binlog_snapshot_position"]; file == "" {
		// A user without the right to ask is told of neither: the trace is then
		// joined by the clock.
		file, size, s.refused = s.server.Position(ctx)
	}
	n, counted := s.variable["Binlog_group_commits"]
	counted = counted && !s.schema && s.groups >= 1
	if file != "" || counted {
		c := s.find(Binlog, file)
		c.Size = size
		if counted {
			n /= s.groups
			if s.opened && !s.again && n > s.grouped {
				c.Syncs += n - s.grouped
			}
			s.grouped = n
			c.Exactness = LowerBound
			if s.groups > 1 {
				c.Exactness = ""
			}
		}
	}
	if s.counted.Failed = nil; s.again {
		s.counted.Failed = errOther // what it counted until now is not known
	}
	s.opened, s.again = true, false
	s.counted.Counts = s.counts
	return &s.counted, nil
}

var errOther = errors.New("the server was restarted, or another one answers")

// other reports whether the server that answered from asked to answered is not
// the one, or not the process, that was read before: its uptime has grown by
// more or less than the time that passed.
func (s *statusSource) other(asked, answered int64) bool {
	const slack = 2 // uptimes are whole seconds, of another clock
	uptime, ok := s.variable["Uptime"]
	if !ok {
		return false
	}
	grown := uptime - s.uptime
	least, most := (asked-s.answered)/1e9-slack, (answered-s.asked)/1e9+slack
	s.asked, s.answered, s.uptime = asked, answered, uptime
	return s.opened && (grown < least || grown > most)
}

// count sets what the server's counter of a file has grown by since the source
// was opened. One that fell was of a server before a restart.
func (s *statusSource) count(class Class, name string, n int64) *Count {
	c := s.find(class, name)
	key := string(class) + "/" + name
	base, seen := s.base[key]
	if !seen && !s.opened {
		base = n // a file that comes later begins with nothing
	}
	if n < base+c.Syncs || s.again {
		base = n - c.Syncs // so that the count stands still
	}
	s.base[key] = base
	c.Syncs = n - base
	return c
}

// mean is how long an operation took since the source was opened, in
// nanoseconds, of their number and their time in picoseconds; 0 where there was
// none.
func (s *statusSource) mean(key string, n, picoseconds int64) int64 {
	base, seen := s.times[key]
	if !seen && !s.opened || n < base.n || s.again {
		base = opTime{n, picoseconds}
		s.times[key] = base
	}
	if n == base.n {
		return 0
	}
	return (picoseconds - base.picoseconds) / (n - base.n) / 1000
}

// find gives the count of a file.
func (s *statusSource) find(class Class, name string) *Count {
	for i := range s.counts {
		if c := &s.counts[i]; c.Class == class && c.Name == name {
			return c
		}
	}
	s.counts = append(s.counts, Count{Class: class, Name: name})
	return &s.counts[len(s.counts)-1]
}

// Status are the server's counters when it was last read.
func (s *statusSource) Status() map[string]int64 { return s.variable }
