package pallas

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"
	"unsafe"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/internal/archive"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// TokenType is the type of the entry to which a token refers.
type TokenType uint8

// These are the types of the entries of a grammar.
const (
	InvalidToken TokenType = iota
	EventToken
	SequenceToken
	LoopToken
)

// Token refers to an event, a sequence or a loop of a thread, by type and id. The id maps of the thread
// translate an id to an index of the thread's lists.
type Token uint32

// NoToken is the token that refers to nothing.
const NoToken Token = 0xfffffffc

// MakeToken returns the token of a type and an id, which must be less than 2³⁰.
func MakeToken(t TokenType, id uint32) Token { return Token(id<<2 | uint32(t)) }

// Type returns the type of the entry to which the token refers.
func (t Token) Type() TokenType { return TokenType(t & 3) }

// ID returns the id of the entry to which the token refers.
func (t Token) ID() uint32 { return uint32(t >> 2) }

// String returns the token in the notation of Pallas: E1, S2, L3.
func (t Token) String() string {
	if t.Type() == InvalidToken {
		return "invalid"
	}
	return fmt.Sprintf("%c%d", "?ESL"[t.Type()], t.ID())
}

// Event is a record with all of its occurrences in a thread (in Pallas: EventSummary).
type Event struct {
	Record  Record
	Payload []byte // shares the memory of the thread
	// Timestamps holds the time of each occurrence.
	Timestamps Vector

	attributes []byte
	at         int64 // position in the thread's file
}

// HasAttributes reports whether any occurrence of the event has attributes.
func (e *Event) HasAttributes() bool { return len(e.attributes) > 0 }

// SequenceType is the type of a sequence.
type SequenceType uint32

// A BlockSequence consists of an enter, its leave, and everything between them. All other sequences are of
// type LoopSequence: repeated tokens, and the tokens between other records that begin and end an operation.
// The root of a thread is a BlockSequence.
const (
	BlockSequence SequenceType = iota
	LoopSequence
)

// Sequence is a list of tokens with all of its occurrences in a thread.
type Sequence struct {
	Type   SequenceType
	Tokens []Token
	// Durations holds the time from the first to the last event of each occurrence.
	Durations Vector
	// For a block, Exclusive holds the durations without the durations of the blocks inside it. For other
	// sequences, Exclusive holds the durations of the blocks inside them. In traces of ABI 16, all sequences
	// are blocks, including sequences that are repeated.
	Exclusive Vector
	// Timestamps holds the time of the first event of each occurrence.
	Timestamps Vector

	at int64 // position in the thread's file
}

// Loop repeats a sequence. Loops of a thread with the same sequence and the same number of iterations are
// stored once. Occurrences is the number of times that the loop occurs; it is 0 in files before ABI 19, which
// do not state this number. Sequence is NoToken if the writer discarded the loop.
type Loop struct {
	Sequence    Token
	Iterations  uint32
	Occurrences uint64
}

// Thread holds the events of a location. Several goroutines may call its methods at the same time.
type Thread struct {
	ID      uint32
	Archive *Archive
	// Root is the token of the sequence that contains the whole thread.
	Root Token
	// Start is the time of the first event in nanoseconds, or 2⁶⁴−1 if the thread has no events.
	Start     uint64
	Events    []Event
	Sequences []Sequence
	Loops     []Loop

	fileID, fileArchive uint32 // the ids that the thread's file states

	inOrder bool // the ids of events and sequences equal their indexes

	lists tokenLists // the tokens of the sequences
	// script takes the place of lists in a lean thread if the grammar and the sizes of the vectors
	// agree.
	script *script
	// noSequences is set for a lean thread, which has no Sequences. sizes holds the sizes of the vectors of its
	// sequences, in the order of the sequences. Sequences whose vectors have one value each are left out,
	// because a thread may have millions of them.
	noSequences bool
	sizes       []vectorSizes

	eventMap, sequenceMap, loopMap []uint32
	mapsAt                         [3]int64 // positions of these maps in the thread's file
	loopsAt                        int64    // position of the loops there
	path                           string   // path of the thread's file
	size                           int64    // size of that file in bytes
	whole                          bool     // the file has no defect
	name                           string
	times, durations               *dataFile
	// starts is used by Value. It holds the index of the first value of each block, for vectors with several
	// blocks.
	starts map[*Vector][]uint64
}

