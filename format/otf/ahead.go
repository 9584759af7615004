package otf

import (
	"bytes"
	"math/bits"
	"unsafe"
)

// ahead holds the records of usual lines that a stream has read ahead.
type ahead struct {
	list   []aheadRecord
	at     int // the next one
	filled int // at, when rec was made of the record in hand
	form   timeForm
	*aheadShared
}

// aheadShared is what the streams share that one goroutine reads at once: what lines mean, and how
// much memory each may have.
type aheadShared struct {
	processes [1 << processBits]aheadProcess
	functions [1 << functionBits]aheadFunction
	rows      int // records that are read ahead
	chunk     int // bytes that are read at once
}

// shareAhead makes what n streams share. Few get the memory that makes them fast; of many, each gets
// little, so that 4000 take 16 KiB each.
func shareAhead(n int) *aheadShared {
	x := &aheadShared{rows: aheadRows, chunk: chunk}
	if n > 64 {
		x.rows, x.chunk = aheadRows/4, max(8<<10, min(chunk, 32<<20/n))
	}
	return x
}

// aheadRecord is an event with its line in the stream's buffer, without the end.
type aheadRecord struct {
	time     uint64
	process  uint32
	function uint32 // of enter and leave
	from, to int32
	// start is where its time line begins, if that and a process line stand before
	// the event, else -1.
	start  int32
	typ    Type
	paired bool // the line of a pair stands before the event's, from which from is
}

// visit tells whether it is an enter or a leave, and nothing more.
func (x *aheadRecord) visit() bool { return (1<<Enter|1<<Leave)>>x.typ&1 != 0 && !x.paired }

// aheadProcess is a process line that has been read.
type aheadProcess struct {
	text    uint64
	process uint32
}

// aheadFunction is a line of enter or leave that has been read.
type aheadFunction struct {
	text     uint64
	function uint32
}

const (
	aheadRows    = 256
	functionBits = 13
)

// usualType are the types of usual records by the first byte of their line.
var usualType = [256]Type{'E': Enter, 'L': Leave, 'S': SendMsg, 'R': RecvMsg, 'C': Counter, 'N': NoOp}

// look reads usual lines ahead, as [bulk.lines] does, and reports whether there
// are any.
//
//go:noinline
func (s *stream) look() bool {
	a, t := &s.ahead, s.t
	a.list, a.at, a.filled = a.list[:0], 0, 0
	if !s.begun || s.skip || s.part != Events || s.end || len(s.rec.KeyValues) > 0 {
		return false
	}
	size := bytes.LastIndexByte(t.buf[t.from:], '\n') + 1
	if size == 0 || size > 1<<30 {
		return false
	}
	if a.list == nil {
		if a.aheadShared == nil {
			a.aheadShared = shareAhead(1)
		}
		a.list = make([]aheadRecord, 0, a.rows)
		a.form = newTimeForm()
	}
	clear(t.buf[len(t.buf) : len(t.buf)+slack]) // no line ends there
	text := unsafe.Pointer(unsafe.SliceData(t.buf))
	pos, end := t.from, t.from+size
	list, n, done := a.list[:a.rows], 0, pos
	time, process := s.time, uint32(s.process)
	for pos < end && n < len(list) {
		w := word(text, pos)
		start := int32(-1)
		if w&0x20 != 0 && byte(w) != '*' { // no capital letter: mostly a digit
			start = int32(pos)
			v, n := a.form.read(text, pos, w)
			if n == 0 {
				break
			}
			time = v
			pos += n + 1
			w = word(text, pos)
		}
		marks := lineEnds(w)
		if byte(w) == '*' {
			if marks == 0 {
				break
			}
			star := upTo(w, marks)
			known := &a.processes[star*spread>>(64-processBits)]
			if known.text != star && !s.learnProcess(known, w, marks) {
				break
			}
			process = known.process
			pos += (bits.TrailingZeros64(marks) + 1) >> 3
			w = word(text, pos)
			marks = lineEnds(w)
		} else {
			start = -1
		}
		x := &list[n]
		x.from, x.paired = int32(pos), false
		if byte(w) == 'K' {
			end := pairEnd(text, pos)
			if end == 0 {
				break
			}
			x.paired = true
			pos = end + 1
			w = word(text, pos)
			marks = lineEnds(w)
		}
		x.time, x.process, x.to, x.start, x.typ = time, process, 0, start, usualType[byte(w)]
		// Whether it is an enter or a leave nobody can foresee, so that is not asked.
		if w&(visitBit|0x20) == visitBit && byte(w) != 'N' {
			line := upTo(w, marks)
			n := lineLength(marks)
			known := &a.functions[line*spread>>(64-functionBits)]
			if known.text != line {
				_, v, ok := visit(w, n)
				if !ok {
					break
				}
				*known = aheadFunction{line, uint32(v)}
			}
			x.function, x.to = known.function, int32(pos+n)
		} else if byte(w) == 'C' {
			x.to = int32(sampleEnd(text, pos))
		} else if byte(w) == 'N' {
			if char(text, pos+1) == '\n' {
				x.to = int32(pos + 1)
			}
		} else if x.typ != 0 {
			x.to = int32(messageEnd(text, pos))
		}
		if x.to <= x.from {
			break
		}
		n++
		pos = int(x.to) + 1
		done = pos
	}
	a.list, t.from = list[:n], done
	return n > 0
}

