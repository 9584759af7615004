package signals

import (
	"slices"

	"github.com/weft-trace/weft/analysis/internal/claims"
)

// Line is a linear piece of a signal. Its value at u ticks after From is Start + Rise·u/Per. Per is
// greater than 0.
type Line struct {
	From, To    int64
	Start, Rise float64
	Per         int64
}

// Result selects the number that a [Growing] computes from step functions.
type Result int

// These are the numbers that a [Growing] can compute.
const (
	Sum       Result = iota // the sum of the step functions
	OpenCount               // the number of step functions that are open
	Quotient                // the number of open step functions divided by their sum, or 0
)

// Growing computes a signal from step functions while step functions are still being added. It can also
// compute averages of the signal over the last ticks. The delivered lines do not depend on the times at which
// Until is called.
type Growing struct {
	result        Result
	averagedTicks int64 // number of ticks that averages cover; 0 stands for no averages
	first         int64

	edges Sweep  // edges after the last call of Until
	set   []step // steps like edges, for the values of Set
	sum   claims.Sum
	open  int

	at    int64      // time of the last change of the signal
	value [2]float64 // averages at time at: of the sum, and of the number of open step functions
	// steps that the window has not left, and the step before them; the last step is the current one
	steps  []step
	recent [2]claims.Sum // areas of all steps except for the current one
	early  [2]claims.Sum // areas of the steps that end before the begin of the window
	begin  int           // the step in which the window begins
	leaves int           // index of the next step whose begin leaves the window
}

// step is a constant piece of a step function, up to the begin of the next one.
type step struct {
	from int64
	v    [2]float64
}

// NewGrowing returns a signal without step functions, from time first on. If averaged is positive,
// the value of the signal at each time is the average over the last averaged ticks. Before its begin, the
// signal counts as 0.
func NewGrowing(result Result, first, averaged int64) *Growing {
	return &Growing{result: result, averagedTicks: averaged, first: first, at: first, steps: []step{{from: first}}}
}

// Begin adds a value from a time on.
func (g *Growing) Begin(t int64, v float64) { g.edges = append(g.edges, edge{t, v, false}) }

// Sweep sets the step functions of a signal that has none.
func (g *Growing) Sweep(s Sweep) { g.edges = s }

// Lines estimates how many lines the step functions after the last call of Until produce.
func (g *Growing) Lines() int {
	if g.averagedTicks > 0 {
		return 2*(len(g.edges)+len(g.set)) + 2
	}
	return len(g.edges) + len(g.set) + 1
}

// End removes a value that began at an earlier time.
func (g *Growing) End(from, t int64, v float64) {
	if from < t {
		g.edges = append(g.edges, edge{t, -v, true})
		return
	}
	for i := len(g.edges) - 1; i >= 0; i-- { // the function has no duration
		if g.edges[i] == (edge{from, v, false}) {
			g.edges = slices.Delete(g.edges, i, i+1)
			return
		}
	}
}

// Set sets the value from a time on. It is an alternative to Begin and End. Times must increase.
func (g *Growing) Set(t int64, v float64) { g.set = append(g.set, step{t, [2]float64{v, 1}}) }

// Until delivers the lines up to a time. After the call, no step function may be added before this time. If
// the last delivered line was incomplete, the first new line replaces it; both lines have the same begin. last
// must be set at the end of the trace. Until returns the time up to which the signal is known.
func (g *Growing) Until(t int64, last bool, line func(Line)) int64 {
	g.edges.sort()
	i := 0
	for i < len(g.edges) && g.edges[i].time < t {
		at := g.edges[i].time
		for ; i < len(g.edges) && g.edges[i].time == at; i++ {
			g.sum.Add(g.edges[i].by)
			if g.open++; g.edges[i].end {
				g.open -= 2
			}
			// The sum is exactly 0 while no function is open, in spite of rounding errors.
			if g.open == 0 {
				g.sum = claims.Sum{}
			}
		}
		g.change(at, [2]float64{g.sum.Finite(1), float64(g.open)}, line)
	}
	g.edges = slices.Delete(g.edges, 0, i)
	for len(g.set) > 0 && g.set[0].from < t {
		g.change(g.set[0].from, g.set[0].v, line)
		g.set = g.set[1:]
	}
	g.advance(t, last, line)
	if g.result == Quotient && g.averagedTicks > 0 {
		return g.at // a quotient is linear between two changes, and the next change is not known yet
	}
	return t
}

