package analysis

import (
	"maps"
	"math"
	"slices"

	"bgcstat/parser"
	"bgcstat/parser/iosample"
)

// Analyzer folds the transactions of one server's logs into a Result.
// It is not safe for concurrent use.
type Analyzer struct {
	filter   Filter
	settings Settings

	commitIDs     commitIDs
	prover        prover
	bound         bound
	estimator     estimator
	tracker       tracker
	serial        serial
	flush, sync   tally        // of the estimator
	inSync        flushPerSync // of the estimator
	inTraced      flushPerSync // of the estimator's flush groups and the traced sync groups
	lastCommitted lastCommitted
	clock         clock
	rates         rates
	parents       parents
	sizes         *sizes
	durations     durations
	tables        tables
	alone         alone
	trace         *trace // nil for none
	traced        traced
	interval      span     // of the mark of the trace that the last transaction was in
	given         Settings // without those of the trace
	varied        []string // settings that changed meanwhile
	contradicted  string   // why the trace is of another load
	exact         bool     // the traced groups are the sync groups

	flavor       parser.Flavor
	transactions int64 // reported
	events       int64
	bytes        int64
	unfinished   int64 // reported, with terminator none
	uncovered    int64 // would be reported, were they in the trace
	parted       bool  // what the trace does not cover is reported from now on
	outside      int64 // transactions that are reported so
}

// New gives an Analyzer for the logs of one server.
func New(f Filter, s Settings) *Analyzer {
	a := &Analyzer{filter: f, settings: s, prover: prover{noSessions: s.NoSessionBound}, sizes: newSizes()}
	a.estimator = estimator{settings: s, emit: a.grouped}
	return a
}

// Add takes the next transaction in log order. It keeps nothing of t.
func (a *Analyzer) Add(t *parser.Txn) {
	chosen := a.filter.Match(t)
	a.flavor = t.Log.Flavor
	begun, proof := false, false
	grouped := t.Terminator != parser.TerminatorNone // else in no group
	var f *facts
	if grouped && a.flavor != parser.MariaDB {
		f = a.prover.of(t)
	}
	var m *mark // that made t durable
	if grouped && a.trace != nil {
		wanted := chosen
		if m, chosen = a.join(t, f, chosen); wanted && !chosen {
			a.uncovered++
		}
	}
	if a.flavor != parser.MariaDB {
		a.lastCommitted.add(t, chosen)
		a.serial.add(t, chosen)
	}
	switch {
	case !grouped:
	case a.flavor == parser.MariaDB:
		if begun = a.commitIDs.add(t, chosen); begun {
			a.commitIDs.tally.at = t.Time()
		}
		if m != nil && a.trace.events {
			if begins, _ := a.traced.add(m, t, nil, chosen); begins != a.commitIDs.began {
				if a.traced.unlike++; a.traced.unlike == 1 {
					a.traced.firstUnlike = t.Pos()
				}
			}
		}
	default:
		a.bound.add(t, f, chosen)
		sync := syncUnknown
		if m != nil && a.trace.events {
			var begins bool
			sync = syncGoesOn
			if begins, begun = a.traced.add(m, t, f, chosen); begins {
				sync = syncBegins
			}
			if begun {
				a.traced.tally.at = t.Time()
			}
		}
		a.estimator.add(t, f, chosen, sync)
		proof = a.tracker.add(t, f)
	}
	a.clock.add(t, chosen)
	if !chosen {
		return
	}
	a.transactions++
	a.events += int64(t.Events)
	a.bytes += t.Size()
	if t.Terminator == parser.TerminatorNone {
		a.unfinished++
	}
	a.rates.add(t, begun)
	a.parents.add(t, proof)
	a.sizes.add(t)
	a.durations.add(t)
	a.tables.add(t)
	a.alone.add(t)
}

// Vary says that these of the server's variables changed while the transactions
// were written: Result does not go by them.
func (a *Analyzer) Vary(names ...string) { a.varied = append(a.varied, names...) }

