package stream

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"time"

	"bgcstat/parser"
	"bgcstat/parser/server"
)

// source gives the bytes of one log after the other, as they stand in the
// server's files, and connects anew when that is needed.
type source struct {
	ctx    context.Context //nolint:containedctx // Read has no other way to know of it
	stream *Stream
	facts  Facts  // of the server at first
	now    Facts  // and of the one that is connected to
	known  string // identity of the server that the logs are of

	conn    *server.Conn
	events  *server.Events
	twice   bool          // the server refused to read on, and was asked again
	lost    error         // why the last connection, or attempt at one, is gone
	wait    time.Duration // before the next attempt to connect
	tries   int           // attempts to connect again since a transaction or a heartbeat has come
	unwatch func() bool   // has ctx close events no more
	failed  error         // what ended all
	done    bool          // a bounded dump has been sent to its end
	until   parser.Pos    // which is here at least; "" where that is not known
	early   int           // how often the server ended it before, in a row
	asked   bool          // where until is not known: the dump was asked for once more, at its end
	quiet   bool          // the next connection is no news

	// The log under way.
	file     string
	made     uint32 // time in its format event's header, 0 before that came
	at       int64  // offset up to which the log was given out
	boundary int64  // where a dump can go on: behind the last transaction, or the format event
	fresh    bool   // the log that is told of next is a new one, whatever its name
	moved    bool   // it is of another server than the one at first
	came     bool   // a transaction of this server
	begin    int64  // where the dump begins in the log, until it has
	there    bool   // the place that was asked for at first was found
	resumed  bool   // it goes on in a log that was read before
	passed   int64  // length of what was passed over, which may stand there

	// The dump under way.
	next    int64  // offset of the event that comes next
	pending []byte // bytes to give out before the rest of the event
	left    int64  // bytes of the event that are left to be given out
	jump    int64  // where the log goes on, to be told; 0 for none
	nextIs  string // name of the log that has begun, "" for none
	// abandoned: what comes is another server's.
	abandoned bool

	arrived time.Time // when what was given out last came
	gtids   tracker
	id      string // UUID of this reader
}

func newSource(ctx context.Context, s *Stream) *source {
	return &source{ctx: ctx, stream: s}
}

// Event types and flags that are not passed on as they are (binlog_event.h;
// MariaDB sql/log_event.h).
const (
	headerLen   = 19
	checksumLen = 4
	artificial  = 0x20
	inUse       = 0x01
	maxSmall    = 4 << 10 // bytes of a format or rotate event
)

type header struct {
	time   uint32
	typ    parser.EventType
	length int64
	logPos uint32
	flags  uint16
}

func parseHeader(b []byte) header {
	le := binary.LittleEndian
	return header{le.Uint32(b), parser.EventType(b[4]), int64(le.Uint32(b[9:])), le.Uint32(b[13:]), le.Uint16(b[17:])}
}

var magic = []byte{0xfe, 'b', 'i', 'n'}

// took takes note of a transaction that was given to the caller.
func (s *source) took(t *parser.Txn) {
	s.boundary, s.wait, s.tries, s.twice, s.early = t.End, 0, 0, false, 0
	s.came = true
	s.gtids.add(t)
}

// nextLog waits for the beginning of a log. It gives io.EOF where there is none
// to come.
func (s *source) nextLog() error {
	s.abandoned = false
	for s.nextIs == "" {
		if s.done {
			return io.EOF
		}
		if err := s.fill(true); err != nil {
			return err
		}
		s.skip() // it is of a log that is not read on
	}
	if s.file != "" && s.stream.config.Bounded {
		return io.EOF
	}
	s.file, s.nextIs = s.nextIs, ""
	s.made, s.at, s.boundary = 0, 0, s.begin // 0 in all logs but the first
	s.gtids.enter(s.file)
	s.where()
	return nil
}

