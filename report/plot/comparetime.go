package plot

import (
	"fmt"
	"math"
	"strings"

	"bgcstat/analysis"
	"bgcstat/report"
)

// compareTimeline lays the typical runs of the columns over each other, from
// the start of each.
func compareTimeline(c *analysis.Comparison) (*Figure, string) {
	end, bucket := 0.0, 0.0
	first := false // some time counts from the first transaction
	var typical []string
	for i, col := range shownColumns(c) {
		r := &c.Runs[col.Typical]
		if len(col.Runs) > 1 {
			typical = append(typical, report.Letter(i)+" "+shorten(r.Name, mostName))
		}
		if r.Timeline == nil {
			continue
		}
		for _, rates := range []*analysis.RunRates{r.Timeline.Transactions, r.Timeline.BinlogSyncs} {
			if usable(rates) {
				end, bucket = max(end, endOf(r, rates)), max(bucket, rates.BucketSeconds)
				first = first || rates.From == analysis.FromFirst
			}
		}
	}
	if end <= 0 {
		return nil, "of no run is known when its transactions were committed"
	}
	step := bucket * perColumn(math.Round(end/bucket), bucket, mostSyncSteps)
	unit := perSecond
	switch {
	case end > 6*hour:
		unit = unitOfTime{hour, "hour", "h"}
	case end > 10*minute:
		unit = unitOfTime{minute, "minute", "min"}
	}
	f := &Figure{
		Title:    "The runs over time",
		Subtitle: []string{fmt.Sprintf("Each step is the mean over %s.", span(step))},
		Reading:  "Lines that rise and fall together in both panels are commits that each paid for a sync; where transactions are higher and syncs are not, more of them shared one.",
		X:        linear(end/unit.seconds, 0, false),
	}
	f.X.Label, f.X.Unit = "since the command began", unit.short
	if first {
		f.X.Label = "since the start"
		f.Subtitle[0] += " The transactions of runs on another host count from their first one, and not from when the command began."
	}
	if len(typical) > 0 {
		f.Subtitle[0] += " Of repeats the run with the median elapsed time is drawn: " + strings.Join(typical, ", ") + "."
	}
	transactions := func(t *analysis.Timeline) *analysis.RunRates { return t.Transactions }
	syncs := func(t *analysis.Timeline) *analysis.RunRates { return t.BinlogSyncs }
	var words [2]string
	f.Panels = make([]Panel, 2)
	f.Panels[0], words[0] = comparedRates(c, "transactions", step, unit.seconds, true, transactions)
	f.Panels[1], words[1] = comparedRates(c, "binlog syncs", step, unit.seconds, false, syncs)
	f.Subtitle = append(f.Subtitle, words[0]+" "+words[1])
	f.Alt = fmt.Sprintf("Lines over %s, one for each of %d columns. %s", span(math.Ceil(end)), len(shownColumns(c)), shorten(words[0]+" "+words[1], 600))
	return f, ""
}

// usable reports whether rates can be drawn.
func usable(r *analysis.RunRates) bool {
	const shortest, longest = 1e-6, 1e10 // what times are in, and three centuries
	return r != nil && len(r.Series) > 0 && r.BucketSeconds >= shortest && r.BucketSeconds < longest
}

// endOf is when a run ended, in seconds since its start.
func endOf(r *analysis.ComparedRun, rates *analysis.RunRates) float64 {
	if r.Seconds > 0 && finite(r.Seconds) {
		return r.Seconds
	}
	return max(0, rates.Series[len(rates.Series)-1].Start+rates.BucketSeconds)
}

// comparedRates is a panel with a line for each column, and says what it rests
// on. Where zero is true, time without a bucket had none; else nothing is known
// of it.
func comparedRates(c *analysis.Comparison, what string, step, unit float64, zero bool, of func(*analysis.Timeline) *analysis.RunRates) (Panel, string) {
	p := Panel{Y: Axis{Label: what, Unit: "per second", Max: 1}, Height: 150}
	greatest := 0.0
	var bases []analysis.Basis
	known := map[analysis.Basis][]string{} // letters
	var unknown []string
	for i, col := range shownColumns(c) {
		r := &c.Runs[col.Typical]
		var rates *analysis.RunRates
		if r.Timeline != nil {
			rates = of(r.Timeline)
		}
		var bars []Bar
		if usable(rates) {
			bars = meanRates(rates, endOf(r, rates), step, zero)
		}
		if len(bars) == 0 {
			unknown = append(unknown, report.Letter(i))
			continue
		}
		if known[rates.Basis] == nil {
			bases = append(bases, rates.Basis)
		}
		known[rates.Basis] = append(known[rates.Basis], report.Letter(i))
		for at := range bars {
			greatest = max(greatest, bars[at].Value)
			bars[at].From, bars[at].To = bars[at].From/unit, bars[at].To/unit
		}
		p.Series = append(p.Series, Series{Label: entry(c, i), Kind: Levels, Color: syncLines[i].color, Stroke: new(syncLines[i].stroke), Bars: bars})
	}
	if len(known) == 0 {
		p.Height, p.Note = 50, fmt.Sprintf("The %s of no run are known over time.", what)
		return p, strings.ToUpper(what[:1]) + what[1:] + " over time are not known of any run."
	}
	div, word := large(greatest)
	for _, s := range p.Series {
		for i := range s.Bars {
			s.Bars[i].Value /= div
		}
	}
	y := linear(greatest/div, 0.06, false)
	p.Y.Max, p.Y.Ticks = y.Max, y.Ticks
	if word != "" {
		p.Y.Unit = word + " per second"
	}
	var parts []string
	for _, b := range bases {
		s := string(b)
		if len(bases) > 1 {
			s += " " + strings.Join(known[b], " ")
		}
		parts = append(parts, s)
	}
	s := strings.ToUpper(what[:1]) + what[1:] + ": basis " + strings.Join(parts, ", ")
	if len(unknown) > 0 {
		s += "; not known of " + strings.Join(unknown, ", ")
	}
	return p, s + "."
}

// meanRates are the rates per second in steps from 0 to end. A bucket that
// reaches beyond the run is taken for what was in the run, since little else
// goes on, and counts in each step by how much of it lies there. A last step of
// less than a half is part of the one before, or its rate would be that of few
// samples.
func meanRates(r *analysis.RunRates, end, step float64, zero bool) []Bar {
	n := max(1, int(math.Round(end/step)))
	sums, sampled := make([]float64, n), make([]float64, n)
	at := func(v float64) int { return int(min(float64(n-1), math.Floor(v/step))) }
	edge := func(i int) float64 {
		if i == n {
			return end
		}
		return float64(i) * step
	}
	for _, b := range r.Series {
		from, to := max(0, b.Start), min(end, b.Start+r.BucketSeconds)
		if from >= to {
			continue
		}
		for i := at(from); i <= at(to); i++ {
			within := max(0, min(to, edge(i+1))-max(from, edge(i)))
			sums[i] += max(0, float64(b.Count)) * within / (to - from)
			sampled[i] += within
		}
	}
	var bars []Bar
	for i := range n {
		length := edge(i+1) - edge(i)
		if !zero {
			length = sampled[i]
		}
		if length > 0 {
			bars = append(bars, Bar{From: edge(i), To: edge(i + 1), Value: sums[i] / length})
		}
	}
	return bars
}
