package format

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/weft-trace/weft/trace"
)

// A Reducer appends to rows the numbers of those rows of b that an analysis needs, in their order.
// It gets all batches of a location, in the order of time.
type Reducer func(b *trace.Batch, rows []int32) []int32

// Reduction says what an analysis needs of a trace.
type Reduction struct {
	// New makes a Reducer for one goroutine, which sees each of its locations whole.
	New func() Reducer
	// Ends accepts the kinds of events of which the first and the last one of each location are
	// chosen, too; the last one comes without operands if the Reducer does not choose it. It must
	// accept the kinds that the Reducer chooses. Nil accepts none.
	Ends func(trace.Kind) bool
}

// KindReduction chooses the events of the kinds that needs accepts.
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

// ScanReduced scans a trace by location, in several goroutines where the format allows it, and hands
// the events that r chooses to sink in global time order, without links, attributes and positions.
// Simultaneous events of different locations come in the order of the locations. sink is called by
// one goroutine.
//
// The events are held in packed form, 3 to 20 bytes each: 32 MiB of them in memory, more in a
// temporary file. Beside them it holds 16 KiB for each location at most, and 64 MiB for all.
func ScanReduced(ctx context.Context, d Events, sel trace.Selection, r Reduction, sink Sink) error {
	return scanReduced(ctx, d, sel, r, sink, reducedBytes)
}

// scanReduced is ScanReduced with so many bytes of packed events in memory.
func scanReduced(ctx context.Context, d Events, sel trace.Selection, r Reduction, sink Sink, memory int64) error {
	s := &reducedStore{memory: memory}
	s.chunk = min(max(int(memory)/max(d.Defs().Locations.Len(), 1), 512), 16<<10)
	defer s.close()
	sel.Links = trace.NoLinks
	var mu sync.Mutex
	var workers []*reducing
	err := d.ScanParallel(ctx, sel, func() func(int) Sink {
		workers = nil
		s.clear()
		return func(int) Sink {
			w := &reducing{store: s, reduce: r.New(), ends: r.Ends}
			mu.Lock()
			defer mu.Unlock()
			workers = append(workers, w)
			return w
		}
	})
	if err != nil {
		return err
	}
	var lanes []*reducedLane
	for _, w := range workers {
		for _, l := range w.lanes {
			if l != nil {
				if err := w.finish(l); err != nil {
					return err
				}
				lanes = append(lanes, l)
			}
		}
	}
	slices.SortStableFunc(lanes, func(a, b *reducedLane) int { return cmp.Compare(a.location, b.location) })
	streams := make([]Stream, len(lanes))
	for i, l := range lanes {
		streams[i] = &reducedReader{lane: l, store: s, rows: max(8, min(256, 1<<18/len(lanes)))}
	}
	return Merge(ctx, streams, sink)
}

// reducedBytes is how many bytes of packed events ScanReduced keeps in memory.
const reducedBytes = 32 << 20

// reducedStore keeps packed events.
type reducedStore struct {
	chunk  int          // bytes of a chunk
	memory int64        // bytes that may be kept in memory
	used   atomic.Int64 // bytes that are
	mu     sync.Mutex   // of what follows
	file   *os.File     // nil until it is needed
	size   int64        // of the file
}

// clear forgets all events.
func (s *reducedStore) clear() {
	s.used.Store(0)
	s.size = 0
}

func (s *reducedStore) close() {
	if s.file != nil {
		s.file.Close()
		os.Remove(s.file.Name())
	}
}

// keep stores a chunk, of which it becomes the owner.
func (s *reducedStore) keep(b []byte) (reducedChunk, error) {
	n := int64(len(b))
	if s.used.Add(n) <= s.memory {
		return reducedChunk{memory: b}, nil
	}
	s.used.Add(-n)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		var err error
		if s.file, err = os.CreateTemp("", "weft-events-*"); err != nil {
			return reducedChunk{}, fmt.Errorf("cannot make a temporary file: %w", err)
		}
		os.Remove(s.file.Name()) // where open files may be removed
	}
	at := s.size
	if _, err := s.file.WriteAt(b, at); err != nil {
		return reducedChunk{}, err
	}
	s.size += n
	return reducedChunk{at: at, size: len(b)}, nil
}

