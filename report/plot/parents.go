package plot

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"bgcstat/analysis"
)

const (
	pieces     = 48  // of the log, each with a median
	spotsAlong = 900 // places a point can be told apart at, along the log
	spotsUp    = 300
)

func parents(r *analysis.Result) (*Figure, string) {
	if r.Parents == nil || len(r.Parents.Points) == 0 {
		return nil, "no transaction has last_committed and sequence_number"
	}
	var points []analysis.Parent
	left := int64(0)
	last, farthest := int64(1), int64(1)
	for _, p := range r.Parents.Points {
		if p.Distance < 1 || p.Index < 0 {
			left++
			continue
		}
		points = append(points, p)
		last, farthest = max(last, p.Index), max(farthest, p.Distance)
	}
	if len(points) == 0 {
		return nil, fmt.Sprintf("all of %s are 0 or below", plural(left, "parent distance"))
	}

	f := &Figure{
		Title: "How far back last_committed points: one dot a transaction",
		Subtitle: []string{
			"The distance is sequence_number − last_committed, as the log states it: at 1 a replica has to wait for the transaction just before, at 1,000 it may apply the transaction beside the 999 before it." + drawn(r.Parents.Every, left),
			"A low, level band is commit order; it is about as high as the number of clients that commit at the same time, and single dots high above it are transactions that were open for long. " +
				"Distances that climb with the log are WRITESET: the server compared the rows that changed, and last_committed says nothing about commit groups. " +
				"But a row that everybody changes, tables without keys, and a history (binlog_transaction_dependency_history_size) of next to nothing look low under WRITESET, too.",
			mode(r.DependencyTracking) + observed(r),
		},
	}
	div, word := large(float64(last))
	f.X = linear(float64(last)/div, max(0.01, 0.5/float64(last)), div == 1)
	f.X.Label, f.X.Unit = "place in the log", "transactions"
	if word != "" {
		f.X.Unit = word + " of transactions"
	}
	// No distance can be longer than the log, so on an axis that long a low band
	// looks low.
	p := Panel{Y: logarithmic(float64(max(farthest, last))), Height: 260}
	p.Y.Label, p.Y.Unit = "parent distance", "transactions, logarithmic"
	proofs := slices.DeleteFunc(slices.Clone(points), func(p analysis.Parent) bool { return !p.Proof })
	points = slices.DeleteFunc(points, func(p analysis.Parent) bool { return p.Proof })
	all := slices.Concat(points, proofs)
	size := dotSize(len(all))
	if len(points) > 0 {
		p.Series = append(p.Series, Series{Label: "transaction", Kind: Dots, Color: blue, Stroke: size, Points: dots(points, f.X, p.Y, div)})
	}
	if len(proofs) > 0 {
		p.Series = append(p.Series, Series{Label: "proves WRITESET", Kind: Dots, Color: green, Stroke: size, Points: dots(proofs, f.X, p.Y, div)})
	}
	if m := medians(all, last, div); len(m) > 1 {
		p.Series = append(p.Series, Series{Label: "median along the log", Kind: Line, Color: vermillion, Points: m})
	}
	f.Panels = []Panel{p}
	f.Reading = "A low, level band is commit order; dots that climb with the log are WRITESET, where last_committed says nothing about commit groups, and those marked as proofs cannot come from commit order."
	f.Alt = fmt.Sprintf("Scatter plot of parent distances of %s along the log, from 1 to %s, %s of them proofs of WRITESET. %s", plural(int64(len(all)), "transaction"), count(farthest), count(int64(len(proofs))), mode(r.DependencyTracking)+observed(r))
	return f, ""
}

// dotSize is how large so many dots are: few of the usual size are hardly seen,
// and their colours not told apart.
func dotSize(n int) *Stroke {
	switch {
	case n <= 100:
		return &Stroke{Width: 5}
	case n <= 400:
		return &Stroke{Width: 3.6}
	default:
		return nil
	}
}

func drawn(every, left int64) string {
	s := ""
	if every > 1 {
		s = fmt.Sprintf(" One in %s transactions is drawn.", count(every))
	}
	if left > 0 {
		s += fmt.Sprintf(" Left out: %s of 0 or below.", plural(left, "distance"))
	}
	return s
}

// mode says what the server's version or settings say, or that they do not.
func mode(d analysis.DependencyTracking) string {
	switch d.ServerMode {
	case "", "unknown":
		return "Which of the two was set on the server is not known."
	case "none":
		return "The server does not track dependencies."
	}
	switch d.From {
	case "version", "settings":
		return fmt.Sprintf("By the server's %s: %s.", d.From, d.ServerMode)
	default:
		return fmt.Sprintf("The server's mode: %s (where that is known from is not stated).", d.ServerMode)
	}
}

// observed says what the log itself shows, the whole of it.
func observed(r *analysis.Result) string {
	const alike = "modes that are not distinguishable"
	var names []string
	proofs := int64(0)
	for _, s := range r.DependencyTracking.Stretches {
		name := fmt.Sprintf("%s (%s)", s.Observed, s.Certainty)
		if s.Observed == analysis.NotDistinguishable {
			name = alike
		}
		if n := len(names); n == 0 || names[n-1] != name {
			names = append(names, name)
		}
		proofs += s.Proofs
	}
	if len(names) == 0 {
		return ""
	}
	if len(names) > 3 {
		names = append(names[:3], "and so on")
	}
	s := " The log itself shows: " + strings.Join(names, ", then ") + "."
	if len(names) == 1 && names[0] == alike {
		s = " In the log itself the modes are not distinguishable."
	}
	if proofs > 0 {
		point := " point"
		if proofs == 1 {
			point = " points"
		}
		if r.Filters != nil {
			point = " of the whole log" + point
		}
		s += fmt.Sprintf(" %s%s further back than commit order can.", plural(proofs, "transaction"), point)
	}
	return s
}

// dots returns the points in the units of the axes, one for each spot of the
// picture: more would not be seen and take long to draw.
func dots(points []analysis.Parent, x, y Axis, div float64) []Point {
	type spot struct{ x, y int }
	seen := map[spot]bool{}
	var out []Point
	for _, p := range points {
		at := Point{float64(p.Index) / div, float64(p.Distance)}
		s := spot{int(at.X / x.Max * spotsAlong), int(math.Log(at.Y/y.Min) / math.Log(y.Max/y.Min) * spotsUp)}
		if !seen[s] {
			seen[s] = true
			out = append(out, at)
		}
	}
	return out
}

// medians returns the median distance, by nearest rank, of pieces of the log;
// none for logs that are too short for it to mean something.
func medians(points []analysis.Parent, last int64, div float64) []Point {
	if len(points) < 4*pieces {
		return nil
	}
	var in [pieces][]int64
	for _, p := range points {
		i := min(pieces-1, int(float64(p.Index)/float64(last)*pieces))
		in[i] = append(in[i], p.Distance)
	}
	var out []Point
	for i, d := range in {
		if len(d) == 0 {
			continue
		}
		slices.Sort(d)
		x := (float64(i) + 0.5) / pieces * float64(last) / div
		out = append(out, Point{x, float64(d[(len(d)-1)/2])})
	}
	return out
}
