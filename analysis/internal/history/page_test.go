package history

import (
	"slices"
	"testing"

	"github.com/weft-trace/weft/analysis/internal/synclog"
	"github.com/weft-trace/weft/analysis/internal/waitstate"
)

// TestLateAttachments attaches data to calls in another order than that of the calls, as the source of a send that
// waits for its receive. Each call has its own data afterwards, in the order in which they were attached.
func TestLateAttachments(t *testing.T) {
	for _, order := range [][]int32{{0, 1, 2}, {2, 0, 1}, {1, 2, 0}, {2, 1, 0}} {
		for kind, name := range map[byte]string{attachedSource: "sources", attachedOperation: "operations",
			attachedWait: "waits"} {
			l := &Location{pages: []page{{chunk: &synclog.Chunk{Calls: 3}}}}
			h := &History{Locations: []*Location{l}}
			l.history = h
			for i, n := range append(order, order...) {
				at, own := waitstate.Place{Number: n}, int64(10*(1+i/3))+int64(n)
				switch kind {
				case attachedSource:
					h.attach(at, kind, 0, own, 0)
				case attachedOperation:
					h.attach(at, kind, own)
				case attachedWait:
					h.attach(at, kind, int64(waitstate.LateSender), 0, own, 0, 0, 0)
				}
			}
			l.latest = &calls{location: l, page: &l.pages[0], list: make([]Call, 3)}
			h.unpackAttached(l, l.latest)
			for n := range int32(3) {
				var found []int32
				l.EachSource(n, func(s *Source) { found = append(found, s.Place.Number) })
				l.EachOperation(n, func(i int32) { found = append(found, i) })
				for _, w := range l.Waits(n) {
					found = append(found, int32(w.Length))
				}
				if want := []int32{10 + n, 20 + n}; !slices.Equal(found, want) {
					t.Errorf("%s in the order %d: found %d at call %d, expected %d", name, order, found, n, want)
				}
			}
		}
	}
}
