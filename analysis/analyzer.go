package analysis

import (
	"maps"
	"slices"

	"bgcstat/parser"
)

// Analyzer folds the transactions of one server's logs into a Result.
// It is not safe for concurrent use.
type Analyzer struct {
	filter   Filter
	settings Settings

	commitIDs     commitIDs
	bound         *bound
	lastCommitted lastCommitted
	clock         clock
	rates         rates
	parents       parents
	sizes         *sizes
	tables        tables

	flavor       parser.Flavor
	transactions int64 // reported
	events       int64
	bytes        int64
	unfinished   int64 // reported, with terminator none
}

// New gives an Analyzer for the logs of one server.
func New(f Filter, s Settings) *Analyzer {
	return &Analyzer{filter: f, settings: s, bound: newBound(s.NoSessionBound), sizes: newSizes()}
}

// Add takes the next transaction in log order. It keeps nothing of t.
func (a *Analyzer) Add(t *parser.Txn) {
	chosen := a.filter.Match(t)
	a.flavor = t.Log.Flavor
	begun := false
	if a.flavor == parser.MariaDB {
		_, begun = a.commitIDs.add(t, chosen)
	} else {
		a.bound.add(t, chosen)
		a.lastCommitted.add(t, chosen)
	}
	a.clock.add(t, chosen)
	if !chosen {
		return
	}
	a.transactions++
	a.events += int64(t.Events)
	a.bytes += t.Size()
	if t.Terminator == parser.TerminatorNone {
		a.unfinished++
	}
	a.rates.add(t, begun)
	a.parents.add(t)
	a.sizes.add(t)
	a.tables.add(t)
}

// Result gives the figures of all that was added. logs are the logs that it
// came from, read to their ends, in log order. It ends the Analyzer's use.
func (a *Analyzer) Result(logs []*parser.Log) *Result {
	r := &Result{
		SchemaVersion: SchemaVersion,
		Sources:       sources(logs),
		Window:        a.rates.window(),
		Transactions:  a.transactions, Events: a.events, Bytes: a.bytes,
		Clock:         a.clock.result(),
		Sizes:         a.sizes.result(),
		Parents:       a.parents.result(),
		Tables:        a.tables.result(),
		Filters:       a.filter.Given,
		UnknownEvents: unknownEvents(logs),
		Warnings:      []Warning{},
	}
	main := mainLog(logs)
	if main != nil {
		r.DependencyTracking = serverMode(main)
	} else {
		r.DependencyTracking = DependencyTracking{ServerMode: ModeUnknown, From: "unknown"}
	}
	r.Groups = a.groups()
	a.rates.groups = a.flavor == parser.MariaDB
	r.Rates = a.rates.result()
	a.warn(r, logs, main)
	if g := r.Groups.Sync; g != nil && main != nil && !main.Relay && !a.filter.ofSome() {
		if n, from, ok := a.settings.syncBinlog(main); ok {
			r.Saved = saved(n, from, a.settings, g, a.transactions-a.unfinished)
		}
	}
	return r
}

func (a *Analyzer) groups() Groups {
	var g Groups
	if a.flavor == parser.MariaDB {
		a.commitIDs.close()
		if n := a.commitIDs.groups; n > 0 {
			bins := a.commitIDs.sizes.bins()
			g.Sync = &GroupStats{Count: &n, Low: n, High: n, Basis: Exact, Method: CommitID, Size: groupSize(bins), Histogram: bins}
			g.Bound = &Bound{n, n}
		}
		return g
	}
	g.LastCommitted = a.lastCommitted.result()
	if b := a.bound; b.members > 0 {
		g.Bound = &Bound{b.lower, b.members}
		g.Sync = &GroupStats{Low: b.lower, High: b.members, Basis: Bounded, Method: Constraints}
		if b.lower == b.members { // each alone, which is all that is left to be
			bins := []HistogramBin{{1, b.members}}
			g.Sync.Count, g.Sync.Histogram, g.Sync.Size = &b.members, bins, groupSize(bins)
		}
	}
	return g
}

// mainLog is the log that stands for all where one version must: the last one
// that says anything.
func mainLog(logs []*parser.Log) *parser.Log {
	for _, l := range slices.Backward(logs) {
		if l.Flavor != 0 {
			return l
		}
	}
	return nil
}

func sources(logs []*parser.Log) []Source {
	out := make([]Source, len(logs))
	for i, l := range logs {
		s := Source{File: l.Name, Bytes: l.Bytes, Events: l.Events, Transactions: l.Transactions, Open: l.Open(), Complete: l.Complete()}
		if l.Flavor != 0 {
			s.Flavor, s.ServerVersion, s.ServerID, s.Kind = l.Flavor.String(), l.ServerVersion, l.ServerID, l.Kind().String()
		}
		if l.Err != nil {
			s.Error = l.Err.Error()
		}
		out[i] = s
	}
	return out
}

func unknownEvents(logs []*parser.Log) []UnknownEvents {
	counts := make(map[parser.EventType]int64)
	for _, l := range logs {
		for typ, n := range l.Unknown {
			counts[typ] += n
		}
	}
	var out []UnknownEvents
	for _, typ := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, UnknownEvents{int(typ), counts[typ]})
	}
	return out
}
