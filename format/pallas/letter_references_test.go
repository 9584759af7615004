package pallas

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/effort"
)

// TestLetter_5_undefined checks that references of definitions to undefined ones are reported. NoRef refers to nothing.
func TestLetter_5_undefined(t *testing.T) {
	effort.Sequential(t)
	d := Definitions{Strings: []String{{1, "a"}}, Regions: []Region{{2, 1}}, Attributes: []Attribute{{3, 1, NoRef, 0}},
		Groups: []Group{{4, 1, 0, 0, nil}}, Comms: []Comm{{5, 1, 4, NoRef}, {6, NoRef, NoRef, 5}}}
	for _, x := range []struct {
		name, want string
		change     func(d *Definitions)
	}{
		{"defined", "", func(*Definitions) {}},
		{"region", "region 2 with the string 9", func(d *Definitions) { d.Regions = []Region{{2, 9}} }},
		{"attribute", "attribute 3 with the string 9", func(d *Definitions) { d.Attributes = []Attribute{{3, 9, 1, 0}} }},
		{"description", "attribute 3 with the string 9", func(d *Definitions) { d.Attributes = []Attribute{{3, 1, 9, 0}} }},
		{"group", "group 4 with the string 9", func(d *Definitions) { d.Groups = []Group{{4, 9, 0, 0, nil}} }},
		{"communicator", "communicator 5 with the string 9", func(d *Definitions) { d.Comms = []Comm{{5, 9, 4, NoRef}} }},
		{"group of a communicator", "communicator 5 with the group 9",
			func(d *Definitions) { d.Comms = []Comm{{5, 1, 9, NoRef}} }},
		{"parent of a communicator", "communicator 5 with the communicator 9",
			func(d *Definitions) { d.Comms = []Comm{{5, 1, 4, 9}} }},
	} {
		for _, file := range []string{"main.pallas", "archive_0/archive.pallas"} {
			t.Run("5 "+x.name+" of "+file, func(t *testing.T) {
				d := d
				x.change(&d)
				tables, empty := d.append(nil), (&Definitions{}).append(nil)
				main := handMade{}.files()["main.pallas"].Data[:33]
				archive := le32(nil, 0, 0)
				if file == "main.pallas" {
					main, archive = append(main, tables...), append(archive, empty...)
				} else {
					main, archive = append(main, empty...), append(archive, tables...)
				}
				main = le64(le32(le64(main, 1), 0, NoRef, NoRef), 0, 0)
				checkUndefined(t, fstest.MapFS{"main.pallas": {Data: main},
					"archive_0/archive.pallas": {Data: le64(archive, 0, 0, 0)}}, file, x.want)
			})
		}
	}
	for _, x := range []struct {
		name, file, want string
		group, main, own []uint32 // id, name and parent
	}{
		{"groups and locations that are defined", "", "", []uint32{0, NoRef, NoRef}, []uint32{1, NoRef, 0},
			[]uint32{2, NoRef, 0}},
		{"name of a group", "main.pallas", "location group 0 with the string 9", []uint32{0, 9, NoRef},
			[]uint32{1, NoRef, 0}, []uint32{2, NoRef, 0}},
		{"parent of a group", "main.pallas", "location group 0 with the location group 9", []uint32{0, NoRef, 9},
			[]uint32{1, NoRef, 0}, []uint32{2, NoRef, 0}},
		{"name of a location in the main file", "main.pallas", "location 1 with the string 9", []uint32{0, NoRef, NoRef},
			[]uint32{1, 9, 0}, []uint32{2, NoRef, 0}},
		{"name of a location in the main file that its archive defines", "", "", []uint32{0, NoRef, NoRef},
			[]uint32{1, 5, 0}, []uint32{2, NoRef, 0}},
		{"parent of a location in the main file", "main.pallas", "location 1 with the location group 9",
			[]uint32{0, NoRef, NoRef}, []uint32{1, NoRef, 9}, []uint32{2, NoRef, 0}},
		{"name of a location in the archive", "archive_0/archive.pallas", "location 2 with the string 9",
			[]uint32{0, NoRef, NoRef}, []uint32{1, NoRef, 0}, []uint32{2, 9, 0}},
		{"parent of a location in the archive", "archive_0/archive.pallas", "location 2 of the location group 9",
			[]uint32{0, NoRef, NoRef}, []uint32{1, NoRef, 0}, []uint32{2, NoRef, 9}},
	} {
		t.Run("3 "+x.name, func(t *testing.T) {
			empty := (&Definitions{}).append(nil)
			main := append(handMade{}.files()["main.pallas"].Data[:33:33], empty...)
			main = le64(le32(le64(le32(le64(main, 1), x.group...), 1), x.main...), 0)
			own := (&Definitions{Strings: []String{{5, "t"}}}).append(nil)
			archive := le64(append(le32(nil, 0, 0), own...), 0, 1)
			checkUndefined(t, fstest.MapFS{"main.pallas": {Data: main},
				"archive_0/archive.pallas": {Data: le64(le32(archive, x.own...), 0)}}, x.file, x.want)
		})
	}
	t.Run("9 name of a generic event", func(t *testing.T) {
		name := filepath.FromSlash(recorded(t, []inputEvent{{1, Enter, region(1), nil}, {2, Generic, region(10), nil},
			{3, Generic, region(99), nil}, {4, Leave, region(1), nil}}, nil).Archive.Trace.src.Path)
		report := checked(t, format.FileSource(name)).Rules()
		if len(report) != 1 || report[0].Count != 1 || report[0].First[0].Found != "event 2 with the string 99" {
			t.Errorf("found %+v, expected event 2 with the string 99", report)
		}
	})
	t.Run("9 regions of events", func(t *testing.T) {
		name := filepath.FromSlash(recorded(t, []inputEvent{{1, Enter, region(99), nil}, {2, Leave, region(99), nil}},
			nil).Archive.Trace.src.Path)
		l := checked(t, format.FileSource(name)).Rules()
		if len(l) != 1 || l[0].Count != 2 || l[0].First[0].Found != "event 0 with the region 99" ||
			l[0].First[1].Found != "event 1 with the region 99" {
			t.Errorf("found %+v, expected the events 0 and 1 with the region 99", l)
		}
	})
	t.Run("9 record that the format does not have", func(t *testing.T) {
		m := rootOf(ThreadBegin, []uint64{1}).files()
		m["archive_0/thread_0/thread.pallas"].Data[44] = 61
		checkUndefinedRule(t, m, "pallas.payload", "event 0 with the record 61")
	})
	t.Run("10 attribute without a definition", func(t *testing.T) {
		h := rootOf(ThreadBegin, []uint64{1, 2})
		// two lists with a value of attribute 7, and no bytes
		list := []byte{0, 0, 0, 0, 13, 0, 1, 6, 0, 7, 0, 0, 0}
		h.lists = map[int][]byte{0: append(slices.Clone(list), 1, 0, 0, 0, 13, 0, 1, 6, 0, 7, 0, 0, 0)}
		checkUndefinedRule(t, h.files(), "pallas.undefined", "event 0 with the attribute 7")
	})
}

