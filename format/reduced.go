package format

import (
	"cmp"
	"context"
	"encoding/binary"
	"math"
	"slices"
	"sync"

	"github.com/weft-trace/weft/internal/chunks"
	"github.com/weft-trace/weft/trace"
)

// Reducer chooses the rows of b that an analysis needs. It appends their numbers to rows, in ascending
// order, and returns the result. It gets all batches of a location in the order of time.
type Reducer func(b *trace.Batch, rows []int32) []int32

// Reduction selects the part of a trace that an analysis needs.
type Reduction struct {
	// New returns a Reducer for one goroutine, which gets all batches of some locations.
	New func() Reducer
	// Begin, if it is not nil, is called before the first call of New, and again if the scan is
	// restarted. Results of the earlier Reducers must be discarded then.
	Begin func()
	// Ends reports whether the reduction keeps the first and the last event of a location among the events of
	// the kinds for which Ends returns true. The last event has no operands unless the Reducer chose it. Ends
	// must return true for all kinds that the Reducer may choose. If Ends is nil, the reduction keeps only the
	// events that the Reducer chose.
	Ends func(trace.Kind) bool
}

// KindReduction returns a Reduction to the events for whose kind needs returns true.
func KindReduction(needs func(trace.Kind) bool) Reduction {
	return Reduction{New: func() Reducer {
		var known, wanted [256]bool
		return func(b *trace.Batch, rows []int32) []int32 {
			for i, k := range b.Kind {
				switch {
				case int(k) >= len(known):
					if needs(k) {
						rows = append(rows, int32(i))
					}
					continue
				case !known[k]:
					known[k], wanted[k] = true, needs(k)
				}
				if wanted[k] {
					rows = append(rows, int32(i))
				}
			}
			return rows
		}
	}}
}

// ScanReduced scans a trace by location, in several goroutines if the format allows it. It delivers
// the events that r chooses to sink in global time order, without links, attributes and positions.
// Events with equal times come in the order of the locations. One goroutine calls sink.
//
// ScanReduced packs the events into 3 to 20 bytes each. It holds 32 MiB of them in memory, and more
// in a temporary file. It also uses up to 16 KiB per location, and up to 64 MiB for all locations.
func ScanReduced(ctx context.Context, d Events, sel trace.Selection, r Reduction, sink Sink) error {
	return scanReduced(ctx, d, sel, r, sink, reducedBytes)
}

// ScanReducedWindow is [ScanReduced] for the analysis of a window that also needs later events, such as the
// receives of messages that are sent in the window. It passes the events up to the end of the window to the
// sink. Then it passes the events of successive, ever longer parts after the window, until complete returns
// true. A nil window means the whole trace.
func ScanReducedWindow(ctx context.Context, d Events, w *trace.Window, r Reduction, sink Sink,
	complete func() bool) error {
	return ScanExtended(d.Defs(), w, trace.Events(), func(sel trace.Selection) (bool, error) {
		err := ScanReduced(ctx, d, sel, r, sink)
		return err == nil && complete(), err
	})
}

// ScanExtended calls scan for the times of sel, extended to shortly after the end of a window. It then
// calls scan for parts after these times, each longer than the one before, until scan returns true or
// the trace ends.
func ScanExtended(d *trace.Definitions, w *trace.Window, sel trace.Selection,
	scan func(trace.Selection) (complete bool, err error)) error {
	parts, growth := 4, uint64(8)
	if d.CheapNext { // a scan of few events takes as long as a scan of more
		parts, growth = 2, 64
	}
	if w == nil || w.To == math.MaxInt64 {
		_, err := scan(sel)
		return err
	}
	length := max(d.Clock.Num/d.Clock.Den/1000, 1) // one millisecond
	if w.From > math.MinInt64 {
		length = max(int64(min((uint64(w.To)-uint64(w.From))/16, math.MaxInt64)), 1)
	}
	sel.To = trace.Add(w.To, length)
	for part := 1; ; part++ {
		complete, err := scan(sel)
		if complete || err != nil || sel.To == math.MaxInt64 {
			return err
		}
		sel.From = sel.To
		if length = int64(min(uint64(length)*growth, math.MaxInt64)); part == parts {
			length = math.MaxInt64
		}
		if sel.To = trace.Add(sel.From, length); part == parts {
			sel.To = math.MaxInt64
		}
	}
}

