package iosample

import (
	"cmp"
	"slices"
)

// serverFiles is what a source needs to know of the server's files.
type serverFiles interface {
	// Refresh lists the files anew.
	Refresh() error
	Lookup(id FileID) (File, bool)
	// Still reports whether a file is where it was: if not, another may have its
	// id.
	Still(f File) bool
	// Binlog gives the newest binlog, as it is now.
	Binlog() (File, bool)
	Files() []File
	// Devices gives the file systems that hold files to be watched, by st_dev.
	Devices() []uint64
	// FSType names the type of a file system, such as ext4.
	FSType(dev uint64) string
}

// rawEvent is the beginning or the end of a sync, as a kernel tells it.
type rawEvent struct {
	end        bool
	endFollows bool // of a beginning: its file system tells of the end, too
	mono       int64
	tgid, tid  uint32
	file       FileID
	size       int64
}

// eventCounter counts syncs by file from their events and pairs beginnings with
// ends.
//
// Syncs are the server's where they are of its files. Other programs sync to
// the same file systems; a file that is not known counts, as unattributed, where
// the process has synced one of the server's own files: process ids differ
// between namespaces, and after a restart, and this does not.
type eventCounter struct {
	files  serverFiles
	counts []Count
	index  map[countKey]int
	server map[uint32]bool // thread group ids of the server

	found map[FileID]foundFile // of the syncs that are counted now
	known map[FileID]File      // that were counted; a deleted one is there once more
	sizes map[countKey]int64   // of logs, at their last sync
	// ignored are files that a Refresh did not explain.
	ignored   map[FileID]bool
	refreshed int64 // when the files were last listed
	flushes   int

	// Transactions wait for the syncs of binlogs, which no other may hold up.
	binlogs, others syncQueue
	open            map[uint32]place // by thread, its sync that has not ended
	out             []SyncEvent
	raw             []rawEvent
}

// syncQueue holds syncs from the oldest on that has not ended, in the order in
// which they began: first is the number of syncs[0].
type syncQueue struct {
	syncs []queuedSync
	first int
}

// place is where a sync is queued, by its number there.
type place struct {
	queue *syncQueue
	no    int
}

// countKey has a name, since an inode is used again by the next file.
type countKey struct {
	id   FileID
	name string
}

// foundFile is what is known of a synced file; no class is nothing.
type foundFile struct {
	File
	sure bool // it is where it was, so that no other file has its inode
}

type queuedSync struct {
	event SyncEvent
	done  bool // it ended, or its end was lost
}

// leastLog is shorter than any log is when it is first synced: a magic number and
// a format event.
var leastLog int64 = 80 // not constant, since tests write shorter ones

// movedAgain is how long after the files were listed they are listed again for
// a file that is no log and not where it was, in nanoseconds. It is not constant,
// since tests do not wait.
var movedAgain int64 = 10e9

// Bounds on what waits: syncs that last so long are rare, and lost ends must
// hold up nothing for ever.
const (
	maxQueue   = 1 << 16
	maxIgnored = 1 << 12
)

func newEventCounter(files serverFiles) *eventCounter {
	return &eventCounter{
		files: files, index: map[countKey]int{}, server: map[uint32]bool{},
		found: map[FileID]foundFile{}, known: map[FileID]File{}, sizes: map[countKey]int64{},
		ignored: map[FileID]bool{}, open: map[uint32]place{},
	}
}

// add takes the next event. Those of a thread come in their order.
func (c *eventCounter) add(e rawEvent) { c.raw = append(c.raw, e) }

// flush counts what was added and happened up to a time, up to which all must
// have been added. It returns all counts, and the syncs that have ended and
// before which none is under way, with their latency, by rising time. Binlogs
// and other files do not wait for each other there: a sync of the one may come
// in a later call than one of the other that began behind it. Both results hold
// until the next call. With all set it returns those under way too.
func (c *eventCounter) flush(until int64, all bool) ([]Count, []SyncEvent) {
	// 1. Processors take their time and their place in the buffer in no common
	// order.
	slices.SortStableFunc(c.raw, func(a, b rawEvent) int { return cmp.Compare(a.mono, b.mono) })
	n, _ := slices.BinarySearchFunc(c.raw, until, func(e rawEvent, until int64) int {
		if e.mono <= until {
			return -1
		}
		return 1
	})

	// 2. Count, and pair.
	binlog, haveBinlog := c.files.Binlog() // first: it brings Lookup up to date
	c.resolve(c.raw[:n], until)
	for i := range c.raw[:n] {
		if e := &c.raw[i]; e.end {
			c.end(e)
		} else {
			c.begin(e)
		}
	}
	c.raw = slices.Delete(c.raw, 0, n)

	// 3. What has ended, in order.
	c.out = c.others.take(c.binlogs.take(c.out[:0], all), all)
	slices.SortStableFunc(c.out, func(a, b SyncEvent) int { return cmp.Compare(a.Mono, b.Mono) })
	if haveBinlog {
		k := c.count(binlog)
		k.Size = max(k.Size, binlog.Size)
	}
	return c.counts, c.out
}

