package iosample

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func newInventory(tb testing.TB, h Host, t Target) *Inventory {
	tb.Helper()
	v, err := NewInventory(h, t)
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

// list has class and name of each file known.
func list(v *Inventory) []string {
	var all []string
	for _, f := range v.Files() {
		all = append(all, fmt.Sprint(f.Class, " ", f.Name))
	}
	return all
}

func idOf(tb testing.TB, path string) FileID {
	tb.Helper()
	fi, err := os.Stat(path)
	if err != nil {
		tb.Fatal(err)
	}
	return fileID(fi)
}

func wantBinlog(tb testing.TB, v *Inventory, name, path string, size int64) {
	tb.Helper()
	want := File{ID: idOf(tb, path), Class: Binlog, Name: name, Path: path, Size: size}
	got, ok := v.Binlog()
	if !ok || got != want {
		tb.Errorf("binlog: got %+v, %v, want %+v", got, ok, want)
	}
	if known, ok := v.Lookup(want.ID); !ok || known != want {
		tb.Errorf("lookup: got %+v, %v, want %+v", known, ok, want)
	}
}

func TestInventory(t *testing.T) {
	h := unpackHost(t, "linux-3.10")
	all := []string{
		"binlog mysql-bin.000001",
		"binlog mysql-bin.000002",
		"binlog old-bin.000009",
		"redo ib_logfile0",
		"undo " + h.Root + "/elsewhere/undo001",
		"data db/t.frm",
		"data db/t.ibd",
		"data ibdata1",
		"other ./",
		"other db/",
		"other mysql-bin.index",
		"other old-bin.index",
	}
	data := h.Root + "/data"
	inData := slices.Delete(slices.Clone(all), 4, 5)
	for _, test := range []struct {
		target Target
		want   []string
	}{
		{Target{PID: 4711}, all},
		{Target{PID: 4711, DataDir: data + "/"}, all},
		{Target{PID: 4711, DataDir: "/data", BinlogIndex: "/data/mysql-bin.index"}, all}, // as the server has them
		{Target{DataDir: data}, inData},
		{Target{DataDir: data, BinlogIndex: data + "/mysql-bin.index"}, inData},
	} {
		// Without the process nothing tells that an index is of before but its age.
		if err := os.Chtimes(data+"/old-bin.index", fixedTime(1), fixedTime(1)); err != nil {
			t.Fatal(err)
		}
		v := newInventory(t, h, test.target)
		if got := list(v); !slices.Equal(got, test.want) {
			t.Errorf("%+v: got %q, want %q", test.target, got, test.want)
		}
		if len(v.Refused()) > 0 || v.DataDir() != data {
			t.Errorf("%+v: data directory %s, refused %q, want %s and nothing", test.target, v.DataDir(), v.Refused(), data)
		}
		wantBinlog(t, v, "mysql-bin.000002", data+"/mysql-bin.000002", 11)
		if got, want := v.Devices(), []uint64{idOf(t, data).Dev}; !slices.Equal(got, want) {
			t.Errorf("devices: got %d, want %d", got, want)
		}
	}
	if _, err := NewInventory(h, Target{PID: 4711, DataDir: h.Root + "/elsewhere"}); err == nil {
		t.Error("process and data directory of two servers: got no error")
	} else {
		wantError(t, "two servers", err, "process 4711 works in "+data+", so that its data directory is not "+h.Root+"/elsewhere")
	}

	// Where the descriptors show that the binlog is off, what lies about is not it.
	for _, fd := range []string{"3", "4"} {
		if err := os.Remove(h.pid(4711, "fd", fd)); err != nil {
			t.Fatal(err)
		}
	}
	if f, ok := newInventory(t, h, Target{PID: 4711}).Binlog(); ok {
		t.Errorf("binlog off: got %+v", f)
	}
	// While the index is replaced only the log is open.
	if err := os.Symlink(data+"/mysql-bin.000002", h.pid(4711, "fd", "4")); err != nil {
		t.Fatal(err)
	}
	wantBinlog(t, newInventory(t, h, Target{PID: 4711}), "mysql-bin.000002", data+"/mysql-bin.000002", 11)
}

func TestInventoryHidden(t *testing.T) {
	h := unpackHost(t, "hidepid")
	v := newInventory(t, h, Target{PID: 4711, DataDir: h.Root + "/data"})
	want := []string{
		"binlog binlog.000007", "binlog binlog.000008",
		"redo #innodb_redo/#ib_redo12", "redo #innodb_redo/#ib_redo13_tmp",
		"doublewrite #ib_16384_0.dblwr", "undo undo_001", "data mysql.ibd", "other #innodb_redo/", "other ./", "other binlog.index",
	}
	if got := list(v); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := v.Refused(), []string{"process 4711: no such process, or hidden by hidepid"}; !slices.Equal(got, want) {
		t.Errorf("refused: got %q, want %q", got, want)
	}
	wantBinlog(t, v, "binlog.000008", h.Root+"/data/binlog.000008", 7)

	_, err := NewInventory(h, Target{PID: 4711})
	if !errors.Is(err, ErrNotVisible) || err.Error() != "process 4711: no such process, or hidden by hidepid" {
		t.Errorf("nothing but a hidden process: got error %v", err)
	}
	_, err = NewInventory(h, Target{PID: 4711, DataDir: h.Root + "/nothing"})
	wantError(t, "neither", err, "process 4711: no such process", h.Root+"/nothing: no such file")
	_, err = NewInventory(h, Target{})
	wantError(t, "no target", err, "data directory: not given")

	// An index alone tells the binlogs.
	v = newInventory(t, h, Target{BinlogIndex: h.Root + "/data/binlog.index"})
	if got, want := list(v), []string{"binlog binlog.000007", "binlog binlog.000008"}; !slices.Equal(got, want) {
		t.Errorf("by the index: got %q, want %q", got, want)
	}
}

func TestInventoryContainers(t *testing.T) {
	h := unpackHost(t, "container")
	one := newInventory(t, h, Target{PID: 4711, DataDir: "/var/lib/mysql/", BinlogIndex: "/var/lib/mysql/binlog.index"})
	if got, want := list(one), []string{"binlog binlog.000002", "binlog binlog.000003", "other ./", "other binlog.index"}; !slices.Equal(got, want) {
		t.Errorf("one: got %q, want %q", got, want)
	}
	wantBinlog(t, one, "binlog.000003", h.Root+"/one/var/lib/mysql/binlog.000003", 4)
	if got, want := one.DataDir(), h.Root+"/one/var/lib/mysql"; got != want {
		t.Errorf("one: got data directory %s, want %s", got, want)
	}

	// No name of the other server's logs says what they are; only its binlog is
	// outside its data directory. That it has a binlog.000003 is an accident.
	two := newInventory(t, h, Target{PID: 4712, RelayIndex: "/var/lib/mysql/slave.index"})
	want := []string{
		"binlog binlog.000003", "binlog master.000001", "relay slave.000001", "relay slave.000002",
		"other ./", "other " + h.Root + "/two/logs/master.index", "other slave.index",
	}
	if got := list(two); !slices.Equal(got, want) {
		t.Errorf("two: got %q, want %q", got, want)
	}
	wantBinlog(t, two, "master.000001", h.Root+"/two/logs/master.000001", 8)
	if _, ok := two.Lookup(idOf(t, h.Root+"/one/var/lib/mysql/binlog.000003")); ok {
		t.Error("two knows a file of one")
	}

	// Seen without the process, an index's paths are of another machine: the
	// logs beside it are meant.
	outside := newInventory(t, h, Target{DataDir: h.Root + "/one/var/lib/mysql"})
	wantBinlog(t, outside, "binlog.000003", h.Root+"/one/var/lib/mysql/binlog.000003", 4)
}

// Rotation, purge and reset, step by step, without a Refresh.
func TestInventoryFollows(t *testing.T) {
	h := unpackHost(t, "hidepid")
	data := h.Root + "/data/"
	v := newInventory(t, h, Target{DataDir: data})
	index := func(entries ...string) {
		t.Helper()
		if err := os.WriteFile(data+"new", []byte(strings.Join(entries, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(data+"new", data+"binlog.index"); err != nil {
			t.Fatal(err)
		}
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(data+name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("binlog.000008", "newest and growing")
	wantBinlog(t, v, "binlog.000008", data+"binlog.000008", 18)

	write("binlog.000009", "9")
	index("./binlog.000007", "./binlog.000008", "./binlog.000009") // the last is being written
	wantBinlog(t, v, "binlog.000008", data+"binlog.000008", 18)
	index("./binlog.000007", "./binlog.000008", "./binlog.000009", "")
	wantBinlog(t, v, "binlog.000009", data+"binlog.000009", 1)

	// The inode of a purged log is used again for the next.
	id := idOf(t, data+"binlog.000007")
	if err := os.Rename(data+"binlog.000007", data+"binlog.000010"); err != nil {
		t.Fatal(err)
	}
	index("./binlog.000008", "./binlog.000009", "./binlog.000010", "")
	if f, _ := v.Lookup(id); f.Name != "binlog.000007" {
		t.Errorf("before it is noticed: got %+v", f)
	}
	wantBinlog(t, v, "binlog.000010", data+"binlog.000010", 6)

	// Two rotations at once, and a purge.
	write("binlog.000011", "eleven")
	write("binlog.000012", "12")
	index("./binlog.000010", "./binlog.000011", "./binlog.000012", "")
	wantBinlog(t, v, "binlog.000012", data+"binlog.000012", 2)
	for name, known := range map[string]bool{"binlog.000009": false, "binlog.000010": true, "binlog.000011": true} {
		if f, ok := v.Lookup(idOf(t, data+name)); ok != known || known && f.Name != name {
			t.Errorf("%s: got %+v, %v, want it known: %v", name, f, ok, known)
		}
	}
	for _, name := range []string{"binlog.000011", "binlog.000012"} {
		if err := os.Remove(data + name); err != nil {
			t.Fatal(err)
		}
	}
	index("./binlog.000009", "./binlog.000010", "")
	wantBinlog(t, v, "binlog.000010", data+"binlog.000010", 6)

	// For a moment there is no index.
	if err := os.Remove(data + "binlog.index"); err != nil {
		t.Fatal(err)
	}
	wantBinlog(t, v, "binlog.000010", data+"binlog.000010", 6)

	// Reset: the same name, another file.
	write("new", "reset")
	if err := os.Rename(data+"new", data+"binlog.000010"); err != nil {
		t.Fatal(err)
	}
	index("./binlog.000010", "")
	wantBinlog(t, v, "binlog.000010", data+"binlog.000010", 5)
	if f, ok := v.Lookup(id); ok {
		t.Errorf("the file before the reset is still %+v", f)
	}

	// All gone, and back.
	if err := os.Rename(data+"binlog.000010", data+"away"); err != nil {
		t.Fatal(err)
	}
	if f, ok := v.Binlog(); ok {
		t.Errorf("no binlog: got %+v", f)
	}
	if err := os.Rename(data+"away", data+"binlog.000010"); err != nil {
		t.Fatal(err)
	}
	wantBinlog(t, v, "binlog.000010", data+"binlog.000010", 5)

	// Entries that are none, and one behind more than is read at once.
	index("what\x00is this", "")
	wantBinlog(t, v, "binlog.000010", data+"binlog.000010", 5)
	index(strings.Repeat("x", 3*maxEntry))
	wantBinlog(t, v, "binlog.000010", data+"binlog.000010", 5)
	index(strings.Repeat("./binlog.000001\n", maxEntry)+"./binlog.000009", "")
	wantBinlog(t, v, "binlog.000009", data+"binlog.000009", 1)

	// What Refresh finds is what is there.
	if err := v.Refresh(); err != nil {
		t.Fatal(err)
	}
	want := []string{"binlog binlog.000008", "binlog binlog.000009", "binlog binlog.000010"}
	if got := list(v)[:3]; !slices.Equal(got, want) {
		t.Errorf("after Refresh: got %q, want %q", got, want)
	}
	before := v.Files()
	if err := os.Rename(data, h.Root+"/gone"); err != nil {
		t.Fatal(err)
	}
	wantError(t, "Refresh of nothing", v.Refresh(), "data: no such file")
	if got := v.Files(); !reflect.DeepEqual(got, before) {
		t.Errorf("after a Refresh that failed: got %+v, want %+v", got, before)
	}
}

func TestEncrypted(t *testing.T) {
	dir := t.TempDir()
	for name, test := range map[string]struct {
		data string
		want bool
		err  string
	}{
		"binlog.000001": {"\xfebin...", false, ""},
		"binlog.000002": {"\xfdbin...", true, ""},
		"binlog.000003": {"\xfd", false, "binlog.000003: 1 bytes, want 4 or more"},
		"binlog.000004": {"text", false, "binlog.000004: begins with 74 65 78 74, want a log's fe 62 69 6e or fd 62 69 6e"},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(test.data), 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := (&Inventory{}).Encrypted(File{Path: path})
		if got != test.want || (err == nil) != (test.err == "") {
			t.Errorf("%s: got %v, %v, want %v", name, got, err, test.want)
		}
		if test.err != "" {
			wantError(t, name, err, test.err)
		}
	}
	_, err := (&Inventory{}).Encrypted(File{Path: dir + "/none"})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: got error %v", err)
	}
}
