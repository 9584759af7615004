// Package efficiency computes the efficiency factors of the POP project: which share of the time of a run is
// useful, and how much of the time is lost to load imbalance, to serialisation (processes that wait for each
// other), and to transfers. docs/analyses/efficiency.md has the formulas.
//
// Time is useful if it is spent neither in a communication library, nor in the runtime of a threading model,
// nor in calls for a device. A call for a device launches work on the device, transfers data to or from the
// device, or waits for the device.
//
// [Find] keeps the calls and waits of the trace in 12 MiB of memory and, above that, in temporary files of
// about 30 bytes per call.
package efficiency

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/weft-trace/weft/analysis/internal/history"
	"github.com/weft-trace/weft/analysis/internal/retime"
	"github.com/weft-trace/weft/analysis/internal/synclog"
	"github.com/weft-trace/weft/analysis/internal/waitstate"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// Options are the settings of the analysis.
type Options struct {
	// Rows maps regions to rows. The regions of a row count as one region. Nil counts each region by itself.
	Rows *trace.Rows
	// Part is set if the events are those of a part of a trace, such as a window. A part may have no calls of regions,
	// because all of its time is outside of calls.
	Part bool
}

// Result is the result of the analysis. Times are in ticks.
type Result struct {
	Clock     trace.Clock `json:"-"`
	Processes int         `json:"processes"` // number of processes; each location outside of processes counts as one
	Threads   int         `json:"threads"`   // number of threads of all processes, without streams of devices
	Streams   int         `json:"streams"`   // number of streams of devices
	Runtime   int64       `json:"runtime"`   // ticks from the first event of the trace to the last one
	Ideal     int64       `json:"ideal"`     // runtime in ticks if transfers took no time, computed from the trace
	Useful    trace.Ticks `json:"useful"`    // sum of the useful times of all threads in ticks
	UsefulMax int64       `json:"usefulMax"` // useful time in ticks of the thread with the most useful time
	Factors   Factors     `json:"factors"`
	// Hybrid holds the factors of programs with parallel regions of several threads. It is nil for other
	// programs.
	Hybrid *Hybrid `json:"hybrid,omitempty"`
	// Devices holds the factors of programs with streams of devices. It is nil for other programs.
	Devices *Devices `json:"devices,omitempty"`
	// Counters holds the counters of instructions and cycles. It is nil if the trace has none, and in the results of
	// FromHistory.
	Counters *Counters `json:"counters,omitempty"`
	// Violations has the contradictions of causality, because the clocks differ. It is nil if there are none.
	Violations *Violations `json:"violations,omitempty"`
	calls      bool        // the trace has calls of regions, or collective operations that take time
	inside     bool        // the events that were read have such calls or operations
	// runtime is set if the trace has time that can be other than useful: in communication, in the runtime of a
	// threading model, or in calls for devices.
	runtime bool
	unknown float64 // share of calls of communication libraries whose waits are unknown in the time of all threads
	// incomplete is set if the trace lacks members of communicators, so that waits for them count as transfer.
	incomplete bool
	// byThreads is set if the runtime of threads takes longer than communication, without waits, and transfer is low.
	byThreads bool
}

// Violations counts contradictions of causality. Worst is the greatest one in ticks.
type Violations = waitstate.Violations

// NoCalls and NoUsefulTime are the values of [Result.Missing]. NoCalls applies to traces without calls of regions and
// without collective operations that take time, and NoUsefulTime to all other traces.
const (
	NoCalls      = "found no calls of regions, expected some"
	NoUsefulTime = "found no useful time of processes or threads, expected some"
)

// HasCalls reports whether there are calls. A part of a trace without calls has factors only if the rest of the trace
// has calls.
func (r *Result) HasCalls() bool { return r.inside }

// Missing returns the reason why a trace has no factors, or "" if it has some.
func (r *Result) Missing() string {
	switch {
	case !r.calls:
		return NoCalls
	case r.UsefulMax <= 0:
		return NoUsefulTime
	}
	return ""
}

// Factors holds the factors of the standard model, from 0 to 1. Parallel is the product of LoadBalance and
// Communication. Communication is the product of Serialisation and Transfer.
type Factors struct {
	Parallel      float64 `json:"parallel"`
	LoadBalance   float64 `json:"load-balance"`
	Communication float64 `json:"communication"`
	Serialisation float64 `json:"serialisation"`
	Transfer      float64 `json:"transfer"`
}

