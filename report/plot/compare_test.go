package plot

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bgcstat/analysis"
)

// madeComparison is one of those that the text is tested with.
func madeComparison(t *testing.T, name string) *analysis.Comparison {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	c := &analysis.Comparison{}
	if err := json.Unmarshal(b, c); err != nil {
		t.Fatal(err)
	}
	return c
}

func comparisons(t *testing.T) map[string]*analysis.Comparison {
	t.Helper()
	all := map[string]*analysis.Comparison{}
	for _, name := range []string{"compare", "compare-repeats", "compare-several"} {
		all[name] = madeComparison(t, name)
	}

	lower := madeComparison(t, "compare-repeats")
	for i := range lower.Figures {
		if v := lower.Figures[i].Values[1]; v != nil && v.Change != nil {
			*v.Change = -0.9 * min(1, *v.Change)
		}
	}
	all["lower"] = lower

	more := madeComparison(t, "compare-several")
	more.Columns = append(more.Columns, more.Columns[0], more.Columns[1])
	for i := range more.Figures {
		f := &more.Figures[i]
		f.Values = append(f.Values, f.Values[1], nil)
	}
	all["more"] = more

	hostile := madeComparison(t, "compare-several")
	for i := range hostile.Columns {
		hostile.Columns[i].Name = "\x1b[2J\u202e</text>" + strings.Repeat("name ", 100)
		hostile.Columns[i].Sizes = append(hostile.Columns[i].Sizes, analysis.HistogramBin{Size: math.MaxInt64, Groups: math.MaxInt64})
	}
	hostile.Runs[0].Seconds = 1e18
	hostile.Runs[1].Timeline.Transactions.Series[0].Count = math.MaxInt64
	hostile.Runs[2].Timeline.Transactions.BucketSeconds = 0
	hostile.Runs[2].Timeline.BinlogSyncs.Series[3].Start = -1e300
	*hostile.Figures[0].Values[1].Change = 1e300
	all["hostile"] = hostile

	long := madeComparison(t, "compare")
	for i := range long.Runs {
		r := &long.Runs[i]
		r.Seconds *= 1000
		for _, rates := range []*analysis.RunRates{r.Timeline.Transactions, r.Timeline.BinlogSyncs} {
			rates.BucketSeconds *= 1000
			for j := range rates.Series {
				rates.Series[j].Start *= 1000
			}
		}
	}
	all["long"] = long
	return all
}

func compared(t *testing.T, c *analysis.Comparison, name string) *Figure {
	t.Helper()
	figures, absent := Compare(c)
	for i := range figures {
		if figures[i].Name == name {
			return &figures[i]
		}
	}
	t.Fatalf("no %s, but %v", name, absent)
	return nil
}