// reducedChunk is a piece of a location's packed events.
type reducedChunk struct {
	memory []byte // nil if it is in the file
	at     int64
	size   int
}

// reducedLane has the events of a location that were chosen.
type reducedLane struct {
	location uint32
	codes    *[]reducedCode // of the worker
	chunks   []reducedChunk
	buf      []byte // the newest events
	last     int64  // time of the event before
	order    int64  // the order of the one before that has one
	any      bool   // one of Reduction.Ends has been met
	latest   reducedEvent
	left     bool // latest, the last of them so far, has not been chosen
	ordered  bool // an event has an order
}

// reducedEvent is an event without its operands.
type reducedEvent struct {
	time int64
	kind trace.Kind
	ref  uint32
}

// reducedCode is what many events share.
type reducedCode struct {
	ref      uint32
	kind     trace.Kind
	operands uint16
	ordered  bool
	derived  bool
}

// reducing is the sink of one goroutine.
type reducing struct {
	store  *reducedStore
	reduce Reducer
	ends   func(trace.Kind) bool
	rows   []int32
	lanes  []*reducedLane // by location
	codes  []reducedCode
	number map[reducedCode]int
	recent [64]struct {
		code   reducedCode
		number int // and one; 0 if there is none
	}
}

// Links are not kept.
func (w *reducing) Links([]trace.Link) error { return nil }

func (w *reducing) lane(location uint32) *reducedLane {
	for int(location) >= len(w.lanes) {
		w.lanes = append(w.lanes, nil)
	}
	l := w.lanes[location]
	if l == nil {
		l = &reducedLane{location: location, codes: &w.codes}
		w.lanes[location] = l
	}
	return l
}

// End stores what is left of a location.
func (w *reducing) End(location uint32) error {
	if int(location) < len(w.lanes) && w.lanes[location] != nil {
		return w.finish(w.lanes[location])
	}
	return nil
}

// Batch keeps the rows that are chosen.
func (w *reducing) Batch(b *trace.Batch) error {
	w.rows = w.reduce(b, w.rows[:0])
	if w.ends != nil {
		if b.Loc == trace.MixedLoc {
			w.rows = w.mixedEnds(b, w.rows)
		} else {
			w.rows = w.laneEnds(b, w.rows)
		}
	}
	op, derived := 0, 0
	for _, row := range w.rows {
		if err := w.put(w.lane(b.Location(int(row))), b, uint32(row), &op, &derived); err != nil {
			return err
		}
	}
	return nil
}

// laneEnds adds the first event of the batch's location to rows, and notes its last one.
func (w *reducing) laneEnds(b *trace.Batch, rows []int32) []int32 {
	l := w.lane(b.Loc)
	if !l.any {
		first := slices.IndexFunc(b.Kind, w.ends)
		if first < 0 {
			return rows
		}
		l.any = true
		if at, chosen := slices.BinarySearch(rows, int32(first)); !chosen {
			rows = slices.Insert(rows, at, int32(first))
		}
	}
	for last := b.Len() - 1; last >= 0; last-- {
		if w.ends(b.Kind[last]) {
			_, chosen := slices.BinarySearch(rows, int32(last))
			l.left = !chosen
			l.latest = reducedEvent{b.Time[last], b.Kind[last], b.Ref[last]}
			break
		}
	}
	return rows
}

// mixedEnds is laneEnds for a batch of several locations.
func (w *reducing) mixedEnds(b *trace.Batch, rows []int32) []int32 {
	all := make([]int32, 0, len(rows)+8)
	for row := range int32(b.Len()) {
		chosen := len(rows) > 0 && rows[0] == row
		if chosen {
			rows = rows[1:]
		}
		if w.ends(b.Kind[row]) {
			l := w.lane(b.Locs[row])
			chosen = chosen || !l.any
			l.any, l.left = true, !chosen
			l.latest = reducedEvent{b.Time[row], b.Kind[row], b.Ref[row]}
		}
		if chosen {
			all = append(all, row)
		}
	}
	return all
}

