package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"bgcstat/analysis"
	"bgcstat/parser/iosample"
	"bgcstat/report"
)

// watchScreen shows what watch sees. begin is called first, and end last.
type watchScreen interface {
	begin(s *watchState)
	line(s *watchState) error
	event(e watchEvent) error
	end(s *watchState, r *analysis.Result) error
}

// watchLine is what grew since the line before.
type watchLine struct {
	seconds      float64
	transactions int64
	bytes        int64
	lower, upper int64
	runs         int64
	groups       *lineGroups // nil where not known
	flush        *lineGroups
}

// lineGroups are the groups that ended since the line before.
type lineGroups struct {
	count, transactions, max, alone int64
	basis                           analysis.Basis
	method                          analysis.Method
}

// since compares two states.
func (s *watchState) since(before *watchState) watchLine {
	a, b := &before.live, &s.live
	return watchLine{
		seconds:      s.time.Sub(before.time).Seconds(),
		transactions: b.Transactions - a.Transactions, bytes: b.Bytes - a.Bytes,
		lower: b.Lower - a.Lower, upper: b.Upper - a.Upper, runs: b.LastCommittedRuns - a.LastCommittedRuns,
		groups: newGroups(a.Sync, b.Sync), flush: newGroups(a.Flush, b.Flush),
	}
}

// fewAgain is how many transactions in other groups than before are always few.
const fewAgain = 64

func inGroups(g *analysis.LiveGroups) (n int64) {
	for _, bin := range g.Sizes {
		n += bin.Size * bin.Groups
	}
	return n
}

// newGroups gives the groups of b that are not in a. An estimate may since have
// found others in what it had before: nil where these are many, since they are
// not what ended. Those that became fewer are none.
func newGroups(a, b *analysis.LiveGroups) *lineGroups {
	if b == nil || a != nil && (a.Method != b.Method || a.Basis != b.Basis) {
		return nil
	}
	if a == nil {
		a = &analysis.LiveGroups{}
	}
	g := &lineGroups{basis: b.Basis, method: b.Method}
	for _, bin := range b.Sizes {
		n := bin.Groups
		if i, ok := slices.BinarySearchFunc(a.Sizes, bin.Size, func(x analysis.HistogramBin, size int64) int { return int(x.Size - size) }); ok {
			n -= a.Sizes[i].Groups
		}
		if n <= 0 {
			continue
		}
		g.count += n
		g.transactions += n * bin.Size
		g.max = bin.Size
		if bin.Size == 1 {
			g.alone = n
		}
	}
	if again := g.transactions - (inGroups(b) - inGroups(a)); again > fewAgain && 4*again > g.transactions {
		return nil
	}
	return g
}

// watchText prints lines of 79 columns, like iostat.
type watchText struct {
	w        *bufio.Writer
	last     *watchState
	lines    int
	tracking string
	basis    string
}

func newWatchText(w io.Writer) *watchText { return &watchText{w: bufio.NewWriter(w)} }

// watchHeader stands above the lines.
const watchHeader = `            trx  groups ---- group size ---- - syncs per second -    p99    lag
time         /s      /s    mean   max alone% binlog   redo  other     ms      s
`

func (t *watchText) begin(s *watchState) { t.last = s }

