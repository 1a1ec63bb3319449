package parser

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
)

// Options are choices in reading a log.
type Options struct {
	// NoChecksums leaves the events' checksums unverified.
	NoChecksums bool
	// Live is for a source that gives a log as it comes, and waits in Read for
	// more of it: transactions are given out as soon as they have been read.
	// Its Read may give a *JumpError between two events, and ErrAbandoned.
	Live bool
}

// JumpError is what a live source's Read gives, with no bytes, where it passes over
// a part of the log.
type JumpError struct {
	Offset int64 // in the log, of what the next Read gives
}

func (j *JumpError) Error() string { return fmt.Sprintf("the log goes on at %d", j.Offset) }

// Reader reads the transactions of one log, in log order.
type Reader struct {
	blocks  blocks
	log     *Log
	names   *names
	payload *payload
	slice   sliceReader // of a payload's body
	blk     *block
	pos     int // in blk.data: the next event
	bad     int // in blk.bad: the next one
	format  format
	ended   error // what Next gives from now on

	// The transaction under way.
	txn       Txn
	state     state
	serial    int64 // numbers transactions, for tableEntry.txn
	prelude   int64 // offset of the first event that belongs to a statement to come, or -1
	preludes  int   // how many there are
	statement bool  // MariaDB: a lone statement follows
	withGTIDs bool  // the log has GTID events
	stretch   int   // numbers them, for Txn.Stretch
	hasDelta  bool  // a difference between offsets and log_pos has been reported
}

// blocks is where a Reader gets its log from: a framer, or one that runs ahead.
type blocks interface {
	// next gives the next block. It takes back the one that it gave before.
	next() *block
}

// state is where in a transaction the Reader is.
type state uint8

const (
	between  state = iota
	opened         // behind a GTID event: the first statement decides
	inside         // behind BEGIN or what stands for it
	skipping       // behind a bad checksum: until a transaction begins for sure
)

// NewReader reads a log from src; name is what positions are to call it. It
// reads in large blocks and needs no buffer in front.
func NewReader(src io.Reader, name string, opt Options) *Reader {
	f := newFramer(src, name, !opt.NoChecksums)
	f.live = opt.Live
	return newReader(&inline{f, newBlock()}, name, newNames(), &payload{})
}

func newReader(b blocks, name string, n *names, p *payload) *Reader {
	n.forget()
	return &Reader{
		blocks:  b,
		log:     &Log{Name: name, Relay: nameTellsRelay(name), GTIDs: &GTIDSet{}},
		names:   n,
		payload: p,
		blk:     &block{},
		prelude: -1,
	}
}

// inline frames when asked.
type inline struct {
	f *framer
	b *block
}

func (i *inline) next() *block {
	i.f.next(i.b)
	return i.b
}

// Log is the log that is being read. It is complete when Next has given an error.
func (r *Reader) Log() *Log { return r.log }

// All is Next as an iterator. It ends behind the first error that is not io.EOF,
// or without one.
func (r *Reader) All() iter.Seq2[*Txn, error] {
	return func(yield func(*Txn, error) bool) {
		for {
			t, err := r.Next()
			if errors.Is(err, io.EOF) || !yield(t, err) || err != nil {
				return
			}
		}
	}
}

// Next gives the next transaction, which holds until the call after. At the
// end of the log it gives io.EOF, bare; where the log cannot be read on, an
// *Error that wraps one of the Err variables or an error of the source. Both
// are given again from then on.
func (r *Reader) Next() (*Txn, error) {
	for r.ended == nil {
		if r.pos < len(r.blk.data) {
			if r.step() {
				r.give()
				return &r.txn, nil
			}
			continue
		}
		if err := r.blk.err; err != nil {
			if r.end(err) {
				r.give()
				return &r.txn, nil
			}
			break
		}
		r.refill()
	}
	return nil, r.ended
}

func (r *Reader) refill() {
	r.blk = r.blocks.next()
	r.pos, r.bad = 0, 0
}

