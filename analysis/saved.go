package analysis

import (
	"fmt"

	"bgcstat/parser"
)

// Settings are what a log does not say of the server that wrote it; nil where
// they are not known.
type Settings struct {
	SyncBinlog *int64
	// SyncDelay and SyncNoDelayCount are binlog_group_commit_sync_delay, in
	// microseconds, and binlog_group_commit_sync_no_delay_count.
	SyncDelay, SyncNoDelayCount *int64
	FlushLogAtTrxCommit         *int64
	// NoSessionBound leaves thread ids out of the bound, for logs whose thread
	// ids are not sessions of one server.
	NoSessionBound bool
}

// syncBinlog gives sync_binlog and where it is known from. Since MySQL 5.7.7
// it is 1 by default; MariaDB and older MySQL default to 0, which nobody who
// cares leaves it at, so there it is not known.
func (s Settings) syncBinlog(logs []*parser.Log) (n int64, from string, ok bool) {
	if s.SyncBinlog != nil {
		return *s.SyncBinlog, "flag", true
	}
	for _, l := range logs {
		if l.Flavor == 0 {
			continue
		}
		if l.Flavor != parser.MySQL || !l.Version.AtLeast(5, 7, 7) {
			return 0, "", false
		}
		from = fmt.Sprintf("default of %d.%d", l.Version.Major, l.Version.Minor)
	}
	return 1, from, from != ""
}

// saved compares the binlog syncs of transactions alone with those of groups.
// The server counts groups, not transactions, up to sync_binlog (MySQL
// sync_binlog_file, MariaDB flush_and_sync), so each is divided by it; where
// in its count the log begins is not known, which is a sync more or less.
func saved(n int64, from string, s Settings, g *GroupStats, transactions int64) *Saved {
	out := &Saved{Assumes: Assumes{SyncBinlog: n, FlushLogAtTrxCommit: s.FlushLogAtTrxCommit, From: from}}
	syncs := func(groups, phase int64) int64 {
		if n == 0 {
			return 0 // never on commit
		}
		return (groups + phase) / n
	}
	b := &SavedSync{
		Alone: syncs(transactions, 0), GroupedLow: syncs(g.Low, 0), GroupedHigh: syncs(g.High, max(n-1, 0)),
		Basis: g.Basis, Method: g.Method,
	}
	b.GroupedHigh = min(b.GroupedHigh, max(b.Alone, b.GroupedLow))
	if n > 1 {
		b.Basis = Estimated
	}
	share := func(part int64) float64 {
		if b.Alone == 0 {
			return 0
		}
		return float64(part) / float64(b.Alone)
	}
	b.SavedByGroupingMin, b.SavedByGroupingMax = b.Alone-b.GroupedHigh, b.Alone-b.GroupedLow
	b.ShareMax = share(b.SavedByGroupingMax)
	if g.Count != nil {
		grouped := syncs(*g.Count, 0)
		byGrouping, byShare := b.Alone-grouped, share(b.Alone-grouped)
		bySetting := *g.Count - grouped
		b.Grouped, b.SavedByGrouping, b.Share, b.SavedBySyncBinlog = &grouped, &byGrouping, &byShare, &bySetting
	}
	out.Binlog = b
	return out
}
