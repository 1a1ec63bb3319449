package analysis_test

import (
	"reflect"
	"testing"

	"bgcstat/analysis"
	"bgcstat/parser"
)

// clock is last_committed and sequence_number of a published row.
type clock struct{ last, seq int64 }

// logOf makes the transactions of a log that shows only its clock.
func logOf(l *parser.Log, rows []clock) []*parser.Txn {
	var txns []*parser.Txn
	at := int64(4)
	for _, c := range rows {
		txns = append(txns, &parser.Txn{
			Log: l, Start: at, End: at + 100, Events: 5, HasGTIDEvent: true, HasClock: c.seq != 0 || c.last != 0,
			LastCommitted: c.last, SequenceNumber: c.seq, Terminator: parser.TerminatorXID, ServerID: l.ServerID,
		})
		at += 100
	}
	return txns
}

func mysql(version parser.Version) *parser.Log {
	return &parser.Log{Name: "binlog.000001", Flavor: parser.MySQL, Version: version, ServerID: 1}
}

func analyze(txns []*parser.Txn) *analysis.Result {
	a := analysis.New(analysis.Filter{}, analysis.Settings{})
	var logs []*parser.Log
	for _, t := range txns {
		if n := len(logs); n == 0 || logs[n-1] != t.Log {
			logs = append(logs, t.Log)
		}
		a.Add(t)
	}
	return a.Result(logs)
}

// Rows that others have published, with the groups that the popular recipe
// makes of them.
func TestPublishedClocks(t *testing.T) {
	bins := func(sizes ...int64) []analysis.HistogramBin { // pairs of size and groups
		var out []analysis.HistogramBin
		for i := 0; i < len(sizes); i += 2 {
			out = append(out, analysis.HistogramBin{Size: sizes[i], Groups: sizes[i+1]})
		}
		return out
	}
	v57, v80 := parser.Version{Major: 5, Minor: 7, Patch: 20}, parser.Version{Major: 8, Minor: 0, Patch: 19}
	for _, c := range []struct {
		name      string
		log       *parser.Log
		rows      []clock
		distinct  int64
		bins      []analysis.HistogramBin
		distances []int64
		mean      float64
	}{{
		"F1 WRITESET in MySQL 8.0 (besthub.dev)", mysql(v80),
		[]clock{{0, 1}, {0, 2}, {0, 3}, {0, 4}, {0, 5}, {0, 6}, {6, 7}, {6, 8}, {6, 9}, {6, 10}, {6, 11}, {6, 12}, {12, 13}},
		3, bins(1, 1, 6, 2),
		[]int64{1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6, 1},
		13.0 / 3,
	}, {
		"F2 from the middle of a log (Aikesheng)", mysql(v57),
		[]clock{{7201, 7203}, {7203, 7204}, {7203, 7205}, {7203, 7206}, {7205, 7207}},
		3, bins(1, 2, 3, 1),
		[]int64{2, 1, 2, 3, 2},
		5.0 / 3,
	}, {
		"F5 source, COMMIT_ORDER", mysql(v80),
		[]clock{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}},
		5, bins(1, 5),
		[]int64{1, 1, 1, 1, 1},
		1,
	}, {
		"F5 replica, WRITESET", mysql(v80),
		[]clock{{0, 1}, {1, 2}, {1, 3}, {1, 4}, {1, 5}},
		2, bins(1, 1, 4, 1),
		[]int64{1, 1, 2, 3, 4},
		2.5,
	}, {
		// The row with sequence number 0 carries no clock.
		"F6 relay log (jfg)", mysql(v57),
		[]clock{{0, 0}, {1, 2}, {2, 3}, {3, 4}, {3, 5}, {3, 6}},
		3, bins(1, 2, 3, 1),
		[]int64{1, 1, 1, 2, 3},
		5.0 / 3,
	}, {
		"F9a (hackmysql.com)", mysql(v57),
		[]clock{{0, 3}, {0, 4}, {0, 5}, {3, 6}, {3, 7}},
		2, bins(2, 1, 3, 1),
		[]int64{3, 4, 5, 3, 4},
		2.5,
	}, {
		"F9b", mysql(v57),
		[]clock{{20, 21}, {20, 22}, {22, 23}, {23, 24}, {23, 25}},
		3, bins(1, 1, 2, 2),
		[]int64{1, 2, 1, 1, 2},
		5.0 / 3,
	}} {
		t.Run(c.name, func(t *testing.T) {
			r := analyze(logOf(c.log, c.rows))
			lc := r.Groups.LastCommitted
			if lc == nil || lc.Distinct == nil {
				t.Fatal("no last_committed groups")
			}
			if *lc.Distinct != c.distinct || !reflect.DeepEqual(lc.Histogram, c.bins) {
				t.Errorf("got %d groups, sizes %v; want %d, %v", *lc.Distinct, lc.Histogram, c.distinct, c.bins)
			}
			if lc.Size.Mean != c.mean {
				t.Errorf("mean size is %v, want %v", lc.Size.Mean, c.mean)
			}
			if lc.Basis != analysis.Legacy {
				t.Errorf("basis is %q", lc.Basis)
			}
			var distances []int64
			for _, p := range r.Parents.Points {
				distances = append(distances, p.Distance)
			}
			if !reflect.DeepEqual(distances, c.distances) {
				t.Errorf("parent distances are %v, want %v", distances, c.distances)
			}
		})
	}
}

