package index

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/weft-trace/weft/trace"
)

// TileRequest is a query for a part of the picture.
type TileRequest struct {
	Tracks   []int // the tracks, as indexes into [Index.Tracks], in the wanted order
	From, To int64 // times in ticks; To is exclusive, unless it is math.MaxInt64
	// Beyond is the number of ticks by which the columns extend beyond To. It has an effect only if To is
	// math.MaxInt64.
	Beyond uint64
	Width  int // pixel columns, at most MaxWidth
	Depths int // greatest number of depths of a track to draw
}

// MaxWidth is the largest width of a tile in pixel columns.
const MaxWidth = 1 << 14

// StripKind is the kind of a strip's content.
type StripKind uint8

// These are the kinds of the horizontal strips of which a track consists.
const (
	SpanStrip    StripKind = iota // spans of one depth
	InstantStrip                  // instants; share is their number in the column, at most 255
	CurveStrip                    // a curve
	AmountStrip                   // the amount of a resource in use, drawn as a curve
)

// Strip is one line of a track in a tile. It consists of Count runs of the tile, from run First on. For curves
// and amounts, it consists of cells instead of runs.
type Strip struct {
	Track        int
	Depth        int
	Kind         StripKind
	Offsets      bool // a lane of claims that have an offset (Track.Offsets)
	First, Count int
}

// The flags of runs. Begins and Ends are only used together with Single.
const (
	Single uint8 = 1 << iota // the run stands for a single span
	Begins                   // the span begins at the left edge
	Ends                     // the span ends at the right edge
)

// ticks returns the length of the window in ticks.
func (t *TileRequest) ticks() uint64 { return uint64(t.To) - uint64(t.From) + t.Beyond }

// lastTick returns the last tick before the end of a window.
func lastTick(to int64) int64 {
	if to == math.MaxInt64 {
		return to
	}
	return to - 1
}

// Tile is a picture of some tracks in some pixel columns. Column c shows the times from From +
// c·(To−From)/Width up to the first time of the next column. The runs of a strip are in the order of X and do
// not overlap.
type Tile struct {
	Width  int
	Strips []Strip

	// The following slices have an element for each run. Region is the region that was open longest (NoRef for
	// none). X and N are the first column and the number of columns. Cover is the share of these columns in
	// which any region was open, and Share the share in which that region was open, both in 255ths. Height and
	// Offset belong to claims, in 255ths of the capacity (see [Band]). Flags holds the flags of the run.
	Region []uint32
	X, N   []uint16
	Cover  []uint8
	Share  []uint8
	Height []uint8
	Offset []uint8
	Flags  []uint8

	// The following slices have an element for each cell of a curve: the column, the least and the greatest
	// value in the column, and the first and the last value.
	CurveX                []uint16
	Min, Max, First, Last []float32
}

// AppendBinary appends the tile in the form in which the page reads it: "weftile2"; the numbers of
// strips, runs, cells and columns (4 bytes each, all numbers little-endian); 16 bytes for each
// strip (track 4, depth 2, kind 1, offsets 1, first 4, count 4); the slices Region (4 bytes each),
// X, N (2), Cover, Share, Height, Offset, Flags (1); and the slices CurveX (2), Min, Max, First, Last
// (floats of 4). Both groups of slices, and Min, begin at multiples of 8.
func (t *Tile) AppendBinary(b []byte) ([]byte, error) {
	even := func(n int) int { return (n + 7) &^ 7 }
	runs, cells := len(t.Region), len(t.CurveX)
	size := even(24+16*len(t.Strips)+13*runs) + even(2*cells) + 16*cells
	from := len(b)
	b = slices.Grow(b, size)[:from+size]
	out := b[from:]
	clear(out[24+16*len(t.Strips)+13*runs:]) // padding
	le := binary.LittleEndian
	copy(out, "weftile2")
	for i, n := range []int{len(t.Strips), runs, cells, t.Width} {
		le.PutUint32(out[8+4*i:], uint32(n))
	}
	at := out[24:]
	for _, s := range t.Strips {
		le.PutUint32(at, uint32(s.Track))
		le.PutUint16(at[4:], uint16(s.Depth))
		at[6], at[7] = byte(s.Kind), 0
		if s.Offsets {
			at[7] = 1
		}
		le.PutUint32(at[8:], uint32(s.First))
		le.PutUint32(at[12:], uint32(s.Count))
		at = at[16:]
	}
	for i, v := range t.Region {
		le.PutUint32(at[4*i:], v)
	}
	at = at[4*runs:]
	for _, l := range [][]uint16{t.X, t.N} {
		for i, v := range l {
			le.PutUint16(at[2*i:], v)
		}
		at = at[2*runs:]
	}
	for _, l := range [][]uint8{t.Cover, t.Share, t.Height, t.Offset, t.Flags} {
		at = at[copy(at, l):]
	}
	at = out[even(len(out)-len(at)):]
	for i, v := range t.CurveX {
		le.PutUint16(at[2*i:], v)
	}
	at = at[even(2*cells):]
	for _, l := range [][]float32{t.Min, t.Max, t.First, t.Last} {
		for i, v := range l {
			le.PutUint32(at[4*i:], math.Float32bits(v))
		}
		at = at[4*cells:]
	}
	return b, nil
}

