package analysis_test

import (
	"encoding/binary"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"bgcstat/analysis"
	"bgcstat/parser"
)

// checkResult holds what must hold whatever the input was.
func checkResult(t *testing.T, txns []*parser.Txn, f analysis.Filter, s analysis.Settings) *analysis.Result {
	t.Helper()
	r := result(f, s, txns...)
	var rows []analysis.Row
	all := analysis.NewRows(analysis.Filter{}, s, func(r *analysis.Row) error {
		rows = append(rows, *r)
		return nil
	})
	for _, txn := range txns {
		if err := all.Add(txn); err != nil {
			t.Fatal(err)
		}
	}
	if err := all.End(); err != nil {
		t.Fatal(err)
	}
	if len(rows) != len(txns) {
		t.Fatalf("%d rows of %d transactions", len(rows), len(txns))
	}
	for i := range rows {
		if rows[i].Start != txns[i].Start || rows[i].File != txns[i].Log.Name {
			t.Fatalf("row %d is of %s:%d, want %v", i, rows[i].File, rows[i].Start, txns[i].Pos())
		}
	}
	b := r.Groups.Bound
	for name, g := range map[string]*analysis.GroupStats{"sync": r.Groups.Sync, "flush": r.Groups.Flush} {
		if g == nil {
			continue
		}
		if g.Low > g.High || g.Low < b.Lower || g.High > b.Upper {
			t.Errorf("%s groups %d to %d leave the bound %+v", name, g.Low, g.High, *b)
		}
		if g.Count == nil {
			continue
		}
		if *g.Count < g.Low || *g.Count > g.High {
			t.Errorf("%d %s groups are not within %d to %d", *g.Count, name, g.Low, g.High)
		}
		groups, members := int64(0), int64(0)
		for _, bin := range g.Histogram {
			groups += bin.Groups
			members += bin.Groups * bin.Size
		}
		if groups != *g.Count || members < b.Upper {
			t.Errorf("%s groups: histogram has %d groups, %d members; want %d, at least %d", name, groups, members, *g.Count, b.Upper)
		}
	}
	if r.Groups.Flush != nil && *r.Groups.Flush.Count < *r.Groups.Sync.Count {
		t.Errorf("%d flush groups, %d sync groups", *r.Groups.Flush.Count, *r.Groups.Sync.Count)
	}
	if g := r.Groups.LastCommitted; g != nil && g.Distinct != nil {
		values, members := int64(0), int64(0)
		for _, bin := range g.Histogram {
			values += bin.Groups
			members += bin.Groups * bin.Size
		}
		if values != *g.Distinct || members != r.Clock.TransactionsWith {
			t.Errorf("last_committed: %d values of %d transactions, want %d of %d", values, members, *g.Distinct, r.Clock.TransactionsWith)
		}
	}
	checkProven(t, txns, rows)
	if r.Rates != nil {
		n := int64(0)
		for _, bucket := range r.Rates.Series {
			n += bucket.Transactions
		}
		if n > r.Transactions || len(r.Rates.Series) > 1000 {
			t.Errorf("%d buckets hold %d transactions of %d", len(r.Rates.Series), n, r.Transactions)
		}
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
	return r
}

// checkProven looks for two transactions of one session in one group, where
// the session's times do not contradict that it is one.
func checkProven(t *testing.T, txns []*parser.Txn, rows []analysis.Row) {
	t.Helper()
	if slices.ContainsFunc(txns, func(t *parser.Txn) bool { return t.GTID.IsZero() }) {
		return // exception E1 may hold
	}
	type last struct {
		log   *parser.Log
		began parser.Micros
		group int64
		wrong bool
	}
	sessions := map[uint32]*last{}
	for i, row := range rows {
		txn := txns[i]
		if row.SyncGroup == nil || txn.Log.Flavor != parser.MySQL || !txn.HasThreadID || !txn.Local() {
			continue
		}
		s := sessions[txn.ThreadID]
		if s == nil {
			s = &last{}
			sessions[txn.ThreadID] = s
		}
		if s.log == txn.Log {
			s.wrong = s.wrong || txn.EventTime < s.began
			if !s.wrong && s.group == *row.SyncGroup {
				t.Errorf("%v: second transaction of session %d in sync group %d", txn.Pos(), txn.ThreadID, s.group)
			}
		}
		s.log, s.began, s.group = txn.Log, txn.EventTime, *row.SyncGroup
	}
}

// steady is a log of n transactions by clients sessions, in groups of four.
func steady(n, clients int) []*parser.Txn {
	const size = 4
	l := mysql(parser.Version{Major: 9, Minor: 7})
	var txns []*parser.Txn
	at := second(0)
	for i := range n {
		if i%size == 0 {
			at += 500
		}
		at += 3
		txns = append(txns, &parser.Txn{
			Log: l, Start: int64(i * 300), End: int64(i*300 + 300), HasGTIDEvent: true,
			GTID:     parser.GTID{Source: parser.GTIDSource{Flavor: parser.MySQL}, Number: uint64(i + 1)},
			HasClock: true, SequenceNumber: int64(i + 1), LastCommitted: max(0, int64(i-i%size)-int64(size)),
			CommitTime: at, OriginalCommitTime: at, EventTime: second(0), ServerID: 1,
			ThreadID: uint32(i % clients), HasThreadID: true, Terminator: parser.TerminatorXID,
		})
	}
	return txns
}

func TestSteady(t *testing.T) {
	r := checkResult(t, steady(20_000, 12), analysis.Filter{}, analysis.Settings{})
	if g := r.Groups.Flush; *g.Count != 5000 || g.Size.Max != 4 || g.Basis != analysis.Estimated {
		t.Errorf("flush groups are %+v, want 5000 of 4", g)
	}
	// Over several chunks and files, and with a filter, numbers stay whole.
	txns := slices.Concat(steady(9000, 12), steady(9000, 12))
	if r := checkResult(t, txns, analysis.Filter{}, analysis.Settings{}); *r.Groups.Flush.Count != 4500 {
		t.Errorf("%d flush groups in two files, want 4500", *r.Groups.Flush.Count)
	}
	f := analysis.Filter{Start: second(0.5), Stop: second(1)}
	if r := checkResult(t, txns, f, analysis.Settings{}); *r.Groups.Flush.Count < 900 || *r.Groups.Flush.Count > 2100 {
		t.Errorf("%d flush groups of a part", *r.Groups.Flush.Count)
	}
}

// A clock that is set, numbers that are shuffled or missing, equal times: no
// panic, sensible figures, and a warning each.
func TestHostileClocks(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for _, c := range []struct {
		name  string
		spoil func([]*parser.Txn) []*parser.Txn
		code  string
		check func(*testing.T, *analysis.Result)
	}{
		{"one transaction", func(x []*parser.Txn) []*parser.Txn { return x[:1] }, "few-transactions", func(t *testing.T, r *analysis.Result) {
			if *r.Groups.Sync.Count != 1 || *r.Groups.Flush.Count != 1 {
				t.Errorf("groups are %+v", r.Groups.Sync)
			}
		}},
		{"no transaction", func(x []*parser.Txn) []*parser.Txn { return nil }, "no-transactions", func(t *testing.T, r *analysis.Result) {
			if r.Groups != (analysis.Groups{}) {
				t.Errorf("groups of nothing: %+v", r.Groups)
			}
		}},
		{"shuffled sequence numbers", func(x []*parser.Txn) []*parser.Txn {
			random.Shuffle(len(x), func(i, j int) { x[i].SequenceNumber, x[j].SequenceNumber = x[j].SequenceNumber, x[i].SequenceNumber })
			return x
		}, "clock-restarts", nil},
		{"missing sequence numbers", func(x []*parser.Txn) []*parser.Txn {
			for i, txn := range x {
				txn.SequenceNumber += int64(i / 10)
			}
			return x
		}, "clock-gaps", func(t *testing.T, r *analysis.Result) {
			if n := *r.Groups.Flush.Count; n != 1000 {
				t.Errorf("%d flush groups, want 1000: times do not need the numbers", n)
			}
		}},
		{"equal commit times", func(x []*parser.Txn) []*parser.Txn {
			for _, txn := range x {
				txn.CommitTime, txn.OriginalCommitTime = second(1), second(1)
			}
			return x
		}, "equal-commit-times", wantBound},
		{"equal commit times from some place on", func(x []*parser.Txn) []*parser.Txn {
			for _, txn := range x[1000:] {
				txn.CommitTime, txn.OriginalCommitTime = second(1), second(1)
			}
			return x
		}, "equal-commit-times", wantBound},
		{"decreasing commit times", func(x []*parser.Txn) []*parser.Txn {
			for i, txn := range x {
				txn.CommitTime = second(1) - parser.Micros(i*1000)
				txn.OriginalCommitTime = txn.CommitTime
			}
			return x
		}, "clock-stepped-back", nil},
		{"an hour forward", func(x []*parser.Txn) []*parser.Txn { return step(x, 3600e6) }, "long-pauses", wantAbout(1000)},
		{"an hour back", func(x []*parser.Txn) []*parser.Txn { return step(x, -3600e6) }, "clock-stepped-back", wantAbout(1000)},
		{"without commit times", func(x []*parser.Txn) []*parser.Txn {
			for _, txn := range x {
				txn.CommitTime, txn.OriginalCommitTime = 0, 0
			}
			return x
		}, "no-commit-times", wantBound},
		{"one without commit time", func(x []*parser.Txn) []*parser.Txn {
			x[2000].CommitTime = 0
			return x
		}, "no-commit-times", nil},
		{"seconds apart with one parent", func(x []*parser.Txn) []*parser.Txn {
			for i, txn := range x {
				txn.CommitTime = second(float64(i) * 1.8)
				txn.OriginalCommitTime = txn.CommitTime
				txn.LastCommitted = min(1, int64(i))
			}
			return x
		}, "last-committed-seconds-apart", func(t *testing.T, r *analysis.Result) {
			if n := *r.Groups.Sync.Count; n != 4000 {
				t.Errorf("%d sync groups, want each of 4000 alone", n)
			}
		}},
		{"Group Replication", func(x []*parser.Txn) []*parser.Txn {
			for _, txn := range x {
				txn.OriginalCommitTime -= 300
			}
			return x
		}, "group-replication", nil},
		{"values at the ends of their types", func(x []*parser.Txn) []*parser.Txn {
			for i, txn := range x {
				txn.SequenceNumber = 1<<63 - 1 - int64(len(x)-i)
				txn.LastCommitted = -1 << 62
				txn.CommitTime = 1<<55 - parser.Micros(i)
				txn.End = txn.Start + 1<<50
			}
			return x
		}, "clock-impossible", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := checkResult(t, c.spoil(steady(4000, 12)), analysis.Filter{}, analysis.Settings{})
			if c.code != "" && !slices.Contains(codes(r), c.code) {
				t.Errorf("no warning %q in %v", c.code, codes(r))
			}
			if c.check != nil {
				c.check(t, r)
			}
		})
	}
}

