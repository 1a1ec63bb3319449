package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"bgcstat/analysis"
	"bgcstat/parser/servertest"
)

// bgcstat runs the program and gives what it prints.
func bgcstat(t *testing.T, args ...string) []byte {
	t.Helper()
	var out, errs bytes.Buffer
	if status := run(args, strings.NewReader(""), &out, &errs); status != statusDone {
		t.Fatalf("bgcstat %s: status %d\n%s", strings.Join(args, " "), status, &errs)
	}
	return out.Bytes()
}

func analyzed(t *testing.T, args ...string) *analysis.Result {
	t.Helper()
	var r analysis.Result
	if err := json.Unmarshal(bgcstat(t, append([]string{"analyze", "--format", "json"}, args...)...), &r); err != nil {
		t.Fatal(err)
	}
	return &r
}

// dumped gives the rows of dump as maps from column to value.
func dumped(t *testing.T, args ...string) []map[string]string {
	t.Helper()
	records, err := csv.NewReader(bytes.NewReader(bgcstat(t, append([]string{"dump", "--format", "csv"}, args...)...))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var rows []map[string]string
	for _, r := range records[1:] {
		row := map[string]string{}
		for i, name := range records[0] {
			row[name] = r[i]
		}
		rows = append(rows, row)
	}
	return rows
}

// load runs clients sessions at once, each with its own autocommitted updates.
func load(t *testing.T, s *servertest.Server, clients, each int) {
	t.Helper()
	var g errgroup.Group
	for c := range clients {
		var sql strings.Builder
		for i := range each {
			fmt.Fprintf(&sql, "UPDATE shop.t%d SET v = v + 1 WHERE id = %d;\n", i%2+1, c*each+i+1)
		}
		g.Go(func() error {
			_, err := s.Query(sql.String())
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
}

const schema = `CREATE DATABASE shop;
CREATE TABLE shop.t1 (id INT PRIMARY KEY, v INT NOT NULL);
CREATE TABLE shop.t2 LIKE shop.t1;
INSERT INTO shop.t1 WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900) SELECT i, 0 FROM n;
INSERT INTO shop.t2 SELECT * FROM shop.t1;`

// TestServers makes a log with many groups on each real server and holds what
// is told of it against the server's own tool and counters.
func TestServers(t *testing.T) {
	for _, kind := range servertest.Kinds {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			args := []string{"--sync-binlog=1"}
			if kind.MySQL() {
				args = append(args, "--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--binlog-group-commit-sync-delay=500")
			} else {
				args = append(args, "--binlog-commit-wait-count=4", "--binlog-commit-wait-usec=2000", "--binlog-format=ROW")
			}
			s := servertest.Start(t, kind, args...)
			s.Exec(t, schema)
			load(t, s, 8, 100)
			s.Exec(t, "FLUSH LOGS")
			load(t, s, 8, 10)
			if kind.MySQL() {
				checkMySQL(t, s)
			} else {
				checkMariaDB(t, s)
			}
		})
	}
}

func checkMySQL(t *testing.T, s *servertest.Server) {
	s.Stop(t)
	logs := s.Binlogs(t)
	var own []string // last_committed, sequence_number, GTID
	distinct := int64(0)
	line := regexp.MustCompile(`last_committed=(\d+)\s+sequence_number=(\d+)`)
	next := regexp.MustCompile(`GTID_NEXT= '([^']+)'`)
	for _, log := range logs {
		text := s.Binlog(t, log)
		values := map[string]bool{}
		gtids := next.FindAllStringSubmatch(text, -1)
		for i, m := range line.FindAllStringSubmatch(text, -1) {
			own = append(own, m[1]+" "+m[2]+" "+gtids[i][1])
			values[m[1]] = true
		}
		distinct += int64(len(values))
	}
	var got []string
	for _, row := range dumped(t, logs...) {
		got = append(got, row["last_committed"]+" "+row["sequence_number"]+" "+row["gtid"])
	}
	if !slices.Equal(got, own) {
		t.Errorf("%d rows, mysqlbinlog prints %d, and they differ", len(got), len(own))
	}
	r := analyzed(t, logs...)
	if r.Transactions != int64(len(own)) || len(own) < 880 {
		t.Errorf("%d transactions, mysqlbinlog prints %d", r.Transactions, len(own))
	}
	if *r.Groups.LastCommitted.Distinct != distinct {
		t.Errorf("%d distinct last_committed, mysqlbinlog prints %d", *r.Groups.LastCommitted.Distinct, distinct)
	}
	if len(r.Sources) != len(logs) || r.Clock.Verdict != analysis.Contiguous || r.DependencyTracking.ServerMode != analysis.ModeWriteset {
		t.Errorf("%d sources, clock %+v, tracking %+v", len(r.Sources), r.Clock, r.DependencyTracking)
	}
	// With a delay the groups are apart for sure and hold several each.
	if b := r.Groups.Bound; b.Lower < 110 || b.Lower >= r.Transactions || b.Upper != r.Transactions {
		t.Errorf("bound is %+v of %d transactions", b, r.Transactions)
	}
	if r.Saved == nil || r.Saved.Assumes.From != "default of 9.7" {
		t.Errorf("saved is %+v", r.Saved)
	}
}

func checkMariaDB(t *testing.T, s *servertest.Server) {
	// The counters see what goes through the group commit queue. DDL is written
	// past it, each statement a group of its own.
	commits, groups := counter(t, s, "Binlog_commits"), counter(t, s, "Binlog_group_commits")
	s.Stop(t)
	logs := s.Binlogs(t)
	var own []string // commit id, GTID
	line := regexp.MustCompile(`GTID (\d+-\d+-\d+)(?: cid=(\d+))?`)
	for _, log := range logs {
		for _, m := range line.FindAllStringSubmatch(s.Binlog(t, log), -1) {
			own = append(own, m[2]+" "+m[1])
		}
	}
	var got []string
	ddl := int64(0)
	for _, row := range dumped(t, logs...) {
		got = append(got, row["commit_id"]+" "+row["gtid"])
		if row["terminator"] == "DDL" {
			ddl++
		}
	}
	if !slices.Equal(got, own) {
		t.Errorf("%d rows, mariadb-binlog prints %d, and they differ", len(got), len(own))
	}
	r := analyzed(t, append([]string{"--sync-binlog", "1"}, logs...)...)
	if r.Transactions != commits+ddl || r.Transactions < 880 {
		t.Errorf("%d transactions, want %d commits and %d DDL statements", r.Transactions, commits, ddl)
	}
	g := r.Groups.Sync
	if *g.Count != groups+ddl || g.Basis != analysis.Exact {
		t.Errorf("%d groups (%s), want %d by the server's count and %d DDL statements", *g.Count, g.Basis, groups, ddl)
	}
	if g.Size.Max < 2 {
		t.Errorf("sizes are %+v: the load made no groups", g.Size)
	}
}

func counter(t *testing.T, s *servertest.Server, name string) int64 {
	t.Helper()
	value := strings.Fields(s.Exec(t, "SHOW GLOBAL STATUS LIKE '"+name+"'"))
	n, err := strconv.ParseInt(value[len(value)-1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestDistinctAsGrep holds last_committed.distinct against the recipe itself,
// mysqlbinlog | grep -o 'last_committed=[0-9]*' | sort -u | wc -l.
func TestDistinctAsGrep(t *testing.T) {
	logs, err := filepath.Glob("../../../shared/groundtruth/*/mysql-bin.000001")
	if err != nil {
		t.Fatal(err)
	}
	if len(logs) == 0 && os.Getenv("CI") == "true" {
		t.Fatal("../shared/groundtruth is missing")
	}
	own, err := filepath.Glob("../../testdata/binlog/mysql-*/binlog.000001")
	if err != nil || len(own) == 0 {
		t.Fatalf("no testdata (%v)", err)
	}
	s := servertest.Start(t, servertest.MySQL97)
	for _, log := range append(logs, own...) {
		log, err := filepath.Abs(log)
		if err != nil {
			t.Fatal(err)
		}
		values := map[string]bool{}
		for _, v := range regexp.MustCompile(`last_committed=\d+`).FindAllString(s.Binlog(t, log), -1) {
			values[v] = true
		}
		if got := *analyzed(t, log).Groups.LastCommitted.Distinct; got != int64(len(values)) {
			t.Errorf("%s: %d distinct, the recipe gives %d", log, got, len(values))
		}
	}
}
