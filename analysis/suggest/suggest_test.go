package suggest

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// marks returns a trace with events at times in ms, such as "a0 b3".
func marks(events string) format.Events {
	rec := trace.NewRecorder(trace.TicksPerSecond(1000))
	loc := rec.Location("main")
	for _, e := range strings.Fields(events) {
		var t int64
		if _, err := fmt.Sscan(e[1:], &t); err != nil {
			panic(err)
		}
		rec.Mark(loc, t, rec.Region(e[:1]))
	}
	return format.Recorded(rec)
}

// mined returns the properties of traces as text, with times in ms.
func mined(t *testing.T, by string, least int64, traces ...format.Events) (list []string) {
	t.Helper()
	m := NewMiner(by)
	for _, e := range traces {
		if err := m.Add(context.Background(), e, Options{}); err != nil {
			t.Fatal(err)
		}
	}
	ms := func(r *big.Rat) string { return new(big.Rat).Mul(r, big.NewRat(1000, 1)).FloatString(0) }
	for _, p := range m.Properties(least, 100) {
		text := [...]string{"", "start ", "end "}[p.A.Event] + p.A.Name
		switch p.Kind {
		case Response:
			text += " -> "
		case Precedence:
			text += " < "
		}
		if p.Kind != Period {
			text += [...]string{"", "start ", "end "}[p.B.Event] + p.B.Name
		}
		text += fmt.Sprintf(" %d", p.Support)
		if p.Kind != Precedence {
			text += fmt.Sprintf(" %s..%s mean %.1f", ms(p.Min), ms(p.Max), p.Mean*1000)
		}
		if p.Undecided > 0 {
			text += fmt.Sprintf(" undecided %d", p.Undecided)
		}
		list = append(list, text)
	}
	slices.Sort(list)
	return list
}

// manyEvents returns events in five groups. Each group has n events a, 1 ms apart, followed by an event b.
func manyEvents(n int) string {
	var b strings.Builder
	for i := range 5 {
		for k := range n {
			fmt.Fprintf(&b, "a%d ", 100*i+k)
		}
		fmt.Fprintf(&b, "b%d ", 100*i+n)
	}
	return b.String()
}

// TestProperties checks properties that were determined by hand.
func TestProperties(t *testing.T) {
	const pairs = "a0 b3 a10 b12 a20 b24 a30 b31 a40 b45"
	for _, x := range []struct {
		name   string
		traces []string
		want   []string
	}{
		{"delays 3, 2, 4, 1, 5", []string{pairs}, []string{"a -> b 5 1..5 mean 3.0", "a < b 5"}},
		{"the trace ends 5 ms after the last a", []string{pairs + " a50 x55"},
			[]string{"a -> b 5 1..5 mean 3.0 undecided 1", "a 5 10..10 mean 10.0", "a < b 5"}},
		{"the trace ends 6 ms after the last a", []string{pairs + " a50 x56"},
			[]string{"a 5 10..10 mean 10.0", "a < b 5", "b -> a 5 5..9 mean 7.0"}},
		{"b comes first in the second trace", []string{pairs, "b0 a1 b7"}, []string{"a -> b 6 1..6 mean 3.5"}},
		{"the same time, b after a", []string{"a0 b0 a9 b9 a19 b19 a30 b30 a35 b35"},
			[]string{"a -> b 5 0..0 mean 0.0", "a < b 5"}},
		{"a chain", []string{"a0 b1 c3 a100 b102 c103 a130 b131 c134 a200 b203 c204 a250 b251 c252"}, []string{
			"a -> b 5 1..3 mean 1.6", "a -> c 5 2..4 mean 3.2", "a < b 5", "b -> c 5 1..3 mean 1.6", "b < c 5"}},
		{"distances of 9, 10, 11 and 12", []string{"a0 a9 a19 a30 a42", "a0 a10"}, []string{"a 5 9..12 mean 10.4"}},
		{"distances of 8 and 13", []string{"a0 a8 a21 a34 a42", "a0 a10"}, nil},
		{"b is frequent", []string{"a0 b100 b101 b102 a103 b130 b131 b132 a133 b160 b161 b162 a163 b190 b191 b192 a193 " +
			"b220 b221 b222 a223 b250"}, []string{"a < b 16", "b -> a 15 1..3 mean 2.0 undecided 1"}},
		{"one b for 9 a", []string{manyEvents(9)}, []string{"a < b 5"}},
		{"one b for 8 a", []string{manyEvents(8)}, []string{"a -> b 40 1..8 mean 4.5", "a < b 5"}},
	} {
		var traces []format.Events
		for _, e := range x.traces {
			traces = append(traces, marks(e))
		}
		if got := mined(t, "", 5, traces...); !slices.Equal(got, x.want) {
			t.Errorf("%s: found %q, expected %q", x.name, got, x.want)
		}
	}
}

