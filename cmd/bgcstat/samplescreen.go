package main

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"bgcstat/parser/iosample"
	"bgcstat/report"
)

// sampleScreen prints what was counted, a line at a time, like iostat.
type sampleScreen struct {
	syncCounts
	w       *bufio.Writer
	sampler *iosample.Sampler
	growth  growth

	lines        int
	transactions int64
	joined       int64 // binlog syncs while transactions were counted
	known        bool  // transactions were ever counted
}

// syncCounts adds up what samples have: over all, and since a line was printed.
type syncCounts struct {
	source string
	counts bool // the source counts syncs

	began, at  int64 // CLOCK_MONOTONIC of the first sample and the last
	lineAt     int64 // and of the last one before the last line
	time       time.Time
	syncs      map[iosample.Class]int64 // since the last line
	total      map[iosample.Class]int64
	last       map[fileID]int64
	lost       int64
	flushes    *int64 // as the last sample had them
	flushed    int64  // since the last line
	allFlushes int64
	latency    []int64 // of binlog syncs, since the last line
	means      map[iosample.Class]int64
	final      []iosample.Latency
	gap        string
}

type fileID struct {
	class iosample.Class
	name  string
	ino   uint64
}

func newSyncCounts(h *iosample.Header) syncCounts {
	return syncCounts{
		source: h.Source, counts: h.Exactness != iosample.DeviceWide,
		syncs: map[iosample.Class]int64{}, total: map[iosample.Class]int64{}, last: map[fileID]int64{},
		means: map[iosample.Class]int64{},
	}
}

func newSampleScreen(w io.Writer, s *iosample.Sampler) *sampleScreen {
	return &sampleScreen{syncCounts: newSyncCounts(s.Header()), w: bufio.NewWriter(w), sampler: s}
}

// add takes a sample.
func (s *sampleScreen) add(v *iosample.Interval) {
	if s.at == 0 {
		s.growth.take(s.sampler)
	}
	s.growth.follow(s.sampler)
	s.syncCounts.add(v)
}

// add takes a sample. What the first has counted is of before it.
func (s *syncCounts) add(v *iosample.Interval) {
	p := v.Sample
	first := s.at == 0
	if first {
		s.began, s.lineAt = p.Mono, p.Mono
	}
	s.at, s.time = p.Mono, p.Time
	for i := range p.Files {
		f := &p.Files[i]
		id := fileID{f.Class, f.Name, f.Ino}
		grown := f.Syncs - s.last[id]
		if first {
			grown = 0
		}
		s.syncs[f.Class] += grown
		s.total[f.Class] += grown
		s.last[id] = f.Syncs
		if f.MeanLatency > 0 {
			s.means[f.Class] = f.MeanLatency
		}
	}
	if p.DeviceFlushes != nil {
		if s.flushes != nil {
			grown := max(0, *p.DeviceFlushes-*s.flushes)
			s.flushed += grown
			s.allFlushes += grown
		}
		s.flushes = p.DeviceFlushes
	}
	for i := range v.Syncs {
		if e := &v.Syncs[i]; e.Class == iosample.Binlog && e.Latency > 0 {
			s.latency = append(s.latency, e.Latency)
		}
	}
	s.final = p.Latency
	s.lost = p.Lost
	s.gap = cmp.Or(s.gap, p.Gap)
}

// seconds is the time that was sampled since the last line, 0 for none.
func (s *syncCounts) seconds() float64 { return float64(s.at-s.lineAt) / 1e9 }

// class is the rate of some classes' syncs since the last line, for a person.
func (s *syncCounts) class(classes ...iosample.Class) string {
	n, seen := int64(0), false
	for _, c := range classes {
		_, counted := s.total[c]
		n, seen = n+s.syncs[c], seen || counted
	}
	// The kernel sees every file, the server only some classes.
	if !s.counts || !seen && s.source == "status" || s.at == s.lineAt {
		return "-"
	}
	return rate(n, s.seconds())
}

// latencies are the median and the 99th percentile of the binlog's syncs since
// the last line, for a person.
func (s *syncCounts) latencies() (p50, p99 string) {
	if len(s.latency) == 0 {
		return "-", "-"
	}
	slices.Sort(s.latency)
	return millis(nearest(s.latency, 0.5)), millis(nearest(s.latency, 0.99))
}

// newLine begins to count for the next line.
func (s *syncCounts) newLine() {
	clear(s.syncs)
	s.flushed, s.latency, s.gap = 0, s.latency[:0], ""
	s.lineAt = s.at
}

// take gives what was counted until now, and begins to count for the next line.
func (s *syncCounts) take() *syncCounts {
	c := *s
	c.syncs, c.total, c.latency = maps.Clone(s.syncs), maps.Clone(s.total), slices.Clone(s.latency)
	s.newLine()
	return &c
}

// header stands above the lines, which are 79 columns wide. A sync's time is
// that of the binlog's.
const header = `         transactions  -------- syncs per second --------  device sync time, ms
time         /s  /sync binlog   redo  dblwr   data  other flush/s    p50    p99
`

// linesPerHeader is how many lines stand below one header: a screen full.
const linesPerHeader = 22

