package iosample

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// perfTarget is what openPerf counts.
type perfTarget struct {
	PID   int // the server's process, or 0 where only its files are known
	Files serverFiles
	// Tracefs is the directory of the tracepoints; empty to look for it.
	Tracefs string
	// online is the kernel's list of the CPUs that run; empty for the system's.
	online string
}

// watch tells when the server's files are to be looked at again: listing them
// takes longer than reading their counters.
type watch struct {
	binlog FileID // the newest when they were last looked at
	at     int64  // when that was, CLOCK_MONOTONIC
}

// due reports whether a binlog was begun since the files were last looked at,
// or a second has passed.
func (w *watch) due(files serverFiles) bool {
	b, _ := files.Binlog()
	_, now := clocks()
	if b.ID == w.binlog && w.at != 0 && now-w.at < int64(time.Second) {
		return false
	}
	w.binlog, w.at = b.ID, now
	return true
}

// openPerf opens the source perf: counters that the kernel keeps for
// perf_event_open(2). It takes the tracepoint of the server's file systems, by
// file, or where it may not that of the system calls, by descriptor: a source
// of the second kind has a method Refused that says why. An error holds why
// neither could be had, on one line.
func openPerf(ctx context.Context, p perfTarget) (Source, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p.online = cmp.Or(p.online, "/sys/devices/system/cpu/online")
	tr, err := openTracefs(p.Tracefs)
	if err != nil {
		return nil, err
	}
	defer tr.close()
	byFile, err1 := openPerfByFile(p, tr)
	if err1 == nil {
		return byFile, nil
	}
	byCall, err2 := openPerfByCall(p, tr)
	if err2 != nil && err2.Error() == err1.Error() {
		return nil, err1
	} else if err2 != nil {
		return nil, joined(err1, err2)
	}
	byCall.refused = err1
	return byCall, nil
}

// kernelDev gives a device, as stat has it, as the kernel has it inside: in
// tracepoints, and with that in filters.
func kernelDev(dev uint64) uint64 {
	return uint64(unix.Major(dev))<<20 | uint64(unix.Minor(dev))
}

// counter is one event of the kernel's: a tracepoint, with a filter, in one
// thread or on one CPU.
type counter struct {
	fd      int
	cpu     int // or -1
	value   int64
	enabled uint64 // nanoseconds
	dead    bool   // its CPU went off, and the counter with it
}

// read brings value up to date.
func (c *counter) read() error {
	var b [24]byte
	var value int64
	var enabled, running uint64
	// The kernel sets the two times one after the other, and gives them as they
	// are while a thread leaves its CPU: what is missing then is there the next
	// time, and what the counter did not run is missing for ever.
	for try := 1; try == 1 || running < enabled && try <= 4; try++ {
		n, err := unix.Read(c.fd, b[:])
		if err == nil && n != len(b) {
			err = fmt.Errorf("got %d bytes and want %d", n, len(b))
		}
		if err != nil {
			return fmt.Errorf("read a counter: %w", err)
		}
		value = int64(binary.NativeEndian.Uint64(b[:]))
		enabled, running = binary.NativeEndian.Uint64(b[8:]), binary.NativeEndian.Uint64(b[16:])
	}
	// A CPU's counter is on all the time, unless the kernel took it off with
	// the CPU. When the CPU is back, the counter is not.
	c.dead = c.cpu >= 0 && enabled == c.enabled
	c.value, c.enabled = value, enabled
	if running < enabled {
		// Never seen: tracepoints need none of the few registers of a CPU.
		return fmt.Errorf("counter ran %d of %d ns: the kernel shared it with others", running, enabled)
	}
	return nil
}

// tally is what several counters count together. It is not safe for concurrent
// use.
type tally struct {
	events  []tracepoint
	filter  string
	bits    uint64   // of perf_event_attr, beside disabled
	process *process // whose threads are counted; nil for all that CPUs do
	count   int64    // as of the last read

	counters []*counter
	closed   int64 // by counters that are closed
}

