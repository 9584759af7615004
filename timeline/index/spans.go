package index

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/weft-trace/weft/internal/plural"
)

// Span is a visit of a region, a claim, or a collective operation.
type Span struct {
	Start, End int64  // times in ticks
	Region     uint32 // index into Regions; NoRef if the span has no region
	Depth      uint8  // number of spans around the span, or its lane; DeepDepth if the number is larger
	Band
}

// Band is the part of the capacity of a resource that a claim holds, in 255ths of the capacity. Height is the
// size of the part, and Offset is its start. Offset is 0 if the resource does not assign its parts. Other
// spans have the whole capacity: Height 255 and Offset 0.
type Band struct{ Height, Offset uint8 }

// wholeBand is the band of the whole capacity.
var wholeBand = Band{Height: math.MaxUint8}

// DeepDepth is the depth of a span with DeepDepth or more spans around it. Such spans are counted
// but not drawn.
const DeepDepth = math.MaxUint8

// openSpan is a span that is open at the end of a block.
type openSpan struct {
	start     int64
	exclusive int64 // exclusive time so far, in ticks
	region    uint32
	match     uint32 // the region that the span's leave names; used only while a trace is read
	level     uint32 // depth, which may exceed DeepDepth
	band      Band
	recursive bool // a span of the same region is open around it
}

// depth returns the depth of the span.
func (o *openSpan) depth() uint8 { return uint8(min(o.level, DeepDepth)) }

// span returns the span that ends at a time.
func (o *openSpan) span(end int64) Span { return Span{o.start, end, o.region, o.depth(), o.band} }

// spanBlock is a decoded block of spans.
type spanBlock struct {
	spans     []Span
	recursive []bool     // indexed by span
	deep      []uint32   // levels of the spans whose depth is DeepDepth, in order
	open      []openSpan // spans that are open after the last span of the block
	table     table
	inner     innerBegins
}

// blockSpans is the number of spans in a block. If more spans than this are open, a block has as many spans as
// are open, because each block also lists the open spans.
const blockSpans = 4096

// spanWriter encodes a block, span by span. For a span with other spans inside, it stores the time from the
// begin of the span to the begin of the first span inside, which is short. For other spans it stores the
// duration.
type spanWriter struct {
	n                   int
	last                int64
	end, length, region numbers
	depth               []byte
	height              []byte  // empty if all heights are 255
	offset              []byte  // empty if all offsets are 0
	deep                []byte  // varints: the levels of spans of depth DeepDepth, minus DeepDepth
	exclusive           numbers // exclusive times of visits, for their sums
	recursive           []byte  // bits; empty if none is set
	inner               innerBegins
}

// innerBegins holds, for each depth, the begin of the first span at that depth whose parent has not ended yet.
// The next span that ends at the next smaller depth is the parent. Only spans of the same block count.
type innerBegins struct {
	known [(DeepDepth + 2 + 63) / 64]uint64
	start []int64
}

// reset forgets all begins, at the start of a block.
func (i *innerBegins) reset() { i.known = [len(i.known)]uint64{} }

// add returns the begin of the first span directly inside of the span with the given depth and end. If no span
// is inside, add returns the end.
func (i *innerBegins) add(depth uint8, end int64) (first int64) {
	first = end
	if below := uint(depth) + 1; i.known[below/64]>>(below%64)&1 == 1 {
		i.known[below/64] &^= 1 << (below % 64)
		first = i.start[below]
	}
	return first
}

// begin records the begin of the last span that was passed to add.
func (i *innerBegins) begin(depth uint8, start int64) {
	d := uint(depth)
	if i.known[d/64]>>(d%64)&1 == 1 {
		return
	}
	i.known[d/64] |= 1 << (d % 64)
	for int(d) >= len(i.start) {
		i.start = append(i.start, 0)
	}
	i.start[d] = start
}