// allocate gives the tile the given numbers of strips, runs and cells, all of them zero.
func (t *Tile) allocate(strips, runs, cells int) {
	t.Strips = make([]Strip, strips)
	t.Region, t.X, t.N = make([]uint32, runs), make([]uint16, runs), make([]uint16, runs)
	for _, l := range [...]*[]uint8{&t.Cover, &t.Share, &t.Height, &t.Offset, &t.Flags} {
		*l = make([]uint8, runs)
	}
	t.CurveX = make([]uint16, cells)
	t.Min, t.Max, t.First, t.Last = make([]float32, cells), make([]float32, cells), make([]float32, cells),
		make([]float32, cells)
}

// put copies the strips of p to the tile. strip, run and cell are the indexes in the tile at which the copies begin.
func (t *Tile) put(p *tilePart, strip, run, cell int) {
	for i, s := range p.strips {
		if s.Kind >= CurveStrip {
			s.First += cell
		} else {
			s.First += run
		}
		t.Strips[strip+i] = s
	}
	n := len(p.runs)
	region, x, columns := t.Region[run:][:n], t.X[run:][:n], t.N[run:][:n]
	cover, share, flags := t.Cover[run:][:n], t.Share[run:][:n], t.Flags[run:][:n]
	height, offset := t.Height[run:][:n], t.Offset[run:][:n]
	for i := range p.runs {
		u := &p.runs[i]
		region[i], x[i], columns[i] = u.region, u.x, u.n
		cover[i], share[i], flags[i] = u.cover, u.share, u.flags
		height[i], offset[i] = u.band.Height, u.band.Offset
	}
	for i, u := range p.cells {
		t.CurveX[cell+i] = u.x
		t.Min[cell+i], t.Max[cell+i], t.First[cell+i], t.Last[cell+i] = u.min, u.max, u.first, u.last
	}
}

// tilePart holds the strips of some tracks of a tile.
type tilePart struct {
	strips []Strip
	runs   []columnRun
	cells  []cell
}

// cell is one column of a curve.
type cell struct {
	x                     uint16
	min, max, first, last float32
}

var tileParts = sync.Pool{New: func() any { return &tilePart{} }}

func (ix *Index) check(q *TileRequest) error {
	if q.To < math.MaxInt64 {
		q.Beyond = 0
	} else {
		q.Beyond = min(q.Beyond, math.MaxUint64-(uint64(q.To)-uint64(q.From)))
	}
	if q.From > q.To || q.ticks() == 0 || q.Width < 1 || q.Width > MaxWidth || q.Depths < 0 {
		return fmt.Errorf("found a tile from %d to %d of %d columns, expected at least a tick and 1 to %d columns", q.From,
			q.To, q.Width, MaxWidth)
	}
	for _, t := range q.Tracks {
		if _, err := ix.track(t, q.From, q.To); err != nil {
			return err
		}
	}
	return nil
}

