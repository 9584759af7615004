package pallas

import "slices"

// Reader steps through the grammar of a thread token by token, into sequences and loops or past them
// (in Pallas: ThreadReader). It counts the occurrences of each event and sequence that it passes. Only
// one goroutine at a time may use it.
//
// A step takes constant time, unless it passes a sequence or loop. Then it takes time proportional to
// the number of different events and sequences inside.
type Reader struct {
	t *Thread
	g *outline
	// number of occurrences of each event and of each sequence that the reader has passed, by index
	seen      [2][]uint64
	enclosing []enclosing
	all       [][]containedCount // the contents of each sequence, computed on first use
}

// enclosing is a sequence or loop that contains the current token.
type enclosing struct {
	token  Token
	tokens []Token // the tokens of a sequence; for a loop, the token of the sequence that it repeats
	next   int     // index of the current token
	left   uint32  // for a loop: number of iterations after the current one
}

// containedCount states how often an event or a sequence occurs in another sequence.
type containedCount struct {
	sequence bool
	place    int
	times    uint64
}

// NewReader returns a reader at the first token of the thread's root. The error is a [GrammarError] if
// the grammar is damaged.
func NewReader(t *Thread) (*Reader, error) {
	g := newOutline(t)
	if g.err != nil {
		return nil, g.err
	}
	r := &Reader{t: t, g: g, all: make([][]containedCount, len(t.Sequences))}
	r.seen = [2][]uint64{make([]uint64, len(t.Events)), make([]uint64, len(t.Sequences))}
	r.seen[1][g.root]++
	r.enclosing = []enclosing{{token: t.Root, tokens: t.Sequences[g.root].Tokens}}
	return r, nil
}

// Token returns the current token. At the end of the enclosing sequence or loop it returns
// [NoToken].
func (r *Reader) Token() Token {
	if f := &r.enclosing[len(r.enclosing)-1]; f.next < len(f.tokens) {
		return f.tokens[f.next]
	}
	return NoToken
}

// Depth returns the number of sequences and loops that enclose the current token, without the
// root.
func (r *Reader) Depth() int { return len(r.enclosing) - 1 }

// Occurrence returns the number of the current token among the occurrences of its event or sequence, counted
// from 0. For a loop, it is the occurrence number of the loop's sequence in the first iteration.
func (r *Reader) Occurrence() uint64 {
	s, ok := r.t.step(r.Token())
	switch {
	case !ok:
		return 0
	case s.event >= 0:
		return r.seen[0][s.event]
	}
	return r.seen[1][s.sequence]
}

// Time returns the time at which the current token begins, in nanoseconds.
func (r *Reader) Time() (uint64, error) {
	k := r.Occurrence()
	s, ok := r.t.step(r.Token())
	switch {
	case !ok:
		return 0, &RangeError{}
	case s.event >= 0:
		return r.t.Value(&r.t.Events[s.event].Timestamps, k)
	}
	return r.t.Value(&r.t.Sequences[s.sequence].Timestamps, k)
}

// Duration returns the duration of the current token in nanoseconds. For a block, exclusive is the duration
// without the blocks inside it. For a sequence that is not a block, exclusive is the duration of the blocks
// inside it (docs/formats/pallas.md, "Vectors"). For a loop, duration is the duration of all iterations
// together, and exclusive is the time that the iterations spend in blocks. For an event, both are 0.
func (r *Reader) Duration() (duration, exclusive uint64, err error) {
	s, ok := r.t.step(r.Token())
	if !ok || s.sequence < 0 || s.times == 0 {
		return 0, 0, nil
	}
	x, k := &r.t.Sequences[s.sequence], r.Occurrence()
	at := func(v *Vector, k uint64) (n uint64) {
		if err == nil {
			n, err = r.t.Value(v, k)
		}
		return n
	}
	if r.Token().Type() == SequenceToken {
		return at(&x.Durations, k), at(&x.Exclusive, k), err
	}
	last := k + s.times - 1
	duration = at(&x.Timestamps, last) + at(&x.Durations, last) - at(&x.Timestamps, k)
	v := &x.Exclusive
	if x.Type == BlockSequence {
		v = &x.Durations
	}
	for ; k <= last && err == nil; k++ {
		exclusive += at(v, k)
	}
	return duration, exclusive, err
}

// Next moves past the current token and everything inside it, to the next token of the enclosing
// sequence, or to the next iteration of the enclosing loop. At the end, it returns false, and Token
// returns [NoToken].
func (r *Reader) Next() bool {
	f := &r.enclosing[len(r.enclosing)-1]
	if f.next >= len(f.tokens) {
		return false
	}
	r.pass(f.tokens[f.next], 1)
	if f.left > 0 {
		f.left--
		return true
	}
	f.next++
	return f.next < len(f.tokens)
}

