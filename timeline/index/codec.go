package index

import (
	"encoding/binary"
	"fmt"
	"math"
)

// columns reads numbers of a block. Past its end it gives zeros, and is bad.
type columns struct {
	b   []byte
	bad bool
}

func (c *columns) uint() uint64 {
	v, n := binary.Uvarint(c.b)
	if n <= 0 {
		c.b, c.bad = nil, true
		return 0
	}
	c.b = c.b[n:]
	return v
}

func (c *columns) int() int64 {
	v, n := binary.Varint(c.b)
	if n <= 0 {
		c.b, c.bad = nil, true
		return 0
	}
	c.b = c.b[n:]
	return v
}

func (c *columns) byte() byte {
	if len(c.b) == 0 {
		c.bad = true
		return 0
	}
	v := c.b[0]
	c.b = c.b[1:]
	return v
}

// section is the next column of a block, which says its length.
func (c *columns) section() columns {
	n := c.uint()
	if n > uint64(len(c.b)) {
		c.b, c.bad = nil, true
		return columns{bad: true}
	}
	s := columns{b: c.b[:n]}
	c.b = c.b[n:]
	return s
}

func appendSection(b, s []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// Span is a visit of a region.
type Span struct {
	Start, End int64
	Region     uint32 // index into the definitions, NoRef for none
	Depth      uint8  // how many regions are around it, 255 for more
}

// open is a region that is open where a block ends.
type open struct {
	start     int64
	exclusive int64 // so far
	region    uint32
	depth     uint8
	recursive bool // the same region is open around it
}

// sum is what spans of a region come to.
type sum struct {
	region    uint32
	count     int64
	inclusive int64 // without those inside of others of the region
	exclusive int64
}

// spanBlock is a block of spans.
type spanBlock struct {
	spans     []Span
	recursive []bool // belong to the spans
	sums      []sum
	open      []open // behind the last span
}

// blockSpans is how many spans a full block has.
const blockSpans = 4096

// spanWriter makes a block, span by span.
type spanWriter struct {
	n                          int
	last                       int64
	end, length, region, depth []byte
}

// add adds a span.
func (w *spanWriter) add(s Span, recursive bool) {
	w.end = binary.AppendVarint(w.end, s.End-w.last)
	w.last = s.End
	w.length = binary.AppendUvarint(w.length, uint64(s.End-s.Start))
	r := uint64(s.Region+1) << 1 // no region is 0
	if recursive {
		r |= 1
	}
	w.region = binary.AppendUvarint(w.region, r)
	w.depth = append(w.depth, s.Depth)
	w.n++
}

// encode ends the block.
func (w *spanWriter) encode(b []byte, sums []sum, open []open) []byte {
	b = binary.AppendUvarint(b, uint64(w.n))
	for _, s := range [][]byte{w.end, w.length, w.region, w.depth} {
		b = appendSection(b, s)
	}
	b = binary.AppendUvarint(b, uint64(len(sums)))
	for _, s := range sums {
		b = binary.AppendUvarint(b, uint64(s.region+1))
		b = binary.AppendUvarint(b, uint64(s.count))
		b = binary.AppendUvarint(b, uint64(s.inclusive))
		b = binary.AppendUvarint(b, uint64(s.exclusive))
	}
	b = binary.AppendUvarint(b, uint64(len(open)))
	for _, o := range open {
		b = binary.AppendVarint(b, o.start)
		b = binary.AppendUvarint(b, uint64(o.exclusive))
		r := uint64(o.region+1) << 1
		if o.recursive {
			r |= 1
		}
		b = append(binary.AppendUvarint(b, r), o.depth)
	}
	w.n, w.last = 0, 0
	w.end, w.length, w.region, w.depth = w.end[:0], w.length[:0], w.region[:0], w.depth[:0]
	return b
}

// decode reads a block.
func (x *spanBlock) decode(b []byte) error {
	c := columns{b: b}
	n := c.uint()
	if n > blockSpans {
		return fmt.Errorf("found a block of %d spans, expected at most %d", n, blockSpans)
	}
	end, length, region, depth := c.section(), c.section(), c.section(), c.section()
	x.spans, x.recursive, x.sums, x.open = x.spans[:0], x.recursive[:0], x.sums[:0], x.open[:0]
	last := int64(0)
	for range n {
		last += end.int()
		l, r := int64(length.uint()), region.uint()
		x.spans = append(x.spans, Span{last - l, last, uint32(r>>1) - 1, depth.byte()})
		x.recursive = append(x.recursive, r&1 == 1)
	}
	for range min(c.uint(), math.MaxInt32) {
		x.sums = append(x.sums, sum{uint32(c.uint()) - 1, int64(c.uint()), int64(c.uint()), int64(c.uint())})
		if c.bad {
			break
		}
	}
	for range min(c.uint(), math.MaxInt32) {
		o := open{start: c.int(), exclusive: int64(c.uint())}
		r := c.uint()
		o.region, o.recursive, o.depth = uint32(r>>1)-1, r&1 == 1, c.byte()
		x.open = append(x.open, o)
		if c.bad {
			break
		}
	}
	if c.bad || end.bad || length.bad || region.bad || depth.bad {
		return fmt.Errorf("found a block that ends too early")
	}
	return nil
}

// run is a stretch of buckets at one depth that are alike.
type run struct {
	bucket, n int64
	region    uint32 // that was open longest
	share     uint8  // the part of the bucket it was, of 255; more than nothing is 1
	cover     uint8  // that any region was
}

// blockRuns is how many runs a full block has.
const blockRuns = 4096

func encodeRuns(b []byte, l []run) []byte {
	var skip, n, region, share, cover []byte
	next := int64(0)
	for _, r := range l {
		skip = binary.AppendVarint(skip, r.bucket-next)
		n = binary.AppendUvarint(n, uint64(r.n))
		next = r.bucket + r.n
		region = binary.AppendUvarint(region, uint64(r.region+1))
		share, cover = append(share, r.share), append(cover, r.cover)
	}
	b = binary.AppendUvarint(b, uint64(len(l)))
	for _, s := range [][]byte{skip, n, region, share, cover} {
		b = appendSection(b, s)
	}
	return b
}

func decodeRuns(b []byte, l []run) ([]run, error) {
	c := columns{b: b}
	n := c.uint()
	if n > blockRuns {
		return nil, fmt.Errorf("found a block of %d buckets, expected at most %d", n, blockRuns)
	}
	skip, length, region, share, cover := c.section(), c.section(), c.section(), c.section(), c.section()
	next := int64(0)
	for range n {
		r := run{bucket: next + skip.int(), n: int64(length.uint()), region: uint32(region.uint()) - 1, share: share.byte(), cover: cover.byte()}
		next = r.bucket + r.n
		l = append(l, r)
	}
	if c.bad || skip.bad || length.bad || region.bad || share.bad || cover.bad {
		return nil, fmt.Errorf("found a block that ends too early")
	}
	return l, nil
}
