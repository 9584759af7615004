package picl

import (
	"slices"
	"strconv"

	"github.com/weft-trace/weft/trace"
)

// eventSpec describes an event type: the name of the PICL or MPI call, a description, and the data
// fields of its entry and exit. A mark has the fields of the entry, followed by those of the exit
// (specification section 2.3.3). Decoder, encoder, statistics, documents and the raw dump use these
// descriptions.
type eventSpec struct {
	event int64
	name  string
	doc   string
	entry []string
	exit  []string
	text  bool // the entry has character data
	send  role
}

type role uint8

const (
	noRole      role = iota
	sendBlock        // the message is sent at the entry
	sendPost         // the send is posted at the entry; the exit has the request id
	sendDone         // a posted send is complete
	recvBlock        // the message has arrived at the exit
	recvPost         // a receive is posted
	recvDone         // a posted receive is complete at the exit
	probeRole        // a message was found, but not received
	requestNone      // a request was found to be incomplete
)

var (
	sendFields  = []string{"length", "type", "destination", "destinationProcess"}
	wantFields  = []string{"requestedType", "requestedProcessor", "requestedProcess"}
	gotFields   = []string{"length", "type", "source", "sourceProcess"}
	request     = []string{"request"}
	syncFields  = []string{"processorSubset", "processSubset"}
	bytesFields = []string{"length", "descriptor"}
	// The fields of -782, -785 and -790 are those that coNCePTuaL writes. weft uses them for all collective operations.
	collectiveFields = []string{"length", "processSubset"}
	rootedFields     = []string{"length", "root", "processSubset"}
)

// destinationField is the index of the destination in sendFields.
const destinationField = 2

