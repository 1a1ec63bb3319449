// Package iosample counts what a database server syncs to disk, by file.
//
// There is no counter of fsyncs in /proc, so several ways of counting are
// tried, the best first:
//
//	bpf     one event for each sync, from the file system's own tracepoint: exact,
//	        with the time, the file and its size at that moment
//	perf    the same tracepoint, or the system call, counted by the kernel: exact
//	status  the server's own counters, over SQL: the way for managed servers
//	proc    no syncs at all: flushes of the whole disk, and the binlog's growth
//
// [Sampler] takes a [Sample] of cumulative counters at each interval, whatever
// the [Source], and [Writer] and [Reader] keep samples in a trace file.
//
// Syncs are joined to a binlog by position: each sync carries the size of the
// binlog at that moment, so that no two clocks need to agree.
package iosample
