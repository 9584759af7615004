package check

import (
	"slices"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// Rules returns the rules of this package in the order of docs/rules.md. The caller owns the slice.
func Rules() []format.Rule { return slices.Clone(rules) }

// rules holds the rules of this package.
var rules = []format.Rule{
	{ID: "trace.unreadable", Severity: trace.Error,
		Doc:     "The main file of a trace is damaged, so that nothing of the trace is read.",
		Example: "an anchor file that begins with NTF2 instead of OTF2"},
	{ID: "trace.compression", Severity: trace.Error,
		Doc:     "The data of a compressed trace are damaged or end early. weft reads the text before the damage.",
		Example: "a trace.etf.gz of which only a part was copied"},
	{ID: "trace.time-order", Severity: trace.Error,
		Doc:     "An event is earlier than the event before it at the same location.",
		Example: "enter f at 5 s, then leave f at 4 s"},
	{ID: "trace.undefined-reference", Severity: trace.Error,
		Doc:     "An event refers to a definition that the trace does not have.",
		Example: "an enter of region number 7 where the trace has 5"},
	{ID: "trace.unknown-kind", Severity: trace.Error,
		Doc:     "An event is of a kind that the model does not have and the trace does not declare.",
		Example: "an event of kind 1030 where the trace declares two kinds, 1024 and 1025"},
	{ID: "trace.claim-end-without-begin", Severity: trace.Error,
		Doc:     "The end of a claim has no begin before it.",
		Example: "the end of claim 5, which has no begin"},
	{ID: "trace.claim-without-end", Severity: trace.Warning,
		Doc:     "A claim begins and never ends.",
		Example: "claim 5 begins at 2 s; the trace ends at 9 s without its end"},
	{ID: "trace.leave-without-enter", Severity: trace.Warning,
		Doc:     "A location leaves a region that is not open at this location.",
		Example: "enter f, leave f, leave f"},
	{ID: "trace.enter-without-leave", Severity: trace.Warning,
		Doc:     "A location enters a region and never leaves it; the run may have been aborted.",
		Example: "enter main, enter f, leave f; the trace ends"},
	{ID: "trace.leave-not-innermost", Severity: trace.Warning,
		Doc: "A location leaves a region while a region that it entered later is still open. The rule is for traces of " +
			"OTF, OTF2 and Pallas, in which regions nest.",
		Example: "enter f, enter g, leave f, leave g"},
	{ID: "trace.send-without-receive", Severity: trace.Warning,
		Doc:     "A message was sent and not received, though the receiver has events.",
		Example: "rank 0 sends twice to rank 1 with tag 5; rank 1 receives once"},
	{ID: "trace.receive-without-send", Severity: trace.Warning,
		Doc:     "A message was received and not sent, though the sender has events.",
		Example: "rank 1 receives from rank 0 with tag 6; rank 0 sent with tag 5 only"},
	{ID: "trace.message-size", Severity: trace.Warning,
		Doc:     "A message has another length at the receiver than at the sender.",
		Example: "a send of 8 bytes whose receive has 10 bytes"},
	{ID: "trace.receive-before-send", Severity: trace.Warning,
		Doc: "A message was received before it was sent, though sender and receiver belong to one location group and " +
			"thus have one clock. The send may belong to another message, or the clocks may differ nevertheless.",
		Example: "sent at 0.081 s, received at 0.058 s"},
	{ID: "trace.clock-skew", Severity: trace.Warning,
		Doc: "Messages between two location groups were received before they were sent. The clocks of the groups " +
			"differ; `weft align` corrects the times.",
		Example: "20 of 20 messages between P#0 and P#3 received before they were sent, by up to 0.0238 s"},
	{ID: "trace.request-without-begin", Severity: trace.Warning,
		Doc:     "An event completes, cancels or tests a request that is not open.",
		Example: "send-complete of request 4, which was not posted"},
	{ID: "trace.request-without-end", Severity: trace.Warning,
		Doc:     "A request is posted, and before it is completed or cancelled, its number is used again or the trace ends.",
		Example: "a receive posted as request 4, and another one posted as request 4"},
	{ID: "trace.lock-release-without-acquire", Severity: trace.Warning,
		Doc:     "A location releases a lock that it does not hold, or with another order number than at the acquisition.",
		Example: "lock 0 acquired with order 10 and released with order 11"},
	{ID: "trace.lock-without-release", Severity: trace.Warning,
		Doc:     "A lock is acquired and never released.",
		Example: "lock 0 acquired at 1 s; the trace ends"},
	{ID: "trace.collective-open", Severity: trace.Warning,
		Doc:     "A collective operation begins and does not end, or ends without a begin.",
		Example: "collective-begin, and no collective-end before the trace ends"},
	{ID: "trace.collective-membership", Severity: trace.Warning,
		Doc: "Members of a communicator did different collective operations, or the same ones with different roots or " +
			"in a different order, or a location that is no member did some of them.",
		Example: "three ranks of a communicator do 12 operations and the fourth does 11; or one does a broadcast " +
			"where the others do a reduction"},
	{ID: "trace.collective-early", Severity: trace.Warning,
		Doc: "A member left a collective operation, in which each member waits for all others, before another member " +
			"began the operation. The clocks of the members differ; `weft align` corrects the times.",
		Example: "rank 0 leaves a barrier at 1 s, rank 1 begins it at 2 s"},
	{ID: "trace.absurd-delta", Severity: trace.Warning,
		Doc: "Some events of a location are far from all other events in time: more than a million (2²⁰) times as far " +
			"as the other events are from each other. A bit of a time may be wrong.",
		Example: "events from 0 s to 3 s, and one at 36 million s"},
}
