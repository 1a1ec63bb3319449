// Package servertest starts real MySQL and MariaDB servers for tests.
//
//	s := servertest.Start(t, servertest.MySQL97, "--sync-binlog=1")
//	s.Exec(t, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY); INSERT INTO d.t VALUES (1)")
//	s.Stop(t) // closes the log: STOP event written, in-use flag cleared
//	files := s.Binlogs(t)
//	text := s.Binlog(t, files...)
//
// A server lives in a fresh directory of its own, listens on a random port of 127.0.0.1 and on a socket, has the binlog on,
// server id 1 and user root without a password, and everything else at its own defaults. Any number of servers may run at
// once, of one kind or of several, in one test process or in several. Each is killed and its directory removed when the
// test that started it ends; if the test process dies first, the kernel kills the server, and the next Start on the machine
// removes what it left on disk.
//
// MySQL 9.7 and MariaDB 11.8 run in directory trees of their own, entered by chroot, which needs root. MariaDB 10.11 is the
// one in PATH. Where a server is missing the test is skipped with the reason; with CI=true in the environment it fails.
//
// The first Start of a kind on a machine initialises a data directory (2 to 5 s); it is kept in the temporary directory and
// copied from then on, so that a start costs about a second.
//
// Only tests import this package. It has no dependency outside the standard library, so that it may test any package of ours.
package servertest

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// startTimeout bounds the wait for a server's first answer and for its clean shutdown: far more than either takes, also where
// others keep the disk busy.
const startTimeout = 3 * time.Minute

// Server is a running server. Its methods may be called from several goroutines, but those that take a testing.TB end the
// test on failure and so belong into the test's own goroutine; Query is the one for others.
type Server struct {
	Kind    Kind
	Port    int    // on 127.0.0.1
	Socket  string // host path; for clients outside the server's own tree too
	DataDir string // host path; holds the binlogs
	PID     int    // of the server process, as the host sees it: what /proc names

	inst     install
	dir      string        // host path of all that is this server's; DataDir and Socket lie in it
	argv     []string      // of the server process
	cmd      *exec.Cmd     // the server process
	done     chan struct{} // closed when the process has ended; err is set before
	err      error         // how it ended
	errorLog string        // host path
}

// Start starts a server of the given kind with args added to its command line (later options win over earlier ones, so args
// may override any of the package's own but --datadir, --socket, --port, --log-bin and --log-error), and returns when it
// answers. It skips or fails the test as the package comment says.
func Start(t testing.TB, kind Kind, args ...string) *Server {
	t.Helper()
	inst, err := find(kind)
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%v: %v", kind, err)
		}
		t.Skipf("needs a server, %v: %v", kind, err)
	}
	removeStale(inst.tmp)
	template, err := inst.template()
	if err != nil {
		t.Fatalf("%v: initialise a data directory: %v", kind, err)
	}
	// Another process may take the port between freePort and the server's own bind: try again then.
	for try := 1; ; try++ {
		s, err := start(inst, template, args)
		if err == nil {
			t.Cleanup(s.remove)
			return s
		}
		if try == 3 || !errors.Is(err, syscall.EADDRINUSE) {
			t.Fatalf("%v: %v", kind, err)
		}
	}
}

// start copies the template and starts a server in the copy. On error nothing is left behind.
func start(inst install, template string, args []string) (_ *Server, err error) {
	// The process id in the name lets removeStale see whether the directory still has an owner.
	dir, err := os.MkdirTemp(inst.tmp, runPrefix+strconv.Itoa(os.Getpid())+"-")
	if err != nil {
		return nil, err
	}
	s := &Server{
		Kind:     inst.kind,
		Socket:   filepath.Join(dir, "sock"),
		DataDir:  filepath.Join(dir, "data"),
		inst:     inst,
		dir:      dir,
		errorLog: filepath.Join(dir, "error.log"),
	}
	defer func() {
		if err != nil {
			s.remove()
		}
	}()
	if err := copyTree(s.DataDir, template); err != nil {
		return nil, err
	}
	if s.Port, err = freePort(); err != nil {
		return nil, err
	}
	argv := append(inst.serverArgs(),
		"--datadir="+inst.inside(s.DataDir),
		"--socket="+inst.inside(s.Socket),
		"--port="+strconv.Itoa(s.Port),
		"--bind-address=127.0.0.1",
		"--pid-file="+inst.inside(filepath.Join(dir, "pid")),
		"--log-error="+inst.inside(s.errorLog),
		"--server-id=1",
		"--log-bin="+inst.logBin,
	)
	s.argv = append(argv, args...)
	return s, s.launch()
}

