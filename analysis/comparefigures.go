package analysis

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// ComparedFigure is a number of each column. The change of each is relative to
// the first column.
type ComparedFigure struct {
	Name    string         `json:"name"` // that of a counter, where it is one of the server's
	Section string         `json:"section"`
	Unit    string         `json:"unit"`
	Values  []*ColumnValue `json:"values"` // one for each column, nil where it is not known
}

// Sections of figures, in their order.
const (
	OfRun      = "run"
	OfLoad     = "load generator"
	OfGroups   = "groups"
	OfSyncs    = "syncs"
	OfHost     = "host"
	OfCounters = "server counters" // by how much they grew
)

// Units of figures.
const (
	UnitSeconds      = "seconds"
	UnitMilliseconds = "milliseconds"
	UnitPerSecond    = "per second"
	UnitBytes        = "bytes"
	UnitShare        = "share" // in [0, 1]
	UnitTransactions = "transactions"
	UnitPerGroup     = "transactions per group"
	UnitPerSync      = "transactions per sync"
	UnitCPUs         = "CPUs" // seconds per second
	UnitNumber       = "number"
)

// ColumnValue is a figure of one column.
type ColumnValue struct {
	Runs int `json:"runs"` // that know the figure
	// Value is the median over the runs, or the number itself where there is one;
	// nil where only an interval is known.
	Value *float64 `json:"value,omitempty"`
	Basis Basis    `json:"basis"` // the weakest of the runs
	// Min and Max are the range over the runs, nil where one run has a value.
	Min *float64 `json:"min,omitempty"`
	Max *float64 `json:"max,omitempty"`
	// Low and High are between what the true numbers of all the runs lie, where
	// that is not the number itself. Without High there is no upper limit.
	Low  *float64 `json:"low,omitempty"`
	High *float64 `json:"high,omitempty"`

	// Change is relative to the first column: 0.2 is 20 % more. It is nil for
	// the first, where one of both values is not known, and where that of the
	// first is 0. The change of a share is its difference: 0.2 is 20 points more.
	Change *float64 `json:"change,omitempty"`
	// Difference says whether there is one to the first column; "" for the first
	// and where one of both is not known.
	Difference Contrast `json:"difference,omitempty"`
}

// Contrast says whether a figure of two columns differs.
type Contrast string

// What can be said of two columns. A column reaches as far as the range of its
// runs, and each of them as far as the interval of its figure.
const (
	Higher       Contrast = "higher"   // than all of the first column
	Lower        Contrast = "lower"    // than all of the first column
	NoDifference Contrast = "none"     // the two overlap
	Unproven     Contrast = "unproven" // they do not, but one is a single run, or an estimate without an interval
)

// amount is a figure of one run.
type amount struct {
	value     *float64 // nil where only the interval is known
	low, high float64  // what the true number lies between; high may be infinite
	basis     Basis
}

func point(v float64, b Basis) *amount { return &amount{&v, v, v, b} }

// optional is nil where v is.
func optional[T int64 | float64](v *T, b Basis) *amount {
	if v == nil {
		return nil
	}
	return point(float64(*v), b)
}

// between is a number with an interval, or the interval alone.
func between(v *float64, low, high float64, b Basis) *amount {
	if v == nil && !(low <= high) {
		return nil
	}
	return &amount{v, low, high, b}
}

