package verify

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/effort"
	"github.com/weft-trace/weft/trace"
)

// rowSink passes rows to a sink one by one, and calls after with the time of each row once the sink has
// handled it.
type rowSink struct {
	sink  format.Sink
	after func(t int64) error
}

func (s rowSink) Links([]trace.Link) error { return nil }

func (s rowSink) Batch(b *trace.Batch) error {
	for i := range b.Len() {
		one := &trace.Batch{}
		one.Reset(b.Loc)
		one.AppendRows(b, i, i+1)
		if err := s.sink.Batch(one); err != nil {
			return err
		}
		if err := s.after(b.Time[i]); err != nil {
			return err
		}
	}
	return nil
}

// followed passes events to a monitor one by one, and returns the verdicts at the end. After each event it calls
// decided with the number of events so far, the event's time, and the checks that the event decided.
func followed(t *testing.T, m *Monitor, e format.Events,
	decided func(n int, at int64, list []CheckResult)) []CheckResult {
	t.Helper()
	n := 0
	sel := trace.Events()
	sel.NoStates = true
	err := e.Scan(context.Background(), sel, format.GlobalOrder, rowSink{m, func(at int64) error {
		n++
		list, err := m.Decide(context.Background(), true)
		decided(n, at, list)
		return err
	}})
	if err != nil {
		t.Fatal(err)
	}
	rest, err := m.End(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return rest
}

// TestMonitorAgrees checks that a monitor decides each check at the event after which Run decides it, with the same
// verdict and the same reasons, and that both agree at the end. The formulas and traces are random.
func TestMonitorAgrees(t *testing.T) {
	effort.Sequential(t)
	r := rand.New(rand.NewPCG(3, 4))
	early, late := 0, 0
	for i := range effort.Rounds(600) {
		x := newAgreement(t, r, i)
		n := len(x.prefixes)
		m := NewMonitor(x.spec, x.prefixes[n-1].Defs(), x.semantics)
		states, seen := 0, map[string]bool{}
		rest := followed(t, m, x.prefixes[n-1], func(_ int, _ int64, list []CheckResult) {
			if x.kind == 0 {
				states++
				x.compareOpen(t, states, list, m.OpenChecks())
			}
			end := x.run(t, x.prefixes[n-1])
			for _, c := range list {
				early++
				seen[c.Name] = true
				if end[c.Name].Verdict != c.Verdict {
					t.Fatalf("case %d: %s is %s, at the end %s\n%s", i, c.Name, c.Verdict, end[c.Name].Verdict, x.text)
				}
			}
		})
		end := x.run(t, x.prefixes[n-1])
		for _, c := range rest {
			late++
			if seen[c.Name] {
				t.Fatalf("case %d: two verdicts for %s", i, c.Name)
			}
			x.compare(t, "at the end", c, end[c.Name])
		}
		if len(rest)+len(seen) != 2 || m.States() != int64(n) {
			t.Fatalf("case %d: %d verdicts, %d states", i, len(rest)+len(seen), m.States())
		}
	}
	if early < 100 || late < 100 {
		t.Errorf("%d verdicts before the end and %d there, expected at least 100 each", early, late)
	}
}

// TestMonitorQuiet checks a monitor that decides after random numbers of events, of which most concern no proposition.
// At the end, its verdicts and reasons are those of Run.
func TestMonitorQuiet(t *testing.T) {
	effort.Sequential(t)
	r := rand.New(rand.NewPCG(15, 16))
	late, quiet := 0, 0
	for i := range effort.Rounds(1200) {
		x := newAgreement(t, r, i)
		if !x.quiet {
			continue
		}
		whole := x.prefixes[len(x.prefixes)-1]
		m := NewMonitor(x.spec, whole.Defs(), x.semantics)
		end := x.run(t, whole)
		take := func(list []CheckResult, err error) error {
			for _, c := range list {
				if end[c.Name].Verdict != c.Verdict {
					t.Fatalf("case %d: %s is %s, at the end %s\n%s", i, c.Name, c.Verdict, end[c.Name].Verdict, x.text)
				}
			}
			return err
		}
		sel := trace.Events()
		sel.NoStates = true
		err := whole.Scan(context.Background(), sel, format.GlobalOrder, rowSink{m, func(int64) error {
			if r.IntN(6) > 0 {
				return nil
			}
			err := take(m.Decide(context.Background(), true))
			for _, c := range m.quietness.checks {
				if c.quiet {
					quiet++
				}
			}
			return err
		}})
		if err != nil {
			t.Fatal(err)
		}
		rest, err := m.End(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range rest {
			late++
			x.compare(t, "at the end", c, end[c.Name])
		}
	}
	if late < 20 || quiet < 20 {
		t.Errorf("%d verdicts at the end, %d times a quiet check, expected at least 20 each", late, quiet)
	}
}

// agreement is a random case of TestMonitorAgrees: a specification with two checks, and a trace.
type agreement struct {
	number    int
	kind      int  // of the formulas: 0 for propositions, 2 for propositions and a signal
	quiet     bool // propositions hold at few states
	text      string
	spec      *Spec
	semantics Semantics
	prefixes  []format.Events // the first event of the trace, the first two events, and so on
}

// newAgreement returns the case with the given number.
func newAgreement(t *testing.T, r *rand.Rand, number int) *agreement {
	t.Helper()
	x := &agreement{number: number, kind: r.IntN(2) * 2}
	n := 1 + r.IntN(9)
	if x.quiet = r.IntN(2) == 0; x.quiet {
		n = 1 + r.IntN(25)
	}
	for k := range n {
		x.prefixes = append(x.prefixes, x.prefix(k+1))
	}
	var text strings.Builder
	text.WriteString("signal s : {'name' = 's'}\n")
	for c := range 2 {
		f, _ := randomFormula(r, x.kind, 4)
		if x.quiet && r.IntN(2) == 0 {
			g, _ := randomFormula(r, x.kind, 3)
			f = []string{"globally " + g, "not finally " + g, "until " + g + " we have that not " + g}[r.IntN(3)]
		}
		if x.kind > 0 && !strings.Contains(f, "{") && !strings.Contains(f, "next") {
			// Add a proposition about events: Run then evaluates the signals at the times of events.
			f = "(" + f + " or ({'p' = '1'} and not {'p' = '1'}))"
		}
		fmt.Fprintf(&text, "check c%d : %s\n", c, f)
	}
	x.text = text.String()
	var err error
	if x.spec, err = Parse("", []byte(x.text)); err != nil {
		t.Fatal(err)
	}
	x.semantics = []Semantics{Compatible, TwoValued, ThreeValued, FourValued}[r.IntN(4)]
	return x
}

// prefix returns the first events of the case's trace. states is the number of events.
func (a *agreement) prefix(states int) format.Events {
	r := rand.New(rand.NewPCG(uint64(a.number), 5))
	rec := trace.NewRecorder(trace.TicksPerSecond(1))
	loc, signal := rec.Location("main"), rec.Location("signal")
	counter, at := rec.Counter("s", ""), int64(0)
	for k := range states {
		var attrs []trace.Attr
		for _, n := range []string{"p", "q"} {
			if !a.quiet && r.IntN(3) > 0 || a.quiet && r.IntN(8) == 0 {
				attrs = append(attrs, trace.Attr{Key: n, Value: trace.StringValue("1")})
			}
		}
		if v := float64(r.IntN(4)); a.kind > 0 && r.IntN(2) == 0 {
			rec.Value(signal, at, counter, v)
		}
		rec.Event(loc, at, trace.Mark, trace.NoRef, []uint64{0}, attrs...)
		if at += r.Int64N(4); k == states-1 {
			break
		}
	}
	return format.Recorded(rec)
}

// run returns the results of Run for a trace, by the name of the check.
func (a *agreement) run(t *testing.T, e format.Events) map[string]CheckResult {
	t.Helper()
	result, err := Run(context.Background(), e, a.spec, Options{Semantics: a.semantics})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]CheckResult{}
	for _, c := range result.Checks {
		all[c.Name] = c
	}
	return all
}

// compareOpen compares the checks that a monitor decided after a number of states with those of Run. open is the
// number of checks that the monitor has not decided.
func (a *agreement) compareOpen(t *testing.T, states int, list []CheckResult, open int) {
	t.Helper()
	now := a.run(t, a.prefixes[states-1])
	for _, c := range list {
		a.compare(t, fmt.Sprintf("after %d states", states), c, now[c.Name])
	}
	want := 0
	for _, c := range now {
		if !c.Decided {
			want++
		}
	}
	if open != want {
		t.Fatalf("case %d, after %d states: %d checks are open, expected %d\n%s", a.number, states, open, want, a.text)
	}
}

// upTo is the part of a reason that says up to which time a trace that grows is known.
var upTo = regexp.MustCompile(`nor up to [0-9.]+ s$`)

// compare compares a result of a monitor with that of Run.
func (a *agreement) compare(t *testing.T, where string, got, want CheckResult) {
	t.Helper()
	if got.Verdict != want.Verdict || got.Holds != want.Holds || got.Decided != want.Decided {
		t.Fatalf("case %d, %s, semantics %s: %s, %s: got %s, Run has %s", a.number, where, a.semantics, got.Name, a.text,
			got.Verdict, want.Verdict)
	}
	// Run explains the verdicts of complete traces by the states at the end of the trace. A monitor explains them by
	// the states that decided them.
	f := a.spec.Checks[int(got.Name[1]-'0')].Formula
	single := f.Op == Globally || f.Op == Finally || f.Op == Until
	comparable := !want.Decided || a.semantics != TwoValued && a.semantics != Compatible
	if single && slices.ContainsFunc(f.Args, func(a *Formula) bool { return a.temporal }) {
		// The monitor no longer holds all states at which these arguments are explained.
		got.Reasons, want.Reasons = got.Reasons[:1], want.Reasons[:1]
	}
	for i := range got.Reasons { // Run assumes that the trace has ended
		r := &got.Reasons[i]
		r.Text = upTo.ReplaceAllString(r.Text, "nor later")
	}
	if single && comparable && !reflect.DeepEqual(got.Reasons, want.Reasons) {
		t.Fatalf("case %d, %s: %s\n%s\ngot  %v\nwant %v", a.number, where, got.Name, a.text, got.Reasons, want.Reasons)
	}
}

// TestMonitorMemory checks that a monitor holds the horizon of formulas with bounds and at most one more batch,
// and that the bound of an outermost operator does not count for the horizon.
func TestMonitorMemory(t *testing.T) {
	rec := trace.NewRecorder(trace.TicksPerSecond(1000))
	loc := rec.Location("main")
	const batch = 1000
	for i := range int64(batch) {
		rec.Mark(loc, i, rec.Region([]string{"A", "B", "C", "D"}[i%4]))
	}
	e := format.Recorded(rec)
	spec, err := Parse("", []byte(`def a : {'name' = 'A'} def b : {'name' = 'B'} def e : {'name' = 'E'}
		check nested : globally if a then finally within [0, 5 ms] (b and finally within [0, 100 ms] a)
		check outside : globally within [0, 1 h] not e
		check goal : finally within [0, 1 h] e
		check hold : until e we have that (a or not {'name' = 'F'})
		check later : next next globally (not a or next b)`))
	if err != nil {
		t.Fatal(err)
	}
	m := NewMonitor(spec, e.Defs(), Compatible)
	var rows *trace.Batch
	sink := format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
		if rows == nil {
			rows = b.Clone()
			return nil
		}
		rows.AppendRows(b, 0, b.Len())
		return nil
	}}
	sel := trace.Events()
	if err := e.Scan(context.Background(), sel, format.GlobalOrder, sink); err != nil {
		t.Fatal(err)
	}
	most := 0
	for range effort.Rounds(1000) { // 1 000 000 states
		if err := m.Batch(rows); err != nil {
			t.Fatal(err)
		}
		list, err := m.Decide(context.Background(), false)
		if err != nil || len(list) > 0 {
			t.Fatal(list, err)
		}
		most = max(most, m.HeldStates())
		for i := range rows.Time {
			rows.Time[i] += batch
		}
	}
	// The horizon is 105 states, because there is one state in each millisecond. The monitor may hold a
	// quarter more before the next decision, and twice as many states before it forgets some.
	if limit := 2 * (105 + batch); most > limit {
		t.Errorf("%d of %d states are held, expected at most %d", most, m.States(), limit)
	}
}

