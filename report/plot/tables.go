package plot

import (
	"cmp"
	"fmt"
	"slices"

	"bgcstat/analysis"
)

const mostTables = 12

// changed is a table with its events by kind.
type changed struct {
	name   string
	events [3]float64 // inserts, updates, deletes
}

func (c changed) sum() float64 { return c.events[0] + c.events[1] + c.events[2] }

func tables(r *analysis.Result) (*Figure, string) {
	all := changedTables(r.Tables)
	if len(all) == 0 {
		if r.Transactions == 0 {
			return nil, "there are no transactions"
		}
		return nil, "the log has no row events: statements do not tell what they change"
	}
	total := 0.0
	for _, t := range all {
		total += t.sum()
	}
	// The rest as a bar could be longer than all others.
	rows := all[:min(len(all), mostTables)]
	more := ""
	if n := len(all) - len(rows); n > 0 {
		rest := 0.0
		for _, t := range all[len(rows):] {
			rest += t.sum()
		}
		more = fmt.Sprintf(" Drawn are the first %d, and %s more have %s row events (%s).", mostTables, count(int64(n)), count(whole(rest)), percent(rest/total))
	}

	order := ""
	if len(rows) > 1 {
		order = ", most first"
	}

	f := &Figure{
		Title: "Changes by table",
		Subtitle: []string{
			fmt.Sprintf("Row events of %s in the log (basis exact)%s. An event may hold many rows: this is not the number of rows.%s", plural(int64(len(all)), "table"), order, more),
		},
		Reading: "The longest bar is the table that the load changes most; one with nearly all of the events is where transactions wait for each other, if they do.",
		Alt:     fmt.Sprintf("Bar chart of row events by table, %s: %s has the most, %s of all.%s", plural(int64(len(all)), "table"), all[0].name, percent(all[0].sum()/total), more),
	}
	greatest := 0.0
	for _, t := range rows {
		greatest = max(greatest, t.sum())
	}
	div, word := large(greatest)
	f.X = linear(greatest/div, 0.2, div == 1)
	f.X.Label, f.X.Unit = "row events", "number"
	if word != "" {
		f.X.Unit = word
	}
	p := Panel{
		Y:      Axis{Label: "table", Unit: "by row events", Max: float64(len(rows))},
		Height: 20*float64(len(rows)) + 6,
		Series: []Series{
			{Label: "insert events", Kind: Across, Color: blue},
			{Label: "update events", Kind: Across, Color: amber},
			{Label: "delete events", Kind: Across, Color: purple},
		},
	}
	for i, t := range rows {
		middle := float64(len(rows)-i) - 0.5
		p.Y.Ticks = append(p.Y.Ticks, Tick{At: middle, Label: t.name})
		end, last := 0.0, 0
		for kind, n := range t.events {
			if from, to := end/div, (end+n)/div; from < to { // n may be too small beside the others
				last = kind
				p.Series[kind].Bars = append(p.Series[kind].Bars, Bar{From: from, To: to, Low: middle - 0.32, Value: middle + 0.32})
			}
			end += n
		}
		bars := p.Series[last].Bars
		bars[len(bars)-1].Label = fmt.Sprintf("%s (%s)", significant(t.sum()/div), percent(t.sum()/total))
	}
	p.Series = slices.DeleteFunc(p.Series, func(s Series) bool { return len(s.Bars) == 0 })
	f.Panels = []Panel{p}
	return f, ""
}

// changedTables are those with row events, most first.
func changedTables(tables []analysis.TableStats) []changed {
	var all []changed
	for _, t := range tables {
		c := changed{events: [3]float64{float64(max(0, t.InsertEvents)), float64(max(0, t.UpdateEvents)), float64(max(0, t.DeleteEvents))}}
		if c.sum() > 0 {
			c.name = tableName(t.Table)
			all = append(all, c)
		}
	}
	slices.SortStableFunc(all, func(a, b changed) int { return cmp.Compare(b.sum(), a.sum()) })
	return all
}

// tableName shortens a name to what has room beside the bars.
func tableName(name string) string {
	const room = 150.0 // points
	if name = shorten(name, 48); name == "" {
		return `""`
	}
	if textWidth(name, smallSize, false) > room {
		name = cut(name, smallSize, false, room)
	}
	return name
}
