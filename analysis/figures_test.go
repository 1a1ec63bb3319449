package analysis_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"bgcstat/analysis"
	"bgcstat/parser"
)

// second is a commit time of our tests: seconds after a round moment.
func second(s float64) parser.Micros { return 1_700_000_000_000_000 + parser.Micros(math.Round(s*1e6)) }

func mariadb() *parser.Log {
	return &parser.Log{Name: "mariadb-bin.000001", Flavor: parser.MariaDB, Version: parser.Version{Major: 11}, ServerID: 1}
}

func result(f analysis.Filter, s analysis.Settings, txns ...*parser.Txn) *analysis.Result {
	a := analysis.New(f, s)
	var logs []*parser.Log
	for _, t := range txns {
		if !slices.Contains(logs, t.Log) {
			logs = append(logs, t.Log)
		}
		a.Add(t)
	}
	return a.Result(logs)
}

func rowsOf(t *testing.T, f analysis.Filter, txns []*parser.Txn) []analysis.Row {
	t.Helper()
	var out []analysis.Row
	rows := analysis.NewRows(f, analysis.Settings{}, func(r *analysis.Row) error {
		out = append(out, *r)
		return nil
	})
	for _, txn := range txns {
		if err := rows.Add(txn); err != nil {
			t.Fatal(err)
		}
	}
	if err := rows.End(); err != nil {
		t.Fatal(err)
	}
	return out
}

func codes(r *analysis.Result) []string {
	var out []string
	for _, w := range r.Warnings {
		out = append(out, w.Code)
	}
	return out
}

// codesOfFew are the codes but for the one that all logs of a few transactions get.
func codesOfFew(r *analysis.Result) []string {
	return slices.DeleteFunc(codes(r), func(c string) bool { return c == "few-transactions" })
}

func TestRates(t *testing.T) {
	for _, c := range []struct {
		name    string
		times   []float64 // of transactions
		header  bool      // whole seconds of event headers
		width   float64
		buckets int
		first   int64 // transactions in the first bucket
	}{
		{"one", []float64{0.5}, false, 0.001, 1, 1},
		{"two in a millisecond", []float64{0.5001, 0.5002}, false, 0.001, 1, 2},
		{"a second", seq(1000, 0.001), false, 0.01, 100, 10},
		{"ten seconds", seq(1000, 0.01), false, 0.1, 100, 10},
		{"a minute", seq(600, 0.1), false, 1, 60, 10},
		{"ten minutes", seq(600, 1), false, 1, 600, 1},
		{"an hour", seq(3600, 1), false, 10, 360, 10},
		// 20 hours in steps of a second; buckets have been joined on the way.
		{"a day", seq(72_000, 1), false, 300, 241, 100},
		{"header times", []float64{0, 0, 1, 1, 1, 2}, true, 1, 3, 2},
		{"a hole", []float64{0, 0, 40}, false, 1, 2, 2},
		{"a clock that steps back an hour", []float64{3600, 3601, 0, 1}, false, 10, 2, 2},
		{"nonsense", []float64{0, 3e9}, false, 364 * 86400, 2, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := mariadb()
			var txns []*parser.Txn
			for i, s := range c.times {
				txn := &parser.Txn{Log: l, End: 100, CommitID: uint64(1 + i/2), Terminator: parser.TerminatorXID}
				if at := second(s); c.header {
					txn.EventTime = at
				} else {
					txn.CommitTime = at
				}
				txns = append(txns, txn)
			}
			r := result(analysis.Filter{}, analysis.Settings{}, txns...)
			if r.Rates.BucketSeconds != c.width || len(r.Rates.Series) != c.buckets {
				t.Fatalf("%d buckets of %v s, want %d of %v", len(r.Rates.Series), r.Rates.BucketSeconds, c.buckets, c.width)
			}
			if n := r.Rates.Series[0].Transactions; n != c.first {
				t.Errorf("first bucket has %d transactions, want %d", n, c.first)
			}
			var n, groups, bytes int64
			for i, b := range r.Rates.Series {
				n, groups, bytes = n+b.Transactions, groups+*b.SyncGroups, bytes+b.Bytes
				if i > 0 && !b.Start.After(r.Rates.Series[i-1].Start.Time) {
					t.Errorf("bucket %d starts at %v, behind %v", i, b.Start, r.Rates.Series[i-1].Start)
				}
			}
			if n != r.Transactions || bytes != r.Bytes || groups != *r.Groups.Sync.Count {
				t.Errorf("buckets add up to %d transactions, %d groups, %d bytes; want %d, %d, %d", n, groups, bytes, r.Transactions, *r.Groups.Sync.Count, r.Bytes)
			}
			wantClock := analysis.ClockCommit
			if c.header {
				wantClock = analysis.ClockHeader
			}
			if r.Window.Clock != wantClock || r.Window.Start.Time != second(slices.Min(c.times)).Time() || r.Window.End.Time != second(slices.Max(c.times)).Time() {
				t.Errorf("window is %+v", r.Window)
			}
		})
	}
}

