package pallas

import (
	"context"
	"fmt"

	"github.com/weft-trace/weft/format"
)

// walk computes the times and durations of all occurrences of sequences from the times of events, and compares them
// with the times and durations that the thread stores.
type walk struct {
	c       *checker
	t       *Thread
	root    int
	lengths *fileWindow
	all     int64 // number of sections of the file
	stack   []walkFrame
	stored  [][3]sumCursor // of each sequence: its times, durations and exclusive durations
	// If verifies is set, the walk also compares the values of each block that it reads with the sums that the thread
	// states. sums has the vectors of which it has read some of the blocks.
	verifies bool
	sums     map[*Vector]*valueSums
	// recent holds the stored bytes of the block at recentAt while the figures of an occurrence are compared: often the
	// durations and the exclusive durations of a sequence are one block.
	recent   []byte
	recentAt uint64
}

// walkFrame is an occurrence of a sequence that has begun.
type walkFrame struct {
	at          int     // index of the sequence in the thread
	tokens      []Token // tokens of the sequence that the walk has not reached
	again       uint64  // number of occurrences that follow immediately
	first, last uint64  // times of the events so far
	blocks      uint64  // duration of the blocks so far
	anything    bool    // there was an event
}

// newWalk returns a walk at the begin of a thread. It returns nil if the numbers of occurrences differ from the numbers
// of values. This defect has already been reported.
func (c *checker) newWalk(t *Thread, g *outline, lengths *fileWindow) *walk {
	if g.err != nil || !g.countsMatch() {
		return nil
	}
	for i, n := range g.sequences {
		if s := &t.Sequences[i]; n != s.Durations.Size || n != s.Exclusive.Size || n != s.Timestamps.Size {
			return nil
		}
	}
	return &walk{c: c, t: t, root: g.root, lengths: lengths, all: lengths.sectionsOf(),
		stored: make([][3]sumCursor, len(t.Sequences)),
		stack:  []walkFrame{{at: g.root, tokens: t.lists.at(g.root)}}}
}

// add continues the walk with the times of the next events. After the last event, all sequences have been compared.
// It reports the first difference. equal is false if a figure differs or cannot be read.
func (w *walk) add(times []uint64) (equal bool, err error) {
	for len(w.stack) > 0 {
		f := &w.stack[len(w.stack)-1]
		if len(f.tokens) > 0 {
			k := f.tokens[0]
			if k.Type() == EventToken {
				if len(times) == 0 {
					return true, nil
				}
				if !f.anything {
					f.first, f.anything = times[0], true
				}
				f.last, times, f.tokens = times[0], times[1:], f.tokens[1:]
				continue
			}
			f.tokens = f.tokens[1:]
			if s, _ := w.t.step(k); s.times > 0 {
				w.stack = append(w.stack, walkFrame{at: s.sequence, tokens: w.t.lists.at(s.sequence), again: s.times - 1})
			}
			continue
		}
		if f.anything {
			if equal, err := w.compare(f); !equal {
				return false, err
			}
		}
		w.end()
	}
	return true, nil
}

// end ends the innermost occurrence of a sequence. If another one follows immediately, it takes its place.
func (w *walk) end() {
	top := len(w.stack) - 1
	done := w.stack[top]
	if done.again > 0 {
		w.stack[top] = walkFrame{at: done.at, tokens: w.t.lists.at(done.at), again: done.again - 1}
	} else {
		w.stack = w.stack[:top]
	}
	if top == 0 || !done.anything {
		return
	}
	p := &w.stack[top-1]
	if !p.anything {
		p.first, p.anything = done.first, true
	}
	p.last = done.last
	if w.t.Sequences[done.at].Type == BlockSequence {
		p.blocks += done.last - done.first
	} else {
		p.blocks += done.blocks
	}
}

