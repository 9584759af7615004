package index

import (
	"sort"

	"github.com/weft-trace/weft/timeline/curve"
	"github.com/weft-trace/weft/trace"
)

// style is the kind of a track's curve.
func (e *trackEntry) style() curve.Kind {
	switch e.Style {
	case "smooth":
		return curve.Smooth
	case "points":
		return curve.Points
	}
	return curve.Steps
}

// styleName is a kind of curve in JSON.
func styleName(k curve.Kind) string {
	return [...]string{curve.Smooth: "smooth", curve.Steps: "steps", curve.Points: "points"}[k]
}

// plotValues plots the values of a track themselves.
func plotValues(r *reader, e *trackEntry, from, to int64, width int) (*curve.Curve, error) {
	style := e.style()
	p := curve.NewPlotter(style, from, to, width)
	// The value at the left edge is one before it.
	i := max(0, sort.Search(len(e.values), func(i int) bool { return e.values[i].last >= from })-1)
	var list []piece
	for ; i < len(e.values) && e.values[i].first < to; i++ {
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
				if x.time >= to {
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

// plot plots the curve of a track at a cost that depends on the width.
func (x *Index) plot(r *reader, e *trackEntry, from, to int64, width int) (*curve.Curve, error) {
	pixel := float64(uint64(to)-uint64(from)) / float64(width)
	level := levelFor(e.valueLvl, pixel)
	if level < 0 {
		return plotValues(r, e, from, to, width)
	}
	p := curve.NewPlotter(e.style(), from, to, width)
	l := &e.valueLvl[level]
	low, high := floorDiv(from-e.First, l.width), floorDiv(to-1-e.First, l.width)
	var list []stretch
	for _, b := range within(l.blocks, low, high) {
		if err := read(r, &b, &list, decodeStretches); err != nil {
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

// levelFor is the level with the longest buckets that are no longer than a pixel, -1 for
// what the levels are made of.
func levelFor(l []levelEntry, pixel float64) int {
	level := -1
	for i := range l {
		if float64(l[i].width) <= pixel {
			level = i
		}
	}
	return level
}

// spanLevel is the level for spans: that with the longest buckets that are no longer than
// some pixels. The shortest buckets may be longer: each is for several spans.
func spanLevel(l []levelEntry, pixel, most float64) int {
	level := levelFor(l, blur*pixel)
	if level < 0 && len(l) > 0 && float64(l[0].width) <= most*pixel {
		return 0
	}
	return level
}

const (
	// blur is how many pixels buckets may be. Nobody can tell from each other the spans, two
	// or more a pixel, that they are drawn for.
	blur = 2
	// mostBlur is what they may be where all spans would be too many to read.
	mostBlur = 8
	// mostSpans is how many spans a tile should not read.
	mostSpans = 400_000
)

// blur says how long the shortest buckets may be for a tile, in pixels: what it would have to
// read without is guessed from its part of the time of each track.
func (x *Index) blur(q *TileRequest) float64 {
	spans := 0.0
	for _, k := range q.Tracks {
		e := x.dir.Tracks[k]
		if in := min(q.To, e.Last) - max(q.From, e.First); in > 0 && e.Last > e.First && q.Depths > 0 {
			spans += float64(e.Spans) * (float64(in) / float64(e.Last-e.First))
		}
	}
	if spans > mostSpans {
		return mostBlur
	}
	return blur
}
