package analysis_test

import (
	"bytes"
	"testing"

	"bgcstat/analysis"
	"bgcstat/parser"
	"bgcstat/parser/iosample"
)

// changes makes each of txns change a table.
func changes(txns []*parser.Txn, table string) []*parser.Txn {
	t := &parser.Table{Schema: "d", Name: table}
	for _, txn := range txns {
		txn.Tables = []parser.TableChanges{{Table: t, Updates: 1}}
	}
	return txns
}

// lone are transactions of MariaDB, first pairs that shared a group and then
// those of groups of their own, in table d.t; waited of them waited for a row.
func lone(pairs, alone, waited int) []*parser.Txn {
	l := mariadb()
	txns := make([]*parser.Txn, 2*pairs+alone)
	for i := range txns {
		txns[i] = &parser.Txn{Log: l, Start: int64(100 * i), End: int64(100*i + 100), EventTime: second(0), Terminator: parser.TerminatorXID, ServerID: 1, Waited: i < waited}
		if i < 2*pairs {
			txns[i].CommitID = uint64(i/2 + 1)
		}
	}
	return changes(txns, "t")
}

// inOther puts the first n transactions into another table.
func inOther(n int, txns []*parser.Txn) []*parser.Txn {
	changes(txns[:n], "u")
	return txns
}

func TestAlone(t *testing.T) {
	v97, v80 := parser.Version{Major: 9, Minor: 7}, parser.Version{Major: 8, Minor: 0, Patch: 30}
	before := func(i int64) int64 { return i - 1 }
	sessions := func(n int, txns []*parser.Txn) []*parser.Txn {
		for i, txn := range txns {
			txn.HasThreadID, txn.ThreadID = true, uint32(i%n+7)
		}
		return txns
	}
	for _, c := range []struct {
		name string
		txns []*parser.Txn
		want string // "" for no such finding
	}{
		{"MariaDB", lone(0, 100, 50), `{"groups":100,"alone_groups":100,"transactions":100,"basis":"exact","method":"commit_id","table":"d.t","table_transactions":100,"waited":50}`},
		{"9 of 10 waited", lone(0, 100, 90), `{"groups":100,"alone_groups":100,"transactions":100,"basis":"exact","method":"commit_id","table":"d.t","table_transactions":100,"waited":90,"cause":"row locks"}`},
		{"1 of 100 waited", lone(0, 100, 1), `{"groups":100,"alone_groups":100,"transactions":100,"basis":"exact","method":"commit_id","table":"d.t","table_transactions":100,"waited":1,"cause":"one at a time"}`},
		{"2 of 100 waited", lone(0, 100, 2), `{"groups":100,"alone_groups":100,"transactions":100,"basis":"exact","method":"commit_id","table":"d.t","table_transactions":100,"waited":2}`},
		{"one session", sessions(1, lone(0, 100, 0)), `{"groups":100,"alone_groups":100,"transactions":100,"basis":"exact","method":"commit_id","table":"d.t","table_transactions":100,"sessions":1,"waited":0,"cause":"one session"}`},
		{"4 sessions", sessions(4, lone(0, 100, 95)), `{"groups":100,"alone_groups":100,"transactions":100,"basis":"exact","method":"commit_id","table":"d.t","table_transactions":100,"sessions":4,"waited":95,"cause":"row locks"}`},

		// The limit: 99 of 100 groups, or 98 of 99.
		{"99 of 100", lone(1, 99, 101), `{"groups":100,"alone_groups":99,"transactions":101,"basis":"exact","method":"commit_id","table":"d.t","table_transactions":101,"waited":101,"cause":"row locks"}`},
		{"98 of 99", lone(1, 98, 100), ""},
		{"no groups of one", lone(50, 0, 100), ""},
		{"one of 100 changes another table", inOther(1, lone(0, 100, 99)), `{"groups":100,"alone_groups":100,"transactions":100,"basis":"exact","method":"commit_id","table":"d.t","table_transactions":99,"waited":99,"cause":"row locks"}`},
		{"two of 100 do", inOther(2, lone(0, 100, 99)), ""},
		{"30", lone(0, 30, 30), `{"groups":30,"alone_groups":30,"transactions":30,"basis":"exact","method":"commit_id","table":"d.t","table_transactions":30,"waited":30,"cause":"row locks"}`},
		{"too few", lone(0, 29, 29), ""},
		{"none", nil, ""},

		// That no two shared a sync is proven by parents, or by a session itself.
		{"one row", changes(observe(v97, 400, 16, before), "t"), `{"groups":400,"alone_groups":400,"transactions":400,"basis":"bound","method":"constraints","table":"d.t","table_transactions":400,"sessions":16,"parents_just_before":400,"cause":"write sets"}`},
		// Of an older version the parents of sessions that are new in the log prove
		// nothing, here of the second to the 16th: at least n-15 groups, n-30 of one.
		{"one row, tracking not known", changes(observe(v80, 1600, 16, before), "t"), `{"groups":1585,"alone_groups":1570,"transactions":1600,"basis":"bound","method":"constraints","table":"d.t","table_transactions":1600,"sessions":16,"parents_just_before":1600,"cause":"serial"}`},
		{"1,470 of 1,485", changes(observe(v80, 1500, 16, before), "t"), ""},
		{"one client of MySQL", changes(observe(v97, 400, 1, before), "t"), `{"groups":400,"alone_groups":400,"transactions":400,"basis":"bound","method":"constraints","table":"d.t","table_transactions":400,"sessions":1,"parents_just_before":400,"cause":"one session"}`},
		// Each has the first for its parent; the first has none.
		{"one client, any rows", changes(observe(v97, 400, 1, func(int64) int64 { return 1 }), "t")[1:], `{"groups":399,"alone_groups":399,"transactions":399,"basis":"bound","method":"constraints","table":"d.t","table_transactions":399,"sessions":1,"parents_just_before":1,"cause":"one session"}`},
		{"estimated", changes(steady(400, 16), "t"), ""},
	} {
		r := analyze(c.txns)
		got := ""
		if r.Alone != nil {
			got = asJSON(t, r.Alone)
		}
		if got != c.want {
			t.Errorf("%s: got  %s\nwant %s", c.name, got, c.want)
		}
	}
	if r := result(analysis.Filter{Tables: []string{"d.t"}}, analysis.Settings{}, lone(0, 100, 50)...); r.Alone != nil {
		t.Errorf("of a part: %+v", r.Alone)
	}
	txns := lone(0, 100, 50)
	txns[0].Log.Damaged = 1
	if r := analyze(txns); r.Alone != nil {
		t.Errorf("of a damaged log: %+v", r.Alone)
	}
}

