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

// TimeRange is the time range of the events of a trace.
type TimeRange struct {
	First, Last    uint64 // ticks, both inclusive
	TicksPerSecond uint64
}

// AugmentOptions are the settings of [Augment].
type AugmentOptions struct {
	// Read sets how defects are treated and reported and how progress is reported; nil means lenient reading.
	Read *format.ReadOptions
	// Snapshots and Summaries select the kinds of records that are written or removed. If neither is set, both
	// kinds are.
	Snapshots, Summaries bool
	// Points returns the break points for a trace with events in r. Break points are times in ticks, in any
	// order. A nil Points means EqualParts(200).
	Points func(r TimeRange) ([]uint64, error)
	// Remove removes snapshots and summaries from the trace instead of adding them.
	Remove bool
	// Output is the master file of a copy to make. If it is empty, the trace itself is changed.
	Output string
	// Guard is called for each name that the copy would give or remove, whether or not a file has that
	// name. If it returns an error, Augment ends and changes no file. A nil Guard allows everything.
	Guard func(path string) error
	// Written is called with the names of the files of the copy when they are complete. A nil Written is not
	// called.
	Written func(names []string)
}

// ErrSameTrace is wrapped by the error of [Augment] if the copy would be the trace itself.
var ErrSameTrace = errors.New("the trace itself")

// ErrNoEvents is wrapped by the error of [Augment] if the trace has no events.
var ErrNoEvents = errors.New("found no events, expected some")

// ErrNoDefinitions is wrapped by the error of [Augment] if the trace has no file of global definitions.
var ErrNoDefinitions = errors.New("found no such file, nor one with .z")

// maxPoints limits the number of break points, which are held in memory.
const maxPoints = 1 << 20

// DefaultPoints is the number of parts into which otfaux divides the time by default.
const DefaultPoints = 200

