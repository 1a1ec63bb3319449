package analysis_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"bgcstat/analysis"
	"bgcstat/parser"
)

// randomLog makes a log of a few files with clocks and sessions that could be
// real, or nearly so.
func randomLog(r *rand.Rand) []*parser.Txn {
	var txns []*parser.Txn
	for file := range 1 + r.IntN(3) {
		l := &parser.Log{Name: string(rune('a' + file)), Flavor: parser.MySQL, Version: parser.Version{Major: 9}, ServerID: 1}
		n, seq := r.IntN(60), int64(0)
		for i := range n {
			seq += 1 + int64(r.IntN(20)/19)
			t := &parser.Txn{
				Log: l, Start: int64(i * 100), End: int64(i*100 + 50 + r.IntN(50)), HasGTIDEvent: true,
				GTID:     parser.GTID{Source: parser.GTIDSource{Flavor: parser.MySQL}, Number: uint64(seq)},
				HasClock: r.IntN(30) > 0, SequenceNumber: seq, LastCommitted: max(0, seq-1-int64(r.IntN(12))),
				ServerID: 1, ThreadID: uint32(r.IntN(9)), HasThreadID: r.IntN(10) > 0, Terminator: parser.TerminatorXID,
			}
			if !t.HasClock {
				t.SequenceNumber, t.LastCommitted = 0, 0
			}
			txns = append(txns, t)
		}
	}
	return txns
}

// lowerBound is the bound as its definition says: the fewest boundaries that
// stab every interval (P(b), b] and every end of a file, found by trying.
// A transaction's place is its index, so that those without a clock have one.
func lowerBound(txns []*parser.Txn, chosen func(*parser.Txn) bool) int64 {
	apart := func(a, b int) bool { // a boundary in (a, b] is proven
		for c := a + 1; c <= b; c++ {
			if txns[c].Log != txns[c-1].Log {
				return true
			}
			for p := a; p < c; p++ {
				same := txns[p].HasThreadID && txns[c].HasThreadID && txns[p].ThreadID == txns[c].ThreadID
				clock := txns[p].HasClock && txns[c].HasClock && txns[c].LastCommitted >= txns[p].SequenceNumber
				if txns[p].Log == txns[c].Log && (same || clock) {
					return true
				}
			}
		}
		return false
	}
	// The largest set of reported transactions that are all apart: longest chain.
	best := make([]int64, len(txns))
	most := int64(0)
	for b := range txns {
		if !chosen(txns[b]) {
			continue
		}
		best[b] = 1
		for a := range b {
			if chosen(txns[a]) && apart(a, b) {
				best[b] = max(best[b], best[a]+1)
			}
		}
		most = max(most, best[b])
	}
	return most
}

func TestBoundOracle(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 400 {
		txns := randomLog(r)
		var f analysis.Filter
		if i%2 == 1 { // report some of them only
			f.StartPosition, f.StopPosition = int64(r.IntN(3000)), int64(r.IntN(6000))+1
			f.FirstLog, f.LastLog = "a", "a"
		}
		a := analysis.New(f, analysis.Settings{})
		var logs []*parser.Log
		chosen := int64(0)
		for _, txn := range txns {
			if n := len(logs); n == 0 || logs[n-1] != txn.Log {
				logs = append(logs, txn.Log)
			}
			a.Add(txn)
			if f.Match(txn) {
				chosen++
			}
		}
		res := a.Result(logs)
		want := lowerBound(txns, f.Match)
		if chosen == 0 {
			if res.Groups.Bound != nil {
				t.Fatalf("log %d: bound %+v of no transactions", i, res.Groups.Bound)
			}
			continue
		}
		if got := *res.Groups.Bound; got.Lower != want || got.Upper != chosen {
			t.Fatalf("log %d: bound is %+v, want %d to %d", i, got, want, chosen)
		}
	}
}

