package plot

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"bgcstat/analysis"
)

func TestNumbers(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{count(0), "0"},
		{count(999), "999"},
		{count(1000), "1,000"},
		{count(-123456), "-123,456"},
		{count(-1), "-1"},
		{count(math.MaxInt64), "9,223,372,036,854,775,807"},
		{count(math.MinInt64), "-9,223,372,036,854,775,808"},
		{decimal(1234.5678, 2), "1,234.57"},
		{decimal(-1234, 0), "-1,234"},
		{decimal(123, 1), "123.0"},
		{significant(2.909), "2.91"},
		{significant(3), "3"},
		{significant(12.34), "12.3"},
		{significant(1234.5), "1,234"},
		{significant(0.01234), "0.012"},
		{percent(0), "0 %"},
		{percent(1), "100 %"},
		{percent(0.0001), "<0.1 %"},
		{percent(0.9999), ">99.9 %"},
		{percent(0.123), "12 %"},
		{percent(0.0997), "10 %"},
		{percent(0.0123), "1.2 %"},
		{percent(0.994), "99.4 %"},
		{percent(0.04), "4.0 %"},
		{plural(1, "group"), "1 group"},
		{plural(0, "group"), "0 groups"},
		{plural(1234, "group"), "1,234 groups"},
		{span(0.1), "100 ms"},
		{span(1), "1 s"},
		{span(90), "90 s"},
		{span(120), "2 min"},
		{span(7200), "2 h"},
		{span(172800), "2 d"},
		{span(0.0005), "0.50 ms"},
		{span(1.5), "1.50 s"},
		{power(1), "1"},
		{power(1e5), "100,000"},
		{power(1e6), "1 million"},
		{power(1e10), "10 billion"},
		{power(1e18), "1,000,000 trillion"},
		{shorten("mysql-bin.000001", 16), "mysql-bin.000001"},
		{shorten("mysql-bin.000001", 11), "mysql…00001"},
		{shorten("a\nb", 9), "a?b"},
		{shorten("ab", 1), "…"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
	for greatest, want := range map[float64]string{0: "1 ", 9.9e6: "1 ", 1e7: "1e+06 millions", 1e10: "1e+09 billions", 1e18: "1e+12 trillions"} {
		if div, word := large(greatest); fmt.Sprintf("%g %s", div, word) != want {
			t.Errorf("large(%g) = %g, %q, want %q", greatest, div, word, want)
		}
	}
	for greatest, want := range map[float64]string{0: "1 bytes", 999: "1 bytes", 1000: "1000 kB", 2.5e6: "1e+06 MB", 1e18: "1e+18 EB", 1e30: "1e+18 EB"} {
		if div, unit := bytesUnit(greatest); fmt.Sprintf("%g %s", div, unit) != want {
			t.Errorf("bytesUnit(%g) = %g, %q, want %q", greatest, div, unit, want)
		}
	}
}

func labels(ticks []Tick) string {
	var s []string
	for _, t := range ticks {
		if t.Label != "" {
			s = append(s, strings.ReplaceAll(t.Label, "\n", "|"))
		}
	}
	return strings.Join(s, " ")
}

func TestLinear(t *testing.T) {
	for _, tt := range []struct {
		greatest float64
		whole    bool
		want     string
	}{
		{0, false, "0.0 0.2 0.4 0.6 0.8 1.0"},
		{1, true, "0 1"},
		{3, true, "0 1 2 3"},
		{3, false, "0 1 2 3"},
		{0.004, false, "0.000 0.001 0.002 0.003 0.004"},
		{684, true, "0 200 400 600"},
		{60000, true, "0 20,000 40,000 60,000"},
		{math.NaN(), false, "0.0 0.2 0.4 0.6 0.8 1.0"},
		{math.Inf(1), true, "0 1"},
		{1e-9, false, "0 2e-10 4e-10 6e-10 8e-10 1e-09"},
	} {
		a := linear(tt.greatest, 0.1, tt.whole)
		if got := labels(a.Ticks); got != tt.want {
			t.Errorf("linear(%g): %s, want %s", tt.greatest, got, tt.want)
		}
	}
	for v := 1e-12; v < 1e19; v *= 1.37 {
		a := linear(v, 0.1, false)
		if n := len(a.Ticks); a.Max < v || a.Min != 0 || n < 3 || n > 8 {
			t.Errorf("linear(%g): to %g with %d ticks", v, a.Max, n)
		}
	}
}

func TestLogarithmic(t *testing.T) {
	for greatest, want := range map[float64]string{
		0: "1 10", 1: "1 10", math.NaN(): "1 10", math.Inf(1): "1 10",
		300: "1 10 100", 60000: "1 10 100 1,000 10,000",
		2e7: "1 100 10,000 1 million",
	} {
		a := logarithmic(greatest)
		if got := labels(a.Ticks); got != want {
			t.Errorf("logarithmic(%g): %s, want %s", greatest, got, want)
		}
		if a.Min <= 0 || a.Max < 10 || finite(greatest) && a.Max < greatest {
			t.Errorf("logarithmic(%g): from %g to %g", greatest, a.Min, a.Max)
		}
	}
}

func TestTimeTicks(t *testing.T) {
	for _, tt := range []struct {
		from   string
		length time.Duration
		want   string
	}{
		{"2026-08-01T23:59:59.7Z", 500 * time.Millisecond, "23:59:59.7|2026-08-01 23:59:59.8 23:59:59.9 00:00:00.0|2026-08-02 00:00:00.1 00:00:00.2"},
		{"2026-08-01T10:00:00Z", 20 * time.Millisecond, "10:00:00.000|2026-08-01 10:00:00.005 10:00:00.010 10:00:00.015 10:00:00.020"},
		{"2026-08-01T10:00:00.25Z", 10 * time.Second, "10:00:02|2026-08-01 10:00:04 10:00:06 10:00:08 10:00:10"},
		{"2026-08-01T10:00:00Z", 10 * time.Minute, "10:00|2026-08-01 10:02 10:04 10:06 10:08 10:10"},
		{"2026-08-01T13:00:00Z", 24 * time.Hour, "15:00|2026-08-01 18:00 21:00 00:00|2026-08-02 03:00 06:00 09:00 12:00"},
		// Daylight saving time is none of UTC.
		{"2026-03-28T12:00:00Z", 5 * 24 * time.Hour, "2026-03-29 2026-03-30 2026-03-31 2026-04-01 2026-04-02"},
		// Mondays.
		{"2026-07-20T05:10:00Z", 30 * 24 * time.Hour, "2026-07-27 2026-08-03 2026-08-10 2026-08-17"},
		{"2025-11-20T00:00:00Z", 150 * 24 * time.Hour, "2025-12 2026-01 2026-02 2026-03 2026-04"},
		{"2016-02-29T00:00:00Z", 3653 * 24 * time.Hour, "2018 2020 2022 2024 2026"},
		{"1969-12-31T23:59:55Z", 10 * time.Second, "23:59:56|1969-12-31 23:59:58 00:00:00|1970-01-01 00:00:02 00:00:04"},
	} {
		from := unixSeconds(at(tt.from).Time)
		if got := labels(timeTicks(from, from+tt.length.Seconds())); got != tt.want {
			t.Errorf("%s and %s: %s, want %s", tt.from, tt.length, got, tt.want)
		}
	}
	for _, tt := range [][2]float64{{0, 0}, {1, 0}, {0, math.NaN()}, {math.Inf(-1), 0}, {-1e300, 1e300}, {0, 1e18}} {
		if ticks := timeTicks(tt[0], tt[1]); len(ticks) > 0 {
			t.Errorf("from %g to %g: %d ticks, want none", tt[0], tt[1], len(ticks))
		}
	}
	for length := 0.001; length < 9e12; length *= 1.7 {
		from := -6.2e10
		ticks := timeTicks(from, from+length)
		n := len(strings.Fields(labels(ticks)))
		if n < 1 && length > 0.01 || n > 10 {
			t.Errorf("%g seconds: %d labels", length, n)
		}
		for _, tick := range ticks {
			if tick.At < from-1e-5 || tick.At > from+length+1e-5 {
				t.Errorf("%g seconds: a tick at %g, beyond the end", length, tick.At-from)
			}
		}
	}
}

func TestSizeBins(t *testing.T) {
	for _, greatest := range []int64{1, 2, 6, 16, 32, 33, 50, 240, 741, 1000, 10_000, 10_001, 1_000_000, 1_000_001, 1e18, math.MaxInt64} {
		bins, ranges := sizeBins(greatest, 0)
		if len(bins) > 32 {
			t.Errorf("%d: %d bins", greatest, len(bins))
		}
		next := int64(1)
		for i, b := range bins {
			if b.low != next || b.high < b.low {
				t.Errorf("%d: bin %v, want one from %d", greatest, b, next)
			}
			if (b.low < b.high) != (ranges > 0 && i >= ranges) {
				t.Errorf("%d: bin %v, and %d single ones", greatest, b, ranges)
			}
			next = b.high + 1
		}
		if last := bins[len(bins)-1]; last.high < greatest || last.low > max(greatest, 6) {
			t.Errorf("%d: last bin %v", greatest, last)
		}
	}
	bins, _ := sizeBins(40, 0)
	if got, want := fmt.Sprint(bins), "[1 2 3 4 5 6 7 8 9 10 11–20 21–50]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	bins, _ = sizeBins(2_000_000, 0)
	if got, want := bins[len(bins)-1].String(), "over 1,000,000"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}

	// 3 groups of 1, 2 of 12, 1 of 20: 3, and 24 and 20 of 47 transactions.
	bins, _ = sizeBins(40, 0)
	got := bin(hist(1, 3, 12, 2, 20, 1), bins)
	if got.groups[0] != 3 || got.groups[10] != 3 || math.Abs(got.share[0]-3.0/47) > 1e-12 || math.Abs(got.share[10]-44.0/47) > 1e-12 {
		t.Errorf("got %v", got)
	}
}

