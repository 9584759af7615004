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
	communicatorOperand = fieldAs(optionalCommunicator, fCommunicator)
	originalTimeOperand = fieldAs(fileTime, fOriginalTime)
)

// eventModels maps record types to events. It does not contain visits, counters and comments, which addRow
// converts with separate code.
var eventModels = [NumTypes]eventModel{
	SendMsg: eventWithoutRef(trace.Send, fieldAs(processLocation, fPeer), communicatorOperand, numberOf(fTag),
		numberOf(fLength)),
	RecvMsg: eventWithoutRef(trace.Recv, fieldAs(processLocation, fPeer), communicatorOperand, numberOf(fTag),
		numberOf(fLength)),
	CollectiveOperation: eventWithoutRef(trace.Collective, numberOf(fCollective), communicatorOperand,
		fieldAs(optionalRoot, fRoot), numberOf(fSent), numberOf(fReceived), numberOf(fDuration)),
	BeginCollective: eventWithoutRef(trace.CollectiveBegin, numberOf(fCollective), communicatorOperand,
		fieldAs(optionalRoot, fRoot), numberOf(fSent), numberOf(fReceived), numberOf(fMatching)),
	EndCollective: eventWithoutRef(trace.CollectiveEnd, undefinedOperand, undefinedOperand, undefinedOperand,
		constantOf(0), constantOf(0), numberOf(fMatching)),
	BeginProcess: eventWithoutRef(trace.ProcessBegin),
	EndProcess:   eventWithoutRef(trace.ProcessEnd),
	NoOp:         eventWithoutRef(trace.NoOp),
	FileOperation: eventWithRef(trace.FileOperation, files, fFile, numberOf(fHandle), numberOf(fOperation),
		numberOf(fBytes), numberOf(fDuration)),
	BeginFileOperation: eventWithoutRef(trace.FileOperationBegin, numberOf(fMatching)),
	EndFileOperation: eventWithRef(trace.FileOperationEnd, files, fFile, numberOf(fHandle), numberOf(fOperation),
		numberOf(fBytes), numberOf(fMatching)),
	RMAPut: eventWithoutRef(trace.RMAPut, fieldAs(optionalLocation, fPeer), numberOf(fBytes),
		undefinedOperand, communicatorOperand, numberOf(fTag), fieldAs(optionalLocation, fOrigin)),
	RMAPutRemoteEnd: eventWithoutRef(trace.RMAPutRemoteEnd, fieldAs(optionalLocation, fPeer), numberOf(fBytes),
		undefinedOperand, communicatorOperand, numberOf(fTag), fieldAs(optionalLocation, fOrigin)),
	RMAGet: eventWithoutRef(trace.RMAGet, fieldAs(optionalLocation, fPeer), numberOf(fBytes),
		undefinedOperand, communicatorOperand, numberOf(fTag), fieldAs(optionalLocation, fOrigin)),
	RMAEnd: eventWithoutRef(trace.RMAEnd, fieldAs(optionalLocation, fPeer), communicatorOperand,
		numberOf(fTag)),

	EnterSnapshot: eventWithRef(trace.EnterSnapshot, functions, fFunction, originalTimeOperand),
	SendSnapshot: eventWithoutRef(trace.SendSnapshot, fieldAs(processLocation, fPeer), communicatorOperand,
		numberOf(fTag), numberOf(fLength), originalTimeOperand),
	OpenFileSnapshot: eventWithRef(trace.OpenFileSnapshot, files, fFile, numberOf(fHandle), originalTimeOperand),
	BeginCollectiveSnapshot: eventWithoutRef(trace.CollectiveSnapshot, numberOf(fCollective), communicatorOperand,
		fieldAs(optionalRoot, fRoot), numberOf(fSent), numberOf(fReceived), numberOf(fMatching), originalTimeOperand),
	BeginFileOperationSnapshot: eventWithoutRef(trace.FileOperationSnapshot, numberOf(fMatching), originalTimeOperand),
	CollectiveCountSnapshot:    eventWithRef(trace.CollectiveCountSnapshot, groups, fCommunicator, numberOf(fCount)),
	CounterSnapshot: eventWithRef(trace.MetricSnapshot, counters, fCounter, numberOf(fValue),
		originalTimeOperand),

	FunctionSummary: eventWithRef(trace.RegionSummary, functions, fFunction, numberOf(fCount), numberOf(fExclusive),
		numberOf(fInclusive)),
	FunctionGroupSummary: eventWithRef(trace.RegionGroupSummary, functionGroups, fGroup, numberOf(fCount),
		numberOf(fExclusive), numberOf(fInclusive)),
	MessageSummary: eventWithoutRef(trace.MessageSummary, fieldAs(optionalLocation, fPeer), communicatorOperand,
		numberOf(fTag), numberOf(fSentCount), numberOf(fReceivedCount), numberOf(fSent), numberOf(fReceived)),
	CollectiveSummary: eventWithRef(trace.CollectiveSummary, groups, fCommunicator, numberOf(fCollective),
		numberOf(fSentCount), numberOf(fReceivedCount), numberOf(fSent), numberOf(fReceived)),
	FileOperationSummary: eventWithRef(trace.FileSummary, files, fFile, numberOf(fOpens), numberOf(fCloses),
		numberOf(fReads), numberOf(fWrites), numberOf(fSeeks), numberOf(fBytesRead), numberOf(fBytesWritten)),
	FileGroupOperationSummary: eventWithRef(trace.FileGroupSummary, fileGroups, fGroup, numberOf(fOpens),
		numberOf(fCloses), numberOf(fReads), numberOf(fWrites), numberOf(fSeeks), numberOf(fBytesRead),
		numberOf(fBytesWritten)),
	Marker: eventWithRef(trace.Marker, markers, fToken, constantOf(0)),
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
