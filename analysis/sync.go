package analysis

import "math"

// work estimates the groups of one chunk. Between chunks it holds memory for
// reuse only, and the results of the last one.
//
// Times are float64, in microseconds since the first member's commit time.
type work struct {
	gaps   []int64 // before each member, corrected for the size of the one before
	groups []flushGroup
	of     []int32 // flush group of each member
	syncOf []int32 // sync group of each flush group
	ends   []float64
	pairs  []pair
	bursts []int32 // first member of each
	waits  []int64 // between arrivals, before each member

	enough    int64 // transactions that end a wait, 0 for no such number
	regime    regime
	arrivals  bool    // sync groups are told by when they came
	byTimes   int     // sync groups that commit times alone tell, where arrivals is set
	untold    bool    // whether flush groups merge cannot be told: no sessions come back
	syncs     int     // sync groups in the chunk
	fewest    float64 // sync groups that the proven intervals allow
	low, high float64 // limits on the number of sync groups in the chunk
	flushHigh float64 // and on that of flush groups
}

// flushGroup is a run of members that one leader wrote.
type flushGroup struct {
	from, to   int32 // members [from, to)
	start, end float64
	gap        float64 // before it
	before     int32   // the last flush group with a member proven to be synced before one of this; -1
	fresh      bool    // its last_committed goes beyond that of all groups of the file before
	forced     bool    // a file begins
	back       float64 // when the flush group with the first of its sessions to be back began; +Inf for none
	synced     float64 // by when it had been synced for sure, whichever session shows it; +Inf where none does
	meanReturn float64 // the mean over all of its sessions that were back
	returns    int32   // their number
}

// pair is two neighbouring flush groups that may be of one sync group.
type pair struct {
	apart    float64 // time between their ends
	returned float64 // time between the mean returns of their sessions
}

// regime is how flush groups merge into sync groups.
type regime uint8

const (
	// paced: the redo fsync in each flush group sets the pace. A group merges
	// with the one before only while a slow sync is under way.
	paced regime = iota
	// delayed: sync leaders wait for more (binlog_group_commit_sync_delay, or
	// what else holds a sync up), so that most flush groups merge.
	delayed
	// unpaced: flush groups without redo fsync come faster than syncs.
	unpaced
	nRegimes
)

// run estimates the groups of ms[:n]; the members behind only tell when
// sessions were back.
func (w *work) run(ms []member, n int, s Settings) {
	// 1. Flush groups: a gap longer than the threshold, or a proven boundary.
	w.measureGaps(ms[:n])
	threshold := splitGaps(w.gaps[1:n])
	for i := range n {
		ms[i].newSync = false
		ms[i].newFlush = i == 0 || ms[i].first || w.gaps[i] > threshold
	}
	w.splitFlushes(ms[:n])

	// 2. Without those that a preempted leader tore apart.
	w.form(ms, n)
	usual := w.usualGap()
	torn := false
	for j := 1; j < len(w.groups); j++ {
		if w.looksMerged(j, usual/4) && !w.groups[j].fresh {
			ms[w.groups[j].from].newFlush = false
			torn = true
		}
	}
	if torn {
		w.splitFlushes(ms[:n])
		w.form(ms, n)
	}

	// 3. Sync groups: the flush groups, merged as the regime has it.
	w.merge(ms[:n], usual, s)
	for j := range w.groups {
		ms[w.groups[j].from].newSync = j == 0 || w.groups[j].forced || w.syncOf[j] != w.syncOf[j-1]
	}
	w.arrivals = w.byArrivals(ms[:n], s)
	w.splitSyncs(ms[:n])
	w.limit(n, s)
}

// measureGaps takes the size of the transaction before off each gap: the
// leader copied that one in it. A clock that steps back is a gap as long.
func (w *work) measureGaps(ms []member) {
	w.gaps = append(w.gaps[:0], 0)
	for i := 1; i < len(ms); i++ {
		gap := int64(ms[i].time - ms[i-1].time)
		if gap < 0 {
			gap = -gap
		}
		w.gaps = append(w.gaps, max(gap-ms[i-1].size/copyRate, 0))
	}
}

