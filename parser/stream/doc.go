// Package stream reads the transactions of a running server's binlog, as a
// replica gets them: the same values that package parser reads from its files,
// byte for byte and with the same positions.
//
// # What the server sees
//
// A connection that asks for a binlog dump, under a server id of its own. It is
// not registered as a replica, so that no tool takes it for one, acknowledges
// nothing, so that no semi-synchronous commit waits for it, and writes nothing.
// Events come with the checksums that they have in the file.
//
// # When the connection is lost
//
// Reading goes on in a new connection, with neither loss nor repeat:
//
//   - From the same server the dump is asked for from the end of the last whole
//     transaction on, by file and position, and what had come of the next one
//     before is passed over. The reader above notices nothing. Where GTIDs have
//     said where to begin it is asked for by GTIDs.
//   - From another server, which answers at the same address after a failover,
//     by GTIDs: those that came, and those that the first server had had before
//     they came. A transaction that was cut is read anew, and new logs begin.
//     Without GTIDs that is the end: a position means nothing there.
//
// What ends the stream for good: a log that the server has purged or replaced,
// another replica with the same id, and a login or a dump that is refused.
//
// The driver's own replication client (go-mysql, BinlogSyncer) is not used: it
// asks for events without checksums, so that their lengths are not those of
// the file; it begins a GTID dump anew where it began first; and it logs in by
// other rules than package server.
package stream
