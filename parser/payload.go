package parser

import (
	"bufio"
	"errors"
	"io"

	"github.com/klauspost/compress/zstd"
)

// Bounds on a transaction payload event.
const (
	// maxPayload is how much of one payload is opened. Servers refuse packets,
	// and so events, beyond 1 GiB (max_allowed_packet).
	maxPayload = 1 << 30
	// maxPayloadWindow is the largest zstd window that is given memory. A server
	// needs 2 MiB at its default level 3; level 22 with a payload that large
	// would want 128 MiB.
	maxPayloadWindow = 16 << 20
	// maxInner is how much is looked at of one event inside a payload: more than
	// the names of any table map, and the beginning of any query.
	maxInner = 32 << 10
)

// payload opens transaction payload events (MySQL 8.0.20 and later,
// libs/mysql/binlog/event/codecs/binary.cpp):
//
//	(field type, length, value)... 0 | events without checksums, compressed as one
//
// It holds what is worth reusing from one event to the next.
type payload struct {
	zstd   *zstd.Decoder
	events *bufio.Reader
	fields byteReader
	limit  io.LimitedReader
}

// each calls f with the header and the beginning of the body of each event in
// the payload that body holds. What was read before an error has been given
// to f. The body slice holds until f returns.
func (p *payload) each(body io.Reader, f func(h header, body []byte)) error {
	// 1. The fields in front.
	in := &p.fields
	*in = byteReader{r: body}
	var size, compression uint64
	sized := false
	for {
		typ, err := in.lenenc()
		if err != nil {
			return err
		}
		if typ == 0 {
			break
		}
		length, err := in.lenenc()
		if err != nil {
			return err
		}
		if length > 9 {
			return fault(ErrCorrupt, "field %d has %d bytes, want at most 9", typ, length)
		}
		end := in.n + int64(length)
		value, err := in.lenenc()
		if err != nil {
			return err
		}
		for in.n < end {
			if _, err := in.byte(); err != nil {
				return err
			}
		}
		switch typ {
		case 2:
			compression = value
		case 3:
			size, sized = value, true
		}
	}

	// 2. The codec.
	var plain io.Reader
	switch compression {
	case 0:
		if p.zstd == nil {
			var err error
			// One goroutine, this one; a window is all the memory there is.
			p.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1),
				zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxPayloadWindow))
			if err != nil {
				return err
			}
		}
		if err := p.zstd.Reset(body); err != nil {
			return err
		}
		plain = p.zstd
	case 255:
		plain = body
	default:
		return fault(ErrUnsupported, "compression type is %d, want 0 (zstd) or 255 (none)", compression)
	}
	limit := int64(maxPayload)
	if sized && size < maxPayload {
		limit = int64(size)
	}
	limited := &p.limit
	*limited = io.LimitedReader{R: plain, N: limit}
	if p.events == nil {
		p.events = bufio.NewReaderSize(nil, maxInner)
	}
	p.events.Reset(limited)

	// 3. The events.
	for {
		head, err := p.events.Peek(headerLen)
		if len(head) == 0 && errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return payloadFault(err, "event header has %d of %d bytes", len(head), headerLen)
		}
		h := parseHeader(head)
		if h.length < headerLen {
			return fault(ErrCorrupt, "event length in the payload is %d, want at least %d", h.length, headerLen)
		}
		event, err := p.events.Peek(min(int(h.length), maxInner))
		if err != nil {
			return payloadFault(err, "event in the payload has %d of %d bytes", len(event), h.length)
		}
		f(h, event[headerLen:])
		if n, err := p.events.Discard(int(h.length)); err != nil {
			return payloadFault(err, "event in the payload has %d of %d bytes", n, h.length)
		}
	}
	if limited.N == 0 {
		var one [1]byte
		if n, _ := plain.Read(one[:]); n > 0 {
			return fault(ErrUnsupported, "payload holds more than %d bytes", limit)
		}
	}
	return nil
}

// payloadFault says what is wrong with a payload: the decompressor's word, or
// that it ended too early.
func payloadFault(err error, format string, args ...any) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fault(ErrCorrupt, format, args...)
	}
	return fault(ErrCorrupt, "zstd: %v", err)
}

// byteReader reads the fields in front of a payload, byte by byte, and so
// leaves the payload itself unread.
type byteReader struct {
	r   io.Reader
	n   int64
	buf [1]byte
}

func (b *byteReader) byte() (byte, error) {
	if _, err := io.ReadFull(b.r, b.buf[:]); err != nil {
		return 0, fault(ErrCorrupt, "body ends inside the fields of a payload")
	}
	b.n++
	return b.buf[0], nil
}

// lenenc is cursor.lenenc on a stream.
func (b *byteReader) lenenc() (uint64, error) {
	first, err := b.byte()
	if err != nil {
		return 0, err
	}
	var size int
	switch first {
	case 0xfc:
		size = 2
	case 0xfd:
		size = 3
	case 0xfe:
		size = 8
	case 0xfb, 0xff:
		return 0, fault(ErrCorrupt, "field begins with %#x, which no integer does", first)
	default:
		return uint64(first), nil
	}
	var v uint64
	for i := range size {
		c, err := b.byte()
		if err != nil {
			return 0, err
		}
		v |= uint64(c) << (8 * i)
	}
	return v, nil
}
