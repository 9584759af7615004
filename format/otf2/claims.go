package otf2

import (
	"fmt"

	"github.com/weft-trace/weft/trace"
)

// firstLane is the id of the first location that stands for a lane of a resource.
const firstLane = 1 << 32

// maxLanes is the greatest number of locations that stand for lanes. Each of them takes two files.
const maxLanes = 256

// lane is a location that stands for a lane of a resource. It has the visits of the claims that overlap with those on
// earlier lanes. The first lane of a resource is the resource's own location.
type lane struct {
	resource uint32 // location of the resource
	number   int    // from 1
	writer   *EventWriter
}

// setClaim makes a visit of the begin or end of a claim, so that other tools see the claim. If the visit belongs to the
// resource's own location, setClaim fills in e.event and returns true. If the visit belongs to a further lane, setClaim
// writes it there and returns false. Rows that cannot be visits, such as claims without a region, have none: setClaim
// returns false.
func (e *encoder) setClaim(c *trace.Cursor) bool {
	loc, region := c.Location(), c.Ref()
	if e.scorep != nil || region == trace.NoRef || len(c.Ops()) == 0 ||
		e.defs.Locations.At(loc).Kind != trace.ResourceLocation {
		return false
	}
	id, assign := uint8(enter), e.lanes.Begin
	if c.Kind() == trace.ClaimEnd {
		id, assign = leave, e.lanes.End
	}
	number, ok := assign(loc, int64(c.Op(0)))
	if !ok {
		return false
	}
	x := &e.event
	x.ID, x.Values = id, append(x.Values[:0], e.id(Regions, region))
	if number == 0 {
		return true
	}
	l := e.laneOf(loc, number)
	if l == nil {
		return false
	}
	e.onLane = true
	if err := l.writer.Write(x); err != nil && e.err == nil {
		e.err = err
	}
	return false
}

// laneOf returns a lane of a resource other than the first one. It returns nil if the archive has too many lanes.
func (e *encoder) laneOf(resource uint32, number int) *lane {
	list := e.laneList[resource]
	if number <= len(list) {
		return list[number-1]
	}
	if len(e.allLanes) >= maxLanes {
		return nil
	}
	l := &lane{resource, number, e.w.Location(firstLane + uint64(len(e.allLanes)))}
	e.laneList[resource], e.allLanes = append(list, l), append(e.allLanes, l)
	return l
}

// defineLanes writes the definitions of the lanes. groups holds the ids of the location groups.
func (e *encoder) defineLanes(put func(id uint8, v ...uint64), name func(string) uint64, groups map[uint32]uint64) {
	for i, l := range e.allLanes {
		x := e.defs.Locations.At(l.resource)
		put(defLocation, firstLane+uint64(i), name(fmt.Sprintf("%s (%d)", x.Label(), l.number+1)), 1, l.writer.Count,
			groups[x.Group])
	}
}
