package index

import (
	"context"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/weft-trace/weft/analysis/profile"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/effort"
	"github.com/weft-trace/weft/trace"
)

// randomVisits records random nested visits at some locations. It also returns the spans that an
// index must have for each location.
func randomVisits(seed uint64, locations, visits int) (*trace.Recorder, [][]Span) {
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
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
				spans[l] = append(spans[l], Span{f.start, now, f.region, uint8(n - 1), wholeBand})
			} else {
				g := regions[rng.IntN(len(regions))]
				r.Enter(loc, now, g)
				stack = append(stack, frame{now, g})
			}
		}
		for n := len(stack); n > 0; n-- {
			spans[l] = append(spans[l], Span{stack[n-1].start, now, stack[n-1].region, uint8(n - 1), wholeBand})
		}
	}
	return r, spans
}

func buildIndex(t testing.TB, r *trace.Recorder) *Index {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.weftindex")
	if err := Build(context.Background(), format.Recorded(r), path, Options{Workers: 2}); err != nil {
		t.Fatal(err)
	}
	x, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

// TestTiles compares tiles with columns that a slow function fills from the spans. Strips that are drawn from
// spans must be equal. Strips that are drawn from levels may differ by the rounding of shares.
func TestTiles(t *testing.T) {
	effort.Sequential(t)
	r, spans := randomVisits(1, 3, 60000)
	x := buildIndex(t, r)
	rng := rand.New(rand.NewPCG(5, 5))
	first, last, _ := x.Extent()
	singles := 0
	for range effort.Rounds(150) {
		track := rng.IntN(3)
		length := int64(math.Exp(rng.Float64()*math.Log(float64(last-first)))) + 10
		from := first - 100 + rng.Int64N(last-first+200)
		width := 1 + rng.IntN(300)
		tile, err := x.Tile(t.Context(), TileRequest{Tracks: []int{track}, From: from, To: from + length, Width: width,
			Depths: 20})
		if err != nil {
			t.Fatal(err)
		}
		pixel := float64(length) / float64(width)
		for _, strip := range tile.Strips {
			d := strip.Depth
			cover, most, starts := filledColumns(spans[track], d, from, length, width)
			slack, exact := 1.2/255, true
			if levels := x.dir.Tracks[track].levels; d < len(levels) {
				if level := spanLevel(levels[d], pixel, usualBucketWidth); level >= 0 {
					slack, exact = 2.5*float64(levels[d][level].width)/pixel+0.02, false
				}
			}
			next := 0
			for k := strip.First; k < strip.First+strip.Count; k++ {
				if int(tile.X[k]) < next || tile.N[k] == 0 || int(tile.X[k])+int(tile.N[k]) > width {
					t.Fatalf("run at %d+%d, expected it from %d to %d", tile.X[k], tile.N[k], next, width)
				}
				next = int(tile.X[k]) + int(tile.N[k])
				if tile.Flags[k]&Single != 0 {
					singles++
					if !exact {
						t.Fatalf("found a single span made of a level")
					}
					// The edges of the run are edges of spans, up to half a column.
					if tile.Flags[k]&Begins != 0 && !slices.ContainsFunc(slices.Collect(maps.Keys(starts)), func(s int64) bool {
						return starts[s] == tile.Region[k] && math.Abs(float64(s-from)/pixel-float64(tile.X[k])) <= 0.5+1e-9
					}) && tile.X[k] > 0 && int(tile.X[k]) != int(tile.X[max(k, 1)-1])+int(tile.N[max(k, 1)-1]) {
						t.Fatalf("run of region %d begins at column %d, where no span does", tile.Region[k], tile.X[k])
					}
					for p := int(tile.X[k]); p < next; p++ {
						if most[p][tile.Region[k]] < 0.5-1e-9 {
							t.Fatalf("track %d, %d+%d in %d columns, depth %d, column %d: a single span of region %d, which was open "+
								"%.3f there", track, from, length, width, d, p, tile.Region[k], most[p][tile.Region[k]])
						}
					}
					continue
				}
				for p := int(tile.X[k]); p < next; p++ {
					if got := float64(tile.Cover[k]) / 255; math.Abs(got-cover[p]) > slack && cover[p] > 0 {
						t.Fatalf("track %d, %d+%d in %d columns, depth %d, column %d: found a cover of %.3f, expected %.3f ± %.3f",
							track, from, length, width, d, p, got, cover[p], slack)
					}
					if most[p][tile.Region[k]] < most[p][mostShare(most[p])]-2*slack {
						t.Fatalf("track %d, %d+%d in %d columns, depth %d, column %d: region %d was open %.3f, another %.3f", track,
							from, length, width, d, p, tile.Region[k], most[p][tile.Region[k]], most[p][mostShare(most[p])])
					}
				}
			}
			checkWide(t, tile, strip, spans[track], from, length)
		}
	}
	if singles < 50 {
		t.Errorf("found %d single spans in all tiles", singles)
	}
}

// filledColumns fills columns from the spans of a depth. It returns the share of each column that is covered,
// and the regions that cover the column with their times. It also returns the regions by the times at which
// their spans start.
func filledColumns(spans []Span, d int, from, length int64, width int) (cover []float64, most []map[uint32]float64,
	starts map[int64]uint32) {
	pixel := float64(length) / float64(width)
	cover = make([]float64, width)
	most = make([]map[uint32]float64, width)
	for i := range most {
		most[i] = map[uint32]float64{}
	}
	starts = map[int64]uint32{}
	for _, s := range spans {
		if int(s.Depth) != d || s.End < from || s.Start > from+length {
			continue
		}
		if s.Start < s.End {
			starts[s.Start] = s.Region
		}
		a := max(0, float64(s.Start-from)/pixel)
		b := min(float64(width), float64(s.End-from)/pixel)
		for p := int(a); p < width && float64(p) < b; p++ {
			in := min(b, float64(p+1)) - max(a, float64(p))
			cover[p] += in
			most[p][s.Region] += in
		}
	}
	return cover, most, starts
}

// checkWide checks that no span that is wider than two columns is missing.
func checkWide(t *testing.T, tile *Tile, strip Strip, spans []Span, from, length int64) {
	t.Helper()
	width := tile.Width
	pixel := float64(length) / float64(width)
	for _, s := range spans {
		a, b := float64(s.Start-from)/pixel, float64(s.End-from)/pixel
		if int(s.Depth) != strip.Depth || b-a < 3 || b < 2 || a > float64(width)-2 {
			continue
		}
		p := int(max(a, 0)+min(b, float64(width))) / 2
		shown := false
		for k := strip.First; k < strip.First+strip.Count; k++ {
			shown = shown || int(tile.X[k]) <= p && p < int(tile.X[k])+int(tile.N[k])
		}
		if !shown {
			t.Fatalf("track %d, %d+%d in %d columns: the span %v is not drawn at column %d", strip.Track, from, length,
				width, s, p)
		}
	}
}

func mostShare(m map[uint32]float64) (r uint32) {
	f := -1.0
	for k, v := range m {
		if v > f {
			r, f = k, v
		}
	}
	return r
}

// TestProfile compares the profiles of windows with the results of package analysis/profile.
func TestProfile(t *testing.T) {
	effort.Sequential(t)
	r, _ := randomVisits(2, 2, 20000)
	x := buildIndex(t, r)
	first, last, _ := x.Extent()
	rng := rand.New(rand.NewPCG(6, 6))
	for range effort.Rounds(60) {
		from := first - 10 + rng.Int64N(last-first)
		to := from + 1 + rng.Int64N(last-first)
		if rng.IntN(3) == 0 {
			to = from + 1 + rng.Int64N(5000)
		}
		p := profile.New(r.Defs(), profile.Options{Locations: true, Window: &trace.Window{From: from, To: to}})
		if err := format.Recorded(r).Scan(context.Background(), trace.Everything(), format.PerLocation, p); err != nil {
			t.Fatal(err)
		}
		want := map[uint32][]Sum{}
		for _, l := range p.Result().Locations {
			for _, g := range l.Regions {
				if g.Count > 0 {
					want[l.Location] = append(want[l.Location], Sum{g.Region, g.Count, g.Inclusive, g.Exclusive, g.Sum, g.Min, g.Max})
				}
			}
		}
		for k, track := range x.Tracks() {
			got, err := x.Profile(k, from, to)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, want[track.Location]) {
				t.Fatalf("location %d from %d to %d:\nfound    %v\nexpected %v", track.Location, from, to, got,
					want[track.Location])
			}
		}
	}
}
