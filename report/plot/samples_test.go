package plot

import (
	"math"
	"math/rand/v2"
	"time"

	"bgcstat/analysis"
)

func at(s string) analysis.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		panic(err)
	}
	return analysis.Time{Time: t}
}

func hist(pairs ...int64) []analysis.HistogramBin {
	var h []analysis.HistogramBin
	for i := 0; i < len(pairs); i += 2 {
		h = append(h, analysis.HistogramBin{Size: pairs[i], Groups: pairs[i+1]})
	}
	return h
}

// exact is a result as a MariaDB log gives it: commit ids, no last_committed,
// a clock of whole seconds.
func exact() *analysis.Result {
	r := &analysis.Result{
		Sources:      []analysis.Source{{File: "mariadb-bin.000004", Flavor: "mariadb", ServerVersion: "11.8.3-log"}},
		Window:       &analysis.Window{Start: at("2026-08-01T10:00:00Z"), End: at("2026-08-01T10:00:23Z"), Seconds: 23, Clock: analysis.ClockHeader},
		Transactions: 5974,
		Groups: analysis.Groups{
			Sync: &analysis.GroupStats{
				Count: new(int64(1862)), Low: 1862, High: 1862, Basis: analysis.Exact, Method: analysis.CommitID,
				Size:      &analysis.GroupSize{Mean: 3.2084, P50: 2, P95: 8, P99: 9, Max: 12, AloneShare: 0.1145},
				Histogram: hist(1, 684, 2, 310, 3, 205, 4, 170, 5, 131, 6, 120, 7, 105, 8, 82, 9, 48, 10, 4, 12, 3),
			},
			Bound: &analysis.Bound{Lower: 1862, Upper: 1862},
		},
		DependencyTracking: analysis.DependencyTracking{ServerMode: "none", From: "version"},
		Rates:              &analysis.Rates{BucketSeconds: 1},
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range 24 {
		if i >= 9 && i <= 11 {
			continue // nothing was committed
		}
		n := 200 + rnd.Int64N(120)
		r.Rates.Series = append(r.Rates.Series, analysis.Bucket{
			Start:        analysis.Time{Time: r.Window.Start.Add(time.Duration(i) * time.Second)},
			Transactions: n, SyncGroups: new(n * 2 / 5), Bytes: n * (400 + rnd.Int64N(300)),
		})
	}
	return r
}

// writeset is a result as a log of MySQL 8.4 gives it: no groups but limits,
// distances that climb.
func writeset(points int) *analysis.Result {
	r := &analysis.Result{
		Sources: []analysis.Source{
			{File: "/var/lib/mysql/binlog.000017", Flavor: "mysql", ServerVersion: "8.4.6"},
			{File: "/var/lib/mysql/binlog.000018", Flavor: "mysql", ServerVersion: "8.4.6"},
		},
		Window:       &analysis.Window{Start: at("2026-08-01T10:00:00.25Z"), End: at("2026-08-01T10:00:10.03Z"), Seconds: 9.78, Clock: analysis.ClockCommit},
		Transactions: 60000,
		Groups: analysis.Groups{
			Sync:  &analysis.GroupStats{Low: 9110, High: 60000, Basis: analysis.Bounded, Method: analysis.Constraints},
			Bound: &analysis.Bound{Lower: 9110, Upper: 60000},
			LastCommitted: &analysis.LastCommittedGroups{
				Distinct: new(int64(39290)), Runs: 51340, Basis: analysis.Legacy, Method: analysis.LastCommitted,
				Histogram: hist(1, 30120, 2, 6020, 3, 2010, 4, 700, 5, 240, 6, 101, 7, 50, 8, 22, 11, 14, 17, 7, 44, 3, 112, 2, 741, 1),
			},
		},
		DependencyTracking: analysis.DependencyTracking{ServerMode: "WRITESET", From: "version"},
		Rates:              &analysis.Rates{BucketSeconds: 0.1},
		Parents:            &analysis.Parents{Every: int64(60000 / points)},
		Warnings:           []analysis.Warning{{Code: "writeset-parents", Count: 1}, {Code: "groups-not-known", Count: 1}},
	}
	rnd := rand.New(rand.NewPCG(3, 4))
	for i := range 98 {
		n := int64(600+250*math.Sin(float64(i)/9)) + rnd.Int64N(80)
		r.Rates.Series = append(r.Rates.Series, analysis.Bucket{
			Start:        analysis.Time{Time: at("2026-08-01T10:00:00.2Z").Add(time.Duration(i) * 100 * time.Millisecond)},
			Transactions: n, Bytes: n * (900 + rnd.Int64N(300)),
		})
	}
	for i := range points {
		index := int64(i)*r.Parents.Every + 1
		number := index % 30000 // sequence_number begins again with each file
		distance := max(1, number-1)
		if rnd.IntN(3) == 0 {
			distance = max(1, int64(float64(number)*rnd.Float64()))
		}
		r.Parents.Points = append(r.Parents.Points, analysis.Parent{Index: index, Distance: distance})
	}
	return r
}

// commitOrder is a result as a log of MySQL 5.7 gives it: the distances are
// about as large as the number of clients.
func commitOrder(points int) *analysis.Result {
	r := writeset(points)
	for i := range r.Sources {
		r.Sources[i].ServerVersion = "5.7.44-log"
	}
	r.DependencyTracking = analysis.DependencyTracking{ServerMode: "COMMIT_ORDER", From: "version"}
	r.Warnings = nil
	rnd := rand.New(rand.NewPCG(5, 6))
	for i := range r.Parents.Points {
		r.Parents.Points[i].Distance = 1 + int64(math.Abs(rnd.NormFloat64()*6+12))
		if rnd.IntN(40) == 0 {
			r.Parents.Points[i].Distance = 1 + rnd.Int64N(300)
		}
	}
	return r
}

// long is a result over n buckets with a daily rhythm and a peak.
func long(start string, bucket time.Duration, n int) *analysis.Result {
	r := exact()
	rnd := rand.New(rand.NewPCG(7, 8))
	first := at(start)
	r.Rates = &analysis.Rates{BucketSeconds: bucket.Seconds()}
	for i := range n {
		t := first.Add(time.Duration(i) * bucket)
		hours := float64(t.Hour()) + float64(t.Minute())/60
		n := max(0, (1000+900*math.Sin((hours-8)/24*2*math.Pi))*bucket.Seconds()*(0.7+0.6*rnd.Float64()))
		b := analysis.Bucket{Start: analysis.Time{Time: t}, Transactions: int64(n), SyncGroups: new(int64(n / (1.5 + 2*rnd.Float64()))), Bytes: int64(n * 1234)}
		r.Rates.Series = append(r.Rates.Series, b)
	}
	r.Window = &analysis.Window{Start: first, End: analysis.Time{Time: first.Add(time.Duration(n) * bucket)}, Clock: analysis.ClockCommit}
	return r
}

// traced is a result as a log of MySQL 9.7 and a trace of its syncs give it. No
// sample was taken in the seventh step, nor in the last two.
func traced() *analysis.Result {
	r := writeset(24)
	r.Sources = []analysis.Source{{File: "mysql-bin.000001", Flavor: "mysql", ServerVersion: "9.7.4-2"}}
	start := at("2026-11-30T14:32:12.6Z")
	r.Window = &analysis.Window{Start: start, End: at("2026-11-30T14:32:13.57Z"), Seconds: 0.97, Clock: analysis.ClockCommit}
	r.Transactions = 6000
	r.Groups.Sync = &analysis.GroupStats{
		Count: new(int64(2061)), Low: 2061, High: 2061, Basis: analysis.Measured, Method: analysis.Traced,
		Size:      &analysis.GroupSize{Mean: 2.91, P50: 1, P95: 7, P99: 7, Max: 8, AloneShare: 0.17},
		Histogram: hist(1, 1034, 2, 20, 3, 110, 4, 240, 5, 302, 6, 170, 7, 180, 8, 5),
	}
	r.Groups.Bound = &analysis.Bound{Lower: 911, Upper: 6000}
	r.Warnings = nil
	r.Rates = &analysis.Rates{BucketSeconds: 0.1}
	r.IO = &analysis.IO{
		Source: "bpf", Detail: "ext4_sync_file_enter", Start: start, End: r.Window.End, Seconds: 0.97,
		Syncs: map[string]analysis.Syncs{
			"binlog": {Count: 2062, Exactness: "exact", Latency: &analysis.SyncLatency{P50: new(98e-6), P99: new(410e-6)}},
			"redo":   {Count: 2177, Exactness: "exact", Latency: &analysis.SyncLatency{P50: new(110e-6), P99: new(1.2e-3)}},
			"data":   {Count: 34, Exactness: "exact"},
			"other":  {Count: 3, Exactness: "exact"},
			"undo":   {Exactness: "exact"},
		},
		BinlogSyncsDurable: new(int64(2061)), TransactionsPerBinlogSync: new(6000.0 / 2061),
		DeviceFlushes: []analysis.DeviceFlushes{{Device: "vda", Count: 4276}},
		Rates:         &analysis.SyncRates{BucketSeconds: 0.1},
		LatencyBySize: []analysis.SizeLatency{
			{From: 1, To: 1, Syncs: 1034, P50: 91e-6, P99: 340e-6},
			{From: 2, To: 2, Syncs: 20, P50: 94e-6, P99: 205e-6},
			{From: 3, To: 3, Syncs: 110, P50: 97e-6, P99: 372e-6},
			{From: 4, To: 4, Syncs: 240, P50: 99e-6, P99: 410e-6},
			{From: 5, To: 8, Syncs: 657, P50: 104e-6, P99: 433e-6},
		},
	}
	r.Saved = &analysis.Saved{
		Assumes: analysis.Assumes{SyncBinlog: 1, FlushLogAtTrxCommit: new(int64(1)), From: "server"},
		Binlog: &analysis.SavedSync{
			Alone: 6000, Grouped: new(int64(2061)), GroupedLow: 2061, GroupedHigh: 2061,
			SavedByGrouping: new(int64(3939)), SavedByGroupingMin: 3939, SavedByGroupingMax: 3939, Share: new(3939.0 / 6000), ShareMax: 3939.0 / 6000,
			Basis: analysis.Measured, Method: analysis.FsyncCount,
			FromLog: &analysis.FromLog{Count: new(int64(2034)), Low: 1990, High: 2180, Basis: analysis.Estimated, Method: analysis.CommitTimestamps},
		},
		Redo: &analysis.SavedSync{
			Alone: 6000, Grouped: new(int64(2177)), GroupedLow: 2177, GroupedHigh: 2177,
			SavedByGrouping: new(int64(3823)), SavedByGroupingMin: 3823, SavedByGroupingMax: 3823, Share: new(3823.0 / 6000), ShareMax: 3823.0 / 6000,
			Basis: analysis.Measured, Method: analysis.FsyncCount,
		},
	}
	r.IO.CPU = &analysis.CPU{
		CPUs: 2, CPUUse: cpuUse(0.31, 0.22, 0.09, 1.1), BucketSeconds: 1,
		Series: []analysis.CPUBucket{{Start: at("2026-11-30T14:32:12Z"), CPUUse: cpuUse(0.36, 0.25, 0.1, 1.24)}, {Start: at("2026-11-30T14:32:13Z"), CPUUse: cpuUse(0.27, 0.2, 0.08, 1.01)}},
	}
	for i, n := range []int64{580, 612, 640, 655, 590, 610, 601, 622, 570, 520} {
		t := analysis.Time{Time: start.Add(time.Duration(i) * 100 * time.Millisecond)}
		r.Rates.Series = append(r.Rates.Series, analysis.Bucket{Start: t, Transactions: n, SyncGroups: new(n / 3), Bytes: 309 * n})
		if i == 6 || i >= 8 {
			continue
		}
		b := analysis.SyncBucket{Start: t, Syncs: map[string]int64{"binlog": n / 3, "redo": n/3 + 12}, DeviceFlushes: new(n)}
		if i%3 == 0 {
			b.Syncs["data"] = 11
		}
		if i == 5 {
			b.Syncs = nil // nothing was synced
		}
		r.IO.Rates.Series = append(r.IO.Rates.Series, b)
	}
	return r
}

// cpuUse has the shares of the host, and what the server used of it.
func cpuUse(user, system, iowait, server float64) analysis.CPUUse {
	return analysis.CPUUse{User: user, System: system, IOWait: iowait, Idle: 1 - user - system - iowait, ServerUser: new(server * 0.6), ServerSystem: new(server * 0.4)}
}

// flushesOnly is a result whose trace has no syncs, only the flushes of a disk.
func flushesOnly() *analysis.Result {
	r := traced()
	r.IO = &analysis.IO{
		Source: "proc", Start: r.IO.Start, End: r.IO.End, Seconds: r.IO.Seconds, DeviceFlushes: r.IO.DeviceFlushes, Rates: r.IO.Rates,
		Refused: []analysis.Refused{{Source: "bpf", Why: "needs CAP_BPF and CAP_PERFMON"}},
	}
	for i := range r.IO.Rates.Series {
		r.IO.Rates.Series[i].Syncs = nil
	}
	r.Groups.Sync = &analysis.GroupStats{Count: new(int64(2034)), Low: 1990, High: 2180, Basis: analysis.Estimated, Method: analysis.CommitTimestamps}
	b := r.Saved.Binlog
	b.Grouped, b.GroupedLow, b.GroupedHigh = new(int64(2034)), 1990, 2180
	b.SavedByGrouping, b.SavedByGroupingMin, b.SavedByGroupingMax, b.Share, b.ShareMax = new(int64(3966)), 3820, 4010, new(3966.0/6000), 4010.0/6000
	b.Basis, b.Method, b.FromLog = analysis.Estimated, analysis.CommitTimestamps, nil
	r.Saved.Redo = nil
	r.Saved.Assumes.From = "default of 9.7"
	return r
}

// busy is a day whose syncs are of many classes, with long names.
func busy() *analysis.Result {
	r := long("2026-08-01T13:00:00Z", time.Minute, 1440)
	rnd := rand.New(rand.NewPCG(9, 10))
	r.IO = &analysis.IO{
		Source: "perf", Detail: "the system calls fsync and fdatasync, per thread", Lost: 12,
		Syncs: map[string]analysis.Syncs{
			"binlog": {Count: 1, Exactness: "exact"}, "redo": {Count: 1, Exactness: "lower_bound"}, "unattributed": {Count: 1, Exactness: "estimate"},
			"data": {Count: 1, Exactness: "exact"}, "undo": {Count: 1, Exactness: "exact"}, "doublewrite": {Count: 1, Exactness: "exact"}, "other": {Count: 1, Exactness: "exact"},
		},
		Rates: &analysis.SyncRates{BucketSeconds: 10},
	}
	first := at("2026-08-01T12:00:00Z") // before the log
	for i := range 20 * 360 {
		if i/100%9 == 4 {
			continue
		}
		n := 3000 + rnd.Int64N(2000)
		r.IO.Rates.Series = append(r.IO.Rates.Series, analysis.SyncBucket{
			Start: analysis.Time{Time: first.Add(time.Duration(i) * 10 * time.Second)},
			Syncs: map[string]int64{
				"binlog": n, "redo": n + n/9, "doublewrite": 2000 + rnd.Int64N(300), "data": 1000 + rnd.Int64N(900), "undo": 600 + rnd.Int64N(60),
				"unattributed": 250 + rnd.Int64N(30), "other": 300 + rnd.Int64N(9),
			},
		})
	}
	r.IO.CPU = &analysis.CPU{CPUs: 64, CPUUse: cpuUse(0.3, 0.2, 0.1, 20), BucketSeconds: 60}
	for i := range 20 * 60 {
		if i/20%9 == 4 {
			continue
		}
		wave := 1 + math.Sin(float64(i)/150)
		u := cpuUse(0.2*wave+0.05*rnd.Float64(), 0.1*wave+0.05*rnd.Float64(), 0.08*rnd.Float64(), 64*(0.24*wave+0.04*rnd.Float64()))
		u.Steal = 0.02 * rnd.Float64()
		if i < 300 && i > 200 { // it was restarted
			u.ServerUser, u.ServerSystem = nil, nil
		}
		r.IO.CPU.Series = append(r.IO.CPU.Series, analysis.CPUBucket{Start: analysis.Time{Time: first.Add(time.Duration(i) * time.Minute)}, CPUUse: u})
	}
	for i, from := range []int64{1, 2, 3, 5, 9, 17, 33, 65, 129, 257, 513, 1025} {
		to := []int64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048}[i]
		r.IO.LatencyBySize = append(r.IO.LatencyBySize, analysis.SizeLatency{From: from, To: to, Syncs: 9_000_000 / from, P50: 60e-6 * float64(from), P99: 900e-6 * float64(from)})
	}
	r.Saved = &analysis.Saved{
		Assumes: analysis.Assumes{SyncBinlog: 10, From: "flag"},
		Binlog: &analysis.SavedSync{
			Alone: 9_999_999, Grouped: new(int64(1862)), GroupedLow: 1862, GroupedHigh: 1862,
			SavedByGrouping: new(int64(9_998_137)), SavedByGroupingMin: 9_998_137, SavedByGroupingMax: 9_998_137, Share: new(0.9998), ShareMax: 0.9998,
			Basis: analysis.Measured, Method: analysis.Traced, SavedBySyncBinlog: new(int64(123_456)),
			FromLog: &analysis.FromLog{Count: new(int64(4_444_444)), Low: 2_222_222, High: 8_888_888, Basis: analysis.Estimated, Method: analysis.CommitTimestamps},
		},
		Redo: &analysis.SavedSync{
			Alone: 9_999_999, Grouped: new(int64(10_123_456)), GroupedLow: 10_123_456, GroupedHigh: 10_123_456,
			SavedByGrouping: new(int64(-123_457)), SavedByGroupingMin: -123_457, SavedByGroupingMax: -123_457, Share: new(-0.01), ShareMax: -0.01,
			Basis: analysis.Measured, Method: analysis.FsyncCount,
			FromLog: &analysis.FromLog{Low: 2_222_222, High: 8_888_888, Basis: analysis.Bounded, Method: analysis.Constraints},
		},
	}
	return r
}

