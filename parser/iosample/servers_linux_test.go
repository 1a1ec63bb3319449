package iosample

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"bgcstat/parser/servertest"
)

// seenBy gives a host path as the server has it, which may run in a tree of its
// own.
func seenBy(tb testing.TB, s *servertest.Server, path string) string {
	tb.Helper()
	root, err := os.Readlink(fmt.Sprintf("/proc/%d/root", s.PID))
	if err != nil {
		tb.Fatal(err)
	}
	return filepath.Join("/", strings.TrimPrefix(path, root))
}

// position gives the name and length of the newest binlog, as the server says.
func position(tb testing.TB, s *servertest.Server) (string, int64) {
	tb.Helper()
	show := "SHOW MASTER STATUS"
	if s.Kind.MySQL() {
		show = "SHOW BINARY LOG STATUS"
	}
	f := strings.Fields(s.Exec(tb, show))
	if len(f) < 2 {
		tb.Fatalf("%s: got %q", show, f)
	}
	n, err := strconv.ParseInt(f[1], 10, 64)
	if err != nil {
		tb.Fatal(err)
	}
	return f[0], n
}

// wantNewest checks that the inventory knows the newest binlog as the server
// does, and gives its name.
func wantNewest(t *testing.T, v *Inventory, s *servertest.Server) string {
	t.Helper()
	name, size := position(t, s)
	if f, ok := v.Binlog(); ok && f.Name == name && f.Size > size {
		// MariaDB writes of a checkpoint by itself to a log that it has begun.
		name, size = position(t, s)
	}
	wantBinlog(t, v, name, filepath.Join(s.DataDir, name), size)
	return name
}

// Each way finds the one of two servers of a kind that is meant.
func TestFindServers(t *testing.T) {
	for _, kind := range servertest.Kinds {
		t.Run(kind.String(), func(t *testing.T) {
			var h Host
			for _, s := range []*servertest.Server{servertest.Start(t, kind), servertest.Start(t, kind)} {
				check := func(how string, pid int, err error) {
					t.Helper()
					if err != nil || pid != s.PID {
						t.Errorf("by %s: got process %d, %v, want %d", how, pid, err, s.PID)
					}
				}
				pid, err := h.FindByPort(s.Port)
				check("port", pid, err)
				pid, err = h.FindBySocket(s.Socket)
				check("socket", pid, err)
				pid, err = h.FindBySocket(seenBy(t, s, s.Socket))
				check("the server's own name of the socket", pid, err)
				pid, err = h.FindByDataDir(s.DataDir)
				check("data directory", pid, err)
				pid, err = h.FindByPIDFile(filepath.Join(filepath.Dir(s.DataDir), "pid"))
				check("pid file", pid, err)

				p, err := h.Process(s.PID)
				if err != nil || !p.IsServer() || !h.SameProcess(p) {
					t.Errorf("process: got %+v, %v", p, err)
				}
				s.Stop(t)
				if h.SameProcess(p) {
					t.Error("the process is the same after its end")
				}
				if pid, err := h.FindByPort(s.Port); err == nil {
					t.Errorf("after its end: got process %d", pid)
				}
			}
		})
	}
}

// matters tells the class of files by what their names begin or end with.
func matters(path string) Class {
	base := filepath.Base(path)
	for _, m := range []struct {
		begin, end string
		class      Class
	}{
		{"binlog.0", "", Binlog},
		{"mariadb-bin.0", ".idx", Other},
		{"mariadb-bin.0", "", Binlog},
		{"#ib_redo", "", Redo},
		{"ib_logfile", "", Redo},
		{"#ib_", ".dblwr", Doublewrite},
		{"undo", "", Undo},
		{"ibdata", "", Data},
		{"", ".ibd", Data},
		{"", ".MAD", Data},
		{"", ".MAI", Data},
	} {
		if strings.HasPrefix(base, m.begin) && strings.HasSuffix(base, m.end) {
			return m.class
		}
	}
	return Other
}

func TestInventoryOfServers(t *testing.T) {
	for _, kind := range servertest.Kinds {
		t.Run(kind.String(), func(t *testing.T) {
			s, other := servertest.Start(t, kind), servertest.Start(t, kind)
			for _, s := range []*servertest.Server{s, other} {
				s.Exec(t, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY); INSERT INTO d.t VALUES (1); FLUSH LOGS; INSERT INTO d.t VALUES (2)")
			}
			vars := strings.Fields(s.Exec(t, "SELECT @@datadir, @@log_bin_index"))
			if len(vars) != 2 {
				t.Fatalf("got variables %q", vars)
			}
			want := []Class{Binlog, Redo, Data, Other}
			if kind.MySQL() {
				want = []Class{Binlog, Redo, Doublewrite, Undo, Data, Other}
			} else if kind == servertest.MariaDB118 {
				want = []Class{Binlog, Redo, Undo, Data, Other}
			}
			for _, target := range []Target{
				{PID: s.PID},
				{PID: s.PID, DataDir: s.DataDir},
				{PID: s.PID, DataDir: vars[0], BinlogIndex: vars[1]},
				{DataDir: s.DataDir},
			} {
				v := newInventory(t, Host{}, target)
				if len(v.Refused()) > 0 {
					t.Errorf("%+v: refused %q", target, v.Refused())
				}
				if v.DataDir() != s.DataDir {
					t.Errorf("%+v: got data directory %s, want %s", target, v.DataDir(), s.DataDir)
				}
				var classes []Class
				for _, f := range v.Files() {
					if !slices.Contains(classes, f.Class) {
						classes = append(classes, f.Class)
					}
					if rest, ok := strings.CutPrefix(f.Path, filepath.Dir(other.DataDir)+"/"); ok {
						t.Errorf("%+v: knows the other server's %s", target, rest)
					}
				}
				if !slices.Equal(classes, want) {
					t.Errorf("%+v: got classes %q, want %q", target, classes, want)
				}
				if target.PID != 0 {
					checkOpen(t, v, s)
				}
				name := wantNewest(t, v, s)
				if logs := s.Binlogs(t); filepath.Base(logs[len(logs)-1]) != name {
					t.Fatalf("the index ends in %s, the server is at %s", logs[len(logs)-1], name)
				}
				f, _ := v.Binlog()
				if encrypted, err := v.Encrypted(f); encrypted || err != nil {
					t.Errorf("encrypted: got %v, %v", encrypted, err)
				}
				if got, want := v.Devices(), []uint64{idOf(t, s.DataDir).Dev}; !slices.Equal(got, want) {
					t.Errorf("devices: got %d, want %d", got, want)
				}
			}
		})
	}
}

