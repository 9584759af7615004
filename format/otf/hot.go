package otf

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"math/bits"
	"sync"
	"unsafe"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// bulk delivers the events of a file that is in the order of time, location by
// location. It reads the usual lines itself, many at a time, and leaves all others
// to [stream.next].
type bulk struct {
	d      *decoder
	f      *fileStream
	sink   format.Sink
	states states
	// withStates: streams have snapshots or statistics, which are wanted.
	withStates bool
	resume     *uint64 // where to begin, with the regions that are open there; nil for the beginning
	lanes      []*lane // all there are
	oldest     int     // the lane to be given to another process next, when there may be no more
	free       []*lane
	text       []byte  // between files: where text is read to
	near       []*lane // by process, the small ones
	far        map[uint64]*lane
	form       timeForm
	base, to   uint64 // of the times that are wanted
	crowded    bool   // there were more processes than lanes
	waiting    int    // lanes that wait for a record behind the wanted times
	processes  [1 << processBits]processText
	visits     [1 << visitBits]visitText
	peers      [1 << peerBits]peerText
	tails      [1 << peerBits]tailText
	counter    uint64 // the latest one, and what it is
	metric     uint32
	any        bool
	first      uint64 // time of the first row
	last       uint64 // time of the last row
	strange    bool   // a row was before it, or is of a process that is not the stream's
}

func newBulk(d *decoder, sink format.Sink) *bulk {
	return &bulk{d: d, sink: sink, form: newTimeForm()}
}

// begin makes it ready for a file. What it holds is used again.
func (x *bulk) begin(f *fileStream) {
	if x.f != nil {
		x.wait(false)
		x.free = append(x.free, x.lanes...)
		x.lanes, x.oldest, x.far = x.lanes[:0], 0, nil
		clear(x.near)
	}
	x.forget()
	x.f, x.any, x.last, x.crowded, x.metric = f, false, 0, false, trace.NoRef
	if f.s.byLine = true; len(f.s.t.buf) == 0 { // else a search has read something
		f.s.t.buf = x.text
	}
}

// forget empties the tables. No text is 0 but that of 8 such bytes, which is looked
// for in the first place.
func (x *bulk) forget() {
	clear(x.processes[:])
	clear(x.visits[:])
	clear(x.peers[:])
	clear(x.tails[:])
	x.visits[0].text, x.peers[0].text, x.tails[0].text = nothing, nothing, nothing
}

// end keeps what the next file can use.
func (x *bulk) end() { x.text = x.f.s.t.buf[:0] }

// odd tells that a trace needs to be looked through before it is read.
func (x *bulk) odd() bool { return x.d.trying && (x.strange || x.d.odd) }

// lane is where the rows of a process wait for more of them.
type lane struct {
	process uint64
	at      uint16       // among all lanes
	open    *openRegions // of its location, where there are bare leaves
	n       uint         // rows
	waits   bool         // for a record behind the wanted times
	rows    laneRows
	b       trace.Batch // all other columns
}

type laneRows struct {
	time [trace.BatchRows]int64
	ref  [trace.BatchRows]uint32
	kind [trace.BatchRows]trace.Kind
}

// maxLanes bounds the memory: a lane has 53 KB.
const maxLanes = 128

// batch is the lane's batch, with room for one more row.
func (l *lane) batch() *trace.Batch {
	l.b.Time, l.b.Kind, l.b.Ref = l.rows.time[:l.n], l.rows.kind[:l.n], l.rows.ref[:l.n]
	return &l.b
}

// add adds a row that has operands, which the caller appends.
func (l *lane) add(time int64, kind trace.Kind, ref uint32) *trace.Batch {
	i := l.n & (trace.BatchRows - 1)
	l.rows.time[i], l.rows.ref[i], l.rows.kind[i] = time, ref, kind
	l.b.OpRow = append(l.b.OpRow, uint32(i))
	l.n++
	return &l.b
}

