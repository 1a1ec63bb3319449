package iosample

// The logs that tests write are shorter than real ones.
func init() { leastLog = 0 }
