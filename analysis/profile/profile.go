// Package profile says how often and how long each region was open, how long
// each activity held claims, and how much each resource was used.
//
// A leave closes the latest open enter of the same region at its location, also
// when other regions were entered since (PICL does not nest). Inclusive time of
// a region is the time in which it is open at least once at a location, so
// recursion does not count twice. Exclusive time is the time in which the
// region is the innermost one, which is the open one that was entered last;
// closing a region that is not innermost takes it out from among the others
// and changes nothing for the innermost. So the exclusive times of one location
// add up to its covered time: the time in which any region is open.
//
// Regions and claims that never end are closed at the last event of their
// location.
//
// The profile of a window counts what is open in it, and of that only the time in
// the window. What ends where the window begins is not in it, unless it begins there
// too. So the times of windows that follow each other add up to those of
// the whole; their counts do not, as what is open where two meet counts in both.
//
// A part needs the order of each location only. Its memory is that of the
// definitions (72 bytes a region, and for each location if asked for), 24 bytes
// an open region and about 64 bytes an open claim.
package profile

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/weft-trace/weft/analysis"
	"github.com/weft-trace/weft/analysis/internal/claims"
	"github.com/weft-trace/weft/internal/openset"
	"github.com/weft-trace/weft/trace"
)

// Options says what is profiled.
type Options struct {
	// Locations asks for the profile of each location too.
	Locations bool
	// Window bounds the time that counts, nil is all. Parts still take the events before it, which
	// tell what is open where it begins, and of each location at least one event behind it, which
	// tells that what is open where it ends goes on ([trace.Selection.Surrounding]).
	Window *trace.Window
	// Rows says which regions count as one; nil is each for itself. Parts that are merged share it.
	Rows *trace.Rows
}

// Part is the profile of some locations of a trace.
type Part struct {
	defs      *trace.Definitions
	opt       Options
	cells     []cell      // by slot; unused when each location has its own
	before    []cell      // what counts for nothing: that before the window
	locations []*location // by index, nil where there were no events
	rows      []uint32    // of the regions of a batch
	kept      struct {    // rows that are events, of a batch that has others
		times []int64
		kinds []trace.Kind
		refs  []uint32
	}

	book       claims.Book
	activities map[uint32]activity
	resources  map[uint32]resource
}

// cell sums up the visits of a region; its slot is the region's index plus one,
// so that slot 0 is left for visits of an unknown region. Sums are kept as they are added up
// fastest: less than 2⁶³, and how many times 2⁶³ more.
type cell struct {
	count     int64
	orphans   int64
	inclusive int64
	recursive int64 // visits inside others of the same region
	exclusive int64
	min, max  int64
	more      struct{ inclusive, recursive, exclusive uint32 }
}

// sum63 adds n, which is not negative, to such a sum.
func sum63(low *int64, more *uint32, n int64) {
	if *low += n; *low < 0 {
		*low &= math.MaxInt64
		*more++
	}
}

// ticks is a sum of a cell.
func ticks(low int64, more uint32) trace.Ticks {
	t := trace.TicksOf(low)
	if more > 0 { // hardly ever
		t = t.Plus(trace.TicksOf(math.MaxInt64).Plus(trace.TicksOf(1)).Times(int64(more)))
	}
	return t
}

func (c *cell) visit(ticks int64, recursive bool) {
	if recursive {
		sum63(&c.recursive, &c.more.recursive, ticks)
	} else {
		sum63(&c.inclusive, &c.more.inclusive, ticks)
	}
	c.min = min(c.min, ticks)
	c.max = max(c.max, ticks)
}

// pass counts time in which the region is the innermost one.
func (c *cell) pass(ticks int64) { sum63(&c.exclusive, &c.more.exclusive, ticks) }

func (c *cell) add(o *cell) {
	c.count += o.count
	c.orphans += o.orphans
	sum63(&c.inclusive, &c.more.inclusive, o.inclusive)
	sum63(&c.recursive, &c.more.recursive, o.recursive)
	sum63(&c.exclusive, &c.more.exclusive, o.exclusive)
	c.more.inclusive += o.more.inclusive
	c.more.recursive += o.more.recursive
	c.more.exclusive += o.more.exclusive
	c.min = min(c.min, o.min)
	c.max = max(c.max, o.max)
}

