package otf2

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// The tests in this file write archives byte by byte, and check sentences of the sections after which they are named.

// letterRecord returns a record with a length.
func letterRecord(id byte, fields ...[]byte) []byte {
	body := slices.Concat(fields...)
	return slices.Concat([]byte{id, byte(len(body))}, body)
}

// letterNumbers returns numbers in compressed form.
func letterNumbers(l ...uint64) (b []byte) {
	for _, v := range l {
		b = appendCompressed(b, v, 8)
	}
	return b
}

func letterText(id uint64, s string) []byte {
	return letterRecord(defString, letterNumbers(id), []byte(s+"\x00"))
}

func letterTime(t uint64) []byte { return binary.LittleEndian.AppendUint64([]byte{timestampRecord}, t) }

// letterChunk returns a chunk with the header of events from first to last.
func letterChunk(first, last uint64, records ...[]byte) []byte {
	b := binary.LittleEndian.AppendUint64([]byte{chunkHeader, littleEndian}, first)
	return append(binary.LittleEndian.AppendUint64(b, last), bytes.Join(records, nil)...)
}

// letterPadded returns a chunk of the smallest size, whose rest after the records is zeros.
func letterPadded(b []byte) []byte { return append(b, make([]byte, minChunk-len(b))...) }

var letterEnd = []byte{endOfFile, endOfBuffer}

// letterDefinitions returns the records of an archive with two locations and two regions.
func letterDefinitions() [][]byte {
	none := []byte{0xff}
	region := func(id, name uint64) []byte {
		return letterRecord(defRegion, letterNumbers(id, name), none, []byte{0}, none, []byte{0, 0},
			letterNumbers(name), []byte{1, 1, 0})
	}
	return [][]byte{
		letterRecord(defClock, letterNumbers(1e9, 0, 1000), none),
		letterText(0, ""), letterText(1, "node"), letterText(2, "main"), letterText(3, "foo"), letterText(4, "first"),
		letterText(5, "second"),
		letterRecord(defTreeNode, letterNumbers(0, 1, 1), none),
		letterRecord(defLocationGroup, letterNumbers(0, 1), []byte{1}, letterNumbers(0), none),
		region(0, 2), region(1, 3),
		letterRecord(defLocation, letterNumbers(0, 4), []byte{1}, letterNumbers(4, 0)),
		letterRecord(defLocation, letterNumbers(1, 5), []byte{1}, letterNumbers(4, 0)),
	}
}

// letterArchive returns an archive with the given definitions. Each of its two locations has four events: two enters,
// and a leave for each.
func letterArchive(definitions ...[]byte) fstest.MapFS {
	m := fstest.MapFS{}
	a := Anchor{FileVersion: 3, TraceVersion: 2, Version: [3]uint8{3, 0, 3}, EventChunk: minChunk,
		DefinitionChunk: minChunk, Substrate: 1, Compression: 1, Locations: 2, Definitions: uint64(len(letterDefinitions()))}
	m["t.otf2"] = &fstest.MapFile{Data: a.append(nil)}
	m["t.def"] = &fstest.MapFile{Data: append(letterChunk(1, 0, definitions...), letterEnd...)}
	for _, name := range []string{"t/0", "t/1"} {
		m[name+".def"] = &fstest.MapFile{Data: append(letterChunk(1, 0), letterEnd...)}
		m[name+".evt"] = &fstest.MapFile{Data: append(letterChunk(1, 4, letterTime(10), []byte{enter, 0}, letterTime(20),
			[]byte{enter, 1, 1}, letterTime(30), []byte{leave, 1, 1}, letterTime(40), []byte{leave, 0}), letterEnd...)}
	}
	return m
}

