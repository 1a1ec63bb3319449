package analysis

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"bgcstat/parser"
	"bgcstat/parser/iosample"
)

// trace joins what was counted beside the server to the transactions of its
// log, both read once and side by side.
//
// Position is the key, not time: a transaction is durable by the first sync that
// finds the file at least as long as the transaction's end. Where the trace has
// an event for each sync, each is a mark on the log; else each sample is one,
// and the syncs since the sample before lie between the two. The clock only
// checks that log and trace are of one time; it is the key where the trace has
// no positions.
type trace struct {
	header *iosample.Header
	next   func() *iosample.Interval
	opened bool
	events bool  // marks are syncs
	byTime bool  // the trace has no positions
	margin int64 // what files are longer than their positions
	floor  *mark // where the log was when the trace began; nil where that is not known

	marks   []mark // of the interval that is read
	at      int    // of the first mark that has not been passed
	ended   bool
	no      int64 // of the last mark made
	newest  mark  // of the last sample: the file that was written, and its size
	usage   usage
	first   logName // of the first log that was read
	lastLog *parser.Log
	lastEnd int64 // of the last transaction read

	joined     int64 // reported transactions that a mark was found for
	marked     int64 // transactions, reported or not, of marks with a reported one
	unsynced   int64 // reported, and durable by no sync when the trace ended
	durable    int64 // syncs that made reported transactions durable
	exactEnds  int64 // syncs that ended with a transaction
	madeSyncs  int64 // syncs that made transactions durable, reported or not
	otherNames int64 // marks of logs of other names
	tooLate    delays
	bySize     latencies
}

// mark is a place in a log that had been synced, or written, at some time.
type mark struct {
	no   int64 // rises along the trace
	log  logName
	size int64
	time parser.Micros // by the clock of the host that took the trace
	// syncs is how many binlog syncs there were since the mark before.
	syncs     int64
	latency   int64 // nanoseconds; 0 where it is not known
	rotations int64 // files that began since the mark before

	members  int64 // transactions that it made durable
	reported int64 // and those of them that are reported
	end      int64 // of the last of them
}

// unattributedClass is the place of iosample.Unattributed among the classes.
var unattributedClass = slices.Index(iosample.Classes, iosample.Unattributed)

// syncsOfRotation is how many syncs of binlogs a rotation takes: of the end of
// one file and of the beginning of the next.
const syncsOfRotation = 2

// durableSyncs is how many of the mark's syncs made transactions durable, if
// any was written.
func (m *mark) durableSyncs() int64 {
	if m.syncs == 0 {
		return 0
	}
	return max(m.syncs-m.rotations*syncsOfRotation, 1)
}

// logName is the name of a log without its directory and the endings of
// archives, and its number.
type logName struct {
	base   string
	number int64
}

func nameOfLog(name string) logName {
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst")
	if dot := strings.LastIndexByte(name, '.'); dot >= 0 {
		if n, err := strconv.ParseInt(name[dot+1:], 10, 64); err == nil {
			return logName{name[:dot], n}
		}
	}
	return logName{name, 0}
}

// unnamed reports whether the trace does not say which log it was.
func (n logName) unnamed() bool { return n.base == "" || n.base == "." }

// encryptedHeader is how much longer than its positions an encrypted binlog of
// MySQL is (sql/rpl_log_encryption.h).
const encryptedHeader = 512

func newTrace(h *iosample.Header, next func() *iosample.Interval) *trace {
	tr := &trace{header: h, next: next, events: h.Source == "bpf"}
	if h.Settings["binlog_encryption"] == "ON" {
		tr.margin = encryptedHeader
	}
	tr.usage.byClass = map[iosample.Class]*classUsage{}
	return tr
}

