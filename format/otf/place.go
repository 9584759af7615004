package otf

import (
	"context"
	"errors"
)

// Place is where a record stands in a file of a stream.
type Place struct {
	// Offset is where the time line stands from which the record has its time, in bytes.
	// In a compressed file it is where decompressing can begin: behind the header of the
	// file, or at a restart point.
	Offset int64
	// Skip is how many bytes of text lie between Offset and the time line in a compressed
	// file, 0 in a plain one.
	Skip int64
	// Time and Process are those of the record.
	Time, Process uint64
}

// Search finds the first record of a part at time t or later, by bisection; ok is false
// if there is none. The records must be in the order of time. Reading from there,
// [StreamReader.Select] with the place's time does. Definitions and markers have no order
// of time: in them nothing is found.
func (s *StreamReader) Search(ctx context.Context, part Part, t uint64) (p Place, ok bool, err error) {
	err = s.places(ctx, part, t, func(x Place) bool {
		if x.Time >= t {
			p, ok = x, true
		}
		return !ok
	})
	return p, ok, err
}

// SearchBack finds the first record of the latest time in a part that is not after t, by
// bisection: with [Snapshots], the latest snapshot at or before t. ok is false if there
// is none. The records must be in the order of time.
func (s *StreamReader) SearchBack(ctx context.Context, part Part, t uint64) (p Place, ok bool, err error) {
	after := t + 1
	if after == 0 {
		after = t
	}
	err = s.places(ctx, part, after, func(x Place) bool {
		if x.Time > t {
			return false
		}
		p, ok = x, true
		return true
	})
	if !ok || err != nil {
		return p, false, err
	}
	// The bisection may have ended among the records of that time.
	return s.Search(ctx, part, p.Time)
}

// places gives the places of records of a part to use, from one before the first at
// time t or later on, until use returns false.
func (s *StreamReader) places(ctx context.Context, part Part, t uint64, use func(Place) bool) error {
	if part >= numParts || !part.timed() {
		return nil
	}
	r := *s.r.quiet()
	r.Select(t, 0, nil)
	x, err := r.open(s.id, part)
	if x == nil || err != nil {
		return err
	}
	defer x.t.Close()
	err = x.t.places(func(p Place) bool { return ctx.Err() == nil && use(p) })
	return errors.Join(err, ctx.Err())
}

// places gives the places of the records from where the text is read to use, until that
// returns false.
func (t *text) places(use func(Place) bool) error {
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
				continue // libotf takes the first one
			}
			timed, p.Time, p.Offset = true, sc.hex(), off
			if t.zip != nil {
				p.Offset, p.Skip = t.begun, off
			}
		case processLine:
			sc.i++
			if sc.skip(); timed && sc.i < len(l) && hexValue[l[sc.i]] < 16 {
				begun, p.Process = true, sc.hex()&unset
			}
		case recordLine:
			if begun && !use(p) {
				return nil
			}
		}
	}
}
