package binlogtest

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// Unmarshal gives a text of which Marshal makes data again, byte by byte. An
// event that has no form of its own is told as "event" with its body in
// hexadecimal digits; where the framing is lost the rest is told as "raw".
func Unmarshal(data []byte) (string, error) {
	u := &unmarshaler{m: marshaler{server: 1, time: 1700000000}}
	if rest, ok := bytes.CutPrefix(data, magic); ok && framed(rest) {
		u.m.out = bytes.Clone(magic)
		data = rest
	}
	for len(data) > 0 {
		n := len(data)
		if framed(data) {
			n = int(le.Uint32(data[9:]))
			u.event(data[:n])
		} else {
			u.raw(data)
		}
		data = data[n:]
	}
	return u.text.String(), nil
}

// framed reports whether data begins with a whole event.
func framed(data []byte) bool {
	if len(data) < headerLen {
		return false
	}
	length := uint64(le.Uint32(data[9:]))
	return length >= headerLen && length <= uint64(len(data))
}

type unmarshaler struct {
	m    marshaler // what Marshal would know at this place
	text strings.Builder
}

// event tells an event in the shortest way from which it can be made again.
func (u *unmarshaler) event(event []byte) {
	for _, line := range u.ways(event) {
		try := u.m
		try.out = slices.Clip(u.m.out)
		if _, err := try.line([]string{line}); err == nil && bytes.Equal(try.out[len(u.m.out):], event) {
			u.m = try
			u.text.WriteString(line + "\n")
			return
		}
	}
	u.raw(event)
}

// ways are the lines that may stand for event.
func (u *unmarshaler) ways(event []byte) []string {
	typ := event[4]
	body := event[headerLen:]
	size := len(body)
	known := u.m.checksums // whether the event ends with a checksum
	if typ == formatType {
		known = size >= 57+checksumLen && knowsChecksums(strings.TrimRight(string(body[2:52]), "\x00"))
	}
	if known && size >= checksumLen {
		body = body[:size-checksumLen]
	}
	var lines []string
	if line, ok := describe(typ, body); ok {
		name, rest, _ := strings.Cut(line, " ")
		if describesSize(name) {
			name += fmt.Sprintf(" size=%d", len(event))
		}
		lines = append(lines, strings.TrimSpace(name+u.modifiers(event)+" "+rest))
	}
	generic := fmt.Sprintf("event type=%d%s", typ, u.modifiers(event))
	generic = strings.Replace(generic, " inuse", fmt.Sprintf(" flags=%#x", le.Uint16(event[17:])), 1)
	if size := len(body); size > 0 && len(bytes.Trim(body, "\x00")) == 0 {
		lines = append(lines, fmt.Sprintf("%s size=%d", generic, size))
	}
	return append(lines, generic+optional(" body=", hex.EncodeToString(body)))
}

func describesSize(name string) bool { return name == "insert" || name == "update" || name == "delete" }

// modifiers tells what of an event's header is not as Marshal would have it.
func (u *unmarshaler) modifiers(event []byte) string {
	var b strings.Builder
	if at := uint64(le.Uint32(event)); at != u.m.time {
		fmt.Fprintf(&b, " at=%d", at)
	}
	if server := uint64(le.Uint32(event[5:])); server != u.m.server || !u.m.hasFormat {
		fmt.Fprintf(&b, " server=%d", server)
	}
	if end := uint64(le.Uint32(event[13:])); end != uint64(uint32(len(u.m.out)+len(event))) {
		fmt.Fprintf(&b, " logpos=%d", end)
	}
	flags := le.Uint16(event[17:])
	if event[4] == formatType && flags&inUse != 0 {
		b.WriteString(" inuse")
		flags &^= inUse
	}
	if flags != 0 {
		fmt.Fprintf(&b, " flags=%#x", flags)
	}
	return b.String()
}

// raw tells bytes that are no event.
func (u *unmarshaler) raw(data []byte) {
	if u.text.Len() == 0 && len(u.m.out) > 0 { // no event that brings its magic number
		fmt.Fprintf(&u.text, "raw %x\n", magic)
	}
	zeros := len(data) - len(bytes.TrimRight(data, "\x00"))
	data = data[:len(data)-zeros]
	for len(data) > 0 {
		n := min(len(data), 64)
		fmt.Fprintf(&u.text, "raw %x\n", data[:n])
		u.m.out = append(u.m.out, data[:n]...)
		data = data[n:]
	}
	if zeros > 0 {
		fmt.Fprintf(&u.text, "zeros %d\n", zeros)
		u.m.out = append(u.m.out, make([]byte, zeros)...)
	}
}
