package otf

import (
	"bytes"
	"unsafe"

	"github.com/weft-trace/weft/trace"
)

// carriedPair is the beginning of a key-value pair that carries the part of a row that its record lacks.
const carriedPair = 'K' | '1'<<8 | 'Y'<<16 | 'b'<<24 | 'V'<<32

// addAmended adds the row of a NoOp or message that follows the carried pair at pos. It returns the
// position of the next line, or 0 if the lines are spelled in another way.
func (br *bulkReader) addAmended(l *lane, text unsafe.Pointer, pos int, time int64) (next int) {
	if word(text, pos)&(1<<40-1) != carriedPair {
		return 0
	}
	var data [32]byte
	i, n := pos+5, 0
	for ; n < len(data); n++ {
		v := br.form.pairs.at(text, i)
		if v&validPair == 0 {
			break
		}
		data[n] = byte(v)
		i += 2
	}
	if byteAt(text, i) != 'L' {
		return 0
	}
	length, i := parseNumber(text, i+1)
	if length != uint64(n) || byteAt(text, i) != '\n' {
		return 0
	}
	switch i++; byteAt(text, i) {
	case 'N':
		if byteAt(text, i+1) != '\n' {
			return 0
		}
		k := l.n & (laneLimit - 1)
		l.rows.time[k], l.rows.ref[k], l.rows.kind[k] = time, trace.NoRef, trace.NoOp
		l.n++
		next = i + 2
	case 'S', 'R':
		if next = br.addMessage(l, text, i, time); next == 0 {
			return 0
		}
	default:
		return 0
	}
	b := l.batch()
	if br.d.restorer.Amend(b, data[:n]) != nil {
		b.DropLast() // the slow path reports the defect
		l.n--
		return 0
	}
	return next
}

// fewPairs is the maximum number of pairs of a record that [bulkReader.addWithPairs] reads.
const fewPairs = 32

// addWithPairs adds the row of the visit, message or counter value that follows the key-value pairs at pos to lane l.
// It returns the position of the next line, or 0 if the lines are spelled in another way. If l is br.foreignLane, the
// pairs must state the location of the row, and addWithPairs adds the row to the lane of that location, which is to.
func (br *bulkReader) addWithPairs(l *lane, text unsafe.Pointer, pos int, time int64) (next int, to *lane) {
	if br.d.carried && br.d.restorer == nil || br.f.s.r.opt.AsLibrary {
		return 0, nil
	}
	br.pairs = br.pairs[:0]
	for byteAt(text, pos) == 'K' {
		if pos = br.addPair(text, pos); pos == 0 || len(br.pairs) > fewPairs {
			return 0, nil
		}
	}
	var packed []byte
	if br.d.carried {
		var ok bool
		if l, packed, ok = br.carriedPairs(l); !ok {
			return 0, nil
		}
	}
	switch w := word(text, pos); byte(w) {
	case 'E', 'L':
		marks := lineEnds(w)
		if marks == 0 {
			return 0, nil
		}
		line := clearAfterLineEnd(w, marks)
		known := &br.visits[line*hashFactor>>(64-visitBits)]
		if known.text != line && !br.cacheVisit(known, w, marks) || known.ref == trace.NoRef {
			return 0, nil
		}
		if l.visit(time, known); br.d.unnamedLeaves {
			l.nest()
		}
		next = pos + lineLength(marks) + 1
	case 'S', 'R':
		next = br.addMessage(l, text, pos, time)
	case 'C':
		next = br.addCounterValue(l, text, pos, time)
	case '#':
		if packed != nil {
			next = br.addComment(l, text, pos, time)
		}
	}
	if next == 0 {
		return 0, nil
	}
	b := l.batch()
	for i := range br.pairs {
		v := &br.pairs[i]
		if br.d.carried && v.Key <= lastKey {
			continue
		}
		b.AddAttr(br.d.attribute(br.f.s.reported, v, &br.texts))
	}
	if packed != nil && br.d.restorer.Amend(b, packed) != nil {
		b.DropLast() // the slow path reports the defect
		l.n--
		return 0, nil
	}
	return next, l
}

// addComment adds a row without a text for the comment at pos, which carries another row. It returns the position of
// the next line, or 0 if the slow path must read the comment.
func (br *bulkReader) addComment(l *lane, text unsafe.Pointer, pos int, time int64) (next int) {
	if byteAt(text, pos+1) != '"' {
		return 0
	}
	end := pos + 2
	for b := byteAt(text, end); b >= ' ' && b < 0x7f && b != '"' && b != '\\'; b = byteAt(text, end) {
		end++
	}
	if byteAt(text, end) != '"' || byteAt(text, end+1) != '\n' ||
		bytes.HasPrefix(unsafe.Slice((*byte)(unsafe.Add(text, pos+2)), end-pos-2), []byte(genericText)) {
		return 0
	}
	k := l.n & (laneLimit - 1)
	l.rows.time[k], l.rows.ref[k], l.rows.kind[k] = time, trace.NoRef, trace.Comment
	l.n++
	return end + 2
}

// carriedPairs returns the lane and the packed row that the pairs state. l is the lane of the record's process. ok is
// false if the slow path must read the record.
func (br *bulkReader) carriedPairs(l *lane) (to *lane, packed []byte, ok bool) {
	to = l
	for i := range br.pairs {
		switch v := &br.pairs[i]; {
		case v.Key == rowKey && v.Type == Bytes:
			packed = v.Bytes
		case v.Key == locationKey && l == br.foreignLane && v.Bits < uint64(len(br.d.model.process)):
			to = br.laneOf(br.d.model.process[v.Bits])
		case v.Key <= lastKey:
			return nil, nil, false
		}
	}
	return to, packed, to != nil && to != br.foreignLane && !(br.d.unnamedLeaves && packed != nil)
}

