package trace

import (
	"reflect"
	"testing"
)

func TestRows(t *testing.T) {
	d := &Definitions{}
	add := func(id, name, file string, line int64) {
		d.Regions.Add(Region{ID: id, Name: name, File: file, Line: line})
	}
	r := NewRows(d)
	var buf []uint32
	add("a", "f", "", 0)
	add("b", "g", "x.c", 1)
	if got := r.Map(&buf, []uint32{0, 1, NoRef}); !reflect.DeepEqual(got, []uint32{0, 1, NoRef}) || buf != nil ||
		r.Regions() != nil {
		t.Errorf("each its own: found %v, %v", got, r.Regions())
	}
	add("c", "f", "", 0)    // the same row as b
	add("d", "g", "x.c", 2) // another file or line than c
	add("e", "g", "x.c", 1) // the same row as c
	add("f", "", "", 0)     // a region without a name
	add("g", "", "", 0)
	add("h", "f", "", 0)
	in := []uint32{0, 1, 2, 3, 4, 5, 6, 7, 8, NoRef}
	want := []uint32{0, 1, 0, 3, 1, 5, 6, 0, 8, NoRef}
	if got := r.Map(&buf, in); !reflect.DeepEqual(got, want) || in[2] != 2 {
		t.Errorf("found %v of %v, expected %v", got, in, want)
	}
	for i, x := range in {
		if got := r.Of(x); got != want[i] {
			t.Errorf("Of(%d) = %d, expected %d", x, got, want[i])
		}
	}
	if want := map[uint32][]string{0: {"a", "c", "h"}, 1: {"b", "e"}}; !reflect.DeepEqual(r.IDs(), want) {
		t.Errorf("ids: found %v, expected %v", r.IDs(), want)
	}
	r = nil
	if got := r.Map(&buf, in); !reflect.DeepEqual(got, in) || r.Of(2) != 2 || len(r.IDs()) != 0 {
		t.Errorf("nil: found %v", got)
	}
}

func TestRegionNames(t *testing.T) {
	d := &Definitions{}
	for i, r := range []Region{{Name: "f"}, {Name: "f", File: "x.c", Line: 2}, {Name: "f"}, {Name: "f", File: "y.c"},
		{Name: "f", Line: 7}, {Name: "g", File: "x.c"}, {Name: "g", File: "x.c"}, {}, {}} {
		r.ID = string(rune('a' + i))
		d.Regions.Add(r)
	}
	want := []string{"f (no place)", "f (x.c:2)", "f (no place)", "f (y.c)", "f (line 7)", "g", "g", "", ""}
	if got := d.RegionNames(NewRows(d)); !reflect.DeepEqual(got, want) {
		t.Errorf("found %q, expected %q", got, want)
	}
	want = []string{"f (a)", "f (b)", "f (c)", "f (d)", "f (e)", "g (f)", "g (g)", "", ""}
	if got := d.RegionNames(nil); !reflect.DeepEqual(got, want) {
		t.Errorf("without rows: found %q, expected %q", got, want)
	}
}
