package analysis

import (
	"bgcstat/parser"
	"bgcstat/parser/iosample"
)

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
	emit      func(*Row) error
	commitIDs commitIDs
	prover    prover
	estimator estimator
	settings  Settings
	trace     *trace
	exact     bool  // the syncs of the trace tell the sync groups
	lastMark  int64 // of the row before, 0 for none

	// What waits for its groups, in log order.
	waiting     []waitingRow
	flush, sync int64 // groups begun so far
	err         error // of emit
}

type waitingRow struct {
	row     Row
	chosen  bool
	grouped bool  // is in a group
	mark    int64 // the sync that made it durable, where that is its sync group; 0 for none
}

// NewRows gives rows of the transactions that f chooses to emit, in log order.
// Their groups are numbered over all transactions. A row comes some thousand
// transactions late where its groups must be estimated; End brings the last.
func NewRows(f Filter, s Settings, emit func(*Row) error) *Rows {
	r := &Rows{filter: f, emit: emit, settings: s, prover: prover{noSessions: s.NoSessionBound}}
	r.estimator = estimator{settings: s, emit: r.grouped}
	return r
}

// Join is as for an Analyzer, which has told that the trace is of these logs,
// and whether it tells their groups exactly. It chooses the transactions that
// the trace covers.
func (r *Rows) Join(header *iosample.Header, next func() *iosample.Interval, logs []string, exact bool) {
	r.trace, r.exact = newTrace(header, next, logs), exact
	r.settings = r.settings.With(header.Settings)
	r.trace.groups = r.settings.SyncBinlog == nil || *r.settings.SyncBinlog == 1
	r.estimator.settings = r.settings
}

// Add takes the next transaction and keeps nothing of it. The error is that of
// emit; nothing is emitted after one.
func (r *Rows) Add(t *parser.Txn) error {
	w := waitingRow{chosen: r.filter.Match(t), grouped: t.Terminator != parser.TerminatorNone}
	if r.trace != nil && w.grouped {
		m, covered := r.trace.of(t)
		w.chosen = w.chosen && covered
		if m != nil {
			r.trace.take(m, t, w.chosen, false)
			if r.exact && covered {
				w.mark = m.no
			}
		}
		r.estimator.fit(r.trace, m, r.settings)
	}
	if w.chosen {
		w.row = newRow(t)
	}
	if t.Log.Flavor == parser.MariaDB {
		if w.grouped {
			r.commitIDs.add(t, w.chosen)
			w.row.SyncGroup, w.row.Basis, w.row.Method = new(r.commitIDs.tally.all), new(Exact), new(CommitID)
		}
		r.give(&w)
		return r.err
	}
	r.waiting = append(r.waiting, w)
	if w.grouped {
		f := r.prover.of(t)
		r.estimator.add(t, f, w.chosen, syncUnknown)
	}
	if r.estimator.off { // groups are not known from here on
		r.giveWaiting()
	}
	return r.err
}

// End emits the rows that wait.
func (r *Rows) End() error {
	r.estimator.end()
	r.giveWaiting()
	return r.err
}

// grouped takes members of the estimator, which are the first grouped rows
// that wait.
func (r *Rows) grouped(ms []member) {
	next := 0
	for i := range r.waiting {
		w := &r.waiting[i]
		if w.grouped {
			if next == len(ms) {
				r.waiting = append(r.waiting[:0], r.waiting[i:]...)
				return
			}
			m := &ms[next]
			next++
			if m.newFlush {
				r.flush++
			}
			basis, method := Estimated, CommitTimestamps
			begins := m.newSync || r.lastMark != 0
			if w.mark != 0 {
				basis, method = Exact, Traced
				begins = w.mark != r.lastMark
			}
			r.lastMark = w.mark
			if begins {
				r.sync++
			}
			w.row.SyncGroup, w.row.FlushGroup = new(r.sync), new(r.flush)
			w.row.Basis, w.row.Method = &basis, &method
		}
		r.give(w)
	}
	r.waiting = r.waiting[:0]
}

func (r *Rows) giveWaiting() {
	for i := range r.waiting {
		r.give(&r.waiting[i])
	}
	r.waiting = r.waiting[:0]
}

func (r *Rows) give(w *waitingRow) {
	if w.chosen && r.err == nil {
		r.err = r.emit(&w.row)
	}
}

// newRow gives the row of t without its groups.
func newRow(t *parser.Txn) Row {
	row := Row{
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
	return row
}

func known(m parser.Micros) *Time {
	if m <= 0 {
		return nil
	}
	return new(newTime(m))
}