// change begins a step.
func (g *Growing) change(t int64, v [2]float64, line func(Line)) {
	g.advance(t, true, line)
	now := &g.steps[len(g.steps)-1]
	if now.from == t {
		now.v = v
		return
	}
	if g.averagedTicks <= 0 {
		*now = step{t, v}
		return
	}
	for i, x := range now.v {
		g.recent[i].AddArea(x, float64(t-now.from))
	}
	g.steps = append(g.steps, step{t, v})
}

// advance delivers the lines up to a time. whole must be set if the signal changes at this time.
func (g *Growing) advance(t int64, whole bool, line func(Line)) {
	for g.at < t {
		next, ends, leaves := t, whole, false
		if g.averagedTicks > 0 && g.leaves < len(g.steps) && t-g.steps[g.leaves].from >= g.averagedTicks {
			next, ends, leaves = g.steps[g.leaves].from+g.averagedTicks, true, true
		}
		if !g.deliverLine(next, ends, line) {
			return
		}
		if g.at = next; leaves {
			g.leaves++
		}
		g.trim()
	}
}

// deliverLine delivers the line from the last change to time t. ends must be set if the signal changes at t.
// The result is false if the line is incomplete.
func (g *Growing) deliverLine(t int64, ends bool, line func(Line)) bool {
	now := g.steps[len(g.steps)-1].v
	x := Line{From: g.at, To: t, Per: 1}
	switch {
	case g.averagedTicks <= 0:
		x.Start = g.partValue(now)
	case g.result == Quotient:
		if !ends {
			return false
		}
		value := g.average(t)
		start, end := quotients(g.value, value)
		x.Start, x.Rise, x.Per = start, end-start, t-g.at
		g.value = value
	default:
		left := [2]float64{}
		if g.leaves > 0 {
			left = g.steps[g.leaves-1].v
		}
		x.Start, x.Rise, x.Per = g.partValue(g.value), g.partValue(now)-g.partValue(left), g.averagedTicks
		if ends {
			g.value = g.average(t)
		}
	}
	line(x)
	return ends
}

// partValue returns the number that the field part selects, computed from the sum and the number of open step
// functions in v.
func (g *Growing) partValue(v [2]float64) float64 {
	switch {
	case g.result == Sum:
		return v[0]
	case g.result == OpenCount:
		return v[1]
	}
	return quotient(v[1], v[0])
}

// average returns the averages over the last ticks at time t.
func (g *Growing) average(t int64) (v [2]float64) {
	now := &g.steps[len(g.steps)-1]
	area := g.recent
	for i, x := range now.v {
		area[i].AddArea(x, float64(t-now.from))
	}
	if t-g.first > g.averagedTicks {
		from := t - g.averagedTicks
		for g.begin+1 < len(g.steps) && g.steps[g.begin+1].from <= from {
			s := &g.steps[g.begin]
			g.begin++
			for i, x := range s.v {
				g.early[i].AddArea(x, float64(g.steps[g.begin].from-s.from))
			}
		}
		s := &g.steps[g.begin]
		for i, x := range s.v {
			area[i].AddSum(&g.early[i], -1)
			area[i].AddArea(x, -float64(from-s.from))
		}
	}
	for i := range v {
		v[i] = area[i].Finite(float64(g.averagedTicks))
	}
	return v
}

// trim removes the steps that the window has left.
func (g *Growing) trim() {
	n := min(g.begin, g.leaves-1)
	if n < 1024 || n < len(g.steps)/2 {
		return
	}
	g.steps = slices.Delete(g.steps, 0, n)
	g.begin, g.leaves = g.begin-n, g.leaves-n
}

// ScaleTimes multiplies all times by a factor. averaged is the number of new ticks that averages cover.
func (g *Growing) ScaleTimes(factor, averaged int64) {
	g.averagedTicks, g.first, g.at = averaged, g.first*factor, g.at*factor
	for i := range g.edges {
		g.edges[i].time *= factor
	}
	for i := range g.set {
		g.set[i].from *= factor
	}
	for i := range g.steps {
		g.steps[i].from *= factor
	}
	for i := range g.recent {
		recent, early := g.recent[i], g.early[i]
		g.recent[i], g.early[i] = claims.Sum{}, claims.Sum{}
		g.recent[i].AddSum(&recent, float64(factor))
		g.early[i].AddSum(&early, float64(factor))
	}
}
