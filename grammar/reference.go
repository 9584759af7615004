package grammar

import (
	"fmt"
	"math"
	"slices"
)

// Reference makes the same grammar as Pallas' own writer, with its algorithms None, Basic and BasicTruncated
// (docs/formats/pallas.md, "Compatible files"). Tokens that equal a known sequence are replaced at once, and a
// discarded loop keeps its number. A [Builder] makes shorter grammars and is faster: a Reference searches
// maxLoop tokens for each event. A Reference needs memory for the grammar and for the tokens of open levels.
// It is not safe for concurrent use.
type Reference struct {
	tables
	maxLoop  int
	block    func(event uint32) bool
	occurred func(sequence uint32, o Occurrence) error

	// open levels, with the whole location first and the innermost level last; further elements are kept for
	// reuse
	levels []stack
	depth  int
	loops  map[loopKey]uint32 // numbers of the loops that were not discarded
	ends   suffixTree
}

// stack holds the tokens of an open level.
type stack struct {
	tokens []Token
	spans  []span // spans of the last tokens
	start  uint64
	blocks uint64 // total duration of the blocks in the tokens before the tokens of spans

	// before and last are used if maxLoop is unlimited. before holds the previous position of each token, and
	// last the last position of each token. Both are increased by 1, and 0 means that there is none.
	before []int
	last   map[Token]int
}

// span is the occurrence of a token: the times of its first and last event, and the total duration
// of the blocks in it. For a block, blocks is its own duration.
type span struct{ start, end, blocks uint64 }

// suffixTree finds sequences by their last tokens, read backwards. A node stands for the tokens on the path
// from the root to the node.
type suffixTree struct {
	next     map[uint64]uint32 // children, by number of the parent << 32 | next token towards the front
	sequence []uint32          // for each node, the sequence that consists of exactly the node's tokens, or 0
}

// NewReference returns a Reference that looks for repetitions of at most maxLoop + 1 tokens. With maxLoop 0 it
// looks for no repetitions (None). With [math.MaxInt] their length is not limited (Basic). The time for an
// event is then proportional to the number of equal tokens before it. block and occurred have the same meaning
// as in [New].
func NewReference(maxLoop int, block func(event uint32) bool,
	occurred func(sequence uint32, o Occurrence) error) *Reference {
	b := &Reference{tables: newTables(), maxLoop: maxLoop, block: block, occurred: occurred, loops: map[loopKey]uint32{},
		ends: suffixTree{map[uint64]uint32{}, []uint32{0}}}
	b.Open(0)
	return b
}

// Open begins a level at a time. The next call must be Add, with the level's first event.
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

// Add adds an event to the innermost open level.
func (b *Reference) Add(event uint32, time uint64) error {
	return b.store(MakeToken(Event, event), span{time, time, 0})
}

// Close ends the innermost open level at a time. The caller must have added its last event before.
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

// End ends the location. All levels must have been closed, and nothing may be added afterwards.
func (b *Reference) End() {}

// Tokens returns all tokens so far. The tokens of an open level follow the tokens of the level around it. The
// pieces are valid until something is added.
func (b *Reference) Tokens() (pieces [][]Token) {
	for i := range b.levels[:b.depth] {
		pieces = append(pieces, b.levels[i].tokens)
	}
	return pieces
}

// occurs calls b.occurred for an occurrence of sequence s. Before the call, x is the span of the sequence's
// tokens. Afterwards, x is the span of the single token that stands for the sequence.
func (b *Reference) occurs(s uint32, x *span) error {
	o := Occurrence{x.start, x.end - x.start, x.blocks}
	if b.Sequences[s].Block {
		o.Blocks = o.Duration - x.blocks
		x.blocks = o.Duration
	}
	return b.occurred(s, o)
}

// sequence returns the number of the sequence with these tokens. It adds the sequence on first use. found
// reports whether the sequence existed before.
func (b *Reference) sequence(tokens []Token) (s uint32, found bool, err error) {
	h := hash(tokens)
	if s, found = b.find(h, tokens); found {
		return s, true, nil
	}
	if len(tokens) >= pieceTokens {
		tokens = slices.Clone(tokens) // the copy is stored in the sequence
	}
	s, err = b.add(h, tokens, len(tokens) > 0 && tokens[0].Type() == Event && b.block(tokens[0].ID()))
	return s, false, err
}

