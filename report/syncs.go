package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"bgcstat/analysis"
)

const (
	textWidth   = 80
	textIndent  = 16 // of values
	textDevices = 4
	textClasses = 8
)

// classes are those of syncs, in the order of reports.
var classes = []string{"binlog", "relay", "redo", "doublewrite", "undo", "data", "other", "unattributed"}

// syncs prints what a trace counted.
func (t *textReport) syncs(io *analysis.IO) {
	source := shorten(Printable(io.Source), 12)
	if io.Seconds > 0 && Finite(io.Seconds) {
		t.row("traced", fmt.Sprintf("%s from %s UTC", Duration(io.Seconds), io.Start.UTC().Format(time.DateTime+".000")), "by the host's clock")
	}
	switch b, ok := io.Syncs["binlog"]; {
	case ok:
		value := Count(b.Count)
		if n := io.BinlogSyncsDurable; n != nil {
			value += fmt.Sprintf(" (%s durable-making)", Count(*n))
		}
		t.row("binlog syncs", value, CountBasis(b.Exactness)+", by "+source)
	case len(io.Syncs) == 0:
		t.row("binlog syncs", "not counted", source+" counts no syncs")
	}
	if n := io.TransactionsPerBinlogSync; n != nil && Finite(*n) {
		value := fmt.Sprintf("%.2f transactions", *n)
		if made := io.BinlogSyncsDurable; made != nil && *made != io.Syncs["binlog"].Count {
			value += fmt.Sprintf(" (of %s syncs)", Count(*made))
		}
		t.row("per binlog sync", value, "measured")
	}
	if n := io.DurableByNoneYet; n != nil && *n > 0 {
		t.row("not durable yet", Count(*n)+" transactions, when the trace ended", "measured")
	}
	t.otherSyncs(io)
	t.latencies(io, source)
	t.devices(io)
	t.cpu(io.CPU)
	if io.Lost > 0 {
		t.row("lost", Count(io.Lost)+" events, dropped by the kernel", "counts are too low")
	}
	for _, r := range io.Refused {
		t.refused(r)
	}
}

// fromLog prints how many syncs the log alone gives.
func (t *textReport) fromLog(l *analysis.FromLog) {
	if l == nil {
		return
	}
	value := fmt.Sprintf("%s to %s syncs", Count(l.Low), Count(l.High))
	if l.Count != nil {
		value = Count(*l.Count) + " syncs"
		if l.Low != l.High {
			value += fmt.Sprintf(" (%s to %s)", Count(l.Low), Count(l.High))
		}
	}
	t.row("  by the log", value, fmt.Sprintf("%s, by %s", l.Basis, l.Method))
}

// otherSyncs prints the syncs of all classes but the binlog, and the exactness
// of each where they differ.
func (t *textReport) otherSyncs(io *analysis.IO) {
	var names []string
	kinds := map[string]bool{}
	for _, c := range Ordered(io.Syncs) {
		if s := io.Syncs[c]; c != "binlog" && s.Count != 0 {
			names = append(names, c)
			kinds[s.Exactness] = true
		}
	}
	if len(names) == 0 {
		return
	}
	basis := ""
	if len(kinds) == 1 {
		basis = CountBasis(io.Syncs[names[0]].Exactness)
	}
	var parts []string
	for i, c := range names {
		if i == textClasses {
			parts = append(parts, fmt.Sprintf("and %d more", len(names)-i))
			break
		}
		part := shorten(Printable(c), 16) + " " + Count(io.Syncs[c].Count)
		if basis == "" {
			part += " (" + CountBasis(io.Syncs[c].Exactness) + ")"
		}
		parts = append(parts, part)
	}
	t.list("other syncs", parts, basis)
}

// latencies prints how long syncs took, a row a class.
func (t *textReport) latencies(io *analysis.IO, source string) {
	var rows [][2]string
	widest := 0
	for _, c := range Ordered(io.Syncs) {
		if took := latency(io.Syncs[c].Latency); took != "" && len(rows) < textClasses {
			name := shorten(Printable(c), 16)
			rows = append(rows, [2]string{name, took})
			widest = max(widest, len([]rune(name)))
		}
	}
	name, basis := "sync latency", "measured, by "+source
	for _, r := range rows {
		t.row(name, fmt.Sprintf("%-*s %s", widest, r[0], r[1]), basis)
		name, basis = "", ""
	}
}

// latency says how long syncs took, as far as it is known.
func latency(l *analysis.SyncLatency) string {
	if l == nil {
		return ""
	}
	var parts []string
	for _, v := range []struct {
		name  string
		value *float64
	}{{"p50", l.P50}, {"p99", l.P99}, {"mean", l.Mean}} {
		if v.value != nil && Finite(*v.value) && *v.value >= 0 {
			parts = append(parts, v.name+" "+Short(*v.value))
		}
	}
	if l.Of > 0 && len(parts) > 0 {
		parts = append(parts, fmt.Sprintf("of all %s traced", Count(l.Of)))
	}
	return strings.Join(parts, ", ")
}

