// Package claims keeps the open claims of a trace, and the amount of each resource in use.
package claims

import (
	"fmt"
	"math"
	"slices"

	"github.com/weft-trace/weft/trace"
)

// Key identifies an open claim. A claim ends at the location at which it began, so that different locations
// can use the same id.
type Key struct {
	ID       int64 // see [trace.Definitions.ClaimID]
	Location uint32
}

// KeyOf returns the key of the claim that an event of a trace begins or ends.
func KeyOf(d *trace.Definitions, e *trace.Cursor) Key { return Key{d.ClaimID(e), e.Location()} }

// Claim is a claim that has begun. Start is in ticks.
type Claim struct {
	Key
	Region, Resource uint32 // NoRef when unknown
	Start            int64
	Amount           float64
	Before           bool // the claim began before the window; Start can be the begin of the window
}

// Outside reports whether a claim lies outside of the window w: it begins before the window and ends no
// later than the window begins, or it begins after the window. Start and end must be limited to the
// window.
func (c *Claim) Outside(w *trace.Window, end int64) bool {
	return w != nil && (!trace.Before(c.Start, w.To) || end <= w.From && c.Before)
}

// LastTimes is indexed by location: the time of the last event, in ticks. It is 0 for a location without events,
// and can be shorter than the list of locations. Claims without an end end at this time.
type LastTimes []int64

// At returns the time of the last event of a location, or 0 without events.
func (l LastTimes) At(location uint32) int64 {
	if int(location) >= len(l) {
		return 0
	}
	return l[location]
}

// Add sets the times of the locations of a batch. Rows that are no events ([trace.Kind.IsEvent]) do not count.
func (l *LastTimes) Add(b *trace.Batch) {
	if b.Loc == trace.MixedLoc {
		for i, loc := range b.Locs[:b.Len()] {
			if b.Kind[i].IsEvent() {
				l.set(loc, b.Time[i])
			}
		}
		return
	}
	for i := b.Len() - 1; i >= 0; i-- {
		if b.Kind[i].IsEvent() {
			l.set(b.Loc, b.Time[i])
			return
		}
	}
}

// set stores the time of a location.
func (l *LastTimes) set(location uint32, t int64) {
	if int(location) >= len(*l) {
		*l = append(*l, make([]int64, int(location)+1-len(*l))...)
	}
	(*l)[location] = t
}

// Merge adds the times of other locations.
func (l *LastTimes) Merge(o LastTimes) {
	for loc, t := range o {
		if t != 0 {
			l.set(uint32(loc), t)
		}
	}
}

// Sum is a sum of floats that keeps the rounding error in a second number. As a result, adding and then
// subtracting a number gives exactly the previous sum: 0.1 + 0.2 - 0.1 is 0.2. This also holds if the sum is too
// large for a float64 in between.
type Sum struct {
	hi, lo float64
	// large holds the sum of the numbers that are not less than largeNumber, multiplied by largeScale. It is nil
	// without such numbers.
	large *Sum
}

const (
	largeNumber = 0x1p896
	largeScale  = 0x1p-128
)

// Add adds x, which must be finite.
func (s *Sum) Add(x float64) {
	if math.Abs(x) >= largeNumber {
		s.addLarge(x * largeScale)
		return
	}
	s.addSmall(x)
}

// addSmall adds x, for |x| < largeNumber. The compiler inlines it.
func (s *Sum) addSmall(x float64) {
	// The rounding error is computed without a comparison of hi and x, which processors often mispredict.
	t := s.hi + x
	added := t - s.hi
	s.lo += (s.hi - (t - added)) + (x - added)
	s.hi = t
}

// addLarge adds x / largeScale. Copies of the sum keep the old value.
func (s *Sum) addLarge(x float64) {
	large := Sum{}
	if s.large != nil {
		large = *s.large
	}
	large.Add(x)
	s.large = &large
}

// AddArea adds v * n, for finite v and |n| < 2^63. The product may be too large for a float64.
func (s *Sum) AddArea(v, n float64) {
	if product := v * n; math.Abs(product) < largeNumber {
		s.addSmall(product)
	} else {
		s.addLarge(v * largeScale * n)
	}
}

// AddSum adds a * n, for |n| < 2^63.
func (s *Sum) AddSum(a *Sum, n float64) {
	s.AddArea(a.hi+a.lo, n)
	if a.large != nil {
		s.addLarge(a.large.Value() * n)
	}
}

// Value returns the sum. A sum that is too large for a float64 is infinite.
func (s *Sum) Value() float64 {
	if s.large == nil {
		return s.hi + s.lo
	}
	return s.Mean(1)
}

// Mean returns the sum divided by n. The result is infinite only if the quotient is too large for a float64.
func (s *Sum) Mean(n float64) float64 {
	v := s.hi + s.lo
	if s.large == nil {
		return v / n
	}
	if large := s.large.Value(); large != 0 {
		return (large + v*largeScale) / n / largeScale
	}
	return v / n
}

// Finite returns the sum divided by n, or the finite number that is nearest to it.
func (s *Sum) Finite(n float64) float64 {
	return max(-math.MaxFloat64, min(s.Mean(n), math.MaxFloat64))
}

// Level is the current use of a resource.
type Level struct {
	Open   int64 // number of open claims
	amount Sum
	// since is the time of the last change, in ticks, valid if started is set.
	since   int64
	started bool
}

