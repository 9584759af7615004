package cli

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/google/pprof/profile"
	"github.com/weft-trace/weft/analysis"
	"github.com/weft-trace/weft/analysis/calltree"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// treeResult is the JSON of weft profile --tree (docs/json/profile.md).
type treeResult struct {
	heading
	bounds
	By string `json:"by"`
	// by number of the tree: name of its location or group
	Roots []string        `json:"roots"`
	Paths []calltree.Node `json:"paths"`
}

// hasSeveralTrees reports whether there is a tree for each location or group.
func (tr *treeResult) hasSeveralTrees() bool { return tr.By == byLocation || tr.By == byGroup }

// callTreeRoots returns two functions. The first returns the number of the tree with the call paths of a
// location, and the second the name of a tree.
func callTreeRoots(d *trace.Definitions, by string) (root func(uint32) uint32, names func() []string) {
	switch by {
	case byLocation:
		return func(loc uint32) uint32 { return loc }, func() []string {
			return d.FullNames()
		}
	case byGroup:
		return func(loc uint32) uint32 { return d.Locations.At(loc).Group + 1 }, func() []string {
			l := []string{"(no group)"}
			for _, g := range d.Groups.All() {
				l = append(l, cmp.Or(g.Name, g.ID))
			}
			return l
		}
	}
	return nil, func() []string { return []string{"all locations"} }
}

// treeOptions holds the flags for call paths.
type treeOptions struct {
	by, sort                string
	json, csv, tree, folded bool
	pprof                   string
	least                   float64
}

// printPaths prints call paths and writes the files that the flags name.
func (a *app) printPaths(x *treeResult, in *input, r *inputFlags, o *treeOptions) error {
	if !o.json {
		x.nameRegions(in.Defs())
	}
	if (o.pprof != "" || o.folded) && !r.quiet {
		a.noteDeeperCalls(x)
	}
	if o.pprof != "" {
		p, err := x.pprofProfile(in.Defs())
		var out *format.Output
		if err == nil {
			out, err = a.createOutput(o.pprof) // pprof compresses its files, whatever their names
		}
		if err == nil {
			err = writeTo(out, p.Write)
		}
		if err != nil {
			r.quiet = true
			return err
		}
	}
	switch clock := in.Defs().Clock; {
	case o.folded:
		return x.writeFolded(a.out, clock)
	case !o.tree:
	case o.json:
		return a.writeJSON(a.out, x)
	case o.csv:
		return a.writeTreeCSV(x, clock)
	default:
		a.printTree(x, clock, o.least)
	}
	return nil
}

// nameRegions changes the names of the paths' regions to the names used in text.
func (tr *treeResult) nameRegions(d *trace.Definitions) {
	name := regionNames(d, tr.By)
	for i := range tr.Paths {
		tr.Paths[i].Name = name(tr.Paths[i].Region, tr.Paths[i].Name)
	}
}

// computeCallTree computes the call paths of a trace with parallel scans.
func (a *app) computeCallTree(ctx context.Context, in *input, s *selectionFlags, rows *trace.Rows,
	by, sortBy string) (*treeResult, error) {
	if len(s.regions) > 0 {
		return nil, usageError("--region: expected none with --tree, --folded and --pprof; weft filter --region leaves " +
			"regions away")
	}
	sel, err := s.selection(ctx, in)
	if err != nil {
		return nil, err
	}
	d := in.Defs()
	x := &treeResult{heading: in.heading(), By: by}
	opt := calltree.Options{Rows: rows}
	x.bounds, opt.Window = s.selectedBounds(sel)
	var names func() []string
	opt.Root, names = callTreeRoots(d, by)
	// The regions that are open depend on events before the window.
	all, err := analysis.Run(ctx, in.Events, sel.Surrounding(), func() *calltree.Part { return calltree.New(d, opt) })
	if err != nil {
		return nil, err
	}
	if x.Paths, x.Roots = sortPaths(all.Result(), sortBy), names(); len(x.Paths) == 0 {
		in.notFound = "no region was open"
	}
	return x, nil
}

