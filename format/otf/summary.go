package otf

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/weft-trace/weft/trace"
)

// Summary gives the sums of what a process did at times from ≤ time < to: records of
// types FunctionSummary, FunctionGroupSummary, MessageSummary, CollectiveSummary,
// FileOperationSummary and FileGroupOperationSummary with the time to, in that order and
// that of their tokens, those without anything left out. [State.Summary] says what they
// mean; functions that run into the interval or out of it have the time inside. The
// records are the caller's.
//
// Where the trace has statistics at both times, they are all that is read, and no
// events. Where it has statistics and a snapshot at one time before, the events are
// read from there on; else from the beginning. Of the reader's options those about
// defects and files count. Records of the process in streams that the master file gives
// to others are not looked for. The events must be in the order of time: what is read and is
// not is a [trace.Defect].
func (r *Reader) Summary(ctx context.Context, process, from, to uint64) ([]Record, error) {
	stream, ok := r.master.Stream(uint32(process))
	if !ok || process > unset {
		return nil, fmt.Errorf("%s: found no process %d, expected one of the master file", r.src.Path, process)
	}
	if from > to {
		return nil, fmt.Errorf("%s: found an interval from %d to %d, expected an end that is not before the beginning", r.src.Path, from, to)
	}
	q := interval{ctx: ctx, r: r, process: process, stream: stream, group: &Grouping{Global: &Grouping{}}}
	if err := q.define(); err != nil {
		return nil, err
	}
	begin, err := q.sums(from)
	if err != nil {
		return nil, err
	}
	end, err := q.sums(to)
	if err != nil {
		return nil, err
	}
	return difference(begin, end), nil
}

// interval is a query for sums.
type interval struct {
	ctx     context.Context
	r       *Reader
	process uint64
	stream  uint32
	group   *Grouping
	// points are the times of the sample points by kind, ascending.
	points [2][]uint64
	// state has the events before time, if it is there.
	state *State
	time  uint64
}

// window reads the process's records of a part at times from ≤ time < to.
func (q *interval) window(part Part, from, to uint64, f func(*Record) error) error {
	if from == to {
		return nil // a To of 0 is no bound
	}
	if err := q.ctx.Err(); err != nil {
		return err
	}
	r := &Reader{src: q.r.src, stub: q.r.stub, master: q.r.master, maxLine: q.r.maxLine,
		opt: Options{Read: q.r.opt.Read, Files: q.r.opt.Files, From: from, To: to, Processes: func(p uint64) bool { return p == q.process }}}
	c, err := r.Cursor(q.ctx, part)
	if err != nil {
		return err
	}
	defer c.Close()
	for c.Next() {
		if err := f(c.Record()); err != nil {
			return err
		}
	}
	return c.Err()
}

