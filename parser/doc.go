// Package parser turns the bytes of MySQL and MariaDB binlogs into
// transactions: a Reader for one log, Files for several as one.
//
// # What is read
//
// A binlog is a magic number and a row of events, each with a header that
// holds its length; this package counts offsets itself and never trusts the
// 32-bit end position in the headers.
//
//	fe 'b' 'i' 'n' | format description | previous GTIDs | transaction ... | rotate or stop
//
//	transaction, MySQL:    GTID | query BEGIN | (table map | rows ...)... | XID
//	                       GTID | transaction payload (all the rest, compressed)
//	                       GTID | query (DDL)
//	transaction, MariaDB:  GTID | (annotate | table map | rows ...)... | XID
//
// It reads at the clock depth: headers, GTID events, the thread id of the
// first query event, the names in table maps and the table ids of row events.
// It never looks at a row image, so the number of rows is not known, only that
// of row events. Nothing is allocated for an event.
//
// # Damage
//
// Binlogs are taken to be possibly damaged and possibly hostile: every length
// is bounded before it is used, no claimed length is ever allocated, and
// memory stays below a few megabytes whatever a log holds. Compressed payloads
// are opened as a stream, at most 1 GiB of each.
//
//   - Where the framing is lost reading stops, with an *Error that holds the
//     offset; all transactions before it have been given out by then.
//   - A bad checksum costs its transaction, an undecodable body what it would
//     have told; both are counted in the Log, and reading goes on.
//   - A log that the server had not closed may end anywhere. That is a note.
//
// Readers are not safe for concurrent use. The only goroutine is the one in
// which Files reads ahead and verifies checksums.
package parser
