package otf

import "github.com/weft-trace/weft/trace"

// operandSource describes how an operand of an event is computed from a field of a record.
type operandSource uint8

const (
	fromField            operandSource = iota
	constant                           // a constant; no field is used
	processLocation                    // the location of a process
	optionalLocation                   // the location of a process; 0 means no process
	optionalCommunicator               // a communicator; 0 means no communicator
	optionalRoot                       // a rank or process; 0 means none
	fileTime                           // a time in ticks of the file
)

// operand describes how one operand of an event is computed.
type operand struct {
	source operandSource
	f      field
	value  uint64
}

// eventModel describes the event that a record type becomes in the common model.
type eventModel struct {
	kind  trace.Kind
	table int // table to which the reference points; noTable if there is no reference
	ref   field
	ops   []operand
}

const noTable = -1

// eventWithRef returns the model of an event whose reference comes from the field ref.
func eventWithRef(k trace.Kind, table int, ref field, ops ...operand) eventModel {
	return eventModel{k, table, ref, ops}
}

// eventWithoutRef returns the model of an event that has no reference.
func eventWithoutRef(k trace.Kind, ops ...operand) eventModel { return eventModel{k, noTable, 0, ops} }

func numberOf(f field) operand                 { return operand{f: f} }
func fieldAs(h operandSource, f field) operand { return operand{source: h, f: f} }
func constantOf(v uint64) operand              { return operand{source: constant, value: v} }

var (
	undefinedOperand    = constantOf(trace.Undefined)
	communicatorOperand = fieldAs(optionalCommunicator, fieldCommunicator)
	originalTimeOperand = fieldAs(fileTime, fieldOriginalTime)
)

