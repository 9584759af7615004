package pallas

import "slices"

// Reader goes through the grammar of a thread (in Pallas: ThreadReader), token by token:
// into sequences and loops, or past them. It knows which occurrence of its event or
// sequence each token is. It belongs to one goroutine.
//
// A step takes the same time wherever it is, but for steps past a sequence or loop: these
// take as long as there are different events and sequences in it.
type Reader struct {
	t    *Thread
	g    *outline
	seen [2][]uint64 // occurrences so far of events and sequences, by place
	in   []inside
	all  [][]content // of sequences, once they are needed
}

// inside is a sequence or loop that the reader is in.
type inside struct {
	token  Token
	tokens []Token // of a sequence; of a loop the only one
	next   int     // place of the token in hand
	left   uint32  // iterations of a loop behind the one in hand
}

// content is how often an event or a sequence occurs in another sequence.
type content struct {
	sequence bool
	place    int
	times    uint64
}

// NewReader begins before nothing: with the first token of the thread's root. The error
// is a [GrammarError] if the grammar cannot be followed.
func NewReader(t *Thread) (*Reader, error) {
	g := newOutline(t)
	if g.err != nil {
		return nil, g.err
	}
	r := &Reader{t: t, g: g, all: make([][]content, len(t.Sequences))}
	r.seen = [2][]uint64{make([]uint64, len(t.Events)), make([]uint64, len(t.Sequences))}
	r.seen[1][g.root]++
	r.in = []inside{{token: t.Root, tokens: t.Sequences[g.root].Tokens}}
	return r, nil
}

// Token is the token in hand, [NoToken] at the end of the sequence that the reader is in.
func (r *Reader) Token() Token {
	if f := &r.in[len(r.in)-1]; f.next < len(f.tokens) {
		return f.tokens[f.next]
	}
	return NoToken
}

// Depth is how many sequences and loops the reader is in, besides the root.
func (r *Reader) Depth() int { return len(r.in) - 1 }

// Occurrence is which occurrence of its event or sequence the token in hand is, counted
// from 0; of a loop that of its first iteration's sequence.
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

// Time is when the token in hand begins, in nanoseconds.
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

// Duration is how long the token in hand lasts in nanoseconds, and how long without the
// blocks in it, or, of a sequence that is no block and of loops, how long in blocks
// (docs/formats/pallas.md, "Vectors"). Of a loop it is that of all iterations; an event
// takes no time.
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

// Next goes past the token in hand, with all that is in it, to the next one of the same
// sequence or loop. It returns false, and Token is then [NoToken], at the end of that.
func (r *Reader) Next() bool {
	f := &r.in[len(r.in)-1]
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

// Enter goes into the sequence or loop in hand, to its first token. It returns false,
// and nothing happens, for events and at the end.
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
		r.in = append(r.in, inside{token: k, tokens: []Token{l.Sequence}, left: l.Iterations - 1})
		return true
	}
	r.seen[1][s.sequence]++
	r.in = append(r.in, inside{token: k, tokens: r.t.Sequences[s.sequence].Tokens})
	return true
}

// Leave goes out of the sequence or loop that the reader is in, past what is left of it,
// to the token behind it, as Next does. It returns false where Next would; in the root
// nothing happens.
func (r *Reader) Leave() bool {
	if len(r.in) == 1 {
		return false
	}
	f := &r.in[len(r.in)-1]
	if f.left > 0 {
		r.pass(f.tokens[0], uint64(f.left))
	}
	for ; f.next < len(f.tokens); f.next++ {
		r.pass(f.tokens[f.next], 1)
	}
	r.in = r.in[:len(r.in)-1]
	// The token in hand has been counted already.
	f = &r.in[len(r.in)-1]
	if f.left > 0 {
		f.left--
		return true
	}
	f.next++
	return f.next < len(f.tokens)
}

// Step goes to the next token in the order of time: into sequences and loops as far as
// these are wanted, and out of those that are at their end. It returns false at the end
// of the thread.
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
		if len(r.in) == 1 {
			return false
		}
		r.Leave()
	}
	return true
}

// pass counts a token that is skipped, so many times.
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

// contents is what is in a sequence.
func (r *Reader) contents(at int) []content {
	if r.all[at] != nil {
		return r.all[at]
	}
	// Innermost first; order has them so.
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

// add adds up what is in a sequence, from what is in those in it.
func (r *Reader) add(at int) []content {
	l := []content{}
	places := map[content]int{}
	count := func(c content, times uint64) {
		key := content{c.sequence, c.place, 0}
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
			count(content{place: s.event}, 1)
			continue
		}
		count(content{sequence: true, place: s.sequence}, s.times)
		for _, c := range r.all[s.sequence] {
			count(c, c.times*s.times)
		}
	}
	return l
}

// Checkpoint is a place that a [Reader] can go back to.
type Checkpoint struct {
	seen [2][]uint64
	in   []inside
}

// Checkpoint is where the reader is.
func (r *Reader) Checkpoint() *Checkpoint {
	return &Checkpoint{[2][]uint64{slices.Clone(r.seen[0]), slices.Clone(r.seen[1])}, slices.Clone(r.in)}
}

// Restore goes to a place that a reader of the same thread was at.
func (r *Reader) Restore(c *Checkpoint) {
	copy(r.seen[0], c.seen[0])
	copy(r.seen[1], c.seen[1])
	r.in = append(r.in[:0], c.in...)
}
