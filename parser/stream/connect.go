package stream

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/google/uuid"

	"bgcstat/parser"
	"bgcstat/parser/server"
)

// Facts are what a server says of itself that bears on reading its binlog.
type Facts struct {
	Version  server.Version
	Settings map[string]string // its variables of factNames, those that it has
}

// factNames are the variables that are asked for.
var factNames = []string{
	"server_id", "server_uuid", "hostname", "port", "log_bin", "gtid_mode", "binlog_checksum",
	"binlog_format", "wsrep_on", "group_replication_group_name", "binlog_storage_engine",
}

// identity tells one server from another at the same address.
func (f *Facts) identity() string {
	s := f.Settings
	if id := s["server_uuid"]; id != "" {
		return id
	}
	// MariaDB has no such thing. gtid_domain_id may be set at any time.
	return strings.Join([]string{s["server_id"], s["hostname"], s["port"]}, " ")
}

func (f *Facts) mariadb() bool { return f.Version.Flavor == server.MariaDB }

// SameServer tells by the settings of two connections whether they are to one
// server. Behind one address there may be several.
func SameServer(a, b map[string]string) bool {
	if a["server_uuid"] != "" || b["server_uuid"] != "" {
		return a["server_uuid"] == b["server_uuid"]
	}
	return a["server_id"] == b["server_id"] && a["hostname"] == b["hostname"] && a["port"] == b["port"]
}

// Dump commands (include/my_command.h, sql/rpl_source.cc; MariaDB sql/sql_repl.cc).
const (
	comBinlogDump     = 0x12
	comBinlogDumpGTID = 0x1e

	flagNonBlock = 0x01 // end where the log ends at the moment
	flagAnnotate = 0x02 // MariaDB: send what is in the log only for people, too
)

// open connects for the first time, and asks for the place to begin at.
func (s *source) open() error {
	if err := s.login(); err != nil {
		return err
	}
	s.facts, s.known = s.now, s.now.identity()
	if err := s.now.check(&s.stream.config.From); err != nil {
		return err
	}
	c := &s.stream.config
	if err := s.chooseID(&c.ServerID); err != nil {
		return err
	}
	if err := s.locate(&c.From); err != nil {
		return err
	}
	if err := s.dump(); err != nil {
		return err
	}
	if s.begin == 0 || s.until == (parser.Pos{File: c.From.File, Offset: c.From.Offset}) {
		s.found()
	}
	// A server that does not give what was asked for says so in the place of the
	// first event.
	err := s.event()
	if errors.Is(err, io.EOF) { // as where a server shuts down
		err = s.endedDump()
	}
	if err != nil {
		return cmp.Or(s.fatal(err), err)
	}
	return nil
}

// login connects and asks the server what it is.
func (s *source) login() error {
	conn, err := server.Connect(s.ctx, s.stream.config.Server)
	if err != nil {
		return err
	}
	rows, err := conn.Query(s.ctx, "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('"+strings.Join(factNames, "', '")+"')")
	if err != nil {
		_ = conn.Close() // it is of no use
		return err
	}
	s.conn = conn
	s.now = Facts{conn.Version(), map[string]string{}}
	for _, row := range rows {
		s.now.Settings[row["Variable_name"]] = row["Value"]
	}
	return nil
}

// check refuses servers without a log that can be read from a place on.
func (f *Facts) check(from *Start) error {
	if on := f.Settings["log_bin"]; on != "ON" {
		return fmt.Errorf("%w: log_bin is %s", ErrNoBinlog, cmp.Or(on, "unknown"))
	}
	if engine := f.Settings["binlog_storage_engine"]; engine != "" && from.State == "" {
		return fmt.Errorf("%w with positions: binlog_storage_engine is %s: begin behind a GTID, such as SELECT @@gtid_binlog_pos gives", ErrNoBinlog, engine)
	}
	return nil
}

