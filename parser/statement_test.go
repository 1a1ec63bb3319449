package parser_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"bgcstat/parser"
)

// The time of BEGIN, of savepoints and of the end is no statement's.
func TestStatementTime(t *testing.T) {
	const gtid = "gtid at=100 last=0 seq=1\n"
	for _, test := range []struct {
		name, txn string
		want      parser.Micros
		begin     int64 // seconds
	}{
		{"nothing", "query at=95 BEGIN\nxid at=100 1", 0, 95},
		{"savepoint only", "query BEGIN\nquery at=110 SAVEPOINT a\nxid 1", 0, 100},
		{"savepoint first", "query BEGIN\nquery at=110 SAVEPOINT a\nquery at=120 INSERT INTO t VALUES (1)\nxid at=130 1", 120e6, 100},
		{"in lower case, behind a comment", "query BEGIN\nquery at=120 INSERT INTO t VALUES (1)\nquery at=130 /* c */ savepoint a\nxid 1", 120e6, 100},
		{"released", "query BEGIN\nquery at=110 SAVEPOINT a\nquery at=120 INSERT INTO t VALUES (1)\nquery at=130 RELEASE SAVEPOINT a\nxid 1", 120e6, 100},
		{"rolled back to", "query BEGIN\nquery at=110 SAVEPOINT a\nquery at=120 INSERT INTO t VALUES (1)\nquery at=130 ROLLBACK TO a\nquery at=140 COMMIT", 120e6, 100},
		{"savepoint before rows", "query BEGIN\nquery at=110 SAVEPOINT a\ntable-map at=120 id=1 d.t\ninsert id=1\nxid at=130 1", 120e6, 100},
		{"savepoint between rows", "query BEGIN\ntable-map at=110 id=1 d.t\nupdate id=1\nquery at=120 SAVEPOINT a\ntable-map at=130 id=1 d.t\ndelete id=1\nxid at=140 1", 130e6, 100},
		{"last of two", "query BEGIN\nquery at=110 INSERT INTO t VALUES (1)\nquery at=120 INSERT INTO t VALUES (2)\nxid at=130 1", 120e6, 100},
		{"in a payload", "payload at=130 zstd {\nquery at=100 BEGIN\nquery at=110 SAVEPOINT a\ntable-map at=120 id=1 d.t\ninsert id=1\nxid 1\n}", 120e6, 100},
		{"lone", "query at=110 DROP TABLE t", 110e6, 110},
		{"XA", "query at=110 XA START X'31',X'',1\ntable-map at=120 id=1 d.t\ninsert id=1\nquery at=130 XA END X'31',X'',1\nxa-prepare at=140", 120e6, 110},
	} {
		log := marshal(t, "format at=90 version=8.0.36\n"+gtid+test.txn+"\n")
		r := parser.NewReader(bytes.NewReader(log), "binlog.000001", parser.Options{})
		txn, err := r.Next()
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		if txn.StatementTime != test.want || txn.EventTime != 100e6 {
			t.Errorf("%s: got %d and event time %d, want %d and 100000000", test.name, txn.StatementTime, txn.EventTime, test.want)
		}
		if want := parser.Micros(test.begin); txn.BeginTime != want*1e6 {
			t.Errorf("%s: got begin time %d, want %d s", test.name, txn.BeginTime, want)
		}
		if _, err := r.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("%s: got %v behind the transaction, want EOF", test.name, err)
		}
	}
}
