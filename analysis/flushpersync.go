package analysis

// flushPerSync counts the flush groups in sync groups, as far as a part of them
// is in it: the two need not nest.
type flushPerSync struct{ tally tally }

// add takes the next transaction that is in both. It is a tally whose members
// are flush groups.
func (f *flushPerSync) add(newFlush, newSync, chosen bool) {
	if newFlush || newSync {
		f.tally.add(newSync, chosen)
	} else {
		f.tally.chosen = f.tally.chosen || chosen
	}
}

// bins ends the count.
func (f *flushPerSync) bins() []HistogramBin {
	f.tally.close()
	return f.tally.sizes.bins()
}

// newFlushPerSync describes a count of the groups in g, nil where it is empty.
func newFlushPerSync(bins []HistogramBin, g *Groups) *FlushPerSync {
	size := groupSize(bins)
	if size == nil {
		return nil
	}
	return &FlushPerSync{
		Mean: size.Mean, Max: size.Max, Basis: g.Flush.Basis, Method: g.Flush.Method, SyncMethod: g.Sync.Method, Histogram: bins,
	}
}
