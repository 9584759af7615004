package profile

import (
	"reflect"
	"testing"

	"github.com/weft-trace/weft/trace"
)

// TestRows checks that Options.Rows joins regions of the same name that two processes define. Time in a
// visit of one of them inside a visit of the other counts once.
func TestRows(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	f, g := r.Region("f"), r.Region("g")
	again := r.Defs().Regions.Add(trace.Region{ID: "9", Name: "f"})
	x, y := r.Location("x"), r.Location("y")
	r.Enter(x, 0, f)
	r.Enter(x, 10, g)
	r.Leave(x, 30, g)
	r.Leave(x, 100, f)
	r.Enter(y, 0, again)
	r.Enter(y, 20, f)
	r.Leave(y, 50, f)
	r.Leave(y, 60, again)
	run := func(rows *trace.Rows) (list []Region) {
		parts := [2]*Part{New(r.Defs(), Options{Rows: rows}), New(r.Defs(), Options{Rows: rows})}
		for i, loc := range []uint32{x, y} {
			for _, b := range r.Batches(loc) {
				if err := parts[i].Batch(b); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := parts[0].Merge(parts[1]); err != nil {
			t.Fatal(err)
		}
		return parts[0].Result().Regions
	}
	id := r.Defs().Regions.At(f).ID
	want := []Region{
		{Region: f, ID: id, Name: "f", Definitions: []string{id, "9"}, Count: 3, Inclusive: trace.TicksOf(160),
			Exclusive: trace.TicksOf(140), Sum: trace.TicksOf(190), Min: 30, Max: 100},
		{Region: g, ID: r.Defs().Regions.At(g).ID, Name: "g", Count: 1, Inclusive: trace.TicksOf(20),
			Exclusive: trace.TicksOf(20), Sum: trace.TicksOf(20), Min: 20, Max: 20},
	}
	if got := run(trace.NewRows(r.Defs())); !reflect.DeepEqual(got, want) {
		t.Errorf("found %+v\nexpected %+v", got, want)
	}
	if got := run(nil); len(got) != 3 || got[0].Count != 2 || got[2].Count != 1 || got[0].Definitions != nil {
		t.Errorf("each for itself: found %+v", got)
	}
}
