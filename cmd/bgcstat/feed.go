package main

import (
	"errors"
	"slices"
	"sync"
	"time"

	"bgcstat/analysis"
	"bgcstat/parser"
	"bgcstat/parser/iosample"
	"bgcstat/parser/stream"
)

// arrival is a transaction that has come.
type arrival struct {
	txn parser.Txn
	at  time.Time
}

// feed gives the transactions of a stream to an Analyzer. Where samples are
// joined to them a transaction waits until the sync that made it durable has
// been sampled, which is usually the next sample; so they are queued.
type feed struct {
	stream *stream.Stream
	fault  func(error) // takes what could not be decoded

	mu       sync.Mutex // guards all below, and the Analyzer
	changed  *sync.Cond // of what is queued
	analyzer *analysis.Analyzer
	joined   bool
	arrivals bool // are told to the Analyzer
	queue    []arrival
	left     int // of those that were taken from queue, and not analyzed yet
	samples  []*iosample.Interval
	syncs    int       // in samples
	ended    bool      // no more transactions will come
	sampled  bool      // and no more samples
	overrun  bool      // samples were given up, since syncs did not come
	adding   time.Time // when the Analyzer was given the transaction that it has now

	arrived    time.Time     // when the last transaction came
	lag        time.Duration // and how long after its commit
	err        error         // what ended the stream
	done       sync.WaitGroup
	streamDone chan struct{} // closed when the stream has ended
}

const (
	// maxQueue bounds how many transactions wait for their syncs.
	maxQueue = 1 << 15
	// maxSamples bounds how many samples wait for transactions: an hour of them,
	// in which the log was written and the stream was not there.
	maxSamples = 36_000
	// maxSyncs bounds how many syncs these have: some 40 MB, or minutes of them
	// where thousands are made a second.
	maxSyncs = 1 << 19
)

// patience is how long a transaction waits for its sync: at sync_binlog=1,
// where samples are joined, it has been made when the transaction comes. Tests
// change it.
var patience = 5 * time.Second

func newFeed(s *stream.Stream, a *analysis.Analyzer, fault func(error)) *feed {
	f := &feed{stream: s, analyzer: a, fault: fault, streamDone: make(chan struct{})}
	f.changed = sync.NewCond(&f.mu)
	return f
}

// join has samples joined; before start.
func (f *feed) join(h *iosample.Header) {
	f.joined = true
	f.analyzer.Join(h, f.nextSample, nil)
}

func (f *feed) start() {
	go f.read()
	if f.joined {
		f.done.Go(f.analyze)
	}
}

// read reads the stream to its end.
func (f *feed) read() {
	defer close(f.streamDone)
	for {
		t, arrived, err := f.stream.Next()
		if _, ok := errors.AsType[*parser.Error](err); ok {
			f.fault(err)
			continue
		}
		f.mu.Lock()
		if err != nil {
			f.err, f.ended = err, true
			f.changed.Broadcast()
			f.mu.Unlock()
			return
		}
		f.arrived, f.lag = arrived, lagOf(t, arrived)
		if f.joined {
			c := *t
			c.Tables, c.Databases = slices.Clone(t.Tables), slices.Clone(t.Databases)
			for len(f.queue) >= maxQueue {
				f.changed.Wait()
			}
			f.queue = append(f.queue, arrival{c, arrived})
			f.changed.Broadcast()
		} else {
			f.add(t, arrived)
		}
		f.mu.Unlock()
	}
}

func (f *feed) add(t *parser.Txn, at time.Time) {
	if f.arrivals {
		f.analyzer.Arrived(at)
	}
	f.adding = time.Now()
	f.analyzer.Add(t)
}

// noArrivals tells no more when transactions come: only at sync_binlog=1 that
// tells of sync groups.
func (f *feed) noArrivals() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.arrivals = false
	f.analyzer.Arrived(time.UnixMicro(0)) // not known
}

// lagOf is how long after its commit a transaction came, by the clocks of both
// hosts. Where the log has whole seconds only, so has this.
func lagOf(t *parser.Txn, arrived time.Time) time.Duration {
	lag := max(arrived.Sub(t.Time().Time()), 0)
	if t.CommitTime == 0 {
		lag = max(lag-time.Second, 0).Truncate(time.Second)
	}
	return lag
}

// analyze gives queued transactions to the Analyzer.
func (f *feed) analyze() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		for len(f.queue) == 0 {
			if f.ended {
				return
			}
			f.changed.Wait()
		}
		batch := f.queue
		f.queue, f.left = nil, len(batch)
		f.changed.Broadcast()
		for i := range batch {
			f.add(&batch[i].txn, batch[i].at)
			f.left--
			if i%64 == 63 { // others may want to look, or to add
				f.mu.Unlock()
				f.mu.Lock()
			}
		}
	}
}

