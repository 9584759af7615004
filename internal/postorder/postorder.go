// Package postorder puts the receives of a location into the order in which it posts them.
package postorder

import (
	"cmp"
	"slices"
)

// Receives holds receives of a location that complete early. Messages do not overtake each other: the receive that is
// posted first gets the message that is sent first, even if another receive completes before it. But a trace states
// the source of a receive only when the receive completes. Therefore receives that complete early are held until all
// receives that were posted before them have completed. The zero value has no receives.
//
// Receives returns lists of values, in the order of their posts. A list is valid until the next call. Receives holds up
// to 256 values, and up to 16 bytes for each posted receive that has not completed.
type Receives[T any] struct {
	posted uint64 // number of receives that have been posted
	// posts holds the numbers of the open receives, ascending. It also holds completed receives whose numbers are
	// greater than that of an open one. The first element is always open.
	posts []post
	open  int              // number of open receives
	held  []heldReceive[T] // ordered by number
	ready []T              // memory for the results
}

// post is twice the number of a posted receive, plus 1 if the receive has completed.
type post uint64

func (p post) number() uint64  { return uint64(p >> 1) }
func (p post) completed() bool { return p&1 != 0 }

// heldReceive is a receive that has completed before one that was posted before it.
type heldReceive[T any] struct {
	number uint64
	value  T
}

// mostHeld is the greatest number of receives that are held. A recorder may write no completion of some receives.
const mostHeld = 256

// Post returns the number of a receive that is posted, counted from 1. If open is set, the receive completes later.
func (r *Receives[T]) Post(open bool) uint64 {
	r.posted++
	if open {
		r.posts = append(r.posts, post(r.posted<<1))
		r.open++
	}
	return r.posted
}

// Open reports whether a receive is posted that has not completed. If none is, there is nothing to wait for, and a
// receive that completes without a post need not be added.
func (r *Receives[T]) Open() bool { return r.open > 0 }

// IsNext reports whether no receive that was posted before the one with the given number is open. Complete then returns
// its value.
func (r *Receives[T]) IsNext(number uint64) bool { return r.open == 0 || r.posts[0].number() >= number }

// Complete adds the value of a receive that completes, by its number. It returns the values that are next.
func (r *Receives[T]) Complete(number uint64, value T) []T {
	r.ready = r.ready[:0]
	if r.IsNext(number) {
		r.ready = append(r.ready, value)
		return r.closeOpen(number)
	}
	i, _ := slices.BinarySearchFunc(r.held, number, func(x heldReceive[T], n uint64) int {
		return cmp.Compare(x.number, n)
	})
	r.held = slices.Insert(r.held, i, heldReceive[T]{number, value})
	if r.closeOpen(number); len(r.held) > mostHeld {
		r.pass(1)
	}
	return r.ready
}

// Close removes a receive that never completes, by its number. It returns the values that were held because of it.
func (r *Receives[T]) Close(number uint64) []T {
	r.ready = r.ready[:0]
	return r.closeOpen(number)
}

// Flush returns all values that are held.
func (r *Receives[T]) Flush() []T {
	r.ready = r.ready[:0]
	r.pass(len(r.held))
	return r.ready
}

// closeOpen removes a receive from the open ones, and passes on the values that were held because of it.
func (r *Receives[T]) closeOpen(number uint64) []T {
	i, ok := slices.BinarySearchFunc(r.posts, number, func(p post, n uint64) int { return cmp.Compare(p.number(), n) })
	if ok && !r.posts[i].completed() {
		r.posts[i] |= 1
		r.open--
		r.removeCompleted()
	}
	n := 0
	for n < len(r.held) && r.IsNext(r.held[n].number) {
		n++
	}
	r.pass(n)
	return r.ready
}

// removeCompleted removes completed receives from posts: those before the first open one, and all if they are more than
// half of the list, so that it takes constant time for each receive.
func (r *Receives[T]) removeCompleted() {
	if 2*r.open < len(r.posts) {
		r.posts = slices.DeleteFunc(r.posts, post.completed)
		return
	}
	n := 0
	for r.posts[n].completed() {
		n++
	}
	r.posts = r.posts[n:]
}

// pass moves the first n held values to ready.
func (r *Receives[T]) pass(n int) {
	for i := range r.held[:n] {
		r.ready = append(r.ready, r.held[i].value)
	}
	clear(r.held[:n])
	r.held = r.held[n:]
}