// give completes a transaction that is about to be given out.
func (r *Reader) give() {
	t := &r.txn
	r.state = between
	r.log.Transactions++
	if t.ServerID != r.log.ServerID && !r.log.Relay {
		r.log.Replicated++
	}
	if g := r.log.GTIDs; g != nil && !t.GTID.IsZero() {
		g.Add(t.GTID)
		// A set this scattered is of a log that no server wrote.
		if r.log.Transactions&0xfff == 0 && g.size() > maxNames {
			r.log.GTIDs = nil
		}
	}
}

// end takes note of how the log ends. It reports whether a transaction is left
// whose end is missing; the error then waits for the next call.
func (r *Reader) end(err error) bool {
	left := r.state == opened || r.state == inside
	if errors.Is(err, ErrAbandoned) {
		r.ended = ErrAbandoned
		return false
	}
	r.ended = io.EOF
	var e *Error
	if errors.As(err, &e) {
		r.log.Bytes = max(e.Pos.Offset, 0)
	} else if left && !r.log.Relay { // a receiver may begin another log anywhere
		e = &Error{r.txn.Pos(), 0, fault(ErrTruncated, "transaction has no end in this log")}
	}
	if e != nil {
		if e = r.log.notClosed(e); e != nil {
			r.log.Err = e
			r.ended = e
		}
	}
	if left {
		r.state = between
		r.cutTransaction()
	}
	return left
}

// step takes the event at pos, and reports whether it ended a transaction.
func (r *Reader) step() bool {
	blk := r.blk
	if blk.large {
		return r.stepLarge()
	}
	event := blk.data[r.pos:]
	h := parseHeader(event)
	at := blk.off + int64(r.pos)
	if r.bad < len(blk.bad) && blk.bad[r.bad] == r.pos {
		r.bad++
		r.advance(int(h.length))
		r.badChecksum(h, at)
		if h.typ == FormatDescriptionEvent {
			// The framer took its checksum algorithm from it. Without it nothing can
			// be read, and its fields bound each other: it is taken at its word.
			r.formatEvent(h, at, event[headerLen:h.length])
		}
		return false
	}
	event = event[:h.length]
	if r.unfinished(h.typ, event[headerLen:]) {
		return true
	}
	r.advance(int(h.length))
	r.checkPosition(h, at)
	body := event[headerLen:]
	if r.format.hasChecksums && h.typ != FormatDescriptionEvent {
		body = body[:len(body)-checksumLen]
	}
	return r.event(h, at, body, nil)
}

func (r *Reader) advance(n int) {
	r.pos += n
	r.log.Bytes = r.blk.off + int64(r.pos)
}

// unfinished reports whether an event opens a transaction while another is
// open. That one is given out as it is, and the event met again.
func (r *Reader) unfinished(typ EventType, body []byte) bool {
	switch events[typ].class {
	case classGTID:
		if r.state != opened && r.state != inside {
			return false
		}
	case classQuery:
		if r.state != inside || r.txn.HasGTIDEvent || !r.isBegin(typ, body) {
			return false
		}
	default:
		return false
	}
	r.cutTransaction()
	r.log.Damaged++
	return true
}

func (r *Reader) isBegin(typ EventType, body []byte) bool {
	if r.format.hasChecksums && len(body) >= checksumLen {
		body = body[:len(body)-checksumLen]
	}
	q, err := decodeQuery(typ, body)
	return err == nil && isWord(q.text, "BEGIN")
}

func (r *Reader) cutTransaction() {
	r.log.Warnings.Add("cut-transaction", r.txn.Pos(), "a transaction has no end in this log; it is counted, and belongs to no group")
}

