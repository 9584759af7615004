// Package constraints finds the critical path of a trace of claims: the chain of claims that
// determines how long the trace takes, from the constraints between them. It is the analysis of
// Eclipse TRACE4CPS.
//
// The nodes of the graph are the starts and ends of claims. A claim keeps its duration: its end is so
// much after its start, and no later. A dependency of the trace, or one that is inferred because a
// claim starts at most a tolerance after another one has ended, lets one node follow another. A claim
// without a predecessor starts when it does in the trace. A claim is critical if it lies on a longest
// path. docs/analyses/path.md has the definitions.
//
// A part holds 80 bytes per claim and 40 per dependency.
package constraints

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// Use is the way in which the dependencies of the trace are used.
type Use uint8

// The ways in which dependencies of the trace are combined with inferred ones.
const (
	// None uses inferred dependencies alone.
	None Use = iota
	// Initial adds the dependencies of the trace to the inferred ones.
	Initial
	// Full infers dependencies only for claims to which no dependency of the trace leads.
	Full
)

// Uses returns the names of the uses, by value.
func Uses() []string { return []string{"none", "initial", "full"} }

// Options are the settings of the analysis.
type Options struct {
	Use Use
	// Tolerance is the greatest time in ticks between the end of a claim and the start of another one
	// that is inferred to depend on it. A negative tolerance infers none.
	Tolerance int64
}

// Result is the result of the analysis. Times are in ticks.
type Result struct {
	// Length is that of a longest path: from the first start to the last end, if the constraints are
	// those of the trace.
	Length       int64 `json:"length"`
	Claims       int   `json:"claims"`       // all of them
	Dependencies int   `json:"dependencies"` // of the trace, between claims
	Inferred     int   `json:"inferred"`
	// Critical are the claims on a longest path, by start.
	Critical []Claim `json:"critical"`
	// Regions are the times of critical claims by activity, by descending time.
	Regions []Region `json:"regions"`
}

// Claim is a critical claim.
type Claim struct {
	ID       int64  `json:"id"`
	Region   string `json:"region"`
	Resource string `json:"resource"`
	At       uint32 `json:"-"` // the resource, as index into Definitions.Resources
	Start    int64  `json:"start"`
	End      int64  `json:"end"`
}

// Region is the time of an activity in critical claims.
type Region struct {
	Region string      `json:"region"`
	Claims int         `json:"claims"`
	Time   trace.Ticks `json:"time"`
}

// CycleError reports constraints that contradict each other: a cycle of them in which each node is
// after itself.
type CycleError struct {
	Claims []int64 // ids of the claims in the cycle
	By     int64   // the length of the cycle in ticks
}

// Error names the claims.
func (e *CycleError) Error() string {
	return fmt.Sprintf("found a cycle of dependencies among the claims %v, each of which is %d ticks after itself; "+
		"expected none", e.Claims, e.By)
}

// ErrNoClaims is returned for a trace without claims.
var ErrNoClaims = errors.New("found no claims, expected some; the trace has no constraint graph")

// claim is a claim of the trace. Its start is node 2·i, and its end 2·i + 1.
type claim struct {
	id               int64
	region, resource uint32
	start, end       int64
}

// edge lets node to be at least weight after node from.
type edge struct {
	from, to int32
	weight   int64
}

// graph is a constraint graph.
type graph struct {
	claims       []claim
	edges        []edge
	inferred     int
	dependencies int
	follows      []bool // by claim: a constraint lets it follow another one
}

// Find finds the critical path. The error is [ErrNoClaims], a [CycleError], or that of the scan.
func Find(ctx context.Context, events format.Events, opt Options) (*Result, error) {
	c := &collector{open: map[key]int32{}, byID: map[int64]int32{}}
	if err := events.Scan(ctx, trace.Everything(), format.GlobalOrder, c); err != nil {
		return nil, err
	}
	if len(c.claims) == 0 {
		return nil, ErrNoClaims
	}
	for _, i := range c.open {
		c.claims[i].end = max(c.last, c.claims[i].start) // it never ends
	}
	g := &graph{claims: c.claims, follows: make([]bool, len(c.claims))}
	g.durations()
	if opt.Use != None {
		g.depend(c.links, c.byID)
	}
	if opt.Tolerance >= 0 {
		g.infer(opt)
	}
	return g.solve(ctx, events.Defs())
}

// key identifies an open claim.
type key struct {
	id       int64
	location uint32
}

// collector collects claims and dependencies.
type collector struct {
	claims []claim
	open   map[key]int32
	byID   map[int64]int32
	links  []trace.Link
	last   int64
}