// devices prints the flushes of disks, which are no syncs.
func (t *textReport) devices(io *analysis.IO) {
	var parts []string
	for i, d := range io.DeviceFlushes {
		if i == textDevices && len(io.DeviceFlushes) > textDevices+1 {
			parts = append(parts, fmt.Sprintf("and %d more", len(io.DeviceFlushes)-i))
			break
		}
		parts = append(parts, shorten(Printable(d.Device), 24)+" "+Count(d.Count))
	}
	basis := "whole disk, not fsyncs"
	if len(io.DeviceFlushes) > 1 {
		basis = "whole disks, not fsyncs"
	}
	t.list("device flushes", parts, basis)
}

// cpu prints what the host and the server did with the CPUs.
func (t *textReport) cpu(c *analysis.CPU) {
	if c == nil {
		return
	}
	var parts []string
	for _, v := range []struct {
		name   string
		share  float64
		always bool
	}{{"user", c.User, true}, {"system", c.System, true}, {"iowait", c.IOWait, true}, {"steal", c.Steal, false}} {
		if part, ok := CPUShare(v.share); ok && (v.always || v.share >= 0.005) {
			parts = append(parts, v.name+" "+part)
		}
	}
	name := "cpu"
	if len(parts) > 0 {
		t.row(name, strings.Join(parts, ", "), "measured, of the host")
		name = ""
	}
	if n, ok := ServerCPUs(&c.CPUUse); ok {
		t.row(name, fmt.Sprintf("server %s of %s", n, plural(int64(c.CPUs), "CPU")), "measured")
	}
}

// CPUShare writes a share of the CPUs, and is false where it makes no sense.
func CPUShare(v float64) (string, bool) {
	return fmt.Sprintf("%.0f %%", 100*v), v >= 0 && v <= 1.0001
}

// ServerCPUs writes how many CPUs the server used, and is false where that is
// not known.
func ServerCPUs(u *analysis.CPUUse) (string, bool) {
	if u.ServerUser == nil || u.ServerSystem == nil {
		return "", false
	}
	v := *u.ServerUser + *u.ServerSystem
	return fmt.Sprintf("%.2f", v), v >= 0 && v < 1e6
}

func (t *textReport) refused(r analysis.Refused) {
	const longest = 3 * (textWidth - textIndent) // of reasons, which hold what a kernel or server says
	name := "not by " + shorten(Printable(r.Source), 8)
	for line := range strings.Lines(Wrap(shorten(Printable(r.Why), longest), textWidth-textIndent, "")) {
		t.row(name, strings.TrimSpace(line), "")
		name = ""
	}
}

// list prints the parts of a figure in as few lines as it takes, each within
// the width, and what they rest on behind the last.
func (t *textReport) list(name string, parts []string, basis string) {
	if len(parts) == 0 {
		return
	}
	line := ""
	for i, p := range parts {
		if i < len(parts)-1 {
			p += ","
		}
		if line != "" && utf8.RuneCountInString(line+" "+p) > textWidth-textIndent {
			t.row(name, line, "")
			name, line = "", p
			continue
		}
		line = strings.TrimPrefix(line+" "+p, " ")
	}
	t.row(name, line, basis)
}

// Ordered gives the classes in the order of reports, those that are not known
// last.
func Ordered(syncs map[string]analysis.Syncs) []string {
	names := slices.Sorted(maps.Keys(syncs))
	place := func(c string) int {
		if i := slices.Index(classes, c); i >= 0 {
			return i
		}
		return len(classes)
	}
	slices.SortStableFunc(names, func(a, b string) int { return place(a) - place(b) })
	return names
}

// Exactness says how a count relates to the true number.
func Exactness(e string) string {
	switch e {
	case "":
		return "exactness not stated"
	case "lower_bound":
		return "at least"
	case "estimate":
		return "estimated"
	default:
		return shorten(Printable(e), 16)
	}
}

// CountBasis is what a number of syncs rests on, by the exactness of its source:
// one that counts each exactly has measured it.
func CountBasis(e string) string {
	if e == "exact" {
		return "measured"
	}
	return Exactness(e)
}

// Finite reports whether v is a number that can be written.
func Finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// Short writes a time of 0 or more that may be far below a second, to three
// digits.
func Short(seconds float64) string {
	switch {
	case seconds < 0.5e-9:
		return "0 µs"
	case seconds < 0.9995e-3:
		return fmt.Sprintf("%.3g µs", 1e6*seconds)
	case seconds < 9.995e-3:
		return fmt.Sprintf("%.2f ms", 1e3*seconds)
	case seconds < 99.95e-3:
		return fmt.Sprintf("%.1f ms", 1e3*seconds)
	case seconds < 0.9995:
		return fmt.Sprintf("%.0f ms", 1e3*seconds)
	default:
		return Duration(seconds)
	}
}
