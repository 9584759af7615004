package generate

import (
	"fmt"
	"math"

	"github.com/weft-trace/weft/trace"
)

// codePlan is the plan of a workload without messages. Each location has a fixed number of rows.
type codePlan struct {
	seed  uint64
	n     int
	share int64 // minimum number of rows of each location
	more  int   // number of locations with grain more rows than share
	grain int64
	start func(p *codePlan, a *agenda, w *writer) program
}

// newCodePlan distributes the events over the locations, in multiples of grain.
func newCodePlan(o Options, grain int64, start func(*codePlan, *agenda, *writer) program) *codePlan {
	n := int64(o.Locations)
	grains := max(2*n, (o.Events+grain/2)/grain)
	return &codePlan{o.Seed, o.Locations, grains / n * grain, int(grains % n), grain, start}
}

func (p *codePlan) rowCount() int64 { return p.share*int64(p.n) + int64(p.more)*p.grain }

func (p *codePlan) run(w *writer) {
	a := newAgenda(p.n)
	simulate(a, p.start(p, a, w), w)
}

// begin puts location i on the agenda. It returns the random generator of the location, and the number of its
// rows.
func (p *codePlan) begin(a *agenda, i int) (r rng, left int64) {
	r = newRNG(p.seed, uint64(i))
	a.set(uint32(i), r.between(0, startupSkew))
	left = p.share
	if i < p.more {
		left += p.grain
	}
	return r, left
}

const (
	functions = 200
	maxDepth  = 20
	callees   = 8 // number of functions that a function may call
)

func planCallTree(o Options, d *trace.Definitions) (source, error) {
	var regions []trace.Region
	for i := 1; i < functions; i++ {
		r := userRegion(fmt.Sprintf("f%03d", i))
		r.File, r.Line = fmt.Sprintf("module%02d.c", i%16), int64(10+i/16*40)
		r.End = r.Line + 30
		regions = append(regions, r)
	}
	defineProcesses(d, o.Locations, false, regions...)
	return newCodePlan(o, 2, startCallTree), nil
}

type callTree struct {
	w     *writer
	ranks []callTreeRank
}

type callTreeRank struct {
	rng   rng
	left  int64 // number of rows that the location still has to write
	depth int64
	stack [maxDepth]uint8
}

func startCallTree(p *codePlan, a *agenda, w *writer) program {
	s := &callTree{w: w, ranks: make([]callTreeRank, p.n)}
	for i := range s.ranks {
		r := &s.ranks[i]
		r.rng, r.left = p.begin(a, i)
	}
	return s
}

func (s *callTree) step(loc uint32, t int64) int64 {
	r := &s.ranks[loc]
	x := r.rng.next()
	r.left--
	// Each open function needs one of the remaining rows for its leave. If enough rows remain, a function is
	// entered slightly more often than one is left, so that all depths occur.
	if r.depth == 0 || r.left > r.depth && r.depth < maxDepth && (r.depth == 1 || x&63 < 34) {
		f := uint8(mainRegion)
		if r.depth > 0 {
			f = callee(r.stack[r.depth-1], x>>6)
		}
		r.stack[r.depth] = f
		r.depth++
		s.w.row(loc, t, trace.Enter, uint32(f))
	} else {
		r.depth--
		s.w.row(loc, t, trace.Leave, uint32(r.stack[r.depth]))
	}
	if r.left == 0 {
		return never
	}
	// The time to the next row is between 50 ns and 8 µs. It is short in most cases.
	return t + 50 + int64(x>>16&1023)<<(x>>32&3)*int64(x>>48&1)
}

// callee returns one of the functions that f may call. The first of these functions are called more often.
func callee(f uint8, x uint64) uint8 {
	i := min(x%callees, x>>3%callees)
	h := (uint64(f)*callees + i + 1) * 0x9e3779b97f4a7c15
	return uint8(1 + h>>32%(functions-1))
}

// The numbers of the regions and metrics of the loops workload.
const (
	loopStepRegion = 1 + iota
	loopSweepRegion
	loopRowRegion
	firstKernelRegion // the first of the four kernels, which have consecutive numbers
)

const (
	loopInstructionsMetric = iota
	loopMissesMetric
	loopResidualMetric
	loopMetricCount
)

// loopMaxDepth is the largest number of open regions: main, the nested loops and a kernel.
const loopMaxDepth = firstKernelRegion + 1

