package diff

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// name holds the properties of a region by which regions of both sides are matched.
type name struct {
	name, file string
	line       int64
}

// names assigns a number, the key, to each name of both sides.
type names struct {
	index map[name]int32
	list  []name
}

// keyOf returns the key of a name, which it adds if needed.
func (n *names) keyOf(x name) int32 {
	k, ok := n.index[x]
	if !ok {
		k = int32(len(n.list))
		n.index[x] = k
		n.list = append(n.list, x)
	}
	return k
}

// claimsSuffix ends the name of a region that stands for its claims.
const claimsSuffix = " (claims)"

// nameOf returns the name of a region of a trace. For the claims of a region, which have the bit claim in
// region, it returns a name with a suffix.
func nameOf(d *trace.Definitions, region uint32) name {
	suffix := ""
	if region != trace.NoRef && region&claim != 0 {
		suffix, region = claimsSuffix, region&^claim
	}
	if !d.Regions.Has(region) {
		return name{name: "unknown" + suffix}
	}
	x := d.Regions.At(region)
	return name{cmp.Or(x.Name, x.ID) + suffix, x.File, x.Line}
}

// regionName returns the name of the region. It removes the suffix of a name that stands for claims.
func (n name) regionName() string { return strings.TrimSuffix(n.name, claimsSuffix) }

// side has the call paths of all runs of a side. Times are sums over the runs until finish, and
// then means, in ticks of the clock of the comparison.
type side struct {
	names    *names
	nodes    []path
	index    map[edge]int32 // the region of an edge is a key here
	runs     int
	runtimes []float64
	longest  []float64 // for each run, the time in regions of the location with the most
	// samples is the number of observations: the number of iterations in all runs or, for each run, the number
	// of locations that have regions.
	samples int

	// finish sets these fields:
	inside  [][]int32 // indexed by path: the paths directly inside of the path, in the order of their first visits
	outside []int32   // the outermost paths
	// regions holds the times of each region, by key.
	regions map[int32]*times
	several map[string]int // indexed by name: number of keys with the name
}

// times holds the visits and times of a path or region, the times in ticks.
type times struct {
	visits, exclusive, inclusive float64
	samples                      []sample // observations of the metric, in the order of their units
}

// path is a call path of a side. parent is an index into side.nodes, and key belongs to the last
// region.
type path struct {
	times
	parent, key int32
	depth       int32   // number of call paths that contain this one
	top         int32   // index of the outermost call path that contains this one, or of this one if depth is 0
	first       float64 // least time from the begin of a run to its first visit, in ticks
	// visitors is the number of locations that visit the path: the sum over the runs until finish, and then
	// the mean.
	visitors float64
	// outer is the inclusive time of visits that are not inside another visit of the region.
	outer        float64
	outerSamples []sample // observations of outer, for a recursive path if the metric is inclusive
}

// sample is an observation: a time in ticks. unit is the number of the run, iteration or location to which the
// time belongs.
type sample struct {
	unit int32
	time float64
}

// addSamples returns the sum of two lists of samples, both ordered by unit. It may change list.
func addSamples(list, more []sample) []sample {
	switch {
	case len(more) == 0:
		return list
	case len(list) == 0 || list[len(list)-1].unit < more[0].unit:
		return append(list, more...)
	case len(more) == 1:
		i, found := slices.BinarySearchFunc(list, more[0].unit, func(s sample, u int32) int { return cmp.Compare(s.unit, u) })
		if !found {
			return slices.Insert(list, i, more[0])
		}
		list[i].time += more[0].time
		return list
	}
	out := make([]sample, 0, len(list)+len(more))
	for len(list) > 0 && len(more) > 0 {
		switch c := cmp.Compare(list[0].unit, more[0].unit); {
		case c < 0:
			out, list = append(out, list[0]), list[1:]
		case c > 0:
			out, more = append(out, more[0]), more[1:]
		default:
			out = append(out, sample{list[0].unit, list[0].time + more[0].time})
			list, more = list[1:], more[1:]
		}
	}
	return append(append(out, list...), more...)
}

// add adds a run to a side.
func (s *side) add(c *Comparison, p *Part) {
	if s.index == nil {
		s.names, s.index = &c.names, map[edge]int32{}
	}
	scale := 1.0
	if p.defs.Clock != c.clock {
		scale = c.clock.PerSecond() / p.defs.Clock.PerSecond()
	}
	begin, end := int64(math.MaxInt64), int64(math.MinInt64)
	for _, t := range p.trees {
		if t != nil {
			begin, end = min(begin, t.first), max(end, t.last)
		}
	}
	if begin > end {
		begin, end = 0, 0
	}
	s.runtimes = append(s.runtimes, float64(end-begin)*scale)
	keys := map[uint32]int32{} // indexed by region of the run
	key := func(region uint32) int32 {
		k, ok := keys[region]
		if !ok {
			k = c.names.keyOf(nameOf(p.defs, region))
			keys[region] = k
		}
		return k
	}
	locations, iterations, longest := 0, 0, int64(0)
	for i, t := range p.trees {
		if t == nil {
			continue
		}
		t.finish()
		longest = max(longest, t.inRegions())
		if len(t.nodes) == 0 {
			continue
		}
		unit := int32(s.runs)
		if c.unit == Locations {
			unit = int32(locations)
		}
		s.addTree(c, t, key, unit, begin, scale)
		locations, iterations = locations+1, max(iterations, int(t.iteration+1))
		p.trees[i] = nil // free its memory
	}
	s.longest = append(s.longest, float64(longest)*scale)
	switch {
	case c.unit == Runs:
		s.samples++
	case c.unit == Iterations:
		s.samples += iterations
	case s.runs == 0:
		s.samples = locations
	default:
		s.samples = min(s.samples, locations)
	}
	s.runs++
}

