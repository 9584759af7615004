package transform

import (
	"cmp"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/openset"
	"github.com/weft-trace/weft/trace"
)

// openRow is a row that begins an interval, such as a visit or a claim, which has not ended yet.
type openRow struct {
	kind trace.Kind
	ref  uint32
	time int64
	seq  int64 // position among the begins at the location
	row  *row  // operands and attributes of the row; nil if it has none
}

// sendOf returns the time at which the send that a row completes was posted. ok is false if this time is
// unknown.
func (s *state) sendOf(x *trace.Cursor) (t int64, ok bool) {
	l, _ := s.rest.Get(pairOf(x.Kind()).key(x))
	if len(l) == 0 {
		return 0, false
	}
	return l[len(l)-1].time, true
}

// stripAttributes removes the attributes of the innermost open visit. These attributes describe a message. The
// piece repeats the enter of the visit, but must not repeat the message.
func (s *state) stripAttributes() {
	if n := len(s.regions); n > 0 && s.regions[n-1].row != nil {
		s.regions[n-1].row = &row{ops: s.regions[n-1].row.ops}
	}
}

// row holds the operands and attributes of an event, and its position in the file. Few events have operands or
// attributes.
type row struct {
	pos  int64
	ops  []uint64
	keys []uint32
	vals []trace.Value
}

// copyRow returns a copy of the operands and attributes of the current row, or nil if it has none.
func copyRow(c *trace.Cursor) *row {
	ops := c.Ops()
	keys, vals := c.Attrs()
	if ops == nil && len(keys) == 0 {
		return nil
	}
	r := &row{}
	r.set(c.Pos(), ops, keys, vals)
	return r
}

// set copies operands and attributes to the row.
func (r *row) set(pos int64, ops []uint64, keys []uint32, vals []trace.Value) {
	r.pos, r.keys, r.vals = pos, append(r.keys[:0], keys...), append(r.vals[:0], vals...)
	if r.ops = append(r.ops[:0], ops...); ops != nil && r.ops == nil {
		r.ops = []uint64{}
	} else if ops == nil {
		r.ops = nil
	}
	for i := range r.vals {
		r.vals[i].Str = strings.Clone(r.vals[i].Str)
	}
}

// operands returns the operands. It returns no operands if the row is nil.
func (r *row) operands() []uint64 {
	if r == nil {
		return nil
	}
	return r.ops
}

// add appends the row to a batch, with the time t. It also appends the position of the row, if all earlier
// rows of the batch have positions.
func (o *openRow) add(b *trace.Batch, loc uint32, t int64) {
	b.Add(loc, t, o.kind, o.ref)
	if o.row == nil {
		return
	}
	if o.row.ops != nil {
		b.AddOps(o.row.ops...)
	}
	for i, k := range o.row.keys {
		b.AddAttr(k, o.row.vals[i])
	}
	if o.kind == trace.ClaimBegin && o.row.pos > 0 && len(b.Pos) == b.Len()-1 {
		b.Pos = append(b.Pos, o.row.pos)
	}
}

// pairing describes how events of a kind form pairs: a begin and an end belong together if their keys
// are equal.
type pairing struct {
	class int8 // 0 for kinds that neither begin nor end an interval
	ends  bool
	// ref states whether the reference is part of the key. op is the index of the operand that is part of the
	// key, or -1.
	ref bool
	op  int8
	// close is set for kinds that begin an interval, if the row that ends the interval can be made from the
	// key alone. It is the kind of that row.
	close trace.Kind
}

