package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"bgcstat/parser/iosample"
	"bgcstat/parser/server"
	"bgcstat/parser/stream"
	"bgcstat/report/metrics"
)

// openSampler begins to count syncs, if that is wanted and possible.
func (w *watcher) openSampler(ctx context.Context, options server.Options, settings map[string]string) error {
	c, why, err := w.o.sourceOptions.open(ctx, w.u, options, settings)
	if why != nil {
		w.u.hintf("syncs are not counted: %v", why)
	}
	if c == nil {
		return err
	}
	counts := newSyncCounts(c.Header())
	w.sampler, w.counts = c, &counts
	if c.Header().Source == "bpf" {
		w.latency = metrics.NewSyncLatency()
	}
	// The stream begins behind the first sample, so that all that comes is covered.
	w.first, err = c.Sample(ctx, false)
	return err
}

// sample takes samples until ctx ends, and then a last one. Where another server
// answers, it goes on if that one is asked for its counters: other sources see
// processes of this host, where the server may be no more.
func (w *watcher) sample(ctx context.Context) {
	if w.sampler == nil {
		return
	}
	defer w.feed.noSamples(false) // else a transaction, and with it the stream's end, would wait for one
	take := func(ctx context.Context, last bool) error {
		unsynced := w.unsynced.Load()
		v, err := w.sampler.Sample(ctx, last)
		if v != nil {
			w.feed.sample(v)
			w.count(v)
		}
		if unsynced { // this one has all that were made before
			w.feed.noSamples(true)
		}
		return err
	}
	tick := time.NewTicker(w.o.sampleInterval)
	defer tick.Stop()
	w.feed.sample(w.first)
	w.count(w.first)
	for failovers := int64(0); ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
			defer cancel()
			_ = take(last, true)
			return
		}
		var err error
		if n := w.failovers.Load(); n == failovers {
			err = take(ctx, false)
		} else if failovers = n; w.sampler.Header().Source == "status" {
			w.sampler.conn.close() // which may still be that of the first one
		} else {
			err = errors.New("they were those of the first server")
		}
		if err != nil && ctx.Err() == nil {
			w.feed.noSamples(true)
			w.event("sampling-ended", "syncs are counted no more: %v", err)
			w.mu.Lock()
			defer w.mu.Unlock()
			w.uncounted = true
			return
		}
	}
}

// count adds a sample to what is shown.
func (w *watcher) count(v *iosample.Interval) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts.add(v)
	for i := range v.Syncs {
		if e := &v.Syncs[i]; w.latency != nil && e.Class == iosample.Binlog && e.Latency > 0 {
			w.latency.Observe(e.Latency)
		}
	}
}

// pollEvery is how often settings are read again. Tests change it.
var pollEvery = 10 * time.Second

// pollSoon is how long it takes until the position is looked at again that was
// behind what was read.
const pollSoon = time.Second

// poll reads the server's settings again and again, and once more when ctx ends,
// and tells what changed. It looks at the server's position, too.
func (w *watcher) poll(ctx context.Context, conn *sqlServer, known map[string]string) {
	look := func(ctx context.Context) bool {
		now, err := conn.Settings(ctx)
		if err != nil {
			return false
		}
		w.compare(known, now)
		known = now
		return true
	}
	behind, failovers := 0, int64(0)
	for {
		wait := pollEvery
		if behind > 0 {
			wait = min(wait, pollSoon)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
			defer cancel()
			look(last)
			return
		}
		if n := w.failovers.Load(); n != failovers {
			failovers = n
			conn.close() // which may still be that of the first server
		}
		if !look(ctx) {
			if ctx.Err() == nil {
				w.mu.Lock()
				w.pollErrors++
				w.mu.Unlock()
			}
			continue
		}
		// A dump knows nothing of a reset of the logs until the new one is longer.
		// MariaDB's position may lag a little behind what the dump has sent.
		read := w.stream.State()
		file, offset, err := conn.Position(ctx)
		if err != nil || !stream.SameServer(known, read.Settings) || file != read.File || offset >= read.Offset {
			behind = 0
			continue
		}
		if behind++; behind == 3 {
			w.replaced <- fmt.Errorf("%w: %s has %d bytes, and was read up to %d", stream.ErrReplaced, file, offset, read.Offset)
			return
		}
	}
}

// compare tells which settings differ.
func (w *watcher) compare(before, now map[string]string) {
	for _, name := range differing(before, now) {
		w.event("setting-changed", "%s is %s, was %s", name, cmp.Or(now[name], "absent"), cmp.Or(before[name], "absent"))
		if name == "sync_binlog" && now[name] != "1" {
			w.feed.noArrivals()
			w.unsynced.Store(true)
		}
		w.mu.Lock()
		w.changed = append(w.changed, name)
		w.mu.Unlock()
	}
}