// Tile returns a part of the picture. The cost depends on the numbers of columns and strips.
func (ix *Index) Tile(ctx context.Context, q TileRequest) (*Tile, error) {
	if err := ix.check(&q); err != nil {
		return nil, err
	}
	// Each part has some tracks, and there are enough parts to use all cores.
	size := max(1, min(16, len(q.Tracks)/8))
	n := (len(q.Tracks) + size - 1) / size
	made, errs := make([]*tilePart, n), make([]error, n)
	blur := ix.bucketWidth(&q)
	forEach(n, func(i int) {
		p := tileParts.Get().(*tilePart)
		*p = tilePart{p.strips[:0], p.runs[:0], p.cells[:0]}
		made[i] = p
		t := &tiler{ix.scratch(), ix, &q, p, blur}
		defer scratches.Put(t.scratch)
		for _, track := range q.Tracks[i*size : min((i+1)*size, len(q.Tracks))] {
			if errs[i] = ctx.Err(); errs[i] == nil {
				errs[i] = t.track(track)
			}
			if errs[i] != nil {
				return
			}
		}
	})
	// These are the positions of the parts in the tile.
	type begin struct{ strips, runs, cells int }
	at := make([]begin, n+1)
	for i, p := range made {
		if errs[i] != nil {
			return nil, errs[i]
		}
		at[i+1] = begin{at[i].strips + len(p.strips), at[i].runs + len(p.runs), at[i].cells + len(p.cells)}
	}
	out := &Tile{Width: q.Width}
	out.allocate(at[n].strips, at[n].runs, at[n].cells)
	forEach(n, func(i int) {
		out.put(made[i], at[i].strips, at[i].runs, at[i].cells)
		tileParts.Put(made[i])
	})
	return out, nil
}

