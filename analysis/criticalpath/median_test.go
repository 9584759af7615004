package criticalpath_test

import (
	"context"
	"slices"
	"strconv"
	"testing"

	"github.com/weft-trace/weft/analysis/criticalpath"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// exchange runs a program of 8 ranks in a ring, and returns its trace and its runtime. In each of 20 rounds, ranks with
// even numbers compute, send to the next rank and receive from the one before; the others compute for 20 ticks, receive
// and then send. Between the two calls is one tick. A send takes 5 ticks, and a receive ends 5 ticks after the later of
// its begin and the begin of the send.
func exchange(compute func(rank int) int64) (r *trace.Recorder, runtime int64) {
	r = trace.NewRecorder(trace.TicksPerSecond(1_000_000))
	node := r.Machine("node")
	main, send, receive := r.Region("main"), r.Region("MPI_Send"), r.Region("MPI_Recv")
	var ranks []uint32
	now, sent := make([]int64, 8), make([]int64, 8)
	for i := range now {
		ranks = append(ranks, r.Thread("rank "+strconv.Itoa(i), r.Process("rank "+strconv.Itoa(i), node)))
		r.Enter(ranks[i], 0, main)
	}
	sends := func(i int) {
		sent[i] = now[i]
		r.Enter(ranks[i], now[i], send)
		r.Send(ranks[i], now[i], ranks[(i+1)%8], 0, 8)
		now[i] += 5
		r.Leave(ranks[i], now[i], send)
	}
	receives := func(i int) {
		r.Enter(ranks[i], now[i], receive)
		now[i] = max(now[i], sent[(i+7)%8]) + 5
		r.Recv(ranks[i], now[i], ranks[(i+7)%8], 0, 8)
		r.Leave(ranks[i], now[i], receive)
	}
	for range 20 {
		for i := range now {
			now[i] += compute(i)
		}
		for i := 0; i < 8; i += 2 {
			sends(i)
		}
		for i := 1; i < 8; i += 2 {
			receives(i)
			now[i]++
			sends(i)
		}
		for i := 0; i < 8; i += 2 {
			now[i]++
			receives(i)
		}
	}
	for i := range now {
		r.Leave(ranks[i], now[i], main)
	}
	return r, slices.Max(now)
}

// TestMedianOfLikeTimes checks that the times before a call are compared only among locations that compute there. The
// time between two calls of another location is no computation. In the median, ranks with even numbers compute for 100
// ticks.
func TestMedianOfLikeTimes(t *testing.T) {
	program := func(slow int64) (*trace.Recorder, int64) {
		return exchange(func(rank int) int64 {
			switch {
			case rank == 2:
				return slow
			case rank%2 == 0:
				return 100
			}
			return 20
		})
	}
	r, before := program(300)
	_, expected := program(100)
	found, err := criticalpath.Find(context.Background(), format.Recorded(r), criticalpath.Options{
		WhatIf: []criticalpath.Change{{Region: "main", To: criticalpath.Median}}})
	if err != nil || found.WhatIf == nil || *found.WhatIf != expected {
		t.Errorf("a run of %d: found %+v and %v, expected %d with the median", before, found, err, expected)
	}
}