// Hybrid holds the factors of programs with processes and threads. In the multiplicative model
// Factors.Parallel is the product of MPI and OpenMP.
type Hybrid struct {
	MPI              float64 `json:"mpi-parallel"`
	MPILoadBalance   float64 `json:"mpi-load-balance"`
	MPICommunication float64 `json:"mpi-communication"`
	MPISerialisation float64 `json:"mpi-serialisation"`
	MPITransfer      float64 `json:"mpi-transfer"`
	OpenMP           float64 `json:"omp-parallel"`
	OMPLoadBalance   float64 `json:"omp-load-balance"`
	OMPCommunication float64 `json:"omp-communication"`
	// These are the factors of the additive model. Parallel is Process + Thread - 1.
	Process              float64 `json:"process"`
	ProcessLoadBalance   float64 `json:"process-load-balance"`
	ProcessCommunication float64 `json:"process-communication"`
	ProcessSerialisation float64 `json:"process-serialisation"`
	ProcessTransfer      float64 `json:"process-transfer"`
	Thread               float64 `json:"thread"`
	SerialRegion         float64 `json:"serial-region"`
	OMPRegion            float64 `json:"omp-region"`
}

// Devices holds the factors of streams of devices, from 0 to 1. A stream is useful while it runs kernels. Parallel is
// the product of LoadBalance, Communication and Orchestration.
type Devices struct {
	Parallel      float64 `json:"parallel"`
	LoadBalance   float64 `json:"load-balance"`
	Communication float64 `json:"communication"` // factor for the loss by transfers
	Orchestration float64 `json:"orchestration"` // factor for the loss by streams without work
	// Offload is the useful time of the threads, divided by their time that is useful or in calls for devices.
	Offload float64 `json:"offload"`
}

// Find computes the factors of a trace. ok is false if [Result.Missing] returns a reason. The error is
// analysis.ErrTimeRange, or an error of the scan, of the temporary file, or of the context.
func Find(ctx context.Context, events format.Events, opt Options) (r *Result, ok bool, err error) {
	h, err := history.Build(ctx, events, history.Options{Rows: opt.Rows, Part: opt.Part})
	if err != nil {
		return nil, false, err
	}
	defer h.Close()
	r, ok, finish := FromHistory(h, opt.Part)
	if ok {
		ideal, err := retime.Makespan(ctx, h, IdealNetwork())
		if err != nil {
			return nil, false, err
		}
		finish(ideal)
		if r.Counters, err = findCounters(ctx, events, h); err != nil {
			return nil, false, err
		}
	}
	return r, ok, nil
}

// IdealNetwork returns the options of a network in which transfers take no time.
func IdealNetwork() retime.Options { return retime.Options{Transfer: 0} }

// FromHistory computes a result from a history, without its factors. The function finish sets the factors. Its
// argument is the runtime in ticks with [IdealNetwork]. finish must be called only if ok is true. part is
// [Options.Part].
func FromHistory(h *history.History, part bool) (r *Result, ok bool, finish func(ideal int64)) {
	c := sumThreads(h)
	r = &Result{Clock: h.Log.Defs.Clock, Processes: len(c.processes), Streams: c.devices.streams,
		Runtime: h.Log.Last - h.Log.First, Useful: c.useful, UsefulMax: c.most, Violations: h.Violations()}
	for _, p := range c.processes {
		r.Threads += p.threads
	}
	r.inside = c.operations || len(h.Log.Paths) > 0
	r.calls = r.inside || part && h.Log.Defs.Regions.Len() > 0 && c.most > 0
	r.runtime = c.operations || c.runtime || part && synclog.HasCalls(h.Log.Defs)
	r.unknown = h.UnknownShare()
	if r.Missing() != "" {
		return r, false, nil
	}
	r.incomplete = h.LacksMembers()
	return r, true, func(ideal int64) {
		c.setFactors(r, ideal)
		r.byThreads = r.Factors.Transfer < lowFactor && threadsTakeLonger(h)
	}
}

// threadsTakeLonger reports whether threads spend more time in the runtime of their threading model than in
// communication. Waits do not count.
func threadsTakeLonger(h *history.History) bool {
	kinds, _, _ := pathKinds(h)
	sums := map[kind]float64{}
	for at, t := range h.ExclusiveTimes() {
		if at.Path != synclog.NoPath {
			sums[kinds[at.Path]] += float64(t)
		}
	}
	return sums[threadTime] > sums[mpiTime]
}