// run delivers the whole file.
func (x *bulk) run(ctx context.Context, f *fileStream) error {
	x.begin(f)
	defer x.end()
	to := f.to
	if f.enough > 0 {
		f.to = min(to, f.enough)
	}
	f.to = min(f.to, x.states.time())
	for patience := 1 << 12; ; {
		if x.waiting > 0 && patience > 0 {
			patience--
		} else if f.held {
			// It comes before the lines that hot would take.
		} else if err := x.hot(ctx); err != nil || x.odd() {
			return err
		}
		r, err := x.f.next(ctx)
		if err != nil {
			return err
		}
		if r == nil && x.states.time() < to {
			// They come before the events of their time.
			if err := x.addStates(ctx); err != nil || x.odd() {
				return err
			}
			f.to = min(to, x.states.time())
			continue
		}
		if r == nil && f.held && f.to < to {
			// One record of each process tells that it goes on. Those that have ended have none:
			// after some records all others are read.
			f.to = to
			x.wait(!x.crowded)
			continue
		}
		if r == nil {
			break
		}
		if r.Time < x.last {
			x.strange = true
		}
		if x.last = r.Time; !x.any {
			x.any, x.first = true, r.Time // hot does not read the first one
		}
		l, err := x.lane(r)
		if err != nil {
			return err
		}
		if x.d.row(l.batch(), r); x.d.err != nil {
			return x.d.err
		}
		goesOn := l.waits && l.rows.kind[l.n].IsEvent()
		l.n++
		if l.n == trace.BatchRows {
			err = x.emit(l)
		}
		if err != nil || x.odd() {
			return err
		}
		if goesOn {
			l.waits = false
			if x.waiting--; x.waiting == 0 && patience > 0 {
				break
			}
		}
	}
	for _, l := range x.lanes {
		if err := x.emit(l); err != nil {
			return err
		}
	}
	return nil
}

// wait makes all lanes wait for a record, or none.
func (x *bulk) wait(on bool) {
	for _, l := range x.lanes {
		l.waits = on
	}
	if x.waiting = 0; on {
		x.waiting = len(x.lanes)
	}
}

// lane is where the rows of a record's process wait.
func (x *bulk) lane(r *Record) (*lane, error) {
	if l := x.known(r.Process); l != nil {
		return l, nil
	}
	if x.d.trying {
		home, ok := x.d.r.master.Stream(uint32(r.Process))
		x.strange = x.strange || !ok || home != r.Stream
	}
	var l *lane
	if len(x.lanes) < maxLanes {
		if n := len(x.free) - 1; n >= 0 {
			l, x.free = x.free[n], x.free[:n]
		} else {
			l = &lane{}
		}
		l.at = uint16(len(x.lanes))
		x.lanes = append(x.lanes, l)
	} else {
		l = x.lanes[x.oldest]
		x.oldest = (x.oldest + 1) % maxLanes
		if err := x.emit(l); err != nil {
			return nil, err
		}
		x.set(l.process, nil)
		if clear(x.processes[:]); !x.crowded {
			x.crowded = true
			x.forget()
		}
	}
	l.process = r.Process
	l.b.Reset(x.d.locate(r))
	if x.d.bare {
		l.open = x.d.open(l.b.Loc)
	}
	x.set(r.Process, l)
	return l, nil
}

func (x *bulk) set(process uint64, l *lane) {
	if process >= fewTokens {
		if x.far == nil {
			x.far = map[uint64]*lane{}
		}
		x.far[process] = l
		return
	}
	for uint64(len(x.near)) <= process {
		x.near = append(x.near, nil)
	}
	x.near[process] = l
}

func (x *bulk) known(process uint64) *lane {
	if process < uint64(len(x.near)) {
		return x.near[process]
	}
	return x.far[process]
}

// emit hands on what waits in a lane.
func (x *bulk) emit(l *lane) error {
	if l.n == 0 {
		return nil
	}
	err := x.sink.Batch(l.batch())
	l.b.Reset(l.b.Loc)
	l.n = 0
	return err
}

// messageKind are the kinds of messages by the first byte of their line.
var messageKind = [256]trace.Kind{'S': trace.Send, 'R': trace.Recv}

// A trace has few processes and functions: what a line with one of them says is
// found by its text, which is less than 8 bytes with its end.
type (
	processText struct {
		text uint64
		l    *lane
	}
	// visitText is an enter or leave, or such a line together with the process line
	// before it.
	visitText struct {
		text uint64
		ref  uint32
		kind trace.Kind
		lane uint16 // with a process line: where it is among all
	}
	// peerText is what stands in a message from the process to the L, tailText what
	// stands from the T to the end.
	peerText struct{ text, location uint64 }
	tailText struct{ text, tag, communicator uint64 }
)

const (
	processBits = 8
	visitBits   = 14
	peerBits    = 8
	spread      = 0x9e3779b97f4a7c15 // makes the first bits depend on all bytes
	nothing     = 1                  // a text that is never looked for in the first place of a table
)

