package iosample

import (
	"context"
)

// Class is what a file of a server is for.
type Class string

// The classes. Unattributed are syncs of the server's that no known file
// explains.
const (
	Binlog       Class = "binlog"
	Relay        Class = "relay"
	Redo         Class = "redo"
	Doublewrite  Class = "doublewrite"
	Undo         Class = "undo"
	Data         Class = "data"
	Other        Class = "other"
	Unattributed Class = "unattributed"
)

// Classes holds every class, in the order of reports.
var Classes = []Class{Binlog, Relay, Redo, Doublewrite, Undo, Data, Other, Unattributed}

// Exactness is how a count of syncs relates to their true number.
type Exactness string

// From best to worst. DeviceWide counts what reached the disk, of all programs,
// and is never a count of syncs.
const (
	Exact      Exactness = "exact"
	LowerBound Exactness = "lower_bound"
	Estimate   Exactness = "estimate"
	DeviceWide Exactness = "device_wide"
)

// FileID tells files apart, whatever their names. Dev is as stat gives it,
// which is not as the kernel has it inside.
type FileID struct{ Dev, Ino uint64 }

// File is one file of a server.
type File struct {
	ID    FileID
	Class Class
	Name  string // base name for binlogs and relay logs, else relative to the data directory where below it
	Path  string // where this process can stat it
	Size  int64  // when it was last looked at
}

// Count is what was counted of one file since the source was opened. It only
// grows.
type Count struct {
	Class Class  `json:"class"`
	Name  string `json:"name,omitempty"`
	Dev   uint64 `json:"dev,omitempty"` // 0 with Ino where the source does not know them
	Ino   uint64 `json:"ino,omitempty"`
	Syncs int64  `json:"syncs,omitempty"` // absent where none was counted, and where none can be
	Size  int64  `json:"size,omitempty"`  // of a binlog: bytes, at least those that the last sync found
	// Encrypted binlogs of MySQL are 512 bytes longer than their positions say.
	// nil where that could not be seen.
	Encrypted *bool `json:"encrypted,omitempty"`
	// Exactness is set where it differs from that of the source.
	Exactness Exactness `json:"exactness,omitempty"`
	// MeanLatency is that of all syncs counted, where the source has no better,
	// in nanoseconds.
	MeanLatency int64 `json:"mean_latency_ns,omitempty"`
}

// SyncEvent is one sync of a file, as it began.
type SyncEvent struct {
	Mono  int64 // CLOCK_MONOTONIC, nanoseconds
	File  FileID
	Class Class
	Name  string // of the file, "" where it is not known
	Size  int64  // of the file, in bytes, when the sync began
	TID   int    // of the thread, as the kernel's first pid namespace has it
	// Latency is how long it took, in nanoseconds; 0 where that is not known.
	Latency int64
}

// Counted is what a source gives at one moment.
type Counted struct {
	// Counts has each file that was ever synced, and the newest binlog.
	// Unattributed syncs have neither name nor ID.
	Counts []Count
	Events []SyncEvent // since the last call, by rising time; from sources that have them
	Lost   int64       // syncs whose events the kernel dropped since the source was opened, of all programs
	// Failed says what could not be counted this time; the counts are those
	// of before then.
	Failed error
}

// Source is one way of counting syncs. It is not safe for concurrent use.
type Source interface {
	// Name is bpf, perf, status or proc.
	Name() string
	// Exactness is that of most counts.
	Exactness() Exactness
	// Detail says in a few words what is counted, such as "ext4_sync_file_enter".
	Detail() string
	// Read gives the counts up to now, and of syncs with an event those that have
	// ended; with last set also those under way. What it returns holds until the
	// next call.
	Read(ctx context.Context, last bool) (*Counted, error)
	Close() error
}
