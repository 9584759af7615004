// Package inside keeps track of the locations that are inside of visits of chosen regions.
package inside

import "github.com/weft-trace/weft/trace"

// Visits holds the open visits of chosen regions by location. A nil *Visits stands for all regions: every
// location is always inside of a visit.
type Visits struct {
	wanted func(region uint32) bool
	open   map[visit]int // number of open visits
	depth  []int         // indexed by location: number of open visits of chosen regions
}

// visit identifies the open visits of a region at a location.
type visit struct{ location, region uint32 }

// New returns the visits of the regions for which wanted returns true, or nil if wanted is nil.
func New(wanted func(region uint32) bool) *Visits {
	if wanted == nil {
		return nil
	}
	return &Visits{wanted: wanted, open: map[visit]int{}}
}

// Take processes an event. The events of each location must come in order. A leave without an enter has no effect.
func (v *Visits) Take(c *trace.Cursor) {
	k := c.Kind()
	if v == nil || k != trace.Enter && k != trace.Leave || c.Ref() == trace.NoRef || !v.wanted(c.Ref()) {
		return
	}
	at := visit{c.Location(), c.Ref()}
	for int(at.location) >= len(v.depth) {
		v.depth = append(v.depth, 0)
	}
	switch n := v.open[at]; {
	case k == trace.Enter:
		v.open[at] = n + 1
		v.depth[at.location]++
	case n > 0:
		v.open[at] = n - 1
		v.depth[at.location]--
	}
}

// At reports whether a location is inside of a visit after the events so far.
func (v *Visits) At(location uint32) bool {
	return v == nil || int(location) < len(v.depth) && v.depth[location] > 0
}
