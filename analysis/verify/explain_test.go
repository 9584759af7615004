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

// explained is a random trace of TestReasonsDecide. It has a state, or a piece of a signal, at each of some times.
type explained struct {
	dense  bool // the values are those of the signal s, in pieces of 1 s
	times  []int64
	values []int // at a state, bit 0 is p and bit 1 is q
}

func newExplained(r *rand.Rand) *explained {
	x := &explained{dense: r.IntN(2) == 0}
	t := int64(0)
	for range 1 + r.IntN(7) {
		x.times = append(x.times, t)
		x.values = append(x.values, r.IntN(4))
		if t++; !x.dense {
			t += int64(r.IntN(3))
		}
	}
	return x
}

// events returns the trace.
func (x *explained) events() format.Events {
	rec := trace.NewRecorder(trace.TicksPerSecond(1))
	if x.dense {
		rec.Location("main")
		m, loc := rec.Counter("s", ""), rec.Location("signal")
		for i, t := range x.times {
			v := trace.FloatValue(float64(x.values[i])).Num
			rec.Event(loc, t, trace.Fragment, m, []uint64{uint64(t + 1), v, 0, 0})
		}
		return format.Recorded(rec)
	}
	texts := make([]string, len(x.times))
	rec.Location("main")
	for i, v := range x.values {
		texts[i] = []string{"", "p", "q", "pq"}[v]
		var attrs []trace.Attr
		for _, n := range texts[i] {
			attrs = append(attrs, trace.Attr{Key: string(n), Value: trace.StringValue("1")})
		}
		rec.Event(0, x.times[i], trace.Mark, trace.NoRef, []uint64{0}, attrs...)
	}
	return format.Recorded(rec)
}

// unnamed returns the states or pieces of the signal that no reason names.
func (x *explained) unnamed(reasons []Reason) (list []int) {
	for i, t := range x.times {
		if !slices.ContainsFunc(reasons, func(r Reason) bool {
			if !x.dense {
				return r.From.Tick <= t && t <= r.To.Tick
			}
			from, to := parseInstant(r.From), parseInstant(r.To)
			end := float64(t + 1)
			last := i+1 == len(x.times) // the last piece includes its end
			return from < end && float64(t) < to || to == float64(t) && !r.ToOpen || last && from == end && !r.FromOpen
		}) {
			list = append(list, i)
		}
	}
	return list
}

func parseInstant(t Instant) float64 {
	v := float64(t.Tick)
	if t.Exact != "" {
		fmt.Sscan(t.Exact, &v)
	}
	return v
}

// TestReasonsDecide checks that explanations name all that decides a verdict: a trace with other values at all other
// times has the same verdict. The formulas and traces are random.
func TestReasonsDecide(t *testing.T) {
	effort.Sequential(t)
	r := rand.New(rand.NewPCG(28, 29))
	changed := 0
	for range effort.Rounds(1600) {
		x := newExplained(r)
		kind, header := 0, ""
		if x.dense {
			kind, header = 1, "signal s : {'name' = 's'} "
		}
		formula, _ := randomFormula(r, kind, 1+r.IntN(3))
		spec, err := Parse("", []byte(header+"check c : "+formula))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []Semantics{TwoValued, ThreeValued} {
			result := func() CheckResult {
				y, err := Run(context.Background(), x.events(), spec, Options{Semantics: s})
				if err != nil {
					t.Fatal(err)
				}
				return y.Checks[0]
			}
			before := result()
			free := x.unnamed(before.Reasons)
			if len(free) == 0 || len(before.Reasons) >= maxReasons {
				continue
			}
			values := slices.Clone(x.values)
			for range 5 {
				for _, i := range free {
					x.values[i] = r.IntN(4)
				}
				changed++
				after := result()
				if after.Holds != before.Holds || before.Decided && after.Verdict != before.Verdict {
					var text []string
					for _, r := range before.Reasons {
						text = append(text, fmt.Sprint(strings.Repeat("  ", r.Depth), r))
					}
					t.Fatalf("%s\nat %v, %v is %s, but %v is %s; reasons\n%s", formula, x.times, values, before.Verdict,
						x.values, after.Verdict, strings.Join(text, "\n"))
				}
			}
			x.values = values
		}
	}
	if changed < 1000 {
		t.Errorf("%d changed traces, expected at least 1000", changed)
	}
}

