package plot

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"bgcstat/analysis"
)

func TestSyncsSay(t *testing.T) {
	f := figure(t, traced(), Timeline)
	has(t, "subtitle", f.Subtitle[3], "Syncs: basis measured, exact; counted by bpf (ext4_sync_file_enter), by the clock of the host.",
		"Each of their steps is 100 ms; where it is grey nothing was sampled.")
	if got := panels(f); got != "transactions (per second), syncs (per second), CPU (% of 2 CPUs), sync groups (per second), binlog written by these transactions (MB/s)" {
		t.Errorf("the panels are %s", got)
	}
	if got := legendOf(f.Panels[1]); got != "not sampled, binlog, redo, data" { // no other files, which are zero throughout
		t.Errorf("the lines are %s", got)
	}

	f = figure(t, flushesOnly(), Timeline)
	has(t, "subtitle", f.Subtitle[3], "basis measured, of the whole disk and all programs on it", "by proc", "They are no fsyncs: there are 0 to 3 of them for one.")
	if p := f.Panels[1]; p.Y.title() != "flush requests of vda per second (no fsyncs)" || legendOf(p) != "not sampled, " || p.Series[1].Kind != Levels || p.Series[1].Bars[0].Value != 5800 {
		t.Errorf("got %s with %s", p.Y.title(), legendOf(p))
	}

	f = figure(t, busy(), Timeline)
	has(t, "subtitle", f.Subtitle[3], "redo measured, a lower bound", "other files measured, not all alike", "12 syncs that the kernel dropped", "the mean of what was sampled in 10 min")
	if got := legendOf(f.Panels[1]); got != "not sampled, binlog, redo, doublewrite, data, other files" {
		t.Errorf("the lines are %s", got)
	}

	r := traced()
	r.IO.Rates.Series[0].DeviceFlushes = nil
	r.IO.DeviceFlushes = append(r.IO.DeviceFlushes, analysis.DeviceFlushes{Device: strings.Repeat("mapper-", 9)}, analysis.DeviceFlushes{})
	for n, want := range map[int]string{0: "the disk", 1: "vda", 2: "vda and mappe…apper-", 3: "3 disks"} {
		if got := disks(r.IO.DeviceFlushes[:n]); got != want {
			t.Errorf("%d disks: %q, want %q", n, got, want)
		}
	}

	// Where nothing can be drawn, the panel says so.
	for name, tt := range map[string]struct {
		change func(io *analysis.IO)
		want   string
	}{
		"beyond the axis": {func(io *analysis.IO) {
			for i := range io.Rates.Series {
				io.Rates.Series[i].Start.Time = io.Rates.Series[i].Start.Add(time.Hour)
			}
		}, "no sample in the time"},
		"zero":      {func(io *analysis.IO) { io.Rates.Series = io.Rates.Series[5:6] }, "No sync was counted"},
		"no number": {func(io *analysis.IO) { io.Rates.BucketSeconds = math.NaN() }, "no sample in the time"},
	} {
		r := traced()
		tt.change(r.IO)
		f := figure(t, r, Timeline)
		has(t, name, f.Panels[1].Note, tt.want)
		has(t, name, f.Subtitle[3], "basis measured, exact; counted by bpf")
	}
	for name, change := range map[string]func(r *analysis.Result){
		"no trace":   func(r *analysis.Result) { r.IO = nil },
		"no rates":   func(r *analysis.Result) { r.IO.Rates = nil },
		"no buckets": func(r *analysis.Result) { r.IO.Rates.Series = nil },
	} {
		r := traced()
		r.IO.CPU = nil
		change(r)
		if f := figure(t, r, Timeline); len(f.Panels) != 3 || len(f.Subtitle) != 3 {
			t.Errorf("%s: %s, %q", name, panels(f), f.Subtitle)
		}
	}
}

func panels(f *Figure) string {
	var s []string
	for _, p := range f.Panels {
		s = append(s, p.Y.title())
	}
	return strings.Join(s, ", ")
}

func legendOf(p Panel) string {
	var s []string
	for _, l := range p.Series {
		s = append(s, l.Label)
	}
	return strings.Join(s, ", ")
}

