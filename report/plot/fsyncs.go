package plot

import (
	"fmt"
	"strconv"
	"strings"

	"bgcstat/analysis"
)

// comparison is the syncs of one log: of the binlog, or of redo.
type comparison struct {
	name    string // of the log
	color   string
	assumes analysis.Assumes
	*analysis.SavedSync
}

// measured says whether the syncs that the groups needed were counted.
func (c comparison) measured() bool {
	return c.Basis == analysis.Measured || c.Method == analysis.Traced || c.Method == analysis.FsyncCount
}

// known says whether there is something to compare.
func (c comparison) known() bool {
	if c.SavedSync == nil || c.Alone <= 0 {
		return false
	}
	if c.Grouped != nil {
		return *c.Grouped >= 0 && c.SavedByGrouping != nil && c.Share != nil && finite(*c.Share)
	}
	return c.GroupedLow >= 0 && c.GroupedHigh > 0 && c.GroupedLow <= c.GroupedHigh && finite(c.ShareMax)
}

// needed is what the groups needed, by one way to tell.
type needed struct {
	count     *int64 // nil where only the interval is known
	low, high int64
	basis     analysis.Basis
	method    analysis.Method
}

func (c comparison) grouped() needed {
	return needed{c.Grouped, c.GroupedLow, c.GroupedHigh, c.Basis, c.Method}
}

// byLog is what the log alone gives, and false where that is not known.
func (c comparison) byLog() (needed, bool) {
	if !c.measured() {
		return c.grouped(), true
	}
	l := c.FromLog
	if l == nil || l.Count != nil && *l.Count < 0 || l.Count == nil && (l.Low < 0 || l.High < l.Low) {
		return needed{}, false
	}
	return needed{l.Count, l.Low, l.High, l.Basis, l.Method}, true
}

// isInterval says whether the numbers are more than a point.
func (n needed) isInterval() bool {
	return n.low >= 0 && n.high > n.low && (n.count == nil || n.low <= *n.count && *n.count <= n.high)
}

func (n needed) inWords() string {
	switch {
	case n.count == nil:
		return fmt.Sprintf("%s to %s (%s)", count(n.low), count(n.high), basis(n.basis, n.method))
	case n.isInterval():
		return fmt.Sprintf("%s, between %s and %s (%s)", count(*n.count), count(n.low), count(n.high), basis(n.basis, n.method))
	default:
		return fmt.Sprintf("%s (%s)", count(*n.count), basis(n.basis, n.method))
	}
}

func fsyncs(r *analysis.Result) (*Figure, string) {
	if r.Saved == nil || r.Saved.Binlog == nil && r.Saved.Redo == nil {
		return nil, notSaved(r)
	}
	var logs []comparison
	for _, c := range []comparison{
		{"binlog", blue, r.Saved.Assumes, r.Saved.Binlog},
		{"redo", vermillion, r.Saved.Assumes, r.Saved.Redo},
	} {
		if c.known() {
			logs = append(logs, c)
		}
	}
	if len(logs) == 0 {
		if r.Saved.Assumes.SyncBinlog == 0 {
			return nil, "at sync_binlog=0 the server syncs no binlog on commit"
		}
		if b := r.Saved.Binlog; b != nil && b.Alone == 0 {
			return nil, fmt.Sprintf("at sync_binlog=%d so few transactions need no sync", r.Saved.Assumes.SyncBinlog)
		}
		return nil, "the number of syncs that the groups needed is not known"
	}

	f := &Figure{Title: logs[0].title(), Subtitle: []string{assumptions(r.Saved.Assumes)}}
	for i, c := range logs {
		s := c.inWords()
		if i > 0 {
			s = c.title() + ". " + s
		}
		f.Subtitle = append(f.Subtitle, s)
	}

	greatest := int64(0)
	for _, c := range logs {
		greatest = max(greatest, c.Alone, c.greatest())
	}
	div, word := large(float64(greatest))
	const headRoom = 0.22 // for labels of three lines
	p := Panel{Y: linear(float64(greatest)/div, headRoom, div == 1), Height: 230}
	p.Y.Label, p.Y.Unit = "syncs to make these transactions durable", "number"
	if word != "" {
		p.Y.Unit = word
	}
	f.X = Axis{Label: "number of syncs, and how it is known", Unit: "basis above"}
	d := drawing{figure: f, panel: &p, div: div}
	for i, c := range logs {
		if i > 0 {
			d.at += 0.3 // apart from the other log
		}
		d.draw(c)
	}
	// Few bars would be as wide as the picture.
	const fewest = 4.5
	margin := max(0, fewest-d.at) / 2
	f.X.Min, f.X.Max = -margin, d.at+margin
	f.Panels = []Panel{p}
	f.Reading = "The first bar of each log is what every transaction alone would have cost, the others what was needed with groups, estimated from the log and, with a trace, measured: the lower they are, the more was saved. A bracket is a range that the true number lies in."
	f.Alt = "Bar chart of fsyncs with and without groups."
	for _, c := range logs {
		f.Alt += " " + c.title() + "."
	}
	return f, ""
}

// notSaved says why nothing is known of the syncs saved.
func notSaved(r *analysis.Result) string {
	for _, w := range r.Warnings {
		switch w.Code {
		case "sync-binlog-unknown":
			return "sync_binlog is not known"
		case "filtered":
			return "filters chose a part of the transactions, and syncs are of all"
		}
	}
	switch {
	case r.Transactions == 0:
		return "there are no transactions"
	case r.Groups.Sync == nil:
		return "the number of sync groups is not known"
	case len(r.Sources) > 0 && r.Sources[len(r.Sources)-1].Kind == "relay log":
		return "a relay log does not tell how the server that wrote it commits"
	default:
		return "sync_binlog is not known"
	}
}

