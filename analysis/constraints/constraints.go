// Package constraints finds the critical path of a trace of claims: the chain of claims that determines how
// long the trace takes, from the constraints between them. It is the analysis of Eclipse TRACE4CPS.
//
// The graph has two nodes per claim: the start and the end. It has three kinds of edges. The end of a claim is
// exactly its duration after its start. A dependency of the trace requires that one node is not before
// another. An inferred dependency requires the same where a claim starts at most a tolerance after another one
// has ended. A claim that follows no other claim keeps the start time that it has in the trace. A claim is
// critical if it lies on a longest path. docs/analyses/path.md has the definitions.
//
// Find uses 80 bytes per claim and 40 per dependency.
package constraints

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weft-trace/weft/analysis/internal/claims"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// Use selects the dependencies of the graph: inferred dependencies, dependencies that the trace stores, or
// both.
type Use uint8

// The values of Use.
const (
	// None uses inferred dependencies alone.
	None Use = iota
	// Initial adds the dependencies of the trace to the inferred ones.
	Initial
	// Full infers dependencies only for claims at which no dependency of the trace ends.
	Full
)

// Uses returns the names of the values of Use: the name of None at index 0, and so on.
func Uses() []string { return []string{"none", "initial", "full"} }

// Options are the settings of the analysis.
type Options struct {
	Use Use
	// Tolerance is the greatest time in ticks from the end of a claim to the start of another one
	// that is inferred to depend on it. With a negative tolerance no dependencies are inferred.
	Tolerance int64
	// Most is the greatest number of claims. For a trace with more claims, Find returns [ErrManyClaims]. If Most is 0,
	// there is no limit. Find needs about 300 bytes for each claim.
	Most int
}

// Result is the result of the analysis. Times are in ticks.
type Result struct {
	// Length is the length of a longest path. It equals the time from the first start to the last
	// end of a claim if the edges of the graph explain all start times of the trace.
	Length       int64 `json:"length"`
	Claims       int   `json:"claims"`       // number of claims of the trace
	Dependencies int   `json:"dependencies"` // number of dependencies of the trace between two claims
	// Inferred is the number of inferred dependencies.
	Inferred int `json:"inferred"`
	// Critical holds the claims on a longest path, ordered by start.
	Critical []Claim `json:"critical"`
	// Regions holds the sums of the critical claims by activity, ordered by descending time.
	Regions []Region `json:"regions"`
}

// Claim is a critical claim. Times are in ticks.
type Claim struct {
	ID       int64  `json:"id"`
	Region   string `json:"region"`
	Resource string `json:"resource"`
	At       uint32 `json:"-"` // the resource, as index into Definitions.Resources
	Start    int64  `json:"start"`
	End      int64  `json:"end"`
}

// Region is the sum of the critical claims of an activity: their number and their total duration in
// ticks.
type Region struct {
	Region string      `json:"region"`
	Claims int         `json:"claims"`
	Time   trace.Ticks `json:"time"`
}

// CycleError reports a cycle of dependencies that no times can fulfil: each node of the cycle would have to be
// after itself.
type CycleError struct {
	Claims []int64 // ids of the claims in the cycle
	By     int64   // the length of the cycle in ticks
}

// Error returns a message with the claims, and with the number of ticks by which each claim would be after
// itself.
func (e *CycleError) Error() string {
	return fmt.Sprintf("found a cycle of dependencies among the claims %v, each of which is %s after itself; "+
		"expected none", e.Claims, plural.Of(e.By, "tick"))
}

// ErrNoClaims is the error of [Find] for a trace without claims.
var ErrNoClaims = errors.New("found no claims, expected some; the trace has no constraint graph")

// ErrManyClaims is the error of [Find] for a trace with more than Options.Most claims.
var ErrManyClaims = errors.New("found more claims than the limit")

// claim is claim i of the trace. Its start is node 2·i of the graph, and its end node 2·i + 1.
type claim struct {
	id               int64
	region, resource uint32
	start, end       int64
}

// edge requires that node to is at least weight ticks after node from.
type edge struct {
	from, to int32
	weight   int64
}

// graph holds the constraints between the starts and ends of claims.
type graph struct {
	claims []claim
	edges  []edge
	// inferred is the number of inferred dependencies. dependencies is the number of dependencies that the
	// trace stores.
	inferred     int
	dependencies int
	follows      []bool // indexed by claim: whether a dependency leads from another claim to it
}

// Find returns the critical path of a trace of claims. The error is [ErrNoClaims], a [CycleError],
// or an error of the scan.
func Find(ctx context.Context, events format.Events, opt Options) (*Result, error) {
	d := events.Defs()
	c := &collector{defs: d, most: opt.Most, open: map[claims.Key]int32{}, byID: map[int64]int32{}}
	if err := events.Scan(ctx, trace.Everything(), format.GlobalOrder, c); err != nil {
		return nil, err
	}
	if len(c.claims) == 0 {
		return nil, ErrNoClaims
	}
	for _, i := range c.open {
		c.claims[i].end = max(c.last, c.claims[i].start) // an open claim ends at the last event of the trace
	}
	g := &graph{claims: c.claims, follows: make([]bool, len(c.claims))}
	g.addDurations()
	if opt.Use != None {
		g.addDependencies(d, c.links, c.byID)
	}
	if opt.Tolerance >= 0 {
		g.infer(opt)
	}
	return g.solve(ctx, d)
}

