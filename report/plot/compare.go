package plot

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"bgcstat/analysis"
	"bgcstat/report"
)

// Names of the figures of a comparison.
const (
	CompareChange    = "compare-change"
	CompareTimeline  = "compare-timeline"
	CompareGroupSize = "compare-group-size"
)

// CompareNames are those of all figures of a comparison, in their order.
func CompareNames() []string { return []string{CompareChange, CompareTimeline, CompareGroupSize} }

// mostCompared columns of a comparison are drawn: more lines are not told apart.
const mostCompared = len(syncLines)

// Compare returns the figures that c carries the data of, and names the others
// with the reason. Neither changes c nor keeps parts of it.
func Compare(c *analysis.Comparison) ([]Figure, []Absent) {
	var figures []Figure
	var absent []Absent
	for _, b := range []struct {
		name  string
		build func(*analysis.Comparison) (*Figure, string)
	}{
		{CompareChange, compareChange},
		{CompareTimeline, compareTimeline},
		{CompareGroupSize, compareGroupSize},
	} {
		f, why := b.build(c)
		if f == nil {
			absent = append(absent, Absent{b.name, why})
			continue
		}
		f.Name = b.name
		f.Subtitle = append([]string{columnsInWords(c)}, f.Subtitle...)
		f.Footer = warnings(&analysis.Result{Warnings: c.Warnings})
		figures = append(figures, *f)
	}
	return figures, absent
}

// shownColumns are the columns that are drawn.
func shownColumns(c *analysis.Comparison) []analysis.Column {
	return c.Columns[:min(len(c.Columns), mostCompared)]
}

// columnsInWords names the columns, and says how many are left out.
func columnsInWords(c *analysis.Comparison) string {
	var parts []string
	for i, col := range shownColumns(c) {
		s := entry(c, i)
		if n := len(col.Runs); n > 1 {
			s += fmt.Sprintf(" (%d runs)", n)
		}
		parts = append(parts, s)
	}
	s := strings.Join(parts, ", ")
	if n := len(c.Columns); n > mostCompared {
		s += fmt.Sprintf(". Only the first %d of %d columns are drawn; the table has all of them.", mostCompared, n)
	}
	return s
}

// mostName is how many characters of a column's name are written. A legend
// shortens it further where its line has no room for so many.
const mostName = 60

// entry is what a column is called in a legend.
func entry(c *analysis.Comparison, i int) string {
	return report.Letter(i) + " " + shorten(c.Columns[i].Name, mostName)
}

// mostChange is the longest bar, as a share: others would be too short to be
// seen beside a longer one.
const mostChange = 4

// compareChange has a row for each figure, and in it a bar for each column but
// the first.
func compareChange(c *analysis.Comparison) (*Figure, string) {
	keys := report.KeyFigures(c)
	columns := shownColumns(c)
	switch {
	case len(columns) < 2:
		return nil, "all runs are repeats of one another"
	case len(keys) == 0:
		return nil, "no figure is known of two columns"
	}
	p := Panel{Y: Axis{Label: "figure", Unit: "relative to A", Max: float64(len(keys))}}
	p.Height = float64(len(keys)) * (12*float64(len(columns)-1) + 9)
	zero := Series{Kind: Line, Color: black, Stroke: &Stroke{Width: 0.8}, Points: []Point{{0, 0}, {0, p.Y.Max}}}
	p.Series = append(p.Series, zero)
	for i := 1; i < len(columns); i++ {
		p.Series = append(p.Series, Series{Label: entry(c, i), Kind: Across, Color: syncLines[i].color})
	}
	least, greatest, longer := 0.0, 0.1, false
	for row, k := range keys {
		top := float64(len(keys) - row)
		p.Y.Ticks = append(p.Y.Ticks, Tick{At: top - 0.5, Label: k.Word})
		thick := 0.8 / float64(len(columns)-1)
		for i := 1; i < len(columns); i++ {
			b := Bar{Value: top - 0.1 - thick*float64(i-1), Label: "not known"}
			b.Low = b.Value - 0.9*thick
			if v := k.Values[i]; v != nil && v.Difference != "" {
				b.Label = report.ChangeInWords(k.Values[0], v, k.Unit, c.Repeats())
				if v.Change != nil {
					b.From, b.To = 100*min(0, *v.Change), 100*min(mostChange, max(0, *v.Change))
					longer = longer || *v.Change > mostChange
				}
			}
			least, greatest = min(least, b.From), max(greatest, b.To)
			p.Series[i].Bars = append(p.Series[i].Bars, b)
		}
	}
	f := &Figure{
		Title:   "What changes, relative to " + report.Letter(0),
		Reading: "Bars to the right are more than in A, bars to the left less. Where transactions grow more than syncs, commits shared more of them.",
		Alt:     "Bar chart of changes relative to A. " + shorten(headlines(c), 800) + ".",
		X:       around(least, greatest),
		Panels:  []Panel{p},
	}
	f.X.Label, f.X.Unit = "change", "% of A"
	f.Subtitle = append(f.Subtitle, basesInWords(c, keys))
	said := "Each column is one run: no range tells a difference from chance."
	if c.Repeats() {
		said = "Bars are medians of repeats. “none” is where the ranges or intervals of both overlap; “?” is where one is a single run, or an estimate without an interval."
	}
	if longer {
		said += fmt.Sprintf(" Bars of more than +%d %% are cut.", 100*mostChange)
	}
	f.Subtitle = append(f.Subtitle, said)
	return f, ""
}

