package iosample

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bgcstat/parser/servertest"
)

// A refusal names what is missing, on one line. Each row runs as somebody who
// lacks something, and what he gets is what the kernel gave.
func TestRefusals(t *testing.T) {
	paranoid := ownRights().paranoid
	if paranoid < 1 {
		lacks(t, fmt.Sprintf("kernel.perf_event_paranoid of 1 or more: at %d everyone may count", paranoid))
	}
	ids, closed := tracepointIDs(t), tracepointIDs(t)
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	dir := publicDir(t)
	others := startWriter(t, dir, writerOptions{})
	own := startWriter(t, publicDir(t), writerOptions{UID: nobody})

	const (
		byFile = "ext4:ext4_sync_file_enter"
		byCall = "system calls fsync and fdatasync"
	)
	denied := func(event string, level int) string {
		return fmt.Sprintf("perf_event_open %s: permission denied: needs CAP_PERFMON, or kernel.perf_event_paranoid at most %d (it is %d)", event, min(level, 2), paranoid)
	}
	// Where no user may count anything, as Debian has it, the second way is
	// refused, too.
	calls := func(why string, pid int) string {
		if paranoid > 2 {
			return "refused: " + why + "; " + denied(fmt.Sprint("syscalls:sys_enter_fsync of process ", pid), 2)
		}
		return byCall + "\nrefused: " + why
	}
	files := denied(byFile, 0)
	notOwn := fmt.Sprintf("perf_event_open syscalls:sys_enter_fsync of process %d: permission denied: it runs as user 0, and this is user %d: needs that user, or CAP_PERFMON", others.PID, nobody)
	if paranoid > 2 {
		files = denied(byFile, 2)
		notOwn = denied(fmt.Sprint("syscalls:sys_enter_fsync of process ", others.PID), 2)
	}
	// Tracefs, the process and a counter have room, and there is a second one.
	tooMany := func(event string) string {
		return fmt.Sprintf("perf_event_open %s of process %d: too many open files: one is needed for each file and CPU, and for each thread: raise the hard limit (ulimit -Hn)", event, others.PID)
	}
	const gone = 1<<22 + 1 // there is no higher number than 1<<22
	noTracefs := "refused: tracefs is not mounted: mount -t tracefs tracefs /sys/kernel/tracing (mounting it here: operation not permitted)"
	unreadable := func(name string) string {
		return fmt.Sprintf("%s/events/%s/id: permission denied: needs CAP_DAC_READ_SEARCH, or a tracefs mounted with gid=%d,mode=0750", closed, name, nobody)
	}

	for _, row := range []struct {
		name    string
		who     as
		source  string
		pid     int
		tracefs string
		env     string
		want    string
	}{
		{
			name: "a user, no tracefs", source: "perf", who: as{UID: nobody, NoTracefs: true}, pid: own.PID,
			want: noTracefs,
		},
		{
			name: "root without CAP_SYS_ADMIN, no tracefs", source: "perf", who: as{NoTracefs: true}, pid: others.PID,
			want: noTracefs,
		},
		{
			name: "root, no tracefs", source: "perf", who: as{All: true, NoTracefs: true}, pid: others.PID,
			want: byFile,
		},
		{
			name: "a user, tracefs closed", source: "perf", who: as{UID: nobody}, pid: own.PID, tracefs: closed,
			want: "refused: " + unreadable("ext4/ext4_sync_file_enter") + "; " + unreadable("syscalls/sys_enter_fsync"),
		},
		{
			name: "CAP_DAC_READ_SEARCH, tracefs closed", source: "perf", who: as{UID: nobody, Caps: []uintptr{unix.CAP_DAC_READ_SEARCH}}, pid: own.PID, tracefs: closed,
			want: calls(files, own.PID),
		},
		{
			name: "a user, own process", source: "perf", who: as{UID: nobody}, pid: own.PID, tracefs: ids,
			want: calls(files, own.PID),
		},
		{
			name: "root without CAP_PERFMON", source: "perf", who: as{}, pid: others.PID, tracefs: ids,
			want: calls(files, others.PID),
		},
		{
			name: "a user, another's process", source: "perf", who: as{UID: nobody}, pid: others.PID, tracefs: ids,
			want: "refused: " + files + "; " + notOwn,
		},
		{
			name: "CAP_PERFMON, another's process", source: "perf", who: as{UID: nobody, Caps: []uintptr{unix.CAP_PERFMON}}, pid: others.PID, tracefs: ids,
			want: byFile,
		},
		{
			name: "a user, overlay", source: "perf", who: as{UID: nobody}, pid: own.PID, tracefs: ids, env: "IOSAMPLE_FSTYPE=overlay",
			want: calls("overlay has no sync tracepoint; ext4 and xfs have one", own.PID),
		},
		{
			name: "root, no process", source: "perf", who: as{All: true}, pid: gone, tracefs: ids,
			want: fmt.Sprintf("refused: process %d is not there, or is hidden by the mount option hidepid of /proc", gone),
		},
		{
			name: "root, few descriptors", source: "perf", who: as{All: true}, pid: others.PID, tracefs: ids, env: "IOSAMPLE_NOFILE=3",
			want: "refused: " + tooMany(byFile) + "; " + tooMany("syscalls:sys_enter_fdatasync"),
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			env := append(perfEnv(row.pid, dir, row.tracefs, "open"), row.env)
			got := runAs(t, row.who, row.source, env...)
			if got != row.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, row.want)
			}
		})
	}
}