// ends has the last bit of each byte set.
const ends = 0x0101010101010101

// lineEnds marks the line ends among 8 bytes, the first of which is the lowest,
// by the highest bit of their byte. The byte behind one may be marked wrongly if
// it is a vertical tab.
func lineEnds(w uint64) uint64 {
	w ^= '\n' * ends
	return (w - ends) &^ w & (0x80 * ends)
}

// lineLength is how many bytes stand before the first mark of lineEnds, 8 if there
// is none.
func lineLength(marks uint64) int { return bits.TrailingZeros64(marks) >> 3 }

// upTo are the bytes of w up to the first mark of lineEnds.
func upTo(w, marks uint64) uint64 { return w & (marks ^ (marks - 1)) }

// hexWord reads 8 bytes, the first of which is the lowest, as digits, all at once.
// bad is 0 if they all are.
func hexWord(w uint64) (v, bad uint64) {
	v = w&(0x0f*ends) + w>>6&ends*9
	letter := (v + 6*ends) >> 4 & ends
	bad = (v + '0'*ends + letter*('a'-'0'-10)) ^ w | v&(0xf0*ends)
	// Neighbours move together: a multiplication shifts and adds.
	v = v * (1 + 1<<12) >> 8 & 0x00ff00ff00ff00ff
	v = v * (1 + 1<<24) >> 16 & 0x0000ffff0000ffff
	return v * (1 + 1<<48) >> 32, bad
}

// short makes 8 digits of the first n bytes of w, 1 to 8, by zeros before them.
func short(w uint64, n int) uint64 { return w<<(64-8*uint(n)) | '0'*ends>>(8*uint(n)) }

// word is the 8 bytes that begin at i. There is slack behind every text.
func word(text unsafe.Pointer, i int) uint64 {
	return binary.LittleEndian.Uint64((*[8]byte)(unsafe.Add(text, i))[:])
}

func char(text unsafe.Pointer, i int) byte { return *(*byte)(unsafe.Add(text, i)) }

// pairs is what two digits are, by their text, with valid set; 0 if they are none.
type pairs [1 << 16]uint16

const valid = 0x100

// digitPairs makes them when they are first needed.
var digitPairs = sync.OnceValue(func() *pairs {
	const digits = "0123456789abcdef"
	p := new(pairs)
	for i, high := range digits {
		for k, low := range digits {
			p[uint16(high)|uint16(low)<<8] = uint16(valid | i<<4 | k)
		}
	}
	return p
})

// at reads the two digits at i.
func (p *pairs) at(text unsafe.Pointer, i int) uint64 {
	return uint64(p[binary.LittleEndian.Uint16((*[2]byte)(unsafe.Add(text, i))[:])])
}

// lastDigits are the digits of a time that are read each time. The ones before them
// are compared with those of the time before.
const lastDigits = 6

// timeForm is what the latest time line looked like.
type timeForm struct {
	n     int    // digits
	high  uint64 // value of all digits but the last ones, less what valid makes of those
	text  uint64 // their bytes
	mask  uint64 // which has all bits set where they are
	pairs *pairs
}

func newTimeForm() timeForm { return timeForm{mask: math.MaxUint64, pairs: digitPairs()} }

// read reads the time line at pos, which begins with the bytes of w, and returns
// its length, 0 if it is not one that hot can read.
func (f *timeForm) read(text unsafe.Pointer, pos int, w uint64) (v uint64, n int) {
	n = f.n
	at := pos + n
	if char(text, at) != '\n' || w&f.mask != f.text {
		return f.learn(text, pos)
	}
	a, b, c := f.pairs.at(text, at-6), f.pairs.at(text, at-4), f.pairs.at(text, at-2)
	if a&b&c&valid == 0 {
		return 0, 0
	}
	return f.high + a<<16 + b<<8 + c, n
}

// learn does so for a line that is not like the one before.
//
//go:noinline
func (f *timeForm) learn(text unsafe.Pointer, pos int) (v uint64, n int) {
	v, end := number(text, pos)
	if n = end - pos; char(text, end) != '\n' || v > math.MaxInt64/4 {
		return 0, 0
	}
	f.n, f.high, f.text, f.mask = 0, 0, 0, math.MaxUint64 // like no line
	if high := n - lastDigits; high >= 0 && high <= 8 {
		const last = 1<<(4*lastDigits) - 1
		f.n, f.high, f.mask = n, v&^last-valid*0x10101, 1<<(8*high)-1
		f.text = word(text, pos) & f.mask
	}
	return v, n
}

