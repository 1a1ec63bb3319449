package plot

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"bgcstat/analysis"
)

// lines writes a panel's lines as from, to and value of their bars.
func lines(f *Figure, p Panel) string {
	var all []string
	for _, s := range p.Series {
		line := s.Label + ":"
		for _, b := range s.Bars {
			line += fmt.Sprintf(" %.1f–%.1f %.4g", b.From-f.X.Min, b.To-f.X.Min, b.Value)
		}
		all = append(all, line)
	}
	return strings.Join(all, "\n")
}

// The shares of the host are as they are, those of the server are of all CPUs,
// and what is not known is not drawn.
func TestCPU(t *testing.T) {
	r := traced()
	f := figure(t, r, Timeline)
	if got, want := lines(f, f.Panels[2]), "user: 0.0–0.4 36 0.4–1.0 27\nsystem: 0.0–0.4 25 0.4–1.0 20\niowait: 0.0–0.4 10 0.4–1.0 8\nserver: 0.0–0.4 62 0.4–1.0 50.5"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	has(t, "subtitle", f.Subtitle[4], "CPU: basis measured, shares of all CPUs of the host; server: what its process used of them. Each step is 1 s.")
	has(t, "reading", f.Reading, "Iowait is time in which a CPU had nothing to do")

	r.IO.CPU.Series[1].ServerUser = nil
	r.IO.CPU.Series[1].Steal = 0.004
	f = figure(t, r, Timeline)
	if got, want := lines(f, f.Panels[2]), "user: 0.0–0.4 36 0.4–1.0 27\nsystem: 0.0–0.4 25 0.4–1.0 20\niowait: 0.0–0.4 10 0.4–1.0 8\nserver: 0.0–0.4 62"; got != want {
		t.Errorf("a server that is started anew: got\n%s\nwant\n%s", got, want)
	}
	r.IO.CPU.Series[1].Steal = 0.006
	r.IO.CPU.Series = r.IO.CPU.Series[1:]
	f = figure(t, r, Timeline)
	if got, want := lines(f, f.Panels[2]), "not sampled: 0.0–0.4 0\nuser: 0.4–1.0 27\nsystem: 0.4–1.0 20\niowait: 0.4–1.0 8\nsteal: 0.4–1.0 0.6"; got != want {
		t.Errorf("a gap: got\n%s\nwant\n%s", got, want)
	}
	has(t, "subtitle", f.Subtitle[4], "shares of all CPUs of the host. Each step is 1 s.")

	// Little is drawn as little.
	r.IO.CPU.Series[0].CPUUse = cpuUse(0.01, 0, 0, 0)
	if p := figure(t, r, Timeline).Panels[2]; p.Y.Max < 10 || p.Y.Max > 11 {
		t.Errorf("1 %% is drawn on an axis up to %g", p.Y.Max)
	}

	// Several buckets share a step.
	r = busy()
	r.IO.CPU.Series = nil
	for i := range 10 {
		r.IO.CPU.Series = append(r.IO.CPU.Series, analysis.CPUBucket{
			Start: analysis.Time{Time: at("2026-08-01T14:00:00Z").Add(time.Duration(i) * time.Minute)}, CPUUse: cpuUse(float64(i)/10, 0, 0, 32),
		})
	}
	f = figure(t, r, Timeline)
	if got, want := lines(f, f.Panels[2]), "not sampled: 0.0–3600.0 0 4200.0–86400.0 0\nuser: 3600.0–4200.0 45\nsystem: 3600.0–4200.0 0\niowait: 3600.0–4200.0 0\nserver: 3600.0–4200.0 50"; got != want {
		t.Errorf("a step of many: got\n%s\nwant\n%s", got, want)
	}
	has(t, "subtitle", f.Subtitle[4], "Each step is the mean of what was sampled in 10 min.")
}

// There is no panel where nothing would be in it.
func TestCPUAbsent(t *testing.T) {
	for name, change := range map[string]func(c *analysis.CPU){
		"no CPUs":         func(c *analysis.CPU) { c.CPUs = 0 },
		"no buckets":      func(c *analysis.CPU) { c.Series = nil },
		"no width":        func(c *analysis.CPU) { c.BucketSeconds = 0 },
		"odd shares":      func(c *analysis.CPU) { c.Series[0].User, c.Series[1].Steal = -1, 3 },
		"beyond the axis": func(c *analysis.CPU) { c.Series = c.Series[:1]; c.Series[0].Start = at("2026-11-30T15:00:00Z") },
	} {
		r := traced()
		change(r.IO.CPU)
		f := figure(t, r, Timeline)
		if len(f.Panels) != 4 || len(f.Subtitle) != 4 || strings.Contains(f.Reading, "Iowait") {
			t.Errorf("%s: %s, %q", name, panels(f), f.Subtitle)
		}
	}
}
