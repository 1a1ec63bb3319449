package plot

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"bgcstat/analysis"
)

// What is drawn of a heat map is bounded; an analysis has less.
const (
	mostCells = 12000
	mostRows  = 130
)

// heatMap is counts by time and value. Rows are bins of values, from the first to
// the last that is not empty.
type heatMap struct {
	cells    []cell
	rows     []analysis.HeatBin
	from, to float64 // Unix seconds
	greatest float64 // count
}

type cell struct {
	from, to, count float64
	row             int
}

// newHeatMap takes the cells that can be drawn; it has none where there is none.
func newHeatMap(h *analysis.Heat) heatMap {
	m := heatMap{from: math.Inf(1), to: math.Inf(-1)}
	if h == nil || !(h.BucketSeconds >= 1e-6 && h.BucketSeconds < 1e10) {
		return m
	}
	sound := func(b analysis.HeatBin) bool { return b.From > 0 && b.From < b.To && finite(b.To) }
	first, last := len(h.Bins), -1
	for _, b := range h.Series {
		for i, n := range b.Counts[:min(len(b.Counts), len(h.Bins))] {
			if n > 0 && sound(h.Bins[i]) {
				first, last = min(first, i), max(last, i)
			}
		}
	}
	if first > last || last-first >= mostRows || slices.ContainsFunc(h.Bins[first:last+1], func(b analysis.HeatBin) bool { return !sound(b) }) {
		return m
	}
	m.rows = h.Bins[first : last+1]
	for _, b := range h.Series {
		from := unixSeconds(b.Start.Time)
		to := from + h.BucketSeconds
		if from >= to || !finite(to) {
			continue
		}
		for i := first; i <= last && i < len(b.Counts); i++ {
			if n := float64(b.Counts[i]); n > 0 && len(m.cells) < mostCells {
				m.cells = append(m.cells, cell{from, to, n, i - first})
				m.from, m.to, m.greatest = min(m.from, from), max(m.to, to), max(m.greatest, n)
			}
		}
	}
	return m
}

// axis has a row for each bin.
func (m heatMap) axis(height float64, name func(analysis.HeatBin) string) Axis {
	a := Axis{Max: float64(len(m.rows))}
	const room = smallSize * 1.25
	every := max(1, int(math.Ceil(room*float64(len(m.rows))/height)))
	for i, b := range m.rows {
		t := Tick{At: float64(i) + 0.5}
		if i%every == 0 {
			t.Label = name(b)
		}
		a.Ticks = append(a.Ticks, t)
	}
	return a
}

// height of a field with so many rows.
func (m heatMap) height() float64 { return min(220, max(70, 13*float64(len(m.rows)))) }

// sizesOf names a bin of whole numbers.
func sizesOf(b analysis.HeatBin) string {
	if b.To <= b.From+1 {
		return decimal(b.From, 0)
	}
	return decimal(b.From, 0) + "–" + decimal(b.To-1, 0)
}

// fromTime names a bin of seconds by where it begins, in milliseconds.
func fromTime(b analysis.HeatBin) string { return significant(1000 * b.From) }

func heat(r *analysis.Result) (*Figure, string) {
	var latency heatMap
	if r.IO != nil {
		latency = newHeatMap(r.IO.LatencyOverTime)
	}
	sizes := newHeatMap(r.Groups.SizeOverTime)
	if len(latency.cells) == 0 && len(sizes.cells) == 0 {
		if r.Transactions == 0 {
			return nil, "there are no transactions"
		}
		return nil, "neither how long each sync took is known nor how large the groups were by time"
	}
	f := &Figure{
		Title:   "How long binlog syncs took, and how large groups were, over time",
		Reading: "Each column is a stretch of time, and the darker a field the more syncs or groups were there (on a dark ground: the lighter); a band that moves up is syncs that grew slower, or groups that grew larger.",
	}

	switch {
	case len(latency.cells) == 0:
		f.Title = "How large groups were over time"
	case len(sizes.cells) == 0:
		f.Title = "How long binlog syncs took over time"
	}

	// 1. The time axis is that of the groups, and of syncs by and by.
	x := sizes
	if len(x.cells) == 0 {
		x = latency
	} else if len(latency.cells) > 0 && latency.from < x.to && latency.to > x.from {
		x.from, x.to = min(x.from, latency.from), max(x.to, latency.to)
	}
	f.X = Axis{Label: "time", Unit: "UTC", Min: x.from, Max: x.to, Ticks: timeTicks(x.from, x.to)}

	// 2. Latency.
	p := Panel{Y: Axis{Label: "sync latency", Unit: "ms", Max: 1}, Height: 50}
	switch within := latency.within(x.from, x.to); {
	case len(latency.cells) == 0:
		p.Note = "How long each sync took over time is not known: it takes a trace with an event for each, by bpf."
	case within == 0:
		p.Note = "The trace has no sync in the time of these transactions."
	default:
		p.Height, p.Y = latency.height(), latency.axis(latency.height(), fromTime)
		p.Y.Label, p.Y.Unit = "sync latency", "ms; each row from its number to that of the next"
		p.Series = latency.series(f.X, "syncs")
		f.Subtitle = append(f.Subtitle, fmt.Sprintf("Syncs of the binlog that made transactions durable: basis measured, counted %s, by the clock of the host. A column is %s.%s", sourceOf(r.IO), span(r.IO.LatencyOverTime.BucketSeconds), allInWords(r.IO)))
		f.Alt = "Heat map of how long binlog syncs took over time." + allInWords(r.IO)
	}
	f.Panels = append(f.Panels, p)

	// 3. Sizes.
	p = Panel{Y: Axis{Label: "group size", Unit: "transactions", Max: 1}, Height: 50}
	if len(sizes.cells) == 0 {
		p.Note = "How large the groups were over time is not known."
	} else {
		p.Height, p.Y = sizes.height(), sizes.axis(sizes.height(), sizesOf)
		p.Y.Label, p.Y.Unit = "group size", "transactions in a sync group"
		p.Series = sizes.series(f.X, "groups")
		words := ""
		if g := r.Groups.Sync; g != nil && g.Size != nil {
			words = fmt.Sprintf(" Mean size %s, largest %s.", significant(g.Size.Mean), count(g.Size.Max))
		}
		f.Subtitle = append(f.Subtitle, fmt.Sprintf("Sync groups: %s, each counted where it begins. A column is %s.%s", groupsBasis(r), span(r.Groups.SizeOverTime.BucketSeconds), words))
		if f.Alt != "" {
			f.Alt += " "
		}
		f.Alt += fmt.Sprintf("Heat map of the size of sync groups over time (%s).%s", groupsBasis(r), words)
	}
	f.Panels = append(f.Panels, p)
	return f, ""
}

