package plot

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"bgcstat/analysis"
)

// full is traced with all that a log of MySQL 9.7 and a trace by bpf give.
func full() *analysis.Result {
	r := traced()
	return detailed(r, r.Window.Start.Time, 10*time.Millisecond, 97)
}

// smallDetailed is full with little of it.
func smallDetailed() *analysis.Result {
	r := traced()
	return detailed(r, r.Window.Start.Time, 100*time.Millisecond, 4)
}

// detailed adds to r what is known of its transactions, and of n buckets of time.
func detailed(r *analysis.Result, start time.Time, bucket time.Duration, n int) *analysis.Result {
	r.Sizes = &analysis.Sizes{
		Bytes: analysis.ByteSize{Mean: 702, P50: 309, P95: 1500, P99: 4200, Max: 2_345_678},
		Histogram: []analysis.RangeBin{
			{From: 200, To: 499, Count: 5210},
			{From: 500, To: 999, Count: 480},
			{From: 1000, To: 1999, Count: 200},
			{From: 2000, To: 4999, Count: 96},
			{From: 5000, To: 9999, Count: 7},
			{From: 10_000, To: 19_999, Count: 0},
			{From: 20_000, To: 49_999, Count: 4},
			{From: 50_000, To: 99_999, Count: 0},
			{From: 100_000, To: 199_999, Count: 2},
			{From: 200_000, To: 499_999, Count: 0},
			{From: 500_000, To: 999_999, Count: 0},
			{From: 1_000_000, To: 1_999_999, Count: 0},
			{From: 2_000_000, To: 4_999_999, Count: 1},
		},
	}
	r.Durations = &analysis.Durations{
		Transactions: 5998, Impossible: 2, P50: 0, P99: 1, Max: 17,
		Histogram: []analysis.RangeBin{{From: 0, To: 0, Count: 5810}, {From: 1, To: 1, Count: 180}, {From: 2, To: 4, Count: 6}, {From: 5, To: 9, Count: 0}, {From: 10, To: 19, Count: 2}},
	}
	r.Tables = []analysis.TableStats{
		{Table: "shop.orders", Transactions: 5000, InsertEvents: 3100, UpdateEvents: 1800, DeleteEvents: 240},
		{Table: "shop.stock", Transactions: 2000, UpdateEvents: 2100},
		{Table: "shop.order_lines", Transactions: 1900, InsertEvents: 1900, DeleteEvents: 130},
		{Table: "audit.log", Transactions: 60, InsertEvents: 61},
		{Table: "shop.queue", Transactions: 2, DeleteEvents: 2},
		{Table: "shop.settings", Transactions: 4},
	}
	r.Groups.FlushPerSync = &analysis.FlushPerSync{
		Mean: 1.41, Max: 6, Basis: analysis.Estimated, Method: analysis.CommitTimestamps, SyncMethod: analysis.Traced,
		Histogram: hist(1, 1500, 2, 380, 3, 110, 4, 55, 6, 16),
	}
	rnd := rand.New(rand.NewPCG(13, 14))
	column := func(bins int, peak, spread float64, count float64) []int64 {
		c := make([]int64, bins)
		for i := range c {
			c[i] = int64(count * math.Exp(-math.Pow((float64(i)-peak)/spread, 2)) * (0.5 + rnd.Float64()))
		}
		return c
	}
	sizes := &analysis.Heat{BucketSeconds: bucket.Seconds()}
	for _, b := range [][2]float64{{1, 2}, {2, 3}, {3, 4}, {4, 6}, {6, 8}, {8, 12}} {
		sizes.Bins = append(sizes.Bins, analysis.HeatBin{From: b[0], To: b[1]})
	}
	latency := &analysis.Heat{BucketSeconds: bucket.Seconds()}
	for from := 32e-6; from < 5e-3; from *= 2 {
		latency.Bins = append(latency.Bins, analysis.HeatBin{From: from, To: 1.5 * from}, analysis.HeatBin{From: 1.5 * from, To: 2 * from})
	}
	for i := range n {
		t := analysis.Time{Time: start.Add(time.Duration(i) * bucket)}
		if i%40 == 20 {
			continue // nothing was committed
		}
		slow := 0.0
		if i > n/2 && i < n*2/3 {
			slow = 4
		}
		sizes.Series = append(sizes.Series, analysis.HeatBucket{Start: t, Counts: column(len(sizes.Bins), 1+slow/2, 2, 12)})
		latency.Series = append(latency.Series, analysis.HeatBucket{Start: t, Counts: column(len(latency.Bins), 3+slow, 1.6, 16)})
	}
	r.Groups.SizeOverTime = sizes
	if r.IO != nil {
		r.IO.LatencyOverTime = latency
	}
	return r
}

