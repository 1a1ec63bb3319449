package loadgen

import (
	"bytes"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// maxLine is how much of a line is kept: more than any that matters has.
const maxLine = 4096

// Scanner finds the last summary in output that passes through it, of which it
// keeps no more than a line. Its zero value is ready. It is not safe for
// concurrent use.
type Scanner struct {
	line    []byte   // that has begun, at most maxLine of it
	section section  // that the line is in
	run     run      // that is being read
	last    *Summary // of the last run before that has one
}

// run is one run of a load generator, as far as it has been read.
type run struct {
	Summary
	found bool // it has figures
	idle  bool // it had no events, and so no latencies, for which sysbench has 0
	// partial: sysbench's --report-checkpoints gives several reports, of which each
	// counts from the one before. Those are added up in before.
	partial bool
	before  *Summary
}

// section is a part of a summary, by its heading.
type section int

const (
	none       section = iota
	statements         // sysbench's SQL statistics
	general            // its General statistics, which 1.1 calls Throughput
	latency
	slap // all that mysqlslap says
)

var sections = map[string]section{
	"SQL statistics:":     statements,
	"General statistics:": general,
	"Throughput:":         general,
	"Latency (ms):":       latency,
	"Benchmark":           slap,
}

// Write looks at output. It never fails.
func (s *Scanner) Write(p []byte) (int, error) {
	n := len(p)
	for {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			s.keep(p)
			return n, nil
		}
		s.keep(p[:i])
		p = p[i+1:]
		s.take(string(s.line))
		s.line = s.line[:0]
	}
}

func (s *Scanner) keep(p []byte) {
	s.line = append(s.line, p[:min(len(p), maxLine-len(s.line))]...)
}

// Summary gives the last summary in what was written, nil where there is none.
// More may be written then.
func (s *Scanner) Summary() *Summary {
	end := *s
	end.take(string(end.line)) // though it may go on
	end.begin(Summary{})
	return end.last
}

// begin begins another run.
func (s *Scanner) begin(as Summary) {
	if s.run.found {
		last := s.run.whole()
		s.last = &last
	}
	s.run = run{Summary: as}
}

// take looks at a whole line.
func (s *Scanner) take(line string) {
	line = strings.TrimRight(line, " \r")
	if line == "" {
		return
	}
	if line[0] != ' ' && line[0] != '\t' {
		s.heading(line)
		return
	}
	// Such as "    transactions:   4000   (3978.28 per sec.)".
	key, value, ok := strings.Cut(strings.TrimLeft(line, " \t"), ":")
	fields := strings.Fields(value)
	if !ok || len(fields) == 0 {
		return
	}
	switch s.section {
	case none:
	case statements:
		s.statements(key, fields)
	case general:
		switch key {
		case "total time", "time elapsed":
			s.number(&s.run.Seconds, strings.TrimSuffix(fields[0], "s"))
		case "total number of events":
			s.run.idle = fields[0] == "0"
		}
	case latency:
		if !s.run.idle {
			s.latency(key, fields[0])
		}
	case slap:
		s.slap(key, fields[0])
	}
}

var (
	sysbenchBegins = regexp.MustCompile(`^sysbench (\d[\w.+-]*)`)
	checkpoint     = regexp.MustCompile(`^\[ \d+s \] Checkpoint report:$`)
	// csv is engine, load, mean, least and most seconds, clients, queries of each.
	csv = regexp.MustCompile(`^[\w:.-]*,(?:mixed|update|write|key|read|query),(\d+\.\d{3}),\d+\.\d{3},\d+\.\d{3},(\d+),(\d+)$`)
)

// heading looks at a line that is not indented.
func (s *Scanner) heading(line string) {
	s.section = sections[line]
	switch s.section {
	case statements:
		s.report()
		return
	case slap:
		s.begin(Summary{Tool: "mysqlslap"})
		return
	case general, latency:
		if s.run.Tool != "sysbench" {
			s.section = none // of another program
		}
		return
	case none:
	}
	if m := sysbenchBegins.FindStringSubmatch(line); m != nil {
		s.begin(Summary{Tool: "sysbench", Version: m[1]})
		return
	}
	if m := csv.FindStringSubmatch(line); m != nil {
		s.begin(Summary{Tool: "mysqlslap"})
		s.number(&s.run.Seconds, m[1])
		s.count(&s.run.Clients, m[2])
		s.queriesOfEach(m[3])
		return
	}
	if clients, ok := strings.CutPrefix(line, "Number of threads: "); ok && s.run.Tool == "sysbench" && !s.run.found {
		s.run.Clients = count(clients)
		return
	}
	s.run.partial = s.run.partial || checkpoint.MatchString(line)
}

