package parser

import (
	"encoding/hex"
	"strconv"
)

// Flavor is the family of servers that wrote a log.
type Flavor uint8

// MySQL includes Percona Server, Aurora and the managed services.
const (
	MySQL Flavor = iota + 1
	MariaDB
)

func (f Flavor) String() string {
	switch f {
	case MySQL:
		return "mysql"
	case MariaDB:
		return "mariadb"
	default:
		return "unknown"
	}
}

// GTID is a global transaction identifier. Its zero value is that of a
// transaction without one: anonymous, or of a log without GTID events.
type GTID struct {
	Source GTIDSource
	// Number is MySQL's GNO or MariaDB's sequence number, from 1 on.
	Number uint64
}

// GTIDSource is all of a GTID but its number: what the number counts.
type GTIDSource struct {
	Flavor Flavor
	UUID   [16]byte // MySQL: the server where the transaction was committed first
	Tag    string   // MySQL 8.3 and later, at most 32 bytes, often empty
	Domain uint32   // MariaDB
	Server uint32   // MariaDB: server_id
}

// IsZero reports whether there is no GTID.
func (g GTID) IsZero() bool { return g.Source.Flavor == 0 }

// String gives uuid:number, uuid:tag:number or domain-server-number, and
// nothing for the zero value.
func (g GTID) String() string {
	if g.IsZero() {
		return ""
	}
	return string(g.AppendTo(make([]byte, 0, 64)))
}

// AppendTo appends what String gives to b.
func (g GTID) AppendTo(b []byte) []byte {
	switch g.Source.Flavor {
	case MySQL:
		b = g.Source.appendTo(b)
		b = append(b, ':')
	case MariaDB:
		b = g.Source.appendTo(b)
		b = append(b, '-')
	default:
		return b
	}
	return strconv.AppendUint(b, g.Number, 10)
}

func (s GTIDSource) appendTo(b []byte) []byte {
	if s.Flavor == MariaDB {
		b = strconv.AppendUint(b, uint64(s.Domain), 10)
		b = append(b, '-')
		return strconv.AppendUint(b, uint64(s.Server), 10)
	}
	for i, part := range [...][]byte{s.UUID[:4], s.UUID[4:6], s.UUID[6:8], s.UUID[8:10], s.UUID[10:]} {
		if i > 0 {
			b = append(b, '-')
		}
		b = hex.AppendEncode(b, part)
	}
	if s.Tag != "" {
		b = append(b, ':')
		b = append(b, s.Tag...)
	}
	return b
}

func (s GTIDSource) String() string { return string(s.appendTo(nil)) }