// The bars of the lines are the samples: 0 where nothing was synced, and no bar
// but a gap where nothing was sampled.
func TestSyncsValues(t *testing.T) {
	r := traced()
	// One sample before the axis, one after it, and one cut in half at its edge.
	add := func(shift time.Duration, n int64) {
		r.IO.Rates.Series = append(r.IO.Rates.Series, analysis.SyncBucket{Start: analysis.Time{Time: r.Window.Start.Add(shift)}, Syncs: map[string]int64{"binlog": n}})
	}
	add(-time.Second, 1e9)
	add(time.Second, 1e9)
	add(-50*time.Millisecond, 77)
	f := figure(t, r, Timeline)
	p := f.Panels[1]
	say := func(bars []Bar) string {
		var s []string
		for _, b := range bars {
			s = append(s, fmt.Sprintf("%.2f–%.2f %.4g", b.From-f.X.Min, b.To-f.X.Min, b.Value))
		}
		return strings.Join(s, ", ")
	}
	if got, want := say(p.Series[0].Bars), "0.60–0.70 0, 0.80–1.00 0"; got != want {
		t.Errorf("not sampled: %s, want %s", got, want)
	}
	want := "0.00–0.05 770, 0.00–0.10 1930, 0.10–0.20 2040, 0.20–0.30 2130, 0.30–0.40 2180, 0.40–0.50 1960, 0.50–0.60 0, 0.70–0.80 2070"
	if got := say(p.Series[1].Bars); got != want {
		t.Errorf("binlog: %s, want %s", got, want)
	}

	// Many buckets share a step; what was not sampled in it is not zero. 200 of 240
	// buckets of 10 s share two steps of 10 min, so the mean is theirs.
	r = busy()
	r.IO.Rates.Series = nil
	for i := range 100 {
		r.IO.Rates.Series = append(r.IO.Rates.Series, analysis.SyncBucket{
			Start: analysis.Time{Time: at("2026-08-01T14:00:00Z").Add(time.Duration(i) * 10 * time.Second)}, Syncs: map[string]int64{"binlog": 5000},
		})
	}
	f = figure(t, r, Timeline)
	if got, want := say(f.Panels[1].Series[1].Bars), "3600.00–4200.00 500, 4200.00–4600.00 500"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := say(f.Panels[1].Series[0].Bars), "0.00–3600.00 0, 4600.00–86400.00 0"; got != want {
		t.Errorf("not sampled: %s, want %s", got, want)
	}
}

func TestClasses(t *testing.T) {
	for _, tt := range []struct{ sums, want string }{
		{"binlog 0 redo 0", ""},
		{"data 9 redo 1 binlog 2 other 1", "binlog redo data other+files"},
		{"a 1 b 2 c 3 d 4 e 5", "e d c b a"},
		{"a 1 b 2 c 3 d 4 e 5 f 6", "f e d c other+files[b,a]"},
		{"data 9 redo 1 binlog 2 other 99 undo 1 doublewrite 2 unattributed 3", "binlog redo data unattributed other+files[doublewrite,undo,other]"},
	} {
		sums := map[string]float64{}
		words := strings.Fields(tt.sums)
		for i := 0; i < len(words); i += 2 {
			var n float64
			fmt.Sscan(words[i+1], &n)
			sums[words[i]] = n
		}
		var got []string
		for _, c := range classesOf([]syncStep{{sums: sums}}) {
			s := strings.ReplaceAll(c.label, " ", "+")
			if len(c.keys) > 1 {
				s += "[" + strings.Join(c.keys, ",") + "]"
			}
			got = append(got, s)
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%s: %s, want %s", tt.sums, s, tt.want)
		}
	}
}

// Without colours the dashes tell lines apart, and no two lines share any.
func TestSyncLines(t *testing.T) {
	for i, a := range syncLines {
		if err := (&a.stroke).check(); err != nil {
			t.Error(err)
		}
		for _, b := range syncLines[:i] {
			if a.color == b.color || reflect.DeepEqual(a.stroke.Dash, b.stroke.Dash) {
				t.Errorf("%v and %v look alike", a, b)
			}
		}
	}
	five := []class{{keys: []string{"a"}}, {keys: []string{"b"}}, {keys: []string{"c"}}, {keys: []string{"d"}}, {keys: []string{"e"}}}
	for _, names := range []string{"a b c d e", "binlog b c d e", "redo b c d e", "binlog redo c d e"} {
		for i, n := range strings.Fields(names) {
			five[i].keys[0] = n
		}
		seen := map[string]string{}
		for i, s := range linesOf(five) {
			if other, ok := seen[s.Color]; ok {
				t.Errorf("%s and %s are both %s", other, five[i].keys[0], s.Color)
			}
			seen[s.Color] = five[i].keys[0]
		}
		if n := seen[blue]; strings.Contains(names, "binlog") && n != "binlog" {
			t.Errorf("%s is blue, want binlog", n)
		}
	}
	// Changing a figure does not change the next one.
	figure(t, traced(), Timeline).Panels[1].Series[1].Stroke.Width = 9
	if w := figure(t, traced(), Timeline).Panels[1].Series[1].Stroke.Width; w != 1.8 {
		t.Errorf("the line is %g points wide, want 1.8", w)
	}
}

