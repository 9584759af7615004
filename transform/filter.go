package transform

import (
	"context"
	"math"
	"slices"
	"sort"
	"strconv"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/bylocation"
	"github.com/weft-trace/weft/internal/numberset"
	"github.com/weft-trace/weft/internal/openset"
	"github.com/weft-trace/weft/trace"
)

// FilterOptions selects the events that [Filter] keeps. The functions report whether events are selected. A
// nil function selects all events.
type FilterOptions struct {
	// Location reports whether the filter keeps the events of a location.
	Location func(loc uint32) bool
	// Markers selects locations whose markers are kept although Location does not select them, because the
	// markers concern the whole trace, selected locations, or groups. A nil Markers selects no locations. See
	// [HasMarkers].
	Markers func(loc uint32) bool
	// Scopes makes the filter also drop markers at selected locations that concern a single other location, if
	// Location does not select that location.
	Scopes bool
	// Kind and NotKind apply to a begin and its end together. Both are kept if Kind selects one of
	// them. Both are dropped if NotKind selects one of them, and so are the rows of snapshots that describe them.
	// The tests and the cancellation of a request, and the completions of an operation on remote memory, stay or
	// go with its begin.
	Kind, NotKind func(k trace.Kind) bool
	// Region selects visits, claims, marks and all other events with a region by their region. Events without
	// a region are kept.
	Region func(ref uint32) bool
	// Communicator selects events by their communicator. Events of a window for remote memory access have the
	// communicator of the window. Events without a communicator are kept.
	Communicator func(ref uint32) bool
	// Row selects visits of regions, claims and marks. For visits and claims it gets the row that
	// begins them, whose attributes it can examine ([HasAttribute]). If that row is missing, it gets
	// the row that ends them. Events of other kinds are kept. Row must be safe for concurrent use.
	Row func(x *trace.Cursor) bool
	// MinDuration is the least duration in ticks of kept visits and claims. Visits and claims without an end
	// are kept.
	MinDuration int64
	// MaxDepth is the number of nested regions that are kept: visits inside of MaxDepth or more other visits
	// are dropped. Only visits that are kept count as nesting, including short visits. 0 keeps all visits.
	MaxDepth int
}

// HasAttribute returns a function for the field Row of [FilterOptions]. The function selects rows that have an
// attribute called name, if match returns true for the attribute's value as text. match must be safe for
// concurrent use.
func HasAttribute(d *trace.Definitions, name string, match func(value string) bool) func(x *trace.Cursor) bool {
	return func(x *trace.Cursor) bool {
		keys, values := x.Attrs()
		for i, k := range keys {
			if d.Attributes.At(k).Name == name && match(values[i].String()) {
				return true
			}
		}
		return false
	}
}

// Filter drops events. It drops a visit as a whole, with its enter and leave, so that the remaining visits
// nest as before. The time of a dropped visit counts for the enclosing region, and events inside of it stay.
// Snapshots that state that the visit is open lose that row.
// Definitions stay; see [Prune]. If one end of a message is dropped, the other end has no partner. Links are
// kept if both of their ends are kept.
//
// Filter uses 32 bytes per open region. With MinDuration it also keeps the events of the last MinDuration
// ticks. With Communicator, it reads the trace twice, and uses a bit for each posted receive and collective
// operation. If it drops events of messages or of remote memory, it uses up to 100 bytes for each open request and each
// matching number of operations on remote memory. If links are selected, it uses up to 200 bytes for each dropped claim
// and mark, and 10 bytes if most of them are dropped.
func Filter(d format.Events, w FilterOptions) format.Events {
	w.noteDroppedStates(d.Defs())
	return transformed{&filter{sameDefinitions: interleaved(d), wanted: w}}
}

// filter is a trace after [Filter].
type filter struct {
	sameDefinitions
	wanted   FilterOptions
	prepared bool
	begins   bylocation.List[unwantedBegins]
}

// begin begins a scan. The scan reads all times, because the filter must know the open regions from the
// begin of the trace on.
func (f *filter) begin(sel trace.Selection, order format.Order, _ format.Sink) (stage, trace.Selection, error) {
	s, inner := f.scan(sel, order)
	return s, inner, nil
}

