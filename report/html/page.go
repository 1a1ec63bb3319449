package html

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"bgcstat/analysis"
	"bgcstat/report"
)

// page is what the template shows.
type page struct {
	frame
	Coverage []fact
	Basis    *table
	Tables   []*table
	Settings []*table
	Made     []passage
}

// figure is a number that stands out, and what it rests on.
type figure struct{ Name, Value, Note string }

type fact struct {
	Name string
	Text text
}

type passage struct{ Title, Text string }

// text is a run of words and of names, which are kept apart: a name may be
// written in any direction.
type text []span

type span struct {
	Text string
	Name bool
}

func words(format string, args ...any) text {
	if len(args) == 0 {
		return text{{Text: format}}
	}
	return text{{Text: fmt.Sprintf(format, args...)}}
}

// names lists names, with commas between.
func names(list ...string) text {
	var t text
	for i, n := range list {
		if i > 0 {
			t = append(t, span{Text: ", "})
		}
		t = append(t, span{Text: n, Name: true})
	}
	return t
}

// place is a position in a log.
func place(p analysis.Position) text {
	return text{{Text: p.File, Name: true}, {Text: fmt.Sprintf(":%d", p.Position)}}
}

// table is a table under a heading. Without rows only the words are shown.
type table struct {
	ID, Title string
	Before    string // a sentence above it
	Head      []column
	Rows      [][]text
	After     []text // paragraphs below it
}

type column struct {
	Name  string
	Class string
}

// Classes of columns.
const (
	number = "number" // right, in one line
	value  = "value"  // words and numbers
	name   = "name"   // broken anywhere
	prose  = "prose"  // sentences
)

// columns makes a head: names, each with its class behind "|" where it has one.
func columns(of ...string) []column {
	head := make([]column, len(of))
	for i, c := range of {
		head[i].Name, head[i].Class, _ = strings.Cut(c, "|")
	}
	return head
}

func (t *table) row(cells ...text) { t.Rows = append(t.Rows, cells) }

func (t *table) after(format string, args ...any) { t.After = append(t.After, words(format, args...)) }

// full reports whether the table has most rows, and then says how many of all
// are left out.
func (t *table) full(most, all int) bool {
	if len(t.Rows) < most {
		return false
	}
	if all > most {
		t.after("And %s more, which report.json has.", report.Count(int64(all-most)))
	}
	return true
}

// tidy leaves out columns in which nothing stands.
func (t *table) tidy() {
	for i := range slices.Backward(t.Head) {
		if slices.ContainsFunc(t.Rows, func(row []text) bool { return len(row[i]) > 0 }) {
			continue
		}
		t.Head = slices.Delete(t.Head, i, i+1)
		for j := range t.Rows {
			t.Rows[j] = slices.Delete(t.Rows[j], i, i+1)
		}
	}
}

// Narrow reports whether the table holds only numbers, which are easier to
// compare side by side than spread over the page.
func (t *table) Narrow() bool {
	return !slices.ContainsFunc(t.Head, func(c column) bool { return c.Class != number })
}

func newPage(r *analysis.Result) *page {
	p := &page{
		frame:    frame{Title: title(r.Sources), Answer: answer(r), More: more(r), Key: key(r), Warnings: warnings(r)},
		Coverage: coverage(r),
		Basis:    basisTable(r),
		Tables:   tables(r),
		Settings: settings(r),
		Made:     made(r),
	}
	for _, t := range slices.Concat([]*table{p.Basis}, p.Tables, p.Settings) {
		if t != nil {
			t.tidy()
		}
	}
	p.WarningsInWords = warningsInWords(p.Warnings)
	return p
}

// title names the logs.
func title(sources []analysis.Source) string {
	name := func(s analysis.Source) string {
		if s.File == "-" {
			return "standard input"
		}
		return path.Base(s.File)
	}
	switch n := len(sources); n {
	case 0:
		return "no log"
	case 1:
		return name(sources[0])
	default:
		return fmt.Sprintf("%s to %s (%s logs)", name(sources[0]), name(sources[n-1]), report.Count(int64(n)))
	}
}

func plural(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return report.Count(n) + " " + what + "s"
}

func has(r *analysis.Result, code string) bool {
	for _, w := range r.Warnings {
		if w.Code == code {
			return true
		}
	}
	return false
}
