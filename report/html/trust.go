package html

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"bgcstat/analysis"
	"bgcstat/report"
)

// coverage says what was read, and of what the figures are.
func coverage(r *analysis.Result) []fact {
	var out []fact
	add := func(name string, t text) { out = append(out, fact{name, t}) }
	if win := r.Window; win != nil {
		by := "by the times of commits, to the microsecond"
		if win.Clock == analysis.ClockHeader {
			by = "by the times of event headers: whole seconds, when a statement began"
		}
		add("Window", words("%s, %s", report.WindowInWords(win), by))
	}
	add("Logs", words("%s", logsInWords(r.Sources)))
	if f := filters(r.Filters); f != nil {
		add("Filters", f)
	}
	add("Logical clock", words("%s", clockInWords(r)))
	if io := r.IO; io != nil {
		add("Trace", words("%s", traceInWords(io)))
	}
	return out
}

func logsInWords(sources []analysis.Source) string {
	open, bad := 0, 0
	for _, s := range sources {
		switch {
		case !s.Complete:
			bad++
		case s.Open:
			open++
		}
	}
	n := len(sources)
	switch {
	case n == 0:
		return "none"
	case n == 1 && bad == 1:
		return "1, damaged or not read to its end"
	case n == 1 && open == 1:
		return "1, read to its end; its server still had it open when it was copied"
	case n == 1:
		return "1, closed by its server and read to its end"
	case bad == 0 && open == 0:
		return fmt.Sprintf("%d, all closed by their server and read to their ends", n)
	}
	s := fmt.Sprintf("%d: %d complete", n, n-bad-open)
	if open > 0 {
		s += fmt.Sprintf(", %d still open when read", open)
	}
	if bad > 0 {
		s += fmt.Sprintf(", %d damaged or not read to the end", bad)
	}
	return s
}

func filters(f *analysis.Filters) text {
	var t text
	for _, g := range report.GivenFilters(f) {
		if len(t) > 0 {
			t = append(t, span{Text: "; "})
		}
		t = append(t, span{Text: g.Name + " "})
		t = append(t, names(g.Values...)...)
	}
	return t
}

// clockInWords is the verdict on the logical clock.
func clockInWords(r *analysis.Result) string {
	c := r.Clock
	without := ""
	if c.TransactionsWith > 0 && c.TransactionsWithout > 0 {
		without = fmt.Sprintf("; %s without one", plural(c.TransactionsWithout, "transaction"))
	}
	switch c.Verdict {
	case analysis.Contiguous:
		return "contiguous: sequence numbers rise without a gap, so that no transaction is missing inside the logs" + without
	case analysis.Gaps:
		return fmt.Sprintf("%s: transactions were filtered out, or are lost", plural(c.Gaps, "gap")) + without
	case analysis.Restarts:
		return fmt.Sprintf("goes back in %s inside a file: a tool rewrote the log or joined two", plural(c.Restarts, "place")) + without
	case analysis.NoClock:
		if r.DependencyTracking.ServerMode == analysis.ModeNone {
			return "none: this server writes no last_committed and sequence_number"
		}
		return "none: no transaction has last_committed and sequence_number"
	default:
		return string(c.Verdict)
	}
}

func traceInWords(io *analysis.IO) string {
	s := "by " + cmp.Or(io.Source, "a source that is not stated")
	if io.Detail != "" {
		s += " (" + io.Detail + ")"
	}
	if io.Seconds > 0 && report.Finite(io.Seconds) {
		s += fmt.Sprintf(", %s from %s UTC by the clock of its host", report.Duration(io.Seconds), io.Start.UTC().Format(time.DateTime+".000"))
	}
	if io.Lost > 0 {
		s += fmt.Sprintf("; %s lost by the kernel", plural(io.Lost, "event"))
	}
	return s
}

