package parser

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// Version is a server's version number. MySQL's go on from 9.x to 26.x.
type Version struct{ Major, Minor, Patch int }

// AtLeast reports whether v is major.minor.patch or later.
func (v Version) AtLeast(major, minor, patch int) bool {
	if v.Major != major {
		return v.Major > major
	}
	if v.Minor != minor {
		return v.Minor > minor
	}
	return v.Patch >= patch
}

func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch) }

// parseVersion reads the numbers off the front of a server_version. A MariaDB
// server may hide behind "5.5.5-".
func parseVersion(s string) Version {
	if rest, ok := strings.CutPrefix(s, "5.5.5-"); ok && strings.Contains(strings.ToLower(rest), "mariadb") {
		s = rest
	}
	var n [3]int
	for i := range n {
		end := 0
		for end < len(s) && end < 6 && s[end] >= '0' && s[end] <= '9' {
			end++
		}
		n[i], _ = strconv.Atoi(s[:end]) // at most 6 digits, or none: 0
		s = s[end:]
		if s == "" || s[0] != '.' {
			break
		}
		s = s[1:]
	}
	return Version{n[0], n[1], n[2]}
}

// Kind is what a log is to the server that wrote it.
type Kind uint8

const (
	// Binlog is a server's own log of changes made by its own sessions.
	Binlog Kind = iota
	// RelayLog is a replica's copy of its source's log: the source's clock,
	// times and thread ids.
	RelayLog
	// ReplicaBinlog is a server's own log that holds replicated transactions:
	// its own clock, but the source's server and thread ids.
	ReplicaBinlog
)

func (k Kind) String() string {
	return [...]string{"binlog", "relay log", "replica binlog"}[k]
}

// Log is one binlog file: what its format event says, and what was met while
// it was read. The second half is complete when the last transaction has been
// read. A Log is written by its Reader alone.
type Log struct {
	Name string // as positions name it

	// From the format event.
	Flavor        Flavor
	ServerVersion string // as written, such as "8.4.3" or "11.8.5-MariaDB-log"
	Version       Version
	ServerID      uint32 // the server that wrote the log
	Made          Micros // when the log was begun, whole seconds
	ServerStarted bool   // the server started with this log (created is not 0)
	InUse         bool   // not closed when it was copied, or not closed cleanly
	HasChecksums  bool
	Relay         bool // a relay log by its flags, its name, or what it holds

	// From reading it.
	Bytes         int64     // read so far; the whole length at the end
	Events        int64     // framed
	Transactions  int64     // given out
	Replicated    int64     // of those, made on another server
	ClosedBy      EventType // RotateEvent or StopEvent where the log ends so, else 0
	Next          string    // the log that follows, by RotateEvent
	PreviousGTIDs *GTIDSet  // of the logs before this one; nil where the log has none
	GTIDs         *GTIDSet  // of PreviousGTIDs and the log's own; nil where too scattered to keep
	Unknown       map[EventType]int64
	Damaged       int64 // transactions and events lost to bad checksums and undecodable bodies
	Warnings      Warnings
	Err           error // the *Error that ended reading before the end, else nil
}

// Kind tells what the log is, as far as it has been read.
func (l *Log) Kind() Kind {
	switch {
	case l.Relay:
		return RelayLog
	case l.Replicated > 0:
		return ReplicaBinlog
	default:
		return Binlog
	}
}

// Open reports whether the server had not closed the log when it was copied.
// Such a log may end anywhere. Relay logs do not carry the in-use flag; their
// end must tell.
func (l *Log) Open() bool { return (l.InUse || l.Relay) && l.ClosedBy == 0 }

// Complete reports whether all of the log was read and nothing in it is damaged.
func (l *Log) Complete() bool { return l.Err == nil && l.Damaged == 0 }

// formatFixedLen is the format event's body up to the post-header lengths:
// binlog version 2, server version 50, created 4, header length 1.
const formatFixedLen = 57

// format is what a format description event fixes for the events behind it.
type format struct {
	hasChecksums bool
	shortTableID bool // table ids of 4 bytes (MySQL 5.1 before its GA)
}

// parseFormat reads a format description event's body, its own checksum
// included where it has one, into l. Source: control_events.cpp,
// Format_description_event; MariaDB sql/log_event.cc.
func (l *Log) parseFormat(h header, body []byte) (format, error) {
	var f format
	if len(body) < formatFixedLen {
		return f, fault(ErrCorrupt, "body has %d of at least %d bytes", len(body), formatFixedLen)
	}
	if v := le16(body); v != 4 {
		return f, fault(ErrUnsupported, "binlog version is %d, want 4", v)
	}
	if n := body[56]; n != headerLen {
		return f, fault(ErrCorrupt, "header length is %d, want %d", n, headerLen)
	}
	version, _, _ := bytes.Cut(body[2:52], []byte{0})
	l.ServerVersion = strings.ToValidUTF8(string(version), "?")
	l.Version = parseVersion(l.ServerVersion)
	lens := body[formatFixedLen:] // indexed by event type - 1
	l.Flavor = MySQL
	// MariaDB's table of post-header lengths reaches beyond its own event types,
	// whatever name the version variable was given.
	if strings.Contains(strings.ToLower(l.ServerVersion), "mariadb") || len(lens) >= int(MariaDBAnnotateRowsEvent) {
		l.Flavor = MariaDB
	}
	l.ServerID = h.serverID
	l.Made = seconds(h.time)
	l.ServerStarted = le32(body[52:]) != 0
	l.InUse = h.flags&flagInUse != 0

	// Servers that know checksums write the algorithm and four bytes of checksum
	// behind the lengths, even where checksums are off.
	if l.knowsChecksums() {
		if len(lens) < 1+checksumLen {
			return f, fault(ErrCorrupt, "body has %d bytes, too few for a checksum algorithm", len(body))
		}
		switch alg := lens[len(lens)-1-checksumLen]; alg {
		case 0:
		case 1:
			f.hasChecksums = true
		default:
			return f, fault(ErrUnsupported, "checksum algorithm is %d, want 0 (none) or 1 (CRC32)", alg)
		}
		lens = lens[:len(lens)-1-checksumLen]
	}
	l.HasChecksums = f.hasChecksums
	if len(lens) >= int(TableMapEvent) {
		f.shortTableID = lens[TableMapEvent-1] == 6
	}
	return f, nil
}

func (l *Log) knowsChecksums() bool {
	if l.Flavor == MariaDB {
		return l.Version.AtLeast(5, 3, 0)
	}
	return l.Version.AtLeast(5, 6, 1)
}

// relayName is a name that servers give to relay logs: HOST-relay-bin.000001,
// and with a replication channel HOST-relay-bin-CHANNEL.000001.
var relayName = regexp.MustCompile(`(?i)(^|[-_.])relay[-_](bin|log)([-.]|$)`)

func nameTellsRelay(name string) bool { return relayName.MatchString(path.Base(name)) }

// notClosed turns the end of a log inside an event or a transaction into a
// note where the server had not closed the log, and else leaves it an error.
func (l *Log) notClosed(e *Error) *Error {
	if l.Open() && errors.Is(e, ErrTruncated) {
		l.Warnings.Add("open-log", e.Pos, "the log was still open when it was copied and ends here: %v", e.Err)
		return nil
	}
	return e
}
