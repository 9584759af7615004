package transform_test

import (
	"context"
	"testing"

	"github.com/weft-trace/weft/analysis/messages"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/generate"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/transform"
)

// TestFilterLocations checks a ring of four locations. In each round, two messages have one end at a given
// location, and both ends of these messages must stay.
func TestFilterLocations(t *testing.T) {
	g, err := generate.New(generate.Options{Workload: "ring", Locations: 4, Events: 4000})
	if err != nil {
		t.Fatal(err)
	}
	count := func(d format.Events) *messages.Result {
		p := messages.New(d.Defs(), messages.Options{})
		if err := d.Scan(context.Background(), trace.Events(), format.GlobalOrder, p); err != nil {
			t.Fatal(err)
		}
		return p.Result()
	}
	all := count(g)
	some := count(transform.FilterLocations(g, func(loc uint32) bool { return loc == 1 }))
	if all.Sent == 0 || 2*some.Sent != all.Sent || 2*some.Matched != all.Matched || some.Matched != some.Sent {
		t.Errorf("%d of %d messages, %d matched, expected half of them", some.Sent, all.Sent, some.Matched)
	}
	other := int64(0)
	err = transform.FilterLocations(g, func(loc uint32) bool { return loc == 1 }).Scan(context.Background(),
		trace.Everything(),
		format.PerLocation, format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
			c := b.Cursor()
			for c.Next() {
				if c.Location() != 1 && !c.Kind().IsSend() && !c.Kind().IsRecv() {
					other++
				}
			}
			return nil
		}})
	if err != nil || other > 0 {
		t.Errorf("%d other events of other locations, %v", other, err)
	}
}
