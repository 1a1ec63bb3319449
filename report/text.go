package report

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"bgcstat/analysis"
)

const (
	textTables    = 5 // rows of a table in the summary
	textSources   = 3
	textStretches = 3
	barWidth      = 30
	maxBars       = 16 // of one size each; else so many, and ranges
	singleBars    = 10
)

// Text writes a summary of r that fits a terminal of 80 columns: the answer
// first, each figure with its basis, the warnings last.
func Text(w io.Writer, r *analysis.Result) error {
	t := &textReport{bufio.NewWriter(w)}
	t.sources(r)
	if r.Transactions > 0 {
		t.figures(r)
		t.groupSizes(r)
		t.transactionSizes(r)
		t.tables(r)
	}
	t.warnings(r)
	return t.w.Flush()
}

type textReport struct{ w *bufio.Writer }

func (t *textReport) printf(format string, args ...any) { fmt.Fprintf(t.w, format, args...) }

// row prints a figure: its name, its value, and what the value rests on.
func (t *textReport) row(name, value, basis string) {
	line := fmt.Sprintf("%-15s %s", name, value)
	if basis != "" {
		line = fmt.Sprintf("%-54s %s", line, basis)
	}
	t.printf("%s\n", strings.TrimRight(line, " "))
}

func (t *textReport) sources(r *analysis.Result) {
	for i, s := range r.Sources {
		if i == textSources && len(r.Sources) > textSources+1 {
			t.printf("... and %d more logs\n", len(r.Sources)-i)
			break
		}
		server := "no format event"
		if s.Flavor != "" {
			name := "MySQL"
			if s.Flavor == "mariadb" {
				name = "MariaDB"
			}
			version, _, _ := strings.Cut(Printable(s.ServerVersion), "-MariaDB") // and what follows of its packaging
			server = fmt.Sprintf("%s of %s %s, server_id %d", s.Kind, name, shorten(version, 24), s.ServerID)
		}
		state := ""
		switch {
		case !s.Complete:
			state = ", DAMAGED"
		case s.Open:
			state = ", still open"
		}
		t.printf("%s: %s, %s%s\n", Printable(s.File), server, Bytes(s.Bytes), state)
	}
	if win := r.Window; win != nil {
		t.printf("%s\n", WindowInWords(win))
	}
	var given []string
	for _, g := range GivenFilters(r.Filters) {
		given = append(given, g.Name+" "+Printable(strings.Join(g.Values, ", ")))
	}
	if len(given) > 0 {
		t.printf("%s\n", Wrap("only "+strings.Join(given, "; "), 80, "  "))
	}
}

// GivenFilter is a filter that the user has given, and its values.
type GivenFilter struct {
	Name   string
	Values []string
}

// GivenFilters lists those of a result; nil has none.
func GivenFilters(f *analysis.Filters) []GivenFilter {
	if f == nil {
		return nil
	}
	position := func(n int64) string {
		if n == 0 {
			return ""
		}
		return strconv.FormatInt(n, 10)
	}
	all := []GivenFilter{
		{"from", []string{f.StartDatetime}},
		{"before", []string{f.StopDatetime}},
		{"from position", []string{position(f.StartPosition)}},
		{"before position", []string{position(f.StopPosition)}},
		{"GTIDs", []string{f.IncludeGTIDs}},
		{"without GTIDs", []string{f.ExcludeGTIDs}},
		{"databases", f.Databases},
		{"tables", f.Tables},
	}
	return slices.DeleteFunc(all, func(g GivenFilter) bool { return len(g.Values) == 0 || g.Values[0] == "" })
}

// WindowInWords says from when to when a window is, and how long that is, as
// far as its clock tells it.
func WindowInWords(win *analysis.Window) string {
	length := Duration(win.Seconds)
	if win.Clock == analysis.ClockHeader && win.Seconds < 1 {
		length = "within 1 s"
	}
	return fmt.Sprintf("%s to %s UTC (%s)", Stamp(win.Start, win.Clock), Stamp(win.End, win.Clock), length)
}

// Stamp writes a time of a window in UTC, as finely as its clock tells it.
func Stamp(at analysis.Time, clock string) string {
	if clock == analysis.ClockHeader {
		return at.UTC().Format(time.DateTime)
	}
	return at.UTC().Format(time.DateTime + ".000")
}

