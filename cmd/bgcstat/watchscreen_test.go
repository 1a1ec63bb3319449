package main

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"bgcstat/analysis"
	"bgcstat/parser/iosample"
	"bgcstat/parser/stream"
)

// TestWatchText holds the lines to 79 columns, below their heading.
func TestWatchText(t *testing.T) {
	for line := range strings.Lines(watchHeader) {
		if len(line) != 80 { // with its end
			t.Errorf("the heading has %d columns: %s", len(line)-1, line)
		}
	}
	at := time.Date(2026, 11, 30, 20, 15, 28, 0, time.Local)
	groups := func(basis analysis.Basis, sizes ...analysis.HistogramBin) *analysis.LiveGroups {
		return &analysis.LiveGroups{Basis: basis, Method: analysis.CommitTimestamps, Sizes: sizes}
	}
	lag, long := 0.0123, 99999.5
	for _, test := range []struct {
		live   analysis.Live
		counts *syncCounts
		lag    *float64
		want   string
	}{
		{analysis.Live{}, nil, nil, "20:15:28    0.0       -       -     -      -      -      -      -      -      -"},
		{
			analysis.Live{Transactions: 5432, Sync: groups(analysis.Estimated, analysis.HistogramBin{Size: 1, Groups: 100}, analysis.HistogramBin{Size: 12, Groups: 444})},
			nil, &lag,
			"20:15:28   5432    ~544   ~9.98   ~12   ~1.8      -      -      -      -  0.012",
		},
		{
			analysis.Live{Transactions: 999_999, Sync: groups(analysis.Estimated, analysis.HistogramBin{Size: 1000, Groups: 1000})},
			&syncCounts{
				at: 2e9, lineAt: 1e9,
				counts: true, source: "bpf", latency: []int64{math.MaxInt32 * 50},
				syncs: map[iosample.Class]int64{iosample.Binlog: 999_999, iosample.Redo: 999_999, iosample.Data: 999_999},
				total: map[iosample.Class]int64{iosample.Binlog: 1, iosample.Redo: 1, iosample.Data: 1},
			}, &long,
			"20:15:28 999999   ~1000 ~1000.0 ~1000   ~0.0 999999 999999 999999 107374 100000",
		},
		{ // no sample has come
			analysis.Live{Transactions: 10},
			&syncCounts{at: 1e9, lineAt: 1e9, counts: true, source: "bpf", total: map[iosample.Class]int64{iosample.Binlog: 1}}, &lag,
			"20:15:28   10.0       -       -     -      -      -      -      -      -  0.012",
		},
	} {
		var out bytes.Buffer
		w := newWatchText(&out)
		w.begin(&watchState{time: at.Add(-time.Second)})
		if err := w.line(&watchState{time: at, live: test.live, counts: test.counts, lag: test.lag}); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
		if got := lines[len(lines)-1]; got != test.want || len(got) != 79 {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
	}
}

// TestNewGroups has an estimate that finds other groups in what it had before.
func TestNewGroups(t *testing.T) {
	groups := func(ones, fours int64) *analysis.LiveGroups {
		return &analysis.LiveGroups{
			Basis: analysis.Estimated, Method: analysis.CommitTimestamps,
			Sizes: []analysis.HistogramBin{{Size: 1, Groups: ones}, {Size: 4, Groups: fours}},
		}
	}
	for _, test := range []struct {
		a, b *analysis.LiveGroups
		want *lineGroups // nil for not known
	}{
		{nil, groups(10, 10), &lineGroups{count: 20, transactions: 50, max: 4, alone: 10}},
		{groups(1000, 100), groups(1100, 200), &lineGroups{count: 200, transactions: 500, max: 4, alone: 100}},
		{groups(1000, 100), groups(960, 200), &lineGroups{count: 100, transactions: 400, max: 4}}, // 40 of the ones were in fours
		{groups(10, 100), groups(6, 102), &lineGroups{count: 2, transactions: 8, max: 4}},         // few
		{groups(4000, 100), groups(100, 1200), nil},                                               // 3,900, where 500 came
		{groups(100, 1200), groups(4100, 325), nil},                                               // and back
	} {
		if test.want != nil {
			test.want.basis, test.want.method = analysis.Estimated, analysis.CommitTimestamps
		}
		if got := newGroups(test.a, test.b); (got == nil) != (test.want == nil) || got != nil && *got != *test.want {
			t.Errorf("from %+v to %+v: got %+v, want %+v", test.a, test.b, got, test.want)
		}
	}
}

// slowScreen takes its time for the first line.
type slowScreen struct {
	watchScreen
	times []time.Time
}

func (s *slowScreen) line(state *watchState) error {
	if s.times = append(s.times, state.time); len(s.times) == 1 {
		time.Sleep(100 * time.Millisecond)
	}
	return nil
}

// TestSlowScreen has a terminal that stands still: what has come meanwhile has
// come in all of that time.
func TestSlowScreen(t *testing.T) {
	s := &slowScreen{}
	w := &watcher{o: &watchOptions{interval: 10 * time.Millisecond, count: 2}, stream: &stream.Stream{}, screen: s}
	w.feed = newFeed(w.stream, analysis.New(analysis.Filter{}, analysis.Settings{}), nil)
	if err := w.loop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := s.times[1].Sub(s.times[0]); d < 100*time.Millisecond {
		t.Errorf("the second line is of %v", d)
	}
}

// TestWatchJSONSyncs has a class that was not synced since the line before, and a
// gap.
func TestWatchJSONSyncs(t *testing.T) {
	c := newSyncCounts(&iosample.Header{Source: "status", Exactness: iosample.Estimate})
	mono := int64(0)
	sample := func(syncs int64, gap string) {
		mono += 1e9
		c.add(&iosample.Interval{Sample: &iosample.Sample{Mono: mono, Gap: gap, Files: []iosample.Count{{Class: iosample.Binlog, Syncs: syncs}}}})
	}
	var out bytes.Buffer
	w := newWatchJSON(&out)
	w.begin(&watchState{})
	sample(5, "")
	for _, gap := range []string{"", "no answer"} {
		sample(7, gap)
		if err := w.line(&watchState{counts: &c, header: &iosample.Header{Source: "status", Exactness: iosample.Estimate}}); err != nil {
			t.Fatal(err)
		}
		c.newLine()
	}
	lines := strings.Split(out.String(), "\n")
	if !strings.Contains(lines[0], `"syncs":{"binlog":2}`) || strings.Contains(lines[0], "sync_gap") {
		t.Errorf("first line is %s", lines[0])
	}
	if !strings.Contains(lines[1], `"syncs":{"binlog":0}`) || !strings.Contains(lines[1], `"sync_gap":"no answer"`) {
		t.Errorf("second line is %s", lines[1])
	}
}