// add adds a span that has ended.
func (w *spanWriter) add(o *openSpan, end int64) {
	depth := o.depth()
	w.end.int(end - w.last)
	w.last = end
	w.length.int(w.inner.add(depth, end) - o.start)
	w.inner.begin(depth, o.start)
	w.region.uint(uint64(o.region + 1)) // 0 stands for no region
	w.depth = append(w.depth, depth)
	if depth == DeepDepth {
		w.deep = appendUvarint(w.deep, uint64(o.level-DeepDepth))
	}
	if o.band.Height != math.MaxUint8 || len(w.height) > 0 {
		for len(w.height) < w.n {
			w.height = append(w.height, math.MaxUint8)
		}
		w.height = append(w.height, o.band.Height)
	}
	if o.band.Offset != 0 || len(w.offset) > 0 {
		for len(w.offset) < w.n {
			w.offset = append(w.offset, 0)
		}
		w.offset = append(w.offset, o.band.Offset)
	}
	if o.recursive {
		for len(w.recursive) <= w.n/8 {
			w.recursive = append(w.recursive, 0)
		}
		w.recursive[w.n/8] |= 1 << (w.n % 8)
	}
	w.n++
}

// encode appends the encoded block to b. open lists the spans that are open after the block.
func (w *spanWriter) encode(p *planePacker, b []byte, open []openSpan) []byte {
	b = binary.AppendUvarint(b, uint64(w.n))
	for len(w.recursive) > 0 && len(w.recursive) < (w.n+7)/8 {
		w.recursive = append(w.recursive, 0)
	}
	for k, c := range [...]*numbers{&w.end, &w.length, &w.region} {
		p.numberColumns[k] = slices.Grow(p.numberColumns[k][:0], w.n)[:w.n]
		c.read(p.numberColumns[k])
		b = p.numbers(b, p.numberColumns[k])
	}
	for _, s := range [...][]byte{w.depth, w.height, w.offset, w.recursive} {
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
		b = append(binary.AppendUvarint(binary.AppendUvarint(b, r), uint64(o.level)), o.band.Height, o.band.Offset)
	}
	w.n, w.last = 0, 0
	w.inner.reset()
	for _, c := range [...]*numbers{&w.end, &w.length, &w.region, &w.exclusive} {
		c.reset()
	}
	w.depth, w.height, w.offset = w.depth[:0], w.height[:0], w.offset[:0]
	w.recursive, w.deep = w.recursive[:0], w.deep[:0]
	return b
}

// decode decodes a block into sb, whose memory it reuses.
func (sb *spanBlock) decode(b []byte) error {
	c := columns{b: b}
	sb.spans, sb.recursive, sb.open = sb.spans[:0], sb.recursive[:0], sb.open[:0]
	n, err := sb.table.read(&c)
	if err != nil {
		return err
	}
	depth, height, offset, recursive := sb.table.columns[0], sb.table.columns[1], sb.table.columns[2], sb.table.columns[3]
	if len(depth) != n || len(height) > 0 && len(height) != n || len(offset) > 0 && len(offset) != n ||
		len(recursive) > 0 && len(recursive) != (n+7)/8 {
		return fmt.Errorf("found %s, but %d depths", plural.Of(n, "span"), len(depth))
	}
	sb.recursive = slices.Grow(sb.recursive, n)[:n]
	clear(sb.recursive)
	sb.fill(depth, height, offset, &sb.table.numbers)
	if len(recursive) > 0 {
		for i := range sb.recursive {
			sb.recursive[i] = recursive[i/8]>>(i%8)&1 == 1
		}
	}
	deep := c.section()
	for sb.deep = sb.deep[:0]; len(deep.b) > 0; {
		sb.deep = append(sb.deep, DeepDepth+uint32(deep.uint()))
	}
	for range c.count() {
		o := openSpan{start: c.int(), exclusive: int64(c.uint())}
		r := c.uint()
		o.region, o.recursive, o.level = uint32(r>>1)-1, r&1 == 1, uint32(c.uint())
		o.band = Band{c.byte(), c.byte()}
		sb.open = append(sb.open, o)
	}
	return c.end(deep)
}

// fill computes the spans from the columns of the block.
func (sb *spanBlock) fill(depth, height, offset []byte, numbers *[3]column) {
	sb.spans = slices.Grow(sb.spans[:0], len(depth))[:len(depth)]
	last := int64(0)
	sb.inner.reset()
	ends, lengths, regions := &numbers[0], &numbers[1], &numbers[2]
	for i := range sb.spans {
		last += zigzagDecode(ends.at(i))
		d := depth[i]
		start := sb.inner.add(d, last) - zigzagDecode(lengths.at(i))
		sb.inner.begin(d, start)
		sb.spans[i] = Span{start, last, uint32(regions.at(i)) - 1, d, wholeBand}
	}
	for i, h := range height {
		sb.spans[i].Height = h
	}
	for i, o := range offset {
		sb.spans[i].Offset = o
	}
}

