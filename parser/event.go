package parser

import "strconv"

// EventType is the type byte of an event header.
//
// Codes below 160 are MySQL's (libs/mysql/binlog/event/binlog_event.h, enum
// Log_event_type), those from 160 on MariaDB's (sql/log_event.h). Aurora and
// Percona use a few of their own.
type EventType uint8

// The types that this package looks at, or that it must know to go past.
const (
	StartV3Event            EventType = 1
	QueryEvent              EventType = 2
	StopEvent               EventType = 3
	RotateEvent             EventType = 4
	IntvarEvent             EventType = 5
	AppendBlockEvent        EventType = 9
	RandEvent               EventType = 13
	UserVarEvent            EventType = 14
	FormatDescriptionEvent  EventType = 15
	XIDEvent                EventType = 16
	BeginLoadQueryEvent     EventType = 17
	ExecuteLoadQueryEvent   EventType = 18
	TableMapEvent           EventType = 19
	WriteRowsEventV0        EventType = 20
	UpdateRowsEventV0       EventType = 21
	DeleteRowsEventV0       EventType = 22
	WriteRowsEventV1        EventType = 23
	UpdateRowsEventV1       EventType = 24
	DeleteRowsEventV1       EventType = 25
	IncidentEvent           EventType = 26
	HeartbeatEvent          EventType = 27
	IgnorableEvent          EventType = 28
	RowsQueryEvent          EventType = 29
	WriteRowsEventV2        EventType = 30
	UpdateRowsEventV2       EventType = 31
	DeleteRowsEventV2       EventType = 32
	GTIDEvent               EventType = 33
	AnonymousGTIDEvent      EventType = 34
	PreviousGTIDsEvent      EventType = 35
	TransactionContextEvent EventType = 36
	ViewChangeEvent         EventType = 37
	XAPrepareEvent          EventType = 38
	PartialUpdateRowsEvent  EventType = 39
	TransactionPayloadEvent EventType = 40
	HeartbeatV2Event        EventType = 41
	TaggedGTIDEvent         EventType = 42

	PerconaStartEncryptionEvent EventType = 159 // Percona Server 5.7

	MariaDBAnnotateRowsEvent         EventType = 160
	MariaDBCheckpointEvent           EventType = 161
	MariaDBGTIDEvent                 EventType = 162
	MariaDBGTIDListEvent             EventType = 163
	MariaDBStartEncryptionEvent      EventType = 164
	MariaDBQueryCompressedEvent      EventType = 165
	MariaDBWriteRowsCompressedV1     EventType = 166
	MariaDBUpdateRowsCompressedV1    EventType = 167
	MariaDBDeleteRowsCompressedV1    EventType = 168
	MariaDBWriteRowsCompressedEvent  EventType = 169
	MariaDBUpdateRowsCompressedEvent EventType = 170
	MariaDBDeleteRowsCompressedEvent EventType = 171
)

// class is what an event means to the assembly of transactions.
type class uint8

const (
	classUnknown   class = iota
	classOther           // known, and of no interest inside or between transactions
	classPrelude         // belongs to the transaction or lone statement that follows
	classGTID            // opens a transaction
	classQuery           // a statement
	classXID             // ends a transaction
	classXAPrepare       // ends a branch of an XA transaction
	classTableMap        // names a table
	classInsert          // rows inserted
	classUpdate          // rows updated
	classDelete          // rows deleted
	classPayload         // the rest of a transaction, compressed
	classIncident        // the server lost writes
	classFormat          // format description
	classRotate          // the log goes on in another file
	classStop            // the server stopped
	classGTIDs           // the GTIDs of the logs before
	classEncrypted       // what follows is encrypted
	classStartV3         // the format event of MySQL 4.1 and older
)

type eventSpec struct {
	name       string
	class      class
	compressed bool
}

