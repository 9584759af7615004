// Package generate creates synthetic traces: workloads of a well-known shape and any size. Equal
// options give equal traces on every machine. They serve tests, benchmarks and authors of trace
// tools.
//
// A generated trace is a [format.Events] like one read from a file, so that it is written by a
// conversion:
//
//	t, err := generate.New(generate.Options{Workload: "stencil", Events: 1e6})
//	...
//	err = format.Convert(ctx, t, trace.Everything(), encoder)
//
// Events are simulated while they are delivered. The memory of a scan depends on the number of
// locations, not on the number of events.
package generate

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// Workload describes one of the workloads.
type Workload struct {
	Name string // as in [Options]
	Doc  string // one sentence
	// Locations is the number of locations that a trace has unless the options
	// say otherwise.
	Locations int
}

// Options are the settings of a generated trace.
type Options struct {
	Workload string // a name from [Workloads]
	// Events is the approximate number of events (rows). A trace consists of whole iterations, at
	// least one, so that it has up to half an iteration more or less. 0 means DefaultEvents.
	Events int64
	// Locations is the number of processes. 0 means the workload's default. The number of locations of
	// cps is fixed.
	Locations int
	// Seed selects one of the traces of a workload.
	Seed uint64

	// The other options are those of the workload phases.

	// Threads is the number of threads of each process. 0 means 1.
	Threads int
	// Compute is the time for which each thread computes in an iteration, in nanoseconds. 0 means
	// DefaultCompute.
	Compute  int64
	Problems Problems
}

// DefaultEvents is the default of Options.Events.
const DefaultEvents = 100_000

// Limits of the options: times stay within int64, definitions within memory.
const (
	maxEvents    = 1_000_000_000_000
	maxLocations = 1 << 20
)

// source is a workload's plan for one set of options.
type source interface {
	// run simulates the workload from the beginning and writes its events.
	run(w *writer)
	// rows returns the exact or approximate number of events.
	rows() int64
}

// linker is a source with links.
type linker interface {
	// links simulates the workload again and delivers its links.
	links(ctx context.Context, sink format.Sink) error
}

// maker is a workload with the function that plans it and sets its definitions.
type maker struct {
	Workload
	least int // smallest number of locations
	fixed bool
	plan  func(o Options, d *trace.Definitions) (source, error)
}

var makers = []maker{
	{Workload{"stencil",
		"processes on a 2-D grid exchange halos with non-blocking messages, with an all-reduce every 10 iterations", 16}, 1,
		false, planStencil},
	{Workload{"ring", "a token goes round a ring of processes with blocking messages", 8}, 2, false, planRing},
	{Workload{"masterworker", "process 0 hands out tasks of random length to the others", 8}, 2, false, planMaster},
	{Workload{"calltree", "every process walks through a random call tree of 200 functions, up to 20 deep", 8}, 1, false,
		planCallTree},
	{Workload{"loops", "every process runs nested loops with irregular trip counts and samples counters", 8}, 1, false,
		planLoops},
	{Workload{"phases",
		"balanced processes compute, pass messages on, and meet in collective operations, with the problems that flags plant",
		8}, 1, false, planPhases},
	{Workload{"cps",
		"a pipeline of tasks A to G on processors and memories of an embedded system, as claims with dependencies (TRACE)",
		cpsLocations}, cpsLocations, true, planCPS},
}

// Workloads lists the workloads.
func Workloads() []Workload {
	var out []Workload
	for i := range makers {
		out = append(out, makers[i].Workload)
	}
	return out
}

// Trace is a generated trace. It may be scanned any number of times, also by
// several goroutines at once; every scan delivers the same events.
type Trace struct {
	defs trace.Definitions
	src  source
}

var _ format.Events = (*Trace)(nil)

// New plans a trace. The simulation runs in scans.
func New(o Options) (*Trace, error) {
	var m *maker
	var names []string
	for i := range makers {
		names = append(names, makers[i].Name)
		if makers[i].Name == o.Workload {
			m = &makers[i]
		}
	}
	if m == nil {
		return nil, fmt.Errorf("workload %q: expected one of %s", o.Workload, strings.Join(names, ", "))
	}
	if o.Events == 0 {
		o.Events = DefaultEvents
	}
	if o.Events < 0 || o.Events > maxEvents {
		return nil, fmt.Errorf("workload %s: found %d events, expected 1 to %d", m.Name, o.Events, int64(maxEvents))
	}
	if o.Locations == 0 {
		o.Locations = m.Locations
	}
	if m.fixed && o.Locations != m.Locations {
		return nil, fmt.Errorf("workload %s: found %d locations, expected %d: its number of locations cannot be chosen",
			m.Name, o.Locations, m.Locations)
	}
	if o.Locations < m.least || o.Locations > maxLocations {
		return nil, fmt.Errorf("workload %s: found %d locations, expected %d to %d", m.Name, o.Locations, m.least,
			maxLocations)
	}
	if m.Name != "phases" && (o.Threads != 0 || o.Compute != 0 || o.Problems != Problems{}) {
		return nil, fmt.Errorf("workload %s: threads, times of computing and problems are those of workload phases", m.Name)
	}
	t := &Trace{}
	for _, a := range [][2]string{{"generator", "weft generate"}, {"workload", m.Name},
		{"seed", strconv.FormatUint(o.Seed, 10)}} {
		t.defs.Properties.Add(trace.Attr{Key: a[0], Value: trace.StringValue(a[1])})
	}
	var err error
	if t.src, err = m.plan(o, &t.defs); err != nil {
		return nil, err
	}
	return t, nil
}

// Defs returns the definitions, which are complete.
func (t *Trace) Defs() *trace.Definitions { return &t.defs }

// Count returns the number of events of a scan. It is exact except for cps, where it is the
// requested number, from which a scan differs by at most 30 events.
func (t *Trace) Count() int64 { return t.src.rows() }

// Prepare does nothing.
func (t *Trace) Prepare(context.Context) error { return nil }

// Scan delivers all events in global time order, those with equal times in the order of their
// locations, or location by location. Events of one location come in the order in which they
// happened.
func (t *Trace) Scan(ctx context.Context, sel trace.Selection, order format.Order, sink format.Sink) error {
	sel, sink = format.ExactScan(&t.defs, sel, sink)
	if order == format.GlobalOrder {
		return t.ordered(ctx, sel, sink)
	}
	// Many locations need more room, or their batches become tiny.
	rows := min(max(1<<16, 64*t.defs.Locations.Len()), 1<<20)
	r := format.Regroup(sink, rows)
	if err := t.ordered(ctx, sel, r); err != nil {
		return err
	}
	return r.Flush()
}

func (t *Trace) ordered(ctx context.Context, sel trace.Selection, sink format.Sink) error {
	w := newWriter(ctx, sel, sink)
	t.src.run(w)
	if w.flush(); w.err != nil {
		return w.err
	}
	if l, ok := t.src.(linker); ok && sel.Links != trace.NoLinks {
		return l.links(ctx, sink)
	}
	return nil
}

// ScanParallel delivers from one goroutine.
func (t *Trace) ScanParallel(ctx context.Context, sel trace.Selection,
	begin func() func(worker int) format.Sink) error {
	return format.ScanInOne(ctx, t, sel, begin)
}
