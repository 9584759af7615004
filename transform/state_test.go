package transform

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weft-trace/weft/trace"
)

// TestOpenOperations compares the open rows of random visits and collective operations with those of a plain list: an
// end closes the latest open begin with its region or request, and the end of a visit also closes the operations
// that have begun since the visit.
func TestOpenOperations(t *testing.T) {
	type begin struct {
		kind trace.Kind
		id   uint64
		time int64
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var s state
		var want []begin
		ids := 1 + rng.Uint64N(6)
		kinds := []trace.Kind{trace.Enter, trace.CollectiveBegin, trace.CollectiveBegin, trace.CollectiveEnd,
			trace.CollectiveEnd, trace.Leave}[rng.IntN(2):]
		for now := range int64(400) {
			k, id := kinds[rng.IntN(len(kinds))], rng.Uint64N(ids)
			b := trace.Batch{}
			if k == trace.Enter || k == trace.Leave {
				b.Add(0, now, k, uint32(id))
			} else {
				b.Add(0, now, k, trace.NoRef)
				b.AddOps(0, 0, trace.Undefined, 0, 0, id)
			}
			c := b.Cursor()
			c.Next()
			s.update(&c)
			switch k {
			case trace.Enter, trace.CollectiveBegin:
				want = append(want, begin{k, id, now})
			default:
				opened := map[trace.Kind]trace.Kind{trace.Leave: trace.Enter, trace.CollectiveEnd: trace.CollectiveBegin}[k]
				i := len(want) - 1
				for ; i >= 0 && (want[i].kind != opened || want[i].id != id); i-- {
				}
				if i < 0 {
					break
				}
				rest := slices.Clone(want[i+1:])
				if k == trace.Leave {
					rest = slices.DeleteFunc(rest, func(x begin) bool { return x.kind == trace.CollectiveBegin })
				}
				want = append(want[:i], rest...)
			}
			var got []begin
			for _, o := range s.list() {
				x := begin{o.kind, uint64(o.ref), o.time}
				if o.kind != trace.Enter {
					x.id = o.row.operands()[5]
				}
				got = append(got, x)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("time %d: found %v, expected %v", now, got, want)
			}
			if now%50 == 0 {
				s = *s.clone()
			}
			if most := 2*len(want) + 40; len(s.begun) > most {
				t.Fatalf("time %d: found %d operations in the list, expected at most %d", now, len(s.begun), most)
			}
		}
	}
}
