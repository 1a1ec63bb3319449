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

	log  *parser.Log
	span span // of the last group
}

// span is where a group begins: enough to tell whether a later transaction is
// proven to be of another.
type span struct {
	start int64 // ordinal of its first transaction
	first int64 // its sequence number, or of the first behind it that has one; 0 none yet
}

// begin starts a group at the transaction of f.
func (s *span) begin(f *facts) { s.start, s.first = f.ordinal, 0 }

// splits reports whether a boundary is proven behind the group's first
// transaction and in front of that of f.
func (s *span) splits(f *facts) bool {
	return s.first != 0 && f.parent != 0 && f.parent >= s.first || f.session != 0 && f.session >= s.start
}

// add takes the next transaction of the group.
func (s *span) add(t *parser.Txn) {
	if s.first == 0 && t.HasClock {
		s.first = t.SequenceNumber
	}
}

// add takes the next transaction that is in a group; chosen is whether it is
// reported.
func (b *bound) add(t *parser.Txn, f *facts, chosen bool) {
	b.all++
	if t.Log != b.log {
		// A relay log may end anywhere in its source's groups.
		b.apart = b.apart || b.log != nil && !t.Log.Relay
		b.log = t.Log
		b.span.begin(f)
	}
	if f.restart {
		b.span.begin(f)
	}
	b.apart = b.apart || b.span.splits(f)
	if chosen {
		b.members++
		if b.lower == 0 || b.apart {
			b.lower++
			b.apart = false
			b.span.begin(f)
		}
	}
	b.span.add(t)
}
