package parser

import "time"

// Micros is a time of the server's clock in microseconds since the Unix epoch.
// Zero means that the time is not known.
type Micros int64

// Time gives m in UTC.
func (m Micros) Time() time.Time { return time.UnixMicro(int64(m)).UTC() }

// Seconds gives the time of an event header.
func seconds(s uint32) Micros { return Micros(s) * 1e6 }

// Terminator is how a transaction ends in the log.
type Terminator uint8

// TerminatorNone stands for a transaction whose end is not in the log.
const (
	TerminatorNone Terminator = iota
	TerminatorXID             // commit of a transactional engine
	TerminatorCommit
	TerminatorRollback
	TerminatorDDL // a lone statement: DDL, or in old logs a change without BEGIN
	TerminatorXAPrepare
	TerminatorXACommit
	TerminatorXARollback
	TerminatorIncident // the server lost writes and says so
)

func (t Terminator) String() string {
	return [...]string{"none", "XID", "COMMIT", "ROLLBACK", "DDL", "XA PREPARE", "XA COMMIT", "XA ROLLBACK", "incident"}[t]
}

// Table is the name of a table.
type Table struct{ Schema, Name string }

func (t Table) String() string { return t.Schema + "." + t.Name }

// TableChanges counts the row events that changed one table in a transaction.
// An event may hold many rows; how many is written only in the row images,
// which the clock depth does not read.
type TableChanges struct {
	Table                     *Table // the same pointer for the same name in one log
	Inserts, Updates, Deletes int
}

// Txn is one transaction as the log states it.
//
// A Txn and all it points to belong to the Reader that made it and hold until
// the next call of Next; Log and the Tables' names hold for good.
type Txn struct {
	Log        *Log
	Start, End int64 // offsets in Log: of its first byte, and behind its last
	Events     int   // events in the log, those inside a payload not counted
	// Stretch numbers the parts of Log within which the clock runs on. It rises
	// inside a relay log, where the source changed its log.
	Stretch int

	GTID         GTID
	HasGTIDEvent bool // false only in logs older than MySQL 5.6 with GTIDs or MariaDB 10.0

	// The logical clock of MySQL 5.7.6 and later, counted from the start of the
	// file: LastCommitted < SequenceNumber. HasClock is false where the log holds
	// none, or 0 in both.
	HasClock                      bool
	LastCommitted, SequenceNumber int64

	CommitID uint64 // MariaDB: the group; 0 for a group of one

	// CommitTime is taken by the flush leader just before it writes the
	// transaction (MySQL 8.0.1 and later; sql/binlog.cc, write_transaction).
	// OriginalCommitTime is the same on the server where it was committed first.
	CommitTime, OriginalCommitTime Micros
	EventTime                      Micros // of the first event's header: whole seconds, a statement's start

	// StatementTime is the header time of its last statement or row event: whole
	// seconds, when that statement began. Savepoints and XA statements do not
	// count; 0 where there is nothing else.
	StatementTime Micros
	// BeginTime is the header time of BEGIN, or of a lone statement: whole seconds,
	// when the first statement that changes something began, while EventTime is
	// that of COMMIT where there is one (MySQL 9.7, tried). 0 where there is neither,
	// as in MariaDB's transactions.
	BeginTime Micros

	ServerID    uint32 // where the change was made first
	ThreadID    uint32 // the session's id, or the pseudo_thread_id it set
	HasThreadID bool
	XID         uint64
	HasXID      bool

	// StatedLength is transaction_length of the GTID event (MySQL 8.0.2 and
	// later), 0 where absent. In a relay log it may differ from End-Start.
	StatedLength int64
	// ServerVersion is that of the server which committed it here, as
	// major*10000+minor*100+patch (MySQL 8.0.14 and later), 0 where absent.
	ServerVersion uint32

	RBROnly    bool // MySQL: the log promises row events only
	Terminator Terminator
	Compressed bool // holds a payload event or a compressed event
	Waited     bool // MariaDB: waited for a row lock
	// RaisesClock marks ANALYZE, OPTIMIZE, REPAIR, CREATE, ALTER or DROP DATABASE
	// and partition maintenance, after which MySQL 8.0 and later raise
	// last_committed without a sync in between.
	RaisesClock bool

	Inserts, Updates, Deletes int // row events by kind
	Tables                    []TableChanges
	// Databases are the default databases of its statements (of a lone
	// statement, or under binlog_format=STATEMENT), without repeats.
	Databases []string
}

// Pos is where the transaction starts: mysqlbinlog's "# at".
func (t *Txn) Pos() Pos { return Pos{t.Log.Name, t.Start} }

// Size is its length in the log in bytes, checksums included.
func (t *Txn) Size() int64 { return t.End - t.Start }

// Time is the commit time where the log has one, else that of the first event.
func (t *Txn) Time() Micros {
	if t.CommitTime != 0 {
		return t.CommitTime
	}
	return t.EventTime
}

// Local reports whether the transaction was made by a session of the server
// that wrote the log, not by a replica's applier.
func (t *Txn) Local() bool {
	return !t.Log.Relay && t.ServerID == t.Log.ServerID &&
		(t.OriginalCommitTime == t.CommitTime || t.OriginalCommitTime == 0)
}
