package profile

import (
	"cmp"
	"maps"
	"slices"

	"github.com/weft-trace/weft/analysis/internal/claims"
	"github.com/weft-trace/weft/trace"
)

// Result is a profile. Times are in ticks of Clock.
type Result struct {
	Clock trace.Clock `json:"clock"`
	// Regions holds the visited regions in the order of the definitions. Visits of unknown regions
	// come first.
	Regions []Region `json:"regions"`
	// Locations holds the locations with events, if Options.Locations is set.
	Locations []Location `json:"locations,omitempty"`
	// Covered is the time in which at least one region was open, summed over the locations. It
	// equals the sum of the exclusive times of all regions.
	Covered  trace.Ticks `json:"covered"`
	Unclosed int64       `json:"unclosed"` // enters without a leave
	Orphans  int64       `json:"orphans"`  // leaves without an enter

	// Activities are the regions that held claims, and Resources the claimed resources, in the order
	// of the definitions.
	Activities     []Activity `json:"activities,omitempty"`
	Resources      []Resource `json:"resources,omitempty"`
	UnclosedClaims int64      `json:"unclosedClaims"` // claims without an end
	OrphanClaims   int64      `json:"orphanClaims"`   // ends without a begin, and begins without an id
	// ReusedClaims counts claims that begin with the id of an open claim, which ends the open one.
	ReusedClaims int64 `json:"reusedClaims"`
}

// Region is the profile of one region. Times are in ticks.
type Region struct {
	Region uint32 `json:"region"` // index into Definitions.Regions, NoRef when unknown
	ID     string `json:"id,omitempty"`
	Name   string `json:"name"`
	// Group holds the group of the region. For a row of several regions, it holds the groups of all of them,
	// separated by ", ".
	Group string `json:"group,omitempty"`
	// Definitions holds the ids of all regions that Options.Rows maps to this row, if there are several.
	Definitions []string `json:"definitions,omitempty"`
	Count       int64    `json:"count"` // number of enters
	// Inclusive is the time in which the region was open, summed over locations. Exclusive is the
	// part of it in which the region was the innermost open one.
	Inclusive trace.Ticks `json:"inclusive"`
	Exclusive trace.Ticks `json:"exclusive"`
	// Sum is the total length of all visits. It exceeds Inclusive only for recursive regions. Min and
	// Max are the shortest and longest visit, including those inside other visits of the same region.
	Sum      trace.Ticks `json:"sum"`
	Min      int64       `json:"min"`
	Max      int64       `json:"max"`
	Unclosed int64       `json:"unclosed"` // enters without leave, closed at the location's last event
	Orphans  int64       `json:"orphans"`  // leaves without enter, ignored
}

// Add adds the profile of the same region at other locations, or of another region of the same row.
func (r *Region) Add(o *Region) {
	switch {
	case o.Count == 0:
	case r.Count == 0:
		r.Min, r.Max = o.Min, o.Max
	default:
		r.Min, r.Max = min(r.Min, o.Min), max(r.Max, o.Max)
	}
	r.Count += o.Count
	r.Inclusive = r.Inclusive.Plus(o.Inclusive)
	r.Exclusive = r.Exclusive.Plus(o.Exclusive)
	r.Sum = r.Sum.Plus(o.Sum)
	r.Unclosed += o.Unclosed
	r.Orphans += o.Orphans
}

// Location is the profile of one location. Times are in ticks.
type Location struct {
	Location uint32   `json:"location"` // index into Definitions.Locations
	ID       string   `json:"id"`
	Name     string   `json:"name,omitempty"`
	FullName string   `json:"fullName"` // unique ([trace.Definitions.FullNames])
	First    int64    `json:"first"`    // time of its first event
	Last     int64    `json:"last"`     // time of its last event
	Covered  int64    `json:"covered"`
	Regions  []Region `json:"regions,omitempty"`
}

// Activity is the profile of the claims of one activity. Times are in ticks.
type Activity struct {
	Region   uint32      `json:"region"` // index into Definitions.Regions, NoRef when unknown
	Name     string      `json:"name"`
	Count    int64       `json:"count"`    // number of claims
	Time     trace.Ticks `json:"time"`     // total duration of the claims
	Min      int64       `json:"min"`      // the shortest claim
	Max      int64       `json:"max"`      // the longest claim
	Unclosed int64       `json:"unclosed"` // claims without end, closed at the location's last event
}

// Resource is the profile of one resource. Times are in ticks. A claim holds its amount from its
// begin to just before its end, so that claims of length 0 change only Count.
type Resource struct {
	Resource   uint32     `json:"resource"` // index into Definitions.Resources
	ID         string     `json:"id"`
	Name       string     `json:"name,omitempty"`
	Unit       string     `json:"unit,omitempty"` // unit of amounts
	Capacity   float64    `json:"capacity"`
	Count      int64      `json:"count"`         // number of claims
	Busy       int64      `json:"busy"`          // time with at least one open claim
	AmountTime trace.Real `json:"amountTime"`    // integral of the held amount over time, in unit × ticks
	MaxOpen    int64      `json:"maxConcurrent"` // greatest number of claims that were open at the same time
	MaxAmount  trace.Real `json:"maxAmount"`     // greatest amount held at any time
}

