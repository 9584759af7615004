package cli

import (
	"encoding/json"
	"testing"
)

// TestStatesWindow checks that the states of adjacent windows add up to those of the whole trace,
// and that the states of a window fill its length.
func TestStatesWindow(t *testing.T) {
	type processor struct{ Busy, Overhead, Idle int64 }
	of := func(path string, flags ...string) (out struct {
		First, Last int64
		Processors  []processor
	}) {
		t.Helper()
		text := weft(t, 0, append([]string{"states", "--json", "--quiet", path}, flags...)...)
		if err := json.Unmarshal([]byte(text), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	for _, path := range []string{"../../examples/ring.trf", "../../format/otf2/testdata/ok/heat2d-mt/traces.otf2",
		"../../format/otf/testdata/ok/mpi4/mpi4.otf"} {
		whole := of(path)
		sums := make([]processor, len(whole.Processors))
		for _, window := range []string{"..10%", "10%..55%", "55%.."} {
			x := of(path, "--window", window)
			for i, p := range x.Processors {
				if all := p.Busy + p.Overhead + p.Idle; all != x.Last-x.First {
					t.Errorf("%s, %s: found %d ticks of processor %d, expected those from %d to %d", path, window, all, i, x.First,
						x.Last)
				}
				sums[i] = processor{sums[i].Busy + p.Busy, sums[i].Overhead + p.Overhead, sums[i].Idle + p.Idle}
			}
		}
		for i, p := range whole.Processors {
			if p != sums[i] {
				t.Errorf("%s: processor %d was %+v, in windows %+v", path, i, p, sums[i])
			}
		}
	}
}