// setFactors sets the factors of a result from the runtime in ticks on an ideal network.
func (s *sums) setFactors(r *Result, ideal int64) {
	r.Ideal = max(min(ideal, r.Runtime), s.most)
	t := float64(r.Runtime)
	mean := s.useful.Float() / float64(r.Threads)
	most, best := float64(s.most), float64(r.Ideal)
	r.Factors = Factors{mean / t, mean / most, most / t, most / best, best / t}
	if r.Threads > r.Processes && s.parallel {
		r.Hybrid = s.hybrid(r)
	}
	if s.devices.streams > 0 {
		r.Devices = s.devices.factors(r)
	}
}

// process sums the times of a process's threads, in ticks.
type process struct {
	threads       int
	mpi           int64       // time of the first thread in MPI calls
	parallel      int64       // time of the first thread in parallel regions
	serial        int64       // useful time of the first thread outside of parallel regions
	parallelTimes trace.Ticks // useful time of all threads in parallel regions
}

// sums holds the sums of all threads of a history: their useful time, and the greatest useful time of
// a thread.
type sums struct {
	useful    trace.Ticks
	most      int64
	processes []*process
	parallel  bool // some path is in a parallel region
	runtime   bool // some path is outside of useful time
	// operations is set if a thread has collective operations outside of calls that take time.
	operations bool
	devices    deviceSums
}

// deviceSums sums the times of streams of devices, in ticks.
type deviceSums struct {
	streams int
	kernels trace.Ticks
	runs    map[uint32]bool // groups with a stream that runs kernels
	copying map[uint32]int  // number of the streams of a group that only transfer data
	// greatest time of a stream in kernels, and greatest time of a stream in all work
	mostKernels, most int64
	calls             trace.Ticks // time of threads in calls for devices
}

// kind is the class of the time of a call path.
type kind uint8

const (
	usefulTime kind = iota
	mpiTime
	threadTime // in the runtime of a threading model, such as OpenMP, or waiting according to the trace
	deviceTime // in calls for devices
)

// Serial returns whether the time of each path is useful and outside of parallel regions, for the first threads of
// processes.
func Serial(h *history.History) []bool {
	kinds, _, parallel := pathKinds(h)
	serial := make([]bool, len(kinds))
	for i := range serial {
		serial[i] = kinds[i] == usefulTime && !parallel[i]
	}
	return serial
}

// pathKinds returns the class of the time of each path, and whether the path is in a parallel region: for all threads,
// and for the first thread of a process.
func pathKinds(h *history.History) (kinds []kind, parallel, ofFirst []bool) {
	log, n := h.Log, len(h.Log.Paths)
	kinds, parallel, ofFirst = make([]kind, n), make([]bool, n), make([]bool, n)
	initial := initialTasks(h)
	for i, p := range log.Paths {
		role := log.Role(uint32(i))
		kinds[i] = kindOf(log.Defs, p.Region, role, log.Communicates(uint32(i)))
		if p.Parent != synclog.NoPath && kinds[p.Parent] == mpiTime {
			kinds[i] = mpiTime
		}
		forks := role == trace.ForkRole
		parallel[i] = forks || p.Parent != synclog.NoPath && parallel[p.Parent]
		ofFirst[i] = forks && !initial[i] || p.Parent != synclog.NoPath && ofFirst[p.Parent]
	}
	return kinds, parallel, ofFirst
}

// kindOf returns the class of the time in a region that is not inside of a call of a communication library. The role of
// the region and whether it is such a call are given.
func kindOf(d *trace.Definitions, region uint32, role trace.Role, communicates bool) kind {
	switch {
	case communicates, role == trace.IORole && d.RegionParadigm(d.Regions.At(region)) == trace.MPI:
		return mpiTime
	case role == trace.BarrierRole, role == trace.ImplicitBarrierRole, role == trace.ConditionRole,
		role == trace.ThreadRole, role == trace.TaskCreateRole, role == trace.TaskWaitRole, role == trace.WaitingRole,
		role == trace.LockRole && !isBody(d.Regions.At(region)):
		return threadTime
	case role == trace.LaunchRole, role == trace.TransferRole, role == trace.DeviceSyncRole:
		return deviceTime
	}
	return usefulTime
}

