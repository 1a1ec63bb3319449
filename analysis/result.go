package analysis

import (
	"encoding/json"
	"time"

	"bgcstat/parser"
)

// SchemaVersion is that of the JSON contract. Fields are only ever added to it.
const SchemaVersion = 1

// Result is everything that any report may show, and, as JSON, the contract
// with other programs. What is not known is absent: nil, or an empty slice.
// Counts are whole numbers, sizes bytes, durations seconds, shares lie in
// [0, 1], and times are the server's clock, in UTC.
type Result struct {
	SchemaVersion int      `json:"schema_version"`
	Sources       []Source `json:"sources"`
	Window        *Window  `json:"window,omitempty"` // nil where nothing is reported

	// Of the transactions in the window that the filters chose.
	Transactions int64 `json:"transactions"`
	Events       int64 `json:"events"` // of those transactions
	Bytes        int64 `json:"bytes"`  // of those transactions, checksums included

	Groups             Groups             `json:"groups"`
	DependencyTracking DependencyTracking `json:"dependency_tracking"`
	Alone              *Alone             `json:"alone,omitempty"`
	IO                 *IO                `json:"io,omitempty"` // nil without a trace
	Saved              *Saved             `json:"saved,omitempty"`
	Clock              Clock              `json:"clock"`
	Sizes              *Sizes             `json:"sizes,omitempty"`
	Durations          *Durations         `json:"durations,omitempty"` // nil without commit times
	Rates              *Rates             `json:"rates,omitempty"`
	Parents            *Parents           `json:"parents,omitempty"`
	// SerializationPoints is nil where there are none.
	SerializationPoints *SerializationPoints `json:"serialization_points,omitempty"`
	Tables              []TableStats         `json:"tables,omitempty"` // by row events, most first
	Filters             *Filters             `json:"filters,omitempty"`
	UnknownEvents       []UnknownEvents      `json:"unknown_events,omitempty"`
	Warnings            []Warning            `json:"warnings"`
}

// Position is a place in a log that bgcstat dump and mysqlbinlog can look up.
type Position struct {
	File     string `json:"file"`
	Position int64  `json:"position"`
}

// Source is one log.
type Source struct {
	File          string `json:"file"`
	Bytes         int64  `json:"bytes"` // read, decompressed
	Events        int64  `json:"events"`
	Transactions  int64  `json:"transactions"` // whatever the filters chose
	Open          bool   `json:"open"`         // not closed by its server when it was copied
	Complete      bool   `json:"complete"`     // read to its end, nothing damaged
	Flavor        string `json:"flavor,omitempty"`
	ServerVersion string `json:"server_version,omitempty"`
	ServerID      uint32 `json:"server_id,omitempty"`
	Kind          string `json:"kind,omitempty"`
	Error         string `json:"error,omitempty"`
}

// Window is the stretch of time that is reported, from the first to the last
// transaction.
type Window struct {
	Start   Time    `json:"start"`
	End     Time    `json:"end"`
	Seconds float64 `json:"seconds"`
	Clock   string  `json:"clock"` // ClockCommit or ClockHeader
}

// Clocks of a window.
const (
	ClockCommit = "immediate_commit_timestamp" // microseconds, when the transaction was written
	ClockHeader = "event header"               // whole seconds, when its statement began
)

// Basis is how firm a figure is.
type Basis string

// From strongest to weakest.
const (
	Exact     Basis = "exact"
	Measured  Basis = "measured"
	Estimated Basis = "estimated"
	Bounded   Basis = "bound"
	Legacy    Basis = "legacy"
)

// Method is where a figure comes from.
type Method string

// The methods. Traced and FsyncCount need a trace.
const (
	CommitID         Method = "commit_id"
	Traced           Method = "traced"
	FsyncCount       Method = "fsync_count"
	Arrivals         Method = "arrivals" // of a live stream only
	CommitTimestamps Method = "commit_timestamps"
	Constraints      Method = "constraints"
	LastCommitted    Method = "last_committed"
)

