package html

import "bgcstat/analysis"

// made says how the figures of this result were made, for each basis and method
// that is in it.
func made(r *analysis.Result) []passage {
	type way struct {
		basis  analysis.Basis
		method analysis.Method
	}
	met := map[way]bool{}
	add := func(b analysis.Basis, m analysis.Method) { met[way{b, m}] = true }
	for _, g := range []*analysis.GroupStats{r.Groups.Sync, r.Groups.Flush} {
		if g != nil {
			add(g.Basis, g.Method)
		}
	}
	if r.Saved != nil {
		for _, b := range []*analysis.SavedSync{r.Saved.Binlog, r.Saved.Redo} {
			if b != nil {
				add(b.Basis, b.Method)
				if b.FromLog != nil {
					add(b.FromLog.Basis, b.FromLog.Method)
				}
			}
		}
	}
	by := func(m analysis.Method) bool {
		for w := range met {
			if w.method == m {
				return true
			}
		}
		return false
	}

	out := []passage{{"Words", "A sync group is the transactions that went through one sync of the binlog together: what people mean by a commit group. A flush group is those that one leader wrote to the binlog together; a sync group may hold several. Each figure names its basis: exact, measured, estimated, bound (proven limits) or legacy."}}
	say := func(is bool, title, text string) {
		if is {
			out = append(out, passage{title, text})
		}
	}
	say(by(analysis.CommitID), "By commit id", "MariaDB writes the same commit id into all transactions of one group. A run of equal ids in one file is one sync group, and a transaction without an id is a group of one. That is exact, unless transactions are missing from a damaged log.")
	say(by(analysis.Traced), "By traced syncs", "Each sync of the binlog was seen in the kernel, with the length that the file had at that moment. A transaction is durable by the first sync that finds the file as long as the transaction's end, and at sync_binlog=1 the transactions that one sync made durable are a sync group. Position is the key; clocks are only a check.")
	say(by(analysis.FsyncCount), "By counted syncs", "The syncs of the log were counted while it was written, so their number is measured. What a count cannot tell is which transactions shared a sync: where groups are not exact by other means, that is estimated so as to agree with the count.")
	say(by(analysis.Arrivals), "By arrivals", "The log was read while it was written, over a connection. At sync_binlog=1 the server shows a commit group when it has been synced, so that each comes in one burst; two come as one where the second was synced before the first was read. The interval says how far that can be off; the estimate always keeps to what is proven.")
	say(by(analysis.CommitTimestamps), "By commit timestamps", "A flush leader stamps each transaction just before it writes it: between transactions of one flush group are the microseconds of a loop, between flush groups the time of a redo sync. Flush groups are merged into sync groups where sessions come back together, as one sync releases them. The interval says how far that can be off; the estimate always keeps to what is proven.")
	say(r.Groups.Bound != nil && !by(analysis.CommitID), "Proven limits", "Two transactions cannot have shared a sync if the later one's last_committed reaches the earlier one, or if both are of one session. A scan counts the fewest groups that all such pairs allow; the most is one group for each transaction.")
	say(r.Groups.LastCommitted != nil, "last_committed groups", "Counting equal values of last_committed is a popular recipe. Since MySQL 5.7 last_committed says which transactions a replica may apply in parallel, not which shared an fsync, so its figures stand here only beside the others, as legacy.")
	say(r.Saved != nil, "Syncs saved", "What group commit saved is the syncs that each transaction alone would have needed under the same settings, less those that the groups needed. What sync_binlog above 1 leaves out is not the work of grouping, and is given apart.")
	say(len(r.DependencyTracking.Stretches) > 0, "Dependency tracking", "What the server's version or settings say is one thing, what the log shows another. A session whose transaction points further back than what it had seen committed proves write sets. Commit order cannot be proven: one row that all change, or tables without keys, look the same in every mode.")
	return out
}