// Result gives the figures of all that was added. logs are the logs that it
// came from, read to their ends, in log order. It ends the Analyzer's use.
func (a *Analyzer) Result(logs []*parser.Log) *Result {
	r := &Result{
		SchemaVersion: SchemaVersion,
		Sources:       sources(logs),
		Window:        a.rates.window(),
		Transactions:  a.transactions, Events: a.events, Bytes: a.bytes,
		Clock:               a.clock.result(),
		Sizes:               a.sizes.result(),
		Durations:           a.durations.result(),
		Parents:             a.parents.result(),
		SerializationPoints: a.serial.result(),
		Tables:              a.tables.result(),
		Filters:             a.filter.Given,
		UnknownEvents:       unknownEvents(logs),
		Warnings:            []Warning{},
	}
	main := mainLog(logs)
	if main != nil {
		r.DependencyTracking = modeOf(logs)
		r.DependencyTracking.Stretches = a.tracker.result()
	} else {
		r.DependencyTracking = DependencyTracking{ServerMode: ModeUnknown, From: "unknown"}
	}
	a.settings.vary(a.varied)
	a.given.vary(a.varied)
	if a.trace != nil {
		a.trace.finish(logs)
		a.settings.vary(slices.Sorted(maps.Keys(a.trace.usage.changed)))
		if main != nil {
			a.contradicted = a.contradiction(main)
		}
		if a.contradicted != "" {
			a.settings = a.given // the trace's may be of another server
		}
		a.exact = a.contradicted == "" && a.exactGroups(logs)
	}
	var fromLog *GroupStats
	r.Groups, fromLog = a.groups(logs)
	if g := r.Groups.Sync; g != nil && g.Basis == Exact && damaged(logs) {
		g.Basis = Estimated // what was left out may have been of these groups
	}
	a.groupDetails(&r.Groups)
	r.Rates = a.rates.result()
	a.warn(r, logs, main)
	if a.trace != nil {
		r.IO = a.io(a.contradicted != "")
		if r.IO.Syncs != nil {
			r.IO.LatencyOverTime = a.trace.latencyOverTime.result(false, 1e-6)
		}
		a.warnTrace(r, a.contradicted, func(code string, count int64, at parser.Pos, format string, args ...any) {
			addWarning(r, code, count, at, format, args...)
		})
		if mode := a.trace.header.Settings["binlog_transaction_dependency_tracking"]; mode != "" && a.contradicted == "" {
			r.DependencyTracking.ServerMode, r.DependencyTracking.From = mode, "settings"
		}
	}
	r.Alone = a.aloneIn(r)
	if g := r.Groups.Sync; g != nil && main != nil && !main.Relay && !a.filter.ofSome() {
		n, from, ok := a.settings.syncBinlog(logs)
		// What the trace refutes is not assumed.
		if ok && (n != 1 || a.traced.split == 0 || a.trace.usage.lost > 0) {
			r.Saved = saved(n, from, a.settings, g, a.inGroups(g))
			a.savedMeasured(r, n, fromLog)
		}
	}
	return r
}

// savedMeasured puts what the trace counted in the place of what follows from
// the groups.
func (a *Analyzer) savedMeasured(r *Result, n int64, fromLog *GroupStats) {
	if r.IO == nil || r.IO.BinlogSyncsDurable == nil || n == 0 {
		return
	}
	r.Saved.Binlog.measure(n, *r.IO.BinlogSyncsDurable, r.IO.Lost, r.Groups.Sync, fromLog)
	redo, ok := r.IO.Syncs[string(iosample.Redo)]
	if f := a.settings.FlushLogAtTrxCommit; ok && redo.Exactness == string(iosample.Exact) && f != nil && *f == 1 {
		r.Saved.Redo = savedRedo(a.trace.joined, redo.Count)
	}
}

// grouped takes transactions whose groups have been estimated.
func (a *Analyzer) grouped(ms []member) {
	for i := range ms {
		m := &ms[i]
		a.flush.add(m.newFlush, m.chosen)
		a.inSync.add(m.newFlush, m.newSync, m.chosen)
		if m.traced != syncUnknown {
			a.inTraced.add(m.newFlush, m.traced == syncBegins, m.chosen)
		}
		if a.sync.add(m.newSync, m.chosen) {
			a.sync.at = m.time
			if a.trace == nil || !a.trace.events {
				a.rates.begin(m.time)
			}
		}
	}
}

