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

// TileRequest asks for a part of the picture.
type TileRequest struct {
	Tracks   []int // in the order wanted
	From, To int64 // ticks, To exclusive
	Width    int   // pixel columns, at most MaxWidth
	Depths   int   // strips of spans of a track at most
}

// MaxWidth is the greatest width of a tile.
const MaxWidth = 1 << 14

// StripKind says what a strip shows.
type StripKind uint8

// The kinds of strips.
const (
	SpanStrip    StripKind = iota // spans of one depth
	InstantStrip                  // instants; share is how many there are in the column, at most 255
	CurveStrip                    // a curve
	AmountStrip                   // the amount of a resource in use, as a curve
)

// Strip is one line of a track in a tile: Count runs, or cells of a curve, from number
// First on.
type Strip struct {
	Track        int
	Depth        int
	Kind         StripKind
	First, Count int
}

// The flags of runs.
const (
	Single uint8 = 1 << iota // it is one span
	Begins                   // which begins at its left edge
	Ends                     // which ends at its right edge
)

// Tile is what some tracks show in some columns of pixels. Column c is the times from From +
// c·(To−From)/Width on to before that of the next. The runs of a strip are in the order of
// X and do not overlap.
type Tile struct {
	Width  int
	Strips []Strip

	// Of each run: the region that was open longest (NoRef for none), its first column and
	// how many it has, the parts of these in which any region, and that region, was open,
	// the height of claims, of 255 all; and flags.
	Region []uint32
	X, N   []uint16
	Cover  []uint8
	Share  []uint8
	Height []uint8
	Flags  []uint8

	// Of each cell of a curve: its column, the extremes there, and the first and last value.
	CurveX                []uint16
	Min, Max, First, Last []float32
}

