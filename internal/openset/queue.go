package openset

// Queue holds open elements in the order in which they were opened. It finds the first element with a key, and
// closes any element, in constant time on average. An element has up to two keys; the zero value of K means no
// key. The zero Queue is ready to use.
type Queue[T any, K comparable] struct {
	list  []queueEntry[T, K]
	first int           // all elements before this index are closed
	open  int           // number of open elements
	at    map[K][]int32 // places by key, in ascending order; nil until a search has compared many elements
}

type queueEntry[T any, K comparable] struct {
	value  T
	keys   [2]K
	closed bool
}

// Len returns the number of open elements.
func (q *Queue[T, K]) Len() int { return q.open }

// Open adds an element with its keys. Places that were returned before become invalid.
func (q *Queue[T, K]) Open(x T, keys [2]K) {
	if len(q.list) == cap(q.list) && q.open < len(q.list)/2 {
		n := 0
		for i := range q.list {
			if !q.list[i].closed {
				q.list[n] = q.list[i]
				n++
			}
		}
		clear(q.list[n:])
		q.list, q.first, q.at = q.list[:n], 0, nil
	}
	if q.at != nil {
		q.index(keys, len(q.list))
	}
	q.list = append(q.list, queueEntry[T, K]{value: x, keys: keys})
	q.open++
}

func (q *Queue[T, K]) index(keys [2]K, place int) {
	var none K
	for _, k := range keys {
		if k != none {
			q.at[k] = append(q.at[k], int32(place))
		}
	}
}

// First returns the place of the first open element, which must exist.
func (q *Queue[T, K]) First() int {
	for q.list[q.first].closed {
		q.first++
	}
	return q.first
}

// Find returns the place of the first open element with the key k, or -1 if there is none.
func (q *Queue[T, K]) Find(k K) int {
	var none K
	if k == none {
		return -1
	}
	if q.at == nil {
		if len(q.list)-q.first <= linearSearch {
			for i := q.first; i < len(q.list); i++ {
				if x := &q.list[i]; !x.closed && (x.keys[0] == k || x.keys[1] == k) {
					return i
				}
			}
			return -1
		}
		q.at = map[K][]int32{}
		for i := q.first; i < len(q.list); i++ {
			if !q.list[i].closed {
				q.index(q.list[i].keys, i)
			}
		}
	}
	places := q.at[k]
	for len(places) > 0 && q.list[places[0]].closed {
		places = places[1:]
	}
	if len(places) == 0 {
		delete(q.at, k)
		return -1
	}
	q.at[k] = places
	return int(places[0])
}

// At returns the element at a place that First or Find has returned.
func (q *Queue[T, K]) At(place int) T { return q.list[place].value }

// Close closes the element at a place that First or Find has returned.
func (q *Queue[T, K]) Close(place int) {
	q.list[place].closed = true
	q.open--
}

// All returns the open elements, in the order in which they were opened.
func (q *Queue[T, K]) All() (list []T) {
	for i := q.first; i < len(q.list); i++ {
		if !q.list[i].closed {
			list = append(list, q.list[i].value)
		}
	}
	return list
}
