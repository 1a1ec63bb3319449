package loadgen

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// inJSON is a summary in JSON, "" for none.
func inJSON(t *testing.T, s *Summary) string {
	t.Helper()
	if s == nil {
		return ""
	}
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// outputs are the files in testdata, with the figures to be seen in each.
var outputs = map[string]string{
	"sysbench": `{"tool":"sysbench","version":"1.0.20","clients":4,"seconds":0.2432,"transactions":200,"queries":4162,"reads":2940,"writes":812,"other":410,"errors":10,"reconnects":0,` +
		`"tps":817.15,"latency_min_ms":1.77,"latency_avg_ms":4.82,"latency_max_ms":15.05,"latency_percentile_ms":8.13,"latency_percentile_rank":95}`,
	"sysbench-prepare": ``,
	"sysbench-hot": `{"tool":"sysbench","version":"1.0.20","clients":16,"seconds":0.4738,"transactions":320,"queries":976,"reads":16,"writes":320,"other":640,"errors":0,"reconnects":0,` +
		`"tps":673.55,"latency_min_ms":1.73,"latency_avg_ms":23.44,"latency_max_ms":76.05,"latency_percentile_ms":65.65,"latency_percentile_rank":95}`,
	// Two reports, which count 1,409 and 502 transactions, 29,755 and 10,497
	// queries, 21,083 and 7,421 reads, 5,756 and 2,045 writes, 2,916 and 1,031
	// others, 94 and 31 errors; the time is from the beginning.
	"sysbench-intervals": `{"tool":"sysbench","version":"1.0.20","clients":4,"seconds":3.0049,"transactions":1911,"queries":40252,"reads":28504,"writes":7801,"other":3947,"errors":125,"reconnects":0,` +
		`"latency_min_ms":1.18,"latency_max_ms":35.34}`,
	"sysbench-histogram": `{"tool":"sysbench","version":"1.0.20","clients":4,"seconds":0.5893,"transactions":400,"queries":2714,"reads":0,"writes":1775,"other":939,"errors":139,"reconnects":0,` +
		`"tps":676.92,"latency_min_ms":0.54,"latency_avg_ms":5.84,"latency_max_ms":23.33,"latency_percentile_ms":11.87,"latency_percentile_rank":95}`,
	"sysbench-no-percentile": `{"tool":"sysbench","version":"1.0.20","clients":4,"seconds":0.5694,"transactions":400,"queries":2723,"reads":0,"writes":1776,"other":947,"errors":147,"reconnects":0,` +
		`"tps":700.47,"latency_min_ms":1,"latency_avg_ms":5.67,"latency_max_ms":20.76}`,
	"sysbench-verbosity5": `{"tool":"sysbench","version":"1.0.20","clients":2,"seconds":0.0225,"transactions":20,"queries":125,"reads":0,"writes":82,"other":43,"errors":2,"reconnects":0,` +
		`"tps":828.09,"latency_min_ms":1.08,"latency_avg_ms":2.18,"latency_max_ms":4.44,"latency_percentile_ms":3.62,"latency_percentile_rank":95}`,
	"sysbench-fails": ``,
	"sysbench-cpu": `{"tool":"sysbench","version":"1.0.20","clients":1,"seconds":0.0202,"latency_min_ms":0.39,"latency_avg_ms":0.4,"latency_max_ms":0.49,` +
		`"latency_percentile_ms":0.46,"latency_percentile_rank":95}`,
	"sysbench-1.1": `{"tool":"sysbench","version":"1.1.0-2ca9e3f","clients":8,"seconds":20.0004,"transactions":20030,"queries":120184,"reads":0,"writes":80123,"other":40061,"errors":1,"reconnects":2,` +
		`"tps":1001.48,"latency_min_ms":2.01,"latency_avg_ms":7.99,"latency_max_ms":112.5,"latency_percentile_ms":21.5,"latency_percentile_rank":99}`,
	"mariadb-slap":                `{"tool":"mysqlslap","clients":4,"seconds":0.021,"queries":100}`,
	"mariadb-slap-csv":            `{"tool":"mysqlslap","clients":4,"seconds":0.018,"queries":100}`,
	"mariadb-slap-csv-no-queries": `{"tool":"mysqlslap","clients":4,"seconds":0.011}`,
	"mysqlslap":                   `{"tool":"mysqlslap","clients":4,"seconds":0.079,"queries":100}`,
}

func output(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestOutputs(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) != len(outputs) {
		t.Errorf("%d files, %d summaries, %v", len(files), len(outputs), err)
	}
	for name, want := range outputs {
		out := output(t, name)
		for _, out := range []string{out, strings.ReplaceAll(out, "\n", "\r\n"), strings.TrimRight(out, "\n")} {
			if got := inJSON(t, parse([]byte(out))); got != want {
				t.Errorf("%s: got  %s\nwant %s", name, got, want)
			}
		}
	}
}

// TestSeveralRuns holds that the last run with a summary counts.
func TestSeveralRuns(t *testing.T) {
	all := func(names ...string) string {
		var b strings.Builder
		for _, name := range names {
			b.WriteString(output(t, name))
		}
		return b.String()
	}
	for _, names := range [][]string{
		{"sysbench", "sysbench-1.1"},
		{"sysbench-1.1", "sysbench-prepare", "sysbench-no-percentile"},
		{"sysbench-intervals", "sysbench-no-percentile"},
		{"sysbench-hot", "sysbench-intervals"},
		{"sysbench", "mysqlslap"},
		{"mysqlslap", "mariadb-slap-csv-no-queries"},
		{"mariadb-slap", "sysbench-cpu"},
	} {
		if got, want := inJSON(t, parse([]byte(all(names...)))), outputs[names[len(names)-1]]; got != want {
			t.Errorf("%v: got  %s\nwant %s", names, got, want)
		}
	}
	// A run that failed, or that printed nothing, has none.
	if got, want := inJSON(t, parse([]byte(all("sysbench", "sysbench-fails", "sysbench-prepare")))), outputs["sysbench"]; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	// The beginnings are not printed: these are two runs all the same.
	_, a, _ := strings.Cut(output(t, "sysbench"), "started!\n")
	_, b, _ := strings.Cut(output(t, "sysbench-no-percentile"), "started!\n")
	want := strings.Replace(outputs["sysbench-no-percentile"], `"version":"1.0.20","clients":4,`, "", 1)
	if got := inJSON(t, parse([]byte(a+b))); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestMalformed holds that what is no figure is none.
func TestMalformed(t *testing.T) {
	const statements = "SQL statistics:\n"
	for _, c := range []struct{ output, want string }{
		{"", ""},
		{"\n\n\r\n", ""},
		{"SQL statistics:", ""},
		{"    transactions:   5 (1.00 per sec.)\n", ""},               // in no section
		{statements + "transactions: 5 (1.00 per sec.)\n", ""},        // not indented
		{statements + "other program\n    transactions:   5\n", ""},   // which ends the section
		{"Number of threads: 5\n", ""},                                // of no run
		{"sysbench 1.0.20 (x)\nNumber of threads: 5\n", ""},           // without figures
		{"# Benchmark\n\tNumber of clients running queries: 4\n", ""}, // another heading
		{statements + "    transactions:\n    queries:   \n", ""},
		{statements + "    transactions:   -5 (nan per sec.)\n    queries:  +7\n", ""},
		{statements + "    transactions:   0x10 (inf per sec.)\n    queries:  1e3 (1e3 per sec.)\n", ""},
		{statements + "    transactions:   99999999999999999999 (1.0.0 per sec.)\n    queries: 1_000\n", ""},
		{statements + "    transactions:   9223372036854775807 (.5 per sec.)\n", `{"tool":"sysbench","transactions":9223372036854775807,"tps":0.5}`},
		{statements + "    transactions:   7", `{"tool":"sysbench","transactions":7}`},
		{statements + "\ttransactions:7 8\n", `{"tool":"sysbench","transactions":7,"tps":8}`},
		{statements + "    ignored errors:   7\n\n    reconnects:  8\n", `{"tool":"sysbench","errors":7,"reconnects":8}`},
		{
			"sysbench 1.0.20 (x)\nNumber of threads: -1\nGeneral statistics:\n  total time: NaNs\nLatency (ms):\n  95th percentile: inf\n  101th percentile: 3\n  99th percentile: 2.5\n  95th percentile: 1.5\n",
			`{"tool":"sysbench","version":"1.0.20","latency_percentile_ms":2.5,"latency_percentile_rank":99}`,
		},
		// No event took 0 ms.
		{
			"sysbench 1.0.20 (x)\nGeneral statistics:\n    total time:                          0.0002s\n    total number of events:              0\n\nLatency (ms):\n         min: 0.00\n         avg: 0.00\n         max: 0.00\n         95th percentile: 0.00\n",
			`{"tool":"sysbench","version":"1.0.20","seconds":0.0002}`,
		},
		// Checkpoints whose sum is beyond a count.
		{
			"sysbench 1.0.20 (x)\n[ 1s ] Checkpoint report:\n" + statements + "    queries: 9223372036854775807\n    transactions: 1\n" + statements + "    queries: 1\n    transactions: 1\n",
			`{"tool":"sysbench","version":"1.0.20","transactions":2}`,
		},
		{"Benchmark\n\tNumber of clients running queries: 9223372036854775807\n\tAverage number of queries per client: 2\n", `{"tool":"mysqlslap","clients":9223372036854775807}`},
		{"Benchmark\n\tNumber of clients running queries: 0\n\tAverage number of queries per client: 2\n", `{"tool":"mysqlslap","clients":0}`},
		{"innodb,mixed,0.1,0.1,0.1,2,50\n", ""},    // no CSV of mysqlslap's: three decimals
		{"a,b,0.100,0.100,0.100,2,50\n", ""},       // no such load
		{"x,mixed,0.100,0.100,0.100,2,50,1\n", ""}, // too long
		{"x:y,key,12.100,0.100,0.100,2,50", `{"tool":"mysqlslap","clients":2,"seconds":12.1,"queries":100}`},
		{"\x00\xff\xfe" + statements + "    transactions: 5\n", ""},
	} {
		if got := inJSON(t, parse([]byte(c.output))); got != c.want {
			t.Errorf("%q:\ngot  %s\nwant %s", c.output, got, c.want)
		}
	}
}

// TestPassesOver holds that the summary is found in any amount of output, of
// which a line at the most is kept.
func TestPassesOver(t *testing.T) {
	var s Scanner
	long := strings.Repeat("x", 1<<20)
	for range 256 {
		_, _ = s.Write([]byte(long))
		_, _ = s.Write([]byte("    transactions: 5\n[ 1s ] thds: 4 tps: 790.22 qps: 16743.34 (r/w/o: 1/2/3) lat (ms,99%): 11.45 err/s: 0 reconn/s: 0\n"))
	}
	if s.Summary() != nil {
		t.Errorf("got %s", inJSON(t, s.Summary()))
	}
	for _, part := range strings.SplitAfter(output(t, "sysbench"), " ") {
		if n, err := s.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatalf("wrote %d, %v", n, err)
		}
		s.Summary() // does not disturb
	}
	_, _ = s.Write([]byte("\n" + strings.Repeat("SQL statistics:", 1<<16) + "\n"))
	if got := inJSON(t, s.Summary()); got != outputs["sysbench"] {
		t.Errorf("got  %s\nwant %s", got, outputs["sysbench"])
	}
	if cap(s.line) > 2*maxLine {
		t.Errorf("keeps %d bytes", cap(s.line))
	}
}

func FuzzScanner(f *testing.F) {
	for name := range outputs {
		f.Add([]byte(output(f, name)))
	}
	f.Add([]byte("innodb,mixed,0.011,0.011,0.011,4,0\n"))
	f.Fuzz(func(t *testing.T, out []byte) {
		whole := parse(out)
		want := inJSON(t, whole) // which NaN and infinity have none of
		var s Scanner
		for i := range out {
			_, _ = s.Write(out[i : i+1])
			if len(s.line) > maxLine {
				t.Fatalf("keeps %d bytes", len(s.line))
			}
		}
		if got := inJSON(t, s.Summary()); got != want {
			t.Errorf("byte by byte: got  %s\nwant %s", got, want)
		}
		if whole == nil {
			return
		}
		if whole.Tool != "sysbench" && whole.Tool != "mysqlslap" {
			t.Errorf("tool is %q", whole.Tool)
		}
		for _, n := range []*int64{whole.Clients, whole.Transactions, whole.Queries, whole.Reads, whole.Writes, whole.Other, whole.Errors, whole.Reconnects} {
			if n != nil && *n < 0 {
				t.Errorf("a count of %d", *n)
			}
		}
	})
}

// parse gives the last summary in output, nil where there is none.
func parse(output []byte) *Summary {
	var s Scanner
	_, _ = s.Write(output)
	return s.Summary()
}
