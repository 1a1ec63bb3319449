package analysis

import "bgcstat/parser"

// Server modes of dependency tracking.
const (
	ModeWriteset    = "WRITESET"
	ModeCommitOrder = "COMMIT_ORDER"
	ModeNone        = "none"
	ModeUnknown     = "unknown"
)

// serverMode is what a server's version alone says of its dependency tracking:
// write sets came with 5.7.22, may be switched on since then, and are the only
// mode since 8.4.0, which removed binlog_transaction_dependency_tracking.
func serverMode(l *parser.Log) DependencyTracking {
	d := DependencyTracking{ServerMode: ModeUnknown, From: "unknown"}
	switch v := l.Version; {
	case l.Flavor == 0:
		return d
	case l.Flavor == parser.MariaDB, !v.AtLeast(5, 7, 0):
		d.ServerMode = ModeNone
	case v.AtLeast(8, 4, 0):
		d.ServerMode = ModeWriteset
	case !v.AtLeast(5, 7, 22):
		d.ServerMode = ModeCommitOrder
	default:
		return d
	}
	d.From = "version"
	return d
}

// modeOf is the mode that all logs agree in.
func modeOf(logs []*parser.Log) DependencyTracking {
	d := DependencyTracking{}
	for _, l := range logs {
		if l.Flavor == 0 {
			continue
		}
		if m := serverMode(l); d.ServerMode == "" {
			d = m
		} else if m.ServerMode != d.ServerMode {
			return DependencyTracking{ServerMode: ModeUnknown, From: "unknown"}
		}
	}
	return d
}

// Rules of evidence.
const (
	ruleSession = "same-session"
	ruleSecond  = "older-than-a-second"
	ruleFar     = "far-parents"
	ruleSerial  = "parent-is-the-one-before"
	ruleRecent  = "recent-parents"
)

// tracker observes dependency tracking, window by window of the log.
//
// Two facts prove that write sets lowered last_committed (both hold for
// transactions made on the server that wrote the log):
//
//	P1 a is the transaction before b in b's session, and last_committed of b
//	   is below a. Under commit order the session had seen a committed before
//	   its next statement ended; WRITESET_SESSION raises last_committed to a.
//	P2 some c shows that a had been committed when c was written, which was
//	   more than a second before the last statement of b began, and
//	   last_committed of b is below a: not commit order.
//
// Anything else is a hint at the most. Commit order in particular cannot be
// proven: with one hot row, tables without keys, or a history too small, write
// sets give the same parents.
type tracker struct {
	window  window
	done    []Stretch
	log     *parser.Log
	seconds clockSeconds
}

// window is the transactions that are looked at together.
type window struct {
	start          Position // of its first transaction
	log            *parser.Log
	end            int64 // in log, behind its last
	n              int64 // transactions with a clock
	pairs          int64 // of them, those with one before in their session in this file
	proofs         int64 // transactions that prove write sets, by one rule or the other
	session        Evidence
	second         Evidence
	serial         int64 // parent is the transaction before
	serialExample  Evidence
	far            int64 // parent is further back than sessions explain
	farExample     Evidence
	ordinal        int64 // of its first transaction
	sessions       int64
	lastStart      int64
	recentExample  Evidence
	commitPossible bool // versions that have commit order wrote it
}

const (
	windowSize = 4096
	// maxStretches bounds what a log that changes all the time is parted in.
	maxStretches = 256
	// farFactor is how many times further back than there are sessions a parent
	// must be to hint at write sets: commit order may be that old where a session
	// leaves a transaction open.
	farFactor = 8
)

// add takes the next transaction that is in a group. It reports whether it
// proves write sets.
func (k *tracker) add(t *parser.Txn, f *facts) (proof bool) {
	if t.Log != k.log || f.restart {
		k.log = t.Log
		k.seconds = clockSeconds{}
		k.window.lastStart = 0
	}
	if !t.HasClock || t.LastCommitted >= t.SequenceNumber {
		return false
	}
	w := &k.window
	if w.n == 0 {
		w.start, w.ordinal = Position{t.Log.Name, t.Start}, f.ordinal
	}
	w.n++
	w.log, w.end = t.Log, t.End
	v := t.Log.Version
	w.commitPossible = w.commitPossible || !v.AtLeast(8, 4, 0)
	if t.HasThreadID && f.threadBefore < w.ordinal {
		w.sessions++
	}

	example := func(e *Evidence, rule string, earlier int64, why string) {
		if e.Count++; e.Count == 1 {
			e.Rule, e.Earlier, e.Later, e.Why = rule, Position{t.Log.Name, earlier}, Position{t.Log.Name, t.Start}, why
		}
	}
	// Only a commit of a session of this server, by the engine: XA COMMIT and
	// DDL take their parents at other moments.
	local := t.Local() && t.Terminator == parser.TerminatorXID
	if local && f.sessionNumber != 0 {
		w.pairs++
		if t.LastCommitted < f.sessionNumber {
			proof = true
			example(&w.session, ruleSession, f.sessionStart, "both are of one session, which had seen the earlier one committed before the later one's last statement ended, yet the later one's last_committed is below the earlier one's sequence_number")
		} else {
			example(&w.recentExample, ruleRecent, f.sessionStart, "the later one's last_committed reaches the earlier one of its session, as commit order always has it")
		}
	}
	if local && t.StatementTime > 0 && t.StatementTime <= t.CommitTime {
		if s, ok := k.seconds.before(t.StatementTime); ok && t.LastCommitted < s.last {
			proof = true
			example(&w.second, ruleSecond, s.start, "the earlier one's last_committed shows what had been committed when it was written, more than a second before the later one's last statement began, yet the later one's last_committed is below that")
		}
	}
	distance := t.SequenceNumber - t.LastCommitted
	if distance == 1 && w.lastStart > 0 && t.LastCommitted > 0 {
		w.serial++
		example(&w.serialExample, ruleSerial, w.lastStart, "the later one's parent is the transaction just before it")
	}
	if distance > farFactor*max(w.sessions, 8) && t.LastCommitted > 0 && w.lastStart > 0 {
		w.far++
		example(&w.farExample, ruleFar, w.lastStart, "the later one's parent is many times further back than there are sessions")
	}
	w.lastStart = t.Start
	if proof {
		w.proofs++
	}
	if t.CommitTime > 0 && t.Local() {
		k.seconds.add(t.CommitTime, t.LastCommitted, t.Start)
	}
	if w.n >= windowSize {
		k.close()
	}
	return proof
}