// frame is an open region.
type frame struct {
	enter int64
	mask  uint64 // location's mask without this and later frames
	slot  uint32
	flags uint8
}

// The flags of a frame.
const (
	recursive = 1 << iota
	before    // it was open when the window began
)

type location struct {
	stack []frame
	// mask has bit slot mod 64 set for each open region: most enters see
	// without a search that they are no recursion.
	mask        uint64
	since       int64 // up to here exclusive time is counted
	first, last int64
	cells       []cell
	phase       phase
	open        openset.Index[uint32] // the slots of stack
}

// phase says where a location's latest event lies.
type phase uint8

const (
	beforeWindow phase = iota
	inWindow
	behindWindow
)

type activity struct {
	count    int64
	ticks    trace.Ticks
	min, max int64
	unclosed int64
}

type resource struct {
	count      int64
	busy       int64
	amountTime float64
	maxOpen    int64
	maxAmount  float64
}

// New makes an empty part for a trace.
func New(d *trace.Definitions, opt Options) *Part {
	return &Part{defs: d, opt: opt, activities: map[uint32]activity{}, resources: map[uint32]resource{}}
}

// Batch takes events, of one location or mixed.
func (p *Part) Batch(b *trace.Batch) error {
	if b.Len() == 0 {
		return nil
	}
	other, refs := false, p.opt.Rows.Map(&p.rows, b.Ref)
	if b.Loc == trace.MixedLoc {
		for i := range b.Time {
			if !b.Kind[i].IsEvent() {
				continue
			}
			s, err := p.location(b.Locs[i], b.Time[i])
			if err != nil {
				return err
			}
			if p.take(s, b.Time[i:i+1], b.Kind[i:i+1], refs[i:i+1]) {
				other = true
			}
		}
	} else {
		times, kinds, refs := p.events(b.Time, b.Kind, refs)
		if len(times) == 0 {
			return nil
		}
		s, err := p.location(b.Loc, times[0])
		if err != nil {
			return err
		}
		other = p.take(s, times, kinds, refs)
	}
	if other {
		p.claims(b)
	}
	return nil
}

// Links are no part of a profile.
func (p *Part) Links([]trace.Link) error { return nil }

func (p *Part) location(loc uint32, t int64) (*location, error) {
	if int(loc) < len(p.locations) {
		if s := p.locations[loc]; s != nil {
			return s, nil
		}
	}
	n := p.defs.Locations.Len()
	if int(loc) >= n {
		return nil, fmt.Errorf("profile: found an event at location %d, expected one of the %d locations of the trace", loc, n)
	}
	if n > len(p.locations) {
		p.locations = append(p.locations, make([]*location, n-len(p.locations))...)
	}
	s := &location{first: t, last: t, since: t}
	if p.opt.Window == nil {
		s.phase = inWindow
	}
	p.locations[loc] = s
	return s, nil
}

// table is where the visits of a location count.
func (p *Part) table(s *location) *[]cell {
	if p.opt.Locations {
		return &s.cells
	}
	return &p.cells
}

// take takes events of one location and reports whether there are claims among
// them.
func (p *Part) take(s *location, times []int64, kinds []trace.Kind, refs []uint32) (claims bool) {
	w := p.opt.Window
	if w == nil {
		return p.run(s, p.table(s), times, kinds, refs)
	}
	if s.phase == beforeWindow {
		n, _ := slices.BinarySearch(times, w.From)
		claims = p.run(s, &p.before, times[:n], kinds[:n], refs[:n])
		if times, kinds, refs = times[n:], kinds[n:], refs[n:]; len(times) == 0 {
			return claims
		}
		p.begin(s, times[0])
	}
	n := 0
	if s.phase == inWindow {
		n, _ = slices.BinarySearch(times, w.To)
		claims = p.run(s, p.table(s), times[:n], kinds[:n], refs[:n]) || claims
		if n < len(times) {
			p.end(s)
		}
	}
	return claims || slices.Contains(kinds[n:], trace.ClaimBegin) || slices.Contains(kinds[n:], trace.ClaimEnd)
}

