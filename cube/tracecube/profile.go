package tracecube

import (
	"errors"
	"fmt"
	"math"

	"github.com/weft-trace/weft/analysis/diff"
	"github.com/weft-trace/weft/cube"
	"github.com/weft-trace/weft/trace"
)

// outermostPath is the name of the call path that weft puts around several outermost regions in a cube.
const outermostPath = "(program)"

// Profile returns the times and visits of the call paths in a cube, for a comparison. Times are in
// nanoseconds. It leaves out the time outside of all regions, and paths that stand for the program as a whole.
// It returns an error if reading fails, if the cube lacks values of the metrics time and visits, or if the unit
// of time is unknown.
func Profile(f *cube.File) (*diff.Profile, error) {
	times, visits := -1, -1
	for i := range f.Metrics {
		switch f.Metrics[i].Name {
		case "time":
			times = i
		case "visits":
			visits = i
		}
	}
	none := errors.New("found no values of the metrics time and visits, expected both")
	if times < 0 || visits < 0 {
		return nil, none
	}
	nanoseconds := nanosecondsIn(f.Metrics[times].Unit)
	if nanoseconds == 0 {
		return nil, fmt.Errorf("found unit %q of the metric time, expected sec, msec, usec or nsec", f.Metrics[times].Unit)
	}
	for _, m := range [...]int{times, visits} {
		if err := f.Load(m); err != nil {
			return nil, err
		}
		if len(f.Metrics[m].Values) == 0 && len(f.Paths) > 0 {
			return nil, none
		}
	}
	p := &diff.Profile{Clock: trace.TicksPerSecond(1_000_000_000)}
	for _, r := range f.Regions {
		p.Regions = append(p.Regions, trace.Region{Name: r.Name, File: r.File, Line: int64(max(0, r.Begin))})
	}
	time := exclusive(f, times)
	count := exclusive(f, visits)
	// index into p.Paths; a path that is left out has the index of the path around it
	place := make([]int, len(f.Paths))
	dropped := make([]bool, len(f.Paths))
	for i, x := range f.Paths {
		around := -1
		if x.Parent >= 0 {
			around = place[x.Parent]
		}
		place[i] = around
		name := f.Regions[x.Region].Name
		dropped[i] = x.Parent >= 0 && dropped[x.Parent] && f.Regions[f.Paths[x.Parent].Region].Name == outsidePath ||
			around < 0 && name == outermostPath ||
			name == outsidePath && (around < 0 || f.Paths[x.Parent].Parent < 0) // outermost, or below the outermost path
		if dropped[i] {
			continue
		}
		y := diff.ProfilePath{Parent: around, Region: x.Region}
		for loc := range f.Locations {
			y.Visits = append(y.Visits, int64(math.Round(count(i, loc))))
			y.Exclusive = append(y.Exclusive, int64(math.Round(time(i, loc)*nanoseconds)))
		}
		place[i] = len(p.Paths)
		p.Paths = append(p.Paths, y)
	}
	return p, nil
}

// nanosecondsIn returns the number of nanoseconds in a unit of time, or 0 for a unit that is unknown. A metric
// without a unit is in seconds.
func nanosecondsIn(unit string) float64 {
	switch unit {
	case "", "sec", "s":
		return 1e9
	case "msec", "ms":
		return 1e6
	case "usec", "us", "µs":
		return 1e3
	case "nsec", "ns":
		return 1
	}
	return 0
}

// exclusive returns a function that returns the value of a metric for a call path at a location, without the
// values of the paths below it.
func exclusive(f *cube.File, metric int) func(path, location int) float64 {
	m := &f.Metrics[metric]
	if m.Kind != cube.Inclusive {
		return m.At
	}
	below := make([][]int, len(f.Paths))
	for i, x := range f.Paths {
		if x.Parent >= 0 {
			below[x.Parent] = append(below[x.Parent], i)
		}
	}
	return func(path, location int) float64 {
		v := m.At(path, location)
		for _, i := range below[path] {
			v -= m.At(i, location)
		}
		return v
	}
}