// launch starts the server process and waits until it answers.
func (s *Server) launch() error {
	s.done = make(chan struct{})
	s.cmd = s.inst.command(s.inst.server, s.argv...)
	// What the server says before it opens its error log (an unknown option, say) goes to the same file.
	early, err := os.OpenFile(s.errorLog, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer early.Close()
	s.cmd.Stdout, s.cmd.Stderr = early, early

	started := make(chan error)
	go func() {
		// The parent-death signal is sent when the thread that forked ends, not the process. This thread stays with the
		// child until the child is gone.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := s.cmd.Start()
		started <- err
		if err == nil {
			s.err = s.cmd.Wait()
			close(s.done)
		}
	}()
	if err := <-started; err != nil {
		s.cmd = nil
		return err
	}
	s.PID = s.cmd.Process.Pid
	return s.wait()
}

// wait returns when the server answers, or with the reason why it never will.
func (s *Server) wait() error {
	for deadline := time.Now().Add(startTimeout); ; {
		select {
		case <-s.done:
			log, _ := os.ReadFile(s.errorLog)
			err := fmt.Errorf("server ended at start: %w\n%s", s.err, tail(log, 2000))
			if bytes.Contains(log, []byte("ddress already in use")) {
				err = fmt.Errorf("%w: %w", syscall.EADDRINUSE, err)
			}
			return err
		case <-time.After(20 * time.Millisecond):
		}
		// A client is started only when somebody listens: starting one is the dear part.
		conn, err := net.Dial("unix", s.Socket)
		if err == nil {
			conn.Close()
			if _, err = s.Query("SELECT 1"); err == nil {
				return nil
			}
		}
		if time.Now().After(deadline) {
			log, _ := os.ReadFile(s.errorLog)
			return fmt.Errorf("no answer after %v: %w\n%s", startTimeout, err, tail(log, 2000))
		}
	}
}

// Addr returns the host and port that the server listens on.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.Port)) }

// Exec runs sql (one or more statements, ended by semicolons, in one session) through the server's own client and returns
// what it prints: rows as tab-separated lines without headings. The test fails at the first statement that fails.
func (s *Server) Exec(t testing.TB, sql string) string {
	t.Helper()
	out, err := s.Query(sql)
	if err != nil {
		t.Fatalf("%v: %v", s.Kind, err)
	}
	return out
}

// Query is Exec with an error instead of a failed test, for use from any goroutine.
func (s *Server) Query(sql string) (string, error) {
	// --no-defaults must be first. Statements go through standard input: they may be longer than an argument may be.
	cmd := s.inst.command(s.inst.client, "--no-defaults", "--user=root", "--socket="+s.inst.inside(s.Socket),
		"--default-character-set=utf8mb4", "--batch", "--skip-column-names")
	cmd.Stdin = strings.NewReader(sql)
	return output(cmd)
}

// Binlogs returns the host paths of the server's binlog files in log order: those that its index file names. It also works
// on a stopped server.
func (s *Server) Binlogs(t testing.TB) []string {
	t.Helper()
	index, err := os.ReadFile(filepath.Join(s.DataDir, s.inst.logBin+".index"))
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for name := range strings.Lines(string(index)) {
		files = append(files, filepath.Join(s.DataDir, filepath.Base(strings.TrimSpace(name))))
	}
	return files
}

// AwaitCheckpoint waits until MariaDB has written to its newest log that it needs none before it any more. It does that by
// itself, within the second or so in which it flushes its redo log, so that a log that was just begun grows once more. MySQL
// has no such event.
func (s *Server) AwaitCheckpoint(t testing.TB) {
	t.Helper()
	if s.Kind.MySQL() {
		return
	}
	logs := s.Binlogs(t)
	newest := filepath.Base(logs[len(logs)-1])
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		events := s.Exec(t, "SHOW BINLOG EVENTS IN '"+newest+"'")
		for line := range strings.Lines(events) {
			// Log, position, type, server, end, info: which names the log.
			if f := strings.Fields(line); len(f) == 6 && f[2] == "Binlog_checkpoint" && f[5] == newest {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("no checkpoint in %s:\n%s", newest, events)
		}
	}
}

// Binlog runs the server's own mysqlbinlog or mariadb-binlog with args, options and files, and returns what it prints. Files
// are host paths, inside the server's tree or not. Options that connect need the user and the socket:
// "--read-from-remote-server", "--user=root", "--socket="+s.Socket. It works on a stopped server for files.
func (s *Server) Binlog(t testing.TB, args ...string) string {
	t.Helper()
	args = slices.Clone(args)
	for i, arg := range args {
		// The tool sees the server's tree only: give it a copy of what lies outside.
		if s.inst.root != "" && filepath.IsAbs(arg) && !strings.HasPrefix(arg, s.inst.root+"/") {
			sub, err := os.MkdirTemp(s.dir, "in-")
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(sub)
			arg = filepath.Join(sub, filepath.Base(arg))
			if err := copyFile(arg, args[i]); err != nil {
				t.Fatal(err)
			}
		}
		args[i] = s.inst.inside(arg)
	}
	out, err := output(s.inst.command(s.inst.binlog, append([]string{"--no-defaults"}, args...)...))
	if err != nil {
		t.Fatalf("%v: %v", s.Kind, err)
	}
	return out
}

// Stop shuts the server down cleanly and returns when it has ended: its logs are closed then. Its files stay until the test
// ends. Stopping a stopped server does nothing.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	// An error means that it has ended already.
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.done:
	case <-time.After(startTimeout):
		t.Fatalf("%v: still running %v after SIGTERM", s.Kind, startTimeout)
	}
}

// Kill ends the server at once, as a crash would, and returns when it has ended: its last log keeps the in-use flag and has
// no STOP event. Its files stay until the test ends.
func (s *Server) Kill() {
	_ = s.cmd.Process.Kill()
	<-s.done
}

// Restart starts a stopped or killed server again, on the same port and files; PID changes.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	if err := s.launch(); err != nil {
		t.Fatalf("%v: %v", s.Kind, err)
	}
}

// remove kills the server, if it was ever started, and removes its files.
func (s *Server) remove() {
	if s.cmd != nil && s.cmd.Process != nil {
		s.Kill()
	}
	_ = os.RemoveAll(s.dir)
}

// output runs cmd and returns its standard output; an error holds the end of its standard error.
func output(cmd *exec.Cmd) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w: %s", filepath.Base(cmd.Path), err, tail(stderr.Bytes(), 2000))
	}
	return stdout.String(), nil
}

// freePort returns a TCP port of 127.0.0.1 that was free a moment ago.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// tail returns at most the last n bytes of b.
func tail(b []byte, n int) []byte {
	b = bytes.TrimSpace(b)
	return b[max(0, len(b)-n):]
}