// Groups are the figures on commit groups, the answer first.
type Groups struct {
	Sync          *GroupStats          `json:"sync,omitempty"`
	Flush         *GroupStats          `json:"flush,omitempty"`
	Bound         *Bound               `json:"bound,omitempty"`
	LastCommitted *LastCommittedGroups `json:"last_committed,omitempty"`
	// FlushPerSync is nil where flush groups are not known, and for MariaDB, where
	// each is a sync group.
	FlushPerSync *FlushPerSync `json:"flush_per_sync,omitempty"`
	// SizeOverTime counts the sync groups whose sizes Sync has, by when they began
	// and by their size in transactions.
	SizeOverTime *Heat `json:"size_over_time,omitempty"`
}

// FlushPerSync is how many flush groups sync groups hold at least a part of: the
// two need not nest. Basis and Method are those of the flush groups, SyncMethod
// is that of the sync groups.
type FlushPerSync struct {
	Mean       float64        `json:"mean"`
	Max        int64          `json:"max"`
	Basis      Basis          `json:"basis"`
	Method     Method         `json:"method"`
	SyncMethod Method         `json:"sync_method"`
	Histogram  []HistogramBin `json:"histogram"` // size is in flush groups, groups are sync groups
}

// Heat counts by time and by value. A bucket of time without any is not in the
// series.
type Heat struct {
	BucketSeconds float64      `json:"bucket_seconds"`
	Bins          []HeatBin    `json:"bins"`   // by rising value, without a hole
	Series        []HeatBucket `json:"series"` // by rising time, at most 150
}

// HeatBin is a range of values; To is not in it.
type HeatBin struct {
	From float64 `json:"from"`
	To   float64 `json:"to"`
}

// HeatBucket is one bucket of a series, named by its start.
type HeatBucket struct {
	Start  Time    `json:"t"`
	Counts []int64 `json:"counts"` // one for each bin
}

// GroupStats describes the sync groups or the flush groups that hold at least
// one reported transaction; their sizes count all members.
type GroupStats struct {
	Count     *int64         `json:"count,omitempty"` // nil where only an interval is known
	Low       int64          `json:"low"`
	High      int64          `json:"high"`
	Basis     Basis          `json:"basis"`
	Method    Method         `json:"method"`
	Size      *GroupSize     `json:"size,omitempty"`
	Histogram []HistogramBin `json:"histogram,omitempty"` // by rising size, no empty bins
}

// GroupSize describes the transactions per group. Percentiles are nearest
// rank, over groups.
type GroupSize struct {
	Mean float64 `json:"mean"`
	P50  int64   `json:"p50"`
	P95  int64   `json:"p95"`
	P99  int64   `json:"p99"`
	Max  int64   `json:"max"`
	// AloneShare is the share of transactions whose group has only them.
	AloneShare float64 `json:"alone_share"`
}

// HistogramBin counts the groups of one size.
type HistogramBin struct {
	Size   int64 `json:"size"`
	Groups int64 `json:"groups"`
}

// Bound are the proven limits on the number of sync groups.
type Bound struct {
	Lower int64 `json:"lower"`
	Upper int64 `json:"upper"`
}

// LastCommittedGroups is what the popular recipe counts: a commit group only
// by luck.
type LastCommittedGroups struct {
	// Distinct counts the values per file, and per restart of the sequence. It
	// is nil where the values are no numbers of transactions and too many to keep.
	Distinct  *int64         `json:"distinct,omitempty"`
	Runs      int64          `json:"runs"` // of consecutive equal values
	Basis     Basis          `json:"basis"`
	Method    Method         `json:"method"`
	Size      *GroupSize     `json:"size,omitempty"` // of reported transactions only, as the recipe has them
	Histogram []HistogramBin `json:"histogram,omitempty"`
}

