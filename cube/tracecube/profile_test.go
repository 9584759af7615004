package tracecube

import (
	"bytes"
	"slices"
	"testing"

	"github.com/weft-trace/weft/analysis/calltree"
	"github.com/weft-trace/weft/analysis/waits"
	"github.com/weft-trace/weft/cube"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// TestProfileInclusive checks that the inclusive values that Score-P writes are converted to exclusive values,
// and that paths that stand for the program are left out.
func TestProfileInclusive(t *testing.T) {
	c := &cube.Cube{Regions: []cube.Region{{Name: "(program)", Begin: -1, End: -1}, {Name: "main", Begin: 3, End: 9},
		{Name: "solve", Begin: -1, End: -1}},
		Paths: []cube.Path{{Parent: -1, Region: 0}, {Parent: 0, Region: 1}, {Parent: 1, Region: 2},
			{Parent: 1, Region: 1}},
		Nodes:     []cube.Node{{Parent: -1, Name: "m", Class: "machine"}},
		Groups:    []cube.Group{{Name: "p", Type: "process"}},
		Locations: []cube.Location{{Name: "t", Type: "thread"}},
		Metrics: []cube.Metric{
			{Parent: -1, Kind: cube.Inclusive, Name: "time", Type: cube.Double, Values: [][]float64{{10}, {10}, {4}, {1.5}}},
			{Parent: -1, Kind: cube.Exclusive, Name: "visits", Type: cube.Double, Values: [][]float64{{0}, {1}, {7}, {2}}}}}
	var b bytes.Buffer
	if err := c.Write(&b); err != nil {
		t.Fatal(err)
	}
	f, err := cube.Open(bytes.NewReader(b.Bytes()), int64(b.Len()), "c.cubex")
	if err != nil {
		t.Fatal(err)
	}
	p, err := Profile(f)
	if err != nil {
		t.Fatal(err)
	}
	var times, visits []int64
	var parents []int
	for _, x := range p.Paths {
		times, visits, parents = append(times, x.Exclusive[0]), append(visits, x.Visits[0]), append(parents, x.Parent)
	}
	// main: 10 - 4 - 1.5 s; solve: 4 s; main in main: 1.5 s
	if !slices.Equal(times, []int64{4_500_000_000, 4_000_000_000, 1_500_000_000}) ||
		!slices.Equal(visits, []int64{1, 7, 2}) || !slices.Equal(parents, []int{-1, 0, 0}) || p.Regions[1].Line != 3 {
		t.Errorf("found %+v", p)
	}
	for unit, expected := range map[string]int64{"msec": 4_500_000, "usec": 4500, "nsec": 5} { // 10 - 4 - 1.5, rounded
		f.Metrics[0].Unit = unit
		if p, err := Profile(f); err != nil || p.Paths[0].Exclusive[0] != expected {
			t.Errorf("%s: found %+v, %v, expected %d ns", unit, p, err, expected)
		}
	}
	f.Metrics[0].Unit = "cycles"
	if p, err := Profile(f); err == nil {
		t.Errorf("found %+v for a time in cycles, expected an error", p)
	}
	f.Metrics = f.Metrics[:1]
	if _, err := Profile(f); err == nil {
		t.Error("found no error for a cube without visits")
	}
}

// TestProfileOutsideOfRegions checks that the time outside of all regions is left out below the outermost path, where
// AddWaits puts it: main has 100 ticks, and the thread then waits for 40 ticks outside of it.
func TestProfileOutsideOfRegions(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000_000))
	thread, main := r.Location("thread"), r.Region("main")
	r.Enter(thread, 0, main)
	r.Leave(thread, 100, main)
	events := format.Recorded(r)
	f, err := New(t.Context(), events, trace.Everything(), calltree.Options{Rows: trace.NewRows(r.Defs())})
	if err != nil {
		t.Fatal(err)
	}
	f.AddWaits(&waits.Result{Patterns: []waits.Pattern{{Pattern: "wait-for-launch",
		PathLocations: []waits.Share{{Location: &thread, Time: trace.TicksOf(40)}}}}})
	var b bytes.Buffer
	if err := f.Cube().Write(&b); err != nil {
		t.Fatal(err)
	}
	c, err := cube.Open(bytes.NewReader(b.Bytes()), int64(b.Len()), "c.cubex")
	if err != nil {
		t.Fatal(err)
	}
	p, err := Profile(c)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Paths) != 1 || !slices.Equal(p.Paths[0].Exclusive, []int64{100}) {
		t.Errorf("found %+v, expected main alone with 100 ns", p.Paths)
	}
}
