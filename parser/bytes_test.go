package parser

import (
	"encoding/hex"
	"math"
	"testing"
)

// The vectors are of MySQL's libs/mysql/serialization/readme.md and its tests.
func TestVarlen(t *testing.T) {
	for _, test := range []struct {
		hex  string
		want uint64
	}{
		{"00", 0},
		{"02", 1},
		{"fe", 127},
		{"0102", 128},
		{"fd03", 255},
		{"fdff", 16383},
		{"fbff07", 65535},
		{"7fffffffffffffff", 1<<56 - 1},
		{"ff0000000000000001", 1 << 56},
		{"ffffffffffffffffff", math.MaxUint64},
	} {
		data, err := hex.DecodeString(test.hex)
		if err != nil {
			t.Fatal(err)
		}
		c := newCursor(append(data, 0xaa))
		if got := c.varlen(); got != test.want || !c.ok || len(c.b) != 1 {
			t.Errorf("%s: got %d with %d bytes left, want %d with 1", test.hex, got, len(c.b), test.want)
		}
		for n := range data {
			c := newCursor(data[:n])
			if c.varlen(); c.ok {
				t.Errorf("%s cut to %d bytes is read", test.hex, n)
			}
		}
	}
}

func TestSignedVarlen(t *testing.T) {
	for _, test := range []struct {
		hex  string
		want int64
	}{
		{"00", 0},
		{"02", -1},
		{"04", 1},
		{"d903", 123},
		{"f3ff0f", 65535},
		{"ebff0f", -65535},
		{"fffeffffffffffffff", math.MaxInt64},
		{"ffffffffffffffffff", math.MinInt64},
	} {
		data, err := hex.DecodeString(test.hex)
		if err != nil {
			t.Fatal(err)
		}
		c := newCursor(data)
		if got := c.signedVarlen(); got != test.want || !c.ok || len(c.b) != 0 {
			t.Errorf("%s: got %d, want %d", test.hex, got, test.want)
		}
	}
}

func TestLenenc(t *testing.T) {
	for _, test := range []struct {
		hex  string
		want uint64
		ok   bool
	}{
		{"00", 0, true},
		{"fa", 250, true},
		{"fb", 0, false}, // NULL
		{"fcfb00", 251, true},
		{"fd000001", 65536, true},
		{"fe0000000100000000", 1 << 24, true},
		{"feffffffffffffffff", math.MaxUint64, true},
		{"ff", 0, false},
		{"fc01", 0, false},
		{"fd0101", 0, false},
		{"fe01010101010101", 0, false},
		{"", 0, false},
	} {
		data, err := hex.DecodeString(test.hex)
		if err != nil {
			t.Fatal(err)
		}
		c := newCursor(data)
		if got := c.lenenc(); got != test.want || c.ok != test.ok {
			t.Errorf("%q: got %d, %v, want %d, %v", test.hex, got, c.ok, test.want, test.ok)
		}
	}
}

func TestParseVersion(t *testing.T) {
	for _, test := range []struct {
		in   string
		want Version
	}{
		{"8.0.36", Version{8, 0, 36}},
		{"5.7.44-47-log", Version{5, 7, 44}},
		{"26.1.0", Version{26, 1, 0}},
		{"5.5.5-10.6.16-MariaDB", Version{10, 6, 16}},
		{"11.8.5-MariaDB-ubu2404-log", Version{11, 8, 5}},
		{"5.5.5-log", Version{5, 5, 5}},
		{"8.0", Version{8, 0, 0}},
		{"", Version{}},
		{"x", Version{}},
		{"99999999.1.1", Version{999999, 0, 0}},
	} {
		if got := parseVersion(test.in); got != test.want {
			t.Errorf("%q: got %v, want %v", test.in, got, test.want)
		}
	}
}

func TestSplitName(t *testing.T) {
	for _, test := range []struct {
		in     string
		base   string
		number int64
		ok     bool
	}{
		{"/var/lib/mysql/binlog.000007", "binlog", 7, true},
		{"binlog.1000000", "binlog", 1000000, true},
		{"my.host-bin.000001.gz", "my.host-bin", 1, true},
		{"binlog.000002.zst", "binlog", 2, true},
		{"binlog.index", "", 0, false},
		{"binlog.00001", "", 0, false},
		{"binlog.99999999999999999999", "binlog", 0, false},
	} {
		base, number, ok := SplitName(test.in)
		if ok != test.ok || ok && (base != test.base || number != test.number) {
			t.Errorf("%s: got %q, %d, %v, want %q, %d, %v", test.in, base, number, ok, test.base, test.number, test.ok)
		}
	}
}
