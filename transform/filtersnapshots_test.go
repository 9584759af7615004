package transform_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/transform"
)

// TestFilterSnapshots checks that a snapshot after a filter has the calls and messages of the filtered trace, so that
// a reader that begins at the snapshot finds the same state as one that reads from the beginning.
func TestFilterSnapshots(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1))
	loc := r.Location("p")
	main, f, g := r.Region("main"), r.Region("f"), r.Region("g")
	names := map[uint32]string{main: "main", f: "f", g: "g", trace.NoRef: "message"}
	open := func(at int64, region uint32, begin uint64) {
		r.Event(loc, at, trace.EnterSnapshot, region, []uint64{begin})
	}
	r.Enter(loc, 0, main)
	r.Enter(loc, 10, f)
	r.Event(loc, 15, trace.Send, trace.NoRef, []uint64{0, trace.Undefined, 0, 8})
	open(20, main, 0)
	open(20, f, 10)
	r.Event(loc, 20, trace.SendSnapshot, trace.NoRef, []uint64{0, trace.Undefined, 0, 8, 15})
	r.Leave(loc, 30, f)
	open(30, main, 0) // a snapshot has the state before the events at its time
	open(30, f, 10)
	r.Enter(loc, 40, g)
	r.Enter(loc, 45, f)
	open(60, main, 0)
	open(60, g, 40)
	open(60, f, 45)
	r.Leave(loc, 80, f)
	r.Leave(loc, 90, g)
	r.Leave(loc, 100, main)

	everything := []string{"20 main", "20 f", "20 message", "30 main", "30 f", "60 main", "60 g", "60 f"}
	for _, c := range []struct {
		what   string
		filter transform.FilterOptions
		want   []string
	}{
		{"nothing", transform.FilterOptions{MaxDepth: 3, MinDuration: 20}, everything},
		{"depth 1", transform.FilterOptions{MaxDepth: 1}, []string{"20 main", "20 message", "30 main", "60 main"}},
		{"depth 2", transform.FilterOptions{MaxDepth: 2},
			[]string{"20 main", "20 f", "20 message", "30 main", "30 f", "60 main", "60 g"}},
		{"shorter than 21 s", transform.FilterOptions{MinDuration: 21},
			[]string{"20 main", "20 message", "30 main", "60 main", "60 g", "60 f"}},
		{"shorter than 51 s", transform.FilterOptions{MinDuration: 51},
			[]string{"20 main", "20 message", "30 main", "60 main"}},
		{"enter", transform.FilterOptions{NotKind: func(k trace.Kind) bool { return k == trace.Enter }},
			[]string{"20 message"}},
		{"send", transform.FilterOptions{NotKind: func(k trace.Kind) bool { return k.IsSend() }},
			[]string{"20 main", "20 f", "30 main", "30 f", "60 main", "60 g", "60 f"}},
	} {
		list, _ := listBoth(t, transform.Filter(format.Recorded(r), c.filter))
		var found []string
		for _, e := range list {
			if e.kind.IsState() {
				found = append(found, fmt.Sprint(e.time, " ", names[e.ref]))
			}
		}
		if !slices.Equal(found, c.want) {
			t.Errorf("%s is dropped: snapshots have %q, expected %q", c.what, found, c.want)
		}
	}
}

// TestFilterSnapshotOfEndedVisit checks that a snapshot keeps a visit that ends at its time, although a shorter visit
// of the same region begins at this time and is dropped. So does one among many visits that are left in the order in
// which they were entered.
func TestFilterSnapshotOfEndedVisit(t *testing.T) {
	for _, deep := range []int{1, 500} {
		r := trace.NewRecorder(trace.TicksPerSecond(1))
		loc, f := r.Location("p"), r.Region("f")
		var others []uint32
		for i := range deep {
			others = append(others, r.Region(fmt.Sprint("g", i)))
			r.Enter(loc, int64(i), others[i])
		}
		r.Enter(loc, 1000, f)
		for i, g := range others {
			r.Leave(loc, 2000+int64(i), g)
		}
		r.Leave(loc, 3000, f)
		r.Enter(loc, 3000, f)
		r.Event(loc, 3000, trace.EnterSnapshot, f, []uint64{1000})
		r.Leave(loc, 3001, f)
		list, _ := listBoth(t, transform.Filter(format.Recorded(r), transform.FilterOptions{MinDuration: 5}))
		if n := len(list); n != 2*deep+3 || list[n-1].kind != trace.EnterSnapshot {
			t.Errorf("%d visits: found %d rows, expected %d with the snapshot", deep, n, 2*deep+3)
		}
	}
}
