package analysis_test

import (
	"slices"
	"strings"
	"testing"

	"bgcstat/analysis"
	"bgcstat/parser"
)

func stretches(txns []*parser.Txn) []analysis.Stretch {
	return analyze(txns).DependencyTracking.Stretches
}

func rules(s analysis.Stretch) string {
	var out []string
	for _, e := range s.Evidence {
		out = append(out, e.Rule)
	}
	return strings.Join(out, " ")
}

// observe makes n transactions by clients sessions in turn, with the parent
// that parent gives.
func observe(v parser.Version, n, clients int, parent func(i int64) int64) []*parser.Txn {
	txns := steady(n, clients)
	l := mysql(v)
	for i, t := range txns {
		t.Log = l
		t.LastCommitted = max(0, parent(int64(i+1)))
	}
	return txns
}

func TestObserved(t *testing.T) {
	v97, v80 := parser.Version{Major: 9, Minor: 7}, parser.Version{Major: 8, Minor: 0, Patch: 30}
	for _, c := range []struct {
		name      string
		txns      []*parser.Txn
		observed  analysis.Observed
		certainty analysis.Certainty
		rules     string
		reason    string
	}{
		{"write sets", observe(v97, 1000, 8, func(i int64) int64 { return i / 2 }), analysis.ObservedWriteset, analysis.Proven, "same-session", ""},
		{"commit order", observe(v80, 1000, 8, func(i int64) int64 { return i - 5 }), analysis.ObservedCommitOrder, analysis.Hinted, "recent-parents", "WRITESET_SESSION"},
		{"as recent as commit order, in a version without it", observe(v97, 1000, 8, func(i int64) int64 { return i - 5 }), analysis.NotDistinguishable, analysis.Unknown, "recent-parents", "history too small"},
		{"one row", observe(v97, 1000, 8, func(i int64) int64 { return i - 1 }), analysis.NotDistinguishable, analysis.Unknown, "parent-is-the-one-before", "one row"},
		{"too few", observe(v97, 50, 8, func(i int64) int64 { return i - 5 }), analysis.NotDistinguishable, analysis.Unknown, "", "too few"},
		{"far parents, sessions of another server", func() []*parser.Txn {
			txns := observe(v80, 2000, 8, func(i int64) int64 { return i / 2 })
			for _, t := range txns {
				t.ServerID = 2
			}
			return txns
		}(), analysis.ObservedWritesetOrSession, analysis.Hinted, "far-parents", "further back"},
		{"older than a second, a connection each", func() []*parser.Txn {
			// 300 transactions a second; those of the last second are parents of none.
			txns := observe(v80, 1500, 1500, func(i int64) int64 { return i - 3 })
			for i, t := range txns {
				t.CommitTime = second(float64(i) / 300)
				t.OriginalCommitTime = t.CommitTime
				t.StatementTime = second(float64(i / 300))
			}
			txns[1200].LastCommitted = 20
			return txns
		}(), analysis.ObservedWritesetOrSession, analysis.Proven, "older-than-a-second", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := stretches(c.txns)
			if len(got) != 1 {
				t.Fatalf("%d stretches: %+v", len(got), got)
			}
			s := got[0]
			if s.Observed != c.observed || s.Certainty != c.certainty || rules(s) != c.rules || !strings.Contains(s.Reason, c.reason) {
				t.Errorf("got %s, %s, by %q (%s); want %s, %s, by %q", s.Observed, s.Certainty, rules(s), s.Reason, c.observed, c.certainty, c.rules)
			}
			if s.Transactions != int64(len(c.txns)) || s.Start.Position != 0 {
				t.Errorf("stretch of %d transactions from %d", s.Transactions, s.Start.Position)
			}
			for _, e := range s.Evidence {
				earlier, later := at(c.txns, e.Earlier), at(c.txns, e.Later)
				if earlier == nil || later == nil || earlier.Start >= later.Start {
					t.Fatalf("%s: %+v and %+v are no two transactions in order", e.Rule, e.Earlier, e.Later)
				}
				switch e.Rule {
				case "same-session":
					if earlier.ThreadID != later.ThreadID || later.LastCommitted >= earlier.SequenceNumber {
						t.Errorf("%+v and %+v prove nothing", earlier, later)
					}
				case "older-than-a-second":
					if earlier.CommitTime+1e6 >= later.StatementTime || later.LastCommitted >= earlier.LastCommitted {
						t.Errorf("%+v and %+v prove nothing", earlier, later)
					}
				}
			}
		})
	}
}

