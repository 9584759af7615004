package trace

import (
	"math"
	"strings"
)

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
	scopes      = []string{"global", "location", "location-group", "system-tree-node", "group", "communicator"}
)

// Names of flags, indexed by OTF2's numbers of their bits.
var (
	syncLevels    = []string{"process", "memory"}
	creationFlags = []string{"create", "truncate", "directory", "exclusive", "no-controlling-terminal", "no-follow",
		"path", "temporary-file", "largefile", "no-seek", "unique"}
	statusFlags = []string{"close-on-exec", "append", "non-blocking", "async", "sync", "data-sync", "avoid-caching",
		"no-access-time", "delete-on-close"}
	operationFlags = []string{"non-blocking", "collective"}
)

// Names of OTF's operations on files, by the number in the lower 5 bits, and of the flags in the bits above.
var (
	fileOperations = []string{"open", "close", "read", "write", "seek", "unlink", "rename", "duplicate", "sync", "lock",
		"unlock", 31: "other"}
	fileOperationFlags = []string{"failed", "async", "collective", "direct", "sync", "read-lock"}
)

// EnumName returns the name of the value v of an operand whose values are an enumeration, flags, an interrupt
// generator or an I/O paradigm. ok is false if o is another operand, or v has no name.
func (d *Definitions) EnumName(k Kind, o *Operand, v uint64) (name string, ok bool) {
	var names []string
	switch o.Name {
	case "operation":
		if k == FileOperation || k == FileOperationEnd {
			return fileOperationName(v)
		}
		return d.OperationName(v)
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
	case "scope":
		names = scopes
	case "root":
		return rootName(v)
	case "level":
		return flagNames(v, syncLevels)
	case "creation":
		return flagNames(v, creationFlags)
	case "flags":
		return flagNames(v, operationFlags)
	case "status":
		if k != ProgramEnd {
			return flagNames(v, statusFlags)
		}
	case "generator":
		name = d.ValueNames[Value{Num: v, Type: InterruptGeneratorRef}]
		return name, name != ""
	case "paradigm":
		name = d.ValueNames[Value{Num: v, Type: IOParadigmRef}]
		return name, name != ""
	}
	if o.Type != OpEnum || v >= uint64(len(names)) || names[v] == "" {
		return "", false
	}
	return names[v], true
}

// rootName returns the name of OTF2's numbers for roots that are no ranks. Events of intercommunicators have them.
func rootName(v uint64) (string, bool) {
	switch v {
	case math.MaxUint32 - 1:
		return "self", true
	case math.MaxUint32 - 2:
		return "this-group", true
	}
	return "", false
}

// flagNames returns the names of the flags in v. It returns false if v has other flags.
func flagNames(v uint64, names []string) (string, bool) {
	if v>>len(names) != 0 {
		return "", false
	}
	if v == 0 {
		return "none", true
	}
	var set []string
	for i, name := range names {
		if v>>i&1 != 0 {
			set = append(set, name)
		}
	}
	return strings.Join(set, "+"), true
}

// fileOperationName returns the name of an operation on a file in OTF, followed by those of its flags.
func fileOperationName(v uint64) (string, bool) {
	name, flags := fileOperations[v&31], v>>5
	set, ok := flagNames(flags, fileOperationFlags)
	if name == "" || !ok {
		return "", false
	}
	if flags == 0 {
		return name, true
	}
	return name + "+" + set, true
}