// eventTable lists the event types that PICL defines (docs/formats/picl.md, "Event types").
var eventTable = [...]eventSpec{
	{-1, "all", "all events; its entry and exit may bracket a process", nil, nil, false, noRole},
	{-11, "open0", "enabling interprocess communication", nil, nil, false, noRole},
	{-12, "close0", "disabling interprocess communication", nil, nil, false, noRole},
	{-13, "who0", "requesting communication parameters", nil, nil, false, noRole},
	{-14, "recvinfo0", "information on the last message", nil, nil, false, noRole},
	{-15, "set buffering", "buffering is set (MPICL)", nil, nil, false, noRole},
	{-16, "communication status", "status request (MPICL)", nil, nil, false, noRole},
	{-21, "send0", "blocking send", sendFields, nil, false, sendBlock},
	{-22, "bsend", "buffered send (MPICL)", sendFields, nil, false, sendBlock},
	{-23, "ssend", "synchronous send (MPICL)", sendFields, nil, false, sendBlock},
	{-24, "rsend", "ready send (MPICL)", sendFields, nil, false, sendBlock},
	{-27, "sendbegin0", "non-blocking send posted", sendFields, request, false, sendPost},
	{-28, "sendstatus0", "send found complete", request, nil, false, sendDone},
	{-29, "sendstatus0 (not complete)", "send found not complete", nil, nil, false, requestNone},
	{-30, "sendend0", "completion of a send verified", request, nil, false, sendDone},
	{-31, "sendend0 (waited)", "waited for completion of a send", request, nil, false, sendDone},
	{-32, "send cancelled", "send cancelled (MPICL)", request, nil, false, noRole},
	{-33, "bsend begin", "buffered send posted (MPICL)", sendFields, request, false, sendPost},
	{-34, "bsend done", "buffered send found complete (MPICL)", request, nil, false, sendDone},
	{-35, "bsend not done", "buffered send found not complete (MPICL)", nil, nil, false, requestNone},
	{-36, "bsend end", "buffered send completed (MPICL)", request, nil, false, sendDone},
	{-37, "bsend end (waited)", "waited for a buffered send (MPICL)", request, nil, false, sendDone},
	{-38, "bsend cancel", "buffered send cancelled (MPICL)", request, nil, false, noRole},
	{-39, "ssend begin", "synchronous send posted (MPICL)", sendFields, request, false, sendPost},
	{-40, "ssend done", "synchronous send found complete (MPICL)", request, nil, false, sendDone},
	{-41, "ssend not done", "synchronous send found not complete (MPICL)", nil, nil, false, requestNone},
	{-42, "ssend end", "synchronous send completed (MPICL)", request, nil, false, sendDone},
	{-43, "ssend end (waited)", "waited for a synchronous send (MPICL)", request, nil, false, sendDone},
	{-44, "ssend cancel", "synchronous send cancelled (MPICL)", request, nil, false, noRole},
	{-45, "rsend begin", "ready send posted (MPICL)", sendFields, request, false, sendPost},
	{-46, "rsend done", "ready send found complete (MPICL)", request, nil, false, sendDone},
	{-47, "rsend not done", "ready send found not complete (MPICL)", nil, nil, false, requestNone},
	{-48, "rsend end", "ready send completed (MPICL)", request, nil, false, sendDone},
	{-49, "rsend end (waited)", "waited for a ready send (MPICL)", request, nil, false, sendDone},
	{-50, "rsend cancel", "ready send cancelled (MPICL)", request, nil, false, noRole},
	{-51, "recv0", "blocking receive, the message was there", wantFields, gotFields, false, recvBlock},
	{-52, "recv0 (waited)", "waited to receive", wantFields, gotFields, false, recvBlock},
	{-53, "probe0", "message available", nil, nil, false, noRole},
	{-54, "probe0 (none)", "no message available", nil, nil, false, noRole},
	{-55, "wait0", "message available, verified", nil, nil, false, noRole},
	{-56, "wait0 (waited)", "waited until a message was available", wantFields, gotFields, false, probeRole},
	{-57, "recvbegin0", "non-blocking receive posted", wantFields, request, false, recvPost},
	{-58, "recvstatus0", "receive found complete", request, gotFields, false, recvDone},
	{-59, "recvstatus0 (not complete)", "receive found not complete", nil, nil, false, requestNone},
	{-60, "recvend0", "completion of a receive verified", request, gotFields, false, recvDone},
	{-61, "recvend0 (waited)", "waited for completion of a receive", request, gotFields, false, recvDone},
	{-62, "recv cancelled", "receive cancelled (MPICL)", request, nil, false, noRole},
	{-201, "file open", "file open", []string{"name"}, []string{"descriptor"}, true, noRole},
	{-202, "file close", "file close", []string{"descriptor"}, nil, false, noRole},
	{-221, "file write", "file write", bytesFields, nil, false, noRole},
	{-251, "file read", "file read", nil, bytesFields, false, noRole},
	{-401, "clocksync0", "clock synchronisation", syncFields, nil, false, noRole},
	{-402, "sync0", "barrier", syncFields, nil, false, noRole},
	{-501, "open0 (allocate)", "allocate processors", []string{"requested"}, []string{"allocated"}, false, noRole},
	{-502, "close0 (release)", "release processors", nil, nil, false, noRole},
	{-503, "load0", "spawn processes", []string{"name"}, []string{"processor", "process"}, true, noRole},
	{-601, "idle", "generic idle", nil, nil, false, noRole},
	{-602, "system overhead", "generic system overhead", nil, nil, false, noRole},
	{-603, "user overhead", "user or parallel overhead", nil, nil, false, noRole},
	{-756, "MPI_Pack", "pack (MPICL)", nil, nil, false, noRole},
	{-773, "MPI_Unpack", "unpack (MPICL)", nil, nil, false, noRole},
	{-780, "MPI_Allgather", "all-gather (MPICL)", collectiveFields, nil, false, noRole},
	{-782, "MPI_Allreduce", "all-reduce (MPICL)", collectiveFields, []string{"processSubset"}, false, noRole},
	{-783, "MPI_Alltoall", "all-to-all (MPICL)", collectiveFields, nil, false, noRole},
	{-785, "MPI_Bcast", "broadcast (MPICL)", rootedFields, []string{"length"}, false, noRole},
	{-786, "MPI_Gather", "gather (MPICL)", rootedFields, nil, false, noRole},
	{-790, "MPI_Reduce", "reduce (MPICL)", rootedFields, []string{"length"}, false, noRole},
	{-791, "MPI_Reduce_scatter", "reduce and scatter (MPICL)", collectiveFields, nil, false, noRole},
	{-792, "MPI_Scan", "scan (MPICL)", collectiveFields, nil, false, noRole},
	{-793, "MPI_Scatter", "scatter (MPICL)", rootedFields, nil, false, noRole},
	{-804, "MPI_Comm_create", "communicator made (MPICL)", nil, nil, false, noRole},
	{-805, "MPI_Comm_dup", "communicator copied (MPICL)", nil, nil, false, noRole},
	{-806, "MPI_Comm_free", "communicator freed (MPICL)", nil, nil, false, noRole},
	{-812, "MPI_Comm_split", "communicator split (MPICL)", nil, nil, false, noRole},
	{-826, "MPI_Intercomm_create", "inter-communicator made (MPICL)", nil, nil, false, noRole},
	{-827, "MPI_Intercomm_merge", "inter-communicator merged (MPICL)", nil, nil, false, noRole},
	{-841, "MPI_Cart_create", "topology made (MPICL)", nil, nil, false, noRole},
	{-846, "MPI_Cart_sub", "topology cut (MPICL)", nil, nil, false, noRole},
	{-849, "MPI_Graph_create", "graph made (MPICL)", nil, nil, false, noRole},
	{-901, "tracing", "tracing on; first entry and last exit of every process", nil, nil, false, noRole},
	{-902, "traceevents", "which user events to profile", []string{"events"}, nil, false, noRole},
	{-903, "tracefiles", "trace files named", nil, nil, false, noRole},
	{-904, "tracelevel", "tracing level", []string{"piclLevel", "userLevel", "traceLevel"}, nil, false, noRole},
	{-905, "traceinfo", "query of tracing parameters", nil, nil, false, noRole},
	{-911, "tracemsg", "message put in the trace", []string{"length"}, nil, false, noRole},
	{-912, "traceflush", "buffer written", nil, []string{"length"}, false, noRole},
	{-913, "buffer full (disabled)", "buffer full, tracing disabled", nil, nil, false, noRole},
	{-914, "buffer full (overwriting)", "buffer full, records overwritten", nil, nil, false, noRole},
}

