package html

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"bgcstat/analysis"
	"bgcstat/report"
)

// How many rows of a table are shown. All of them are in report.json.
const (
	mostSizes     = 25
	mostTables    = 50
	mostSources   = 50
	mostStretches = 20
	mostClasses   = 16
)

// tables are those of the figures, as far as the result has them.
func tables(r *analysis.Result) []*table {
	var out []*table
	if r.Transactions == 0 {
		return nil
	}
	for _, t := range []*table{
		groupsTable(r), sizesTable(r), savingsTable(r.Saved), syncsTable(r.IO), latencyTable(r.IO), cpuTable(r.IO),
		transactionSizes(r.Sizes), changesTable(r.Tables), largestTable(r.Sizes), trackingTable(r),
	} {
		if t != nil {
			out = append(out, t)
		}
	}
	return out
}

func groupsTable(r *analysis.Result) *table {
	t := &table{ID: "groups", Title: "Groups", Head: columns("groups", "number|number", "interval|number", "mean|number", "p50|number", "p95|number", "p99|number", "max|number", "alone|number", "basis")}
	size := func(s *analysis.GroupSize) []text {
		if s == nil {
			return []text{nil, nil, nil, nil, nil, nil}
		}
		return []text{
			words("%.2f", s.Mean), words("%s", report.Count(s.P50)), words("%s", report.Count(s.P95)),
			words("%s", report.Count(s.P99)), words("%s", report.Count(s.Max)), words("%s", report.Percent(s.AloneShare)),
		}
	}
	add := func(what string, g *analysis.GroupStats) {
		if g == nil {
			return
		}
		var count, interval text
		if g.Count != nil {
			count = words("%s", report.Count(*g.Count))
		}
		if g.Count == nil || g.Low != g.High {
			interval = words("%s to %s", report.Count(g.Low), report.Count(g.High))
		}
		cells := append([]text{words("%s", what), count, interval}, size(g.Size)...)
		t.row(append(cells, words("%s", g.Basis))...)
	}
	add("sync groups", r.Groups.Sync)
	add("flush groups", r.Groups.Flush)
	if lc := r.Groups.LastCommitted; lc != nil {
		var count text
		if lc.Distinct != nil {
			count = words("%s", report.Count(*lc.Distinct))
		}
		cells := append([]text{words("last_committed groups"), count, nil}, size(lc.Size)...)
		t.row(append(cells, words("%s", lc.Basis))...)
		t.after("last_committed groups are transactions of one file with the same last_committed, which are commit groups only by luck.")
	}
	if len(t.Rows) == 0 {
		return nil
	}
	t.after("Sizes are in transactions. Percentiles run over groups; alone is the share of transactions whose group has only them.")
	return t
}

// sizesTable sets the histograms side by side.
func sizesTable(r *analysis.Result) *table {
	t := &table{ID: "sizes", Title: "Groups by size"}
	heads := []string{"transactions in the group|number"}
	var all [][]analysis.HistogramBin
	add := func(head string, h []analysis.HistogramBin) {
		if len(h) > 0 {
			heads = append(heads, head+"|number")
			all = append(all, h)
		}
	}
	if g := r.Groups.Sync; g != nil {
		add("sync groups", g.Histogram)
	}
	if g := r.Groups.Flush; g != nil {
		add("flush groups", g.Histogram)
	}
	if g := r.Groups.LastCommitted; g != nil {
		add("last_committed groups (legacy)", g.Histogram)
	}
	if len(all) == 0 {
		return nil
	}
	t.Head = columns(heads...)
	set := map[int64]bool{}
	for _, h := range all {
		for _, b := range h {
			set[b.Size] = true
		}
	}
	sizes := slices.Sorted(maps.Keys(set))
	rows := len(sizes)
	if rows > mostSizes {
		rows = mostSizes - 1 // the last holds the rest
	}
	cells := func(label string, in func(size int64) bool) {
		row := []text{words("%s", label)}
		for _, h := range all {
			n, any := int64(0), false
			for _, b := range h {
				if in(b.Size) {
					n, any = n+b.Groups, true
				}
			}
			if any {
				row = append(row, words("%s", report.Count(n)))
			} else {
				row = append(row, nil)
			}
		}
		t.row(row...)
	}
	for _, s := range sizes[:rows] {
		cells(report.Count(s), func(size int64) bool { return size == s })
	}
	if rest := sizes[rows:]; len(rest) > 0 {
		cells(report.Count(rest[0])+" to "+report.Count(rest[len(rest)-1]), func(size int64) bool { return size >= rest[0] })
	}
	return t
}

