package pallas

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/internal/archive"
)

// TokenType says what a token names.
type TokenType uint8

// The types of tokens.
const (
	InvalidToken TokenType = iota
	EventToken
	SequenceToken
	LoopToken
)

// Token names an event, a sequence or a loop of a thread by its id: the id is what
// stands before a thread's id map, not a place in its lists.
type Token uint32

// NoToken names nothing.
const NoToken Token = 0xfffffffc

// MakeToken makes a token of a type and an id of less than 2³⁰.
func MakeToken(t TokenType, id uint32) Token { return Token(id<<2 | uint32(t)) }

// Type is what the token names.
func (t Token) Type() TokenType { return TokenType(t & 3) }

// ID is the id of what it names.
func (t Token) ID() uint32 { return uint32(t >> 2) }

// String is the token as Pallas writes it: E1, S2, L3.
func (t Token) String() string {
	if t.Type() == InvalidToken {
		return "invalid"
	}
	return fmt.Sprintf("%c%d", "?ESL"[t.Type()], t.ID())
}

// Event is a record with all its occurrences in a thread (in Pallas: EventSummary).
type Event struct {
	Record  Record
	Payload []byte // belongs to the thread
	// Timestamps has the time of each occurrence.
	Timestamps Vector

	attributes []byte
}

// HasAttributes tells whether any occurrence has.
func (e *Event) HasAttributes() bool { return len(e.attributes) > 0 }

// SequenceType says how a sequence came to be.
type SequenceType uint32

// A block is what stands between an enter and its leave, with them. All other
// sequences are of the other type: repetitions, and what stands between other records
// that begin and end something. A thread's root is a block.
const (
	BlockSequence SequenceType = iota
	LoopSequence
)

// Sequence is a list of tokens with all its occurrences in a thread.
type Sequence struct {
	Type   SequenceType
	Tokens []Token
	// Durations are the times from the first to the last event.
	Durations Vector
	// Exclusive are, of a block, the durations without those of the blocks in it; of
	// other sequences the durations of the blocks in it. In traces of ABI 16 all sequences
	// are blocks, also those that are repeated, and count as such.
	Exclusive Vector
	// Timestamps are the times of the first event.
	Timestamps Vector
}

// Loop repeats a sequence. All loops of a thread with the same sequence and number of
// iterations are one; Occurrences says how many there are, 0 before ABI 19. Where a
// loop was given up, Sequence is NoToken.
type Loop struct {
	Sequence    Token
	Iterations  uint32
	Occurrences uint64
}

// Thread is what happened at a location. Its methods may be called by several
// goroutines at once.
type Thread struct {
	ID      uint32
	Archive *Archive
	// Root is the sequence that the thread begins with.
	Root Token
	// Start is the time of the first event in nanoseconds, 2⁶⁴−1 in a thread without.
	Start     uint64
	Events    []Event
	Sequences []Sequence
	Loops     []Loop

	fileID, fileArchive uint32 // which its file says

	inOrder bool // ids of events and sequences are places

	lists tokenLists // of the sequences
	// script takes their place in a lean thread, if its grammar and the vectors agree.
	script *script
	// sizes are those of the sequences' vectors, in order, if the thread is lean and has
	// no sequences otherwise. Those with one value in each are left out, which may be
	// millions.
	lean  bool
	sizes []vectorSizes

	eventMap, sequenceMap, loopMap []uint32
	path                           string // of the thread's folder
	size                           int64  // of its file
	name                           string
	times, durations               *dataFile
	starts                         map[*Vector][]uint64 // of vectors with several blocks, for Value: the numbers of their first values
}

// vectorSizes are how many times, durations and exclusive durations the sequence at a
// place has.
type vectorSizes struct {
	place                       int
	times, durations, exclusive uint64
}

// tokenLists are the tokens of all sequences, one list behind the other: there may be
// millions.
type tokenLists struct {
	tokens []Token
	from   []uint32 // of each list, and of one more
}

// len is how many lists there are.
func (l *tokenLists) len() int { return len(l.from) - 1 }

// at is list number i; it belongs to all.
func (l *tokenLists) at(i int) []Token {
	from, to := l.from[i], l.from[i+1]
	return l.tokens[from:to:to]
}

// room is for one more list of n tokens.
func (l *tokenLists) room(n int) []Token {
	from := len(l.tokens)
	l.tokens = slices.Grow(l.tokens, n)[:from+n]
	l.from = append(l.from, uint32(from+n))
	return l.tokens[from:]
}

