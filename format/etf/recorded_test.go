package etf_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/etf"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/tracetest"
)

// TestRecordedClaims checks that the tools of TRACE4CPS can read the claims that a simulator records, and that
// weft restores the claims completely.
func TestRecordedClaims(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	cpu, memory := r.Resource("CPU", 4, "cores"), r.Resource("memory", 100, "")
	job := r.Region("job")
	a := r.Claim(cpu, 10, job, 2)
	b := r.Claim(cpu, 12, trace.NoRef, 1.5, trace.Attr{Key: "who", Value: trace.StringValue("x")},
		trace.Attr{Key: "n", Value: trace.IntValue(3)})
	c := r.Claim(memory, 12, job, 50)
	r.Release(b, 15)
	r.Release(a, 15)
	d := r.Claim(cpu, 15, job, 1)
	r.Release(c, 15)
	r.Release(d, 20)
	r.Claim(memory, 20, job, 7) // never ends
	// The claim has an offset: the job uses 5 units, from the second unit on.
	place := r.Defs().Locations.Add(trace.Location{ID: "2", Name: "buffer", Kind: trace.ResourceLocation,
		Group: trace.NoRef})
	buffer := r.Defs().Resources.Add(trace.Resource{ID: "2", Name: "buffer", Capacity: 10, UsesOffset: true,
		Location: place})
	r.Event(place, 30, trace.ClaimBegin, job, []uint64{70, uint64(buffer), math.Float64bits(5), math.Float64bits(2)})
	r.Event(place, 40, trace.ClaimEnd, job, []uint64{70, uint64(buffer)})
	// The format has no record for a claim at a location that also has other events.
	thread := r.Location("thread")
	shared := r.Defs().Resources.Add(trace.Resource{ID: "shared", Name: "shared", Capacity: 1, Location: thread})
	r.Enter(thread, 1, job)
	r.Release(r.Claim(shared, 2, job, 1), 3)
	r.Leave(thread, 4, job)

	path := filepath.Join(t.TempDir(), "claims.etf")
	if err := format.Save(context.Background(), path, etf.Format{}, r); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for l := range strings.Lines(string(text)) {
		if strings.HasPrefix(l, "R ") || strings.HasPrefix(l, "C ") {
			head, attributes, _ := strings.Cut(strings.TrimSpace(l), ";")
			name, _, _ := strings.Cut(attributes, ",")
			lines = append(lines, strings.TrimSpace(head)+" ;"+name)
		}
	}
	// the id of a claim is the number of events up to its begin
	want := []string{
		"R 0 4 false ; name=CPU", "R 1 100 false ; name=memory", "R 2 10 true ; name=buffer", "R 3 1 false ; name=thread",
		"C 1 0.001 0.004 3 1 ; name=job",
		"C 5 0.01 0.015 0 2 ; name=job",
		"C 6 0.012 0.015 0 1.5 ; kind=claim-begin",
		"C 7 0.012 0.015 1 50 ; name=job",
		"C 10 0.015 0.02 0 1 ; name=job",
		"C 13 0.02 0.04 1 7 ; name=job", // ends with the trace
		"C 14 0.03 0.04 2 2 5 ; name=job",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("lines of TRACE:\n%s\n%s", diff, text)
	}
	back := tracetest.Open(t, etf.Format{}, format.FileSource(path), nil)
	if diff := cmp.Diff(tracetest.Dump(t, format.Recorded(r), trace.Everything()),
		tracetest.Dump(t, back, trace.Everything())); diff != "" {
		t.Errorf("what is restored:\n%s", diff)
	}
}

// TestRecordedOddClaims checks that weft restores claims that a line of TRACE cannot state: an amount or an offset is
// infinite or NaN, or a claim ends that did not begin while a region is open.
func TestRecordedOddClaims(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	loc, work := r.Location("rank 0"), r.Region("work")
	cpu := r.Resource("CPU", 4, "")
	r.Enter(loc, 1, work)
	r.Event(r.Defs().Resources.At(cpu).Location, 2, trace.ClaimEnd, work, []uint64{0, uint64(cpu)})
	for i, amount := range []float64{math.Inf(1), math.Inf(-1), math.NaN(), 1} {
		r.Release(r.Claim(cpu, int64(3+i), work, amount), int64(8+i))
	}
	r.Leave(loc, 20, work)
	path := filepath.Join(t.TempDir(), "x.etf")
	tracetest.Encode(t, etf.Format{}, format.Recorded(r), path)
	back := tracetest.Open(t, etf.Format{}, format.FileSource(path), nil)
	if diff := cmp.Diff(tracetest.Dump(t, format.Recorded(r), trace.Everything()),
		tracetest.Dump(t, back, trace.Everything())); diff != "" {
		t.Errorf("what is restored:\n%s", diff)
	}
}

// TestPlainUnnamedAttribute checks that each attribute in a plain trace has a key, which the format demands, also if
// the attribute has no name.
func TestPlainUnnamedAttribute(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	loc, region := r.Location("main"), r.Region("solve")
	unnamed := trace.Attr{Value: trace.StringValue("x")}
	r.Enter(loc, 1, region, unnamed)
	r.Leave(loc, 2, region)
	r.Event(loc, 3, trace.BufferFlush, trace.NoRef, []uint64{4}, unnamed)
	path := filepath.Join(t.TempDir(), "plain.etf")
	out, err := format.CreateFile(path)
	if err != nil {
		t.Fatal(err)
	}
	enc, err := etf.Format{}.Create(out, &format.WriteOptions{Plain: true})
	if err == nil {
		err = format.Convert(t.Context(), format.Recorded(r), trace.Everything(), enc)
	}
	if err == nil {
		err = out.Commit()
	}
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(text), " =") || strings.Count(string(text), ", @#0=x") != 2 {
		t.Errorf("%v: found\n%s\nexpected the key @#0 for the attribute without a name", err, text)
	}
}