// skip passes over what is there to be given out.
func (s *source) skip() { s.pending, s.left, s.jump, s.abandoned = nil, 0, 0, false }

// where tells the state how far reading is.
func (s *source) where() {
	s.stream.update(func(st *State) { st.File, st.Offset = s.file, s.reached() })
}

// reached is up to where the log was given out, or is not wanted.
func (s *source) reached() int64 { return max(s.at, s.begin) }

// Read gives the next bytes of the log, as many as have come, and waits for at
// least one. Events that are not in the log are left out.
func (s *source) Read(b []byte) (int, error) {
	n := 0
	for n < len(b) {
		if s.failed != nil && n == 0 {
			return 0, parser.ErrAbandoned
		}
		if !s.told() {
			if err := s.fill(n == 0); err != nil && n == 0 {
				return 0, parser.ErrAbandoned // Stream knows why
			}
			if !s.told() {
				break
			}
		}
		// What is no part of an event, and an event that has no room, wait for
		// the next call.
		if n > 0 && (s.size() == 0 || s.jump > 0 || s.size() > int64(len(b)-n)) {
			break
		}
		switch {
		case s.jump > 0:
			s.at, s.jump = s.jump, 0
			return 0, &parser.JumpError{Offset: s.at}
		case s.abandoned:
			return 0, parser.ErrAbandoned
		case s.nextIs != "" || s.done:
			return 0, io.EOF
		}
		m, err := s.take(b[n:])
		n += m
		if err != nil { // it will come again, and what was given out of it is passed over
			s.left = 0
			s.lose(err)
		}
	}
	s.arrived = time.Now()
	s.stream.update(func(st *State) { st.Offset, st.Heard = s.reached(), s.arrived })
	return n, nil
}

// told reports whether there is something to be given out.
func (s *source) told() bool {
	return s.size() > 0 || s.jump > 0 || s.nextIs != "" || s.done || s.abandoned
}

// size is how much of the event is left.
func (s *source) size() int64 { return int64(len(s.pending)) + s.left }

var errTooShort = errors.New("malformed answer: event is shorter than its length")

// discard passes over the next n bytes of an event.
func discard(event io.Reader, n int64) error {
	_, err := io.CopyN(io.Discard, event, n)
	if errors.Is(err, io.EOF) { // which would be the end of a dump
		return errTooShort
	}
	return err
}

// take gives bytes of the event under way.
func (s *source) take(b []byte) (n int, err error) {
	if len(s.pending) > 0 {
		n = copy(b, s.pending)
		s.pending = s.pending[n:]
	} else {
		n, err = s.events.Read(b[:min(int64(len(b)), s.left)])
		s.left -= int64(n)
		if errors.Is(err, io.EOF) {
			err = errTooShort
		}
	}
	s.at += int64(n)
	return n, err
}

// fill goes on to the next event that is in a log, or to what else there is to
// tell. Where the connection is lost it connects again, if it may wait. An
// error is the end of all.
func (s *source) fill(wait bool) error {
	for !s.told() {
		// What comes may be left out, and then the next one is waited for.
		if !wait && (s.events == nil || !s.events.Ready()) {
			return nil
		}
		if s.events == nil {
			if err := s.reconnect(); err != nil {
				return s.fail(err)
			}
			continue
		}
		err := s.event()
		switch {
		case err == nil:
		case s.ctx.Err() != nil:
			return s.fail(ErrClosed)
		case errors.Is(err, io.EOF) && s.bounded() && !s.short():
			if s.until.File != "" || s.asked || s.stream.config.Retries == 0 {
				s.done = true
				continue
			}
			// Whether the log goes on is not known: what it gives once more tells.
			s.lost = s.endedDump()
			s.asked, s.quiet = true, true
			s.disconnect()
		default:
			if errors.Is(err, io.EOF) && s.bounded() {
				if s.early++; s.early > maxEarly {
					return s.fail(fmt.Errorf("%w at %v, before %v", s.endedDump(), parser.Pos{File: s.file, Offset: s.at}, s.until))
				}
			}
			if errors.Is(err, io.EOF) {
				err = s.endedDump()
			}
			if err := s.fatal(err); err != nil {
				return s.fail(err)
			}
			s.lose(err)
		}
	}
	return nil
}

