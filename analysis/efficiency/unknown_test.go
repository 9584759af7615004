package efficiency_test

import (
	"context"
	"strings"
	"testing"

	"github.com/weft-trace/weft/analysis/efficiency"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// TestSentenceOnUnknownWaits checks the sentence about calls whose waits are unknown: 30 ticks in a call without
// events, of 2 · 100 ticks. If the call has the receive of a message, its wait is known.
func TestSentenceOnUnknownWaits(t *testing.T) {
	for _, recorded := range []bool{false, true} {
		r := trace.NewRecorder(trace.TicksPerSecond(1000))
		node := r.Machine("node")
		a, b := r.Thread("a", r.Process("0", node)), r.Thread("b", r.Process("1", node))
		main, send, receive := r.Region("main"), r.Region("MPI_Send"), r.Region("MPI_Recv")
		for _, loc := range []uint32{a, b} {
			r.Enter(loc, 0, main)
		}
		r.Enter(a, 60, send)
		r.Enter(b, 40, receive)
		if recorded {
			r.Send(a, 60, b, 0, 8)
			r.Recv(b, 70, a, 0, 8)
		}
		r.Leave(a, 60, send)
		r.Leave(b, 70, receive)
		for _, loc := range []uint32{a, b} {
			r.Leave(loc, 100, main)
		}
		x, ok, err := efficiency.Find(context.Background(), format.Recorded(r), efficiency.Options{})
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		text := strings.Join(x.Sentences(), "\n")
		if strings.Contains(text, "Calls whose waits are unknown take 15 % of the time of all threads;") == recorded ||
			strings.Contains(text, "unknown") == recorded {
			t.Errorf("calls with events %v: found %q", recorded, text)
		}
	}
}
