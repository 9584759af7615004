// Package generate creates synthetic traces: workloads of known structure and of any size. Equal options
// result in equal traces on every machine. The traces serve tests, benchmarks and authors of trace tools.
//
// A generated trace is a [format.Events], like a trace that is read from a file. A conversion therefore writes
// it:
//
//	t, err := generate.New(generate.Options{Workload: "stencil", Events: 1e6})
//	...
//	err = format.Convert(ctx, t, trace.Everything(), encoder)
//
// Scans simulate the workload and deliver its events immediately. The memory that a scan needs depends on the
// number of locations, not on the number of events.
package generate

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// Workload describes a workload that can be generated.
type Workload struct {
	Name string // value for Options.Workload
	Doc  string // description in one sentence
	// Locations is the default number of locations.
	Locations int
}

// Options holds the settings of a generated trace.
type Options struct {
	Workload string // name of one of the [Workloads]
	// Events is the approximate number of events. A trace consists of one or more whole iterations. Therefore
	// the number may differ from Events by half an iteration. 0 means DefaultEvents.
	Events int64
	// Locations is the number of processes. 0 means the default of the workload. The workload cps has a fixed
	// number of locations, and ignores this option.
	Locations int
	// Seed selects one of the traces of a workload.
	Seed uint64

	// The following options apply only to the workload phases.

	// Threads is the number of threads of each process. 0 means 1.
	Threads int
	// Compute is the time, in nanoseconds, for which each thread computes in an iteration. 0 means
	// DefaultCompute.
	Compute  int64
	Problems Problems

	// The following options apply only to the workload cps.

	// Period is the time, in µs, between the arrivals of two objects. 0 means that objects arrive at random times
	// and wait for each other, or DefaultPeriod if there are Faults.
	Period int64
	Faults Faults
}

// DefaultEvents is the default of Options.Events.
const DefaultEvents = 100_000

// The bounds of the options. They keep times within int64, and limit the memory for definitions.
const (
	maxEvents    = 1_000_000_000_000
	maxLocations = 1 << 20
)

// source is a planned trace: a workload with given options.
type source interface {
	// run simulates the workload from the beginning and writes its events.
	run(w *writer)
	// rowCount returns the number of events, exactly or approximately.
	rowCount() int64
}

// linker is a source that also generates links.
type linker interface {
	// links simulates the workload again and delivers its links.
	links(ctx context.Context, sink format.Sink) error
}

// workloadMaker is a workload together with the function that plans its traces and sets their definitions.
type workloadMaker struct {
	Workload
	least int // least number of locations
	fixed bool
	plan  func(o Options, d *trace.Definitions) (source, error)
}

var makers = []workloadMaker{
	{Workload{"stencil",
		"processes on a 2-D grid exchange halos with non-blocking messages, with an all-reduce every 10 iterations", 16}, 1,
		false, planStencil},
	{Workload{"ring", "processes in a ring pass on a token with blocking messages", 8}, 2, false, planRing},
	{Workload{"masterworker",
		"process 0 distributes tasks of random length to the other processes", 8}, 2,
		false, planMaster},
	{Workload{"calltree", "every process walks through a random call tree of 200 functions, up to 20 deep", 8}, 1, false,
		planCallTree},
	{Workload{"loops", "every process runs nested loops with irregular trip counts and samples counters", 8}, 1, false,
		planLoops},
	{Workload{"phases",
		"balanced processes compute, send messages and take part in collective operations; flags add problems",
		8}, 1, false, planPhases},
	{Workload{"cps",
		"a pipeline of tasks A to G on processors and memories of an embedded system, as claims with dependencies (TRACE)",
		cpsLocations}, cpsLocations, true, planCPS},
}

// Workloads returns the workloads that can be generated, with their default numbers of locations.
func Workloads() []Workload {
	var out []Workload
	for i := range makers {
		out = append(out, makers[i].Workload)
	}
	return out
}

// Trace is a generated trace. It can be scanned several times, and by several goroutines at the
// same time. Each scan delivers the same events.
type Trace struct {
	defs trace.Definitions
	src  source
}

var _ format.Events = (*Trace)(nil)

// New plans a trace. It returns an error for invalid options. Only scans simulate the workload.
func New(o Options) (*Trace, error) {
	var m *workloadMaker
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
		return nil, fmt.Errorf("workload %s: found %s, expected 1 to %d", m.Name, plural.Of(o.Events, "event"),
			int64(maxEvents))
	}
	if o.Locations == 0 {
		o.Locations = m.Locations
	}
	if m.fixed && o.Locations != m.Locations {
		return nil, fmt.Errorf("workload %s: found %s, expected %d: its number of locations cannot be chosen",
			m.Name, plural.Of(o.Locations, "location"), m.Locations)
	}
	if o.Locations < m.least || o.Locations > maxLocations {
		return nil, fmt.Errorf("workload %s: found %s, expected %d to %d", m.Name, plural.Of(o.Locations, "location"),
			m.least,
			maxLocations)
	}
	if m.Name != "phases" && (o.Threads != 0 || o.Compute != 0 || o.Problems != Problems{}) {
		return nil, fmt.Errorf("workload %s: only workload phases has threads, computing times and problems", m.Name)
	}
	if m.Name != "cps" && (o.Period != 0 || o.Faults != Faults{}) {
		return nil, fmt.Errorf("workload %s: only workload cps has periods, violations, stragglers and anomalies", m.Name)
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

// Defs returns the definitions. They are complete from the beginning.
func (t *Trace) Defs() *trace.Definitions { return &t.defs }

// Count returns the number of events of a scan. It is exact for all workloads except cps. For cps without a
// period, it is the requested number, which differs from the number in a scan by at most 30. For cps with a
// period, it is the mean number for random complexities.
func (t *Trace) Count() int64 { return t.src.rowCount() }

// Prepare does nothing, because the definitions are complete.
func (t *Trace) Prepare(context.Context) error { return nil }

// Scan delivers all events in the order of time, or location by location. In the order of time, events with
// equal times are in the order of their locations. The events of a location are always in the order in which
// they happened.
func (t *Trace) Scan(ctx context.Context, sel trace.Selection, order format.Order, sink format.Sink) error {
	sel, sink = format.ExactScan(&t.defs, sel, sink)
	if order == format.GlobalOrder {
		return t.ordered(ctx, sel, sink)
	}
	// With many locations, the buffer is larger, because the batches of a location would otherwise be tiny.
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

// ScanParallel delivers all events from one goroutine.
func (t *Trace) ScanParallel(ctx context.Context, sel trace.Selection,
	begin func() func(worker int) format.Sink) error {
	return format.ScanInOne(ctx, t, sel, begin)
}