// put keeps a row. op and derived are where its columns are at least.
func (w *reducing) put(l *reducedLane, b *trace.Batch, row uint32, op, derived *int) error {
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
	code := reducedCode{ref: b.Ref[row], kind: b.Kind[row], operands: uint16(len(ops))}
	for *derived < len(b.Derived) && b.Derived[*derived] < row {
		*derived++
	}
	code.derived = *derived < len(b.Derived) && b.Derived[*derived] == row
	order := int64(0)
	if int(row) < len(b.Order) {
		order, code.ordered = b.Order[row], true
	}
	l.begin(b.Time[row], w.code(code))
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
	if len(l.buf) >= w.store.chunk {
		return w.flush(l)
	}
	return nil
}

// begin begins to pack an event.
func (l *reducedLane) begin(time int64, code uint64) {
	l.buf = binary.AppendUvarint(l.buf, code)
	l.buf = binary.AppendUvarint(l.buf, uint64(time-l.last))
	l.last = time
}

// code returns the number of what many events share.
func (w *reducing) code(c reducedCode) uint64 {
	place := &w.recent[(c.ref*7+uint32(c.kind))%uint32(len(w.recent))]
	if place.number > 0 && place.code == c {
		return uint64(place.number - 1)
	}
	if w.number == nil {
		w.number = map[reducedCode]int{}
	}
	n, ok := w.number[c]
	if !ok {
		n = len(w.codes)
		w.number[c] = n
		w.codes = append(w.codes, c)
	}
	place.code, place.number = c, n+1
	return uint64(n)
}

// finish keeps the last event of a location, and stores what has not been stored.
func (w *reducing) finish(l *reducedLane) error {
	if l.left {
		l.left = false
		l.begin(l.latest.time, w.code(reducedCode{ref: l.latest.ref, kind: l.latest.kind}))
	}
	return w.flush(l)
}

func (w *reducing) flush(l *reducedLane) error {
	if len(l.buf) == 0 {
		return nil
	}
	c, err := w.store.keep(l.buf)
	l.chunks = append(l.chunks, c)
	if c.memory == nil {
		l.buf = l.buf[:0]
	} else {
		l.buf = make([]byte, 0, min(cap(l.buf), w.store.chunk+64))
	}
	return err
}

// reducedReader delivers the events of a location.
type reducedReader struct {
	lane  *reducedLane
	store *reducedStore
	rows  int // of a batch
	chunk int // the next one
	data  []byte
	room  []byte // for chunks of the file
	time  int64
	order int64
	b     trace.Batch
}

// Next unpacks some events.
func (r *reducedReader) Next(context.Context) (*trace.Batch, error) {
	if len(r.data) == 0 {
		if r.chunk == len(r.lane.chunks) {
			return nil, nil
		}
		c := &r.lane.chunks[r.chunk]
		r.chunk++
		if r.data = c.memory; r.data == nil {
			r.room = slices.Grow(r.room[:0], c.size)[:c.size]
			if _, err := r.store.file.ReadAt(r.room, c.at); err != nil {
				return nil, err
			}
			r.data = r.room
		}
		c.memory = nil
	}
	b, data, codes := &r.b, r.data, *r.lane.codes
	b.Reset(r.lane.location)
	number := func() uint64 {
		if x := data[0]; x < 0x80 {
			data = data[1:]
			return uint64(x)
		}
		x, n := binary.Uvarint(data)
		data = data[n:]
		return x
	}
	for row := 0; row < r.rows && len(data) > 0; row++ {
		c := &codes[number()]
		r.time += int64(number())
		b.Time, b.Kind, b.Ref = append(b.Time, r.time), append(b.Kind, c.kind), append(b.Ref, c.ref)
		if r.lane.ordered {
			order := int64(0)
			if c.ordered {
				d, n := binary.Varint(data)
				data = data[n:]
				r.order += d
				order = r.order
			}
			b.Order = append(b.Order, order)
		}
		if c.operands > 0 {
			for range c.operands {
				b.Op = append(b.Op, number()-1)
			}
			b.OpRow, b.OpEnd = append(b.OpRow, uint32(row)), append(b.OpEnd, uint32(len(b.Op)))
		}
		if c.derived {
			b.MarkDerived()
		}
	}
	r.data = data
	return b, nil
}
