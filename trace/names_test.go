package trace

import (
	"slices"
	"testing"
)

// No two full names are the same: the process stands before the thread where threads of several
// processes have one name, and the id behind where that is not enough.
func TestFullNames(t *testing.T) {
	for _, x := range []struct {
		locations [][3]string // process, name, id
		want      []string
	}{
		{[][3]string{{"rank 0", "main", "1"}, {"rank 1", "helper", "2"}}, []string{"main", "helper"}},
		{[][3]string{{"rank 0", "main", "1"}, {"rank 1", "main", "2"}, {"rank 1", "helper", "3"}}, []string{"rank 0 · main", "rank 1 · main", "rank 1 · helper"}},
		{[][3]string{{"rank 0", "main", "1"}, {"rank 0", "main", "2"}, {"", "main", "3"}}, []string{"rank 0 · main (1)", "rank 0 · main (2)", "main"}},
		{[][3]string{{"", "", "1"}, {"", "", "2"}}, []string{"1", "2"}},
	} {
		d := &Definitions{}
		groups := map[string]uint32{"": NoRef}
		for _, l := range x.locations {
			if _, ok := groups[l[0]]; !ok {
				groups[l[0]] = d.Groups.Add(LocationGroup{Name: l[0], Kind: "process", Parent: NoRef})
			}
			d.Locations.Add(Location{ID: l[2], Name: l[1], Group: groups[l[0]]})
		}
		if got := d.FullNames(); !slices.Equal(got, x.want) {
			t.Errorf("found %q, expected %q", got, x.want)
		}
	}
}
