// Package lanes distributes overlapping claims to lanes. It serves formats whose visits of regions must nest: the
// claims on a lane do not overlap, so that they can be visits.
package lanes

import (
	"github.com/weft-trace/weft/internal/minheap"
	"github.com/weft-trace/weft/trace"
)

// Lanes assigns the open claims of each resource to lanes, which are numbered from 0. A claim gets the free lane with
// the lowest number. Lanes uses about 100 bytes for each open claim. [New] returns one without claims.
type Lanes struct {
	resources map[uint32]*resourceLanes
	claims    map[claim]int // lane of each open claim
}

// claim identifies a claim that has begun.
type claim struct {
	resource uint32
	id       int64
}

// resourceLanes holds the lanes of a resource.
type resourceLanes struct {
	count int
	free  []int // the lanes without a claim, as a heap: the lane with the lowest number comes first
}

// New returns lanes without claims.
func New() *Lanes { return &Lanes{map[uint32]*resourceLanes{}, map[claim]int{}} }

// Begin returns the lane for a claim that begins. ok is false if a claim with this id is already open.
func (l *Lanes) Begin(resource uint32, id int64) (lane int, ok bool) {
	k := claim{resource, id}
	if _, open := l.claims[k]; open {
		return 0, false
	}
	r := l.resources[resource]
	if r == nil {
		r = &resourceLanes{}
		l.resources[resource] = r
	}
	if len(r.free) > 0 {
		lane = minheap.Pop(&r.free, minheap.Less)
	} else {
		lane = r.count
		r.count++
	}
	l.claims[k] = lane
	return lane, true
}

// End returns the lane of a claim that ends, and frees the lane. ok is false if no claim with this id is open.
func (l *Lanes) End(resource uint32, id int64) (lane int, ok bool) {
	k := claim{resource, id}
	if lane, ok = l.claims[k]; ok {
		delete(l.claims, k)
		minheap.Push(&l.resources[resource].free, lane, minheap.Less)
	}
	return lane, ok
}

// Visit returns the lane for the visit that a claim begins or ends. ok is false if the row of c is no such event, or if
// it has no region, no id or no location of a resource.
func (l *Lanes) Visit(d *trace.Definitions, c *trace.Cursor) (lane int, ok bool) {
	loc, begins := c.Location(), c.Kind() == trace.ClaimBegin
	if !begins && c.Kind() != trace.ClaimEnd || c.Ref() == trace.NoRef || len(c.Ops()) == 0 ||
		d.Locations.At(loc).Kind != trace.ResourceLocation {
		return 0, false
	}
	if begins {
		return l.Begin(loc, int64(c.Op(0)))
	}
	return l.End(loc, int64(c.Op(0)))
}
