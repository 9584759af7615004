// Package usage computes how the resources of a trace are used over time, and throughput, work in progress and
// latency by Little's law.
//
// The use U(t) of a resource is the number of claims, or the sum of their amounts, that are open at t. A claim
// is open from its begin to just before its end. A claim of length 0 therefore uses nothing. Claims without an
// end are closed at the last event of their location.
package usage

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/weft-trace/weft/analysis/internal/claims"
	"github.com/weft-trace/weft/analysis/internal/signals"
	"github.com/weft-trace/weft/trace"
)

// Options are the settings of an analysis.
type Options struct {
	// Levels is the greatest number of amounts of a resource that the histogram distinguishes. If there are
	// more amounts, the histogram combines them into ranges of equal width. 0 means 1000. The least value is
	// 4.
	Levels int
	// Steps is the greatest number of steps of U(t) to keep for each resource. If there are more steps, short
	// neighbouring steps are replaced by one step with their average. 0 keeps no steps.
	Steps int
	// Window limits the result to the time in it. Nil means the whole trace. A part needs the events that
	// [trace.Selection.Surrounding] selects: the events before the window, which determine the claims that are
	// open at its begin, and at least one event after the window of each location that has such an event.
	Window *trace.Window
	// Regions limits the result to claims whose region Regions accepts. Nil means all claims.
	Regions func(region uint32) bool
}

// Part computes the use of the resources of a trace. It needs only the events of each location in
// order. For each resource it keeps as many levels and steps as the options allow. It uses up to 512
// bytes per open claim, or up to 256 if more than 1024 claims are open.
type Part struct {
	defs      *trace.Definitions
	opt       Options
	book      claims.Book
	resources []*resource      // indexed by resource; nil for resources that were not used
	last      claims.LastTimes // times of the last events of locations
	// first is the time of the first event, and end the latest end of an event. Both are valid if any is set.
	first int64
	end   int64
	any   bool
}

// resource is the use of a resource so far. Times are in ticks.
type resource struct {
	count int64
	open  []int64 // indexed by number of open claims: the time in ticks with this number
	// amounts holds the time, in ticks, for each range of amounts, by [amountKey] of the lower end of the range.
	amounts claims.Table[int64]
	// recent points to the time of the range that begins at recentLow, the last one to which time was added. Nil means
	// that there is none.
	recent    *int64
	recentLow float64
	held      claims.Sum // integral of the amount over time
	peak      float64
	width     float64 // width of the ranges of amounts; 0 if each amount is a separate range
	steps     []Step
	shortest  int64 // steps up to this length in ticks have been combined
}

// amountTime is the time, in ticks, during which an amount in a range was held.
type amountTime struct {
	low  float64 // lower end of the range
	time int64
}

// New returns an empty part for a trace.
func New(d *trace.Definitions, opt Options) *Part {
	if opt.Levels <= 0 {
		opt.Levels = 1000
	}
	opt.Levels = max(opt.Levels, 4)
	p := &Part{defs: d, opt: opt, book: claims.Book{Defs: d, Regions: opt.Regions}}
	if p.book.Step = p.step; opt.Window != nil {
		p.book.Ended = p.endClaim
	}
	return p
}

// Batch processes a batch, whose events may belong to one location or to several.
func (p *Part) Batch(b *trace.Batch) error {
	if b.Len() == 0 {
		return nil
	}
	first, end := b.Time[0], b.End()
	if p.any {
		first, end = min(first, p.first), max(end, p.end)
	}
	p.first, p.end, p.any = first, end, true
	p.last.Add(b)
	if !slices.Contains(b.Kind, trace.ClaimBegin) && !slices.Contains(b.Kind, trace.ClaimEnd) {
		return nil
	}
	w := p.opt.Window
	// declared outside of the loop: a declaration inside of the loop would copy the cursor for each row
	c := b.Cursor()
	for c.Next() {
		if w != nil && !trace.Before(c.Time(), w.To) {
			continue // claims that are open at the end of the window end there
		}
		x := p.book.Take(&c, w.Clip(c.Time()), w != nil && c.Time() < w.From)
		if x != nil && x.Resource != trace.NoRef {
			p.resource(x.Resource).count++
		}
	}
	return nil
}

