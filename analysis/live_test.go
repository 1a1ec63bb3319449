package analysis_test

import (
	"encoding/json"
	"slices"
	"testing"

	"bgcstat/analysis"
	"bgcstat/parser"
)

// TestLive looks at each true set while it is read: the figures so far must
// change nothing of the result, grow up to it, and equal it at its end.
func TestLive(t *testing.T) {
	sets := slices.Concat(truths(t, ownTruth), truths(t, sharedTruth))
	for _, set := range sets {
		t.Run(set.name, func(t *testing.T) {
			for _, how := range []string{"log alone", "events", "counts"} {
				analyzer := func() *analysis.Analyzer {
					a := analysis.New(analysis.Filter{}, analysis.Settings{})
					switch how {
					case "events":
						h, next := reader(t, set.events(t))
						a.Join(h, next, []string{set.log})
					case "counts":
						h, next := reader(t, set.counts(t))
						a.Join(h, next, []string{set.log})
					}
					return a
				}
				plain, watched := analyzer(), analyzer()
				want := plain.Result(read(t, set.log, plain.Add))

				var last analysis.Live
				var n int64
				logs := read(t, set.log, func(txn *parser.Txn) {
					watched.Add(txn)
					if n++; n%577 != 0 {
						return
					}
					l := watched.Live(false)
					if l.Transactions < last.Transactions || l.Bytes < last.Bytes || l.Lower < last.Lower || l.Upper < last.Upper {
						t.Errorf("%s: transaction %d: a sum is less than before: %+v, %+v", how, n, l, last)
					}
					if l.Sync != nil && last.Sync != nil && l.Sync.Method == last.Sync.Method && l.Sync.Count < last.Sync.Count {
						if l.Sync.Basis == analysis.Exact {
							t.Errorf("%s: transaction %d: %d groups, which is exact, were %d", how, n, l.Sync.Count, last.Sync.Count)
						}
					}
					last = l
				})
				l := watched.Live(true)
				got := watched.Result(logs)
				if a, b := asJSON(t, want), asJSON(t, got); a != b {
					t.Errorf("%s: looking changed the result", how)
				}
				if l.Transactions != got.Transactions || l.Bytes != got.Bytes {
					t.Errorf("%s: %d transactions of %d bytes, the result has %d of %d", how, l.Transactions, l.Bytes, got.Transactions, got.Bytes)
				}
				if b := got.Groups.Bound; l.Lower != b.Lower || l.Upper != b.Upper {
					t.Errorf("%s: bound %d to %d, the result has %+v", how, l.Lower, l.Upper, b)
				}
				if l.Sync == nil || got.Groups.Sync.Count == nil || got.Groups.Sync.Basis == analysis.Bounded {
					continue
				}
				// The result's count of fitted groups is that of the syncs counted.
				if how != "counts" && (l.Sync.Count != *got.Groups.Sync.Count || l.Sync.Method != got.Groups.Sync.Method || l.Sync.Basis != got.Groups.Sync.Basis) {
					t.Errorf("%s: %d groups (%s, %s), the result has %+v", how, l.Sync.Count, l.Sync.Basis, l.Sync.Method, got.Groups.Sync)
				}
				if how != "counts" && !slices.Equal(l.Sync.Sizes, got.Groups.Sync.Histogram) {
					t.Errorf("%s: sizes differ from the result's", how)
				}
			}
		})
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