func headlines(c *analysis.Comparison) string {
	var parts []string
	for i := 1; i < len(shownColumns(c)); i++ {
		parts = append(parts, report.Letter(i)+": "+report.Headline(c, i))
	}
	return strings.Join(parts, "; ")
}

// basesInWords names the figures of each basis.
func basesInWords(c *analysis.Comparison, keys []report.KeyFigure) string {
	var parts []string
	for _, b := range []analysis.Basis{analysis.Exact, analysis.Measured, analysis.Estimated, analysis.Bounded} {
		var words []string
		for _, k := range keys {
			for _, v := range k.Values[:len(shownColumns(c))] {
				if v != nil && v.Basis == b {
					words = append(words, k.Word)
					break
				}
			}
		}
		if len(words) > 0 {
			parts = append(parts, fmt.Sprintf("basis %s: %s", b, strings.Join(words, ", ")))
		}
	}
	s := strings.Join(parts, "; ") + "."
	return strings.ToUpper(s[:1]) + s[1:]
}

// around returns an axis from a little below least to a little above greatest,
// which are on both sides of 0, with ticks at round values.
func around(least, greatest float64) Axis {
	length := greatest - least
	step := round125(length / 6)
	a := Axis{Min: least, Max: greatest + 0.16*length} // with room for labels
	if least < 0 {
		a.Min -= 0.03 * length
	}
	for i := math.Ceil(a.Min/step) + 0; i*step <= a.Max; i++ { // + 0, since it may be a negative zero
		s := label(i*step, step)
		if i > 0 {
			s = "+" + s
		}
		a.Ticks = append(a.Ticks, Tick{At: i * step, Label: s})
	}
	return a
}

// compareGroupSize sets the distributions of group sizes side by side.
func compareGroupSize(c *analysis.Comparison) (*Figure, string) {
	columns := shownColumns(c)
	var greatest int64
	var of []string
	known := 0
	for i, col := range columns {
		size := greatestSize(col.Sizes)
		greatest = max(greatest, size)
		if size < 1 {
			of = append(of, report.Letter(i)+" not known")
			continue
		}
		known++
		s := fmt.Sprintf("%s basis %s", report.Letter(i), col.SizesBasis)
		if mean := meanSize(c, i); mean != "" {
			s += ", mean " + mean
		}
		of = append(of, s)
	}
	if known == 0 {
		return nil, "the sizes of sync groups are not known of any run"
	}
	bins, ranges := sizeBins(greatest, 0)
	f := &Figure{
		Title:    "Transactions by the size of their commit group (sync group)",
		Subtitle: []string{strings.Join(of, "; ") + "."},
		Reading:  "The further to the right the bars of a run are, the more of its transactions shared a sync of the binlog with many others; those at 1 committed alone.",
		Alt:      "Bar chart of the shares of transactions by the size of their group. " + shorten(strings.Join(of, "; "), 700) + ".",
		X:        Axis{Label: "group size", Unit: "transactions", Max: float64(len(bins))},
	}
	if slices.ContainsFunc(columns, func(col analysis.Column) bool { return len(col.Runs) > 1 }) {
		f.Subtitle = append(f.Subtitle, "The groups of repeats are taken together.")
	}
	if ranges > 0 {
		f.X.Unit, f.X.Shaded = "transactions; shaded: ranges of sizes", float64(ranges)
	}
	for i, b := range bins {
		f.X.Ticks = append(f.X.Ticks, Tick{At: float64(i) + 0.5, Label: b.String()})
	}
	most := 0.0
	p := Panel{Height: 220}
	nth := 0
	for i, col := range columns {
		if greatestSize(col.Sizes) < 1 {
			continue
		}
		s := Series{Label: entry(c, i), Kind: Filled, Color: syncLines[i].color}
		const margin = 0.08 // on both sides of a bin
		width := (1 - 2*margin) / float64(known)
		for at, share := range bin(col.Sizes, bins).share {
			if share > 0 {
				from := float64(at) + margin + width*float64(nth)
				s.Bars = append(s.Bars, Bar{From: from, To: from + width, Value: 100 * share})
				most = max(most, share)
			}
		}
		nth++
		p.Series = append(p.Series, s)
	}
	p.Y = linear(100*most, 0.06, false)
	p.Y.Label, p.Y.Unit = "transactions in groups of that size", "% of all in groups"
	f.Panels = []Panel{p}
	return f, ""
}

// meanSize is the mean group size of a column, "" where it is not known.
func meanSize(c *analysis.Comparison, column int) string {
	for i := range c.Figures {
		if f := &c.Figures[i]; f.Name == "group_size_mean" && f.Values[column] != nil && f.Values[column].Value != nil {
			return report.Measure(*f.Values[column].Value, f.Unit)
		}
	}
	return ""
}
