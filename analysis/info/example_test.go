package info_test

import (
	"context"
	"fmt"
	"log"

	"github.com/weft-trace/weft/analysis/info"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/all"
)

// This example prints the content of a trace as weft info does. In the file, 198 lines begin with C and
// are claims of two events each; 96 begin with D and are dependencies; 8 begin with R and are
// resources.
func Example() {
	ctx := context.Background()
	src := format.FileSource("../../examples/odse.etf")
	kind, err := format.Detect(all.Formats(), src)
	if err != nil {
		log.Fatal(err)
	}
	report := format.NewReport()
	f, err := kind.Open(ctx, src, &format.ReadOptions{Report: report})
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	t := info.Trace{File: f, Events: f, Format: kind, Source: src, Report: report}
	x, _, err := t.Describe(ctx, false)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s, %s s, %d links, %d resources\n", x.Format, x.Span, x.Links, len(x.Resources))
	for _, k := range x.Kinds {
		fmt.Println(k.Name, k.Events)
	}
	// Output:
	// etf, 0.13 s, 96 links, 8 resources
	// mark 17
	// claim-begin 198
	// claim-end 198
	// fragment 13
}
