package verify

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/effort"
	"github.com/weft-trace/weft/trace"
)

// randomValue returns a value of a signal: a short decimal number, any float, or a special one.
func randomValue(r *rand.Rand) float64 {
	switch r.IntN(4) {
	case 0:
		return float64(r.Int64N(20001)-10000) / powersOfTen[r.IntN(len(powersOfTen))]
	case 1:
		return []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.MaxFloat64, math.SmallestNonzeroFloat64,
			1 << 53, 0.1, 1e22, -42}[r.IntN(10)]
	case 2:
		return r.NormFloat64()
	}
	return float64(r.IntN(100))
}

// TestPackedPieces checks that pieces that are packed and unpacked equal the original ones, bit by bit.
func TestPackedPieces(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	for range effort.Rounds(200) {
		var p packedPieces
		var want []rawPiece
		from := r.Int64()
		for range r.IntN(3000) {
			x := rawPiece{from: from, to: from + r.Int64N(1000), p: trace.Polynomial{C: randomValue(r)}}
			if r.IntN(2) == 0 {
				x.p.B, x.p.A = randomValue(r), randomValue(r)
			}
			if from = x.to; r.IntN(20) == 0 {
				from, x.to = int64(r.Uint64()), int64(r.Uint64())
			}
			want = append(want, x)
			p.add(x)
		}
		found := slices.Collect(p.all())
		if len(found) != len(want) {
			t.Fatalf("found %d pieces, expected %d", len(found), len(want))
		}
		for i, x := range found {
			bits := func(x rawPiece) [5]uint64 {
				return [...]uint64{uint64(x.from), uint64(x.to), math.Float64bits(x.p.C), math.Float64bits(x.p.B),
					math.Float64bits(x.p.A)}
			}
			if bits(x) != bits(want[i]) {
				t.Fatalf("piece %d: found %+v, expected %+v", i, x, want[i])
			}
		}
	}
}

// TestLongSignals compares signals whose pieces are packed with the same signals without packing.
func TestLongSignals(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 4))
	spec, err := Parse("spec.etl", []byte("signal s : {'name' = 's'}\nsignal u : {'name' = 'u'}\n"+
		"check c : globally s + u > 0\n"))
	if err != nil {
		t.Fatal(err)
	}
	for range effort.Rounds(30) {
		rec := trace.NewRecorder(trace.TicksPerSecond(1))
		loc, at := rec.Location("signal"), int64(0)
		s, u := rec.Counter("s", ""), rec.Counter("u", "")
		overlaps := r.IntN(2) == 0
		for range 1 + r.IntN(4*fewPieces) {
			long := r.Int64N(10)
			rec.Event(loc, at, trace.Fragment, s, []uint64{uint64(at + long), math.Float64bits(randomValue(r)),
				math.Float64bits(randomValue(r)), 0})
			rec.Event(loc, at, trace.Metric, u, []uint64{math.Float64bits(randomValue(r))})
			if overlaps {
				if r.IntN(1000) == 0 { // values at times after those of the next events
					rec.Event(loc, at, trace.SampleRange, u, []uint64{uint64(at + 30), math.Float64bits(1), math.Float64bits(2),
						math.Float64bits(3)})
				}
				long = r.Int64N(10)
			}
			at += long
		}
		events := format.Recorded(rec)
		packed, err := record(context.Background(), events, spec, Options{})
		if err != nil {
			t.Fatal(err)
		}
		plain := newRecorder(spec, events.Defs(), nil)
		if err := events.Scan(context.Background(), trace.Events(), format.GlobalOrder, plain); err != nil {
			t.Fatal(err)
		}
		a, b := newEvaluator(packed), newEvaluator(plain)
		for i := range spec.signals {
			found, want := slices.Collect(a.signal(i)), slices.Collect(b.signal(i))
			if !reflect.DeepEqual(found, want) {
				t.Fatalf("signal %d: found %d pieces, expected %d", i, len(found), len(want))
			}
		}
	}
}

// TestManyStates checks a property of a trace with more states than a block holds. The property fails
// at the last state. One of the windows begins in the second block. The times are near to each other in
// one trace, and far from each other in the other.
func TestManyStates(t *testing.T) {
	const n = 2*blockStates + 3
	for _, distance := range []int64{1, 1 << 20} {
		rec := trace.NewRecorder(trace.TicksPerSecond(1))
		loc := rec.Location("main")
		p, q := rec.Region("p"), rec.Region("q")
		for i := range int64(n) {
			rec.Mark(loc, i*distance, []uint32{p, q}[i/(n-1)])
		}
		events := format.Recorded(rec)
		for _, from := range []int64{0, blockStates + 5} {
			x := checked(t, events, "globally {'name' = 'p'}", &trace.Window{From: from * distance, To: math.MaxInt64})
			c := x.Checks[0]
			if x.States != n-from || c.Verdict != Bad || len(c.Reasons) < 1 || c.Reasons[0].From.Tick != from*distance ||
				c.Reasons[0].To.Tick != (n-1)*distance {
				t.Errorf("from %d: found %d states and %+v", from, x.States, c)
			}
		}
	}
}

// TestManyLabels checks the descriptions of states in a trace with more regions than 16 bits can
// number.
func TestManyLabels(t *testing.T) {
	const regions = 1<<16 + 10
	rec := trace.NewRecorder(trace.TicksPerSecond(1))
	loc := rec.Location("main")
	for i := range int64(2*blockStates + 1) {
		rec.Mark(loc, i, rec.Region(fmt.Sprint("r", i%regions)))
	}
	for _, last := range []int{9, regions - 1} {
		x := checked(t, format.Recorded(rec), fmt.Sprintf("globally not {'name' = 'r%d'}", last), nil)
		want := fmt.Sprintf("event of r%d at %d s", last, last)
		if r := x.Checks[0].Reasons; len(r) == 0 || !strings.Contains(r[0].Text, want) {
			t.Errorf("found %+v, expected %s", r, want)
		}
	}
}

// checked returns the result of a check.
func checked(t *testing.T, events format.Events, formula string, w *trace.Window) *Result {
	t.Helper()
	spec, err := Parse("spec.etl", []byte("check c : "+formula+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	x, err := Run(context.Background(), events, spec, Options{Window: w})
	if err != nil {
		t.Fatal(err)
	}
	return x
}
