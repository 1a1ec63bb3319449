package report

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"bgcstat/analysis"
)

// named is a result with a name in every place that may hold one.
func named() *analysis.Result {
	const uuid, other = "3E11FA47-71CA-11E1-9E33-C80AA9429562", "5ee9e153-ecd2-11f1-a62f-02fc00000001"
	at := func(file string) analysis.Position { return analysis.Position{File: file, Position: 4} }
	return &analysis.Result{
		Sources: []analysis.Source{
			{File: "/backup/acme/binlog.000007.zst", Error: "/backup/acme/binlog.000007.zst:4711: GTID event: body has 12 of 42 bytes"},
			{File: "acme-db1-bin.000008", ServerVersion: "9.7.4"},
			{File: "-"},
		},
		Tables: []analysis.TableStats{{Table: "acme.orders"}, {Table: "acme.users"}, {Table: "crm.orders"}, {Table: "plain"}},
		Sizes:  &analysis.Sizes{Largest: []analysis.Large{{Position: at("acme-db1-bin.000008"), GTID: other + ":acmetag:17", Tables: []string{"crm.orders", "acme.new"}}, {GTID: "0-1-100"}}},
		Filters: &analysis.Filters{
			IncludeGTIDs: uuid + ":1-5:acmetag:7,\n" + other + ":3", Databases: []string{"crm", "acmetwo"}, Tables: []string{"users", "crm.orders"}, StartDatetime: "2026-11-30 12:00",
		},
		DependencyTracking: analysis.DependencyTracking{ServerMode: "WRITESET", Stretches: []analysis.Stretch{{
			Start: at("/backup/acme/binlog.000007.zst"), End: at("acme-db1-bin.000008"), Observed: analysis.ObservedWriteset,
			Evidence: []analysis.Evidence{{Rule: "same-session", Earlier: at("acme-db1-bin.000008"), Later: at("acme-db1-bin.000008")}},
		}}},
		IO: &analysis.IO{
			Source: "status", Detail: "performance_schema file_summary",
			DeviceFlushes: []analysis.DeviceFlushes{{Device: "vda"}, {Device: "dm-3"}, {Device: "vg-acme"}},
			Refused: []analysis.Refused{
				{Source: "bpf", Why: "/proc/17/fd: permission denied: needs the server's own user, or CAP_SYS_PTRACE"},
				{Source: "status", Why: "login as monitor@db.acme.example via /srv/acme/mysql.sock refused: Access denied for user 'monitor'@'10.1.2.3' (using password: YES)"},
				{Source: "perf", Why: `connect to root@acmehost:3306: dial tcp: lookup acmehost: no such host; file "acme.ibd"; [fe80::1%eth0]:3306`},
			},
			Settings: map[string]string{
				"hostname": "acmehost", "server_uuid": other, "datadir": "/srv/acme/", "log_bin_basename": "/srv/acme/acme-db1-bin", "log_bin_index": "/srv/acme/binlog.index",
				"pid_file": "/srv/acme/acmehost.pid", "version": "9.7.4", "sync_binlog": "1", "binlog_checksum": "CRC32", "report_host": "acme", "socket": "",
			},
		},
		Warnings: []analysis.Warning{
			{Code: "gap-between-logs", Message: "binlog.000007 ends with a pointer to binlog.000009, which is not among the files", At: &analysis.Position{File: "acme-db1-bin.000008", Position: 4}},
			{Code: "gap-between-logs", Message: "it was begun after " + strings.ToLower(uuid) + ":acmetag:5, which neither acme-db1-bin.000008 nor its predecessors hold: transactions are missing"},
			{Code: "trace-contradicts-log", Message: "the trace is of logs of other names than acme-db1-bin.000008; it goes from acme-old-bin.000002:4 to acme-db1-bin.000008:9"},
			{Code: "thread-ids-contradict", Message: "a session's statement began before one that it had committed: sessions share thread ids (a proxy, a replay); --no-session-bound leaves out all; it's the server's read/write 5.7.6"},
		},
	}
}