// TestAloneCounted holds what follows from a number of syncs: of 1,000
// transactions in at least g groups, those in groups of two or more can make no
// more than 1,000-g of these, so that 2g-1,000 are of one.
func TestAloneCounted(t *testing.T) {
	const start = parser.Micros(bootTime/1000 + 3600e6)
	for syncs, want := range map[int64]string{
		// At least 993, since two syncs may be of something else: 986, 99.1 % of 995.
		995: `{"groups":995,"alone_groups":986,"transactions":1000,"basis":"measured","method":"fsync_count","table":"d.t","table_transactions":1000,"sessions":16,"parents_just_before":1}`,
		// 984 of 994 are 98.99 %.
		994: "",
		500: "",
	} {
		txns := changes(steady(1000, 16), "t")
		for i, txn := range txns {
			at := start + parser.Micros(i+1)*1000
			txn.CommitTime, txn.OriginalCommitTime, txn.EventTime = at, at, start
			txn.LastCommitted = max(0, int64(i/16*16-16)) // what proves least: those of the round before the last
		}
		var trace bytes.Buffer
		h := truth{syncBinlog: 1, flushLog: 1}.header("perf", iosample.Exact)
		w, err := iosample.NewWriter(&trace, h)
		if err != nil {
			t.Fatal(err)
		}
		for _, count := range []int64{0, syncs} {
			c := iosample.Count{Class: iosample.Binlog, Name: "binlog.000001", Ino: 7, Syncs: count, Size: 4}
			at := float64(start) / 1e6
			if count > 0 {
				c.Size = txns[len(txns)-1].End
				at += 1.1
			}
			now, mono := clockAt(at)
			if err := w.Write(&iosample.Interval{Sample: &iosample.Sample{Time: now, Mono: mono, Files: []iosample.Count{c}}}); err != nil {
				t.Fatal(err)
			}
		}
		a := analysis.New(analysis.Filter{}, analysis.Settings{})
		header, next := reader(t, trace.Bytes())
		a.Join(header, next, []string{txns[0].Log.Name})
		for _, txn := range txns {
			a.Add(txn)
		}
		r := a.Result([]*parser.Log{txns[0].Log})
		got := ""
		if r.Alone != nil {
			got = asJSON(t, r.Alone)
		}
		if got != want {
			t.Errorf("%d syncs: got  %s\nwant %s: %+v %+v", syncs, got, want, r.Groups.Sync, r.Warnings)
		}
	}
}
