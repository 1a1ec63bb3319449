package analysis

import (
	"maps"
	"math"
	"slices"
)

// histogram counts groups by their size.
type histogram struct {
	small [256]int64
	large map[int64]int64
}

func (h *histogram) add(size int64) { h.addN(size, 1) }

func (h *histogram) addN(size, groups int64) {
	if groups == 0 {
		return
	}
	if size < int64(len(h.small)) {
		h.small[size] += groups
		return
	}
	if h.large == nil {
		h.large = make(map[int64]int64)
	}
	h.large[size] += groups
}

// bins gives the counts by rising size.
func (h *histogram) bins() []HistogramBin {
	var bins []HistogramBin
	for size, groups := range h.small {
		if groups > 0 {
			bins = append(bins, HistogramBin{int64(size), groups})
		}
	}
	for _, size := range slices.Sorted(maps.Keys(h.large)) {
		bins = append(bins, HistogramBin{size, h.large[size]})
	}
	return bins
}

// groupSize describes bins, which rise by size; nil where there are none.
func groupSize(bins []HistogramBin) *GroupSize {
	var groups, members, alone int64
	for _, b := range bins {
		groups += b.Groups
		members += b.Groups * b.Size
		if b.Size == 1 {
			alone = b.Groups
		}
	}
	if groups == 0 {
		return nil
	}
	rank := func(p float64) int64 {
		// Nearest rank: the smallest size that p of the groups do not exceed.
		need := int64(math.Ceil(p * float64(groups)))
		for _, b := range bins {
			if need -= b.Groups; need <= 0 {
				return b.Size
			}
		}
		return bins[len(bins)-1].Size
	}
	return &GroupSize{
		Mean:       float64(members) / float64(groups),
		P50:        rank(0.50),
		P95:        rank(0.95),
		P99:        rank(0.99),
		Max:        bins[len(bins)-1].Size,
		AloneShare: float64(alone) / float64(members),
	}
}
