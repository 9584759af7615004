package serve

import (
	"context"
	"math"

	"github.com/weft-trace/weft/timeline/index"
)

// This file answers requests about spans and instants. The answers come from the index.

// tiles answers with a picture of some tracks in a window.
func tiles(ctx context.Context, x *traceIndex, p *params) (any, error) {
	return tileOf(ctx, x, p, maxTileTracks, x.Tile)
}

// summary answers with one strip that summarises some tracks in a window.
func summary(ctx context.Context, x *traceIndex, p *params) (any, error) {
	// If there are many tracks, Summary reads only some of them. Therefore the number of tracks needs no
	// limit.
	return tileOf(ctx, x, p, max(1, len(p.x.tracks)), x.Summary)
}

// tileOf reads a request for a picture of up to `most` tracks, and answers with the tile that f
// returns.
func tileOf(ctx context.Context, x *traceIndex, p *params, most int,
	f func(context.Context, index.TileRequest) (*index.Tile, error)) (any, error) {
	q := index.TileRequest{Width: int(p.required("width", 1, maxWidth)), Depths: int(p.number("depths", 1, maxDepths, 8)),
		Tracks: p.tracks(most)}
	if p.err == nil && q.Tracks == nil {
		p.setError("tracks", "numbers and ranges of tracks such as 0-63,70")
	}
	q.From, q.To, _ = p.window()
	q.Beyond = p.excessTicks()
	if p.err != nil {
		return nil, p.err
	}
	t, err := f(ctx, q)
	if err != nil {
		return nil, err
	}
	b := x.e.s.bodies.Get().(*binaryAnswer)
	*b, err = t.AppendBinary((*b)[:0])
	return b, err
}

// spanFact describes a span in answers. Times are relative to the first event of the trace.
type spanFact struct {
	Track  int    `json:"track"`
	Depth  int    `json:"depth"`
	Region int    `json:"region"`
	Name   string `json:"name"`
	Group  string `json:"group"`
	Start  ticks  `json:"start"`
	End    ticks  `json:"end"`
	Open   *bool  `json:"open,omitempty"` // whether the span has no end; nil unless the request asks for it
}

// span converts a span of a track for an answer.
func (v *traceView) span(track int, s index.Span) spanFact {
	r := v.region(s.Region)
	return spanFact{track, int(s.Depth), jsonRef(s.Region), r.Name, r.Group, v.jsonTime(s.Start), v.jsonTime(s.End), nil}
}

// aroundFact is a span that encloses the span of an answer.
type aroundFact struct {
	Region int    `json:"region"`
	Name   string `json:"name"`
	Start  ticks  `json:"start"`
	End    ticks  `json:"end"`
	Depth  int    `json:"depth"`
}

// spanAnswer describes a span, with the spans around it and the links that begin or end in it.
type spanAnswer struct {
	Span       spanFact     `json:"span"`
	Attributes []attribute  `json:"attributes"`
	Partial    bool         `json:"partial"` // attributes are missing because reading the trace took too long
	Around     []aroundFact `json:"around"`
	Links      []linkFact   `json:"links"`
}

func (a spanAnswer) incomplete() bool    { return a.Partial }
func (a instantAnswer) incomplete() bool { return a.Partial }

// linksOfSpan is the largest number of links that are listed for a span.
const linksOfSpan = 100

// spanAt answers with the span of a track and depth that is open at a time.
func spanAt(ctx context.Context, x *traceIndex, p *params) (any, error) {
	track, depth, at := p.track(), int(p.number("depth", 0, maxDepths, 0)), p.time("time")
	if p.err != nil {
		return nil, p.err
	}
	s, ok, err := x.SpanAt(track, depth, at)
	if err != nil {
		return nil, err
	}
	if !ok {
		return noContent{}, nil
	}
	around, err := x.Enclosing(track, s)
	if err != nil {
		return nil, err
	}
	near, err := x.LinksOf(track, s.Start, s.End, linksOfSpan)
	if err != nil {
		return nil, err
	}
	a := spanAnswer{Span: x.span(track, s), Attributes: []attribute{}, Around: []aroundFact{}, Links: []linkFact{}}
	for _, y := range around {
		if x.tracks[track].Kind != index.LocationTrack {
			break // claims and operations are not nested, so there are no spans around them
		}
		a.Around = append(a.Around, aroundFact{jsonRef(y.Region), x.region(y.Region).Name, x.jsonTime(y.Start),
			x.jsonTime(y.End), int(y.Depth)})
	}
	for i := range near {
		a.Links = append(a.Links, x.link(&near[i]))
	}
	inner, err := x.innerVisits(track, s)
	if err != nil {
		return nil, err
	}
	d, err := x.e.describeSpan(ctx, &x.tracks[track], s, x.region(s.Region).Name, around, inner)
	if err != nil {
		return nil, err
	}
	lacking, err := x.e.describeLinks(ctx, near, a.Links)
	if err != nil {
		return nil, err
	}
	a.Attributes, a.Span.Open, a.Partial = append(a.Attributes, d.attributes...), &d.open, d.partial || lacking
	return a, nil
}