// of finds the mark of a transaction that ended in its log. covered is false
// where the trace cannot tell: the transaction was written before it began, or
// after it ended. One that is covered and has no mark was durable by none.
func (tr *trace) of(t *parser.Txn) (m *mark, covered bool) {
	name := tr.nameOf(t)
	for {
		m := tr.current()
		if m == nil {
			return nil, tr.unsyncedAtEnd(t, name)
		}
		if tr.floor != nil && tr.compare(tr.floor, t, name) >= 0 {
			return nil, false
		}
		if !tr.byTime && !m.log.unnamed() && m.log.base != name.base {
			tr.otherNames++
		} else if !tr.byTime && !m.log.unnamed() && m.log.number > name.number {
			return nil, tr.events && tr.floor != nil // a later log is written: what is left of this one was synced by none
		} else if tr.compare(m, t, name) >= 0 {
			return m, true
		}
		tr.pass()
	}
}

// nameOf is the name of the transaction's log.
func (tr *trace) nameOf(t *parser.Txn) logName {
	if t.Log != tr.lastLog {
		if tr.lastLog == nil {
			tr.first = nameOfLog(t.Log.Name)
		}
		tr.lastLog = t.Log
	}
	tr.lastEnd = t.End
	return nameOfLog(t.Log.Name)
}

// compare tells whether a mark is before the end of t (-1), at it or behind it.
func (tr *trace) compare(m *mark, t *parser.Txn, name logName) int {
	if tr.byTime {
		if m.time < t.Time() {
			return -1
		}
		return 1
	}
	if !m.log.unnamed() && m.log.number != name.number {
		if m.log.number < name.number {
			return -1
		}
		return 1
	}
	switch size := m.size - tr.margin; {
	case size < t.End:
		return -1
	case size > t.End:
		return 1
	}
	return 0
}

// unsyncedAtEnd reports whether t, which no mark reaches, was written before
// the trace ended.
func (tr *trace) unsyncedAtEnd(t *parser.Txn, name logName) bool {
	if !tr.events || tr.no == 0 {
		return false
	}
	if tr.newest.size == 0 {
		return true // the trace does not say how far the log was written
	}
	return tr.compare(&tr.newest, t, name) >= 0
}

// current gives the first mark that has not been passed, nil at the end.
func (tr *trace) current() *mark {
	for tr.at == len(tr.marks) {
		if !tr.read() {
			return nil
		}
	}
	return &tr.marks[tr.at]
}

// pass leaves the current mark behind.
func (tr *trace) pass() {
	m := &tr.marks[tr.at]
	tr.at++
	tr.leave(m)
	if tr.at == len(tr.marks) {
		tr.usage.end()
	}
}

// leave books a mark whose transactions are known.
func (tr *trace) leave(m *mark) {
	switch {
	case m.reported > 0:
		tr.usage.reported = true
		tr.marked += m.members
		tr.durable += m.durableSyncs()
	case m.members > 0 || tr.elsewhere(m):
		tr.usage.foreign = true
	}
	if m.members == 0 || !tr.events {
		return
	}
	tr.madeSyncs++
	if m.end == m.size-tr.margin {
		tr.exactEnds++
	}
	if m.reported > 0 && m.latency > 0 {
		tr.bySize.add(m.members, m.latency)
	}
}

// elsewhere reports whether a mark without transactions is of a part of the
// log that was not read.
func (tr *trace) elsewhere(m *mark) bool {
	if tr.byTime || m.log.unnamed() {
		return false
	}
	return m.log.base != tr.first.base || m.log.number < tr.first.number
}

// take gives a transaction to its mark.
func (tr *trace) take(m *mark, t *parser.Txn, reported bool) {
	if at := t.CommitTime; tr.events && m.members == 0 && at > 0 && tr.header.ClockOffset != 0 {
		tr.tooLate.add(int64(m.time - at))
	}
	m.members++
	m.end = t.End
	if reported {
		m.reported++
		tr.joined++
	}
}