// report begins a report of sysbench's. Where the run has one already, this is
// a further one of it, or of a run whose beginning was not printed.
func (s *Scanner) report() {
	r := &s.run
	as := Summary{Tool: "sysbench", Version: r.Version, Clients: r.Clients}
	switch {
	case r.Tool != "sysbench":
		s.begin(Summary{Tool: "sysbench"})
	case r.found && r.partial:
		before := r.whole()
		*r = run{Summary: as, partial: true, before: &before}
	case r.found:
		s.begin(as)
	}
}

func (s *Scanner) statements(key string, fields []string) {
	r := &s.run
	switch key {
	case "read":
		s.count(&r.Reads, fields[0])
	case "write":
		s.count(&r.Writes, fields[0])
	case "other":
		s.count(&r.Other, fields[0])
	case "transactions":
		s.count(&r.Transactions, fields[0])
		if len(fields) > 1 {
			s.number(&r.TPS, strings.TrimPrefix(fields[1], "("))
		}
	case "queries":
		s.count(&r.Queries, fields[0])
	case "ignored errors":
		s.count(&r.Errors, fields[0])
	case "reconnects":
		s.count(&r.Reconnects, fields[0])
	}
}

func (s *Scanner) latency(key, value string) {
	r := &s.run
	switch key {
	case "min":
		s.number(&r.LatencyMin, value)
	case "avg":
		s.number(&r.LatencyAvg, value)
	case "max":
		s.number(&r.LatencyMax, value)
	}
	rank, ok := strings.CutSuffix(key, "th percentile")
	if n := count(rank); ok && n != nil && *n <= 100 && r.Percentile == nil {
		if s.number(&r.Percentile, value); r.Percentile != nil {
			r.PercentileRank = n
		}
	}
}

func (s *Scanner) slap(key, value string) {
	switch key {
	case "Average number of seconds to run all queries":
		s.number(&s.run.Seconds, value)
	case "Number of clients running queries":
		s.count(&s.run.Clients, value)
	case "Average number of queries per client":
		s.queriesOfEach(value)
	}
}

// queriesOfEach takes how many queries each of mysqlslap's clients makes, which
// is 0 where it was not told how many to make.
func (s *Scanner) queriesOfEach(value string) {
	each, clients := count(value), s.run.Clients
	if each == nil || clients == nil || *each == 0 || *clients == 0 || *each > math.MaxInt64 / *clients {
		return
	}
	s.run.Queries = new(*each * *clients)
}

// count sets a count, where text is one.
func (s *Scanner) count(to **int64, text string) {
	if n := count(text); n != nil {
		*to, s.run.found = n, true
	}
}

// number sets a number, where text is one.
func (s *Scanner) number(to **float64, text string) {
	x, err := strconv.ParseFloat(text, 64)
	if err == nil && digits(strings.Replace(text, ".", "", 1)) {
		*to, s.run.found = &x, true
	}
}

// count reads digits, nil where there are others.
func count(text string) *int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || !digits(text) {
		return nil
	}
	return &n
}

// digits holds that no sign, no exponent and no NaN is taken for a figure.
func digits(text string) bool {
	return strings.Trim(text, "0123456789") == ""
}

// whole is what all reports of a run say together.
func (r *run) whole() Summary {
	s := r.Summary
	b := r.before
	if b == nil {
		return s
	}
	s.Transactions = sum(s.Transactions, b.Transactions)
	s.Queries = sum(s.Queries, b.Queries)
	s.Reads = sum(s.Reads, b.Reads)
	s.Writes = sum(s.Writes, b.Writes)
	s.Other = sum(s.Other, b.Other)
	s.Errors = sum(s.Errors, b.Errors)
	s.Reconnects = sum(s.Reconnects, b.Reconnects)
	if s.LatencyMin != nil && b.LatencyMin != nil {
		s.LatencyMin = new(min(*s.LatencyMin, *b.LatencyMin))
	}
	if s.LatencyMax != nil && b.LatencyMax != nil {
		s.LatencyMax = new(max(*s.LatencyMax, *b.LatencyMax))
	}
	// These do not add up.
	s.TPS, s.LatencyAvg, s.Percentile, s.PercentileRank = nil, nil, nil, nil
	return s
}

// sum is nil where one is not known, or the two are beyond any run.
func sum(a, b *int64) *int64 {
	if a == nil || b == nil || *a > math.MaxInt64-*b {
		return nil
	}
	return new(*a + *b)
}
