package states

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// sparing delivers the fewest events that ScanParallel may deliver. These are all events before the time
// Selection.OneEventFrom. From that time on, a location that has had an earlier event gets its next events, up to
// the first one that is an activity.
type sparing struct{ format.Events }

func (s sparing) ScanParallel(ctx context.Context, sel trace.Selection, begin func() func(int) format.Sink) error {
	if sel.OneEventFrom == 0 {
		return s.Events.ScanParallel(ctx, sel, begin)
	}
	sink := begin()(0)
	met, done := map[uint32]bool{}, map[uint32]bool{}
	return s.Scan(ctx, trace.Events(), format.PerLocation, format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
		var out trace.Batch
		c := b.Cursor()
		for c.Next() {
			loc := c.Location()
			if c.Time() >= sel.OneEventFrom {
				if !met[loc] || done[loc] {
					continue
				}
				done[loc] = c.Kind().IsActivity()
			}
			met[loc] = true
			out.Reset(loc)
			out.AppendRow(&c)
			if err := sink.Batch(&out); err != nil {
				return err
			}
		}
		return nil
	}})
}

// TestRead checks that the events that Read uses suffice for a window. The cases have processors that
// begin after the window or end before it, states that last beyond the window, and leaves without an
// enter.
func TestRead(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1))
	send := r.Region("MPI_Send")
	for _, x := range []struct {
		name string
		rows [][2]int64 // times and kinds
	}{
		{"from before to after", [][2]int64{{1, int64(trace.Enter)}, {90, int64(trace.Leave)}}},
		{"ended before", [][2]int64{{2, int64(trace.Enter)}, {9, int64(trace.Leave)}}},
		{"begins after", [][2]int64{{70, int64(trace.Enter)}, {80, int64(trace.Leave)}}},
		{"open at its last event", [][2]int64{{12, int64(trace.Leave)}, {15, int64(trace.Enter)}}},
		{"begins in it", [][2]int64{{25, int64(trace.Enter)}, {28, int64(trace.Leave)}, {95, int64(trace.Leave)}}},
	} {
		loc := r.Location(x.name)
		for _, e := range x.rows {
			r.Event(loc, e[0], trace.Kind(e[1]), send, nil)
		}
	}
	r.Location("no events")
	events := sparing{format.Recorded(r)}
	for from := int64(0); from < 100; from += 5 {
		for to := from; to < 100; to += 5 {
			opt := Options{Window: &trace.Window{From: from, To: to}}
			all := New(events.Defs(), opt)
			if err := events.Scan(t.Context(), trace.Events(), format.GlobalOrder, all); err != nil {
				t.Fatal(err)
			}
			p, err := Read(t.Context(), events, opt)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(all.Result(), p.Result(), cmpopts.IgnoreFields(Result{}, "Unclosed")); d != "" {
				t.Errorf("%d to %d: from all events (-) and from those that are read (+):\n%s", from, to, d)
			}
		}
	}
}
