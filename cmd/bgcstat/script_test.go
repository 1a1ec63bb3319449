package main

import (
	"flag"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"bgcstat/parser/binlogtest"
)

var update = flag.Bool("update", false, "accept what the commands print as right")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"bgcstat": main})
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
