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
// an event for each sync, each is a mark on its log. Else each sample is one: the
// transactions up to it, and behind the sample before, share the syncs that were
// counted in between. The clock only checks that log and trace are of one time;
// it is the key where the trace has no positions.
type trace struct {
	header *iosample.Header
	next   func() *iosample.Interval
	logs   map[logName]bool // that are analyzed; nil for all
	events bool             // marks are syncs
	byTime bool             // the trace has no positions

	// floor is where the log was when the trace began; nil where that is not
	// known. settled is whether all up to there had been synced: else the first
	// sync may cover transactions on both sides of it.
	floor   *mark
	settled bool
	below   bool // a transaction ended before the floor
	groups  bool // each sync may be of one group: sync_binlog is 1 or not known

	opened, ended bool
	no            int64               // of the last mark made
	queues        map[logName][]*mark // marks that were not passed, by log; without events all in one
	stretches     []*stretch          // that are read and not booked, in order
	synced        logName             // the log of the last sync
	newest        mark                // of the last sample: the file that was written, and its size
	inodes        map[logName]uint64  // of logs, as samples had them
	encrypted     map[logName]bool
	reset         parser.Micros // when logs were begun anew under old names; 0 for never
	usage         usage

	log     logName // that transactions are read from
	lastLog *parser.Log
	lengths map[logName]int64 // of the logs analyzed, when all are read

	joined     int64 // reported transactions that a mark was found for
	unsynced   int64 // reported, and durable by no sync when the trace ended
	durable    int64 // syncs that made reported transactions durable
	marked     int64 // transactions that these made durable, reported or not
	loose      int64 // reported transactions of intervals whose syncs are not all known, or not all theirs
	exactEnds  int64 // syncs that ended with a transaction
	madeSyncs  int64 // syncs that made transactions durable, reported or not
	otherNames bool  // the trace is of logs of other names
	counting   bool  // the last interval in which something was written counts
	checked    int64 // intervals that were held against what the log proves
	tooFew     int64 // and those with fewer syncs
	delays     delays
	bySize     latencies

	latencyOverTime heat // in microseconds
}

// mark is a place in a log that had been synced, or written, at some time.
type mark struct {
	no      int64 // rises along the trace
	log     logName
	size    int64
	time    parser.Micros // by the clock of the host that took the trace
	latency int64         // nanoseconds; 0 where it is not known
	stretch *stretch      // that it is of
	// Of a sample:
	syncs     int64 // of binlogs, since the sample before
	rotations int64 // of the syncs, those of files that ended and began since then
	grown     bool  // the log was written since then
	unsure    bool  // not all of the syncs are known, or some are of logs that are not analyzed
	skip      bool  // what it made durable is not all known

	members  int64 // transactions that it made durable
	reported int64 // and those of them that are reported
	proven   int64 // groups that these are proven to have been, at least
	end      int64 // of the last of them
}

// stretch is an interval of the trace, until the last of its marks is passed.
type stretch struct {
	amounts
	marks    int  // not passed yet
	reported bool // a reported transaction was made durable in it
	foreign  bool // one that is not reported was, or a log grew that is not analyzed
}

// rotationSyncs is how many binlog syncs of a rotation the trace counts: of the
// end of one file and of the beginning of the next, and in MariaDB of the
// checkpoint that follows (sql/log.cc, TC_LOG_BINLOG::mark_xid_done). MariaDB's
// own count of groups has none of them.
func (tr *trace) rotationSyncs() int64 {
	switch {
	case tr.lastLog == nil || tr.lastLog.Flavor != parser.MariaDB:
		return 2
	case tr.header.Source == "status" && tr.header.Settings["performance_schema"] != "ON":
		return 0
	default:
		return 3
	}
}

