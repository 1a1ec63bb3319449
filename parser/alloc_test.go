package parser_test

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"bgcstat/parser"
	"bgcstat/parser/binlogtest"
)

// builderLog is a log of n transactions by a Builder.
func builderLog(tb testing.TB, n int) []byte {
	tb.Helper()
	var log bytes.Buffer
	b := binlogtest.NewBuilder(&log)
	for range n {
		if err := b.Txn(); err != nil {
			tb.Fatal(err)
		}
	}
	if err := b.Close(); err != nil {
		tb.Fatal(err)
	}
	return log.Bytes()
}

// readAllocs is how often reading a log allocates.
func readAllocs(tb testing.TB, log []byte, want int) float64 {
	tb.Helper()
	return testing.AllocsPerRun(3, func() {
		n := 0
		for _, err := range parser.NewReader(bytes.NewReader(log), "binlog.000001", parser.Options{}).All() {
			if err != nil {
				tb.Fatal(err)
			}
			n++
		}
		if n != want {
			tb.Fatalf("got %d transactions, want %d", n, want)
		}
	})
}

// A transaction allocates nothing: what reading a log allocates must not grow
// with its length. Payloads may have a few small readers each.
func TestAllocs(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for _, test := range []struct {
		name string
		log  func(n int) []byte
		most float64 // allocations a transaction
	}{
		{"rows", func(n int) []byte { return builderLog(t, n) }, 0.01},
		{"payload", func(n int) []byte { return repeatedLog(t, n, payloadTxn) }, 1.01},
		{"statement", func(n int) []byte { return repeatedLog(t, n, statementTxn) }, 0.01},
		{"mariadb", func(n int) []byte { return mariaDBLog(t, n) }, 0.01},
	} {
		const short, long = 1000, 20000
		few, many := readAllocs(t, test.log(short), short), readAllocs(t, test.log(long), long)
		if perTxn := (many - few) / (long - short); perTxn > test.most {
			t.Errorf("%s: %v allocations in a log of %d transactions, %v in one of %d: %.2f a transaction, want at most %v",
				test.name, few, short, many, long, perTxn, test.most)
		}
	}
}

const (
	payloadTxn   = "gtid gno=%d last=0 seq=1\npayload zstd {\nquery thread=5 db=shop BEGIN\ntable-map id=90 shop.orders\ninsert id=90 size=600\nxid 7\n}\n"
	statementTxn = "anonymous-gtid last=%d seq=30000\nquery thread=5 db=shop BEGIN\nintvar\nquery thread=5 db=shop INSERT INTO t VALUES (1)\nxid 7\n"
)

// repeatedLog is a log of n transactions, each with its number in it.
func repeatedLog(tb testing.TB, n int, txn string) []byte {
	var text strings.Builder
	text.WriteString("format\nprevious-gtids\n")
	for i := range n {
		fmt.Fprintf(&text, txn, i+1)
	}
	return marshal(tb, text.String())
}

func mariaDBLog(tb testing.TB, n int) []byte {
	var text strings.Builder
	text.WriteString("format version=11.8.5-MariaDB\ngtid-list\n")
	for i := range n {
		fmt.Fprintf(&text, "maria-gtid domain=%d seq=%d cid=%d thread=7\ntable-map id=%d shop.orders\ninsert id=%d\nxid 7\n", i%2, i+1, i/3+1, 90+i%3, 90+i%3)
	}
	return marshal(tb, text.String())
}

// What a log claims must not be allocated.
func TestClaims(t *testing.T) {
	const bound = 32 << 20
	for _, test := range []struct {
		name string
		log  []byte
	}{
		{"event of 4 GiB", marshal(t, "format\nevent type=30 eventlength=4294967295 logpos=0 size=9 truncate=23")},
		{"event of 3 GiB in a payload", marshal(t, "format\ngtid last=0 seq=1\npayload none {\nevent type=2 eventlength=3221225472 size=9\n}")},
		{"payload that claims 3 GiB", marshal(t, "format\ngtid last=0 seq=1\npayload zstd size=3221225472 {\nquery BEGIN\nxid 1\n}")},
		{"zstd bomb", marshal(t, zstdBomb)},
		{"zstd frame that claims 3 GiB", marshal(t, "format\ngtid last=0 seq=1\nevent type=40 body="+
			"02010003"+"05fe000000c0"+"00"+"28b52ffd"+"c0"+"000000c000000000"+"010000")},
		{"previous GTIDs that claim 2^63 intervals", marshal(t, "format\nevent type=35 body=ffffffffffffff7f"+
			strings.Repeat("00", 16)+"ffffffffffffff7f")},
		{"GTID list that claims 2^28", marshal(t, "format version=10.6.1-MariaDB\nevent type=163 body=ffffff0f")},
	} {
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, err := readBytes(test.log, "binlog.000001")
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > bound {
			t.Errorf("%s: allocates %d MiB, want less than %d (%v)", test.name, got>>20, bound>>20, err)
		}
	}
}

// zstdBomb is 1 GiB and more of an event in a payload of some kilobytes.
var zstdBomb = "format\ngtid last=0 seq=1\npayload zstd {\nquery BEGIN\nevent type=30 size=268435456\nxid 1\n}"
