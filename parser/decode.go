package parser

import (
	"bytes"
	"strings"
)

// The bodies that carry the clock. Each decoder gets a body without its
// checksum and decides by the bytes that are left, never by a version: forks
// backport fields.

// decodeGTID reads a GTID or anonymous GTID event of MySQL into t
// (control_events.cpp, Gtid_event; log_event.cc, Gtid_log_event::write_body_to_memory).
//
//	flags 1 | uuid 16 | number 8 | type 1 | last_committed 8 | sequence_number 8
//	  | commit time 7 [| original commit time 7] | length 1-9 | version 4 [| original version 4] | ticket 0 or 8
//
// MySQL 5.6 ends behind the number, 5.7 behind sequence_number.
func decodeGTID(typ EventType, body []byte, t *Txn) error {
	if len(body) < 25 {
		return fault(ErrCorrupt, "body has %d of at least 25 bytes", len(body))
	}
	const mayHaveSBR = 0x01
	t.RBROnly = body[0]&mayHaveSBR == 0
	if number := le64(body[17:]); typ == GTIDEvent {
		if number == 0 || number > maxGTIDNumber {
			return fault(ErrCorrupt, "GTID number is %d, want 1 to 2^63-1", number)
		}
		t.GTID = GTID{Source: GTIDSource{Flavor: MySQL, UUID: [16]byte(body[1:17])}, Number: number}
	}
	const logicalClock = 2 // type 1 of the 5.7 milestones has another, shorter body
	if len(body) < 42 || body[25] != logicalClock {
		return nil
	}
	t.setClock(int64(le64(body[26:])), int64(le64(body[34:])))
	c := newCursor(body[42:])
	if len(c.b) < 7 {
		return nil
	}
	const hasOriginalTime = 1 << 55
	commit := c.u56()
	t.CommitTime = Micros(commit &^ hasOriginalTime)
	t.OriginalCommitTime = t.CommitTime
	if commit&hasOriginalTime != 0 {
		t.OriginalCommitTime = Micros(c.u56())
	}
	if len(c.b) > 0 {
		t.StatedLength = int64(c.lenenc())
	}
	if len(c.b) >= 4 {
		const hasOriginalVersion = 1 << 31
		t.ServerVersion = c.u32() &^ hasOriginalVersion
	}
	// The original version and Group Replication's ticket are of no use here.
	if !c.ok {
		return fault(ErrCorrupt, "body of %d bytes ends inside a field", len(body))
	}
	return nil
}

// setClock takes over a logical clock; 0 in both stands for none.
func (t *Txn) setClock(lastCommitted, sequenceNumber int64) {
	t.HasClock = lastCommitted != 0 || sequenceNumber != 0
	t.LastCommitted, t.SequenceNumber = lastCommitted, sequenceNumber
}

// decodeTaggedGTID reads a tagged GTID event (MySQL 8.3 and later) into t. Its
// body is a message of MySQL's serialization library (control_events.h,
// Gtid_event::define_fields; libs/mysql/serialization/readme.md).
//
//	version | size | last field that must be known | (field id | value)...
func decodeTaggedGTID(body []byte, n *names, t *Txn) error {
	c := newCursor(body)
	if v := c.varlen(); c.ok && v != 1 {
		return fault(ErrUnsupported, "serialization version is %d, want 1", v)
	}
	c.varlen() // size: the event's own end bounds the message
	mustKnow := c.varlen()
	const known = 12
	if c.ok && mustKnow > known {
		return fault(ErrUnsupported, "field %d must be known, the last one known is %d", mustKnow-1, known-1)
	}
	src := GTIDSource{Flavor: MySQL}
	var number, last, seq int64
	var original bool
	for next := uint64(0); c.ok && len(c.b) > 0; {
		id := c.varlen()
		if !c.ok || id < next || id >= known {
			break // fields of a later version: nothing that the clock needs
		}
		next = id + 1
		switch id {
		case 0:
			t.RBROnly = c.varlen()&1 == 0
		case 1:
			for i := range src.UUID {
				src.UUID[i] = byte(c.varlen())
			}
		case 2:
			number = c.signedVarlen()
		case 3:
			size := c.varlen()
			if size > 32 {
				return fault(ErrCorrupt, "tag has %d bytes, want at most 32", size)
			}
			src.Tag = n.str(c.take(int(size)))
		case 4:
			last = c.signedVarlen()
		case 5:
			seq = c.signedVarlen()
		case 6:
			t.CommitTime = Micros(c.varlen())
		case 7:
			t.OriginalCommitTime, original = Micros(c.varlen()), true
		case 8:
			t.StatedLength = int64(c.varlen())
		case 9:
			t.ServerVersion = uint32(c.varlen())
		default: // 10 original version, 11 Group Replication's ticket
			c.varlen()
		}
	}
	if !original {
		t.OriginalCommitTime = t.CommitTime
	}
	t.setClock(last, seq)
	if !c.ok || number < 1 {
		return fault(ErrCorrupt, "body of %d bytes is not a whole message", len(body))
	}
	t.GTID = GTID{src, uint64(number)}
	return nil
}

