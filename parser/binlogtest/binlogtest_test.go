package binlogtest_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bgcstat/parser/binlogtest"
)

// every is at least one of each event, and of each of its fields.
const every = `
format version=8.4.0 server=7 inuse started
previous-gtids 00000000-0000-0000-0000-000000000001:1-5:7-9,00000000-0000-0000-0000-000000000002:1-3
gtid gno=10
query thread=5 BEGIN
gtid gno=11 last=0 seq=1 sbr
gtid gno=12 last=-1 seq=2 lt=1
gtid uuid=00000000-0000-0000-0000-000000000002 gno=9223372036854775806 last=1 seq=2 commit=1700000000.000001
gtid gno=13 last=1 seq=2 commit=1700000000.000001 original=1699999999.999999 length=250 sversion=80036 oversion=80035 ticket=9223372036854775809
gtid gno=14 last=1 seq=3 commit=1700000000.000001 length=251
gtid gno=15 last=1 seq=3 commit=1700000000.000001 length=65536
gtid gno=16 last=1 seq=3 commit=1700000000.000001 length=16777216 sversion=80400
anonymous-gtid at=1700000001 last=0 seq=1
tagged-gtid gno=17 tag=t last=0 seq=1 commit=1700000000.000001
tagged-gtid uuid=ffffffff-80ff-ffff-ffff-ffffffffffff gno=9223372036854775807 tag=tag_of_32_bytes_that_is_the_most last=9223372036854775806 seq=-9223372036854775808 commit=1700000000.000001 original=1699999999.000000 length=18446744073709551615 sversion=90400 oversion=90300 ticket=1 extra=5 sbr
query thread=4294967295 db=shop INSERT INTO t VALUES (1)
table-map id=281474976710655 shop.orders
insert size=600 id=90 v=2
update size=66 id=90 v=2
delete size=52 id=90 v=2
rows-query INSERT INTO t VALUES (1)
xid 17
xa-prepare
xa-prepare onephase
intvar value=3
event type=100 flags=0x80 size=40
event type=38 body=00ff
stop
incident
event type=16 server=9 logpos=1 body=ff
rotate binlog.000002
raw deadbeef
zeros 30
`

const everyMariaDB = `
format version=11.8.5-MariaDB-log
gtid-list 0-1-5,1-2-7
maria-gtid domain=0 seq=5 standalone ddl
maria-gtid domain=4294967295 seq=18446744073709551615 cid=77 transactional waited
maria-gtid domain=0 seq=6 prepared=one/two
maria-gtid domain=0 seq=6 cid=8 completed=one engines=2 alter=commit alterseq=9 thread=10 pad=60
maria-gtid domain=0 seq=6 alter=start
maria-gtid domain=0 seq=6 alter=rollback alterseq=9
annotate INSERT INTO t VALUES (1)
insert size=600 id=90 v=1
`

func TestRoundTripText(t *testing.T) {
	for name, want := range map[string]string{"MySQL": every, "MariaDB": everyMariaDB} {
		data, err := binlogtest.Marshal(want)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := binlogtest.Unmarshal(data)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		gotLines := strings.Split(strings.TrimSpace(got), "\n")
		wantLines := strings.Split(strings.TrimSpace(strings.ReplaceAll(want, " server=7", "")), "\n")
		for i := range min(len(gotLines), len(wantLines)) {
			// The default of a format event's server is not told apart.
			g := strings.Replace(gotLines[i], "server=7 ", "", 1)
			if !sameFields(g, wantLines[i]) {
				t.Errorf("%s: line %d:\n got %s\nwant %s", name, i+1, g, wantLines[i])
			}
		}
		if len(gotLines) != len(wantLines) {
			t.Errorf("%s: got %d lines, want %d:\n%s", name, len(gotLines), len(wantLines), got)
		}
	}
}

