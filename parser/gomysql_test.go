package parser_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-mysql-org/go-mysql/replication"

	"bgcstat/parser"
)

// oracle is go-mysql's idea of the transactions of a log, by where they begin.
type oracle struct {
	txns  []*oracleTxn
	cur   *oracleTxn
	at    uint32 // of the current event
	table map[uint64]string
}

// oracleTxn is a transaction behind a GTID event.
type oracleTxn struct {
	start                  uint32
	gtid                   string
	last, seq              int64
	commit                 uint64
	cid                    uint64
	thread                 uint32
	hasThread              bool
	xid                    uint64
	inserts, updates, dels int
	tables                 []string
}

// parse reads a log with go-mysql, which panics on some.
func (o *oracle) parse(path string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("go-mysql: panic: %v", p)
		}
	}()
	o.at, o.table = 4, make(map[uint64]string)
	p := replication.NewBinlogParser() // its checksum test fails on a log in use
	return p.ParseFile(path, 4, func(e *replication.BinlogEvent) error {
		o.event(e)
		o.at += e.Header.EventSize
		return nil
	})
}

func (o *oracle) begin(gtid string) {
	o.cur = &oracleTxn{start: o.at, gtid: gtid}
	o.txns = append(o.txns, o.cur)
}

func (o *oracle) event(e *replication.BinlogEvent) {
	switch ev := e.Event.(type) {
	case *replication.GTIDEvent:
		o.mysql(e.Header.EventType, ev)
	case *replication.GtidTaggedLogEvent:
		o.mysql(e.Header.EventType, &ev.GTIDEvent)
	case *replication.MariadbGTIDEvent:
		o.begin(fmt.Sprintf("%d-%d-%d", ev.GTID.DomainID, e.Header.ServerID, ev.GTID.SequenceNumber))
		o.cur.cid = ev.CommitID
	case *replication.TransactionPayloadEvent:
		for _, inner := range ev.Events {
			o.event(inner)
		}
	}
	t := o.cur
	if t == nil {
		return
	}
	switch ev := e.Event.(type) {
	case *replication.QueryEvent:
		if !t.hasThread {
			t.thread, t.hasThread = ev.SlaveProxyID, true
		}
	case *replication.XIDEvent:
		t.xid = ev.XID
	case *replication.TableMapEvent:
		name := fmt.Sprintf("%s.%s", ev.Schema, ev.Table)
		o.table[ev.TableID] = name
		if !slices.Contains(t.tables, name) {
			t.tables = append(t.tables, name)
		}
	case *replication.RowsEvent:
		switch name := e.Header.EventType.String(); {
		case strings.Contains(name, "Write"):
			t.inserts++
		case strings.Contains(name, "Update"):
			t.updates++
		case strings.Contains(name, "Delete"):
			t.dels++
		}
	}
}

func (o *oracle) mysql(typ replication.EventType, ev *replication.GTIDEvent) {
	gtid := ""
	if typ != replication.ANONYMOUS_GTID_EVENT {
		s := ev.SID
		tag := ev.Tag.String()
		if tag != "" {
			tag += ":"
		}
		gtid = fmt.Sprintf("%x-%x-%x-%x-%x:%s%d", s[:4], s[4:6], s[6:8], s[8:10], s[10:], tag, ev.GNO)
	}
	o.begin(gtid)
	o.cur.last, o.cur.seq, o.cur.commit = ev.LastCommitted, ev.SequenceNumber, ev.ImmediateCommitTimestamp
}

// TestGoMySQL compares what go-mysql and this package read in the same logs.
func TestGoMySQL(t *testing.T) {
	logs := realLogs(t)
	others, err := filepath.Glob("../../shared/corpus/*[0-9y]")
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, path := range append(logs, others...) {
		if strings.HasPrefix(filepath.Base(path), "Meituan-Dianping__MyFlash__blob") {
			continue // bad checksums
		}
		t.Run(filepath.Base(path), func(t *testing.T) { compared += compareGoMySQL(t, path) })
	}
	if compared == 0 && len(logs) > 0 {
		t.Error("nothing compared")
	}
}

func compareGoMySQL(t *testing.T, path string) (compared int) {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var o oracle
	if err := o.parse(path); err != nil {
		// It stops where a log ends inside an event, and at rows that it cannot
		// decode. The message may hold the whole event.
		t.Logf("go-mysql reads %d transactions: %.100s", len(o.txns), err.Error())
		o.txns = o.txns[:max(0, len(o.txns)-1)]
	}
	hasThreads := mariaDBThreads(data)
	r := parser.NewReader(bytes.NewReader(data), path, parser.Options{})
	i := 0
	for txn, err := range r.All() {
		if err != nil {
			break
		}
		if !txn.HasGTIDEvent {
			continue
		}
		if i == len(o.txns) {
			break
		}
		want := o.txns[i]
		i++
		if i == len(o.txns) && r.Log().Err != nil {
			break // perhaps cut short
		}
		compared++
		got := oracleTxn{
			start: uint32(txn.Start), gtid: txn.GTID.String(), last: txn.LastCommitted, seq: txn.SequenceNumber,
			commit: uint64(txn.CommitTime), cid: txn.CommitID, thread: txn.ThreadID, hasThread: txn.HasThreadID,
			xid: txn.XID, inserts: txn.Inserts, updates: txn.Updates, dels: txn.Deletes,
		}
		for _, c := range txn.Tables {
			got.tables = append(got.tables, c.Table.String())
		}
		if hasThreads { // go-mysql does not read them from the GTID event
			got.thread, got.hasThread = want.thread, want.hasThread
		}
		if g, w := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", *want); g != w {
			t.Errorf("transaction %d:\n got %s\nwant %s", i, g, w)
		}
	}
	return compared
}

// mariaDBThreads reports whether a log is one of MariaDB 11.5 or later.
func mariaDBThreads(data []byte) bool {
	version, _, _ := bytes.Cut(data[4+19+2:], []byte{0})
	return bytes.HasPrefix(version, []byte("11.")) && binary.LittleEndian.Uint32(data) == 0x6e6962fe
}
