package draw

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/weft-trace/weft/timeline/index"
	"github.com/weft-trace/weft/trace"
)

// Profiled is what of an index tells which of its regions matter.
type Profiled interface {
	Extent() (first, last, events int64)
	Tracks() []index.Track
	Regions() []index.Region
	Profile(track int, from, to int64) ([]index.Sum, error)
}

// mostWeighed is how many tracks are looked at to find out which regions matter most.
const mostWeighed = 256

// RegionColors gives each region of an index a colour, which is an index into [Palette].
// The regions that most time is spent in get different ones; those of one name get the
// same. The viewer's page, and pictures of indexes, have these colours.
func RegionColors(ctx context.Context, x Profiled) ([]int, error) {
	regions, tracks := x.Regions(), x.Tracks()
	first, last, _ := x.Extent()
	ticks := map[string]int64{}
	var names []string
	for _, r := range regions {
		if _, ok := ticks[r.Name]; !ok {
			ticks[r.Name] = 0
			names = append(names, r.Name)
		}
	}
	step := max(1, len(tracks)/mostWeighed)
	for t := 0; t < len(tracks); t += step {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if tracks[t].Spans == 0 {
			continue
		}
		sums, err := x.Profile(t, first, behind(last))
		if err != nil {
			return nil, err
		}
		for _, s := range sums {
			if s.Region != trace.NoRef && int(s.Region) < len(regions) {
				name := regions[s.Region].Name
				ticks[name] += min(s.Exclusive, math.MaxInt64-ticks[name])
			}
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(ticks[b], ticks[a]) })
	of := map[string]int{}
	for i, c := range ColorOf(names) {
		of[names[i]] = c
	}
	out := make([]int, len(regions))
	for i, r := range regions {
		out[i] = of[r.Name]
	}
	return out, nil
}

// behind is the end of a window that ends with an event of a time.
func behind(t int64) int64 {
	if t == math.MaxInt64 {
		return t
	}
	return t + 1
}
