package diff

import (
	"cmp"
	"math"
	"slices"
)

// Result compares both sides, and returns the result. No runs must be added afterwards.
func (c *Comparison) Result() *Result {
	r := &Result{Clock: c.clock, Metric: c.opt.Metric, Change: c.opt.Change, Unit: c.unit, comparison: c,
		Regions: []Row{}, Paths: []Row{}}
	var time, runtime [2]float64
	for s := range c.sides {
		x := &c.sides[s]
		x.names = &c.names
		x.finish(c)
		if c.profiled {
			x.runtimes = x.longest
		}
		for _, i := range x.nodes {
			time[s] += i.exclusive
		}
		for _, t := range x.runtimes {
			runtime[s] += t / float64(len(x.runtimes))
		}
		r.Samples[s] = x.samples
	}
	r.Time, r.Runtime = changeOf(time[A], time[B]), changeOf(runtime[A], runtime[B])
	r.Least = c.opt.Least * time[A]
	exact := &exactU{}
	if c.unit == Runs {
		t := mannWhitney(slices.Clone(c.sides[A].runtimes), slices.Clone(c.sides[B].runtimes), exact)
		t.setShift(exact)
		adjustForManyTests([]*Test{t})
		r.RuntimeTest = t
	}
	x := align(c)
	r.paths = table{pairs: x.pairs(), times: func(s Side, i int32) *times { return &c.sides[s].nodes[i].times },
		key: func(s Side, i int32) int32 { return c.sides[s].nodes[i].key }, describe: r.setPath}
	r.regions = table{pairs: x.matchRegions(r.paths.pairs),
		times: func(s Side, k int32) *times { return c.sides[s].regions[k] },
		key:   func(_ Side, k int32) int32 { return k }, describe: r.setRegion}
	r.Paths, r.ComparedPaths = r.reportedRows(&r.paths, exact)
	r.Regions, r.ComparedRegions = r.reportedRows(&r.regions, exact)
	r.Repetitions = r.repetitions(x)
	return r
}

// table has all pairs of call paths, or all pairs of regions.
type table struct {
	pairs    []pair
	tests    []*Test // indexed by pair; nil for a pair without a test
	times    func(s Side, i int32) *times
	key      func(s Side, i int32) int32 // the region of an element of a side, as an index into names
	describe func(p pair, row *Row)      // sets the fields of a row that name it
}

// pairTimes returns the times of a pair on both sides.
func (t *table) pairTimes(p pair) (both [2]times) {
	for s, i := range p.sides {
		if i >= 0 {
			both[s] = *t.times(Side(s), i)
		}
	}
	return both
}

// isChosen reports whether Options.Regions chooses the region of a pair on either side.
func (c *Comparison) isChosen(t *table, p pair) bool {
	if c.opt.Regions == nil {
		return true
	}
	for s, i := range p.sides {
		if i < 0 {
			continue
		}
		k := t.key(Side(s), i)
		if c.opt.Regions(c.names.list[k].name, c.names.list[k].regionName(), c.sides[s].displayName(k)) {
			return true
		}
	}
	return false
}

// pairs returns all paths as pairs: the paths of B with their partners, outer paths first, then the paths of A
// without a partner.
func (al *alignment) pairs() (list []pair) {
	al.sides[B].walk(func(i int32) { list = append(list, pair{[2]int32{al.partner[B][i], i}}) })
	al.sides[A].walk(func(i int32) {
		if al.partner[A][i] < 0 {
			list = append(list, pair{[2]int32{i, -1}})
		}
	})
	return list
}

// matchRegions matches the regions of both sides: first by name, file and line; then by name; and then by
// the matched paths that end in them, those with the most time first.
func (al *alignment) matchRegions(paths []pair) []pair {
	var left [2][]int32
	var list []pair
	for k := range int32(len(al.names.list)) {
		a, b := al.sides[A].regions[k] != nil, al.sides[B].regions[k] != nil
		switch {
		case a && b:
			list = append(list, pair{[2]int32{k, k}})
		case a:
			left[A] = append(left[A], k)
		case b:
			left[B] = append(left[B], k)
		}
	}
	partner := map[int32]int32{} // indexed by key of a region of A
	taken := map[int32]bool{}
	byName := map[string][]int32{}
	for _, k := range left[B] {
		n := al.names.list[k].name
		byName[n] = append(byName[n], k)
	}
	for _, k := range left[A] {
		n := al.names.list[k].name
		if l := byName[n]; len(l) > 0 {
			partner[k], taken[l[0]], byName[n] = l[0], true, l[1:]
		}
	}
	type votes struct {
		pair
		time float64
	}
	var together []votes
	index := map[pair]int{}
	for _, p := range paths {
		if p.sides[A] < 0 || p.sides[B] < 0 {
			continue
		}
		k := pair{[2]int32{al.sides[A].nodes[p.sides[A]].key, al.sides[B].nodes[p.sides[B]].key}}
		if k.sides[A] == k.sides[B] {
			continue
		}
		i, ok := index[k]
		if !ok {
			i = len(together)
			index[k] = i
			together = append(together, votes{pair: k})
		}
		together[i].time += al.sides[A].nodes[p.sides[A]].exclusive + al.sides[B].nodes[p.sides[B]].exclusive
	}
	slices.SortStableFunc(together, func(p, q votes) int { return cmp.Compare(q.time, p.time) })
	for _, v := range together {
		a, b := v.sides[A], v.sides[B]
		if _, ok := partner[a]; !ok && !taken[b] && al.sides[B].regions[a] == nil && al.sides[A].regions[b] == nil {
			partner[a], taken[b] = b, true
		}
	}
	for _, k := range left[A] {
		b, ok := partner[k]
		if !ok {
			b = -1
		}
		list = append(list, pair{[2]int32{k, b}})
	}
	for _, k := range left[B] {
		if !taken[k] {
			list = append(list, pair{[2]int32{-1, k}})
		}
	}
	return list
}

