package retime_test

import (
	"context"
	"testing"

	"github.com/weft-trace/weft/analysis/internal/history"
	"github.com/weft-trace/weft/analysis/internal/retime"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/otf2"
	"github.com/weft-trace/weft/generate"
	"github.com/weft-trace/weft/trace"
)

// read returns the history of a trace.
func read(t *testing.T, d format.Events) *history.History {
	t.Helper()
	h, err := history.Build(context.Background(), d, trace.NewRows(d.Defs()), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// histories returns the histories of small traces made by hand, and of generated traces.
func histories(t *testing.T) map[string]*history.History {
	all := map[string]*history.History{}
	for _, name := range []string{"hand", "p2p", "omp"} {
		d, err := otf2.Format{}.Open(context.Background(), format.FileSource("../../waits/testdata/"+name+"/traces.otf2"),
			&format.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { d.Close() })
		all[name] = read(t, d)
	}
	for _, w := range generate.Workloads() {
		name := w.Name
		g, err := generate.New(generate.Options{Workload: name, Events: 5000, Seed: 3})
		if err != nil {
			t.Fatal(err)
		}
		all[name] = read(t, g)
	}
	return all
}

// TestSame checks that with unchanged durations the runtime is that of the trace.
func TestSame(t *testing.T) {
	for name, h := range histories(t) {
		if found, expected := retime.Makespan(h, retime.Options{Transfer: 1}), h.Log.Last-h.Log.First; found != expected {
			t.Errorf("%s: found %d, expected %d", name, found, expected)
		}
	}
}

// TestMonotone checks that a run does not become longer if its computation or its network becomes
// faster, and that the runtime is a convex function of the factor.
func TestMonotone(t *testing.T) {
	for name, h := range histories(t) {
		var last, step, rounded int64 // rounded bounds the error, since each time is rounded to a tick
		for _, l := range h.Locations {
			if l != nil {
				rounded += int64(len(l.Times))
			}
		}
		for i := range 11 {
			f := float64(i) / 10
			m := retime.Makespan(h, retime.Options{Transfer: 1, Scale: func(uint32) float64 { return f }})
			if m < last || i > 1 && m-last < step-rounded {
				t.Errorf("%s: found %d with the factor %g after %d, and a step of %d after %d", name, m, f, last, m-last, step)
			}
			step, last = m-last, m
		}
		if ideal := retime.Makespan(h, retime.Options{}); ideal > h.Log.Last-h.Log.First {
			t.Errorf("%s: found %d on an ideal network, expected at most %d", name, ideal, h.Log.Last-h.Log.First)
		}
	}
}