// greatest is the greatest number of syncs that is drawn.
func (c comparison) greatest() int64 {
	most := int64(0)
	ways := []needed{c.grouped()}
	if l, ok := c.byLog(); ok {
		ways = append(ways, l)
	}
	for _, n := range ways {
		if n.count != nil {
			most = max(most, *n.count)
		}
		if n.isInterval() || n.count == nil {
			most = max(most, n.high)
		}
	}
	return most
}

// title is what group commit saved, and how that is known.
func (c comparison) title() string {
	firm := string(c.Basis)
	if c.measured() {
		firm = "measured"
	}
	between := fmt.Sprintf("%s to %s", count(c.SavedByGroupingMin), count(c.SavedByGroupingMax))
	switch {
	case c.Grouped == nil && c.SavedByGroupingMax <= 0:
		return fmt.Sprintf("Group commit saved no %s fsyncs: 0 of %s, %s", c.name, count(c.Alone), firm)
	case c.Grouped == nil:
		return fmt.Sprintf("Group commit saved at most %s of %s fsyncs: %s of %s, %s", tenths(c.ShareMax), c.name, between, count(c.Alone), firm)
	case *c.Grouped > c.Alone && c.SavedByGroupingMax <= 0:
		return fmt.Sprintf("Group commit saved no %s fsyncs: %s, where transactions alone need %s, %s", c.name, count(*c.Grouped), count(c.Alone), firm)
	}
	saved, share := count(*c.SavedByGrouping), tenths(*c.Share)+" of"
	if *c.SavedByGrouping <= 0 {
		saved, share = "0", "no"
	}
	if c.SavedByGroupingMin < c.SavedByGroupingMax {
		saved += " (" + between + ")"
	}
	return fmt.Sprintf("Group commit saved %s %s fsyncs: %s of %s, %s", share, c.name, saved, count(c.Alone), firm)
}

func assumptions(a analysis.Assumes) string {
	s := "Each transaction alone: the syncs that the same settings would have needed without groups, from the number of transactions (basis exact) and sync_binlog=" + count(a.SyncBinlog)
	if a.SyncBinlog > 1 {
		s = strings.Replace(s, "basis exact", "basis estimated, to one sync", 1)
	}
	if a.FlushLogAtTrxCommit != nil {
		s += " and innodb_flush_log_at_trx_commit=" + count(*a.FlushLogAtTrxCommit)
	}
	from := shorten(a.From, 40)
	if from == "" {
		from = "not stated"
	}
	return s + " (known from: " + from + ")."
}

// inWords gives the numbers of the bars.
func (c comparison) inWords() string {
	name := strings.ToUpper(c.name[:1]) + c.name[1:] + " fsyncs"
	s := name
	switch l, ok := c.byLog(); {
	case !c.measured():
		s += " that the groups needed, by the log alone: " + l.inWords() + ". It was not measured."
	case ok:
		s += " that the groups needed: measured " + c.grouped().inWords() + ", by the log alone " + l.inWords() + "."
	default:
		s += " that the groups needed: measured " + c.grouped().inWords() + ". The log alone does not give their number."
	}
	if n := c.SavedBySyncBinlog; n != nil && *n > 0 && c.assumes.SyncBinlog > 1 {
		s += fmt.Sprintf(" Beside what groups saved, sync_binlog=%s saved %s more.", count(c.assumes.SyncBinlog), count(*n))
	}
	return s
}

// drawing places bars from the left.
type drawing struct {
	figure *Figure
	panel  *Panel
	div    float64
	at     float64
}

func (d *drawing) draw(c comparison) {
	bars := Series{Label: c.name + " fsyncs", Kind: Filled, Color: c.color}
	intervals := Series{Kind: Interval, Color: black}
	add := func(what string, n needed, firm string) {
		b := Bar{From: d.at, To: d.at + 1, Label: firm}
		d.figure.X.Ticks = append(d.figure.X.Ticks, Tick{At: d.at + 0.5, Label: what + "\n" + c.name})
		d.at++
		interval := fitting(n.low, n.high)
		if n.count != nil {
			b.Value = float64(*n.count) / d.div
			point := b
			point.Label = fitting(*n.count) + "\n" + firm
			if n.isInterval() {
				b.Label = fitting(*n.count) + "\n" + interval + "\n" + firm
				point.Label = "" // it stands above the bracket
			}
			bars.Bars = append(bars.Bars, point)
		} else {
			b.Label = interval + "\n" + firm
		}
		if n.isInterval() || n.count == nil {
			b.Low, b.Value = float64(n.low)/d.div, float64(n.high)/d.div
			intervals.Bars = append(intervals.Bars, b)
		}
	}

	alone := string(analysis.Exact)
	if c.assumes.SyncBinlog > 1 && c.name == "binlog" {
		alone = string(analysis.Estimated)
	}
	add("each alone", needed{count: &c.Alone}, alone)
	if l, ok := c.byLog(); ok {
		add("by the log", l, shorten(string(l.basis), 16))
	}
	if c.measured() {
		add("measured", c.grouped(), "measured")
	}
	d.panel.Series = append(d.panel.Series, bars)
	if len(intervals.Bars) > 0 {
		d.panel.Series = append(d.panel.Series, intervals)
	}
}

// fitting writes one or two numbers so that they have room on the narrowest of
// these bars.
func fitting(numbers ...int64) string {
	const narrowest = 76 // points
	var all, short []string
	for _, n := range numbers {
		all = append(all, count(n))
		short = append(short, strconv.FormatFloat(float64(n), 'g', 3, 64))
	}
	s := strings.Join(all, "–")
	if textWidth(s, smallSize, false) > narrowest {
		s = strings.Join(short, "–")
	}
	return s
}
