package analysis

import "bgcstat/parser"

// nearly reports whether n is at least 99 % of all.
func nearly(n, all int64) bool { return 100*n >= 99*all }

// alone keeps what may tell why next to no transactions shared a sync group.
type alone struct {
	sessions map[sessionID]struct{} // at most maxSessions
	// recent holds ids of sessions, by the low bits of the thread's: it saves most
	// look-ups.
	recent  [256]sessionID
	unnamed bool  // some transaction has no session id
	clocks  int64 // transactions with a clock
	serial  int64 // of these, whose parent is the one just before
	waited  int64
}

func (a *alone) add(t *parser.Txn) {
	if t.HasClock {
		a.clocks++
		if t.SequenceNumber-t.LastCommitted == 1 {
			a.serial++
		}
	}
	if t.Waited {
		a.waited++
	}
	if !t.HasThreadID {
		a.unnamed = true
		return
	}
	id := sessionID{server: t.ServerID, thread: t.ThreadID, local: true}
	if slot := &a.recent[id.thread%uint32(len(a.recent))]; *slot != id {
		*slot = id
		if a.sessions == nil {
			a.sessions = make(map[sessionID]struct{})
		}
		if len(a.sessions) < maxSessions {
			a.sessions[id] = struct{}{}
		}
	}
}

// aloneIn gives r's Alone, nil where it is not so. It needs r's groups, tables
// and dependency tracking.
func (a *Analyzer) aloneIn(r *Result) *Alone {
	if r.Transactions < fewTransactions || a.filter.ofSome() {
		return nil
	}
	out := a.aloneGroups(&r.Groups)
	if out == nil || !nearly(out.AloneGroups, out.Groups) {
		return nil
	}
	for _, t := range r.Tables {
		if t.Transactions > out.TableTransactions {
			out.Table, out.TableTransactions = t.Table, t.Transactions
		}
	}
	if !nearly(out.TableTransactions, r.Transactions) {
		return nil
	}
	if !a.alone.unnamed {
		out.Sessions = new(int64(len(a.alone.sessions)))
	}
	if a.alone.clocks > 0 {
		out.ParentsJustBefore = new(a.alone.serial)
	}
	if a.flavor == parser.MariaDB {
		out.Waited = new(a.alone.waited)
	}
	out.Cause = a.alone.cause(out, r)
	return out
}

// aloneGroups counts the groups and those of one, nil where neither is more than
// an estimate.
func (a *Analyzer) aloneGroups(g *Groups) *Alone {
	s, b := g.Sync, g.Bound
	// Where n transactions are in at least so many groups, no more than n less
	// these can be of two or more.
	atLeast := func(groups, n int64) int64 { return 2*groups - n }
	switch {
	case s == nil:
		return nil
	case s.Basis == Measured: // the sizes are fitted
		n := a.inGroups(s)
		return &Alone{Groups: *s.Count, AloneGroups: atLeast(s.Low, n), Transactions: n, Basis: s.Basis, Method: s.Method}
	case s.Basis != Estimated && len(s.Histogram) > 0 && s.Histogram[0].Size == 1:
		return &Alone{Groups: *s.Count, AloneGroups: s.Histogram[0].Groups, Transactions: a.inGroups(s), Basis: s.Basis, Method: s.Method}
	case s.Basis != Exact && a.flavor != parser.MariaDB && b != nil:
		return &Alone{Groups: b.Lower, AloneGroups: atLeast(b.Lower, b.Upper), Transactions: b.Upper, Basis: Bounded, Method: Constraints}
	}
	return nil
}

func (a *alone) cause(of *Alone, r *Result) Cause {
	switch serial := a.clocks > 0 && nearly(a.serial, r.Transactions); {
	case of.Sessions != nil && *of.Sessions == 1:
		return OneSession
	case of.Waited != nil && 10*a.waited >= 9*r.Transactions:
		return RowLocks
	case of.Waited != nil && nearly(r.Transactions-a.waited, r.Transactions):
		return OneAtATime
	case serial && of.Sessions != nil && r.DependencyTracking.ServerMode == ModeWriteset:
		return WriteSets
	case serial:
		return Serial
	}
	return ""
}
