package etf

import (
	"slices"
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/carrier"
	"github.com/weft-trace/weft/internal/linetrace"
	"github.com/weft-trace/weft/trace"
)

// pending is an event that belongs after rows that have not been parsed yet: the end of an open claim,
// or a sample of a line with several samples. It takes 48 bytes.
type pending struct {
	time, order int64
	// value is the claim's id, the sample's value or, for the end of a carried visit or claim, the number of
	// the end's line. For a claim and a sample, order holds the number of the line instead.
	value    uint64
	ref, loc uint32
	res      uint32 // resource of the claim, or index of the sample in its line
	kind     trace.Kind
	extra    *carriedEnd
}

// carriedEnd holds the attributes of the end of a visit or claim that another format's trace carries.
type carriedEnd struct{ pairs []carrier.Pair }

// pendingHeap is a heap of pending events with the earliest at the top.
type pendingHeap []pending

func (h pendingHeap) before(a, b *pending) bool {
	if a.time != b.time {
		return a.time < b.time
	}
	return a.order < b.order || a.order == b.order && a.res < b.res
}

func (h *pendingHeap) push(p pending) {
	*h.appendSlot() = p
	h.siftUp()
}

// appendSlot adds an empty element at the end and returns it. The caller fills it and then calls
// siftUp. Filling the element in place avoids a copy that would wait for the values just written.
func (h *pendingHeap) appendSlot() *pending {
	s := *h
	n := len(s)
	if n < cap(s) {
		s = s[:n+1]
	} else {
		s = append(s, pending{})
	}
	*h = s
	return &s[n]
}

// siftUp moves the last element of the heap to its place.
func (h *pendingHeap) siftUp() {
	s := *h
	i := len(s) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !s.before(&s[i], &s[up]) {
			return
		}
		s[i], s[up] = s[up], s[i]
		i = up
	}
}

func (h *pendingHeap) pop() {
	s := *h
	n := len(s) - 1
	last := s[n]
	s[n].extra = nil
	s = s[:n]
	*h = s
	if n == 0 {
		return
	}
	i := 0
	for {
		c := 2*i + 1
		if c >= n {
			break
		}
		if c+1 < n && s.before(&s[c+1], &s[c]) {
			c++
		}
		if !s.before(&s[c], &last) {
			break
		}
		s[i] = s[c]
		i = c
	}
	s[i] = last
}

// precedes reports whether p comes before a row of b.
func (p *pending) precedes(b *trace.Batch, row int) bool {
	t := b.Time[row]
	if p.time != t {
		return p.time < t
	}
	if len(b.Order) > 0 {
		return p.order < b.Order[row]
	}
	return p.order < b.Pos[row]
}

// appendPending adds a pending event to b.
func (d *decoder) appendPending(b *trace.Batch, p *pending) error {
	line := p.order
	switch {
	case p.kind == trace.ClaimEnd && p.extra == nil:
		row := b.Add(p.loc, p.time, trace.ClaimEnd, p.ref)
		b.OpRow = append(b.OpRow, row)
		b.Op = append(b.Op, p.value, uint64(p.res))
		b.OpEnd = append(b.OpEnd, uint32(len(b.Op)))
	case p.kind == trace.Leave, p.kind == trace.ClaimEnd:
		line = int64(p.value)
		if err := d.appendCarriedEnd(b, p, line); err != nil {
			return err
		}
		b.Order = append(b.Order, p.order)
	default:
		b.Add(p.loc, p.time, p.kind, p.ref)
		b.AddOps(p.value)
	}
	b.Pos = append(b.Pos, line)
	return nil
}