// resolve finds the files that were synced, and the processes that are the
// server: also what these did before that showed.
func (c *eventCounter) resolve(events []rawEvent, now int64) {
	if c.flushes++; c.flushes%100 == 0 {
		clear(c.ignored)
	}
	clear(c.found)
	for i := range events {
		e := &events[i]
		if _, done := c.found[e.file]; !e.end && !done {
			c.found[e.file] = c.find(e.file)
		}
	}
	c.recognize(events)

	// Listing the files is dear: not for what others sync, at once where it matters
	// which log a sync is of, and else seldom. MySQL renames a file of its redo log
	// whenever it goes on to the next.
	refresh := false
	passed := now - c.refreshed
	for i := range events {
		e := &events[i]
		f := c.found[e.file]
		if e.end || f.sure || c.ignored[e.file] || f.Class == "" && !c.server[e.tgid] {
			continue
		}
		if f.Class != "" && f.Class != Binlog && f.Class != Relay && passed < movedAgain {
			continue
		}
		refresh = true
		if len(c.ignored) < maxIgnored {
			c.ignored[e.file] = true
		}
	}
	if refresh {
		c.refreshed = now
		_ = c.files.Refresh() // what cannot be listed stays as it is
		for id, f := range c.found {
			if f.sure {
				continue
			}
			now := c.find(id)
			if now.Class == "" {
				// Perhaps it was deleted since it was synced. The next that has its
				// inode will be another.
				if now.File = f.File; now.Class == "" {
					now.File = c.known[id]
				}
				if now.Class != "" {
					delete(c.ignored, id)
				}
				delete(c.known, id)
			}
			c.found[id] = now
		}
		c.recognize(events)
	}
	for id, f := range c.found {
		if f.sure {
			delete(c.ignored, id)
			c.known[id] = f.File
		}
	}
}

func (c *eventCounter) find(id FileID) foundFile {
	f, ok := c.files.Lookup(id)
	return foundFile{f, ok && c.files.Still(f)}
}

// recognize takes the processes that synced a known file for the server.
func (c *eventCounter) recognize(events []rawEvent) {
	for i := range events {
		if e := &events[i]; !e.end {
			if f := c.found[e.file]; f.sure && f.Class != Other {
				c.server[e.tgid] = true
			}
		}
	}
}

// begin counts a sync.
func (c *eventCounter) begin(e *rawEvent) {
	if q := c.ended(e.tid); q != nil {
		q.done = true // its end was lost
	}
	f := c.found[e.file]
	if !f.sure {
		if !c.server[e.tgid] {
			return
		}
		if f.Class == "" {
			f.Class = Unattributed
		}
	}
	isLog := f.Class == Binlog || f.Class == Relay
	key := countKey{f.ID, f.Name}
	if isLog && (e.size < leastLog || !f.sure && e.size < c.sizes[key]) {
		// Logs only grow: this is of a file that had its inode since, and is gone, or
		// had it before, as an index that is replaced at each rotation.
		f.File, isLog = File{Class: Unattributed}, false
	}
	n := c.count(f.File)
	n.Syncs++
	if isLog {
		n.Size, c.sizes[key] = e.size, e.size
	}
	queue := &c.others
	if f.Class == Binlog {
		queue = &c.binlogs
	}
	if e.endFollows {
		c.open[e.tid] = place{queue, queue.first + len(queue.syncs)}
	}
	queue.syncs = append(queue.syncs, queuedSync{done: !e.endFollows, event: SyncEvent{
		Mono: e.mono, File: e.file, Class: f.Class, Name: f.Name, Size: e.size, TID: int(e.tid),
	}})
}

// end gives the thread's sync its latency.
func (c *eventCounter) end(e *rawEvent) {
	q := c.ended(e.tid)
	if q == nil {
		return
	}
	q.done = true
	if q.event.File == e.file { // else it is the end of one whose beginning was lost
		q.event.Latency = e.mono - q.event.Mono
	}
}

// ended takes the sync of a thread that has ended, nil where it has none that
// waits.
func (c *eventCounter) ended(tid uint32) *queuedSync {
	p, ok := c.open[tid]
	delete(c.open, tid)
	if !ok || p.no < p.queue.first {
		return nil
	}
	return &p.queue.syncs[p.no-p.queue.first]
}

// take moves what has ended to out, as far as nothing in front of it is under
// way; with all set everything.
func (q *syncQueue) take(out []SyncEvent, all bool) []SyncEvent {
	n := 0
	for ; n < len(q.syncs) && (all || q.syncs[n].done || len(q.syncs)-n > maxQueue); n++ {
		out = append(out, q.syncs[n].event)
	}
	q.syncs = slices.Delete(q.syncs, 0, n)
	q.first += n
	return out
}

// count finds the count of a file, or begins it. Unattributed files have one
// together.
func (c *eventCounter) count(f File) *Count {
	key := countKey{f.ID, f.Name}
	i, ok := c.index[key]
	if !ok {
		i = len(c.counts)
		c.index[key] = i
		c.counts = append(c.counts, Count{Class: f.Class, Name: f.Name, Dev: f.ID.Dev, Ino: f.ID.Ino})
	}
	return &c.counts[i]
}