func TestCompareFigureGolden(t *testing.T) {
	for _, name := range []string{"compare", "compare-repeats"} {
		figures, absent := Compare(madeComparison(t, name))
		if len(absent) != 0 {
			t.Errorf("%s: absent %v", name, absent)
		}
		got, err := json.MarshalIndent(figures, "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		goldenJSON(t, name, got)
	}
}

func TestComparePNGGolden(t *testing.T) {
	t.Parallel()
	c := comparisons(t)
	goldenPNG(t, "compare-several-change.png", Light, compared(t, c["compare-several"], CompareChange))
	goldenPNG(t, "compare-several-timeline.png", Light, compared(t, c["compare-several"], CompareTimeline))
	goldenPNG(t, "compare-several-group-size-dark.png", Dark, compared(t, c["compare-several"], CompareGroupSize))
	goldenPNG(t, "compare-lower-change-dark.png", Dark, compared(t, c["lower"], CompareChange))
}

// What a figure must have, whatever is compared.
func TestCompareInvariants(t *testing.T) {
	t.Parallel()
	for name, c := range comparisons(t) {
		figures, _ := Compare(c)
		for _, f := range figures {
			if err := f.check(); err != nil {
				t.Errorf("%s: %s: %v", name, f.Name, err)
				continue
			}
			if _, err := f.layout(usualWidth).png(36, themes[Light]); err != nil {
				t.Errorf("%s: %s: %v", name, f.Name, err)
			}
			if s := strings.Join(f.Subtitle, " "); !strings.Contains(strings.ToLower(s), "basis ") {
				t.Errorf("%s: %s: no basis in %q", name, f.Name, s)
			}
			if !strings.HasSuffix(f.Reading, ".") || !strings.HasSuffix(f.Alt, ".") || len([]rune(f.Alt)) > 900 {
				t.Errorf("%s: %s: reading %q and alt %q", name, f.Name, f.Reading, f.Alt)
			}
			for _, width := range []float64{usualWidth, MinWidth * 72 / 96} {
				l := f.layout(width)
				for _, p := range l.panels {
					for _, line := range p.legend {
						if legendWidth(line)-12 > l.right-margin {
							t.Errorf("%s: %s: an entry of the legend is cut at %v", name, f.Name, width)
						}
					}
				}
			}
			for _, p := range f.Panels {
				if p.Y.Label == "" || p.Y.Unit == "" || f.X.Label == "" || f.X.Unit == "" {
					t.Errorf("%s: %s: an axis without label or unit: %v, %v", name, f.Name, p.Y, f.X)
				}
				colors := map[string]bool{}
				for _, s := range p.Series {
					if colors[s.Color] && s.Label != "" {
						t.Errorf("%s: %s: %s has the colour of another", name, f.Name, s.Label)
					}
					if s.Label != "" {
						colors[s.Color] = true
					}
					for _, b := range s.Bars {
						if b.Value > p.Y.Max*(1+1e-9) || b.Low < 0 || b.From > b.To || b.From < f.X.Min || b.To > f.X.Max*(1+1e-9) {
							t.Errorf("%s: %s: bar %v is beyond the axes", name, f.Name, b)
						}
					}
				}
			}
		}
		if name == "more" {
			if s := figures[0].Subtitle[0]; len(figures[0].Panels[0].Series) != mostCompared || !strings.Contains(s, "Only the first 5 of 7 columns are drawn") {
				t.Errorf("%s: %q", name, s)
			}
		}
	}
}

// A legend has the names in full as far as they have room.
func TestCompareLegend(t *testing.T) {
	c := madeComparison(t, "compare")
	c.Columns[0].Name, c.Columns[1].Name = "group-commit-of-8-clients", "group-commit-of-16-clients-on-a-host-of-two-processors"
	for _, f := range []string{CompareChange, CompareTimeline, CompareGroupSize} {
		fig := compared(t, c, f)
		for _, width := range []float64{usualWidth, MinWidth * 72 / 96} {
			for _, p := range fig.layout(width).panels {
				last := p.legend[len(p.legend)-1]
				got := last[len(last)-1].Label
				if in, full := strings.Contains(got, "…"), got == "B "+c.Columns[1].Name; in == full || full != (width == usualWidth) {
					t.Errorf("%s, %v points wide: %q", f, width, got)
				}
			}
		}
	}
}

func TestCompareAbsent(t *testing.T) {
	one := madeComparison(t, "compare-repeats")
	one.Columns = one.Columns[:1]
	one.Columns[0].Sizes = nil
	for i := range one.Figures {
		one.Figures[i].Values = one.Figures[i].Values[:1]
	}
	for i := range one.Runs {
		one.Runs[i].Timeline = nil
	}
	figures, absent := Compare(one)
	want := map[string]string{CompareChange: "repeats of one another", CompareTimeline: "when its transactions", CompareGroupSize: "sizes of sync groups are not known"}
	if len(figures) != 0 || len(absent) != 3 {
		t.Fatalf("%v, %v", figures, absent)
	}
	for _, a := range absent {
		if !strings.Contains(a.Why, want[a.Name]) {
			t.Errorf("%s: %q", a.Name, a.Why)
		}
	}

	few := madeComparison(t, "compare")
	for i := range few.Runs {
		few.Runs[i].Timeline.BinlogSyncs = nil
	}
	f := compared(t, few, CompareTimeline)
	if p := f.Panels[1]; p.Note == "" || len(p.Series) != 0 {
		t.Errorf("without syncs: %v", p)
	}
	if f.Panels[0].Note != "" || !f.layout(usualWidth).panels[0].x.used {
		t.Error("without syncs there is no axis")
	}
}

// A bucket counts in each step by how much of it lies there, one that reaches
// beyond the run as a whole, and a short last step is part of the one before.
func TestMeanRates(t *testing.T) {
	say := func(bars []Bar) string {
		var s []string
		for _, b := range bars {
			s = append(s, fmt.Sprintf("%g-%g:%g", b.From, b.To, b.Value))
		}
		return strings.Join(s, " ")
	}
	r := func(width float64, buckets ...analysis.RunBucket) *analysis.RunRates {
		return &analysis.RunRates{BucketSeconds: width, Series: buckets}
	}
	for _, tt := range []struct {
		name      string
		r         *analysis.RunRates
		end, step float64
		zero      bool
		want      string
	}{
		{"one to one", r(1, analysis.RunBucket{Start: 0, Count: 5}, analysis.RunBucket{Start: 1, Count: 7}), 2, 1, true, "0-1:5 1-2:7"},
		{"a gap is zero", r(1, analysis.RunBucket{Start: 0, Count: 5}, analysis.RunBucket{Start: 2, Count: 7}), 3, 1, true, "0-1:5 1-2:0 2-3:7"},
		{"or not known", r(1, analysis.RunBucket{Start: 0, Count: 5}, analysis.RunBucket{Start: 2, Count: 7}), 3, 1, false, "0-1:5 2-3:7"},
		{"half and half", r(1, analysis.RunBucket{Start: 0.5, Count: 10}), 2, 1, true, "0-1:5 1-2:5"},
		{"before the start", r(1, analysis.RunBucket{Start: -0.5, Count: 10}, analysis.RunBucket{Start: 0.5, Count: 4}), 1, 1, true, "0-1:14"},
		{"several in a step", r(1, analysis.RunBucket{Start: 0, Count: 2}, analysis.RunBucket{Start: 1, Count: 4}), 2, 2, true, "0-2:3"},
		{"a long last step", r(1, analysis.RunBucket{Start: 0, Count: 2}, analysis.RunBucket{Start: 1, Count: 5}), 1.4, 1, true, "0-1.4:5"},
		{"a short last step", r(1, analysis.RunBucket{Start: 0, Count: 2}, analysis.RunBucket{Start: 1, Count: 3}), 1.6, 1, false, "0-1:2 1-1.6:5"},
		{"less than a step", r(1, analysis.RunBucket{Start: 0, Count: 2}), 0.5, 1, false, "0-0.5:4"},
	} {
		got := meanRates(tt.r, tt.end, tt.step, tt.zero)
		for i := range got {
			got[i].Value = math.Round(1e5*got[i].Value) / 1e5
		}
		if say(got) != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, say(got), tt.want)
		}
	}
}

func TestAround(t *testing.T) {
	for _, tt := range []struct {
		least, greatest float64
		want            string
	}{
		{0, 100, "0 +20 +40 +60 +80 +100"},
		{-90, 0, "-80 -60 -40 -20 0"},
		{-0.1, 100, "0 +20 +40 +60 +80 +100"},
		{0, 0.1, "0.00 +0.02 +0.04 +0.06 +0.08 +0.10"},
	} {
		if got := strings.Join(labelsOf(around(tt.least, tt.greatest)), " "); got != tt.want {
			t.Errorf("from %g to %g: %s, want %s", tt.least, tt.greatest, got, tt.want)
		}
	}
}

func labelsOf(a Axis) []string {
	var out []string
	for t := range slices.Values(a.Ticks) {
		out = append(out, t.Label)
	}
	return out
}
