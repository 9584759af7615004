package serve

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"sort"
	"strconv"
	"sync"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/timeline/index"
	"github.com/weft-trace/weft/trace"
)

// This file has what a trace says of links: the index knows their ends alone.

type linkAnswer struct {
	Link    linkFact    `json:"link"`
	From    linkEndFact `json:"from"`
	To      linkEndFact `json:"to"`
	Partial bool        `json:"partial"` // something is missing, as reading it took too long
}

// linkEndFact is the event, or the claim, at an end of a link.
type linkEndFact struct {
	Kind       string      `json:"kind"` // "" if not known
	Name       string      `json:"name"` // of a claim or mark
	Attributes []attribute `json:"attributes"`
}

func (a linkAnswer) lacks() bool { return a.Partial }

func linkAt(ctx context.Context, x *opened, p *params) (any, error) {
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
			return m.Kind == l.Kind && m.Source == l.Source && m.Destination == l.Destination && m.Tag == l.Tag && m.Communicator == l.Communicator
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
		if l.Alone || l.Destination < 0 {
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
			if alike(m) && m.End == l.End && !m.Alone {
				n++
			}
		}
		to = messageEnd(trace.Kind.IsRecv, x.location(l.Source), l, n)
	case index.Fork:
		k := meetingKinds[l.Name]
		from, to = meetingEnd(k[0]), meetingEnd(k[1])
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
		var d described
		var fact linkEndFact
		err := x.e.describe(ctx, &d, func(ctx context.Context, r *reader) error {
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

// location is that of a track; NoRef without a track.
func (v *shown) location(track int) uint32 {
	if track < 0 {
		return trace.NoRef
	}
	return v.tracks[track].Location
}

// endFinder finds what is at an end of a link, which is at a time of a location.
type endFinder func(ctx context.Context, r *reader, loc uint32, at int64, f *linkEndFact) error

// found notes the event in hand.
func (f *linkEndFact) found(defs *trace.Definitions, c *trace.Cursor) {
	spec := defs.Spec(c.Kind())
	f.Kind, f.Attributes = spec.Name, eventAttributes(defs, c)
	if spec.Ref == trace.RefRegion && defs.Regions.Has(c.Ref()) {
		f.Name = defs.Regions.At(c.Ref()).Name
	}
}

// messageEnd finds the send, or the receive, of a message: of those alike at that time the
// one behind n others.
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
			f.found(defs, c)
			n--
			return n < 0
		})
	}
}

// meetingKinds are the kinds of events at the ends of links between threads, by the name of
// the link.
var meetingKinds = map[string][2]trace.Kind{
	"fork":   {trace.ThreadFork, trace.ThreadTeamBegin},
	"join":   {trace.ThreadTeamEnd, trace.ThreadJoin},
	"create": {trace.ThreadCreate, trace.ThreadBegin},
	"wait":   {trace.ThreadEnd, trace.ThreadWait},
}

func meetingEnd(k trace.Kind) endFinder {
	return func(ctx context.Context, r *reader, loc uint32, at int64, f *linkEndFact) error {
		return eventAt(ctx, r, loc, at, func(c *trace.Cursor) bool {
			if c.Kind() != k {
				return false
			}
			f.found(r.Defs(), c)
			return true
		})
	}
}