func savingsTable(s *analysis.Saved) *table {
	if s == nil || s.Binlog == nil && s.Redo == nil {
		return nil
	}
	t := &table{ID: "savings", Title: "Syncs saved", Head: columns("log|value", "alone|number", "grouped|number", "interval|number", "saved by grouping|number", "share|number", "saved by sync_binlog|number", "basis", "method")}
	add := func(what string, b *analysis.SavedSync) {
		if b == nil {
			return
		}
		var grouped, interval, saved, more text
		share := words("at most %s", report.Percent(b.ShareMax))
		if b.Grouped != nil {
			grouped = words("%s", report.Count(*b.Grouped))
		}
		if b.GroupedLow != b.GroupedHigh {
			interval = words("%s to %s", report.Count(b.GroupedLow), report.Count(b.GroupedHigh))
		}
		if b.SavedByGrouping != nil {
			saved = words("%s", report.Count(*b.SavedByGrouping))
		} else {
			saved = words("%s to %s", report.Count(b.SavedByGroupingMin), report.Count(b.SavedByGroupingMax))
		}
		if b.Share != nil {
			share = words("%s", report.Percent(*b.Share))
		}
		if b.SavedBySyncBinlog != nil && s.Assumes.SyncBinlog > 1 {
			more = words("%s", report.Count(*b.SavedBySyncBinlog))
		}
		t.row(words("%s", what), words("%s", report.Count(b.Alone)), grouped, interval, saved, share, more, words("%s", b.Basis), words("%s", b.Method))
		if l := b.FromLog; l != nil {
			var count, interval text
			if l.Count != nil {
				count = words("%s", report.Count(*l.Count))
			}
			if l.Low != l.High {
				interval = words("%s to %s", report.Count(l.Low), report.Count(l.High))
			}
			t.row(words("%s, by the log alone", what), words("%s", report.Count(b.Alone)), count, interval, nil, nil, nil, words("%s", l.Basis), words("%s", l.Method))
		}
	}
	add("binlog", s.Binlog)
	add("redo", s.Redo)
	flush := ""
	if n := s.Assumes.FlushLogAtTrxCommit; n != nil {
		flush = fmt.Sprintf(" and innodb_flush_log_at_trx_commit=%d", *n)
	}
	t.after("Alone is the syncs that each transaction alone would have needed at sync_binlog=%d%s (%s), grouped those that its groups needed.", s.Assumes.SyncBinlog, flush, origin(s.Assumes.From))
	return t
}

func seconds(v *float64) text {
	if v == nil || !report.Finite(*v) || *v < 0 {
		return nil
	}
	return words("%s", report.Short(*v))
}

func syncsTable(io *analysis.IO) *table {
	if io == nil {
		return nil
	}
	t := &table{ID: "syncs", Title: "Syncs that were counted", Head: columns("class", "syncs|number", "exactness", "p50|number", "p99|number", "mean|number")}
	classes := report.Ordered(io.Syncs)
	for _, c := range classes {
		if t.full(mostClasses, len(classes)) {
			break
		}
		s := io.Syncs[c]
		l := s.Latency
		if l == nil {
			l = &analysis.SyncLatency{}
		}
		t.row(words("%s", c), words("%s", report.Count(s.Count)), words("%s", report.Exactness(s.Exactness)), seconds(l.P50), seconds(l.P99), seconds(l.Mean))
	}
	if len(io.Syncs) == 0 {
		t.after("This source counts no syncs.")
	}
	var whole []string
	for _, c := range classes {
		if l := io.Syncs[c].Latency; l != nil && l.Of > 0 {
			whole = append(whole, fmt.Sprintf("%s of %s", c, plural(l.Of, "sync")))
		}
	}
	if len(whole) > 0 {
		t.after("Some latencies are of all of the trace: %s.", strings.Join(whole, ", "))
	}
	if n := io.BinlogSyncsDurable; n != nil {
		s := plural(*n, "binlog sync") + " made reported transactions durable"
		switch others := io.Syncs["binlog"].Count - *n; {
		case others == 1:
			s += "; the other is of a rotation, FLUSH LOGS or the like"
		case others > 1:
			s += "; the others are of rotation, FLUSH LOGS and the like"
		}
		s += "."
		if per := io.TransactionsPerBinlogSync; per != nil && report.Finite(*per) {
			s += fmt.Sprintf(" There were %.2f transactions for each.", *per)
		}
		if n := io.DurableByNoneYet; n != nil && *n > 0 {
			s += fmt.Sprintf(" No sync had reached %s when the trace ended.", plural(*n, "transaction"))
		}
		t.after("%s", s)
	}
	for _, d := range io.DeviceFlushes {
		t.After = append(t.After, append(append(text{{Text: "The disk "}}, names(d.Device)...), span{Text: fmt.Sprintf(" had %s, by whatever program. They are not syncs: one sync makes 0 to 3 of them.", flushes(d.Count))}))
	}
	for _, r := range io.Refused {
		t.after("Not counted by %s: %s.", r.Source, r.Why)
	}
	return t
}

