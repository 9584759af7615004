package index

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// Span is a visit of a region, a claim, or a collective operation.
type Span struct {
	Start, End int64
	Region     uint32 // index into Regions, NoRef for none
	Depth      uint8  // how many spans are around it, or its lane; DeepDepth for more
	Height     uint8  // of a claim: which part of the capacity it holds, of 255; else 255
}

// DeepDepth is the depth of all spans that as many or more are around of: they count, but
// are not drawn.
const DeepDepth = math.MaxUint8

// open is a span that is open where a block ends.
type open struct {
	start     int64
	exclusive int64 // so far
	region    uint32
	match     uint32 // the region that its leave names, while a trace is read
	level     uint32 // depth, of those deeper than DeepDepth too
	height    uint8
	recursive bool // the same region is open around it
}

// depth is that of its span.
func (o *open) depth() uint8 { return uint8(min(o.level, DeepDepth)) }

// span is what an open one becomes at its end.
func (o *open) span(end int64) Span { return Span{o.start, end, o.region, o.depth(), o.height} }

// spanBlock is a block of spans.
type spanBlock struct {
	spans     []Span
	recursive []bool   // belong to the spans
	deep      []uint32 // levels of the spans of depth DeepDepth, in their order
	open      []open   // behind the last span
	table     table
	inner     inner
}

// blockSpans is how many spans a block has, unless more are open: these are written with
// each block.
const blockSpans = 4096

// spanWriter makes a block, span by span. Of a span with others inside, the time from its
// begin to theirs is written, which is short, and of the others their length.
type spanWriter struct {
	n                   int
	last                int64
	end, length, region numbers
	depth               []byte
	height              []byte  // none if all are 255
	deep                []byte  // varints: the levels of spans of depth DeepDepth, less this
	exclusive           numbers // times of visits, for their sums
	recursive           []byte  // bits, none if none is set
	inner               inner
}

// inner is, for each depth, where the first span begins that the next one around it has
// inside, as far as they are in the same block.
type inner struct {
	known [(DeepDepth + 2 + 63) / 64]uint64
	start []int64
}

// reset begins a block.
func (x *inner) reset() { x.known = [len(x.known)]uint64{} }

// add notes a span that has ended, and returns where the first one begins that is inside of
// it, or its end.
func (x *inner) add(depth uint8, end int64) (first int64) {
	first = end
	if below := uint(depth) + 1; x.known[below/64]>>(below%64)&1 == 1 {
		x.known[below/64] &^= 1 << (below % 64)
		first = x.start[below]
	}
	return first
}

// begin notes where a span begins that has been added.
func (x *inner) begin(depth uint8, start int64) {
	d := uint(depth)
	if x.known[d/64]>>(d%64)&1 == 1 {
		return
	}
	x.known[d/64] |= 1 << (d % 64)
	for int(d) >= len(x.start) {
		x.start = append(x.start, 0)
	}
	x.start[d] = start
}

// add adds a span that was open.
func (w *spanWriter) add(o *open, end int64) {
	depth := o.depth()
	w.end.int(end - w.last)
	w.last = end
	w.length.int(w.inner.add(depth, end) - o.start)
	w.inner.begin(depth, o.start)
	w.region.uint(uint64(o.region + 1)) // no region is 0
	w.depth = append(w.depth, depth)
	if depth == DeepDepth {
		w.deep = appendUvarint(w.deep, uint64(o.level-DeepDepth))
	}
	if o.height != math.MaxUint8 || len(w.height) > 0 {
		for len(w.height) < w.n {
			w.height = append(w.height, math.MaxUint8)
		}
		w.height = append(w.height, o.height)
	}
	if o.recursive {
		for len(w.recursive) <= w.n/8 {
			w.recursive = append(w.recursive, 0)
		}
		w.recursive[w.n/8] |= 1 << (w.n % 8)
	}
	w.n++
}

