package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

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
	// from is where they are known from: "server", or "flag" where it is empty.
	from string
	// varied are those that changed meanwhile, by name.
	varied []string
	// NoSessionBound leaves thread ids out of the bound, for logs whose thread
	// ids are not sessions of one server.
	NoSessionBound bool
}

// variable is a setting, and the server's name for it.
type variable struct {
	name string
	of   **int64
}

func (s *Settings) variables() []variable {
	return []variable{
		{"innodb_flush_log_at_trx_commit", &s.FlushLogAtTrxCommit},
		{"binlog_group_commit_sync_delay", &s.SyncDelay},
		{"binlog_group_commit_sync_no_delay_count", &s.SyncNoDelayCount},
		{"sync_binlog", &s.SyncBinlog},
	}
}

// With adds what the server says of itself, its variables by their names, to
// what is not known yet. A sync_binlog that was given as a flag stays.
func (s Settings) With(server map[string]string) Settings {
	for _, v := range s.variables() {
		if n, err := strconv.ParseInt(server[v.name], 10, 64); err == nil && n >= 0 && *v.of == nil {
			*v.of = &n
			if v.of == &s.SyncBinlog {
				s.from = "server"
			}
		}
	}
	return s
}

// vary takes back settings that held for a part of the transactions only.
func (s *Settings) vary(names []string) {
	for _, v := range s.variables() {
		if slices.Contains(names, v.name) && !slices.Contains(s.varied, v.name) {
			*v.of = nil
			s.varied = append(slices.Clip(s.varied), v.name)
		}
	}
}

// syncBinlog gives sync_binlog and where it is known from. Since MySQL 5.7.7
// it is 1 by default; MariaDB and older MySQL default to 0, which nobody who
// cares leaves it at, so there it is not known.
func (s Settings) syncBinlog(logs []*parser.Log) (n int64, from string, ok bool) {
	if slices.Contains(s.varied, "sync_binlog") {
		return 0, "", false
	}
	if s.SyncBinlog != nil {
		return *s.SyncBinlog, cmp.Or(s.from, "flag"), true
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
	if g.Count != nil {
		b.Grouped = new(syncs(*g.Count, 0))
		b.SavedBySyncBinlog = new(*g.Count - *b.Grouped)
	}
	b.compare()
	out.Binlog = b
	return out
}

// measure takes the number of syncs that were counted, in the place of what
// follows from groups. lost is how many may be missing from it. fromLog are the
// sync groups by the log alone, at sync_binlog=n.
func (b *SavedSync) measure(n, syncs, lost int64, g, fromLog *GroupStats) {
	if fromLog != nil {
		b.FromLog = &FromLog{Low: fromLog.Low / n, High: (fromLog.High + n - 1) / n, Basis: fromLog.Basis, Method: fromLog.Method}
		if fromLog.Count != nil {
			b.FromLog.Count = new(*fromLog.Count / n)
		}
		if n > 1 {
			b.FromLog.Basis = Estimated
		}
	}
	b.Grouped, b.GroupedLow, b.GroupedHigh = &syncs, syncs, syncs+lost
	b.Basis, b.Method, b.SavedBySyncBinlog = Measured, FsyncCount, nil
	if lost > 0 {
		b.Basis = Estimated
	}
	if g.Count != nil && n > 1 {
		b.SavedBySyncBinlog = new(max(*g.Count-syncs, 0))
	}
	b.compare()
}

// savedRedo compares the redo syncs that were counted with one for each
// transaction, which is what each alone needs at
// innodb_flush_log_at_trx_commit=1: in MySQL for its flush group, in MariaDB for
// its prepare.
func savedRedo(transactions, measured int64) *SavedSync {
	b := &SavedSync{
		Alone: transactions, Grouped: &measured, GroupedLow: measured, GroupedHigh: measured,
		Basis: Measured, Method: FsyncCount,
	}
	b.compare()
	return b
}

// compare sets what was saved. Syncs that have other causes may be more than
// transactions alone would need; nothing was saved then.
func (b *SavedSync) compare() {
	saved := func(grouped int64) int64 { return max(b.Alone-grouped, 0) }
	share := func(part int64) float64 {
		if b.Alone == 0 {
			return 0
		}
		return float64(part) / float64(b.Alone)
	}
	b.SavedByGroupingMin, b.SavedByGroupingMax = saved(b.GroupedHigh), saved(b.GroupedLow)
	b.ShareMax = share(b.SavedByGroupingMax)
	if b.Grouped != nil {
		by := saved(*b.Grouped)
		b.SavedByGrouping, b.Share = &by, new(share(by))
	}
}
