package verify

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/weft-trace/weft/analysis/usage"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// property returns the verdict of a property in plain words.
func property(t *testing.T, e format.Events, kind, words string, s Semantics) CheckResult {
	t.Helper()
	text, err := Property(kind, "c", words)
	if err != nil {
		t.Fatalf("%s: %v", words, err)
	}
	spec, err := Parse("", []byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	x, err := Run(context.Background(), e, spec, Options{Semantics: s})
	if err != nil {
		t.Fatal(err)
	}
	return x.Checks[0]
}

// TestLatency checks percentiles that were computed by hand. The times from A to B are 1, 3, 2 and 7
// ms, and the last A waits for 5 ms. Object 1 has its first A at 0 and its last B at 37 ms; object 2
// has no B, and waits for 35 ms.
func TestLatency(t *testing.T) {
	rec := trace.NewRecorder(trace.TicksPerSecond(1000))
	loc := rec.Location("main")
	at := func(ms int64, name string, id int64) {
		rec.Mark(loc, ms, rec.Region(name), trace.Attr{Key: "id", Value: trace.IntValue(id)})
	}
	for _, x := range []struct {
		ms   int64
		name string
		id   int64
	}{{0, "A", 1}, {1, "B", 1}, {10, "A", 2}, {13, "B", 1}, {20, "A", 1}, {22, "B", 1}, {30, "A", 2}, {37, "B", 1},
		{40, "A", 1}, {45, "C", 3}} {
		at(x.ms, x.name, x.id)
	}
	e := format.Recorded(rec)
	for _, x := range []struct {
		words       string
		two, three  Verdict
		explanation string
	}{
		// The times are 1, 2, 3, 7 and more than 3 ms. The third of them is 3 ms.
		{"A..B p50 < 3ms", IsFalse, NonInformative, "is 3 ms, expected < 3 ms"},
		{"A..B p60 <= 3ms", IsTrue, NonInformative, ""},
		{"A..B p61 <= 3ms", IsFalse, NonInformative, "61 % percentile of 5 response times from"},
		{"A..B p75 <= 5ms", IsTrue, NonInformative, ""}, // the last A is within 5 ms: 1, 2, 3 and 7 ms, of which three are
		{"A..B p75.000001 <= 5ms", IsFalse, NonInformative, "4 response times"},
		{"A..B p75.000001 <= 5ms", IsFalse, NonInformative,
			"event of A at 0.03 s is answered by event of B at 0.037 s, 7 ms later"},
		{"A..B p100 < 5ms", IsFalse, Bad, "event of A at 0.04 s has no answer, 5 ms before the last event"},
		{"A..B p100 <= 7ms", IsTrue, NonInformative, ""},
		{"A..B p100 < 0.007 s", IsFalse, Bad, "7 ms"},
		{"X..B p99 < 1ms", IsTrue, NonInformative, "no response time"},
		{"A..B by id p50 <= 35ms", IsFalse, NonInformative, "for 'id' = '1', 37 ms later"},
		{"A..B by id p50 < 35ms", IsFalse, NonInformative, "2 response times"},
		{"A..B by id p50 <= 36ms", IsFalse, NonInformative, "1 more wait at the end of the trace"},
		{"A..B by 'id' p1 <= 37", IsTrue, NonInformative, ""},
		{"{'name' = 'A', 'id' = '1'}..{'name' = 'B'} p100 <= 7ms", IsTrue, NonInformative, ""},
	} {
		got := property(t, e, "latency", x.words, TwoValued)
		var text []string
		for _, r := range got.Reasons {
			text = append(text, r.Text)
		}
		if got.Verdict != x.two || !strings.Contains(strings.Join(text, "\n"), x.explanation) {
			t.Errorf("%s: %s, expected %s\n%s\nexpected %s", x.words, got.Verdict, x.two, strings.Join(text, "\n"),
				x.explanation)
		}
		if got := property(t, e, "latency", x.words, ThreeValued).Verdict; got != x.three {
			t.Errorf("%s: %s, expected %s", x.words, got, x.three)
		}
	}
	for words, want := range map[string]string{
		"A p99 < 2ms":           "expected A..B p99 < 2ms",
		"A..B < 2ms":            "expected A..B p99 < 2ms",
		"A..B p99 > 2ms":        "expected A..B p99 < 2ms",
		"A..B p99 < 2 parsecs":  "expected a time such as 5ms",
		"A.. p99 < 2ms":         "found no event",
		"{'a'='b..c'} p9 < 2ms": "expected A..B",
	} {
		if _, err := Property("latency", "c", words); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, expected %s", words, err, want)
		}
	}
	for text, want := range map[string]string{
		"check c : percentile 0 from {'a'='b'} to {'a'='b'} < 1":       "1:22: found \"0\", expected a percentage",
		"check c : percentile 101 from {'a'='b'} to {'a'='b'} < 1":     "expected a percentage",
		"check c : percentile 9 fom {'a'='b'} to {'a'='b'} < 1":        `found "fom", expected "from"`,
		"check c : percentile 9 from {'a'='b'} to {'a'='b'} > 1":       "expected by, < or <=",
		"check c : percentile 9 from {'a'='b'} to {'a'='b'} by id < 1": "in quotes",
	} {
		if _, err := Parse("", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, expected %s", text, err, want)
		}
	}
}

