package index

import (
	"fmt"
	"math"
	"reflect"
	"testing"

	"github.com/weft-trace/weft/trace"
)

// endingAt records a trace of 1000 ticks that ends at the given time. Spans, an instant, a counter's value and
// a message lie in its last ticks, and some of them at the very last tick.
func endingAt(end int64) *trace.Recorder {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	p, q := r.Location("p"), r.Location("q")
	all, last, m := r.Region("all"), r.Region("last"), r.Counter("queue", "")
	many := r.Location("many") // several blocks, and levels
	for i := range int64(9000) {
		r.Enter(many, end-1000+i/10, last)
		r.Leave(many, end-1000+i/10, last)
	}
	r.Enter(many, end-90, last)
	r.Leave(many, end-1, last)
	r.Enter(p, end-1000, all)
	r.Value(p, end-1000, m, 1)
	r.Enter(p, end-20, last)
	r.Send(p, end-18, q, 1, 8)
	r.Leave(p, end-15, last)
	r.Value(p, end-9, m, 5)
	r.Recv(q, end, p, 1, 8)
	r.Enter(q, end, last)
	r.Leave(q, end, last)
	r.Mark(p, end, last)
	r.Value(p, end, m, 3)
	r.Enter(p, end, last)
	r.Leave(p, end, last)
	r.Leave(p, end, all)
	return r
}

// TestLastTick checks traces whose last event is at math.MaxInt64. Windows and tiles that extend to the end
// include that event. All answers must equal the answers about the same trace at smaller times.
func TestLastTick(t *testing.T) {
	const small = 1000
	x, y := buildIndex(t, endingAt(math.MaxInt64)), buildIndex(t, endingAt(small))
	for _, z := range []*Index{x, y} {
		_, end, _ := z.Extent()
		s, ok, err := z.SpanAt(0, 1, end)
		if err != nil || !ok || s.Start != end {
			t.Fatalf("found %v, %v, %v, expected a span at %d", s, ok, err, end)
		}
		around, err := z.Enclosing(0, s)
		if err != nil || len(around) != 1 || around[0].Start != end-1000 {
			t.Errorf("at %d: found %v, %v around the span, expected the one of 1000 ticks", end, around, err)
		}
	}
	for _, w := range []struct{ from, after int64 }{{1000, 1}, {40, 1}, {40, 41}, {8, 1}, {0, 1}, {1, 300},
		{1000, 1000}} {
		name := fmt.Sprintf("from %d before to %d after the end", w.from, w.after)
		for _, width := range []int{7, 41, 410, 2000} {
			q := TileRequest{Tracks: []int{0, 1, 2, 3}, Width: width, Depths: 4}
			big := q
			big.From, big.To, big.Beyond = math.MaxInt64-w.from, math.MaxInt64, uint64(w.after)
			q.From, q.To = small-w.from, small+w.after
			a, err := x.Tile(t.Context(), big)
			if err != nil {
				t.Fatal(err)
			}
			b, err := y.Tile(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(a, b) {
				t.Errorf("%s, %d columns: found %+v, expected %+v", name, width, a, b)
			}
		}
		for k, kind := range x.Tracks() {
			from, to := small-w.from, int64(small+w.after)
			a, err1 := x.Profile(k, math.MaxInt64-w.from, math.MaxInt64)
			b, err2 := y.Profile(k, from, to)
			if err1 != nil || err2 != nil || !reflect.DeepEqual(a, b) {
				t.Errorf("%s, track %d: found the profile %v (%v), expected %v (%v)", name, k, a, err1, b, err2)
			}
			if kind.Kind == CounterTrack {
				v, _ := x.Values(t.Context(), k, math.MaxInt64-w.from, math.MaxInt64)
				o, _ := y.Values(t.Context(), k, from, to)
				if v.Samples != o.Samples || v.First != o.First || v.Last != o.Last || v.Max != o.Max {
					t.Errorf("%s: found the values %+v, expected %+v", name, v, o)
				}
				continue
			}
			list := func(x *Index, from, to, end int64) (out []Span) {
				err := x.Spans(t.Context(), k, from, to, []uint32{1}, 0, func(s Span) int64 {
					s.Start, s.End = s.Start-end, s.End-end
					out = append(out, s)
					return 0
				})
				if err != nil {
					t.Fatal(err)
				}
				return out
			}
			found, expected := list(x, math.MaxInt64-w.from, math.MaxInt64, math.MaxInt64), list(y, from, to, small)
			if !reflect.DeepEqual(found, expected) {
				t.Errorf("%s, track %d: found the spans %v, expected %v", name, k, found, expected)
			}
		}
		a, err1 := x.Links(t.Context(), LinkRequest{From: math.MaxInt64 - w.from, To: math.MaxInt64})
		b, err2 := y.Links(t.Context(), LinkRequest{From: small - w.from, To: small + w.after})
		if err1 != nil || err2 != nil || len(a.Links) != len(b.Links) || len(b.Links) != 1 {
			t.Errorf("%s: found the links %v (%v), expected %v (%v)", name, a, err1, b, err2)
		}
	}
}
