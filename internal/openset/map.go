package openset

// maxLinear is the greatest number of elements that a [Map] searches one by one.
const maxLinear = 16

// Map maps keys of open elements to their values. Most programs have few elements open at a time. Map searches these
// one by one, which takes less time than a map. The zero Map is empty.
type Map[K comparable, V any] struct {
	list []entry[K, V]
	many map[K]V // used instead of list for more than few elements, until it is empty
}

// entry is an element of a [Map].
type entry[K comparable, V any] struct {
	key   K
	value V
}

// Len returns the number of elements.
func (m *Map[K, V]) Len() int { return len(m.list) + len(m.many) }

// Get returns the value of a key, and whether the map has it.
func (m *Map[K, V]) Get(k K) (v V, ok bool) {
	if len(m.many) > 0 {
		v, ok = m.many[k]
		return v, ok
	}
	if i := m.find(k); i >= 0 {
		return m.list[i].value, true
	}
	return v, false
}

// find returns the index in the list of a key, or -1.
func (m *Map[K, V]) find(k K) int {
	for i := len(m.list) - 1; i >= 0; i-- {
		if m.list[i].key == k {
			return i
		}
	}
	return -1
}

// Take removes a key. It returns its value, and whether the map had it.
func (m *Map[K, V]) Take(k K) (v V, ok bool) {
	if len(m.many) > 0 {
		v, ok = m.many[k]
		delete(m.many, k)
		return v, ok
	}
	i := m.find(k)
	if i < 0 {
		return v, false
	}
	n := len(m.list) - 1
	v, m.list[i] = m.list[i].value, m.list[n]
	m.list[n] = entry[K, V]{}
	m.list = m.list[:n]
	return v, true
}

// Put sets the value of a key.
func (m *Map[K, V]) Put(k K, v V) {
	if len(m.many) > 0 {
		m.many[k] = v
		return
	}
	if i := m.find(k); i >= 0 {
		m.list[i].value = v
		return
	}
	if m.list = append(m.list, entry[K, V]{k, v}); len(m.list) <= maxLinear {
		return
	}
	if m.many == nil {
		m.many = make(map[K]V, 2*maxLinear)
	}
	for _, e := range m.list {
		m.many[e.key] = e.value
	}
	clear(m.list)
	m.list = m.list[:0]
}

// All calls f for each element, in no particular order, until f returns false. f must not change the map.
func (m *Map[K, V]) All(f func(K, V) bool) {
	for _, e := range m.list {
		if !f(e.key, e.value) {
			return
		}
	}
	for k, v := range m.many {
		if !f(k, v) {
			return
		}
	}
}