// Alone is there where no two transactions shared a sync group, or next to none
// did, and 99 % of them or more changed one table: what settings of group commit
// may not help. It is nil where that is no more than an estimate, or the
// transactions are few.
type Alone struct {
	Groups int64 `json:"groups"` // sync groups; at least, where Basis is bound
	// AloneGroups are those of one transaction, 99 % of Groups or more; at least,
	// where Basis is bound or measured.
	AloneGroups       int64  `json:"alone_groups"`
	Transactions      int64  `json:"transactions"` // in all of the groups
	Basis             Basis  `json:"basis"`
	Method            Method `json:"method"`
	Table             string `json:"table"`
	TableTransactions int64  `json:"table_transactions"`
	// Sessions made the transactions; nil where the log does not name them all.
	Sessions *int64 `json:"sessions,omitempty"`
	// ParentsJustBefore counts the transactions whose parent is the one just before;
	// nil without a clock.
	ParentsJustBefore *int64 `json:"parents_just_before,omitempty"`
	// Waited counts those that waited for a row lock; nil where the log does not
	// tell, as MySQL's does not.
	Waited *int64 `json:"waited,omitempty"`
	// Cause is what it looks like; "" where the log does not tell.
	Cause Cause `json:"cause,omitempty"`
}

// Cause is why transactions look to be alone in their groups.
type Cause string

// The causes, of which only OneSession is certain.
const (
	OneSession Cause = "one session"
	// RowLocks: nearly all waited for one. OneAtATime: next to none did.
	RowLocks   Cause = "row locks"
	OneAtATime Cause = "one at a time"
	// WriteSets: each depends on the one before, by what it changes. Serial: the one
	// before had been committed when it was ready to be, and why that was is not
	// known.
	WriteSets Cause = "write sets"
	Serial    Cause = "serial"
)

// DependencyTracking is how last_committed was made: what version or settings
// say, and apart from it what the log itself shows.
type DependencyTracking struct {
	ServerMode string    `json:"server_mode"` // WRITESET, COMMIT_ORDER, none or unknown
	From       string    `json:"from"`        // version, settings or unknown
	Stretches  []Stretch `json:"stretches,omitempty"`
}

// Stretch is a part of the log in which dependency tracking looks the same.
type Stretch struct {
	Start        Position   `json:"start"` // of its first transaction
	End          Position   `json:"end"`   // behind its last
	Transactions int64      `json:"transactions"`
	Observed     Observed   `json:"observed"`
	Certainty    Certainty  `json:"certainty"`
	Reason       string     `json:"reason,omitempty"` // where nothing is proven
	Proofs       int64      `json:"proofs,omitempty"` // transactions that prove it
	Evidence     []Evidence `json:"evidence,omitempty"`
}

// Observed is what the log shows of dependency tracking.
type Observed string

// What can be observed. Commit order is never proven: one hot row and tables
// without keys look like it in every mode.
const (
	ObservedWriteset          Observed = "WRITESET"
	ObservedWritesetOrSession Observed = "WRITESET or WRITESET_SESSION"
	ObservedCommitOrder       Observed = "COMMIT_ORDER"
	NotDistinguishable        Observed = "not distinguishable"
)

// Certainty is how sure an observation is.
type Certainty string

// From surest to least sure.
const (
	Proven  Certainty = "proven"
	Hinted  Certainty = "hinted"
	Unknown Certainty = "unknown"
)

// Evidence is one kind of fact behind an observation, with an example that a
// reader can look up with bgcstat dump.
type Evidence struct {
	Rule    string   `json:"rule"`
	Count   int64    `json:"count"`
	Earlier Position `json:"earlier"`
	Later   Position `json:"later"`
	Why     string   `json:"why"`
}

