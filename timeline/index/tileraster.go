package index

import (
	"math"

	"github.com/weft-trace/weft/trace"
)

// columnRun is a series of n equal columns of a strip, from column x on.
type columnRun struct {
	x, n                uint16
	region              uint32
	cover, share, flags uint8
	band                Band
}

// raster draws the spans or buckets of a strip into columns, from left to right.
type raster struct {
	from, to int64
	width    int
	scale    float64 // number of columns per tick
	exact    bool    // the strip is drawn from spans, because no level has sufficiently short buckets
	runs     []columnRun
	next     int // the first column after the columns that wide spans occupy
	at       int // the current column
	parts    []share
	cover    float64
	low      float64  // sum over the parts of: share of the column × (255 − height)
	offset   float64  // sum over the parts of: share of the column × offset
	end      spanEdge // the part of a column at the end of the last wide span
}

// share is the share of a column in which a region was open, from 0 to 1.
type share struct {
	region uint32
	part   float64
}

// spanEdge is the part of a column that a wide span overlaps without occupying the whole column. The span
// occupies the next column. at is the number of the column.
type spanEdge struct {
	share
	at   int
	band Band
}

func newRaster(q *TileRequest) *raster {
	r := &raster{}
	r.set(q)
	return r
}

func (r *raster) set(q *TileRequest) {
	r.from, r.to, r.width, r.scale = q.From, q.To, q.Width, float64(q.Width)/float64(q.ticks())
}

// column returns the position of a time, in columns from the left edge. For a time outside of the window, it
// returns the position of the nearer edge.
func (r *raster) column(t int64) float64 {
	if t <= r.from {
		return 0
	}
	if !trace.Before(t, r.to) {
		return float64(r.width)
	}
	return float64(uint64(t)-uint64(r.from)) * r.scale
}

// drawSpan draws a span. A wide span has at least the width of two columns. It occupies each column of which
// it overlaps more than half. Narrow spans are summed up in their columns. At either end, a wide span may
// overlap half or less of a further column. This share is added to the sums of that column.
func (r *raster) drawSpan(s *Span) {
	a, b := r.column(s.Start), r.column(s.End)
	if b-a < 2 {
		r.add(a, b, s.Region, 1, 1, s.Band)
		return
	}
	first, last := max(int(a+0.5), r.next), min(int(b+0.5), r.width)
	if first >= last {
		return
	}
	if len(r.parts) > 0 && r.at >= first {
		// the wide span overlaps the greater part of the column
		r.parts, r.cover, r.low, r.offset = r.parts[:0], 0, 0, 0
	} else if len(r.parts) > 0 && r.at == first-1 && a < float64(first) {
		r.addEdge(&spanEdge{share{s.Region, float64(first) - a}, r.at, s.Band})
	}
	r.flush()
	flags := Single
	if s.Start >= r.from {
		flags |= Begins
	}
	if s.End <= r.to {
		flags |= Ends
	}
	r.runs = append(r.runs, columnRun{uint16(first), uint16(last - first), s.Region, math.MaxUint8, math.MaxUint8,
		flags, s.Band})
	r.next = last
	r.end = spanEdge{share{s.Region, max(0, b-float64(last))}, last, s.Band}
}

// addEdge adds the part of the current column that a wide span next to it overlaps.
func (r *raster) addEdge(e *spanEdge) {
	r.addCover(e.part, e.band)
	r.addShare(e.region, e.part)
}

// drawBucket draws the equal buckets of the run u of a level. They last from start to end.
func (r *raster) drawBucket(start, end int64, u *run) {
	const unit = 1.0 / math.MaxUint8
	r.add(r.column(start), r.column(end), u.region, float64(u.share)*unit, float64(u.cover)*unit, u.band)
}

// add adds the interval from a to b, in columns. part is the share of the interval in which the region was
// open, and cover the share in which any region was open. Both are from 0 to 1.
func (r *raster) add(a, b float64, region uint32, part, cover float64, band Band) {
	first, last := min(int(a), r.width-1), int(b) // a span at math.MaxInt64 may begin at the edge
	if float64(last) < b || last <= first {
		last++ // the interval also overlaps the next column, or has no duration
	}
	last = min(last, r.width)
	for p := max(first, r.next); p < last; p++ {
		if p != r.at {
			if p < r.at && len(r.parts) > 0 {
				continue
			}
			r.flush()
			if r.at = p; r.end.at == p && r.end.part > 0 {
				r.addEdge(&r.end)
			}
		}
		left, right := max(a, float64(p)), min(b, float64(p+1))
		in := max(0, right-left)
		r.addCover(in*cover, band)
		r.addShare(region, in*part)
		if k := last - 1; p > first && p+1 < k {
			// All further whole columns equal this column.
			r.flush()
			u := &r.runs[len(r.runs)-1]
			u.n += uint16(k - p - 1)
			r.next = k
			p = k - 1
		}
	}
}

// addCover adds a share of the current column in which a span with the given band was open.
func (r *raster) addCover(part float64, band Band) {
	r.cover += part
	if band != wholeBand {
		r.low += part * float64(math.MaxUint8-band.Height)
		r.offset += part * float64(band.Offset)
	}
}

// addShare adds a share of the current column in which a region was the innermost open one.
func (r *raster) addShare(region uint32, part float64) {
	for i := range r.parts {
		if r.parts[i].region == region {
			r.parts[i].part += part
			return
		}
	}
	r.parts = append(r.parts, share{region, part})
}

// share255 returns a share in 255ths, at least 1.
func share255(f float64) uint8 { return uint8(max(1, min(math.MaxUint8, int(f*math.MaxUint8+0.5)))) }

// flush completes the current column and appends it to the runs.
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
	u := columnRun{x: uint16(r.at), n: 1, region: most.region, share: share255(most.part), band: wholeBand}
	if u.cover = u.share; r.cover != most.part {
		u.cover = max(u.share, share255(r.cover))
	}
	if r.low > 0 {
		u.band.Height = uint8(max(1, min(math.MaxUint8, int(math.MaxUint8-r.low/r.cover+0.5))))
		u.band.Offset = uint8(min(math.MaxUint8, r.offset/r.cover+0.5))
	}
	r.parts, r.cover, r.low, r.offset, r.next = r.parts[:0], 0, 0, 0, r.at+1
	if n := len(r.runs); n > 0 {
		o := &r.runs[n-1]
		if o.x+o.n == u.x && o.flags == 0 && o.region == u.region && o.share == u.share && o.cover == u.cover &&
			o.band == u.band {
			o.n++
			return
		}
	}
	r.runs = append(r.runs, u)
}
