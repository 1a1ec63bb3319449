//go:build unix && !linux

package servertest

import "syscall"

// attr has a program run inside a tree. What ends it with its parent is Linux's own.
func attr(root string) *syscall.SysProcAttr { return &syscall.SysProcAttr{Chroot: root} }