// detailedSamples are results that only differ in what detailed adds.
func detailedSamples() map[string]*analysis.Result {
	month := long("2026-07-20T05:10:00Z", time.Hour, 720)
	month.IO = traced().IO
	midnight := long("2026-08-01T23:55:00Z", time.Second, 600)
	second := traced()
	maria := detailed(exact(), exact().Window.Start.Time, time.Second, 24)
	maria.Durations, maria.Groups.FlushPerSync = nil, nil

	many := full()
	many.Tables = nil
	for i := range int64(300) {
		many.Tables = append(many.Tables, analysis.TableStats{Table: fmt.Sprintf("database_%03d.a_rather_long_name_of_a_table_%03d", i, i), InsertEvents: 3000 - 10*i, UpdateEvents: 9 * i, DeleteEvents: 40 + i})
	}
	names := full()
	names.Tables = nil
	for i, name := range []string{
		"</script><script>alert(1)</script>." + strings.Repeat("x", 4096), "\u202eabc\u202c.\u200fאבגד", strings.Repeat("🎉", 64) + "." + strings.Repeat("👩\u200d👩\u200d👧", 64),
		"a\nb.c\r\td", "\x00\x1b[31m.\xff\xfe", "WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW.MMMMMMMMMMMMMMMMMMMMMMMMM", "日本語.テーブル", "%s%d.&amp;\"'", "", ".",
	} {
		names.Tables = append(names.Tables, analysis.TableStats{Table: name, InsertEvents: 100 - int64(i), UpdateEvents: 3, DeleteEvents: 50})
	}
	one := detailed(traced(), at("2026-08-01T00:00:00Z").Time, time.Millisecond, 1)
	one.Transactions = 1
	one.Sizes.Histogram = []analysis.RangeBin{{From: 200, To: 499, Count: 1}}
	one.Durations = &analysis.Durations{Transactions: 1, Histogram: []analysis.RangeBin{{Count: 1}}}
	one.Tables = one.Tables[4:5]
	one.Groups.FlushPerSync.Histogram = hist(1, 1)
	one.Groups.SizeOverTime = &analysis.Heat{BucketSeconds: 0.001, Bins: []analysis.HeatBin{{From: 1, To: 2}}, Series: []analysis.HeatBucket{{Start: at("2026-08-01T00:00:00Z"), Counts: []int64{1}}}}
	one.IO.LatencyOverTime = nil

	huge := full()
	huge.Sizes.Histogram[3].Count, huge.Durations.Histogram[1].Count = math.MaxInt64, math.MaxInt64
	huge.Durations.Max, huge.Durations.Histogram[4].To = math.MaxInt64, math.MaxInt64
	huge.Tables[2].InsertEvents, huge.Tables[2].UpdateEvents = math.MaxInt64, math.MaxInt64
	huge.Groups.FlushPerSync.Histogram = hist(1, 1e18, 50, 2e17, 1e18, 1e18)
	huge.Groups.SizeOverTime.Series[5].Counts[0] = math.MaxInt64
	wide := full()
	wide.Groups.SizeOverTime.Bins, wide.Groups.SizeOverTime.Series = nil, nil
	for i := range 40 {
		wide.Groups.SizeOverTime.Bins = append(wide.Groups.SizeOverTime.Bins, analysis.HeatBin{From: math.Pow(2, float64(i)/2), To: math.Pow(2, float64(i+1)/2)})
	}
	for i := range 150 {
		counts := make([]int64, 40)
		for j := range counts {
			counts[j] = int64(math.Pow(1.3, float64(j))) * int64(i%7)
		}
		wide.Groups.SizeOverTime.Series = append(wide.Groups.SizeOverTime.Series, analysis.HeatBucket{Start: analysis.Time{Time: wide.Window.Start.Add(time.Duration(i) * 10 * time.Millisecond)}, Counts: counts})
	}

	return map[string]*analysis.Result{
		"full": full(), "mariadb": maria, "300 tables": many, "hostile names": names, "one detailed": one, "huge detailed": huge, "widest heat": wide,
		"one second, detailed":      detailed(second, second.Window.Start.Time, 10*time.Millisecond, 97),
		"across midnight, detailed": detailed(midnight, midnight.Window.Start.Time, 10*time.Second, 60),
		"thirty days, detailed":     detailed(month, month.Window.Start.Time, 6*time.Hour, 120),
		"a log of whole seconds":    detailed(exact(), exact().Window.Start.Time, time.Second, 24),
	}
}

