package index

import (
	"context"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/weft-trace/weft/analysis/profile"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// random records nested visits at some locations, and what each is.
func random(seed uint64, locations, visits int) (*trace.Recorder, [][]Span) {
	r := trace.NewRecorder(trace.Seconds(1_000_000))
	rng := rand.New(rand.NewPCG(seed, 3))
	var regions []uint32
	for _, n := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		regions = append(regions, r.Region(n))
	}
	spans := make([][]Span, locations)
	for l := range locations {
		loc := r.Location("p")
		type frame struct {
			start  int64
			region uint32
		}
		var stack []frame
		now := int64(rng.IntN(1000)) - 500
		for range visits * 2 {
			now += int64(rng.IntN(20))
			if rng.IntN(400) == 0 {
				now += int64(rng.IntN(50000))
			}
			if n := len(stack); n > 0 && (n > 9 || rng.IntN(2) == 0) {
				f := stack[n-1]
				stack = stack[:n-1]
				r.Leave(loc, now, f.region)
				spans[l] = append(spans[l], Span{f.start, now, f.region, uint8(n - 1)})
			} else {
				g := regions[rng.IntN(len(regions))]
				r.Enter(loc, now, g)
				stack = append(stack, frame{now, g})
			}
		}
		for n := len(stack); n > 0; n-- {
			spans[l] = append(spans[l], Span{stack[n-1].start, now, stack[n-1].region, uint8(n - 1)})
		}
	}
	return r, spans
}

func build(t testing.TB, r *trace.Recorder) *Index {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.weftindex")
	if err := Build(context.Background(), format.Recorded(r), path, 2); err != nil {
		t.Fatal(err)
	}
	x, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

// Tiles against pixels that are filled slowly from the spans themselves: exactly where a
// pixel is less than a bucket, else what covers each pixel to within what is rounded.
func TestTiles(t *testing.T) {
	r, spans := random(1, 3, 60000)
	x := build(t, r)
	rng := rand.New(rand.NewPCG(5, 5))
	first, last, _ := x.Extent()
	for range 300 {
		track := rng.IntN(3)
		length := int64(math.Exp(rng.Float64()*math.Log(float64(last-first)))) + 10
		from := first - 100 + rng.Int64N(last-first+200)
		width := 1 + rng.IntN(300)
		tile, err := x.Tile(track, from, from+length, width, 20)
		if err != nil {
			t.Fatal(err)
		}
		pixel := float64(length) / float64(width)
		for d, row := range tile {
			cover := make([]float64, width)
			most := make([]map[uint32]float64, width)
			for i := range most {
				most[i] = map[uint32]float64{}
			}
			for _, s := range spans[track] {
				if int(s.Depth) != d || s.End < from || s.Start > from+length {
					continue
				}
				a := max(0, float64(s.Start-from)/pixel)
				b := min(float64(width), float64(s.End-from)/pixel)
				for p := int(a); p < width && float64(p) < b; p++ {
					in := min(b, float64(p+1)) - max(a, float64(p))
					cover[p] += in
					most[p][s.Region] += in
				}
			}
			// A level's buckets are put where they begin, their parts are not known.
			slack := 1.2 / 255
			if level := x.level(track, d, pixel); level >= 0 {
				slack = 2.5*float64(x.dir.Tracks[track].Levels[d][level].Width)/pixel + 0.02
			}
			for p, c := range row {
				if math.Abs(float64(c.Cover)/255-cover[p]) > slack && cover[p] > 0 {
					t.Fatalf("track %d, %d+%d in %d pixels, depth %d, pixel %d: found a cover of %.3f, expected %.3f ± %.3f", track, from, length, width, d, p, float64(c.Cover)/255, cover[p], slack)
				}
				if c.Share > 0 && most[p][c.Region] < most[p][best(most[p])]-2*slack {
					t.Fatalf("track %d, %d+%d in %d pixels, depth %d, pixel %d: region %d was open %.3f, another %.3f", track, from, length, width, d, p, c.Region, most[p][c.Region], most[p][best(most[p])])
				}
			}
		}
	}
}

func best(m map[uint32]float64) (r uint32) {
	f := -1.0
	for k, v := range m {
		if v > f {
			r, f = k, v
		}
	}
	return r
}

// The profile of any window is that of analysis/profile.
func TestProfile(t *testing.T) {
	r, _ := random(2, 2, 20000)
	x := build(t, r)
	first, last, _ := x.Extent()
	rng := rand.New(rand.NewPCG(6, 6))
	for range 60 {
		from := first - 10 + rng.Int64N(last-first)
		to := from + 1 + rng.Int64N(last-first)
		if rng.IntN(3) == 0 {
			to = from + 1 + rng.Int64N(5000)
		}
		p := profile.New(r.Defs(), profile.Options{Locations: true, Window: &profile.Window{From: from, To: to}})
		if err := format.Recorded(r).Scan(context.Background(), trace.Everything(), func(int) format.Sink { return p }); err != nil {
			t.Fatal(err)
		}
		want := map[uint32][]Sum{}
		for _, l := range p.Result().Locations {
			for _, g := range l.Regions {
				if g.Count > 0 {
					want[l.Location] = append(want[l.Location], Sum{g.Region, g.Count, g.Inclusive, g.Exclusive})
				}
			}
		}
		for k, track := range x.Tracks() {
			got, err := x.Profile(k, from, to)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, want[track.Location]) {
				t.Fatalf("location %d from %d to %d:\nfound    %v\nexpected %v", track.Location, from, to, got, want[track.Location])
			}
		}
	}
}