// Enter moves to the first token inside the current sequence or loop. If the current token is an
// event, a loop without iterations or [NoToken], Enter does nothing and returns false.
func (r *Reader) Enter() bool {
	k := r.Token()
	s, ok := r.t.step(k)
	if !ok || s.event >= 0 {
		return false
	}
	if k.Type() == LoopToken {
		l := r.t.Loop(k)
		if l.Iterations == 0 {
			return false
		}
		r.enclosing = append(r.enclosing, enclosing{token: k, tokens: []Token{l.Sequence}, left: l.Iterations - 1})
		return true
	}
	r.seen[1][s.sequence]++
	r.enclosing = append(r.enclosing, enclosing{token: k, tokens: r.t.Sequences[s.sequence].Tokens})
	return true
}

// Leave skips the rest of the enclosing sequence or loop, and moves to the token after it. The result is the
// same as that of Next. In the root, Leave does nothing and returns false.
func (r *Reader) Leave() bool {
	if len(r.enclosing) == 1 {
		return false
	}
	f := &r.enclosing[len(r.enclosing)-1]
	if f.left > 0 {
		r.pass(f.tokens[0], uint64(f.left))
	}
	for ; f.next < len(f.tokens); f.next++ {
		r.pass(f.tokens[f.next], 1)
	}
	r.enclosing = r.enclosing[:len(r.enclosing)-1]
	// The token that was left has already been counted.
	f = &r.enclosing[len(r.enclosing)-1]
	if f.left > 0 {
		f.left--
		return true
	}
	f.next++
	return f.next < len(f.tokens)
}

// Step moves to the next token in the order of time. It enters sequences if sequences is set, and loops
// if loops is set. It leaves them at their ends. It returns false at the end of the thread.
func (r *Reader) Step(sequences, loops bool) bool {
	k := r.Token()
	if sequences && k.Type() == SequenceToken || loops && k.Type() == LoopToken {
		if r.Enter() && r.Token() != NoToken {
			return true
		}
	} else if r.Next() {
		return true
	}
	for r.Token() == NoToken {
		if len(r.enclosing) == 1 {
			return false
		}
		r.Leave()
	}
	return true
}

// pass counts the occurrences inside a token that is skipped the given number of times.
func (r *Reader) pass(k Token, times uint64) {
	s, _ := r.t.step(k)
	if s.event >= 0 {
		r.seen[0][s.event] += times
		return
	}
	times *= s.times
	r.seen[1][s.sequence] += times
	for _, c := range r.contents(s.sequence) {
		n := &r.seen[0]
		if c.sequence {
			n = &r.seen[1]
		}
		(*n)[c.place] += c.times * times
	}
}

// contents returns the number of occurrences of events and other sequences in the sequence with index at.
func (r *Reader) contents(at int) []containedCount {
	if r.all[at] != nil {
		return r.all[at]
	}
	// The outline lists a sequence after all sequences that it contains.
	needed := map[int]bool{at: true}
	end := slices.Index(r.g.order, at)
	for i := end; i >= 0; i-- {
		if !needed[r.g.order[i]] || r.all[r.g.order[i]] != nil {
			continue
		}
		for _, k := range r.t.Sequences[r.g.order[i]].Tokens {
			if s, _ := r.t.step(k); s.sequence >= 0 {
				needed[s.sequence] = true
			}
		}
	}
	for _, x := range r.g.order[:end+1] {
		if needed[x] && r.all[x] == nil {
			r.all[x] = r.add(x)
		}
	}
	return r.all[at]
}

// add computes the contents of a sequence from the contents of the sequences inside it.
func (r *Reader) add(at int) []containedCount {
	l := []containedCount{}
	places := map[containedCount]int{}
	count := func(c containedCount, times uint64) {
		key := containedCount{c.sequence, c.place, 0}
		i, ok := places[key]
		if !ok {
			i = len(l)
			places[key] = i
			l = append(l, key)
		}
		l[i].times += times
	}
	for _, k := range r.t.Sequences[at].Tokens {
		s, _ := r.t.step(k)
		if s.event >= 0 {
			count(containedCount{place: s.event}, 1)
			continue
		}
		count(containedCount{sequence: true, place: s.sequence}, s.times)
		for _, c := range r.all[s.sequence] {
			count(c, c.times*s.times)
		}
	}
	return l
}

// Checkpoint is a position to which a [Reader] can return.
type Checkpoint struct {
	seen [2][]uint64
	in   []enclosing
}

// Checkpoint returns the reader's position.
func (r *Reader) Checkpoint() *Checkpoint {
	return &Checkpoint{[2][]uint64{slices.Clone(r.seen[0]), slices.Clone(r.seen[1])}, slices.Clone(r.enclosing)}
}

// Restore moves to a position of this reader, or of another reader of the same thread.
func (r *Reader) Restore(c *Checkpoint) {
	copy(r.seen[0], c.seen[0])
	copy(r.seen[1], c.seen[1])
	r.enclosing = append(r.enclosing[:0], c.in...)
}
