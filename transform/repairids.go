package transform

import "math"

// ids is a set of numbers that are mostly consecutive.
type ids struct {
	words       map[int64]uint64
	least, most int64 // least and greatest id that the trace has or that add has assigned
}

// has reports whether an id is in the set.
func (i *ids) has(id int64) bool { return i.words[id>>6]>>(id&63)&1 == 1 }

// add adds an id to the set.
func (i *ids) add(id int64) {
	if i.words == nil {
		i.words = map[int64]uint64{}
	}
	i.least, i.most = min(i.least, id), max(i.most, id)
	i.words[id>>6] |= 1 << (id & 63)
}

// addNew adds and returns the greatest id plus one, or if there is no such number, the least id minus one. If there is
// no such number either, it returns the greatest id.
func (i *ids) addNew() int64 {
	id := i.most
	switch {
	case i.most < math.MaxInt64:
		id = i.most + 1
	case i.least > math.MinInt64:
		id = i.least - 1
	}
	i.add(id)
	return id
}

// eventRow identifies an event by the number of its row at its location.
type eventRow struct {
	loc uint32
	row int64
}
