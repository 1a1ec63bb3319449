package server

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/go-mysql-org/go-mysql/mysql"
)

// Events are the binlog events that a server sends in answer to a dump
// command, one after the other, as bytes. They are for one goroutine, but Close
// may be called from another.
//
// The driver's own way hands each event over in memory of its own. Here they are
// read out of the connection's buffer, so that an event costs no allocation
// and a large one no memory.
type Events struct {
	conn    *Conn
	buf     *bufio.Reader
	timeout time.Duration
	left    int  // of the packet
	more    bool // the event goes on in the packet behind
}

// timed is a connection that gives up reading when nothing comes for so long.
type timed struct {
	net.Conn
	timeout time.Duration
}

func (t *timed) Read(b []byte) (int, error) {
	if err := t.SetReadDeadline(time.Now().Add(t.timeout)); err != nil { //nolint:forbidigo // of the connection
		return 0, err
	}
	return t.Conn.Read(b)
}

// eventsBuffer is how much is read of the connection at a time.
const eventsBuffer = 128 << 10

// maxPacket is the payload of a packet that goes on in another one.
const maxPacket = 1<<24 - 1

// Events sends a command that the server answers by binlog events
// (COM_BINLOG_DUMP and its like), and gives them. The connection can do nothing
// else from then on. No event for longer than timeout is an error; the server
// sends heartbeats where it was asked to. ctx bounds the sending only.
func (c *Conn) Events(ctx context.Context, command []byte, timeout time.Duration) (*Events, error) {
	if c.lost != nil {
		return nil, c.lostError()
	}
	stop := context.AfterFunc(ctx, c.wire.shut)
	err := c.protect(func() error {
		c.conn.ResetSequence()
		return c.conn.WritePacket(append(make([]byte, 4), command...))
	})
	if !stop() {
		err = context.Cause(ctx)
	}
	if err != nil {
		c.lose(plain(err))
		return nil, c.lostError()
	}
	// Nothing is buffered between a statement's answer and the next command, so
	// that the driver's buffer can be left out.
	conn := &timed{c.conn.Conn.Conn, timeout}
	return &Events{conn: c, buf: bufio.NewReaderSize(conn, eventsBuffer), timeout: timeout}, nil
}

// Next goes on to the next event, past what was not read of the last one, and
// gives its first n bytes, or all where it is shorter, which hold until the
// next call. io.EOF says that the server has sent all that was asked for. An
// error wraps ErrLost where the connection is gone, a *PrivilegeError where the
// server refuses for want of a privilege, and a *DumpError where it refuses
// otherwise.
func (e *Events) Next(n int) ([]byte, error) {
	for e.left > 0 || e.more {
		if e.left == 0 {
			if err := e.packet(); err != nil {
				return nil, e.failed(err)
			}
			continue
		}
		d, err := e.buf.Discard(e.left)
		e.left -= d
		if err != nil {
			return nil, e.failed(err)
		}
	}
	if err := e.packet(); err != nil {
		return nil, e.failed(err)
	}
	if e.left == 0 {
		return nil, e.failed(errors.New("malformed answer: empty packet"))
	}
	kind, err := e.buf.ReadByte()
	e.left--
	if err != nil {
		return nil, e.failed(err)
	}
	switch {
	case kind == mysql.ERR_HEADER:
		return nil, e.refused()
	case kind == mysql.EOF_HEADER && e.left < 8:
		return nil, io.EOF
	case kind != mysql.OK_HEADER:
		return nil, e.failed(fmt.Errorf("malformed answer: packet of kind %#x", kind))
	}
	head, err := e.buf.Peek(min(n, e.left))
	if err != nil {
		return nil, e.failed(err)
	}
	return head, nil
}

// Read reads on in the event, from its first byte, and gives io.EOF at its end.
func (e *Events) Read(b []byte) (int, error) {
	for e.left == 0 {
		if !e.more {
			return 0, io.EOF
		}
		if err := e.packet(); err != nil {
			return 0, e.failed(err)
		}
	}
	n, err := e.buf.Read(b[:min(len(b), e.left)])
	e.left -= n
	if err != nil {
		return n, e.failed(err)
	}
	return n, nil
}

// Ready reports whether the next event has come as a whole. One that is longer
// than what is read of the connection at a time never has.
func (e *Events) Ready() bool {
	if e.more || e.buf.Buffered() < e.left+4 {
		return false
	}
	head, err := e.buf.Peek(e.left + 4)
	return err == nil && e.left+4+int(binary.LittleEndian.Uint32(head[e.left:])&0xffffff) <= e.buf.Buffered()
}

// Close closes the connection, which ends a Next or Read that waits.
func (e *Events) Close() { e.conn.wire.shut() }

// packet reads a packet's header.
func (e *Events) packet() error {
	head, err := e.buf.Peek(4)
	if err != nil {
		return err
	}
	e.left = int(binary.LittleEndian.Uint32(head) & 0xffffff)
	e.more = e.left == maxPacket
	_, err = e.buf.Discard(4)
	return err
}

// failed gives an error of reading its words, and the connection up.
func (e *Events) failed(err error) error {
	if e.conn.lost == nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			err = fmt.Errorf("no event and no heartbeat for %v", e.timeout)
		}
		e.conn.lose(plain(err))
	}
	return e.conn.lostError()
}

// maxRefusal bounds the text of an error: the server's own limit is 512 bytes
// (include/mysql_com.h, MYSQL_ERRMSG_SIZE).
const maxRefusal = 4 << 10

// refused reads the server's error.
func (e *Events) refused() error {
	b := make([]byte, min(e.left, maxRefusal))
	if _, err := io.ReadFull(e.buf, b); err != nil {
		return e.failed(err)
	}
	if len(b) < 2 {
		return e.failed(errors.New("malformed answer: error without a code"))
	}
	r := &DumpError{Code: binary.LittleEndian.Uint16(b), Text: string(b[2:])}
	if len(b) > 8 && b[2] == '#' { // SQL state
		r.Text = string(b[8:])
	}
	e.conn.lose(r)
	if err := e.conn.explain("BINLOG DUMP", &serverError{r.Code, r.Text}); err != nil {
		if p, ok := errors.AsType[*PrivilegeError](err); ok {
			return p
		}
	}
	return r
}

// DumpError is an error that the server sent in the place of events, and then
// closed the connection.
type DumpError struct {
	Code uint16 // 1236 where it cannot read its own logs as it was asked to
	Text string // in the server's words
}

func (r *DumpError) Error() string { return fmt.Sprintf("%s (error %d)", r.Text, r.Code) }
