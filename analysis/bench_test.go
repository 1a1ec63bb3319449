package analysis_test

import (
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"bgcstat/analysis"
	"bgcstat/parser"
	"bgcstat/parser/binlogtest"
)

// BenchmarkRatios compares reading a log with reading and analyzing it, and
// both with the bare read and checksum that nothing can do without, medians of
// alternating runs.
func BenchmarkRatios(b *testing.B) {
	path := binlogtest.BenchLog(b, binlogtest.BenchSize(b))
	bare := func() { binlogtest.ReadBare(b, path) }
	only := func() { read(b, path, func(*parser.Txn) {}) }
	all := func() { analyzing(b, path) }
	oneCore := func(f func()) func() {
		return func() {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
			f()
		}
	}
	candidates := []func(){bare, only, all, oneCore(only), oneCore(all)}
	times := make([][]time.Duration, len(candidates))
	for b.Loop() {
		for range 7 {
			for i, f := range candidates {
				start := time.Now()
				f()
				times[i] = append(times[i], time.Since(start))
			}
		}
	}
	median := func(i int) float64 {
		slices.Sort(times[i])
		return times[i][len(times[i])/2].Seconds()
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(0)/median(1), "read/bare")
	b.ReportMetric(median(0)/median(2), "analyze/bare")
	b.ReportMetric(median(1)/median(2), "analyze/read")
	b.ReportMetric(median(0)/median(3), "one-core-read/bare")
	b.ReportMetric(median(0)/median(4), "one-core-analyze/bare")
	b.ReportMetric(median(3)/median(4), "one-core-analyze/read")
}

// BenchmarkAnalyze reads and analyzes a log. Its profile is what the program is
// built with, cmd/bgcstat/default.pgo.
func BenchmarkAnalyze(b *testing.B) {
	path := binlogtest.BenchLog(b, binlogtest.BenchSize(b))
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(info.Size())
	for b.Loop() {
		analyzing(b, path)
	}
}

func analyzing(b *testing.B, path string) {
	b.Helper()
	a := analysis.New(analysis.Filter{}, analysis.Settings{})
	a.Result(read(b, path, a.Add))
}
