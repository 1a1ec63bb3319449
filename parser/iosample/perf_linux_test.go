package iosample

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// dirFiles are the files of a directory, by what servers call theirs. A file
// "stray" is none.
type dirFiles struct {
	dir    string
	fsType string // empty for the true one
	files  []File
}

func (d *dirFiles) Files() []File { return d.files }

func (d *dirFiles) Lookup(id FileID) (File, bool) {
	i := slices.IndexFunc(d.files, func(f File) bool { return f.ID == id })
	if i < 0 {
		return File{}, false
	}
	return d.files[i], true
}

func (d *dirFiles) Still(f File) bool {
	var st unix.Stat_t
	return unix.Stat(f.Path, &st) == nil && statID(&st) == f.ID
}

// Binlog gives the binlog of the highest number, as it is now.
func (d *dirFiles) Binlog() (File, bool) {
	if d.Refresh() != nil {
		return File{}, false
	}
	newest := File{}
	for _, f := range d.files {
		if f.Class == Binlog && f.Name > newest.Name {
			newest = f
		}
	}
	return newest, newest.Name != ""
}

func (d *dirFiles) Refresh() error {
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		return err
	}
	d.files = d.files[:0]
	for _, e := range entries {
		f := File{Name: e.Name(), Path: filepath.Join(d.dir, e.Name()), Class: Other}
		switch {
		case f.Name == "stray":
			continue
		case strings.HasPrefix(f.Name, "binlog.") && numbered.MatchString(f.Name):
			f.Class = Binlog
		case strings.HasPrefix(f.Name, "ib_logfile"):
			f.Class = Redo
		case filepath.Ext(f.Name) == ".ibd":
			f.Class = Data
		}
		var st unix.Stat_t
		if err := unix.Stat(f.Path, &st); err != nil {
			return err
		}
		f.ID, f.Size = statID(&st), st.Size
		d.files = append(d.files, f)
	}
	return nil
}

func (d *dirFiles) Devices() []uint64 {
	var st unix.Stat_t
	if unix.Stat(d.dir, &st) != nil {
		return nil
	}
	return []uint64{statID(&st).Dev}
}

func (d *dirFiles) FSType(uint64) string {
	var st unix.Statfs_t
	switch err := unix.Statfs(d.dir, &st); {
	case err != nil:
		return ""
	case d.fsType != "":
		return d.fsType
	case st.Type == unix.EXT4_SUPER_MAGIC:
		return "ext4"
	case st.Type == unix.XFS_SUPER_MAGIC:
		return "xfs"
	}
	return "of another type"
}

// newFiles gives the files of dir as they are now.
func newFiles(t testing.TB, dir string) *dirFiles {
	t.Helper()
	d := &dirFiles{dir: dir}
	if err := d.Refresh(); err != nil {
		t.Fatal(err)
	}
	return d
}

