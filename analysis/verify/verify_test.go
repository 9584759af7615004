package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// states returns a trace with one event in each millisecond. Each letter of a word is an attribute of
// the event with the value 1.
func states(words ...string) format.Events {
	rec := trace.NewRecorder(trace.Clock{Num: 1000, Den: 1, Unit: 1})
	loc := rec.Location("main")
	for t, w := range words {
		var attrs []trace.Attr
		for _, r := range w {
			attrs = append(attrs, trace.Attr{Key: string(r), Value: trace.StringValue("1")})
		}
		rec.Event(loc, int64(t), trace.Mark, trace.NoRef, []uint64{0}, attrs...)
	}
	return format.Recorded(rec)
}

// verdict returns the verdict of a formula.
func verdict(t *testing.T, e format.Events, formula string, s Semantics) CheckResult {
	t.Helper()
	spec, err := Parse("spec.etl", []byte(definitions+"check c : "+formula))
	if err != nil {
		t.Fatal(err)
	}
	x, err := Run(context.Background(), e, spec, Options{Semantics: s})
	if err != nil {
		t.Fatal(err)
	}
	return x.Checks[0]
}

const definitions = "def p : {'p' = '1'} def q : {'q'='1'} // a comment\ndef r:{'r'='1'} def z:{'z'='1'}\n"

// TestExamples checks the verdicts of formulas that were decided by hand.
func TestExamples(t *testing.T) {
	e := states("p", "q", "p", "")
	for _, x := range []struct {
		formula          string
		two, three, four Verdict
	}{
		{"p", IsTrue, Good, DecidedTrue},
		{"finally q", IsTrue, Good, DecidedTrue},
		{"finally r", IsFalse, NonInformative, StillFalse},
		{"globally p", IsFalse, Bad, DecidedFalse},
		{"globally not r", IsTrue, NonInformative, StillTrue},
		{"globally if p then finally q", IsFalse, NonInformative, StillFalse},
		{"globally if p then finally within [0,1] q", IsFalse, NonInformative, StillFalse},
		{"finally within [0, 0.5] q", IsFalse, Bad, DecidedFalse},
		{"finally within [0, 500] us q", IsFalse, Bad, DecidedFalse},
		{"finally by 1 ms q", IsTrue, Good, DecidedTrue},
		{"until q we have that p", IsTrue, Good, DecidedTrue},
		{"until r we have that p", IsFalse, Bad, DecidedFalse},
		{"not finally r", IsTrue, NonInformative, StillTrue},
		{"next q", IsTrue, Good, DecidedTrue},
		{"(p implies next q)", IsTrue, Good, DecidedTrue},
		{"(p iff q)", IsFalse, Bad, DecidedFalse},
		{"finally within (0, 1) true", IsFalse, Bad, DecidedFalse},
		{"during [0, 2] (p or q)", IsTrue, Good, DecidedTrue},
		// during begins the argument of finally: q would have to hold at 1 ms and at 2 ms
		{"finally during [0, 1] q", IsFalse, NonInformative, StillFalse},
		{"after 2 p", IsTrue, Good, DecidedTrue}, // p holds at 2 ms, and at no later state
		{"after 3 p", IsFalse, NonInformative, StillFalse},
		{"finally by 2 after 1 q", IsTrue, Good, DecidedTrue}, // q holds 1 ms after the first state, which is at 0 ms
		{"forall (i : 0 .. 1) finally {'p' = i}", IsFalse, NonInformative, StillFalse},
	} {
		for s, want := range map[Semantics]Verdict{TwoValued: x.two, ThreeValued: x.three, FourValued: x.four,
			Compatible: x.three} {
			if got := verdict(t, e, x.formula, s); got.Verdict != want {
				t.Errorf("%s: semantics %s: %s, expected %s", x.formula, s, got.Verdict, want)
			}
		}
	}
}

// TestEmptyTrace checks that a trace without events decides nothing.
func TestEmptyTrace(t *testing.T) {
	for f, holds := range map[string]Verdict{"p": IsFalse, "globally p": IsTrue, "finally p": IsFalse, "not p": IsTrue,
		"(p or globally q)": IsTrue, "(globally p and finally q)": IsFalse} {
		if got := verdict(t, states(), f, Compatible).Verdict; got != NonInformative {
			t.Errorf("%s: %s", f, got)
		}
		got := verdict(t, states(), f, TwoValued)
		if got.Verdict != holds {
			t.Errorf("%s: %s", f, got.Verdict)
		}
		if len(got.Reasons) != 1 || got.Reasons[0].Text != "there is no event" {
			t.Errorf("%s: reasons %v, expected that there is no event", f, got.Reasons)
		}
	}
}

