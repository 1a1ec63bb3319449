package iosample

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
)

// unpackHost makes one of the trees of testdata/proc.
func unpackHost(tb testing.TB, name string) Host {
	tb.Helper()
	ar, err := txtar.ParseFile(filepath.Join("testdata", "proc", name+".txtar"))
	if err != nil {
		tb.Fatal(err)
	}
	root, err := filepath.EvalSymlinks(tb.TempDir())
	if err != nil {
		tb.Fatal(err)
	}
	fi, err := os.Stat(root)
	if err != nil {
		tb.Fatal(err)
	}
	major, minor := majorMinor(fileID(fi).Dev)
	vars := strings.NewReplacer("$ROOT", root, "$DEV", fmt.Sprintf("%d:%d", major, minor))
	for _, f := range ar.Files {
		name, link, isLink := strings.Cut(f.Name, " -> ")
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			tb.Fatal(err)
		}
		data := vars.Replace(string(f.Data))
		switch {
		case isLink:
			err = os.Symlink(vars.Replace(link), path)
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(path, 0o755)
		case filepath.Base(path) == "cmdline":
			err = os.WriteFile(path, []byte(strings.ReplaceAll(data, "\n", "\x00")), 0o644)
		default:
			err = os.WriteFile(path, []byte(data), 0o644)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	return Host{Root: root}
}

func fixedTime(seconds int64) time.Time { return time.Unix(seconds, 0) }

// wantError checks that err says something.
func wantError(tb testing.TB, what string, err error, want ...string) {
	tb.Helper()
	if err == nil {
		tb.Errorf("%s: got no error, want one with %q", what, want)
		return
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			tb.Errorf("%s: got error %q, want %q in it", what, err, w)
		}
	}
}