// levels returns a function that returns the level of each span, in order.
func (sb *spanBlock) levels() func(*Span) uint32 {
	next := 0
	return func(s *Span) uint32 {
		if s.Depth < DeepDepth || next == len(sb.deep) {
			return uint32(s.Depth)
		}
		next++
		return sb.deep[next-1]
	}
}

// spanTrack is a track of spans that is being built.
type spanTrack struct {
	entry *trackEntry
	kind  TrackKind
	w     spanWriter
	sums  []byte   // encoded sums of the latest blocks, which have not been written to the file yet
	group int      // number of blocks in sums
	kept  [][]Span // the first blocks of the track, if they are kept in memory
	// depths holds the number of spans of each depth.
	depths []int64
}

// newSpanTrack returns a new track. Its buffers have the sizes that the track like has needed so far, because
// the tracks of a trace resemble each other. All buffers are allocated together, because a trace may have many
// tracks with few spans.
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
		entry: &trackEntry{},
		kind:  kind,
		w: spanWriter{end: column(), length: column(), region: column(), exclusive: column(),
			depth: make([]byte, 0, size), inner: innerBegins{start: depths[deep:deep]}},
		depths: depths[:0:deep],
	}
}

// reset prepares the memory of an ended track for another track.
func (t *spanTrack) reset(kind TrackKind) {
	t.entry, t.kind, t.group = &trackEntry{}, kind, 0
	t.sums, t.depths = t.sums[:0], t.depths[:0]
}

// add adds a span that has ended. open is the number of spans that are open after this span. add reports
// whether the block is full. If it is full, the caller must write the block.
func (t *spanTrack) add(o *openSpan, end int64, open int) bool {
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
	return t.w.n >= blockSpans && t.w.n >= open
}

// writeBlock writes the block of the collected spans. stack lists the spans that are open after the block.
func (t *spanTrack) writeBlock(p *packer, stack []openSpan) error {
	if err := t.storeSpans(p, stack); err != nil {
		return err
	}
	p.levels.keep(t)
	t.sums = appendSums(t.sums, p.sums.cells)
	if t.group++; t.group == blockSums {
		return t.sumBlock(p)
	}
	return nil
}

// storeSpans writes the collected spans and adds up their sums. After that, p.levels.last contains the decoded
// spans.
func (t *spanTrack) storeSpans(p *packer, stack []openSpan) error {
	w := t.w // the columns of w remain valid until the next span
	p.raw = t.w.encode(&p.planes, p.raw[:0], stack)
	given, last := &p.planes.numberColumns, &p.levels.last
	last.fill(w.depth, w.height, w.offset, &[3]column{{wide: given[0]}, {wide: given[1]}, {wide: given[2]}})
	least := p.sums.block(t.kind, last.spans, w.recursive, &w.exclusive)
	e, err := p.store(p.raw, w.n, least, w.last)
	t.entry.blocks = append(t.entry.blocks, e)
	return err
}

// sumBlock writes the collected sums as one block.
func (t *spanTrack) sumBlock(p *packer) error {
	e, err := p.pack(t.sums, t.group, 0, 0)
	t.entry.sums = append(t.entry.sums, e)
	t.sums, t.group = t.sums[:0], 0
	return err
}

// end writes the last block and the levels. The last block gets no sums, because in a short track
// they would take as much space as its spans.
func (t *spanTrack) end(p *packer) error {
	last := t.w.n > 0
	if last {
		if err := t.storeSpans(p, nil); err != nil {
			return err
		}
	}
	if t.group > 0 {
		if err := t.sumBlock(p); err != nil {
			return err
		}
	}
	// Spans deeper than the greatest depth are not drawn.
	t.depths = t.depths[:min(len(t.depths), DeepDepth)]
	t.entry.Depth = len(t.depths)
	return p.makeLevels(t, last)
}