// encode ends the block.
func (w *spanWriter) encode(p *planePacker, b []byte, open []open) []byte {
	b = binary.AppendUvarint(b, uint64(w.n))
	for len(w.recursive) > 0 && len(w.recursive) < (w.n+7)/8 {
		w.recursive = append(w.recursive, 0)
	}
	for k, c := range [...]*numbers{&w.end, &w.length, &w.region} {
		p.given[k] = slices.Grow(p.given[k][:0], w.n)[:w.n]
		c.read(p.given[k])
		b = p.numbers(b, p.given[k])
	}
	for _, s := range [...][]byte{w.depth, w.height, w.recursive} {
		b = p.append(b, s)
	}
	b = appendSection(b, w.deep)
	b = binary.AppendUvarint(b, uint64(len(open)))
	for _, o := range open {
		b = binary.AppendVarint(b, o.start)
		b = binary.AppendUvarint(b, uint64(o.exclusive))
		r := uint64(o.region+1) << 1
		if o.recursive {
			r |= 1
		}
		b = append(binary.AppendUvarint(binary.AppendUvarint(b, r), uint64(o.level)), o.height)
	}
	w.n, w.last = 0, 0
	w.inner.reset()
	for _, c := range [...]*numbers{&w.end, &w.length, &w.region, &w.exclusive} {
		c.reset()
	}
	w.depth, w.height, w.recursive, w.deep = w.depth[:0], w.height[:0], w.recursive[:0], w.deep[:0]
	return b
}

// decode reads a block.
func (x *spanBlock) decode(b []byte) error {
	c := columns{b: b}
	x.spans, x.recursive, x.open = x.spans[:0], x.recursive[:0], x.open[:0]
	n, err := x.table.read(&c)
	if err != nil {
		return err
	}
	depth, height, recursive := x.table.columns[0], x.table.columns[1], x.table.columns[2]
	if len(depth) != n || len(height) > 0 && len(height) != n || len(recursive) > 0 && len(recursive) != (n+7)/8 {
		return fmt.Errorf("found %d spans, but %d depths", n, len(depth))
	}
	x.recursive = slices.Grow(x.recursive, n)[:n]
	clear(x.recursive)
	x.fill(depth, height, &x.table.numbers)
	if len(recursive) > 0 {
		for i := range x.recursive {
			x.recursive[i] = recursive[i/8]>>(i%8)&1 == 1
		}
	}
	deep := c.section()
	for x.deep = x.deep[:0]; len(deep.b) > 0; {
		x.deep = append(x.deep, DeepDepth+uint32(deep.uint()))
	}
	for range c.count() {
		o := open{start: c.int(), exclusive: int64(c.uint())}
		r := c.uint()
		o.region, o.recursive, o.level, o.height = uint32(r>>1)-1, r&1 == 1, uint32(c.uint()), c.byte()
		x.open = append(x.open, o)
	}
	return c.end(deep)
}

// fill makes the spans of their ends, lengths and regions.
func (x *spanBlock) fill(depth, height []byte, numbers *[3]column) {
	x.spans = slices.Grow(x.spans[:0], len(depth))[:len(depth)]
	last := int64(0)
	x.inner.reset()
	ends, lengths, regions := &numbers[0], &numbers[1], &numbers[2]
	for i := range x.spans {
		last += zigzag(ends.at(i))
		d := depth[i]
		start := x.inner.add(d, last) - zigzag(lengths.at(i))
		x.inner.begin(d, start)
		x.spans[i] = Span{start, last, uint32(regions.at(i)) - 1, d, math.MaxUint8}
	}
	for i, h := range height {
		x.spans[i].Height = h
	}
}

// levels are the levels of the spans, one by one.
func (x *spanBlock) levels() func(*Span) uint32 {
	next := 0
	return func(s *Span) uint32 {
		if s.Depth < DeepDepth || next == len(x.deep) {
			return uint32(s.Depth)
		}
		next++
		return x.deep[next-1]
	}
}

