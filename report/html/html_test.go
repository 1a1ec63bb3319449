package html

import (
	"bytes"
	"flag"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"bgcstat/analysis"
)

var update = flag.Bool("update", false, "write the golden files anew")

func at(s string) analysis.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		panic(err)
	}
	return analysis.Time{Time: t}
}

// dot is the smallest plot.
func dot(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 2, 1))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// estimated is a result of a MySQL log alone.
func estimated() *analysis.Result {
	file := func(p int64) analysis.Position { return analysis.Position{File: "mysql-bin.000001", Position: p} }
	return &analysis.Result{
		Sources:      []analysis.Source{{File: "mysql-bin.000001", Bytes: 1854198, Events: 30004, Transactions: 6000, Complete: true, Flavor: "mysql", ServerVersion: "9.7.4", ServerID: 1, Kind: "binlog"}},
		Window:       &analysis.Window{Start: at("2026-11-30T14:32:12.6Z"), End: at("2026-11-30T14:32:13.57Z"), Seconds: 0.97, Clock: analysis.ClockCommit},
		Transactions: 6000, Events: 30004, Bytes: 1854000,
		Groups: analysis.Groups{
			Sync: &analysis.GroupStats{
				Count: new(int64(2061)), Low: 1990, High: 2180, Basis: analysis.Estimated, Method: analysis.CommitTimestamps,
				Size:      &analysis.GroupSize{Mean: 2.91, P50: 1, P95: 7, P99: 7, Max: 8, AloneShare: 0.17},
				Histogram: []analysis.HistogramBin{{Size: 1, Groups: 1034}, {Size: 8, Groups: 1027}},
			},
			Bound:         &analysis.Bound{Lower: 911, Upper: 6000},
			LastCommitted: &analysis.LastCommittedGroups{Distinct: new(int64(3929)), Runs: 5134, Basis: analysis.Legacy, Method: analysis.LastCommitted},
		},
		DependencyTracking: analysis.DependencyTracking{ServerMode: "WRITESET", From: "version", Stretches: []analysis.Stretch{{
			Start: file(198), End: file(1854198), Transactions: 6000, Observed: analysis.ObservedWriteset, Certainty: analysis.Proven,
			Evidence: []analysis.Evidence{{Rule: "same-session", Count: 5890, Earlier: file(1234), Later: file(2345), Why: "both are of one session"}},
		}}},
		Saved: &analysis.Saved{Assumes: analysis.Assumes{SyncBinlog: 1, From: "default of 9.7"}, Binlog: &analysis.SavedSync{
			Alone: 6000, Grouped: new(int64(2061)), GroupedLow: 1990, GroupedHigh: 2180, SavedByGrouping: new(int64(3939)), SavedByGroupingMin: 3820, SavedByGroupingMax: 4010,
			Share: new(0.6565), ShareMax: 0.6683, SavedBySyncBinlog: new(int64(0)), Basis: analysis.Estimated, Method: analysis.CommitTimestamps,
		}},
		Clock:  analysis.Clock{TransactionsWith: 6000, Verdict: analysis.Contiguous},
		Sizes:  &analysis.Sizes{Bytes: analysis.ByteSize{Mean: 309, P50: 301, P95: 320, P99: 321, Max: 400}, Largest: []analysis.Large{{Position: file(4711), Bytes: 400, GTID: "3e11fa47-71ca-11e1-9e33-c80aa9429562:5", Tables: []string{"shop.orders", "shop.items"}}}},
		Tables: []analysis.TableStats{{Table: "shop.orders", Transactions: 6000, UpdateEvents: 6000}},
		Warnings: []analysis.Warning{
			{Code: "writeset-parents", Message: "last_committed comes from write sets", Count: 1},
			{Code: "delayed-syncs", Message: "transactions are in stretches where syncs were held up", Count: 3000},
			{Code: "bad-checksum", Message: "an event with a bad checksum", Count: 2, At: new(file(99))},
			{Code: "of-tomorrow", Message: "unheard of", Count: 1},
		},
	}
}