// forEach calls f for 0 to n−1, using all cores.
func forEach(n int, f func(i int)) {
	workers := min(n, runtime.GOMAXPROCS(0))
	if workers <= 1 {
		for i := range n {
			f(i)
		}
		return
	}
	var wg sync.WaitGroup
	var next atomic.Int64
	for range workers {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	wg.Wait()
}

// scratch holds memory for blocks. Queries reuse it, because garbage collection would take longer than
// reading.
type scratch struct {
	reader
	b, before spanBlock
	runs      runReader
	rasters   []*raster
}

// rows returns n empty rasters. They are valid until the next call.
func (s *scratch) rows(n int, q *TileRequest) []*raster {
	for len(s.rasters) < n {
		s.rasters = append(s.rasters, &raster{})
	}
	for _, r := range s.rasters[:n] {
		*r = raster{runs: r.runs[:0], parts: r.parts[:0]}
		r.set(q)
	}
	return s.rasters[:n]
}

var scratches = sync.Pool{New: func() any { return &scratch{} }}

// scratch returns memory from the pool scratches. The caller must return it to the pool.
func (ix *Index) scratch() *scratch {
	s := scratches.Get().(*scratch)
	s.f = ix.data
	return s
}

// tiler builds the strips of some tracks.
type tiler struct {
	*scratch
	x   *Index
	q   *TileRequest
	out *tilePart
	// bucketWidth is the greatest length that the buckets of the lowest level may have, in pixels.
	bucketWidth float64
}

func (t *tiler) track(track int) error {
	e, q := t.x.dir.Tracks[track], t.q
	depths := min(q.Depths, e.Depth)
	pixel := float64(q.ticks()) / float64(q.Width)
	// The rows that must be drawn from spans are filled together, in one pass over the spans.
	rows, exact := t.rows(depths, q), false
	for d, row := range rows {
		var levels []levelEntry
		if d < len(e.levels) {
			levels = e.levels[d]
		}
		level := spanLevel(levels, pixel, t.bucketWidth)
		if level < 0 {
			row.exact, exact = true, true
			continue
		}
		if err := t.eachRun(e, &levels[level], row.drawBucket); err != nil {
			return err
		}
	}
	if exact {
		err := t.x.eachSpan(&t.reader, e, q.From, q.To, &t.b, func(s *Span) {
			if int(s.Depth) < depths && rows[s.Depth].exact {
				rows[s.Depth].drawSpan(s)
			}
		})
		if err != nil {
			return err
		}
	}
	for d, row := range rows {
		row.flush()
		t.out.strip(Strip{Track: track, Depth: d, Offsets: e.Offsets}, row.runs)
	}
	if e.Instants > 0 {
		if err := t.addInstants(track, e, pixel); err != nil {
			return err
		}
	}
	if len(e.values) > 0 {
		return t.addCurve(track, e)
	}
	return nil
}

// strip appends a strip of runs.
func (p *tilePart) strip(s Strip, runs []columnRun) {
	s.First, s.Count = len(p.runs), len(runs)
	p.strips = append(p.strips, s)
	p.runs = append(p.runs, runs...)
}

// eachRun calls f for the runs of a level that overlap the window, with the times of the run.
func (t *tiler) eachRun(e *trackEntry, l *levelEntry, f func(start, end int64, u *run)) error {
	low, high := floorDiv(trace.Add(t.q.From, -e.First), l.width), floorDiv(trace.Add(lastTick(t.q.To), -e.First), l.width)
	for _, b := range blocksWithin(l.blocks, low, high) {
		err := t.decode(&b, func(b []byte) error {
			return t.runs.each(b, low, high, func(u *run) {
				start := e.First + u.bucket*l.width
				f(start, trace.Add(start, u.n*l.width), u)
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// eachSpan calls f for the spans of a track that overlap [from, to]. First come the spans that have ended by
// the end of the last block that is read, in the order of their ends. Then come the spans that are open after
// that block, from the outermost to the innermost. The ends of these spans are unknown, so f gets a time after
// the window instead.
func (ix *Index) eachSpan(r *reader, e *trackEntry, from, to int64, b *spanBlock, f func(*Span)) error {
	for i := sort.Search(len(e.blocks), func(i int) bool { return e.blocks[i].last >= from }); i < len(e.blocks); i++ {
		if err := r.decode(&e.blocks[i], b.decode); err != nil {
			return err
		}
		for i := range b.spans {
			s := &b.spans[i]
			if s.End >= from && trace.Before(s.Start, to) && (s.End > from || s.Start == s.End) {
				f(s)
			}
		}
		if !trace.Before(e.blocks[i].last, to) {
			for _, o := range b.open {
				if trace.Before(o.start, to) {
					s := o.span(trace.Add(to, 1))
					f(&s)
				}
			}
			return nil
		}
	}
	return nil
}

func (t *tiler) addInstants(track int, e *trackEntry, pixel float64) error {
	q := t.q
	row := t.rows(1, q)[0]
	mark := func(at int64, n int, region uint32) {
		if at < q.From || !trace.Before(at, q.To) {
			return
		}
		c := min(int(row.column(at)), q.Width-1)
		if l := len(row.runs); l > 0 && int(row.runs[l-1].x) == c {
			u := &row.runs[l-1]
			u.share = uint8(min(int(u.share)+n, math.MaxUint8))
			return
		}
		row.runs = append(row.runs, columnRun{x: uint16(c), n: 1, region: region, cover: math.MaxUint8,
			share: uint8(min(n, math.MaxUint8)), band: wholeBand})
	}
	var err error
	if level := levelFor(e.instantLvl, pixel); level >= 0 {
		err = t.eachRun(e, &e.instantLvl[level],
			func(start, end int64, u *run) { mark(max(start, q.From), int(u.share), u.region) })
	} else {
		err = t.x.eachInstant(&t.reader, e, q.From, q.To, func(i *instant) { mark(i.time, 1, i.region()) })
	}
	if err != nil {
		return err
	}
	t.out.strip(Strip{Track: track, Kind: InstantStrip}, row.runs)
	return nil
}

// eachInstant calls f for the instants of a track in [from, to).
func (ix *Index) eachInstant(r *reader, e *trackEntry, from, to int64, f func(*instant)) error {
	var list []instant
	for _, b := range blocksWithin(e.instants, from, lastTick(to)) {
		if err := read(r, &b, &list, decodeInstants); err != nil {
			return err
		}
		for k := range list {
			if at := list[k].time; at >= from && trace.Before(at, to) {
				f(&list[k])
			}
		}
	}
	return nil
}

func (t *tiler) addCurve(track int, e *trackEntry) error {
	q := t.q
	s := Strip{Track: track, Kind: CurveStrip, First: len(t.out.cells)}
	if e.Kind == ResourceTrack {
		s.Kind = AmountStrip
	}
	c, err := t.x.plot(&t.reader, e, q)
	if err != nil {
		return err
	}
	for i, low := range c.Min {
		if math.IsNaN(low) {
			continue
		}
		t.out.cells = append(t.out.cells, cell{uint16(i), float32(low), float32(c.Max[i]), float32(c.First[i]),
			float32(c.Last[i])})
		s.Count++
	}
	t.out.strips = append(t.out.strips, s)
	return nil
}
