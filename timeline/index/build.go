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
	"github.com/weft-trace/weft/internal/pipeline"
	"github.com/weft-trace/weft/trace"
)

// Options holds the settings of [Build].
type Options struct {
	Workers int // number of cores; 0 means 1
	// Color is the name of an attribute. If it is set, visits and claims are named, coloured and summed up by
	// the value of this attribute, instead of by their region. The value is taken at the begin of the visit or
	// claim.
	Color string
	// Label is the name of an attribute. If it is set, the value of this attribute names visits and claims.
	// Visits and claims without the attribute are named by their region. If Label is set, names with different
	// groups count as different regions. The group is the value of the attribute Color or, if Color is not
	// set, the region.
	Label string
	// LastEvent returns a time up to which the visits and claims of a location count that are never left, if it is
	// later than the last event. Visits of a trace without some of its events last as long as in the whole trace.
	// LastEvent may be nil.
	LastEvent func(location uint32) int64
}

// Build reads a trace once and writes its index to a file. The file appears only when it is complete; until
// then there are temporary files whose names begin with [Unfinished], which take up to twice the space of the
// index. The same trace always results in the same bytes. If spans are named by an attribute, only one worker
// reads the trace.
//
// Build holds about 17 bytes for each of the last 4096 spans, instants and values of each track that may
// continue (see [format.Ender]), and the open spans of these tracks; 48 MiB of spans, which it then does not
// need to read again; 40 bytes for each collective operation; about 200 bytes for each combination of sender,
// receiver, tag and communicator; a 64th of the ends of messages, which are stored in a temporary file; and
// the levels of as many tracks as there are workers.
func Build(ctx context.Context, d format.Events, path string, opt Options) error {
	if err := d.Prepare(ctx); err != nil {
		return err
	}
	var files [2]*os.File // a file for the blocks in the order in which they are written, and the file of the index
	for i := range files {
		f, err := os.CreateTemp(filepath.Dir(path), Unfinished+"*")
		if err != nil {
			return fmt.Errorf("%s: cannot create: %w", path, err)
		}
		files[i] = f
		defer os.Remove(f.Name()) // has no effect after the file has been renamed
		defer f.Close()
	}
	os.Remove(files[0].Name()) // removes the name of the open file, on systems that allow it
	b := &builder{file: &file{f: files[0]}, index: files[1], defs: d.Defs(), color: opt.Color, label: opt.Label,
		lastEvent: opt.LastEvent, cores: max(1, opt.Workers)}
	// The file is not synced. If blocks are lost in a crash of the machine, their checksums show this.
	if err := b.build(ctx, d); err != nil {
		return err
	}
	if err := files[1].Close(); err != nil {
		return err
	}
	return os.Rename(files[1].Name(), path)
}

