package curve_test

import (
	"fmt"

	"github.com/weft-trace/weft/timeline/curve"
)

// ExamplePlotter plots a counter from 0 to 100 ticks in five columns. The counter is 2 from 0 on, 5
// from 30 on, and 1 from 35 on until the end. The column from 20 to 40 has all three values.
func ExamplePlotter() {
	p := curve.NewPlotter(curve.Steps, 0, 100, 5)
	p.Step(0, 2)
	p.Step(30, 5)
	p.Step(35, 1)
	p.Hold(100)
	c := p.Curve()
	for i := range c.Min {
		fmt.Printf("%d to %d: between %g and %g, %g at its end\n", 20*i, 20*i+20, c.Min[i], c.Max[i], c.Last[i])
	}
	// Output:
	// 0 to 20: between 2 and 2, 2 at its end
	// 20 to 40: between 1 and 5, 1 at its end
	// 40 to 60: between 1 and 1, 1 at its end
	// 60 to 80: between 1 and 1, 1 at its end
	// 80 to 100: between 1 and 1, 1 at its end
}
