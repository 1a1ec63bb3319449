package iosample

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// ErrNotVisible is the error where /proc does not show a process: it has
// ended, or /proc is mounted so that it hides the processes of others.
var ErrNotVisible = errors.New("no such process, or hidden by hidepid")

// What it takes to look into the process of another user. Its links (exe, cwd,
// root) ask for the right to trace it only; the directory fd and the file io
// are closed to others as files are, too.
const (
	needsTrace = "CAP_SYS_PTRACE"
	needsFiles = "CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH"
)

// Host reads one machine's /proc and /sys. It keeps nothing between calls and
// may be used by several goroutines.
type Host struct {
	// Root goes before /proc and /sys: "" for this machine. Other paths are
	// taken as they are given.
	Root string
}

// Name gives the name of the machine, or "" where it cannot be read.
func (h Host) Name() string { return h.kernel("hostname") }

// BootID tells one boot of the machine from the next; "" where it cannot be read.
func (h Host) BootID() string { return h.kernel("random/boot_id") }

// Kernel gives the release of the kernel, such as "6.18.44"; "" where it cannot
// be read.
func (h Host) Kernel() string { return h.kernel("osrelease") }

func (h Host) kernel(name string) string {
	b, err := os.ReadFile(h.Root + "/proc/sys/kernel/" + name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// pid gives the path of a process's directory, or of what is in it.
func (h Host) pid(pid int, name ...string) string {
	return filepath.Join(append([]string{h.Root + "/proc", strconv.Itoa(pid)}, name...)...)
}

// refusal says why something of a process could not be read: [ErrNotVisible]
// where the process is not there, and what is missing where it may not be read.
func (h Host) refusal(pid int, path string, err error, needs string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrPermission):
		// A process that began as root and then changed its user is closed to
		// that user as well (prctl(2), PR_SET_DUMPABLE).
		if h.ours(pid) {
			return fmt.Errorf("%s: %w: the process changed its user, so that even this one needs %s", path, bare(err), needs)
		}
		return fmt.Errorf("%s: %w: needs the server's own user, or %s", path, bare(err), needs)
	case errors.Is(err, syscall.ESRCH), errors.Is(err, fs.ErrNotExist):
		// A lone file may be missing on an odd kernel.
		if _, gone := os.Stat(h.pid(pid)); gone != nil || errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("process %d: %w", pid, ErrNotVisible)
		}
	}
	return fmt.Errorf("%s: %w", path, bare(err))
}

// ours is whether the process runs as the user of this one.
func (h Host) ours(pid int) bool {
	b, err := os.ReadFile(h.pid(pid, "status"))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(b)) {
		// Real, effective, saved and file system user.
		if f := strings.Fields(line); len(f) > 2 && f[0] == "Uid:" {
			return f[2] == strconv.Itoa(os.Geteuid())
		}
	}
	return false
}

// bare takes the path out of an error that will be printed behind it.
func bare(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}
