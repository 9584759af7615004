package synclog

// PathLocation identifies a call path at a location.
type PathLocation struct{ Path, Location uint32 }

// PathTable holds values of call paths at locations. The zero value is an empty table.
type PathTable[V any] struct {
	values map[PathLocation]*V
	// recent holds values that were used lately, at the index [PathLocation.slot]. A look-up there takes a small part of
	// the time of one in the map.
	recent [16]struct {
		at    PathLocation
		value *V
	}
}

// slot returns an index that differs for paths and locations with near numbers.
func (k PathLocation) slot() uint32 { return (k.Path ^ k.Location<<2) & 15 }

// At returns the value of a call path at a location. If the table has none, At adds a value that is zero.
func (t *PathTable[V]) At(path, location uint32) *V {
	k := PathLocation{path, location}
	if r := &t.recent[k.slot()]; r.value != nil && r.at == k {
		return r.value
	}
	return t.find(k)
}

// Look returns the value of a call path at a location, or zero if the table has none.
func (t *PathTable[V]) Look(path, location uint32) (v V) {
	if p := t.values[PathLocation{path, location}]; p != nil {
		v = *p
	}
	return v
}

// find returns a value of the map, which it adds if necessary, and stores it in recent.
func (t *PathTable[V]) find(k PathLocation) *V {
	v := t.values[k]
	if v == nil {
		if t.values == nil {
			t.values = map[PathLocation]*V{}
		}
		v = new(V)
		t.values[k] = v
	}
	r := &t.recent[k.slot()]
	r.at, r.value = k, v
	return v
}

// Values returns a copy of all values.
func (t *PathTable[V]) Values() map[PathLocation]V {
	m := make(map[PathLocation]V, len(t.values))
	for k, v := range t.values {
		m[k] = *v
	}
	return m
}