// Links ignores links.
func (p *Part) Links([]trace.Link) error { return nil }

// resource returns the state of a resource, which it creates if needed.
func (p *Part) resource(i uint32) *resource {
	if int(i) >= len(p.resources) {
		p.resources = append(p.resources, make([]*resource, int(i)+1-len(p.resources))...)
	}
	if p.resources[i] == nil {
		p.resources[i] = &resource{peak: math.Inf(-1)}
	}
	return p.resources[i]
}

// step counts an interval during which the open claims of a resource did not change.
func (p *Part) step(res uint32, from, to int64, l *claims.Level) {
	r := p.resource(res)
	if n := int(l.Open) + 1; n > len(r.open) {
		r.open = append(r.open, make([]int64, n-len(r.open))...)
	}
	r.open[l.Open] += to - from
	a := l.Amount()
	if area := a * float64(to-from); !math.IsInf(area, 0) {
		r.held.Add(area)
	} else {
		l.AddArea(&r.held, to-from)
	}
	if a > r.peak { // faster than the function max; an amount is never NaN
		r.peak = a
	}
	r.add(r.low(a), to-from)
	if r.amounts.Len() > p.opt.Levels {
		r.widen(p.opt.Levels)
	}
	if p.opt.Steps > 0 {
		r.steps = append(r.steps, Step{from, to, trace.Real(l.Open), trace.Real(l.FiniteAmount())})
		if len(r.steps) > max(p.opt.Steps, 2) {
			r.join(max(p.opt.Steps, 2))
		}
	}
}

// endClaim handles the end of a claim. It does not count a claim that was not in the window.
func (p *Part) endClaim(c claims.Claim, end int64) {
	if c.Resource != trace.NoRef && c.Outside(p.opt.Window, end) {
		p.resource(c.Resource).count--
	}
}

// low returns the lower end of the range that contains amount a.
func (r *resource) low(a float64) float64 {
	if r.width == 0 || math.IsInf(a, 0) {
		return a
	}
	return math.Floor(a/r.width) * r.width
}

// amountKey returns the key of a range of amounts from its lower end.
func amountKey(low float64) claims.Key {
	return claims.Key{ID: int64(math.Float64bits(low + 0))} // the sum of -0 and 0 is 0
}

// add adds the time of a range of amounts.
func (r *resource) add(low float64, time int64) {
	if r.recent == nil || low != r.recentLow {
		r.recent, _ = r.amounts.Place(amountKey(low))
		r.recentLow = low
	}
	*r.recent += time
}

// sortedAmounts returns the times of all ranges of amounts, in ascending order of the amounts.
func (r *resource) sortedAmounts() []amountTime {
	list := make([]amountTime, 0, r.amounts.Len())
	for k, time := range r.amounts.All() {
		list = append(list, amountTime{math.Float64frombits(uint64(k.ID)), time})
	}
	slices.SortFunc(list, func(x, y amountTime) int { return cmp.Compare(x.low, y.low) })
	return list
}

// greatestWidth is the greatest width of a range of amounts, the greatest power of two.
const greatestWidth = 0x1p1023

// widen doubles the width of the ranges of amounts until at most limit/2 are in use.
func (r *resource) widen(limit int) {
	list := r.sortedAmounts()
	if r.width == 0 {
		// The width is a power of two, so that the bounds of joined ranges are exact.
		_, e := math.Frexp((list[len(list)-1].low - list[0].low) / float64(limit))
		r.width = math.Ldexp(1, e)
	}
	for {
		r.amounts, r.recent = claims.Table[int64]{}, nil
		for _, x := range list {
			r.add(r.low(x.low), x.time)
		}
		if r.amounts.Len() <= limit/2 || r.width >= greatestWidth {
			return
		}
		r.width *= 2
	}
}

