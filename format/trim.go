package format

import (
	"context"
	"math"

	"github.com/weft-trace/weft/trace"
)

// Trim returns a sink that passes on to sink exactly the events and links that sel selects, and
// drops all others.
func Trim(d *trace.Definitions, sel trace.Selection, sink Sink) Sink {
	if sel.Stacks {
		sel.From = math.MinInt64
	}
	if sel.All() && sel.Links != trace.NoLinks {
		return sink
	}
	return &trimmer{selector{defs: d, sel: sel}, sink}
}

// trimmer is the sink that Trim returns.
type trimmer struct {
	selector
	sink Sink
}

// selector selects the rows of batches that belong to a selection.
type selector struct {
	defs  *trace.Definitions
	sel   trace.Selection
	kinds [256]tristate // results of sel.Kind so far
	out   trace.Batch
}

// tristate is the result of a function, or undecided if the function has not been called.
type tristate uint8

const (
	undecided tristate = iota
	resultNo
	resultYes
)

// pick returns the selected rows of a batch. The result is the batch itself if all rows are selected, and nil
// if no row is. The result is valid until the next call.
func (s *selector) pick(b *trace.Batch) *trace.Batch {
	if s.sel.All() {
		return b
	}
	if s.sel.NoEvents {
		return nil
	}
	n := 0
	for n < b.Len() && s.wants(b, n) {
		n++
	}
	if n == b.Len() {
		return b
	}
	s.out.Reset(b.Loc)
	c := b.Cursor() // declared outside the loop: a declaration inside the loop would copy the cursor for each row
	for c.Next() {
		if s.wants(b, c.Row) {
			s.out.AppendRow(&c)
		}
	}
	if s.out.Len() == 0 {
		return nil
	}
	return &s.out
}

// wants reports whether the selection contains a row.
func (s *selector) wants(b *trace.Batch, row int) bool {
	k := b.Kind[row]
	if s.sel.Kind != nil && int(k) < len(s.kinds) {
		if s.kinds[k] == undecided {
			s.kinds[k] = resultNo
			if s.sel.Kind(k) {
				s.kinds[k] = resultYes
			}
		}
		if s.kinds[k] == resultNo {
			return false
		}
	}
	return s.sel.Wants(s.defs, b.Location(row), b.Time[row], k, b.Ref[row])
}

// Select returns streams that deliver only the rows that sel selects, so that [Merge] need not
// order the others.
func Select(d *trace.Definitions, sel trace.Selection, streams []Stream) []Stream {
	if sel.All() {
		return streams
	}
	out := make([]Stream, len(streams))
	for i, x := range streams {
		out[i] = (&selectedStream{selector{defs: d, sel: sel}, x}).next
	}
	return out
}

// selectedStream is a stream that delivers only the selected rows of another stream.
type selectedStream struct {
	selector
	from Stream
}

// next returns the next batch with selected rows.
func (s *selectedStream) next(ctx context.Context) (*trace.Batch, error) {
	for {
		b, err := s.from(ctx)
		if b == nil || err != nil {
			return nil, err
		}
		if b = s.pick(b); b != nil {
			return b, nil
		}
	}
}

// Batch delivers the selected rows.
func (t *trimmer) Batch(b *trace.Batch) error {
	if b = t.pick(b); b == nil {
		return nil
	}
	return t.sink.Batch(b)
}

// End forwards the end of a location.
func (t *trimmer) End(location uint32) error { return End(t.sink, location) }

// Links delivers the selected links.
func (t *trimmer) Links(l []trace.Link) error {
	switch t.sel.Links {
	case trace.NoLinks:
		return nil
	case trace.AllLinks:
		return t.sink.Links(l)
	}
	var keep []trace.Link
	for _, x := range l {
		if t.wantsEnd(x.Src) || t.wantsEnd(x.Dst) {
			keep = append(keep, x)
		}
	}
	if len(keep) == 0 {
		return nil
	}
	return t.sink.Links(keep)
}

// wantsEnd reports whether the time and the location of an end of a link are selected. The other
// criteria do not apply, because ends are not events.
func (t *trimmer) wantsEnd(e trace.End) bool {
	if e.Location == trace.NoRef {
		return t.sel.Location == nil
	}
	return e.Time >= t.sel.From && (e.Time < t.sel.To || t.sel.To == math.MaxInt64) &&
		(t.sel.Location == nil || t.sel.Location(e.Location))
}

// ExactScan prepares a scan for a format that may deliver more events than are selected. It returns the
// selection that the format must deliver at least, and a sink that passes only the selected events and links
// on to sink.
func ExactScan(d *trace.Definitions, sel trace.Selection, sink Sink) (trace.Selection, Sink) {
	sink = Trim(d, sel, sink)
	if sel.Stacks {
		sel.From, sel.Stacks = math.MinInt64, false
	}
	return sel, sink
}