// splitFlushes divides each flush group that holds both ends of an interval in
// which a boundary is proven, at the longest gap of the interval.
func (w *work) splitFlushes(ms []member) {
	start := int32(0)
	for i := range ms {
		m := &ms[i]
		if m.newFlush {
			start = int32(i)
		}
		if m.before < start {
			continue
		}
		at := m.before + 1
		for k := at; k <= int32(i); k++ {
			if w.gaps[k] >= w.gaps[at] {
				at = k
			}
		}
		ms[at].newFlush = true
		start = at
	}
}

// form gathers the flush groups of ms[:n].
func (w *work) form(ms []member, n int) {
	w.groups, w.of = w.groups[:0], w.of[:0]
	zero := ms[0].time
	at := func(i int32) float64 { return float64(ms[i].time - zero) }
	// 1. The groups, and what their members say of the groups before.
	highest, returning := int64(0), false
	var g *flushGroup
	for i := range ms[:n] {
		m := &ms[i]
		if m.newFlush {
			if m.first {
				highest = 0
			}
			w.groups = append(w.groups, flushGroup{
				from: int32(i), forced: m.first, start: at(int32(i)), gap: float64(w.gaps[i]),
				before: -1, back: math.Inf(1), synced: math.Inf(1),
			})
			g = &w.groups[len(w.groups)-1]
		}
		g.to = int32(i) + 1
		if m.last > highest {
			highest, g.fresh = m.last, true
		}
		if m.before >= 0 {
			g.before = max(g.before, w.of[m.before])
		}
		returning = returning || m.returns >= 0
		w.of = append(w.of, int32(len(w.groups)-1))
	}
	// 2. When sessions were back.
	for j := range w.groups {
		g := &w.groups[j]
		g.end = at(g.to - 1)
		if g.before >= 0 {
			a := &w.groups[g.before]
			a.synced = min(a.synced, g.start)
		}
		if !returning {
			continue
		}
		sum := 0.0
		for i := g.from; i < g.to; i++ {
			r := ms[i].returns
			if r < 0 {
				continue
			}
			back := 0.0
			if int(r) < n {
				back = w.groups[w.of[r]].start
			} else {
				back = at(r)
			}
			g.back = min(g.back, back)
			g.returns++
			sum += back
		}
		if g.returns > 0 {
			g.meanReturn = sum / float64(g.returns)
		}
	}
	for j := len(w.groups) - 2; j >= 0; j-- { // syncs end in order
		w.groups[j].synced = min(w.groups[j].synced, w.groups[j+1].synced)
	}
}

// usualGap is the median of the gaps before flush groups.
func (w *work) usualGap() float64 { return w.gapRank(0.5) }

// gapRank is the gap that a share p of the flush groups do not exceed, to an
// eighth of an octave.
func (w *work) gapRank(p float64) float64 {
	var count [gapBins]int
	n := 0
	for j := 1; j < len(w.groups); j++ {
		if !w.groups[j].forced {
			count[gapBin(int64(w.groups[j].gap))]++
			n++
		}
	}
	if n == 0 {
		return slowestWithin
	}
	return binMiddle(binRank(&count, p))
}

// looksMerged reports whether flush group j and the one before it look as if
// one sync had released both: a gap below limit, a session of j back as early
// as the first of the other, and none of j's sessions from the group just
// before the other, whose sync had then ended between the two.
func (w *work) looksMerged(j int, limit float64) bool {
	a, b := &w.groups[j-1], &w.groups[j]
	return !b.forced && b.gap < limit && int(b.before) < j-2 &&
		b.back <= a.back && b.returns > 0
}