// add opens counters in a thread, or where tid is -1 on a CPU. On an error
// nothing is added.
func (t *tally) add(tid, cpu int) error {
	old := len(t.counters)
	for _, ev := range t.events {
		attr := unix.PerfEventAttr{
			Type:        unix.PERF_TYPE_TRACEPOINT,
			Size:        uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
			Config:      ev.id,
			Read_format: unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING,
			// Enabled when it has its filter.
			Bits: unix.PerfBitDisabled | t.bits,
		}
		fd, err := unix.PerfEventOpen(&attr, tid, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if err == nil {
			t.counters = append(t.counters, &counter{fd: fd, cpu: cpu})
			if t.filter != "" {
				if err = unix.IoctlSetString(fd, unix.PERF_EVENT_IOC_SET_FILTER, t.filter); err != nil {
					err = fmt.Errorf("filter %.80q: %w", t.filter, err)
				}
			}
		}
		if err == nil {
			err = unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_ENABLE, 0)
		}
		if err != nil {
			for _, c := range t.counters[old:] {
				_ = unix.Close(c.fd)
			}
			t.counters = t.counters[:old]
			pid, owner := 0, 0
			if t.process != nil {
				pid, owner = t.process.pid, t.process.owner
			}
			return ownRights().explain(ev.name, pid, owner, t.bits&unix.PerfBitExcludeKernel == 0, err)
		}
	}
	return nil
}

// follow has one counter on each of cpus, and none elsewhere. On an error some
// CPUs have none.
func (t *tally) follow(cpus []int) error {
	t.counters = slices.DeleteFunc(t.counters, func(c *counter) bool {
		gone := c.dead || !slices.Contains(cpus, c.cpu)
		if gone {
			t.take(c)
		}
		return gone
	})
	if len(t.counters) == len(cpus) {
		return nil
	}
	for _, cpu := range cpus {
		if slices.ContainsFunc(t.counters, func(c *counter) bool { return c.cpu == cpu }) {
			continue
		}
		// A CPU may go off at any time.
		if err := t.add(-1, cpu); err != nil && !errors.Is(err, unix.ENODEV) {
			return err
		}
	}
	return nil
}

// addThreads opens counters in every thread of the process; their own threads
// inherit them. Complete is false where threads came and went too fast to be
// sure of all.
func (t *tally) addThreads() (complete bool, err error) {
	for try := 1; ; try++ {
		tids, err := t.process.threads()
		if err != nil {
			return false, err
		}
		for _, tid := range tids {
			if err := t.add(tid, -1); err != nil && !errors.Is(err, unix.ESRCH) {
				t.close()
				return false, err
			}
		}
		// A thread that was started meanwhile may have inherited a counter or
		// not, and nothing tells which.
		now, err := t.process.threads()
		if err != nil {
			t.close()
			return false, err
		}
		complete = !slices.ContainsFunc(now, func(tid int) bool { return !slices.Contains(tids, tid) })
		if complete || try == 5 {
			return complete, nil
		}
		t.close()
		t.closed = 0
	}
}

// read brings count up to date.
func (t *tally) read() error {
	var errs error
	t.count = t.closed
	for _, c := range t.counters {
		if err := c.read(); err != nil && errs == nil {
			errs = fmt.Errorf("%s: %w", t.events[0].name, err)
		}
		t.count += c.value
	}
	return errs
}

// close reads a last time and closes all counters. The count stays.
func (t *tally) close() {
	for _, c := range t.counters {
		t.take(c)
	}
	t.counters = nil
	t.count = t.closed
}

// take closes c and keeps what it counted.
func (t *tally) take(c *counter) {
	_ = c.read() // on an error the count before is the best there is
	t.closed += c.value
	_ = unix.Close(c.fd)
}

// rest is the server's syncs that no file explains.
type rest struct {
	base  int64 // what was counted of the total and not of files before both were
	count int64
}

// start takes the counts from which on the difference matters. Those of files
// must be read first.
func (r *rest) start(files, total int64) { r.base = total - files }

// update takes new counts. The total must be read first: what happens between
// is then missing for now, and made up for later, where otherwise it would be
// too much for ever.
func (r *rest) update(total, files int64) { r.count = max(r.count, total-files-r.base) }

// process is a process in /proc, and never another one that has its number
// later. It is not safe for concurrent use.
type process struct {
	pid   int
	owner int // effective user
	dir   *os.Root
}