func (t *watchText) line(s *watchState) error {
	l := s.since(t.last)
	t.changes(s)
	t.last = s
	if t.lines%linesPerHeader == 0 {
		_, _ = t.w.WriteString(watchHeader)
	}
	t.lines++
	groups, mean, most, alone := "-", "-", "-", "-"
	if g := l.groups; g != nil {
		mark := ""
		if g.basis == analysis.Estimated {
			mark = "~"
		}
		groups = mark + rate(g.count, l.seconds)
		if g.count > 0 {
			mean = mark + digits(float64(g.transactions)/float64(g.count), 2)
			most = mark + digits(float64(g.max), 0)
			alone = mark + digits(100*float64(g.alone)/float64(g.transactions), 1)
		}
	}
	binlog, redo, other, p99 := "-", "-", "-", "-"
	if c := s.counts; c != nil {
		binlog, redo = c.class(iosample.Binlog), c.class(iosample.Redo)
		other = c.class(iosample.Doublewrite, iosample.Data, iosample.Undo, iosample.Relay, iosample.Other, iosample.Unattributed)
		_, p99 = c.latencies()
	}
	lag := "-"
	if s.lag != nil {
		lag = digits(*s.lag, 3)
	}
	fmt.Fprintf(t.w, "%s %6s %7s %7s %5s %6s %6s %6s %6s %6s %6s\n", s.time.Local().Format(time.TimeOnly),
		rate(l.transactions, l.seconds), groups, mean, most, alone, binlog, redo, other, p99, lag)
	if c := s.counts; c != nil && c.gap != "" {
		fmt.Fprintf(t.w, "%s %s\n", s.time.Local().Format(time.TimeOnly), report.Printable(c.gap))
	}
	return t.w.Flush()
}

// changes says what the figures rest on, when that is new.
func (t *watchText) changes(s *watchState) {
	now := s.time.Local().Format(time.TimeOnly)
	basis := "of the groups only bounds are known"
	if g := s.live.Sync; g != nil {
		basis = fmt.Sprintf("groups are %s, by %s", g.Basis, g.Method)
	}
	if basis != t.basis && s.live.Transactions > 0 {
		t.basis = basis
		fmt.Fprintf(t.w, "%s %s\n", now, basis)
	}
	if s.live.Observed == "" {
		return
	}
	if tracking := fmt.Sprintf("%s (%s)", s.live.Observed, s.live.Certainty); tracking != t.tracking {
		t.tracking = tracking
		fmt.Fprintf(t.w, "%s dependency tracking: %s\n", now, tracking)
	}
}

func (t *watchText) event(e watchEvent) error {
	fmt.Fprintf(t.w, "%s %s\n", e.time.Local().Format(time.TimeOnly), report.Printable(e.text))
	return t.w.Flush()
}

func (t *watchText) end(s *watchState, r *analysis.Result) error {
	fmt.Fprintln(t.w)
	if err := t.w.Flush(); err != nil {
		return err
	}
	if err := report.Text(t.w, r); err != nil {
		return err
	}
	if c := s.counts; r.IO == nil && c != nil && c.at > c.began {
		fmt.Fprintf(t.w, "\n%s by %s (%s)\n", report.Duration(float64(c.at-c.began)/1e9), c.source, words(s.header.Exactness))
		c.sums(t.w, s.header)
	}
	if n := s.stream.Reconnects; n > 0 {
		fmt.Fprintf(t.w, "%s reconnects\n", report.Count(n))
	}
	return t.w.Flush()
}

// watchJSON prints an object a line.
type watchJSON struct {
	to   *json.Encoder
	last *watchState
}

func newWatchJSON(w io.Writer) *watchJSON {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return &watchJSON{to: e}
}

func (j *watchJSON) begin(s *watchState) { j.last = s }

