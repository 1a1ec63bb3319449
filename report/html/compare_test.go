package html

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bgcstat/analysis"
)

// comparison is one of those that the text is tested with.
func comparison(t *testing.T, name string) *analysis.Comparison {
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

func writeComparison(t *testing.T, c *analysis.Comparison, figures []Image, o Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := WriteComparison(&b, c, figures, []Absent{{"compare-timeline", "of no run is known when"}}, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestComparisonGolden(t *testing.T) {
	plots := []Image{{Name: "compare-change", Title: "What changes", Alt: "Bars.", Reading: "How to read it.", PNG: dot(t), Dark: dot(t)}}
	for _, name := range []string{"compare", "compare-repeats", "compare-several"} {
		got := body(writeComparison(t, comparison(t, name), plots, Options{Version: "v1.2.3"}))
		golden(t, name, got)
	}
}

// The page has the parts of a report in a reader's order, and what its parts
// refer to.
func TestComparisonOrder(t *testing.T) {
	for _, name := range []string{"compare", "compare-repeats", "compare-several"} {
		page := writeComparison(t, comparison(t, name), nil, Options{})
		last := 0
		for _, part := range []string{`class="answer"`, `id="trust"`, `id="warnings"`, `id="tables"`, `id="of-run"`, `id="plots"`, `id="made"`, "<footer>"} {
			at := strings.Index(page, part)
			if at < last {
				t.Errorf("%s: %s at %d, behind %d", name, part, at, last)
			}
			last = at
		}
		ids := map[string]bool{}
		for _, id := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(page, -1) {
			if ids[id[1]] {
				t.Errorf("%s: two elements with id %q", name, id[1])
			}
			ids[id[1]] = true
		}
		for _, ref := range regexp.MustCompile(`(?:aria-labelledby="|href="#)([^"]*)"`).FindAllStringSubmatch(page, -1) {
			if !ids[ref[1]] {
				t.Errorf("%s: no element has id %q", name, ref[1])
			}
		}
		if strings.Contains(page, "<script") {
			t.Errorf("%s: a script", name)
		}
	}
}

// What a run says of itself is text, wherever it stands.
func TestComparisonHostile(t *testing.T) {
	const harm = "</script></style><img src=x onerror=alert(1)>\"'\u202e"
	c := comparison(t, "compare-several")
	for i := range c.Runs {
		r := &c.Runs[i]
		r.Name, r.Label, r.Command, r.Flavor, r.Version, r.Exit.Signal, r.Codes = harm, harm, []string{harm}, harm, harm, harm, []string{harm}
	}
	for i := range c.Columns {
		c.Columns[i].Name = harm + fmt.Sprint(i)
	}
	for i := range c.Settings {
		c.Settings[i].Name, c.Settings[i].Values[0] = harm, new(harm)
	}
	c.Figures[len(c.Figures)-1].Name = harm
	c.Warnings[0].Message = harm
	for _, cut := range []int{1, 2, 5} {
		some := *c
		some.Columns, some.Figures = c.Columns[:cut], slices.Clone(c.Figures)
		for i := range some.Figures {
			some.Figures[i].Values = some.Figures[i].Values[:cut]
		}
		page := writeComparison(t, &some, nil, Options{Version: harm})
		for _, bad := range []string{"</script", "<img src=x", "onerror=alert(1)>", "\u202e"} {
			if strings.Contains(page, bad) {
				t.Errorf("the page has %s", bad)
			}
		}
	}
}

// A run whose recording was killed did not take no time.
func TestUnseenEnd(t *testing.T) {
	c := comparison(t, "compare")
	c.Runs[1].Seconds, c.Runs[1].Exit.Status = 0, -1
	page := writeComparison(t, c, nil, Options{})
	run := runInWords(&analysis.Run{Command: []string{"/usr/bin/sysbench"}, Exit: analysis.Exit{Status: -1}})
	if want := "Recorded while sysbench ran, which did not end well."; run != want || strings.Contains(page, ">0.00 s<") || !strings.Contains(page, "end not seen") {
		t.Errorf("%q, want %q, or the page has a time of 0.00 s: %v", run, want, strings.Contains(page, ">0.00 s<"))
	}
}
