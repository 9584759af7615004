package docs_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/all"
	"github.com/weft-trace/weft/trace"
)

// titles are the names of the formats in the tables of carried.md.
var titles = []struct{ name, title string }{{"etf", "TRACE"}, {"picl", "PICL"}, {"otf", "OTF"}, {"pallas", "Pallas"},
	{"otf2", "OTF2"}}

// TestCarriedSizes compares the tables in carried.md with the sizes of the traces that weft writes. What only weft
// reads may take up to a tenth of a collection of real traces that is not part of the repository, in every format. Its
// table is compared only where these traces are present.
func TestCarriedSizes(t *testing.T) {
	if testing.Short() {
		t.Skip("writes all traces in all formats")
	}
	const page = "formats/carried.md"
	text := read(t, page)
	for _, x := range []struct{ head, dirs string }{
		{"| written as (collection) |", "../../shared/traces/*"},
		{"| written as (repository) |", "../format/*/testdata/ok"},
	} {
		dirs, err := filepath.Glob(x.dirs)
		if err != nil {
			t.Fatal(err)
		}
		if len(dirs) == 0 {
			continue
		}
		table := x.head + " with | `--plain` | added |\n|---|--:|--:|--:|\n"
		for i, s := range carriedSizes(t, dirs) {
			added := float64(s[0]-s[1]) * 100 / float64(s[0])
			if strings.Contains(x.head, "collection") && added > 10 {
				t.Errorf("%s: found %.1f %% of data that only weft reads, expected at most 10 %%", titles[i].title, added)
			}
			table += fmt.Sprintf("| %s | %s | %s | %.0f %% |\n", titles[i].title, grouped(s[0]), grouped(s[1]), added)
		}
		from := strings.Index(text, x.head)
		if from < 0 {
			t.Fatalf("%s: found no table that begins with %s", page, x.head)
		}
		end := from + strings.Index(text[from:]+"\n\n", "\n\n") + 1
		if old := text[from:end]; old != table {
			if !*update {
				t.Errorf("%s: run go test ./docs -run TestCarriedSizes -update; found\n%s\nexpected\n%s", page, old, table)
			}
			text = text[:from] + table + text[end:]
		}
	}
	if *update {
		if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// grouped returns a number with blanks between groups of three digits.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + " " + s[i:]
	}
	return s
}

// carriedSizes returns for each format the sum of the sizes of all traces below the directories that have another
// format, written in that format: with all data, and plain.
func carriedSizes(t *testing.T, dirs []string) (sizes [5][2]int64) {
	for _, path := range tracesBelow(t, dirs) {
		f, err := all.Open(t.Context(), path, &format.ReadOptions{Report: format.NewReport()})
		if err != nil {
			continue // a trace of which a test needs only a part
		}
		origin := f.Defs().Origin
		for i, x := range titles {
			if x.name == origin {
				continue
			}
			var n [2]int64
			for k := range n {
				n[k] = sizeWritten(t, f, x.name, k == 1)
			}
			if n[0] > 0 && n[1] > 0 {
				sizes[i][0] += n[0]
				sizes[i][1] += n[1]
			}
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	return sizes
}

// tracesBelow returns the main files of the traces below the directories.
func tracesBelow(t *testing.T, dirs []string) (paths []string) {
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			name := filepath.Base(path)
			switch {
			case err != nil || e.IsDir():
			case name == "thread.pallas" || name == "archive.pallas":
			case slices.Contains([]string{".etf", ".trf", ".otf", ".otf2", ".pallas"}, filepath.Ext(name)):
				paths = append(paths, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return paths
}

// sizeWritten returns the size of a trace in a format. It returns 0 if the format cannot keep the trace.
func sizeWritten(t *testing.T, f format.File, name string, plain bool) (size int64) {
	dir := t.TempDir()
	out, err := format.CreateFile(filepath.Join(dir, "x."+strings.Replace(name, "picl", "trf", 1)))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Abort()
	var to format.Format
	for _, x := range all.Formats() {
		if x.About().Name == name {
			to = x
		}
	}
	e, err := to.Create(out, &format.WriteOptions{Plain: plain})
	if err == nil {
		err = format.Convert(t.Context(), f, trace.Everything(), e)
	}
	if errors.Is(err, format.ErrEventsLost) {
		return 0
	}
	if err == nil {
		err = out.Commit()
	}
	if err != nil {
		t.Errorf("%s as %s: %v", f.Defs().Format, name, err)
		return 0
	}
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		i, err := e.Info()
		if err == nil {
			size += i.Size()
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return size
}
