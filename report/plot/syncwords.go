package plot

import (
	"fmt"
	"strings"

	"bgcstat/analysis"
)

// disks names the disks whose flushes were counted.
func disks(d []analysis.DeviceFlushes) string {
	switch len(d) {
	case 0:
		return "the disk"
	case 1:
		return shorten(d[0].Device, 20)
	case 2:
		return shorten(d[0].Device, 12) + " and " + shorten(d[1].Device, 12)
	default:
		return count(int64(len(d))) + " disks"
	}
}

// tracedBy says who counted the syncs by time, and how exactly.
func tracedBy(io *analysis.IO, classes []class) string {
	by := "counted " + sourceOf(io)
	if !countsSyncs(io) {
		return "Flush requests: basis measured, of the whole disk and all programs on it; " + by +
			", by the clock of the host. They are no fsyncs: there are 0 to 3 of them for one."
	}
	s := "Syncs: " + exactnessOf(io, classes) + "; " + by + ", by the clock of the host."
	if io.Lost > 0 {
		s += fmt.Sprintf(" Not counted: %s that the kernel dropped.", plural(io.Lost, "sync"))
	}
	return s
}

// sourceOf names the source of the counts.
func sourceOf(io *analysis.IO) string {
	by := "by " + shorten(io.Source, 16)
	if io.Source == "" {
		by = "by a source that is not stated"
	}
	if io.Detail != "" {
		by += " (" + shorten(io.Detail, 60) + ")"
	}
	return by
}

// exactnessOf is the basis of the counts of these classes, or of all if there
// are none.
func exactnessOf(io *analysis.IO, classes []class) string {
	all := map[string]bool{}
	for _, c := range classes {
		for _, k := range c.keys {
			all[io.Syncs[k].Exactness] = true
		}
	}
	if len(classes) == 0 {
		for _, s := range io.Syncs {
			all[s.Exactness] = true
		}
	}
	if len(all) == 1 {
		for e := range all {
			return "basis " + exactness(e)
		}
	}
	var parts []string
	for _, c := range classes {
		worst := io.Syncs[c.keys[0]].Exactness
		for _, k := range c.keys {
			if e := io.Syncs[k].Exactness; e != worst {
				worst = "mixed"
			}
		}
		parts = append(parts, c.label+" "+exactness(worst))
	}
	if len(parts) == 0 {
		return "basis measured, exactness not stated"
	}
	return "basis by class: " + strings.Join(parts, "; ")
}

func exactness(e string) string {
	switch e {
	case "exact":
		return "measured, exact"
	case "lower_bound":
		return "measured, a lower bound"
	case "estimate":
		return "estimated"
	case "":
		return "measured, exactness not stated"
	case "mixed":
		return "measured, not all alike"
	default:
		return "measured, " + shorten(e, 16)
	}
}