// learnProcess notes which process the line in w names, if it is wanted.
func (s *stream) learnProcess(to *aheadProcess, w, marks uint64) bool {
	n := lineLength(marks)
	if n < 2 || n == 8 {
		return false
	}
	v, bad := hexWord(short(w>>8, n-1))
	if bad != 0 || !s.wanted(v) {
		return false
	}
	*to = aheadProcess{upTo(w, marks), uint32(v)}
	return true
}

// messageEnd returns where the line of the message at pos ends, 0 if it is spelled
// in another way than usual.
func messageEnd(text unsafe.Pointer, pos int) int {
	_, i := number(text, pos+1)
	if char(text, i) != 'L' || i == pos+1 {
		return 0
	}
	_, k := number(text, i+1)
	if char(text, k) != 'T' || k == i+1 {
		return 0
	}
	_, m := number(text, k+1)
	if char(text, m) != 'C' || m == k+1 {
		return 0
	}
	_, n := number(text, m+1)
	if n == m+1 {
		return 0
	}
	if char(text, n) == 'X' {
		from := n + 1
		if _, n = number(text, from); n == from {
			return 0
		}
	}
	if char(text, n) != '\n' {
		return 0
	}
	return n
}

// pairEnd does so for a pair whose value is a short array of bytes.
func pairEnd(text unsafe.Pointer, pos int) int {
	_, i := number(text, pos+1)
	if i == pos+1 || char(text, i) != 'Y' || char(text, i+1) != 'b' || char(text, i+2) != 'V' {
		return 0
	}
	from := i + 3
	for i = from; hexValue[char(text, i)] < 16; i++ {
		if i-from == 2*arrayLine {
			return 0
		}
	}
	if char(text, i) != 'L' {
		return 0
	}
	length, n := number(text, i+1)
	if n == i+1 || 2*length != uint64(i-from) || char(text, n) != '\n' {
		return 0
	}
	return n
}

// sampleEnd does so for the value of a counter.
func sampleEnd(text unsafe.Pointer, pos int) int {
	_, i := number(text, pos+3)
	if char(text, pos+1) != 'N' || char(text, pos+2) != 'T' || char(text, i) != 'V' || i == pos+3 {
		return 0
	}
	_, n := number(text, i+1)
	if char(text, n) != '\n' || n == i+1 {
		return 0
	}
	return n
}

// advance goes to the next record that was read ahead. It returns false if there is
// none.
func (s *stream) advance() bool {
	if s.ahead.at < len(s.ahead.list) {
		s.ahead.at++
		return true
	}
	return s.more()
}

// more reads ahead and goes to the first record.
//
//go:noinline
func (s *stream) more() bool {
	a := &s.ahead
	if a.at > 0 {
		x := &a.list[a.at-1]
		s.time, s.process = x.time, uint64(x.process)
		s.rec.KeyValues = s.rec.KeyValues[:0] // they are the event's
	}
	if !s.look() {
		return false
	}
	a.at = 1
	s.stepped, s.empty, s.gave, s.silent = true, false, true, false
	return true
}

// current is the record in hand, which advance went to.
func (s *stream) current() *aheadRecord { return &s.ahead.list[s.ahead.at-1] }

// stale tells whether the record in hand was read ahead and rec does not have it.
func (s *stream) stale() bool { return s.stepped && s.ahead.filled != s.ahead.at }

// fill makes a record of it.
func (s *stream) fill() {
	x, r := s.current(), &s.rec
	r.KeyValues = r.KeyValues[:0]
	line := s.t.buf[x.from:x.to]
	if x.paired {
		n := bytes.IndexByte(line, '\n')
		r.pair(line[:n], 0, s.r.opt.AsLibrary)
		line = line[n+1:]
	}
	if x.visit() {
		r.Type, r.Function, r.SCL = x.typ, uint64(x.function), 0
	} else {
		r.quick(line)
	}
	r.Stream, r.Time, r.Process = s.shown, x.time, uint64(x.process)
	s.ahead.filled = s.ahead.at
}
