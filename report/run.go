package report

import (
	"bufio"
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
		t.row(f.Name, shorten(Printable(f.Value), 64), f.Note)
	}
	for _, w := range run.Without {
		t.row("without", Printable(w), "")
	}
	for _, m := range run.Missing {
		t.printf("! %s\n", Printable(m))
	}
	t.printf("\n")
	if err := t.w.Flush(); err != nil {
		return err
	}
	return Text(w, r)
}

// RunFacts are what a run says beside its result.
func RunFacts(run *analysis.Run, r *analysis.Result) []Fact {
	var out []Fact
	add := func(name, note, format string, args ...any) {
		out = append(out, Fact{name, fmt.Sprintf(format, args...), note})
	}
	add("command", "", "%s", strings.Join(run.Command, " "))
	add("ended", "", "%s after %s", exitInWords(run.Exit), Duration(run.Seconds))
	if run.Label != "" {
		add("label", "", "%s", run.Label)
	}
	where := "elsewhere"
	if run.Server.Local {
		where = "on this host"
	}
	flavor := map[string]string{"mysql": "MySQL", "mariadb": "MariaDB"}[run.Server.Flavor]
	add("server", "", "%s %s at %s, %s", flavor, shorten(run.Server.Version, 24), run.Server.Address, where)
	for _, name := range slices.Sorted(maps.Keys(run.Changed)) {
		add("changed", "between start and end", "%s was %s, is %s", name, run.Settings[name], run.Changed[name])
	}
	if l := run.Load; l != nil {
		by := "by " + l.Tool
		if l.Transactions != nil {
			rate := ""
			if l.TPS != nil {
				rate = fmt.Sprintf(", %s/s", Count(int64(*l.TPS+0.5)))
			}
			add("load", by, "%s%s", plural(*l.Transactions, "transaction"), rate)
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
		if l.Transactions != nil {
			add("in the log", "exact", "%s", againstLoad(*l.Transactions, r.Transactions, l.Tool))
		}
	}
	if o := run.Others; o != nil && o.Before != nil {
		add("by others", "by session ids", "%s of sessions that were there before", plural(*o.Before, "transaction"))
	}
	return out
}

// againstLoad compares what a load generator counts with what was committed to
// the log.
func againstLoad(load, log int64, tool string) string {
	switch {
	case load == log:
		return fmt.Sprintf("as many as %s counts", tool)
	case log < load:
		return fmt.Sprintf("%s fewer than %s counts: they read only, or were rolled back", Count(load-log), tool)
	default:
		return fmt.Sprintf("%s more than %s counts: of other sessions, or before and after what it measures", Count(log-load), tool)
	}
}

func exitInWords(e analysis.Exit) string {
	switch {
	case e.Error != "":
		return "not run (" + e.Error + ")"
	case e.Signal != "":
		return "ended by " + e.Signal
	default:
		return "exit status " + strconv.Itoa(e.Status)
	}
}