func seq(n int, step float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = float64(i) * step
	}
	return out
}

func TestSaved(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	old, v57, v97 := parser.Version{Major: 5, Minor: 7, Patch: 6}, parser.Version{Major: 5, Minor: 7, Patch: 7}, parser.Version{Major: 9, Minor: 7}
	// Six transactions in groups of 3, 2 and 1.
	ids := []uint64{1, 1, 1, 2, 2, 0}
	for _, c := range []struct {
		name     string
		log      *parser.Log
		sync     *int64
		want     string // the saved object, "" for none
		warnings []string
	}{
		{
			"MariaDB, not known", mariadb(), nil, "", []string{"header-times", "sync-binlog-unknown"},
		}, {
			"MariaDB, 1", mariadb(), n(1),
			`{"assumes":{"sync_binlog":1,"from":"flag"},"binlog":{"alone":6,"grouped":3,"grouped_low":3,"grouped_high":3,"saved_by_grouping":3,"saved_by_grouping_min":3,"saved_by_grouping_max":3,"share":0.5,"share_max":0.5,"saved_by_sync_binlog":0,"basis":"exact","method":"commit_id"}}`,
			[]string{"header-times"},
		}, {
			// One sync for three groups, and two for six transactions alone.
			"MariaDB, 3", mariadb(), n(3),
			`{"assumes":{"sync_binlog":3,"from":"flag"},"binlog":{"alone":2,"grouped":1,"grouped_low":1,"grouped_high":1,"saved_by_grouping":1,"saved_by_grouping_min":1,"saved_by_grouping_max":1,"share":0.5,"share_max":0.5,"saved_by_sync_binlog":2,"basis":"estimated","method":"commit_id"}}`,
			[]string{"header-times"},
		}, {
			"MariaDB, 0", mariadb(), n(0),
			`{"assumes":{"sync_binlog":0,"from":"flag"},"binlog":{"alone":0,"grouped":0,"grouped_low":0,"grouped_high":0,"saved_by_grouping":0,"saved_by_grouping_min":0,"saved_by_grouping_max":0,"share":0,"share_max":0,"saved_by_sync_binlog":3,"basis":"exact","method":"commit_id"}}`,
			[]string{"header-times"},
		}, {
			"MySQL 5.7.6 defaults to 0", mysql(old), nil, "", []string{"no-commit-times", "header-times", "sync-binlog-unknown"},
		}, {
			// 1 → 2 … 6, each behind the one before: six groups are proven.
			"MySQL 5.7.7 defaults to 1", mysql(v57), nil,
			`{"assumes":{"sync_binlog":1,"from":"default of 5.7"},"binlog":{"alone":6,"grouped":6,"grouped_low":6,"grouped_high":6,"saved_by_grouping":0,"saved_by_grouping_min":0,"saved_by_grouping_max":0,"share":0,"share_max":0,"saved_by_sync_binlog":0,"basis":"bound","method":"constraints"}}`,
			[]string{"no-commit-times", "header-times"},
		}, {
			"MySQL 9.7 by flag", mysql(v97), n(2),
			`{"assumes":{"sync_binlog":2,"from":"flag"},"binlog":{"alone":3,"grouped":3,"grouped_low":3,"grouped_high":3,"saved_by_grouping":0,"saved_by_grouping_min":0,"saved_by_grouping_max":0,"share":0,"share_max":0,"saved_by_sync_binlog":3,"basis":"estimated","method":"constraints"}}`,
			[]string{"writeset-parents", "no-commit-times", "header-times"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var txns []*parser.Txn
			for i, id := range ids {
				txn := &parser.Txn{Log: c.log, End: 100, EventTime: second(0), Terminator: parser.TerminatorXID}
				if c.log.Flavor == parser.MariaDB {
					txn.CommitID = id
				} else {
					txn.HasClock, txn.SequenceNumber, txn.LastCommitted = true, int64(i+1), int64(i)
				}
				txns = append(txns, txn)
			}
			r := result(analysis.Filter{}, analysis.Settings{SyncBinlog: c.sync}, txns...)
			got := ""
			if r.Saved != nil {
				b, err := json.Marshal(r.Saved)
				if err != nil {
					t.Fatal(err)
				}
				got = string(b)
			}
			if got != c.want {
				t.Errorf("saved is\n%s, want\n%s", got, c.want)
			}
			if !slices.Equal(codesOfFew(r), c.warnings) {
				t.Errorf("warnings are %v, want %v", codesOfFew(r), c.warnings)
			}
		})
	}
}

