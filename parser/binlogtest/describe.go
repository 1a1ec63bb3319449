package binlogtest

import (
	"bytes"
	"fmt"
	"strings"
)

// describe gives the line of an event whose body is known in detail, or false.
// It need not be sure: what does not come out the same again is not used.
func describe(typ byte, body []byte) (string, bool) {
	r := &reader{b: body, ok: true}
	var line string
	switch typ {
	case formatType:
		line = describeFormat(body)
	case 2:
		thread := r.uint(4)
		r.take(4)
		db, status := int(r.uint(1)), 0
		r.take(2)
		status = int(r.uint(2))
		r.take(status)
		name := string(r.take(db))
		r.take(1)
		line = fmt.Sprintf("query thread=%d%s %s", thread, optional(" db=", name), r.b)
	case 3:
		line = "stop"
	case 4:
		r.take(8)
		line = fmt.Sprintf("rotate %s", r.b)
	case 5:
		r.take(1)
		line = fmt.Sprintf("intvar value=%d", r.uint(8))
	case 16:
		line = fmt.Sprintf("xid %d", r.uint(8))
	case 19:
		id := r.uint(6)
		r.take(2)
		schema := string(r.take(int(r.uint(1))))
		r.take(1)
		name := string(r.take(int(r.uint(1))))
		line = fmt.Sprintf("table-map id=%d %s.%s", id, schema, name)
	case 26:
		line = "incident"
	case 29:
		r.take(1)
		line = fmt.Sprintf("rows-query %s", r.b)
	case 33, 34, 42:
		line = describeGTID(typ, r)
	case 35:
		line = describePreviousGTIDs(r)
	case 38:
		line = "xa-prepare"
		if r.uint(1) == 1 {
			line += " onephase"
		}
	case 160:
		line = fmt.Sprintf("annotate %s", r.b)
	case 162:
		line = describeMariaGTID(r)
	case 163:
		var list []string
		for range r.uint(4) & (1<<28 - 1) {
			list = append(list, fmt.Sprintf("%d-%d-%d", r.uint(4), r.uint(4), r.uint(8)))
			if !r.ok {
				break
			}
		}
		line = "gtid-list " + strings.Join(list, ",")
	default:
		return describeRows(typ, body)
	}
	return line, r.ok && line != "" && !strings.ContainsAny(line, "\n\r")
}

func optional(prefix, value string) string {
	if value == "" {
		return ""
	}
	return prefix + value
}

func describeFormat(body []byte) string {
	if len(body) < 57 {
		return ""
	}
	version := strings.TrimRight(string(body[2:52]), "\x00")
	if version == "" || strings.ContainsAny(version, " \n") {
		return ""
	}
	types := len(body) - 57
	line := "format version=" + version
	if knowsChecksums(version) {
		types--
		if body[len(body)-1] == 0 {
			line += " nochecksum"
		}
	}
	if types != formatTypes(version) {
		line += fmt.Sprintf(" types=%d", types)
	}
	if le.Uint32(body[52:]) != 0 {
		line += " started"
	}
	return line
}

