package etf

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/weft-trace/weft/internal/chunks"
)

// TestIDTable compares tables with maps: for ids that ascend with and without gaps, that ascend up to some line, that
// have no order, and that repeat. The tables are in memory, or in a temporary file.
func TestIDTable(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const n = 8_000
	orders := map[string]func(i int64) int64{
		"consecutive": func(i int64) int64 { return i - 100 },
		"gaps":        func(i int64) int64 { return 1000*i + rng.Int64N(1000) },
		"extreme": func(i int64) int64 {
			switch {
			case i == 0:
				return math.MinInt64
			case i >= n-2:
				return math.MaxInt64 - (n - 1 - i)
			}
			return i
		},
		"late disorder": func(i int64) int64 { return i - i/(n-1)*n/2 },
		"no order":      func(int64) int64 { return int64(rng.Uint64()) },
		"repeated":      func(i int64) int64 { return rng.Int64N(n / 2) },
	}
	for name, id := range orders {
		for _, memory := range []int64{0, 1 << 30} {
			table := idTable{store: chunks.New(memory)}
			want := map[int64]idPlace{}
			var ids []int64
			for i := range int64(n) {
				x := idPlace{id: id(i), line: i, t0: rng.Int64N(50), loc: rng.Uint32()}
				x.t1 = x.t0 + rng.Int64N(1000)
				if i%1000 == 0 {
					x.t0, x.t1 = math.MinInt64, math.MaxInt64
				}
				if first, ok := want[x.id]; !ok || x.t0 < first.t0 || x.t0 == first.t0 && x.line < first.line {
					want[x.id] = x
				}
				ids = append(ids, x.id)
				if err := table.add(&x); err != nil {
					t.Fatal(err)
				}
			}
			if err := table.finish(t.Context()); err != nil {
				t.Fatal(err)
			}
			for range n {
				id := ids[rng.IntN(n)] + max(0, rng.Int64N(20)-17)
				x, found := want[id]
				got, err := table.find(id)
				switch {
				case err != nil:
					t.Fatal(err)
				case found != (got != nil), found && *got != x:
					t.Fatalf("%s, %d bytes of memory: id %d: found %+v, expected %+v, %t", name, memory, id, got, x, found)
				}
			}
			table.close()
			table.store.Close()
		}
	}
}