// Flags of a MariaDB GTID event (sql/log_event.h, Gtid_log_event).
const (
	mariaStandalone    = 0x01 // no COMMIT or XID follows
	mariaGroupCommitID = 0x02
	mariaWaited        = 0x10
	mariaPreparedXA    = 0x40
	mariaCompletedXA   = 0x80

	mariaExtraEngines     = 0x01
	mariaExtraStartAlter  = 0x02
	mariaExtraCommitAlter = 0x04
	mariaExtraRollback    = 0x08
	mariaExtraThreadID    = 0x10
)

// decodeMariaDBGTID reads a GTID event of MariaDB into t
// (sql/log_event_server.cc, Gtid_log_event::write). standalone says that a
// lone statement follows.
//
//	number 8 | domain 4 | flags 1 [| commit id 8] [| xid 4+1+1+n]
//	  [| more flags 1 [| engines 1] [| start-alter number 8] [| thread id 4]] | zeros
func decodeMariaDBGTID(serverID uint32, body []byte, t *Txn) (standalone bool, err error) {
	c := newCursor(body)
	number, domain, flags := c.u64(), c.u32(), c.u8()
	if !c.ok {
		return false, fault(ErrCorrupt, "body has %d of at least 13 bytes", len(body))
	}
	if number == 0 || number > maxGTIDNumber {
		return false, fault(ErrCorrupt, "GTID number is %d, want 1 to 2^63-1", number)
	}
	t.GTID = GTID{GTIDSource{Flavor: MariaDB, Domain: domain, Server: serverID}, number}
	t.Waited = flags&mariaWaited != 0
	if flags&mariaGroupCommitID != 0 {
		t.CommitID = c.u64()
	}
	if flags&(mariaPreparedXA|mariaCompletedXA) != 0 {
		c.u32()
		n := int(c.u8())
		n += int(c.u8())
		c.take(n)
	}
	if c.ok && len(c.b) > 0 {
		extra := c.u8()
		if extra&mariaExtraEngines != 0 {
			c.u8()
		}
		if extra&(mariaExtraCommitAlter|mariaExtraRollback) != 0 {
			c.u64()
		}
		if extra&mariaExtraThreadID != 0 {
			t.ThreadID, t.HasThreadID = c.u32(), true
		}
	}
	if !c.ok {
		return false, fault(ErrCorrupt, "body of %d bytes ends inside a field", len(body))
	}
	return flags&mariaStandalone != 0, nil
}

// statement is what a query event says at the clock depth.
type statement struct {
	threadID uint32
	database []byte
	text     []byte // may be cut short in a large event
}

// decodeQuery reads a query event (statement_events.cpp, Query_event), whose
// post-header an execute load query event lengthens by 13 bytes.
//
//	thread id 4 | seconds 4 | database length 1 | error 2 | status length 2 [| 13] | status | database | 0 | text
func decodeQuery(typ EventType, body []byte) (statement, error) {
	fixed := 13
	if typ == ExecuteLoadQueryEvent {
		fixed += 13
	}
	if len(body) < fixed {
		return statement{}, fault(ErrCorrupt, "body has %d of at least %d bytes", len(body), fixed)
	}
	db := fixed + int(le16(body[11:]))
	text := db + int(body[8]) + 1
	if text > len(body) {
		return statement{}, fault(ErrCorrupt, "body has %d bytes, its text begins at %d", len(body), text)
	}
	return statement{threadID: le32(body), database: body[db : text-1], text: body[text:]}, nil
}

// decodeRotate gives the name of the log that follows.
func decodeRotate(body []byte) (string, error) {
	if len(body) < 9 || len(body) > 8+512 {
		return "", fault(ErrCorrupt, "body has %d bytes, want 9 to 520", len(body))
	}
	return string(body[8:]), nil
}

// decodePreviousGTIDs reads a previous GTIDs event of MySQL
// (sql/rpl_gtid_set.cc, Gtid_set::add_gtid_encoding).
//
//	sources 8 | (uuid 16 [| tag] | intervals 8 | (first 8 | behind the last 8)...)...
//
// Since 8.3 a set that holds tags has 1 in the first and the last byte of the
// count.
func decodePreviousGTIDs(body []byte) (*GTIDSet, error) {
	c := newCursor(body)
	count := c.u64()
	tagged := count>>56 == 1
	if tagged {
		count = count << 8 >> 16
	}
	set := &GTIDSet{}
	for range count {
		src := GTIDSource{Flavor: MySQL}
		copy(src.UUID[:], c.take(16))
		if tagged {
			n := c.varlen()
			if n > 32 {
				return nil, fault(ErrCorrupt, "tag has %d bytes, want at most 32", n)
			}
			src.Tag = string(c.take(int(n)))
		}
		intervals := c.u64()
		for range intervals {
			first, behind := c.u64(), c.u64()
			if !c.ok {
				break
			}
			if first == 0 || behind <= first || behind-1 > maxGTIDNumber {
				return nil, fault(ErrCorrupt, "interval from %d to before %d", first, behind)
			}
			set.addInterval(src, gtidInterval{first, behind - 1})
		}
		if !c.ok {
			return nil, fault(ErrCorrupt, "body of %d bytes ends inside a GTID set", len(body))
		}
	}
	if !c.ok {
		return nil, fault(ErrCorrupt, "body has %d of at least 8 bytes", len(body))
	}
	return set, nil
}

