package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"bgcstat/analysis"
)

// figureNames are how figures of a comparison are called; the others are called
// as in the JSON.
var figureNames = map[string]string{
	"elapsed":                      "elapsed time",
	"tps":                          "transactions/s",
	"bytes":                        "binlog written",
	"other_sessions":               "of other sessions",
	"load_transactions":            "transactions",
	"load_tps":                     "transactions/s",
	"load_latency_avg":             "latency, mean",
	"load_errors":                  "errors",
	"sync_groups":                  "sync groups",
	"flush_groups":                 "flush groups",
	"group_size_mean":              "group size, mean",
	"group_size_p95":               "group size, p95",
	"group_size_max":               "group size, max",
	"alone_share":                  "committed alone",
	"fsyncs_saved":                 "fsyncs saved",
	"fsyncs_saved_share":           "share saved",
	"binlog_syncs":                 "binlog syncs",
	"redo_syncs":                   "redo syncs",
	"all_syncs":                    "all syncs",
	"transactions_per_binlog_sync": "per durable sync",
	"binlog_sync_latency_p50":      "sync latency, p50",
	"binlog_sync_latency_p99":      "sync latency, p99",
	"device_flushes":               "device flushes",
	"cpu_user":                     "CPU, user",
	"cpu_system":                   "CPU, system",
	"cpu_iowait":                   "CPU, iowait",
	"cpu_idle":                     "CPU, idle",
	"cpu_steal":                    "CPU, stolen",
	"server_cpu_user":              "server, user",
	"server_cpu_system":            "server, system",
}

// FigureName is what a figure of a comparison is called in its section.
func FigureName(f *analysis.ComparedFigure) string {
	if rank, ok := strings.CutPrefix(f.Name, "load_latency_"); ok && rank != "avg" {
		return "latency, " + rank
	}
	if name := figureNames[f.Name]; name != "" && f.Section != analysis.OfCounters {
		return name
	}
	return f.Name
}

// Measure writes a number of a unit of a comparison, in full up to ten million.
func Measure(v float64, unit string) string {
	if !Finite(v) {
		return "?"
	}
	switch unit {
	case analysis.UnitSeconds:
		return Short(v)
	case analysis.UnitMilliseconds:
		return Short(v / 1e3)
	case analysis.UnitBytes:
		return Bytes(round(v))
	case analysis.UnitShare:
		return Percent(v)
	case analysis.UnitPerSecond:
		return number(v) + "/s"
	case analysis.UnitCPUs:
		return decimal(v, 2) + " CPUs"
	case analysis.UnitPerGroup, analysis.UnitPerSync:
		if math.Abs(v) < 10 {
			return fmt.Sprintf("%.2f", v)
		}
		return number(v)
	default:
		return number(v)
	}
}

// number writes whole numbers as they are, others with three digits at least.
func number(v float64) string {
	switch a := math.Abs(v); {
	case a >= 1e7:
		return millions(v)
	case v == math.Trunc(v) || a >= 100:
		return Count(round(v))
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.2f", v)
	}
}

func millions(v float64) string {
	if math.Abs(v) >= 1e18 {
		return fmt.Sprintf("%.3g", v)
	}
	for _, u := range []struct {
		of   float64
		name string
	}{{1e15, "e15"}, {1e12, "e12"}, {1e9, "G"}} {
		if math.Abs(v) >= u.of {
			return fmt.Sprintf("%.4g %s", v/u.of, u.name)
		}
	}
	return fmt.Sprintf("%.4g M", v/1e6)
}

// round is the nearest whole number that an int64 holds.
func round(v float64) int64 {
	return int64(math.Round(min(9e18, max(-9e18, v))))
}

// Span writes a range or an interval; high is nil where there is no upper limit.
func Span(low, high *float64, unit string) string {
	switch {
	case low == nil:
		return ""
	case high == nil:
		return "≥ " + Measure(*low, unit)
	}
	from, to := Measure(*low, unit), Measure(*high, unit)
	if i := strings.LastIndexAny(to, " /"); i >= 0 { // the unit once where it is the same
		from = strings.TrimSuffix(from, to[i:])
	}
	return from + "-" + to
}

