package iosample

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	// The kernel takes filters of less than a page, which has at least 4096
	// bytes. A file needs up to 27 of them: "ino==", 20 digits, "||".
	filesPerFilter = 140
	// Reading a counter interrupts its CPU, and MySQL has 32 files of redo log:
	// a class with more files than this is counted together.
	maxSingle = 4
	// Every sync is put to every filter, so there is an end to this.
	filtersPerClass = 8
)

// perfByFile counts the tracepoint of a file system, with a filter for each
// file that matters, on every CPU. It counts whoever syncs the file, and so
// goes on after a restart of the server.
type perfByFile struct {
	target      perfTarget
	process     *process // nil where there is none
	watch       watch
	tracepoints map[string]tracepoint // by type of file system

	files  map[FileID]*fileTally // counted one by one
	past   []Count               // no longer counted; each has syncs
	groups []*groupTally         // counted together

	total []*tally // all syncs of the process; nil where that is not allowed
	rest  rest

	exactness Exactness
	counts    []Count
}

// fileTally counts one file.
type fileTally struct {
	tally
	file   File
	newest bool  // of the binlogs
	base   int64 // what not to count: of the file that had the inode before
}

// groupTally counts all files of a class.
type groupTally struct {
	class   Class
	ids     []FileID
	tallies []*groupFilter
	closed  int64 // by tallies that are closed
	partly  bool  // there are files, or were, that are not counted
}

// groupFilter counts some files of a group, all on one device.
type groupFilter struct {
	tally
	dev uint64
}

func openPerfByFile(p perfTarget, tr *tracefs) (_ *perfByFile, err error) {
	s := &perfByFile{
		target: p, exactness: Exact,
		tracepoints: map[string]tracepoint{}, files: map[FileID]*fileTally{},
		groups: []*groupTally{{class: Redo}, {class: Doublewrite}, {class: Undo}, {class: Data}, {class: Other}},
	}
	defer func() {
		if err != nil {
			_ = s.Close()
		}
	}()
	for _, dev := range p.Files.Devices() {
		fsType := p.Files.FSType(dev)
		name := syncTracepointOf(fsType)
		if name == "" {
			return nil, noTracepoint(fsType)
		}
		if s.tracepoints[fsType], err = tr.find(name); err != nil {
			return nil, err
		}
	}
	if len(s.tracepoints) == 0 {
		return nil, errors.New("no file of the server's is known")
	}
	if p.PID != 0 {
		if err := s.openTotal(); err != nil {
			return nil, err
		}
	}
	if err := s.follow(); err != nil {
		return nil, err
	}
	files, err1 := s.readFiles()
	total, err2 := s.readTotal()
	s.rest.start(files, total)
	return s, joined(err1, err2)
}

func noTracepoint(fsType string) error {
	return fmt.Errorf("%s has no sync tracepoint; ext4 and xfs have one", cmp.Or(fsType, "a file system of unknown type"))
}

// openTotal counts all syncs of the process on file systems of these types,
// whatever the file.
func (s *perfByFile) openTotal() (err error) {
	if s.process, err = openProcess(s.target.PID); err != nil {
		return err
	}
	for _, tp := range s.distinct() {
		t := &tally{events: []tracepoint{tp}, bits: unix.PerfBitInherit, process: s.process}
		complete, err := t.addThreads()
		if errors.Is(err, unix.EACCES) {
			// With kernel.perf_event_paranoid below 1 anyone may count files, but
			// only his own processes.
			s.closeTotal()
			return nil
		}
		if err != nil {
			return err
		}
		if !complete {
			s.exactness = LowerBound
		}
		s.total = append(s.total, t)
	}
	return nil
}

func (s *perfByFile) closeTotal() {
	for _, t := range s.total {
		t.close()
	}
	s.total = nil
}

// distinct gives each tracepoint once, by name.
func (s *perfByFile) distinct() []tracepoint {
	var tps []tracepoint
	for _, tp := range s.tracepoints {
		if !slices.Contains(tps, tp) {
			tps = append(tps, tp)
		}
	}
	slices.SortFunc(tps, func(a, b tracepoint) int { return cmp.Compare(a.name, b.name) })
	return tps
}