// printTree prints the paths that have at least the percentage least of the time of their tree.
func (a *app) printTree(x *treeResult, clock trace.Clock, least float64) {
	if len(x.Paths) == 0 {
		return
	}
	t := newTable(a.out)
	t.AppendHeader(table.Row{"inclusive", "%", "exclusive", "count", "mean", "call path"})
	total := map[uint32]trace.Ticks{}
	for _, n := range x.Paths {
		if n.Depth == 0 {
			total[n.Root] = total[n.Root].Plus(n.Inclusive)
		}
	}
	shown, root := 0, uint32(0)
	for i, n := range x.Paths {
		if x.hasSeveralTrees() && (i == 0 || n.Root != root) {
			t.AppendRow(table.Row{clock.FormatSum(total[n.Root]), "", "", "", "", "[" + x.Roots[n.Root] + "]"})
		}
		root = n.Root
		part := 0.0
		if all := total[root].Float(); all > 0 {
			part = n.Inclusive.Float() / all * 100
		}
		if part < least {
			continue
		}
		shown++
		t.AppendRow(table.Row{clock.FormatSum(n.Inclusive), fmt.Sprintf("%.1f", part), clock.FormatSum(n.Exclusive), n.Count,
			meanText(clock, n.Inclusive, n.Count), strings.Repeat("  ", min(n.Depth, 40)) + n.Name})
	}
	t.Render()
	if rest := len(x.Paths) - shown; rest > 0 {
		fmt.Fprintf(a.out, "  … and %s below %g %% (--least 0 lists all)\n", plural.Of(rest, "path"), least)
	}
}

// writeTreeCSV writes a line for each path.
func (a *app) writeTreeCSV(x *treeResult, c trace.Clock) error {
	head := []string{"tree", "depth", "path", "count", "inclusive", "exclusive", "min", "mean", "max"}
	return printCSV(a.out, head, func(write func(...string)) {
		var path []*calltree.Node
		for i := range x.Paths {
			n := &x.Paths[i]
			path = append(path[:n.Depth], n)
			stack := path
			if len(path) > maxStacks {
				stack = []*calltree.Node{path[0], {Name: fmt.Sprintf("[%s]", plural.Of(len(path)-2, "call"))}, n}
			}
			write(x.Roots[n.Root], strconv.Itoa(n.Depth), strings.Join(stackNames(stack), ";"),
				strconv.FormatInt(n.Count, 10), c.FormatSumSeconds(n.Inclusive), c.FormatSumSeconds(n.Exclusive),
				c.FormatSeconds(n.Min), exactMean(c, n.Inclusive, n.Count), c.FormatSeconds(n.Max))
		}
	})
}

// maxStacks is the greatest depth of calls whose stacks are written separately. The stacks of deeper
// recursions would contain too many names.
const maxStacks = 1000

// deeperCalls is the name that replaces all deeper calls in a stack.
const deeperCalls = "[deeper calls]"

// stacks calls f for each path, with its calls (outermost first), its visits and its exclusive time.
// For all paths deeper than maxStacks together it calls f once, with the path that contains them.
func (tr *treeResult) stacks(
	f func(path []*calltree.Node, deeper bool, count int64, exclusive trace.Ticks) error) error {
	var path []*calltree.Node
	var count int64 // visits of deeper paths
	var exclusive trace.Ticks
	rest := func() error {
		n, t := count, exclusive
		if count, exclusive = 0, (trace.Ticks{}); n == 0 {
			return nil
		}
		return f(path, true, n, t)
	}
	for i := range tr.Paths {
		n := &tr.Paths[i]
		if n.Depth >= maxStacks {
			path = path[:maxStacks]
			count, exclusive = count+n.Count, exclusive.Plus(n.Exclusive)
			continue
		}
		if err := rest(); err != nil {
			return err
		}
		path = append(path[:n.Depth], n)
		if err := f(path, false, n.Count, n.Exclusive); err != nil {
			return err
		}
	}
	return rest()
}

