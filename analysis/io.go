package analysis

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"bgcstat/parser"
	"bgcstat/parser/iosample"
)

// traced counts the groups of transactions that one sync made durable.
type traced struct {
	tally tally
	mark  int64
	span  span
	// Transactions that are proven not to have shared a sync with the first of
	// their group.
	split      int64
	firstSplit parser.Pos
	splitFirst int64 // those in the group of the trace's first sync
	// unlike counts transactions where these groups and MariaDB's commit ids do
	// not begin alike.
	unlike      int64
	firstUnlike parser.Pos
	log         *parser.Log
}

// add takes the next transaction that a sync made durable. f is nil where
// nothing is proven of it. It reports whether it is the first reported one of
// its group.
func (g *traced) add(m *mark, t *parser.Txn, f *facts, chosen bool) (begins, first bool) {
	begins = m.no != g.mark || t.Log != g.log
	g.mark, g.log = m.no, t.Log
	if f != nil {
		switch {
		case begins || f.restart:
			g.span.begin(f)
		case g.span.splits(f):
			if g.split++; g.split == 1 {
				g.firstSplit = t.Pos()
			}
			if m.no == 1 {
				g.splitFirst++
			}
			g.span.begin(f)
		}
		g.span.add(t)
	}
	return begins, g.tally.add(begins, chosen)
}

// Join has the trace of header joined to the transactions that are added from
// now on; it is called before the first. next gives the trace's intervals, nil
// at its end, and may wait for one. logs are the names of the logs that will be
// read, nil where that is all that the server writes. Only
// transactions of the stretch that the trace covers are reported. Settings of
// the server that the trace holds are taken where none were given.
func (a *Analyzer) Join(header *iosample.Header, next func() *iosample.Interval, logs []string) {
	a.trace = newTrace(header, next, logs)
	a.given = a.settings
	a.settings = a.settings.With(header.Settings)
	a.trace.groups = a.settings.SyncBinlog == nil || *a.settings.SyncBinlog == 1
	a.estimator.settings = a.settings
}

// Part ends the join before the log ends, as where a live trace is given up:
// next is to give nil from now on. Transactions that the trace does not cover
// are reported from now on, and in the end nothing is concluded from it.
func (a *Analyzer) Part() { a.parted = true }

// Joined reports, after Result, whether the trace is of the logs' load, and
// whether its syncs tell their sync groups exactly.
func (a *Analyzer) Joined() (ok, exact bool) { return a.contradicted == "", a.exact }

// join looks for the sync of t, and reports whether the trace covers it. f is
// nil for MariaDB.
func (a *Analyzer) join(t *parser.Txn, f *facts, chosen bool) (*mark, bool) {
	m, covered := a.trace.of(t)
	wanted := chosen
	chosen = chosen && covered
	splits := false
	switch {
	case m == nil:
		if chosen {
			a.trace.unsynced++
		}
	case f == nil:
		splits = a.commitIDs.begins(t)
	case m.members == 0 || f.restart:
		a.interval.begin(f)
	case a.interval.splits(f):
		splits = true
		a.interval.begin(f)
	}
	if m != nil {
		a.trace.take(m, t, chosen, splits)
	}
	if f != nil {
		a.interval.add(t)
	}
	a.estimator.fit(a.trace, m, a.settings)
	switch {
	case covered:
	case a.parted && wanted:
		a.outside++
		return nil, true
	default:
		return nil, false
	}
	return m, chosen
}

// contradiction says why log and trace cannot be of one load, "" where nothing
// speaks against it.
func (a *Analyzer) contradiction(main *parser.Log) string {
	tr := a.trace
	n, _, known := a.settings.syncBinlog([]*parser.Log{main})
	each := known && n == 1 // group is synced
	switch {
	case a.transactions+a.uncovered == 0:
		return "" // there is nothing to be joined
	case a.outside > 0:
		return fmt.Sprintf("%d transactions came when it had been given up", a.outside)
	case tr.reset != 0:
		return fmt.Sprintf("logs were begun anew under names that they had before (RESET, at %v), so that the trace has two of a name: take one that begins later", newTime(tr.reset))
	case tr.no == 0 && tr.newest.size == 0:
		return "the trace has no samples of a binlog"
	case tr.joined == 0 && tr.unsynced == 0 && tr.otherNames:
		return fmt.Sprintf("the trace is of logs of other names than %s", main.Name)
	case tr.joined == 0 && tr.unsynced == 0:
		return "they do not overlap: " + tr.where()
	}
	if id, err := strconv.ParseUint(tr.header.Settings["server_id"], 10, 32); err == nil && main.ServerID != 0 && uint32(id) != main.ServerID && !main.Relay {
		return fmt.Sprintf("the trace is of server_id %d, the log of %d", id, main.ServerID)
	}
	if tr.madeSyncs >= 10 && 10*tr.exactEnds < 9*tr.madeSyncs {
		return fmt.Sprintf("of %s syncs only %s ended with a transaction, as nearly all do", grouped(tr.madeSyncs), grouped(tr.exactEnds))
	}
	if d := tr.delays.usual(); d > time.Minute+time.Duration(tr.header.Interval*float64(time.Second)) && !tr.byTime {
		return fmt.Sprintf("commits and the syncs that made them durable are %v apart by their clocks", d.Round(time.Second))
	}
	if tr.events && tr.floor == nil && each && a.traced.splitFirst > 0 && a.traced.splitFirst == a.traced.split {
		return "the trace does not say where the log was when it began, and its first sync covers transactions that did not share one: it began in the middle of the log"
	}
	if !tr.events && tr.usage.counting(tr.header) {
		if slack := a.slack(); tr.durable > tr.marked+slack {
			return fmt.Sprintf("%s binlog syncs were counted while %s transactions were written, which need one each at most", grouped(tr.durable), grouped(tr.marked))
		}
		if each && tr.tooFew >= 3 && 10*tr.tooFew > tr.checked {
			return fmt.Sprintf("in %d of %d intervals fewer binlog syncs were counted than sync groups are proven: sync_binlog is not 1, or the trace is of another time or server", tr.tooFew, tr.checked)
		}
	}
	return ""
}