// TestNestedReasons checks that explanations name the states that decide the arguments of until and next: p holds at 1
// to 4 ms, q at 3 ms, r at 5 ms.
func TestNestedReasons(t *testing.T) {
	e := states("", "p", "p", "pq", "p", "r")
	for f, want := range map[string][]string{
		// The first event has no p, and there is no q from there up to 1 ms.
		"until finally by 1 ms q we have that p": {
			"{'p' = '1'} does not hold at event at 0 s, before finally within [0, 1 ms] {'q' = '1'} does at event at 0.002 s",
			"event at 0 s does not have {'p' = '1'}",
			"{'q' = '1'} holds at none of the 2 events from 0 s within [0, 1 ms]; only at event at 0.003 s, 3 ms later"},
		// The event at 2 ms is the last one before q. It has a p itself.
		"not until q we have that finally by 2 ms p": {
			"{'q' = '1'} holds at event at 0.003 s, 3 ms later, and finally within [0, 2 ms] {'p' = '1'} before it",
			"event at 0.003 s has {'q' = '1'}",
			"{'p' = '1'} holds at event at 0.002 s, 0 s later", "event at 0.002 s has {'p' = '1'}"},
		// The first event has no p, but an r after 5 ms; the later ones have p.
		"not globally by 3 ms (p or finally by 5 ms r)": {
			"({'p' = '1'} or finally within [0, 5 ms] {'r' = '1'}) holds at all 4 events from 0 s within [0, 3 ms]",
			"{'r' = '1'} holds at event at 0.005 s, 5 ms later", "event at 0.005 s has {'r' = '1'}"},
		"next next q": {"event at 0.001 s comes after event at 0 s", "event at 0.002 s comes after event at 0.001 s",
			"event at 0.002 s does not have {'q' = '1'}"},
		"finally within (1, 1) ms p": {"there is no event for {'p' = '1'} from 0 s within (1 ms, 1 ms)"},
	} {
		got := verdict(t, e, f, Compatible)
		var text []string
		for _, r := range got.Reasons {
			text = append(text, r.Text)
		}
		if got.Verdict != Bad || !slices.Equal(text, want) {
			t.Errorf("%s: %s\n%s\nexpected\n%s", f, got.Verdict, strings.Join(text, "\n"), strings.Join(want, "\n"))
		}
	}
}

// TestReasonsOfDecidedSignals checks that explanations of verdicts that no continuation of the trace can change name
// no part of a formula that a continuation can change.
func TestReasonsOfDecidedSignals(t *testing.T) {
	rec := trace.NewRecorder(trace.TicksPerSecond(1000))
	loc, s := rec.Location("main"), rec.Counter("s", "")
	for at, v := range []float64{1, 2, 1, 3} {
		rec.Value(loc, int64(at), s, v)
	}
	rec.Mark(loc, 4, rec.Region("end"))
	for formula, want := range map[string]string{
		// s <= 1 ends at 1 ms, so that a later s >= 0 does not matter.
		"not until within (5 ms, inf) s >= 0 we have that s <= 1": "no time of the trace is within (5 ms, inf) from 0 s; " +
			"s <= 1 does not hold from 0.001 s to 0.002 s, and at 1 other time",
		// s can exceed 3 later, but s < 2 holds at 0.
		"if finally within [1 ms, 3 ms] finally s > 3 then s < 2": "s < 2 holds from 0 s to 0.001 s, and at 1 other time",
	} {
		spec, err := Parse("", []byte("signal s : {'name' = 's'} check c : "+formula))
		if err != nil {
			t.Fatal(err)
		}
		x, err := Run(context.Background(), format.Recorded(rec), spec, Options{Semantics: ThreeValued})
		if err != nil {
			t.Fatal(err)
		}
		var text []string
		for _, r := range x.Checks[0].Reasons {
			text = append(text, r.Text)
		}
		if got := strings.Join(text, "; "); x.Checks[0].Verdict != Good || got != want {
			t.Errorf("%s is %s: found %q, expected %q", formula, x.Checks[0].Verdict, got, want)
		}
	}
}