// endedDump is io.EOF of a dump in the words of a connection that is lost.
func (s *source) endedDump() error {
	return fmt.Errorf("%w to %s: the server has ended the dump", server.ErrLost, s.conn.Target())
}

// maxEarly is how many times in a row a bounded dump may end too early.
const maxEarly = 5

// short reports whether a log went on behind what came of it when reading began.
// A server that shuts down, or a KILL QUERY, ends a dump like its own end does.
func (s *source) short() bool {
	if s.until.File == "" {
		return false
	}
	if s.file == s.until.File {
		return max(s.at, s.next) < s.until.Offset
	}
	base, number, ok := parser.SplitName(s.file)
	if !ok {
		return false
	}
	last, end, ok := parser.SplitName(s.until.File)
	return ok && base == last && number < end
}

func (s *source) bounded() bool { return s.stream.config.Bounded || s.stream.config.ToLastLog }

func (s *source) fail(err error) error {
	if s.ctx.Err() != nil {
		err = ErrClosed
	}
	s.failed = err
	return err
}

// event takes the next event that the server sends.
func (s *source) event() error {
	head, err := s.events.Next(headerLen)
	if err != nil {
		return err
	}
	if len(head) < headerLen {
		return fmt.Errorf("malformed answer: event header has %d of %d bytes", len(head), headerLen)
	}
	h := parseHeader(head)
	switch {
	case h.length < headerLen:
		return fmt.Errorf("malformed answer: event length is %d, want at least %d", h.length, headerLen)
	case h.typ == parser.HeartbeatEvent, h.typ == parser.HeartbeatV2Event:
		s.tries = 0
		s.stream.update(func(st *State) { st.Heard = time.Now() })
		return s.begun() // it comes when all was sent
	case h.typ == parser.FormatDescriptionEvent:
		return s.format(h)
	case h.typ == parser.RotateEvent && h.flags&artificial != 0:
		return s.rotated(h)
	case h.typ == parser.MariaDBStartEncryptionEvent:
		// MariaDB decrypts what it sends, and says all the same that it is encrypted.
		s.passed = h.length
		return nil
	case h.flags&artificial != 0:
		return nil
	}
	// 1. Where it is. The 32 bits of log_pos tell, except inside MariaDB's
	// transactions since 11.4.
	start := s.next
	if h.logPos != 0 {
		start = extend(h.logPos, s.next+h.length) - h.length
	}
	s.next = start + h.length
	// 2. What of it has not been given out.
	if s.begin > 0 {
		if s.next <= s.begin {
			return nil
		}
		// What is no event has any position, or none.
		if h.logPos == 0 || start != s.begin && start != s.begin+s.passed {
			return s.noBegin("no transaction begins there")
		}
		s.begin, s.passed = 0, 0
		s.found()
	}
	switch {
	case s.next <= s.at:
		return nil
	case start > s.at:
		s.jump = start
	case start < s.at:
		if err := discard(s.events, s.at-start); err != nil {
			return err
		}
	}
	s.left = s.next - max(start, s.at)
	return nil
}

// begun gives an error where the log has ended before the offset to begin at.
func (s *source) begun() error {
	if s.file == "" {
		return nil
	}
	if s.begin > s.next {
		return s.noBegin("the log ends at %d", s.next)
	}
	s.found()
	return nil
}

// found takes note that the place to begin at is in the log.
func (s *source) found() {
	if !s.there {
		s.there = true
		s.stream.update(func(st *State) { st.Begun = true })
	}
}