// where says which part of which log the trace is of.
func (tr *trace) where() string {
	at := func(m *mark) string {
		if m.log.number == 0 {
			return fmt.Sprintf("%s:%d", m.log.base, m.size-tr.margin(m.log))
		}
		return fmt.Sprintf("%s.%06d:%d", m.log.base, m.log.number, m.size-tr.margin(m.log))
	}
	switch {
	case tr.byTime || tr.newest.log.unnamed():
		return "nothing was written while the trace was taken"
	case tr.floor == nil:
		return "the trace ends at " + at(&tr.newest)
	default:
		return fmt.Sprintf("the trace goes from %s to %s", at(tr.floor), at(&tr.newest))
	}
}

// slack is how far counts of syncs may be off: one at either end, and what the
// source is off by.
func (a *Analyzer) slack() int64 {
	n := int64(2)
	if c := a.trace.usage.byClass[iosample.Binlog]; c != nil && c.exactness != iosample.Exact {
		n += a.trace.durable / 50
	}
	return n
}

// exactGroups reports whether the traced groups are the sync groups: at
// sync_binlog=1, with nothing lost, and nothing proven to be apart in one.
func (a *Analyzer) exactGroups(logs []*parser.Log) bool {
	a.traced.tally.close()
	if !a.trace.events || a.traced.tally.groups == 0 || a.traced.split > 0 || a.trace.usage.lost > 0 {
		return false
	}
	n, _, ok := a.settings.syncBinlog(logs)
	return ok && n == 1
}

// counting reports whether the source counts binlog syncs at all.
func (u *usage) counting(h *iosample.Header) bool {
	c := u.byClass[iosample.Binlog]
	return h.Exactness != iosample.DeviceWide && (c == nil || c.exactness != iosample.DeviceWide)
}

// io describes what the trace counted. Where log and trace contradict each
// other it has nothing that needs both.
func (a *Analyzer) io(contradicted bool) *IO {
	tr, u := a.trace, &a.trace.usage
	h := tr.header
	out := &IO{
		Source: h.Source, Detail: h.Detail, Settings: h.Settings, Lost: u.total.lost,
		Start: Time{u.total.from}, End: Time{u.total.to}, Seconds: u.total.to.Sub(u.total.from).Seconds(),
	}
	for _, r := range h.Refused {
		out.Refused = append(out.Refused, Refused{r.Source, r.Why})
	}

	// 1. Syncs by class.
	if u.counting(h) {
		out.Syncs = map[string]Syncs{}
		for i, class := range iosample.Classes {
			c := u.byClass[class]
			n := u.total.syncs[i]
			if class == iosample.Binlog && tr.events {
				n = u.total.events
			} else if c == nil {
				continue
			}
			exactness := h.Exactness
			if c != nil {
				exactness = c.exactness
			}
			missing := u.total.lost > 0 || class == iosample.Binlog && tr.loose > 0
			if exactness == iosample.Exact && missing {
				exactness = iosample.LowerBound
			}
			out.Syncs[string(class)] = Syncs{Count: n, Exactness: string(exactness), Latency: a.latency(class, c, n)}
		}
		if tr.events {
			out.LatencyBySize = tr.bySize.result()
		}
	}

	// 2. Flushes of the disk.
	if u.flushSeen {
		out.DeviceFlushes = []DeviceFlushes{{h.Device, u.total.flushes}}
	}
	if !u.total.from.IsZero() {
		out.Rates = u.rates.result(u.total.from, u.total.to, out.Syncs != nil, u.flushSeen)
		out.CPU = u.rates.cpu(u.total.from, u.total.to, u.cpu.cpus)
	}

	// 3. What needs both.
	if contradicted || out.Syncs == nil {
		return out
	}
	if tr.loose == 0 {
		out.BinlogSyncsDurable = new(tr.durable)
	}
	if tr.durable > 0 && u.total.lost == 0 && (tr.events || !a.filter.ofSome()) {
		out.TransactionsPerBinlogSync = new(float64(tr.marked) / float64(tr.durable))
	}
	if tr.events {
		out.DurableByNoneYet = new(tr.unsynced)
	}
	return out
}

