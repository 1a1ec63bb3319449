package report

import (
	"cmp"
	"slices"

	"bgcstat/analysis"
)

// Weight is how much a warning takes from the figures.
type Weight int

// From gravest to lightest.
const (
	Grave Weight = iota // figures may be wrong, or are of a part without saying so
	Doubt               // figures are less certain than they look
	Note                // what must be known to read them
)

// order has the codes of warnings, the most dangerous first. A code that is not
// in it stands before all doubts.
var order = map[Weight][]string{
	Grave: {
		// The trace is of something else.
		"trace-contradicts-log",
		// Transactions are missing, or counted twice.
		"incident", "bad-checksum", "undecodable-event", "payload-unread", "damaged-groups", "cut-transaction", "outside-transaction",
		"gap-between-logs", "overlapping-logs", "unknown-event", "positions-differ",
		// The log is not as a server wrote it.
		"clock-impossible", "clock-restarts", "equal-commit-times", "clock-gaps",
		// What was counted is not all, or not under these settings.
		"trace-lost-events", "trace-gaps", "trace-restarts", "trace-setting-changed", "settings-changed", "sync-binlog-differs", "syncs-unlike-commit-ids",
		// Runs that are not whole, or not of the same.
		"compare-command-failed", "compare-incomplete", "compare-damaged-log", "compare-overlap", "compare-settings", "compare-load",
		"compare-repeats-differ", "compare-setting-changed",
	},
	Doubt: {
		"no-clock", "no-commit-times", "sessions-show-nothing", "weak-timestamps", "delayed-syncs", "clock-stepped-back",
		"thread-ids-contradict", "group-replication", "syncs-cover-groups", "trace-loose-intervals", "trace-by-clock",
		"sizes-unknown", "sizes-fitted", "few-transactions", "long-pauses", "header-times", "trace-clock-stepped",
		"sync-binlog-unknown", "sync-binlog-many",
		"compare-bases", "compare-sync-sources", "compare-time", "compare-load-window", "compare-other-sessions", "compare-missing", "compare-single-runs", "compare-few-repeats",
	},
	Note: {
		"no-transactions",
		// The popular recipe is wrong here, which takes nothing from the figures.
		"last-committed-refuted", "last-committed-off", "last-committed-seconds-apart", "last-committed-uncounted",
		"trace-covers-part", "filtered", "relay-log", "replica-binlog", "clock-midway", "open-log", "writeset-parents", "serialization-points",
		"compare-one-column", "compare-without",
	},
}

// weigh gives the weight of a code, and its place among those of that weight.
func weigh(code string) (Weight, int) {
	for w, codes := range order {
		if i := slices.Index(codes, code); i >= 0 {
			return w, i
		}
	}
	return Doubt, -1
}

// WeightOf gives the weight of a warning, by its code.
func WeightOf(code string) Weight {
	w, _ := weigh(code)
	return w
}

// ByWeight returns the warnings, the gravest first.
func ByWeight(warnings []analysis.Warning) []analysis.Warning {
	return slices.SortedStableFunc(slices.Values(warnings), func(a, b analysis.Warning) int {
		wa, ia := weigh(a.Code)
		wb, ib := weigh(b.Code)
		return cmp.Or(cmp.Compare(wa, wb), cmp.Compare(ia, ib))
	})
}
