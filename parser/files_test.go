package parser_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"bgcstat/parser"
)

// Files gives what Readers of each log give, one after the other.
func TestFiles(t *testing.T) {
	writeFiles(t, map[string][]byte{
		"binlog.000001": builderLog(t, 3000),
		"binlog.000002": logAt(t, 1, ""),
		"binlog.000003": builderLog(t, 10),
		"binlog.000004": logAt(t, 2, "inuse"),
	})
	var want []string
	for n := range 4 {
		data, err := os.ReadFile(fmt.Sprintf("binlog.00000%d", n+1))
		if err != nil {
			t.Fatal(err)
		}
		lines, _, _ := readBytes(data, "")
		want = append(want, lines...)
	}
	// The two written by a Builder begin alike, so they are not found together.
	var inputs []*parser.Input
	for n := range 4 {
		found, err := parser.Find([]string{fmt.Sprintf("binlog.00000%d", n+1)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		inputs = append(inputs, found...)
	}
	files := parser.NewFiles(inputs, parser.Options{})
	var got []string
	for txn, err := range files.All() {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, txnLine(txn))
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %d transactions that differ from the %d of the logs alone", len(got), len(want))
	}
	if read, total := files.Progress(); read != total || total == 0 {
		t.Errorf("read %d bytes of %d", read, total)
	}
	if n := len(files.Logs()); n != 4 {
		t.Errorf("got %d logs, want 4", n)
	}
	files.Close()
}

// A log that cannot be read to its end does not keep the others from it.
func TestFilesGoOn(t *testing.T) {
	whole := builderLog(t, 100)
	writeFiles(t, map[string][]byte{
		"binlog.000001": whole[:50000],
		"binlog.000002": []byte("nonsense"),
		"binlog.000004": logAt(t, 1, ""),
	})
	lines, logs, errs := readInputs(t, []string{"binlog.000004", "binlog.000001", "binlog.000002", "binlog.000003"}, nil)
	if len(errs) != 3 || len(logs) != 4 {
		t.Fatalf("got %d logs and errors %v, want 4 and 3", len(logs), errs)
	}
	for _, want := range []error{parser.ErrTruncated, parser.ErrNotBinlog, fs.ErrNotExist} {
		if !errors.Is(errors.Join(errs...), want) {
			t.Errorf("got %v, want one that is %v", errs, want)
		}
	}
	if want := 50000/1062 + 1; len(lines) != want { // the last of the first is cut
		t.Errorf("got %d transactions, want %d", len(lines), want)
	}
	for _, l := range logs {
		if l.Bytes < 0 || l.Complete() != (l.Err == nil) {
			t.Errorf("%s: %d bytes, complete %v, error %v", l.Name, l.Bytes, l.Complete(), l.Err)
		}
	}
}

// Close may come at any time.
func TestFilesClose(t *testing.T) {
	writeFiles(t, map[string][]byte{"binlog.000001": builderLog(t, 20000), "binlog.000002": logAt(t, 1, "")})
	for _, n := range []int{0, 1, 5000, 20001} {
		inputs, err := parser.Find([]string{"."}, nil)
		if err != nil {
			t.Fatal(err)
		}
		files := parser.NewFiles(inputs, parser.Options{})
		for range n {
			if _, err := files.Next(); err != nil {
				t.Fatal(err)
			}
		}
		files.Close()
		files.Close()
		if txn, err := files.Next(); err == nil {
			t.Errorf("closed behind %d transactions: got another at %v", n, txn.Pos())
		}
	}
}

// What the ends and beginnings of neighbours say of each other.
func TestJoints(t *testing.T) {
	const mysql = "format at=%d version=8.0.36\n"
	const maria = "format at=%d version=10.11.6-MariaDB\n"
	txn := func(gno int) string { return fmt.Sprintf("gtid gno=%d last=0 seq=1\nquery BEGIN\nxid 1\n", gno) }
	mtxn := func(seq int) string { return fmt.Sprintf("maria-gtid domain=0 seq=%d\nxid 1\n", seq) }
	for _, test := range []struct {
		name string
		logs map[string]string
		want string // of the second log, its warning
	}{
		{"in order", map[string]string{
			"binlog.000001": mysql + "previous-gtids\n" + txn(1) + txn(2) + "rotate binlog.000002",
			"binlog.000002": mysql + "previous-gtids " + uuid1 + ":1-2\n" + txn(3),
		}, ""},
		{"gap by rotate", map[string]string{
			"binlog.000001": mysql + "previous-gtids\n" + txn(1) + "rotate binlog.000002",
			"binlog.000003": mysql + "previous-gtids " + uuid1 + ":1-2\n" + txn(3),
		}, "gap-between-logs: binlog.000001 ends with a pointer to binlog.000002, which is not among the files"},
		{"gap by GTIDs", map[string]string{
			"binlog.000001": mysql + "previous-gtids\n" + txn(1) + "stop",
			"binlog.000003": mysql + "previous-gtids " + uuid1 + ":1-5\n" + txn(6),
		}, "gap-between-logs: it was begun after " + uuid1 + ":2"},
		{"overlap by GTIDs", map[string]string{
			"binlog.000001": mysql + "previous-gtids\n" + txn(1) + txn(2) + txn(3) + "stop",
			"binlog.000002": mysql + "previous-gtids " + uuid1 + ":1\n" + txn(6),
		}, "overlapping-logs: binlog.000001 holds " + uuid1 + ":2"},
		{"overlap by rotate", map[string]string{
			"binlog.000003": mysql + "previous-gtids\n" + txn(1) + "rotate binlog.000009",
			"binlog.000004": mysql + "previous-gtids " + uuid1 + ":1\n" + txn(2),
		}, "overlapping-logs: binlog.000003 ends with a pointer to binlog.000009"},
		{"no GTIDs", map[string]string{
			"binlog.000001": mysql + "anonymous-gtid last=0 seq=1\nquery BEGIN\nxid 1\nstop",
			"binlog.000002": mysql + "previous-gtids\nanonymous-gtid last=0 seq=1\nquery BEGIN\nxid 1",
		}, ""},
		{"renamed copies", map[string]string{
			"1.old": mysql + "previous-gtids\n" + txn(1) + "rotate binlog.000002",
			"2.old": mysql + "previous-gtids " + uuid1 + ":1\n" + txn(2),
		}, ""},
		{"damaged", map[string]string{
			"binlog.000001": mysql + "previous-gtids\n" + strings.Replace(txn(1), "gtid", "gtid badcrc", 1) + "stop",
			"binlog.000002": mysql + "previous-gtids " + uuid1 + ":1\n" + txn(2),
		}, ""},
		{"MariaDB in order", map[string]string{
			"binlog.000001": maria + "gtid-list 0-1-4\n" + mtxn(5) + mtxn(6) + "rotate binlog.000002",
			"binlog.000002": maria + "gtid-list 0-1-6\n" + mtxn(7),
		}, ""},
		{"MariaDB gap", map[string]string{
			"binlog.000001": maria + "gtid-list 0-1-4\n" + mtxn(5) + "stop",
			"binlog.000003": maria + "gtid-list 0-1-9\n" + mtxn(10),
		}, "gap-between-logs: it was begun after 0-1-9"},
		{"MariaDB gap, another domain", map[string]string{
			"binlog.000001": maria + "gtid-list 0-1-4\n" + mtxn(5) + "stop",
			"binlog.000003": maria + "gtid-list 0-1-5,7-1-1\n" + mtxn(6),
		}, "gap-between-logs: it was begun after 7-1-1"},
		{"MariaDB overlap", map[string]string{
			"binlog.000001": maria + "gtid-list 0-1-4\n" + mtxn(5) + mtxn(6) + "stop",
			"binlog.000002": maria + "gtid-list 0-1-5\n" + mtxn(7),
		}, "overlapping-logs: binlog.000001 holds 0-1-6"},
	} {
		names := slices.Sorted(maps.Keys(test.logs))
		files := make(map[string][]byte)
		for i, name := range names {
			files[name] = marshal(t, fmt.Sprintf(test.logs[name], 1700000000+i))
		}
		writeFiles(t, files)
		_, logs, errs := readInputs(t, names, nil)
		if len(errs) > 0 || len(logs) != 2 {
			t.Fatalf("%s: got %d logs and %v", test.name, len(logs), errs)
		}
		got := ""
		for _, w := range logs[1].Warnings {
			got += w.Code + ": " + w.Message
		}
		if (got == "") != (test.want == "") || !strings.HasPrefix(got, test.want) {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}
