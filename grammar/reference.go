package grammar

import (
	"fmt"
	"math"
	"slices"
)

// Reference makes the grammar that Pallas' own writer makes, by its algorithms None, Basic and
// BasicTruncated (docs/formats/pallas.md, "Compatible files"): tokens that equal a known sequence
// are replaced at once, and discarded loops keep their numbers. A [Builder] makes shorter grammars,
// and is faster. An event costs a search through maxLoop tokens. A Reference uses memory for the
// grammar, and for the tokens of open levels. It must be used by one goroutine.
type Reference struct {
	tables
	maxLoop  int
	block    func(event uint32) bool
	occurred func(sequence uint32, o Occurrence) error

	levels []stack // open levels, the location itself first; those after depth are kept for reuse
	depth  int
	loops  map[loopKey]uint32 // loops that were not discarded
	ends   suffixTree
}

// stack is an open level.
type stack struct {
	tokens []Token
	spans  []span // of the last tokens
	start  uint64
	blocks uint64 // total duration of the blocks before those

	// For unlimited searches: the previous position of the same token, and the last position of each
	// token, both plus 1.
	before []int
	last   map[Token]int
}

// span is an occurrence of a token: its first and last event, and the total duration of the blocks
// in it, or its own if it is one.
type span struct{ start, end, blocks uint64 }

// suffixTree finds sequences by their last tokens. Each node stands for the last tokens of
// sequences.
type suffixTree struct {
	next     map[uint64]uint32 // child of a node by the preceding token
	sequence []uint32          // the sequence that equals a node's tokens, or 0
}

// NewReference returns a reference grammar. Repetitions have at most maxLoop + 1 tokens. 0 disables
// them (None). [math.MaxInt] means any length (Basic), for which the cost of an event is
// proportional to the number of equal tokens before it. The functions are those of [New].
func NewReference(maxLoop int, block func(event uint32) bool,
	occurred func(sequence uint32, o Occurrence) error) *Reference {
	b := &Reference{tables: newTables(), maxLoop: maxLoop, block: block, occurred: occurred, loops: map[loopKey]uint32{},
		ends: suffixTree{map[uint64]uint32{}, []uint32{0}}}
	b.Open(0)
	return b
}

// Open begins a level, whose first event must follow.
func (b *Reference) Open(time uint64) {
	if b.depth == len(b.levels) {
		b.levels = append(b.levels, stack{})
		if b.maxLoop == math.MaxInt {
			b.levels[b.depth].last = map[Token]int{}
		}
	}
	l := &b.levels[b.depth]
	l.cut(0)
	l.spans = l.spans[:0]
	l.start, l.blocks = time, 0
	b.depth++
}

// Add adds an occurrence of an event to the innermost open level.
func (b *Reference) Add(event uint32, time uint64) error {
	return b.store(MakeToken(Event, event), span{time, time, 0})
}

// Close ends the innermost open level, whose last event has been added.
func (b *Reference) Close(time uint64) error {
	if b.depth < 2 {
		return ErrClosed
	}
	l := &b.levels[b.depth-1]
	s, _, err := b.sequence(l.tokens)
	if err != nil {
		return err
	}
	x := span{l.start, time, l.blocks}
	for i := range l.spans {
		x.blocks += l.spans[i].blocks
	}
	if err := b.occurs(s, &x); err != nil {
		return err
	}
	b.depth--
	return b.store(MakeToken(Sequence, s), x)
}

// End ends the location. Its levels must be closed, and nothing may be added afterwards.
// [Reference.Tokens] returns its tokens.
func (b *Reference) End() {}

// Tokens returns the tokens of everything so far, as if open levels were not levels, in several
// pieces that are valid until more is added.
func (b *Reference) Tokens() (pieces [][]Token) {
	for i := range b.levels[:b.depth] {
		pieces = append(pieces, b.levels[i].tokens)
	}
	return pieces
}

// occurs reports an occurrence of a sequence, and changes x, the span of its tokens, to the span of
// the sequence.
func (b *Reference) occurs(s uint32, x *span) error {
	o := Occurrence{x.start, x.end - x.start, x.blocks}
	if b.Sequences[s].Block {
		o.Blocks = o.Duration - x.blocks
		x.blocks = o.Duration
	}
	return b.occurred(s, o)
}

// sequence returns the sequence of these tokens, and whether it existed.
func (b *Reference) sequence(tokens []Token) (s uint32, found bool, err error) {
	h := hash(tokens)
	if s, found = b.find(h, tokens); found {
		return s, true, nil
	}
	if len(tokens) >= pieceTokens {
		tokens = slices.Clone(tokens) // they are stored
	}
	s, err = b.add(h, tokens, len(tokens) > 0 && tokens[0].Type() == Event && b.block(tokens[0].ID()))
	return s, false, err
}

// store appends a token and looks for known sequences and for repetitions.
func (b *Reference) store(k Token, x span) error {
	l := &b.levels[b.depth-1]
	l.push(k, x)
	if n := len(l.spans) / 2; n > 64 && n/4 > b.maxLoop {
		// No later search reaches these tokens.
		for i := range n {
			l.blocks += l.spans[i].blocks
		}
		l.spans = l.spans[:copy(l.spans, l.spans[n:])]
	}
	if b.maxLoop == 0 {
		return nil
	}
	if err := b.known(l); err != nil {
		return err
	}
	return b.repeated(l)
}

func (l *stack) push(k Token, x span) {
	l.tokens, l.spans = append(l.tokens, k), append(l.spans, x)
	if l.last != nil {
		l.before = append(l.before, l.last[k])
		l.last[k] = len(l.tokens)
	}
}