func TestLastCommittedOracle(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 300 {
		txns := randomLog(r)
		for range r.IntN(3) { // numbers that go back, and a value that many share
			if len(txns) > 0 {
				txns[r.IntN(len(txns))].SequenceNumber = 1
			}
		}
		type key struct {
			log     *parser.Log
			stretch int
			value   int64
		}
		sizes := map[key]int64{}
		runs, stretch := int64(0), 0
		var last *parser.Txn
		for _, txn := range txns {
			if !txn.HasClock {
				if last != nil {
					last = &parser.Txn{Log: last.Log, SequenceNumber: last.SequenceNumber, LastCommitted: -1}
				}
				continue
			}
			if last == nil || last.Log != txn.Log || txn.SequenceNumber <= last.SequenceNumber {
				stretch++
				runs++
			} else if txn.LastCommitted != last.LastCommitted {
				runs++
			}
			sizes[key{txn.Log, stretch, txn.LastCommitted}]++
			last = txn
		}
		lc := analyze(txns).Groups.LastCommitted
		if lc == nil {
			if len(sizes) > 0 {
				t.Fatalf("log %d: no groups, want %d", i, len(sizes))
			}
			continue
		}
		if *lc.Distinct != int64(len(sizes)) || lc.Runs != runs {
			t.Fatalf("log %d: %d distinct in %d runs, want %d in %d", i, *lc.Distinct, lc.Runs, len(sizes), runs)
		}
		checkSizes(t, lc.Histogram, lc.Size, sizes)
	}
}

func checkSizes[K comparable](t *testing.T, bins []analysis.HistogramBin, size *analysis.GroupSize, groups map[K]int64) {
	t.Helper()
	var all []int64
	for _, n := range groups {
		all = append(all, n)
	}
	slices.Sort(all)
	var got []int64
	for _, b := range bins {
		for range b.Groups {
			got = append(got, b.Size)
		}
	}
	if !slices.Equal(got, all) {
		t.Fatalf("sizes are %v, want %v", got, all)
	}
	rank := func(percent int) int64 { return all[(percent*len(all)+99)/100-1] }
	if size.P50 != rank(50) || size.P95 != rank(95) || size.P99 != rank(99) || size.Max != all[len(all)-1] {
		t.Fatalf("%+v of sizes %v", size, all)
	}
}

// A value may be shared by more transactions than a cell can count, and values
// may lie far apart.
func TestLastCommittedLarge(t *testing.T) {
	l := mysql(parser.Version{Major: 9})
	var rows []clock
	for i := range int64(100_000) {
		rows = append(rows, clock{i % 5 * 20_000, 100_001 + i})
	}
	rows = append(rows, clock{99_999, 300_000})
	lc := analyze(logOf(l, rows)).Groups.LastCommitted
	want := []analysis.HistogramBin{{Size: 1, Groups: 1}, {Size: 20_000, Groups: 5}}
	if *lc.Distinct != 6 || !slices.Equal(lc.Histogram, want) {
		t.Errorf("%d distinct, %v; want 6, %v", *lc.Distinct, lc.Histogram, want)
	}
}

// Clocks that are times, as some proxies write them, must not take memory
// without bound: the count is given up, and that is said.
func TestLastCommittedSparse(t *testing.T) {
	l := mysql(parser.Version{Major: 5, Minor: 7, Patch: 20})
	var rows []clock
	for i := range int64(20_000) {
		rows = append(rows, clock{i << 20, i<<20 + 5})
	}
	r := analyze(logOf(l, rows))
	if r.Groups.LastCommitted.Distinct != nil || r.Groups.LastCommitted.Runs != 20_000 {
		t.Errorf("got %+v", r.Groups.LastCommitted)
	}
	if !slices.ContainsFunc(r.Warnings, func(w analysis.Warning) bool { return w.Code == "last-committed-uncounted" }) {
		t.Errorf("no warning in %v", r.Warnings)
	}
}