// sameFields compares lines without regard to the order of their words.
func sameFields(a, b string) bool {
	words := func(s string) map[string]bool {
		m := make(map[string]bool)
		for w := range strings.FieldsSeq(s) {
			if w != "started" && w != "inuse" {
				m[w] = true
			}
		}
		return m
	}
	wa, wb := words(a), words(b)
	for w := range wa {
		if !wb[w] && !strings.HasPrefix(w, "server=") {
			return false
		}
	}
	return len(wb) <= len(wa)
}

func TestRoundTripFiles(t *testing.T) {
	var files []string
	for _, pattern := range []string{"../../../shared/corpus/*", "../../testdata/binlog/*/*.0*"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		checkRoundTrip(t, file, want)
		checkRoundTrip(t, file+", cut short", want[:len(want)-5])
	}
}

func checkRoundTrip(t *testing.T, name string, want []byte) {
	t.Helper()
	text, err := binlogtest.Unmarshal(want)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	got, err := binlogtest.Marshal(text)
	if err != nil {
		t.Errorf("%s: %v", name, err)
	} else if !bytes.Equal(got, want) {
		t.Errorf("%s: %d bytes differ from the %d it began with", name, len(got), len(want))
	}
}

// What real servers write is known in detail: of a plain log nothing but rows
// and queries may come back in hexadecimal digits.
func TestUnmarshalKnowsServers(t *testing.T) {
	for _, file := range []string{
		"../../testdata/binlog/mysql-9.7-ddl-xa/binlog.000001",
		"../../testdata/binlog/mariadb-11.8/mariadb-bin.000001",
	} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text, err := binlogtest.Unmarshal(data)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(text) {
			if name, _, _ := strings.Cut(line, " "); name == "raw" {
				t.Errorf("%s: %s", file, line)
			}
		}
		if !strings.Contains(text, "gtid ") || !strings.Contains(text, "xid ") {
			t.Errorf("%s: no GTID or XID event among\n%.2000s", file, text)
		}
	}
}

func TestMarshalErrors(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"format\nnonsense", `line 2: unknown event "nonsense"`},
		{"xid x", `line 1: xid: strconv.ParseUint: parsing "x": invalid syntax`},
		{"stop now", `line 1: stop: unknown field "now"`},
		{"gtid last=x seq=1", "line 1: gtid: last=x: want a number"},
		{"format\nstop truncate=99", "line 2: stop: truncate=99: the event has 23 bytes"},
		{"raw 0", "line 1: raw: encoding/hex: odd length hex string"},
		{"payload zstd {\nxid 1", "line 1: payload: no line with its }"},
		{"format\ninsert id=1 size=20", "line 2: insert: size=20: want 48 to 1 GiB"},
	} {
		if _, err := binlogtest.Marshal(test.text); err == nil || err.Error() != test.want {
			t.Errorf("%q: got %v, want %s", test.text, err, test.want)
		}
	}
}

func TestBuilder(t *testing.T) {
	var got bytes.Buffer
	b := binlogtest.NewBuilder(&got)
	head := b.Size()
	for range 1000 {
		if err := b.Txn(); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := b.Size()-head, int64(1000*binlogtest.BuilderTxnSize); got != want {
		t.Errorf("1000 transactions have %d bytes, want %d", got, want)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := binlogtest.Unmarshal(got.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if got, want := len(lines), 2+5*1000+1; got != want {
		t.Errorf("got %d events, want %d", got, want)
	}
	for _, line := range lines {
		if strings.HasPrefix(line, "raw") {
			t.Fatalf("not an event: %s", line)
		}
	}
	if n, err := binlogtest.WriteLog(io.Discard, 1<<20); err != nil || n != 988 {
		t.Errorf("WriteLog of 1 MiB: got %d transactions and %v, want 988", n, err)
	}
}

func BenchmarkBuilder(b *testing.B) {
	const size = 64 << 20
	b.SetBytes(size)
	for b.Loop() {
		if _, err := binlogtest.WriteLog(io.Discard, size); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzRoundTrip(f *testing.F) {
	for _, text := range []string{every, everyMariaDB} {
		data, err := binlogtest.Marshal(text)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) { checkRoundTrip(t, "input", data) })
}