// hot takes the lines that are in memory, up to the first that is not one of the
// usual ones, spelled as libotf does: time, process, enter, leave, send, receive,
// counter. It does nothing that next would not do.
func (x *bulk) hot(ctx context.Context) error {
	s, t := x.f.s, x.f.s.t
	l := x.known(s.process)
	if !s.begun || s.skip || x.d.clock.scale > 1 || len(s.rec.KeyValues) > 0 || s.time < x.last || l == nil {
		return nil
	}
	n := bytes.LastIndexByte(t.buf[t.from:], '\n') + 1
	if n == 0 {
		return nil
	}
	clear(t.buf[len(t.buf) : len(t.buf)+slack]) // no line ends there
	x.base, x.to = x.d.clock.base, x.f.to
	end := t.from + n
	for full := true; full; {
		t.from, l, s.time = x.lines(unsafe.Pointer(unsafe.SliceData(t.buf)), t.from, end, l, s.time)
		if full = l.n == trace.BatchRows; full {
			if err := x.emit(l); err != nil {
				return err
			}
		}
	}
	x.last, s.process, s.gave = s.time, l.process, true
	if x.d.err != nil {
		return x.d.err
	}
	if t.from == end {
		return ctx.Err()
	}
	return nil
}

// lines takes the lines from pos to end, with the state that is given, and returns
// how far it came and the state there. It stops when a lane is full and before a
// line that it cannot read.
//
//go:noinline
func (x *bulk) lines(text unsafe.Pointer, pos, end int, l *lane, time uint64) (int, *lane, uint64) {
	for pos < end {
		w := word(text, pos)
		if w&0x20 != 0 && byte(w) != '*' { // no capital letter: mostly a digit
			v, n := x.form.read(text, pos, w)
			if n == 0 || v < time || v >= x.to {
				break
			}
			time = v
			pos += n + 1
			w = word(text, pos)
		}
		marks := lineEnds(w)
		if byte(w) == '*' {
			second := marks & (marks - 1)
			if second != 0 { // the record's line is among the 8 bytes too: mostly a visit
				both := upTo(w, second)
				known := &x.visits[both*spread>>(64-visitBits)]
				if known.text == both {
					l = x.lanes[known.lane]
					if l.visit(int64(time-x.base), known); x.d.bare {
						l.nest()
					}
					if pos += (bits.TrailingZeros64(second) + 1) >> 3; l.n == trace.BatchRows {
						break
					}
					continue
				}
			}
			star := upTo(w, marks)
			known := &x.processes[star*spread>>(64-processBits)]
			if known.text != star && !x.learnProcess(known, w, marks) {
				break
			}
			if second != 0 {
				x.learnBoth(w, marks, known.l)
			}
			l = known.l
			pos += lineLength(marks) + 1
			w = word(text, pos)
			marks = lineEnds(w)
		}
		next := 0 // where the line behind the record is
		if w&(visitBit|0x20) == visitBit {
			line := upTo(w, marks)
			known := &x.visits[line*spread>>(64-visitBits)]
			if known.text == line || x.learnVisit(known, w, marks) {
				if l.visit(int64(time-x.base), known); x.d.bare {
					l.nest()
				}
				next = pos + lineLength(marks) + 1
			}
		} else {
			next = x.other(l, text, pos, time)
		}
		if next == 0 {
			break
		}
		if pos = next; l.n == trace.BatchRows {
			break
		}
	}
	return pos, l, time
}

// visit adds the row of an enter or leave.
func (l *lane) visit(time int64, v *visitText) {
	i := l.n & (trace.BatchRows - 1)
	l.rows.time[i], l.rows.ref[i], l.rows.kind[i] = time, v.ref, v.kind
	l.n++
}

// nest finds, for the last row, which region a bare leave leaves, and keeps what is open.
func (l *lane) nest() {
	i := (l.n - 1) & (trace.BatchRows - 1)
	if ref := l.rows.ref[i]; l.rows.kind[i] == trace.Enter {
		l.open.enter(ref)
	} else {
		l.rows.ref[i] = l.open.leave(ref)
	}
}

