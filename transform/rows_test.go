package transform_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/transform"
)

// spansOf returns the claims and the events without duration of a trace as "location name times".
func spansOf(t *testing.T, d format.Events) (out []string, links []trace.Link) {
	t.Helper()
	defs := d.Defs()
	type open struct {
		loc uint32
		id  uint64
	}
	begun := map[open]int64{}
	events, links := list(t, d, true)
	for _, e := range events {
		where := defs.Locations.At(e.loc).Name
		switch e.kind {
		case trace.ClaimBegin:
			begun[open{e.loc, e.ops[0]}] = e.time
		case trace.ClaimEnd:
			k := open{e.loc, e.ops[0]}
			from, ok := begun[k]
			if !ok {
				t.Errorf("%v ends no claim", e)
			}
			out = append(out, fmt.Sprintf("%s: %s %d-%d", where, defs.Regions.At(e.ref).Name, from, e.time))
		case trace.Mark:
			out = append(out, fmt.Sprintf("%s: %s %d", where, defs.Regions.At(e.ref).Name, e.time))
		default:
			out = append(out, fmt.Sprintf("%s: %s %d", where, e.kind.Spec().Name, e.time))
		}
	}
	return out, links
}

func TestByAttribute(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	job := func(name string) trace.Attr { return trace.Attr{Key: "job", Value: trace.StringValue(name)} }
	a, b := r.Location("a"), r.Location("b")
	x, y := r.Region("x"), r.Region("y")
	r.Enter(a, 0, x, job("10"))
	r.Enter(a, 5, y, job("9")) // inside of x, but with another value of job
	r.Enter(b, 10, x, job("10"))
	r.Send(a, 12, b, 1, 8)
	r.Leave(a, 20, y)
	r.Leave(a, 30, x)
	r.Leave(b, 40, x)
	r.Mark(b, 45, y, job("9"))
	r.Mark(b, 50, y)
	cpu := r.Resource("cpu", 4, "")
	id := r.Claim(cpu, 60, y, 2, job("10"))
	r.Release(id, 70)
	r.Link(trace.End{Kind: trace.AtClaimStart, ID: id, Location: r.Defs().Resources.At(cpu).Location, Time: 60},
		trace.End{Kind: trace.AtLocation, Location: a, Time: 65})
	got, _ := spansOf(t, transform.ByAttribute(format.Recorded(r), "job"))
	want := []string{"9: y 5-20", "10: x 0-30", "10: x 10-40", "9: y 45", "(no job): y 50", "10: y 60-70"}
	if !slices.Equal(got, want) {
		t.Errorf("found    %q\nexpected %q", got, want)
	}
	d := transform.ByAttribute(format.Recorded(r), "job")
	_, links := spansOf(t, d)
	if len(links) != 1 || d.Defs().Locations.At(links[0].Src.Location).Name != "10" || links[0].Dst.Location != a {
		t.Errorf("found the link %+v, expected it from job 10", links)
	}
	// A second scan has the same locations.
	n := d.Defs().Locations.Len()
	if again, _ := spansOf(t, d); !slices.Equal(again, want) || d.Defs().Locations.Len() != n {
		t.Errorf("the second time found %q, expected %q", again, want)
	}
}

func TestByAttributeManyValues(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	loc, x := r.Location("a"), r.Region("x")
	const more = 5
	for i := range transform.MaxValues + more {
		r.Mark(loc, int64(i), x, trace.Attr{Key: "job", Value: trace.IntValue(int64(i))})
	}
	rows := map[string]int{}
	d := transform.ByAttribute(format.Recorded(r), "job")
	events, _ := list(t, d, true)
	for _, e := range events {
		rows[d.Defs().Locations.At(e.loc).Name]++
	}
	if len(rows) != transform.MaxValues+1 || rows["(further values)"] != more ||
		!transform.IsSharedRow("(further values)") {
		t.Errorf("found %d rows, %d events in the last, expected %d and %d", len(rows), rows["(further values)"],
			transform.MaxValues+1, more)
	}
}

// TestByResource checks that claims on one resource by several locations, with equal ids, get the
// location of the resource.
func TestByResource(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	a, b := r.Location("a"), r.Location("b")
	x := r.Region("x")
	cpu := uint64(r.Resource("cpu", 4, ""))
	claim := func(loc uint32, from, to int64) {
		r.Event(loc, from, trace.ClaimBegin, x, []uint64{7, cpu, 0, 0})
		r.Event(loc, to, trace.ClaimEnd, x, []uint64{7, cpu})
	}
	claim(a, 0, 50)
	claim(b, 20, 30)
	claim(b, 40, 100)
	r.Mark(a, 110, x)
	got, _ := spansOf(t, transform.ByResource(format.Recorded(r)))
	want := []string{"cpu: x 20-30", "cpu: x 0-50", "cpu: x 40-100", "a: x 110"}
	if !slices.Equal(got, want) {
		t.Errorf("found    %q\nexpected %q", got, want)
	}
}

// TestByAttributeOfDisorder checks deeply nested visits that end in the order in which they began.
func TestByAttributeOfDisorder(t *testing.T) {
	const n = 1000
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	p := r.Location("p")
	for i := range int64(n) {
		r.Enter(p, i, r.Region(fmt.Sprint(i)), trace.Attr{Key: "job", Value: trace.StringValue("a")})
	}
	var want []string
	for i := range int64(n) {
		r.Leave(p, n+i, r.Region("never entered"))
		r.Leave(p, n+i, r.Region(fmt.Sprint(i)))
		want = append(want, fmt.Sprintf("a: %d %d-%d", i, i, n+i))
	}
	if got, _ := spansOf(t, transform.ByAttribute(format.Recorded(r), "job")); !slices.Equal(got, want) {
		t.Errorf("found %q, expected %q", got, want)
	}
}