// begin begins the window at a location: what is open counts from there.
func (p *Part) begin(s *location, first int64) {
	s.phase, s.first, s.since = inWindow, p.opt.Window.Clip(first), p.opt.Window.From
	s.last = s.first
	for i := range s.stack {
		f := &s.stack[i]
		f.enter, f.flags = s.since, f.flags|before // it counts when it ends, unless that is at once
		if tab := p.table(s); int(f.slot) >= len(*tab) {
			p.grow(tab, f.slot)
		}
	}
}

// end ends the window at a location: what is open counts up to there.
func (p *Part) end(s *location) {
	closeAll(s, *p.table(s), p.opt.Window.To, nil)
	s.phase, s.stack = behindWindow, nil
	s.open.Reset()
}

// run counts the enters and leaves of one location in a table and reports whether
// there were claims among the rows.
func (p *Part) run(s *location, table *[]cell, times []int64, kinds []trace.Kind, refs []uint32) (claims bool) {
	if len(kinds) == 0 {
		return false
	}
	tab := *table
	times, refs = times[:len(kinds)], refs[:len(kinds)]
	stack, mask, since := s.stack, s.mask, s.since
	mapped := s.open.Mapped() // the mask has all bits then
	for i, k := range kinds {
		switch k {
		case trace.Enter:
			t, slot := times[i], refs[i]+1
			if n := len(stack); n > 0 {
				tab[stack[n-1].slot].pass(t - since)
			}
			since = t
			if int(slot) >= len(tab) {
				tab, slot = p.grow(table, slot)
			}
			bit := uint64(1) << (slot & 63)
			flags := uint8(0)
			if mask&bit != 0 {
				if s.find(stack, slot) >= 0 {
					flags = recursive
				}
				if mapped = s.open.Mapped(); mapped {
					mask = ^uint64(0)
					s.open.Open(slot, len(stack))
				}
			}
			stack = append(stack, frame{t, mask, slot, flags})
			mask |= bit
			tab[slot].count++
		case trace.Leave:
			t, slot := times[i], refs[i]+1
			if int(slot) >= len(tab) {
				tab, slot = p.grow(table, slot)
			}
			n := len(stack) - 1
			at := n
			if n < 0 || stack[n].slot != slot {
				at = s.find(stack, slot)
				if mapped = s.open.Mapped(); mapped {
					mask = ^uint64(0)
				}
				if at < 0 {
					tab[slot].orphans++
					continue
				}
			}
			tab[stack[n].slot].pass(t - since)
			since = t
			f := stack[at]
			if f.flags&before == 0 {
				tab[slot].visit(t-f.enter, f.flags&recursive != 0)
			} else if t > f.enter {
				tab[slot].count++
				tab[slot].visit(t-f.enter, f.flags&recursive != 0)
			}
			if mapped {
				stack = openset.Close(&s.open, stack, at, slot)
				if mapped = s.open.Mapped(); !mapped {
					mask = masks(stack, 0, 0)
				}
				continue
			}
			mask = f.mask
			if at == n {
				stack = stack[:n]
				continue
			}
			stack = openset.Close(&s.open, stack, at, slot)
			mask = masks(stack, at, mask)
		case trace.ClaimBegin, trace.ClaimEnd:
			claims = true
		}
	}
	s.stack, s.mask, s.since = stack, mask, since
	s.last = times[len(kinds)-1]
	return claims
}

// masks sets the masks of frames from a place on, below which the regions are those of mask, and
// returns that of all.
func masks(stack []frame, from int, mask uint64) uint64 {
	for i := from; i < len(stack); i++ {
		stack[i].mask = mask
		mask |= 1 << (stack[i].slot & 63)
	}
	return mask
}

// events leaves out rows that are no events: what never ends lasts until the last
// event, not until a later summary or marker.
func (p *Part) events(times []int64, kinds []trace.Kind, refs []uint32) ([]int64, []trace.Kind, []uint32) {
	from := 0
	for from < len(kinds) && kinds[from].IsEvent() {
		from++
	}
	if from == len(kinds) {
		return times, kinds, refs
	}
	k := &p.kept
	k.times, k.kinds, k.refs = append(k.times[:0], times[:from]...), append(k.kinds[:0], kinds[:from]...), append(k.refs[:0], refs[:from]...)
	for i := from + 1; i < len(kinds); i++ {
		if kinds[i].IsEvent() {
			k.times, k.kinds, k.refs = append(k.times, times[i]), append(k.kinds, kinds[i]), append(k.refs, refs[i])
		}
	}
	return k.times, k.kinds, k.refs
}

