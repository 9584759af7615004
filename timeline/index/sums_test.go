package index

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weft-trace/weft/internal/effort"
	"github.com/weft-trace/weft/trace"
)

// TestSumsOfPieces divides the trace into pieces, in several ways, and checks that the sums of the pieces add
// up to the sum of the whole trace. This applies to the exclusive times of profiles, and to tiles with one
// column for each tick.
func TestSumsOfPieces(t *testing.T) {
	effort.Sequential(t)
	const tracks = 2
	r, spans := randomVisits(11, tracks, 15000)
	x := buildIndex(t, r)
	first, last, _ := x.Extent()
	for track := range tracks {
		whole := exclusiveTime(spans[track])
		for pieces := int64(1); pieces <= 1<<8; pieces *= 4 {
			t.Run(fmt.Sprintf("track %d in %d", track, pieces), func(t *testing.T) {
				got := map[uint32]int64{}
				from := first
				for i := range pieces {
					// The last piece includes the last tick.
					to := first + (last-first)/pieces*(i+1)
					if i == pieces-1 {
						to = last + 1
					}
					sums, err := x.Profile(track, from, to)
					if err != nil {
						t.Fatal(err)
					}
					busy := int64(0)
					for _, s := range sums {
						got[s.Region] += s.Exclusive.Int64()
						busy += s.Exclusive.Int64()
					}
					if busy > to-from {
						t.Errorf("%d ticks are exclusive in %d to %d", busy, from, to)
					}
					from = to
				}
				checkEqual(t, got, whole)
			})
		}
	}
}

// TestSumsOfColumns checks tiles with one column for each tick: each column shows the innermost
// region, and the columns add up to the profile.
func TestSumsOfColumns(t *testing.T) {
	const width = 2000
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
	rng := rand.New(rand.NewPCG(4, 4))
	loc, now := r.Location("p"), int64(0)
	var stack []uint32
	for range 20000 {
		now += rng.Int64N(20) // some spans have no duration
		if n := len(stack); n > 9 || n > 0 && rng.IntN(2) == 0 {
			r.Leave(loc, now, stack[n-1])
			stack = stack[:n-1]
			continue
		}
		stack = append(stack, r.Region(string('a'+rune(rng.IntN(7)))))
		r.Enter(loc, now, stack[len(stack)-1])
	}
	x := buildIndex(t, r)
	first, last, _ := x.Extent()
	for i := range int64(20) {
		from := first + (last-first-width)/20*i
		tile, err := x.Tile(t.Context(), TileRequest{Tracks: []int{0}, From: from, To: from + width, Width: width,
			Depths: 255})
		if err != nil {
			t.Fatal(err)
		}
		inner := map[int]uint32{}
		for _, s := range tile.Strips { // from the outermost depth to the innermost
			for k := s.First; k < s.First+s.Count; k++ {
				if tile.Share[k] < 255 {
					continue // a span without duration; the tick belongs to another span
				}
				for c := int(tile.X[k]); c < int(tile.X[k])+int(tile.N[k]); c++ {
					inner[c] = tile.Region[k]
				}
			}
		}
		got, want := map[uint32]int64{}, map[uint32]int64{}
		for _, region := range inner {
			got[region]++
		}
		sums, err := x.Profile(0, from, from+width)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range sums {
			want[s.Region] = s.Exclusive.Int64()
		}
		checkEqual(t, got, want)
	}
}

// exclusiveTime returns the exclusive times of the spans of a track in ticks, by region. The
// exclusive time of a span is its duration minus the durations of its direct children.
func exclusiveTime(list []Span) map[uint32]int64 {
	out := map[uint32]int64{}
	var below [256]int64     // durations of the direct children of the open span, by depth
	for _, s := range list { // the spans are in the order of their ends
		out[s.Region] += s.End - s.Start - below[s.Depth+1]
		below[s.Depth+1] = 0
		below[s.Depth] += s.End - s.Start
	}
	return out
}

func checkEqual(t *testing.T, got, want map[uint32]int64) {
	t.Helper()
	for region := range want {
		if got[region] != want[region] {
			t.Errorf("region %d: found %d ticks, expected %d", region, got[region], want[region])
		}
	}
	for region := range got {
		if _, ok := want[region]; !ok && got[region] != 0 {
			t.Errorf("region %d: found %d ticks, expected none", region, got[region])
		}
	}
}

