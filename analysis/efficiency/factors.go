package efficiency

import (
	"fmt"

	"github.com/weft-trace/weft/analysis/internal/history"
)

// Scaling compares a run with a reference run of the same program.
type Scaling struct {
	// Computation is the useful time of the reference run divided by the useful time of the run.
	Computation float64 `json:"computation"`
	// Global is the product of Computation and the parallel efficiency of the run.
	Global float64 `json:"global"`
	// Speedup is the runtime of the reference run divided by the runtime of the run.
	Speedup float64 `json:"speedup"`
	// Counters divides Computation into factors. It is nil unless both runs have counters of instructions and cycles.
	Counters *CounterScaling `json:"counters,omitempty"`
}

// CounterScaling holds the factors of Scaling.Computation.
type CounterScaling struct {
	// Instructions is the number of instructions of the reference run, divided by that of the run.
	Instructions float64 `json:"instructions"`
	// IPC is the number of instructions per cycle of the run, divided by that of the reference run.
	IPC float64 `json:"ipc"`
	// Frequency is the number of cycles per useful time of the run, divided by that of the reference run.
	Frequency float64 `json:"frequency"`
}

// Scale compares a run with a reference. If weak is set, the work is assumed to grow with the
// number of threads; otherwise it is assumed to be the same.
func Scale(reference, run *Result, weak bool) Scaling {
	s := Scaling{Computation: seconds(reference, reference.Useful.Float()) / seconds(run, run.Useful.Float()),
		Speedup: seconds(reference, float64(reference.Runtime)) / seconds(run, float64(run.Runtime))}
	if weak {
		s.Computation *= float64(run.Threads) / float64(reference.Threads)
	}
	s.Global = s.Computation * run.Factors.Parallel
	if a, b := reference.Counters, run.Counters; a.complete() && b.complete() {
		s.Counters = &CounterScaling{Instructions: a.Instructions / b.Instructions,
			IPC:       b.Instructions / b.Cycles * a.Cycles / a.Instructions,
			Frequency: b.Cycles / seconds(run, run.Useful.Float()) * seconds(reference, reference.Useful.Float()) / a.Cycles}
		if weak {
			s.Counters.Instructions *= float64(run.Threads) / float64(reference.Threads)
		}
	}
	return s
}

// seconds returns ticks of the run's clock in seconds.
func seconds(r *Result, ticks float64) float64 {
	return ticks * float64(r.Clock.Den) / float64(r.Clock.Num)
}

// Factor is a factor of a result. If it is a product or sum of other factors, these factors follow it in the
// list, with the next greater Level.
type Factor struct {
	Name  string
	Level int
	Value func(r *Result) float64 // returns the value of the factor
}

// Model is a list of factors in the order of their tree. Has reports whether a result has these factors. If it
// does not, the functions of the factors must not be called for the result.
type Model struct {
	Factors []Factor
	Has     func(r *Result) bool
}

// Models returns all models, the standard one first.
func Models() []Model {
	return []Model{
		{StandardFactors(), func(*Result) bool { return true }},
		{hybridFactors(), func(r *Result) bool { return r.Hybrid != nil }},
		{deviceFactors(), func(r *Result) bool { return r.Devices != nil }},
	}
}

// StandardFactors returns the factors of the standard model, in the order of their tree.
func StandardFactors() []Factor {
	return []Factor{
		{"parallel efficiency", 0, func(r *Result) float64 { return r.Factors.Parallel }},
		{"load balance", 1, func(r *Result) float64 { return r.Factors.LoadBalance }},
		{"communication", 1, func(r *Result) float64 { return r.Factors.Communication }},
		{"serialisation", 2, func(r *Result) float64 { return r.Factors.Serialisation }},
		{"transfer", 2, func(r *Result) float64 { return r.Factors.Transfer }},
	}
}

