// Package cube writes and reads Cube 4 files (.cubex). A cube is the profile of a program; CubeGUI, the tools
// of Cube, and other programs of performance analysis read such files.
//
// A cube has three trees: metrics, call paths, and the system with its machines, processes and threads. A
// metric has a value for each call path at each location. A file is a tar archive. Its member anchor.xml holds
// the trees. The members N.index and N.data hold the values of the metric with the id N, for all call paths or
// only for those that have values other than 0.
//
// Trees are lists here. The field Parent of an entry is the index of the entry above it in the tree. The
// parent must come earlier in the list. Parent is −1 for an entry at the top.
package cube

import (
	"fmt"
	"slices"

	"github.com/weft-trace/weft/internal/plural"
)

// Cube is a profile: the trees and the values of the metrics.
type Cube struct {
	Attributes []Attribute
	Metrics    []Metric
	Regions    []Region
	Paths      []Path
	Nodes      []Node // parts of the system tree above processes: machines and their parts
	Groups     []Group
	Locations  []Location
}

// Attribute is a named property of the cube as a whole.
type Attribute struct{ Key, Value string }

// The kinds of metrics that have values of their own.
const (
	Exclusive = "EXCLUSIVE" // the value of a call path does not include the values of the paths below it
	Inclusive = "INCLUSIVE" // the value of a call path includes the values of the paths below it
)

// Types of values that weft writes. [Metric.HasValues] accepts further types.
const (
	Double = "DOUBLE"
	Uint64 = "UINT64"
)

// Metric is a quantity that is measured, such as time. Its values are part of the values of its parent.
type Metric struct {
	Parent      int
	Kind        string // Exclusive, Inclusive, or the kind of a derived metric
	Name        string // unique in the cube
	Title       string // name for display
	Unit        string // "sec", "occ", "bytes"
	Type        string // type of the values
	URL         string
	Description string
	// Values holds the values, indexed by call path and then by location. Lists may be shorter than
	// the numbers of paths and locations; values beyond their end are 0. Integers up to 2^53 are
	// exact.
	Values [][]float64
}

// Region is a function or another piece of code that call paths contain.
type Region struct {
	Name, Mangled  string
	Paradigm, Role string
	File           string
	Begin, End     int // first and last line; -1 if unknown
	Description    string
}

// Path is a call path: its last region, and the call path around that region.
type Path struct {
	Parent int
	Region int // index into Cube.Regions
}

// Node is a part of the system that contains processes.
type Node struct {
	Parent      int
	Name, Class string // Class is the kind of the node, such as "machine" or "node"
}

// Group is a process, or another group of locations.
type Group struct {
	Node int // index into Cube.Nodes
	Name string
	Rank int
	Type string // "process", "accelerator", "metrics"
}

// Location is a thread, or another source of values.
type Location struct {
	Group int // index into Cube.Groups
	Name  string
	Rank  int    // number of the location in its group
	Type  string // "thread", "accelerator stream", "gpu", "metric"
}

// HasValues reports whether the metric has values of its own of a type that this package can read: numbers of
// 8 to 64 bits. Other metrics are derived from such metrics, or have records as values.
func (m *Metric) HasValues() bool {
	_, ok := types[m.Type]
	return ok && (m.Kind == Exclusive || m.Kind == Inclusive)
}

// At returns the value of a call path at a location, both given by their indexes in the cube. The value is 0
// if Values does not contain it.
func (m *Metric) At(path, location int) float64 {
	if path >= len(m.Values) || location >= len(m.Values[path]) {
		return 0
	}
	return m.Values[path][location]
}

// Add adds v to the value of a call path at a location. It enlarges Values as needed.
func (m *Metric) Add(path, location int, v float64) {
	if n := path + 1 - len(m.Values); n > 0 {
		m.Values = append(m.Values, make([][]float64, n)...)
	}
	if n := location + 1 - len(m.Values[path]); n > 0 {
		m.Values[path] = append(m.Values[path], make([]float64, n)...)
	}
	m.Values[path][location] += v
}

// Metric returns the metric with the given unique name, or nil.
func (c *Cube) Metric(name string) *Metric {
	if i := slices.IndexFunc(c.Metrics, func(m Metric) bool { return m.Name == name }); i >= 0 {
		return &c.Metrics[i]
	}
	return nil
}

// PathNames returns the names of the regions on a call path, with the outermost region first.
func (c *Cube) PathNames(path int) []string {
	var names []string
	for ; path >= 0; path = c.Paths[path].Parent {
		names = append(names, c.Regions[c.Paths[path].Region].Name)
	}
	slices.Reverse(names)
	return names
}

// valueType describes how the values of a metric are stored: the size of a value in bytes, and whether it is a
// floating-point number, a signed integer or an unsigned integer.
type valueType struct {
	size          int
	float, signed bool
}

