package iosample

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestHostNames(t *testing.T) {
	h := unpackHost(t, "linux-3.10")
	if got, want := []string{h.Name(), h.Kernel(), h.BootID()}, []string{"db1", "3.10.0-1160.el7.x86_64", "0a1b2c3d-0000-4000-8000-0123456789ab"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	h = unpackHost(t, "container")
	if got := h.Name() + h.Kernel() + h.BootID(); got != "" {
		t.Errorf("got %q where nothing is, want nothing", got)
	}
	name, _ := os.Hostname()
	if got := (Host{}).Name(); got != name {
		t.Errorf("this host: got %q, want %q", got, name)
	}
}

func TestProcess(t *testing.T) {
	h := unpackHost(t, "linux-3.10")
	p, err := h.Process(4711)
	want := Process{4711, 123456, "/usr/sbin/mysqld", []string{"/usr/sbin/mysqld", "--daemonize", "--pid-file=/var/run/mysqld/mysqld.pid"}}
	if err != nil || !reflect.DeepEqual(p, want) {
		t.Errorf("got %+v, %v, want %+v", p, err, want)
	}
	weird, err := h.Process(812)
	if err != nil || weird.Exe != "a (weird) name" || weird.StartTicks != 99 {
		t.Errorf("got %+v, %v", weird, err)
	}
	if !h.SameProcess(p) {
		t.Error("the same process is not the same")
	}
	p.StartTicks++
	if h.SameProcess(p) {
		t.Error("a process that was started later is the same")
	}
	for _, pid := range []int{1, 0, -1} {
		if _, err := h.Process(pid); !errors.Is(err, ErrNotVisible) {
			t.Errorf("process %d: got error %v, want %v", pid, err, ErrNotVisible)
		}
	}
	_, err = unpackHost(t, "linux-5.4").Process(4711)
	wantError(t, "a short stat", err, "proc/4711/stat: 2 fields behind the name, want 20 or more")

	self, err := Host{}.Process(os.Getpid())
	if err != nil || !slices.Equal(self.Args, os.Args) || self.StartTicks == 0 {
		t.Errorf("this process: got %+v, %v", self, err)
	}
	if exe, _ := os.Executable(); self.Exe != exe {
		t.Errorf("this process: got program %s, want %s", self.Exe, exe)
	}
}

func TestIO(t *testing.T) {
	for _, test := range []struct {
		tree  string
		w, sc int64
	}{
		{"linux-3.10", 222, 444},
		{"linux-6.12", 9223372036854775807, 12},
	} {
		w, sc, err := unpackHost(t, test.tree).IO(4711)
		if err != nil || w != test.w || sc != test.sc {
			t.Errorf("%s: got %d, %d, %v, want %d, %d", test.tree, w, sc, err, test.w, test.sc)
		}
	}
	h := unpackHost(t, "linux-5.4")
	_, _, err := h.IO(4711)
	wantError(t, "an io without lines", err, "proc/4711/io: 0 of the lines wchar and syscw, want both")
	if _, _, err := h.IO(4712); !errors.Is(err, ErrNotVisible) {
		t.Errorf("no process: got error %v", err)
	}
	if err := os.WriteFile(h.pid(4711, "io"), []byte("wchar: many\nsyscw: 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, _, err = h.IO(4711)
	wantError(t, "an io with a word", err, "proc/4711/io: wchar: ", `"many"`)

	// The kernel counts what this process writes.
	before, calls, err := Host{}.IO(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for range 100 {
		if _, err := f.Write(make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
	}
	after, calls2, err := Host{}.IO(os.Getpid())
	if err != nil || after-before < 100_000 || calls2-calls < 100 {
		t.Errorf("100 writes of 1000 bytes: counted %d bytes, %d calls, %v", after-before, calls2-calls, err)
	}
}

func TestDisk(t *testing.T) {
	for _, test := range []struct {
		tree         string
		major, minor uint32
		want         Disk
		flushes      int64
		counted      bool
	}{
		{"linux-3.10", 8, 0, Disk{Name: "sda"}, 0, false},
		{"linux-3.10", 8, 1, Disk{Name: "sda"}, 0, false},
		{"linux-5.4", 253, 0, Disk{Name: "dm-0", WriteCache: "write back", Parts: []string{"nvme0n1", "sda"}}, 0, false},
		{"linux-5.4", 259, 0, Disk{Name: "nvme0n1", WriteCache: "write through"}, 0, false},
		{"linux-6.12", 9, 0, Disk{Name: "md0", WriteCache: "write through", FUA: true, Parts: []string{"nvme0n1", "nvme1n1"}}, 3300, true},
		{"linux-6.12", 259, 0, Disk{Name: "nvme0n1", WriteCache: "write through"}, 1600, true},
		{"linux-6.12", 104, 1, Disk{Name: "cciss/c0d0", WriteCache: "write back"}, 42, true},
	} {
		h := unpackHost(t, test.tree)
		d, err := h.Disk(unix.Mkdev(test.major, test.minor))
		if err != nil || !reflect.DeepEqual(d, test.want) {
			t.Errorf("%s %d:%d: got %+v, %v, want %+v", test.tree, test.major, test.minor, d, err, test.want)
			continue
		}
		n, counted, err := h.Flushes(d)
		if err != nil || n != test.flushes || counted != test.counted {
			t.Errorf("%s %s: got %d flushes, %v, %v, want %d, %v", test.tree, d.Name, n, counted, err, test.flushes, test.counted)
		}
	}
	h := unpackHost(t, "linux-6.12")
	_, err := h.Disk(unix.Mkdev(0, 45))
	wantError(t, "no disk", err, "device 0:45: on no disk of its own, as with btrfs")
	_, err = h.Disk(unix.Mkdev(8, 300))
	wantError(t, "unknown disk", err, "device 8:300: ")
	_, _, err = h.Flushes(Disk{Name: "md0", Parts: []string{"nvme0n1", "sdz"}})
	wantError(t, "lost disk", err, "proc/diskstats: lines of 1 of the disks nvme0n1, sdz, want all")
	_, _, err = h.Flushes(Disk{})
	wantError(t, "no disk", err, "lines of 0 of the disks")
}

func TestFileSystem(t *testing.T) {
	h := unpackHost(t, "linux-3.10")
	fi, err := os.Stat(h.Root)
	if err != nil {
		t.Fatal(err)
	}
	dev := fileID(fi).Dev
	for path, want := range map[string]FileSystem{
		h.Root + "/data/db/t.ibd":       {"xfs", h.Root, dev}, // two mounts of the device; this one is above it
		h.Root + "/proc/4711/root/data": {"xfs", h.Root, dev},
	} {
		if got, err := h.FileSystem(path); err != nil || got != want {
			t.Errorf("%s: got %+v, %v, want %+v", path, got, err, want)
		}
	}
	if _, err := h.FileSystem(h.Root + "/nothing"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: got error %v", err)
	}
	_, err = h.FileSystem("/proc/self/stat")
	wantError(t, "a file system without a mount", err, "not on a file system that is mounted")
	if got, want := unescape(`/a\040b\134040\011`), "/a b\\040\t"; got != want {
		t.Errorf("unescape: got %q, want %q", got, want)
	}

	// This machine's own.
	dir := t.TempDir()
	f, err := Host{}.FileSystem(dir)
	if err != nil {
		t.Fatal(err)
	}
	if f.Dev != dev || !strings.HasPrefix(dir, f.Mount) || f.Type == "" {
		t.Errorf("%s: got %+v, want a mount above it, device %d", dir, f, dev)
	}
	if f, err := (Host{}).FileSystem("/proc/self/stat"); err != nil || f.Type != "proc" || f.Mount != "/proc" {
		t.Errorf("/proc: got %+v, %v", f, err)
	}
	if major, _ := majorMinor(dev); major != 0 {
		d, err := Host{}.Disk(dev)
		if err != nil || d.Name == "" {
			t.Errorf("disk of %s: %+v, %v", dir, d, err)
		}
		if n, ok, err := (Host{}).Flushes(d); err != nil || !ok || n < 0 {
			t.Errorf("flushes of %+v: got %d, %v, %v", d, n, ok, err)
		}
	}
}

func TestFindInTrees(t *testing.T) {
	h := unpackHost(t, "linux-3.10")
	by := func(h Host, how string, arg any, want int, text string) {
		t.Helper()
		var pid int
		var err error
		switch how {
		case "port":
			pid, err = h.FindByPort(arg.(int))
		case "socket":
			pid, err = h.FindBySocket(arg.(string))
		case "datadir":
			pid, err = h.FindByDataDir(arg.(string))
		case "pid file":
			pid, err = h.FindByPIDFile(arg.(string))
		}
		switch what := fmt.Sprint(how, " ", arg); {
		case want == 0:
			wantError(t, what, err, text)
		case err != nil || pid != want:
			t.Errorf("%s: got process %d, %v, want %d", what, pid, err, want)
		}
	}
	by(h, "port", 3306, 4711, "")
	by(h, "port", 22, 0, "port 22: none of the 1 servers matches, yet something else listens there")
	by(h, "port", 41394, 0, "port 41394: none of the 1 servers matches") // a client's
	by(h, "socket", "/var/lib/my sql/mysql.sock", 4711, "")
	by(h, "socket", "/var/lib/my", 0, "none of the 1 servers matches")
	by(h, "datadir", h.Root+"/data", 4711, "")
	by(h, "datadir", h.Root+"/data/db", 0, "none of the 1 servers matches")
	by(h, "datadir", h.Root+"/nothing", 0, "no such file")
	by(h, "pid file", h.Root+"/mysqld.pid", 4711, "")
	by(h, "pid file", h.Root+"/data/mysql-bin.000002", 0, "process 123456789: no such process, or hidden")
	by(h, "pid file", h.Root+"/data/mysql-bin.index", 0, `want a process number`)
	if err := os.WriteFile(h.Root+"/mysqld.pid", []byte("812\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	by(h, "pid file", h.Root+"/mysqld.pid", 0, "process 812 is a (weird) name, want mysqld or mariadbd")

	h = unpackHost(t, "container")
	by(h, "port", 13306, 0, "port 13306: none of the 2 servers matches, yet something else listens there")
	by(h, "port", 33060, 4711, "")
	by(h, "port", 3306, 0, "port 3306: 2 servers match, want 1: processes 4711 4712")
	by(h, "socket", h.Root+"/one/var/run/mysqld/mysqld.sock", 4711, "")
	by(h, "socket", h.Root+"/two/var/run/mysqld/mysqld.sock", 4712, "")
	by(h, "socket", "/var/run/mysqld/mysqld.sock", 0, "2 servers match, want 1: processes 4711 4712")
	if err := os.Remove(h.Root + "/two/var/run/mysqld/mysqld.sock"); err != nil {
		t.Fatal(err)
	}
	by(h, "socket", h.Root+"/two/var/run/mysqld/mysqld.sock", 4712, "")
	by(h, "datadir", h.Root+"/two/var/lib/mysql", 4712, "")

	h = unpackHost(t, "hidepid")
	by(h, "port", 3306, 0, "port 3306: no mysqld or mariadbd is to be seen, yet something else listens there")
	by(h, "socket", "/run/mysqld/mysqld.sock", 0, "no mysqld or mariadbd is to be seen")
	by(h, "datadir", h.Root+"/data", 0, "no mysqld or mariadbd is to be seen")
	by(h, "pid file", h.Root+"/mysqld.pid", 0, ErrNotVisible.Error())
}

// A server that ends while it is looked into is not the one that is sought, and
// no reason to say that not all could be looked into.
func TestFindAmongEnded(t *testing.T) {
	for denied, want := range map[bool]string{
		false: "port 1: none of the 2 servers matches",
		true:  "port 1: no server found, but not all could be looked into: denied",
	} {
		s := &search{what: "port 1", servers: []Process{{PID: 1}, {PID: 2}}}
		s.try(func(p Process) (bool, error) {
			if p.PID == 1 || !denied {
				return false, fmt.Errorf("process %d: %w", p.PID, ErrNotVisible)
			}
			return false, errors.New("denied")
		})
		if _, err := s.one(""); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestIsServer(t *testing.T) {
	for name, want := range map[string]bool{
		"mysqld": true, "/usr/sbin/mariadbd": true, "mysqld-debug": true, "mysqld-8.0": true, "mariadbd-11.8": true,
		"mysqld_safe": false, "mysqld_exporter": false, "mysqld_multi": false, "mysql": false, "mariadbd_safe": false, "": false,
	} {
		if got := (Process{Exe: name}).IsServer(); got != want {
			t.Errorf("%q: got %v, want %v", name, got, want)
		}
		if got := (Process{Exe: "x", Args: []string{name}}).IsServer(); got != want {
			t.Errorf("%q as an argument: got %v, want %v", name, got, want)
		}
	}
	for want, args := range map[string][]string{
		"/a":  {"mysqld", "--datadir=/b", "--datadir", "/a"},
		"/b":  {"mysqld", "--datadir=/b", "-h"},
		"/c/": {"mysqld", "-h", "/c/"},
		"":    {"mysqld", "--datadirx=/b"},
	} {
		if got := dataDirOf(args); got != want {
			t.Errorf("%q: got %q, want %q", args, got, want)
		}
	}
}
