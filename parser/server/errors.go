package server

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"

	"github.com/go-mysql-org/go-mysql/mysql"
)

// What a caller may decide on.
var (
	// ErrLogin: the server was reached and did not let us in, or wanted the
	// password in a way that Options do not allow.
	ErrLogin = errors.New("login refused")
	// ErrLost: the connection is gone, or cannot be used any more. Connect again.
	ErrLost = errors.New("lost connection")
)

// kindError is an error of a kind that a caller may ask for, with a text of
// its own.
type kindError struct {
	kind error
	text string
}

func (e *kindError) Error() string { return e.text }
func (e *kindError) Unwrap() error { return e.kind }

// serverError is what a server answers to a statement that it refuses.
type serverError struct {
	code uint16
	text string
}

func (e *serverError) Error() string { return fmt.Sprintf("%s (error %d)", e.text, e.code) }

// refusal finds the server's own words in an error of the driver.
func refusal(err error) (*serverError, bool) {
	e, ok := errors.AsType[*mysql.MyError](err)
	if !ok {
		return nil, false
	}
	return &serverError{e.Code, e.Message}, true
}

// plain strips an error of what the layers between have put around it.
func plain(err error) error {
	if errno, ok := errors.AsType[syscall.Errno](err); ok && errno != syscall.EPIPE { // which callers take for that of their output
		return errno
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return dns
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("no answer for %v", ioTimeout)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.EPIPE) {
		return errors.New("the server closed the connection")
	}
	for {
		inner := errors.Unwrap(err)
		if inner == nil || inner == mysql.ErrBadConn { //nolint:errorlint // it is about this very link of the chain, which says nothing
			return err
		}
		err = inner
	}
}