// reportedRows returns the rows of a table whose difference is to be reported, sorted by class and
// difference, and the number of compared pairs. It sets the tests of the table.
func (r *Result) reportedRows(t *table, exact *exactU) (rows []Row, compared int) {
	rows = []Row{}
	var tests []*Test
	t.tests = make([]*Test, len(t.pairs))
	for i, p := range t.pairs {
		if !r.comparison.isChosen(t, p) {
			continue
		}
		compared++
		both := t.pairTimes(p)
		test := r.test(&both, exact)
		t.tests[i] = test
		row, reported := r.row(t, i)
		switch c := r.testedChange(&row); {
		case test == nil:
		case max(c.A, c.B)+c.rounding() >= r.Least:
			tests = append(tests, test)
		default:
			test.Q = 1 // whatever the difference is, the row is too small to be reported
		}
		if reported {
			t.describe(p, &row)
			if test != nil {
				test.setShift(exact)
			}
			rows = append(rows, row)
		}
		if test != nil {
			test.a, test.b = nil, nil
		}
	}
	adjustForManyTests(tests)
	slices.SortStableFunc(rows, func(a, b Row) int { return r.compareRows(&a, &b) })
	return rows, compared
}

// row returns the row of a pair of a table, without a name, and whether it is reported.
func (r *Result) row(t *table, i int) (row Row, reported bool) {
	both := t.pairTimes(t.pairs[i])
	per := func(x *times) float64 { return x.inclusive / max(1, x.visits) }
	row = Row{Exclusive: changeOf(both[A].exclusive, both[B].exclusive),
		Inclusive: changeOf(both[A].inclusive, both[B].inclusive), Visits: changeOf(both[A].visits, both[B].visits),
		PerVisit: changeOf(per(&both[A]), per(&both[B])), Test: t.tests[i]}
	return row, r.setKind(t.pairs[i], &row)
}

// compareRows compares reported rows: by class, then by difference, the largest first, then by name.
func (r *Result) compareRows(a, b *Row) int {
	return cmp.Or(cmp.Compare(rowClass(a), rowClass(b)),
		cmp.Compare(math.Abs(r.testedChange(b).Difference), math.Abs(r.testedChange(a).Difference)),
		slices.Compare(a.Path, b.Path), cmp.Compare(a.Region, b.Region))
}

// testedChange returns the change of the time by which rows are tested and ranked.
func (r *Result) testedChange(row *Row) *Change {
	if r.Metric == Inclusive {
		return &row.Inclusive
	}
	return &row.Exclusive
}

// rowClass returns the position of the group of a row in lists: first significant regressions, then
// significant improvements, then differences that are not significant.
func rowClass(row *Row) int {
	switch {
	case !row.Significant():
		return 2
	case row.Kind == Regression, row.Kind == Added:
		return 0
	}
	return 1
}

// setKind sets the kind of a row, and reports whether its difference reaches both thresholds.
func (r *Result) setKind(p pair, row *Row) bool {
	c := r.testedChange(row)
	switch {
	case p.sides[A] < 0:
		row.Kind = Added
	case p.sides[B] < 0:
		row.Kind = Removed
	case c.Difference > 0:
		row.Kind = Regression
	case c.Difference < 0:
		row.Kind = Improvement
	case row.Visits.Difference != 0:
		row.Kind = Visited
	default:
		row.Kind = Equal
		return false
	}
	d := math.Abs(c.Difference) + c.rounding()
	return d >= r.Least && (c.Ratio == nil || d >= r.Change*c.A)
}

// test compares the observations of both sides of a row. It returns nil if there are too few.
func (r *Result) test(both *[2]times, exact *exactU) *Test {
	var values [2][]float64
	switch r.Unit {
	case Locations:
		values = pairedTimes(both, min(r.Samples[A], r.Samples[B]))
	case Iterations:
		if len(both[A].samples)+len(both[B].samples) == 0 {
			return nil // the row is outside of the loop
		}
		fallthrough
	default:
		for s := range values {
			values[s] = make([]float64, r.Samples[s])
			for _, x := range both[s].samples {
				values[s][x.unit] = x.time
			}
		}
	}
	if min(len(values[A]), len(values[B])) < LeastSample {
		return nil
	}
	return mannWhitney(values[A], values[B], exact)
}

