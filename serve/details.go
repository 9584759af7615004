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

// attribute is a name and a value. Together they describe an event, according to the trace.
type attribute struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// details holds the data about a span, instant or link that the index lacks and that come from the trace.
type details struct {
	kind       string
	attributes []attribute
	open       bool
	partial    bool // some data are missing because reading the trace took too long
}

// detailTime is the time limit for reading details. Tests change the field [Server.detailTime] instead. If the
// time ends while the trace is being opened, opening continues, so that later requests can use the reader.
const detailTime = 2 * time.Second

// describeWithReader calls f with a reader and a context that ends after detailTime. If f fails,
// describeWithReader sets d.partial. The answer then contains only the data of the index.
func (e *entry) describeWithReader(ctx context.Context, d *details, f func(context.Context, *reader) error) error {
	short, cancel := context.WithTimeout(ctx, e.s.detailTime)
	defer cancel()
	err := e.arranged.useReader(short, func(x *reader) error {
		// f must not write to d after it has returned, even if its scan was cancelled.
		return f(short, x)
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	d.partial = err != nil && !errors.Is(err, errFound)
	return nil
}

// eventAt calls f for the events of a location at a time until f returns true.
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

// describeSpan returns the attributes of the event that begins a span, and the properties of the span's
// region. name is the name of the span, and around lists the spans around it on the track. inner is the
// number of visits of the same region inside of the span that also end at the last event of the
// location.
func (e *entry) describeSpan(ctx context.Context, t *index.Track, s index.Span, name string, around []index.Span,
	inner int) (d details, err error) {
	var find func(context.Context, *reader, *index.Track, index.Span, spanMatcher, []index.Span, *details) error
	config := e.config
	switch t.Kind {
	case index.LocationTrack:
		find = func(ctx context.Context, x *reader, t *index.Track, s index.Span, begins spanMatcher, around []index.Span,
			d *details) error {
			return findVisit(ctx, x, t, s, begins, around, inner, d)
		}
	case index.ResourceTrack:
		find = findClaim
	default:
		return d, nil
	}
	err = e.describeWithReader(ctx, &d, func(ctx context.Context, x *reader) error {
		defs := x.Defs()
		region := s.Region
		err := find(ctx, x, t, s, func(c *trace.Cursor) bool {
			if !config.renames() {
				if !isSameRegion(defs, c.Ref(), s.Region, name) {
					return false
				}
				region = c.Ref()
				return true
			}
			if own, ok := config.spanName(defs, c); ok && own != name || !ok && s.Region != trace.NoRef {
				return false
			}
			region = c.Ref()
			return true
		}, around, &d)
		switch {
		case !defs.Regions.Has(region):
		case config.renames() && err == nil && len(d.attributes) > 0:
			d.attributes = append(d.attributes, attribute{"region", defs.Regions.At(region).Name})
			fallthrough
		case !config.renames():
			d.attributes = append(d.attributes, regionAttributes(defs.Regions.At(region))...)
		}
		return err
	})
	return d, err
}

// isSameRegion reports whether region ref of a reader is the region of the index with the given number and
// name, or shares a row with it. The numbers alone do not decide this, because in some formats events define
// regions: a reader that begins in the middle of a file then numbers the regions in a different order.
func isSameRegion(defs *trace.Definitions, ref, region uint32, name string) bool {
	called := func(r uint32) bool { return defs.Regions.Has(r) && defs.Regions.At(r).Name == name }
	switch {
	case region == trace.NoRef:
		return !defs.Regions.Has(ref)
	case called(region):
		return haveSameRow(defs, ref, region)
	}
	return called(ref)
}

// haveSameRow reports whether two regions have the same row in [trace.Rows].
func haveSameRow(defs *trace.Definitions, a, b uint32) bool {
	if a == b || !defs.Regions.Has(a) || !defs.Regions.Has(b) {
		return a == b
	}
	x, y := defs.Regions.At(a), defs.Regions.At(b)
	return x.Name != "" && x.Name == y.Name && x.File == y.File && x.Line == y.Line
}

// spanMatcher reports whether the event at the cursor begins a span with the wanted name.
type spanMatcher func(c *trace.Cursor) bool

// findVisit finds the enter event of a visit, and sets d.open if no leave event ends the visit.
func findVisit(ctx context.Context, x *reader, t *index.Track, s index.Span, begins spanMatcher, around []index.Span,
	inner int, d *details) error {
	region := s.Region
	// If several visits of a region begin at the same time, the outermost visit begins with the first of the
	// events.
	before := 0
	for _, o := range around {
		if o.Region == s.Region && o.Start == s.Start {
			before++
		}
	}
	enters := 0 // number of enters of the region at that time, including the enter of the visit
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
	// Without a leave event, the visit ends at the last event of its location.
	d.open = true
	return eventAt(ctx, x, t.Location, s.End, func(c *trace.Cursor) bool {
		switch {
		case !haveSameRow(x.Defs(), c.Ref(), region):
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

// maxSimultaneousClaims is the largest number of claims with the same begin that are examined.
const maxSimultaneousClaims = 10_000

// findClaim finds the begin event of a claim. Claims of the same activity that begin at the same time are in
// the order of their lanes. If other claims ended between them, this order is not certain. In that case,
// findClaim identifies the claim by its end.
func findClaim(ctx context.Context, x *reader, t *index.Track, s index.Span, begins spanMatcher, around []index.Span,
	d *details) error {
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
			atOnce[defs.ClaimID(c)] = true
		case c.Kind() == trace.ClaimBegin && isOnResource(defs, t, c.Op(1)) && begins(c):
			id := defs.ClaimID(c)
			delete(atOnce, id)
			alike = append(alike, claim{id, eventAttributes(defs, c)})
		}
		return len(alike)+len(atOnce) >= maxSimultaneousClaims
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
				ended[defs.ClaimID(c)] = true
			}
			return len(ended) == maxSimultaneousClaims
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

// isOnResource reports whether the resource in a claim's operands is the resource of a track.
func isOnResource(defs *trace.Definitions, t *index.Track, op uint64) bool {
	if op >= uint64(defs.Resources.Len()) {
		return t.Capacity == 0 && t.Unit == ""
	}
	r := defs.Resources.At(uint32(op))
	return r.ID == t.ID && r.Name == t.Name
}

// describeInstant returns the kind and the attributes of an instant.
func (e *entry) describeInstant(ctx context.Context, t *index.Track, i index.Instant) (d details, err error) {
	d.kind = i.Kind.Spec().Name
	err = e.describeWithReader(ctx, &d, func(ctx context.Context, x *reader) error {
		defs := x.Defs()
		if d.kind == "" {
			d.kind = defs.Spec(i.Kind).Name
		}
		return eventAt(ctx, x, t.Location, i.Time, func(c *trace.Cursor) bool {
			if c.Kind() != i.Kind {
				return false
			}
			if r := defs.Spec(c.Kind()).Ref; r == trace.RefRegion && !e.config.renames() && i.Region != trace.NoRef &&
				!isSameRegion(defs, c.Ref(), i.Region, i.Name) {
				return false
			}
			d.attributes = eventAttributes(defs, c)
			return true
		})
	})
	return d, err
}

// eventAttributes returns the operands and attributes of an event.
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
		text := operandText(defs, c, o, v)
		if o.Unit != "" {
			text += " " + o.Unit
		}
		out = append(out, attribute{o.Name, text})
	}
	keys, values := c.Attrs()
	for i, k := range keys {
		out = append(out, attribute{defs.Attributes.At(k).Name, valueText(defs, k, values[i])})
	}
	return out
}

// operandText formats the operand v of an event in the same way as `weft print`.
func operandText(defs *trace.Definitions, c *trace.Cursor, o *trace.Operand, v uint64) string {
	if o.Type == trace.OpLocation && v < uint64(defs.Locations.Len()) {
		return defs.FullNames()[v]
	}
	if o.Type == trace.OpCommunicator && v < uint64(defs.Communicator.Len()) {
		if name := defs.CommunicatorNames()[v]; name != "" {
			return name
		}
	}
	if name, ok := defs.LabelOf(o.Type, v); ok {
		return name
	}
	if name, ok := defs.EnumName(c.Kind(), o, v); ok {
		return name
	}
	if name, ok := defs.OperandName(o.Type, v); ok {
		return name
	}
	switch o.Type {
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

// valueText formats the value of an attribute for display, or of a property if key is NoRef. References are replaced by
// names.
func valueText(defs *trace.Definitions, key uint32, v trace.Value) string {
	if v.Type == trace.LocationRef && v.Num < uint64(defs.Locations.Len()) {
		return defs.Locations.At(uint32(v.Num)).Label()
	}
	if name, ok := defs.ValueName(key, v); ok {
		return name
	}
	// Copy the text, because it may share memory with the buffer of the batch.
	return strings.Clone(trace.ToUTF8(v.String()))
}

// regionAttributes returns the properties of a region's definition.
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
		out = append(out, attribute{a.Key, trace.ToUTF8(a.Value.String())})
	}
	return out
}
