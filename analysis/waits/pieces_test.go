package waits_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/weft-trace/weft/analysis/waits"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/transform"
)

// TestOperationsInPieces checks that operations, barriers and receives in a piece of a trace have the same waits as the
// same window of the whole trace, also if the piece begins while some members of an operation have left it and others
// have not.
func TestOperationsInPieces(t *testing.T) {
	operations := map[string]bool{"wait-at-barrier": true, "wait-at-nxn": true, "late-broadcast": true,
		"early-reduce": true, "early-scan": true, "wait-at-implicit-omp-barrier": true,
		"wait-at-explicit-omp-barrier": true, "late-sender": true, "lock-contention": true}
	sums := func(events format.Events, window *trace.Window) map[string]int64 {
		out := map[string]int64{}
		for _, p := range find(t, events, waits.Options{Window: window}).Patterns {
			if operations[p.Pattern] && p.Time.Int64() > 0 {
				out[p.Pattern] = p.Time.Int64()
			}
		}
		return out
	}
	for _, o := range programs() {
		events := format.Recorded(simulate(o))
		begin, end, _, err := format.Extent(context.Background(), events)
		if err != nil {
			t.Fatal(err)
		}
		random := rand.New(rand.NewPCG(o.seed, 5))
		for range 10 {
			window := trace.Window{From: begin + random.Int64N(end-begin), To: math.MaxInt64}
			found, expected := sums(transform.Cut(events, window), nil), sums(events, &window)
			if fmt.Sprint(found) != fmt.Sprint(expected) {
				t.Errorf("%d from %d on: found %v in the piece, expected %v", o.seed, window.From, found, expected)
			}
		}
	}
}