// initialTasks returns whether each path is that of an implicit task of OpenMP that encloses parallel regions. In the
// first thread, this is the initial task, which EZTrace records with OMPT around the whole program.
func initialTasks(h *history.History) []bool {
	d := h.Log.Defs
	encloses, initial := make([]bool, len(h.Log.Paths)), make([]bool, len(h.Log.Paths))
	for i, p := range slices.Backward(h.Log.Paths) { // a parent has a lower index than its children
		forks := h.Log.Role(uint32(i)) == trace.ForkRole
		initial[i] = encloses[i] && forks && d.IsImplicitTask(p.Region)
		if p.Parent != synclog.NoPath && (encloses[i] || forks && !d.IsImplicitTask(p.Region)) {
			encloses[p.Parent] = true
		}
	}
	return initial
}

// sumThreads sums the times of all threads.
func sumThreads(h *history.History) *sums {
	d := h.Log.Defs
	kinds, parallel, ofFirst := pathKinds(h)
	c := &sums{parallel: slices.Contains(parallel, true),
		runtime: slices.ContainsFunc(kinds, func(k kind) bool { return k != usefulTime }),
		devices: deviceSums{runs: map[uint32]bool{}, copying: map[uint32]int{}}}
	byGroup := map[uint32]*process{}
	for i, l := range h.Locations {
		if l == nil || d.Locations.Has(uint32(i)) && !d.Locations.At(uint32(i)).Kind.IsProcessor() {
			continue
		}
		if d.IsStream(uint32(i)) {
			c.devices.add(h, uint32(i))
			continue
		}
		if h.Log.Sleeps(uint32(i)) {
			continue
		}
		p := &process{}
		if loc := uint32(i); d.Locations.Has(loc) && d.Groups.Has(d.Locations.At(loc).Group) &&
			d.Groups.At(d.Locations.At(loc).Group).Kind == "process" {
			g := d.Locations.At(loc).Group
			if byGroup[g] == nil {
				byGroup[g] = p
				c.processes = append(c.processes, p)
			}
			p = byGroup[g]
		} else {
			c.processes = append(c.processes, p)
		}
		if p.threads == 0 {
			c.addThread(p, h, uint32(i), kinds, ofFirst)
		} else {
			c.addThread(p, h, uint32(i), kinds, parallel)
		}
	}
	return c
}

// isBody reports whether a region contains the body of a critical section, and not only the entry or exit of
// the section. Such a region is a structured block, which its role or its name states ("_sblock", or
// "!$omp critical sblock @file:line"), or a region in which EZTrace records the whole section.
func isBody(r *trace.Region) bool {
	name := strings.ToLower(r.Name)
	return strings.HasSuffix(strings.ToLower(r.Role), "_sblock") || strings.HasPrefix(name, "!$omp critical sblock") ||
		strings.HasPrefix(name, "!$omp ordered sblock") || r.Name == "OpenMP critical" || r.Name == "OpenMP Ordered"
}

// addThread adds the times of a thread to its process. Time outside of all regions is useful, with one
// exception: a thread that is not the first one of its process and works in parallel regions waits for work
// when it is outside of all regions. This time counts as time in the threading runtime, and so do waits in a region
// with the body of a critical section. The time of a collective operation outside of calls is time in MPI.
func (s *sums) addThread(p *process, h *history.History, loc uint32, kinds []kind, parallel []bool) {
	sleeps := p.threads > 0 && h.Locations[loc].InTeams
	useful := int64(0)
	kindOf := func(path uint32) (k kind, inside bool) {
		switch {
		case path != synclog.NoPath:
			return kinds[path], parallel[path]
		case sleeps:
			return threadTime, false
		}
		return usefulTime, false
	}
	add := func(k kind, inside bool, t int64) {
		switch {
		case k == deviceTime:
			s.devices.calls.Add(t)
		case k == usefulTime:
			useful += t
			if inside {
				p.parallelTimes.Add(t)
			}
		}
		if p.threads == 0 { // the first thread
			if k == mpiTime {
				p.mpi += t
			}
			switch {
			case inside && k != mpiTime:
				p.parallel += t
			case k == usefulTime:
				p.serial += t
			}
		}
	}
	h.Log.Times(loc, func(path uint32, t int64) {
		k, inside := kindOf(path)
		if k == usefulTime && h.Log.Role(path) == trace.LockRole {
			wait := min(t, h.Waited(path, loc)) // the region contains the whole critical section
			add(threadTime, inside, wait)
			t -= wait
		}
		add(k, inside, t)
	})
	h.Log.OperationTimes(loc, func(path uint32, t int64) {
		s.operations = true
		k, inside := kindOf(path)
		add(k, inside, -t)
		add(mpiTime, inside, t)
	})
	if t := h.Log.PendingTime(loc); t > 0 && sleeps {
		add(threadTime, false, -t)
		add(usefulTime, true, t)
	}
	p.threads++
	s.useful.Add(useful)
	s.most = max(s.most, useful)
}

