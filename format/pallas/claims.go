package pallas

import (
	"fmt"

	"github.com/weft-trace/weft/trace"
)

// lanesKey is the key, among the carried definitions, of the id of the archive with the threads for lanes of resources
// other than the first lane of each. The first lane is the thread of the resource.
const lanesKey = "lanes"

// writeVisit makes a visit of the begin or end of a claim, so that other tools see the claim. If the visit belongs to
// the thread of the resource, writeVisit fills in e.payload and returns the record. If the visit belongs to a further
// lane, writeVisit writes it there and returns Generic. Rows that cannot be visits, such as claims without a region,
// have none. ok reports whether there is a visit.
func (e *encoder) writeVisit(at uint64, c *trace.Cursor) (record Record, ok bool, err error) {
	number, ok := e.lanes.Visit(e.defs, c)
	if !ok {
		return Generic, false, nil
	}
	record = Enter + Record(c.Kind()-trace.ClaimBegin)
	if number == 0 {
		e.payload = le32(e.payload[:0], c.Ref())
		return record, true, nil
	}
	r, ok, err := e.extraLanes.Get(c.Location(), number, func(i int) (*Recorder, error) {
		name := fmt.Sprintf("%s (%d)", e.defs.Locations.At(c.Location()).Label(), number+1)
		return e.w.Archive(e.lanesArchive()).Record(uint32(e.defs.Locations.Len()+i), e.string(name))
	})
	if ok {
		e.visited = le32(e.visited[:0], c.Ref())
		err = r.Record(at, record, e.visited, nil)
	}
	return Generic, ok, err
}

// lanesArchive returns the id of the archive for extra lanes. Its threads have consecutive ids, as Pallas expects.
func (e *encoder) lanesArchive() uint32 { return uint32(e.defs.Groups.Len()) + 1 }
