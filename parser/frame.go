package parser

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
)

// blockSize is how much of a log is read at a time. 256 KiB keeps a block in
// the second-level cache between the checksum and the decoder.
const blockSize = 256 << 10

var (
	magicPlain     = []byte{0xfe, 'b', 'i', 'n'}
	magicEncrypted = []byte{0xfd, 'b', 'i', 'n'} // sql/rpl_log_encryption.h
	magicInnoDB    = []byte{0xfe, 0xfe, 0x0d, 0x01}
)

// block is a run of whole events, or a piece of one event that is too large
// for a block. Its memory belongs to the framer that filled it.
type block struct {
	buf  []byte // backing store, blockSize long
	off  int64  // offset of data[0] in the log
	data []byte
	// A large event comes in pieces: start has its header, end its last byte.
	large, start, end bool
	bad               []int // where in data an event with a bad checksum begins; in a large event's last piece [0]
	err               error // what ended the log behind data: io.EOF or an *Error
}

func newBlock() *block { return &block{buf: make([]byte, blockSize)} }

// maxFormatLen bounds a format event: 57 bytes, one for each event type, a
// checksum.
const maxFormatLen = 1 << 10

// framer cuts a log into blocks and verifies checksums. It looks into no body
// but the format event's, which says whether there are checksums.
type framer struct {
	src    io.Reader
	name   string
	verify bool
	live   bool // src gives what there is, and may wait for more
	relay  bool // log_pos is another server's

	off       int64  // of the next byte to give out
	begun     bool   // the magic number and a format event have been seen
	rest      []byte // read, but not given out yet
	srcErr    error  // what src ended with
	checksums bool
	starts    []int // of events in the block whose checksums are not verified yet

	// delta is log_pos minus the own end offset, modulo 2^32, of the last event
	// that had a log_pos: not 0 in raw copies from the middle of a log.
	delta    uint32
	hasDelta bool

	// A large event under way.
	largeAt   int64
	largeHead header
	left      int64 // bytes not given out yet
	sum       uint32
	sumLeft   int64 // bytes that the checksum still covers
	tail      []byte
}

func newFramer(src io.Reader, name string, verify bool) *framer {
	return &framer{src: src, name: name, verify: verify, relay: nameTellsRelay(name)}
}

// next fills b. After a block with err set there is no other.
func (f *framer) next(b *block) {
	b.data, b.bad, b.err = nil, b.bad[:0], nil
	b.large, b.start, b.end = false, false, false
	n := copy(b.buf, f.rest) // at most a block
	f.rest = f.rest[:0]
	for n < len(b.buf) && f.srcErr == nil && (!f.live || !f.enough(b.buf[:n])) {
		var m int
		m, f.srcErr = f.src.Read(b.buf[n:])
		n += m
		var jump *JumpError
		switch {
		case n == 0 && f.live && errors.As(f.srcErr, &jump):
			f.off, f.srcErr = jump.Offset, nil
		case m == 0 && f.srcErr == nil:
			f.srcErr = io.ErrNoProgress
		}
	}
	b.off = f.off
	have := b.buf[:n]
	if f.left > 0 {
		f.piece(b, have)
		return
	}
	i := 0
	if !f.begun {
		if b.err = f.begin(have); b.err != nil {
			return
		}
		// Offsets go on from the magic number, which is in no block.
		i = len(magicPlain)
		b.off += int64(i)
	}
	start := i
	for {
		event := have[i:]
		if len(event) < headerLen {
			break
		}
		h := parseHeader(event)
		pos := f.off + int64(i)
		if b.err = f.check(h, event, pos); b.err != nil {
			break
		}
		if int64(h.length) > int64(len(event)) {
			break
		}
		event = event[:h.length]
		if h.typ == FormatDescriptionEvent {
			f.checksumRun(b, have[start:i])
			f.format(h, event)
			if f.checksums && f.verify && !checksumHolds(h.typ, event) {
				b.bad = append(b.bad, i-start)
			}
		} else if f.checksums && f.verify {
			f.starts = append(f.starts, i-start)
		}
		f.begun = true
		if h.logPos != 0 {
			f.delta, f.hasDelta = h.logPos-uint32(pos+int64(h.length)), true
		}
		i += int(h.length)
	}
	f.checksumRun(b, have[start:i])
	f.keep(b, have, start, i)
	if b.err != nil {
		return
	}
	tail := have[i:]
	switch {
	case len(tail) == len(b.buf)-start && f.srcErr == nil:
		f.large(b, tail)
	case f.srcErr == nil:
		f.rest = append(f.rest[:0], tail...)
	case !errors.Is(f.srcErr, io.EOF):
		b.err = &Error{Pos{f.name, f.off}, 0, f.srcErr}
	default:
		b.err = f.ending(tail)
	}
}

