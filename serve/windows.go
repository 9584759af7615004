package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/weft-trace/weft/timeline/index"
	"github.com/weft-trace/weft/trace"
)

// This file has the answers that come from the index.

func tiles(ctx context.Context, x *opened, p *params) (any, error) {
	return tileOf(ctx, x, p, maxTileTracks, x.Tile)
}

func summary(ctx context.Context, x *opened, p *params) (any, error) {
	// of many it looks at some
	return tileOf(ctx, x, p, max(1, len(p.x.tracks)), x.Summary)
}

func tileOf(ctx context.Context, x *opened, p *params, most int, f func(context.Context, index.TileRequest) (*index.Tile, error)) (any, error) {
	q := index.TileRequest{Width: int(p.need("width", 1, maxWidth)), Depths: int(p.number("depths", 1, maxDepths, 8)), Tracks: p.tracks(most)}
	if p.err == nil && q.Tracks == nil {
		p.fail("tracks", "numbers and ranges of tracks such as 0-63,70")
	}
	q.From, q.To, _ = p.window()
	if p.err != nil {
		return nil, p.err
	}
	t, err := f(ctx, q)
	if err != nil {
		return nil, err
	}
	b := x.e.s.bodies.Get().(*binary)
	*b, err = t.AppendBinary((*b)[:0])
	return b, err
}

// spanFact is a span.
type spanFact struct {
	Track  int    `json:"track"`
	Depth  int    `json:"depth"`
	Region int    `json:"region"`
	Name   string `json:"name"`
	Group  string `json:"group"`
	Start  ticks  `json:"start"`
	End    ticks  `json:"end"`
	Open   *bool  `json:"open,omitempty"` // nil where it was not asked for
}

func (v *shown) span(track int, s index.Span) spanFact {
	r := v.region(s.Region)
	return spanFact{track, int(s.Depth), number(s.Region), r.Name, r.Group, v.at(s.Start), v.at(s.End), nil}
}

type aroundFact struct {
	Region int    `json:"region"`
	Name   string `json:"name"`
	Start  ticks  `json:"start"`
	End    ticks  `json:"end"`
	Depth  int    `json:"depth"`
}

type spanAnswer struct {
	Span       spanFact     `json:"span"`
	Attributes []attribute  `json:"attributes"`
	Partial    bool         `json:"partial"` // attributes are missing, as reading them took too long
	Around     []aroundFact `json:"around"`
	Links      []linkFact   `json:"links"`
}

func (a spanAnswer) lacks() bool    { return a.Partial }
func (a instantAnswer) lacks() bool { return a.Partial }

// linksOfSpan is how many links are listed of a span.
const linksOfSpan = 100

func spanAt(ctx context.Context, x *opened, p *params) (any, error) {
	track, depth, at := p.track(), int(p.number("depth", 0, maxDepths, 0)), p.time("time")
	if p.err != nil {
		return nil, p.err
	}
	s, ok, err := x.SpanAt(track, depth, at)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nothing{}, nil
	}
	around, err := x.Around(track, s)
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
			break // claims and operations are in lanes, not in each other
		}
		a.Around = append(a.Around, aroundFact{number(y.Region), x.region(y.Region).Name, x.at(y.Start), x.at(y.End), int(y.Depth)})
	}
	for i := range near {
		a.Links = append(a.Links, x.link(&near[i]))
	}
	inner, err := x.inner(track, s)
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

// edgeAt is the edge of a span that is nearest to a time.
func edgeAt(ctx context.Context, x *opened, p *params) (any, error) {
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
		return nothing{}, nil
	}
	return map[string]ticks{"time": x.at(t)}, nil
}

// inner counts the visits of a region inside of one that ends with its location, which end
// there too: they are the ones that leaves at that time end first.
func (x *opened) inner(track int, s index.Span) (n int, err error) {
	t := &x.tracks[track]
	if t.Kind != index.LocationTrack || s.End != t.Last || s.Start == s.End {
		return 0, nil
	}
	for d := int(s.Depth) + 1; d < t.Depth; d++ {
		y, ok, err := x.SpanAt(track, d, s.End-1)
		if err != nil || !ok {
			return n, err
		}
		if y.Region == s.Region && y.End == s.End {
			n++
		}
	}
	return n, nil
}

type instantAnswer struct {
	Time       ticks       `json:"time"`
	Name       string      `json:"name"`
	Kind       string      `json:"kind"`
	Attributes []attribute `json:"attributes"`
	Partial    bool        `json:"partial"`
}

