package otf

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/pipeline"
	"github.com/weft-trace/weft/trace"
)

// TimeRange is when the events of a trace are.
type TimeRange struct {
	First, Last    uint64 // ticks, both inclusive
	TicksPerSecond uint64
}

// AugmentOptions are the settings of [Augment].
type AugmentOptions struct {
	// Read says how defects are treated, where they go and who is told of the
	// progress; nil is lenient.
	Read *format.ReadOptions
	// Snapshots and Summaries say what is written or removed; neither means both.
	Snapshots, Summaries bool
	// Points chooses the break points for a trace with events in r: times in ticks,
	// in any order; nil is Regular(200).
	Points func(r TimeRange) ([]uint64, error)
	// Remove takes snapshots and summaries out of the trace instead.
	Remove bool
	// Output is the master file of a copy that is made instead of changing the trace.
	Output string
	// Guard is called for each existing file that the copy would replace or remove. Its error
	// ends Augment, and all files stay. Nil allows everything.
	Guard func(path string) error
	// Written is called with the names of the copy's files when they are complete; it may be nil.
	Written func(names []string)
}

// ErrSameTrace is that the copy that [Augment] is to make is the trace itself.
var ErrSameTrace = errors.New("the trace itself")

// ErrNoEvents is that a trace has nothing that [Augment] could begin with.
var ErrNoEvents = errors.New("found no events, expected some")

// maxPoints bounds the break points, which are held in memory.
const maxPoints = 1 << 20

// DefaultPoints is the number of break points that otfaux makes.
const DefaultPoints = 200

// Regular chooses the break points that divide the events' times in n equal parts, n
// from 1 to 2^20. It rounds as otfaux does; a short range has fewer break points.
func Regular(n int) func(TimeRange) ([]uint64, error) {
	return func(r TimeRange) ([]uint64, error) {
		if n < 1 || n > maxPoints {
			return nil, fmt.Errorf("found %d break points, expected 1 to %d", n, maxPoints)
		}
		var points []uint64
		for i := uint64(1); i < uint64(n); i++ {
			// The range ends behind the last tick.
			hi, lo := bits.Mul64(i, r.Last-r.First)
			lo, carry := bits.Add64(lo, i, 0)
			q, _ := bits.Div64(hi+carry, lo, uint64(n))
			if q > 0 {
				points = append(points, r.First+q)
			}
		}
		return points, nil
	}
}

// Every chooses a break point each d ticks, the first d ticks after the first event.
// d is at least 1, and large enough to make at most 2^20 break points.
func Every(d uint64) func(TimeRange) ([]uint64, error) {
	return func(r TimeRange) ([]uint64, error) {
		if d == 0 {
			return nil, errors.New("found break points every 0 ticks, expected at least 1")
		}
		n := (r.Last - r.First) / d
		if n > maxPoints {
			return nil, fmt.Errorf("found %d break points, expected at most %d", n, maxPoints)
		}
		points := make([]uint64, n)
		for i := range points {
			points[i] = r.First + uint64(i+1)*d
		}
		return points, nil
	}
}

