package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"bgcstat/analysis"
	"bgcstat/parser/loadgen"
)

// madeRun is a run of so many seconds, transactions, sync groups and binlog
// syncs, whose groups are all of a size or a smaller one.
func madeRun(dir, label string, clients, seconds, transactions, groups, syncs int64) analysis.RunResult {
	start := time.Date(2026, 11, 30, 14, 32, 12, 0, time.UTC)
	size := transactions / groups
	large := transactions - size*groups // groups that have one more
	r := &analysis.Result{
		SchemaVersion: 1, Sources: []analysis.Source{{File: "binlog.000001", Complete: true, Open: true}},
		Transactions: transactions, Bytes: 500 * transactions,
		Groups: analysis.Groups{
			Sync: &analysis.GroupStats{
				Count: &groups, Low: groups, High: groups, Basis: analysis.Exact, Method: analysis.Traced,
				Size:      &analysis.GroupSize{Mean: float64(transactions) / float64(groups), P95: size + 1, Max: size + 1},
				Histogram: []analysis.HistogramBin{{Size: size, Groups: groups - large}, {Size: size + 1, Groups: large}},
			},
			Flush: &analysis.GroupStats{Count: new(groups + 500), Low: groups + 300, High: groups + 600, Basis: analysis.Estimated, Method: analysis.CommitTimestamps},
		},
		IO: &analysis.IO{
			Source: "bpf", Syncs: map[string]analysis.Syncs{"binlog": {Count: syncs, Exactness: "exact"}, "redo": {Count: groups + 700, Exactness: "exact"}},
			Rates: &analysis.SyncRates{BucketSeconds: 1},
			CPU:   &analysis.CPU{CPUs: 8, CPUUse: analysis.CPUUse{User: 0.25, System: 0.125, IOWait: 0.5, Idle: 0.125, ServerUser: new(1.5), ServerSystem: new(0.5)}},
		},
		Rates:    &analysis.Rates{BucketSeconds: 1},
		Warnings: []analysis.Warning{{Code: "open-log", Message: "open", Count: 1}},
	}
	for i := range seconds {
		at := analysis.Time{Time: start.Add(time.Duration(i) * time.Second)}
		r.Rates.Series = append(r.Rates.Series, analysis.Bucket{Start: at, Transactions: transactions / seconds})
		r.IO.Rates.Series = append(r.IO.Rates.Series, analysis.SyncBucket{Start: at, Syncs: map[string]int64{"binlog": syncs / seconds}})
	}
	tps, latency := float64(transactions)/float64(seconds), 1000*float64(clients*seconds)/float64(transactions)
	run := &analysis.Run{
		SchemaVersion: 1, Label: label, Command: []string{"sysbench", fmt.Sprintf("--threads=%d", clients), "--mysql-password=***", "/home/ann/group_commit.lua", "run"},
		Start: analysis.Time{Time: start}, Seconds: float64(seconds),
		Server:   analysis.RunServer{Address: "db1.example.com", Flavor: "mysql", Version: "9.7.4", Local: true},
		Settings: map[string]string{"sync_binlog": "1", "hostname": "db1.example.com", "some_setting": "shop"},
		To:       &analysis.Position{File: "binlog.000001", Position: 4711}, Read: "files",
		Counters: map[string]int64{"Innodb_os_log_fsyncs": groups + 690},
		Load:     &loadgen.Summary{Tool: "sysbench", Version: "1.0.20", Clients: &clients, Transactions: &transactions, TPS: &tps, LatencyAvg: &latency, Errors: new(int64(0))},
	}
	return analysis.RunResult{Dir: dir, Run: run, Result: r}
}

// pair is the classic experiment: twice the clients take 20 % longer for twice
// the transactions, with 25 % more groups and 1 % more binlog syncs.
func pair() []analysis.RunResult {
	return []analysis.RunResult{madeRun("run-8", "", 8, 20, 60_000, 20_000, 20_100), madeRun("run-16", "", 16, 24, 120_000, 25_000, 20_300)}
}

func repeats() []analysis.RunResult {
	return []analysis.RunResult{
		madeRun("a/1", "8 clients", 8, 20, 60_000, 20_000, 20_100), madeRun("a/2", "8 clients", 8, 21, 60_000, 20_100, 20_300), madeRun("a/3", "8 clients", 8, 19, 60_000, 19_900, 19_000),
		madeRun("b/1", "16 clients", 16, 24, 120_000, 25_000, 20_200), madeRun("b/2", "16 clients", 16, 25, 120_000, 26_000, 20_250), madeRun("b/3", "16 clients", 16, 23, 120_000, 24_000, 20_150),
	}
}

