// Package analysis turns transactions into figures: an Analyzer takes them in
// log order and gives a Result, a Rows gives a row for each.
//
// It is pure: no input or output, no clock of its own, no goroutine, no
// printing. Its memory does not grow with the log; where a count could, as
// for values that only a broken clock gives, it is given up and said so.
//
// # How groups are found
//
//   - MariaDB: exact. A run of equal commit ids in one file is one sync group,
//     a transaction without an id is a group of one (sql/log.cc,
//     trx_group_commit_leader).
//   - MySQL: nothing in a log proves that two transactions shared a sync. What
//     can be proven is that they did not; see bound. Between the lowest number
//     of groups that this allows and one group for each transaction the number
//     is not known, and no figure pretends that it is.
//   - last_committed groups are what the popular recipe counts. They are shown
//     beside the rest, under that name.
package analysis