// visitBit is set in the first byte of enter and leave, but not in that of any other
// record that hot reads.
const visitBit = 'E' & 'L' &^ ('S' | 'R' | 'C')

// visit reads the enter or leave of n bytes that w begins with.
func visit(w uint64, n int) (kind trace.Kind, function uint64, ok bool) {
	switch byte(w) {
	case 'E':
		kind = trace.Enter
	case 'L':
		kind = trace.Leave
	default:
		return 0, 0, false
	}
	if n < 2 || n > 7 {
		return 0, 0, false
	}
	v, bad := hexWord(short(w>>8, n-1))
	return kind, v, bad == 0
}

// learnVisit notes what the line in w says.
//
//go:noinline
func (x *bulk) learnVisit(to *visitText, w, marks uint64) bool {
	kind, v, ok := visit(w, lineLength(marks))
	if !ok {
		return false
	}
	ref, ok := x.visited(kind, v)
	if ok {
		*to = visitText{text: upTo(w, marks), ref: ref, kind: kind}
	}
	return ok
}

// visited is the region of an enter or leave, NoRef for a leave that does not say it; ok is false if
// nobody expects such a leave.
func (x *bulk) visited(kind trace.Kind, function uint64) (ref uint32, ok bool) {
	if kind == trace.Leave && function == 0 {
		return trace.NoRef, x.d.bare
	}
	return x.d.region(x.f.s.shown, function), true
}

// learnBoth notes what the two lines in w say, if the second one is an enter or
// leave.
//
//go:noinline
func (x *bulk) learnBoth(w, marks uint64, l *lane) {
	second, n := marks&(marks-1), lineLength(marks)
	if kind, v, ok := visit(w>>(8*n+8), lineLength(second)-n-1); ok && !x.crowded {
		if ref, ok := x.visited(kind, v); ok {
			text := upTo(w, second)
			x.visits[text*spread>>(64-visitBits)] = visitText{text, ref, kind, l.at}
		}
	}
}

// learnProcess notes which process the line in w names.
//
//go:noinline
func (x *bulk) learnProcess(to *processText, w, marks uint64) bool {
	n := lineLength(marks)
	if n < 2 || n == 8 {
		return false
	}
	v, bad := hexWord(short(w>>8, n-1))
	l := x.known(v)
	if bad != 0 || l == nil {
		return false
	}
	*to = processText{upTo(w, marks), l}
	return true
}

// other takes the record at pos, if it is a usual one, and returns where the next
// line is, else 0.
func (x *bulk) other(l *lane, text unsafe.Pointer, pos int, time uint64) (next int) {
	switch t := int64(time - x.base); char(text, pos) {
	case 'S', 'R':
		return x.message(l, text, pos, t)
	case 'C':
		return x.sample(l, text, pos, t)
	case 'K':
		if x.d.restorer != nil {
			return x.amended(l, text, pos, t)
		}
	}
	if hexValue[char(text, pos)] < 16 {
		return pos // there need not be a record for each time
	}
	return 0
}

// noDigits marks the bytes of w that are no digits, as lineEnds does. Of all that
// stands in a record's line, only digits have the bit that it looks at.
func noDigits(w uint64) uint64 { return ^w << 2 & (0x80 * ends) }

// number reads the number that begins at i and returns where it ends; i if there
// is none or it has more than 16 digits.
func number(text unsafe.Pointer, i int) (v uint64, end int) {
	// Of all that stands in a record's line, only digits have this bit.
	const digit = 0x20
	w := word(text, i)
	if w>>8&digit == 0 { // the end is there: many numbers are small
		if c := hexValue[byte(w)]; c < 16 {
			return uint64(c), i + 1
		}
		return 0, i
	}
	n := bits.TrailingZeros64(^w&(digit*ends)) >> 3
	if n == 0 {
		return 0, i
	}
	if n < 8 {
		v, bad := hexWord(w<<(-8*n&63) | '0'*ends>>(8*n&63))
		if bad != 0 {
			n = 0
		}
		return v, i + n
	}
	v, bad := hexWord(w)
	i += 8
	w = word(text, i)
	if n = bits.TrailingZeros64(^w&(digit*ends)) >> 3; n > 0 {
		low, worse := hexWord(short(w, n))
		v, bad = v<<(4*uint(n))|low, bad|worse
	}
	if bad != 0 {
		return 0, i - 8
	}
	return v, i + n
}

