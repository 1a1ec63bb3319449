package servertest

import "syscall"

// attr has a program run inside a tree, and end with the thread that starts it.
func attr(root string) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Chroot: root, Pdeathsig: syscall.SIGKILL}
}