func (t *textReport) figures(r *analysis.Result) {
	t.printf("\n")
	rate := ""
	// Header times are whole seconds, so that a window of two may be one of one
	// or three; and nothing is a rate that was over in a few milliseconds.
	if win := r.Window; win != nil && win.Seconds >= 0.01 {
		about, each := "", float64(r.Transactions)/win.Seconds
		if win.Clock == analysis.ClockHeader && win.Seconds < 60 {
			about = "about "
			if each >= 1 {
				each = math.Round(each)
			}
		}
		rate = fmt.Sprintf(", %s%s", about, perSecond(each))
	}
	of := ""
	if n := InLogs(r); n > r.Transactions {
		of = fmt.Sprintf("of %s in the logs", Count(n))
	}
	t.row("transactions", fmt.Sprintf("%s%s, %s", Count(r.Transactions), rate, Bytes(r.Bytes)), of)
	if g := r.Groups.Sync; g != nil {
		t.groups("sync groups", g)
		switch {
		case g.Size != nil:
			t.row("group size", fmt.Sprintf("mean %.2f, max %d, alone %s", g.Size.Mean, g.Size.Max, Percent(g.Size.AloneShare)), basis(g))
		case g.Low > 0:
			t.row("group size", fmt.Sprintf("mean 1.00 to %.2f", float64(g.High)/float64(g.Low)), basis(g))
		}
	}
	if g := r.Groups.Flush; g != nil {
		t.groups("flush groups", g)
	}
	if b, g := r.Groups.Bound, r.Groups.Sync; b != nil && g != nil && g.Basis != analysis.Exact && g.Basis != analysis.Bounded {
		t.row("bound", fmt.Sprintf("%s to %s sync groups", Count(b.Lower), Count(b.Upper)), "proven")
	}
	if lc := r.Groups.LastCommitted; lc != nil {
		distinct := "uncounted"
		if lc.Distinct != nil {
			distinct = Count(*lc.Distinct) + " distinct"
		}
		t.row("last_committed", fmt.Sprintf("%s, %s", distinct, plural(lc.Runs, "run")), "legacy: not commit groups")
	}
	if s := r.Saved; s != nil {
		t.saved(s)
	}
	if r.IO != nil {
		t.syncs(r.IO)
	}
	c := r.Clock
	clock := string(c.Verdict)
	if c.TransactionsWith > 0 && c.TransactionsWithout > 0 {
		clock += fmt.Sprintf(" (%s transactions without)", Count(c.TransactionsWithout))
	}
	mode, from := r.DependencyTracking.ServerMode, "by "+r.DependencyTracking.From
	if mode == analysis.ModeUnknown {
		from = ""
	}
	if c.Verdict != analysis.NoClock || r.Groups.LastCommitted != nil || mode != analysis.ModeNone {
		t.row("clock", clock, "")
		t.row("tracking mode", mode, from)
	}
	t.observed(r)
	if s := AloneInWords(r); s != "" {
		t.printf("\n%s\n", Wrap(s, 80, ""))
	}
}

// InLogs is how many transactions the logs hold, which may be more than are
// reported.
func InLogs(r *analysis.Result) int64 {
	n := int64(0)
	for _, s := range r.Sources {
		n += s.Transactions
	}
	return n
}

// observed prints what the log itself shows of dependency tracking, which is
// told from all of its transactions.
func (t *textReport) observed(r *analysis.Result) {
	d := r.DependencyTracking
	for i, s := range d.Stretches {
		if i == textStretches {
			t.row("", fmt.Sprintf("and %d more stretches", len(d.Stretches)-i), "")
			return
		}
		name := "tracking"
		if i > 0 {
			name = "then"
		}
		why := string(s.Certainty)
		if s.Certainty == analysis.Proven {
			var counts []string
			for _, e := range s.Evidence {
				counts = append(counts, Count(e.Count)+" "+e.Rule)
			}
			why += " by " + strings.Join(counts, ", ")
		}
		t.row(name, string(s.Observed), why)
		if i > 0 {
			t.printf("%-15s from %s:%d on\n", "", Printable(s.Start.File), s.Start.Position)
		}
		if s.Certainty == analysis.Proven && len(s.Evidence) > 0 {
			e := s.Evidence[0]
			t.printf("%-15s such as %s:%d and :%d\n", "", Printable(e.Earlier.File), e.Earlier.Position, e.Later.Position)
		}
		if s.Certainty == analysis.Proven && InLogs(r) > r.Transactions {
			t.printf("%-15s counted over all %s transactions there, reported or not\n", "", Count(s.Transactions))
		}
		if s.Reason != "" {
			t.printf("%-15s %s\n", "", strings.ReplaceAll(Wrap(s.Reason, 64, ""), "\n", "\n"+strings.Repeat(" ", 16)))
		}
	}
}

