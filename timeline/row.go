package timeline

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// The classes of rows, in the order in which they are drawn.
const (
	plainRow   = iota // of a location or resource
	valueRow          // of a value of an attribute
	missingRow        // of all that lacks the attribute
	signalsRow        // signals, when rows are values
)

// rowID is what a row stands for; it orders rows.
type rowID struct {
	class uint8
	kind  uint8 // within a location: states and instants, claims, signals
	loc   uint32
	sub   uint32 // resource or metric
	value string
}

func (a rowID) compare(b rowID) int {
	return cmp.Or(cmp.Compare(a.class, b.class), natural(a.value, b.value), cmp.Compare(a.loc, b.loc),
		cmp.Compare(a.kind, b.kind), cmp.Compare(a.sub, b.sub))
}

// natural compares texts with numbers in them by the numbers' values, so that
// job 2 comes before job 10.
func natural(a, b string) int {
	whole := cmp.Compare(a, b)
	for a != "" && b != "" {
		da, db := digits(a), digits(b)
		if da > 0 && db > 0 {
			x, y := strings.TrimLeft(a[:da], "0"), strings.TrimLeft(b[:db], "0")
			if c := cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y)); c != 0 {
				return c
			}
			a, b = a[da:], b[db:]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Or(cmp.Compare(len(a), len(b)), whole)
}

func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// row is a row under construction.
type row struct {
	id      rowID
	shown   bool // has a place in the picture
	dead    bool // lost it to rows that come before
	open    int  // spans that are open
	hidden  int64
	claims  bool
	begun   []*claim // not placed yet: claims that end at the same time make room
	spans   []Span
	totals  map[uint32]*total
	levels  []*strip
	busy    []bool // lanes
	amounts *amounts
	inst    []Instant
	gaps    []Interval
	curve   *curve
}

type total struct {
	ticks float64
	count int64
}

// drop frees what a row that is not shown holds.
func (r *row) drop() {
	if r.curve != nil {
		*r.curve = curve{dead: true}
	}
	*r = row{id: r.id, dead: true, open: r.open, begun: r.begun, busy: r.busy, amounts: r.amounts}
}

func (r *row) count(key uint32, ticks uint64) {
	t := r.totals[key]
	if t == nil {
		if r.totals == nil {
			r.totals = map[uint32]*total{}
		}
		t = &total{}
		r.totals[key] = t
	}
	t.ticks += float64(ticks)
	t.count++
}

// take finds the lowest free lane; ok is false when there are limit already.
func (r *row) take(limit int) (lane int, ok bool) {
	lane = slices.Index(r.busy, false)
	if lane < 0 {
		lane = len(r.busy)
		if lane >= limit {
			return lane, false
		}
		r.busy = append(r.busy, false)
	}
	r.busy[lane] = true
	return lane, true
}

// level is the strip of a level or lane.
func (r *row) level(n int) *strip {
	for n >= len(r.levels) {
		r.levels = append(r.levels, &strip{low: float64(len(r.levels)), high: float64(len(r.levels) + 1)})
	}
	return r.levels[n]
}

// strip is a part of a row in which spans do not overlap, at a fixed height.
// Its spans arrive in the order of their ends.
type strip struct {
	low, high float64
	whole     int // spans kept as they are
	// Spans smaller than a column gather in the column of their middle, and
	// that can only be the one where the last span ended or the one before.
	cells [2]cell
}

type cell struct {
	column   int
	from, to int64 // of the only span
	n        uint32
	shares   []share
}

type share struct {
	key   uint32
	ticks uint64
	n     uint32
}

// add draws [t0, t1], which touches the window, into strip s of the row.
func (r *row) add(sc *scale, s *strip, t0, t1 int64, key uint32) {
	t0, t1 = sc.clip(t0), sc.clip(t1)
	d := uint64(t1) - uint64(t0)
	if d >= sc.wide {
		// Only contradictory data (claims at the same offset) exceeds this.
		if s.whole++; s.whole > 2*int(sc.width) {
			r.hidden++
			return
		}
		r.spans = append(r.spans, Span{From: t0, To: t1, Low: s.low, High: s.high, Key: key, Count: 1, Cover: 1})
		return
	}
	c := sc.column(t0 + int64(d/2))
	x := &s.cells[c&1]
	if x.n > 0 && x.column != c {
		r.flush(sc, s, x)
	}
	x.column = c
	if x.n++; x.n == 1 {
		x.from, x.to = t0, t1
	}
	for i := range x.shares {
		if h := &x.shares[i]; h.key == key {
			h.ticks += d
			h.n++
			if i > 0 { // the next one is probably alike
				x.shares[i], x.shares[i-1] = x.shares[i-1], x.shares[i]
			}
			return
		}
	}
	x.shares = append(x.shares, share{key, d, 1})
}

// flush turns a cell into a span.
func (r *row) flush(sc *scale, s *strip, x *cell) {
	if x.n == 0 {
		return
	}
	best, sum := x.shares[0], uint64(0)
	for _, h := range x.shares {
		sum += h.ticks
		if cmp.Or(cmp.Compare(h.ticks, best.ticks), cmp.Compare(h.n, best.n), cmp.Compare(best.key, h.key)) > 0 {
			best = h
		}
	}
	sp := Span{From: x.from, To: x.to, Low: s.low, High: s.high, Key: best.key, Count: x.n, Cover: 1}
	if x.n > 1 {
		sp.From, sp.To = sc.start(x.column), sc.start(x.column+1)
		sp.Cover = float32(min(1, float64(sum)*float64(sc.width)/float64(sc.span)))
	}
	r.spans = append(r.spans, sp)
	x.n, x.shares = 0, x.shares[:0]
}

