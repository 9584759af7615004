package etf

import "slices"

// places holds the parts of a resource that open claims occupy. It finds the claims that overlap with a part
// in logarithmic time, however many claims are open. It leaves out claims whose amount is 0.
type places struct {
	// few holds the claims while there are at most fewPlaces: then, comparing all is faster than searching trees. From
	// the next claim on, the trees hold all of them.
	few    []place
	trees  bool
	begins placeTree // ordered by offset
	ends   placeTree // ordered by the end of the part: offset + amount
}

// fewPlaces is the largest number of claims that places compares one by one.
const fewPlaces = 32

func (p *places) add(h *openClaim) {
	end := h.offset + h.amount
	if !(end > h.offset) {
		return
	}
	if len(p.few) < fewPlaces && !p.trees {
		p.few = append(p.few, place{h.offset, h.number, end, h})
		return
	}
	for i := range p.few {
		p.addToTrees(p.few[i].claim)
	}
	p.few, p.trees = nil, true
	p.addToTrees(h)
}

func (p *places) addToTrees(h *openClaim) {
	end := h.offset + h.amount
	p.begins.add(place{h.offset, h.number, end, h})
	p.ends.add(place{end, h.number, end, h})
}

func (p *places) remove(h *openClaim) {
	end := h.offset + h.amount
	switch {
	case !(end > h.offset):
	case p.trees:
		p.begins.remove(h.offset, h.number)
		p.ends.remove(end, h.number)
		p.trees = p.begins.root != nil
	default:
		if i := slices.IndexFunc(p.few, func(x place) bool { return x.claim == h }); i >= 0 {
			p.few[i] = p.few[len(p.few)-1]
			p.few = p.few[:len(p.few)-1]
		}
	}
}

// overlaps returns the number of claims that overlap with h. other is the overlapping claim with the lowest
// offset; among several at that offset, it is the claim that began first. other is nil if no claim overlaps.
func (p *places) overlaps(h *openClaim) (other *openClaim, n int) {
	end := h.offset + h.amount
	if end <= h.offset {
		return nil, 0
	}
	if !p.trees {
		var first *place
		for i := range p.few {
			if x := &p.few[i]; x.key < end && x.end > h.offset {
				if n++; first == nil || x.before(first.key, first.number) {
					first, other = x, x.claim
				}
			}
		}
		return other, n
	}
	// Count the claims that begin before the end of h, and subtract those that end before its begin.
	if n = p.begins.countBelow(end) - p.ends.countUpTo(h.offset); n > 0 {
		other = p.begins.firstEndingAfter(h.offset)
	}
	return other, n
}

// place is an entry of a placeTree: the part of a resource that a claim holds. Places are ordered by key and,
// if their keys are equal, by number.
type place struct {
	key    float64
	number uint64
	end    float64
	claim  *openClaim
}

// before reports whether a place comes before the given key and number.
func (p *place) before(key float64, number uint64) bool {
	return p.key < key || p.key == key && p.number < number
}

// placeTree is a treap: a search tree by key that is also a heap by random priority. The random
// priorities keep its expected depth logarithmic.
type placeTree struct {
	root *placeNode
	lot  uint64
	free *placeNode // a list of removed nodes, linked by left, whose memory is used again
}

type placeNode struct {
	place
	lot         uint64
	size        int     // number of nodes in this subtree
	last        float64 // the greatest end of a claim in this subtree
	left, right *placeNode
}

func (n *placeNode) count() int {
	if n == nil {
		return 0
	}
	return n.size
}

// update computes size and last from the children.
func (n *placeNode) update() *placeNode {
	n.size, n.last = 1+n.left.count()+n.right.count(), n.end
	if n.left != nil {
		n.last = max(n.last, n.left.last)
	}
	if n.right != nil {
		n.last = max(n.last, n.right.last)
	}
	return n
}

// split splits a tree into the places before the given key and number, and all other places.
func (n *placeNode) split(key float64, number uint64) (before, rest *placeNode) {
	switch {
	case n == nil:
		return nil, nil
	case n.before(key, number):
		n.right, rest = n.right.split(key, number)
		return n.update(), rest
	}
	before, n.left = n.left.split(key, number)
	return before, n.update()
}

// join joins two trees. All places of a come before those of b.
func join(a, b *placeNode) *placeNode {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	case a.lot > b.lot:
		a.right = join(a.right, b)
		return a.update()
	}
	b.left = join(a, b.left)
	return b.update()
}

func (t *placeTree) add(p place) {
	t.lot = t.lot*6364136223846793005 + 1442695040888963407
	n := t.free
	if n == nil {
		n = new(placeNode)
	} else {
		t.free = n.left
	}
	*n = placeNode{place: p, lot: t.lot}
	before, rest := t.root.split(p.key, p.number)
	t.root = join(join(before, n.update()), rest)
}

// remove removes the place with a key and number.
func (t *placeTree) remove(key float64, number uint64) {
	before, rest := t.root.split(key, number)
	n, rest := rest.split(key, number+1)
	t.root = join(before, rest)
	if n != nil { // numbers differ, so it is a single node
		*n = placeNode{left: t.free}
		t.free = n
	}
}

// countBelow counts the places whose key is less than the given one.
func (t *placeTree) countBelow(key float64) (count int) {
	for n := t.root; n != nil; {
		if n.key < key {
			count += 1 + n.left.count()
			n = n.right
		} else {
			n = n.left
		}
	}
	return count
}

// countUpTo counts the places whose key is at most the given one.
func (t *placeTree) countUpTo(key float64) (count int) {
	for n := t.root; n != nil; {
		if n.key <= key {
			count += 1 + n.left.count()
			n = n.right
		} else {
			n = n.left
		}
	}
	return count
}

// firstEndingAfter returns the claim of the first place that ends after the given key.
func (t *placeTree) firstEndingAfter(key float64) *openClaim {
	for n := t.root; n != nil; {
		switch {
		case n.left != nil && n.left.last > key:
			n = n.left
		case n.end > key:
			return n.claim
		default:
			n = n.right
		}
	}
	return nil
}
