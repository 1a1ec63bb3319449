package analysis

import (
	"cmp"
	"fmt"
	"maps"
	"math/big"
	"path"
	"slices"
	"strings"
)

// fewOthers is the share of transactions of other sessions that is no reason to
// doubt a figure.
const fewOthers = 0.01

// warn adds what limits the comparison: what may make it wrong first.
func (c *Comparison) warn(runs []RunResult) {
	add := func(code, format string, args ...any) {
		c.Warnings = append(c.Warnings, Warning{Code: code, Message: fmt.Sprintf(format, args...), Count: 1})
	}
	for _, r := range runs {
		warnRun(r, add)
	}
	for i, a := range runs {
		for _, b := range runs[i+1:] {
			if overlap(a.Run, b.Run) {
				add("compare-overlap", "%s and %s were recorded at the same time at one server, so that each has the other's transactions and syncs, or one is a copy of the other", a.Dir, b.Dir)
			}
		}
	}
	var not []string
	for _, d := range c.Settings {
		if d.Incomparable {
			not = append(not, fmt.Sprintf("%s (%s)", d.Name, c.inWords(d)))
		}
	}
	if len(not) > 0 {
		add("compare-settings", "the runs were not made under the same conditions, so that what differs may be due to them and not to the load: %s", strings.Join(not, "; "))
	}
	c.warnLoads(runs, add)
	c.warnBases(runs, add)
	c.warnRepeats(add)
}

// overlap reports whether two runs were at one server at the same time, as far
// as their hosts' clocks agree.
func overlap(a, b *Run) bool {
	id := func(r *Run) string {
		if uuid := r.Settings["server_uuid"]; uuid != "" {
			return uuid
		}
		return r.Server.Address + " " + r.Settings["hostname"] // MariaDB has none
	}
	return a.Server.Address != "" && id(a) == id(b) && a.Start.Before(b.End.Time) && b.Start.Before(a.End.Time)
}

type adder func(code, format string, args ...any)

// warnRun warns of what one run alone is.
func warnRun(r RunResult, add adder) {
	e := r.Run.Exit
	switch {
	case e.Error != "":
		add("compare-command-failed", "%s: the command could not be run: %s", r.Dir, e.Error)
	case e.Signal != "":
		add("compare-command-failed", "%s: the command was ended by %s, so that its load may not be whole", r.Dir, e.Signal)
	case e.Status < 0:
		add("compare-command-failed", "%s: how the command ended is not known, so that its load may not be whole", r.Dir)
	case e.Status != 0:
		add("compare-command-failed", "%s: the command failed with exit status %d, so that its load may not be whole", r.Dir, e.Status)
	}
	switch {
	case r.Run.Read == "":
		add("compare-incomplete", "%s: the log was not read, so that nothing is known of its transactions and groups", r.Dir)
	case r.Run.To == nil:
		add("compare-incomplete", "%s: where the log ended is not known, so that its transactions, bytes and groups may be those of a part", r.Dir)
	}
	if coversPart(r.Result) {
		add("compare-incomplete", "%s: the trace of syncs does not cover all of the run, so that its transactions, bytes and groups are those of a part", r.Dir)
	}
	if hasDamage(r.Result) {
		add("compare-damaged-log", "%s: a log of the run is damaged or was not read to its end, so that its transactions, bytes and groups are those of a part", r.Dir)
	}
	for _, m := range r.Run.Missing {
		add("compare-missing", "%s: %s", r.Dir, strings.TrimSuffix(m, "."))
	}
	for _, m := range r.Run.Without {
		add("compare-without", "%s: %s", r.Dir, strings.TrimSuffix(m, "."))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Run.Changed)) {
		add("compare-setting-changed", "%s: %s was %s when the run began and %s when it ended", r.Dir, name, cmp.Or(r.Run.Settings[name], "absent"), cmp.Or(r.Run.Changed[name], "absent"))
	}
	// sysbench that is prepared in the same command, or other work beside it.
	if l := r.Run.Load; l != nil && l.Tool == "sysbench" && l.Seconds != nil && *l.Seconds < 0.9*r.Run.Seconds && *l.Seconds < r.Run.Seconds-1 {
		add("compare-load-window", "%s: the command took %.1f s, of which sysbench measured %.1f s: transactions, groups and syncs are those of all the time", r.Dir, r.Run.Seconds, *l.Seconds)
	}
	o, n := r.Run.Others, r.Result.Transactions
	if o == nil || n <= 0 {
		return
	}
	if o.Before != nil && float64(*o.Before) > fewOthers*float64(n) {
		add("compare-other-sessions", "%s: %.1f %% of the transactions are of sessions that were there before the command", r.Dir, 100*float64(*o.Before)/float64(n))
	}
	if o.Before != nil && float64(o.Unknown) > fewOthers*float64(n) {
		add("compare-other-sessions", "%s: of %.1f %% of the transactions the log does not tell the session, so that they may be of others than the command", r.Dir, 100*float64(o.Unknown)/float64(n))
	}
}

