// Package grammar finds repetitions in the events of a location while the events are added. A [Builder]
// combines events into sequences and loops, in the same form as the trace format Pallas.
package grammar

import (
	"errors"
	"fmt"
	"slices"
)

// TokenType is the type of the entry to which a token refers.
type TokenType uint8

// A token refers to an event, a sequence or a loop.
const (
	Invalid TokenType = iota
	Event
	Sequence
	Loop
)

// Token refers to an event, sequence or loop by its number, which must be below 2³⁰.
type Token uint32

// MakeToken returns the token for the entry of type t with the number id.
func MakeToken(t TokenType, id uint32) Token { return Token(id<<2 | uint32(t)) }

// Type returns the type of the entry to which the token refers.
func (t Token) Type() TokenType { return TokenType(t & 3) }

// ID returns the number of the entry to which the token refers.
func (t Token) ID() uint32 { return uint32(t >> 2) }

// String returns the token as Pallas writes it: E1, S2, L3.
func (t Token) String() string { return fmt.Sprintf("%c%d", "?ESL"[t.Type()], t.ID()) }

// SequenceInfo is a sequence of tokens. Sequence 0 is the root, which contains the tokens of the whole
// location. Block is set for the root, and for sequences whose first event begins a block.
type SequenceInfo struct {
	Block  bool
	Tokens []Token
}

// LoopInfo is a sequence that is repeated. Each combination of sequence and number of iterations
// exists once.
type LoopInfo struct {
	Sequence    uint32
	Iterations  uint32
	Occurrences uint64 // number of occurrences in sequences that have ended
}

// Occurrence is an occurrence of a sequence. Start is the time of its first event, and Duration the time from
// the first to the last event. For a block, Blocks is the part of Duration outside of the blocks inside of it;
// for other sequences, it is the part inside of blocks.
type Occurrence struct{ Start, Duration, Blocks uint64 }

// Builder finds repetitions: if the last tokens of the innermost open level equal the tokens before them, it
// replaces both by a loop. It needs memory for the grammar, and for some hundred tokens of each open level. It
// is not safe for concurrent use.
type Builder struct {
	tables
	maxLoop  int
	block    func(event uint32) bool
	occurred func(sequence uint32, o Occurrence) error

	// open levels, with the whole location first and the innermost level last; further elements are kept for
	// reuse
	levels  []level
	depth   int
	byLoop  map[loopKey]uint32
	scratch []Token
}

type loopKey struct{ sequence, iterations uint32 }

// level is an open level. tail holds the tokens that may still become part of repetitions.
type level struct {
	tokens tokenList // the tokens before the tokens in tail
	tail   []item
	loops  []int // positions in tail of the loops to which iterations may be added
	start  uint64
	blocks uint64 // total duration of the blocks that are directly in the level
}

// tokenList is a list that grows without its tokens being copied.
type tokenList struct {
	full [][]Token
	last []Token
}

// pieceTokens is the number of tokens in a piece of a list.
const pieceTokens = 1 << 14

func (t *tokenList) append(k Token) {
	if len(t.last) == pieceTokens {
		t.full = append(t.full, t.last)
		t.last = make([]Token, 0, pieceTokens)
	}
	t.last = append(t.last, k)
}

// item is a token together with its occurrence. An item with iterations above 0 is a loop, and its token is
// the token of the repeated sequence. The loop gets a number when its number of iterations is final.
type item struct {
	token      Token // for loops, the token of the sequence
	iterations uint32
	start, end uint64
	blocks     uint64 // total duration of the blocks in the item, or of the item itself if it is a block
}

// equal reports whether two items have the same token and number of iterations.
func (a *item) equal(b *item) bool { return a.token == b.token && a.iterations == b.iterations }

// New returns a Builder that looks for repetitions of up to maxLoop tokens. block must report whether an event
// begins a block. occurred is called for each occurrence of a sequence except the root; the occurrences of a
// sequence come in the order of time. If occurred returns an error, the methods of the Builder return it.
func New(maxLoop int, block func(event uint32) bool, occurred func(sequence uint32, o Occurrence) error) *Builder {
	b := &Builder{tables: newTables(), maxLoop: max(1, maxLoop), block: block, occurred: occurred,
		byLoop: map[loopKey]uint32{}}
	b.Open(0)
	return b
}

// Open begins a level at a time. The next call must be Add, with the level's first event.
func (b *Builder) Open(time uint64) {
	if b.depth == len(b.levels) {
		b.levels = append(b.levels, level{})
	}
	l := &b.levels[b.depth]
	l.tokens = tokenList{last: l.tokens.last[:0]}
	l.tail, l.loops = l.tail[:0], l.loops[:0]
	l.start, l.blocks = time, 0
	b.depth++
}