// BuildTemporary builds an index as [Build] does, and opens it. The index file is in the folder for
// temporary files; closing the index removes it.
func BuildTemporary(ctx context.Context, d format.Events, opt Options) (*Index, error) {
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

// Unfinished is the prefix of the names of files that a build is writing, or that a build has left behind
// because it was killed.
const Unfinished = ".weft-index-"

// builder collects the content of an index and writes the index file.
type builder struct {
	file       *file    // the blocks in the order in which they are written
	index      *os.File // the index file
	defs       *trace.Definitions
	rows       *trace.Rows
	mu         sync.Mutex
	cores      int
	workers    []*worker
	allPackers []*packer // all packers, beginning with the packers of the workers
	names      []string
	nameOf     map[string]uint32
	links      *linkSpool // messages and stored links
	meetings   *linkSpool // the sides of meetings, in which threads fork, join, create or wait for other threads
	color      string
	label      string
	lastEvent  func(location uint32) int64 // see Options
	colored    bool                        // the attribute that names the spans occurs in the trace
	values     map[spanName]uint32         // numbers of the names
}

// scan delivers all events to the workers. The values of an attribute are numbered in the order of their first
// occurrence. If there is such an attribute, scan uses only one worker, so that the order is always the same.
func (b *builder) scan(ctx context.Context, events format.Events, begin func() func(int) format.Sink) error {
	if b.renames() {
		return events.Scan(ctx, trace.Everything(), format.PerLocation, begin()(0))
	}
	return events.ScanParallel(ctx, trace.Everything(), begin)
}

// build reads the events and fills the index file: first the blocks, then the directory.
func (b *builder) build(ctx context.Context, d format.Events) error {
	err := b.scan(ctx, d, func() func(int) format.Sink {
		b.colored, b.rows = false, trace.NewRows(b.defs)
		b.file.begin()
		b.workers, b.allPackers, b.names, b.nameOf, b.values = nil, nil, nil, map[string]uint32{}, map[spanName]uint32{}
		b.links.close()
		b.meetings.close()
		b.links, b.meetings = &linkSpool{}, &linkSpool{}
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
		b.meetings.close()
	}()
	if err != nil {
		return err
	}
	dir := &directory{Version: Version, Clock: b.defs.Clock, Format: b.defs.Format, First: math.MaxInt64,
		Last: math.MinInt64, Groups: slices.Clone(b.defs.Groups.All())}
	dir.Attrs = b.attributes()
	if b.renames() {
		if err := b.checkColor(); err != nil {
			return err
		}
		dir.Color, dir.Regions = b.color, make([]Region, len(b.values))
		for v, n := range b.values {
			dir.Regions[n] = Region{Name: v.name, Group: v.group}
		}
	} else {
		for _, r := range b.defs.Regions.All() {
			dir.Regions = append(dir.Regions, Region{r.Name, r.Group, r.File, r.Line})
		}
	}
	for _, c := range b.defs.Communicator.All() {
		dir.Comms = append(dir.Comms, cmp.Or(c.Name, c.ID))
	}
	if err := b.endTracks(ctx, dir); err != nil {
		return err
	}
	dir.Visits, dir.Claims = b.totals()
	for _, w := range b.workers {
		dir.First, dir.Last = min(dir.First, w.first), max(dir.Last, w.last)
		dir.Others += w.others
	}
	if dir.First > dir.Last {
		dir.First, dir.Last = 0, 0
	}
	if err := b.writeCollectives(dir); err != nil {
		return err
	}
	for _, w := range b.workers {
		if err := cmp.Or(w.links.flush(), w.meetings.flush()); err != nil {
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

// name returns the number of a name.
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

// sortNames sorts the names alphabetically, because their order so far depends on the timing of the workers.
// It returns the new number of each name, by the old number.
func (b *builder) sortNames(dir *directory) (final []uint32) {
	if b.meetings.count > 0 {
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

// packers returns n packers. The first of these were used by the workers, which no longer need them. packers
// creates more packers if necessary.
func (b *builder) packers(n int) []*packer {
	for len(b.allPackers) < n {
		b.packer()
	}
	return b.allPackers[:n]
}

// packer returns a new packer and adds it to b.allPackers.
func (b *builder) packer() *packer {
	p := newPacker(b.file)
	p.levels.most = keptBlocks / b.cores
	b.allPackers = append(b.allPackers, p)
	return p
}

// endTracks ends all tracks and writes their levels, several tracks at a time.
func (b *builder) endTracks(ctx context.Context, dir *directory) error {
	var jobs []*endedLocation
	for _, w := range b.workers {
		for _, l := range w.locations {
			if l == nil {
				continue
			}
			if err := w.links.putAll(l, l.receives.Flush()); err != nil {
				return err
			}
			jobs = append(jobs, &endedLocation{index: l.index, location: l})
		}
		for i := range w.ended {
			jobs = append(jobs, &w.ended[i])
		}
	}
	slices.SortFunc(jobs, func(a, b *endedLocation) int { return cmp.Compare(a.index, b.index) })
	enders := b.packers(b.cores)
	defer func() {
		for _, p := range b.allPackers {
			p.levels = levelMaker{}
		}
	}()
	next := 0
	return pipeline.Run(ctx, b.cores, func() (*endedLocation, bool, error) {
		if next == len(jobs) {
			return nil, false, nil
		}
		next++
		return jobs[next-1], true, nil
	}, func(w int, x *endedLocation) (list []*trackEntry, err error) {
		if x.location == nil {
			return x.tracks, nil
		}
		list, err = b.end(x.location, enders[w])
		x.location = nil // allows the garbage collector to free the memory
		return list, err
	}, func(list []*trackEntry) error {
		parent := -1
		for i, e := range list {
			e.Parent = parent
			// The workers hold the times of markers and states, which no track includes.
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

// endedLocation is a location that has no further events. If its tracks are complete, they are in
// tracks. Otherwise location holds its state.
type endedLocation struct {
	index    uint32
	location *location
	tracks   []*trackEntry
}

// worker receives the batches of some locations.
type worker struct {
	*packer
	b            *builder
	locations    []*location
	ended        []endedLocation
	freeLocation *location    // an ended location, for reuse
	freeTracks   []*spanTrack // ended tracks, for reuse
	// indexed by region: the number of the region after regions with equal names have been merged
	regions     []uint32
	isColor     []bool // whether the values of an attribute take the place of regions; indexed by attribute
	isLabel     []bool // whether an attribute names the spans; indexed by attribute
	attrs       []bool // whether the begin of a visit or claim has an attribute; indexed by attribute
	links       endWriter
	meetings    endWriter
	collectives collector
	latestTrack *spanTrack // the last new track; its buffer sizes are used for the next track
	maxDepth    int        // largest number of open regions so far
	first       int64      // times of the first and the last marker or state
	last        int64
	others      int64 // number of markers and states
}

func newWorker(b *builder) *worker {
	w := &worker{packer: b.packer(), b: b, first: math.MaxInt64, last: math.MinInt64}
	w.links.spool, w.meetings.spool = b.links, b.meetings
	return w
}

// end completes the tracks of a location.
func (b *builder) end(l *location, p *packer) ([]*trackEntry, error) {
	if b.lastEvent != nil && len(l.stack)+len(l.claims) > 0 {
		l.last = max(l.last, b.lastEvent(l.index))
	}
	return l.end(p, b.defs)
}

// End completes the tracks of location n and reuses its memory for the next location. It is called
// right after the last event, while the location's spans are still in the processor's cache.
func (w *worker) End(n uint32) error {
	if int(n) >= len(w.locations) || w.locations[n] == nil {
		return nil
	}
	l := w.locations[n]
	w.locations[n] = nil
	list, err := w.b.end(l, w.packer)
	err = cmp.Or(err, w.links.putAll(l, l.receives.Flush()))
	w.ended = append(w.ended, endedLocation{index: n, tracks: list})
	if l.visits != nil {
		w.freeTracks = append(w.freeTracks, l.visits)
	}
	for _, r := range l.resources {
		w.freeTracks = append(w.freeTracks, r.spans)
	}
	clear(l.opened)
	*l = location{stack: l.stack[:0], opened: l.opened}
	w.freeLocation = l
	return err
}

// Batch handles the rows of a batch.
func (w *worker) Batch(b *trace.Batch) error {
	for i, key := range b.AttrKey {
		if k := b.Kind[b.AttrRow[i]]; k == trace.Enter || k == trace.ClaimBegin {
			for int(key) >= len(w.attrs) {
				w.attrs = append(w.attrs, false)
			}
			w.attrs[key] = true
		}
	}
	for _, row := range b.Derived {
		if b.Kind[row].IsEvent() {
			w.location(b.Location(int(row))).further++
		}
	}
	if b.Loc == trace.MixedLoc || len(b.OpRow) > 0 || w.b.renames() {
		return w.processRows(b, 0)
	}
	l := w.location(b.Loc)
	kinds, refs := b.Kind[:len(b.Time)], b.Ref[:len(b.Time)]
	for i, at := range b.Time {
		var err error
		switch kinds[i] {
		case trace.Enter:
			l.countEvent(at)
			w.enter(l, at, refs[i], refs[i])
		case trace.Leave:
			l.countEvent(at)
			err = w.leave(l, at, refs[i])
		default:
			return w.processRows(b, i)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// processRows handles the rows of b from row from on. They may be of any kinds and locations.
func (w *worker) processRows(b *trace.Batch, from int) error {
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
			l.countEvent(c.Time())
			w.enter(l, c.Time(), c.Ref(), w.nameKey(&c))
		case trace.Leave:
			l.countEvent(c.Time())
			err = w.leave(l, c.Time(), c.Ref())
		default:
			err = w.processOther(l, &c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// processOther handles all kinds except enter and leave.
func (w *worker) processOther(l *location, c *trace.Cursor) error {
	k, t := c.Kind(), c.Time()
	if !k.IsEvent() {
		w.first, w.last = min(w.first, t), max(w.last, t)
		if !c.Derived() {
			w.others++
		}
		if k == trace.Marker {
			return w.addInstant(l, c)
		}
		return nil
	}
	l.countEvent(t)
	if ops := c.Ops(); k == trace.Metric && len(ops) > 1 && ops[1] != 0 && !c.Derived() {
		l.further++
	}
	switch k {
	case trace.ClaimBegin:
		return w.beginClaim(l, c)
	case trace.ClaimEnd:
		return w.release(l, t, w.b.defs.ClaimID(c))
	case trace.Fragment, trace.Metric, trace.SampleRange:
		return w.addValue(l, c)
	case trace.Mark, trace.Comment, trace.Generic, trace.Gap, trace.BufferFlush, trace.MeasurementOnOff:
		return w.addInstant(l, c)
	case trace.CollectiveBegin:
		l.collectives.begin(c)
	case trace.ThreadFork, trace.ThreadJoin, trace.ThreadTeamBegin, trace.ThreadTeamEnd, trace.ThreadCreate,
		trace.ThreadBegin, trace.ThreadWait, trace.ThreadEnd:
		return w.processThread(l, c)
	case trace.CollectiveEnd, trace.CollectiveComplete, trace.Collective:
		w.processCollective(l, c)
	case trace.RecvBegin, trace.SendComplete, trace.RequestCancelled:
		return w.links.processRequest(l, c)
	default:
		if k.IsSend() || k.IsRecv() {
			return w.links.processMessage(l, c)
		}
	}
	return nil
}

// Links passes the stored links of the trace to the spool.
func (w *worker) Links(list []trace.Link) error { return w.links.addStored(w.b, list) }
