package openset

// Stack holds open elements in the order in which they were opened, each with a key. The latest element, or the
// latest one with a certain key, is found in constant time at any depth. The zero Stack is empty.
type Stack[K comparable, T any] struct {
	list  []keyed[K, T]
	index Index[K]
}

// keyed is an element of a [Stack].
type keyed[K comparable, T any] struct {
	key   K
	value T
}

// Len returns the number of elements.
func (s *Stack[K, T]) Len() int { return len(s.list) - s.index.gaps }

// Push adds an element with a key.
func (s *Stack[K, T]) Push(k K, v T) {
	s.list = append(s.list, keyed[K, T]{k, v})
	s.index.Open(k, len(s.list)-1)
}

// Take removes the latest element with a key. It returns the element, and whether there was one.
func (s *Stack[K, T]) Take(k K) (v T, ok bool) {
	i := s.index.Find(k, len(s.list), func(place int) K { return s.list[place].key })
	if i < 0 {
		return v, false
	}
	v = s.list[i].value
	s.list = Close(&s.index, s.list, i, k)
	return v, true
}

// Pop removes the latest element. It returns the element, and whether there was one.
func (s *Stack[K, T]) Pop() (v T, ok bool) {
	if len(s.list) == 0 {
		return v, false
	}
	return s.Take(s.list[len(s.list)-1].key) // the top is never a gap
}

// All calls f for each element, in the order in which they were added, until f returns false. f must not change
// the stack.
func (s *Stack[K, T]) All(f func(T) bool) {
	for i, e := range s.list {
		if !s.index.Gap(i) && !f(e.value) {
			return
		}
	}
}
