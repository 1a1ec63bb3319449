package analysis_test

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"bgcstat/analysis"
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
	flushLow         int64
	flushHigh        int64
	syncBinlog       int64
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
	r := both(t, set.log, s, func(r *analysis.Row) {
		ends = append(ends, r.End)
		flush, sync = append(flush, *r.FlushGroup), append(sync, *r.SyncGroup)
	})
	flushTrue, syncTrue := set.coveredBy(set.flushEnds, ends), set.coveredBy(set.ends, ends)
	acc := accuracy{
		set: set.name, syncBinlog: set.syncBinlog, n: r.Transactions,
		flush: distinct(flush), flushTrue: distinct(flushTrue), flushF1: f1(boundaries(flush), boundaries(flushTrue)),
		sync: distinct(sync), syncTrue: distinct(syncTrue), syncF1: f1(boundaries(sync), boundaries(syncTrue)),
		low: r.Groups.Sync.Low, high: r.Groups.Sync.High,
		flushLow: r.Groups.Flush.Low, flushHigh: r.Groups.Flush.High,
		legacy: *r.Groups.LastCommitted.Distinct, lower: r.Groups.Bound.Lower,
	}
	if got := *r.Groups.Sync.Count; got != acc.sync {
		t.Errorf("%s: analyze counts %d sync groups, dump %d", set.name, got, acc.sync)
	}
	if got := *r.Groups.Flush.Count; got != acc.flush {
		t.Errorf("%s: analyze counts %d flush groups, dump %d", set.name, got, acc.flush)
	}
	if acc.flushTrue < acc.flushLow || acc.flushTrue > acc.flushHigh {
		t.Errorf("%s: %d flush groups are outside of %d to %d", set.name, acc.flushTrue, acc.flushLow, acc.flushHigh)
	}
	return acc
}

// kind is how a set's groups are made, and so what may be asked of the estimate.
func kind(set truth) string {
	switch {
	case strings.HasPrefix(set.name, "mariadb"):
		return "mariadb"
	case set.syncBinlog != 1:
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

// table prints accuracies as the README shows them.
func table(accs []accuracy) string {
	var b strings.Builder
	fmt.Fprintln(&b, "| log | transactions | flush groups: true, estimated (F1) | sync groups: true, estimated (F1) | interval | proven from | distinct last_committed |")
	fmt.Fprintln(&b, "|---|--:|---|---|---|--:|--:|")
	for _, a := range accs {
		sync := fmt.Sprintf("%d, %d (%.2f)", a.syncTrue, a.sync, a.syncF1)
		if a.syncBinlog != 1 {
			sync = fmt.Sprintf("not traced, %d; %d syncs of many each", a.sync, a.syncTrue)
		}
		fmt.Fprintf(&b, "| %s | %d | %d, %d (%.2f) | %s | %d to %d | %d | %d |\n",
			a.set, a.n, a.flushTrue, a.flush, a.flushF1, sync, a.low, a.high, a.lower, a.legacy)
	}
	return b.String()
}

// inReadme fails where the README shows another table.
func inReadme(t *testing.T, want string) {
	t.Helper()
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), want) {
		t.Errorf("the README must show this table:\n%s", want)
	}
}

// TestAccuracyOwn measures the estimates on sets that they were not made on.
func TestAccuracyOwn(t *testing.T) {
	var accs []accuracy
	for _, set := range truths(t, ownTruth) {
		acc := measure(t, set, analysis.Settings{})
		accs = append(accs, acc)
		if acc.low > acc.syncTrue || acc.high < acc.syncTrue {
			t.Errorf("%s: %d sync groups are outside of %d to %d", acc.set, acc.syncTrue, acc.low, acc.high)
		}
		if off := math.Abs(float64(acc.sync)/float64(acc.syncTrue) - 1); off > 0.25 {
			t.Errorf("%s: %d sync groups, in truth %d", acc.set, acc.sync, acc.syncTrue)
		}
		if acc.flushF1 < 0.95 {
			t.Errorf("%s: F1 of flush groups is %.3f", acc.set, acc.flushF1)
		}
	}
	inReadme(t, table(accs))
}

