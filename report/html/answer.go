package html

import (
	"fmt"
	"strings"

	"bgcstat/analysis"
	"bgcstat/report"
)

// answer is the result in one sentence: the sync groups with what their number
// rests on, and what they saved.
func answer(r *analysis.Result) string {
	switch {
	case r.Transactions == 0 && r.Filters != nil:
		return "The filters leave no transactions to report."
	case r.Transactions == 0:
		return "There are no transactions to report."
	case r.Groups.Sync == nil && (r.Saved == nil || r.Saved.Binlog == nil):
		return fmt.Sprintf("Neither the sync groups of %s are known nor the fsyncs that they saved.", plural(r.Transactions, "transaction"))
	}
	s := groupsInWords(r) + "; " + savedInWords(r) + "."
	return strings.ToUpper(s[:1]) + s[1:]
}

func groupsInWords(r *analysis.Result) string {
	g, of := r.Groups.Sync, plural(r.Transactions, "transaction")
	if g == nil {
		return of + " in sync groups that are not known"
	}
	if g.Count == nil {
		s := fmt.Sprintf("between %s and %s sync groups for %s", report.Count(g.Low), report.Count(g.High), of)
		if g.Basis == analysis.Bounded {
			return s + ", which is all that the log proves"
		}
		return s + ", " + report.MadeInWords(g.Basis, g.Method)
	}
	s := fmt.Sprintf("%s for %s, ", plural(*g.Count, "sync group"), of)
	if g.Basis == analysis.Bounded {
		return s + "since the log proves that no two shared one"
	}
	s += report.MadeInWords(g.Basis, g.Method)
	if g.Low != g.High {
		s += fmt.Sprintf(", between %s and %s", report.Count(g.Low), report.Count(g.High))
	}
	return s
}

// savedInWords says what the groups saved, or why that is not known.
func savedInWords(r *analysis.Result) string {
	s := r.Saved
	if s == nil || s.Binlog == nil {
		return "how many fsyncs that saved " + notSaved(r)
	}
	b, n := s.Binlog, s.Assumes.SyncBinlog
	from := fmt.Sprintf("sync_binlog=%d, %s", n, origin(s.Assumes.From))
	switch {
	case n == 0:
		return "no binlog fsync was saved, since none is made on commit (" + from + ")"
	case b.Alone == 0:
		return "so few transactions need no binlog fsync (" + from + ")"
	}
	alone := report.Count(b.Alone)
	if b.SavedByGrouping == nil || b.Share == nil {
		return fmt.Sprintf("one binlog fsync %s saved between %s and %s of the %s that transactions alone would have needed (at most %s; %s)",
			per(n), report.Count(b.SavedByGroupingMin), report.Count(b.SavedByGroupingMax), alone, report.Percent(b.ShareMax), from)
	}
	if *b.SavedByGrouping <= 0 {
		if b.SavedByGroupingMax > 0 {
			from = fmt.Sprintf("at most %s; %s", report.Count(b.SavedByGroupingMax), from)
		}
		return fmt.Sprintf("grouping saved none of the %s binlog fsyncs that transactions alone would have needed (%s)", alone, from)
	}
	if b.SavedByGroupingMin != b.SavedByGroupingMax {
		from = fmt.Sprintf("between %s and %s saved; %s", report.Count(b.SavedByGroupingMin), report.Count(b.SavedByGroupingMax), from)
	}
	var out string
	if b.Basis == analysis.Measured && b.Grouped != nil {
		out = fmt.Sprintf("it took %s (measured) to make them durable, %s fewer than the %s that transactions alone would have needed (%s)", plural(*b.Grouped, "binlog fsync"), report.Percent(*b.Share), alone, from)
	} else {
		out = fmt.Sprintf("one binlog fsync %s saved %s of the %s that transactions alone would have needed (%s)", per(n), report.Percent(*b.Share), alone, from)
	}
	if by := b.SavedBySyncBinlog; by != nil && *by > 0 && n > 1 {
		out += fmt.Sprintf(", and sync_binlog=%d saved another %s, for which a crash may lose the newest transactions", n, report.Count(*by))
	}
	return out
}

func per(syncBinlog int64) string {
	if syncBinlog == 1 {
		return "each"
	}
	return fmt.Sprintf("for every %s groups", report.Count(syncBinlog))
}

// origin says where a setting is known from.
func origin(from string) string {
	switch from {
	case "server":
		return "as the server said"
	case "flag":
		return "as stated"
	case "":
		return "of unknown origin"
	default:
		return "the " + from
	}
}