// A percent sign stands apart from its number in whatever a picture says, as in
// the text report and the page, and in one line with it.
func TestPercentApart(t *testing.T) {
	glued := regexp.MustCompile(`[0-9]%`)
	look := func(name string, figures []Figure) {
		for _, f := range figures {
			raw, err := json.Marshal(f)
			if err != nil {
				t.Fatal(err)
			}
			if at := glued.FindIndex(raw); at != nil {
				t.Errorf("%s: %s says %s", name, f.Name, raw[max(0, at[0]-30):at[1]])
			}
		}
	}
	for name, r := range samples() {
		figures, _ := Figures(r)
		look(name, figures)
	}
	for name, c := range comparisons(t) {
		figures, _ := Compare(c)
		look(name, figures)
	}
	for _, s := range []string{"5.2 %", "(96 %).", "<0.1 %", ">99.9 %,", "+400 %"} {
		if got := wrap("of "+s, textSize, false, 1); len(got) != 2 {
			t.Errorf("%q is broken: %q", s, got)
		}
	}
	if got := words("a - % b"); len(got) != 4 {
		t.Errorf("a sign without a number: %q", got)
	}
}

func has(t *testing.T, where, s string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(s, p) {
			t.Errorf("%s: %q, want %q in it", where, s, p)
		}
	}
}

