package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSections checks that the documents have the sections that comments in the code point to.
func TestSections(t *testing.T) {
	for name, sections := range map[string][]string{
		"formats/etf.md": {"Canonical form", "Dependencies", "Rules"},
		"formats/picl.md": {"Record types", "Event types", "Predefined event subsets", "Messages", "Statistics records",
			"Old format", "Rules"},
	} {
		text := read(t, name)
		for _, s := range sections {
			if !strings.Contains(text, "\n## "+s+"\n") && !strings.Contains(text, "\n### "+s+"\n") {
				t.Errorf("%s has no section %q", name, s)
			}
		}
	}
}

// TestLinks checks that the files, folders and sections exist to which links between documents lead.
func TestLinks(t *testing.T) {
	links := 0
	for _, doc := range documents(t) {
		text := read(t, doc)
		for rest := text; ; {
			i := strings.Index(rest, "](")
			if i < 0 {
				break
			}
			rest = rest[i+2:]
			target, _, _ := strings.Cut(rest, ")")
			if strings.Contains(target, "://") || strings.ContainsAny(target, " \n") {
				continue
			}
			links++
			path, anchor, _ := strings.Cut(target, "#")
			to := text
			if path != "" {
				path = filepath.Join(filepath.Dir(doc), path)
				if info, err := os.Stat(path); err != nil || info.IsDir() {
					if err != nil || anchor != "" {
						t.Errorf("%s: link to %s: found no such document", doc, target)
					}
					continue
				}
				to = read(t, path)
			}
			if anchor != "" && !hasAnchor(to, anchor) {
				t.Errorf("%s: link to %s: no such section", doc, target)
			}
		}
	}
	if links < 100 {
		t.Errorf("found %d links, expected those of all documents", links)
	}
}

// TestMentions checks that the documents exist whose paths the sources and documents mention.
func TestMentions(t *testing.T) {
	mention := regexp.MustCompile(`\bdocs/[a-z0-9/-]+\.md\b`)
	seen := map[string]bool{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || d.Name() == "testdata" || path == "../web/dist" ||
			path != ".." && d.Name()[0] == '.') {
			return fs.SkipDir
		}
		if x := filepath.Ext(path); x != ".go" && x != ".ts" && x != ".json" && x != ".md" || d.Name() == "CHANGELOG.md" {
			return nil
		}
		for _, m := range mention.FindAllString(read(t, path), -1) {
			if _, err := os.Stat(filepath.Join("..", m)); err != nil {
				t.Errorf("%s mentions %s: found no such document", path, m)
			}
			seen[m] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !seen["docs/commands/look.md"] || !seen["docs/json/print.md"] {
		t.Errorf("found mentions of %v, expected those of docs/commands and docs/json too", seen)
	}
}

// hasAnchor reports whether a document has the section of an anchor.
func hasAnchor(text, anchor string) bool {
	for _, l := range strings.Split(text, "\n") {
		title := strings.TrimLeft(l, "#")
		if title == l || !strings.HasPrefix(title, " ") {
			continue
		}
		a := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z':
				return r
			}
			return -1
		}, strings.ToLower(strings.TrimSpace(title)))
		if a == anchor {
			return true
		}
	}
	return false
}