// edgeAt answers with the begin or end of a span that is nearest to a time.
func edgeAt(ctx context.Context, x *traceIndex, p *params) (any, error) {
	track, at, within := p.track(), p.time("time"), p.number("within", 0, math.MaxInt64, 0)
	depth, depths := int(p.number("depth", 0, maxDepths, 0)), int(p.number("depths", 1, maxDepths, maxDepths))
	if p.err != nil {
		return nil, p.err
	}
	t, ok, err := x.Edge(ctx, track, depth, depths, at, within)
	if err != nil {
		return nil, err
	}
	if !ok {
		return noContent{}, nil
	}
	return map[string]ticks{"time": x.jsonTime(t)}, nil
}

// innerVisits returns the number of visits of the same region inside of a span that end at the same time as
// the span and as the location. Leave events at this time end these inner visits before they end the span.
func (ti *traceIndex) innerVisits(track int, s index.Span) (n int, err error) {
	t := &ti.tracks[track]
	if t.Kind != index.LocationTrack || s.End != t.Last || s.Start == s.End {
		return 0, nil
	}
	for d := int(s.Depth) + 1; d < t.Depth; d++ {
		y, ok, err := ti.SpanAt(track, d, s.End-1)
		if err != nil || !ok {
			return n, err
		}
		if y.Region == s.Region && y.End == s.End {
			n++
		}
	}
	return n, nil
}

// instantAnswer describes an event without duration.
type instantAnswer struct {
	Time       ticks       `json:"time"`
	Name       string      `json:"name"`
	Kind       string      `json:"kind"`
	Attributes []attribute `json:"attributes"`
	Partial    bool        `json:"partial"`
}

// instantAt answers with the instant of a track that is nearest to a time, within a radius.
func instantAt(ctx context.Context, x *traceIndex, p *params) (any, error) {
	track, at, radius := p.track(), p.time("time"), p.number("radius", 0, math.MaxInt64, 0)
	if p.err != nil {
		return nil, p.err
	}
	i, ok, err := x.InstantAt(track, at, radius)
	if err != nil {
		return nil, err
	}
	if !ok {
		return noContent{}, nil
	}
	d, err := x.e.describeInstant(ctx, &x.tracks[track], i)
	if err != nil {
		return nil, err
	}
	return instantAnswer{x.jsonTime(i.Time), i.Name, d.kind, append([]attribute{}, d.attributes...), d.partial}, nil
}

// find answers with the first visit of a region after a time, or with the last one before it. It searches
// one track or all locations.
func find(ctx context.Context, x *traceIndex, p *params) (any, error) {
	region, at := uint32(p.required("region", -1, int64(len(p.x.regions))-1)), p.time("time")
	forward := p.choice("direction", "next", "previous") == "next"
	var where []int
	if p.values.Get("track") != "" {
		where = []int{p.track()}
	} else {
		where = x.tracksOfKind(index.LocationTrack, nil)
	}
	if p.err != nil {
		return nil, p.err
	}
	var best index.Span
	found := -1
	for _, t := range where {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s, ok, err := x.Find(ctx, t, region, at, forward)
		if err != nil {
			return nil, err
		}
		if ok && (found < 0 || forward && s.Start < best.Start || !forward && s.Start > best.Start) {
			best, found = s, t
		}
	}
	if found < 0 {
		return noContent{}, nil
	}
	return map[string]spanFact{"span": x.span(found, best)}, nil
}