// vectorSizes holds the numbers of times, durations and exclusive durations of a sequence, given its
// index.
type vectorSizes struct {
	place                       int
	times, durations, exclusive uint64
}

// tokenLists holds the tokens of all sequences in one slice, because there may be millions of
// sequences.
type tokenLists struct {
	tokens []Token
	from   []uint32 // the start of each list, and the end of the last one
}

// len returns the number of lists.
func (l *tokenLists) len() int { return len(l.from) - 1 }

// at returns list i. The list shares memory with l.
func (l *tokenLists) at(i int) []Token {
	from, to := l.from[i], l.from[i+1]
	return l.tokens[from:to:to]
}

// appendList appends a list of n tokens and returns it. The caller fills it.
func (l *tokenLists) appendList(n int) []Token {
	from := len(l.tokens)
	l.tokens = slices.Grow(l.tokens, n)[:from+n]
	l.from = append(l.from, uint32(from+n))
	return l.tokens[from:]
}

// indexOf returns the index of an id in a list of n entries. ok is false if the id is undefined. m is an id
// map, which has 2³²−1 for ids that the thread does not use.
func indexOf(m []uint32, id uint32, n int) (int, bool) {
	if int(id) >= len(m) || m[id] >= uint32(n) {
		return 0, false
	}
	return int(m[id]), true
}

// Event returns the event to which a token refers, or nil if there is none.
func (t *Thread) Event(k Token) *Event {
	if i, ok := indexOf(t.eventMap, k.ID(), len(t.Events)); ok && k.Type() == EventToken {
		return &t.Events[i]
	}
	return nil
}

// Sequence returns the sequence to which a token refers, or nil if there is none.
func (t *Thread) Sequence(k Token) *Sequence {
	if i, ok := indexOf(t.sequenceMap, k.ID(), len(t.Sequences)); ok && k.Type() == SequenceToken {
		return &t.Sequences[i]
	}
	return nil
}

// Loop returns the loop to which a token refers, or nil if there is none.
func (t *Thread) Loop(k Token) *Loop {
	if i, ok := indexOf(t.loopMap, k.ID(), len(t.Loops)); ok && k.Type() == LoopToken {
		return &t.Loops[i]
	}
	return nil
}

