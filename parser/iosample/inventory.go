package iosample

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Target says which server is meant. Any field may be zero, but not all of
// PID, DataDir and BinlogIndex. Paths may be as the server has them in its
// variables or as this process sees them.
type Target struct {
	PID         int
	DataDir     string // found by the PID where it is not given
	BinlogIndex string // found among the open files and in the data directory where not given
	RelayIndex  string // likewise
}

// Inventory knows a server's files by device and inode, so that nothing needs
// to be set up anew when the binlog is rotated. It knows one process: after a
// restart make another. It is not safe for concurrent use.
//
// It learns of files in two ways, each of which may be refused: by the
// descriptors that the process has open, and by listing the data directory.
// The first looks through the links of /proc, and so into containers and
// chroots, and never at the files of another server.
type Inventory struct {
	host   Host
	target Target

	dataDir string // where this process can open it; "" where that is nowhere
	dirErr  error  // why it is not known
	cwd     string // the data directory as links in /proc spell it
	files   map[FileID]File
	refused []string

	stems, relays map[string]bool // of the binlogs and relay logs that the indexes name
	index         string          // of the binlogs, where this process can open it
	entry         string          // the last in it
	newest        File            // what that names
	tail          [maxEntry]byte  // space for the end of the index
	indexInfo     fs.FileInfo     // of the index, when its end was read
	indexEntry    string
}

// NewInventory finds a server's files. It is an error where not one can be
// seen, or where the PID and the data directory are those of two servers.
func NewInventory(h Host, t Target) (*Inventory, error) {
	v := &Inventory{host: h, target: t}
	if err := v.findDataDir(); err != nil {
		return nil, err
	}
	if err := v.Refresh(); err != nil {
		return nil, err
	}
	return v, nil
}

// findDataDir finds the server's data directory, and a name by which this
// process can open it. A server works in its data directory: that tells whether
// a name means the right one.
func (v *Inventory) findDataDir() error {
	var given, names []string
	if dir := v.target.DataDir; dir != "" {
		given = v.reach(dir)
		v.dataDir = filepath.Clean(dir)
	}
	names = given
	var cwd fs.FileInfo
	if pid := v.target.PID; pid != 0 {
		link := v.host.pid(pid, "cwd")
		var err error
		if cwd, err = os.Stat(link); err == nil {
			v.cwd, _ = os.Readlink(link)
			names = slices.Concat(given, v.reach(v.cwd), []string{link})
		} else {
			cwd, v.dirErr = nil, v.host.refusal(pid, link, err, needsTrace)
		}
	} else {
		v.dirErr = errors.New("not given")
	}
	for i, name := range names {
		fi, err := os.Stat(name)
		if err != nil || !fi.IsDir() || cwd != nil && !os.SameFile(fi, cwd) {
			continue
		}
		if i >= len(given) && len(given) > 0 {
			return fmt.Errorf("process %d works in %s, so that its data directory is not %s", v.target.PID, v.cwd, v.target.DataDir)
		}
		v.dataDir = name
		break
	}
	return nil
}

// through gives the name by which this process reaches what the server calls
// path, and whether there is one. A server may have a root directory or mounts of
// its own, so that the plain path may mean a file of another server.
func (v *Inventory) through(path string) (string, bool) {
	if v.target.PID == 0 {
		return "", false
	}
	link := v.host.pid(v.target.PID, "root")
	inside := filepath.Join(link, path)
	a, err := os.Stat(inside)
	if err != nil {
		return "", false
	}
	// Where these mean the same they are nicer, and outlive the process.
	root, _ := os.Readlink(link)
	for _, plain := range []string{filepath.Clean(path), filepath.Join(root, path)} {
		if b, err := os.Stat(plain); err == nil && os.SameFile(a, b) {
			return plain, true
		}
	}
	return inside, true
}

// reach gives the names that a path may be meant by, which is the server's or
// this process's.
func (v *Inventory) reach(path string) []string {
	plain := filepath.Clean(path)
	if inside, ok := v.through(path); ok && inside != plain {
		return []string{inside, plain}
	}
	return []string{plain}
}

// DataDir gives a path by which this process can open the data directory, or
// "" where it is not known.
func (v *Inventory) DataDir() string { return v.dataDir }

// Refused says what could not be read at the last Refresh, and what is missing
// for it.
func (v *Inventory) Refused() []string { return v.refused }

// Lookup gives what is known of a file.
func (v *Inventory) Lookup(id FileID) (File, bool) {
	f, ok := v.files[id]
	return f, ok
}

