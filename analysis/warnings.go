package analysis

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"bgcstat/parser"
)

// fewTransactions are fewer than a percentile can be taken of.
const fewTransactions = 30

// warn adds to r what limits its figures: damage first, then what the reader
// of a figure must know.
func (a *Analyzer) warn(r *Result, logs []*parser.Log, main *parser.Log) {
	add := func(code string, count int64, at parser.Pos, format string, args ...any) {
		addWarning(r, code, count, at, format, args...)
	}
	for _, l := range logs {
		for _, w := range l.Warnings {
			add(w.Code, w.Count, w.At, "%s", w.Message)
		}
	}
	for _, u := range r.UnknownEvents {
		add("unknown-event", u.Count, parser.Pos{}, "events of type %d, which bgcstat does not know, were skipped", u.Type)
	}
	start := parser.Pos{}
	if r.Transactions == 0 {
		left := ""
		switch {
		case a.uncovered > 0:
			left = " that the trace covers"
		case a.filter.Given != nil:
			left = " that the filters leave"
		}
		add("no-transactions", 1, start, "there are no transactions%s", left)
	}
	if main == nil {
		return
	}

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
	names := slices.DeleteFunc(slices.Clone(a.settings.varied), func(name string) bool {
		return a.trace != nil && a.trace.usage.changed[name] != "" // which has its own
	})
	if len(names) > 0 {
		add("settings-changed", int64(len(names)), start, "%s changed while the transactions were written: what follows from a value, as fsyncs saved do from that of sync_binlog, is not shown, and estimates go by those of the beginning", strings.Join(names, ", "))
	}
	a.warnLegacy(r, add)
	a.warnEstimate(r, main, add)
	if n := r.Transactions; n == 1 {
		add("few-transactions", 1, start, "only 1 transaction: shares, percentiles and rates of one say little")
	} else if n < fewTransactions {
		add("few-transactions", 1, start, "only %d transactions: shares, percentiles and rates of so few say little", n)
	}
	add("long-pauses", c.pauses, c.firstPause, "pauses of ten minutes or more, the longest of %s: the server was idle, or its clock was set; mean rates count them", pause(c.longestPause))
	if r.Window != nil && r.Window.Clock == ClockHeader {
		add("header-times", 1, start, "times are those of event headers: whole seconds, when a statement began, not when it was committed")
	}
	if g := r.Groups.Sync; g != nil && g.Method == CommitID && damaged(logs) {
		add("damaged-groups", 1, start, "transactions were left out as damaged: groups that they were in are smaller than they were, or in two parts")
	}
	if a.filter.ofSome() {
		add("filtered", 1, start, "groups hold transactions that the filters left out; sizes count all members, and fsyncs saved are not shown for a part of them")
	} else if _, _, ok := a.settings.syncBinlog(logs); !ok && !slices.Contains(a.settings.varied, "sync_binlog") && !main.Relay && r.Groups.Sync != nil {
		add("sync-binlog-unknown", 1, start, "sync_binlog is not known and defaults to 0 in %s: fsyncs saved are not shown; state it with --sync-binlog", serverName(main))
	}
}

// grouped writes n with commas between thousands, as reports do.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// times writes a factor.
func times(f float64) string {
	if f >= 100 {
		return grouped(int64(f + 0.5))
	}
	return fmt.Sprintf("%.2g", f)
}

// pause says how long a pause is, in a unit that suits it.
func pause(d time.Duration) string {
	switch {
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	case d < 48*time.Hour:
		return fmt.Sprintf("%.1f h", d.Hours())
	default:
		return fmt.Sprintf("%.1f days", d.Hours()/24)
	}
}

// addWarning adds a warning to r, if it counts anything.
func addWarning(r *Result, code string, count int64, at parser.Pos, format string, args ...any) {
	if count == 0 {
		return
	}
	w := Warning{Code: code, Message: fmt.Sprintf(format, args...), Count: count}
	if at.File != "" {
		w.At = &Position{at.File, at.Offset}
	}
	r.Warnings = append(r.Warnings, w)
}

