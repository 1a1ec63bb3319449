package stream_test

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bgcstat/parser"
	"bgcstat/parser/server"
	"bgcstat/parser/servertest"
	"bgcstat/parser/stream"
)

// start starts a server with GTIDs, a table and a log that begins with it.
func start(t *testing.T, kind servertest.Kind, args ...string) *servertest.Server {
	t.Helper()
	if kind == servertest.MySQL97 {
		args = append(args, "--gtid-mode=ON", "--enforce-gtid-consistency=ON")
	}
	s := servertest.Start(t, kind, args...)
	s.Exec(t, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY AUTO_INCREMENT, v LONGBLOB)")
	return s
}

func options(s *servertest.Server) server.Options {
	return server.Options{Host: "127.0.0.1", Port: s.Port, Socket: s.Socket, User: "root", Protocol: server.Socket}
}

// line is all that is known of a transaction but the Log, whose name it has.
func line(t *parser.Txn) string {
	c := *t
	c.Log = nil
	c.Tables, c.Databases = nil, nil
	var tables []string
	for _, x := range t.Tables {
		tables = append(tables, fmt.Sprintf("%v+%d~%d-%d", x.Table, x.Inserts, x.Updates, x.Deletes))
	}
	return fmt.Sprintf("%s %+v %v %v", filepath.Base(t.Log.Name), c, tables, t.Databases)
}

// inFiles reads the server's logs from their files.
func inFiles(t *testing.T, s *servertest.Server) []string {
	t.Helper()
	inputs, err := parser.Find(s.Binlogs(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	files := parser.NewFiles(inputs, parser.Options{})
	defer files.Close()
	var out []string
	for txn, err := range files.All() {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, line(txn))
	}
	return out
}

// bounded reads what a server has.
func bounded(t *testing.T, c stream.Config) []string {
	t.Helper()
	c.ToLastLog = true
	s, err := stream.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var out []string
	for {
		txn, _, err := s.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, line(txn))
	}
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	if slices.Equal(got, want) {
		return
	}
	t.Errorf("%s: %d transactions, want %d", what, len(got), len(want))
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Errorf("%s: the first that differs is %d:\n%s\nwant\n%s", what, i, got[i], want[i])
			return
		}
	}
}

// TestSameAsFiles reads a server's logs over the connection and from its files.
func TestSameAsFiles(t *testing.T) {
	for _, kind := range servertest.Some() {
		t.Run(kind.String(), func(t *testing.T) {
			s := start(t, kind)
			for i := range 50 {
				s.Exec(t, fmt.Sprintf("INSERT INTO d.t (v) VALUES ('%s')", strings.Repeat("x", i*100)))
				if i%20 == 10 {
					s.Exec(t, "FLUSH BINARY LOGS")
				}
			}
			// One event that is larger than a block and than a packet.
			s.Exec(t, "SET GLOBAL max_allowed_packet = 67108864")
			s.Exec(t, "INSERT INTO d.t (v) VALUES (REPEAT('y', 20000000)); INSERT INTO d.t (v) VALUES (REPEAT('z', 300000)); INSERT INTO d.t (v) VALUES ('end')")
			want := inFiles(t, s)
			got := bounded(t, stream.Config{Server: options(s), From: stream.Start{Oldest: true}})
			same(t, "from the oldest log", got, want)

			tail := slices.IndexFunc(want, func(l string) bool { return strings.HasPrefix(l, filepath.Base(s.Binlogs(t)[1])) })
			got = bounded(t, stream.Config{Server: options(s), From: stream.Start{File: filepath.Base(s.Binlogs(t)[1]), Offset: 4}})
			same(t, "from the second log", got, want[tail:])
		})
	}
}
