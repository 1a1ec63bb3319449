package main

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestDigits(t *testing.T) {
	for _, test := range []struct {
		f        float64
		decimals int
		want     string
	}{
		{0, 1, "0.0"},
		{0.4481, 3, "0.448"},
		{99.9994, 3, "99.999"},
		{123.4567, 3, "123.46"},
		{12345.67, 3, "12346"},
		{99999.96, 1, "100000"},
		{1234.5, 2, "1234.5"},
		{1234567, 2, "1234567"},
	} {
		if got := digits(test.f, test.decimals); got != test.want {
			t.Errorf("%v to %d: got %s, want %s", test.f, test.decimals, got, test.want)
		}
	}
	if got := rate(100_000, 1) + " " + rate(999, 10) + " " + rate(1, 3); got != "100000 99.9 0.3" {
		t.Errorf("rates are %s", got)
	}
	for line := range strings.Lines(header) {
		if len(line) != 80 { // with its end
			t.Errorf("the heading has %d columns: %s", len(line)-1, line)
		}
	}
}

// Lines come each interval on the average, whatever multiple of a sample it is,
// and however late samples are.
func TestDue(t *testing.T) {
	const ms = int64(time.Millisecond)
	for _, test := range []struct {
		interval, sample int64
		at, want         []int64 // ms
	}{
		{300, 100, []int64{100, 201, 299, 400, 501, 598, 700}, []int64{299, 598}},
		{250, 100, []int64{100, 200, 300, 400, 500, 600, 700, 800, 900, 1000}, []int64{200, 500, 700, 1000}},
		{100, 100, []int64{104, 199, 300, 300, 402}, []int64{104, 199, 300, 402}},
		{1000, 300, []int64{300, 600, 900, 1200, 1500, 1800, 2100}, []int64{900, 2100}},
		{100, 100, []int64{350, 450}, []int64{350, 450}}, // one line for what was missed
	} {
		s := &sampleScreen{syncCounts: syncCounts{lineAt: 7 * ms}}
		s.began, s.at = 7*ms, 7*ms
		var got []int64
		for _, at := range test.at {
			s.at = (7 + at) * ms
			if s.due(time.Duration(test.interval*ms), time.Duration(test.sample*ms)) {
				got = append(got, at)
				s.lineAt = s.at
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("each %d ms by samples of %d ms: lines at %d, want %d", test.interval, test.sample, got, test.want)
		}
	}
}
