// Package layers checks that the packages have the structure that ARCHITECTURE.md describes.
package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format/all"
)

const root = "../.."

// files calls f for every Go file of the project, except tests.
func files(t *testing.T, f func(path string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && (name == "node_modules" || name == "testdata" || name == "tools" ||
			path != root && strings.HasPrefix(name, ".")) {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			rel, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			f(filepath.ToSlash(rel))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// allowedNames lists the files outside of format that may contain names of formats, with the
// reasons.
var allowedNames = map[string]string{
	"generate/cps.go":         "makes a trace with the ids of this format",
	"internal/cli/otf.go":     "the command is called so",
	"internal/cli/convert.go": "sorting is an option of the format",
	"internal/cli/repair.go":  "sorting is an option of the format",
	"internal/cli/rewrite.go": "signals without fragments cannot be written",
}

// TestNoFormatNames checks that code outside of format does not depend on names of formats. The definitions of
// a trace contain all information about its format that such code needs.
func TestNoFormatNames(t *testing.T) {
	var names []string
	for _, f := range all.Formats() {
		names = append(names, f.About().Name)
	}
	used := map[string]bool{}
	files(t, func(path string) {
		if strings.HasPrefix(path, "format/") || strings.HasPrefix(path, "internal/bench/") {
			return // benchmarks compare formats with each other
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, filepath.Join(root, path), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			x, ok := n.(*ast.BasicLit)
			if !ok || x.Kind != token.STRING {
				return true
			}
			s, _ := strconv.Unquote(x.Value)
			name, _, _ := strings.Cut(s, ".")
			if !slices.Contains(names, name) || strings.ContainsAny(s, " /") {
				return true
			}
			if used[path] = true; allowedNames[path] == "" {
				t.Errorf("%s: found the name of a format, %q, expected it in format/ alone", set.Position(x.Pos()), s)
			}
			return true
		})
	})
	for path := range allowedNames {
		if !used[path] {
			t.Errorf("%s: names no format, and need not be excused", path)
		}
	}
}