// Tracking says what the server says of its dependency tracking, and where
// that is known from.
func Tracking(d analysis.DependencyTracking) string {
	if d.ServerMode == analysis.ModeUnknown {
		return "unknown"
	}
	return fmt.Sprintf("%s (by %s)", d.ServerMode, d.From)
}

func (t *textReport) groups(name string, g *analysis.GroupStats) {
	value := fmt.Sprintf("%s to %s", Count(g.Low), Count(g.High))
	if g.Count != nil {
		value = Count(*g.Count)
		if g.Low != g.High {
			value += fmt.Sprintf(" (%s to %s)", Count(g.Low), Count(g.High))
		}
	}
	t.row(name, value, basis(g))
}

func basis(g *analysis.GroupStats) string { return fmt.Sprintf("%s, by %s", g.Basis, g.Method) }

// saved prints what group commit saved, and, where that is measured, what the
// log alone gives.
func (t *textReport) saved(s *analysis.Saved) {
	if b := s.Binlog; b != nil {
		value := SavedInWords(b)
		if s.Assumes.SyncBinlog == 0 {
			value = "none are made on commit"
		}
		t.row("fsyncs saved", value, fmt.Sprintf("%s; sync_binlog=%d: %s", b.Basis, s.Assumes.SyncBinlog, s.Assumes.From))
		if n := b.SavedBySyncBinlog; n != nil && *n > 0 && s.Assumes.SyncBinlog > 0 {
			t.row("", fmt.Sprintf("and %s by sync_binlog=%d", Count(*n), s.Assumes.SyncBinlog), "")
		}
		t.fromLog(b.FromLog)
	}
	if b := s.Redo; b != nil {
		t.row("redo saved", SavedInWords(b), fmt.Sprintf("%s, by %s", b.Basis, b.Method))
		t.fromLog(b.FromLog)
	}
}

// SavedInWords says how many of the syncs were saved, with the interval where
// there is one.
func SavedInWords(b *analysis.SavedSync) string {
	switch {
	case b.SavedByGrouping == nil || b.Share == nil:
		return fmt.Sprintf("0 to %s of %s (at most %s)", Count(b.SavedByGroupingMax), Count(b.Alone), Percent(b.ShareMax))
	case b.SavedByGroupingMin != b.SavedByGroupingMax:
		return fmt.Sprintf("%s of %s, %s (%s)", Count(*b.SavedByGrouping), Count(b.Alone), Percent(*b.Share), SavedShares(b))
	default:
		return fmt.Sprintf("%s of %s (%s)", Count(*b.SavedByGrouping), Count(b.Alone), Percent(*b.Share))
	}
}

// SavedShares says between which shares of the syncs the saved ones are, in
// percent.
func SavedShares(b *analysis.SavedSync) string {
	low := float64(b.SavedByGroupingMin) / float64(max(b.Alone, 1))
	return decimal(100*low, 1) + " to " + decimal(100*b.ShareMax, 1)
}

// groupSizes draws the sizes of the groups that are known: a bar for each, or for
// each of the first ones and then for ranges.
func (t *textReport) groupSizes(r *analysis.Result) {
	g := r.Groups.Sync
	if g == nil || len(g.Histogram) < 2 {
		return
	}
	t.printf("\nsync groups by size, in transactions (%s)\n", basis(g))
	type bar struct{ from, to, groups int64 }
	var bars []bar
	greatest, most := g.Histogram[len(g.Histogram)-1].Size, int64(0)
	for _, b := range g.Histogram {
		next := bar{b.Size, b.Size, 0}
		if greatest > maxBars && b.Size > singleBars {
			next.from, next.to = sizeRange(b.Size)
		}
		if n := len(bars); n == 0 || bars[n-1].from != next.from {
			bars = append(bars, next)
		}
		last := &bars[len(bars)-1]
		last.groups += b.Groups
		most = max(most, last.groups)
	}
	for _, b := range bars {
		label := strconv.FormatInt(b.from, 10)
		if b.from != b.to {
			label += "-" + strconv.FormatInt(min(b.to, greatest), 10)
		}
		width := int(min(max(float64(b.groups)/float64(max(most, 1)), 0), 1) * barWidth)
		if b.groups > 0 && width == 0 {
			width = 1
		}
		t.printf("%11s %9s  %s\n", label, Count(b.groups), strings.Repeat("#", width))
	}
}

