package parser_test

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"bgcstat/parser"
)

// TestOwnTool holds every transaction of testdata/binlog against what the
// server's own mysqlbinlog or mariadb-binlog printed of it.
func TestOwnTool(t *testing.T) {
	tables, err := filepath.Glob("../testdata/binlog/*/own.tsv")
	if err != nil || len(tables) == 0 {
		t.Fatalf("no own.tsv found (%v)", err)
	}
	for _, table := range tables {
		dir := filepath.Dir(table)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			f, err := os.Open(table)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			r := csv.NewReader(f)
			r.Comma = '\t'
			want, err := r.ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			want = want[1:]
			names := []string{}
			for _, row := range want {
				if n := len(names); n == 0 || names[n-1] != row[0] {
					names = append(names, row[0])
				}
			}
			n := 0
			for _, name := range names {
				src, err := parser.Find([]string{filepath.Join(dir, name)}, nil)
				if err != nil {
					t.Fatal(err)
				}
				files := parser.NewFiles(src, parser.Options{})
				for txn, err := range files.All() {
					if err != nil {
						t.Error(err)
						break
					}
					if n == len(want) {
						t.Fatalf("more than %d transactions, next at %v", n, txn.Pos())
					}
					checkOwn(t, want[n], txn)
					n++
				}
				files.Close()
			}
			if n != len(want) {
				t.Errorf("%d transactions, want %d", n, len(want))
			}
		})
	}
}

// checkOwn compares the columns file, start_pos, gtid, last_committed,
// sequence_number, commit_id, thread_id and end_pos, each where it was printed.
func checkOwn(t *testing.T, want []string, txn *parser.Txn) {
	t.Helper()
	got := []string{
		txn.Log.Name,
		strconv.FormatInt(txn.Start, 10),
		txn.GTID.String(),
		strconv.FormatInt(txn.LastCommitted, 10),
		strconv.FormatInt(txn.SequenceNumber, 10),
		strconv.FormatUint(txn.CommitID, 10),
		strconv.FormatUint(uint64(txn.ThreadID), 10),
		strconv.FormatInt(txn.End, 10),
	}
	names := []string{"file", "start", "gtid", "last_committed", "sequence_number", "commit_id", "thread_id", "end"}
	for i, w := range want {
		switch {
		case w == "" && names[i] == "commit_id":
			w = "0"
		case w == "":
			continue
		case names[i] == "gtid" && strings.EqualFold(w, "ANONYMOUS"):
			w = ""
		}
		// A thread id that only a later event shows is none of the GTID event.
		if names[i] == "thread_id" && txn.Log.Flavor == parser.MariaDB && !txn.HasThreadID {
			continue
		}
		if got[i] != w {
			t.Errorf("%v: %s is %s, want %s", txn.Pos(), names[i], got[i], w)
		}
	}
}
