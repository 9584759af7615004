package generate

import (
	"context"
	"errors"
	"fmt"
	"math/bits"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// Faults are the faults of objects in the workload cps. The faults are independent of each other. With the
// zero value, all objects of the same complexity behave in the same way. The properties of the trace record
// the faults; see docs/commands/generate.md.
type Faults struct {
	Violations int64 // number of objects whose end is confirmed (mark done) before task G has ended
	Stragglers int64 // number of objects that wait between their arrival and task A
	Late       int64 // time, in µs, for which stragglers wait. 0 means LatePeriods periods
	Anomalies  int64 // number of objects that leave out task E; their complexity is medium
}

const (
	// DefaultPeriod is the time, in µs, between the arrivals of two objects in a trace with faults.
	DefaultPeriod = 8000
	// LatePeriods is the default of Faults.Late, in periods.
	LatePeriods = 10
)

// Limits of the period, in µs.
const (
	minPeriod = 1000
	maxPeriod = 10_000_000
)

// scheduled holds the time at which each task begins, in half periods after the begin of the period in which
// task A begins. With DefaultPeriod, tasks take less than a period. A and G share a processor, and each takes
// less than half a period.
var scheduled = [tasks]int64{taskA: 0, taskB: 2, taskC: 4, taskF: 4, taskD: 6, taskE: 8, taskG: 11}

// inFlight is the greatest number of objects that have begun task A and not ended task G at the same time.
const inFlight = 6

// The streams of random numbers that choose the objects with faults.
const (
	violationStream = 1<<63 + iota
	stragglerStream
	anomalyStream
)

// periodicPlan is the plan of the workload cps with a period: objects arrive at equal intervals. Tasks begin
// at fixed times in the period, so that no object waits for another object.
type periodicPlan struct {
	cpsPlan
	Faults
	period  int64
	objects int64
	waiting int64 // number of the first object that can have waited since the begin of the trace
}

// planPeriodic plans a trace with a period. The definitions of the workload are complete except for the properties.
func planPeriodic(o Options, d *trace.Definitions) (source, error) {
	p := &periodicPlan{cpsPlan: cpsPlan{o.Seed, o.Events}, Faults: o.Faults, period: o.Period}
	if p.period == 0 {
		p.period = DefaultPeriod
	}
	if p.period < minPeriod || p.period > maxPeriod {
		return nil, fmt.Errorf("period: found %d µs, expected %d to %d", p.period, minPeriod, maxPeriod)
	}
	if p.Late != 0 && p.Stragglers == 0 {
		return nil, errors.New("late: found no stragglers, expected stragglers that are late")
	}
	if p.Stragglers != 0 && p.Late == 0 {
		p.Late = LatePeriods * p.period
	}
	// An object has two marks, and the begins and ends of 11 claims, or of 13 claims if its complexity is
	// high. The signal has a fragment in each interval of length fragmentTime.
	const hundredths = 100*(2+2*11) + 30*2*2
	p.objects = round(100*o.Events, hundredths+100*p.period/fragmentTime)
	if p.objects > maxDuration/p.period {
		return nil, fmt.Errorf("workload cps: %d objects take too long, expected fewer events or a shorter period", p.objects)
	}
	if p.Stragglers != 0 {
		if p.Late < p.period || p.Late > maxDuration {
			return nil, fmt.Errorf("late: found %d µs, expected at least the period of %d µs", p.Late, p.period)
		}
		p.waiting = min((p.Late-1)/p.period+1, p.objects)
	}
	for _, x := range []struct {
		name       string
		n, objects int64
	}{{"violations", p.Violations, p.objects}, {"stragglers", p.Stragglers, p.objects - p.waiting},
		{"anomalies", p.Anomalies, p.objects}} {
		if x.n < 0 || x.n > x.objects {
			return nil, fmt.Errorf("%s: found %d, expected 0 to %d, the number of objects that can have this fault",
				x.name, x.n, x.objects)
		}
	}
	p.events = p.objects * (hundredths + 100*p.period/fragmentTime) / 100
	p.record(d)
	return p, nil
}

// record adds properties that describe the throughput and the faults.
func (p *periodicPlan) record(d *trace.Definitions) {
	add := func(key string, value any) {
		d.Properties.Add(trace.Attr{Key: key, Value: trace.StringValue(fmt.Sprint(value))})
	}
	add("objects", p.objects)
	add("period", p.period)
	check := func(fault string, n int64, formula string) {
		add("plant."+fault, n)
		add("plant."+fault+".check", fmt.Sprintf("check %s(i : 0 .. %d): %s", fault, p.objects-1, formula))
	}
	if p.Violations > 0 {
		check("violations", p.Violations, "not until ({'name' = 'done', 'id' = i} and not end {'name' = 'G', 'id' = i}) "+
			"we have that not end {'name' = 'G', 'id' = i}")
	}
	if p.Stragglers > 0 {
		check("stragglers", p.Stragglers, fmt.Sprintf("globally if {'name' = 'arrival', 'id' = i} then "+
			"finally within [0, %d us] end {'name' = 'G', 'id' = i}", inFlight*p.period))
		add("plant.stragglers.late", p.Late)
	}
	if p.Anomalies > 0 {
		add("plant.anomalies", p.Anomalies)
		add("plant.anomalies.task", taskNames[taskE])
	}
}

// chosen returns the number of the object that has fault i of n. The objects from first on are divided into n
// parts of equal size, and each part has one object with the fault.
func (p *periodicPlan) chosen(stream uint64, first, n, i int64) int64 {
	from, to := p.partBegin(first, n, i), p.partBegin(first, n, i+1)
	r := newRNG(p.seed^stream, uint64(i))
	return r.between(from, to)
}

// partBegin returns the first object of part i. The objects from first on are divided into n parts of equal size.
func (p *periodicPlan) partBegin(first, n, i int64) int64 {
	hi, lo := bits.Mul64(uint64(p.objects-first), uint64(i))
	q, _ := bits.Div64(hi, lo, uint64(n))
	return first + int64(q)
}

// hasFault reports whether an object is one of the n objects with a fault.
func (p *periodicPlan) hasFault(stream uint64, first, n, object int64) bool {
	if n == 0 || object < first {
		return false
	}
	hi, lo := bits.Mul64(uint64(object-first), uint64(n))
	q, _ := bits.Div64(hi, lo, uint64(p.objects-first))
	i := int64(q)
	if i+1 < n && p.partBegin(first, n, i+1) <= object {
		i++
	}
	return p.chosen(stream, first, n, i) == object
}

// data returns the properties of an object, which is given by its number. skips reports whether the object
// skips task E.
func (p *periodicPlan) data(object int64) (d data, skips bool) {
	d = newData(p.seed, object)
	d.size /= 3 // more objects are in the pipeline at the same time than without a period
	if skips = p.hasFault(anomalyStream, 0, p.Anomalies, object); skips {
		d.class = medium
	}
	return d, skips
}

func (p *periodicPlan) run(w *writer) {
	s := newPeriodic(p)
	s.w = w
	for s.step() && w.err == nil && (s.now < w.to || w.to == never) {
	}
}

func (p *periodicPlan) links(ctx context.Context, sink format.Sink) error {
	s := newPeriodic(p)
	return deliverLinks(ctx, &s.cps, s.step, sink)
}

// periodic simulates the pipeline with a period. A step of the simulation moves to the next time at which
// something happens.
type periodic struct {
	cps
	plan      *periodicPlan
	half      int64 // number of the next half period; each period has two
	straggler int64 // number of the next straggler to arrive
	arrival   int64 // arrival time of the next straggler
	confirmed int64 // time of the next mark with the name "done"
	object    int64 // number of the object of the next mark
}

func newPeriodic(p *periodicPlan) *periodic {
	s := &periodic{cps: *newCPS(&p.cpsPlan), plan: p, confirmed: never}
	s.expectStraggler()
	return s
}

// expectStraggler sets the time at which the next straggler arrives.
func (s *periodic) expectStraggler() {
	p := s.plan
	s.arrival = never
	if s.straggler < p.Stragglers {
		s.arrival = p.chosen(stragglerStream, p.waiting, p.Stragglers, s.straggler)*p.period - p.Late
	}
}

// step moves to the next time at which something happens, and simulates the events of that time. It returns
// false after the last step.
func (s *periodic) step() bool {
	p := s.plan
	next := s.half * p.period / 2
	more := s.half < 2*(p.objects+inFlight)
	if !more {
		next = never
	}
	s.now = min(next, s.fragment, s.arrival, s.confirmed)
	for i := range s.proc {
		s.now = min(s.now, s.proc[i].end)
	}
	for i := range s.proc {
		if s.proc[i].end == s.now {
			s.complete(i)
		}
	}
	if s.confirmed == s.now {
		s.mark(confirmation, s.object)
		s.confirmed = never
	}
	if s.arrival == s.now {
		s.mark(arrival, p.chosen(stragglerStream, p.waiting, p.Stragglers, s.straggler))
		s.straggler++
		s.expectStraggler()
	}
	if next == s.now {
		s.dispatch()
		s.half++
	}
	if s.fragment == s.now {
		s.sample()
	}
	if s.w != nil {
		s.write()
	}
	return more
}

// mark adds a mark of an object.
func (s *periodic) mark(region uint32, object int64) {
	d, _ := s.plan.data(object)
	id, class := object, d.class
	if region == confirmation {
		id, class = s.plan.objects+object, none
	}
	s.add(cpsRow{loc: eventsLocation, kind: trace.Mark, ref: region, n: 1, ops: [4]uint64{uint64(id)}, text: d.text,
		class: class})
}

// inFlightObject returns the state of an object that begins with task A. part is the part of the memories that
// it uses, since each object in flight has a part of its own.
func inFlightObject(d data, skips bool, part int64) object {
	return object{data: d, skips: skips,
		at: [2]int64{part * capacity[mem1] / inFlight, part * capacity[mem2] / inFlight}}
}

// dispatch begins the tasks of the current half of a period.
func (s *periodic) dispatch() {
	p := s.plan
	for t := range scheduled {
		after := s.half - scheduled[t]
		object := after / 2
		if after < 0 || after%2 != 0 || object >= p.objects {
			continue
		}
		i := int(object % inFlight)
		o := &s.objects[i]
		switch {
		case t == taskA:
			d, skips := p.data(object)
			*o = inFlightObject(d, skips, int64(i))
			s.active |= 1 << i
			if !p.hasFault(stragglerStream, p.waiting, p.Stragglers, object) {
				s.mark(arrival, object)
			}
		case t == taskE && o.skips, t == taskF && o.class != high:
			continue
		}
		time := o.time(t) * p.period / DefaultPeriod
		s.run(t, i, time)
		if t == taskG {
			// The mark is not at the same time as the end of G, because not all formats keep the order of
			// simultaneous events.
			s.object, s.confirmed = object, s.now+time+p.period/100
			if p.hasFault(violationStream, 0, p.Violations, object) {
				s.confirmed = s.now + p.period/100
			}
		}
	}
}
