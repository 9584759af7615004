package explain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/weft-trace/weft/trace"
)

// Baseline compares a run with an earlier one. Times are in ticks of the later run's clock.
type Baseline struct {
	Path    string `json:"path"`    // path of the earlier run, set by the caller
	Runtime int64  `json:"runtime"` // runtime of the earlier run
	// Change is the runtime of the later run divided by the runtime of the earlier run, minus 1.
	Change   float64 `json:"change"`
	Parallel float64 `json:"parallel"` // parallel efficiency of the earlier run
	// Waits compares the times of all waits.
	Waits TimeChange `json:"waits"`
	// Regions holds at most five regions that change, those with the largest changes first. Their times are those
	// without waits.
	Regions []RegionChange `json:"regions"`

	laterEfficiency float64 // parallel efficiency of the later run
}

// TimeChange compares a time, summed over all threads and streams, in the earlier and in the later run, in ticks.
type TimeChange struct {
	Earlier int64 `json:"then"`
	Later   int64 `json:"now"`
	// Change is the change of the mean time per thread or stream, divided by the earlier runtime.
	Change float64 `json:"change"`
}

// RegionChange compares the time in a region.
type RegionChange struct {
	Region string `json:"region"`
	TimeChange
}

// Compare compares the page of a run with the page of an earlier run. The caller sets the Path of the result.
func Compare(then, now *Page) *Baseline {
	scale := float64(now.Clock.Num) / float64(now.Clock.Den) * float64(then.Clock.Den) / float64(then.Clock.Num)
	b := &Baseline{Runtime: int64(float64(then.Ran.Runtime) * scale), Parallel: then.Efficiency.Factors.Parallel,
		Regions: []RegionChange{}, laterEfficiency: now.Efficiency.Factors.Parallel}
	b.Change = float64(now.Ran.Runtime)/float64(max(1, b.Runtime)) - 1
	compare := func(earlier, later trace.Ticks) TimeChange {
		before, after := earlier.Float()*scale, later.Float()
		change := after/float64(max(1, now.Ran.Threads+now.Ran.Streams)) -
			before/float64(max(1, then.Ran.Threads+then.Ran.Streams))
		return TimeChange{int64(before), later.Int64(), change / float64(max(1, b.Runtime))}
	}
	b.Waits = compare(then.Ran.Waiting, now.Ran.Waiting)
	earlier, later := regionTimes(then), regionTimes(now)
	names := maps.Clone(earlier)
	maps.Copy(names, later)
	for name := range names {
		if change := compare(earlier[name], later[name]); change.Change != 0 {
			b.Regions = append(b.Regions, RegionChange{name, change})
		}
	}
	slices.SortFunc(b.Regions, func(x, y RegionChange) int {
		return cmp.Or(cmp.Compare(max(y.Change, -y.Change), max(x.Change, -x.Change)), cmp.Compare(x.Region, y.Region))
	})
	b.Regions = b.Regions[:min(5, len(b.Regions))]
	return b
}

// regionTimes returns the time without waits of each region of a page by its name.
func regionTimes(p *Page) map[string]trace.Ticks {
	times := map[string]trace.Ticks{}
	for _, r := range p.regions {
		times[r.Region] = times[r.Region].Plus(r.Time)
	}
	return times
}

// Sentence returns a sentence that compares runtime and parallel efficiency.
func (b *Baseline) Sentence() string {
	change := fmt.Sprintf("%.1f %%", 100*max(b.Change, -b.Change))
	switch {
	case change == "0.0 %":
		change = "as long"
	case b.Change < 0:
		change += " shorter"
	default:
		change += " longer"
	}
	return fmt.Sprintf("Against %s the run is %s; parallel efficiency is %.2f, was %.2f.", b.Path, change,
		b.laterEfficiency, b.Parallel)
}
