package tracetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// Dump returns a line for each event in global order. A line names definitions by their own ids
// instead of their indexes, so that dumps of different formats can be compared.
func Dump(t testing.TB, d format.Events, sel trace.Selection) []string {
	t.Helper()
	c := &dumper{defs: d.Defs()}
	if err := d.Scan(context.Background(), sel, format.GlobalOrder, c); err != nil {
		t.Fatal(err)
	}
	return c.lines
}

type dumper struct {
	defs  *trace.Definitions
	lines []string
	last  int64
	any   bool
}

// Batch appends the lines of a batch.
func (d *dumper) Batch(b *trace.Batch) error {
	x := b.Cursor()
	for x.Next() {
		if b.Loc == trace.MixedLoc {
			if d.any && x.Time() < d.last {
				return fmt.Errorf("global order: time %d after %d", x.Time(), d.last)
			}
			d.last, d.any = x.Time(), true
		}
		d.lines = append(d.lines, row(d.defs, &x))
	}
	return nil
}

// Links appends the lines of links.
func (d *dumper) Links(l []trace.Link) error {
	for i := range l {
		x := l[i]
		x.Pos, x.Src.Pos, x.Dst.Pos = 0, 0, 0
		d.lines = append(d.lines, fmt.Sprintf("link %+v", x))
	}
	return nil
}

// row returns the line of an event.
func row(d *trace.Definitions, x *trace.Cursor) string {
	var b strings.Builder
	spec := d.Spec(x.Kind())
	fmt.Fprintf(&b, "%d %s %s", x.Time(), d.Locations.At(x.Location()).ID, spec.Name)
	if x.Ref() != trace.NoRef {
		switch spec.Ref {
		case trace.RefRegion:
			r := d.Regions.At(x.Ref())
			fmt.Fprintf(&b, " %q(%s)", r.Name, r.ID)
		case trace.RefMetric:
			fmt.Fprintf(&b, " %s", d.Metrics.At(x.Ref()).ID)
		default:
			fmt.Fprintf(&b, " #%d", x.Ref())
		}
	}
	for i, v := range x.Ops() {
		o := spec.Operands[min(i, len(spec.Operands)-1)]
		if o.Type == trace.OpLocation && v != trace.Undefined {
			fmt.Fprintf(&b, " %s=%s", o.Name, d.Locations.At(uint32(v)).ID)
			continue
		}
		fmt.Fprintf(&b, " %s=%d", o.Name, int64(v))
	}
	keys, vals := x.Attrs()
	for i, k := range keys {
		fmt.Fprintf(&b, " %s:%s=%q", d.Attributes.At(k).Name, vals[i].Type, vals[i].String())
	}
	if x.Derived() {
		b.WriteString(" derived")
	}
	return b.String()
}

// byLocation returns the lines of the events of each location, by its id. It checks that the times
// of a location never decrease.
func byLocation(t testing.TB, d format.Events) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	last := map[uint32]int64{}
	defs := d.Defs()
	err := d.Scan(context.Background(), trace.Everything(), format.PerLocation,
		format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
			if b.Loc == trace.MixedLoc {
				return errors.New("a mixed batch in a scan by location")
			}
			id := defs.Locations.At(b.Loc).ID
			x := b.Cursor()
			for x.Next() {
				if l, ok := last[b.Loc]; ok && x.Time() < l {
					return fmt.Errorf("location %s: time %d after %d", id, x.Time(), l)
				}
				last[b.Loc] = x.Time()
				out[id] = append(out[id], row(defs, &x))
			}
			return nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