// collector collects the claims and dependencies of a trace.
type collector struct {
	defs   *trace.Definitions
	most   int // greatest number of claims, or 0
	claims []claim
	open   map[claims.Key]int32 // index in claims
	// index in claims of the last claim with an id; indexed by [trace.Definitions.ClaimID]
	byID map[int64]int32
	// links are the links without their attributes.
	links []trace.Link
	last  int64 // latest time of an event, in ticks
}

// Batch collects the claims of a batch in the order of time.
func (c *collector) Batch(b *trace.Batch) error {
	x := b.Cursor()
	for x.Next() {
		c.last = max(c.last, x.Time())
		switch x.Kind() {
		case trace.ClaimBegin:
			k := claims.KeyOf(c.defs, &x)
			c.open[k] = int32(len(c.claims))
			c.byID[k.ID] = int32(len(c.claims))
			resource := trace.NoRef
			if r := x.Op(1); r < uint64(trace.NoRef) {
				resource = uint32(r)
			}
			if c.most > 0 && len(c.claims) == c.most {
				return ErrManyClaims
			}
			c.claims = append(c.claims, claim{int64(x.Op(0)), x.Ref(), resource, x.Time(), x.Time()})
		case trace.ClaimEnd:
			k := claims.KeyOf(c.defs, &x)
			if i, ok := c.open[k]; ok {
				c.claims[i].end = x.Time()
				delete(c.open, k)
			}
		}
	}
	return nil
}

// Links collects links, without their attributes.
func (c *collector) Links(l []trace.Link) error {
	for _, x := range l {
		x.Attrs = nil
		c.links = append(c.links, x)
	}
	return nil
}

// addDurations adds edges that fix the duration of each claim.
func (g *graph) addDurations() {
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

// addDependencies adds the dependencies of the trace whose two ends are starts or ends of claims.
func (g *graph) addDependencies(d *trace.Definitions, links []trace.Link, byID map[int64]int32) {
	node := func(e trace.End) (int32, bool) {
		i, ok := byID[e.ClaimID(d)]
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
		g.follows[to/2] = g.follows[to/2] || from/2 != to/2
		g.dependencies++
	}
}

// infer adds edges to each claim from all claims that end at its start, or at most the tolerance
// before it. With Full, claims at which a dependency of the trace ends get no such edges.
func (g *graph) infer(opt Options) {
	ends := make([]int32, len(g.claims))
	for i := range ends {
		ends[i] = int32(i)
	}
	slices.SortStableFunc(ends, func(a, b int32) int { return cmp.Compare(g.claims[a].end, g.claims[b].end) })
	// Claims that end at the same time share an additional node, which keeps the number of edges
	// low.
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
			others := counts[from]
			if times[from] == c.end {
				others-- // the claim itself, if it has the duration 0
			}
			if others == 0 {
				continue
			}
			g.edges = append(g.edges, edge{joint + int32(from), int32(2 * i), 0})
			found[i] = true
			g.inferred += others
		}
	}
	for i := range found {
		g.follows[i] = g.follows[i] || found[i]
	}
}

// solve finds the longest paths to and from each node, and returns the claims on a path of the
// greatest length.
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
	// the claims that no longest path has reached so far, because they only follow each other
	for i := range g.claims {
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

// unreached is the length of the longest path to a node that no path reaches.
const unreached = -1 << 62

// longest returns the length of a longest path to each node from the nodes that have a length. If backward is
// set, it returns the length of a longest path from each node to these nodes. longest visits a node again
// whenever it finds a longer path. It returns a [CycleError] if the graph has a cycle of positive length.
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
	// Nodes are visited in the order of time, since most edges lead to later nodes.
	order := g.order(n, backward)
	place := make([]int32, n)
	for i, u := range order {
		place[u] = int32(i)
	}
	previous := make([]int32, n) // the last edge of a longest path to each node
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

// order returns the nodes ordered by time, descending if backward is set. At the same time, ends
// precede the additional nodes of inferred dependencies, and these precede starts.
func (g *graph) order(n int, backward bool) []int32 {
	type at struct {
		time int64
		kind int8
	}
	when := make([]at, n)
	for i := range n {
		if i < 2*len(g.claims) {
			when[i] = at{g.time(int32(i)), 2 - 2*int8(i%2)} // ends come first, then joint nodes, then starts
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

// cycle returns a [CycleError] if the last edges of the longest paths contain a cycle, and nil
// otherwise.
func (g *graph) cycle(previous []int32, source func(*edge) (int32, int32)) error {
	// indexed by node: number of the walk that has reached the node; 0 if no walk has
	seen := make([]int32, len(previous))
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