// IO is what a trace counted of the server's syncs, in the stretch that it and
// the reported transactions share.
type IO struct {
	Source string `json:"source"`           // bpf, perf, status or proc
	Detail string `json:"detail,omitempty"` // what the source counted
	// Start, End and Seconds are those of the stretch, by the clock of the host
	// that took the trace.
	Start   Time    `json:"start"`
	End     Time    `json:"end"`
	Seconds float64 `json:"seconds"`
	// Syncs has the classes that were counted: binlog, relay, redo, doublewrite,
	// undo, data, other, unattributed. It is nil where the source counts none.
	Syncs map[string]Syncs `json:"syncs,omitempty"`
	// BinlogSyncsDurable counts the binlog syncs that made a reported transaction
	// durable; the others are of rotation, FLUSH LOGS and the like.
	BinlogSyncsDurable        *int64   `json:"binlog_syncs_that_made_transactions_durable,omitempty"`
	TransactionsPerBinlogSync *float64 `json:"transactions_per_binlog_sync,omitempty"`
	// DurableByNoneYet counts transactions that no sync had reached when the
	// trace ended.
	DurableByNoneYet *int64            `json:"transactions_durable_by_none_yet,omitempty"`
	DeviceFlushes    []DeviceFlushes   `json:"device_flushes,omitempty"`
	Lost             int64             `json:"lost,omitempty"` // events that the kernel dropped
	Refused          []Refused         `json:"refused,omitempty"`
	Settings         map[string]string `json:"settings,omitempty"` // of the server
	Rates            *SyncRates        `json:"rates,omitempty"`
	// LatencyBySize is by rising number of transactions, without empty bins.
	LatencyBySize []SizeLatency `json:"latency_by_size,omitempty"`
	// LatencyOverTime counts the binlog syncs that made reported transactions
	// durable, by when they began and by how long they took in seconds. It is nil
	// where the trace has no event for each.
	LatencyOverTime *Heat `json:"latency_over_time,omitempty"`
	// CPU is nil where the trace has no CPU time, as where the server was on
	// another host.
	CPU *CPU `json:"cpu,omitempty"`
}

// CPU is what the host and the server did with the CPUs. Its mean is over the
// buckets of Series; of one that is not in it nothing is known.
type CPU struct {
	CPUs int `json:"cpus"` // of the host
	CPUUse
	BucketSeconds float64     `json:"bucket_seconds"`
	Series        []CPUBucket `json:"series"` // by rising time
}

// CPUUse are means over a time. Those of the host are shares of all its CPUs
// that sum up to 1, but for rounding. Those of the server's process are in CPUs,
// seconds per second, and nil where nothing is known of it.
type CPUUse struct {
	User         float64  `json:"user"`
	System       float64  `json:"system"` // with interrupts
	IOWait       float64  `json:"iowait"` // idle while a disk was waited for
	Idle         float64  `json:"idle"`   // but for IOWait
	Steal        float64  `json:"steal"`  // taken by the hypervisor
	ServerUser   *float64 `json:"server_user,omitempty"`
	ServerSystem *float64 `json:"server_system,omitempty"`
}

// CPUBucket is one bucket of a series, named by its start.
type CPUBucket struct {
	Start Time `json:"t"`
	CPUUse
}

// Syncs are those of the files of one class.
type Syncs struct {
	Count     int64  `json:"count"`
	Exactness string `json:"exactness"` // exact, lower_bound or estimate
	// Latency is nil where it was not measured.
	Latency *SyncLatency `json:"latency_seconds,omitempty"`
}

// SyncLatency is how long syncs took, in seconds.
type SyncLatency struct {
	P50  *float64 `json:"p50,omitempty"`
	P99  *float64 `json:"p99,omitempty"`
	Mean *float64 `json:"mean,omitempty"` // where no percentile is known
	// Of counts the syncs that took so long where they are many more than counted: a
	// trace has the percentiles of most classes for all of it only.
	Of int64 `json:"of_syncs,omitempty"`
}

// DeviceFlushes counts the flush requests of a disk, by whatever program. They
// are no syncs: there are 0 to 3 of them for one.
type DeviceFlushes struct {
	Device string `json:"device"`
	Count  int64  `json:"count"`
}

// Refused is why a better source was not used.
type Refused struct {
	Source string `json:"source"`
	Why    string `json:"why"`
}

// SyncRates counts syncs by time. A bucket without any is in the series: where
// one is missing, nothing was sampled.
type SyncRates struct {
	BucketSeconds float64      `json:"bucket_seconds"`
	Series        []SyncBucket `json:"series"` // by rising time
}

// SyncBucket is one bucket of a series, named by its start.
type SyncBucket struct {
	Start         Time             `json:"t"`
	Syncs         map[string]int64 `json:"syncs,omitempty"` // by class, without zeros
	DeviceFlushes *int64           `json:"device_flushes,omitempty"`
}

