package otf

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/weft-trace/weft/trace"
)

// Summary returns the sums over the calls, messages and operations of a process at times from ≤ time < to. The
// result has records of the types FunctionSummary, FunctionGroupSummary, MessageSummary, CollectiveSummary,
// FileOperationSummary and FileGroupOperationSummary at time to, in that order and then in the order of their
// tokens. Records whose sums are all 0 are left out. [State.Summary] documents the sums. Functions that begin
// before the interval or end after it count with their time inside the interval. The caller owns the records.
//
// If the trace has statistics at both times, Summary reads only these. Otherwise it replays events: from the
// last time with statistics and a snapshot, or from the beginning if there is no such time. It uses only those
// options of the reader that concern defects and files. A sum that exceeds 64 bits is the greatest number, if events
// show it: statistics hold only 64 bits of their sums. Summary ignores records of the process in streams to which
// the master file does not assign the process. The events that it reads must be in the order of time;
// otherwise the error is a [trace.Defect].
func (r *Reader) Summary(ctx context.Context, process, from, to uint64) ([]Record, error) {
	stream, ok := r.master.Stream(uint32(process))
	if !ok || process > noProcess {
		return nil, fmt.Errorf("%s: found no process %d, expected one of the master file", r.src.Path, process)
	}
	if from > to {
		return nil, fmt.Errorf("%s: found an interval from %d to %d, expected an end that is not before the beginning",
			r.src.Path, from, to)
	}
	q := sumQuery{ctx: ctx, r: r, process: process, stream: stream, group: &Grouping{Global: &Grouping{}}}
	if err := q.readDefinitions(); err != nil {
		return nil, err
	}
	begin, first, err := q.sums(from)
	if err != nil {
		return nil, err
	}
	end, last, err := q.sums(to)
	if err != nil {
		return nil, err
	}
	return subtract(begin, end, first == last), nil
}

// sumQuery is a query for the sums of an interval.
type sumQuery struct {
	ctx     context.Context
	r       *Reader
	process uint64
	stream  uint32
	group   *Grouping
	// points holds the times of the sample points by kind, ascending.
	points [2][]uint64
	// state is the replayed state before time; nil if nothing has been replayed.
	state *State
	time  uint64
}

