//go:build !unix

package main

// inForeground reports whether this process is in the foreground of its
// terminal; elsewhere than on Unix that is not known.
func inForeground() bool { return false }