// foreignBits is the number of bits of an index of [bulkReader.foreign].
const foreignBits = 6

// setForeignLane makes br.foreignLane stand for a process. It returns false if the process does not belong to a
// resource, or not to the stream.
func (br *bulkReader) setForeignLane(process uint64) bool {
	if process < laneProcess {
		return false
	}
	known := &br.foreign[process&(1<<foreignBits-1)]
	if *known != process {
		if br.d.restorer == nil || process > noProcess || !br.d.isListed(process, br.f.s.id) {
			return false
		}
		if br.foreignLane == nil {
			br.foreignLane = &lane{}
		}
		*known = process
	}
	br.foreignLane.process = process
	return true
}

// readForeignLane reads the lines from pos to end as [bulkReader.readLines] does, for the processes of resources.
// It adds the rows to the lanes of their locations. If the lane l is not br.foreignLane, the line at pos must select
// such a process. readForeignLane returns the position, lane and time where it stopped: before a line that selects
// another process, with its lane, or before the first line that it cannot read.
func (br *bulkReader) readForeignLane(text unsafe.Pointer, pos, end int, l *lane, time uint64) (int, *lane, uint64,
	error) {
	for pos < end {
		w := word(text, pos)
		at, t := pos, time // after a time line, both are those of the record
		if w&0x20 != 0 && byte(w) != '*' {
			v, n := br.form.read(text, pos, w)
			if n == 0 || v < time || v >= br.to {
				break
			}
			at, t = pos+n+1, v
		}
		if byteAt(text, at) == '*' {
			process, i := parseNumber(text, at+1)
			if byteAt(text, i) != '\n' {
				break
			}
			if other := br.laneOf(process); other != nil {
				if l != br.foreignLane {
					break // readLines has stopped here
				}
				return at, other, t, nil
			}
			if !br.setForeignLane(process) {
				break
			}
			pos, l, time = i+1, br.foreignLane, t
			continue
		}
		if byteAt(text, at) != 'K' || l != br.foreignLane {
			break
		}
		next, to := br.addWithPairs(l, text, at, int64(t-br.base))
		if next == 0 {
			break
		}
		pos, time = next, t
		if to.n == laneLimit {
			if err := br.emit(to); err != nil {
				return pos, l, time, err
			}
		}
	}
	return pos, l, time, nil
}

// addPair adds the pair at pos to the pairs of the next record. It returns the position of the next line, or 0 if the
// pair is spelled in another way, continues an array, or repeats a key.
func (br *bulkReader) addPair(text unsafe.Pointer, pos int) (next int) {
	// Most keys, and all types, have one digit.
	w := word(text, pos)
	key, typ, i := uint64(hexValue[byte(w>>8)]), uint64(hexValue[byte(w>>24)]), pos+5
	if key > 15 || byte(w>>16) != 'Y' {
		if key, i = parseNumber(text, pos+1); byteAt(text, i) != 'Y' || i == pos+1 {
			return 0
		}
		typ, w, i = uint64(hexValue[byteAt(text, i+1)]), word(text, i-2), i+3
	}
	if byte(w>>32) != 'V' || typ > uint64(Bytes) {
		return 0
	}
	for k := range br.pairs {
		if br.pairs[k].Key == uint32(key) {
			return 0
		}
	}
	n := len(br.pairs)
	if n == cap(br.pairs) {
		br.pairs = append(br.pairs, KeyValue{})
	}
	br.pairs = br.pairs[:n+1]
	v := &br.pairs[n]
	v.Key, v.Type = uint32(key), ValueType(typ)
	if v.Type != Bytes {
		bits, end := parseNumber(text, i)
		if end == i || byteAt(text, end) != '\n' {
			return 0
		}
		v.Bits = bits & (^uint64(0) >> (64 - v.Type.bits()))
		return end + 1
	}
	data := v.Bytes[:cap(v.Bytes)] // uses the memory of an earlier pair
	if len(data) < arrayLine {
		data = make([]byte, arrayLine)
	}
	n = 0
	for b := br.form.pairs.at(text, i); b&validPair != 0 && n < arrayLine; b = br.form.pairs.at(text, i) {
		data[n] = byte(b)
		n, i = n+1, i+2
	}
	v.Bytes = data[:n]
	if byteAt(text, i) != 'L' {
		return 0
	}
	length, end := parseNumber(text, i+1)
	if length != uint64(len(v.Bytes)) || length == 0 || byteAt(text, end) != '\n' {
		return 0
	}
	return end + 1
}

// textBits is the number of bits of an index of [shortTexts].
const textBits = 9

// shortTexts holds texts of up to 8 bytes that have occurred, because most texts of pairs are short and occur again.
type shortTexts [1 << textBits]struct {
	word uint64 // the bytes of the text
	text string
}

// text returns b as a string. If t is nil, the string is new.
func (t *shortTexts) text(b []byte) string {
	if t == nil || len(b) > 8 {
		return string(b)
	}
	word := uint64(0)
	for _, c := range b {
		word = word<<8 | uint64(c)
	}
	known := &t[word*hashFactor>>(64-textBits)]
	if known.word != word || len(known.text) != len(b) {
		known.word, known.text = word, string(b)
	}
	return known.text
}
