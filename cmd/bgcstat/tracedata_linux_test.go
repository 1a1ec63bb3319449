package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"bgcstat/analysis"
	"bgcstat/parser/servertest"
)

var makeTraces = flag.Bool("make-traces", false, "make testdata/trace anew, on real servers under sysbench")

// The traces in testdata/trace were taken by bpf while their logs were written.
// What they give is held against a search through all syncs for each
// transaction.
func TestTraceData(t *testing.T) {
	for name, kind := range map[string]servertest.Kind{"mysql-9.7": servertest.MySQL97, "mariadb-11.8": servertest.MariaDB118} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join("../../testdata/trace", name)
			if *makeTraces {
				makeTrace(t, kind, dir)
			}
			logs, err := filepath.Glob(filepath.Join(dir, "*.zst"))
			if err != nil || len(logs) != 1 {
				t.Fatalf("logs %v, %v", logs, err)
			}
			trace := filepath.Join(dir, "trace.ndjson")
			sizes, flushes := readTrace(t, trace, strings.TrimSuffix(filepath.Base(logs[0]), ".zst"))

			durableBy := map[int][]int{} // ends of transactions, by the sync
			none := 0
			var got [][2]string // sync group and method
			var want []int
			for _, row := range dumped(t, "--trace", trace, logs[0]) {
				end, err := strconv.Atoi(row["end"])
				if err != nil {
					t.Fatal(err)
				}
				i := slices.IndexFunc(sizes, func(size int) bool { return size >= end })
				if i < 0 {
					none++
					continue
				}
				durableBy[i] = append(durableBy[i], end)
				got, want = append(got, [2]string{row["sync_group"], row["method"]}), append(want, i)
			}
			for i := 1; i < len(got); i++ {
				if (got[i][0] != got[i-1][0]) != (want[i] != want[i-1]) {
					t.Fatalf("transactions %d and %d: sync groups %v and %v, made durable by syncs %d and %d", i-1, i, got[i-1], got[i], want[i-1], want[i])
				}
			}
			r := analyzed(t, "--trace", trace, logs[0])
			if r.IO == nil || r.IO.BinlogSyncsDurable == nil {
				t.Fatalf("nothing was joined: %+v", r.Warnings)
			}
			if n := *r.IO.BinlogSyncsDurable; n != int64(len(durableBy)) {
				t.Errorf("%d syncs made transactions durable, want %d", n, len(durableBy))
			}
			if n := *r.IO.DurableByNoneYet; n != int64(none) {
				t.Errorf("%d transactions are durable by none, want %d", n, none)
			}
			if g := r.Groups.Sync; g.Basis != analysis.Exact || *g.Count != int64(len(durableBy)) {
				t.Errorf("%d sync groups, %s; want %d, exact", *g.Count, g.Basis, len(durableBy))
			}
			if n := r.IO.DeviceFlushes[0].Count; n != flushes {
				t.Errorf("%d flushes of the disk, want %d", n, flushes)
			}
			if b := r.Saved.Binlog; *b.Grouped != int64(len(durableBy)) || b.Alone != r.Transactions || b.Basis != analysis.Measured || r.Saved.Assumes.From != "server" {
				t.Errorf("saved %+v by %+v", b, r.Saved.Assumes)
			}
			for _, w := range r.Warnings {
				if w.Code == "trace-contradicts-log" || w.Code == "syncs-cover-groups" || w.Code == "syncs-unlike-commit-ids" {
					t.Errorf("%s: %s", w.Code, w.Message)
				}
			}
		})
	}
}

// readTrace gives the sizes of the log at its syncs, in their order, and how
// often the disk was flushed between the first sample and the last.
func readTrace(t *testing.T, path, log string) (sizes []int, flushes int64) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	first := int64(-1)
	for lines := bufio.NewScanner(bytes.NewReader(b)); lines.Scan(); {
		var line struct {
			Sync *struct {
				Name string `json:"name"`
				Size int    `json:"size"`
			} `json:"sync"`
			Flushes *int64 `json:"device_flushes"`
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		if line.Sync != nil && line.Sync.Name == log {
			sizes = append(sizes, line.Sync.Size)
		}
		if line.Flushes != nil {
			if first < 0 {
				first = *line.Flushes
			}
			flushes = *line.Flushes - first
		}
	}
	return sizes, flushes
}

// makeTrace has sysbench write a log of its own while it is traced.
func makeTrace(t *testing.T, kind servertest.Kind, dir string) {
	t.Helper()
	s := servertest.Start(t, kind, "--sync-binlog=1", "--innodb-flush-log-at-trx-commit=1", "--binlog-row-image=MINIMAL")
	s.Exec(t, "CREATE DATABASE sb; CREATE USER sb IDENTIFIED BY 'sb'; GRANT ALL ON sb.* TO sb; CREATE USER monitor IDENTIFIED BY 'm'")
	args := []string{"oltp_update_index", "--mysql-socket=" + s.Socket, "--mysql-user=sb", "--mysql-password=sb", "--mysql-db=sb", "--tables=4", "--table-size=5000"}
	sysbench := func(more ...string) {
		if out, err := exec.Command("sysbench", append(slices.Clone(args), more...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	sysbench("prepare")
	s.Exec(t, "FLUSH LOGS")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	done := make(chan int)
	var out bytes.Buffer
	go func() {
		done <- run([]string{
			"sample", "--no-defaults", "-S", s.Socket, "-u", "monitor", "-pm", "--pid", strconv.Itoa(s.PID), "--source", "bpf",
			"--duration", "1500ms", "--trace", filepath.Join(dir, "trace.ndjson"),
		}, strings.NewReader(""), &out, &out)
	}()
	time.Sleep(500 * time.Millisecond)
	sysbench("--threads=8", "--time=0", "--events=1200", "run")
	if status := <-done; status != statusDone {
		t.Fatalf("sample: status %d\n%s", status, &out)
	}
	// Where this server ran is nobody's business.
	trace := filepath.Join(dir, "trace.ndjson")
	text, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	root, below, _ := strings.Cut(filepath.Dir(s.DataDir), "/tmp/")
	plain := strings.NewReplacer(root+"/tmp/"+below, "/srv/mysql", "/tmp/"+below, "/srv/mysql", root+"/usr", "/usr")
	if err := os.WriteFile(trace, []byte(plain.Replace(string(text))), 0o644); err != nil {
		t.Fatal(err)
	}
	log := s.Binlogs(t)[1]
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	w, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression))
	if err != nil {
		t.Fatal(err)
	}
	for _, old := range []string{"binlog.000002.zst", "mariadb-bin.000002.zst"} {
		_ = os.Remove(filepath.Join(dir, old))
	}
	if err := os.WriteFile(filepath.Join(dir, filepath.Base(log)+".zst"), w.EncodeAll(b, nil), 0o644); err != nil {
		t.Fatal(err)
	}
}