// stepLarge takes an event that comes in pieces. What is decoded of it is in
// its first piece; only a payload is read on from there.
func (r *Reader) stepLarge() bool {
	if !r.blk.start {
		r.advance(len(r.blk.data)) // of an event that was skipped
		return false
	}
	h := parseHeader(r.blk.data)
	at := r.blk.off
	if r.unfinished(h.typ, r.blk.data[headerLen:]) {
		return true
	}
	r.checkPosition(h, at)
	body := &pieces{r: r, left: int64(h.length) - headerLen}
	if r.format.hasChecksums {
		body.left -= checksumLen
	}
	first := r.blk.data[headerLen:]
	first = first[:min(int64(len(first)), body.left)]
	r.pos = headerLen
	done := r.event(h, at, first, body)
	for !r.blk.end && r.blk.err == nil {
		r.refill()
	}
	r.bad = 0
	bad := len(r.blk.bad) > 0
	r.pos = 0
	r.advance(len(r.blk.data))
	if r.blk.err != nil && !r.blk.end { // cut: the transaction is not whole
		if done {
			r.state = inside
			r.txn.Terminator = TerminatorNone
		}
		r.txn.End = at
		return false
	}
	if done {
		r.txn.End = at + int64(h.length)
	}
	if bad {
		r.badChecksum(h, at)
		return false
	}
	return done
}

// pieces reads the body of a large event.
type pieces struct {
	r    *Reader
	left int64
}

func (p *pieces) Read(b []byte) (int, error) {
	if p.left == 0 {
		return 0, io.EOF
	}
	r := p.r
	for r.pos == len(r.blk.data) {
		if r.blk.end || r.blk.err != nil {
			return 0, io.ErrUnexpectedEOF
		}
		r.refill()
	}
	n := copy(b[:min(int64(len(b)), p.left)], r.blk.data[r.pos:])
	r.pos += n
	p.left -= int64(n)
	return n, nil
}

// badChecksum drops what the event belonged to.
func (r *Reader) badChecksum(h header, at int64) {
	l := r.log
	l.Events++
	l.Damaged++
	l.Warnings.Add("bad-checksum", Pos{l.Name, at}, "%v event with a bad checksum; what belongs to it is left out", h.typ)
	if h.typ == FormatDescriptionEvent && l.Flavor == 0 {
		return // nothing has been lost
	}
	r.state = skipping
	r.prelude = -1
}

// checkPosition says once where offsets and log_pos disagree.
func (r *Reader) checkPosition(h header, at int64) {
	end := at + int64(h.length)
	if h.logPos == 0 || h.logPos == uint32(end) || r.hasDelta || r.log.Relay {
		return
	}
	r.hasDelta = true
	r.log.Warnings.Add("positions-differ", Pos{r.log.Name, at},
		"events give end positions other than their place in the file (here %d, not %d): a copy from the middle of a log; positions in this report are places in the file", h.logPos, end)
}

// event takes a whole event, or with more the beginning of a large one. It
// reports whether a transaction has ended.
func (r *Reader) event(h header, at int64, body []byte, more io.Reader) bool {
	l := r.log
	l.Events++
	spec := &events[h.typ]
	switch spec.class {
	case classFormat:
		r.formatEvent(h, at, body)
		return false
	case classGTID:
		r.prelude = -1
		r.open(h, at)
		r.withGTIDs = true
		r.gtidEvent(h, at, body)
		return false
	case classRotate:
		r.rotate(h, at, body)
		return false
	case classStop:
		l.ClosedBy = h.typ
		return false
	case classGTIDs:
		if l.PreviousGTIDs == nil && more == nil {
			r.previousGTIDs(h, at, body)
		}
		return false
	case classEncrypted:
		r.stop(&Error{Pos{l.Name, at}, h.typ, fault(ErrEncrypted, "encrypted from here on: only its server can read it")})
		return false
	case classUnknown:
		if l.Unknown == nil {
			l.Unknown = make(map[EventType]int64)
		}
		l.Unknown[h.typ]++
	default: // matters inside a transaction, or between them
	}
	if r.state == skipping && !r.resumes(spec.class, body, h.typ) {
		return false
	}
	if r.state == between {
		switch spec.class {
		case classPrelude, classTableMap:
			if r.prelude < 0 {
				r.prelude, r.preludes = at, 0
			}
			r.preludes++
			return false
		case classQuery:
			r.open(h, at)
		case classIncident:
			l.Warnings.Add("incident", Pos{l.Name, at}, "the server lost writes here and said so in an incident event")
			return false
		case classOther, classUnknown:
			return false
		default:
			r.prelude = -1
			l.Warnings.Add("outside-transaction", Pos{l.Name, at}, "%v event outside of any transaction: the log begins inside one, or a tool wrote it", h.typ)
			return false
		}
	}
	t := &r.txn
	t.Events++
	t.End = at + int64(h.length)
	t.Compressed = t.Compressed || spec.compressed
	if spec.class == classPayload {
		return r.payloadEvent(at, body, more)
	}
	done, err := r.inTxn(h, body)
	if err != nil {
		r.undecodable(h, at, err)
	}
	return done
}

