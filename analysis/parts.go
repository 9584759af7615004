package analysis

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// ErrTimeRange is returned by analyses that compare times of different locations, for a trace whose
// earliest and latest times are 2^62 ticks or more apart.
var ErrTimeRange = errors.New("found times that are 2^62 ticks or more apart, expected those of one run")

// Part is the state of an analysis after it has processed some locations of a trace. Merge adds the state of
// another part. The other part must have processed other locations, and must not be used afterwards.
type Part[P any] interface {
	format.Sink
	Merge(P) error
}

// Join returns the state that two parts hold for each location. The lists are indexed by location
// and have nil for locations without events in a part. It fails if both parts have state for the
// same location; the error begins with name, the name of the analysis. The result may reuse the
// array of ours.
func Join[T any](name string, ours, theirs []*T) ([]*T, error) {
	for i, x := range theirs {
		if x == nil {
			continue
		}
		for len(ours) <= i {
			ours = append(ours, nil)
		}
		if ours[i] != nil {
			return ours, fmt.Errorf("%s: location %d was seen by both parts; expected parts of different locations", name, i)
		}
		ours[i] = x
	}
	return ours, nil
}

// Run runs an analysis of the events that sel selects, on several cores. Each worker of the parallel scan has
// a part of its own. fresh returns a new part. Run merges all parts and returns the result. If the scan fails,
// Run returns a part without events.
func Run[P Part[P]](ctx context.Context, events format.Events, sel trace.Selection, fresh func() P) (P, error) {
	var mu sync.Mutex
	var parts []P
	err := events.ScanParallel(ctx, sel, func() func(int) format.Sink {
		parts = nil
		return func(int) format.Sink {
			p := fresh()
			mu.Lock()
			defer mu.Unlock()
			parts = append(parts, p)
			return p
		}
	})
	if err != nil || len(parts) == 0 {
		return fresh(), err
	}
	for _, p := range parts[1:] {
		if err = parts[0].Merge(p); err != nil {
			break
		}
	}
	return parts[0], err
}