// join replaces short neighbouring steps with their average until at most limit/2 steps remain. The
// integral does not change.
func (r *resource) join(limit int) {
	for len(r.steps) > limit/2 {
		r.shortest = max(1, 2*r.shortest)
		n := 0
		for _, s := range r.steps[1:] {
			t := &r.steps[n]
			if s.To-t.From > r.shortest {
				n++
				r.steps[n] = s
				continue
			}
			whole := trace.Real(s.To - t.From)
			a, b := trace.Real(t.To-t.From)/whole, trace.Real(s.To-s.From)/whole
			*t = Step{From: t.From, To: s.To, Open: a*t.Open + b*s.Open, Amount: a*t.Amount + b*s.Amount}
		}
		r.steps = r.steps[:n+1]
	}
}

// Merge adds another part of the same trace. Both must have the same options and have processed
// different locations and different resources. The other part must not be used afterwards.
func (p *Part) Merge(o *Part) error {
	if p.defs != o.defs || p.opt.Levels != o.opt.Levels || p.opt.Steps != o.opt.Steps || p.opt.Window != o.opt.Window {
		return fmt.Errorf("usage: found parts of different traces or options")
	}
	if err := p.book.Merge(&o.book); err != nil {
		return fmt.Errorf("usage: %w", err)
	}
	if o.any {
		if p.any {
			o.first, o.end = min(p.first, o.first), max(p.end, o.end)
		}
		p.first, p.end, p.any = o.first, o.end, true
	}
	for i, r := range o.resources {
		if r == nil {
			continue
		}
		p.resource(uint32(i))
		p.resources[i] = r
	}
	p.last.Merge(o.last)
	return nil
}

// Result holds the use of all resources. Times are in ticks of Clock.
type Result struct {
	Clock trace.Clock `json:"clock"`
	// First is the time of the first event of the part, of any kind. Last is the latest end of an event
	// ([trace.Batch.End]). With a window, both are limited to the window. Histograms and means cover the time
	// from First to Last.
	First int64 `json:"first"`
	Last  int64 `json:"last"`
	// Resources holds all resources in the order of the definitions, also those without claims.
	Resources []Resource `json:"resources"`
	// Unclosed is the number of claims without an end. Orphans is the number of ends without a begin, and of
	// begins without an id. Reused is the number of claims that have the id of an open claim; such a claim
	// ends the open one. None of these numbers includes events after the window.
	Unclosed int64 `json:"unclosed"`
	Orphans  int64 `json:"orphans"`
	Reused   int64 `json:"reused"`
}

// Resource holds the use of one resource.
type Resource struct {
	Resource uint32  `json:"resource"` // index into Definitions.Resources
	ID       string  `json:"id"`
	Name     string  `json:"name,omitempty"`
	Unit     string  `json:"unit,omitempty"` // unit of amounts
	Capacity float64 `json:"capacity"`
	Claims   int64   `json:"claims"`
	// Mean is the average amount that claims held from First to Last. Peak is the greatest amount. Either is
	// infinite if it is too large for a float64.
	Mean trace.Real `json:"mean"`
	Peak trace.Real `json:"peak"`
	// Open is indexed by number of claims: the time in ticks with exactly this number of open claims.
	Open []int64 `json:"open"`
	// Amounts holds, for each amount or range of amounts, the time during which the amount was held. It is in
	// ascending order of the amount. The entry for amount 0 has the time without claims.
	Amounts []Level `json:"amounts"`
	// Steps holds the steps of U(t), up to Options.Steps. It leaves out the times at which U(t) is 0.
	Steps []Step `json:"steps,omitempty"`
}

// Level is the time in ticks during which an amount in a range was held.
type Level struct {
	// Amount is the lower end of the range [Amount, Amount + Width). Width is 0 if the amount is
	// exact.
	Amount trace.Real `json:"amount"`
	Width  trace.Real `json:"width,omitempty"`
	Time   int64      `json:"time"`
}