// withTracefs mounts tracefs where it belongs, for root alone as it is by
// default.
func withTracefs() error {
	if err := leaveTracefs(); err != nil {
		return err
	}
	return unix.Mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, "")
}

func withoutBTF() error {
	return errors.Join(withTracefs(), unix.Mount("tmpfs", "/sys/kernel/btf", "tmpfs", 0, ""))
}

func withHidepid() error {
	return errors.Join(withTracefs(), unix.Mount("proc", "/proc", "proc", 0, "hidepid=2"))
}

// The matrix: who lacks what, what he is told of each source, and which takes
// over.
func TestRefusalMatrix(t *testing.T) {
	needRoot(t)
	mysql := servertest.Start(t, servertest.MySQL97)
	// The directory above is closed to others; that of the data is not.
	if err := errors.Join(os.Chmod(filepath.Dir(mysql.DataDir), 0o755), os.Chmod(mysql.DataDir, 0o755)); err != nil {
		t.Fatal(err)
	}
	root := target{pid: mysql.PID} // a server of the user root
	connected, directory := root, root
	connected.socket, directory.dir = mysql.Socket, mysql.DataDir
	own := target{pid: startWriter(t, publicDir(t), writerOptions{UID: nobody}).PID}

	// The kernel goes by its own value, which is 2 unless a distribution has
	// more; what 3 does to a message shows everywhere.
	paranoid := ownRights().paranoid
	fake := filepath.Join(t.TempDir(), "3")
	if err := os.WriteFile(fake, []byte("3\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	withParanoid3 := func() error {
		return errors.Join(withTracefs(), unix.Mount(fake, "/proc/sys/kernel/perf_event_paranoid", "", unix.MS_BIND, ""))
	}

	const (
		bpf, perfmon, dac, ptrace = unix.CAP_BPF, unix.CAP_PERFMON, unix.CAP_DAC_READ_SEARCH, unix.CAP_SYS_PTRACE

		byBPF    = "bpf counts ext4_sync_file_enter"
		byFile   = "perf counts ext4:ext4_sync_file_enter"
		byCall   = "perf counts system calls fsync and fdatasync"
		byStatus = "status counts performance_schema file_summary_by_instance COUNT_MISC (opens and seeks too), Innodb_os_log_fsyncs"
		byProc   = "proc counts no syncs: flushes of the disk and growth of the binlog"

		noBPF        = "bpf: ring buffer: operation not permitted: needs CAP_BPF"
		noBPFPerfmon = noBPF + " and CAP_PERFMON"
		noPerfmon    = "bpf: ext4_sync_file_exit: operation not permitted: needs CAP_PERFMON"
		noConnection = "status: no connection to the server: give --host, --socket or --user"
		noTracefs    = "perf: tracefs is not mounted: mount -t tracefs tracefs /sys/kernel/tracing (mounting it here: operation not permitted)"
		closed       = "/id: permission denied: needs CAP_DAC_READ_SEARCH, or a tracefs mounted with gid=65534,mode=0750"
		closedFiles  = "perf: /sys/kernel/tracing/events/ext4/ext4_sync_file_enter" + closed
		closedCalls  = closedFiles + "; /sys/kernel/tracing/events/syscalls/sys_enter_fsync" + closed
		noProcess    = closedFiles + "; system calls: the server's process is not known"
	)
	notOwn := fmt.Sprintf("/proc/%[1]d/fd: permission denied: needs the server's own user, or CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH; data directory: /proc/%[1]d/cwd: permission denied: needs the server's own user, or CAP_SYS_PTRACE", mysql.PID)
	hidden := fmt.Sprintf("process %d: no such process, or hidden by hidepid", mysql.PID)
	unknown := func(why string) []string {
		return []string{"bpf: the server's files are not known: " + why, "perf: the server's files are not known: " + why}
	}
	// calls is of one who may count no files: system calls, or on a kernel whose
	// own value is above 2 nothing.
	calls := func(bpf string, pid, shown int) []string {
		denied := func(event string) string {
			level := 0
			if shown > 2 {
				level = 2
			}
			return fmt.Sprintf("perf_event_open %s: permission denied: needs CAP_PERFMON, or kernel.perf_event_paranoid at most %d (it is %d)", event, level, shown)
		}
		files := denied("ext4:ext4_sync_file_enter")
		if paranoid > 2 {
			return []string{bpf, "perf: " + files + "; " + denied(fmt.Sprint("syscalls:sys_enter_fsync of process ", pid)), noConnection, byProc}
		}
		return []string{bpf, "perf by file: " + files, byCall}
	}

	for _, row := range []struct {
		name   string
		who    as
		target target
		want   []string
	}{
		{"root", as{All: true}, root, []string{byBPF}},
		{"no BTF", as{All: true, Mounts: withoutBTF}, root, []string{"bpf: the kernel's types (BTF) cannot be read: needs a kernel built with CONFIG_DEBUG_INFO_BTF: no BTF found for kernel version " + Host{}.Kernel() + ": not supported", byFile}},

		{"no CAP_BPF", as{Caps: []uintptr{perfmon, dac, ptrace}, Mounts: withTracefs}, root, []string{noBPF, byFile}},
		{"no CAP_PERFMON", as{Caps: []uintptr{bpf, dac, ptrace}, Mounts: withTracefs}, root, calls(noPerfmon, mysql.PID, paranoid)},
		{"a user with all that bpf needs", as{UID: nobody, Caps: []uintptr{bpf, perfmon, dac, ptrace}}, root, []string{byBPF}},

		{"ordinary user", as{UID: nobody, Mounts: withTracefs}, own, []string{noBPFPerfmon, closedCalls, noConnection, byProc}},
		{"ordinary user, tracefs open to him", as{UID: nobody, Caps: []uintptr{dac}, Mounts: withTracefs}, own, calls(noBPFPerfmon, own.pid, paranoid)},
		{"perf_event_paranoid 3", as{UID: nobody, Caps: []uintptr{dac}, Mounts: withParanoid3}, own, calls(noBPFPerfmon, own.pid, 3)},

		{"no CAP_BPF, no tracefs", as{Caps: []uintptr{perfmon, dac, ptrace}, NoTracefs: true}, root, []string{noBPF, noTracefs, noConnection, byProc}},
		{"no CAP_BPF, no tracefs, connected", as{Caps: []uintptr{perfmon, dac, ptrace}, NoTracefs: true}, connected, []string{noBPF, noTracefs, byStatus}},
		{"no tracefs", as{UID: nobody, Caps: []uintptr{bpf, perfmon, dac, ptrace}, NoTracefs: true}, root, []string{byBPF}},

		{"another user's", as{UID: nobody, Mounts: withTracefs}, root, []string{"error: " + notOwn}},
		{"another user's, directory given", as{UID: nobody, Mounts: withTracefs}, directory, []string{noBPFPerfmon, closedCalls, noConnection, byProc}},
		{"another user's, connected", as{UID: nobody, Mounts: withTracefs}, connected, append(unknown(notOwn), byStatus)},

		{"hidepid=2", as{UID: nobody, Mounts: withHidepid}, root, []string{"error: " + hidden}},
		{"hidepid=2, directory given", as{UID: nobody, Mounts: withHidepid}, directory, []string{noBPFPerfmon, noProcess, noConnection, byProc}},
		{"hidepid=2, connected", as{UID: nobody, Mounts: withHidepid}, connected, append(unknown(hidden), byStatus)},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := runAs(t, row.who, "open", "IOSAMPLE_PID="+strconv.Itoa(row.target.pid), "IOSAMPLE_DIR="+row.target.dir, "IOSAMPLE_SOCKET="+row.target.socket)
			if want := strings.Join(row.want, "\n"); got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

// target is the server that a row of the matrix samples, and what is given of
// it.
type target struct {
	pid         int
	dir, socket string
}

// What the kernel of this machine cannot be made to say.
func TestExplain(t *testing.T) {
	const perfmon, sysAdmin = 1 << unix.CAP_PERFMON, 1 << unix.CAP_SYS_ADMIN
	for _, row := range []struct {
		rights   rights
		pid      int
		inKernel bool
		err      error
		want     string
	}{
		{rights{uid: 1, paranoid: 2, kernel: "6.1.0"}, 0, true, unix.EACCES, "permission denied: needs CAP_PERFMON, or kernel.perf_event_paranoid at most 0 (it is 2)"},
		{rights{uid: 1, paranoid: 2, kernel: "5.7.19-x"}, 0, true, unix.EACCES, "permission denied: needs CAP_SYS_ADMIN, or kernel.perf_event_paranoid at most 0 (it is 2)"},
		{rights{uid: 1, paranoid: 2, kernel: "4.18.0"}, 0, true, unix.EACCES, "permission denied: needs CAP_SYS_ADMIN, or kernel.perf_event_paranoid at most 0 (it is 2)"},
		{rights{uid: 1, paranoid: 2, kernel: "5.8.0"}, 0, true, unix.EACCES, "permission denied: needs CAP_PERFMON, or kernel.perf_event_paranoid at most 0 (it is 2)"},
		{rights{uid: 1, paranoid: 2, kernel: "6.1.0"}, 7, true, unix.EACCES, "of process 7: permission denied: needs CAP_PERFMON, or kernel.perf_event_paranoid at most 1 (it is 2)"},
		{rights{uid: 5, paranoid: 3, kernel: "6.1.0"}, 7, false, unix.EACCES, "of process 7: permission denied: needs CAP_PERFMON, or kernel.perf_event_paranoid at most 2 (it is 3)"},
		{rights{uid: 1, paranoid: 4, kernel: "6.1.0"}, 7, false, unix.EACCES, "of process 7: permission denied: needs CAP_PERFMON, or kernel.perf_event_paranoid at most 2 (it is 4)"},
		{rights{uid: 1, paranoid: 2, kernel: "6.1.0"}, 7, false, unix.EACCES, "of process 7: permission denied: it runs as user 5, and this is user 1: needs that user, or CAP_PERFMON"},
		{rights{uid: 5, paranoid: 2, kernel: "6.1.0"}, 7, false, unix.EACCES, "of process 7: permission denied: it is closed to its own user: needs CAP_PERFMON"},
		{rights{caps: perfmon, paranoid: 2, kernel: "6.1.0"}, 0, true, unix.EACCES, "permission denied: CAP_PERFMON does not count inside a user namespace"},
		{rights{caps: sysAdmin, paranoid: 2, kernel: "6.1.0"}, 0, true, unix.EACCES, "permission denied: CAP_PERFMON does not count inside a user namespace"},
		{rights{caps: perfmon, kernel: "6.1.0"}, 0, true, unix.EPERM, "operation not permitted: forbidden by the container's seccomp profile, or the kernel is locked down for confidentiality"},
		{rights{kernel: "6.1.0"}, 0, true, unix.ENOSYS, "function not implemented: the kernel was built without CONFIG_PERF_EVENTS"},
		{rights{kernel: "6.1.0"}, 0, true, unix.EINVAL, "invalid argument"},
	} {
		sep := ": "
		if row.pid != 0 {
			sep = " "
		}
		got := row.rights.explain("g:e", row.pid, 5, row.inKernel, row.err)
		if want := "perf_event_open g:e" + sep + row.want; got.Error() != want {
			t.Errorf("%+v:\ngot  %v\nwant %v", row.rights, got, want)
		}
	}
}

// A tracefs that no other process sees leaves no trace.
func TestPrivateTracefs(t *testing.T) {
	needRoot(t)
	// What else is mounted may change meanwhile.
	mounts := func() []string {
		t.Helper()
		all, err := os.ReadFile("/proc/self/mountinfo")
		if err != nil {
			t.Fatal(err)
		}
		return slices.DeleteFunc(strings.Split(string(all), "\n"), func(m string) bool { return !strings.Contains(m, "tracefs") })
	}
	before := mounts()
	tr, err := mountTracefs()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"ext4:ext4_sync_file_enter":  "",
		"xfs:none":                   "tracefs/events/xfs/none/id: no such file or directory: no tracepoint xfs:none in this kernel",
		"syscalls:sys_enter_nothing": "tracefs/events/syscalls/sys_enter_nothing/id: no such file or directory: no tracepoint syscalls:sys_enter_nothing in this kernel, which was built without CONFIG_FTRACE_SYSCALLS",
	} {
		tp, err := tr.find(name)
		got := ""
		if err != nil {
			got = err.Error()
		} else if tp.id == 0 {
			t.Errorf("%s has id 0", name)
		}
		if got != want {
			t.Errorf("%s: got error %q, want %q", name, got, want)
		}
	}
	if now := mounts(); !slices.Equal(before, now) {
		t.Errorf("mounts before: %q, now: %q", before, now)
	}
	tr.close()
}

func TestTracefsMount(t *testing.T) {
	for mounts, want := range map[string]string{
		"": "",
		"proc /proc proc rw 0 0\nx /a\\040b\\134 tracefs rw 0 0\n":      `/a b\`,
		"d /sys/kernel/debug debugfs rw 0 0\n":                          "/sys/kernel/debug/tracing",
		"d /debug debugfs rw 0 0\nt /sys/kernel/tracing tracefs rw 0 0": "/sys/kernel/tracing",
		"\n\nx\nx y\n": "",
	} {
		if got := tracefsMount([]byte(mounts)); got != want {
			t.Errorf("%q: got %q, want %q", mounts, got, want)
		}
	}
}

// What is in the directory may be anything.
func TestTracefsID(t *testing.T) {
	dir := t.TempDir()
	tr, err := openTracefs(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.close()
	if err := os.MkdirAll(dir+"/events/g/e", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"", "x\n", "-1\n", "4294967296\n", strings.Repeat("1", 100), "17 18"} {
		if err := os.WriteFile(dir+"/events/g/e/id", []byte(id), 0o644); err != nil {
			t.Fatal(err)
		}
		if tp, err := tr.find("g:e"); err == nil {
			t.Errorf("%q: got %+v", id, tp)
		}
	}
	if err := os.WriteFile(dir+"/events/g/e/id", []byte("17\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if tp, err := tr.find("g:e"); err != nil || tp != (tracepoint{"g:e", 17}) {
		t.Errorf("got %+v, %v", tp, err)
	}
	if _, err := openTracefs(dir + "/none"); err == nil {
		t.Error("got no error of a directory that is not there")
	}
}