func encoded(t *testing.T, r *analysis.Result) string {
	t.Helper()
	var b bytes.Buffer
	if err := JSON(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestRedact(t *testing.T) {
	r := named()
	before := encoded(t, r)
	got := Redact(r)
	if encoded(t, r) != before {
		t.Error("the result that was given has changed")
	}
	if again := encoded(t, Redact(named())); again != encoded(t, got) {
		t.Error("two copies of one result differ")
	}
	for _, secret := range []string{"acme", "crm", "orders", "users", "monitor", "backup", "srv", "10.1.2.3", "fe80", "3e11fa47", "5ee9e153", "root"} {
		if text := strings.ToLower(encoded(t, got)); strings.Contains(text, secret) {
			t.Errorf("%s is still there:\n%s", secret, text)
		}
	}
	want := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: got %s\nwant %s", what, got, want)
		}
	}
	list := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	want("file", got.Sources[0].File, "dir1/binlog.000007.zst")
	want("error", got.Sources[0].Error, "dir1/binlog.000007.zst:4711: GTID event: body has 12 of 42 bytes")
	want("file", got.Sources[1].File, "file1.000008")
	want("standard input", got.Sources[2].File, "-")
	want("version", got.Sources[1].ServerVersion, "9.7.4")
	want("tables", got.Tables[0].Table+" "+got.Tables[1].Table+" "+got.Tables[2].Table+" "+got.Tables[3].Table, "db1.t1 db1.t2 db2.t1 t3")
	want("largest", got.Sizes.Largest[0].File+" "+list(got.Sizes.Largest[0].Tables), `file1.000008 ["db2.t1","db1.t4"]`)
	want("GTID", got.Sizes.Largest[0].GTID+" "+got.Sizes.Largest[1].GTID, "uuid1:tag1:17 0-1-100")
	want("GTID set", got.Filters.IncludeGTIDs, "uuid2:1-5:tag1:7,\nuuid1:3")
	want("filters", list(got.Filters.Databases)+list(got.Filters.Tables)+got.Filters.StartDatetime, `["db2","db3"]["t2","db2.t1"]2026-11-30 12:00`)
	want("disks", list(got.IO.DeviceFlushes), `[{"device":"vda","count":0},{"device":"dm-3","count":0},{"device":"disk1","count":0}]`)
	want("the kernel's path", got.IO.Refused[0].Why, r.IO.Refused[0].Why)
	want("login", got.IO.Refused[1].Why, "login as user1@host1 via dir2/file2 refused: Access denied for user user1@host2 (using password: YES)")
	want("connect", got.IO.Refused[2].Why, `connect to user2@host3:3306: dial tcp: lookup host3: no such host; file "name1"; host4:3306`)
	s := got.IO.Settings
	want("settings", s["hostname"]+" "+s["server_uuid"]+" "+s["datadir"]+" "+s["log_bin_basename"]+" "+s["log_bin_index"]+" "+s["version"]+" "+s["sync_binlog"]+" "+s["binlog_checksum"]+" "+s["report_host"]+s["socket"],
		"host3 uuid1 dir2/ dir2/file1 dir2/binlog.index 9.7.4 1 CRC32 redacted")
	want("message", got.Warnings[0].Message, r.Warnings[0].Message)
	want("GTID in a message", got.Warnings[1].Message, "it was begun after uuid2:tag1:5, which neither file1.000008 nor its predecessors hold: transactions are missing")
	want("logs in a message", got.Warnings[2].Message, "the trace is of logs of other names than file1.000008; it goes from file4.000002:4 to file1.000008:9")
	want("place", got.Warnings[0].At.File, "file1.000008")
	want("our own words", got.Warnings[3].Message, r.Warnings[3].Message)
}

// Every string of a result is redacted, or is in this list of those that are
// not names. A field that comes anew must be put in one of the two.
func TestRedactAll(t *testing.T) {
	plain := map[string]bool{
		"Source.Flavor": true, "Source.ServerVersion": true, "Source.Kind": true, "Window.Clock": true,
		"GroupStats.Basis": true, "GroupStats.Method": true, "LastCommittedGroups.Basis": true, "LastCommittedGroups.Method": true,
		"DependencyTracking.ServerMode": true, "DependencyTracking.From": true,
		"Stretch.Observed": true, "Stretch.Certainty": true, "Stretch.Reason": true, "Evidence.Rule": true, "Evidence.Why": true,
		"Syncs.Exactness": true, "IO.Syncs": true, "SyncBucket.Syncs": true, // classes
		"Assumes.From": true, "SavedSync.Basis": true, "SavedSync.Method": true, "FromLog.Basis": true, "FromLog.Method": true,
		"Clock.Verdict": true, "FlushPerSync.Basis": true, "FlushPerSync.Method": true, "FlushPerSync.SyncMethod": true, "Filters.StartDatetime": true, "Filters.StopDatetime": true, "Warning.Code": true,
		"Alone.Basis": true, "Alone.Method": true, "Alone.Cause": true,
	}
	const secret = "/secret/secret"
	var fill func(v reflect.Value, field string)
	fill = func(v reflect.Value, field string) {
		switch v.Kind() {
		case reflect.String:
			if !plain[field] {
				v.SetString(secret)
			}
		case reflect.Pointer:
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), field)
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fill(v.Index(0), field)
		case reflect.Map:
			if v.Type().Key().Kind() != reflect.String {
				t.Fatalf("%s: a map of %v", field, v.Type().Key())
			}
			v.Set(reflect.MakeMap(v.Type()))
			value := reflect.New(v.Type().Elem()).Elem()
			fill(value, field)
			v.SetMapIndex(reflect.ValueOf("datadir"), value)
		case reflect.Struct:
			if v.Type() == reflect.TypeFor[time.Time]() {
				return
			}
			for i := range v.NumField() {
				fill(v.Field(i), v.Type().Name()+"."+v.Type().Field(i).Name)
			}
		default:
		}
	}
	var r analysis.Result
	fill(reflect.ValueOf(&r).Elem(), "")
	if n := strings.Count(encoded(t, &r), secret); n < 15 {
		t.Fatalf("%d names were filled in", n)
	}
	if text := encoded(t, Redact(&r)); strings.Contains(text, "secret") {
		t.Errorf("names are left in\n%s", text)
	}
}

func TestRedactNothing(t *testing.T) {
	if got, want := encoded(t, Redact(&analysis.Result{})), encoded(t, &analysis.Result{}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"a\nb\x00c\x1b[2J":                           "a?b?c?[2J",
		"\u202a\u202b\u202c\u202d\u202e":             "?????",
		"\u2066\u2067\u2068\u2069\u200e\u200f\u061c": "???????",
		"שלום 😀":                                     "שלום 😀",
	} {
		if got := Printable(in); got != want {
			t.Errorf("Printable(%q) is %q, want %q", in, got, want)
		}
	}
}