// place is where an id is in a list of n entries: the map has 2³²−1 for ids that the
// thread does not have.
func place(m []uint32, id uint32, n int) (int, bool) {
	if int(id) >= len(m) || m[id] >= uint32(n) {
		return 0, false
	}
	return int(m[id]), true
}

// Event is the event that a token names, nil if there is none.
func (t *Thread) Event(k Token) *Event {
	if i, ok := place(t.eventMap, k.ID(), len(t.Events)); ok && k.Type() == EventToken {
		return &t.Events[i]
	}
	return nil
}

// Sequence is the sequence that a token names, nil if there is none.
func (t *Thread) Sequence(k Token) *Sequence {
	if i, ok := place(t.sequenceMap, k.ID(), len(t.Sequences)); ok && k.Type() == SequenceToken {
		return &t.Sequences[i]
	}
	return nil
}

// Loop is the loop that a token names, nil if there is none.
func (t *Thread) Loop(k Token) *Loop {
	if i, ok := place(t.loopMap, k.ID(), len(t.Loops)); ok && k.Type() == LoopToken {
		return &t.Loops[i]
	}
	return nil
}

// ids lists the tokens of a type by place: the first id that the map has for each.
func ids(m []uint32, t TokenType, n int) []Token {
	l := make([]Token, n)
	for i := range l {
		l[i] = NoToken
	}
	for id, i := range m {
		if i < uint32(n) && l[i] == NoToken {
			l[i] = MakeToken(t, uint32(id))
		}
	}
	return l
}

// EventTokens are the tokens of the events, in the order of Events.
func (t *Thread) EventTokens() []Token { return ids(t.eventMap, EventToken, len(t.Events)) }

// SequenceTokens are the tokens of the sequences, in the order of Sequences.
func (t *Thread) SequenceTokens() []Token { return ids(t.sequenceMap, SequenceToken, len(t.Sequences)) }

// LoopTokens are the tokens of the loops, in the order of Loops; NoToken for those
// that were given up.
func (t *Thread) LoopTokens() []Token { return ids(t.loopMap, LoopToken, len(t.Loops)) }

// Name is that of the thread's location, "" if it has none.
func (t *Thread) Name() string { return t.name }

// Count is the number of events that occurred.
func (t *Thread) Count() (n uint64) {
	for i := range t.Events {
		n += t.Events[i].Timestamps.Size
	}
	return n
}

// Duration is the time from the first event to the last in nanoseconds.
func (t *Thread) Duration() uint64 {
	if s := t.Sequence(t.Root); s != nil {
		return s.Durations.Max
	}
	return 0
}

// minEvent, minSequence and loopSize are the bytes that they have in the file at
// least.
const (
	minEvent    = 4 + 1 + 8 + 8
	minSequence = 4 + 8
)

// parseThread reads a thread.pallas (docs/formats/pallas.md, "thread.pallas"). What is
// read before something wrong is kept. Blocks of sequences may be most of the file; a replay of
// the events needs none.
func parseThread(s *source, abi uint8, wanted threadPart) (*Thread, *FileError) {
	if abi != 17 {
		return s.thread(layout{abi, abi >= 18, wanted}), s.wrong()
	}
	wanted = min(wanted, leanThread) // which of the two it is shows at the end of the file
	// Some of the writers of ABI 17 were ahead of their time.
	again := *s
	t := s.thread(layout{17, false, wanted})
	if s.err == nil {
		return t, s.wrong()
	}
	if u := again.thread(layout{17, true, wanted}); again.err == nil {
		return u, nil
	}
	return t, s.err
}

