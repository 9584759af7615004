package collectives

import (
	"testing"

	"github.com/weft-trace/weft/analysis/internal/testtrace"
)

// TestRegions counts two barriers of two locations. Location 0 enters both in region 0, at 1 and 5. Location 1 enters
// the first one in region 0, at 3, and the second one outside of it, at 7. Each takes until 1 after its last member.
func TestRegions(t *testing.T) {
	d := defs(2)
	rows := join([]testtrace.Row{testtrace.Enter(0, 0, 0)}, callRows(0, 1, 4, 0, 0, none, 0, 0),
		callRows(0, 5, 8, 0, 0, none, 0, 0), []testtrace.Row{testtrace.Leave(0, 9, 0), testtrace.Enter(1, 2, 0)},
		callRows(1, 3, 4, 0, 0, none, 0, 0), []testtrace.Row{testtrace.Leave(1, 5, 0)}, callRows(1, 7, 8, 0, 0, none, 0, 0))
	for _, test := range []struct {
		region uint32
		want   string
	}{
		// The calls take 3, 3 and 1; both operations have a call in the region, and wait 3 − 1 and 7 − 5.
		{0, "0 barrier 3 0/0 {3 7 1 3} 2 {2 4 2 2} 0\n0 0"},
		{1, "0 0"},
	} {
		p := New(d, Options{Regions: func(region uint32) bool { return region == test.region }})
		for _, b := range testtrace.PerLocation(d, rows) {
			if err := p.Batch(b); err != nil {
				t.Fatal(err)
			}
		}
		if s := lines(p.Result()); s != test.want {
			t.Errorf("region %d: found\n%s\nexpected\n%s", test.region, s, test.want)
		}
	}
}