// Amount returns the total amount of the open claims. A sum that is too large for a float64 is infinite. The
// result is never NaN.
func (l *Level) Amount() float64 { return l.amount.Value() }

// FiniteAmount returns the amount, or the finite number that is nearest to it.
func (l *Level) FiniteAmount() float64 { return l.amount.Finite(1) }

// AddArea adds the product of the amount and a number of ticks to a sum.
func (l *Level) AddArea(s *Sum, ticks int64) { s.AddSum(&l.amount, float64(ticks)) }

// Book holds the open claims, and the levels of all resources.
type Book struct {
	// Defs are the definitions of the trace.
	Defs   *trace.Definitions
	open   Table[Claim]
	levels []Level
	// Regions reports whether the claims of a region count as use of their resource. If it is nil, all claims
	// count.
	Regions func(region uint32) bool
	// Step is called for each interval, in ticks, in which a resource has at least one open claim
	// and its level l does not change. Intervals of length 0 are skipped.
	Step func(resource uint32, from, to int64, l *Level)
	// Ended is called for each claim that ends, with its end in ticks. It can be nil.
	Ended func(c Claim, end int64)
	// Orphans is the number of ends without a begin, and of begins without an id. Reused is the number of
	// claims that began with the id of an open claim. Such a claim ends the open one.
	Orphans, Reused int64
}

// Take processes an event. If the event begins a claim, Take returns the claim, which is valid until the next
// call. Otherwise it returns nil. Parameter t is the time of the event, limited to the window, and before
// reports whether the event is before the window.
func (b *Book) Take(e *trace.Cursor, t int64, before bool) *Claim {
	switch e.Kind() {
	case trace.ClaimBegin:
		if ops := e.Ops(); len(ops) > 0 {
			return b.begin(e, ops, t, before)
		}
		b.Orphans++
	case trace.ClaimEnd:
		if !b.end(KeyOf(b.Defs, e), t) {
			b.Orphans++
		}
	}
	return nil
}

// begin opens the claim that a ClaimBegin row with operands begins. If a claim with the same key is open,
// begin ends this claim first. An amount that is missing, or not finite, counts as 0.
func (b *Book) begin(e *trace.Cursor, ops []uint64, t int64, before bool) *Claim {
	k := KeyOf(b.Defs, e)
	c, reused := b.open.Place(k)
	if reused {
		b.Reused++
		b.ended(c, t)
	}
	// The fields are set one by one, because copying a new Claim would take longer than the rest of this
	// function.
	c.Key = k
	c.Region, c.Resource = e.Ref(), trace.NoRef
	c.Start, c.Amount, c.Before = t, 0, before
	if len(ops) > 1 && ops[1] < uint64(trace.NoRef) &&
		(b.Regions == nil || c.Region != trace.NoRef && b.Regions(c.Region)) {
		c.Resource = uint32(ops[1])
	}
	if len(ops) > 2 {
		if a := math.Float64frombits(ops[2]); a-a == 0 {
			c.Amount = a
		}
	}
	b.change(c.Resource, t, 1, c.Amount)
	return c
}

// end ends the claim with key k at time t. ok is false if no such claim is open.
func (b *Book) end(k Key, t int64) (ok bool) {
	c := b.open.Remove(k)
	if c != nil {
		b.ended(c, t)
	}
	return c != nil
}

// ended counts the end of a claim at time t.
func (b *Book) ended(c *Claim, t int64) {
	b.change(c.Resource, t, -1, -c.Amount)
	if b.Ended != nil {
		b.Ended(*c, t)
	}
}

// change adds to the number of open claims and to the amount of a resource at time t.
func (b *Book) change(resource uint32, t, open int64, amount float64) {
	if resource == trace.NoRef {
		return
	}
	if int(resource) >= len(b.levels) {
		b.levels = append(b.levels, make([]Level, int(resource)+1-len(b.levels))...)
	}
	l := &b.levels[resource]
	if l.Open > 0 && t > l.since {
		b.Step(resource, l.since, t, l)
	}
	l.since, l.started = t, true
	l.Open += open
	if l.amount.Add(amount); l.Open == 0 {
		l.amount = Sum{}
	}
}

// Close ends all open claims, and returns their number. The end of a claim is the time that last returns for
// the claim's location.
func (b *Book) Close(last func(loc uint32) int64) int64 {
	keys := b.open.Keys()
	for _, k := range keys {
		b.end(k, last(k.Location))
	}
	return int64(len(keys))
}

// Clone returns a copy of the book, without its functions.
func (b *Book) Clone() Book {
	return Book{open: b.open.Clone(), levels: slices.Clone(b.levels)}
}

// Merge adds the claims and levels of another book. It returns an error if both have processed
// claims on the same resource.
func (b *Book) Merge(o *Book) error {
	for i := range o.levels {
		if o.levels[i].started && i < len(b.levels) && b.levels[i].started {
			return fmt.Errorf("resource %d was seen by both parts; expected parts of different locations", i)
		}
	}
	if n := len(o.levels); n > len(b.levels) {
		b.levels = append(b.levels, make([]Level, n-len(b.levels))...)
	}
	for i, l := range o.levels {
		if l.started {
			b.levels[i] = l
		}
	}
	b.open.Merge(&o.open)
	b.Orphans, b.Reused = b.Orphans+o.Orphans, b.Reused+o.Reused
	return nil
}