// TestReasons checks that explanations name the events that decide. An event out of the bound does not count.
func TestReasons(t *testing.T) {
	e := states("p", "", "r", "", "", "", "", "qr")
	for f, want := range map[string]string{
		"finally within [4, 6] ms r": "none of the 3 events from 0 s within [4 ms, 6 ms]; " +
			"next at event at 0.007 s, 7 ms later",
		"finally within [3.2, 3.8] ms r": "there is no event for {'r' = '1'} from 0 s within [3.2 ms, 3.8 ms]; " +
			"next at event at 0.007 s, 7 ms later",
		"until within [3, 5] ms r we have that p": "does not hold at event at 0.001 s, " +
			"before {'r' = '1'} does within [3 ms, 5 ms]",
		"globally if p then finally within [0, 5 ms] q": "only at event at 0.007 s, 7 ms later",
		"globally if p then finally within [0, 5 ms] z": ", nor later",
		// p fails at 1 ms, and z at 2 ms and 3 ms
		"finally by 1 ms globally by 1 ms p": "of the 2 events from 0 s within [0, 1 ms], nor later\n" +
			"{'p' = '1'} does not hold at event at 0.001 s\nevent at 0.001 s does not have {'p' = '1'}",
		"finally by 2 ms finally by 1 ms z": "none of the 2 events from 0.002 s within [0, 1 ms], nor later",
		"globally p":                        "event at 0.001 s does not have {'p' = '1'}",
		"until q we have that p":            "does not hold at event at 0.001 s, before {'q' = '1'} does at event at 0.007 s",
		"(finally q and globally not p)":    "event at 0 s has {'p' = '1'}",
	} {
		got := verdict(t, e, f, Compatible)
		var text []string
		for _, r := range got.Reasons {
			text = append(text, r.Text)
		}
		if got.Verdict != Bad || !strings.Contains(strings.Join(text, "\n"), want) {
			t.Errorf("%s: %s\n%s\nexpected %s", f, got.Verdict, strings.Join(text, "\n"), want)
		}
	}
}

// TestReasonsAreExact checks that no duration in an explanation is rounded to the bound that it exceeds.
func TestReasonsAreExact(t *testing.T) {
	rec := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
	loc := rec.Location("main")
	rec.Mark(loc, 0, rec.Region("p"))
	rec.Mark(loc, 5_000_010, rec.Region("q"))
	rec.Mark(loc, 10_000_020, rec.Region("q"))
	for f, want := range map[string]string{
		"globally if {'name'='p'} then finally by 5 s {'name'='q'}": ", 5.00001 s later",
		"percentile 100 from {'name'='p'} to {'name'='q'} <= 5 s":   "is 5.00001 s, expected <= 5 s",
	} {
		got := verdict(t, format.Recorded(rec), f, Compatible)
		if got.Verdict != Bad || !strings.Contains(fmt.Sprint(got.Reasons), want) {
			t.Errorf("%s: %s %v, expected %s", f, got.Verdict, got.Reasons, want)
		}
	}
}

// TestClaims checks propositions about the begins and ends of claims and calls.
func TestClaims(t *testing.T) {
	rec := trace.NewRecorder(trace.TicksPerSecond(1000))
	loc := rec.Location("main")
	work := rec.Region("work")
	rec.Enter(loc, 0, work, trace.Attr{Key: "id", Value: trace.IntValue(7)})
	rec.Enter(loc, 1, work, trace.Attr{Key: "id", Value: trace.IntValue(8)})
	rec.Leave(loc, 2, work)
	rec.Leave(loc, 5, work)
	e := format.Recorded(rec)
	for f, want := range map[string]Verdict{
		"start {'name'='work', 'id'='7'}":                                           Good,
		"end {'name'='work'}":                                                       Bad,
		"globally {'name'='work', 'location'='main'}":                               NonInformative,
		"finally within [2 ms, 2 ms] end {'id'='8'}":                                Good,
		"finally within [5 ms, 5 ms] end {'id'='7'}":                                Good,
		"globally if start {'id'='7'} then finally within [0, 4 ms] end {'id'='7'}": Bad,
		"finally within [0, 4 ms] {'name' = 'wrk'}":                                 Bad,
	} {
		if got := verdict(t, e, f, Compatible).Verdict; got != want {
			t.Errorf("%s: %s, expected %s", f, got, want)
		}
	}
	spec, err := Parse("", []byte("check c : finally {'name' = 'wrk', 'nam' = 'x'}"))
	if err != nil {
		t.Fatal(err)
	}
	x, err := Run(context.Background(), e, spec, Options{})
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprint(x.Warnings)
	if len(x.Warnings) != 2 || !strings.Contains(text, "'nam'") || !strings.Contains(text, "[work]") {
		t.Errorf("warnings %v", text)
	}
}