// traced is a result with a trace.
func traced() *analysis.Result {
	r := estimated()
	r.Groups.Sync.Low, r.Groups.Sync.High, r.Groups.Sync.Basis, r.Groups.Sync.Method = 2061, 2061, analysis.Exact, analysis.Traced
	b := r.Saved.Binlog
	b.GroupedLow, b.GroupedHigh, b.SavedByGroupingMin, b.SavedByGroupingMax, b.Basis, b.Method = 2061, 2061, 3939, 3939, analysis.Measured, analysis.FsyncCount
	b.FromLog = &analysis.FromLog{Count: new(int64(2034)), Low: 1990, High: 2180, Basis: analysis.Estimated, Method: analysis.CommitTimestamps}
	r.Saved.Assumes = analysis.Assumes{SyncBinlog: 1, FlushLogAtTrxCommit: new(int64(1)), From: "server"}
	r.Saved.Redo = &analysis.SavedSync{
		Alone: 6000, Grouped: new(int64(2177)), GroupedLow: 2177, GroupedHigh: 2177, SavedByGrouping: new(int64(3823)), SavedByGroupingMin: 3823, SavedByGroupingMax: 3823,
		Share: new(0.637), ShareMax: 0.637, Basis: analysis.Measured, Method: analysis.FsyncCount,
	}
	r.IO = &analysis.IO{
		Source: "bpf", Detail: "ext4_sync_file_enter", Start: at("2026-11-30T14:32:12Z"), Seconds: 2,
		Syncs: map[string]analysis.Syncs{
			"redo":   {Count: 2177, Exactness: "exact"},
			"binlog": {Count: 2062, Exactness: "exact", Latency: &analysis.SyncLatency{P50: new(98e-6), P99: new(410e-6)}},
		},
		BinlogSyncsDurable: new(int64(2061)), TransactionsPerBinlogSync: new(2.91), DurableByNoneYet: new(int64(0)),
		DeviceFlushes: []analysis.DeviceFlushes{{Device: "vda", Count: 4276}},
		Refused:       []analysis.Refused{{Source: "perf", Why: "not tried"}},
		Settings:      map[string]string{"version": "9.7.4", "sync_binlog": "1"},
		CPU: &analysis.CPU{CPUs: 2, CPUUse: analysis.CPUUse{
			User: 0.312, System: 0.218, IOWait: 0.094, Idle: 0.374, Steal: 0.002, ServerUser: new(0.62), ServerSystem: new(0.481),
		}},
		LatencyBySize: []analysis.SizeLatency{{From: 1, To: 1, Syncs: 1034, P50: 90e-6, P99: 400e-6}, {From: 2, To: 8, Syncs: 1027, P50: 99e-6, P99: 410e-6}},
	}
	r.Warnings = nil
	return r
}

func write(t *testing.T, r *analysis.Result, figures []Image, o Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, r, figures, []Absent{{"sync-latency", "there is no trace"}}, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// body is what the golden files hold: the style sheet is no business of theirs.
func body(page string) string {
	_, after, _ := strings.Cut(page, "</style>")
	return after
}

func TestGolden(t *testing.T) {
	plots := []Image{{Name: "group-size", Title: "Transactions per commit group", Alt: "2,061 sync groups", Reading: "How to read it.", PNG: dot(t), Dark: dot(t)}}
	for name, r := range map[string]*analysis.Result{"estimated": estimated(), "traced": traced(), "empty": {}} {
		got := body(write(t, r, plots, Options{Version: "v1.2.3"}))
		if again := body(write(t, r, plots, Options{Version: "v1.2.3"})); got != again {
			t.Errorf("%s: two pages of one result differ", name)
		}
		golden(t, name, got)
	}
}

// golden compares a page with what is written of it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".html")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs from what is written; got\n%s", file, got)
	}
}