func (s *source) thread(l layout) *Thread {
	t := &Thread{fileID: s.u32(), fileArchive: s.u32()} // which the folders say too
	var blocks []Block
	ne, ns, nl := s.count("events", minEvent), s.count("sequences", minSequence), s.count("loops", 8)
	t.Root = MakeToken(SequenceToken, 0)
	if l.abi >= 20 {
		t.Root = MakeToken(SequenceToken, s.u32())
	}
	t.Start = s.u64()
	// What the file has room for; nearly all have one block at least in each vector.
	left := s.left()
	t.Events = make([]Event, 0, min(ne, left/(minEvent+32)+1))
	most := min(ns, left/(minSequence+64)+1)
	if t.lean = l.wanted >= leanThread; !t.lean {
		t.Sequences = make([]Sequence, 0, most)
	}
	room := left/32 + 1 // blocks are most of the file, where it is long
	if l.wanted != wholeThread {
		room = min(room, ne+1024)
	}
	blocks = make([]Block, 0, room)
	for range ne {
		e := s.event(l, &blocks)
		if s.err != nil {
			break
		}
		t.Events = append(t.Events, e)
	}
	give := func(v *Vector) { v.Blocks = blocks[v.from : v.from+v.n : v.from+v.n] }
	if l.wanted == threadEvents && s.err == nil {
		for i := range t.Events {
			give(&t.Events[i].Timestamps)
		}
		return t
	}
	t.eventMap = s.idMap(l, len(t.Events))
	t.lists.from = append(make([]uint32, 0, most+1), 0)
	// What the sequences have besides vectors of a value each.
	t.lists.tokens = make([]Token, 0, max(s.left()-ns*(minSequence+onceVectors), s.left()/8)/4)
	for i := range ns {
		if t.lean && l.counted && s.once(&t.lists) {
			continue
		}
		x := s.sequence(l, &t.lists, &blocks)
		if s.err != nil {
			t.lists.from = t.lists.from[:i+1]
			break
		}
		if !t.lean {
			t.Sequences = append(t.Sequences, x)
			continue
		}
		if v := (vectorSizes{i, x.Timestamps.Size, x.Durations.Size, x.Exclusive.Size}); v != (vectorSizes{i, 1, 1, 1}) {
			t.sizes = append(t.sizes, v)
		}
	}
	t.sequenceMap = s.idMap(l, t.lists.len())
	for range nl {
		x := Loop{Sequence: Token(s.u32()), Iterations: s.u32()}
		if l.abi >= 19 {
			x.Occurrences = s.u64()
		}
		if s.err != nil {
			break
		}
		t.Loops = append(t.Loops, x)
	}
	t.loopMap = s.idMap(l, len(t.Loops))
	t.inOrder = isIdentity(t.eventMap, len(t.Events)) && isIdentity(t.sequenceMap, t.lists.len())
	t.forget()
	if s.err == nil && s.left() > 0 {
		s.bad(s.at, "the end of the file", "%d bytes more", s.left())
	}
	for i := range t.Events {
		give(&t.Events[i].Timestamps)
	}
	for i := range t.Sequences {
		x := &t.Sequences[i]
		x.Tokens = t.lists.at(i)
		give(&x.Durations)
		give(&x.Exclusive)
		give(&x.Timestamps)
	}
	if t.lean {
		t.script = confirm(t)
	}
	return t
}

// forget takes tokens of placeholders out of the sequences.
func (t *Thread) forget() {
	placeholder := func(k Token) bool {
		e := t.Event(k)
		return e != nil && e.Record == maxRecord
	}
	if !slices.ContainsFunc(t.Events, func(e Event) bool { return e.Record == maxRecord }) {
		return
	}
	kept := tokenLists{t.lists.tokens[:0], []uint32{0}}
	for i := range t.lists.len() {
		list := slices.DeleteFunc(t.lists.at(i), placeholder)
		copy(kept.room(len(list)), list)
	}
	t.lists = kept
}

func (s *source) event(l layout, blocks *[]Block) (e Event) {
	e.Record = Record(s.u32())
	if l.abi <= 18 && e.Record == Invalid {
		e.Record = BufferFlush
	}
	at := s.at
	n := s.u8()
	if n < 5 && s.err == nil {
		s.bad(at, "5 or more", "an event of %d bytes", n)
	}
	e.Payload = slices.Clone(s.take(int(n) - 5))
	e.attributes = slices.Clone(s.take(s.count("bytes of attributes", 1)))
	e.Timestamps = s.vector(l, true, false, blocks)
	e.Timestamps.event = true
	return e
}

// onceVectors are the bytes of the vectors of a sequence that occurs once: of one value
// each.
const onceVectors = 80 + 80 + 48

