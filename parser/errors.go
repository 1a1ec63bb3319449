package parser

import (
	"errors"
	"fmt"
)

// A fault that ends a log wraps one of these, or an error of the operating
// system or of a decompressor. They are what a caller may decide on; the text
// around them is for people. A bad checksum ends nothing: see Log.Damaged.
var (
	// ErrNotBinlog: the file is empty or does not begin with a binlog's magic number.
	ErrNotBinlog = errors.New("not a binlog")
	// ErrTruncated: the log ends inside an event or is filled with zeros to its end.
	// It is deliberately not io.ErrUnexpectedEOF: an archive that is cut short
	// gives that one, from inside its decompressor.
	ErrTruncated = errors.New("truncated")
	// ErrCorrupt: the framing is lost, or an event's body contradicts itself.
	ErrCorrupt = errors.New("corrupt")
	// ErrEncrypted: the bytes from here on are encrypted; only a server can read them.
	ErrEncrypted = errors.New("encrypted")
	// ErrUnsupported: a log of a kind that this package does not read.
	ErrUnsupported = errors.New("unsupported")
	// ErrAbandoned: a live source gives no more of this log, although it goes on.
	// A transaction that had begun is not given out.
	ErrAbandoned = errors.New("abandoned")
)

// Pos is a place in a binlog. It prints as mysqlbinlog users write it,
// binlog.000007:4711.
type Pos struct {
	File string // the log's name as given, or as found
	// Offset counts bytes from the start of the (decompressed) log, in 64 bits.
	// It is never taken from an event header, whose 32-bit log_pos wraps.
	// Below 0 it stands for the file as a whole.
	Offset int64
}

func (p Pos) String() string {
	if p.Offset < 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d", p.File, p.Offset)
}

// Error is a fault in the input and the place where it was found. It prints as
// "file:offset: event: what", and never holds an event's body.
type Error struct {
	Pos   Pos
	Event EventType // the event it was found in; 0 where none applies
	Err   error     // wraps one of the Err variables, or an error of the operating system
}

func (e *Error) Error() string {
	if e.Event == 0 {
		return fmt.Sprintf("%v: %v", e.Pos, e.Err)
	}
	return fmt.Sprintf("%v: %v event: %v", e.Pos, e.Event, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// fault makes the text of an input error that wraps kind.
func fault(kind error, format string, args ...any) error {
	return &faultError{kind: kind, msg: fmt.Sprintf(format, args...)}
}

type faultError struct {
	kind error
	msg  string
}

func (e *faultError) Error() string { return e.msg }
func (e *faultError) Unwrap() error { return e.kind }

// Warning is a limit on what may be concluded from a log. It is data for a
// report, never only a line on a screen.
type Warning struct {
	Code    string // stable, lower case, words joined by "-"
	Message string // one sentence for a person, without a position
	Count   int64  // how often it was met, at least 1
	At      Pos    // where it was met first
}

// Warnings collects warnings of one log: one entry a code, in the order in
// which they were first met. The zero value is ready to use.
type Warnings []Warning

// Add counts a warning; message and place are those of its first occurrence.
func (w *Warnings) Add(code string, at Pos, format string, args ...any) {
	for i := range *w {
		if (*w)[i].Code == code {
			(*w)[i].Count++
			return
		}
	}
	*w = append(*w, Warning{Code: code, Message: fmt.Sprintf(format, args...), Count: 1, At: at})
}