// Step is an interval in which the use of a resource was constant.
type Step struct {
	From int64      `json:"from"`
	To   int64      `json:"to"`
	Open trace.Real `json:"open"` // number of open claims; an average if steps were combined
	// Amount is the amount held; an average if steps were combined. An amount that is too large for a float64 is
	// the greatest finite number, because traces cannot store infinite values.
	Amount trace.Real `json:"amount"`
}

// Result returns the use so far. The part can process further events.
func (p *Part) Result() *Result {
	q := &Part{opt: p.opt, resources: make([]*resource, len(p.resources))}
	for i, r := range p.resources {
		if r != nil {
			c := *r
			c.open, c.amounts, c.steps = slices.Clone(r.open), r.amounts.Clone(), slices.Clone(r.steps)
			c.recent = nil
			q.resources[i] = &c
		}
	}
	q.book = p.book.Clone()
	w := p.opt.Window
	out := &Result{Clock: p.defs.Clock, First: w.Clip(p.first), Last: w.Clip(p.end), Orphans: p.book.Orphans,
		Reused: p.book.Reused, Resources: []Resource{}}
	q.book.Step = q.step
	q.book.Ended = func(c claims.Claim, end int64) {
		q.endClaim(c, end)
		if ends := w == nil || trace.Before(p.last.At(c.Location), w.To); ends && !c.Outside(w, end) {
			out.Unclosed++
		}
	}
	for i := range p.defs.Resources.Len() {
		q.resource(uint32(i))
	}
	q.book.Close(func(loc uint32) int64 { return w.Clip(p.last.At(loc)) })
	for i, r := range q.resources {
		if r == nil {
			continue
		}
		x := Resource{Resource: uint32(i), Claims: r.count, Open: r.open, Amounts: []Level{}, Steps: r.steps}
		if p.defs.Resources.Has(uint32(i)) {
			d := p.defs.Resources.At(uint32(i))
			x.ID, x.Name, x.Unit, x.Capacity = d.ID, d.Name, d.Unit, d.Capacity
		}
		free := out.Last - out.First
		if free > 0 {
			x.Mean = trace.Real(r.held.Mean(float64(free)))
		}
		for _, t := range r.open {
			free -= t
		}
		if len(x.Open) == 0 {
			x.Open = []int64{0}
		}
		x.Open[0] = free
		if free > 0 {
			r.add(r.low(0), free)
		}
		if free > 0 || r.amounts.Len() == 0 {
			r.peak = max(r.peak, 0) // no claim is open
		}
		x.Peak = trace.Real(r.peak)
		for _, a := range r.sortedAmounts() {
			x.Amounts = append(x.Amounts, Level{trace.Real(a.low), trace.Real(r.width), a.time})
		}
		out.Resources = append(out.Resources, x)
	}
	return out
}

// Percent returns the percentage of the time from First to Last in which exactly k claims were
// open.
func (r *Result) Percent(x *Resource, k int) float64 {
	if k >= len(x.Open) || r.Last == r.First {
		return 0
	}
	return 100 * float64(x.Open[k]) / float64(r.Last-r.First)
}

// Signal is a function of time that consists of consecutive linear pieces without gaps, ordered by
// time.
type Signal = signals.Signal

// Statistics holds the number of ticks that statistics of a signal cover, and the time-weighted mean, the smallest and
// the greatest value in them. Without ticks, these values are 0.
type Statistics = signals.Statistics

// Piece is a linear piece of a signal. The value goes from Start at time From to End just before
// time To. Times are in ticks.
type Piece = signals.Piece

// Signal returns U(t) of a resource from First to Last: the amount held if amount is set, otherwise
// the number of claims. It requires Options.Steps.
func (r *Result) Signal(x *Resource, amount bool) Signal {
	s := Signal{}
	at := r.First
	for _, t := range x.Steps {
		s.Add(at, t.From, 0)
		v := t.Open
		if amount {
			v = t.Amount
		}
		s.Add(t.From, t.To, float64(v))
		at = t.To
	}
	s.Add(at, r.Last, 0)
	return s
}