// cut removes the tokens of a level from a position on.
func (l *stack) cut(at int) {
	if l.last != nil {
		for i := len(l.tokens) - 1; i >= at; i-- {
			l.last[l.tokens[i]] = l.before[i]
		}
		l.before = l.before[:at]
	}
	l.spans = l.spans[:max(0, at-len(l.tokens)+len(l.spans))]
	l.tokens = l.tokens[:at]
}

// whole returns the span of the tokens [from, to), which are not a block yet.
func (l *stack) whole(from, to int) span {
	gone := len(l.tokens) - len(l.spans)
	list := l.spans[from-gone : to-gone]
	x := span{list[0].start, list[len(list)-1].end, 0}
	for i := range list {
		x.blocks += list[i].blocks
	}
	return x
}

// known replaces the last tokens by the shortest known sequence that they equal.
func (b *Reference) known(l *stack) error {
	n := len(l.tokens)
	node := uint32(0)
	for size := 1; size < n && size <= b.maxLoop; size++ {
		next, ok := b.ends.next[uint64(node)<<32|uint64(l.tokens[n-size])]
		if !ok {
			return nil
		}
		node = next
		if s := b.ends.sequence[node]; s > 0 {
			x := l.whole(n-size, n)
			if err := b.occurs(s, &x); err != nil {
				return err
			}
			l.cut(n - size)
			return b.store(MakeToken(Sequence, s), x)
		}
	}
	return nil
}

// learn adds a sequence to those that [Reference.known] finds.
func (e *suffixTree) learn(tokens []Token, s uint32) {
	node := uint32(0)
	for i := len(tokens) - 1; i >= 0; i-- {
		key := uint64(node)<<32 | uint64(tokens[i])
		next, ok := e.next[key]
		if !ok {
			next = uint32(len(e.sequence))
			e.next[key] = next
			e.sequence = append(e.sequence, 0)
		}
		node = next
	}
	e.sequence[node] = s
}

// repeated checks whether the last tokens are another iteration of the loop before them, or occur
// twice.
func (b *Reference) repeated(l *stack) error {
	n := len(l.tokens)
	if n < 2 {
		return nil
	}
	if l.tokens[n-2].Type() == Loop {
		if done, err := b.extend(l); done || err != nil {
			return err
		}
	}
	t := l.tokens
	if l.last != nil {
		for at := l.before[n-1]; at > 0; at = l.before[at-1] {
			if size := n - at; 2*size > n {
				break
			} else if slices.Equal(t[n-2*size:n-size], t[n-size:]) {
				return b.makeLoop(l, size)
			}
		}
		return nil
	}
	last := t[n-1]
	for size := 1; size < b.maxLoop && 2*size <= n; size++ {
		if t[n-1-size] == last && slices.Equal(t[n-2*size:n-size], t[n-size:]) {
			return b.makeLoop(l, size)
		}
	}
	return nil
}

// extend adds the last token to the loop before it, if it is the loop's sequence.
func (b *Reference) extend(l *stack) (bool, error) {
	n := len(l.tokens)
	at := n - 2
	i := l.tokens[at].ID()
	loop := b.Loops[i]
	if l.tokens[n-1] != MakeToken(Sequence, loop.Sequence) || loop.Iterations == math.MaxUint32 {
		return false, nil
	}
	if loop.Occurrences > 1 {
		b.Loops[i].Occurrences--
		i = uint32(len(b.Loops))
		b.Loops = append(b.Loops, LoopInfo{loop.Sequence, loop.Iterations, 1})
	} else {
		delete(b.loops, loopKey{loop.Sequence, loop.Iterations})
	}
	b.Loops[i].Iterations++
	x := l.whole(at, n)
	if q := b.squash(i); q != i {
		l.cut(at)
		return true, b.store(MakeToken(Loop, q), x)
	}
	l.cut(at)
	l.push(MakeToken(Loop, i), x)
	return true, nil
}

// makeLoop makes a loop of the tokens that occur twice at the end.
func (b *Reference) makeLoop(l *stack, size int) error {
	n := len(l.tokens)
	at, mid := n-2*size, n-size
	body := l.tokens[mid]
	x, y := l.whole(at, mid), l.whole(mid, n)
	if size > 1 || body.Type() != Sequence {
		s, found, err := b.sequence(l.tokens[mid:])
		if err != nil {
			return err
		}
		if !found {
			b.ends.learn(l.tokens[mid:], s)
		}
		for _, x := range []*span{&x, &y} {
			if err := b.occurs(s, x); err != nil {
				return err
			}
		}
		body = MakeToken(Sequence, s)
	}
	i := uint32(len(b.Loops))
	if i >= 1<<30 {
		return fmt.Errorf("found 2³⁰ loops, expected less")
	}
	b.Loops = append(b.Loops, LoopInfo{body.ID(), 2, 1})
	x = span{x.start, y.end, x.blocks + y.blocks}
	l.cut(at)
	if q := b.squash(i); q != i {
		return b.store(MakeToken(Loop, q), x)
	}
	l.push(MakeToken(Loop, i), x)
	return nil
}

// squash discards a loop if an equal one exists, and returns that one.
func (b *Reference) squash(i uint32) uint32 {
	loop := &b.Loops[i]
	key := loopKey{loop.Sequence, loop.Iterations}
	q, ok := b.loops[key]
	if !ok {
		b.loops[key] = i
		return i
	}
	b.Loops[q].Occurrences++
	*loop = LoopInfo{}
	return q
}