func TestFsyncsSay(t *testing.T) {
	bars := func(f *Figure) string {
		var s []string
		for _, series := range f.Panels[0].Series {
			for _, b := range series.Bars {
				s = append(s, fmt.Sprintf("%s %g:%g %s", series.Kind, b.Low, b.Value, strings.ReplaceAll(b.Label, "\n", "|")))
			}
		}
		return strings.Join(s, "; ")
	}
	f := figure(t, traced(), Fsyncs)
	has(t, "title", f.Title, "Group commit saved 65.6 % of binlog fsyncs: 3,939 of 6,000, measured")
	has(t, "subtitle", strings.Join(f.Subtitle, "\n"), "(basis exact) and sync_binlog=1 and innodb_flush_log_at_trx_commit=1 (known from: server)",
		"measured 2,061 (basis measured, method fsync_count), by the log alone 2,034, between 1,990 and 2,180 (basis estimated, method commit_timestamps).",
		"Group commit saved 63.7 % of redo fsyncs: 3,823 of 6,000, measured.", "measured 2,177 (basis measured, method fsync_count). The log alone does not give their number.")
	if got, want := labels(f.X.Ticks), "each alone|binlog by the log|binlog measured|binlog each alone|redo measured|redo"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	want := "filled 0:6000 6,000|exact; filled 0:2034 ; filled 0:2061 2,061|measured; interval 1990:2180 2,034|1,990–2,180|estimated; filled 0:6000 6,000|exact; filled 0:2177 2,177|measured"
	if got := bars(f); got != want {
		t.Errorf("got %s,\nwant %s", got, want)
	}

	f = figure(t, flushesOnly(), Fsyncs)
	has(t, "title", f.Title, "Group commit saved 66.1 % of binlog fsyncs: 3,966 (3,820 to 4,010) of 6,000, estimated")
	has(t, "subtitle", strings.Join(f.Subtitle, "\n"), "known from: default of 9.7", "by the log alone: 2,034, between 1,990 and 2,180 (basis estimated, method commit_timestamps). It was not measured.")
	if got, want := bars(f), "filled 0:6000 6,000|exact; filled 0:2034 ; interval 1990:2180 2,034|1,990–2,180|estimated"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}

	f = figure(t, noisy(), Fsyncs)
	has(t, "title", f.Title, "Group commit saved at most 84.8 % of binlog fsyncs: 0 to 5,089 of 6,000, bound")
	if got, want := bars(f), "filled 0:6000 6,000|exact; interval 911:6000 911–6,000|bound"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}

	f = figure(t, busy(), Fsyncs)
	has(t, "title", f.Title, "Group commit saved >99.9 % of binlog fsyncs: 9,998,137 of 9,999,999, measured")
	has(t, "subtitle", strings.Join(f.Subtitle, "\n"), "(basis estimated, to one sync) and sync_binlog=10 (known from: flag)", "Beside what groups saved, sync_binlog=10 saved 123,456 more.",
		"Group commit saved no redo fsyncs: 10,123,456, where transactions alone need 9,999,999, measured.", "by the log alone 2,222,222 to 8,888,888 (basis bound, method constraints)")

	// A group for each transaction.
	r := noisy()
	b := r.Saved.Binlog
	b.GroupedLow, b.SavedByGroupingMax, b.ShareMax = 6000, 0, 0
	has(t, "title", figure(t, r, Fsyncs).Title, "Group commit saved no binlog fsyncs: 0 of 6,000, bound")
	// The log gives nothing, the trace does.
	r = traced()
	r.Saved.Binlog = nil
	has(t, "title", figure(t, r, Fsyncs).Title, "Group commit saved 63.7 % of redo fsyncs")

	for share, want := range map[float64]string{0: "0.0 %", 1e-9: "<0.1 %", 0.0123: "1.2 %", 0.99999: ">99.9 %", 1: "100.0 %"} {
		if got := tenths(share); got != want {
			t.Errorf("%g: %s, want %s", share, got, want)
		}
	}
}

