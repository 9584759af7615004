package etf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/weft-trace/weft/internal/attrlist"
	"github.com/weft-trace/weft/internal/digits"
	"github.com/weft-trace/weft/internal/lines"
	"github.com/weft-trace/weft/trace"
)

// Keyword is the first word of a line, which determines its kind.
type Keyword uint8

// These are the keywords with which the lines of TRACE files begin.
const (
	NoKeyword Keyword = iota
	TU                // time unit of all time stamps
	O                 // offset of the times from the Unix epoch, in milliseconds
	T                 // attributes of the trace
	E                 // event
	R                 // resource
	C                 // claim
	D                 // dependency
	S                 // signal
	F                 // fragment of a signal
	TS                // group of time series
	TSS               // time series
	TSP               // samples with their times
	TSR               // samples at equal intervals
	keywordCount
)

// lineSpec describes a kind of line: its keyword, the names of its fields for messages and documents,
// and whether an attribute list follows them.
type lineSpec struct {
	word   string
	fields string
	attrs  bool
	doc    string
}

var lineTable = [keywordCount]lineSpec{
	TU:  {"TU", "UNIT", false, "unit of every time stamp: NANOSECONDS … HOURS; SECONDS if absent"},
	O:   {"O", "OFFSET", false, "offset of the time stamps to the Unix epoch, in milliseconds"},
	T:   {"T", "ATTRIBUTES", false, "attributes of the trace"},
	E:   {"E", "ID TIME ;", true, "event"},
	R:   {"R", "ID CAPACITY USES-OFFSET ;", true, "resource"},
	C:   {"C", "ID START END RESOURCE [OFFSET] AMOUNT ;", true, "claim of an amount of a resource"},
	D:   {"D", "ID TYPE SOURCE DESTINATION ;", true, "dependency between events and starts or ends of claims"},
	S:   {"S", "ID ;", true, "signal"},
	F:   {"F", "SIGNAL START END C B A", false, "fragment c + b·(t−t0) + a·(t−t0)² of a signal"},
	TS:  {"TS", "ID ;", true, "group of time series"},
	TSS: {"TSS", "GROUP ID ;", true, "time series of a group"},
	TSP: {"TSP", "GROUP SERIES (TIME VALUE)*", false, "samples"},
	TSR: {"TSR", "GROUP SERIES START END VALUE*", false, "samples at equal distances over a range"},
}

// String returns the keyword as it is written in files.
func (k Keyword) String() string { return lineTable[k%keywordCount].word }

// Attr is an attribute: a key and a text value.
type Attr struct{ Key, Value string }

// Record is one line of a TRACE file. Its keyword determines which fields are used
// (docs/formats/etf.md).
type Record struct {
	Keyword Keyword
	// ID is the id of an event, resource, claim, dependency, signal or group of series. For F it is the
	// id of the signal; for TSS, TSP and TSR, that of the group; for O, the offset in milliseconds.
	ID int64
	// Series is the second id of TSS, TSP and TSR.
	Series int64
	// Start and End are the times of C, F and TSR lines. E lines use Start only.
	Start, End trace.Decimal
	// Resource, Amount and Offset belong to claims. HasOffset reports whether the line has an offset.
	Resource       int64
	Amount, Offset float64
	HasOffset      bool
	// Capacity and UsesOffset belong to resources.
	Capacity   float64
	UsesOffset bool
	// Type, Src and Dst belong to dependencies.
	Type     int64
	Src, Dst int64
	// C, B and A are the coefficients of a fragment.
	C, B, A float64
	// Unit is the time unit of TU.
	Unit string
	// Times and Values are the samples of TSP. TSR has only Values.
	Times  []trace.Decimal
	Values []float64
	Attrs  []Attr
	// Line is the number of the line, from 1.
	Line int64
	line string // the original line, if it must be written unchanged
	// changes reports whether a number of the line would get another value or sign if the record were written.
	changes bool
}

// problem describes a defect in a line.
type problem struct {
	rule, found, expected string
	severity              trace.Severity
}