// groupDetails gives what is known beside of the groups that were chosen for
// the answer.
func (a *Analyzer) groupDetails(g *Groups) {
	if g.Sync == nil || g.Sync.Size == nil {
		return
	}
	groups, inSync := &a.sync, &a.inSync
	switch {
	case a.flavor == parser.MariaDB: // each flush group is a sync group
		groups, inSync = &a.commitIDs.tally, nil
	case a.exact:
		groups, inSync = &a.traced.tally, &a.inTraced
	case a.estimator.off: // each is proven to be alone
		groups = &tally{}
	}
	g.SizeOverTime = groups.heat.result(a.rates.coarse(), 1)
	switch {
	case inSync == nil || g.Flush == nil:
	case a.estimator.off:
		if g.Flush == g.Sync {
			g.FlushPerSync = newFlushPerSync(g.Sync.Histogram, g)
		}
	default:
		g.FlushPerSync = newFlushPerSync(inSync.bins(), g)
	}
}

// groups gives the figures on groups, and those on sync groups that the log
// alone has.
func (a *Analyzer) groups(logs []*parser.Log) (g Groups, fromLog *GroupStats) {
	g = a.groupsOfLog()
	fromLog = g.Sync
	if a.trace == nil || a.contradicted != "" || fromLog == nil || a.flavor == parser.MariaDB {
		return g, fromLog
	}
	if a.exact {
		t := &a.traced.tally
		t.close()
		g.Sync = t.stats(t.groups, t.groups, Exact, Traced)
		a.rates.groups = true
		return g, fromLog
	}
	tr := a.trace
	n, _, ok := a.settings.syncBinlog(logs)
	if !ok || n != 1 || tr.events || tr.durable == 0 || !tr.usage.counting(tr.header) || a.filter.ofSome() {
		return g, fromLog
	}
	if fromLog.Basis == Bounded && fromLog.Count != nil { // each is proven to be alone
		return g, fromLog
	}
	g.Sync = a.counted(fromLog, g.Bound)
	return g, a.unfitted(fromLog, g.Bound)
}

// counted describes the sync groups by the syncs that were counted. Where some
// intervals are loose it is the estimate, which agrees with the counts of the
// others.
func (a *Analyzer) counted(fitted *GroupStats, b *Bound) *GroupStats {
	tr := a.trace
	within := func(n int64) *int64 { return new(min(max(n, b.Lower), b.Upper)) }
	g := *fitted
	g.Method = FsyncCount
	g.Basis, g.Count = Measured, within(tr.durable)
	g.Low, g.High = *within(tr.durable - a.slack()), *within(tr.durable + a.slack())
	if tr.loose > 0 {
		g.Basis, g.Count = Estimated, fitted.Count
		g.Low, g.High = *within(tr.durable), *within(tr.durable + tr.loose)
		if g.Count != nil {
			g.Low, g.High = min(g.Low, *g.Count), max(g.High, *g.Count)
		}
	}
	// The sizes are of groups that were fitted, which cannot always be done.
	if s := g.Size; s != nil && g.Basis == Measured {
		groups := int64(0)
		for _, bin := range g.Histogram {
			groups += bin.Groups
		}
		if off := groups - *g.Count; fitted.Basis == Estimated && 20*max(off, -off) > *g.Count+40 {
			g.Size, g.Histogram = nil, nil
		} else {
			size := *s
			size.Mean = float64(tr.marked) / float64(*g.Count)
			g.Size = &size
		}
	}
	return &g
}

// unfitted is the estimate as it was before it was made to agree with counts.
func (a *Analyzer) unfitted(fitted *GroupStats, b *Bound) *GroupStats {
	if fitted.Basis != Estimated {
		return fitted
	}
	t := &a.estimator.unfit
	t.close()
	low, high := part(t, a.estimator.low, *b), part(t, a.estimator.high, *b)
	return &GroupStats{Count: &t.groups, Low: min(low, t.groups), High: max(high, t.groups), Basis: fitted.Basis, Method: fitted.Method}
}

