package analysis_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"bgcstat/analysis"
	"bgcstat/parser"
)

// grouped makes a log of MariaDB with groups of these sizes, one every step
// microseconds by the clock of commit.
func grouped(sizes []int64, step parser.Micros) []*parser.Txn {
	l := mariadb()
	var txns []*parser.Txn
	for i, size := range sizes {
		for range size {
			at := int64(len(txns)) * 100
			txns = append(txns, &parser.Txn{
				Log: l, Start: at, End: at + 100, HasGTIDEvent: true, CommitID: uint64(i + 1), CommitTime: second(0) + parser.Micros(i)*step, Terminator: parser.TerminatorXID,
			})
		}
	}
	return txns
}

// Each group is in the one cell that its size and its time belong to, however
// long the log is.
func TestSizeOverTime(t *testing.T) {
	rnd := rand.New(rand.NewPCG(21, 22))
	for _, c := range []struct {
		groups int
		step   parser.Micros
		width  float64
	}{
		{1, 1, 0.001},
		{140, 1000, 0.001},
		{160, 1000, 0.002},
		{700, 1000, 0.01},
		{3000, 1000, 0.02},
		{3001, 1000, 0.1},
		{3000, 1e6, 30},
		{3000, 60e6, 1800},
		{2000, 86400e6, 28 * 86400},
		{1000, 400 * 86400e6, 100 * 364 * 86400},
	} {
		sizes := make([]int64, c.groups)
		for i := range sizes {
			sizes[i] = 1 + rnd.Int64N(1+rnd.Int64N(1+rnd.Int64N(40)))
		}
		h := result(analysis.Filter{}, analysis.Settings{}, grouped(sizes, c.step)...).Groups.SizeOverTime
		if h.BucketSeconds != c.width || len(h.Series) > 150 {
			t.Errorf("%d groups %d µs apart: %d buckets of %g s, want some of %g", c.groups, c.step, len(h.Series), h.BucketSeconds, c.width)
		}
		want := map[string]int64{}
		for i, size := range sizes {
			bin := slices.IndexFunc(h.Bins, func(b analysis.HeatBin) bool { return b.From <= float64(size) && float64(size) < b.To })
			bucket := (int64(second(0)) + int64(i)*int64(c.step)) / int64(c.width*1e6)
			want[fmt.Sprint(bucket, bin)]++
		}
		got := map[string]int64{}
		for i, b := range h.Series {
			if i > 0 && !b.Start.After(h.Series[i-1].Start.Time) || len(b.Counts) != len(h.Bins) {
				t.Errorf("%d groups: bucket %v with %d of %d counts behind %v", c.groups, b.Start, len(b.Counts), len(h.Bins), h.Series[max(0, i-1)].Start)
			}
			for bin, n := range b.Counts {
				if n > 0 {
					got[fmt.Sprint(b.Start.UnixMicro()/int64(c.width*1e6), bin)] += n
				}
			}
		}
		if !maps.Equal(got, want) {
			t.Errorf("%d groups %d µs apart: got %v, want %v", c.groups, c.step, got, want)
		}
	}
}

// Bins of sizes are 1, 2, 3, 4 to 5, 6 to 7, 8 to 11 and so on, without a hole,
// from the least to the greatest that occurs.
func TestSizeBins(t *testing.T) {
	h := result(analysis.Filter{}, analysis.Settings{}, grouped([]int64{2, 70}, 1)...).Groups.SizeOverTime
	want := []analysis.HeatBin{{2, 3}, {3, 4}, {4, 6}, {6, 8}, {8, 12}, {12, 16}, {16, 24}, {24, 32}, {32, 48}, {48, 64}, {64, 96}}
	if !slices.Equal(h.Bins, want) || len(h.Series) != 1 || !slices.Equal(h.Series[0].Counts, []int64{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}) {
		t.Errorf("got %+v, want bins %v", h, want)
	}
}

// Times of event headers are whole seconds, and so are the buckets.
func TestSizeOverWholeSeconds(t *testing.T) {
	txns := grouped([]int64{1, 3, 2}, 1e6)
	for _, x := range txns {
		x.EventTime, x.CommitTime = x.CommitTime, 0
	}
	h := result(analysis.Filter{}, analysis.Settings{}, txns...).Groups.SizeOverTime
	if h.BucketSeconds != 1 || len(h.Series) != 3 {
		t.Errorf("got %+v, want 3 buckets of 1 s", h)
	}
	for _, x := range txns {
		x.EventTime = 0
	}
	if h := result(analysis.Filter{}, analysis.Settings{}, txns...).Groups.SizeOverTime; h != nil {
		t.Errorf("without times: got %+v, want none", h)
	}
}

// Groups that hold no reported transaction are not counted.
func TestSizeOverTimeFiltered(t *testing.T) {
	f := analysis.Filter{StartPosition: 300, FirstLog: mariadb().Name}
	r := result(f, analysis.Settings{}, grouped([]int64{2, 3, 4}, 1e6)...) // 0 1, 2 3 4, 5 ...
	if sum := heatSum(r.Groups.SizeOverTime); sum != 2 || *r.Groups.Sync.Count != 2 {
		t.Errorf("%d groups in the heat map, and %d in all, want 2", heatSum(r.Groups.SizeOverTime), *r.Groups.Sync.Count)
	}
}