// Still reports whether a file is where it was. When it was deleted or renamed,
// another may have its ID.
func (v *Inventory) Still(f File) bool {
	fi, err := os.Stat(f.Path)
	return err == nil && fileID(fi) == f.ID
}

// Files gives all files known, by class, in the order of [Classes], and name.
func (v *Inventory) Files() []File {
	all := make([]File, 0, len(v.files))
	for _, f := range v.files {
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b File) int {
		return cmp.Or(
			cmp.Compare(slices.Index(Classes, a.Class), slices.Index(Classes, b.Class)),
			cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.ID.Dev, b.ID.Dev),
			cmp.Compare(a.ID.Ino, b.ID.Ino),
		)
	})
	return all
}

// Devices gives the device numbers, as stat does, of the file systems that hold
// what a server syncs on commit or soon after: all classes but relay and other.
func (v *Inventory) Devices() []uint64 {
	var devices []uint64
	for id, f := range v.files {
		switch f.Class {
		case Binlog, Redo, Doublewrite, Undo, Data:
			if !slices.Contains(devices, id.Dev) {
				devices = append(devices, id.Dev)
			}
		default:
		}
	}
	slices.Sort(devices)
	return devices
}

// Encrypted is whether a binlog or relay log is encrypted as a whole, as MySQL
// does it: then it is 512 bytes longer than the log in it.
func (v *Inventory) Encrypted(f File) (bool, error) {
	file, err := os.Open(f.Path)
	if err != nil {
		return false, refusedFile(f.Path, err)
	}
	defer file.Close()
	var head [len(magic)]byte
	if n, err := io.ReadFull(file, head[:]); err != nil {
		return false, fmt.Errorf("%s: %d bytes, want %d or more: %w", f.Path, n, len(magic), err)
	}
	switch string(head[:]) {
	case magic:
		return false, nil
	case magicEncrypted:
		return true, nil
	}
	return false, fmt.Errorf("%s: begins with % x, want a log's % x or % x", f.Path, head, magic, magicEncrypted)
}

// refusedFile says what is missing where a server's file may not be read.
func refusedFile(path string, err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%s: %w: needs the server's own user or group, or CAP_DAC_READ_SEARCH", path, bare(err))
	}
	return fmt.Errorf("%s: %w", path, bare(err))
}

// refuse notes why something could not be read.
func (v *Inventory) refuse(err error) {
	if err != nil && !slices.Contains(v.refused, err.Error()) {
		v.refused = append(v.refused, err.Error())
	}
}

// Refresh lists the open descriptors and the directories anew, whichever of
// the two is permitted, and reads the indexes. It is an error where nothing
// could be read; what was known before then stays.
func (v *Inventory) Refresh() error {
	before := v.files
	v.files, v.refused = map[FileID]File{}, nil
	dirErr := v.directories()
	v.refuse(dirErr)
	open, fdErr := v.descriptors()
	v.refuse(fdErr)
	v.indexes(open)
	v.Binlog()
	if len(v.files) > 0 || dirErr == nil && fdErr == nil {
		return nil
	}
	v.files = before
	switch {
	case fdErr == nil:
		return dirErr
	case dirErr == nil || errors.Is(dirErr, ErrNotVisible) && errors.Is(fdErr, ErrNotVisible):
		return fdErr
	}
	return fmt.Errorf("%w; %w", fdErr, dirErr)
}

// directories adds the files of the data directory and of the directories in
// it: databases, #innodb_redo, #innodb_temp.
func (v *Inventory) directories() error {
	if v.dataDir == "" {
		return fmt.Errorf("data directory: %w", v.dirErr)
	}
	entries, err := os.ReadDir(v.dataDir)
	if err != nil {
		return refusedFile(v.dataDir, err)
	}
	// Directories are synced, too, when files in them are made or renamed.
	if fi, err := os.Stat(v.dataDir); err == nil {
		v.add(fi, v.dataDir, "./")
	}
	for _, e := range entries {
		path := filepath.Join(v.dataDir, e.Name())
		fi, err := os.Stat(path) // a database may be a link to another disk
		if err != nil {
			continue
		}
		if !fi.IsDir() {
			v.add(fi, path, e.Name())
			continue
		}
		if e.Name() == "lost+found" { // the file system's, and for root alone
			continue
		}
		v.add(fi, path, e.Name()+"/")
		below, err := os.ReadDir(path)
		if err != nil {
			v.refuse(refusedFile(path, err))
		}
		for _, b := range below {
			path := filepath.Join(path, b.Name())
			if fi, err := os.Stat(path); err == nil {
				v.add(fi, path, filepath.Join(e.Name(), b.Name()))
			}
		}
	}
	return nil
}