// chooseID makes sure of a server id that no other server is known by. MariaDB
// ends the dump of the replica that has it; MySQL goes by the UUID, but shows
// the id to people.
func (s *source) chooseID(id *uint32) error {
	taken := map[string]bool{s.now.Settings["server_id"]: true}
	sql := "SHOW SLAVE HOSTS"
	if v := s.now.Version; s.now.mariadb() && v.AtLeast(10, 5) || !s.now.mariadb() && v.AtLeast(8, 1) {
		sql = "SHOW REPLICAS"
		if s.now.mariadb() {
			sql = "SHOW REPLICA HOSTS"
		}
	}
	rows, err := s.conn.Query(s.ctx, sql)
	if errors.Is(err, server.ErrLost) {
		return err
	} // else it is not permitted to look
	for _, row := range rows {
		taken[cmp.Or(row["Server_id"], row["Server_Id"])] = true
	}
	if *id != 0 {
		if taken[strconv.FormatUint(uint64(*id), 10)] {
			return fmt.Errorf("%w: %d is that of the server or of one of its replicas", ErrServerID, *id)
		}
		return nil
	}
	for *id == 0 || taken[strconv.FormatUint(uint64(*id), 10)] {
		var b [4]byte
		_, _ = rand.Read(b[:]) // which never fails
		*id = binary.LittleEndian.Uint32(b[:]) | 1<<31
	}
	return nil
}

// locate finds the place to begin at, and what GTIDs were there before it.
func (s *source) locate(from *Start) error {
	k := &s.gtids
	mariadb := s.now.mariadb()
	switch {
	case from.State != "" && mariadb:
		k.last = map[uint32]parser.GTID{}
		for part := range strings.SplitSeq(from.State, ",") {
			g, err := mariadbGTID(part)
			if err != nil {
				return fmt.Errorf("%w, as the server is MariaDB", err)
			}
			k.last[g.Source.Domain] = g
		}
		return nil
	case from.GTIDs != nil:
		if _, err := mysql.ParseMysqlGTIDSet(from.GTIDs.String()); err != nil {
			return fmt.Errorf("GTID set is %q, want UUID:INTERVAL, as the server is MySQL", from.GTIDs)
		}
		if mode := s.now.Settings["gtid_mode"]; mode != "ON" {
			return fmt.Errorf("%w: gtid_mode is %s", ErrNoGTIDs, cmp.Or(mode, "unknown"))
		}
		set, err := parser.ParseGTIDSet(from.GTIDs.String())
		k.set = set
		return err
	}
	// What stands before the place is known together with where the log ends now.
	file, offset, executed, err := s.conn.Status(s.ctx)
	_, refused := errors.AsType[*server.PrivilegeError](err)
	if err == nil {
		s.until = parser.Pos{File: file, Offset: offset}
	}
	switch {
	case err != nil && (!refused || *from == Start{}):
		return err
	case *from == Start{}:
		from.File, from.Offset = file, offset
	case err == nil && from.File == file && from.Offset > offset:
		return fmt.Errorf("%w %v: the log ends at %d", ErrPosition, parser.Pos{File: file, Offset: from.Offset}, offset)
	}
	if mariadb {
		file, offset := from.File, from.Offset
		if from.Oldest {
			rows, err := s.conn.Query(s.ctx, "SHOW BINARY LOGS")
			if errors.Is(err, server.ErrLost) {
				return err
			} else if len(rows) > 0 { // else it is not permitted to look
				file, offset = rows[0]["Log_name"], firstOffset
			}
		}
		if file == "" || offset < firstOffset {
			return nil
		}
		rows, err := s.conn.Query(s.ctx, "SELECT BINLOG_GTID_POS(?, ?) AS pos", file, offset)
		if err != nil || len(rows) != 1 {
			return err
		}
		k.last = map[uint32]parser.GTID{}
		for part := range strings.SplitSeq(rows[0]["pos"], ",") {
			if g, err := mariadbGTID(part); err == nil {
				k.last[g.Source.Domain] = g
			}
		}
		return nil
	}
	if s.now.Settings["gtid_mode"] != "ON" || refused {
		return nil
	}
	k.set = &parser.GTIDSet{}
	if executed != "" {
		if k.set, err = parser.ParseGTIDSet(executed); err != nil {
			return err
		}
	}
	k.file, k.offset = file, offset
	k.reached = from.File == file && from.Offset >= offset
	return nil
}

// mariadbGTID reads domain-server-number.
func mariadbGTID(s string) (parser.GTID, error) {
	var g parser.GTID
	parts := strings.Split(strings.TrimSpace(s), "-")
	var n [3]uint64
	for i := range n {
		var err error
		if len(parts) == 3 {
			n[i], err = strconv.ParseUint(parts[i], 10, []int{32, 32, 64}[i])
		}
		if len(parts) != 3 || err != nil {
			return g, fmt.Errorf("GTID is %q, want domain-server-number", s)
		}
	}
	g.Source = parser.GTIDSource{Flavor: parser.MariaDB, Domain: uint32(n[0]), Server: uint32(n[1])}
	g.Number = n[2]
	return g, nil
}