// groupsOfLog gives the figures on groups that the log alone has.
func (a *Analyzer) groupsOfLog() Groups {
	var g Groups
	if a.flavor == parser.MariaDB {
		t := &a.commitIDs.tally
		t.close()
		if n := t.groups; n > 0 {
			g.Sync = t.stats(n, n, Exact, CommitID)
			g.Bound = &Bound{n, n}
			a.rates.groups = true
		}
		return g
	}
	g.LastCommitted = a.lastCommitted.result()
	b := &a.bound
	if b.members == 0 {
		return g
	}
	g.Bound = &Bound{b.lower, b.members}
	g.Sync = &GroupStats{Low: b.lower, High: b.members, Basis: Bounded, Method: Constraints}
	a.estimator.end()
	if !a.estimator.off {
		g.Sync, g.Flush = a.estimated(*g.Bound)
		a.rates.groups = a.trace == nil || !a.trace.events
	}
	if b.lower == b.members && b.members == b.all { // each alone, which is proven
		bins := []HistogramBin{{1, b.members}}
		g.Sync = &GroupStats{
			Count: &b.members, Low: b.lower, High: b.members, Basis: Bounded, Method: Constraints,
			Size: groupSize(bins), Histogram: bins,
		}
		g.Flush = g.Sync // no two can have shared a flush that did not share a sync
	}
	return g
}

// estimated describes the estimator's groups, within what is proven.
func (a *Analyzer) estimated(b Bound) (sync, flush *GroupStats) {
	a.sync.close()
	a.flush.close()
	low, high := part(&a.sync, a.estimator.low, b), part(&a.sync, a.estimator.high, b)
	sync = a.sync.stats(min(low, a.sync.groups), max(high, a.sync.groups), Estimated, a.estimator.method())
	n := float64(a.flush.groups)
	low, high = int64(math.Cbrt(n*n*float64(b.Lower))), part(&a.flush, a.estimator.flushHigh, b)
	flush = a.flush.stats(min(max(low, b.Lower, sync.Low), a.flush.groups), max(high, a.flush.groups), Estimated, CommitTimestamps)
	return sync, flush
}

// part is what is left of a limit on the number of all groups for those that are
// reported: as wide an interval in proportion.
func part(t *tally, limit float64, b Bound) int64 {
	n := int64(math.Round(limit * float64(t.groups) / float64(t.all)))
	return min(max(n, b.Lower), b.Upper)
}

// inGroups is the number of transactions in the groups that g counts. Where
// their sizes are known, that is all of their members, also those that the
// window cuts off, since it is with these that they shared a sync.
func (a *Analyzer) inGroups(g *GroupStats) int64 {
	if g.Size == nil {
		return a.transactions - a.unfinished
	}
	n := int64(0)
	for _, b := range g.Histogram {
		n += b.Size * b.Groups
	}
	return n
}

// damaged reports whether transactions may be missing from the logs.
func damaged(logs []*parser.Log) bool {
	return slices.ContainsFunc(logs, func(l *parser.Log) bool { return l.Damaged > 0 })
}

// mainLog is the log that stands for all where one version must: the last one
// that says anything.
func mainLog(logs []*parser.Log) *parser.Log {
	for _, l := range slices.Backward(logs) {
		if l.Flavor != 0 {
			return l
		}
	}
	return nil
}

func sources(logs []*parser.Log) []Source {
	out := make([]Source, len(logs))
	for i, l := range logs {
		s := Source{File: l.Name, Bytes: l.Bytes, Events: l.Events, Transactions: l.Transactions, Open: l.Open(), Complete: l.Complete()}
		if l.Flavor != 0 {
			s.Flavor, s.ServerVersion, s.ServerID, s.Kind = l.Flavor.String(), l.ServerVersion, l.ServerID, l.Kind().String()
		}
		if l.Err != nil {
			s.Error = l.Err.Error()
		}
		out[i] = s
	}
	return out
}

func unknownEvents(logs []*parser.Log) []UnknownEvents {
	counts := make(map[parser.EventType]int64)
	for _, l := range logs {
		for typ, n := range l.Unknown {
			counts[typ] += n
		}
	}
	var out []UnknownEvents
	for _, typ := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, UnknownEvents{int(typ), counts[typ]})
	}
	return out
}
