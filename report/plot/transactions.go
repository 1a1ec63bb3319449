package plot

import (
	"fmt"
	"math"
	"strings"

	"bgcstat/analysis"
)

func transactions(r *analysis.Result) (*Figure, string) {
	var sizes, durations []analysis.RangeBin
	if r.Sizes != nil {
		sizes = counted(r.Sizes.Histogram)
	}
	if r.Durations != nil {
		durations = counted(r.Durations.Histogram)
	}
	if len(sizes) == 0 && len(durations) == 0 {
		return nil, "neither sizes nor durations of transactions are known"
	}
	f := &Figure{
		Title:   "How large transactions are, and how long they took",
		Reading: "Few large transactions far to the right write much of the log and keep everything behind them waiting; long ones hold locks, and on a replica the ones behind them.",
		X:       Axis{Label: "size", Unit: "in the log", Max: 1},
	}

	switch {
	case len(durations) == 0:
		f.Title = "How large transactions are"
		f.Reading = "Few large transactions far to the right write much of the log and keep everything behind them waiting."
	case len(sizes) == 0:
		f.Title = "How long transactions took"
		f.Reading = "Long transactions, far to the right, hold locks, and on a replica the ones behind them."
	}

	size := Panel{Y: Axis{Label: "transactions of that size", Unit: "number", Max: 1}, Height: 50, Note: "The sizes of the transactions are not known."}
	if len(sizes) > 0 {
		b := r.Sizes.Bytes
		words := spread(total(sizes), "has", "have", "at most ", bytesInWords(b.P50), bytesInWords(b.P99), "largest", bytesInWords(b.Max))
		f.Subtitle = append(f.Subtitle, "Sizes in the log, checksums included (basis exact): "+words+".")
		f.Alt = "Size: " + words + "."
		size = ranges(sizes, "transactions of that size", byteRange)
		size.X.Label, size.X.Unit = f.X.Label, f.X.Unit
	}

	duration := Panel{
		Y: Axis{Label: "transactions of that duration", Unit: "number", Max: 1}, Height: 50,
		Note: "How long the transactions took is not known: it takes commit timestamps, which MySQL 8.0.1 and later write.",
	}
	if len(durations) > 0 {
		d := r.Durations
		words := spread(d.Transactions, "took", "took", "under ", inSeconds(d.P50), inSeconds(d.P99), "longest under", inSeconds(d.Max))
		s := "Durations go from when the first statement that changes something began to the commit (basis measured, by the server's clock): " + words +
			". The log has the beginning in whole seconds only, so that each may be up to 1 s shorter than its bin says."
		if d.Max >= day {
			s += " A session that sets its own timestamp counts as begun at that time."
		}
		if d.Impossible > 0 {
			s += fmt.Sprintf(" Left out: %s whose times make no sense.", plural(d.Impossible, "transaction"))
		}
		f.Subtitle = append(f.Subtitle, s)
		f.Alt += " Duration, to a second: " + words + "."
		duration = ranges(durations, "transactions of that duration", secondRange)
		duration.X.Label, duration.X.Unit = "duration", "seconds from the first change to the commit"
	}
	// What is drawn has an axis; that of the figure is its first.
	for _, p := range []Panel{size, duration} {
		if p.X != nil {
			f.X = *p.X
			break
		}
	}
	if f.Alt != "" {
		f.Alt = "Two bar charts of transactions. " + f.Alt
	}
	f.Panels = []Panel{size, duration}
	return f, ""
}

// counted leaves out bins that make no sense, and those beyond what has room.
func counted(bins []analysis.RangeBin) []analysis.RangeBin {
	const most = 32
	var out []analysis.RangeBin
	any := false
	for _, b := range bins {
		if b.Count >= 0 && b.From >= 0 && b.From <= b.To && len(out) < most {
			out = append(out, b)
			any = any || b.Count > 0
		}
	}
	if !any {
		return nil
	}
	return out
}

