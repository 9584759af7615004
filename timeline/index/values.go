package index

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/weft-trace/weft/timeline/curve"
)

// piece is a part of a curve. The track's style determines what it contains: a value a that applies until the
// next piece, a sample a, or the polynomial a + b·u + c·u² from time to end. u is the time since the begin of
// the piece, in the signal's time unit.
type piece struct {
	time, end int64 // end is used only for polynomials
	a, b, c   float64
}

// valueWriter writes the blocks of the values of a track.
type valueWriter struct {
	style       curve.Kind
	n           int
	first, last int64
	time, ends  []byte
	a, b, c     []byte
}

func (w *valueWriter) add(p *packer, e *trackEntry, x piece) error {
	if w.n == 0 {
		w.first, w.last = x.time, 0
	}
	w.time = binary.AppendVarint(w.time, x.time-w.last)
	w.last = x.time
	w.a = appendFloat(w.a, x.a)
	if w.style == curve.Smooth {
		w.ends = binary.AppendVarint(w.ends, x.end-x.time)
		w.b, w.c = appendFloat(w.b, x.b), appendFloat(w.c, x.c)
	}
	if w.n++; w.n == blockSpans {
		return w.writeBlock(p, e)
	}
	return nil
}

func (w *valueWriter) writeBlock(p *packer, e *trackEntry) error {
	p.raw = appendColumns(p.raw[:0], w.n, w.time, w.a, w.ends, w.b, w.c)
	b, err := p.pack(p.raw, w.n, w.first, w.last)
	e.values = append(e.values, b)
	w.n, w.time, w.ends, w.a, w.b, w.c = 0, w.time[:0], w.ends[:0], w.a[:0], w.b[:0], w.c[:0]
	return err
}

func (e *trackEntry) decodeValues(b []byte, l []piece) ([]piece, error) {
	c, smooth := columns{b: b}, e.style() == curve.Smooth
	n := c.count()
	time, pa, end, pb, pc := c.section(), c.section(), c.section(), c.section(), c.section()
	last := int64(0)
	for range n {
		last += time.int()
		x := piece{time: last, end: last, a: pa.float()}
		if smooth {
			x.end = last + end.int()
			x.b, x.c = pb.float(), pc.float()
		}
		l = append(l, x)
	}
	return l, c.end(time, pa, end, pb, pc)
}

// curveRun is a series of n equal buckets of a level of a curve, from number bucket on.
type curveRun struct {
	bucket, n              int64
	low, high, first, last float32
}

func encodeCurveRuns(b []byte, l []curveRun) []byte {
	var skip, n, low, high, first, last []byte
	f := func(b []byte, v float32) []byte { return binary.LittleEndian.AppendUint32(b, math.Float32bits(v)) }
	next := int64(0)
	for _, r := range l {
		skip = binary.AppendVarint(skip, r.bucket-next)
		n = binary.AppendUvarint(n, uint64(r.n))
		next = r.bucket + r.n
		low, high, first, last = f(low, r.low), f(high, r.high), f(first, r.first), f(last, r.last)
	}
	return appendColumns(b, len(l), skip, n, low, high, first, last)
}

func decodeCurveRuns(b []byte, l []curveRun) ([]curveRun, error) {
	c := columns{b: b}
	n := c.count()
	skip, length, low, high, first, last := c.section(), c.section(), c.section(), c.section(), c.section(), c.section()
	f := func(c *columns) float32 {
		if len(c.b) < 4 {
			c.b, c.bad = nil, true
			return 0
		}
		v := math.Float32frombits(binary.LittleEndian.Uint32(c.b))
		c.b = c.b[4:]
		return v
	}
	next := int64(0)
	for range n {
		r := curveRun{bucket: next + skip.int(), n: int64(length.uint()), low: f(&low), high: f(&high), first: f(&first),
			last: f(&last)}
		next = r.bucket + r.n
		l = append(l, r)
	}
	return l, c.end(skip, length, low, high, first, last)
}

