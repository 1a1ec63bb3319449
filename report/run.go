package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"bgcstat/analysis"
)

// Fact is a line of a report: what it is about, its value, and what that rests
// on.
type Fact struct{ Name, Value, Note string }

// RunText writes a recorded run: what was run, what the load generator says, and
// then the result as Text does.
func RunText(w io.Writer, run *analysis.Run, r *analysis.Result) error {
	t := &textReport{bufio.NewWriter(w)}
	for _, f := range RunFacts(run, r) {
		t.fact(f)
	}
	for _, w := range run.Without {
		t.fact(Fact{Name: "without", Value: w})
	}
	for _, m := range run.Missing {
		t.printf("%s\n", Wrap("! "+Printable(m), 80, "  "))
	}
	t.printf("\n")
	if err := t.w.Flush(); err != nil {
		return err
	}
	return Text(w, r)
}

// fact prints a fact, over several lines where its value is long.
func (t *textReport) fact(f Fact) {
	const (
		column = 16  // where values begin
		most   = 150 // characters of a value
	)
	value := Printable(f.Value)
	if n := max(54, column+len([]rune(value))) + 1 + len([]rune(Printable(f.Note))); f.Note != "" && n <= 80 {
		t.row(f.Name, value, Printable(f.Note))
		return
	}
	if f.Note != "" {
		value = shorten(value, most) + " (" + Printable(f.Note) + ")"
	} else if f.Name == "command" {
		value = shorten(value, most)
	}
	t.printf("%-*s%s\n", column, f.Name, strings.ReplaceAll(Wrap(value, 80-column, ""), "\n", "\n"+strings.Repeat(" ", column)))
}

// RunFacts are what a run says beside its result.
func RunFacts(run *analysis.Run, r *analysis.Result) []Fact {
	var out []Fact
	add := func(name, note, format string, args ...any) {
		out = append(out, Fact{name, fmt.Sprintf(format, args...), note})
	}
	add("command", "", "%s", strings.Join(run.Command, " "))
	after := ""
	if run.Seconds > 0 {
		after = " after " + Duration(run.Seconds)
	}
	add("ended", "", "%s%s", exitInWords(run.Exit), after)
	if run.Label != "" {
		add("label", "", "%s", run.Label)
	}
	where := "no process of this host that was seen"
	if run.Server.Local {
		where = "on this host"
	}
	flavor := cmp.Or(map[string]string{"mysql": "MySQL", "mariadb": "MariaDB"}[run.Server.Flavor], run.Server.Flavor)
	add("server", "", "%s %s at %s, %s", flavor, shorten(run.Server.Version, 24), run.Server.Address, where)
	for _, name := range slices.Sorted(maps.Keys(run.Changed)) {
		add("changed", "between start and end", "%s was %s, is %s", name, cmp.Or(run.Settings[name], "absent"), cmp.Or(run.Changed[name], "absent"))
	}
	if l := run.Load; l != nil {
		by := "by " + l.Tool
		if l.Transactions != nil {
			rate := ""
			if l.TPS != nil {
				rate = ", " + perSecond(*l.TPS)
			}
			add("load", by, "%s%s", plural(*l.Transactions, "transaction"), rate)
		} else if l.Tool == "mysqlslap" { // which counts no transactions
			var parts []string
			switch {
			case l.Queries != nil && *l.Queries == 1:
				parts = append(parts, "1 query")
			case l.Queries != nil:
				parts = append(parts, Count(*l.Queries)+" queries")
			}
			if l.Clients != nil {
				parts = append(parts, "by "+plural(*l.Clients, "client"))
			}
			if l.Seconds != nil {
				parts = append(parts, "in "+Short(*l.Seconds)+", the mean of its iterations")
			}
			add("load", by, "%s", strings.Join(parts, " "))
		}
		if l.LatencyAvg != nil {
			more := ""
			if l.Percentile != nil && l.PercentileRank != nil {
				more = fmt.Sprintf(", %d %% within %s", *l.PercentileRank, Short(*l.Percentile/1e3))
			}
			add("latency", by, "mean %s%s", Short(*l.LatencyAvg/1e3), more)
		}
		if l.Errors != nil && *l.Errors > 0 {
			add("errors", by, "%s, after which a transaction was tried again", Count(*l.Errors))
		}
		switch {
		case l.Transactions == nil || run.Read == "":
		case wholeLog(run, r):
			add("in the log", "exact", "%s", againstLoad(*l.Transactions, r.Transactions, l.Tool))
		default:
			add("in the log", "", "%s, %s counts %s; of the recording something is missing", plural(r.Transactions, "transaction"), l.Tool, Count(*l.Transactions))
		}
	}
	switch o := run.Others; {
	case o == nil || o.Before == nil && o.Unknown == 0:
	case o.Before == nil:
		add("by others", "", "not known, since the sessions of transactions are not")
	case o.Unknown > 0:
		add("by others", "by session ids", "%s of sessions that were there before; of %s the log names no session", plural(*o.Before, "transaction"), Count(o.Unknown))
	default:
		add("by others", "by session ids", "%s of sessions that were there before", plural(*o.Before, "transaction"))
	}
	return out
}

// wholeLog reports whether all that was written to the log during a run is in r.
func wholeLog(run *analysis.Run, r *analysis.Result) bool {
	return run.To != nil && len(run.Missing) == 0 && !slices.ContainsFunc(r.Sources, func(s analysis.Source) bool { return !s.Complete })
}

// againstLoad compares what a load generator counts with what was committed to
// the log.
func againstLoad(load, log int64, tool string) string {
	switch {
	case load == log:
		return fmt.Sprintf("as many as %s counts", tool)
	case log < load:
		return fmt.Sprintf("%s fewer than %s counts: they read only, changed nothing, or were rolled back", Count(load-log), tool)
	default:
		return fmt.Sprintf("%s more than %s counts: of other sessions, or before and after what it measures", Count(log-load), tool)
	}
}

func exitInWords(e analysis.Exit) string {
	switch {
	case e.Status < 0 && e.Error == "" && e.Signal == "":
		return "not seen"
	case e.Error != "":
		return "not run (" + e.Error + ")"
	case e.Signal != "":
		return "ended by " + e.Signal
	default:
		return "exit status " + strconv.Itoa(e.Status)
	}
}