// TestObjects checks that only events of the same object are compared with each other, and that the end of a
// call has the attributes of its begin.
func TestObjects(t *testing.T) {
	rec := trace.NewRecorder(trace.TicksPerSecond(1000))
	p, q := rec.Location("p"), rec.Location("q")
	work, done := rec.Region("work"), rec.Region("done")
	for i := range int64(5) {
		id := trace.Attr{Key: "id", Value: trace.IntValue(i)}
		rec.Enter(p, 10*i, work, id)
		rec.Leave(p, 10*i+7, work)
		rec.Mark(q, 10*i+25+i, done, id) // while two other objects are being processed
	}
	rec.Mark(q, 100, done, trace.Attr{Key: "id", Value: trace.StringValue("x")})
	got := mined(t, "id", 5, format.Recorded(rec))
	want := []string{"end work -> done 5 18..22 mean 20.0", "end work < done 5", "start work -> done 5 25..29 mean 27.0",
		"start work -> end work 5 7..7 mean 7.0"}
	if !slices.Equal(got, want) {
		t.Errorf("found %q, expected %q", got, want)
	}
	m := NewMiner("id")
	if err := m.Add(context.Background(), format.Recorded(rec), Options{}); err != nil {
		t.Fatal(err)
	}
	if m.From != 0 || m.To != 4 || m.Other != 1 {
		t.Errorf("values from %d to %d, others %d, expected 0, 4 and 1", m.From, m.To, m.Other)
	}
}

// TestManyObjects checks that a trace may have more objects than 10 000, with many names each. Each object has events
// with 24 names, 1 ms apart.
func TestManyObjects(t *testing.T) {
	rec := trace.NewRecorder(trace.TicksPerSecond(1000))
	loc := rec.Location("main")
	const objects, names = 20_000, 24
	for i := range int64(objects) {
		for k := range int64(names) {
			rec.Mark(loc, 100*i+k, rec.Region(fmt.Sprintf("n%02d", k)), trace.Attr{Key: "id", Value: trace.IntValue(i)})
		}
	}
	// A response and a precedence between neighbours, and a response from the first to the last one.
	want := []string{"n00 -> n23 20000 23..23 mean 23.0"}
	for k := range names - 1 {
		want = append(want, fmt.Sprintf("n%02d -> n%02d 20000 1..1 mean 1.0", k, k+1),
			fmt.Sprintf("n%02d < n%02d 20000", k, k+1))
	}
	slices.Sort(want)
	if got := mined(t, "id", 5, format.Recorded(rec)); !slices.Equal(got, want) {
		t.Errorf("found %q, expected %q", got, want)
	}
}

// TestLimits checks that traces that exceed a limit are reported.
func TestLimits(t *testing.T) {
	rec := trace.NewRecorder(trace.TicksPerSecond(1000))
	loc := rec.Location("main")
	for i := range int64(MaxNames + 10) {
		rec.Mark(loc, i, rec.Region(fmt.Sprint("r", i)), trace.Attr{Key: "id", Value: trace.IntValue(i * MaxValues)})
	}
	m := NewMiner("")
	if err := m.Add(context.Background(), format.Recorded(rec), Options{}); err != nil || m.LeftOut != 10 {
		t.Errorf("%d names left out, error %v, expected 10", m.LeftOut, err)
	}
	err := NewMiner("id").Add(context.Background(), format.Recorded(rec), Options{})
	if err == nil || !strings.Contains(err.Error(), "values of id from 0 to 100000") {
		t.Errorf("error %v", err)
	}
}

// TestObjectsOfMarks checks that the id of an event of TRACE names no object: object 7 has two events a, each 3 ms
// before an event b.
func TestObjectsOfMarks(t *testing.T) {
	rec := trace.NewRecorder(trace.TicksPerSecond(1000))
	loc := rec.Location("main")
	for i, x := range []struct {
		name string
		t    int64
	}{{"a", 0}, {"b", 3}, {"a", 10}, {"b", 13}} {
		rec.Event(loc, x.t, trace.Mark, rec.Region(x.name), []uint64{uint64(i)},
			trace.Attr{Key: "id", Value: trace.IntValue(7)})
	}
	list := mined(t, "id", 2, format.Recorded(rec))
	if !slices.Contains(list, "a -> b 2 3..3 mean 3.0") {
		t.Errorf("found %q, expected that b follows a after 3 ms", list)
	}
}