// Batch collects claims.
func (c *collector) Batch(b *trace.Batch) error {
	for x := b.Cursor(); x.Next(); {
		c.last = max(c.last, x.Time())
		switch x.Kind() {
		case trace.ClaimBegin:
			k := key{int64(x.Op(0)), x.Location()}
			c.open[k] = int32(len(c.claims))
			c.byID[k.id] = int32(len(c.claims))
			resource := trace.NoRef
			if r := x.Op(1); r < uint64(trace.NoRef) {
				resource = uint32(r)
			}
			c.claims = append(c.claims, claim{k.id, x.Ref(), resource, x.Time(), x.Time()})
		case trace.ClaimEnd:
			k := key{int64(x.Op(0)), x.Location()}
			if i, ok := c.open[k]; ok {
				c.claims[i].end = x.Time()
				delete(c.open, k)
			}
		}
	}
	return nil
}

// Links collects dependencies.
func (c *collector) Links(l []trace.Link) error {
	for _, x := range l {
		x.Attrs = nil
		c.links = append(c.links, x)
	}
	return nil
}

// durations adds the constraints that a claim keeps its duration.
func (g *graph) durations() {
	for i, c := range g.claims {
		d := c.end - c.start
		g.edges = append(g.edges, edge{int32(2 * i), int32(2*i + 1), d}, edge{int32(2*i + 1), int32(2 * i), -d})
	}
}

// time returns the time of a node.
func (g *graph) time(node int32) int64 {
	c := &g.claims[node/2]
	if node%2 == 0 {
		return c.start
	}
	return c.end
}

// depend adds the dependencies of the trace between claims.
func (g *graph) depend(links []trace.Link, byID map[int64]int32) {
	node := func(e trace.End) (int32, bool) {
		i, ok := byID[e.ID]
		switch {
		case !ok:
		case e.Kind == trace.AtClaimStart:
			return 2 * i, true
		case e.Kind == trace.AtClaimEnd:
			return 2*i + 1, true
		}
		return 0, false
	}
	for _, l := range links {
		from, ok := node(l.Src)
		to, ok2 := node(l.Dst)
		if !ok || !ok2 {
			continue
		}
		g.edges = append(g.edges, edge{from, to, 0})
		g.follows[to/2] = true
		g.dependencies++
	}
}

// infer adds dependencies of claims that start at most a tolerance after others have ended. With
// Full, claims that follow others by the trace get none.
func (g *graph) infer(opt Options) {
	ends := make([]int32, len(g.claims))
	for i := range ends {
		ends[i] = int32(i)
	}
	slices.SortStableFunc(ends, func(a, b int32) int { return cmp.Compare(g.claims[a].end, g.claims[b].end) })
	// Claims that end at the same time share a node, which keeps the number of edges low.
	joint := int32(2 * len(g.claims))
	var times []int64
	var counts []int
	for _, i := range ends {
		if n := len(times); n == 0 || times[n-1] != g.claims[i].end {
			times, counts = append(times, g.claims[i].end), append(counts, 0)
		}
		counts[len(counts)-1]++
		g.edges = append(g.edges, edge{2*i + 1, joint + int32(len(times)-1), 0})
	}
	found := make([]bool, len(g.claims))
	for i, c := range g.claims {
		if opt.Use == Full && g.follows[i] {
			continue
		}
		from, _ := slices.BinarySearch(times, trace.Add(c.start, -opt.Tolerance))
		for ; from < len(times) && times[from] <= c.start; from++ {
			if times[from] == c.end && counts[from] == 1 {
				continue // its own end
			}
			g.edges = append(g.edges, edge{joint + int32(from), int32(2 * i), 0})
			found[i] = true
			g.inferred++
		}
	}
	for i := range found {
		g.follows[i] = g.follows[i] || found[i]
	}
}

// solve finds longest paths from and to each node.
func (g *graph) solve(ctx context.Context, d *trace.Definitions) (*Result, error) {
	n := 2 * len(g.claims)
	for _, e := range g.edges {
		n = max(n, int(e.from)+1, int(e.to)+1)
	}
	begin := make([]int64, n)
	first := g.claims[0].start
	for _, c := range g.claims {
		first = min(first, c.start)
	}
	for i := range begin {
		begin[i] = unreached
		if i < 2*len(g.claims) && i%2 == 0 && !g.follows[i/2] {
			begin[i] = g.claims[i/2].start - first
		}
	}
	from, err := g.longest(ctx, slices.Clone(begin), false)
	if err != nil {
		return nil, err
	}
	for i := range g.claims { // claims that follow only each other
		if from[2*i] == unreached {
			from[2*i] = g.claims[i].start - first
		}
	}
	if from, err = g.longest(ctx, from, false); err != nil {
		return nil, err
	}
	rest := make([]int64, n)
	for i := range rest {
		rest[i] = unreached
		if i < 2*len(g.claims) && i%2 == 1 {
			rest[i] = 0
		}
	}
	to, err := g.longest(ctx, rest, true)
	if err != nil {
		return nil, err
	}
	r := &Result{Claims: len(g.claims), Dependencies: g.dependencies, Inferred: g.inferred, Critical: []Claim{},
		Regions: []Region{}}
	for i := range g.claims {
		r.Length = max(r.Length, from[2*i+1])
	}
	regions := map[string]*Region{}
	for i, c := range g.claims {
		if from[2*i] == unreached || from[2*i]+to[2*i] != r.Length {
			continue
		}
		x := Claim{ID: c.id, Start: c.start, End: c.end, Region: "unknown", Resource: "unknown", At: c.resource}
		if d.Regions.Has(c.region) {
			x.Region = d.Regions.At(c.region).Name
		}
		if d.Resources.Has(c.resource) {
			x.Resource = cmp.Or(d.Resources.At(c.resource).Name, d.Resources.At(c.resource).ID)
		}
		r.Critical = append(r.Critical, x)
		s := regions[x.Region]
		if s == nil {
			s = &Region{Region: x.Region}
			regions[x.Region] = s
		}
		s.Claims++
		s.Time.Add(c.end - c.start)
	}
	slices.SortStableFunc(r.Critical, func(a, b Claim) int { return cmp.Compare(a.Start, b.Start) })
	for _, s := range regions {
		r.Regions = append(r.Regions, *s)
	}
	slices.SortFunc(r.Regions, func(a, b Region) int {
		return cmp.Or(b.Time.Cmp(a.Time), cmp.Compare(a.Region, b.Region))
	})
	return r, nil
}

