package plot

import (
	"fmt"
	"math"
	"strings"
	"time"

	"bgcstat/analysis"
)

// mostColumns is how many columns the timeline has at most: each is wider than
// a pixel, and drawing a long line takes quadratic time.
const mostColumns = 400

// column is a stretch of time: one bucket, or several where there are too many
// to be drawn.
type column struct {
	transactions, groups, bytes          float64
	topTransactions, topGroups, topBytes float64 // of its highest bucket
	unknown                              bool    // the groups of one bucket
	from, to                             float64 // Unix seconds
}

// grid is the time axis of a series: columns side by side without gaps.
type grid struct {
	first     time.Time
	from, to  float64 // Unix seconds
	bucket    float64 // seconds
	perColumn float64 // buckets
}

// unixSeconds does not overflow, whatever the year.
func unixSeconds(t time.Time) float64 { return seconds(time.Unix(0, 0), t) }

// seconds is the time between two times. Unlike the difference of two Unix
// times in floating point it is exact to the nanosecond where they are close.
func seconds(from, to time.Time) float64 {
	return float64(to.Unix()-from.Unix()) + float64(to.Nanosecond()-from.Nanosecond())/1e9
}

// newGrid returns the grid for the buckets, and false where their times make
// no sense.
func newGrid(r *analysis.Rates) (grid, bool) {
	g := grid{to: math.Inf(-1), bucket: r.BucketSeconds}
	for i, b := range r.Series {
		if i == 0 || b.Start.Before(g.first) {
			g.first = b.Start.Time
		}
		g.to = max(g.to, unixSeconds(b.Start.Time)+g.bucket)
	}
	g.from = unixSeconds(g.first)
	const longest = 1e10 // three centuries
	if !(g.bucket > 0 && g.bucket < longest) || !finite(g.to-g.from) || g.to-g.from <= g.bucket/2 {
		return grid{}, false
	}
	g.perColumn = perColumn(g.buckets(), g.bucket, mostColumns)
	return g, true
}

// perColumn says how many of n buckets share a column so that there are at most
// so many columns.
func perColumn(n, bucket, most float64) float64 {
	if n <= most {
		return 1
	}
	least := math.Ceil(n / most)
	// A round width where a whole number of buckets gives one.
	for _, step := range timeSteps {
		k := math.Round(step / bucket)
		if k >= least && k < 2.5*least && math.Abs(k*bucket-step) < 1e-9*step {
			return k
		}
	}
	return least
}

func (g grid) buckets() float64 { return math.Round((g.to - g.from) / g.bucket) }
func (g grid) width() float64   { return g.bucket * g.perColumn }

// columns sums the buckets by column. A bucket that is not in the series had
// no transactions, so it counts as zero. The last column may be narrower.
func (g grid) columns(series []analysis.Bucket) []column {
	n := int(math.Ceil(g.buckets()/g.perColumn - 1e-9))
	cols := make([]column, max(1, n))
	for i := range cols {
		cols[i].from = g.from + float64(i)*g.width()
		cols[i].to = min(g.to, cols[i].from+g.width())
	}
	for _, b := range series {
		nth := math.Round(seconds(g.first, b.Start.Time) / g.bucket)
		c := &cols[min(len(cols)-1, int(nth/g.perColumn))]
		c.transactions += float64(b.Transactions)
		c.topTransactions = max(c.topTransactions, float64(b.Transactions))
		c.bytes += float64(b.Bytes)
		c.topBytes = max(c.topBytes, float64(b.Bytes))
		if b.SyncGroups == nil {
			c.unknown = true
			continue
		}
		c.groups += float64(*b.SyncGroups)
		c.topGroups = max(c.topGroups, float64(*b.SyncGroups))
	}
	return cols
}

func timeline(r *analysis.Result) (*Figure, string) {
	if r.Rates == nil || len(r.Rates.Series) == 0 {
		return nil, "no transaction has a time"
	}
	g, ok := newGrid(r.Rates)
	if !ok {
		return nil, fmt.Sprintf("the times of the transactions make no axis with buckets of %g s", r.Rates.BucketSeconds)
	}
	if g.buckets() <= 1 && g.bucket < 1 && (r.IO == nil || r.IO.Rates == nil) {
		return nil, "the transactions were committed within " + span(g.bucket) + ", too short a time for rates per second"
	}
	cols := g.columns(r.Rates.Series)

	f := &Figure{
		Title:    "Commits over time",
		Subtitle: []string{g.inWords(r.Window)},
		X:        Axis{Label: "time", Unit: "UTC", Min: g.from, Max: g.to},
	}
	f.X.Ticks = timeTicks(f.X.Min, f.X.Max)

	transactions := g.rates(cols, func(c column) (float64, float64, bool) { return c.transactions, c.topTransactions, true })
	per := perSecond
	if r.IO == nil { // syncs are by the second
		per = transactions.per()
	}
	f.Panels = append(f.Panels, transactions.panel("transactions", "per "+per.name, per, large))

	syncs, syncsInWords := g.syncs(r.IO)
	cpu, cpuInWords := g.cpu(r.IO)
	f.Panels = append(append(f.Panels, syncs...), cpu...)

	if why := noGroups(r, cols); why != "" {
		f.Panels = append(f.Panels, Panel{Y: Axis{Label: "sync groups", Unit: "per " + per.name, Max: 1}, Height: 50, Note: why})
		f.Subtitle = append(f.Subtitle, "Transactions and bytes are counted (basis exact).")
	} else {
		groups := g.rates(cols, func(c column) (float64, float64, bool) { return c.groups, c.topGroups, !c.unknown })
		f.Panels = append(f.Panels, groups.panel("sync groups", "per "+per.name, per, large))
		f.Subtitle = append(f.Subtitle, "Transactions and bytes are counted (basis exact). Sync groups: "+groupsBasis(r)+
			", each counted where it begins. The closer their rate to that of the transactions, the fewer commits shared a group.")
	}

	f.Subtitle = append(append(f.Subtitle, syncsInWords...), cpuInWords...)

	bytes := g.rates(cols, func(c column) (float64, float64, bool) { return c.bytes, c.topBytes, true })
	f.Panels = append(f.Panels, bytes.panel("binlog written by these transactions", "", per, bytesUnit))
	f.Reading = "All panels share the time axis: where transactions rise and syncs or sync groups do not, groups grew larger; where both rise alike, more syncs were paid for."
	if len(cpu) > 0 {
		f.Reading += " Iowait is time in which a CPU had nothing to do while a disk was waited for."
	}
	f.Alt = fmt.Sprintf("Timeline over %s: at most %s transactions and %s of binlog per %s.", span(g.to-g.from), significant(transactions.greatest*per.seconds), bytesInWords(whole(bytes.greatest*per.seconds)), per.name)
	if s := r.Groups.Sync; s != nil {
		f.Alt += " In all there were " + strings.Replace(numberInWords(s), "Between", "between", 1)
	}
	return f, ""
}

