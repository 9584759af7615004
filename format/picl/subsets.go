package picl

import "slices"

// subsets holds the subsets that records of the types -201 to -203 define. A member of a subset may be another subset,
// whose members are then members as well (2.1).
type subsets struct {
	sets      map[setKey][]int64      // the members in the records
	all       map[setKey][]int64      // the members, direct or not, and the subsets among them
	subsetsOf map[setKey]*memberships // the inverse of all, by the type of the subsets and the member
	followed  int                     // number of members of subsets in subsets that follow has visited
}

// setKey holds the type of the record that defines a subset, and the subset's id.
type setKey struct{ typ, id int64 }

// maxFollowed limits the number of members that follow visits. Subsets beyond have only their direct members.
const maxFollowed = 1 << 18

func newSubsets() subsets {
	return subsets{sets: map[setKey][]int64{}, all: map[setKey][]int64{}, subsetsOf: map[setKey]*memberships{}}
}

// set replaces the members of a subset.
func (d *subsets) set(k setKey, members []int64) {
	d.sets[k] = members
	d.update(k)
	if m := d.subsetsOf[k]; m != nil && d.nests(k) {
		for _, id := range slices.Clone(m.ids) {
			if d.followed > maxFollowed {
				return
			}
			d.update(setKey{k.typ, id})
		}
	}
}

// update enters the members of a subset in all and subsetsOf.
func (d *subsets) update(k setKey) {
	for _, m := range d.all[k] {
		d.subsetsOf[setKey{k.typ, m}].remove(k.id)
	}
	d.all[k] = d.follow(k)
	for _, m := range d.all[k] {
		member := setKey{k.typ, m}
		if d.subsetsOf[member] == nil {
			d.subsetsOf[member] = &memberships{}
		}
		d.subsetsOf[member].add(k.id)
	}
}

// nests reports whether a number in a subset refers to a subset. Numbers of processors and processes from 0 on do not.
func (d *subsets) nests(k setKey) bool { return d.hasSubset(k) && (k.id < -1 || k.typ == TypeEventSet) }

// follow returns the members of a subset, and those of the subsets among them.
func (d *subsets) follow(k setKey) []int64 {
	nests := func(m int64) bool { return d.nests(setKey{k.typ, m}) }
	if d.followed > maxFollowed || !slices.ContainsFunc(d.sets[k], nests) {
		return d.sets[k]
	}
	all, known := []int64(nil), map[int64]bool{}
	for next := []int64{k.id}; len(next) > 0; {
		members := d.sets[setKey{k.typ, next[0]}]
		next = next[1:]
		d.followed += len(members)
		for _, m := range members {
			if known[m] {
				continue
			}
			known[m] = true
			all = append(all, m)
			if nests(m) {
				next = append(next, m)
			}
		}
	}
	return all
}

// hasSubset reports whether a record defines the subset.
func (d *subsets) hasSubset(k setKey) bool {
	_, ok := d.sets[k]
	return ok
}

// members returns the members of a subset, direct or not, without the subsets among them.
func (d *subsets) members(k setKey) []int64 {
	all := d.all[k]
	nests := func(m int64) bool { return d.nests(setKey{k.typ, m}) }
	if !slices.ContainsFunc(all, nests) {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), nests)
}

// subsetsWith returns the subsets of which x is a member.
func (d *subsets) subsetsWith(typ, x int64) []int64 {
	if m := d.subsetsOf[setKey{typ, x}]; m != nil {
		return m.ids
	}
	return nil
}

// isMember reports whether a record defines a subset with the member x.
func (d *subsets) isMember(typ, id, x int64) bool {
	m := d.subsetsOf[setKey{typ, x}]
	return m != nil && m.place(id) >= 0
}

// inSet reports whether a record defines a subset of processors or processes with the member x.
func (d *subsets) inSet(typ, id, x int64) bool { return id < -1 && d.isMember(typ, id, x) }