// SizeLatency is how long the binlog syncs took that made so many transactions
// durable.
type SizeLatency struct {
	From  int64   `json:"from"` // transactions, from From to To
	To    int64   `json:"to"`
	Syncs int64   `json:"syncs"`
	P50   float64 `json:"p50"` // seconds
	P99   float64 `json:"p99"`
}

// Saved is what group commit saved.
type Saved struct {
	Assumes Assumes    `json:"assumes"`
	Binlog  *SavedSync `json:"binlog,omitempty"`
	// Redo is known from a trace only, with innodb_flush_log_at_trx_commit=1.
	Redo *SavedSync `json:"redo,omitempty"`
}

// Assumes are the settings that a figure rests on, and where they are from:
// "server", "flag" or "default of 9.7".
type Assumes struct {
	SyncBinlog          int64  `json:"sync_binlog"`
	FlushLogAtTrxCommit *int64 `json:"innodb_flush_log_at_trx_commit,omitempty"`
	From                string `json:"from"`
}

// SavedSync compares the syncs that each transaction alone would have needed
// under the same settings with those that the groups needed. Where only an
// interval is known for the groups, Grouped, SavedByGrouping and Share are nil.
type SavedSync struct {
	Alone              int64    `json:"alone"`
	Grouped            *int64   `json:"grouped,omitempty"`
	GroupedLow         int64    `json:"grouped_low"`
	GroupedHigh        int64    `json:"grouped_high"`
	SavedByGrouping    *int64   `json:"saved_by_grouping,omitempty"`
	SavedByGroupingMin int64    `json:"saved_by_grouping_min"`
	SavedByGroupingMax int64    `json:"saved_by_grouping_max"`
	Share              *float64 `json:"share,omitempty"` // of Alone
	ShareMax           float64  `json:"share_max"`
	// SavedBySyncBinlog is what sync_binlog=N saves on top: syncs of groups that
	// it leaves to a later group.
	SavedBySyncBinlog *int64 `json:"saved_by_sync_binlog,omitempty"`
	Basis             Basis  `json:"basis"`
	Method            Method `json:"method"`
	// FromLog is what the log alone gives for Grouped, where that is measured.
	FromLog *FromLog `json:"from_log,omitempty"`
}

// FromLog is a number of syncs by the log alone. Count is nil where only an
// interval is known.
type FromLog struct {
	Count  *int64 `json:"count,omitempty"`
	Low    int64  `json:"low"`
	High   int64  `json:"high"`
	Basis  Basis  `json:"basis"`
	Method Method `json:"method"`
}

// Clock is a verdict on the logical clock of the reported logs.
type Clock struct {
	TransactionsWith    int64   `json:"transactions_with"`
	TransactionsWithout int64   `json:"transactions_without"`
	Gaps                int64   `json:"gaps"`     // places where numbers are missing
	Restarts            int64   `json:"restarts"` // places inside a file where numbers go back
	Verdict             Verdict `json:"verdict"`
}

// Verdict says whether a clock can be followed.
type Verdict string

// NoClock where no transaction has one.
const (
	Contiguous Verdict = "contiguous"
	Gaps       Verdict = "gaps"
	Restarts   Verdict = "restarts"
	NoClock    Verdict = "none"
)

// Sizes describes transactions in bytes.
type Sizes struct {
	Bytes   ByteSize `json:"bytes"`
	Largest []Large  `json:"largest"` // largest first, at most 10
	// Histogram is by rising size, in bytes, in bins from 100, 200, 500, 1,000 and
	// so on, without a hole.
	Histogram []RangeBin `json:"histogram,omitempty"`
}

// RangeBin counts what lies from From to To, both in it.
type RangeBin struct {
	From  int64 `json:"from"`
	To    int64 `json:"to"`
	Count int64 `json:"count"`
}

// Durations tells how long transactions took, from when their first statement
// that changes something began to their commit. The log states the first in whole
// seconds, rounded down, so that n seconds stand for more than n-1 and less than
// n+1.
type Durations struct {
	Transactions int64 `json:"transactions"` // that have one
	// Impossible counts those that seem to end before they begin, or to last for
	// more than ten years: a clock was set.
	Impossible int64 `json:"impossible,omitempty"`
	P50        int64 `json:"p50_seconds"` // nearest rank, to three significant digits
	P99        int64 `json:"p99_seconds"`
	Max        int64 `json:"max_seconds"`
	// Histogram is by rising duration in whole seconds, in bins from 0, 1, 2, 5, 10
	// and so on, without a hole.
	Histogram []RangeBin `json:"histogram"`
}