// TestMonitorSignals checks that checks with only signals are decided while the trace grows, and that a monitor
// holds the horizon of the formula. The signal s is 0, 1, 2, 3, 0, … for a millisecond each, and 9 at the end.
func TestMonitorSignals(t *testing.T) {
	rec := trace.NewRecorder(trace.TicksPerSecond(1000))
	loc, s := rec.Location("main"), rec.Counter("s", "")
	n := int64(effort.Rounds(100_000)) / 4 * 4
	for i := range n {
		rec.Value(loc, i, s, float64(i%4))
	}
	rec.Value(loc, n, s, 9)
	rec.Value(loc, n+1, s, 0)
	spec, err := Parse("", []byte(`signal s : {'name' = 's'}
		check low : globally s <= 3
		check first : finally within [2, 5] ms s > 2
		check falls : globally if s > 2 then finally within [0, 1] ms s < 1
		check not_soon : globally if s > 2 then finally within [0, 0.5] ms s < 1
		check never : globally not s > 9
		check ten : finally s >= 10`))
	if err != nil {
		t.Fatal(err)
	}
	e := format.Recorded(rec)
	m := NewMonitor(spec, e.Defs(), FourValued)
	at := map[string]int64{}
	most := 0
	rest := followed(t, m, e, func(_ int, now int64, list []CheckResult) {
		for _, c := range list {
			at[c.Name+" "+string(c.Verdict)] = now
		}
		for _, s := range m.signals {
			most = max(most, len(s.pieces))
		}
	})
	for _, c := range rest {
		at[c.Name+" "+string(c.Verdict)] = -1
	}
	// The signal between two samples is known at the second one. s exceeds 2 from 3 to 4 ms, and is
	// below 1 at 4 ms again. From 1 ms before the end it exceeds 2 for 2 ms.
	want := map[string]int64{"first TRUE": 4, "not_soon FALSE": 4, "low FALSE": n + 1, "falls FALSE": n + 1,
		"never STILL_TRUE": -1, "ten STILL_FALSE": -1}
	if !reflect.DeepEqual(at, want) {
		t.Errorf("found  %v\nexpected %v", at, want)
	}
	if most > 10 {
		t.Errorf("%d pieces of %d are held, expected at most 10", most, n)
	}
}