// durableSyncs is how many of a sample's syncs made transactions durable, if
// any was written.
func (m *mark) durableSyncs() int64 {
	if m.syncs == 0 {
		return 0
	}
	return max(m.syncs-m.rotations, 1)
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

// before reports whether the log was written before another one.
func (n logName) before(o logName) bool { return n.base == o.base && n.number < o.number }

// unnamed reports whether the trace does not say which log it was.
func (n logName) unnamed() bool { return n.base == "" || n.base == "." }

// encryptedHeader is how much longer than its positions an encrypted binlog of
// MySQL is (sql/rpl_log_encryption.h).
const encryptedHeader = 512

func newTrace(h *iosample.Header, next func() *iosample.Interval, logs []string) *trace {
	tr := &trace{
		header: h, next: next, events: h.Source == "bpf",
		queues: map[logName][]*mark{}, inodes: map[logName]uint64{}, encrypted: map[logName]bool{},
	}
	if logs != nil {
		tr.logs = map[logName]bool{}
	}
	for _, l := range logs {
		tr.logs[nameOfLog(l)] = true
	}
	tr.usage.byClass = map[iosample.Class]*classUsage{}
	return tr
}

// analyzed reports whether a log is one of those that are read.
func (tr *trace) analyzed(n logName) bool { return tr.logs == nil || tr.logs[n] }

// of finds the mark of a transaction that ended in its log. covered is false
// where the trace cannot tell: the transaction was written before it began, or
// after it ended. One that is covered and has no mark was durable by none.
func (tr *trace) of(t *parser.Txn) (m *mark, covered bool) {
	if t.Log != tr.lastLog {
		tr.enter(t.Log)
	}
	if !tr.opened {
		tr.read()
	}
	for {
		// Before marks are asked for, which a live trace may have to wait for.
		if tr.floor != nil && tr.reaches(tr.floor, t) {
			tr.below = true
			return nil, false
		}
		m := tr.current()
		switch {
		case m == nil:
			return nil, tr.written(t)
		case tr.reaches(m, t):
			m.skip = m.skip || tr.events && tr.groups && m.no == 1 && tr.floor != nil && tr.below && !tr.settled
			return m, !m.skip
		}
		tr.pass(tr.queue())
	}
}

// enter goes on to another log. Syncs of the logs before made nothing more
// durable.
func (tr *trace) enter(l *parser.Log) {
	tr.lastLog, tr.log = l, nameOfLog(l.Name)
	for name, marks := range tr.queues {
		if tr.events && name.before(tr.log) {
			for range marks {
				tr.pass(name)
			}
		}
	}
}

// queue is the name of the queue that the marks of the log are in.
func (tr *trace) queue() logName {
	if tr.events {
		return tr.log
	}
	return logName{}
}

// reaches tells whether a mark is at the end of t or behind it.
func (tr *trace) reaches(m *mark, t *parser.Txn) bool {
	switch {
	case tr.byTime:
		return m.time >= t.Time()
	case m.log.unnamed() || m.log == tr.log:
		return m.size-tr.margin(tr.log) >= t.End
	default:
		return tr.log.before(m.log)
	}
}

// margin is what the file of a log is longer than its positions.
func (tr *trace) margin(log logName) int64 {
	encrypted, known := tr.encrypted[log]
	if encrypted || !known && tr.header.Settings["binlog_encryption"] == "ON" {
		return encryptedHeader
	}
	return 0
}

// written reports whether t, which no mark reaches, was written before the
// trace ended.
func (tr *trace) written(t *parser.Txn) bool {
	switch {
	case !tr.events:
		return false
	case tr.newest.size == 0:
		// The trace does not say how far the log was written. Where each group is
		// synced it was hardly further.
		return tr.no > 0 && tr.header.Settings["sync_binlog"] != "1"
	default:
		return tr.reaches(&tr.newest, t)
	}
}

// current gives the first mark of the log that has not been passed, nil where
// there are no more: the trace has ended, or a later log was written and synced.
// One of the two does not do: syncs that last long are told of late, and for a
// moment an inode is taken for the log that has it next.
func (tr *trace) current() *mark {
	name := tr.queue()
	for len(tr.queues[name]) == 0 {
		if tr.events && tr.log.before(tr.newest.log) && tr.log.before(tr.synced) || !tr.read() {
			return nil
		}
	}
	return tr.queues[name][0]
}

// pass leaves the first mark of a queue behind.
func (tr *trace) pass(queue logName) {
	m := tr.queues[queue][0]
	tr.queues[queue] = tr.queues[queue][1:]
	tr.leave(m)
}

// leave books a mark whose transactions are known.
func (tr *trace) leave(m *mark) {
	s := m.stretch
	switch {
	case m.reported > 0 && !m.skip:
		s.reported = true
		tr.book(m)
	case m.members > 0 || tr.elsewhere(m):
		s.foreign = true
	case !tr.events && !m.grown && tr.counting:
		// Nothing was written, so these are the last syncs of what was before.
		tr.durable += min(m.syncs, tr.marked-tr.durable)
	}
	tr.counting = tr.counting && !m.grown || m.reported > 0 && !m.unsure && m.reported == m.members
	if m.members > 0 && tr.events {
		tr.madeSyncs++
		if m.end == m.size-tr.margin(m.log) {
			tr.exactEnds++
		}
	}
	s.marks--
	tr.settle()
}

// book counts the syncs of a mark that made reported transactions durable.
func (tr *trace) book(m *mark) {
	if tr.events {
		tr.durable++
		tr.marked += m.members
		if m.latency > 0 {
			tr.bySize.add(m.members, m.latency)
			if tr.header.ClockOffset != 0 { // else its time is none
				tr.latencyOverTime.add(m.time, m.latency/1000)
			}
		}
		return
	}
	if m.unsure || m.reported < m.members {
		tr.loose += m.reported
		return
	}
	n := m.durableSyncs()
	tr.durable += n
	tr.marked += m.members
	tr.checked++
	if n+1 < m.proven { // one may have been counted in the sample before
		tr.tooFew++
	}
}

// elsewhere reports whether a mark without transactions is of a part of the
// log that was not read, or of another log.
func (tr *trace) elsewhere(m *mark) bool {
	switch {
	case tr.byTime, m.log.unnamed(), !tr.events && !m.grown:
		return false
	case !tr.analyzed(m.log):
		return true
	default: // behind the last transaction a log may have events that are none
		length, known := tr.lengths[m.log]
		return known && m.size-tr.margin(m.log) > length
	}
}

// take gives a transaction to its mark; splits is whether it is proven not to
// have shared a sync with all of those that the mark has.
func (tr *trace) take(m *mark, t *parser.Txn, reported, splits bool) {
	if at := t.Time(); m.members == 0 && at > 0 && m.time > 0 && (tr.header.ClockOffset != 0 || !tr.events) {
		tr.delays.add(int64(m.time - at))
	}
	if m.members == 0 || splits {
		m.proven++
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
	first := !tr.opened
	if first {
		tr.opened = true
		tr.open(v)
	}
	s := &stretch{}
	binlog := tr.usage.begin(v, tr.header, &s.amounts)
	tr.stretches = append(tr.stretches, s)
	before := tr.newest
	if v.Sample != nil {
		tr.look(v.Sample)
	}
	switch {
	case tr.events:
		syncs := 0
		for i := range v.Syncs {
			if e := &v.Syncs[i]; e.Class == iosample.Binlog {
				syncs++
				tr.mark(s, e)
			}
		}
		tr.settled = tr.settled || !first && tr.no == 0 && syncs == 0 && tr.newest == before
	case v.Sample != nil:
		m := tr.newest
		tr.no++
		m.no, m.time, m.syncs, m.stretch = tr.no, parser.Micros(v.Sample.Time.UnixMicro()), binlog, s
		tr.otherNames = tr.otherNames || !m.log.unnamed() && m.log.base != tr.log.base
		m.grown = before.size == 0 || m.log != before.log || m.size != before.size
		if tr.floor == nil { // what came before the first sample is not known
			m.syncs = 0
			tr.floor = &m
		} else if before.size != 0 && m.log.number > before.log.number {
			m.rotations = (m.log.number - before.log.number) * tr.rotationSyncs()
			// Counters by file see nothing of a new binlog until they are opened.
			m.unsure = tr.header.Source == "perf" && s.syncs[unattributedClass] > 0
			for n := before.log.number; n <= m.log.number; n++ {
				m.unsure = m.unsure || !tr.analyzed(logName{m.log.base, n})
			}
		}
		m.unsure = m.unsure || v.Sample.Gap != ""
		s.marks++
		tr.queues[logName{}] = append(tr.queues[logName{}], &m)
	}
	tr.settle()
	return true
}

// unattributedClass is the place of iosample.Unattributed among the classes.
var unattributedClass = slices.Index(iosample.Classes, iosample.Unattributed)

// mark makes a mark of a sync. One of a log that is not analyzed is passed at
// once; one without a name is of the only log there is.
func (tr *trace) mark(s *stretch, e *iosample.SyncEvent) {
	tr.no++
	at := time.Unix(0, e.Mono+tr.header.ClockOffset).UnixMicro()
	m := &mark{no: tr.no, log: nameOfLog(e.Name), size: e.Size, time: parser.Micros(at), latency: e.Latency, stretch: s}
	if m.log.unnamed() && len(tr.logs) == 1 {
		for m.log = range tr.logs {
		}
	}
	s.marks++
	tr.synced = m.log
	if !tr.analyzed(m.log) {
		tr.otherNames = tr.otherNames || m.log.base != tr.log.base
		tr.leave(m)
		return
	}
	tr.queues[m.log] = append(tr.queues[m.log], m)
}

// settle books the stretches whose marks have all been passed, in their order.
func (tr *trace) settle() {
	n := 0
	for n < len(tr.stretches) && tr.stretches[n].marks == 0 {
		tr.usage.book(tr.stretches[n])
		n++
	}
	tr.stretches = tr.stretches[n:]
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
		if f.Class != iosample.Binlog {
			continue
		}
		n := nameOfLog(f.Name)
		if f.Encrypted != nil {
			tr.encrypted[n] = *f.Encrypted
		}
		// A log that is begun has a higher number than those before it, except
		// after RESET.
		ino, seen := tr.inodes[n]
		switch {
		case seen && (ino != f.Ino || n == tr.newest.log && f.Size != 0 && f.Size < tr.newest.size),
			!seen && n.base == tr.newest.log.base && n.number < tr.newest.log.number && tr.usage.samples > 0:
			tr.reset = parser.Micros(s.Time.UnixMicro())
		}
		tr.inodes[n] = f.Ino
		if f.Size != 0 && (n.number > tr.newest.log.number || n == tr.newest.log || tr.newest.size == 0) {
			tr.newest.log, tr.newest.size = n, f.Size
		}
	}
}

// finish reads the trace to its end. logs are those that were analyzed.
func (tr *trace) finish(logs []*parser.Log) {
	tr.lengths = map[logName]int64{}
	for _, l := range logs {
		tr.lengths[nameOfLog(l.Name)] = l.Bytes
	}
	for more := true; more; more = tr.read() {
		for name, marks := range tr.queues {
			for range marks {
				tr.pass(name)
			}
		}
	}
	tr.usage.finish()
}

// delays are how long after a commit its sync began, or the sample came that
// counted it, in microseconds.
type delays struct {
	count [gapBins]int
	n     int
}

func (d *delays) add(delay int64) {
	if delay < 0 {
		delay = -delay
	}
	d.n++
	d.count[gapBin(delay)]++
}

// usual is the median distance between the two.
func (d *delays) usual() time.Duration {
	if d.n == 0 {
		return 0
	}
	return time.Duration(binMiddle(binRank(&d.count, 0.5))) * time.Microsecond
}