// pairings states how begins and ends of intervals at a location are matched, for each common kind that begins
// or ends an interval. It is indexed by kind.
var pairings = func() (p [trace.Declared]pairing) {
	class := int8(0)
	put := func(x pairing, begin trace.Kind, opEnd int8, ends ...trace.Kind) {
		class++
		x.class = class
		p[begin] = x
		x.ends, x.op = true, opEnd
		for _, k := range ends {
			p[k] = x
		}
	}
	put(pairing{ref: true, op: -1, close: trace.Leave}, trace.Enter, -1, trace.Leave)
	put(pairing{op: 0, close: trace.ClaimEnd}, trace.ClaimBegin, 0, trace.ClaimEnd)
	put(pairing{ref: true, op: -1, close: trace.ContextLeave}, trace.ContextEnter, -1, trace.ContextLeave)
	put(pairing{op: 0, close: trace.ThreadTeamEnd}, trace.ThreadTeamBegin, 0, trace.ThreadTeamEnd)
	put(pairing{op: 5}, trace.CollectiveBegin, 5, trace.CollectiveEnd)
	put(pairing{op: 0}, trace.CollectiveRequest, 5, trace.CollectiveComplete)
	put(pairing{op: 4}, trace.SendBegin, 0, trace.SendComplete)
	put(pairing{op: 0}, trace.RecvBegin, 4, trace.RecvComplete)
	p[trace.RequestCancelled] = pairing{class: class, ends: true, op: 0}
	put(pairing{op: -1}, trace.RMACollectiveBegin, -1, trace.RMACollectiveEnd)
	put(pairing{op: -1}, trace.ThreadFork, -1, trace.ThreadJoin)
	put(pairing{op: 0}, trace.LockAcquire, 0, trace.LockRelease)
	put(pairing{ref: true, op: 1}, trace.RMALockAcquire, 1, trace.RMALockRelease)
	put(pairing{ref: true, op: -1}, trace.IOHandleCreate, -1, trace.IOHandleDestroy)
	put(pairing{op: 3}, trace.IOBegin, 1, trace.IOComplete)
	p[trace.IOCancelled] = pairing{class: class, ends: true, op: 0}
	put(pairing{ref: true, op: -1}, trace.IOLockAcquire, -1, trace.IOLockRelease)
	put(pairing{op: 0}, trace.FileOperationBegin, 3, trace.FileOperationEnd)
	put(pairing{op: -1}, trace.ProcessBegin, -1, trace.ProcessEnd)
	put(pairing{op: -1}, trace.ProgramBegin, -1, trace.ProgramEnd)
	put(pairing{ref: true, op: -1}, trace.CommCreate, -1, trace.CommDestroy)
	put(pairing{ref: true, op: -1}, trace.WindowCreate, -1, trace.WindowDestroy)
	return p
}()

// pairOf returns the pairing of a kind.
func pairOf(k trace.Kind) *pairing {
	if int(k) < len(pairings) {
		return &pairings[k]
	}
	return &pairings[trace.NoKind]
}

// pairKey identifies pairs of a begin and an end. A begin and its end have equal keys.
type pairKey struct {
	class int8
	ref   uint32
	op    uint64
	pos   int64 // position in the file of a claim's line
}

// key returns the key of the current row.
func (p *pairing) key(c *trace.Cursor) pairKey {
	k := pairKey{class: p.class, op: trace.Undefined}
	if p.ref {
		k.ref = c.Ref()
	}
	if p.op >= 0 {
		k.op = c.Op(int(p.op))
	}
	return k
}

// state holds the open rows of a location. It uses 40 bytes per visit, and about 200 bytes for each
// other open row.
type state struct {
	seq     int64
	regions []openRow // finds visits by region
	among   openset.Index[uint32]
	rest    openset.Map[pairKey, []openRow]
	byLine  bool // the value of trace.Definitions.ClaimLines
	// begun lists all open collective operations, in the order of their begins. Some that have ended remain in the list
	// for a while: at most half of the list, plus a few.
	begun []begunOperation
	stale int // number of ended operations in begun
	// rows and lists hold memory of closed intervals for later ones. No row belongs to two states.
	rows  []*row
	lists [][]openRow
}

// begunOperation is a collective operation that has begun: its key, and the number of its row.
type begunOperation struct {
	key pairKey
	seq int64
}

// copyRow is like [copyRow]. It uses the memory of closed intervals.
func (s *state) copyRow(c *trace.Cursor) *row {
	ops := c.Ops()
	keys, vals := c.Attrs()
	if ops == nil && len(keys) == 0 {
		return nil
	}
	var r *row
	if n := len(s.rows) - 1; n >= 0 {
		r, s.rows = s.rows[n], s.rows[:n]
	} else {
		r = &row{}
	}
	r.set(c.Pos(), ops, keys, vals)
	return r
}

// free returns the memory of a closed interval's row.
func (s *state) free(r *row) {
	if r != nil {
		s.rows = append(s.rows, r)
	}
}