// enough reports whether there is a whole event in have, or the next piece of a
// large one.
func (f *framer) enough(have []byte) bool {
	if f.left > 0 {
		return len(have) > 0
	}
	if !f.begun {
		have = have[min(len(have), len(magicPlain)):]
	}
	return len(have) >= headerLen && int64(parseHeader(have).length) <= int64(len(have))
}

// keep gives have[start:end] out.
func (f *framer) keep(b *block, have []byte, start, end int) {
	b.data = have[start:end]
	f.off += int64(end)
}

// begin checks the magic number.
func (f *framer) begin(have []byte) error {
	at := func(kind error, format string, args ...any) error {
		return &Error{Pos{f.name, 0}, 0, fault(kind, format, args...)}
	}
	switch {
	case len(have) < len(magicPlain)+headerLen && !errors.Is(f.srcErr, io.EOF):
		return &Error{Pos{f.name, 0}, 0, f.srcErr}
	case len(have) == 0:
		return at(ErrNotBinlog, "empty file")
	case bytes.HasPrefix(have, magicPlain):
		if len(have) < len(magicPlain)+headerLen {
			return at(ErrTruncated, "log of %d bytes holds no format description event", len(have))
		}
		return nil
	case bytes.HasPrefix(have, magicEncrypted):
		return at(ErrEncrypted, "encrypted binlog (magic number fd 62 69 6e): only its server can read it")
	case bytes.HasPrefix(have, magicInnoDB):
		return at(ErrUnsupported, "InnoDB binlog of MariaDB 12.3 (.ibb), not a classic binlog")
	default:
		return at(ErrNotBinlog, "magic number is % x, want fe 62 69 6e", have[:min(len(have), len(magicPlain))])
	}
}

// check says why event, of which only the header is sure to be there, cannot
// be framed.
func (f *framer) check(h header, event []byte, pos int64) error {
	at := func(kind error, format string, args ...any) error {
		return &Error{Pos{f.name, pos}, 0, fault(kind, format, args...)}
	}
	switch {
	case !f.begun && h.typ == StartV3Event:
		return at(ErrUnsupported, "log of MySQL 4.1 or older (start event of version 3)")
	case !f.begun && h.typ != FormatDescriptionEvent:
		return at(ErrCorrupt, "first event is %v, want format description", h.typ)
	case h.length < headerLen && allZero(event[:headerLen]):
		return f.zeros(event, pos)
	case bytes.HasPrefix(event, magicPlain) && len(event) > len(magicPlain) && event[8] == byte(FormatDescriptionEvent):
		return at(ErrCorrupt, "another log begins here: give joined logs apart")
	case h.length < headerLen:
		return at(ErrCorrupt, "event length is %d, want at least %d", h.length, headerLen)
	case h.typ == FormatDescriptionEvent && h.length > maxFormatLen:
		return at(ErrCorrupt, "format description event of %d bytes, want at most %d", h.length, maxFormatLen)
	case h.typ == 0:
		return at(ErrCorrupt, "event type is 0")
	case f.checksums && h.length < headerLen+checksumLen && h.typ != FormatDescriptionEvent:
		return at(ErrCorrupt, "event length is %d, want at least %d with a checksum", h.length, headerLen+checksumLen)
	}
	return nil
}

// zeros tells a log that is zero-filled to its end from a hole in it.
func (f *framer) zeros(event []byte, pos int64) error {
	n := int64(0)
	for buf := event; ; {
		if !allZero(buf) {
			return &Error{Pos{f.name, pos}, 0, fault(ErrCorrupt, "event length is 0, want at least %d", headerLen)}
		}
		n += int64(len(buf))
		if f.srcErr != nil {
			break
		}
		var m int
		buf = event[:cap(event)]
		m, f.srcErr = f.src.Read(buf)
		if m == 0 && f.srcErr == nil {
			f.srcErr = io.ErrNoProgress
		}
		buf = buf[:m]
	}
	if !errors.Is(f.srcErr, io.EOF) {
		return &Error{Pos{f.name, pos}, 0, f.srcErr}
	}
	return &Error{Pos{f.name, pos}, 0, fault(ErrTruncated, "zero-filled to its end (%d bytes)", n)}
}

// ending says how a log ends that has tail behind its last whole event.
func (f *framer) ending(tail []byte) error {
	if len(tail) == 0 {
		if !f.begun {
			return &Error{Pos{f.name, f.off}, 0, fault(ErrTruncated, "no format description event")}
		}
		return io.EOF
	}
	if len(tail) < headerLen {
		if allZero(tail) {
			return &Error{Pos{f.name, f.off}, 0, fault(ErrTruncated, "zero-filled to its end (%d bytes)", len(tail))}
		}
		return &Error{Pos{f.name, f.off}, 0, fault(ErrTruncated, "event header has %d of %d bytes", len(tail), headerLen)}
	}
	return f.cut(parseHeader(tail), f.off, int64(len(tail)))
}