// beginLocal begins a scan in several goroutines.
func (f *filter) beginLocal(sel trace.Selection) (func() stage, trace.Selection) {
	_, inner := f.scan(sel, format.PerLocation)
	return func() stage {
		s, _ := f.scan(sel, format.PerLocation)
		return s
	}, inner
}

// prepareLocal finds the posted receives and collective operations whose ends have an unwanted communicator.
func (f *filter) prepareLocal(ctx context.Context) error {
	if f.wanted.Communicator == nil {
		return nil
	}
	return f.Prepare(ctx)
}

// scan returns the stage of a scan, and the selection to read from the original trace.
func (f *filter) scan(sel trace.Selection, order format.Order) (stage, trace.Selection) {
	s := &filterScan{FilterOptions: f.wanted, defs: f.Defs(), ordered: order == format.GlobalOrder, begins: f.begins,
		kinds: map[trace.Kind]bool{}, byLine: f.Defs().ClaimLines}
	inner := everything(sel)
	s.followsRequests, s.followsRemote = s.follows(requestKinds), s.follows(remoteKinds)
	if inner.Links != trace.NoLinks {
		s.dropped = &droppedEnds{}
	}
	if f.wanted.Location != nil {
		inner.Location = func(loc uint32) bool {
			return f.wanted.Reads(loc) && (sel.Location == nil || sel.Location(loc))
		}
	}
	return s, inner
}

// HasMarkers reports whether a location only collects events of other sources. Markers at such a location
// concern other locations or the whole trace.
func HasMarkers(l *trace.Location) bool { return l.Kind == trace.EventsLocation }

// Reads reports whether a filter keeps any events of a location.
func (f *FilterOptions) Reads(loc uint32) bool {
	return f.Location == nil || f.Location(loc) || f.Markers != nil && f.Markers(loc)
}

// wantsMarker reports whether a row is a marker to keep although Location does not select its location.
func (s *filterScan) wantsMarker(x *trace.Cursor) bool {
	if x.Kind() != trace.Marker || s.Markers == nil || !s.Markers(x.Location()) {
		return false
	}
	loc, single, known := s.scope(x)
	return !single || known && s.Location(loc)
}

// hasDroppedScope reports whether a row is a marker about a single location that Location does not
// select.
func (s *filterScan) hasDroppedScope(x *trace.Cursor) bool {
	if x.Kind() != trace.Marker {
		return false
	}
	loc, _, known := s.scope(x)
	return known && !s.Location(loc)
}

// scope returns the location that a marker concerns. single is set if the marker concerns a single location,
// and known if that location is defined.
func (s *filterScan) scope(x *trace.Cursor) (loc uint32, single, known bool) {
	const location = 1
	if len(x.Ops()) < 3 || x.Op(1) != location {
		return 0, false, false
	}
	if s.byID == nil {
		s.byID = map[string]uint32{}
		for i, l := range s.defs.Locations.All() {
			s.byID[l.ID] = uint32(i)
		}
	}
	loc, known = s.byID[strconv.FormatUint(x.Op(2), 10)]
	return loc, true, known
}

// filterScan is one scan of a filter.
type filterScan struct {
	FilterOptions
	defs    *trace.Definitions
	ordered bool
	kinds   map[trace.Kind]bool // whether a kind is kept; indexed by kind
	locs    bylocation.List[filterState]
	begins  bylocation.List[unwantedBegins]
	queue   queue
	dropped *droppedEnds // claims and marks that were dropped; nil if the scan has no links
	byLine  bool         // the begin and the end of a claim have the same position in the file
	gather  rowCollector
	byID    map[string]uint32 // locations that markers name, by id; nil until needed
	// the begins of operations decide about their other rows
	followsRequests, followsRemote bool
}

// filterState is the state of a location.
type filterState struct {
	queue queue
	open  []visit
	among openset.Index[visitKey]
	depth int // number of open regions that are kept
	// the visits that ended at the time closedAt, because a snapshot at that time still has them
	closed   []visit
	closedAt int64
	states   *snapshotVisits // nil until the location has a snapshot
	// rows of snapshots that wait, by the row of the begin of their visit
	snapshots map[int64][]int64
	// open claims by id; their keys are their positions in the file
	claims     map[int64]openset.Queue[visit, int64]
	begun      begunOperations
	receives   uint32 // number of receives posted so far
	posted     uint32 // number of non-blocking collective operations posted so far
	operations uint32 // number of collective operations that began so far
	// matching numbers of collective operations that were dropped at their begin and have not ended
	ends map[uint64]struct{}
}