// Add adds an event to the innermost open level.
func (b *Builder) Add(event uint32, time uint64) error {
	return b.append(item{token: MakeToken(Event, event), start: time, end: time})
}

// ErrClosed is returned by Close if no level is open.
var ErrClosed = errors.New("grammar: nothing is open")

// Close ends the innermost open level at a time. The caller must have added its last event before.
func (b *Builder) Close(time uint64) error {
	if b.depth < 2 {
		return ErrClosed
	}
	l := &b.levels[b.depth-1]
	s, err := b.sequence(b.freeze(l))
	if err != nil {
		return err
	}
	o := Occurrence{l.start, time - l.start, l.blocks}
	it := item{token: MakeToken(Sequence, s), start: l.start, end: time, blocks: l.blocks}
	if b.Sequences[s].Block {
		o.Blocks = o.Duration - l.blocks
		it.blocks = o.Duration
	}
	if err := b.occurred(s, o); err != nil {
		return err
	}
	b.depth--
	return b.append(it)
}

// End ends the location. All levels must have been closed, and nothing may be added afterwards.
func (b *Builder) End() {
	for _, l := range b.Tokens() {
		b.countLoops(l)
	}
}

// Root ends the location like End, and makes the location's tokens those of sequence 0.
func (b *Builder) Root() {
	b.End()
	b.Sequences[0].Tokens = slices.Concat(b.Tokens()...)
}

// Tokens returns all tokens so far. The tokens of an open level follow the tokens of the level around it. The
// pieces are valid until something is added.
func (b *Builder) Tokens() (pieces [][]Token) {
	for i := range b.levels[:b.depth] {
		l := &b.levels[i]
		pieces = append(append(pieces, l.tokens.full...), l.tokens.last)
		var tail []Token
		for k := range l.tail {
			tail = append(tail, b.token(&l.tail[k]))
		}
		pieces = append(pieces, tail)
	}
	return pieces
}

// Blocks returns the total duration of the blocks that have ended and that are not inside of another block.
func (b *Builder) Blocks() (n uint64) {
	for i := range b.levels[:b.depth] {
		n += b.levels[i].blocks
	}
	return n
}

// append appends an item to the innermost open level, and replaces repetitions at its end.
func (b *Builder) append(it item) error {
	l := &b.levels[b.depth-1]
	l.blocks += it.blocks
	l.tail = append(l.tail, it)
	for {
		found, err := b.extend(l)
		if !found && err == nil {
			found, err = b.loop(l)
		}
		if err != nil {
			return err
		}
		if !found {
			break
		}
	}
	if len(l.tail) > 4*b.maxLoop {
		b.shorten(l)
	}
	return nil
}

// shorten moves items that are too old for a repetition from the tail to the tokens of the level.
func (b *Builder) shorten(l *level) {
	n := len(l.tail) - 2*b.maxLoop
	for i := range l.tail[:n] {
		l.tokens.append(b.token(&l.tail[i]))
	}
	l.tail = l.tail[:copy(l.tail, l.tail[n:])]
	loops := l.loops[:0]
	for _, at := range l.loops {
		if at >= n {
			loops = append(loops, at-n)
		}
	}
	l.loops = loops
}

// recentLoops is the number of loops, the latest of a level, to which iterations may be added.
const recentLoops = 4

// extend adds an iteration to a loop if the items after it equal the loop's sequence. It reports
// whether it has done so.
func (b *Builder) extend(l *level) (bool, error) {
	n := len(l.tail)
	for i := len(l.loops) - 1; i >= 0 && i >= len(l.loops)-recentLoops; i-- {
		at := l.loops[i]
		loop := &l.tail[at]
		body := b.Sequences[loop.token.ID()].Tokens
		items := l.tail[at+1:]
		direct := len(items) == 1 && items[0].token == loop.token && items[0].iterations == 0
		if !direct && (len(items) != len(body) || !b.matches(items, body)) {
			continue
		}
		if loop.iterations == 1<<32-1 {
			continue
		}
		if !direct {
			if err := b.occurs(loop.token.ID(), items); err != nil {
				return false, err
			}
		}
		for k := range items {
			loop.blocks += items[k].blocks
		}
		loop.iterations++
		loop.end = l.tail[n-1].end
		l.tail, l.loops = l.tail[:at+1], l.loops[:i+1]
		return true, nil
	}
	return false, nil
}

