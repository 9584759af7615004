package trace

import (
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Conventions holds conventions of the format that defined the ids of a trace. Decoders set them, so
// other code need not ask for the name of the format.
type Conventions struct {
	// Nested is set if regions are nested: a leave closes the innermost open region.
	Nested bool
	// OwnOperations is set if the trace itself numbers its collective operations. The numbers are ids
	// in Definitions.Operations, instead of those of [OperationName]. In such traces, communicators do
	// not list their members.
	OwnOperations bool
	// EventTypes is set if the id of a region is a number in PICL's list of event types, which
	// determines its role, and the id of a location is PROCESSOR/PROCESS.
	EventTypes bool
	// SignedIDs is set if ids of claims and events may be any integers. The id -1 is then a valid id, although
	// its bits equal those of Undefined.
	SignedIDs bool
	// AttributeKeys is set if the format has a key for each attribute of a definition or event.
	AttributeKeys bool
	// Keywords is set if attributes of definitions may hold keywords of the format, such as a
	// paradigm.
	Keywords bool
	// MetricMembers is set if each value of a metric states its position in a group of metrics, even if the group
	// has only one metric.
	MetricMembers bool
}

// IsFirstValue reports whether the operands of a metric's value hold nothing but the value, which is the first of its
// group or the only one.
func (c *Conventions) IsFirstValue(operands []uint64) bool {
	if c.MetricMembers {
		return len(operands) == 2 && operands[1] == 0
	}
	return len(operands) == 1
}

// operations lists the names of collective operations, indexed by OTF2's numbers.
var operations = [...]string{"barrier", "broadcast", "gather", "gatherv", "scatter", "scatterv", "allgather",
	"allgatherv", "alltoall", "alltoallv",
	"alltoallw", "allreduce", "reduce", "reduce-scatter", "scan", "exscan", "reduce-scatter-block", "create-handle",
	"destroy-handle", "allocate",
	"deallocate", "create-handle-and-allocate", "destroy-handle-and-deallocate"}

// OperationName returns the name of the collective operation that has a number in OTF2. ok is false
// if the number has no name. For traces with [Conventions.OwnOperations], use
// [Definitions.OperationName].
func OperationName(n uint64) (name string, ok bool) {
	if n >= uint64(len(operations)) {
		return "", false
	}
	return operations[n], true
}

// OperationName returns the name of the collective operation to which events of the trace refer by number n.
// ok is false if the number has no name. If the trace names an operation like a function of MPI, such as
// MPI_Allreduce, the result is the name in [OperationName].
func (d *Definitions) OperationName(n uint64) (name string, ok bool) {
	if !d.Conventions.OwnOperations {
		return OperationName(n)
	}
	name, ok = d.operationNames.lookup(strconv.FormatUint(n, 10), &d.Operations)
	if known, is := OperationOf(name); is {
		return OperationName(known)
	}
	return name, ok
}

// operationNames finds the names of collective operations by id. It keeps a map of them, because a trace may define
// very many.
type operationNames struct {
	mu    sync.Mutex
	names map[string]string // names of the first entries of the table, by id
	count int               // number of these entries
}

// lookup returns the name of the first operation in the table with an id and a name.
func (o *operationNames) lookup(id string, table *Table[Named]) (name string, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for list := table.All(); o.count < len(list); o.count++ {
		x := &list[o.count]
		if o.names == nil {
			o.names = map[string]string{}
		}
		if _, known := o.names[x.ID]; !known && x.Name != "" {
			o.names[x.ID] = x.Name
		}
	}
	name, ok = o.names[id]
	return name, ok
}

// OperationNumber returns OTF2's number of the collective operation called name, the inverse of
// [OperationName]. ok is false for other names.
func OperationNumber(name string) (n uint64, ok bool) {
	i := slices.Index(operations[:], name)
	return uint64(i), i >= 0
}

// OperationOf returns OTF2's number of the collective operation that an MPI function performs.
// Prefixes and letter case do not matter: MPI_Allreduce, its non-blocking form PMPI_Iallreduce and
// mpi_allreduce_ all give 11, allreduce. ok is false for other functions.
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
