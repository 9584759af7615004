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

// TestCutAccesses checks that a piece repeats an access to remote memory that is not complete, if its call is open. The
// second access of a is such an access. Those of b are complete, or their call has ended.
func TestCutAccesses(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1))
	a, b, put := r.Location("a"), r.Location("b"), r.Region("MPI_Put")
	r.Defs().Windows.Add(trace.Named{ID: "0"})
	access := func(loc uint32, at int64, number uint64, complete, end int64) {
		r.Enter(loc, at, put)
		r.Event(loc, at, trace.RMAPut, 0, []uint64{uint64(a + b - loc), 8, number})
		if complete < end {
			r.Event(loc, complete, trace.RMACompleteBlocking, 0, []uint64{number})
		}
		r.Leave(loc, end, put)
		if complete > end {
			r.Event(loc, complete, trace.RMACompleteNonBlocking, 0, []uint64{number})
		}
	}
	access(a, 1, 1, 2, 3)
	access(a, 10, 2, 35, 36)
	access(b, 1, 3, 40, 3)
	access(b, 10, 4, 11, 36)
	events, _ := listBoth(t, transform.Cut(format.Recorded(r), trace.Window{From: 30, To: 60}))
	var found []string
	for _, e := range events {
		if e.time == 30 {
			found = append(found, e.kind.Spec().Name+" "+strconv.Itoa(int(e.loc))+" "+e.attrs[transform.BeganAttribute])
		}
	}
	if expected := "enter 0 10, rma-put 0 10, enter 1 10"; strings.Join(found, ", ") != expected {
		t.Errorf("found %q, expected %q", found, expected)
	}
}