// noBegin says why a dump cannot begin where it was to. Where reading had come
// there before, that is another log now.
func (s *source) noBegin(format string, args ...any) error {
	at := parser.Pos{File: cmp.Or(s.file, s.stream.config.From.File), Offset: s.begin}
	if s.resumed {
		return fmt.Errorf("%w: reading cannot go on at %v: %s", ErrReplaced, at, fmt.Sprintf(format, args...))
	}
	return fmt.Errorf("%w %v: %s", ErrPosition, at, fmt.Sprintf(format, args...))
}

// extend gives the offset nearest to one that is expected that has these lower
// 32 bits.
func extend(low uint32, expected int64) int64 {
	at := expected + int64(int32(low-uint32(expected)))
	if at < firstOffset { // a gap of more than 2 GiB
		at += 1 << 32
	}
	return at
}

// small reads a whole event of the server's own making.
func (s *source) small(h header) ([]byte, error) {
	if h.length > maxSmall {
		return nil, fmt.Errorf("malformed answer: event of type %d has %d bytes, want at most %d", h.typ, h.length, maxSmall)
	}
	b := make([]byte, h.length)
	_, err := io.ReadFull(s.events, b)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = errTooShort
	}
	return b, err
}

// format takes the event that each dump of a log begins with. It is given out
// where the log was not begun yet.
func (s *source) format(h header) error {
	b, err := s.small(h)
	if err != nil {
		return err
	}
	end := firstOffset + h.length
	if s.begin > 0 && s.begin < end {
		return s.noBegin("an event goes from %d to %d there", firstOffset, end)
	}
	if s.next < end {
		s.next = end
	}
	switch {
	case s.made == 0:
	case s.made != h.time:
		return fmt.Errorf("%w: %s was begun at %v, and %v now", ErrReplaced, s.file, utc(s.made), utc(h.time))
	default:
		return nil
	}
	s.made = h.time
	// The server does not tell whether the log is closed; its end will. The
	// checksum is that of a closed one in either case.
	b[17] |= inUse
	s.pending = append(bytes.Clone(magic), b...)
	s.boundary = max(end, s.begin)
	return nil
}

func utc(seconds uint32) string {
	return time.Unix(int64(seconds), 0).UTC().Format(time.DateTime)
}

// rotated takes what the server says of the log that its dump goes on in.
func (s *source) rotated(h header) error {
	b, err := s.small(h)
	if err != nil {
		return err
	}
	if n := len(b) - checksumLen; n > headerLen+8 && crc32.ChecksumIEEE(b[:n]) == binary.LittleEndian.Uint32(b[n:]) {
		b = b[:n]
	}
	if len(b) <= headerLen+8 {
		return fmt.Errorf("malformed answer: rotate event has %d bytes", len(b))
	}
	at := int64(binary.LittleEndian.Uint64(b[headerLen:]))
	name := string(b[headerLen+8:])
	same := name == s.file && !s.fresh
	if !same {
		if err := s.begun(); err != nil {
			return err
		}
		if s.file != "" {
			s.begin = 0
		}
	}
	// In a log the position is that of the request, which had 32 bits for it.
	s.next = max(at, firstOffset)
	if same {
		return nil
	}
	s.nextIs, s.fresh = name, false
	return nil
}

// lose gives the connection up.
func (s *source) lose(err error) {
	s.disconnect()
	s.lost = err
	s.stream.update(func(st *State) { st.Connected = false })
	if s.ctx.Err() == nil { // else it is this end that has closed it
		s.notify(Lost, "%v", err)
	}
}

func (s *source) disconnect() {
	if s.events != nil {
		s.unwatch()
		s.events.Close()
		s.events = nil
	}
	if s.conn != nil {
		_ = s.conn.Close() // it is gone either way
		s.conn = nil
	}
}

func (s *source) notify(kind NoticeKind, format string, args ...any) {
	s.stream.config.Notify(Notice{time.Now(), kind, fmt.Sprintf(format, args...)})
}