// step sets the clock in the middle.
func step(txns []*parser.Txn, by parser.Micros) []*parser.Txn {
	for _, txn := range txns[len(txns)/2:] {
		txn.CommitTime += by
		txn.OriginalCommitTime += by
	}
	return txns
}

func wantBound(t *testing.T, r *analysis.Result) {
	if r.Groups.Sync.Basis != analysis.Bounded || r.Groups.Sync.Count != nil || r.Groups.Flush != nil {
		t.Errorf("groups are %+v, %+v; want the bound alone", r.Groups.Sync, r.Groups.Flush)
	}
}

// Where times end in the middle of a log, groups end with them: the rows of
// chunks before keep theirs, and no row is lost or out of its order.
func TestTimesEnd(t *testing.T) {
	txns := steady(30_000, 12)
	for _, txn := range txns[20_000:] {
		txn.CommitTime, txn.OriginalCommitTime = 0, 0
	}
	rows := rowsOf(t, analysis.Filter{}, txns)
	if len(rows) != len(txns) {
		t.Fatalf("%d rows of %d transactions", len(rows), len(txns))
	}
	for i, row := range rows {
		if row.Start != txns[i].Start {
			t.Fatalf("row %d is that of byte %d", i, row.Start)
		}
		if known := row.SyncGroup != nil; i < 12_000 && !known || i >= 20_300 && known {
			t.Fatalf("row %d has a group: %v", i, known)
		}
	}
	r := checkResult(t, txns, analysis.Filter{}, analysis.Settings{})
	wantBound(t, r)
}