func flushes(n int64) string {
	if n == 1 {
		return "1 flush request"
	}
	return report.Count(n) + " flush requests"
}

func latencyTable(io *analysis.IO) *table {
	if io == nil || len(io.LatencyBySize) == 0 {
		return nil
	}
	t := &table{ID: "latency", Title: "How long binlog syncs took, by group size", Head: columns("transactions made durable|number", "syncs|number", "p50|number", "p99|number")}
	for _, b := range io.LatencyBySize {
		if t.full(mostSizes, len(io.LatencyBySize)) {
			break
		}
		sizes := report.Count(b.From)
		if b.To != b.From {
			sizes += " to " + report.Count(b.To)
		}
		t.row(words("%s", sizes), words("%s", report.Count(b.Syncs)), seconds(&b.P50), seconds(&b.P99))
	}
	return t
}

// cpuTable has what the host and the server did with the CPUs.
func cpuTable(io *analysis.IO) *table {
	if io == nil || io.CPU == nil {
		return nil
	}
	c := io.CPU
	t := &table{ID: "cpu", Title: "CPU", Head: columns("of|value", "user|number", "system|number", "iowait|number", "idle|number", "steal|number", "basis")}
	share := func(v float64) text {
		if s, ok := report.CPUShare(v); ok {
			return words("%s", s)
		}
		return nil
	}
	t.row(words("the host, of its %s", plural(int64(c.CPUs), "CPU")), share(c.User), share(c.System), share(c.IOWait), share(c.Idle), share(c.Steal), words("measured"))
	if _, ok := report.ServerCPUs(&c.CPUUse); ok {
		t.row(words("the server, in CPUs"), words("%.2f", *c.ServerUser), words("%.2f", *c.ServerSystem), nil, nil, nil, words("measured"))
	}
	t.after("Means over the time of the trace. Iowait is time in which a CPU had nothing to do while a disk was waited for. One CPU of the server is a second of its threads in a second.")
	return t
}

func transactionSizes(s *analysis.Sizes) *table {
	if s == nil {
		return nil
	}
	t := &table{ID: "transaction-size", Title: "Transaction size", Head: columns("mean|number", "p50|number", "p95|number", "p99|number", "max|number")}
	b := s.Bytes
	t.row(words("%s", report.Bytes(int64(b.Mean))), words("%s", report.Bytes(b.P50)), words("%s", report.Bytes(b.P95)), words("%s", report.Bytes(b.P99)), words("%s", report.Bytes(b.Max)))
	return t
}

func changesTable(stats []analysis.TableStats) *table {
	if len(stats) == 0 {
		return nil
	}
	t := &table{ID: "changes", Title: "Tables changed", Head: columns("table|name", "transactions|number", "insert events|number", "update events|number", "delete events|number")}
	for _, s := range stats {
		if t.full(mostTables, len(stats)) {
			break
		}
		t.row(names(s.Table), words("%s", report.Count(s.Transactions)), words("%s", report.Count(s.InsertEvents)), words("%s", report.Count(s.UpdateEvents)), words("%s", report.Count(s.DeleteEvents)))
	}
	return t
}

func largestTable(s *analysis.Sizes) *table {
	if s == nil || len(s.Largest) == 0 || s.Bytes.Max == s.Bytes.P50 && s.Largest[0].Bytes == s.Largest[len(s.Largest)-1].Bytes {
		return nil // none is larger than the others
	}
	t := &table{ID: "largest", Title: "Largest transactions", Head: columns("at|name", "bytes|number", "tables|name", "GTID|name")}
	for _, l := range s.Largest {
		t.row(place(l.Position), words("%s", report.Count(l.Bytes)), names(l.Tables...), names(l.GTID))
	}
	t.after("bgcstat dump, mysqlbinlog and mariadb-binlog find them by these positions.")
	return t
}

