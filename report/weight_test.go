package report

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Every code that the program warns of has its place.
func TestWarningsHaveWeights(t *testing.T) {
	found := map[string]bool{}
	for _, dir := range []string{"../analysis", "../parser"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || len(call.Args) < 3 {
					return true
				}
				called := ""
				switch f := call.Fun.(type) {
				case *ast.Ident:
					called = f.Name
				case *ast.SelectorExpr:
					called = f.Sel.Name
				}
				if called != "add" && called != "Add" {
					return true
				}
				if lit, ok := call.Args[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
					code, err := strconv.Unquote(lit.Value)
					if err != nil {
						t.Fatal(err)
					}
					found[code] = true
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(found) < 40 {
		t.Errorf("%d codes found in the source", len(found))
	}
	placed := map[string]bool{}
	for _, codes := range order {
		for _, code := range codes {
			if placed[code] {
				t.Errorf("%s has two places", code)
			}
			placed[code] = true
			if !found[code] {
				t.Errorf("%s has a place, and nothing warns of it", code)
			}
		}
	}
	for code := range found {
		if !placed[code] {
			t.Errorf("%s has no place in the order of warnings", code)
		}
	}
}