// No numbers of the details, however odd, break a figure.
func TestDetailsHostile(t *testing.T) {
	t.Parallel()
	nan, inf := math.NaN(), math.Inf(1)
	odd := strings.Repeat("very-long-\x1b[2J", 40)
	times := []analysis.Time{{}, at("1970-01-01T00:00:00Z"), at("2026-11-30T14:32:12.65Z"), at("2026-11-30T14:32:12.65Z"), at("9999-12-31T23:59:59Z")}
	for i, v := range []float64{nan, inf, -inf, 0, -1, 1, 0.1, 1e-6, 5e-324, 1e300, 1e9} {
		for j, n := range []int64{math.MinInt64, -1, 0, 1, math.MaxInt64} {
			r := full()
			r.Groups.FlushPerSync = &analysis.FlushPerSync{Mean: v, Max: n, Basis: analysis.Basis(odd), Method: analysis.Method(odd), SyncMethod: analysis.Method(odd), Histogram: hist(n, n, 1, n, n, 1)}
			for _, h := range []*analysis.Heat{r.Groups.SizeOverTime, r.IO.LatencyOverTime} {
				if j%2 == 0 {
					h.BucketSeconds = v
				}
				h.Bins = append(h.Bins, analysis.HeatBin{From: v, To: v}, analysis.HeatBin{From: 1, To: v}, analysis.HeatBin{From: v, To: 1})
				for k, start := range times {
					h.Series = append(h.Series, analysis.HeatBucket{Start: start, Counts: make([]int64, 3*k)}, analysis.HeatBucket{Start: start, Counts: []int64{n, n, n}})
				}
				h.Series[j].Counts = []int64{n, 1, 2, n, 1, 1, n, 1, 1, 1, 1, n, 1, 1, 1, 1, 1, 1, n, n, n, n}
			}
			r.Sizes.Bytes = analysis.ByteSize{Mean: v, P50: n, P95: n, P99: n, Max: n}
			r.Sizes.Histogram = append(r.Sizes.Histogram, analysis.RangeBin{From: n, To: 1, Count: n}, analysis.RangeBin{From: 1, To: n, Count: n}, analysis.RangeBin{From: n, To: n, Count: 1})
			r.Durations = &analysis.Durations{Transactions: n, Impossible: n, P50: n, P99: n, Max: n, Histogram: r.Sizes.Histogram}
			r.Tables = append(r.Tables, analysis.TableStats{Table: odd, InsertEvents: n, UpdateEvents: 1, DeleteEvents: n})
			tryAll(t, fmt.Sprintf("%g and %d", v, n), r, (i+j)%5 == 0) // to draw takes long
		}
	}
}

func absent(t *testing.T, r *analysis.Result, name, want string) {
	t.Helper()
	_, absent := Figures(r)
	for _, a := range absent {
		if a.Name == name {
			has(t, name, a.Why, want)
			return
		}
	}
	t.Errorf("%s is drawn, want %q", name, want)
}