// add adds a file or a directory by the name it has; its class follows when the indexes are known.
func (v *Inventory) add(fi fs.FileInfo, path, name string) {
	if fi.Mode().IsRegular() || fi.IsDir() {
		id := fileID(fi)
		v.files[id] = File{ID: id, Name: name, Path: path, Size: fi.Size()}
	}
}

// descriptors adds the files that the process has open, and gives their
// numbers.
func (v *Inventory) descriptors() (map[FileID]bool, error) {
	pid := v.target.PID
	if pid == 0 {
		return nil, nil
	}
	dir := v.host.pid(pid, "fd")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, v.host.refusal(pid, dir, err, needsFiles)
	}
	open := map[FileID]bool{}
	for _, e := range entries {
		link := filepath.Join(dir, e.Name())
		target, err := os.Readlink(link)
		if errors.Is(err, fs.ErrPermission) {
			return nil, v.host.refusal(pid, dir, err, needsFiles)
		}
		if !filepath.IsAbs(target) {
			continue // a socket, a pipe; or closed just now
		}
		// Through the link, whatever the target means here, if anything.
		fi, err := os.Stat(link)
		if err != nil || !fi.Mode().IsRegular() {
			continue
		}
		id := fileID(fi)
		open[id] = true
		target = strings.TrimSuffix(target, deleted)
		if known, ok := v.files[id]; ok && filepath.Base(known.Path) == filepath.Base(target) {
			continue
		}
		name := target
		if below, ok := strings.CutPrefix(target, v.cwd+"/"); ok && v.cwd != "" {
			name = below
		}
		v.add(fi, v.path(target, link, fi), name)
	}
	return open, nil
}

// path gives a name of an open file by which this process can stat it: its
// path, or that in the server's root directory, or else the link to the
// descriptor, which goes when it is closed.
func (v *Inventory) path(target, link string, fi fs.FileInfo) string {
	for _, path := range []string{target, v.host.pid(v.target.PID, "root", target)} {
		if same, err := os.Stat(path); err == nil && os.SameFile(same, fi) {
			return path
		}
	}
	return link
}

// indexes finds the indexes of binlogs and relay logs, and gives each file its
// class: by them, or else by its name. open has the files that the process has
// open; it is nil where that is not known.
func (v *Inventory) indexes(open map[FileID]bool) {
	binlogs, relay := v.given(v.target.BinlogIndex), v.given(v.target.RelayIndex)
	var relays []*logIndex
	if relay != nil {
		relays = append(relays, relay)
	}
	for id, f := range v.files {
		if filepath.Ext(f.Name) != ".index" || binlogs != nil && id == binlogs.id || relay != nil && id == relay.id {
			continue
		}
		x, err := readIndex(f.Path)
		if errors.Is(err, fs.ErrPermission) {
			v.refuse(refusedFile(f.Path, err))
		}
		if err != nil || len(x.entries) == 0 {
			continue // of something else
		}
		if v.ofRelays(x) {
			relays = append(relays, x)
			continue
		}
		// An index that a change of settings left behind is not in use. Only the
		// open log tells while the server replaces its index.
		if x.open = open[id]; !x.open && open != nil && !v.anyOpen(x, open) {
			continue
		}
		if v.target.BinlogIndex == "" && (binlogs == nil || x.open && !binlogs.open || x.open == binlogs.open && x.changed.After(binlogs.changed)) {
			binlogs = x
		}
	}
	v.stems, v.relays = map[string]bool{}, map[string]bool{}
	for _, x := range relays {
		v.enter(x, Relay, v.relays)
	}
	if binlogs != nil {
		v.index = binlogs.path
		v.enter(binlogs, Binlog, v.stems)
	}
	for id, f := range v.files {
		if f.Class != "" {
			continue
		}
		f.Class = Classify(f.Name, func(base string) bool {
			s := stem(base)
			return !v.stems[s] && (v.relays[s] || namesRelay(base))
		})
		if f.Class == Binlog || f.Class == Relay {
			f.Name = filepath.Base(f.Name)
		}
		v.files[id] = f
	}
}

