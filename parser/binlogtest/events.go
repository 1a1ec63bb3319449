package binlogtest

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// kind is one event of the text form.
type kind struct {
	keys   string // its fields: words, and with "=" those that have a value
	text   bool   // the rest of the line is a text
	typ    byte   // where it is always the same
	encode func(m *marshaler, f *fields) (typ byte, body []byte, err error)
}

const mysqlGTIDKeys = "last= seq= commit= original= length= sversion= oversion= ticket= uuid= gno= sbr "

var kinds map[string]kind

func init() {
	kinds = map[string]kind{
		"format":         {keys: "version= server= nochecksum inuse started relay types=", encode: encodeFormat},
		"previous-gtids": {text: true, encode: encodePreviousGTIDs},
		"gtid-list":      {text: true, encode: encodeGTIDList},
		"gtid":           {keys: mysqlGTIDKeys + "lt=", encode: encodeGTID},
		"anonymous-gtid": {keys: mysqlGTIDKeys + "lt=", encode: encodeAnonymousGTID},
		"tagged-gtid":    {keys: mysqlGTIDKeys + "tag= extra=", encode: encodeTaggedGTID},
		"maria-gtid": {
			keys: "domain= seq= cid= standalone transactional waited ddl prepared= completed= " +
				"engines= alter= alterseq= thread= pad=", encode: encodeMariaGTID,
		},
		"query":      {keys: "thread= db= compressed", text: true, encode: encodeQuery},
		"table-map":  {keys: "id=", text: true, encode: encodeTableMap},
		"insert":     {keys: rowsKeys, encode: encodeRows(0)},
		"update":     {keys: rowsKeys, encode: encodeRows(1)},
		"delete":     {keys: rowsKeys, encode: encodeRows(2)},
		"rows-query": {text: true, encode: encodeRowsQuery},
		"annotate":   {text: true, encode: encodeAnnotate},
		"xid":        {text: true, encode: encodeXID},
		"xa-prepare": {keys: "onephase", encode: encodeXAPrepare},
		"intvar":     {keys: "value=", encode: encodeIntvar},
		"rotate":     {text: true, encode: encodeRotate},
		"stop":       {encode: encodeStop},
		"incident":   {encode: encodeIncident},
		"payload":    {keys: "size= cut=", text: true, typ: 40},
		"event":      {keys: "type= size= body=", encode: encodeEvent},
	}
}

// postHeaderLens gives the lengths of the fixed part of each event's body, in
// the order of the types from 1 on.
func postHeaderLens(version string, types int) []byte {
	lens := make([]byte, max(types, 0))
	copy(lens, []byte{
		56, 13, 0, 8, 0, 18, 0, 4, 4, 4, 4, 18, 0, 0, 0, 0, 4, 26, 8, 0, 0, 0, 8, 8, 8, 2, 0, 0, 0, 10, 10, 10,
		42, 42, 0, 18, 52, 0, 10, 40,
	})
	set := func(typ int, n byte) {
		if typ <= len(lens) {
			lens[typ-1] = n
		}
	}
	switch {
	case strings.Contains(strings.ToLower(version), "mariadb"):
		for typ := range 10 {
			set(33+typ, 0)
		}
		for i, n := range []byte{0, 4, 19, 4, 0, 13, 8, 8, 8, 10, 10, 10} {
			set(160+i, n)
		}
	case !atLeast(version, 5, 7, 0):
		set(33, 25)
		set(34, 25)
	case atLeast(version, 8, 0, 0): // forgot the events of 4.1, and later those of 5.1
		for _, typ := range []int{1, 6, 8, 10, 12} {
			set(typ, 0)
		}
		for typ := 23; typ <= 25 && atLeast(version, 8, 4, 0); typ++ {
			set(typ, 0)
		}
	}
	set(formatType, byte(57+len(lens)))
	return lens
}

// formatTypes is how many types a server's table has.
func formatTypes(version string) int {
	switch {
	case strings.Contains(strings.ToLower(version), "mariadb"):
		return 171
	case !atLeast(version, 5, 6, 0):
		return 27
	case !atLeast(version, 5, 7, 0):
		return 35
	case !atLeast(version, 8, 0, 0):
		return 38
	case !atLeast(version, 8, 3, 0):
		return 41
	default:
		return 42
	}
}

