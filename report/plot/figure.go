package plot

import (
	"fmt"
	"path"
	"strings"

	"bgcstat/analysis"
)

// Names of the figures. A file is named after its figure, see Figure.File.
const (
	GroupSize    = "group-size"
	Timeline     = "timeline"
	Fsyncs       = "fsyncs"
	SyncLatency  = "sync-latency"
	Heat         = "heat"
	FlushGroups  = "flush-groups"
	Parents      = "parents"
	Transactions = "transactions"
	Tables       = "tables"
)

// Names are those of all figures, in the order of Figures.
func Names() []string {
	return []string{GroupSize, Timeline, Fsyncs, SyncLatency, Heat, FlushGroups, Parents, Transactions, Tables}
}

// Figure is a picture as plain values: one column of panels over one
// horizontal axis, but for panels with their own.
type Figure struct {
	Name     string   `json:"name"`
	Title    string   `json:"title"`
	Subtitle []string `json:"subtitle"` // paragraphs
	Footer   string   `json:"footer,omitempty"`
	// Reading says in a sentence or two how to read the picture, and Alt what it
	// shows, with the main numbers, to those who do not see it. Neither is drawn.
	Reading string  `json:"reading"`
	Alt     string  `json:"alt"`
	X       Axis    `json:"x"`
	Panels  []Panel `json:"panels"` // from the top
}

// File is the name of the figure's file.
func (f *Figure) File() string { return f.Name + ".png" }

// Panel is one field of a figure.
type Panel struct {
	// X is the panel's own horizontal axis, nil for that of the figure.
	X      *Axis    `json:"x,omitempty"`
	Y      Axis     `json:"y"`
	Height float64  `json:"height"` // of the field, in points
	Series []Series `json:"series"` // in the order of drawing
	// Note stands in the field, instead of series that nothing is known of.
	Note string `json:"note,omitempty"`
}

// Axis is the range of one direction. Values lie on it in its Unit.
type Axis struct {
	Label string  `json:"label"`
	Unit  string  `json:"unit"`
	Min   float64 `json:"min"`
	Max   float64 `json:"max"`
	Log   bool    `json:"log,omitempty"` // Min is above 0
	Ticks []Tick  `json:"ticks,omitempty"`
	// Shaded is where bins begin that are wider than those before, if not 0.
	Shaded float64 `json:"shaded,omitempty"`
}

// Tick is a mark on an axis; one without a label is a minor one. A label may
// have two lines.
type Tick struct {
	At    float64 `json:"at"`
	Label string  `json:"label,omitempty"`
}

// Kind is how a series is drawn.
type Kind string

// The kinds of a series. Those but Dots and Line have bars.
const (
	Across   Kind = "across"   // level bars, from From to To, as thick as from Low to Value
	Cells    Kind = "cells"    // rectangles that touch, from From to To and from Low to Value
	Filled   Kind = "filled"   // bars, each by itself
	Outline  Kind = "outline"  // the edges of bars, each by itself
	Interval Kind = "interval" // brackets from Low to Value, each by itself
	Area     Kind = "area"     // bars that touch, as one surface
	Steps    Kind = "steps"    // the upper edge of bars that touch, down to 0 beside them
	Levels   Kind = "levels"   // the upper edge of bars that touch, and nothing beside them
	Unknown  Kind = "unknown"  // stretches where nothing is known; their values mean nothing
	Dots     Kind = "dots"
	Line     Kind = "line"
)

// Series is what one entry of the legend stands for.
type Series struct {
	Label  string  `json:"label"`
	Kind   Kind    `json:"kind"`
	Color  string  `json:"color"` // #rrggbb
	Stroke *Stroke `json:"stroke,omitempty"`
	Bars   []Bar   `json:"bars,omitempty"`
	Points []Point `json:"points,omitempty"`
}

// Stroke is how the lines of Levels and Line are drawn, and how large Dots are,
// in points. It tells lines apart where colours cannot.
type Stroke struct {
	Width float64   `json:"width"`          // of the line, or of a dot
	Dash  []float64 `json:"dash,omitempty"` // lengths of dashes and gaps, in turn
}

// Bar reaches from From to To along the horizontal axis, and from 0 to Value,
// or, in an Interval, Across and Cells, from Low to Value. Its label may have several lines.
type Bar struct {
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	Low   float64 `json:"low,omitempty"`
	Value float64 `json:"value"`
	Label string  `json:"label,omitempty"`
}