// end writes the remaining values and the levels, and computes the extremes of the curve.
func (w *valueWriter) end(p *packer, e *trackEntry) error {
	if w.n > 0 {
		if err := w.writeBlock(p, e); err != nil {
			return err
		}
	}
	w.time, w.ends, w.a, w.b, w.c = nil, nil, nil, nil, nil
	n := int64(0)
	for _, b := range e.values {
		n += int64(b.n)
	}
	extent := e.Last - e.First
	if n == 0 || extent < 0 {
		return nil
	}
	// Each bucket of the lowest level is a column in a plot of the whole curve. There may be many
	// columns, so they are plotted in several windows.
	wide := bucketLength(extent, n/perBucket)
	count := extent/wide + 1
	lvl := curveLevel{width: wide}
	for from := int64(0); from < count; from += maxColumns {
		columns := min(maxColumns, count-from)
		at := e.First + from*wide
		q := TileRequest{From: at, To: math.MaxInt64, Width: int(columns)}
		// The last bucket may end after the greatest possible time.
		if ticks, room := uint64(columns)*uint64(wide), uint64(math.MaxInt64)-uint64(at); ticks < room {
			q.To = int64(uint64(at) + ticks)
		} else {
			q.Beyond = ticks - room
		}
		plot, err := plotValues(&reader{f: p.file}, e, &q)
		if err != nil {
			return err
		}
		lvl.addCurve(from, plot)
	}
	if n >= minBuckets {
		var err error
		if e.valueLvl, err = lvl.write(p); err != nil {
			return err
		}
	}
	e.Low, e.High = lvl.low, lvl.high
	return nil
}

// maxColumns is the largest number of columns of one plot.
const maxColumns = 1 << 16

// curveLevel builds the runs of a level of a curve.
type curveLevel struct {
	width     int64
	list      []curveRun
	low, high float64
	hasValues bool
}

// addCurve adds the values of a curve. from is the number of the bucket of its first column.
func (l *curveLevel) addCurve(from int64, c *curve.Curve) {
	for i, low := range c.Min {
		if math.IsNaN(low) {
			continue
		}
		if !l.hasValues {
			l.hasValues, l.low, l.high = true, low, c.Max[i]
		}
		l.low, l.high = min(l.low, low), max(l.high, c.Max[i])
		l.put(curveRun{from + int64(i), 1, float32(low), float32(c.Max[i]), float32(c.First[i]), float32(c.Last[i])})
	}
}

// put adds a run, which extends the previous run if both have the same constant value.
func (l *curveLevel) put(s curveRun) {
	if n := len(l.list); n > 0 {
		o := &l.list[n-1]
		if o.bucket+o.n == s.bucket && s.low == s.high && o.low == s.low && o.high == s.high {
			o.n += s.n
			return
		}
	}
	l.list = append(l.list, s)
}

func (l *curveLevel) write(p *packer) (out []levelEntry, err error) {
	for {
		level := levelEntry{width: l.width}
		for list := range slices.Chunk(l.list, blockRuns) {
			p.raw = encodeCurveRuns(p.raw[:0], list)
			end := list[len(list)-1]
			e, err := p.pack(p.raw, len(list), list[0].bucket, end.bucket+end.n-1)
			if err != nil {
				return nil, err
			}
			level.blocks = append(level.blocks, e)
		}
		out = append(out, level)
		if len(l.list) <= minBuckets || l.width > maxWidth {
			return out, nil
		}
		upper := curveLevel{width: l.width * levelStep}
		for _, s := range l.list {
			for n := s.n; n > 0; {
				b := s.bucket + s.n - n
				k := b / levelStep
				in := min(n, (k+1)*levelStep-b)
				if whole := n / levelStep; b%levelStep == 0 && whole > 1 {
					upper.put(curveRun{k, whole, s.low, s.high, s.first, s.last})
					n -= whole * levelStep
					continue
				}
				upper.merge(curveRun{k, 1, s.low, s.high, s.first, s.last})
				n -= in
			}
		}
		l = &upper
	}
}

// merge adds the first bucket of s to the last bucket if both have the same number. Otherwise it appends s.
func (l *curveLevel) merge(s curveRun) {
	if n := len(l.list); n > 0 {
		if o := &l.list[n-1]; o.bucket+o.n-1 == s.bucket {
			if o.n > 1 {
				// Only the last bucket of the run changes.
				o.n--
				l.list = append(l.list, curveRun{s.bucket, 1, o.low, o.high, o.first, o.last})
				o = &l.list[n]
			}
			o.low, o.high, o.last = min(o.low, s.low), max(o.high, s.high), s.last
			return
		}
	}
	l.list = append(l.list, s)
}
