package index

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// mixedBatches delivers the events of all locations in the order of time, so that a batch has
// events of several locations.
type mixedBatches struct{ format.Events }

func (m mixedBatches) ScanParallel(ctx context.Context, sel trace.Selection, begin func() func(int) format.Sink) error {
	return m.Scan(ctx, sel, format.GlobalOrder, begin()(0))
}

// TestMixedBatches checks that the index is the same whether a batch has events of several locations or of a
// single location.
func TestMixedBatches(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	p, q, g := r.Location("p"), r.Location("q"), r.Region("g")
	for i := range int64(10) {
		r.Enter(p, 10*i, g)
		r.Enter(q, 10*i+1, g)
		r.Leave(p, 10*i+3, g)
		r.Leave(q, 10*i+8, g)
	}
	x, err := BuildTemporary(t.Context(), mixedBatches{format.Recorded(r)}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	for track, want := range []int64{30, 70} {
		sums, err := x.Profile(track, 0, 100)
		if err != nil || len(sums) != 1 || sums[0].Count != 10 || sums[0].Inclusive != trace.TicksOf(want) {
			t.Errorf("track %d: found %v, %v, expected 10 visits of %d ticks together", track, sums, err, want)
		}
	}
}

// TestLongSpan checks that a query for any time returns the begin and end of a span that extends
// over several blocks, and of the spans next to it.
func TestLongSpan(t *testing.T) {
	const n = 3 * blockSpans
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	p, main, work := r.Location("p"), r.Region("main"), r.Region("work")
	r.Enter(p, 0, main)
	r.Enter(p, 0, main) // a nested visit of the same region
	for i := range int64(n) {
		r.Enter(p, 2*i, work)
		r.Leave(p, 2*i+1, work)
	}
	r.Leave(p, 2*n, main)
	r.Leave(p, 2*n+5, main)
	x := buildIndex(t, r)
	for _, at := range []int64{0, 1, blockSpans, 4 * blockSpans, 2*n - 1} {
		for depth, end := range []int64{2*n + 5, 2 * n} {
			s, ok, err := x.SpanAt(0, depth, at)
			if want := (Span{0, end, main, uint8(depth), wholeBand}); !ok || err != nil || s != want {
				t.Errorf("depth %d at %d: found %+v, %t, %v, expected %+v", depth, at, s, ok, err, want)
			}
		}
	}
	// Spans that begin at the end of a window, or that end at its begin, are not in the window.
	got := ""
	err := x.Spans(t.Context(), 0, 11, 14, []uint32{work}, 0, func(s Span) int64 {
		got += fmt.Sprint(s.Start, "-", s.End, " ")
		return 0
	})
	if err != nil || got != "12-13 " {
		t.Errorf("found %s, %v, expected the span 12-13", got, err)
	}
}

// TestBundle checks that messages above the limit of a query become one bundle that extends over
// their times.
func TestBundle(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	p, q := r.Location("p"), r.Location("q")
	for i, end := range []int64{40, 60, 50} {
		at := int64(i) + 5
		r.Send(p, at, q, int64(i), 10)
		r.Recv(q, end, p, int64(i), 10)
	}
	x := buildIndex(t, r)
	for limit, want := range map[int]string{3: "5-40 1 10, 6-60 1 10, 7-50 1 10, ", 2: "5-60 3 30, "} {
		set, err := x.Links(t.Context(), LinkRequest{From: 0, To: 6400, Limit: limit})
		got := ""
		for _, l := range set.Links {
			got += fmt.Sprint(l.Start, "-", l.End, " ", l.Count, " ", l.Bytes, ", ")
		}
		if err != nil || got != want || set.Total != 3 || set.Bundled != (limit == 2) {
			t.Errorf("at most %d: found %s of %d, bundled %t, %v, expected %s", limit, got, set.Total, set.Bundled, err, want)
		}
	}
}

// TestHeightsOfTile checks that the height of a claim in a tile is the share of the resource's capacity that
// it holds. A column in which one claim follows another has the mean of their heights.
func TestHeightsOfTile(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	cpu, a := r.Resource("cpu", 4, ""), r.Region("a")
	r.Release(r.Claim(cpu, 0, a, 2), 10)  // height 128 of 255
	r.Release(r.Claim(cpu, 10, a, 4), 20) // height 255
	r.Release(r.Claim(cpu, 20, a, 1), 25) // height 64
	r.Release(r.Claim(cpu, 25, a, 2), 30) // height 128
	x := buildIndex(t, r)
	for i, k := range x.Tracks() {
		if k.Kind != ResourceTrack {
			continue
		}
		tile, err := x.Tile(t.Context(), TileRequest{Tracks: []int{i}, From: 0, To: 30, Width: 3, Depths: 1})
		if err != nil {
			t.Fatal(err)
		}
		s := tile.Strips[0]
		if got, want := tile.Height[s.First:s.First+s.Count], []uint8{128, 255, 96}; !slices.Equal(got, want) {
			t.Errorf("found the heights %d, expected %d", got, want)
		}
	}
}

// TestBadTiles checks that requests for tiles with an empty window, without columns, with too many
// columns, or with a negative number of depths are rejected.
func TestBadTiles(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	p, g := r.Location("p"), r.Region("g")
	r.Enter(p, 0, g)
	r.Leave(p, 10, g)
	x := buildIndex(t, r)
	for _, q := range []struct {
		TileRequest
		ok bool
	}{
		{TileRequest{From: 0, To: 10, Width: 1, Depths: 1}, true}, {TileRequest{From: 0, To: 1, Width: MaxWidth}, true},
		{TileRequest{From: 0, To: 0, Width: 1}, false}, {TileRequest{From: 1, To: 0, Width: 1}, false},
		{TileRequest{From: 0, To: 10}, false},
		{TileRequest{From: 0, To: 10, Width: MaxWidth + 1}, false},
		{TileRequest{From: 0, To: 10, Width: 1, Depths: -1}, false},
		{TileRequest{From: 0, To: 10, Width: 1, Tracks: []int{1}}, false},
		{TileRequest{From: 0, To: 10, Width: 1, Tracks: []int{-1}}, false},
	} {
		if _, err := x.Tile(t.Context(), q.TileRequest); (err == nil) != q.ok {
			t.Errorf("%+v: found %v, expected that it is right: %t", q.TileRequest, err, q.ok)
		}
	}
	if v, ok := (&Values{}).Mean(); v != 0 || ok {
		t.Errorf("found the mean %g, %t, expected none", v, ok)
	}
}

// TestOffsetsOfTile checks that the offset of a claim in a tile is the share of the resource's capacity before
// the claim. Tiles are drawn both from claims and from levels. A column in which one claim follows another has
// the mean of their offsets. Resources that do not assign their parts have no offsets.
func TestOffsetsOfTile(t *testing.T) {
	for _, uses := range []bool{true, false} {
		r := trace.NewRecorder(trace.TicksPerSecond(1000))
		memory, a := r.Resource("memory", 100, "MB"), r.Region("a")
		r.Defs().Resources.At(memory).UsesOffset = uses
		loc := r.Defs().Resources.At(memory).Location
		const rounds = 20000
		for i := range int64(rounds) {
			for k, offset := range []float64{0, 60, 20, 40} { // 0, 153, 51 and 102 of 255
				id := []uint64{uint64(4*i) + uint64(k), uint64(memory)}
				from := 20*i + 5*int64(k)
				r.Event(loc, from, trace.ClaimBegin, a, append(id, math.Float64bits(20), math.Float64bits(offset)))
				r.Event(loc, from+5, trace.ClaimEnd, a, id)
			}
		}
		x := buildIndex(t, r)
		track := slices.IndexFunc(x.Tracks(), func(k Track) bool { return k.Kind == ResourceTrack })
		if found := x.Tracks()[track].Offsets; found != uses {
			t.Errorf("found offsets %t, expected %t", found, uses)
		}
		for _, c := range []struct {
			to     int64
			width  int
			expect []uint8
		}{
			{20, 4, []uint8{0, 153, 51, 102}},
			{20, 2, []uint8{77, 77}}, // means of 0 and 153, and of 51 and 102, rounded
			{20 * rounds, 2, []uint8{77, 77}},
		} {
			tile, err := x.Tile(t.Context(), TileRequest{Tracks: []int{track}, From: 0, To: c.to, Width: c.width, Depths: 1})
			if err != nil {
				t.Fatal(err)
			}
			var found []uint8
			for i := range tile.X {
				for range tile.N[i] {
					found = append(found, tile.Offset[i])
				}
			}
			if !uses {
				c.expect = make([]uint8, c.width)
			}
			if !slices.Equal(found, c.expect) {
				t.Errorf("up to %d in %d columns: found the offsets %d, expected %d", c.to, c.width, found, c.expect)
			}
		}
	}
}