// Every label has room above its bar, whatever the numbers.
func TestFsyncsLabels(t *testing.T) {
	for _, n := range []int64{1, 6000, 9_999_999, 888_888_888_888, math.MaxInt64} {
		r := busy()
		for _, s := range []*analysis.SavedSync{r.Saved.Binlog, r.Saved.Redo} {
			s.Alone, s.Grouped, s.GroupedLow, s.GroupedHigh = n, new(n/2), n/3, n-n/10
			s.FromLog = &analysis.FromLog{Count: new(n / 2), Low: n / 3, High: n, Basis: analysis.Estimated, Method: analysis.CommitTimestamps}
		}
		f := figure(t, r, Fsyncs)
		l := f.layout(usualWidth)
		for _, s := range f.Panels[0].Series {
			for _, b := range s.Bars {
				bin := (b.To - b.From) / (f.X.Max - f.X.Min) * (l.right - l.left)
				for line := range strings.SplitSeq(b.Label, "\n") {
					if w := textWidth(line, smallSize, false); w > bin {
						t.Errorf("%d: %q is %.0f points wide, its bar %.0f", n, line, w, bin)
					}
				}
				lines := float64(1 + strings.Count(b.Label, "\n"))
				if room := (1 - b.Value/f.Panels[0].Y.Max) * f.Panels[0].Height; room < 5+(lines-1)*smallSize*leading+0.8*smallSize {
					t.Errorf("%d: %q has %.0f points above its bar", n, b.Label, room)
				}
			}
		}
	}
}

