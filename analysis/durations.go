package analysis

import (
	"github.com/HdrHistogram/hdrhistogram-go"

	"bgcstat/parser"
)

// longestDuration bounds durations, in seconds: longer ones are of a clock that
// was set.
const longestDuration = 10 * 365 * 86400

// durations tells how long transactions took, in whole seconds.
type durations struct {
	seconds *hdrhistogram.Histogram // each by one more than it is, since 0 has no place in it
	bins    bins125
	max     int64
	back    int64 // transactions that ended before they began
}

// add takes the next reported transaction. On a replica the times are those of
// the server where it was made: only these are of one clock.
func (d *durations) add(t *parser.Txn) {
	end := t.CommitTime
	if t.OriginalCommitTime > 0 {
		end = t.OriginalCommitTime
	}
	if t.CommitTime <= 0 || t.BeginTime <= 0 || t.Terminator == parser.TerminatorNone {
		return
	}
	seconds := int64(end-t.BeginTime) / 1e6
	if end < t.BeginTime || seconds > longestDuration {
		d.back++
		return
	}
	if d.seconds == nil {
		d.seconds = hdrhistogram.New(1, longestDuration+1, 3)
	}
	_ = d.seconds.RecordValue(seconds + 1) // it is within the histogram's range
	d.bins.add(seconds)
	d.max = max(d.max, seconds)
}

func (d *durations) result() *Durations {
	if d.seconds == nil {
		return nil
	}
	at := func(percent float64) int64 { return min(d.seconds.ValueAtPercentile(percent)-1, d.max) }
	return &Durations{
		Transactions: d.seconds.TotalCount(), Impossible: d.back,
		P50: at(50), P99: at(99), Max: d.max, Histogram: d.bins.result(),
	}
}
