package trace

import "strings"

// Names of the values of enumerations, indexed by OTF2's numbers.
var (
	threadingModels = []string{"unknown", "user", "compiler", "openmp", "mpi", "cuda", "measurement-system", "pthread",
		"hmpp", "ompss", "hardware", "gaspi",
		"upc", "shmem", "winthread", "qtthread", "acethread", "tbbthread", "openacc", "opencl", "mtapi", "sampling", "none",
		"hip", "kokkos"}
	lockTypes   = []string{"exclusive", "shared"}
	syncTypes   = []string{"memory", "notify-in", "notify-out"}
	atomicTypes = []string{"accumulate", "increment", "test-and-set", "compare-and-swap", "swap", "fetch-and-add",
		"fetch-and-increment", "fetch-and-accumulate"}
	accessModes = []string{"read-only", "write-only", "read-write", "execute-only", "search-only"}
	ioModes     = []string{"read", "write", "flush"}
	seekOptions = []string{"from-start", "from-current", "from-end", "data", "hole"}
	switches    = []string{"", "on", "off"}
	statistics  = []string{"seconds", "count", "volume-sent", "volume-received", "volume"}
)

// EnumName returns the name of the value v of an operand whose values are an enumeration, or an interrupt
// generator. ok is false if o is another operand, or v has no name.
func (d *Definitions) EnumName(k Kind, o *Operand, v uint64) (name string, ok bool) {
	var names []string
	switch o.Name {
	case "operation":
		if k != FileOperation && k != FileOperationBegin && k != FileOperationEnd {
			return d.OperationName(v)
		}
	case "model":
		names = threadingModels
	case "type":
		switch k {
		case RMASync:
			names = syncTypes
		case RMAAtomic:
			names = atomicTypes
		default:
			names = lockTypes
		}
	case "mode":
		switch k {
		case MeasurementOnOff:
			names = switches
		case IOHandleCreate:
			names = accessModes
		default:
			names = ioModes
		}
	case "whence":
		names = seekOptions
	case "statistic":
		names = statistics
	case "level":
		return syncLevel(v)
	case "generator":
		name = d.ValueNames[Value{Num: v, Type: InterruptGeneratorRef}]
		return name, name != ""
	}
	if o.Type != OpEnum || v >= uint64(len(names)) || names[v] == "" {
		return "", false
	}
	return names[v], true
}

// syncLevel returns the names of the flags in a synchronisation level of remote memory access. It
// returns false if v has other flags.
func syncLevel(v uint64) (string, bool) {
	if v > 3 {
		return "", false
	}
	var names []string
	for i, name := range []string{"process", "memory"} {
		if v>>i&1 != 0 {
			names = append(names, name)
		}
	}
	if v == 0 {
		return "none", true
	}
	return strings.Join(names, "+"), true
}