// merge tells the regime, by the settings where they are known, and merges
// flush groups into sync groups as it has them merge.
//
// What shows that they do is when sessions come back. Take two neighbouring
// flush groups between which nothing is proven. If each was synced by itself,
// the sessions of the second are back later by about as much as it was flushed
// later; if one sync released both, they are back together. The ratio of the
// two times is near 1 and near 0.
//
// Where most flush groups merge, either sync leaders wait or syncs are slower
// than flush groups come. A delay that is long enough to do so is long enough
// for every session that commits to be back in each sync, so that there are
// hardly more syncs than the fewest that are proven.
func (w *work) merge(ms []member, usual float64, s Settings) {
	w.regime = paced
	ratio, ok := w.returnRatio(ms)
	most := 0.6
	f := s.FlushLogAtTrxCommit
	redo := f != nil && *f == 1
	if f != nil && *f != 1 {
		most = 0.85 // nothing sets the pace: it takes less to show that they merge
	}
	many := ok && ratio < most
	w.untold = !ok && (s.SyncDelay == nil || f == nil)
	switch d := s.SyncDelay; {
	case d != nil && *d > 0:
		w.regime = delayed
	case d != nil && many && !redo:
		w.regime = unpaced
	case d == nil && many:
		w.regime = delayed
	}
	if w.regime == delayed {
		w.mergeDelayed(ms, s)
		if s.SyncDelay != nil || float64(len(w.ends)) <= 1.125*w.fewest {
			return
		}
		w.regime = unpaced
	}
	if w.regime == unpaced {
		w.mergeUnpaced(ms)
		return
	}
	w.mergePaced(usual)
}

// returnRatio is the ratio that merge goes by, of the pairs whose flush groups
// are neither unusually near nor unusually far apart: the mean of the middle
// fifth of their times between returns, over the usual time between their ends.
// ok is whether there are enough pairs for it.
//
// On the way it counts the fewest groups that are proven, by the greedy scan of
// bound.
func (w *work) returnRatio(ms []member) (ratio float64, ok bool) {
	// 1. The pairs, and how far they are apart.
	w.pairs = w.pairs[:0]
	w.fewest = 1
	var apart [gapBins]int
	lowest, groupLow := int32(0), int32(0) // first members of greedy groups
	for j := range w.groups {
		g := &w.groups[j]
		startLow := lowest
		for i := g.from; i < g.to; i++ {
			if i > 0 && (ms[i].before >= lowest || ms[i].first) {
				lowest = i
				w.fewest++
			}
			if i == g.from {
				startLow = lowest
			}
		}
		together := j > 0 && startLow == groupLow && !g.forced
		groupLow = startLow
		if !together || g.returns == 0 || w.groups[j-1].returns == 0 {
			continue
		}
		a := &w.groups[j-1]
		p := pair{apart: math.Abs(g.end - a.end), returned: g.meanReturn - a.meanReturn}
		w.pairs = append(w.pairs, p)
		apart[gapBin(int64(p.apart))]++
	}
	if len(w.pairs) < 30 {
		return 0, false
	}
	near, usual, far := binRank(&apart, 0.25), binRank(&apart, 0.5), binRank(&apart, 0.75)

	// 2. Of those in between the times between returns, in twentieths of the
	// usual time between ends.
	const halfBins = 200
	var returned [2*halfBins + 1]int
	n := 0
	unit := binMiddle(usual)
	for _, p := range w.pairs {
		if b := gapBin(int64(p.apart)); b < near || b > far {
			continue
		}
		r := math.Round(20 * p.returned / unit)
		returned[int(max(-halfBins, min(halfBins, r)))+halfBins]++
		n++
	}

	// 3. The mean of the middle fifth.
	from, to := 2*n/5, 3*n/5+1
	sum, seen := 0.0, 0
	for b, c := range returned {
		if inside := min(seen+c, to) - max(seen, from); inside > 0 {
			sum += float64(inside) * float64(b-halfBins) / 20
		}
		seen += c
	}
	return sum / float64(to-from), true
}

