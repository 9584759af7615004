package otf

import (
	"bytes"
	"math/bits"
	"unsafe"
)

// readAhead holds the records of frequent lines that a stream has read ahead.
type readAhead struct {
	list   []aheadRecord
	at     int // index of the next record
	filled int // value of at when stream.rec was last set from the current record
	form   timeForm
	*aheadShared
}

// aheadShared is shared by the streams that one goroutine reads together. It caches the meaning of
// lines and limits the memory of each stream.
type aheadShared struct {
	processes [1 << processBits]aheadProcess
	functions [1 << functionBits]aheadFunction
	rows      int // number of records that a stream reads ahead
	readSize  int // number of bytes that a stream reads at once
}

// shareAhead returns the common settings for reading ahead in n streams. Up to 64 streams get buffers of the
// full size, which is fastest. More than 64 streams get smaller buffers; each of 4000 streams takes 16 KiB.
func shareAhead(n int) *aheadShared {
	x := &aheadShared{rows: aheadRows, readSize: readSize}
	if n > 64 {
		x.rows, x.readSize = aheadRows/4, max(8<<10, min(readSize, 32<<20/n))
	}
	return x
}

// aheadRecord is an event with the position of its line in the buffer of the stream, without the line
// end.
type aheadRecord struct {
	time     uint64
	process  uint32
	function uint32 // function of an enter or leave
	from, to int32
	// start is the position of the event's time line. It is -1 unless exactly a time line and a process
	// line precede the event's line.
	start   int32
	typ     Type
	hasPair bool // a key-value pair, which begins at from, precedes the event's line
}

// isVisit reports whether the record is an enter or a leave without a key-value pair.
func (a *aheadRecord) isVisit() bool { return (1<<Enter|1<<Leave)>>a.typ&1 != 0 && !a.hasPair }

// aheadProcess caches the meaning of a process line.
type aheadProcess struct {
	text    uint64
	process uint32
}

// aheadFunction caches the meaning of the line of an enter or leave.
type aheadFunction struct {
	text     uint64
	function uint32
}

const (
	aheadRows    = 256
	functionBits = 13
)

// frequentType maps the first byte of a line to the record type of the line, if that type is frequent.
var frequentType = [256]Type{'E': Enter, 'L': Leave, 'S': SendMsg, 'R': RecvMsg, 'C': Counter, 'N': NoOp}