// F4: 7 and 3 µs apart after a start of the server, when the clock still reads
// as unset. Nothing proves a boundary.
func TestPublishedStart(t *testing.T) {
	l := mysql(parser.Version{Major: 8, Minor: 4})
	l.ServerStarted = true
	rows := []clock{{0, 1}, {1, 2}, {2, 3}}
	if b := analyze(logOf(l, rows)).Groups.Bound; *b != (analysis.Bound{Lower: 1, Upper: 3}) {
		t.Errorf("bound is %+v, want 1 to 3", *b)
	}
	// Behind the first parent that is another, the clock is set.
	rows = append(rows, clock{2, 4}, clock{4, 5})
	if b := analyze(logOf(l, rows)).Groups.Bound; *b != (analysis.Bound{Lower: 3, Upper: 5}) {
		t.Errorf("bound is %+v, want 3 to 5: {1 2 3} and 4, and 5 behind 4", *b)
	}
	l.ServerStarted = false
	if b := analyze(logOf(l, rows)).Groups.Bound; b.Lower != 4 {
		t.Errorf("lower bound is %d, want 4 in a log that a running server began", b.Lower)
	}
}

func TestPublishedCommitIDs(t *testing.T) {
	for _, c := range []struct {
		name  string
		ids   []uint64
		sizes []int64 // in order
	}{
		{"F7 (MariaDB developers' list)", []uint64{0, 180, 180}, []int64{1, 2}},
		{"F7c", []uint64{750, 750, 750}, []int64{3}},
		{"lone commits between", []uint64{5, 5, 0, 0, 5, 6, 6}, []int64{2, 1, 1, 1, 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := &parser.Log{Name: "mariadb-bin.000001", Flavor: parser.MariaDB, ServerID: 1}
			var txns []*parser.Txn
			for _, id := range c.ids {
				txns = append(txns, &parser.Txn{Log: l, CommitID: id, Terminator: parser.TerminatorXID, HasGTIDEvent: true})
			}
			sizes := map[int64]int64{}
			for _, row := range rowsOf(t, analysis.Filter{}, txns) {
				if row.SyncGroup == nil || *row.Basis != analysis.Exact || *row.Method != analysis.CommitID {
					t.Fatalf("row is %+v", row)
				}
				sizes[*row.SyncGroup]++
			}
			for i, want := range c.sizes {
				if got := sizes[int64(i+1)]; got != want {
					t.Errorf("group %d has %d members, want %d", i+1, got, want)
				}
			}
			g := analyze(txns).Groups.Sync
			if g == nil || *g.Count != int64(len(c.sizes)) || g.Basis != analysis.Exact {
				t.Errorf("groups are %+v, want %d", g, len(c.sizes))
			}
		})
	}
}
