package stream

import (
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"bgcstat/parser"
	"bgcstat/parser/server"
	"bgcstat/parser/servertest"
)

// TestPlace asks where reading goes on in the moments when a connection is
// seldom lost.
func TestPlace(t *testing.T) {
	const uuid = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
	set, err := parser.ParseGTIDSet(uuid + ":1-5")
	if err != nil {
		t.Fatal(err)
	}
	at := func(file string, offset int64) Config { return Config{From: Start{File: file, Offset: offset}} }
	behind := Config{From: Start{GTIDs: set}}
	for name, test := range map[string]struct {
		config Config
		source source
		gtids  string
		file   string
		offset int64
	}{
		"first": {at("b.1", 900), source{}, "", "b.1", 900},
		"later": {at("b.1", 900), source{file: "b.2", boundary: 500, made: 1, gtids: tracker{set: set}}, "", "b.2", 500},
		// A failover, and nothing has come of the new server; its log may have the
		// same name.
		"failover, no log yet": {at("b.1", 900), source{file: "b.1", boundary: 500, made: 1, moved: true, fresh: true, gtids: tracker{set: set}}, uuid + ":1-5", "b.1", 500},
		// Its log has begun, with transactions that came of the first server.
		"failover, no transaction yet": {at("b.1", 900), source{file: "b.7", boundary: 126, made: 1, moved: true, gtids: tracker{set: set}}, uuid + ":1-5", "b.7", 126},
		"failover, and more":           {at("b.1", 900), source{file: "b.7", boundary: 500, made: 1, moved: true, came: true, gtids: tracker{set: set}}, uuid + ":1-5", "b.7", 500},
		"behind GTIDs":                 {behind, source{file: "b.7", boundary: 126, made: 1, gtids: tracker{set: set}}, uuid + ":1-5", "b.7", 126},
		"behind GTIDs, none any more":  {behind, source{file: "b.7", boundary: 700, made: 1, came: true}, "", "b.7", 700},
	} {
		s := test.source
		s.ctx, s.stream = t.Context(), &Stream{config: test.config}
		s.now.Settings = map[string]string{"server_uuid": "a", "gtid_mode": "ON"}
		s.known = "a"
		byGTID, gtids, file, offset, err := s.place()
		if err != nil || byGTID != (test.gtids != "") || gtids != test.gtids || file != test.file || offset != test.offset {
			t.Errorf("%s: by GTID %t, %q, %s:%d, %v", name, byGTID, gtids, file, offset, err)
		}
		s.now.Settings["gtid_mode"] = "ON_PERMISSIVE"
		if byGTID, _, _, _, err := s.place(); err != nil || byGTID != (test.gtids != "" && !s.came) {
			t.Errorf("%s, gtid_mode ON_PERMISSIVE: by GTID %t, %v", name, byGTID, err)
		}
		s.known = "b"
		if _, _, _, _, err := s.place(); s.gtids.set == nil && !errors.Is(err, ErrOtherServer) {
			t.Errorf("%s, another server and no GTIDs: %v", name, err)
		}
	}
}

// TestFirstBoundary has a connection that is lost between the name of the first
// log and its format event: reading goes on where it was to begin.
func TestFirstBoundary(t *testing.T) {
	s := newSource(t.Context(), &Stream{config: Config{From: Start{File: "b.1", Offset: 900}}})
	s.begin, s.nextIs, s.known = 900, "b.1", s.now.identity()
	if err := s.nextLog(); err != nil {
		t.Fatal(err)
	}
	if _, _, file, offset, err := s.place(); err != nil || file != "b.1" || offset != 900 {
		t.Errorf("%s:%d, %v", file, offset, err)
	}
	if st := s.stream.State(); st.Offset != 900 {
		t.Errorf("reading is at %d", st.Offset)
	}
}

// TestShort tells the end of a bounded dump from a dump that was ended.
func TestShort(t *testing.T) {
	for _, test := range []struct {
		file  string
		at    int64
		until string
		short bool
	}{
		{"b.000009", 500, "", false}, // not known
		{"b.000009", 499, "b.000009", true},
		{"b.000009", 500, "b.000009", false},
		{"b.000009", 900, "b.000009", false}, // written since
		{"b.000009", 900, "b.000010", true},
		{"b.999999", 900, "b.1000000", true},
		{"b.000010", 4, "b.000009", false},
		{"old.000009", 900, "b.000010", false}, // which of them is first is not known
		{"", 0, "b.000010", false},
	} {
		s := source{file: test.file, at: test.at}
		if test.until != "" {
			s.until = parser.Pos{File: test.until, Offset: 500}
		}
		if got := s.short(); got != test.short {
			t.Errorf("%s:%d of %s: %t", test.file, test.at, test.until, got)
		}
	}
}

// TestTooShort has an event that ends before what is passed over of it: that is
// not the end of a dump.
func TestTooShort(t *testing.T) {
	if err := discard(strings.NewReader("1234"), 4); err != nil {
		t.Error(err)
	}
	if err := discard(strings.NewReader("123"), 4); !errors.Is(err, errTooShort) || errors.Is(err, io.EOF) {
		t.Errorf("got %v", err)
	}
}

// TestOldestGTIDs begins at the oldest of MariaDB's logs: by the GTIDs that stood
// before it another server could go on, also where nothing comes of a domain.
func TestOldestGTIDs(t *testing.T) {
	m := servertest.Start(t, servertest.MariaDB1011)
	m.Exec(t, "CREATE DATABASE d; SET gtid_domain_id = 7; CREATE TABLE d.t (id INT); FLUSH BINARY LOGS")
	m.Exec(t, "PURGE BINARY LOGS TO '"+filepath.Base(m.Binlogs(t)[1])+"'; INSERT INTO d.t VALUES (1)")
	s, err := Open(t.Context(), Config{
		Server: server.Options{Socket: m.Socket, User: "root", Protocol: server.Socket}, From: Start{Oldest: true}, ToLastLog: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var last string
	for {
		txn, _, err := s.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		last = txn.GTID.String()
	}
	if got, err := s.source.gtids.position(); err != nil || got != "0-1-2,7-1-1" || last != "0-1-2" {
		t.Errorf("behind %q, %v; the last that came is %s", got, err, last)
	}
}
