// Package profile computes how often and how long each region was open, how long each activity held claims,
// and how much each resource was used.
//
// A leave closes the latest open enter of the same region at its location, even if other regions were entered
// since (PICL does not nest). The inclusive time of a region is the time in which it is open at least once at
// a location, so that recursion does not count twice. The exclusive time is the time in which the region is
// the innermost one, that is, the open region that was entered last. A leave of a region that is not innermost
// does not change which region is innermost. Therefore the exclusive times of one location add up to its
// covered time: the time in which any region is open.
//
// Regions and claims that never end are closed at the last event of their location.
//
// The profile of a window counts the visits and claims that overlap it, and only their time inside of it. A
// visit that ends exactly where the window begins is excluded, unless it also begins there. The times of
// consecutive windows add up to the times of the whole trace. The counts do not add up, because a visit that
// is open at the border of two windows counts in both.
//
// A part needs only the events of each location in order. It uses memory for the definitions (72 bytes per
// region, and for each location if requested), 24 bytes per open region and about 64 bytes per open claim.
package profile

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"

	"github.com/weft-trace/weft/analysis"
	"github.com/weft-trace/weft/analysis/internal/claims"
	"github.com/weft-trace/weft/internal/openset"
	"github.com/weft-trace/weft/trace"
)

// Options are the settings of a profile.
type Options struct {
	// Locations also requests the profile of each location by itself.
	Locations bool
	// Window limits the profile to the time in it. Nil means the whole trace. Parts still need the events
	// before the window, which determine the regions that are open at its begin. Parts also need at least one
	// event of each location after the window. This event shows that regions that are open at the end of the
	// window continue ([trace.Selection.Surrounding]).
	Window *trace.Window
	// Rows maps each region to the row that stands for all regions counted together with it. Nil
	// counts each region by itself. Parts that are merged must have the same Rows.
	Rows *trace.Rows
}

// Part is the profile of some locations of a trace.
type Part struct {
	defs      *trace.Definitions
	opt       Options
	cells     []cell      // indexed by slot; unused if each location has cells of its own
	before    []cell      // indexed by slot: counts before the window, which are discarded
	locations []*location // indexed by location; nil for locations without events
	scratch   []uint32    // the rows of the regions of a batch
	// rows of a batch that are events, if the batch also has other rows; reused for each batch
	kept struct {
		times []int64
		kinds []trace.Kind
		refs  []uint32
	}

	book       claims.Book
	activities map[uint32]activity
	resources  map[uint32]resource
}

// cell sums the visits of a region, in ticks. Its slot, the index in lists of cells, is the region's index
// plus one; slot 0 is for visits of unknown regions. Each sum is stored in two fields, because adding is
// fastest in this form: a value below 2⁶³ in the field itself, and the number of multiples of 2⁶³ in more.
type cell struct {
	count     int64
	orphans   int64
	inclusive int64
	recursive int64 // visits inside other visits of the same region
	exclusive int64
	min, max  int64
	more      struct{ inclusive, recursive, exclusive uint32 }
}

// sum63 adds n, which must not be negative, to the sum low + 2⁶³·more.
func sum63(low *int64, more *uint32, n int64) {
	if *low += n; *low < 0 {
		*low &= math.MaxInt64
		*more++
	}
}

// ticks returns the sum low + 2⁶³·more.
func ticks(low int64, more uint32) trace.Ticks {
	t := trace.TicksOf(low)
	if more > 0 { // a rare case
		t = t.Plus(trace.TicksOf(math.MaxInt64).Plus(trace.TicksOf(1)).Times(int64(more)))
	}
	return t
}

// visit adds the duration of a visit; recursive is set for a visit inside another visit of the
// region.
func (c *cell) visit(ticks int64, recursive bool) {
	if recursive {
		sum63(&c.recursive, &c.more.recursive, ticks)
	} else {
		sum63(&c.inclusive, &c.more.inclusive, ticks)
	}
	c.min = min(c.min, ticks)
	c.max = max(c.max, ticks)
}

// addExclusive adds time in which the region is the innermost one.
func (c *cell) addExclusive(ticks int64) { sum63(&c.exclusive, &c.more.exclusive, ticks) }

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

// frame is an open visit of a region.
type frame struct {
	// enter is the time of the enter, or the begin of the window if that is later.
	enter int64
	mask  uint64 // location.mask when the visit was entered, without its own bit
	slot  uint32
	flags uint8
}

// The flags of a frame.
const (
	isRecursive      = 1 << iota
	openBeforeWindow // the visit was open at the begin of the window
)

// location is the state of a location. Times are in ticks.
type location struct {
	stack []frame
	// mask has bit slot mod 64 set for each open region. An enter whose bit is not set is not recursive, so
	// that most enters need no search.
	mask        uint64
	since       int64 // exclusive time is counted up to this time
	first, last int64
	cells       []cell
	phase       phase
	open        openset.Index[uint32] // index of the slots of stack
}

// phase is the position of a location's latest event relative to the window.
type phase uint8

