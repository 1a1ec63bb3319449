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

// slowestWithin is the largest gap, in microseconds, that is taken for one
// inside a group where the gaps do not show two kinds. The loop of the leader
// takes a few microseconds a transaction; a redo fsync, or the wait for the
// lock, hardly less than this.
const slowestWithin = 50

// copyRate is what a leader copies from its cache into the log in a
// microsecond, in bytes: a gap is as much longer as the transaction before it
// is large.
const copyRate = 1000

// split is the threshold between the gaps inside flush groups and those
// between them.
type split struct {
	threshold int64 // microseconds; a longer gap is a boundary
	// strong: the two kinds of gap are well apart, as a redo fsync sets them. So
	// they are with innodb_flush_log_at_trx_commit=1, and hardly are without.
	strong bool
}

// splitGaps divides gaps in two so that their logarithms differ as much as can
// be between the two and as little within (Otsu's method, which is 2-means in
// one dimension). The threshold is the middle of the two means. Gaps of one
// kind, as where every transaction is alone, would be divided somewhere too:
// there must be few near the threshold, and the means must be far apart.
func splitGaps(gaps []int64) split {
	var count [gapBins]int64
	for _, g := range gaps {
		count[gapBin(g)]++
	}
	n, sum, squares := 0.0, 0.0, 0.0
	for b, c := range count {
		n += float64(c)
		sum += float64(c) * float64(b)
		squares += float64(c) * float64(b) * float64(b)
	}
	one := split{threshold: slowestWithin}
	if n < 32 {
		return one
	}
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
	variance := squares/n - sum/n*sum/n
	if variance <= 0 {
		return one
	}
	explained := best / n / n / variance
	// Those within a factor of 1.6 of the threshold, against the smaller kind.
	near, low := 0.0, 0.0
	for b, c := range count {
		if math.Abs(float64(b)-middle) < 8*0.68 {
			near += float64(c)
		}
		if float64(b) <= middle {
			low += float64(c)
		}
	}
	if near /= min(low, n-low); explained < 0.68 || near > 0.5 || apart < 8*2 {
		return one
	}
	return split{threshold: int64(math.Exp2((middle + 0.5) / 8)), strong: near < 0.25}
}
