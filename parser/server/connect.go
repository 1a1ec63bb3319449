package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/go-mysql-org/go-mysql/client"
)

const (
	connectTimeout = 10 * time.Second // default, for connection and login
	ioTimeout      = 30 * time.Second // for each packet after that; what is asked here takes milliseconds
)

// Conn is a connection to a server, logged in. It may be used by one goroutine
// at a time. It never connects again by itself: after ErrLost call Connect.
type Conn struct {
	conn    *client.Conn
	wire    *wire
	target  string
	version Version
	account string // user@host, as the server's tables of privileges have it
	lost    error  // why the connection cannot be used any more
}

// Connect connects and logs in; ctx bounds only that. Errors name the target
// and wrap ErrLogin where it was the server that refused.
func Connect(ctx context.Context, o Options) (*Conn, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	network, addr := o.address()
	mode := o.mode(network)
	config, err := o.tlsConfig(mode)
	if err != nil {
		return nil, err
	}
	timeout := cmp.Or(o.ConnectTimeout, connectTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no answer within %v", timeout))
	defer cancel()

	c := &Conn{wire: &wire{}, target: o.Target()}
	stop := func() bool { return true }
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		if err != nil {
			// The only deadline is that of ctx, which may come to know of it a moment later.
			if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
				<-ctx.Done()
			}
			return nil, err
		}
		c.wire.Conn = conn
		// The driver's login knows no context. A closed connection ends it.
		stop = context.AfterFunc(ctx, c.wire.shut)
		offered, err := c.wire.greet()
		switch {
		case err != nil:
		case mode == Preferred && !offered:
			config = nil
		case config != nil && !offered && c.wire.ahead[4] != 0xff: // 0xff: not even a greeting
			err = &kindError{ErrLogin, fmt.Sprintf("the server offers no TLS, which ssl-mode %s needs", mode)}
		}
		if err != nil {
			c.wire.shut()
			return nil, err
		}
		if config == nil {
			c.wire.watch = o.guard(network == "unix")
		}
		return c.wire, nil
	}
	err = c.protect(func() (err error) {
		c.conn, err = client.ConnectWithDialer(ctx, network, addr, o.user(), o.Password, "", dial, func(d *client.Conn) error {
			d.ReadTimeout, d.WriteTimeout = ioTimeout, ioTimeout
			d.SetAttributes(map[string]string{"program_name": "bgcstat", "_pid": strconv.Itoa(os.Getpid())})
			if config != nil && c.wire.ahead[4] != 0xff {
				d.SetTLSConfig(config)
			}
			// MariaDB does not know the driver's default and would answer in its own.
			return d.SetCollation("utf8mb4_general_ci")
		})
		if err != nil {
			return err
		}
		c.wire.watch = nil
		return c.setUp()
	})
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err == nil {
		return c, nil
	}
	c.wire.shut()
	return nil, c.loginError(ctx, err)
}

// setUp asks what is needed of the server once. It changes the session only.
func (c *Conn) setUp() error {
	// Without autocommit each read would leave a transaction open. The driver's
	// own way goes by what MySQL greets with, which is not what it does then.
	if _, err := c.rows("SET autocommit = 1"); err != nil {
		return err
	}
	rows, err := c.rows("SELECT VERSION() AS version, @@version_comment AS comment, CURRENT_USER() AS account")
	if err != nil {
		return err
	}
	if len(rows) != 1 {
		return fmt.Errorf("version: got %d rows, want 1", len(rows))
	}
	c.account = rows[0]["account"]
	c.version, err = parseVersion(rows[0]["version"], rows[0]["comment"])
	return err
}

// busy reports whether a server lets nobody in at the moment, whoever it is.
func busy(code uint16) bool {
	switch code {
	case 1040, // too many connections
		1053, // shutdown
		1203, // too many of this user
		1226, // more than the account's limit, such as of connections at once
		3168, // offline
		3032: // starting
		return true
	}
	// Clients' own errors, which a proxy such as MySQL Router passes on: it does
	// not reach the server behind it (include/errmsg.h).
	return 2000 <= code && code < 3000
}

// loginError gives an error of connecting its words.
func (c *Conn) loginError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("connect to %s: %w", c.target, context.Cause(ctx))
	}
	if e, ok := refusal(err); ok {
		if busy(e.code) {
			return fmt.Errorf("connect to %s: %w", c.target, e)
		}
		return &kindError{ErrLogin, fmt.Sprintf("login as %s refused: %s", c.target, e.text)}
	}
	if c.wire.err != nil {
		err = c.wire.err
	}
	if e, ok := errors.AsType[*kindError](err); ok {
		return &kindError{ErrLogin, fmt.Sprintf("login as %s: %s", c.target, e.text)}
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok || verifyHint(err) != "" {
		return fmt.Errorf("connect to %s: %w%s", c.target, plain(err), verifyHint(err))
	}
	return fmt.Errorf("connect to %s: %w", c.target, plain(err))
}

// Target names what is connected to, as Options.Target does.
func (c *Conn) Target() string { return c.target }

// Version is that of the server.
func (c *Conn) Version() Version { return c.version }

// Account is the user and host that the server's privileges are of, which is
// not always the user that was given: mon@%.
func (c *Conn) Account() string { return c.account }

// Close says goodbye to the server and closes the connection. It may be called
// more than once, and of a lost connection. That the server did not hear it is
// no error.
func (c *Conn) Close() error {
	if c.lost == nil {
		_ = c.protect(c.conn.Quit)
		c.lose(errors.New("closed"))
	}
	return nil
}
