package analysis

import "math/bits"

// bins125 counts whole numbers in bins that begin at 0, 1, 2, 5, 10, 20, 50 and
// so on.
type bins125 struct{ counts [len(from125)]int64 }

// from125 is where the bins begin.
var from125 = func() (from [57]int64) {
	power := int64(1)
	for i := 1; i < len(from); i += 3 {
		from[i] = power
		if i+2 < len(from) {
			from[i+1], from[i+2] = 2*power, 5*power
		}
		power *= 10
	}
	return from
}()

// first125 is the bin of the least number of each length in bits.
var first125 = func() (first [65]uint8) {
	for n := 1; n < len(first); n++ {
		first[n] = first[n-1]
		for int(first[n])+1 < len(from125) && from125[first[n]+1] <= int64(1)<<min(n-1, 62) {
			first[n]++
		}
	}
	return first
}()

// add counts a number; one below 0 counts as 0.
func (b *bins125) add(v int64) {
	v = max(v, 0)
	i := int(first125[bits.Len64(uint64(v))])
	for i+1 < len(from125) && v >= from125[i+1] {
		i++
	}
	b.counts[i]++
}

// result gives the bins from the first to the last that is not empty.
func (b *bins125) result() []RangeBin {
	var out []RangeBin
	empty := 0
	for i, n := range b.counts {
		if n == 0 {
			empty++
			continue
		}
		for ; empty > 0 && len(out) > 0; empty-- {
			out = append(out, b.bin(i-empty))
		}
		empty = 0
		out = append(out, b.bin(i))
	}
	return out
}

func (b *bins125) bin(i int) RangeBin {
	to := int64(1<<63 - 1)
	if i+1 < len(from125) {
		to = from125[i+1] - 1
	}
	return RangeBin{From: from125[i], To: to, Count: b.counts[i]}
}
