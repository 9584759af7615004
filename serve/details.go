package serve

import (
	"context"
	"errors"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/timeline/index"
	"github.com/weft-trace/weft/trace"
)

// attribute is something that is known of an event.
type attribute struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// described is what the trace says of something that the index knows.
type described struct {
	kind       string
	attributes []attribute
	open       bool
	partial    bool // reading took too long
}

// detailTime is how long reading a detail may take. Opening the trace goes on behind it,
// for the next question.
const detailTime = 2 * time.Second

// describe calls f with a decoder, for a short time. The trace's damage is no reason not
// to show what the index has.
func (e *entry) describe(ctx context.Context, d *described, f func(context.Context, *reader) error) error {
	short, cancel := context.WithTimeout(ctx, detailTime)
	defer cancel()
	err := e.decoders.with(short, func(x *reader) error {
		// Whoever keeps the sinks when it was stopped must not write to d.
		return f(short, x)
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	d.partial = err != nil && !errors.Is(err, errFound)
	return nil
}

// eventAt calls f for the events of a location at a time, until it reports true.
func eventAt(ctx context.Context, x *reader, loc uint32, at int64, f func(*trace.Cursor) bool) error {
	sel := trace.Everything()
	sel.Links = false
	sel.From = at
	if at < math.MaxInt64 {
		sel.To = at + 1
	}
	sel.Location = func(l uint32) bool { return l == loc }
	var mu sync.Mutex
	err := format.Scan(ctx, x.Decoder, sel, func(int) format.Sink {
		return format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
			mu.Lock()
			defer mu.Unlock()
			c := b.Cursor()
			for c.Next() {
				if f(&c) {
					return errFound
				}
			}
			return nil
		}}
	})
	if errors.Is(err, errFound) {
		return nil
	}
	return err
}

// describeSpan says what the trace has on a span: attributes of the event that begins it,
// and facts of its definition.
func (e *entry) describeSpan(ctx context.Context, t *index.Track, s index.Span) (d described, err error) {
	var begin trace.Kind
	switch t.Kind {
	case index.LocationTrack:
		begin = trace.Enter
	case index.ResourceTrack:
		begin = trace.ClaimBegin
	default:
		return d, nil
	}
	err = e.describe(ctx, &d, func(ctx context.Context, x *reader) error {
		defs := x.Defs()
		err := eventAt(ctx, x, t.Location, s.Start, func(c *trace.Cursor) bool {
			if c.Kind() != begin || c.Ref() != s.Region {
				return false
			}
			d.attributes = eventAttributes(defs, c)
			return true
		})
		if int(s.Region) < defs.Regions.Len() {
			d.attributes = append(d.attributes, regionAttributes(defs.Regions.At(int(s.Region)))...)
		}
		if err != nil || s.End != t.Last || begin != trace.Enter {
			return err
		}
		// It may end there since its location does, and not because it was left.
		d.open = true
		return eventAt(ctx, x, t.Location, s.End, func(c *trace.Cursor) bool {
			if c.Kind() == trace.Leave && c.Ref() == s.Region {
				d.open = false
			}
			return !d.open
		})
	})
	return d, err
}

// describeInstant says what the trace has on an instant.
func (e *entry) describeInstant(ctx context.Context, t *index.Track, i index.Instant) (d described, err error) {
	if int(i.Kind) < len(trace.KindTable) {
		d.kind = trace.KindTable[i.Kind].Name
	}
	err = e.describe(ctx, &d, func(ctx context.Context, x *reader) error {
		defs := x.Defs()
		if d.kind == "" {
			d.kind = defs.Spec(i.Kind).Name
		}
		return eventAt(ctx, x, t.Location, i.Time, func(c *trace.Cursor) bool {
			if c.Kind() != i.Kind {
				return false
			}
			if r := defs.Spec(c.Kind()).Ref; r == trace.RefRegion && i.Region != trace.NoRef && c.Ref() != i.Region {
				return false
			}
			d.attributes = eventAttributes(defs, c)
			return true
		})
	})
	return d, err
}

// eventAttributes are the operands and attributes of an event.
func eventAttributes(defs *trace.Definitions, c *trace.Cursor) (out []attribute) {
	spec := defs.Spec(c.Kind())
	if spec.Ref != trace.RefRegion {
		if name, ok := defs.RefName(spec.Ref, c.Ref()); ok {
			out = append(out, attribute{spec.Ref.String(), name})
		}
	}
	for i, v := range c.Ops() {
		if len(spec.Operands) == 0 || i >= len(spec.Operands) && !spec.Variadic || v == trace.Undefined {
			continue
		}
		o := &spec.Operands[min(i, len(spec.Operands)-1)]
		text := operandText(defs, c, o.Type, v)
		if o.Unit != "" {
			text += " " + o.Unit
		}
		out = append(out, attribute{o.Name, text})
	}
	keys, values := c.Attrs()
	for i, k := range keys {
		out = append(out, attribute{defs.Attributes.At(int(k)).Name, valueText(defs, values[i])})
	}
	return out
}

// operandText is an operand for people.
func operandText(defs *trace.Definitions, c *trace.Cursor, t trace.OperandType, v uint64) string {
	if name, ok := defs.OperandName(t, v); ok {
		return name
	}
	switch t {
	case trace.OpInt:
		return strconv.FormatInt(int64(v), 10)
	case trace.OpTime, trace.OpDuration:
		return defs.Clock.FormatSeconds(int64(v)) + " s"
	case trace.OpFloat:
		return strconv.FormatFloat(math.Float64frombits(v), 'g', -1, 64)
	case trace.OpBits:
		if k := defs.Spec(c.Kind()); k.Ref == trace.RefMetric && int(c.Ref()) < defs.Metrics.Len() {
			return trace.Value{Num: v, Type: defs.Metrics.At(int(c.Ref())).Type}.String()
		}
	}
	return strconv.FormatUint(v, 10)
}

// valueText is the value of an attribute for people; of a reference the name.
func valueText(defs *trace.Definitions, v trace.Value) string {
	switch {
	case v.Type == trace.RegionRef && v.Num < uint64(defs.Regions.Len()):
		return defs.Regions.At(int(v.Num)).Name
	case v.Type == trace.LocationRef && v.Num < uint64(defs.Locations.Len()):
		return defs.Locations.At(int(v.Num)).Label()
	}
	// The text may be in the buffer of the batch.
	return strings.Clone(trace.Text(v.String()))
}

// regionAttributes are the facts of a definition.
func regionAttributes(r *trace.Region) (out []attribute) {
	if r.File != "" {
		out = append(out, attribute{"file", r.File})
	}
	if r.Line > 0 {
		out = append(out, attribute{"line", strconv.FormatInt(r.Line, 10)})
	}
	if r.Role != "" {
		out = append(out, attribute{"role", r.Role})
	}
	for _, a := range r.Attrs {
		out = append(out, attribute{a.Key, trace.Text(a.Value.String())})
	}
	return out
}