// decodeGTIDList reads a GTID list event of MariaDB: the last GTID of each
// domain and server before the log (sql/log_event.cc, Gtid_list_log_event).
//
//	count 28 bits, flags 4 bits | (domain 4 | server 4 | number 8)...
func decodeGTIDList(body []byte) (*GTIDSet, error) {
	c := newCursor(body)
	count := c.u32() & (1<<28 - 1)
	set := &GTIDSet{}
	for range count {
		src := GTIDSource{Flavor: MariaDB, Domain: c.u32(), Server: c.u32()}
		number := c.u64()
		if !c.ok {
			return nil, fault(ErrCorrupt, "body of %d bytes ends inside its list of %d", len(body), count)
		}
		if number > 0 && number <= maxGTIDNumber {
			set.addInterval(src, gtidInterval{1, number})
		}
	}
	if !c.ok {
		return nil, fault(ErrCorrupt, "body has %d of at least 4 bytes", len(body))
	}
	return set, nil
}

// isWord reports whether text is word, in any case, with nothing but white
// space and a semicolon around it.
func isWord(text []byte, word string) bool {
	if string(text) == word { // as servers write it
		return true
	}
	return fold(bytes.Trim(text, " \t\r\n;"), word)
}

// firstWords gives the first two words of a statement, at most 16 bytes of
// each. Comments in front of them are left out; what is in an executable
// comment (/*!50100 ... */) counts.
func firstWords(text []byte) (w [2][]byte) {
	for i := range w {
		text = skipComments(text)
		end := bytes.IndexAny(text, " \t\r\n(`*/;'")
		if end < 0 {
			end = len(text)
		}
		w[i] = text[:min(end, 16)]
		text = text[end:]
	}
	return w
}

// skipComments goes to the first word of text.
func skipComments(text []byte) []byte {
	for {
		text = bytes.TrimLeft(text, " \t\r\n(")
		var end []byte
		switch {
		case bytes.HasPrefix(text, []byte("/*!")):
			text = bytes.TrimLeft(text[3:], "0123456789")
			continue
		case bytes.HasPrefix(text, []byte("*/")): // of the comment that was opened as code
			text = text[2:]
			continue
		case bytes.HasPrefix(text, []byte("/*")):
			end = []byte("*/")
		case bytes.HasPrefix(text, []byte("#")), len(text) > 2 && string(text[:2]) == "--" && text[2] <= ' ':
			end = []byte("\n")
		default:
			return text
		}
		at := bytes.Index(text, end)
		if at < 0 {
			return nil
		}
		text = text[at+len(end):]
	}
}

// fold reports whether word is one of these, in any case. It allocates nothing.
func fold(word []byte, these ...string) bool {
	for _, s := range these {
		if len(word) == len(s) && strings.EqualFold(string(word), s) {
			return true
		}
	}
	return false
}

// raisesClock reports whether a lone statement is one of those after which
// MySQL 8.0 and later raise last_committed to the statement's own number
// (exception E3; sql/rpl_trx_tracking.cc and its callers). What only looks like
// one makes a bound weaker.
func raisesClock(text []byte) bool {
	w := firstWords(text)
	switch {
	case fold(w[0], "ANALYZE", "REPAIR", "OPTIMIZE"):
		return true
	case fold(w[0], "CREATE", "ALTER", "DROP") && fold(w[1], "DATABASE", "SCHEMA"):
		return true
	case fold(w[0], "ALTER") && fold(w[1], "TABLE"):
		return containsFold(text, "PARTITION")
	}
	return false
}

// containsFold reports whether text contains word, in any case.
func containsFold(text []byte, word string) bool {
	for ; len(text) >= len(word); text = text[1:] {
		if fold(text[:len(word)], word) {
			return true
		}
	}
	return false
}

// loneTerminator is the terminator of a lone statement.
func loneTerminator(text []byte) Terminator {
	if w := firstWords(text); fold(w[0], "XA") {
		switch {
		case fold(w[1], "COMMIT"):
			return TerminatorXACommit
		case fold(w[1], "ROLLBACK"):
			return TerminatorXARollback
		}
	}
	return TerminatorDDL
}

// opensTransaction reports whether a statement is followed by others of the
// same transaction: XA START, and CREATE TABLE ... START TRANSACTION, which
// MySQL 8.0.21 and later write for CREATE TABLE ... SELECT.
func opensTransaction(text []byte) bool {
	const start, suffix = "XA START ", "START TRANSACTION"
	return len(text) >= len(start) && fold(text[:len(start)], start) ||
		len(text) >= len(suffix) && fold(text[len(text)-len(suffix):], suffix)
}
