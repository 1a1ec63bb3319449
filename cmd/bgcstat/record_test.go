package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"bgcstat/analysis"
	"bgcstat/parser"
)

// Settings appear and vanish with plugins.
func TestDiffering(t *testing.T) {
	got := differing(map[string]string{"a": "1", "b": "1", "c": "1"}, map[string]string{"b": "2", "c": "1", "d": "1"})
	if want := []string{"a", "b", "d"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A log that is encrypted, or is not there, is asked of the server.
func TestCheckFile(t *testing.T) {
	encrypted := t.TempDir()
	if err := os.WriteFile(filepath.Join(encrypted, "binlog.000001"), []byte("\xfdbin"), 0o644); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]error{
		"../../testdata/binlog/mysql-9.7-row": nil, encrypted: parser.ErrEncrypted, t.TempDir(): os.ErrNotExist, "": errFilesUnknown,
	} {
		r := &recorder{binlogs: dir, run: &analysis.Run{From: analysis.Position{File: "binlog.000001"}}}
		if err := r.checkFile(); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", dir, err, want)
		}
	}
}

// Of runs that are begun at once one has the directory.
func TestMakeRunDir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	var made atomic.Int64
	var g sync.WaitGroup
	for range 8 {
		g.Go(func() {
			var e *exitError
			switch err := makeRunDir(dir); {
			case err == nil:
				made.Add(1)
			case !errors.As(err, &e) || e.status != statusUsage:
				t.Error(err)
			}
		})
	}
	g.Wait()
	if n := made.Load(); n != 1 {
		t.Errorf("made %d times", n)
	}
}

// Logs of a run are in the order of their numbers, from its first to its last.
func TestRecordNames(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"binlog.999998", "binlog.999999", "binlog.1000000", "binlog.1000001", "binlog.999999.gz", "binlog.index", "relay.999999"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r := &recorder{binlogs: dir, run: &analysis.Run{From: analysis.Position{File: "binlog.999999"}, To: &analysis.Position{File: "binlog.1000000"}}}
	got, err := r.names()
	if want := []string{filepath.Join(dir, "binlog.999999"), filepath.Join(dir, "binlog.1000000")}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}
