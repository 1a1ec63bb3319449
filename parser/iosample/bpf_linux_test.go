package iosample

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// openSyncs opens the source bpf and closes it when the test ends.
func openSyncs(t *testing.T, files serverFiles, o bpfOptions) *bpfSource {
	t.Helper()
	needRoot(t)
	if _, err := os.Stat("/sys/kernel/btf/vmlinux"); err != nil {
		lacks(t, "a kernel built with CONFIG_DEBUG_INFO_BTF")
	}
	s, err := loadBPF(files, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

var byNameOnly = bpfOptions{ring: bpfDefaults.ring, byName: true}

// mounted gives the directory of a fresh file system on a disk of its own, to
// which nobody else syncs. An ext4 has no journal unless options say so.
func mounted(t *testing.T, fsType string, options ...string) string {
	t.Helper()
	needRoot(t)
	if _, err := exec.LookPath("mkfs." + fsType); err != nil {
		lacks(t, "mkfs."+fsType+", of e2fsprogs or xfsprogs")
	}
	if known, err := os.ReadFile("/proc/filesystems"); err != nil || !bytes.Contains(known, []byte("\t"+fsType+"\n")) {
		lacks(t, fsType+" in /proc/filesystems: modprobe "+fsType)
	}
	if _, err := os.Stat("/dev/loop-control"); err != nil {
		lacks(t, "loop devices: modprobe loop")
	}
	image, dir := filepath.Join(t.TempDir(), "image"), publicDir(t)
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(image, 400<<20); err != nil { // xfs wants 300 MiB or more
		t.Fatal(err)
	}
	mkfs := []string{"mkfs." + fsType, "-q", image}
	if fsType == "ext4" {
		mkfs = append(mkfs, "-O", "^has_journal") // which would be synced as well
	}
	mkfs = append(mkfs, options...)
	for _, command := range [][]string{mkfs, {"mount", "-t", fsType, "-o", "loop", image, dir}} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", strings.Join(command, " "), err, out)
		}
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

// collected is what a source with events gave so far.
type collected struct {
	source Source
	counts map[string]int64
	lost   int64
	events []SyncEvent
	// When the last ones of binlogs and of other files began.
	binlogs, others int64
}

// read reads once more, and checks what holds of each read.
func (c *collected) read(t *testing.T) {
	t.Helper()
	got, err := c.source.Read(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	now := byName(got.Counts)
	for name, n := range c.counts {
		if now[name] < n {
			t.Errorf("%s went from %d down to %d", name, n, now[name])
		}
	}
	for _, e := range got.Events {
		// Binlogs and other files do not wait for each other.
		before := &c.others
		if e.Class == Binlog {
			before = &c.binlogs
		}
		if e.Mono < *before {
			t.Errorf("event %d is %d ns before the one before", len(c.events), *before-e.Mono)
		}
		*before = e.Mono
		c.events = append(c.events, e)
	}
	c.counts, c.lost = now, got.Lost
}

// of has the events of a file.
func (c *collected) of(name string) []SyncEvent {
	return slices.DeleteFunc(slices.Clone(c.events), func(e SyncEvent) bool { return e.Name != name })
}

// Counts and events must be those of the writer, whatever the file system and
// however the programs are attached.
func TestBPF(t *testing.T) {
	for _, fsType := range []string{"ext4", "xfs"} {
		t.Run(fsType, func(t *testing.T) {
			dir := mounted(t, fsType)
			o := load()
			o.Rotate = true
			w := startWriter(t, dir, o)
			typed := &collected{source: openSyncs(t, newFiles(t, dir), bpfDefaults)}
			named := &collected{source: openSyncs(t, newFiles(t, dir), byNameOnly)}
			tracepoints := map[string]string{"ext4": "ext4_sync_file_enter", "xfs": "xfs_file_fsync, xfs_dir_fsync"}[fsType]
			if got := typed.source.Detail(); got != tracepoints {
				t.Errorf("typed: got %q, want %q", got, tracepoints)
			}
			if got, want := named.source.Detail(), strings.ReplaceAll(tracepoints, ",", " by name,")+" by name"; got != want {
				t.Errorf("by name: got %q, want %q", got, want)
			}

			start := monotonic()
			w.Go(t)
			for running := true; running; {
				select {
				case <-w.done:
					running = false
				case <-time.After(20 * time.Millisecond):
				}
				typed.read(t)
				named.read(t)
			}
			truth := w.Done(t)
			end := monotonic()
			w.Wait(t)
			t.Log(strings.TrimSpace(w.child.errors.String()))
			for how, c := range map[string]*collected{"typed": typed, "by name": named} {
				expect(t, c.counts, map[string]int64{
					"binlog.000001": truth[w.Binlogs[0]], "binlog.000002": truth[w.Binlogs[1]],
					"ib_logfile0": truth[w.Redo], "unattributed": int64(o.Strays),
				})
				if c.lost != 0 {
					t.Errorf("%s: lost %d", how, c.lost)
				}
				sum := 0
				tids := map[int]string{}
				for name, want := range map[string]int64{"binlog.000001": truth[w.Binlogs[0]], "binlog.000002": truth[w.Binlogs[1]], "ib_logfile0": truth[w.Redo], "": int64(o.Strays)} {
					events := c.of(name)
					sum += len(events)
					if int64(len(events)) != want {
						t.Errorf("%s: %q: got %d events, want %d", how, name, len(events), want)
					}
					for i, e := range events {
						size := int64(i+1) * 512
						switch name {
						case "ib_logfile0":
							size = min(size, 64*512)
						case "":
							size = 0
						}
						if e.Size != size {
							t.Fatalf("%s: %s: event %d: got size %d, want %d", how, name, i, e.Size, size)
						}
						if e.Mono < start || e.Mono+e.Latency > end || e.Latency < 0 || (e.Latency > 0) != (fsType == "ext4") {
							t.Fatalf("%s: %s: event %d: got %+v, want it from %d to %d, and a latency on ext4", how, name, i, e, start, end)
						}
						if e.TID != events[0].TID {
							t.Fatalf("%s: %s: event %d is of thread %d, others of %d", how, name, i, e.TID, events[0].TID)
						}
					}
					tids[events[0].TID] += name + " "
				}
				if sum != len(c.events) {
					t.Errorf("%s: got %d events, %d of them of these files", how, len(c.events), sum)
				}
				if len(tids) != 3 {
					t.Errorf("%s: got threads %v, want that of the binlogs, that of the redo log and that of the stray", how, tids)
				}
			}
			// Both saw the same, at times of their own: so the order may differ between
			// threads, and not within one.
			for _, name := range []string{"binlog.000001", "binlog.000002", "ib_logfile0", ""} {
				typed, named := typed.of(name), named.of(name)
				for i := range min(len(typed), len(named)) {
					a, b := typed[i], named[i]
					if d := a.Mono - b.Mono; a.TID != b.TID || a.Size != b.Size || max(d, -d) > int64(time.Second) {
						t.Fatalf("event %d of %q: got typed %+v, by name %+v", i, name, a, b)
					}
				}
			}
		})
	}
}

// Events of threads on all processors come by rising time.
func TestBPFOrder(t *testing.T) {
	dir := mounted(t, "xfs")
	const threads, each = 8, 300
	path := func(i int) string { return filepath.Join(dir, fmt.Sprintf("t%d.ibd", i)) }
	for i := range threads {
		write(t, path(i), 1)
	}
	c := &collected{source: openSyncs(t, newFiles(t, dir), bpfDefaults)}
	done := make(chan error, threads)
	for i := range threads {
		go func() {
			f, err := os.OpenFile(path(i), os.O_WRONLY, 0)
			for range each {
				if err == nil {
					err = f.Sync() // of nothing: as fast as can be
				}
			}
			f.Close()
			done <- err
		}()
	}
	for ended := 0; ended < threads; {
		select {
		case err := <-done:
			if ended++; err != nil {
				t.Fatal(err)
			}
		default:
			c.read(t)
		}
	}
	c.read(t)
	want := map[string]int64{}
	for i := range threads {
		want[filepath.Base(path(i))] = each
	}
	expect(t, c.counts, want)
	if len(c.events) != threads*each {
		t.Errorf("got %d events, want %d", len(c.events), threads*each)
	}
}

// Writes to a file opened with O_DSYNC, syncs of directories, and the files of
// several servers.
func TestBPFKinds(t *testing.T) {
	for _, fsType := range []string{"ext4", "xfs"} {
		t.Run(fsType, func(t *testing.T) {
			dir := mounted(t, fsType)
			if err := os.Mkdir(filepath.Join(dir, "db"), 0o755); err != nil {
				t.Fatal(err)
			}
			redo, err := os.OpenFile(filepath.Join(dir, "ib_logfile0"), os.O_CREATE|os.O_WRONLY|unix.O_DSYNC, 0o644)
			if err != nil {
				t.Fatal(err)
			}
			defer redo.Close()
			c := &collected{source: openSyncs(t, inventoryOf(t, dir), bpfDefaults)}
			for range 5 {
				if _, err := redo.WriteString("x"); err != nil {
					t.Fatal(err)
				}
			}
			for name, n := range map[string]int{"": 2, "db": 3} {
				d, err := os.Open(filepath.Join(dir, name))
				if err != nil {
					t.Fatal(err)
				}
				defer d.Close()
				for range n {
					if err := d.Sync(); err != nil {
						t.Fatal(err)
					}
				}
			}
			c.read(t)
			expect(t, c.counts, map[string]int64{"ib_logfile0": 5, "./": 2, "db/": 3})
		})
	}
}

// inventoryOf are the files of a data directory without a process.
func inventoryOf(t *testing.T, dir string) *liveFiles {
	t.Helper()
	return &liveFiles{newInventory(t, Host{}, Target{DataDir: dir}), Host{}, map[uint64]string{}}
}

// Files that nobody knows count where the server syncs them, and not where
// others do.
func TestBPFUnknownFiles(t *testing.T) {
	dir := mounted(t, "ext4")
	w := startWriter(t, dir, writerOptions{Rate: 500, Duration: 20 * time.Millisecond, Strays: 4})
	c := &collected{source: openSyncs(t, newFiles(t, dir), bpfDefaults)}
	write(t, filepath.Join(dir, "stray"), 3)
	c.read(t)
	expect(t, c.counts, map[string]int64{"binlog.000001": 0})
	w.Go(t)
	w.Done(t)
	w.Wait(t)
	write(t, filepath.Join(dir, "stray"), 3)
	c.read(t)
	want := map[string]int64{"binlog.000001": 10, "ib_logfile0": 10, "unattributed": 4}
	expect(t, c.counts, want)
	write(t, filepath.Join(dir, "stray"), 3)
	c.read(t)
	expect(t, c.counts, want)
	// Now this process is the server, too: as one started anew would be.
	write(t, filepath.Join(dir, "stray"), 3)
	write(t, filepath.Join(dir, "ib_logfile0"), 1)
	c.read(t)
	want["unattributed"] += 3
	want["ib_logfile0"]++
	expect(t, c.counts, want)
}

// A file keeps its count when it goes; the next that has its inode begins at
// nothing.
func TestBPFInodeReuse(t *testing.T) {
	// Without a journal ext4 gives an inode away again only within the second in
	// which it became free, or minutes later (recently_deleted in fs/ext4/ialloc.c).
	dir := mounted(t, "ext4", "-O", "has_journal")
	path := func(name string) string { return filepath.Join(dir, name) }
	write(t, path("ib_logfile0"), 1)
	c := &collected{source: openSyncs(t, newFiles(t, dir), bpfDefaults)}
	want := map[string]int64{}
	before := FileID{}
	for i, name := range []string{"binlog.000001", "binlog.000002", "t.ibd", "binlog.000003"} {
		write(t, path(name), 3+i)
		want[name] = int64(3 + i)
		if i%2 == 1 { // it is read before it goes, or not
			c.read(t)
			expect(t, c.counts, want)
		}
		id := idOf(t, path(name))
		if before != (FileID{}) && id != before {
			t.Errorf("%s has inode %d, want %d again", name, id.Ino, before.Ino)
		}
		before = id
		if i%2 == 0 {
			c.read(t)
		}
		if i%2 == 0 {
			write(t, path(name), 1)
			want[name]++
		}
		if err := os.Remove(path(name)); err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			c.read(t)
			expect(t, c.counts, want)
		}
	}
	c.read(t)
	expect(t, c.counts, want)
}

// What finds no room is counted, and holds up nothing.
func TestBPFLost(t *testing.T) {
	for _, fsType := range []string{"ext4", "xfs"} {
		t.Run(fsType, func(t *testing.T) {
			dir := mounted(t, fsType)
			path := filepath.Join(dir, "ib_logfile0")
			write(t, path, 1)
			ring := os.Getpagesize()
			c := &collected{source: openSyncs(t, newFiles(t, dir), bpfOptions{ring: ring})}
			room := ring / (recordBytes + 8) // each has a header
			if fsType == "ext4" {
				room = (room + 1) / 2 // the last without its end
			}
			total := int64(0)
			for round := 1; round <= 3; round++ {
				const many = 300
				write(t, path, many)
				total += many
				c.read(t)
				if got := c.counts["ib_logfile0"]; got+c.lost != total || c.lost == 0 {
					t.Errorf("counted %d and lost %d, want %d together", got, c.lost, total)
				}
				if got := len(c.events); got != int(c.counts["ib_logfile0"]) {
					t.Errorf("got %d events of %d syncs", got, c.counts["ib_logfile0"])
				}
				if round == 1 && (len(c.events) < room-1 || len(c.events) > room) {
					t.Errorf("got %d events, want %d", len(c.events), room)
				}
			}
			for _, e := range c.events {
				if fsType == "xfs" && e.Latency != 0 {
					t.Fatalf("got latency %d", e.Latency)
				}
			}
			lost, n := c.lost, len(c.events)
			write(t, path, 10)
			c.read(t)
			if c.lost != lost || len(c.events) != n+10 {
				t.Errorf("lost %d more, got %d events, want 10", c.lost-lost, len(c.events)-n)
			}
			if fsType != "ext4" {
				return
			}
			for _, e := range c.events[n:] {
				if e.Latency <= 0 || e.Latency > int64(time.Minute) {
					t.Errorf("got latency %d", e.Latency)
				}
			}
		})
	}
}

// A file system that does not tell of its syncs is named.
func TestBPFOtherFileSystems(t *testing.T) {
	needRoot(t)
	base := t.TempDir()
	mount := func(fsType, dir, options string) {
		t.Helper()
		if err := unix.Mount(fsType, dir, fsType, 0, options); err != nil {
			t.Fatalf("mount %s: %v", fsType, err)
		}
		t.Cleanup(func() {
			if err := unix.Unmount(dir, 0); err != nil {
				t.Error(err)
			}
		})
	}
	mount("tmpfs", base, "")
	for _, name := range []string{"lower", "upper", "work", "overlay"} {
		if err := os.Mkdir(filepath.Join(base, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	overlay := filepath.Join(base, "overlay")
	if known, err := os.ReadFile("/proc/filesystems"); err == nil && bytes.Contains(known, []byte("\toverlay\n")) {
		mount("overlay", overlay, fmt.Sprintf("lowerdir=%s/lower,upperdir=%s/upper,workdir=%s/work", base, base, base))
	} else {
		t.Log("no overlay in /proc/filesystems")
		overlay = ""
	}
	// In this order: the files of the overlay are in directories of the tmpfs.
	for _, tt := range [][2]string{{"tmpfs", base}, {"overlay", overlay}} {
		fsType, dir := tt[0], tt[1]
		if dir == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, "ib_logfile0"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		s, err := openBPF(inventoryOf(t, dir))
		if want := fsType + " has no sync tracepoint: ext4 and xfs have"; err == nil || err.Error() != want {
			t.Errorf("%s: got %v, %v, want %q", fsType, s, err, want)
		}
	}
}

// The two ways of writing a device number.
func TestKernelDev(t *testing.T) {
	for _, dev := range []uint64{unix.Mkdev(7, 0), unix.Mkdev(254, 3), unix.Mkdev(259, 1<<20-1), unix.Mkdev(4095, 256)} {
		if got := statDev(uint32(kernelDev(dev))); got != dev {
			t.Errorf("got %d:%d, want %d:%d", unix.Major(got), unix.Minor(got), unix.Major(dev), unix.Minor(dev))
		}
	}
}