// EqualParts returns a function that chooses the break points that divide the time range of the events
// into n equal parts, with n from 1 to 2^20. It rounds as otfaux does. A short range has fewer break
// points.
func EqualParts(n int) func(TimeRange) ([]uint64, error) {
	return func(r TimeRange) ([]uint64, error) {
		if n < 1 || n > maxPoints {
			return nil, fmt.Errorf("found %d break points, expected 1 to %d", n, maxPoints)
		}
		var points []uint64
		for i := uint64(1); i < uint64(n); i++ {
			// The range ends after the last tick.
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

// PointsEvery returns a function that chooses a break point every d ticks, the first one d ticks after the
// first event. d is at least 1, and large enough for at most 2^20 break points.
func PointsEvery(d uint64) func(TimeRange) ([]uint64, error) {
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

// Augment adds snapshots and summaries to a trace, or removes them. path is the master file, whose name may
// lack ".otf". Each break point gets a snapshot of every process that has something open, and a summary of
// every process that has done anything. One more summary follows the last event. Augment returns an error that
// wraps [ErrNoEvents] for a trace without events, and an error that wraps [ErrNoDefinitions] for a trace
// without a file of global definitions.
//
// Augment replaces the snapshots and summaries that the trace already has. Streams without events keep their
// snapshots and summaries, because these cannot be computed again. The global definitions get a
// DefAuxSamplePoint for each break point, which replaces the existing sample points of the same kind. They
// also get the time range of the events, unless their own time range is at least as wide. Everything else
// stays as it is, byte for byte. The new files are compressed if the events of the stream are.
//
// The events must be in the order of time; otherwise the error is a [trace.Defect]. The trace is read twice
// and never held in memory. Memory grows with the number of calls, messages and operations that are open at
// the same time, with the functions, counters and files of the processes, and with the number of break points.
// Without snapshots, each stream is replayed separately, on several cores. New files get their names when all
// of them are complete. After an error of reading or writing, or when ctx ends, the trace is unchanged.
func Augment(ctx context.Context, path string, opt *AugmentOptions) (err error) {
	a := &augmenter{ctx: ctx, hasEvents: map[uint32]bool{}}
	if opt != nil {
		a.opt = *opt
	}
	if !a.opt.Snapshots && !a.opt.Summaries {
		a.opt.Snapshots, a.opt.Summaries = true, true
	}
	if a.opt.Points == nil {
		a.opt.Points = EqualParts(DefaultPoints)
	}
	if a.opt.Read == nil {
		a.opt.Read = &format.ReadOptions{}
	}
	path = strings.TrimSuffix(path, ".otf") + ".otf"
	a.src = format.FileSource(path)
	files, err := FileManagerOf(a.opt.Read.Values)
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
	if err := a.readDefinitions(); err != nil {
		return err
	}
	if !a.opt.Remove {
		if err := a.surveyEvents(); err != nil {
			return err
		}
		if err := a.replay(); err != nil {
			return err
		}
	}
	if err := a.writeDefinitions(); err != nil {
		return err
	}
	if a.opt.Output != "" {
		if err := a.copyUnchanged(); err != nil {
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

	target string // common beginning of the names of the final files
	temp   string // directory that holds the new files until all of them are complete
	long   bool   // the trace is in the long spelling

	resolution uint64
	global     Grouping
	local      map[uint32]*Grouping
	defined    []TimeRange // time ranges of the definitions

	events     TimeRange
	hasEvents  map[uint32]bool // streams that have events
	spread     bool            // processes have events in streams to which the master file does not assign them
	size       int64
	done       atomic.Int64 // number of bytes read so far, out of size bytes
	unreceived map[unevenTime]int64
	points     []samplePoint
}

// samplePoint is a time at which augmenting writes snapshots or summaries (a break point).
type samplePoint struct {
	time              uint64
	snapshot, summary bool
}

// prepare determines the names of the files and makes a directory for the new ones.
func (a *augmenter) prepare(path string) error {
	a.target = strings.TrimSuffix(path, ".otf")
	if a.opt.Output != "" {
		a.target = strings.TrimSuffix(a.opt.Output, ".otf")
		if old, err := os.Stat(path); err != nil {
			return fileError(path, err)
		} else if out, err := os.Stat(a.target + ".otf"); err == nil && os.SameFile(old, out) {
			return fmt.Errorf("%s: found %w, expected the name of a copy", a.opt.Output, ErrSameTrace)
		}
	}
	var err error
	temp := fmt.Sprintf(".%s.%d.*.tmp", filepath.Base(a.target), os.Getpid())
	if a.temp, err = os.MkdirTemp(filepath.Dir(a.target), temp); err != nil {
		return fileError(a.target, err)
	}
	return nil
}

// requireDefinitions returns an error if the file of the global definitions is missing. Otherwise Augment
// would make a new file with only break points, which would hide the loss of the definitions.
func (a *augmenter) requireDefinitions() error {
	s, err := a.r.withoutReport().open(0, Definitions)
	if err != nil {
		return err
	}
	if s == nil {
		return fmt.Errorf("%s.0.def: %w, expected the definitions of the trace", strings.TrimSuffix(a.src.Path, ".otf"),
			ErrNoDefinitions)
	}
	s.t.Close()
	return nil
}

// readDefinitions reads the definitions that the computation of snapshots and summaries needs.
func (a *augmenter) readDefinitions() error {
	a.resolution = defaultResolution
	if !a.opt.Remove {
		if err := a.requireDefinitions(); err != nil {
			return err
		}
	}
	for r, err := range a.r.records(a.ctx, Definitions) {
		if err != nil {
			return err
		}
		switch r.Type {
		case DefTimerResolution:
			a.resolution = r.TicksPerSecond
		case DefTimeRange:
			if r.Stream == 0 {
				a.defined = append(a.defined, TimeRange{First: r.MinTime, Last: r.MaxTime})
			}
		case DefFunction, DefFile, DefCollectiveOperation, DefKeyValue:
			a.grouping(r.Stream).Define(r)
		}
	}
	return nil
}

// grouping returns the Grouping of the definitions of a stream. Stream 0 stands for the global
// definitions.
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

// surveyEvents reads the events for the first time. It finds their time range, checks their order,
// finds messages that are never received, and chooses the break points.
func (a *augmenter) surveyEvents() error {
	c, err := a.r.Cursor(a.ctx, Events)
	if err != nil {
		return err
	}
	defer c.Close()
	a.size = 2 * c.Progress().Size // each file is read twice
	a.events = TimeRange{First: math.MaxUint64, TicksPerSecond: a.resolution}
	if a.opt.Snapshots {
		var m messageMatcher
		x, err := a.surveyCursor(c, &m)
		if err != nil {
			return err
		}
		a.unreceived = m.lost()
		if err := a.add(x); err != nil {
			return err
		}
	} else if err := forEachStream(a, a.r, func(c *Cursor) (eventSurvey, error) { return a.surveyCursor(c, nil) },
		a.add); err != nil {
		return err
	}
	if len(a.hasEvents) == 0 {
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
		// Add the sums of the whole trace. Readers ignore the time 2^64-1.
		i, found := slices.BinarySearch(times, end)
		if !found {
			a.points = slices.Insert(a.points, i, samplePoint{end, false, true})
		}
	}
	return nil
}

// eventSurvey holds the result of the first reading of some streams.
type eventSurvey struct {
	first, last uint64
	times       map[uint32]uint64 // time of the last event of each stream that has events
	spread      bool
}

// add adds the result of the survey of some streams.
func (a *augmenter) add(x eventSurvey) error {
	a.events.First, a.events.Last = min(a.events.First, x.first), max(a.events.Last, x.last)
	a.spread = a.spread || x.spread
	for id := range x.times {
		a.hasEvents[id] = true
	}
	return nil
}

// surveyCursor reads all records of a cursor. It counts messages in m unless m is nil.
func (a *augmenter) surveyCursor(c *Cursor, m *messageMatcher) (eventSurvey, error) {
	x := eventSurvey{first: math.MaxUint64, times: map[uint32]uint64{}}
	process := uint64(noProcess) + 1
	err := a.eachRecord(c, func(r *Record) error {
		if t := x.times[r.Stream]; r.Time < t {
			return &trace.Defect{Rule: "otf.unsorted", Severity: trace.Error,
				Position: trace.Position{File: a.r.path(fileName(a.r.stub, r.Stream, Events))},
				Found:    fmt.Sprintf("an event at %d after one at %d", r.Time, t),
				Expected: "events in the order of time; weft convert sorts a trace"}
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

// forEachStream calls work with the events of each stream, for several streams at a time, and calls done
// with the results in the order of the streams.
func forEachStream[R any](a *augmenter, r *Reader, work func(*Cursor) (R, error), done func(R) error) error {
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

// eachRecord calls f with each record of a cursor, and reports the progress.
func (a *augmenter) eachRecord(c *Cursor, f func(*Record) error) error {
	reported := int64(0)
	for n := 1; c.Next(); n++ {
		if err := f(c.Record()); err != nil {
			return err
		}
		if n%(1<<16) == 0 && a.opt.Read.Progress != nil {
			read := c.Progress().Read
			a.opt.Read.Progress(a.done.Add(read-reported), a.size)
			reported = read
		}
	}
	a.done.Add(c.Progress().Read - reported)
	return c.Err()
}

// replay reads the events again and writes the snapshots and summaries of each break point. All streams must
// be replayed together if the trace has messages, which connect streams, or if a stream has events of another
// stream's processes. Otherwise each stream is replayed separately.
func (a *augmenter) replay() (err error) {
	if a.long, err = a.r.withoutReport().isLong(); err != nil {
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
		return forEachStream(a, r, func(c *Cursor) (struct{}, error) { return struct{}{}, a.replayAll(c) },
			func(struct{}) error { return nil })
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
	var messages messageMatcher
	err := a.eachRecord(c, func(r *Record) error {
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
			messages.follow(r, a.unreceived, p.states)
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

// replayer holds the states of processes and their files.
type replayer struct {
	*augmenter
	states  map[uint64]*State
	order   []process
	sorted  bool // order is sorted by process
	writers map[uint32]*StreamWriter
}

// process is a process that has events.
type process struct {
	state  *State
	stream *StreamWriter
}

// state returns the state of a record's process. The snapshots of the process go to the stream to
// which the master file assigns it, or else to the stream of its first event.
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
		w = NewStreamWriter(p.newStub(), stream,
			&WriterOptions{Long: p.long, Level: level, Buffer: augmentBuffer, Files: p.read.Files})
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

// zippedLevel is the compression level of new files if the events are compressed. VampirTrace uses the same
// level.
const zippedLevel = 4

// augmentBuffer is the number of bytes that each new file collects. It is smaller than the default,
// because each of many streams may have two new files.
const augmentBuffer = 64 << 10

// write writes the snapshots and summaries of a break point.
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
