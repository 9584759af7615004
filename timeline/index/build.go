package index

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/openset"
	"github.com/weft-trace/weft/internal/pipeline"
	"github.com/weft-trace/weft/timeline/curve"
	"github.com/weft-trace/weft/trace"
)

// Options are the settings of [Build].
type Options struct {
	Workers int // number of cores; 0 is one
	// Color is the name of an attribute: visits and claims are named, coloured and summed up
	// by its value at their begin, instead of by their region. "" is by region.
	Color string
}

// Build reads a trace once and writes its index to a file, which appears whole or not at
// all; what is begun has a name that begins with [Unfinished], and needs twice the room for a
// while. The same trace gives the same bytes. Where spans are named by an attribute, the trace is
// read by one worker.
//
// It holds some 17 bytes for each of the last 4096 spans, instants and values of a track of
// which there may be more (see [format.Ender]), and what is open there; 48 MiB of spans, which
// need not be read again; 40 bytes for each collective operation, some 200 for each pair of
// locations that send to each other, tag and communicator, and a 64th of the ends of messages,
// which go to a temporary file; and the levels of as many tracks as there are workers.
func Build(ctx context.Context, d format.Events, path string, opt Options) error {
	if err := d.Prepare(ctx); err != nil {
		return err
	}
	var files [2]*os.File // the blocks as they come, and the index
	for i := range files {
		f, err := os.CreateTemp(filepath.Dir(path), Unfinished+"*")
		if err != nil {
			return fmt.Errorf("%s: cannot create: %w", path, err)
		}
		files[i] = f
		defer os.Remove(f.Name()) // unless it has its name
		defer f.Close()
	}
	os.Remove(files[0].Name()) // where an open file can be
	b := &builder{file: &file{f: files[0]}, index: files[1], defs: d.Defs(), color: opt.Color, cores: max(1, opt.Workers)}
	// What a crash of the machine leaves unwritten is found by its checksum.
	if err := b.build(ctx, d); err != nil {
		return err
	}
	if err := files[1].Close(); err != nil {
		return err
	}
	return os.Rename(files[1].Name(), path)
}

// Temporary builds an index as [Build] does, and opens it. Closing it removes its file, which is
// in the folder for temporary files.
func Temporary(ctx context.Context, d format.Events, opt Options) (*Index, error) {
	dir, err := os.MkdirTemp("", "weft-index-*")
	if err != nil {
		return nil, fmt.Errorf("cannot make a temporary folder: %w", err)
	}
	path := filepath.Join(dir, "trace.weftidx")
	x, err := (*Index)(nil), Build(ctx, d, path, opt)
	if err == nil {
		x, err = Open(path)
	}
	if err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	x.folder = dir
	return x, nil
}

// Unfinished is how the names of files begin that a build has not finished, or never will
// because it was killed.
const Unfinished = ".weft-index-"

// builder writes the file.
type builder struct {
	file    *file    // the blocks as they come
	index   *os.File // where they go in the end
	defs    *trace.Definitions
	rows    *trace.Rows
	mu      sync.Mutex
	cores   int
	workers []*worker
	made    []*packer // those of the workers first
	names   []string
	nameOf  map[string]uint32
	links   *linkSpool // messages and stored links
	meets   *linkSpool // what threads fork and join
	color   string
	colored bool              // the attribute is there
	values  map[string]uint32 // of the attribute, to their numbers
}

// scan delivers everything to the workers. Values of an attribute are numbered as they come, which
// must not depend on how many workers there are: there is one then.
func (b *builder) scan(ctx context.Context, events format.Events, begin func() func(int) format.Sink) error {
	if b.color != "" {
		return events.Scan(ctx, trace.Everything(), format.PerLocation, begin()(0))
	}
	return events.ScanParallel(ctx, trace.Everything(), begin)
}

