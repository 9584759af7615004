package picl

import "slices"

// memberships is the set of subsets that have a number as a member. It is not ordered.
type memberships struct {
	ids    []int64
	places map[int64]int // the index of each id in ids; nil for a short list
}

// shortMemberships is the length up to which a search through the ids is faster than a map.
const shortMemberships = 16

// place returns the index of a subset in ids, or -1.
func (m *memberships) place(id int64) int {
	if m.places == nil {
		return slices.Index(m.ids, id)
	}
	if i, ok := m.places[id]; ok {
		return i
	}
	return -1
}

// add adds a subset.
func (m *memberships) add(id int64) {
	if m.place(id) >= 0 {
		return // a subset may name a member twice
	}
	m.ids = append(m.ids, id)
	switch n := len(m.ids); {
	case m.places != nil:
		m.places[id] = n - 1
	case n > shortMemberships:
		m.places = make(map[int64]int, 2*n)
		for i, id := range m.ids {
			m.places[id] = i
		}
	}
}

// remove removes a subset.
func (m *memberships) remove(id int64) {
	i, last := m.place(id), len(m.ids)-1
	if i < 0 {
		return
	}
	moved := m.ids[last]
	m.ids[i], m.ids = moved, m.ids[:last]
	if m.places != nil {
		m.places[moved] = i
		delete(m.places, id)
	}
}
