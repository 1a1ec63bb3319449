// Package analysis turns transactions into figures: an Analyzer takes them in
// log order and gives a Result, Rows gives a row for each.
//
// It is pure: no input or output, no clock of its own, no goroutine, no
// printing. Its memory does not grow with the log; where a count could, as
// for values that only a broken clock gives, it is given up and said so.
//
// # How groups are found
//
// MariaDB: exact. A run of equal commit ids in one file is one sync group, a
// transaction without an id is a group of one (sql/log.cc,
// trx_group_commit_leader).
//
// MySQL: bounded. Nothing in a log proves that two transactions shared a sync.
// What can be proven is that they did not: facts, and bound.
//
// MySQL 8.0.1 and later: estimated, from the commit timestamps, by the method
// commit_timestamps. A flush leader stamps each transaction just before it
// writes it, so that inside a flush group the gaps between timestamps are those
// of a loop, a few microseconds, and between flush groups those of a redo fsync
// and of waiting for the lock, a hundred microseconds and more; a threshold in
// the valley between the two kinds of gap finds the flush groups (splitGaps).
// How those merge into sync groups shows in when sessions come back: the
// sessions that one sync released are back together, those of two syncs are as
// far apart as the syncs. Where few are back together, flush groups and sync
// groups are nearly the same; where most are, the sync stage is replayed with
// the longest delay, or the longest time that a sync takes, under which no
// session is back before its sync has ended (merge). Both kinds of group keep
// to all that is proven, and the estimate comes with an interval (limit).
//
// The method assumes that thread ids are sessions of one server, and takes the
// wall clock for steady over some milliseconds. It is weakest where
// innodb_flush_log_at_trx_commit is not 1: without a redo fsync flush groups
// are quick, many share a sync, and which do is a guess, although their number
// is not far off. A leader that the operating system stops in the middle of a
// group looks like two groups, the more so the more clients there are for each
// processor. On a replica, in a relay log and where each transaction has its
// own connection no session comes back, so that delays are not seen: the
// estimate is the number of flush groups, and its interval goes down to the
// bound. A wait for a semi-synchronous replica looks like a slow sync.
//
// last_committed groups are what the popular recipe counts. They are shown
// beside the rest, under that name.
package analysis
