package timeline

import (
	"cmp"
	"context"
	"math"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// fake is a decoder of batches in memory; every worker delivers one location.
type fake struct {
	defs    trace.Definitions
	batches []*trace.Batch // one a location
	links   []trace.Link
	keys    map[string]uint32
}

// newFake makes a trace of n locations and the regions A to F.
func newFake(n int) *fake {
	f := &fake{keys: map[string]uint32{}}
	f.defs.Clock = trace.Seconds(10)
	for i := range n {
		name := string(rune('a' + i%26))
		f.defs.Locations.Add(trace.Location{ID: name, Name: name, Group: trace.NoRef})
		b := &trace.Batch{}
		b.Reset(uint32(i))
		f.batches = append(f.batches, b)
	}
	for _, n := range []string{"A", "B", "C", "D", "E", "F"} {
		f.defs.Regions.Add(trace.Region{Name: n})
	}
	return f
}

func (f *fake) add(loc int, t int64, k trace.Kind, ref uint32, ops ...uint64) *fake {
	b := f.batches[loc]
	b.Add(uint32(loc), t, k, ref)
	if len(ops) > 0 {
		b.AddOps(ops...)
	}
	return f
}

func (f *fake) attr(loc int, key, value string) *fake {
	k, ok := f.keys[key]
	if !ok {
		k = f.defs.Attributes.Add(trace.AttributeDef{Name: key, Type: trace.String})
		f.keys[key] = k
	}
	f.batches[loc].AddAttr(k, trace.StringValue(value))
	return f
}

// claim begins a claim of a resource.
func (f *fake) claim(loc int, t, id int64, res int, amount, offset float64) *fake {
	return f.add(loc, t, trace.ClaimBegin, 0, uint64(id), uint64(res), math.Float64bits(amount), math.Float64bits(offset))
}

func (f *fake) end(loc int, t, id int64) *fake { return f.add(loc, t, trace.ClaimEnd, 0, uint64(id)) }

func (f *fake) Defs() *trace.Definitions      { return &f.defs }
func (f *fake) Prepare(context.Context) error { return nil }

type stream struct{ b *trace.Batch }

func (s *stream) Next(context.Context) (*trace.Batch, error) {
	b := s.b
	s.b = nil
	return b, nil
}

func (f *fake) Scan(ctx context.Context, sel trace.Selection, order format.Order, sink format.Sink) error {
	var all []format.Stream
	for _, b := range f.batches {
		if order == format.GlobalOrder {
			all = append(all, &stream{b})
		} else if b.Len() > 0 {
			if err := sink.Batch(b); err != nil {
				return err
			}
		}
	}
	if err := cmp.Or(ctx.Err(), format.Merge(ctx, all, sink)); err != nil {
		return err
	}
	if sel.Links != trace.NoLinks && len(f.links) > 0 {
		return sink.Links(f.links)
	}
	return nil
}

func (f *fake) ScanParallel(ctx context.Context, sel trace.Selection, begin func() func(int) format.Sink) error {
	return format.ScanInOne(ctx, f, sel, begin)
}

func build(t *testing.T, d format.Events, o Options) *View {
	t.Helper()
	v, err := Build(context.Background(), d, o)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
