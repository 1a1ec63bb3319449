package analysis

import (
	"maps"

	"bgcstat/parser"
)

// Live is what an Analyzer has so far, while transactions are still added: sums
// since the first one, to be shown as they grow.
type Live struct {
	Transactions int64         // reported
	Bytes        int64         // of them in the log
	Time         parser.Micros // of the last transaction; 0 where there was none
	// Sync are the sync groups, Flush the flush groups; nil where they are not
	// known, as without commit times. Groups that are not complete yet are left
	// out.
	Sync, Flush *LiveGroups
	// Lower and Upper are the proven limits on the number of sync groups; in
	// MariaDB, whose groups are exact, both are their number.
	Lower, Upper int64
	// LastCommittedRuns are the groups of the popular recipe, by runs.
	LastCommittedRuns int64
	// Observed is the dependency tracking that the log last showed, "" where
	// there is none to be seen yet.
	Observed  Observed
	Certainty Certainty
}

// LiveGroups are the groups so far. What is estimated may still change by the
// transactions of the last seconds, of at most 8,192, so that a number may also
// be a little lower than before.
type LiveGroups struct {
	Count        int64
	Transactions int64 // in them
	Sizes        []HistogramBin
	Basis        Basis
	Method       Method
}

// Live gives the figures so far. idle says that nothing was written for longer
// than a group takes, so that the last one is complete. It may also be called
// by the function that Join was given, while Add waits for that: the
// transaction is left out then.
func (a *Analyzer) Live(idle bool) Live {
	l := Live{
		Transactions: a.transactions, Bytes: a.bytes, Time: a.rates.end,
		LastCommittedRuns: a.lastCommitted.runs,
	}
	if a.flavor == parser.MariaDB {
		l.Sync = a.commitIDs.tally.soFar(idle).live(Exact, CommitID)
		l.Lower, l.Upper = l.Sync.Count, l.Sync.Count
		return l
	}
	l.Lower, l.Upper = a.bound.lower, a.bound.members
	l.Observed, l.Certainty = a.tracker.soFar()
	sync, flush := a.estimatedSoFar(idle)
	l.Sync, l.Flush = sync, flush
	if tr := a.trace; tr != nil && tr.events && a.outside == 0 && a.traced.tally.all > 0 && a.traced.split == 0 && tr.usage.lost == 0 {
		if n := a.settings.SyncBinlog; n != nil && *n == 1 {
			l.Sync = a.traced.tally.soFar(idle).live(Exact, Traced)
		}
	}
	return l
}

// estimatedSoFar gives the estimate of what is complete and, as it looks now,
// of the transactions that wait for their chunk to be full.
func (a *Analyzer) estimatedSoFar(idle bool) (sync, flush *LiveGroups) {
	e := &a.estimator
	if e.off || e.equalTimes() || a.bound.members == 0 {
		return nil, nil
	}
	s, f := a.sync.soFar(false), a.flush.soFar(false)
	if len(e.members) > 0 {
		// This writes to the members only what the chunk's own estimate will
		// write again.
		e.work.run(e.members, len(e.members), e.settings)
		if e.fitting {
			e.work.fit(e.members, e.marks, e.cutOpen, !idle)
		}
		for i := range e.members {
			m := &e.members[i]
			f.add(m.newFlush, m.chosen)
			s.add(m.newSync, m.chosen)
		}
	}
	if idle {
		s.close()
		f.close()
	}
	return s.live(Estimated, e.method()), f.live(Estimated, CommitTimestamps)
}

// soFar is a copy of the groups, with the open one ended if that is complete.
func (t *tally) soFar(complete bool) *tally {
	c := &tally{groups: t.groups, all: t.all, sizes: t.sizes, size: t.size, chosen: t.chosen}
	c.sizes.large = maps.Clone(t.sizes.large)
	if complete {
		c.close()
	}
	return c
}

// live describes the groups that are complete.
func (t *tally) live(basis Basis, method Method) *LiveGroups {
	g := &LiveGroups{Count: t.groups, Sizes: t.sizes.bins(), Basis: basis, Method: method}
	for _, b := range g.Sizes {
		g.Transactions += b.Size * b.Groups
	}
	return g
}

// soFar is what the last window that was full showed, or else what the first
// one shows as yet.
func (k *tracker) soFar() (Observed, Certainty) {
	s := Stretch{}
	switch {
	case len(k.done) > 0:
		s = k.done[len(k.done)-1]
	case k.window.n > 0:
		s = k.window.judge()
	}
	return s.Observed, s.Certainty
}
