package stream

import (
	"errors"
	"testing"

	"bgcstat/parser"
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
		"behind GTIDs":                 {behind, source{file: "b.7", boundary: 126, made: 1, gtids: tracker{set: set}}, uuid + ":1-5", "b.7", 126},
		"behind GTIDs, none any more":  {behind, source{file: "b.7", boundary: 700, made: 1}, "", "b.7", 700},
	} {
		s := test.source
		s.ctx, s.stream = t.Context(), &Stream{config: test.config}
		s.now.Settings = map[string]string{"server_uuid": "a"}
		s.known = "a"
		byGTID, gtids, file, offset, err := s.place()
		if err != nil || byGTID != (test.gtids != "") || gtids != test.gtids || file != test.file || offset != test.offset {
			t.Errorf("%s: by GTID %t, %q, %s:%d, %v", name, byGTID, gtids, file, offset, err)
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
}
