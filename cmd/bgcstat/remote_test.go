package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bgcstat/analysis"
	"bgcstat/parser/servertest"
)

// TestRemote reads logs over a connection: what it says of them must be what it
// says of the files.
func TestRemote(t *testing.T) {
	for _, kind := range servertest.Kinds {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			s := servertest.Start(t, kind)
			s.Exec(t, schema)
			load(t, s, 8, 50)
			s.Exec(t, "FLUSH BINARY LOGS")
			load(t, s, 8, 50)
			s.Exec(t, "FLUSH BINARY LOGS; INSERT INTO shop.t1 VALUES (5000, 1)")
			files := s.Binlogs(t)
			s.AwaitCheckpoint(t)
			var names []string
			for _, f := range files {
				names = append(names, filepath.Base(f))
			}
			settings := []string{"--sync-binlog", strings.TrimSpace(s.Exec(t, "SELECT @@sync_binlog")), "--flush-log-at-trx-commit", "1"}
			if kind.MySQL() {
				settings = append(settings, "--binlog-group-commit-sync-delay", "0", "--binlog-group-commit-sync-no-delay-count", "0")
			}
			remote := []string{"-R", "--no-defaults", "-S", s.Socket, "-u", "root"}
			for _, test := range []struct{ files, args []string }{
				{files[:1], names[:1]},
				{files[1:2], names[1:2]},
				{files, append([]string{"--to-last-log"}, names[0])},
				{files[1:], append([]string{"--to-last-log"}, names[1])},
				{[]string{files[0], files[2]}, []string{names[0], names[2]}},
			} {
				want := normal(t, analyzed(t, append(slices.Clone(settings), test.files...)...))
				got := normal(t, analyzed(t, append(slices.Clone(remote), test.args...)...))
				if got != want {
					t.Errorf("%v: %s", test.args, firstDifference(got, want))
				}
			}
			checkRefusedRemote(t, s, names[0])
		})
	}
}

// checkRefusedRemote has wrong logs, in one line each.
func checkRefusedRemote(t *testing.T, s *servertest.Server, name string) {
	t.Helper()
	remote := []string{"analyze", "-R", "--no-defaults", "-S", s.Socket, "-u", "root"}
	base, _, _ := strings.Cut(name, ".")
	for _, test := range []struct {
		args   []string
		status int
		says   string
	}{
		{[]string{base + ".000999"}, statusNothing, "does not have " + base + ".000999"},
		{[]string{"/var/lib/mysql/" + name}, statusUsage, "is not the name of a log"},
		{[]string{name + ":4"}, statusUsage, "is not the name of a log"},
		{nil, statusUsage, "no log given"},
		{[]string{"--to-last-log", name, name}, statusUsage, "--to-last-log and 2 logs"},
	} {
		var out, errs strings.Builder
		status := run(append(slices.Clone(remote), test.args...), strings.NewReader(""), &out, &errs)
		if status != test.status || out.Len() > 0 || !strings.Contains(errs.String(), test.says) {
			t.Errorf("%v: status %d, %q; want %d, %q", test.args, status, errs.String(), test.status, test.says)
		}
	}
	var out, errs strings.Builder
	if status := run([]string{"analyze", "-u", "root", name}, strings.NewReader(""), &out, &errs); status != statusUsage {
		t.Errorf("options of a connection without -R: status %d, %s", status, &errs)
	}
}

// TestRemoteEncrypted reads MariaDB's encrypted logs, which no file tells.
func TestRemoteEncrypted(t *testing.T) {
	dir, err := os.MkdirTemp("", "bgcstat-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	keys := filepath.Join(dir, "keys")
	if err := os.WriteFile(keys, []byte("1;"+strings.Repeat("ab", 32)+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := servertest.Start(t, servertest.MariaDB1011, "--plugin-load-add=file_key_management", "--file-key-management-filename="+keys, "--encrypt-binlog=ON")
	s.Exec(t, schema)
	load(t, s, 4, 20)
	r := analyzed(t, "-R", "--no-defaults", "-S", s.Socket, "-u", "root", filepath.Base(s.Binlogs(t)[0]))
	const want = 5 + 4*20 // of the schema, and of the load
	groups := strings.TrimSpace(s.Exec(t, "SHOW GLOBAL STATUS LIKE 'Binlog_group_commits'"))
	if r.Transactions != want || r.Groups.Sync == nil || *r.Groups.Sync.Count > want {
		t.Errorf("%d transactions, want %d: %+v (%s)", r.Transactions, want, r.Groups.Sync, groups)
	}
	var out, errs strings.Builder
	if status := run([]string{"analyze", s.Binlogs(t)[0]}, strings.NewReader(""), &out, &errs); status != statusNothing || !strings.Contains(errs.String(), "encrypted") {
		t.Errorf("the file: status %d, %s", status, &errs)
	}
}

// normal is a result without what differs between reading a file and a server.
func normal(t *testing.T, r *analysis.Result) string {
	t.Helper()
	for i := range r.Sources {
		r.Sources[i].File = filepath.Base(r.Sources[i].File)
	}
	if r.Saved != nil {
		r.Saved.Assumes.From = ""
	}
	b, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func firstDifference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			from := max(0, i-5)
			return fmt.Sprintf("line %d:\n%s\nwant\n%s", i, strings.Join(a[from:i+1], "\n"), strings.Join(b[from:i+1], "\n"))
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(a), len(b))
}