// dump asks the server that is connected for what comes next.
func (s *source) dump() error {
	c := &s.stream.config
	byGTID, gtids, file, offset, err := s.place()
	if err != nil {
		return err
	}
	s.begin, s.passed = 0, 0
	if !byGTID && offset > firstOffset {
		s.begin, s.resumed = offset, s.there
	}
	if offset > 1<<32-1 { // the command has no room for it: what was given out is passed over
		offset = firstOffset
	}
	if err := s.prepare(byGTID, gtids); err != nil {
		return err
	}
	command, err := s.command(byGTID, gtids, file, max(offset, firstOffset))
	if err != nil {
		return err
	}
	events, err := s.conn.Events(s.ctx, command, 3*c.Heartbeat)
	if err != nil {
		return err
	}
	s.events = events
	s.unwatch = context.AfterFunc(s.ctx, events.Close)
	s.stream.update(func(st *State) {
		st.Connected, st.Server, st.Settings, st.Heard = true, s.now.Version.String(), s.now.Settings, time.Now()
	})
	return nil
}

// place is where to go on: behind GTIDs, or else in a log.
func (s *source) place() (byGTID bool, gtids, file string, offset int64, err error) {
	c := &s.stream.config
	file, offset = s.file, s.boundary
	switch {
	case s.nextIs != "": // lost between two logs
		file, offset = s.nextIs, firstOffset
	case file == "":
		file, offset = c.From.File, c.From.Offset
	}
	// Once GTIDs have said where to begin, a position does not say what came: the
	// log may have transactions of before in front of it, and behind it.
	if c.From.GTIDs == nil && !s.moved && !s.other() {
		return false, "", file, offset, nil
	}
	gtids, err = s.gtids.position()
	if s.came && !s.other() && (err != nil || !s.now.mariadb() && s.now.Settings["gtid_mode"] != "ON") {
		return false, "", file, offset, nil //nolint:nilerr // the server writes none any more, or soon will not
	}
	return true, gtids, file, offset, err
}

// other reports whether the server is another than the one before.
func (s *source) other() bool { return s.now.identity() != s.known }

// prepare tells the server what this reader understands, as replicas do, in
// variables of the session.
func (s *source) prepare(byGTID bool, gtids string) error {
	heartbeat := strconv.FormatInt(s.stream.config.Heartbeat.Nanoseconds(), 10)
	set := []string{
		"@master_heartbeat_period = " + heartbeat, "@source_heartbeat_period = " + heartbeat,
		"@slave_uuid = '" + s.uuid() + "'", "@replica_uuid = '" + s.uuid() + "'",
	}
	if s.now.Settings["binlog_checksum"] != "" { // else the server is too old to know it
		set = append(set, "@master_binlog_checksum = @@global.binlog_checksum", "@source_binlog_checksum = @@global.binlog_checksum")
	}
	if s.now.mariadb() {
		// Without it the server takes the commit ids out (MARIA_SLAVE_CAPABILITY_GTID).
		set = append(set, "@mariadb_slave_capability = 4")
		if byGTID {
			set = append(set, "@slave_connect_state = '"+gtids+"'", "@slave_gtid_strict_mode = 0", "@slave_gtid_ignore_duplicates = 0")
		}
	}
	_, err := s.conn.Query(s.ctx, "SET "+strings.Join(set, ", "))
	return err
}

// uuid is the same in each connection, so that the server ends a dump that it
// has not found to be lost yet.
func (s *source) uuid() string {
	if s.id == "" {
		s.id = uuid.NewString()
	}
	return s.id
}

// command makes the dump command.
func (s *source) command(byGTID bool, gtids, file string, offset int64) ([]byte, error) {
	le := binary.LittleEndian
	flags := uint16(0)
	if s.bounded() {
		flags |= flagNonBlock
	}
	if s.now.mariadb() {
		flags |= flagAnnotate
	}
	id := s.stream.config.ServerID
	if !byGTID || s.now.mariadb() {
		if byGTID {
			file, offset = "", firstOffset
		}
		b := le.AppendUint32([]byte{comBinlogDump}, uint32(offset))
		b = le.AppendUint16(b, flags)
		b = le.AppendUint32(b, id)
		return append(b, file...), nil
	}
	set, err := mysql.ParseMysqlGTIDSet(gtids)
	if err != nil {
		return nil, fmt.Errorf("GTID set: %w", err)
	}
	data := set.Encode()
	b := le.AppendUint16([]byte{comBinlogDumpGTID}, flags)
	b = le.AppendUint32(b, id)
	b = le.AppendUint32(b, 0) // length of the log's name
	b = le.AppendUint64(b, firstOffset)
	b = le.AppendUint32(b, uint32(len(data)))
	return append(b, data...), nil
}