func wantAbout(n int64) func(*testing.T, *analysis.Result) {
	return func(t *testing.T, r *analysis.Result) {
		if got := *r.Groups.Flush.Count; got != n {
			t.Errorf("%d flush groups, want %d", got, n)
		}
	}
}

// A connection for each transaction leaves no session to remember: memory must
// not follow.
func TestSessionsForgotten(t *testing.T) {
	txns := steady(4, 4)
	a := analysis.New(analysis.Filter{}, analysis.Settings{})
	txn := *txns[0]
	add := func(from, to int) {
		for i := from; i < to; i++ {
			txn.SequenceNumber, txn.ThreadID = int64(i+1), uint32(i)
			txn.CommitTime += 100
			txn.OriginalCommitTime = txn.CommitTime
			a.Add(&txn)
		}
	}
	add(0, 300_000)
	if n := testing.AllocsPerRun(1, func() { add(300_000, 900_000) }); n > 10_000 {
		t.Errorf("%v allocations for 600,000 connections", n)
	}
}

// FuzzAnalyzer takes transactions from bytes, each field whatever it says.
func FuzzAnalyzer(f *testing.F) {
	f.Add([]byte("a seed of forty bytes, which give two txns"), uint8(0))
	f.Add(make([]byte, 4000), uint8(7))
	random := rand.New(rand.NewPCG(1, 1))
	seed := make([]byte, 20*200)
	for i := range seed {
		seed[i] = byte(random.Uint32())
	}
	f.Add(seed, uint8(31))
	f.Fuzz(func(t *testing.T, data []byte, how uint8) {
		logs := []*parser.Log{mysql(parser.Version{Major: 8, Minor: 0, Patch: 20}), mysql(parser.Version{Major: 9}), mysql(parser.Version{Major: 5, Minor: 7, Patch: 30})}
		logs[1].Name, logs[2].Name = "binlog.000002", "binlog.000003"
		logs[1].ServerStarted = how&16 != 0
		var txns []*parser.Txn
		log, seq, at := 0, int64(0), second(0)
		for start := int64(0); len(data) >= 20 && len(txns) < 20_000; data = data[20:] {
			b := data[:20]
			if b[0] == 255 {
				log = min(log+1, len(logs)-1)
			}
			seq += int64(int8(b[1])) / 16
			if b[1] < 128 {
				seq++
			}
			at += parser.Micros(int16(binary.LittleEndian.Uint16(b[2:])))
			txn := &parser.Txn{
				Log: logs[log], Start: start, End: start + 1 + int64(binary.LittleEndian.Uint16(b[4:])), HasGTIDEvent: true,
				SequenceNumber: seq, LastCommitted: seq - int64(int8(b[6])), HasClock: b[7] != 0,
				CommitTime: at, OriginalCommitTime: at, EventTime: second(float64(b[8])), StatementTime: second(float64(b[8])),
				ServerID: 1, ThreadID: uint32(b[9] & 31), HasThreadID: b[10] > 3,
				Terminator: parser.Terminator(b[11] % 9), RaisesClock: b[12] == 9,
			}
			if how&64 != 0 || b[13]&1 != 0 {
				txn.GTID = parser.GTID{Source: parser.GTIDSource{Flavor: parser.MySQL}, Number: uint64(len(txns) + 1)}
			}
			if how&1 != 0 && b[14] == 0 {
				txn.CommitTime = 0
			}
			txns = append(txns, txn)
			start = txn.End
		}
		var s analysis.Settings
		delay, flush := int64(how), int64(how>>1&3)
		if how&4 != 0 {
			s.SyncDelay = &delay
		}
		if how&8 != 0 {
			s.FlushLogAtTrxCommit = &flush
		}
		var filter analysis.Filter
		if how&32 != 0 {
			filter.StartPosition, filter.FirstLog = 1000, logs[0].Name
		}
		checkResult(t, txns, filter, s)
	})
}
