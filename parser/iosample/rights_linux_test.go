package iosample

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"bgcstat/parser/servertest"
)

const nobody = 65534

// changeUserChild gives up being root.
func changeUserChild() error {
	if err := errors.Join(syscall.Setgid(nobody), syscall.Setuid(nobody)); err != nil {
		return err
	}
	return ready()
}

// ready says so to the parent and waits until that has seen enough.
func ready() error {
	fmt.Fprintln(os.Stdout, "ready")
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// lookChild prints a line for each thing that can be known of the process PID.
func lookChild() error {
	h := Host{Root: os.Getenv("ROOT")}
	pid, _ := strconv.Atoi(os.Getenv("PID"))
	port, _ := strconv.Atoi(os.Getenv("PORT"))
	say := func(what string, value any, err error) {
		if err != nil {
			value = "error: " + err.Error()
		}
		fmt.Fprintf(os.Stdout, "@%s: %v\n", what, value)
	}
	p, err := h.Process(pid)
	say("process", filepath.Base(p.Exe), err)
	_, _, err = h.IO(pid)
	say("io", "ok", err)
	found, err := h.FindByPort(port)
	say("port", found, err)
	found, err = h.FindBySocket(os.Getenv("SOCKET"))
	say("socket", found, err)
	found, err = h.FindByDataDir(os.Getenv("DATADIR"))
	say("datadir", found, err)
	for _, t := range []Target{{PID: pid}, {PID: pid, DataDir: os.Getenv("DATADIR")}} {
		v, err := NewInventory(h, t)
		files, refused := 0, []string(nil)
		if err == nil {
			files, refused = len(v.Files()), v.Refused()
		}
		what := "inventory"
		if t.DataDir != "" {
			what = "inventory of directory"
		}
		say(what, files, err)
		for _, r := range refused {
			say(what+" refused", r, nil)
		}
	}
	return nil
}

// looked runs a child that looks, as somebody, and gives what it printed.
func looked(t *testing.T, who as, env ...string) map[string][]string {
	t.Helper()
	said := map[string][]string{}
	for line := range strings.Lines(runAs(t, who, "look", env...)) {
		if what, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && strings.HasPrefix(what, "@") {
			said[what[1:]] = append(said[what[1:]], value)
		}
	}
	return said
}

// begin starts a child that says when it is ready.
func begin(t *testing.T, who as, name string, env ...string) int {
	t.Helper()
	c := startAs(t, who, name, env...)
	if said := c.line(t); said != "ready" {
		t.Fatalf("child said %q", said)
	}
	return c.cmd.Process.Pid
}

// An ordinary user is told what is missing, and with that it works.
func TestRights(t *testing.T) {
	needRoot(t)
	s := servertest.Start(t, servertest.MySQL97)
	// The directory above is closed to others; that of the data is not.
	if err := errors.Join(os.Chmod(filepath.Dir(s.DataDir), 0o755), os.Chmod(s.DataDir, 0o755)); err != nil {
		t.Fatal(err)
	}
	pid := strconv.Itoa(s.PID)
	env := []string{"PID=" + pid, "PORT=" + strconv.Itoa(s.Port), "SOCKET=" + s.Socket, "DATADIR=" + s.DataDir}

	const denied = "permission denied: needs the server's own user, or "
	fd := "/proc/" + pid + "/fd: " + denied + "CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH"
	cwd := "/proc/" + pid + "/cwd: " + denied + "CAP_SYS_PTRACE"
	hidden := ": no server found, but not all could be looked into: "
	check := func(who string, said map[string][]string, want map[string][]string) {
		t.Helper()
		for what, lines := range want {
			if got := said[what]; !slices.Equal(got, lines) {
				t.Errorf("%s: %s: got %q, want %q", who, what, got, lines)
			}
		}
	}
	said := looked(t, as{UID: nobody}, env...)
	check("nobody", said, map[string][]string{
		"process":   {"mysqld"}, // by its name
		"io":        {"error: /proc/" + pid + "/io: " + denied + "CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH"},
		"inventory": {"error: " + fd + "; data directory: " + cwd},
	})
	for what, begin := range map[string]string{
		"port":    "error: port " + strconv.Itoa(s.Port) + hidden + "/proc/",
		"socket":  "error: " + s.Socket + hidden + "/proc/",
		"datadir": "error: " + s.DataDir + hidden + "/proc/",
	} {
		if got := said[what]; len(got) != 1 || !strings.HasPrefix(got[0], begin) || !strings.Contains(got[0], denied+"CAP_SYS_PTRACE") {
			t.Errorf("nobody: %s: got %q, want %q and what is needed", what, got, begin)
		}
	}
	if n, err := strconv.Atoi(said["inventory of directory"][0]); err != nil || n < 20 {
		t.Errorf("nobody: got %q files of the directory, want 20 or more", said["inventory of directory"])
	}
	const group = ": permission denied: needs the server's own user or group, or CAP_DAC_READ_SEARCH"
	refused := said["inventory of directory refused"]
	if !slices.Contains(refused, fd) || !slices.Contains(refused, s.DataDir+"/binlog.index"+group) {
		t.Errorf("nobody: refused %q, want the descriptors and the index", refused)
	}

	// Each capability alone is not enough for all.
	said = looked(t, as{UID: nobody, Caps: []uintptr{unix.CAP_SYS_PTRACE}}, env...)
	if got := said["inventory refused"]; !slices.Contains(got, fd) {
		t.Errorf("CAP_SYS_PTRACE: refused %q, want %q", got, fd)
	}
	check("CAP_SYS_PTRACE", said, map[string][]string{"datadir": {pid}})
	said = looked(t, as{UID: nobody, Caps: []uintptr{unix.CAP_DAC_READ_SEARCH}}, env...)
	check("CAP_DAC_READ_SEARCH", said, map[string][]string{
		"io":        {"error: /proc/" + pid + "/io: " + denied + "CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH"},
		"inventory": {"error: " + fd + "; data directory: " + cwd},
	})

	said = looked(t, as{UID: nobody, Caps: []uintptr{unix.CAP_SYS_PTRACE, unix.CAP_DAC_READ_SEARCH}}, env...)
	check("both", said, map[string][]string{
		"process": {"mysqld"}, "io": {"ok"}, "port": {pid}, "socket": {pid}, "datadir": {pid},
		"inventory refused": nil, "inventory of directory refused": nil,
	})
	if n, err := strconv.Atoi(said["inventory"][0]); err != nil || n < 20 {
		t.Errorf("both: got %q files, want 20 or more", said["inventory"])
	}

	// The same with a /proc that hides the processes of others.
	root := t.TempDir()
	if err := os.Chmod(filepath.Dir(root), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Chmod(root, 0o755), os.Mkdir(root+"/proc", 0o755)); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("proc", root+"/proc", "proc", 0, "hidepid=2"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(root+"/proc", 0); err != nil {
			t.Error(err)
		}
	})
	gone := "process " + pid + ": " + ErrNotVisible.Error()
	// As one of whom no other test has a server.
	check("hidepid", looked(t, as{UID: nobody - 1}, append(env, "ROOT="+root)...), map[string][]string{
		"process":   {"error: " + gone},
		"io":        {"error: " + gone},
		"inventory": {"error: " + gone},
		"port":      {"error: port " + strconv.Itoa(s.Port) + ": no mysqld or mariadbd is to be seen, yet something else listens there"},
	})
}

