package draw

import (
	"context"
	"slices"

	"github.com/weft-trace/weft/timeline/index"
	"github.com/weft-trace/weft/trace"
)

// maxWeighed is the number of tracks whose profiles determine which regions are the most important. The number
// is small so that a trace with an index is shown without delay.
const maxWeighed = 16

// RegionColors assigns a colour to each region of an index, as an index into [Palette]. The regions
// with the most exclusive time get different colours, and regions with the same name get the same colour. [ColorOf]
// states how the colour follows from the name. The viewer's page and pictures of indexes use these colours. profiles
// must return, for each given track, the sums over the whole time of the trace.
func RegionColors(regions []index.Region, tracks []index.Track,
	profiles func(tracks []int) ([][]index.Sum, error)) ([]int, error) {
	ticks := map[string]trace.Ticks{}
	var names []string
	for _, r := range regions {
		if _, ok := ticks[r.Name]; !ok {
			ticks[r.Name] = trace.Ticks{}
			names = append(names, r.Name)
		}
	}
	var busy, some []int
	for i, t := range tracks {
		if t.Spans > 0 {
			busy = append(busy, i)
		}
	}
	for i := 0; i < len(busy); i += max(1, (len(busy)+maxWeighed-1)/maxWeighed) {
		some = append(some, busy[i])
	}
	all, err := profiles(some)
	if err != nil {
		return nil, err
	}
	for _, sums := range all {
		for _, s := range sums {
			if s.Region != trace.NoRef && int(s.Region) < len(regions) {
				name := regions[s.Region].Name
				ticks[name] = ticks[name].Plus(s.Exclusive)
			}
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return ticks[b].Cmp(ticks[a]) })
	colors := map[string]int{}
	for i, c := range ColorOf(names) {
		colors[names[i]] = c
	}
	out := make([]int, len(regions))
	for i, r := range regions {
		out[i] = colors[r.Name]
	}
	return out, nil
}

// Colors assigns to each region of index x the colour that the region with the same name has in the index whole.
// The index whole may hold other events of the same trace. A name that whole does not contain gets a colour that
// other names may also have.
func Colors(ctx context.Context, x, whole *index.Index) ([]int, error) {
	regions := whole.Regions()
	list, err := RegionColors(regions, whole.Tracks(), func(tracks []int) ([][]index.Sum, error) {
		first, last, _ := whole.Extent()
		return whole.Profiles(ctx, tracks, first, windowEnd(last))
	})
	if err != nil || x == whole {
		return list, err
	}
	names := map[string]int{}
	for i, r := range regions {
		names[r.Name] = list[i]
	}
	out := make([]int, len(x.Regions()))
	for i, r := range x.Regions() {
		c, ok := names[r.Name]
		if !ok {
			c = ColorOf([]string{r.Name})[0]
		}
		out[i] = c
	}
	return out, nil
}
