package serve

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
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

// detailTime is how long reading a detail may take, see [Server.detailTime]. Opening the trace
// goes on behind it, for the next question.
const detailTime = 2 * time.Second

// describe calls f with a decoder, for a short time. The trace's damage is no reason not
// to show what the index has.
func (e *entry) describe(ctx context.Context, d *described, f func(context.Context, *reader) error) error {
	short, cancel := context.WithTimeout(ctx, e.s.detailTime)
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
	sel := trace.Events()
	sel.From = at
	if at < math.MaxInt64 {
		sel.To = at + 1
	}
	sel.Location = func(l uint32) bool { return l == loc }
	err := x.Scan(ctx, sel, format.PerLocation, format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
		c := b.Cursor()
		for c.Next() {
			if f(&c) {
				return errFound
			}
		}
		return nil
	}})
	if errors.Is(err, errFound) {
		return nil
	}
	return err
}

// describeSpan says what the trace has on a span: attributes of the event that begins it,
// and facts of its definition. around are the spans at the lower depths of its track.
// name is what the span is named by; inner is how many visits of its region are inside of it
// until its location ends.
func (e *entry) describeSpan(ctx context.Context, t *index.Track, s index.Span, name string, around []index.Span, inner int) (d described, err error) {
	var find func(context.Context, *reader, *index.Track, index.Span, begins, []index.Span, *described) error
	color := e.color
	switch t.Kind {
	case index.LocationTrack:
		find = func(ctx context.Context, x *reader, t *index.Track, s index.Span, begins begins, around []index.Span, d *described) error {
			return findVisit(ctx, x, t, s, begins, around, inner, d)
		}
	case index.ResourceTrack:
		find = findClaim
	default:
		return d, nil
	}
	err = e.describe(ctx, &d, func(ctx context.Context, x *reader) error {
		defs := x.Defs()
		region := s.Region
		err := find(ctx, x, t, s, func(c *trace.Cursor) bool {
			if color == "" {
				if !sameRegion(defs, c.Ref(), s.Region, name) {
					return false
				}
				region = c.Ref()
				return true
			}
			keys, values := c.Attrs()
			i := slices.IndexFunc(keys, func(k uint32) bool { return defs.Attributes.At(k).Name == color })
			if i < 0 && s.Region != trace.NoRef || i >= 0 && values[i].String() != name {
				return false
			}
			region = c.Ref()
			return true
		}, around, &d)
		switch {
		case !defs.Regions.Has(region):
		case color != "" && err == nil && len(d.attributes) > 0:
			d.attributes = append(d.attributes, attribute{"region", defs.Regions.At(region).Name})
			fallthrough
		case color == "":
			d.attributes = append(d.attributes, regionAttributes(defs.Regions.At(region))...)
		}
		return err
	})
	return d, err
}

// sameRegion reports whether a region of a decoder is one of the index, with a name, or counts as one with it. Where
// the events define the regions, as in ETF, decoders that begin in the middle number them as
// they come.
func sameRegion(defs *trace.Definitions, ref, region uint32, name string) bool {
	called := func(r uint32) bool { return defs.Regions.Has(r) && defs.Regions.At(r).Name == name }
	switch {
	case region == trace.NoRef:
		return !defs.Regions.Has(ref)
	case called(region):
		return oneRow(defs, ref, region)
	}
	return called(ref)
}

// oneRow reports whether two regions are one in [trace.Rows].
func oneRow(defs *trace.Definitions, a, b uint32) bool {
	if a == b || !defs.Regions.Has(a) || !defs.Regions.Has(b) {
		return a == b
	}
	x, y := defs.Regions.At(a), defs.Regions.At(b)
	return x.Name != "" && x.Name == y.Name && x.File == y.File && x.Line == y.Line
}

// begins reports whether the event in hand begins a span that is named like the one that is
// looked for.
type begins func(c *trace.Cursor) bool

// findVisit finds the enter of a visit, and whether it was left.
func findVisit(ctx context.Context, x *reader, t *index.Track, s index.Span, begins begins, around []index.Span, inner int, d *described) error {
	region := s.Region
	// Of a region that is entered several times at once the outermost visit comes first.
	before := 0
	for _, o := range around {
		if o.Region == s.Region && o.Start == s.Start {
			before++
		}
	}
	enters := 0 // of those that begin at once, up to the one of the visit
	err := eventAt(ctx, x, t.Location, s.Start, func(c *trace.Cursor) bool {
		if c.Kind() != trace.Enter || !begins(c) {
			return false
		}
		enters++
		region = c.Ref()
		d.attributes = eventAttributes(x.Defs(), c)
		before--
		return before < 0
	})
	if err != nil || s.End != t.Last {
		return err
	}
	// It may end there since its location does, and not because it was left.
	d.open = true
	return eventAt(ctx, x, t.Location, s.End, func(c *trace.Cursor) bool {
		switch {
		case !oneRow(x.Defs(), c.Ref(), region):
		case s.Start == s.End && enters > 0:
			if c.Kind() == trace.Enter {
				enters--
			}
		case c.Kind() == trace.Enter:
			inner++
		case c.Kind() == trace.Leave:
			d.open = inner > 0
			inner--
		}
		return !d.open
	})
}

