package parser_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bgcstat/parser"
)

// sentinels are what a fault in a log must wrap.
var sentinels = []error{
	parser.ErrNotBinlog, parser.ErrTruncated, parser.ErrCorrupt,
	parser.ErrEncrypted, parser.ErrUnsupported,
}

// checkEnd tests what Next gave at the end of a log.
func checkEnd(t *testing.T, log []byte, name string, err error) {
	t.Helper()
	if errors.Is(err, io.EOF) {
		if err != io.EOF { //nolint:errorlint // it must be bare
			t.Errorf("io.EOF is not bare: %v", err)
		}
		return
	}
	fault, ok := errors.AsType[*parser.Error](err)
	if !ok {
		t.Errorf("got %T %v, want io.EOF or an *Error", err, err)
		return
	}
	if !slices.ContainsFunc(sentinels, func(s error) bool { return errors.Is(err, s) }) {
		t.Errorf("%v wraps none of the Err variables", err)
	}
	if fault.Pos.File != name || fault.Pos.Offset < 0 || fault.Pos.Offset > int64(len(log)) {
		t.Errorf("error is at %v, which is not in the log of %d bytes", fault.Pos, len(log))
	}
	if len(err.Error()) > 300 {
		t.Errorf("message of %d bytes: %.300s", len(err.Error()), err.Error())
	}
}

// smallLogs are logs short enough to be read once for each of their bytes.
func smallLogs(t *testing.T) map[string][]byte {
	logs := make(map[string][]byte)
	for _, name := range []string{"small-mysql", "small-mariadb", "small-no-gtid"} {
		_, _, logs[name] = readGolden(t, filepath.Join("testdata", name+".txtar"))
	}
	large := []string{"format", "gtid last=0 seq=1", "query BEGIN", "table-map id=1 a.b", "insert id=1 size=300000", "xid 1"}
	logs["large"] = marshal(t, strings.Join(large, "\n"))
	for _, file := range []string{
		"../../shared/corpus/blackbeam__rust_mysql_common__binlog_transaction_with_GTID_TAG.000001",
		"../../shared/corpus/apecloud__mysql-binlog-connector-rust__mysql-bin.000057",
		"../../shared/corpus/zalora__binlog-parser__mysql-bin.07",
		"../testdata/binlog/mysql-9.7-rotation/binlog.000001",
	} {
		if data, err := os.ReadFile(file); err == nil {
			logs[filepath.Base(file)] = data
		}
	}
	return logs
}

// Every prefix of a log gives the transactions that end in it, and then perhaps
// one without end.
func TestEveryPrefix(t *testing.T) {
	for name, log := range smallLogs(t) {
		whole, _, _ := readBytes(log, name)
		step := 1
		if len(log) > 10000 {
			step = 997
		}
		for n := 0; n <= len(log); n += step {
			lines, l, err := readBytes(log[:n], name)
			checkEnd(t, log[:n], name, err)
			checkPrefix(t, n, lines, whole)
			if l.Bytes > int64(n) {
				t.Errorf("%s: of %d bytes %d were read", name, n, l.Bytes)
			}
			if l.Transactions != int64(len(lines)) {
				t.Errorf("%s: %d transactions counted, %d given", name, l.Transactions, len(lines))
			}
			if t.Failed() {
				t.Fatalf("%s: cut to %d bytes: %v", name, n, err)
			}
		}
	}
}

// checkPrefix tests that lines are the first of whole, but for a last one
// whose end is not there.
func checkPrefix(t *testing.T, n int, lines, whole []string) {
	t.Helper()
	for i, line := range lines {
		last := i == len(lines)-1
		switch {
		case i < len(whole) && line == whole[i]:
		case last && strings.Contains(line, " none "):
			start, end := span(t, line)
			if end > n || i < len(whole) && !strings.HasPrefix(whole[i], itoa(start)+"-") {
				t.Errorf("cut transaction is wrong: %s", line)
			}
		default:
			t.Errorf("transaction %d differs: %s", i, line)
		}
	}
}

// Whatever byte of a log with checksums is changed, a transaction is either as
// it was or left out; and nothing ever panics.
func TestEveryByte(t *testing.T) {
	for name, log := range smallLogs(t) {
		whole, sound, _ := readBytes(log, name)
		step := 1
		if len(log) > 10000 {
			step = 997
		}
		changed := bytes.Clone(log)
		for i := 0; i < len(log); i += step {
			for _, mask := range []byte{0xff, 0x01} {
				changed[i] ^= mask
				lines, l, err := readBytes(changed, name)
				changed[i] = log[i]
				checkEnd(t, log, name, err)
				if sound.HasChecksums && i > formatEnd(log) {
					checkSubset(t, lines, whole)
					if len(lines) < len(whole) && errors.Is(err, io.EOF) && l.Damaged == 0 {
						t.Errorf("%d of %d transactions, and nothing is said to be damaged", len(lines), len(whole))
					}
				}
				if t.Failed() {
					t.Fatalf("%s: byte %d xor %#x: %v\n%s", name, i, mask, err, strings.Join(lines, "\n"))
				}
			}
		}
	}
}

// formatEnd is the offset behind the format event.
func formatEnd(log []byte) int { return 4 + int(log[13]) }

// checkSubset tests that each line is one of whole, or a transaction cut short.
func checkSubset(t *testing.T, lines, whole []string) {
	t.Helper()
	for _, line := range lines {
		if !slices.Contains(whole, line) && !strings.Contains(line, " none ") {
			t.Errorf("not in the sound log: %s", line)
		}
	}
}
