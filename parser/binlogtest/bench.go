package binlogtest

import (
	"errors"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// BenchSize is how large a log benchmarks read, in bytes: BGCSTAT_BENCH_BYTES,
// 1 GiB if unset.
func BenchSize(tb testing.TB) int64 {
	tb.Helper()
	s := os.Getenv("BGCSTAT_BENCH_BYTES")
	if s == "" {
		return 1 << 30
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		tb.Fatal(err)
	}
	return n
}

// BenchLog writes a log of at least size bytes, which is removed with the
// benchmark's end, and reads it once, so that it is in the page cache.
func BenchLog(tb testing.TB, size int64) (path string) {
	tb.Helper()
	path = filepath.Join(tb.TempDir(), "binlog.000001")
	file, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := WriteLog(file, size); err != nil {
		tb.Fatal(err)
	}
	if err := file.Close(); err != nil {
		tb.Fatal(err)
	}
	ReadBare(tb, path)
	return path
}

// ReadBare does what no reader can do without: it reads a file and sums it up
// with one CRC32.
func ReadBare(tb testing.TB, path string) {
	tb.Helper()
	file, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	buf := make([]byte, 256<<10)
	for sum := uint32(0); ; {
		n, err := file.Read(buf)
		sum = crc32.Update(sum, crc32.IEEETable, buf[:n])
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
}
