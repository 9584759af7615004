package index

import (
	"sort"

	"github.com/weft-trace/weft/timeline/curve"
	"github.com/weft-trace/weft/trace"
)

// style returns the kind of curve to use for the values of a track.
func (e *trackEntry) style() curve.Kind {
	switch e.Style {
	case "smooth":
		return curve.Smooth
	case "points":
		return curve.Points
	}
	return curve.Steps
}

// styleName returns the name of a kind of curve in JSON.
func styleName(k curve.Kind) string {
	return [...]string{curve.Smooth: "smooth", curve.Steps: "steps", curve.Points: "points"}[k]
}

// plotValues plots all values of a track in the window. It does not use levels.
func plotValues(r *reader, e *trackEntry, q *TileRequest) (*curve.Curve, error) {
	from, to := q.From, q.To
	style := e.style()
	p := newPlotter(style, q)
	// The value at the left edge of the window may have been recorded before it.
	i := max(0, sort.Search(len(e.values), func(i int) bool { return e.values[i].last >= from })-1)
	var list []piece
	for ; i < len(e.values) && trace.Before(e.values[i].first, to); i++ {
		if err := read(r, &e.values[i], &list, e.decodeValues); err != nil {
			return nil, err
		}
		for _, x := range list {
			switch style {
			case curve.Smooth:
				p.Fragment(x.time, x.end, x.a, x.b, x.c, e.MetricUnit)
			case curve.Points:
				p.Point(x.time, x.a)
			default:
				if !trace.Before(x.time, to) {
					p.Hold(to)
					return p.Curve(), nil
				}
				p.Step(x.time, x.a)
			}
		}
	}
	if style == curve.Steps {
		p.Hold(e.Last)
	}
	return p.Curve(), nil
}

func newPlotter(k curve.Kind, q *TileRequest) *curve.Plotter {
	p := curve.NewPlotter(k, q.From, q.To, q.Width)
	p.Extend(q.Beyond)
	return p
}

// plot plots the curve of a track. Its cost depends on the number of columns, because it uses
// levels if there are many values.
func (ix *Index) plot(r *reader, e *trackEntry, q *TileRequest) (*curve.Curve, error) {
	pixel := float64(q.ticks()) / float64(q.Width)
	level := levelFor(e.valueLvl, pixel)
	if level < 0 {
		return plotValues(r, e, q)
	}
	p := newPlotter(e.style(), q)
	l := &e.valueLvl[level]
	low, high := floorDiv(trace.Add(q.From, -e.First), l.width), floorDiv(trace.Add(lastTick(q.To), -e.First), l.width)
	var list []curveRun
	for _, b := range blocksWithin(l.blocks, low, high) {
		if err := read(r, &b, &list, decodeCurveRuns); err != nil {
			return nil, err
		}
		for _, s := range list {
			if s.bucket > high || s.bucket+s.n <= low {
				continue
			}
			start := e.First + s.bucket*l.width
			p.Between(start, trace.Add(start, s.n*l.width), float64(s.first), float64(s.last), float64(s.low), float64(s.high))
		}
	}
	return p.Curve(), nil
}

// levelFor returns the level with the longest buckets that are not longer than a pixel, or −1 if the buckets
// of all levels are too long.
func levelFor(l []levelEntry, pixel float64) int {
	level := -1
	for i := range l {
		if float64(l[i].width) <= pixel {
			level = i
		}
	}
	return level
}

// spanLevel returns the number of the level from which spans are drawn, or −1 if the spans themselves must be
// read. It is the level with the longest buckets of at most usualBucketWidth pixels. If no level has such
// short buckets, it is the lowest level, because each of its buckets replaces several spans. However, the
// buckets of the lowest level may have at most `most` pixels.
func spanLevel(l []levelEntry, pixel, most float64) int {
	level := levelFor(l, usualBucketWidth*pixel)
	if level < 0 && len(l) > 0 && float64(l[0].width) <= most*pixel {
		return 0
	}
	return level
}

const (
	// usualBucketWidth is the usual limit for the length of buckets, in pixels. A bucket is drawn in one
	// colour, so details of this width are lost.
	usualBucketWidth = 2
	// maxBucketWidth is the limit for a window with too many spans to read.
	maxBucketWidth = 8
	// maxSpans is the number of spans above which a tile uses maxBucketWidth.
	maxSpans = 400_000
)

// bucketWidth returns the greatest length, in pixels, that the buckets of the lowest level may have in
// a tile. It is usualBucketWidth, or maxBucketWidth if the tile would otherwise have to read more than
// maxSpans spans. To estimate this number, it assumes that the spans of each track are spread evenly.
func (ix *Index) bucketWidth(q *TileRequest) float64 {
	spans := 0.0
	for _, k := range q.Tracks {
		e := ix.dir.Tracks[k]
		if in := min(q.To, e.Last) - max(q.From, e.First); in > 0 && e.Last > e.First && q.Depths > 0 {
			spans += float64(e.Spans) * (float64(in) / float64(e.Last-e.First))
		}
	}
	if spans > maxSpans {
		return maxBucketWidth
	}
	return usualBucketWidth
}