// visitKey joins a leave with its enter: the kind of the enter, and the region.
type visitKey struct {
	kind trace.Kind
	ref  uint32
}

// visit is an open region or claim.
type visit struct {
	kind trace.Kind // kind of the event that began it
	ref  uint32
	kept bool // whether the visit is kept, as far as known; only visits that are kept count for the depth
	// time in ticks; not set for claims
	begin int64
	// row number of the visit's begin in the queue until the filter has decided about the row; otherwise -1
	row int64
}

// wantsKind reports whether events of a kind are kept. The answer also depends on the kinds with which the
// kind forms a begin and an end.
func (s *filterScan) wantsKind(k trace.Kind) bool {
	if s.Kind == nil && s.NotKind == nil {
		return true
	}
	if w, ok := s.kinds[k]; ok {
		return w
	}
	w := s.Kind == nil || slices.ContainsFunc(kindsOfPair(k), s.Kind)
	if begin, ok := followedKinds[k]; ok {
		w = (w || slices.ContainsFunc(kindsOfPair(begin), s.Kind)) && !s.dropsKind(begin)
	}
	w = w && !s.dropsKind(k) && !s.dropsSnapshots(k)
	s.kinds[k] = w
	return w
}

// dropsKind reports whether NotKind drops events of a kind.
func (s *filterScan) dropsKind(k trace.Kind) bool {
	return s.NotKind != nil && slices.ContainsFunc(kindsOfPair(k), s.NotKind)
}

// kindsOfPair returns a kind and the kinds with which it forms a begin and an end.
func kindsOfPair(k trace.Kind) []trace.Kind {
	kinds := []trace.Kind{k}
	if class := pairOf(k).class; class != 0 {
		for o := range pairings {
			if pairings[o].class == class {
				kinds = append(kinds, trace.Kind(o))
			}
		}
	}
	return kinds
}

// wantsRefs reports whether the row can be kept according to its region and communicator. The row must not
// belong to a visit.
func (s *filterScan) wantsRefs(x *trace.Cursor) bool {
	if s.Region == nil && s.Communicator == nil {
		return true
	}
	spec := s.defs.Spec(x.Kind())
	if s.Region != nil && spec.Ref == trace.RefRegion && x.Ref() != trace.NoRef && !s.Region(x.Ref()) {
		return false
	}
	if s.Communicator == nil {
		return true
	}
	if spec.Ref == trace.RefCommunicator && x.Ref() != trace.NoRef && !s.Communicator(x.Ref()) {
		return false
	}
	if spec.Ref == trace.RefWindow {
		if c := s.defs.WindowCommunicator(x.Ref()); c != trace.NoRef && !s.Communicator(c) {
			return false
		}
	}
	for i, v := range x.Ops() {
		if i < len(spec.Operands) && spec.Operands[i].Type == trace.OpCommunicator && v < uint64(s.defs.Communicator.Len()) &&
			!s.Communicator(uint32(v)) {
			return false
		}
	}
	return true
}

// wantsRow reports whether FilterOptions.Row selects a row.
func (s *filterScan) wantsRow(x *trace.Cursor) bool { return s.Row == nil || s.Row(x) }

// processBatch delivers the selected rows of a batch.
func (s *filterScan) processBatch(b *trace.Batch, out format.Sink) error {
	s.gather.sink = out
	waits := s.MinDuration > 0 // decisions about rows may have to wait for later rows
	x := b.Cursor()
	for x.Next() {
		loc := x.Location()
		if s.Location != nil && (!s.Location(loc) && !s.wantsMarker(&x) || s.Scopes && s.hasDroppedScope(&x)) {
			continue
		}
		l := s.locs.At(loc)
		q := &l.queue
		if s.ordered {
			q = &s.queue
		}
		if waits {
			q.keepWaited(x.Time(), s.MinDuration)
		}
		keep, wait := s.row(l, q, &x)
		switch {
		case !keep:
		case !waits, !wait && len(q.chunks) == 0:
			if err := s.gather.addRow(&x, b); err != nil {
				return err
			}
		default:
			q.add(&x, b, wait)
			if err := q.release(&s.gather); err != nil {
				return err
			}
		}
	}
	return s.gather.flush()
}

