package report

import (
	"fmt"

	"bgcstat/analysis"
)

// AloneInWords says in a sentence that commits did not share syncs, which table
// they changed, and what the log tells of why; "" where it is not so.
func AloneInWords(r *analysis.Result) string {
	a := r.Alone
	if a == nil {
		return ""
	}
	// Only where each group is known to have a sync does it stand for one.
	sync := "sync group"
	if s := r.Saved; s != nil && s.Assumes.SyncBinlog == 1 && (s.Assumes.From == "server" || s.Assumes.From == "flag") {
		sync = "sync"
	}
	made := MadeInWords(a.Basis, a.Method)
	out := fmt.Sprintf("No two of the %s commits shared a %s (%s)", Count(a.Transactions), sync, made)
	if n := a.Transactions - a.AloneGroups; n > 0 {
		most := ""
		if a.Basis != analysis.Exact {
			most = "at most "
		}
		out = fmt.Sprintf("All but %s%s of the %s commits had a %s of their own (%s)", most, Count(n), Count(a.Transactions), sync, made)
	}
	if a.TableTransactions >= r.Transactions {
		out += ", and all changed " + Printable(a.Table)
	} else {
		out += fmt.Sprintf(", and %s changed %s", Count(a.TableTransactions), Printable(a.Table))
	}
	return out + ". " + causeInWords(a)
}

// causeInWords says what the log tells of why.
func causeInWords(a *analysis.Alone) string {
	switch a.Cause {
	case analysis.OneSession:
		return "One session made them, which commits one at a time."
	case analysis.RowLocks:
		return fmt.Sprintf("It looks like sessions that take turns at one row or a few: %s waited for a row lock, as the log says.", Count(*a.Waited))
	case analysis.OneAtATime:
		return fmt.Sprintf("They came one at a time, as those of one session do: %s waited for a row lock, as the log says.", Count(*a.Waited))
	case analysis.WriteSets:
		return fmt.Sprintf("It looks like sessions that take turns at one row, or a table without a key: %s sessions made them, and the parent of %s is the one just before, by what they changed.",
			Count(*a.Sessions), Count(*a.ParentsJustBefore))
	case analysis.Serial:
		return fmt.Sprintf("They waited for one another, or did not come at the same time: the parent of %s is the one just before, which had been committed when they were ready to be.", Count(*a.ParentsJustBefore))
	}
	return "The log does not tell whether they waited for one another, or did not come at the same time."
}

// MadeInWords says what a number of groups rests on.
func MadeInWords(b analysis.Basis, m analysis.Method) string {
	switch {
	case b == analysis.Exact && m == analysis.CommitID:
		return "exact by the commit ids that MariaDB writes"
	case b == analysis.Exact && m == analysis.Traced:
		return "exact by the binlog syncs that were traced"
	case b == analysis.Measured && m == analysis.FsyncCount:
		return "measured by the binlog syncs that were counted"
	case b == analysis.Estimated && m == analysis.CommitTimestamps:
		return "estimated from commit timestamps"
	case b == analysis.Estimated && m == analysis.Arrivals:
		return "estimated from when they came over the connection"
	case b == analysis.Estimated && m == analysis.FsyncCount:
		return "estimated from commit timestamps and the binlog syncs that were counted"
	case b == analysis.Estimated && m == analysis.CommitID:
		return "estimated from the commit ids of a damaged log"
	case b == analysis.Bounded:
		return "proven by the log"
	case m == "":
		return string(b)
	default:
		return fmt.Sprintf("%s by %s", b, m)
	}
}
