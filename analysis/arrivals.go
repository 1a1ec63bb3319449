package analysis

import "time"

// Arrived says when the transaction that is added next came over a connection
// that had caught up with the server; times must be of one clock and rise, and the
// beginning of Unix time says that it is not known.
//
// At sync_binlog=1 MySQL shows a commit group to its replicas when it has been
// synced, and no earlier (sql/binlog.cc, ordered_commit:
// update_binlog_end_pos_after_sync), so that each comes in one burst. Two bursts
// become one where the next sync has ended before the first was read, which is
// the usual error. Measured on MySQL 9.7, with 2 to 64 sessions on two processors:
// over a socket 95 to 100 % of the borders between bursts are borders of sync
// groups, and 88 to 99 % of these are borders of bursts. Through a proxy that
// delays by 0.5 to 20 ms, and each burst by another time, there are up to 30 %
// fewer bursts than groups.
func (a *Analyzer) Arrived(at time.Time) { a.estimator.arrived = at.UnixMicro() }

// The interval that the number of sync groups is believed to be in. Fewer than
// bursts there are hardly; up it reaches to what commit times say by themselves,
// which is too many on the average, or to a fifth more.
const (
	arrivalsLow   = 0.95
	arrivalsHigh  = 1.20
	arrivalsTimes = 1.05
)

// method is that of the estimate of most sync groups so far.
func (e *estimator) method() Method {
	told := e.n - int64(len(e.members))
	if 2*e.arrivals > told || told == 0 && e.work.arrivals {
		return Arrivals
	}
	return CommitTimestamps
}

// byArrivals forms the sync groups of ms by the bursts in which they came. It
// changes nothing and gives false where these tell nothing: they are not known,
// the server shows transactions before they are synced, or reading is behind.
func (w *work) byArrivals(ms []member, s Settings) bool {
	if n := s.SyncBinlog; n == nil || *n != 1 {
		return false
	}
	byTimes := 0
	for i := range ms {
		if ms[i].newSync {
			byTimes++
		}
	}
	// 1. The bursts: a longer gap than is usual inside of one.
	w.waits = append(w.waits[:0], 0)
	for i := range ms {
		if ms[i].arrived == 0 {
			return false
		}
		if i > 0 {
			w.waits = append(w.waits, max(ms[i].arrived-ms[i-1].arrived, 0))
		}
	}
	threshold := splitGaps(w.waits[1:])
	w.bursts = w.bursts[:0]
	for i := range ms {
		if i == 0 || ms[i].first || w.waits[i] > threshold {
			w.bursts = append(w.bursts, int32(i))
		}
	}
	// 2. Those that hold what was committed over a longer time than passed while
	// they and the ones before were waited for: reading is behind.
	end := func(k int) int {
		if k+1 < len(w.bursts) {
			return int(w.bursts[k+1])
		}
		return len(ms)
	}
	late := func(k int) bool {
		from := int(w.bursts[k])
		span := int64(ms[end(k)-1].time - ms[from].time)
		waited := w.waits[from]
		if k > 0 {
			waited += w.waits[w.bursts[k-1]]
		}
		return k > 0 && span > 2*waited+lateSlack
	}
	behind := 0
	var spans, waits [gapBins]int
	for k, from := range w.bursts {
		if late(k) {
			behind += end(k) - int(from)
		}
		spans[gapBin(int64(ms[end(k)-1].time-ms[from].time))]++
		waits[gapBin(w.waits[from])]++
	}
	if 10*behind > len(ms) {
		return false
	}
	// 3. Where many bursts hold commits as far apart as the bursts are, these are
	// several groups that were brought together on their way.
	if binMiddle(binRank(&spans, 0.75)) > mergedSpan*binMiddle(binRank(&waits, 0.5)) {
		return false
	}
	// 4. One group each; where reading is behind the times of commits decide.
	for k, from := range w.bursts {
		if !late(k) {
			for i := int(from); i < end(k); i++ {
				ms[i].newSync = false
			}
		}
		ms[from].newSync, ms[from].newFlush = true, true
	}
	w.byTimes = byTimes
	return true
}

// mergedSpan is the largest part of the median time between bursts that may lie
// between the first and the last commit in three quarters of them: 0 to 0.23 was
// measured over a socket, and 0.46 to 1.2 through proxies where groups merged.
const mergedSpan = 0.3

// lateSlack is by how much the clocks of commits and of arrivals may differ in
// what they call the same stretch of time, in microseconds.
const lateSlack = 500
