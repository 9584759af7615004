package trace

import (
	"slices"
	"strconv"
	"strings"
)

// Conventions are what the format whose ids a trace bears takes for granted. A decoder fills
// them in, so that who looks at a trace need not know its format.
type Conventions struct {
	// Nested: regions nest, so that a leave closes the innermost open region.
	Nested bool
	// OwnOperations: collective operations have numbers of the trace's own, which are ids of
	// Definitions.Operations, not those of [OperationName], and communicators do not tell who
	// takes part.
	OwnOperations bool
	// EventTypes: the id of a region is a number of PICL's list of event types, which says what
	// role it has, and the id of a location is PROCESSOR/PROCESS.
	EventTypes bool
	// Words: attributes of definitions hold words of the format, such as a paradigm.
	Words bool
}

// operations are the names of collective operations by their numbers.
var operations = [...]string{"barrier", "broadcast", "gather", "gatherv", "scatter", "scatterv", "allgather", "allgatherv", "alltoall", "alltoallv",
	"alltoallw", "allreduce", "reduce", "reduce-scatter", "scan", "exscan", "reduce-scatter-block", "create-handle", "destroy-handle", "allocate",
	"deallocate", "create-handle-and-allocate", "destroy-handle-and-deallocate"}

// OperationName is the name of a collective operation by its number, which is that of OTF2; ok is
// false for numbers that have none. Traces with [Conventions.OwnOperations] have other numbers, which
// [Definitions.OperationName] knows.
func OperationName(n uint64) (name string, ok bool) {
	if n >= uint64(len(operations)) {
		return "", false
	}
	return operations[n], true
}

// OperationName is the name of a collective operation by the number that events of the trace have; ok
// is false if it has none. An operation that the trace names as MPI does, such as MPI_Allreduce, has
// the name that [OperationName] has for it.
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

// OperationNumber is the number that [OperationName] names so.
func OperationNumber(name string) (n uint64, ok bool) {
	i := slices.Index(operations[:], name)
	return uint64(i), i >= 0
}

// OperationOf is the number of the collective operation that a function of MPI does, or its
// non-blocking form: 11, allreduce, for MPI_Allreduce, PMPI_Iallreduce and mpi_allreduce_. ok is false
// for other functions.
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