// open opens the source perf and closes it when the test ends.
func open(t *testing.T, p perfTarget) Source {
	t.Helper()
	needRoot(t)
	s, err := openPerf(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// lookAgain has a source look for files at its next Read, as it does each second.
func lookAgain(s Source) {
	switch s := s.(type) {
	case *perfByFile:
		s.watch = watch{}
	case *perfByCall:
		s.watch = watch{}
	}
}

// counts reads the syncs by name, or where there is none by class, and checks
// that nothing failed.
func counts(t *testing.T, s Source) map[string]int64 {
	t.Helper()
	lookAgain(s)
	c, err := s.Read(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	if c.Failed != nil {
		t.Errorf("failed: %v", c.Failed)
	}
	return byName(c.Counts)
}

func expect(t *testing.T, got, want map[string]int64) {
	t.Helper()
	if !maps.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

// write appends to a file and syncs it, n times.
func write(t *testing.T, path string, n int) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for range n {
		if _, err := f.WriteString("x"); err != nil {
			t.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			t.Fatal(err)
		}
	}
}

// load is what the tests of exactness write: 500 syncs a second of two files at
// once.
func load() writerOptions {
	o := writerOptions{Rate: 500, Duration: 2 * time.Second, Strays: 7}
	if os.Getenv("CI") == "true" {
		o.Duration = 10 * time.Second
	}
	return o
}

// The counts must be those of the writer, file by file, while it runs and when
// it has ended.
func TestPerfByFile(t *testing.T) {
	for _, rotate := range []bool{false, true} {
		t.Run(fmt.Sprintf("rotate=%v", rotate), func(t *testing.T) {
			o := load()
			o.Rotate = rotate
			dir := publicDir(t)
			w := startWriter(t, dir, o)
			s := open(t, perfTarget{PID: w.PID, Files: newFiles(t, dir)})
			if s.Name() != "perf" || s.Exactness() != Exact || !strings.HasSuffix(s.Detail(), "sync_file_enter") && !strings.HasSuffix(s.Detail(), "file_fsync") {
				t.Errorf("got source %s, %s, %q", s.Name(), s.Exactness(), s.Detail())
			}
			expect(t, counts(t, s), map[string]int64{"binlog.000001": 0, "unattributed": 0})

			w.Go(t)
			last := map[string]int64{}
			for running := true; running; {
				select {
				case <-w.done:
					running = false
				case <-time.After(50 * time.Millisecond):
				}
				now := counts(t, s)
				for name, n := range last {
					if now[name] < n {
						t.Errorf("%s went from %d down to %d", name, n, now[name])
					}
				}
				last = now
			}
			truth := w.Done(t)
			want := map[string]int64{"binlog.000001": truth[w.Binlogs[0]], "ib_logfile0": truth[w.Redo], "unattributed": int64(o.Strays)}
			if rotate {
				// What came before the next read is unattributed, and nothing is lost.
				n := truth[w.Binlogs[1]]
				missed := last["unattributed"] - int64(o.Strays)
				if missed < 0 || missed >= n {
					t.Errorf("%d of %d syncs of the new binlog are unattributed", missed, n)
				}
				t.Logf("%d of %d syncs of the new binlog were before its counter", missed, n)
				want["binlog.000002"] = n - missed
				want["unattributed"] += missed
			}
			expect(t, last, want)

			w.Wait(t)
			t.Log(strings.TrimSpace(w.child.errors.String()))
			c, err := s.Read(t.Context(), false)
			if err != nil {
				t.Fatal(err)
			}
			expect(t, byName(c.Counts), want)
			if got, want := fmt.Sprint(c.Failed), fmt.Sprintf("process %d has ended", w.PID); got != want {
				t.Errorf("failed: got %q, want %q", got, want)
			}
			for _, c := range c.Counts {
				if c.Class != Binlog {
					continue
				}
				if st, err := os.Stat(filepath.Join(dir, c.Name)); err != nil || c.Size != st.Size() {
					t.Errorf("%s: got size %d, want %d (%v)", c.Name, c.Size, st.Size(), err)
				}
			}
		})
	}
}

// A user without any capability counts his own server's calls, once he can read
// the numbers of the tracepoints.
func TestPerfByCall(t *testing.T) {
	var env []string
	var caps []uintptr
	if ownRights().paranoid > 2 {
		// No user may count here. With the capability, there is only this way
		// where the file system has no tracepoint.
		env, caps = []string{"IOSAMPLE_FSTYPE=none"}, []uintptr{unix.CAP_PERFMON}
	}
	ids := tracepointIDs(t)
	for _, rotate := range []bool{false, true} {
		t.Run(fmt.Sprintf("rotate=%v", rotate), func(t *testing.T) {
			o := load()
			o.Rotate, o.UID = rotate, nobody
			dir := publicDir(t)
			w := startWriter(t, dir, o)
			c := startAs(t, as{UID: nobody, Caps: caps}, "perf", append(perfEnv(w.PID, dir, ids, "read"), env...)...)
			if got := c.line(t); got != "system calls fsync and fdatasync" {
				t.Fatal(got)
			}
			w.Go(t)
			truth := w.Done(t)
			var got map[string]int64
			if err := json.Unmarshal(c.end(t), &got); err != nil {
				t.Fatal(err)
			}
			w.Wait(t)
			want := map[string]int64{"binlog.000001": truth[w.Binlogs[0]], "ib_logfile0": truth[w.Redo], "unattributed": int64(o.Strays)}
			if rotate {
				// The newer one has those of the interval in which it came.
				n := truth[w.Binlogs[1]]
				moved := got["binlog.000002"] - n
				if moved < 0 || moved >= want["binlog.000001"] {
					t.Errorf("%d syncs of the first binlog are the second's, which has %d", moved, n)
				}
				want["binlog.000001"] -= moved
				want["binlog.000002"] = n + moved
			}
			expect(t, got, want)
		})
	}
}

// tracepointIDs copies the numbers of the tracepoints to a directory that
// everyone can read.
func tracepointIDs(t *testing.T) string {
	t.Helper()
	needRoot(t)
	tr, err := openTracefs("")
	if err != nil {
		t.Fatal(err)
	}
	defer tr.close()
	dir := publicDir(t)
	for _, name := range []string{"ext4:ext4_sync_file_enter", "syscalls:sys_enter_fsync", "syscalls:sys_enter_fdatasync"} {
		tp, err := tr.find(name)
		if err != nil {
			t.Fatal(err)
		}
		at := filepath.Join(dir, "events", strings.Replace(name, ":", "/", 1))
		if err := os.MkdirAll(at, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(at, "id"), []byte(strconv.FormatUint(tp.id, 10)+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// perfEnv is what a child "perf" needs to know. To do is "read", or "open" to
// print what opening gave.
func perfEnv(pid int, dir, tracefs, do string) []string {
	return []string{"IOSAMPLE_PID=" + strconv.Itoa(pid), "IOSAMPLE_DIR=" + dir, "IOSAMPLE_TRACEFS=" + tracefs, "IOSAMPLE_DO=" + do}
}

// perfChild opens the source perf, and reads it till its input ends.
func perfChild() error {
	pid, err := strconv.Atoi(os.Getenv("IOSAMPLE_PID"))
	if err != nil {
		return err
	}
	files := &dirFiles{dir: os.Getenv("IOSAMPLE_DIR"), fsType: os.Getenv("IOSAMPLE_FSTYPE")}
	if err := files.Refresh(); err != nil {
		return err
	}
	if free, err := strconv.Atoi(os.Getenv("IOSAMPLE_NOFILE")); err == nil {
		if err := useUpDescriptors(free); err != nil {
			return err
		}
	}
	ctx := context.Background()
	s, err := openPerf(ctx, perfTarget{PID: pid, Files: files, Tracefs: os.Getenv("IOSAMPLE_TRACEFS")})
	if err != nil {
		fmt.Fprintln(os.Stdout, "refused:", err)
		return nil
	}
	defer s.Close()
	fmt.Fprintln(os.Stdout, s.Detail())
	if byCall, ok := s.(*perfByCall); ok && os.Getenv("IOSAMPLE_DO") != "read" {
		fmt.Fprintln(os.Stdout, "refused:", byCall.Refused())
	}
	if os.Getenv("IOSAMPLE_DO") != "read" {
		return nil
	}
	end := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, os.Stdin)
		end <- err
	}()
	for ended := false; ; {
		c, err := s.Read(ctx, false)
		if err != nil {
			return err
		}
		if c.Failed != nil {
			return c.Failed
		}
		if ended {
			return json.NewEncoder(os.Stdout).Encode(byName(c.Counts))
		}
		select {
		case err := <-end:
			if ended = true; err != nil {
				return err
			}
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// useUpDescriptors leaves this process as many as free to open.
func useUpDescriptors(free int) error {
	r, w, err := os.Pipe() // so that the runtime has opened what it needs for good
	if err != nil {
		return err
	}
	if err := errors.Join(r.Close(), w.Close(), unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 64, Max: 64})); err != nil {
		return err
	}
	var fds []int
	for {
		fd, err := unix.Dup(0)
		if err != nil {
			break
		}
		fds = append(fds, fd)
	}
	for _, fd := range fds[len(fds)-free:] {
		unix.Close(fd)
	}
	return nil
}

// Data files share filters, which are made anew where files come and go, up to
// a number of files.
func TestPerfDataFiles(t *testing.T) {
	dir := publicDir(t)
	data := func(i int) string { return filepath.Join(dir, fmt.Sprintf("t%04d.ibd", i)) }
	touch := func(from, to int) {
		t.Helper()
		for i := from; i < to; i++ {
			if err := os.WriteFile(data(i), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	const some, most = filesPerFilter + 10, filesPerFilter * filtersPerClass
	touch(0, some)
	s := open(t, perfTarget{PID: os.Getpid(), Files: newFiles(t, dir)})
	for i := range some {
		write(t, data(i), 1)
	}
	want := map[string]int64{"data": some, "unattributed": 0}
	expect(t, counts(t, s), want)

	if err := os.Remove(data(0)); err != nil {
		t.Fatal(err)
	}
	touch(some, most+30)
	expect(t, counts(t, s), want)
	for i := 1; i < most+30; i++ {
		write(t, data(i), 1)
	}
	lookAgain(s)
	c, err := s.Read(t.Context(), false)
	if err != nil || c.Failed != nil {
		t.Fatal(err, c.Failed)
	}
	expect(t, byName(c.Counts), map[string]int64{"data": some + most, "unattributed": 29})
	if c := c.Counts[0]; c.Class != Data || c.Exactness != LowerBound {
		t.Errorf("got %+v, want data with a lower bound", c)
	}
}

// The longest filter there may be is shorter than a page.
func TestFileFilterLength(t *testing.T) {
	ids := make([]FileID, filesPerFilter)
	for i := range ids {
		ids[i] = FileID{Dev: unix.Mkdev(4095, 1<<20-1), Ino: ^uint64(0)}
	}
	if n := len(fileFilter(ids)); n >= 4096 {
		t.Errorf("got %d bytes", n)
	}
}

// A file keeps its count when it goes, and an inode begins at nothing when
// another file has it. What renaming does here, deleting and creating does
// elsewhere.
func TestPerfInodeReuse(t *testing.T) {
	dir := publicDir(t)
	path := func(name string) string { return filepath.Join(dir, name) }
	rename := func(from, to string) {
		t.Helper()
		if err := os.Rename(path(from), path(to)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, path("binlog.000001"), 1)
	s := open(t, perfTarget{PID: os.Getpid(), Files: newFiles(t, dir)})
	write(t, path("binlog.000001"), 3)
	expect(t, counts(t, s), map[string]int64{"binlog.000001": 3, "unattributed": 0})
	rename("binlog.000001", "binlog.000002")
	write(t, path("binlog.000002"), 4)
	expect(t, counts(t, s), map[string]int64{"binlog.000001": 3, "binlog.000002": 4, "unattributed": 0})
	rename("binlog.000002", "ib_logfile0")
	write(t, path("ib_logfile0"), 5)
	want := map[string]int64{"binlog.000001": 3, "binlog.000002": 4, "ib_logfile0": 5, "unattributed": 0}
	expect(t, counts(t, s), want)
	rename("ib_logfile0", "t.ibd") // from a filter of its own to a common one
	expect(t, counts(t, s), want)
	write(t, path("t.ibd"), 6)
	want["data"] = 6
	expect(t, counts(t, s), want)
	rename("t.ibd", "stray") // from one that is known to one that is not
	expect(t, counts(t, s), want)
	write(t, path("stray"), 7)
	want["unattributed"] = 7
	expect(t, counts(t, s), want)
	rename("stray", "binlog.000002") // and back
	expect(t, counts(t, s), want)
	write(t, path("binlog.000002"), 8)
	want["binlog.000002"] += 8
	expect(t, counts(t, s), want)
	if err := os.Remove(path("binlog.000002")); err != nil {
		t.Fatal(err)
	}
	expect(t, counts(t, s), want)
}

// The two newest logs of a series are counted.
func TestLogAges(t *testing.T) {
	files := []File{
		{Class: Binlog, Path: "/d/a.000009"},
		{Class: Binlog, Path: "/d/a.000010"},
		{Class: Binlog, Path: "/d/a.1000000"},
		{Class: Binlog, Path: "/d/b.000001"},
		{Class: Relay, Path: "/d/a.000001"},
		{Class: Redo, Path: "/d/ib_logfile0"},
		{Class: Binlog, Path: "/d/nonumber"},
	}
	if got, want := logAges(files), []int{2, 1, 0, 0, 0, 0, 0}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A write to a file opened with O_DSYNC is a sync, as the file system sees it.
func TestPerfDsync(t *testing.T) {
	dir := publicDir(t)
	path := filepath.Join(dir, "ib_logfile0")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|unix.O_DSYNC, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := open(t, perfTarget{PID: os.Getpid(), Files: newFiles(t, dir)})
	for range 5 {
		if _, err := f.WriteString("x"); err != nil {
			t.Fatal(err)
		}
	}
	expect(t, counts(t, s), map[string]int64{"ib_logfile0": 5, "unattributed": 0})
}

// A CPU that comes is counted, and one that goes keeps what it had.
func TestPerfCPUs(t *testing.T) {
	if runtime.NumCPU() < 2 {
		lacks(t, "two CPUs")
	}
	online := filepath.Join(t.TempDir(), "online")
	set := func(list string) {
		t.Helper()
		if err := os.WriteFile(online, []byte(list+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, second unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		t.Fatal(err)
	}
	second.Set(1)
	if err := unix.SchedSetaffinity(0, &second); err != nil {
		t.Fatal(err)
	}
	defer unix.SchedSetaffinity(0, &before)

	dir := publicDir(t)
	path := filepath.Join(dir, "ib_logfile0")
	write(t, path, 1)
	set("0")
	s := open(t, perfTarget{PID: os.Getpid(), Files: newFiles(t, dir), online: online})
	write(t, path, 3)
	expect(t, counts(t, s), map[string]int64{"unattributed": 3})
	set("0-1")
	expect(t, counts(t, s), map[string]int64{"unattributed": 3})
	write(t, path, 4)
	expect(t, counts(t, s), map[string]int64{"ib_logfile0": 4, "unattributed": 3})
	set("0")
	expect(t, counts(t, s), map[string]int64{"ib_logfile0": 4, "unattributed": 3})
	write(t, path, 5)
	expect(t, counts(t, s), map[string]int64{"ib_logfile0": 4, "unattributed": 8})

	set("none")
	lookAgain(s)
	c, err := s.Read(t.Context(), false)
	if err != nil || c.Failed == nil {
		t.Errorf("got errors %v, %v, want one of the list", err, c.Failed)
	}
	expect(t, byName(c.Counts), map[string]int64{"ib_logfile0": 4, "unattributed": 8})
}

// A counter that does not get older was thrown out, with its CPU, and is
// opened again.
func TestPerfDeadCounter(t *testing.T) {
	dir := publicDir(t)
	path := filepath.Join(dir, "ib_logfile0")
	write(t, path, 1)
	s := open(t, perfTarget{PID: os.Getpid(), Files: newFiles(t, dir)})
	write(t, path, 3)
	for _, f := range s.(*perfByFile).files {
		for _, c := range f.counters {
			if err := unix.IoctlSetInt(c.fd, unix.PERF_EVENT_IOC_DISABLE, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	// It got older until it was disabled, and so the second read finds out.
	for range 2 {
		expect(t, counts(t, s), map[string]int64{"ib_logfile0": 3, "unattributed": 0})
	}
	counts(t, s)
	write(t, path, 4)
	expect(t, counts(t, s), map[string]int64{"ib_logfile0": 7, "unattributed": 0})
}

// The times of a counter that is read while a thread leaves its CPU may be of two
// moments, which is no sign that the kernel shared it.
func TestPerfCounterTimes(t *testing.T) {
	var p [2]int
	if err := unix.Pipe(p[:]); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(p[0])
	defer unix.Close(p[1])
	c := counter{fd: p[0], cpu: -1}
	for _, test := range []struct {
		reads [][3]uint64 // count, nanoseconds enabled and running
		want  string
	}{
		{[][3]uint64{{5, 100, 100}}, ""},
		{[][3]uint64{{6, 200, 170}, {7, 201, 171}, {8, 202, 202}}, ""},
		{[][3]uint64{{9, 300, 270}, {9, 301, 271}, {9, 302, 272}, {9, 303, 273}}, "counter ran 273 of 303 ns: the kernel shared it with others"},
	} {
		for _, r := range test.reads {
			var b []byte
			for _, n := range r {
				b = binary.NativeEndian.AppendUint64(b, n)
			}
			if _, err := unix.Write(p[1], b); err != nil {
				t.Fatal(err)
			}
		}
		got := ""
		if err := c.read(); err != nil {
			got = err.Error()
		}
		if last := test.reads[len(test.reads)-1]; got != test.want || c.value != int64(last[0]) || c.enabled != last[1] {
			t.Errorf("%v: got %+v, error %q, want %q", test.reads, c, got, test.want)
		}
	}
}

func TestPerfWithoutProcess(t *testing.T) {
	dir := publicDir(t)
	path := filepath.Join(dir, "ib_logfile0")
	write(t, path, 1)
	s := open(t, perfTarget{Files: newFiles(t, dir)})
	write(t, path, 3)
	expect(t, counts(t, s), map[string]int64{"ib_logfile0": 3})
	if got := s.Detail(); !strings.HasSuffix(got, ", of known files only") {
		t.Errorf("got detail %q", got)
	}
}

func TestOnlineCPUs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "online")
	for list, want := range map[string][]int{
		"0\n": {0}, "0-2,5,7-8\n": {0, 1, 2, 5, 7, 8},
		"": nil, "-": nil, "2-1": nil, "0-": nil, "-1": nil, "0-99999999": nil, "x": nil, "1,,2": nil,
	} {
		if err := os.WriteFile(file, []byte(list), 0o644); err != nil {
			t.Fatal(err)
		}
		if got, err := onlineCPUs(file); !reflect.DeepEqual(got, want) || (err == nil) != (want != nil) {
			t.Errorf("%q: got %v, %v, want %v", list, got, err, want)
		}
	}
	if _, err := onlineCPUs(file + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
