package verify

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/effort"
	"github.com/weft-trace/weft/trace"
)

// randomCase is a trace and a formula in the form that testdata/reference.py reads.
type randomCase struct {
	States  [][2]any `json:"states"`
	Signal  [][3]int `json:"signal"`
	End     int      `json:"end"`
	Dense   bool     `json:"dense"`
	Formula []any    `json:"formula"`
	// Derived is "usage" or "wip" if the signal is derived from Calls. Each element of Calls has a
	// begin, an end and an object.
	Derived string   `json:"derived"`
	Calls   [][3]int `json:"calls"`

	spec   string
	events format.Events
}

// newCase returns a random case: with propositions, with a signal, or with both.
func newCase(r *rand.Rand) *randomCase {
	c := &randomCase{Signal: [][3]int{}, States: [][2]any{}}
	rec := trace.NewRecorder(trace.TicksPerSecond(1))
	loc := rec.Location("main")
	kind := r.IntN(3) // 0 propositions, 1 signal, 2 both
	t := 0
	for range 1 + r.IntN(7) {
		names := []string{}
		var attrs []trace.Attr
		for _, n := range []string{"p", "q"} {
			if r.IntN(2) == 0 {
				names = append(names, n)
				attrs = append(attrs, trace.Attr{Key: n, Value: trace.StringValue("1")})
			}
		}
		rec.Event(loc, int64(t), trace.Mark, trace.NoRef, []uint64{0}, attrs...)
		c.States = append(c.States, [2]any{t, names})
		t += r.IntN(4)
	}
	c.End = c.States[len(c.States)-1][0].(int)
	signal := "{'name' = 's'}"
	switch {
	case kind == 1 && r.IntN(2) == 0:
		signal = c.derive(r, rec)
	case kind > 0:
		m := rec.Counter("s", "")
		loc := rec.Location("signal")
		from := r.IntN(2)
		for range 1 + r.IntN(4) {
			to := from + 1 + r.IntN(4)
			v := r.IntN(4)
			rec.Event(loc, int64(from), trace.Fragment, m, []uint64{uint64(to), trace.FloatValue(float64(v)).Num, 0, 0})
			c.Signal = append(c.Signal, [3]int{from, to, v})
			if from = to; r.IntN(4) == 0 {
				from++
			}
		}
		c.End = max(c.End, c.Signal[len(c.Signal)-1][1])
	}
	c.events = format.Recorded(rec)
	c.Dense = kind == 1
	var text string
	text, c.Formula = randomFormula(r, kind, 4)
	c.Dense = kind > 0 && !strings.Contains(text, "{") && !strings.Contains(text, "next") && strings.Contains(text, "s ")
	c.spec = "signal s : " + signal + "\ncheck c : " + text
	if kind == 0 {
		c.spec = "check c : " + text
	}
	return c
}

// derive adds calls to a trace, and returns a signal that is derived from them.
func (c *randomCase) derive(r *rand.Rand, rec *trace.Recorder) string {
	work := rec.Region("work")
	for i := range 1 + r.IntN(6) {
		from, object := r.IntN(8), r.IntN(3)
		to := from + r.IntN(5)
		loc := rec.Location(fmt.Sprintf("call %d", i))
		rec.Enter(loc, int64(from), work, trace.Attr{Key: "id", Value: trace.IntValue(int64(object))})
		rec.Leave(loc, int64(to), work)
		c.Calls = append(c.Calls, [3]int{from, to, object})
		c.End = max(c.End, to)
	}
	if c.Derived = "usage"; r.IntN(2) == 0 {
		c.Derived = "wip"
		return "wip 'id'"
	}
	return "usage {'name' = 'work'}"
}

// randomFormula returns a formula in two forms: as text for a specification, and as a list for
// reference.py.
func randomFormula(r *rand.Rand, kind, depth int) (text string, list []any) {
	if depth == 0 || r.IntN(6) == 0 {
		if kind == 1 || kind == 2 && r.IntN(2) == 0 {
			op, n := comparisons[r.IntN(len(comparisons))], r.IntN(4)
			return fmt.Sprintf("s %s %d", op, n), []any{"signal", op, n}
		}
		n := []string{"p", "q"}[r.IntN(2)]
		return fmt.Sprintf("{'%s' = '1'}", n), []any{"prop", n}
	}
	a, x := randomFormula(r, kind, depth-1)
	bound, limits := "", any(nil)
	if r.IntN(2) == 0 {
		low, lowOpen, highOpen := r.IntN(3), r.IntN(2) == 0, r.IntN(2) == 0
		high, left, right := low+r.IntN(4), "[", "]"
		if lowOpen {
			left = "("
		}
		if highOpen {
			right = ")"
		}
		bound, limits = fmt.Sprintf("within %s%d, %d%s ", left, low, high, right), []any{low, high, lowOpen, highOpen}
		if r.IntN(4) == 0 {
			bound, limits = fmt.Sprintf("within %s%d, inf) ", left, low), []any{low, nil, lowOpen, true}
		}
	}
	operators := 8
	if kind == 1 {
		operators = 7 // next needs states
	}
	switch r.IntN(operators) {
	case 0:
		return "not " + a, []any{"not", x}
	case 1:
		return "globally " + bound + a, []any{"globally", limits, x}
	case 2:
		return "finally " + bound + a, []any{"finally", limits, x}
	case 7:
		return "next " + a, []any{"next", x}
	}
	b, y := randomFormula(r, kind, depth-1)
	switch r.IntN(5) {
	case 0:
		return "(" + a + " and " + b + ")", []any{"and", x, y}
	case 1:
		return "(" + a + " or " + b + ")", []any{"or", x, y}
	case 2:
		return "if " + a + " then " + b, []any{"implies", x, y}
	}
	return "until " + bound + b + " we have that " + a, []any{"until", limits, x, y}
}

