package generate

import (
	"context"
	"math"
	"math/bits"
	"strconv"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// The numbers of tasks, which are also the numbers of their regions. Objects go through the tasks A→B→C→D→E→G;
// objects of high complexity also go through B→F→G.
const (
	taskA = iota
	taskB
	taskC
	taskD
	taskE
	taskF
	taskG
	tasks
	arrival      = tasks     // region of the marks that record arrivals
	confirmation = tasks + 1 // region of the marks that confirm the end of an object, in traces with a period
)

// The numbers of resources, which are also the numbers of their locations.
const (
	cpu = iota
	gpu
	fpga1
	fpga2
	fpga3
	fpga4
	mem1
	mem2
	resources
	processors     = mem1
	eventsLocation = resources
	signalLocation = resources + 1
	cpsLocations   = resources + 2
)

// These are the indexes of the attributes in the definitions.
const (
	attrName = iota
	attrID
	attrComplexity
)

// none means that there is no object, no memory or no class.
const none = -1

// The numbers of the complexities of data objects.
const (
	low = iota
	medium
	high
)

var (
	taskNames  = [...]string{"A", "B", "C", "D", "E", "F", "G", "arrival", "done"}
	classNames = [...]string{"low", "medium", "high"}
	// processorOf maps each task to the processor on which it runs. memoryOf maps each task to the memory for
	// its output.
	processorOf = [tasks]int{cpu, gpu, fpga1, fpga2, fpga3, fpga4, cpu}
	memoryOf    = [tasks]int{mem1, mem2, mem1, mem2, mem1, mem2, none}
	// taskTimes holds the mean execution time of each task in µs, at medium complexity. classTimes holds the
	// factor of this time for each complexity.
	taskTimes  = [tasks]int64{1900, 3600, 3900, 4200, 3500, 3000, 1800}
	classTimes = [...]int64{600, 1000, 1500} // in thousandths of the time at medium complexity
)

// Amounts of memory are multiples of a quarter of a MB. They are therefore exact in binary and in
// decimal.
const quarters = 4

var capacity = [resources]int64{1, 1, 1, 1, 1, 1, 100 * quarters, 120 * quarters}

const (
	arrivalTime  = 4000 // mean time between two arrivals, in µs
	maxWaiting   = 4    // largest number of objects that have arrived and have not begun
	maxActive    = 16   // largest number of objects between tasks A and G
	preemptRan   = 200  // least time, in µs, for which task G must have run before it can be preempted
	preemptRest  = 300  // least time, in µs, that task G must still need when it is preempted
	fragmentTime = 10_000
)

type cpsPlan struct {
	seed   uint64
	events int64
}

func planCPS(o Options, d *trace.Definitions) (source, error) {
	// The decoder of TRACE files sets the same values.
	d.Origin = "etf"
	d.Clock = trace.Clock{Num: 1_000_000, Den: 1, Unit: 1000}
	text := func(key, value string) trace.Attr {
		return trace.Attr{Key: key, Value: trace.StringValue(value)}
	}
	for i, name := range [resources]string{"CPU", "GPU", "FPGA1", "FPGA2", "FPGA3", "FPGA4", "M1", "M2"} {
		id := strconv.Itoa(i)
		loc := d.Locations.Add(trace.Location{ID: id, Name: name, Kind: trace.ResourceLocation, Group: trace.NoRef})
		r := trace.Resource{ID: id, Name: name, Capacity: float64(capacity[i]), Location: loc,
			Attrs: []trace.Attr{text("name", name)}}
		if i >= mem1 {
			r.Unit, r.UsesOffset = "MB", true
			r.Capacity /= quarters
			r.Attrs = append(r.Attrs, text("unit", "MB"))
		}
		d.Resources.Add(r)
	}
	d.Locations.Add(trace.Location{ID: "E", Name: "events", Kind: trace.EventsLocation, Group: trace.NoRef})
	signal := d.Locations.Add(trace.Location{ID: "S0", Name: "temperature", Kind: trace.SignalLocation,
		Group: trace.NoRef})
	d.Metrics.Add(trace.MetricDef{ID: "0", Name: "temperature", Unit: "°C", Kind: trace.SignalMetric, Type: trace.Float64,
		Location: signal,
		Attrs:    []trace.Attr{text("name", "temperature"), text("unit", "°C")}})
	for _, name := range taskNames[:confirmation] {
		d.Regions.Add(trace.Region{Name: name})
	}
	for _, name := range []string{"name", "id", "complexity"} {
		d.Attributes.Add(trace.AttributeDef{Name: name, Type: trace.String})
	}
	if o.Period == 0 && o.Faults == (Faults{}) {
		return &cpsPlan{o.Seed, o.Events}, nil
	}
	d.Regions.Add(trace.Region{Name: taskNames[confirmation]})
	return planPeriodic(o, d)
}

func (p *cpsPlan) rowCount() int64 { return p.events }

func (p *cpsPlan) run(w *writer) {
	s := newCPS(p)
	s.w = w
	for s.step() && w.err == nil && (s.now < w.to || w.to == never) {
	}
}

// linkBatch is the number of links that are delivered together.
const linkBatch = 1024

// links repeats the simulation, which needs less memory than storing the links during the first simulation.
func (p *cpsPlan) links(ctx context.Context, sink format.Sink) error {
	s := newCPS(p)
	return deliverLinks(ctx, s, s.step, sink)
}

// deliverLinks runs the steps of a simulation and delivers the links that they add to s.
func deliverLinks(ctx context.Context, s *cps, step func() bool, sink format.Sink) error {
	s.links = make([]trace.Link, 0, linkBatch+maxActive)
	for more := true; more; {
		more = step()
		if len(s.links) < linkBatch && more || len(s.links) == 0 {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := sink.Links(s.links); err != nil {
			return err
		}
		s.links = s.links[:0]
	}
	return nil
}

// cps simulates the pipeline. A step of the simulation goes to the next time at which a task ends,
// an object arrives, or a fragment of the signal begins.
type cps struct {
	*cpsPlan
	w     *writer      // nil if only the links are needed
	links []trace.Link // nil if only the events are needed
	now   int64
	rows  []cpsRow // rows at the current time

	planned   int64 // number of rows that the objects so far write in total, including rows in the future
	arrivals  rng
	arrived   int64 // number of objects that have arrived
	started   int64
	next      int64 // time of the next arrival; the constant never if the queue is full
	exhausted bool  // no further objects will arrive
	waiting   [maxWaiting]data

	objects [maxActive]object
	active  uint16   // set of the objects in the pipeline; one bit for each object
	full    bool     // the first waiting object does not fit into the memories
	at      [2]int64 // where the first waiting object will lie in each of the two memories, as in object.at
	room    [2]int64
	ready   [tasks]queue
	proc    [processors]processorState
	paused  int // index of the object whose G was preempted, or none

	nextClaim int64
	nextLink  int64

	fragment int64 // time at which the next fragment of the signal begins
	heat     int64 // temperature at the time of the field fragment, in hundredths of a degree
}

// data is a data object that has arrived.
type data struct {
	text  string // number of the object in decimal
	class int
	size  int64 // size of each of the object's buffers, in quarters of a MB
	rng   rng   // random generator for the object's execution times
}

// object is a data object in the pipeline.
type object struct {
	data
	// All memory that an object will need is reserved when the object begins. Therefore objects in the
	// pipeline never wait for memory. at is the first quarter, and room the number of quarters, in each of the
	// memories M1 and M2.
	at, room  [2]int64
	claims    [tasks]endedClaim
	buffers   [tasks]int64 // id of the claim of memory for the output of each task
	done      uint8        // set of finished tasks; one bit for each task
	skips     bool         // the object leaves out task E
	preempted bool
	rest      int64 // time, in µs, that G still needs after it was preempted
}

// endedClaim is the id of a claim of a processor, and the time at which it ended.
type endedClaim struct{ id, end int64 }

// processorState is the task that a processor is running.
type processorState struct {
	object int // index of the object on which the processor works, or none
	task   int
	begin  int64
	end    int64
	claim  int64
}

// queue holds the objects that wait for a task, in the order of their arrival.
type queue struct {
	list        [maxActive]uint8
	first, next uint8
}

func (q *queue) empty() bool { return q.first == q.next }

func (q *queue) add(i int) {
	q.list[q.next%maxActive] = uint8(i)
	q.next++
}

func (q *queue) take() int {
	q.first++
	return int(q.list[(q.first-1)%maxActive])
}

// cpsRow is a row of the current time, before the rows of this time are sorted.
type cpsRow struct {
	loc   uint32
	kind  trace.Kind
	ref   uint32
	n     uint8 // number of operands
	ops   [4]uint64
	text  string // value of the attribute id; "" if the row does not have it
	class int    // value of the attribute complexity; none if the row does not have it
}

func newCPS(p *cpsPlan) *cps {
	s := &cps{cpsPlan: p, arrivals: newRNG(p.seed, 0), paused: none, heat: 4200}
	for i := range s.proc {
		s.proc[i] = processorState{object: none, end: never}
	}
	return s
}

// step moves to the next time at which something happens, and simulates the events of that time. It returns
// false after the last step.
func (s *cps) step() bool {
	s.now = min(s.next, s.fragment)
	for i := range s.proc {
		s.now = min(s.now, s.proc[i].end)
	}
	for i := range s.proc {
		if s.proc[i].end == s.now {
			s.finish(i)
		}
	}
	if s.next == s.now {
		s.arrive()
	}
	s.dispatch()
	if s.fragment == s.now {
		s.sample()
	}
	if s.w != nil {
		s.write()
	}
	return !s.exhausted || s.active != 0 || s.started < s.arrived
}

// add adds a row to the current step.
func (s *cps) add(r cpsRow) {
	if s.w != nil {
		s.rows = append(s.rows, r)
	}
}

// before reports whether row r comes before row q of the same time. The order is the order of the lines in a
// TRACE file: first ends of claims, in the order in which the claims began; then new claims by their ids; then
// events; then fragments.
func (r *cpsRow) before(q *cpsRow) bool {
	a, b := r.rank(), q.rank()
	if a != b {
		return a < b
	}
	return a < 2 && r.ops[0] < q.ops[0]
}

func (r *cpsRow) rank() int {
	switch r.kind {
	case trace.ClaimEnd:
		return 0
	case trace.ClaimBegin:
		return 1
	case trace.Mark:
		return 2
	}
	return 3
}

// write sorts and writes the rows of the current step.
func (s *cps) write() {
	rows := s.rows
	for i := 1; i < len(rows); i++ {
		for j := i; j > 0 && rows[j].before(&rows[j-1]); j-- {
			rows[j], rows[j-1] = rows[j-1], rows[j]
		}
	}
	for i := range rows {
		r := &rows[i]
		s.w.row(r.loc, s.now, r.kind, r.ref)
		b := &s.w.b
		b.AddOps(r.ops[:r.n]...)
		if r.text != "" {
			b.AddAttr(attrName, trace.StringValue(taskNames[r.ref]))
			b.AddAttr(attrID, trace.StringValue(r.text))
		}
		if r.class != none {
			b.AddAttr(attrComplexity, trace.StringValue(classNames[r.class]))
		}
	}
	s.rows = rows[:0]
}

// newData returns the data object with the given number.
func newData(seed uint64, number int64) data {
	d := data{text: strconv.FormatInt(number, 10), rng: newRNG(seed, 1+uint64(number))}
	switch x := d.rng.between(0, 100); {
	case x < 20:
		d.class, d.size = low, d.rng.between(5*quarters, 8*quarters)
	case x < 70:
		d.class, d.size = medium, d.rng.between(8*quarters, 12*quarters)
	default:
		d.class, d.size = high, d.rng.between(12*quarters, 18*quarters)
	}
	return d
}

// arrive simulates the arrival of a data object.
func (s *cps) arrive() {
	d := newData(s.seed, s.arrived)
	// An object needs a row for its arrival, two for the claim of each task, and two for the claim of each
	// output. Task G has no output.
	rows := int64(1 + 2*11)
	if d.class == high {
		rows += 2 * 2
	}
	if s.arrived > 0 && s.planned+rows/2 > s.events {
		s.exhausted, s.next = true, never
		return
	}
	s.planned += rows
	s.waiting[s.arrived%maxWaiting] = d
	s.add(cpsRow{loc: eventsLocation, kind: trace.Mark, ref: arrival, n: 1, ops: [4]uint64{uint64(s.arrived)},
		text: d.text, class: d.class})
	s.arrived++
	s.expect()
}

// expect schedules the next arrival, unless the queue of waiting objects is full.
func (s *cps) expect() {
	s.next = never
	if s.arrived-s.started < maxWaiting {
		s.next = s.now + arrivalTime/4 + s.arrivals.exponential(arrivalTime*3/4)
	}
}

// dispatch begins all tasks whose inputs and processors are available.
func (s *cps) dispatch() {
	for t := taskB; t <= taskF; t++ {
		if s.proc[processorOf[t]].object == none && !s.ready[t].empty() {
			s.begin(t, s.ready[t].take())
		}
	}
	p := &s.proc[cpu]
	// A preempts G, at most once for each object, if more than one object waits.
	if p.object != none && p.task == taskG && s.arrived-s.started > 1 && !s.objects[p.object].preempted &&
		s.now-p.begin >= preemptRan && p.end-s.now >= preemptRest && s.admit() {
		s.preempt(p)
	}
	switch {
	case p.object != none:
	case s.paused != none:
		i := s.paused
		s.paused = none
		s.begin(taskG, i)
	case !s.ready[taskG].empty():
		s.begin(taskG, s.ready[taskG].take())
	case s.admit():
		s.start()
	}
}

// admit reserves memory for the object that has waited longest. It reports whether the object can
// begin.
func (s *cps) admit() bool {
	if s.started == s.arrived || s.full {
		return false
	}
	d := &s.waiting[s.started%maxWaiting]
	s.room = [2]int64{d.size, d.size}
	if d.class == high {
		s.room[1] = 3 * d.size // room for the outputs of B, D and F, which exist at the same time
	}
	for m, n := range s.room {
		s.at[m] = s.place(m, n)
	}
	// Room becomes free only when another object ends.
	s.full = s.at[0] == none || s.at[1] == none || s.active == 1<<maxActive-1
	return !s.full
}

// place returns the position of the first n free quarters in a memory. It returns none if the memory does not
// have n free quarters in a row.
func (s *cps) place(m int, n int64) int64 {
	x := int64(0)
	for again := true; again; {
		again = false
		for a := s.active; a != 0; a &= a - 1 {
			o := &s.objects[bits.TrailingZeros16(a)]
			if o.at[m] < x+n && x < o.at[m]+o.room[m] {
				x, again = o.at[m]+o.room[m], true
			}
		}
	}
	if x+n > capacity[mem1+m] {
		return none
	}
	return x
}

// start begins task A of the object for which admit has reserved memory.
func (s *cps) start() {
	i := bits.TrailingZeros16(^s.active)
	s.active |= 1 << i
	s.objects[i] = object{data: s.waiting[s.started%maxWaiting], at: s.at, room: s.room}
	s.started++
	if s.next == never && !s.exhausted {
		s.expect()
	}
	s.begin(taskA, i)
}

// preempt interrupts task G on a processor, which then runs task A of the next object.
func (s *cps) preempt(p *processorState) {
	o := &s.objects[p.object]
	o.preempted, o.rest = true, p.end-s.now
	s.paused = p.object
	s.planned += 2
	s.release(p)
	s.start()
}

// begin begins a task of an object, or continues it after it was interrupted.
func (s *cps) begin(task, i int) {
	o := &s.objects[i]
	time := o.rest
	if !o.preempted {
		time = o.time(task)
	}
	s.run(task, i, time)
}

// time returns an execution time of a task.
func (o *object) time(task int) int64 {
	mean := taskTimes[task] * classTimes[o.class] / 1000
	return o.rng.between(mean*7/8, mean*9/8)
}

// run begins a task for an object, which takes the given time in µs. It begins the claims that the task needs.
func (s *cps) run(task, i int, time int64) {
	o := &s.objects[i]
	r := processorOf[task]
	s.proc[r] = processorState{object: i, task: task, begin: s.now, end: s.now + time, claim: s.nextClaim}
	s.add(cpsRow{loc: uint32(r), kind: trace.ClaimBegin, ref: uint32(task), n: 3,
		ops: [4]uint64{uint64(s.nextClaim), uint64(r), math.Float64bits(1)}, text: o.text, class: none})
	if s.links != nil {
		s.depend(task, o)
	}
	s.nextClaim++
	if m := memoryOf[task]; m != none {
		at := o.at[m-mem1]
		if o.class == high {
			at += [tasks]int64{taskD: 1, taskF: 2}[task] * o.size
		}
		o.buffers[task] = s.nextClaim
		s.add(cpsRow{loc: uint32(m), kind: trace.ClaimBegin, ref: uint32(task), n: 4,
			ops: [4]uint64{uint64(s.nextClaim), uint64(m), math.Float64bits(float64(o.size) / quarters),
				math.Float64bits(float64(at) / quarters)}, text: o.text, class: none})
		s.nextClaim++
	}
}

// depend adds links to a task that begins, from the tasks whose outputs it uses.
func (s *cps) depend(task int, o *object) {
	link := func(from int) {
		src, r := o.claims[from], uint32(processorOf[task])
		s.links = append(s.links, trace.Link{ID: s.nextLink,
			Src:   trace.End{Kind: trace.AtClaimEnd, ID: src.id, Location: uint32(processorOf[from]), Time: src.end},
			Dst:   trace.End{Kind: trace.AtClaimStart, ID: s.nextClaim, Location: r, Time: s.now},
			Attrs: application})
		s.nextLink++
	}
	switch task {
	case taskA:
	case taskF:
		link(taskB)
	case taskG:
		if o.preempted {
			link(taskG)
			return
		}
		if o.skips {
			link(taskD)
		} else {
			link(taskE)
		}
		if o.class == high {
			link(taskF)
		}
	default:
		link(task - 1)
	}
}

var application = []trace.Attr{{Key: "type", Value: trace.StringValue("application")}}

// release ends the claim of a processor by its task.
func (s *cps) release(p *processorState) {
	s.objects[p.object].claims[p.task] = endedClaim{p.claim, s.now}
	r := processorOf[p.task]
	s.add(cpsRow{loc: uint32(r), kind: trace.ClaimEnd, ref: uint32(p.task), n: 2,
		ops: [4]uint64{uint64(p.claim), uint64(r)}, class: none})
	p.object, p.end = none, never
}

// finish ends the task on processor r. It frees the inputs of the task, and puts the object into
// the queues of the tasks that can begin now.
func (s *cps) finish(r int) {
	i, task := s.complete(r)
	o := &s.objects[i]
	switch task {
	case taskA:
		s.ready[taskB].add(i)
	case taskB:
		s.ready[taskC].add(i)
		if o.class == high {
			s.ready[taskF].add(i)
		}
	case taskC:
		s.ready[taskD].add(i)
	case taskD:
		s.ready[taskE].add(i)
	case taskE:
		if o.class != high || o.hasDone(taskF) {
			s.ready[taskG].add(i)
		}
	case taskF:
		if o.hasDone(taskE) {
			s.ready[taskG].add(i)
		}
	case taskG:
		s.full = false
	}
}

func (o *object) hasDone(task int) bool { return o.done>>task&1 != 0 }

// complete ends the task on processor r and frees its inputs. It returns the object and the task.
func (s *cps) complete(r int) (i, task int) {
	p := &s.proc[r]
	i, task = p.object, p.task
	o := &s.objects[i]
	s.release(p)
	o.done |= 1 << task
	switch task {
	case taskB, taskD, taskE:
		s.free(o, task-1)
	case taskC:
		if o.class != high || o.hasDone(taskF) {
			s.free(o, taskB)
		}
	case taskF:
		if o.hasDone(taskC) {
			s.free(o, taskB)
		}
	case taskG:
		if o.skips {
			s.free(o, taskD)
		} else {
			s.free(o, taskE)
		}
		if o.class == high {
			s.free(o, taskF)
		}
		s.active &^= 1 << i
	}
	return i, task
}

// free ends the claim of memory for the output of a task.
func (s *cps) free(o *object, task int) {
	m := memoryOf[task]
	s.add(cpsRow{loc: uint32(m), kind: trace.ClaimEnd, ref: uint32(task), n: 2,
		ops: [4]uint64{uint64(o.buffers[task]), uint64(m)}, class: none})
}

// sample adds a fragment to the signal. The temperature approaches a value that depends on the number of busy
// processors. The coefficients have few decimal digits, so that the value at the end of a fragment exactly
// equals the value at the begin of the next fragment.
func (s *cps) sample() {
	goal := int64(4000)
	for i := range s.proc {
		if s.proc[i].object != none {
			goal += 500
		}
	}
	s.fragment += fragmentTime
	// The linear coefficient of a fragment, b thousandths per ms, changes the temperature by b hundredths over
	// the whole fragment. The quadratic coefficient, a ten-thousandths per ms², changes it by a hundredths.
	b := (goal - s.heat) / 4
	a := -b / 4
	s.add(cpsRow{loc: signalLocation, kind: trace.Fragment, ref: 0, n: 4, class: none, ops: [4]uint64{uint64(s.fragment),
		math.Float64bits(float64(s.heat) / 100), math.Float64bits(float64(b) / 1000), math.Float64bits(float64(a) / 10_000)}})
	s.heat += a + b
	s.planned++
}