// follow has counters for the files there are now, on the CPUs there are now.
// An error is the first of maybe several; what it is about is unattributed.
func (s *perfByFile) follow() (first error) {
	cpus, err := onlineCPUs(s.target.online)
	if err != nil {
		return err
	}
	single, grouped := map[FileID]File{}, map[Class][]FileID{}
	newest := map[FileID]bool{}
	all := s.target.Files.Files()
	ages := logAges(all)
	several := map[Class]int{}
	for _, f := range all {
		several[f.Class]++
	}
	for i, f := range all {
		class := f.Class
		if class != Binlog && class != Relay && several[class] > maxSingle {
			class = Other
		}
		switch class {
		case Data, Other:
			grouped[f.Class] = append(grouped[f.Class], f.ID)
		case Binlog, Relay, Redo, Doublewrite, Undo:
			// The log before may be synced once more, when its successor is open.
			if ages[i] < 2 {
				single[f.ID] = f
				newest[f.ID] = f.Class == Binlog && ages[i] == 0
			}
		case Unattributed: // no file is
		}
	}

	// Close first: an inode that changes hands must not be counted twice. What
	// is synced meanwhile is unattributed.
	for id, t := range s.files {
		f, ok := single[id]
		switch {
		case ok && t.file.same(f):
			t.file = f
		case ok:
			// The old file is deleted, and so this counter is the new one's since
			// the last read.
			s.files[id] = &fileTally{tally: t.tally, file: f, base: t.count}
			s.bury(t)
		default:
			t.close()
			delete(s.files, id)
			s.bury(t)
		}
	}
	for _, g := range s.groups {
		ids := grouped[g.class]
		slices.SortFunc(ids, func(a, b FileID) int { return cmp.Or(cmp.Compare(a.Dev, b.Dev), cmp.Compare(a.Ino, b.Ino)) })
		if ids = slices.Compact(ids); !slices.Equal(ids, g.ids) {
			// A new binlog may have the inode of a file that was deleted, as an index
			// is when it is replaced. What was counted since the last read may be the
			// binlog's then, and is left to be unattributed.
			stolen := slices.ContainsFunc(g.ids, func(id FileID) bool {
				f, ok := single[id]
				return ok && f.Class == Binlog
			})
			g.reset(ids, stolen)
		}
	}

	note := func(err error) bool {
		if first == nil {
			first = err
		}
		return err != nil
	}
	for id, f := range single {
		t := s.files[id]
		if t == nil {
			t = &fileTally{tally: tally{filter: fileFilter([]FileID{id})}, file: f, base: -s.revive(f)}
		}
		if t.events, err = s.tracepoint(id.Dev); note(err) || note(t.tally.follow(cpus)) && s.files[id] == nil {
			t.close()
			s.bury(t)
			continue
		}
		t.newest = newest[id]
		s.files[id] = t
	}
	for _, g := range s.groups {
		if len(g.tallies) == 0 {
			g.split()
		}
		for _, t := range g.tallies {
			if t.events, err = s.tracepoint(t.dev); note(err) || note(t.follow(cpus)) {
				g.partly = true
			}
		}
	}
	return first
}

// same reports whether a file that has the inode of f is f. A redo log may
// change its name, and be one of the spare ones before and after.
func (f File) same(g File) bool {
	return f.Class == g.Class && (f.Name == g.Name || f.Class != Binlog && f.Class != Relay)
}

// logAges gives for each file how many logs of its series are newer: 0 for the
// newest, and for all other files.
func logAges(files []File) []int {
	series := map[string][]int{}
	number := make([]uint64, len(files))
	for i, f := range files {
		if f.Class != Binlog && f.Class != Relay {
			continue
		}
		ext := filepath.Ext(f.Path)
		number[i], _ = strconv.ParseUint(strings.TrimPrefix(ext, "."), 10, 64)
		key := string(f.Class) + "\x00" + strings.TrimSuffix(f.Path, ext)
		series[key] = append(series[key], i)
	}
	ages := make([]int, len(files))
	for _, s := range series {
		slices.SortFunc(s, func(a, b int) int { return cmp.Compare(number[b], number[a]) })
		for age, i := range s {
			ages[i] = age
		}
	}
	return ages
}

// tracepoint is that of the file system on dev.
func (s *perfByFile) tracepoint(dev uint64) ([]tracepoint, error) {
	fsType := s.target.Files.FSType(dev)
	tp, ok := s.tracepoints[fsType]
	if !ok {
		if syncTracepointOf(fsType) == "" {
			return nil, noTracepoint(fsType)
		}
		return nil, fmt.Errorf("files on %s have come since the source was opened", fsType)
	}
	return []tracepoint{tp}, nil
}

// fileFilter makes the kernel's filter for files, all on one device. See
// Documentation/trace/events.rst there.
func fileFilter(ids []FileID) string {
	var b strings.Builder
	fmt.Fprintf(&b, "dev==%d&&(ino==%d", kernelDev(ids[0].Dev), ids[0].Ino)
	for _, id := range ids[1:] {
		fmt.Fprintf(&b, "||ino==%d", id.Ino)
	}
	b.WriteByte(')')
	return b.String()
}

