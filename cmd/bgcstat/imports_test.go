package main

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// house says which packages of ours each may import, and which of others only
// it and what is below it may: the direction of the data, and one place for
// each library. Tests may import more.
var house = []struct {
	pkg  string // with a trailing slash: what is below it, too
	ours []string
}{
	{"bgcstat/parser", nil},
	{"bgcstat/parser/stream", []string{"bgcstat/parser", "bgcstat/parser/server"}}, // it connects
	{"bgcstat/parser/", []string{"bgcstat/parser"}},
	{"bgcstat/analysis", []string{"bgcstat/parser", "bgcstat/parser/iosample", "bgcstat/parser/loadgen"}},
	{"bgcstat/report", []string{"bgcstat/analysis"}},
	{"bgcstat/report/", []string{"bgcstat/analysis", "bgcstat/report"}},
	{"bgcstat/cmd/", []string{"bgcstat/"}},
}

var libraries = []struct{ prefix, only string }{
	{"github.com/go-mysql-org/", "bgcstat/parser"},
	{"gonum.org/", "bgcstat/report/plot"},
	{"github.com/prometheus/client_golang", "bgcstat/report/metrics"},
	{"github.com/prometheus/exporter-toolkit", "bgcstat/cmd"},
	{"github.com/cilium/ebpf", "bgcstat/parser/iosample"},
	{"github.com/prometheus/procfs", "bgcstat/parser/iosample"},
	{"github.com/spf13/", "bgcstat/cmd"},
	{"github.com/schollz/progressbar", "bgcstat/cmd"},
}

func within(pkg, rule string) bool {
	if strings.HasSuffix(rule, "/") {
		return strings.HasPrefix(pkg, rule)
	}
	return pkg == rule
}

func TestImports(t *testing.T) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "bgcstat/...")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for dec := json.NewDecoder(out); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		seen++
		i := slices.IndexFunc(house, func(r struct {
			pkg  string
			ours []string
		},
		) bool {
			return within(p.ImportPath, r.pkg)
		})
		if i < 0 {
			t.Errorf("%s has no room in the house", p.ImportPath)
			continue
		}
		for _, imp := range p.Imports {
			if strings.HasPrefix(imp, "bgcstat/") && !slices.ContainsFunc(house[i].ours, func(r string) bool { return within(imp, r) }) {
				t.Errorf("%s imports %s; it may import %v of ours", p.ImportPath, imp, house[i].ours)
			}
			for _, l := range libraries {
				if strings.HasPrefix(imp, l.prefix) && p.ImportPath != l.only && !strings.HasPrefix(p.ImportPath, l.only+"/") {
					t.Errorf("%s imports %s, which only %s may", p.ImportPath, imp, l.only)
				}
			}
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if seen < 5 {
		t.Errorf("go list gave %d packages", seen)
	}
}