// TestMonitorSignalsAgree checks that a monitor has the same verdicts as Run for random formulas that
// consist only of signals. At many times, the values of these formulas depend on later events.
func TestMonitorSignalsAgree(t *testing.T) {
	effort.Sequential(t)
	r := rand.New(rand.NewPCG(8, 9))
	early, late := 0, 0
	for range effort.Rounds(3200) {
		c := newCase(r)
		if !c.Dense {
			continue
		}
		a, _ := randomFormula(r, 1, 3)
		b, _ := randomFormula(r, 1, 3)
		c.spec = fmt.Sprintf("signal s : {'name' = 's'} check c : until within [%d, 6] %s we have that %s", r.IntN(2), b, a)
		spec, err := Parse("", []byte(c.spec))
		if err != nil {
			t.Fatal(err)
		}
		x, err := Run(context.Background(), c.events, spec, Options{Semantics: FourValued})
		if err != nil {
			t.Fatal(err)
		}
		m := NewMonitor(spec, c.events.Defs(), FourValued)
		take := func(_ int, _ int64, list []CheckResult) {
			for _, y := range list {
				early++
				if y.Verdict != x.Checks[0].Verdict {
					t.Fatalf("%s: %s, Run has %s", c.spec, y.Verdict, x.Checks[0].Verdict)
				}
			}
		}
		rest := followed(t, m, c.events, take)
		take(0, 0, rest)
		early, late = early-len(rest), late+len(rest)
	}
	if early < 50 || late < 50 {
		t.Errorf("%d verdicts before the end and %d there, expected at least 50 each", early, late)
	}
}