// Lines of JSON. Rates are left to the reader, who has the counts and seconds.
type (
	jsonLine struct {
		Type              string           `json:"type"` // "interval"
		Time              analysis.Time    `json:"time"`
		Seconds           float64          `json:"seconds"`
		Position          string           `json:"position"`
		Transactions      int64            `json:"transactions"`
		Bytes             int64            `json:"bytes"`
		Sync              *jsonGroups      `json:"sync,omitempty"`
		Flush             *jsonGroups      `json:"flush,omitempty"`
		Bound             analysis.Bound   `json:"bound"`
		LastCommittedRuns int64            `json:"last_committed_runs,omitempty"`
		Observed          string           `json:"observed,omitempty"`
		Certainty         string           `json:"certainty,omitempty"`
		Syncs             map[string]int64 `json:"syncs,omitempty"`
		SyncSeconds       float64          `json:"sync_seconds,omitempty"` // that they were counted over
		SyncSource        string           `json:"sync_source,omitempty"`
		SyncExactness     string           `json:"sync_exactness,omitempty"`
		SyncGap           string           `json:"sync_gap,omitempty"` // why syncs may be missing
		BinlogSyncP50     int64            `json:"binlog_sync_p50_ns,omitempty"`
		BinlogSyncP99     int64            `json:"binlog_sync_p99_ns,omitempty"`
		Lag               *float64         `json:"lag_seconds,omitempty"`
		Connected         bool             `json:"connected"`
		Reconnects        int64            `json:"reconnects"` // since the start
	}
	jsonGroups struct {
		Count        int64           `json:"count"`
		Transactions int64           `json:"transactions"`
		Max          int64           `json:"max"`
		Alone        int64           `json:"alone"`
		Basis        analysis.Basis  `json:"basis"`
		Method       analysis.Method `json:"method"`
	}
	jsonEvent struct {
		Type    string        `json:"type"` // "event"
		Time    analysis.Time `json:"time"`
		Kind    string        `json:"kind"`
		Message string        `json:"message"`
	}
	jsonSummary struct {
		Type        string           `json:"type"` // "summary"
		Time        analysis.Time    `json:"time"`
		Reconnects  int64            `json:"reconnects"`
		Syncs       map[string]int64 `json:"syncs,omitempty"`
		SyncSeconds float64          `json:"sync_seconds,omitempty"`
		Result      *analysis.Result `json:"result"`
	}
)

func (g *lineGroups) json() *jsonGroups {
	if g == nil {
		return nil
	}
	return &jsonGroups{g.count, g.transactions, g.max, g.alone, g.basis, g.method}
}

func (j *watchJSON) line(s *watchState) error {
	l := s.since(j.last)
	j.last = s
	out := jsonLine{
		Type: "interval", Time: analysis.Time{Time: s.time.UTC()}, Seconds: l.seconds,
		Position:     fmt.Sprintf("%s:%d", s.stream.File, s.stream.Offset),
		Transactions: l.transactions, Bytes: l.bytes, Sync: l.groups.json(), Flush: l.flush.json(),
		Bound: analysis.Bound{Lower: l.lower, Upper: l.upper}, LastCommittedRuns: l.runs,
		Observed: string(s.live.Observed), Certainty: string(s.live.Certainty),
		Lag: s.lag, Connected: s.stream.Connected, Reconnects: s.stream.Reconnects,
	}
	if c := s.counts; c != nil && c.seconds() > 0 {
		out.SyncSource, out.SyncExactness = s.header.Source, string(s.header.Exactness)
		out.SyncGap = strings.ToValidUTF8(c.gap, "?")
		if c.counts {
			out.Syncs, out.SyncSeconds = c.byName(c.syncs), c.seconds()
		}
		if len(c.latency) > 0 {
			slices.Sort(c.latency)
			out.BinlogSyncP50, out.BinlogSyncP99 = nearest(c.latency, 0.5), nearest(c.latency, 0.99)
		}
	}
	return j.to.Encode(out)
}

// byName has a number for each class that is counted: none was seen of one with
// 0, and of one that is missing nothing is known. The kernel sees all.
func (s *syncCounts) byName(counts map[iosample.Class]int64) map[string]int64 {
	out := map[string]int64{}
	if s.source != "status" {
		out[string(iosample.Binlog)], out[string(iosample.Redo)] = 0, 0
	}
	for c := range s.total {
		out[string(c)] = counts[c]
	}
	return out
}

func (j *watchJSON) event(e watchEvent) error {
	return j.to.Encode(jsonEvent{"event", analysis.Time{Time: e.time.UTC()}, e.kind, strings.ToValidUTF8(e.text, "?")})
}

func (j *watchJSON) end(s *watchState, r *analysis.Result) error {
	out := jsonSummary{Type: "summary", Time: analysis.Time{Time: s.time.UTC()}, Reconnects: s.stream.Reconnects, Result: r}
	if c := s.counts; c != nil && c.counts {
		out.Syncs, out.SyncSeconds = c.byName(c.total), float64(c.at-c.began)/1e9
	}
	return j.to.Encode(out)
}
