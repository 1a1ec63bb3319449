package parser_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-mysql-org/go-mysql/replication"

	"bgcstat/parser"
	"bgcstat/parser/binlogtest"
)

func readReader(tb testing.TB, path string) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	file, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	for _, err := range parser.NewReader(file, path, parser.Options{}).All() {
		if err != nil {
			tb.Fatal(err)
		}
	}
}

func readFiles(tb testing.TB, path string) {
	inputs, err := parser.Find([]string{path}, nil)
	if err != nil {
		tb.Fatal(err)
	}
	files := parser.NewFiles(inputs, parser.Options{})
	defer files.Close()
	for _, err := range files.All() {
		if err != nil {
			tb.Fatal(err)
		}
	}
}

func readParseFile(tb testing.TB, path string) {
	p := replication.NewBinlogParser()
	p.SetVerifyChecksum(true)
	if err := p.ParseFile(path, 4, func(*replication.BinlogEvent) error { return nil }); err != nil {
		tb.Fatal(err)
	}
}

// readGrep is the recipe that people use: mysqlbinlog FILE | grep -c last_committed.
func readGrep(tb testing.TB, command []string, path string) {
	file, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	text := exec.Command(command[0], append(command[1:], "-")...)
	text.Stdin = file
	grep := exec.Command("grep", "-c", "last_committed")
	if grep.Stdin, err = text.StdoutPipe(); err != nil {
		tb.Fatal(err)
	}
	var count bytes.Buffer
	grep.Stdout = &count
	if err := errors.Join(grep.Start(), text.Run(), grep.Wait()); err != nil {
		tb.Fatal(err)
	}
	if n, _ := strconv.Atoi(strings.TrimSpace(count.String())); n == 0 {
		tb.Fatal("mysqlbinlog gave no transaction")
	}
}

// BenchmarkRatios compares reading a log with the least that it could cost and
// with what else people use. The runs of the candidates alternate, and each
// gives its median, so that a busy machine disturbs all alike. As a ratio to
// the bare read, higher is better and 1 is the most.
//
// The log has binlogtest.BenchSize bytes; BGCSTAT_MYSQLBINLOG is the command
// for mysqlbinlog. The slow candidates read 64 MiB, and their times are scaled.
func BenchmarkRatios(b *testing.B) {
	size := binlogtest.BenchSize(b)
	const partSize = 64 << 20
	whole := binlogtest.BenchLog(b, size)
	part, scale := whole, 1.0
	if size > partSize {
		part, scale = binlogtest.BenchLog(b, partSize), float64(size)/partSize
	}
	command := strings.Fields(os.Getenv("BGCSTAT_MYSQLBINLOG"))
	if len(command) == 0 {
		command = []string{"mysqlbinlog"}
	}
	_, noCommand := exec.LookPath(command[0])

	times := make(map[string][]float64)
	measure := func(name string, scale float64, f func()) {
		start := time.Now()
		f()
		times[name] = append(times[name], time.Since(start).Seconds()*scale)
	}
	const rounds = 3
	for range rounds {
		measure("bare", 1, func() { binlogtest.ReadBare(b, whole) })
		measure("one", 1, func() { readReader(b, whole) })
		measure("all", 1, func() { readFiles(b, whole) })
		measure("parsefile", scale, func() { readParseFile(b, part) })
		if noCommand == nil {
			measure("grep", scale, func() { readGrep(b, command, part) })
		}
	}
	median := func(name string) float64 {
		slices.Sort(times[name])
		return times[name][rounds/2]
	}
	b.ReportMetric(median("bare")/median("one"), "one-core/bare")
	b.ReportMetric(median("bare")/median("all"), "all-cores/bare")
	b.ReportMetric(median("parsefile")/median("all"), "x-ParseFile")
	if noCommand == nil {
		b.ReportMetric(median("grep")/median("all"), "x-mysqlbinlog-grep")
	}
	b.ReportMetric(float64(size)/1e9/median("one"), "one-core-GB/s")
	b.ReportMetric(float64(size)/1e9/median("all"), "all-cores-GB/s")
	b.ReportMetric(peakMemory(b, whole), "peak-MiB")
	b.ReportMetric(0, "ns/op")
}

// childLog names the variable that makes the test program the child of peakMemory.
const childLog = "BGCSTAT_TEST_CHILD_LOG"

func TestMain(m *testing.M) {
	if path := os.Getenv(childLog); path != "" {
		if err := readAlone(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	m.Run()
}

// peakMemory is the largest memory of a process that reads a log and does
// nothing else, as the kernel has it (VmHWM in /proc/PID/status, of Linux).
func peakMemory(tb testing.TB, path string) (mib float64) {
	tb.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childLog+"="+path)
	out, err := child.CombinedOutput()
	if err != nil {
		tb.Fatalf("child: %v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		var kib float64
		if _, err := fmt.Sscanf(line, "VmHWM: %f kB", &kib); err == nil {
			return kib / 1024
		}
	}
	tb.Fatalf("no VmHWM in\n%s", out)
	return 0
}

// readAlone reads a log and prints the status of its own process.
func readAlone(path string) error {
	inputs, err := parser.Find([]string{path}, nil)
	if err != nil {
		return err
	}
	files := parser.NewFiles(inputs, parser.Options{})
	defer files.Close()
	for _, err := range files.All() {
		if err != nil {
			return err
		}
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(status)
	return err
}

func BenchmarkReader(b *testing.B) {
	const size = 64 << 20
	path := binlogtest.BenchLog(b, size)
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		readReader(b, path)
	}
}

func BenchmarkFiles(b *testing.B) {
	const size = 64 << 20
	path := binlogtest.BenchLog(b, size)
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		readFiles(b, path)
	}
}