func TestGroupSizeSays(t *testing.T) {
	f := figure(t, writeset(100), GroupSize)
	has(t, "title", f.Title, "not commit groups")
	has(t, "subtitle", strings.Join(f.Subtitle, "\n"), "binlog.000017 to binlog.000018 (2 files), MySQL 8.4.6, 60,000 transactions, 2026-08-01 10:00:00.250 to 10:00:10.030 UTC",
		"lies between 9,110 and 60,000 (basis bound, method constraints)", "39,290 groups (basis legacy, method last_committed)")
	has(t, "footer", f.Footer, "writeset-parents, groups-not-known")
	for _, p := range f.Panels {
		if len(p.Series) != 1 || p.Series[0].Kind != Outline {
			t.Errorf("got %v, want the outline alone", p.Series)
		}
	}

	f = figure(t, exact(), GroupSize)
	has(t, "subtitle", strings.Join(f.Subtitle, "\n"), "1,862 sync groups (basis exact, method commit_id)", "95 % at most 8", "11 % of the transactions committed alone")
	if s := f.Panels[0].Series; len(s) != 1 || s[0].Kind != Filled {
		t.Errorf("got %v, want filled bars alone", s)
	}
	f = figure(t, samples()["both"], GroupSize)
	has(t, "subtitle", strings.Join(f.Subtitle, "\n"), "1,862 sync groups, between 1,700 and 1,999 (basis estimated, method commit_timestamps)", "Those are not commit groups")
	if s := f.Panels[0].Series; len(s) != 2 || s[0].Kind != Filled || s[1].Kind != Outline {
		t.Errorf("got %v, want filled bars and an outline over them", s)
	}

	alone := &analysis.GroupStats{Count: new(int64(5)), Low: 5, High: 5, Basis: analysis.Bounded, Method: analysis.Constraints, Size: &analysis.GroupSize{Mean: 1, P50: 1, P95: 1, P99: 1, Max: 1, AloneShare: 1}}
	has(t, "alone", groupsInWords(alone), "5 sync groups (basis bound, method constraints). Each transaction committed alone.")

	// Only the number of groups is known, or nothing.
	r := writeset(100)
	r.Groups.Sync = &analysis.GroupStats{Count: new(int64(77)), Low: 77, High: 77, Basis: analysis.Measured, Method: "fsync_count"}
	has(t, "subtitle", strings.Join(figure(t, r, GroupSize).Subtitle, "\n"), "77 sync groups (basis measured, method fsync_count). How large they were is not known.")
	r.Groups.Sync = nil
	has(t, "subtitle", strings.Join(figure(t, r, GroupSize).Subtitle, "\n"), "lies between 9,110 and 60,000 (basis bound)")
	r.Groups.Bound = nil
	has(t, "subtitle", strings.Join(figure(t, r, GroupSize).Subtitle, "\n"), "does not tell how many")
}