// Where only an interval is known, so is what was saved.
func TestSavedInterval(t *testing.T) {
	l := mysql(parser.Version{Major: 9, Minor: 7})
	r := analyze(logOf(l, []clock{{0, 1}, {0, 2}, {1, 3}, {1, 4}}))
	if g := r.Groups.Sync; g.Count != nil || g.Low != 2 || g.High != 4 || g.Size != nil || g.Histogram != nil {
		t.Errorf("sync groups are %+v, want 2 to 4 and nothing more", g)
	}
	s := r.Saved.Binlog
	if s.Grouped != nil || s.SavedByGrouping != nil || s.Share != nil || s.SavedBySyncBinlog != nil || s.SavedByGroupingMax != 2 || s.ShareMax != 0.5 || s.Basis != analysis.Bounded {
		t.Errorf("saved is %+v, want at most 2 of 4", s)
	}
}

// A default is one of a version: it must hold in every log.
func TestSavedDefault(t *testing.T) {
	old, v57 := mysql(parser.Version{Major: 5, Minor: 7, Patch: 6}), mysql(parser.Version{Major: 5, Minor: 7, Patch: 7})
	txns := slices.Concat(logOf(old, []clock{{0, 1}}), logOf(v57, []clock{{0, 1}}))
	if r := analyze(txns); r.Saved != nil {
		t.Errorf("saved is %+v, want nothing: sync_binlog is not known of the first log", r.Saved)
	}
	if r := analyze(txns[1:]); r.Saved == nil {
		t.Error("nothing saved in the log of 5.7.7")
	}
}

// Where in the server's count of sync_binlog groups a log begins is not known:
// 2 to 4 groups at sync_binlog=3 are no sync up to two.
func TestSavedPhase(t *testing.T) {
	n := int64(3)
	txns := logOf(mysql(parser.Version{Major: 9, Minor: 7}), []clock{{0, 1}, {0, 2}, {1, 3}, {1, 4}, {1, 5}, {1, 6}})
	s := result(analysis.Filter{}, analysis.Settings{SyncBinlog: &n}, txns...).Saved.Binlog
	if s.Alone != 2 || s.GroupedLow != 0 || s.GroupedHigh != 2 || s.SavedByGroupingMin != 0 || s.SavedByGroupingMax != 2 {
		t.Errorf("saved is %+v, want 0 to 2 of 2", s)
	}
}

