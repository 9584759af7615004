package trace

import "testing"

// A group that is above itself is found, however far away.
func TestRings(t *testing.T) {
	for _, test := range []struct {
		parents []uint32
		ring    bool
	}{
		{[]uint32{NoRef, 0, 1}, false},
		{[]uint32{NoRef, NoRef}, false},
		{[]uint32{0}, true}, // as a LocationGroup without a Parent says
		{[]uint32{1, 2, 0}, true},
		{[]uint32{NoRef, 2, 1}, true},
		{[]uint32{1, 2, 1}, true}, // below a ring
		{[]uint32{9}, false},      // which is not there
	} {
		d, c := &Definitions{}, &Definitions{}
		for _, p := range test.parents {
			d.Groups.Add(LocationGroup{Parent: p})
			c.Communicator.Add(Communicator{Parent: p})
		}
		if err := d.Rings(); (err != nil) != test.ring {
			t.Errorf("groups %v: %v", test.parents, err)
		}
		if err := c.Rings(); (err != nil) != test.ring {
			t.Errorf("communicators %v: %v", test.parents, err)
		}
	}
}