func encodeFormat(m *marshaler, f *fields) (byte, []byte, error) {
	version := f.str("version", "8.0.36")
	if len(version) > 50 {
		return 0, nil, fmt.Errorf("version of %d bytes, want at most 50", len(version))
	}
	b := putUint(nil, 4, 2)
	b = append(b, version...)
	b = append(b, make([]byte, 50-len(version))...)
	created := uint64(0)
	if f.has("started") {
		created = f.uint("at", m.time)
	}
	b = putUint(b, created, 4)
	b = append(b, headerLen)
	types := int(f.uint("types", uint64(formatTypes(version))))
	b = append(b, postHeaderLens(version, min(types, 255))...)
	if knowsChecksums(version) {
		algorithm := byte(1)
		if f.has("nochecksum") {
			algorithm = 0
		}
		b = append(b, algorithm)
	}
	return formatType, b, nil
}

func encodePreviousGTIDs(_ *marshaler, f *fields) (byte, []byte, error) {
	type source struct {
		uuid      [16]byte
		tag       string
		intervals [][2]uint64
	}
	var sources []source
	tagged := false
	for member := range strings.SplitSeq(f.text, ",") {
		if member = strings.TrimSpace(member); member == "" {
			continue
		}
		parts := strings.Split(member, ":")
		uuid, err := parseUUID(parts[0])
		if err != nil {
			return 0, nil, err
		}
		s := source{uuid: uuid}
		for _, part := range parts[1:] {
			first, last, isRange := strings.Cut(part, "-")
			if !isRange {
				last = first
			}
			a, errA := strconv.ParseUint(first, 10, 64)
			b, errB := strconv.ParseUint(last, 10, 64)
			if errA != nil && len(s.intervals) == 0 && s.tag == "" {
				s.tag, tagged = part, true
				continue
			}
			if errA != nil || errB != nil {
				return 0, nil, fmt.Errorf("interval %q: want N or N-N", part)
			}
			s.intervals = append(s.intervals, [2]uint64{a, b + 1})
		}
		sources = append(sources, s)
	}
	b := putUint(nil, uint64(len(sources)), 8)
	if tagged {
		b = putUint(nil, 1|uint64(len(sources))<<8|1<<56, 8)
	}
	for _, s := range sources {
		b = append(b, s.uuid[:]...)
		if tagged {
			b = append(putVarlen(b, uint64(len(s.tag))), s.tag...)
		}
		b = putUint(b, uint64(len(s.intervals)), 8)
		for _, iv := range s.intervals {
			b = putUint(putUint(b, iv[0], 8), iv[1], 8)
		}
	}
	return 35, b, nil
}

func encodeGTIDList(_ *marshaler, f *fields) (byte, []byte, error) {
	var b []byte
	n := uint64(0)
	for member := range strings.SplitSeq(f.text, ",") {
		if member = strings.TrimSpace(member); member == "" {
			continue
		}
		var domain, server, number uint64
		if _, err := fmt.Sscanf(member, "%d-%d-%d", &domain, &server, &number); err != nil {
			return 0, nil, fmt.Errorf("%q: want DOMAIN-SERVER-N", member)
		}
		b = putUint(putUint(putUint(b, domain, 4), server, 4), number, 8)
		n++
	}
	return 163, append(putUint(nil, n, 4), b...), nil
}

func encodeGTID(m *marshaler, f *fields) (byte, []byte, error) {
	m.gno = f.uint("gno", m.gno+1)
	uuid := f.uuid("uuid")
	return 33, gtidBody(f, uuid, m.gno), nil
}

func encodeAnonymousGTID(_ *marshaler, f *fields) (byte, []byte, error) {
	return 34, gtidBody(f, [16]byte{}, f.uint("gno", 0)), nil
}

