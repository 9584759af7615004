package format

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/weft-trace/weft/trace"
)

// Convert writes the events that sel selects with an encoder, and closes the encoder. After an error it aborts
// the encoder instead. It does not commit the output. It uses no memory beyond that of the reader and the
// encoder.
func Convert(ctx context.Context, events Events, sel trace.Selection, e Encoder) error {
	err := events.Prepare(ctx)
	if m, ok := events.(*memoryEvents); ok && err == nil && m.check != nil {
		err = m.check()
	}
	if err == nil {
		err = cmp.Or(events.Defs().CheckTree(), checkCapacities(events.Defs()))
	}
	if err == nil {
		err = e.Begin(events.Defs())
	}
	if err == nil {
		err = e.WriteEvents(ctx, events, sel)
	}
	if err == nil {
		err = e.Close()
	}
	if err != nil {
		e.Abort()
	}
	return err
}

// checkCapacities returns an error if a resource has an infinite capacity, or none, which no format can keep.
func checkCapacities(d *trace.Definitions) error {
	for _, r := range d.Resources.All() {
		if math.IsInf(r.Capacity, 0) || math.IsNaN(r.Capacity) {
			return fmt.Errorf("resource %s: found the capacity %v, expected a finite number", r.Label(), r.Capacity)
		}
	}
	return nil
}

// ErrEventsLost is wrapped by the error of [Save] if a format cannot keep all events, and by the
// error of an encoder that can keep no events at all.
var ErrEventsLost = errors.New("events would be lost")

// Save writes a recorded trace to a file in format f, as [SaveEvents] does. It fails if [trace.Recorder.Err] returns an
// error.
func Save(ctx context.Context, path string, f Format, r *trace.Recorder) error {
	return SaveEvents(ctx, path, f, Recorded(r))
}

// SaveEvents writes events to a file in format f. The file appears complete or not at all, and
// replaces a file of the same name. If the format cannot keep all events, SaveEvents fails with
// [ErrEventsLost]. It does not fail for events that the format keeps in another form.
func SaveEvents(ctx context.Context, path string, f Format, events Events) error {
	out, err := CreateFile(path)
	if err != nil {
		return err
	}
	defer out.Abort()
	e, err := f.Create(out, &WriteOptions{})
	if err != nil {
		return err
	}
	if err := Convert(ctx, events, trace.Everything(), e); err != nil {
		return err
	}
	if n := e.Loss().Lost(); n > 0 {
		return fmt.Errorf("%s: %w: %d of them cannot be written as %s", path, ErrEventsLost, n, f.About().Title)
	}
	return out.Commit()
}

// Recorded returns the events of a recorder. [Convert] fails with the error of [trace.Recorder.Err].
func Recorded(r *trace.Recorder) Events { return &memoryEvents{r.Defs(), r.Batches, r.Links, r.Err} }

// ReadIntoMemory reads the selected events into memory and returns them. It returns nil if they have more than limit
// rows. The result shares the strings and definitions of events, so events must stay open. A row uses about 60
// bytes.
func ReadIntoMemory(ctx context.Context, events Events, sel trace.Selection, limit int64) (Events, error) {
	var batches [][]*trace.Batch
	var links []trace.Link
	err := events.Scan(ctx, sel, PerLocation, SinkFuncs{OnBatch: func(b *trace.Batch) error {
		if limit -= int64(b.Len()); limit < 0 {
			return errLimit
		}
		for int64(b.Loc) >= int64(len(batches)) {
			batches = append(batches, nil)
		}
		batches[b.Loc] = append(batches[b.Loc], b.Clone())
		return nil
	}, OnLinks: func(list []trace.Link) error {
		links = append(links, list...)
		return nil
	}})
	if errors.Is(err, errLimit) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &memoryEvents{events.Defs(), func(loc uint32) []*trace.Batch {
		if int64(loc) >= int64(len(batches)) {
			return nil
		}
		return batches[loc]
	}, func() []trace.Link { return links }, nil}, nil
}

// errLimit ends a scan that delivers too many rows.
var errLimit = errors.New("too many rows")

// memoryEvents implements [Events] for events in memory.
type memoryEvents struct {
	defs    *trace.Definitions
	batches func(loc uint32) []*trace.Batch
	links   func() []trace.Link
	check   func() error // called before a conversion, unless it is nil
}

// Defs returns the definitions of the trace.
func (m *memoryEvents) Defs() *trace.Definitions { return m.defs }

// Prepare does nothing.
func (m *memoryEvents) Prepare(context.Context) error { return nil }

// Scan delivers the events from memory.
func (m *memoryEvents) Scan(ctx context.Context, sel trace.Selection, order Order, sink Sink) error {
	sink = Trim(m.defs, sel, sink)
	if order == GlobalOrder {
		var list []Stream
		for loc := range m.defs.Locations.Len() {
			list = append(list, (&batchStream{m.batches(uint32(loc))}).next)
		}
		if err := Merge(ctx, Select(m.defs, sel, list), sink); err != nil {
			return err
		}
	} else {
		for loc := range m.defs.Locations.Len() {
			for _, b := range m.batches(uint32(loc)) {
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := sink.Batch(b); err != nil {
					return err
				}
			}
		}
	}
	if l := m.links(); len(l) > 0 {
		return sink.Links(l)
	}
	return nil
}

// ScanParallel delivers all events in one goroutine.
func (m *memoryEvents) ScanParallel(ctx context.Context, sel trace.Selection, begin func() func(int) Sink) error {
	return ScanInOne(ctx, m, sel, begin)
}

// batchStream is a stream of given batches.
type batchStream struct{ list []*trace.Batch }

// next returns the next batch of the list, or nil after the last one.
func (s *batchStream) next(context.Context) (*trace.Batch, error) {
	if len(s.list) == 0 {
		return nil, nil
	}
	b := s.list[0]
	s.list = s.list[1:]
	return b, nil
}
