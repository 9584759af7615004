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

// adjacentAnswer is a call with its position among all calls of some regions. Total is the number of
// these calls.
type adjacentAnswer struct {
	Span spanFact `json:"span"`
	// position among all calls, ordered by start and then by track; the first position is 1
	Number int64 `json:"number"`
	Total  int64 `json:"total"`
}

// adjacentCall answers with the first call of some regions after a time and track, or with the last call
// before them. It considers all locations. The answer includes the position of the call among all calls of
// these regions.
func adjacentCall(ctx context.Context, x *traceIndex, p *params) (any, error) {
	regions, at := p.regionList(), p.time("time")
	forward := p.choice("direction", "next", "previous") == "next"
	none := int64(-1) // without a track, skip the calls that start exactly at the given time
	if forward {
		none = int64(len(x.tracks))
	}
	track := int(p.number("track", -1, int64(len(x.tracks)), none))
	if p.err != nil {
		return nil, p.err
	}
	tracks := x.tracksOfKind(index.LocationTrack, nil)
	var best *call
	better := func(s index.Span, t int) bool {
		o := cmp.Or(cmp.Compare(s.Start, best.Start), cmp.Compare(t, best.track))
		return forward && o < 0 || !forward && o > 0
	}
	for _, t := range tracks {
		after := at
		// Calls that start at the given time are ordered by track.
		if forward && t > track {
			after = trace.Add(at, -1)
		} else if !forward && t < track {
			after = trace.Add(at, 1)
		}
		for _, region := range regions {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			s, ok, err := x.Find(ctx, t, region, after, forward)
			if err != nil {
				return nil, err
			}
			if ok && (best == nil || better(s, t)) {
				best = &call{Span: s, track: t}
			}
		}
	}
	if best == nil {
		return noContent{}, nil
	}
	a := adjacentAnswer{Span: x.span(best.track, best.Span), Number: 1}
	var err error
	if a.Total, err = x.callsUpTo(ctx, tracks, x.last, regions); err != nil {
		return nil, err
	}
	before, err := x.callsUpTo(ctx, tracks, trace.Add(best.Start, -1), regions)
	if err != nil {
		return nil, err
	}
	i, _ := slices.BinarySearch(tracks, best.track)
	beside, err := x.callsUpTo(ctx, tracks[:i], trace.Add(best.Start, -1), regions)
	if err != nil {
		return nil, err
	}
	upTo, err := x.callsUpTo(ctx, tracks[:i], best.Start, regions)
	a.Number += before + upTo - beside
	return a, err
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
