package otf2

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"
)

// TestAnchorFile checks the fields after the description as docs/formats/otf2.md, "Anchor file", describes
// them. The fields are the properties, the id of the trace, the numbers of snapshots and thumbnails, and the
// bytes 02 01 00.
func TestAnchorFile(t *testing.T) {
	properties := []Property{{"C::D", ""}, {"A::B", "one"}}
	whole := Anchor{FileVersion: 3, TraceVersion: 2, EventChunk: minChunk, DefinitionChunk: minChunk, Substrate: 1,
		Compression: 1, Machine: "m", Properties: properties, TraceID: 5, Snapshots: 1}
	sound := whole.append(nil)
	area := bytes.Index(sound, []byte("m\x00\x00\x00")) + 4
	count := func(n uint32) []byte {
		b := bytes.Clone(sound)
		binary.LittleEndian.PutUint32(b[area:], n)
		return b
	}
	with := func(at int, v byte) []byte {
		b := bytes.Clone(sound)
		b[(at+len(b))%len(b)] = v
		return b
	}
	for _, x := range []struct {
		what       string
		b          []byte
		want       string // wanted error; empty for a sound file
		properties []Property
		snapshots  uint32
	}{
		{"a sound file", sound, "", properties, 1},
		{"no end", sound[:len(sound)-3], "t:0x55: found the end of the file, expected 02 01 00, the end of an anchor file",
			properties, 1},
		{"a byte of the end is missing", sound[:len(sound)-1],
			"t:0x55: found 02 01, expected 02 01 00, the end of an anchor file", properties, 1},
		{"another byte in the end", with(-2, 0xff), "t:0x55: found 02 ff 00, expected 02 01 00, the end of an anchor file",
			properties, 1},
		{"bytes after the end", append(bytes.Clone(sound), "abc"...),
			"t:0x58: found 3 bytes after 02 01 00, expected the end of the file", properties, 1},
		{"0 properties announced", count(0), "t:0x32: found 0 properties announced, expected 2, the actual number",
			properties, 1},
		{"1 property announced", count(1), "t:0x32: found 1 property announced, expected 2, the actual number",
			properties, 1},
		{"3 properties announced", count(3), "t:0x32: found 3 properties announced, expected 2, the actual number",
			properties, 1},
		{"2³²−1 properties announced", count(1<<32 - 1),
			"t:0x32: found 4294967295 properties announced, expected 2, the actual number", properties, 1},
		{"a zero byte in a name", with(area+5, 0),
			"t:0x32: found 2 properties announced, after which the file does not end, expected properties, the id of the " +
				"trace, the numbers of snapshots and thumbnails, and 02 01 00, the end of an anchor file", nil, 0},
		{"cut in the properties", sound[:area+14], "t:0x40: found the end of the file, expected the rest of the anchor file",
			properties[:1], 0},
	} {
		a, err := parseAnchor("t", x.b)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != x.want || a == nil {
			t.Errorf("%s: found %v, %q, expected %q", x.what, a, got, x.want)
			continue
		}
		if bad := (*FileError)(nil); err != nil && !errors.As(err, &bad) {
			t.Errorf("%s: found an error that is not one of the file", x.what)
		}
		if !slices.Equal(a.Properties, x.properties) || a.Snapshots != x.snapshots {
			t.Errorf("%s: found properties %q and %d snapshots, expected %q and %d", x.what, a.Properties, a.Snapshots,
				x.properties, x.snapshots)
		}
	}
}

// TestAnchorFileVersions checks anchor files of different versions. Files of version 1 have no properties,
// files of version 2 have no snapshots and thumbnails, and files of later versions have more fields than this
// package reads.
func TestAnchorFileVersions(t *testing.T) {
	whole := Anchor{FileVersion: 3, TraceVersion: 2, EventChunk: minChunk, DefinitionChunk: minChunk, Substrate: 1,
		Compression: 1, TraceID: 5}
	sound := whole.append(nil)
	end := len(sound) - len(anchorEnd)
	for version, b := range map[byte][]byte{1: sound[:end-20], 2: sound[:end-8], 3: sound[:end],
		4: append(bytes.Clone(sound[:end]), 7, 7, 7, 7)} {
		b = append(bytes.Clone(b), anchorEnd...)
		b[7] = version
		if a, err := parseAnchor("t", b); err != nil || version > 1 && a.TraceID != 5 {
			t.Errorf("version %d: found %v, %v, expected a sound file", version, a, err)
		}
	}
}

