package binlogtest

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// fields are what a line says behind the event's name. Each getter takes its
// field away, so that what is left at the end is unknown.
type fields struct {
	kv   map[string]string
	text string
	err  error
}

// splitLine parts a line into name, fields and text. keys are the fields that
// the event knows: the first word that is none of them begins the text.
func splitLine(line string) (string, *fields, error) {
	name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	kind, ok := kinds[name]
	if !ok {
		return "", nil, fmt.Errorf("unknown event %q", name)
	}
	f := &fields{kv: make(map[string]string)}
	for {
		rest = strings.TrimLeft(rest, " \t")
		word, behind, _ := strings.Cut(rest, " ")
		key, value, isPair := strings.Cut(word, "=")
		if word == "" || !contains(kind.keys, key, isPair) && !contains(modifiers, key, isPair) {
			break
		}
		f.kv[key] = value
		rest = behind
	}
	f.text = rest
	if f.text != "" && !kind.text {
		return "", nil, fmt.Errorf("%s: unknown field %q", name, f.text)
	}
	return name, f, nil
}

// contains reports whether key is in a list such as "size= compressed".
func contains(list, key string, isPair bool) bool {
	if isPair {
		key += "="
	}
	for have := range strings.FieldsSeq(list) {
		if have == key {
			return true
		}
	}
	return false
}

func (f *fields) has(key string) bool {
	_, ok := f.kv[key]
	return ok
}

func (f *fields) str(key, absent string) string {
	if v, ok := f.kv[key]; ok {
		return v
	}
	return absent
}

func (f *fields) fail(key, want string) {
	if f.err == nil {
		f.err = fmt.Errorf("%s=%s: want %s", key, f.kv[key], want)
	}
}

func (f *fields) uint(key string, absent uint64) uint64 {
	v, ok := f.kv[key]
	if !ok {
		return absent
	}
	n, err := strconv.ParseUint(v, 0, 64)
	if err != nil {
		f.fail(key, "a number")
	}
	return n
}

func (f *fields) int(key string) int64 {
	v, ok := f.kv[key]
	if !ok {
		return 0
	}
	n, err := strconv.ParseInt(v, 0, 64)
	if err != nil {
		f.fail(key, "a number")
	}
	return n
}

// micros reads seconds with up to six decimals.
func (f *fields) micros(key string) uint64 {
	v, ok := f.kv[key]
	if !ok {
		return 0
	}
	whole, frac, _ := strings.Cut(v, ".")
	if len(frac) > 6 {
		f.fail(key, "at most six decimals")
		return 0
	}
	n, err := strconv.ParseUint(whole+frac+strings.Repeat("0", 6-len(frac)), 10, 64)
	if err != nil {
		f.fail(key, "seconds")
	}
	return n
}

func formatMicros(us uint64) string { return fmt.Sprintf("%d.%06d", us/1e6, us%1e6) }

func (f *fields) bytes(key string) []byte {
	b, err := hex.DecodeString(f.kv[key])
	if err != nil {
		f.fail(key, "hexadecimal digits")
	}
	return b
}

func (f *fields) uuid(key string) [16]byte {
	u, err := parseUUID(f.str(key, DefaultUUID))
	if err != nil {
		f.fail(key, "a UUID")
	}
	return u
}

// DefaultUUID is the source of GTIDs that do not name one.
const DefaultUUID = "00000000-0000-0000-0000-000000000001"

func parseUUID(s string) (u [16]byte, err error) {
	b, err := hex.DecodeString(strings.ReplaceAll(s, "-", ""))
	if err != nil || len(b) != 16 {
		return u, fmt.Errorf("%q is not a UUID", s)
	}
	return [16]byte(b), nil
}

func formatUUID(u []byte) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:16])
}