func gtidBody(f *fields, uuid [16]byte, gno uint64) []byte {
	flags := byte(0)
	if f.has("sbr") {
		flags = 1
	}
	b := append([]byte{flags}, uuid[:]...)
	b = putUint(b, gno, 8)
	if !f.has("last") && !f.has("seq") {
		return b
	}
	b = append(b, byte(f.uint("lt", 2)))
	b = putUint(b, uint64(f.int("last")), 8)
	b = putUint(b, uint64(f.int("seq")), 8)
	if !f.has("commit") {
		return b
	}
	commit := f.micros("commit")
	if f.has("original") {
		b = putUint(putUint(b, commit|1<<55, 7), f.micros("original"), 7)
	} else {
		b = putUint(b, commit, 7)
	}
	if f.has("length") {
		b = putLenenc(b, f.uint("length", 0))
	}
	if f.has("sversion") {
		v := f.uint("sversion", 0)
		if f.has("oversion") {
			b = putUint(putUint(b, v|1<<31, 4), f.uint("oversion", 0), 4)
		} else {
			b = putUint(b, v, 4)
		}
	}
	if f.has("ticket") {
		b = putUint(b, f.uint("ticket", 0), 8)
	}
	return b
}

// encodeTaggedGTID writes a message of MySQL's serialization library. extra is
// a field id beyond those known, which a later server may add.
func encodeTaggedGTID(m *marshaler, f *fields) (byte, []byte, error) {
	m.gno = f.uint("gno", m.gno+1)
	flags := uint64(0)
	if f.has("sbr") {
		flags = 1
	}
	uuid, tag := f.uuid("uuid"), f.str("tag", "")
	msg := putVarlen(putVarlen(nil, 0), flags)
	msg = putVarlen(msg, 1)
	for _, c := range uuid {
		msg = putVarlen(msg, uint64(c))
	}
	msg = putSignedVarlen(putVarlen(msg, 2), int64(m.gno))
	msg = append(putVarlen(putVarlen(msg, 3), uint64(len(tag))), tag...)
	msg = putSignedVarlen(putVarlen(msg, 4), f.int("last"))
	msg = putSignedVarlen(putVarlen(msg, 5), f.int("seq"))
	msg = putVarlen(putVarlen(msg, 6), f.micros("commit"))
	if f.has("original") {
		msg = putVarlen(putVarlen(msg, 7), f.micros("original"))
	}
	for i, key := range []string{"length", "sversion", "oversion", "ticket", "extra"} {
		if f.has(key) {
			msg = putVarlen(putVarlen(msg, uint64(8+i)), f.uint(key, 0))
		}
	}
	// The size counts itself, and its own length hangs on it.
	const lastMandatory = 1
	rest := append(putVarlen(nil, lastMandatory), msg...)
	size := len(rest) + 1
	if size > 127 {
		size = len(rest) + 2
	}
	b := putVarlen(putVarlen(nil, 1), uint64(size))
	return 42, append(b, rest...), nil
}

func encodeMariaGTID(_ *marshaler, f *fields) (byte, []byte, error) {
	flags, extra := byte(0x08), byte(0) // allows parallel applying
	for word, flag := range map[string]byte{"standalone": 0x01, "transactional": 0x04, "waited": 0x10, "ddl": 0x20, "cid": 0x02, "prepared": 0x40, "completed": 0x80} {
		if f.has(word) {
			flags |= flag
		}
	}
	b := putUint(putUint(nil, f.uint("seq", 1), 8), f.uint("domain", 0), 4)
	b = append(b, flags)
	if f.has("cid") {
		b = putUint(b, f.uint("cid", 0), 8)
	}
	for _, key := range []string{"prepared", "completed"} {
		if f.has(key) {
			gtrid, bqual, _ := strings.Cut(f.kv[key], "/")
			b = putUint(b, 1, 4)
			b = append(b, byte(len(gtrid)), byte(len(bqual)))
			b = append(append(b, gtrid...), bqual...)
		}
	}
	alters := map[string]byte{"start": 0x02, "commit": 0x04, "rollback": 0x08}
	if f.has("alter") {
		flag, ok := alters[f.kv["alter"]]
		if !ok {
			f.fail("alter", "start, commit or rollback")
		}
		extra |= flag
	}
	if f.has("engines") {
		extra |= 0x01
	}
	if f.has("thread") {
		extra |= 0x10
	}
	if extra != 0 {
		b = append(b, extra)
	}
	if f.has("engines") {
		b = append(b, byte(f.uint("engines", 0)))
	}
	if extra&0x0c != 0 {
		b = putUint(b, f.uint("alterseq", 1), 8)
	}
	if f.has("thread") {
		b = putUint(b, f.uint("thread", 0), 4)
	}
	size := max(int(f.uint("pad", 19)), 19)
	for len(b) < size {
		b = append(b, 0)
	}
	return 162, b, nil
}

