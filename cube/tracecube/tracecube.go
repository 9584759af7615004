// Package tracecube makes cubes (package cube) from the results of analyses of a trace: metrics by call path
// and location. The metrics have the unique names that Scalasca's analyser uses, so that the tools for its
// cubes recognise them.
//
// Call paths are the same as in the analysis of wait states: the paths of a thread begin with the path of the
// parallel region in the first thread of its process. All metrics are exclusive: the value of a call path does
// not include the values of the paths below it.
//
// For each call path in which a metric has a value, a Builder needs 8 bytes per location.
package tracecube

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/weft-trace/weft/analysis"
	"github.com/weft-trace/weft/analysis/calltree"
	"github.com/weft-trace/weft/analysis/causes"
	"github.com/weft-trace/weft/analysis/criticalpath"
	"github.com/weft-trace/weft/analysis/waits"
	"github.com/weft-trace/weft/cube"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// Builder collects the metrics of a trace from which Cube makes a cube.
type Builder struct {
	defs    *trace.Definitions
	names   []string          // names of the regions, by the index of a region's row
	regions map[string]uint32 // first row with each name
	paths   []node
	index   map[node]int
	metrics []cube.Metric
	used    []bool // whether a location belongs to the cube; indexed by location
}

// node is a call path: the index of its parent, or −1, and the name of its last region.
type node struct {
	parent int
	name   string
}

// New returns a Builder with the times and visits of the call paths of a trace, for which it scans the events
// once. It returns an error if the scan fails.
func New(ctx context.Context, events format.Events, sel trace.Selection, opt calltree.Options) (*Builder, error) {
	d := events.Defs()
	f := &Builder{defs: d, names: d.RegionNames(opt.Rows), regions: map[string]uint32{}, index: map[node]int{},
		used: make([]bool, d.Locations.Len())}
	for i, name := range f.names {
		if _, ok := f.regions[name]; !ok {
			f.regions[name] = opt.Rows.Of(uint32(i))
		}
	}
	for i, l := range d.Locations.All() {
		f.used[i] = l.Kind.IsProcessor() && l.Kind != trace.PeerLocation && (sel.Location == nil || sel.Location(uint32(i)))
	}
	opt.Root, opt.Continued = func(loc uint32) uint32 { return loc }, true
	// The regions that are open at the begin of the window depend on events before it.
	sum, err := analysis.Run(ctx, events, sel.Surrounding(), func() *calltree.Part { return calltree.New(d, opt) })
	if err != nil {
		return nil, err
	}
	f.addTree(sum.Result())
	return f, nil
}

// Empty reports whether the trace has no call path in the selection.
func (f *Builder) Empty() bool { return len(f.paths) == 0 }

// name returns the name of a region.
func (f *Builder) name(region uint32) string {
	if int64(region) < int64(len(f.names)) {
		return f.names[region]
	}
	return "unknown"
}

// path returns the number of the call path whose parent is parent and whose last region is name. It adds the
// path on first use.
func (f *Builder) path(parent int, name string) int {
	n := node{parent, name}
	i, ok := f.index[n]
	if !ok {
		i = len(f.paths)
		f.index[n] = i
		f.paths = append(f.paths, n)
	}
	return i
}

// outsidePath is the name of the call path for events outside of all regions.
const outsidePath = "(outside of all regions)"

// pathOf returns the number of the call path with the given regions, with the outermost region first. If there
// are no regions, it returns the number of outsidePath. It adds paths on first use.
func (f *Builder) pathOf(names []string) int {
	if len(names) == 0 {
		return f.path(-1, outsidePath)
	}
	p := -1
	for _, name := range names {
		p = f.path(p, name)
	}
	return p
}

// addTree adds times and visits from a list that holds a call tree for each location.
func (f *Builder) addTree(list []calltree.Node) {
	later := f.laterThreads()
	place := make([]int, len(list))
	inside := make([]bool, len(list)) // whether a node lies in a parallel region
	add := func(threads bool, forks map[string]int) {
		for i := range list {
			n := &list[i]
			if int64(n.Root) >= int64(len(later)) && threads || int64(n.Root) < int64(len(later)) && later[n.Root] != threads {
				continue
			}
			parent, name := -1, f.name(n.Region)
			if n.Parent >= 0 {
				parent = place[n.Parent]
				inside[i] = inside[n.Parent] || f.defs.RoleOf(list[n.Parent].Region) == trace.ForkRole
			}
			if p, ok := forks[name]; ok && !inside[i] && f.defs.RoleOf(n.Region) == trace.ForkRole {
				place[i] = p
			} else {
				place[i] = f.path(parent, name)
			}
		}
	}
	add(false, nil)
	add(true, f.firstPaths())
	time, visits := f.metric("time"), f.metric("visits")
	for i := range list {
		n := &list[i]
		f.add(time, place[i], n.Root, f.seconds(n.Exclusive.Float()))
		f.add(visits, place[i], n.Root, float64(n.Count))
	}
}

