package format

import (
	"context"
	"fmt"

	"github.com/weft-trace/weft/trace"
)

// Convert writes the events of a decoder that sel selects with an encoder, in
// the order that the encoder needs, and closes the encoder. It holds what the
// decoder and the encoder hold, no more. The encoder is aborted on errors.
func Convert(ctx context.Context, d Decoder, sel trace.Selection, e Encoder) error {
	err := Prepare(ctx, d)
	if err == nil {
		err = e.Begin(d.Defs())
	}
	if err == nil {
		if e.Order() == GlobalOrder {
			err = ScanOrdered(ctx, d, sel, e)
		} else {
			err = Scan(ctx, d, sel, func(int) Sink { return e })
		}
	}
	if err == nil {
		err = e.Close()
	}
	if err != nil {
		e.Abort()
	}
	return err
}

// Save writes a recorded trace to a file in format f. The file appears whole
// or not at all. It fails when the format cannot keep all events; what is kept
// in another form is not an error.
func Save(ctx context.Context, path string, f *Format, r *trace.Recorder) error {
	out, err := CreateFile(path)
	if err != nil {
		return err
	}
	defer out.Abort()
	e, err := f.Create(out, &WriteOptions{})
	if err != nil {
		return err
	}
	if err := Convert(ctx, Recorded(r), trace.Everything(), e); err != nil {
		return err
	}
	if n := e.Loss().Dropped(); n > 0 {
		return fmt.Errorf("%s: %d records cannot be written as %s", path, n, f.Title)
	}
	return out.Commit()
}

// Recorded makes a decoder of a recorder's events.
func Recorded(r *trace.Recorder) Decoder { return &recorded{r} }

type recorded struct{ r *trace.Recorder }

// Defs returns the recorder's definitions.
func (d *recorded) Defs() *trace.Definitions { return d.r.Defs() }

// Close does nothing.
func (d *recorded) Close() error { return nil }

// Scan delivers location by location.
func (d *recorded) Scan(ctx context.Context, sel trace.Selection, sink func(int) Sink) error {
	s := sink(0)
	for loc := range d.r.Defs().Locations.Len() {
		for _, b := range d.r.Batches(uint32(loc)) {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := s.Batch(b); err != nil {
				return err
			}
		}
	}
	return d.links(sel, s)
}

// ScanOrdered delivers in global time order.
func (d *recorded) ScanOrdered(ctx context.Context, sel trace.Selection, sink Sink) error {
	return ScanStreams(ctx, d, sel, sink)
}

// Streams are the locations.
func (d *recorded) Streams(context.Context, trace.Selection) (list []Stream, closeAll func(), err error) {
	for loc := range d.r.Defs().Locations.Len() {
		list = append(list, &batchStream{d.r.Batches(uint32(loc))})
	}
	return list, func() {}, nil
}

// Links delivers the links.
func (d *recorded) Links(_ context.Context, sel trace.Selection, sink Sink) error {
	return d.links(sel, sink)
}

func (d *recorded) links(sel trace.Selection, sink Sink) error {
	if l := d.r.Links(); sel.Links && len(l) > 0 {
		return sink.Links(l)
	}
	return nil
}

type batchStream struct{ list []*trace.Batch }

// Next returns the next batch.
func (s *batchStream) Next(context.Context) (*trace.Batch, error) {
	if len(s.list) == 0 {
		return nil, nil
	}
	b := s.list[0]
	s.list = s.list[1:]
	return b, nil
}
