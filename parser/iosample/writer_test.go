//go:build linux

package iosample

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// children are what this test binary does where a test starts it again, by
// name. What they print is their result.
var children = map[string]func() error{
	"writer":      writerChild,
	"perf":        perfChild,
	"open":        openChild,
	"look":        lookChild,
	"change user": changeUserChild,
	"contained":   containedChild,
}

// The first thread is kept by the main goroutine, which runs no test: it never
// ends before the process does, and what it gives up /proc/self shows of all.
func init() { runtime.LockOSThread() }

// TestChild is where a child begins; see startAs.
func TestChild(t *testing.T) {
	name := os.Getenv("IOSAMPLE_CHILD")
	if name == "" {
		return
	}
	if children[name] == nil {
		t.Fatalf("no child %q", name)
	}
	if err := children[name](); err != nil {
		fmt.Fprintln(os.Stderr, name+":", err)
		os.Exit(1)
	}
	os.Exit(0) // before package testing prints its own result
}

// as is whom a child runs as.
type as struct {
	UID        int
	Caps       []uintptr // its only capabilities
	All        bool      // all capabilities, of root
	Name       string    // that it is called by, such as mysqld
	Namespaces uintptr   // of its own, CLONE_NEW...
	NoTracefs  bool      // in a mount namespace without tracefs
	// Mounts is done in a mount namespace of its own, before any right is given
	// up.
	Mounts func() error
}

// child is this test binary, started again.
type child struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	errors bytes.Buffer
}

// startAs starts the child of that name, which is killed when the test ends.
func startAs(t *testing.T, who as, name string, env ...string) *child {
	t.Helper()
	needRoot(t)
	c := &child{cmd: exec.Command("/proc/self/exe", "-test.run=^TestChild$")}
	c.cmd.Env = append(os.Environ(), append(env, "IOSAMPLE_CHILD="+name)...)
	c.cmd.Stderr = &c.errors
	c.cmd.Dir = "/"
	if who.Name != "" {
		c.cmd.Args[0] = who.Name
	}
	c.cmd.SysProcAttr = &syscall.SysProcAttr{
		Credential: &syscall.Credential{Uid: uint32(who.UID), Gid: uint32(who.UID)}, Cloneflags: who.Namespaces,
	}
	if who.UID != 0 {
		c.cmd.SysProcAttr.AmbientCaps = who.Caps
	}
	in, err1 := c.cmd.StdinPipe()
	out, err2 := c.cmd.StdoutPipe()
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	c.in, c.out = in, bufio.NewReader(out)

	// What a thread gives up its children do not have. The thread itself ends
	// with the goroutine, since that never lets go of it; see init.
	errs := make(chan error)
	go func() {
		runtime.LockOSThread()
		errs <- func() error {
			if unix.Gettid() == os.Getpid() {
				return errors.New("the process would give up what its child shall")
			}
			if who.NoTracefs || who.Mounts != nil {
				if err := ownMounts(); err != nil {
					return err
				}
			}
			if who.NoTracefs {
				if err := leaveTracefs(); err != nil {
					return err
				}
			}
			if who.Mounts != nil {
				if err := who.Mounts(); err != nil {
					return err
				}
			}
			if !who.All {
				if err := giveUp(who.Caps); err != nil {
					return err
				}
			}
			return c.cmd.Start()
		}()
	}()
	if err := <-errs; err != nil {
		t.Fatalf("start %s as %+v: %v", name, who, err)
	}
	t.Cleanup(func() {
		if c.cmd.ProcessState == nil {
			c.cmd.Process.Kill()
			c.cmd.Wait()
		}
	})
	return c
}

// runAs runs the child of that name to its end and returns what it printed.
func runAs(t *testing.T, who as, name string, env ...string) string {
	t.Helper()
	c := startAs(t, who, name, env...)
	return strings.TrimSpace(string(c.end(t)))
}

// line reads a line that the child prints.
func (c *child) line(t *testing.T) string {
	t.Helper()
	line, err := c.out.ReadString('\n')
	if err != nil {
		c.cmd.Wait()
		t.Fatalf("child: %v: %s", err, &c.errors)
	}
	return strings.TrimSpace(line)
}

