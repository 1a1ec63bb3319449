package iosample

// serverFiles is what a source needs to know of the server's files.
type serverFiles interface {
	// Refresh lists the files anew.
	Refresh() error
	Lookup(id FileID) (File, bool)
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
	// ignored are files that nobody knew when they were looked for.
	ignored map[FileID]bool
	reads   int

	// queue holds syncs from the oldest on that has not ended, in the order in
	// which they began: first is the number of queue[0].
	queue []queuedSync
	first int
	open  map[uint32]int // by thread, the number of its sync that has not ended
	out   []SyncEvent
	raw   []rawEvent
}

// countKey has a name, since an inode is used again by the next file.
type countKey struct {
	id   FileID
	name string
}

type queuedSync struct {
	event SyncEvent
	done  bool // it ended, or its end was lost
}

// leastBinlog is shorter than any binlog is when it is first synced: a magic
// number and a format event.
const leastBinlog = 80

// Bounds on what waits: syncs that last so long are rare, and lost ends must
// hold up nothing for ever.
const (
	maxQueue   = 1 << 16
	maxIgnored = 1 << 12
)

func newEventCounter(files serverFiles) *eventCounter {
	return &eventCounter{
		files: files, index: map[countKey]int{}, server: map[uint32]bool{},
		ignored: map[FileID]bool{}, open: map[uint32]int{},
	}
}

// add takes the next event. Those of a thread come in their order.
func (c *eventCounter) add(e rawEvent) { c.raw = append(c.raw, e) }

// flush counts what was added and returns all counts, and the syncs that have
// ended and before which none is under way, with their latency. Both hold until
// the next call. With all set it returns those under way too.
func (c *eventCounter) flush(all bool) ([]Count, []SyncEvent) {
	// 1. The newest binlog, whose name may be that of an inode used before.
	binlog, haveBinlog := c.files.Binlog()
	if c.reads++; c.reads%100 == 0 {
		clear(c.ignored)
	}

	// 2. Whose the syncs are. A process is the server from its first sync of a
	// known file on, also of what stands before that in this batch.
	refreshed := false
	for i := range c.raw {
		e := &c.raw[i]
		if e.end || c.server[e.tgid] && c.ignored[e.file] {
			continue
		}
		f, ok := c.files.Lookup(e.file)
		if !ok && !refreshed && !c.ignored[e.file] {
			refreshed = true
			_ = c.files.Refresh() // what cannot be listed stays unknown
			f, ok = c.files.Lookup(e.file)
		}
		switch {
		case ok:
			delete(c.ignored, e.file)
			if f.Class != Other {
				c.server[e.tgid] = true
			}
		case len(c.ignored) < maxIgnored:
			c.ignored[e.file] = true
		}
	}

	// 3. Count, and pair.
	for i := range c.raw {
		e := &c.raw[i]
		if e.end {
			if no, ok := c.open[e.tid]; ok {
				delete(c.open, e.tid)
				if no >= c.first {
					q := &c.queue[no-c.first]
					q.done = true
					if q.event.File == e.file {
						q.event.Latency = e.mono - q.event.Mono
					}
				}
			}
			continue
		}
		f, ok := c.files.Lookup(e.file)
		if ok && f.Class == Binlog && e.size < leastBinlog {
			// The inode was another file's before, such as an index's, which is
			// replaced at each rotation.
			f = File{Class: Unattributed}
		}
		if !ok {
			if !c.server[e.tgid] {
				continue
			}
			f = File{Class: Unattributed}
		}
		n := c.count(f)
		n.Syncs++
		if f.Class == Binlog || f.Class == Relay {
			n.Size = e.size
		}
		if no, ok := c.open[e.tid]; ok && no >= c.first {
			c.queue[no-c.first].done = true // its end was lost
		}
		if e.endFollows {
			c.open[e.tid] = c.first + len(c.queue)
		}
		c.queue = append(c.queue, queuedSync{done: !e.endFollows, event: SyncEvent{
			Mono: e.mono, File: e.file, Class: f.Class, Name: f.Name, Size: e.size, TID: int(e.tid),
		}})
	}
	c.raw = c.raw[:0]

	// 4. What has ended, in order.
	c.out = c.out[:0]
	n := 0
	for n < len(c.queue) && (all || c.queue[n].done || len(c.queue)-n > maxQueue) {
		c.out = append(c.out, c.queue[n].event)
		n++
	}
	c.queue = append(c.queue[:0], c.queue[n:]...)
	c.first += n
	if haveBinlog {
		k := c.count(binlog)
		k.Size = max(k.Size, binlog.Size)
	}
	return c.counts, c.out
}

// count finds the count of a file, or begins it.
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