// eventModels maps record types to events. It does not contain visits, counters and comments, which addRow
// converts with separate code.
var eventModels = [NumTypes]eventModel{
	SendMsg: eventWithoutRef(trace.Send, fieldAs(processLocation, fieldPeer), communicatorOperand, numberOf(fieldTag),
		numberOf(fieldLength)),
	RecvMsg: eventWithoutRef(trace.Recv, fieldAs(processLocation, fieldPeer), communicatorOperand, numberOf(fieldTag),
		numberOf(fieldLength)),
	CollectiveOperation: eventWithoutRef(trace.Collective, numberOf(fieldCollective), communicatorOperand,
		fieldAs(optionalRoot, fieldRoot), numberOf(fieldSent), numberOf(fieldReceived), numberOf(fieldDuration)),
	BeginCollective: eventWithoutRef(trace.CollectiveBegin, numberOf(fieldCollective), communicatorOperand,
		fieldAs(optionalRoot, fieldRoot), numberOf(fieldSent), numberOf(fieldReceived), numberOf(fieldMatching)),
	EndCollective: eventWithoutRef(trace.CollectiveEnd, undefinedOperand, undefinedOperand, undefinedOperand,
		constantOf(0), constantOf(0), numberOf(fieldMatching)),
	BeginProcess: eventWithoutRef(trace.ProcessBegin),
	EndProcess:   eventWithoutRef(trace.ProcessEnd),
	NoOp:         eventWithoutRef(trace.NoOp),
	FileOperation: eventWithRef(trace.FileOperation, files, fieldFile, numberOf(fieldHandle), numberOf(fieldOperation),
		numberOf(fieldBytes), numberOf(fieldDuration)),
	BeginFileOperation: eventWithoutRef(trace.FileOperationBegin, numberOf(fieldMatching)),
	EndFileOperation: eventWithRef(trace.FileOperationEnd, files, fieldFile, numberOf(fieldHandle),
		numberOf(fieldOperation),
		numberOf(fieldBytes), numberOf(fieldMatching)),
	RMAPut: eventWithoutRef(trace.RMAPut, fieldAs(optionalLocation, fieldPeer), numberOf(fieldBytes),
		undefinedOperand, communicatorOperand, numberOf(fieldTag), fieldAs(optionalLocation, fieldOrigin)),
	RMAPutRemoteEnd: eventWithoutRef(trace.RMAPutRemoteEnd, fieldAs(optionalLocation, fieldPeer), numberOf(fieldBytes),
		undefinedOperand, communicatorOperand, numberOf(fieldTag), fieldAs(optionalLocation, fieldOrigin)),
	RMAGet: eventWithoutRef(trace.RMAGet, fieldAs(optionalLocation, fieldPeer), numberOf(fieldBytes),
		undefinedOperand, communicatorOperand, numberOf(fieldTag), fieldAs(optionalLocation, fieldOrigin)),
	RMAEnd: eventWithoutRef(trace.RMAEnd, fieldAs(optionalLocation, fieldPeer), communicatorOperand,
		numberOf(fieldTag)),

	EnterSnapshot: eventWithRef(trace.EnterSnapshot, functions, fieldFunction, originalTimeOperand),
	SendSnapshot: eventWithoutRef(trace.SendSnapshot, fieldAs(processLocation, fieldPeer), communicatorOperand,
		numberOf(fieldTag), numberOf(fieldLength), originalTimeOperand),
	OpenFileSnapshot: eventWithRef(trace.OpenFileSnapshot, files, fieldFile, numberOf(fieldHandle), originalTimeOperand),
	BeginCollectiveSnapshot: eventWithoutRef(trace.CollectiveSnapshot, numberOf(fieldCollective), communicatorOperand,
		fieldAs(optionalRoot, fieldRoot), numberOf(fieldSent), numberOf(fieldReceived), numberOf(fieldMatching),
		originalTimeOperand),
	BeginFileOperationSnapshot: eventWithoutRef(trace.FileOperationSnapshot, numberOf(fieldMatching), originalTimeOperand),
	CollectiveCountSnapshot: eventWithRef(trace.CollectiveCountSnapshot, groups, fieldCommunicator,
		numberOf(fieldCount)),
	CounterSnapshot: eventWithRef(trace.MetricSnapshot, counters, fieldCounter, numberOf(fieldValue),
		originalTimeOperand),

	FunctionSummary: eventWithRef(trace.RegionSummary, functions, fieldFunction, numberOf(fieldCount),
		numberOf(fieldExclusive),
		numberOf(fieldInclusive)),
	FunctionGroupSummary: eventWithRef(trace.RegionGroupSummary, functionGroups, fieldGroup, numberOf(fieldCount),
		numberOf(fieldExclusive), numberOf(fieldInclusive)),
	MessageSummary: eventWithoutRef(trace.MessageSummary, fieldAs(optionalLocation, fieldPeer), communicatorOperand,
		numberOf(fieldTag), numberOf(fieldSentCount), numberOf(fieldReceivedCount), numberOf(fieldSent),
		numberOf(fieldReceived)),
	CollectiveSummary: eventWithRef(trace.CollectiveSummary, groups, fieldCommunicator, numberOf(fieldCollective),
		numberOf(fieldSentCount), numberOf(fieldReceivedCount), numberOf(fieldSent), numberOf(fieldReceived)),
	FileOperationSummary: eventWithRef(trace.FileSummary, files, fieldFile, numberOf(fieldOpens), numberOf(fieldCloses),
		numberOf(fieldReads), numberOf(fieldWrites), numberOf(fieldSeeks), numberOf(fieldBytesRead),
		numberOf(fieldBytesWritten)),
	FileGroupOperationSummary: eventWithRef(trace.FileGroupSummary, fileGroups, fieldGroup, numberOf(fieldOpens),
		numberOf(fieldCloses), numberOf(fieldReads), numberOf(fieldWrites), numberOf(fieldSeeks), numberOf(fieldBytesRead),
		numberOf(fieldBytesWritten)),
	Marker: eventWithRef(trace.Marker, markers, fieldToken, constantOf(0)),
}

// typeOfKind maps kinds of events to the record types with which they are written.
var typeOfKind = func() map[trace.Kind]Type {
	m := map[trace.Kind]Type{trace.SendBegin: SendMsg, trace.RecvComplete: RecvMsg}
	for t, x := range eventModels {
		if x.kind != trace.NoKind {
			m[x.kind] = Type(t)
		}
	}
	return m
}()
