package otf2

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/tracetest"
)

// TestLongTexts checks that texts that are longer than a chunk of definitions (256 KiB) are restored, and that other
// tools see their beginning, without half of a character.
func TestLongTexts(t *testing.T) {
	long := "x" + strings.Repeat("é", 150_000)
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	loc := r.Location("rank 0")
	text := trace.Attr{Key: textName, Value: trace.StringValue(long)}
	r.Enter(loc, 1, r.Region(long), text)
	r.Event(loc, 2, trace.Marker, r.Defs().Markers.Add(trace.Named{ID: "0", Name: "note"}),
		[]uint64{trace.Undefined, trace.Undefined, trace.Undefined}, text)
	r.Leave(loc, 3, r.Region(long))
	path := filepath.Join(t.TempDir(), "x.otf2")
	tracetest.Encode(t, Format{}, format.Recorded(r), path)
	d := tracetest.Open(t, Format{}, format.FileSource(path), nil)
	want, got := tracetest.Dump(t, format.Recorded(r), trace.Everything()), tracetest.Dump(t, d, trace.Everything())
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows differ:\n%.2000s", diff)
	}
	begins := 0
	check := func(_ int64, r *Record) error {
		for _, s := range r.Texts {
			if !utf8.ValidString(s) {
				t.Errorf("record %d: found a text of %d bytes that is not UTF-8", r.ID, len(s))
			}
			if len(s) > maxText/2 && strings.HasPrefix(long, s) {
				begins++
			}
		}
		return nil
	}
	a := d.(*decoder).a
	if err := a.Definitions(check); err != nil {
		t.Fatal(err)
	}
	if err := a.Markers(check); err != nil {
		t.Fatal(err)
	}
	if begins != 2 { // the string and the marker
		t.Errorf("found %d records with the beginning of the text, expected 2", begins)
	}
}

// TestAttributesToNothing checks that attributes that refer to undefined things keep their types.
func TestAttributesToNothing(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	loc := r.Location("rank 0")
	for typ := trace.AttributeRef; typ <= trace.LocationGroupRef; typ++ {
		r.Mark(loc, int64(typ), r.Region("here"), trace.Attr{Key: typ.String(), Value: trace.Value{Type: typ, Num: 1000}})
	}
	path := filepath.Join(t.TempDir(), "x.otf2")
	tracetest.Encode(t, Format{}, format.Recorded(r), path)
	d := tracetest.Open(t, Format{}, format.FileSource(path), nil)
	want, got := tracetest.Dump(t, format.Recorded(r), trace.Everything()), tracetest.Dump(t, d, trace.Everything())
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows differ:\n%s", diff)
	}
}

// TestGenericEvents checks that a generic event is a parameter whose value is the name of the event, without data that
// only weft reads, and that it is restored.
func TestGenericEvents(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	loc := r.Location("rank 0")
	key := trace.Attr{Key: "n", Value: trace.IntValue(7)}
	for i, name := range []string{"", "step", "event", "step"} {
		s := r.Defs().Strings.Add(name)
		r.Event(loc, int64(2*i), trace.Generic, s, nil)
		r.Event(loc, int64(2*i+1), trace.Generic, s, nil, key)
	}
	r.Event(loc, 9, trace.Comment, trace.NoRef, nil, trace.Attr{Key: textName, Value: trace.StringValue("step")})
	path := filepath.Join(t.TempDir(), "x.otf2")
	tracetest.Encode(t, Format{}, format.Recorded(r), path)
	d := tracetest.Open(t, Format{}, format.FileSource(path), nil)
	want, got := tracetest.Dump(t, format.Recorded(r), trace.Everything()), tracetest.Dump(t, d, trace.Everything())
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows differ:\n%s", diff)
	}
	a := d.(*decoder).a
	events, err := a.openEvents(0, d.(*decoder).opt)
	if err != nil {
		t.Fatal(err)
	}
	defer events.Close()
	for i := range 8 {
		e, err := events.Next()
		if err != nil {
			t.Fatal(err)
		}
		if e.ID != parameterString || e.Values[0] != kindParameter || e.Values[1] != uint64(i/2) || len(e.Attributes) != i%2 {
			t.Errorf("event %d: found record %d with %v and %v, expected ParameterString of string %d with %d attributes",
				i, e.ID, e.Values, e.Attributes, i/2, i%2)
		}
	}
}