// due reports whether a line is due, of one each interval, by a sample that
// comes less than half a sample early.
func (s *sampleScreen) due(interval, sampleInterval time.Duration) bool {
	passed := time.Duration(s.at-s.began) + sampleInterval/2
	return s.at != s.lineAt && passed/interval > (time.Duration(s.lineAt-s.began)+sampleInterval/2)/interval
}

// join adds what was written to the binlog since it was last called to the
// sums. known is false where that is not known.
func (s *sampleScreen) join() (transactions int64, known bool) {
	transactions, known = s.growth.take(s.sampler)
	if known {
		s.transactions += transactions
		s.joined += s.syncs[iosample.Binlog]
		s.known = true
	}
	return transactions, known
}

// line prints what was counted since the line before.
func (s *sampleScreen) line() error {
	seconds := s.seconds()
	if s.lines%linesPerHeader == 0 {
		_, _ = s.w.WriteString(header)
	}
	s.lines++
	trx, perSync := "-", "-"
	if n, known := s.join(); known {
		trx = rate(n, seconds)
		if binlog := s.syncs[iosample.Binlog]; s.counts && binlog > 0 {
			perSync = digits(float64(n)/float64(binlog), 2)
		}
	}
	flushes := "-"
	if s.flushes != nil {
		flushes = rate(s.flushed, seconds)
	}
	p50, p99 := s.latencies()
	now := s.time.Local().Format(time.TimeOnly)
	fmt.Fprintf(s.w, "%s %6s %6s %6s %6s %6s %6s %6s %7s %6s %6s\n", now, trx, perSync,
		s.class(iosample.Binlog), s.class(iosample.Redo), s.class(iosample.Doublewrite), s.class(iosample.Data, iosample.Undo),
		s.class(iosample.Relay, iosample.Other, iosample.Unattributed), flushes, p50, p99)
	if s.gap != "" {
		fmt.Fprintf(s.w, "%s %s\n", now, report.Printable(s.gap))
	}
	s.newLine()
	return s.w.Flush()
}

// nearest is the percentile of sorted values by nearest rank.
func nearest(sorted []int64, p float64) int64 {
	rank := int(p*float64(len(sorted)) + 0.999999)
	return sorted[min(max(rank, 1), len(sorted))-1]
}

func rate(n int64, seconds float64) string {
	r := float64(n) / seconds
	if r < 100 {
		return digits(r, 1)
	}
	return digits(r, 0)
}

func millis(ns int64) string { return digits(float64(ns)/1e6, 3) }

// digits writes a number with so many decimals, or as many of them as six
// characters leave room for.
func digits(f float64, decimals int) string {
	for ; decimals > 0; decimals-- {
		if s := strconv.FormatFloat(f, 'f', decimals, 64); len(s) <= 6 {
			return s
		}
	}
	return strconv.FormatFloat(f, 'f', 0, 64)
}

// close prints the sums over the whole time.
func (s *sampleScreen) close() {
	defer s.growth.tail.Close()
	seconds := float64(s.at-s.began) / 1e9
	if seconds <= 0 {
		return
	}
	s.join()
	h := s.sampler.Header()
	fmt.Fprintf(s.w, "\n%s by %s (%s)\n", report.Duration(seconds), h.Source, words(h.Exactness))
	if s.known {
		printSum(s.w, seconds, "transactions", s.transactions, "", "")
	}
	s.sums(s.w, h)
	if s.joined > 0 {
		fmt.Fprintf(s.w, "%.2f transactions a binlog sync\n", float64(s.transactions)/float64(s.joined))
	}
	if s.lost > 0 {
		fmt.Fprintf(s.w, "%s syncs were lost, as they came faster than they were read\n", report.Count(s.lost))
	}
	_ = s.w.Flush() // whoever reads no more wants no sums
}

// sums prints what was counted over the whole time.
func (s *syncCounts) sums(w io.Writer, h *iosample.Header) {
	seconds := float64(s.at-s.began) / 1e9
	if seconds <= 0 {
		return
	}
	for _, c := range iosample.Classes {
		n, ok := s.total[c]
		if !ok || !s.counts {
			continue
		}
		latency := ""
		if i := slices.IndexFunc(s.final, func(l iosample.Latency) bool { return l.Class == c }); i >= 0 {
			latency = fmt.Sprintf("p50 %s ms, p99 %s ms", millis(s.final[i].P50), millis(s.final[i].P99))
		} else if mean := s.means[c]; mean > 0 && n > 0 {
			latency = fmt.Sprintf("mean %s ms", millis(mean))
		}
		printSum(w, seconds, string(c), n, "syncs", latency)
	}
	if s.flushes != nil {
		printSum(w, seconds, report.Printable(h.Device), s.allFlushes, "flushes", "whole disk, not syncs")
	}
}

func printSum(w io.Writer, seconds float64, name string, n int64, what, more string) {
	line := fmt.Sprintf("%-12s %11s %-7s %7s/s   %s", name, report.Count(n), what, rate(n, seconds), more)
	fmt.Fprintln(w, strings.TrimRight(line, " "))
}

// words writes an exactness for people.
func words(e iosample.Exactness) string { return strings.ReplaceAll(string(e), "_", " ") }