// A server that root started and that then changed its user is closed to that
// user, who must not be told to become himself.
func TestRightsOfChangedUser(t *testing.T) {
	needRoot(t)
	pid := begin(t, as{All: true}, "change user")
	said := looked(t, as{UID: nobody}, "PID="+strconv.Itoa(pid), "PORT=1")
	want := fmt.Sprintf("error: /proc/%d/io: permission denied: the process changed its user, so that even this one needs CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH", pid)
	if got := said["io"]; !slices.Equal(got, []string{want}) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// containedChild acts as a server with mounts, a network and process numbers of its
// own.
func containedChild() error {
	dir := os.Getenv("DATADIR")
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, ""); err != nil {
		return err
	}
	if err := os.Chdir(dir); err != nil {
		return err
	}
	if err := os.WriteFile("log.index", []byte(dir+"/log.000001\n"+dir+"/log.000002\n"), 0o600); err != nil {
		return err
	}
	for _, name := range []string{"log.index", "log.000001", "log.000002", "ib_logfile0", "gone.000003"} {
		f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
		if err != nil {
			return err
		}
		defer f.Close()
		if name != "log.index" {
			fmt.Fprint(f, magic)
		}
	}
	if err := os.Remove("gone.000003"); err != nil {
		return err
	}
	for network, at := range map[string]string{"tcp": ":" + os.Getenv("PORT"), "unix": "sock"} {
		l, err := net.Listen(network, at)
		if err != nil {
			return err
		}
		defer l.Close()
	}
	return ready()
}