// checkUndefined checks that checking a trace reports a reference in a file, or nothing.
func checkUndefined(t *testing.T, m fstest.MapFS, file, want string) {
	t.Helper()
	got, at := "", ""
	for _, r := range checked(t, format.Source{FS: m, Name: "main.pallas", Path: "main.pallas"}).Rules() {
		for _, d := range r.First {
			got, at = got+d.Found, d.Position.File
		}
	}
	if got != want || want != "" && at != file {
		t.Errorf("found %q in %s, expected %q in %s", got, at, want, file)
	}
}

// checkUndefinedRule checks that checking a trace reports one defect of a rule.
func checkUndefinedRule(t *testing.T, m fstest.MapFS, rule, want string) {
	t.Helper()
	for _, r := range checked(t, format.Source{FS: m, Name: "main.pallas", Path: "main.pallas"}).Rules() {
		if r.Rule == rule && r.Count == 1 && r.First[0].Found == want {
			return
		}
	}
	t.Errorf("found no defect of %s, expected %q", rule, want)
}

// TestLetter_3_copy checks that a copy keeps a loop finding that Pallas does not have, and that new grammars do
// not depend on it.
func TestLetter_3_copy(t *testing.T) {
	effort.Sequential(t)
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/ok/minimal/trace")); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "main.pallas")
	b := must(os.ReadFile(name))(t)
	b[17] = 9
	if err := os.WriteFile(name, b, 0o666); err != nil {
		t.Fatal(err)
	}
	for grammar, want := range map[string]LoopFinding{keepGrammar: 9, "compatible": BasicTruncated} {
		out := copyTrace(t, name, map[string]string{"pallas.grammar": grammar})
		if got := must(Open(format.FileSource(out)))(t).LoopFinding; got != want {
			t.Errorf("grammar %s: found %s, expected %s", grammar, got, want)
		}
	}
	if rules := checkRules(t, name); !slices.Equal(rules, []string{"pallas.settings"}) {
		t.Errorf("found %v, expected pallas.settings", rules)
	}
}
