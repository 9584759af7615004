package layers

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// mostCharacters is the greatest length of a line of source or text, and mostLines the greatest number of
// lines of a file.
const (
	mostCharacters = 120
	mostLines      = 700
)

// TestLines checks the lengths of the lines and of the files. In documents, tables and examples may have longer lines.
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