// A group goes on in a relay log's next file, but not in a binlog's, and where
// transactions were left out it is no longer known to be whole.
func TestCommitIDGroups(t *testing.T) {
	for _, c := range []struct {
		name  string
		relay bool
		bad   int64
		want  int64
		basis analysis.Basis
	}{
		{"binlog", false, 0, 4, analysis.Exact},
		{"relay log", true, 0, 3, analysis.Exact},
		{"damaged", false, 1, 4, analysis.Estimated},
	} {
		t.Run(c.name, func(t *testing.T) {
			var txns []*parser.Txn
			for file, ids := range [][]uint64{{1, 1, 2}, {2, 2, 3}} {
				l := mariadb()
				l.Name = fmt.Sprintf("mariadb-bin.00000%d", file+1)
				l.Relay, l.Damaged = c.relay, c.bad
				for i, id := range ids {
					txns = append(txns, &parser.Txn{
						Log: l, Start: int64(100 * i), End: int64(100*i + 100), CommitID: id,
						EventTime: second(0), Terminator: parser.TerminatorXID,
					})
				}
			}
			r := result(analysis.Filter{}, analysis.Settings{}, txns...)
			if g := r.Groups.Sync; *g.Count != c.want || g.Basis != c.basis {
				t.Errorf("%d groups, %s, want %d, %s", *g.Count, g.Basis, c.want, c.basis)
			}
			if slices.Contains(codes(r), "damaged-groups") != (c.bad > 0) {
				t.Errorf("warnings are %v", codes(r))
			}
		})
	}
}

// A filter that leaves one transaction leaves one group, of which it does not
// say that it held nothing else.
func TestFilterIsNoProof(t *testing.T) {
	txns := logOf(mysql(parser.Version{Major: 9, Minor: 7}), []clock{{0, 1}, {0, 2}, {0, 3}, {0, 4}})
	for i, txn := range txns {
		txn.GTID = parser.GTID{Source: parser.GTIDSource{Flavor: parser.MySQL}, Number: uint64(i + 1)}
	}
	set, err := parser.ParseGTIDSet("00000000-0000-0000-0000-000000000000:2")
	if err != nil {
		t.Fatal(err)
	}
	r := result(analysis.Filter{Include: set}, analysis.Settings{}, txns...)
	if g := r.Groups.Sync; r.Transactions != 1 || g.Low != 1 || g.High != 1 || g.Size != nil || g.Histogram != nil {
		t.Errorf("of %d transactions the groups are %+v, want 1 of a size not known", r.Transactions, g)
	}
}