// unreached is the length of no path.
const unreached = -1 << 62

// longest returns the lengths of longest paths to each node from those with a length, or backward from
// them. It visits nodes again when a longer path to them is found, and reports a cycle when a path
// becomes longer than all nodes together.
func (g *graph) longest(ctx context.Context, length []int64, backward bool) ([]int64, error) {
	n := len(length)
	start := make([]int32, n+1)
	source := func(e *edge) (int32, int32) {
		if backward {
			return e.to, e.from
		}
		return e.from, e.to
	}
	for i := range g.edges {
		u, _ := source(&g.edges[i])
		start[u+1]++
	}
	for i := 1; i <= n; i++ {
		start[i] += start[i-1]
	}
	out := make([]int32, len(g.edges))
	next := slices.Clone(start[:n])
	for i := range g.edges {
		u, _ := source(&g.edges[i])
		out[next[u]] = int32(i)
		next[u]++
	}
	// Nodes are visited in the order of time, which is that of most constraints.
	order := g.order(n, backward)
	place := make([]int32, n)
	for i, u := range order {
		place[u] = int32(i)
	}
	previous := make([]int32, n) // the edge by which a longest path reaches a node
	for i := range previous {
		previous[i] = -1
	}
	changed := make([]bool, n)
	for i := range changed {
		changed[i] = length[i] != unreached
	}
	for round := 0; ; round++ {
		again := false
		for i, u := range order {
			if i&0xffff == 0 && ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if !changed[u] {
				continue
			}
			changed[u] = false
			for _, k := range out[start[u]:start[u+1]] {
				_, v := source(&g.edges[k])
				if l := length[u] + g.edges[k].weight; l > length[v] {
					length[v], previous[v], changed[v] = l, k, true
					again = again || place[v] <= int32(i)
				}
			}
		}
		if !again {
			return length, nil
		}
		if round&0xf == 0xf || round > n {
			if err := g.cycle(previous, source); err != nil {
				return nil, err
			}
		}
	}
}

// order returns the nodes by time; joint nodes of inferred dependencies follow the ends before them.
func (g *graph) order(n int, backward bool) []int32 {
	type at struct {
		time int64
		kind int8
	}
	when := make([]at, n)
	for i := range n {
		if i < 2*len(g.claims) {
			when[i] = at{g.time(int32(i)), 2 - 2*int8(i%2)} // ends, joint nodes, starts
		}
	}
	for _, e := range g.edges {
		if int(e.to) >= 2*len(g.claims) {
			when[e.to] = at{g.time(e.from), 1}
		}
	}
	order := make([]int32, n)
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(when[a].time, when[b].time), cmp.Compare(when[a].kind, when[b].kind))
	})
	if backward {
		slices.Reverse(order)
	}
	return order
}

// cycle returns a [CycleError] if the edges by which nodes are reached contain a cycle.
func (g *graph) cycle(previous []int32, source func(*edge) (int32, int32)) error {
	seen := make([]int32, len(previous)) // number of the walk that reached each node; 0 if none has
	for i := range previous {
		u := int32(i)
		for seen[u] == 0 && previous[u] >= 0 {
			seen[u] = int32(i + 1)
			u, _ = source(&g.edges[previous[u]])
		}
		if seen[u] != int32(i+1) || previous[u] < 0 {
			seen[u] = max(seen[u], int32(i+1))
			continue
		}
		e := &CycleError{}
		for v := u; ; {
			k := &g.edges[previous[v]]
			if int(v) < 2*len(g.claims) && !slices.Contains(e.Claims, g.claims[v/2].id) {
				e.Claims = append(e.Claims, g.claims[v/2].id)
			}
			e.By += k.weight
			if v, _ = source(k); v == u {
				break
			}
		}
		if e.By > 0 {
			slices.Sort(e.Claims)
			return e
		}
	}
	return nil
}