// ranges draws a histogram of bins with an axis of its own.
func ranges(bins []analysis.RangeBin, label string, name func(from, to int64) string) Panel {
	const fewest = 6 // or few bars would be as wide as the picture
	most, total := 0.0, 0.0
	for _, b := range bins {
		most = max(most, float64(b.Count))
		total += float64(b.Count)
	}
	div, word := large(most)
	first := math.Max(0, float64(fewest-len(bins))/2)
	x := &Axis{Max: math.Max(fewest, float64(len(bins)))}
	s := Series{Kind: Filled, Color: blue}
	for i, b := range bins {
		from := first + float64(i)
		x.Ticks = append(x.Ticks, Tick{At: from + 0.5, Label: name(b.From, b.To)})
		if b.Count > 0 {
			n := float64(b.Count)
			s.Bars = append(s.Bars, Bar{From: from, To: from + 1, Value: n / div, Label: significant(n/div) + "\n" + percent(n/total)})
		}
	}
	thin(x.Ticks)
	p := Panel{X: x, Y: linear(most/div, 0.28, div == 1), Height: 120, Series: []Series{s}}
	p.Y.Label, p.Y.Unit = label, "number"
	if word != "" {
		p.Y.Unit = word
	}
	return p
}

// byteRange names a bin of sizes by the unit that suits its beginning.
func byteRange(from, to int64) string {
	div, unit := bytesUnit(float64(from))
	if unit == "bytes" {
		unit = "B"
	}
	if from == to {
		return count(from) + " " + unit
	}
	// Bins of whole numbers end just below the next.
	end := (float64(to) + 1) / div
	if div == 1 {
		return fmt.Sprintf("%s–%s %s", count(from), count(to), unit)
	}
	return fmt.Sprintf("%s–%s %s", significant(float64(from)/div), significant(end), unit)
}

// secondRange names a bin of durations in whole seconds, rounded down.
func secondRange(from, to int64) string {
	if from == 0 && to == 0 {
		return "under 1"
	}
	if to >= 1<<62 {
		return countsInShort(float64(from)) + " and more"
	}
	return countsInShort(float64(from)) + "–" + countsInShort(float64(to)+1)
}

func bytesInWords(n int64) string {
	div, unit := bytesUnit(float64(n))
	return significant(float64(n)/div) + " " + unit
}

// inSeconds is the least time that a duration of whole seconds, rounded down,
// stays under, in a unit that suits it.
func inSeconds(seconds int64) string {
	least := float64(seconds) + 1
	switch {
	case least < 10*minute:
		return decimal(least, 0) + " s"
	case least < 10*hour:
		return decimal(math.Ceil(least/minute), 0) + " min"
	case least < 10*day:
		return decimal(math.Ceil(least/hour), 0) + " h"
	default:
		return decimal(math.Ceil(least/day), 0) + " days"
	}
}

// spread says how far half, 99 % and the greatest of n transactions go, each
// only where it says more than the others: they "have at most" so much, say.
func spread(n int64, has, have, within, p50, p99, greatest, most string) string {
	_, under, _ := strings.Cut(greatest, " ")
	switch {
	case n == 1:
		return strings.Join(strings.Fields(fmt.Sprintf("1 transaction %s %s %s", has, under, most)), " ")
	case p50 == most:
		return fmt.Sprintf("each of %s %s %s%s", plural(n, "transaction"), has, within, most)
	}
	s := fmt.Sprintf("half of %s %s %s%s", plural(n, "transaction"), have, within, p50)
	if p99 != most {
		s += fmt.Sprintf(", 99 %% %s%s", within, p99)
	}
	return s + ", the " + greatest + " " + most
}

// total is the number of transactions in all bins.
func total(bins []analysis.RangeBin) int64 {
	n := 0.0
	for _, b := range bins {
		n += float64(b.Count)
	}
	return whole(n)
}
