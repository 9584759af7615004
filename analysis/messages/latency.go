package messages

import (
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
}

func (t *transfer) add(took int64) {
	t.Add(took)
	if took < 0 {
		t.early++
	}
}

func (t *transfer) merge(o *transfer) {
	t.Merge(&o.Total)
	t.early += o.early
}

func (t *transfer) result() Transfer { return Transfer{t.Count, t.early, t.Sum(), t.Min, t.Max} }

// latencies sums transfer times, over all and by source and destination.
type latencies struct {
	all   transfer
	times durations.Histogram
	pairs map[pair]*transfer
}

// add adds a message of a pair of locations, whose own times are in pair.
func (l *latencies) add(pair *transfer, send, recv int64) {
	took := durations.Between(send, recv)
	l.all.add(took)
	l.times.Add(took)
	pair.add(took)
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
	return &Latency{l.all.result(), p(50), p(90), p(99)}
}