// tokensByIndex returns a token of type t for each of the n entries of a list. m maps ids to indexes of
// the list. If several ids have the same index, the lowest id counts. The token for an index without an
// id is NoToken.
func tokensByIndex(m []uint32, t TokenType, n int) []Token {
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

// EventTokens returns the tokens of the events, in the order of Events.
func (t *Thread) EventTokens() []Token { return tokensByIndex(t.eventMap, EventToken, len(t.Events)) }

// SequenceTokens returns the tokens of the sequences, in the order of Sequences.
func (t *Thread) SequenceTokens() []Token {
	return tokensByIndex(t.sequenceMap, SequenceToken, len(t.Sequences))
}

// LoopTokens returns the tokens of the loops, in the order of Loops. The token of a discarded loop is
// NoToken.
func (t *Thread) LoopTokens() []Token { return tokensByIndex(t.loopMap, LoopToken, len(t.Loops)) }

// Name returns the name of the thread's location, or "" if it has none.
func (t *Thread) Name() string { return t.name }

// Count returns the number of occurrences of all events.
func (t *Thread) Count() (n uint64) {
	for i := range t.Events {
		n += t.Events[i].Timestamps.Size
	}
	return n
}

// Duration returns the time from the first to the last event, in nanoseconds.
func (t *Thread) Duration() uint64 {
	if s := t.Sequence(t.Root); s != nil {
		return s.Durations.Max
	}
	return 0
}

// minEvent and minSequence are the smallest sizes of an event and a sequence in a file, in bytes.
const (
	minEvent    = 4 + 1 + 8 + 8
	minSequence = 4 + 8
)

// parseThread reads a thread.pallas (docs/formats/pallas.md, "thread.pallas"). After a defect, it returns the
// part that it has read. wanted states how much to load. Replaying the events does not need the blocks of
// sequences, which may take most of the file.
func parseThread(s *source, abi uint8, wanted threadPart) (*Thread, *FileError) {
	if abi != 17 {
		return s.thread(layout{abi, abi >= 18, wanted}), s.defect()
	}
	wanted = min(wanted, leanThread) // the end of the file determines which of two layouts the file has
	// Some writers of ABI 17 already used the layout of ABI 18.
	again := *s
	t := s.thread(layout{17, false, wanted})
	if s.err == nil {
		return t, s.defect()
	}
	if u := again.thread(layout{17, true, wanted}); again.err == nil {
		return u, nil
	}
	return t, s.err
}

func (s *source) thread(l layout) *Thread {
	t := &Thread{fileID: s.u32(), fileArchive: s.u32()} // the names of the folders also contain both numbers
	var blocks []Block
	ne, ns, nl := s.count("events", minEvent), s.count("sequences", minSequence), s.count("loops", 8)
	t.Root = MakeToken(SequenceToken, 0)
	if l.abi >= 20 {
		t.Root = MakeToken(SequenceToken, s.u32())
	}
	t.Start = s.u64()
	// Allocate no more than the file can hold. Nearly all vectors have at least one block.
	left := s.left()
	t.Events = make([]Event, 0, min(ne, left/(minEvent+32)+1))
	most := min(ns, left/(minSequence+64)+1)
	if t.noSequences = l.wanted >= leanThread; !t.noSequences {
		t.Sequences = make([]Sequence, 0, most)
	}
	room := left/32 + 1 // in a long file, most bytes are blocks
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
	t.mapsAt[0] = int64(s.at)
	t.eventMap = s.idMap(l, len(t.Events))
	t.lists.from = append(make([]uint32, 0, most+1), 0)
	// The size of the rest of the file limits the number of tokens. Each sequence also has vectors there, of
	// one value if the sequence occurs once.
	t.lists.tokens = make([]Token, 0, max(s.left()-ns*(minSequence+singleVectors), s.left()/8)/4)
	for i := range ns {
		if t.noSequences && l.counted && s.readSingleSequence(&t.lists) {
			continue
		}
		x := s.sequence(l, &t.lists, &blocks)
		if s.err != nil {
			t.lists.from = t.lists.from[:i+1]
			break
		}
		if !t.noSequences {
			t.Sequences = append(t.Sequences, x)
			continue
		}
		t.sizes = appendSizes(t.sizes, i, &x)
	}
	t.mapsAt[1] = int64(s.at)
	t.sequenceMap = s.idMap(l, t.lists.len())
	t.loopsAt = int64(s.at)
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
	t.mapsAt[2] = int64(s.at)
	t.loopMap = s.idMap(l, len(t.Loops))
	t.inOrder = isIdentity(t.eventMap, len(t.Events)) && isIdentity(t.sequenceMap, t.lists.len())
	t.dropPlaceholders()
	if s.err == nil && s.left() > 0 {
		s.fail(s.at, "the end of the file", "%s more", plural.Of(s.left(), "byte"))
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
	if t.noSequences {
		t.script = newLeanScript(t)
	}
	return t
}

// eventPosition returns the position of an event in the thread's file.
func (t *Thread) eventPosition(i int) trace.Position {
	return trace.Position{File: t.path, Offset: t.Events[i].at, Binary: true}
}

// sequencePosition returns the position of a sequence in the thread's file. A lean thread does not hold it, so
// the file is read again. If the position cannot be found, the result names only the file.
func (t *Thread) sequencePosition(i int) trace.Position {
	if t.noSequences {
		whole, _ := t.Archive.loadThread(t.ID, wholeThread) // if the file is damaged, a part is loaded
		if whole == nil {
			return trace.Position{File: t.path}
		}
		t = whole
	}
	if i < 0 || i >= len(t.Sequences) {
		return trace.Position{File: t.path}
	}
	return trace.Position{File: t.path, Offset: t.Sequences[i].at, Binary: true}
}

// withoutSequences returns a lean thread: the thread without its sequences. Both share their events.
func (t *Thread) withoutSequences() *Thread {
	lean := *t
	lean.noSequences, lean.Sequences, lean.starts = true, nil, nil
	lean.lists = tokenLists{slices.Clone(t.lists.tokens), slices.Clone(t.lists.from)}
	for i := range t.Sequences {
		lean.sizes = appendSizes(lean.sizes, i, &t.Sequences[i])
	}
	lean.script = newLeanScript(&lean)
	return &lean
}

// appendSizes appends the sizes of the vectors of the sequence with index at, unless all have one
// value.
func appendSizes(l []vectorSizes, at int, x *Sequence) []vectorSizes {
	v := vectorSizes{at, x.Timestamps.Size, x.Durations.Size, x.Exclusive.Size}
	if v == (vectorSizes{at, 1, 1, 1}) {
		return l
	}
	return append(l, v)
}

// dropPlaceholders removes the tokens of placeholders from the sequences. A placeholder is an event
// whose record is maxRecord.
func (t *Thread) dropPlaceholders() {
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
		copy(kept.appendList(len(list)), list)
	}
	t.lists = kept
}

func (s *source) event(l layout, blocks *[]Block) (e Event) {
	e.at = int64(s.at)
	e.Record = Record(s.u32())
	if l.abi <= 18 && e.Record == Invalid {
		e.Record = BufferFlush
	}
	at := s.at
	n := s.u8()
	if n < 5 && s.err == nil {
		s.fail(at, "5 or more", "an event of %s", plural.Of(n, "byte"))
	}
	e.Payload = slices.Clone(s.take(int(n) - 5))
	e.attributes = slices.Clone(s.take(s.count("bytes of attributes", 1)))
	e.Timestamps = s.vector(l, true, false, blocks)
	e.Timestamps.event = true
	return e
}

// singleVectors is the size in bytes of the three vectors of a sequence that occurs once. Each has one
// value.
const singleVectors = 80 + 80 + 48

// readSingleSequence reads a sequence that occurs once, for a lean thread. If there are many sequences, most
// of them occur once. If the next sequence occurs several times, readSingleSequence reads nothing and returns
// false.
func (s *source) readSingleSequence(lists *tokenLists) bool {
	const (
		head = 12
		most = 1 << 10
	)
	b := s.peek(head)
	if b == nil {
		return false
	}
	n := binary.LittleEndian.Uint64(b[4:])
	if n == 0 || n > most || len(lists.tokens) > math.MaxUint32-most ||
		binary.LittleEndian.Uint32(b) > uint32(LoopSequence) {
		return false
	}
	size := head + 4*int(n)
	if b = s.peek(size + singleVectors); b == nil {
		return false
	}
	v := (*[singleVectors]byte)(b[size:])
	u64 := binary.LittleEndian.Uint64
	// These are the sizes, the numbers of blocks, and the numbers of values in the blocks.
	if u64(v[0:]) != 1 || u64(v[8:]) != 1 || u64(v[40:]) != 1 || u64(v[80:]) != 1 || u64(v[88:]) != 1 ||
		u64(v[120:]) != 1 || u64(v[160:]) != 1 || u64(v[168:]) != 1 || u64(v[176:]) != 1 {
		return false
	}
	s.at += len(b)
	decodeTokens(lists.appendList(int(n)), b[head:])
	return true
}

// decodeTokens decodes the tokens in b until the slice to is full.
func decodeTokens(to []Token, b []byte) {
	b = b[:4*len(to)]
	for i := range to {
		to[i] = Token(binary.LittleEndian.Uint32(b[4*i:]))
	}
}

// sequence reads a sequence, and appends its tokens to lists.
func (s *source) sequence(l layout, lists *tokenLists, blocks *[]Block) (x Sequence) {
	at := s.at
	x.at = int64(at)
	x.Type = SequenceType(s.u32())
	if x.Type > LoopSequence && s.err == nil {
		s.fail(at, "0 or 1", "a sequence of type %d", x.Type)
	}
	n := s.count("tokens", 4)
	if int64(len(lists.tokens))+int64(n) > math.MaxUint32 {
		s.fail(at, "less than 2³² in a thread", "%s", plural.Of(int64(len(lists.tokens))+int64(n), "token"))
		n = 0
	}
	b := s.take(4 * n)
	if n = len(b) / 4; n == 0 {
		lists.appendList(0)
		return x
	}
	decodeTokens(lists.appendList(n), b)
	x.Durations = s.vector(l, false, true, blocks)
	x.Exclusive = s.vector(l, false, true, blocks)
	x.Timestamps = s.vector(l, false, false, blocks)
	return x
}

// isIdentity reports whether m maps each of n ids to itself.
func isIdentity(m []uint32, n int) bool {
	for i, at := range m {
		if at != uint32(i) {
			return false
		}
	}
	return len(m) == n
}

// idMap reads the id map for a list of n entries. Files before ABI 20 have no such map, because ids are
// indexes.
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

// dataFile is a file of blocks. It is opened to read its first block. The manager of all traces closes it if too
// many files are open.
type dataFile struct {
	src        format.Source
	name, path string

	valueBytes uint64    // size of the values of all blocks in memory
	measure    sync.Once // sets expands
	expands    string    // the size that is expected, if valueBytes is too large for the file

	handle archive.Handle
	size   int64 // set when the file is opened
	err    error // the error of the first attempt to open the file
}

func newDataFile(src format.Source, name, path string) *dataFile {
	d := &dataFile{src: src, name: name, path: path}
	d.handle = archive.NewHandle(archive.Shared(), d.open)
	return d
}

// open opens the file. The manager calls it in one goroutine at a time.
func (d *dataFile) open() (io.Closer, error) {
	if d.err != nil {
		return nil, d.err
	}
	f, size, err := d.src.OpenName(d.name)
	if err != nil {
		d.err = &missingFile{Path: d.path, Err: err}
		return nil, d.err
	}
	d.size = size
	return f, nil
}

// withFile calls use with the open file and its size. use must not call withFile.
func (d *dataFile) withFile(use func(f format.DataFile, size int64) error) error {
	return d.handle.With(func(f io.Closer) error { return use(f.(format.DataFile), d.size) })
}

// memory returns the approximate memory of a lean thread, in bytes.
func (t *Thread) memory() (n int) {
	ids := len(t.eventMap) + len(t.sequenceMap) + len(t.loopMap)
	n = int(unsafe.Sizeof(*t)) + 4*(cap(t.lists.tokens)+cap(t.lists.from)+ids) +
		cap(t.sizes)*int(unsafe.Sizeof(vectorSizes{})) +
		cap(t.Loops)*int(unsafe.Sizeof(Loop{}))
	if s := t.script; s != nil {
		n += 4*(cap(s.lists.tokens)+cap(s.lists.from)+cap(s.events)) + cap(s.sequences)*int(unsafe.Sizeof(scriptSequence{})) +
			cap(s.loops)*int(unsafe.Sizeof(scriptLoop{})) + 8*cap(s.order)
	}
	for i := range t.Events {
		e := &t.Events[i]
		n += int(unsafe.Sizeof(*e)) + len(e.Payload) + len(e.attributes) +
			len(e.Timestamps.Blocks)*int(unsafe.Sizeof(Block{}))
	}
	return n
}

// Close closes the files of the thread. The thread can still be used afterwards.
func (t *Thread) Close() {
	t.times.handle.Close()
	t.durations.handle.Close()
}