// given reads the index of the target that path names, if any.
func (v *Inventory) given(path string) *logIndex {
	if path == "" {
		return nil
	}
	names := v.reach(path)
	for i, name := range names {
		x, err := readIndex(name)
		if err == nil {
			return x
		}
		if i+1 == len(names) {
			v.refuse(refusedFile(name, err))
		}
	}
	return nil
}

// ofRelays is whether an index is of relay logs: by what the newest log says of
// itself, or where that cannot be read by its name.
func (v *Inventory) ofRelays(x *logIndex) bool {
	newest := x.entries[len(x.entries)-1]
	if relay, known := isRelayLog(v.log(x.path, newest)); known {
		return relay
	}
	return namesRelay(filepath.Base(newest))
}

// anyOpen is whether one of the newest logs of an index is open; a new log is
// opened before it is entered.
func (v *Inventory) anyOpen(x *logIndex, open map[FileID]bool) bool {
	for _, entry := range x.entries[max(0, len(x.entries)-2):] {
		if fi, err := os.Stat(v.log(x.path, entry)); err == nil && open[fileID(fi)] {
			return true
		}
	}
	return false
}

// enter gives the logs of an index their class, and adds those that lie
// elsewhere.
func (v *Inventory) enter(x *logIndex, class Class, stems map[string]bool) {
	for _, entry := range x.entries {
		stems[stem(entry)] = true
		path := v.log(x.path, entry)
		if fi, err := os.Stat(path); err == nil && fi.Mode().IsRegular() {
			id := fileID(fi)
			v.files[id] = File{ID: id, Class: class, Name: filepath.Base(entry), Path: path, Size: fi.Size()}
		}
	}
}

// log gives the path by which this process can stat a log that an index names.
// Relative entries are below the data directory, others as the server sees them.
func (v *Inventory) log(index, entry string) string {
	beside := filepath.Join(filepath.Dir(index), filepath.Base(entry))
	other := entry
	if filepath.IsAbs(entry) {
		if path, ok := v.through(entry); ok {
			return path
		}
	} else if v.dataDir != "" {
		beside, other = filepath.Join(v.dataDir, entry), beside
	}
	if _, err := os.Stat(beside); err == nil {
		return beside
	}
	return other
}

// rotated takes the binlogs anew from their index: several may have come since,
// and of those purged the inodes are free for other files.
func (v *Inventory) rotated() {
	x, err := readIndex(v.index)
	if err != nil {
		return
	}
	for id, f := range v.files {
		if f.Class == Binlog && v.stems[stem(f.Name)] {
			delete(v.files, id)
		}
	}
	v.enter(x, Binlog, v.stems)
}

// lastEntry gives the newest log that the index names. It reads the index only
// where that has changed.
func (v *Inventory) lastEntry() (string, error) {
	fi, err := os.Stat(v.index)
	if err != nil {
		return "", err
	}
	if old := v.indexInfo; old != nil && os.SameFile(old, fi) && old.Size() == fi.Size() && old.ModTime().Equal(fi.ModTime()) {
		return v.indexEntry, nil
	}
	entry, err := lastEntry(v.index, v.tail[:])
	if err == nil {
		v.indexInfo, v.indexEntry = fi, entry
	}
	return entry, err
}

// Binlog gives the newest binlog that the index names, with its size as of now.
// It is false where there is none. It costs a few system calls, so that it may be
// called for each sample. When the binlog was rotated it brings Lookup up to
// date on all binlogs, but not on other files.
func (v *Inventory) Binlog() (File, bool) {
	if v.index == "" {
		return File{}, false
	}
	// MySQL takes the index away for a moment when it purges. The log known is
	// still the newest then.
	entry, err := v.lastEntry()
	if err == nil && entry != v.entry && numbered.MatchString(entry) {
		v.entry = entry
		v.rotated()
	}
	if v.entry == "" {
		return File{}, false
	}
	f := File{Class: Binlog, Name: filepath.Base(v.entry), Path: v.newest.Path}
	if f.Name != v.newest.Name {
		f.Path = v.log(v.index, v.entry)
	}
	fi, err := os.Stat(f.Path)
	if err != nil {
		v.newest = File{} // look for it anew the next time
		return File{}, false
	}
	f.ID, f.Size = fileID(fi), fi.Size()
	if v.newest.Path == f.Path && v.newest.ID != f.ID {
		delete(v.files, v.newest.ID) // RESET: the same name, another file
	}
	v.newest, v.files[f.ID] = f, f
	return f, true
}
