package serve

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/weft-trace/weft/timeline/index"
	"github.com/weft-trace/weft/trace"
)

// This file answers requests for links. The index contains only the ends of a link; all other data come from
// the trace.

// linkAnswer describes a link and the events or claims at its ends.
type linkAnswer struct {
	Link    linkFact    `json:"link"`
	From    linkEndFact `json:"from"`
	To      linkEndFact `json:"to"`
	Partial bool        `json:"partial"` // some data are missing because reading took too long
}

// linkEndFact is the event or claim at an end of a link.
type linkEndFact struct {
	Kind       string      `json:"kind"` // "" if it is unknown
	Name       string      `json:"name"` // name of a claim or mark
	Attributes []attribute `json:"attributes"`
}

func (a linkAnswer) incomplete() bool { return a.Partial }

// linkAt answers with the link that begins in a track at a time and has the requested id.
func linkAt(ctx context.Context, x *traceIndex, p *params) (any, error) {
	track, at, id := p.track(), p.time("time"), p.values.Get("link")
	if p.err != nil {
		return nil, p.err
	}
	list, err := x.LinksOf(track, at, at, maxLinks)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(list, func(l index.Link) bool {
		return l.ID == id && (l.Source == track || l.Unsent && l.Destination == track) && l.Start == at
	})
	if i < 0 {
		return nil, notFound("there is no link " + quote(id) + " that begins at that place")
	}
	l := &list[i]
	a := linkAnswer{Link: x.link(l)}
	var from, to endFinder
	switch l.Kind {
	case index.Message:
		alike := func(m index.Link) bool {
			return m.Kind == l.Kind && m.Source == l.Source && m.Destination == l.Destination && m.Tag == l.Tag &&
				m.Communicator == l.Communicator
		}
		n := 0
		for _, m := range list[:i] {
			if alike(m) && m.Start == l.Start && !m.Unsent {
				n++
			}
		}
		if !l.Unsent {
			from = messageEnd(trace.Kind.IsSend, x.location(l.Destination), l, n)
		}
		if l.Unreceived || l.Destination < 0 {
			break
		}
		ends, err := x.LinksOf(l.Destination, l.End, l.End, maxLinks)
		if err != nil {
			return nil, err
		}
		n = 0
		for _, m := range ends {
			if m.ID == l.ID {
				break
			}
			if alike(m) && m.End == l.End && !m.Unreceived {
				n++
			}
		}
		to = messageEnd(trace.Kind.IsRecv, x.location(l.Source), l, n)
	case index.Fork:
		k := threadLinkKinds[l.Name]
		from, to = threadLinkEnd(k[0]), threadLinkEnd(k[1])
	case index.Dependency:
		found, lacking, err := x.e.dependencies(ctx, list[i:i+1])
		if err != nil {
			return nil, err
		}
		a.Partial = lacking
		if d := found[0]; d != nil {
			a.Link.Attributes = d.attributes
			if from, err = x.dependencyEnd(l.Source, l.Start, d.from); err != nil {
				return nil, err
			}
			if to, err = x.dependencyEnd(l.Destination, l.End, d.to); err != nil {
				return nil, err
			}
		}
	}
	for _, end := range []struct {
		find  endFinder
		track int
		at    int64
		fact  *linkEndFact
	}{{from, l.Source, l.Start, &a.From}, {to, l.Destination, l.End, &a.To}} {
		end.fact.Attributes = []attribute{}
		if end.find == nil || end.track < 0 {
			continue
		}
		var d details
		var fact linkEndFact
		err := x.e.describeWithReader(ctx, &d, func(ctx context.Context, r *reader) error {
			return end.find(ctx, r, x.tracks[end.track].Location, end.at, &fact)
		})
		if err != nil {
			return nil, err
		}
		end.fact.Kind, end.fact.Name = fact.Kind, fact.Name
		end.fact.Attributes = append(end.fact.Attributes, fact.Attributes...)
		a.Partial = a.Partial || d.partial
	}
	return a, nil
}

// location returns the location of a track, or NoRef if track is negative.
func (v *traceView) location(track int) uint32 {
	if track < 0 {
		return trace.NoRef
	}
	return v.tracks[track].Location
}

// endFinder finds the event or claim at an end of a link, given the end's location and time, and
// describes it in f.
type endFinder func(ctx context.Context, r *reader, loc uint32, at int64, f *linkEndFact) error

// setEvent describes the event at the cursor.
func (f *linkEndFact) setEvent(defs *trace.Definitions, c *trace.Cursor) {
	spec := defs.Spec(c.Kind())
	f.Kind, f.Attributes = spec.Name, eventAttributes(defs, c)
	if spec.Ref == trace.RefRegion && defs.Regions.Has(c.Ref()) {
		f.Name = defs.Regions.At(c.Ref()).Name
	}
}

// messageEnd returns a finder for the send or receive of a message. The function is selects the kind of the
// event. The finder skips n equal messages that come before this message at the same time.
func messageEnd(is func(trace.Kind) bool, peer uint32, l *index.Link, n int) endFinder {
	return func(ctx context.Context, r *reader, loc uint32, at int64, f *linkEndFact) error {
		defs := r.Defs()
		return eventAt(ctx, r, loc, at, func(c *trace.Cursor) bool {
			if !is(c.Kind()) || int64(c.Op(2)) != l.Tag || peer != trace.NoRef && c.Op(0) != uint64(peer) {
				return false
			}
			name := ""
			if i := c.Op(1); i < uint64(defs.Communicator.Len()) {
				x := defs.Communicator.At(uint32(i))
				name = cmp.Or(x.Name, x.ID)
			}
			if name != l.Communicator {
				return false
			}
			f.setEvent(defs, c)
			n--
			return n < 0
		})
	}
}

