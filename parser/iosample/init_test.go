package iosample

// The logs that tests write are shorter than real ones, and what they look for
// comes soon.
func init() { leastLog, movedAgain = 0, 0 }
