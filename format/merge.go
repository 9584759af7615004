package format

import (
	"context"
	"strings"

	"github.com/weft-trace/weft/trace"
)

// Merge merges sorted streams into global time order, and delivers batches with events of several locations to
// sink. Events with equal times are ordered by their Order if both have one, then by the position of their
// streams in the list, then by their order in the stream. Merge holds one batch per stream.
func Merge(ctx context.Context, streams []Stream, sink Sink) error {
	if len(streams) == 1 {
		return deliverAll(ctx, streams[0], sink)
	}
	cursors, empty := make([]trace.Cursor, len(streams)), &trace.Batch{}
	for i := range cursors {
		cursors[i] = empty.Cursor()
	}
	return merge(ctx, len(streams), sink, func(i int, h *head, out *trace.Batch) error {
		c := &cursors[i]
		if out != nil {
			out.AppendRow(c)
		}
		for !c.Next() {
			b, err := streams[i](ctx)
			if err != nil || b == nil {
				h.done = true
				return err
			}
			*c = b.Cursor()
		}
		h.time, h.order = c.Time(), c.Order()
		return nil
	})
}

// merge merges n sorted streams as [Merge] does. take appends the current event of stream i to out, unless out is nil.
// Then it moves the stream to its next event, and sets h.
func merge(ctx context.Context, n int, sink Sink, take func(i int, h *head, out *trace.Batch) error) error {
	m := merger{heads: make([]head, n)}
	for i := range m.heads {
		if err := take(i, &m.heads[i], nil); err != nil {
			return err
		}
	}
	m.build()
	out := &trace.Batch{}
	out.Reset(trace.MixedLoc)
	for {
		w := m.tree[0]
		h := &m.heads[w]
		if h.done {
			break
		}
		if err := take(w, h, out); err != nil {
			return err
		}
		m.replay(w)
		if out.Len() == trace.BatchRows {
			if err := sink.Batch(out); err != nil {
				return err
			}
			out.Reset(trace.MixedLoc)
			if err := ctx.Err(); err != nil {
				return err
			}
		}
	}
	if out.Len() > 0 {
		return sink.Batch(out)
	}
	return nil
}

// deliverAll delivers the batches of a stream to sink.
func deliverAll(ctx context.Context, next Stream, sink Sink) error {
	for {
		b, err := next(ctx)
		if err != nil || b == nil {
			return err
		}
		if b.Len() > 0 {
			if err := sink.Batch(b); err != nil {
				return err
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// head is the time and order of the next event of a stream. done is set if there is none.
type head struct {
	time, order int64
	done        bool
}

// merger is a loser tree, which finds the earliest of the next events of all streams: tree[0] is the
// stream with this event, and tree[1:] are the streams that lost the comparisons with other streams.
type merger struct {
	heads []head
	tree  []int
}

// before reports whether the event of stream i comes before that of stream j.
func (m *merger) before(i, j int) bool {
	a, b := &m.heads[i], &m.heads[j]
	if a.done != b.done {
		return b.done
	}
	if a.time != b.time {
		return a.time < b.time
	}
	if a.order != b.order && a.order != 0 && b.order != 0 {
		return a.order < b.order
	}
	return i < j
}

// build builds the tree that finds the stream with the earliest event.
func (m *merger) build() {
	k := len(m.heads)
	m.tree = make([]int, max(k, 1))
	if k == 0 {
		m.heads = []head{{done: true}}
		return
	}
	winners := make([]int, 2*k)
	for i := range k {
		winners[k+i] = i
	}
	for n := k - 1; n > 0; n-- {
		a, b := winners[2*n], winners[2*n+1]
		if m.before(b, a) {
			a, b = b, a
		}
		winners[n], m.tree[n] = a, b
	}
	m.tree[0] = winners[1]
}

// replay repeats the comparisons of stream w, after the stream has advanced to another event.
func (m *merger) replay(w int) {
	for n := (len(m.heads) + w) / 2; n > 0; n /= 2 {
		if m.before(m.tree[n], w) {
			w, m.tree[n] = m.tree[n], w
		}
	}
	m.tree[0] = w
}

// Regroup returns a sink that turns a scan in global time order into a scan by location. It collects
// the rows of each location, and delivers them to sink in batches of one location. It holds up to
// `rows` rows of all locations together.
func Regroup(sink Sink, rows int) *Regrouper {
	return &Regrouper{sink: sink, limit: max(rows, trace.BatchRows)}
}

// Regrouper is the sink that [Regroup] returns.
type Regrouper struct {
	sink  Sink
	open  []*trace.Batch
	limit int
	held  int
}

// Batch accepts a batch whose events may belong to several locations.
func (r *Regrouper) Batch(b *trace.Batch) error {
	c := b.Cursor() // declared outside the loop: a declaration inside the loop would copy the cursor for each row
	for c.Next() {
		loc := int(c.Location())
		for loc >= len(r.open) {
			r.open = append(r.open, nil)
		}
		o := r.open[loc]
		if o == nil {
			o = &trace.Batch{}
			o.Reset(uint32(loc))
			r.open[loc] = o
		}
		from := len(o.AttrVal)
		o.AppendRow(&c)
		for i := from; i < len(o.AttrVal); i++ {
			o.AttrVal[i].Str = strings.Clone(o.AttrVal[i].Str) // the batch belongs to the caller
		}
		r.held++
		if o.Len() == trace.BatchRows {
			if err := r.emit(o); err != nil {
				return err
			}
		}
		if r.held >= r.limit {
			if err := r.Flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// emit delivers the rows that are held for a location.
func (r *Regrouper) emit(o *trace.Batch) error {
	r.held -= o.Len()
	if err := r.sink.Batch(o); err != nil {
		return err
	}
	o.Reset(o.Loc)
	return nil
}

// Flush delivers all rows that are held.
func (r *Regrouper) Flush() error {
	for _, o := range r.open {
		if o != nil && o.Len() > 0 {
			if err := r.emit(o); err != nil {
				return err
			}
		}
	}
	return nil
}

// Links delivers all rows that are held, and then the links.
func (r *Regrouper) Links(l []trace.Link) error {
	if err := r.Flush(); err != nil {
		return err
	}
	return r.sink.Links(l)
}