var types = func() map[string]valueType {
	t := map[string]valueType{"CHAR": {size: 1}}
	for _, name := range []string{Double, "FLOAT", "MINDOUBLE", "MAXDOUBLE"} {
		t[name] = valueType{size: 8, float: true}
	}
	for size, names := range map[int][]string{1: {"INT8"}, 2: {"INT16", "SHORT INT"}, 4: {"INT32", "INT"},
		8: {"INT64", "INTEGER"}} {
		for _, name := range names {
			t[name] = valueType{size: size, signed: true}
		}
	}
	for size, names := range map[int][]string{1: {"UINT8"}, 2: {"UINT16", "UNSIGNED SHORT INT"},
		4: {"UINT32", "UNSIGNED INT"}, 8: {Uint64, "UNSIGNED INTEGER"}} {
		for _, name := range names {
			t[name] = valueType{size: size}
		}
	}
	for _, name := range []string{"SHORT INT", "INT", "INTEGER"} {
		t["SIGNED "+name] = t[name]
	}
	return t
}()

// check returns an error if a parent of an entry does not precede it in its list, or an index of
// another list is out of range.
func (c *Cube) check() error {
	tree := func(what string, i, parent int) error {
		if parent < -1 || parent >= i {
			return fmt.Errorf("cube: found parent %d of %s %d, expected one before it, or -1", parent, what, i)
		}
		return nil
	}
	within := func(what string, i int, table string, ref, n int) error {
		if ref < 0 || ref >= n {
			return fmt.Errorf("cube: found %s %d of %s %d, expected 0 to %d", table, ref, what, i, n-1)
		}
		return nil
	}
	for i, m := range c.Metrics {
		if err := tree("metric", i, m.Parent); err != nil {
			return err
		}
		if len(m.Values) > len(c.Paths) {
			return fmt.Errorf("cube: found values of %s in %s, expected up to %d", plural.Of(len(m.Values), "call path"), m.Name,
				len(c.Paths))
		}
		for _, row := range m.Values {
			if len(row) > len(c.Locations) {
				return fmt.Errorf("cube: found values of %s in %s, expected up to %d", plural.Of(len(row), "location"), m.Name,
					len(c.Locations))
			}
		}
		if m.Values != nil && !m.HasValues() {
			return fmt.Errorf("cube: found values in %s, expected none in a metric of kind %q and type %q", m.Name, m.Kind,
				m.Type)
		}
	}
	for i, p := range c.Paths {
		if err := tree("call path", i, p.Parent); err != nil {
			return err
		}
		if err := within("call path", i, "region", p.Region, len(c.Regions)); err != nil {
			return err
		}
	}
	for i, n := range c.Nodes {
		if err := tree("node", i, n.Parent); err != nil {
			return err
		}
	}
	for i, g := range c.Groups {
		if err := within("group", i, "node", g.Node, len(c.Nodes)); err != nil {
			return err
		}
	}
	for i, l := range c.Locations {
		if err := within("location", i, "group", l.Group, len(c.Groups)); err != nil {
			return err
		}
	}
	return nil
}

// walk walks a tree of n entries depth-first. It visits the children of an entry in the order of the list. It
// returns the entries in the order of the walk, and the number of entries above each of them.
func walk(n int, parent func(i int) int) (order, depths []int) {
	below := make([][]int, n+1)
	for i := range n {
		below[parent(i)+1] = append(below[parent(i)+1], i)
	}
	type step struct{ i, depth int }
	var wait []step
	push := func(i, depth int) {
		for _, c := range slices.Backward(below[i+1]) {
			wait = append(wait, step{c, depth})
		}
	}
	push(-1, 0)
	for len(wait) > 0 {
		s := wait[len(wait)-1]
		wait = wait[:len(wait)-1]
		order, depths = append(order, s.i), append(depths, s.depth)
		push(s.i, s.depth+1)
	}
	return order, depths
}

// inclusiveOrder returns the call paths in the order in which files store the values of inclusive metrics. For
// each tree, first comes the root. Then a depth-first walk appends all children of each path that it visits.
func inclusiveOrder(paths []Path) []int {
	below := make([][]int, len(paths)+1)
	for i, p := range paths {
		below[p.Parent+1] = append(below[p.Parent+1], i)
	}
	out := make([]int, 0, len(paths))
	for _, root := range below[0] {
		out = append(out, root)
		for wait := []int{root}; len(wait) > 0; {
			i := wait[len(wait)-1]
			wait = wait[:len(wait)-1]
			out = append(out, below[i+1]...)
			for _, c := range slices.Backward(below[i+1]) {
				wait = append(wait, c)
			}
		}
	}
	return out
}
