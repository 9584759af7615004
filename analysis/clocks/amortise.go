package clocks

import (
	"context"
	"encoding/binary"
	"math"

	"github.com/weft-trace/weft/internal/chunks"
	"github.com/weft-trace/weft/transform"
)

// amortisationDivisor determines how fast amortisation ends. After a moved receive, clocks run slower by 1/100
// of their rate. Before a moved receive, they run faster by 1/100. This corresponds to Rabenseifner's γ of
// 0.99.
const amortisationDivisor = 100

// moves stores the nodes in the order of causes, with their times after the linear correction and after
// they were moved.
type moves struct {
	s       *solution
	forward nodeStack
	moved   []int64 // indexed by clock: the greatest move of a time, in ticks
	links   []link  // reused for each node
}

// close removes the temporary file.
func (m *moves) close() { m.forward.store.Close() }

// The sizes in bytes of the memory that a pile uses before it uses a file, and of a piece of the pile.
const (
	pileBytes  = 8 << 20
	pilePieces = 64 << 10
)

// nodeStack stores packed nodes. They are read once, from the last to the first.
type nodeStack struct {
	store *chunks.Store
	list  []chunks.Chunk
	buf   []byte
	last  movedNode // the previous node of the piece
}

func newPile() nodeStack { return nodeStack{store: chunks.New(pileBytes)} }

// movedNode is a node with its time after the linear correction, and its final time (out), in ticks.
type movedNode struct {
	node
	linear, out int64
	unit        bool // the node forms a unit with its causes, or with its effects, which have the same final time
	links       []link
}

// add appends a node.
func (p *nodeStack) add(x *movedNode) error {
	b := binary.AppendUvarint(p.buf, uint64(x.clock))
	b = binary.AppendVarint(b, x.linear-p.last.linear)
	b = binary.AppendVarint(b, x.time-x.linear)
	b = binary.AppendUvarint(b, uint64(x.out-x.linear))
	head := uint64(len(x.links)) << 1
	if x.unit {
		head |= 1
	}
	b = binary.AppendUvarint(b, head)
	for i := range x.links {
		l := &x.links[i]
		b = append(b, l.role)
		b = binary.AppendUvarint(b, uint64(l.number))
		if l.role == finishes {
			b = binary.AppendUvarint(b, uint64(l.from))
		}
	}
	p.buf, p.last.linear = b, x.linear
	if len(b) < pilePieces {
		return nil
	}
	return p.flush()
}

// flush stores the current piece.
func (p *nodeStack) flush() error {
	if len(p.buf) == 0 {
		return nil
	}
	c, taken, err := p.store.Keep(p.buf)
	p.list = append(p.list, c)
	p.last = movedNode{}
	if taken {
		p.buf = make([]byte, 0, pilePieces+256)
	} else {
		p.buf = p.buf[:0]
	}
	return err
}

// eachBackward calls f for each node, from the last to the first, and removes the node. The node is
// valid during the call.
func (p *nodeStack) eachBackward(ctx context.Context, f func(x *movedNode) error) error {
	if err := p.flush(); err != nil {
		return err
	}
	var room []byte
	var nodes []movedNode
	var links []link
	for i := len(p.list) - 1; i >= 0; i-- {
		if err := ctx.Err(); err != nil {
			return err
		}
		piece, err := p.store.Read(p.list[i], &room)
		if err != nil {
			return err
		}
		nodes, links = nodes[:0], links[:0]
		last := int64(0)
		b := unpacker(piece)
		for len(b) > 0 {
			x := movedNode{node: node{clock: int32(b.next())}}
			x.linear = last + b.signed()
			x.time = x.linear + b.signed()
			x.out = x.linear + int64(b.next())
			head := b.next()
			x.unit = head&1 != 0
			from := len(links)
			for range head >> 1 {
				l := link{role: uint8(b.next()), from: 1}
				l.number = int64(b.next())
				if l.role == finishes {
					l.from = int32(b.next())
				}
				links = append(links, l)
			}
			x.links = links[from:]
			last = x.linear
			nodes = append(nodes, x)
		}
		for k := len(nodes) - 1; k >= 0; k-- {
			if err := f(&nodes[k]); err != nil {
				return err
			}
		}
		p.store.Drop(&p.list[i])
	}
	return nil
}

// add appends a node whose final time is t, in ticks. unit has the meaning of the field in movedNode.
func (m *moves) add(w *waiter, t int64, unit bool) error {
	x := movedNode{node: w.node, linear: w.linear, out: t, unit: unit, links: m.links[:0]}
	for _, l := range w.links {
		switch {
		case l.inner && unit && (l.cause || l.role < begins):
			continue // nodes with the same final time do not bound each other
		case l.cause && l.role < begins:
			x.links = append(x.links, link{role: sends, number: l.number})
		case l.cause:
			x.links = append(x.links, link{role: begins, number: l.number})
		case l.role < begins:
			x.links = append(x.links, link{role: receives, number: l.number})
		case l.from > 0:
			x.links = append(x.links, link{role: finishes, number: l.number, from: l.from})
		}
	}
	m.links = x.links
	return m.forward.add(&x)
}

// bound is the latest time, in ticks, to which the causes of a constraint may be moved without
// violating it.
type bound struct {
	most int64
	left int32 // number of causes that have not been read yet
}

// curves moves the nodes before a moved node to later times, too. The earlier such a node is, the less curves
// moves it. The effects of a node limit the move. curves returns the correction curves of the clocks.
func (m *moves) curves(ctx context.Context) ([]transform.Curve, error) {
	final := newPile()
	defer final.store.Close()
	bounds := map[int64]bound{}
	anchors := make([]correctedTime, len(m.moved))
	seen := make([]bool, len(m.moved))
	err := m.forward.eachBackward(ctx, func(x *movedNode) error {
		most := int64(math.MaxInt64)
		if x.unit {
			most = x.out
		}
		for _, l := range x.links {
			b, ok := bounds[l.number]
			switch l.role {
			case receives:
				bounds[l.number] = bound{x.out - m.s.q.latency, 1}
			case finishes:
				if !ok {
					b = bound{math.MaxInt64, l.from}
				}
				bounds[l.number] = bound{min(b.most, x.out), b.left}
			}
		}
		for _, l := range x.links {
			if l.role != sends && l.role != begins {
				continue
			}
			if b, ok := bounds[l.number]; ok {
				most = min(most, b.most)
				if b.left--; b.left > 0 {
					bounds[l.number] = b
				} else {
					delete(bounds, l.number)
				}
			}
		}
		a := &anchors[x.clock]
		t := x.out
		if !seen[x.clock] {
			seen[x.clock] = true
			*a = correctedTime{x.linear, t}
		} else {
			d := a.linear - x.linear
			wanted := a.out - d - d/amortisationDivisor
			if t = max(t, min(wanted, most)); t != wanted {
				*a = correctedTime{x.linear, t}
			}
		}
		m.moved[x.clock] = max(m.moved[x.clock], t-x.linear)
		return final.add(&movedNode{node: x.node, linear: x.linear, out: t})
	})
	if err != nil {
		return nil, err
	}
	fitters := make([]fitter, len(m.moved))
	err = final.eachBackward(ctx, func(x *movedNode) error {
		fitters[x.clock].add(x.time, x.out)
		return nil
	})
	curves := make([]transform.Curve, len(fitters))
	for c := range fitters {
		curves[c] = fitters[c].finish()
	}
	return curves, err
}
