package cli

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/weft-trace/weft/format/otf2"
)

// TestUnifiedCallpaths merges two equal archives with --unify. otf2-print must print each callsite and each callpath
// once, and the child, which is defined before its parent, must keep its parent and its parameter.
func TestUnifiedCallpaths(t *testing.T) {
	if _, err := exec.LookPath("otf2-print"); err != nil {
		t.Skip("otf2-print is not installed")
	}
	const undefined = 1<<32 - 1
	text := func(id uint64, s string) *otf2.Record {
		return &otf2.Record{ID: 10, Values: []uint64{id, 0}, Texts: []string{s}}
	}
	path := writeArchive(t, []*otf2.Record{
		text(2, "main"), text(3, "solve"), text(4, "a.c"), text(5, "steps"),
		{ID: 15, Values: []uint64{0, 2, 0, 0, undefined, 0, 0, 2, 1, 1, 0}}, // region main
		{ID: 15, Values: []uint64{1, 3, 0, 0, undefined, 0, 0, 3, 1, 1, 0}}, // region solve
		{ID: 23, Values: []uint64{0, 5, 2}},                                 // parameter
		{ID: 16, Values: []uint64{4, 4, 17, 0, 1}},                          // callsite
		{ID: 17, Values: []uint64{3, 9, 1}},                                 // callpath solve
		{ID: 17, Values: []uint64{9, undefined, 0}},                         // callpath main, its parent
		{ID: 42, Values: []uint64{3, 0, 4, 12}},                             // parameter of callpath 3
	}, []*otf2.Event{
		{Time: 10, Record: otf2.Record{ID: 12, Values: []uint64{0}}},
		{Time: 11, Record: otf2.Record{ID: 13, Values: []uint64{0}}},
	})
	merged := filepath.Join(t.TempDir(), "x.otf2")
	weft(t, 0, "merge", "-q", "--unify", path, path, merged)
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