// scanReduced is like ScanReduced, with memory as the limit of bytes of packed events in memory.
func scanReduced(ctx context.Context, d Events, sel trace.Selection, r Reduction, sink Sink, memory int64) error {
	x, err := reduce(ctx, d, sel, r, memory)
	if err != nil {
		return err
	}
	defer x.Close()
	readers := x.readers()
	return merge(ctx, len(readers), sink, func(i int, h *head, out *trace.Batch) error {
		r := &readers[i]
		if out != nil {
			r.appendTo(out)
		}
		err := r.advance()
		h.time, h.order, h.done = r.time, r.order, r.code == nil
		return err
	})
}

// Reduced holds the events that a Reduction chose.
type Reduced struct {
	store *chunks.Store
	lanes []*reducedLane // indexed by location
}

// Reduce scans a trace like [ScanReduced], and returns the packed events instead of delivering
// them.
func Reduce(ctx context.Context, d Events, sel trace.Selection, r Reduction) (*Reduced, error) {
	return reduce(ctx, d, sel, r, reducedBytes)
}

// reduce is like Reduce, with memory as the limit of bytes of packed events in memory.
func reduce(ctx context.Context, d Events, sel trace.Selection, r Reduction, memory int64) (*Reduced, error) {
	x := &Reduced{store: chunks.New(memory)}
	chunk := min(max(int(memory)/max(d.Defs().Locations.Len(), 1), 512), 16<<10)
	sel.Links = trace.NoLinks
	var mu sync.Mutex
	var workers []*reducedSink
	err := d.ScanParallel(ctx, sel, func() func(int) Sink {
		workers = nil
		x.store.Clear()
		if r.Begin != nil {
			r.Begin()
		}
		return func(int) Sink {
			w := &reducedSink{store: x.store, chunk: chunk, reduce: r.New(), ends: r.Ends}
			mu.Lock()
			defer mu.Unlock()
			workers = append(workers, w)
			return w
		}
	})
	for _, w := range workers {
		for _, l := range w.lanes {
			if err == nil && l != nil {
				err = w.finish(l)
				x.lanes = append(x.lanes, l)
			}
		}
	}
	if err != nil {
		x.Close()
		return nil, err
	}
	slices.SortStableFunc(x.lanes, func(a, b *reducedLane) int { return cmp.Compare(a.location, b.location) })
	return x, nil
}

// Streams returns a stream for each location with events, in the order of the locations. A batch has 8 to 256
// rows. Within these limits, Streams chooses the size such that the batches of all streams together have about
// the given number of rows. Streams must be called only once, since a stream frees the events that it has
// delivered.
func (r *Reduced) Streams(rows int) []Stream {
	readers, streams := r.readers(), make([]Stream, len(r.lanes))
	most := max(8, min(256, rows/max(1, len(r.lanes)))) // rows of a batch
	for i := range readers {
		x, started := &readers[i], false
		b := &trace.Batch{}
		streams[i] = func(context.Context) (*trace.Batch, error) {
			var err error
			if !started {
				started, err = true, x.advance()
			}
			b.Reset(x.lane.location)
			for err == nil && x.code != nil && b.Len() < most {
				x.appendTo(b)
				err = x.advance()
			}
			if err != nil || b.Len() == 0 {
				return nil, err
			}
			return b, nil
		}
	}
	return streams
}

// readers returns a reader for each location with events, in the order of the locations.
func (r *Reduced) readers() []reducedReader {
	list := make([]reducedReader, len(r.lanes))
	ordered := slices.ContainsFunc(r.lanes, func(l *reducedLane) bool { return l.ordered })
	for i, l := range r.lanes {
		list[i] = reducedReader{lane: l, store: r.store, ordered: ordered}
	}
	return list
}

// Close removes the temporary file.
func (r *Reduced) Close() { r.store.Close() }

// reducedBytes is the number of bytes of packed events that ScanReduced keeps in memory.
const reducedBytes = 32 << 20

// reducedLane holds the chosen events of a location.
type reducedLane struct {
	location uint32
	codes    *[]reducedCode // the table of codes of the worker
	chunks   []chunks.Chunk
	buf      []byte // the packed events that are not stored yet
	last     int64  // time of the previous event
	order    int64  // value of Batch.Order for the last event
	started  bool   // an event for which Reduction.Ends returns true has occurred
	latest   reducedEvent
	pending  bool // latest holds such an event, which has not been packed yet
	ordered  bool // at least one event comes from a batch with Batch.Order
}

// reducedEvent is an event without its operands.
type reducedEvent struct {
	time int64
	kind trace.Kind
	ref  uint32
}