// messageSpec states how to write a message, or a phase of a message, that does not belong to another
// record. In the trace of another format it becomes a mark, otherwise an entry and an exit.
type messageSpec struct {
	kind  trace.Kind
	event int64
	ops   int // number of operands of the kind; the last one is the request
	// entry and exit list the data fields, one letter for each: l length, t tag, p processor, q
	// process, r request, - none.
	entry, exit string
}

var messageTable = [...]messageSpec{
	{trace.Send, -21, 4, "ltpq", ""},
	{trace.SendBegin, -27, 5, "ltpqr", ""},
	{trace.SendComplete, -30, 1, "r", ""},
	{trace.Recv, -51, 4, "tp-", "ltpq"},
	{trace.RecvBegin, -57, 1, "---r", ""},
	{trace.RecvComplete, -60, 5, "r", "ltpq"},
}

// messageOf returns the element of messageTable for a kind or an event type, or nil if there is none.
func messageOf(k trace.Kind, event int64) *messageSpec {
	for i := range messageTable {
		if m := &messageTable[i]; m.kind == k || m.event == event {
			return m
		}
	}
	return nil
}

// tableLow is the smallest event type in eventTable. The indexes of the event types from tableLow to -1
// are in eventIndex.
const tableLow = -914

var eventIndex = func() (x [-tableLow + 1]uint8) {
	for i, e := range eventTable {
		x[-e.event] = uint8(i + 1)
	}
	return
}()

