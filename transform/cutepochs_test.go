package transform_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/transform"
)

// TestCutEpochs checks that a piece repeats the calls of the epochs of a window that are open at its begin, or that
// another location ends in it. The piece begins at 30. The first epoch of origin a and target b has ended before.
func TestCutEpochs(t *testing.T) {
	for _, x := range []struct{ a, b, expectedA, expectedB string }{
		{"start 1 2 complete 3 4 start 11 12 complete 33 35", "post 1 2 wait 3 5 post 31 32 wait 36 37",
			"start 11,11,12 complete 33,33,35", "post 31,31,32 wait 36,36,37"},
		{"start 1 2 complete 3 4 start 11 12 complete 13 20", "post 1 2 wait 3 5 post 14 15 wait 36 37",
			"start 11,11,12 complete 13,13,20", "post 14,14,15 wait 36,36,37"},
		{"start 1 2 complete 3 4 start 11 12 complete 13 35", "post 1 2 wait 3 5 post 14 15 wait 16 37",
			"start 11,11,12 complete 13,13,35", "post 14,14,15 wait 16,16,37"},
		{"start 1 2 complete 3 4 start 31 32 complete 33 35", "post 1 2 wait 3 5 post 31 32 wait 36 37",
			"start 31,31,32 complete 33,33,35", "post 31,31,32 wait 36,36,37"},
	} {
		r := trace.NewRecorder(trace.TicksPerSecond(1))
		defs := r.Defs()
		began := func(e *event) string {
			if text := e.attrs[transform.BeganAttribute]; text != "" {
				return text
			}
			return strconv.FormatInt(e.time, 10)
		}
		var locations [2]uint32
		for i := range locations {
			locations[i] = r.Location(string(rune('a' + i)))
		}
		for i, calls := range []string{x.a, x.b} {
			partner := defs.Sets.Add(trace.Set{ID: strconv.Itoa(i), Kind: "locations", Members: []int64{int64(locations[1-i])}})
			f := strings.Fields(calls)
			for ; len(f) > 0; f = f[3:] {
				region := r.Region("MPI_Win_" + f[0])
				begin, _ := strconv.ParseInt(f[1], 10, 64)
				end, _ := strconv.ParseInt(f[2], 10, 64)
				r.Enter(locations[i], begin, region)
				r.Event(locations[i], begin, trace.RMAGroupSync, 0, []uint64{0, uint64(partner)})
				r.Leave(locations[i], end, region)
			}
		}
		defs.Windows.Add(trace.Named{ID: "0"})
		events, _ := listBoth(t, transform.Cut(format.Recorded(r), trace.Window{From: 30, To: 60}))
		found := map[uint32]string{}
		for i := range events {
			e := &events[i]
			if e.kind == trace.Enter {
				name := strings.TrimPrefix(defs.Regions.At(e.ref).Name, "MPI_Win_")
				found[e.loc] = strings.TrimSpace(found[e.loc] + " " + name + " " + began(e))
			} else {
				found[e.loc] += "," + began(e)
			}
		}
		if a, b := found[locations[0]], found[locations[1]]; a != x.expectedA || b != x.expectedB {
			t.Errorf("%s and %s: found %q and %q, expected %q and %q", x.a, x.b, a, b, x.expectedA, x.expectedB)
		}
	}
}