// row reports whether to keep a row. wait is set if the answer depends on the end of the visit or claim.
func (s *filterScan) row(l *filterState, q *queue, x *trace.Cursor) (keep, wait bool) {
	k := x.Kind()
	switch k {
	case trace.Enter, trace.ContextEnter:
		v := visit{kind: k, ref: x.Ref(), row: -1, begin: x.Time()}
		v.kept = s.wantsKind(k) && (k != trace.Enter || s.Region == nil || x.Ref() == trace.NoRef || s.Region(x.Ref())) &&
			s.wantsRow(x) && (s.MaxDepth == 0 || l.depth < s.MaxDepth)
		if v.kept {
			l.depth++
		}
		if v.kept && s.MinDuration > 0 {
			v.row, wait = q.count, true
		}
		l.among.Open(visitKey{k, x.Ref()}, len(l.open))
		l.open = append(l.open, v)
		if l.states != nil {
			l.states.begin(v)
		}
		return v.kept, wait
	case trace.Leave, trace.ContextLeave:
		begin := trace.Enter
		if k == trace.ContextLeave {
			begin = trace.ContextEnter
		}
		key := visitKey{begin, x.Ref()}
		i := l.among.Find(key, len(l.open), func(i int) visitKey { return visitKey{l.open[i].kind, l.open[i].ref} })
		if i < 0 {
			return s.wantsRow(x) && s.wantsKind(k) &&
				(k != trace.Leave || s.Region == nil || x.Ref() == trace.NoRef || s.Region(x.Ref())), false
		}
		v := l.open[i]
		l.open = openset.Close(&l.among, l.open, i, key)
		if v.kept {
			l.depth--
		}
		return l.close(v, q, x.Time()), false
	case trace.EnterSnapshot:
		return s.wantsEnterSnapshot(l, q, x)
	case trace.ClaimBegin:
		v := visit{ref: x.Ref(), row: -1, kept: s.wantsKind(k) && s.wantsRefs(x) && s.wantsRow(x)}
		if v.kept && s.MinDuration > 0 {
			v.row, wait = q.count, true
		}
		open := l.claims[int64(x.Op(0))]
		if !s.byLine {
			open = openset.Queue[visit, int64]{} // a claim that begins again ends the open claim
		}
		open.Open(v, [2]int64{x.Pos()})
		setElement(&l.claims, int64(x.Op(0)), open)
		s.recordDropped(x, v.kept)
		return v.kept, wait
	case trace.ClaimEnd:
		open := l.claims[int64(x.Op(0))]
		if open.Len() == 0 {
			return s.wantsRow(x) && s.wantsKind(k) && s.wantsRefs(x), false
		}
		i := open.Find(x.Pos())
		if i < 0 {
			i = open.First()
		}
		v := open.At(i)
		if open.Close(i); open.Len() == 0 {
			delete(l.claims, int64(x.Op(0)))
		} else {
			l.claims[int64(x.Op(0))] = open
		}
		if v.kept && v.row >= 0 && q.drop(v.row) {
			s.recordDropped(x, false)
			return false, false
		}
		return v.kept, false
	case trace.CollectiveBegin, trace.CollectiveEnd, trace.RMACollectiveBegin:
		return s.wantsOperation(l, x) && s.wantsKind(k), false
	}
	if keep, ok := s.wantsRequest(l, x); ok {
		return keep, false
	}
	if keep, ok := s.wantsRemote(l, x); ok {
		return keep, false
	}
	keep = s.wantsKind(k) && s.wantsRefs(x)
	if k == trace.Mark {
		keep = keep && s.wantsRow(x)
		s.recordDropped(x, keep)
	}
	return keep, false
}

