package iosample

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// worldFile is a file of a made-up world.
type worldFile struct {
	File
	hidden bool // no listing shows it
}

// world is a made-up file system. It implements serverFiles, and changes
// between two listings without a word, as a real one does.
type world struct {
	now       map[FileID]*worldFile
	listed    map[FileID]File
	refreshes int
	binlogs   int
}

func newWorld(files ...*worldFile) *world {
	w := &world{now: map[FileID]*worldFile{}}
	for _, f := range files {
		w.now[f.ID] = f
	}
	_ = w.Refresh()
	w.refreshes = 0
	return w
}

func (w *world) Refresh() error {
	w.refreshes++
	w.listed = map[FileID]File{}
	for id, f := range w.now {
		if !f.hidden {
			w.listed[id] = f.File
		}
	}
	return nil
}

func (w *world) Lookup(id FileID) (File, bool) {
	f, ok := w.listed[id]
	return f, ok
}

func (w *world) Still(f File) bool {
	now, ok := w.now[f.ID]
	return ok && now.Name == f.Name
}

// Binlog gives the newest one, which Lookup knows from then on.
func (w *world) Binlog() (File, bool) {
	var newest File
	for _, f := range w.now {
		if f.Class == Binlog && f.Name > newest.Name {
			newest = f.File
		}
	}
	if newest.Name != "" {
		w.listed[newest.ID] = newest
	}
	return newest, newest.Name != ""
}

func (w *world) Files() []File        { return slices.Collect(maps.Values(w.listed)) }
func (w *world) Devices() []uint64    { return []uint64{1} }
func (w *world) FSType(uint64) string { return "ext4" }

func worldly(ino uint64, class Class, name string) *worldFile {
	return &worldFile{File: File{ID: FileID{1, ino}, Class: class, Name: name}}
}

// byName adds up syncs by name, or where there is none by class.
func byName(counts []Count) map[string]int64 {
	m := map[string]int64{}
	for _, c := range counts {
		name := c.Name
		if name == "" {
			name = string(c.Class)
		}
		m[name] += c.Syncs
	}
	return m
}

// happened is an event as the oracle has it.
type happened struct {
	rawEvent
	of *worldFile // as it is when the event is counted
}

// oracle knows all that happened, and each time begins with nothing.
type oracle struct {
	all    []happened     // in the order in which it happened
	taken  int            // so many are counted
	queues [2]oracleQueue // of binlogs, and of other files
	counts map[string]Count
	server map[uint32]bool
}

type oracleQueue struct {
	given int // so many syncs were returned
	syncs []SyncEvent
	at    []int // in all, of each of syncs
}

// flush is what that of eventCounter should return: syncs now, and all counts.
func (o *oracle) flush(until int64, all bool) []SyncEvent {
	// 1. Whose they are.
	end := o.taken
	for end < len(o.all) && o.all[end].mono <= until {
		end++
	}
	for _, e := range o.all[o.taken:end] {
		if !e.end && !e.of.hidden && e.of.Class != Other {
			o.server[e.tgid] = true
		}
	}
	for i := o.taken; i < end; i++ {
		e := o.all[i]
		f := e.of.File
		if e.of.hidden {
			f = File{Class: Unattributed}
		}
		if e.end || e.of.hidden && !o.server[e.tgid] {
			continue
		}
		key := fmt.Sprint(f.ID, f.Name)
		c := o.counts[key]
		c.Class, c.Name, c.Dev, c.Ino = f.Class, f.Name, f.ID.Dev, f.ID.Ino
		c.Syncs++
		if f.Class == Binlog {
			c.Size = e.size
		}
		o.counts[key] = c
		q := &o.queues[1]
		if f.Class == Binlog {
			q = &o.queues[0]
		}
		q.syncs = append(q.syncs, SyncEvent{Mono: e.mono, File: e.file, Class: f.Class, Name: f.Name, Size: e.size, TID: int(e.tid)})
		q.at = append(q.at, i)
	}
	o.taken = end

	// 2. What is over: the next that the same thread did is its end, or shows
	// that this was lost.
	out := append(o.over(&o.queues[0], end, all), o.over(&o.queues[1], end, all)...)
	slices.SortFunc(out, func(a, b SyncEvent) int { return int(a.Mono - b.Mono) })
	return out
}

