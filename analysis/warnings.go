package analysis

import (
	"fmt"

	"bgcstat/parser"
)

// warn adds to r what limits its figures: damage first, then what the reader
// of a figure must know.
func (a *Analyzer) warn(r *Result, logs []*parser.Log, main *parser.Log) {
	add := func(code string, count int64, at parser.Pos, format string, args ...any) {
		if count == 0 {
			return
		}
		w := Warning{Code: code, Message: fmt.Sprintf(format, args...), Count: count}
		if at.File != "" {
			w.At = &Position{at.File, at.Offset}
		}
		r.Warnings = append(r.Warnings, w)
	}
	for _, l := range logs {
		for _, w := range l.Warnings {
			add(w.Code, w.Count, w.At, "%s", w.Message)
		}
	}
	for _, u := range r.UnknownEvents {
		add("unknown-event", u.Count, parser.Pos{}, "events of type %d, which bgcstat does not know, were skipped", u.Type)
	}
	if main == nil {
		return
	}

	start := parser.Pos{}
	relays, replicas := int64(0), int64(0)
	for _, l := range logs {
		switch l.Kind() {
		case parser.RelayLog:
			relays++
		case parser.ReplicaBinlog:
			replicas++
		case parser.Binlog:
		}
	}
	add("relay-log", relays, start, "a relay log: its clock, times, thread ids and groups are those of the source, and nothing in it proves a boundary between groups")
	add("replica-binlog", replicas, start, "a replica's own log: its clock and groups are the replica's, the server ids and thread ids of replicated transactions are the source's")

	c := a.clock
	add("clock-gaps", c.figures.Gaps, c.firstGap, "sequence numbers are missing: transactions were filtered out, or lost to damage")
	add("clock-restarts", c.figures.Restarts, c.firstBack, "sequence numbers go back inside a file: no server writes that; a tool rewrote the log or joined two")
	add("clock-midway", c.midways, c.midway, "a log begins with a sequence number other than 1: the transactions before are not in it")
	add("clock-impossible", c.impossibles, c.impossible, "last_committed is not below sequence_number: not a server's clock, and no proof of anything")
	add("thread-ids-contradict", a.prover.contradictions, a.prover.contradiction, "a session's statement began before one that it had committed: sessions share thread ids (a proxy, a replay); those ids are left out of the bound. --no-session-bound leaves out all")

	if r.Transactions == 0 {
		return
	}
	if r.Clock.Verdict == NoClock && main.Flavor == parser.MySQL {
		add("no-clock", 1, start, "the log carries no logical clock (MySQL %v; it came with 5.7.6): commit groups cannot be told from it", main.Version)
	} else if n := r.Clock.TransactionsWithout; n > 0 && main.Flavor == parser.MySQL {
		add("no-clock", n, start, "transactions without a logical clock")
	}
	warnLegacy(r, add)
	if r.Window != nil && r.Window.Clock == ClockHeader {
		add("header-times", 1, start, "times are those of event headers: whole seconds, when a statement began, not when it was committed")
	}
	if a.filter.ofSome() {
		add("filtered", 1, start, "groups hold transactions that the filters left out; sizes count all members, and fsyncs saved are not shown for a part of them")
	} else if _, _, ok := a.settings.syncBinlog(main); !ok && !main.Relay && r.Groups.Sync != nil {
		add("sync-binlog-unknown", 1, start, "sync_binlog is not known and defaults to 0 in %s: fsyncs saved are not shown; state it with --sync-binlog", serverName(main))
	}
}

// warnLegacy says how far the popular recipe can be believed.
func warnLegacy(r *Result, add func(string, int64, parser.Pos, string, ...any)) {
	lc, b := r.Groups.LastCommitted, r.Groups.Bound
	if lc == nil {
		return
	}
	if lc.Distinct == nil {
		add("last-committed-uncounted", 1, parser.Pos{}, "last_committed takes too many far-apart values to count: not a server's clock")
	} else if b != nil && *lc.Distinct < b.Lower {
		add("last-committed-refuted", 1, parser.Pos{}, "there are %d values of last_committed, but at least %d sync groups are proven: counting equal values is wrong for this log", *lc.Distinct, b.Lower)
	}
	if r.DependencyTracking.ServerMode == ModeWriteset {
		add("writeset-parents", 1, parser.Pos{}, "last_committed comes from write sets, the only way since MySQL 8.4: it says which transactions may be applied in parallel, not which shared an fsync")
	}
}

func serverName(l *parser.Log) string {
	if l.Flavor == parser.MariaDB {
		return "MariaDB"
	}
	return "MySQL before 5.7.7"
}