// reducedCode holds properties that many events share.
type reducedCode struct {
	ref      uint32
	kind     trace.Kind
	operands uint32
	ordered  bool
	derived  bool
}

// reducedSink is the sink of one worker. It packs the chosen events.
type reducedSink struct {
	store  *chunks.Store
	chunk  int // size of a chunk in bytes
	reduce Reducer
	ends   func(trace.Kind) bool
	// rows is reused for each batch.
	rows  []int32
	lanes []*reducedLane // indexed by location
	// codes holds all codes so far. number maps them to their indexes, and recent is a cache of number.
	codes  []reducedCode
	number map[reducedCode]int
	recent [64]struct {
		code   reducedCode
		number int // index into codes plus one; 0 if unused
	}
}

// Links ignores links.
func (r *reducedSink) Links([]trace.Link) error { return nil }

// lane returns the events of a location, which it creates if needed.
func (r *reducedSink) lane(location uint32) *reducedLane {
	for int(location) >= len(r.lanes) {
		r.lanes = append(r.lanes, nil)
	}
	l := r.lanes[location]
	if l == nil {
		l = &reducedLane{location: location, codes: &r.codes}
		r.lanes[location] = l
	}
	return l
}

// End packs and stores the remaining events of a location.
func (r *reducedSink) End(location uint32) error {
	if int(location) < len(r.lanes) && r.lanes[location] != nil {
		return r.finish(r.lanes[location])
	}
	return nil
}

// Batch packs the chosen rows of a batch.
func (r *reducedSink) Batch(b *trace.Batch) error {
	r.rows = r.reduce(b, r.rows[:0])
	if r.ends != nil {
		if b.Loc == trace.MixedLoc {
			r.rows = r.mixedEnds(b, r.rows)
		} else {
			r.rows = r.laneEnds(b, r.rows)
		}
	}
	op, derived := 0, 0
	for _, row := range r.rows {
		if err := r.put(r.lane(b.Location(int(row))), b, uint32(row), &op, &derived); err != nil {
			return err
		}
	}
	return nil
}

// laneEnds adds the first event of the batch for which Reduction.Ends returns true to rows, if it is the first
// such event of its location. It keeps the last such event in the lane.
func (r *reducedSink) laneEnds(b *trace.Batch, rows []int32) []int32 {
	l := r.lane(b.Loc)
	if !l.started {
		first := slices.IndexFunc(b.Kind, r.ends)
		if first < 0 {
			return rows
		}
		l.started = true
		if at, chosen := slices.BinarySearch(rows, int32(first)); !chosen {
			rows = slices.Insert(rows, at, int32(first))
		}
	}
	for last := b.Len() - 1; last >= 0; last-- {
		if r.ends(b.Kind[last]) {
			_, chosen := slices.BinarySearch(rows, int32(last))
			l.pending = !chosen
			l.latest = reducedEvent{b.Time[last], b.Kind[last], b.Ref[last]}
			break
		}
	}
	return rows
}

// mixedEnds is like laneEnds, for a batch of several locations.
func (r *reducedSink) mixedEnds(b *trace.Batch, rows []int32) []int32 {
	all := make([]int32, 0, len(rows)+8)
	for row := range int32(b.Len()) {
		chosen := len(rows) > 0 && rows[0] == row
		if chosen {
			rows = rows[1:]
		}
		if r.ends(b.Kind[row]) {
			l := r.lane(b.Locs[row])
			chosen = chosen || !l.started
			l.started, l.pending = true, !chosen
			l.latest = reducedEvent{b.Time[row], b.Kind[row], b.Ref[row]}
		}
		if chosen {
			all = append(all, row)
		}
	}
	return all
}

// put packs a row. op and derived are positions in the sparse columns of the batch that are not after
// those of the row. put moves them forward.
func (r *reducedSink) put(l *reducedLane, b *trace.Batch, row uint32, op, derived *int) error {
	for *op < len(b.OpRow) && b.OpRow[*op] < row {
		*op++
	}
	var ops []uint64
	if *op < len(b.OpRow) && b.OpRow[*op] == row {
		from := uint32(0)
		if *op > 0 {
			from = b.OpEnd[*op-1]
		}
		ops = b.Op[from:b.OpEnd[*op]]
	}
	code := reducedCode{ref: b.Ref[row], kind: b.Kind[row], operands: uint32(len(ops))}
	for *derived < len(b.Derived) && b.Derived[*derived] < row {
		*derived++
	}
	code.derived = *derived < len(b.Derived) && b.Derived[*derived] == row
	order := int64(0)
	if int(row) < len(b.Order) {
		order, code.ordered = b.Order[row], true
	}
	l.begin(b.Time[row], r.code(code))
	if code.ordered {
		l.buf = binary.AppendVarint(l.buf, order-l.order)
		l.order, l.ordered = order, true
	}
	for _, x := range ops {
		if x++; x < 0x80 { // Undefined becomes 0
			l.buf = append(l.buf, byte(x))
		} else {
			l.buf = binary.AppendUvarint(l.buf, x)
		}
	}
	if len(l.buf) >= r.chunk {
		return r.flush(l)
	}
	return nil
}

