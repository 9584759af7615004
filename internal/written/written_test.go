package written

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestList(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("WEFT_CACHE", filepath.Join(dir, "cache"))
	l := Default()
	a, folder := filepath.Join(dir, "a b\n\"c"), filepath.Join(dir, "folder")
	write(t, a, "one")
	if err := os.Mkdir(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	if l.Has(a) || l.Has(folder) {
		t.Error("the list has files before any was added")
	}
	l.Add([]string{a, folder, filepath.Join(dir, "missing")})
	for _, path := range []string{a, folder} {
		if !Default().Has(path) {
			t.Errorf("%s: added, expected in the list", path)
		}
	}
	if l.Has(filepath.Join(dir, "missing")) || l.Has(dir) || l.Has(filepath.Join(dir, "a b")) {
		t.Error("the list has files that were not added")
	}
	write(t, a, "three")
	if l.Has(a) {
		t.Error("the list has a file that has another size by now")
	}
	l.Add([]string{a})
	if later := time.Now().Add(time.Hour); os.Chtimes(a, later, later) != nil || l.Has(a) {
		t.Error("the list has a file that has been written since")
	}
	write(t, filepath.Join(folder, "x"), "one")
	if l.Has(folder) {
		t.Error("the list has a folder with a file that came since")
	}
	l.Add([]string{folder})
	if !l.Has(folder) {
		t.Error("a folder was added, expected in the list")
	}
	write(t, filepath.Join(folder, "x"), "three")
	if l.Has(folder) {
		t.Error("the list has a folder with a file that has changed since")
	}
	link := filepath.Join(dir, "link")
	if os.Symlink(dir, link) == nil { // some systems allow only certain users to create links
		write(t, filepath.Join(link, "b"), "")
		l.Add([]string{filepath.Join(link, "b")})
		for _, path := range []string{filepath.Join(link, "b"), filepath.Join(dir, "b")} {
			if !Default().Has(path) {
				t.Errorf("%s: written through a link, expected in the list", path)
			}
		}
	}
	(&List{}).Add([]string{a})
	if (&List{}).Has(a) {
		t.Error("the list without a place has a file")
	}
}

// TestShorten checks that the size of a list is limited, and that the newest entries are kept.
func TestShorten(t *testing.T) {
	dir := t.TempDir()
	l := &List{path: filepath.Join(dir, "written")}
	var text strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&text, "%q 1 %d\n", strings.Repeat("x", 60), i)
	}
	write(t, l.path, text.String())
	l.Add([]string{dir})
	st, err := os.Stat(l.path)
	if err != nil || st.Size() > maxSize {
		t.Errorf("%d bytes, %v", st.Size(), err)
	}
	if _, err := os.Stat(l.path); err != nil {
		t.Error(err)
	}
	got, _ := os.ReadFile(l.path)
	if lines := strings.Split(string(got), "\n"); !strings.HasSuffix(lines[0], " 1 "+fmt.Sprint(20_000-(len(lines)-2))) {
		t.Errorf("the first of %d lines is %q", len(lines), lines[0])
	}
	write(t, filepath.Join(dir, "f"), "")
	l.Add([]string{filepath.Join(dir, "f")})
	if !l.Has(filepath.Join(dir, "f")) {
		t.Error("what was added last is forgotten")
	}
}