// compare compares the figures of an occurrence of a sequence, all of whose events are known, with the next stored
// figures: its first time, its duration and its exclusive duration. The exclusive duration of a block is its duration
// without that of the blocks inside, and that of the root is 0. That of another sequence is the duration of the blocks
// inside. compare reports the first difference. equal is false if a figure differs or cannot be read.
func (w *walk) compare(f *walkFrame) (equal bool, err error) {
	s := &w.t.Sequences[f.at]
	if len(s.Tokens) == 0 {
		return true, nil
	}
	want := [3]uint64{f.first, f.last - f.first, f.blocks}
	switch {
	case f.at == w.root:
		want[2] = 0
	case s.Type == BlockSequence:
		want[2] = want[1] - want[2]
	}
	vectors := [3]*Vector{&s.Timestamps, &s.Durations, &s.Exclusive}
	stored := &w.stored[f.at]
	w.recent = nil
	for i, v := range vectors {
		if i == 2 && w.c.d.t.ABI == 16 {
			break // its writer stored wrong exclusive durations
		}
		got, ok := w.next(&stored[i], v)
		if !ok {
			return false, nil // the error has already been reported
		}
		if got != want[i] {
			what := [3]string{"begins", "lasts", "has exclusive time"}[i]
			return false, w.c.warn("pallas.sums", w.t.path, uint64(s.at),
				fmt.Sprintf("an occurrence of sequence %d that %s %d ns", f.at, what, got),
				fmt.Sprintf("%d, as its events give", want[i]))
		}
	}
	return true, nil
}

// sumCursor iterates over the values of one vector of a sequence.
type sumCursor struct {
	block, at int
	values    []uint64
	fromHead  uint32 // number of values that next has taken from the head of the current block
	stored    uint32 // number of stored bytes of the block before
}

// next returns the next value of a vector. ok is false if there is none, if its block cannot be read, or if the block
// differs from what the thread states.
func (w *walk) next(s *sumCursor, v *Vector) (n uint64, ok bool) {
	for s.at == len(s.values) {
		if s.block == len(v.Blocks) {
			return 0, false
		}
		x := &v.Blocks[s.block]
		values, inHead := v.headValues(x)
		if inHead { // most sequences of a thread that repeats little; this needs no memory
			if s.fromHead == 0 && w.verifies && !w.verify(v, x) {
				return 0, false
			}
			if uint64(s.fromHead) < x.Count {
				s.fromHead++
				return values[s.fromHead-1], true
			}
			s.fromHead = 0
			s.block++
			continue
		}
		s.at = 0
		if ok = w.read(s, v, x); !ok || w.verifies && !w.agrees(v, x, s.values) {
			return 0, false
		}
		s.block++
	}
	s.at++
	return s.values[s.at-1], true
}

// read sets the values of a cursor to those of a block.
func (w *walk) read(s *sumCursor, v *Vector, x *Block) (ok bool) {
	d := w.t.durations
	if x.Count > maxBlock || d.valueBytes > alwaysBytes && d.checkExpansion(x) != nil {
		return false
	}
	b, err := w.load(s, v, x)
	if err == nil {
		s.values, err = w.c.r.decode(s.values[:0], b, d.path, v, x)
	}
	return err == nil
}

// load returns the stored bytes of a block. Many blocks are near those of the sequences that ended before, and are read
// with them in sections, until these have as many bytes as the file. Blocks of one vector have similar lengths.
func (w *walk) load(s *sumCursor, v *Vector, x *Block) (b []byte, err error) {
	if b := w.lengths.held(x); b != nil {
		return b, nil
	}
	if w.all <= int64(len(w.lengths.sections)) || len(v.Blocks) == 1 && w.lengths.loads < w.all {
		return w.lengths.block(x)
	}
	if w.recent != nil && w.recentAt == x.Offset {
		return w.recent, nil
	}
	count := uint64(1)
	if s.block > 0 {
		count = max(1, v.Blocks[s.block-1].Count)
	}
	if b, err = w.c.r.loadLike(w.t.durations, x, uint64(s.stored), count); err == nil {
		s.stored = uint32(len(b))
		w.recent, w.recentAt = b, x.Offset
	}
	return b, err
}

