// Package minheap keeps a list as a heap: its first element is the least one. It has the algorithms of package
// container/heap, for lists of any type without methods.
//
// The functions take the order as less, which reports whether a comes before b. All calls for one list must use the
// same order.
package minheap

import "cmp"

// Less reports whether a is less than b. With Less as the order, the first element of a list is the least one.
func Less[T cmp.Ordered](a, b *T) bool { return *a < *b }

// Init orders a list as a heap.
func Init[T any](list []T, less func(a, b *T) bool) {
	for i := len(list)/2 - 1; i >= 0; i-- {
		down(list, i, less)
	}
}

// Push adds an element.
func Push[T any](list *[]T, x T, less func(a, b *T) bool) {
	*list = append(*list, x)
	up(*list, len(*list)-1, less)
}

// Pop removes the first element and returns it. The list must not be empty.
func Pop[T any](list *[]T, less func(a, b *T) bool) T { return Remove(list, 0, less) }

// Remove removes the element at index i and returns it.
func Remove[T any](list *[]T, i int, less func(a, b *T) bool) T {
	l := *list
	last := len(l) - 1
	x := l[i]
	l[i] = l[last]
	clear(l[last:]) // releases the memory to which the element refers
	if *list = l[:last]; i < last {
		Fix(*list, i, less)
	}
	return x
}

// Fix restores the order after the element at index i has changed.
func Fix[T any](list []T, i int, less func(a, b *T) bool) {
	if !down(list, i, less) {
		up(list, i, less)
	}
}

// up moves the element at index i towards the first one, past the elements that it precedes.
func up[T any](list []T, i int, less func(a, b *T) bool) {
	for i > 0 {
		parent := (i - 1) / 2
		if !less(&list[i], &list[parent]) {
			return
		}
		list[parent], list[i] = list[i], list[parent]
		i = parent
	}
}

// down moves the element at index i away from the first one, past the elements that precede it. It reports whether
// the element has moved.
func down[T any](list []T, i int, less func(a, b *T) bool) bool {
	start := i
	for {
		child := 2*i + 1
		if child >= len(list) {
			break
		}
		if right := child + 1; right < len(list) && less(&list[right], &list[child]) {
			child = right
		}
		if !less(&list[child], &list[i]) {
			break
		}
		list[i], list[child] = list[child], list[i]
		i = child
	}
	return i > start
}
