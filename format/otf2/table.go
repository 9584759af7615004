package otf2

// encoding is the encoding of a field in a file (docs/formats/otf2.md, "Primitive encodings").
type encoding uint8

const (
	encByte  encoding = iota
	enc32             // compressed, 32 bits
	enc64             // compressed, 64 bits
	encFixed          // 64 bits, not compressed
	encText           // text, ended by a zero byte
	encTyped          // a value whose type is in the field before it
)

// Table identifies a sort of definition. A reference refers to a definition in a table.
type Table uint8

// The tables. The first tables have the same numbers as in mapping tables.
const (
	Strings Table = iota
	Attributes
	Locations
	Regions
	Groups
	Metrics
	Comms
	Parameters
	Windows
	SourceLocations
	CallingContexts
	InterruptGenerators
	IOFiles
	IOHandles
	LocationGroups
	mappedTables // number of tables that can have a mapping table

	SystemTreeNodes = iota - 1
	Paradigms
	IOParadigms
	Callsites
	Callpaths
	MetricMembers
	CartDimensions
	CartTopologies
	tables // number of tables

	noTable Table = 255
)

// showMode is the way in which otf2-print shows a field.
type showMode uint8

const (
	showNumber showMode = iota
	showSigned
	showID       // a number; undefined if all bits are set
	showSignedID // a signed number; undefined if all bits are set
	showTime
	showRef      // the name of the referenced definition
	showEnum     // the word of an enumeration
	showFlags    // the words of all flags that are set
	showRank     // a rank in the communicator that another field names
	showRoot     // like showRank; a special root is shown as a word
	showWinRank  // a rank in the communicator of the window that another field names
	showWinRoot  // like showWinRank; a special root is shown as a word
	showParadigm // the name of a paradigm, or otf2-print's word for a paradigm without a name
	showTyped    // a value, according to its type
	showType     // the type of a metric's values
	showScope    // the definition to which a scope refers; the field before it contains the scope
	showTopoRank // a rank in the communicator of a topology
)

// field is a field of a record.
type field struct {
	name        string
	enc         encoding
	show        showMode
	table       Table    // table to which a reference refers
	words       []string // words of an enumeration, by value, or of flags, by bit
	other       int      // index of the field on which a rank, type or scope depends
	absentValue uint64   // value of the field in an old file that lacks the field
}

// undefined32 and undefined64 are references that refer to no definition.
const (
	undefined32 = 1<<32 - 1
	undefined64 = 1<<64 - 1
	undefined8  = 1<<8 - 1
)

func number(name string) field   { return field{name: name, enc: enc32, table: noTable} }
func number64(name string) field { return field{name: name, enc: enc64, table: noTable} }
func fixed(name string) field {
	return field{name: name, enc: encFixed, show: showTime, table: noTable}
}
func signed(name string) field {
	return field{name: name, enc: enc64, show: showSigned, table: noTable}
}
func count(name string) field   { return field{name: name, enc: enc32, table: noTable} }
func count8(name string) field  { return field{name: name, enc: encByte, table: noTable} }
func literal(name string) field { return field{name: name, enc: encText, table: noTable} }
func enum(name string, words []string) field {
	return field{name: name, enc: encByte, show: showEnum, words: words, table: noTable}
}
func flags(name string, words []string) field {
	return field{name: name, enc: enc32, show: showFlags, words: words, table: noTable}
}
func ref(name string, to Table) field {
	return field{name: name, enc: enc32, show: showRef, table: to, absentValue: undefined32}
}
func ref64(name string, to Table) field {
	return field{name: name, enc: enc64, show: showRef, table: to, absentValue: undefined64}
}
func ref8(name string, to Table) field {
	return field{name: name, enc: encByte, show: showRef, table: to}
}
func rank(name string, s showMode, communicator int) field {
	return field{name: name, enc: enc32, show: s, other: communicator, table: noTable}
}
func paradigm(name string) field {
	return field{name: name, enc: encByte, show: showParadigm, table: noTable}
}

// typedValue returns a field called "value". The field with index other has the type of the value. In repeated groups
// of fields, other is -1, and the type is in the field before.
func typedValue(other int) field {
	return field{name: "value", enc: encTyped, show: showTyped, other: other, table: noTable}
}
func (f field) as(s showMode) field  { f.show = s; return f }
func (f field) since(n uint64) field { f.absentValue = n; return f }

