package report

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"bgcstat/analysis"
)

const (
	mostName   = 26 // characters of a figure's name
	mostHead   = 14 // characters of a column's name above the table
	mostLetter = 26 // columns have letters up to there
)

// CompareJSON writes c as one indented object: the JSON contract.
func CompareJSON(w io.Writer, c *analysis.Comparison) error { return writeJSON(w, c) }

// CompareCSV writes a header line and one row a figure, with the values of all
// columns. The first row has their names.
func CompareCSV(w io.Writer, c *analysis.Comparison) error {
	out := csv.NewWriter(w)
	head, names := []string{"section", "figure", "unit"}, []string{"", "name", ""}
	fields := []string{"value", "runs", "min", "max", "low", "high", "basis", "change", "difference"}
	for i, col := range c.Columns {
		for _, f := range fields {
			head = append(head, fmt.Sprintf("%d_%s", i+1, f))
		}
		names = append(append(names, Printable(col.Name)), make([]string, len(fields)-1)...)
	}
	if err := out.Write(head); err != nil {
		return err
	}
	if err := out.Write(names); err != nil {
		return err
	}
	number := func(v *float64) string {
		if v == nil {
			return ""
		}
		return strconv.FormatFloat(*v, 'f', -1, 64)
	}
	for i := range c.Figures {
		f := &c.Figures[i]
		row := []string{f.Section, Printable(f.Name), f.Unit}
		for _, v := range f.Values {
			if v == nil {
				row = append(row, make([]string, len(fields))...)
				continue
			}
			row = append(row, number(v.Value), strconv.Itoa(v.Runs), number(v.Min), number(v.Max), number(v.Low), number(v.High),
				string(v.Basis), number(v.Change), string(v.Difference))
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// CompareText writes a comparison that fits a terminal of 80 columns where it
// has two: what was run, the figures side by side, what else differs, and the
// warnings.
func CompareText(w io.Writer, c *analysis.Comparison) error {
	t := &compareText{textReport{bufio.NewWriter(w)}, c}
	for i := range c.Columns {
		t.column(i)
	}
	t.printf("\n")
	for i := 1; i < len(c.Columns); i++ {
		line := Wrap(unbroken.Replace(fmt.Sprintf("%s against A: %s", Letter(i), Headline(c, i))), 80, "  ")
		t.printf("%s\n", strings.ReplaceAll(line, "\x01", " "))
	}
	t.figures()
	t.differences("settings and servers that differ", c.Settings)
	t.differences("loads that differ", c.Load)
	t.warnings(&analysis.Result{Warnings: c.Warnings})
	return t.w.Flush()
}

type compareText struct {
	textReport
	*analysis.Comparison
}

// unbroken keeps a number and what follows it in one line.
var unbroken = strings.NewReplacer(" %", "\x01%", " ?", "\x01?", " (", "\x01(")

// Letter is how a column is called for short: A, B and so on.
func Letter(column int) string {
	if column < mostLetter {
		return string(rune('A' + column))
	}
	return strconv.Itoa(column + 1)
}

// column says what was run.
func (t *compareText) column(i int) {
	col := t.Columns[i]
	t.printf("%s\n", Wrap(fmt.Sprintf("%-2s %s", Letter(i), shorten(Printable(col.Name), 76)), 80, "   "))
	for _, n := range col.Runs {
		r := &t.Runs[n]
		name := ""
		if len(col.Runs) > 1 || r.Name != col.Name {
			name = shorten(Printable(r.Name), 30) + ": "
		}
		t.printf("   %s\n", Wrap(fmt.Sprintf("%s%s UTC, %s%s", name, r.Start.UTC().Format(time.DateTime), ServerOf(r), EndOf(r)), 77, "     "))
	}
	t.printf("   %s\n", Wrap(shorten(Printable(strings.Join(t.Runs[col.Runs[0]].Command, " ")), 150), 77, "     "))
}

// ServerOf names the server of a run.
func ServerOf(r *analysis.ComparedRun) string {
	name := r.Flavor
	switch r.Flavor {
	case "mysql":
		name = "MySQL"
	case "mariadb":
		name = "MariaDB"
	}
	return shorten(Printable(strings.TrimSpace(name+" "+r.Version)), 40)
}

// EndOf says what of a run did not end well, "" where nothing.
func EndOf(r *analysis.ComparedRun) string {
	var s string
	switch e := r.Exit; {
	case e.Error != "":
		s = ", NOT RUN"
	case e.Signal != "":
		s = ", ENDED BY " + shorten(Printable(e.Signal), 20)
	case e.Status < 0:
		s = ", END NOT SEEN"
	case e.Status != 0:
		s = fmt.Sprintf(", EXIT STATUS %d", e.Status)
	}
	if !r.Complete {
		s += ", INCOMPLETE"
	}
	return s
}

// line is a row of the table: cells side by side, those of columns to the right.
type line struct {
	head  bool // of a section
	name  string
	cells []string
	basis string
}

// figures prints the table. With two columns the change stands beside the
// values; with more it stands below them, so that the table stays narrow.
func (t *compareText) figures() {
	beside := len(t.Columns) == 2
	var lines []line
	top := line{}
	for i, col := range t.Columns {
		top.cells = append(top.cells, t.heading(i, col.Name))
	}
	if beside {
		top.cells = append(top.cells, "change")
	}
	top.basis = "basis"
	section := ""
	for i := range t.Figures {
		f := &t.Figures[i]
		if f.Section != section {
			section = f.Section
			lines = append(lines, line{head: true, name: section})
		}
		lines = append(lines, t.figure(f, beside)...)
	}
	widths := make([]int, len(top.cells))
	names := 0
	for _, l := range append(lines, top) {
		names = max(names, min(mostName, utf8.RuneCountInString(l.name)))
		for i, c := range l.cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	t.printf("\n")
	for _, l := range append([]line{top}, lines...) {
		if l.head {
			t.printf("%s\n", l.name)
			continue
		}
		l.cells = append(l.cells, make([]string, len(widths)-len(l.cells))...)
		var out strings.Builder
		out.WriteString(pad(shorten(l.name, names), names))
		for i, c := range l.cells {
			out.WriteString("  " + pad("", widths[i]-utf8.RuneCountInString(c)) + c)
		}
		t.printf("%s\n", strings.TrimRight(out.String()+"  "+l.basis, " "))
	}
}

func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
}

// heading is the letter of a column, with its name where that is short.
func (t *compareText) heading(i int, name string) string {
	if utf8.RuneCountInString(name) <= mostHead {
		return Printable(name)
	}
	return Letter(i)
}

// figure gives the rows of a figure: its values; where there are more than two
// columns how they differ; the ranges over repeats; the intervals.
func (t *compareText) figure(f *analysis.ComparedFigure, beside bool) []line {
	cells := func(of func(v *analysis.ColumnValue) string) []string {
		out := make([]string, len(f.Values))
		for i, v := range f.Values {
			if v != nil {
				out[i] = of(v)
			}
		}
		return out
	}
	values := line{name: "  " + Printable(FigureName(f)), cells: cells(func(v *analysis.ColumnValue) string {
		if v.Value != nil {
			return Measure(*v.Value, f.Unit)
		}
		return Span(v.Low, v.High, f.Unit)
	})}
	for i, v := range f.Values {
		if v == nil {
			values.cells[i] = "-"
		}
	}
	changes := cells(func(v *analysis.ColumnValue) string {
		return ChangeInWords(f.Values[0], v, f.Unit, t.Repeats())
	})
	if beside {
		values.cells = append(values.cells, changes[1])
	}
	out := []line{values}
	add := func(name string, cells []string) {
		if strings.Join(cells, "") != "" {
			out = append(out, line{name: "    " + name, cells: cells})
		}
	}
	if !beside {
		add("change", changes)
	}
	add("range", cells(func(v *analysis.ColumnValue) string {
		if v.Min == nil || *v.Min == *v.Max {
			return ""
		}
		return Span(v.Min, v.Max, f.Unit)
	}))
	add("interval", cells(func(v *analysis.ColumnValue) string {
		if v.Value == nil {
			return ""
		}
		return Span(v.Low, v.High, f.Unit)
	}))
	for i, b := range BasisOf(f) {
		if i == len(out) {
			out = append(out, line{})
		}
		out[i].basis = b
	}
	return out
}

// differences prints what is not the same in all runs, what makes them
// incomparable first.
func (t *compareText) differences(title string, all []analysis.Difference) {
	if len(all) == 0 {
		return
	}
	t.printf("\n%s\n", title)
	for _, d := range all {
		mark := "  "
		if d.Incomparable {
			mark = "! "
		}
		var parts []string
		for i := range t.Columns {
			parts = append(parts, Letter(i)+" "+t.values(i, d))
		}
		t.printf("%s\n", mark+Wrap(shorten(Printable(d.Name), 50)+": "+strings.Join(parts, ", "), 78, "    "))
	}
}

func (t *compareText) values(column int, d analysis.Difference) string {
	var out []string
	for _, v := range t.ValuesOf(column, d) {
		out = append(out, cmp.Or(shorten(Printable(v), 60), `""`))
	}
	return strings.Join(out, " or ")
}
