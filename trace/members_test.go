package trace

import (
	"slices"
	"testing"
)

// TestMembers checks communicators whose members are ids of locations, and communicators whose
// members are indexes into the communicating locations.
func TestMembers(t *testing.T) {
	d := &Definitions{}
	m := d.Memberships()
	for _, id := range []string{"10", "20", "30"} {
		d.Locations.Add(Location{ID: id})
	}
	mpi := []Attr{{Key: "paradigm", Value: StringValue("MPI")}}
	global := append(slices.Clone(mpi), Attr{Key: "flags", Value: StringValue("GLOBAL_MEMBERS")})
	set := func(kind string, attrs []Attr, members ...int64) uint32 {
		return d.Sets.Add(Set{Kind: kind, Members: members, Attrs: attrs})
	}
	set("communicating locations", mpi, 30, 10, 20)
	for i, x := range []struct {
		set   uint32
		want  []uint32
		known bool
	}{
		{set("processes", nil, 20, 10), []uint32{1, 0}, true},
		{set("ranks", mpi, 0, 2), []uint32{2, 1}, true},
		{set("ranks", mpi, 0, 3), nil, false},   // rank 3 does not exist
		{set("ranks", mpi, -1), nil, false},     // negative rank
		{set("ranks", nil, 0), nil, false},      // another paradigm
		{set("locations", nil, 40), nil, false}, // no such location
		// Of such a set, otf2-print shows the members as places among the communicating locations, too.
		{set("ranks", global, 2, 0), []uint32{1, 2}, true},
		{set("subset", nil, 10), nil, false},
		{NoRef, nil, false},
	} {
		c := d.Communicator.Add(Communicator{Set: x.set})
		if got, known := m.Members(c); !slices.Equal(got, x.want) || known != x.known {
			t.Errorf("%d: found %v, %t, expected %v, %t", i, got, known, x.want, x.known)
		}
	}
	// OTF2: "No translation of ranks in event records needs to be done when a group […] has this flag. I.e., the ranks
	// are indexes into the COMM_LOCATIONS group."
	if got := m.Ranks(d.Communicator.Add(Communicator{Set: set("ranks", global, 2, 0)})); !slices.Equal(got,
		[]uint32{2, 0, 1}) {
		t.Errorf("found the ranks %v, expected those of all communicating locations", got)
	}
	// If one location is not defined, the other ranks still have theirs.
	some := d.Communicator.Add(Communicator{Set: set("locations", nil, 40, 30)})
	if got := m.Ranks(some); !slices.Equal(got, []uint32{NoRef, 2}) {
		t.Errorf("found the ranks %v, expected none and location 2", got)
	}
	if _, known := m.Members(99); known {
		t.Error("members of a communicator that is not there")
	}
}

// TestMembersWithLargeIDs checks ids of locations that do not fit into a signed number of 64 bits, as OTF2 allows.
func TestMembersWithLargeIDs(t *testing.T) {
	d := &Definitions{}
	d.Locations.Add(Location{ID: "5"})
	d.Locations.Add(Location{ID: "18446744073709551614"}) // 2^64 - 2
	d.Sets.Add(Set{Kind: "communicating locations", Members: []int64{-2, 5}})
	ranks := d.Sets.Add(Set{Kind: "ranks", Members: []int64{1, 0}})
	got, known := d.Memberships().Members(d.Communicator.Add(Communicator{Set: ranks}))
	if !known || !slices.Equal(got, []uint32{0, 1}) {
		t.Errorf("found the members %v, %t, expected locations 0 and 1", got, known)
	}
}