// latency is how long the n syncs of a class took.
func (a *Analyzer) latency(class iosample.Class, c *classUsage, n int64) *SyncLatency {
	seconds := func(ns int64) *float64 { return new(float64(ns) / 1e9) }
	if l := a.trace.bySize.all; class == iosample.Binlog && l != nil {
		return &SyncLatency{P50: seconds(l.ValueAtQuantile(50)), P99: seconds(l.ValueAtQuantile(99))}
	}
	i := slices.IndexFunc(a.trace.usage.latency, func(l iosample.Latency) bool { return l.Class == class && l.Count > 0 })
	if i >= 0 {
		l := a.trace.usage.latency[i]
		out := &SyncLatency{P50: seconds(l.P50), P99: seconds(l.P99)}
		if 50*(l.Count-n) > l.Count { // not one or two at its ends
			out.Of = l.Count
		}
		return out
	}
	if c != nil && c.mean > 0 && a.trace.usage.total.syncs[slices.Index(iosample.Classes, class)] > 0 {
		return &SyncLatency{Mean: seconds(c.mean)}
	}
	return nil
}

// warnTrace says what limits the figures that a trace is for.
func (a *Analyzer) warnTrace(r *Result, contradiction string, add func(string, int64, parser.Pos, string, ...any)) {
	tr, u := a.trace, &a.trace.usage
	start := parser.Pos{}
	if contradiction != "" {
		add("trace-contradicts-log", 1, start, "trace and log are not of one load: %s; syncs are given as counted, and nothing is concluded from both", contradiction)
	}
	if n := a.uncovered; n > 0 && contradiction == "" {
		add("trace-covers-part", n, start, "transactions that were written before the trace began, or after it ended, are not reported")
	}
	if u.total.lost > 0 {
		add("trace-lost-events", u.total.lost, start, "syncs were lost, since they came faster than they were read: groups that share a lost sync look like one")
	}
	add("trace-gaps", u.gaps, start, "samples that syncs may be missing from: %s", u.firstGap)
	add("trace-restarts", u.restarts, start, "the server was restarted while it was traced")
	add("trace-clock-stepped", u.steps, start, "the wall clock of the host was set while the trace was taken: times of syncs are off after that; they are joined by position, which it does not touch")
	for _, name := range slices.Sorted(maps.Keys(u.changed)) {
		add("trace-setting-changed", 1, start, "%s was set to %s while the trace was taken: what follows from its value is not shown, and estimates go by what it was before", name, u.changed[name])
	}
	if contradiction != "" {
		return
	}
	if tr.byTime {
		add("trace-by-clock", 1, start, "the trace has no positions in the log: it was joined by the clock, which is off by as much as the clocks of the two hosts, and by a sample; times of event headers are whole seconds besides")
	}
	why := "sync_binlog is not 1"
	if u.lost > 0 {
		why = "syncs between them were lost"
	}
	add("syncs-cover-groups", a.traced.split, a.traced.firstSplit, "transactions were made durable by one sync with others that they are proven not to have shared a group with: %s, and groups are estimated", why)
	add("trace-loose-intervals", tr.loose, start, "transactions are in intervals of the trace whose syncs are not all known or not all theirs: of rotations, gaps, and where the filters begin and end; groups there are estimated")
	if n := a.given.SyncBinlog; n != nil && tr.header.Settings["sync_binlog"] != "" && tr.header.Settings["sync_binlog"] != strconv.FormatInt(*n, 10) {
		add("sync-binlog-differs", 1, start, "sync_binlog=%d was given, but the server said %s when the trace was taken; figures go by what was given", *n, tr.header.Settings["sync_binlog"])
	}
	if a.flavor == parser.MariaDB && tr.events {
		if n, _, ok := a.settings.syncBinlog(nil); ok && n == 1 {
			add("syncs-unlike-commit-ids", a.traced.unlike, a.traced.firstUnlike, "transactions where the traced syncs and the commit ids have groups begin differently; the groups are those of the commit ids")
		}
	}
	switch g := r.Groups.Sync; {
	case g == nil || g.Method != FsyncCount:
	case g.Size == nil:
		add("sizes-unknown", 1, start, "more transactions were written between two samples than are estimated together: their number of groups is known, their sizes are not")
	default:
		add("sizes-fitted", 1, start, "the number of sync groups is that of the syncs that were counted; which transactions shared one, and so the sizes, is estimated so as to agree with it")
	}
}