// cut is the error for an event at pos of which the log holds only have bytes.
// A length that the event's own log_pos contradicts was not cut but damaged.
func (f *framer) cut(h header, pos, have int64) error {
	if end := uint32(pos + int64(h.length)); f.hasDelta && !f.relay && h.logPos != 0 && h.logPos-end != f.delta {
		return &Error{Pos{f.name, pos}, h.typ, fault(ErrCorrupt, "event length is %d, which its end position contradicts", h.length)}
	}
	return &Error{Pos{f.name, pos}, h.typ, fault(ErrTruncated, "event has %d of %d bytes", have, h.length)}
}

// format takes from a format event whether the events from it on have checksums.
func (f *framer) format(h header, event []byte) {
	var l Log
	format, err := l.parseFormat(h, event[headerLen:])
	if err != nil {
		return // the Reader meets it too, and reports it
	}
	f.checksums = format.hasChecksums
	f.relay = f.relay || h.flags&flagRelayLog != 0
}

// residue is the CRC32 of anything that has its own CRC32 behind it.
const residue = 0x2144df1c

// checksumRun verifies the checksums of the events at f.starts in data, which
// stand one behind the other, all at once: on short pieces CRC32 is several
// times slower. Behind an event whose checksum holds the sum is the residue,
// whatever the event; with the residue flipped in its first four bytes the next
// one goes on from there as from a fresh start. Only where the end does not fit
// is each looked at.
func (f *framer) checksumRun(b *block, data []byte) {
	if len(f.starts) == 0 {
		return
	}
	run := data[f.starts[0]:]
	for _, at := range f.starts {
		flipResidue(data[at:])
	}
	sum := crc32.Update(residue, crc32.IEEETable, run)
	for _, at := range f.starts {
		flipResidue(data[at:])
	}
	if sum != residue {
		for _, at := range f.starts {
			event := data[at:]
			if !checksumHolds(EventType(event[4]), event[:le32(event[9:])]) {
				b.bad = append(b.bad, at)
			}
		}
	}
	f.starts = f.starts[:0]
}

func flipResidue(event []byte) {
	binary.LittleEndian.PutUint32(event, le32(event)^residue)
}

// checksumHolds verifies a whole event. A format event's checksum was made
// with its in-use flag cleared (binlog_event.cpp, event_checksum_test).
func checksumHolds(typ EventType, event []byte) bool {
	covered := event[:len(event)-checksumLen]
	want := le32(event[len(covered):])
	if typ != FormatDescriptionEvent {
		return crc32.ChecksumIEEE(covered) == want
	}
	return formatChecksum(covered) == want
}

func formatChecksum(covered []byte) uint32 {
	var head [headerLen]byte
	copy(head[:], covered)
	head[17] &^= flagInUse
	return crc32.Update(crc32.ChecksumIEEE(head[:]), crc32.IEEETable, covered[headerLen:])
}

// large gives out the first piece of an event that fills b alone.
func (f *framer) large(b *block, first []byte) {
	h := parseHeader(first)
	f.begun = true
	f.largeAt, f.largeHead, f.left = f.off, h, int64(h.length)
	f.sum, f.sumLeft, f.tail = 0, int64(h.length), f.tail[:0]
	if f.checksums {
		f.sumLeft -= checksumLen
	}
	if h.logPos != 0 && !f.relay {
		end := uint32(f.off + int64(h.length))
		if f.hasDelta && h.logPos-end != f.delta {
			b.err = f.cut(h, f.off, int64(len(first)))
			return
		}
	}
	b.off = f.off
	b.start = true
	f.piece(b, first)
}

// piece gives out the next piece of a large event from the front of have, and
// puts the rest back.
func (f *framer) piece(b *block, have []byte) {
	n := min(int64(len(have)), f.left)
	b.large = true
	b.data = have[:n]
	f.left -= n
	f.off += n
	covered := min(n, f.sumLeft)
	if f.checksums && f.verify {
		f.sum = crc32.Update(f.sum, crc32.IEEETable, b.data[:covered])
		f.tail = append(f.tail, b.data[covered:]...)
	}
	f.sumLeft -= covered
	if f.left == 0 {
		b.end = true
		if f.checksums && f.verify && le32(f.tail) != f.sum {
			b.bad = append(b.bad, 0)
		}
		f.rest = append(f.rest[:0], have[n:]...)
		return
	}
	if f.srcErr != nil {
		b.err = &Error{Pos{f.name, f.off}, 0, f.srcErr}
		if errors.Is(f.srcErr, io.EOF) {
			b.err = f.cut(f.largeHead, f.largeAt, f.off-f.largeAt)
		}
	}
}

func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
