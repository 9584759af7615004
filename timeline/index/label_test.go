package index

import (
	"path/filepath"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// TestLabel checks that an attribute names spans, and that spans with the same name but different
// values of the colour attribute belong to different regions. Part 1 of job a lasts from 0 to 10, part
// 1 of job b from 10 to 14, and a visit of g has no attributes.
func TestLabel(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	loc, g := r.Location("p"), r.Region("g")
	attr := func(key, value string) trace.Attr { return trace.Attr{Key: key, Value: trace.StringValue(value)} }
	r.Enter(loc, 0, g, attr("job", "a"), attr("part", "1"))
	r.Leave(loc, 10, g)
	r.Enter(loc, 10, g, attr("part", "1"), attr("job", "b"))
	r.Leave(loc, 14, g)
	r.Enter(loc, 20, g)
	r.Leave(loc, 21, g)
	type named struct{ name, group string }
	for _, c := range []struct {
		opt  Options
		want map[named]int64
	}{
		{Options{Color: "job", Label: "part"}, map[named]int64{{"1", "a"}: 10, {"1", "b"}: 4, {"g", ""}: 1}},
		{Options{Label: "part"}, map[named]int64{{"1", "g"}: 14, {"g", "g"}: 1}},
	} {
		path := filepath.Join(t.TempDir(), "x")
		if err := Build(t.Context(), format.Recorded(r), path, c.opt); err != nil {
			t.Fatal(err)
		}
		x, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		sums, err := x.Profile(0, 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		if len(sums) != len(c.want) {
			t.Errorf("%v: found %d names, expected %d", c.opt, len(sums), len(c.want))
		}
		for _, s := range sums {
			r := x.Regions()[s.Region]
			if got := s.Inclusive.Int64(); got != c.want[named{r.Name, r.Group}] {
				t.Errorf("%v: found %d ticks of %s in %q, expected %v", c.opt, got, r.Name, r.Group, c.want)
			}
		}
	}
	if err := Build(t.Context(), format.Recorded(r), filepath.Join(t.TempDir(), "x"), Options{Label: "none"}); err == nil {
		t.Error("found an index with names of an attribute that does not occur")
	}
}