// valid reports whether the figure can be shown.
func (a *amount) valid() bool {
	return a != nil && (a.value == nil || finite(*a.value)) && finite(a.low) && a.low <= a.high
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// figures makes the figures that at least one run knows.
func (c *Comparison) figures(runs []RunResult) {
	var order []ComparedFigure
	amounts := map[string][]*amount{} // by name, one a run
	for i, r := range runs {
		take := func(section, name, unit string, a *amount) {
			if !a.valid() {
				return
			}
			key := section + "\x00" + name
			if amounts[key] == nil {
				amounts[key] = make([]*amount, len(runs))
				order = append(order, ComparedFigure{Name: name, Section: section, Unit: unit})
			}
			amounts[key][i] = a
		}
		runFigures(r, take)
		loadFigures(r, take)
		groupFigures(r, take)
		syncFigures(r, take)
		hostFigures(r, take)
		for _, name := range slices.Sorted(maps.Keys(r.Run.Counters)) {
			take(OfCounters, name, cmp.Or(counterUnits[name], UnitNumber), point(float64(r.Run.Counters[name]), Measured))
		}
	}
	place := func(f ComparedFigure) int {
		return slices.Index([]string{OfRun, OfLoad, OfGroups, OfSyncs, OfHost, OfCounters}, f.Section)
	}
	rank := func(f ComparedFigure) int {
		if strings.HasPrefix(f.Name, "load_latency_p") {
			return slices.Index(figureOrder, "load_latency_avg") // and then by name
		}
		return slices.Index(figureOrder, f.Name)
	}
	slices.SortStableFunc(order, func(a, b ComparedFigure) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Name, b.Name))
	})
	for _, f := range order {
		all := amounts[f.Section+"\x00"+f.Name]
		if f.Section == OfCounters && !slices.ContainsFunc(all, func(a *amount) bool { return a != nil && *a.value != 0 }) {
			continue // nothing happened anywhere
		}
		for _, col := range c.Columns {
			f.Values = append(f.Values, newColumnValue(all, col.Runs))
		}
		first := reach(all, c.Columns[0].Runs)
		for i := 1; i < len(c.Columns); i++ {
			f.Values[i].compare(f.Values[0], f.Unit, first, reach(all, c.Columns[i].Runs))
		}
		c.Figures = append(c.Figures, f)
	}
}

// counterUnits are the units of the server's counters that count no events.
var counterUnits = map[string]string{"Innodb_row_lock_time": UnitMilliseconds}

// figureOrder are the names of figures in the order of a section; counters are
// by name.
var figureOrder = []string{
	"elapsed", "transactions", "tps", "bytes", "other_sessions",
	"load_transactions", "load_tps", "load_latency_avg", "load_errors",
	"sync_groups", "flush_groups", "group_size_mean", "group_size_p95", "group_size_max", "alone_share", "fsyncs_saved", "fsyncs_saved_share",
	"binlog_syncs", "redo_syncs", "all_syncs", "transactions_per_binlog_sync", "binlog_sync_latency_p50", "binlog_sync_latency_p99", "device_flushes",
	"cpu_user", "cpu_system", "cpu_iowait", "cpu_idle", "cpu_steal", "server_cpu_user", "server_cpu_system",
}

type taker func(section, name, unit string, a *amount)

func runFigures(r RunResult, take taker) {
	if r.Run.Seconds > 0 { // else the end of the command was not seen
		take(OfRun, "elapsed", UnitSeconds, point(r.Run.Seconds, Measured))
	}
	n, bytes := float64(r.Result.Transactions), float64(r.Result.Bytes)
	all := wholeLog(r)
	counted := func(v float64, b Basis) *amount {
		if !all {
			return between(&v, v, math.Inf(1), Bounded)
		}
		return point(v, b)
	}
	if r.Run.Read == "" && n == 0 {
		return // nothing is known of the log
	}
	take(OfRun, "transactions", UnitTransactions, counted(n, Exact))
	if r.Run.Seconds > 0 {
		take(OfRun, "tps", UnitPerSecond, counted(n/r.Run.Seconds, Measured))
	}
	take(OfRun, "bytes", UnitBytes, counted(bytes, Exact))
	if o := r.Run.Others; o != nil && o.Before != nil && n > 0 {
		share := point(float64(*o.Before)/n, Exact)
		if o.Unknown > 0 { // of which any may be theirs
			share = between(share.value, share.low, float64(*o.Before+o.Unknown)/n, Bounded)
		}
		take(OfRun, "other_sessions", UnitShare, share)
	}
}

func loadFigures(r RunResult, take taker) {
	l := r.Run.Load
	if l == nil {
		return
	}
	take(OfLoad, "load_transactions", UnitTransactions, optional(l.Transactions, Measured))
	take(OfLoad, "load_tps", UnitPerSecond, optional(l.TPS, Measured))
	take(OfLoad, "load_latency_avg", UnitMilliseconds, optional(l.LatencyAvg, Measured))
	if l.PercentileRank != nil {
		take(OfLoad, fmt.Sprintf("load_latency_p%d", *l.PercentileRank), UnitMilliseconds, optional(l.Percentile, Measured))
	}
	take(OfLoad, "load_errors", UnitNumber, optional(l.Errors, Measured))
}