// addTree adds the paths of a location. Function key returns the key of a region, begin is the begin of the
// run, and scale is the factor that converts ticks of the run to ticks of the comparison.
func (s *side) addTree(c *Comparison, t *tree, key func(uint32) int32, unit int32, begin int64, scale float64) {
	place := make([]int32, len(t.nodes))
	for i := range t.nodes {
		n := &t.nodes[i]
		parent := int32(-1)
		if n.parent >= 0 {
			parent = place[n.parent] // a parent has a lower index than its children
		}
		e := edge{parent, uint32(key(n.region))}
		at, ok := s.index[e]
		if !ok {
			at = int32(len(s.nodes))
			s.index[e] = at
			x := path{parent: parent, key: int32(e.region), top: at, first: math.Inf(1)}
			if parent >= 0 {
				x.depth, x.top = s.nodes[parent].depth+1, s.nodes[parent].top
			}
			s.nodes = append(s.nodes, x)
		}
		place[i] = at
		x := &s.nodes[at]
		x.visits += float64(n.count)
		if n.count > 0 {
			x.visitors++
		}
		x.exclusive += float64(n.exclusive) * scale
		x.inclusive += float64(n.inclusive) * scale
		x.outer += float64(n.outer) * scale
		x.first = min(x.first, float64(n.first-begin)*scale)
		s.addSamples(c, x, n, unit, scale)
	}
}

// addSamples adds the observations of a path at a location. Parameter unit is the number of the
// location or run.
func (s *side) addSamples(c *Comparison, x *path, n *node, unit int32, scale float64) {
	outer := c.opt.Metric == Inclusive && n.flags&recursive != 0
	if c.unit != Iterations {
		t := n.exclusive
		if c.opt.Metric == Inclusive {
			t = n.inclusive
		}
		x.samples = addSamples(x.samples, []sample{{unit, float64(t) * scale}})
		if outer {
			x.outerSamples = addSamples(x.outerSamples, []sample{{unit, float64(n.outer) * scale}})
		}
		return
	}
	list := make([]sample, len(n.iterations))
	each := func(value func(*iteration) int64) []sample {
		for i := range n.iterations {
			list[i] = sample{int32(s.samples) + n.iterations[i].number, float64(value(&n.iterations[i])) * scale}
		}
		return list
	}
	if c.opt.Metric == Exclusive {
		x.samples = addSamples(x.samples, each(func(i *iteration) int64 { return i.exclusive }))
		return
	}
	x.samples = addSamples(x.samples, each(func(i *iteration) int64 { return i.inclusive }))
	if outer {
		x.outerSamples = addSamples(x.outerSamples, each(func(i *iteration) int64 { return i.outer }))
	}
}

// finish computes the means over the runs, the times of regions, and the order of paths.
func (s *side) finish(c *Comparison) {
	s.inside, s.outside = make([][]int32, len(s.nodes)), nil
	s.regions, s.several = map[int32]*times{}, map[string]int{}
	runs := float64(max(1, s.runs))
	for i := range s.nodes {
		x := &s.nodes[i]
		if x.parent < 0 {
			s.outside = append(s.outside, int32(i))
		} else {
			s.inside[x.parent] = append(s.inside[x.parent], int32(i))
		}
		if s.regions[x.key] == nil {
			s.regions[x.key] = &times{}
			s.several[c.names.list[x.key].name]++
		}
		r := s.regions[x.key]
		r.visits += x.visits / runs
		r.exclusive += x.exclusive / runs
		r.inclusive += x.outer / runs
		list := x.samples
		if x.outerSamples != nil {
			list = x.outerSamples
		}
		r.samples = addSamples(r.samples, list)
		if c.unit == Locations && s.runs > 1 {
			for j := range x.samples {
				x.samples[j].time /= runs
			}
		}
		x.visits, x.exclusive, x.inclusive = x.visits/runs, x.exclusive/runs, x.inclusive/runs
		x.visitors /= runs
	}
	if c.unit == Locations && s.runs > 1 {
		for _, r := range s.regions {
			for j := range r.samples {
				r.samples[j].time /= runs
			}
		}
	}
	order := func(list []int32) {
		slices.SortFunc(list, func(a, b int32) int {
			return cmp.Or(cmp.Compare(s.nodes[a].first, s.nodes[b].first), cmp.Compare(a, b))
		})
	}
	order(s.outside)
	for _, list := range s.inside {
		order(list)
	}
}

// children returns the paths directly inside of path i, or the outermost paths if i is -1.
func (s *side) children(i int32) []int32 {
	if i < 0 {
		return s.outside
	}
	return s.inside[i]
}

// displayName returns the name of a region for output. It adds the file and line if other regions of the side
// have the same name.
func (s *side) displayName(k int32) string {
	x := s.names.list[k]
	if s.several[x.name] < 2 {
		return x.name
	}
	return x.name + " (" + trace.Region{File: x.file, Line: x.line}.Place() + ")"
}

// maxPathNames is the greatest number of names in a listed path.
const maxPathNames = 200

// path returns the names of a path from the outermost region on. In a longer path than maxPathNames,
// one element stands for the regions in the middle.
func (s *side) path(i int32) []string {
	n := int(s.nodes[i].depth) + 1
	list := make([]string, min(n, maxPathNames))
	last := 0
	if n > maxPathNames {
		list[0] = s.displayName(s.nodes[s.nodes[i].top].key)
		list[1] = fmt.Sprintf("[%s]", plural.Of(n-maxPathNames+1, "call"))
		last = 2
	}
	for at := len(list) - 1; at >= last; at-- {
		list[at] = s.displayName(s.nodes[i].key)
		i = s.nodes[i].parent
	}
	return list
}