// end closes the child's input, waits for it and returns the rest of what it
// printed.
func (c *child) end(t *testing.T) []byte {
	t.Helper()
	c.in.Close()
	out, err := io.ReadAll(c.out)
	if err := c.cmd.Wait(); err != nil {
		t.Fatalf("child: %v: %s", err, &c.errors)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// giveUp has the children of this thread have no capabilities but these.
func giveUp(but []uintptr) error {
	keep := map[uintptr]bool{}
	for _, c := range but {
		keep[c] = true
	}
	for c := range uintptr(64) {
		if keep[c] {
			continue
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err == unix.EINVAL {
			break // behind the last that this kernel knows
		} else if err != nil {
			return fmt.Errorf("give up capability %d: %w", c, err)
		}
	}
	return nil
}

// ownMounts gives this thread, and its children, a table of mounts of its own.
func ownMounts() error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("leave the mount namespace: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	return nil
}

// leaveTracefs takes tracefs out of this thread's own mounts.
func leaveTracefs() error {
	mounts, err := os.ReadFile("/proc/thread-self/mounts")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(mounts)) {
		// A debugfs has a tracefs inside.
		if f := strings.Fields(line); f[2] == "tracefs" || f[2] == "debugfs" {
			if err := unix.Unmount(f[1], unix.MNT_DETACH); err != nil {
				return fmt.Errorf("unmount %s: %w", f[1], err)
			}
		}
	}
	return nil
}

// lacks skips a test for what is missing, or fails it where nothing may be.
func lacks(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal("needs " + what)
	}
	t.Skip("needs " + what)
}

func needRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		lacks(t, "root")
	}
}

// publicDir makes a directory that all users may write to. Those of package
// testing are closed to others.
func publicDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "bgcstat-iosample-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

// writerOptions are how much is written.
type writerOptions struct {
	Rate     int           // syncs a second, to each of two files
	Duration time.Duration // with Rate: how many syncs; a slow disk makes it longer
	Rotate   bool          // have a second binlog after half of it
	Strays   int           // syncs of a third file at the end, by a new thread
	UID      int
}

// writer is a process that writes and syncs as a server does: one thread
// appends to a binlog and calls fdatasync, one overwrites a redo log and calls
// fsync. It is called mysqld, and works in its data directory.
type writer struct {
	PID     int
	Binlogs []string // paths; the second one is there after the rotation
	Redo    string
	Stray   string

	child *child
	done  chan struct{} // closed when all is written
	line  string        // what it then printed
	err   error
}

// startWriter starts one in dir and returns when its first files are there and
// nothing is synced yet.
func startWriter(t *testing.T, dir string, o writerOptions) *writer {
	t.Helper()
	opts, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	w := newWriter(dir, o)
	w.child = startAs(t, as{UID: o.UID, Name: "mysqld"}, "writer", "IOSAMPLE_DIR="+dir, "IOSAMPLE_WRITER="+string(opts))
	w.PID = w.child.cmd.Process.Pid
	if got := w.child.line(t); got != "ready" {
		t.Fatalf("writer said %q", got)
	}
	return w
}

func newWriter(dir string, o writerOptions) *writer {
	w := &writer{
		Binlogs: []string{filepath.Join(dir, "binlog.000001")},
		Redo:    filepath.Join(dir, "ib_logfile0"), Stray: filepath.Join(dir, "stray"),
		done: make(chan struct{}),
	}
	if o.Rotate {
		w.Binlogs = append(w.Binlogs, filepath.Join(dir, "binlog.000002"))
	}
	return w
}

// Go lets it write.
func (w *writer) Go(t *testing.T) {
	t.Helper()
	if _, err := io.WriteString(w.child.in, "go\n"); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(w.done)
		w.line, w.err = w.child.out.ReadString('\n')
	}()
}

