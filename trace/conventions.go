package trace

import (
	"slices"
	"strconv"
	"strings"
)

// Conventions are the conventions of the format that defined the ids of a trace. A decoder sets
// them, so that code that reads a trace need not know its format.
type Conventions struct {
	// Nested reports that regions nest: a leave closes the innermost open region.
	Nested bool
	// OwnOperations reports that the trace numbers collective operations itself. The numbers are ids
	// of Definitions.Operations, not those of [OperationName]. Communicators then do not list the
	// locations that take part.
	OwnOperations bool
	// EventTypes reports that the id of a region is a number of PICL's list of event types, which
	// determines the role of the region, and that the id of a location is PROCESSOR/PROCESS.
	EventTypes bool
	// SignedIDs reports that ids of claims and events are any integers, -1 included, which has the bits
	// of Undefined.
	SignedIDs bool
	// AttributeKeys reports that each attribute of a definition or an event has a key.
	AttributeKeys bool
	// Words reports that attributes of definitions hold keywords of the format, such as a paradigm.
	Words bool
}

// operations are the names of collective operations, indexed by number.
var operations = [...]string{"barrier", "broadcast", "gather", "gatherv", "scatter", "scatterv", "allgather",
	"allgatherv", "alltoall", "alltoallv",
	"alltoallw", "allreduce", "reduce", "reduce-scatter", "scan", "exscan", "reduce-scatter-block", "create-handle",
	"destroy-handle", "allocate",
	"deallocate", "create-handle-and-allocate", "destroy-handle-and-deallocate"}

// OperationName returns the name of the collective operation with an OTF2 number. ok is false for
// numbers without a name. Traces with [Conventions.OwnOperations] use other numbers, for which
// [Definitions.OperationName] exists.
func OperationName(n uint64) (name string, ok bool) {
	if n >= uint64(len(operations)) {
		return "", false
	}
	return operations[n], true
}

// OperationName returns the name of the collective operation with the number that events of the
// trace use. ok is false if it has none. An operation that the trace names as MPI does, such as
// MPI_Allreduce, has the name that [OperationName] returns for it.
func (d *Definitions) OperationName(n uint64) (name string, ok bool) {
	if !d.Conventions.OwnOperations {
		return OperationName(n)
	}
	id := strconv.FormatUint(n, 10)
	for _, x := range d.Operations.All() {
		if x.ID != id || x.Name == "" {
			continue
		}
		if known, ok := OperationOf(x.Name); ok {
			return OperationName(known)
		}
		return x.Name, true
	}
	return "", false
}

// OperationNumber returns the inverse of [OperationName].
func OperationNumber(name string) (n uint64, ok bool) {
	i := slices.Index(operations[:], name)
	return uint64(i), i >= 0
}

// OperationOf returns the number of the collective operation that an MPI function, or its
// non-blocking form, performs: 11, allreduce, for MPI_Allreduce, PMPI_Iallreduce and
// mpi_allreduce_. ok is false for other functions.
func OperationOf(function string) (n uint64, ok bool) {
	name := strings.TrimPrefix(strings.TrimRight(strings.ToLower(function), "_"), "p")
	if name, ok = strings.CutPrefix(name, "mpi_"); !ok {
		return 0, false
	}
	name = strings.ReplaceAll(name, "_", "-")
	for _, x := range [...]string{name, strings.TrimPrefix(name, "i")} {
		if x == "bcast" {
			x = "broadcast"
		}
		if n, ok := OperationNumber(x); ok {
			return n, true
		}
	}
	return 0, false
}