// close ends a window, and joins it with the stretch before where the two look
// alike or the window is too short to tell.
func (k *tracker) close() {
	w := k.window
	k.window = window{}
	if w.n == 0 {
		return
	}
	s := w.judge()
	if n := len(k.done); n > 0 {
		last := &k.done[n-1]
		short := w.n < windowSize/4 && s.Certainty != Proven
		if last.Observed == s.Observed && last.Certainty == s.Certainty || short || n >= maxStretches {
			last.End, last.Transactions, last.Proofs = s.End, last.Transactions+s.Transactions, last.Proofs+s.Proofs
			if last.Observed == s.Observed {
				for _, e := range s.Evidence {
					last.addEvidence(e)
				}
			}
			return
		}
	}
	k.done = append(k.done, s)
}

func (s *Stretch) addEvidence(e Evidence) {
	for i := range s.Evidence {
		if s.Evidence[i].Rule == e.Rule {
			s.Evidence[i].Count += e.Count
			return
		}
	}
	s.Evidence = append(s.Evidence, e)
}

// judge says what a window shows.
func (w *window) judge() Stretch {
	s := Stretch{Start: w.start, End: Position{w.log.Name, w.end}, Transactions: w.n, Proofs: w.proofs, Observed: NotDistinguishable, Certainty: Unknown}
	add := func(e Evidence) {
		if e.Count > 0 {
			s.Evidence = append(s.Evidence, e)
		}
	}
	add(w.session)
	add(w.second)
	switch {
	case w.session.Count > 0:
		s.Observed, s.Certainty = ObservedWriteset, Proven
	case w.second.Count > 0:
		s.Observed, s.Certainty = ObservedWritesetOrSession, Proven
	case 10*w.serial >= 9*w.n:
		add(w.serialExample)
		s.Reason = "nearly every transaction's parent is the one just before it: one client, one row that all change, or tables without keys look like this in every mode"
	case 10*w.far >= w.n:
		add(w.farExample)
		s.Observed, s.Certainty = ObservedWritesetOrSession, Hinted
		s.Reason = "many parents are further back than the sessions of this log explain"
	case w.pairs < 100:
		s.Reason = "too few transactions of returning sessions to tell"
	case w.commitPossible:
		add(w.recentExample)
		s.Observed, s.Certainty = ObservedCommitOrder, Hinted
		s.Reason = "every parent is as recent as commit order has it; WRITESET_SESSION, and WRITESET on tables without keys, look the same"
	default:
		add(w.recentExample)
		s.Reason = "every parent is as recent as commit order has it, in a version that knows only WRITESET: tables without keys, tables with foreign keys on them, or a dependency history too small look like this"
	}
	return s
}

// result gives the stretches.
func (k *tracker) result() []Stretch {
	k.close()
	return k.done
}

// clockSeconds remembers, for the last seconds, how far the commit clock had
// come at the end of each.
type clockSeconds struct {
	ring [16]clockSecond
	n    int
}

// clockSecond is the highest last_committed written until the end of a second.
type clockSecond struct {
	second int64
	last   int64 // last_committed
	start  int64 // of the transaction that has it
}

func (c *clockSeconds) add(at parser.Micros, last, start int64) {
	second := int64(at) / 1e6
	var now clockSecond
	if c.n > 0 {
		now = c.ring[(c.n-1)%len(c.ring)]
	}
	if c.n > 0 && second < now.second {
		return // a clock that steps back shows nothing until it is back
	}
	if c.n == 0 || second > now.second {
		now.second = second
		c.n++
	}
	if last > now.last {
		now.last, now.start = last, start
	}
	c.ring[(c.n-1)%len(c.ring)] = now
}

// before gives the clock as it was a second before t, a whole second. ok is
// false where that is not remembered.
func (c *clockSeconds) before(t parser.Micros) (clockSecond, bool) {
	limit := int64(t)/1e6 - 1 // written in an earlier second than this one
	for i := c.n - 1; i >= 0 && i > c.n-1-len(c.ring); i-- {
		if s := c.ring[i%len(c.ring)]; s.second < limit {
			return s, s.last > 0
		}
	}
	return clockSecond{}, false
}