func TestTimelineSays(t *testing.T) {
	f := figure(t, writeset(100), Timeline)
	has(t, "subtitle", strings.Join(f.Subtitle, "\n"), "Each step is 100 ms", "by time of commit")
	has(t, "note", f.Panels[1].Note, "not known from this log", "between 9,110 and 60,000")
	f = figure(t, exact(), Timeline)
	has(t, "subtitle", strings.Join(f.Subtitle, "\n"), "when the statement began, in whole seconds", "Sync groups: basis exact, method commit_id")
	f = figure(t, samples()["30 days, short buckets"], Timeline)
	has(t, "subtitle", strings.Join(f.Subtitle, "\n"), "the mean of 2 h, by time of commit, the thin line the highest 10 s within")

	r := writeset(100)
	r.Groups.Sync = nil
	has(t, "note", noGroups(r, nil), "between 9,110 and 60,000")
	r.Groups.Bound = nil
	has(t, "note", noGroups(r, nil), "Nothing in it tells")
	r.Groups.Sync = exact().Groups.Sync
	has(t, "note", noGroups(r, nil), "There were 1,862 sync groups (basis exact, method commit_id) in all; when each began is not known.")

	// Rates of a slow log are by a longer time, with a trace they are by the second.
	r = exact()
	r.Rates.BucketSeconds = 1800
	r.Rates.Series = []analysis.Bucket{{Start: r.Rates.Series[0].Start, Transactions: 2, Bytes: 1500}}
	f = figure(t, r, Timeline)
	has(t, "units", f.Panels[0].Y.Unit+" "+f.Panels[2].Y.Unit, "per hour kB/h")
	has(t, "alternative", f.Alt, "at most 4 transactions and 3 kB of binlog per hour")
	if got := f.Panels[0].Series[0].Bars[0].Value; math.Abs(got-4) > 1e-9 {
		t.Errorf("%g transactions an hour, want 4", got)
	}
	r.IO = traced().IO
	has(t, "units", figure(t, r, Timeline).Panels[0].Y.Unit, "per second")

	units := map[int64]string{1: "bytes/s", 5_000: "kB/s", 7_000_000: "MB/s", 9e9: "GB/s"}
	for n, want := range units {
		r := exact()
		r.Rates.Series = r.Rates.Series[:1]
		r.Rates.Series[0].Bytes = n
		if got := figure(t, r, Timeline).Panels[2].Y.Unit; got != want {
			t.Errorf("%d bytes in a second: in %s, want %s", n, got, want)
		}
	}
}