func (b *builder) build(ctx context.Context, d format.Events) error {
	err := b.scan(ctx, d, func() func(int) format.Sink {
		b.colored, b.rows = false, trace.NewRows(b.defs)
		b.file.begin()
		b.workers, b.made, b.names, b.nameOf, b.values = nil, nil, nil, map[string]uint32{}, map[string]uint32{}
		b.links.close()
		b.meets.close()
		b.links, b.meets = &linkSpool{}, &linkSpool{}
		return func(int) format.Sink {
			b.mu.Lock()
			defer b.mu.Unlock()
			w := newWorker(b)
			b.workers = append(b.workers, w)
			return w
		}
	})
	defer func() {
		b.links.close()
		b.meets.close()
	}()
	if err != nil {
		return err
	}
	dir := &directory{Version: Version, Clock: b.defs.Clock, Format: b.defs.Format, First: math.MaxInt64, Last: math.MinInt64, Groups: slices.Clone(b.defs.Groups.All())}
	dir.Attrs = b.attributes()
	if b.color != "" {
		if err := b.checkColor(); err != nil {
			return err
		}
		dir.Color, dir.Regions = b.color, make([]Region, len(b.values))
		for v, n := range b.values {
			dir.Regions[n].Name = v
		}
	} else {
		for _, r := range b.defs.Regions.All() {
			dir.Regions = append(dir.Regions, Region{r.Name, r.Group, r.File, r.Line})
		}
	}
	for _, c := range b.defs.Communicator.All() {
		dir.Comms = append(dir.Comms, cmp.Or(c.Name, c.ID))
	}
	if err := b.tracks(ctx, dir); err != nil {
		return err
	}
	dir.Visits, dir.Claims = b.totals()
	for _, w := range b.workers {
		dir.First, dir.Last = min(dir.First, w.first), max(dir.Last, w.last)
	}
	if dir.First > dir.Last {
		dir.First, dir.Last = 0, 0
	}
	if err := b.collectives(dir); err != nil {
		return err
	}
	for _, w := range b.workers {
		if err := cmp.Or(w.links.flush(), w.meets.flush()); err != nil {
			return err
		}
	}
	final := b.sortNames(dir)
	if err := b.writeLinks(ctx, dir, final); err != nil {
		return err
	}
	if err := b.file.arrange(ctx, dir, b.index, b.cores); err != nil {
		return err
	}
	return b.file.finish(dir)
}