func TestSizeHistogram(t *testing.T) {
	l := mariadb()
	sizes := []int64{1, 1, 2, 4, 5, 9, 10, 19, 20, 999, 1000, 4_999_999, 5_000_000, 1<<40 + 3}
	var txns []*parser.Txn
	at := int64(0)
	for _, size := range sizes {
		txns = append(txns, &parser.Txn{Log: l, Start: at, End: at + size, Terminator: parser.TerminatorXID})
		at += size
	}
	bins := result(analysis.Filter{}, analysis.Settings{}, txns...).Sizes.Histogram
	total, from := int64(0), int64(1)
	for _, b := range bins {
		if b.From != from {
			t.Errorf("bin %+v, want one from %d", b, from)
		}
		n := int64(0)
		for _, size := range sizes {
			if b.From <= size && size <= b.To {
				n++
			}
		}
		if b.Count != n {
			t.Errorf("bin %+v, want a count of %d", b, n)
		}
		total, from = total+b.Count, b.To+1
	}
	if total != int64(len(sizes)) || bins[3] != (analysis.RangeBin{From: 10, To: 19, Count: 2}) || bins[len(bins)-1].From != 1e12 {
		t.Errorf("%d of %d sizes in %+v", total, len(sizes), bins)
	}
}

func TestDurations(t *testing.T) {
	l := mysql(parser.Version{Major: 8})
	txn := func(begin, commit, original float64) *parser.Txn {
		return &parser.Txn{
			Log: l, End: 100, BeginTime: second(begin), EventTime: second(commit), CommitTime: second(commit), OriginalCommitTime: second(original), Terminator: parser.TerminatorXID,
		}
	}
	txns := []*parser.Txn{
		txn(0, 0.2, 0.2), txn(0, 0.999999, 0.999999), // under a second
		txn(0, 1, 1),
		txn(0, 4.9, 4.9),
		txn(10, 3600, 17.5),  // a replica, an hour behind
		txn(5, 4.9, 4.9),     // ends before it begins
		txn(-4e8, 100, 100),  // a clock that was set
		txn(100, 190.5, 190), // of the server where it was made
		{Log: l, End: 1, CommitTime: second(3), Terminator: parser.TerminatorXID},                        // no BEGIN
		{Log: l, End: 1, BeginTime: second(3), Terminator: parser.TerminatorXID},                         // no time of commit
		{Log: l, End: 1, BeginTime: second(3), CommitTime: second(9), Terminator: parser.TerminatorNone}, // no end
	}
	d := result(analysis.Filter{}, analysis.Settings{}, txns...).Durations
	want := []analysis.RangeBin{{0, 0, 2}, {1, 1, 1}, {2, 4, 1}, {5, 9, 1}, {10, 19, 0}, {20, 49, 0}, {50, 99, 1}}
	if d.Transactions != 6 || d.Impossible != 2 || d.P50 != 1 || d.P99 != 90 || d.Max != 90 || !slices.Equal(d.Histogram, want) {
		t.Errorf("got %+v, want 6 transactions with the bins %v", d, want)
	}
	if d := result(analysis.Filter{}, analysis.Settings{}, grouped([]int64{1}, 1)...).Durations; d != nil {
		t.Errorf("MariaDB: got %+v, want none", d)
	}
}

// What is counted of flush groups and of sizes over time is what the rows say, by
// the log alone and with a trace.
func TestFlushPerSync(t *testing.T) {
	for _, dir := range []string{ownTruth, sharedTruth} {
		for _, set := range truths(t, dir) {
			var inSync map[int64]map[int64]bool
			note := func(row *analysis.Row) {
				if row.SyncGroup == nil || row.FlushGroup == nil {
					return
				}
				if inSync[*row.SyncGroup] == nil {
					inSync[*row.SyncGroup] = map[int64]bool{}
				}
				inSync[*row.SyncGroup][*row.FlushGroup] = true
			}
			inSync = map[int64]map[int64]bool{}
			r := both(t, set.log, analysis.Settings{}, note)
			checkFlushPerSync(t, set.name, r, inSync)

			inSync = map[int64]map[int64]bool{}
			r = join(t, set.log, set.events(t), analysis.Filter{}, note)
			checkFlushPerSync(t, set.name+", traced", r, inSync)
			if p := r.Groups.FlushPerSync; p != nil && (p.Basis != analysis.Estimated && p.Max > 1 || (p.SyncMethod == analysis.Traced) != (set.syncBinlog == 1)) {
				t.Errorf("%s, traced: %+v", set.name, p)
			}
			syncs := int64(0)
			for _, b := range r.IO.LatencyBySize {
				syncs += b.Syncs
			}
			if got := heatSum(r.IO.LatencyOverTime); got != syncs || syncs == 0 {
				t.Errorf("%s: %d syncs over time, want %d", set.name, got, syncs)
			}
		}
	}
}

func heatSum(h *analysis.Heat) int64 {
	sum := int64(0)
	for _, b := range h.Series {
		for _, n := range b.Counts {
			sum += n
		}
	}
	return sum
}

func checkFlushPerSync(t *testing.T, name string, r *analysis.Result, inSync map[int64]map[int64]bool) {
	t.Helper()
	want := map[int64]int64{}
	flushes := 0
	for _, f := range inSync {
		want[int64(len(f))]++
		flushes += len(f)
	}
	groups := int64(0)
	for _, b := range r.Groups.Sync.Histogram {
		groups += b.Groups
	}
	if got := heatSum(r.Groups.SizeOverTime); got != groups {
		t.Errorf("%s: %d groups over time, want %d", name, got, groups)
	}
	p := r.Groups.FlushPerSync
	if len(inSync) == 0 {
		if p != nil {
			t.Errorf("%s: got %+v, want none", name, p)
		}
		return
	}
	if p == nil {
		t.Errorf("%s: none, want %v", name, want)
		return
	}
	got := map[int64]int64{}
	for _, b := range p.Histogram {
		got[b.Size] = b.Groups
	}
	if !maps.Equal(got, want) || p.Mean != float64(flushes)/float64(len(inSync)) {
		t.Errorf("%s: got %v with a mean of %g, want %v", name, got, p.Mean, want)
	}
}
