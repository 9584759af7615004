package cli

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/otf2"
)

// writeArchive writes an archive of OTF2 with one location, 0, that has the given events. It also defines string 0 as
// "" and string 1 as "a".
func writeArchive(t *testing.T, defs []*otf2.Record, events []*otf2.Event) string {
	t.Helper()
	const undefined = 1<<32 - 1
	path := filepath.Join(t.TempDir(), "in.otf2")
	out, err := format.CreateFile(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := otf2.NewWriter(out, otf2.Anchor{})
	if err != nil {
		t.Fatal(err)
	}
	defs = append([]*otf2.Record{
		{ID: 5, Values: []uint64{1000, 0, 100, 1<<64 - 1}},
		{ID: 10, Values: []uint64{0, 0}, Texts: []string{""}},
		{ID: 10, Values: []uint64{1, 0}, Texts: []string{"a"}},
		{ID: 12, Values: []uint64{0, 1, 1, undefined}},                        // system tree node
		{ID: 13, Values: []uint64{0, 1, 1, 0, undefined}},                     // location group
		{ID: 14, Values: []uint64{0, 1, 1, uint64(len(events)), 0}}}, defs...) // location
	for _, r := range defs {
		err = errors.Join(err, w.Define(r))
	}
	for _, x := range events {
		err = errors.Join(err, w.Location(0).Write(x))
	}
	if err = errors.Join(err, w.Close(), out.Commit()); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestUnusualReferencesStay checks that otf2-print prints the same lines before and after a filter that drops nothing,
// for references to no location and no window.
func TestUnusualReferencesStay(t *testing.T) {
	const undefined, undefined64 = 1<<32 - 1, 1<<64 - 1
	event := func(time uint64, id uint8, attributes []otf2.Attribute, values ...uint64) *otf2.Event {
		return &otf2.Event{Record: otf2.Record{ID: id, Values: values}, Time: time, Attributes: attributes}
	}
	path := writeArchive(t, []*otf2.Record{
		{ID: 11, Values: []uint64{1, 1, 13, 0}}, // attribute of type LOCATION
		{ID: 18, Values: []uint64{0, 0, 0, 1, 0, 4, 4, 0}},
		{ID: 18, Values: []uint64{1, 0, 0, 1, 0, 5, 4, 0}},
		{ID: 22, Values: []uint64{0, 1, 1, undefined, 0}},
		{ID: 24, Values: []uint64{3, 1, 0, 0}},
	}, []*otf2.Event{
		event(3, 22, []otf2.Attribute{{ID: 1, Type: 13, Value: undefined64}}),
		event(6, 36, nil, undefined),
		event(7, 45, nil, 3),
	})
	out := filepath.Join(t.TempDir(), "out.otf2")
	weft(t, 0, "filter", "-q", "--not-region", "none", path, out)
	want := toolLines(t, path, "otf2-print", "-A")
	if more, fewer := differences(want, toolLines(t, out, "otf2-print", "-A")); len(more)+len(fewer) > 0 {
		t.Errorf("otf2-print: found %q, expected %q", more, fewer)
	}
}

// TestMergedParadigmNames checks that the loss table of a merge counts the paradigms that have different names in the
// traces, and no others. Paradigm 4 is MPI for OTF2, and 7 is PTHREAD.
func TestMergedParadigmNames(t *testing.T) {
	archive := func(name string) string {
		return writeArchive(t, []*otf2.Record{{ID: 10, Values: []uint64{2, 0}, Texts: []string{name}},
			{ID: 6, Values: []uint64{4, 2, 0}}, {ID: 6, Values: []uint64{7, 1, 2}}},
			[]*otf2.Event{{Record: otf2.Record{ID: 22}, Time: 1}})
	}
	first := archive("MPI")
	for name, want := range map[string]int{"MPI": 0, "Message Passing": 1} {
		_, out, _ := runWeft(t, "merge", "-q", first, archive(name), filepath.Join(t.TempDir(), "x.otf2"))
		if n := strings.Count(out, "paradigm names"); n != want {
			t.Errorf("%s: found %s\nexpected %d lines about names of paradigms", name, out, want)
		}
	}
}
