package messages

import (
	"cmp"
	"math"

	"github.com/weft-trace/weft/analysis/internal/durations"
	"github.com/weft-trace/weft/trace"
)

// Transfer holds sums of the times of messages from send to receive, in ticks. It covers messages of
// which both ends are known. The times include the difference of the two locations' clocks, which can
// make them negative.
type Transfer struct {
	Count int64 `json:"count"`
	// Early is the number of messages that are received before they are sent.
	Early int64       `json:"receivedBeforeSent"`
	Sum   trace.Ticks `json:"sum"`
	Min   int64       `json:"min"`
	Max   int64       `json:"max"`
	// Longest is the message whose time is Max. If several have it, the earliest send decides, then the
	// least index of the sender, and then that of the receiver. Longest is nil if there are no
	// messages.
	Longest *Pair `json:"longest"`
}

// Latency holds sums of the transfer times of all messages, in ticks. Percentiles below 256 ticks are
// exact, and larger ones are within 1/256 of the true value.
type Latency struct {
	Transfer
	Median int64 `json:"median"`
	P90    int64 `json:"p90"`
	P99    int64 `json:"p99"`
}

// transfer accumulates transfer times in ticks.
type transfer struct {
	durations.Total
	early int64
	sent  int64 // earliest send of a message with the longest time
}

// add adds a message that was sent at time send and arrived took ticks later.
func (t *transfer) add(send, took int64) {
	x := transfer{sent: send}
	x.Total.Add(took)
	if took < 0 {
		x.early = 1
	}
	t.merge(&x)
}

func (t *transfer) merge(o *transfer) {
	if t.Count == 0 || o.Count > 0 && (o.Max > t.Max || o.Max == t.Max && o.sent < t.sent) {
		t.sent = o.sent
	}
	t.Merge(&o.Total)
	t.early += o.early
}

// result returns the sums of the messages between a pair of locations.
func (t *transfer) result(at pair) Transfer {
	x := Transfer{t.Count, t.early, t.Sum(), t.Min, t.Max, nil}
	if t.Count > 0 {
		x.Longest = &Pair{at.source, at.destination, t.sent, t.sent + t.Max}
	}
	return x
}

// latencies accumulates transfer times of all messages, and those of each pair of source and
// destination.
type latencies struct {
	all   transfer
	times durations.Histogram
	pairs map[pair]*transfer
}

// add adds a message, which was sent and received at the given times, to the sums of all messages
// and to those of its pair of locations.
func (l *latencies) add(pair *transfer, send, recv int64) {
	took := durations.Between(send, recv)
	l.all.add(send, took)
	l.times.Add(took)
	pair.add(send, took)
}

// pair returns the sums of a pair of locations, and creates them if needed.
func (l *latencies) pair(at pair) *transfer {
	t := l.pairs[at]
	if t == nil {
		t = &transfer{}
		l.pairs[at] = t
	}
	return t
}

func (l *latencies) merge(o *latencies) {
	l.all.merge(&o.all)
	l.times.Merge(&o.times)
	for at, t := range o.pairs {
		l.pair(at).merge(t)
	}
}

func (l *latencies) result() *Latency {
	p := func(percent int64) int64 { return l.times.Percentile(percent, &l.all.Total) }
	longest := pair{math.MaxUint32, math.MaxUint32} // the first pair with a longest message
	for at, t := range l.pairs {
		if t.Count > 0 && t.Max == l.all.Max && t.sent == l.all.sent &&
			cmp.Or(cmp.Compare(at.source, longest.source), cmp.Compare(at.destination, longest.destination)) < 0 {
			longest = at
		}
	}
	return &Latency{l.all.result(longest), p(50), p(90), p(99)}
}