// message adds the row of the message at pos and returns where the next line is; 0
// if it is spelled in another way.
func (x *bulk) message(l *lane, text unsafe.Pointer, pos int, time int64) (next int) {
	kind := messageKind[char(text, pos)]
	// Where most end is known at once; to go on there need not wait for the rest.
	guess := pos + 8 + lineLength(lineEnds(word(text, pos+8)))
	w := word(text, pos+1)
	marks := noDigits(w)
	key := upTo(w, marks)
	peer := &x.peers[key*spread>>(64-peerBits)]
	location, i := peer.location, pos+1+lineLength(marks)
	if peer.text != key {
		v, end := number(text, pos+1)
		if char(text, end) != 'L' || end == pos+1 {
			return 0
		}
		location, i = uint64(x.d.location(v&unset)), end
		if marks != 0 {
			*peer = peerText{key, location}
		}
	}
	length, k := number(text, i+1)
	w = word(text, k)
	marks = lineEnds(w)
	key = upTo(w, marks)
	tail := &x.tails[key*spread>>(64-peerBits)]
	tag, communicator, n := tail.tag, tail.communicator, k+lineLength(marks)
	if tail.text != key {
		if char(text, k) != 'T' {
			return 0
		}
		var m int
		tag, m = number(text, k+1)
		if char(text, m) != 'C' {
			return 0
		}
		communicator, n = number(text, m+1)
		if char(text, n) != '\n' || m == k+1 || n == m+1 {
			return 0
		}
		tag &= unset
		if communicator &= unset; communicator == 0 {
			communicator = trace.Undefined
		} else {
			communicator = uint64(x.d.communicator(x.f.s.shown, communicator))
		}
		if marks != 0 {
			*tail = tailText{key, tag, communicator}
		}
	}
	if k == i+1 {
		return 0
	}
	b := l.add(time, kind, trace.NoRef)
	b.Op = append(b.Op, location, communicator, tag, length&unset)
	b.OpEnd = append(b.OpEnd, uint32(len(b.Op)))
	if n == guess {
		return guess + 1
	}
	return n + 1
}

// carriedPair is how the pair begins that says what a record does not.
const carriedPair = 'K' | '1'<<8 | 'Y'<<16 | 'b'<<24 | 'V'<<32

// amended adds the row of a NoOp or message at pos, behind a pair with what the record does not
// say, and returns where the next line is; 0 if it is spelled in another way.
func (x *bulk) amended(l *lane, text unsafe.Pointer, pos int, time int64) (next int) {
	if word(text, pos)&(1<<40-1) != carriedPair {
		return 0
	}
	var data [32]byte
	i, n := pos+5, 0
	for ; n < len(data); n++ {
		v := x.form.pairs.at(text, i)
		if v&valid == 0 {
			break
		}
		data[n] = byte(v)
		i += 2
	}
	if char(text, i) != 'L' {
		return 0
	}
	length, i := number(text, i+1)
	if length != uint64(n) || char(text, i) != '\n' {
		return 0
	}
	switch i++; char(text, i) {
	case 'N':
		if char(text, i+1) != '\n' {
			return 0
		}
		k := l.n & (trace.BatchRows - 1)
		l.rows.time[k], l.rows.ref[k], l.rows.kind[k] = time, trace.NoRef, trace.NoOp
		l.n++
		next = i + 2
	case 'S', 'R':
		if next = x.message(l, text, i, time); next == 0 {
			return 0
		}
	default:
		return 0
	}
	b := l.batch()
	if x.d.restorer.Amend(b, data[:n]) != nil {
		b.DropLast() // the thorough way says what is wrong
		l.n--
		return 0
	}
	return next
}

// sample does the same for the value of a counter.
func (x *bulk) sample(l *lane, text unsafe.Pointer, pos int, time int64) (next int) {
	counter, i := number(text, pos+3)
	if char(text, pos+1) != 'N' || char(text, pos+2) != 'T' || char(text, i) != 'V' {
		return 0
	}
	value, n := number(text, i+1)
	if char(text, n) != '\n' || i == pos+3 || n == i+1 {
		return 0
	}
	if counter &= unset; counter != x.counter || x.metric == trace.NoRef {
		x.counter, x.metric = counter, x.d.metric(x.f.s.shown, counter)
	}
	b := l.add(time, trace.Metric, x.metric)
	b.Op = append(b.Op, value)
	b.OpEnd = append(b.OpEnd, uint32(len(b.Op)))
	return n + 1
}