// begin begins to pack an event.
func (l *reducedLane) begin(time int64, code uint64) {
	l.buf = binary.AppendUvarint(l.buf, code)
	l.buf = binary.AppendUvarint(l.buf, uint64(time-l.last))
	l.last = time
}

// code returns the index of c in codes, to which it adds c if needed.
func (r *reducedSink) code(c reducedCode) uint64 {
	place := &r.recent[(c.ref*7+uint32(c.kind))%uint32(len(r.recent))]
	if place.number > 0 && place.code == c {
		return uint64(place.number - 1)
	}
	if r.number == nil {
		r.number = map[reducedCode]int{}
	}
	n, ok := r.number[c]
	if !ok {
		n = len(r.codes)
		r.number[c] = n
		r.codes = append(r.codes, c)
	}
	place.code, place.number = c, n+1
	return uint64(n)
}

// finish packs the event that is pending at a location, if any, and stores the remaining packed events.
func (r *reducedSink) finish(l *reducedLane) error {
	if l.pending {
		l.pending = false
		l.begin(l.latest.time, r.code(reducedCode{ref: l.latest.ref, kind: l.latest.kind}))
	}
	return r.flush(l)
}

// flush stores the packed events of a location as a chunk.
func (r *reducedSink) flush(l *reducedLane) error {
	if len(l.buf) == 0 {
		return nil
	}
	c, taken, err := r.store.Keep(l.buf)
	l.chunks = append(l.chunks, c)
	if !taken {
		l.buf = l.buf[:0]
	} else {
		l.buf = make([]byte, 0, min(cap(l.buf), r.chunk+64))
	}
	return err
}

// reducedReader reads the packed events of a location, from memory or from the temporary file.
type reducedReader struct {
	lane    *reducedLane
	store   *chunks.Store
	ordered bool // the events of some locations have an order
	chunk   int  // index of the next chunk to read
	data    []byte
	at      int    // index into data of the operands of the next event
	room    []byte // buffer for chunks from the file
	// time, order and code are those of the next event. code is nil before the first call of advance and after
	// the last event.
	time, order int64
	code        *reducedCode
	lastOrder   int64 // of the last event that has an order
}

// number reads an unsigned number.
func (r *reducedReader) number() uint64 {
	if x := r.data[r.at]; x < 0x80 {
		r.at++
		return uint64(x)
	}
	x, n := binary.Uvarint(r.data[r.at:])
	r.at += n
	return x
}

// advance moves to the next event. The operands of the event before it must have been read.
func (r *reducedReader) advance() error {
	if r.at == len(r.data) {
		if r.code = nil; r.chunk == len(r.lane.chunks) {
			return nil
		}
		c := &r.lane.chunks[r.chunk]
		r.chunk++
		var err error
		if r.data, err = r.store.Read(*c, &r.room); err != nil {
			return err
		}
		r.store.Drop(c)
		r.at = 0
	}
	r.code = &(*r.lane.codes)[r.number()]
	r.time += int64(r.number())
	if r.order = 0; r.code.ordered {
		d, n := binary.Varint(r.data[r.at:])
		r.at += n
		r.lastOrder += d
		r.order = r.lastOrder
	}
	return nil
}

// appendTo reads the operands of the next event, and appends the event to b.
func (r *reducedReader) appendTo(b *trace.Batch) {
	c := r.code
	row := b.Add(r.lane.location, r.time, c.kind, c.ref)
	if r.ordered {
		b.Order = append(b.Order, r.order)
	}
	if c.operands > 0 {
		for range c.operands {
			b.Op = append(b.Op, r.number()-1)
		}
		b.OpRow, b.OpEnd = append(b.OpRow, row), append(b.OpEnd, uint32(len(b.Op)))
	}
	if c.derived {
		b.MarkDerived()
	}
}
