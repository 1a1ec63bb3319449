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
