package pallas

import "fmt"

// Record is the type of an event (docs/formats/pallas.md, "Event records").
type Record uint32

// The records. The comment after a record lists the fields of its payload. The format defines no
// payload for a record without a comment.
const (
	Invalid Record = iota
	MeasurementOnOff
	Enter            // region
	Leave            // region
	MPISend          // receiver, communicator, tag, length
	MPIIsend         // receiver, communicator, tag, length, request
	MPIIsendComplete // request
	MPIIrecvRequest  // request
	MPIRecv          // sender, communicator, tag, length
	MPIIrecv         // sender, communicator, tag, length, request
	MPIRequestTest
	MPIRequestCancelled
	MPICollectiveBegin // no fields
	MPICollectiveEnd   // operation, communicator, root, bytes sent, bytes received
	OMPFork            // threads
	OMPJoin            // no fields
	OMPAcquireLock     // lock
	OMPReleaseLock     // lock
	OMPTaskCreate      // task
	OMPTaskSwitch      // task
	OMPTaskComplete    // task
	MetricRecord
	ParameterString
	ParameterInt
	ParameterUnsignedInt
	ThreadFork // threads
	ThreadJoin
	ThreadTeamBegin    // no fields
	ThreadTeamEnd      // no fields
	ThreadAcquireLock  // lock
	ThreadReleaseLock  // lock
	ThreadTaskCreate   // no fields
	ThreadTaskSwitch   // no fields
	ThreadTaskComplete // no fields
	ThreadCreate
	ThreadBegin // no fields
	ThreadWait
	ThreadEnd // no fields
	IOCreateHandle
	IODestroyHandle
	IODuplicateHandle
	IOSeek
	IOChangeStatusFlags
	IODeleteFile
	IOOperationBegin
	IOOperationTest
	IOOperationIssued
	IOOperationComplete
	IOOperationCancelled
	IOAcquireLock
	IOReleaseLock
	IOTryLock
	ProgramBegin
	ProgramEnd
	NonBlockingCollectiveRequest
	NonBlockingCollectiveComplete
	CommCreate
	CommDestroy
	Generic // string
	BufferFlush
	maxRecord // record of an unused element in a thread's list of events
)

// closers maps each record that begins an operation to the record that ends it. openers maps each record that
// ends an operation to the record that begins it. Both map other records to Invalid.
var (
	closers = [maxRecord]Record{Enter: Leave, OMPFork: OMPJoin, ThreadFork: ThreadJoin, ThreadTeamBegin: ThreadTeamEnd,
		ThreadBegin: ThreadEnd}
	openers = [maxRecord]Record{Leave: Enter, OMPJoin: OMPFork, ThreadJoin: ThreadFork, ThreadTeamEnd: ThreadTeamBegin,
		ThreadEnd: ThreadBegin}
)

// closing returns the record that ends the operation that r begins. ok is false if r does not begin an
// operation.
func (r Record) closing() (end Record, ok bool) {
	if r < maxRecord {
		end = closers[r]
	}
	return end, end != Invalid
}

// opening returns the record that begins the operation that r ends. ok is false if r does not end an
// operation.
func (r Record) opening() (start Record, ok bool) {
	if r < maxRecord {
		start = openers[r]
	}
	return start, start != Invalid
}

// field is a field of a payload. A wide field has 8 bytes, other fields have 4.
type field struct {
	name string
	wide bool
}

var (
	regionField  = []field{{"region", false}}
	messageField = func(peer string, more ...field) []field {
		return append([]field{{peer, false}, {"communicator", false}, {"tag", false}, {"length", true}}, more...)
	}
	requestField = field{"request", true}
	threadsField = []field{{"threads", false}}
	lockField    = []field{{"lock", false}}
	taskField    = []field{{"task", true}}
)

// recordSpec describes a record: its name, and the fields of its payload if the format defines any.
type recordSpec struct {
	name    string
	defined bool
	fields  []field
}