func TestFilter(t *testing.T) {
	l, other := mariadb(), mariadb()
	other.Name = "mariadb-bin.000002"
	set := func(s string) *parser.GTIDSet {
		g, err := parser.ParseGTIDSet(s)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	orders, items := &parser.Table{Schema: "shop", Name: "orders"}, &parser.Table{Schema: "shop.eu", Name: "items"}
	var txns []*parser.Txn
	for i := range 6 {
		txn := &parser.Txn{
			Log: l, Start: int64(100 * i), End: int64(100*i + 100), CommitID: uint64(1 + i/3), Terminator: parser.TerminatorXID,
			EventTime: second(float64(i)),
			GTID:      parser.GTID{Source: parser.GTIDSource{Flavor: parser.MariaDB, Server: 1}, Number: uint64(i + 1)},
		}
		switch i {
		case 1:
			txn.Tables = []parser.TableChanges{{Table: orders, Inserts: 1}}
		case 2:
			txn.Tables = []parser.TableChanges{{Table: items, Updates: 2}, {Table: orders, Deletes: 1}}
		case 4:
			txn.Databases = []string{"shop"}
		case 5:
			txn.Log = other
		}
		txns = append(txns, txn)
	}
	for _, c := range []struct {
		name   string
		filter analysis.Filter
		want   string // indexes
		groups int64  // of {0 1 2} {3 4} {5} that hold one of them
	}{
		{"all", analysis.Filter{}, "012345", 3},
		{"time", analysis.Filter{Start: second(1), Stop: second(3)}, "12", 1},
		{"start position holds in the first log", analysis.Filter{StartPosition: 300, FirstLog: l.Name}, "345", 2},
		{"stop position in the last", analysis.Filter{StopPosition: 500, LastLog: other.Name}, "01234", 2},
		{"GTIDs", analysis.Filter{Include: set("0-1-1,0-1-4-5")}, "034", 2},
		{"not these GTIDs", analysis.Filter{Exclude: set("0-1-1-5")}, "5", 1},
		{"database", analysis.Filter{Databases: []string{"shop"}}, "124", 2},
		{"database with a dot", analysis.Filter{Databases: []string{"shop.eu"}}, "2", 1},
		{"table", analysis.Filter{Tables: []string{"shop.orders"}}, "12", 1},
		{"table of any database", analysis.Filter{Tables: []string{"items"}}, "2", 1},
		{"table with a dot in its database", analysis.Filter{Tables: []string{"shop.eu.items"}}, "2", 1},
		{"nothing", analysis.Filter{Tables: []string{"orders.shop"}}, "", 0},
		{"both", analysis.Filter{Start: second(2), Databases: []string{"shop"}}, "24", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got strings.Builder
			for _, row := range rowsOf(t, c.filter, txns) {
				i := row.EventTime.Unix() - second(0).Time().Unix()
				fmt.Fprint(&got, i)
				if want := []int64{1, 1, 1, 2, 2, 3}[i]; *row.SyncGroup != want {
					t.Errorf("transaction %d is in group %d, want %d: groups come before filters", i, *row.SyncGroup, want)
				}
			}
			if got.String() != c.want {
				t.Errorf("rows %s, want %s", &got, c.want)
			}
			r := result(c.filter, analysis.Settings{}, txns...)
			if r.Transactions != int64(len(c.want)) || r.Bytes != 100*r.Transactions {
				t.Errorf("%d transactions, %d bytes", r.Transactions, r.Bytes)
			}
			if c.groups == 0 {
				if r.Groups.Sync != nil || r.Window != nil || r.Rates != nil || r.Sizes != nil {
					t.Errorf("figures of nothing: %+v", r)
				}
				return
			}
			if n := *r.Groups.Sync.Count; n != c.groups {
				t.Errorf("%d groups, want %d", n, c.groups)
			}
		})
	}
	// Sizes count all members of a group.
	r := result(analysis.Filter{Include: set("0-1-1")}, analysis.Settings{}, txns...)
	if s := r.Groups.Sync.Size; s.Mean != 3 || s.Max != 3 || s.AloneShare != 0 {
		t.Errorf("size is %+v, want 3", s)
	}
}

func TestTablesAndSizes(t *testing.T) {
	l := mariadb()
	a, b := &parser.Table{Schema: "d", Name: "a"}, &parser.Table{Schema: "d", Name: "b"}
	var txns []*parser.Txn
	for i := range 20 {
		txns = append(txns, &parser.Txn{
			Log: l, Start: int64(i * 1000), End: int64(i*1000 + 100 + i), Terminator: parser.TerminatorXID,
			Tables: []parser.TableChanges{{Table: a, Inserts: 1, Updates: 2}, {Table: b, Deletes: 1}},
		})
	}
	// Another log has other pointers for the same names.
	again := *b
	txns[19].Tables = []parser.TableChanges{{Table: &again, Deletes: 100}}
	r := result(analysis.Filter{}, analysis.Settings{}, txns...)
	want := []analysis.TableStats{
		{Table: "d.b", Transactions: 20, DeleteEvents: 119},
		{Table: "d.a", Transactions: 19, InsertEvents: 19, UpdateEvents: 38},
	}
	if !slices.Equal(r.Tables, want) {
		t.Errorf("tables are %+v, want %+v", r.Tables, want)
	}
	// 100 to 119 bytes: nearest ranks 10, 19 and 20 of 20.
	if s := r.Sizes.Bytes; s.Mean != 109.5 || s.P50 != 109 || s.P95 != 118 || s.P99 != 119 || s.Max != 119 {
		t.Errorf("sizes are %+v", s)
	}
	if n := len(r.Sizes.Largest); n != 10 || r.Sizes.Largest[0].Bytes != 119 || r.Sizes.Largest[0].Position.Position != 19_000 || r.Sizes.Largest[9].Bytes != 110 {
		t.Errorf("largest are %+v", r.Sizes.Largest)
	}
}