// finish writes what is still gathered and sorts.
func (r *row) finish(sc *scale) {
	flush := func(s *strip) {
		r.flush(sc, s, &s.cells[0])
		r.flush(sc, s, &s.cells[1])
	}
	for _, s := range r.levels {
		flush(s)
	}
	if r.amounts != nil {
		for _, s := range r.amounts.strips {
			flush(s)
		}
	}
	slices.SortStableFunc(r.spans, func(a, b Span) int {
		return cmp.Or(cmp.Compare(a.Low, b.Low), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(a.High, b.High), cmp.Compare(a.Key, b.Key))
	})
	if r.curve != nil {
		r.curve.finish()
	}
}

// instant adds an event without duration.
func (r *row) instant(sc *scale, t int64, key uint32, label func() string) {
	r.count(key, 0)
	if n := len(r.inst); n > 0 && sc.column(r.inst[n-1].Time) == sc.column(t) {
		r.inst[n-1].Count++
		return
	}
	r.inst = append(r.inst, Instant{Time: t, Key: key, Count: 1, Label: label()})
}

// gap adds an interval without records; those less than a column apart join.
func (r *row) gap(sc *scale, t0, t1 int64) {
	t0, t1 = sc.clip(t0), sc.clip(t1)
	if n := len(r.gaps); n > 0 && sc.column(r.gaps[n-1].To) >= sc.column(t0) {
		r.gaps[n-1].To = max(r.gaps[n-1].To, t1)
		return
	}
	r.gaps = append(r.gaps, Interval{t0, t1})
}

// Bounds of what is kept for claims that are drawn by their amount.
const (
	maxStacked = 512 // claims of one resource open at once
	maxPlaces  = 32  // different vertical extents that are kept exactly
	maxBins    = 32  // horizontal strips for small claims elsewhere
)

// amounts places the claims of a resource by the amount that they hold.
type amounts struct {
	capacity float64
	offsets  bool
	open     []*claim // by low
	held     float64
	since    int64   // since when
	peak     float64 // greatest amount held at once in the window
	top      float64 // highest upper edge drawn
	places   map[[2]float64]*strip
	bins     [maxBins]*strip
	strips   []*strip // of places and bins
}

// place finds room for a claim, at its offset or at the lowest place where it
// fits between the open ones.
func (a *amounts) place(sc *scale, c *claim) bool {
	if len(a.open) >= maxStacked {
		return false
	}
	if !(c.amount >= 0) || math.IsInf(c.amount, 0) {
		c.amount = 0
	}
	low := 0.0
	if a.offsets && c.offset >= 0 && !math.IsInf(c.offset, 0) {
		low = c.offset
	} else {
		slack := a.capacity * 1e-9
		for _, o := range a.open {
			if o.low-low >= c.amount-slack && o.low > low {
				break
			}
			low = max(low, o.high)
		}
	}
	c.low, c.high = low, low+c.amount
	a.until(sc, c.time)
	i, _ := slices.BinarySearchFunc(a.open, c.low, func(o *claim, low float64) int { return cmp.Compare(o.low, low) })
	a.open = slices.Insert(a.open, i, c)
	a.held += c.amount
	return true
}

// until notes that the same amount was held until t.
func (a *amounts) until(sc *scale, t int64) {
	if t > a.since && sc.sees(a.since, t) {
		a.peak = max(a.peak, a.held)
	}
	a.since = t
}

func (a *amounts) remove(sc *scale, c *claim, t int64) {
	a.until(sc, t)
	if i := slices.Index(a.open, c); i >= 0 {
		a.open = slices.Delete(a.open, i, i+1)
	}
	if a.held -= c.amount; len(a.open) == 0 {
		a.held = 0 // sums of fractions do not come back to zero by themselves
	}
}

// draw adds a closed claim to the row.
func (a *amounts) draw(r *row, sc *scale, c *claim, t0, t1 int64) {
	a.top = max(a.top, c.high)
	p := [2]float64{c.low, c.high}
	s := a.places[p]
	if s == nil && len(a.places) < maxPlaces {
		if a.places == nil {
			a.places = map[[2]float64]*strip{}
		}
		s = &strip{low: c.low, high: c.high}
		a.places[p] = s
		a.strips = append(a.strips, s)
	}
	wide := uint64(sc.clip(t1))-uint64(sc.clip(t0)) >= sc.wide
	switch {
	case s != nil:
		r.add(sc, s, t0, t1, c.key)
	case wide:
		// A rectangle of its own, counted on the strip of its lower edge.
		b := a.bin(c.low)
		n := len(r.spans)
		if r.add(sc, b, t0, t1, c.key); len(r.spans) > n {
			r.spans[n].Low, r.spans[n].High = c.low, c.high
		}
	default:
		for y := c.low; ; {
			b := a.bin(y)
			r.add(sc, b, t0, t1, c.key)
			if b.high >= c.high || b == a.bins[maxBins-1] {
				break
			}
			y = b.high
		}
	}
}

func (a *amounts) bin(y float64) *strip {
	h := a.capacity / maxBins
	i := min(int(min(y/h+1e-9, maxBins)), maxBins-1)
	if a.bins[i] == nil {
		a.bins[i] = &strip{low: float64(i) * h, high: float64(i+1) * h}
		a.strips = append(a.strips, a.bins[i])
	}
	return a.bins[i]
}