// resumes reports whether an event behind a bad checksum begins or ends a
// transaction, so that what follows is whole again. A GTID event always does,
// and is taken before.
func (r *Reader) resumes(c class, body []byte, typ EventType) bool {
	if r.withGTIDs {
		return false
	}
	switch c {
	case classXID:
		r.state = between
	case classQuery:
		q, err := decodeQuery(typ, body)
		switch {
		case err != nil:
		case isWord(q.text, "COMMIT"), isWord(q.text, "ROLLBACK"):
			r.state = between
		case isWord(q.text, "BEGIN"):
			r.state = between
			return true
		}
	default: // may belong to what was damaged
	}
	return false
}

// stop ends reading behind the current event.
func (r *Reader) stop(e *Error) {
	r.blk = &block{off: r.log.Bytes, err: e}
	r.pos = 0
}

// undecodable takes note of a body that contradicts itself.
func (r *Reader) undecodable(h header, at int64, err error) {
	r.log.Damaged++
	r.log.Warnings.Add("undecodable-event", Pos{r.log.Name, at}, "%v event: %v", h.typ, err)
}

// open begins a transaction at an event, or at the events before it that
// belong to it.
func (r *Reader) open(h header, at int64) {
	t := &r.txn
	tables, databases := t.Tables[:0], t.Databases[:0]
	*t = Txn{} // and then the fields: a whole literal would be made apart and copied
	t.Log, t.Start, t.End, t.Stretch = r.log, at, at, r.stretch
	t.EventTime, t.ServerID = seconds(h.time), h.serverID
	t.Tables, t.Databases = tables, databases
	if r.prelude >= 0 {
		r.txn.Start, r.txn.Events = r.prelude, r.preludes
		r.prelude = -1
	}
	r.statement = false
	r.serial++
	r.state = opened
}

func (r *Reader) gtidEvent(h header, at int64, body []byte) {
	t := &r.txn
	t.Events++
	t.End = at + int64(h.length)
	t.HasGTIDEvent = true
	var err error
	switch h.typ {
	case TaggedGTIDEvent:
		err = decodeTaggedGTID(body, r.names, t)
	case MariaDBGTIDEvent:
		r.statement, err = decodeMariaDBGTID(h.serverID, body, t)
		if !r.statement {
			r.state = inside // it stands for BEGIN
		}
	default:
		err = decodeGTID(h.typ, body, t)
	}
	if err != nil {
		r.undecodable(h, at, err)
	}
}

func (r *Reader) formatEvent(h header, at int64, body []byte) {
	var l Log
	f, err := l.parseFormat(h, body)
	if err != nil {
		r.stop(&Error{Pos{r.log.Name, at}, h.typ, err})
		return
	}
	r.format = f
	// These give every transaction a GTID event, anonymous or not.
	r.withGTIDs = r.withGTIDs || l.Flavor == MySQL && l.Version.AtLeast(5, 7, 5) ||
		l.Flavor == MariaDB && l.Version.AtLeast(10, 0, 2)
	if r.log.Flavor != 0 {
		// A second one: a relay log holds its source's behind its own.
		if l.Flavor != r.log.Flavor && r.log.Transactions > 0 {
			r.stop(&Error{Pos{r.log.Name, at}, h.typ, fault(ErrCorrupt, "is of %v in the middle of a log of %v", l.Flavor, r.log.Flavor)})
			return
		}
		if h.serverID != r.log.ServerID || h.flags&flagArtificial != 0 {
			r.log.Relay = true
		}
		r.log.Flavor, r.log.ServerVersion, r.log.Version = l.Flavor, l.ServerVersion, l.Version
		r.newStretch()
		return
	}
	r.log.Flavor, r.log.ServerVersion, r.log.Version = l.Flavor, l.ServerVersion, l.Version
	r.log.ServerID, r.log.Made, r.log.ServerStarted = l.ServerID, l.Made, l.ServerStarted
	r.log.InUse, r.log.HasChecksums = l.InUse, l.HasChecksums
	r.log.Relay = r.log.Relay || h.flags&flagRelayLog != 0
}

