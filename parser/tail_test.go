package parser_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"bgcstat/parser"
)

// grow writes a log byte by byte, as it were: size by size, and reads its tail
// after each.
func grow(t *testing.T, tail *parser.Tail, path string, log []byte, from int, step func() int) (sum parser.Growth) {
	t.Helper()
	for size := from; ; size = min(size+step(), len(log)) {
		if err := os.WriteFile(path, log[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		g, err := tail.Read(path, int64(size))
		if err != nil {
			t.Fatal(err)
		}
		sum.Transactions += g.Transactions
		sum.Bytes += g.Bytes
		if size == len(log) {
			return sum
		}
	}
}

// ends gives the ends of a log's transactions.
func ends(t *testing.T, path string) (ends []int64, firstStart int64) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := parser.NewReader(f, path, parser.Options{})
	for txn, err := range r.All() {
		if err != nil {
			t.Fatal(err)
		}
		if len(ends) == 0 {
			firstStart = txn.Start
		}
		ends = append(ends, txn.End)
	}
	return ends, firstStart
}

// Whatever the sizes at which a growing log is looked at, each transaction is
// read once.
func TestTail(t *testing.T) {
	for _, name := range []string{
		"mysql-9.7-row/binlog.000001", "mysql-9.7-compressed/binlog.000001", "mysql-9.7-ddl-xa/binlog.000001",
		"mariadb-10.11/mariadb-bin.000001", "mariadb-11.8/mariadb-bin.000001",
	} {
		source := filepath.Join("../testdata/binlog", name)
		log, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		ends, start := ends(t, source)
		rnd := rand.New(rand.NewPCG(1, 2))
		for _, most := range []int{400, 5000} {
			path := filepath.Join(t.TempDir(), "log")
			var tail parser.Tail
			sum := grow(t, &tail, path, log, int(start), func() int { return 1 + rnd.IntN(most) })
			if want := int64(len(ends)); sum.Transactions != want {
				t.Errorf("%s by up to %d bytes: %d transactions, want %d", name, most, sum.Transactions, want)
			}
			tail.Close()

			// From inside of a transaction: none that is not whole, none twice.
			middle := len(ends) / 2
			from := ends[middle] - 3
			sum = grow(t, &tail, path, log, int(from), func() int { return 1 + rnd.IntN(most) })
			if most := int64(len(ends) - middle - 1); sum.Transactions > most {
				t.Errorf("%s from %d: %d transactions, want at most %d", name, from, sum.Transactions, most)
			}
			tail.Close()
			// As long as the log ends inside a transaction nothing is known; as soon as
			// it is seen to end with one, all that follows is.
			sizes := []int{int(ends[middle] - 3), int(ends[middle]), len(log)}
			next := 0
			sum = grow(t, &tail, path, log, sizes[0], func() int { next++; return sizes[next] - sizes[next-1] })
			if want := int64(len(ends) - middle - 1); sum.Transactions != want {
				t.Errorf("%s from %d by way of %d: %d transactions, want %d", name, from, sizes[1], sum.Transactions, want)
			}
			tail.Close()
		}
	}
}

// A rotation loses nothing of either log.
func TestTailRotation(t *testing.T) {
	first, second := "../testdata/binlog/mysql-9.7-rotation/binlog.000001", "../testdata/binlog/mysql-9.7-rotation/binlog.000002"
	endsFirst, start := ends(t, first)
	endsSecond, _ := ends(t, second)
	info, err := os.Stat(second)
	if err != nil {
		t.Fatal(err)
	}
	var tail parser.Tail
	defer tail.Close()
	if _, err := tail.Read(first, start); err != nil {
		t.Fatal(err)
	}
	g, err := tail.Read(second, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	if want := int64(len(endsFirst) + len(endsSecond)); g.Transactions != want || g.Unknown {
		t.Errorf("%+v, want %d transactions", g, want)
	}
}

func TestTailOfOther(t *testing.T) {
	for name, content := range map[string]string{"encrypted": "\xfdbin\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", "empty": "", "short": "\xfebin", "text": "nothing of a binlog in here at all"} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		var tail parser.Tail
		if _, err := tail.Read(path, int64(len(content))); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// A log that came and went between two looks is not passed over in silence.
func TestTailOfLogs(t *testing.T) {
	log, err := os.ReadFile("../testdata/binlog/mysql-9.7-row/binlog.000001")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"binlog.000009", "binlog.000010", "binlog.000012", "binlog.000013", "binlog.000001"} {
		if err := os.WriteFile(filepath.Join(dir, name), log, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var tail parser.Tail
	defer tail.Close()
	if _, err := tail.Read(filepath.Join(dir, "binlog.000009"), int64(len(log))); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		next    string
		unknown bool
	}{{"binlog.000010", false}, {"binlog.000012", true}, {"binlog.000013", false}, {"binlog.000001", true}} {
		g, err := tail.Read(filepath.Join(dir, test.next), int64(len(log)))
		if err != nil || g.Transactions != 300 || g.Unknown != test.unknown {
			t.Errorf("%s: got %+v, %v, want 300 transactions, unknown: %v", test.next, g, err, test.unknown)
		}
	}
}