// nextSample waits for a sample. The Analyzer calls it in Add, and so with the
// lock, which is free for others while it waits. nil says that there are no more,
// or that those that come do not have what the Analyzer looks for.
func (f *feed) nextSample() *iosample.Interval {
	for len(f.samples) == 0 {
		if !f.sampled && time.Since(f.adding) > patience {
			f.giveUp()
		}
		if f.sampled {
			return nil
		}
		f.changed.Wait()
	}
	v := f.samples[0]
	f.samples = f.samples[1:]
	f.syncs -= len(v.Syncs)
	return v
}

// sample adds what was sampled, of which it keeps a copy.
func (f *feed) sample(v *iosample.Interval) {
	if !f.joined {
		return
	}
	s := *v.Sample
	s.Files, s.Latency = slices.Clone(s.Files), slices.Clone(s.Latency)
	c := &iosample.Interval{Sample: &s}
	for i := range v.Syncs {
		if v.Syncs[i].Class == iosample.Binlog {
			c.Syncs = append(c.Syncs, v.Syncs[i])
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	n := len(f.samples)
	switch {
	case f.sampled:
		return
	case n > 1 && idle(f.samples[n-1]) && idle(c):
		merge(f.samples[n-1].Sample, c.Sample)
		return
	case n >= maxSamples, f.syncs+len(c.Syncs) > maxSyncs:
		f.giveUp()
	default:
		f.samples = append(f.samples, c)
		f.syncs += len(c.Syncs)
	}
	f.changed.Broadcast()
}

// noSamples says that no more samples will come, and whether some of what is
// to come would have needed them: nobody must wait for one any more.
func (f *feed) noSamples(overrun bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if overrun && f.joined && !f.overrun {
		f.giveUp()
	}
	f.sampled = true
	f.changed.Broadcast()
}

// giveUp joins no more samples than there are: what comes is reported without.
func (f *feed) giveUp() {
	f.overrun, f.sampled = true, true
	f.analyzer.Part()
}

// idle reports whether nothing happened to binlogs in an interval, so that it
// is the same to the Analyzer as a part of a longer one.
func idle(v *iosample.Interval) bool {
	return len(v.Syncs) == 0 && v.Sample.Gap == "" && v.Sample.Settings == nil &&
		!slices.ContainsFunc(v.Sample.Files, func(c iosample.Count) bool { return c.Class == iosample.Binlog })
}

// merge makes of a sample and the one behind it one. Files has those that
// changed.
func merge(to, from *iosample.Sample) {
	files := to.Files
	for _, c := range from.Files {
		i := slices.IndexFunc(files, func(o iosample.Count) bool {
			return o.Class == c.Class && o.Name == c.Name && o.Dev == c.Dev && o.Ino == c.Ino
		})
		if i >= 0 {
			files[i] = c
		} else {
			files = append(files, c)
		}
	}
	*to = *from
	to.Files = files
}

// silence is how long a server sends nothing at most, as it sends heartbeats.
const silence = 8 * time.Second

// look gives the figures so far, and how far behind the server reading is: 0
// where nothing has come for a while, although the stream is connected and the
// server shows that it is there.
func (f *feed) look() (l analysis.Live, lag time.Duration, known bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	quiet := f.quiet()
	l = f.analyzer.Live(quiet)
	state := f.stream.State()
	switch {
	case !state.Connected, time.Since(state.Heard) > silence:
		return l, 0, false
	case f.arrived.IsZero(), quiet:
		return l, 0, true
	default:
		return l, f.lag, true
	}
}

// quiet reports whether nothing has come for longer than a group takes, and
// nothing waits for its sync.
func (f *feed) quiet() bool {
	return time.Since(f.arrived) > time.Second && len(f.queue) == 0 && f.left == 0
}

// gaveUp reports whether syncs are joined no more.
func (f *feed) gaveUp() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.overrun
}

// finish waits until all that came has been analyzed, after the last sample
// and the end of the stream, and gives the result. changed are the server's
// variables that changed meanwhile.
func (f *feed) finish(changed []string) *analysis.Result {
	<-f.streamDone
	f.noSamples(false)
	f.done.Wait()
	f.mu.Lock() // metrics are served still
	defer f.mu.Unlock()
	f.analyzer.Vary(changed...)
	return f.analyzer.Result(f.stream.Logs())
}
