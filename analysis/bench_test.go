package analysis_test

import (
	"errors"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
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
	path := benchLog(b)
	bare := func() {
		file, err := os.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		defer file.Close()
		buf := make([]byte, 256<<10)
		for sum := uint32(0); ; {
			n, err := file.Read(buf)
			sum = crc32.Update(sum, crc32.IEEETable, buf[:n])
			if errors.Is(err, io.EOF) {
				return
			} else if err != nil {
				b.Fatal(err)
			}
		}
	}
	only := func() { reading(b, path, func(*parser.Txn) {}) }
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
	path := benchLog(b)
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(info.Size())
	for b.Loop() {
		analyzing(b, path)
	}
}

// benchLog writes a log of BGCSTAT_BENCH_BYTES, 1 GiB if unset, that is removed
// with the benchmark's end.
func benchLog(b *testing.B) (path string) {
	b.Helper()
	size := int64(1 << 30)
	if s := os.Getenv("BGCSTAT_BENCH_BYTES"); s != "" {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		size = n
	}
	path = filepath.Join(b.TempDir(), "binlog.000001")
	file, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := binlogtest.WriteLog(file, size); err != nil {
		b.Fatal(err)
	}
	if err := file.Close(); err != nil {
		b.Fatal(err)
	}
	return path
}

func reading(b *testing.B, path string, add func(*parser.Txn)) []*parser.Log {
	b.Helper()
	inputs, err := parser.Find([]string{path}, nil)
	if err != nil {
		b.Fatal(err)
	}
	files := parser.NewFiles(inputs, parser.Options{})
	defer files.Close()
	for t, err := range files.All() {
		if err != nil {
			b.Fatal(err)
		}
		add(t)
	}
	return files.Logs()
}

func analyzing(b *testing.B, path string) {
	b.Helper()
	a := analysis.New(analysis.Filter{}, analysis.Settings{})
	a.Result(reading(b, path, a.Add))
}