// TestSyntaxErrors checks the places of errors, and the words of hints.
func TestSyntaxErrors(t *testing.T) {
	for text, want := range map[string]string{
		"check c : globaly p":                        `spec.etl:1:11: found "globaly", expected a formula`,
		"check c : finally":                          "spec.etl:1:18: found the end of the file, expected a formula",
		"check c :\n (true and )":                    `spec.etl:2:12: found ")"`,
		"check c : /* p\n":                           "spec.etl:1:11: found a comment without end, expected */ after it",
		"/* check c :\n p */ check c / : p":          `spec.etl:2:15: found '/', expected // before a comment`,
		"globallydef c : p":                          `spec.etl:1:1: found "globallydef", expected def, signal or check`,
		"check c : {'a' = i}":                        `spec.etl:1:18: found "i", expected a string in quotes, as 'i', or a`,
		"check c : {'a' = 'b}":                       "spec.etl:1:18: found a string without end",
		"check a : b check b : a":                    "a definition that does not use itself",
		"check a : true check a : true":              `1:22: found "a", expected a name that is not defined in line 1`,
		"check a : x >= 1":                           `spec.etl:1:11: found "x", expected the name of a signal`,
		"check a : finally within [3, 1] true":       "a time not before the begin",
		"check a : (true and true or true)":          "different operators need parentheses",
		"signal s : {'a'='b'} check a : s":           "a comparison of the signal with a number",
		"signal s : {'a'='b'} check a : s * s > 1":   "1:36: found \"s\", expected a number; signals cannot be multiplied",
		"def f(i) : {'a' = i} check a : f":           "an argument in parentheses",
		"def f : true check a : f(1)":                "no argument",
		"check a(i : 5 .. 2) : true":                 "a number not below 5",
		"check a : forall (i : 0 .. 99999999) true":  "at most",
		"signal s : usge {'a'='b'}":                  `1:12: found "usge", expected "{" and the attributes of a signal`,
		"signal s : usage 'id'":                      `1:18: found 'id', expected "{"`,
		"signal s : wip {'a'='b'}":                   `1:16: found "{", expected the attribute that names objects`,
		"signal s : throughput edn {'a'='b'}":        `1:23: found "edn", expected start, end`,
		"signal s : throughput end 'a'":              `1:27: found 'a', expected "{"`,
		"signal s : latency 'id' ovr 5":              `1:25: found "ovr", expected over, or the next definition`,
		"signal s : usage {'a'='b'} amont":           `1:28: found "amont", expected amount, count, over`,
		"signal s : wip 'id' over x":                 `1:26: found "x", expected a time, such as 5 or 5 ms`,
		"signal s : wip 'id' over -1":                `1:26: found "-", expected a time`,
		"signal s : wip ''":                          `1:16: found '', expected the name of an attribute`,
		"check a : " + strings.Repeat("not ", 20000): "nested at most",

		"check a : finally by 1e-31 true":                    "1:22: found \"1e-31\", expected a time of 1e-30 to 1e30",
		"check a : finally by 1e-99999999999 true":           "expected a time of 1e-30 to 1e30",
		"check a : finally within [1e99999999999, inf) true": "expected a time of 1e-30 to 1e30",
		"check c : percentile 1e99999999 from":               `1:22: found "1e99999999", expected a percentage above 0 and`,
		"check c : 's' <= 1e-400":                            `1:18: found "1e-400", expected 0, or a number of at`,

		"check a : finally by 3 msec true":           `1:24: found "msec", expected a unit of time (ns, us, ms, s, min or h)`,
		"check a : finally within [0, 3] mss true":   `1:33: found "mss", expected a unit of time (ns, us, ms, s, min or h)`,
		"signal s : wip 'id' check a : s <= 3 m":     `1:38: found "m", expected a unit of time (ns, us, ms, s, min or h)`,
		"signal s : wip 'i' over 5 sec":              `1:27: found "sec", expected a unit of time`,
		"check c : finally by 5 µs true":             `h), or a formula; the unit for it is us`,
		"check c : start true":                       `1:17: found "true", expected "{" and the attributes of`,
		"check c : end 'A'":                          `1:15: found 'A', expected "{" and the attributes of claims, after end`,
		"check c : percentile from {'a'='b'}":        `1:22: found "from", expected a percentage, such as 99`,
		"check c : abs":                              `found the end of the file, expected "(" and a signal, after abs`,
		"check c : always true":                      `1:11: found "always", expected a formula; the word for it is globally`,
		"check c : true and true":                    `1:16: found "and", expected the next definition; parentheses`,
		"check c : true until true":                  `1:16: found "until", expected the next definition; until B we`,
		"check c : true -> true":                     `1:16: found "-", expected the next definition; if A then B`,
		"check c : !true":                            `1:11: found '!', expected "not"`,
		"check c : (true & true)":                    `1:17: found '&', expected "and"`,
		"signal s : wip 'i' check c : s >= 5 + 1":    `1:37: found "+", expected the next definition; sums and products are`,
		"signal s : wip 'i' check c : (s * s) >= 5":  `1:35: found "s", expected a number; signals cannot be`,
		"check c : (true and true) >= 5":             `1:27: found ">=", expected def, signal or check`,
		"check c : true;":                            `1:15: found ';', expected the next definition`,
		"check c : finally [0, 5 ms] true":           `1:19: found "[", expected a formula, or "within" before an interval`,
		"check c : finally within 5 ms true":         `1:26: found "5", expected "[" or "(" and an interval`,
		"check c : finally within [0, 5 sec] true":   `1:32: found "sec", expected a unit of time`,
		"check c : finally within [0 sec, 5 s] true": `1:29: found "sec", expected a unit of time`,
		"check c : {'id' = 3}":                       `1:19: found "3", expected a string in quotes, as '3', or a parameter`,
		"signal s : wip 'i' check c : s = 5":         `1:32: found "=", expected one of >= > <= < == !=`,
		"signal s : wip 'i' check c : 5 > s":         `1:34: found "s", expected a number; signals and parameters are before`,
		"check c : until true true":                  `1:22: found "true", expected "we have that", and`,
		"check c : (true and true":                   `found the end of the file, expected "and" or ")"`,
		"check a(i : 0 .. 99999) : (" + strings.Repeat("true and ", 100) + "true)": "1:7: found more formulas, " +
			"expected at most 8000000",
		"check c : percentile 9 from {'a'='b'} to {'a'='b'} < 5 sec": `1:56: found "sec", expected a unit of ` +
			"time (ns, us, ms, s, min or h)",
		"check a : forall (i : 0 .. 9999) forall (j : 0 .. 999) true": "1:7: found more formulas, " +
			"expected at most 8000000",
		"check a(i : 0 .. 1000000) : true": "1:7: found \"a\", expected a parameter with at most 1000000 values",
	} {
		_, err := Parse("spec.etl", []byte(text))
		var e *SyntaxError
		if !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, expected %s", text, err, want)
		}
	}
	// Hints: the found word is no hint for itself.
	for text, want := range map[string]string{"check c : start true": "[]", "check c : and true": "[if]"} {
		_, err := Parse("spec.etl", []byte(text))
		var e *SyntaxError
		if errors.As(err, &e); e == nil || !strings.Contains(fmt.Sprint(e.Words), want) || slices.Contains(e.Words, e.Word) {
			t.Errorf("%s: %+v", text, e)
		}
	}
	_, err := Parse("spec.etl", []byte("check c : during p"))
	if want := `spec.etl:1:18: found "p", expected "[" or "(" and an interval of times`; fmt.Sprint(err) != want {
		t.Errorf("found %v, expected %s", err, want)
	}
	_, err = Parse("spec.etl", []byte("check c : globaly p"))
	var e *SyntaxError
	if !errors.As(err, &e) || e.Word != "globaly" || !strings.Contains(strings.Join(e.Words, " "), "globally") {
		t.Errorf("%v has no words", err)
	}
}