// TestAccuracy measures the estimates on the sets that they were made on, and
// holds them to what is promised.
func TestAccuracy(t *testing.T) {
	var accs []accuracy
	byKind := map[string][]accuracy{}
	for _, set := range truths(t, sharedTruth) {
		if k := kind(set); k != "mariadb" {
			acc := measure(t, set, analysis.Settings{})
			byKind[k] = append(byKind[k], acc)
			accs = append(accs, acc)
		}
	}
	t.Log("\n" + table(accs))
	if os.Getenv("BGCSTAT_GROUNDTRUTH") == "" {
		inReadme(t, table(accs))
	}

	median := func(kinds []string, of func(accuracy) float64) (middle, least, most float64) {
		var all []float64
		for _, k := range kinds {
			for _, acc := range byKind[k] {
				all = append(all, of(acc))
			}
		}
		slices.Sort(all)
		return (all[(len(all)-1)/2] + all[len(all)/2]) / 2, all[0], all[len(all)-1]
	}
	hold := func(what string, ok bool, got float64) {
		t.Helper()
		if !ok {
			t.Errorf("%s: %.3f", what, got)
		}
	}
	off := func(a accuracy) float64 { return math.Abs(float64(a.sync)/float64(a.syncTrue) - 1) }
	flushF1 := func(a accuracy) float64 { return a.flushF1 }
	syncF1 := func(a accuracy) float64 { return a.syncF1 }
	width := func(a accuracy) float64 { return float64(a.high) / float64(a.low) }

	middle, least, _ := median([]string{"plain", "delay", "sync_binlog"}, flushF1)
	hold("median F1 of flush groups, want 0.97", middle >= 0.97, middle)
	hold("least F1 of flush groups, want 0.91", least >= 0.91, least)
	_, least, _ = median([]string{"flushlog"}, flushF1)
	hold("F1 of flush groups without redo fsync, want 0.93", least >= 0.93, least)
	middle, _, most := median([]string{"plain", "alone"}, off)
	hold("median error of the number of sync groups, want 0.10", middle <= 0.10, middle)
	hold("largest error of the number of sync groups, want 0.25", most <= 0.25, most)
	middle, _, _ = median([]string{"plain", "alone"}, syncF1)
	hold("median F1 of sync groups, want 0.90", middle >= 0.90, middle)
	_, _, most = median([]string{"delay", "flushlog"}, off)
	hold("largest error with a delay or without redo fsync, want 0.25", most <= 0.25, most)
	_, least, _ = median([]string{"delay", "flushlog"}, syncF1)
	hold("least F1 with a delay or without redo fsync, want 0.70", least >= 0.70, least)
	held := []string{"plain", "alone", "delay", "flushlog"}
	middle, _, most = median(held, width)
	hold("median width of the interval, want 1.5", middle <= 1.5, middle)
	hold("largest width of the interval, want 2.5", most <= 2.5, most)
	for _, k := range held {
		for _, acc := range byKind[k] {
			if acc.low > acc.syncTrue || acc.high < acc.syncTrue {
				t.Errorf("%s: %d sync groups are outside of %d to %d", acc.set, acc.syncTrue, acc.low, acc.high)
			}
			if acc.low < acc.lower || acc.sync < acc.lower || acc.high > acc.n {
				t.Errorf("%s: %d (%d to %d) leaves the bound from %d", acc.set, acc.sync, acc.low, acc.high, acc.lower)
			}
		}
	}
}

// With the true settings the interval is no wider, and still holds.
func TestAccuracyWithSettings(t *testing.T) {
	for _, set := range append(truths(t, ownTruth), truths(t, sharedTruth)...) {
		if k := kind(set); k == "mariadb" || k == "sync_binlog" {
			continue
		}
		t.Run(set.name, func(t *testing.T) {
			without := measure(t, set, analysis.Settings{})
			with := measure(t, set, analysis.Settings{SyncBinlog: &set.syncBinlog, FlushLogAtTrxCommit: &set.flushLog, SyncDelay: &set.delay})
			if with.low > with.syncTrue || with.high < with.syncTrue {
				t.Errorf("%d sync groups are outside of %d to %d", with.syncTrue, with.low, with.high)
			}
			if w, wo := float64(with.high)/float64(with.low), float64(without.high)/float64(without.low); w > wo*1.001 {
				t.Errorf("the interval is %d to %d with the settings, %d to %d without", with.low, with.high, without.low, without.high)
			}
		})
	}
}
