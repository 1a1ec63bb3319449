package analysis

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"bgcstat/parser"
	"bgcstat/parser/iosample"
)

// usage adds up what was counted in the stretch of a trace that belongs to the
// reported transactions: from its beginning to its end, but for intervals at
// either side in which the log grew by transactions that are not reported.
type usage struct {
	byClass map[iosample.Class]*classUsage
	last    map[fileKey]int64 // syncs of each file, as the last sample had them
	flushes *int64            // as the last sample had them
	lost    int64
	at      time.Time // of the last sample
	samples int

	started bool
	closed  bool    // something foreign came since pending began
	pending amounts // since the last interval with a reported transaction
	idle    amounts // of that what came before anything foreign
	total   amounts
	latency []iosample.Latency
	rates   syncRates
	cpu     cpuReading // the last one

	gaps      int64 // samples that say that counts are missing
	firstGap  string
	restarts  int64
	pid       int
	ticks     uint64
	steps     int64 // of the wall clock against the monotonic one
	offset    int64
	changed   map[string]string // settings that changed while it ran
	flushSeen bool
}

// classUsage is what is known of a class beside its counts.
type classUsage struct {
	exactness iosample.Exactness
	mean      int64
}

type fileKey struct {
	class iosample.Class
	name  string
	ino   uint64
}

// amounts are what was counted in a stretch of time.
type amounts struct {
	syncs    [8]int64 // by class, in the order of iosample.Classes
	events   int64    // of binlogs
	flushes  int64
	lost     int64
	from, to time.Time
}

func (a *amounts) add(b *amounts) {
	for i := range a.syncs {
		a.syncs[i] += b.syncs[i]
	}
	a.events += b.events
	a.flushes += b.flushes
	a.lost += b.lost
	if a.from.IsZero() {
		a.from = b.from
	}
	if !b.to.IsZero() {
		a.to = b.to
	}
}

// begin takes the counts of an interval into now and returns its binlog syncs.
func (u *usage) begin(v *iosample.Interval, h *iosample.Header, now *amounts) (binlog int64) {
	now.from = u.at
	for i := range v.Syncs {
		if v.Syncs[i].Class == iosample.Binlog {
			at := time.Unix(0, v.Syncs[i].Mono+h.ClockOffset)
			if now.from.IsZero() {
				now.from = at
			}
			now.to = at
			now.events++
		}
	}
	s := v.Sample
	if s == nil {
		return now.events
	}
	first := u.samples == 0
	u.samples++
	if first {
		u.last = map[fileKey]int64{}
		if now.from.IsZero() {
			now.from = s.Time
		}
	}
	now.to = s.Time

	// 1. Syncs by class. What the first sample has may be of before it.
	for i := range s.Files {
		f := &s.Files[i]
		class := slices.Index(iosample.Classes, f.Class)
		if class < 0 {
			continue
		}
		key := fileKey{f.Class, f.Name, f.Ino}
		grown := f.Syncs - u.last[key]
		if grown < 0 {
			grown = f.Syncs // counted anew
		}
		u.last[key] = f.Syncs
		if !first {
			now.syncs[class] += grown
		}
		u.note(f, h)
	}
	binlog = now.syncs[0]
	if now.events > 0 && first {
		now.syncs[0] = now.events
	}
	if len(s.Latency) > 0 {
		u.latency = s.Latency
	}

	// 2. Flushes of the disk.
	if s.DeviceFlushes != nil {
		if u.flushes != nil && *s.DeviceFlushes >= *u.flushes {
			now.flushes = *s.DeviceFlushes - *u.flushes
		}
		u.flushes, u.flushSeen = s.DeviceFlushes, true
	}
	now.lost = max(0, s.Lost-u.lost)
	u.lost = max(u.lost, s.Lost)

	// 3. What limits all this.
	if s.Gap != "" {
		if u.gaps++; u.gaps == 1 {
			u.firstGap = s.Gap
		}
	}
	if s.PID != 0 {
		if u.pid != 0 && (s.PID != u.pid || s.StartTicks != u.ticks) {
			u.restarts++
		}
		u.pid, u.ticks = s.PID, s.StartTicks
	}
	if s.Mono != 0 {
		offset := s.Time.UnixNano() - s.Mono
		if step := offset - u.offset; u.offset != 0 && (step > int64(time.Second) || step < -int64(time.Second)) {
			u.steps++
		}
		u.offset = offset
	}
	for name, value := range s.Settings {
		if u.changed == nil {
			u.changed = map[string]string{}
		}
		u.changed[name] = value
	}
	if !first {
		u.rates.add(u.at, s.Time, now)
	}
	if s.CPU != nil {
		u.addCPU(s)
	}
	u.at = s.Time
	return binlog
}