// The words of enumerations, indexed by value, and the words of flags, indexed by bit.
var (
	typeNames = []string{"NONE", "UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64", "FLOAT",
		"DOUBLE", "STRING", "ATTRIBUTE", "LOCATION", "REGION", "GROUP", "METRIC", "COMM", "PARAMETER", "RMA_WIN",
		"SOURCE_CODE_LOCATION", "CALLING_CONTEXT", "INTERRUPT_GENERATOR", "IO_FILE", "IO_HANDLE", "LOCATION_GROUP"}
	paradigms = []string{"UNKNOWN", "USER", "COMPILER", "OPENMP", "MPI", "CUDA", "MEASUREMENT_SYSTEM", "PTHREAD",
		"HMPP", "OMPSS", "HARDWARE", "GASPI", "UPC", "SHMEM", "WINTHREAD", "QTTHREAD", "ACETHREAD", "TBBTHREAD", "OPENACC",
		"OPENCL", "MTAPI", "SAMPLING", "NONE", "HIP", "KOKKOS"}
	paradigmClasses = []string{"PROCESS", "THREAD_FORK_JOIN", "THREAD_CREATE_WAIT", "ACCELERATOR"}
	paradigmProps   = []string{"COMM_NAME_TEMPLATE", "RMA_WIN_NAME_TEMPLATE", "RMA_ONLY"}
	treeDomains     = []string{"MACHINE", "SHARED_MEMORY", "NUMA", "SOCKET", "CACHE", "CORE", "PU", "ACCELERATOR_DEVICE",
		"NETWORKING_DEVICE"}
	locationGroupKind = []string{"UNKNOWN", "PROCESS", "ACCELERATOR"}
	locationKinds     = []string{"UNKNOWN", "CPU_THREAD", "ACCELERATOR_STREAM", "METRIC"}
	regionRoles       = []string{"UNKNOWN", "FUNCTION", "WRAPPER", "LOOP", "CODE", "PARALLEL", "SECTIONS", "SECTION",
		"WORKSHARE", "SINGLE", "SINGLE_SBLOCK", "MASTER", "CRITICAL", "CRITICAL_SBLOCK", "ATOMIC", "BARRIER",
		"IMPLICIT_BARRIER", "FLUSH", "ORDERED", "ORDERED_SBLOCK", "TASK", "TASK_CREATE", "TASK_WAIT", "COLL_ONE2ALL",
		"COLL_ALL2ONE", "COLL_ALL2ALL", "COLL_OTHER", "FILE_IO", "POINT2POINT", "RMA", "DATA_TRANSFER", "ARTIFICIAL",
		"THREAD_CREATE", "THREAD_WAIT", "TASK_UNTIED", "ALLOCATE", "DEALLOCATE", "REALLOCATE", "FILE_IO_METADATA",
		"KERNEL_LAUNCH", "KERNEL"}
	regionFlags = []string{"DYNAMIC", "PHASE"}
	groupTypes  = []string{"UNKNOWN", "LOCATIONS", "REGIONS", "METRIC", "COMM_LOCATIONS", "COMM_GROUP", "COMM_SELF"}
	groupFlags  = []string{"GLOBAL_MEMBERS"}
	bases       = []string{"BINARY", "DECIMAL"}
	occurrences = []string{"SYNCHRONOUS_STRICT", "SYNCHRONOUS", "ASYNCHRONOUS"}
	metricTypes = []string{"OTHER", "PAPI", "RUSAGE", "USER"}
	metricModes = []string{0: "ACCUMULATED_START", 16: "ACCUMULATED_POINT", 32: "ACCUMULATED_LAST",
		48: "ACCUMULATED_NEXT", 17: "ABSOLUTE_POINT", 33: "ABSOLUTE_LAST", 49: "ABSOLUTE_NEXT", 18: "RELATIVE_POINT",
		34: "RELATIVE_LAST", 50: "RELATIVE_NEXT"}
	metricScopes   = []string{"LOCATION", "LOCATION_GROUP", "SYSTEM_TREE_NODE", "GROUP"}
	recorderKinds  = []string{"UNKNOWN", "ABSTRACT", "CPU", "GPU"}
	parameterTypes = []string{"STRING", "INT64", "UINT64"}
	booleans       = []string{"FALSE", "TRUE"}
	interruptModes = []string{"TIME", "COUNT"}
	ioClasses      = []string{"SERIAL", "PARALLEL"}
	ioFlags        = []string{"OS"}
	ioProps        = []string{"VERSION"}
	handleFlags    = []string{"PRE_CREATED", "ALL_PROXY"}
	accessModes    = []string{"READ_ONLY", "WRITE_ONLY", "READ_WRITE", "EXECUTE_ONLY", "SEARCH_ONLY"}
	statusFlags    = []string{"CLOSE_ON_EXEC", "APPEND", "NON_BLOCKING", "ASYNC", "SYNC", "DATA_SYNC", "AVOID_CACHING",
		"NO_ACCESS_TIME", "DELETE_ON_CLOSE"}
	creationFlags = []string{"CREATE", "TRUNCATE", "DIRECTORY", "EXCLUSIVE", "NO_CONTROLLING_TERMINAL", "NO_FOLLOW",
		"PATH", "TEMPORARY_FILE", "LARGEFILE", "NO_SEEK", "UNIQUE"}
	createDestroy    = []string{"CREATE_DESTROY_EVENTS"}
	measurementModes = []string{1: "ON", 2: "OFF"}
	collectives      = []string{"BARRIER", "BCAST", "GATHER", "GATHERV", "SCATTER", "SCATTERV", "ALLGATHER", "ALLGATHERV",
		"ALLTOALL", "ALLTOALLV", "ALLTOALLW", "ALLREDUCE", "REDUCE", "REDUCE_SCATTER", "SCAN", "EXSCAN",
		"REDUCE_SCATTER_BLOCK", "CREATE_HANDLE", "DESTROY_HANDLE", "ALLOCATE", "DEALLOCATE", "CREATE_HANDLE_AND_ALLOCATE",
		"DESTROY_HANDLE_AND_DEALLOCATE"}
	syncTypes   = []string{"MEMORY", "NOTIFY_IN", "NOTIFY_OUT"}
	syncLevels  = []string{"PROCESS", "MEMORY"}
	lockTypes   = []string{"EXCLUSIVE", "SHARED"}
	atomicTypes = []string{"ACCUMULATE", "INCREMENT", "TEST_AND_SET", "COMPARE_AND_SWAP", "SWAP", "FETCH_AND_ADD",
		"FETCH_AND_INCREMENT", "FETCH_AND_ACCUMULATE"}
	seekOptions    = []string{"FROM_START", "FROM_CURRENT", "FROM_END", "DATA", "HOLE"}
	operationModes = []string{"READ", "WRITE", "FLUSH"}
	operationFlags = []string{"NON_BLOCKING", "COLLECTIVE"}
	severities     = []string{"NONE", "LOW", "MEDIUM", "HIGH"}
	markerScopes   = []string{"GLOBAL", "LOCATION", "LOCATION_GROUP", "SYSTEM_TREE_NODE", "GROUP", "COMM"}
)

