package parser_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"bgcstat/parser"
)

// writeFiles puts files into a new folder and makes it the current one.
func writeFiles(t *testing.T, files map[string][]byte) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, data := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// logAt is a small log begun at a time, with a transaction of that number.
func logAt(tb testing.TB, at int, more string) []byte {
	return marshal(tb, fmt.Sprintf("format at=%d %s\nprevious-gtids\ngtid gno=%d last=0 seq=1\nquery thread=5 BEGIN\nxid 1\n", 1700000000+at, more, at+1))
}

func gzipped(tb testing.TB, data []byte) []byte {
	tb.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(data)
	if err = errors.Join(err, w.Close()); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func zstandard(tb testing.TB, data []byte) []byte {
	tb.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		tb.Fatal(err)
	}
	return w.EncodeAll(data, nil)
}

func paths(inputs []*parser.Input) string {
	var names []string
	for _, in := range inputs {
		names = append(names, filepath.ToSlash(in.Path))
	}
	return strings.Join(names, " ")
}

func TestFind(t *testing.T) {
	writeFiles(t, map[string][]byte{
		"data/binlog.000001":    logAt(t, 1, ""),
		"data/binlog.000002":    logAt(t, 2, ""),
		"data/binlog.999999":    logAt(t, 3, ""),
		"data/binlog.1000000":   logAt(t, 4, ""),
		"data/binlog.index":     []byte("./binlog.000001\n\n/somewhere/else/binlog.000002\n"),
		"data/relay-bin.000001": logAt(t, 5, "relay server=2"),
		"data/ibdata1":          []byte("x"),
		"data/binlog.000003/x":  []byte("x"),
		"relays/r-relay.000002": logAt(t, 7, "relay server=2"),
		"relays/r-relay.000001": logAt(t, 6, "relay server=2"),
		"none/file":             []byte("x"),
		"empty.index":           []byte("\n"),
		"moved/zz.000001":       logAt(t, 10, ""),
		"moved/aa.000009":       logAt(t, 12, ""),
		"moved/aa.000010":       logAt(t, 13, ""),
		"copy":                  logAt(t, 11, ""),
		"twin-b":                logAt(t, 20, ""),
		"twin-a":                logAt(t, 20, "server=3"),
	})
	for _, test := range []struct{ args, want string }{
		{"data/binlog.000002 data/binlog.000001", "data/binlog.000001 data/binlog.000002"},
		{"data/binlog.1000000 data/binlog.999999", "data/binlog.999999 data/binlog.1000000"},
		{"data", "data/binlog.000001 data/binlog.000002 data/binlog.999999 data/binlog.1000000"},
		{"data/", "data/binlog.000001 data/binlog.000002 data/binlog.999999 data/binlog.1000000"},
		{"relays", "relays/r-relay.000001 relays/r-relay.000002"},
		{"data/binlog.index", "data/binlog.000001 data/binlog.000002"},
		// By when the first of each base name was begun.
		{"moved copy", "moved/zz.000001 copy moved/aa.000009 moved/aa.000010"},
		// Begun in the same second, as given.
		{"twin-b twin-a", "twin-b twin-a"},
		{"twin-a twin-b", "twin-a twin-b"},
		{"data/binlog.000002 -", "data/binlog.000002 -"},
	} {
		inputs, err := parser.Find(strings.Fields(test.args), bytes.NewReader(logAt(t, 99, "")))
		if err != nil {
			t.Errorf("%s: %v", test.args, err)
		} else if got := paths(inputs); got != test.want {
			t.Errorf("%s: got %s, want %s", test.args, got, test.want)
		}
	}
	for _, test := range []struct {
		args string
		want error
	}{
		{"none", parser.ErrNoLogs},
		{"empty.index", parser.ErrNoLogs},
		{"gone.index", fs.ErrNotExist},
		{"data/binlog.000001 data/binlog.000001", parser.ErrSameLog},
		{"data data/binlog.000002", parser.ErrSameLog},
	} {
		if _, err := parser.Find(strings.Fields(test.args), nil); !errors.Is(err, test.want) {
			t.Errorf("%s: got %v, want %v", test.args, err, test.want)
		}
	}
}

