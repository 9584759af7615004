package pallas

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/weft-trace/weft/format"
)

// outline is what a thread's tokens come to when they are followed from the root. Its
// lists go by place.
type outline struct {
	t    *Thread
	root int
	// order has the sequences that the root leads to, each behind those that it leads
	// to itself; there may be others too, which do not occur.
	order []int
	// sequences and events are how often each occurs, size how many events are in an
	// occurrence of a sequence. What is greater than 2⁶⁴−1 is that.
	sequences, events, size []uint64
	total                   uint64 // events of the thread
	err                     *GrammarError
}

// GrammarError is a token that leads nowhere, or back to where it stands.
type GrammarError struct {
	Path            string // of the thread's file
	Sequence        Token
	Found, Expected string
}

// Error says it in one line.
func (e *GrammarError) Error() string {
	return fmt.Sprintf("%s: sequence %s: found %s, expected %s", e.Path, e.Sequence, e.Found, e.Expected)
}

// Is reports that it is [format.ErrDamaged].
func (e *GrammarError) Is(target error) bool { return target == format.ErrDamaged }

// step is what a token leads to: events and sequences occur once, sequences of loops
// many times.
type step struct {
	event, sequence int // place; -1 for none
	times           uint64
}

// step follows a token.
func (t *Thread) step(k Token) (s step, ok bool) {
	s = step{-1, -1, 1}
	switch k.Type() {
	case EventToken:
		if s.event, ok = int(k.ID()), int(k.ID()) < len(t.Events); !t.inOrder {
			s.event, ok = place(t.eventMap, k.ID(), len(t.Events))
		}
	case SequenceToken:
		if s.sequence, ok = int(k.ID()), int(k.ID()) < t.lists.len(); !t.inOrder {
			s.sequence, ok = place(t.sequenceMap, k.ID(), t.lists.len())
		}
	case LoopToken:
		if l := t.Loop(k); l != nil && l.Sequence.Type() == SequenceToken {
			s.times = uint64(l.Iterations)
			s.sequence, ok = place(t.sequenceMap, l.Sequence.ID(), t.lists.len())
		}
	}
	return s, ok
}

// newOutline follows all tokens once. Of a thread that has a script it says only that it
// is sound.
func newOutline(t *Thread) *outline {
	if t.script != nil {
		return &outline{t: t}
	}
	g := &outline{t: t, sequences: make([]uint64, t.lists.len()), events: make([]uint64, len(t.Events)), size: make([]uint64, t.lists.len())}
	root, ok := place(t.sequenceMap, t.Root.ID(), t.lists.len())
	if !ok {
		g.err = &GrammarError{t.path, t.Root, "no such sequence", "the sequence that the thread begins with"}
		return g
	}
	g.root = root
	if !g.straight() {
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
				g.events[s.event] = sum(g.events[s.event], n)
			} else {
				g.sequences[s.sequence] = sum(g.sequences[s.sequence], product(n, s.times))
			}
		}
	}
	g.total = g.size[root]
	return g
}

// straight does what follow does where sequences stand behind those that they lead to, as
// writers make them; false if they do not, or if anything is wrong.
func (g *outline) straight() bool {
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
			size = sum(size, product(g.size[s.sequence], s.times))
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

// follow puts the sequences in order, and adds up the events in each.
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
			g.err = &GrammarError{g.t.path, g.token(f.at), fmt.Sprintf("the token %s (0x%08x)", k, uint32(k)), "one of an event, sequence or loop of the thread"}
			return
		case s.event >= 0:
			f.size = sum(f.size, 1)
			f.next++
		case state[s.sequence] == new:
			state[s.sequence] = open
			stack = append(stack, frame{at: s.sequence})
		case state[s.sequence] == open:
			g.err = &GrammarError{g.t.path, g.token(f.at), fmt.Sprintf("the token %s, which leads back to it", k), "no circles"}
			return
		default:
			f.size = sum(f.size, product(g.size[s.sequence], s.times))
			f.next++
		}
	}
}

// token names the sequence at a place.
func (g *outline) token(at int) Token {
	for id, i := range g.t.sequenceMap {
		if int(i) == at {
			return MakeToken(SequenceToken, uint32(id))
		}
	}
	return NoToken
}

// sound tells whether all events occur as often as they have times.
func (g *outline) sound() bool {
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

func sum(a, b uint64) uint64 {
	if s, carry := bits.Add64(a, b, 0); carry == 0 {
		return s
	}
	return math.MaxUint64
}

func product(a, b uint64) uint64 {
	if hi, lo := bits.Mul64(a, b); hi == 0 {
		return lo
	}
	return math.MaxUint64
}
