package iosample

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// userOnly leaves out what the kernel does, which lets anyone count his own
// processes. That a system call begins is not part of it.
const userOnly = unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv

// perfByCall counts the system calls fsync and fdatasync in all threads of the
// server, with a filter for each descriptor of a binlog, relay log or redo log;
// those of data files come and go too fast. It sees no syncs by io_uring, and
// no writes to files opened with O_DSYNC.
type perfByCall struct {
	target  perfTarget
	process *process
	calls   []tracepoint

	watch watch
	open  map[int]descriptor // as they were when they were last looked at
	slots map[int]*slot      // by descriptor
	files map[FileID]*called // by the inode's present file
	past  []Count            // of inodes that became another file's; each has syncs

	total *tally // all calls
	rest  rest

	refused   error // why files could not be counted
	exactness Exactness
	counts    []Count
}

// slot counts one descriptor, whatever file it is of.
type slot struct {
	tally
	file   File  // as of the last read
	booked int64 // how much of count is some file's, or nobody's
}

// called is a file and its syncs.
type called struct {
	file  File
	syncs int64
}

func openPerfByCall(p perfTarget, tr *tracefs) (_ *perfByCall, err error) {
	if p.PID == 0 {
		return nil, errors.New("system calls: the server's process is not known")
	}
	s := &perfByCall{target: p, slots: map[int]*slot{}, files: map[FileID]*called{}, exactness: Exact}
	defer func() {
		if err != nil {
			_ = s.Close()
		}
	}()
	for _, name := range []string{"syscalls:sys_enter_fsync", "syscalls:sys_enter_fdatasync"} {
		tp, err := tr.find(name)
		if err != nil {
			return nil, err
		}
		s.calls = append(s.calls, tp)
	}
	if s.process, err = openProcess(p.PID); err != nil {
		return nil, err
	}
	if s.total, err = s.count(""); err != nil {
		return nil, err
	}
	if err := s.probe(); err != nil {
		return nil, err
	}
	s.open, err = s.follow()
	if err != nil {
		return nil, err
	}
	files, err1 := s.readSlots(s.open)
	err2 := s.total.read()
	s.rest.start(files, s.total.count)
	return s, joined(err1, err2)
}

// count counts the calls that pass a filter, in all threads.
func (s *perfByCall) count(filter string) (*tally, error) {
	t := &tally{events: s.calls, filter: filter, bits: unix.PerfBitInherit | userOnly, process: s.process}
	complete, err := t.addThreads()
	if err != nil {
		return nil, err
	}
	if !complete {
		s.exactness = LowerBound
	}
	return t, nil
}

// probe makes sure that calls are counted at all: a kernel may take a
// tracepoint as its own doing, and so leave it out in silence.
func (s *perfByCall) probe() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	self, err := openProcess(os.Getpid())
	if err != nil {
		return err
	}
	defer self.close()
	t := &tally{events: s.calls, bits: userOnly, process: self}
	if err := t.add(0, -1); err != nil {
		return err
	}
	// These fail, but they are called.
	_, _ = unix.Fsync(-1), unix.Fdatasync(-1)
	t.close()
	if t.count != 2 {
		return fmt.Errorf("%s: the kernel counted %d of 2 calls", s.calls[0].name, t.count)
	}
	return nil
}

// descriptor is what a descriptor is of.
type descriptor struct {
	file  File
	known bool // a file that is counted
}

// follow has a counter for each descriptor there is now of a file that
// matters. Those of others it leaves to readSlots, to which it gives what it
// found: nil where that could not be found out.
func (s *perfByCall) follow() (map[int]descriptor, error) {
	ids, err := s.process.descriptors()
	if err != nil {
		return nil, err
	}
	files := map[FileID]File{}
	for _, f := range s.target.Files.Files() {
		if f.Class == Binlog || f.Class == Relay || f.Class == Redo {
			files[f.ID] = f
		}
	}
	open := make(map[int]descriptor, len(ids))
	var first error
	for n, id := range ids {
		f, ok := files[id]
		open[n] = descriptor{file: f, known: ok}
		if !ok || s.slots[n] != nil {
			continue
		}
		t, err := s.count("fd==" + strconv.Itoa(n))
		if err != nil {
			if first == nil {
				first = err
			}
			continue
		}
		s.slots[n] = &slot{tally: *t, file: f}
	}
	return open, first
}

// readSlots books what was counted since the last call, and gives the sum of
// all that was ever booked to files.
func (s *perfByCall) readSlots(open map[int]descriptor) (sum int64, first error) {
	for n, slot := range s.slots {
		if err := slot.read(); first == nil {
			first = err
		}
		d, isOpen := open[n]
		switch {
		case !isOpen:
			s.book(slot.file, slot.count-slot.booked)
		case d.known && d.file.Class == slot.file.Class:
			// Servers open the next log with the number of the one before, so some
			// of these may be that one's.
			s.book(d.file, slot.count-slot.booked)
		}
		// Where the descriptor is of another kind of file now, nothing tells
		// which of the two was synced.
		slot.booked = slot.count
		if d.known {
			slot.file = d.file
		} else if open != nil {
			slot.close()
			delete(s.slots, n)
		}
	}
	for _, c := range s.past {
		sum += c.Syncs
	}
	for _, f := range s.files {
		sum += f.syncs
	}
	return sum, first
}

// book adds syncs to those of a file.
func (s *perfByCall) book(f File, syncs int64) {
	c := s.files[f.ID]
	if c != nil && !c.file.same(f) {
		if c.syncs > 0 {
			s.past = append(s.past, countOf(&c.file, c.syncs))
		}
		c = nil
	}
	if c == nil {
		c = &called{}
		s.files[f.ID] = c
	}
	c.file = f
	c.syncs += syncs
}

// Name is that of all sources of this kind.
func (s *perfByCall) Name() string { return "perf" }

// Exactness is LowerBound where the server's threads came and went too fast to
// be sure of all.
func (s *perfByCall) Exactness() Exactness { return s.exactness }

// Detail names the system calls.
func (s *perfByCall) Detail() string { return "system calls fsync and fdatasync" }

// Refused says why the tracepoint of the file system could not be had, which
// is the better way.
func (s *perfByCall) Refused() error { return s.refused }

// Read reads the counters. What was synced since the last call through a
// descriptor that changed from one binlog to the next is all booked to the
// newer one, and of a descriptor that is new, to none.
func (s *perfByCall) Read(ctx context.Context, _ bool) (*Counted, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var err1, err2 error
	if s.watch.due(s.target.Files) {
		err1 = s.target.Files.Refresh()
		s.open, err2 = s.follow()
	}
	err3 := s.total.read()
	files, err4 := s.readSlots(s.open)
	s.rest.update(s.total.count, files)

	all := s.target.Files.Files()
	for i, age := range logAges(all) {
		if all[i].Class == Binlog && age == 0 {
			s.book(all[i], 0) // so that it is there
		}
	}
	s.counts = append(s.counts[:0], s.past...)
	for _, f := range s.files {
		s.counts = append(s.counts, countOf(&f.file, f.syncs))
	}
	s.counts = append(s.counts, Count{Class: Unattributed, Syncs: s.rest.count})
	sortCounts(s.counts)
	return &Counted{Counts: s.counts, Failed: joined(err1, err2, err3, err4)}, nil
}

// Close closes all counters.
func (s *perfByCall) Close() error {
	for _, slot := range s.slots {
		slot.close()
	}
	if s.total != nil {
		s.total.close()
	}
	if s.process != nil {
		s.process.close()
	}
	return nil
}