// letterRead checks an archive. It returns its events, such as "0 10 enter main", and its defects except notes.
func letterRead(t *testing.T, m fstest.MapFS) (events, defects []string) {
	t.Helper()
	ctx := context.Background()
	opt := &format.ReadOptions{Report: format.NewReport(), Workers: 1}
	d, err := Format{}.Open(ctx, format.Source{FS: m, Name: "t.otf2", Path: "t.otf2"}, opt)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	c := d.NewChecker()
	err = d.Scan(ctx, trace.Everything(), format.PerLocation, format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
		k := b.Cursor()
		for k.Next() {
			name := ""
			if k.Kind() == trace.Enter || k.Kind() == trace.Leave {
				name = d.Defs().Regions.At(k.Ref()).Name
			}
			events = append(events, fmt.Sprintf("%s %d %s %s", d.Defs().Locations.At(b.Loc).ID, k.Time(), k.Kind(), name))
		}
		return nil
	}})
	if err == nil {
		err = c.Finish(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range opt.Report.Rules() {
		for _, p := range r.First {
			if r.Severity > trace.Note {
				defects = append(defects, fmt.Sprintf("%s:0x%x %s: found %s, expected %s", p.Position.File, p.Position.Offset,
					r.Rule, p.Found, p.Expected))
			}
		}
	}
	slices.Sort(defects)
	return events, defects
}

// letterEvents are the events of [letterArchive].
var letterEvents = []string{"0 10 enter main", "0 20 enter foo", "0 30 leave foo", "0 40 leave main", "1 10 enter main",
	"1 20 enter foo", "1 30 leave foo", "1 40 leave main"}

// TestLetter_5_damage checks that a damaged definition costs no definition after it.
func TestLetter_5_damage(t *testing.T) {
	const damaged = 4 // index of the damaged record, the name of foo
	sound := letterDefinitions()
	at := len(letterChunk(1, 0, sound[:damaged]...))
	next := at + len(sound[damaged])
	name := []byte("\x01\x03foo\x00")
	lost := "one with all its fields"
	for _, x := range []struct {
		what, region string // region is the name of foo as far as it can be read
		record       []byte
		found        string // by check, with the offset
	}{
		{"length too large for the chunk", "", slices.Concat([]byte{defString, 255}, bytes.Repeat([]byte{255}, 8), name),
			fmt.Sprintf("0x%x otf2.damaged: found a record of 18446744073709551615 bytes, expected at most", at+1)},
		{"length of several records", "foo", slices.Concat([]byte{defString, 40}, name),
			fmt.Sprintf("0x%x otf2.damaged: found record 10 of 42 bytes, expected one of another length; reading continues at "+
				"0x%x", at, next)},
		{"length too small", "", slices.Concat([]byte{defString, 3}, name),
			fmt.Sprintf("0x%x otf2.damaged: found record 10 of 3 bytes, expected %s; reading continues at 0x%x", at, lost,
				next)},
		{"no length", "", slices.Concat([]byte{defString}, name), "otf2.damaged"},
		{"byte 1 before the record", "foo", slices.Concat([]byte{endOfBuffer}, sound[damaged]),
			fmt.Sprintf("0x%x otf2.damaged: found record 1, expected a record; reading continues at 0x%x", at, at+1)},
		{"end marks before the record", "foo", slices.Concat(letterEnd, sound[damaged]), "reading continues"},
		{"chunk header before the record", "foo", slices.Concat(letterChunk(1, 0), sound[damaged]),
			fmt.Sprintf("0x%x otf2.damaged: found record 3 of 68 bytes, expected one of another length; reading continues at "+
				"0x%x", at, at+18)},
		{"text without its end", "", letterRecord(defString, []byte("\x01\x03foo")),
			fmt.Sprintf("0x%x otf2.damaged: found record 10 of 5 bytes, expected %s", at, lost)},
	} {
		list := slices.Clone(sound)
		list[damaged] = x.record
		events, defects := letterRead(t, letterArchive(list...))
		want := slices.Clone(letterEvents)
		for i := range want {
			if x.region == "" {
				want[i] = strings.Replace(want[i], "foo", "", 1)
			}
		}
		if !slices.Equal(events, want) {
			t.Errorf("%s: events %q, want %q", x.what, events, want)
		}
		if !slices.ContainsFunc(defects, func(s string) bool { return strings.Contains(s, x.found) }) {
			t.Errorf("%s: defects %q, want one with %q", x.what, defects, x.found)
		}
	}
	if _, defects := letterRead(t, letterArchive(sound...)); len(defects) > 0 {
		t.Errorf("a sound archive: %q", defects)
	}
}

// TestLetter_3_ends checks the end marks of chunks and files: what follows them is read or reported.
func TestLetter_3_ends(t *testing.T) {
	sound := letterDefinitions()
	m := letterArchive(sound...)
	first := letterChunk(1, 2, letterTime(10), []byte{enter, 0}, letterTime(20), []byte{enter, 1, 1})
	second := letterChunk(3, 4, letterTime(30), []byte{leave, 1, 1}, letterTime(40), []byte{leave, 0}, letterEnd)
	mark := len(first)
	m["t/0.evt"].Data = append(letterPadded(append(first, letterEnd...)), second...)
	events, defects := letterRead(t, m)
	want := []string{fmt.Sprintf("t/0.evt:0x%x otf2.damaged: found 2, the end of a file, expected 0, the end of a chunk, "+
		"because a chunk follows at 0x40000; weft reads it", mark)}
	if !slices.Equal(events, letterEvents) || !slices.Equal(defects, want) {
		t.Errorf("end mark of a file in the first chunk: events %q, defects %q", events, defects)
	}

	m = letterArchive(sound...)
	b := letterChunk(1, 0, sound[:5]...)
	want = []string{fmt.Sprintf("t.def:0x%x otf2.damaged: found 2, the end of a file, expected 0, the end of a chunk, "+
		"because a chunk follows at 0x40000; weft reads it", len(b))}
	second = append(letterChunk(1, 0, sound[5:]...), letterEnd...)
	m["t.def"].Data = append(letterPadded(append(b, letterEnd...)), second...)
	if events, defects = letterRead(t, m); !slices.Equal(events, letterEvents) || !slices.Equal(defects, want) {
		t.Errorf("end mark of a file in the first chunk of definitions: events %q, defects %q", events, defects)
	}

	for _, name := range []string{"t.def", "t/0.def", "t/0.evt"} {
		m := letterArchive(sound...)
		want := []string{fmt.Sprintf("%s:0x%x otf2.damaged: found 3 bytes after the end-of-file mark, expected the "+
			"end of the file", name, len(m[name].Data))}
		m[name].Data = append(m[name].Data, "xyz"...)
		if events, defects := letterRead(t, m); !slices.Equal(events, letterEvents) || !slices.Equal(defects, want) {
			t.Errorf("bytes after the end of %s: events %q, defects %q", name, events, defects)
		}
		m[name].Data = nil
		want = []string{name + ":0x0 otf2.damaged: found an empty file, expected a chunk's header of 18 bytes"}
		if _, defects := letterRead(t, m); !slices.Contains(defects, want[0]) {
			t.Errorf("an empty file %s: defects %q, want %q", name, defects, want)
		}
	}
}

// TestLetter_3_times checks that each chunk of events begins with a time.
func TestLetter_3_times(t *testing.T) {
	m := letterArchive(letterDefinitions()...)
	first := letterChunk(1, 2, letterTime(10), []byte{enter, 0}, letterTime(20), []byte{enter, 1, 1})
	m["t/0.evt"].Data = append(letterPadded(first), append(letterChunk(3, 4, []byte{leave, 1, 1}, letterTime(40),
		[]byte{leave, 0}), letterEnd...)...)
	m["t/1.evt"].Data = append(letterChunk(1, 2, []byte{enter, 0}, letterTime(40), []byte{leave, 0}), letterEnd...)
	events, defects := letterRead(t, m)
	want := []string{"0 10 enter main", "0 20 enter foo", "0 20 leave foo", "0 40 leave main", "1 0 enter main",
		"1 40 leave main"}
	wrong := []string{"t/0.evt:0x40012 otf2.damaged: found record 13, expected a time, with which each chunk begins; " +
		"weft uses 20", "t/1.evt:0x12 otf2.damaged: found record 12, expected a time, with " +
		"which each chunk begins; weft uses 0"}
	if !slices.Equal(events, want) || !slices.Equal(defects, wrong) {
		t.Errorf("events %q, defects %q; want %q, %q", events, defects, want, wrong)
	}
}

// TestLetter_5_mapping checks that the first mapping table of a kind counts, as in OTF2's library.
func TestLetter_5_mapping(t *testing.T) {
	m := letterArchive(letterDefinitions()...)
	table := func(ids ...uint64) []byte {
		return letterRecord(localMapping, []byte{byte(Regions)}, letterNumbers(uint64(len(ids))), []byte{0},
			letterNumbers(ids...))
	}
	m["t/0.def"].Data = append(letterChunk(1, 0, table(1, 0), table(0, 1)), letterEnd...)
	events, defects := letterRead(t, m)
	want := []string{"0 10 enter foo", "0 20 enter main", "0 30 leave main", "0 40 leave foo"}
	wrong := []string{"t/0.def:0x1b otf2.damaged: found a second mapping table of kind 3, expected one table of each " +
		"kind; weft uses the first one"}
	if !slices.Equal(events[:4], want) || !slices.Equal(defects, wrong) {
		t.Errorf("events %q, defects %q; want %q, %q", events[:4], defects, want, wrong)
	}
}

// letterMarkers returns a marker file.
func letterMarkers(records ...[]byte) *fstest.MapFile {
	return &fstest.MapFile{Data: append(letterChunk(1, 0, records...), letterEnd...)}
}

// TestLetter_7_markers checks defects in marker files, none of which costs another marker.
func TestLetter_7_markers(t *testing.T) {
	define := func(id uint64, severity byte) []byte {
		return letterRecord(defMarker, letterNumbers(id), []byte("g\x00c\x00"), []byte{severity})
	}
	mark := func(time, duration, id uint64, scope byte, ref uint64) []byte {
		return letterRecord(markerEvent, letterNumbers(time, duration, id), []byte{scope}, letterNumbers(ref),
			[]byte("text\x00"))
	}
	first, last := define(0, 1), mark(20, 5, 0, 0, 0)
	at := len(letterChunk(1, 0, first))
	for _, x := range []struct {
		what, defect string // of the record between a definition of a marker and a marker; "" for none
		record       []byte
		markers      int
	}{
		{"marker of a location", "", mark(30, 0, 0, 1, 1), 2},
		{"severity 9", "otf2.value: found DefMarker with severity 9, expected a value of OTF2 3.0", define(1, 9), 1},
		{"scope 9", "otf2.value: found Marker with scope 9, expected a value of OTF2 3.0", mark(30, 0, 0, 9, 0), 2},
		{"undefined location", "otf2.undefined: found Marker with scopeRef 77, which the trace does not define, expected a " +
			"defined one", mark(30, 0, 0, 1, 77), 2},
		{"undefined definition", "otf2.undefined: found Marker with marker 5, which the trace does not define, expected a " +
			"defined one", mark(30, 0, 5, 0, 0), 2},
		{"unknown record", "otf2.unknown-record: found record 7, expected a record of OTF2 3.0; weft ignores it",
			letterRecord(7, []byte("abc")), 1},
		{"bytes after the fields", "otf2.record-bytes: found Marker with bytes after its fields, or a number with " +
			"unnecessary bytes, expected none", letterRecord(markerEvent, mark(30, 0, 0, 0, 0)[2:], []byte{7}), 2},
		{"time of 2^63", "otf2.time-range: found a marker at 9223372036854775808, expected a time of less than 2⁶³ ticks; " +
			"weft skips the marker", mark(1<<63, 0, 0, 0, 0), 1},
		{"duration of 2^64-1", "otf2.time-range: found a marker of 18446744073709551615 ticks, expected less than 2⁶³ " +
			"ticks; weft keeps the bits, which are a negative duration", mark(30, undefined64, 0, 0, 0), 2},
	} {
		m := letterArchive(letterDefinitions()...)
		m["t.marker"] = letterMarkers(first, x.record, last)
		events, defects := letterRead(t, m)
		n := 0
		for _, e := range events {
			if strings.HasPrefix(e, "markers ") {
				n++
			}
		}
		var want []string
		if x.defect != "" {
			want = []string{fmt.Sprintf("t.marker:0x%x %s", at, x.defect)}
		}
		if n != x.markers || !slices.Equal(defects, want) {
			t.Errorf("%s: %d markers, defects %q; want %d, %q", x.what, n, defects, x.markers, want)
		}
	}
}

// TestLetter_7_thumbnails checks defects in thumbnails.
func TestLetter_7_thumbnails(t *testing.T) {
	header := func(typ byte, samples uint64, refs ...uint64) []byte {
		return letterRecord(thumbnailHeader, []byte("n\x00d\x00"), []byte{typ}, letterNumbers(samples, uint64(len(refs))),
			letterNumbers(refs...))
	}
	sample := func(values ...uint64) []byte {
		return letterRecord(thumbnailSample, letterNumbers(9, uint64(len(values))), letterNumbers(values...))
	}
	for _, x := range []struct {
		what    string
		records [][]byte
		defect  string
	}{
		{"nothing wrong", [][]byte{header(0, 1, 0, 1), sample(3, 4)}, ""},
		{"type 9", [][]byte{header(9, 1, 0, 1), sample(3, 4)}, "otf2.value: found Header with type 9"},
		{"undefined region", [][]byte{header(0, 1, 0, 77), sample(3, 4)}, "otf2.undefined: found Header with ref 77"},
		{"too many values", [][]byte{header(0, 1, 0, 1), sample(3, 4, 5)}, "otf2.counts: found Sample with 3 values"},
		{"too few samples", [][]byte{header(0, 9, 0, 1), sample(3, 4)}, "otf2.counts: found 9 samples announced, expected 1"},
		{"no header", [][]byte{sample(3, 4)}, "otf2.counts: found a Sample, expected a Header before it"},
		{"two headers", [][]byte{header(0, 1, 0, 1), header(0, 1, 0, 1), sample(3, 4)}, "otf2.counts: found a second Header"},
		{"unknown record", [][]byte{header(0, 1, 0, 1), letterRecord(12), sample(3, 4)},
			"otf2.unknown-record: found record 12"},
	} {
		m := letterArchive(letterDefinitions()...)
		a, err := parseAnchor("t.otf2", m["t.otf2"].Data)
		if err != nil {
			t.Fatal(err)
		}
		a.Thumbnails = 3
		m["t.otf2"].Data = a.append(nil)
		m["t.0.thumb"] = letterMarkers(header(0, 0))
		m["t.2.thumb"] = letterMarkers(x.records...)
		_, defects := letterRead(t, m)
		missing := "t.1.thumb:0x0 otf2.missing-file: found no such file, expected 3 thumbnails, as the anchor file states"
		if n := 1 + min(1, len(x.defect)); len(defects) != n || !slices.Contains(defects, missing) ||
			!strings.Contains(strings.Join(defects, "\n"), x.defect) {
			t.Errorf("%s: defects %q, want %q and %q", x.what, defects, missing, x.defect)
		}
	}
}

// TestLetter_7_snapshots checks that records outside of a snapshot are reported.
func TestLetter_7_snapshots(t *testing.T) {
	start, end := letterRecord(snapshotStart, []byte{0}), letterRecord(snapshotEnd, []byte{1, 3})
	open := letterRecord(13, make([]byte, 8), []byte{0})
	for _, x := range []struct {
		what    string
		records [][]byte
		defect  string
	}{
		{"nothing wrong", [][]byte{start, end}, ""},
		{"end without begin", [][]byte{end}, "found SnapshotEnd outside of a snapshot, expected a SnapshotStart before it"},
		{"record before begin", [][]byte{open, start, end},
			"found Enter outside of a snapshot, expected a SnapshotStart before it"},
	} {
		m := letterArchive(letterDefinitions()...)
		a, err := parseAnchor("t.otf2", m["t.otf2"].Data)
		if err != nil {
			t.Fatal(err)
		}
		a.Snapshots = 1
		m["t.otf2"].Data = a.append(nil)
		m["t/0.snap"] = &fstest.MapFile{Data: append(letterChunk(1, uint64(len(x.records)), append([][]byte{letterTime(30)},
			x.records...)...), letterEnd...)}
		m["t/1.snap"] = &fstest.MapFile{Data: append(letterChunk(1, 2, letterTime(30), start, end), letterEnd...)}
		_, defects := letterRead(t, m)
		var want []string
		if x.defect != "" {
			want = []string{"t/0.snap:0x1b otf2.counts: " + x.defect}
		}
		if !slices.Equal(defects, want) {
			t.Errorf("%s: defects %q, want %q", x.what, defects, want)
		}
	}
}

// TestLetter_5_values checks texts, enumerations, bytes and counts of global definitions.
func TestLetter_5_values(t *testing.T) {
	sound := letterDefinitions()
	for _, x := range []struct {
		what   string
		at     int // index of the changed definition; -1 to leave out the clock
		record []byte
		defect string
	}{
		{"text in Latin-1", 3, letterText(2, "\xff\xfe"), `otf2.value: found String with the text "\xff\xfe", expected ` +
			"UTF-8; weft reads other bytes as Latin-1"},
		{"location type 9", 11, letterRecord(defLocation, letterNumbers(0, 4), []byte{9}, letterNumbers(4, 0)),
			"otf2.value: found Location with type 9, expected a value of OTF2 3.0"},
		{"bytes after the fields", 11, letterRecord(defLocation, letterNumbers(0, 4), []byte{1}, letterNumbers(4, 0),
			[]byte{7}),
			"otf2.record-bytes: found Location with bytes after its fields, or a number with unnecessary bytes, expected none"},
		{"no ticks", 0, letterRecord(defClock, letterNumbers(0, 0, 1000), []byte{0xff}),
			"otf2.clock: found 0 ticks a second, expected 1 to 2⁶³−1; weft reads a tick as a second"},
	} {
		list := slices.Clone(sound)
		list[x.at] = x.record
		_, defects := letterRead(t, letterArchive(list...))
		want := []string{fmt.Sprintf("t.def:0x%x %s", len(letterChunk(1, 0, list[:x.at]...)), x.defect)}
		if !slices.Equal(defects, want) {
			t.Errorf("%s: defects %q, want %q", x.what, defects, want)
		}
	}
	_, defects := letterRead(t, letterArchive(append(sound[1:], letterRecord(defLocation, letterNumbers(7, 4), []byte{1},
		letterNumbers(0, 0)), letterText(9, "x"))...))
	want := []string{"t.def:0x0 otf2.clock: found no ClockProperties, expected the ticks of a second; weft reads a tick " +
		"as a second",
		"t.otf2:0x1e otf2.counts: found 2 locations announced, expected 3, the number of definitions",
		"t.otf2:0x26 otf2.counts: found 13 global definitions announced, expected 14, the actual number",
		"t/7.def:0x0 otf2.missing-definitions: found no such file, expected the local definitions of the location; without " +
			"them, references and times may be wrong",
		"t/7.evt:0x0 otf2.missing-file: found no such file, expected a file of the archive"}
	if !slices.Equal(defects, want) {
		t.Errorf("no clock, and a third location: defects %q, want %q", defects, want)
	}
}

// TestLetter_2_refused checks two more anchor files that OTF2's library refuses.
func TestLetter_2_refused(t *testing.T) {
	for _, x := range []struct {
		change func(a *Anchor)
		want   string
	}{
		{func(a *Anchor) { a.Properties = []Property{{"A::B", "x"}, {"A::C", ""}} },
			`t.otf2:0x3c otf2.damaged: found the property "A::C" with an empty text, expected a text`},
		{func(a *Anchor) { a.FileVersion = 0 },
			"t.otf2:0x7 otf2.damaged: found version 0 of the anchor file, expected 1 to 3"},
	} {
		m := letterArchive(letterDefinitions()...)
		a, err := parseAnchor("t.otf2", m["t.otf2"].Data)
		if err != nil {
			t.Fatal(err)
		}
		x.change(a)
		b := a.append(nil)
		if a.FileVersion == 0 { // without the fields of later versions
			b = append(b[:len(b)-len(anchorEnd)-20], anchorEnd...)
		}
		m["t.otf2"].Data = b
		events, defects := letterRead(t, m)
		if !slices.Equal(events, letterEvents) || !slices.Equal(defects, []string{x.want}) {
			t.Errorf("events %q, defects %q, want %q", events, defects, x.want)
		}
	}
}