// threadLinkKinds maps the name of a link between threads to the kinds of the events at its two
// ends.
var threadLinkKinds = map[string][2]trace.Kind{
	"fork":   {trace.ThreadFork, trace.ThreadTeamBegin},
	"join":   {trace.ThreadTeamEnd, trace.ThreadJoin},
	"create": {trace.ThreadCreate, trace.ThreadBegin},
	"wait":   {trace.ThreadEnd, trace.ThreadWait},
}

// threadLinkEnd returns a finder for the first event of a kind at the location and time.
func threadLinkEnd(k trace.Kind) endFinder {
	return func(ctx context.Context, r *reader, loc uint32, at int64, f *linkEndFact) error {
		return eventAt(ctx, r, loc, at, func(c *trace.Cursor) bool {
			if c.Kind() != k {
				return false
			}
			f.setEvent(r.Defs(), c)
			return true
		})
	}
}

// dependencyEnd returns a finder for the claim or event at an end of a dependency. For a claim, the finder
// describes the begin event, even if the dependency ends inside of the claim or at its end.
func (ti *traceIndex) dependencyEnd(track int, at int64, end dependencyPoint) (endFinder, error) {
	if track < 0 || end.kind == trace.AtLocation {
		return nil, nil
	}
	kind, times := trace.ClaimBegin, []int64{at}
	switch end.kind {
	case trace.AtEvent:
		kind = trace.Mark
	case trace.AtClaimEnd:
		// The claim ends at this time. It may have begun at the begin of any span that ends at this time.
		times = times[:0]
		for _, t := range ti.spanTracks(ti.tracks[track].Location) {
			for depth := range ti.tracks[t].Depth {
				for _, inside := range []int64{at, trace.Add(at, -1)} {
					s, ok, err := ti.SpanAt(t, depth, inside)
					if err != nil {
						return nil, err
					}
					if ok && s.End == at && !slices.Contains(times, s.Start) {
						times = append(times, s.Start)
					}
				}
			}
		}
	}
	return func(ctx context.Context, r *reader, loc uint32, _ int64, f *linkEndFact) error {
		for _, t := range times {
			found := false
			err := eventAt(ctx, r, loc, t, func(c *trace.Cursor) bool {
				if c.Kind() == kind && len(c.Ops()) > 0 && int64(c.Op(0)) == end.id {
					f.setEvent(r.Defs(), c)
					found = true
				}
				return found
			})
			if found || err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// spanTracks returns the tracks of a location that have spans.
func (v *traceView) spanTracks(location uint32) (out []int) {
	for i, t := range v.tracks {
		if t.Location == location && (t.Kind == index.ResourceTrack || t.Kind == index.LocationTrack) {
			out = append(out, i)
		}
	}
	return out
}

// describeLinks adds the attributes of dependencies to facts. facts describes the same links in the same
// order.
func (e *entry) describeLinks(ctx context.Context, links []index.Link, facts []linkFact) (partial bool, err error) {
	found, partial, err := e.dependencies(ctx, links)
	for i, d := range found {
		if d != nil {
			facts[i].Attributes = d.attributes
		}
	}
	return partial, err
}

// endFact is the place of an end of a link. Track is -1 if the location of the end has no track.
type endFact struct {
	Track int   `json:"track"`
	Time  ticks `json:"time"`
}

// linkFact is a link, or a bundle of Count links.
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
	Alone        bool        `json:"alone,omitempty"`  // set for a send without a receive
	Unsent       bool        `json:"unsent,omitempty"` // set for a receive without a send
	Attributes   []attribute `json:"attributes,omitempty"`
}

// link converts a link or bundle for an answer. A bundle has no tag.
func (v *traceView) link(l *index.Link) linkFact {
	f := linkFact{l.ID, l.Kind.String(), l.Name, endFact{l.Source, v.jsonTime(l.Start)},
		endFact{l.Destination, v.jsonTime(l.End)}, l.Count, l.Bytes, "", l.Communicator, l.Unreceived, l.Unsent, nil}
	if l.Count == 1 {
		f.Tag = strconv.FormatInt(l.Tag, 10)
	}
	return f
}

// linksAnswer lists the links of a window. Total is the number of all links, including those in
// bundles.
type linksAnswer struct {
	Total   int64      `json:"total"`
	Shown   int        `json:"shown"`
	Bundled bool       `json:"bundled"`
	Links   []linkFact `json:"links"`
}

// links answers with the links of some tracks in a window.
func links(ctx context.Context, x *traceIndex, p *params) (any, error) {
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
	if i := slices.IndexFunc(set.Links, func(l index.Link) bool {
		return l.Kind == index.Dependency && l.Count == 1
	}); i >= 0 {
		x.e.linkCache.prefetch(x.e, set.Links[i].Start)
	}
	a := linksAnswer{set.Total, len(set.Links), set.Bundled, make([]linkFact, len(set.Links))}
	for i := range set.Links {
		a.Links[i] = x.link(&set.Links[i])
	}
	return a, nil
}
