package analysis

import (
	"cmp"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"

	"bgcstat/parser"
)

const (
	largestKept = 10
	largestMost = 16 // tables named of each
)

// sizes describes transactions in bytes.
type sizes struct {
	bytes   *hdrhistogram.Histogram
	bins    bins125
	sum, n  int64
	max     int64
	largest []Large // largest first
}

func newSizes() *sizes {
	// Four digits of anything up to 1 TiB, in under 4 MiB whatever the log.
	return &sizes{bytes: hdrhistogram.New(1, 1<<40, 4)}
}

func (s *sizes) add(t *parser.Txn) {
	size := t.Size()
	s.n++
	s.sum += size
	s.max = max(s.max, size)
	s.bins.add(size)
	// Sizes out of its range are of no transaction that fits a disk.
	_ = s.bytes.RecordValue(min(max(size, 1), 1<<40))
	if len(s.largest) == largestKept && size <= s.largest[largestKept-1].Bytes {
		return
	}
	large := Large{Position: Position{t.Log.Name, t.Start}, Bytes: size, GTID: t.GTID.String(), Tables: []string{}}
	for _, c := range t.Tables[:min(len(t.Tables), largestMost)] {
		large.Tables = append(large.Tables, c.Table.String())
	}
	at, _ := slices.BinarySearchFunc(s.largest, size, func(l Large, size int64) int {
		return cmp.Or(cmp.Compare(size, l.Bytes), -1) // behind its equals: the earlier one stays
	})
	s.largest = slices.Insert(s.largest, at, large)
	s.largest = s.largest[:min(len(s.largest), largestKept)]
}

func (s *sizes) result() *Sizes {
	if s.n == 0 {
		return nil
	}
	at := func(percent float64) int64 { return min(s.bytes.ValueAtPercentile(percent), s.max) }
	return &Sizes{
		Bytes: ByteSize{
			Mean: float64(s.sum) / float64(s.n),
			P50:  at(50), P95: at(95), P99: at(99), Max: s.max,
		},
		Histogram: s.bins.result(),
		Largest:   s.largest,
	}
}