var records = [maxRecord]recordSpec{
	Invalid:             {"INVALID", true, nil},
	MeasurementOnOff:    {"MEASUREMENT_ON_OFF", false, nil},
	Enter:               {"ENTER", true, regionField},
	Leave:               {"LEAVE", true, regionField},
	MPISend:             {"MPI_SEND", true, messageField("receiver")},
	MPIIsend:            {"MPI_ISEND", true, messageField("receiver", requestField)},
	MPIIsendComplete:    {"MPI_ISEND_COMPLETE", true, []field{requestField}},
	MPIIrecvRequest:     {"MPI_IRECV_REQUEST", true, []field{requestField}},
	MPIRecv:             {"MPI_RECV", true, messageField("sender")},
	MPIIrecv:            {"MPI_IRECV", true, messageField("sender", requestField)},
	MPIRequestTest:      {"MPI_REQUEST_TEST", false, nil},
	MPIRequestCancelled: {"MPI_REQUEST_CANCELLED", false, nil},
	MPICollectiveBegin:  {"MPI_COLLECTIVE_BEGIN", true, nil},
	MPICollectiveEnd: {"MPI_COLLECTIVE_END", true,
		[]field{{"operation", false}, {"communicator", false}, {"root", false}, {"sent", true}, {"received", true}}},
	OMPFork:                       {"OMP_FORK", true, threadsField},
	OMPJoin:                       {"OMP_JOIN", true, nil},
	OMPAcquireLock:                {"OMP_ACQUIRE_LOCK", true, lockField},
	OMPReleaseLock:                {"OMP_RELEASE_LOCK", true, lockField},
	OMPTaskCreate:                 {"OMP_TASK_CREATE", true, taskField},
	OMPTaskSwitch:                 {"OMP_TASK_SWITCH", true, taskField},
	OMPTaskComplete:               {"OMP_TASK_COMPLETE", true, taskField},
	MetricRecord:                  {"METRIC", false, nil},
	ParameterString:               {"PARAMETER_STRING", false, nil},
	ParameterInt:                  {"PARAMETER_INT", false, nil},
	ParameterUnsignedInt:          {"PARAMETER_UNSIGNED_INT", false, nil},
	ThreadFork:                    {"THREAD_FORK", true, threadsField},
	ThreadJoin:                    {"THREAD_JOIN", true, nil},
	ThreadTeamBegin:               {"THREAD_TEAM_BEGIN", true, nil},
	ThreadTeamEnd:                 {"THREAD_TEAM_END", true, nil},
	ThreadAcquireLock:             {"THREAD_ACQUIRE_LOCK", true, lockField},
	ThreadReleaseLock:             {"THREAD_RELEASE_LOCK", true, lockField},
	ThreadTaskCreate:              {"THREAD_TASK_CREATE", true, nil},
	ThreadTaskSwitch:              {"THREAD_TASK_SWITCH", true, nil},
	ThreadTaskComplete:            {"THREAD_TASK_COMPLETE", true, nil},
	ThreadCreate:                  {"THREAD_CREATE", false, nil},
	ThreadBegin:                   {"THREAD_BEGIN", true, nil},
	ThreadWait:                    {"THREAD_WAIT", false, nil},
	ThreadEnd:                     {"THREAD_END", true, nil},
	IOCreateHandle:                {"IO_CREATE_HANDLE", false, nil},
	IODestroyHandle:               {"IO_DESTROY_HANDLE", false, nil},
	IODuplicateHandle:             {"IO_DUPLICATE_HANDLE", false, nil},
	IOSeek:                        {"IO_SEEK", false, nil},
	IOChangeStatusFlags:           {"IO_CHANGE_STATUS_FLAGS", false, nil},
	IODeleteFile:                  {"IO_DELETE_FILE", false, nil},
	IOOperationBegin:              {"IO_OPERATION_BEGIN", false, nil},
	IOOperationTest:               {"IO_OPERATION_TEST", false, nil},
	IOOperationIssued:             {"IO_OPERATION_ISSUED", false, nil},
	IOOperationComplete:           {"IO_OPERATION_COMPLETE", false, nil},
	IOOperationCancelled:          {"IO_OPERATION_CANCELLED", false, nil},
	IOAcquireLock:                 {"IO_ACQUIRE_LOCK", false, nil},
	IOReleaseLock:                 {"IO_RELEASE_LOCK", false, nil},
	IOTryLock:                     {"IO_TRY_LOCK", false, nil},
	ProgramBegin:                  {"PROGRAM_BEGIN", false, nil},
	ProgramEnd:                    {"PROGRAM_END", false, nil},
	NonBlockingCollectiveRequest:  {"NON_BLOCKING_COLLECTIVE_REQUEST", false, nil},
	NonBlockingCollectiveComplete: {"NON_BLOCKING_COLLECTIVE_COMPLETE", false, nil},
	CommCreate:                    {"COMM_CREATE", false, nil},
	CommDestroy:                   {"COMM_DESTROY", false, nil},
	Generic:                       {"GENERIC", true, []field{{"name", false}}},
	BufferFlush:                   {"BUFFER_FLUSH", false, nil},
}

// String returns Pallas' name of the record.
func (r Record) String() string {
	if r < maxRecord {
		return records[r].name
	}
	return fmt.Sprintf("record %d", uint32(r))
}

// Values returns the fields of a payload, in the order of the format's documentation. ok is false if
// the format does not define the fields, or if the payload has another length.
func (r Record) Values(payload []byte) (values []uint64, ok bool) {
	if r >= maxRecord || !records[r].defined {
		return nil, false
	}
	for _, f := range records[r].fields {
		n := 4
		if f.wide {
			n = 8
		}
		if len(payload) < n {
			return nil, false
		}
		v := uint64(0)
		for i := n - 1; i >= 0; i-- {
			v = v<<8 | uint64(payload[i])
		}
		values, payload = append(values, v), payload[n:]
	}
	return values, len(payload) == 0
}
