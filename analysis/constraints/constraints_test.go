package constraints_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/weft-trace/weft/analysis/constraints"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// claims returns a trace of claims of one resource, and their ids by name: A [0, 10), B [2, 5), C
// [10, 14), D [14, 20), E [16, 18).
func claims() (r *trace.Recorder, ids map[string]int64) {
	r = trace.NewRecorder(trace.TicksPerSecond(1000))
	cpu := r.Resource("cpu", 9, "")
	ids = map[string]int64{}
	type event struct {
		time int64
		name string
		ends bool
	}
	for _, e := range []event{{0, "A", false}, {2, "B", false}, {5, "B", true}, {10, "A", true}, {10, "C", false},
		{14, "C", true}, {14, "D", false}, {16, "E", false}, {18, "E", true}, {20, "D", true}} {
		if e.ends {
			r.Release(ids[e.name], e.time)
		} else {
			ids[e.name] = r.Claim(cpu, e.time, r.Region(e.name), 1)
		}
	}
	return r, ids
}

// link adds a dependency from the end of claim from to the start of claim to.
func link(r *trace.Recorder, from, to int64) {
	r.Link(trace.End{Kind: trace.AtClaimEnd, ID: from}, trace.End{Kind: trace.AtClaimStart, ID: to})
}

// names returns "length:names" of the critical path, with the names of the claims by start.
func names(t *testing.T, r *trace.Recorder, opt constraints.Options) string {
	t.Helper()
	x, err := constraints.Find(context.Background(), format.Recorded(r), opt)
	if err != nil {
		t.Fatal(err)
	}
	s := fmt.Sprint(x.Length, ":")
	for _, c := range x.Critical {
		s += c.Region
	}
	return s
}

// TestCritical compares critical paths with those that were found by hand.
func TestCritical(t *testing.T) {
	// Without dependencies of the trace, A, C and D follow one another immediately. With a
	// tolerance of 11 ticks, E also follows B.
	r, _ := claims()
	for _, x := range []struct {
		opt  constraints.Options
		want string
	}{
		{constraints.Options{}, "20:ACD"},
		{constraints.Options{Tolerance: 11}, "20:ACD"},
		// No claim follows another one: the path is the claim with the latest end alone.
		{constraints.Options{Tolerance: -1}, "20:D"},
	} {
		if got := names(t, r, x.opt); got != x.want {
			t.Errorf("%+v: found %s, expected %s", x.opt, got, x.want)
		}
	}
	// With the dependency from B to D alone, D does not follow C, and can start at 5. So E, which
	// starts at 16, ends last.
	r, ids := claims()
	link(r, ids["B"], ids["D"])
	if got := names(t, r, constraints.Options{Use: constraints.Full}); got != "18:E" {
		t.Errorf("full: found %s, expected 18:E", got)
	}
	if got := names(t, r, constraints.Options{Use: constraints.Initial}); got != "20:ACD" {
		t.Errorf("initial: found %s, expected 20:ACD", got)
	}
}

// TestCycle checks that dependencies in a cycle are a CycleError.
func TestCycle(t *testing.T) {
	r, ids := claims()
	link(r, ids["A"], ids["C"])
	link(r, ids["C"], ids["A"])
	_, err := constraints.Find(context.Background(), format.Recorded(r), constraints.Options{Use: constraints.Initial})
	var cycle *constraints.CycleError
	if !errors.As(err, &cycle) || cycle.By != 14 || fmt.Sprint(cycle.Claims) != fmt.Sprint([]int64{ids["A"], ids["C"]}) {
		t.Errorf("found %v, expected a cycle of A and C by 14", err)
	}
}

// TestInferred checks the number of inferred dependencies: A [0, 5) and B [1, 5) end when C [5, 7) begins, so C follows
// both. D [7, 7) has no duration and follows C, but not itself.
func TestInferred(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	cpu := r.Resource("cpu", 9, "")
	a := r.Claim(cpu, 0, r.Region("A"), 1)
	b := r.Claim(cpu, 1, r.Region("B"), 1)
	r.Release(a, 5)
	r.Release(b, 5)
	c := r.Claim(cpu, 5, r.Region("C"), 1)
	r.Release(c, 7)
	r.Release(r.Claim(cpu, 7, r.Region("D"), 1), 7)
	x, err := constraints.Find(context.Background(), format.Recorded(r), constraints.Options{})
	if err != nil || x.Inferred != 3 {
		t.Errorf("found %+v, %v, expected 3 inferred dependencies", x, err)
	}
}

// TestSelfDependency checks that a dependency from a claim to itself has no effect. D depends on itself. Full still
// infers that D follows C, because no dependency from another claim ends at D.
func TestSelfDependency(t *testing.T) {
	r, ids := claims()
	r.Link(trace.End{Kind: trace.AtClaimStart, ID: ids["D"]}, trace.End{Kind: trace.AtClaimEnd, ID: ids["D"]})
	if got := names(t, r, constraints.Options{Use: constraints.Full}); got != "20:ACD" {
		t.Errorf("found %s, expected 20:ACD", got)
	}
}

// TestMost checks that five claims are too many for a limit of four.
func TestMost(t *testing.T) {
	r, _ := claims()
	for most, want := range map[int]error{0: nil, 4: constraints.ErrManyClaims, 5: nil} {
		_, err := constraints.Find(context.Background(), format.Recorded(r), constraints.Options{Most: most})
		if !errors.Is(err, want) {
			t.Errorf("at most %d: %v, want %v", most, err, want)
		}
	}
}
