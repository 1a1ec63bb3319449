package iosample

import (
	"time"

	"golang.org/x/sys/unix"
)

// clocks reads the wall clock and CLOCK_MONOTONIC, in nanoseconds, at one
// moment: the wall clock between two readings of the other, the closest of
// several.
func clocks() (wall time.Time, mono int64) {
	best := int64(1 << 62)
	for range 3 {
		before := monotonic()
		now := time.Now() //nolint:forbidigo // a sampler reads the clock
		after := monotonic()
		if after-before < best {
			best, wall, mono = after-before, now, before+(after-before)/2
		}
	}
	return wall.Round(0), mono
}

func monotonic() int64 {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) != nil {
		return 0 // which Linux never does with this clock
	}
	return ts.Nano()
}