func groupFigures(r RunResult, take taker) {
	all := wholeLog(r)
	number := func(v *float64, low, high float64, b Basis) *amount {
		if !all { // there are more in what was not read
			return between(v, low, math.Inf(1), Bounded)
		}
		return between(v, low, high, b)
	}
	groups := func(name string, g *GroupStats) {
		if g == nil {
			return
		}
		var n *float64
		if g.Count != nil {
			n = new(float64(*g.Count))
		}
		take(OfGroups, name, UnitNumber, number(n, float64(g.Low), float64(g.High), g.Basis))
	}
	sync := r.Result.Groups.Sync
	groups("sync_groups", sync)
	groups("flush_groups", r.Result.Groups.Flush)
	if sync != nil {
		take(OfGroups, "group_size_mean", UnitPerGroup, meanSize(sync, r.Result.Transactions))
		if s := sync.Size; s != nil {
			b := membership(sync.Basis)
			take(OfGroups, "group_size_p95", UnitTransactions, point(float64(s.P95), b))
			take(OfGroups, "group_size_max", UnitTransactions, point(float64(s.Max), b))
			take(OfGroups, "alone_share", UnitShare, point(s.AloneShare, b))
		}
	}
	if s := r.Result.Saved; s != nil && s.Binlog != nil {
		var saved *float64
		if n := s.Binlog.SavedByGrouping; n != nil {
			saved = new(float64(*n))
		}
		least, most := float64(s.Binlog.SavedByGroupingMin), float64(s.Binlog.SavedByGroupingMax)
		take(OfGroups, "fsyncs_saved", UnitNumber, number(saved, least, most, s.Binlog.Basis))
		if alone := float64(s.Binlog.Alone); alone > 0 {
			take(OfGroups, "fsyncs_saved_share", UnitShare, between(s.Binlog.Share, least/alone, most/alone, s.Binlog.Basis))
		}
	}
}

// meanSize is the mean of the group sizes with the interval that the number of
// groups leaves for it.
func meanSize(g *GroupStats, transactions int64) *amount {
	switch {
	case g.Size != nil && g.Count != nil && g.Low > 0:
		members := g.Size.Mean * float64(*g.Count)
		return between(&g.Size.Mean, min(g.Size.Mean, members/float64(g.High)), max(g.Size.Mean, members/float64(g.Low)), g.Basis)
	case g.Size != nil:
		return point(g.Size.Mean, g.Basis)
	case g.Low > 0 && g.Low == g.High:
		return point(float64(transactions)/float64(g.Low), g.Basis)
	case g.Low > 0:
		return between(nil, float64(transactions)/float64(g.High), float64(transactions)/float64(g.Low), g.Basis)
	default:
		return nil
	}
}

// syncBasis is how firm a count of syncs is.
func syncBasis(s Syncs, lost int64) Basis {
	switch {
	case s.Exactness == "lower_bound" || lost > 0:
		return Bounded
	case s.Exactness == "exact":
		return Measured
	default:
		return Estimated
	}
}

