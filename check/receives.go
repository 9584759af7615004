package check

import (
	"cmp"
	"slices"
)

// receiveOrder keeps the order in which a location posts receives. Messages do not overtake each other: the receive
// that is posted first gets the message that is sent first, even if another receive completes before it. Therefore
// receives that complete early are held until all receives that were posted before them have completed.
type receiveOrder struct {
	posted uint64        // number of receives that have been posted
	open   []uint64      // numbers of those that have not completed, ascending
	held   []heldReceive // ordered by number
}

// heldReceive is a receive that has completed before one that was posted before it.
type heldReceive struct {
	number uint64
	lane   *lane
	end
}

// mostHeld is the greatest number of receives of a location that are held.
const mostHeld = 256

// post returns the number of a receive that is posted. If open is set, it completes later.
func (r *receiveOrder) post(open bool) uint64 {
	r.posted++
	if open {
		r.open = append(r.open, r.posted)
	}
	return r.posted
}

// completeReceive adds a receive with a number to its lane, as soon as those before it have completed.
func (c *Checker) completeReceive(r *receiveOrder, number uint64, l *lane, e end) error {
	if len(r.open) == 0 || r.open[0] >= number {
		if err := l[receives].add(c.store, e); err != nil {
			return err
		}
		return c.closeReceive(r, number)
	}
	i, _ := slices.BinarySearchFunc(r.held, number, func(x heldReceive, n uint64) int { return cmp.Compare(x.number, n) })
	r.held = slices.Insert(r.held, i, heldReceive{number, l, e})
	if err := c.closeReceive(r, number); err != nil || len(r.held) <= mostHeld {
		return err
	}
	return c.release(r, 1)
}

// closeReceive removes a receive from the open ones, and passes on those that were held because of it.
func (c *Checker) closeReceive(r *receiveOrder, number uint64) error {
	if i, ok := slices.BinarySearch(r.open, number); ok {
		r.open = slices.Delete(r.open, i, i+1)
	}
	n := 0
	for n < len(r.held) && (len(r.open) == 0 || r.held[n].number < r.open[0]) {
		n++
	}
	return c.release(r, n)
}

// release adds the first n held receives to their lanes.
func (c *Checker) release(r *receiveOrder, n int) error {
	for i := range r.held[:n] {
		x := &r.held[i]
		if err := x.lane[receives].add(c.store, x.end); err != nil {
			return err
		}
	}
	r.held = r.held[n:]
	return nil
}
