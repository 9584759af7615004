package states

import (
	"fmt"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// TestWaits checks that a processor in a receive is idle until the message is sent, and in overhead
// from then on.
func TestWaits(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	work, send, recv := r.Region("work"), r.Region("MPI_Send"), r.Region("MPI_Recv")
	a, b := r.Location("a"), r.Location("b")
	r.Enter(a, 0, work)
	r.Enter(b, 0, work)
	r.Leave(b, 100, work)
	r.Enter(b, 100, recv)
	r.Leave(a, 500, work)
	r.Enter(a, 500, send)
	r.Send(a, 501, b, 0, 8)
	r.Leave(a, 503, send)
	r.Recv(b, 505, a, 0, 8)
	r.Leave(b, 510, recv)
	r.Enter(b, 510, work)
	r.Leave(b, 600, work)
	r.Enter(a, 503, work)
	r.Leave(a, 600, work)
	events := format.Recorded(r)
	waits, err := FindWaits(t.Context(), events, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		opt  Options
		want string // busy/overhead/idle
	}{
		{Options{}, "[597/3/0 190/410/0]"},
		{Options{Waits: waits}, "[597/3/0 190/10/400]"},
		// The receive waits in 50 of the 70 ticks.
		{Options{Waits: waits, Window: &trace.Window{From: 450, To: 520}}, "[67/3/0 10/10/50]"},
	} {
		p := New(events.Defs(), x.opt)
		if err := format.ScanReduced(t.Context(), events, trace.Events(), Reduction(events.Defs(), x.opt), p); err != nil {
			t.Fatal(err)
		}
		got := []string{}
		for _, q := range p.Result().Processors {
			got = append(got, fmt.Sprintf("%d/%d/%d", q.Busy, q.Overhead, q.Idle))
		}
		if s := fmt.Sprint(got); s != x.want {
			t.Errorf("found busy/overhead/idle %s, expected %s", s, x.want)
		}
	}
}
