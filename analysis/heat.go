package analysis

import (
	"maps"
	"math/bits"
	"slices"

	"bgcstat/parser"
)

// heat counts by time and by value, in buckets of time that grow wider as the
// log grows longer. It holds at most maxHeat of them, each with a number for
// every bin of values that occurs.
type heat struct {
	width   int // index of widths
	buckets map[int64]*heatBucket
	last    *heatBucket // of the value before
	lastNo  int64
}

// heatBucket has the counts by bin, as far as they go.
type heatBucket []int64

const (
	maxHeat     = 600
	heatColumns = 150 // of a result, at most
)

// halfOctave numbers the bins of whole numbers from 1 on: 1, 2, 3, then two to
// an octave, from 4, 6, 8, 12, 16 and so on. What is below 1 is in the first.
func halfOctave(v int64) int {
	if v <= 2 {
		return int(max(v, 1)) - 1
	}
	octave := bits.Len64(uint64(v)) - 1
	return 2*octave - 1 + int(v>>(octave-1)&1)
}

// halfOctaveFrom is where a bin begins.
func halfOctaveFrom(bin int) int64 {
	if bin == 0 {
		return 1
	}
	octave := (bin + 1) / 2
	return 1<<octave + int64((bin+1)%2)<<(octave-1)
}

// add counts a value at a time; one without a time is left out.
func (h *heat) add(at parser.Micros, value int64) {
	if at <= 0 {
		return
	}
	no := int64(at) / widths[h.width]
	if h.last == nil || no != h.lastNo {
		b := h.buckets[no]
		for b == nil && len(h.buckets) >= maxHeat && h.width < len(widths)-1 {
			h.widen()
			no = int64(at) / widths[h.width]
			b = h.buckets[no]
		}
		if b == nil {
			b = &heatBucket{}
			if h.buckets == nil {
				h.buckets = make(map[int64]*heatBucket)
			}
			h.buckets[no] = b
		}
		h.last, h.lastNo = b, no
	}
	h.last.addN(halfOctave(value), 1)
}

func (b *heatBucket) addN(bin int, n int64) {
	for len(*b) <= bin {
		*b = append(*b, 0)
	}
	(*b)[bin] += n
}

func (h *heat) widen() {
	wide := make(map[int64]*heatBucket, len(h.buckets)/2)
	ratio := widths[h.width+1] / widths[h.width]
	for no, b := range h.buckets {
		w := wide[no/ratio]
		if w == nil {
			wide[no/ratio] = b
			continue
		}
		for bin, n := range *b {
			w.addN(bin, n)
		}
	}
	h.buckets, h.last = wide, nil
	h.width++
}

// result gives the counts, nil where there are none. coarse is whether times
// are whole seconds; scale is what a value of 1 is in the result.
func (h *heat) result(coarse bool, scale float64) *Heat {
	if h == nil || len(h.buckets) == 0 {
		return nil
	}
	span := func() int64 {
		first, last := int64(1<<62), int64(0)
		for no := range h.buckets {
			first, last = min(first, no), max(last, no)
		}
		return last - first + 1
	}
	for h.width < len(widths)-1 && (coarse && h.width < oneSecond || span() > heatColumns) {
		h.widen()
	}
	lowest, highest := 64, 0
	for _, b := range h.buckets {
		lowest = min(lowest, slices.IndexFunc(*b, func(n int64) bool { return n > 0 }))
		highest = max(highest, len(*b)-1)
	}
	out := &Heat{BucketSeconds: float64(widths[h.width]) / 1e6}
	for bin := lowest; bin <= highest; bin++ {
		out.Bins = append(out.Bins, HeatBin{float64(halfOctaveFrom(bin)) * scale, float64(halfOctaveFrom(bin+1)) * scale})
	}
	for _, no := range slices.Sorted(maps.Keys(h.buckets)) {
		counts := make([]int64, len(out.Bins))
		copy(counts, (*h.buckets[no])[lowest:])
		out.Series = append(out.Series, HeatBucket{newTime(parser.Micros(no * widths[h.width])), counts})
	}
	return out
}
