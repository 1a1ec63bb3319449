package iosample

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
)

// Disk is what a file system lies on.
type Disk struct {
	Name string // such as "sda", "nvme0n1" or "dm-0": never a partition's
	// WriteCache is "write back" where the disk has a cache that must be
	// flushed, "write through" where the kernel has no need to send flushes,
	// "" where it cannot be read. Of several disks, one that must be flushed
	// decides.
	WriteCache string
	// FUA is whether the disk can write a block past its cache, so that a
	// journal needs one flush less.
	FUA bool
	// Parts are the real disks below a dm or md device, which alone count
	// flushes; nil where Name is one itself.
	Parts []string
}

// disks gives the names under which flushes are counted.
func (d Disk) disks() []string {
	if len(d.Parts) > 0 {
		return d.Parts
	}
	return []string{d.Name}
}

// Disk gives the disk of a file system, by its device number as stat gives it.
func (h Host) Disk(dev uint64) (Disk, error) {
	major, minor := majorMinor(dev)
	number := fmt.Sprintf("%d:%d", major, minor)
	dir, err := filepath.EvalSymlinks(h.Root + "/sys/dev/block/" + number)
	if errors.Is(err, fs.ErrNotExist) && major == 0 {
		return Disk{}, fmt.Errorf("device %s: on no disk of its own, as with btrfs, zfs, overlay, network and memory file systems", number)
	}
	if err != nil {
		return Disk{}, fmt.Errorf("device %s: %w", number, err)
	}
	dir = wholeDisk(dir)
	d := Disk{Name: diskName(dir)}
	below := realDisks(dir, 0)
	for _, part := range below {
		if name := diskName(part); !slices.Contains(d.Parts, name) {
			d.Parts = append(d.Parts, name)
		}
		cache := readWord(part + "/queue/write_cache")
		if d.WriteCache == "" || cache == "write back" {
			d.WriteCache = cache
		}
	}
	slices.Sort(d.Parts)
	if len(below) == 1 && below[0] == dir {
		d.Parts = nil
	}
	d.FUA = readWord(dir+"/queue/fua") == "1"
	return d, nil
}

// wholeDisk gives the directory of the disk that a partition is on, or of the
// disk itself.
func wholeDisk(dir string) string {
	if _, err := os.Stat(dir + "/partition"); err == nil {
		return filepath.Dir(dir)
	}
	return dir
}

// realDisks gives the directories of the disks that have none below them. LVM
// on LUKS on RAID is three deep; the limit ends loops.
func realDisks(dir string, depth int) []string {
	slaves, _ := os.ReadDir(dir + "/slaves") // none on old kernels
	var all []string
	for _, s := range slaves {
		below, err := filepath.EvalSymlinks(filepath.Join(dir, "slaves", s.Name()))
		if err == nil && depth < 10 {
			all = append(all, realDisks(wholeDisk(below), depth+1)...)
		}
	}
	if len(all) == 0 {
		return []string{dir}
	}
	return all
}

// diskName is a disk's name as /proc has it. Names of files cannot hold the
// slash of names such as cciss/c0d0.
func diskName(dir string) string { return strings.ReplaceAll(filepath.Base(dir), "!", "/") }

func readWord(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// Flushes gives the number of flush requests that a disk has completed since
// boot, for all programs, summed over Parts. It is false where the kernel does
// not count them, which it does since 5.5.
func (h Host) Flushes(d Disk) (int64, bool, error) {
	path := h.Root + "/proc/diskstats"
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, false, err
	}
	return parseFlushes(path, b, d)
}

// parseFlushes reads /proc/diskstats.
func parseFlushes(path string, b []byte, d Disk) (int64, bool, error) {
	disks := d.disks()
	sum, found := int64(0), 0
	for line := range bytes.Lines(b) {
		// Major, minor, name, 11 numbers; 4 on discards since 4.18; flushes and
		// their time since 5.5 (the kernel's admin-guide/iostats).
		i := 0
		for field := range bytes.FieldsSeq(line) {
			if i++; i == 3 && !slices.Contains(disks, string(field)) {
				break
			}
			if i == 19 {
				n, err := strconv.ParseInt(string(field), 10, 64)
				if err != nil {
					return 0, false, fmt.Errorf("%s: flushes: %w", path, err)
				}
				sum += n
				found++
				break
			}
		}
		if i > 3 && i < 19 {
			return 0, false, nil
		}
	}
	if found != len(disks) {
		return 0, false, fmt.Errorf("%s: lines of %d of the disks %s, want all", path, found, strings.Join(disks, ", "))
	}
	return sum, true, nil
}

// FileSystem is a mounted file system.
type FileSystem struct {
	Type  string // ext4, xfs, overlay, ...
	Mount string // where it is mounted, as whoever mounted it sees that
	Dev   uint64 // as stat gives it
}

// FileSystem gives the file system that a file or directory is on.
func (h Host) FileSystem(path string) (FileSystem, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return FileSystem{}, err
	}
	fi, err := os.Stat(path)
	if err != nil {
		return FileSystem{}, err
	}
	f := FileSystem{Dev: fileID(fi).Dev}
	proc, err := procfs.NewFS(h.Root + "/proc")
	if err != nil {
		return f, err
	}
	mounts, err := proc.GetMounts()
	if err != nil {
		return f, err
	}
	below, pid := h.inside(path)
	if pid == 0 {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			below = real
		}
	}
	if f.find(mounts, below) {
		return f, nil
	}
	// What is mounted for the server alone stands in its own list only.
	if pid != 0 {
		mounts, err = proc.GetProcMounts(pid)
		if err != nil {
			return f, err
		}
		if f.find(mounts, below) {
			return f, nil
		}
	}
	return f, fmt.Errorf("%s: not on a file system that is mounted", path)
}

// inside gives the path that a process sees under a path such as
// /proc/4711/root/data, and that process; others it gives as they are.
func (h Host) inside(path string) (string, int) {
	rest, ok := strings.CutPrefix(path, h.Root+"/proc/")
	number, below, _ := strings.Cut(rest, "/")
	pid, err := strconv.Atoi(number)
	if !ok || err != nil {
		return path, 0
	}
	return filepath.Join("/", strings.TrimPrefix(below, "root")), pid
}

// find looks f's device up among mounts, and reports whether it was there. A
// file system may be mounted several times: the longest mount point above the
// path is it. Files of btrfs have device numbers that no mount has; there the
// path alone must do.
func (f *FileSystem) find(mounts []*procfs.MountInfo, path string) bool {
	major, minor := majorMinor(f.Dev)
	dev := fmt.Sprintf("%d:%d", major, minor)
	best := 0
	for _, m := range mounts {
		mount := unescape(m.MountPoint)
		above := mount == "/" || path == mount || strings.HasPrefix(path, mount+"/")
		rank := len(mount)
		switch {
		case above && m.MajorMinorVer == dev:
			rank += 2 << 20
		case m.MajorMinorVer == dev:
			rank += 1 << 20 // seen through another mount, or from another root directory
		case above && m.FSType == "btrfs" && major == 0:
		default:
			continue
		}
		if rank >= best { // a later mount hides an earlier one
			best, f.Type, f.Mount = rank, m.FSType, mount
		}
	}
	return best > 0
}

// unescape replaces the \040 for a space, and its like.
func unescape(s string) string {
	for i := 0; i+3 < len(s); i++ {
		if c, err := strconv.ParseUint(s[i+1:i+4], 8, 8); s[i] == '\\' && err == nil {
			s = s[:i] + string([]byte{byte(c)}) + s[i+4:]
		}
	}
	return s
}
