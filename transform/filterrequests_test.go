package transform_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
	"github.com/weft-trace/weft/transform"
)

// TestFilterOperations checks that the rows about an operation stay or go together: the post, the tests, the
// cancellation and the completion of a request, the begin and the completions of an operation on remote memory, and the
// rows of an I/O operation.
func TestFilterOperations(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1))
	loc := r.Location("p")
	d := r.Defs()
	a := d.Communicator.Add(trace.Communicator{ID: "0", Name: "A"})
	b := d.Communicator.Add(trace.Communicator{ID: "1", Name: "B"})
	win := d.Windows.Add(trace.Named{ID: "0", Name: "w"})
	file := d.Handles.Add(trace.Named{ID: "0", Name: "h"})
	comm := func(c uint32) uint64 { return uint64(c) }
	add := func(at int64, k trace.Kind, ref uint32, ops ...uint64) { r.Event(loc, at, k, ref, ops) }
	none := uint32(trace.NoRef)
	for i, c := range []uint32{a, b} { // a broadcast of each communicator; a request of A is tested twice
		add(10+int64(i), trace.CollectiveRequest, none, 5+uint64(i))
		add(20+int64(i), trace.RequestTest, none, 5+uint64(i))
		add(30+int64(i), trace.CollectiveComplete, none, 1, comm(c), 0, 8, 8, 5+uint64(i))
	}
	add(40, trace.CollectiveRequest, none, 5)
	add(41, trace.RequestCancelled, none, 5)
	add(50, trace.SendBegin, none, 0, comm(a), 1, 8, 7)
	add(51, trace.RequestTest, none, 7)
	add(52, trace.SendComplete, none, 7)
	add(53, trace.SendBegin, none, 0, comm(b), 1, 8, 7)
	add(54, trace.RequestTest, none, 7)
	add(55, trace.RequestCancelled, none, 7)
	add(60, trace.RecvBegin, none, 7)
	add(61, trace.RequestTest, none, 7)
	add(62, trace.RecvComplete, none, 0, comm(b), 1, 8, 7)
	add(70, trace.RMAPut, win, 0, 8, 1)
	add(71, trace.RMAGet, win, 0, 8, 2)
	add(72, trace.RMATest, win, 1)
	add(73, trace.RMACompleteNonBlocking, win, 2)
	add(74, trace.RMACompleteNonBlocking, win, 1)
	add(75, trace.RMACompleteRemote, win, 1)
	add(76, trace.RMAAtomic, win, 0, 1, 8, 8, 1) // another operation with the number of the put
	add(77, trace.RMACompleteBlocking, win, 1)
	add(80, trace.IOBegin, file, 0, 1, 8, 3)
	add(81, trace.IOIssued, file, 3)
	add(82, trace.IOTest, file, 3)
	add(83, trace.IOComplete, file, 8, 3)

	all := "10 11 20 21 30 31 40 41 50 51 52 53 54 55 60 61 62 70 71 72 73 74 75 76 77 80 81 82 83"
	kinds := func(list ...trace.Kind) func(trace.Kind) bool {
		return func(k trace.Kind) bool { return slices.Contains(list, k) }
	}
	for _, c := range []struct {
		what   string
		filter transform.FilterOptions
		want   string // times of the rows that stay or, after a -, of those that go
	}{
		{"not B", transform.FilterOptions{Communicator: func(c uint32) bool { return c != b }},
			"-11 21 31 53 54 55 60 61 62"},
		{"not send", transform.FilterOptions{NotKind: kinds(trace.SendBegin)}, "-50 51 52 53 54 55"},
		{"not recv", transform.FilterOptions{NotKind: kinds(trace.RecvComplete)}, "-60 61 62"},
		{"not collective", transform.FilterOptions{NotKind: kinds(trace.CollectiveComplete)}, "-10 11 20 21 30 31 40 41"},
		{"not test", transform.FilterOptions{NotKind: kinds(trace.RequestTest)}, "-20 21 51 54 61"},
		{"send", transform.FilterOptions{Kind: kinds(trace.SendComplete)}, "50 51 52 53 54 55"},
		{"recv", transform.FilterOptions{Kind: kinds(trace.RecvBegin)}, "60 61 62"},
		{"test", transform.FilterOptions{Kind: kinds(trace.RequestTest)}, "20 21 51 54 61"},
		{"send, not test", transform.FilterOptions{Kind: kinds(trace.SendBegin), NotKind: kinds(trace.RequestTest)},
			"50 52 53 55"},
		{"not put", transform.FilterOptions{NotKind: kinds(trace.RMAPut)}, "-70 72 74 75"},
		{"not atomic", transform.FilterOptions{NotKind: kinds(trace.RMAAtomic)}, "-76 77"},
		{"get", transform.FilterOptions{Kind: kinds(trace.RMAGet)}, "71 73"},
		{"not file", transform.FilterOptions{NotKind: kinds(trace.IOBegin)}, "-80 81 82 83"},
		{"not file test", transform.FilterOptions{NotKind: kinds(trace.IOTest)}, "-82"},
		{"file", transform.FilterOptions{Kind: kinds(trace.IOComplete)}, "80 81 82 83"},
	} {
		var found []string
		list, _ := listBoth(t, transform.Filter(format.Recorded(r), c.filter))
		for _, e := range list {
			found = append(found, fmt.Sprint(e.time))
		}
		want := strings.Fields(c.want)
		if gone, ok := strings.CutPrefix(c.want, "-"); ok {
			want = slices.DeleteFunc(strings.Fields(all), func(at string) bool {
				return slices.Contains(strings.Fields(gone), at)
			})
		}
		if !slices.Equal(found, want) {
			t.Errorf("%s: found rows at %v, expected %v", c.what, found, want)
		}
	}
}
