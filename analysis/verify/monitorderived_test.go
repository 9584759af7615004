package verify

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/etf"
	"github.com/weft-trace/weft/internal/effort"
	"github.com/weft-trace/weft/trace"
)

// randomDerived returns a specification of derived signals and percentiles.
func randomDerived(r *rand.Rand) string {
	var text strings.Builder
	kinds := []string{"usage {'name' = 'R0'}", "usage {'name' = 'A'}", "usage {'name' = 'R1'} amount",
		"usage {'name' = 'B'} amount", "throughput {'name' = 'A'}",
		"throughput end {'name' = 'B'}", "throughput 'id'",
		"wip 'id'", "latency 'id'"}
	for i := range 2 {
		over := ""
		if r.IntN(2) == 0 {
			over = fmt.Sprintf(" over %g", []float64{1, 2, 2.5, 7, 0.25}[r.IntN(5)])
		}
		fmt.Fprintf(&text, "signal s%d : %s%s\n", i, kinds[r.IntN(len(kinds))], over)
	}
	// Averages of rates are rounded, and the rounding depends on the length of a tick. Therefore bounds
	// must not equal an average.
	off := 0.0
	if strings.Contains(text.String(), "over") {
		off = 0.001
	}
	compare := func() string {
		signal := []string{"s0", "s0", "s1", "s0 + s1", "derivative(s0)", "s0 - 2 * s1", "abs(s1 - 1)"}[r.IntN(7)]
		return fmt.Sprintf("%s %s %g", signal, comparisons[r.IntN(4)], float64(r.IntN(9))/3+off)
	}
	bound := func() string {
		return []string{"", "", "within [0, 2] ", "within (1, 4] ", "by 3 ", "after 2 "}[r.IntN(6)]
	}
	for i := range 4 {
		fmt.Fprintf(&text, "check c%d : ", i)
		a, b := compare(), compare()
		event := []string{"{'name' = 'A'}", "start {'name' = 'B'}", "{'id' = '1'}"}
		if r.IntN(2) == 0 {
			a = event[r.IntN(3)]
		}
		by := []string{"", " by 'id'"}[r.IntN(2)]
		percentile := fmt.Sprintf("percentile %d from %s to %s%s %s %d", []int{50, 90, 100, 100}[r.IntN(4)], event[r.IntN(3)],
			event[r.IntN(3)], by, []string{"<", "<="}[r.IntN(2)], r.IntN(6))
		switch r.IntN(8) {
		case 0:
			fmt.Fprintf(&text, "globally %s%s", bound(), b)
		case 1:
			fmt.Fprintf(&text, "finally %s%s", bound(), b)
		case 2:
			fmt.Fprintf(&text, "globally if %s then finally %s%s", a, bound(), b)
		case 3:
			fmt.Fprintf(&text, "until %s%s we have that %s", bound(), a, b)
		case 4:
			fmt.Fprintf(&text, "(%s and globally %s)", a, b)
		case 5:
			fmt.Fprintf(&text, "globally (%s or %s)", b, percentile)
		default:
			text.WriteString(percentile)
		}
		text.WriteByte('\n')
	}
	return text.String()
}

// randomLines returns the text of a random TRACE file in the order of time. Later times may have more
// digits than earlier ones.
func randomLines(r *rand.Rand) string {
	var text strings.Builder
	text.WriteString("TU MILLISECONDS\nR 0 4 false ; name=R0\nR 1 9 false ; name=R1\n")
	at, digits, step := 0, 0, 1000
	for i := range 1 + r.IntN(14) {
		if r.IntN(6) == 0 {
			digits = min(digits+1, 2)
			step = []int{1000, 100, 10}[digits]
		}
		time := func(t int) string { return fmt.Sprintf("%.*f", digits, float64(t)/1000) }
		name := []string{"A", "B"}[r.IntN(2)]
		id := ""
		if r.IntN(4) > 0 {
			id = fmt.Sprintf(",id=%d", r.IntN(4))
		}
		if r.IntN(3) == 0 {
			fmt.Fprintf(&text, "E %d %s ; name=%s%s\n", i, time(at), name, id)
		} else {
			end := at + r.IntN(5)*step
			fmt.Fprintf(&text, "C %d %s %s %d %d ; name=%s%s\n", i, time(at), time(end), r.IntN(2), 1+r.IntN(3), name, id)
		}
		at += r.IntN(4) * step
	}
	return text.String()
}

