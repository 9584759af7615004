package otf

import (
	"bytes"
	"context"
	"encoding/binary"
	"math/bits"
	"unsafe"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// bulk delivers the events of a file that is in the order of time, location by
// location. It reads the usual lines itself, many at a time, and leaves all others
// to [stream.next].
type bulk struct {
	d         *decoder
	f         *fileStream
	sink      format.Sink
	lanes     []*lane // all there are
	oldest    int     // the lane to be given to another process next, when there may be no more
	free      []*lane
	text      []byte  // between files: where text is read to
	near      []*lane // by process, the small ones
	far       map[uint64]*lane
	form      timeForm
	base, to  uint64 // of the times that are wanted
	processes [1 << processBits]processLineText
	visits    [1 << visitBits]visitText
	counter   uint64 // the latest one, and what it is
	metric    uint32
	any       bool
	first     uint64 // time of the first row
	last      uint64 // time of the last row
	strange   bool   // a row was before it, or is of a process that is not the stream's
}

func newBulk(d *decoder, sink format.Sink) *bulk {
	return &bulk{d: d, sink: sink, metric: trace.NoRef}
}

// begin makes it ready for a file. What it holds is used again.
func (x *bulk) begin(f *fileStream) {
	if x.f != nil {
		x.free = append(x.free, x.lanes...)
		x.lanes, x.oldest, x.far = x.lanes[:0], 0, nil
		clear(x.near)
		clear(x.processes[:])
		if len(x.d.local) > 0 {
			clear(x.visits[:])
			x.metric = trace.NoRef
		}
	}
	x.f, x.any, x.last, x.form = f, false, 0, timeForm{}
	f.s.t.buf, f.s.byLine = x.text, true
}

// end keeps what the next file can use.
func (x *bulk) end() { x.text = x.f.s.t.buf[:0] }

// odd tells that a trace needs to be looked through before it is read.
func (x *bulk) odd() bool { return x.d.trying && (x.strange || x.d.odd) }

// lane is where the rows of a process wait for more of them.
type lane struct {
	process uint64
	n       uint // rows
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
	for {
		if err := x.hot(ctx); err != nil || x.odd() {
			return err
		}
		r, err := x.f.next(ctx)
		if err != nil {
			return err
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
		l.n++
		if l.n == trace.BatchRows {
			err = x.emit(l)
		}
		if err != nil || x.odd() {
			return err
		}
	}
	for _, l := range x.lanes {
		if err := x.emit(l); err != nil {
			return err
		}
	}
	return nil
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
		x.lanes = append(x.lanes, l)
	} else {
		l = x.lanes[x.oldest]
		x.oldest = (x.oldest + 1) % maxLanes
		if err := x.emit(l); err != nil {
			return nil, err
		}
		x.set(l.process, nil)
		clear(x.processes[:])
	}
	l.process = r.Process
	l.b.Reset(x.d.locate(r))
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
// found by its text.
type (
	processLineText struct {
		text lineText
		l    *lane
	}
	visitText struct {
		text lineText
		ref  uint32
		kind trace.Kind
	}
)

// lineText is a line of less than 8 bytes with its end, turned so that no line is
// 0: there are no two line ends in one.
type lineText uint64

func turn(text uint64) lineText { return lineText(text ^ ('\n' | '\n'<<8)) }

const (
	processBits = 8
	visitBits   = 14
	spread      = 0x9e3779b97f4a7c15 // makes the first bits depend on all bytes
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

// timeForm is what the latest time line looked like.
type timeForm struct {
	n     int    // digits; 0 when that is to be learnt
	skip  int    // digits before the last 8
	high  uint64 // value of those, in its place
	text  uint64 // their bytes
	mask  uint64 // which has all bits set where they are
	shift uint   // makes room for zeros when there are less than 8 digits
	zeros uint64 // those
}

// learn looks at the time line at pos anew, and reports whether it is one that hot
// can read.
func (f *timeForm) learn(text unsafe.Pointer, pos int) bool {
	w := word(text, pos)
	n := lineLength(lineEnds(w))
	if n == 8 {
		n += lineLength(lineEnds(word(text, pos+8)))
	}
	*f = timeForm{}
	switch {
	case n > 15:
		return false
	case n > 8:
		v, bad := hexWord(short(w, n-8))
		if bad != 0 {
			return false
		}
		f.skip, f.high, f.mask = n-8, v<<32, 1<<(8*(n-8))-1
		f.text = w & f.mask
	case n < 8:
		f.shift, f.zeros = uint(8*(8-n)), '0'*ends>>(8*n)
	}
	f.n = n
	return true
}

// read reads the time line at pos, which begins with the bytes of w, and returns
// its length, 0 if it is not one that hot can read.
func (f *timeForm) read(text unsafe.Pointer, pos int, w uint64) (v uint64, n int) {
	if char(text, pos+f.n) != '\n' || w&f.mask != f.text {
		if !f.learn(text, pos) {
			return 0, 0
		}
	}
	v, bad := hexWord(word(text, pos+f.skip)<<(f.shift&63) | f.zeros)
	n = f.n
	if bad != 0 {
		f.n, n = 0, 0
	}
	return v | f.high, n
}

// hot takes the lines that are in memory, up to the first that is not one of the
// usual ones, spelled as libotf does: time, process, enter, leave, send, receive,
// counter. It does nothing that next would not do.
func (x *bulk) hot(ctx context.Context) error {
	s, t := x.f.s, x.f.s.t
	l := x.known(s.process)
	if !s.begun || s.skip || x.d.bare || x.d.clock.scale > 1 || len(s.rec.KeyValues) > 0 || s.time < x.last || l == nil {
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
		var line uint64 // of the record
		var next int    // where the line behind it is
		marks := lineEnds(w)
		if byte(w) == '*' {
			if marks == 0 {
				break
			}
			star := upTo(w, marks)
			known := &x.processes[star*spread>>(64-processBits)]
			if known.text != turn(star) && !x.learnProcess(known, w, marks) {
				break
			}
			l = known.l
			width := bits.TrailingZeros64(marks) + 1
			pos += width >> 3
			// Mostly the record's line is among the 8 bytes too.
			if more := marks & (marks - 1); more != 0 {
				line = upTo(w, more) >> (width & 63)
				next = pos + (bits.TrailingZeros64(more)+1-width)>>3
			} else {
				w = word(text, pos)
				marks = lineEnds(w)
				line, next = upTo(w, marks), pos+lineLength(marks)+1
			}
		} else {
			line, next = upTo(w, marks), pos+lineLength(marks)+1
		}
		known := &x.visits[line*spread>>(64-visitBits)]
		if known.text == turn(line) {
			i := l.n & (trace.BatchRows - 1)
			l.rows.time[i], l.rows.ref[i], l.rows.kind[i] = int64(time-x.base), known.ref, known.kind
			l.n++
		} else if next = x.other(l, text, pos, known, time); next == 0 {
			break
		}
		if pos = next; l.n == trace.BatchRows {
			break
		}
	}
	return pos, l, time
}

// learnProcess notes which process the line in w names.
func (x *bulk) learnProcess(to *processLineText, w, marks uint64) bool {
	n := lineLength(marks)
	if n < 2 || n == 8 {
		return false
	}
	v, bad := hexWord(short(w>>8, n-1))
	l := x.known(v)
	if bad != 0 || l == nil {
		return false
	}
	*to = processLineText{turn(upTo(w, marks)), l}
	return true
}

// other takes the record at pos, if it is a usual one, and returns where the next
// line is, else 0. A visit is learnt, but its row is not added: next is pos then.
func (x *bulk) other(l *lane, text unsafe.Pointer, pos int, to *visitText, time uint64) (next int) {
	kind := trace.Enter
	switch t := int64(time - x.base); char(text, pos) {
	case 'S', 'R':
		return x.message(l, text, pos, t)
	case 'C':
		return x.sample(l, text, pos, t)
	case 'E':
	case 'L':
		kind = trace.Leave
	default:
		if hexValue[char(text, pos)] < 16 {
			return pos // there need not be a record for each time
		}
		return 0
	}
	w := word(text, pos)
	marks := lineEnds(w)
	n := lineLength(marks)
	if n < 2 || n == 8 {
		return 0
	}
	v, bad := hexWord(short(w>>8, n-1))
	if bad != 0 {
		return 0
	}
	*to = visitText{turn(upTo(w, marks)), x.d.region(x.f.s.shown, v), kind}
	return pos
}

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
	peer, i := number(text, pos+1)
	if char(text, i) != 'L' {
		return 0
	}
	length, k := number(text, i+1)
	if char(text, k) != 'T' {
		return 0
	}
	tag, m := number(text, k+1)
	if char(text, m) != 'C' {
		return 0
	}
	comm, n := number(text, m+1)
	if char(text, n) != '\n' || i == pos+1 || k == i+1 || m == k+1 || n == m+1 {
		return 0
	}
	c := uint64(trace.Undefined)
	if comm &= unset; comm != 0 {
		c = uint64(x.d.communicator(x.f.s.shown, comm))
	}
	b := l.add(time, kind, trace.NoRef)
	b.Op = append(b.Op, uint64(x.d.location(peer&unset)), c, tag&unset, length&unset)
	b.OpEnd = append(b.OpEnd, uint32(len(b.Op)))
	return n + 1
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
