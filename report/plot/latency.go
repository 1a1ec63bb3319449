package plot

import (
	"fmt"
	"math"
	"strings"

	"bgcstat/analysis"
)

const mostLatencyBins = 32

func syncLatency(r *analysis.Result) (*Figure, string) {
	if why := noLatency(r.IO); why != "" {
		return nil, why
	}
	bins, left := latencyBins(r.IO.LatencyBySize)
	if len(bins) == 0 {
		return nil, fmt.Sprintf("none of %s of group sizes has a latency above 0", plural(int64(left), "range"))
	}
	f := &Figure{
		Title: "How long a binlog sync took, by the transactions it made durable",
		Subtitle: []string{
			fmt.Sprintf("How long each fsync or fdatasync of the binlog took: basis measured, %s.%s", sourceOf(r.IO), allInWords(r.IO)),
			"A level line means that a larger group costs no more to sync than a small one. Percentiles are nearest rank: of fewer than 100 syncs p99 is the slowest." + leftOut(left),
		},
		X: Axis{Label: "group size", Unit: "transactions made durable by one sync", Max: float64(len(bins))},
	}
	var p50, p99 []Point
	syncs := Series{Kind: Filled, Color: blue}
	least, greatest, most := math.Inf(1), 0.0, int64(0)
	for _, b := range bins {
		most = max(most, b.Syncs)
	}
	div, word := large(float64(most))
	for i, b := range bins {
		name := sizeOf(b)
		if b.To > b.From {
			if f.X.Shaded == 0 && i > 0 {
				f.X.Unit, f.X.Shaded = "transactions made durable by one sync; shaded: ranges of sizes", float64(i)
			}
		}
		middle := float64(i) + 0.5
		f.X.Ticks = append(f.X.Ticks, Tick{At: middle, Label: name})
		for _, v := range []float64{b.P50, b.P99} {
			least, greatest = min(least, 1000*v), max(greatest, 1000*v)
		}
		p50 = append(p50, Point{middle, 1000 * b.P50})
		p99 = append(p99, Point{middle, 1000 * b.P99})
		n := float64(b.Syncs) / div
		syncs.Bars = append(syncs.Bars, Bar{From: float64(i), To: float64(i + 1), Value: n, Label: significant(n)})
	}

	thin(f.X.Ticks)

	const wide = 15 // as a factor: then a median near 0 could not be read
	times := Panel{Y: linear(greatest, 0.08, false), Height: 190}
	times.Y.Label, times.Y.Unit = "sync latency", "ms"
	if greatest/least > wide {
		times.Y = decades(least, greatest)
		times.Y.Label, times.Y.Unit = "sync latency", "ms, logarithmic"
	}
	dot, line, dashed := Stroke{Width: 5}, Stroke{Width: 1.6}, Stroke{Width: 1.6, Dash: []float64{5, 2.5}}
	times.Series = []Series{
		{Label: "median (p50)", Kind: Line, Color: blue, Stroke: &line, Points: p50},
		{Kind: Dots, Color: blue, Stroke: &dot, Points: p50},
		{Label: "p99", Kind: Line, Color: vermillion, Stroke: &dashed, Points: p99},
		{Kind: Dots, Color: vermillion, Stroke: &dot, Points: p99},
	}
	counts := Panel{Y: linear(float64(most)/div, 0.25, div == 1), Height: 70, Series: []Series{syncs}}
	counts.Y.Label, counts.Y.Unit = "syncs of that size", "number"
	if word != "" {
		counts.Y.Unit = word
	}
	f.Panels = []Panel{times, counts}
	f.Reading = "A line that stays level from left to right means that a large group costs no more to sync than a small one, so grouping saves time; the bars below say how many syncs each point stands for."
	f.Alt = "Lines of sync latency by group size." + allInWords(r.IO)
	if n := len(bins); n > 1 {
		f.Alt += fmt.Sprintf(" The median is %s for groups of %s and %s for those of %s.", milliseconds(bins[0].P50), sizeOf(bins[0]), milliseconds(bins[n-1].P50), sizeOf(bins[n-1]))
	}
	return f, ""
}

