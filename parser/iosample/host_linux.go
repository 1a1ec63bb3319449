package iosample

import (
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// fileID tells which file fi describes.
func fileID(fi fs.FileInfo) FileID {
	st := fi.Sys().(*syscall.Stat_t)
	return FileID{Dev: uint64(st.Dev), Ino: st.Ino} //nolint:unconvert // Dev has 32 bits on some architectures
}

// majorMinor parts a device number as stat gives it.
func majorMinor(dev uint64) (major, minor uint32) { return unix.Major(dev), unix.Minor(dev) }