// find is the latest open frame of a region, -1 when there is none. Inlined, it would keep the stack of
// its caller in memory.
//
//go:noinline
func (s *location) find(stack []frame, slot uint32) int {
	return s.open.Find(slot, len(stack), func(i int) uint32 { return stack[i].slot })
}

// grow makes room for all regions defined so far; a region that is not defined
// is counted as the unknown one.
func (p *Part) grow(tab *[]cell, slot uint32) ([]cell, uint32) {
	for n := p.defs.Regions.Len() + 1; len(*tab) < n; {
		*tab = append(*tab, cell{min: math.MaxInt64})
	}
	if int(slot) >= len(*tab) {
		slot = 0
	}
	return *tab, slot
}

func (p *Part) claims(b *trace.Batch) {
	p.book.Step, p.book.Ended = p.step, p.ended
	w := p.opt.Window
	c := b.Cursor() // outside the loop, which would copy it each time
	for c.Next() {
		x, begun := p.book.Take(&c, w.Clip(c.Time()), w != nil && c.Time() < w.From)
		if !begun {
			continue
		}
		row := p.opt.Rows.Of(x.Region)
		p.activities[row] = p.activities[row].begun()
		if x.Resource != trace.NoRef {
			r := p.resources[x.Resource]
			r.count++
			p.resources[x.Resource] = r
		}
	}
}

func (p *Part) step(res uint32, from, to int64, l *claims.Level) {
	r := p.resources[res]
	r.busy += to - from
	r.maxOpen = max(r.maxOpen, l.Open)
	r.maxAmount = max(r.maxAmount, l.Amount())
	p.resources[res] = r
}

func (p *Part) ended(c claims.Claim, end int64) {
	row := p.opt.Rows.Of(c.Region)
	a, ticks := p.activities[row], end-c.Start
	outside := c.Outside(p.opt.Window, end)
	if outside {
		a.count--
	} else {
		a.ticks.Add(ticks)
		a.min, a.max = min(a.min, ticks), max(a.max, ticks)
	}
	p.activities[row] = a
	if c.Resource != trace.NoRef {
		r := p.resources[c.Resource]
		if outside {
			r.count--
		}
		r.amountTime += c.Amount * float64(ticks)
		p.resources[c.Resource] = r
	}
}

func (a activity) begun() activity {
	if a == (activity{}) {
		a.min = math.MaxInt64
	}
	a.count++
	return a
}

// Merge adds another part of the same trace, which must have seen other
// locations (and, for claims, other resources) and have the same options. The
// other part must not be used any more.
func (p *Part) Merge(o *Part) error {
	if p.defs != o.defs || p.opt != o.opt {
		return fmt.Errorf("profile: found parts of different traces or options")
	}
	var err error
	if p.locations, err = analysis.Join("profile", p.locations, o.locations); err != nil {
		return err
	}
	if err := p.book.Merge(&o.book); err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	p.cells = sum(p.cells, o.cells)
	for k, v := range o.activities {
		if a, ok := p.activities[k]; ok {
			v = activity{a.count + v.count, a.ticks.Plus(v.ticks), min(a.min, v.min), max(a.max, v.max), a.unclosed + v.unclosed}
		}
		p.activities[k] = v
	}
	maps.Copy(p.resources, o.resources)
	return nil
}

// sum adds b to a.
func sum(a, b []cell) []cell {
	for len(a) < len(b) {
		a = append(a, cell{min: math.MaxInt64})
	}
	for i := range b {
		a[i].add(&b[i])
	}
	return a
}