// basisTable names the basis and the method of each figure.
func basisTable(r *analysis.Result) *table {
	t := &table{ID: "basis", Title: "What each figure rests on", Head: columns("figure", "value|value", "basis", "method|prose")}
	groups := func(what string, g *analysis.GroupStats) {
		if g == nil {
			return
		}
		value := countOf(g)
		if g.Count != nil && g.Low != g.High {
			value += fmt.Sprintf(" (%s to %s)", report.Count(g.Low), report.Count(g.High))
		}
		t.row(words("%s", what), words("%s", value), words("%s", g.Basis), words("%s", g.Method))
	}
	if r.Transactions == 0 {
		return nil
	}
	groups("sync groups", r.Groups.Sync)
	if g := r.Groups.Sync; g != nil && g.Size != nil {
		basis := g.Basis
		if basis == analysis.Measured { // the number is, and so the mean; which transactions shared a group is not
			basis = "mean measured, the rest estimated"
		}
		t.row(words("group size"), words("mean %.2f, largest %s", g.Size.Mean, report.Count(g.Size.Max)), words("%s", basis), words("%s", g.Method))
	}
	groups("flush groups", r.Groups.Flush)
	if b, g := r.Groups.Bound, r.Groups.Sync; b != nil && g != nil && g.Method != analysis.CommitID {
		t.row(words("limits on sync groups"), words("%s to %s", report.Count(b.Lower), report.Count(b.Upper)), words("bound"), words("constraints: what is proven of this log"))
	}
	if lc := r.Groups.LastCommitted; lc != nil {
		distinct := "uncounted"
		if lc.Distinct != nil {
			distinct = report.Count(*lc.Distinct) + " distinct"
		}
		t.row(words("last_committed"), words("%s, %s", distinct, plural(lc.Runs, "run")), words("%s", lc.Basis), words("%s: not commit groups", lc.Method))
	}
	if s := r.Saved; s != nil {
		saved := func(what string, b *analysis.SavedSync, assumes string) {
			if b != nil {
				value := report.SavedInWords(b)
				if what == "binlog fsyncs saved" && s.Assumes.SyncBinlog == 0 {
					value = "none are made on commit"
				}
				t.row(words("%s", what), words("%s", value), words("%s", b.Basis), words("%s; %s", b.Method, assumes))
			}
		}
		saved("binlog fsyncs saved", s.Binlog, fmt.Sprintf("sync_binlog=%d, %s", s.Assumes.SyncBinlog, origin(s.Assumes.From)))
		if n := s.Assumes.FlushLogAtTrxCommit; n != nil {
			saved("redo syncs saved", s.Redo, fmt.Sprintf("innodb_flush_log_at_trx_commit=%d", *n))
		}
	}
	if r.IO != nil {
		if b, ok := r.IO.Syncs["binlog"]; ok {
			t.row(words("binlog syncs"), words("%s", report.Count(b.Count)), words("%s", report.CountBasis(b.Exactness)), words("counted by %s", r.IO.Source))
		}
	}
	for i, s := range r.DependencyTracking.Stretches {
		if i == 3 {
			t.after("The log has %d stretches of dependency tracking in all; see below.", len(r.DependencyTracking.Stretches))
			break
		}
		t.row(words("dependency tracking"), words("%s", s.Observed), words("%s", s.Certainty), words("%s", cmp.Or(rules(s.Evidence), "the log itself")))
	}
	return t
}

// rules lists the rules of evidence.
func rules(e []analysis.Evidence) string {
	var out []string
	for _, e := range e {
		out = append(out, fmt.Sprintf("%s %s", report.Count(e.Count), e.Rule))
	}
	return strings.Join(out, ", ")
}

// weights has the class and the word of each weight.
var weights = [...]struct{ class, word string }{
	report.Grave: {"grave", "May be wrong:"},
	report.Doubt: {"doubt", "Uncertain:"},
	report.Note:  {"note", "Note:"},
}

type warning struct {
	Class, Weight string
	Code          string
	Where         text
	Message       string
}

// warnings are those of the result, by weight.
func warnings(r *analysis.Result) []warning {
	out := make([]warning, 0, len(r.Warnings))
	for _, w := range report.ByWeight(r.Warnings) {
		at := report.WeightOf(w.Code)
		v := warning{Class: weights[at].class, Weight: weights[at].word, Code: w.Code, Message: w.Message}
		switch {
		case w.Count > 1 && w.At != nil:
			v.Where = append(words("%s times, first at ", report.Count(w.Count)), place(*w.At)...)
		case report.OfTransactions(w):
			v.Message = report.Count(w.Count) + " " + w.Message
		case w.Count > 1:
			v.Where = words("%s times", report.Count(w.Count))
		case w.At != nil:
			v.Where = append(words("at "), place(*w.At)...)
		}
		out = append(out, v)
	}
	return out
}

// warningsInWords counts them for the head of the page.
func warningsInWords(ws []warning) string {
	n, notes := 0, 0
	for _, w := range ws {
		switch w.Class {
		case weights[report.Grave].class:
			n++
		case weights[report.Note].class:
			notes++
		}
	}
	s := plural(int64(len(ws)), "warning")
	switch {
	case notes == len(ws):
		return plural(int64(notes), "note")
	case n == 0:
		return s
	case n == len(ws) && n == 1:
		return "1 warning, which may make figures wrong"
	case n == len(ws):
		return s + ", all of which may make figures wrong"
	default:
		return fmt.Sprintf("%s, %d of which may make figures wrong", s, n)
	}
}