// update handles a row: it opens the interval that the row begins, or closes the interval that it ends.
// An end without a begin has no effect.
func (s *state) update(c *trace.Cursor) {
	k := c.Kind()
	switch {
	case c.Derived():
		if k.IsSend() {
			s.stripAttributes()
		}
		return
	case k == trace.Enter:
		s.seq++
		s.among.Open(c.Ref(), len(s.regions))
		s.regions = append(s.regions, openRow{k, c.Ref(), c.Time(), s.seq, s.copyRow(c)})
		return
	case k == trace.Leave:
		i := s.among.Find(c.Ref(), len(s.regions), func(i int) uint32 { return s.regions[i].ref })
		if i < 0 {
			return
		}
		if len(s.begun) > 0 {
			s.abandon(s.regions[i].seq)
		}
		s.free(s.regions[i].row)
		s.regions[i].row = nil
		s.regions = openset.Close(&s.among, s.regions, i, c.Ref())
		return
	}
	p := pairOf(k)
	if p.class == 0 {
		return
	}
	id := p.key(c)
	if s.byLine && p.class == pairings[trace.ClaimBegin].class {
		id.pos = c.Pos()
	}
	l, found := s.rest.Take(id)
	if p.ends {
		if !found {
			return
		}
		last := len(l) - 1
		s.free(l[last].row)
		seq := l[last].seq
		if s.putBack(id, l[:last]); p.class == pairings[trace.CollectiveEnd].class {
			s.forget(seq)
		}
		return
	}
	if n := len(s.lists) - 1; !found && n >= 0 {
		l, s.lists = s.lists[n], s.lists[:n]
	}
	s.seq++
	if k == trace.CollectiveBegin {
		s.begun = append(s.begun, begunOperation{id, s.seq})
	}
	if k == trace.ClaimBegin && len(l) > 0 {
		s.free(l[0].row)
		l = l[:0] // a claim that begins again ends the open claim
	}
	s.rest.Put(id, append(l, openRow{k, c.Ref(), c.Time(), s.seq, s.copyRow(c)}))
}

// putBack stores the open rows with a key after some of them have been closed.
func (s *state) putBack(id pairKey, l []openRow) {
	if len(l) > 0 {
		s.rest.Put(id, l)
	} else {
		s.lists = append(s.lists, l)
	}
}

// forget removes an operation that has ended from begun, at once or later.
func (s *state) forget(seq int64) {
	if n := len(s.begun) - 1; s.begun[n].seq == seq {
		s.begun = s.begun[:n]
		return
	}
	if s.stale++; s.stale > len(s.begun)/2+16 {
		s.begun = slices.DeleteFunc(s.begun, func(x begunOperation) bool {
			l, _ := s.rest.Get(x.key)
			_, open := slices.BinarySearchFunc(l, x.seq, func(r openRow, seq int64) int { return cmp.Compare(r.seq, seq) })
			return !open
		})
		s.stale = 0
	}
}

// abandon closes the collective operations that have begun since a visit, which now ends. Some recorders, such as
// EZTrace, never write the end of a non-blocking operation.
func (s *state) abandon(since int64) {
	for n := len(s.begun) - 1; n >= 0 && s.begun[n].seq > since; n-- {
		x := s.begun[n]
		s.begun = s.begun[:n]
		l, found := s.rest.Take(x.key)
		switch last := len(l) - 1; {
		case found && l[last].seq == x.seq:
			s.free(l[last].row)
			s.putBack(x.key, l[:last])
		case found:
			s.rest.Put(x.key, l)
			fallthrough
		default: // the operation has ended
			s.stale--
		}
	}
}

// list returns the open rows in the order of their begins. It leaves out sends that are not complete, because
// a piece that repeats them would have additional messages.
func (s *state) list() []openRow {
	var l []openRow
	for i := range s.regions {
		if !s.among.Gap(i) {
			l = append(l, s.regions[i])
		}
	}
	s.rest.All(func(k pairKey, x []openRow) bool {
		if k.class != pairings[trace.SendBegin].class {
			l = append(l, x...)
		}
		return true
	})
	slices.SortFunc(l, func(a, b openRow) int { return cmp.Compare(a.seq, b.seq) })
	return l
}

// clone returns an independent copy of the state.
func (s *state) clone() *state {
	c := &state{seq: s.seq, regions: cloneRows(s.regions), among: s.among.Clone(), byLine: s.byLine,
		begun: slices.Clone(s.begun), stale: s.stale}
	s.rest.All(func(k pairKey, l []openRow) bool {
		c.rest.Put(k, cloneRows(l))
		return true
	})
	return c
}

// cloneRows returns an independent copy of a list of open rows.
func cloneRows(list []openRow) []openRow {
	list = slices.Clone(list)
	for i, o := range list {
		if o.row != nil {
			list[i].row = &row{}
			list[i].row.set(o.row.pos, o.row.ops, o.row.keys, o.row.vals)
		}
	}
	return list
}

// setElement sets an element of a map. It creates the map if needed.
func setElement[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[k] = v
}