func TestClockVerdict(t *testing.T) {
	v97 := parser.Version{Major: 9, Minor: 7}
	for _, c := range []struct {
		name  string
		rows  []clock
		want  analysis.Clock
		codes []string
	}{
		{"contiguous", []clock{{0, 1}, {1, 2}, {1, 3}}, analysis.Clock{TransactionsWith: 3, Verdict: analysis.Contiguous}, nil},
		{"gaps", []clock{{0, 1}, {1, 3}, {1, 4}, {1, 9}}, analysis.Clock{TransactionsWith: 4, Gaps: 2, Verdict: analysis.Gaps}, []string{"clock-gaps"}},
		{"restarts", []clock{{0, 1}, {1, 2}, {0, 1}, {1, 2}}, analysis.Clock{TransactionsWith: 4, Restarts: 1, Verdict: analysis.Restarts}, []string{"clock-restarts"}},
		{"same number again", []clock{{0, 1}, {0, 1}}, analysis.Clock{TransactionsWith: 2, Restarts: 1, Verdict: analysis.Restarts}, []string{"clock-restarts"}},
		{"midway", []clock{{70, 77}, {76, 78}}, analysis.Clock{TransactionsWith: 2, Verdict: analysis.Contiguous}, []string{"clock-midway"}},
		{"impossible", []clock{{0, 1}, {7, 2}}, analysis.Clock{TransactionsWith: 2, Verdict: analysis.Contiguous}, []string{"clock-impossible"}},
		{"none", []clock{{0, 0}, {0, 0}}, analysis.Clock{TransactionsWithout: 2, Verdict: analysis.NoClock}, []string{"no-clock"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := analyze(logOf(mysql(v97), c.rows))
			if r.Clock != c.want {
				t.Errorf("clock is %+v, want %+v", r.Clock, c.want)
			}
			got := slices.DeleteFunc(codesOfFew(r), func(s string) bool { return s == "writeset-parents" || s == "no-commit-times" })
			if !slices.Equal(got, c.codes) {
				t.Errorf("warnings are %v, want %v", got, c.codes)
			}
			if b := r.Groups.Bound; b.Lower < 1 || b.Lower > b.Upper || b.Upper != int64(len(c.rows)) {
				t.Errorf("bound is %+v", b)
			}
		})
	}
}

