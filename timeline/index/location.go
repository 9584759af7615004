package index

import (
	"cmp"
	"math"

	"github.com/weft-trace/weft/internal/openset"
	"github.com/weft-trace/weft/timeline/curve"
	"github.com/weft-trace/weft/trace"
)

// location is the state of a location while its events are read.
type location struct {
	index       uint32
	first, last int64
	events      int64
	further     int64 // number of rows that continue the previous event, such as further members of a metric event
	visits      *spanTrack
	instants    *instantWriter
	stack       []openSpan
	openIndex   openset.Index[uint32] // finds the latest open visit of a region in the stack
	opened      []uint32              // number of open visits of each region, by its number plus 1
	keys        map[uint32]int32      // number of open spans with each name, if spans are named by an attribute
	since       int64                 // time up to which the exclusive times of open visits are complete
	claims      map[int64]*openClaim
	resources   []*resource
	series      []*series
	seriesOf    map[uint32]*series
	collectives openCollectives
	threads     threads
	channels    openset.Map[channelEnd, *channel] // channels of the location's messages
	receives    receives
	requests    openset.Map[uint64, request] // the open ones, by number
}

func (w *worker) location(n uint32) *location {
	for int(n) >= len(w.locations) {
		w.locations = append(w.locations, nil)
	}
	l := w.locations[n]
	if l == nil && w.freeLocation != nil {
		l, w.freeLocation = w.freeLocation, nil
		l.index = n
		w.locations[n] = l
	}
	if l == nil {
		w.region(0)
		deep := max(8, min(w.maxDepth, 256))
		l = &location{index: n, stack: make([]openSpan, 0, deep), opened: make([]uint32, min(len(w.regions)+1, 256))}
		w.locations[n] = l
	}
	return l
}

// spans returns a new track for spans of a kind. It reuses the memory of an ended track if there is
// one.
func (w *worker) spans(kind TrackKind) *spanTrack {
	if n := len(w.freeTracks) - 1; n >= 0 {
		t := w.freeTracks[n]
		w.freeTracks = w.freeTracks[:n]
		t.reset(kind)
		return t
	}
	w.latestTrack = newSpanTrack(kind, w.latestTrack)
	return w.latestTrack
}

// countEvent counts an event of the location at time t.
func (l *location) countEvent(t int64) {
	if l.events == 0 {
		l.first = t
	}
	l.events++
	l.last = t
}

// region returns the number of a region in the index, where regions with the same name, file and line
// share a number. It returns NoRef for an undefined region.
func (w *worker) region(ref uint32) uint32 {
	if int(ref) >= len(w.regions) {
		for n := w.b.defs.Regions.Len(); len(w.regions) < n; {
			w.regions = append(w.regions, w.b.rows.Of(uint32(len(w.regions))))
		}
		if int(ref) >= len(w.regions) {
			return trace.NoRef
		}
	}
	return w.regions[ref]
}

// enter opens a visit of a region. key is the number of the visit's name.
func (w *worker) enter(l *location, at int64, ref, key uint32) {
	ref = w.region(ref)
	if !w.b.renames() {
		key = ref
	}
	level := uint32(0)
	if n := len(l.stack); n > 0 {
		top := &l.stack[n-1]
		top.exclusive += at - l.since
		level = top.level + 1
	}
	l.since = at
	for int(ref+1) >= len(l.opened) {
		l.opened = append(l.opened, 0)
	}
	n := &l.opened[ref+1]
	recursive := *n > 0
	*n++
	if w.b.renames() {
		recursive = l.countName(key, 1) > 1
	}
	w.maxDepth = max(w.maxDepth, len(l.stack)+1)
	l.openIndex.Open(ref, len(l.stack))
	l.stack = append(l.stack, openSpan{at, 0, key, ref, level, wholeBand, recursive})
}

// countName adds n to the number of open spans with the name key. It returns the new number.
func (l *location) countName(key uint32, n int32) int32 {
	if l.keys == nil {
		l.keys = map[uint32]int32{}
	}
	l.keys[key] += n
	return l.keys[key]
}

func (w *worker) leave(l *location, at int64, ref uint32) error {
	ref = w.region(ref)
	if int(ref+1) >= len(l.opened) || l.opened[ref+1] == 0 {
		return nil // the region is not open
	}
	i := len(l.stack) - 1
	if l.stack[i].match != ref {
		i = l.find(ref)
	}
	return w.close(l, i, at)
}

