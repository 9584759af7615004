package pallas

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// outline is the result of following the tokens of a thread from its root. Its lists have the same indexes as
// the lists of the thread.
type outline struct {
	t    *Thread
	root int
	// order lists the sequences that can be reached from the root. A sequence comes after all sequences to
	// which its tokens refer. The list may also contain sequences that do not occur.
	order []int
	// sequences and events hold the number of occurrences of each sequence and event. size holds the number of
	// events in one occurrence of each sequence. Numbers are limited to 2⁶⁴−1.
	sequences, events, size []uint64
	total                   uint64 // number of events of the thread
	err                     *GrammarError
}

// GrammarError reports a token that refers to nothing, or that leads back to the sequence that contains it.
type GrammarError struct {
	Path            string // path of the thread's file
	Offset          int64  // position of the sequence in that file, or -1 if it is unknown
	Sequence        Token
	Found, Expected string
}

// Error describes the defect in one line.
func (e *GrammarError) Error() string {
	return fmt.Sprintf("%s: sequence %s: found %s, expected %s", e.position(), e.Sequence, e.Found, e.Expected)
}

// position returns the position of the sequence.
func (e *GrammarError) position() trace.Position {
	if e.Offset < 0 {
		return trace.Position{File: e.Path}
	}
	return trace.Position{File: e.Path, Offset: e.Offset, Binary: true}
}

// grammarError returns an error of the sequence with index i, whose token is k. i is -1 if there is no such sequence.
func (t *Thread) grammarError(i int, k Token, found, expected string) *GrammarError {
	at := t.sequencePosition(i)
	if !at.Binary {
		at.Offset = -1
	}
	return &GrammarError{t.path, at.Offset, k, found, expected}
}

// Is reports whether target is [format.ErrDamaged].
func (e *GrammarError) Is(target error) bool { return target == format.ErrDamaged }

// step is the meaning of a token: one occurrence of an event or a sequence, or many occurrences of the
// sequence of a loop.
type step struct {
	event, sequence int // indexes in the thread; -1 if the token is not an event, or not a sequence or loop
	times           uint64
}

// step returns the meaning of a token. ok is false if the token refers to nothing.
func (t *Thread) step(k Token) (s step, ok bool) {
	s = step{-1, -1, 1}
	switch k.Type() {
	case EventToken:
		if s.event, ok = int(k.ID()), int(k.ID()) < len(t.Events); !t.inOrder {
			s.event, ok = indexOf(t.eventMap, k.ID(), len(t.Events))
		}
	case SequenceToken:
		if s.sequence, ok = int(k.ID()), int(k.ID()) < t.lists.len(); !t.inOrder {
			s.sequence, ok = indexOf(t.sequenceMap, k.ID(), t.lists.len())
		}
	case LoopToken:
		if l := t.Loop(k); l != nil && l.Sequence.Type() == SequenceToken {
			s.times = uint64(l.Iterations)
			s.sequence, ok = indexOf(t.sequenceMap, l.Sequence.ID(), t.lists.len())
		}
	}
	return s, ok
}

// newOutline follows all tokens once. A thread with a script has no defects, so newOutline returns an empty
// outline for it.
func newOutline(t *Thread) *outline {
	if t.script != nil {
		return &outline{t: t}
	}
	g := &outline{t: t, sequences: make([]uint64, t.lists.len()), events: make([]uint64, len(t.Events)),
		size: make([]uint64, t.lists.len())}
	root, ok := indexOf(t.sequenceMap, t.Root.ID(), t.lists.len())
	if !ok {
		g.err = t.grammarError(-1, t.Root, "no such sequence", "the sequence that the thread begins with")
		return g
	}
	g.root = root
	if !g.followDirect() {
		if g.follow(); g.err != nil {
			return g
		}
	}
	g.sequences[root] = 1
	for i := len(g.order) - 1; i >= 0; i-- {
		at := g.order[i]
		n := g.sequences[at]
		for _, k := range t.lists.at(at) {
			s, _ := t.step(k)
			if s.event >= 0 {
				g.events[s.event] = saturatingAdd(g.events[s.event], n)
			} else {
				g.sequences[s.sequence] = saturatingAdd(g.sequences[s.sequence], saturatingMul(n, s.times))
			}
		}
	}
	g.total = g.size[root]
	return g
}