func describeGTID(typ byte, r *reader) string {
	var b strings.Builder
	var flags, gno uint64
	var uuid []byte
	add := func(key string, v any) { fmt.Fprintf(&b, " %s=%v", key, v) }
	if typ == 42 {
		r.varlen()
		r.varlen()
		r.varlen()
		uuid = make([]byte, 16)
		for r.ok && len(r.b) > 0 {
			switch id := r.varlen(); id {
			case 0:
				flags = r.varlen()
			case 1:
				for i := range uuid {
					uuid[i] = byte(r.varlen())
				}
			case 2:
				gno = uint64(r.signedVarlen())
			case 3:
				add("tag", string(r.take(int(r.varlen()&0xff))))
			case 4:
				add("last", r.signedVarlen())
			case 5:
				add("seq", r.signedVarlen())
			case 6:
				add("commit", formatMicros(r.varlen()))
			case 7:
				add("original", formatMicros(r.varlen()))
			case 8, 9, 10, 11, 12:
				add([]string{"length", "sversion", "oversion", "ticket", "extra"}[id-8], r.varlen())
			default:
				return ""
			}
		}
	} else {
		flags = r.uint(1)
		uuid = r.take(16)
		gno = r.uint(8)
		if len(r.b) > 0 {
			if lt := r.uint(1); lt != 2 {
				add("lt", lt)
			}
			add("last", int64(r.uint(8)))
			add("seq", int64(r.uint(8)))
		}
		if len(r.b) > 0 {
			commit := r.uint(7)
			add("commit", formatMicros(commit&^(1<<55)))
			if commit>>55 != 0 {
				add("original", formatMicros(r.uint(7)))
			}
		}
		if len(r.b) > 0 {
			add("length", r.lenenc())
		}
		if len(r.b) >= 4 {
			v := r.uint(4)
			add("sversion", v&^(1<<31))
			if v>>31 != 0 {
				add("oversion", r.uint(4))
			}
		}
		if len(r.b) > 0 {
			add("ticket", r.uint(8))
		}
	}
	if flags == 1 {
		b.WriteString(" sbr")
	}
	head := map[byte]string{33: "gtid", 34: "anonymous-gtid", 42: "tagged-gtid"}[typ]
	if typ != 34 {
		if u := formatUUID(uuid); u != DefaultUUID {
			head += " uuid=" + u
		}
		head += fmt.Sprintf(" gno=%d", gno)
	}
	return head + b.String()
}

func describePreviousGTIDs(r *reader) string {
	count := r.uint(8)
	tagged := count>>56 == 1
	if tagged {
		count = count << 8 >> 16
	}
	var sets []string
	for range count {
		var set strings.Builder
		set.WriteString(formatUUID(r.take(16)))
		if tagged {
			set.WriteString(optional(":", string(r.take(int(r.varlen()&0xff)))))
		}
		for range r.uint(8) {
			first, behind := r.uint(8), r.uint(8)
			if !r.ok {
				return ""
			}
			fmt.Fprintf(&set, ":%d-%d", first, behind-1)
		}
		if !r.ok {
			return ""
		}
		sets = append(sets, set.String())
	}
	return strings.TrimSpace("previous-gtids " + strings.Join(sets, ","))
}

func describeMariaGTID(r *reader) string {
	size := len(r.b)
	seq, domain, flags := r.uint(8), r.uint(4), r.uint(1)
	var line strings.Builder
	fmt.Fprintf(&line, "maria-gtid domain=%d seq=%d", domain, seq)
	if flags&0x02 != 0 {
		fmt.Fprintf(&line, " cid=%d", r.uint(8))
	}
	for _, w := range []struct {
		flag uint64
		word string
	}{{0x01, "standalone"}, {0x04, "transactional"}, {0x10, "waited"}, {0x20, "ddl"}} {
		if flags&w.flag != 0 {
			line.WriteString(" " + w.word)
		}
	}
	if flags&0xc0 != 0 {
		word := map[bool]string{true: "prepared", false: "completed"}[flags&0x40 != 0]
		r.take(4)
		g, b := int(r.uint(1)), int(r.uint(1))
		fmt.Fprintf(&line, " %s=%s", word, r.take(g))
		line.WriteString(optional("/", string(r.take(b))))
	}
	if len(r.b) > 0 {
		extra := r.uint(1)
		if extra&0x01 != 0 {
			fmt.Fprintf(&line, " engines=%d", r.uint(1))
		}
		for flag, word := range map[uint64]string{0x02: "start", 0x04: "commit", 0x08: "rollback"} {
			if extra&flag != 0 {
				line.WriteString(" alter=" + word)
			}
		}
		if extra&0x0c != 0 {
			fmt.Fprintf(&line, " alterseq=%d", r.uint(8))
		}
		if extra&0x10 != 0 {
			fmt.Fprintf(&line, " thread=%d", r.uint(4))
		}
	}
	if size > 19 && len(r.b) > 0 {
		fmt.Fprintf(&line, " pad=%d", size)
	}
	return line.String()
}

func describeRows(typ byte, body []byte) (string, bool) {
	for version, types := range rowTypes {
		change := bytes.IndexByte(types[:], typ)
		if change < 0 || len(body) < 8 {
			continue
		}
		id := uint64(le.Uint32(body)) | uint64(le.Uint16(body[4:]))<<32
		return fmt.Sprintf("%s id=%d v=%d", []string{"insert", "update", "delete"}[change], id, version), true
	}
	return "", false
}