// TestSharedDefinitions checks that parsing and evaluation do not take exponential time if each
// definition uses the previous one twice.
func TestSharedDefinitions(t *testing.T) {
	var b strings.Builder
	b.WriteString("def d0 : {'p' = '1'}\n")
	for i := 1; i < 200; i++ {
		fmt.Fprintf(&b, "def d%d : (d%d and next d%d)\n", i, i-1, i-1)
	}
	b.WriteString("check c : d199\n")
	// An even number of false ones is true.
	b.WriteString("check parity : " + strings.Repeat("(false iff ", 101) + "false" + strings.Repeat(")", 101) + "\n")
	spec, err := Parse("", []byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	x, err := Run(context.Background(), states("p", "p", "q"), spec, Options{})
	if err != nil || x.Checks[0].Verdict != Bad || x.Checks[1].Verdict != Good {
		t.Errorf("%v %v", x, err)
	}
}

// TestProductsOfSums checks that products of sums differ from sums of products. The signal is 2: (2 + 2) * 2 = 8, and
// 2 + 2 * 2 = 6.
func TestProductsOfSums(t *testing.T) {
	rec := trace.NewRecorder(trace.TicksPerSecond(1))
	loc := rec.Location("main")
	rec.Value(loc, 0, rec.Counter("s", ""), 2)
	rec.Mark(loc, 5, rec.Region("end"))
	spec, err := Parse("", []byte("signal s : {'name' = 's'} check sum : abs(s + s * 2) == 6 "+
		"check product : abs((s + s) * 2) == 8 check other : abs(2 * (s - 1)) == 2 "+
		"check wrong : abs((s + s) * 2) == 6 check left : ((s - 3) * 2 == -2 and (((s + s)) - (s - 1)) * -2 == -6) "+
		"check paren : if (s) > 1 then globally within (0, 3) (s - 3) * 2 == -2 check minus : 2 * -(s - 1) - -s == 0 "+
		"check definition : (other) check both : (left and other)"))
	if err != nil {
		t.Fatal(err)
	}
	x, err := Run(context.Background(), format.Recorded(rec), spec, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []Verdict{Good, Good, Good, Bad, Good, Good, Good, Good, Good} {
		if c := x.Checks[i]; c.Verdict != want {
			t.Errorf("%s, %s: %s, expected %s", c.Name, c.Formula, c.Verdict, want)
		}
	}
}

// TestSignalNamedLikeUnit checks that a word after the last number of a signal or check is a unit, even if a
// definition has the same name.
func TestSignalNamedLikeUnit(t *testing.T) {
	const text = "signal s : wip 'i' over 1 s check a : percentile 9 from {'a'='b'} to {'a'='b'} < 1 s " +
		"check b : s <= 1 s check c : finally by 5 s 2 * s <= 1 check d : finally after 1s 'sig' > 2"
	spec, err := Parse("spec.etl", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	const want = "percentile 9 from {'a' = 'b'} to {'a' = 'b'} < 1 s, s <= 1 s, finally within [0, 5 s] 2 * s <= 1, " +
		"finally within [1 s, inf) 'sig' > 2"
	var got []string
	for _, c := range spec.Checks {
		got = append(got, c.Formula.String())
	}
	if got := strings.Join(got, ", "); got != want {
		t.Errorf("found %s, expected %s", got, want)
	}
}

// TestPropertyErrors checks the messages about properties in plain words.
func TestPropertyErrors(t *testing.T) {
	for property, want := range map[string]string{
		"response A -> B within":       `found nothing after "within", expected a time such as 5ms, or an interval`,
		"response A -> B by":           `found nothing after "by", expected a time such as 5ms`,
		"response A -> B within 5 sec": `after "within": found "5 sec", expected a time such as 5ms (ns, us, ms, s, min`,
		"response A -> B in 5 ms":      `found "in 5 ms", expected "within 5 ms"; a name that ends like this needs quotes`,
		"response A -> B < 5ms":        `found "< 5ms", expected "within 5ms"`,
		"response A -> B -> C":         "expected A -> B with one arrow",
		"precedes A -> B within 5ms":   `found "within 5ms" after the event`,

		"response A -> B within 1e-99999999 s": `found "1e-99999999 s", expected a time of 1e-30 to 1e30`,
		"period A every 1e31":                  `found "1e31", expected a time of 1e-30 to 1e30`,
		"latency A..B p99 < 1e-40s":            `expected a time of 1e-30 to 1e30`,

		"always derivative(a b) <= 5":  `in "derivative(a b)": found "b", expected ")"; a name that contains blanks or`,
		"always derivate(queue) <= 5":  `did you mean derivative?`,
		"never 'a' of 'b' <= 5":        `found "of", expected an operator`,
		"always wip 'id' <= 2":         "a specification can define derived signals, as in signal s : usage {",
		"never usage {'name'='a'} > 2": "a specification can define derived signals",
		"always queue ≤ 5":             `found "≤", expected <=; a name that contains ≤ needs quotes: 'queue ≤ 5'`,

		"period A every 5 sec":      `found "5 sec", expected a time`,
		"always s\nt <= x":          `found "x", expected a number; a name that contains < needs quotes: 's\nt <= x'`,
		"period A every 0ms":        `found the time 0 ms between two events, expected more than 0`,
		"latency A..B by p99 < 5ms": `found nothing after "by", expected an attribute`,

		"never A and":              `found no event after "and", expected one; a name with the word and needs quotes: 'A`,
		"always (A and (or B))":    `found no event before "or"`,
		"never (A and B":           `found "(" without ")" in "(A and B"`,
		"always A) and (not B":     `found "(" without ")"`,
		"never A or B)":            `found ")" without "("`,
		"never not":                `found no event after "not", expected one`,
		"never A && || B":          `found no event after "and"`,
		"never void f() &&":        `found no event after "and", expected one; a name with the word and needs quotes: 'void`,
		"never A AND B":            `found "AND", expected "and"; a name that contains AND needs quotes: 'A AND B'`,
		"always (A ∨ B)":           `found "∨", expected "or"; a name that contains ∨ needs quotes: 'A ∨ B'`,
		"response A -> NOT B":      `found "NOT", expected "not"`,
		"response start not A-> B": `found "not A" after "start", expected a name`,
		"precedes end (A or B)->C": `found "(A or B)" after "end", expected a name`,
		"latency A or B..C p9<1s":  `found "A or B", expected a single event`,
	} {
		kind, text, _ := strings.Cut(property, " ")
		if _, err := Property(kind, "c", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, expected %s", property, err, want)
		}
	}
}

// TestPropertiesCutShort checks that no beginning of a property makes Property panic.
func TestPropertiesCutShort(t *testing.T) {
	for _, text := range []string{"A -> B within 5ms", "A -> 'B in' in 5 ms", "A -> {'name' = 'B'} < 5ms",
		"A -> B during 5ms", "A every 10ms ± 1ms", "A..B by id p99 < 2ms", "queue <= 5",
		"abs(derivative('a b') - s * (2 + 'c')) <= 5", "wip 'id' <= 5", "queue ≤ 5",
		"A -> B before 5ms under inside <= ", "not (A or {'b'='c'}) and start B -> end C",
		"!(A&& {'b'='c'} || ! ∨ B)&&start B || operator&&(x) -> !end C && NOT D"} {
		for end := range len(text) + 1 {
			for _, kind := range propertyKinds {
				Property(kind, "c", text[:end])
			}
		}
	}
}

// TestPropertyFormulas checks the formulas of properties. A name in quotes, or in braces, may contain the words and
// symbols of properties, and the escapes in quotes are those of strings of the language. Times are exact.
func TestPropertyFormulas(t *testing.T) {
	for property, want := range map[string]string{
		"response A -> 'B in 5 ms'": "globally if {'name' = 'A'} then finally {'name' = 'B in 5 ms'}",
		"response 'a -> b' -> 'x within 5ms' within 1 ms": "globally if {'name' = 'a -> b'} then " +
			"finally by 1 ms {'name' = 'x within 5ms'}",
		"response {'name' = 'a -> b'} -> start 'c <= d'": "globally if {'name' = 'a -> b'} then " +
			"finally start {'name' = 'c <= d'}",
		"never 's <= 5'":        "globally not {'name' = 's <= 5'}",
		"never start{'id'='1'}": "globally not start {'id'='1'}",
		"never end\tstart":      "globally not end {'name' = 'start'}",
		"never startup":         "globally not {'name' = 'startup'}",
		"never Stop!":           "globally not {'name' = 'Stop!'}", // only != is a comparison
		"never 'vector<int>'":   "globally not {'name' = 'vector<int>'}",
		`always 'it\'s \\'`:     `globally {'name' = 'it\'s \\'}`,
		"always it's done":      `globally {'name' = 'it\'s done'}`,
		"always s != 5":         "globally 's' != 5",
		// an expression has functions, names in quotes, or operators between blanks; other texts are names
		"always derivative(queue) <= 5":         "globally derivative('queue') <= 5",
		"never abs( derivative(q) - 'a b') > 5": "globally not abs( derivative('q') - 'a b') > 5",
		"always 2 * (queue - 1) + b <= 5":       "globally 2 * ('queue' - 1) + 'b' <= 5",
		"always 'queue' * 0.5 < 1":              "globally 'queue' * 0.5 < 1",
		"always a-b <= 5":                       "globally 'a-b' <= 5",
		"always use (sum) - all of it <= 5":     "globally 'use (sum) - all of it' <= 5",
		"response abs(s) > 5 -> t + 1 < 2":      "globally if abs('s') > 5 then finally 't' + 1 < 2",
		// not binds more tightly than and, and this more tightly than or
		"always not start A":                    "globally not start {'name' = 'A'}",
		"never A or not B and{'id'='1'}":        "globally not ({'name' = 'A'} or (not {'name' = 'B'} and {'id'='1'}))",
		"always not (s - 1) * 2 > 5 and (t< 3)": "globally (not ('s' - 1) * 2 > 5 and 't' < 3)",
		"never 'A and B' and not ('C'or end D)": "globally not ({'name' = 'A and B'} and not ({'name' = 'C'} or end " +
			"{'name' = 'D'}))",
		"response A and not B -> not C or D within 5 ms": "globally if ({'name' = 'A'} and not {'name' = 'B'}) then " +
			"finally by 5 ms (not {'name' = 'C'} or {'name' = 'D'})",
		"precedes A or B -> C": "not until ({'name' = 'C'} and not ({'name' = 'A'} or {'name' = 'B'})) we have that " +
			"not ({'name' = 'A'} or {'name' = 'B'})",
		"period A or B every 5": "globally if ({'name' = 'A'} or {'name' = 'B'}) then (finally within [5, 5] " +
			"({'name' = 'A'} or {'name' = 'B'}) and globally within (0, 5) not ({'name' = 'A'} or {'name' = 'B'}))",
		"never f(a and b) or (A) or not(B) or a-or-b": "globally not ({'name' = 'f(a and b)'} or " +
			"{'name' = 'A'} or not {'name' = 'B'} or {'name' = 'a-or-b'})",
		"never ((A))":       "globally not {'name' = 'A'}",
		"never '(unknown)'": "globally not {'name' = '(unknown)'}",
		// the symbols !, && and ||
		"never A && B":    "globally not ({'name' = 'A'} and {'name' = 'B'})",
		"never A&&!'B C'": "globally not ({'name' = 'A'} and not {'name' = 'B C'})",
		"always !(s > 5 || ! start A)&&{'id'='1'}": "globally (not ('s' > 5 or not start {'name' = 'A'}) and " +
			"{'id'='1'})",
		"response A||B && C -> !D within 5 ms": "globally if ({'name' = 'A'} or ({'name' = 'B'} and {'name' = 'C'})) " +
			"then finally by 5 ms not {'name' = 'D'}",
		"never operator&&(A, B) || f(T &&)": "globally not ({'name' = 'operator&&(A, B)'} or {'name' = 'f(T &&)'})",
		"never !$omp barrier":               "globally not {'name' = '!$omp barrier'}",
		"always not (A)":                    "globally not {'name' = 'A'}",
		"always operator (":                 "globally {'name' = 'operator ('}",
		"never 'a -> b' <= 5":               "globally not 'a -> b' <= 5",
		"latency it's..A p9 < 1s":           `percentile 9 from {'name' = 'it\'s'} to {'name' = 'A'} < 1 s`,
		"latency 'A..B'..C by 'a by b' p9 < 1s": "percentile 9 from {'name' = 'A..B'} to {'name' = 'C'} " +
			"by 'a by b' < 1 s",
		"period A every 3e2us ± 1e-4 s": "globally if {'name' = 'A'} then (finally within [0.0002, 0.0004] s " +
			"{'name' = 'A'} and globally within (0, 0.0002) s not {'name' = 'A'})",
		"period A every 1e-3s ± 1e-18s": "globally if {'name' = 'A'} then (finally within [0.000999999999999999, " +
			"0.001000000000000001] s {'name' = 'A'} and globally within (0, 0.000999999999999999) s not {'name' = 'A'})",
		"period A every 10ms ± 1ms": "globally if {'name' = 'A'} then (finally within [9, 11] ms {'name' = 'A'} and " +
			"globally within (0, 9) ms not {'name' = 'A'})",
		"period 'A every 2 s' every 4": "globally if {'name' = 'A every 2 s'} then (finally within [4, 4] " +
			"{'name' = 'A every 2 s'} and globally within (0, 4) not {'name' = 'A every 2 s'})",
	} {
		kind, text, _ := strings.Cut(property, " ")
		want = "check c : " + want
		if got, err := Property(kind, "c", text); err != nil || got != want {
			t.Errorf("%s: found %s, %v; expected %s", property, got, err, want)
		}
	}
	const want = "a name that contains < needs quotes: 'vector<int>'"
	if _, err := Property("never", "c", "vector<int>"); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("found %v, expected %s", err, want)
	}
}

// TestNamedNumbers checks that parameters are numbers in expressions of signals. The signal is 2.
func TestNamedNumbers(t *testing.T) {
	rec := trace.NewRecorder(trace.TicksPerSecond(1))
	loc := rec.Location("main")
	rec.Value(loc, 0, rec.Counter("s", ""), 2)
	rec.Mark(loc, 5, rec.Region("end"))
	spec, err := Parse("", []byte(`signal s : {'name' = 's'}
		def twice(k) : globally k * s - k - k == 0 // 2k - k - k = 0
		check product(i : -1 .. 2) : globally s * i == 4
		check sum(i : -1 .. 2) : globally s + i <= 3
		check all : forall (i : 0 .. 9) (twice(i) and globally 3 * i * s - i * 2 * 3 == 0)
		check none : forall (i : 1 .. 2) globally abs(i - s) == 1`))
	if err != nil {
		t.Fatal(err)
	}
	x, err := Run(context.Background(), format.Recorded(rec), spec, Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, c := range x.Checks {
		got += " " + c.Name + " " + string(c.Verdict)
	}
	// s * i is -2, 0, 2 and 4, s + i is 1, 2, 3 and 4, and abs(i - s) is 1 and 0.
	want := " product(-1) bad product(0) bad product(1) bad product(2) good" +
		" sum(-1) good sum(0) good sum(1) good sum(2) bad all good none bad"
	if got != want {
		t.Errorf("found   %s\nexpected%s", got, want)
	}
}

// TestWindow checks that events outside of a window do not count, and that claims that end in the
// window do.
func TestWindow(t *testing.T) {
	rec := trace.NewRecorder(trace.TicksPerSecond(1000))
	loc := rec.Location("main")
	work := rec.Region("work")
	for i := range int64(3) {
		rec.Enter(loc, 10*i, work)
		rec.Leave(loc, 10*i+5, work)
	}
	spec, err := Parse("", []byte("check first : end {'name'='work'} check any : finally {'name'='work'}"))
	if err != nil {
		t.Fatal(err)
	}
	x, err := Run(context.Background(), format.Recorded(rec), spec, Options{Window: &trace.Window{From: 13, To: 16}})
	if err != nil {
		t.Fatal(err)
	}
	if x.States != 1 || x.Checks[0].Verdict != Good {
		t.Errorf("%d states, %v", x.States, x.Checks)
	}
}

// FuzzSpec checks that a specification never makes the parser, the evaluator or a monitor fail. It also
// checks that the evaluator and the monitor have the same verdicts, and that the text of a formula is
// parsed to the same formula.
func FuzzSpec(f *testing.F) {
	f.Add(definitions + "check c(i : 0 .. 2) : globally if p then finally within (0, 1 ms] ({'a' + i = 'b'} or not q)")
	f.Add("signal s : {'name'='s'} check c : globally abs(derivative(s) - 2 * s) >= -1.5e3")
	f.Add("signal u : usage {'p'='1'} amount over 2 ms signal t : throughput end {'p'='1'} over 3 us " +
		"signal w : wip 'p' signal l : latency 'p' over 1 h check c : globally u + derivative(t) - w * 2 + abs(l) >= 0")
	f.Add("check c : globally ('s' - 2 * 'p q' <= 3 and during [0, 1 ms] 'p' > 1)")
	f.Add("signal min : wip 'p' check c : globally (min <= 1e-3 min and finally by 2 min min > -0.5 h)")
	f.Add("check c : (percentile 99.9 from {'p'='1'} to end {'q'='1'} by 'id' <= 2 ms or " +
		"percentile 5 from {'p'='1'} to {'q'='1'} < 1)")
	f.Add("signal s : {'name'='s'} check c : (globally (s - 3) * -s >= 1 or finally within (0, 3) ((s)) < -(s + 1))")
	f.Add("check c : (finally within [1e-29, 0e99] true and after 1e-9999999999 's' > 1e-99)")
	f.Add("check c : forall (i : -1 ... 1) until by 5 us start {'x' = i} we have that end {\"y\" = 'z\\''}")
	f.Fuzz(func(t *testing.T, text string) {
		spec, err := Parse("spec.etl", []byte(text))
		if err != nil || len(spec.formulas) > 1000 {
			return
		}
		e := states("p", "q", "p", "")
		want, err := Run(context.Background(), e, spec, Options{Semantics: FourValued})
		if err != nil {
			t.Fatal(err)
		}
		m := NewMonitor(spec, e.Defs(), FourValued)
		all := map[string]Verdict{}
		take := func(_ int, _ int64, list []CheckResult) {
			for _, c := range list {
				all[c.Name] = c.Verdict
			}
		}
		take(0, 0, followed(t, m, e, take))
		for _, c := range want.Checks {
			if all[c.Name] != c.Verdict {
				t.Errorf("%s: %s, followed %s", c.Formula, c.Verdict, all[c.Name])
			}
		}
		var again strings.Builder
		for _, s := range spec.signals {
			if !strings.HasPrefix(s.Name, "'") {
				fmt.Fprintf(&again, "signal %s : %s\n", s.Name, s)
			}
		}
		for i, c := range spec.Checks {
			written := c.Formula.String()
			if strings.Contains(written, "…") {
				return
			}
			for _, f := range spec.formulas {
				if f.Name != "" {
					return // the text has a name instead of the formula
				}
			}
			fmt.Fprintf(&again, "check weft%d : %s\n", i, written)
		}
		other, err := Parse("again.etl", []byte(again.String()))
		if err != nil {
			t.Fatalf("%s\nis written as\n%s\n%v", text, again.String(), err)
		}
		got, err := Run(context.Background(), e, other, Options{Semantics: FourValued})
		if err != nil {
			t.Fatal(err)
		}
		for i := range want.Checks {
			if want.Checks[i].Verdict != got.Checks[i].Verdict {
				t.Errorf("%s: %s, written out %s", want.Checks[i].Formula, want.Checks[i].Verdict, got.Checks[i].Verdict)
			}
		}
	})
}
