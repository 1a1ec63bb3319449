package analysis

import "bgcstat/parser"

// Row is one row of dump: a transaction as the log states it, and its groups
// where they are known. What is not known is nil.
type Row struct {
	File               string   `json:"file"`
	Start              int64    `json:"start"` // mysqlbinlog's "# at"
	End                int64    `json:"end"`   // of the terminator event
	Bytes              int64    `json:"bytes"`
	GTID               *string  `json:"gtid,omitempty"` // empty for an anonymous transaction
	LastCommitted      *int64   `json:"last_committed,omitempty"`
	SequenceNumber     *int64   `json:"sequence_number,omitempty"`
	CommitID           *uint64  `json:"commit_id,omitempty"`
	CommitTime         *Time    `json:"commit_time,omitempty"`
	OriginalCommitTime *Time    `json:"original_commit_time,omitempty"`
	EventTime          *Time    `json:"event_time,omitempty"`
	ServerID           uint32   `json:"server_id"`
	ThreadID           *uint32  `json:"thread_id,omitempty"`
	XID                *uint64  `json:"xid,omitempty"`
	RBROnly            *bool    `json:"rbr_only,omitempty"`
	Terminator         string   `json:"terminator"`
	Compressed         bool     `json:"compressed"`
	InsertEvents       int      `json:"insert_events"`
	UpdateEvents       int      `json:"update_events"`
	DeleteEvents       int      `json:"delete_events"`
	Tables             []string `json:"tables"`
	SyncGroup          *int64   `json:"sync_group,omitempty"` // rises along the log, from 1
	FlushGroup         *int64   `json:"flush_group,omitempty"`
	Basis              *Basis   `json:"basis,omitempty"` // of SyncGroup
	Method             *Method  `json:"method,omitempty"`
}

// Rows makes rows of transactions in log order. It is not safe for concurrent use.
type Rows struct {
	filter    Filter
	commitIDs commitIDs
}

// NewRows gives rows of the transactions that f chooses. Their groups are
// numbered over all transactions.
func NewRows(f Filter) *Rows { return &Rows{filter: f} }

// Row gives the row of t; ok is false where the filter leaves it out. The row
// keeps nothing of t.
func (r *Rows) Row(t *parser.Txn) (row Row, ok bool) {
	ok = r.filter.Match(t)
	var group int64
	if t.Log.Flavor == parser.MariaDB {
		group, _ = r.commitIDs.add(t, ok)
	}
	if !ok {
		return Row{}, false
	}
	row = Row{
		File: t.Log.Name, Start: t.Start, End: t.End, Bytes: t.Size(),
		CommitTime:         known(t.CommitTime),
		OriginalCommitTime: known(t.OriginalCommitTime),
		EventTime:          known(t.EventTime),
		ServerID:           t.ServerID,
		Terminator:         t.Terminator.String(),
		Compressed:         t.Compressed,
		InsertEvents:       t.Inserts, UpdateEvents: t.Updates, DeleteEvents: t.Deletes,
		Tables: make([]string, len(t.Tables)),
	}
	for i := range t.Tables {
		row.Tables[i] = t.Tables[i].Table.String()
	}
	if t.HasGTIDEvent {
		row.GTID = new(t.GTID.String())
	}
	if t.HasClock {
		row.LastCommitted, row.SequenceNumber = new(t.LastCommitted), new(t.SequenceNumber)
	}
	if t.CommitID != 0 {
		row.CommitID = new(t.CommitID)
	}
	if t.HasThreadID {
		row.ThreadID = new(t.ThreadID)
	}
	if t.HasXID {
		row.XID = new(t.XID)
	}
	if t.Log.Flavor == parser.MySQL && t.HasGTIDEvent {
		row.RBROnly = new(t.RBROnly)
	}
	if group != 0 {
		row.SyncGroup, row.Basis, row.Method = &group, new(Exact), new(CommitID)
	}
	return row, true
}

func known(m parser.Micros) *Time {
	if m <= 0 {
		return nil
	}
	return new(newTime(m))
}
