package iosample

// syncTracepoint is how a file system tells of its syncs. It fires for a write
// to a file that was opened with O_DSYNC, too.
type syncTracepoint struct {
	group, name string
	end         bool
	// arg is the type of the first argument, which leads to the inode: file,
	// inode or xfs_inode.
	arg string
}

// syncTracepoints has, for each type of file system that tells of its syncs,
// the tracepoint at their beginning and, where there is one, that at their end
// (include/trace/events/ext4.h, fs/xfs/xfs_trace.h). ext2 and ext3 are ext4's
// code.
var syncTracepoints = map[string][]syncTracepoint{
	"ext2": ext4Tracepoints,
	"ext3": ext4Tracepoints,
	"ext4": ext4Tracepoints,
	"xfs":  {{group: "xfs", name: "xfs_file_fsync", arg: "xfs_inode"}},
}

var ext4Tracepoints = []syncTracepoint{
	{group: "ext4", name: "ext4_sync_file_enter", arg: "file"},
	{group: "ext4", name: "ext4_sync_file_exit", arg: "inode", end: true},
}

// syncTracepointOf names the tracepoint at the beginning of a sync, "" for a
// file system without.
func syncTracepointOf(fs string) string {
	if t := syncTracepoints[fs]; t != nil {
		return t[0].group + ":" + t[0].name
	}
	return ""
}
