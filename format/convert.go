package format

import (
	"context"
	"errors"
	"fmt"

	"github.com/weft-trace/weft/trace"
)

// Convert writes the events that sel selects with an encoder, in the order that the encoder needs,
// and closes the encoder. After an error it aborts the encoder instead. It does not commit the
// output. It uses no memory beyond that of the reader and the encoder.
func Convert(ctx context.Context, events Events, sel trace.Selection, e Encoder) error {
	err := events.Prepare(ctx)
	if err == nil {
		err = events.Defs().CheckTree()
	}
	if err == nil {
		err = e.Begin(events.Defs())
	}
	if err == nil {
		err = events.Scan(ctx, sel, e.Order(), e)
	}
	if err == nil {
		err = e.Close()
	}
	if err != nil {
		e.Abort()
	}
	return err
}

// ErrEventsLost is wrapped by the error of [Save] if a format cannot keep all events, and by the
// error of an encoder that can keep no events at all.
var ErrEventsLost = errors.New("events would be lost")

// Save writes a recorded trace to a file in format f, as [SaveEvents] does.
func Save(ctx context.Context, path string, f Format, r *trace.Recorder) error {
	return SaveEvents(ctx, path, f, Recorded(r))
}

// SaveEvents writes events to a file in format f. The file appears complete or not at all. If the
// format cannot keep all events, SaveEvents fails with [ErrEventsLost]. It does not fail for events
// that the format keeps in another form.
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

// Recorded returns the events of a recorder.
func Recorded(r *trace.Recorder) Events { return &recorderEvents{r} }

// recorderEvents implements [Events] for a recorder.
type recorderEvents struct{ r *trace.Recorder }

// Defs returns the recorder's definitions.
func (re *recorderEvents) Defs() *trace.Definitions { return re.r.Defs() }

// Prepare does nothing.
func (re *recorderEvents) Prepare(context.Context) error { return nil }

// Scan delivers the recorded events.
func (re *recorderEvents) Scan(ctx context.Context, sel trace.Selection, order Order, sink Sink) error {
	sink = Trim(re.Defs(), sel, sink)
	if order == GlobalOrder {
		var list []Stream
		for loc := range re.Defs().Locations.Len() {
			list = append(list, (&batchStream{re.r.Batches(uint32(loc))}).next)
		}
		if err := Merge(ctx, Select(re.Defs(), sel, list), sink); err != nil {
			return err
		}
	} else {
		for loc := range re.Defs().Locations.Len() {
			for _, b := range re.r.Batches(uint32(loc)) {
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := sink.Batch(b); err != nil {
					return err
				}
			}
		}
	}
	if l := re.r.Links(); len(l) > 0 {
		return sink.Links(l)
	}
	return nil
}

// ScanParallel delivers all events in one goroutine.
func (re *recorderEvents) ScanParallel(ctx context.Context, sel trace.Selection, begin func() func(int) Sink) error {
	return ScanInOne(ctx, re, sel, begin)
}

// batchStream is a stream of given batches.
type batchStream struct{ list []*trace.Batch }

// next returns the next batch.
func (s *batchStream) next(context.Context) (*trace.Batch, error) {
	if len(s.list) == 0 {
		return nil, nil
	}
	b := s.list[0]
	s.list = s.list[1:]
	return b, nil
}
