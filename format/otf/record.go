package otf

import "unsafe"

// Type is a record type. The numbers are the values of libotf's constants OTF_*_RECORD.
type Type uint8

// The record types (docs/formats/otf.md, "Records").
const (
	EventComment                Type = 0
	Counter                     Type = 1
	Enter                       Type = 2
	CollectiveOperation         Type = 5
	RecvMsg                     Type = 10
	SendMsg                     Type = 11
	Leave                       Type = 12
	DefTimerResolution          Type = 13
	DefProcess                  Type = 14
	DefProcessGroup             Type = 15
	DefFunction                 Type = 16
	DefFunctionGroup            Type = 17
	DefCounter                  Type = 18
	DefCounterGroup             Type = 19
	DefCollectiveOperation      Type = 20
	DefSCL                      Type = 21
	DefSCLFile                  Type = 22
	DefVersion                  Type = 23
	DefCreator                  Type = 24
	DefFile                     Type = 25
	DefFileGroup                Type = 26
	FunctionSummary             Type = 28
	FunctionGroupSummary        Type = 29
	MessageSummary              Type = 30
	FileOperationSummary        Type = 31
	FileGroupOperationSummary   Type = 32
	DefinitionComment           Type = 34
	BeginProcess                Type = 35
	EndProcess                  Type = 36
	EnterSnapshot               Type = 37
	SendSnapshot                Type = 38
	SummaryComment              Type = 39
	SnapshotComment             Type = 40
	Unknown                     Type = 41 // a record that has none of the types above
	FileOperation               Type = 42
	OpenFileSnapshot            Type = 43
	CollectiveSummary           Type = 44
	DefMarker                   Type = 45
	Marker                      Type = 46
	RMAPut                      Type = 47
	RMAPutRemoteEnd             Type = 48
	RMAGet                      Type = 49
	RMAEnd                      Type = 50
	BeginCollective             Type = 51
	EndCollective               Type = 52
	BeginFileOperation          Type = 53
	EndFileOperation            Type = 54
	DefAttributeList            Type = 55
	DefProcessOrGroupAttributes Type = 56
	DefKeyValue                 Type = 57
	NoOp                        Type = 58
	BeginCollectiveSnapshot     Type = 59
	BeginFileOperationSnapshot  Type = 60
	DefTimeRange                Type = 61
	DefCounterAssignments       Type = 62
	DefProcessSubstitutes       Type = 63
	DefUniqueID                 Type = 64
	DefAuxSamplePoint           Type = 65
	CollectiveCountSnapshot     Type = 66
	CounterSnapshot             Type = 67
	NumTypes                         = 68
)

// Part is a kind of file. A stream consists of one file of each part.
type Part uint8

// The parts of a stream (docs/formats/otf.md, "Files").
const (
	Definitions Part = iota
	Events
	Snapshots
	Statistics
	Markers
	numParts
)

var suffixes = [numParts]string{".def", ".events", ".snaps", ".stats", ".marker"}

// String returns the suffix of the files of the part, without the dot.
func (p Part) String() string { return suffixes[p][1:] }

// timed reports whether the records of the part have times and processes, which time lines and process lines
// set.
func (p Part) timed() bool { return p == Events || p == Snapshots || p == Statistics }

