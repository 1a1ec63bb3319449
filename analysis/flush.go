package analysis

import (
	"math"
	"math/bits"
)

// gapBins is a histogram of gaps by their logarithm: bin b holds the gaps from
// 2^(b/8) microseconds on, b/8 rounded within its octave.
const gapBins = 8 * 40

func gapBin(gap int64) int {
	if gap <= 0 {
		return 0
	}
	octave := bits.Len64(uint64(gap)) - 1
	var eighth int64
	if octave >= 3 {
		eighth = gap >> (octave - 3) & 7
	} else {
		eighth = gap << (3 - octave) & 7
	}
	return min(8*octave+int(eighth), gapBins-1)
}

// binMiddle is the gap in the middle of a bin, in microseconds.
func binMiddle(bin int) float64 { return math.Exp2((float64(bin) + 0.5) / 8) }

// binRank is the bin of the gap that a share p of all in the histogram, which
// is not empty, do not exceed.
func binRank(count *[gapBins]int, p float64) int {
	n := 0
	for _, c := range count {
		n += c
	}
	need := int(p*float64(n)) + 1
	for b, c := range count {
		if need -= c; need <= 0 {
			return b
		}
	}
	return gapBins - 1
}

// slowestWithin is the largest gap, in microseconds, that is taken for one
// inside a group where the gaps do not show two kinds. The loop of the leader
// takes a few microseconds a transaction; a redo fsync, or the wait for the
// lock, hardly less than this.
const slowestWithin = 50

// copyRate is what a leader copies from its cache into the log in a
// microsecond, in bytes: a gap is as much longer as the transaction before it
// is large.
const copyRate = 1000

// splitGaps gives the threshold between the gaps inside flush groups and those
// between them, in microseconds; a longer gap is a boundary. It divides gaps in two so that their logarithms differ as much as can
// be between the two and as little within (Otsu's method, which is 2-means in
// one dimension). The threshold is the middle of the two means. Gaps of one
// kind, as where every transaction is alone, would be divided somewhere too,
// so there must be a valley: between the two peaks of the histogram a place
// less than half as high as the lower one.
func splitGaps(gaps []int64) int64 {
	var count [gapBins]int64
	for _, g := range gaps {
		count[gapBin(g)]++
	}
	n, sum := 0.0, 0.0
	for b, c := range count {
		n += float64(c)
		sum += float64(c) * float64(b)
	}
	const one = slowestWithin
	if n < 32 {
		return one
	}
	// 1. The division.
	var best, middle, apart float64
	below, sumBelow := 0.0, 0.0
	for b, c := range count[:gapBins-1] {
		below += float64(c)
		sumBelow += float64(c) * float64(b)
		if above := n - below; below > 0 && above > 0 && c > 0 {
			m0, m1 := sumBelow/below, (sum-sumBelow)/above
			if v := below * above * (m1 - m0) * (m1 - m0); v > best {
				best, middle, apart = v, (m0+m1)/2, m1-m0
			}
		}
	}
	if apart < 8*2 { // a factor of four between the means
		return one
	}

	// 2. The valley, in a histogram smoothed over an octave, in which the small
	// counts of whole microseconds leave no holes.
	height := func(b int) (h int64) {
		for _, c := range count[max(b-4, 0):min(b+5, gapBins)] {
			h += c
		}
		return h
	}
	peak := func(from, to int) (at int) {
		at = from
		for b := from; b < to; b++ {
			if height(b) > height(at) {
				at = b
			}
		}
		return at
	}
	low, high := peak(0, int(middle)), peak(int(middle)+1, gapBins)
	valley := height(low)
	for b := low; b <= high; b++ {
		valley = min(valley, height(b))
	}
	lower := min(height(low), height(high))
	if 2*valley > lower {
		return one
	}
	return int64(math.Exp2((middle + 0.5) / 8))
}