// newStretch says that clocks and table ids begin anew.
func (r *Reader) newStretch() {
	r.names.forget()
	r.stretch++
}

func (r *Reader) rotate(h header, at int64, body []byte) {
	next, err := decodeRotate(body)
	if err != nil {
		r.undecodable(h, at, err)
		return
	}
	// The source's, in a relay log. In a binlog the server's id may have been
	// changed while it ran.
	if h.flags&flagArtificial != 0 || r.log.Relay && h.serverID != r.log.ServerID {
		r.newStretch()
		return
	}
	r.log.ClosedBy, r.log.Next = h.typ, next
}

func (r *Reader) previousGTIDs(h header, at int64, body []byte) {
	decode := decodePreviousGTIDs
	if h.typ == MariaDBGTIDListEvent {
		decode = decodeGTIDList
	}
	set, err := decode(body)
	if err != nil {
		r.undecodable(h, at, err)
		return
	}
	r.log.PreviousGTIDs = set
	r.log.GTIDs = set.clone()
}

// payloadEvent takes all the rest of a transaction at once.
func (r *Reader) payloadEvent(at int64, body []byte, more io.Reader) bool {
	if more == nil {
		r.slice.b = body
		more = &r.slice
	}
	done := false
	err := r.payload.each(more, func(inner header, body []byte) {
		if done {
			return
		}
		var err error
		done, err = r.inTxn(inner, body)
		if err != nil {
			r.undecodable(inner, at, err)
		}
	})
	if err != nil {
		r.log.Damaged++
		r.log.Warnings.Add("payload-unread", Pos{r.log.Name, at}, "compressed payload could not be read to its end (%v): thread, tables and row events of its transaction may be missing", err)
		return true // whatever it was, the transaction has ended
	}
	return done
}

// sliceReader is a bytes.Reader without its extra methods: the zstd decoder
// would read a slice at a stroke, and so allocate what a frame claims.
type sliceReader struct{ b []byte }

func (s *sliceReader) Read(p []byte) (int, error) {
	if len(s.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p, s.b)
	s.b = s.b[n:]
	return n, nil
}

// inTxn takes an event of the current transaction, from the log or from a
// payload, and reports whether it is the last.
func (r *Reader) inTxn(h header, body []byte) (done bool, err error) {
	t := &r.txn
	switch events[h.typ].class {
	case classQuery:
		return r.query(h, body)
	case classTableMap:
		e, err := r.tableMap(body)
		if err != nil {
			return false, err
		}
		if e.txn != r.serial {
			e.txn, e.slot = r.serial, len(t.Tables)
			t.Tables = append(t.Tables, TableChanges{Table: e.table})
		}
	case classInsert:
		t.Inserts++
		t.StatementTime = seconds(h.time)
		if c := r.changes(body); c != nil {
			c.Inserts++
		}
	case classUpdate:
		t.Updates++
		t.StatementTime = seconds(h.time)
		if c := r.changes(body); c != nil {
			c.Updates++
		}
	case classDelete:
		t.Deletes++
		t.StatementTime = seconds(h.time)
		if c := r.changes(body); c != nil {
			c.Deletes++
		}
	case classXID:
		if len(body) < 8 {
			err = fault(ErrCorrupt, "body has %d of 8 bytes", len(body))
		} else {
			t.XID, t.HasXID = le64(body), true
		}
		t.Terminator = TerminatorXID
		return true, err
	case classXAPrepare:
		t.Terminator = TerminatorXAPrepare
		if len(body) > 0 && body[0] != 0 { // one phase
			t.Terminator = TerminatorXACommit
		}
		return true, nil
	case classIncident:
		r.log.Warnings.Add("incident", t.Pos(), "the server lost writes here and said so in an incident event")
		if r.state == opened {
			t.Terminator, t.RaisesClock = TerminatorIncident, true
			return true, nil
		}
	default: // counted, and of no interest
	}
	return false, nil
}