func syncFigures(r RunResult, take taker) {
	io := r.Result.IO
	if io == nil {
		return
	}
	counted := func(n float64, b Basis) *amount {
		if b == Bounded {
			return between(&n, n, math.Inf(1), b)
		}
		return point(n, b)
	}
	all, basis := 0.0, Basis("")
	for _, s := range io.Syncs {
		all += float64(s.Count)
		basis = weakest(basis, syncBasis(s, io.Lost))
	}
	for _, class := range []string{"binlog", "redo"} {
		if s, ok := io.Syncs[class]; ok {
			take(OfSyncs, class+"_syncs", UnitNumber, counted(float64(s.Count), syncBasis(s, io.Lost)))
		}
	}
	if len(io.Syncs) > 0 && io.Source != "status" { // servers do not count those of all files
		take(OfSyncs, "all_syncs", UnitNumber, counted(all, basis))
	}
	take(OfSyncs, "transactions_per_binlog_sync", UnitPerSync, optional(io.TransactionsPerBinlogSync, Measured))
	if l := io.Syncs["binlog"].Latency; l != nil {
		take(OfSyncs, "binlog_sync_latency_p50", UnitSeconds, optional(l.P50, Measured))
		take(OfSyncs, "binlog_sync_latency_p99", UnitSeconds, optional(l.P99, Measured))
	}
	if len(io.DeviceFlushes) > 0 {
		n := 0.0
		for _, d := range io.DeviceFlushes {
			n += float64(d.Count)
		}
		take(OfSyncs, "device_flushes", UnitNumber, point(n, Measured))
	}
}

// hostFigures are those of the CPUs.
func hostFigures(r RunResult, take taker) {
	if r.Result.IO == nil || r.Result.IO.CPU == nil {
		return
	}
	c := r.Result.IO.CPU
	take(OfHost, "cpu_user", UnitShare, point(c.User, Measured))
	take(OfHost, "cpu_system", UnitShare, point(c.System, Measured))
	take(OfHost, "cpu_iowait", UnitShare, point(c.IOWait, Measured))
	take(OfHost, "cpu_idle", UnitShare, point(c.Idle, Measured))
	if c.Steal > 0 {
		take(OfHost, "cpu_steal", UnitShare, point(c.Steal, Measured))
	}
	take(OfHost, "server_cpu_user", UnitCPUs, optional(c.ServerUser, Measured))
	take(OfHost, "server_cpu_system", UnitCPUs, optional(c.ServerSystem, Measured))
}

// of gives the figures of the column's runs that know it.
func of(all []*amount, runs []int) []*amount {
	var out []*amount
	for _, i := range runs {
		if all[i] != nil {
			out = append(out, all[i])
		}
	}
	return out
}

func newColumnValue(all []*amount, runs []int) *ColumnValue {
	known := of(all, runs)
	if len(known) == 0 {
		return nil
	}
	v := &ColumnValue{Runs: len(known)}
	var values []float64
	interval := false
	for _, a := range known {
		v.Basis = weakest(v.Basis, a.basis)
		if a.value != nil {
			values = append(values, *a.value)
		}
		interval = interval || a.value == nil || a.low != a.high
	}
	slices.Sort(values)
	if n := len(values); n > 0 {
		v.Value = new(values[(n-1)/2] + (values[n/2]-values[(n-1)/2])/2)
		if n > 1 {
			v.Min, v.Max = new(values[0]), new(values[n-1])
		}
	}
	if interval {
		r := reach(all, runs)
		v.Low = new(r.low)
		if finite(r.high) {
			v.High = new(r.high)
		}
	}
	return v
}

// extent is how far a column reaches.
type extent struct {
	runs      int
	low, high float64
	vague     bool // an estimate without an interval is in it
}

func reach(all []*amount, runs []int) extent {
	e := extent{low: math.Inf(1), high: math.Inf(-1)}
	for _, a := range of(all, runs) {
		e.runs++
		e.low, e.high = min(e.low, a.low), max(e.high, a.high)
		e.vague = e.vague || a.basis == Estimated && a.low == a.high
	}
	return e
}

// compare fills in how v relates to the value of the first column.
func (v *ColumnValue) compare(first *ColumnValue, unit string, a, b extent) {
	if v == nil || first == nil {
		return
	}
	if v.Value != nil && first.Value != nil {
		switch {
		case unit == UnitShare:
			v.Change = new(*v.Value - *first.Value)
		case *first.Value > 0:
			if change := *v.Value/(*first.Value) - 1; finite(change) {
				v.Change = &change
			}
		}
	}
	switch {
	case a.low <= b.high && b.low <= a.high:
		v.Difference = NoDifference
	case a.runs < 2 || b.runs < 2 || a.vague || b.vague:
		v.Difference = Unproven
	case b.low > a.high:
		v.Difference = Higher
	default:
		v.Difference = Lower
	}
}