// Augment adds snapshots and summaries to a trace, whose master file is path (the name
// may lack ".otf"), or takes them out. At each break point there is a snapshot of every
// process that has something going on, and a summary of every process that has done
// anything; one more summary is behind the last event. What the trace has of them is
// replaced, but in streams without events, where it cannot be made anew; a trace without
// any is [ErrNoEvents]. The global definitions are given the time range of the events, if
// theirs is not as wide, and a DefAuxSamplePoint for each break point in place of those
// of the same kind. All else stays as it is, byte for byte. The files are compressed
// where the events of the stream are.
//
// The events must be in the order of time; where they are not the error is a
// [trace.Defect]. The trace is read twice and never held: memory grows with what is open
// at once, with the functions, counters and files of the processes, and with the number
// of break points. Without snapshots each stream is replayed for itself, on several
// cores. New files appear under their names when all are written; after an error of
// reading or writing, or when ctx ends, the trace is as it was.
func Augment(ctx context.Context, path string, opt *AugmentOptions) (err error) {
	a := &augmenter{ctx: ctx, seen: map[uint32]bool{}}
	if opt != nil {
		a.opt = *opt
	}
	if !a.opt.Snapshots && !a.opt.Summaries {
		a.opt.Snapshots, a.opt.Summaries = true, true
	}
	if a.opt.Points == nil {
		a.opt.Points = Regular(DefaultPoints)
	}
	if a.opt.Read == nil {
		a.opt.Read = &format.ReadOptions{}
	}
	path = strings.TrimSuffix(path, ".otf") + ".otf"
	a.src = format.FileSource(path)
	files, err := FewFiles(a.opt.Read.Values)
	if err != nil {
		return err
	}
	a.read = Options{Read: a.opt.Read, Files: files, OneByOne: !a.opt.Snapshots}
	if a.r, err = Open(ctx, a.src, &a.read); err != nil {
		return err
	}
	if err := a.prepare(path); err != nil {
		return err
	}
	defer func() {
		if e := os.RemoveAll(a.temp); err == nil {
			err = e
		}
	}()
	if err := a.define(); err != nil {
		return err
	}
	if !a.opt.Remove {
		if err := a.look(); err != nil {
			return err
		}
		if err := a.replay(); err != nil {
			return err
		}
	}
	if err := a.definitions(); err != nil {
		return err
	}
	if a.opt.Output != "" {
		if err := a.copy(); err != nil {
			return err
		}
	}
	return a.commit()
}

// The kinds of sample points (DefAuxSamplePoint).
const (
	snapshotPoint = 0
	summaryPoint  = 1
)

// augmenter adds snapshots and summaries to one trace.
type augmenter struct {
	ctx  context.Context
	opt  AugmentOptions
	src  format.Source
	read Options
	r    *Reader

	target string // what the names of the files begin with that will be there
	temp   string // directory that holds the new files until all are complete
	long   bool   // the trace is in the long spelling

	resolution uint64
	global     Grouping
	local      map[uint32]*Grouping
	defined    []TimeRange // those of the definitions

	events TimeRange
	seen   map[uint32]bool // streams that have events
	spread bool            // processes have events in streams where they should not have any
	size   int64
	done   atomic.Int64 // of size
	lost   map[unevenTime]int64
	points []samplePoint
}

// samplePoint is a break point.
type samplePoint struct {
	time              uint64
	snapshot, summary bool
}

// prepare finds where the files go and makes a place for the new ones.
func (a *augmenter) prepare(path string) error {
	a.target = strings.TrimSuffix(path, ".otf")
	if a.opt.Output != "" {
		a.target = strings.TrimSuffix(a.opt.Output, ".otf")
		if old, err := os.Stat(path); err != nil {
			return cause(path, err)
		} else if out, err := os.Stat(a.target + ".otf"); err == nil && os.SameFile(old, out) {
			return fmt.Errorf("%s: found %w, expected the name of a copy", a.opt.Output, ErrSameTrace)
		}
	}
	var err error
	if a.temp, err = os.MkdirTemp(filepath.Dir(a.target), "."+filepath.Base(a.target)+".*.tmp"); err != nil {
		return cause(a.target, err)
	}
	return nil
}

// define reads the definitions.
func (a *augmenter) define() error {
	a.resolution = defaultResolution
	c, err := a.r.Cursor(a.ctx, Definitions)
	if err != nil {
		return err
	}
	defer c.Close()
	for c.Next() {
		r := c.Record()
		switch r.Type {
		case DefTimerResolution:
			a.resolution = r.TicksPerSecond
		case DefTimeRange:
			if r.Stream == 0 {
				a.defined = append(a.defined, TimeRange{First: r.MinTime, Last: r.MaxTime})
			}
		case DefFunction, DefFile, DefCollectiveOperation:
			a.grouping(r.Stream).Define(r)
		}
	}
	return c.Err()
}

// grouping is that of the definitions of a stream, 0 for the global ones.
func (a *augmenter) grouping(stream uint32) *Grouping {
	if stream == 0 {
		return &a.global
	}
	g := a.local[stream]
	if g == nil {
		if a.local == nil {
			a.local = map[uint32]*Grouping{}
		}
		g = &Grouping{Global: &a.global}
		a.local[stream] = g
	}
	return g
}