// In the narrowest picture the numbers stay where the words below them have no
// room.
func TestFsyncsNarrow(t *testing.T) {
	l := figure(t, traced(), Fsyncs).layout(MinWidth * 72 / 96)
	p := &l.panels[0]
	r := field{l.left, 0, l.right, p.Height}
	var got []string
	for _, s := range p.Series {
		for _, b := range s.Bars {
			from, _ := p.x.place(b.From)
			to, _ := p.x.place(b.To)
			v, _ := p.Y.place(b.Value)
			if b.Label != "" {
				got = append(got, strings.Join(p.labelLines(b, r, (to-from)*(r.right-r.left)-1, v*p.Height), " "))
			}
		}
	}
	if got, want := strings.Join(got, "; "), "6,000 exact; 2,061; 2,034; 6,000 exact; 2,177"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFsyncsAbsent(t *testing.T) {
	for want, change := range map[string]func(r *analysis.Result){
		"sync_binlog is not known":        func(r *analysis.Result) { r.Saved = nil },
		"at sync_binlog=0":                func(r *analysis.Result) { r.Saved.Assumes.SyncBinlog, r.Saved.Binlog.Alone = 0, 0 },
		"at sync_binlog=9000":             func(r *analysis.Result) { r.Saved.Assumes.SyncBinlog, r.Saved.Binlog.Alone = 9000, 0 },
		"there are no transactions":       func(r *analysis.Result) { r.Saved, r.Transactions = nil, 0 },
		"number of sync groups":           func(r *analysis.Result) { r.Saved.Binlog, r.Groups.Sync = nil, nil },
		"a relay log does not":            func(r *analysis.Result) { r.Saved, r.Sources[0].Kind = nil, "relay log" },
		"filters chose a part":            func(r *analysis.Result) { r.Saved, r.Warnings = nil, []analysis.Warning{{Code: "filtered"}} },
		"the number of syncs that":        func(r *analysis.Result) { r.Saved.Binlog.Grouped = new(int64(-1)) },
		"syncs that the groups needed is": func(r *analysis.Result) { r.Saved.Binlog.Share = new(math.NaN()) },
	} {
		r := flushesOnly()
		change(r)
		f, why := fsyncs(r)
		if f != nil || !strings.Contains(why, want) {
			t.Errorf("got %v and %q, want %q in it", f, why, want)
		}
	}
}

func TestSyncLatencySays(t *testing.T) {
	f := figure(t, traced(), SyncLatency)
	has(t, "subtitle", strings.Join(f.Subtitle, "\n"), "basis measured, by bpf (ext4_sync_file_enter). Of 2,062 binlog syncs in all the median took 0.098 ms and p99 0.41 ms.", "of fewer than 100 syncs p99 is the slowest")
	if got, want := labels(f.X.Ticks), "1 2 3 4 5–8"; got != want || f.X.Shaded != 4 {
		t.Errorf("got %s, shaded from %g, want %s from 4", got, f.X.Shaded, want)
	}
	if got, want := labels(f.Panels[0].Y.Ticks), "0.0 0.1 0.2 0.3 0.4"; got != want || f.Panels[0].Y.title() != "sync latency (ms)" {
		t.Errorf("%s: %s, want %s", f.Panels[0].Y.title(), got, want)
	}
	for i, want := range []float64{0.091, 0.340} {
		if got := f.Panels[0].Series[2*i].Points[0]; got.X != 0.5 || math.Abs(got.Y-want) > 1e-12 {
			t.Errorf("%s: the first point is %v, want %g", f.Panels[0].Series[2*i].Label, got, want)
		}
	}
	if b := f.Panels[1].Series[0].Bars[4]; b.Value != 657 || b.Label != "657" {
		t.Errorf("got %v, want 657 syncs", b)
	}

	f = figure(t, busy(), SyncLatency)
	if y := f.Panels[0].Y; !y.Log || labels(y.Ticks) != "0.1 1 10 100 1,000" {
		t.Errorf("logarithmic %t, %s", y.Log, labels(y.Ticks))
	}
	f = figure(t, noisy(), SyncLatency)
	if y := f.Panels[0].Y; !y.Log || labels(y.Ticks) != "0.05 0.1 0.2 0.5 1 2" {
		t.Errorf("logarithmic %t, %s", y.Log, labels(y.Ticks))
	}

	// What is not above 0 is left out, and so are bins beyond the most.
	r := traced()
	r.IO.LatencyBySize[1].P50, r.IO.LatencyBySize[2].P99 = 0, math.NaN()
	f = figure(t, r, SyncLatency)
	has(t, "subtitle", f.Subtitle[2], "Left out: 2 ranges")
	if got := labels(f.X.Ticks); got != "1 4 5–8" {
		t.Errorf("got %s, want three sizes", got)
	}
	for i := range int64(100) {
		r.IO.LatencyBySize = append(r.IO.LatencyBySize, analysis.SizeLatency{From: 9 + i, To: 9 + i, Syncs: 1, P50: 1, P99: 1})
	}
	f = figure(t, r, SyncLatency)
	has(t, "subtitle", f.Subtitle[2], "Left out: 73 ranges")
	if n := len(f.Panels[1].Series[0].Bars); n != mostLatencyBins {
		t.Errorf("%d bins are drawn, want %d", n, mostLatencyBins)
	}

	for want, change := range map[string]func(r *analysis.Result){
		"no trace of syncs":              func(r *analysis.Result) { r.IO = nil },
		"counts no syncs (source bpf)":   func(r *analysis.Result) { r.IO.LatencyBySize, r.IO.Syncs = nil, nil },
		"how long binlog syncs took":     func(r *analysis.Result) { r.IO.LatencyBySize = nil; delete(r.IO.Syncs, "binlog") },
		"the binlog syncs of each group": func(r *analysis.Result) { r.IO.LatencyBySize = nil },
		"none of 5 ranges":               func(r *analysis.Result) { clear(r.IO.LatencyBySize) },
	} {
		r := traced()
		change(r)
		f, why := syncLatency(r)
		if f != nil || !strings.Contains(why, want) {
			t.Errorf("got %v and %q, want %q in it", f, why, want)
		}
	}
}

func TestDecades(t *testing.T) {
	for least := 1e-9; least < 1e9; least *= 3.7 {
		for factor := 15.0; factor < 1e12; factor *= 6.1 {
			a := decades(least, least*factor)
			n := len(strings.Fields(labels(a.Ticks)))
			if !(a.Min > 0 && a.Min < least && a.Max > least*factor) || n < 1 || n > 13 {
				t.Errorf("from %g to %g: from %g to %g with %d labels", least, least*factor, a.Min, a.Max, n)
			}
		}
	}
}

// No numbers of a trace, however odd, break a figure.
func TestSyncsHostile(t *testing.T) {
	t.Parallel()
	nan, inf := math.NaN(), math.Inf(1)
	odd := strings.Repeat("very-long-\x1b[2J", 40)
	times := []analysis.Time{{}, at("1970-01-01T00:00:00Z"), at("2026-11-30T14:32:12.65Z"), at("2026-11-30T14:32:12.65Z"), at("9999-12-31T23:59:59Z")}
	counts := []int64{math.MinInt64, -1, 0, 1, math.MaxInt64}
	for i, v := range []float64{nan, inf, -inf, 0, -1, 1, 0.1, 1e-6, 5e-324, 1e300, 1e9} {
		for j, n := range counts {
			r := traced()
			r.IO.Source, r.IO.Detail, r.IO.Lost = odd, odd, n
			r.IO.DeviceFlushes = []analysis.DeviceFlushes{{Device: odd, Count: n}}
			r.IO.Syncs = map[string]analysis.Syncs{
				odd: {Count: n, Exactness: odd}, "binlog": {Count: n, Latency: &analysis.SyncLatency{P50: &v, P99: &v, Mean: &v}},
			}
			r.IO.Rates.BucketSeconds = v
			use := analysis.CPUUse{User: v, System: -v, IOWait: v, Steal: 2, ServerUser: &v, ServerSystem: new(1.0)}
			r.IO.CPU.CPUs, r.IO.CPU.CPUUse = int(n), use
			for _, at := range times {
				r.IO.CPU.Series = append(r.IO.CPU.Series, analysis.CPUBucket{Start: at, CPUUse: use})
				use.System = 1
			}
			if i%2 == 0 {
				r.IO.CPU.BucketSeconds = v
			}
			for i, at := range times {
				r.IO.Rates.Series = append(r.IO.Rates.Series, analysis.SyncBucket{Start: at, Syncs: map[string]int64{odd: counts[i], "binlog": n, "": n}, DeviceFlushes: &n})
			}
			r.IO.LatencyBySize = append(r.IO.LatencyBySize, analysis.SizeLatency{From: n, To: math.MaxInt64, Syncs: math.MaxInt64, P50: v, P99: v}, analysis.SizeLatency{From: 1, To: n, Syncs: n, P50: 1e-9, P99: v})
			for _, s := range []*analysis.SavedSync{r.Saved.Binlog, r.Saved.Redo} {
				s.Grouped, s.GroupedLow, s.GroupedHigh, s.SavedByGrouping, s.Share, s.ShareMax = &n, -n, n, &n, &v, v
				s.FromLog = &analysis.FromLog{Low: n, High: math.MaxInt64, Basis: analysis.Estimated, Method: analysis.CommitTimestamps}
			}
			r.Saved.Assumes = analysis.Assumes{SyncBinlog: n, FlushLogAtTrxCommit: &n, From: odd}
			for _, syncs := range []map[string]analysis.Syncs{r.IO.Syncs, nil} {
				r.IO.Syncs = syncs
				if syncs == nil {
					for i := range r.IO.Rates.Series {
						r.IO.Rates.Series[i].Syncs = nil
					}
					r.Saved.Binlog.Grouped = nil
				}
				tryAll(t, fmt.Sprintf("%g and %d", v, n), r, (i+j)%5 == 0) // to draw takes long
			}
		}
	}
}

func tryAll(t *testing.T, name string, r *analysis.Result, draw bool) {
	t.Helper()
	figures, _ := Figures(r)
	for _, f := range figures {
		if f.Name == GroupSize || f.Name == Parents {
			continue
		}
		if _, err := json.Marshal(f); err != nil {
			t.Errorf("%s: %s: %v", name, f.Name, err)
		}
		if err := f.check(); err != nil {
			t.Errorf("%s: %s: %v", name, f.Name, err)
		}
		if s := strings.Join(append(f.Subtitle, f.Title, f.Alt, f.Reading), " "); strings.Contains(s, "NaN") || strings.Contains(s, "Inf") || strings.Contains(s, "\x1b") {
			t.Errorf("%s: %s says %.300q", name, f.Name, s)
		}
		if !draw {
			continue
		}
		if _, err := f.layout(usualWidth).png(36, themes[Light]); err != nil {
			t.Errorf("%s: %s: %v", name, f.Name, err)
		}
	}
}
