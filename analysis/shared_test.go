package analysis_test

import (
	"bufio"
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"bgcstat/analysis"
	"bgcstat/parser"
)

// Where sets of logs with their true groups are: those that the estimates were
// made on, which are not part of the project, and those made afterwards, which
// are. BGCSTAT_GROUNDTRUTH may name others of the same form.
var (
	sharedTruth = cmp.Or(os.Getenv("BGCSTAT_GROUNDTRUTH"), "../../shared/groundtruth")
	ownTruth    = "../testdata/groundtruth"
)

// truth is one set: a log, and the binlog fsyncs and writes that were traced in the kernel while it was written.
type truth struct {
	name      string
	log       string
	ends      []int64 // sizes that the fsyncs covered, rising
	flushEnds []int64 // of what flush leaders wrote
	// Settings of the server.
	syncBinlog, flushLog, delay int64
}

func truths(t testing.TB, dir string) []truth {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(dir, "*", "*-bin.000001*"))
	if err != nil {
		t.Fatal(err)
	}
	if len(logs) == 0 {
		if os.Getenv("CI") == "true" || dir == ownTruth {
			t.Fatal(dir + " is missing")
		}
		t.Skipf("needs logs with their true groups in %s, or where BGCSTAT_GROUNDTRUTH says", dir)
	}
	var sets []truth
	for _, log := range logs {
		dir := filepath.Dir(log)
		set := truth{name: filepath.Base(dir), log: log}
		set.ends = endPositions(t, filepath.Join(dir, "sync_groups.tsv"))
		set.flushEnds = endPositions(t, filepath.Join(dir, "flush_groups.tsv"))
		var meta struct {
			Variables map[string]any `json:"variables"`
		}
		b, err := os.ReadFile(filepath.Join(dir, "meta.json"))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, &meta); err != nil {
			t.Fatal(err)
		}
		for name, to := range map[string]*int64{
			"sync_binlog": &set.syncBinlog, "innodb_flush_log_at_trx_commit": &set.flushLog, "binlog_group_commit_sync_delay": &set.delay,
		} {
			value, ok := meta.Variables[name].(string)
			if !ok {
				continue // MariaDB has no such delay
			}
			if *to, err = strconv.ParseInt(value, 10, 64); err != nil {
				t.Fatal(err)
			}
		}
		sets = append(sets, set)
	}
	return sets
}

// endPositions reads the first column of a table.
func endPositions(t testing.TB, path string) []int64 {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var ends []int64
	lines := bufio.NewScanner(f)
	lines.Scan() // column names
	for lines.Scan() {
		end, _, _ := strings.Cut(lines.Text(), "\t")
		n, err := strconv.ParseInt(end, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, n)
	}
	return ends
}

// read gives the transactions of one log file to f and returns its logs.
func read(t testing.TB, path string, f func(*parser.Txn)) []*parser.Log {
	t.Helper()
	inputs, err := parser.Find([]string{path}, nil)
	if err != nil {
		t.Fatal(err)
	}
	files := parser.NewFiles(inputs, parser.Options{})
	defer files.Close()
	for txn, err := range files.All() {
		if err != nil {
			t.Fatal(err)
		}
		f(txn)
	}
	return files.Logs()
}

// both analyzes a log and gives its rows.
func both(t testing.TB, path string, s analysis.Settings, emit func(*analysis.Row)) *analysis.Result {
	t.Helper()
	a := analysis.New(analysis.Filter{}, s)
	rows := analysis.NewRows(analysis.Filter{}, s, func(r *analysis.Row) error {
		emit(r)
		return nil
	})
	logs := read(t, path, func(txn *parser.Txn) {
		a.Add(txn)
		if err := rows.Add(txn); err != nil {
			t.Fatal(err)
		}
	})
	if err := rows.End(); err != nil {
		t.Fatal(err)
	}
	return a.Result(logs)
}

// coveredBy gives for each transaction, by its end, which of the rising ends
// is the first to cover it.
func (s truth) coveredBy(ends, transactions []int64) []int64 {
	out := make([]int64, len(transactions))
	for i, end := range transactions {
		at, _ := slices.BinarySearch(ends, end)
		out[i] = int64(at)
	}
	return out
}

// TestTrueGroups holds the figures against fsyncs traced in the kernel.
func TestTrueGroups(t *testing.T) {
	for _, set := range truths(t, sharedTruth) {
		t.Run(set.name, func(t *testing.T) {
			one := int64(1)
			settings := analysis.Settings{SyncBinlog: &one}
			var ends, got []int64
			r := both(t, set.log, settings, func(r *analysis.Row) {
				ends, got = append(ends, r.End), append(got, *r.SyncGroup)
			})
			want := set.coveredBy(set.ends, ends)
			groups := distinct(want)
			mariadb := strings.HasPrefix(set.name, "mariadb")
			if mariadb && !slices.Equal(boundaries(got), boundaries(want)) {
				t.Error("groups are not the true ones, member by member")
			}
			b := r.Groups.Bound
			t.Logf("%d transactions, %d true groups, bound %d to %d", r.Transactions, groups, b.Lower, b.Upper)
			switch {
			case mariadb:
				if g := r.Groups.Sync; g.Count == nil || *g.Count != groups || g.Basis != analysis.Exact {
					t.Errorf("sync groups are %+v, want exactly %d", g, groups)
				}
				if s := r.Saved.Binlog; *s.Grouped != groups || *s.SavedByGrouping != r.Transactions-groups || s.Basis != analysis.Exact {
					t.Errorf("fsyncs saved are %+v", s)
				}
			case set.syncBinlog == 1:
				if groups < b.Lower || groups > b.Upper {
					t.Errorf("bound is %d to %d, in truth there are %d groups", b.Lower, b.Upper, groups)
				}
			}
			if r.Clock.Gaps+r.Clock.Restarts != 0 {
				t.Errorf("clock is %+v", r.Clock)
			}
		})
	}
}