// AppendBinary appends the tile as the page reads it: "weftile1", the numbers of strips,
// runs, cells and columns (4 bytes each, all little-endian); 16 bytes a strip (track 4, depth
// 2, kind 1, nothing 1, first 4, count 4); then the columns Region (4 bytes each), X, N (2),
// Cover, Share, Height, Flags (1); then CurveX (2), Min, Max, First, Last (floats of 4). Both
// groups of columns, and Min, begin at multiples of 8.
func (t *Tile) AppendBinary(b []byte) ([]byte, error) {
	even := func(n int) int { return (n + 7) &^ 7 }
	runs, cells := len(t.Region), len(t.CurveX)
	size := even(24+16*len(t.Strips)+12*runs) + even(2*cells) + 16*cells
	from := len(b)
	b = slices.Grow(b, size)[:from+size]
	out := b[from:]
	clear(out[24+16*len(t.Strips)+12*runs:]) // what lies between
	le := binary.LittleEndian
	copy(out, "weftile1")
	for i, n := range []int{len(t.Strips), runs, cells, t.Width} {
		le.PutUint32(out[8+4*i:], uint32(n))
	}
	at := out[24:]
	for _, s := range t.Strips {
		le.PutUint32(at, uint32(s.Track))
		le.PutUint16(at[4:], uint16(s.Depth))
		at[6], at[7] = byte(s.Kind), 0
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
	for _, l := range [][]uint8{t.Cover, t.Share, t.Height, t.Flags} {
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

// room makes room for strips, runs and cells of curves, all nought.
func (t *Tile) room(strips, runs, cells int) {
	t.Strips = make([]Strip, strips)
	t.Region, t.X, t.N = make([]uint32, runs), make([]uint16, runs), make([]uint16, runs)
	t.Cover, t.Share, t.Height, t.Flags = make([]uint8, runs), make([]uint8, runs), make([]uint8, runs), make([]uint8, runs)
	t.CurveX = make([]uint16, cells)
	t.Min, t.Max, t.First, t.Last = make([]float32, cells), make([]float32, cells), make([]float32, cells), make([]float32, cells)
}

// put puts the strips of a part where there is room for them.
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
	cover, share, height, flags := t.Cover[run:][:n], t.Share[run:][:n], t.Height[run:][:n], t.Flags[run:][:n]
	for i := range p.runs {
		u := &p.runs[i]
		region[i], x[i], columns[i] = u.region, u.x, u.n
		cover[i], share[i], height[i], flags[i] = u.cover, u.share, u.height, u.flags
	}
	for i, u := range p.cells {
		t.CurveX[cell+i] = u.x
		t.Min[cell+i], t.Max[cell+i], t.First[cell+i], t.Last[cell+i] = u.min, u.max, u.first, u.last
	}
}

// tilePart is the strips of some tracks of a tile.
type tilePart struct {
	strips []Strip
	runs   []pixels
	cells  []cell
}

// cell is one column of a curve.
type cell struct {
	x                     uint16
	min, max, first, last float32
}

var tileParts = sync.Pool{New: func() any { return &tilePart{} }}

func (x *Index) check(q *TileRequest) error {
	if q.From >= q.To || q.Width < 1 || q.Width > MaxWidth || q.Depths < 0 {
		return fmt.Errorf("found a tile from %d to %d of %d columns, expected at least a tick and 1 to %d columns", q.From, q.To, q.Width, MaxWidth)
	}
	for _, t := range q.Tracks {
		if _, err := x.track(t, q.From, q.To); err != nil {
			return err
		}
	}
	return nil
}

// Tile makes a part of the picture, at a cost that depends on the columns and strips.
func (x *Index) Tile(ctx context.Context, q TileRequest) (*Tile, error) {
	if err := x.check(&q); err != nil {
		return nil, err
	}
	// Parts of some tracks each, so many that all cores have work.
	size := max(1, min(16, len(q.Tracks)/8))
	n := (len(q.Tracks) + size - 1) / size
	made, errs := make([]*tilePart, n), make([]error, n)
	blur := x.blur(&q)
	each(n, func(i int) {
		p := tileParts.Get().(*tilePart)
		*p = tilePart{p.strips[:0], p.runs[:0], p.cells[:0]}
		made[i] = p
		t := &tiler{x.scratch(), x, &q, p, blur}
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
	// Where each begins.
	type begin struct{ strips, runs, cells int }
	at := make([]begin, n+1)
	for i, p := range made {
		if errs[i] != nil {
			return nil, errs[i]
		}
		at[i+1] = begin{at[i].strips + len(p.strips), at[i].runs + len(p.runs), at[i].cells + len(p.cells)}
	}
	out := &Tile{Width: q.Width}
	out.room(at[n].strips, at[n].runs, at[n].cells)
	each(n, func(i int) {
		out.put(made[i], at[i].strips, at[i].runs, at[i].cells)
		tileParts.Put(made[i])
	})
	return out, nil
}

// each calls f for 0 to n−1 on all cores.
func each(n int, f func(i int)) {
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

// scratch is the memory that blocks are read into. It is used again and again, as there
// would be more to clean up than to read.
type scratch struct {
	reader
	b, before spanBlock
	runs      runReader
	rasters   []*raster
}

// rows are n empty rasters; they are valid until the next call.
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

// scratch is to be given back to scratches.
func (x *Index) scratch() *scratch {
	s := scratches.Get().(*scratch)
	s.f = x.data
	return s
}

// tiler makes the strips of some tracks.
type tiler struct {
	*scratch
	x   *Index
	q   *TileRequest
	out *tilePart
	// blur is how many pixels the shortest buckets of a level may be.
	blur float64
}

func (t *tiler) track(track int) error {
	e, q := t.x.dir.Tracks[track], t.q
	depths := min(q.Depths, e.Depth)
	pixel := float64(uint64(q.To)-uint64(q.From)) / float64(q.Width)
	// Strips that the spans themselves are needed for are made together.
	rows, exact := t.rows(depths, q), false
	for d, row := range rows {
		var levels []levelEntry
		if d < len(e.levels) {
			levels = e.levels[d]
		}
		level := spanLevel(levels, pixel, t.blur)
		if level < 0 {
			row.exact, exact = true, true
			continue
		}
		if err := t.level(e, &levels[level], row.bucket); err != nil {
			return err
		}
	}
	if exact {
		err := t.x.spans(&t.reader, e, q.From, q.To, &t.b, func(s *Span) {
			if int(s.Depth) < depths && rows[s.Depth].exact {
				rows[s.Depth].span(s)
			}
		})
		if err != nil {
			return err
		}
	}
	for d, row := range rows {
		row.flush()
		t.out.strip(Strip{Track: track, Depth: d}, row.runs)
	}
	if e.Instants > 0 {
		if err := t.instants(track, e, pixel); err != nil {
			return err
		}
	}
	if len(e.values) > 0 {
		return t.curve(track, e)
	}
	return nil
}

// strip appends a strip of runs.
func (p *tilePart) strip(s Strip, runs []pixels) {
	s.First, s.Count = len(p.runs), len(runs)
	p.strips = append(p.strips, s)
	p.runs = append(p.runs, runs...)
}

// level calls f for the runs of a level that have a part in the window, with their times.
func (t *tiler) level(e *trackEntry, l *levelEntry, f func(start, end int64, u *run)) error {
	low, high := floorDiv(t.q.From-e.First, l.width), floorDiv(t.q.To-1-e.First, l.width)
	for _, b := range within(l.blocks, low, high) {
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

// spans calls f for the spans of a track that have a part in a window: those that end up to
// the end of a block in the order of their ends; then those that are open behind it, the
// outermost first, whose ends are taken for that of the window.
func (x *Index) spans(r *reader, e *trackEntry, from, to int64, b *spanBlock, f func(*Span)) error {
	for i := sort.Search(len(e.blocks), func(i int) bool { return e.blocks[i].last >= from }); i < len(e.blocks); i++ {
		if err := r.decode(&e.blocks[i], b.decode); err != nil {
			return err
		}
		for i := range b.spans {
			s := &b.spans[i]
			if s.End >= from && s.Start < to && (s.End > from || s.Start == s.End) {
				f(s)
			}
		}
		if e.blocks[i].last >= to {
			for _, o := range b.open {
				if o.start < to {
					s := o.span(trace.Add(to, 1))
					f(&s)
				}
			}
			return nil
		}
	}
	return nil
}

func (t *tiler) instants(track int, e *trackEntry, pixel float64) error {
	q := t.q
	row := t.rows(1, q)[0]
	mark := func(at int64, n int, region uint32) {
		if at < q.From || at >= q.To {
			return
		}
		c := min(int(row.column(at)), q.Width-1)
		if l := len(row.runs); l > 0 && int(row.runs[l-1].x) == c {
			u := &row.runs[l-1]
			u.share = uint8(min(int(u.share)+n, math.MaxUint8))
			return
		}
		row.runs = append(row.runs, pixels{x: uint16(c), n: 1, region: region, cover: math.MaxUint8, share: uint8(min(n, math.MaxUint8)), height: math.MaxUint8})
	}
	var err error
	if level := levelFor(e.instantLvl, pixel); level >= 0 {
		err = t.level(e, &e.instantLvl[level], func(start, end int64, u *run) { mark(max(start, q.From), int(u.share), u.region) })
	} else {
		err = t.x.instants(&t.reader, e, q.From, q.To, func(i *instant) { mark(i.time, 1, i.region()) })
	}
	if err != nil {
		return err
	}
	t.out.strip(Strip{Track: track, Kind: InstantStrip}, row.runs)
	return nil
}

// instants calls f for those of a track in a window.
func (x *Index) instants(r *reader, e *trackEntry, from, to int64, f func(*instant)) error {
	var list []instant
	for _, b := range within(e.instants, from, trace.Add(to, -1)) {
		if err := read(r, &b, &list, decodeInstants); err != nil {
			return err
		}
		for k := range list {
			if at := list[k].time; at >= from && at < to {
				f(&list[k])
			}
		}
	}
	return nil
}

func (t *tiler) curve(track int, e *trackEntry) error {
	q := t.q
	s := Strip{Track: track, Kind: CurveStrip, First: len(t.out.cells)}
	if e.Kind == ResourceTrack {
		s.Kind = AmountStrip
	}
	c, err := t.x.plot(&t.reader, e, q.From, q.To, q.Width)
	if err != nil {
		return err
	}
	for i, low := range c.Min {
		if math.IsNaN(low) {
			continue
		}
		t.out.cells = append(t.out.cells, cell{uint16(i), float32(low), float32(c.Max[i]), float32(c.First[i]), float32(c.Last[i])})
		s.Count++
	}
	t.out.strips = append(t.out.strips, s)
	return nil
}

// pixels is a run of columns.
type pixels struct {
	x, n                        uint16
	region                      uint32
	cover, share, height, flags uint8
}

// raster adds up what is in the columns of a strip, from left to right.
type raster struct {
	from, to int64
	width    int
	scale    float64 // columns a tick
	exact    bool    // made of spans
	runs     []pixels
	next     int // the first column that is not taken
	at       int // column that is being filled
	parts    []share
	cover    float64
	low      float64 // what is missing at the height of what covers it, times the part
	end      edge    // of the last span that took whole columns
}

type share struct {
	region uint32
	part   float64
}

// edge is the part of a column that a span has which is drawn beside it.
type edge struct {
	share
	at     int
	height uint8
}

func newRaster(q *TileRequest) *raster {
	r := &raster{}
	r.set(q)
	return r
}

func (r *raster) set(q *TileRequest) {
	r.from, r.to, r.width, r.scale = q.From, q.To, q.Width, float64(q.Width)/float64(uint64(q.To)-uint64(q.From))
}

// column is where a time lies, in columns; of times outside of the window, its edge.
func (r *raster) column(t int64) float64 {
	if t <= r.from {
		return 0
	}
	if t >= r.to {
		return float64(r.width)
	}
	return float64(uint64(t)-uint64(r.from)) * r.scale
}

// span draws a span: one that is wider than a column takes those that it has the greater
// part of, narrower ones add to what is in their columns. Columns that these have share what
// wider ones beside have of them.
func (r *raster) span(s *Span) {
	a, b := r.column(s.Start), r.column(s.End)
	if b-a < 2 {
		r.add(a, b, s.Region, 1, 1, s.Height)
		return
	}
	first, last := max(int(a+0.5), r.next), min(int(b+0.5), r.width)
	if first >= last {
		return
	}
	if len(r.parts) > 0 && r.at >= first {
		r.parts, r.cover, r.low = r.parts[:0], 0, 0 // it has the greater part
	} else if len(r.parts) > 0 && r.at == first-1 && a < float64(first) {
		r.edge(&edge{share{s.Region, float64(first) - a}, r.at, s.Height})
	}
	r.flush()
	flags := Single
	if s.Start >= r.from {
		flags |= Begins
	}
	if s.End <= r.to {
		flags |= Ends
	}
	r.runs = append(r.runs, pixels{uint16(first), uint16(last - first), s.Region, math.MaxUint8, math.MaxUint8, s.Height, flags})
	r.next = last
	r.end = edge{share{s.Region, max(0, b-float64(last))}, last, s.Height}
}

// edge adds the part that a wider span has of the column in hand.
func (r *raster) edge(e *edge) {
	r.cover += e.part
	if e.height != math.MaxUint8 {
		r.low += e.part * float64(math.MaxUint8-e.height)
	}
	r.part(e.region, e.part)
}

// bucket draws buckets of a level.
func (r *raster) bucket(start, end int64, u *run) {
	const in255 = 1.0 / math.MaxUint8
	r.add(r.column(start), r.column(end), u.region, float64(u.share)*in255, float64(u.cover)*in255, u.height)
}

// add adds a stretch of a region, of which it was a share, and any region another.
func (r *raster) add(a, b float64, region uint32, part, cover float64, height uint8) {
	first, last := int(a), int(b)
	if float64(last) < b || last <= first {
		last++ // it has a part of that column too, or no length
	}
	last = min(last, r.width)
	for p := max(first, r.next); p < last; p++ {
		if p != r.at {
			if p < r.at && len(r.parts) > 0 {
				continue
			}
			r.flush()
			if r.at = p; r.end.at == p && r.end.part > 0 {
				r.edge(&r.end)
			}
		}
		left, right := max(a, float64(p)), min(b, float64(p+1))
		in := max(0, right-left)
		r.cover += in * cover
		if height != math.MaxUint8 {
			r.low += in * cover * float64(math.MaxUint8-height)
		}
		r.part(region, in*part)
		if k := last - 1; p > first && p+1 < k {
			// All whole columns are like this one.
			r.flush()
			u := &r.runs[len(r.runs)-1]
			u.n += uint16(k - p - 1)
			r.next = k
			p = k - 1
		}
	}
}

func (r *raster) part(region uint32, part float64) {
	for i := range r.parts {
		if r.parts[i].region == region {
			r.parts[i].part += part
			return
		}
	}
	r.parts = append(r.parts, share{region, part})
}

// in255 is a part as so many 255ths, at least one.
func in255(f float64) uint8 { return uint8(max(1, min(math.MaxUint8, int(f*math.MaxUint8+0.5)))) }

// flush ends the column in hand.
func (r *raster) flush() {
	if len(r.parts) == 0 {
		return
	}
	most := &r.parts[0]
	for i := range r.parts[1:] {
		if p := &r.parts[i+1]; p.part > most.part {
			most = p
		}
	}
	u := pixels{x: uint16(r.at), n: 1, region: most.region, share: in255(most.part), height: math.MaxUint8}
	if u.cover = u.share; r.cover != most.part {
		u.cover = max(u.share, in255(r.cover))
	}
	if r.low > 0 {
		u.height = uint8(max(1, min(math.MaxUint8, int(math.MaxUint8-r.low/r.cover+0.5))))
	}
	r.parts, r.cover, r.low, r.next = r.parts[:0], 0, 0, r.at+1
	if n := len(r.runs); n > 0 {
		o := &r.runs[n-1]
		if o.x+o.n == u.x && o.flags == 0 && o.region == u.region && o.share == u.share && o.cover == u.cover && o.height == u.height {
			o.n++
			return
		}
	}
	r.runs = append(r.runs, u)
}

// summaryStrips is how many strips a summary looks at: of more tracks than these are of, some
// that are evenly far apart stand for all.
const summaryStrips = 2048

// summaryDepths is how deep a summary looks.
const summaryDepths = 16

// Summary is one strip for several tracks: in each column the region that was the innermost
// one longest, as far as the levels tell, the part of the time that it was, and that in which
// any region was open, both as averages of the tracks.
func (x *Index) Summary(ctx context.Context, q TileRequest) (*Tile, error) {
	all := q.Tracks
	deep := 1
	for _, t := range all {
		if t >= 0 && t < len(x.dir.Tracks) {
			deep = max(deep, min(summaryDepths, x.dir.Tracks[t].Depth))
		}
	}
	if n, most := len(all), summaryStrips/deep; n > most {
		q.Tracks = make([]int, most)
		for i := range q.Tracks {
			q.Tracks[i] = all[i*n/most]
		}
	}
	q.Tracks = slices.DeleteFunc(slices.Clone(q.Tracks), func(t int) bool {
		return t >= 0 && t < len(x.dir.Tracks) && x.dir.Tracks[t].Depth == 0
	})
	q.Depths = summaryDepths
	tile, err := x.Tile(ctx, q)
	if err != nil {
		return nil, err
	}
	type cell struct {
		parts []share
		cover float64
	}
	cells := make([]cell, q.Width)
	inner := make([]float64, q.Width) // what covers the depth below
	last := -1
	for i := len(tile.Strips) - 1; i >= 0; i-- {
		s := tile.Strips[i]
		if s.Kind != SpanStrip {
			continue
		}
		if s.Track != last {
			last = s.Track
			clear(inner)
		}
		for k := s.First; k < s.First+s.Count; k++ {
			cover, part := float64(tile.Cover[k])/math.MaxUint8, float64(tile.Share[k])/math.MaxUint8
			for c := int(tile.X[k]); c < int(tile.X[k])+int(tile.N[k]); c++ {
				e := &cells[c]
				if s.Depth == 0 {
					e.cover += cover
				}
				if own := part - inner[c]; own > 0 {
					j := slices.IndexFunc(e.parts, func(p share) bool { return p.region == tile.Region[k] })
					if j < 0 {
						j = len(e.parts)
						e.parts = append(e.parts, share{region: tile.Region[k]})
					}
					e.parts[j].part += own
				}
				inner[c] = max(inner[c], cover)
			}
		}
	}
	row := newRaster(&q)
	for c := range cells {
		e := &cells[c]
		if e.cover == 0 && len(e.parts) == 0 {
			continue
		}
		n := float64(max(1, len(q.Tracks)))
		row.at, row.cover = c, e.cover/n
		for _, p := range e.parts {
			row.part(p.region, p.part/n)
		}
		if len(e.parts) == 0 {
			row.part(trace.NoRef, 0)
		}
		row.flush()
	}
	first := -1
	if len(all) > 0 {
		first = all[0]
	}
	p := &tilePart{}
	p.strip(Strip{Track: first}, row.runs)
	out := &Tile{Width: q.Width}
	out.room(1, len(p.runs), 0)
	out.put(p, 0, 0, 0)
	return out, nil
}