// refill reads frequent lines ahead, as [bulkReader.readLines] does. It reports whether it has read at least
// one line.
//
//go:noinline
func (s *stream) refill() bool {
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
	clear(t.buf[len(t.buf) : len(t.buf)+slack]) // no line end can be found after the text
	text := unsafe.Pointer(unsafe.SliceData(t.buf))
	pos, end := t.from, t.from+size
	list, n, done := a.list[:a.rows], 0, pos
	time, process := s.time, uint32(s.process)
	for pos < end && n < len(list) {
		w := word(text, pos)
		start := int32(-1)
		if w&0x20 != 0 && byte(w) != '*' { // the byte is not a capital letter, so it is mostly a digit
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
			star := clearAfterLineEnd(w, marks)
			known := &a.processes[star*hashFactor>>(64-processBits)]
			if known.text != star && !s.cacheProcess(known, w, marks) {
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
		x.from, x.hasPair = int32(pos), false
		if byte(w) == 'K' {
			end := pairEnd(text, pos)
			if end == 0 || s.countsSteps() { // for libotf, the line is a step
				break
			}
			x.hasPair = true
			pos = end + 1
			w = word(text, pos)
			marks = lineEnds(w)
		}
		x.time, x.process, x.to, x.start, x.typ = time, process, 0, start, frequentType[byte(w)]
		// Enters and leaves alternate unpredictably, so a branch between them would be slow.
		if w&(visitBit|0x20) == visitBit && byte(w) != 'N' {
			line := clearAfterLineEnd(w, marks)
			n := lineLength(marks)
			known := &a.functions[line*hashFactor>>(64-functionBits)]
			if known.text != line {
				_, v, ok := parseVisit(w, n)
				if !ok {
					break
				}
				*known = aheadFunction{line, uint32(v)}
			}
			x.function, x.to = known.function, int32(pos+n)
		} else if byte(w) == 'C' {
			x.to = int32(sampleEnd(text, pos))
		} else if byte(w) == 'N' {
			if byteAt(text, pos+1) == '\n' {
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

// cacheProcess caches the process that the line in w names, if that process is selected.
func (s *stream) cacheProcess(to *aheadProcess, w, marks uint64) bool {
	n := lineLength(marks)
	if n < 2 || n == 8 {
		return false
	}
	v, bad := hexWord(padDigits(w>>8, n-1))
	if bad != 0 || !s.selects(v) {
		return false
	}
	*to = aheadProcess{clearAfterLineEnd(w, marks), uint32(v)}
	return true
}

// messageEnd returns the end of the line of the message at pos, or 0 if the line is not spelled in the
// frequent way.
func messageEnd(text unsafe.Pointer, pos int) int {
	_, i := parseNumber(text, pos+1)
	if byteAt(text, i) != 'L' || i == pos+1 {
		return 0
	}
	_, k := parseNumber(text, i+1)
	if byteAt(text, k) != 'T' || k == i+1 {
		return 0
	}
	_, m := parseNumber(text, k+1)
	if byteAt(text, m) != 'C' || m == k+1 {
		return 0
	}
	_, n := parseNumber(text, m+1)
	if n == m+1 {
		return 0
	}
	if byteAt(text, n) == 'X' {
		from := n + 1
		if _, n = parseNumber(text, from); n == from {
			return 0
		}
	}
	if byteAt(text, n) != '\n' {
		return 0
	}
	return n
}

// pairEnd returns the end of the line of the key-value pair at pos, or 0 unless its value is a short
// array of bytes in the frequent spelling.
func pairEnd(text unsafe.Pointer, pos int) int {
	_, i := parseNumber(text, pos+1)
	if i == pos+1 || byteAt(text, i) != 'Y' || byteAt(text, i+1) != 'b' || byteAt(text, i+2) != 'V' {
		return 0
	}
	from := i + 3
	for i = from; hexValue[byteAt(text, i)] < 16; i++ {
		if i-from == 2*arrayLine {
			return 0
		}
	}
	if byteAt(text, i) != 'L' {
		return 0
	}
	length, n := parseNumber(text, i+1)
	if n == i+1 || 2*length != uint64(i-from) || byteAt(text, n) != '\n' {
		return 0
	}
	return n
}

// sampleEnd returns the end of the line of the counter value at pos, or 0 if the line is not spelled
// in the frequent way.
func sampleEnd(text unsafe.Pointer, pos int) int {
	_, i := parseNumber(text, pos+3)
	if byteAt(text, pos+1) != 'N' || byteAt(text, pos+2) != 'T' || byteAt(text, i) != 'V' || i == pos+3 {
		return 0
	}
	_, n := parseNumber(text, i+1)
	if byteAt(text, n) != '\n' || n == i+1 {
		return 0
	}
	return n
}

// advance goes to the next record that was read ahead. It reads ahead if necessary, and returns false
// if that yields no record.
func (s *stream) advance() bool {
	if s.ahead.at < len(s.ahead.list) {
		s.ahead.at++
		return true
	}
	return s.advanceRefilled()
}

// advanceRefilled reads ahead and goes to the first record that it read.
//
//go:noinline
func (s *stream) advanceRefilled() bool {
	a := &s.ahead
	if a.at > 0 {
		x := &a.list[a.at-1]
		s.time, s.process = x.time, uint64(x.process)
		s.rec.KeyValues = s.rec.KeyValues[:0] // discard the pairs of the previous record
	}
	if !s.refill() {
		return false
	}
	a.at = 1
	s.stepped, s.empty, s.delivered, s.silent = true, false, true, false
	return true
}

// current returns the record to which advance has gone.
func (s *stream) current() *aheadRecord { return &s.ahead.list[s.ahead.at-1] }

// needsFill reports whether the current record was read ahead and has not been copied to rec.
func (s *stream) needsFill() bool { return s.stepped && s.ahead.filled != s.ahead.at }

// fill sets rec from the current record.
func (s *stream) fill() {
	x, r := s.current(), &s.rec
	r.KeyValues = r.KeyValues[:0]
	line := s.t.buf[x.from:x.to]
	if x.hasPair {
		n := bytes.IndexByte(line, '\n')
		r.pair(line[:n], 0, s.r.opt.AsLibrary)
		line = line[n+1:]
	}
	if x.isVisit() {
		r.Type, r.Function, r.SCL = x.typ, uint64(x.function), 0
	} else {
		r.parseFrequent(line)
	}
	r.Stream, r.Time, r.Process = s.reported, x.time, uint64(x.process)
	s.ahead.filled = s.ahead.at
}
