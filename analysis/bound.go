package analysis

import "bgcstat/parser"

// bound counts the sync groups that a MySQL log proves to be apart: the
// greatest number of reported transactions no two of which can have shared a
// group. The facts give for each transaction an interval that holds a
// boundary; the fewest boundaries that meet all of these intervals are found
// by one greedy scan.
type bound struct {
	lower   int64 // groups proven so far
	members int64 // reported transactions that are in a group
	all     int64 // transactions that are in a group, reported or not
	apart   bool  // a boundary is proven behind the last group's first transaction

	log   *parser.Log
	start int64 // ordinal of that first transaction
	first int64 // its sequence number, or of the first behind it that has one; 0 none yet
}

// add takes the next transaction that is in a group; chosen is whether it is
// reported.
func (b *bound) add(t *parser.Txn, f *facts, chosen bool) {
	b.all++
	if t.Log != b.log {
		// A relay log may end anywhere in its source's groups.
		b.apart = b.apart || b.log != nil && !t.Log.Relay
		b.log, b.first, b.start = t.Log, 0, f.ordinal
	}
	if f.restart {
		b.first, b.start = 0, f.ordinal
	}
	if b.first != 0 && f.parent != 0 && f.parent >= b.first || f.session >= b.start && f.session != 0 {
		b.apart = true
	}
	if chosen {
		b.members++
		if b.lower == 0 || b.apart {
			b.lower++
			b.apart, b.first, b.start = false, 0, f.ordinal
		}
	}
	if b.first == 0 && t.HasClock {
		b.first = t.SequenceNumber
	}
}
