package pallas

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Recorder writes a thread: it takes its events in the order of time and finds what
// repeats. Blocks of 1000 times are written as soon as they are full, so that its
// memory is that of the grammar, and of up to 8 KB of times for each event and 24 KB
// for each sequence in it. It serves one goroutine.
//
// A repetition is found when the last tokens of a function, up to MaxLoopLength of
// them, come twice in a row.
type Recorder struct {
	w       *ThreadWriter
	maxLoop int

	levels []level // of calls, the thread itself first; those behind depth are kept for their memory
	depth  int
	last   uint64 // time
	start  uint64
	any    bool

	visits [2][]uint32       // the events of enter and leave of small regions, +1
	byKey  map[string]uint32 // events
	key    []byte

	events     []*recordedEvent
	sequences  []*recordedSequence
	bySequence map[uint64]uint32 // by a hash of their tokens: the latest one
	loops      []Loop
	byLoop     map[loopKey]uint32
	scratch    []Token
	room       []Token // for those of sequences
	plain      []byte
	packed     []byte
}

type loopKey struct {
	sequence   uint32
	iterations uint32
}

type recordedEvent struct {
	record     Record
	payload    []byte
	attributes []byte
	times      recordedVector
}

// recordedSequence is a sequence. Of irregular programs most occur once, and have no
// vectors.
type recordedSequence struct {
	kind    SequenceType
	once    bool
	next    uint32 // with the same hash; 0 for none
	tokens  []Token
	first   [3]uint64 // of the only occurrence: duration, exclusive duration, start
	vectors *[3]recordedVector
}

// level is a function that is open, or the thread. Of its tokens the last ones may still
// be part of repetitions: these are in tail.
type level struct {
	tokens []Token // before tail
	tail   []item
	loops  []int // places in tail of loops that may go on
	start  uint64
	blocks uint64 // durations of all blocks in it
	open   Record
	region uint32
}

// item is a token with what is known of its occurrence. A loop has no number yet: it is
// a sequence and a number of iterations.
type item struct {
	token      Token // of the sequence, for loops
	iterations uint32
	start, end uint64
	blocks     uint64 // durations of the blocks in it, or its own if it is one
}

// same tells whether two items say the same.
func (a *item) same(b *item) bool { return a.token == b.token && a.iterations == b.iterations }

// newRecorder makes a recorder; of tokens more than maxLoop apart it finds no
// repetitions.
func newRecorder(w *ThreadWriter, maxLoop int) *Recorder {
	r := &Recorder{w: w, maxLoop: maxLoop, byKey: map[string]uint32{}, bySequence: map[uint64]uint32{}, byLoop: map[loopKey]uint32{}}
	r.sequences = append(r.sequences, &recordedSequence{}) // the root
	r.push(0, maxRecord, 0)
	return r
}

// OrderError is a time that is before that of the event before.
type OrderError struct{ Time, Last uint64 }

// Error says what was found.
func (e *OrderError) Error() string {
	return fmt.Sprintf("found an event at %d ns, expected one at %d ns or later", e.Time, e.Last)
}

// Enter records that a region is entered at a time in nanoseconds. Times must not
// decrease: one that does is an [OrderError], and nothing is recorded.
func (r *Recorder) Enter(time uint64, region Ref) error { return r.visit(time, Enter, region) }

// Leave records that a region is left. What is open inside of it is left before, and
// what was not entered is entered: a grammar has no other place for it.
func (r *Recorder) Leave(time uint64, region Ref) error { return r.visit(time, Leave, region) }

const smallRegions = 1 << 12

func (r *Recorder) visit(time uint64, record Record, region Ref) error {
	table := &r.visits[record-Enter]
	if region < uint32(len(*table)) && (*table)[region] > 0 {
		return r.add(time, record, region, (*table)[region]-1, nil)
	}
	var payload [4]byte
	binary.LittleEndian.PutUint32(payload[:], region)
	e := r.event(record, payload[:])
	if region < smallRegions {
		for uint32(len(*table)) <= region {
			*table = append(*table, 0)
		}
		(*table)[region] = e + 1
	}
	return r.add(time, record, region, e, nil)
}

