//go:build !linux

package iosample

import "time"

var began = time.Now() //nolint:forbidigo // a sampler reads the clock

// clocks reads the wall clock, and a clock that is never set, in nanoseconds.
func clocks() (wall time.Time, mono int64) {
	now := time.Now() //nolint:forbidigo // a sampler reads the clock
	return now.Round(0), int64(now.Sub(began))
}