// warnLegacy says how far the popular recipe can be believed.
func (a *Analyzer) warnLegacy(r *Result, add func(string, int64, parser.Pos, string, ...any)) {
	lc, b, sync := r.Groups.LastCommitted, r.Groups.Bound, r.Groups.Sync
	if lc == nil {
		return
	}
	switch {
	case lc.Distinct == nil:
		add("last-committed-uncounted", 1, parser.Pos{}, "last_committed takes too many far-apart values to count: not a server's clock")
	case b != nil && *lc.Distinct < b.Lower:
		add("last-committed-refuted", 1, parser.Pos{}, "there are %s values of last_committed, but at least %s sync groups are proven: counting equal values is wrong for this log", grouped(*lc.Distinct), grouped(b.Lower))
	case sync != nil && sync.Count != nil && (*lc.Distinct < sync.Low || *lc.Distinct > sync.High):
		add("last-committed-off", 1, parser.Pos{}, "counting equal values of last_committed gives %s groups, where %s are %s: %s times as many", grouped(*lc.Distinct), grouped(*sync.Count), sync.Basis, times(float64(*lc.Distinct)/float64(*sync.Count)))
	}
	if n := a.lastCommitted.farRuns; n > 0 {
		add("last-committed-seconds-apart", n, a.lastCommitted.firstFar, "transactions with the same last_committed, one behind the other, were committed up to %.1f s apart: they can hardly have shared an fsync", float64(a.lastCommitted.longest)/1e6)
	}
	observed := slices.ContainsFunc(r.DependencyTracking.Stretches, func(s Stretch) bool {
		return s.Certainty == Proven
	})
	if mode := r.DependencyTracking.ServerMode; mode == ModeWriteset || observed {
		add("writeset-parents", 1, parser.Pos{}, "last_committed comes from write sets: it says which transactions may be applied in parallel, not which shared an fsync")
		if p := r.SerializationPoints; p != nil && observed {
			add("serialization-points", p.Count, a.serial.first, "transactions that must wait for the one just before, after one that need not: %s", p.Causes())
		}
	}
}

// warnEstimate says what an estimate rests on, and where it is weak.
func (a *Analyzer) warnEstimate(r *Result, main *parser.Log, add func(string, int64, parser.Pos, string, ...any)) {
	if main.Flavor != parser.MySQL {
		return
	}
	c := a.clock
	add("clock-stepped-back", c.backSteps, c.firstStep, "commit times go back: the server's clock was set, or a tool rewrote the log; groups around these places are uncertain")
	if 2*c.regrouped > c.ownServer {
		add("group-replication", c.regrouped, parser.Pos{}, "transactions of this server carry an earlier time than that at which it wrote them, as Group Replication gives them: their sessions are taken for no proof")
	}
	e := &a.estimator
	if e.equalTimes() {
		add("equal-commit-times", e.equal, parser.Pos{}, "transactions carry the commit time of the one before, which no server's clock gives so often: a tool rewrote the log; groups cannot be estimated, only bounded")
	} else if e.off {
		if r.Clock.TransactionsWith > 0 && r.Groups.Sync != nil && r.Groups.Sync.Basis == Bounded {
			add("no-commit-times", e.timeless, parser.Pos{}, "the log has transactions without commit times (they came with MySQL 8.0.1): groups cannot be estimated, only bounded")
		}
	}
	if r.Groups.Sync == nil || r.Groups.Sync.Basis != Estimated {
		return
	}
	add("no-commit-times", e.timeless, parser.Pos{}, "transactions without a commit time: each is taken for a group of its own")
	all := e.regimes[paced] + e.regimes[delayed] + e.regimes[unpaced]
	if n := e.regimes[delayed]; 10*n > all {
		add("delayed-syncs", n, parser.Pos{}, "transactions are in stretches where syncs were held up and many flush groups share one: binlog_group_commit_sync_delay, a wait for a semi-synchronous replica, or a slow disk; a file cannot tell which")
	}
	if n := e.untold; 10*n > all {
		add("sessions-show-nothing", n, parser.Pos{}, "transactions are in stretches where too few sessions come back to tell whether syncs were held up: the number of sync groups may be anything from the bound to the number of flush groups; state --binlog-group-commit-sync-delay and --flush-log-at-trx-commit")
	}
	if n := e.regimes[unpaced]; 10*n > all {
		add("weak-timestamps", n, parser.Pos{}, "transactions are in stretches where flush groups came faster than syncs, as with innodb_flush_log_at_trx_commit 0 or 2: the number of sync groups is less certain there, and which transactions shared one is a guess")
	}
	if n := a.settings.SyncBinlog; n != nil && *n > 1 {
		add("sync-binlog-many", 1, parser.Pos{}, "sync_binlog=%d: one binlog sync covers as many sync groups, and a crash may lose them", *n)
	}
}

func serverName(l *parser.Log) string {
	if l.Flavor == parser.MariaDB {
		return "MariaDB"
	}
	return "MySQL before 5.7.7"
}
