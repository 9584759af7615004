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

// dependencyPoint identifies the event or claim at an end of a dependency among the events and claims with the
// same location and time.
type dependencyPoint struct {
	kind trace.EndKind
	id   int64
}

// dependency holds the data about a stored link that the index lacks and that come from the trace.
type dependency struct {
	from, to   dependencyPoint
	attributes []attribute
}

// dependencies returns the data of stored links, in the order of links. An element is nil if the link is not a
// stored link, or if it was not found. partial is set if the trace could not be read in time.
//
// Formats store links separately from the events at their ends. To find one link, all links must be read. The
// links are cached for later requests.
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
	// The table will hold the links around one time. Use the time of the link in the middle.
	slices.SortFunc(wanted, func(a, b int) int { return cmp.Compare(links[a].Start, links[b].Start) })
	center := links[wanted[len(wanted)/2]].Start
	short, cancel := context.WithTimeout(ctx, e.s.detailTime)
	defer cancel()
	t, err := e.linkCache.get(short, e, center)
	if ctx.Err() != nil {
		return found, false, ctx.Err()
	}
	if err != nil {
		return found, true, nil // even if the trace is damaged, the index can be shown
	}
	for _, i := range wanted {
		l := &links[i]
		if found[i] = t.find(l.Tag, l.Start, l.End); found[i] == nil && !t.covers(l.Start) {
			partial = true
		}
	}
	return found, partial, nil
}

// linkCache holds the stored links of a trace, once they have been read.
type linkCache struct {
	mu         sync.Mutex
	table      *linkTable
	reading    chan struct{} // closed when reading ends; nil if no goroutine is reading
	err        error         // error of the last attempt to read
	generation int           // increases whenever the links become invalid
}

// clear removes the links, because the trace has changed and will be read again.
func (l *linkCache) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.table, l.err = nil, nil
	l.generation++
}

// evict removes the links, to free memory for the links of another trace.
func (l *linkCache) evict() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.table = nil
}