// find returns the index of the latest open visit of a region.
func (l *location) find(ref uint32) int {
	return l.openIndex.Find(ref, len(l.stack), func(i int) uint32 { return l.stack[i].match })
}

// close ends the open visit i.
func (w *worker) close(l *location, i int, at int64) error {
	if l.visits == nil {
		l.visits = w.spans(LocationTrack)
	}
	return l.close(w.packer, i, at)
}

func (l *location) close(p *packer, i int, at int64) error {
	l.stack[len(l.stack)-1].exclusive += at - l.since
	l.since = at
	o := l.stack[i]
	if n := len(l.stack) - 1; i == n && !l.openIndex.Mapped() {
		l.stack = l.stack[:n]
	} else {
		l.stack = openset.Close(&l.openIndex, l.stack, i, o.match)
	}
	l.opened[o.match+1]--
	if l.keys != nil {
		l.countName(o.region, -1)
	}
	if !l.visits.add(&o, at, len(l.stack)) {
		return nil
	}
	return l.visits.writeBlock(p, l.unclosed())
}

// unclosed returns the open visits, from the outermost to the innermost.
func (l *location) unclosed() []openSpan {
	if !l.openIndex.Mapped() {
		return l.stack
	}
	var list []openSpan
	for i := range l.stack {
		if !l.openIndex.Gap(i) {
			list = append(list, l.stack[i])
		}
	}
	return list
}

// addInstant adds an event without duration.
func (w *worker) addInstant(l *location, c *trace.Cursor) error {
	if l.instants == nil {
		l.instants = &instantWriter{}
	}
	if l.visits == nil {
		l.visits = w.spans(LocationTrack)
	}
	x := instant{time: c.Time(), kind: c.Kind(), name: trace.NoRef}
	ref, d := int(c.Ref()), w.b.defs
	switch d.Spec(x.kind).Ref {
	case trace.RefRegion:
		x.name = w.region(c.Ref())
		if w.b.renames() && x.name != trace.NoRef {
			x.named, x.name = true, w.b.name(d.Regions.At(x.name).Name)
		}
	case trace.RefMarker:
		if x.named = true; ref < d.Markers.Len() {
			x.name = w.b.name(cmp.Or(d.Markers.At(uint32(ref)).Name, d.Markers.At(uint32(ref)).ID))
		}
	case trace.RefString:
		if x.named = true; ref < d.Strings.Len() {
			x.name = w.b.name(*d.Strings.At(uint32(ref)))
		}
	}
	if x.named && x.name != trace.NoRef {
		x.name = l.instants.localName(x.name, l.visits.entry)
	}
	return l.instants.add(w.packer, l.visits.entry, x)
}

// series is a counter, series or signal of a location.
type series struct {
	metric uint32
	last   int64 // time of the latest value
	entry  trackEntry
	w      valueWriter
	piece  *piece // the last piece of a signal, which the begin of the next piece may shorten
}

// writePrevious writes the previous piece of a signal. The piece ends at its own end or, if that is earlier,
// at the begin of next. next is nil after the last piece.
func (s *series) writePrevious(p *packer, next *piece) (err error) {
	if x := s.piece; x != nil {
		if next != nil {
			x.end = min(x.end, next.time)
		}
		err = s.w.add(p, &s.entry, *x)
	}
	s.piece = next
	return err
}

