package trace

import (
	"slices"
	"testing"
)

// TestCheckTree checks that CheckTree finds groups that are their own ancestors, directly or through other
// groups.
func TestCheckTree(t *testing.T) {
	for _, test := range []struct {
		parents []uint32
		ring    bool
	}{
		{[]uint32{NoRef, 0, 1}, false},
		{[]uint32{NoRef, NoRef}, false},
		{[]uint32{0}, true}, // a group whose Parent was not set
		{[]uint32{1, 2, 0}, true},
		{[]uint32{NoRef, 2, 1}, true},
		{[]uint32{1, 2, 1}, true}, // a child of a cycle
		{[]uint32{9}, false},      // undefined parent
	} {
		d, c := &Definitions{}, &Definitions{}
		for _, p := range test.parents {
			d.Groups.Add(LocationGroup{Parent: p})
			c.Communicator.Add(Communicator{Parent: p})
		}
		if err := d.CheckTree(); (err != nil) != test.ring {
			t.Errorf("groups %v: %v", test.parents, err)
		}
		if err := c.CheckTree(); (err != nil) != test.ring {
			t.Errorf("communicators %v: %v", test.parents, err)
		}
	}
}

// TestCheckDeepTree checks a tree that is so deep that a search for the ancestors of each group would take minutes.
func TestCheckDeepTree(t *testing.T) {
	const n = 1 << 19
	down, up := &Definitions{}, &Definitions{}
	for i := range uint32(n) {
		down.Groups.Add(LocationGroup{Parent: i - 1}) // NoRef for group 0
		up.Groups.Add(LocationGroup{Parent: i + 1})
	}
	for _, d := range []*Definitions{down, up} {
		if err := d.CheckTree(); err != nil {
			t.Error(err)
		}
	}
	up.Groups.At(n - 1).Parent = 0
	if up.CheckTree() == nil {
		t.Error("found no cycle, expected one of all groups")
	}
}

// TestLaterThreads checks which threads are not the first ones of their processes. Locations of a node belong to no
// process.
func TestLaterThreads(t *testing.T) {
	d := &Definitions{}
	node := d.Groups.Add(LocationGroup{Kind: "node", Parent: NoRef})
	p := d.Groups.Add(LocationGroup{Kind: "process", Parent: node})
	q := d.Groups.Add(LocationGroup{Kind: "process", Parent: node})
	for _, g := range []uint32{p, q, p, node, node, NoRef, q, p} {
		d.Locations.Add(Location{Group: g})
	}
	want := []bool{false, false, true, false, false, false, true, true}
	if got := d.LaterThreads(); !slices.Equal(got, want) {
		t.Errorf("found %t, expected %t", got, want)
	}
}

// TestNameValue checks that a value with several names has none.
func TestNameValue(t *testing.T) {
	d := &Definitions{}
	one, two := IntValue(1), IntValue(2)
	for _, name := range []string{"a", "a"} {
		d.NameValue(one, name)
	}
	for _, name := range []string{"a", "b", "b"} {
		d.NameValue(two, name)
	}
	if d.ValueNames[one] != "a" || d.ValueNames[two] != "" {
		t.Errorf("found %q and %q, expected a and no name", d.ValueNames[one], d.ValueNames[two])
	}
}