// Record records an event of any other kind, with the payload of docs/formats/pallas.md
// ("Event records"), 250 bytes at most, which is copied. Attributes may be nil.
func (r *Recorder) Record(time uint64, record Record, payload []byte, attributes []Value) error {
	if len(payload) > maxPayload {
		return fmt.Errorf("found a payload of %d bytes, expected %d at most", len(payload), maxPayload)
	}
	region := uint32(0)
	if (record == Enter || record == Leave) && len(payload) == 4 {
		region = binary.LittleEndian.Uint32(payload)
	}
	return r.add(time, record, region, r.event(record, payload), attributes)
}

const maxPayload = 250

// event is the number of an event.
func (r *Recorder) event(record Record, payload []byte) uint32 {
	r.key = append(binary.LittleEndian.AppendUint32(r.key[:0], uint32(record)), payload...)
	e, ok := r.byKey[string(r.key)]
	if !ok {
		e = uint32(len(r.events))
		r.byKey[string(r.key)] = e
		r.events = append(r.events, &recordedEvent{record: record, payload: slices.Clone(payload)})
	}
	return e
}

// add records an occurrence of an event.
func (r *Recorder) add(time uint64, record Record, region, event uint32, attributes []Value) error {
	if time < r.last {
		return &OrderError{time, r.last}
	}
	if !r.any {
		r.any, r.start, r.levels[0].start = true, time, time
	}
	if record.blockEnd() {
		if err := r.match(time, record, region); err != nil {
			return err
		}
	}
	r.last = time
	if record.blockStart() {
		r.push(time, record, region)
	}
	if err := r.store(time, record, event, attributes); err != nil {
		return err
	}
	if t := r.w; t.flushed > max(checkpointBytes, 4*t.grammar) {
		return r.Checkpoint()
	}
	return nil
}

// match makes the level in hand one that a record can close.
func (r *Recorder) match(time uint64, record Record, region uint32) error {
	fits := func(l *level) bool { return closes(l.open, record) && l.region == region }
	at := r.depth - 1
	for at > 0 && !fits(&r.levels[at]) {
		at--
	}
	if at == 0 {
		// Nobody entered it.
		opened, payload := Record(Enter), []byte(nil)
		switch record {
		case Leave:
			payload = binary.LittleEndian.AppendUint32(nil, region)
		case OMPJoin:
			opened, payload = OMPFork, make([]byte, 4)
		case ThreadJoin:
			opened, payload = ThreadFork, make([]byte, 4)
		case ThreadTeamEnd:
			opened = ThreadTeamBegin
		case ThreadEnd:
			opened = ThreadBegin
		}
		r.w.Added++
		return r.add(time, opened, region, r.event(opened, payload), nil)
	}
	for r.depth-1 > at {
		if err := r.closeTop(time); err != nil {
			return err
		}
	}
	return nil
}

// closes tells whether a record ends what another began.
func closes(open, end Record) bool {
	switch end {
	case Leave:
		return open == Enter
	case OMPJoin:
		return open == OMPFork
	case ThreadJoin:
		return open == ThreadFork
	case ThreadTeamEnd:
		return open == ThreadTeamBegin
	case ThreadEnd:
		return open == ThreadBegin
	}
	return false
}

// closeTop ends what is open innermost with an event that was not recorded.
func (r *Recorder) closeTop(time uint64) error {
	l := &r.levels[r.depth-1]
	record, payload := Record(Leave), []byte(nil)
	switch l.open {
	case Enter:
		payload = binary.LittleEndian.AppendUint32(nil, l.region)
	case OMPFork:
		record = OMPJoin
	case ThreadFork:
		record = ThreadJoin
	case ThreadTeamBegin:
		record = ThreadTeamEnd
	case ThreadBegin:
		record = ThreadEnd
	}
	r.w.Added++
	r.last = max(r.last, time)
	return r.store(r.last, record, r.event(record, payload), nil)
}

// push begins a level.
func (r *Recorder) push(time uint64, record Record, region uint32) {
	if r.depth == len(r.levels) {
		r.levels = append(r.levels, level{})
	}
	l := &r.levels[r.depth]
	l.tokens, l.tail, l.loops = l.tokens[:0], l.tail[:0], l.loops[:0]
	l.start, l.blocks, l.open, l.region = time, 0, record, region
	r.depth++
}

