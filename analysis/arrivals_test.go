package analysis_test

import (
	"slices"
	"testing"
	"time"

	"bgcstat/analysis"
	"bgcstat/parser"
)

// TestArrivals has the transactions of each true set arrive as a replica would
// have had them: when their sync had ended. The groups must be the true ones
// then, but for what two syncs less than a wake-up apart make of it; and where
// arrivals tell nothing, the estimate must be that without them.
func TestArrivals(t *testing.T) {
	plain, told := 0, 0
	for _, set := range slices.Concat(truths(t, ownTruth), truths(t, sharedTruth)) {
		if kind(set) == "mariadb" || set.syncBinlog != 1 {
			continue
		}
		t.Run(set.name, func(t *testing.T) {
			settings := analysis.Settings{SyncBinlog: &set.syncBinlog, FlushLogAtTrxCommit: &set.flushLog, SyncDelay: &set.delay}
			syncs := tracedSyncs(t, set)
			analyze := func(s analysis.Settings, arrived func(n int, end time.Time) time.Time) *analysis.Result {
				a := analysis.New(analysis.Filter{}, s)
				n := 0
				logs := read(t, set.log, func(txn *parser.Txn) {
					for len(syncs) > n && syncs[n].size < txn.End {
						n++
					}
					if arrived != nil && n < len(syncs) {
						end, _ := clockAt(syncs[n].end)
						a.Arrived(arrived(n, end))
					}
					a.Add(txn)
				})
				n = 0
				return a.Result(logs)
			}
			wake := func(_ int, end time.Time) time.Time { return end.Add(100 * time.Microsecond) }
			r := analyze(settings, wake)
			g := r.Groups.Sync
			want := int64(0)
			for i := range syncs {
				if i == 0 || syncs[i].size != syncs[i-1].size {
					want++
				}
			}
			t.Logf("%s: %d (%d to %d) groups by %s, true are at most %d", set.name, *g.Count, g.Low, g.High, g.Method, want)
			if g.Method == analysis.Arrivals && (50*max(want-*g.Count, *g.Count-want) > want+100 || g.Low > want || g.High < want) {
				t.Errorf("%d (%d to %d) groups by arrivals, want %d", *g.Count, g.Low, g.High, want)
			}
			if kind(set) == "plain" {
				plain++
				if g.Method == analysis.Arrivals {
					told++
				}
			}

			// Where reading is behind they come as fast as they can be read.
			alone := asJSON(t, analyze(settings, nil))
			start := time.UnixMicro(2e15)
			n := 0
			if got := asJSON(t, analyze(settings, func(int, time.Time) time.Time {
				n++
				return start.Add(time.Duration(n/40) * 200 * time.Microsecond)
			})); got != alone {
				t.Error("arrivals of a reader that is behind change the result")
			}
			// Without sync_binlog=1 the server shows transactions before they are synced.
			many := settings
			many.SyncBinlog = new(int64(100))
			if got := asJSON(t, analyze(many, wake)); got != asJSON(t, analyze(many, nil)) {
				t.Error("arrivals at sync_binlog=100 change the result")
			}
		})
	}
	if 2*told < plain {
		t.Errorf("arrivals tell the groups of %d sets of %d", told, plain)
	}
}