// queryStatus are status variables as MySQL 8.0 writes them: flags2, SQL mode,
// catalog, character sets.
var queryStatus = []byte("\x00\x00\x00\x00\x00\x01\x20\x00\xa0\x45\x00\x00\x00\x00\x06\x03std\x04\xff\x00\xff\x00\xff\x00")

func encodeQuery(m *marshaler, f *fields) (byte, []byte, error) {
	db := f.str("db", "")
	b := putUint(putUint(nil, f.uint("thread", 1), 4), 0, 4)
	b = append(b, byte(len(db)))
	b = putUint(putUint(b, 0, 2), uint64(len(queryStatus)), 2)
	b = append(append(b, queryStatus...), db...)
	b = append(b, 0)
	if f.has("compressed") { // one byte of algorithm and length of length, the length, zlib
		return 165, append(b, "\x84\x00\x00\x01\x00not looked at"...), nil
	}
	return 2, append(b, f.text...), nil
}

func encodeTableMap(_ *marshaler, f *fields) (byte, []byte, error) {
	schema, name, ok := strings.Cut(f.text, ".")
	if !ok || len(schema) > 255 || len(name) > 255 {
		return 0, nil, fmt.Errorf("%q: want SCHEMA.TABLE", f.text)
	}
	b := putUint(putUint(nil, f.uint("id", 1), 6), 1, 2)
	b = append(append(append(b, byte(len(schema))), schema...), 0)
	b = append(append(append(b, byte(len(name))), name...), 0)
	// Two columns, BIGINT and LONGBLOB; one byte of metadata; the second nullable.
	return 19, append(b, 2, 8, 252, 1, 4, 2), nil
}

const rowsKeys = "id= size= v= compressed"

// rowTypes are the types by version, then insert, update, delete.
var rowTypes = [3][3]byte{{20, 21, 22}, {23, 24, 25}, {30, 31, 32}}

func encodeRows(change int) func(*marshaler, *fields) (byte, []byte, error) {
	return func(m *marshaler, f *fields) (byte, []byte, error) {
		version := uint64(2)
		if m.rowsV1 {
			version = 1
		}
		version = f.uint("v", version)
		if version > 2 {
			f.fail("v", "0, 1 or 2")
			return 0, nil, f.err
		}
		typ := rowTypes[version][change]
		if f.has("compressed") {
			typ = [3]byte{0, 166, 169}[version] + byte(change)
		}
		b := putUint(putUint(nil, f.uint("id", 1), 6), 1, 2) // the statement's last
		if version == 2 {
			b = putUint(b, 2, 2) // no extra data
		}
		images := 1
		if change == 1 {
			images = 2
		}
		b = append(b, 2)
		for range images {
			b = append(b, 0xff)
		}
		const image = 1 + 8 + 4 // null bits, BIGINT, length of LONGBLOB
		size := headerLen + len(b) + images*image
		if m.checksums {
			size += checksumLen
		}
		want := f.uint("size", uint64(size))
		if want < uint64(size) || want > 1<<30 {
			return 0, nil, fmt.Errorf("size=%d: want %d to 1 GiB", want, size)
		}
		fill := int(want) - size
		for i := range images {
			n := fill
			if images == 2 && i == 0 {
				n = fill / 2
			}
			fill -= n
			b = append(b, 0xfc)
			b = putUint(b, 1, 8)
			b = putUint(b, uint64(n), 4)
			b = append(b, bytes.Repeat([]byte{'x'}, n)...)
		}
		return typ, b, nil
	}
}

