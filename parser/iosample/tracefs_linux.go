package iosample

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// tracepoint is a place in the kernel that can be counted.
type tracepoint struct {
	name string // such as "ext4:ext4_sync_file_enter"
	id   uint64 // until the next boot
}

// tracefs is the file system in which the kernel lists its tracepoints. It is
// not safe for concurrent use.
type tracefs struct {
	fd  int
	dir string // as people know it
}

// openTracefs opens the tracefs at dir, or where dir is empty the one that is
// mounted, or else one of its own that no other process sees and that goes
// when it is closed.
func openTracefs(dir string) (*tracefs, error) {
	if dir == "" {
		mounts, err := os.ReadFile("/proc/self/mounts")
		if err != nil {
			return nil, err
		}
		if dir = tracefsMount(mounts); dir == "" {
			return mountTracefs()
		}
	}
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, unreadable(dir, err)
	}
	return &tracefs{fd: fd, dir: dir}, nil
}

// tracefsMount finds where tracefs is in a table of mounts, "" where it is not.
// A debugfs has one inside, which the kernel mounts when it is looked for.
func tracefsMount(mounts []byte) string {
	var inDebugfs string
	for line := range bytes.Lines(mounts) {
		// proc_pid_mounts(5): device, mount point, type, with blanks as octal numbers.
		f := strings.Fields(string(line))
		if len(f) < 3 {
			continue
		}
		dir := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(f[1])
		switch f[2] {
		case "tracefs":
			return dir
		case "debugfs":
			inDebugfs = dir + "/tracing"
		}
	}
	return inDebugfs
}

// mountTracefs makes a mount that is in no table and no directory, so that the
// system stays as it was.
func mountTracefs() (*tracefs, error) {
	ctx, err := unix.Fsopen("tracefs", unix.FSOPEN_CLOEXEC)
	if errors.Is(err, unix.ENODEV) {
		return nil, errors.New("the kernel has no tracefs: it was built without CONFIG_TRACING")
	}
	if err == nil {
		defer func() { _ = unix.Close(ctx) }()
		err = unix.FsconfigCreate(ctx)
	}
	var fd int
	if err == nil {
		const attr = unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOEXEC
		fd, err = unix.Fsmount(ctx, unix.FSMOUNT_CLOEXEC, attr)
	}
	if err != nil {
		// ENOSYS before Linux 5.2, EPERM without CAP_SYS_ADMIN: the remedy is the same.
		return nil, fmt.Errorf("tracefs is not mounted: mount -t tracefs tracefs /sys/kernel/tracing (mounting it here: %w)", err)
	}
	return &tracefs{fd: fd, dir: "tracefs"}, nil
}

// find looks up a tracepoint by its group and name, such as
// "ext4:ext4_sync_file_enter".
func (t *tracefs) find(name string) (tracepoint, error) {
	group, event, _ := strings.Cut(name, ":")
	path := "events/" + group + "/" + event + "/id"
	full := t.dir + "/" + path
	fd, err := unix.Openat(t.fd, path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if errors.Is(err, fs.ErrNotExist) {
		why := ""
		if group == "syscalls" {
			why = ", which was built without CONFIG_FTRACE_SYSCALLS"
		}
		return tracepoint{}, fmt.Errorf("%s: %w: no tracepoint %s in this kernel%s", full, err, name, why)
	}
	if err != nil {
		return tracepoint{}, unreadable(full, err)
	}
	f := os.NewFile(uintptr(fd), full)
	defer f.Close()
	b := make([]byte, 32)
	n, err := f.Read(b)
	if err != nil {
		return tracepoint{}, err
	}
	id, err := strconv.ParseUint(string(bytes.TrimSpace(b[:n])), 10, 32)
	if err != nil {
		return tracepoint{}, fmt.Errorf("%s: got %q and want a number", full, b[:n])
	}
	return tracepoint{name: name, id: id}, nil
}

func (t *tracefs) close() { _ = unix.Close(t.fd) }

// unreadable says what would let path in tracefs be read. Its files are
// readable by their group, whatever the mode that tracefs is mounted with: that
// one is of the root directory only.
func unreadable(path string, err error) error {
	switch {
	case errors.Is(err, unix.EACCES):
		return fmt.Errorf("%s: %w: needs CAP_DAC_READ_SEARCH, or a tracefs mounted with gid=%d,mode=0750", path, err, os.Getegid())
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("%s: %w: the kernel is locked down for confidentiality", path, err)
	}
	return fmt.Errorf("%s: %w", path, err)
}
