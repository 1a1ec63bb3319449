package report

import (
	"testing"

	"bgcstat/analysis"
)

func TestAloneInWords(t *testing.T) {
	server := &analysis.Saved{Assumes: analysis.Assumes{SyncBinlog: 1, From: "server"}}
	of := func(a analysis.Alone) *analysis.Alone {
		a.Transactions, a.Table = 2000, "shop.stock"
		if a.TableTransactions == 0 {
			a.TableTransactions = 2000
		}
		return &a
	}
	for name, tt := range map[string]struct {
		alone *analysis.Alone
		saved *analysis.Saved
		want  string
	}{
		"none": {nil, server, ""},
		"one row of MySQL": {
			of(analysis.Alone{AloneGroups: 2000, Basis: analysis.Exact, Method: analysis.Traced, Sessions: new(int64(16)), ParentsJustBefore: new(int64(1990)), Cause: analysis.WriteSets}), server,
			"No two of the 2,000 commits shared a sync (exact by the binlog syncs that were traced), and all changed shop.stock. " +
				"It looks like sessions that take turns at one row, or a table without a key: 16 sessions made them, and the parent of 1,990 is the one just before, by what they changed.",
		},
		"one row of MariaDB": {
			of(analysis.Alone{AloneGroups: 1988, TableTransactions: 1985, Basis: analysis.Exact, Method: analysis.CommitID, Waited: new(int64(1991)), Cause: analysis.RowLocks}), server,
			"All but 12 of the 2,000 commits had a sync of their own (exact by the commit ids that MariaDB writes), and 1,985 changed shop.stock. " +
				"It looks like sessions that take turns at one row or a few: 1,991 waited for a row lock, as the log says.",
		},
		"one client of MariaDB": {
			of(analysis.Alone{AloneGroups: 2000, Basis: analysis.Exact, Method: analysis.CommitID, Waited: new(int64(0)), Cause: analysis.OneAtATime}), nil,
			"No two of the 2,000 commits shared a sync group (exact by the commit ids that MariaDB writes), and all changed shop.stock. " +
				"They came one at a time, as those of one session do: 0 waited for a row lock, as the log says.",
		},
		"one client of MySQL, sync_binlog not asked for": {
			of(analysis.Alone{AloneGroups: 2000, Basis: analysis.Bounded, Method: analysis.Constraints, Sessions: new(int64(1)), Cause: analysis.OneSession}),
			&analysis.Saved{Assumes: analysis.Assumes{SyncBinlog: 1, From: "default of 9.7"}},
			"No two of the 2,000 commits shared a sync group (proven by the log), and all changed shop.stock. One session made them, which commits one at a time.",
		},
		"commit order": {
			of(analysis.Alone{AloneGroups: 1990, Basis: analysis.Measured, Method: analysis.FsyncCount, ParentsJustBefore: new(int64(2000)), Cause: analysis.Serial}),
			&analysis.Saved{Assumes: analysis.Assumes{SyncBinlog: 1, From: "flag"}},
			"All but at most 10 of the 2,000 commits had a sync of their own (measured by the binlog syncs that were counted), and all changed shop.stock. " +
				"They waited for one another, or did not come at the same time: the parent of 2,000 is the one just before, which had been committed when they were ready to be.",
		},
		"of a cause that is not told": {
			of(analysis.Alone{AloneGroups: 1990, Basis: analysis.Bounded, Method: analysis.Constraints}),
			&analysis.Saved{Assumes: analysis.Assumes{SyncBinlog: 100, From: "server"}},
			"All but at most 10 of the 2,000 commits had a sync group of their own (proven by the log), and all changed shop.stock. " +
				"The log does not tell whether they waited for one another, or did not come at the same time.",
		},
	} {
		if got := AloneInWords(&analysis.Result{Transactions: 2000, Saved: tt.saved, Alone: tt.alone}); got != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, tt.want)
		}
	}
}