// A name tells a relay log where it is one that servers give, not where a
// host's name or a word holds "relay".
func TestRelayNames(t *testing.T) {
	for name, want := range map[string]bool{
		"relay-bin.000001":           true,
		"host-relay-bin.000001":      true,
		"db1.example-relay-bin.0001": true,
		"HOST-RELAY-BIN.000001":      true,
		"mysql_relay_log.000001":     true,
		"relay-bin.000001.gz":        true,
		"host-relay-bin-ch1.000001":  true,
		"relay-bin":                  true,
		"dir/relay-bin.000001":       true,
		"mailrelay-bin.000001":       false,
		"relay.000001":               false,
		"relay1-bin.000001":          false,
		"relay-binlog.000001":        false,
		"binlog.000001":              false,
		"relay-bin.d/binlog.000001":  false,
	} {
		writeFiles(t, map[string][]byte{name: logAt(t, 1, "")})
		inputs, err := parser.Find([]string{name}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := inputs[0].Head.Relay; got != want {
			t.Errorf("%s: relay log is %v, want %v", name, got, want)
		}
	}
	writeFiles(t, map[string][]byte{
		"mailrelay-bin.000001":  logAt(t, 1, ""),
		"host-relay-bin.000001": logAt(t, 2, ""),
	})
	inputs, err := parser.Find([]string{"."}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := paths(inputs); got != "mailrelay-bin.000001" {
		t.Errorf("in a directory: got %s, want mailrelay-bin.000001", got)
	}
}

func TestFindNames(t *testing.T) {
	writeFiles(t, map[string][]byte{
		"a/binlog.000001": logAt(t, 1, ""),
		"b/binlog.000001": logAt(t, 2, ""),
		"b/binlog.000002": logAt(t, 3, ""),
	})
	inputs, err := parser.Find([]string{"a", "b", "-"}, bytes.NewReader(logAt(t, 4, "")))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, in := range inputs {
		got = append(got, filepath.ToSlash(in.Head.Name))
	}
	if want := "[a/binlog.000001 b/binlog.000001 binlog.000002 stdin]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

func TestRepeats(t *testing.T) {
	log := logAt(t, 1, "")
	open := bytes.Clone(log)
	open[4+17] |= 1 // in-use flag: the same log, copied earlier
	other := logAt(t, 2, "")
	formatOnly := marshal(t, "format")
	for _, test := range []struct {
		name   string
		a, b   []byte
		repeat bool
	}{
		{"two copies", log, log, true},
		{"an archive of it", log, gzipped(t, log), true},
		{"copied while open", log, open, true},
		{"another", log, other, false},
		{"too short to tell", formatOnly, formatOnly, false},
		{"not logs", []byte("x"), []byte("x"), false},
	} {
		writeFiles(t, map[string][]byte{"binlog.000001": test.a, "copy.000001": test.b})
		_, err := parser.Find([]string{"binlog.000001", "copy.000001"}, nil)
		if got := errors.Is(err, parser.ErrSameLog); got != test.repeat {
			t.Errorf("%s: got %v, want %v (%v)", test.name, got, test.repeat, err)
		}
	}
}

// Archives and standard input give what the plain file does.
func TestArchives(t *testing.T) {
	log := builderLog(t, 500)
	want, _, _ := readBytes(log, "binlog.000001")
	writeFiles(t, map[string][]byte{
		"plain/binlog.000001":    log,
		"gz/binlog.000001.gz":    gzipped(t, log),
		"zst/binlog.000001.zst":  zstandard(t, log),
		"name/binlog.000001":     zstandard(t, log),
		"parts/binlog.000001.gz": append(gzipped(t, log[:5000]), gzipped(t, log[5000:])...),
	})
	for _, dir := range []string{"plain", "gz", "zst", "name", "parts"} {
		lines, logs, errs := readInputs(t, []string{dir}, nil)
		if strings.Join(lines, "\n") != strings.Join(want, "\n") || len(errs) > 0 {
			t.Errorf("%s: got %d transactions and %v, want %d", dir, len(lines), errs, len(want))
		}
		if logs[0].Bytes != int64(len(log)) {
			t.Errorf("%s: got %d bytes, want %d", dir, logs[0].Bytes, len(log))
		}
	}
	for name, data := range map[string][]byte{"plain": log, "gzip": gzipped(t, log), "zstd": zstandard(t, log)} {
		lines, _, errs := readInputs(t, []string{"-"}, io.MultiReader(bytes.NewReader(data)))
		if strings.Join(lines, "\n") != strings.Join(want, "\n") || len(errs) > 0 {
			t.Errorf("stdin, %s: got %d transactions and %v, want %d", name, len(lines), errs, len(want))
		}
	}
}

// An archive cut short gives what it holds, and then its own error.
func TestCutArchive(t *testing.T) {
	log := builderLog(t, 2000)
	for name, data := range map[string][]byte{"binlog.000001.gz": gzipped(t, log), "binlog.000001.zst": zstandard(t, log)} {
		writeFiles(t, map[string][]byte{name: data[:len(data)/2]})
		lines, _, errs := readInputs(t, []string{name}, nil)
		if len(errs) != 1 || !errors.Is(errs[0], io.ErrUnexpectedEOF) {
			t.Errorf("%s: got %d transactions and %v, want unexpected EOF", name, len(lines), errs)
		}
		if len(lines) == 0 {
			t.Errorf("%s: got no transaction of its sound half", name)
		}
	}
}

// An archive of which nothing is there says so, as there is no position to tell.
func TestCutArchiveStart(t *testing.T) {
	log := builderLog(t, 2000)
	for name, data := range map[string][]byte{"binlog.000001.gz": gzipped(t, log)[:5], "binlog.000001.zst": zstandard(t, log)[:100]} {
		writeFiles(t, map[string][]byte{name: data})
		for _, arg := range []string{name, "-"} {
			lines, _, errs := readInputs(t, []string{arg}, bytes.NewReader(data))
			if len(lines) > 0 || len(errs) != 1 || !errors.Is(errs[0], io.ErrUnexpectedEOF) || !strings.HasSuffix(errs[0].Error(), ": nothing of the archive can be unpacked: unexpected EOF") {
				t.Errorf("%s: got %d transactions and %v", arg, len(lines), errs)
			}
		}
	}
}

// readInputs reads all that Find finds.
func readInputs(t *testing.T, args []string, stdin io.Reader) (lines []string, logs []*parser.Log, errs []error) {
	t.Helper()
	inputs, err := parser.Find(args, stdin)
	if err != nil {
		t.Fatal(err)
	}
	files := parser.NewFiles(inputs, parser.Options{})
	defer files.Close()
	for txn, err := range files.All() {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		lines = append(lines, txnLine(txn))
	}
	return lines, files.Logs(), errs
}

func TestByServer(t *testing.T) {
	writeFiles(t, map[string][]byte{
		"a.000001":     logAt(t, 1, "server=1"),
		"a.000002":     logAt(t, 2, "server=1"),
		"b.000001":     logAt(t, 3, "server=2"),
		"relay.000001": logAt(t, 4, "server=1 relay"),
		"m.000001":     logAt(t, 5, "server=1 version=10.6.1-MariaDB"),
		"odd":          []byte("x"),
	})
	inputs, err := parser.Find(strings.Fields("m.000001 b.000001 a.000002 odd relay.000001 a.000001"), nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, part := range parser.ByServer(inputs) {
		got = append(got, paths(part))
	}
	if want := "odd a.000001 a.000002; b.000001; relay.000001; m.000001"; strings.Join(got, "; ") != want {
		t.Errorf("got %s, want %s", strings.Join(got, "; "), want)
	}
	if err := parser.OneServer(inputs); !errors.Is(err, parser.ErrSeveralServers) ||
		!strings.Contains(err.Error(), "a.000001 is a binlog of mysql server_id 1") && !strings.Contains(err.Error(), "odd is") {
		t.Errorf("got %v, want an error that names two servers", err)
	}
	one, err := parser.Find([]string{"a.000002", "a.000001"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := parser.OneServer(one); err != nil {
		t.Error(err)
	}
	if parts := parser.ByServer(nil); len(parts) != 1 || len(parts[0]) != 0 {
		t.Errorf("of no inputs: got %v", parts)
	}
}