// TestSumsBeyond64Bits checks that sums of more than 64 bits are exact in the totals of all tracks,
// in the sums of a block, which the file stores, and in profiles of a window. The spans are
// recursive visits, overlapping claims, and messages.
func TestSumsBeyond64Bits(t *testing.T) {
	const long = int64(4e18)
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000_000))
	a, b, c := r.Region("a"), r.Region("b"), r.Region("c")
	p := r.Location("p")
	for range 4 {
		r.Enter(p, 0, a)
	}
	for range 4 {
		r.Leave(p, long, a)
	}
	for i := range int64(blockSpans) { // the first block is full
		r.Enter(p, long+i, b)
		r.Leave(p, long+i+1, b)
	}
	for range 3 {
		q := r.Location("q")
		r.Enter(q, 0, c)
		r.Leave(q, long, c)
		r.Send(q, 1, p, 0, 1)
		r.Recv(p, long+1, q, 0, 1)
	}
	for range 4 {
		r.Send(p, 1, 1, 0, 1)
		r.Recv(1, long+1, p, 0, 1)
	}
	cpu := r.Resource("cpu", 3, "")
	for range 3 {
		r.Release(r.Claim(cpu, 0, c, 1), long)
	}
	x := buildIndex(t, r)
	n := trace.TicksOf
	visits, claims := x.Totals()
	got := map[string][]Sum{"visits": visits, "claims": claims}
	for name, w := range map[string][2]int64{"p": {0, long + blockSpans + 1}, "a block of p": {0, long + 1},
		"a part of p": {1, long}} {
		l, err := x.Profile(0, w[0], w[1])
		if err != nil {
			t.Fatal(err)
		}
		got[name] = l
	}
	for i, k := range x.Tracks() {
		if l, err := x.Profile(i, 0, long+1); err != nil {
			t.Fatal(err)
		} else if k.Kind == ResourceTrack {
			got["cpu"] = l
		}
	}
	held := []Sum{{c, 3, n(long).Times(3), n(long).Times(3), n(long).Times(3), long, long}}
	ones := func(k int64) Sum { return Sum{b, k, n(k), n(k), n(k), 1, 1} }
	for name, want := range map[string][]Sum{
		"visits":       {{a, 4, n(long), n(long), n(long).Times(4), long, long}, ones(blockSpans), held[0]},
		"claims":       held,
		"cpu":          held,
		"p":            {{a, 4, n(long), n(long), n(long).Times(4), long, long}, ones(blockSpans)},
		"a block of p": {{a, 4, n(long), n(long), n(long).Times(4), long, long}, ones(1)},
		"a part of p":  {{a, 4, n(long - 1), n(long - 1), n(long - 1).Times(4), long - 1, long - 1}},
	} {
		if !slices.Equal(got[name], want) {
			t.Errorf("%s: found %v, expected %v", name, got[name], want)
		}
	}
	cells, err := x.Matrix(t.Context(), 0, 2)
	if err != nil || len(cells) != 4 || cells[0].Sum != n(long).Times(4) || cells[0].Mean() != long {
		t.Errorf("found %+v, %v, expected 4 messages of 4·10¹⁸ ticks each from p to the first q", cells, err)
	}
}

// TestTicksInFile checks that sums of any size do not change when they are encoded and decoded.
func TestTicksInFile(t *testing.T) {
	unit := trace.TicksOf(1 << 62)
	for _, x := range []struct {
		sum   trace.Ticks
		bytes int
	}{
		{trace.Ticks{}, 1}, {trace.TicksOf(127), 1}, {trace.TicksOf(math.MaxInt64), 9},
		{trace.TicksOf(math.MaxInt64).Plus(trace.TicksOf(1)), 11},
		{unit.Times(4), 11}, {unit.Times(math.MaxInt64), 20}, {trace.TicksOf(-1), 11}, {trace.TicksOf(math.MinInt64), 11},
		{unit.Times(-5), 11},
	} {
		b := appendTicks(nil, x.sum)
		c := columns{b: b}
		if got := c.ticks(); got != x.sum || c.bad || len(c.b) > 0 || len(b) != x.bytes {
			t.Errorf("%v: found %v in %d bytes, expected it in %d", x.sum, got, len(b), x.bytes)
		}
	}
}