// inWords says what each column has of d.
func (c *Comparison) inWords(d Difference) string {
	var parts []string
	for i := range c.Columns {
		parts = append(parts, strings.Join(c.ValuesOf(i, d), " or "))
	}
	return strings.Join(parts, ", ")
}

// ValuesOf gives the values of d in the runs of a column, each once, "absent" where
// there is none.
func (c *Comparison) ValuesOf(column int, d Difference) []string {
	var out []string
	for _, i := range c.Columns[column].Runs {
		v := "absent"
		if d.Values[i] != nil {
			v = *d.Values[i]
		}
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// warnLoads warns where commands are others than those of the first column in
// more than numbers, and where repeats are not the same.
func (c *Comparison) warnLoads(runs []RunResult, add adder) {
	for _, col := range c.Columns {
		var differ []string
		for _, d := range slices.Concat(c.Settings, c.Load) {
			for _, i := range col.Runs[1:] {
				a, b := d.Values[col.Runs[0]], d.Values[i]
				if (a == nil) != (b == nil) || a != nil && *a != *b {
					differ = append(differ, d.Name)
					break
				}
			}
		}
		if len(differ) > 0 {
			add("compare-repeats-differ", "the runs with the label %q are no repeats of one another: they differ in %s", col.Name, strings.Join(differ, ", "))
		}
	}
	for _, d := range c.Load {
		if ofLoad(d) && !slices.Contains(d.Values, nil) {
			add("compare-load", "the runs are not of the same load: %s is %s", d.Name, c.inWords(d))
		}
		if d.Name == "--time" || d.Name == "--max-time" { // sysbench's, of now and of 0.5
			add("compare-time", "the runs were not told to take the same time: %s is %s; their rates, means and shares can be compared, their totals cannot", d.Name, c.inWords(d))
		}
	}
	sources := map[string]bool{}
	for _, r := range runs {
		if r.Result.IO != nil {
			sources[r.Result.IO.Source] = true
		}
	}
	if len(sources) > 1 {
		add("compare-sync-sources", "syncs were not counted by the same source in all runs: %s", strings.Join(slices.Sorted(maps.Keys(sources)), ", "))
	}
}

// ofLoad reports whether runs with other values of d are of another load: the
// programs, and words such as the name of a script, where not only numbers are others.
func ofLoad(d Difference) bool {
	names := map[string]bool{} // of programs and files, wherever they are
	for _, v := range d.Values {
		if v != nil {
			names[path.Base(*v)] = true
		}
	}
	if len(names) == 1 {
		return false
	}
	if !strings.HasPrefix(d.Name, wordArgument) {
		return d.Name == diffTool || d.Name == diffCommand
	}
	return slices.ContainsFunc(d.Values, func(v *string) bool { return v != nil && strings.Trim(*v, "0123456789.") != "" })
}

// warnBases warns where the groups of the columns are not of the same kind.
func (c *Comparison) warnBases(runs []RunResult, add adder) {
	met := map[string]bool{}
	for _, r := range runs {
		switch g := r.Result.Groups.Sync; {
		case g == nil:
		case g.Basis == Exact: // by whatever method
			met[string(Exact)] = true
		default:
			met[fmt.Sprintf("%s by %s", g.Basis, g.Method)] = true
		}
	}
	if len(met) > 1 {
		add("compare-bases", "sync groups do not rest on the same in all runs: %s", strings.Join(slices.Sorted(maps.Keys(met)), "; "))
	}
}

// warnRepeats says how far differences can be told from chance.
func (c *Comparison) warnRepeats(add adder) {
	switch {
	case len(c.Columns) == 1 && len(c.Runs) > 1:
		add("compare-one-column", "all runs have the label %q, so that there is a range and nothing to compare it with", c.Columns[0].Name)
		return
	case !c.Repeats():
		add("compare-single-runs", "each column is one run, so that there is no range, and no difference is told from chance; repeat the runs, with the same label")
		return
	}
	first := len(c.Columns[0].Runs)
	for _, col := range c.Columns {
		if len(col.Runs) == 1 {
			add("compare-single-runs", "%q is one run, so that it has no range, and no difference to it is told from chance", col.Name)
		}
	}
	least := 0
	for _, col := range c.Columns[1:] {
		if n := len(col.Runs); n > 1 && first > 1 && (least == 0 || n < least) {
			least = n
		}
	}
	if least == 0 {
		return
	}
	// Of all ways to deal first+least equal runs to two columns, two have all of
	// one column before all of the other.
	ways := new(big.Int).Binomial(int64(first+least), int64(least))
	ways.Div(ways, big.NewInt(2))
	if ways.Cmp(big.NewInt(20)) < 0 {
		add("compare-few-repeats", "ranges of %d and %d runs lie apart by chance once in %v times for each figure, even where nothing differs; four runs of each make that once in 35", first, least, ways)
	}
}
