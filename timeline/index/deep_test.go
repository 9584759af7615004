package index

import (
	"fmt"
	"testing"

	"github.com/weft-trace/weft/trace"
)

// TestManyOpen checks blocks after which more spans are open than blockSpans: calls that leave in the order in
// which they entered, and simultaneous claims. Call or claim i lasts from i to n + i. At any time, the
// innermost call is the call that began last.
func TestManyOpen(t *testing.T) {
	const n = int64(20_000)
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
	p := r.Location("p")
	cpu := r.Resource("cpu", float64(n), "")
	regions, ids := make([]uint32, n), make([]int64, n)
	for i := range n {
		regions[i] = r.Region(fmt.Sprint("r", i))
		r.Enter(p, i, regions[i])
		ids[i] = r.Claim(cpu, i, regions[i], 1)
	}
	for i := range n {
		r.Leave(p, n+i, regions[i])
		r.Release(ids[i], n+i)
	}
	x := buildIndex(t, r)
	for track, k := range x.Tracks() {
		if k.Kind != LocationTrack && k.Kind != ResourceTrack || k.Spans == 0 {
			continue
		}
		if k.Spans != n {
			t.Errorf("%s: found %d spans, expected %d", k.Kind, k.Spans, n)
		}
		for _, w := range [][2]int64{{0, 2 * n}, {n - 10, n + 10}, {n + 4000, n + 4100}, {n + 9995, n + 10_005},
			{n + 15_000, n + 15_001}, {2*n - 3, 2 * n}} {
			from, to := w[0], w[1]
			sums, err := x.Profile(track, from, to)
			if err != nil {
				t.Fatal(err)
			}
			got := map[uint32]Sum{}
			for _, s := range sums {
				got[s.Region] = s
			}
			wrong := 0
			for i := range n {
				want := Sum{}
				if part := min(n+i, to) - max(i, from); part > 0 {
					exclusive := part
					if k.Kind == LocationTrack {
						exclusive = max(0, min(i+1, to)-max(i, from)) // until the next call begins
						if i == n-1 {
							exclusive = part
						}
					}
					want = Sum{regions[i], 1, trace.TicksOf(part), trace.TicksOf(exclusive), trace.TicksOf(part), part, part}
				}
				if got[regions[i]] != want {
					if wrong++; wrong < 3 {
						t.Errorf("%s, %d to %d, number %d: found %v, expected %v", k.Kind, from, to, i, got[regions[i]], want)
					}
				}
			}
			if wrong > 0 {
				t.Errorf("%s, %d to %d: %d regions are wrong", k.Kind, from, to, wrong)
			}
		}
	}
}