func instantAt(ctx context.Context, x *opened, p *params) (any, error) {
	track, at, radius := p.track(), p.time("time"), p.number("radius", 0, math.MaxInt64, 0)
	if p.err != nil {
		return nil, p.err
	}
	i, ok, err := x.InstantAt(track, at, radius)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nothing{}, nil
	}
	d, err := x.e.describeInstant(ctx, &x.tracks[track], i)
	if err != nil {
		return nil, err
	}
	return instantAnswer{x.at(i.Time), i.Name, d.kind, append([]attribute{}, d.attributes...), d.partial}, nil
}

func find(ctx context.Context, x *opened, p *params) (any, error) {
	region, at := p.region(), p.time("time")
	forward := p.choice("direction", "next", "previous") == "next"
	var where []int
	if p.values.Get("track") != "" {
		where = []int{p.track()}
	} else {
		where = x.only(index.LocationTrack, nil)
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
		return nothing{}, nil
	}
	return map[string]spanFact{"span": x.span(found, best)}, nil
}

type endFact struct {
	Track int   `json:"track"`
	Time  ticks `json:"time"`
}

type linkFact struct {
	ID           string      `json:"id"`
	Kind         string      `json:"kind"`
	Name         string      `json:"name"`
	From         endFact     `json:"from"`
	To           endFact     `json:"to"`
	Count        int64       `json:"count"`
	Bytes        int64       `json:"bytes"`
	Tag          string      `json:"tag"`
	Communicator string      `json:"communicator"`
	Alone        bool        `json:"alone,omitempty"`  // a send that nobody received
	Unsent       bool        `json:"unsent,omitempty"` // a receive of what nobody sent
	Attributes   []attribute `json:"attributes,omitempty"`
}

func (v *shown) link(l *index.Link) linkFact {
	f := linkFact{l.ID, l.Kind.String(), l.Name, endFact{l.Source, v.at(l.Start)}, endFact{l.Destination, v.at(l.End)}, l.Count, l.Bytes, "", l.Communicator, l.Alone, l.Unsent, nil}
	if l.Count == 1 {
		f.Tag = strconv.FormatInt(l.Tag, 10)
	}
	return f
}

type linksAnswer struct {
	Total   int64      `json:"total"`
	Shown   int        `json:"shown"`
	Bundled bool       `json:"bundled"`
	Links   []linkFact `json:"links"`
}

func links(ctx context.Context, x *opened, p *params) (any, error) {
	q := index.LinkRequest{Tracks: p.tracks(len(x.tracks)), Limit: int(p.number("limit", 1, maxLinks, 2000))}
	p.number("width", 1, maxWidth, 1)
	q.From, q.To, _ = p.window()
	if p.err != nil {
		return nil, p.err
	}
	set, err := x.Links(ctx, q)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(set.Links, func(l index.Link) bool { return l.Kind == index.Dependency && l.Count == 1 }); i >= 0 {
		x.e.linkTable.ahead(x.e, set.Links[i].Start)
	}
	a := linksAnswer{set.Total, len(set.Links), set.Bundled, make([]linkFact, len(set.Links))}
	for i := range set.Links {
		a.Links[i] = x.link(&set.Links[i])
	}
	return a, nil
}

type profileRow struct {
	Kind      string `json:"kind"`
	Track     int    `json:"track"`
	Group     int    `json:"group"`
	Region    int    `json:"region"`
	Name      string `json:"name"`
	Count     int64  `json:"count"`
	Inclusive sum    `json:"inclusive"`
	Exclusive sum    `json:"exclusive"`
	Min       ticks  `json:"min"`
	Max       ticks  `json:"max"`
	Mean      mean   `json:"mean"`
	Sum       sum    `json:"sum"`
}

type profileAnswer struct {
	From ticks        `json:"from"`
	To   ticks        `json:"to"`
	Rows []profileRow `json:"rows"`
	Left profileLeft  `json:"left"`
}

// profileLeft sums up the rows that a limit leaves out of a profile.
type profileLeft struct {
	Rows      int64 `json:"rows"`
	Exclusive sum   `json:"exclusive"` // of visits
	Held      sum   `json:"held"`      // by claims
}

// add takes rows of a kind that are left out.
func (l *profileLeft) add(kind string, rows int64, exclusive trace.Ticks) {
	l.Rows = trace.Add(l.Rows, rows)
	to := &l.Exclusive
	if kind == claims {
		to = &l.Held
	}
	to.add(exclusive)
}

