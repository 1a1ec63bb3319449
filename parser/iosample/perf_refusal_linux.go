package iosample

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// rights are what the kernel goes by when it lets a process count, or not.
type rights struct {
	uid      int    // effective
	caps     uint64 // effective, a bit each
	paranoid int    // kernel.perf_event_paranoid
	kernel   string // release, such as "6.1.0-18-amd64"
}

// ownRights are those of this process. What cannot be found out is as the
// kernel has it by default.
func ownRights() rights {
	r := rights{uid: os.Geteuid(), paranoid: 2}
	var data [2]unix.CapUserData
	if unix.Capget(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &data[0]) == nil {
		r.caps = uint64(data[0].Effective) | uint64(data[1].Effective)<<32
	}
	if b, err := os.ReadFile("/proc/sys/kernel/perf_event_paranoid"); err == nil {
		if n, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil {
			r.paranoid = n
		}
	}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		r.kernel = unix.ByteSliceToString(u.Release[:])
	}
	return r
}

// capability is the one that lets a process count everything, and whether this
// one has it. Before CAP_PERFMON, of Linux 5.8, it was CAP_SYS_ADMIN, which
// still will do.
func (r rights) capability() (name string, held bool) {
	name = "CAP_PERFMON"
	var major, minor int
	if n, _ := fmt.Sscanf(r.kernel, "%d.%d", &major, &minor); n == 2 && (major < 5 || major == 5 && minor < 8) {
		name = "CAP_SYS_ADMIN"
	}
	return name, r.caps&(1<<unix.CAP_PERFMON|1<<unix.CAP_SYS_ADMIN) != 0
}

// explain says why perf_event_open refused to count event, and what would
// help. pid is the process that was to be counted, whose user is owner, or 0
// for all processes on a CPU. inKernel is whether the kernel's own part of the
// process was to be counted, too.
func (r rights) explain(event string, pid, owner int, inKernel bool, err error) error {
	what := "perf_event_open " + event
	if pid != 0 {
		what += " of process " + strconv.Itoa(pid)
	}
	name, held := r.capability()
	need := func(paranoid int) error {
		return fmt.Errorf("%s: %w: needs %s, or kernel.perf_event_paranoid at most %d (it is %d)", what, err, name, paranoid, r.paranoid)
	}
	// Linux, kernel/events/core.c and Documentation/admin-guide/sysctl/kernel.rst;
	// levels above 2 are of Debian and its kin.
	switch {
	case errors.Is(err, unix.ENOSYS):
		return fmt.Errorf("%s: %w: the kernel was built without CONFIG_PERF_EVENTS", what, err)
	case errors.Is(err, unix.EMFILE):
		return fmt.Errorf("%s: %w: one is needed for each file and CPU, and for each thread: raise the hard limit (ulimit -Hn)", what, err)
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("%s: %w: forbidden by the container's seccomp profile, or the kernel is locked down for confidentiality", what, err)
	case !errors.Is(err, unix.EACCES):
		return fmt.Errorf("%s: %w", what, err)
	case held:
		return fmt.Errorf("%s: %w: %s does not count inside a user namespace", what, err, name)
	case r.paranoid > 2:
		return need(2)
	case pid == 0:
		return need(0)
	case inKernel && r.paranoid > 1:
		return need(1)
	case owner != r.uid:
		return fmt.Errorf("%s: %w: it runs as user %d, and this is user %d: needs that user, or %s", what, err, owner, r.uid, name)
	}
	// As a server is that root started and that then gave up its rights.
	return fmt.Errorf("%s: %w: it is closed to its own user: needs %s", what, err, name)
}
