package parser

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// Tail reads what a server appends to its binlog while it is written, from
// where the log ended when it was first looked at. It is not safe for
// concurrent use.
type Tail struct {
	file *os.File
	path string
	head []byte // the magic number and the format event
	at   int64  // up to where the file was read: the end of a transaction, once met is true
	met  bool   // at is known to be between transactions
}

// Growth is what was appended to a log.
type Growth struct {
	Transactions int64
	Bytes        int64 // of those transactions
	// Unknown is set where some of the growth could not be read as
	// transactions: at first, where the log ended inside of one.
	Unknown bool
}

// add takes what another part has grown by.
func (g *Growth) add(o Growth) {
	g.Transactions += o.Transactions
	g.Bytes += o.Bytes
	g.Unknown = g.Unknown || o.Unknown
}

// Read gives what was appended since the last call to the log at path, which is
// size bytes long now. With another path than before, the log before is read
// to its end first, and the new one from its beginning. After an error, as
// that of an encrypted log, the tail begins anew.
func (t *Tail) Read(path string, size int64) (Growth, error) {
	var g Growth
	switch {
	case t.file == nil:
		if err := t.open(path); err != nil {
			return g, err
		}
		t.at, t.met = size, false
		g.Unknown = true
		return g, nil
	case path == t.path && t.replaced(size):
		t.Close() // RESET: another log under the same name
		return t.Read(path, size)
	case path != t.path:
		if info, err := t.file.Stat(); err == nil {
			if g, err = t.read(info.Size()); err != nil {
				g.Unknown = true // the rest of the old log is lost, the new one not
			}
		}
		// A log between the two was begun and ended meanwhile.
		base, before, _ := SplitName(t.path)
		other, number, _ := SplitName(path)
		g.Unknown = g.Unknown || other != base || number != before+1
		t.Close()
		if err := t.open(path); err != nil {
			return g, err
		}
		t.at, t.met = int64(len(t.head)), true
	}
	grown, err := t.read(size)
	g.add(grown)
	if err != nil {
		t.Close()
	}
	return g, err
}

// replaced reports whether the log at the path is another than the one that is
// open.
func (t *Tail) replaced(size int64) bool {
	if size < t.at {
		return true
	}
	now, err := os.Stat(t.path)
	if err != nil {
		return false
	}
	open, err := t.file.Stat()
	return err == nil && !os.SameFile(now, open)
}

// Close closes the log.
func (t *Tail) Close() {
	if t.file != nil {
		t.file.Close()
	}
	*t = Tail{}
}

// open opens a log and reads its head.
func (t *Tail) open(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	head := make([]byte, len(magicPlain)+headerLen)
	if _, err := f.ReadAt(head, 0); err != nil || !bytes.Equal(head[:len(magicPlain)], magicPlain) {
		f.Close()
		return fmt.Errorf("%s: no binlog, or an encrypted one", path)
	}
	h := parseHeader(head[len(magicPlain):])
	if h.typ != FormatDescriptionEvent || h.length < headerLen || h.length > maxFormatLen {
		f.Close()
		return fmt.Errorf("%s: first event: got type %d of %d bytes, want a format event of at most %d", path, h.typ, h.length, maxFormatLen)
	}
	head = make([]byte, len(magicPlain)+int(h.length))
	if _, err := f.ReadAt(head, 0); err != nil {
		f.Close()
		return fmt.Errorf("%s: format event: %w", path, err)
	}
	// As in a copy from the middle of a log: end positions begin with the next event.
	clear(head[len(magicPlain)+13 : len(magicPlain)+17])
	t.file, t.path, t.head = f, path, head
	return nil
}

// read gives the transactions that are whole between where reading stopped and
// size.
func (t *Tail) read(size int64) (Growth, error) {
	var g Growth
	if !t.met {
		ok, err := t.between(size)
		if err != nil || !ok {
			g.Unknown = size > t.at
			t.at = max(size, t.at)
			return g, err
		}
		t.met = true
	}
	if size <= t.at {
		return g, nil
	}
	// Positions in what is read are those of a log that goes on behind its head
	// with what was appended.
	start := t.at - int64(len(t.head))
	r := NewReader(io.MultiReader(bytes.NewReader(t.head), io.NewSectionReader(t.file, t.at, size-t.at)), t.path, Options{NoChecksums: true})
	for {
		txn, err := r.Next()
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, ErrTruncated):
			return g, nil // the rest is not written yet
		case err != nil:
			return g, err
		case txn.Terminator == TerminatorNone:
			return g, nil
		}
		g.Transactions++
		g.Bytes += txn.Size()
		t.at = start + txn.End
	}
}

// between reports whether an event that stands between transactions begins
// where reading stopped: its own end position must agree. The log may have
// ended inside a transaction, when it was first looked at.
func (t *Tail) between(size int64) (bool, error) {
	if size < t.at+headerLen {
		return false, nil // nothing to judge by
	}
	b := make([]byte, headerLen)
	if _, err := t.file.ReadAt(b, t.at); err != nil {
		return false, err
	}
	h := parseHeader(b)
	switch h.typ {
	case GTIDEvent, AnonymousGTIDEvent, TaggedGTIDEvent, MariaDBGTIDEvent, RotateEvent, StopEvent, MariaDBCheckpointEvent:
		return h.length >= headerLen && h.logPos == uint32(t.at+int64(h.length)), nil
	default:
		return false, nil
	}
}