// add adds the times of a stream.
func (s *deviceSums) add(h *history.History, loc uint32) {
	kernels, transfers := int64(0), int64(0)
	h.Log.Times(loc, func(path uint32, t int64) {
		if path == synclog.NoPath {
			return
		}
		switch h.Log.Role(path) {
		case trace.WaitingRole:
		case trace.TransferRole:
			transfers += t
		default:
			kernels += t
		}
	})
	transfers += h.Locations[loc].OutsideWork()
	s.streams++
	group := trace.NoRef
	if h.Log.Defs.Locations.Has(loc) {
		group = h.Log.Defs.Locations.At(loc).Group
	}
	if kernels > 0 {
		s.runs[group] = true
	} else if transfers > 0 {
		s.copying[group]++
	}
	s.kernels.Add(kernels)
	s.mostKernels, s.most = max(s.mostKernels, kernels), max(s.most, kernels+transfers)
}

// factors returns the factors of the streams, or nil if they have no work. r must have the useful time and the runtime.
func (s *deviceSums) factors(r *Result) *Devices {
	if s.mostKernels <= 0 {
		return nil
	}
	counted := s.streams
	for group, n := range s.copying {
		if s.runs[group] {
			counted -= n
		}
	}
	mean, most, all, t := s.kernels.Float()/float64(counted), float64(s.mostKernels), float64(s.most), float64(r.Runtime)
	useful := r.Useful.Float()
	return &Devices{mean / t, mean / most, most / all, all / t, useful / (useful + s.calls.Float())}
}

// hybrid returns the factors of a program with several threads in a process. r must have the other
// factors.
func (s *sums) hybrid(r *Result) *Hybrid {
	t, threads := float64(r.Runtime), float64(r.Threads)
	var sumOutside, maxOutside, parallel, serial, maxBoth, serialSum, inside float64
	for _, p := range s.processes {
		n := float64(p.threads)
		sumOutside += t - float64(p.mpi)
		maxOutside = math.Max(maxOutside, t-float64(p.mpi))
		parallel += n * float64(p.parallel) / threads
		serial += n * float64(p.serial) / threads
		maxBoth = math.Max(maxBoth, float64(p.parallel+p.serial))
		serialSum += float64(p.serial) / threads
		inside += p.parallelTimes.Float() / threads
	}
	h := &Hybrid{}
	h.MPILoadBalance = sumOutside / float64(len(s.processes)) / maxOutside
	h.MPICommunication = maxOutside / t
	h.MPI = h.MPILoadBalance * h.MPICommunication
	ideal := math.Max(float64(r.Ideal), maxOutside)
	h.MPISerialisation, h.MPITransfer = maxOutside/ideal, ideal/t
	h.OpenMP = r.Factors.Parallel / h.MPI
	h.OMPLoadBalance = r.Factors.LoadBalance / h.MPILoadBalance
	h.OMPCommunication = r.Factors.Communication / h.MPICommunication
	mean := r.Useful.Float() / threads
	h.Process = (parallel + serial) / t
	h.ProcessLoadBalance = 1 - (maxBoth-parallel-serial)/t
	h.ProcessCommunication = maxBoth / t
	ideal = math.Max(float64(r.Ideal), maxBoth)
	h.ProcessSerialisation = 1 - (ideal-maxBoth)/t
	h.ProcessTransfer = ideal / t
	h.Thread = 1 - (parallel+serial-mean)/t
	h.SerialRegion = 1 - (serial-serialSum)/t
	h.OMPRegion = 1 - (parallel-inside)/t
	return h
}