// checkOpen checks the class of each file that the server has open.
func checkOpen(t *testing.T, v *Inventory, s *servertest.Server) {
	t.Helper()
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", s.PID))
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, link := range links {
		path, err := os.Readlink(link)
		if err != nil {
			continue
		}
		fi, err := os.Stat(link)
		if err != nil || !fi.Mode().IsRegular() {
			continue
		}
		f, ok := v.Lookup(fileID(fi))
		if ok && f.Class == Redo && !v.Still(f) { // MySQL has renamed it since, to use it next
			if err := v.Refresh(); err != nil {
				t.Fatal(err)
			}
			f, ok = v.Lookup(fileID(fi))
		}
		switch want := matters(path); {
		case !ok && want == Other: // opened since
		case !ok || f.Class != want:
			t.Errorf("%s: got %+v, %v, want class %s", path, f, ok, want)
		case idOf(t, f.Path) != f.ID:
			t.Errorf("%s: its path %s is another file", path, f.Path)
		default:
			checked++
		}
	}
	if checked < 10 {
		t.Errorf("only %d files are open", checked)
	}
}

// A server's binlog is followed over rotation, purge and reset without a
// Refresh.
func TestInventoryFollowsServers(t *testing.T) {
	for _, kind := range servertest.Kinds {
		t.Run(kind.String(), func(t *testing.T) {
			s := servertest.Start(t, kind)
			s.Exec(t, "CREATE DATABASE d; CREATE TABLE d.t (id INT AUTO_INCREMENT PRIMARY KEY)")
			v := newInventory(t, Host{}, Target{PID: s.PID})
			names := map[FileID]string{}
			reused := 0
			for i := range 12 {
				s.Exec(t, "INSERT INTO d.t VALUES ()")
				name := wantNewest(t, v, s)
				f, _ := v.Binlog()
				if before, ok := names[f.ID]; ok && before != name {
					reused++
				}
				names[f.ID] = name
				s.Exec(t, "FLUSH BINARY LOGS")
				if i%3 == 2 {
					name, _ := position(t, s)
					s.Exec(t, "PURGE BINARY LOGS TO '"+name+"'")
				}
			}
			t.Logf("%d inodes were used again", reused)
			reset := "RESET MASTER"
			if kind.MySQL() {
				reset = "RESET BINARY LOGS AND GTIDS"
			}
			s.Exec(t, reset)
			wantNewest(t, v, s)
		})
	}
}

// Relay logs are told by their index and by what they say of themselves, where
// their names do not; binlogs may lie elsewhere.
func TestInventoryOfReplicas(t *testing.T) {
	for _, kind := range servertest.Kinds {
		t.Run(kind.String(), func(t *testing.T) {
			s := servertest.Start(t, kind, "--relay-log=from-afar", "--skip-log-bin")
			start := "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT=1, MASTER_USER='root'; START SLAVE"
			if kind.MySQL() {
				start = "CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT=1, SOURCE_USER='root'; START REPLICA"
			}
			s.Exec(t, start)
			index := filepath.Join(s.DataDir, "from-afar.index")
			for _, target := range []Target{
				{PID: s.PID},
				{DataDir: s.DataDir},
				{PID: s.PID, RelayIndex: seenBy(t, s, index)},
			} {
				v := newInventory(t, Host{}, target)
				relays := 0
				for _, f := range v.Files() {
					if f.Class == Relay && strings.HasPrefix(f.Name, "from-afar.0") {
						relays++
					} else if f.Class == Relay || f.Class == Binlog && strings.HasPrefix(f.Name, "from-afar") {
						t.Errorf("%+v: got %+v", target, f)
					}
				}
				if relays == 0 {
					t.Errorf("%+v: no relay log among %q", target, list(v))
				}
			}
			if f, ok := newInventory(t, Host{}, Target{PID: s.PID}).Binlog(); ok {
				t.Errorf("without a binlog: got %+v", f)
			}
		})
	}
}

// What a sample costs beside its source.
func BenchmarkSample(b *testing.B) {
	s := servertest.Start(b, servertest.MySQL97)
	var h Host
	v := newInventory(b, h, Target{PID: s.PID})
	disk, err := h.Disk(idOf(b, s.DataDir).Dev)
	if err != nil {
		b.Fatal(err)
	}
	p, err := h.Process(s.PID)
	if err != nil {
		b.Fatal(err)
	}
	for name, f := range map[string]func() bool{
		"Binlog":      func() bool { _, ok := v.Binlog(); return ok },
		"IO":          func() bool { _, _, err := h.IO(s.PID); return err == nil },
		"Flushes":     func() bool { _, _, err := h.Flushes(disk); return err == nil },
		"SameProcess": func() bool { return h.SameProcess(p) },
		"Refresh":     func() bool { return v.Refresh() == nil },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !f() {
					b.Fatal("failed")
				}
			}
		})
	}
}