// define reads the definitions, and finds the sample points: those that are defined, or
// else the times at which the process has records.
func (q *interval) define() error {
	c, err := q.r.Cursor(q.ctx, Definitions)
	if err != nil {
		return err
	}
	defer c.Close()
	for c.Next() {
		r := c.Record()
		switch {
		case r.Stream == 0 && r.Type == DefAuxSamplePoint && r.Kind <= summaryPoint:
			q.points[r.Kind] = append(q.points[r.Kind], r.SampleTime)
		case r.Stream == 0:
			q.group.Global.Define(r)
		case r.Stream == q.stream:
			q.group.Define(r)
		}
	}
	if c.Err() != nil {
		return c.Err()
	}
	for kind, part := range [2]Part{snapshotPoint: Snapshots, summaryPoint: Statistics} {
		l := &q.points[kind]
		if len(*l) == 0 {
			err := q.window(part, 0, math.MaxUint64, func(r *Record) error {
				if n := len(*l); n == 0 || (*l)[n-1] != r.Time {
					*l = append(*l, r.Time)
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		slices.Sort(*l)
		*l = slices.Compact(*l)
	}
	return nil
}

// has tells whether there is a sample point of a kind at time t.
func (q *interval) has(kind int, t uint64) bool {
	_, ok := slices.BinarySearch(q.points[kind], t)
	return ok
}

// sums are the sums up to time t. Of several times the later one is asked for last.
func (q *interval) sums(t uint64) ([]Record, error) {
	if s, err := q.exact(t); err != nil || s != nil {
		return records(s, t, err)
	}
	// Begin at the last time for which there is all.
	points := q.points[summaryPoint]
	i, _ := slices.BinarySearch(points, t)
	for i--; i >= 0 && !q.has(snapshotPoint, points[i]); i-- {
	}
	if i >= 0 && (q.state == nil || q.time < points[i]) {
		s, err := q.restored(points[i])
		if err != nil {
			return nil, err
		}
		if s != nil {
			q.state, q.time = s, points[i]
		}
	}
	if q.state == nil {
		q.state = NewState(q.process, q.group)
	}
	err := q.replay(t)
	return records(q.state, t, err)
}

// records are those of a summary.
func records(s *State, t uint64, err error) (list []Record, _ error) {
	if err != nil {
		return nil, err
	}
	err = s.Summary(t, func(r *Record) error {
		list = append(list, *r)
		return nil
	})
	return list, err
}

// exact has the sums of the statistics at time t; nil if there are none.
func (q *interval) exact(t uint64) (*State, error) {
	if !q.has(summaryPoint, t) {
		return nil, nil
	}
	s := NewState(q.process, q.group)
	complete, err := q.statistics(s, t)
	if err != nil || !complete {
		return nil, err
	}
	return s, nil
}

// statistics restores the sums of time t. They are complete if they have what they
// should: otfaux may sum up functions and files by groups alone, others messages by
// peers. A process without any may have done nothing yet, or its file may be missing.
func (q *interval) statistics(s *State, t uint64) (complete bool, err error) {
	var n [NumTypes]int
	split := false
	err = q.window(Statistics, t, t+1, func(r *Record) error {
		n[r.Type]++
		split = split || r.Type == MessageSummary && r.Peer|r.Communicator|r.Tag != 0 || r.Type == CollectiveSummary && r.Communicator != 0
		s.Restore(r)
		return nil
	})
	some := n[FunctionSummary]+n[MessageSummary]+n[CollectiveSummary]+n[FileOperationSummary] > 0
	grouped := n[FunctionSummary] == 0 && n[FunctionGroupSummary] > 0 || n[FileOperationSummary] == 0 && n[FileGroupOperationSummary] > 0
	return some && !grouped && !split, err
}

// restored is the state at time t, from which events can be replayed; nil if the trace
// does not have it after all.
func (q *interval) restored(t uint64) (*State, error) {
	s := NewState(q.process, q.group)
	complete, err := q.statistics(s, t)
	if err != nil || !complete {
		return nil, err
	}
	// A snapshot of a process that is doing nothing is empty, one whose file is
	// missing looks the same.
	there, err := q.exists(Snapshots)
	if err != nil || !there {
		return nil, err
	}
	err = q.window(Snapshots, t, t+1, func(r *Record) error {
		s.Restore(r)
		return nil
	})
	return s, err
}

func (q *interval) exists(part Part) (bool, error) {
	c, err := (&StreamReader{q.r, q.stream}).Cursor(q.ctx, part)
	if err != nil {
		return false, err
	}
	defer c.Close()
	return c.Progress().Size > 0, nil
}

// replay brings the state to time t.
func (q *interval) replay(t uint64) error {
	err := q.window(Events, q.time, t, q.state.Event)
	q.time = t
	var o *OrderError
	if errors.As(err, &o) {
		err = &trace.Defect{Rule: "otf.unsorted", Severity: trace.Error, Position: trace.Position{File: q.r.path(fileName(q.r.stub, q.stream, Events))},
			Found: fmt.Sprintf("an event at %d behind one at %d", o.Time, o.Last), Expected: "the order of time, in which weft convert writes a trace"}
	}
	return err
}

// difference subtracts the sums at the beginning of the interval from those at its end.
func difference(begin, end []Record) []Record {
	type key struct {
		t                           Type
		function, group, coll, file uint64
	}
	of := func(r *Record) key { return key{r.Type, r.Function, r.Group, r.Collective, r.File} }
	old := map[key]*Record{}
	for i := range begin {
		old[of(&begin[i])] = &begin[i]
	}
	var list []Record
	for i := range end {
		r := &end[i]
		some := false
		for _, f := range specs[r.Type].fields {
			switch f.f {
			case fFunction, fGroup, fCollective, fFile, fPeer, fCommunicator, fTag:
				continue
			}
			v := r.number(f.f)
			if o := old[of(r)]; o != nil {
				*v -= *o.number(f.f) // right also where sums have run over 64 bits
			}
			some = some || *v != 0
		}
		if some {
			list = append(list, *r)
		}
	}
	return list
}