// Record is one record of any type. Each type uses the fields that its entry in the table of types lists
// ([Type.Fields]). Readers set these fields and leave the other fields as they are; writers ignore the other
// fields. Numbers are unsigned. Fields that the format holds in 32 bits must be less than 2^32 when they are
// written. These are nearly all fields except times, sums and matching ids.
//
// The record of a reader, with its strings and slices, belongs to the reader and is valid until the next
// record is read. [Record.Clone] makes a lasting copy.
type Record struct {
	Type      Type
	in        Part   // part in which a record of type Unknown was read
	truncated bool   // the Text of an Unknown record is only a part of its line
	Stream    uint32 // number of the stream whose file contains the record; 0 for the global files
	// Time is the time in ticks since time 0 of the clock. Definitions have no time.
	Time uint64
	// Process is the token of the process that the record belongs to.
	Process uint64
	// KeyValues are the key-value pairs before the record.
	KeyValues []KeyValue
	keys      map[uint32]bool // keys of KeyValues, for the method hasKey
	// Text is a comment, the text of a marker or of the version, the description of a key, or the
	// whole line of an Unknown record.
	Text string
	// Name is the name in a definition. Unnamed is set if a DefProcess has no name at all, which
	// differs from an empty name.
	Name    string
	Unnamed bool
	Unit    string   // unit of a counter's values
	Members []uint32 // members of a group, attribute list or assignment

	Token  uint64 // token of the defined entry; for a marker, the token of the marker's definition
	Parent uint64 // parent of a process; 0 for none
	Group  uint64 // group of a function, counter or file
	Kind   uint64 // kind of a collective operation, marker, key or sample point
	// Properties are flags of a counter. Bit 0: 0 accumulated, 1 absolute. Bits 2 and 3 state which time a
	// value describes: 0 all time since the beginning, 4 that point in time, 8 the time since the last value,
	// c the time until the next value. Bits 5 to 8 are the type of the value: 0 unsigned and 20 signed of 64
	// bits, 40 and 60 of 32, 80 and a0 of 16, 100 float, 120 double (hexadecimal).
	Properties     uint64
	AttributeList  uint64
	Major          uint64 // fields of a DefVersion; Major, Minor and Sub have 8 bits
	Minor          uint64
	Sub            uint64
	UniqueID       uint64
	TicksPerSecond uint64
	MinTime        uint64
	MaxTime        uint64
	SampleTime     uint64

	Function     uint64
	Peer         uint64 // the receiver of a send, the sender of a receive, or the remote process
	Origin       uint64 // process that has started the transfer; 0 if it is the process of the record
	Communicator uint64 // process group; 0 for none
	Tag          uint64
	Length       uint64 // length of a message in bytes, with 32 bits
	Counter      uint64
	Value        uint64 // value of a counter, whose type depends on the properties of the counter
	Collective   uint64
	Root         uint64 // root of a collective operation; 0 for none
	Sent         uint64 // number of bytes sent
	Received     uint64 // number of bytes received
	Duration     uint64 // duration in ticks
	Matching     uint64 // id that joins the begin and the end of an operation
	File         uint64
	Line         uint64
	Handle       uint64
	// Operation is an operation on a file. The low 5 bits are the operation: 0 open, 1 close, 2 read, 3 write,
	// 4 seek, 5 unlink, 6 rename, 7 dup, 8 sync, 9 lock, 10 unlock, 31 other. The other bits are flags: 20
	// failed, 40 asynchronous, 80 collective, 100 direct, 200 synchronous, 400 read lock (hexadecimal).
	Operation uint64
	Bytes     uint64
	SCL       uint64 // source code location; 0 for none

	OriginalTime  uint64 // time in ticks of the event that a snapshot repeats
	Count         uint64
	Exclusive     uint64 // exclusive time in ticks
	Inclusive     uint64 // inclusive time in ticks
	SentCount     uint64
	ReceivedCount uint64
	Opens         uint64
	Closes        uint64
	Reads         uint64
	Writes        uint64
	Seeks         uint64
	BytesRead     uint64
	BytesWritten  uint64
}

// Part returns the part that contains the record. For most records it depends on the type. For a
// record of type Unknown it is the part in which the record was read.
func (r *Record) Part() Part {
	if r.Type == Unknown {
		return r.in
	}
	return r.Type.Part()
}

// field identifies a field of a Record by its offset.
type field uintptr