// recordType describes a type of record.
type recordType struct {
	name   string // name in the format's own documents
	word   string // word that otf2-print shows
	fields []field
	each   []field // repeated fields; the last element of fields holds their count
	after  []field
	// text is the text with which otf2-print shows the fields; %2 stands for the third field. The texts
	// of records with repeated fields are in print.go.
	text     string
	noLength bool // the record has one field and no length
	// added is the number of fields that later versions have added at the end of the record.
	added int
	// event is the id of the event that a record of a snapshot repeats; 0 for none.
	event uint8
}

// field returns the field to which value i of n values belongs.
func (t *recordType) field(i, n int) *field {
	switch after := n - len(t.after); {
	case i < len(t.fields):
		return &t.fields[i]
	case i < after:
		return &t.each[(i-len(t.fields))%len(t.each)]
	default:
		return &t.after[i-after]
	}
}

// typeByID returns the row of a table for a record id, or nil if there is none.
func typeByID(types []recordType, id uint8) *recordType {
	if int(id) < len(types) && types[id].name != "" {
		return &types[id]
	}
	return nil
}

// maxNumberSize returns the maximum number of bytes of the number in a record without a length.
func (t *recordType) maxNumberSize() int {
	if t.fields[0].enc == enc32 {
		return 4
	}
	return 8
}

