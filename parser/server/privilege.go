package server

import (
	"fmt"
	"strings"
)

// PrivilegeError is a statement that the server refuses to the account of a
// connection, for want of a privilege that is known.
type PrivilegeError struct {
	Purpose string // what the statement is for: "the binlog position"
	Grant   string // the statement that an administrator may run, without a semicolon
	Err     error  // what the server said
}

func (e *PrivilegeError) Error() string {
	return fmt.Sprintf("%v; for %s an administrator may run: %s", e.Err, e.Purpose, e.Grant)
}

func (e *PrivilegeError) Unwrap() error { return e.Err }

// needs says which privilege a statement needs, by a part of it in upper case.
// The server's own message names it only sometimes, and in the server's language.
var needs = []struct {
	part, purpose string
	grant         string
	mariadb       string // where MariaDB has another name for it since 10.5
}{
	{"PERFORMANCE_SCHEMA.", "the performance schema", "SELECT ON performance_schema.*", ""},
	{"MASTER STATUS", "the binlog position", "REPLICATION CLIENT ON *.*", "BINLOG MONITOR ON *.*"},
	{"BINARY LOG STATUS", "the binlog position", "REPLICATION CLIENT ON *.*", ""},
	{"BINARY LOGS", "the list of binlogs", "REPLICATION CLIENT ON *.*", "BINLOG MONITOR ON *.*"},
	{"BINLOG DUMP", "reading the binlog", "REPLICATION SLAVE ON *.*", ""},
	{"INNODB_METRICS", "InnoDB's counters", "PROCESS ON *.*", ""},
	{"ENGINE INNODB STATUS", "InnoDB's status", "PROCESS ON *.*", ""},
}

// explain turns the server's refusal of a statement into a *PrivilegeError, if
// that is what it is.
func (c *Conn) explain(sql string, err *serverError) error {
	switch err.code {
	case 1044, // access denied to a database
		1045, // access denied
		1142, // command denied on a table
		1143, // on a column
		1227: // a privilege is missing, and named
	default:
		return err
	}
	grant, purpose := c.Grant(sql)
	if grant == "" {
		return err
	}
	return &PrivilegeError{Purpose: purpose, Grant: grant, Err: err}
}

// Grant returns the statement that gives the connection's account the
// privilege that sql needs, and what that is for. It knows "BINLOG DUMP", too,
// which is the protocol's and no SQL. Both are empty if the privilege is not
// known.
func (c *Conn) Grant(sql string) (grant, purpose string) {
	sql = strings.ToUpper(sql)
	for _, n := range needs {
		if !strings.Contains(sql, n.part) {
			continue
		}
		what := n.grant
		if n.mariadb != "" && c.version.Flavor == MariaDB && c.version.AtLeast(10, 5) {
			what = n.mariadb
		}
		return "GRANT " + what + " TO " + quoteAccount(c.account), n.purpose
	}
	return "", ""
}

// quoteAccount writes user@host for a statement. The user may hold an at sign,
// the host cannot.
func quoteAccount(account string) string {
	at := max(strings.LastIndexByte(account, '@'), 0)
	quote := func(s string) string {
		return "'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(s) + "'"
	}
	return quote(account[:at]) + "@" + quote(strings.TrimPrefix(account[at:], "@"))
}