// store appends an event to the level in hand, and closes that if the event does.
func (r *Recorder) store(time uint64, record Record, event uint32, attributes []Value) error {
	e := r.events[event]
	if len(attributes) > 0 {
		var err error
		if e.attributes, err = appendList(e.attributes, e.times.size, attributes); err != nil {
			return err
		}
	}
	if err := r.w.times(&e.times, time); err != nil {
		return err
	}
	if err := r.append(item{token: MakeToken(EventToken, event), start: time, end: time}); err != nil {
		return err
	}
	if !record.blockEnd() {
		return nil
	}
	l := &r.levels[r.depth-1]
	tokens := r.freeze(l)
	s, err := r.sequence(tokens, r.kind(tokens))
	if err != nil {
		return err
	}
	x := r.sequences[s]
	duration := time - l.start
	it := item{token: MakeToken(SequenceToken, s), start: l.start, end: time, blocks: duration}
	exclusive := duration - l.blocks
	if x.kind != BlockSequence {
		exclusive, it.blocks = l.blocks, l.blocks
	}
	if err := r.w.occur(x, l.start, duration, exclusive); err != nil {
		return err
	}
	r.depth--
	return r.append(it)
}

// kind is that of a sequence: a block begins with an enter.
func (r *Recorder) kind(tokens []Token) SequenceType {
	if len(tokens) > 0 && tokens[0].Type() == EventToken && r.events[tokens[0].ID()].record == Enter {
		return BlockSequence
	}
	return LoopSequence
}

// append appends an item to the level in hand and looks for repetitions.
func (r *Recorder) append(it item) error {
	l := &r.levels[r.depth-1]
	l.blocks += it.blocks
	l.tail = append(l.tail, it)
	for {
		found, err := r.extend(l)
		if !found && err == nil {
			found, err = r.loop(l)
		}
		if err != nil {
			return err
		}
		if !found {
			break
		}
	}
	if len(l.tail) > 8*r.maxLoop {
		r.shorten(l)
	}
	return nil
}

