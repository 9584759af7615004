package analysis

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// ErrTimeRange is returned by analyses that compare times of different locations, for a trace whose times span
// too many ticks.
var ErrTimeRange = errors.New("found times that are 2^62 ticks or more apart, expected those of one run")

// Part is a part of an analysis: the state of one worker.
type Part[P any] interface {
	format.Sink
	Merge(P) error
}

// Join joins what two parts hold about locations: lists by index, with nil for locations that a
// part has not seen. No location may have been seen by both. The error names the analysis.
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

// Run runs an analysis of the events that sel selects. Each worker of a parallel scan fills a part
// of its own, which fresh returns, and Run merges them.
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
	all := fresh()
	for _, p := range parts {
		if err != nil {
			break
		}
		err = all.Merge(p)
	}
	return all, err
}