// noLatency says why the latency by size is not known, or nothing where it is.
func noLatency(io *analysis.IO) string {
	switch {
	case io == nil:
		return "no trace of syncs goes with the log, so how long they took is not known"
	case len(io.LatencyBySize) > 0:
		return ""
	case len(io.Syncs) == 0:
		return "the trace counts no syncs (source " + shorten(io.Source, 16) + "), so how long they took is not known"
	case io.Syncs[classBinlog].Latency == nil:
		return "the trace does not say how long binlog syncs took (source " + shorten(io.Source, 16) + ")"
	default:
		return "the trace does not say how long the binlog syncs of each group size took (source " + shorten(io.Source, 16) + ")"
	}
}

// latencyBins returns the bins that can be drawn, and how many are left out.
func latencyBins(all []analysis.SizeLatency) (bins []analysis.SizeLatency, left int) {
	for _, b := range all {
		if len(bins) < mostLatencyBins && b.From > 0 && b.From <= b.To && b.Syncs > 0 && timed(b.P50) && timed(b.P99) {
			bins = append(bins, b)
		} else {
			left++
		}
	}
	return bins, left
}

// sizeOf names the sizes of a bin.
func sizeOf(b analysis.SizeLatency) string {
	if b.To > b.From {
		return count(b.From) + "–" + count(b.To)
	}
	return count(b.From)
}

// timed says whether v is a time that a sync may take, in seconds; NaN is none.
func timed(v float64) bool { return v >= 1e-9 && v < 1e6 }

func leftOut(left int) string {
	if left == 0 {
		return ""
	}
	return fmt.Sprintf(" Left out: %s of sizes beyond the first %d, or without a latency above 0.", plural(int64(left), "range"), mostLatencyBins)
}

// allInWords is the latency of all syncs of the binlog.
func allInWords(io *analysis.IO) string {
	s, ok := io.Syncs[classBinlog]
	if !ok {
		return ""
	}
	out := " Of " + plural(s.Count, "binlog sync") + " in all"
	if s.Latency == nil || s.Latency.P50 == nil || s.Latency.P99 == nil || !timed(*s.Latency.P50) || !timed(*s.Latency.P99) {
		return out + " the percentiles are not known."
	}
	return out + fmt.Sprintf(" the median took %s and p99 %s.", milliseconds(*s.Latency.P50), milliseconds(*s.Latency.P99))
}

func milliseconds(seconds float64) string { return significant(1000*seconds) + " ms" }

// thin takes away labels, evenly, until the rest have room side by side.
func thin(ticks []Tick) {
	const room = 500.0 // points that the axis is long at least
	widest := 0.0
	for _, t := range ticks {
		from, to, _ := strings.Cut(t.Label, "–") // where it may be broken
		widest = max(widest, textWidth(from+"–", smallSize, false), textWidth(to, smallSize, false))
	}
	every := int(math.Ceil((widest + 5) * float64(len(ticks)) / room))
	for i := range ticks {
		if i%every != 0 {
			ticks[i].Label = ""
		}
	}
}

// decades returns a logarithmic axis around two numbers above 0, with labels at
// 1, 2 and 5 times the powers of ten where there are few of them.
func decades(least, greatest float64) Axis {
	a := Axis{Min: least / 1.5, Max: greatest * 1.5, Log: true}
	first, last := math.Floor(math.Log10(a.Min)), math.Floor(math.Log10(a.Max))
	every := 1 + math.Floor((last-first)/8)
	for d := first; d <= last; d++ {
		for m := 1.0; m < 10; m++ {
			t := Tick{At: m * math.Pow(10, d)}
			if t.At < a.Min || t.At > a.Max {
				continue
			}
			few := last-first < 4
			switch {
			case m == 1 && math.Mod(d, every) == 0, few && (m == 2 || m == 5):
				t.Label = label(t.At, math.Pow(10, d))
			case !few && m > 1:
				continue
			}
			a.Ticks = append(a.Ticks, t)
		}
	}
	return a
}