// laterThreads returns, for each location, whether it is a thread other than the first thread of its process.
func (f *Builder) laterThreads() []bool {
	later, begun := make([]bool, f.defs.Locations.Len()), map[uint32]bool{}
	for i, l := range f.defs.Locations.All() {
		if f.isProcess(l.Group) {
			later[i], begun[l.Group] = begun[l.Group], true
		}
	}
	return later
}

// firstPaths returns, for each region name, the first path in a depth-first walk that ends with a region of
// that name. The walk visits regions in the order of the definitions. A path that ends with an implicit task counts
// only if the task is in a parallel region, or if there is no such path: see [trace.Definitions.IsImplicitTask].
func (f *Builder) firstPaths() map[string]int {
	below := make([][]int, len(f.paths)+1)
	for i, n := range f.paths {
		below[n.parent+1] = append(below[n.parent+1], i)
	}
	first, initial := map[string]int{}, map[string]bool{}
	inside := make([]bool, len(f.paths)) // whether a path lies in a parallel region
	wait := []int{-1}
	for len(wait) > 0 {
		i := wait[len(wait)-1]
		wait = wait[:len(wait)-1]
		if i >= 0 {
			p := f.paths[i]
			if p.parent >= 0 {
				above := f.regions[f.paths[p.parent].name]
				inside[i] = inside[p.parent] || f.defs.RoleOf(above) == trace.ForkRole
			}
			if _, ok := first[p.name]; !ok || initial[p.name] && inside[i] {
				first[p.name], initial[p.name] = i, !inside[i] && f.defs.IsImplicitTask(f.regions[p.name])
			}
		}
		l := below[i+1]
		slices.SortFunc(l, func(a, b int) int { return cmp.Compare(f.regions[f.paths[b].name], f.regions[f.paths[a].name]) })
		wait = append(wait, l...)
	}
	return first
}

func (f *Builder) seconds(ticks float64) float64 {
	return ticks * float64(f.defs.Clock.Den) / float64(f.defs.Clock.Num)
}

// metric returns the index of the metric with a unique name. It adds the metric and its parents on
// first use.
func (f *Builder) metric(name string) int {
	i := slices.IndexFunc(f.metrics, func(m cube.Metric) bool { return m.Name == name })
	if i >= 0 {
		return i
	}
	k := infoOf(name)
	m := cube.Metric{Parent: -1, Kind: cube.Exclusive, Name: name, Title: k.title, Unit: "sec", Type: cube.Double,
		Description: k.text}
	if name == "visits" {
		m.Unit, m.Type = "occ", cube.Uint64
	}
	if k.parent != "" {
		m.Parent = f.metric(k.parent)
	}
	f.metrics = append(f.metrics, m)
	return len(f.metrics) - 1
}

// add adds v to the value of a metric for a call path at a location. It ignores locations that do
// not belong to the cube.
func (f *Builder) add(metric, path int, location uint32, v float64) {
	if v == 0 || int64(location) >= int64(len(f.used)) {
		return
	}
	f.used[location] = true
	f.metrics[metric].Add(path, int(location), v)
}

// AddWaits adds the times of the wait states in r, in seconds. For waits
// outside of all regions, it also adds the times to the metric time.
func (f *Builder) AddWaits(r *waits.Result) {
	for i := range r.Patterns {
		p := &r.Patterns[i]
		for j := range p.PathLocations {
			s := &p.PathLocations[j]
			m, path, t := f.metric(f.waitName(p.Pattern, s.Path)), f.pathOf(s.Path), f.seconds(s.Time.Float())
			f.add(m, path, *s.Location, t)
			if time := f.metric("time"); len(s.Path) == 0 && f.metrics[m].Parent == time {
				f.add(time, path, *s.Location, t)
			}
		}
	}
}

// waitName returns the unique name of the metric for a wait pattern in a call path.
func (f *Builder) waitName(pattern string, path []string) string {
	if pattern == "lock-contention" && len(path) > 0 {
		return f.lockName(path[len(path)-1])
	}
	if name, ok := waitNames[pattern]; ok {
		return name
	}
	return weftPrefix + strings.ReplaceAll(pattern, "-", "_")
}