func (p *problem) defect(file string, line int64, text []byte) *trace.Defect {
	record := ""
	if len(text) > 0 {
		record = quote(text)
	}
	return &trace.Defect{Rule: p.rule, Severity: p.severity, Position: trace.Position{File: file, Line: line},
		Record: record, Found: p.found, Expected: p.expected}
}

func quote(b []byte) string { return lines.Quote(b, 60) }

// parseKeyword reads the first word of a line and returns the position after it. isBlank is set if the
// line is empty or a comment.
func parseKeyword(l []byte) (k Keyword, i int, isBlank bool) {
	for i < len(l) && isSpace(l[i]) {
		i++
	}
	if i == len(l) || l[i] == '#' {
		return NoKeyword, i, true
	}
	if i == 0 && len(l) > 1 && isSpace(l[1]) {
		switch l[0] {
		case 'C':
			return C, 1, false
		case 'E':
			return E, 1, false
		case 'D':
			return D, 1, false
		case 'F':
			return F, 1, false
		}
	}
	j := i
	for j < len(l) && !isSpace(l[j]) && l[j] != ';' {
		j++
	}
	for k, spec := range lineTable {
		if spec.word == string(l[i:j]) {
			return Keyword(k), j, false
		}
	}
	return NoKeyword, j, false
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' }

// scanner reads the fields of a line one after another. It stores the first problem that it finds.
type scanner struct {
	l    []byte
	i    int
	bad  problem
	lost []byte // the first time of the line that had to be rounded
	// changes is set if a number is -0, or has more digits than a float64 can reproduce.
	changes bool
}

// end reports whether the line has no further field before the ";" or its end.
func (s *scanner) end() bool {
	for s.i < len(s.l) && isSpace(s.l[s.i]) {
		s.i++
	}
	return s.i >= len(s.l) || s.l[s.i] == ';'
}

func (s *scanner) token() []byte {
	if s.end() {
		return nil
	}
	j := s.i
	for j < len(s.l) && !isSpace(s.l[j]) && s.l[j] != ';' {
		j++
	}
	t := s.l[s.i:j]
	s.i = j
	return t
}

func (s *scanner) fail(name string, tok []byte, want string) {
	if s.bad.rule != "" {
		return
	}
	if tok == nil {
		s.bad = problem{"etf.field-count", "no " + name, want + " as " + name, trace.Error}
		return
	}
	s.bad = problem{"etf.number", fmt.Sprintf("%s %s", name, quote(tok)), want, trace.Error}
}

// integer reads an id or another integer. name describes the field in messages.
func (s *scanner) integer(name string) int64 {
	s.end()
	v, next := digits.Integer(s.l, s.i)
	if next >= 0 && s.endsAt(next) {
		s.i = next
		return v
	}
	tok := s.token()
	v, err := strconv.ParseInt(string(tok), 10, 64)
	if err != nil {
		s.fail(name, tok, "an integer")
	}
	return v
}

// endsAt reports whether position i ends a field.
func (s *scanner) endsAt(i int) bool { return i == len(s.l) || isSpace(s.l[i]) || s.l[i] == ';' }

// decimal reads a time, written as a decimal number. name is the field's name in an error.
func (s *scanner) decimal(name string) trace.Decimal {
	s.end()
	l, j := s.l, s.i
	neg := j < len(l) && l[j] == '-'
	if neg {
		j++
	}
	start := j
	v := int64(0)
	for j < len(l) && l[j]-'0' <= 9 {
		v = v*10 + int64(l[j]-'0')
		j++
	}
	point := j
	if j < len(l) && l[j] == '.' {
		j++
		for j < len(l) && l[j]-'0' <= 9 {
			v = v*10 + int64(l[j]-'0')
			j++
		}
	}
	if j == start || j-start > 18 || j == point+1 && point == start || !s.endsAt(j) {
		d, n, exact := trace.ParseDecimal(l[s.i:])
		if n == 0 || !s.endsAt(s.i+n) {
			s.fail(name, s.token(), "a decimal number that fits 64 bits")
			return d
		}
		if !exact && s.lost == nil {
			s.lost = l[s.i : s.i+n]
		}
		s.i += n
		return d
	}
	s.i = j
	if neg {
		v = -v
	}
	return trace.Decimal{Coef: v, Scale: int32(max(0, j-point-1))}
}

// real reads a number that is not a time.
func (s *scanner) real(name string) float64 {
	if s.bad.rule != "" {
		return 0
	}
	at, lost := s.i, s.lost
	s.lost = nil
	d := s.decimal(name)
	inexact := s.lost != nil
	s.lost = lost     // the field is not a time, so it must not set lost
	const most = 1e15 // a float64 reproduces all numbers of 15 digits
	if inexact || d.Coef > most || d.Coef < -most || d.Coef == 0 && bytes.IndexByte(s.l[at:s.i], '-') >= 0 {
		s.changes = true
	}
	if inexact || d.Scale > 22 || d.Coef > 1<<53 || d.Coef < -1<<53 {
		f, err := strconv.ParseFloat(string(bytes.TrimSpace(s.l[at:s.i])), 64)
		if err == nil {
			return f
		}
	}
	if s.bad.rule == "etf.number" {
		// The number is too small or too large for a Decimal.
		if f, err := strconv.ParseFloat(string(bytes.TrimSpace(s.l[at:s.i])), 64); err == nil && !math.IsNaN(f) &&
			!math.IsInf(f, 0) {
			s.bad, s.changes = problem{}, true
			return f
		}
	}
	return d.Float()
}

// parse reads the fields of a line and returns the text of its attribute list. The record is usable if
// the severity of the problem is below Error.
func (r *Record) parse(k Keyword, l []byte, i int) (attrs []byte, p problem) {
	s := scanner{l: l, i: i}
	r.Keyword, r.changes = k, false
	switch k {
	case C:
		r.ID = s.integer("claim id")
		r.Start = s.decimal("start")
		r.End = s.decimal("end")
		r.Resource = s.integer("resource id")
		r.Amount = s.real("amount")
		r.Offset, r.HasOffset = 0, false
		if s.bad.rule == "" && !s.end() {
			r.Offset, r.HasOffset = r.Amount, true
			r.Amount = s.real("amount")
		}
	case E:
		r.ID = s.integer("event id")
		r.Start = s.decimal("time")
	case R:
		r.ID = s.integer("resource id")
		r.Capacity = s.real("capacity")
		t := s.token()
		switch {
		case bytes.EqualFold(t, []byte("true")):
			r.UsesOffset = true
		case bytes.EqualFold(t, []byte("false")):
			r.UsesOffset = false
		default:
			s.fail("uses-offset", t, "true or false")
		}
	case D:
		r.ID = s.integer("dependency id")
		r.Type = s.integer("type")
		r.Src = s.integer("source id")
		r.Dst = s.integer("destination id")
	case S, TS:
		r.ID = s.integer("id")
	case TSS:
		r.ID = s.integer("time series id")
		r.Series = s.integer("series id")
	case F:
		r.ID = s.integer("signal id")
		r.Start = s.decimal("start")
		r.End = s.decimal("end")
		r.C, r.B, r.A = s.real("c"), s.real("b"), s.real("a")
	case TSP, TSR:
		r.readSamples(&s)
	case TU:
		r.Unit = string(bytes.TrimSpace(l[min(i, len(l)):]))
		return nil, problem{}
	case O:
		return nil, r.readOffset(bytes.TrimSpace(l[min(i, len(l)):]))
	case T:
		a := bytes.TrimSpace(l[min(i, len(l)):])
		if len(a) > 0 && a[0] == ';' {
			a = a[1:]
		}
		return a, problem{}
	}
	p, r.changes = s.bad, s.changes
	if p.rule != "" {
		return nil, p
	}
	if s.lost != nil {
		p = problem{"etf.time-rounded", "time " + string(s.lost), "digits that fit 64 bits", trace.Warning}
	}
	if !s.end() {
		return nil, problem{"etf.field-count", "a further field " + quote(s.token()),
			lineTable[k].word + " " + lineTable[k].fields, trace.Error}
	}
	if s.i < len(l) { // l[s.i] is the ";"
		if !lineTable[k].attrs {
			return nil, problem{"etf.field-count", "attributes", lineTable[k].word + " " + lineTable[k].fields, trace.Error}
		}
		return l[s.i+1:], p
	}
	if lineTable[k].attrs && p.rule == "" {
		p = problem{"etf.semicolon", "no \";\"", "\";\" before the attributes, even if there are none", trace.Warning}
	}
	return nil, p
}

// readOffset reads the value of an O line.
func (r *Record) readOffset(t []byte) problem {
	d, n, exact := trace.ParseDecimal(t)
	if n == 0 || n < len(t) {
		return problem{"etf.number", "offset " + quote(t), "an integer number of milliseconds", trace.Error}
	}
	ms, whole, ok := d.Ticks(0)
	if !ok {
		return problem{"etf.number", "offset " + quote(t), "milliseconds that fit 64 bits", trace.Error}
	}
	if r.ID = ms; !whole || !exact {
		r.ID = d.Trim().Coef
		for range d.Trim().Scale {
			r.ID /= 10
		}
	} else if len(bytes.Trim(t, "+-0123456789")) == 0 {
		return problem{}
	}
	return problem{"etf.offset-fraction", "offset " + quote(t), fmt.Sprintf("an integer; weft uses %d", r.ID),
		trace.Warning}
}

// readSamples reads the numbers of a TSP or TSR line. It ignores their punctuation.
func (r *Record) readSamples(s *scanner) {
	r.ID = s.integer("time series id")
	r.Series = s.integer("series id")
	r.Times, r.Values = r.Times[:0], r.Values[:0]
	if s.bad.rule != "" {
		return
	}
	clean := bytes.Map(func(c rune) rune {
		if c == ',' || c == '(' || c == ')' {
			return ' '
		}
		return c
	}, s.l[s.i:])
	t := scanner{l: clean}
	if r.Keyword == TSR {
		r.Start = t.decimal("start")
		r.End = t.decimal("end")
	}
	for t.bad.rule == "" && !t.end() {
		if r.Keyword == TSP {
			r.Times = append(r.Times, t.decimal("time"))
			if t.end() {
				t.bad = problem{"etf.field-count", "a time without a value", "pairs of time and value", trace.Error}
				break
			}
		}
		r.Values = append(r.Values, t.real("value"))
	}
	s.bad, s.lost, s.changes, s.i = t.bad, t.lost, t.changes, len(s.l)
}

// attributeProblem describes a problem in an attribute list as a defect of the line.
func attributeProblem(p attrlist.Problem, key, value string) problem {
	switch p {
	case attrlist.EmptyKey:
		return problem{"etf.attribute", "an empty key", "key=value", trace.Error}
	case attrlist.SecondEquals:
		return problem{"etf.escape", fmt.Sprintf("a second \"=\": key %q and value %q", key, value),
			`"\=" for a "=" inside a key or value`, trace.Warning}
	case attrlist.LostBackslash:
		return problem{"etf.escape", fmt.Sprintf("a \"\\\" that escapes nothing: key %q and value %q", key, value),
			`"\\" for a "\" inside a key or value`, trace.Warning}
	case attrlist.LastComma:
		return problem{"etf.attribute", "a \",\" at the end", "key=value after each \",\"", trace.Error}
	}
	return problem{"etf.attribute", fmt.Sprintf("%q without \"=\"", key),
		"key=value; weft reads a key with an empty value", trace.Error}
}

func repeatedKey(key string) problem {
	return problem{"etf.duplicate-key", fmt.Sprintf("key %q twice", key), "each key once; weft uses the last value",
		trace.Warning}
}

// inexactCounts counts the parts of lines that weft reads but cannot write back exactly.
type inexactCounts struct {
	rounded   int64 // number of times with more digits than a tick can represent
	lessText  int64 // attribute lists with a value or backslash that the record does not contain
	otherForm int64 // attribute lists whose text would change, although all values stay
}

// add counts an attribute list that a copy through the model would spell differently.
func (u *inexactCounts) add(list []byte) {
	keys, less, other := map[string]bool{}, false, false
	for {
		key, _, rest, p, more := attrlist.Next(list)
		if !more {
			break
		}
		less = less || keys[key] || p == attrlist.LostBackslash
		other = other || p == attrlist.SecondEquals || p == attrlist.NoEquals || p == attrlist.LastComma
		keys[key] = true
		list = rest
	}
	switch {
	case less:
		u.lessText++
	case other:
		u.otherForm++
	}
}

// addLine counts the attribute list of a line.
func (u *inexactCounts) addLine(l []byte) {
	var r Record
	k, i, _ := parseKeyword(l)
	if attrs, p := r.parse(k, l, i); p.rule == "" || p.severity != trace.Error {
		u.add(attrs)
	}
}

// keyPlaces finds keys in an attribute list. It keeps a map of the keys of a long list, because a search through
// all of them for each key takes quadratic time.
type keyPlaces[K comparable] map[K]int

// longList is the number of keys from which keyPlaces uses its map.
const longList = 32

// find returns the index of key in keys, or -1 if it is not there; then the caller appends it.
func (p *keyPlaces[K]) find(keys []K, key K) int {
	if len(keys) < longList {
		return slices.Index(keys, key)
	}
	if len(keys) == longList { // begin a new map, because p may still hold the keys of an earlier list
		*p = make(keyPlaces[K], 2*longList)
		for i, k := range keys {
			(*p)[k] = i
		}
	}
	if i, ok := (*p)[key]; ok {
		return i
	}
	(*p)[key] = len(keys)
	return -1
}

// parseAttrs reads an attribute list into the memory of attrs. It calls report for each problem in it.
func parseAttrs(list []byte, attrs []Attr, report func(problem)) []Attr {
	var keys []string
	var places keyPlaces[string]
	attrs = attrs[:0]
	for {
		key, value, rest, p, more := attrlist.Next(list)
		if !more {
			return attrs
		}
		if p != attrlist.NoProblem {
			report(attributeProblem(p, key, value))
		}
		i := -1
		if len(attrs) < longList {
			i = slices.IndexFunc(attrs, func(a Attr) bool { return a.Key == key })
		} else {
			for len(keys) < len(attrs) {
				keys = append(keys, attrs[len(keys)].Key)
			}
			i = places.find(keys, key)
		}
		if i < 0 {
			attrs = append(attrs, Attr{key, value})
		} else {
			report(repeatedKey(key))
			attrs[i].Value = value
		}
		list = rest
	}
}

// Append appends the record to b as one line in canonical form, without a line end
// (docs/formats/etf.md, "Canonical form").
func (r *Record) Append(b []byte) []byte {
	if r.line != "" {
		return append(b, r.line...)
	}
	spec := &lineTable[r.Keyword]
	b = append(b, spec.word...)
	switch r.Keyword {
	case TU:
		b = append(append(b, ' '), r.Unit...)
	case O:
		b = appendInt(b, r.ID)
	case T:
		if len(r.Attrs) > 0 {
			b = append(b, ' ')
		}
		return appendAttrs(b, r.Attrs)
	case E:
		b = appendTime(appendInt(b, r.ID), r.Start)
	case R:
		b = appendInt(b, r.ID)
		b = appendReal(b, r.Capacity)
		b = strconv.AppendBool(append(b, ' '), r.UsesOffset)
	case C:
		b = appendInt(b, r.ID)
		b = appendTime(b, r.Start)
		b = appendTime(b, r.End)
		b = appendInt(b, r.Resource)
		if r.HasOffset {
			b = appendReal(b, r.Offset)
		}
		b = appendReal(b, r.Amount)
	case D:
		b = appendInt(b, r.ID)
		b = appendInt(b, r.Type)
		b = appendInt(b, r.Src)
		b = appendInt(b, r.Dst)
	case S, TS:
		b = appendInt(b, r.ID)
	case TSS:
		b = appendInt(b, r.ID)
		b = appendInt(b, r.Series)
	case F:
		b = appendInt(b, r.ID)
		b = appendTime(b, r.Start)
		b = appendTime(b, r.End)
		b = appendReal(b, r.C)
		b = appendReal(b, r.B)
		b = appendReal(b, r.A)
	case TSP:
		b = appendInt(b, r.ID)
		b = appendInt(b, r.Series)
		for i, t := range r.Times {
			b = appendTime(b, t)
			b = appendReal(b, r.Values[i])
		}
	case TSR:
		b = appendInt(b, r.ID)
		b = appendInt(b, r.Series)
		b = appendTime(b, r.Start)
		b = appendTime(b, r.End)
		for _, v := range r.Values {
			b = appendReal(b, v)
		}
	}
	if spec.attrs {
		b = append(b, " ;"...)
		if len(r.Attrs) > 0 {
			b = append(b, ' ')
			b = appendAttrs(b, r.Attrs)
		}
	}
	return b
}

// appendInt, appendTime and appendReal append a blank and the field.
func appendInt(b []byte, v int64) []byte { return digits.AppendInt(append(b, ' '), v) }

func appendTime(b []byte, t trace.Decimal) []byte { return t.AppendTrim(append(b, ' ')) }

func appendReal(b []byte, f float64) []byte { return digits.AppendReal(append(b, ' '), f) }

// appendShort appends s to b. It is fast if s has at most 32 bytes and both slices have a capacity for
// 32 more.
func appendShort(b, s []byte) []byte {
	n := len(b)
	if len(s) > 32 || cap(s) < 32 || cap(b)-n < 32 {
		return append(b, s...)
	}
	copy32(b[n:n+32], s[:32])
	return b[:n+len(s)]
}

// copy32 copies 32 bytes. An array assignment would call a slower function that handles overlapping memory.
func copy32(to, from []byte) {
	_, _ = to[31], from[31]
	w0, w1 := binary.LittleEndian.Uint64(from), binary.LittleEndian.Uint64(from[8:])
	w2, w3 := binary.LittleEndian.Uint64(from[16:]), binary.LittleEndian.Uint64(from[24:])
	binary.LittleEndian.PutUint64(to, w0)
	binary.LittleEndian.PutUint64(to[8:], w1)
	binary.LittleEndian.PutUint64(to[16:], w2)
	binary.LittleEndian.PutUint64(to[24:], w3)
}

func appendAttrs(b []byte, attrs []Attr) []byte {
	for i, a := range attrs {
		if i > 0 {
			b = append(b, ", "...)
		}
		b, _ = attrlist.Append(b, a.Key, a.Value)
	}
	return b
}

// timeUnits lists the time units of TRACE with their lengths in seconds, num/den.
var timeUnits = []struct {
	name     string
	num, den int64
}{
	{"NANOSECONDS", 1, 1_000_000_000}, {"MICROSECONDS", 1, 1_000_000}, {"MILLISECONDS", 1, 1000},
	{"SECONDS", 1, 1}, {"MINUTES", 60, 1}, {"HOURS", 3600, 1},
}

func unitOf(name string) (num, den int64, ok bool) {
	for _, u := range timeUnits {
		if u.name == name {
			return u.num, u.den, true
		}
	}
	return 1, 1, false
}

// dependencyEnds lists for each of the nine types of dependencies which events it connects
// (docs/formats/etf.md, "Dependencies").
var dependencyEnds = [9][2]trace.EndKind{
	{trace.AtClaimStart, trace.AtClaimStart}, {trace.AtClaimStart, trace.AtClaimEnd},
	{trace.AtClaimEnd, trace.AtClaimStart}, {trace.AtClaimEnd, trace.AtClaimEnd},
	{trace.AtEvent, trace.AtEvent}, {trace.AtClaimStart, trace.AtEvent}, {trace.AtClaimEnd, trace.AtEvent},
	{trace.AtEvent, trace.AtClaimStart}, {trace.AtEvent, trace.AtClaimEnd},
}

func dependencyType(src, dst trace.EndKind) (int64, bool) {
	for i, e := range dependencyEnds {
		if e[0] == src && e[1] == dst {
			return int64(i), true
		}
	}
	return 0, false
}