// stackNames returns the names of the calls of a path, without the characters that separate calls in a
// line.
func stackNames(path []*calltree.Node) []string {
	list := make([]string, len(path))
	for i, n := range path {
		list[i] = strings.ReplaceAll(n.Name, ";", ":")
	}
	return list
}

// noteDeeperCalls prints the number of paths that are too deep to have separate stacks.
func (a *app) noteDeeperCalls(x *treeResult) {
	n := 0
	for i := range x.Paths {
		if x.Paths[i].Depth >= maxStacks {
			n++
		}
	}
	if n > 0 {
		fmt.Fprintf(a.err, "%s of more than %d calls within each other summed up as %s\n", plural.Of(n, "path"),
			maxStacks, deeperCalls)
	}
}

// writeFolded writes the input of flame graph tools: a line for each path, "main;solve;MPI_Send 1234",
// with its exclusive time in nanoseconds.
func (tr *treeResult) writeFolded(w io.Writer, c trace.Clock) error {
	b := bufio.NewWriter(w)
	err := tr.stacks(func(path []*calltree.Node, deeper bool, _ int64, exclusive trace.Ticks) error {
		if exclusive == (trace.Ticks{}) {
			return nil
		}
		ns := c.RescaleSum(exclusive, trace.TicksPerSecond(1_000_000_000))
		if tr.hasSeveralTrees() {
			b.WriteString(plain(strings.ReplaceAll(tr.Roots[path[0].Root], ";", ":")) + ";")
		}
		list := stackNames(path)
		if deeper {
			list = append(list, deeperCalls)
		}
		return printf(b, "%s %d\n", strings.Join(list, ";"), ns)
	})
	if err != nil {
		return err
	}
	return b.Flush()
}

// pprofProfile returns the profile for go tool pprof: visits, and exclusive times in nanoseconds.
func (tr *treeResult) pprofProfile(d *trace.Definitions) (*profile.Profile, error) {
	p := &profile.Profile{
		SampleType:        []*profile.ValueType{{Type: "visits", Unit: "count"}, {Type: "time", Unit: "nanoseconds"}},
		DefaultSampleType: "time",
		Comments:          []string{"made by weft of " + tr.Path},
	}
	places := map[uint32]*profile.Location{}
	place := func(n *calltree.Node) *profile.Location {
		l := places[n.Region]
		if l == nil {
			f := &profile.Function{ID: uint64(len(p.Function) + 1), Name: n.Name}
			line := int64(0)
			if d.Regions.Has(n.Region) {
				r := d.Regions.At(n.Region)
				f.Filename, f.StartLine, line = r.File, r.Line, r.Line
			}
			p.Function = append(p.Function, f)
			l = &profile.Location{ID: uint64(len(p.Location) + 1), Line: []profile.Line{{Function: f, Line: line}}}
			p.Location = append(p.Location, l)
			places[n.Region] = l
		}
		return l
	}
	rest := &calltree.Node{Region: trace.NoRef - 1, Name: deeperCalls}
	err := tr.stacks(func(path []*calltree.Node, deeper bool, count int64, exclusive trace.Ticks) error {
		ns := d.Clock.RescaleSum(exclusive, trace.TicksPerSecond(1_000_000_000))
		if !ns.IsInt64() {
			return fmt.Errorf("--pprof: found %d ns in %s, expected less than 2^63 for pprof; --folded writes them",
				ns, plain(path[len(path)-1].Name))
		}
		s := &profile.Sample{Value: []int64{count, ns.Int64()}}
		if deeper {
			s.Location = append(s.Location, place(rest))
		}
		for _, n := range slices.Backward(path) { // the innermost call first
			s.Location = append(s.Location, place(n))
		}
		if tr.hasSeveralTrees() {
			s.Label = map[string][]string{tr.By: {tr.Roots[path[0].Root]}}
		}
		p.Sample = append(p.Sample, s)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return p, p.CheckValid()
}