// addValue adds a value of a counter or signal.
func (w *worker) addValue(l *location, c *trace.Cursor) error {
	ref, d := c.Ref(), w.b.defs
	if !d.Metrics.Has(ref) || len(c.Ops()) == 0 {
		return nil
	}
	m := d.Metrics.At(ref)
	s := l.seriesOf[ref]
	if s == nil {
		s = &series{metric: ref, last: math.MinInt64}
		switch {
		case c.Kind() == trace.Fragment:
			s.w.style = curve.Smooth
		case c.Kind() == trace.SampleRange || m.Kind == trace.SeriesMetric:
			s.w.style = curve.Points
		default:
			s.w.style = curve.Steps
		}
		if l.seriesOf == nil {
			l.seriesOf = map[uint32]*series{}
		}
		l.seriesOf[ref] = s
		l.series = append(l.series, s)
	}
	s.last = max(s.last, c.Time())
	ops := c.Ops()
	add := func(x piece) error {
		if x.a-x.a != 0 || x.b-x.b != 0 || x.c-x.c != 0 {
			return nil // infinite or not a number
		}
		if s.w.style == curve.Smooth {
			return s.writePrevious(w.packer, &x)
		}
		return s.w.add(w.packer, &s.entry, x)
	}
	switch c.Kind() {
	case trace.Fragment:
		f := func(i int) float64 {
			if i >= len(ops) {
				return 0
			}
			return math.Float64frombits(ops[i])
		}
		end := max(int64(ops[0]), c.Time())
		s.last = max(s.last, end)
		if s.w.style != curve.Smooth {
			return add(piece{time: c.Time(), a: f(1)})
		}
		return add(piece{c.Time(), end, f(1), f(2), f(3)})
	case trace.Metric:
		x := piece{time: c.Time(), end: c.Time(), a: trace.Value{Num: ops[0], Type: m.Type}.Float()}
		return add(x)
	}
	from, to := c.Time(), max(c.Time(), int64(ops[0]))
	s.last = max(s.last, to)
	for i, v := range ops[1:] {
		at := from
		if last := len(ops) - 2; i > 0 {
			at = int64(uint64(from) + uint64(float64(uint64(to)-uint64(from))*float64(i)/float64(last)))
		}
		if err := add(piece{time: at, end: at, a: math.Float64frombits(v)}); err != nil {
			return err
		}
	}
	return nil
}

// end closes the spans that are open after the last event of the location, writes the rest of its
// tracks, and returns the tracks.
func (l *location) end(p *packer, d *trace.Definitions) (out []*trackEntry, err error) {
	def := d.Locations.At(l.index)
	describe := func(e *trackEntry, kind TrackKind) {
		e.Kind, e.Location, e.Group = kind, l.index, def.Group
		e.First, e.Last = l.first, l.last
		out = append(out, e)
	}
	if l.events == 0 && l.instants != nil {
		l.first, l.last = l.instants.lowest, l.instants.highest // the location has only markers
	}
	for len(l.stack) > 0 {
		if l.visits == nil {
			l.visits = newSpanTrack(LocationTrack, nil)
		}
		if err := l.close(p, len(l.stack)-1, l.last); err != nil {
			return nil, err
		}
	}
	// A location that stands for a resource, signal or value gets only the row of its claims or values, and no
	// row of visits.
	itself := def.Kind == trace.ResourceLocation || def.Kind == trace.SignalLocation || def.Kind == trace.ValueLocation
	if l.visits == nil && (!itself || len(l.resources)+len(l.series) == 0) {
		l.visits = newSpanTrack(LocationTrack, nil)
	}
	// Claims and instants with the same value of an attribute share a row.
	shared := def.Kind == trace.ValueLocation && len(l.resources) > 0 && l.visits != nil
	if shared {
		e := l.resources[0].spans.entry
		e.names, e.instants, e.Instants = l.visits.entry.names, l.visits.entry.instants, l.visits.entry.Instants
	}
	if l.visits != nil && !shared {
		e := l.visits.entry
		describe(e, LocationTrack)
		e.ID, e.Name, e.Sort = def.ID, def.Name, string(def.Kind)
		if err := l.visits.end(p); err != nil {
			return nil, err
		}
		if l.instants != nil {
			if err := l.instants.end(p, e); err != nil {
				return nil, err
			}
		}
	}
	if err := l.closeClaims(p); err != nil {
		return nil, err
	}
	for _, r := range l.resources {
		describe(r.spans.entry, ResourceTrack)
		r.describe(d, def)
		if err := r.spans.end(p); err != nil {
			return nil, err
		}
		if shared {
			if err := l.instants.end(p, r.spans.entry); err != nil {
				return nil, err
			}
			shared = false // the row of the first resource contains the instants
		}
		if err := r.recordAmount(p); err != nil {
			return nil, err
		}
		if err := r.held.end(p, r.spans.entry); err != nil {
			return nil, err
		}
	}
	for _, s := range l.series {
		describe(&s.entry, CounterTrack)
		m := d.Metrics.At(s.metric)
		e := &s.entry
		e.Last = max(e.Last, s.last)
		e.ID, e.Name, e.Sort, e.Unit, e.Style, e.MetricUnit = m.ID, m.Name, m.Mode, m.Unit, styleName(s.w.style),
			d.Clock.UnitTicks()
		if err := cmp.Or(s.writePrevious(p, nil), s.w.end(p, e)); err != nil {
			return nil, err
		}
	}
	if len(out) > 0 {
		out[0].Events = l.events - l.further
	}
	return out, nil
}