func trackingTable(r *analysis.Result) *table {
	d := r.DependencyTracking
	if d.ServerMode == analysis.ModeNone && len(d.Stretches) == 0 {
		return nil
	}
	t := &table{ID: "tracking", Title: "Dependency tracking", Head: columns("from|name", "to|name", "transactions|number", "observed", "certainty")}
	if d.ServerMode == analysis.ModeUnknown || d.ServerMode == "" {
		t.Before = "What mode the server had is not known. What the log itself shows:"
	} else {
		t.Before = fmt.Sprintf("The server's mode is %s, by its %s. What the log itself shows:", d.ServerMode, d.From)
	}
	for _, s := range d.Stretches {
		if t.full(mostStretches, len(d.Stretches)) {
			break
		}
		t.row(place(s.Start), place(s.End), words("%s", report.Count(s.Transactions)), words("%s", s.Observed), words("%s", s.Certainty))
		why := append(words("From "), place(s.Start)...)
		why = append(why, span{Text: " on: "})
		for i, e := range s.Evidence {
			if i > 0 {
				why = append(why, span{Text: " "})
			}
			why = append(why, span{Text: fmt.Sprintf("%s by the rule %s, such as ", report.Count(e.Count), e.Rule)})
			why = append(why, place(e.Earlier)...)
			why = append(why, span{Text: " and "})
			why = append(why, place(e.Later)...)
			why = append(why, span{Text: ": " + e.Why + "."})
		}
		if s.Reason != "" {
			if len(s.Evidence) > 0 {
				why = append(why, span{Text: " "})
			}
			why = append(why, span{Text: sentence(s.Reason)})
		}
		if len(s.Evidence) > 0 || s.Reason != "" {
			t.After = append(t.After, why)
		}
	}
	if len(d.Stretches) > 0 && report.InLogs(r) > r.Transactions {
		t.after("These are counts over all transactions of the logs, reported or not.")
	}
	if len(d.Stretches) == 0 {
		t.Before = fmt.Sprintf("The server's mode is %s. The log shows nothing of it.", report.Tracking(d))
	}
	if p := r.SerializationPoints; p != nil {
		must := "transactions must wait for the one"
		if p.Count == 1 {
			must = "transaction must wait for the one"
		}
		t.after("%s %s just before, after one that need not: %s.", report.Count(p.Count), must, p.Causes())
	}
	return t
}

// sentence makes one of words that begin in lower case.
func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] + "." }

// settings are the server's, and the logs with what wrote them.
func settings(r *analysis.Result) []*table {
	s := &table{ID: "server-settings", Title: "Settings of the server", Head: columns("variable|name", "value|name")}
	if r.IO != nil {
		for _, n := range slices.Sorted(maps.Keys(r.IO.Settings)) {
			if t := s; t.full(2*mostSources, len(r.IO.Settings)) {
				break
			}
			s.row(names(n), names(r.IO.Settings[n]))
		}
	}
	if len(s.Rows) == 0 {
		s.After = nil
		s.Before = "No log holds them. A trace that bgcstat sample takes with a connection to the server does."
	}
	l := &table{ID: "logs", Title: "Logs", Head: columns("log|name", "written by|value", "kind", "server_id|number", "bytes|number", "events|number", "transactions|number", "state|prose")}
	for _, src := range r.Sources {
		if l.full(mostSources, len(r.Sources)) {
			break
		}
		state := "complete"
		switch {
		case !src.Complete:
			state = "damaged"
		case src.Open:
			state = "still open"
		}
		if src.Error != "" {
			state += ": " + src.Error
		}
		l.row(names(src.File), names(server(src)), words("%s", src.Kind), words("%d", src.ServerID), words("%s", report.Count(src.Bytes)), words("%s", report.Count(src.Events)), words("%s", report.Count(src.Transactions)), words("%s", state))
	}
	if len(l.Rows) == 0 {
		l.Before = "None were read."
	}
	return []*table{s, l}
}

func server(s analysis.Source) string {
	switch s.Flavor {
	case "":
		return "not known"
	case "mysql":
		return "MySQL " + s.ServerVersion
	case "mariadb":
		return "MariaDB " + s.ServerVersion
	default:
		return s.Flavor + " " + s.ServerVersion
	}
}
