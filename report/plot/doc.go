// Package plot turns a result into pictures, PNG or SVG files for a report:
//
//	group-size    how many groups of each size, and how many transactions in them
//	timeline      transactions, syncs, sync groups and bytes per second
//	fsyncs        the syncs that group commit saved, by the log and as measured
//	sync-latency  how long the syncs of groups of each size took
//	heat          how long syncs took and how large groups were, over time
//	flush-groups  how many flush groups a sync group holds
//	parents       how far back last_committed points, along the log
//	transactions  how large transactions are, and how long they took
//	tables        the changes of each table
//
// and a comparison of runs into others:
//
//	compare-change      how much each figure of each run is more or less than the first's
//	compare-timeline    transactions and binlog syncs per second since the start of each
//	compare-group-size  the transactions by the size of their group
//
// Figures and Compare say what is to be seen, as plain values: words, axes, ticks, and
// the bars and points in the units of their axes. Write only draws that. So
// tests compare values, and hardly any pixels.
//
// Each picture carries the basis of what it shows in its subtitle, and the
// codes of the result's warnings below. What the result does not know is said
// to be not known; nothing is drawn in its place.
//
// Everything is a function of the result alone: the same result gives the same
// bytes on one kind of CPU. Between kinds of CPU the last bit of a coordinate
// may differ.
package plot