// The parts of the page come in the order of a reader's questions, and headings
// skip no level.
func TestOrder(t *testing.T) {
	page := write(t, traced(), nil, Options{})
	last := 0
	for _, part := range []string{`class="answer"`, `id="trust"`, `id="warnings"`, `id="plots"`, `id="tables"`, `id="settings"`, `id="made"`, "<footer>"} {
		at := strings.Index(page, part)
		if at < last {
			t.Errorf("%s at %d, behind %d", part, at, last)
		}
		last = at
	}
	level := byte('0')
	for _, h := range regexp.MustCompile(`<h([1-6])[ >]`).FindAllStringSubmatch(page, -1) {
		if h[1][0] > level+1 {
			t.Errorf("h%s behind h%c", h[1], level)
		}
		level = h[1][0]
	}
	ids := map[string]bool{}
	for _, id := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if ids[id[1]] {
			t.Errorf("two elements with id %q", id[1])
		}
		ids[id[1]] = true
	}
	for _, ref := range regexp.MustCompile(`(?:aria-labelledby="|href="#)([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if !ids[ref[1]] {
			t.Errorf("no element has id %q", ref[1])
		}
	}
}

func TestThemes(t *testing.T) {
	const dark = "--page: #14171b"
	for theme, want := range map[Theme]string{Auto: "@media screen and (prefers-color-scheme: dark) {", "": "@media screen and (prefers-color-scheme: dark) {", Dark: "@media screen {", Light: ""} {
		page := write(t, estimated(), []Image{{Name: "a", PNG: dot(t), Dark: dot(t)}}, Options{Theme: theme})
		if want == "" && (strings.Contains(page, dark) || strings.Contains(page, "<source")) || want != "" && (!strings.Contains(page, want) || !strings.Contains(page, dark) || !strings.Contains(page, "<source")) {
			t.Errorf("theme %q: want %q", theme, want)
		}
	}
	if err := Write(&bytes.Buffer{}, estimated(), nil, nil, Options{Theme: "blue"}); err == nil {
		t.Error("theme blue: no error")
	}
	if err := Write(&bytes.Buffer{}, estimated(), []Image{{Name: "a", PNG: []byte("GIF")}}, nil, Options{}); err == nil {
		t.Error("a plot that is no PNG: no error")
	}
}

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"shop.orders":                    "shop.orders",
		"a\nb\x00c\x1b[2J\u009b":         "a?b?c?[2J?",
		"\u202a\u202b\u202c\u202d\u202e": "?????",
		"\u2066\u2067\u2068\u2069":       "????",
		"שלום 😀":                         "שלום 😀",
		"65.7 %":                         "65.7\u00a0%",
		strings.Repeat("ä", 4096):        strings.Repeat("ä", 200) + "… (4,096 characters) …" + strings.Repeat("ä", 100),
	} {
		if got := printable(in); got != want {
			t.Errorf("printable(%q) is %q, want %q", in, got, want)
		}
	}
}

// Sentences are longer than names may be, and not cut.
func TestLongAnswer(t *testing.T) {
	r := estimated()
	r.Saved.Assumes = analysis.Assumes{SyncBinlog: 1000, From: "default of " + strings.Repeat("9", 100)}
	r.Saved.Binlog.SavedBySyncBinlog = new(int64(3900))
	if n := len(answer(r)); n <= longest {
		t.Fatalf("the answer has %d characters, which are few", n)
	}
	if page := write(t, r, nil, Options{}); !strings.Contains(page, ">"+strings.ReplaceAll(answer(r), " %", "\u00a0%")+"</p>") {
		t.Error("the answer is cut")
	}
}

// What a name holds is text, wherever it stands.
func TestHostileNames(t *testing.T) {
	const harm = `</script></style><img src=x onerror=alert(1)>"'`
	r := traced()
	r.Tables[0].Table, r.Sources[0].File, r.Warnings = harm, harm, []analysis.Warning{{Code: harm, Message: harm, Count: 1, At: &analysis.Position{File: harm}}}
	r.IO.Settings = map[string]string{harm: harm}
	page := write(t, r, []Image{{Name: "a", Title: harm, Alt: harm, Reading: harm, PNG: dot(t)}}, Options{Version: harm})
	for _, bad := range []string{"</script", "<img src=x", "onerror=alert(1)>"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %s", bad)
		}
	}
	if n := strings.Count(page, "</style>"); n != 1 {
		t.Errorf("the page has %d ends of a style sheet", n)
	}
}
