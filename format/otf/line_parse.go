package otf

import (
	"bytes"
	"fmt"

	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// problem is a defect of a line.
type problem struct {
	rule, found, expected string
	severity              trace.Severity
}

// harmless reports whether a record with the problem was read, as libotf reads it.
func (p problem) harmless() bool {
	return p.rule == "" || p.rule == ignoredText || p.rule == missingKeyword
}

// lineKind is the kind of a line.
type lineKind uint8

const (
	blankLine lineKind = iota
	timeLine
	processLine
	pairLine
	recordLine
)

// keywords maps the keywords of each part to record types.
var keywords = func() (k [numParts]map[string]Type) {
	for p := range k {
		k[p] = map[string]Type{}
	}
	for t, s := range specs {
		if s.name == "" {
			continue
		}
		k[s.part][s.short], k[s.part][s.long] = Type(t), Type(t)
		if s.part == Snapshots { // snapshots may also be in the file of the events
			k[Events][s.short], k[Events][s.long] = Type(t), Type(t)
		}
		if s.part != Events { // prefixes and keywords of both spellings may be mixed
			p := prefixes[s.part]
			k[s.part][p[0]+s.short[len(p[1]):]], k[s.part][p[1]+s.long[len(p[0]):]] = Type(t), Type(t)
		}
	}
	k[Events]["FB"], k[Events]["FILEOPBEGIN"] = BeginFileOperation, BeginFileOperation
	k[Events]["FE"], k[Events]["FILEOPEND"] = EndFileOperation, EndFileOperation
	return k
}()

// parseFrequent parses the line of a frequent event in the short spelling without blanks. The frequent events
// are enter, leave, send, receive, counter and no operation. parseFrequent returns false for any other line.
func (r *Record) parseFrequent(l []byte) bool {
	switch l[0] {
	case 'E':
		v, i := parseHex(l, 1)
		if i == 1 {
			return false
		}
		r.Type, r.Function = Enter, v&0xffffffff
		return r.parseFrequentSCL(l, i)
	case 'L':
		v, i := parseHex(l, 1)
		if i == 1 && len(l) > 1 {
			return false
		}
		r.Type, r.Function = Leave, v&0xffffffff
		return r.parseFrequentSCL(l, i)
	case 'S', 'R':
		peer, i := parseHex(l, 1)
		if i == 1 || i == len(l) || l[i] != 'L' {
			return false
		}
		length, i := parseHex(l, i+1)
		if i == len(l) || l[i] != 'T' || l[i-1] == 'L' { // without a number, the keyword would be LT
			return false
		}
		tag, i := parseHex(l, i+1)
		if i == len(l) || l[i] != 'C' || l[i-1] == 'T' {
			return false
		}
		comm, i := parseHex(l, i+1)
		if i < len(l) && l[i-1] == 'C' {
			return false
		}
		if r.Type = SendMsg; l[0] == 'R' {
			r.Type = RecvMsg
		}
		r.Peer, r.Length, r.Tag, r.Communicator = peer&0xffffffff, length&0xffffffff, tag&0xffffffff, comm&0xffffffff
		return r.parseFrequentSCL(l, i)
	case 'N':
		r.Type = NoOp
		return len(l) == 1
	case 'C':
		if len(l) < 4 || l[1] != 'N' || l[2] != 'T' {
			return false
		}
		counter, i := parseHex(l, 3)
		if i == 3 || i == len(l) || l[i] != 'V' {
			return false
		}
		r.Type, r.Counter = Counter, counter&0xffffffff
		r.Value, i = parseHex(l, i+1)
		return i == len(l)
	}
	return false
}

// parseFrequentSCL parses the optional source code location at the end of a line.
func (r *Record) parseFrequentSCL(l []byte, i int) bool {
	r.SCL = 0
	if i == len(l) {
		return true
	}
	if l[i] != 'X' {
		return false
	}
	v, end := parseHex(l, i+1)
	r.SCL = v & 0xffffffff
	return end > i+1 && end == len(l)
}

// parseHex parses the number at i and returns its value and end.
func parseHex(l []byte, i int) (v uint64, end int) {
	for ; i < len(l); i++ {
		d := hexValue[l[i]]
		if d > 15 {
			break
		}
		v = v<<4 | uint64(d)
	}
	return v, i
}

// oldEnd lists the fields of EndFileOperation in the old spelling, whose keyword is FE. In this spelling, the
// field called handle contains the matching id.
var oldEnd = []fieldSpec{u32(fieldFile, "", ""), u64(fieldMatching, "H", "HANDLEID"), u32(fieldOperation, "OP",
	"OPERATION"),
	u64(fieldBytes, "B", "BYTES"), scl}

// oldGroup is a second group after the properties of a counter. libotf uses it even if it is 0.
var oldGroup = u32(fieldGroup, "G", "GROUP")

// scanner is a position in a line.
type scanner struct {
	l []byte
	i int
	// library allows blanks only where libotf accepts them.
	library bool
}

func (s *scanner) skip() {
	for s.i < len(s.l) && (s.l[s.i] == ' ' || s.l[s.i] == '\t' || s.l[s.i] == '\r' && !s.library) {
		s.i++
	}
}

func (s *scanner) end() bool {
	if !s.library {
		s.skip()
	}
	return s.i == len(s.l)
}

// hexValue maps digits to their values and other bytes to 255. Capital letters are not digits.
var hexValue = func() (t [256]uint8) {
	for i := range t {
		t[i] = 255
	}
	for i := range len(hexDigits) {
		t[hexDigits[i]] = uint8(i)
	}
	return t
}()

// hex parses a number. The result is 0 if there are no digits. Bits beyond 64 are lost.
func (s *scanner) hex() (v uint64) {
	s.skip()
	v, s.i = parseHex(s.l, s.i)
	return v
}

// word returns the keyword at the current position: the following capital letters and number signs (#).
func (s *scanner) word() []byte {
	start := s.i
	for s.i < len(s.l) {
		if c := s.l[s.i]; c-'A' > 25 && c != '#' {
			break
		}
		s.i++
	}
	return s.l[start:s.i]
}

// rest returns the rest of the line for messages.
func (s *scanner) rest() string {
	l := s.l[s.i:]
	if len(l) == 0 {
		return "the end of the line"
	}
	if len(l) > 40 {
		return fmt.Sprintf("%q…", l[:40])
	}
	return fmt.Sprintf("%q", l)
}

// skipKeyword skips the keyword of a field and reports whether it was there.
func (s *scanner) skipKeyword(f *fieldSpec) bool {
	start := s.i
	s.skip()
	if s.library && s.i > start {
		// If the field has a blank before its keyword, libotf recognises only the first spelling.
		f = &fieldSpec{f: f.f, short: f.long, long: f.long, old: f.old}
	}
	start = s.i
	if f.short == "." {
		if s.i < len(s.l) && s.l[s.i] == '.' {
			s.i++
			return true
		}
		return false
	}
	w := s.word()
	switch string(w) {
	case f.short, f.long:
		return true
	case f.old:
		if f.old != "" {
			return true
		}
	}
	// The keyword of an empty list and the next keyword are not separated.
	if f.f == fieldMembers && (string(w) == f.short+"NM" || string(w) == f.long+"NAME") {
		s.i = start + len(f.short)
		if len(w) > len(f.long) {
			s.i = start + len(f.long)
		}
		return true
	}
	s.i = start
	return false
}

// lineType returns the kind of a line and the index of the first byte of the line that is not a blank.
func lineType(l []byte) (lineKind, int) {
	i := 0
	for i < len(l) && (l[i] == ' ' || l[i] == '\t' || l[i] == '\r') {
		i++
	}
	if i == len(l) {
		return blankLine, i
	}
	c := l[i]
	switch {
	case hexValue[c] < 16:
		return timeLine, i
	case c == '*':
		return processLine, i
	case c == 'K':
		s := scanner{l: l, i: i}
		if w := s.word(); string(w) == "K" || string(w) == "KEY" {
			return pairLine, i
		}
	}
	return recordLine, i
}

// prefixes are the long and the short prefix of the records of each part.
var prefixes = [numParts][2]string{{"DEF", "D"}, {"T", "T"}, {"T", "T"}, {"SUM", "S"}, {"MARKER", "M"}}

// parse parses the line of a record from i on. A line without a known keyword becomes a record of type
// Unknown. The strings of the record refer to the line. If library is set, blanks are treated as
// libotf treats them.
func (r *Record) parse(l []byte, i int, part Part, library bool) (bad problem) {
	s := scanner{l: l, i: i, library: library}
	w := s.word()
	t, ok := keywords[part][string(w)]
	if library && i > 0 && prefixes[part][0] != prefixes[part][1] && bytes.HasPrefix(w, []byte(prefixes[part][0])) {
		ok = false // after blanks, libotf recognises only the prefix of the short spelling
	}
	switch {
	case !ok && library && part != Events && len(w) > 0 && w[0] == 'K':
		r.Type = NoOp // libotf takes the line for a pair, and stops
		return problem{"otf.malformed", "a record " + (&scanner{l: l, i: i}).rest(), "K or KEY", trace.Error}
	case !ok:
		r.Type, r.Text = Unknown, stringOf(l)
		return problem{"otf.unknown-record", "a record " + (&scanner{l: l, i: i}).rest(),
			"a keyword of " + part.String() + " files; weft reads the record as unknown", trace.Note}
	}
	r.Type, r.Unnamed = t, false
	sp := &specs[t]
	list := sp.fields
	if t == EndFileOperation && (string(w) == "FE" || string(w) == "FILEOPEND") {
		list, r.Handle = oldEnd, 0
	}
	there := false      // whether the last optional field is present
	var dropped problem // an element of an array that is left out
	for k := range list {
		f := &list[k]
		if f.omitZero || f.mayBeMissing {
			at := s.i
			there = !s.end()
			if there && (f.short != "" || f.f == fieldFunction) {
				there = f.short == "" || s.skipKeyword(f)
			}
			if !there {
				s.i = at // libotf accepts no other blanks here
				if t == DefMarker {
					return r.parseBare(&s, list[k:])
				}
				if f.bits > 0 {
					*r.number(f.f) = 0
				} else {
					r.Name, r.Unnamed = "", true
				}
				continue
			}
		} else if f.short != "" && !s.skipKeyword(f) {
			if part == Markers {
				return r.parseBare(&s, list[k:])
			}
			return problem{"otf.malformed", sp.name + ": " + s.rest(), f.long + "; weft skips the record", trace.Error}
		}
		switch {
		case f.bits > 0:
			*r.number(f.f) = s.hex() & (^uint64(0) >> (64 - f.bits))
			if f.f == fieldProperties && s.skipKeyword(&oldGroup) {
				if g := s.hex() & 0xffffffff; g != 0 || library {
					r.Group = g
				}
			}
		case f.f == fieldMembers:
			var noComma problem
			if r.Members, noComma = s.members(sp.name, r.Members[:0]); noComma.rule != "" {
				dropped = noComma
			}
		default:
			v, bad := s.text()
			if bad.rule != "" && library && (s.i == len(l) || l[s.i] != '"') && f.short == "" {
				// libotf requires a string only after a keyword
				v, bad = []byte("(null)"), problem{}
			}
			if bad.rule != "" {
				return bad
			}
			*r.text(f.f) = stringOf(v)
			if f.f == fieldName {
				r.Unnamed = false
			}
		}
	}
	// libotf ignores the rest of a line, except where it looked for an optional field and did not find
	// it.
	if n := len(list); n > 0 && !there && (list[n-1].f == fieldSCL || t == DefProcess && r.Unnamed && r.Parent == 0) &&
		!s.end() {
		return problem{"otf.malformed", sp.name + ": " + s.rest(), "the end of the line; weft skips the record", trace.Error}
	}
	if bad = s.ignored(sp.name); bad.rule == "" {
		bad = dropped
	}
	return bad
}

// ignoredText is the rule of text after the last field of a line.
const ignoredText = "otf.ignored-text"

// ignored returns the problem of text after the last field of a line, which has been parsed.
func (s *scanner) ignored(what string) problem {
	if rest := (scanner{l: s.l, i: s.i}); !rest.end() {
		return problem{ignoredText, what + ": " + rest.rest() + " after the last field",
			"the end of the line; weft and libotf ignore the text", trace.Warning}
	}
	return problem{}
}

// noQuote is the text of what was expected in the defect of a string that does not end on its line.
const noQuote = "a quote at the end of the string; weft skips the record"

// text parses a string in quotes.
func (s *scanner) text() ([]byte, problem) {
	s.skip()
	if s.i == len(s.l) || s.l[s.i] != '"' {
		return nil, problem{"otf.malformed", s.rest(), "a string; weft skips the record", trace.Error}
	}
	start := s.i + 1
	for i := start; i < len(s.l); i++ {
		if s.l[i] == '"' {
			s.i = i + 1
			return s.l[start:i], problem{}
		}
	}
	return nil, problem{"otf.malformed", s.rest(), noQuote, trace.Error}
}

// members parses a list of numbers, each followed by a comma. A number without its comma is left out. libotf reads
// on from this number, so that it finds no keyword that follows.
func (s *scanner) members(record string, list []uint32) ([]uint32, problem) {
	for {
		s.skip()
		start := s.i
		v := s.hex()
		end := s.i
		s.skip()
		if s.i == len(s.l) || s.l[s.i] != ',' {
			var bad problem
			if end > start {
				bad = problem{ignoredText, fmt.Sprintf("%s: the element %x without a comma", record, v),
					"a comma after each element; weft leaves the element out", trace.Warning}
				if s.library {
					s.i = start
				}
			}
			return list, bad
		}
		s.i++
		list = append(list, uint32(v))
	}
}

// manyPairs is the number of pairs in a record from which on an index is used to find a key.
const manyPairs = 32

// hasKey reports whether the record that is being read has a pair with the key. It is fast for lists of any
// length.
func (r *Record) hasKey(key uint32) bool {
	n := len(r.KeyValues)
	if n < manyPairs {
		_, ok := r.Find(key)
		return ok
	}
	if n == manyPairs {
		r.keys = make(map[uint32]bool, 2*manyPairs)
		for _, v := range r.KeyValues {
			r.keys[v.Key] = true
		}
	}
	r.keys[r.KeyValues[n-1].Key] = true
	return r.keys[key]
}

// frequentPair does what pair does for a line in the short format without blanks, as most writers spell it. For all
// other lines, for repeated keys and for damaged arrays it adds nothing and returns false.
func (r *Record) frequentPair(l []byte) bool {
	if len(l) < 6 || l[0] != 'K' {
		return false
	}
	k, i := parseHex(l, 1)
	key := uint32(k)
	if i == 1 || i > 9 || i+3 >= len(l) || l[i] != 'Y' || l[i+2] != 'V' || len(r.KeyValues) >= manyPairs || r.hasKey(key) {
		return false
	}
	typ := ValueType(hexValue[l[i+1]])
	from := i + 3
	v, end := parseHex(l, from)
	if typ < Bytes {
		if end == from || end < len(l) || end-from > 16 {
			return false
		}
		r.KeyValues = append(r.KeyValues, KeyValue{Key: key, Type: typ, Bits: v & (^uint64(0) >> (64 - typ.bits()))})
		return true
	}
	n := (end - from) / 2
	if typ > Bytes || end == len(l) || l[end] != 'L' || n == 0 || n > arrayLine {
		return false
	}
	if v, i = parseHex(l, end+1); i < len(l) || i == end+1 || v != uint64(n) || 2*n != end-from {
		return false
	}
	to := r.addBytes(key)
	for i = from; i < end; i += 2 {
		to.Bytes = append(to.Bytes, hexValue[l[i]]<<4|hexValue[l[i+1]])
	}
	return true
}

// addBytes adds a pair with an empty array of bytes. It reuses the memory of an earlier array.
func (r *Record) addBytes(key uint32) *KeyValue {
	n := len(r.KeyValues)
	if n == cap(r.KeyValues) {
		r.KeyValues = append(r.KeyValues, KeyValue{})
	}
	r.KeyValues = r.KeyValues[:n+1]
	to := &r.KeyValues[n]
	*to = KeyValue{Key: key, Type: Bytes, Bytes: to.Bytes[:0]}
	return to
}

// pair parses a key-value line from i on and adds the pair to the record. If library is set, it reads arrays
// in the same way as libotf, even if libotf would not write such lines.
func (r *Record) pair(l []byte, i int, library bool) problem {
	if library && i > 0 {
		// libotf parses a pair after blanks, and then drops it and the pairs before it.
		bad := r.pair(l[i:], 0, true)
		r.KeyValues = r.KeyValues[:0]
		return bad
	}
	if i == 0 && r.frequentPair(l) {
		return problem{}
	}
	s := scanner{l: l, i: i, library: library}
	s.word()
	bad := func(expected string) problem {
		return problem{"otf.malformed", "key-value pair: " + s.rest(), expected + "; weft skips the pair", trace.Error}
	}
	key := uint32(s.hex())
	if !s.skipKeyword(&fieldSpec{short: "Y", long: "TYPE"}) {
		return bad("TYPE")
	}
	typ := ValueType(uint32(s.hex()))
	if typ > Bytes {
		return bad("a type from 0 to b")
	}
	if !s.skipKeyword(&fieldSpec{short: "V", long: "VALUE"}) {
		return bad("VALUE")
	}
	known := r.hasKey(key)
	if typ != Bytes {
		if v := s.hex(); !known {
			r.KeyValues = append(r.KeyValues, KeyValue{Key: key, Type: typ, Bits: v & (^uint64(0) >> (64 - typ.bits()))})
		}
		return s.ignored("key-value pair")
	}
	s.skip()
	var to *KeyValue
	last := &KeyValue{}
	if known {
		last = &r.KeyValues[len(r.KeyValues)-1]
	}
	switch {
	case !known, last.Key != key:
		to = r.addBytes(key)
	case last.Key != key || last.Type != Bytes || library && len(last.Bytes)%arrayLine != 0:
		return problem{} // libotf continues only whole lines of an array
	default:
		to = last
	}
	n := 0
	for ; s.i+1 < len(s.l); s.i += 2 {
		hi, lo := hexValue[s.l[s.i]], hexValue[s.l[s.i+1]]
		if hi > 15 || lo > 15 {
			break
		}
		to.Bytes = append(to.Bytes, hi<<4|lo)
		n++
	}
	if library && n <= arrayLine && s.skipKeyword(&fieldSpec{short: "L", long: "LEN"}) {
		// libotf uses the stated length, limited to the length of a line. Missing bytes have undefined values
		// there, and the value 0 here.
		size := int(min(s.hex(), arrayLine)) + len(to.Bytes) - n
		to.Bytes = append(to.Bytes, make([]byte, max(0, size-len(to.Bytes)))...)[:size]
	}
	if n > arrayLine || library && n == arrayLine && s.i < len(s.l) && hexValue[s.l[s.i]] < 16 {
		return problem{"otf.long-array", fmt.Sprintf("%s of an array on one line", plural.Of(n, "byte")),
			fmt.Sprintf("at most %d; libotf cannot read the line", arrayLine), trace.Warning}
	}
	if library {
		return problem{}
	}
	if s.skipKeyword(&fieldSpec{short: "L", long: "LEN"}) {
		s.hex() // pairChecker compares the length
	}
	return s.ignored("key-value pair")
}