// shorten moves items that are too old to be repeated out of the tail.
func (r *Recorder) shorten(l *level) {
	n := len(l.tail) - 4*r.maxLoop
	for i := range l.tail[:n] {
		l.tokens = append(l.tokens, r.token(&l.tail[i]))
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

// recentLoops is how many of the last loops of a level may go on.
const recentLoops = 4

// extend adds the last items to a loop right before them, if they are one more
// iteration of it.
func (r *Recorder) extend(l *level) (bool, error) {
	n := len(l.tail)
	for i := len(l.loops) - 1; i >= 0 && i >= len(l.loops)-recentLoops; i-- {
		at := l.loops[i]
		loop := &l.tail[at]
		body := r.sequences[loop.token.ID()]
		items := l.tail[at+1:]
		direct := len(items) == 1 && items[0].token == loop.token && items[0].iterations == 0
		if !direct && (len(items) != len(body.tokens) || !r.says(items, body.tokens)) {
			continue
		}
		if loop.iterations == 1<<32-1 {
			continue
		}
		if !direct {
			if err := r.occurred(loop.token.ID(), items); err != nil {
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

// says tells whether items are what tokens say.
func (r *Recorder) says(items []item, tokens []Token) bool {
	for i := len(items) - 1; i >= 0; i-- {
		it, k := &items[i], tokens[i]
		if it.iterations == 0 {
			if it.token != k {
				return false
			}
			continue
		}
		if k.Type() != LoopToken {
			return false
		}
		if x := &r.loops[k.ID()]; x.Sequence != it.token || x.Iterations != it.iterations {
			return false
		}
	}
	return true
}

// loop makes a loop of the last items, if they come twice in a row.
func (r *Recorder) loop(l *level) (bool, error) {
	t := l.tail
	n := len(t)
	last := &t[n-1]
	for size := 1; size <= r.maxLoop && 2*size <= n; size++ {
		if !t[n-1-size].same(last) {
			continue
		}
		a, b := t[n-2*size:n-size], t[n-size:]
		equal := true
		for i := size - 2; i >= 0 && equal; i-- {
			equal = a[i].same(&b[i])
		}
		if equal {
			return true, r.makeLoop(l, n-2*size, size)
		}
	}
	return false, nil
}

func (r *Recorder) makeLoop(l *level, at, size int) error {
	a, b := l.tail[at:at+size], l.tail[at+size:]
	loop := item{iterations: 2, start: a[0].start, end: b[size-1].end}
	for i := range a {
		loop.blocks += a[i].blocks + b[i].blocks
	}
	if size == 1 && a[0].iterations == 0 && a[0].token.Type() == SequenceToken {
		loop.token = a[0].token
	} else {
		tokens := r.scratch[:0]
		for i := range a {
			tokens = append(tokens, r.token(&a[i]))
		}
		r.scratch = tokens
		s, err := r.sequence(tokens, r.kind(tokens))
		if err != nil {
			return err
		}
		loop.token = MakeToken(SequenceToken, s)
		for _, items := range [][]item{a, b} {
			if err := r.occurred(s, items); err != nil {
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

// occurred notes an occurrence of a sequence that is made of items.
func (r *Recorder) occurred(s uint32, items []item) error {
	blocks := uint64(0)
	for i := range items {
		blocks += items[i].blocks
		if items[i].iterations > 0 {
			r.loops[r.loopOf(&items[i])].Occurrences++
		}
	}
	x := r.sequences[s]
	start, end := items[0].start, items[len(items)-1].end
	if x.kind == BlockSequence {
		blocks = end - start - blocks
	}
	return r.w.occur(x, start, end-start, blocks)
}

// freeze makes tokens of a level's items: they have occurred once as they are.
func (r *Recorder) freeze(l *level) []Token {
	tokens := append(r.scratch[:0], l.tokens...)
	for i := range l.tail {
		tokens = append(tokens, r.token(&l.tail[i]))
	}
	for _, k := range tokens {
		if k.Type() == LoopToken {
			r.loops[k.ID()].Occurrences++
		}
	}
	r.scratch = tokens
	return tokens
}

// token is that of an item.
func (r *Recorder) token(it *item) Token {
	if it.iterations == 0 {
		return it.token
	}
	return MakeToken(LoopToken, r.loopOf(it))
}

// loopOf is the number of an item's loop.
func (r *Recorder) loopOf(it *item) uint32 {
	key := loopKey{it.token.ID(), it.iterations}
	i, ok := r.byLoop[key]
	if !ok {
		i = uint32(len(r.loops))
		r.byLoop[key] = i
		r.loops = append(r.loops, Loop{Sequence: it.token, Iterations: it.iterations})
	}
	return i
}

// sequence is the number of the sequence with these tokens, which are copied.
func (r *Recorder) sequence(tokens []Token, kind SequenceType) (uint32, error) {
	h := uint64(len(tokens))
	for _, k := range tokens {
		h = (h ^ uint64(k)) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	first := r.bySequence[h]
	for s := first; s != 0; s = r.sequences[s].next {
		if slices.Equal(r.sequences[s].tokens, tokens) {
			return s, nil
		}
	}
	s := uint32(len(r.sequences))
	if s >= 1<<30 {
		return 0, fmt.Errorf("found 2³⁰ sequences, expected less")
	}
	r.sequences = append(r.sequences, &recordedSequence{kind: kind, next: first, tokens: r.keep(tokens)})
	r.bySequence[h] = s
	return s, nil
}

// keep copies tokens to a place of their own, many in one piece of memory.
func (r *Recorder) keep(tokens []Token) []Token {
	n := len(tokens)
	if len(r.room) < n {
		r.room = make([]Token, max(n, 4096))
	}
	l := r.room[:n:n]
	r.room = r.room[n:]
	copy(l, tokens)
	return l
}

// Checkpoint writes the grammar as it is now, so that all that has been recorded can be
// read when the program dies; what is open then has no end. It costs as much as the
// grammar is long, and happens by itself now and then: when four times as much has been
// written of times, 16 MB at least.
func (r *Recorder) Checkpoint() error {
	if r.w.finished || !r.any {
		return nil
	}
	var tokens []Token
	for i := range r.levels[:r.depth] {
		l := &r.levels[i]
		tokens = append(tokens, l.tokens...)
		for k := range l.tail {
			tokens = append(tokens, r.token(&l.tail[k]))
		}
	}
	root := r.sequences[0]
	before := *root
	*root = recordedSequence{tokens: tokens, once: true, first: [3]uint64{r.last - r.start, 0, r.start}}
	err := r.w.write()
	*root = before
	return err
}

// checkpointBytes is what is written of times between two checkpoints at least.
const checkpointBytes = 16 << 20

// finish closes what is open, at the last time, and makes the root.
func (r *Recorder) finish() error {
	for r.depth > 1 {
		if err := r.closeTop(r.last); err != nil {
			return err
		}
	}
	if !r.any {
		return nil
	}
	root := r.sequences[0]
	root.tokens = r.keep(r.freeze(&r.levels[0]))
	return r.w.occur(root, r.start, r.last-r.start, 0)
}