// followDirect does the work of follow in one pass and without a stack. It requires each sequence to come
// after the sequences to which its tokens refer, as in the files of all writers. If a sequence does not, or if
// the grammar has a defect, followDirect returns false.
func (g *outline) followDirect() bool {
	t := g.t
	if !t.inOrder {
		return false
	}
	g.order = make([]int, 0, t.lists.len())
	add := func(at int) bool {
		size := uint64(0)
		for _, k := range t.lists.at(at) {
			if k.Type() == EventToken {
				if int(k.ID()) >= len(t.Events) {
					return false
				}
				size++
				continue
			}
			s, ok := t.step(k)
			if !ok || s.sequence == g.root || s.sequence >= at && at != g.root {
				return false
			}
			size = saturatingAdd(size, saturatingMul(g.size[s.sequence], s.times))
		}
		g.size[at] = size
		g.order = append(g.order, at)
		return true
	}
	for at := range t.lists.len() {
		if at != g.root && !add(at) {
			g.order = nil
			clear(g.size)
			return false
		}
	}
	if !add(g.root) {
		g.order = nil
		clear(g.size)
		return false
	}
	return true
}

// follow computes order, and the number of events in each sequence.
func (g *outline) follow() {
	const (
		new = iota
		open
		done
	)
	state := make([]uint8, g.t.lists.len())
	type frame struct {
		at, next int
		size     uint64
	}
	stack := []frame{{at: g.root}}
	state[g.root] = open
	for len(stack) > 0 {
		f := &stack[len(stack)-1]
		tokens := g.t.lists.at(f.at)
		if f.next == len(tokens) {
			g.size[f.at] = f.size
			state[f.at] = done
			g.order = append(g.order, f.at)
			stack = stack[:len(stack)-1]
			continue
		}
		k := tokens[f.next]
		s, ok := g.t.step(k)
		switch {
		case !ok:
			g.err = g.t.grammarError(f.at, g.token(f.at), fmt.Sprintf("the token %s (0x%08x)", k, uint32(k)),
				"one of an event, sequence or loop of the thread")
			return
		case s.event >= 0:
			f.size = saturatingAdd(f.size, 1)
			f.next++
		case state[s.sequence] == new:
			state[s.sequence] = open
			stack = append(stack, frame{at: s.sequence})
		case state[s.sequence] == open:
			g.err = g.t.grammarError(f.at, g.token(f.at),
				fmt.Sprintf("the token %s, which contains this sequence", k), "no cycle")
			return
		default:
			f.size = saturatingAdd(f.size, saturatingMul(g.size[s.sequence], s.times))
			f.next++
		}
	}
}

// token returns the token of the sequence with the index at in the list of sequences.
func (g *outline) token(at int) Token {
	for id, i := range g.t.sequenceMap {
		if int(i) == at {
			return MakeToken(SequenceToken, uint32(id))
		}
	}
	return NoToken
}

// countsMatch reports whether each event occurs in the grammar as often as it has times.
func (g *outline) countsMatch() bool {
	if g.t.script != nil {
		return true
	}
	if g.err != nil {
		return false
	}
	for i, n := range g.events {
		if g.t.Events[i].Record != maxRecord && n != g.t.Events[i].Timestamps.Size {
			return false
		}
	}
	return true
}

func saturatingAdd(a, b uint64) uint64 {
	if s, carry := bits.Add64(a, b, 0); carry == 0 {
		return s
	}
	return math.MaxUint64
}

func saturatingMul(a, b uint64) uint64 {
	if hi, lo := bits.Mul64(a, b); hi == 0 {
		return lo
	}
	return math.MaxUint64
}