// TestAnchorFileRefused checks anchor files with defects for which otf2-print 3.0.2 rejects them. weft must report
// these defects, although it can read the files. The names of the cases were tried with this version of
// otf2-print.
func TestAnchorFileRefused(t *testing.T) {
	sound := Anchor{FileVersion: 3, TraceVersion: 2, EventChunk: minChunk, DefinitionChunk: minChunk, Substrate: 1,
		Compression: 1}
	found := func(change func(a *Anchor)) string {
		a := sound
		change(&a)
		got, err := parseAnchor("t", a.append(nil))
		if got == nil {
			t.Fatal("found no anchor file")
		}
		if err == nil {
			return ""
		}
		return err.Error()
	}
	for _, name := range []string{"A::B", "a::b", "A::B::C", "A1_::9", "1::2", "A::B::9::_", "_::_"} {
		if err := found(func(a *Anchor) { a.Properties = []Property{{"X::Y", ""}, {name, "v"}} }); err != "" {
			t.Errorf("name %q: found %s, expected no error", name, err)
		}
	}
	for _, name := range []string{"A:::B", "A::", "::B", "A::b c", "A::b-", "A::b\u00e4", "A-B::C", "A:B::c", "A::B:C",
		"A::B::", "", "A B::C", "A::::B", "A::B.C"} {
		want := fmt.Sprintf("t:0x3b: found a property with the name %q, expected at least two words of letters, "+
			"digits and _ with :: between them", name)
		if err := found(func(a *Anchor) { a.Properties = []Property{{"X::Y", ""}, {name, "v"}} }); err != want {
			t.Errorf("name %q: found %s, expected %s", name, err, want)
		}
	}
	for want, change := range map[string]func(a *Anchor){
		`t:0x3c: found a second property with the name "A::B", expected another name`: func(a *Anchor) {
			a.Properties = []Property{{"A::B", "1"}, {"A::B", "2"}}
		},
		"t:0x8: found a trace of version 3, expected 2, the last version": func(a *Anchor) { a.TraceVersion = 3 },
		"t:0x14: found 0 bytes, expected a chunk size of 256 KiB to 16 MiB": func(a *Anchor) {
			a.DefinitionChunk = 0
		},
		"t:0x1d: found compression 0, expected 1, none": func(a *Anchor) { a.Compression = 0 },
	} {
		if err := found(change); err != want {
			t.Errorf("found %s, expected %s", err, want)
		}
	}
	for _, version := range []uint8{0, 1, 2} {
		if err := found(func(a *Anchor) { a.TraceVersion = version }); err != "" {
			t.Errorf("version %d of the trace: found %s, expected no error", version, err)
		}
	}
}

// TestAnchorFileCut checks that the reader reports the end of an anchor file that ends at any byte before the
// field of the substrate.
func TestAnchorFileCut(t *testing.T) {
	whole := (&Anchor{EventChunk: minChunk, DefinitionChunk: minChunk, Substrate: 1, Compression: 1}).append(nil)
	const substrate = 2 + len("OTF2\x00") + 2 + 3 + 8 + 8 // length of the fields before the substrate, in bytes
	for n := 2 + len("OTF2\x00"); n < substrate+2; n++ {
		_, err := parseAnchor("t", whole[:n])
		want := fmt.Sprintf("t:%#x: found the end of the file, expected an anchor file", n)
		if err == nil || err.Error() != want {
			t.Errorf("%d bytes: found %v, expected %s", n, err, want)
		}
	}
}