// appendJSON writes the answer as json.Marshal would, in a fraction of the time: of many
// locations it has as many rows as all of them have regions.
func (a *profileAnswer) appendJSON(b []byte) ([]byte, error) {
	names := map[string][]byte{}
	number := func(name string, t ticks) {
		b = append(append(b, name...), '"')
		b = append(strconv.AppendInt(b, int64(t), 10), '"')
	}
	total := func(name string, s sum) {
		b = append(append(b, name...), '"')
		b = append(trace.Ticks(s).Append(b), '"')
	}
	number(`{"from":`, a.From)
	number(`,"to":`, a.To)
	b = append(b, `,"rows":[`...)
	for i := range a.Rows {
		r := &a.Rows[i]
		name, ok := names[r.Name]
		if !ok {
			var err error
			if name, err = json.Marshal(r.Name); err != nil {
				return nil, err
			}
			names[r.Name] = name
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, `{"kind":"`...), r.Kind...), `","track":`...)
		b = append(strconv.AppendInt(b, int64(r.Track), 10), `,"group":`...)
		b = append(strconv.AppendInt(b, int64(r.Group), 10), `,"region":`...)
		b = append(strconv.AppendInt(b, int64(r.Region), 10), `,"name":`...)
		b = append(append(b, name...), `,"count":`...)
		b = strconv.AppendInt(b, r.Count, 10)
		total(`,"inclusive":`, r.Inclusive)
		total(`,"exclusive":`, r.Exclusive)
		number(`,"min":`, r.Min)
		number(`,"max":`, r.Max)
		b = append(r.Mean.append(append(b, `,"mean":"`...)), '"')
		total(`,"sum":`, r.Sum)
		b = append(b, '}')
	}
	b = append(b, `],"left":{"rows":`...)
	b = strconv.AppendInt(b, a.Left.Rows, 10)
	total(`,"exclusive":`, a.Left.Exclusive)
	total(`,"held":`, a.Left.Held)
	return append(b, "}}"...), nil
}

// spread calls f with each number from 0 to below n, on some workers at once, until one fails.
func spread(ctx context.Context, workers, n int, f func(worker, i int) error) error {
	var next atomic.Int64
	var once sync.Once
	var first error
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			err := guarded(func() error {
				for {
					i := int(next.Add(1)) - 1
					if i >= n {
						return nil
					}
					if err := ctx.Err(); err != nil {
						return err
					}
					if err := f(w, i); err != nil {
						return err
					}
				}
			})
			if err != nil {
				next.Store(int64(n))
				once.Do(func() { first = err })
			}
		})
	}
	group.Wait()
	return first
}

// profiles are those of some tracks in a window.
func profiles(ctx context.Context, x Index, tracks []int, from, to int64) ([][]index.Sum, error) {
	out := make([][]index.Sum, len(tracks))
	err := spread(ctx, min(len(tracks), runtime.GOMAXPROCS(0)), len(tracks), func(_, i int) (err error) {
		out[i], err = x.Profile(tracks[i], from, to)
		return err
	})
	return out, err
}

// profileKey is what a row of a profile is for; -1 stands for all.
type profileKey struct {
	track, group int32
	region       uint32
}

// profileSum is what a row of a profile sums up.
type profileSum struct {
	key profileKey
	index.Sum
}

// profileSums are sums of profiles.
type profileSums struct {
	at   map[profileKey]int32
	list []profileSum
	left profileLeft
}

func (p *profileSums) add(k profileKey, s *index.Sum) {
	i, ok := p.at[k]
	if !ok {
		p.at[k] = int32(len(p.list))
		p.list = append(p.list, profileSum{k, *s})
		return
	}
	o := &p.list[i]
	o.Count += s.Count
	o.Inclusive = o.Inclusive.Plus(s.Inclusive)
	o.Exclusive = o.Exclusive.Plus(s.Exclusive)
	o.Sum.Sum = o.Sum.Sum.Plus(s.Sum)
	o.Min, o.Max = min(o.Min, s.Min), max(o.Max, s.Max)
}

