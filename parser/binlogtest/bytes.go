package binlogtest

import "encoding/binary"

var le = binary.LittleEndian

// putUint appends the n low bytes of v.
func putUint(b []byte, v uint64, n int) []byte {
	for range n {
		b = append(b, byte(v))
		v >>= 8
	}
	return b
}

// putLenenc appends a length-encoded integer of the MySQL protocol.
func putLenenc(b []byte, v uint64) []byte {
	switch {
	case v < 0xfb:
		return append(b, byte(v))
	case v < 1<<16:
		return putUint(append(b, 0xfc), v, 2)
	case v < 1<<24:
		return putUint(append(b, 0xfd), v, 3)
	default:
		return putUint(append(b, 0xfe), v, 8)
	}
}

// putVarlen appends an unsigned integer as MySQL's serialization library does:
// the trailing one-bits of the first byte count the bytes behind it.
func putVarlen(b []byte, v uint64) []byte {
	n := 1
	for n < 9 && v>>(7*n) != 0 {
		n++
	}
	if n == 9 {
		return putUint(append(b, 0xff), v, 8)
	}
	return putUint(b, v<<n|(1<<(n-1)-1), n)
}

// putSignedVarlen appends a zig-zag coded signed integer.
func putSignedVarlen(b []byte, v int64) []byte {
	return putVarlen(b, uint64(v)<<1^uint64(v>>63))
}

// reader takes fields off the front of a body; ok is false once it was too short.
type reader struct {
	b  []byte
	ok bool
}

func (r *reader) take(n int) []byte {
	if !r.ok || n < 0 || n > len(r.b) {
		r.ok = false
		return make([]byte, max(0, min(n, 64)))
	}
	v := r.b[:n]
	r.b = r.b[n:]
	return v
}

func (r *reader) uint(n int) uint64 {
	var v uint64
	for i, c := range r.take(n) {
		v |= uint64(c) << (8 * i)
	}
	return v
}

func (r *reader) lenenc() uint64 {
	switch first := r.uint(1); first {
	case 0xfc:
		return r.uint(2)
	case 0xfd:
		return r.uint(3)
	case 0xfe:
		return r.uint(8)
	default:
		return first
	}
}

func (r *reader) varlen() uint64 {
	if len(r.b) == 0 {
		r.ok = false
		return 0
	}
	n := 1
	for first := r.b[0]; first&1 == 1; first >>= 1 {
		n++
	}
	if n == 9 {
		r.take(1)
		return r.uint(8)
	}
	return r.uint(n) >> n
}

func (r *reader) signedVarlen() int64 {
	u := r.varlen()
	return int64(u>>1) ^ -int64(u&1)
}
