package analysis

import (
	"context"
	"sync"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// Part is a part of an analysis: what one worker has seen of a trace.
type Part[P any] interface {
	format.Sink
	Merge(P) error
}

// InParts runs an analysis: each worker of a scan, which is format.ScanAnew or
// format.ScanWindow, fills a part of its own that fresh made, and they are merged.
func InParts[P Part[P]](ctx context.Context, d format.Decoder, sel trace.Selection, fresh func() P,
	scan func(context.Context, format.Decoder, trace.Selection, func() func(int) format.Sink) error) (P, error) {
	var mu sync.Mutex
	var parts []P
	err := scan(ctx, d, sel, func() func(int) format.Sink {
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