// eventTypes holds the event types by id (docs/formats/otf2.md, "Event records").
var eventTypes = [...]recordType{
	10: {name: "BufferFlush", word: "BUFFER_FLUSH", text: "Stop Time: %0", fields: []field{fixed("stop")}},
	11: {name: "MeasurementOnOff", word: "MEASUREMENT_ON_OFF", text: "Mode: %0",
		fields: []field{enum("mode", measurementModes)}},
	12: {name: "Enter", word: "ENTER", text: "Region: %0", noLength: true, fields: []field{ref("region", Regions)}},
	13: {name: "Leave", word: "LEAVE", text: "Region: %0", noLength: true, fields: []field{ref("region", Regions)}},
	14: {name: "MpiSend", word: "MPI_SEND", text: "Receiver: %0, Communicator: %1, Tag: %2, Length: %3",
		fields: []field{rank("receiver", showRank, 1), ref("communicator", Comms), number("tag"), number64("length")}},
	15: {name: "MpiIsend", word: "MPI_ISEND", text: "Receiver: %0, Communicator: %1, Tag: %2, Length: %3, Request: %4",
		fields: []field{rank("receiver", showRank, 1), ref("communicator", Comms), number("tag"), number64("length"),
			number64("request")}},
	16: {name: "MpiIsendComplete", word: "MPI_ISEND_COMPLETE", text: "Request: %0", noLength: true,
		fields: []field{number64("request")}},
	17: {name: "MpiIrecvRequest", word: "MPI_IRECV_REQUEST", text: "Request: %0", noLength: true,
		fields: []field{number64("request")}},
	18: {name: "MpiRecv", word: "MPI_RECV", text: "Sender: %0, Communicator: %1, Tag: %2, Length: %3",
		fields: []field{rank("sender", showRank, 1), ref("communicator", Comms), number("tag"), number64("length")}},
	19: {name: "MpiIrecv", word: "MPI_IRECV", text: "Sender: %0, Communicator: %1, Tag: %2, Length: %3, Request: %4",
		fields: []field{rank("sender", showRank, 1), ref("communicator", Comms), number("tag"), number64("length"),
			number64("request")}},
	20: {name: "MpiRequestTest", word: "MPI_REQUEST_TEST", text: "Request: %0", noLength: true,
		fields: []field{number64("request")}},
	21: {name: "MpiRequestCancelled", word: "MPI_REQUEST_CANCELLED", text: "Request: %0", noLength: true,
		fields: []field{number64("request")}},
	22: {name: "MpiCollectiveBegin", word: "MPI_COLLECTIVE_BEGIN"},
	23: {name: "MpiCollectiveEnd", word: "MPI_COLLECTIVE_END",
		text: "Operation: %0, Communicator: %1, Root: %2, Sent: %3, Received: %4", fields: []field{enum("operation",
			collectives), ref("communicator", Comms), rank("root", showRoot, 1), number64("sent"), number64("received")}},
	24: {name: "OmpFork", word: "OMP_FORK", text: "# Requested Threads: %0", noLength: true,
		fields: []field{number("threads")}},
	25: {name: "OmpJoin", word: "OMP_JOIN"},
	26: {name: "OmpAcquireLock", word: "OMP_ACQUIRE_LOCK", text: "Lock: %0, Acquisition Order: %1",
		fields: []field{number("lock"), number("order")}},
	27: {name: "OmpReleaseLock", word: "OMP_RELEASE_LOCK", text: "Lock: %0, Acquisition Order: %1",
		fields: []field{number("lock"), number("order")}},
	28: {name: "OmpTaskCreate", word: "OMP_TASK_CREATE", text: "Task: %0", noLength: true,
		fields: []field{number64("task")}},
	29: {name: "OmpTaskSwitch", word: "OMP_TASK_SWITCH", text: "Task: %0", noLength: true,
		fields: []field{number64("task")}},
	30: {name: "OmpTaskComplete", word: "OMP_TASK_COMPLETE", text: "Task: %0", noLength: true,
		fields: []field{number64("task")}},
	31: {name: "Metric", word: "METRIC", fields: []field{ref("metric", Metrics), count8("values")},
		each: []field{enum("type", typeNames), number64("value")}},
	32: {name: "ParameterString", word: "PARAMETER_STRING", text: "Parameter: %0, Value: %1",
		fields: []field{ref("parameter", Parameters), ref("string", Strings)}},
	33: {name: "ParameterInt", word: "PARAMETER_INT64", text: "Parameter: %0, Value: %1",
		fields: []field{ref("parameter", Parameters), signed("value")}},
	34: {name: "ParameterUnsignedInt", word: "PARAMETER_UINT64", text: "Parameter: %0, Value: %1",
		fields: []field{ref("parameter", Parameters), number64("value")}},
	35: {name: "RmaWinCreate", word: "RMA_WIN_CREATE", text: "Window: %0", fields: []field{ref("window", Windows)}},
	36: {name: "RmaWinDestroy", word: "RMA_WIN_DESTROY", text: "Window: %0", fields: []field{ref("window", Windows)}},
	37: {name: "RmaCollectiveBegin", word: "RMA_COLLECTIVE_BEGIN"},
	38: {name: "RmaCollectiveEnd", word: "RMA_COLLECTIVE_END",
		text: "Operation: %0, Window: %2, Level of Synchronicity: %1, Root: %3, Sent: %4, Received: %5",
		fields: []field{enum("operation", collectives), flags("level", syncLevels), ref("window", Windows),
			rank("root", showWinRoot, 2), number64("sent"), number64("received")}},
	39: {name: "RmaGroupSync", word: "RMA_GROUP_SYNC", text: "Level of Synchronicity: %0, Window: %1, Group: %2",
		fields: []field{flags("level", syncLevels), ref("window", Windows), ref("group", Groups)}},
	40: {name: "RmaRequestLock", word: "RMA_REQUEST_LOCK", text: "Window: %0, Remote: %1, Lock: %2, Type: %3",
		fields: []field{ref("window", Windows), rank("remote", showWinRank, 0), number64("lock"), enum("type", lockTypes)}},
	41: {name: "RmaAcquireLock", word: "RMA_ACQUIRE_LOCK", text: "Window: %0, Remote: %1, Lock: %2, Type: %3",
		fields: []field{ref("window", Windows), rank("remote", showWinRank, 0), number64("lock"), enum("type", lockTypes)}},
	42: {name: "RmaTryLock", word: "RMA_TRY_LOCK", text: "Window: %0, Remote: %1, Lock: %2, Type: %3",
		fields: []field{ref("window", Windows), rank("remote", showWinRank, 0), number64("lock"), enum("type", lockTypes)}},
	43: {name: "RmaReleaseLock", word: "RMA_RELEASE_LOCK", text: "Window: %0, Remote: %1, Lock: %2",
		fields: []field{ref("window", Windows), rank("remote", showWinRank, 0), number64("lock")}},
	44: {name: "RmaSync", word: "RMA_SYNC", text: "Window: %0, Remote: %1, Sync Type: %2",
		fields: []field{ref("window", Windows), rank("remote", showWinRank, 0), enum("type", syncTypes)}},
	45: {name: "RmaWaitChange", word: "RMA_WAIT_CHANGE", text: "Window: %0", fields: []field{ref("window", Windows)}},
	46: {name: "RmaPut", word: "RMA_PUT", text: "Window: %0, Remote: %1, Bytes: %2, Matching: %3",
		fields: []field{ref("window", Windows), rank("remote", showWinRank, 0), number64("length"), number64("matching")}},
	47: {name: "RmaGet", word: "RMA_GET", text: "Window: %0, Remote: %1, Bytes: %2, Matching: %3",
		fields: []field{ref("window", Windows), rank("remote", showWinRank, 0), number64("length"), number64("matching")}},
	48: {name: "RmaAtomic", word: "RMA_ATOMIC",
		text: "Window: %0, Remote: %1, Type: %2, Sent: %3, Received: %4, Matching: %5",
		fields: []field{ref("window", Windows), rank("remote", showWinRank, 0), enum("type", atomicTypes), number64("sent"),
			number64("received"), number64("matching")}},
	49: {name: "RmaOpCompleteBlocking", word: "RMA_OP_COMPLETE_BLOCKING", text: "Window: %0, Matching: %1",
		fields: []field{ref("window", Windows), number64("matching")}},
	50: {name: "RmaOpCompleteNonBlocking", word: "RMA_OP_COMPLETE_NON_BLOCKING", text: "Window: %0, Matching: %1",
		fields: []field{ref("window", Windows), number64("matching")}},
	51: {name: "RmaOpTest", word: "RMA_OP_TEST", text: "Window: %0, Matching: %1",
		fields: []field{ref("window", Windows), number64("matching")}},
	52: {name: "RmaOpCompleteRemote", word: "RMA_OP_COMPLETE_REMOTE", text: "Window: %0, Matching: %1",
		fields: []field{ref("window", Windows), number64("matching")}},
	53: {name: "ThreadFork", word: "THREAD_FORK", text: "Model: %0, # Requested Threads: %1",
		fields: []field{paradigm("model"), number("threads")}},
	54: {name: "ThreadJoin", word: "THREAD_JOIN", text: "Model: %0", fields: []field{paradigm("model")}},
	55: {name: "ThreadTeamBegin", word: "THREAD_TEAM_BEGIN", text: "Thread Team: %0", fields: []field{ref("team", Comms)}},
	56: {name: "ThreadTeamEnd", word: "THREAD_TEAM_END", text: "Thread Team: %0", fields: []field{ref("team", Comms)}},
	57: {name: "ThreadAcquireLock", word: "THREAD_ACQUIRE_LOCK", text: "Model: %0, Lock: %1, Acquisition Order: %2",
		fields: []field{paradigm("model"), number("lock"), number("order")}},
	58: {name: "ThreadReleaseLock", word: "THREAD_RELEASE_LOCK", text: "Model: %0, Lock: %1, Acquisition Order: %2",
		fields: []field{paradigm("model"), number("lock"), number("order")}},
	59: {name: "ThreadTaskCreate", word: "THREAD_TASK_CREATE",
		text:   "Thread Team: %0, Creating Thread: %1, Generation Number: %2",
		fields: []field{ref("team", Comms), rank("creator", showRank, 0), number("generation")}},
	60: {name: "ThreadTaskSwitch", word: "THREAD_TASK_SWITCH",
		text:   "Thread Team: %0, Creating Thread: %1, Generation Number: %2",
		fields: []field{ref("team", Comms), rank("creator", showRank, 0), number("generation")}},
	61: {name: "ThreadTaskComplete", word: "THREAD_TASK_COMPLETE",
		text:   "Thread Team: %0, Creating Thread: %1, Generation Number: %2",
		fields: []field{ref("team", Comms), rank("creator", showRank, 0), number("generation")}},
	62: {name: "ThreadCreate", word: "THREAD_CREATE", text: "Thread Contingent: %0, Sequence Count: %1",
		fields: []field{ref("contingent", Comms), number64("sequence")}},
	63: {name: "ThreadBegin", word: "THREAD_BEGIN", text: "Thread Contingent: %0, Sequence Count: %1",
		fields: []field{ref("contingent", Comms), number64("sequence")}},
	64: {name: "ThreadWait", word: "THREAD_WAIT", text: "Thread Contingent: %0, Sequence Count: %1",
		fields: []field{ref("contingent", Comms), number64("sequence")}},
	65: {name: "ThreadEnd", word: "THREAD_END", text: "Thread Contingent: %0, Sequence Count: %1",
		fields: []field{ref("contingent", Comms), number64("sequence")}},
	66: {name: "CallingContextEnter", word: "CALLING_CONTEXT_ENTER", text: "Calling Context: %0, Unwind Distance: %1",
		fields: []field{ref("context", CallingContexts), number("unwind").as(showID)}},
	67: {name: "CallingContextLeave", word: "CALLING_CONTEXT_LEAVE", text: "Calling Context: %0",
		fields: []field{ref("context", CallingContexts)}},
	68: {name: "CallingContextSample", word: "CALLING_CONTEXT_SAMPLE",
		text: "Calling Context: %0, Unwind Distance: %1, Interrupt Generator: %2", fields: []field{ref("context",
			CallingContexts), number("unwind").as(showID), ref("generator", InterruptGenerators)}},
	69: {name: "IoCreateHandle", word: "IO_CREATE_HANDLE",
		text: "Handle: %0, Access Mode: %1, Creation Flags: %2, Status Flags: %3", fields: []field{ref("handle", IOHandles),
			enum("mode", accessModes), flags("creation", creationFlags), flags("status", statusFlags)}},
	70: {name: "IoDestroyHandle", word: "IO_DESTROY_HANDLE", text: "Handle: %0",
		fields: []field{ref("handle", IOHandles)}},
	71: {name: "IoDuplicateHandle", word: "IO_DUPLICATE_HANDLE", text: "Old Handle: %0, New Handle: %1, Status Flags: %2",
		fields: []field{ref("handle", IOHandles), ref("copy", IOHandles), flags("status", statusFlags)}},
	72: {name: "IoSeek", word: "IO_SEEK", text: "Handle: %0, Offset Request: %1, Whence: %2, Offset Result: %3",
		fields: []field{ref("handle", IOHandles), signed("request"), enum("whence", seekOptions), number64("result")}},
	73: {name: "IoChangeStatusFlags", word: "IO_CHANGE_FLAGS", text: "Handle: %0, Status Flags: %1",
		fields: []field{ref("handle", IOHandles), flags("status", statusFlags)}},
	74: {name: "IoDeleteFile", word: "IO_DELETE_FILE", text: "I/O Paradigm: %0, File: %1",
		fields: []field{ref8("paradigm", IOParadigms), ref("file", IOFiles)}},
	75: {name: "IoOperationBegin", word: "IO_OPERATION_BEGIN",
		text: "Handle: %0, Mode: %1, Operation Flags: %2, Bytes Request: %3, Matching Id: %4", fields: []field{ref("handle",
			IOHandles), enum("mode", operationModes), flags("flags", operationFlags), number64("length"), number64("matching")}},
	76: {name: "IoOperationTest", word: "IO_OPERATION_TEST", text: "Handle: %0, Matching Id: %1",
		fields: []field{ref("handle", IOHandles), number64("matching")}},
	77: {name: "IoOperationIssued", word: "IO_OPERATION_ISSUED", text: "Handle: %0, Matching Id: %1",
		fields: []field{ref("handle", IOHandles), number64("matching")}},
	78: {name: "IoOperationComplete", word: "IO_OPERATION_COMPLETE", text: "Handle: %0, Bytes Result: %1, Matching Id: %2",
		fields: []field{ref("handle", IOHandles), number64("length"), number64("matching")}},
	79: {name: "IoOperationCancelled", word: "IO_OPERATION_CANCELLED", text: "Handle: %0, Matching Id: %1",
		fields: []field{ref("handle", IOHandles), number64("matching")}},
	80: {name: "IoAcquireLock", word: "IO_ACQUIRE_LOCK", text: "Handle: %0, Type: %1",
		fields: []field{ref("handle", IOHandles), enum("type", lockTypes)}},
	81: {name: "IoReleaseLock", word: "IO_RELEASE_LOCK", text: "Handle: %0, Type: %1",
		fields: []field{ref("handle", IOHandles), enum("type", lockTypes)}},
	82: {name: "IoTryLock", word: "IO_TRY_LOCK", text: "Handle: %0, Type: %1",
		fields: []field{ref("handle", IOHandles), enum("type", lockTypes)}},
	83: {name: "ProgramBegin", word: "PROGRAM_BEGIN", fields: []field{ref("name", Strings), count("arguments")},
		each: []field{ref("argument", Strings)}},
	84: {name: "ProgramEnd", word: "PROGRAM_END", text: "Exit status: %0",
		fields: []field{signed("status").as(showSignedID)}},
	85: {name: "NonBlockingCollectiveRequest", word: "NON_BLOCKING_COLLECTIVE_REQUEST", text: "Request: %0",
		fields: []field{number64("request")}},
	86: {name: "NonBlockingCollectiveComplete", word: "NON_BLOCKING_COLLECTIVE_COMPLETE",
		text: "Operation: %0, Communicator: %1, Root: %2, Sent: %3, Received: %4, Request: %5",
		fields: []field{enum("operation", collectives), ref("communicator", Comms), rank("root", showRoot, 1),
			number64("sent"), number64("received"), number64("request")}},
	87: {name: "CommCreate", word: "COMM_CREATE", text: "Communicator: %0", fields: []field{ref("communicator", Comms)}},
	88: {name: "CommDestroy", word: "COMM_DESTROY", text: "Communicator: %0", fields: []field{ref("communicator", Comms)}},
}

