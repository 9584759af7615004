package generate

import (
	"context"
	"math"
	"math/bits"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// never is the time of an event that does not happen. It is later than all other times.
const never = math.MaxInt64

// rng is a SplitMix64 random generator. It needs eight bytes for each location, and produces the same numbers
// on every machine. To achieve this, all random values are computed with integers.
type rng uint64

// newRNG returns the random generator of a stream. Each location or data object has a stream of its own.
func newRNG(seed, stream uint64) rng {
	r := rng(seed)
	return rng(r.next() ^ stream*0xd1342543de82ef95)
}

func (r *rng) next() uint64 {
	*r += 0x9e3779b97f4a7c15
	z := uint64(*r)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// between returns a number in [lo, hi).
func (r *rng) between(lo, hi int64) int64 {
	n, _ := bits.Mul64(r.next(), uint64(hi-lo))
	return lo + int64(n)
}

// exponential returns a random number with an exponential distribution of the given mean.
func (r *rng) exponential(mean int64) int64 {
	x := r.next()
	// The number of leading zeros has a geometric distribution with mean 1. The fraction adds one half on
	// average.
	n := int64(bits.LeadingZeros64(x|1))<<16 + int64(x&0xffff)
	return mean * n / (3 << 15)
}

// batchRows is smaller than a full batch. Such a batch is still in the processor's cache when an encoder reads
// it.
const batchRows = 512

// writer collects rows into batches with events of several locations.
type writer struct {
	ctx      context.Context
	sink     format.Sink
	from, to int64
	b        trace.Batch
	err      error
}

func newWriter(ctx context.Context, sel trace.Selection, sink format.Sink) *writer {
	w := &writer{ctx: ctx, sink: sink, from: sel.From, to: sel.To}
	w.b = trace.Batch{Locs: make([]uint32, 0, batchRows), Time: make([]int64, 0, batchRows),
		Kind: make([]trace.Kind, 0, batchRows), Ref: make([]uint32, 0, batchRows)}
	w.b.Reset(trace.MixedLoc)
	return w
}

// row adds a row. Operands and attributes of the row must be added before the next row.
func (w *writer) row(loc uint32, t int64, k trace.Kind, ref uint32) {
	if len(w.b.Time) == batchRows {
		w.flush()
	}
	w.b.Add(loc, t, k, ref)
}

func (w *writer) flush() {
	n := w.b.Len()
	if n == 0 || w.err != nil {
		w.b.Reset(trace.MixedLoc)
		return
	}
	if w.err = w.ctx.Err(); w.err == nil && w.b.Time[n-1] >= w.from {
		w.err = w.sink.Batch(&w.b)
	}
	w.b.Reset(trace.MixedLoc)
}

// agenda is a tournament tree of the times of the locations' next rows. The root holds the earliest time. At
// equal times, it holds the time of the location with the lowest number.
type agenda struct {
	leaf int
	node []slot
}

type slot struct {
	at  int64
	loc uint32
}

func newAgenda(n int) *agenda {
	leaf := 1
	for leaf < n {
		leaf *= 2
	}
	a := &agenda{leaf: leaf, node: make([]slot, 2*leaf)}
	for i := range a.node {
		a.node[i] = slot{never, uint32(max(0, i-leaf))}
	}
	return a
}

func (a *agenda) set(loc uint32, t int64) {
	i := a.leaf + int(loc)
	a.node[i].at = t
	for i >>= 1; i > 0; i >>= 1 {
		// Both values are loaded before they are compared, so that the compiler uses a conditional move. The
		// processor would mispredict a branch half of the time.
		l, r := a.node[2*i], a.node[2*i+1]
		at, who := l.at, l.loc
		if r.at < at {
			at, who = r.at, r.loc
		}
		a.node[i] = slot{at, who}
	}
}

// program is a workload as a set of state machines, one for each location. Each step of a machine
// writes one row.
type program interface {
	// step writes the next row of a location, whose time is t, and returns the time of the row
	// after it. It returns never if the location has ended or waits for another location. The other
	// location must then put it on the agenda, at a time after t.
	step(loc uint32, t int64) int64
}

// simulate runs a program until no location is on the agenda.
func simulate(a *agenda, p program, w *writer) {
	for {
		first := a.node[1]
		if first.at == never || first.at >= w.to && w.to != never || w.err != nil {
			return
		}
		a.set(first.loc, p.step(first.loc, first.at))
	}
}
