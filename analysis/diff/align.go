package diff

import (
	"cmp"
	"slices"
)

// pair holds two paths, or two regions, that are compared. For each side, it has the index of the path or the
// key of the region, or -1 if the side has no partner.
type pair struct{ sides [2]int32 }

// shown returns the element of a pair that results describe: the element of side B or, if B has no partner,
// the element of side A.
func (p pair) shown() (Side, int32) {
	if p.sides[B] < 0 {
		return A, p.sides[A]
	}
	return B, p.sides[B]
}

// The limits of the search for renamed and moved paths.
const (
	// minSimilarity is the least similarity of two paths that are matched although one of them was renamed or
	// moved. minLeafSimilarity applies instead if the names of the paths differ and neither path contains
	// other paths.
	minSimilarity, minLeafSimilarity = 0.5, 0.8
	// maxExamined is the greatest number of paths that the search examines.
	maxExamined = 1 << 20
)

// alignment matches the paths of both sides.
type alignment struct {
	sides      *[2]side
	names      *names
	partner    [2][]int32 // indexed by side and path: its partner on the other side, or -1
	pending    []pair     // matched paths whose inner paths are not matched so far
	mayExamine int        // number of paths that the search may still examine
}

// align matches the paths of both sides, and returns the alignment.
func align(c *Comparison) *alignment {
	x := &alignment{sides: &c.sides, names: &c.names, mayExamine: maxExamined}
	for s := range c.sides {
		x.partner[s] = make([]int32, len(c.sides[s].nodes))
		for i := range x.partner[s] {
			x.partner[s][i] = -1
		}
	}
	x.pending = append(x.pending, pair{[2]int32{-1, -1}})
	x.descend()
	x.matchMoved()
	return x
}

// match makes path a of side A and path b of side B partners.
func (al *alignment) match(a, b int32) {
	al.partner[A][a], al.partner[B][b] = b, a
	al.pending = append(al.pending, pair{[2]int32{a, b}})
}

// descend matches the paths directly inside of matched paths. The pending pairs are in a list instead of on
// the call stack, because recursive programs make very deep paths.
func (al *alignment) descend() {
	for len(al.pending) > 0 {
		p := al.pending[len(al.pending)-1]
		al.pending = al.pending[:len(al.pending)-1]
		al.matchSiblings(al.unmatched(A, al.sides[A].children(p.sides[A])), al.unmatched(B, al.sides[B].children(p.sides[B])))
	}
}

// unmatched returns the paths of a list that have no partner.
func (al *alignment) unmatched(s Side, list []int32) (out []int32) {
	for _, i := range list {
		if al.partner[s][i] < 0 {
			out = append(out, i)
		}
	}
	return out
}

// name returns the name of the last region of a path.
func (al *alignment) name(s Side, i int32) name { return al.names.list[al.sides[s].nodes[i].key] }

// matchSiblings matches the paths directly inside of two matched paths. It first matches paths with the
// same name, file and line; then paths with the same name, in their order; and then, between paths
// matched in the same order on both sides, the most similar ones.
func (al *alignment) matchSiblings(as, bs []int32) {
	if len(as) == 0 || len(bs) == 0 {
		return
	}
	if len(as) == 1 && len(bs) == 1 && al.sides[A].nodes[as[0]].key == al.sides[B].nodes[bs[0]].key {
		al.match(as[0], bs[0])
		return
	}
	partner := make([]int, len(as)) // index in bs
	byKey := map[int32]int{}
	for j, b := range bs {
		byKey[al.sides[B].nodes[b].key] = j
	}
	taken := make([]bool, len(bs))
	for i, a := range as {
		j, ok := byKey[al.sides[A].nodes[a].key]
		if partner[i] = -1; ok {
			partner[i], taken[j] = j, true
		}
	}
	byName := map[string][]int{}
	for j, b := range bs {
		if n := al.name(B, b).name; !taken[j] {
			byName[n] = append(byName[n], j)
		}
	}
	for i, a := range as {
		n := al.name(A, a).name
		if l := byName[n]; partner[i] < 0 && len(l) > 0 {
			partner[i], taken[l[0]], byName[n] = l[0], true, l[1:]
		}
	}
	for i, j := range partner {
		if j >= 0 {
			al.match(as[i], bs[j])
		}
	}
	from := pair{}
	for _, anchor := range append(longestCommon(partner), pair{[2]int32{int32(len(as)), int32(len(bs))}}) {
		al.matchRenamed(al.unmatched(A, as[from.sides[A]:anchor.sides[A]]),
			al.unmatched(B, bs[from.sides[B]:anchor.sides[B]]))
		from = pair{[2]int32{anchor.sides[A] + 1, anchor.sides[B] + 1}}
	}
}

