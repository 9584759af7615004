package claims

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestTable compares a table with a Go map during random insertions and removals. There are few ids, so
// that keys collide and are set again, and slots are reused.
func TestTable(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var table Table[int]
	want := map[Key]int{}
	key := func() Key {
		return Key{ID: int64(rng.IntN(60)) - 30, Location: uint32(rng.IntN(4))}
	}
	for i := range 200000 {
		k := key()
		// Phases of growth alternate with phases of removal, so that long runs of full slots arise and
		// get gaps again.
		if rng.IntN(3) == i/5000%3 || i/5000%2 == 0 && rng.IntN(2) == 0 {
			v := table.Remove(k)
			if w, has := want[k]; (v != nil) != has || has && *v != w {
				t.Fatalf("step %d: Remove(%v) is %v, want %d, %v", i, k, v, w, has)
			}
			delete(want, k)
		} else {
			table.Set(k, i)
			want[k] = i
		}
		k = key()
		v, ok := table.Get(k)
		if w, has := want[k]; ok != has || v != w {
			t.Fatalf("step %d: Get(%v) is %d, %v, want %d, %v", i, k, v, ok, w, has)
		}
		if table.Len() != len(want) {
			t.Fatalf("step %d: %d keys, want %d", i, table.Len(), len(want))
		}
	}
	keys := table.Keys()
	for i, k := range keys[1:] {
		if p := keys[i]; p.Location > k.Location || p.Location == k.Location && p.ID >= k.ID {
			t.Errorf("key %v comes before %v", p, k)
		}
	}
	if sorted := slices.Collect(maps.Keys(want)); len(sorted) != len(keys) {
		t.Errorf("%d keys, want %d", len(keys), len(sorted))
	}
	clone := table.Clone()
	var merged Table[int]
	merged.Merge(&table)
	for _, k := range keys {
		table.Remove(k)
		if v, ok := clone.Get(k); !ok || v != want[k] {
			t.Errorf("the clone has %d, %v for %v, want %d", v, ok, k, want[k])
		}
		if v, ok := merged.Get(k); !ok || v != want[k] {
			t.Errorf("the merged table has %d, %v for %v, want %d", v, ok, k, want[k])
		}
	}
	if table.Len() != 0 || len(table.Keys()) != 0 {
		t.Errorf("%d keys after all were removed", table.Len())
	}
}
