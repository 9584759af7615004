package etf

import "cmp"

// places are the parts of a resource that open claims hold. They find what overlaps with a part in
// logarithmic time, however many claims are open. What holds nothing is not among them.
type places struct {
	begins placeTree // by where they begin
	ends   placeTree // and by where they end
}

func (p *places) add(h *held) {
	if end := h.offset + h.amount; end > h.offset {
		p.begins.add(place{h.offset, h.number, end, h})
		p.ends.add(place{end, h.number, end, h})
	}
}

func (p *places) remove(h *held) {
	if end := h.offset + h.amount; end > h.offset {
		p.begins.remove(h.offset, h.number)
		p.ends.remove(end, h.number)
	}
}

// overlaps finds the claims that overlap with h, and returns their number. other is the one with the lowest
// offset or, among several, the one that began first. It is nil if there are none.
func (p *places) overlaps(h *held) (other *held, n int) {
	end := h.offset + h.amount
	if end <= h.offset {
		return nil, 0
	}
	// Those that begin before its end, but for those that end before its begin.
	if n = p.begins.below(end) - p.ends.upTo(h.offset); n > 0 {
		other = p.begins.first(h.offset)
	}
	return other, n
}

// place is a claim in a tree, by a key and, of those with equal keys, its number.
type place struct {
	key    float64
	number uint64
	end    float64
	claim  *held
}

// placeTree is a treap: a search tree that is a heap of numbers drawn by lot, hence as good as balanced.
type placeTree struct {
	root *placeNode
	lot  uint64
}

type placeNode struct {
	place
	lot         uint64
	size        int     // nodes of the tree below, with this one
	last        float64 // the last end of these
	left, right *placeNode
}

func (n *placeNode) count() int {
	if n == nil {
		return 0
	}
	return n.size
}

// update makes size and last right.
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

// split splits a tree into what is before a key and number, and the rest.
func (n *placeNode) split(key float64, number uint64) (before, rest *placeNode) {
	switch {
	case n == nil:
		return nil, nil
	case cmp.Or(cmp.Compare(n.key, key), cmp.Compare(n.number, number)) < 0:
		n.right, rest = n.right.split(key, number)
		return n.update(), rest
	}
	before, n.left = n.left.split(key, number)
	return before, n.update()
}

// join makes one tree of two, of which the first is before the second.
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
	before, rest := t.root.split(p.key, p.number)
	t.root = join(join(before, (&placeNode{place: p, lot: t.lot}).update()), rest)
}

// remove takes out the place with a key and number.
func (t *placeTree) remove(key float64, number uint64) {
	before, rest := t.root.split(key, number)
	_, rest = rest.split(key, number+1)
	t.root = join(before, rest)
}

// below counts the places whose key is less than one.
func (t *placeTree) below(key float64) (count int) {
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

// upTo counts the places whose key is no more than one.
func (t *placeTree) upTo(key float64) (count int) {
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

// first is the first place that ends behind a key.
func (t *placeTree) first(key float64) *held {
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