// snapshotTypes holds the types of snapshot records by id (docs/formats/otf2.md, "Snapshots").
var snapshotTypes = [...]recordType{
	10: {name: "SnapshotStart", word: "SNAPSHOT_START", text: "# Events: %0", fields: []field{number64("records")}},
	11: {name: "SnapshotEnd", word: "SNAPSHOT_END", text: "Cont. Read Position: %0", fields: []field{number64("next")}},
	12: snapshotOf(11),
	13: snapshotOf(enter),
	14: snapshotOf(14),
	15: snapshotOf(15),
	16: snapshotOf(16),
	17: snapshotOf(18),
	18: snapshotOf(17),
	19: snapshotOf(19),
	20: snapshotOf(22),
	21: snapshotOf(23),
	22: snapshotOf(24),
	23: snapshotOf(26),
	24: snapshotOf(28),
	25: snapshotOf(29),
	26: snapshotOf(metricEvent),
	27: snapshotOf(32),
	28: snapshotOf(33),
	29: snapshotOf(34),
}

// snapshotOf returns the type of the snapshot record that repeats an event. Its fields are the time of the
// event and the event's own fields.
func snapshotOf(event uint8) recordType {
	t := eventTypes[event]
	t.noLength, t.event = false, event
	t.fields = append([]field{fixed("time")}, t.fields...)
	for i := range t.fields[1:] {
		t.fields[1+i].other++
	}
	return t
}

