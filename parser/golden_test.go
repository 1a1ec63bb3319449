package parser_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/rogpeppe/go-internal/txtar"

	"bgcstat/parser/binlogtest"
)

var update = flag.Bool("update", false, "write what is got into the golden files")

// goldens are the cases in testdata: a comment that says what the case is for,
// and the sections
//
//	binlog  the log, in the text form of package binlogtest
//	want    its transactions, as txnLine has them
//	log     the log, as logLines has it
//
// A line "file: NAME" in the comment names the log.
func goldens(tb testing.TB) []string {
	tb.Helper()
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		tb.Fatalf("no golden files (%v)", err)
	}
	return paths
}

func readGolden(tb testing.TB, path string) (ar *txtar.Archive, name string, log []byte) {
	tb.Helper()
	ar, err := txtar.ParseFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	name = "binlog.000001"
	for line := range strings.Lines(string(ar.Comment)) {
		if file, ok := strings.CutPrefix(line, "file: "); ok {
			name = strings.TrimSpace(file)
		}
	}
	for _, section := range ar.Files {
		if section.Name == "binlog" {
			log, err = binlogtest.Marshal(string(section.Data))
		}
	}
	if err != nil {
		tb.Fatalf("%s: %v", path, err)
	}
	return ar, name, log
}

func TestGoldens(t *testing.T) {
	for _, path := range goldens(t) {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			ar, name, log := readGolden(t, path)
			lines, l, err := readBytes(log, name)
			got := map[string]string{
				"want": strings.Join(append(lines, ""), "\n"),
				"log":  logLines(l, err),
			}
			checkEnd(t, log, name, err)
			for i, section := range ar.Files {
				if g, ok := got[section.Name]; ok && g != string(section.Data) {
					if *update {
						ar.Files[i].Data = []byte(g)
						continue
					}
					t.Errorf("%s: got\n%s\nwant\n%s", section.Name, g, section.Data)
				}
			}
			if *update {
				if err := os.WriteFile(path, txtar.Format(ar), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			lines1, l1, err1 := read(iotest.OneByteReader(bytes.NewReader(log)), name)
			if g, w := strings.Join(lines1, "\n")+logLines(l1, err1), strings.Join(lines, "\n")+logLines(l, err); g != w {
				t.Errorf("read byte by byte: got\n%s\nwant\n%s", g, w)
			}
		})
	}
}