// several are five runs, one on another server that knows little, and one that
// failed.
func several() []analysis.RunResult {
	runs := append(pair(), madeRun("run-32", "", 32, 31, 240_000, 31_000, 31_100), madeRun("run-64", "", 64, 44, 480_000, 37_000, 37_100),
		madeRun("run-128", "a name that is longer than others are", 128, 80, 960_000, 47_000, 47_100))
	runs[3].Result.IO, runs[3].Run.Load, runs[3].Run.Server.Version, runs[3].Run.Server.Local = nil, nil, "8.4.6", false
	g := runs[3].Result.Groups.Sync
	g.Low, g.High, g.Basis, g.Method = 36_000, 39_000, analysis.Estimated, analysis.CommitTimestamps
	runs[3].Run.Settings["sync_binlog"] = "100"
	runs[4].Run.Exit.Status, runs[4].Run.To = 3, nil
	return runs
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs from what is written; got\n%.4000s", file, got)
	}
}

// The comparisons are also what plots and pages are tested with.
func TestCompareGolden(t *testing.T) {
	for name, runs := range map[string][]analysis.RunResult{"compare": pair(), "compare-repeats": repeats(), "compare-several": several()} {
		c := analysis.Compare(runs)
		var text, object, table bytes.Buffer
		if err := CompareText(&text, c); err != nil {
			t.Fatal(err)
		}
		golden(t, name+".txt", text.Bytes())
		for l := range strings.Lines(text.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(l, "\n")); n > 80 && len(c.Columns) == 2 || n > 140 {
				t.Errorf("%s: a line of %d columns: %s", name, n, l)
			}
		}
		if err := CompareJSON(&object, c); err != nil {
			t.Fatal(err)
		}
		golden(t, name+".json", object.Bytes())
		var back analysis.Comparison
		if err := json.Unmarshal(object.Bytes(), &back); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := CompareCSV(&table, c); err != nil {
			t.Fatal(err)
		}
		if name == "compare" {
			golden(t, name+".csv", table.Bytes())
		}
		rows, err := csv.NewReader(&table).ReadAll()
		if err != nil || len(rows) != len(c.Figures)+2 {
			t.Errorf("%s: %d rows for %d figures, %v", name, len(rows), len(c.Figures), err)
		}
	}
}

func TestCompareHostile(t *testing.T) {
	const harm = "\x1b[2J\u202e\"<b>,\n"
	runs := pair()
	for i := range runs {
		r := &runs[i]
		r.Dir, r.Run.Label, r.Run.Command[0] = harm+fmt.Sprint(i), harm+fmt.Sprint(i), harm
		r.Run.Settings[harm], r.Run.Counters[harm], r.Run.Exit.Signal, r.Run.Server.Version = harm+fmt.Sprint(i), 7, harm, harm
		r.Run.Load.PercentileRank, r.Run.Load.Percentile = new(int64(99)), new(1e300)
	}
	c := analysis.Compare(runs)
	for _, to := range []func(*bytes.Buffer) error{
		func(b *bytes.Buffer) error { return CompareText(b, c) },
		func(b *bytes.Buffer) error { return CompareCSV(b, c) },
	} {
		var b bytes.Buffer
		if err := to(&b); err != nil {
			t.Fatal(err)
		}
		if s := b.String(); strings.ContainsAny(s, "\x1b\u202e") {
			t.Errorf("what moves a terminal's cursor is in %q", s)
		}
	}
}

func TestCompareCounterUnits(t *testing.T) {
	runs := pair()
	runs[0].Run.Counters, runs[1].Run.Counters = map[string]int64{"Innodb_row_lock_time": 2}, map[string]int64{"Innodb_row_lock_time": 9100}
	var b bytes.Buffer
	if err := CompareText(&b, analysis.Compare(runs)); err != nil {
		t.Fatal(err)
	}
	for l := range strings.Lines(b.String()) {
		if f := strings.Fields(l); len(f) > 0 && f[0] == "Innodb_row_lock_time" {
			if got := strings.Join(f[1:5], " "); got != "2.00 ms 9.10 s" {
				t.Errorf("got %q", l)
			}
			return
		}
	}
	t.Errorf("no time of row locks in\n%s", &b)
}

// Whatever stands in a run's files, the columns of the table are not wider than a
// name may be.
func TestCompareWidths(t *testing.T) {
	units := []string{
		analysis.UnitSeconds, analysis.UnitMilliseconds, analysis.UnitPerSecond, analysis.UnitBytes, analysis.UnitShare,
		analysis.UnitTransactions, analysis.UnitPerGroup, analysis.UnitPerSync, analysis.UnitCPUs, analysis.UnitNumber,
	}
	for _, unit := range units {
		for _, v := range []float64{1e308, -1e308, math.MaxFloat64, 1e20, -1e20, 999_999_999.9, 1e-308} {
			change := ChangeInWords(nil, &analysis.ColumnValue{Change: &v, Difference: analysis.NoDifference}, unit, true)
			for what, got := range map[string]string{"measure": Measure(v, unit), "span": Span(new(-math.Abs(v)), &v, unit), "change": change} {
				if n := utf8.RuneCountInString(got); n > 2*mostHead+2 {
					t.Errorf("%s of %g %s has %d characters: %s", what, v, unit, n, got)
				}
			}
		}
	}
	runs := pair()
	runs[1].Run.Seconds = 1e308
	var b bytes.Buffer
	if err := CompareText(&b, analysis.Compare(runs)); err != nil {
		t.Fatal(err)
	}
	for l := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(l); n > 81 {
			t.Errorf("a line of %d columns: %s", n-1, l)
		}
	}
}

