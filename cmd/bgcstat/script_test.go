package main

import (
	"flag"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"bgcstat/parser"
	"bgcstat/parser/binlogtest"
	"bgcstat/parser/iosample"
)

var update = flag.Bool("update", false, "accept what the commands print as right")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"bgcstat": main})
}

// need skips a test where something is absent, and fails it in CI.
func need(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// TestScripts runs the program as a person would. $DATA is testdata/binlog.
func TestScripts(t *testing.T) {
	data, err := filepath.Abs("../../testdata/binlog")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		Deadline:            time.Now().Add(5 * time.Minute), // a program that waits for a pipe waits for ever
		Setup: func(env *testscript.Env) error {
			env.Setenv("DATA", data)
			env.Setenv("TZ", "UTC")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"binlog": writeBinlog,
			"socket": listen,
			"status": exitStatus,
			"trace":  writeTrace,
		},
	})
}

// writeBinlog writes a log that a file has in the text form of binlogtest:
//
//	binlog log.txt binlog.000001
func writeBinlog(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: binlog text log")
	}
	log, err := binlogtest.Marshal(ts.ReadFile(args[0]))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), log, 0o644))
}

// listen makes a socket:
//
//	socket mysql.sock
func listen(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: socket path")
	}
	l, err := net.Listen("unix", ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Defer(func() { l.Close() })
}

// writeTrace writes a trace as sample might have written while the log was:
//
//	trace log trace.ndjson source=bpf from=10 to=20 every=2
//
// It begins when from transactions had been written and ends with the
// transaction to, and has a sync for every so many of them, or as many syncs.
// Sources but bpf have a sample for each. With position=no it has the syncs at
// their times only.
func writeTrace(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: trace log trace [option=value...]")
	}
	option := map[string]string{
		"source": "bpf", "exactness": "exact", "name": filepath.Base(args[0]), "position": "yes", "server_id": "1", "sync_binlog": "1",
	}
	number := map[string]int{"from": 0, "to": 1 << 30, "every": 1, "syncs": 1, "longer": 0}
	for _, arg := range args[2:] {
		name, value, _ := strings.Cut(arg, "=")
		if n, err := strconv.Atoi(value); err == nil && option[name] == "" {
			number[name] = n
		} else {
			option[name] = value
		}
	}
	log, err := os.Open(ts.MkAbs(args[0]))
	ts.Check(err)
	defer log.Close()
	out, err := os.Create(ts.MkAbs(args[1]))
	ts.Check(err)
	defer out.Close()
	const boot = 1_796_000_000_000_000_000 // Unix time of the monotonic clock's 0
	w, err := iosample.NewWriter(out, &iosample.Header{
		Source: option["source"], Exactness: iosample.Exactness(option["exactness"]), Device: "vda", ClockOffset: boot,
		Settings: iosample.Settings{"server_id": option["server_id"], "sync_binlog": option["sync_binlog"], "innodb_flush_log_at_trx_commit": "1"},
	})
	ts.Check(err)

	file := iosample.Count{Class: iosample.Binlog, Name: option["name"], Ino: 7}
	flushes, i := int64(0), 0
	v := &iosample.Interval{}
	sample := func(t *parser.Txn) {
		at := time.UnixMicro(int64(t.Time()))
		v.Sample = &iosample.Sample{Time: at, Mono: at.UnixNano() - boot, DeviceFlushes: &flushes}
		if file.Size = t.End + int64(number["longer"]); option["position"] == "no" {
			file.Name, file.Size = "", 0
		}
		if option["source"] != "proc" || option["position"] != "no" {
			v.Sample.Files = []iosample.Count{file}
		}
		ts.Check(w.Write(v))
		*v = iosample.Interval{}
	}
	for t, err := range parser.NewReader(log, args[0], parser.Options{}).All() {
		ts.Check(err)
		if i++; i == number["from"] || i == 1 && number["from"] == 0 {
			before := *t
			if number["from"] == 0 {
				before.End = before.Start
			}
			sample(&before)
		}
		if i <= number["from"] || i > number["to"] || i%number["every"] != 0 {
			continue
		}
		flushes += 2
		for range number["syncs"] {
			if option["source"] != "proc" {
				file.Syncs++
			}
			if option["source"] == "bpf" {
				v.Syncs = append(v.Syncs, iosample.SyncEvent{
					Mono: int64(t.Time())*1000 - boot, Class: iosample.Binlog, Name: file.Name, File: iosample.FileID{Ino: 7},
					Size: t.End + int64(number["longer"]), Latency: 250_000,
				})
			}
		}
		sample(t)
	}
}

// exitStatus runs a command and compares its exit status:
//
//	status 3 bgcstat analyze x
func exitStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N command [argument...]")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if err != nil {
		got = "?"
		if code := exitCode(err); code >= 0 {
			got = string(rune('0' + code))
		}
	}
	if got != args[0] {
		ts.Fatalf("exit status is %s, want %s (%v)", got, args[0], err)
	}
}

func exitCode(err error) int {
	if e, ok := err.(interface{ ExitCode() int }); ok {
		return e.ExitCode()
	}
	return -1
}
