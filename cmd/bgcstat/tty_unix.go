//go:build unix

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// hasCtrlC reports whether a process has Ctrl-C from the terminal by itself: it
// and this one are of the process group in the foreground. Programs such as
// timeout make a group of their own.
func hasCtrlC(pid int) bool {
	tty, err := os.OpenFile("/dev/tty", os.O_RDONLY, 0)
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	if err != nil || group != unix.Getpgrp() {
		return false
	}
	its, err := unix.Getpgid(pid)
	return err == nil && its == group
}