// Result returns the profile so far. The part can process further events.
func (p *Part) Result() *Result {
	r := &Result{Clock: p.defs.Clock, Regions: []Region{}}
	total := slices.Clone(p.cells)
	unclosed := map[uint32]int64{}
	names, ids, groups := p.defs.FullNames(), p.opt.Rows.IDs(), p.opt.Rows.Groups()
	for loc, s := range p.locations {
		if s == nil || s.phase == beforeWindow {
			continue
		}
		if !p.opt.Locations {
			closeAll(s, total, s.last, unclosed)
			continue
		}
		cells, mine := slices.Clone(s.cells), map[uint32]int64{}
		closeAll(s, cells, s.last, mine)
		for k, n := range mine {
			unclosed[k] += n
		}
		total = sum(total, cells)
		d := p.defs.Locations.At(uint32(loc))
		l := Location{Location: uint32(loc), ID: d.ID, Name: d.Name, FullName: names[loc], First: s.first, Last: s.last,
			Regions: p.regions(cells, mine, ids, groups)}
		for i := range l.Regions {
			l.Covered += l.Regions[i].Exclusive.Int64()
		}
		r.Locations = append(r.Locations, l)
	}
	r.Regions = p.regions(total, unclosed, ids, groups)
	for i := range r.Regions {
		x := &r.Regions[i]
		r.Covered = r.Covered.Plus(x.Exclusive)
		r.Unclosed += x.Unclosed
		r.Orphans += x.Orphans
	}
	p.claimResult(r)
	return r
}

// closeAll counts the open visits of a location in cells, as if the visits ended at time at. If unclosed is
// not nil, closeAll also counts these visits there, by slot.
func closeAll(s *location, cells []cell, at int64, unclosed map[uint32]int64) {
	if n := len(s.stack); n > 0 {
		cells[s.stack[n-1].slot].addExclusive(at - s.since)
	}
	for i, f := range s.stack {
		if s.open.Gap(i) {
			continue
		}
		if f.flags&openBeforeWindow != 0 {
			if at <= f.enter {
				continue
			}
			cells[f.slot].count++
		}
		cells[f.slot].visit(at-f.enter, f.flags&isRecursive != 0)
		if unclosed != nil {
			unclosed[f.slot]++
		}
	}
}

// regions returns the profile of the visited regions. unclosed holds the number of visits without a leave, indexed
// by slot. A row of the profile may stand for several regions: ids and groups hold the ids and the group of these
// regions, indexed by row.
func (p *Part) regions(cells []cell, unclosed map[uint32]int64, ids map[uint32][]string,
	groups map[uint32]string) []Region {
	out := []Region{}
	for slot, c := range cells {
		if c.count == 0 && c.orphans == 0 {
			continue
		}
		x := Region{Region: uint32(slot) - 1, Count: c.count, Inclusive: ticks(c.inclusive, c.more.inclusive),
			Exclusive: ticks(c.exclusive, c.more.exclusive),
			Sum:       ticks(c.inclusive, c.more.inclusive).Plus(ticks(c.recursive, c.more.recursive)), Min: c.min, Max: c.max,
			Unclosed: unclosed[uint32(slot)], Orphans: c.orphans}
		if c.count == 0 {
			x.Min = 0
		}
		if slot > 0 {
			d := p.defs.Regions.At(uint32(slot - 1))
			x.ID, x.Name, x.Group, x.Definitions = d.ID, d.Name, cmp.Or(groups[x.Region], d.Group), ids[x.Region]
		} else {
			x.Name = unknown
		}
		out = append(out, x)
	}
	return out
}

// unknown is the name of regions and activities without a definition.
const unknown = "unknown"

// claimResult adds the profiles of activities and resources to a result.
func (p *Part) claimResult(r *Result) {
	// The open claims are closed in a copy, so that the part can continue.
	q := &Part{opt: p.opt, activities: maps.Clone(p.activities), resources: maps.Clone(p.resources)}
	q.book = p.book.Clone()
	q.book.Step = q.step
	q.book.Ended = func(c claims.Claim, end int64) {
		q.endClaim(c, end)
		if c.Outside(q.opt.Window, end) || q.opt.Window != nil && !trace.Before(end, q.opt.Window.To) {
			return // outside of the window, or the location continues after it
		}
		row := q.opt.Rows.Of(c.Region)
		a := q.activities[row]
		a.unclosed++
		q.activities[row] = a
		r.UnclosedClaims++
	}
	q.book.Close(p.claimEnd)
	r.OrphanClaims, r.ReusedClaims = p.book.Orphans, p.book.Reused
	for k, a := range q.activities {
		if a.count == 0 {
			continue
		}
		x := Activity{Region: k, Name: unknown, Count: a.count, Time: a.ticks, Min: a.min, Max: a.max, Unclosed: a.unclosed}
		if p.defs.Regions.Has(k) {
			x.Name = p.defs.Regions.At(k).Name
		}
		r.Activities = append(r.Activities, x)
	}
	// NoRef + 1 overflows to 0, which sorts NoRef first, as in the list of regions.
	slices.SortFunc(r.Activities, func(a, b Activity) int { return cmp.Compare(a.Region+1, b.Region+1) })
	for k, a := range q.resources {
		if a.count == 0 {
			continue
		}
		x := Resource{Resource: k, Count: a.count, Busy: a.busy, AmountTime: trace.Real(a.amountTime), MaxOpen: a.maxOpen,
			MaxAmount: trace.Real(a.maxAmount)}
		if p.defs.Resources.Has(k) {
			d := p.defs.Resources.At(k)
			x.ID, x.Name, x.Unit, x.Capacity = d.ID, d.Name, d.Unit, d.Capacity
		}
		r.Resources = append(r.Resources, x)
	}
	slices.SortFunc(r.Resources, func(a, b Resource) int { return cmp.Compare(a.Resource, b.Resource) })
}

// claimEnd returns the time at which the open claims of a location end. This is the time of its last event or,
// if the location has events after the window, the end of the window.
func (p *Part) claimEnd(loc uint32) int64 {
	s := p.locations[loc]
	switch s.phase {
	case beforeWindow:
		return p.opt.Window.From
	case afterWindow:
		return p.opt.Window.To
	}
	return s.last
}
