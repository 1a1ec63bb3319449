package servertest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestStart(t *testing.T) {
	for _, kind := range Kinds {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			s := Start(t, kind, "--sync-binlog=1")
			s.Exec(t, `
CREATE DATABASE d;
CREATE TABLE d.t (id INT PRIMARY KEY, s VARCHAR(20));
INSERT INTO d.t VALUES (1, 'größer');
FLUSH LOGS;
UPDATE d.t SET s = 'kleiner' WHERE id = 1;`)
			if got, want := s.Exec(t, "SELECT @@sync_binlog, @@server_id, id, s FROM d.t"), "1\t1\t1\tkleiner\n"; got != want {
				t.Errorf("row: got %q, want %q", got, want)
			}
			if _, err := s.Query("SELECT nonsense"); err == nil || !strings.Contains(err.Error(), "nonsense") {
				t.Errorf("bad statement: got error %v", err)
			}
			s.Kill()
			s.Restart(t)
			if got := s.Exec(t, "SELECT s FROM d.t; FLUSH LOGS"); got != "kleiner\n" {
				t.Errorf("row after a crash: got %q", got)
			}
			s.Stop(t)
			s.Stop(t)

			files := s.Binlogs(t)
			if len(files) != 4 { // two, one from the restart on, and one behind it
				t.Fatalf("got files %q, want 4", files)
			}
			// One file where the server keeps it, one from elsewhere.
			outside := filepath.Join(t.TempDir(), filepath.Base(files[3]))
			if err := copyFile(outside, files[3]); err != nil {
				t.Fatal(err)
			}
			for _, c := range []struct{ file, want string }{
				{files[0], "CREATE TABLE d.t"},
				{files[0], "Rotate to"},
				{files[1], "Xid = "},
				{outside, "Stop"},
			} {
				if out := s.Binlog(t, c.file); !strings.Contains(out, c.want) {
					t.Errorf("%s: no %q in\n%s", filepath.Base(c.file), c.want, out)
				}
			}
		})
	}
}

// Two servers of one kind at once have ports, directories and (MySQL) server UUIDs of their own; a remote dump sees the log
// of a live server; and nothing is left afterwards.
func TestTwoAtOnce(t *testing.T) {
	var a, b *Server
	t.Run("run", func(t *testing.T) {
		a, b = Start(t, MySQL97), Start(t, MySQL97)
		uuid := "SELECT @@server_uuid"
		if ua, ub := a.Exec(t, uuid), b.Exec(t, uuid); ua == ub {
			t.Errorf("both servers have UUID %s", ua)
		}
		a.Exec(t, "CREATE DATABASE only_a")
		if got := b.Exec(t, "SHOW DATABASES LIKE 'only_a'"); got != "" {
			t.Errorf("other server has %q", got)
		}
		out := a.Binlog(t, "--read-from-remote-server", "--user=root", "--socket="+a.Socket, "binlog.000001")
		if !strings.Contains(out, "only_a") {
			t.Errorf("remote dump has no CREATE DATABASE:\n%s", out)
		}
		b.Kill()
	})
	for _, s := range []*Server{a, b} {
		if s == nil {
			continue // skipped
		}
		if _, err := os.Stat(s.dir); !os.IsNotExist(err) {
			t.Errorf("%s left behind: %v", s.dir, err)
		}
		if err := syscall.Kill(s.PID, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("process %d left behind: %v", s.PID, err)
		}
	}
}
