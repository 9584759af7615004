package trace

import (
	"slices"
	"strconv"
	"testing"
)

// TestWorlds checks which locations can synchronise with each other. MPI_Finalize is collective over the
// processes of MPI_COMM_WORLD, and over all processes that are connected to these by another communicator (MPI
// 4.1, 11.2.2 and 11.10.4).
func TestWorlds(t *testing.T) {
	const none = NoRef
	for _, x := range []struct {
		name    string
		count   int // number of locations
		comms   []testCommunicator
		parents [][2]uint32 // pairs of a communicator and its parent
		groups  []LocationGroup
		in      []uint32 // the group of each location
		want    []uint32
	}{
		{name: "one world", count: 3, comms: comms("MPI_COMM_WORLD", 0, 1, 2)},
		{name: "two worlds", count: 4, comms: append(comms("MPI_COMM_WORLD", 0, 1), comms("MPI_COMM_WORLD", 2, 3)...),
			want: []uint32{0, 0, 2, 2}},
		{name: "two runs of one process", count: 2, comms: append(comms("__MPI_COMM_WORLD__", 0),
			comms("__MPI_COMM_WORLD__", 1)...), want: []uint32{0, 1}},
		{name: "connected worlds", count: 4, comms: append(append(comms("MPI_COMM_WORLD", 0, 1),
			comms("MPI_COMM_WORLD", 2, 3)...), comms("spawned", 1, 2)...)},
		{name: "a world, and processes without communicators", count: 4, comms: comms("MPI_COMM_WORLD", 0, 1),
			want: []uint32{0, 0, none, none}},
		{name: "halves without a world", count: 4, comms: append(comms("row", 0, 1), comms("row", 2, 3)...)},
		{name: "halves below a world without members", count: 4, comms: append(append(comms("MPI_COMM_WORLD"),
			comms("row", 0, 1)...), comms("row", 2, 3)...)},
		{name: "communicators in two trees", count: 4, comms: append(comms("row", 0, 1), comms("row", 2, 3)...),
			groups: []LocationGroup{{Parent: NoRef}, {Parent: NoRef}, {Parent: 1}}, in: []uint32{0, 0, 1, 2},
			want: []uint32{0, 0, 2, 2}},
		{name: "two trees, and one has no communicator", count: 4, comms: comms("row", 0, 1),
			groups: []LocationGroup{{Parent: NoRef}, {Parent: NoRef}}, in: []uint32{0, 0, 1, 1}},
		{name: "two trees with a communicator of both", count: 4, comms: comms("all", 1, 2),
			groups: []LocationGroup{{Parent: NoRef}, {Parent: NoRef}}, in: []uint32{0, 0, 1, 1}},
		{name: "threads belong to their process", count: 4, comms: append(comms("MPI_COMM_WORLD", 0),
			comms("MPI_COMM_WORLD", 2)...), groups: []LocationGroup{{Kind: "process", Parent: NoRef},
			{Kind: "process", Parent: NoRef}}, in: []uint32{0, 0, 1, 1}, want: []uint32{0, 0, 2, 2}},
		{name: "a parent joins", count: 4, comms: append(append(comms("MPI_COMM_WORLD", 0, 1), comms("sub", 2, 3)...),
			comms("MPI_COMM_WORLD", 0)...), parents: [][2]uint32{{1, 0}}},
		{name: "groups that contain each other", count: 2, comms: comms("row", 0, 1),
			groups: []LocationGroup{{Parent: 1}, {Parent: 0}}, in: []uint32{0, 1}},
		{name: "no locations"},
	} {
		d := &Definitions{}
		for i := range x.count {
			g := NoRef
			if x.in != nil {
				g = x.in[i]
			}
			d.Locations.Add(Location{ID: strconv.Itoa(i), Group: g})
		}
		for _, g := range x.groups {
			d.Groups.Add(g)
		}
		for i, c := range x.comms {
			parent := NoRef
			for _, p := range x.parents {
				if p[0] == uint32(i) {
					parent = p[1]
				}
			}
			d.Communicator.Add(Communicator{Name: c.name, Parent: parent,
				Set: d.Sets.Add(Set{Kind: "locations", Members: c.members})})
		}
		if got := d.Worlds(); !slices.Equal(got, x.want) {
			t.Errorf("%s: found the worlds %v, expected %v", x.name, got, x.want)
		}
	}
	// A communicator between two groups connects the worlds of both.
	d := &Definitions{}
	for i := range 2 {
		d.Locations.Add(Location{ID: strconv.Itoa(i), Group: NoRef})
		d.Communicator.Add(Communicator{Name: "MPI_COMM_WORLD", Parent: NoRef,
			Set: d.Sets.Add(Set{ID: strconv.Itoa(i), Kind: "locations", Members: []int64{int64(i)}})})
	}
	if got := d.Worlds(); !slices.Equal(got, []uint32{0, 1}) {
		t.Errorf("found the worlds %v, expected two", got)
	}
	d.Communicator.Add(Communicator{Name: "between", Parent: NoRef, Set: 0,
		Attrs: []Attr{{Key: OtherGroupAttribute, Value: Value{Num: 1, Type: GroupRef}}}})
	if got := d.Worlds(); got != nil {
		t.Errorf("found the worlds %v, expected one", got)
	}
}

// testCommunicator is a communicator with its members.
type testCommunicator struct {
	name    string
	members []int64
}

// comms returns a list of one communicator.
func comms(name string, members ...int64) []testCommunicator {
	return []testCommunicator{{name, members}}
}
