package plot

import (
	"fmt"

	"bgcstat/analysis"
)

func flushGroups(r *analysis.Result) (*Figure, string) {
	p := r.Groups.FlushPerSync
	if why := noFlushGroups(r); why != "" {
		return nil, why
	}
	greatest := greatestSize(p.Histogram)
	bins, ranges := sizeBins(greatest, greatest)
	all := bin(p.Histogram, bins)
	groups, alone := 0.0, 0.0
	for i, n := range all.groups {
		groups += n
		if bins[i].low == 1 && bins[i].high == 1 {
			alone = n
		}
	}
	f := &Figure{
		Title: "Flush groups per commit group (sync group)",
		Subtitle: []string{
			fmt.Sprintf("Flush groups: %s. Sync groups: %s. %s", basis(p.Basis, p.Method), syncBasis(r), held(p, alone/groups)),
			"A flush group is what one leader wrote to the binlog together, at innodb_flush_log_at_trx_commit=1 with one redo fsync. A flush group that two sync groups share counts in both.",
		},
		Reading: "A bar at 1 means that each write to the binlog got a sync of its own; bars further right mean that writes queued up while a sync, or a delay (binlog_group_commit_sync_delay), was under way.",
		Alt:     fmt.Sprintf("Bar chart of flush groups per sync group, %s, of %s. %s", shorten(string(p.Basis), 16), plural(whole(groups), "sync group"), held(p, alone/groups)),
	}
	f.X = Axis{Label: "flush groups in a sync group", Unit: "number", Max: float64(len(bins))}
	if ranges > 0 {
		f.X.Unit, f.X.Shaded = "number; shaded: ranges", float64(ranges)
	}
	bars := Series{Label: fmt.Sprintf("sync groups (%s)", shorten(string(p.Basis), 16)), Kind: Filled, Color: blue}
	most := 0.0
	for _, n := range all.groups {
		most = max(most, n)
	}
	div, word := large(most)
	for i, b := range bins {
		f.X.Ticks = append(f.X.Ticks, Tick{At: float64(i) + 0.5, Label: b.String()})
		if n := all.groups[i]; n > 0 {
			bars.Bars = append(bars.Bars, Bar{From: float64(i), To: float64(i + 1), Value: n / div, Label: significant(n/div) + "\n" + percent(n/groups)})
		}
	}
	panel := Panel{Y: linear(most/div, 0.2, div == 1), Height: 190, Series: []Series{bars}}
	panel.Y.Label, panel.Y.Unit = "sync groups that hold so many", "number"
	if word != "" {
		panel.Y.Unit = word
	}
	f.Panels = []Panel{panel}
	return f, ""
}

// syncBasis is what the sync groups that are counted rest on.
func syncBasis(r *analysis.Result) string {
	m := r.Groups.FlushPerSync.SyncMethod
	if s := r.Groups.Sync; s != nil && s.Method == m {
		return basis(s.Basis, m)
	}
	return "method " + shorten(string(m), 24)
}

// held says how many flush groups a sync group holds, where a share of them
// holds one.
func held(p *analysis.FlushPerSync, one float64) string {
	if p.Max == 1 {
		return "Each sync group holds one flush group."
	}
	return fmt.Sprintf("A sync group holds %s flush groups on average, at most %s; %s of the sync groups hold one.", significant(p.Mean), count(p.Max), percent(one))
}

// noFlushGroups says why flush groups are not known, or nothing where they are.
func noFlushGroups(r *analysis.Result) string {
	p := r.Groups.FlushPerSync
	switch {
	case p != nil && greatestSize(p.Histogram) > 0 && finite(p.Mean):
		return ""
	case p != nil:
		return "no sync group has a flush group"
	case r.Transactions == 0:
		return "there are no transactions"
	case len(r.Sources) > 0 && r.Sources[0].Flavor == "mariadb":
		return "in MariaDB each flush group is a sync group"
	default:
		return "flush groups are not known: they are estimated from commit timestamps, which MySQL 8.0.1 and later write"
	}
}

// whole is a count as a number that fits.
func whole(v float64) int64 {
	const most = 1 << 62
	return int64(min(v, most))
}
