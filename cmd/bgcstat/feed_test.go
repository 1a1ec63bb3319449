package main

import (
	"sync"
	"testing"
	"time"

	"bgcstat/analysis"
	"bgcstat/parser"
	"bgcstat/parser/iosample"
	"bgcstat/parser/stream"
)

func joinedFeed() *feed {
	f := newFeed(&stream.Stream{}, analysis.New(analysis.Filter{}, analysis.Settings{}), nil)
	f.joined = true
	return f
}

// TestFeedEnds has a transaction that waits for a sample when there are no more.
func TestFeedEnds(t *testing.T) {
	f := joinedFeed()
	f.adding = time.Now()
	got := make(chan *iosample.Interval)
	go func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		got <- f.nextSample()
	}()
	select {
	case <-got:
		t.Fatal("did not wait")
	case <-time.After(10 * time.Millisecond):
	}
	f.noSamples(true)
	select {
	case v := <-got:
		if v != nil || !f.gaveUp() {
			t.Errorf("got %v, gave up %t", v, f.gaveUp())
		}
	case <-time.After(60 * time.Second):
		t.Fatal("waits for ever")
	}
}

// TestFeedBound gives syncs to a feed that takes no transactions.
func TestFeedBound(t *testing.T) {
	f := joinedFeed()
	v := &iosample.Interval{Sample: &iosample.Sample{}, Syncs: make([]iosample.SyncEvent, maxSyncs/4)}
	for i := range v.Syncs {
		v.Syncs[i].Class = iosample.Binlog
	}
	for i := range 6 {
		if f.sample(v); f.gaveUp() != (i >= 4) || f.syncs != min(i+1, 4)*len(v.Syncs) {
			t.Errorf("after %d samples: %d syncs, gave up %t", i+1, f.syncs, f.gaveUp())
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for n := 0; ; n++ {
		if v := f.nextSample(); v == nil {
			if n != 4 || f.syncs != 0 {
				t.Errorf("%d samples, and %d syncs left", n, f.syncs)
			}
			break
		}
	}
}

// TestFeedLook has metrics asked for while the result is made: the race detector
// tells whether both are at the Analyzer.
func TestFeedLook(t *testing.T) {
	f := joinedFeed()
	close(f.streamDone)
	log := &parser.Log{Flavor: parser.MySQL}
	for i := range int64(5000) {
		f.add(&parser.Txn{Log: log, CommitTime: parser.Micros(1e15 + 100*i), Terminator: parser.TerminatorXID}, time.Now())
	}
	var looking sync.WaitGroup
	looking.Go(func() {
		for range 20 {
			f.look()
		}
	})
	if r := f.finish(nil); r.Transactions != 5000 {
		t.Errorf("%d transactions", r.Transactions)
	}
	looking.Wait()
	if l, _, _ := f.look(); l.Transactions != 5000 {
		t.Errorf("%d transactions when all has ended", l.Transactions)
	}
}

// TestFeedWaits has a transaction that waits for its sync: what is shown
// meanwhile is not all.
func TestFeedWaits(t *testing.T) {
	f := newFeed(&stream.Stream{}, analysis.New(analysis.Filter{}, analysis.Settings{}), nil)
	f.join(&iosample.Header{Source: "bpf", Exactness: iosample.Exact, Settings: map[string]string{"sync_binlog": "1"}})
	f.queue = []arrival{{txn: parser.Txn{Log: &parser.Log{Flavor: parser.MariaDB}, Terminator: parser.TerminatorXID}}}
	quiet := func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.quiet()
	}
	f.done.Go(f.analyze)
	for range 20 {
		if quiet() {
			t.Fatal("nothing waits")
		}
		time.Sleep(time.Millisecond)
	}
	f.mu.Lock()
	f.ended = true
	f.mu.Unlock()
	f.noSamples(true)
	f.done.Wait()
	if !quiet() {
		t.Error("something waits")
	}
}
