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
			g.span.begin(f)
		}
		g.span.add(t)
	}
	return begins, g.tally.add(begins, chosen)
}

// Join has the trace of header joined to the transactions that are added from
// now on; it is called before the first. next gives the trace's intervals, nil
// at its end. Only transactions of the stretch that the trace covers are
// reported. Settings of the server that the trace holds are taken where none
// were given.
func (a *Analyzer) Join(header *iosample.Header, next func() *iosample.Interval) {
	a.trace = newTrace(header, next)
	a.settings = a.settings.with(header.Settings)
	a.estimator.settings = a.settings
}

// join looks for the sync of t, and reports whether the trace covers it.
func (a *Analyzer) join(t *parser.Txn, chosen bool) (*mark, bool) {
	m, covered := a.trace.of(t)
	chosen = chosen && covered
	if m != nil {
		a.trace.take(m, t, chosen)
	} else if chosen {
		a.trace.unsynced++
	}
	a.estimator.fit(a.trace, m, a.settings)
	return m, chosen
}

// contradiction says why log and trace cannot be of one load, "" where nothing
// speaks against it.
func (a *Analyzer) contradiction(main *parser.Log) string {
	tr := a.trace
	if tr.joined == 0 && tr.unsynced == 0 {
		switch {
		case tr.no == 0:
			return "the trace has no samples of a binlog"
		case tr.otherNames > 0:
			return fmt.Sprintf("the trace is of logs of other names than %s", main.Name)
		case tr.floor != nil && !tr.byTime:
			return fmt.Sprintf("they do not overlap: the trace begins at position %d of a log numbered %06d", tr.floor.size-tr.margin, tr.floor.log.number)
		default:
			return "they do not overlap"
		}
	}
	if id, err := strconv.ParseUint(tr.header.Settings["server_id"], 10, 32); err == nil && main.ServerID != 0 && uint32(id) != main.ServerID {
		return fmt.Sprintf("the trace is of server_id %d, the log of %d", id, main.ServerID)
	}
	if tr.madeSyncs >= 10 && 2*tr.exactEnds < tr.madeSyncs {
		return fmt.Sprintf("of %d syncs only %d ended with a transaction, as nearly all do", tr.madeSyncs, tr.exactEnds)
	}
	if d := tr.tooLate.usual(); d > time.Minute {
		return fmt.Sprintf("syncs and the commits they made durable are %v apart by their clocks", d.Round(time.Second))
	}
	if !tr.events && tr.usage.counting(tr.header) {
		slack := 2 + a.slack()
		if groups := a.inMarks(); tr.durable > groups+slack {
			return fmt.Sprintf("%d binlog syncs were counted while %d transactions were written, which need one each at most", tr.durable, groups)
		}
		if n, _, ok := a.settings.syncBinlog([]*parser.Log{main}); ok && n == 1 && tr.durable+slack < a.lowerBound() {
			return fmt.Sprintf("%d binlog syncs were counted, but at least %d sync groups are proven: sync_binlog is not 1, or the trace is of another server", tr.durable, a.lowerBound())
		}
	}
	return ""
}

// slack is how far counts of syncs may be off, beside those at either end.
func (a *Analyzer) slack() int64 {
	if n := a.trace.usage.adopted; n > 0 {
		return n
	}
	if c := a.trace.usage.byClass[iosample.Binlog]; c != nil && c.exactness != iosample.Exact {
		return a.trace.durable / 50
	}
	return 0
}

// inMarks is how many transactions were written while syncs were counted.
func (a *Analyzer) inMarks() int64 { return a.trace.marked }

// lowerBound is the fewest sync groups that are proven.
func (a *Analyzer) lowerBound() int64 {
	if a.flavor == parser.MariaDB {
		return a.commitIDs.tally.groups
	}
	return a.bound.lower
}

// exactGroups reports whether the traced groups are the sync groups: at
// sync_binlog=1, with nothing lost, and nothing proven to be apart in one.
func (a *Analyzer) exactGroups(logs []*parser.Log) bool {
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
			missing := u.total.lost > 0 || class == iosample.Binlog && u.adopted > 0
			if exactness == iosample.Exact && missing {
				exactness = iosample.LowerBound
			}
			out.Syncs[string(class)] = Syncs{Count: n, Exactness: string(exactness), Latency: a.latency(class, c)}
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
	}

	// 3. What needs both.
	if contradicted || out.Syncs == nil {
		return out
	}
	out.BinlogSyncsDurable = new(tr.durable)
	if tr.durable > 0 {
		out.TransactionsPerBinlogSync = new(float64(tr.joined) / float64(tr.durable))
	}
	if tr.events {
		out.DurableByNoneYet = new(tr.unsynced)
	}
	return out
}

func (a *Analyzer) latency(class iosample.Class, c *classUsage) *SyncLatency {
	seconds := func(ns int64) *float64 { return new(float64(ns) / 1e9) }
	if l := a.trace.bySize.all; class == iosample.Binlog && l != nil {
		return &SyncLatency{P50: seconds(l.ValueAtQuantile(50)), P99: seconds(l.ValueAtQuantile(99))}
	}
	i := slices.IndexFunc(a.trace.usage.latency, func(l iosample.Latency) bool { return l.Class == class && l.Count > 0 })
	if i >= 0 {
		l := a.trace.usage.latency[i]
		return &SyncLatency{P50: seconds(l.P50), P99: seconds(l.P99)}
	}
	if c != nil && c.mean > 0 {
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
		add("trace-setting-changed", 1, start, "%s was set to %s while the trace was taken; figures go by what it was before", name, u.changed[name])
	}
	if contradiction != "" {
		return
	}
	if tr.byTime {
		add("trace-by-clock", 1, start, "the trace has no positions in the log: it was joined by the clock, which is off by as much as the clocks of the two hosts, and by a sample")
	}
	if a.traced.split > 0 {
		add("syncs-cover-groups", a.traced.split, a.traced.firstSplit, "transactions were made durable by one sync with others that they are proven not to have shared a group with: sync_binlog is not 1, and groups are estimated")
	}
	if a.flavor == parser.MariaDB && tr.events {
		if n, _, ok := a.settings.syncBinlog(nil); ok && n == 1 {
			add("syncs-unlike-commit-ids", a.traced.unlike, a.traced.firstUnlike, "transactions where the traced syncs and the commit ids have groups begin differently; the groups are those of the commit ids")
		}
	}
	if g := r.Groups.Sync; g != nil && g.Method == FsyncCount {
		add("sizes-fitted", 1, start, "the number of sync groups is that of the syncs that were counted; which transactions shared one, and so the sizes, is estimated so as to agree with it")
	}
}