// Result is a profile. Times are ticks of Clock.
type Result struct {
	Clock trace.Clock `json:"clock"`
	// Regions are the regions that were visited, in the order of the
	// definitions; an unknown region comes first.
	Regions []Region `json:"regions"`
	// Locations are those with events; only when asked for.
	Locations []Location `json:"locations,omitempty"`
	// Covered is the time in which a region was open, added up over the
	// locations. It is the sum of the regions' exclusive times.
	Covered  trace.Ticks `json:"covered"`
	Unclosed int64       `json:"unclosed"` // enters without leave
	Orphans  int64       `json:"orphans"`  // leaves without enter

	// Activities are the regions that held claims, and Resources the resources
	// claimed, in the order of the definitions.
	Activities     []Activity `json:"activities,omitempty"`
	Resources      []Resource `json:"resources,omitempty"`
	UnclosedClaims int64      `json:"unclosedClaims"` // claims without end
	OrphanClaims   int64      `json:"orphanClaims"`   // ends without begin, begins without id
	// ReusedClaims counts claims that began with the id of an open claim; the
	// open one was ended there.
	ReusedClaims int64 `json:"reusedClaims"`
}

// Region is the profile of one region, also as weft profile, weft info and weft report show it.
type Region struct {
	Region uint32 `json:"region"` // index into Definitions.Regions, NoRef when not known
	ID     string `json:"id,omitempty"`
	Name   string `json:"name"`
	Group  string `json:"group,omitempty"`
	// Definitions are the ids of all regions that Options.Rows counts as this one, if there are several.
	Definitions []string `json:"definitions,omitempty"`
	Count       int64    `json:"count"` // enters
	// Inclusive is the time in which the region was open, added up over
	// locations; Exclusive that in which it was the innermost open one.
	Inclusive trace.Ticks `json:"inclusive"`
	Exclusive trace.Ticks `json:"exclusive"`
	// Sum is the lengths of all visits added up. It is greater than Inclusive
	// only for recursive regions. Min and Max are the shortest and longest
	// visit, visits inside others of the same region included.
	Sum      trace.Ticks `json:"sum"`
	Min      int64       `json:"min"`
	Max      int64       `json:"max"`
	Unclosed int64       `json:"unclosed"` // enters without leave, closed at the location's last event
	Orphans  int64       `json:"orphans"`  // leaves without enter, ignored
}

// Add adds the profile of the same region at other locations, or of one that counts as the same.
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

// Location is the profile of one location.
type Location struct {
	Location uint32   `json:"location"` // index into Definitions.Locations
	ID       string   `json:"id"`
	Name     string   `json:"name,omitempty"`
	FullName string   `json:"fullName"` // no other location has it ([trace.Definitions.FullNames])
	First    int64    `json:"first"`    // time of its first event
	Last     int64    `json:"last"`     // time of its last event
	Covered  int64    `json:"covered"`
	Regions  []Region `json:"regions,omitempty"`
}

// Activity is the profile of the claims of one activity.
type Activity struct {
	Region   uint32      `json:"region"` // index into Definitions.Regions, NoRef when not known
	Name     string      `json:"name"`
	Count    int64       `json:"count"`    // claims
	Time     trace.Ticks `json:"time"`     // lengths of its claims added up
	Min      int64       `json:"min"`      // the shortest claim
	Max      int64       `json:"max"`      // the longest claim
	Unclosed int64       `json:"unclosed"` // claims without end, closed at the location's last event
}

// Resource is the profile of one resource. A claim uses it from its begin to
// just before its end, so claims of no length count in Count only.
type Resource struct {
	Resource   uint32     `json:"resource"` // index into Definitions.Resources
	ID         string     `json:"id"`
	Name       string     `json:"name,omitempty"`
	Unit       string     `json:"unit,omitempty"` // of amounts
	Capacity   float64    `json:"capacity"`
	Count      int64      `json:"count"`         // claims
	Busy       int64      `json:"busy"`          // time with at least one claim
	AmountTime trace.Real `json:"amountTime"`    // integral of the amount held over time, unit × ticks
	MaxOpen    int64      `json:"maxConcurrent"` // most claims at a time
	MaxAmount  trace.Real `json:"maxAmount"`     // most held at a time
}