func encodeRowsQuery(_ *marshaler, f *fields) (byte, []byte, error) {
	return 29, append([]byte{byte(len(f.text))}, f.text...), nil
}

func encodeAnnotate(_ *marshaler, f *fields) (byte, []byte, error) {
	return 160, []byte(f.text), nil
}

func encodeXID(_ *marshaler, f *fields) (byte, []byte, error) {
	n, err := strconv.ParseUint(f.text, 10, 64)
	return 16, putUint(nil, n, 8), err
}

func encodeXAPrepare(_ *marshaler, f *fields) (byte, []byte, error) {
	b := []byte{0}
	if f.has("onephase") {
		b[0] = 1
	}
	b = putUint(putUint(putUint(b, 1, 4), 3, 4), 0, 4)
	return 38, append(b, "xid"...), nil
}

func encodeIntvar(_ *marshaler, f *fields) (byte, []byte, error) {
	const insertID = 2
	return 5, putUint([]byte{insertID}, f.uint("value", 1), 8), nil
}

func encodeRotate(_ *marshaler, f *fields) (byte, []byte, error) {
	return 4, append(putUint(nil, 4, 8), f.text...), nil
}

func encodeStop(*marshaler, *fields) (byte, []byte, error) { return 3, nil, nil }

func encodeIncident(*marshaler, *fields) (byte, []byte, error) {
	const message = "lost"
	return 26, append([]byte{1, 0, byte(len(message))}, message...), nil
}

func encodeEvent(_ *marshaler, f *fields) (byte, []byte, error) {
	typ := byte(f.uint("type", 0))
	if f.has("body") {
		return typ, f.bytes("body"), nil
	}
	return typ, make([]byte, f.uint("size", 0)&(1<<31-1)), nil
}

// encoder is costly to make, and may be used again.
var encoder = sync.OnceValues(func() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
})

// payload encodes the lines up to one that is "}" as a transaction payload
// event. cut drops that many bytes off the end of the compressed data.
func (m *marshaler) payload(f *fields, lines []string) (more int, body []byte, err error) {
	codec, brace, _ := strings.Cut(f.text, " ")
	// The fields may stand behind the codec as well.
	for word := range strings.FieldsSeq(brace) {
		if key, value, isPair := strings.Cut(word, "="); isPair {
			f.kv[key] = value
		} else if word != "{" {
			return 0, nil, fmt.Errorf("unknown field %q", word)
		}
	}
	if !strings.HasSuffix(f.text, "{") {
		return 0, nil, fmt.Errorf("want a { at the end of the line")
	}
	end := slices.IndexFunc(lines, func(s string) bool { return strings.TrimSpace(s) == "}" })
	if end < 0 {
		return 0, nil, fmt.Errorf("no line with its }")
	}
	inner := *m
	inner.inner, inner.checksums, inner.out = true, false, nil
	for i := 1; i < end; i++ {
		if _, err := inner.line(lines[i : i+1]); err != nil {
			return 0, nil, fmt.Errorf("line %d in it: %w", i, err)
		}
	}
	data, compression := inner.out, uint64(255)
	switch codec {
	case "none":
	case "zstd":
		w, err := encoder()
		if err != nil {
			return 0, nil, err
		}
		data, compression = w.EncodeAll(data, nil), 0
	default:
		if compression, err = strconv.ParseUint(codec, 10, 32); err != nil {
			return 0, nil, fmt.Errorf("codec %q: want zstd, none or a number", codec)
		}
	}
	field := func(typ, value uint64) {
		v := putLenenc(nil, value)
		body = append(putLenenc(putLenenc(body, typ), uint64(len(v))), v...)
	}
	field(2, compression)
	field(3, f.uint("size", uint64(len(inner.out))))
	field(1, uint64(len(data)))
	body = append(body, 0)
	cut := min(f.uint("cut", 0), uint64(len(data)))
	return end, append(body, data[:uint64(len(data))-cut]...), nil
}
