package stream

import (
	"errors"
	"testing"

	"bgcstat/parser"
)

// TestSameServer has two servers behind one address.
func TestSameServer(t *testing.T) {
	a := map[string]string{"server_id": "1", "server_uuid": "u", "hostname": "h", "port": "3306"}
	b := map[string]string{"server_id": "1", "server_uuid": "v", "hostname": "h", "port": "3306"}
	if SameServer(a, b) || !SameServer(a, a) {
		t.Error("not told by UUID")
	}
	delete(a, "server_uuid")
	if SameServer(a, b) {
		t.Error("one has a UUID, and the other none")
	}
	delete(b, "server_uuid")
	if !SameServer(a, b) {
		t.Error("MariaDB's are the same")
	}
	if b["port"] = "3307"; SameServer(a, b) {
		t.Error("MariaDB's have different ports")
	}
}

// TestIdentity has a server of MariaDB before and after SET GLOBAL gtid_domain_id.
func TestIdentity(t *testing.T) {
	before := Facts{Settings: map[string]string{"server_id": "1", "hostname": "h", "port": "3306", "gtid_domain_id": "0"}}
	after := Facts{Settings: map[string]string{"server_id": "1", "hostname": "h", "port": "3306", "gtid_domain_id": "7"}}
	if before.identity() != after.identity() {
		t.Errorf("%q and %q", before.identity(), after.identity())
	}
}

// TestCheck has servers that cannot be started for a test, by what they say.
func TestCheck(t *testing.T) {
	set, err := parser.ParseGTIDSet("0-1-5")
	if err != nil {
		t.Fatal(err)
	}
	gtid := Start{GTIDs: set, State: "0-1-5"}
	for _, test := range []struct {
		settings map[string]string
		from     Start
		want     string
	}{
		{map[string]string{"log_bin": "ON"}, Start{}, ""},
		{map[string]string{"log_bin": "OFF"}, Start{}, "no binlog: log_bin is OFF"},
		{map[string]string{}, gtid, "no binlog: log_bin is unknown"},
		{
			map[string]string{"log_bin": "ON", "binlog_storage_engine": "innodb"},
			Start{Oldest: true},
			"no binlog with positions: binlog_storage_engine is innodb: begin behind a GTID, such as SELECT @@gtid_binlog_pos gives",
		},
		{map[string]string{"log_bin": "ON", "binlog_storage_engine": "innodb"}, gtid, ""},
		{map[string]string{"log_bin": "ON", "binlog_storage_engine": ""}, Start{}, ""},
	} {
		err := (&Facts{Settings: test.settings}).check(&test.from)
		switch {
		case test.want == "" && err == nil:
		case err == nil || err.Error() != test.want || !errors.Is(err, ErrNoBinlog):
			t.Errorf("%v from %+v: got %v, want %s", test.settings, test.from, err, test.want)
		}
	}
}