const (
	beforeWindow phase = iota
	inWindow
	afterWindow
)

// activity sums the claims of an activity, in ticks.
type activity struct {
	count    int64
	ticks    trace.Ticks
	min, max int64
	unclosed int64
}

// resource sums the claims of a resource.
type resource struct {
	count      int64
	busy       int64
	amountTime float64
	maxOpen    int64
	maxAmount  float64
}

// New returns an empty part for a trace.
func New(d *trace.Definitions, opt Options) *Part {
	return &Part{defs: d, opt: opt, book: claims.Book{Defs: d}, activities: map[uint32]activity{},
		resources: map[uint32]resource{}}
}

// Batch processes a batch, whose events may belong to one location or to several.
func (p *Part) Batch(b *trace.Batch) error {
	if b.Len() == 0 {
		return nil
	}
	other, refs := false, p.opt.Rows.Map(&p.scratch, b.Ref)
	if b.Loc == trace.MixedLoc {
		for i := range b.Time {
			if !b.Kind[i].IsEvent() {
				continue
			}
			s, err := p.location(b.Locs[i], b.Time[i])
			if err != nil {
				return err
			}
			if p.addEvents(s, b.Time[i:i+1], b.Kind[i:i+1], refs[i:i+1]) {
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
		other = p.addEvents(s, times, kinds, refs)
	}
	if other {
		p.claims(b)
	}
	return nil
}

// Links ignores links.
func (p *Part) Links([]trace.Link) error { return nil }

// location returns the state of a location, which it creates if needed, with t as the time of its
// first event.
func (p *Part) location(loc uint32, t int64) (*location, error) {
	if int(loc) < len(p.locations) {
		if s := p.locations[loc]; s != nil {
			return s, nil
		}
	}
	n := p.defs.Locations.Len()
	if int(loc) >= n {
		return nil, fmt.Errorf("profile: found an event at location %d, expected one of the %d locations of the trace", loc,
			n)
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

// table returns the list of cells for the visits of a location.
func (p *Part) table(s *location) *[]cell {
	if p.opt.Locations {
		return &s.cells
	}
	return &p.cells
}

// addEvents adds events of one location, in the window and before it, and reports whether any of
// them is of a claim.
func (p *Part) addEvents(s *location, times []int64, kinds []trace.Kind, refs []uint32) (claims bool) {
	w := p.opt.Window
	if w == nil {
		return p.count(s, p.table(s), times, kinds, refs)
	}
	if s.phase == beforeWindow {
		n, _ := slices.BinarySearch(times, w.From)
		claims = p.count(s, &p.before, times[:n], kinds[:n], refs[:n])
		if times, kinds, refs = times[n:], kinds[n:], refs[n:]; len(times) == 0 {
			return claims
		}
		p.beginWindow(s, times[0])
	}
	n := 0
	if s.phase == inWindow {
		n = sort.Search(len(times), func(i int) bool { return !trace.Before(times[i], w.To) })
		claims = p.count(s, p.table(s), times[:n], kinds[:n], refs[:n]) || claims
		if n < len(times) {
			p.endWindow(s)
		}
	}
	return claims || slices.Contains(kinds[n:], trace.ClaimBegin) || slices.Contains(kinds[n:], trace.ClaimEnd)
}

// beginWindow begins the window at a location, whose first event in it is at time first. Open
// visits count from the begin of the window.
func (p *Part) beginWindow(s *location, first int64) {
	s.phase, s.first, s.since = inWindow, p.opt.Window.Clip(first), p.opt.Window.From
	s.last = s.first
	for i := range s.stack {
		f := &s.stack[i]
		// the visit counts at its end, if the end is after the begin of the window
		f.enter, f.flags = s.since, f.flags|openBeforeWindow
		if tab := p.table(s); int(f.slot) >= len(*tab) {
			p.grow(tab, f.slot)
		}
	}
}

// endWindow ends the window at a location. Open visits count up to the end of the window.
func (p *Part) endWindow(s *location) {
	closeAll(s, *p.table(s), p.opt.Window.To, nil)
	s.phase, s.stack = afterWindow, nil
	s.open.Reset()
}

// count counts the enters and leaves of one location in a table, and reports whether any of the
// events is of a claim.
func (p *Part) count(s *location, table *[]cell, times []int64, kinds []trace.Kind, refs []uint32) (claims bool) {
	if len(kinds) == 0 {
		return false
	}
	tab := *table
	times, refs = times[:len(kinds)], refs[:len(kinds)]
	stack, mask, since := s.stack, s.mask, s.since
	mapped := s.open.Mapped() // if set, all bits of the mask are set
	for i, k := range kinds {
		switch k {
		case trace.Enter:
			t, slot := times[i], refs[i]+1
			if n := len(stack); n > 0 {
				tab[stack[n-1].slot].addExclusive(t - since)
			}
			since = t
			if int(slot) >= len(tab) {
				tab, slot = p.grow(table, slot)
			}
			bit := uint64(1) << (slot & 63)
			flags := uint8(0)
			if mask&bit != 0 {
				if s.find(stack, slot) >= 0 {
					flags = isRecursive
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
			tab[stack[n].slot].addExclusive(t - since)
			since = t
			f := stack[at]
			if f.flags&openBeforeWindow == 0 {
				tab[slot].visit(t-f.enter, f.flags&isRecursive != 0)
			} else if t > f.enter {
				tab[slot].count++
				tab[slot].visit(t-f.enter, f.flags&isRecursive != 0)
			}
			if mapped {
				stack = openset.Close(&s.open, stack, at, slot)
				if mapped = s.open.Mapped(); !mapped {
					mask = setMasks(stack, 0, 0)
				}
				continue
			}
			mask = f.mask
			if at == n {
				stack = stack[:n]
				continue
			}
			stack = openset.Close(&s.open, stack, at, slot)
			mask = setMasks(stack, at, mask)
		case trace.ClaimBegin, trace.ClaimEnd:
			claims = true
		}
	}
	s.stack, s.mask, s.since = stack, mask, since
	s.last = times[len(kinds)-1]
	return claims
}

// setMasks sets the masks of the frames from index from on. mask is the mask of the regions below them.
// setMasks returns the mask of all open regions.
func setMasks(stack []frame, from int, mask uint64) uint64 {
	for i := from; i < len(stack); i++ {
		stack[i].mask = mask
		mask |= 1 << (stack[i].slot & 63)
	}
	return mask
}

// events returns the rows that are events. Other rows, such as later summaries and markers, must
// not prolong visits that are never left. The result is valid until the next call.
func (p *Part) events(times []int64, kinds []trace.Kind, refs []uint32) ([]int64, []trace.Kind, []uint32) {
	from := 0
	for from < len(kinds) && kinds[from].IsEvent() {
		from++
	}
	if from == len(kinds) {
		return times, kinds, refs
	}
	k := &p.kept
	k.times, k.kinds, k.refs = append(k.times[:0], times[:from]...), append(k.kinds[:0], kinds[:from]...),
		append(k.refs[:0], refs[:from]...)
	for i := from + 1; i < len(kinds); i++ {
		if kinds[i].IsEvent() {
			k.times, k.kinds, k.refs = append(k.times, times[i]), append(k.kinds, kinds[i]), append(k.refs, refs[i])
		}
	}
	return k.times, k.kinds, k.refs
}

// find returns the index of the latest open visit of a region, or -1 if there is none. It must not
// be inlined: then the compiler would keep the caller's variable stack in memory instead of in
// registers.
//
//go:noinline
func (s *location) find(stack []frame, slot uint32) int {
	return s.open.Find(slot, len(stack), func(i int) uint32 { return stack[i].slot })
}

// grow extends a table to all regions defined so far, and returns the table. It also returns slot, or 0 if the
// region of slot is undefined.
func (p *Part) grow(tab *[]cell, slot uint32) ([]cell, uint32) {
	for n := p.defs.Regions.Len() + 1; len(*tab) < n; {
		*tab = append(*tab, cell{min: math.MaxInt64})
	}
	if int(slot) >= len(*tab) {
		slot = 0
	}
	return *tab, slot
}

// claims counts the claims of a batch.
func (p *Part) claims(b *trace.Batch) {
	p.book.Step, p.book.Ended = p.step, p.endClaim
	w := p.opt.Window
	c := b.Cursor() // declared before the loop, because it would be copied for each row in it
	for c.Next() {
		x := p.book.Take(&c, w.Clip(c.Time()), w != nil && c.Time() < w.From)
		if x == nil {
			continue
		}
		row := p.opt.Rows.Of(x.Region)
		p.activities[row] = p.activities[row].plusClaim()
		if x.Resource != trace.NoRef {
			r := p.resources[x.Resource]
			r.count++
			p.resources[x.Resource] = r
		}
	}
}

// step adds the time between two times at which the claims of a resource changed.
func (p *Part) step(res uint32, from, to int64, l *claims.Level) {
	r := p.resources[res]
	r.busy += to - from
	r.maxOpen = max(r.maxOpen, l.Open)
	r.maxAmount = max(r.maxAmount, l.Amount())
	p.resources[res] = r
}

// endClaim counts a claim that ends.
func (p *Part) endClaim(c claims.Claim, end int64) {
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

// plusClaim returns the sums after counting one further claim.
func (a activity) plusClaim() activity {
	if a == (activity{}) {
		a.min = math.MaxInt64
	}
	a.count++
	return a
}

// Merge adds another part of the same trace. Both must have the same options and have processed
// different locations and, for claims, different resources. The other part must not be used
// afterwards.
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

// sum returns the element-wise sum of two tables. It changes a.
func sum(a, b []cell) []cell {
	for len(a) < len(b) {
		a = append(a, cell{min: math.MaxInt64})
	}
	for i := range b {
		a[i].add(&b[i])
	}
	return a
}
