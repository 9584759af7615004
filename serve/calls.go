package serve

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/timeline/index"
	"github.com/weft-trace/weft/trace"
)

// Limits of lists of calls.
const (
	mostCalls   = 10_000
	usualCalls  = 1000
	mostRegions = 100_000
)

// regionList reads a list of numbers of regions, such as those of one name.
func (p *params) regionList() []uint32 {
	var out []uint32
	for f := range strings.SplitSeq(p.values.Get("regions"), ",") {
		n, err := strconv.Atoi(f)
		if err != nil || n < -1 || n >= len(p.x.regions) || len(out) >= mostRegions {
			p.fail("regions", "numbers of regions such as 3,7, below "+strconv.Itoa(len(p.x.regions)))
			return nil
		}
		out = append(out, uint32(n))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

type callsAnswer struct {
	From  ticks      `json:"from"`
	To    ticks      `json:"to"`
	Calls []spanFact `json:"calls"`
	// More is set if there are others that are as long as the threshold says.
	More bool `json:"more"`
}

// call is a span of a track; length is its duration, or what of it lies in the window.
type call struct {
	index.Span
	track  int
	length int64
}

// compareCalls puts the longest first, then those that begin first.
func compareCalls(a, b call) int {
	return cmp.Or(cmp.Compare(b.length, a.length), cmp.Compare(a.Start, b.Start), cmp.Compare(a.track, b.track), cmp.Compare(a.Depth, b.Depth))
}

// longest keeps the longest calls, and twice as many until it has to look which these are.
type longest struct {
	most  int
	least int64
	list  []call
	more  bool
}

func (l *longest) add(c call) {
	if c.length < l.least {
		return
	}
	if l.list = append(l.list, c); len(l.list) >= 2*l.most {
		l.shorten()
		l.least = max(l.least, l.list[len(l.list)-1].length)
	}
}

func (l *longest) shorten() {
	slices.SortFunc(l.list, compareCalls)
	if len(l.list) > l.most {
		l.list, l.more = l.list[:l.most], true
	}
}

// callsOf lists the calls of regions, or claims for them, that have a part in a window, by their duration or by how
// long that part is.
func callsOf(ctx context.Context, x *opened, p *params) (any, error) {
	regions, given, limit := p.regionList(), p.tracks(len(x.tracks)), int(p.number("limit", 1, mostCalls, usualCalls))
	kind := index.LocationTrack
	if p.choice("kind", visits, claims) == claims {
		kind = index.ResourceTrack
	}
	least, part := p.number("least", 0, 1<<62, 0), p.choice("by", "duration", "part") == "part"
	from, to, _ := p.window()
	if p.err != nil {
		return nil, p.err
	}
	tracks := x.only(kind, given)
	parts := make([]longest, max(1, min(len(tracks), runtime.GOMAXPROCS(0))))
	for i := range parts {
		parts[i] = longest{most: limit, least: least}
	}
	err := spread(ctx, len(parts), len(tracks), func(worker, i int) error {
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
	all := longest{most: limit}
	for i := range parts {
		all.list, all.more = append(all.list, parts[i].list...), all.more || parts[i].more
	}
	all.shorten()
	a := callsAnswer{x.at(from), x.at(to), []spanFact{}, all.more}
	for _, c := range all.list {
		a.Calls = append(a.Calls, x.span(c.track, c.Span))
	}
	return a, nil
}

type hitAnswer struct {
	Span   spanFact `json:"span"`
	Number int64    `json:"number"` // in the order of begins and, at one time, of tracks; from 1
	Total  int64    `json:"total"`
}

// hit finds the next or previous call of regions behind or before a time and track, in all locations, and
// says which of all it is.
func hit(ctx context.Context, x *opened, p *params) (any, error) {
	regions, at := p.regionList(), p.time("time")
	forward := p.choice("direction", "next", "previous") == "next"
	none := int64(-1) // without a track all at the time itself are passed
	if forward {
		none = int64(len(x.tracks))
	}
	track := int(p.number("track", -1, int64(len(x.tracks)), none))
	if p.err != nil {
		return nil, p.err
	}
	tracks := x.only(index.LocationTrack, nil)
	var best *call
	better := func(s index.Span, t int) bool {
		o := cmp.Or(cmp.Compare(s.Start, best.Start), cmp.Compare(t, best.track))
		return forward && o < 0 || !forward && o > 0
	}
	for _, t := range tracks {
		after := at
		// Of what begins at the time itself, that of later tracks comes behind it.
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
		return nothing{}, nil
	}
	a := hitAnswer{Span: x.span(best.track, best.Span), Number: 1}
	var err error
	if a.Total, err = x.begun(ctx, tracks, trace.Add(x.last, 1), regions); err != nil {
		return nil, err
	}
	before, err := x.begun(ctx, tracks, best.Start, regions)
	if err != nil {
		return nil, err
	}
	i, _ := slices.BinarySearch(tracks, best.track)
	beside, err := x.begun(ctx, tracks[:i], best.Start, regions)
	if err != nil {
		return nil, err
	}
	upTo, err := x.begun(ctx, tracks[:i], trace.Add(best.Start, 1), regions)
	a.Number += before + upTo - beside
	return a, err
}

// begun counts the calls of regions that begin before a time.
func (x *opened) begun(ctx context.Context, tracks []int, at int64, regions []uint32) (int64, error) {
	if at <= x.first || len(tracks) == 0 {
		return 0, nil
	}
	counts := make([]int64, len(tracks))
	err := spread(ctx, min(len(tracks), runtime.GOMAXPROCS(0)), len(tracks), func(_, i int) error {
		sums, err := x.Profile(tracks[i], x.first, at)
		for j := range sums {
			if _, ok := slices.BinarySearch(regions, sums[j].Region); ok {
				counts[i] += sums[j].Count
			}
		}
		return err
	})
	total := int64(0)
	for _, n := range counts {
		total += n
	}
	return total, err
}
