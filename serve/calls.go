package serve

import (
	"cmp"
	"context"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/timeline/index"
	"github.com/weft-trace/weft/trace"
)

// The limits for lists of calls.
const (
	maxCalls      = 10_000
	defaultCalls  = 1000
	maxRegionList = 100_000
)

// regionList reads the parameter regions, a list of region numbers.
func (p *params) regionList() []uint32 {
	var out []uint32
	for f := range strings.SplitSeq(p.values.Get("regions"), ",") {
		n, err := strconv.Atoi(f)
		if err != nil || n < -1 || n >= len(p.x.regions) || len(out) >= maxRegionList {
			p.setError("regions", "numbers of regions such as 3,7, below "+strconv.Itoa(len(p.x.regions)))
			return nil
		}
		out = append(out, uint32(n))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// callsAnswer lists the longest calls of a window.
type callsAnswer struct {
	From  ticks      `json:"from"`
	To    ticks      `json:"to"`
	Calls []spanFact `json:"calls"`
	// More is set if the list is longer than the limit.
	More bool `json:"more"`
}

// call is a span of a track. Depending on the request, length is the duration of the span, or the
// duration of its part in the window.
type call struct {
	index.Span
	track  int
	length int64
}

// compareCalls orders calls by decreasing length, then by start.
func compareCalls(a, b call) int {
	return cmp.Or(cmp.Compare(b.length, a.length), cmp.Compare(a.Start, b.Start), cmp.Compare(a.track, b.track),
		cmp.Compare(a.Depth, b.Depth))
}

// longestCalls keeps the longest calls, at most `most` of them. It collects up to twice as many calls, and
// then sorts the list and drops the second half.
type longestCalls struct {
	limit int
	least int64
	list  []call
	more  bool
}

// add adds a call if it may be one of the longest calls.
func (l *longestCalls) add(c call) {
	if c.length < l.least {
		return
	}
	if l.list = append(l.list, c); len(l.list) >= 2*l.limit {
		l.shorten()
		l.least = max(l.least, l.list[len(l.list)-1].length)
	}
}

// shorten sorts the calls, and drops the calls beyond the limit.
func (l *longestCalls) shorten() {
	slices.SortFunc(l.list, compareCalls)
	if len(l.list) > l.limit {
		l.list, l.more = l.list[:l.limit], true
	}
}

// listCalls answers with the longest calls or claims of some regions in a window. The parameter by
// determines whether the length of a call is its whole duration, or the duration of its part in the
// window.
func listCalls(ctx context.Context, x *traceIndex, p *params) (any, error) {
	regions, given, limit := p.regionList(), p.tracks(len(x.tracks)), int(p.number("limit", 1, maxCalls, defaultCalls))
	kind := index.LocationTrack
	if p.choice("kind", visitRows, claimRows) == claimRows {
		kind = index.ResourceTrack
	}
	least, part := p.number("least", 0, 1<<62, 0), p.choice("by", "duration", "part") == "part"
	from, to, _ := p.window()
	if p.err != nil {
		return nil, p.err
	}
	tracks := x.tracksOfKind(kind, given)
	parts := make([]longestCalls, max(1, min(len(tracks), runtime.GOMAXPROCS(0))))
	for i := range parts {
		parts[i] = longestCalls{limit: limit, least: least}
	}
	err := forEachParallel(ctx, len(parts), len(tracks), func(worker, i int) error {
		l := &parts[worker]
		return x.Spans(ctx, tracks[i], from, to, regions, l.least, func(s index.Span) int64 {
			length := s.End - s.Start
			if part {
				length = min(s.End, to) - max(s.Start, from)
			}
			l.add(call{s, tracks[i], length})
			return l.least
		})
	})
	if err != nil {
		return nil, err
	}
	all := longestCalls{limit: limit}
	for i := range parts {
		all.list, all.more = append(all.list, parts[i].list...), all.more || parts[i].more
	}
	all.shorten()
	a := callsAnswer{x.jsonTime(from), x.jsonTime(to), []spanFact{}, all.more}
	for _, c := range all.list {
		a.Calls = append(a.Calls, x.span(c.track, c.Span))
	}
	return a, nil
}

// adjacentAnswer is a span with its position among all spans of some regions. Total is the number of
// these spans.
type adjacentAnswer struct {
	Span spanFact `json:"span"`
	// position among all spans in the order of their places; the first position is 1
	Number int64 `json:"number"`
	Total  int64 `json:"total"`
}

// place is a place in the order of spans: by start, then by track, then by depth. A forward search looks for the
// first span after the place, and other searches for the last one before it.
type place struct {
	start        int64
	track, depth int
	forward      bool
}

// chosen returns the index of the span that a search from the place finds among those of a track that start
// together, or -1.
func (p *place) chosen(together []call) int {
	found := -1
	for i, c := range together {
		o := cmp.Or(cmp.Compare(c.Start, p.start), cmp.Compare(c.track, p.track), cmp.Compare(int(c.Depth), p.depth))
		if p.forward && o > 0 {
			return i
		}
		if !p.forward && o < 0 {
			found = i
		}
	}
	return found
}

// adjacentCall answers with the first span of some regions after a place, or with the last one before it. Spans
// are calls, claims and collective operations. The answer includes the position of the span among all spans of
// these regions.
func adjacentCall(ctx context.Context, x *traceIndex, p *params) (any, error) {
	regions, at := p.regionList(), p.time("time")
	forward := p.choice("direction", "next", "previous") == "next"
	none := int64(-1) // without a track or depth, skip the spans that start exactly there
	if forward {
		none = math.MaxInt32
	}
	here := place{at, int(p.number("track", -1, math.MaxInt32, none)), int(p.number("depth", -1, math.MaxInt32, none)),
		forward}
	if p.err != nil {
		return nil, p.err
	}
	var best *call
	var tracks []int
	for t := range x.tracks {
		if x.tracks[t].Spans == 0 {
			continue
		}
		tracks = append(tracks, t)
		c, err := x.adjacent(ctx, t, regions, &here)
		if err != nil {
			return nil, err
		}
		// the earlier one of two tracks is the first
		if c != nil && (best == nil || forward && c.Start < best.Start || !forward && c.Start >= best.Start) {
			best = c
		}
	}
	if best == nil {
		return noContent{}, nil
	}
	together, err := x.startingAt(ctx, best.track, best.Start, regions)
	if err != nil {
		return nil, err
	}
	i := here.chosen(together)
	a := adjacentAnswer{Span: x.span(best.track, together[i].Span), Number: 1 + int64(i)}
	if a.Total, err = x.callsUpTo(ctx, tracks, x.last, regions); err != nil {
		return nil, err
	}
	before, err := x.callsUpTo(ctx, tracks, trace.Add(best.Start, -1), regions)
	if err != nil {
		return nil, err
	}
	n, _ := slices.BinarySearch(tracks, best.track)
	beside, err := x.callsUpTo(ctx, tracks[:n], trace.Add(best.Start, -1), regions)
	if err != nil {
		return nil, err
	}
	upTo, err := x.callsUpTo(ctx, tracks[:n], best.Start, regions)
	a.Number += before + upTo - beside
	return a, err
}

// adjacent returns a span of some regions of a track that starts at the time to which a search from a place leads,
// or nil.
func (ti *traceIndex) adjacent(ctx context.Context, track int, regions []uint32, from *place) (*call, error) {
	after := from.start
	switch {
	case track == from.track:
		together, err := ti.startingAt(ctx, track, from.start, regions)
		if err != nil {
			return nil, err
		}
		if i := from.chosen(together); i >= 0 {
			return &together[i], nil
		}
	case from.forward && track > from.track:
		after = trace.Add(after, -1)
	case !from.forward && track < from.track:
		after = trace.Add(after, 1)
	}
	var best *call
	for _, region := range regions {
		s, ok, err := ti.Find(ctx, track, region, after, from.forward)
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return nil, err
		}
		if ok && (best == nil || from.forward == (s.Start < best.Start)) {
			best = &call{Span: s, track: track}
		}
	}
	return best, nil
}

// startingAt returns the spans of some regions of a track that start at a time, in the order of their depths.
func (ti *traceIndex) startingAt(ctx context.Context, track int, at int64, regions []uint32) ([]call, error) {
	var out []call
	const least = math.MinInt64 // the difference of the times of a long span overflows
	err := ti.Spans(ctx, track, at, trace.Add(at, 1), regions, least, func(s index.Span) int64 {
		if s.Start == at {
			out = append(out, call{Span: s, track: track})
		}
		return least
	})
	slices.SortFunc(out, func(a, b call) int { return cmp.Compare(a.Depth, b.Depth) })
	return out, err
}

// callsUpTo returns the number of calls of regions that start at or before the time at.
func (ti *traceIndex) callsUpTo(ctx context.Context, tracks []int, at int64, regions []uint32) (int64, error) {
	if at < ti.first || len(tracks) == 0 {
		return 0, nil
	}
	counts := make([]int64, len(tracks))
	err := forEachParallel(ctx, min(len(tracks), runtime.GOMAXPROCS(0)), len(tracks), func(_, i int) error {
		add := func(sign, from, to int64) error {
			sums, err := ti.Profile(tracks[i], from, to)
			for j := range sums {
				if _, ok := slices.BinarySearch(regions, sums[j].Region); ok {
					counts[i] += sign * sums[j].Count
				}
			}
			return err
		}
		end := trace.Add(at, 1)
		if err := add(1, ti.first, end); err != nil || end < math.MaxInt64 || at == end {
			return err
		}
		return add(-1, end, end) // end is math.MaxInt64, which stands for the open end of a window
	})
	total := int64(0)
	for _, n := range counts {
		total += n
	}
	return total, err
}
