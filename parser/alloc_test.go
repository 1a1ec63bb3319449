//go:build !race

// The race detector allocates.

package parser_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"bgcstat/parser"
)

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
