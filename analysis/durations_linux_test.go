package analysis_test

import (
	"testing"

	"bgcstat/analysis"
	"bgcstat/parser"
	"bgcstat/parser/servertest"
)

// A transaction lasts from its first change to its commit, whatever comes between
// and before, as a server writes it.
func TestDurationsOfServer(t *testing.T) {
	s := servertest.Start(t, servertest.MySQL97)
	s.Exec(t, "CREATE DATABASE d; CREATE TABLE d.t (a INT PRIMARY KEY);")
	s.Exec(t, "BEGIN; SELECT SLEEP(1.5); INSERT INTO d.t VALUES (1); SELECT SLEEP(2.1); INSERT INTO d.t VALUES (2); COMMIT;")
	s.Exec(t, "INSERT INTO d.t SELECT 3 + SLEEP(3.1);")
	s.Stop(t)

	a := analysis.New(analysis.Filter{}, analysis.Settings{})
	var lasted []float64
	var logs []*parser.Log
	for _, path := range s.Binlogs(t) {
		logs = append(logs, read(t, path, func(txn *parser.Txn) {
			a.Add(txn)
			lasted = append(lasted, float64(txn.CommitTime-txn.BeginTime)/1e6)
		})...)
	}
	d := a.Result(logs).Durations
	n := len(lasted)
	if n < 4 || d == nil || d.Transactions != int64(n) || d.Impossible != 0 {
		t.Fatalf("%d transactions, durations %+v", n, d)
	}
	// The beginning is rounded down, so that none seems shorter than it was.
	for i, least := range []float64{0, 0, 2.1, 3.1} {
		if got := lasted[n-4+i]; got < least || got > 1000 {
			t.Errorf("transaction %d lasted %.3f s, want %.1f or more", i, got, least)
		}
	}
	if d.Max < 3 {
		t.Errorf("the longest lasted %d s, want 3 or more", d.Max)
	}
}