// query takes a statement: a lone one, or one that begins, goes on with or
// ends a transaction.
func (r *Reader) query(h header, body []byte) (done bool, err error) {
	t := &r.txn
	q, err := decodeQuery(h.typ, body)
	if err != nil {
		// A lone statement ends its transaction whatever it says.
		return r.state == opened && (r.statement || !t.HasGTIDEvent), err
	}
	if !t.HasThreadID {
		t.ThreadID, t.HasThreadID = q.threadID, true
	}
	if r.state == inside {
		switch {
		case isWord(q.text, "COMMIT"):
			t.Terminator = TerminatorCommit
			return true, nil
		case isWord(q.text, "ROLLBACK"):
			t.Terminator = TerminatorRollback
			return true, nil
		case !isWord(q.text, "BEGIN"):
			return r.innerStatement(h, q), nil
		}
		return false, nil
	}
	if isWord(q.text, "BEGIN") || !r.statement && opensTransaction(q.text) {
		r.state = inside
		t.BeginTime = seconds(h.time)
		return false, nil
	}
	r.database(q.database)
	t.BeginTime, t.StatementTime = seconds(h.time), seconds(h.time)
	t.Terminator = loneTerminator(q.text)
	t.RaisesClock = raisesClock(q.text)
	return true, nil
}

// innerStatement takes a statement inside a transaction, and reports whether
// it ends it: MariaDB opens XA COMMIT like any transaction.
func (r *Reader) innerStatement(h header, q statement) (done bool) {
	switch w := firstWords(q.text); {
	case fold(w[0], "XA"):
		if end := loneTerminator(q.text); end != TerminatorDDL {
			r.txn.Terminator = end
			return true
		}
	case fold(w[0], "SAVEPOINT", "ROLLBACK", "RELEASE"):
	default:
		r.txn.StatementTime = seconds(h.time)
		r.database(q.database)
	}
	return false
}

// database adds a statement's default database.
func (r *Reader) database(name []byte) {
	t := &r.txn
	if len(name) == 0 {
		return
	}
	// A transaction that changes its default database ever on is not worth a
	// quadratic search.
	if db := r.names.str(name); len(t.Databases) < 64 && !slices.Contains(t.Databases, db) {
		t.Databases = append(t.Databases, db)
	}
}

// tableMap finds the table of a table map event (rows_event.cpp, Table_map_event).
//
//	table id 6 | flags 2 | length 1 | schema | 0 | length 1 | name | 0 | columns
func (r *Reader) tableMap(body []byte) (*tableEntry, error) {
	id, rest, ok := r.tableID(body)
	if !ok || len(rest) < 3 {
		return nil, fault(ErrCorrupt, "body of %d bytes ends before its names", len(body))
	}
	rest = rest[2:]
	schema := int(rest[0]) + 2
	if schema >= len(rest) {
		return nil, fault(ErrCorrupt, "schema of %d bytes reaches beyond the body", rest[0])
	}
	name := schema + int(rest[schema]) + 2
	if name > len(rest) {
		return nil, fault(ErrCorrupt, "table name of %d bytes reaches beyond the body", rest[schema])
	}
	return r.names.table(id, rest[:name]), nil
}

// changes finds the table that a row event changes, or nil for one without a
// table map in its transaction, such as the dummy event that ends a statement.
func (r *Reader) changes(body []byte) *TableChanges {
	id, _, ok := r.tableID(body)
	if !ok {
		return nil
	}
	e := r.names.byID(id)
	if e == nil || e.txn != r.serial {
		return nil
	}
	return &r.txn.Tables[e.slot]
}

func (r *Reader) tableID(body []byte) (id uint64, rest []byte, ok bool) {
	if r.format.shortTableID {
		if len(body) < 4 {
			return 0, nil, false
		}
		return uint64(le32(body)), body[4:], true
	}
	if len(body) < 6 {
		return 0, nil, false
	}
	return le48(body), body[6:], true
}