// matches reports whether items stand for the given tokens.
func (b *Builder) matches(items []item, tokens []Token) bool {
	for i := len(items) - 1; i >= 0; i-- {
		it, k := &items[i], tokens[i]
		if it.iterations == 0 {
			if it.token != k {
				return false
			}
			continue
		}
		if k.Type() != Loop {
			return false
		}
		if x := &b.Loops[k.ID()]; x.Sequence != it.token.ID() || x.Iterations != it.iterations {
			return false
		}
	}
	return true
}

// loop replaces the last items by a loop if they equal the items before them. It reports whether it
// has done so.
func (b *Builder) loop(l *level) (bool, error) {
	t := l.tail
	n := len(t)
	last := &t[n-1]
	for size := 1; size <= b.maxLoop && 2*size <= n; size++ {
		if !t[n-1-size].equal(last) {
			continue
		}
		x, y := t[n-2*size:n-size], t[n-size:]
		equal := true
		for i := size - 2; i >= 0 && equal; i-- {
			equal = x[i].equal(&y[i])
		}
		if equal {
			return true, b.makeLoop(l, n-2*size, size)
		}
	}
	return false, nil
}

func (b *Builder) makeLoop(l *level, at, size int) error {
	x, y := l.tail[at:at+size], l.tail[at+size:]
	loop := item{iterations: 2, start: x[0].start, end: y[size-1].end}
	for i := range x {
		loop.blocks += x[i].blocks + y[i].blocks
	}
	if size == 1 && x[0].iterations == 0 && x[0].token.Type() == Sequence {
		loop.token = x[0].token
	} else {
		tokens := b.scratch[:0]
		for i := range x {
			tokens = append(tokens, b.token(&x[i]))
		}
		b.scratch = tokens
		s, err := b.sequence(tokens)
		if err != nil {
			return err
		}
		loop.token = MakeToken(Sequence, s)
		for _, items := range [][]item{x, y} {
			if err := b.occurs(s, items); err != nil {
				return err
			}
		}
	}
	l.tail = append(l.tail[:at], loop)
	for len(l.loops) > 0 && l.loops[len(l.loops)-1] >= at {
		l.loops = l.loops[:len(l.loops)-1]
	}
	l.loops = append(l.loops, at)
	return nil
}

// occurs calls b.occurred for an occurrence of sequence s that consists of the given items.
func (b *Builder) occurs(s uint32, items []item) error {
	blocks := uint64(0)
	for i := range items {
		blocks += items[i].blocks
		if items[i].iterations > 0 {
			b.Loops[b.loopOf(&items[i])].Occurrences++
		}
	}
	start, end := items[0].start, items[len(items)-1].end
	if b.Sequences[s].Block {
		blocks = end - start - blocks
	}
	return b.occurred(s, Occurrence{start, end - start, blocks})
}

// freeze converts the items of a level to tokens, which become the content of a sequence, and
// counts the loops among them.
func (b *Builder) freeze(l *level) []Token {
	tokens := b.scratch[:0]
	n := len(l.tokens.full)*pieceTokens + len(l.tokens.last) + len(l.tail)
	long := n >= pieceTokens // the caller keeps a long list, so it must not be in scratch
	if long {
		tokens = make([]Token, 0, n)
	}
	for _, piece := range l.tokens.full {
		tokens = append(tokens, piece...)
	}
	tokens = append(tokens, l.tokens.last...)
	for i := range l.tail {
		tokens = append(tokens, b.token(&l.tail[i]))
	}
	if b.countLoops(tokens); !long {
		b.scratch = tokens
	}
	return tokens
}

// countLoops adds an occurrence to each loop among the tokens.
func (b *Builder) countLoops(tokens []Token) {
	for _, k := range tokens {
		if k.Type() == Loop {
			b.Loops[k.ID()].Occurrences++
		}
	}
}

// token returns the token of an item. A loop gets its number here.
func (b *Builder) token(it *item) Token {
	if it.iterations == 0 {
		return it.token
	}
	return MakeToken(Loop, b.loopOf(it))
}

// loopOf returns the number of the loop that an item stands for. It adds the loop on first use.
func (b *Builder) loopOf(it *item) uint32 {
	key := loopKey{it.token.ID(), it.iterations}
	i, ok := b.byLoop[key]
	if !ok {
		i = uint32(len(b.Loops))
		b.byLoop[key] = i
		b.Loops = append(b.Loops, LoopInfo{Sequence: it.token.ID(), Iterations: it.iterations})
	}
	return i
}

// sequence returns the number of the sequence with these tokens. It adds the sequence, with a copy
// of the tokens, on first use.
func (b *Builder) sequence(tokens []Token) (uint32, error) {
	h := hash(tokens)
	if s, ok := b.find(h, tokens); ok {
		return s, nil
	}
	return b.add(h, tokens, len(tokens) > 0 && tokens[0].Type() == Event && b.block(tokens[0].ID()))
}
