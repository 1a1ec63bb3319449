package html

import (
	"fmt"
	"strings"

	"bgcstat/analysis"
	"bgcstat/report"
)

// runTable shows what was run, and what the load generator says of it.
func runTable(run *analysis.Run, r *analysis.Result) *table {
	t := &table{ID: "run", Title: "The run", Head: columns("what", "value|value", "basis|prose")}
	for _, f := range report.RunFacts(run, r) {
		t.row(words("%s", f.Name), names(f.Value), words("%s", f.Note))
	}
	for _, w := range run.Without {
		t.after("Without %s.", w)
	}
	for _, m := range run.Missing {
		t.after("Missing: %s.", m)
	}
	return t
}

// runInWords is a sentence on what the page is of.
func runInWords(run *analysis.Run) string {
	command := ""
	if len(run.Command) > 0 {
		command = run.Command[0][strings.LastIndexByte(run.Command[0], '/')+1:]
	}
	s := fmt.Sprintf("Recorded while %s ran", command)
	if run.Seconds > 0 { // else its end was not seen
		s += ", for " + report.Duration(run.Seconds)
	}
	if run.Exit.Status != 0 || run.Exit.Signal != "" {
		s += ", which did not end well"
	}
	return s + "."
}
