package otf

import "github.com/weft-trace/weft/trace"

// how says how an operand comes from a field of a record.
type how uint8

const (
	plain  how = iota
	always     // it is always the same, and no field
	peer       // the location of a process
	other      // the same, 0 for none
	comm       // a communicator, 0 for none
	root       // 0 for none
	past       // a time
)

// operand is where one of an event comes from.
type operand struct {
	how   how
	f     field
	value uint64
}

// eventModel says what records of a type are in the common model.
type eventModel struct {
	kind  trace.Kind
	table int // what the reference names, noTable for none
	ref   field
	ops   []operand
}

const noTable = -1

// on is a kind of events whose reference is a field.
func on(k trace.Kind, table int, ref field, ops ...operand) eventModel {
	return eventModel{k, table, ref, ops}
}

// alone is a kind of events that refer to nothing.
func alone(k trace.Kind, ops ...operand) eventModel { return eventModel{k, noTable, 0, ops} }

func num(f field) operand       { return operand{f: f} }
func by(h how, f field) operand { return operand{how: h, f: f} }
func is(v uint64) operand       { return operand{how: always, value: v} }

var (
	undefined = is(trace.Undefined)
	inComm    = by(comm, fCommunicator)
	then      = by(past, fOriginalTime)
)

// eventModels are the types of records by what they are in the model. Visits, counters and
// comments are treated in a way of their own.
var eventModels = [NumTypes]eventModel{
	SendMsg:             alone(trace.Send, by(peer, fPeer), inComm, num(fTag), num(fLength)),
	RecvMsg:             alone(trace.Recv, by(peer, fPeer), inComm, num(fTag), num(fLength)),
	CollectiveOperation: alone(trace.Collective, num(fCollective), inComm, by(root, fRoot), num(fSent), num(fReceived), num(fDuration)),
	BeginCollective:     alone(trace.CollectiveBegin, num(fCollective), inComm, by(root, fRoot), num(fSent), num(fReceived), num(fMatching)),
	EndCollective:       alone(trace.CollectiveEnd, undefined, undefined, undefined, is(0), is(0), num(fMatching)),
	BeginProcess:        alone(trace.ProcessBegin),
	EndProcess:          alone(trace.ProcessEnd),
	NoOp:                alone(trace.NoOp),
	FileOperation:       on(trace.FileOperation, files, fFile, num(fHandle), num(fOperation), num(fBytes), num(fDuration)),
	BeginFileOperation:  alone(trace.FileOperationBegin, num(fMatching)),
	EndFileOperation:    on(trace.FileOperationEnd, files, fFile, num(fHandle), num(fOperation), num(fBytes), num(fMatching)),
	RMAPut:              alone(trace.RMAPut, by(other, fPeer), num(fBytes), undefined, inComm, num(fTag), by(other, fOrigin)),
	RMAPutRemoteEnd:     alone(trace.RMAPutRemoteEnd, by(other, fPeer), num(fBytes), undefined, inComm, num(fTag), by(other, fOrigin)),
	RMAGet:              alone(trace.RMAGet, by(other, fPeer), num(fBytes), undefined, inComm, num(fTag), by(other, fOrigin)),
	RMAEnd:              alone(trace.RMAEnd, by(other, fPeer), inComm, num(fTag)),

	EnterSnapshot:              on(trace.EnterSnapshot, functions, fFunction, then),
	SendSnapshot:               alone(trace.SendSnapshot, by(peer, fPeer), inComm, num(fTag), num(fLength), then),
	OpenFileSnapshot:           on(trace.OpenFileSnapshot, files, fFile, num(fHandle), then),
	BeginCollectiveSnapshot:    alone(trace.CollectiveSnapshot, num(fCollective), inComm, by(root, fRoot), num(fSent), num(fReceived), num(fMatching), then),
	BeginFileOperationSnapshot: alone(trace.FileOperationSnapshot, num(fMatching), then),
	CollectiveCountSnapshot:    on(trace.CollectiveCountSnapshot, groups, fCommunicator, num(fCount)),
	CounterSnapshot:            on(trace.MetricSnapshot, counters, fCounter, num(fValue), then),

	FunctionSummary:      on(trace.RegionSummary, functions, fFunction, num(fCount), num(fExclusive), num(fInclusive)),
	FunctionGroupSummary: on(trace.RegionGroupSummary, functionGroups, fGroup, num(fCount), num(fExclusive), num(fInclusive)),
	MessageSummary:       alone(trace.MessageSummary, by(other, fPeer), inComm, num(fTag), num(fSentCount), num(fReceivedCount), num(fSent), num(fReceived)),
	CollectiveSummary:    on(trace.CollectiveSummary, groups, fCommunicator, num(fCollective), num(fSentCount), num(fReceivedCount), num(fSent), num(fReceived)),
	FileOperationSummary: on(trace.FileSummary, files, fFile, num(fOpens), num(fCloses), num(fReads), num(fWrites), num(fSeeks), num(fBytesRead), num(fBytesWritten)),
	FileGroupOperationSummary: on(trace.FileGroupSummary, fileGroups, fGroup, num(fOpens), num(fCloses), num(fReads), num(fWrites), num(fSeeks), num(fBytesRead),
		num(fBytesWritten)),
	Marker: on(trace.Marker, markers, fToken, is(0)),
}

// typesOf are the types of records that kinds of events become.
var typesOf = func() map[trace.Kind]Type {
	m := map[trace.Kind]Type{trace.SendBegin: SendMsg, trace.RecvComplete: RecvMsg}
	for t, x := range eventModels {
		if x.kind != trace.NoKind {
			m[x.kind] = Type(t)
		}
	}
	return m
}()
