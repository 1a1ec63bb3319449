package plot

import (
	"math"
	"strconv"
	"strings"
	"time"
)

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// decimal writes v with so many decimals and separators between thousands.
func decimal(v float64, decimals int) string {
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	whole, rest, dot := strings.Cut(s, ".")
	var b strings.Builder
	b.WriteString(sign)
	for i, c := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	if dot {
		b.WriteByte('.')
		b.WriteString(rest)
	}
	return b.String()
}

// count writes n with separators between thousands.
func count(n int64) string {
	s := strconv.FormatInt(n, 10)
	first := 0
	if n < 0 {
		first = 1
	}
	for i := len(s) - 3; i > first; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return count(n) + " " + noun + "s"
}

// significant writes v with at least three significant digits, but no more
// decimals than that takes.
func significant(v float64) string {
	switch a := math.Abs(v); {
	case a == math.Trunc(a) || a >= 100:
		return decimal(v, 0)
	case a >= 10:
		return decimal(v, 1)
	case a >= 0.1:
		return decimal(v, 2)
	default:
		return strconv.FormatFloat(v, 'g', 2, 64)
	}
}

// percent writes a share of [0, 1] for a label: whole but at the ends.
func percent(share float64) string {
	p := 100 * share
	if p == 0 || p == 100 || p >= 9.95 && p < 99 {
		return decimal(p, 0) + " %"
	}
	return tenths(share)
}

// tenths writes a share of [0, 1] to a tenth of a percent, and never all or
// nothing of what is neither.
func tenths(share float64) string {
	p := 100 * share
	switch {
	case p > 0 && p < 0.05:
		return "<0.1 %"
	case p > 99.95 && p < 100:
		return ">99.9 %"
	default:
		return decimal(p, 1) + " %"
	}
}

// large chooses the unit for numbers up to greatest, so that no label needs
// more than seven digits until it comes to trillions: divide by div, and say
// word.
func large(greatest float64) (div float64, word string) {
	switch {
	case greatest >= 1e13:
		return 1e12, "trillions"
	case greatest >= 1e10:
		return 1e9, "billions"
	case greatest >= 1e7:
		return 1e6, "millions"
	default:
		return 1, ""
	}
}

// bytesUnit chooses the unit for sizes up to greatest.
func bytesUnit(greatest float64) (div float64, unit string) {
	div = 1
	for _, unit = range []string{"bytes", "kB", "MB", "GB", "TB", "PB"} {
		if greatest < 1000*div {
			return div, unit
		}
		div *= 1000
	}
	return div, "EB"
}

// linear returns an axis from 0 to a little above greatest, with about five
// ticks at round values; whole allows no fractions among them. head is the
// room above greatest, as a share of it.
func linear(greatest, head float64, whole bool) Axis {
	if !finite(greatest) || greatest <= 0 {
		greatest = 1
	}
	step := round125(greatest / 5)
	if whole {
		step = math.Max(1, step)
	}
	a := Axis{Max: greatest * (1 + head)}
	for i := 0.0; i*step <= a.Max && i < 50; i++ {
		a.Ticks = append(a.Ticks, Tick{At: i * step, Label: label(i*step, step)})
	}
	return a
}

// label writes a multiple of step.
func label(v, step float64) string {
	if v != 0 && step < 1e-4 {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	decimals := 0
	if step < 1 && step >= 1e-4 {
		decimals = int(math.Ceil(-math.Log10(step) - 1e-9))
	}
	return decimal(v, decimals)
}

// round125 returns the least of 1, 2 and 5 times a power of ten that is not
// below v, which is above 0.
func round125(v float64) float64 {
	p := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5, 10} {
		if m*p >= v*(1-1e-9) {
			return m * p
		}
	}
	return 10 * p
}

// logarithmic returns an axis from just below 1 to above greatest, with a tick
// at each power of ten. At least one decade is shown.
func logarithmic(greatest float64) Axis {
	a := Axis{Min: 0.7, Max: 10, Log: true}
	if finite(greatest) && greatest*1.4 > a.Max {
		a.Max = greatest * 1.4
	}
	decades := int(math.Floor(math.Log10(a.Max)))
	every := 1 + decades/7
	for d := 0; d <= decades; d++ {
		p := math.Pow10(d)
		t := Tick{At: p}
		if d%every == 0 {
			t.Label = power(p)
		}
		a.Ticks = append(a.Ticks, t)
		if decades > 4 {
			continue
		}
		for m := 2.0; m < 10 && m*p <= a.Max; m++ {
			a.Ticks = append(a.Ticks, Tick{At: m * p})
		}
	}
	return a
}

