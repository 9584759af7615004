package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// mostCharacters is the greatest length of a line of source or text, mostLines the greatest number of
// lines of a file, and mostFunctionLines that of a function outside of tests.
const (
	mostCharacters    = 120
	mostLines         = 700
	mostFunctionLines = 100
)

// TestLines checks the lengths of the lines, the functions and the files. In documents, tables and examples may have
// longer lines.
// Generated pages about performance are not checked.
func TestLines(t *testing.T) {
	kinds := map[string]bool{".go": true, ".ts": true, ".mjs": true, ".css": true, ".md": true}
	skipped := map[string]bool{"node_modules": true, "dist": true, "testdata": true, "bin": true, ".git": true}
	seen := 0
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && skipped[d.Name()]:
			return fs.SkipDir
		case d.IsDir() || !kinds[filepath.Ext(path)] || strings.HasPrefix(d.Name(), "performance"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		seen++
		lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
		if len(lines) > mostLines {
			t.Errorf("%s: found %d lines, expected %d at most", path, len(lines), mostLines)
		}
		if filepath.Ext(path) == ".go" && !strings.HasSuffix(path, "_test.go") {
			checkFunctions(t, path, text)
		}
		document, example := filepath.Ext(path) == ".md", false
		for i, line := range lines {
			trimmed := strings.TrimSpace(line)
			if strings.HasPrefix(trimmed, "```") {
				example = !example
			}
			if document && (example || strings.HasPrefix(trimmed, "|") || strings.HasPrefix(trimmed, "[![")) {
				continue
			}
			if n := utf8.RuneCountInString(line); n > mostCharacters {
				t.Errorf("%s:%d: found %d characters, expected %d at most", path, i+1, n, mostCharacters)
			}
		}
		return nil
	})
	if err != nil || seen < 500 {
		t.Errorf("found %d files and error %v, expected 500 or more", seen, err)
	}
}

// checkFunctions reports functions of a Go file that have too many lines.
func checkFunctions(t *testing.T, path string, text []byte) {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		if n := files.Position(f.End()).Line - files.Position(f.Pos()).Line + 1; n > mostFunctionLines {
			t.Errorf("%s: function %s has %d lines, expected %d at most", path, f.Name.Name, n, mostFunctionLines)
		}
	}
}