// bury keeps what was counted of a file that is no longer counted.
func (s *perfByFile) bury(t *fileTally) {
	if syncs := t.count - t.base; syncs > 0 {
		s.past = append(s.past, countOf(&t.file, syncs))
	}
}

// revive gives what was counted of a file before it went, and forgets it.
func (s *perfByFile) revive(f File) int64 {
	for i, c := range s.past {
		if c.Ino == f.ID.Ino && c.Dev == f.ID.Dev && c.Class == f.Class && c.Name == f.Name {
			s.past = slices.Delete(s.past, i, i+1)
			return c.Syncs
		}
	}
	return 0
}

// reset closes the counters and takes other files. Where stolen is set, what
// was counted since the last read is not the group's.
func (g *groupTally) reset(ids []FileID, stolen bool) {
	read := int64(0)
	for _, t := range g.tallies {
		read += t.count
	}
	before := g.closed
	g.close()
	if stolen {
		g.closed = before + read
	}
	g.ids = ids
}

func (g *groupTally) close() {
	for _, t := range g.tallies {
		t.close()
		g.closed += t.count
	}
	g.tallies = nil
}

// split makes as few filters as hold the files, and not too many.
func (g *groupTally) split() {
	for rest := g.ids; len(rest) > 0; {
		if len(g.tallies) == filtersPerClass {
			g.partly = true
			return
		}
		n := 1
		for n < len(rest) && n < filesPerFilter && rest[n].Dev == rest[0].Dev {
			n++
		}
		g.tallies = append(g.tallies, &groupFilter{tally: tally{filter: fileFilter(rest[:n])}, dev: rest[0].Dev})
		rest = rest[n:]
	}
}

// readFiles reads the counters of all files and gives their sum.
func (s *perfByFile) readFiles() (sum int64, first error) {
	note := func(err error) {
		if first == nil {
			first = err
		}
	}
	for _, c := range s.past {
		sum += c.Syncs
	}
	for _, t := range s.files {
		note(t.read())
		sum += t.count - t.base
	}
	for _, g := range s.groups {
		sum += g.closed
		for _, t := range g.tallies {
			note(t.read())
			sum += t.count
		}
	}
	return sum, first
}

func (s *perfByFile) readTotal() (sum int64, first error) {
	for _, t := range s.total {
		if err := t.read(); first == nil {
			first = err
		}
		sum += t.count
	}
	return sum, first
}

// Name is that of all sources of this kind.
func (s *perfByFile) Name() string { return "perf" }

// Exactness is LowerBound where the server's threads came and went too fast
// for unattributed syncs to be sure of.
func (s *perfByFile) Exactness() Exactness { return s.exactness }

// Detail names the tracepoints.
func (s *perfByFile) Detail() string {
	var names []string
	for _, tp := range s.distinct() {
		names = append(names, tp.name)
	}
	detail := strings.Join(names, ", ")
	if s.total == nil {
		detail += ", of known files only"
	}
	return detail
}

// Read reads the counters. It looks for new files first, when a binlog was
// begun and each second; what was synced of one before then is unattributed.
func (s *perfByFile) Read(ctx context.Context, _ bool) (*Counted, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var errs []error
	if s.watch.due(s.target.Files) {
		errs = append(errs, s.target.Files.Refresh(), s.follow())
	}
	if s.process != nil {
		errs = append(errs, s.process.ended())
	}
	total, err1 := s.readTotal()
	files, err2 := s.readFiles()
	s.rest.update(total, files)

	s.counts = append(s.counts[:0], s.past...)
	for _, t := range s.files {
		c := countOf(&t.file, t.count-t.base)
		if c.Syncs > 0 || t.newest {
			s.counts = append(s.counts, c)
		}
	}
	for _, g := range s.groups {
		c := Count{Class: g.class, Syncs: g.closed}
		for _, t := range g.tallies {
			c.Syncs += t.count
		}
		if g.partly {
			c.Exactness = LowerBound
		}
		if c.Syncs > 0 {
			s.counts = append(s.counts, c)
		}
	}
	if s.total != nil {
		s.counts = append(s.counts, Count{Class: Unattributed, Syncs: s.rest.count})
	}
	sortCounts(s.counts)
	return &Counted{Counts: s.counts, Failed: joined(append(errs, err1, err2)...)}, nil
}

// Close closes all counters.
func (s *perfByFile) Close() error {
	for _, t := range s.files {
		t.close()
	}
	for _, g := range s.groups {
		g.close()
	}
	s.closeTotal()
	if s.process != nil {
		s.process.close()
	}
	return nil
}
