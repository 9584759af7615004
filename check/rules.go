package check

import (
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// Rules are the rules of this package.
var Rules = []format.Rule{
	{ID: "trace.unreadable", Severity: trace.Error, Doc: "The main file of a trace is damaged, so that nothing of the trace is read."},
	{ID: "trace.time-order", Severity: trace.Error, Doc: "An event of a location lies before the event ahead of it."},
	{ID: "trace.undefined-reference", Severity: trace.Error, Doc: "An event refers to something that the trace does not have."},
	{ID: "trace.unknown-kind", Severity: trace.Error, Doc: "An event is of a kind that neither the model has nor the trace declares."},
	{ID: "trace.claim-end-without-begin", Severity: trace.Error, Doc: "A claim ends that has not begun."},
	{ID: "trace.claim-without-end", Severity: trace.Warning, Doc: "A claim begins and never ends."},
	{ID: "trace.leave-without-enter", Severity: trace.Warning, Doc: "A region is left that is not open at its location."},
	{ID: "trace.enter-without-leave", Severity: trace.Warning, Doc: "A region is entered and never left; the run may have died."},
	{ID: "trace.leave-not-innermost", Severity: trace.Warning, Doc: "A region is left that is not the one entered last, in a trace of OTF, OTF2 or Pallas, whose regions nest."},
	{ID: "trace.send-without-receive", Severity: trace.Warning, Doc: "A message was sent and not received, though the receiver has events."},
	{ID: "trace.receive-without-send", Severity: trace.Warning, Doc: "A message was received and not sent, though the sender has events."},
	{ID: "trace.message-size", Severity: trace.Warning, Doc: "A message has another length at the receiver than at the sender."},
	{ID: "trace.receive-before-send", Severity: trace.Warning, Doc: "A message was received before it was sent: clocks differ, or it is not the message that was sent."},
	{ID: "trace.clock-skew", Severity: trace.Warning, Doc: "Messages between two location groups were received before they were sent, so their clocks differ; `weft align` corrects them."},
	{ID: "trace.request-without-begin", Severity: trace.Warning, Doc: "A request is completed, cancelled or tested that is not open."},
	{ID: "trace.request-without-end", Severity: trace.Warning, Doc: "A request is posted and neither completed nor cancelled before its number is used again or the trace ends."},
	{ID: "trace.lock-release-without-acquire", Severity: trace.Warning, Doc: "A lock is released that its location does not hold, or not with the order with which it was acquired."},
	{ID: "trace.lock-without-release", Severity: trace.Warning, Doc: "A lock is acquired and never released."},
	{ID: "trace.collective-open", Severity: trace.Warning, Doc: "A collective operation begins and does not end, or ends and has not begun."},
	{ID: "trace.collective-membership", Severity: trace.Warning, Doc: "Members of a communicator did not do the same collective operations with the same roots in the same order, or others did."},
	{ID: "trace.absurd-delta", Severity: trace.Warning, Doc: "Events of a location are more than a million (2²⁰) times as far from the others as all others are from each other; a bit of a time may be wrong."},
}
