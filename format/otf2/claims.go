package otf2

import (
	"fmt"

	"github.com/weft-trace/weft/trace"
)

// laneID returns the id of the location for a lane of a resource. Lane 0 is the resource's own location. The id does
// not depend on the order of the claims.
func laneID(resource uint32, number int) uint64 { return uint64(number)<<32 + uint64(resource) }

// setClaim makes a visit of the begin or end of a claim, so that other tools see the claim. If the visit belongs to the
// resource's own location, setClaim fills in e.event and returns true. If the visit belongs to an extra lane, setClaim
// writes it there and returns false. Rows that cannot be visits, such as claims without a region, have none: setClaim
// returns false.
func (e *encoder) setClaim(c *trace.Cursor) bool {
	number, ok := e.lanes.Visit(e.defs, c)
	if !ok {
		return false
	}
	x := &e.event
	x.ID, x.Values = enter, append(x.Values[:0], e.id(Regions, c.Ref()))
	if c.Kind() == trace.ClaimEnd {
		x.ID = leave
	}
	if number == 0 {
		return true
	}
	w, ok, err := e.extraLanes.Get(c.Location(), number, func(int) (*EventWriter, error) {
		return e.w.Location(laneID(c.Location(), number)), nil
	})
	if ok {
		e.onLane = true
		err = w.Write(x)
	}
	if err != nil && e.err == nil {
		e.err = err
	}
	return false
}

// defineLanes writes the definitions of the lanes. The function group returns the id of a location's location group.
func (e *encoder) defineLanes(put func(id uint8, v ...uint64), name func(string) uint64,
	group func(loc uint32) uint64) {
	for _, l := range e.extraLanes.List {
		x := e.defs.Locations.At(l.Resource)
		put(defLocation, laneID(l.Resource, l.Number), name(fmt.Sprintf("%s (%d)", x.Label(), l.Number+1)), 1, l.Writer.Count,
			group(l.Resource))
	}
}
