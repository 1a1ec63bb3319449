package analysis

import (
	"cmp"
	"slices"

	"bgcstat/parser/iosample"
)

// fitMark is what a member's interval of a trace says: which it is, and how
// many sync groups ended in it.
type fitMark struct {
	no     int64 // 0 where the member is in none
	groups int64
}

// fit says what the trace has of the transaction that is added next: m is its
// interval, nil for none. Syncs are counted groups only where each group is
// synced.
func (e *estimator) fit(tr *trace, m *mark, s Settings) {
	e.fitting = !tr.events && tr.header.Exactness != iosample.DeviceWide && (s.SyncBinlog == nil || *s.SyncBinlog == 1)
	e.mark = fitMark{}
	if m != nil && e.fitting && !m.unsure {
		e.mark = fitMark{m.no, m.durableSyncs()}
	}
}

// fit changes the estimated sync groups of ms so that as many begin in each
// interval of the trace as syncs were counted in it, as far as what is proven
// allows. Where there are too many, those apart by the shortest gaps are
// merged; where there are too few, those are divided that are held together
// over the longest, first between flush groups and then within. The first and
// the last interval may go on outside of ms where open says so; they are left
// as they are.
func (w *work) fit(ms []member, marks []fitMark, openFirst, openLast bool) {
	for from := 0; from < len(ms); {
		to := from + 1
		for to < len(ms) && marks[to].no == marks[from].no {
			to++
		}
		if m := marks[from]; m.no != 0 && m.groups > 0 && (from > 0 || !openFirst) && (to < len(ms) || !openLast) {
			w.fitInterval(ms, int32(from), int32(to), int(m.groups))
		}
		from = to
	}
}

// fitInterval fits the groups that begin in ms[from:to].
func (w *work) fitInterval(ms []member, from, to int32, want int) {
	have := 0
	var free []int32 // places where a group could begin, or cease to
	for i := from; i < to; i++ {
		if ms[i].newSync {
			have++
		}
	}
	if !ms[from].newSync && from > 0 && have < want {
		ms[from].newSync, ms[from].newFlush = true, true // an interval ends with a sync
		have++
	}
	byGap := func(a, b int32) int {
		return cmp.Or(cmp.Compare(w.gaps[a], w.gaps[b]), cmp.Compare(a, b))
	}

	// 1. Too many: merge.
	if have > want {
		for i := from + 1; i < to; i++ {
			if ms[i].newSync && !ms[i].first {
				free = append(free, i)
			}
		}
		slices.SortFunc(free, func(a, b int32) int {
			return cmp.Or(cmp.Compare(w.apartness(a), w.apartness(b)), cmp.Compare(a, b))
		})
		for _, at := range free {
			if have == want {
				return
			}
			if mergeable(ms, at) {
				ms[at].newSync = false
				have--
			}
		}
		return
	}

	// 2. Too few: divide.
	for i := from; i < to; i++ {
		if i > 0 && !ms[i].newSync {
			free = append(free, i)
		}
	}
	slices.SortFunc(free, func(a, b int32) int {
		if ms[a].newFlush != ms[b].newFlush {
			if ms[a].newFlush {
				return -1
			}
			return 1
		}
		return byGap(b, a)
	})
	for _, at := range free {
		if have == want {
			return
		}
		ms[at].newSync, ms[at].newFlush = true, true
		have++
	}
}

// apartness says how unlike one group the two look between which ms[at] begins
// the second: the gap, counted fourfold where the second's last_committed goes
// beyond all before, which a part of the same group rarely does, and fourfold where
// none of its sessions is back as early as those of the first.
func (w *work) apartness(at int32) float64 {
	j := w.of[at]
	apart := float64(w.gaps[at])
	if b := &w.groups[j]; j > 0 && b.from == at {
		if b.fresh {
			apart *= 4
		}
		if a := &w.groups[j-1]; b.back > a.back {
			apart *= 4
		}
	}
	return apart
}

// mergeable reports whether the group that begins at ms[at] and the one before
// may have been one: nothing in it is proven to have come before the rest.
func mergeable(ms []member, at int32) bool {
	start := at - 1
	for start > 0 && !ms[start].newSync {
		start--
	}
	for i := at; int(i) < len(ms) && (i == at || !ms[i].newSync); i++ {
		if ms[i].before >= start {
			return false
		}
	}
	return true
}
