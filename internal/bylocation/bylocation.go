// Package bylocation stores an element for each location of a trace, such as the state of the location.
package bylocation

// List holds pointers to elements, by location. A location without an element has nil.
type List[T any] []*T

// At returns the element of a location. It adds the element if needed.
func (l *List[T]) At(location uint32) *T {
	for int64(location) >= int64(len(*l)) {
		*l = append(*l, nil)
	}
	x := (*l)[location]
	if x == nil {
		x = new(T)
		(*l)[location] = x
	}
	return x
}

// Get returns the element of a location, or nil.
func (l List[T]) Get(location uint32) *T {
	if int64(location) >= int64(len(l)) {
		return nil
	}
	return l[location]
}
