package html

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"bgcstat/analysis"
	"bgcstat/report"
)

// comparePage is what the template of a comparison shows.
type comparePage struct {
	frame
	Runs   []*table // the runs, and what of them differs
	Tables []*table
	Made   []passage
}

// WriteComparison writes the page of c with these plots. It fails as Write does.
func WriteComparison(w io.Writer, c *analysis.Comparison, figures []Image, absent []Absent, o Options) error {
	p := newComparePage(c)
	if err := p.frame.fill(figures, absent, o); err != nil {
		return err
	}
	return execute(w, compareTemplate, p)
}

func newComparePage(c *analysis.Comparison) *comparePage {
	p := &comparePage{
		frame: frame{Title: compareTitle(c), Warnings: warnings(&analysis.Result{Warnings: c.Warnings})},
		Runs:  []*table{runsTable(c), commandsTable(c)},
		Made:  comparisonMade(c),
	}
	p.WarningsInWords = warningsInWords(p.Warnings)
	p.Answer, p.More = compareAnswer(c)
	if len(c.Columns) == 2 {
		p.Key = compareKey(c)
	}
	for _, t := range []*table{
		differencesTable(c, "differences", "Settings and servers that differ", c.Settings),
		differencesTable(c, "loads", "Loads that differ", c.Load),
	} {
		if t != nil {
			p.Runs = append(p.Runs, t)
		}
	}
	for from, to := 0, 0; from < len(c.Figures); from = to {
		for to = from; to < len(c.Figures) && c.Figures[to].Section == c.Figures[from].Section; to++ {
		}
		p.Tables = append(p.Tables, figuresTable(c, c.Figures[from:to]))
	}
	for _, t := range slices.Concat(p.Runs, p.Tables) {
		t.tidy()
	}
	return p
}

// called is a column's letter and name.
func called(c *analysis.Comparison, column int) string {
	return report.Letter(column) + "\u00a0" + brief(report.Printable(c.Columns[column].Name), 16)
}

// brief is a name where there is little room.
func brief(s string, most int) string {
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return s
}

func compareTitle(c *analysis.Comparison) string {
	const most = 5
	var all []string
	for i, col := range c.Columns {
		if i == most {
			all = append(all, fmt.Sprintf("%d more", len(c.Columns)-i))
			break
		}
		all = append(all, brief(col.Name, 40))
	}
	return strings.Join(all, ", ")
}

// compareAnswer is the comparison in one sentence for each column.
func compareAnswer(c *analysis.Comparison) (answer string, more []string) {
	const most = 5
	if len(c.Columns) < 2 {
		return "All runs are repeats of one another: each figure has a median and a range, and there is nothing to compare it with.", nil
	}
	for i := 1; i < len(c.Columns); i++ {
		if i == most {
			more = append(more, fmt.Sprintf("And %d more, which the tables have.", len(c.Columns)-i))
			break
		}
		more = append(more, fmt.Sprintf("%s (%s) against %s (%s): %s.", report.Letter(i), brief(c.Columns[i].Name, 60), report.Letter(0), brief(c.Columns[0].Name, 60), report.Headline(c, i)))
	}
	return more[0], more[1:]
}

// compareKey has the changes of the second of two columns.
func compareKey(c *analysis.Comparison) []figure {
	var out []figure
	for _, k := range report.KeyFigures(c) {
		a, b := k.Values[0], k.Values[1]
		change := cmp.Or(report.ChangeInWords(a, b, k.Unit, c.Repeats()), "not known")
		note := fmt.Sprintf("from %s to %s, %s", shown(a, k.Unit), shown(b, k.Unit), strings.Join(report.BasisOf(k.ComparedFigure), ", "))
		out = append(out, figure{strings.ToUpper(k.Word[:1]) + k.Word[1:], change, note})
	}
	return out
}

// shown is a value, or its interval where that is all.
func shown(v *analysis.ColumnValue, unit string) string {
	switch {
	case v == nil:
		return "unknown"
	case v.Value != nil:
		return report.Measure(*v.Value, unit)
	default:
		return report.Span(v.Low, v.High, unit)
	}
}

func runsTable(c *analysis.Comparison) *table {
	t := &table{ID: "runs", Title: "The runs", Head: columns("column|value", "run|value", "start, UTC|value", "server|value", "elapsed|number", "ended|value", "warnings in its own report|prose")}
	for i, col := range c.Columns {
		for _, n := range col.Runs {
			r := &c.Runs[n]
			ended := cmp.Or(strings.TrimPrefix(strings.ToLower(report.EndOf(r)), ", "), "well")
			name := text(nil)
			if r.Name != col.Name {
				name = names(r.Name)
			}
			elapsed := text(nil)
			if r.Seconds > 0 { // else its end was not seen
				elapsed = words("%s", report.Duration(r.Seconds))
			}
			t.row(append(words("%s ", report.Letter(i)), names(col.Name)...), name, words("%s", r.Start.UTC().Format(time.DateTime)),
				words("%s", report.ServerOf(r)), elapsed, words("%s", ended), names(r.Codes...))
		}
	}
	return t
}