// spanTrack is a track of spans that is being built.
type spanTrack struct {
	entry *trackEntry
	kind  TrackKind
	w     spanWriter
	sums  []byte   // of the blocks that are not written yet
	group int      // how many these are
	kept  [][]Span // the first blocks, if there was room
	// depths counts the spans by depth.
	depths []int64
}

// newSpanTrack is a track for spans of some regions. There may be many tracks of few spans,
// so its memory comes at once, as much as an earlier track has needed so far: those of a trace
// are like each other.
func newSpanTrack(kind TrackKind, like *spanTrack) *spanTrack {
	size, deep := 16, 8
	if like != nil {
		deep = max(deep, len(like.depths))
		if size = max(size, like.w.n+like.w.n/16); size > blockSpans || len(like.entry.blocks) > 0 {
			size = blockSpans
		}
	}
	columns := make([]uint32, 4*size)
	column := func() (c numbers) {
		c.narrow, columns = columns[:0:size], columns[size:]
		return c
	}
	depths := make([]int64, 2*deep)
	return &spanTrack{
		entry:  &trackEntry{},
		kind:   kind,
		w:      spanWriter{end: column(), length: column(), region: column(), exclusive: column(), depth: make([]byte, 0, size), inner: inner{start: depths[deep:deep]}},
		depths: depths[:0:deep],
	}
}

// begin makes a track that has ended one of other spans.
func (t *spanTrack) begin(kind TrackKind) {
	t.entry, t.kind, t.group = &trackEntry{}, kind, 0
	t.sums, t.depths = t.sums[:0], t.depths[:0]
}

// add adds a span that was open, behind which some number are open, and reports whether the block
// is full: it is to be written then.
func (t *spanTrack) add(o *open, end int64, behind int) bool {
	t.w.add(o, end)
	if t.kind == LocationTrack {
		t.w.exclusive.int(o.exclusive)
	}
	depth := int(o.depth())
	for depth >= len(t.depths) {
		t.depths = append(t.depths, 0)
	}
	t.depths[depth]++
	t.entry.Spans++
	return t.w.n >= blockSpans && t.w.n >= behind
}

// full writes the spans that are not written yet; stack is what is open behind them.
func (t *spanTrack) full(p *packer, stack []open) error {
	if err := t.block(p, stack); err != nil {
		return err
	}
	p.levels.keep(t)
	t.sums = appendSums(t.sums, p.sums.cells)
	if t.group++; t.group == blockSums {
		return t.sumBlock(p)
	}
	return nil
}

// block writes the spans that are not written yet, and sums them up. They are in
// p.levels.last then.
func (t *spanTrack) block(p *packer, stack []open) error {
	w := t.w // its columns are there until the next span
	p.raw = t.w.encode(&p.planes, p.raw[:0], stack)
	given, last := &p.planes.given, &p.levels.last
	last.fill(w.depth, w.height, &[3]column{{wide: given[0]}, {wide: given[1]}, {wide: given[2]}})
	least := p.sums.block(t.kind, last.spans, w.recursive, &w.exclusive)
	e, err := p.store(p.raw, w.n, least, w.last)
	t.entry.blocks = append(t.entry.blocks, e)
	return err
}

func (t *spanTrack) sumBlock(p *packer) error {
	e, err := p.pack(t.sums, t.group, 0, 0)
	t.entry.sums = append(t.entry.sums, e)
	t.sums, t.group = t.sums[:0], 0
	return err
}

// end writes what is left, and the levels. The last block gets no sums: of a short track they
// would be as much as the spans.
func (t *spanTrack) end(p *packer) error {
	last := t.w.n > 0
	if last {
		if err := t.block(p, nil); err != nil {
			return err
		}
	}
	if t.group > 0 {
		if err := t.sumBlock(p); err != nil {
			return err
		}
	}
	// What is deeper than can be said is not drawn.
	t.depths = t.depths[:min(len(t.depths), DeepDepth)]
	t.entry.Depth = len(t.depths)
	return p.makeLevels(t, last)
}