// notSaved says why there is no figure, after "how many fsyncs that saved".
func notSaved(r *analysis.Result) string {
	switch {
	case r.Groups.Sync == nil:
		return "is not known"
	case has(r, "filtered"):
		return "is not shown for a part of the transactions"
	case has(r, "sync-binlog-unknown"):
		return "is not known, since sync_binlog is not (state it with --sync-binlog)"
	case has(r, "relay-log"):
		return "is not known, since a relay log does not tell how it was written"
	case has(r, "syncs-cover-groups"):
		return "is not shown, since the trace refutes the sync_binlog that was assumed"
	default:
		return "is not known"
	}
}

// more are sentences that must not be missed beside the answer.
func more(r *analysis.Result) []string {
	var out []string
	if has(r, "trace-contradicts-log") {
		out = append(out, "The trace contradicts the log, so nothing is concluded from the two together: this rests on the log alone.")
	}
	if s := report.AloneInWords(r); s != "" {
		out = append(out, s)
	}
	incomplete := 0
	for _, s := range r.Sources {
		if !s.Complete {
			incomplete++
		}
	}
	if incomplete > 0 {
		out = append(out, fmt.Sprintf("%s damaged or could not be read to the end: transactions may be missing from every figure.", verb(incomplete, len(r.Sources))))
	}
	if r.Saved != nil && r.Saved.Redo != nil {
		if b := r.Saved.Redo; b.Grouped != nil && b.Share != nil {
			took := fmt.Sprintf("The redo log took %s (%s)", plural(*b.Grouped, "sync"), b.Basis)
			if *b.Grouped < b.Alone {
				out = append(out, fmt.Sprintf("%s, %s fewer than the %s that transactions alone would have needed.", took, report.Percent(*b.Share), report.Count(b.Alone)))
			} else {
				out = append(out, fmt.Sprintf("%s; transactions alone would have needed no more than %s.", took, report.Count(b.Alone)))
			}
		}
	}
	return out
}

// verb is "The log is" or "2 of 5 logs are".
func verb(n, of int) string {
	switch {
	case of == 1:
		return "The log is"
	case n == 1:
		return fmt.Sprintf("One of %d logs is", of)
	default:
		return fmt.Sprintf("%d of %d logs are", n, of)
	}
}

// key are the figures that stand out.
func key(r *analysis.Result) []figure {
	if r.Transactions == 0 {
		return nil
	}
	rate := report.Bytes(r.Bytes)
	if win := r.Window; win != nil && win.Seconds >= 0.01 {
		rate = fmt.Sprintf("%s in %s", rate, report.Duration(win.Seconds))
	}
	if n := report.InLogs(r); n > r.Transactions {
		rate += fmt.Sprintf(", of %s in the logs", report.Count(n))
	}
	out := []figure{{"Transactions", report.Count(r.Transactions), rate}}
	if g := r.Groups.Sync; g != nil {
		made := string(g.Basis)
		if g.Count != nil && g.Low != g.High {
			made = fmt.Sprintf("%s to %s, %s", report.Count(g.Low), report.Count(g.High), g.Basis)
		}
		out = append(out, figure{"Sync groups", countOf(g), made})
		if g.Size != nil {
			out = append(out,
				figure{"Mean group size", fmt.Sprintf("%.2f", g.Size.Mean), fmt.Sprintf("largest %s, %s", report.Count(g.Size.Max), g.Basis)},
				figure{"Committed alone", report.Percent(g.Size.AloneShare), fmt.Sprintf("of transactions, %s", g.Basis)})
		}
	}
	if s := r.Saved; s != nil && s.Binlog != nil && s.Assumes.SyncBinlog > 0 && s.Binlog.Alone > 0 {
		b := s.Binlog
		f := figure{"Binlog fsyncs saved", "at most " + report.Percent(b.ShareMax), string(b.Basis)}
		if b.Share != nil {
			f.Value = report.Percent(*b.Share)
			if b.SavedByGroupingMin != b.SavedByGroupingMax {
				f.Note = fmt.Sprintf("%s %%, %s", report.SavedShares(b), b.Basis)
			}
		}
		out = append(out, f)
	}
	if r.IO != nil {
		if l := r.IO.Syncs["binlog"].Latency; l != nil && l.P50 != nil && report.Finite(*l.P50) && *l.P50 >= 0 {
			f := figure{"Binlog sync, median", report.Short(*l.P50), "measured"}
			if l.P99 != nil && report.Finite(*l.P99) && *l.P99 >= 0 {
				f.Note = "p99 " + report.Short(*l.P99) + ", measured"
			}
			out = append(out, f)
		}
	}
	return out
}

// countOf is the number of groups, or the interval where that is all.
func countOf(g *analysis.GroupStats) string {
	if g.Count == nil {
		return report.Count(g.Low) + " to " + report.Count(g.High)
	}
	return report.Count(*g.Count)
}
