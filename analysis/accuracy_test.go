package analysis_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"bgcstat/analysis"
	"bgcstat/parser"
)

// accuracy is how near an estimate came to the groups of one set.
type accuracy struct {
	set              string
	n                int64
	flush, flushTrue int64
	flushF1          float64
	sync, syncTrue   int64
	syncF1           float64
	low, high        int64
	legacy, lower    int64
}

// f1 is the harmonic mean of precision and recall of boundaries.
func f1(got, want []bool) float64 {
	both, all := 0, 0
	for i := range got {
		if got[i] && want[i] {
			both++
		}
		if got[i] {
			all++
		}
		if want[i] {
			all++
		}
	}
	if all == 0 {
		return 1
	}
	return 2 * float64(both) / float64(all)
}

// boundaries marks the members whose group is another than that of the one before.
func boundaries(groups []int64) []bool {
	out := make([]bool, len(groups))
	for i := 1; i < len(groups); i++ {
		out[i] = groups[i] != groups[i-1]
	}
	return out
}

func distinct(groups []int64) int64 {
	return int64(len(slices.Compact(slices.Clone(groups))))
}

// measure holds the estimate of a set against what the kernel saw.
func measure(t testing.TB, set truth, s analysis.Settings) accuracy {
	t.Helper()
	var ends, flush, sync []int64
	a := analysis.New(analysis.Filter{}, s)
	rows := analysis.NewRows(analysis.Filter{}, s, func(r *analysis.Row) error {
		ends = append(ends, r.End)
		flush, sync = append(flush, *r.FlushGroup), append(sync, *r.SyncGroup)
		return nil
	})
	logs := read(t, set.log, func(txn *parser.Txn) {
		a.Add(txn)
		if err := rows.Add(txn); err != nil {
			t.Fatal(err)
		}
	})
	if err := rows.End(); err != nil {
		t.Fatal(err)
	}
	r := a.Result(logs)
	flushTrue, syncTrue := set.coveredBy(set.flushEnds, ends), set.coveredBy(set.ends, ends)
	acc := accuracy{
		set: set.name, n: r.Transactions,
		flush: distinct(flush), flushTrue: distinct(flushTrue), flushF1: f1(boundaries(flush), boundaries(flushTrue)),
		sync: distinct(sync), syncTrue: distinct(syncTrue), syncF1: f1(boundaries(sync), boundaries(syncTrue)),
		low: r.Groups.Sync.Low, high: r.Groups.Sync.High,
		legacy: *r.Groups.LastCommitted.Distinct, lower: r.Groups.Bound.Lower,
	}
	if got := *r.Groups.Sync.Count; got != acc.sync {
		t.Errorf("%s: analyze counts %d sync groups, dump %d", set.name, got, acc.sync)
	}
	if got := *r.Groups.Flush.Count; r.Groups.Flush != nil && got != acc.flush {
		t.Errorf("%s: analyze counts %d flush groups, dump %d", set.name, got, acc.flush)
	}
	return acc
}

// kind is how a set's groups are made, and so what may be asked of the estimate.
func kind(set truth) string {
	switch {
	case strings.HasPrefix(set.name, "mariadb"):
		return "mariadb"
	case set.syncs != "1":
		return "sync_binlog"
	case strings.Contains(set.name, "delay"):
		return "delay"
	case strings.Contains(set.name, "flushlog"):
		return "flushlog"
	case set.name == "ws-1" || strings.Contains(set.name, "hotrow"):
		return "alone"
	default:
		return "plain"
	}
}

// TestAccuracy prints how near the estimates come, and holds them to what the
// README promises.
func TestAccuracy(t *testing.T) {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "set\ttransactions\tflush true\testimated\tF1\tsync true\testimated\tF1\tinterval\tproven\tdistinct last_committed")
	byKind := map[string][]accuracy{}
	for _, set := range truths(t) {
		k := kind(set)
		if k == "mariadb" {
			continue
		}
		acc := measure(t, set, analysis.Settings{})
		byKind[k] = append(byKind[k], acc)
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%.3f\t%d\t%d (%+.0f %%)\t%.3f\t%d to %d\t%d\t%d\n", acc.set, acc.n, acc.flushTrue, acc.flush, acc.flushF1,
			acc.syncTrue, acc.sync, 100*(float64(acc.sync)/float64(acc.syncTrue)-1), acc.syncF1, acc.low, acc.high, acc.lower, acc.legacy)
	}
	w.Flush()
	t.Log("\n" + text.String())
}
