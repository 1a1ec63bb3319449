package main

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"bgcstat/parser/iosample"
	"bgcstat/report"
)

// sampleScreen prints what was counted, a line at a time, like iostat.
type sampleScreen struct {
	w       *bufio.Writer
	sampler *iosample.Sampler
	counts  bool // the source counts syncs
	growth  growth

	began, at, lineAt int64 // CLOCK_MONOTONIC: of the first sample, the last, and that of the last line
	time              time.Time
	syncs             map[iosample.Class]int64 // since the last line
	total             map[iosample.Class]int64
	last              map[fileID]int64
	lost              int64
	flushes           *int64 // as the last sample had them
	flushed           int64  // since the last line
	latency           []int64
	means             map[iosample.Class]int64
	final             []iosample.Latency
	gap               string
	lines             int
	transactions      int64
	joined            int64 // binlog syncs while transactions were counted
}

type fileID struct {
	class iosample.Class
	name  string
	ino   uint64
}

func newSampleScreen(w io.Writer, s *iosample.Sampler) *sampleScreen {
	return &sampleScreen{
		w: bufio.NewWriter(w), sampler: s, counts: s.Header().Exactness != iosample.DeviceWide,
		syncs: map[iosample.Class]int64{}, total: map[iosample.Class]int64{}, last: map[fileID]int64{},
		means: map[iosample.Class]int64{},
	}
}

// add takes a sample.
func (s *sampleScreen) add(v *iosample.Interval) {
	p := v.Sample
	first := s.at == 0
	if first {
		s.began, s.lineAt = p.Mono, p.Mono
		s.growth.read(s.sampler)
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
			s.flushed += max(0, *p.DeviceFlushes-*s.flushes)
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

const header = "time        trx/s trx/sync binlog/s   redo/s  dblwr/s   data/s  other/s  flush/s   p50 ms   p99 ms"

// line prints what was counted since the line before.
func (s *sampleScreen) line() error {
	seconds := float64(s.at-s.lineAt) / 1e9
	if seconds <= 0 {
		return nil
	}
	if s.lines%25 == 0 {
		fmt.Fprintln(s.w, header)
	}
	s.lines++
	grown, known := s.growth.read(s.sampler)
	binlog := s.syncs[iosample.Binlog]
	trx, perSync := "-", "-"
	if known {
		trx = rate(grown.Transactions, seconds)
		if s.counts && binlog > 0 {
			perSync = strconv.FormatFloat(float64(grown.Transactions)/float64(binlog), 'f', 2, 64)
			s.transactions += grown.Transactions
			s.joined += binlog
		}
	}
	class := func(classes ...iosample.Class) string {
		n, seen := int64(0), false
		for _, c := range classes {
			_, counted := s.total[c]
			n, seen = n+s.syncs[c], seen || counted
		}
		// The kernel sees every file, the server only some classes.
		if !s.counts || !seen && s.sampler.Header().Source == "status" {
			return "-"
		}
		return rate(n, seconds)
	}
	flushes := "-"
	if s.flushes != nil {
		flushes = rate(s.flushed, seconds)
	}
	p50, p99 := "-", "-"
	if n := len(s.latency); n > 0 {
		slices.Sort(s.latency)
		p50, p99 = millis(nearest(s.latency, 0.5)), millis(nearest(s.latency, 0.99))
	}
	fmt.Fprintf(s.w, "%s %8s %8s %8s %8s %8s %8s %8s %8s %8s %8s\n", s.time.Local().Format(time.TimeOnly), trx, perSync,
		class(iosample.Binlog), class(iosample.Redo), class(iosample.Doublewrite), class(iosample.Data, iosample.Undo),
		class(iosample.Relay, iosample.Other, iosample.Unattributed), flushes, p50, p99)
	if s.gap != "" {
		fmt.Fprintf(s.w, "%s %s\n", s.time.Local().Format(time.TimeOnly), report.Printable(s.gap))
	}
	clear(s.syncs)
	s.flushed, s.latency, s.gap, s.lineAt = 0, s.latency[:0], "", s.at
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
		return strconv.FormatFloat(r, 'f', 1, 64)
	}
	return strconv.FormatFloat(r, 'f', 0, 64)
}

func millis(ns int64) string { return strconv.FormatFloat(float64(ns)/1e6, 'f', 3, 64) }

// close prints the sums over the whole time.
func (s *sampleScreen) close() {
	defer s.growth.tail.Close()
	seconds := float64(s.at-s.began) / 1e9
	if seconds <= 0 {
		return
	}
	h := s.sampler.Header()
	fmt.Fprintf(s.w, "\n%s by %s (%s)\n", report.Duration(seconds), h.Source, h.Exactness)
	for _, c := range iosample.Classes {
		n, ok := s.total[c]
		if !ok || !s.counts {
			continue
		}
		line := fmt.Sprintf("%-12s %11s syncs %9s/s", c, report.Count(n), rate(n, seconds))
		if i := slices.IndexFunc(s.final, func(l iosample.Latency) bool { return l.Class == c }); i >= 0 {
			line += fmt.Sprintf("   p50 %s ms, p99 %s ms", millis(s.final[i].P50), millis(s.final[i].P99))
		} else if mean := s.means[c]; mean > 0 {
			line += fmt.Sprintf("   mean %s ms", millis(mean))
		}
		fmt.Fprintln(s.w, strings.TrimRight(line, " "))
	}
	if s.joined > 0 {
		fmt.Fprintf(s.w, "%.2f transactions a binlog sync\n", float64(s.transactions)/float64(s.joined))
	}
	if s.lost > 0 {
		fmt.Fprintf(s.w, "%s syncs were lost, as they came faster than they were read\n", report.Count(s.lost))
	}
	_ = s.w.Flush() // whoever reads no more wants no sums
}
