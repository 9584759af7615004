package otf

import (
	"context"
	"math"

	"github.com/weft-trace/weft/trace"
)

// stateFiles reads the snapshots and statistics of a stream in the order of time.
type stateFiles struct {
	list []*stateFile
}

// stateFile reads one file of snapshots or statistics. Its stream holds the next record.
type stateFile struct {
	*fileStream
	last uint64 // time of the previous record
	end  bool
}

func (f *stateFile) advance(ctx context.Context) error {
	r, err := f.next(ctx)
	f.end = r == nil
	return err
}

func (s *stateFiles) close() {
	for _, f := range s.list {
		f.close()
	}
	s.list = nil
}

// first returns the file with the next record. At equal times, snapshots come first. It returns nil at the
// end.
func (s *stateFiles) first() (first *stateFile) {
	for _, f := range s.list {
		if !f.end && (first == nil || f.s.rec.Time < first.s.rec.Time) {
			first = f
		}
	}
	return first
}

// time returns the time of the next record in ticks. At the end, it returns the greatest possible time.
func (s *stateFiles) time() uint64 {
	if f := s.first(); f != nil {
		return f.s.rec.Time
	}
	return math.MaxUint64
}

// openStates opens the snapshots and statistics of a stream. good is false if one of the files must be
// surveyed first.
func (br *bulkReader) openStates(ctx context.Context, stream uint32, sel trace.Selection) (good bool, err error) {
	br.states.close()
	for _, part := range []Part{Snapshots, Statistics} {
		f, err := br.d.stream(ctx, &survey{id: stream, part: part}, sel, br.d.opt.SortMemory())
		if err != nil {
			return false, err
		}
		if f == nil {
			continue
		}
		y := &stateFile{fileStream: f}
		br.states.list = append(br.states.list, y)
		if err := y.advance(ctx); err != nil || !f.s.begun {
			return false, err
		}
	}
	return true, nil
}

// addStates adds the rows of all records that have the time of the next record.
func (br *bulkReader) addStates(ctx context.Context) error {
	t := br.states.time()
	br.unordered = br.unordered || t > math.MaxInt64/4
	for f := br.states.first(); f != nil && f.s.rec.Time <= t; f = br.states.first() {
		r := &f.s.rec
		br.unordered = br.unordered || r.Time < f.last
		f.last = r.Time
		l, err := br.lane(r)
		if err != nil {
			return err
		}
		if br.d.addRow(l.batch(), r); br.d.err != nil {
			return br.d.err
		}
		if l.n++; l.n == laneLimit {
			err = br.emit(l)
		}
		if err == nil {
			err = f.advance(ctx)
		}
		if err != nil || br.needsSurvey() {
			return err
		}
	}
	return nil
}
