package otf2

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/weft-trace/weft/format"
)

// TestLetter_0_directory checks that a directory in place of a file is a defect of that file, and costs no other file.
func TestLetter_0_directory(t *testing.T) {
	for name, want := range map[string][]string{"t/0.evt": letterEvents[4:], "t/0.def": letterEvents,
		"t.marker": letterEvents} {
		m := letterArchive(letterDefinitions()...)
		m[name] = &fstest.MapFile{Mode: fs.ModeDir}
		events, defects := letterRead(t, m)
		wrong := name + ":0x0 otf2.damaged: found a directory, expected a file of the archive"
		if !slices.Equal(events, want) || !slices.Contains(defects, wrong) {
			t.Errorf("%s: events %q, defects %q; want %q, %q", name, events, defects, want, wrong)
		}
	}
}

// TestLetter_5_severalDamages checks that each damaged record of a file is reported, and each once.
func TestLetter_5_severalDamages(t *testing.T) {
	sound := letterDefinitions()
	var want []string
	wrong := func(name string, at int, found, expected string) {
		want = append(want, fmt.Sprintf("%s:0x%x otf2.damaged: found %s, expected %s", name, at, found, expected))
	}
	// twice returns two damaged records among enough others for reading to continue behind each.
	twice := func(name string, id int, damaged []byte, others ...[]byte) []byte {
		between := bytes.Join(others, nil)
		for i := range 2 {
			wrong(name, headerSize+(i+1)*len(between)+i*len(damaged), fmt.Sprintf("record %d of %d bytes", id,
				len(damaged)-2), "one with all its fields")
		}
		return slices.Concat(between, damaged, between, damaged, between)
	}
	m := letterArchive(slices.Concat([][]byte{twice("t.def", defString, letterRecord(defString, []byte("\x01\x09foo")),
		slices.Repeat(sound[1:2], 6)...)}, sound)...)
	text := slices.Repeat(sound[1:2], 6)
	clock := letterRecord(localClock, make([]byte, 8), letterNumbers(0), make([]byte, 8))
	b := letterChunk(1, 0, twice("t/1.def", localClock, letterRecord(localClock, make([]byte, 4)), text...))
	for i := range 2 {
		wrong("t/1.def", len(b)+(i+1)*len(clock), "a second clock offset at 0",
			"a clock offset at another time; weft uses the first one")
	}
	m["t/1.def"].Data = slices.Concat(b, clock, clock, clock, letterEnd)
	kinds := slices.Repeat([][]byte{letterRecord(defMarker, letterNumbers(0), []byte("g\x00c\x00\x01"))}, 6)
	m["t.marker"] = letterMarkers(twice("t.marker", markerEvent, letterRecord(markerEvent, make([]byte, 3)), kinds...))
	events, defects := letterRead(t, m)
	defects = slices.DeleteFunc(defects, func(s string) bool { return !strings.Contains(s, "otf2.damaged") })
	slices.Sort(want)
	if !slices.Equal(events, letterEvents) || !slices.Equal(defects, want) {
		t.Errorf("events %q, defects\n%s\nwant\n%s", events, strings.Join(defects, "\n"), strings.Join(want, "\n"))
	}
}

// TestLetter_5_overview checks that an overview of a damaged archive reports no damage again.
func TestLetter_5_overview(t *testing.T) {
	m := letterArchive(append(letterDefinitions(), letterRecord(defString, []byte("\x01\x09foo")))...)
	opt := &format.ReadOptions{Report: format.NewReport()}
	d, err := Format{}.Open(context.Background(), format.Source{FS: m, Name: "t.otf2", Path: "t.otf2"}, opt)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := d.(*decoder).definitionRecords(); err != nil {
		t.Fatal(err)
	}
	if l := opt.Report.Rules(); len(l) != 1 || l[0].Count != 1 {
		t.Errorf("found %v, want one defect", l)
	}
}

// TestLetter_5_localRecords checks that unknown and overlong records of a local definition file are reported.
func TestLetter_5_localRecords(t *testing.T) {
	m := letterArchive(letterDefinitions()...)
	unknown := letterRecord(99, []byte{1, 2})
	clock := letterRecord(localClock, make([]byte, 8), letterNumbers(0), make([]byte, 8), []byte{7})
	text := letterRecord(defString, letterNumbers(1), []byte("x\x00"), []byte{7})
	others := bytes.Repeat(letterText(1, ""), 6)
	m["t/0.def"].Data = append(letterChunk(1, 0, unknown, others, clock, others, text, others), letterEnd...)
	events, defects := letterRead(t, m)
	extra := "bytes after its fields, or a number with unnecessary bytes, expected none"
	at := headerSize + len(unknown) + len(others)
	want := []string{"t/0.def:0x12 otf2.unknown-record: found definition 99, expected a definition of OTF2 3.0; weft " +
		"ignores it", fmt.Sprintf("t/0.def:0x%x otf2.record-bytes: found ClockOffset with %s", at, extra),
		fmt.Sprintf("t/0.def:0x%x otf2.record-bytes: found String with %s", at+len(clock)+len(others), extra)}
	if !slices.Equal(events, letterEvents) || !slices.Equal(defects, want) {
		t.Errorf("events %q, defects\n%s\nwant\n%s", events, strings.Join(defects, "\n"), strings.Join(want, "\n"))
	}
}

// TestLetter_8_duplicates checks that different definitions of the same id are reported, and equal ones are not.
func TestLetter_8_duplicates(t *testing.T) {
	sound := letterDefinitions()
	m := letterArchive(append(slices.Clone(sound), sound[4], letterText(4, "other"), letterText(9, "new"))...)
	at := headerSize + len(slices.Concat(sound...)) + len(sound[4])
	opt := &format.ReadOptions{Report: format.NewReport()}
	d, err := Format{}.Open(context.Background(), format.Source{FS: m, Name: "t.otf2", Path: "t.otf2"}, opt)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := d.NewChecker().Finish(context.Background()); err != nil {
		t.Fatal(err)
	}
	want := []string{fmt.Sprintf("t.def:0x%x: note: otf2.duplicate: found another String with id 4, expected one "+
		"definition of an id", at)}
	var found []string
	for _, r := range opt.Report.Rules() {
		for _, x := range r.First {
			if r.Rule == "otf2.duplicate" {
				found = append(found, x.Error())
			}
		}
	}
	if !slices.Equal(found, want) {
		t.Errorf("found %q, want %q", found, want)
	}
}

// TestLetter_5_mappingKinds checks that a mapping table of a kind that OTF2 does not have is reported and ignored, and
// that all other kinds are read.
func TestLetter_5_mappingKinds(t *testing.T) {
	for kind, want := range map[byte][]string{14: nil,
		15: {"t/0.def:0x12 otf2.damaged: found a mapping table of kind 15, expected a kind up to 14; weft ignores the table"},
		255: {"t/0.def:0x12 otf2.damaged: found a mapping table of kind 255, expected a kind up to 14; weft ignores the " +
			"table"}} {
		m := letterArchive(letterDefinitions()...)
		table := letterRecord(localMapping, []byte{kind}, letterNumbers(1), []byte{0}, letterNumbers(0))
		m["t/0.def"].Data = append(letterChunk(1, 0, table), letterEnd...)
		if events, defects := letterRead(t, m); !slices.Equal(events, letterEvents) || !slices.Equal(defects, want) {
			t.Errorf("kind %d: events %q, defects %q; want %q", kind, events, defects, want)
		}
	}
}
