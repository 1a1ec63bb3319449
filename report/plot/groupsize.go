package plot

import (
	"fmt"
	"math"

	"bgcstat/analysis"
)

// sizeBin is the sizes from low to high, both in it.
type sizeBin struct{ low, high int64 }

func (b sizeBin) String() string {
	switch {
	case b.low == b.high:
		return count(b.low)
	case b.high == math.MaxInt64:
		return "over " + count(b.low-1)
	default:
		return count(b.low) + "–" + count(b.high)
	}
}

// sizeBins divides the sizes from 1 to greatest, or to 6 if that is more, into
// at most 32 bins, as many as there is room for: one for each size as long as
// there are few; otherwise one for each of the first sizes and then ranges that
// end at 20, 50, 100 and so on. Where the true groups are known and none is
// larger than known, the bins are theirs, and the recipe's groups beyond share a
// few. ranges is the number of bins of one size, where
// others follow, and otherwise 0.
func sizeBins(greatest, known int64) (bins []sizeBin, ranges int) {
	var single int64
	var ends []int64
	switch {
	case greatest > 32 && known > 0 && known <= 50:
		single, ends = 10, []int64{20, 50, 100, 1000, math.MaxInt64}
	case greatest <= 32:
		single = max(greatest, 6) // or few bars would be as wide as the picture
	case greatest <= 1000:
		single, ends = 10, []int64{20, 50, 100, 200, 500, 1000}
	case greatest <= 10_000:
		single, ends = 5, []int64{10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000}
	default:
		single, ends = 1, []int64{10, 100, 1000, 10_000, 100_000, 1_000_000, math.MaxInt64}
	}
	for s := int64(1); s <= single; s++ {
		bins = append(bins, sizeBin{s, s})
	}
	for _, end := range ends {
		last := bins[len(bins)-1].high
		if last >= greatest {
			break
		}
		if last >= end {
			continue
		}
		bins = append(bins, sizeBin{last + 1, end})
	}
	if len(ends) > 0 {
		ranges = int(single)
	}
	return bins, ranges
}

// binned is a histogram by bins: the groups, and the share that their
// transactions are of all in the histogram.
type binned struct{ groups, share []float64 }

func bin(histogram []analysis.HistogramBin, bins []sizeBin) binned {
	b := binned{make([]float64, len(bins)), make([]float64, len(bins))}
	total := 0.0
	for _, h := range histogram {
		for i, in := range bins {
			if h.Groups > 0 && in.low <= h.Size && h.Size <= in.high {
				// In floating point, since the product may not fit 64 bits.
				n := float64(h.Size) * float64(h.Groups)
				b.groups[i] += float64(h.Groups)
				b.share[i] += n
				total += n
			}
		}
	}
	for i := range b.share {
		if total > 0 {
			b.share[i] /= total
		}
	}
	return b
}

// greatestSize returns the greatest size that occurs, or 0.
func greatestSize(histogram []analysis.HistogramBin) int64 {
	var size int64
	for _, h := range histogram {
		if h.Groups > 0 {
			size = max(size, h.Size)
		}
	}
	return size
}

