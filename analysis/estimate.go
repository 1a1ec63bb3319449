package analysis

import (
	"slices"

	"bgcstat/parser"
)

// member is a transaction that waits for its groups: what an estimate needs of it.
type member struct {
	time parser.Micros // when it was written, just before the next one of its flush group
	size int64
	last int64 // last_committed, 0 where it has no clock
	// before is the last member that is proven to have been synced before this
	// one was enqueued, -1 for none that is known: a boundary lies in (before, this].
	before int32
	// returns is the next transaction of the same session, -1 for none that is
	// known: its flush group was fetched after this one's sync.
	returns int32
	first   bool // no group goes on from the one before: a file begins, or a time is missing
	chosen  bool // reported
	traced  tracedSync
	arrived int64 // when it came, in µs; 0 where it was not read live

	newFlush, newSync bool // the estimate: it begins a group
}

// tracedSync is what traced syncs say of where a transaction is.
type tracedSync uint8

const (
	syncUnknown tracedSync = iota
	syncBegins             // it is the first that a sync made durable
	syncGoesOn             // it is another one
)

// chunkSize is how many transactions are estimated together: enough to tell
// the two kinds of gap apart, and few enough to follow a load that changes.
const chunkSize = 8192

// estimator finds the groups of a MySQL log from its commit timestamps, chunk
// by chunk. A chunk ends at its last long pause, which a group does not span.
type estimator struct {
	settings Settings
	// emit takes the members of a chunk with their groups, in log order. They
	// hold until it returns.
	emit func([]member)

	members     []member
	base        int64 // ordinal of members[0]
	log         *parser.Log
	runStart    int32 // of the run of rising sequence numbers: its first member
	sequence    []int64
	off         bool // commit times are missing, or equal: nothing more is estimated
	n           int64
	timeless    int64 // transactions without a commit time
	equal       int64 // transactions with the commit time of the one before
	last        parser.Micros
	wasTimeless bool // the transaction before has no commit time

	// fitting: sync groups are made to agree with the counts of a trace; mark is
	// what it says of the next transaction.
	fitting bool
	mark    fitMark
	marks   []fitMark // of each member
	cutOpen bool      // the chunk before ended inside an interval
	unfit   tally     // sync groups before they were fitted

	// arrived is when the transaction that is added next came; arrivals counts
	// the members whose sync groups were told by that.
	arrived  int64
	arrivals int64

	work work
	// Sums over chunks, of sync groups.
	low, high float64
	flushHigh float64         // of flush groups
	regimes   [nRegimes]int64 // transactions by regime
	untold    int64           // transactions where it could not be told
}

// add takes the next transaction that is in a group. traced is only handed on.
func (e *estimator) add(t *parser.Txn, f *facts, chosen bool, traced tracedSync) {
	if e.off {
		return
	}
	e.n++
	timeless := t.CommitTime <= 0
	if timeless {
		e.timeless++
		// A log without times has none from its first transaction on.
		if e.off = e.timeless*100 > e.n; e.off {
			return
		}
	}
	if e.full() {
		if e.flush(e.cut()); e.off {
			return
		}
	}
	at := int32(len(e.members))
	if at == 0 {
		e.base = f.ordinal
	}
	m := member{time: t.CommitTime, size: t.Size(), before: -1, returns: -1, chosen: chosen, traced: traced, first: t.Log != e.log, arrived: e.arrived}
	if timeless { // a group of its own, where it stands
		m.time, m.first = e.last, true
	}
	m.first = m.first || e.wasTimeless
	if !m.first && m.time == e.last {
		e.equal++
	}
	e.wasTimeless, e.last = timeless, m.time
	if t.Log != e.log || f.restart {
		e.log, e.runStart = t.Log, at
	}
	if t.HasClock {
		m.last = t.LastCommitted
	}
	if f.parent != 0 {
		m.before = e.find(f.parent)
	}
	if s := f.session - e.base; f.session != 0 && s >= 0 {
		m.before = max(m.before, int32(s))
		e.members[s].returns = at
	}
	// One without a number stands behind the last that has one.
	sequence := t.SequenceNumber
	if !t.HasClock && at > e.runStart {
		sequence = e.sequence[at-1]
	}
	e.members = append(e.members, m)
	if e.fitting {
		e.marks = append(e.marks, e.mark)
	}
	e.sequence = append(e.sequence, sequence)
}