// noisy is a result whose syncs cross each other, and whose number of sync
// groups is only known as an interval.
func noisy() *analysis.Result {
	r := traced()
	rnd := rand.New(rand.NewPCG(11, 12))
	r.Rates, r.IO.Rates.Series, r.IO.LatencyBySize = writeset(24).Rates, nil, nil
	r.Window = writeset(24).Window
	first := r.Rates.Series[0].Start
	for i := range 98 {
		r.IO.Rates.Series = append(r.IO.Rates.Series, analysis.SyncBucket{
			Start: analysis.Time{Time: first.Add(time.Duration(i)*100*time.Millisecond + 30*time.Millisecond)},
			Syncs: map[string]int64{"binlog": 150 + rnd.Int64N(150), "redo": 160 + rnd.Int64N(180), "doublewrite": 100 + rnd.Int64N(90), "data": rnd.Int64N(120), "undo": rnd.Int64N(10) / 9 * 50},
		})
	}
	r.IO.CPU.Series = nil
	for i := range 10 {
		r.IO.CPU.Series = append(r.IO.CPU.Series, analysis.CPUBucket{
			Start:  analysis.Time{Time: at("2026-08-01T10:00:00Z").Add(time.Duration(i) * time.Second)},
			CPUUse: cpuUse(0.3+0.1*rnd.Float64(), 0.2+0.1*rnd.Float64(), 0.3*rnd.Float64(), 1+0.3*rnd.Float64()),
		})
	}
	for i := range int64(25) {
		r.IO.LatencyBySize = append(r.IO.LatencyBySize, analysis.SizeLatency{From: 1 + i*1500, To: 1500 + i*1500, Syncs: 1 + rnd.Int64N(999), P50: 60e-6 + 90e-6*rnd.Float64(), P99: 900e-6 + 1e-3*rnd.Float64()})
	}
	r.Saved.Redo = nil
	r.Saved.Binlog = &analysis.SavedSync{Alone: 6000, GroupedLow: 911, GroupedHigh: 6000, SavedByGroupingMax: 5089, ShareMax: 5089.0 / 6000, Basis: analysis.Bounded, Method: analysis.Constraints}
	return r
}
