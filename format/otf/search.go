package otf

import (
	"context"
	"errors"
)

// Place is the position of a record in a file of a stream.
type Place struct {
	// Offset is the position in bytes of the time line that sets the time of the record. In a
	// compressed file it is a position at which decompression can start: after the header of the
	// file, or at a restart point.
	Offset int64
	// Skip is the number of bytes of text between Offset and the time line in a compressed file. It is 0 in a
	// plain file.
	Skip int64
	// Time and Process are the time and process of the record.
	Time, Process uint64
}

// Search finds the first record of a part at time t or later, by bisection. ok is false if no such record
// exists. The records must be in the order of time. To start reading at the record, call [StreamReader.Select]
// with the time of the place. Search finds nothing in definitions and markers, which are not ordered by time.
func (s *StreamReader) Search(ctx context.Context, part Part, t uint64) (p Place, ok bool, err error) {
	err = s.eachPlace(ctx, part, t, func(x Place) bool {
		if x.Time >= t {
			p, ok = x, true
		}
		return !ok
	})
	return p, ok, err
}

// SearchBack finds the latest time of a part at or before t, and returns the first record of that time. It
// uses bisection. For [Snapshots], this is the latest snapshot at or before t. ok is false if no such record
// exists. The records must be in the order of time.
func (s *StreamReader) SearchBack(ctx context.Context, part Part, t uint64) (p Place, ok bool, err error) {
	after := t + 1
	if after == 0 {
		after = t
	}
	err = s.eachPlace(ctx, part, after, func(x Place) bool {
		if x.Time > t {
			return false
		}
		p, ok = x, true
		return true
	})
	if !ok || err != nil {
		return p, false, err
	}
	// The bisection may have ended at a later record of the same time.
	return s.Search(ctx, part, p.Time)
}

// eachPlace calls use with the places of successive records, until use returns false. It begins at a
// record before the first one at time t or later.
func (s *StreamReader) eachPlace(ctx context.Context, part Part, t uint64, use func(Place) bool) error {
	if part >= numParts || !part.timed() {
		return nil
	}
	r := *s.r.withoutReport()
	r.Select(t, 0, nil)
	x, err := r.open(s.id, part)
	if x == nil || err != nil {
		return err
	}
	defer x.t.Close()
	err = x.t.eachPlace(func(p Place) bool { return ctx.Err() == nil && use(p) })
	return errors.Join(err, ctx.Err())
}

// eachPlace calls use with the places of all records after the current position of the text, until use
// returns false.
func (t *lineReader) eachPlace(use func(Place) bool) error {
	var p Place
	timed, begun := false, false
	for {
		l, off, whole, more, err := t.line()
		if err != nil || !more || !whole {
			return err
		}
		kind, i := lineType(l)
		sc := scanner{l: l, i: i}
		switch kind {
		case timeLine:
			if timed && !begun {
				continue // libotf uses the first of several successive time lines
			}
			timed, p.Time, p.Offset = true, sc.hex(), off
			if t.zip != nil {
				p.Offset, p.Skip = t.begun, off
			}
		case processLine:
			sc.i++
			if sc.skip(); timed && sc.i < len(l) && hexValue[l[sc.i]] < 16 {
				begun, p.Process = true, sc.hex()&noProcess
			}
		case recordLine:
			if begun && !use(p) {
				return nil
			}
		}
	}
}
