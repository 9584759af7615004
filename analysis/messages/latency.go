package messages

import (
	"cmp"
	"math"

	"github.com/weft-trace/weft/analysis/internal/durations"
	"github.com/weft-trace/weft/trace"
)

// Transfer sums the times of messages from their send to their receive, in ticks. It covers pairs
// of which both ends are known. Where clocks differ, the times are wrong by the difference, which
// is visible where they become negative.
type Transfer struct {
	Count int64 `json:"count"`
	// Early counts pairs whose receive is earlier than the send.
	Early int64       `json:"receivedBeforeSent"`
	Sum   trace.Ticks `json:"sum"`
	Min   int64       `json:"min"`
	Max   int64       `json:"max"`
	// Longest is the pair whose time is Max. Among several it is that with the earliest send, then of the sender and
	// the receiver with the least index. It is nil if there is none.
	Longest *Pair `json:"longest"`
}

// Latency has the transfer times of all messages. Percentiles are exact below 256 ticks, and within
// 1/256 of their value above.
type Latency struct {
	Transfer
	Median int64 `json:"median"`
	P90    int64 `json:"p90"`
	P99    int64 `json:"p99"`
}

// transfer sums transfer times.
type transfer struct {
	durations.Total
	early int64
	sent  int64 // the time of the first send of a message with the longest time
}

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

func (t *transfer) result(at pair) Transfer {
	x := Transfer{t.Count, t.early, t.Sum(), t.Min, t.Max, nil}
	if t.Count > 0 {
		x.Longest = &Pair{at.source, at.destination, t.sent, t.sent + t.Max}
	}
	return x
}

// latencies sums transfer times, over all and by source and destination.
type latencies struct {
	all   transfer
	times durations.Histogram
	pairs map[pair]*transfer
}

// add adds a message of a pair of locations, whose own times are in pair.
func (l *latencies) add(pair *transfer, send, recv int64) {
	took := durations.Between(send, recv)
	l.all.add(send, took)
	l.times.Add(took)
	pair.add(send, took)
}

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
	longest := pair{math.MaxUint32, math.MaxUint32} // that which has the longest message of all
	for at, t := range l.pairs {
		if t.Count > 0 && t.Max == l.all.Max && t.sent == l.all.sent &&
			cmp.Or(cmp.Compare(at.source, longest.source), cmp.Compare(at.destination, longest.destination)) < 0 {
			longest = at
		}
	}
	return &Latency{l.all.result(longest), p(50), p(90), p(99)}
}
