package index

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// TestRanks compares the result of Ranks with ranks that are determined tick by tick. Regions with the same
// rank contain other regions in some cases and not in others.
func TestRanks(t *testing.T) {
	r, spans := randomVisits(9, 2, 4000)
	x := buildIndex(t, r)
	first, last, _ := x.Extent()
	rng := rand.New(rand.NewPCG(2, 8))
	for i := range 200 {
		track := rng.IntN(2)
		ranks := make([]int, 7)
		for k := range ranks {
			if i%2 == 0 {
				ranks[k] = rng.IntN(3)
			}
		}
		ranks[rng.IntN(7)] = rng.IntN(3)
		from := first - 10 + rng.Int64N(last-first)
		to := from + 1 + rng.Int64N(9000)
		at := make([]int, to-from)
		for _, s := range spans[track] {
			for k := max(from, s.Start); k < min(to, s.End); k++ {
				at[k-from] = max(at[k-from], ranks[s.Region])
			}
		}
		want := make([]int64, 3)
		for _, k := range at {
			if k > 0 {
				want[k]++
			}
		}
		got, err := x.Ranks(t.Context(), track, from, to, 3, func(region uint32) int { return ranks[region] })
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("ranks %v from %d to %d: found %v, %v, expected %v", ranks, from, to, got, err, want)
		}
	}
}

// TestDamagedFigures changes bytes of an index. Ranks, values and instants must then equal the ones of the
// intact index, or an error must report the damage.
func TestDamagedFigures(t *testing.T) {
	r, _ := randomVisits(3, 1, 3000)
	loc := r.Location("q")
	m := r.Defs().Metrics.Add(trace.MetricDef{ID: "1", Name: "queue", Kind: trace.CounterMetric, Type: trace.Float64,
		Location: loc})
	for i := range int64(3000) {
		r.Event(loc, 3*i, trace.Metric, m, []uint64{math.Float64bits(float64(i % 7))})
		r.Mark(loc, 3*i+1, r.Region("a"))
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	if err := Build(t.Context(), format.Recorded(r), path, Options{}); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	type figures struct {
		ranks    [3]int64
		sum      float64
		instants int
	}
	ask := func(data []byte) (out figures, err error) {
		bad := filepath.Join(dir, "bad")
		if err := os.WriteFile(bad, data, 0o600); err != nil {
			t.Fatal(err)
		}
		x, err := Open(bad)
		if err != nil {
			return out, err
		}
		defer x.Close()
		for k := range x.Tracks() {
			list, err := x.Ranks(context.Background(), k, 50, 7000, 3, func(region uint32) int { return int(region % 3) })
			if err != nil {
				return out, err
			}
			v, err := x.Values(context.Background(), k, 50, 7000)
			if err != nil {
				return out, err
			}
			if err := x.EachInstant(k, math.MinInt64, math.MaxInt64, func(Instant) { out.instants++ }); err != nil {
				return out, err
			}
			for i := range list {
				out.ranks[i] += list[i]
			}
			mean, _ := v.Mean()
			out.sum += mean
		}
		return out, nil
	}
	want, err := ask(good)
	if err != nil || want.instants != 3000 || want.ranks[2] == 0 || want.sum == 0 {
		t.Fatalf("found %+v, %v", want, err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	found := 0
	for range 300 {
		bad := slices.Clone(good)
		bad[rng.IntN(len(bad))] ^= 1 << rng.IntN(8)
		switch got, err := ask(bad); {
		case err != nil && !errors.Is(err, ErrDamaged):
			t.Fatalf("found the error %v", err)
		case err != nil:
			found++
		case got != want:
			t.Fatalf("a damaged index gives %+v, expected %+v", got, want)
		}
	}
	if found < 200 {
		t.Errorf("%d of 300 damages were found", found)
	}
}
