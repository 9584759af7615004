package index

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/weft-trace/weft/internal/effort"
	"github.com/weft-trace/weft/trace"
)

// However time is cut up, the pieces add up to the whole, at every zoom: exclusive times of
// profiles exactly, and those of the columns of tiles where a column is a tick.
func TestSumsOfPieces(t *testing.T) {
	effort.Sequential(t)
	const tracks = 2
	r, spans := random(11, tracks, 15000)
	x := build(t, r)
	first, last, _ := x.Extent()
	for track := range tracks {
		whole := exclusive(spans[track])
		for pieces := int64(1); pieces <= 1<<8; pieces *= 4 {
			t.Run(fmt.Sprintf("track %d in %d", track, pieces), func(t *testing.T) {
				got := map[uint32]int64{}
				from := first
				for i := range pieces {
					// The last piece has the last tick too.
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
						got[s.Region] += s.Exclusive
						busy += s.Exclusive
					}
					if busy > to-from {
						t.Errorf("%d ticks are exclusive in %d to %d", busy, from, to)
					}
					from = to
				}
				same(t, got, whole)
			})
		}
	}
}

// Where a column is a tick, the columns of a tile tell which region is the innermost one, and
// add up to the profile.
func TestSumsOfColumns(t *testing.T) {
	const width = 2000
	r := trace.NewRecorder(trace.Seconds(1_000_000))
	rng := rand.New(rand.NewPCG(4, 4))
	loc, now := r.Location("p"), int64(0)
	var stack []uint32
	for range 20000 {
		now += rng.Int64N(20) // some spans have no length
		if n := len(stack); n > 9 || n > 0 && rng.IntN(2) == 0 {
			r.Leave(loc, now, stack[n-1])
			stack = stack[:n-1]
			continue
		}
		stack = append(stack, r.Region(string('a'+rune(rng.IntN(7)))))
		r.Enter(loc, now, stack[len(stack)-1])
	}
	x := build(t, r)
	first, last, _ := x.Extent()
	for i := range int64(20) {
		from := first + (last-first-width)/20*i
		tile, err := x.Tile(t.Context(), TileRequest{Tracks: []int{0}, From: from, To: from + width, Width: width, Depths: 255})
		if err != nil {
			t.Fatal(err)
		}
		inner := map[int]uint32{}
		for _, s := range tile.Strips { // the outermost first
			for k := s.First; k < s.First+s.Count; k++ {
				if tile.Share[k] < 255 {
					continue // of no length: the tick is another one's
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
			want[s.Region] = s.Exclusive
		}
		same(t, got, want)
	}
}

// exclusive is what the spans of a track come to, each less those directly in it.
func exclusive(list []Span) map[uint32]int64 {
	out := map[uint32]int64{}
	var below [256]int64     // what ended directly in that which is open
	for _, s := range list { // in the order of their ends
		out[s.Region] += s.End - s.Start - below[s.Depth+1]
		below[s.Depth+1] = 0
		below[s.Depth] += s.End - s.Start
	}
	return out
}

func same(t *testing.T, got, want map[uint32]int64) {
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