// Waits between attempts to connect again.
const (
	firstWait = 100 * time.Millisecond
	longWait  = 15 * time.Second
)

// reconnect connects again until that succeeds or is of no use. It waits
// longer each time, until a transaction has come.
func (s *source) reconnect() error {
	began := time.Now()
	for ; ; s.tries++ {
		if s.tries == s.stream.config.Retries {
			if s.tries == 0 {
				return s.lost
			}
			return fmt.Errorf("given up after %d attempts to connect again: %w", s.tries, s.lost)
		}
		wait := s.wait
		s.wait = min(max(2*s.wait, firstWait), longWait)
		select {
		case <-time.After(wait):
		case <-s.ctx.Done():
			return ErrClosed
		}
		err := s.again()
		if err == nil {
			break
		}
		s.disconnect()
		if s.ctx.Err() != nil {
			return ErrClosed
		}
		if err := s.fatal(err); err != nil {
			return err
		}
		s.lost = err
	}
	s.tries++ // until something comes of it
	quiet := s.quiet && !s.other()
	if s.quiet = false; quiet {
		return nil
	}
	s.stream.update(func(st *State) { st.Reconnects++ })
	after := time.Since(began).Round(time.Millisecond)
	if s.other() {
		s.notify(ServerChanged, "another server answers, %s (server_id %s), after %v: a new segment begins, by GTID", s.now.Version, s.now.Settings["server_id"], after)
		s.known = s.now.identity()
		s.abandoned, s.fresh, s.moved, s.came = s.file != "", true, true, false
		s.until, s.asked = parser.Pos{}, false // its logs end elsewhere
		return nil
	}
	s.notify(Resumed, "connected again after %v, at %v", after, parser.Pos{File: cmp.Or(s.file, s.stream.config.From.File), Offset: s.boundary})
	return nil
}

// again connects and asks for what comes next.
func (s *source) again() error {
	if err := s.login(); err != nil {
		return err
	}
	if s.other() {
		if s.stream.config.Bounded {
			return fmt.Errorf("%w: %s is a log of the first one", ErrOtherServer, cmp.Or(s.file, s.stream.config.From.File))
		}
		if err := s.now.check(&s.stream.config.From); err != nil {
			return err
		}
	}
	return s.dump()
}

// fatal gives the error that ends the stream, or nil where it is worth
// another attempt.
func (s *source) fatal(err error) error {
	for _, kind := range []error{ErrReplaced, ErrPosition, ErrOtherServer, ErrNoBinlog, server.ErrLogin} {
		if errors.Is(err, kind) {
			return err
		}
	}
	if _, ok := errors.AsType[*server.PrivilegeError](err); ok {
		return fmt.Errorf("binlog dump: %w", err)
	}
	r, ok := errors.AsType[*server.DumpError](err)
	if !ok {
		return nil
	}
	text := strings.ToLower(r.Text)
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(text, p) })
	}
	if has("same server_uuid", "same server_id", "server_uuid/server_id") { // MariaDB has a code of its own for it
		return fmt.Errorf("%w: %w", ErrServerID, r)
	}
	if r.Code != 1236 { // ER_SOURCE_FATAL_ERROR_READING_BINLOG
		return nil
	}
	file := cmp.Or(s.file, s.nextIs, s.stream.config.From.File)
	switch {
	case has("purged required", "not in the master's binlog", "not in the source's binlog", "find gtid state requested"):
		text := r.Text
		if _, missing, ok := strings.Cut(text, "the missing transactions are "); ok { // the rest is advice on replicas
			text = "purged are " + missing
		}
		return fmt.Errorf("%w all that is behind the GTIDs: %s (error %d)", ErrPurged, text, r.Code)
	case has("could not find first log", "purged", "could not open log file"):
		return fmt.Errorf("%w %s: %w", ErrPurged, cmp.Or(file, "its first log any more"), r)
	case has("position > file size", "impossible position"):
		return s.noBegin("the log is shorter (error %d)", r.Code)
	case s.begin > 0:
		// The rest is advice that has nothing to do with it.
		text, _, _ := strings.Cut(r.Text, ";")
		return s.noBegin("no transaction begins there: %s (error %d)", text, r.Code)
	case s.made != 0 && !s.twice: // the log may just have been replaced: what is there now tells
		s.twice = true
		return nil
	}
	return fmt.Errorf("binlog dump: %w", r)
}