// eachRecord calls f with the records of the process in a part, at times from ≤ time < to.
func (q *sumQuery) eachRecord(part Part, from, to uint64, f func(*Record) error) error {
	if from == to {
		return nil // for a reader, a To of 0 would mean no bound
	}
	if err := q.ctx.Err(); err != nil {
		return err
	}
	r := &Reader{src: q.r.src, stub: q.r.stub, master: q.r.master, maxLine: q.r.maxLine,
		opt: Options{Read: q.r.opt.Read, Files: q.r.opt.Files, From: from, To: to,
			Processes: func(p uint64) bool { return p == q.process }}}
	for x, err := range r.records(q.ctx, part) {
		if err == nil {
			err = f(x)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readDefinitions reads the definitions and finds the sample points. If no definition lists sample
// points, they are the times at which the process has records.
func (q *sumQuery) readDefinitions() error {
	for r, err := range q.r.records(q.ctx, Definitions) {
		if err != nil {
			return err
		}
		switch {
		case r.Stream == 0 && r.Type == DefAuxSamplePoint && r.Kind <= summaryPoint:
			q.points[r.Kind] = append(q.points[r.Kind], r.SampleTime)
		case r.Stream == 0:
			q.group.Global.Define(r)
		case r.Stream == q.stream:
			q.group.Define(r)
		}
	}
	for kind, part := range [2]Part{snapshotPoint: Snapshots, summaryPoint: Statistics} {
		l := &q.points[kind]
		if len(*l) == 0 {
			err := q.eachRecord(part, 0, math.MaxUint64, func(r *Record) error {
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

// hasPoint reports whether there is a sample point of a kind at time t.
func (q *sumQuery) hasPoint(kind int, t uint64) bool {
	_, ok := slices.BinarySearch(q.points[kind], t)
	return ok
}

// summed is a record of a summary with the high halves of its sums (see [State.wideSummary]).
type summed struct {
	Record
	high [2]uint64
}

// sums returns the sums up to time t, and the state that holds them. Later calls must not have an earlier time.
func (q *sumQuery) sums(t uint64) ([]summed, *State, error) {
	if s, err := q.statisticsAt(t); err != nil || s != nil {
		return summaryRecords(s, t, err)
	}
	// Begin at the last time that has both statistics and a snapshot.
	points := q.points[summaryPoint]
	i, _ := slices.BinarySearch(points, t)
	for i--; i >= 0 && !q.hasPoint(snapshotPoint, points[i]); i-- {
	}
	if i >= 0 && (q.state == nil || q.time < points[i]) {
		s, err := q.stateAt(points[i])
		if err != nil {
			return nil, nil, err
		}
		if s != nil {
			q.state, q.time = s, points[i]
		}
	}
	if q.state == nil {
		q.state = NewState(q.process, q.group)
	}
	err := q.replay(t)
	return summaryRecords(q.state, t, err)
}

// summaryRecords returns the records of a summary as a list.
func summaryRecords(s *State, t uint64, err error) (list []summed, _ *State, _ error) {
	if err != nil {
		return nil, nil, err
	}
	err = s.wideSummary(t, func(r *Record, high [2]uint64) error {
		list = append(list, summed{*r, high})
		return nil
	})
	return list, s, err
}

// statisticsAt returns a state with the sums of the statistics at time t, or nil if there are none.
func (q *sumQuery) statisticsAt(t uint64) (*State, error) {
	if !q.hasPoint(summaryPoint, t) {
		return nil, nil
	}
	s := NewState(q.process, q.group)
	complete, err := q.readStatistics(s, t)
	if err != nil || !complete {
		return nil, err
	}
	return s, nil
}

// readStatistics reads the statistics records at time t into s. complete is false if there are no statistics,
// or if s cannot be computed from them: otfaux can write sums of function groups and file groups without those
// of functions and files, and other tools divide the sums of messages by peer. If a process has no statistics,
// either nothing has happened yet or its file is missing.
func (q *sumQuery) readStatistics(s *State, t uint64) (complete bool, err error) {
	var n [NumTypes]int
	split := false
	err = q.eachRecord(Statistics, t, t+1, func(r *Record) error {
		n[r.Type]++
		split = split || r.Type == MessageSummary && r.Peer|r.Communicator|r.Tag != 0 || r.Type == CollectiveSummary &&
			r.Communicator != 0
		s.Restore(r)
		return nil
	})
	some := n[FunctionSummary]+n[MessageSummary]+n[CollectiveSummary]+n[FileOperationSummary] > 0
	grouped := n[FunctionSummary] == 0 && n[FunctionGroupSummary] > 0 || n[FileOperationSummary] == 0 &&
		n[FileGroupOperationSummary] > 0
	return some && !grouped && !split, err
}

// stateAt returns the state at time t, from which events can be replayed. It returns nil if the records of the
// trace do not determine the state.
func (q *sumQuery) stateAt(t uint64) (*State, error) {
	s := NewState(q.process, q.group)
	complete, err := q.readStatistics(s, t)
	if err != nil || !complete {
		return nil, err
	}
	// A process without open calls, messages and operations has no records in a snapshot. A missing file looks
	// the same.
	there, err := q.partExists(Snapshots)
	if err != nil || !there {
		return nil, err
	}
	err = q.eachRecord(Snapshots, t, t+1, func(r *Record) error {
		s.Restore(r)
		return nil
	})
	return s, err
}

func (q *sumQuery) partExists(part Part) (bool, error) {
	c, err := (&StreamReader{q.r, q.stream}).Cursor(q.ctx, part)
	if err != nil {
		return false, err
	}
	defer c.Close()
	return c.Progress().Size > 0, nil
}

// replay advances the state to time t.
func (q *sumQuery) replay(t uint64) error {
	err := q.eachRecord(Events, q.time, t, q.state.Event)
	q.time = t
	var o *OrderError
	if errors.As(err, &o) {
		err = &trace.Defect{Rule: "otf.unsorted", Severity: trace.Error,
			Position: trace.Position{File: q.r.path(fileName(q.r.stub, q.stream, Events))},
			Found:    fmt.Sprintf("an event at %d after one at %d", o.Time, o.Last),
			Expected: "events in the order of time; weft convert sorts a trace"}
	}
	return err
}

// subtract subtracts the sums at the beginning of the interval from the sums at its end. wide is set if one state
// holds both, so that the high halves are known. Otherwise the differences are those of numbers of 64 bits.
func subtract(begin, end []summed, wide bool) []Record {
	type key struct {
		t                           Type
		function, group, coll, file uint64
	}
	keyOf := func(r *Record) key { return key{r.Type, r.Function, r.Group, r.Collective, r.File} }
	old := map[key]*summed{}
	for i := range begin {
		old[keyOf(&begin[i].Record)] = &begin[i]
	}
	var list []Record
	for i := range end {
		r, high := &end[i].Record, &end[i].high
		o := old[keyOf(r)]
		some := false
		for _, f := range specs[r.Type].fields {
			switch f.f {
			case fieldFunction, fieldGroup, fieldCollective, fieldFile, fieldPeer, fieldCommunicator, fieldTag:
				continue
			}
			v, borrow := r.number(f.f), uint64(0)
			if o != nil {
				*v, borrow = bits.Sub64(*v, *o.number(f.f), 0)
			}
			if h := highHalf(f.f); wide && h >= 0 {
				if o != nil {
					borrow += o.high[h]
				}
				if high[h] != borrow {
					*v = math.MaxUint64
				}
			}
			some = some || *v != 0
		}
		if some {
			list = append(list, *r)
		}
	}
	return list
}

// highHalf returns the index of the high half of a sum, or -1 if the sum never exceeds 64 bits.
func highHalf(f field) int {
	switch f {
	case fieldInclusive, fieldSent, fieldBytesRead:
		return 0
	case fieldReceived, fieldBytesWritten:
		return 1
	}
	return -1
}
