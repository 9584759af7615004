package cli

import (
	"context"
	"sync"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// part is a part of an analysis: what one worker has seen of a trace.
type part[P any] interface {
	format.Sink
	Merge(P) error
}

// inParts runs an analysis: each worker of a scan, which is format.ScanAnew or
// format.ScanWindow, fills a part of its own, and they are merged.
func inParts[P part[P]](ctx context.Context, d format.Decoder, sel trace.Selection, make func() P,
	scan func(context.Context, format.Decoder, trace.Selection, func() func(int) format.Sink) error) (P, error) {
	var mu sync.Mutex
	var parts []P
	err := scan(ctx, d, sel, func() func(int) format.Sink {
		parts = nil
		return func(int) format.Sink {
			p := make()
			mu.Lock()
			defer mu.Unlock()
			parts = append(parts, p)
			return p
		}
	})
	all := make()
	for _, p := range parts {
		if err != nil {
			break
		}
		err = all.Merge(p)
	}
	return all, err
}