// followText verifies the text of a TRACE file while it grows, line by line. It returns the verdicts,
// and the number of verdicts before the end.
func followText(t *testing.T, spec *Spec, text string, s Semantics, idle int64) (all map[string]CheckResult,
	early int) {
	t.Helper()
	var m *Monitor
	all = map[string]CheckResult{}
	add := func(list []CheckResult, err error) {
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range list {
			if _, ok := all[c.Name]; ok {
				t.Fatalf("two verdicts for %s", c.Name)
			}
			all[c.Name] = c
		}
	}
	opt := &format.FollowOptions{ReadOptions: &format.ReadOptions{Report: format.NewReport(), Workers: 1}, Name: "text",
		Begin: func(d *trace.Definitions) (format.Sink, error) {
			m = NewMonitor(spec, d, s)
			if idle >= 0 {
				m.SetIdleTime(func(c trace.Clock) (int64, error) { return c.ParseDuration(fmt.Sprintf("%d ms", idle)) })
			}
			return m, nil
		},
		ScaleTimes: func(factor int64) { m.ScaleTimes(factor) },
		TooLate:    func(line, _, _ int64) error { return fmt.Errorf("line %d is late", line) }}
	err := etf.Format{}.Follow(func(yield func([]byte, error) bool) {
		for line := range strings.Lines(text) {
			if !yield([]byte(line), nil) {
				return
			}
			add(m.Decide(context.Background(), true))
		}
	}, opt)
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range opt.Report.Rules() {
		if rule.Severity == trace.Error {
			t.Fatalf("the text has defects: %v\n%s", rule, text)
		}
	}
	early = len(all)
	add(m.End(context.Background()))
	return all, early
}