// note keeps the worst exactness of a class, and its mean latency.
func (u *usage) note(f *iosample.Count, h *iosample.Header) {
	exactness := f.Exactness
	if exactness == "" {
		exactness = h.Exactness
	}
	c := u.byClass[f.Class]
	if c == nil {
		c = &classUsage{exactness: exactness}
		u.byClass[f.Class] = c
	}
	order := []iosample.Exactness{iosample.Exact, iosample.LowerBound, iosample.Estimate, iosample.DeviceWide}
	if slices.Index(order, exactness) > slices.Index(order, c.exactness) {
		c.exactness = exactness
	}
	if f.MeanLatency > 0 {
		c.mean = f.MeanLatency
	}
}

// book adds an interval whose transactions are known, the next in order.
func (u *usage) book(s *stretch) {
	switch {
	case s.reported:
		u.pending.add(&s.amounts)
		u.total.add(&u.pending)
		u.pending, u.idle = amounts{}, amounts{}
		u.started, u.closed = true, false
	case s.foreign && !u.started:
		u.pending = amounts{}
	default:
		u.closed = u.closed || s.foreign
		u.pending.add(&s.amounts)
		if !u.closed {
			u.idle = u.pending
		}
	}
}

// finish books what stands behind the last reported transaction. Where no
// transaction was joined, it takes all.
func (u *usage) finish() {
	if u.started {
		u.total.add(&u.idle)
	} else if !u.closed {
		u.total.add(&u.pending)
	}
}

// syncRates counts syncs by time, in buckets that grow wider as the trace grows
// longer.
type syncRates struct {
	width   int // index of widths
	buckets map[int64]*syncBucket
}

type syncBucket struct {
	syncs   [8]int64
	flushes int64
	cpu     cpuTime
}

// add spreads what was counted between two times evenly over the buckets that
// lie between.
func (r *syncRates) add(from, to time.Time, a *amounts) {
	r.spread(from, to, func(b *syncBucket, begin, end float64) {
		part := func(n int64) int64 {
			return int64(math.Round(float64(n)*end)) - int64(math.Round(float64(n)*begin))
		}
		for i, n := range a.syncs {
			b.syncs[i] += part(n)
		}
		b.flushes += part(a.flushes)
	})
}

// spread calls add for each bucket between two times, with the part of the time
// that has passed when it begins and when it ends.
func (r *syncRates) spread(from, to time.Time, add func(b *syncBucket, begin, end float64)) {
	start, end := from.UnixMicro(), to.UnixMicro()
	if from.IsZero() || end <= start || start <= 0 || end-start > 86400e6 {
		return
	}
	if r.buckets == nil {
		r.buckets = map[int64]*syncBucket{}
		for r.width < len(widths)-1 && widths[r.width] < end-start {
			r.width++
		}
		// A tenth of an interval is what samples come late by.
		if r.width > 0 && widths[r.width-1]*11/10 >= end-start {
			r.width--
		}
	}
	first, last := start/widths[r.width], (end-1)/widths[r.width]
	for last-first >= maxBuckets || len(r.buckets) >= maxBuckets && r.width < len(widths)-1 {
		r.widen()
		first, last = start/widths[r.width], (end-1)/widths[r.width]
	}
	for no := first; no <= last; no++ {
		b := r.buckets[no]
		if b == nil {
			b = &syncBucket{}
			r.buckets[no] = b
		}
		passed := func(at int64) float64 { return float64(min(max(at, start), end)-start) / float64(end-start) }
		add(b, passed(no*widths[r.width]), passed((no+1)*widths[r.width]))
	}
}