// mergePaced merges a flush group with the one before it where the two look
// merged and the gap between is short.
func (w *work) mergePaced(usual float64) {
	w.syncOf = append(w.syncOf[:0], 0)
	for j := 1; j < len(w.groups); j++ {
		next := w.syncOf[j-1]
		if !w.looksMerged(j, usual/2) {
			next++
		}
		w.syncOf = append(w.syncOf, next)
	}
}

// The share of sessions that a replay may have back before their sync has
// ended, before it is taken for wrong. A delay is the same each time, but the
// time that a sync takes is not: taken for constant it is too long for many.
const (
	earlyWithDelay    = 0.03
	earlyWithoutDelay = 0.20
)

// mergeDelayed replays the sync stage with the longest delay under which
// sessions are not back before their sync has ended.
func (w *work) mergeDelayed(ms []member, s Settings) {
	w.enough = 0
	if s.SyncNoDelayCount != nil {
		w.enough = *s.SyncNoDelayCount
	}
	sync := w.gapRank(0.05) // a redo fsync, and so about a binlog fsync
	low, high := sync, 1e6
	if s.SyncDelay != nil {
		low = max(float64(*s.SyncDelay), 1)
		high = 4*low + 2000 // leaders oversleep
	}
	delay := bisect(low, high, func(delay float64) bool {
		w.replay(delay, sync, math.Inf(-1), 0, 0)
		return w.early(ms) <= earlyWithDelay
	})
	w.replay(delay, sync, sync, 0, 0)
}

// mergeUnpaced replays the sync stage without a delay. A sync takes the longest
// usual time under which sessions are not back before it has ended, and longer
// where the first of them is back later than usual.
func (w *work) mergeUnpaced(ms []member) {
	sync := bisect(10, 1e6, func(sync float64) bool {
		w.replay(0, sync, math.Inf(-1), 0, 0)
		return w.early(ms) <= earlyWithoutDelay
	})
	w.replay(0, sync, sync/10, w.usualReturn(), 1)
}

