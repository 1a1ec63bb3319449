package analysis

import (
	"maps"
	"slices"

	"bgcstat/parser"
)

// rates counts by time, in buckets that grow wider as the log grows longer.
type rates struct {
	width            int // index of widths
	buckets          map[int64]*bucket
	last             *bucket // of the time before, which lies from lastFrom to before lastTo
	lastFrom, lastTo parser.Micros

	start, end parser.Micros // of all reported transactions that have a time
	n, headers int64         // times, and those of them that are of an event header: whole seconds
	groups     bool          // sync groups are counted
}

type bucket struct{ transactions, groups, bytes int64 }

// widths of a bucket in microseconds. Each divides the next, so that buckets
// can be joined.
var widths = [...]int64{
	1e3, 2e3, 10e3, 20e3, 100e3, 200e3,
	1e6, 2e6, 10e6, 30e6, 60e6, 300e6, 600e6, 1800e6,
	3600e6, 2 * 3600e6, 6 * 3600e6, 12 * 3600e6,
	86400e6, 7 * 86400e6, 28 * 86400e6, 364 * 86400e6, 100 * 364 * 86400e6,
}

const (
	oneSecond  = 6 // index of widths
	maxBuckets = 1000
)

func (r *rates) add(t *parser.Txn, groupBegun bool) {
	at := t.Time()
	if at <= 0 {
		return
	}
	r.n++
	if t.CommitTime == 0 {
		r.headers++
	}
	if r.buckets == nil {
		r.buckets = make(map[int64]*bucket)
		r.start, r.end = at, at
	}
	r.start, r.end = min(r.start, at), max(r.end, at)
	b := r.at(at)
	b.transactions++
	b.bytes += t.Size()
	if groupBegun {
		b.groups++
	}
}

// begin counts a sync group whose first reported transaction was added before.
func (r *rates) begin(at parser.Micros) { r.at(at).groups++ }

// at gives the bucket of a time.
func (r *rates) at(at parser.Micros) *bucket {
	if r.last != nil && at >= r.lastFrom && at < r.lastTo {
		return r.last
	}
	no := int64(at) / widths[r.width]
	b := r.buckets[no]
	if b == nil {
		for len(r.buckets) >= maxBuckets && r.width < len(widths)-1 {
			r.widen(r.width + 1)
		}
		no = int64(at) / widths[r.width]
		if b = r.buckets[no]; b == nil {
			b = &bucket{}
			r.buckets[no] = b
		}
	}
	r.last, r.lastFrom, r.lastTo = b, parser.Micros(no*widths[r.width]), parser.Micros((no+1)*widths[r.width])
	return b
}

func (r *rates) widen(width int) {
	wide := make(map[int64]*bucket, len(r.buckets)/2)
	ratio := widths[width] / widths[r.width]
	for no, b := range r.buckets {
		w := wide[no/ratio]
		if w == nil {
			wide[no/ratio] = b
			continue
		}
		w.transactions += b.transactions
		w.groups += b.groups
		w.bytes += b.bytes
	}
	r.buckets, r.width, r.last = wide, width, nil
}

// coarse reports whether times are whole seconds, but for a few.
func (r *rates) coarse() bool { return 100*r.headers > r.n }

// window gives the stretch of time; nil where there is none.
func (r *rates) window() *Window {
	if r.buckets == nil {
		return nil
	}
	w := &Window{
		Start: newTime(r.start), End: newTime(r.end),
		Seconds: float64(r.end-r.start) / 1e6, Clock: ClockCommit,
	}
	if r.coarse() {
		w.Clock = ClockHeader
	}
	return w
}

// result joins buckets until they are as wide as a person would choose: about
// 200 in less than half a minute, at most 600 in a longer time and then never
// less than a second.
func (r *rates) result() *Rates {
	if r.buckets == nil {
		return nil
	}
	span := int64(r.end - r.start)
	width := r.width
	fits := func(most int64) bool { return span/widths[width] < most }
	for width < len(widths)-1 {
		long := span >= 30e6
		if (r.coarse() || long) && width < oneSecond || long && !fits(600) || !long && !fits(200) {
			width++
			continue
		}
		break
	}
	if width > r.width {
		r.widen(width)
	}
	out := &Rates{BucketSeconds: float64(widths[r.width]) / 1e6}
	for _, no := range slices.Sorted(maps.Keys(r.buckets)) {
		b := r.buckets[no]
		bucket := Bucket{Start: newTime(parser.Micros(no * widths[r.width])), Transactions: b.transactions, Bytes: b.bytes}
		if r.groups {
			bucket.SyncGroups = &b.groups
		}
		out.Series = append(out.Series, bucket)
	}
	return out
}