func commandsTable(c *analysis.Comparison) *table {
	t := &table{ID: "commands", Title: "What was run", Head: columns("column|value", "command|name")}
	for i, col := range c.Columns {
		t.row(append(words("%s ", report.Letter(i)), names(col.Name)...), names(strings.Join(c.Runs[col.Runs[0]].Command, " ")))
	}
	return t
}

func differencesTable(c *analysis.Comparison, id, title string, all []analysis.Difference) *table {
	if len(all) == 0 {
		return nil
	}
	head := []string{"what|name", "comparable"}
	for i := range c.Columns {
		head = append(head, called(c, i)+"|value")
	}
	t := &table{ID: id, Title: title, Head: columns(head...)}
	for _, d := range all {
		row := []text{names(d.Name), nil}
		if d.Incomparable {
			row[1] = words("no")
		}
		for i := range c.Columns {
			var cell text
			for n, v := range c.ValuesOf(i, d) {
				if n > 0 {
					cell = append(cell, span{Text: " or "})
				}
				cell = append(cell, span{Text: cmp.Or(v, `""`), Name: true})
			}
			row = append(row, cell)
		}
		t.row(row...)
	}
	return t
}

// figuresTable has the figures of one section, and below each its ranges and
// intervals.
func figuresTable(c *analysis.Comparison, figures []analysis.ComparedFigure) *table {
	section := figures[0].Section
	t := &table{ID: "of-" + strings.ReplaceAll(section, " ", "-"), Title: strings.ToUpper(section[:1]) + section[1:]}
	head := []string{"figure|value"}
	for i := range c.Columns {
		head = append(head, called(c, i)+"|number")
		if i > 0 {
			head = append(head, report.Letter(i)+" against "+report.Letter(0)+"|number")
		}
	}
	t.Head = columns(append(head, "basis|value")...)
	for i := range figures {
		f := &figures[i]
		row := func(name, basis string, value, change func(v *analysis.ColumnValue) string) {
			cells, empty := []text{words("%s", name)}, true
			add := func(s string) {
				if s == "" {
					cells = append(cells, nil)
					return
				}
				cells, empty = append(cells, words("%s", s)), false
			}
			for i, v := range f.Values {
				s := ""
				if v != nil {
					s = value(v)
				}
				add(s)
				if i > 0 {
					add(change(v))
				}
			}
			if !empty {
				t.row(append(cells, words("%s", basis))...)
			}
		}
		none := func(*analysis.ColumnValue) string { return "" }
		name := report.FigureName(f)
		row(name, strings.Join(report.BasisOf(f), ", "), func(v *analysis.ColumnValue) string { return shown(v, f.Unit) },
			func(v *analysis.ColumnValue) string { return report.ChangeInWords(f.Values[0], v, f.Unit, c.Repeats()) })
		row(name+": range", "", func(v *analysis.ColumnValue) string {
			if v.Min == nil || *v.Min == *v.Max {
				return ""
			}
			return report.Span(v.Min, v.Max, f.Unit)
		}, none)
		row(name+": interval", "", func(v *analysis.ColumnValue) string {
			if v.Value == nil {
				return ""
			}
			return report.Span(v.Low, v.High, f.Unit)
		}, none)
	}
	if section == analysis.OfCounters {
		t.after("By how much counters of the server grew; what the recording itself did is in them.")
	}
	return t
}

func comparisonMade(c *analysis.Comparison) []passage {
	out := []passage{{"Words", "A sync group is the transactions that went through one sync of the binlog together: what people mean by a commit group. A flush group is those that one leader wrote to the binlog together. A binlog sync is one fsync or fdatasync of the binlog."}}
	if c.Repeats() {
		out = append(out, passage{"Repeats", "Runs with the same label share a column: its values are medians, with the range from the lowest to the highest. A change is called none where the ranges of both columns overlap. A question mark is behind one that repeats do not settle: a column is a single run, or the figure is an estimate without an interval."})
	} else {
		out = append(out, passage{"Changes", "Each column is one run, so that its values have no range: how much a figure would change if the same run were made again is not known. Repeat the runs under one label each to learn that."})
	}
	return append(out,
		passage{"Changes of shares", "The change of a share is given in percentage points (pts), that of any other figure as a share of the first column's value."},
		passage{"Intervals", "Of an estimated or bounded figure the interval is where the true number lies in all runs of the column. A change is called none where the intervals of both columns overlap. With ≥ the number is that or more, since something was not counted."},
		passage{"Basis", "Exact: follows from what the log states. Measured: counted or timed while the run went on, by the kernel, the server or the load generator. Estimated: fitted to what the log and the counts allow. Bound: a proven limit. Where columns rest on different things their letters stand behind each."},
	)
}
