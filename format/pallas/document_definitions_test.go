package pallas

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/effort"
	"github.com/weft-trace/weft/trace"
)

// writeDefined writes a trace with definitions of the trace and of two archives. Each archive has a
// thread that enters and leaves region 1.
func writeDefined(t *testing.T, w *Writer) string {
	t.Helper()
	for id := range uint32(2) {
		r := must(w.Archive(id).Record(id, 8))(t)
		for i, record := range []Record{Enter, Leave} {
			if err := r.Record(uint64(i), record, region(1), nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return w.path
}

func TestDocument_Definitions(t *testing.T) {
	effort.Sequential(t)
	t.Run("local definitions override global ones", testLocalDefinitions)
	t.Run("a global region has its name from the archive's strings", testGlobalRegionNames)
	t.Run("a reference has 32 bits", testWideReference)
	t.Run("strings, regions, attributes, groups and communicators", testDefinitionsOfTools)
	t.Run("locations are in their archive, location groups in the main file", testPlacesOfLocations)
	t.Run("parents make a hierarchy; the root's is -1", testHierarchyOfGroups)
}

func testLocalDefinitions(t *testing.T) {
	w := must(Create(filepath.Join(t.TempDir(), "main"), nil))(t)
	w.LocationGroups = []LocationGroup{{0, NoRef, NoRef}, {1, NoRef, NoRef}}
	w.Definitions = Definitions{Strings: []String{{1, "everywhere"}, {2, "all"}, {8, "thread"}},
		Regions: []Region{{1, 1}, {2, 2}}, Attributes: []Attribute{{1, 1, NoRef, Uint8Value}},
		Groups: []Group{{1, 1, 1, 0, []uint32{0, 1}}}, Comms: []Comm{{1, 1, 1, NoRef}}}
	w.Archive(1).Definitions = Definitions{Strings: []String{{1, "here"}, {3, "only here"}, {8, "own thread"}},
		Regions: []Region{{1, 3}}, Attributes: []Attribute{{1, 3, NoRef, Uint64Value}},
		Groups: []Group{{1, 3, 2, 0, []uint32{1}}}, Comms: []Comm{{1, 3, 1, 1}}}
	path := writeDefined(t, w)
	for id, want := range [][]any{
		{"everywhere", "all", "everywhere", "all", Uint8Value, []uint32{0, 1}, NoRef, "thread"},
		{"here", "all", "only here", "all", Uint64Value, []uint32{1}, Ref(1), "own thread"},
	} {
		th := threads(t, path)[id]
		d := th.Archive.Definitions
		text := func(s string, ok bool) string {
			if !ok {
				t.Errorf("archive %d: found nothing, expected a definition", id)
			}
			return s
		}
		got := []any{text(d.Text(1)), text(d.Text(2)), text(d.RegionName(1)), text(d.RegionName(2)),
			d.Attribute(1).Type, d.Group(1).Members, d.Comm(1).Parent, th.Name()}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("archive %d (-want +got):\n%s", id, diff)
		}
	}
	// A definition of one archive does not apply to another archive.
	if s, ok := threads(t, path)[0].Archive.Definitions.Text(3); ok {
		t.Errorf("found %q, expected no string 3", s)
	}
	if got := regionsEntered(t, path); !slices.Equal(got, []string{"everywhere", "only here"}) {
		t.Errorf("the events' regions are %q, expected those of their archives", got)
	}
}

func testGlobalRegionNames(t *testing.T) {
	// pallas_info prints this text. The document does not specify it.
	w := must(Create(filepath.Join(t.TempDir(), "main"), nil))(t)
	w.LocationGroups = []LocationGroup{{0, NoRef, NoRef}, {1, NoRef, NoRef}}
	w.Definitions = Definitions{Strings: []String{{1, "everywhere"}}, Regions: []Region{{1, 1}}}
	w.Archive(1).Definitions = Definitions{Strings: []String{{1, "here"}}}
	path := writeDefined(t, w)
	for id, want := range []string{"everywhere", "here"} {
		if got, _ := threads(t, path)[id].Archive.Definitions.RegionName(1); got != want {
			t.Errorf("archive %d: found %q, expected %q", id, got, want)
		}
	}
	if got := regionsEntered(t, path); !slices.Equal(got, []string{"everywhere", "here"}) {
		t.Errorf("the events' regions are %q, expected those of their archives", got)
	}
}

func testWideReference(t *testing.T) {
	th := threads(t, mainFile(t, "testdata/ok/sparse_ids"))[0]
	// In truth.txt, the last call is a call of region 005ed0b2 (bytes in little-endian order).
	at := slices.IndexFunc(th.Events, func(e Event) bool {
		return e.Record == Enter && fmt.Sprintf("%x", e.Payload) == "005ed0b2"
	})
	if at < 0 {
		t.Fatal("found no such event")
	}
	v, ok := th.Events[at].Record.Values(th.Events[at].Payload)
	if !ok || v[0] != 3_000_000_000 {
		t.Errorf("found %v, expected 3000000000", v)
	}
	if s, _ := th.Archive.Definitions.RegionName(Ref(v[0])); s != "huge ref" {
		t.Errorf("found %q, expected \"huge ref\"", s)
	}
}

func testDefinitionsOfTools(t *testing.T) {
	// The trace has an attribute of each type, in the order of the types. pallas_info lists these names.
	names := strings.Fields("none u8 u16 u32 u64 i8 i16 i32 i64 float double string attribute location region group " +
		"metric comm parameter rma_win src callctx intgen iofile iohandle locgroup")
	th := threads(t, mainFile(t, "testdata/ok/attrs"))[0]
	if n := len(th.Archive.Trace.Definitions.Attributes); n != len(names) {
		t.Fatalf("found %d attributes, expected %d", n, len(names))
	}
	for i, x := range th.Archive.Trace.Definitions.Attributes {
		name, _ := th.Archive.Definitions.Text(x.Name)
		doc, _ := th.Archive.Definitions.Text(x.Description)
		if doc != "an attribute description" || int(x.Type) != i || name != names[i] {
			t.Errorf("found attribute %d of type %s, %q, %q, expected %q", i, x.Type, name, doc, names[i])
		}
	}
	for id, th := range threads(t, mainFile(t, "testdata/ok/abi18_mpi")) {
		d := th.Archive.Definitions
		name := func(r Ref) string { s, _ := d.Text(r); return s }
		// pallas_info lists these definitions for the trace and for the archive.
		for ref, want := range map[Ref]string{1: "odd group [1 3] odd comm 1 0", 7: fmt.Sprintf("self [%d] self 7 0", id)} {
			g, c := d.Group(ref), d.Comm(ref)
			if got := fmt.Sprintf("%s %d %s %d %d", name(g.Name), g.Members, name(c.Name), c.Group, c.Parent); got != want {
				t.Errorf("archive %d: found %q, expected %q", id, got, want)
			}
		}
		if p := d.Comm(0).Parent; p != NoRef {
			t.Errorf("found the parent %d, expected none", p)
		}
	}
}

func testPlacesOfLocations(t *testing.T) {
	w := must(Create(filepath.Join(t.TempDir(), "main"), nil))(t)
	w.Definitions.Strings = []String{{8, "thread"}}
	w.LocationGroups = []LocationGroup{{0, NoRef, NoRef}, {1, NoRef, NoRef}}
	tr := must(Open(format.FileSource(writeDefined(t, w))))(t)
	if len(tr.Locations) != 0 || len(tr.LocationGroups) != 2 {
		t.Errorf("the main file has locations %v and groups %v", tr.Locations, tr.LocationGroups)
	}
	for id := range uint32(2) {
		a := must(tr.Archive(id))(t)
		if !slices.Equal(a.Locations, []Location{{id, 8, id}}) || a.ownCount != 1 || a.mainCount != 0 || len(a.groups) != 0 {
			t.Errorf("archive %d has locations %v and groups %v, expected its own thread", id, a.Locations, a.groups)
		}
	}
	// An old library wrote the locations into the main file.
	a := must(must(Open(format.FileSource(mainFile(t, "testdata/ok/global_locations"))))(t).Archive(0))(t)
	if a.ownCount != 0 || a.mainCount != 2 || a.Locations[1] != (Location{1, 6, 0}) {
		t.Errorf("found locations %v, %d of the archive, expected two of the main file", a.Locations, a.ownCount)
	}
}

func testHierarchyOfGroups(t *testing.T) {
	w := must(Create(filepath.Join(t.TempDir(), "main"), nil))(t)
	w.Definitions.Strings = []String{{0, "machine"}, {1, "node"}, {2, "rank"}}
	w.LocationGroups = []LocationGroup{{0, 2, 11}, {11, 1, 10}, {1, 2, 11}, {10, 0, 0xffffffff}}
	d := must((Format{}).Open(t.Context(), format.FileSource(writeDefined(t, w)), &format.ReadOptions{}))(t)
	defer d.Close()
	groups := &d.Defs().Groups
	for i := range d.Defs().Locations.Len() {
		var up []string
		for g := d.Defs().Locations.At(uint32(i)).Group; g != trace.NoRef; g = groups.At(g).Parent {
			up = append(up, groups.At(g).Name+" "+groups.At(g).ID)
		}
		if want := []string{fmt.Sprint("rank ", i), "node 11", "machine 10"}; !slices.Equal(up, want) {
			t.Errorf("location %d is in %q, expected %q", i, up, want)
		}
	}
	// The library wrote these bytes for a root: id 0, name 4, parent -1.
	tr := must(Open(format.FileSource(mainFile(t, "testdata/ok/minimal"))))(t)
	if want := []LocationGroup{{0, 4, NoRef}}; !slices.Equal(tr.LocationGroups, want) {
		t.Errorf("found %v, expected %v", tr.LocationGroups, want)
	}
}

// regionsEntered returns the names of the regions that a trace's events enter, by location.
func regionsEntered(t *testing.T, path string) (list []string) {
	t.Helper()
	d := must((Format{}).Open(t.Context(), format.FileSource(path), &format.ReadOptions{}))(t)
	defer d.Close()
	regions := format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
		for i, k := range b.Kind {
			if k == trace.Enter {
				list = append(list, d.Defs().Regions.At(b.Ref[i]).Name)
			}
		}
		return nil
	}}
	if err := d.Scan(t.Context(), trace.Everything(), format.PerLocation, regions); err != nil {
		t.Fatal(err)
	}
	return list
}
