package otf

import (
	"context"
	"math"

	"github.com/weft-trace/weft/trace"
)

// states are the snapshots and statistics of a stream, in the order of time.
type states struct {
	list []*stateFile
}

// stateFile is one of their files; its stream holds the next record.
type stateFile struct {
	*fileStream
	last uint64 // time of the record before
	end  bool
}

func (f *stateFile) advance(ctx context.Context) error {
	r, err := f.next(ctx)
	f.end = r == nil
	return err
}

func (s *states) close() {
	for _, f := range s.list {
		f.close()
	}
	s.list = nil
}

// first is the file with the next record, snapshots first; nil at the end.
func (s *states) first() (first *stateFile) {
	for _, f := range s.list {
		if !f.end && (first == nil || f.s.rec.Time < first.s.rec.Time) {
			first = f
		}
	}
	return first
}

// time is that of the next record, behind all times at the end.
func (s *states) time() uint64 {
	if f := s.first(); f != nil {
		return f.s.rec.Time
	}
	return math.MaxUint64
}

// openStates opens the files of a stream. good is false if one must be looked through first.
func (x *bulk) openStates(ctx context.Context, stream uint32, sel trace.Selection) (good bool, err error) {
	x.states.close()
	for _, part := range []Part{Snapshots, Statistics} {
		f, err := x.d.stream(ctx, &survey{id: stream, part: part}, sel)
		if err != nil {
			return false, err
		}
		if f == nil {
			continue
		}
		y := &stateFile{fileStream: f}
		x.states.list = append(x.states.list, y)
		if err := y.advance(ctx); err != nil || !f.s.begun {
			return false, err
		}
	}
	return true, nil
}

// addStates adds the rows of the records that have the next time.
func (x *bulk) addStates(ctx context.Context) error {
	t := x.states.time()
	x.strange = x.strange || t > math.MaxInt64/4
	for f := x.states.first(); f != nil && f.s.rec.Time <= t; f = x.states.first() {
		r := &f.s.rec
		x.strange = x.strange || r.Time < f.last
		f.last = r.Time
		l, err := x.lane(r)
		if err != nil {
			return err
		}
		if x.d.row(l.batch(), r); x.d.err != nil {
			return x.d.err
		}
		if l.n++; l.n == trace.BatchRows {
			err = x.emit(l)
		}
		if err == nil {
			err = f.advance(ctx)
		}
		if err != nil || x.odd() {
			return err
		}
	}
	return nil
}
