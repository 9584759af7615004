package pallas

import (
	"bufio"
	"errors"
	"math"

	"github.com/weft-trace/weft/grammar"
)

// grammarWriter writes the grammar of a thread to its thread.pallas (docs/formats/pallas.md,
// "thread.pallas").
type grammarWriter struct {
	t    *threadWriter
	w    *bufio.Writer
	b    []byte // bytes that flush writes
	root [][]grammar.Token
	size int // number of tokens in the root

	sequences []grammar.SequenceInfo
	// whole is an additional sequence with all tokens of the root, or nil if there is none.
	whole *recordedSequence
	n     int // number of sequences, including whole
}

// flush writes the bytes collected in b.
func (g *grammarWriter) flush() { g.b = g.put(g.b) }

// put writes b. It returns b with length 0.
func (g *grammarWriter) put(b []byte) []byte {
	g.w.Write(b) // bufio.Writer keeps errors; the last write of w returns them
	return b[:0]
}

// writeIDs writes an id map for n entries whose ids are their indexes. Discarded entries have no id.
func (g *grammarWriter) writeIDs(n int, discarded func(i int) bool) {
	b := le64(g.b, uint64(n))
	for i := range n {
		id := uint32(i)
		if discarded(i) {
			id = uint32(NoRef)
		}
		if b = le32(b, id); len(b) > dataBuffer {
			b = g.put(b)
		}
	}
	g.b = b
}

// write writes the grammar of a thread: its events, sequences and loops.
func (g *grammarWriter) write() error {
	t, r := g.t, g.t.r
	g.b = le32(g.b, t.id, t.archive)
	var loops []grammar.LoopInfo
	g.sequences, loops = r.g.Grammar()
	g.n = len(g.sequences)
	var first grammar.Token
	for _, piece := range g.root {
		if g.size += len(piece); len(piece) > 0 && first == 0 {
			first = piece[0]
		}
	}
	if b, ok := r.g.(*grammar.Builder); ok && first.Type() == grammar.Event {
		// Pallas' reader fails if the root begins with an event. Therefore an additional sequence holds
		// all tokens.
		g.whole = &recordedSequence{first: [3]uint64{r.last - r.start, b.Blocks(), r.start}}
		g.n++
	}
	g.b = le64(g.b, uint64(len(r.events)), uint64(g.n), uint64(len(loops)))
	g.b = le32(g.b, 0) // id of the root
	start := r.start
	if !r.started {
		start = math.MaxUint64
	}
	g.b = le64(g.b, start)
	none := func(int) bool { return false }
	for _, e := range r.events {
		if err := g.writeEvent(e); err != nil {
			return err
		}
	}
	g.writeIDs(len(r.events), none)
	for i := range g.n {
		if err := g.sequence(i); err != nil {
			return err
		}
	}
	g.writeIDs(g.n, none)
	open := g.openLoops(len(loops))
	discarded := func(i int) bool { return loops[i].Iterations == 0 || loops[i].Occurrences+open[i] == 0 }
	for i, l := range loops {
		if discarded(i) {
			g.b = le64(le32(g.b, uint32(NoToken), 0), 0)
			continue
		}
		k := Token(grammar.MakeToken(grammar.Sequence, l.Sequence))
		g.b = le64(le32(g.b, uint32(k), l.Iterations), l.Occurrences+open[i])
	}
	g.writeIDs(len(loops), discarded)
	g.flush()
	return nil
}

// openLoops returns the numbers of occurrences of n loops in the root of a checkpoint. The grammar counts them when
// the thread ends: until then, loops there can still grow. A loop that has grown since the last checkpoint has a new
// number. The old number may occur nowhere then, and its entry becomes that of a discarded loop.
func (g *grammarWriter) openLoops(n int) []uint64 {
	counts := make([]uint64, n)
	if g.t.finished {
		return counts
	}
	for _, piece := range g.root {
		for _, k := range piece {
			if k.Type() == grammar.Loop {
				counts[k.ID()]++
			}
		}
	}
	return counts
}

// writeEvent writes an event. It first makes a block of the event's times that are not in a block yet.
func (g *grammarWriter) writeEvent(e *recordedEvent) error {
	t := g.t
	t.lendBuffer(0, &e.times)
	if err := errors.Join(t.moveBlocks(&e.times), t.flush(&e.times)); err != nil {
		return err
	}
	g.b = append(le32(g.b, uint32(e.record)), byte(5+len(e.payload)))
	g.b = append(g.b, e.payload...)
	lists := e.attributeLists()
	g.b = append(le64(g.b, uint64(len(lists))), lists...)
	t.locate(&e.times)
	g.b = e.times.append(g.b)
	t.takeBackBuffer(0, &e.times)
	g.flush()
	return nil
}

// sequence writes sequence i. It first makes blocks of the sequence's times and durations that are not in a
// block yet.
func (g *grammarWriter) sequence(i int) error {
	t := g.t
	kind, length, pieces := LoopSequence, g.size, g.root
	var one [1][]grammar.Token
	switch {
	case i == 0 && g.whole != nil:
		length, pieces = 1, [][]grammar.Token{{grammar.MakeToken(grammar.Sequence, uint32(g.n-1))}}
	case i > 0 && i < len(g.sequences):
		one[0] = g.sequences[i].Tokens
		length, pieces = len(one[0]), one[:]
	}
	if i == 0 || i < len(g.sequences) && g.sequences[i].Block {
		kind = BlockSequence
	}
	g.b = le64(le32(g.b, uint32(kind)), uint64(length))
	if length == 0 {
		return nil
	}
	b := g.b
	for _, tokens := range pieces {
		for _, k := range tokens {
			if b = le32(b, uint32(k)); len(b) > dataBuffer {
				b = g.put(b)
			}
		}
	}
	g.b = b
	o := g.whole
	if i < len(g.sequences) {
		o = t.r.occurrences(uint32(i))
	}
	v := o.vectors
	if v == nil && !t.w.compatible {
		var err error
		if g.b, err = t.appendSingle(g.b, o.first); err != nil {
			return err
		}
		g.flush()
		return nil
	}
	if v == nil {
		v = &t.buffers.single
		for i := range v {
			v[i] = recordedVector{file: 1, length: i < 2, blocks: v[i].blocks[:0]}
			t.push(&v[i], o.first[i])
		}
	}
	for i := range v {
		t.lendBuffer(i, &v[i])
	}
	if err := t.flushAll(v); err != nil {
		return err
	}
	for i := range v {
		t.locate(&v[i])
		g.b = v[i].append(g.b)
		t.takeBackBuffer(i, &v[i])
	}
	g.flush()
	return nil
}
