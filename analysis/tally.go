package analysis

import "bgcstat/parser"

// tally counts groups and their sizes. A group counts where it holds a
// reported transaction; its size is that of all its members.
type tally struct {
	groups int64 // with a reported transaction
	all    int64
	sizes  histogram

	size   int64 // of the group that is open, 0 for none
	chosen bool  // it holds a reported transaction

	at   parser.Micros // when it began, as far as it is reported
	heat heat          // sizes by that time
}

// add takes the next member; begins is whether it opens a group. It reports
// whether the member is the first reported one of its group.
func (t *tally) add(begins, chosen bool) (first bool) {
	if begins {
		t.close()
		t.all++
	}
	t.size++
	first = chosen && !t.chosen
	t.chosen = t.chosen || chosen
	return first
}

// close ends the group that is open.
func (t *tally) close() {
	if t.chosen {
		t.groups++
		t.sizes.add(t.size)
		t.heat.add(t.at, t.size)
	}
	t.size, t.chosen, t.at = 0, false, 0
}

// stats describes the groups; count and sizes are those of the tally.
func (t *tally) stats(low, high int64, basis Basis, method Method) *GroupStats {
	t.close()
	bins := t.sizes.bins()
	return &GroupStats{
		Count: &t.groups, Low: low, High: high, Basis: basis, Method: method,
		Size: groupSize(bins), Histogram: bins,
	}
}