func groupSize(r *analysis.Result) (*Figure, string) {
	sync, legacy := r.Groups.Sync, r.Groups.LastCommitted
	var known, recipe []analysis.HistogramBin
	if sync != nil {
		known = sync.Histogram
	}
	if legacy != nil {
		recipe = legacy.Histogram
	}
	greatest := max(greatestSize(known), greatestSize(recipe))
	if greatest < 1 {
		if r.Transactions == 0 {
			return nil, "there are no transactions"
		}
		return nil, "the sizes of sync groups are not known, and no transaction has last_committed"
	}
	isKnown, isRecipe := greatestSize(known) > 0, greatestSize(recipe) > 0

	f := &Figure{Title: "Transactions per commit group (sync group)"}
	if isKnown {
		f.Subtitle = append(f.Subtitle, groupsInWords(sync))
	} else {
		f.Title = "Transactions with equal last_committed (these are not commit groups)"
		f.Subtitle = append(f.Subtitle, limitsInWords(r.Groups))
	}
	if isRecipe {
		f.Subtitle = append(f.Subtitle, recipeInWords(legacy, isKnown))
	}

	bins, ranges := sizeBins(greatest, greatestSize(known))
	f.X = Axis{Label: "group size", Unit: "transactions", Max: float64(len(bins))}
	if ranges > 0 {
		f.X.Unit, f.X.Shaded = "transactions; shaded: ranges of sizes", float64(ranges)
	}
	for i, b := range bins {
		f.X.Ticks = append(f.X.Ticks, Tick{At: float64(i) + 0.5, Label: b.String()})
	}

	f.Reading = "The upper bars count groups, the lower ones the transactions in them: the further to the right the lower bars are, the more transactions shared one sync of the binlog; those at 1 committed alone."
	if !isKnown {
		f.Reading = "The bars count transactions with the same last_committed, which are no commit groups: do not read how well commits were grouped from them."
	}
	f.Alt = "Bar chart of group sizes. " + f.Subtitle[0]

	type source struct {
		binned
		Series
	}
	var sources []source
	if isKnown {
		sources = append(sources, source{
			bin(known, bins),
			Series{Label: fmt.Sprintf("sync groups (%s)", sync.Basis), Kind: Filled, Color: blue},
		})
	}
	if isRecipe {
		sources = append(sources, source{
			bin(recipe, bins),
			Series{Label: "last_committed groups (legacy)", Kind: Outline, Color: vermillion},
		})
	}
	most, mostShare := 0.0, 0.0
	for _, s := range sources {
		for i := range bins {
			most, mostShare = max(most, s.groups[i]), max(mostShare, s.share[i])
		}
	}

	const headRoom = 0.14 // for the labels on the bars
	div, word := large(most)
	groups := Panel{Y: linear(most/div, headRoom, div == 1), Height: 190}
	groups.Y.Label, groups.Y.Unit = "groups of that size", "number"
	if word != "" {
		groups.Y.Unit = word
	}
	share := Panel{Y: linear(100*mostShare, headRoom, false), Height: 130}
	share.Y.Label, share.Y.Unit = "transactions in groups of that size", "% of all in groups"
	for n, s := range sources {
		inGroups, inShare := s.Series, s.Series
		for i := range bins {
			if s.groups[i] == 0 {
				continue
			}
			g := Bar{From: float64(i), To: float64(i + 1), Value: s.groups[i] / div}
			p := Bar{From: float64(i), To: float64(i + 1), Value: 100 * s.share[i]}
			if n == 0 {
				g.Label, p.Label = significant(g.Value), percent(s.share[i])
			}
			inGroups.Bars, inShare.Bars = append(inGroups.Bars, g), append(inShare.Bars, p)
		}
		groups.Series, share.Series = append(groups.Series, inGroups), append(share.Series, inShare)
	}
	f.Panels = []Panel{groups, share}
	return f, ""
}

// groupsInWords describes groups whose sizes are known.
func groupsInWords(g *analysis.GroupStats) string {
	s := numberInWords(g)
	switch z := g.Size; {
	case z == nil:
	case z.Max == 1:
		s += " Each transaction committed alone."
	default:
		s += fmt.Sprintf(" Mean size %s; half of the groups hold at most %s, 95 %% at most %s, the largest %s. %s of the transactions committed alone.",
			significant(z.Mean), count(z.P50), count(z.P95), count(z.Max), percent(z.AloneShare))
	}
	return s
}

func numberInWords(g *analysis.GroupStats) string {
	if g.Count == nil {
		return fmt.Sprintf("Between %s and %s sync groups (%s).", count(g.Low), count(g.High), basis(g.Basis, g.Method))
	}
	s := plural(*g.Count, "sync group")
	if g.Low != g.High {
		s += fmt.Sprintf(", between %s and %s", count(g.Low), count(g.High))
	}
	return s + fmt.Sprintf(" (%s).", basis(g.Basis, g.Method))
}

// limitsInWords says what is known of the number of sync groups where their
// sizes are not.
func limitsInWords(g analysis.Groups) string {
	const unknown = "This log does not tell how many sync groups (commit groups) there were, nor how large they were"
	switch {
	case g.Sync != nil && g.Sync.Count != nil:
		return numberInWords(g.Sync) + " How large they were is not known."
	case g.Sync != nil:
		return fmt.Sprintf("%s: the true number of groups lies between %s and %s (%s).",
			unknown, count(g.Sync.Low), count(g.Sync.High), basis(g.Sync.Basis, g.Sync.Method))
	case g.Bound != nil:
		return fmt.Sprintf("%s: the true number of groups lies between %s and %s (basis bound).",
			unknown, count(g.Bound.Lower), count(g.Bound.Upper))
	default:
		return unknown + "."
	}
}

func recipeInWords(g *analysis.LastCommittedGroups, beside bool) string {
	s := "The outline is what the popular recipe counts, transactions with the same last_committed"
	if g.Distinct != nil {
		s += ": " + plural(*g.Distinct, "group")
	}
	s += fmt.Sprintf(" (%s).", basis(g.Basis, g.Method))
	if beside {
		return s + " Those are not commit groups; last_committed says what a transaction has to wait for on a replica."
	}
	return s + " last_committed says what a transaction has to wait for on a replica, not with which others it was synced."
}
