package report_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/weft-trace/weft/analysis"
	"github.com/weft-trace/weft/analysis/info"
	"github.com/weft-trace/weft/analysis/profile"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/picl"
	"github.com/weft-trace/weft/report"
	"github.com/weft-trace/weft/trace"
)

// This example writes a page with the profile of a trace. The 32 visits of recv0 in the file take
// 2.03 ms in total.
func Example() {
	ctx := context.Background()
	src, kind := format.FileSource("../examples/ring.trf"), picl.Format{}
	f, err := kind.Open(ctx, src, &format.ReadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	t := info.Trace{File: f, Events: f, Format: kind, Source: src, Report: format.NewReport()}
	what, _, err := t.Describe(ctx, false)
	if err != nil {
		log.Fatal(err)
	}
	times, err := analysis.Run(ctx, f, trace.Everything(), func() *profile.Part {
		return profile.New(f.Defs(), profile.Options{Locations: true})
	})
	if err != nil {
		log.Fatal(err)
	}
	p, d := times.Result(), f.Defs()
	r := report.Report{
		Title: "A ring of eight", Format: kind.About().Title, Info: what,
		Clock: p.Clock, Covered: p.Covered, Regions: p.Regions, Locations: p.Locations,
		Waits:        func(region uint32) bool { return d.RoleOf(region) == trace.ReceiveRole },
		Color:        func(uint32) string { return "" },
		LocationName: func(loc uint32) string { return d.Locations.At(loc).ID },
	}
	var page strings.Builder
	if err := r.Write(&page); err != nil {
		log.Fatal(err)
	}
	for _, s := range []string{"<title>A ring of eight", "recv0 (waited)", "2.03 ms", "<script"} {
		fmt.Println(s, strings.Contains(page.String(), s))
	}
	// Output:
	// <title>A ring of eight true
	// recv0 (waited) true
	// 2.03 ms true
	// <script false
}
