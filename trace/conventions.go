package trace

// Conventions are what the format whose ids a trace bears takes for granted. A decoder fills
// them in, so that who looks at a trace need not know its format.
type Conventions struct {
	// Nested: regions nest, so that a leave closes the innermost open region.
	Nested bool
	// OwnOperations: collective operations have numbers of the trace's own, not those of
	// [OperationName], and communicators do not tell who takes part.
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
// false for numbers that have none. Traces with [Conventions.OwnOperations] have other numbers.
func OperationName(n uint64) (name string, ok bool) {
	if n >= uint64(len(operations)) {
		return "", false
	}
	return operations[n], true
}