// TestMonitorDerivedAgrees checks that a monitor has the same verdicts as Run for random derived
// signals and percentiles, on random texts that grow. A verdict before the end must equal the verdict
// at the end.
func TestMonitorDerivedAgrees(t *testing.T) {
	effort.Sequential(t)
	r := rand.New(rand.NewPCG(22, 22))
	sum := 0
	for i := range effort.Rounds(400) {
		lines, text := randomLines(r), randomDerived(r)
		spec, err := Parse("", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		s := []Semantics{TwoValued, FourValued}[r.IntN(2)]
		path := t.TempDir() + "/a.etf"
		if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := etf.Format{}.Open(context.Background(), format.FileSource(path), &format.ReadOptions{Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		want, err := Run(context.Background(), f, spec, Options{Semantics: s})
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		idle := []int64{-1, 1000}[r.IntN(2)] // longer than the trace
		got, early := followText(t, spec, lines, s, idle)
		sum += early
		for _, c := range want.Checks {
			if x := got[c.Name]; x.Verdict != c.Verdict || x.Holds != c.Holds {
				t.Fatalf("case %d, %s: %s is %s, Run has %s\n%s\n%s", i, s, c.Name, x.Verdict, c.Verdict, text, lines)
			}
		}
	}
	if sum < 100 {
		t.Errorf("%d verdicts before the end, expected at least 100", sum)
	}
}

// TestMonitorIdleObjects checks that an object is another one after the idle time, even if its next event comes in the
// same batch. Object 1 is in the system from 0 to 2 and from 20 to 22 ms. So its latency is 2 ms, no object is there at
// 10 ms, and both response times from A to B are 2 ms.
func TestMonitorIdleObjects(t *testing.T) {
	const text = "TU MILLISECONDS\nR 0 4 false ; name=R\nE 0 0 ; name=A,id=1\nE 1 2 ; name=B,id=1\n" +
		"E 2 20 ; name=A,id=1\nC 3 21 22 0 1 ; name=B,id=1\nE 4 40 ; name=end\n"
	spec, err := Parse("", []byte(`
		signal l : latency 'id'
		signal w : wip 'id'
		check latency : globally l <= 2
		check empty : finally within [10, 10] w == 0
		check times : percentile 100 from {'name' = 'A'} to {'name' = 'B'} by 'id' <= 2 ms`))
	if err != nil {
		t.Fatal(err)
	}
	for idle, want := range map[int64]Verdict{5: "good", 17: "good", 18: "bad", 100: "bad"} {
		got, _ := followText(t, spec, text, Compatible, idle)
		for name, c := range got {
			if c.Verdict != want {
				t.Errorf("idle time of %d ms: %s is %s, expected %s", idle, name, c.Verdict, want)
			}
		}
	}
}

// TestMonitorVisitsAgree makes the same checks as TestMonitorDerivedAgrees with visits, some of which
// do not end.
func TestMonitorVisitsAgree(t *testing.T) {
	effort.Sequential(t)
	r := rand.New(rand.NewPCG(22, 24))
	early := 0
	for i := range effort.Rounds(400) {
		rec := trace.NewRecorder(trace.TicksPerSecond(1000))
		type visit struct {
			location uint32
			region   uint32
		}
		var open []visit
		at := int64(0)
		for range 1 + r.IntN(20) {
			loc := rec.Location([]string{"l0", "l1", "l2"}[r.IntN(3)])
			region := rec.Region([]string{"A", "B"}[r.IntN(2)])
			id := trace.Attr{Key: "id", Value: trace.IntValue(r.Int64N(4))}
			switch n := r.IntN(5); {
			case n == 0:
				rec.Mark(loc, at, region, id)
			case n < 3 || len(open) == 0:
				rec.Enter(loc, at, region, id)
				open = append(open, visit{loc, region})
			default:
				k := len(open) - 1
				rec.Leave(open[k].location, at, open[k].region)
				open = open[:k]
			}
			at += r.Int64N(4)
		}
		e := format.Recorded(rec)
		text := randomDerived(r)
		spec, err := Parse("", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		want, err := Run(context.Background(), e, spec, Options{Semantics: TwoValued})
		if err != nil {
			t.Fatal(err)
		}
		m := NewMonitor(spec, e.Defs(), TwoValued)
		if r.IntN(2) == 0 {
			m.SetIdleTime(func(trace.Clock) (int64, error) { return 1000, nil })
		}
		got := map[string]Verdict{}
		for _, c := range followed(t, m, e, func(_ int, _ int64, list []CheckResult) {
			for _, c := range list {
				early++
				got[c.Name] = c.Verdict
			}
		}) {
			got[c.Name] = c.Verdict
		}
		for _, c := range want.Checks {
			if got[c.Name] != c.Verdict {
				t.Fatalf("case %d: %s is %s, Run has %s\n%s", i, c.Name, got[c.Name], c.Verdict, text)
			}
		}
	}
	if early < 100 {
		t.Errorf("%d verdicts before the end, expected at least 100", early)
	}
}

// TestMonitorDerivedTimes checks by hand after which line a check is decided.
func TestMonitorDerivedTimes(t *testing.T) {
	lines := []string{"TU MILLISECONDS\nR 0 4 false ; name=CPU\n",
		"C 0 0 4 0 1 ; name=A,id=1\n",        // 0
		"C 1 1 3 0 2 ; name=A,id=2\n",        // 1
		"E 0 2 ; name=B,id=1\n",              // 2
		"E 1 3 ; name=B,id=3\n",              // 3
		"E 2 6 ; name=B,id=3\n",              // 4
		"C 2 6 7 0 1 ; name=A,id=4\n",        // 5
		"E 3 12 ; name=C\n",                  // 6
		"E 4 20 ; name=B\nE 5 20 ; name=C\n", // 7
	}
	const end = 8
	for _, x := range []struct {
		check string
		idle  int64
		want  int
		bad   bool
	}{
		// Two claims are open from 1 to 3 ms. This is known at the first event after 1 ms.
		{"usage {'name'='CPU'} check c : globally s <= 1", -1, 3, true},
		{"usage {'name'='CPU'} check c : globally s <= 2", -1, end, false},
		{"usage {'name'='CPU'} amount check c : globally s <= 2", -1, 3, true},
		// The average over 2 ms is 2 at 3 ms, and exceeds 1.7 at 2.5 ms. The first event after 2.5 ms
		// is at 3 ms.
		{"usage {'name'='CPU'} over 2 ms check c : globally s <= 1.7", -1, 4, true},
		{"usage {'name'='CPU'} over 2 ms check c : globally s <= 1.999", -1, 4, true},
		// B occurs at 2, 3, 6 and 20 ms, so that the rates are 1, 1/3 and 1/14 per ms. The rate from 6
		// ms on is known at 20 ms.
		{"throughput {'name'='B'} check c : globally s <= 0.9", -1, 4, true},
		{"throughput {'name'='B'} check c : globally after 2 s >= 0.3", -1, 8, true},
		// Object 1 stays from 0 to 4 ms, object 2 from 1 to 3 ms, object 3 from 3 to 6 ms, and object 4
		// from 6 to 7 ms. An object has left after 4 ms without an event of it: objects 1 and 2 when
		// the time exceeds 8 ms.
		{"wip 'id' check c : globally s <= 1", -1, end, true},
		{"wip 'id' check c : globally s <= 1", 4, 7, true},
		{"wip 'id' check c : globally s <= 2", 4, end, false},
		// The latency is 4 ms at first, and then 2 / (1/4 + 1/2) = 8/3 ms.
		{"latency 'id' check c : globally s <= 3", 4, 7, true},
		{"wip 'id' check c : globally s <= 2 check d : globally not {'name'='C'}", -1, 7, true}, // d does not wait for c
	} {
		spec, err := Parse("", []byte("signal s : "+x.check))
		if err != nil {
			t.Fatal(err)
		}
		decided := len(lines)
		bad := false
		for n := range len(lines) {
			got, early := followText(t, spec, strings.Join(lines[:n+1], ""), Compatible, x.idle)
			if early > 0 && decided == len(lines) {
				decided = n
			}
			bad = false
			for _, c := range got {
				bad = bad || c.Verdict == Bad
			}
		}
		if decided != x.want && !(x.want == end && decided == len(lines)) || bad != x.bad {
			t.Errorf("%s, idle %d: decided after line %d, bad %t; expected %d, %t", x.check, x.idle, decided, bad, x.want, x.bad)
		}
	}
}

// TestMonitorDerivedMemory checks how much a monitor holds of a long trace in which an object comes
// each millisecond and stays for 5 ms.
func TestMonitorDerivedMemory(t *testing.T) {
	spec, err := Parse("", []byte(`signal u : usage {'name' = 'A'} over 20 ms signal w : wip 'id' signal l : latency 'id'
		signal e : throughput {'name' = 'A'} over 5 ms
		check c : globally (u <= 6 and w <= 7 and l <= 7 ms and e <= 3)
		check d : globally if {'name' = 'A'} then u <= 6
		check p : percentile 99 from start {'name' = 'A'} to end {'name' = 'A'} by 'id' < 6 ms
		check q : percentile 100 from start {'name' = 'A'} to end {'name' = 'B'} < 1 h
		check r : percentile 99 from start {'name' = 'A'} to end {'name' = 'A'} < 6 ms`))
	if err != nil {
		t.Fatal(err)
	}
	var m *Monitor
	most := map[string]int{}
	n := effort.Rounds(20_000)
	opt := &format.FollowOptions{ReadOptions: &format.ReadOptions{Report: format.NewReport(), Workers: 1}, Name: "text",
		Begin: func(d *trace.Definitions) (format.Sink, error) {
			m = NewMonitor(spec, d, Compatible)
			m.SetIdleTime(func(trace.Clock) (int64, error) { return 10, nil })
			return m, nil
		}, TooLate: func(line, _, _ int64) error { return fmt.Errorf("line %d is late", line) }}
	err = etf.Format{}.Follow(func(yield func([]byte, error) bool) {
		for i := range n {
			line := fmt.Sprintf("C %d %d %d 0 1 ; name=A,id=%d\n", i, i, i+5, i)
			if i == 0 {
				line = "TU MILLISECONDS\nR 0 9 false ; name=CPU\n" + line
			}
			if i%10 == 9 {
				line += fmt.Sprintf("C %d %d %d 0 1 ; name=B,id=%d\n", n+i, i, i, n+i)
			}
			if !yield([]byte(line), nil) {
				return
			}
			if list, err := m.Decide(context.Background(), true); err != nil || len(list) > 0 {
				t.Fatal(list, err)
			}
			lines := 0
			for _, s := range m.growth.signals {
				lines = max(lines, len(s.lines))
			}
			for _, x := range m.growth.responses {
				most["waiting"] = max(most["waiting"], len(x.waiting))
				most["spans"] = max(most["spans"], len(x.spans))
				most["begins"] = max(most["begins"], len(x.begins))
			}
			most["lines"], most["states"] = max(most["lines"], lines), max(most["states"], m.HeldStates())
			most["objects"] = max(most["objects"], len(m.derived.objects[0].stays))
		}
	}, opt)
	if err != nil {
		t.Fatal(err)
	}
	list, err := m.End(context.Background())
	if err != nil || len(list) != 5 {
		t.Fatal(list, err)
	}
	for _, c := range list {
		if c.Verdict == Bad {
			t.Errorf("%s: %v", c.Name, c.Reasons)
		}
	}
	for what, k := range most {
		if k > 120 {
			t.Errorf("%d %s of %d are held, expected at most 120", k, what, n)
		}
	}
}

// TestMonitorLateResource checks that a monitor rejects a late resource that would change what a usage
// signal has already counted.
func TestMonitorLateResource(t *testing.T) {
	spec, err := Parse("", []byte("signal u : usage {'name' = 'A'} check c : globally u <= 1"))
	if err != nil {
		t.Fatal(err)
	}
	opt := &format.FollowOptions{ReadOptions: &format.ReadOptions{Report: format.NewReport(), Workers: 1}, Name: "text",
		Begin: func(d *trace.Definitions) (format.Sink, error) { return NewMonitor(spec, d, Compatible), nil }}
	err = etf.Format{}.Follow(func(yield func([]byte, error) bool) {
		for _, lines := range []string{"R 0 4 false ; name=CPU\nC 0 0 1 0 1 ; name=A\n",
			"R 1 4 false ; name=A\nC 1 2 3 1 1 ; name=B\n"} {
			if !yield([]byte(lines), nil) {
				return
			}
		}
	}, opt)
	if err == nil || !strings.Contains(err.Error(), "found a resource with {'name' = 'A'} after claims") {
		t.Errorf("%v, expected an error about the resource A", err)
	}
}

// TestMonitorPercentilesInTime checks that a monitor decides a percentile at the first event after
// which Run would decide it.
func TestMonitorPercentilesInTime(t *testing.T) {
	effort.Sequential(t)
	r := rand.New(rand.NewPCG(25, 26))
	decided := 0
	for i := range effort.Rounds(500) {
		var text strings.Builder
		for c := range 3 {
			fmt.Fprintf(&text, "check c%d : percentile %d from {'name' = 'A'} to {'name' = 'B'}%s %s %d\n", c,
				[]int{99, 100, 100}[r.IntN(3)], []string{"", " by 'id'"}[r.IntN(2)], []string{"<", "<="}[r.IntN(2)], r.IntN(8))
		}
		spec, err := Parse("", []byte(text.String()))
		if err != nil {
			t.Fatal(err)
		}
		n := 2 + r.IntN(8)
		seed := r.Uint64()
		prefix := func(n int) format.Events {
			r := rand.New(rand.NewPCG(seed, 1))
			rec := trace.NewRecorder(trace.Clock{Num: 1000, Den: 1, Unit: 1})
			at := int64(0)
			for range n {
				rec.Mark(rec.Location("main"), at, rec.Region([]string{"A", "B", "C"}[r.IntN(3)]),
					trace.Attr{Key: "id", Value: trace.IntValue(r.Int64N(3))})
				at += r.Int64N(5)
			}
			return format.Recorded(rec)
		}
		e := prefix(n)
		m := NewMonitor(spec, e.Defs(), ThreeValued)
		followed(t, m, e, func(k int, _ int64, list []CheckResult) {
			decided += len(list)
			x, err := Run(context.Background(), prefix(k), spec, Options{Semantics: ThreeValued})
			if err != nil {
				t.Fatal(err)
			}
			open := 0
			for _, c := range x.Checks {
				if !c.Decided {
					open++
				}
			}
			if m.OpenChecks() != open {
				t.Fatalf("case %d, after %d events: %d checks are open, expected %d\n%s", i, k, m.OpenChecks(), open, text.String())
			}
		})
	}
	if decided < 50 {
		t.Errorf("%d verdicts before the end, expected at least 50", decided)
	}
}
