//go:build !unix

package main

// hasCtrlC reports whether a process has Ctrl-C from the terminal by itself;
// elsewhere than on Unix that is not known.
func hasCtrlC(int) bool { return false }