// verify reads a block whose values are also in its head, and reports whether the block agrees.
func (w *walk) verify(v *Vector, x *Block) (ok bool) {
	if x.Count == 0 {
		return true
	}
	c := w.c
	b, err := w.load(&sumCursor{}, v, x)
	if err == nil {
		c.values, err = c.r.decode(c.values[:0], b, w.t.durations.path, v, x)
	}
	return err == nil && w.agrees(v, x, c.values)
}

// agrees reports whether the values of a block, and of its vector if this is the last block, agree with what the
// thread states.
func (w *walk) agrees(v *Vector, x *Block, values []uint64) bool {
	sums := newValueSums()
	if len(v.Blocks) == 1 {
		return sums.add(v, x, values) == nil && (!v.durations || sums.expected(v) == "")
	}
	p := w.sums[v]
	if p == nil {
		p = &sums
		w.sums[v] = p
	}
	return p.add(v, x, values) == nil && (x != &v.Blocks[len(v.Blocks)-1] || !v.durations || p.expected(v) == "")
}

// scanCheck checks a thread while a scan delivers its events. It reports nothing. Finish reads a thread in which it
// has found a defect again, and reports the defect.
type scanCheck struct {
	c      *checker // reports to nobody
	t      *Thread
	g      *outline
	walk   *walk
	defect bool
}

// newScanCheck returns a check of a thread, whose blocks r reads. It returns nil for threads that Finish has to read:
// those with defects, and those with a lossy codec, whose times are not those of the sums.
func (c *checker) newScanCheck(t *Thread, r *blockReader) *scanCheck {
	if c.d.t.Compression.Lossy() {
		return nil
	}
	opt := *c.opt
	opt.Report, opt.Strict = format.NewReport(), true
	s := &scanCheck{c: &checker{d: c.d, opt: &opt, r: r}, t: t, g: newOutline(t)}
	if s.walk = s.c.newWalk(t, s.g, &fileWindow{d: t.durations}); s.walk == nil {
		return nil
	}
	s.walk.verifies, s.walk.sums = true, map[*Vector]*valueSums{}
	return s
}

// add checks the next events, in the order of the grammar.
func (s *scanCheck) add(times []uint64) {
	if !s.defect {
		equal, err := s.walk.add(times)
		s.defect = !equal || err != nil
	}
}

// finish checks what remains after the last event that x has replayed: the file, the blocks of which the scan needed
// only the heads, and the vectors of sequences without events. It reports whether the thread has no defect.
func (s *scanCheck) finish(ctx context.Context, x *replay) bool {
	c, t := s.c, s.t
	if s.defect || len(s.walk.stack) > 0 || x.differs || c.checkFile(t, s.g) != nil {
		return false
	}
	for i := range t.Events {
		if !s.headsAgree(&t.Events[i].Timestamps) {
			return false
		}
	}
	for i := range t.Sequences {
		x := &t.Sequences[i]
		for k, v := range [3]*Vector{&x.Timestamps, &x.Durations, &x.Exclusive} {
			cursor := &s.walk.stored[i][k]
			read := cursor.block
			if cursor.fromHead > 0 {
				read++
			}
			if read < len(v.Blocks) && c.checkVector(t, s.walk.lengths, v, "sequence", i) != nil || s.walk.lengths.missing {
				return false
			}
		}
		if ctx.Err() != nil {
			return false
		}
	}
	return len(c.opt.Report.Rules()) == 0
}

// headsAgree reports whether the blocks of an event of whose times the scan has read only the head agree with it.
func (s *scanCheck) headsAgree(v *Vector) bool {
	for i := range v.Blocks {
		x := &v.Blocks[i]
		if _, inHead := v.headValues(x); !inHead || x.Count == 0 {
			continue
		}
		b, err := s.c.r.loadLike(s.t.times, x, 0, 1)
		if err == nil {
			s.c.values, err = s.c.r.decode(s.c.values[:0], b, s.t.times.path, v, x)
		}
		if sums := newValueSums(); err != nil || sums.add(v, x, s.c.values) != nil {
			return false
		}
	}
	return true
}
