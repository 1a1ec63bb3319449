package plot

import (
	"iter"
	"time"

	"bgcstat/analysis"
)

// cpu gives the panel of what the host and the server did with the CPUs along
// the grid, and says what it shows. There is none where nothing is known of it.
func (g grid) cpu(io *analysis.IO) ([]Panel, []string) {
	if io == nil || io.CPU == nil || io.CPU.CPUs <= 0 {
		return nil, nil
	}
	c := io.CPU
	n, width := g.stepWidth(c.BucketSeconds)
	host := g.steps(c.BucketSeconds, width, hostShares(c))
	server := g.steps(c.BucketSeconds, width, serverShares(c))
	if len(host) == 0 {
		return nil, nil
	}
	lines := []struct {
		name  string
		steps []syncStep
		seen  float64 // in percent, from which on it is drawn
	}{{"user", host, 0}, {"system", host, 0}, {"iowait", host, 0}, {"server", server, 0}, {"steal", host, 0.5}}
	p := Panel{Y: Axis{Label: "CPU", Unit: "% of " + plural(int64(c.CPUs), "CPU")}, Height: 90}
	greatest := 10.0 // less is drawn as little
	for i, l := range lines {
		bars, top := class{keys: []string{l.name}}.bars(l.steps)
		if len(bars) == 0 || top < l.seen {
			continue
		}
		greatest = max(greatest, top)
		p.Series = append(p.Series, Series{Label: l.name, Kind: Levels, Color: syncLines[i].color, Stroke: new(syncLines[i].stroke), Bars: bars})
	}
	y := linear(greatest, 0.06, false)
	p.Y.Max, p.Y.Ticks = y.Max, y.Ticks

	words := "CPU: basis measured, shares of all CPUs of the host"
	if len(server) > 0 {
		words += "; server: what its process used of them"
	}
	each := " Each step is "
	if n > 1 {
		each = " Each step is the mean of what was sampled in "
	}
	if gaps := g.gaps(host, c.BucketSeconds); len(gaps) > 0 {
		p.Series = append([]Series{{Label: "not sampled", Kind: Unknown, Color: grey, Bars: gaps}}, p.Series...)
	}
	return []Panel{p}, []string{words + "." + each + span(width) + "."}
}

// cpuPercent is a share of all CPUs, and false where it makes no sense.
func cpuPercent(share float64) (float64, bool) { return 100 * share, share >= 0 && share <= 2 }

// hostShares are those of each bucket, in percent times seconds.
func hostShares(c *analysis.CPU) iter.Seq2[time.Time, map[string]float64] {
	return func(yield func(time.Time, map[string]float64) bool) {
		for i := range c.Series {
			b := &c.Series[i]
			user, ok1 := cpuPercent(b.User)
			system, ok2 := cpuPercent(b.System)
			iowait, ok3 := cpuPercent(b.IOWait)
			steal, ok4 := cpuPercent(b.Steal)
			if !ok1 || !ok2 || !ok3 || !ok4 {
				continue
			}
			sums := map[string]float64{
				"user": user * c.BucketSeconds, "system": system * c.BucketSeconds, "iowait": iowait * c.BucketSeconds, "steal": steal * c.BucketSeconds,
			}
			if !yield(b.Start.Time, sums) {
				return
			}
		}
	}
}

// serverShares are those of the buckets in which something is known of it.
func serverShares(c *analysis.CPU) iter.Seq2[time.Time, map[string]float64] {
	return func(yield func(time.Time, map[string]float64) bool) {
		for i := range c.Series {
			b := &c.Series[i]
			if b.ServerUser == nil || b.ServerSystem == nil {
				continue
			}
			share, ok := cpuPercent((*b.ServerUser + *b.ServerSystem) / float64(c.CPUs))
			if ok && !yield(b.Start.Time, map[string]float64{"server": share * c.BucketSeconds}) {
				return
			}
		}
	}
}
