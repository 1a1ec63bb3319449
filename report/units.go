package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Count writes n with commas between thousands.
func Count(n int64) string {
	s := strconv.FormatInt(n, 10)
	digits := strings.TrimPrefix(s, "-")
	var b strings.Builder
	b.WriteString(s[:len(s)-len(digits)])
	for i, c := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// plural is a number of things.
func plural(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return Count(n) + " " + what + "s"
}

// Bytes writes a size in decimal units, three digits.
func Bytes(n int64) string {
	switch {
	case n < 0:
		return "-" + Bytes(-max(n, -math.MaxInt64))
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	}
	v, unit := float64(n), 0
	units := []string{"B", "kB", "MB", "GB", "TB", "PB", "EB"}
	for v >= 999.5 && unit < len(units)-1 {
		v /= 1000
		unit++
	}
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f %s", v, units[unit])
	case v >= 10:
		return fmt.Sprintf("%.1f %s", v, units[unit])
	default:
		return fmt.Sprintf("%.2f %s", v, units[unit])
	}
}

// perSecond writes a rate, three digits at least. One that a hundredth is too
// coarse for is given for an hour or a day.
func perSecond(rate float64) string {
	switch {
	case rate >= 100 || !Finite(rate):
		return Count(round(rate)) + "/s"
	case rate <= 0 || rate >= 0.1:
		return number(rate) + "/s"
	case rate >= 0.1/60:
		return number(rate*3600) + "/h"
	default:
		return number(rate*86400) + "/day"
	}
}

// Percent writes a share.
func Percent(share float64) string { return decimal(100*share, 1) + " %" }

// decimal writes v with so many decimals, and what only a damaged file can have
// in powers of ten: no column is 300 digits wide.
func decimal(v float64, decimals int) string {
	if math.Abs(v) >= 1e6 {
		return fmt.Sprintf("%.3g", v)
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

// Duration writes seconds as a person says them.
func Duration(seconds float64) string {
	switch {
	case seconds < 10:
		return decimal(seconds, 2) + " s"
	case seconds < 120:
		return fmt.Sprintf("%.1f s", seconds)
	case seconds < 7200:
		return fmt.Sprintf("%.1f min", seconds/60)
	case seconds < 2*86400:
		return fmt.Sprintf("%.1f h", seconds/3600)
	default:
		return decimal(seconds/86400, 1) + " days"
	}
}