var userEvent = eventSpec{entry: []string{"locationType", "parameterType"},
	exit: []string{"locationType", "parameterType"}}

var unknownEvent eventSpec

// specIndex returns a small number for the description of an event type: 0 for unknown system events, 1
// for user events, and from 2 on the elements of eventTable.
func specIndex(event int64) int {
	if event >= 0 {
		return 1
	}
	if event >= tableLow {
		if i := int(eventIndex[-event]); i > 0 {
			return i + 1
		}
	}
	return 0
}

// specOf returns the description of an event type. All user events share one description, and all unknown
// system events share an empty one.
func specOf(event int64) *eventSpec {
	switch i := specIndex(event); i {
	case 0:
		return &unknownEvent
	case 1:
		return &userEvent
	default:
		return &eventTable[i-2]
	}
}

func knownEvent(event int64) bool {
	return event >= 0 || event >= tableLow && eventIndex[-event] > 0 || isSubsetEvent(event)
}

func isSubsetEvent(event int64) bool {
	return subset(event) != nil || event < -1000
}

// eventName returns the name that an event type has if no label names it.
func eventName(event int64) string {
	if s := specOf(event); s.name != "" {
		return s.name
	}
	if s := subset(event); s != nil {
		return s.name
	}
	return "event " + strconv.FormatInt(event, 10)
}

type eventSubset struct {
	id       int64
	low, top int64
	list     []int64
	name     string
}

// subset returns the predefined subset with an id, or nil if there is none.
func subset(id int64) *eventSubset {
	i := slices.IndexFunc(eventSubsets, func(s eventSubset) bool { return s.id == id })
	if i < 0 {
		return nil
	}
	return &eventSubsets[i]
}

// eventSubsets lists the predefined subsets of event types (docs/formats/picl.md, "Predefined event
// subsets").
var eventSubsets = []eventSubset{
	{-1001, 0, 1 << 62, nil, "user events"},
	{-1002, -1000, -2, nil, "system events"},
	{-1011, -200, -11, nil, "interprocess communication"},
	{-1012, -50, -21, nil, "sends"},
	{-1013, -80, -51, nil, "receives"},
	{-1014, 0, 0, []int64{-31, -52, -56, -61}, "blocked"},
	{-1201, -400, -201, nil, "file input and output"},
	{-1401, -500, -401, nil, "synchronisation"},
	{-1501, -600, -501, nil, "resource allocation"},
	{-1601, -700, -601, nil, "generic performance"},
	{-1901, -1000, -901, nil, "tracing"},
	{-1902, 0, 0, []int64{-911, -912}, "trace flushing"},
}

// isSubset reports whether a number is the id of a subset of event types.
func (d *definitions) isSubset(id int64) bool {
	return id != -1 && (subset(id) != nil || d.hasSubset(setKey{TypeEventSet, id}))
}

// inEventSubset reports whether an event type belongs to a subset. An undefined subset has no members.
func (d *definitions) inEventSubset(id, event int64) bool {
	if id == -1 {
		return true
	}
	defined := d.hasSubset(setKey{TypeEventSet, id})
	if s := subset(id); !defined {
		return s != nil && s.has(event)
	}
	if event == -1 {
		return false // -1 stands for all event types and is not an event type itself
	}
	if d.isMember(TypeEventSet, id, event) {
		return true
	}
	// Members of the subset may be predefined subsets.
	return slices.ContainsFunc(eventSubsets, func(s eventSubset) bool {
		return s.has(event) && d.isMember(TypeEventSet, id, s.id) && !d.hasSubset(setKey{TypeEventSet, s.id})
	})
}

// has reports whether an event type belongs to the predefined subset.
func (s *eventSubset) has(event int64) bool {
	return slices.Contains(s.list, event) || s.list == nil && event >= s.low && event <= s.top
}
