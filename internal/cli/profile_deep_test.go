package cli

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/weft-trace/weft/analysis/calltree"
	"github.com/weft-trace/weft/trace"
)

// TestDeepStacks checks a recursion deeper than the greatest depth of stacks. All deeper calls
// become one call in the path around them, and the calls after the recursion are as usual.
func TestDeepStacks(t *testing.T) {
	const depth = maxStacks + 500
	x := &treeResult{By: byRegion, Roots: []string{"all"}}
	for i := range depth {
		x.Paths = append(x.Paths,
			calltree.Node{Parent: i - 1, Depth: i, Name: fmt.Sprint("f", i), Count: 1, Exclusive: trace.TicksOf(2)})
	}
	x.Paths = append(x.Paths, calltree.Node{Parent: 0, Depth: 1, Name: "g", Count: 1, Exclusive: trace.TicksOf(7)})
	var b bytes.Buffer
	if err := x.writeFolded(&b, trace.TicksPerSecond(1_000_000_000)); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != maxStacks+2 {
		t.Fatalf("found %d lines, expected one for each of %d paths, what is deeper, and the last one", len(lines), maxStacks)
	}
	names := strings.Split(lines[maxStacks], ";")
	if last := names[len(names)-1]; len(names) != maxStacks+1 || last != "[deeper calls] 1000" ||
		names[maxStacks-1] != fmt.Sprint("f", maxStacks-1) {
		t.Errorf("found %d calls, the last one %q", len(names), last)
	}
	if lines[0] != "f0 2" || lines[maxStacks+1] != "f0;g 7" {
		t.Errorf("found %q and %q, expected the paths that are not deep as they are", lines[0], lines[maxStacks+1])
	}

	p, err := x.pprofProfile(&trace.Definitions{Clock: trace.TicksPerSecond(1_000_000_000)})
	if err != nil {
		t.Fatal(err)
	}
	visits, time := int64(0), int64(0)
	for _, s := range p.Sample {
		visits, time = visits+s.Value[0], time+s.Value[1]
		if len(s.Location) > maxStacks+1 {
			t.Fatalf("found a sample of %d calls", len(s.Location))
		}
	}
	if visits != depth+1 || time != 2*depth+7 {
		t.Errorf("found %d visits of %d ns, expected %d of %d", visits, time, depth+1, 2*depth+7)
	}

	a := &app{out: &b}
	b.Reset()
	if err := a.writeTreeCSV(x, trace.TicksPerSecond(1)); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(b.String(), "\n"); !strings.Contains(lines[depth],
		fmt.Sprintf(",%d,f0;[%d calls];f%d,", depth-1, depth-2, depth-1)) {
		t.Errorf("the line of the deepest path is %.100q", lines[depth])
	}
}
