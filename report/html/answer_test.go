package html

import (
	"slices"
	"strings"
	"testing"

	"bgcstat/analysis"
)

// The answer for every basis and method that a result may have.
func TestAnswer(t *testing.T) {
	const alone = " of the 6,000 that transactions alone would have needed"
	sync := func(r *analysis.Result, count int64, low, high int64, b analysis.Basis, m analysis.Method) {
		r.Groups.Sync = &analysis.GroupStats{Low: low, High: high, Basis: b, Method: m}
		if count > 0 {
			r.Groups.Sync.Count = &count
		}
	}
	for name, tt := range map[string]struct {
		change func(r *analysis.Result)
		want   string
	}{
		"estimated": {func(*analysis.Result) {}, "2,061 sync groups for 6,000 transactions, estimated from commit timestamps, between 1,990 and 2,180; " +
			"one binlog fsync each saved 65.6 %" + alone + " (between 3,820 and 4,010 saved; sync_binlog=1, the default of 9.7)."},
		"commit ids, sync_binlog unknown": {func(r *analysis.Result) {
			sync(r, 743, 743, 743, analysis.Exact, analysis.CommitID)
			r.Saved, r.Warnings = nil, []analysis.Warning{{Code: "sync-binlog-unknown"}}
		}, "743 sync groups for 6,000 transactions, exact by the commit ids that MariaDB writes; how many fsyncs that saved is not known, since sync_binlog is not (state it with --sync-binlog)."},
		"commit ids of a damaged log": {func(r *analysis.Result) {
			sync(r, 743, 743, 743, analysis.Estimated, analysis.CommitID)
			r.Saved = nil
		}, "743 sync groups for 6,000 transactions, estimated from the commit ids of a damaged log; how many fsyncs that saved is not known."},
		"traced": {func(r *analysis.Result) { *r = *traced() }, "2,061 sync groups for 6,000 transactions, exact by the binlog syncs that were traced; it took 2,061 binlog fsyncs (measured) to make them durable, 65.6 % fewer than the 6,000 that transactions alone would have needed (sync_binlog=1, as the server said)."},
		"counted": {func(r *analysis.Result) {
			*r = *traced()
			sync(r, 2061, 2059, 2063, analysis.Measured, analysis.FsyncCount)
		}, "2,061 sync groups for 6,000 transactions, measured by the binlog syncs that were counted, between 2,059 and 2,063; it took 2,061 binlog fsyncs (measured) to make them durable, 65.6 % fewer than the 6,000 that transactions alone would have needed (sync_binlog=1, as the server said)."},
		"counted in part": {func(r *analysis.Result) {
			sync(r, 2061, 2000, 2400, analysis.Estimated, analysis.FsyncCount)
			r.Saved, r.Warnings = nil, []analysis.Warning{{Code: "filtered"}}
		}, "2,061 sync groups for 6,000 transactions, estimated from commit timestamps and the binlog syncs that were counted, between 2,000 and 2,400; how many fsyncs that saved is not shown for a part of the transactions."},
		"bound": {func(r *analysis.Result) {
			sync(r, 0, 911, 6000, analysis.Bounded, analysis.Constraints)
			r.Saved.Binlog = &analysis.SavedSync{Alone: 6000, GroupedLow: 911, GroupedHigh: 6000, SavedByGroupingMax: 5089, ShareMax: 5089.0 / 6000, Basis: analysis.Bounded, Method: analysis.Constraints}
		}, "Between 911 and 6,000 sync groups for 6,000 transactions, which is all that the log proves; one binlog fsync each saved between 0 and 5,089" + alone + " (at most 84.8 %; sync_binlog=1, the default of 9.7)."},
		"each alone": {func(r *analysis.Result) {
			sync(r, 6000, 6000, 6000, analysis.Bounded, analysis.Constraints)
			r.Saved.Binlog = &analysis.SavedSync{Alone: 6000, Grouped: new(int64(6000)), SavedByGrouping: new(int64(0)), Share: new(0.0)}
		}, "6,000 sync groups for 6,000 transactions, since the log proves that no two shared one; grouping saved none of the 6,000 binlog fsyncs that transactions alone would have needed (sync_binlog=1, the default of 9.7)."},
		"sync_binlog=0": {
			func(r *analysis.Result) { r.Saved.Assumes = analysis.Assumes{From: "flag"} },
			"2,061 sync groups for 6,000 transactions, estimated from commit timestamps, between 1,990 and 2,180; no binlog fsync was saved, since none is made on commit (sync_binlog=0, as stated).",
		},
		"sync_binlog=10": {func(r *analysis.Result) {
			r.Saved.Assumes = analysis.Assumes{SyncBinlog: 10, From: "flag"}
			r.Saved.Binlog = &analysis.SavedSync{Alone: 600, Grouped: new(int64(206)), SavedByGrouping: new(int64(394)), SavedByGroupingMin: 394, SavedByGroupingMax: 394, Share: new(394.0 / 600), SavedBySyncBinlog: new(int64(1855)), Basis: analysis.Estimated}
		}, "2,061 sync groups for 6,000 transactions, estimated from commit timestamps, between 1,990 and 2,180; one binlog fsync for every 10 groups saved 65.7 % of the 600 that transactions alone would have needed (sync_binlog=10, as stated), and sync_binlog=10 saved another 1,855, for which a crash may lose the newest transactions."},
		"sync_binlog=10 and few": {func(r *analysis.Result) {
			r.Saved.Assumes, r.Saved.Binlog = analysis.Assumes{SyncBinlog: 10, From: "flag"}, &analysis.SavedSync{}
		}, "2,061 sync groups for 6,000 transactions, estimated from commit timestamps, between 1,990 and 2,180; so few transactions need no binlog fsync (sync_binlog=10, as stated)."},
		"relay log": {
			func(r *analysis.Result) { r.Saved, r.Warnings = nil, []analysis.Warning{{Code: "relay-log"}} },
			"2,061 sync groups for 6,000 transactions, estimated from commit timestamps, between 1,990 and 2,180; how many fsyncs that saved is not known, since a relay log does not tell how it was written.",
		},
		"in no group": {
			func(r *analysis.Result) { r.Transactions, r.Groups, r.Saved = 1, analysis.Groups{}, nil },
			"Neither the sync groups of 1 transaction are known nor the fsyncs that they saved.",
		},
		"empty":                {func(r *analysis.Result) { *r = analysis.Result{} }, "There are no transactions to report."},
		"empty, with filters":  {func(r *analysis.Result) { *r = analysis.Result{Filters: &analysis.Filters{}} }, "The filters leave no transactions to report."},
		"of a time to come":    {func(r *analysis.Result) { sync(r, 5, 5, 5, "guessed", "dice"); r.Saved = nil }, "5 sync groups for 6,000 transactions, guessed by dice; how many fsyncs that saved is not known."},
		"the trace refutes it": {func(r *analysis.Result) { r.Saved, r.Warnings = nil, []analysis.Warning{{Code: "syncs-cover-groups"}} }, "2,061 sync groups for 6,000 transactions, estimated from commit timestamps, between 1,990 and 2,180; how many fsyncs that saved is not shown, since the trace refutes the sync_binlog that was assumed."},
	} {
		r := estimated()
		tt.change(r)
		if got := answer(r); got != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, tt.want)
		}
	}
}

func TestMore(t *testing.T) {
	r := traced()
	r.Warnings = []analysis.Warning{{Code: "trace-contradicts-log"}}
	r.Sources = append(r.Sources, analysis.Source{}, analysis.Source{})
	r.Alone = &analysis.Alone{AloneGroups: 6000, Transactions: 6000, Table: "a.<b>", TableTransactions: 6000, Basis: analysis.Exact, Method: analysis.Traced, Cause: analysis.OneSession}
	want := []string{
		"The trace contradicts the log, so nothing is concluded from the two together: this rests on the log alone.",
		"No two of the 6,000 commits shared a sync (exact by the binlog syncs that were traced), and all changed a.<b>. One session made them, which commits one at a time.",
		"2 of 3 logs are damaged or could not be read to the end: transactions may be missing from every figure.",
		"The redo log took 2,177 syncs (measured), 63.7 % fewer than the 6,000 that transactions alone would have needed.",
	}
	if got := more(r); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
