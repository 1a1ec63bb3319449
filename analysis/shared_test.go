package analysis_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"bgcstat/analysis"
	"bgcstat/parser"
)

const groundTruth = "../../shared/groundtruth"

// truth is one set of ../shared/groundtruth: a log, and the binlog fsyncs that
// were traced in the kernel while it was written.
type truth struct {
	name  string
	log   string
	ends  []int64 // sizes that the fsyncs covered, rising
	syncs string  // sync_binlog
}

func truths(t *testing.T) []truth {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(groundTruth, "*", "*-bin.000001"))
	if err != nil {
		t.Fatal(err)
	}
	if len(logs) == 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal(groundTruth + " is missing")
		}
		t.Skip(groundTruth + " is not on this machine")
	}
	var sets []truth
	for _, log := range logs {
		dir := filepath.Dir(log)
		set := truth{name: filepath.Base(dir), log: log}
		f, err := os.Open(filepath.Join(dir, "sync_groups.tsv"))
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(f)
		lines.Scan() // column names
		for lines.Scan() {
			end, _, _ := strings.Cut(lines.Text(), "\t")
			n, err := strconv.ParseInt(end, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			set.ends = append(set.ends, n)
		}
		f.Close()
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
		set.syncs, _ = meta.Variables["sync_binlog"].(string)
		sets = append(sets, set)
	}
	return sets
}

// read gives the transactions of one log file to f and returns its logs.
func read(t *testing.T, path string, f func(*parser.Txn)) []*parser.Log {
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

// durableBy gives each transaction the index of the first sync that covers it.
func (s truth) durableBy(end int64, from int) int {
	for from < len(s.ends) && s.ends[from] < end {
		from++
	}
	return from
}

// TestTrueGroups holds the figures against fsyncs traced in the kernel.
func TestTrueGroups(t *testing.T) {
	for _, set := range truths(t) {
		t.Run(set.name, func(t *testing.T) {
			one := int64(1)
			a := analysis.New(analysis.Filter{}, analysis.Settings{SyncBinlog: &one})
			rows := analysis.NewRows(analysis.Filter{})
			mariadb := strings.HasPrefix(set.name, "mariadb")
			sync, groups := -1, int64(0)
			logs := read(t, set.log, func(txn *parser.Txn) {
				a.Add(txn)
				s := set.durableBy(txn.End, max(sync, 0))
				if s != sync {
					groups++
				}
				sync = s
				row, _ := rows.Row(txn)
				// Member by member: ours changes exactly where the truth does.
				if mariadb && *row.SyncGroup != groups {
					t.Fatalf("%v is in group %d, in truth in %d", txn.Pos(), *row.SyncGroup, groups)
				}
			})
			r := a.Result(logs)
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
			case set.syncs == "1":
				if groups < b.Lower || groups > b.Upper {
					t.Errorf("bound is %d to %d, in truth there are %d groups", b.Lower, b.Upper, groups)
				}
				if r.Groups.Sync.Basis != analysis.Bounded || r.Groups.Sync.Low != b.Lower || r.Groups.Sync.High != b.Upper {
					t.Errorf("sync groups are %+v, want the bound", r.Groups.Sync)
				}
			}
			if r.Clock.Gaps+r.Clock.Restarts != 0 {
				t.Errorf("clock is %+v", r.Clock)
			}
		})
	}
}
