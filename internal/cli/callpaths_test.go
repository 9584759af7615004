package cli

import (
	"errors"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/otf2"
)

// callpathsArchive writes an archive of two locations with a callsite and two callpaths, the child first. It returns
// the path.
func callpathsArchive(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "callpaths.otf2")
	out, err := format.CreateFile(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := otf2.NewWriter(out, otf2.Anchor{})
	if err != nil {
		t.Fatal(err)
	}
	define := func(id uint8, values ...uint64) {
		err = errors.Join(err, w.Define(&otf2.Record{ID: id, Values: values}))
	}
	none := uint64(1<<32 - 1)
	for i, text := range []string{"", "node", "main", "solve", "a.c", "steps"} {
		err = errors.Join(err, w.Define(&otf2.Record{ID: 10, Values: []uint64{uint64(i), 0}, Texts: []string{text}}))
	}
	define(5, 1000, 0, 100, 1<<64-1)
	define(12, 0, 1, 1, none)
	define(13, 0, 1, 1, 0, none)
	for location := range uint64(2) {
		define(14, location, 1, 1, 2, 0)
		for i, id := range []uint8{12, 13} {
			err = errors.Join(err, w.Location(location).Write(&otf2.Event{Time: 10 + uint64(i),
				Record: otf2.Record{ID: id, Values: []uint64{location}}}))
		}
	}
	for region := range uint64(2) {
		define(15, region, 2+region, 0, 0, none, 0, 0, 2+region, 1, 1, 0)
	}
	define(23, 0, 5, 2)
	define(16, 4, 4, 17, 0, 1)
	define(17, 3, 9, 1)
	define(17, 9, none, 0)
	define(42, 3, 0, 4, 12)
	if err = errors.Join(err, w.Close(), out.Commit()); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestUnifiedCallpaths merges the parts of an archive with --unify. otf2-print must print each callsite and each
// callpath once, and the child must keep its parent and its parameter.
func TestUnifiedCallpaths(t *testing.T) {
	if _, err := exec.LookPath("otf2-print"); err != nil {
		t.Skip("otf2-print is not installed")
	}
	path, dir := callpathsArchive(t), t.TempDir()
	first, second, merged := filepath.Join(dir, "a.otf2"), filepath.Join(dir, "b.otf2"), filepath.Join(dir, "x.otf2")
	weft(t, 0, "filter", "-q", "--location", "0", path, first)
	weft(t, 0, "filter", "-q", "--location", "1", path, second)
	weft(t, 0, "merge", "-q", "--unify", first, second, merged)
	out, _ := runTool(t, merged, "otf2-print", "-G")
	find := func(pattern string) string {
		t.Helper()
		found := regexp.MustCompile(pattern).FindAllSubmatch(out, -1)
		if len(found) != 1 {
			t.Fatalf("otf2-print prints %d lines of %s, expected 1:\n%s", len(found), pattern, out)
		}
		return string(found[0][1])
	}
	find(`(?m)^CALLSITE +(\d+) +File: "a.c" <\d+>, Line Number: 17, Entered Region: "main" <\d+>, Left Region: "solve"`)
	root := find(`(?m)^CALLPATH +(\d+) +Parent: UNDEFINED, Region: "main"`)
	// otf2-print does not know a parent that is defined behind its child, but prints its id
	child := find(`(?m)^CALLPATH +(\d+) +Parent: INVALID <` + root + `>, Region: "solve"`)
	find(`(?m)^CALLPATH_PARAMETER +Callpath: ` + child + `, Parameter: ("steps") <\d+>, Type: UINT64, Value: 12`)
}