// hybridFactors returns the factors of [Result.Hybrid], in the order of their trees. The factors of the
// multiplicative model come first, then the factors of the additive model.
func hybridFactors() []Factor {
	return []Factor{
		{"MPI parallel efficiency", 0, func(r *Result) float64 { return r.Hybrid.MPI }},
		{"MPI load balance", 1, func(r *Result) float64 { return r.Hybrid.MPILoadBalance }},
		{"MPI communication", 1, func(r *Result) float64 { return r.Hybrid.MPICommunication }},
		{"MPI serialisation", 2, func(r *Result) float64 { return r.Hybrid.MPISerialisation }},
		{"MPI transfer", 2, func(r *Result) float64 { return r.Hybrid.MPITransfer }},
		{"OpenMP parallel efficiency", 0, func(r *Result) float64 { return r.Hybrid.OpenMP }},
		{"OpenMP load balance", 1, func(r *Result) float64 { return r.Hybrid.OMPLoadBalance }},
		{"OpenMP communication", 1, func(r *Result) float64 { return r.Hybrid.OMPCommunication }},
		{"process efficiency (additive)", 0, func(r *Result) float64 { return r.Hybrid.Process }},
		{"process load balance", 1, func(r *Result) float64 { return r.Hybrid.ProcessLoadBalance }},
		{"process communication", 1, func(r *Result) float64 { return r.Hybrid.ProcessCommunication }},
		{"process serialisation", 2, func(r *Result) float64 { return r.Hybrid.ProcessSerialisation }},
		{"process transfer", 2, func(r *Result) float64 { return r.Hybrid.ProcessTransfer }},
		{"thread efficiency (additive)", 0, func(r *Result) float64 { return r.Hybrid.Thread }},
		{"serial region", 1, func(r *Result) float64 { return r.Hybrid.SerialRegion }},
		{"OpenMP region", 1, func(r *Result) float64 { return r.Hybrid.OMPRegion }},
	}
}

// deviceFactors returns the factors of [Result.Devices], in the order of their tree.
func deviceFactors() []Factor {
	return []Factor{
		{"device efficiency", 0, func(r *Result) float64 { return r.Devices.Parallel }},
		{"device load balance", 1, func(r *Result) float64 { return r.Devices.LoadBalance }},
		{"device communication", 1, func(r *Result) float64 { return r.Devices.Communication }},
		{"device orchestration", 1, func(r *Result) float64 { return r.Devices.Orchestration }},
		{"offload efficiency", 0, func(r *Result) float64 { return r.Devices.Offload }},
	}
}

// lowFactor is the value below which a factor gets a sentence.
const lowFactor = 0.8

// Sentences returns a sentence about each factor below 0.8 that is not a product of other factors. If the trace of
// several threads records nothing but useful time, there is a sentence about that, and about calls whose waits are
// unknown if they take much time. Transfer has no sentence of its own if such calls explain it.
func (r *Result) Sentences() (list []string) {
	if !r.runtime && r.Threads > 1 {
		list = append(list, "The trace records no calls of a communication library or of a threading runtime. The time in "+
			"such calls counts as useful.")
	}
	if r.unknown >= history.MuchUnknown {
		list = append(list, fmt.Sprintf("Calls whose waits are unknown take %.0f %% of the time of all threads; weft waits "+
			"lists them. Without these waits, the ideal runtime may be too short or too long, and so serialisation and "+
			"transfer may be wrong.", 100*r.unknown))
	}
	say := func(f float64, format string) {
		if f < lowFactor && f > 0 {
			list = append(list, fmt.Sprintf(format, 100*(1-f)))
		}
	}
	say(r.Factors.LoadBalance, "Load balance: some threads compute longer than others, and %.0f %% of the time of the "+
		"longest one is lost by the mean; weft explain shows which calls are longer where.")
	say(r.Factors.Serialisation, "Serialisation: for %.0f %% of the ideal runtime even the busiest thread waits for "+
		"others, or has not begun or has ended; weft path shows the chain.")
	switch {
	case r.incomplete:
		say(r.Factors.Transfer, "Transfer: communication, and waits for members of communicators that the trace lacks, take "+
			"%.0f %% of the runtime; all locations together show how much of it are waits.")
	case r.byThreads:
		say(r.Factors.Transfer, "Transfer: the runtime of the threads, such as their barriers, takes %.0f %% of the "+
			"runtime; fewer barriers and larger parallel regions help, and no more threads than cores.")
	case 1-r.Factors.Transfer-r.unknown > 1-lowFactor:
		say(r.Factors.Transfer, "Transfer: the network and the library take %.0f %% of the runtime; fewer, larger or "+
			"overlapping messages help; weft comm shows sizes.")
	}
	if h := r.Hybrid; h != nil {
		say(h.SerialRegion, "Serial regions: %.0f %% of the time of all threads is lost while one thread of a process "+
			"works alone.")
		say(h.OMPRegion, "OpenMP regions: %.0f %% of the time is lost in the runtime of parallel regions and at their "+
			"barriers.")
	}
	if d := r.Devices; d != nil {
		say(d.Orchestration, "Device orchestration: for %.0f %% of the runtime even the busiest stream has no work; weft "+
			"waits shows for which launches the streams wait.")
		say(d.Communication, "Device communication: %.0f %% of the work of the busiest stream are transfers.")
		say(d.LoadBalance, "Device load balance: some streams run kernels longer than others, and %.0f %% of the time of "+
			"the busiest one is lost by the mean.")
		say(d.Offload, "Offload: %.0f %% of the time of the threads outside of communication is spent in calls for devices.")
	}
	return list
}