// Done waits until all is written, and returns the syncs that the writer
// counted, by path. The process is still there.
func (w *writer) Done(t *testing.T) map[string]int64 {
	t.Helper()
	<-w.done
	if w.err != nil {
		w.child.cmd.Wait()
		t.Fatalf("writer: %v: %s", w.err, &w.child.errors)
	}
	var counts map[string]int64
	if err := json.Unmarshal([]byte(w.line), &counts); err != nil {
		t.Fatal(err)
	}
	return counts
}

// Wait has the process end. Done must be called first.
func (w *writer) Wait(t *testing.T) {
	t.Helper()
	w.child.end(t)
}

// writerChild is the writer's own process.
func writerChild() error {
	var o writerOptions
	if err := json.Unmarshal([]byte(os.Getenv("IOSAMPLE_WRITER")), &o); err != nil {
		return err
	}
	w := newWriter(os.Getenv("IOSAMPLE_DIR"), o)
	if err := os.Chdir(os.Getenv("IOSAMPLE_DIR")); err != nil {
		return err
	}
	// A server that is started again goes on.
	binlog, err := os.OpenFile(w.Binlogs[0], os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	index, err := os.Create("binlog.index")
	if err == nil {
		_, err = fmt.Fprintln(index, "./"+filepath.Base(w.Binlogs[0]))
	}
	if err != nil {
		return err
	}
	redo, err := os.Create(w.Redo)
	if err != nil {
		return err
	}
	in := bufio.NewReader(os.Stdin)
	fmt.Fprintln(os.Stdout, "ready")
	if _, err := in.ReadString('\n'); err != nil {
		return err
	}

	total := int(int64(o.Rate) * int64(o.Duration) / int64(time.Second))
	start := time.Now()
	pace := func(i int) { time.Sleep(time.Until(start.Add(time.Duration(i) * time.Second / time.Duration(o.Rate)))) }
	block := bytes.Repeat([]byte{'x'}, 512)
	var binlogs [2]int64
	var redos int64
	var err1, err2 error
	var wg sync.WaitGroup
	wg.Go(func() {
		runtime.LockOSThread()
		for i := range total {
			pace(i)
			if o.Rotate && i == total/2 {
				// The descriptor keeps its number, as that of MySQL does.
				fd := int(binlog.Fd())
				next, err := unix.Open(w.Binlogs[1], unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o644)
				if err == nil {
					err = unix.Dup3(next, fd, unix.O_CLOEXEC)
					unix.Close(next)
				}
				if err == nil {
					_, err = fmt.Fprintln(index, "./"+filepath.Base(w.Binlogs[1]))
				}
				if err1 = err; err1 != nil {
					return
				}
			}
			if _, err1 = binlog.Write(block); err1 != nil {
				return
			}
			if err1 = unix.Fdatasync(int(binlog.Fd())); err1 != nil {
				return
			}
			if o.Rotate && i >= total/2 {
				binlogs[1]++
			} else {
				binlogs[0]++
			}
		}
	})
	wg.Go(func() {
		runtime.LockOSThread()
		for i := range total {
			pace(i)
			if _, err2 = redo.WriteAt(block, int64(i%64)*512); err2 != nil {
				return
			}
			if err2 = redo.Sync(); err2 != nil {
				return
			}
			redos++
		}
	})
	wg.Wait()
	counts := map[string]int64{w.Binlogs[0]: binlogs[0], w.Redo: redos}
	if o.Rotate {
		counts[w.Binlogs[1]] = binlogs[1]
	}
	var err3 error
	if o.Strays > 0 {
		stray, err := os.Create(w.Stray)
		if err != nil {
			return err
		}
		wg.Go(func() {
			runtime.LockOSThread()
			for range o.Strays {
				if err3 = stray.Sync(); err3 != nil {
					return
				}
				counts[w.Stray]++
			}
		})
		wg.Wait()
	}
	for _, err := range []error{err1, err2, err3} {
		if err != nil {
			return err
		}
	}
	out, err := json.Marshal(counts)
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, string(out))
	fmt.Fprintln(os.Stderr, "rate "+strconv.FormatFloat(float64(total)/time.Since(start).Seconds(), 'f', 0, 64)+" a second")
	_, err = io.Copy(io.Discard, in) // until it may end
	return err
}
