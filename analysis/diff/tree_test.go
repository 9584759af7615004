package diff_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weft-trace/weft/analysis/diff"
)

// treeLines returns each path of a tree as "parent kind name (was path) reported subtree a>b".
func treeLines(x *diff.Tree) (list []string) {
	for i := range x.Paths {
		p := &x.Paths[i]
		name := p.Name
		if p.FormerPath != nil {
			name += " was " + strings.Join(p.FormerPath, ";")
		}
		list = append(list, fmt.Sprintf("%d %s %s %t %g>%g", p.Parent, p.Kind, name, p.Reported, p.Subtree.A, p.Subtree.B))
	}
	return list
}

// TestTree checks the tree and the regions of the example in docs/analyses/diff.md. main has 300 and 330 ticks.
func TestTree(t *testing.T) {
	a := run("main:10[init:20 solve:100[send:10] solve:100[send:10] io:50]")
	b := run("main:10[init:20 calc:120[send:10] calc:130[send:10] check:30 ]")
	r := compare(t, diff.Options{Least: 0.001, Change: 0.02}, one(a), one(b))
	all := []string{
		"-1 equal main false 300>330",
		"0 regression calc was main;solve true 220>270",
		"0 removed io true 50>0",
		"0 equal init false 20>20",
		"1 equal send false 20>20", // inside of main;calc, which explains its other place
		"0 added check true 0>30",
	}
	x := r.Tree(10, 10)
	check(t, "tree", treeLines(x), all...)
	if x.Left != 0 || x.LeftTime.A != 0 {
		t.Errorf("found %+v, expected that nothing is left out", x)
	}
	x = r.Tree(3, 10)
	check(t, "largest paths", treeLines(x), all[:3]...)
	// init, send and check have 20 + 20 and 20 + 20 + 30 ticks
	if x.Left != 3 || x.LeftReported != 1 || x.LeftTime.A != 40 || x.LeftTime.B != 70 {
		t.Errorf("found %d paths, %d reported, %v, expected 3, 1, 40 and 70", x.Left, x.LeftReported, x.LeftTime)
	}
	check(t, "outermost paths", treeLines(r.Tree(10, 1)), all[:1]...)
	var regions []string
	for _, e := range r.Entries() {
		regions = append(regions, fmt.Sprintf("%s %s %t %g>%g", e.Kind, e.Name, e.Reported, e.Exclusive.A, e.Exclusive.B))
	}
	check(t, "regions", regions, "regression calc true 200>250", "added check true 0>30", "removed io true 50>0",
		"equal init false 20>20", "equal send false 20>20", "equal main false 10>10")
}

// TestMovedInTree checks that a path that moved into a new function is inside of it, and that the paths
// inside of it are not named as moved.
func TestMovedInTree(t *testing.T) {
	a := run("main:10[solve:100[send:10 wait:10]]")
	b := run("main:10[step:5[solve:100[send:10 wait:10]]]")
	r := compare(t, diff.Options{}, one(a), one(b))
	check(t, "tree", treeLines(r.Tree(10, 10)),
		"-1 equal main false 130>135",
		"0 added step true 120>125",
		"1 equal solve was main;solve false 120>120",
		"2 equal send false 10>10",
		"2 equal wait false 10>10")
}