// look reads the events for what must be known beforehand: their times, which must be
// in order, and the messages that are never received. It chooses the break points.
func (a *augmenter) look() error {
	c, err := a.r.Cursor(a.ctx, Events)
	if err != nil {
		return err
	}
	defer c.Close()
	a.size = 2 * c.Progress().Size // each file is read twice
	a.events = TimeRange{First: math.MaxUint64, TicksPerSecond: a.resolution}
	if a.opt.Snapshots {
		var m matching
		x, err := a.lookThrough(c, &m)
		if err != nil {
			return err
		}
		a.lost = m.lost()
		if err := a.add(x); err != nil {
			return err
		}
	} else if err := byStream(a, a.r, func(c *Cursor) (looked, error) { return a.lookThrough(c, nil) }, a.add); err != nil {
		return err
	}
	if len(a.seen) == 0 {
		return fmt.Errorf("%s: %w", a.src.Path, ErrNoEvents)
	}
	times, err := a.opt.Points(a.events)
	if err != nil {
		return err
	}
	times = slices.Compact(slices.Sorted(slices.Values(times)))
	for _, t := range times {
		a.points = append(a.points, samplePoint{t, a.opt.Snapshots, a.opt.Summaries})
	}
	if end := a.events.Last + 1; a.opt.Summaries && end < math.MaxUint64 {
		// The sums of the whole trace. Readers do not see time 2^64-1.
		i, found := slices.BinarySearch(times, end)
		if !found {
			a.points = slices.Insert(a.points, i, samplePoint{end, false, true})
		}
	}
	return nil
}

// looked is what was seen in some of the streams.
type looked struct {
	first, last uint64
	times       map[uint32]uint64 // of the last event by stream, where there is one
	spread      bool
}

// add takes what was seen.
func (a *augmenter) add(x looked) error {
	a.events.First, a.events.Last = min(a.events.First, x.first), max(a.events.Last, x.last)
	a.spread = a.spread || x.spread
	for id := range x.times {
		a.seen[id] = true
	}
	return nil
}

// lookThrough looks at all records of a cursor. Messages are counted in m, if it is there.
func (a *augmenter) lookThrough(c *Cursor, m *matching) (looked, error) {
	x := looked{first: math.MaxUint64, times: map[uint32]uint64{}}
	process := uint64(unset) + 1
	err := a.each(c, func(r *Record) error {
		if t := x.times[r.Stream]; r.Time < t {
			return &trace.Defect{Rule: "otf.unsorted", Severity: trace.Error, Position: trace.Position{File: a.r.path(fileName(a.r.stub, r.Stream, Events))},
				Found: fmt.Sprintf("an event at %d behind one at %d", r.Time, t), Expected: "the order of time, in which weft convert writes a trace"}
		}
		x.times[r.Stream] = r.Time
		if process != r.Process {
			process = r.Process
			stream, ok := a.r.master.Stream(uint32(process))
			x.spread = x.spread || !ok || stream != r.Stream
		}
		x.first, x.last = min(x.first, r.Time), max(x.last, r.Time)
		if m != nil {
			m.count(r)
		}
		return nil
	})
	return x, err
}

// byStream does work on the events of each stream, with several at a time, and gives what
// comes out to done in the order of the streams.
func byStream[R any](a *augmenter, r *Reader, work func(*Cursor) (R, error), done func(R) error) error {
	ids := a.r.master.Streams()
	return pipeline.Run(a.ctx, a.opt.Read.Cores(), func() (id uint32, ok bool, err error) {
		if len(ids) > 0 {
			id, ids, ok = ids[0], ids[1:], true
		}
		return id, ok, nil
	}, func(_ int, id uint32) (x R, err error) {
		c, err := (&StreamReader{r, id}).Cursor(a.ctx, Events)
		if err != nil {
			return x, err
		}
		defer c.Close()
		return work(c)
	}, done)
}

// each reads the records of a cursor and tells of the progress.
func (a *augmenter) each(c *Cursor, f func(*Record) error) error {
	told := int64(0)
	for n := 1; c.Next(); n++ {
		if err := f(c.Record()); err != nil {
			return err
		}
		if n%(1<<16) == 0 && a.opt.Read.Progress != nil {
			read := c.Progress().Read
			a.opt.Read.Progress(a.done.Add(read-told), a.size)
			told = read
		}
	}
	a.done.Add(c.Progress().Read - told)
	return c.Err()
}

