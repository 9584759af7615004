package diff

import (
	"errors"
	"slices"

	"github.com/weft-trace/weft/trace"
)

// Profile holds a run of which only the sums by call path and location are known, such as a Cube file.
type Profile struct {
	Clock   trace.Clock    // clock of the times
	Regions []trace.Region // only their names, files and lines are used
	Paths   []ProfilePath  // each after the path around it
}

// ProfilePath holds the sums of a call path. Its lists have an element for each location, in the same
// order for all paths; missing elements are 0.
type ProfilePath struct {
	Parent    int // index into Profile.Paths of the path around this path, or -1
	Region    int // index into Profile.Regions
	Visits    []int64
	Exclusive []int64 // in ticks
}

// AddProfile adds a run to a side. The runtimes of all runs are then those that Result.Runtime describes. AddProfile
// returns an error if iterations are compared, because a profile has no iterations. It also returns
// an error if a path has no region, or comes before its parent.
func (c *Comparison) AddProfile(s Side, p *Profile) error {
	if c.opt.Loop != "" {
		return errors.New("found a profile, expected a trace; a profile has no iterations")
	}
	d := &trace.Definitions{Clock: p.Clock}
	for _, r := range p.Regions {
		d.Regions.Add(r)
	}
	part := NewPart(d, nil, "")
	locations := 0
	for i := range p.Paths {
		x := &p.Paths[i]
		if x.Parent >= i || x.Region < 0 || x.Region >= len(p.Regions) {
			return errors.New("found a call path without a region or a parent before it")
		}
		locations = max(locations, len(x.Visits), len(x.Exclusive))
	}
	for loc := range locations {
		part.trees = append(part.trees, p.tree(loc))
	}
	c.profiled = true
	return c.Add(s, part)
}

// tree returns the call paths that a location visits.
func (p *Profile) tree(loc int) *tree {
	at := func(list []int64) int64 {
		if loc < len(list) {
			return list[loc]
		}
		return 0
	}
	inclusive := make([]int64, len(p.Paths))
	visited := make([]bool, len(p.Paths))
	for i := range slices.Backward(p.Paths) {
		x := &p.Paths[i]
		inclusive[i] += at(x.Exclusive)
		visited[i] = visited[i] || at(x.Visits) != 0 || at(x.Exclusive) != 0
		if x.Parent >= 0 {
			inclusive[x.Parent] += inclusive[i]
			visited[x.Parent] = visited[x.Parent] || visited[i]
		}
	}
	t := &tree{iteration: -1}
	place := make([]int32, len(p.Paths)) // index into nodes
	for i := range p.Paths {
		x := &p.Paths[i]
		if !visited[i] {
			continue
		}
		n := node{edge: edge{-1, uint32(x.Region)}, last: -1, next: -1, first: int64(i), count: at(x.Visits),
			exclusive: at(x.Exclusive), inclusive: inclusive[i], outer: inclusive[i]}
		if x.Parent >= 0 {
			n.parent = place[x.Parent]
		} else {
			t.last += inclusive[i]
		}
		for k := x.Parent; k >= 0; k = p.Paths[k].Parent {
			if p.Paths[k].Region == x.Region {
				n.flags, n.outer = recursive, 0
				break
			}
		}
		place[i] = int32(len(t.nodes))
		t.nodes = append(t.nodes, n)
	}
	return t
}