// find gives the last member of the run whose sequence number is not above
// sequence, -1 for none.
func (e *estimator) find(sequence int64) int32 {
	run := e.sequence[e.runStart:]
	n := len(run)
	if n == 0 {
		return -1
	}
	// Where no number is missing it is as far back as the numbers say.
	if i := int64(n-1) - (run[n-1] - sequence); i >= 0 && i < int64(n) && run[i] == sequence && (i == 0 || run[i-1] < sequence) {
		return e.runStart + int32(i)
	}
	i, found := slices.BinarySearch(run, sequence)
	if !found {
		i--
	}
	if i < 0 {
		return -1
	}
	return e.runStart + int32(i)
}

// maxChunk is how long a chunk may get that should end with an interval of a
// trace.
const maxChunk = 8 * chunkSize

// full reports whether the members are to be estimated before the next one is
// added. Where they are fitted to a trace this is when an interval ends.
func (e *estimator) full() bool {
	n := len(e.members)
	if !e.fitting || n == 0 || e.mark.no == 0 {
		return n >= chunkSize
	}
	return n >= maxChunk || n >= chunkSize && e.mark != e.marks[n-1]
}

// cut chooses where a full chunk ends: at the longest pause of its last
// quarter, or else with an interval of the trace.
func (e *estimator) cut() int {
	n := len(e.members)
	if e.fitting && e.mark.no != 0 && n < maxChunk {
		for i := n - 1; i > n/2; i-- {
			if e.marks[i] != e.marks[i-1] {
				return i
			}
		}
		return n
	}
	best, at := parser.Micros(-1), n
	for i := n - n/4; i < n; i++ {
		gap := e.members[i].time - e.members[i-1].time
		if e.members[i].first {
			gap = 1 << 62
		}
		if gap > best {
			best, at = gap, i
		}
	}
	return at
}

// flush estimates the first n members and gives them out.
func (e *estimator) flush(n int) {
	if e.off = e.equalTimes(); e.off || n == 0 {
		return
	}
	e.work.run(e.members, n, e.settings)
	e.low += e.work.low
	e.high += e.work.high
	e.flushHigh += e.work.flushHigh
	switch {
	case e.work.arrivals:
		e.arrivals += int64(n)
	case e.work.untold:
		e.untold += int64(n)
		fallthrough
	default:
		e.regimes[e.work.regime] += int64(n)
	}
	if e.fitting {
		for i := range e.members[:n] {
			e.unfit.add(e.members[i].newSync, e.members[i].chosen)
		}
		open := n < len(e.members) && e.marks[n] == e.marks[n-1]
		e.work.fit(e.members[:n], e.marks[:n], e.cutOpen, open)
		e.cutOpen = open
		e.marks = e.marks[:copy(e.marks, e.marks[n:])]
	}
	e.emit(e.members[:n])
	rest := copy(e.members, e.members[n:])
	e.members = e.members[:rest]
	e.sequence = e.sequence[:copy(e.sequence, e.sequence[n:])]
	for i := range e.members {
		m := &e.members[i]
		m.before = max(m.before-int32(n), -1)
		if m.returns >= 0 {
			m.returns -= int32(n)
		}
	}
	e.base += int64(n)
	e.runStart = max(e.runStart-int32(n), 0)
}

// equalTimes reports whether most commit times are those of the transaction
// before, so that the gaps between them say nothing.
func (e *estimator) equalTimes() bool { return 2*e.equal > e.n }

// end gives out what is left.
func (e *estimator) end() {
	if !e.off {
		e.flush(len(e.members))
	}
}
