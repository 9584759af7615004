package check_test

import (
	"context"
	"fmt"
	"log"

	"github.com/weft-trace/weft/check"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/all"
)

// This example checks a file in which main is entered twice and left once, and init is left without
// an enter.
func ExampleAll() {
	ctx := context.Background()
	const name = "../format/pallas/testdata/ok/mismatched_leave/trace/main.pallas"
	opt := &format.ReadOptions{Report: format.NewReport()}
	f, err := all.Open(ctx, name, opt)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	if err := check.All(ctx, f, f, name, opt); err != nil {
		log.Fatal(err)
	}
	for _, r := range opt.Report.Rules() {
		fmt.Printf("%d × %s: %s\n", r.Count, r.Rule, r.First[0].Message())
	}
	// Output:
	// 1 × trace.enter-without-leave: location 0: found enter of main at 0.000001 s, expected a leave after it
	// 1 × trace.leave-without-enter: location 0: found leave of init at 0.00000101 s, expected an enter before it
}