// A container is looked into from outside, where no path means the same.
func TestContained(t *testing.T) {
	needRoot(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"log.000002": "of another server", "log.index": dir + "/log.000002\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// A port that nobody has outside.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()

	who := as{All: true, Name: "mysqld", Namespaces: syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWPID}
	pid := begin(t, who, "contained", "DATADIR="+dir, "PORT="+strconv.Itoa(port))

	var h Host
	if got, err := h.FindByPort(port); err != nil || got != pid {
		t.Errorf("by port: got process %d, %v, want %d", got, err, pid)
	}
	if got, err := h.FindBySocket("sock"); err != nil || got != pid {
		t.Errorf("by socket: got process %d, %v, want %d", got, err, pid)
	}
	inside := h.pid(pid, "root", dir)
	if got, err := h.FindByDataDir(inside); err != nil || got != pid {
		t.Errorf("by data directory: got process %d, %v, want %d", got, err, pid)
	}
	if got, err := h.FindByDataDir(dir); err == nil {
		t.Errorf("by what has the same path outside: got process %d", got)
	}
	for _, target := range []Target{{PID: pid}, {PID: pid, DataDir: dir}, {PID: pid, DataDir: inside, BinlogIndex: dir + "/log.index"}} {
		v := newInventory(t, h, target)
		if v.DataDir() != inside || len(v.Refused()) > 0 {
			t.Errorf("%+v: data directory %s, refused %q, want %s and nothing", target, v.DataDir(), v.Refused(), inside)
		}
		want := []string{"binlog gone.000003", "binlog log.000001", "binlog log.000002", "redo ib_logfile0", "other ./", "other log.index"}
		got := slices.DeleteFunc(list(v), func(s string) bool { return strings.HasPrefix(s, "other /") }) // the test's own output
		if !slices.Equal(got, want) {
			t.Errorf("%+v: got %q, want %q", target, got, want)
		}
		wantBinlog(t, v, "log.000002", filepath.Join(inside, "log.000002"), 4)
		for _, f := range v.Files() {
			if idOf(t, f.Path) != f.ID {
				t.Errorf("%s is another file", f.Path)
			}
		}
		if _, err := v.Encrypted(v.Files()[0]); err != nil { // by the descriptor
			t.Error(err)
		}
	}
	f, err := h.FileSystem(filepath.Join(inside, "log.000002"))
	if err != nil || f.Type != "tmpfs" || f.Mount != dir {
		t.Errorf("file system: got %+v, %v, want tmpfs at %s", f, err, dir)
	}
	_, err = h.Disk(f.Dev)
	wantError(t, "disk", err, "on no disk of its own")
}
