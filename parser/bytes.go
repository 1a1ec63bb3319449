package parser

import "encoding/binary"

func le16(b []byte) uint16 { return binary.LittleEndian.Uint16(b) }
func le32(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }
func le64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

// le48 is a table id.
func le48(b []byte) uint64 { return uint64(le32(b)) | uint64(le16(b[4:]))<<32 }

// le56 is a commit timestamp of a GTID event.
func le56(b []byte) uint64 { return le48(b) | uint64(b[6])<<48 }

// cursor reads fields off the front of a body. A read beyond the end gives
// zero and makes ok false for good, so that a decoder checks once, at its end.
type cursor struct {
	b  []byte
	ok bool
}

func newCursor(b []byte) cursor { return cursor{b: b, ok: true} }

// take gives the next n bytes, or nil beyond the end.
func (c *cursor) take(n int) []byte {
	if !c.ok || n < 0 || n > len(c.b) {
		c.ok = false
		return nil
	}
	v := c.b[:n]
	c.b = c.b[n:]
	return v
}

func (c *cursor) u8() uint8 {
	if v := c.take(1); v != nil {
		return v[0]
	}
	return 0
}

func (c *cursor) u16() uint16 {
	if v := c.take(2); v != nil {
		return le16(v)
	}
	return 0
}

func (c *cursor) u32() uint32 {
	if v := c.take(4); v != nil {
		return le32(v)
	}
	return 0
}

func (c *cursor) u64() uint64 {
	if v := c.take(8); v != nil {
		return le64(v)
	}
	return 0
}

func (c *cursor) u56() uint64 {
	if v := c.take(7); v != nil {
		return le56(v)
	}
	return 0
}

// lenenc reads a length-encoded integer of the MySQL protocol: one byte below
// 0xfb, or 0xfc, 0xfd, 0xfe and 2, 3, 8 bytes.
func (c *cursor) lenenc() uint64 {
	switch first := c.u8(); first {
	case 0xfc:
		return uint64(c.u16())
	case 0xfd:
		if v := c.take(3); v != nil {
			return uint64(le16(v)) | uint64(v[2])<<16
		}
		return 0
	case 0xfe:
		return c.u64()
	case 0xfb, 0xff:
		c.ok = false
		return 0
	default:
		return uint64(first)
	}
}

// varlen reads an unsigned integer of MySQL's serialization library
// (libs/mysql/serialization/variable_length_integers.h): the trailing one-bits
// of the first byte count the bytes that follow; with 0xff eight bytes follow.
func (c *cursor) varlen() uint64 {
	if len(c.b) == 0 {
		c.ok = false
		return 0
	}
	n := 1
	for first := c.b[0]; first&1 == 1; first >>= 1 {
		n++
	}
	v := c.take(n)
	if v == nil {
		return 0
	}
	if n == 9 {
		return le64(v[1:])
	}
	var u uint64
	for i := n - 1; i >= 0; i-- {
		u = u<<8 | uint64(v[i])
	}
	return u >> n
}

// signedVarlen reads a zig-zag coded signed integer of the same library.
func (c *cursor) signedVarlen() int64 {
	u := c.varlen()
	return int64(u>>1) ^ -int64(u&1)
}