// The exceptions of the bound, each against the same rows without it.
func TestBoundExceptions(t *testing.T) {
	v80, v84, v57 := parser.Version{Major: 8, Minor: 0, Patch: 30}, parser.Version{Major: 8, Minor: 4}, parser.Version{Major: 5, Minor: 7, Patch: 21}
	base := func(v parser.Version) []*parser.Txn {
		// Parents far behind, but for the last: it is behind 3.
		return logOf(mysql(v), []clock{{0, 1}, {0, 2}, {0, 3}, {3, 4}})
	}
	gtid := func(txns []*parser.Txn) []*parser.Txn {
		for i, t := range txns {
			t.GTID = parser.GTID{Source: parser.GTIDSource{Flavor: parser.MySQL}, Number: uint64(i + 1)}
		}
		return txns
	}
	session := func(txns []*parser.Txn, ids ...uint32) []*parser.Txn {
		for i, t := range txns {
			t.ThreadID, t.HasThreadID = ids[i], true
		}
		return txns
	}
	for _, c := range []struct {
		name  string
		txns  []*parser.Txn
		set   analysis.Settings
		lower int64
		code  string
	}{
		{"no exception", base(v84), analysis.Settings{}, 2, ""},
		{"E1: two halves of a mixed transaction", func() []*parser.Txn {
			txns := session(base(v84), 1, 2, 3, 3)
			txns[2].Terminator = parser.TerminatorCommit
			return txns
		}(), analysis.Settings{}, 1, ""},
		{"not E1: GTIDs", func() []*parser.Txn {
			txns := gtid(session(base(v84), 1, 2, 3, 3))
			txns[2].Terminator = parser.TerminatorCommit
			return txns
		}(), analysis.Settings{}, 2, ""},
		{"not E1: one session after another", session(base(v84), 1, 2, 3, 3), analysis.Settings{}, 2, ""},
		{"E3: raised by ANALYZE", func() []*parser.Txn {
			txns := base(v84)
			txns[2].RaisesClock = true
			return txns
		}(), analysis.Settings{}, 1, ""},
		{"not E3 before 8.0", func() []*parser.Txn {
			txns := base(v57)
			txns[2].RaisesClock = true
			return txns
		}(), analysis.Settings{}, 2, ""},
		{"E5: a session's first transaction in a file of 8.0", session(base(v80), 1, 2, 3, 4), analysis.Settings{}, 1, ""},
		{"not E5 since 8.4", session(base(v84), 1, 2, 3, 4), analysis.Settings{}, 2, ""},
		{"E6: relay log", func() []*parser.Txn {
			txns := session(base(v84), 1, 2, 1, 2)
			txns[0].Log.Relay = true
			return txns
		}(), analysis.Settings{}, 1, "relay-log"},
		{"sessions", session(logOf(mysql(v84), []clock{{0, 1}, {0, 2}, {0, 3}, {0, 4}}), 1, 2, 1, 2), analysis.Settings{}, 2, ""},
		{"sessions, each again at once", session(logOf(mysql(v84), []clock{{0, 1}, {0, 2}, {0, 3}, {0, 4}}), 1, 1, 1, 1), analysis.Settings{}, 4, ""},
		{"sessions left out", session(logOf(mysql(v84), []clock{{0, 1}, {0, 2}, {0, 3}, {0, 4}}), 1, 1, 1, 1), analysis.Settings{NoSessionBound: true}, 1, ""},
		{"replicated: another server's sessions", func() []*parser.Txn {
			txns := session(logOf(mysql(v84), []clock{{0, 1}, {0, 2}, {0, 3}, {0, 4}}), 1, 1, 1, 1)
			for _, t := range txns {
				t.ServerID = 7
			}
			return txns
		}(), analysis.Settings{}, 1, ""},
		{"replicated: committed elsewhere before", func() []*parser.Txn {
			txns := session(logOf(mysql(v84), []clock{{0, 1}, {0, 2}, {0, 3}, {0, 4}}), 1, 1, 1, 1)
			for _, t := range txns {
				t.CommitTime, t.OriginalCommitTime = second(5), second(4)
			}
			return txns
		}(), analysis.Settings{}, 1, ""},
		{"replicated: its thread id is a session's here too", func() []*parser.Txn {
			txns := session(logOf(mysql(v84), []clock{{0, 1}, {0, 2}, {0, 3}, {0, 4}}), 1, 1, 1, 1)
			for i, began := range []float64{10, 5, 11, 6} {
				txns[i].EventTime = second(began)
				if i%2 == 1 {
					txns[i].ServerID = 7
				}
			}
			return txns
		}(), analysis.Settings{}, 2, "!thread-ids-contradict"},
		{"shared thread ids", func() []*parser.Txn {
			txns := session(logOf(mysql(v84), []clock{{0, 1}, {0, 2}, {0, 3}, {0, 4}}), 1, 1, 1, 1)
			for i, t := range txns {
				t.EventTime = second(float64(10 - i))
			}
			return txns
		}(), analysis.Settings{}, 1, "thread-ids-contradict"},
		{"a transaction without its end is in no group", func() []*parser.Txn {
			txns := base(v84)
			txns[3].Terminator = parser.TerminatorNone
			return txns
		}(), analysis.Settings{}, 1, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := result(analysis.Filter{}, c.set, c.txns...)
			if r.Groups.Bound.Lower != c.lower {
				t.Errorf("lower bound is %d, want %d", r.Groups.Bound.Lower, c.lower)
			}
			if code, not := strings.CutPrefix(c.code, "!"); code != "" && slices.Contains(codes(r), code) == not {
				t.Errorf("warnings are %v, want %s", codes(r), c.code)
			}
		})
	}
	// The end of a file is a boundary whatever else is known.
	a, b := logOf(mysql(v84), []clock{{0, 1}, {0, 2}}), logOf(mysql(v84), []clock{{0, 1}, {0, 2}})
	if got := *result(analysis.Filter{}, analysis.Settings{}, slices.Concat(a, b)...).Groups.Bound; got != (analysis.Bound{Lower: 2, Upper: 4}) {
		t.Errorf("bound over two files is %+v, want 2 to 4", got)
	}
}