// sizeRange is the range of sizes that a size is in: they end at 20, 50, 100 and
// so on.
func sizeRange(size int64) (from, to int64) {
	from = singleBars + 1
	for unit := int64(10); ; unit *= 10 {
		for _, n := range []int64{2, 5, 10} {
			to = n * unit
			if size <= to || to > math.MaxInt64/10 {
				return from, to
			}
			from = to + 1
		}
	}
}

func (t *textReport) transactionSizes(r *analysis.Result) {
	if r.Sizes == nil {
		return
	}
	s := r.Sizes.Bytes
	t.printf("\ntransaction size  mean %s, p50 %s, p95 %s, p99 %s, max %s\n",
		Bytes(int64(s.Mean)), Bytes(s.P50), Bytes(s.P95), Bytes(s.P99), Bytes(s.Max))
	if s.Max > s.P50 && len(r.Sizes.Largest) > 0 {
		l := r.Sizes.Largest[0]
		line := fmt.Sprintf("largest           %s at %s:%d  %s", Bytes(l.Bytes), Printable(l.File), l.Position.Position, Printable(strings.Join(l.Tables, ", ")))
		t.printf("%s\n", strings.TrimRight(line, " "))
	}
}

func (t *textReport) tables(r *analysis.Result) {
	if len(r.Tables) == 0 {
		return
	}
	t.printf("\n%-40s %9s %9s %9s %9s\n", "table, with row events by kind", "in trans.", "insert", "update", "delete")
	for i, s := range r.Tables {
		if i == textTables && len(r.Tables) > textTables+1 {
			t.printf("... and %d more tables\n", len(r.Tables)-i)
			break
		}
		t.printf("%-40s %9s %9s %9s %9s\n", shorten(Printable(s.Table), 40), Count(s.Transactions), Count(s.InsertEvents), Count(s.UpdateEvents), Count(s.DeleteEvents))
	}
}

// marks stand before warnings.
var marks = [...]string{Grave: "!", Doubt: "?", Note: "-"}

func (t *textReport) warnings(r *analysis.Result) {
	if len(r.Warnings) > 0 {
		t.printf("\n")
	}
	for _, w := range ByWeight(r.Warnings) {
		where, message := "", w.Message
		switch {
		case w.Count > 1 && w.At != nil:
			where = fmt.Sprintf(" (%s times, first at %s:%d)", Count(w.Count), Printable(w.At.File), w.At.Position)
		case w.At != nil:
			where = fmt.Sprintf(" at %s:%d", Printable(w.At.File), w.At.Position)
		case OfTransactions(w):
			message = Count(w.Count) + " " + message
		case w.Count > 1:
			where = fmt.Sprintf(" (%s times)", Count(w.Count))
		}
		t.printf("%s\n", Wrap(fmt.Sprintf("%s %s%s: %s", marks[WeightOf(w.Code)], w.Code, where, Printable(message)), 80, "  "))
	}
}

// OfTransactions says whether the count of w is of the transactions that its
// message begins with.
func OfTransactions(w analysis.Warning) bool {
	return w.Count > 1 && w.At == nil && strings.HasPrefix(w.Message, "transactions ")
}

// Wrap breaks s at spaces so that no line has more than width columns, where
// its words allow, and indents all lines but the first.
func Wrap(s string, width int, indent string) string {
	var b strings.Builder
	column := 0
	for word := range strings.FieldsSeq(s) {
		n := len([]rune(word))
		switch {
		case column == 0:
		case column+1+n > width:
			b.WriteString("\n" + indent)
			column = len(indent)
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
	return b.String()
}

// Printable replaces by ? what would move a terminal's cursor or change its
// colours, and what changes the direction of text (U+202A to U+202E, U+2066 to
// U+2069): names come from logs and files, and may hold anything.
func Printable(s string) string {
	return strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return '?'
		}
		return c
	}, s)
}

func shorten(s string, width int) string {
	runes := []rune(s)
	if len(runes) <= width {
		return s
	}
	return string(runes[:width-3]) + "..."
}