// wantsOperation reports whether the begin or the end of a collective operation, or the begin of one on remote memory,
// is kept, because its communicator is not unwanted. In OTF only the begin has a communicator. An end without a
// communicator is kept if the begin with the same matching number is kept.
func (s *filterScan) wantsOperation(l *filterState, x *trace.Cursor) bool {
	const communicator, matching = 1, 5
	if x.Kind() != trace.CollectiveEnd {
		n := l.operations
		l.operations++
		wanted := s.wantsRefs(x)
		if !wanted {
			setElement(&l.ends, x.Op(matching), struct{}{})
		}
		return wanted && !s.dropsBegin(x.Location(), n, x.Kind())
	}
	if _, ok := l.ends[x.Op(matching)]; ok {
		delete(l.ends, x.Op(matching))
		if x.Op(communicator) == trace.Undefined {
			return false
		}
	}
	return s.wantsRefs(x)
}

// dropsBegin reports whether a begin without a communicator belongs to an unwanted one. It is a posted receive, a
// collective operation or a posted one, which is given by its number.
func (s *filterScan) dropsBegin(loc, number uint32, k trace.Kind) bool {
	l := s.begins.Get(loc)
	switch {
	case l == nil:
		return false
	case k == trace.RecvBegin:
		return l.receives.Has(int64(number))
	case k == trace.CollectiveRequest:
		return l.posts.Has(int64(number))
	}
	return l.collectives.Has(int64(number))
}

// recordDropped stores that a claim or mark is dropped, because links to it must also be dropped.
func (s *filterScan) recordDropped(x *trace.Cursor, keep bool) {
	if s.dropped == nil || keep {
		return
	}
	sort := sortOf(x.Kind() == trace.Mark)
	if id := int64(x.Op(0)); x.Pos() > 0 && s.byLine {
		s.dropped.positions.Add(x.Pos())
		s.dropped.placed[sort].Add(id)
	} else {
		s.dropped.unplaced[sort].Add(id)
	}
}

// droppedEnds identifies claims and marks by their positions in the file and by their ids.
type droppedEnds struct {
	positions        numberset.Set
	placed, unplaced [2]numberset.Set // ids of claims and marks with a position, and of those without one
}

// sortOf returns the index of the ids of marks, or of claims. A mark and a claim may have the same id.
func sortOf(mark bool) int {
	if mark {
		return 1
	}
	return 0
}

// has reports whether the claim or mark at the end of a link was dropped.
func (d *droppedEnds) has(e *trace.End) bool {
	sort := sortOf(e.Kind == trace.AtEvent)
	if e.Pos > 0 {
		return d.positions.Has(e.Pos) || d.unplaced[sort].Has(e.ID)
	}
	return d.unplaced[sort].Has(e.ID) || d.placed[sort].Has(e.ID)
}

// flush delivers the waiting rows. Their visits have no end, so they are kept.
func (s *filterScan) flush(_ context.Context, out format.Sink) error {
	s.gather.sink = out
	if err := s.queue.keepAll(&s.gather); err != nil {
		return err
	}
	for _, l := range s.locs {
		if l != nil {
			if err := l.queue.keepAll(&s.gather); err != nil {
				return err
			}
		}
	}
	return s.gather.flush()
}

// links returns the links of which both ends are kept.
func (s *filterScan) links(l []trace.Link) []trace.Link {
	var keep []trace.Link
	gone := func(e *trace.End) bool {
		if e.Location != trace.NoRef && s.Location != nil && !s.Location(e.Location) {
			return true
		}
		return e.Kind != trace.AtLocation && s.dropped.has(e)
	}
	for _, x := range l {
		if !gone(&x.Src) && !gone(&x.Dst) {
			keep = append(keep, x)
		}
	}
	return keep
}

// queue holds rows in order until the filter knows which of them to keep.
type queue struct {
	chunks []*chunk
	count  int64 // number of the next row
	// rows that are kept as soon as MinDuration has passed since their time; the oldest row is first
	due    []waitingRow
	unused *chunk // memory for the next chunk; nil if there is none
}

// waitingRow is a row number with the time of the row in ticks.
type waitingRow struct{ row, time int64 }

