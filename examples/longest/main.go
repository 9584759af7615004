// Longest prints the ten longest spans of a trace of any format: its duration, its name and its location.
//
//	go run ./examples/longest format/otf2/testdata/ok/ring/eztrace_log.otf2
package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/weft-trace/weft/analysis/spans"
	"github.com/weft-trace/weft/format/all"
	"github.com/weft-trace/weft/trace"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: longest TRACE")
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
	var list []spans.Span
	for s, err := range spans.All(ctx, f, trace.Events()) {
		if err != nil {
			return err
		}
		list = append(list, s)
	}
	slices.SortStableFunc(list, func(a, b spans.Span) int { return cmp.Compare(b.Duration(), a.Duration()) })
	locations := f.Defs().FullNames()
	for _, s := range list[:min(10, len(list))] {
		name, _ := f.Defs().RefName(trace.RefRegion, s.Region)
		fmt.Fprintln(w, f.Defs().Clock.FormatDuration(s.Duration()), name, "at", locations[s.Location])
	}
	return nil
}