// dependencyEnd finds the claim or event that a dependency leaves from or leads to. A claim
// is told by its begin, wherever it is in it that the dependency ends.
func (x *opened) dependencyEnd(track int, at int64, end dependencyPoint) (endFinder, error) {
	if track < 0 || end.kind == trace.AtLocation {
		return nil, nil
	}
	kind, times := trace.ClaimBegin, []int64{at}
	switch end.kind {
	case trace.AtEvent:
		kind = trace.Mark
	case trace.AtClaimEnd:
		// It began where one of those did that end here.
		times = times[:0]
		for _, t := range x.trackOfLocation(x.tracks[track].Location) {
			for depth := range x.tracks[t].Depth {
				for _, inside := range []int64{at, trace.Add(at, -1)} {
					s, ok, err := x.SpanAt(t, depth, inside)
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
					f.found(r.Defs(), c)
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

// trackOfLocation lists the tracks of a location that have spans.
func (v *shown) trackOfLocation(location uint32) (out []int) {
	for i, t := range v.tracks {
		if t.Location == location && (t.Kind == index.ResourceTrack || t.Kind == index.LocationTrack) {
			out = append(out, i)
		}
	}
	return out
}

// describeLinks says what the trace has on dependencies, for those of links that are.
func (e *entry) describeLinks(ctx context.Context, links []index.Link, facts []linkFact) (partial bool, err error) {
	found, partial, err := e.dependencies(ctx, links)
	for i, d := range found {
		if d != nil {
			facts[i].Attributes = d.attributes
		}
	}
	return partial, err
}

// dependencyPoint is an end of a dependency, but for its place.
type dependencyPoint struct {
	kind trace.EndKind
	id   int64
}

// dependency is what a trace has on a stored link.
type dependency struct {
	from, to   dependencyPoint
	attributes []attribute
}

// dependencies looks up the stored links among some; partial is set when the trace could
// not be read in time. A link that is not a stored one, or that was not found, is nil.
//
// Formats keep stored links apart from the events at their ends, so that to find one means
// to read all. What was read is kept for the next question.
func (e *entry) dependencies(ctx context.Context, links []index.Link) (found []*dependency, partial bool, err error) {
	found = make([]*dependency, len(links))
	var wanted []int
	for i := range links {
		if l := &links[i]; l.Kind == index.Dependency && l.Count == 1 {
			wanted = append(wanted, i)
		}
	}
	if len(wanted) == 0 {
		return found, false, nil
	}
	// They lie around the one in the middle.
	slices.SortFunc(wanted, func(a, b int) int { return cmp.Compare(links[a].Start, links[b].Start) })
	center := links[wanted[len(wanted)/2]].Start
	short, cancel := context.WithTimeout(ctx, e.s.detailTime)
	defer cancel()
	t, err := e.linkTable.get(short, e, center)
	if ctx.Err() != nil {
		return found, false, ctx.Err()
	}
	if err != nil {
		return found, true, nil // damage of the trace is no reason not to show what the index has
	}
	for _, i := range wanted {
		l := &links[i]
		if found[i] = t.find(l.Tag, l.Start, l.End); found[i] == nil && !t.covers(l.Start) {
			partial = true
		}
	}
	return found, partial, nil
}

// linkShelf holds the stored links of a trace once they have been read.
type linkShelf struct {
	mu      sync.Mutex
	table   *linkTable
	reading chan struct{} // closed when reading ends; nil while nobody reads
	err     error         // of the last reading
	age     int           // grows when the trace is read anew
}

// clear forgets the links of a trace that is read anew.
func (s *linkShelf) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.table, s.err = nil, nil
	s.age++
}

// evict makes room for the links of another trace.
func (s *linkShelf) evict() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.table = nil
}

// get gives a table that has the links which begin at a time; it is read if need be. When
// the context ends before that is done reading goes on, for the next question.
func (s *linkShelf) get(ctx context.Context, e *entry, at int64) (*linkTable, error) {
	for tried := false; ; {
		s.mu.Lock()
		if s.table != nil && (s.table.covers(at) || tried) {
			t := s.table
			s.mu.Unlock()
			e.s.tables.used(s)
			return t, nil
		}
		if tried && s.reading == nil && s.err != nil {
			err := s.err
			s.mu.Unlock()
			return nil, err
		}
		if s.reading == nil {
			if !s.begin(e, at) {
				s.mu.Unlock()
				return nil, context.Canceled
			}
			tried = true
		}
		done := s.reading
		s.mu.Unlock()
		select {
		case <-done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// ahead begins to read the links around a time, if nobody has read any yet: links that are
// seen one by one are about to be selected.
func (s *linkShelf) ahead(e *entry, at int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.table != nil || s.reading != nil || s.err != nil {
		return
	}
	s.begin(e, at)
}

// begin begins to read, and reports whether it does; s.mu is held.
func (s *linkShelf) begin(e *entry, at int64) bool {
	done, age := make(chan struct{}), s.age
	if !e.s.background(func() { s.read(e, at, age, done) }) {
		return false
	}
	s.reading, s.err = done, nil
	return true
}

func (s *linkShelf) read(e *entry, at int64, age int, done chan struct{}) {
	t := newLinkTable(at, mostLinkBytes)
	err := guarded(func() error {
		select {
		case e.s.tables.turn <- struct{}{}:
			defer func() { <-e.s.tables.turn }()
		case <-e.s.ctx.Done():
			return e.s.ctx.Err()
		}
		return e.decoders.with(e.s.ctx, func(x *reader) error {
			sink := format.SinkFuncs{OnLinks: func(list []trace.Link) error {
				for i := range list {
					t.add(&list[i], x.Defs())
				}
				return e.s.ctx.Err()
			}}
			sel := trace.Everything()
			sel.NoEvents, sel.Links = true, trace.AllLinks
			return x.Scan(e.s.ctx, sel, format.PerLocation, sink)
		})
	})
	t.finish()
	s.mu.Lock()
	if s.age == age {
		if s.err = err; err == nil {
			s.table = t
		}
	} else if err == nil {
		s.err = errOutdated
	}
	s.reading = nil
	close(done)
	s.mu.Unlock()
	e.s.tables.used(s)
}

// errOutdated says that a trace has changed while it was read.
var errOutdated = errors.New("the trace has changed")

// maxLinkTables is how many traces' links are kept at a time, and mostLinkBytes the memory
// of each.
const (
	maxLinkTables = 2
	mostLinkBytes = 48 << 20
)

// linkTables forgets the links of those traces that nobody has asked for longest.
type linkTables struct {
	turn chan struct{} // a place for each that is being read
	mu   sync.Mutex
	list []*linkShelf // the last used one last
}

func (l *linkTables) used(s *linkShelf) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.list, s); i >= 0 {
		l.list = slices.Delete(l.list, i, i+1)
	}
	l.list = append(l.list, s)
	for len(l.list) > maxLinkTables {
		l.list[0].evict()
		l.list = slices.Delete(l.list, 0, 1)
	}
}

// linkTable is stored links, as many as a bound on memory allows: those that begin nearest
// to a time.
type linkTable struct {
	center  int64
	beyond  uint64 // it has what begins nearer to the center than this
	limit   int    // bytes
	rows    []linkRow
	sets    [][]attribute // which many links have in common
	numbers map[string]uint32
	bytes   int         // of the sets
	set     []attribute // of the link in hand
	name    []byte
}

type linkRow struct {
	start, end, id int64
	fromID, toID   int64
	set            uint32
	from, to       trace.EndKind
}

// rowBytes is the memory of a row, setBytes and attributeBytes that of a set and of each
// attribute in it, beside their texts.
const (
	rowBytes       = 48
	setBytes       = 100
	attributeBytes = 32
)

func newLinkTable(center int64, limit int) *linkTable {
	return &linkTable{center: center, beyond: math.MaxUint64, limit: limit, numbers: map[string]uint32{}}
}

// distance is how far a time is from the center.
func (t *linkTable) distance(at int64) uint64 {
	return uint64(max(at, t.center)) - uint64(min(at, t.center))
}

// covers reports whether the table has all links that begin at a time.
func (t *linkTable) covers(at int64) bool {
	return t.beyond == math.MaxUint64 || t.distance(at) < t.beyond
}

// add takes a link.
func (t *linkTable) add(l *trace.Link, defs *trace.Definitions) {
	if !t.covers(l.Src.Time) {
		return
	}
	t.set = t.set[:0]
	for _, a := range l.Attrs {
		t.set = append(t.set, attribute{a.Key, valueText(defs, a.Value)})
	}
	t.rows = append(t.rows, linkRow{l.Src.Time, l.Dst.Time, l.ID, l.Src.ID, l.Dst.ID, t.number(t.set), l.Src.Kind, l.Dst.Kind})
	if len(t.rows)*rowBytes+t.bytes > t.limit {
		t.shrink()
	}
}

// number is that of a set.
func (t *linkTable) number(set []attribute) uint32 {
	b := t.name[:0]
	for _, a := range set {
		b = strconv.AppendQuote(strconv.AppendQuote(b, a.Name), a.Value)
	}
	t.name = b
	n, ok := t.numbers[string(b)]
	if !ok {
		n = uint32(len(t.sets))
		t.sets, t.numbers[string(b)] = append(t.sets, slices.Clone(set)), n
		t.bytes += 2*len(b) + setBytes + len(set)*attributeBytes
	}
	return n
}

// shrink forgets the farther half of the links.
func (t *linkTable) shrink() {
	far := make([]uint64, len(t.rows))
	for i := range t.rows {
		far[i] = t.distance(t.rows[i].start)
	}
	slices.Sort(far)
	t.beyond = far[len(far)/2]
	t.rows = slices.DeleteFunc(t.rows, func(r linkRow) bool { return !t.covers(r.start) })
	sets := t.sets // what is numbered anew
	t.sets, t.numbers, t.bytes = nil, map[string]uint32{}, 0
	for i := range t.rows {
		t.rows[i].set = t.number(sets[t.rows[i].set])
	}
}

func (r *linkRow) compare(start, end, id int64) int {
	return cmp.Or(cmp.Compare(r.start, start), cmp.Compare(r.end, end), cmp.Compare(r.id, id))
}

// finish makes the table ready to be looked into.
func (t *linkTable) finish() {
	t.numbers, t.set, t.name = nil, nil, nil
	slices.SortStableFunc(t.rows, func(a, b linkRow) int { return a.compare(b.start, b.end, b.id) })
}

// find finds a link, the first one of those alike; nil if there is none.
func (t *linkTable) find(id, start, end int64) *dependency {
	i := sort.Search(len(t.rows), func(i int) bool { return t.rows[i].compare(start, end, id) >= 0 })
	if i == len(t.rows) || t.rows[i].compare(start, end, id) != 0 {
		return nil
	}
	r := &t.rows[i]
	return &dependency{dependencyPoint{r.from, r.fromID}, dependencyPoint{r.to, r.toID}, t.sets[r.set]}
}