func TestMeasure(t *testing.T) {
	for _, tt := range []struct {
		v    float64
		unit string
		want string
	}{
		{6000, analysis.UnitTransactions, "6,000"},
		{9_999_999, analysis.UnitNumber, "9,999,999"},
		{12_345_678, analysis.UnitNumber, "12.35 M"},
		{-3e12, analysis.UnitNumber, "-3 e12"},
		{4.8, analysis.UnitPerGroup, "4.80"},
		{3, analysis.UnitPerGroup, "3.00"},
		{123.4, analysis.UnitPerSecond, "123/s"},
		{0.25, analysis.UnitPerSecond, "0.25/s"},
		{0.171, analysis.UnitShare, "17.1 %"},
		{2.5, analysis.UnitMilliseconds, "2.50 ms"},
		{0.00025, analysis.UnitSeconds, "250 µs"},
		{1e300, analysis.UnitBytes, "9.00 EB"},
		{1.5, analysis.UnitCPUs, "1.50 CPUs"},
	} {
		if got := Measure(tt.v, tt.unit); got != tt.want {
			t.Errorf("%g %s is %q, want %q", tt.v, tt.unit, got, tt.want)
		}
	}
}

func TestChange(t *testing.T) {
	for _, tt := range []struct {
		change     float64
		difference analysis.Contrast
		unit       string
		repeats    bool
		want       string
	}{
		{0.2, analysis.Unproven, "", false, "+20 %"},
		{0.00995, analysis.Higher, "", true, "+1.0 %"},
		{-0.5, analysis.Unproven, "", true, "-50 % ?"},
		{0.05, analysis.NoDifference, "", true, "none (+5.0 %)"},
		{0, analysis.NoDifference, "", true, "none"},
		{-0.05, analysis.Lower, analysis.UnitShare, true, "-5.0 pts"},
		{0.0002, analysis.Unproven, "", false, "0.0 %"},
		{14, analysis.Higher, "", true, "+1,400 %"},
		{1e6, analysis.Higher, "", true, "×1e+06"},
	} {
		v := &analysis.ColumnValue{Change: &tt.change, Difference: tt.difference}
		if got := ChangeInWords(nil, v, tt.unit, tt.repeats); got != tt.want {
			t.Errorf("%g, %s: %q, want %q", tt.change, tt.difference, got, tt.want)
		}
	}
	zero, five := &analysis.ColumnValue{Value: new(0.0)}, 5.0
	for _, tt := range []struct {
		first      *analysis.ColumnValue
		value      *float64
		difference analysis.Contrast
		want       string
	}{
		{nil, nil, analysis.Higher, "higher"},
		{zero, nil, analysis.Unproven, "unproven"}, // an interval
		{zero, &five, analysis.Higher, "from 0"},
		{zero, &five, analysis.Unproven, "from 0 ?"},
		{zero, new(0.0), analysis.NoDifference, "none"},
	} {
		if got := ChangeInWords(tt.first, &analysis.ColumnValue{Value: tt.value, Difference: tt.difference}, "", true); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt, got, tt.want)
		}
	}
}

// Names go, and what differs still differs.
func TestRedactRuns(t *testing.T) {
	runs := several()
	runs[1].Run.Settings["some_setting"] = "stock"
	runs[1].Run.Command = append(runs[1].Run.Command, "--mysql-host=db1.example.com", "10.0.0.1", "--tables=10", "-h", "-uann", "--mysql-user=ann")
	runs[1].Run.Missing = []string{`no trace: open /srv/shop/trace: no such file`}
	runs[1].Run.Host = &analysis.RunHost{Name: "db1.example.com", Device: "shopdisk"}
	var b bytes.Buffer
	if err := CompareJSON(&b, analysis.Compare(RedactRuns(runs))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"example", "ann", "shop", "stock", "10.0.0.1", "longer", "run-8"} {
		if strings.Contains(b.String(), name) {
			t.Errorf("%q is in it: %s", name, &b)
		}
	}
	c := analysis.Compare(RedactRuns(runs))
	for _, name := range []string{"some_setting", "sync_binlog"} {
		if !slices.ContainsFunc(c.Settings, func(d analysis.Difference) bool { return d.Name == name }) {
			t.Errorf("%s does not differ: %v", name, c.Settings)
		}
	}
	want := []string{"sysbench", "--threads=16", "--mysql-password=***", "group_commit.lua", "run", "--mysql-host=value2", "value3", "--tables=10", "-h", "value4", "--mysql-user=value5"}
	if got := c.Runs[1].Command; !slices.Equal(got, want) {
		t.Errorf("command %q, want %q", got, want)
	}
	if runs[1].Run.Command[2] != "--mysql-password=***" {
		t.Error("the runs were changed")
	}
}
