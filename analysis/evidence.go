package analysis

import (
	"slices"

	"bgcstat/parser"
)

// facts are what one transaction proves of groups: that it was not in one
// group with certain earlier ones.
//
// Two facts prove a boundary in front of a transaction b and behind an earlier
// one a:
//
//   - last_committed of b is a or later: a had passed its sync before b's last
//     statement ended, hence before b was enqueued (sql/binlog.cc,
//     binlog_prepare and process_commit_stage_queue). Dependency tracking by
//     write sets only lowers last_committed.
//   - a and b are of one session, which waits for the sync of a before it goes
//     on (signal_done). This holds in every mode.
//
// So each b with such an a has a boundary somewhere in (a, b], and a file's
// end is one too.
type facts struct {
	ordinal int64 // of the transaction among all, from 1
	// parent is last_committed where it proves that all up to it were synced
	// before this one was enqueued, else 0.
	parent int64
	// session is the ordinal of the transaction before this one in the same
	// session, 0 for none that is known.
	session int64
	// sessionNumber and sessionStart are that one's sequence number and place,
	// 0 where it is of another file or of before the numbers went back.
	sessionNumber, sessionStart int64
	// threadBefore is the ordinal of the transaction before this one with the same
	// thread id, whether or not that proves anything; 0 for none.
	threadBefore int64
	// restart: sequence numbers go back here, so that they say nothing of what
	// came before. The server that wrote the log makes no group end there.
	restart bool
}

// prover makes facts of transactions, in log order.
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
// transactions) or where a session takes another's: see NoSessionBound.
type prover struct {
	noSessions bool
	sessions   sessions
	ordinal    int64

	// In this file:
	log      *parser.Log
	previous previousTxn
	starting bool // E2 still holds
	raised   [4]int64
	nRaised  int
	first    int64 // ordinal of its first transaction
	// highThread is the highest thread id of this server's sessions so far, which
	// numbers them in order; lastThread is what it was before this file, 0 where
	// that was not read.
	highThread, lastThread uint32
	run                    int64 // ordinal from which on sequence numbers have not gone back

	facts facts // of the current transaction

	contradictions int64
	contradiction  parser.Pos
}

type previousTxn struct {
	sequence   int64 // 0 where it has no clock
	thread     uint32
	terminator parser.Terminator
}

// of gives the facts of the next transaction that is in a group. They hold
// until the next call.
func (p *prover) of(t *parser.Txn) *facts {
	p.ordinal++
	p.sessions.now = p.ordinal
	if t.Log != p.log {
		p.log, p.first, p.run = t.Log, p.ordinal, p.ordinal
		p.previous = previousTxn{}
		p.starting = t.Log.ServerStarted
		p.nRaised = 0
		p.lastThread = p.highThread
	}
	f := &p.facts
	*f = facts{ordinal: p.ordinal, restart: t.HasClock && t.SequenceNumber <= p.previous.sequence}
	if f.restart {
		p.run = p.ordinal
	}
	p.starting = p.starting && t.HasClock && t.LastCommitted == t.SequenceNumber-1 // E2
	if !p.isSecondHalf(t) {
		fresh := p.session(t, f)
		if p.clockProves(t, fresh) {
			f.parent = t.LastCommitted
		}
	}
	if t.RaisesClock && t.HasClock {
		p.raised[p.nRaised%len(p.raised)] = t.SequenceNumber
		p.nRaised++
	}
	p.previous = previousTxn{t.SequenceNumber, t.ThreadID, t.Terminator}
	return f
}

// isSecondHalf reports exception E1.
func (p *prover) isSecondHalf(t *parser.Txn) bool {
	return t.HasClock && t.GTID.IsZero() && t.LastCommitted == t.SequenceNumber-1 &&
		t.HasThreadID && t.ThreadID == p.previous.thread && p.previous.sequence == t.LastCommitted &&
		p.previous.terminator != parser.TerminatorXID && t.Terminator == parser.TerminatorXID
}

// session finds the session's transaction before t, and remembers t. fresh is
// whether t may be the first in this file of a session that is older.
func (p *prover) session(t *parser.Txn, f *facts) (fresh bool) {
	if !t.HasThreadID {
		return true
	}
	local := t.Local()
	s := p.sessions.of(sessionID{t.ServerID, t.ThreadID, local})
	before := *s
	s.ordinal, s.time, s.start, s.number = p.ordinal, t.EventTime, t.Start, t.SequenceNumber
	f.threadBefore = before.ordinal
	// A connection made since the file began has no number of the file before.
	fresh = before.ordinal < p.first && (p.lastThread == 0 || t.ThreadID <= p.lastThread)
	if local {
		p.highThread = max(p.highThread, t.ThreadID)
	}
	if before.ordinal == 0 || p.noSessions || !local || s.distrusted {
		return fresh
	}
	if t.EventTime < before.time && before.ordinal >= p.first {
		// A session's statements do not begin before those it has committed.
		s.distrusted = true
		if p.contradictions++; p.contradictions == 1 {
			p.contradiction = t.Pos()
		}
		return fresh
	}
	f.session = before.ordinal
	if before.ordinal >= p.run {
		f.sessionNumber, f.sessionStart = before.number, before.start
	}
	return fresh
}

func (p *prover) clockProves(t *parser.Txn, freshSession bool) bool {
	v := t.Log.Version
	switch {
	case !t.HasClock || t.LastCommitted <= 0 || t.LastCommitted >= t.SequenceNumber || t.Log.Relay: // E6
		return false
	case p.starting: // E2
		return false
	case v.AtLeast(8, 0, 0) && slices.Contains(p.raised[:min(p.nRaised, len(p.raised))], t.LastCommitted): // E3, E4
		return false
	case v.AtLeast(5, 7, 22) && !v.AtLeast(8, 4, 0) && !t.Log.ServerStarted && freshSession: // E5
		// Whether the mode is WRITESET_SESSION is not known from the version.
		return false
	}
	return true
}
