package explain_test

import (
	"testing"

	"github.com/weft-trace/weft/trace"
)

// TestBarriersOfThreads checks the finding about barriers of threads that take time themselves. In each of 50 rounds,
// two threads compute for 100 ticks, come to the barrier together, and leave it 50 ticks later. Without this time the
// run is 50 · 50 shorter. If each thread executes a task of 20 ticks in the barrier, it may also wait for tasks there,
// and there is no such finding.
func TestBarriersOfThreads(t *testing.T) {
	const rounds, work, own = 50, 100, 50
	for _, tasks := range []bool{false, true} {
		r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
		process := r.Process("process", r.Machine("node"))
		compute, barrier, task := r.Region("compute"), r.Region("OpenMP barrier"), r.Region("OpenMP task")
		for _, name := range []string{"a", "b"} {
			loc := r.Thread(name, process)
			for round := range int64(rounds) {
				now := round * (work + own)
				r.Enter(loc, now, compute)
				r.Leave(loc, now+work, compute)
				r.Enter(loc, now+work, barrier)
				if tasks {
					r.Enter(loc, now+work+10, task)
					r.Leave(loc, now+work+30, task)
				}
				r.Leave(loc, now+work+own, barrier)
			}
		}
		p := page(t, r)
		if tasks {
			for _, f := range p.Findings {
				if f.ID == "barriers" {
					t.Errorf("tasks in barriers: found %+v", f)
				}
			}
			continue
		}
		if len(p.Findings) != 1 || p.Findings[0].ID != "barriers" || p.Findings[0].Loss != 2*rounds*own ||
			p.Findings[0].Gain != rounds*own || p.Findings[0].WhatIf != "OpenMP barrier=0" {
			t.Errorf("found %+v, expected barriers with a loss of %d and a gain of %d", p.Findings, 2*rounds*own, rounds*own)
		}
		const verdict = "67 % of the time is useful. The lowest factor is transfer, 0.67: barriers of threads themselves " +
			"take 33 % of the time, waits left out."
		if p.Verdict != verdict {
			t.Errorf("found %q, expected %q", p.Verdict, verdict)
		}
	}
}