// The ids of the event types that code in this package refers to.
const (
	bufferFlush     = 10
	enter           = 12
	leave           = 13
	ompFork         = 24
	ompTaskComplete = 30
	metricEvent     = 31
	threadFork      = 53
	taskComplete    = 61
	programBegin    = 83
	firstEvent      = 10
	timestampRecord = 5
	attributeRecord = 6
)

// definitionTypes holds the types of global definitions by id (docs/formats/otf2.md, "Definitions").
var definitionTypes = [...]recordType{
	5: {name: "ClockProperties", added: 1, word: "CLOCK_PROPERTIES", fields: []field{number64("resolution"),
		number64("offset"), number64("length"), number64("realtime").since(undefined64)}},
	6: {name: "Paradigm", word: "PARADIGM",
		fields: []field{enum("paradigm", paradigms), ref("name", Strings), enum("class", paradigmClasses)}},
	7: {name: "ParadigmProperty", word: "PARADIGM_PROPERTY",
		fields: []field{paradigm("paradigm"), enum("property", paradigmProps), enum("type", typeNames), typedValue(2)}},
	8: {name: "IoParadigm", word: "IO_PARADIGM",
		fields: []field{count8("self"), ref("identification", Strings), ref("name", Strings), enum("class", ioClasses),
			flags("flags", ioFlags), count8("properties")},
		each: []field{enum("property", ioProps), enum("type", typeNames), typedValue(-1)}},
	10: {name: "String", word: "STRING", fields: []field{number("self"), literal("string")}},
	11: {name: "Attribute", added: 1, word: "ATTRIBUTE", text: "Name: %1, Description: %3, Type: %2",
		fields: []field{number("self"), ref("name", Strings), enum("type", typeNames), ref("description", Strings)}},
	12: {name: "SystemTreeNode", word: "SYSTEM_TREE_NODE", text: "Name: %1, Class: %2, Parent: %3",
		fields: []field{number("self"), ref("name", Strings), ref("class", Strings), ref("parent", SystemTreeNodes)}},
	13: {name: "LocationGroup", added: 1, word: "LOCATION_GROUP", text: "Name: %1, Type: %2, Parent: %3, Creator: %4",
		fields: []field{number("self"), ref("name", Strings), enum("type", locationGroupKind), ref("parent", SystemTreeNodes),
			ref("creator", LocationGroups)}},
	14: {name: "Location", word: "LOCATION", text: "Name: %1, Type: %2, # Events: %3, Group: %4",
		fields: []field{number64("self"), ref("name", Strings), enum("type", locationKinds), number64("events"),
			ref("group", LocationGroups)}},
	15: {name: "Region", added: 4, word: "REGION",
		text: "Name: %1 (Aka. %7), Descr.: %2, Role: %8, Paradigm: %9, Flags: %10, File: %4, Begin: %5, End: %6",
		fields: []field{number("self"), ref("name", Strings), ref("description", Strings), count8("type"),
			ref("file", Strings), number("begin"), number("end"), ref("canonicalName", Strings), enum("role", regionRoles),
			paradigm("paradigm"), flags("flags", regionFlags)}},
	16: {name: "Callsite", word: "CALLSITE", text: "File: %1, Line Number: %2, Entered Region: %3, Left Region: %4",
		fields: []field{number("self"), ref("file", Strings), number("line"), ref("entered", Regions), ref("left", Regions)}},
	17: {name: "Callpath", word: "CALLPATH", text: "Parent: %1, Region: %2",
		fields: []field{number("self"), ref("parent", Callpaths), ref("region", Regions)}},
	18: {name: "Group", added: 3, word: "GROUP",
		fields: []field{number("self"), ref("name", Strings), count8("oldType"), count("members")},
		each:   []field{number64("member")},
		after:  []field{enum("type", groupTypes), paradigm("paradigm"), flags("flags", groupFlags)}},
	19: {name: "MetricMember", word: "METRIC_MEMBER",
		text: "Name: %1, Descr.: %2, Type: %3, Mode: %4, Value Type: %5, Base: %6, Exponent: %7, Unit: %8",
		fields: []field{number("self"), ref("name", Strings), ref("description", Strings), enum("type", metricTypes),
			enum("mode", metricModes), count8("valueType").as(showType), enum("base", bases), signed("exponent"),
			ref("unit", Strings)}},
	20: {name: "MetricClass", added: 1, word: "METRIC_CLASS", fields: []field{number("self"), count8("members")},
		each:  []field{ref("member", MetricMembers)},
		after: []field{enum("occurrence", occurrences), enum("recorderKind", recorderKinds)}},
	21: {name: "MetricInstance", word: "METRIC_INSTANCE", text: "Class: %1, Recorder: %2, Scope: %3 %4",
		fields: []field{number("self"), ref("class", Metrics), ref64("recorder", Locations), enum("scopeKind", metricScopes),
			field{name: "scope", enc: enc64, show: showScope, other: 3, table: noTable}}},
	22: {name: "Comm", added: 1, word: "COMM", text: "Name: %1, Group: %2, Parent: %3, Flags: %4",
		fields: []field{number("self"), ref("name", Strings), ref("group", Groups), ref("parent", Comms),
			flags("flags", createDestroy)}},
	23: {name: "Parameter", word: "PARAMETER", text: "Name: %1, Type: %2",
		fields: []field{number("self"), ref("name", Strings), enum("type", parameterTypes)}},
	24: {name: "RmaWin", added: 1, word: "RMA_WIN", text: "Name: %1, Communicator: %2, Flags: %3",
		fields: []field{number("self"), ref("name", Strings), ref("communicator", Comms), flags("flags", createDestroy)}},
	25: {name: "MetricClassRecorder", word: "METRIC_CLASS_RECORDER", text: "Class: %0, Recorder: %1",
		fields: []field{ref("metric", Metrics), ref64("recorder", Locations)}},
	26: {name: "SystemTreeNodeProperty", added: 2, word: "SYSTEM_TREE_NODE_PROPERTY",
		text: "System Tree Node: %0, Name: %1, Type: %3, Value: %4", fields: []field{ref("node", SystemTreeNodes),
			ref("name", Strings), ref("string", Strings), enum("type", typeNames), typedValue(3)}},
	27: {name: "SystemTreeNodeDomain", word: "SYSTEM_TREE_NODE_DOMAIN", text: "System Tree Node: %0, Domain: %1",
		fields: []field{ref("node", SystemTreeNodes), enum("domain", treeDomains)}},
	28: {name: "LocationGroupProperty", added: 2, word: "LOCATION_GROUP_PROPERTY",
		text: "Location Group: %0, Name: %1, Type: %3, Value: %4", fields: []field{ref("group", LocationGroups),
			ref("name", Strings), ref("string", Strings), enum("type", typeNames), typedValue(3)}},
	29: {name: "LocationProperty", added: 2, word: "LOCATION_PROPERTY",
		text: "Location: %0, Name: %1, Type: %3, Value: %4", fields: []field{ref64("location", Locations),
			ref("name", Strings), ref("string", Strings), enum("type", typeNames), typedValue(3)}},
	30: {name: "CartDimension", word: "CART_DIMENSION", text: "Name: %1, Size: %2, Periodicity: %3",
		fields: []field{number("self"), ref("name", Strings), number("size"), enum("periodic", booleans)}},
	31: {name: "CartTopology", word: "CART_TOPOLOGY", fields: []field{number("self"), ref("name", Strings),
		ref("communicator", Comms), count8("dimensions")}, each: []field{ref("dimension", CartDimensions)}},
	32: {name: "CartCoordinate", word: "CART_COORDINATE", fields: []field{ref("topology", CartTopologies),
		rank("rank", showTopoRank, 0), count8("dimensions")}, each: []field{number("coordinate")}},
	33: {name: "SourceCodeLocation", word: "SOURCE_CODE_LOCATION", text: "File: %1, Line Number: %2",
		fields: []field{number("self"), ref("file", Strings), number("line")}},
	34: {name: "CallingContext", word: "CALLING_CONTEXT", text: "Region: %1, Source code location: %2, Parent: %3",
		fields: []field{number("self"), ref("region", Regions), ref("source", SourceLocations),
			ref("parent", CallingContexts)}},
	35: {name: "CallingContextProperty", word: "CALLING_CONTEXT_PROPERTY",
		text:   "Calling Context: %0, Name: %1, Type: %2, Value: %3",
		fields: []field{ref("context", CallingContexts), ref("name", Strings), enum("type", typeNames), typedValue(2)}},
	36: {name: "InterruptGenerator", word: "INTERRUPT_GENERATOR",
		text: "Name: %1, Mode: %2, Base: %3, Exponent: %4, Period: %5", fields: []field{number("self"), ref("name", Strings),
			enum("mode", interruptModes), enum("base", bases), signed("exponent"), number64("period")}},
	37: {name: "IoFileProperty", word: "IO_FILE_PROPERTY", text: "File: %0, Name: %1, Type: %2, Value: %3",
		fields: []field{ref("file", IOFiles), ref("name", Strings), enum("type", typeNames), typedValue(2)}},
	38: {name: "IoRegularFile", word: "IO_REGULAR_FILE", text: "Name: %1, Scope: %2",
		fields: []field{number("self"), ref("name", Strings), ref("scope", SystemTreeNodes)}},
	39: {name: "IoDirectory", word: "IO_DIRECTORY", text: "Name: %1, Scope: %2",
		fields: []field{number("self"), ref("name", Strings), ref("scope", SystemTreeNodes)}},
	40: {name: "IoHandle", word: "IO_HANDLE",
		text: "Name: %1, File: %2, I/O Paradigm: %3, Flags: %4, Communicator: %5, Parent: %6",
		fields: []field{number("self"), ref("name", Strings), ref("file", IOFiles), ref8("paradigm", IOParadigms),
			flags("flags", handleFlags), ref("communicator", Comms), ref("parent", IOHandles)}},
	41: {name: "IoPreCreatedHandleState", word: "IO_PRE_CREATED_HANDLE_STATE",
		text:   "Handle: %0, Access Mode: %1, Status Flags: %2",
		fields: []field{ref("handle", IOHandles), enum("mode", accessModes), flags("status", statusFlags)}},
	42: {name: "CallpathParameter", word: "CALLPATH_PARAMETER", text: "Callpath: %0, Parameter: %1, Type: %2, Value: %3",
		fields: []field{ref("callpath", Callpaths), ref("parameter", Parameters), enum("type", typeNames),
			typedValue(2)}},
	43: {name: "InterComm", word: "INTER_COMM",
		text: "name: %1, Group A: %2, Group B: %3, Common Communicator: %4, Flags: %5",
		fields: []field{number("self"), ref("name", Strings), ref("groupA", Groups), ref("groupB", Groups),
			ref("common", Comms), flags("flags", createDestroy)}},
}