// events is indexed by type; a type without a name is unknown, and is skipped
// by its length and counted.
var events = [256]eventSpec{
	StartV3Event:                     {"start (version 3)", classStartV3, false},
	QueryEvent:                       {"query", classQuery, false},
	StopEvent:                        {"stop", classStop, false},
	RotateEvent:                      {"rotate", classRotate, false},
	IntvarEvent:                      {"intvar", classPrelude, false},
	6:                                {"load", classPrelude, false},
	7:                                {"slave", classOther, false},
	8:                                {"create file", classPrelude, false},
	AppendBlockEvent:                 {"append block", classPrelude, false},
	10:                               {"exec load", classPrelude, false},
	11:                               {"delete file", classPrelude, false},
	12:                               {"new load", classPrelude, false},
	RandEvent:                        {"rand", classPrelude, false},
	UserVarEvent:                     {"user var", classPrelude, false},
	FormatDescriptionEvent:           {"format description", classFormat, false},
	XIDEvent:                         {"xid", classXID, false},
	BeginLoadQueryEvent:              {"begin load query", classPrelude, false},
	ExecuteLoadQueryEvent:            {"execute load query", classQuery, false},
	TableMapEvent:                    {"table map", classTableMap, false},
	WriteRowsEventV0:                 {"write rows", classInsert, false},
	UpdateRowsEventV0:                {"update rows", classUpdate, false},
	DeleteRowsEventV0:                {"delete rows", classDelete, false},
	WriteRowsEventV1:                 {"write rows", classInsert, false},
	UpdateRowsEventV1:                {"update rows", classUpdate, false},
	DeleteRowsEventV1:                {"delete rows", classDelete, false},
	IncidentEvent:                    {"incident", classIncident, false},
	HeartbeatEvent:                   {"heartbeat", classOther, false},
	IgnorableEvent:                   {"ignorable", classOther, false},
	RowsQueryEvent:                   {"rows query", classPrelude, false},
	WriteRowsEventV2:                 {"write rows", classInsert, false},
	UpdateRowsEventV2:                {"update rows", classUpdate, false},
	DeleteRowsEventV2:                {"delete rows", classDelete, false},
	GTIDEvent:                        {"GTID", classGTID, false},
	AnonymousGTIDEvent:               {"anonymous GTID", classGTID, false},
	PreviousGTIDsEvent:               {"previous GTIDs", classGTIDs, false},
	TransactionContextEvent:          {"transaction context", classOther, false},
	ViewChangeEvent:                  {"view change", classOther, false},
	XAPrepareEvent:                   {"XA prepare", classXAPrepare, false},
	PartialUpdateRowsEvent:           {"partial update rows", classUpdate, false},
	TransactionPayloadEvent:          {"transaction payload", classPayload, true},
	HeartbeatV2Event:                 {"heartbeat", classOther, false},
	TaggedGTIDEvent:                  {"tagged GTID", classGTID, false},
	PerconaStartEncryptionEvent:      {"start encryption", classEncrypted, false},
	MariaDBAnnotateRowsEvent:         {"annotate rows", classPrelude, false},
	MariaDBCheckpointEvent:           {"binlog checkpoint", classOther, false},
	MariaDBGTIDEvent:                 {"GTID", classGTID, false},
	MariaDBGTIDListEvent:             {"GTID list", classGTIDs, false},
	MariaDBStartEncryptionEvent:      {"start encryption", classEncrypted, false},
	MariaDBQueryCompressedEvent:      {"compressed query", classQuery, true},
	MariaDBWriteRowsCompressedV1:     {"compressed write rows", classInsert, true},
	MariaDBUpdateRowsCompressedV1:    {"compressed update rows", classUpdate, true},
	MariaDBDeleteRowsCompressedV1:    {"compressed delete rows", classDelete, true},
	MariaDBWriteRowsCompressedEvent:  {"compressed write rows", classInsert, true},
	MariaDBUpdateRowsCompressedEvent: {"compressed update rows", classUpdate, true},
	MariaDBDeleteRowsCompressedEvent: {"compressed delete rows", classDelete, true},
}

func (t EventType) String() string {
	if s := events[t].name; s != "" {
		return s
	}
	return "type " + strconv.Itoa(int(t))
}

// headerLen is the length of a version 4 event header:
//
//	offset  0        4     5          9       13        17
//	        +--------+-----+----------+-------+---------+-------+
//	        | time   |type | server   |length | log_pos | flags |
//	        | 4      |  1  | id 4     |  4    |  4      |  2    |
//	        +--------+-----+----------+-------+---------+-------+
//
// All integers are little endian; length counts header, body and checksum.
const headerLen = 19

// checksumLen is the length of the CRC32 behind each event of a log whose
// format event says so.
const checksumLen = 4

// Header flags (binlog_event.h, LOG_EVENT_*_F).
const (
	flagInUse      = 0x01 // format event only: not closed, or not closed cleanly
	flagArtificial = 0x20 // made for a replica, not written by a commit
	flagRelayLog   = 0x40 // written by a replica's receiver
	flagIgnorable  = 0x80 // may be skipped where unknown
)

// header is an event header.
type header struct {
	time     uint32 // seconds since the epoch, the server's clock; a statement's start
	typ      EventType
	serverID uint32 // the server where the change was first made
	length   uint32
	logPos   uint32 // end offset modulo 2^32; 0 in artificial events and inside MariaDB 11.4+ transactions
	flags    uint16
}

// parseHeader needs headerLen bytes.
func parseHeader(b []byte) header {
	_ = b[headerLen-1]
	return header{
		time:     le32(b),
		typ:      EventType(b[4]),
		serverID: le32(b[5:]),
		length:   le32(b[9:]),
		logPos:   le32(b[13:]),
		flags:    le16(b[17:]),
	}
}
