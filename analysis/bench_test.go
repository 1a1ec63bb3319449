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
// alternating runs. BGCSTAT_BENCH_BYTES is the size of the log, 1 GiB if unset.
func BenchmarkRatios(b *testing.B) {
	size := int64(1 << 30)
	if s := os.Getenv("BGCSTAT_BENCH_BYTES"); s != "" {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		size = n
	}
	path := filepath.Join(b.TempDir(), "binlog.000001")
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
	reading := func(add func(*parser.Txn)) []*parser.Log {
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
	only := func() { reading(func(*parser.Txn) {}) }
	all := func() {
		a := analysis.New(analysis.Filter{}, analysis.Settings{})
		a.Result(reading(a.Add))
	}
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