// ByteSize describes the sizes of transactions. Percentiles are nearest rank,
// to four significant digits.
type ByteSize struct {
	Mean float64 `json:"mean"`
	P50  int64   `json:"p50"`
	P95  int64   `json:"p95"`
	P99  int64   `json:"p99"`
	Max  int64   `json:"max"`
}

// Large is one of the largest transactions.
type Large struct {
	Position
	Bytes  int64    `json:"bytes"`
	GTID   string   `json:"gtid,omitempty"`
	Tables []string `json:"tables"` // at most 16
}

// Rates counts by time. A bucket without transactions is not in the series.
type Rates struct {
	BucketSeconds float64  `json:"bucket_seconds"`
	Series        []Bucket `json:"series"` // by rising time
}

// Bucket is one bucket of a series, named by its start.
type Bucket struct {
	Start        Time   `json:"t"`
	Transactions int64  `json:"transactions"`
	SyncGroups   *int64 `json:"sync_groups,omitempty"` // begun in the bucket; nil where not known
	Bytes        int64  `json:"bytes"`
}

// Parents samples the parent distance, sequence_number − last_committed, along
// the log.
type Parents struct {
	Every  int64    `json:"every"` // one of how many transactions with a clock is a point
	Points []Parent `json:"points"`
}

// Parent is the parent distance of one transaction.
type Parent struct {
	Index    int64 `json:"index"` // of the transaction among those with a clock, from 1
	Distance int64 `json:"distance"`
	Proof    bool  `json:"proof,omitempty"` // it proves that write sets made last_committed
}

// SerializationPoints counts the transactions whose parent is the one just
// before them after one with an older parent, and what the log shows of why.
type SerializationPoints struct {
	Count         int64 `json:"count"`
	DDL           int64 `json:"ddl"`
	SeveralTables int64 `json:"several_tables"` // change more than one
	NotInLog      int64 `json:"not_in_log"`     // the cause is not in the log: a row that both change, or a history that was full
}

// TableStats counts what changed in a table.
type TableStats struct {
	Table        string `json:"table"`
	Transactions int64  `json:"transactions"`
	InsertEvents int64  `json:"insert_events"`
	UpdateEvents int64  `json:"update_events"`
	DeleteEvents int64  `json:"delete_events"`
}

// Filters are the filters that were in force, as they were given.
type Filters struct {
	StartDatetime string   `json:"start_datetime,omitempty"`
	StopDatetime  string   `json:"stop_datetime,omitempty"`
	StartPosition int64    `json:"start_position,omitempty"`
	StopPosition  int64    `json:"stop_position,omitempty"`
	IncludeGTIDs  string   `json:"include_gtids,omitempty"`
	ExcludeGTIDs  string   `json:"exclude_gtids,omitempty"`
	Databases     []string `json:"databases,omitempty"`
	Tables        []string `json:"tables,omitempty"`
}

// UnknownEvents counts events of a type that bgcstat does not know.
type UnknownEvents struct {
	Type  int   `json:"type"`
	Count int64 `json:"count"`
}

// Warning is a limit on what may be concluded.
type Warning struct {
	Code    string    `json:"code"`
	Message string    `json:"message"`
	Count   int64     `json:"count"`
	At      *Position `json:"at,omitempty"`
}

// Time is a time that is written as RFC 3339 in UTC with microseconds.
type Time struct{ time.Time }

// TimeFormat is how times are written everywhere.
const TimeFormat = "2006-01-02T15:04:05.000000Z"

func newTime(m parser.Micros) Time { return Time{m.Time()} }

func (t Time) String() string { return t.UTC().Format(TimeFormat) }

// MarshalJSON implements json.Marshaler.
func (t Time) MarshalJSON() ([]byte, error) { return json.Marshal(t.String()) }