const (
	fieldTime           = field(unsafe.Offsetof(Record{}.Time))
	fieldProcess        = field(unsafe.Offsetof(Record{}.Process))
	fieldToken          = field(unsafe.Offsetof(Record{}.Token))
	fieldParent         = field(unsafe.Offsetof(Record{}.Parent))
	fieldGroup          = field(unsafe.Offsetof(Record{}.Group))
	fieldKind           = field(unsafe.Offsetof(Record{}.Kind))
	fieldProperties     = field(unsafe.Offsetof(Record{}.Properties))
	fieldAttributeList  = field(unsafe.Offsetof(Record{}.AttributeList))
	fieldMajor          = field(unsafe.Offsetof(Record{}.Major))
	fieldMinor          = field(unsafe.Offsetof(Record{}.Minor))
	fieldSub            = field(unsafe.Offsetof(Record{}.Sub))
	fieldUniqueID       = field(unsafe.Offsetof(Record{}.UniqueID))
	fieldTicksPerSecond = field(unsafe.Offsetof(Record{}.TicksPerSecond))
	fieldMinTime        = field(unsafe.Offsetof(Record{}.MinTime))
	fieldMaxTime        = field(unsafe.Offsetof(Record{}.MaxTime))
	fieldSampleTime     = field(unsafe.Offsetof(Record{}.SampleTime))
	fieldFunction       = field(unsafe.Offsetof(Record{}.Function))
	fieldPeer           = field(unsafe.Offsetof(Record{}.Peer))
	fieldOrigin         = field(unsafe.Offsetof(Record{}.Origin))
	fieldCommunicator   = field(unsafe.Offsetof(Record{}.Communicator))
	fieldTag            = field(unsafe.Offsetof(Record{}.Tag))
	fieldLength         = field(unsafe.Offsetof(Record{}.Length))
	fieldCounter        = field(unsafe.Offsetof(Record{}.Counter))
	fieldValue          = field(unsafe.Offsetof(Record{}.Value))
	fieldCollective     = field(unsafe.Offsetof(Record{}.Collective))
	fieldRoot           = field(unsafe.Offsetof(Record{}.Root))
	fieldSent           = field(unsafe.Offsetof(Record{}.Sent))
	fieldReceived       = field(unsafe.Offsetof(Record{}.Received))
	fieldDuration       = field(unsafe.Offsetof(Record{}.Duration))
	fieldMatching       = field(unsafe.Offsetof(Record{}.Matching))
	fieldFile           = field(unsafe.Offsetof(Record{}.File))
	fieldLine           = field(unsafe.Offsetof(Record{}.Line))
	fieldHandle         = field(unsafe.Offsetof(Record{}.Handle))
	fieldOperation      = field(unsafe.Offsetof(Record{}.Operation))
	fieldBytes          = field(unsafe.Offsetof(Record{}.Bytes))
	fieldSCL            = field(unsafe.Offsetof(Record{}.SCL))
	fieldOriginalTime   = field(unsafe.Offsetof(Record{}.OriginalTime))
	fieldCount          = field(unsafe.Offsetof(Record{}.Count))
	fieldExclusive      = field(unsafe.Offsetof(Record{}.Exclusive))
	fieldInclusive      = field(unsafe.Offsetof(Record{}.Inclusive))
	fieldSentCount      = field(unsafe.Offsetof(Record{}.SentCount))
	fieldReceivedCount  = field(unsafe.Offsetof(Record{}.ReceivedCount))
	fieldOpens          = field(unsafe.Offsetof(Record{}.Opens))
	fieldCloses         = field(unsafe.Offsetof(Record{}.Closes))
	fieldReads          = field(unsafe.Offsetof(Record{}.Reads))
	fieldWrites         = field(unsafe.Offsetof(Record{}.Writes))
	fieldSeeks          = field(unsafe.Offsetof(Record{}.Seeks))
	fieldBytesRead      = field(unsafe.Offsetof(Record{}.BytesRead))
	fieldBytesWritten   = field(unsafe.Offsetof(Record{}.BytesWritten))
	fieldText           = field(unsafe.Offsetof(Record{}.Text))
	fieldName           = field(unsafe.Offsetof(Record{}.Name))
	fieldUnit           = field(unsafe.Offsetof(Record{}.Unit))
	fieldMembers        = field(unsafe.Offsetof(Record{}.Members))
)

// number returns a pointer to a numeric field.
func (r *Record) number(f field) *uint64 { return (*uint64)(unsafe.Add(unsafe.Pointer(r), f)) }

// text returns a pointer to a text field.
func (r *Record) text(f field) *string { return (*string)(unsafe.Add(unsafe.Pointer(r), f)) }