// shorten leaves out all but the first ones, in the order of the answer. They must not be
// added to any more.
func (p *profileSums) shorten(kind string, most int) {
	slices.SortFunc(p.list, func(a, b profileSum) int {
		return cmp.Or(b.Exclusive.Cmp(a.Exclusive), cmp.Compare(number(a.key.region), number(b.key.region)), cmp.Compare(a.key.track, b.key.track), cmp.Compare(a.key.group, b.key.group))
	})
	for _, s := range p.list[most:] {
		p.left.add(kind, 1, s.Exclusive)
	}
	p.list = p.list[:most]
}

// mostProfileRows is how many rows a profile, or a call tree, can have, and profileRows how
// many it has unless more are asked for.
const (
	mostProfileRows = 1_000_000
	profileRows     = 20_000
)

// What a row of a profile is of.
const (
	visits = "region"
	claims = "claim"
)

func profileOf(ctx context.Context, x *opened, p *params) (any, error) {
	by, tracks := p.choice("by", "region", "location", "group"), p.tracks(len(x.tracks))
	limit := int(p.number("limit", 1, mostProfileRows, profileRows))
	from, to, _ := p.window()
	if p.err != nil {
		return nil, p.err
	}
	a := profileAnswer{x.at(from), x.at(to), []profileRow{}, profileLeft{}}
	row := func(kind string, k profileKey, s *index.Sum) {
		r := profileRow{kind, int(k.track), int(k.group), number(k.region), x.region(k.region).Name, s.Count, sum(s.Inclusive), sum(s.Exclusive), ticks(s.Min), ticks(s.Max), mean{s.Sum, s.Count}, sum(s.Sum)}
		a.Rows = append(a.Rows, r)
	}
	for _, of := range []struct {
		kind   string
		tracks index.TrackKind
	}{{visits, index.LocationTrack}, {claims, index.ResourceTrack}} {
		wanted := x.only(of.tracks, tracks)
		if of.kind == visits && by == "region" && from <= x.first && to > x.last && len(wanted) == len(x.only(of.tracks, nil)) {
			// All of it is known, however many locations there are.
			all, _ := x.Totals()
			for _, s := range all {
				row(of.kind, profileKey{-1, -1, s.Region}, &s)
			}
			continue
		}
		// Of many locations the sums of each worker are far less than those of each location.
		parts := make([]profileSums, max(1, min(len(wanted), runtime.GOMAXPROCS(0))))
		for i := range parts {
			parts[i].at = map[profileKey]int32{}
		}
		err := spread(ctx, len(parts), len(wanted), func(worker, i int) error {
			sums, err := x.Profile(wanted[i], from, to)
			if err != nil {
				return err
			}
			k := profileKey{-1, -1, 0}
			switch by {
			case "location":
				k.track = int32(wanted[i])
			case "group":
				k.group = int32(number(x.tracks[wanted[i]].Group))
			}
			o := &parts[worker]
			for j := range sums {
				if k.region = sums[j].Region; by == "location" {
					o.list = append(o.list, profileSum{k, sums[j]}) // each is a row
				} else {
					o.add(k, &sums[j])
				}
			}
			if by == "location" && len(o.list) >= 2*limit {
				o.shorten(of.kind, limit)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		whole := &parts[0]
		for i := range parts {
			o := &parts[i]
			a.Left.add(visits, o.left.Rows, trace.Ticks(o.left.Exclusive))
			a.Left.add(claims, 0, trace.Ticks(o.left.Held))
			switch {
			case i == 0:
			case by == "location":
				whole.list = append(whole.list, o.list...)
			default:
				for j := range o.list {
					whole.add(o.list[j].key, &o.list[j].Sum)
				}
			}
		}
		for j := range whole.list {
			row(of.kind, whole.list[j].key, &whole.list[j].Sum)
		}
	}
	slices.SortFunc(a.Rows, func(a, b profileRow) int {
		return cmp.Or(trace.Ticks(b.Exclusive).Cmp(trace.Ticks(a.Exclusive)), -cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Region, b.Region), cmp.Compare(a.Track, b.Track), cmp.Compare(a.Group, b.Group))
	})
	for _, r := range a.Rows[min(limit, len(a.Rows)):] {
		a.Left.add(r.Kind, 1, trace.Ticks(r.Exclusive))
	}
	a.Rows = a.Rows[:min(limit, len(a.Rows))]
	return &a, nil
}

type matrixRow struct {
	Source      int    `json:"source"`
	Destination int    `json:"destination"`
	Count       int64  `json:"count"`
	Bytes       int64  `json:"bytes"`
	Matched     int64  `json:"matched"` // those that were received, of which the times are
	Min         string `json:"min"`
	Mean        mean   `json:"mean"`
	Max         string `json:"max"`
	Sum         string `json:"sum"`
}

type matrixAnswer struct {
	Rows   []matrixRow `json:"rows"`
	Tracks []int       `json:"tracks"`
}

func matrix(e *entry, p *params) func(context.Context) (any, error) {
	from, to, _ := p.window()
	return func(ctx context.Context) (any, error) {
		x, err := e.open()
		if err != nil {
			return nil, err
		}
		defer x.release()
		cells, err := x.Matrix(ctx, from, to)
		if err != nil {
			return nil, err
		}
		a := matrixAnswer{[]matrixRow{}, []int{}}
		for _, c := range cells {
			r := matrixRow{c.Source, c.Destination, c.Count, c.Bytes, c.Matched, "", mean{c.Sum, c.Matched}, "", "0"}
			if c.Matched > 0 {
				r.Min, r.Max = strconv.FormatInt(c.Min, 10), strconv.FormatInt(c.Max, 10)
				r.Sum = c.Sum.String()
			}
			a.Rows = append(a.Rows, r)
			a.Tracks = append(a.Tracks, c.Source, c.Destination)
		}
		slices.Sort(a.Tracks)
		a.Tracks = slices.DeleteFunc(slices.Compact(a.Tracks), func(t int) bool { return t < 0 })
		return a, nil
	}
}

type shareFact struct {
	Region int `json:"region"`
	Ticks  sum `json:"ticks"`
}

type locationRow struct {
	Track         int         `json:"track"`
	Events        int64       `json:"events"` // of all the time, on the first track of a location
	Spans         int64       `json:"spans"`
	Busy          ticks       `json:"busy"`
	Exclusive     []shareFact `json:"exclusive"`
	Sent          int64       `json:"sent"`
	Received      int64       `json:"received"`
	SentBytes     int64       `json:"sentBytes"`
	ReceivedBytes int64       `json:"receivedBytes"`
}

// topRegions is how many regions are listed of a location.
const topRegions = 8

func locations(ctx context.Context, x *opened, p *params) (any, error) {
	from, to, _ := p.window()
	if p.err != nil {
		return nil, p.err
	}
	cells, err := x.Matrix(ctx, from, to)
	if err != nil {
		return nil, err
	}
	rows := []locationRow{}
	at := map[int]int{}
	for _, kind := range []index.TrackKind{index.LocationTrack, index.ResourceTrack} {
		wanted := x.only(kind, nil)
		all, err := profiles(ctx, x, wanted, from, to)
		if err != nil {
			return nil, err
		}
		for i, t := range wanted {
			at[t] = len(rows)
			rows = append(rows, x.row(t, all[i]))
			if k := &x.tracks[t]; k.Kind == index.ResourceTrack && k.Depth > 1 {
				// Its claims overlap.
				busy, err := x.Busy(ctx, t, from, to)
				if err != nil {
					return nil, err
				}
				rows[len(rows)-1].Busy = ticks(busy)
			}
		}
	}
	// A message that nobody received counts for its sender.
	for _, c := range cells {
		if i, ok := at[c.Source]; ok {
			rows[i].Sent += c.Count
			rows[i].SentBytes += c.Bytes
		}
		if i, ok := at[c.Destination]; ok {
			rows[i].Received += c.Matched
			rows[i].ReceivedBytes += c.MatchedBytes
		}
	}
	slices.SortFunc(rows, func(a, b locationRow) int { return cmp.Compare(a.Track, b.Track) })
	return map[string][]locationRow{"rows": rows}, nil
}

// row is what a location or resource did, but for messages.
func (v *shown) row(track int, sums []index.Sum) locationRow {
	t := &v.tracks[track]
	r := locationRow{Track: track, Events: t.Events, Exclusive: []shareFact{}}
	for _, s := range sums {
		r.Spans += s.Count
		r.Busy += ticks(s.Exclusive.Int64()) // one at a time, if no claims overlap
		if s.Exclusive.Cmp(trace.Ticks{}) > 0 {
			r.Exclusive = append(r.Exclusive, shareFact{number(s.Region), sum(s.Exclusive)})
		}
	}
	slices.SortStableFunc(r.Exclusive, func(a, b shareFact) int { return trace.Ticks(b.Ticks).Cmp(trace.Ticks(a.Ticks)) })
	r.Exclusive = r.Exclusive[:min(len(r.Exclusive), topRegions)]
	return r
}