func openProcess(pid int) (*process, error) {
	dir, err := os.OpenRoot("/proc/" + strconv.Itoa(pid))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("process %d is not there, or is hidden by the mount option hidepid of /proc", pid)
	}
	if err != nil {
		return nil, err
	}
	p := &process{pid: pid, dir: dir}
	var st unix.Stat_t
	f, err := dir.Open(".")
	if err == nil {
		err = unix.Fstat(int(f.Fd()), &st)
		f.Close()
	}
	if err != nil {
		_ = dir.Close()
		return nil, fmt.Errorf("process %d: %w", pid, err)
	}
	p.owner = int(st.Uid)
	return p, nil
}

// ended is nil as long as the process is there, for all that can be found out.
func (p *process) ended() error {
	b, err := p.dir.ReadFile("stat")
	// "1 (name) S ..."; the name may hold anything.
	state := strings.TrimSpace(string(b[bytes.LastIndexByte(b, ')')+1:]))
	gone := errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH)
	if gone || strings.HasPrefix(state, "Z") || strings.HasPrefix(state, "X") {
		return fmt.Errorf("process %d has ended", p.pid)
	}
	return nil
}

// threads gives the ids of the threads there are.
func (p *process) threads() ([]int, error) {
	f, err := p.dir.Open("task")
	if err != nil {
		return nil, p.failed(err)
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return nil, p.failed(err)
	}
	var tids []int
	for _, name := range names {
		if tid, err := strconv.Atoi(name); err == nil {
			tids = append(tids, tid)
		}
	}
	if len(tids) == 0 {
		return nil, p.ended()
	}
	return tids, nil
}

// descriptors gives which file each descriptor is of that can be written to.
func (p *process) descriptors() (map[int]FileID, error) {
	f, err := p.dir.Open("fd")
	if err != nil {
		return nil, p.failed(err)
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return nil, p.failed(err)
	}
	ids := make(map[int]FileID, len(names))
	for _, name := range names {
		n, err := strconv.Atoi(name)
		var link, st unix.Stat_t
		// The link's own mode is that of the descriptor.
		if err != nil || unix.Fstatat(int(f.Fd()), name, &link, unix.AT_SYMLINK_NOFOLLOW) != nil || link.Mode&unix.S_IWUSR == 0 ||
			unix.Fstatat(int(f.Fd()), name, &st, 0) != nil {
			continue // closed meanwhile, or not to be written to
		}
		ids[n] = statID(&st)
	}
	return ids, nil
}

// failed says that the process has ended where that is why err came.
func (p *process) failed(err error) error {
	if ended := p.ended(); ended != nil {
		return ended
	}
	return fmt.Errorf("process %d: %w", p.pid, err)
}

func (p *process) close() { _ = p.dir.Close() }

// onlineCPUs reads a list of CPUs as the kernel writes it, such as "0-3,8".
func onlineCPUs(file string) ([]int, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var cpus []int
	for part := range strings.SplitSeq(strings.TrimSpace(string(b)), ",") {
		first, last, isRange := strings.Cut(part, "-")
		lo, err := strconv.Atoi(first)
		hi := lo
		if err == nil && isRange {
			hi, err = strconv.Atoi(last)
		}
		if err != nil || lo < 0 || hi < lo || hi >= 1<<16 {
			return nil, fmt.Errorf("%s: got %.80q and want a list of CPUs", file, b)
		}
		for cpu := lo; cpu <= hi; cpu++ {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}

// joined makes one error of those there are, on one line.
func joined(errs ...error) error {
	var all error
	for _, err := range errs {
		switch {
		case all == nil:
			all = err
		case err != nil:
			all = fmt.Errorf("%w; %w", all, err)
		}
	}
	return all
}

// countOf makes the Count of a file. It must be called after the syncs were
// counted, since a binlog's size is looked up here.
func countOf(f *File, syncs int64) Count {
	if f.Class == Binlog {
		var st unix.Stat_t
		// It may be gone, or another file in its place.
		if unix.Stat(f.Path, &st) == nil && statID(&st) == f.ID {
			f.Size = st.Size
		}
	}
	c := Count{Class: f.Class, Name: f.Name, Dev: f.ID.Dev, Ino: f.ID.Ino, Syncs: syncs}
	if f.Class == Binlog {
		c.Size = f.Size
	}
	return c
}

func statID(st *unix.Stat_t) FileID {
	return FileID{Dev: uint64(st.Dev), Ino: st.Ino} //nolint:unconvert // 32 bits on some processors
}