// get returns a table with the links that begin at a time. If it has no such table, it reads the trace.
// If the context ends first, reading continues, so that later requests can use the table.
func (l *linkCache) get(ctx context.Context, e *entry, at int64) (*linkTable, error) {
	for tried := false; ; {
		l.mu.Lock()
		if l.table != nil && (l.table.covers(at) || tried) {
			t := l.table
			l.mu.Unlock()
			e.s.linkCaches.markUsed(l)
			return t, nil
		}
		if tried && l.reading == nil && l.err != nil {
			err := l.err
			l.mu.Unlock()
			return nil, err
		}
		if l.reading == nil {
			if !l.startReading(e, at) {
				l.mu.Unlock()
				return nil, context.Canceled
			}
			tried = true
		}
		done := l.reading
		l.mu.Unlock()
		select {
		case <-done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// prefetch starts to read the links around a time, unless links have been read before. It is called when the
// page shows single links, because the user is then likely to select a link.
func (l *linkCache) prefetch(e *entry, at int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.table != nil || l.reading != nil || l.err != nil {
		return
	}
	l.startReading(e, at)
}

// startReading starts to read in the background. It reports whether this was possible. The caller must hold
// s.mu.
func (l *linkCache) startReading(e *entry, at int64) bool {
	done, age := make(chan struct{}), l.generation
	if !e.s.runInBackground(func() { l.read(e, at, age, done) }) {
		return false
	}
	l.reading, l.err = done, nil
	return true
}

func (l *linkCache) read(e *entry, at int64, age int, done chan struct{}) {
	t := newLinkTable(at, maxLinkBytes)
	err := recoverPanic(func() error {
		select {
		case e.s.linkCaches.slots <- struct{}{}:
			defer func() { <-e.s.linkCaches.slots }()
		case <-e.s.ctx.Done():
			return e.s.ctx.Err()
		}
		return e.arranged.useReader(e.s.ctx, func(x *reader) error {
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
	l.mu.Lock()
	if l.generation == age {
		if l.err = err; err == nil {
			l.table = t
		}
	} else if err == nil {
		l.err = errOutdated
	}
	l.reading = nil
	close(done)
	l.mu.Unlock()
	e.s.linkCaches.markUsed(l)
}

// errOutdated reports that a trace has changed while it was read.
var errOutdated = errors.New("the trace has changed")

// maxLinkTables is the largest number of traces whose links are kept. maxLinkBytes is the memory limit for the
// links of each trace, in bytes.
const (
	maxLinkTables = 2
	maxLinkBytes  = 48 << 20
)

// linkCaches limits the memory of the link caches of all traces. It evicts the caches that have not
// been used for the longest time.
type linkCaches struct {
	slots chan struct{} // contains an element for each trace that is being read
	mu    sync.Mutex
	list  []*linkCache // in the order of their last use
}

// markUsed records that a cache was used now. If there are too many caches, it evicts the caches that have not
// been used for the longest time.
func (l *linkCaches) markUsed(s *linkCache) {
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

// linkTable holds the stored links that begin nearest to the time center. It holds as many links as its memory
// limit allows.
type linkTable struct {
	center  int64
	radius  uint64 // the table has all links that begin closer to center than this
	limit   int    // memory limit in bytes
	rows    []linkRow
	sets    [][]attribute // different sets of attributes of links; many links may share a set
	numbers map[string]uint32
	bytes   int         // memory of sets
	set     []attribute // memory for the method add, for reuse
	name    []byte
}

// linkRow is a link in a table. set is the index of its attributes in linkTable.sets. from and to are the
// kinds of its ends. fromID and toID are the ids of the events or claims at its ends.
type linkRow struct {
	start, end, id int64
	fromID, toID   int64
	set            uint32
	from, to       trace.EndKind
}

// rowBytes is the memory of a row in bytes, setBytes the memory of a set of attributes, and attributeBytes the
// memory of an attribute in a set. These do not include the texts.
const (
	rowBytes       = 48
	setBytes       = 100
	attributeBytes = 32
)

func newLinkTable(center int64, limit int) *linkTable {
	return &linkTable{center: center, radius: math.MaxUint64, limit: limit, numbers: map[string]uint32{}}
}

// distance returns the distance of a time from center.
func (t *linkTable) distance(at int64) uint64 {
	return uint64(max(at, t.center)) - uint64(min(at, t.center))
}

// covers reports whether the table contains all links that begin at a time.
func (t *linkTable) covers(at int64) bool {
	return t.radius == math.MaxUint64 || t.distance(at) < t.radius
}

// add adds a link if its begin is still in the range of the table. It may remove other links to stay
// within the limit.
func (t *linkTable) add(l *trace.Link, defs *trace.Definitions) {
	if !t.covers(l.Src.Time) {
		return
	}
	t.set = t.set[:0]
	for _, a := range l.Attrs {
		t.set = append(t.set, attribute{a.Key, valueText(defs, trace.NoRef, a.Value)})
	}
	t.rows = append(t.rows, linkRow{l.Src.Time, l.Dst.Time, l.ID, l.Src.ID, l.Dst.ID, t.setNumber(t.set), l.Src.Kind,
		l.Dst.Kind})
	if len(t.rows)*rowBytes+t.bytes > t.limit {
		t.shrink()
	}
}

// setNumber returns the index in t.sets of a set of attributes. If t.sets does not contain the set yet, setNumber adds
// it.
func (t *linkTable) setNumber(set []attribute) uint32 {
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

// shrink removes the half of the links that begin farthest from center.
func (t *linkTable) shrink() {
	far := make([]uint64, len(t.rows))
	for i := range t.rows {
		far[i] = t.distance(t.rows[i].start)
	}
	slices.Sort(far)
	t.radius = far[len(far)/2]
	t.rows = slices.DeleteFunc(t.rows, func(r linkRow) bool { return !t.covers(r.start) })
	sets := t.sets // the remaining sets get new numbers
	t.sets, t.numbers, t.bytes = nil, map[string]uint32{}, 0
	for i := range t.rows {
		t.rows[i].set = t.setNumber(sets[t.rows[i].set])
	}
}

// compare orders links by start, then by end and id.
func (r *linkRow) compare(start, end, id int64) int {
	return cmp.Or(cmp.Compare(r.start, start), cmp.Compare(r.end, end), cmp.Compare(r.id, id))
}

// finish sorts the table and frees the memory that only add needs.
func (t *linkTable) finish() {
	t.numbers, t.set, t.name = nil, nil, nil
	slices.SortStableFunc(t.rows, func(a, b linkRow) int { return a.compare(b.start, b.end, b.id) })
}

// find returns the first link with the given id, start and end, or nil if there is no such link.
func (t *linkTable) find(id, start, end int64) *dependency {
	i := sort.Search(len(t.rows), func(i int) bool { return t.rows[i].compare(start, end, id) >= 0 })
	if i == len(t.rows) || t.rows[i].compare(start, end, id) != 0 {
		return nil
	}
	r := &t.rows[i]
	return &dependency{dependencyPoint{r.from, r.fromID}, dependencyPoint{r.to, r.toID}, t.sets[r.set]}
}