// The ids of the definition types that code in this package refers to.
const (
	defClock            = 5
	defParadigm         = 6
	defParadigmProp     = 7
	defIOParadigm       = 8
	defString           = 10
	defAttribute        = 11
	defTreeNode         = 12
	defLocationGroup    = 13
	defLocation         = 14
	defRegion           = 15
	defCallsite         = 16
	defCallpath         = 17
	defGroup            = 18
	defMetricMember     = 19
	defMetricClass      = 20
	defMetricInst       = 21
	defComm             = 22
	defParameter        = 23
	defWindow           = 24
	defNodeProperty     = 26
	defNodeDomain       = 27
	defGroupProperty    = 28
	defLocationProperty = 29
	defContextProperty  = 35
	defIOFileProperty   = 37

	defCartDimension = 30
	defCartTopology  = 31
	defCartCoord     = 32
	defSourceLoc     = 33
	defContext       = 34
	defInterrupt     = 36
	defIOFile        = 38
	defIODirectory   = 39
	defIOHandle      = 40
	defInterComm     = 43
)

// The ids of the definition types that occur only in a location's own file.
const (
	localMapping = 5
	localClock   = 6
)

// The ids of the snapshot and thumbnail records that are not events.
const (
	snapshotStart   = 10
	snapshotEnd     = 11
	thumbnailHeader = 10
	thumbnailSample = 11
)

// thumbnailTypes holds the records of a thumbnail file: the header and the samples
// (docs/formats/otf2.md, "Thumbnails").
var thumbnailTypes = [...]recordType{
	10: {name: "Header", fields: []field{literal("name"), literal("description"), enum("type",
		[]string{"REGION", "METRIC", "ATTRIBUTES"}), number("samples"), count("metrics")}, each: []field{number64("ref")}},
	11: {name: "Sample", fields: []field{number64("baseline"), count("values")}, each: []field{number64("value")}},
}

// markerTypes holds the types of the records in a marker file.
var (
	markerTypes = [...]recordType{
		5: {name: "DefMarker",
			fields: []field{number("self"), literal("group"), literal("category"), enum("severity", severities)}},
		6: {name: "Marker", fields: []field{number64("time"), number64("duration"), number("marker"),
			enum("scope", markerScopes), number64("scopeRef"), literal("text")}},
	}
)
