// Counter is an analysis: it counts how often each region of a trace is visited, on all cores.
//
//	go run ./examples/counter format/otf2/testdata/ok/heat2d-mt/traces.otf2
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/weft-trace/weft/analysis"
	"github.com/weft-trace/weft/format/all"
	"github.com/weft-trace/weft/trace"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: counter TRACE")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(path string, w io.Writer) error {
	ctx := context.Background()
	f, err := all.Open(ctx, path, nil)
	if err != nil {
		return err
	}
	defer f.Close()
	sel := trace.Everything()
	sel.Links = trace.NoLinks
	sum, err := analysis.Run(ctx, f, sel, func() *partialCounts { return &partialCounts{} })
	if err != nil {
		return err
	}
	for region, visits := range sum.visits {
		if visits > 0 {
			fmt.Fprintln(w, visits, f.Defs().Regions.At(uint32(region)).Name)
		}
	}
	return nil
}

// partialCounts holds the counts of one worker, by region.
type partialCounts struct{ visits []int64 }

// Batch adds the visits that begin in a batch. It iterates over columns, which is faster than a
// cursor.
func (p *partialCounts) Batch(b *trace.Batch) error {
	for i, k := range b.Kind {
		if k == trace.Enter && b.Ref[i] != trace.NoRef {
			p.add(int(b.Ref[i]), 1)
		}
	}
	return nil
}

func (p *partialCounts) add(region int, n int64) {
	for region >= len(p.visits) {
		p.visits = append(p.visits, 0)
	}
	p.visits[region] += n
}

// Links ignores links, which the analysis does not need.
func (p *partialCounts) Links([]trace.Link) error { return nil }

// Merge adds the counts of another worker.
func (p *partialCounts) Merge(o *partialCounts) error {
	for region, n := range o.visits {
		p.add(region, n)
	}
	return nil
}
