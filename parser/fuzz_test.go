package parser_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"bgcstat/parser"
)

// FuzzReader: whatever the bytes, reading neither panics nor loops, its errors
// have a place in the input, transactions lie in order within it, and the size
// of the source's reads changes nothing.
func FuzzReader(f *testing.F) {
	const maxSeed = 4000 // larger ones take too long to be made smaller
	for _, path := range goldens(f) {
		if _, _, log := readGolden(f, path); len(log) < maxSeed {
			f.Add(log)
		}
	}
	for _, path := range realLogs(f) {
		if log, err := os.ReadFile(path); err == nil && len(log) < maxSeed {
			f.Add(log)
		}
	}
	f.Fuzz(func(t *testing.T, log []byte) {
		const name = "binlog.000001"
		lines, l, err := readBytes(log, name)
		checkEnd(t, log, name, err)
		end := 0
		for _, line := range lines {
			start, next := span(t, line)
			if start < end || next < start || next > len(log) {
				t.Errorf("transaction behind offset %d of %d: %s", end, len(log), line)
			}
			end = next
		}
		if l.Bytes > int64(len(log)) {
			t.Errorf("%d bytes read of %d", l.Bytes, len(log))
		}
		lines1, l1, err1 := read(iotest.OneByteReader(bytes.NewReader(log)), name)
		if g, w := strings.Join(lines1, "\n")+logLines(l1, err1), strings.Join(lines, "\n")+logLines(l, err); g != w {
			t.Errorf("read byte by byte: got\n%s\nwant\n%s", g, w)
		}
		r := parser.NewReader(bytes.NewReader(log), name, parser.Options{NoChecksums: true})
		for {
			if _, err := r.Next(); err != nil {
				if _, again := r.Next(); !errors.Is(again, err) {
					t.Errorf("Next gives %v behind %v", again, err)
				}
				break
			}
		}
	})
}

// FuzzGTIDSet: what is parsed prints as something that parses to the same.
func FuzzGTIDSet(f *testing.F) {
	for _, s := range gtidSetSeeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		set, err := parser.ParseGTIDSet(s)
		if err != nil {
			if len(err.Error()) > 10*len(s)+200 {
				t.Errorf("message of %d bytes for %d", len(err.Error()), len(s))
			}
			return
		}
		printed := set.String()
		again, err := parser.ParseGTIDSet(printed)
		if err != nil {
			t.Fatalf("%q prints as %q: %v", s, printed, err)
		}
		if got := again.String(); got != printed {
			t.Errorf("%q prints as %q, and that as %q", s, printed, got)
		}
	})
}

// A source's own error comes through, with the place where it was met.
func TestSourceError(t *testing.T) {
	log := append(builderLog(t, 3), make([]byte, 100)...)
	broken := errors.New("broken")
	for _, n := range []int{0, 2, 20, 50, 2000, len(log) - 100, len(log)} {
		lines, l, err := read(io.MultiReader(bytes.NewReader(log[:n]), iotest.ErrReader(broken)), "binlog.000001")
		fault, ok := errors.AsType[*parser.Error](err)
		if !errors.Is(err, broken) || !ok || fault.Pos.Offset > int64(n) {
			t.Errorf("broken at %d: got %d transactions and %v", n, len(lines), err)
		}
		if !errors.Is(l.Err, err) {
			t.Errorf("broken at %d: log has %v, want %v", n, l.Err, err)
		}
	}
}

// Reading ends with the same error however often one asks.
func TestNextAtTheEnd(t *testing.T) {
	log := builderLog(t, 1)
	for _, n := range []int{len(log), len(log) - 1} {
		r := parser.NewReader(bytes.NewReader(log[:n]), "binlog.000001", parser.Options{})
		var first error
		for first == nil {
			_, first = r.Next()
		}
		if _, err := r.Next(); !errors.Is(err, first) {
			t.Errorf("got %v, want %v again", err, first)
		}
	}
}

// Without checksums a bad one is not seen; the rest stays as it is.
func TestNoChecksums(t *testing.T) {
	log := marshal(t, "format\ngtid last=0 seq=1\nquery badcrc BEGIN\nxid badcrc 5\n")
	r := parser.NewReader(bytes.NewReader(log), "binlog.000001", parser.Options{NoChecksums: true})
	txn, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	if txn.XID != 5 || r.Log().Damaged != 0 {
		t.Errorf("got XID %d and %d damaged, want 5 and 0", txn.XID, r.Log().Damaged)
	}
}
