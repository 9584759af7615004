package verify

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/effort"
	"github.com/weft-trace/weft/trace"
)

// TestRuns compares the operators on runs with their definitions, state by state, and with those on bits.
func TestRuns(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for range effort.Rounds(3000) {
		n := r.IntN(150)
		times := make([]int64, n)
		for i := 1; i < n; i++ {
			times[i] = times[i-1] + max(0, r.Int64N(6)-2)
		}
		part := 1 + r.IntN(12) // a set changes after as many states
		random := func() (s runs, in bitset) {
			in, on := newBitset(n), r.IntN(2) == 0
			for i := range n {
				if r.IntN(part) == 0 {
					on = !on
				}
				if on {
					in.set(i)
					s = s.add(i, i+1)
				}
			}
			return s, in
		}
		expect := func(what string, s stateSet, want func(i int) bool) {
			t.Helper()
			for i := range n {
				if s.has(i) != want(i) {
					t.Fatalf("%s: state %d of %d is %v, expected %v: %v", what, i, n, s.has(i), want(i), s)
				}
			}
			if x, ok := s.(runs); ok {
				for k, one := range x {
					if one.from >= one.end || int(one.end) > n || k > 0 && x[k-1].end >= one.from {
						t.Fatalf("%s: runs of %d states %v", what, n, x)
					}
				}
			}
		}
		a, inA := random()
		b, inB := random()
		expect("complement", a.complement(n), func(i int) bool { return !inA.has(i) })
		if x, ok := inA.compact(n).(runs); ok != (len(a) <= fewRuns(n)) || ok && !slices.Equal(x, a) {
			t.Fatalf("compact: %v, expected %v", x, a)
		}
		pending := r.IntN(2) == 0
		next := func(i int) bool { return i+1 < n && inA.has(i+1) || i+1 == n && pending }
		expect("next", a.next(n, pending), next)
		expect("next of bits", nextStates(inA, n, pending), next)
		for _, x := range []stateSet{a, inA} {
			for _, y := range []stateSet{b, inB} {
				u := union{n: n}
				u.add(x)
				u.add(y)
				expect("union", u.set(), func(i int) bool { return inA.has(i) || inB.has(i) })
				gap := r.IntN(n + 1) // the third set has all states but one
				u = union{n: n}
				u.add(x)
				u.add(y)
				u.add(runs{}.add(0, gap).add(gap+1, n))
				expect("union of three", u.set(), func(i int) bool { return i != gap || inA.has(i) || inB.has(i) })
			}
			for range 5 {
				from, in := r.IntN(n+1), r.IntN(2) == 0
				to := from + r.IntN(n-from+1)
				want := from
				for want < to && inA.has(want) != in {
					want++
				}
				if got := x.find(from, to, in); got != want {
					t.Fatalf("find from %d to %d: %d, expected %d: %v", from, to, got, want, x)
				}
			}
		}
		w := ticks{uint64(r.IntN(5)), uint64(r.IntN(12))} // low may be above high
		switch r.IntN(4) {
		case 0:
			w = noLimits
		case 1:
			w.high = noLimits.high
		}
		until := func(i int) bool { return untilByDefinition(times, i, inA, inB, w, pending) }
		got, ok := untilRuns(times, a, b, w, pending, n)
		if !ok {
			t.Fatalf("until of %d states takes more than %d steps", n, n)
		}
		what := fmt.Sprintf("until %v within %d to %d of %v and %v, pending %v", times, w.low, w.high, a, b, pending)
		expect(what, got, until)
		expect(what+" of bits", untilStates(times, inA, inB, w, pending), until)
	}
}

// untilByDefinition reports whether until holds at state i by its definition: b holds at a later state within w, and a
// holds at all states before that one. pending is the value if the states end before this is decided.
func untilByDefinition(times []int64, i int, a, b bitset, w ticks, pending bool) bool {
	for j := i; j < len(times); j++ {
		since := uint64(times[j] - times[i])
		if since > w.high {
			return false
		}
		if since >= w.low && b.has(j) {
			return true
		}
		if !a.has(j) {
			return false
		}
	}
	return pending
}

// objects returns a trace of n objects that go through a system one after another. An object arrives every 10 ms. It
// has an event arrival, an event work every ms, and an event done 3 ms after the arrival, or 4 ms if late lists it.
func objects(n int, late ...int) format.Events {
	rec := trace.NewRecorder(trace.TicksPerSecond(1000))
	loc := rec.Location("main")
	mark := func(at int, name string, id int) {
		rec.Mark(loc, int64(at), rec.Region(name), trace.Attr{Key: "id", Value: trace.IntValue(int64(id))})
	}
	for i := range n {
		at, length := 10*i, 3
		if slices.Contains(late, i) {
			length = 4
		}
		mark(at, "arrival", i)
		for k := range length {
			mark(at+k, "work", i)
		}
		mark(at+length, "done", i)
	}
	return format.Recorded(rec)
}

// TestObjects verifies a specification with a check for each of many objects, and with formulas about all objects.
// Late objects violate their checks. If each check took time for each event, the test would take hours.
func TestObjects(t *testing.T) {
	effort.Sequential(t)
	n := max(2000, effort.Rounds(25_000))
	late := []int{7, n / 2, n - 1}
	const body = "globally if {'name' = 'arrival', 'id' = i} then finally within [0, 3 ms] {'name' = 'done', 'id' = i}"
	text := fmt.Sprintf("check each(i : 0 .. %d) : %s\ncheck all : forall (i : 0 .. %d) %s\n"+
		"check other : forall (i : 0 .. %d) globally not {'name' = 'done', 'id' = 'x' + i}", n-1, body, n-1, body, n-1)
	spec, err := Parse("", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	x, err := Run(context.Background(), objects(n, late...), spec, Options{Semantics: FourValued})
	if err != nil {
		t.Fatal(err)
	}
	var violated []string
	for _, c := range x.Checks {
		if c.Verdict.Violated() {
			violated = append(violated, c.Name)
		}
	}
	// The last object's arrival is 4 ms before the end of the trace, so that it is decided, too.
	want := fmt.Sprintf("[each(7) each(%d) each(%d) all]", n/2, n-1)
	if fmt.Sprint(violated) != want || x.Violated != 4 {
		t.Errorf("violated %v, expected %s", violated, want)
	}
	if c := x.Checks[n+1]; c.Verdict != StillTrue {
		t.Errorf("%s is %s", c.Name, c.Verdict)
	}
	// By hand: object 7 arrives at 70 ms. Its events up to 73 ms are arrival and work at 70, and work at 71, 72 and 73.
	reasons := x.Checks[7].Reasons
	if last := reasons[len(reasons)-1].Text; !strings.Contains(last, "holds at none of the 5 events from 0.07 s") ||
		!strings.Contains(last, "only at event of done at 0.074 s, 4 ms later") {
		t.Errorf("reasons %v", reasons)
	}
}