// Point is a place in a panel.
type Point struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

// Absent is a figure that the result does not carry the data of.
type Absent struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

// Figures returns the figures that r carries the data of, and names the others
// with the reason. Neither changes r nor keeps parts of it.
func Figures(r *analysis.Result) ([]Figure, []Absent) {
	var figures []Figure
	var absent []Absent
	for _, b := range []struct {
		name  string
		build func(*analysis.Result) (*Figure, string)
	}{
		{GroupSize, groupSize},
		{Timeline, timeline},
		{Fsyncs, fsyncs},
		{SyncLatency, syncLatency},
		{Heat, heat},
		{FlushGroups, flushGroups},
		{Parents, parents},
		{Transactions, transactions},
		{Tables, tables},
	} {
		f, why := b.build(r)
		if f == nil {
			absent = append(absent, Absent{b.name, why})
			continue
		}
		f.Name = b.name
		f.Subtitle = append([]string{source(r)}, f.Subtitle...)
		f.Footer = warnings(r)
		figures = append(figures, *f)
	}
	return figures, absent
}

// source says what was read: files, server, number of transactions, window.
func source(r *analysis.Result) string {
	var parts []string
	if s := files(r.Sources); s != "" {
		parts = append(parts, s)
	}
	if s := server(r.Sources); s != "" {
		parts = append(parts, s)
	}
	n := plural(r.Transactions, "transaction")
	if r.Filters != nil {
		n += " chosen by filters"
	}
	parts = append(parts, n)
	if w := r.Window; w != nil {
		const day = "2006-01-02"
		clock := "15:04:05"
		if w.Clock == analysis.ClockCommit && w.Seconds < 10 {
			clock += ".000"
		}
		from, to := w.Start.UTC(), w.End.UTC()
		s := from.Format(day+" "+clock) + " to "
		if from.Format(day) != to.Format(day) {
			s += to.Format(day) + " "
		}
		parts = append(parts, s+to.Format(clock)+" UTC")
	}
	return strings.Join(parts, ", ")
}

func files(sources []analysis.Source) string {
	name := func(s analysis.Source) string {
		if s.File == "-" {
			return "standard input"
		}
		return shorten(path.Base(s.File), 36)
	}
	switch n := len(sources); n {
	case 0:
		return ""
	case 1:
		return name(sources[0])
	default:
		return fmt.Sprintf("%s to %s (%s files)", name(sources[0]), name(sources[n-1]), count(int64(n)))
	}
}

// server names the flavour and version, where it is the same in all sources.
func server(sources []analysis.Source) string {
	if len(sources) == 0 {
		return ""
	}
	flavor, version := sources[0].Flavor, sources[0].ServerVersion
	for _, s := range sources {
		if s.Flavor != flavor {
			return "several servers"
		}
		if s.ServerVersion != version {
			version = "of several versions"
		}
	}
	switch flavor {
	case "mysql":
		flavor = "MySQL"
	case "mariadb":
		flavor = "MariaDB"
	}
	return strings.TrimSpace(shorten(flavor, 12) + " " + shorten(version, 34))
}

// warnings names the codes of the warnings, each once.
func warnings(r *analysis.Result) string {
	const most = 6
	var codes []string
	seen := map[string]bool{}
	for _, w := range r.Warnings {
		if w.Code != "" && !seen[w.Code] {
			seen[w.Code] = true
			codes = append(codes, shorten(w.Code, 32))
		}
	}
	if len(codes) == 0 {
		return ""
	}
	more := ""
	if n := len(codes) - most; n > 0 {
		codes, more = codes[:most], fmt.Sprintf(" and %d more", n)
	}
	return "Warnings that go with this result (see the report): " + strings.Join(codes, ", ") + more + "."
}

// basis is how firm a figure is and where it is from, in the words of the
// report.
func basis(b analysis.Basis, m analysis.Method) string {
	const most = 24
	s := "basis " + shorten(string(b), most)
	if m != "" {
		s += ", method " + shorten(string(m), most)
	}
	return s
}

// shorten cuts the middle out of s where it has more than most characters:
// what tells names of logs apart is at their ends. Characters that cannot be
// printed become question marks.
func shorten(s string, most int) string {
	runes := []rune(printable(s))
	if n := len(runes); n > most {
		head := (most - 1) / 2
		runes = append(append(runes[:head:head], '…'), runes[n-(most-1-head):]...)
	}
	return string(runes)
}