// TestLatencyEqualsFlow checks two properties on random traces: the percentiles of objects equal those
// of weft flow, and all response times are within a limit if the property response is not violated.
func TestLatencyEqualsFlow(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	compared := 0
	for range 100 {
		rec := trace.NewRecorder(trace.TicksPerSecond(1000))
		loc := rec.Location("main")
		for ms := range int64(40) {
			rec.Mark(loc, ms, rec.Region([]string{"A", "B", "C"}[r.IntN(3)]),
				trace.Attr{Key: "id", Value: trace.IntValue(r.Int64N(3))})
		}
		e := format.Recorded(rec)
		mark := func(name string) *usage.EventFilter {
			return &usage.EventFilter{Attributes: map[string]string{"name": name}, Marks: true}
		}
		l := usage.NewLittle(e.Defs(), usage.LittleOptions{Attribute: "id", Begin: mark("A"), End: mark("B")})
		if err := e.Scan(context.Background(), trace.Events(), format.GlobalOrder, l); err != nil {
			t.Fatal(err)
		}
		if d := l.Result(usage.ResultOptions{}); len(d.Objects) > 0 && d.Incomplete == 0 {
			compared++
			for percent, ms := range map[int]int64{50: d.Latencies.Median, 90: d.Latencies.P90, 99: d.Latencies.P99,
				100: d.Latencies.Max} {
				for _, x := range []struct {
					op   string
					want Verdict
				}{{"<=", IsTrue}, {"<", IsFalse}} {
					words := fmt.Sprintf("A..B by id p%d %s %dms", percent, x.op, ms)
					if got := property(t, e, "latency", words, TwoValued).Verdict; got != x.want {
						t.Errorf("%s: %s, expected %s", words, got, x.want)
					}
				}
			}
		}
		for ms := range 12 {
			response := property(t, e, "response", fmt.Sprintf("A -> B within %dms", ms), ThreeValued)
			all := property(t, e, "latency", fmt.Sprintf("A..B p100 <= %dms", ms), ThreeValued)
			if (response.Verdict == Bad) != (all.Verdict == Bad) {
				t.Errorf("within %d ms: response is %s, latency is %s", ms, response.Verdict, all.Verdict)
			}
		}
	}
	if compared < 20 {
		t.Errorf("%d traces compared, expected at least 20", compared)
	}
}

// TestLatencyOfManyStates checks an object from the first to the last state of a trace with more states than a
// block holds.
func TestLatencyOfManyStates(t *testing.T) {
	rec := trace.NewRecorder(trace.TicksPerSecond(1000))
	loc := rec.Location("main")
	const last = blockStates + 2
	for ms := range int64(last + 1) {
		name, id := "C", int64(2)
		switch ms {
		case 0:
			name, id = "A", 1
		case last:
			name, id = "B", 1
		}
		rec.Mark(loc, ms, rec.Region(name), trace.Attr{Key: "id", Value: trace.IntValue(id)})
	}
	e := format.Recorded(rec)
	for op, want := range map[string]Verdict{"<=": IsTrue, "<": IsFalse} {
		words := fmt.Sprintf("A..B by id p100 %s %dms", op, last)
		if got := property(t, e, "latency", words, TwoValued).Verdict; got != want {
			t.Errorf("%s: %s, expected %s", words, got, want)
		}
	}
}