func planLoops(o Options, d *trace.Definitions) (source, error) {
	defineProcesses(d, o.Locations, false, loopRegion("step"), loopRegion("sweep"), loopRegion("row"),
		userRegion("gather"), userRegion("smooth"), userRegion("scatter"), userRegion("refine"))
	for i, m := range []trace.MetricDef{
		{Name: "PAPI_TOT_INS", Unit: "#", Mode: "ACCUMULATED_START", Type: trace.Uint64},
		{Name: "PAPI_L2_DCM", Unit: "#", Mode: "ACCUMULATED_START", Type: trace.Uint64},
		{Name: "residual", Mode: "ABSOLUTE_POINT", Type: trace.Float64},
	} {
		m.ID, m.Kind, m.Location = fmt.Sprint(i), trace.CounterMetric, trace.NoRef
		d.Metrics.Add(m)
	}
	return newCodePlan(o, 1, startLoops), nil
}

type loops struct {
	w     *writer
	ranks []loopsRank
}

type loopsRank struct {
	rng      rng
	left     int64 // number of rows that the location still has to write
	depth    int64 // number of open regions
	trips    [loopMaxDepth]int64
	kernel   uint8
	sample   uint8 // number of metrics that remain to be sampled
	value    [2]uint64
	residual int64 // residual of the solver, in units of 2^-20
}

func startLoops(p *codePlan, a *agenda, w *writer) program {
	s := &loops{w: w, ranks: make([]loopsRank, p.n)}
	for i := range s.ranks {
		r := &s.ranks[i]
		r.rng, r.left = p.begin(a, i)
	}
	return s
}

func (s *loops) step(loc uint32, t int64) int64 {
	r := &s.ranks[loc]
	r.left--
	gap := r.rng.call()
	switch {
	case r.depth > 0 && (r.left == r.depth || r.sample > 0 && r.left > r.depth):
		// Write a sample of the counters, if enough rows remain to leave the open regions.
		s.measure(loc, r, t)
	case r.depth == 0 || r.left > r.depth && r.depth < loopMaxDepth && (r.depth == 1 || r.trips[r.depth-1] > 0):
		gap = s.enter(loc, r, t, gap)
	default:
		r.depth--
		ref := uint32(r.depth)
		if r.depth == firstKernelRegion {
			ref += uint32(r.kernel)
		}
		s.w.row(loc, t, trace.Leave, ref)
		if ref == loopSweepRegion {
			r.sample = loopMetricCount
		}
	}
	if r.left == 0 {
		return never
	}
	return t + gap
}

// enter enters the next inner region, and returns the time until the location's next row.
func (s *loops) enter(loc uint32, r *loopsRank, t, gap int64) int64 {
	d := r.depth
	if d > 1 {
		r.trips[d-1]--
	}
	ref := uint32(d)
	switch d {
	case loopStepRegion:
		// The solver starts again with a new system of equations.
		r.residual = 1 << 20
		r.trips[d] = r.rng.between(2, 7)
	case loopSweepRegion:
		r.trips[d] = r.rng.exponential(6) + 1
	case loopRowRegion:
		r.trips[d] = r.rng.exponential(10)
	case firstKernelRegion:
		x := r.rng.next()
		r.kernel = uint8(min(x&3, x>>2&3))
		ref += uint32(r.kernel)
		gap = 300<<r.kernel + int64(x>>8&255)
		r.value[loopInstructionsMetric] += uint64(gap)*3 + x>>16&1023
		r.value[loopMissesMetric] += x >> 32 & 63 << r.kernel
	}
	r.depth++
	s.w.row(loc, t, trace.Enter, ref)
	return gap
}

// measure writes a sample of a metric.
func (s *loops) measure(loc uint32, r *loopsRank, t int64) {
	m := uint32(loopInstructionsMetric)
	if r.sample > 0 {
		m = uint32(loopMetricCount - r.sample)
		r.sample--
	}
	var v uint64
	if m == loopResidualMetric {
		r.residual -= r.residual * r.rng.between(8, 48) >> 6
		v = math.Float64bits(float64(r.residual) / (1 << 20))
	} else {
		v = r.value[m]
	}
	s.w.row(loc, t, trace.Metric, m)
	s.w.b.AddOps(v)
}
