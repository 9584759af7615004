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

// TestSleepingThreads checks that a thread is idle while it sleeps between teams: in the region around its work in
// teams, as EZTrace records it, and outside of all regions. The thread is in the region from 5 to 58. It works in teams
// from 10 to 20 and from 30 to 45. Another one works outside of all regions from 12 to 20 and from 30 to 50.
func TestSleepingThreads(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	process := r.Process("0", r.Machine("m"))
	first, second, third := r.Thread("0", process), r.Thread("1", process), r.Thread("2", process)
	team := r.Defs().Communicator.Add(trace.Communicator{ID: "0", Set: trace.NoRef, Parent: trace.NoRef})
	r.Enter(first, 0, r.Region("main"))
	r.Enter(second, 5, r.Region("Working"))
	work := func(thread uint32, begin, end int64) {
		r.Event(thread, begin, trace.ThreadTeamBegin, trace.NoRef, []uint64{uint64(team)})
		r.Enter(thread, begin+2, r.Region("parallel"))
		r.Leave(thread, end, r.Region("parallel"))
		r.Event(thread, end, trace.ThreadTeamEnd, trace.NoRef, []uint64{uint64(team)})
	}
	work(second, 10, 20)
	work(second, 30, 45)
	work(third, 12, 20)
	work(third, 30, 50)
	r.Leave(second, 58, r.Region("Working"))
	r.Leave(first, 60, r.Region("main"))
	events := format.Recorded(r)
	for _, x := range []struct {
		window *trace.Window
		want   string // busy/idle
	}{
		{nil, "[60/0 30/30 28/32]"},
		{&trace.Window{From: 8, To: 40}, "[32/0 22/10 18/14]"},
		{&trace.Window{From: 40, To: 60}, "[20/0 5/15 10/10]"},
	} {
		waits, err := FindWaits(t.Context(), events, x.window)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Read(t.Context(), events, Options{Waits: waits, Window: x.window})
		if err != nil {
			t.Fatal(err)
		}
		got := []string{}
		for _, q := range p.Result().Processors {
			got = append(got, fmt.Sprintf("%d/%d", q.Busy, q.Idle))
		}
		if s := fmt.Sprint(got); s != x.want {
			t.Errorf("window %v: found busy/idle %s, expected %s", x.window, s, x.want)
		}
	}
}