// once reads a sequence that occurs once, for a lean thread, as most do where there are
// many; false, and nothing has been read, if it is another one.
func (s *source) once(lists *tokenLists) bool {
	const (
		head = 12
		most = 1 << 10
	)
	b := s.peek(head)
	if b == nil {
		return false
	}
	n := binary.LittleEndian.Uint64(b[4:])
	if n == 0 || n > most || len(lists.tokens) > math.MaxUint32-most || binary.LittleEndian.Uint32(b) > uint32(LoopSequence) {
		return false
	}
	size := head + 4*int(n)
	if b = s.peek(size + onceVectors); b == nil {
		return false
	}
	v := (*[onceVectors]byte)(b[size:])
	u64 := binary.LittleEndian.Uint64
	// Sizes, numbers of blocks, and values in them.
	if u64(v[0:]) != 1 || u64(v[8:]) != 1 || u64(v[40:]) != 1 || u64(v[80:]) != 1 || u64(v[88:]) != 1 ||
		u64(v[120:]) != 1 || u64(v[160:]) != 1 || u64(v[168:]) != 1 || u64(v[176:]) != 1 {
		return false
	}
	s.at += len(b)
	getTokens(lists.room(int(n)), b[head:])
	return true
}

// getTokens reads a list of tokens.
func getTokens(to []Token, b []byte) {
	b = b[:4*len(to)]
	for i := range to {
		to[i] = Token(binary.LittleEndian.Uint32(b[4*i:]))
	}
}

// sequence reads one; its tokens go to the lists.
func (s *source) sequence(l layout, lists *tokenLists, blocks *[]Block) (x Sequence) {
	at := s.at
	x.Type = SequenceType(s.u32())
	if x.Type > LoopSequence && s.err == nil {
		s.bad(at, "0 or 1", "a sequence of type %d", x.Type)
	}
	n := s.count("tokens", 4)
	if int64(len(lists.tokens))+int64(n) > math.MaxUint32 {
		s.bad(at, "less than 2³² in a thread", "%d tokens", int64(len(lists.tokens))+int64(n))
		n = 0
	}
	b := s.take(4 * n)
	if n = len(b) / 4; n == 0 {
		lists.room(0)
		return x
	}
	getTokens(lists.room(n), b)
	x.Durations = s.vector(l, false, true, blocks)
	x.Exclusive = s.vector(l, false, true, blocks)
	x.Timestamps = s.vector(l, false, false, blocks)
	return x
}

// isIdentity tells whether a map of ids is the places of a list of n.
func isIdentity(m []uint32, n int) bool {
	for i, at := range m {
		if at != uint32(i) {
			return false
		}
	}
	return len(m) == n
}

// idMap reads the map of ids behind a list of n, which is as the list is before ABI
// 20.
func (s *source) idMap(l layout, n int) []uint32 {
	var m []uint32
	if l.abi < 20 || s.err != nil {
		m = make([]uint32, n)
		for i := range m {
			m[i] = uint32(i)
		}
		return m
	}
	b := s.take(4 * s.count("ids", 4))
	m = make([]uint32, len(b)/4)
	for i := range m {
		m[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return m
}

// dataFile is a file of blocks, opened when the first one is read.
type dataFile struct {
	src        format.Source
	name, path string

	all *openFiles

	mu   sync.Mutex
	f    format.DataFile
	size int64
	err  error
}

// with calls use with the file and its size, which is opened if it is not.
func (d *dataFile) with(use func(f format.DataFile, size int64) error) error {
	opened, err := d.lockedWith(use)
	if opened {
		d.all.add(d)
	}
	return err
}

func (d *dataFile) lockedWith(use func(f format.DataFile, size int64) error) (opened bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.f == nil && d.err == nil {
		if d.f, d.size, d.err = d.src.OpenName(d.name); d.err != nil {
			d.err = &missing{Path: d.path, Err: d.err}
		}
		opened = d.err == nil
	}
	if d.err != nil {
		return false, d.err
	}
	return opened, use(d.f, d.size)
}

// maxOpen is how many files of blocks a trace has open at most, besides those that are being
// read.
const maxOpen = 32

// openFiles are those of a trace, the oldest first, which are closed when there are too
// many.
type openFiles struct {
	mu   sync.Mutex
	most int // 0 until the first is opened
	list []*dataFile
}

func (o *openFiles) add(d *dataFile) {
	o.mu.Lock()
	if o.most == 0 {
		o.most = archive.MostOpen(maxOpen)
	}
	o.list = append(o.list, d)
	var old *dataFile
	if len(o.list) > o.most {
		old, o.list = o.list[0], o.list[1:]
	}
	o.mu.Unlock()
	if old != nil {
		old.close() // not while one is locked
	}
}

// close frees the file; it is opened again when it is needed.
func (d *dataFile) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.f != nil {
		d.f.Close()
		d.f = nil
	}
}

// Close frees the thread's files. It can be used again.
func (t *Thread) Close() {
	t.times.close()
	t.durations.close()
}