// store appends a token to the innermost open level. Then it replaces known sequences and
// repetitions at the level's end.
func (b *Reference) store(k Token, x span) error {
	l := &b.levels[b.depth-1]
	l.push(k, x)
	if n := len(l.spans) / 2; n > 64 && n/4 > b.maxLoop {
		// Searches never go back as far as these tokens.
		for i := range n {
			l.blocks += l.spans[i].blocks
		}
		l.spans = l.spans[:copy(l.spans, l.spans[n:])]
	}
	if b.maxLoop == 0 {
		return nil
	}
	if err := b.replaceKnown(l); err != nil {
		return err
	}
	return b.replaceRepeated(l)
}

func (l *stack) push(k Token, x span) {
	l.tokens, l.spans = append(l.tokens, k), append(l.spans, x)
	if l.last != nil {
		l.before = append(l.before, l.last[k])
		l.last[k] = len(l.tokens)
	}
}

// cut removes the tokens from position at on.
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

// tokenSpan returns the common span of the tokens [from, to), as if they were not a block.
func (l *stack) tokenSpan(from, to int) span {
	gone := len(l.tokens) - len(l.spans)
	list := l.spans[from-gone : to-gone]
	x := span{list[0].start, list[len(list)-1].end, 0}
	for i := range list {
		x.blocks += list[i].blocks
	}
	return x
}

// replaceKnown replaces the last tokens by the shortest known sequence that equals them, if there is one.
func (b *Reference) replaceKnown(l *stack) error {
	n := len(l.tokens)
	node := uint32(0)
	for size := 1; size < n && size <= b.maxLoop; size++ {
		next, ok := b.ends.next[uint64(node)<<32|uint64(l.tokens[n-size])]
		if !ok {
			return nil
		}
		node = next
		if s := b.ends.sequence[node]; s > 0 {
			x := l.tokenSpan(n-size, n)
			if err := b.occurs(s, &x); err != nil {
				return err
			}
			l.cut(n - size)
			return b.store(MakeToken(Sequence, s), x)
		}
	}
	return nil
}

// addSequence adds sequence s with its tokens to the sequences that [Reference.replaceKnown] finds.
func (e *suffixTree) addSequence(tokens []Token, s uint32) {
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

// replaceRepeated replaces the last tokens if they are a further iteration of the loop before them,
// or if they equal the tokens before them.
func (b *Reference) replaceRepeated(l *stack) error {
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

// extend adds an iteration to the loop before the last token, if the last token is the loop's
// sequence. It reports whether it has done so.
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
	x := l.tokenSpan(at, n)
	if q := b.reuseEqualLoop(i); q != i {
		l.cut(at)
		return true, b.store(MakeToken(Loop, q), x)
	}
	l.cut(at)
	l.push(MakeToken(Loop, i), x)
	return true, nil
}

// makeLoop replaces the last 2·size tokens by a loop of two iterations.
func (b *Reference) makeLoop(l *stack, size int) error {
	n := len(l.tokens)
	at, mid := n-2*size, n-size
	body := l.tokens[mid]
	x, y := l.tokenSpan(at, mid), l.tokenSpan(mid, n)
	if size > 1 || body.Type() != Sequence {
		s, found, err := b.sequence(l.tokens[mid:])
		if err != nil {
			return err
		}
		if !found {
			b.ends.addSequence(l.tokens[mid:], s)
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
	if q := b.reuseEqualLoop(i); q != i {
		return b.store(MakeToken(Loop, q), x)
	}
	l.push(MakeToken(Loop, i), x)
	return nil
}

// reuseEqualLoop looks for a loop that equals loop i. If there is such a loop, it discards loop i and returns the
// number of the other loop. Otherwise it returns i.
func (b *Reference) reuseEqualLoop(i uint32) uint32 {
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