// TestReference compares verdicts of Run with a second implementation, for random formulas and traces. It also
// compares the verdicts of a monitor.
func TestReference(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("found no python3, expected it for the second implementation")
	}
	r := rand.New(rand.NewPCG(1, 2))
	n := effort.Rounds(400)
	if effort.Soak() {
		n = 100000
	}
	cases := make([]*randomCase, n)
	var in bytes.Buffer
	e := json.NewEncoder(&in)
	for i := range cases {
		cases[i] = newCase(r)
		if err := e.Encode(cases[i]); err != nil {
			t.Fatal(err)
		}
	}
	// Read the script here, so that go test runs the test again when it changes.
	script, err := os.ReadFile("testdata/reference.py")
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(python, "-c", string(script))
	c.Stdin, c.Stderr = &in, os.Stderr
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(bytes.NewReader(out))
	verdicts := map[string]int{}
	for i, x := range cases {
		if !lines.Scan() {
			t.Fatalf("found %d verdicts, expected %d", i, n)
		}
		var want [3]any
		if err := json.Unmarshal(lines.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		spec, err := Parse("spec.etl", []byte(x.spec))
		if err != nil {
			t.Fatalf("%s: %v", x.spec, err)
		}
		got := map[Semantics]Verdict{}
		for _, s := range []Semantics{TwoValued, ThreeValued, FourValued} {
			y, err := Run(context.Background(), x.events, spec, Options{Semantics: s, Robust: s == TwoValued})
			if err != nil {
				t.Fatal(err)
			}
			got[s] = y.Checks[0].Verdict
			if s == TwoValued {
				distance, err := strconv.ParseFloat(want[2].(string), 64)
				if err != nil {
					t.Fatal(err)
				}
				if r := float64(*y.Checks[0].Robustness); r != distance {
					t.Fatalf("case %d: robustness %g, want %g\n%s", i, r, distance, x.spec)
				}
				if distance > 0 && got[s] != IsTrue || distance < 0 && got[s] != IsFalse {
					t.Fatalf("case %d: robustness %g, but %s\n%s", i, distance, got[s], x.spec)
				}
			}
			if c := y.Checks[0]; c.Verdict.Violated() && len(c.Reasons) == 0 {
				t.Errorf("%s: no reasons for %s", x.spec, c.Verdict)
			}
		}
		two, three := want[0].(bool), want[1].(string)
		verdicts[three]++
		expected := map[Semantics]Verdict{
			TwoValued:   map[bool]Verdict{true: IsTrue, false: IsFalse}[two],
			ThreeValued: map[string]Verdict{"good": Good, "bad": Bad, "none": NonInformative}[three],
			FourValued: map[string]Verdict{"good": DecidedTrue, "bad": DecidedFalse,
				"none": map[bool]Verdict{true: StillTrue, false: StillFalse}[two]}[three],
		}
		for s, v := range expected {
			if got[s] != v {
				b, _ := json.Marshal(x)
				t.Fatalf("case %d, semantics %s: got %s, want %s\n%s\n%s", i, s, got[s], v, x.spec, b)
			}
			m := NewMonitor(spec, x.events.Defs(), s)
			take := func(_ int, _ int64, list []CheckResult) {
				for _, c := range list {
					if c.Verdict != v {
						t.Fatalf("case %d, semantics %s: a monitor has %s, want %s\n%s", i, s, c.Verdict, v, x.spec)
					}
				}
			}
			take(0, 0, followed(t, m, x.events, take))
		}
	}
	for _, v := range []string{"good", "bad", "none"} {
		if verdicts[v] < n/20 {
			t.Errorf("only %d of %d verdicts are %s", verdicts[v], n, v)
		}
	}
}
