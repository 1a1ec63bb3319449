package plot

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"bgcstat/analysis"
)

const (
	mostSyncSteps = 200 // lines that are dashed need room to be told apart
	mostClasses   = 5
)

// Classes of syncs that have places of their own.
const (
	classBinlog = "binlog"
	classRedo   = "redo"
	classOther  = "other"
)

// syncLines are the colours and strokes of the lines of a panel. Any two differ
// in their dashes, so that they can be told apart without colours, too.
var syncLines = [mostClasses]struct {
	color  string
	stroke Stroke
}{
	{blue, Stroke{Width: 1.8}},
	{vermillion, Stroke{Width: 1.3, Dash: []float64{6, 2}}},
	{green, Stroke{Width: 1.3, Dash: []float64{1.5, 1.5}}},
	{purple, Stroke{Width: 1.5, Dash: []float64{3, 3}}},
	{black, Stroke{Width: 0.8, Dash: []float64{8, 2, 1.5, 2}}},
}

// syncStep is a stretch of the time axis in which there are samples.
type syncStep struct {
	from, to float64            // Unix seconds
	sampled  float64            // seconds
	sums     map[string]float64 // syncs by class, or flush requests under "", or CPU time
}

// syncs gives the panel of what a trace counted along the grid, and says what
// it shows. There is none where nothing was counted by time.
func (g grid) syncs(io *analysis.IO) ([]Panel, []string) {
	if io == nil || io.Rates == nil || len(io.Rates.Series) == 0 {
		return nil, nil
	}
	p := Panel{Y: Axis{Label: "syncs", Unit: "per second", Max: 1}, Height: 120}
	flushes := !countsSyncs(io)
	if flushes {
		p.Y.Label, p.Y.Unit = "flush requests of "+disks(io.DeviceFlushes)+" per second", "no fsyncs"
	}
	n, width := g.stepWidth(io.Rates.BucketSeconds)
	steps := g.steps(io.Rates.BucketSeconds, width, syncSums(io.Rates, flushes))
	if len(steps) == 0 {
		p.Height, p.Note = 50, "The trace has no sample in the time of these transactions."
		return []Panel{p}, []string{tracedBy(io, nil)}
	}
	classes := classesOf(steps)
	if len(classes) == 0 && !flushes {
		p.Height, p.Note = 50, "No sync was counted in the time of these transactions."
		return []Panel{p}, []string{tracedBy(io, nil)}
	}
	if flushes {
		p.Series = []Series{{Kind: Levels, Color: vermillion}}
		classes = []class{{keys: []string{""}}}
	} else {
		p.Series = linesOf(classes)
	}
	p.fill(steps, classes)
	if gaps := g.gaps(steps, io.Rates.BucketSeconds); len(gaps) > 0 {
		p.Series = append([]Series{{Label: "not sampled", Kind: Unknown, Color: grey, Bars: gaps}}, p.Series...)
	}

	words := fmt.Sprintf(" Each of their steps is %s", span(width))
	if n > 1 {
		words = fmt.Sprintf(" Each of their steps is the mean of what was sampled in %s", span(width))
	}
	if p.Series[0].Kind == Unknown {
		words += "; where it is grey nothing was sampled"
	}
	return []Panel{p}, []string{tracedBy(io, classes) + words + "."}
}

// countsSyncs says whether the trace counts syncs, or flushes of disks only.
func countsSyncs(io *analysis.IO) bool {
	return io.Syncs != nil || slices.ContainsFunc(io.Rates.Series, func(b analysis.SyncBucket) bool { return len(b.Syncs) > 0 })
}

// stepWidth is how many buckets a step has, and how many seconds.
func (g grid) stepWidth(bucket float64) (buckets, width float64) {
	n := perColumn(math.Round((g.to-g.from)/bucket), bucket, mostSyncSteps)
	return n, n * bucket
}

// syncSums are the syncs of each bucket, or its flush requests.
func syncSums(r *analysis.SyncRates, flushes bool) iter.Seq2[time.Time, map[string]float64] {
	return func(yield func(time.Time, map[string]float64) bool) {
		for _, b := range r.Series {
			sums := map[string]float64{}
			switch {
			case flushes && b.DeviceFlushes == nil:
				continue
			case flushes:
				sums[""] = max(0, float64(*b.DeviceFlushes))
			default:
				for class, n := range b.Syncs {
					sums[class] = max(0, float64(n))
				}
			}
			if !yield(b.Start.Time, sums) {
				return
			}
		}
	}
}