// over takes the syncs of a queue that are, of what happened until end.
func (o *oracle) over(q *oracleQueue, end int, all bool) (out []SyncEvent) {
	for ; q.given < len(q.syncs); q.given++ {
		i := q.at[q.given]
		e, s := o.all[i], q.syncs[q.given]
		over := !e.endFollows
		if !over {
			for _, next := range o.all[i+1 : end] {
				if next.tid == e.tid {
					over = true
					if next.end && next.file == e.file {
						s.Latency = next.mono - e.mono
					}
					break
				}
			}
		}
		if !over && !all {
			break
		}
		out = append(out, s)
	}
	return out
}

// Random streams are counted as the oracle counts them.
func TestEventCounter(t *testing.T) {
	for seed := range uint64(300) {
		if !t.Run(fmt.Sprint(seed), func(t *testing.T) { randomEvents(t, rand.New(rand.NewPCG(seed, 1))) }) {
			return
		}
	}
}

func randomEvents(t *testing.T, r *rand.Rand) {
	w := newWorld(worldly(1, Binlog, "binlog.000001"), worldly(2, Redo, "ib_logfile0"), worldly(3, Data, "d/t.ibd"), worldly(4, Other, "./"))
	w.binlogs = 1
	for ino := uint64(1000); ino < 1003; ino++ {
		f := worldly(ino, Other, "")
		f.hidden = true
		w.now[f.ID] = f
	}
	c := newEventCounter(w)
	o := &oracle{counts: map[string]Count{}, server: map[uint32]bool{}}
	now := int64(1000)
	lossy := r.IntN(2) == 0
	type thread struct {
		tgid, tid uint32
		in        *happened
	}
	var threads []*thread
	for i := range uint32(9) { // process 1 is the server, 2 is not, 3 is after a restart
		threads = append(threads, &thread{tgid: 1 + i/3, tid: 10 + i})
	}
	var added []rawEvent
	tell := func(h happened) {
		if lossy && r.IntN(10) == 0 {
			return
		}
		o.all = append(o.all, h)
		added = append(added, h.rawEvent)
	}
	step := func(th *thread, first bool) {
		now += 1 + r.Int64N(3)
		if th.in != nil {
			h := *th.in
			h.end, h.endFollows, h.mono = true, false, now
			th.in = nil
			tell(h)
			return
		}
		files := slices.SortedFunc(maps.Values(w.now), func(a, b *worldFile) int { return int(a.ID.Ino) - int(b.ID.Ino) })
		f := files[r.IntN(len(files))]
		switch {
		case first: // of what was listed long ago: so it is known for the server
			f = w.now[FileID{1, 2}]
		case th.tgid == 2 && f.Class != Other:
			return
		}
		if f.Class == Binlog {
			f.Size += r.Int64N(3)
		}
		h := happened{rawEvent{endFollows: r.IntN(4) > 0, mono: now, tgid: th.tgid, tid: th.tid, file: f.ID, size: f.Size}, f}
		if first {
			o.all, added = append(o.all, h), append(added, h.rawEvent)
		} else {
			tell(h)
		}
		if h.endFollows {
			th.in = &h
		}
	}
	var got, want []SyncEvent
	for round := range 40 {
		switch round {
		case 0:
			step(threads[0], true)
		case 20:
			step(threads[6], true)
		}
		for range r.IntN(40) {
			th := threads[r.IntN(len(threads))]
			if (th.tgid == 3) == (round >= 20) || th.tgid == 2 {
				step(th, false)
			}
		}
		until, all := now, r.IntN(10) == 0
		if r.IntN(3) == 0 {
			until -= r.Int64N(10)
		}
		last := round == 39
		if last {
			until, all = now, true
		}
		names := slices.DeleteFunc(slices.Collect(maps.Keys(w.now)), func(id FileID) bool { return id.Ino >= 1000 || id.Ino == 2 || id.Ino == 4 })
		slices.SortFunc(names, func(a, b FileID) int { return int(a.Ino) - int(b.Ino) })
		if until == now && len(names) > 0 && r.IntN(3) == 0 { // no event of it waits
			f := w.now[names[r.IntN(len(names))]]
			switch known := w.listed[f.ID].Name == f.Name; {
			case known && (r.IntN(2) == 0 || f.Class == Binlog): // else nobody could know what it was
				delete(w.now, f.ID)
			case f.Class != Binlog:
				f.Name += "x"
			}
		}

		// The order of the buffer is not that of time, but for each thread.
		for _, i := range r.Perm(len(added)) {
			if j := i + 1; j < len(added) && added[i].tid != added[j].tid {
				added[i], added[j] = added[j], added[i]
			}
		}
		for _, e := range added {
			c.add(e)
		}
		added = added[:0]
		want = append(want, o.flush(until, all)...)
		counts, events := c.flush(until, all)
		got = append(got, events...)
		if !slices.Equal(got, want) {
			i := 0
			for i < min(len(got), len(want)) && got[i] == want[i] {
				i++
			}
			t.Fatalf("round %d: got %d syncs, want %d; from %d on got\n%+v\nwant\n%+v", round, len(got), len(want), i, got[i:min(i+3, len(got))], want[i:min(i+3, len(want))])
		}
		if b, ok := w.Binlog(); ok {
			key := fmt.Sprint(b.ID, b.Name)
			k := o.counts[key]
			k.Class, k.Name, k.Dev, k.Ino, k.Size = Binlog, b.Name, b.ID.Dev, b.ID.Ino, max(k.Size, b.Size)
			o.counts[key] = k
		}
		known := map[string]Count{}
		for _, k := range counts {
			known[fmt.Sprint(FileID{k.Dev, k.Ino}, k.Name)] = k
		}
		if !maps.Equal(known, o.counts) || len(known) != len(counts) {
			t.Fatalf("round %d: got counts\n%v\nwant\n%v", round, known, o.counts)
		}

		// The next files have the inodes of those that went.
		for _, ino := range []uint64{1, 3, 5, 6} {
			if w.now[FileID{1, ino}] != nil || until != now || r.IntN(2) == 0 {
				continue
			}
			if w.binlogs++; r.IntN(2) == 0 {
				w.now[FileID{1, ino}] = worldly(ino, Binlog, fmt.Sprintf("binlog.%06d", w.binlogs))
			} else {
				w.now[FileID{1, ino}] = worldly(ino, Data, fmt.Sprintf("d/t%d.ibd", w.binlogs))
			}
		}
	}
	if n := len(o.queues[0].syncs) + len(o.queues[1].syncs); len(got) != n {
		t.Errorf("got %d syncs, want %d", len(got), n)
	}
	got = slices.DeleteFunc(got, func(e SyncEvent) bool { return e.Class != Binlog })
	if !slices.IsSortedFunc(got, func(a, b SyncEvent) int { return int(a.Mono - b.Mono) }) {
		t.Error("syncs of binlogs are not by rising time")
	}
}