// chunk holds some rows of the queue, with a decision about each.
type chunk struct {
	rows      trace.Batch
	first     int64 // number of the chunk's first row
	decisions []decision
	// waiting is the number of rows that are not decided yet.
	waiting int
}

// decision states whether a row is kept.
type decision uint8

const (
	rowKept decision = iota
	rowWaiting
	rowDropped
)

// chunkRows is the greatest number of rows in a chunk. For a location that has ended, up to this number of
// rows may stay in memory.
const chunkRows = 256

// add adds a row. If waits is set, the row is not decided yet. Such a row is kept unless it is dropped before
// MinDuration has passed.
func (q *queue) add(x *trace.Cursor, b *trace.Batch, waits bool) {
	n := len(q.chunks)
	if n == 0 || q.chunks[n-1].full(b) {
		c := q.unused
		if c == nil {
			c = &chunk{}
		}
		q.unused = nil
		c.first, c.decisions = q.count, c.decisions[:0]
		c.rows.Reset(b.Loc)
		q.chunks = append(q.chunks, c)
		n++
	}
	c := q.chunks[n-1]
	c.rows.AppendRow(x)
	copyTexts(&c.rows)
	c.decisions = append(c.decisions, rowKept)
	if waits {
		c.decisions[len(c.decisions)-1] = rowWaiting
		c.waiting++
		q.due = append(q.due, waitingRow{q.count, x.Time()})
	}
	q.count++
}

// copyTexts copies the texts in the attributes of the last row, because they may be in a buffer that is
// reused.
func copyTexts(b *trace.Batch) {
	row := uint32(b.Len() - 1)
	for i := len(b.AttrRow) - 1; i >= 0 && b.AttrRow[i] == row; i-- {
		b.AttrVal[i].Str = string(append([]byte(nil), b.AttrVal[i].Str...))
	}
}

// full reports whether the chunk has no room for a row of b.
func (c *chunk) full(b *trace.Batch) bool {
	return len(c.decisions) == chunkRows || c.rows.Loc != b.Loc || (len(c.rows.Pos) > 0) != (len(b.Pos) > 0) ||
		(len(c.rows.Order) > 0) != (len(b.Order) > 0)
}

// decide sets the decision about a row. It returns false if the row has already been decided.
func (q *queue) decide(row int64, f decision) bool {
	if len(q.chunks) == 0 || row < q.chunks[0].first {
		return false
	}
	i := sort.Search(len(q.chunks), func(i int) bool { return q.chunks[i].first > row }) - 1
	c := q.chunks[i]
	if at := row - c.first; c.decisions[at] == rowWaiting {
		c.decisions[at] = f
		c.waiting--
		return true
	}
	return false
}

// drop marks a row as dropped. It returns false if the row has already been kept or dropped.
func (q *queue) drop(row int64) bool { return q.decide(row, rowDropped) }

// keepWaited marks the rows as kept that have waited for the given duration at time t. Both are in
// ticks.
func (q *queue) keepWaited(t, duration int64) {
	n := 0
	for n < len(q.due) && t >= q.due[n].time && uint64(t)-uint64(q.due[n].time) >= uint64(duration) {
		q.decide(q.due[n].row, rowKept)
		n++
	}
	if n > 0 {
		q.due = append(q.due[:0], q.due[n:]...)
	}
}

// release delivers the kept rows at the start of the queue, up to the first row without a decision.
func (q *queue) release(to *rowCollector) error {
	for len(q.chunks) > 0 && q.chunks[0].waiting == 0 {
		c := q.chunks[0]
		x := c.rows.Cursor()
		for x.Next() {
			if c.decisions[x.Row] == rowDropped {
				continue
			}
			if err := to.addRow(&x, &c.rows); err != nil {
				return err
			}
		}
		q.chunks = q.chunks[1:]
		q.unused = c
	}
	return nil
}

// keepAll decides to keep all waiting rows, and delivers them.
func (q *queue) keepAll(to *rowCollector) error {
	q.keepWaited(math.MaxInt64, 0)
	for _, c := range q.chunks {
		for i, f := range c.decisions {
			if f == rowWaiting {
				c.decisions[i] = rowKept
			}
		}
		c.waiting = 0
	}
	return q.release(to)
}