// pairedTimes returns the times of a row at the first n locations of both sides. It leaves out the locations
// at which the row occurs on neither side.
func pairedTimes(both *[2]times, n int) (values [2][]float64) {
	a, b := both[A].samples, both[B].samples
	for len(a)+len(b) > 0 {
		unit := int32(math.MaxInt32)
		if len(a) > 0 {
			unit = a[0].unit
		}
		if len(b) > 0 {
			unit = min(unit, b[0].unit)
		}
		if int(unit) >= n {
			break
		}
		take := func(list *[]sample) float64 {
			l := *list
			if len(l) == 0 || l[0].unit != unit {
				return 0
			}
			*list = l[1:]
			return l[0].time
		}
		values[A], values[B] = append(values[A], take(&a)), append(values[B], take(&b))
	}
	return values
}

// setPath sets the fields of a row that name a path.
func (r *Result) setPath(p pair, row *Row) {
	c := r.comparison
	s, i := p.shown()
	x := &c.sides[s]
	n := c.names.list[x.nodes[i].key]
	row.Region, row.File, row.Line, row.Path = x.displayName(x.nodes[i].key), n.file, n.line, x.path(i)
	if p.sides[A] < 0 || p.sides[B] < 0 {
		return
	}
	if !c.sameNames(p.sides[A], p.sides[B]) {
		row.FormerPath = c.sides[A].path(p.sides[A])
	}
}

// sameNames reports whether two paths of A and B have the same length and the same names in the
// last maxPathNames regions.
func (c *Comparison) sameNames(a, b int32) bool {
	if c.sides[A].nodes[a].depth != c.sides[B].nodes[b].depth {
		return false
	}
	for range maxPathNames {
		if a < 0 {
			break
		}
		x, y := &c.sides[A].nodes[a], &c.sides[B].nodes[b]
		if c.names.list[x.key].name != c.names.list[y.key].name {
			return false
		}
		a, b = x.parent, y.parent
	}
	return true
}

// setRegion sets the fields of a row that name a region.
func (r *Result) setRegion(p pair, row *Row) {
	c := r.comparison
	s, i := p.shown()
	n := c.names.list[i]
	row.Region, row.File, row.Line = c.sides[s].displayName(i), n.file, n.line
	if a, b := p.sides[A], p.sides[B]; a >= 0 && b >= 0 && c.names.list[a].name != c.names.list[b].name {
		row.FormerPath = []string{c.sides[A].displayName(a)}
	}
}

// Stacks calls f for each call path of both sides, whether the path is reported or not. f gets the
// exclusive time of the path on each side, in ticks. A matched path has the names of side B. The times
// of paths with more than deepest names are summed for their first deepest names, and passed to f last,
// with deeper set. Stacks returns the first error of f.
func (r *Result) Stacks(deepest int, f func(path []string, deeper bool, a, b float64) error) error {
	c := r.comparison // for each side and path, the path itself or the enclosing one with the deepest names
	// indexed by side and path: the path itself or, for a deeper path, the path around it with deepest names
	var around [2][]int32
	for s := range c.sides {
		nodes := c.sides[s].nodes
		around[s] = make([]int32, len(nodes))
		for i := range nodes {
			if around[s][i] = int32(i); int(nodes[i].depth) >= deepest {
				around[s][i] = around[s][nodes[i].parent] // a parent has a lower index than its children
			}
		}
	}
	type place struct {
		side Side
		path int32
	}
	deeper := map[place]*[2]float64{}
	var order []place
	names := func(at place) []string {
		nodes := c.sides[at.side].nodes
		list := make([]string, nodes[at.path].depth+1)
		for i, n := at.path, len(list)-1; n >= 0; i, n = nodes[i].parent, n-1 {
			list[n] = c.sides[at.side].displayName(nodes[i].key)
		}
		return list
	}
	for _, p := range r.paths.pairs {
		var at place
		at.side, at.path = p.shown()
		var t [2]float64
		for s, i := range p.sides {
			if i >= 0 {
				t[s] = c.sides[s].nodes[i].exclusive
			}
		}
		if i := around[at.side][at.path]; i != at.path {
			at.path = i
			if deeper[at] == nil {
				deeper[at] = &[2]float64{}
				order = append(order, at)
			}
			deeper[at][A] += t[A]
			deeper[at][B] += t[B]
			continue
		}
		if err := f(names(at), false, t[A], t[B]); err != nil {
			return err
		}
	}
	for _, at := range order {
		if err := f(names(at), true, deeper[at][A], deeper[at][B]); err != nil {
			return err
		}
	}
	return nil
}
