package waits_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weft-trace/weft/analysis/waits"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/effort"
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

// TestDevicesInPieces checks that the waits for devices and launches in a piece of a random program are those of the
// same window of the whole trace, wherever the piece begins: also between a launch and its work, and in both.
func TestDevicesInPieces(t *testing.T) {
	for seed := range uint64(effort.Rounds(300)) {
		for _, remote := range []bool{false, true} {
			events := format.Recorded(simulateDevices(seed, remote))
			begin, end, _, err := format.Extent(t.Context(), events)
			if err != nil {
				t.Fatal(err)
			}
			random := rand.New(rand.NewPCG(seed, 6))
			for range 4 {
				window := trace.Window{From: begin + random.Int64N(end-begin), To: math.MaxInt64}
				piece := transform.Cut(events, window)
				found, expected := find(t, piece, waits.Options{}), find(t, events, waits.Options{Window: &window})
				if a, b := summary(found), summary(expected); a != b {
					t.Errorf("seed %d, %v, from %d on: found %s in the piece, expected %s", seed, remote, window.From, a, b)
				}
			}
		}
	}
}

// summary lists the times of all patterns and the unjudged work.
func summary(r *waits.Result) string {
	var list []string
	for _, p := range r.Patterns {
		if p.Time.Int64() > 0 {
			list = append(list, fmt.Sprint(p.Pattern, " ", p.Time.Int64()))
		}
	}
	slices.Sort(list)
	return fmt.Sprint(list, r.Unjudged)
}