// within counts the cells that begin on an axis.
func (m heatMap) within(from, to float64) int {
	n := 0
	for _, c := range m.cells {
		if c.to > from && c.from < to {
			n++
		}
	}
	return n
}

// series has one for each step of the ramp, the fewest first, of the cells on
// the axis. Their counts rise by about the same factor from step to step.
func (m heatMap) series(x Axis, what string) []Series {
	limits := steps(m.greatest)
	out := make([]Series, len(limits))
	for i, low := range limits {
		high := math.Inf(1)
		if i+1 < len(limits) {
			high = limits[i+1]
		}
		// Few steps take the whole ramp, one its middle.
		shade := len(ramp) / 2
		if len(limits) > 1 {
			shade = i * (len(ramp) - 1) / (len(limits) - 1)
		}
		out[i] = Series{Label: stepName(low, high, m.greatest), Kind: Cells, Color: ramp[shade]}
		out[i].Bars = m.bars(x, low, high)
	}
	out = slices.DeleteFunc(out, func(s Series) bool { return len(s.Bars) == 0 })
	if n := len(out); n > 0 {
		if m.greatest == 1 {
			what = strings.TrimSuffix(what, "s")
		}
		out[n-1].Label += " " + what
	}
	return out
}

// bars are the cells on the axis with counts from low to below high, row by row;
// those side by side are one.
func (m heatMap) bars(x Axis, low, high float64) []Bar {
	rows := make([][]Bar, len(m.rows))
	for _, c := range m.cells {
		from, to := max(c.from, x.Min), min(c.to, x.Max)
		if c.count < low || c.count >= high || from >= to {
			continue
		}
		row := rows[c.row]
		if n := len(row); n > 0 && math.Abs(row[n-1].To-from) < (c.to-c.from)/1000 {
			row[n-1].To = to
		} else {
			rows[c.row] = append(row, Bar{From: from, To: to, Low: float64(c.row), Value: float64(c.row + 1)})
		}
	}
	return slices.Concat(rows...)
}

// steps gives where the steps of the ramp begin for counts up to greatest: as
// many as there are colours, or fewer.
func steps(greatest float64) []float64 {
	all := []float64{1}
	for len(all) < 60 {
		next := round125(all[len(all)-1] * 1.5)
		if next > greatest {
			break
		}
		all = append(all, next)
	}
	every := (len(all) + len(ramp) - 1) / len(ramp)
	var limits []float64
	for i := 0; i < len(all); i += every {
		limits = append(limits, all[i])
	}
	return limits
}

// stepName names the counts of a step, which end below high.
func stepName(low, high, greatest float64) string {
	switch {
	case math.IsInf(high, 1) && low < greatest:
		return "from " + countsInShort(low)
	case math.IsInf(high, 1), high == low+1:
		return countsInShort(low)
	case low >= 1e4:
		return "from " + countsInShort(low)
	default:
		return significant(low) + "–" + significant(high-1)
	}
}

func countsInShort(v float64) string {
	switch {
	case v >= 1e9:
		return strconv.FormatFloat(v, 'g', 3, 64)
	case v >= 1e6:
		return significant(v/1e6) + "M"
	case v >= 1e4:
		return significant(v/1e3) + "k"
	default:
		return significant(v)
	}
}
