package synclog

import (
	"cmp"
	"slices"

	"github.com/weft-trace/weft/trace"
)

// joinPaths merges the paths of all workers to one list, and sets the places of each worker. The order of the
// list does not depend on how locations are distributed over workers.
//
// The outermost parallel region of a thread that is not the first one of its process has the path of this region in the
// first thread, whatever regions the thread has around it. If there are several such paths, it has the first of them.
// With OMPT, the first thread executes the whole program in an implicit task, whose region is that of the parallel
// implicit tasks; the path of such a task counts only if it is in another parallel region.
func joinPaths(d *trace.Definitions, workers []*worker) []Path {
	type edge struct {
		parent int32
		region uint32
	}
	var nodes []edge
	index := map[edge]int32{}
	numbers := make([][]int32, len(workers))
	for i, w := range workers {
		numbers[i] = make([]int32, len(w.nodes))
		for j, n := range w.nodes {
			e := edge(n)
			if e.parent >= 0 {
				e.parent = numbers[i][e.parent] // a parent has a lower index than its children
			}
			at, ok := index[e]
			if !ok {
				at = int32(len(nodes))
				index[e] = at
				nodes = append(nodes, e)
			}
			numbers[i][j] = at
		}
	}
	// order holds the nodes, sorted by their parents and regions. The nodes of a parent begin at
	// start[parent+2].
	start := make([]int32, len(nodes)+3)
	for _, e := range nodes {
		start[e.parent+2]++
	}
	for i := range nodes {
		start[i+1] += start[i]
	}
	start[len(nodes)+1], start[len(nodes)+2] = int32(len(nodes)), int32(len(nodes))
	order := make([]int32, len(nodes))
	for i, e := range slices.Backward(nodes) {
		start[e.parent+2]--
		order[start[e.parent+2]] = int32(i)
	}
	below := func(parent int32) []int32 { return order[start[parent+2]:start[parent+3]] }
	for parent := range int32(len(nodes) + 2) {
		slices.SortFunc(below(parent-2), func(a, b int32) int { return cmp.Compare(nodes[a].region, nodes[b].region) })
	}
	var paths []Path
	place := make([]uint32, len(nodes))
	joined := map[Path]uint32{}       // set only if there are paths of other threads
	first := map[uint32]uint32{}      // indexed by region row: the path of the row in first threads; set only with joined
	threads := below(outermostThread) // outermost regions of threads that are not the first one of their process
	type step struct {
		node     int32
		parent   uint32
		parallel bool // the node is in a parallel region
	}
	initial := map[uint32]bool{} // indexed by region row: whether the path in first is that of an initial task
	walk := func(root int32) {
		var wait []step
		push := func(node int32, parent uint32, parallel bool) {
			for _, c := range slices.Backward(below(node)) {
				wait = append(wait, step{c, parent, parallel})
			}
		}
		push(root, NoPath, false)
		for len(wait) > 0 {
			s := wait[len(wait)-1]
			wait = wait[:len(wait)-1]
			region := nodes[s.node].region
			parallel := s.parallel || len(threads) > 0 && d.RoleOf(region) == trace.ForkRole
			p, at := Path{s.parent, region}, uint32(len(paths))
			if len(threads) == 0 { // all paths differ
				paths = append(paths, p)
			} else {
				fork, ok := first[region]
				if root == outermostThread && ok && parallel && !s.parallel {
					p = paths[fork]
				}
				if other, ok := joined[p]; ok {
					at = other
				} else {
					joined[p] = at
					paths = append(paths, p)
				}
				if !ok || initial[region] && s.parallel {
					first[region], initial[region] = at, !s.parallel && d.IsImplicitTask(region)
				}
			}
			place[s.node] = at
			push(s.node, at, parallel)
		}
	}
	walk(outermost)
	walk(outermostThread)
	for i, w := range workers {
		w.places = make([]uint32, len(w.nodes))
		for j, n := range numbers[i] {
			w.places[j] = place[n]
		}
	}
	return paths
}
