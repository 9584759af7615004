package verify

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/etf"
	"github.com/weft-trace/weft/internal/nearest"
	"github.com/weft-trace/weft/trace"
)

// worked defines derived signals of the trace for which docs/analyses/flow.md computes signals by hand.
// It has two objects, from 0 to 6 ms and from 1 to 5 ms.
const worked = `
signal cpu : usage {'name'='CPU'}
signal mem : usage {'name'='MEM'} amount
signal held : usage {'name'='MEM'} count
signal mean : usage {'name'='MEM'} amount over 2 ms
signal m0 : usage {'name'='M', 'id'='0'} amount
signal e : throughput end {'name'='A'}
signal em : throughput end {'name'='A'} over 2
signal t : throughput 'id'
signal w : wip 'id'
signal wm : wip 'id' over 2 ms
signal l : latency 'id'
signal fine : usage {'name'='CPU'} over 0.4 ms
`

// TestDerived checks derived signals against values that were computed by hand.
func TestDerived(t *testing.T) {
	d, err := etf.Format{}.Open(context.Background(), format.FileSource("../usage/testdata/feature-coverage.etf"),
		&format.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	near := func(from, to float64, signal string, v float64) string {
		return fmt.Sprintf("globally within [%g, %g] (%s >= %g and %s <= %g)", from, to, signal, v-1e-9, signal, v+1e-9)
	}
	for formula, want := range map[string]bool{
		"globally cpu <= 2":      true,
		"globally cpu <= 1":      false,
		near(0, 0.9, "cpu", 1):   true,
		near(1, 1.9, "cpu", 2):   true,
		near(1, 2, "cpu", 2):     false,
		near(2, 2.9, "cpu", 1):   true,
		near(3, 6, "cpu", 0):     true,
		near(0, 1.9, "mem", 0):   true,
		near(2, 2.9, "mem", 60):  true,
		near(3, 4.9, "mem", 100): true,
		near(5, 6, "mem", 60):    true,
		"finally mem > 100":      false,
		// Latencies are 6, 4.8 and 6 in the time unit of the trace, ms.
		"globally within [0, 5] l <= 6.001 ms":      true,
		"globally within [0, 5] l <= 0.006001 s":    true,
		"globally within [0, 5] l <= 5999 us":       false,
		"finally within [0, 5] l <= 4.801e6 ns":     true,
		"finally within [0, 5] l <= 4.799e6 ns":     false,
		"globally within [0, 5] l <= 1.0001e-4 min": true,
		"globally within [0, 5] l >= 1.334e-6 h":    false,
		near(3, 4.9, "held", 2):                     true,
		"finally held > 2":                          false,
		near(2, 6, "m0", 60):                        true,
		near(3, 3, "mean", 30):                      true,
		near(4, 4, "mean", 80):                      true,
		near(5, 5, "mean", 100):                     true,
		near(6, 6, "mean", 80):                      true,
		near(2.5, 2.5, "mean", 15):                  true,
		near(2, 2.9, "e", 1):                        true,
		"finally within [0, 1.9] e > 0":             false,
		"finally within [3, 6] e > 0":               false,
		near(3, 4, "em", 0.5):                       true,
		near(0, 0.9, "t", 1.0/6):                    true,
		near(1, 4.9, "t", 5.0/12):                   true,
		near(5, 6, "t", 1.0/6):                      true,
		near(1, 4.9, "w", 2):                        true,
		"globally (w >= 1 and w <= 2)":              true,
		"globally w <= 1":                           false,
		near(2, 2, "wm", 1.5):                       true,
		near(4, 4, "wm", 2):                         true,
		near(6, 6, "wm", 1.5):                       true,
		near(0, 0.9, "l", 6):                        true,
		near(1, 4.9, "l", 4.8):                      true,
		near(5, 6, "l", 6):                          true,
		near(1, 4.9, "l", 6):                        false,
		near(0.1, 0.9, "derivative(wm)", .5):        true,
		near(1.1, 1.9, "derivative(wm)", 1):         true,
		near(0.2, 0.2, "fine", 0.5):                 true, // between the ticks of 1 ms
		near(0.4, 1, "fine", 1):                     true,
		near(1.1, 1.1, "fine", 1.25):                true,
		near(3.4, 6, "fine", 0):                     true,
		"globally cpu + held <= 2":                  true,
		"globally cpu + held <= 1":                  false,
		"globally cpu - 2 * held >= -4":             true,
		"globally cpu - 2 * held >= -3":             false,
		"globally abs(mem - 60) <= 60":              true,
		"globally abs(mem - 60) <= 59":              false,
		// In a formula with propositions, signals are evaluated at the states: A starts at 0 and 1 ms,
		// M at 2 and 3 ms.
		"globally if start {'name'='A'} then cpu >= 1":  true,
		"globally if start {'name'='A'} then cpu >= 2":  false,
		"globally if start {'name'='M'} then mem >= 60": true,
		"globally if start {'name'='M'} then mem >= 61": false,
	} {
		spec, err := Parse("spec.etl", []byte(worked+"check c : "+formula))
		if err != nil {
			t.Fatal(err)
		}
		x, err := Run(context.Background(), d, spec, Options{Semantics: TwoValued})
		if err != nil {
			t.Fatal(err)
		}
		if got := x.Checks[0].Verdict == IsTrue; got != want {
			t.Errorf("%s: found %v, expected %v\n%v", formula, got, want, x.Checks[0].Reasons)
		}
		if len(x.Warnings) > 0 {
			t.Errorf("%s: warnings %v", formula, x.Warnings)
		}
	}
}

// TestDerivedIdentities checks two identities: the integral of the work in progress is the sum of the
// latencies, and the integral of the throughput is the number of objects. Objects that stay for no time
// count in neither.
func TestDerivedIdentities(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	spec, err := Parse("", []byte("signal w : wip 'id' signal t : throughput 'id' signal u : usage {'name'='work'} "+
		"check c : w >= 0"))
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		rec := trace.NewRecorder(trace.Clock{Num: 1000, Den: 1, Unit: 10}) // 10 ticks in a time unit
		work := rec.Region("work")
		sum, objects := int64(0), 0
		for i := range 1 + rnd.IntN(20) {
			from, long := rnd.Int64N(50), rnd.Int64N(20)
			loc := rec.Location(fmt.Sprint(i))
			id := trace.Attr{Key: "id", Value: trace.IntValue(int64(i))}
			rec.Enter(loc, from, work, id)
			rec.Leave(loc, from+long, work)
			if sum += long; long > 0 {
				objects++
			}
		}
		r, err := record(context.Background(), format.Recorded(rec), spec, Options{})
		if err != nil {
			t.Fatal(err)
		}
		e := newEvaluator(r)
		integral := func(s string) (sum float64) {
			for _, x := range spec.signals {
				if x.Name == s {
					for p := range e.signal(x.index) {
						n := p.to - p.from
						sum += n*p.c + n*n/2*p.b
					}
				}
			}
			return sum / 10
		}
		for s, want := range map[string]float64{"w": float64(sum) / 10, "u": float64(sum) / 10, "t": float64(objects)} {
			if got := integral(s); math.Abs(got-want) > 1e-9 {
				t.Errorf("integral of %s: found %v, expected %v", s, got, want)
			}
		}
	}
}