// lockName returns the unique name of the metric for waits at a lock in a region. Scalasca has a
// metric for each threading model.
func (f *Builder) lockName(region string) string {
	row, ok := f.regions[region]
	if !ok {
		return weftPrefix + "lock_contention"
	}
	r := f.defs.Regions.At(row)
	switch p := f.defs.RegionParadigm(r); {
	case p == trace.OpenMP && strings.Contains(strings.ToLower(r.Role+r.Name), "critical"):
		return "omp_lock_contention_critical"
	case p == trace.OpenMP:
		return "omp_lock_contention_api"
	case p == trace.Pthread && f.defs.RoleOf(row) == trace.ConditionRole:
		return "pthread_lock_contention_conditional"
	case p == trace.Pthread:
		return "pthread_lock_contention_mutex_lock"
	}
	return weftPrefix + "lock_contention"
}

// AddCauses adds the costs of the delays in r, in seconds.
func (f *Builder) AddCauses(r *causes.Result) {
	all := f.metric("delay")
	for i := range r.Patterns {
		p := &r.Patterns[i]
		name, ok := delayNames[p.Pattern]
		if !ok {
			name = weftPrefix + "delay_" + strings.ReplaceAll(p.Pattern, "-", "_")
		}
		short, long := f.metric(name), f.metric(name+longTermSuffix)
		for j := range p.Costs {
			c := &p.Costs[j]
			path := f.pathOf(c.Path)
			f.add(short, path, c.Location, f.seconds(c.ShortTerm))
			f.add(long, path, c.Location, f.seconds(c.LongTerm))
			f.add(all, path, c.Location, f.seconds(c.ShortTerm+c.LongTerm))
		}
	}
	f.addIdle("delay_ompidle", r.IdleThreads)
	f.addIdle("omp_limited_parallelism", r.LimitedParallelism)
}

// addIdle adds idle times of threads, in seconds.
func (f *Builder) addIdle(metric string, list []causes.IdleTime) {
	if len(list) == 0 {
		return
	}
	idle := f.metric(metric)
	for i := range list {
		x := &list[i]
		f.add(idle, f.pathOf(x.Path), x.Location, f.seconds(x.Time.Float()))
	}
}

// AddPath adds the critical path in r.
func (f *Builder) AddPath(r *criticalpath.Result) {
	critical, all := f.metric("critical_path"), f.metric("performance_impact")
	activities, impact := f.metric("critical_path_activities"), f.metric("critical_imbalance_impact")
	rest := f.metric("non_critical_path_activities")
	for i := range r.Paths {
		p := &r.Paths[i]
		path := f.pathOf(p.Path)
		f.add(critical, path, p.Location, f.seconds(float64(p.Critical)))
		f.add(activities, path, p.Location, f.seconds(float64(p.Activities)))
		f.add(impact, path, p.Location, f.seconds(p.Impact))
		f.add(rest, path, p.Location, f.seconds(float64(p.NonCritical)))
		f.add(all, path, p.Location, f.seconds(float64(p.Activities)+p.Impact+float64(p.NonCritical)))
	}
}

// Cube returns a cube with the metrics. If nothing was added, the cube has a single call path without values,
// for events outside of all regions, because readers of cubes expect at least one path. The cube shares the
// values with the Builder, so nothing may be added to the Builder afterwards.
func (f *Builder) Cube() *cube.Cube {
	if f.Empty() {
		f.path(-1, outsidePath)
	}
	c := &cube.Cube{Attributes: []cube.Attribute{{Key: "Creator", Value: "weft"}}, Metrics: f.metrics}
	f.addProgram(c)
	f.addSystem(c)
	return c
}

// addProgram adds the regions and call paths to c. Readers of cubes expect one outermost path; if
// there are several, an artificial path is put around them. The path for events outside of all
// regions becomes a child of the outermost path.
func (f *Builder) addProgram(c *cube.Cube) {
	roots, first, outside := 0, -1, -1
	for i, n := range f.paths {
		switch {
		case n.parent >= 0:
		case first < 0:
			roots, first = 1, i
		case n.name == outsidePath:
			outside = i
		default:
			roots++
		}
	}
	if outside >= 0 && roots == 1 {
		f.paths[outside].parent = first
	}
	regions := map[string]int{}
	region := func(name string) int {
		i, ok := regions[name]
		if !ok {
			i = len(c.Regions)
			regions[name] = i
			c.Regions = append(c.Regions, f.region(name))
		}
		return i
	}
	shift := 0
	if roots > 1 {
		shift = 1
		c.Regions = append(c.Regions, artificial(outermostPath))
		c.Paths = append(c.Paths, cube.Path{Parent: -1, Region: 0})
		for i := range c.Metrics {
			c.Metrics[i].Values = append([][]float64{nil}, c.Metrics[i].Values...)
		}
	}
	for _, n := range f.paths {
		parent := n.parent + shift
		if n.parent < 0 {
			parent = shift - 1
		}
		c.Paths = append(c.Paths, cube.Path{Parent: parent, Region: region(n.name)})
	}
}

func artificial(name string) cube.Region {
	return cube.Region{Name: name, Mangled: name, Paradigm: "none", Role: "artificial", Begin: -1, End: -1}
}