// Result is the profile of what the part has seen so far; the part can go on.
func (p *Part) Result() *Result {
	r := &Result{Clock: p.defs.Clock, Regions: []Region{}}
	total := slices.Clone(p.cells)
	unclosed := map[uint32]int64{}
	names, ids := p.defs.FullNames(), p.opt.Rows.IDs()
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
		l := Location{Location: uint32(loc), ID: d.ID, Name: d.Name, FullName: names[loc], First: s.first, Last: s.last, Regions: p.regions(cells, mine, ids)}
		for i := range l.Regions {
			l.Covered += l.Regions[i].Exclusive.Int64()
		}
		r.Locations = append(r.Locations, l)
	}
	r.Regions = p.regions(total, unclosed, ids)
	for i := range r.Regions {
		x := &r.Regions[i]
		r.Covered = r.Covered.Plus(x.Exclusive)
		r.Unclosed += x.Unclosed
		r.Orphans += x.Orphans
	}
	p.claimResult(r)
	return r
}

// closeAll closes the open regions of a location, in cells, and counts them in
// unclosed, which may be nil.
func closeAll(s *location, cells []cell, at int64, unclosed map[uint32]int64) {
	if n := len(s.stack); n > 0 {
		cells[s.stack[n-1].slot].pass(at - s.since)
	}
	for i, f := range s.stack {
		if s.open.Gap(i) {
			continue
		}
		if f.flags&before != 0 {
			if at <= f.enter {
				continue
			}
			cells[f.slot].count++
		}
		cells[f.slot].visit(at-f.enter, f.flags&recursive != 0)
		if unclosed != nil {
			unclosed[f.slot]++
		}
	}
}

func (p *Part) regions(cells []cell, unclosed map[uint32]int64, ids map[uint32][]string) []Region {
	out := []Region{}
	for slot, c := range cells {
		if c.count == 0 && c.orphans == 0 {
			continue
		}
		x := Region{Region: uint32(slot) - 1, Count: c.count, Inclusive: ticks(c.inclusive, c.more.inclusive), Exclusive: ticks(c.exclusive, c.more.exclusive),
			Sum: ticks(c.inclusive, c.more.inclusive).Plus(ticks(c.recursive, c.more.recursive)), Min: c.min, Max: c.max,
			Unclosed: unclosed[uint32(slot)], Orphans: c.orphans}
		if c.count == 0 {
			x.Min = 0
		}
		if slot > 0 {
			d := p.defs.Regions.At(uint32(slot - 1))
			x.ID, x.Name, x.Group, x.Definitions = d.ID, d.Name, d.Group, ids[x.Region]
		} else {
			x.Name = unknown
		}
		out = append(out, x)
	}
	return out
}

const unknown = "unknown"

func (p *Part) claimResult(r *Result) {
	// The open claims are closed in a copy.
	q := &Part{opt: p.opt, activities: maps.Clone(p.activities), resources: maps.Clone(p.resources)}
	q.book = p.book.Clone()
	q.book.Step = q.step
	q.book.Ended = func(c claims.Claim, end int64) {
		q.ended(c, end)
		if c.Outside(q.opt.Window, end) || q.opt.Window != nil && end >= q.opt.Window.To {
			return // it is not in the window, or its location goes on behind that
		}
		row := q.opt.Rows.Of(c.Region)
		a := q.activities[row]
		a.unclosed++
		q.activities[row] = a
		r.UnclosedClaims++
	}
	q.book.Close(p.ending)
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
	// Adding one brings NoRef to the front, as among the regions.
	slices.SortFunc(r.Activities, func(a, b Activity) int { return cmp.Compare(a.Region+1, b.Region+1) })
	for k, a := range q.resources {
		if a.count == 0 {
			continue
		}
		x := Resource{Resource: k, Count: a.count, Busy: a.busy, AmountTime: trace.Real(a.amountTime), MaxOpen: a.maxOpen, MaxAmount: trace.Real(a.maxAmount)}
		if p.defs.Resources.Has(k) {
			d := p.defs.Resources.At(k)
			x.ID, x.Name, x.Unit, x.Capacity = d.ID, d.Name, d.Unit, d.Capacity
		}
		r.Resources = append(r.Resources, x)
	}
	slices.SortFunc(r.Resources, func(a, b Resource) int { return cmp.Compare(a.Resource, b.Resource) })
}

// ending is where the open claims of a location end: at its last event.
func (p *Part) ending(loc uint32) int64 {
	s := p.locations[loc]
	switch s.phase {
	case beforeWindow:
		return p.opt.Window.From
	case behindWindow:
		return p.opt.Window.To
	}
	return s.last
}