// A slow sync of another file holds up none of a binlog, for which transactions
// wait.
func TestEventCounterSlowSync(t *testing.T) {
	w := newWorld(worldly(1, Binlog, "binlog.000001"), worldly(3, Data, "d/t.ibd"))
	c := newEventCounter(w)
	sync := func(mono int64, tid uint32, ino uint64, end bool) {
		c.add(rawEvent{end: end, endFollows: !end, mono: mono, tgid: 1, tid: tid, file: FileID{1, ino}, size: 1000})
	}
	want := func(until int64, want ...SyncEvent) {
		t.Helper()
		if _, got := c.flush(until, false); !slices.Equal(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	data := SyncEvent{Mono: 1, File: FileID{1, 3}, Class: Data, Name: "d/t.ibd", Size: 1000, TID: 1, Latency: 8}
	log := SyncEvent{Mono: 2, File: FileID{1, 1}, Class: Binlog, Name: "binlog.000001", Size: 1000, TID: 2, Latency: 1}
	sync(1, 1, 3, false)
	sync(2, 2, 1, false)
	sync(3, 2, 1, true)
	want(4, log)
	sync(5, 2, 1, false)
	want(6)
	sync(9, 1, 3, true)
	want(10, data)
	sync(11, 2, 1, true)
	log.Mono, log.Latency = 5, 6
	want(12, log)
}

// A sync that never ends holds up no more than so many behind it.
func TestEventCounterHoldsUp(t *testing.T) {
	w := newWorld(worldly(2, Redo, "ib_logfile0"))
	c := newEventCounter(w)
	now := int64(0)
	sync := func(tid uint32) {
		now++
		c.add(rawEvent{endFollows: true, mono: now, tgid: 1, tid: tid, file: FileID{1, 2}})
	}
	want := func(all bool, n int, last int64) {
		t.Helper()
		_, events := c.flush(now, all)
		if len(events) != n || n > 0 && events[n-1].Latency != last {
			t.Errorf("got %d syncs, want %d, the last with latency %d: %+v", len(events), n, last, events[max(0, len(events)-1):])
		}
	}
	sync(1)
	for i := range maxQueue {
		if i == maxQueue-1 {
			want(false, 0, 0)
		}
		sync(2)
		now++
		c.add(rawEvent{end: true, mono: now, tgid: 1, tid: 2, file: FileID{1, 2}})
	}
	want(false, maxQueue+1, 1)
	// Its end comes at last, and is of nothing.
	now++
	c.add(rawEvent{end: true, mono: now, tgid: 1, tid: 1, file: FileID{1, 2}})
	sync(1)
	want(false, 0, 0)
	want(true, 1, 0)
}

// Files are not listed for what others sync, and for a file that no listing
// shows seldom.
func TestEventCounterRefreshes(t *testing.T) {
	w := newWorld(worldly(2, Redo, "ib_logfile0"))
	c := newEventCounter(w)
	now := int64(0)
	sync := func(tgid uint32, ino uint64) {
		now++
		c.add(rawEvent{mono: now, tgid: tgid, tid: tgid, file: FileID{1, ino}})
	}
	want := func(refreshes int) {
		t.Helper()
		if w.refreshes != refreshes {
			t.Errorf("got %d listings, want %d", w.refreshes, refreshes)
		}
	}
	for i := range 50 {
		sync(7, uint64(100+i))
		c.flush(now, false)
	}
	want(0)
	sync(1, 2)
	sync(1, 100)
	for range 40 {
		sync(1, 100)
		c.flush(now, false)
	}
	want(1)
	for range 100 { // now and then it is looked for again
		sync(1, 100)
		c.flush(now, false)
	}
	want(2)
	w.now[FileID{1, 3}] = worldly(3, Data, "t.ibd")
	sync(1, 3)
	counts, _ := c.flush(now, false)
	want(3)
	if got := byName(counts); !maps.Equal(got, map[string]int64{"ib_logfile0": 1, "unattributed": 141, "t.ibd": 1}) {
		t.Errorf("got %v", got)
	}
}

// A file that had the inode of a log for a moment is not the log.
func TestEventCounterDeletedLog(t *testing.T) {
	w := newWorld(worldly(2, Redo, "ib_logfile0"), worldly(3, Binlog, "binlog.000001"), worldly(4, Binlog, "binlog.000002"))
	c := newEventCounter(w)
	sync := func(mono int64, ino uint64, size int64) {
		c.add(rawEvent{mono: mono, tgid: 1, tid: 1, file: FileID{1, ino}, size: size})
	}
	sync(1, 2, 0)
	sync(2, 3, 500)
	c.flush(2, false)
	sync(3, 3, 600)
	sync(4, 3, 16)
	delete(w.now, FileID{1, 3})
	c.flush(4, false)
	sync(5, 3, 700) // it is not there any more
	counts, _ := c.flush(5, false)
	want := map[string]int64{"ib_logfile0": 1, "binlog.000001": 2, "binlog.000002": 0, "unattributed": 2}
	if got := byName(counts); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, k := range counts {
		if k.Name == "binlog.000001" && k.Size != 600 {
			t.Errorf("got %+v, want size 600", k)
		}
	}
}