// appendCarriedEnd adds the end of a carried visit or claim to b.
func (d *decoder) appendCarriedEnd(b *trace.Batch, p *pending, line int64) error {
	if p.extra != nil {
		err := d.Restore.Add(b, p.loc, p.time, p.kind, p.ref, p.extra.pairs)
		if err == nil {
			return nil
		}
		if !d.Scanned {
			bad := problem{"etf.carrier", err.Error(), "a line that weft wrote; weft ignores its data of the end of the claim",
				trace.Warning}
			if err := d.Opt.Defect(bad.defect(d.File.Name, line, nil)); err != nil {
				return err
			}
		}
		if p.kind == trace.ClaimEnd { // the claim's operands (pairs with @) were read at its begin
			operands := slices.DeleteFunc(slices.Clone(p.extra.pairs),
				func(x carrier.Pair) bool { return strings.HasPrefix(x.Key, "@") })
			return d.Restore.Add(b, p.loc, p.time, p.kind, p.ref, operands)
		}
	}
	b.Add(p.loc, p.time, p.kind, p.ref)
	return nil
}

// assembler delivers the rows of blocks in the order of their start times, and adds the ends of claims
// that began in earlier blocks. Its memory is bounded by the number of open claims.
type assembler struct {
	d      *decoder
	links  *linker
	open   []pendingHeap // indexed by location; a single heap if a batch mixes locations
	mixed  bool
	out    trace.Batch
	rest   trace.Batch // reused by deliver
	needed neededNames
}

// pendingOf returns the pending events of a location.
func (a *assembler) pendingOf(loc uint32) *pendingHeap {
	if a.mixed {
		loc = 0
	}
	for int(loc) >= len(a.open) {
		a.open = append(a.open, nil)
	}
	return &a.open[loc]
}

// Block returns an empty block for the parser to fill.
func (a *assembler) Block() linetrace.Block {
	return &blockParser{d: a.d, links: a.links != nil, mixed: a.mixed, needed: a.needed,
		regions: map[string]uint32{}, attrs: map[string]uint32{}}
}

// Take delivers the events of a block.
func (a *assembler) Take(b linetrace.Block, sink format.Sink) error {
	p := b.(*blockParser)
	for _, l := range p.perLocation[:p.used] {
		h := a.pendingOf(l.batch.Loc)
		if err := a.deliver(&l.batch, h, sink); err != nil {
			return err
		}
		for i := range l.ends {
			h.push(l.ends[i])
		}
	}
	if a.links != nil {
		return a.links.addBlock(p)
	}
	return nil
}

// deliver delivers the rows of b, merged with the pending events that precede its last row.
func (a *assembler) deliver(b *trace.Batch, h *pendingHeap, sink format.Sink) error {
	n, from := b.Len(), 0
	if n == 0 {
		return nil
	}
	out := &a.out
	out.Reset(b.Loc)
	for len(*h) > 0 && (*h)[0].precedes(b, n-1) {
		to := from
		for !(*h)[0].precedes(b, to) {
			to++
		}
		out.AppendRows(b, from, to)
		from = to
		if err := a.d.appendPending(out, &(*h)[0]); err != nil {
			return err
		}
		h.pop()
		if err := a.flush(out, sink, trace.BatchRows); err != nil {
			return err
		}
	}
	if err := a.flush(out, sink, 1); err != nil {
		return err
	}
	if from > 0 {
		a.rest = b.Tail(from)
		b = &a.rest
	}
	return sink.Batch(b)
}

// flush delivers b to the sink if it has at least the given number of rows.
func (a *assembler) flush(b *trace.Batch, sink format.Sink, rows int) error {
	if b.Len() < rows {
		return nil
	}
	err := sink.Batch(b)
	b.Reset(b.Loc)
	return err
}

// Finish delivers the events that are still pending after the last block.
func (a *assembler) Finish(sink format.Sink) error {
	for loc := range a.open {
		a.out.Reset(uint32(loc))
		if a.mixed {
			a.out.Reset(trace.MixedLoc)
		}
		for h := &a.open[loc]; len(*h) > 0; h.pop() {
			if err := a.d.appendPending(&a.out, &(*h)[0]); err != nil {
				return err
			}
			if err := a.flush(&a.out, sink, trace.BatchRows); err != nil {
				return err
			}
		}
		if err := a.flush(&a.out, sink, 1); err != nil {
			return err
		}
	}
	return nil
}
