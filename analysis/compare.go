package analysis

import (
	"cmp"
	"path"
	"slices"
)

// RunResult is a recorded run and what was committed meanwhile.
type RunResult struct {
	Dir    string // the run's directory, as it is to be called
	Run    *Run
	Result *Result
}

// Comparison sets runs side by side: everything that bgcstat compare may show,
// and, as JSON, the contract with other programs. What is not known is absent:
// nil, or an empty slice.
type Comparison struct {
	SchemaVersion int           `json:"schema_version"`
	Runs          []ComparedRun `json:"runs"` // as they were given
	// Columns are the runs without those that repeat others. The first one is what
	// the others are compared with.
	Columns []Column         `json:"columns"`
	Figures []ComparedFigure `json:"figures"`
	// Settings, with what the server runs on, and Load are what is not the same in
	// all runs; those that make runs incomparable come first.
	Settings []Difference `json:"settings,omitempty"`
	Load     []Difference `json:"load,omitempty"`
	Warnings []Warning    `json:"warnings"`
}

// ComparedRun is one run of a comparison.
type ComparedRun struct {
	Name    string   `json:"name"` // its directory
	Label   string   `json:"label,omitempty"`
	Column  int      `json:"column"` // index of the one that it is in
	Command []string `json:"command"`
	Start   Time     `json:"start"`
	Seconds float64  `json:"seconds"`
	Exit    Exit     `json:"exit"`
	Flavor  string   `json:"flavor"`
	Version string   `json:"version"` // of the server
	// Complete says that the server's log was read to the position where it was
	// when the command ended, and that nothing else is missing.
	Complete bool      `json:"complete"`
	Timeline *Timeline `json:"timeline,omitempty"`
	// Codes are those of the warnings that the run's own report has, each once.
	Codes []string `json:"warning_codes,omitempty"`
}

// Column is a run, or several with one label, which are repeats.
type Column struct {
	Name string `json:"name"` // unlike that of any other column
	Runs []int  `json:"runs"` // indices, at least one
	// Typical is the index of the run with the median of the elapsed times, the
	// earlier one of two in the middle: what one line stands for.
	Typical int `json:"typical"`
	// Sizes are the sizes of the sync groups of all its runs that know them.
	Sizes      []HistogramBin `json:"sizes,omitempty"`
	SizesBasis Basis          `json:"sizes_basis,omitempty"` // the weakest
}

// Compare sets runs, of which there is at least one, side by side. It neither
// changes them nor keeps parts of them that can change.
func Compare(runs []RunResult) *Comparison {
	c := &Comparison{SchemaVersion: SchemaVersion, Warnings: []Warning{}}
	c.group(runs)
	c.figures(runs)
	c.Settings, c.Load = settingDifferences(runs), loadDifferences(runs)
	c.warn(runs)
	return c
}

// Repeats reports whether a column has several runs.
func (c *Comparison) Repeats() bool {
	return slices.ContainsFunc(c.Columns, func(col Column) bool { return len(col.Runs) > 1 })
}

// Complete reports whether all runs are.
func (c *Comparison) Complete() bool {
	return !slices.ContainsFunc(c.Runs, func(r ComparedRun) bool { return !r.Complete })
}

// group makes the columns, in the order of their first runs.
func (c *Comparison) group(runs []RunResult) {
	byLabel := map[string]int{}
	for i, r := range runs {
		at, ok := byLabel[r.Run.Label]
		if !ok || r.Run.Label == "" {
			at = len(c.Columns)
			byLabel[r.Run.Label] = at
			c.Columns = append(c.Columns, Column{Name: cmp.Or(r.Run.Label, path.Base(r.Dir))})
		}
		c.Columns[at].Runs = append(c.Columns[at].Runs, i)
		run := ComparedRun{
			Name: r.Dir, Label: r.Run.Label, Column: at, Command: slices.Clone(r.Run.Command),
			Start: r.Run.Start, Seconds: r.Run.Seconds, Exit: r.Run.Exit,
			Flavor: r.Run.Server.Flavor, Version: r.Run.Server.Version,
			Complete: wholeLog(r) && len(r.Run.Missing) == 0, Timeline: newTimeline(r),
		}
		for _, w := range r.Result.Warnings {
			if !slices.Contains(run.Codes, w.Code) {
				run.Codes = append(run.Codes, w.Code)
			}
		}
		c.Runs = append(c.Runs, run)
	}
	same := map[string]int{}
	for _, col := range c.Columns {
		same[col.Name]++
	}
	for i := range c.Columns {
		col := &c.Columns[i]
		if same[col.Name] > 1 {
			col.Name = c.Runs[col.Runs[0]].Name // no directory is given twice
		}
		byTime := slices.Clone(col.Runs)
		slices.SortStableFunc(byTime, func(a, b int) int { return cmp.Compare(runs[a].Run.Seconds, runs[b].Run.Seconds) })
		col.Typical = byTime[(len(byTime)-1)/2]
		col.pool(runs)
	}
}

// pool adds up the sizes of the groups of the column's runs.
func (col *Column) pool(runs []RunResult) {
	groups := map[int64]int64{}
	for _, i := range col.Runs {
		g := runs[i].Result.Groups.Sync
		if g == nil || len(g.Histogram) == 0 {
			continue
		}
		for _, b := range g.Histogram {
			groups[b.Size] += b.Groups
		}
		col.SizesBasis = weakest(col.SizesBasis, membership(g.Basis))
	}
	for size, n := range groups {
		col.Sizes = append(col.Sizes, HistogramBin{size, n})
	}
	slices.SortFunc(col.Sizes, func(a, b HistogramBin) int { return cmp.Compare(a.Size, b.Size) })
}

// wholeLog reports whether all of the run's log was read, and is in its result.
func wholeLog(r RunResult) bool {
	return r.Run.To != nil && r.Run.Read != "" && !hasDamage(r.Result) && !coversPart(r.Result)
}

// coversPart reports whether transactions that the trace does not cover were left
// out, as where it ended early.
func coversPart(r *Result) bool {
	return slices.ContainsFunc(r.Warnings, func(w Warning) bool { return w.Code == "trace-covers-part" })
}

func hasDamage(r *Result) bool {
	return slices.ContainsFunc(r.Sources, func(s Source) bool { return !s.Complete })
}

// bases are from strongest to weakest.
var bases = []Basis{"", Exact, Measured, Estimated, Bounded, Legacy}

func weakest(a, b Basis) Basis {
	if slices.Index(bases, b) > slices.Index(bases, a) {
		return b
	}
	return a
}

// membership is how firm it is which transactions shared a group, where b is
// that of the number of groups.
func membership(b Basis) Basis {
	if b == Measured { // a count does not tell
		return Estimated
	}
	return b
}
