package generate

import (
	"strconv"

	"github.com/weft-trace/weft/trace"
)

// ranksPerNode is the number of processes on a node.
const ranksPerNode = 4

// In all workloads of processes, region 0 is main. If the workload has messages, it has a single communicator,
// with number 0.
const (
	mainRegion = 0
	world      = 0
)

// defineProcesses sets the definitions of n processes and the given regions. Regions whose names begin
// with MPI_ get the paradigm MPI.
func defineProcesses(d *trace.Definitions, n int, messages bool, regions ...trace.Region) {
	d.Clock = trace.TicksPerSecond(1_000_000_000)
	for i := range (n + ranksPerNode - 1) / ranksPerNode {
		s := strconv.Itoa(i)
		d.Groups.Add(trace.LocationGroup{ID: s, Name: "node " + s, Kind: "machine", Parent: trace.NoRef})
	}
	for i := range n {
		s := strconv.Itoa(i)
		d.Locations.Add(trace.Location{ID: s, Name: "rank " + s, Kind: trace.ProcessLocation,
			Group: uint32(i / ranksPerNode)})
	}
	for i, r := range append([]trace.Region{userRegion("main")}, regions...) {
		r.ID = strconv.Itoa(i)
		d.Regions.Add(r)
	}
	if !messages {
		return
	}
	ids := make([]int64, n)
	for i := range ids {
		ids[i] = int64(i)
	}
	set := d.Sets.Add(trace.Set{ID: "0", Name: "MPI_COMM_WORLD", Kind: "locations", Members: ids})
	d.Communicator.Add(trace.Communicator{ID: "0", Name: "MPI_COMM_WORLD", Set: set, Parent: trace.NoRef})
}

func userRegion(name string) trace.Region {
	return trace.Region{Name: name, Group: "USER", Role: "function"}
}

func loopRegion(name string) trace.Region {
	return trace.Region{Name: name, Group: "USER", Role: "loop"}
}

func mpiRegion(name, role string) trace.Region {
	return trace.Region{Name: name, Group: "MPI", Role: role}
}

// The times and rates of message passing. Times are in nanoseconds.
const (
	latency     = 1500
	bytesPerNS  = 10 // bandwidth in bytes per nanosecond
	callMin     = 80 // shortest and longest time between two events of one call
	callMax     = 400
	startupSkew = 50_000
)

// call returns a random time between two events of an MPI call.
func (r *rng) call() int64 { return r.between(callMin, callMax) }

// round returns a / b, rounded to the nearest integer, but at least 1.
func round(a, b int64) int64 { return max(1, (a+b/2)/b) }