// read takes the next interval.
func (tr *trace) read() bool {
	if tr.ended {
		return false
	}
	v := tr.next()
	if v == nil {
		tr.ended = true
		return false
	}
	if !tr.opened {
		tr.opened = true
		tr.open(v)
	}
	tr.marks, tr.at = tr.marks[:0], 0
	syncs := tr.usage.begin(v, tr.header)
	before := tr.newest
	if v.Sample != nil {
		tr.look(v.Sample)
	}
	if tr.events {
		for i := range v.Syncs {
			s := &v.Syncs[i]
			if s.Class != iosample.Binlog {
				continue
			}
			tr.no++
			at := time.Unix(0, s.Mono+tr.header.ClockOffset).UnixMicro()
			tr.marks = append(tr.marks, mark{no: tr.no, log: nameOfLog(s.Name), size: s.Size, time: parser.Micros(at), syncs: 1, latency: s.Latency})
		}
	} else if v.Sample != nil {
		m := tr.newest
		tr.no++
		m.no, m.syncs, m.time = tr.no, syncs, parser.Micros(v.Sample.Time.UnixMicro())
		if before.size != 0 && m.log.number > before.log.number {
			m.rotations = m.log.number - before.log.number
			// Counters by file see nothing of a new binlog until they are opened.
			adopted := tr.usage.now.syncs[unattributedClass]
			m.syncs += adopted
			tr.usage.adopted += adopted
		}
		if tr.floor == nil { // what came before the first sample is not known
			m.syncs = 0
			tr.floor = &m
		}
		tr.marks = append(tr.marks, m)
	}
	if len(tr.marks) == 0 {
		tr.usage.end()
	}
	return true
}

// open looks at the first interval for what the trace has.
func (tr *trace) open(v *iosample.Interval) {
	tr.events = tr.events || len(v.Syncs) > 0
	if v.Sample == nil {
		return
	}
	tr.look(v.Sample)
	switch {
	case !tr.events:
		tr.byTime = tr.newest.size == 0
	case len(v.Syncs) == 0 && tr.newest.size > 0:
		floor := tr.newest
		tr.floor = &floor
	}
}

// look takes the newest binlog and its size from a sample.
func (tr *trace) look(s *iosample.Sample) {
	for i := range s.Files {
		f := &s.Files[i]
		if f.Class != iosample.Binlog || f.Size == 0 {
			continue
		}
		if f.Encrypted {
			tr.margin = encryptedHeader
		}
		if n := nameOfLog(f.Name); n.number > tr.newest.log.number || n == tr.newest.log || tr.newest.size == 0 {
			tr.newest.log, tr.newest.size = n, f.Size
		}
	}
}

// finish reads the trace to its end. logs are those that were analyzed.
func (tr *trace) finish(logs []*parser.Log) {
	for {
		m := tr.current()
		if m == nil {
			break
		}
		if m.members == 0 && !m.log.unnamed() && !tr.byTime && tr.lastLog != nil {
			last := nameOfLog(tr.lastLog.Name)
			i := slices.IndexFunc(logs, func(l *parser.Log) bool { return nameOfLog(l.Name).number == m.log.number })
			// Behind the last transaction a log may have events that are none.
			if m.log.base != last.base || m.log.number > last.number && i < 0 || i >= 0 && m.size-tr.margin > logs[i].Bytes {
				tr.usage.foreign = true
			}
		}
		tr.pass()
	}
	tr.usage.finish()
}

// delays are how long after a commit its sync began, in microseconds.
type delays struct {
	count [gapBins]int
	early int // syncs that began before the commit
	n     int
}

func (d *delays) add(delay int64) {
	d.n++
	if delay < 0 {
		d.early++
		delay = -delay
	}
	d.count[gapBin(delay)]++
}

// usual is the median distance between the two.
func (d *delays) usual() time.Duration {
	if d.n == 0 {
		return 0
	}
	return time.Duration(binMiddle(binRank(&d.count, 0.5))) * time.Microsecond
}