// steps sums the buckets that lie on the axis, cut to it, in rising order. It
// is empty where the width makes no sense.
func (g grid) steps(bucket, width float64, buckets iter.Seq2[time.Time, map[string]float64]) []syncStep {
	const shortest, longest = 1e-6, 1e10 // what times are in, and three centuries
	if !(bucket >= shortest && bucket < longest) || !finite(width) {
		return nil
	}
	at := map[int64]*syncStep{}
	for start, sums := range buckets {
		from := unixSeconds(start)
		to := from + bucket
		if to <= g.from || from >= g.to || from >= to {
			continue
		}
		// A bucket that begins where a step does belongs to it, whatever the
		// rounding; one that begins before the axis has a step of its own.
		nth := int64(math.Floor(seconds(g.first, start)/width + 1e-6))
		s := at[nth]
		if s == nil {
			s = &syncStep{from: from, to: to, sums: map[string]float64{}}
			at[nth] = s
		}
		s.from, s.to = max(g.from, min(s.from, from)), min(g.to, max(s.to, to))
		s.sampled += bucket
		for k, n := range sums {
			s.sums[k] += n
		}
	}
	steps := make([]syncStep, 0, len(at))
	for _, nth := range slices.Sorted(maps.Keys(at)) {
		steps = append(steps, *at[nth])
	}
	return steps
}

// gaps are the stretches of the axis without a sample.
func (g grid) gaps(steps []syncStep, bucket float64) []Bar {
	var bars []Bar
	end := g.from
	add := func(to float64) {
		if to-end > bucket/1000+1e-6 {
			bars = append(bars, Bar{From: end, To: to})
		}
	}
	for _, s := range steps {
		add(s.from)
		end = max(end, s.to)
	}
	add(g.to)
	return bars
}

// class is one line: a class of files, or the rest of them.
type class struct {
	label string
	keys  []string // under which its syncs are counted
}

func (c class) sum(s syncStep) float64 {
	n := 0.0
	for _, k := range c.keys {
		n += s.sums[k]
	}
	return n
}

// bars are its rates along the steps, and the greatest of them.
func (c class) bars(steps []syncStep) (bars []Bar, greatest float64) {
	for _, s := range steps {
		rate := c.sum(s) / s.sampled
		bars = append(bars, Bar{From: s.from, To: s.to, Value: rate})
		greatest = max(greatest, rate)
	}
	return bars, greatest
}

// classesOf names the classes that have syncs: binlog and redo first, then by
// their number; where there are too many the smallest share a line.
func classesOf(steps []syncStep) []class {
	totals := map[string]float64{}
	for _, s := range steps {
		for k, n := range s.sums {
			totals[k] += n
		}
	}
	var names []string
	for k, n := range totals {
		if n > 0 {
			names = append(names, k)
		}
	}
	rank := func(k string) int {
		switch {
		case k == classBinlog:
			return 0
		case k == classRedo:
			return 1
		case k == classOther && len(names) > mostClasses:
			return 3 // in the line of the rest
		default:
			return 2
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(totals[b], totals[a]), strings.Compare(a, b))
	})
	var classes []class
	for i, k := range names {
		if i == mostClasses-1 && len(names) > mostClasses {
			return append(classes, class{"other files", names[i:]})
		}
		label := shorten(k, 14)
		if k == classOther {
			label = "other files"
		}
		classes = append(classes, class{label, []string{k}})
	}
	return classes
}

// linesOf has a line for each class, those of binlog and redo always the same.
func linesOf(classes []class) []Series {
	free := []int{2, 3, 4, 1, 0}
	take := func(i int) int {
		free = slices.DeleteFunc(free, func(f int) bool { return f == i })
		return i
	}
	series := make([]Series, len(classes))
	for i, c := range classes {
		var n int
		switch c.keys[0] {
		case classBinlog:
			n = take(0)
		case classRedo:
			n = take(1)
		default:
			n = take(free[0])
		}
		series[i] = Series{Label: c.label, Kind: Levels, Color: syncLines[n].color, Stroke: new(syncLines[n].stroke)}
	}
	return series
}

// fill gives each series, one a class, its bars, and the axis its range.
func (p *Panel) fill(steps []syncStep, classes []class) {
	greatest := 0.0
	for i, c := range classes {
		bars, top := c.bars(steps)
		p.Series[i].Bars, greatest = bars, max(greatest, top)
	}
	div, word := large(greatest)
	for _, s := range p.Series {
		for i := range s.Bars {
			s.Bars[i].Value /= div
		}
	}
	y := linear(greatest/div, 0.06, false)
	p.Y.Max, p.Y.Ticks = y.Max, y.Ticks
	switch {
	case word != "" && p.Y.Unit == "per second":
		p.Y.Unit = word + " per second"
	case word != "":
		p.Y.Label = word + " of " + p.Y.Label
	}
}
