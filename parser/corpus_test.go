package parser_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"bgcstat/parser"
)

// readTSV gives the rows of a table with a head line, by column name.
func readTSV(tb testing.TB, path string) []map[string]string {
	tb.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	lines := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	names := strings.Split(lines[0], "\t")
	var rows []map[string]string
	for _, line := range lines[1:] {
		row := make(map[string]string)
		for i, value := range strings.Split(line, "\t") {
			row[names[i]] = value
		}
		rows = append(rows, row)
	}
	return rows
}

// What an independent scan counted in the logs of many servers must come out
// here too.
func TestCorpus(t *testing.T) {
	dir := corpus(t)
	for _, row := range readTSV(t, filepath.Join(dir, "FILES.tsv")) {
		t.Run(row["file"], func(t *testing.T) { checkCorpusFile(t, dir, row) })
	}
}

func checkCorpusFile(t *testing.T, dir string, row map[string]string) {
	want := func(column string) int {
		n, err := strconv.Atoi(row[column])
		if err != nil {
			t.Fatalf("%s: %v", column, err)
		}
		return n
	}
	check := func(what string, got, want int) {
		t.Helper()
		if got != want {
			t.Errorf("%s: got %d, want %d", what, got, want)
		}
	}
	file, err := os.Open(filepath.Join(dir, row["file"]))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r := parser.NewReader(file, row["file"], parser.Options{})
	var transactions, withGTID, clocks, rows, xids, cids int
	lasts := make(map[int64]bool)
	commits := make(map[uint64]bool)
	end := int64(0)
	for txn, err := range r.All() {
		if err != nil {
			break // as in Log.Err
		}
		if txn.Start < end || txn.End <= txn.Start {
			t.Errorf("transaction at %d to %d, behind one to %d", txn.Start, txn.End, end)
		}
		end = txn.End
		transactions++
		if txn.HasGTIDEvent {
			withGTID++
		}
		if txn.HasClock {
			clocks++
			lasts[txn.LastCommitted] = true
		}
		if txn.CommitID != 0 {
			cids++
			commits[txn.CommitID] = true
		}
		if txn.HasXID {
			xids++
		}
		rows += txn.Inserts + txn.Updates + txn.Deletes
	}
	l := r.Log()

	gtids := want("gtid_events") + want("anonymous_gtid_events") + want("tagged_gtid_events") + want("mariadb_gtid_events")
	check("transactions with a GTID event", withGTID, gtids)
	if gtids != 0 {
		check("transactions", transactions, gtids)
	}
	check("transactions with a clock", clocks, want("trx_with_clock"))
	check("distinct last_committed", len(lasts), want("distinct_last_committed"))
	check("transactions with a commit id", cids, want("mariadb_trx_with_commit_id"))
	check("commit ids", len(commits), want("mariadb_commit_ids"))
	check("bytes", int(l.Bytes), want("size_bytes"))
	if got, want := l.ServerVersion, row["server_version"]; got != want {
		t.Errorf("server version: got %q, want %q", got, want)
	}
	if got, want := l.HasChecksums, row["checksum"] == "CRC32"; got != want {
		t.Errorf("checksums: got %v, want %s", got, row["checksum"])
	}
	bad, badAt := 0, parser.Pos{}
	for _, w := range l.Warnings {
		if w.Code == "bad-checksum" {
			bad, badAt = int(w.Count), w.At
		}
	}
	check("bad checksums", bad, want("crc_bad"))
	if bad > 0 {
		if l.Damaged == 0 || badAt.Offset < 4 || badAt.Offset >= l.Bytes {
			t.Errorf("bad checksums: %d damaged, the first at %v", l.Damaged, badAt)
		}
		return
	}
	// The scan did not look into payloads.
	if want("payload_events") == 0 {
		check("row events", rows, want("row_events"))
		check("XIDs", xids, want("xid_events"))
	}
	// The log of Aurora ends with a transaction that does not.
	if aurora := strings.HasSuffix(row["file"], "aurora-padding"); (l.Err != nil) != aurora {
		t.Errorf("cannot be read to its end: %v", l.Err)
	}
}