// longestCommon returns the longest common subsequence of two lists, as pairs of indices. Element i of
// the first list equals element partner[i] of the second list, or no element if partner[i] is -1. The
// result is therefore the longest ascending subsequence of partner.
func longestCommon(partner []int) []pair {
	// ends[n] is an index in partner. Among all ascending subsequences of length n+1, it is the position of
	// the least last element
	var ends []int
	before := make([]int, len(partner))
	for i, j := range partner {
		if j < 0 {
			continue
		}
		n, _ := slices.BinarySearchFunc(ends, j, func(end, j int) int { return cmp.Compare(partner[end], j) })
		if before[i] = -1; n > 0 {
			before[i] = ends[n-1]
		}
		ends = append(ends[:n], append([]int{i}, ends[min(n+1, len(ends)):]...)...)
	}
	list := make([]pair, len(ends))
	if len(ends) > 0 {
		for n, i := len(ends)-1, ends[len(ends)-1]; n >= 0; n, i = n-1, before[i] {
			list[n] = pair{[2]int32{int32(i), int32(partner[i])}}
		}
	}
	return list
}

// candidate is a pair of paths that can become partners.
type candidate struct {
	pair
	similarity float64
}

// matchRenamed matches paths that may have been renamed, the most similar pairs first.
func (al *alignment) matchRenamed(as, bs []int32) {
	var list []candidate
	for _, a := range as {
		for _, b := range bs {
			if al.mayExamine <= 0 {
				break
			}
			least := minSimilarity
			if len(al.sides[A].inside[a])+len(al.sides[B].inside[b]) == 0 {
				least = minLeafSimilarity
			}
			if s := al.similarity(a, b); s >= least {
				list = append(list, candidate{pair{[2]int32{a, b}}, s})
			}
		}
	}
	slices.SortStableFunc(list, func(p, q candidate) int { return cmp.Compare(q.similarity, p.similarity) })
	for _, p := range list {
		if al.partner[A][p.sides[A]] < 0 && al.partner[B][p.sides[B]] < 0 {
			al.match(p.sides[A], p.sides[B])
		}
	}
}

// matchMoved matches each path without a partner to the most similar path of the same name anywhere on
// the other side. Outer paths come first.
func (al *alignment) matchMoved() {
	byName := map[string][]int32{}
	for _, b := range al.preorder(B) {
		if al.partner[B][b] < 0 {
			n := al.name(B, b).name
			byName[n] = append(byName[n], b)
		}
	}
	if len(byName) == 0 {
		return
	}
	for _, a := range al.preorder(A) {
		if al.partner[A][a] >= 0 {
			continue
		}
		best, most := int32(-1), minSimilarity
		for _, b := range byName[al.name(A, a).name] {
			if al.partner[B][b] >= 0 {
				continue
			}
			if s := al.similarity(a, b); s > most || s == most && best < 0 {
				best, most = b, s
			}
			if al.mayExamine <= 0 {
				return
			}
		}
		if best >= 0 {
			al.match(a, best)
			al.descend()
		}
	}
}

// preorder returns the paths of a side, each before the paths inside of it.
func (al *alignment) preorder(s Side) []int32 {
	out := make([]int32, 0, len(al.sides[s].nodes))
	al.sides[s].walk(func(i int32) { out = append(out, i) })
	return out
}

// walk calls f for each path of a side, in the order of preorder.
func (s *side) walk(f func(i int32)) {
	wait := slices.Clone(s.outside)
	slices.Reverse(wait)
	for len(wait) > 0 {
		i := wait[len(wait)-1]
		wait = wait[:len(wait)-1]
		f(i)
		for _, c := range slices.Backward(s.inside[i]) {
			wait = append(wait, c)
		}
	}
}

// similarity returns the similarity of two paths, from 0 to 1, by the profiles of all paths inside of
// them. For each name, both sides are compared: the sum of the lesser values over all names is divided
// by the sum of the greater values. This is done for exclusive times and for visits, and the lesser
// result counts. The last names of the two paths count as equal.
func (al *alignment) similarity(a, b int32) float64 {
	type figures struct{ time, visits [2]float64 }
	sum := map[string]*figures{}
	for s, i := range [2]int32{a, b} {
		side := &al.sides[s]
		wait := []int32{i}
		for len(wait) > 0 {
			if al.mayExamine--; al.mayExamine < 0 {
				return 0
			}
			k := wait[len(wait)-1]
			wait = append(wait[:len(wait)-1], side.inside[k]...)
			n := ""
			if k != i {
				n = al.name(Side(s), k).name
			}
			if sum[n] == nil {
				sum[n] = &figures{}
			}
			sum[n].time[s] += side.nodes[k].exclusive
			sum[n].visits[s] += side.nodes[k].visits
		}
	}
	var least, most figures
	for _, f := range sum {
		for k, v := range [2][2]float64{f.time, f.visits} {
			least.time[k] += min(v[0], v[1])
			most.time[k] += max(v[0], v[1])
		}
	}
	result := 1.0
	for k, all := range most.time {
		if all > 0 {
			result = min(result, least.time[k]/all)
		}
	}
	return result
}