// bisect gives the largest value between low and high, to a few percent, for
// which holds does, if it holds below and not above.
func bisect(low, high float64, holds func(float64) bool) float64 {
	if !holds(low) {
		return low
	}
	for high/low > 1.05 {
		if mid := math.Sqrt(low * high); holds(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// replay forms sync groups as the server does (sql/binlog.cc, ordered_commit):
// the first flush group to reach the sync stage leads, waits for the sync
// before to end and then for delay, and takes all that has been flushed by
// then; the sync takes as long as sync.
//
// With a finite reaction a sync has ended by the time that its first session
// is back, less reaction, and takes no flush group after that. With stretch it
// takes longer by that part of what the first session is back later than
// usual.
func (w *work) replay(delay, sync, reaction, usual, stretch float64) {
	w.syncOf, w.ends = w.syncOf[:0], w.ends[:0]
	ended := math.Inf(-1)
	for j := 0; j < len(w.groups); {
		begins := w.begins(j, max(ended, w.groups[j].end), delay)
		back := math.Inf(1)
		k := j
		for k < len(w.groups) && w.groups[k].end <= begins && (k == j || !w.groups[k].forced) {
			first := min(back, w.groups[k].synced)
			if !math.IsInf(reaction, -1) && k > j && w.groups[k].end > first-reaction-sync/2 {
				break
			}
			back = first
			k++
		}
		k = max(k, j+1)
		ended = begins + sync
		if !math.IsInf(reaction, -1) && !math.IsInf(back, 1) {
			ended += stretch * max(0, back-begins-usual)
			ended = max(min(ended, back-reaction), w.groups[k-1].end+sync/3)
		}
		for ; j < k; j++ {
			w.syncOf = append(w.syncOf, int32(len(w.ends)))
		}
		if j < len(w.groups) && w.groups[j].forced {
			ended = math.Inf(-1)
		}
		w.ends = append(w.ends, ended)
	}
}

// begins is when the sync that flush group j leads begins: delay after its
// leader is ready, or as soon as enough transactions have been flushed to end
// the wait (binlog_group_commit_sync_no_delay_count).
func (w *work) begins(j int, ready, delay float64) float64 {
	at := ready + delay
	if w.enough == 0 || delay == 0 {
		return at
	}
	waiting := int64(0)
	for _, g := range w.groups[j:] {
		if g.end > at {
			break
		}
		if waiting += int64(g.to - g.from); waiting >= w.enough {
			return max(ready, g.end)
		}
	}
	return at
}

// early is the share of returns before the end of the sync that they wait for.
func (w *work) early(ms []member) float64 {
	early, all := 0, 0
	for i, m := range ms {
		if m.returns < 0 || int(m.returns) >= len(ms) {
			continue
		}
		all++
		if w.groups[w.of[m.returns]].start < w.ends[w.syncOf[w.of[i]]] {
			early++
		}
	}
	if all == 0 {
		return 0
	}
	return float64(early) / float64(all)
}

// usualReturn is the median time from a flush group's end until the first of
// its sessions is back.
func (w *work) usualReturn() float64 {
	var count [gapBins]int
	n := 0
	for j := range w.groups {
		if g := &w.groups[j]; g.returns > 0 {
			count[gapBin(int64(g.back-g.end))]++
			n++
		}
	}
	if n == 0 {
		return math.Inf(1)
	}
	return binMiddle(binRank(&count, 0.5))
}

// splitSyncs divides each sync group that holds both ends of an interval in
// which a boundary is proven, at the flush group behind the longest gap.
func (w *work) splitSyncs(ms []member) {
	w.syncs = 0
	start := int32(0)
	for i := range ms {
		if ms[i].newSync {
			start = int32(i)
			w.syncs++
		}
		if ms[i].before < start {
			continue
		}
		at := int32(-1)
		for j := w.of[ms[i].before] + 1; j <= w.of[i]; j++ {
			if from := w.groups[j].from; at < 0 || w.gaps[from] >= w.gaps[at] {
				at = from
			}
		}
		if at >= 0 { // flush groups are apart already, so that there is one
			ms[at].newSync = true
			start = at
			w.syncs++
		}
	}
}

// limit gives the interval that the number of sync groups is believed to be
// in. Its ends lie on a logarithmic scale a third of the way from the estimate
// to what is proven to be too few, and to as many as there are flush groups; a
// quarter of the way where the settings that matter are known. Where a redo
// fsync sets the pace the estimate is near the number of flush groups itself,
// so there the interval reaches all of the way up, and down no further than two
// thirds of the estimate: even where no session shows anything, syncs that slow
// would be seen to hold up every other flush group. With a delay the fewest
// that are proven are near; and where it cannot be told whether flush groups
// merge at all, nothing less than these is excluded.
func (w *work) limit(n int, s Settings) {
	syncs, lower := float64(w.syncs), w.fewest
	flushes := float64(len(w.groups))
	part := 1.0 / 3
	if s.SyncDelay != nil && s.FlushLogAtTrxCommit != nil && w.regime != unpaced {
		part = 1.0 / 4
	}
	toward := func(limit float64) float64 { return math.Pow(syncs, 1-part) * math.Pow(limit, part) }
	w.low, w.high = toward(lower), toward(flushes)
	// A flush group less or more is a torn one, or two that were taken for one.
	// Where they come faster than a redo fsync would let them there may be many
	// of the latter.
	w.flushHigh = 1.05*flushes + 1
	if w.gapRank(0.05) < slowestWithin {
		w.flushHigh = math.Cbrt(flushes * flushes * float64(n))
	}
	switch w.regime {
	case paced:
		w.low = max(w.low, syncs*2/3)
		w.high = min(1.02*flushes+1, float64(n))
	case delayed:
		w.low = lower
	default:
	}
	if w.untold {
		w.low = lower
	}
	if w.arrivals {
		w.low = arrivalsLow * syncs
		w.high = min(max(arrivalsHigh*syncs, arrivalsTimes*float64(w.byTimes))+1, float64(n))
	}
}
