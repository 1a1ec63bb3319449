package analysis

import (
	"slices"

	"bgcstat/parser"
)

// bound counts the sync groups that a MySQL log proves to be apart: the
// greatest number of reported transactions no two of which can have shared a
// group.
//
// Two facts prove a boundary in front of a transaction b and behind an earlier
// one a (a has the lower sequence number):
//
//   - last_committed of b is a or later: a had passed its sync before b's last
//     statement ended, hence before b was enqueued (sql/binlog.cc,
//     binlog_prepare and process_commit_stage_queue). Dependency tracking by
//     write sets only lowers last_committed.
//   - a and b are of one session, which waits for the sync of a before it goes
//     on (signal_done). This holds in every mode.
//
// So each b with such an a has a boundary somewhere in (a, b], and a file's
// end is one too. The fewest boundaries that meet all of these intervals are
// found by one greedy scan.
//
// Some values of last_committed prove nothing and are left out:
//
//	E1 with mixed engines and without GTIDs a session's two caches are written
//	   as two transactions of one group, the second with the first as its parent
//	E2 until the first commit after a start the clock reads as unset, and
//	   last_committed is sequence_number − 1
//	E3 after ANALYZE, OPTIMIZE, CREATE DATABASE and the like (MySQL 8.0 and
//	   later), and E4 after an incident, it is raised to that statement
//	E5 with WRITESET_SESSION it may be a number of the file before, in a
//	   session's first transaction in a file
//	E6 in a relay log it is another server's, or the work of a certifier
//
// Thread ids prove nothing where they are another server's (replicated
// transactions) or where a session takes another's: see the option.
type bound struct {
	noSessions bool

	lower   int64 // groups proven so far
	members int64 // reported transactions that are in a group
	apart   bool  // a boundary is proven behind the last group's first transaction

	// Since that first transaction:
	first    int64                    // its sequence number, or of the first behind it that has one; 0 none yet
	sessions map[uint32]parser.Micros // seen, with the time of the last event header

	// In this file:
	log      *parser.Log
	previous previousTxn
	starting bool // E2 still holds
	raised   [4]int64
	nRaised  int
	early    map[uint32]bool // sessions seen early in the file, for E5

	distrusted     map[uint32]bool // thread ids that contradicted themselves
	contradictions int64
	contradiction  parser.Pos
}

type previousTxn struct {
	sequence   int64
	thread     uint32
	terminator parser.Terminator
}

// maxSessions bounds the sessions that are remembered since the last
// boundary: no server allows more connections, and forgetting one only makes
// the bound weaker.
const maxSessions = 100_000

// earlyTransactions is how far into a file E5 reaches: a stale number that is
// lower than the sequence number is at most that far from it, and no group
// holds more transactions.
const earlyTransactions = 1000

func newBound(noSessions bool) *bound {
	return &bound{
		noSessions: noSessions,
		sessions:   make(map[uint32]parser.Micros),
		early:      make(map[uint32]bool),
		distrusted: make(map[uint32]bool),
	}
}

// add takes the next transaction; chosen is whether it is reported.
func (b *bound) add(t *parser.Txn, chosen bool) {
	if t.Terminator == parser.TerminatorNone {
		return // in no group
	}
	if t.Log != b.log {
		b.newFile(t.Log)
	}
	restart := t.HasClock && t.SequenceNumber <= b.previous.sequence
	if restart {
		// The numbers say nothing about what came before. Nor is the restart a
		// boundary: the server that wrote the log makes none inside a file.
		b.forget()
		b.previous.sequence = 0
	}
	if b.proves(t) {
		b.apart = true
	}
	if chosen {
		b.members++
		if b.lower == 0 || b.apart {
			b.lower++
			b.apart = false
			b.forget()
		}
	}
	b.remember(t)
}

func (b *bound) newFile(l *parser.Log) {
	// A relay log may end anywhere in its source's groups.
	if b.log != nil && !l.Relay {
		b.apart = true
	}
	b.forget()
	b.log = l
	b.previous = previousTxn{}
	b.starting = l.ServerStarted
	b.nRaised = 0
	clear(b.early)
}

// forget drops what has been seen since the last boundary.
func (b *bound) forget() {
	b.first = 0
	// Clearing costs a map's capacity, not what is in it.
	if len(b.sessions) > 1024 {
		b.sessions = make(map[uint32]parser.Micros)
	} else {
		clear(b.sessions)
	}
}

// proves reports whether t cannot share a group with the first transaction of
// the current one.
func (b *bound) proves(t *parser.Txn) bool {
	if t.Log.Relay { // E6
		return false
	}
	if t.HasClock && t.GTID.IsZero() && t.LastCommitted == t.SequenceNumber-1 && t.HasThreadID &&
		t.ThreadID == b.previous.thread && b.previous.sequence == t.LastCommitted &&
		b.previous.terminator != parser.TerminatorXID && t.Terminator == parser.TerminatorXID { // E1
		return false
	}
	apart := b.clockProves(t)
	if b.sessionOf(t) {
		if last, seen := b.sessions[t.ThreadID]; seen {
			if t.EventTime < last {
				// A session's statements do not begin before those it has committed.
				b.distrusted[t.ThreadID] = len(b.distrusted) < maxSessions
				if b.contradictions++; b.contradictions == 1 {
					b.contradiction = t.Pos()
				}
			} else {
				apart = true
			}
		}
	}
	return apart
}

func (b *bound) clockProves(t *parser.Txn) bool {
	b.starting = b.starting && t.HasClock && t.LastCommitted == t.SequenceNumber-1 // E2
	if !t.HasClock || t.LastCommitted >= t.SequenceNumber || b.first == 0 || t.LastCommitted < b.first {
		return false
	}
	switch {
	case b.starting: // E2
		return false
	case t.Log.Version.AtLeast(8, 0, 0) && b.isRaised(t.LastCommitted): // E3, E4
		return false
	case b.staleParent(t): // E5
		return false
	}
	return true
}

func (b *bound) isRaised(sequence int64) bool {
	return slices.Contains(b.raised[:min(b.nRaised, len(b.raised))], sequence)
}

// staleParent reports whether E5 may hold. Whether the mode is
// WRITESET_SESSION is not known from the version alone.
func (b *bound) staleParent(t *parser.Txn) bool {
	v := t.Log.Version
	return v.AtLeast(5, 7, 22) && !v.AtLeast(8, 4, 0) && !t.Log.ServerStarted &&
		t.SequenceNumber <= earlyTransactions && t.HasThreadID && !b.early[t.ThreadID]
}

func (b *bound) sessionOf(t *parser.Txn) bool {
	return !b.noSessions && t.HasThreadID && t.Local() && !b.distrusted[t.ThreadID]
}

func (b *bound) remember(t *parser.Txn) {
	if b.first == 0 && t.HasClock {
		b.first = t.SequenceNumber
	}
	if b.sessionOf(t) && len(b.sessions) < maxSessions {
		b.sessions[t.ThreadID] = t.EventTime
	}
	if t.SequenceNumber <= earlyTransactions && t.HasThreadID && len(b.early) < earlyTransactions {
		b.early[t.ThreadID] = true
	}
	if t.RaisesClock && t.HasClock {
		b.raised[b.nRaised%len(b.raised)] = t.SequenceNumber
		b.nRaised++
	}
	b.previous = previousTxn{t.SequenceNumber, t.ThreadID, t.Terminator}
}
