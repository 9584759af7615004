package otf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
)

// Bounds is [decoder.Extent] of a trace whose files are in the order of time: it reads the
// begins and the ends of these alone.
func (d *decoder) Bounds(ctx context.Context) (first, last int64, ok bool, err error) {
	if d.indexed || d.marked {
		return d.Extent(ctx)
	}
	low, high := uint64(math.MaxUint64), uint64(0)
	r := *d.r.quiet()
	r.opt.Buffer = window
	for _, id := range r.master.Streams() {
		for _, part := range []Part{Snapshots, Statistics, Events} {
			if err := ctx.Err(); err != nil {
				return 0, 0, false, err
			}
			first, last, found, err := r.bounds(id, part)
			if err != nil {
				return 0, 0, false, err
			}
			if found {
				low, high, ok = min(low, first), max(high, last), true
			}
		}
	}
	if low > high || high > math.MaxInt64/4 {
		// There are no records, or they are not in the order of time, or the clock of the
		// model is another one.
		return d.Extent(ctx)
	}
	return d.clock.model(low), d.clock.model(high), ok, nil
}

// bounds are the times of the first and the last record of a part of a stream.
func (r *Reader) bounds(id uint32, part Part) (first, last uint64, ok bool, err error) {
	x, err := r.open(id, part)
	if x == nil || err != nil {
		return 0, 0, false, err
	}
	defer x.t.Close()
	err = x.t.places(func(p Place) bool {
		first, ok = p.Time, true
		return false
	})
	if !ok || err != nil {
		return 0, 0, false, err
	}
	if x.t.zip == nil {
		if last, found, err := x.t.lastTime(); found || err != nil {
			return first, last, true, err
		}
	}
	for _, from := range []uint64{math.MaxUint64, 0} {
		found := false
		last, found, err = r.lastFrom(id, part, from)
		if found || err != nil {
			return first, last, true, err
		}
	}
	return first, first, true, nil
}

// lastFrom is the time of the last record of a part of a stream that there is from where
// a time is searched.
func (r *Reader) lastFrom(id uint32, part Part, from uint64) (last uint64, found bool, err error) {
	x, err := r.open(id, part)
	if x == nil || err != nil {
		return 0, false, err
	}
	defer x.t.Close()
	if from > 0 {
		if err := x.t.search(from); err != nil {
			return 0, false, err
		}
	}
	err = x.t.places(func(p Place) bool {
		last, found = p.Time, true
		return true
	})
	return last, found, err
}

// lastTime is that of the last record in a plain file, if it is near the end.
func (t *text) lastTime() (time uint64, found bool, err error) {
	for size := int64(window); size <= 16*window; size *= 4 {
		from := max(0, t.h.Size-size)
		buf := make([]byte, t.h.Size-from)
		if _, err := t.h.ReadAt(buf, from); err != nil && !errors.Is(err, io.EOF) {
			return 0, false, fmt.Errorf("%s:0x%x: %w", t.name, from, err)
		}
		if from > 0 {
			_, buf, _ = bytes.Cut(buf, []byte{'\n'}) // the line may not be whole
		}
		var now uint64
		timed := false
		for len(buf) > 0 {
			l, rest, whole := bytes.Cut(buf, []byte{'\n'})
			if !whole {
				break
			}
			kind, i := lineType(l)
			switch kind {
			case timeLine:
				s := scanner{l: l, i: i}
				now, timed = s.hex(), true
			case recordLine:
				if timed {
					time, found = now, true
				}
			}
			buf = rest
		}
		if found {
			return time, true, nil
		}
		if from == 0 {
			break
		}
	}
	return 0, false, nil
}
