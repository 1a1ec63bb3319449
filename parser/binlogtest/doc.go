// Package binlogtest writes binlogs for tests: from a text form, so that rare
// and broken events can be told in a line, and by the gigabyte for benchmarks.
//
// # Text form
//
// A line is an event, from '#' at its start a comment. Behind the event's name
// come its fields as key=value or as a word, in any order, and for some events
// a text, which is the rest of the line:
//
//	format version=8.0.36 server=1
//	previous-gtids 00000000-0000-0000-0000-000000000001:1-5
//	gtid last=0 seq=1 commit=1700000000.000001
//	query thread=5 db=shop BEGIN
//	table-map id=90 shop.orders
//	insert id=90 size=600
//	xid 17
//	rotate binlog.000002
//
// The events and their fields, those in brackets optional:
//
//	format version=V [server=N] [nochecksum] [inuse] [started] [relay] [types=N]
//	previous-gtids [UUID[:TAG]:N-N[:N-N...]][,...]
//	gtid-list [DOMAIN-SERVER-N][,...]          MariaDB
//	gtid [last=N seq=N] [commit=T] [original=T] [length=N] [sversion=N] [oversion=N]
//	     [ticket=N] [uuid=U] [gno=N] [sbr] [lt=N]
//	anonymous-gtid                             as gtid, without uuid and gno
//	tagged-gtid tag=S                          as gtid, without lt
//	maria-gtid domain=N seq=N [cid=N] [standalone] [transactional] [waited] [ddl]
//	     [prepared=XID] [completed=XID] [engines=N] [alter=start|commit|rollback]
//	     [alterseq=N] [thread=N] [pad=N]       XID is gtrid or gtrid/bqual
//	query [thread=N] [db=S] [compressed] TEXT
//	table-map id=N SCHEMA.TABLE
//	insert|update|delete id=N [size=N] [v=0|1|2] [compressed]
//	rows-query TEXT, annotate TEXT
//	xid N
//	xa-prepare [onephase]
//	intvar [value=N]
//	rotate NAME
//	stop
//	incident
//	payload zstd|none|N [size=N] [cut=N] {     up to a line with }: events inside it
//	event type=N [size=N] [body=HEX]           any event; size is the body's, of zeros
//
// Any event may have these, too:
//
//	at=SECONDS   header time; holds for the events behind it as well
//	server=N     server id, else that of the first format event
//	flags=N      header flags
//	logpos=N     end position, else the true one
//	eventlength=N the length that the header states, else the true one
//	badcrc       a wrong checksum
//	truncate=N   only the first N bytes of the event are written
//
// Bytes that are no event:
//
//	raw HEX
//	zeros N
//	shift N      from here on end positions are off by N
//
// A log that begins with an event gets its magic number; one that begins with
// raw bytes or zeros is written as it stands.
//
// Times T are seconds since the epoch with up to six decimals. A GTID event
// without clock has the layout of MySQL 5.6, one without commit time that of
// 5.7. Rows are of tables with a BIGINT and a LONGBLOB; size is the event's.
package binlogtest