// The surface of a panel is the number of transactions, and zero where there
// are none.
func TestTimelineSums(t *testing.T) {
	for name, r := range samples() {
		switch name {
		case "huge":
			continue
		case "one":
			absent(t, r, Timeline, "within 1 ms, too short a time for rates per second")
			continue
		}
		want, top := 0.0, 0.0
		for _, b := range r.Rates.Series {
			want += float64(b.Transactions)
			top = max(top, float64(b.Transactions)/r.Rates.BucketSeconds)
		}
		got, gotTop := 0.0, 0.0
		for _, s := range figure(t, r, Timeline).Panels[0].Series {
			for _, b := range s.Bars {
				if s.Kind == Area {
					got += (b.To - b.From) * b.Value
				}
				gotTop = max(gotTop, b.Value)
			}
		}
		// The unit of times is the second since 1970, exact to a quarter of a
		// microsecond; the narrowest buckets here are a millisecond wide.
		if math.Abs(got-want) > 1e-3*want || math.Abs(gotTop-top) > 1e-3*top {
			t.Errorf("%s: %g transactions, at most %g a second, want %g and %g", name, got, gotTop, want, top)
		}
	}

	bars := figure(t, exact(), Timeline).Panels[0].Series[0].Bars
	if len(bars) != 21 || bars[9].From-bars[8].To != 3 {
		t.Errorf("got %d steps, want 21 with 3 s of nothing after the ninth", len(bars))
	}
	groups := figure(t, samples()["partly"], Timeline).Panels[1]
	if s := groups.Series[0]; s.Kind != Unknown || len(s.Bars) != 1 || s.Bars[0].To-s.Bars[0].From != 6 {
		t.Errorf("got %v, want the last 6 s as unknown", s)
	}
}

func TestParentsSays(t *testing.T) {
	r := writeset(100)
	r.Parents.Points = append(r.Parents.Points, analysis.Parent{Index: 60000}, analysis.Parent{Index: 60000, Distance: -3})
	f := figure(t, r, Parents)
	has(t, "subtitle", strings.Join(f.Subtitle, "\n"), "sequence_number − last_committed", "One in 600 transactions is drawn.",
		"Left out: 2 distances of 0 or below.", "By the server's version: WRITESET.")
	if n := len(f.Panels[0].Series[0].Points); n != 100 {
		t.Errorf("%d points, want 100", n)
	}
	for _, tt := range []struct{ mode, from, want string }{
		{"", "", "not known"},
		{"unknown", "unknown", "not known"},
		{"none", "version", "does not track"},
		{"WRITESET", "version", "By the server's version: WRITESET."},
		{"WRITESET_SESSION", "settings", "By the server's settings: WRITESET_SESSION."},
		{"COMMIT_ORDER", "unknown", "The server's mode: COMMIT_ORDER (where that is known from is not stated)."},
	} {
		has(t, tt.mode, mode(analysis.DependencyTracking{ServerMode: tt.mode, From: tt.from}), tt.want)
	}
	r.DependencyTracking.From = "settings" // in the picture and to those who do not see it
	f = figure(t, r, Parents)
	for _, s := range []string{f.Subtitle[len(f.Subtitle)-1], f.Alt} {
		has(t, "from settings", s, "By the server's settings: WRITESET.")
	}

	d := &analysis.Result{DependencyTracking: analysis.DependencyTracking{Stretches: []analysis.Stretch{{Observed: analysis.NotDistinguishable, Certainty: analysis.Unknown}}}}
	has(t, "observed", observed(d), "In the log itself the modes are not distinguishable.")
	d.DependencyTracking.Stretches = append(d.DependencyTracking.Stretches, analysis.Stretch{Observed: analysis.ObservedWriteset, Certainty: analysis.Proven, Proofs: 1})
	has(t, "observed", observed(d), "The log itself shows: modes that are not distinguishable, then WRITESET (proven). 1 transaction points further back")
	d.Filters = &analysis.Filters{}
	has(t, "observed", observed(d), "1 transaction of the whole log points further back")

	// However many points there are, as many are drawn as there are spots.
	f = figure(t, commitOrder(60000), Parents)
	if n := len(f.Panels[0].Series[0].Points); n > spotsAlong*spotsUp/4 {
		t.Errorf("%d points are drawn", n)
	}
	for _, p := range f.Panels[0].Series[1].Points {
		if p.Y < 8 || p.Y > 18 {
			t.Errorf("a median of %g, want about 13", p.Y)
		}
	}
}

func TestSource(t *testing.T) {
	r := exact()
	r.Sources = append(r.Sources, analysis.Source{File: "b", Flavor: "mariadb", ServerVersion: "10.11"})
	r.Filters = &analysis.Filters{}
	has(t, "source", source(r), "mariadb-bin.000004 to b (2 files), MariaDB of several versions, 5,974 transactions chosen by filters, ")
	r.Sources[1].Flavor = "mysql"
	has(t, "source", source(r), "several servers")
	r.Sources = nil
	r.Window = nil
	r.Filters = nil
	if got := source(r); got != "5,974 transactions" {
		t.Errorf("got %q", got)
	}
}