func TestParentsSample(t *testing.T) {
	var rows []clock
	for i := range int64(10_000) {
		rows = append(rows, clock{i, i + 1})
	}
	p := analyze(logOf(mysql(parser.Version{Major: 9}), rows)).Parents
	if p.Every != 8 || len(p.Points) != 1250 {
		t.Fatalf("%d points, one in %d; want 1250, one in 8", len(p.Points), p.Every)
	}
	for i, pt := range p.Points {
		if pt.Index != int64(8*i+1) || pt.Distance != 1 {
			t.Fatalf("point %d is %+v", i, pt)
		}
	}
}

func TestServerMode(t *testing.T) {
	for _, c := range []struct {
		flavor     parser.Flavor
		version    parser.Version
		mode, from string
	}{
		{parser.MySQL, parser.Version{Major: 5, Minor: 6, Patch: 51}, analysis.ModeNone, "version"},
		{parser.MySQL, parser.Version{Major: 5, Minor: 7, Patch: 21}, analysis.ModeCommitOrder, "version"},
		{parser.MySQL, parser.Version{Major: 5, Minor: 7, Patch: 22}, analysis.ModeUnknown, "unknown"},
		{parser.MySQL, parser.Version{Major: 8, Minor: 3}, analysis.ModeUnknown, "unknown"},
		{parser.MySQL, parser.Version{Major: 8, Minor: 4}, analysis.ModeWriteset, "version"},
		{parser.MySQL, parser.Version{Major: 26, Minor: 10}, analysis.ModeWriteset, "version"},
		{parser.MariaDB, parser.Version{Major: 11, Minor: 8}, analysis.ModeNone, "version"},
	} {
		l := &parser.Log{Name: "x", Flavor: c.flavor, Version: c.version}
		got := analysis.New(analysis.Filter{}, analysis.Settings{}).Result([]*parser.Log{l}).DependencyTracking
		if got.ServerMode != c.mode || got.From != c.from {
			t.Errorf("%v %v: %+v, want %s by %s", c.flavor, c.version, got, c.mode, c.from)
		}
	}
}

// An empty result is a result.
func TestNothing(t *testing.T) {
	b, err := json.Marshal(analysis.New(analysis.Filter{}, analysis.Settings{}).Result(nil))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"schema_version":1,"sources":[],"transactions":0,"events":0,"bytes":0,"groups":{},"dependency_tracking":{"server_mode":"unknown","from":"unknown"},"clock":{"transactions_with":0,"transactions_without":0,"gaps":0,"restarts":0,"verdict":"none"},"warnings":[{"code":"no-transactions","message":"there are no transactions","count":1}]}`
	if string(b) != want {
		t.Errorf("got\n%s, want\n%s", b, want)
	}
}
