package iosample

import "slices"

// What an event of a file system's tells.
const (
	begins = iota // a sync began; it will tell of its end
	ends          // a sync ended
	stands        // there was a sync; it will not tell of its end
)

// syncTracepoint is how a file system tells of its syncs. It fires for a write
// to a file that was opened with O_DSYNC, too.
type syncTracepoint struct {
	group, name string
	kind        int
	// arg is the type of the first argument, which leads to the inode: file,
	// inode or xfs_inode.
	arg string
}

// syncTracepoints has, for each type of file system that tells of its syncs, its
// tracepoints (include/trace/events/ext4.h, fs/xfs/xfs_trace.h). Those of ends
// come first, so that no end is missed whose beginning is not. Those of
// directories alone come last. ext2 and ext3 are ext4's code.
var syncTracepoints = map[string][]syncTracepoint{
	"ext2": ext4Tracepoints,
	"ext3": ext4Tracepoints,
	"ext4": ext4Tracepoints,
	"xfs": {
		{group: "xfs", name: "xfs_file_fsync", kind: stands, arg: "xfs_inode"},
		{group: "xfs", name: "xfs_dir_fsync", kind: stands, arg: "xfs_inode"},
	},
}

var ext4Tracepoints = []syncTracepoint{
	{group: "ext4", name: "ext4_sync_file_exit", kind: ends, arg: "inode"},
	{group: "ext4", name: "ext4_sync_file_enter", kind: begins, arg: "file"},
}

// syncTracepointOf names the tracepoint at the beginning of a sync of a file, ""
// for a file system without.
func syncTracepointOf(fs string) string {
	t := syncTracepoints[fs]
	i := slices.IndexFunc(t, func(tp syncTracepoint) bool { return tp.kind != ends })
	if i < 0 {
		return ""
	}
	return t[i].group + ":" + t[i].name
}