// mostAlike is how many claims that begin at once are looked at.
const mostAlike = 10_000

// findClaim finds the begin of a claim. Claims of the same activity that begin at once are
// in the order of lanes, unless some of them end between; its own end tells then.
func findClaim(ctx context.Context, x *reader, t *index.Track, s index.Span, begins begins, around []index.Span, d *described) error {
	type claim struct {
		id         int64
		attributes []attribute
	}
	defs := x.Defs()
	var alike []claim
	atOnce := map[int64]bool{}
	err := eventAt(ctx, x, t.Location, s.Start, func(c *trace.Cursor) bool {
		switch {
		case len(c.Ops()) == 0:
		case c.Kind() == trace.ClaimEnd:
			atOnce[int64(c.Op(0))] = true
		case c.Kind() == trace.ClaimBegin && onResource(defs, t, c.Op(1)) && begins(c):
			id := int64(c.Op(0))
			delete(atOnce, id)
			alike = append(alike, claim{id, eventAttributes(defs, c)})
		}
		return len(alike)+len(atOnce) >= mostAlike
	})
	if err != nil {
		return err
	}
	alike = slices.DeleteFunc(alike, func(c claim) bool { return atOnce[c.id] != (s.Start == s.End) })
	if len(alike) == 0 {
		return nil
	}
	before := 0
	for _, o := range around {
		if o.Region == s.Region && o.Start == s.Start && (o.End == o.Start) == (s.End == s.Start) {
			before++
		}
	}
	best := &alike[min(before, len(alike)-1)]
	if s.Start < s.End && (len(alike) > 1 || s.End == t.Last) {
		ended := map[int64]bool{}
		err = eventAt(ctx, x, t.Location, s.End, func(c *trace.Cursor) bool {
			if c.Kind() == trace.ClaimEnd {
				ended[int64(c.Op(0))] = true
			}
			return len(ended) == mostAlike
		})
		if err != nil {
			return err
		}
		if d.open = !ended[best.id]; d.open && s.End != t.Last {
			d.open = false
			if i := slices.IndexFunc(alike, func(c claim) bool { return ended[c.id] }); i >= 0 {
				best = &alike[i]
			}
		}
	}
	d.attributes = best.attributes
	return nil
}

// onResource reports whether the operand of a claim is the resource of a track.
func onResource(defs *trace.Definitions, t *index.Track, op uint64) bool {
	if op >= uint64(defs.Resources.Len()) {
		return t.Capacity == 0 && t.Unit == ""
	}
	r := defs.Resources.At(uint32(op))
	return r.ID == t.ID && r.Name == t.Name
}

// describeInstant says what the trace has on an instant.
func (e *entry) describeInstant(ctx context.Context, t *index.Track, i index.Instant) (d described, err error) {
	d.kind = i.Kind.Spec().Name
	err = e.describe(ctx, &d, func(ctx context.Context, x *reader) error {
		defs := x.Defs()
		if d.kind == "" {
			d.kind = defs.Spec(i.Kind).Name
		}
		return eventAt(ctx, x, t.Location, i.Time, func(c *trace.Cursor) bool {
			if c.Kind() != i.Kind {
				return false
			}
			if r := defs.Spec(c.Kind()).Ref; r == trace.RefRegion && e.color == "" && i.Region != trace.NoRef && !sameRegion(defs, c.Ref(), i.Region, i.Name) {
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
		out = append(out, attribute{defs.Attributes.At(k).Name, valueText(defs, values[i])})
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
		if k := defs.Spec(c.Kind()); k.Ref == trace.RefMetric && defs.Metrics.Has(c.Ref()) {
			return trace.Value{Num: v, Type: defs.Metrics.At(c.Ref()).Type}.String()
		}
	}
	return strconv.FormatUint(v, 10)
}

// valueText is the value of an attribute for people; of a reference the name.
func valueText(defs *trace.Definitions, v trace.Value) string {
	switch {
	case v.Type == trace.RegionRef && v.Num < uint64(defs.Regions.Len()):
		return defs.Regions.At(uint32(v.Num)).Name
	case v.Type == trace.LocationRef && v.Num < uint64(defs.Locations.Len()):
		return defs.Locations.At(uint32(v.Num)).Label()
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