func (r *syncRates) widen() {
	wide := make(map[int64]*syncBucket, len(r.buckets)/2)
	ratio := widths[r.width+1] / widths[r.width]
	for no, b := range r.buckets {
		w := wide[no/ratio]
		if w == nil {
			wide[no/ratio] = b
			continue
		}
		for i := range b.syncs {
			w.syncs[i] += b.syncs[i]
		}
		w.flushes += b.flushes
		w.cpu.add(&b.cpu, 1)
	}
	r.buckets = wide
	r.width++
}

// result gives the buckets between two times.
func (r *syncRates) result(from, to time.Time, syncs, flushes bool) *SyncRates {
	for len(r.buckets) > 600 && r.width < len(widths)-1 {
		r.widen()
	}
	out := &SyncRates{BucketSeconds: float64(widths[r.width]) / 1e6}
	for _, no := range slices.Sorted(maps.Keys(r.buckets)) {
		if !r.within(no, from, to) {
			continue
		}
		b := r.buckets[no]
		bucket := SyncBucket{Start: newTime(parser.Micros(no * widths[r.width]))}
		if flushes {
			bucket.DeviceFlushes = &b.flushes
		}
		if syncs {
			bucket.Syncs = map[string]int64{}
			for i, n := range b.syncs {
				if n > 0 {
					bucket.Syncs[string(iosample.Classes[i])] = n
				}
			}
		}
		out.Series = append(out.Series, bucket)
	}
	if len(out.Series) == 0 {
		return nil
	}
	return out
}

// within reports whether a bucket reaches into the time between two.
func (r *syncRates) within(no int64, from, to time.Time) bool {
	return (no+1)*widths[r.width] > from.UnixMicro() && no*widths[r.width] < to.UnixMicro()
}

// latencies are how long binlog syncs took, by how many transactions they made
// durable.
type latencies struct {
	all    *hdrhistogram.Histogram
	bySize map[int]*sizeLatency // by bin
}

type sizeLatency struct {
	from, to int64 // the sizes that were seen
	times    *hdrhistogram.Histogram
}

// sizeBin numbers sizes: each of 1 to 8 by itself, then four to an octave.
func sizeBin(size int64) int {
	if size <= 8 {
		return int(size)
	}
	return 9 + gapBin(size)/2 - gapBin(9)/2
}

func (l *latencies) add(size, latency int64) {
	if l.bySize == nil {
		l.all, l.bySize = newLatencies(), map[int]*sizeLatency{}
	}
	bin := sizeBin(size)
	s := l.bySize[bin]
	if s == nil {
		s = &sizeLatency{size, size, newLatencies()}
		l.bySize[bin] = s
	}
	s.from, s.to = min(s.from, size), max(s.to, size)
	latency = min(max(latency, 1), longestLatency)
	_ = s.times.RecordValue(latency) // it is within the histogram's range
	_ = l.all.RecordValue(latency)
}

const longestLatency = int64(time.Hour)

func newLatencies() *hdrhistogram.Histogram { return hdrhistogram.New(1, longestLatency, 3) }

func (l *latencies) result() []SizeLatency {
	var out []SizeLatency
	for _, bin := range slices.Sorted(maps.Keys(l.bySize)) {
		s := l.bySize[bin]
		out = append(out, SizeLatency{
			From: s.from, To: s.to, Syncs: s.times.TotalCount(),
			P50: float64(s.times.ValueAtQuantile(50)) / 1e9, P99: float64(s.times.ValueAtQuantile(99)) / 1e9,
		})
	}
	return out
}
