package server

import (
	"context"
	"fmt"
)

// Row is a row of a result: values as text, by the names of their columns. A
// column that is NULL is absent.
type Row map[string]string

// Query runs one statement and returns its rows, all of them: it is meant for
// small results. With args it is prepared, and they go in the places of its
// question marks.
//
// An error wraps ErrLost if the connection is gone, as it is when ctx ends
// before the answer is there, and a *PrivilegeError if a privilege is missing
// and it is known which.
func (c *Conn) Query(ctx context.Context, sql string, args ...any) ([]Row, error) {
	if c.lost != nil {
		return nil, c.lostError()
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, c.wire.shut)
	var rows []Row
	err := c.protect(func() (err error) {
		rows, err = c.rows(sql, args...)
		return err
	})
	if !stop() { // closed, or about to be
		c.lose(context.Cause(ctx))
		return nil, c.lostError()
	}
	if err == nil {
		return rows, nil
	}
	if e, ok := refusal(err); ok && !ends(e.code) {
		return nil, c.explain(sql, e)
	}
	// Whatever else happened, where the next answer begins is not known.
	if e, ok := refusal(err); ok {
		err = e
	}
	if c.wire.err != nil {
		err = c.wire.err
	}
	c.lose(plain(err))
	return nil, c.lostError()
}

// ends reports whether a server says by an error that it closes the
// connection.
func ends(code uint16) bool {
	switch code {
	case 1053, // shutdown
		1927, // MariaDB: killed
		3168, // MySQL: offline
		4031: // MySQL: idle for too long
		return true
	}
	return false
}

func (c *Conn) rows(sql string, args ...any) ([]Row, error) {
	result, err := c.conn.Execute(sql, args...)
	if err != nil {
		return nil, err
	}
	defer result.Close()
	if result.Resultset == nil {
		return nil, nil
	}
	rows := make([]Row, len(result.Values))
	for i, values := range result.Values {
		rows[i] = make(Row, len(values))
		for j := range values {
			switch v := values[j].Value().(type) {
			case nil:
			case []byte:
				rows[i][string(result.Fields[j].Name)] = string(v)
			default:
				rows[i][string(result.Fields[j].Name)] = values[j].String()
			}
		}
	}
	return rows, nil
}

// protect runs f, which calls the driver. The driver trusts the server to send
// what the protocol says, and panics if it does not.
func (c *Conn) protect(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("malformed answer: %v", r)
		}
	}()
	return f()
}

func (c *Conn) lose(why error) {
	if c.lost == nil {
		c.lost = why
		c.wire.shut()
	}
}

func (c *Conn) lostError() error { return fmt.Errorf("%w to %s: %w", ErrLost, c.target, c.lost) }
