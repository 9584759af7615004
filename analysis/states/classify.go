package states

import (
	"strconv"
	"strings"

	"github.com/weft-trace/weft/trace"
)

// State is what a processor does, as ParaGraph tells it.
type State uint8

// The states. They exclude each other, and a processor is always in one.
const (
	// Default stands for the state that [Options] documents.
	Default State = iota
	// Busy is anything else.
	Busy
	// Overhead is work in the communication subsystem, without waiting.
	Overhead
	// Idle is waiting for a message that has not arrived, and the time before
	// the processor starts and after it has finished.
	Idle
)

// String is the state's name in JSON and documents.
func (s State) String() string {
	return [...]string{"default", "busy", "overhead", "idle"}[s&3]
}

// Options says which regions mean which state. The zero value is the mapping of
// ParaGraph.
//
// In traces that stem from PICL (Definitions.Origin is "picl") the region's ID
// is the event type: idle inside -31, -52, -56, -61 and -601; overhead inside
// the other types from -11 to -80, from -401 to -500, the collectives -756 to
// -793, tracing -902 to -1000, -602 and -603; busy in all others.
//
// In other traces the first rule counts that fits, case aside: a group or role
// "idle" or "wait" is Idle; a name beginning with MPI_ or PMPI_ is Overhead,
// but for what Barrier, Collective and Wait say; a group or role "barrier" is
// what Barrier says; a name beginning with shmem_ or pvm_, a group or role
// beginning with "mpi", "shmem", "pvm" or "communication", and a group or role
// "overhead" or "measurement system" is Overhead; all others are Busy.
type Options struct {
	// Barrier is the state inside a barrier (PICL -402), Collective inside other
	// collective operations (PICL -756 to -793), UserOverhead inside PICL's "user
	// or parallel overhead" (-603). Default is Overhead for all three, although a
	// barrier is waited for in part, and -603 is the user's own code.
	Barrier, Collective, UserOverhead State
	// Wait is the state inside MPI's calls that wait for a message (MPI_Recv,
	// MPI_Wait…, MPI_Probe and the like). Default is Overhead, as for the rest of
	// MPI: the trace does not tell how long they waited. PICL has event types of
	// its own for waiting and does not use it.
	Wait State
	// Classify is asked first; Default as its answer leaves the choice to the
	// rules above.
	Classify func(r *trace.Region) State
	// Changes keeps 24 bytes of every change, so that batches may come in any
	// order of locations and parts that saw different processors can be merged.
	// Without it memory is bounded, and batches must come in global time order.
	Changes bool
	// Series asks for the states over time in a window; nil is none.
	Series *Window
	// Window counts the time in a window alone, whose Columns mean nothing; nil counts all.
	// Whose events are all outside of it was idle there. Series is not cut.
	Window *Window
}

// or is s, or other where s is Default.
func (s State) or(other State) State {
	if s == Default {
		return other
	}
	return s
}

// StateIn is the state inside a region by the rules that Options documents; origin is that of
// the definitions.
func (o *Options) StateIn(origin string, r *trace.Region) State {
	if o.Classify != nil {
		if s := o.Classify(r); s != Default {
			return s
		}
	}
	if origin == "picl" {
		if e, err := strconv.ParseInt(r.ID, 10, 64); err == nil {
			return o.event(e)
		}
	}
	return o.named(r)
}

// event classifies a PICL event type.
func (o *Options) event(e int64) State {
	switch {
	case e == -31, e == -52, e == -56, e == -61, e == -601:
		return Idle
	case e == -402:
		return o.Barrier.or(Overhead)
	case e <= -756 && e >= -793:
		return o.Collective.or(Overhead)
	case e == -603:
		return o.UserOverhead.or(Overhead)
	case e == -602, e <= -11 && e >= -80, e <= -401 && e >= -500, e <= -902 && e >= -1000:
		return Overhead
	}
	return Busy
}

var (
	waiting     = []string{"recv", "mrecv", "wait", "probe", "mprobe"}
	collectives = []string{"allgather", "allreduce", "alltoall", "bcast", "exscan", "gather", "neighbor", "reduce", "scan", "scatter"}
	libraries   = []string{"mpi", "shmem", "pvm", "communication"}
	calls       = []string{"mpi_", "shmem_", "pvm_"}
)

func beginsWith(s string, list []string) bool {
	for _, x := range list {
		if strings.HasPrefix(s, x) {
			return true
		}
	}
	return false
}

func (o *Options) named(r *trace.Region) State {
	group, role := strings.ToLower(r.Group), strings.ToLower(r.Role)
	if group == "idle" || group == "wait" || role == "idle" || role == "wait" {
		return Idle
	}
	name := strings.TrimPrefix(strings.ToLower(r.Name), "p")
	if !strings.HasPrefix(name, "mpi_") {
		name = strings.ToLower(r.Name)
	}
	if call, ok := strings.CutPrefix(name, "mpi_"); ok {
		switch {
		case strings.HasPrefix(call, "barrier"):
			return o.Barrier.or(Overhead)
		case beginsWith(call, collectives):
			return o.Collective.or(Overhead)
		case beginsWith(call, waiting) && !strings.HasPrefix(call, "recv_init"):
			return o.Wait.or(Overhead)
		}
		return Overhead
	}
	switch {
	case role == "barrier", group == "barrier":
		return o.Barrier.or(Overhead)
	case beginsWith(name, calls), beginsWith(group, libraries), beginsWith(role, libraries),
		group == "overhead", role == "overhead", group == "measurement system", role == "measurement system":
		return Overhead
	}
	return Busy
}
