package analysis_test

import (
	"slices"
	"testing"

	"bgcstat/analysis"
	"bgcstat/parser"
	"bgcstat/parser/iosample"
)

// TestPart gives a live trace up in the middle of a log: what comes after that is
// reported all the same, with groups that are not said to be those of syncs.
func TestPart(t *testing.T) {
	for _, set := range truths(t, ownTruth) {
		h, next := reader(t, set.events(t))
		v := next()
		half := &iosample.Interval{Sample: v.Sample, Syncs: slices.Clone(v.Syncs[:len(v.Syncs)/2])}
		for i := range half.Sample.Files {
			half.Sample.Files[i].Size = half.Syncs[len(half.Syncs)-1].Size
		}
		a := analysis.New(analysis.Filter{}, analysis.Settings{})
		a.Join(h, func() *iosample.Interval {
			if half == nil {
				a.Part()
			}
			v := half
			half = nil
			return v
		}, nil)
		n := int64(0)
		logs := read(t, set.log, func(txn *parser.Txn) {
			n++
			a.Add(txn)
		})
		l := a.Live(true)
		r := a.Result(logs)
		if r.Transactions != n || l.Transactions != n {
			t.Errorf("%s: %d transactions, live %d, want %d", set.name, r.Transactions, l.Transactions, n)
		}
		for _, basis := range []analysis.Basis{l.Sync.Basis, r.Groups.Sync.Basis} {
			if basis != analysis.Estimated {
				t.Errorf("%s: groups are %s", set.name, basis)
			}
		}
		if c := *r.Groups.Sync.Count; c < r.Groups.Bound.Lower || c > r.Groups.Bound.Upper {
			t.Errorf("%s: %d groups, proven are %+v", set.name, c, r.Groups.Bound)
		}
		if warned(r, "trace-contradicts-log") == "" {
			t.Errorf("%s: warnings are %+v", set.name, r.Warnings)
		}
	}
}