func at(txns []*parser.Txn, p analysis.Position) *parser.Txn {
	i := slices.IndexFunc(txns, func(t *parser.Txn) bool { return t.Start == p.Position && t.Log.Name == p.File })
	if i < 0 {
		return nil
	}
	return txns[i]
}

// The mode is global and may be changed while the server runs.
func TestObservedChange(t *testing.T) {
	v80 := parser.Version{Major: 8, Minor: 0, Patch: 30}
	txns := observe(v80, 20_000, 8, func(i int64) int64 {
		if i > 10_000 {
			return i / 2
		}
		return i - 5
	})
	got := stretches(txns)
	if len(got) != 2 || got[0].Observed != analysis.ObservedCommitOrder || got[1].Observed != analysis.ObservedWriteset {
		t.Fatalf("stretches are %+v", got)
	}
	// The window with the change in it counts as what is proven in it.
	if n := got[0].Transactions; n != 8192 || got[1].Transactions != 20_000-n {
		t.Errorf("%d and %d transactions", n, got[1].Transactions)
	}
}

// What proves nothing on a replica or in a relay log.
func TestObservedElsewhere(t *testing.T) {
	for name, spoil := range map[string]func(*parser.Txn){
		"relay log":  func(t *parser.Txn) { t.Log.Relay = true },
		"replicated": func(t *parser.Txn) { t.ServerID = 9 },
		"stamped":    func(t *parser.Txn) { t.OriginalCommitTime-- },
		"XA COMMIT":  func(t *parser.Txn) { t.Terminator = parser.TerminatorXACommit },
		"no thread":  func(t *parser.Txn) { t.HasThreadID = false },
	} {
		txns := observe(parser.Version{Major: 9, Minor: 7}, 1000, 8, func(i int64) int64 { return i - 20 })
		for _, txn := range txns {
			spoil(txn)
		}
		if got := stretches(txns); len(got) != 1 || got[0].Certainty == analysis.Proven {
			t.Errorf("%s: %+v", name, got)
		}
	}
	a := analysis.New(analysis.Filter{}, analysis.Settings{NoSessionBound: true})
	for _, txn := range observe(parser.Version{Major: 9, Minor: 7}, 1000, 8, func(i int64) int64 { return i - 20 }) {
		a.Add(txn)
	}
	if got := a.Result(nil).DependencyTracking; len(got.Stretches) != 0 && got.Stretches[0].Certainty == analysis.Proven {
		t.Errorf("with sessions left out: %+v", got)
	}
}

// TestObservedTruth: write sets are proven in every set that has them, but for
// one hot row and tables without keys; never in the others, nor on MariaDB.
func TestObservedTruth(t *testing.T) {
	for _, set := range append(truths(t, ownTruth), truths(t, sharedTruth)...) {
		a := analysis.New(analysis.Filter{}, analysis.Settings{})
		logs := read(t, set.log, a.Add)
		proven := slices.ContainsFunc(a.Result(logs).DependencyTracking.Stretches, func(s analysis.Stretch) bool {
			return s.Certainty == analysis.Proven
		})
		// A connection each leaves P2, which needs more than a second.
		want := strings.HasPrefix(set.name, "ws-") && !strings.Contains(set.name, "hotrow") && !strings.Contains(set.name, "nopk")
		if proven != want {
			t.Errorf("%s: proven %v, want %v", set.name, proven, want)
		}
	}
}

// A serialisation point is a parent of the one before, after freedom.
func TestSerializationPoints(t *testing.T) {
	txns := observe(parser.Version{Major: 9, Minor: 7}, 100, 8, func(i int64) int64 { return i - 20 })
	for _, c := range []struct {
		at     int
		change func(*parser.Txn)
	}{
		{30, func(t *parser.Txn) { t.Terminator = parser.TerminatorDDL }},
		{40, func(t *parser.Txn) { t.Tables = make([]parser.TableChanges, 2) }},
		{50, func(*parser.Txn) {}},
		{51, func(*parser.Txn) {}}, // behind one that had no freedom itself
	} {
		txn := txns[c.at]
		txn.LastCommitted = txn.SequenceNumber - 1
		c.change(txn)
		for j := range txn.Tables {
			txn.Tables[j].Table = &parser.Table{Schema: "d", Name: string(rune('a' + j))}
		}
	}
	got := analyze(txns).SerializationPoints
	if want := (analysis.SerializationPoints{Count: 3, DDL: 1, SeveralTables: 1, NotInLog: 1}); got == nil || *got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