// Change writes how a value relates to that of the first column: as a share of
// it, or, of a share, in points.
func Change(v *analysis.ColumnValue, unit string) string {
	if v == nil || v.Change == nil {
		return ""
	}
	of := 100 * *v.Change
	if unit == analysis.UnitShare {
		if math.Abs(of) < 0.05 {
			return "0.0 pts"
		}
		return plus(of, decimal(of, 1)+" pts")
	}
	switch {
	case math.Abs(of) < 0.05:
		return "0.0 %"
	case math.Abs(of) < 9.95:
		return fmt.Sprintf("%+.1f %%", of)
	case math.Abs(of) < 1e5:
		return plus(of, Count(round(of))+" %")
	default:
		return fmt.Sprintf("×%.3g", *v.Change+1)
	}
}

// plus puts the sign in front that s, which is v in words, lacks.
func plus(v float64, s string) string {
	if v > 0 {
		return "+" + strings.TrimPrefix(s, "+") // of infinity
	}
	return s
}

// ChangeInWords is Change with what can be said of the difference to the first
// column: "none" where the two overlap, and a question mark where repeats do not
// settle it. Of nothing there is no share: "from 0".
func ChangeInWords(first, v *analysis.ColumnValue, unit string, repeats bool) string {
	change := Change(v, unit)
	if change == "" && isZero(first) && v != nil && v.Value != nil && !isZero(v) {
		change = "from 0"
	}
	switch {
	case v == nil:
		return ""
	case v.Difference == analysis.NoDifference && v.Change != nil && *v.Change == 0:
		return "none"
	case v.Difference == analysis.NoDifference && change == "":
		return "none"
	case v.Difference == analysis.NoDifference:
		return "none (" + change + ")"
	case change == "":
		return string(v.Difference)
	case v.Difference == analysis.Unproven && repeats:
		return change + " ?"
	default:
		return change
	}
}

func isZero(v *analysis.ColumnValue) bool { return v != nil && v.Value != nil && *v.Value == 0 }

// BasisOf names what the values of a figure rest on, once where it is the same
// and else with the letters of columns, the firmest first.
func BasisOf(f *analysis.ComparedFigure) []string {
	columns := map[analysis.Basis][]string{}
	for i, v := range f.Values {
		if v != nil {
			columns[v.Basis] = append(columns[v.Basis], Letter(i))
		}
	}
	var out []string
	for _, b := range []analysis.Basis{analysis.Exact, analysis.Measured, analysis.Estimated, analysis.Bounded} {
		switch {
		case columns[b] == nil:
		case len(columns) == 1:
			out = append(out, string(b))
		default:
			out = append(out, string(b)+" "+strings.Join(columns[b], " "))
		}
	}
	return out
}

// KeyFigure is one of the figures that answer what a load costs.
type KeyFigure struct {
	Word string
	*analysis.ComparedFigure
}

// KeyFigures are those that are known of the first column and of another one.
// What the log tells goes before what a load generator says of the same.
func KeyFigures(c *analysis.Comparison) []KeyFigure {
	var out []KeyFigure
	for _, k := range []struct {
		word  string
		names []string
	}{
		{"time", []string{"elapsed"}},
		{"transactions", []string{"transactions", "load_transactions"}},
		{"transactions/s", []string{"tps", "load_tps"}},
		{"latency", []string{"load_latency_avg"}},
		{"sync groups", []string{"sync_groups"}},
		{"binlog syncs", []string{"binlog_syncs"}},
		{"redo syncs", []string{"redo_syncs"}},
		{"all syncs", []string{"all_syncs"}},
		{"mean group size", []string{"group_size_mean"}},
	} {
		for _, name := range k.names {
			i := slices.IndexFunc(c.Figures, func(f analysis.ComparedFigure) bool {
				return f.Name == name && f.Section != analysis.OfCounters && slices.ContainsFunc(f.Values, compared)
			})
			if i >= 0 {
				out = append(out, KeyFigure{k.word, &c.Figures[i]})
				break
			}
		}
	}
	return out
}

func compared(v *analysis.ColumnValue) bool { return v != nil && v.Difference != "" }

// Headline is the answer of a comparison for a column that is not the first:
// "time +20 %, transactions +100 %".
func Headline(c *analysis.Comparison, column int) string {
	var parts []string
	for _, k := range KeyFigures(c) {
		if v := k.Values[column]; compared(v) {
			parts = append(parts, k.Word+" "+ChangeInWords(k.Values[0], v, k.Unit, c.Repeats()))
		}
	}
	if len(parts) == 0 {
		return "nothing that both know"
	}
	return strings.Join(parts, ", ")
}
