package states

import (
	"cmp"
	"strings"

	"github.com/weft-trace/weft/trace"
)

// State is the state of a processor as ParaGraph defines it, or a gap.
type State uint8

// These are the states. At any time, a processor is in exactly one of them.
const (
	// Default is not a state. It stands for the state that the documentation of [Options] names.
	Default State = iota
	// Busy is the time that belongs to no other state.
	Busy
	// Overhead is work in the communication subsystem, without waits.
	Overhead
	// Idle is the time of waiting for a message that has not arrived, and the time before a processor
	// starts and after it finishes.
	Idle
	// Gap is time in which nothing was recorded. An example is the time from an entry to an exit of PICL's
	// event type for full buffers.
	Gap
	// outside is time outside of the visits of wanted regions. Results do not include this time.
	outside
)

// String returns the state's name as in JSON and documents.
func (s State) String() string {
	return [...]string{"default", "busy", "overhead", "idle", "gap", "outside"}[min(s, outside)]
}

// Options are the settings of an analysis: they map regions to states. The zero value is the
// mapping of ParaGraph.
//
// In traces whose regions are event types (trace.Conventions) the region's ID determines the state:
// idle inside -31, -52, -56, -61 and -601; overhead inside the other types from -11 to -80, from
// -401 to -500, the collectives -756 to -793, tracing -902 to -1000 except the full buffers -913
// and -914, -602 and -603; a gap inside these two; busy in all others.
//
// In other traces the first matching rule counts, ignoring case: a group or role "idle" or "wait"
// is Idle; a name beginning with MPI_ or PMPI_ is Overhead, unless Barrier, Collective or Wait
// define it; a group or role "barrier" is the state in Barrier; a name beginning with shmem_ or
// pvm_, a group or role beginning with "mpi", "shmem", "pvm" or "communication", and a group or
// role "overhead" or "measurement system" is Overhead; all others are Busy.
type Options struct {
	// Barrier is the state inside a barrier (PICL -402), Collective inside other collective operations (PICL
	// -756 to -793), and UserOverhead inside PICL's "user or parallel overhead" (-603). Default means Overhead
	// for all three. This default is a convention. In fact, a part of a barrier is waiting, and -603 is the
	// user's own code.
	Barrier, Collective, UserOverhead State
	// Wait is the state inside the calls of MPI that wait for a message (MPI_Recv, MPI_Wait…,
	// MPI_Probe and others). Default means Overhead, as for the other calls of MPI, because the
	// trace does not record how long they waited. PICL has separate event types for waiting, so
	// that Wait has no effect.
	Wait State
	// Waits holds times in which processors are idle even if regions are open. It can be nil. It has no effect
	// with Changes, and no effect in traces that mark when tracing is on.
	Waits *Waits
	// Classify returns the state inside a region. If it is nil or returns Default, the rules above
	// apply.
	Classify func(r *trace.Region) State
	// Regions limits the times of a processor to the visits, at one of its locations, of regions for which
	// Regions returns true. Nil means all times. Regions must not be used together with Series.
	Regions func(region uint32) bool
	// Changes keeps each change of a state in memory, with 24 bytes for each. With it, batches of the
	// locations may come in any order, and parts that have handled different processors can be merged.
	// Without it, memory is bounded, and batches must come in global time order.
	Changes bool
	// Series requests the shares of the states over time in a window. Nil requests none.
	Series *Columns
	// Window limits the counted time. Nil means the whole trace. A processor whose events are all
	// outside of the window counts as idle in it. Window does not limit Series.
	Window *trace.Window
}

// StateIn returns the state inside a region of a trace by the rules of [Options].
func (o *Options) StateIn(d *trace.Definitions, r *trace.Region) State {
	if o.Classify != nil {
		if s := o.Classify(r); s != Default {
			return s
		}
	}
	role, passes := d.RegionRole(r), d.RegionParadigm(r).PassesMessages()
	switch {
	case role == trace.WaitingRole:
		return Idle
	case d.Conventions.EventTypes && (r.ID == "-913" || r.ID == "-914"):
		return Gap
	case role == trace.RuntimeRole:
		return Overhead
	case role == trace.UserOverheadRole:
		return cmp.Or(o.UserOverhead, Overhead)
	case role == trace.BarrierRole &&
		(passes || strings.EqualFold(r.Role, "barrier") || strings.EqualFold(r.Group, "barrier")):
		return cmp.Or(o.Barrier, Overhead)
	case passes && role.IsCollective():
		return cmp.Or(o.Collective, Overhead)
	case passes && (role == trace.ReceiveRole || role == trace.CompletionRole || role == trace.ProbeRole):
		return cmp.Or(o.Wait, Overhead)
	case passes:
		return Overhead
	}
	return Busy
}