func TestDetailsSay(t *testing.T) {
	f := figure(t, full(), FlushGroups)
	has(t, "flush groups", strings.Join(f.Subtitle, "\n"), "basis estimated, method commit_timestamps", "Sync groups: basis measured, method traced", "1.41 flush groups on average, at most 6; 73 % of the sync groups hold one")
	has(t, "flush groups", f.Alt, "of 2,061 sync groups. A sync group holds 1.41 flush groups on average, at most 6; 73 % of the sync groups hold one.")
	absent(t, samples()["mariadb"], FlushGroups, "in MariaDB each flush group is a sync group")
	absent(t, writeset(24), FlushGroups, "estimated from commit timestamps")

	f = figure(t, full(), Transactions)
	has(t, "transactions", strings.Join(f.Subtitle, "\n"), "at most 309 bytes, 99 % at most 4.20 kB, the largest 2.35 MB", "half of 5,998 transactions took under 1 s, 99 % under 2 s, the longest under 18 s",
		"may be up to 1 s shorter", "Left out: 2 transactions")
	has(t, "sizes", labels(f.Panels[0].X.Ticks), "200–499 B 500–999 B 1–2 kB 2–5 kB", "500–1,000 kB 1–2 MB")
	has(t, "durations", labels(f.Panels[1].X.Ticks), "under 1 1–2 2–5 5–10 10–20")
	has(t, "transactions", figure(t, samples()["mariadb"], Transactions).Panels[1].Note, "MySQL 8.0.1 and later")
	has(t, "transactions", figure(t, samples()["one detailed"], Transactions).Alt, "1 transaction took under 1 s.")
	for _, tt := range []struct {
		n              int64
		p50, p99, most string
		want           string
	}{
		{1, "9 B", "9 B", "9 B", "1 transaction has 9 B"},
		{7, "9 B", "9 B", "9 B", "each of 7 transactions has at most 9 B"},
		{7, "8 B", "9 B", "9 B", "half of 7 transactions have at most 8 B, the largest 9 B"},
		{700, "7 B", "8 B", "9 B", "half of 700 transactions have at most 7 B, 99 % at most 8 B, the largest 9 B"},
	} {
		if got := spread(tt.n, "has", "have", "at most ", tt.p50, tt.p99, "largest", tt.most); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
	for s, want := range map[int64]string{0: "1 s", 598: "599 s", 3599: "60 min", 40_000: "12 h", 96_052_381: "1,112 days"} {
		if got := inSeconds(s); got != want {
			t.Errorf("%d s: under %s, want %s", s, got, want)
		}
	}

	f = figure(t, full(), Tables)
	if n := len(f.Panels[0].Y.Ticks); n != 5 {
		t.Errorf("%d tables are drawn, want the 5 with row events", n)
	}
	has(t, "table", f.Alt, "shop.orders has the most, 55 % of all")
	f = figure(t, samples()["300 tables"], Tables)
	if n := len(f.Panels[0].Y.Ticks); n != 12 {
		t.Errorf("%d tables are drawn, want 12", n)
	}
	has(t, "tables", strings.Join(f.Subtitle, "\n"), "Row events of 300 tables", "and 288 more have 875,520 row events (96 %)")
	r := full()
	r.Tables = r.Tables[5:]
	absent(t, r, Tables, "no row events")

	f = figure(t, samples()["mariadb"], Heat)
	has(t, "heat", f.Title+f.Panels[0].Note, "How large groups were over time", "by bpf")
	has(t, "rows", labels(f.Panels[1].Y.Ticks), "1 2 3 4–5 6–7 8–11")
	r = full()
	r.Groups.SizeOverTime = nil
	f = figure(t, r, Heat)
	has(t, "heat", f.Title+f.Panels[1].Note, "How long binlog syncs took over time", "not known")
	r = full() // syncs of another day
	for i := range r.IO.LatencyOverTime.Series {
		r.IO.LatencyOverTime.Series[i].Start.Time = r.IO.LatencyOverTime.Series[i].Start.Add(24 * time.Hour)
	}
	f = figure(t, r, Heat)
	has(t, "heat", f.Panels[0].Note, "no sync in the time of these transactions")
	if s := f.X.Max - f.X.Min; s > 1 {
		t.Errorf("the axis is %g s long, want that of the groups", s)
	}
	absent(t, exact(), Heat, "neither how long each sync took")
}

// The cells of a heat map have the counts of the result, and each step of its
// ramp those that it names.
func TestHeatCounts(t *testing.T) {
	r := full()
	f := figure(t, r, Heat)
	for i, h := range []*analysis.Heat{r.IO.LatencyOverTime, r.Groups.SizeOverTime} {
		want := 0.0
		for _, b := range h.Series {
			for _, n := range b.Counts {
				if n > 0 {
					want += h.BucketSeconds
				}
			}
		}
		got := 0.0
		for _, s := range f.Panels[i].Series {
			for _, b := range s.Bars {
				got += (b.To - b.From) * (b.Value - b.Low)
			}
		}
		if math.Abs(got-want) > 1e-3*want {
			t.Errorf("panel %d: cells of %g s in all, want %g", i, got, want)
		}
	}
	for greatest, want := range map[float64]string{
		1: "1", 2: "1|2", 4: "1|from 2", 7: "1|2–4|from 5", 50: "1|2–4|5–9|10–19|20–49|50", 200: "1–4|5–19|20–99|from 100",
		1e6: "1–19|20–499|500–9,999|from 10k|from 200k", 1e5: "1–9|10–99|100–999|1,000–9,999|from 10k|100k", 9e18: "any",
	} {
		var names []string
		limits := steps(greatest)
		for i, low := range limits {
			high := math.Inf(1)
			if i+1 < len(limits) {
				high = limits[i+1]
			}
			names = append(names, stepName(low, high, greatest))
		}
		if got := strings.Join(names, "|"); got != want && greatest < 1e7 {
			t.Errorf("steps up to %g: %s, want %s", greatest, got, want)
		}
		if len(limits) > len(ramp) {
			t.Errorf("%d steps up to %g", len(limits), greatest)
		}
	}
}
