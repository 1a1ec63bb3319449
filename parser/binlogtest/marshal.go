package binlogtest

import (
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
)

const (
	headerLen   = 19
	checksumLen = 4
	inUse       = 0x01 // the header flag that a format event's checksum leaves out
	formatType  = 15
)

var magic = []byte{0xfe, 'b', 'i', 'n'}

// modifiers are the fields that any event may have.
const modifiers = "at= server= flags= logpos= eventlength= badcrc truncate="

// Marshal makes the bytes of a binlog from its text form. An error names the
// line.
func Marshal(text string) ([]byte, error) {
	m := &marshaler{server: 1, time: 1700000000}
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		n, err := m.line(lines[i:])
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		i += n
	}
	return m.out, nil
}

// marshaler is the state that one line leaves to the next.
type marshaler struct {
	out   []byte
	inner bool // inside a payload: no end positions

	server    uint64 // of the first format event
	time      uint64 // of the event before
	shift     uint64
	hasFormat bool
	checksums bool
	mariaDB   bool
	rowsV1    bool
	gno       uint64 // of the GTID event before
}

// line takes the first of lines, and reports how many more belong to it.
func (m *marshaler) line(lines []string) (more int, err error) {
	line := strings.TrimSpace(lines[0])
	if line == "" || line[0] == '#' {
		return 0, nil
	}
	name, rest, _ := strings.Cut(line, " ")
	switch name {
	case "raw":
		b, err := hex.DecodeString(strings.ReplaceAll(rest, " ", ""))
		if err != nil {
			return 0, fmt.Errorf("raw: %w", err)
		}
		m.out = append(m.out, b...)
		return 0, nil
	case "zeros":
		n, err := strconv.ParseUint(rest, 10, 31)
		if err != nil {
			return 0, fmt.Errorf("zeros: %w", err)
		}
		m.out = append(m.out, make([]byte, n)...)
		return 0, nil
	case "shift":
		n, err := strconv.ParseUint(rest, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("shift: %w", err)
		}
		m.shift = n
		return 0, nil
	}
	name, f, err := splitLine(line)
	if err != nil {
		return 0, err
	}
	kind := kinds[name]
	typ, body := kind.typ, []byte(nil)
	if name == "payload" {
		more, body, err = m.payload(f, lines)
	} else {
		typ, body, err = kind.encode(m, f)
	}
	if err == nil {
		err = f.err
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	if err := m.event(typ, body, f); err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	return more, nil
}

// event writes one event. A format event's body ends with its checksum
// algorithm where the server knows checksums.
func (m *marshaler) event(typ byte, body []byte, f *fields) error {
	if len(m.out) == 0 && !m.inner {
		m.out = append(m.out, magic...)
	}
	start := len(m.out)
	withChecksum := m.checksums
	if typ == formatType {
		withChecksum = m.learnFormat(body, f)
	}
	m.time = f.uint("at", m.time)
	length := uint64(headerLen + len(body))
	if withChecksum {
		length += checksumLen
	}
	end := uint64(start) + length + m.shift
	if m.inner {
		end = 0
	}
	flags := f.uint("flags", 0)
	if typ == formatType {
		for word, flag := range map[string]uint64{"inuse": inUse, "relay": 0x40} {
			if f.has(word) {
				flags |= flag
			}
		}
	}
	b := putUint(nil, m.time, 4)
	b = append(b, typ)
	b = putUint(b, f.uint("server", m.server), 4)
	b = putUint(b, f.uint("eventlength", length), 4)
	b = putUint(b, f.uint("logpos", end), 4)
	b = putUint(b, flags, 2)
	b = append(b, body...)
	if withChecksum {
		if typ == formatType {
			b[17] &^= inUse
		}
		sum := crc32.ChecksumIEEE(b)
		if typ == formatType {
			b[17] |= byte(flags)
		}
		if f.has("badcrc") {
			sum ^= 0x01010101
		}
		b = putUint(b, uint64(sum), checksumLen)
	}
	n := f.uint("truncate", uint64(len(b)))
	if f.err != nil {
		return f.err
	}
	if n > uint64(len(b)) {
		return fmt.Errorf("truncate=%d: the event has %d bytes", n, len(b))
	}
	m.out = append(m.out, b[:n]...)
	return nil
}

// learnFormat takes from a format event's body what fixes the events behind
// it, and reports whether the event itself has a checksum.
func (m *marshaler) learnFormat(body []byte, f *fields) bool {
	if !m.hasFormat {
		m.server = f.uint("server", 1)
		m.hasFormat = true
	}
	if len(body) < 57 {
		return false
	}
	version := strings.TrimRight(string(body[2:52]), "\x00")
	m.mariaDB = strings.Contains(strings.ToLower(version), "mariadb")
	m.rowsV1 = m.mariaDB || !atLeast(version, 5, 6, 0)
	knows := knowsChecksums(version)
	m.checksums = knows && body[len(body)-1] == 1
	return knows
}

func knowsChecksums(version string) bool {
	if strings.Contains(strings.ToLower(version), "mariadb") {
		return atLeast(strings.TrimPrefix(version, "5.5.5-"), 5, 3, 0)
	}
	return atLeast(version, 5, 6, 1)
}

func atLeast(version string, want ...int) bool {
	for i, w := range want {
		digits, rest, _ := strings.Cut(version, ".")
		end := strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' })
		if end >= 0 {
			digits, rest = digits[:end], ""
		}
		n, _ := strconv.Atoi(digits)
		if n != w || i == len(want)-1 {
			return n >= w
		}
		version = rest
	}
	return true
}