func groupsBasis(r *analysis.Result) string {
	if r.Groups.Sync == nil {
		return "basis not stated"
	}
	return basis(r.Groups.Sync.Basis, r.Groups.Sync.Method)
}

// inWords says what a step stands for.
func (g grid) inWords(w *analysis.Window) string {
	clock, about := "", ""
	if w != nil {
		switch w.Clock {
		case analysis.ClockCommit:
			clock = ", by time of commit"
		case analysis.ClockHeader:
			about = " The log has no times of commit: these are when the statement began, in whole seconds."
		}
	}
	s := "Each step is " + span(g.bucket) + clock
	if g.perColumn > 1 {
		s = fmt.Sprintf("Each step is the mean of %s%s, the thin line the highest %s within", span(g.width()), clock, span(g.bucket))
	}
	return s + "; time without transactions is zero, and the first and last step may be partly empty." + about
}

// noGroups says why sync groups over time are not known, or nothing where at
// least some are.
func noGroups(r *analysis.Result, cols []column) string {
	for _, c := range cols {
		if !c.unknown && c.transactions > 0 {
			return ""
		}
	}
	s := "Sync groups over time are not known from this log. "
	switch sync, bound := r.Groups.Sync, r.Groups.Bound; {
	case sync != nil && sync.Count == nil:
		return s + fmt.Sprintf("It only proves that there were between %s and %s in all (basis bound), not when.", count(sync.Low), count(sync.High))
	case sync != nil:
		return s + "There were " + strings.TrimSuffix(numberInWords(sync), ".") + " in all; when each began is not known."
	case bound != nil:
		return s + fmt.Sprintf("It only proves that there were between %s and %s in all (basis bound), not when.", count(bound.Lower), count(bound.Upper))
	default:
		return s + "Nothing in it tells which transactions were synced together."
	}
}

// rates is one figure per second along the grid.
type rates struct {
	means, tops, unknown []Bar
	greatest             float64
}

func (g grid) rates(cols []column, of func(column) (sum, top float64, known bool)) rates {
	var r rates
	for _, c := range cols {
		sum, top, known := of(c)
		if !known {
			if n := len(r.unknown); n > 0 && c.from-r.unknown[n-1].To < g.width()/1000 {
				r.unknown[n-1].To = c.to
			} else {
				r.unknown = append(r.unknown, Bar{From: c.from, To: c.to})
			}
			continue
		}
		if sum <= 0 {
			continue
		}
		mean := sum / (c.to - c.from)
		r.means = append(r.means, Bar{From: c.from, To: c.to, Value: mean})
		r.greatest = max(r.greatest, mean)
		if g.perColumn > 1 {
			r.tops = append(r.tops, Bar{From: c.from, To: c.to, Value: top / g.bucket})
			r.greatest = max(r.greatest, top/g.bucket)
		}
	}
	return r
}

// unitOfTime is what a rate is by.
type unitOfTime struct {
	seconds     float64
	name, short string
}

var perSecond = unitOfTime{1, "second", "s"}

// per is the unit of time that the rates of a slow log, too, are read by.
func (r rates) per() unitOfTime {
	longer := []unitOfTime{perSecond, {minute, "minute", "min"}, {hour, "hour", "h"}, {day, "day", "d"}}
	for _, u := range longer {
		if r.greatest*u.seconds >= 0.5 {
			return u
		}
	}
	return longer[len(longer)-1]
}

// panel draws r by a unit of time, in the unit that scale chooses.
func (r rates) panel(label, unit string, per unitOfTime, scale func(float64) (float64, string)) Panel {
	div, word := scale(r.greatest * per.seconds)
	switch {
	case unit == "":
		unit = word + "/" + per.short
	case word != "":
		unit = word + " " + unit
	}
	div /= per.seconds
	p := Panel{Y: linear(r.greatest/div, 0.06, false), Height: 120}
	p.Y.Label, p.Y.Unit = label, unit
	add := func(label string, kind Kind, color string, bars []Bar) {
		if len(bars) == 0 {
			return
		}
		for i := range bars {
			bars[i].Value /= div
		}
		p.Series = append(p.Series, Series{Label: label, Kind: kind, Color: color, Bars: bars})
	}
	mean := ""
	if len(r.tops) > 0 {
		mean = "mean"
	}
	add("not known", Unknown, grey, r.unknown)
	add(mean, Area, blue, r.means)
	add("highest within", Steps, vermillion, r.tops)
	return p
}