// power writes a power of ten.
func power(p float64) string {
	for _, w := range []struct {
		at   float64
		word string
	}{{1e12, " trillion"}, {1e9, " billion"}, {1e6, " million"}} {
		if p >= w.at {
			return decimal(p/w.at, 0) + w.word
		}
	}
	return decimal(p, 0)
}

const (
	minute = 60.0
	hour   = 60 * minute
	day    = 24 * hour
)

// timeSteps are the distances of ticks shorter than a month, in seconds.
var timeSteps = []float64{
	0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30,
	minute, 2 * minute, 5 * minute, 10 * minute, 15 * minute, 30 * minute,
	hour, 2 * hour, 3 * hour, 6 * hour, 12 * hour, day, 2 * day, 7 * day,
}

// timeTicks returns about eight ticks at most, at round times of UTC between two
// times in Unix seconds. The first tick has the date below it, and so has each
// that is the first of a day.
func timeTicks(from, to float64) []Tick {
	const most = 8
	span := to - from
	const limit = 9e12 // seconds whose microseconds fit into 64 bits
	if !finite(span) || span <= 0 || math.Abs(from) > limit || math.Abs(to) > limit {
		return nil
	}
	for _, step := range timeSteps {
		if span/step <= most {
			return clockTicks(from, to, step)
		}
	}
	for _, months := range []int{1, 2, 3, 6} {
		if span/(float64(months)*30*day) <= most {
			return monthTicks(from, to, months, "2006-01")
		}
	}
	years := math.Max(1, round125(span/(365*day)/most))
	return monthTicks(from, to, 12*int(years), "2006")
}

func clockTicks(from, to, step float64) []Tick {
	layout, date := "15:04", "2006-01-02"
	switch {
	case step >= day:
		layout, date = date, ""
	case step < 1:
		layout = "15:04:05." + strings.Repeat("0", int(math.Ceil(-math.Log10(step)-1e-9)))
	case step < minute:
		layout = "15:04:05"
	}
	// Weeks begin on Mondays; the first day of Unix was a Thursday.
	shift := int64(0)
	if step == 7*day {
		shift = 4 * day * 1e6
	}
	micros := int64(math.Round(step * 1e6))
	// Times in floating point are a fraction of a microsecond off: a tick at an
	// end of the axis is on it.
	at := ceilTo(int64(math.Ceil(from*1e6-0.5))-shift, micros) + shift
	var ticks []Tick
	shown := ""
	for ; float64(at) <= to*1e6+0.5; at += micros {
		t := time.UnixMicro(at).UTC()
		tick := Tick{At: min(to, max(from, float64(at)/1e6)), Label: t.Format(layout)}
		if d := t.Format(date); d != shown {
			tick.Label += "\n" + d
			shown = d
		}
		ticks = append(ticks, tick)
	}
	if step > day { // and a minor tick for each day
		for _, t := range clockTicks(from, to, day) {
			ticks = append(ticks, Tick{At: t.At})
		}
	}
	return ticks
}

// ceilTo returns the least multiple of m that is not below v.
func ceilTo(v, m int64) int64 {
	q := v / m
	if v%m > 0 {
		q++
	}
	return q * m
}

func monthTicks(from, to float64, months int, layout string) []Tick {
	first := time.Unix(int64(from), 0).UTC()
	// Months are counted from the year 0, so that ticks do not depend on from.
	m := ceilTo(int64(first.Year())*12+int64(first.Month())-1, int64(months))
	var ticks []Tick
	for ; len(ticks) < 100; m += int64(months) {
		t := time.Date(0, time.Month(m+1), 1, 0, 0, 0, 0, time.UTC)
		at := float64(t.Unix())
		if at > to {
			break
		}
		if at >= from {
			ticks = append(ticks, Tick{At: at, Label: t.Format(layout)})
		}
	}
	return ticks
}

// span says a length of time in words.
func span(seconds float64) string {
	for _, u := range []struct {
		length float64
		unit   string
	}{{day, "d"}, {hour, "h"}, {minute, "min"}} {
		if n := seconds / u.length; n >= 1 && n == math.Trunc(n) {
			return decimal(n, 0) + " " + u.unit
		}
	}
	if seconds < 1 {
		return significant(seconds*1000) + " ms"
	}
	return significant(seconds) + " s"
}
