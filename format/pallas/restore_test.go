package pallas

import (
	"cmp"
	"path/filepath"
	"slices"
	"testing"
	"unsafe"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/tracetest"
)

// TestTextsOfDecoder checks that an encoder keeps no text of a batch: the memory belongs to the decoder, which uses it
// again.
func TestTextsOfDecoder(t *testing.T) {
	r := trace.NewRecorder(trace.Seconds(1000))
	loc, region := r.Location("rank 0"), r.Region("work")
	key := r.Defs().Attributes.Add(trace.AttributeDef{Name: "note", Type: trace.String})
	path := filepath.Join(t.TempDir(), "x"+Format{}.About().Extensions[0])
	out, err := format.CreateFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Abort()
	e, err := Format{}.Create(out, &format.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	text := make([]byte, 5)
	err = e.Begin(r.Defs())
	for i, s := range []string{"first", "other", "third"} {
		copy(text, s)
		b := &trace.Batch{Loc: loc}
		b.Add(loc, int64(i), trace.Enter, region)
		b.AddAttr(key, trace.StringValue(unsafe.String(&text[0], len(text))))
		err = cmp.Or(err, e.(format.Sink).Batch(b))
	}
	copy(text, "later")
	if err := cmp.Or(err, e.Close(), out.Commit()); err != nil {
		t.Fatal(err)
	}
	got := tracetest.Dump(t, tracetest.Open(t, Format{}, format.FileSource(path), nil), trace.Everything())
	want := []string{`0 0 enter "work"(0) note:string="first"`, `1 0 enter "work"(0) note:string="other"`,
		`2 0 enter "work"(0) note:string="third"`}
	if !slices.Equal(got, want) {
		t.Errorf("found %q, expected %q", got, want)
	}
}
