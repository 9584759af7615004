package explain

import (
	"cmp"
	"fmt"
	"slices"
)

// Baseline compares a run with an earlier one. Times are in ticks of the later run's clock.
type Baseline struct {
	Path    string `json:"path"`    // path of the earlier run, set by the caller
	Runtime int64  `json:"runtime"` // runtime of the earlier run
	// Change is the runtime of the later run divided by the runtime of the earlier run, minus 1.
	Change   float64 `json:"change"`
	Parallel float64 `json:"parallel"` // parallel efficiency of the earlier run
	// Regions holds at most five of the regions that both pages list. The regions with the largest changes
	// come first.
	Regions []RegionChange `json:"regions"`

	laterEfficiency float64 // parallel efficiency of the later run
}

// RegionChange compares a region's time, summed over all locations, in the earlier and in the later run,
// in ticks.
type RegionChange struct {
	Region  string `json:"region"`
	Earlier int64  `json:"then"`
	Later   int64  `json:"now"`
	// Change is the change of the region's mean time per thread, divided by the earlier runtime.
	Change float64 `json:"change"`
}

// Compare compares the page of a run with the page of an earlier run. The caller sets the Path of the result.
func Compare(then, now *Page) *Baseline {
	scale := float64(now.Clock.Num) / float64(now.Clock.Den) * float64(then.Clock.Den) / float64(then.Clock.Num)
	b := &Baseline{Runtime: int64(float64(then.Ran.Runtime) * scale), Parallel: then.Efficiency.Factors.Parallel,
		Regions: []RegionChange{}, laterEfficiency: now.Efficiency.Factors.Parallel}
	b.Change = float64(now.Ran.Runtime)/float64(max(1, b.Runtime)) - 1
	times := map[string]*RegionChange{}
	at := func(name string) *RegionChange {
		if times[name] == nil {
			times[name] = &RegionChange{Region: name}
		}
		return times[name]
	}
	for _, r := range then.Ran.Regions {
		at(r.Region).Earlier = int64(r.Time.Float() * scale)
	}
	for _, r := range now.Ran.Regions {
		at(r.Region).Later = r.Time.Int64()
	}
	for _, r := range times {
		r.Change = (float64(r.Later)/float64(max(1, now.Ran.Threads)) -
			float64(r.Earlier)/float64(max(1, then.Ran.Threads))) /
			float64(max(1, b.Runtime))
		if r.Later > 0 && r.Earlier > 0 {
			b.Regions = append(b.Regions, *r)
		}
	}
	slices.SortFunc(b.Regions, func(x, y RegionChange) int {
		return cmp.Or(cmp.Compare(max(y.Change, -y.Change), max(x.Change, -x.Change)), cmp.Compare(x.Region, y.Region))
	})
	b.Regions = b.Regions[:min(5, len(b.Regions))]
	return b
}

// Sentence returns a sentence that compares runtime and parallel efficiency.
func (b *Baseline) Sentence() string {
	word := "longer"
	if b.Change < 0 {
		word = "shorter"
	}
	return fmt.Sprintf("Against %s the run is %.1f %% %s; parallel efficiency is %.2f, was %.2f.", b.Path,
		100*max(b.Change, -b.Change), word, b.laterEfficiency, b.Parallel)
}
