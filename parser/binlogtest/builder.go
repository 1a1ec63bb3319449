package binlogtest

import (
	"bufio"
	"hash/crc32"
	"io"
	"strconv"
)

// BuilderTxnSize is the length of each of a Builder's transactions in bytes.
const BuilderTxnSize = 1062

// Builder writes a log as a busy MySQL 8.0 does: transactions of five events
// (GTID, BEGIN, table map, write rows, XID) with checksums, by 64 sessions, to
// 3 tables in turn, in commit groups of 1 to 12. The same calls give the same
// bytes. Its end positions wrap at 4 GiB, as a server's do.
type Builder struct {
	w     *bufio.Writer
	size  int64
	err   error
	event [builderTables][]byte // of a transaction each; patched before it is written

	seq, last  uint64
	groupStart uint64 // first of the current group
	groupLeft  int
	prevGroup  uint64 // last of the group before
	commit     uint64 // µs
	random     uint64
}

const (
	builderTables  = 3
	builderThreads = 64
	builderStart   = 1700000000
)

// NewBuilder writes the beginning of a log to w.
func NewBuilder(w io.Writer) *Builder {
	b := &Builder{
		w: bufio.NewWriterSize(w, 1<<20), random: 0x9e3779b97f4a7c15,
		commit: builderStart * 1e6,
	}
	head, err := Marshal("format version=8.0.36 started\nprevious-gtids\n")
	if err != nil {
		b.err = err
		return b
	}
	b.write(head)
	for i, table := range [builderTables]string{"shop.orders", "shop.items", "shop.stock"} {
		b.event[i], b.err = template(table, 90+i)
		if b.err != nil {
			return b
		}
	}
	return b
}

// template makes one transaction's bytes, with zeros where Txn puts numbers.
func template(table string, id int) ([]byte, error) {
	text := func(rows int) string {
		s := "gtid last=0 seq=1 commit=1700000000.0 length=1062 sversion=80036\n" +
			"query thread=1 db=shop BEGIN\n" +
			"table-map id=" + strconv.Itoa(id) + " " + table + "\n" +
			"insert id=" + strconv.Itoa(id)
		if rows > 0 {
			s += " size=" + strconv.Itoa(rows)
		}
		return s + "\nxid 1\n"
	}
	const format = "format version=8.0.36\n"
	head, err := Marshal(format)
	if err != nil {
		return nil, err
	}
	small, err := Marshal(format + text(0))
	if err != nil {
		return nil, err
	}
	rows := rowsSize(small[len(head):])
	whole, err := Marshal(format + text(rows+BuilderTxnSize-(len(small)-len(head))))
	if err != nil {
		return nil, err
	}
	return whole[len(head):], nil
}

// rowsSize is the length of the write rows event in a transaction.
func rowsSize(txn []byte) int {
	at := 0
	for txn[at+4] != 30 {
		at += int(le.Uint32(txn[at+9:]))
	}
	return int(le.Uint32(txn[at+9:]))
}

// Txn writes one transaction.
func (b *Builder) Txn() error {
	if b.err != nil {
		return b.err
	}
	b.clock()
	table := int(b.seq % builderTables)
	txn := b.event[table]
	thread := 8 + (b.seq*7)%builderThreads

	// Table names differ in length, and so do the events' places.
	var at [5]int
	for i, next := 0, 0; i < len(at); i++ {
		at[i] = next
		next += int(le.Uint32(txn[next+9:]))
	}
	gtid := txn[at[0]+headerLen:]
	le.PutUint64(gtid[17:], b.seq)
	le.PutUint64(gtid[26:], b.last)
	le.PutUint64(gtid[34:], b.seq)
	putUint(gtid[42:42], b.commit, 7)
	le.PutUint32(txn[at[1]+headerLen:], uint32(thread))
	le.PutUint64(txn[at[4]+headerLen:], b.seq+100)
	// Row images differ, so that a log does not compress to nothing.
	rows := txn[at[3]+headerLen+13+12 : at[4]-checksumLen]
	for i := 0; i+8 <= len(rows); i += 8 {
		le.PutUint64(rows[i:], b.next())
	}
	for i, start := range at {
		end := len(txn)
		if i+1 < len(at) {
			end = at[i+1]
		}
		event := txn[start:end]
		le.PutUint32(event, uint32(b.commit/1e6))
		le.PutUint32(event[13:], uint32(b.size+int64(end)))
		covered := event[:len(event)-checksumLen]
		le.PutUint32(event[len(covered):], crc32.ChecksumIEEE(covered))
	}
	b.write(txn)
	return b.err
}

// clock sets the numbers and the commit time of the next transaction. Each has
// the clock of a commit-order server: its parent is the last of the group
// before, or for one in four, which began earlier, of the one before that.
func (b *Builder) clock() {
	b.seq++
	if b.groupLeft == 0 {
		b.prevGroup, b.groupStart = b.groupStart, b.seq
		b.groupLeft = 1 + int(b.next()%12)
		b.commit += 200 + b.next()%400 // a redo flush
	}
	b.groupLeft--
	b.commit += 3 + b.next()%8
	b.last = b.groupStart - 1
	if b.next()%4 == 0 && b.prevGroup > 0 {
		b.last = b.prevGroup - 1
	}
}

// next is a xorshift generator.
func (b *Builder) next() uint64 {
	b.random ^= b.random << 13
	b.random ^= b.random >> 7
	b.random ^= b.random << 17
	return b.random
}

// Size is the length of the log so far.
func (b *Builder) Size() int64 { return b.size }

// Close ends the log with a rotate event. It does not close the writer.
func (b *Builder) Close() error {
	m := marshaler{out: magic, server: 1, time: b.commit / 1e6, hasFormat: true, checksums: true}
	m.shift = uint64(b.size) - uint64(len(magic))
	if _, err := m.line([]string{"rotate binlog.000002"}); err != nil && b.err == nil {
		b.err = err
	}
	b.write(m.out[len(magic):])
	if b.err == nil {
		b.err = b.w.Flush()
	}
	return b.err
}

func (b *Builder) write(data []byte) {
	if b.err != nil {
		return
	}
	n, err := b.w.Write(data)
	b.size += int64(n)
	b.err = err
}

// WriteLog writes a log of at least size bytes to w, and gives the number of
// its transactions.
func WriteLog(w io.Writer, size int64) (transactions int, err error) {
	b := NewBuilder(w)
	for b.Size() < size {
		if err := b.Txn(); err != nil {
			return transactions, err
		}
		transactions++
	}
	return transactions, b.Close()
}
