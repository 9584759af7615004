package usage

import (
	"context"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// TestLittleOfCalls checks that calls are claims, with the names of their regions: objects come when load begins, and
// leave when store ends. Object 2 never ends.
func TestLittleOfCalls(t *testing.T) {
	rec := trace.NewRecorder(trace.Seconds(1))
	loc := rec.Location("main")
	load, store := rec.Region("load"), rec.Region("store")
	for _, x := range []struct {
		region     uint32
		start, end int64
		id         int64
	}{{load, 0, 2, 1}, {store, 2, 5, 1}, {load, 6, 7, 2}} {
		rec.Enter(loc, x.start, x.region, trace.Attr{Key: "id", Value: trace.IntValue(x.id)})
		rec.Leave(loc, x.end, x.region)
	}
	e := format.Recorded(rec)
	l := NewLittle(e.Defs(), LittleOptions{Attribute: "id",
		Begin:  &EventFilter{Attributes: map[string]string{"name": "load"}, Starts: true},
		End:    &EventFilter{Attributes: map[string]string{"name": "store"}, Ends: true},
		Events: &EventFilter{Attributes: map[string]string{"name": "load"}, Ends: true}})
	if err := e.Scan(context.Background(), trace.Events(), format.PerLocation, l); err != nil {
		t.Fatal(err)
	}
	r := l.Result(ResultOptions{})
	if len(r.Objects) != 1 || r.Objects[0] != (Object{"1", 0, 5}) || r.Incomplete != 1 {
		t.Errorf("found %+v, %d incomplete, expected object 1 from 0 to 5 and one incomplete", r.Objects, r.Incomplete)
	}
	if len(r.Events) != 1 || r.Events[0].From != 2 || r.Events[0].To != 7 {
		t.Errorf("found events %+v, expected one piece from 2 to 7", r.Events)
	}
}