// region returns the description of the region with a name.
func (f *Builder) region(name string) cube.Region {
	row, ok := f.regions[name]
	if !ok {
		return artificial(name)
	}
	line := func(n int64) int {
		if n <= 0 || n > math.MaxInt32 {
			return -1
		}
		return int(n)
	}
	r := f.defs.Regions.At(row)
	x := cube.Region{Name: name, Mangled: r.Name, Paradigm: string(f.defs.RegionParadigm(r)),
		Role: strings.ToLower(r.Role), File: r.File, Begin: line(r.Line), End: line(r.End)}
	x.Paradigm = cmp.Or(x.Paradigm, strings.ToLower(r.Group), "unknown")
	x.Role = cmp.Or(x.Role, f.defs.RoleOf(row).String())
	return x
}

// isProcess reports whether a group of locations is a process, or a device that contains its
// streams.
func (f *Builder) isProcess(group uint32) bool {
	if !f.defs.Groups.Has(group) {
		return false
	}
	kind := f.defs.Groups.At(group).Kind
	return kind == "process" || kind == accelerator
}

const (
	accelerator = "accelerator"
	machine     = "machine"
)

// addSystem adds the machines, nodes, processes and threads to c. A location without a process gets
// a process of its own.
func (f *Builder) addSystem(c *cube.Cube) {
	d := f.defs
	nodes := map[uint32]int{trace.NoRef: -1}
	// node returns the index of the cube's node for a group. It adds the node on first use. It returns −1 if
	// the group is undefined.
	node := func(group uint32) int {
		var chain []uint32
		above := -1
		for g := group; d.Groups.Has(g) && len(chain) <= d.Groups.Len(); g = d.Groups.At(g).Parent {
			if n, ok := nodes[g]; ok {
				above = n
				break
			}
			if !f.isProcess(g) {
				chain = append(chain, g)
			}
		}
		for _, g := range slices.Backward(chain) {
			x := d.Groups.At(g)
			c.Nodes = append(c.Nodes, cube.Node{Parent: above, Name: cmp.Or(x.Name, x.ID), Class: cmp.Or(x.Kind, "node")})
			above = len(c.Nodes) - 1
			nodes[g] = above
		}
		return above
	}
	processes, columns, members := map[uint32]int{}, make([]int, len(f.used)), map[int]int{}
	for i, used := range f.used {
		columns[i] = -1
		if !used {
			continue
		}
		l := d.Locations.At(uint32(i))
		g, ok := processes[l.Group]
		if !ok || !f.isProcess(l.Group) {
			x := cube.Group{Node: node(l.Group), Name: l.Label(), Rank: len(c.Groups), Type: "process"}
			if f.isProcess(l.Group) {
				p := d.Groups.At(l.Group)
				x.Name = cmp.Or(p.Name, p.ID)
				if p.Kind == accelerator {
					x.Type = accelerator
				}
			}
			g = len(c.Groups)
			processes[l.Group] = g
			c.Groups = append(c.Groups, x)
		}
		kind := "thread"
		if l.Kind == trace.StreamLocation {
			kind = "accelerator stream"
		}
		columns[i] = len(c.Locations)
		c.Locations = append(c.Locations, cube.Location{Group: g, Name: l.Label(), Rank: members[g], Type: kind})
		members[g]++
	}
	oneMachine(c)
	for i := range c.Metrics {
		for p, row := range c.Metrics[i].Values {
			values := make([]float64, len(c.Locations))
			for l, v := range row {
				if columns[l] >= 0 {
					values[columns[l]] = v
				}
			}
			if row != nil {
				c.Metrics[i].Values[p] = values
			}
		}
	}
}

// oneMachine adds a machine around the nodes of a cube unless they already have a single root, because readers
// expect a single machine.
func oneMachine(c *cube.Cube) {
	roots, loose := 0, false
	for _, n := range c.Nodes {
		if n.Parent < 0 {
			roots++
		}
	}
	for _, g := range c.Groups {
		loose = loose || g.Node < 0
	}
	if roots == 1 && !loose {
		return
	}
	for i := range c.Nodes {
		n := &c.Nodes[i]
		if n.Parent++; n.Class == machine {
			n.Class = "node"
		}
	}
	for i := range c.Groups {
		c.Groups[i].Node++
	}
	c.Nodes = append([]cube.Node{{Parent: -1, Name: machine, Class: machine}}, c.Nodes...)
	if !loose {
		return
	}
	c.Nodes = append(c.Nodes, cube.Node{Parent: 0, Name: "node", Class: "node"})
	for i := range c.Groups {
		if c.Groups[i].Node == 0 {
			c.Groups[i].Node = len(c.Nodes) - 1
		}
	}
}