// TestDerivedWindow checks claims that are open at the ends of a window. A claim that began before the window
// counts from the begin of the window, and a claim that ends after it counts until the last event in it.
func TestDerivedWindow(t *testing.T) {
	rec := trace.NewRecorder(trace.TicksPerSecond(1))
	work := rec.Region("work")
	long, short := rec.Location("long"), rec.Location("short")
	rec.Enter(long, 0, work, trace.Attr{Key: "id", Value: trace.IntValue(1)})
	rec.Leave(long, 90, work)
	for i := range int64(9) {
		rec.Enter(short, 10*i, work)
		rec.Leave(short, 10*i+5, work)
	}
	spec, err := Parse("", []byte("signal u : usage {'name'='work'} signal w : wip 'id' signal t : throughput 'id' "+
		"check two : globally within [0, 4] u == 2 check one : globally within [5, 9] u == 1 check wip : globally w == 1 "+
		"check rate : globally (t > 0.06666 and t < 0.06667)"))
	if err != nil {
		t.Fatal(err)
	}
	x, err := Run(context.Background(), format.Recorded(rec), spec, Options{Window: &trace.Window{From: 20, To: 36}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range x.Checks { // in the window object 1 stays from 20 to 35
		if c.Verdict != Good {
			t.Errorf("%s: %v", c.Name, c)
		}
	}
}

// TestDerivedWarnings checks that warnings name the attributes that no event and no resource has.
func TestDerivedWarnings(t *testing.T) {
	spec, err := Parse("", []byte("signal u : usage {'name'='wrk'} signal w : wip 'idd' check c : u + w >= 0"))
	if err != nil {
		t.Fatal(err)
	}
	rec := trace.NewRecorder(trace.TicksPerSecond(1))
	rec.Enter(rec.Location("main"), 0, rec.Region("work"), trace.Attr{Key: "id", Value: trace.IntValue(1)})
	x, err := Run(context.Background(), format.Recorded(rec), spec, Options{})
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprint(x.Warnings)
	if len(x.Warnings) != 2 || !strings.Contains(text, "'name' = 'wrk'") || !strings.Contains(text, "attribute 'idd'") {
		t.Errorf("warnings %s", text)
	}
}

// TestNameWarnings checks the warnings about names: of a claim where only an event has the name, and of a name that
// is similar to one of very many.
func TestNameWarnings(t *testing.T) {
	spec, err := Parse("", []byte("check c : globally if start {'name' = 'mark'} then end {'name' = 'task 1099 x'} "+
		"check d : globally not start {'name' = 'task 5'}"))
	if err != nil {
		t.Fatal(err)
	}
	rec := trace.NewRecorder(trace.TicksPerSecond(1))
	loc := rec.Location("main")
	rec.Mark(loc, 0, rec.Region("mark"))
	for i := range int64(maxValues + 100) {
		task := rec.Region(fmt.Sprintf("task %d", i))
		rec.Enter(loc, 2*i, task)
		rec.Leave(loc, 2*i+1, task)
	}
	x, err := Run(context.Background(), format.Recorded(rec), spec, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range x.Warnings {
		got = append(got, w.Text+nearest.Hint(w.Word, w.Words))
	}
	want := []string{"no event has 'name' = 'task 1099 x'; did you mean task 1099?",
		"start {'name' = 'mark'} never holds: no claim has these attributes, only other events"}
	if !slices.Equal(got, want) {
		t.Errorf("found %q, expected %q", got, want)
	}
}