// name is the number of a name.
func (b *builder) name(s string) uint32 {
	if s == "" {
		return trace.NoRef
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	n, ok := b.nameOf[s]
	if !ok {
		n = uint32(len(b.names))
		s = strings.Clone(s)
		b.names = append(b.names, s)
		b.nameOf[s] = n
	}
	return n
}

// sortNames makes the order of the names that of the alphabet, and returns their numbers
// there: those that they got when they came first depend on what other workers did.
func (b *builder) sortNames(dir *directory) (final []uint32) {
	if b.meets.count > 0 {
		for k := range meetNames {
			b.name(meetKind(k).String())
		}
	}
	dir.Names = slices.Sorted(maps.Keys(b.nameOf))
	final = make([]uint32, len(b.names))
	for i, s := range dir.Names {
		final[b.nameOf[s]] = uint32(i)
		b.nameOf[s] = uint32(i)
	}
	for _, e := range dir.Tracks {
		for i, n := range e.names {
			e.names[i] = final[n]
		}
	}
	return final
}

// packers are those of the workers, which have read all, and as many more as there are to be.
func (b *builder) packers(n int) []*packer {
	for len(b.made) < n {
		b.packer()
	}
	return b.made[:n]
}

// packer is a new one.
func (b *builder) packer() *packer {
	p := newPacker(b.file)
	p.levels.most = keptBlocks / b.cores
	b.made = append(b.made, p)
	return p
}

// tracks ends all tracks and makes their levels, several at a time.
func (b *builder) tracks(ctx context.Context, dir *directory) error {
	var jobs []*ending
	for _, w := range b.workers {
		for _, l := range w.locations {
			if l != nil {
				jobs = append(jobs, &ending{index: l.index, location: l})
			}
		}
		for i := range w.ended {
			jobs = append(jobs, &w.ended[i])
		}
	}
	slices.SortFunc(jobs, func(a, b *ending) int { return cmp.Compare(a.index, b.index) })
	enders := b.packers(b.cores)
	defer func() {
		for _, p := range b.made {
			p.levels = levelMaker{}
		}
	}()
	next := 0
	return pipeline.Run(ctx, b.cores, func() (*ending, bool, error) {
		if next == len(jobs) {
			return nil, false, nil
		}
		next++
		return jobs[next-1], true, nil
	}, func(w int, x *ending) (list []*trackEntry, err error) {
		if x.location == nil {
			return x.tracks, nil
		}
		list, err = x.location.end(enders[w], b.defs)
		x.location = nil // its memory is not needed any longer
		return list, err
	}, func(list []*trackEntry) error {
		parent := -1
		for i, e := range list {
			e.Parent = parent
			// Times of what is no event are the workers'.
			if l := list[0]; l.Events > 0 {
				dir.First, dir.Last = min(dir.First, l.First), max(dir.Last, e.Last)
			}
			if i == 0 {
				dir.Events += e.Events
				if e.Kind == LocationTrack {
					parent = len(dir.Tracks)
				}
			}
			dir.Tracks = append(dir.Tracks, e)
		}
		return nil
	})
}

// ending is a location that has no more events: with its tracks, or still to be ended.
type ending struct {
	index    uint32
	location *location
	tracks   []*trackEntry
}

// worker takes the batches of some locations.
type worker struct {
	*packer
	b         *builder
	locations []*location
	ended     []ending
	spare     *location    // the memory of one that has ended
	tracks    []*spanTrack // and of tracks
	regions   []uint32     // the row of each region that is known to be defined
	isColor   []bool       // of each attribute: it is the one that spans are named by
	attrs     []bool       // of each attribute: visits or claims have it
	links     endWriter
	meets     endWriter
	coll      collector
	like      *spanTrack // the latest one
	deep      int        // how many regions were open at most
	first     int64      // times of markers and states
	last      int64
}

func newWorker(b *builder) *worker {
	w := &worker{packer: b.packer(), b: b, first: math.MaxInt64, last: math.MinInt64}
	w.links.spool, w.meets.spool = b.links, b.meets
	return w
}

// End ends a location: its tracks are made while its last spans are in the cache, and its
// memory is for the next one.
func (w *worker) End(n uint32) error {
	if int(n) >= len(w.locations) || w.locations[n] == nil {
		return nil
	}
	l := w.locations[n]
	w.locations[n] = nil
	list, err := l.end(w.packer, w.b.defs)
	w.ended = append(w.ended, ending{index: n, tracks: list})
	if l.visits != nil {
		w.tracks = append(w.tracks, l.visits)
	}
	for _, r := range l.resources {
		w.tracks = append(w.tracks, r.spans)
	}
	clear(l.opened)
	*l = location{stack: l.stack[:0], opened: l.opened}
	w.spare = l
	return err
}

// Batch takes the rows of a batch.
func (w *worker) Batch(b *trace.Batch) error {
	for i, key := range b.AttrKey {
		if k := b.Kind[b.AttrRow[i]]; k == trace.Enter || k == trace.ClaimBegin {
			for int(key) >= len(w.attrs) {
				w.attrs = append(w.attrs, false)
			}
			w.attrs[key] = true
		}
	}
	if b.Loc == trace.MixedLoc || len(b.OpRow) > 0 || w.b.color != "" {
		return w.rows(b, 0)
	}
	l := w.location(b.Loc)
	kinds, refs := b.Kind[:len(b.Time)], b.Ref[:len(b.Time)]
	for i, at := range b.Time {
		var err error
		switch kinds[i] {
		case trace.Enter:
			l.event(at)
			w.enter(l, at, refs[i], refs[i])
		case trace.Leave:
			l.event(at)
			err = w.leave(l, at, refs[i])
		default:
			return w.rows(b, i)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// rows takes the rows from number from on, of any kind and several locations.
func (w *worker) rows(b *trace.Batch, from int) error {
	l, at := (*location)(nil), trace.MixedLoc
	c := b.Cursor()
	for c.Next() {
		if c.Row < from {
			continue
		}
		if n := c.Location(); l == nil || n != at {
			l, at = w.location(n), n
		}
		var err error
		switch c.Kind() {
		case trace.Enter:
			l.event(c.Time())
			w.enter(l, c.Time(), c.Ref(), w.key(&c))
		case trace.Leave:
			l.event(c.Time())
			err = w.leave(l, c.Time(), c.Ref())
		default:
			err = w.other(l, &c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// other takes what is neither an enter nor a leave.
func (w *worker) other(l *location, c *trace.Cursor) error {
	k, t := c.Kind(), c.Time()
	if !k.IsEvent() {
		w.first, w.last = min(w.first, t), max(w.last, t)
		if k == trace.Marker {
			return w.instant(l, c)
		}
		return nil
	}
	l.event(t)
	switch k {
	case trace.ClaimBegin:
		return w.claim(l, c)
	case trace.ClaimEnd:
		return w.release(l, t, int64(c.Op(0)))
	case trace.Fragment, trace.Metric, trace.SampleRange:
		return w.value(l, c)
	case trace.Mark, trace.Comment, trace.Generic, trace.Gap, trace.BufferFlush, trace.MeasurementOnOff:
		return w.instant(l, c)
	case trace.CollectiveBegin:
		l.coll.begin(c)
	case trace.ThreadFork, trace.ThreadJoin, trace.ThreadTeamBegin, trace.ThreadTeamEnd, trace.ThreadCreate, trace.ThreadBegin, trace.ThreadWait, trace.ThreadEnd:
		return w.thread(l, c)
	case trace.CollectiveEnd, trace.CollectiveComplete, trace.Collective:
		w.collective(l, c)
	default:
		if k.IsSend() || k.IsRecv() {
			return w.links.message(l, c)
		}
	}
	return nil
}

// location is what is known of a location while it is read.
type location struct {
	index       uint32
	first, last int64
	events      int64
	visits      *spanTrack
	instants    *instantWriter
	stack       []open
	among       openset.Index[uint32] // the regions of these, which leaves name
	opened      []uint32              // how often each region is open, by index and one
	keys        map[uint32]int32      // how often each name is, if these are no regions
	since       int64                 // the innermost region has its exclusive time up to here
	claims      map[int64]*openClaim
	resources   []*resource
	series      []*series
	seriesOf    map[uint32]*series
	coll        openCollectives
	threads     threads
	channels    channels // of its messages
}

func (w *worker) location(n uint32) *location {
	for int(n) >= len(w.locations) {
		w.locations = append(w.locations, nil)
	}
	l := w.locations[n]
	if l == nil && w.spare != nil {
		l, w.spare = w.spare, nil
		l.index = n
		w.locations[n] = l
	}
	if l == nil {
		w.region(0)
		deep := max(8, min(w.deep, 256))
		l = &location{index: n, stack: make([]open, 0, deep), opened: make([]uint32, min(len(w.regions)+1, 256))}
		w.locations[n] = l
	}
	return l
}

// spans is a new track.
func (w *worker) spans(kind TrackKind) *spanTrack {
	if n := len(w.tracks) - 1; n >= 0 {
		t := w.tracks[n]
		w.tracks = w.tracks[:n]
		t.begin(kind)
		return t
	}
	w.like = newSpanTrack(kind, w.like)
	return w.like
}

// event counts an event.
func (l *location) event(t int64) {
	if l.events == 0 {
		l.first = t
	}
	l.events++
	l.last = t
}

// region is the number of a region, that of the first one where several count as one, NoRef for one that is
// not defined.
func (w *worker) region(ref uint32) uint32 {
	if int(ref) >= len(w.regions) {
		for n := w.b.defs.Regions.Len(); len(w.regions) < n; {
			w.regions = append(w.regions, w.b.rows.Of(uint32(len(w.regions))))
		}
		if int(ref) >= len(w.regions) {
			return trace.NoRef
		}
	}
	return w.regions[ref]
}

// enter opens a region, which is named by a key.
func (w *worker) enter(l *location, at int64, ref, key uint32) {
	ref = w.region(ref)
	if w.b.color == "" {
		key = ref
	}
	level := uint32(0)
	if n := len(l.stack); n > 0 {
		top := &l.stack[n-1]
		top.exclusive += at - l.since
		level = top.level + 1
	}
	l.since = at
	for int(ref+1) >= len(l.opened) {
		l.opened = append(l.opened, 0)
	}
	n := &l.opened[ref+1]
	recursive := *n > 0
	*n++
	if w.b.color != "" {
		recursive = l.named(key, 1) > 1
	}
	w.deep = max(w.deep, len(l.stack)+1)
	l.among.Open(ref, len(l.stack))
	l.stack = append(l.stack, open{at, 0, key, ref, level, math.MaxUint8, recursive})
}

// named counts what is open under a name.
func (l *location) named(key uint32, n int32) int32 {
	if l.keys == nil {
		l.keys = map[uint32]int32{}
	}
	l.keys[key] += n
	return l.keys[key]
}

func (w *worker) leave(l *location, at int64, ref uint32) error {
	ref = w.region(ref)
	if int(ref+1) >= len(l.opened) || l.opened[ref+1] == 0 {
		return nil // of what was never entered
	}
	i := len(l.stack) - 1
	if l.stack[i].match != ref {
		i = l.find(ref)
	}
	return w.close(l, i, at)
}

// find is the latest open visit of a region.
func (l *location) find(ref uint32) int {
	return l.among.Find(ref, len(l.stack), func(i int) uint32 { return l.stack[i].match })
}

// close ends an open region.
func (w *worker) close(l *location, i int, at int64) error {
	if l.visits == nil {
		l.visits = w.spans(LocationTrack)
	}
	return l.close(w.packer, i, at)
}

func (l *location) close(p *packer, i int, at int64) error {
	l.stack[len(l.stack)-1].exclusive += at - l.since
	l.since = at
	o := l.stack[i]
	if n := len(l.stack) - 1; i == n && !l.among.Mapped() {
		l.stack = l.stack[:n]
	} else {
		l.stack = openset.Close(&l.among, l.stack, i, o.match)
	}
	l.opened[o.match+1]--
	if l.keys != nil {
		l.named(o.region, -1)
	}
	if !l.visits.add(&o, at, len(l.stack)) {
		return nil
	}
	return l.visits.full(p, l.unclosed())
}

// unclosed is what is open.
func (l *location) unclosed() []open {
	if !l.among.Mapped() {
		return l.stack
	}
	var list []open
	for i := range l.stack {
		if !l.among.Gap(i) {
			list = append(list, l.stack[i])
		}
	}
	return list
}

// instant takes an event without length.
func (w *worker) instant(l *location, c *trace.Cursor) error {
	if l.instants == nil {
		l.instants = &instantWriter{}
	}
	if l.visits == nil {
		l.visits = w.spans(LocationTrack)
	}
	x := instant{time: c.Time(), kind: c.Kind(), name: trace.NoRef}
	ref, d := int(c.Ref()), w.b.defs
	switch d.Spec(x.kind).Ref {
	case trace.RefRegion:
		x.name = w.region(c.Ref())
		if w.b.color != "" && x.name != trace.NoRef {
			x.named, x.name = true, w.b.name(d.Regions.At(x.name).Name)
		}
	case trace.RefMarker:
		if x.named = true; ref < d.Markers.Len() {
			x.name = w.b.name(cmp.Or(d.Markers.At(uint32(ref)).Name, d.Markers.At(uint32(ref)).ID))
		}
	case trace.RefString:
		if x.named = true; ref < d.Strings.Len() {
			x.name = w.b.name(*d.Strings.At(uint32(ref)))
		}
	}
	if x.named && x.name != trace.NoRef {
		x.name = l.instants.local(x.name, l.visits.entry)
	}
	return l.instants.add(w.packer, l.visits.entry, x)
}

// series is a counter of a location.
type series struct {
	metric uint32
	last   int64 // to which its values reach
	entry  trackEntry
	w      valueWriter
	piece  *piece // the latest one of a signal, which ends where the next one begins at the latest
}

// fragment takes a piece of a signal, nil for the end.
func (s *series) fragment(p *packer, next *piece) (err error) {
	if x := s.piece; x != nil {
		if next != nil {
			x.end = min(x.end, next.time)
		}
		err = s.w.add(p, &s.entry, *x)
	}
	s.piece = next
	return err
}

// value takes a value of a counter or signal.
func (w *worker) value(l *location, c *trace.Cursor) error {
	ref, d := c.Ref(), w.b.defs
	if !d.Metrics.Has(ref) || len(c.Ops()) == 0 {
		return nil
	}
	m := d.Metrics.At(ref)
	s := l.seriesOf[ref]
	if s == nil {
		s = &series{metric: ref, last: math.MinInt64}
		switch {
		case c.Kind() == trace.Fragment:
			s.w.style = curve.Smooth
		case c.Kind() == trace.SampleRange || m.Kind == trace.SeriesMetric:
			s.w.style = curve.Points
		default:
			s.w.style = curve.Steps
		}
		if l.seriesOf == nil {
			l.seriesOf = map[uint32]*series{}
		}
		l.seriesOf[ref] = s
		l.series = append(l.series, s)
	}
	s.last = max(s.last, c.Time())
	ops := c.Ops()
	add := func(x piece) error {
		if x.a-x.a != 0 || x.b-x.b != 0 || x.c-x.c != 0 {
			return nil // no number, or without end
		}
		if s.w.style == curve.Smooth {
			return s.fragment(w.packer, &x)
		}
		return s.w.add(w.packer, &s.entry, x)
	}
	switch c.Kind() {
	case trace.Fragment:
		f := func(i int) float64 {
			if i >= len(ops) {
				return 0
			}
			return math.Float64frombits(ops[i])
		}
		end := max(int64(ops[0]), c.Time())
		s.last = max(s.last, end)
		if s.w.style != curve.Smooth {
			return add(piece{time: c.Time(), a: f(1)})
		}
		return add(piece{c.Time(), end, f(1), f(2), f(3)})
	case trace.Metric:
		x := piece{time: c.Time(), end: c.Time(), a: trace.Value{Num: ops[0], Type: m.Type}.Float()}
		return add(x)
	}
	from, to := c.Time(), max(c.Time(), int64(ops[0]))
	s.last = max(s.last, to)
	for i, v := range ops[1:] {
		at := from
		if last := len(ops) - 2; i > 0 {
			at = int64(uint64(from) + uint64(float64(uint64(to)-uint64(from))*float64(i)/float64(last)))
		}
		if err := add(piece{time: at, end: at, a: math.Float64frombits(v)}); err != nil {
			return err
		}
	}
	return nil
}

// end closes what is open at the last event of a location, and makes its tracks.
func (l *location) end(p *packer, d *trace.Definitions) (out []*trackEntry, err error) {
	def := d.Locations.At(l.index)
	describe := func(e *trackEntry, kind TrackKind) {
		e.Kind, e.Location, e.Group = kind, l.index, def.Group
		e.First, e.Last = l.first, l.last
		out = append(out, e)
	}
	if l.events == 0 && l.instants != nil {
		l.first, l.last = l.instants.lowest, l.instants.highest // nothing but markers
	}
	for len(l.stack) > 0 {
		if l.visits == nil {
			l.visits = newSpanTrack(LocationTrack, nil)
		}
		if err := l.close(p, len(l.stack)-1, l.last); err != nil {
			return nil, err
		}
	}
	// What is a location itself has no row beside that of its claims or values.
	itself := def.Kind == trace.ResourceLocation || def.Kind == trace.SignalLocation || def.Kind == trace.ValueLocation
	if l.visits == nil && (!itself || len(l.resources)+len(l.series) == 0) {
		l.visits = newSpanTrack(LocationTrack, nil)
	}
	// Claims and instants with the same value of an attribute share a row.
	shared := def.Kind == trace.ValueLocation && len(l.resources) > 0 && l.visits != nil
	if shared {
		e := l.resources[0].spans.entry
		e.names, e.instants, e.Instants = l.visits.entry.names, l.visits.entry.instants, l.visits.entry.Instants
	}
	if l.visits != nil && !shared {
		e := l.visits.entry
		describe(e, LocationTrack)
		e.ID, e.Name, e.Sort = def.ID, def.Name, string(def.Kind)
		if err := l.visits.end(p); err != nil {
			return nil, err
		}
		if l.instants != nil {
			if err := l.instants.end(p, e); err != nil {
				return nil, err
			}
		}
	}
	if err := l.closeClaims(p); err != nil {
		return nil, err
	}
	for _, r := range l.resources {
		describe(r.spans.entry, ResourceTrack)
		r.describe(d, def)
		if err := r.spans.end(p); err != nil {
			return nil, err
		}
		if shared {
			if err := l.instants.end(p, r.spans.entry); err != nil {
				return nil, err
			}
			shared = false // with the first ones
		}
		if err := r.held.end(p, r.spans.entry); err != nil {
			return nil, err
		}
	}
	for _, s := range l.series {
		describe(&s.entry, CounterTrack)
		m := d.Metrics.At(s.metric)
		e := &s.entry
		e.Last = max(e.Last, s.last)
		e.ID, e.Name, e.Sort, e.Unit, e.Style, e.MetricUnit = m.ID, m.Name, m.Mode, m.Unit, styleName(s.w.style), d.Clock.UnitTicks()
		if err := cmp.Or(s.fragment(p, nil), s.w.end(p, e)); err != nil {
			return nil, err
		}
	}
	if len(out) > 0 {
		out[0].Events = l.events
	}
	return out, nil
}

// Links takes stored links.
func (w *worker) Links(list []trace.Link) error { return w.links.stored(w.b, list) }