// replay reads the events again and writes what is to be written at each break point.
// Messages tie all streams together; without them each can be replayed for itself, if
// it has its processes for itself.
func (a *augmenter) replay() (err error) {
	if a.long, err = a.r.quiet().long(); err != nil {
		return err
	}
	quiet := *a.opt.Read
	quiet.Report, quiet.Strict = nil, false // the defects have been reported
	again := a.read
	again.Read, again.OneByOne = &quiet, false
	r, err := Open(a.ctx, a.src, &again)
	if err != nil {
		return err
	}
	if !a.opt.Snapshots && !a.spread {
		return byStream(a, r, func(c *Cursor) (struct{}, error) { return struct{}{}, a.replayAll(c) }, func(struct{}) error { return nil })
	}
	c, err := r.Cursor(a.ctx, Events)
	if err != nil {
		return err
	}
	defer c.Close()
	return a.replayAll(c)
}

// replayAll replays all records of a cursor, which are in the order of time.
func (a *augmenter) replayAll(c *Cursor) error {
	p := replayer{augmenter: a, states: map[uint64]*State{}, writers: map[uint32]*StreamWriter{}}
	defer p.abort()
	points := a.points
	var messages matching
	err := a.each(c, func(r *Record) error {
		for len(points) > 0 && points[0].time <= r.Time {
			if err := p.write(&points[0]); err != nil {
				return err
			}
			points = points[1:]
		}
		s, err := p.state(r)
		if err != nil {
			return err
		}
		if a.opt.Snapshots {
			messages.follow(r, a.lost, p.states)
		}
		return s.Event(r)
	})
	for len(points) > 0 && err == nil {
		err = p.write(&points[0])
		points = points[1:]
	}
	if err != nil {
		return err
	}
	return p.close()
}

// replayer holds the states of processes, and their files.
type replayer struct {
	*augmenter
	states  map[uint64]*State
	order   []process
	sorted  bool // order is by process
	writers map[uint32]*StreamWriter
}

// process is one that has events.
type process struct {
	state  *State
	stream *StreamWriter
}

// state is that of a record's process. Its snapshots go to the stream that the master
// file says, or else to the one with its first event.
func (p *replayer) state(r *Record) (*State, error) {
	if s := p.states[r.Process]; s != nil {
		return s, nil
	}
	stream, ok := p.r.master.Stream(uint32(r.Process))
	if !ok {
		stream = r.Stream
	}
	w := p.writers[stream]
	if w == nil {
		level := 0
		if h, err := p.read.Files.Find(p.src, fileName(p.r.stub, stream, Events)); err == nil {
			h.Close()
		} else if errors.Is(err, fs.ErrNotExist) {
			level = zippedLevel
		} else {
			return nil, err
		}
		w = NewStreamWriter(p.stub(), stream, &WriterOptions{Long: p.long, Level: level, Buffer: augmentBuffer, Files: p.read.Files})
		p.writers[stream] = w
	}
	s := NewState(r.Process, p.local[stream])
	if p.local[stream] == nil {
		s = NewState(r.Process, &p.global)
	}
	p.states[r.Process] = s
	p.order = append(p.order, process{s, w})
	p.sorted = false
	return s, nil
}

// zippedLevel is the level of compression where the events are compressed: the one
// that VampirTrace takes.
const zippedLevel = 4

// augmentBuffer is how much text each new file collects: less than usual, for there
// may be two for each of many streams.
const augmentBuffer = 64 << 10

// write writes a break point.
func (p *replayer) write(at *samplePoint) error {
	if err := p.ctx.Err(); err != nil {
		return err
	}
	if !p.sorted {
		slices.SortFunc(p.order, func(x, y process) int { return cmp.Compare(x.state.process, y.state.process) })
		p.sorted = true
	}
	for _, x := range p.order {
		if at.snapshot {
			if err := x.state.Snapshot(at.time, x.stream.Write); err != nil {
				return err
			}
		}
		if at.summary {
			if err := x.state.Summary(at.time, x.stream.Write); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *replayer) close() error {
	for _, w := range p.writers {
		if err := w.Close(); err != nil {
			return err
		}
	}
	return nil
}

func (p *replayer) abort() {
	for _, w := range p.writers {
		w.Abort()
	}
}
