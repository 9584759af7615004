package carrier

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// Pack returns all definitions of d, and the pairs extra, as compressed bytes for [Unpack]. rows must be the
// Rows value that has packed the rows of the trace, or nil if none has. tooLong is the number of opaque
// records of more than [OpaqueLimit] bytes, which are left out.
func Pack(d *trace.Definitions, rows *Rows, extra ...Pair) (data []byte, tooLong int64) {
	used := d.Attributes.Len()
	if rows != nil {
		used = rows.Attributes(d)
	}
	return packed(d, rows, used, extra)
}

// PackUsed is like [Pack], for a trace whose events use only the first used attributes. It leaves
// out other reserved attributes.
func PackUsed(d *trace.Definitions, used int) (data []byte, tooLong int64) {
	return packed(d, nil, used, nil)
}

// packed returns definitions and extra pairs as compressed bytes.
func packed(d *trace.Definitions, rows *Rows, used int, extra []Pair) (data []byte, tooLong int64) {
	pairs, tooLong := definitions(d, rows, used)
	var text bytes.Buffer
	n := numbering{}
	for _, p := range append(pairs, extra...) {
		fmt.Fprintf(&text, "%s %s\n", n.shorten(p.Key), p.Value)
	}
	return packAs(magicPrimed, text.Bytes()), tooLong
}

// Unpack returns the pairs that [Pack] has packed. It returns an error if they are longer than data
// by more than a factor of 256.
func Unpack(data []byte) ([]Pair, error) {
	text, err := unpack(data)
	if err != nil {
		return nil, fmt.Errorf("packed definitions: %w", err)
	}
	n := numbering{}
	var pairs []Pair
	for line := range strings.Lines(string(text)) {
		key, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if !ok {
			return nil, fmt.Errorf("packed definitions: found %q, expected a key and a value", key)
		}
		if isPrimed(data) {
			key = n.complete(key)
		}
		pairs = append(pairs, Pair{key, value})
	}
	return pairs, nil
}

// numbering holds, by table, the number of the entry that follows the last one. Keys of such entries are written
// without their numbers.
type numbering map[string]int

// shorten returns a key as it is written.
func (n numbering) shorten(key string) string {
	name, number, ok := strings.Cut(key, ".")
	i, err := strconv.Atoi(number)
	if !ok || err != nil {
		return key
	}
	if i == n[name] {
		key = name
	}
	n[name] = i + 1
	return key
}

// complete returns the key that shorten has returned as key.
func (n numbering) complete(key string) string {
	name, number, ok := strings.Cut(key, ".")
	i, err := strconv.Atoi(number)
	switch {
	case ok && err == nil:
		n[name] = i + 1
	case !ok && (name == valueName || slices.ContainsFunc(tables, func(t table) bool { return t.name == name })):
		key += "." + strconv.Itoa(n[name])
		n[name]++
	}
	return key
}

// pieceSize is the greatest length in bytes of a text of [Texts].
const pieceSize = 1 << 16

// Texts returns data as texts, for formats that cannot store bytes. The keys of the texts are
// prefix followed by a number.
func Texts(data []byte, prefix string) (texts []Pair) {
	text := base64.RawStdEncoding.EncodeToString(data)
	for text != "" {
		n := min(len(text), pieceSize)
		texts = append(texts, Pair{prefix + strconv.Itoa(len(texts)), text[:n]})
		text = text[n:]
	}
	return texts
}

// FromTexts returns the data of the texts whose keys begin with prefix, or nil if there are none.
func FromTexts(texts iter.Seq2[string, string], prefix string) ([]byte, error) {
	pieces := map[string]string{}
	for key, text := range texts {
		if n, ok := strings.CutPrefix(key, prefix); ok {
			pieces[n] = text
		}
	}
	var all strings.Builder
	for i := range len(pieces) {
		all.WriteString(pieces[strconv.Itoa(i)])
	}
	return base64.RawStdEncoding.DecodeString(all.String())
}

// UnpackTexts returns the pairs that [Pack] has packed and [Texts] has converted to texts. It
// returns nil if there are no texts whose keys begin with prefix.
func UnpackTexts(texts iter.Seq2[string, string], prefix string) ([]Pair, error) {
	data, err := FromTexts(texts, prefix)
	if len(data) == 0 || err != nil {
		return nil, err
	}
	return Unpack(data)
}

// longText is the length in bytes beyond which [Text] compresses data.
const longText = 1 << 16

// compressed is the prefix of texts with compressed data. Other texts contain no colon.
const compressed = "z:"

// Text returns data as a text for [FromText].
func Text(data []byte) string {
	if len(data) > longText && !Packed(data) {
		return compressed + base64.RawStdEncoding.EncodeToString(pack(data))
	}
	return base64.RawStdEncoding.EncodeToString(data)
}

// FromText returns the data of a text from [Text]. It uses the memory of room, if that is large enough. Earlier
// versions compressed long data of [Compress] and [PackLinks] again. FromText returns an error if such data grow by
// more than a factor of 4, because they grow once more when they are unpacked.
func FromText(room []byte, text string) ([]byte, error) {
	if text, ok := strings.CutPrefix(text, compressed); ok {
		data, err := base64.RawStdEncoding.DecodeString(text)
		if err != nil {
			return nil, err
		}
		const mostTwice = 4 // compressed data hardly become smaller
		again, err := unpack(data)
		if err == nil && Packed(again) && len(again) > mostTwice*len(data) {
			return nil, fmt.Errorf("found %d bytes of compressed data in %d, expected at most %d", len(again), len(data),
				mostTwice*len(data))
		}
		return again, err
	}
	return base64.RawStdEncoding.AppendDecode(room[:0], []byte(text))
}

// appendValue appends a value with its type.
func appendValue(b []byte, v *trace.Value) []byte {
	b = append(b, byte(slices.Index(valueTypes[:], v.Type)))
	if v.Type == trace.String || v.Type == trace.Bytes {
		return append(binary.AppendUvarint(b, uint64(len(v.Str))), v.Str...)
	}
	return binary.AppendUvarint(b, v.Num)
}

// Rows packs rows into few bytes: the difference between a row and the row that readers derive from the record
// that carries the bytes. The zero Rows is ready to use. A Rows value numbers kinds in the order in which they
// occur. Therefore [Pack] must get it only after the last row is packed.
type Rows struct {
	codes []uint32 // 1 + the number of each kind; 0 for a kind that has not occurred
	kinds []trace.Kind
	// gaps counts the differences between rows and their records, for Report.
	gaps map[recordGap]int64
	// open counts the open claims by location and id. repeated counts the claims that began while another
	// claim with the same id was open at the same location.
	open     map[claimKey]int
	repeated int64
	base     trace.Batch // row with the parts that AppendWhole leaves out
	used     int         // number of attributes up to the last one that a row has
}

// UseAttributes notes the attributes of a row. It must be called for each row with attributes.
func (r *Rows) UseAttributes(keys []uint32) {
	for _, k := range keys {
		r.used = max(r.used, int(k)+1)
	}
}

// Attributes returns the number of attributes whose definitions must be written: all but the reserved ones at the end
// that no row has.
func (r *Rows) Attributes(d *trace.Definitions) int {
	n := d.Attributes.Len()
	for n > r.used && d.Attributes.At(uint32(n-1)).Reserved {
		n--
	}
	return n
}

// recordGap describes in which fields a row and the row from its record differ.
type recordGap struct {
	kind, base trace.Kind
	operands   uint64 // bit i is set if operand i differs; the last bit stands for all further operands
	attrs, ref bool
	field      string // the field that the record lacks, for a gap that NoteField has counted
}

// NoteField counts, for [Rows.Report], that the record of c lacks a field. The empty field stands
// for all of c.
func (r *Rows) NoteField(c *trace.Cursor, field string) {
	r.noteClaim(c)
	if !c.Derived() {
		r.note(recordGap{kind: c.Kind(), base: trace.NoOp, field: field})
	}
}

// NoteOperands counts, for [Rows.Report], that the record of c lacks operands. Bit i of operands
// stands for operand i.
func (r *Rows) NoteOperands(c *trace.Cursor, operands uint64) {
	r.noteClaim(c)
	if !c.Derived() || isMessage(c.Kind()) {
		r.note(recordGap{kind: c.Kind(), base: c.Kind(), operands: operands})
	}
}

// isMessage reports whether events of kind k are ends of messages. Such an event counts even if it
// is derived, since formats with records for messages write one for it.
func isMessage(k trace.Kind) bool { return k.IsSend() || k.IsRecv() }

// note counts a field in which a row differs from its record.
func (r *Rows) note(x recordGap) {
	if r.gaps == nil {
		r.gaps = map[recordGap]int64{}
	}
	r.gaps[x]++
}

// Note counts, for [Rows.Report], in which fields row c differs from base, the row that readers
// derive from its record without the packed bytes.
func (r *Rows) Note(c, base *trace.Cursor) {
	r.noteClaim(c)
	x := recordGap{kind: c.Kind(), base: base.Kind(), operands: otherOperands(c, base), ref: c.Ref() != base.Ref()}
	if c.Derived() {
		if isMessage(x.kind) && (x.operands != 0 || isGeneric(x.base)) {
			r.note(x)
		}
		return
	}
	x.attrs = LacksAttributes(c, base)
	if x.kind == x.base && x.operands == 0 && !x.attrs && !x.ref {
		return
	}
	r.note(x)
}

// Report adds the counted gaps to l, and the definitions by their mapping. They count as lost if
// the trace is plain, and otherwise as restored only by weft.
func (r *Rows) Report(l *format.Loss, d *trace.Definitions, mapping func(format.Subject) format.Mapped, plain bool) {
	l.AddDefinitions(d, mapping, plain)
	how, reason := format.WeftOnly, "the format has no record or field for it"
	if plain {
		how = format.Lost
	}
	for x, n := range r.gaps {
		spec := d.Spec(x.kind)
		var fields []string
		switch {
		case x.field != "":
			fields = []string{x.field}
		case isGeneric(x.base) && x.base != x.kind: // the record stands for an event of any kind
		default:
			if x.ref {
				fields = append(fields, "reference")
			}
			for i := range spec.Operands {
				if x.operands>>min(i, 63)&1 != 0 {
					fields = append(fields, spec.Operands[i].Name)
				}
			}
			if x.attrs {
				fields = append(fields, "attributes")
			}
			if len(fields) == 0 && x.kind != x.base {
				fields = []string{"kind"}
			}
		}
		l.Add(spec.Name, strings.Join(fields, " "), how, reason, n)
	}
	if d.ClaimLines {
		l.Add(d.Spec(trace.ClaimBegin).Name, "id", format.Degraded,
			"another claim with the same id is open; readers may take its end for the end of this one", r.repeated)
	}
}

// isGeneric reports whether records of a kind can stand for events of any kind.
func isGeneric(k trace.Kind) bool {
	return k == trace.NoOp || k == trace.Comment || k == trace.Generic || k == trace.Parameter || k == trace.Mark
}

// The flags in the code of a packed row's kind.
const (
	withRef = 1 << iota
	withAttrs
	isDerived
	flagBits = 3
)

// countFollows in the place of an operand count means that the count follows separately.
const countFollows = 15

// Append appends the difference between row c and row base, which readers derive from the record
// alone.
//
// The bytes are: the kind's code with flags, the reference if it differs, the number of leading
// operands that are equal, the other operands, and the attributes if they differ.
func (r *Rows) Append(b []byte, d *trace.Definitions, c, base *trace.Cursor) []byte {
	code := r.code(c.Kind()) << flagBits
	keys, values := c.Attrs()
	baseKeys, baseValues := base.Attrs()
	attrs := !slices.Equal(keys, baseKeys) || !slices.Equal(values, baseValues)
	if c.Ref() != base.Ref() {
		code |= withRef
	}
	if attrs {
		code |= withAttrs
	}
	if c.Derived() {
		code |= isDerived
	}
	b = binary.AppendUvarint(b, code)
	if code&withRef != 0 {
		b = binary.AppendUvarint(b, uint64(c.Ref()+1)) // NoRef becomes 0
	}
	ops := c.Ops()
	same := sameOperands(c, base)
	same = min(same, countFollows)
	rest := ops[same:]
	b = append(b, byte(same<<4|min(len(rest), countFollows)))
	if len(rest) >= countFollows {
		b = binary.AppendUvarint(b, uint64(len(rest)-countFollows))
	}
	spec := d.Spec(c.Kind())
	for i, v := range rest {
		b = appendOperand(b, operandType(spec, same+i), v)
	}
	if attrs {
		b = appendAttributes(b, c, base)
	}
	return b
}

// AppendWhole appends row c, except for the parts that the record holds itself: the id of a claim if claim is set, and
// the attributes according to held, which has an element for each of them, or none. Rows that differ only in these
// parts are packed into the same bytes. [Restorer.Amend] restores the row from a row of kind NoOp with the id as its
// only operand, and the attributes of the record.
func (r *Rows) AppendWhole(b []byte, d *trace.Definitions, c *trace.Cursor, claim bool,
	held []AttributeStorage) []byte {
	r.base.Reset(0)
	r.base.Add(0, 0, trace.NoOp, trace.NoRef)
	if claim {
		r.base.AddOps(c.Op(0))
	}
	keys, values := c.Attrs()
	for i, h := range held {
		switch h {
		case StoredExactly:
			r.base.AddAttr(keys[i], values[i])
		case StoredInexactly:
			r.base.AddAttr(keys[i], trace.Value{Type: trace.None, Num: math.MaxUint64})
		}
	}
	base := r.base.Cursor()
	base.Next()
	return r.Append(b, d, c, &base)
}

// AppendAbsent appends a packed row for a record that stands for no row of the trace: the end of an operation whose
// begin has the packed row of the whole operation. [Restorer.Amend] removes the row of such a record.
func (r *Rows) AppendAbsent(b []byte) []byte {
	return append(binary.AppendUvarint(b, r.code(trace.NoKind)<<flagBits), 0)
}

// code returns the number of a kind, which it assigns if needed.
func (r *Rows) code(k trace.Kind) uint64 {
	if int(k) >= len(r.codes) || r.codes[k] == 0 {
		r.append(k)
	}
	return uint64(r.codes[k] - 1)
}

// HasClaim reports whether row c has the id of a claim, which [Rows.AppendWhole] can leave out.
func HasClaim(c *trace.Cursor) bool {
	return (c.Kind() == trace.ClaimBegin || c.Kind() == trace.ClaimEnd) && len(c.Ops()) > 0
}

// NeedsAttributes reports whether [Restorer.Amend] needs the attributes of the record to restore a packed row.
func (r *Restorer) NeedsAttributes(data []byte) bool {
	return r.adds || len(data) == 0 || data[0]&withAttrs == 0
}

// sameOperands returns the number of leading operands of c that equal those of base.
func sameOperands(c, base *trace.Cursor) (n int) {
	ops, list := c.Ops(), base.Ops()
	for n < len(ops) && n < len(list) && ops[n] == list[n] {
		n++
	}
	return n
}

// otherOperands returns a bit for each operand of c that differs in base or is not in it. The last
// bit stands for all further operands.
func otherOperands(c, base *trace.Cursor) (bits uint64) {
	list := base.Ops()
	for i, v := range c.Ops() {
		if i >= len(list) || list[i] != v {
			bits |= 1 << min(i, 63)
		}
	}
	return bits
}

// valueTypes are the types of values by their numbers in packed rows.
var valueTypes = [...]trace.Type{trace.None, trace.Uint8, trace.Uint16, trace.Uint32, trace.Uint64, trace.Int8,
	trace.Int16, trace.Int32, trace.Int64,
	trace.Float32, trace.Float64, trace.String, trace.AttributeRef, trace.LocationRef, trace.RegionRef, trace.GroupRef,
	trace.MetricRef, trace.CommRef,
	trace.ParameterRef, trace.WindowRef, trace.SourceRef, trace.CallingContextRef, trace.InterruptGeneratorRef,
	trace.FileRef, trace.HandleRef,
	trace.LocationGroupRef, trace.Char, trace.Bytes, trace.Bool}

// operandType returns the type of operand i. Operands beyond the last listed one have its type, because some
// kinds repeat their last operand.
func operandType(spec *trace.KindSpec, i int) trace.OperandType {
	if n := len(spec.Operands); i < n {
		return spec.Operands[i].Type
	} else if n > 0 {
		return spec.Operands[n-1].Type
	}
	return trace.OpInt
}

// appendOperand appends an operand as a number.
func appendOperand(b []byte, t trace.OperandType, v uint64) []byte {
	switch t {
	case trace.OpInt, trace.OpTime, trace.OpDuration:
		return binary.AppendVarint(b, int64(v))
	case trace.OpFloat:
		return binary.AppendUvarint(b, bits.ReverseBytes64(v))
	}
	return binary.AppendUvarint(b, v+1) // Undefined becomes 0
}

// errTruncated reports packed bytes that end too early.
var errTruncated = errors.New("packed bytes that are cut off")

// Unpacker reads values from packed bytes. After an error all values are zero.
type Unpacker struct {
	Data []byte // the bytes that remain; Bytes returns parts of them
	Err  error  // the first error; nil if there is none
}

// Uvarint reads a number as [binary.Uvarint] does. If the bytes end too early, it sets Err.
func (u *Unpacker) Uvarint() uint64 {
	if len(u.Data) > 0 && u.Data[0] < 0x80 { // most numbers have one byte
		v := u.Data[0]
		u.Data = u.Data[1:]
		return uint64(v)
	}
	v, n := binary.Uvarint(u.Data)
	if n <= 0 {
		u.Err, u.Data = errTruncated, nil
		return 0
	}
	u.Data = u.Data[n:]
	return v
}

func (u *Unpacker) byte() byte {
	if len(u.Data) == 0 {
		u.Err = errTruncated
		return 0
	}
	v := u.Data[0]
	u.Data = u.Data[1:]
	return v
}

// count returns n, the number of items that follow, if the remaining bytes can hold n items of at least one
// byte each. Otherwise it fails and returns 0.
func (u *Unpacker) count(n uint64) int {
	if n > uint64(len(u.Data)) {
		u.Err, u.Data = errTruncated, nil
		return 0
	}
	return int(n)
}

func (u *Unpacker) varint() int64 {
	v := u.Uvarint()
	return int64(v>>1) ^ -int64(v&1)
}

// Bytes reads a number, and as many bytes as it states. The result shares the memory of Data. If the bytes end too
// early, it sets Err.
func (u *Unpacker) Bytes() []byte {
	n := u.count(u.Uvarint())
	b := u.Data[:n]
	u.Data = u.Data[n:]
	return b
}

func (u *Unpacker) text() string { return string(u.Bytes()) }

// value reads a value that [appendValue] has appended.
func (u *Unpacker) value() trace.Value {
	typ, text, n := u.rawValue()
	return trace.Value{Type: typ, Str: string(text), Num: n}
}

// rawValue is like value. The text shares the memory of Data.
func (u *Unpacker) rawValue() (typ trace.Type, text []byte, n uint64) {
	i := int(u.byte())
	if i >= len(valueTypes) {
		u.Err, u.Data = fmt.Errorf("found a packed value of type %d, expected less than %d", i, len(valueTypes)), nil
		return typ, nil, 0
	}
	if typ = valueTypes[i]; typ == trace.String || typ == trace.Bytes {
		return typ, u.Bytes(), 0
	}
	return typ, nil, u.Uvarint()
}

// packedKind holds the properties of a kind that packed rows have.
type packedKind struct {
	kind trace.Kind
	spec *trace.KindSpec
	refs uint64 // size of the table to which references refer
}

// Packs reports whether the trace has packed rows of any of the given kinds.
func (r *Restorer) Packs(kinds ...trace.Kind) bool {
	return slices.ContainsFunc(r.codes, func(c packedKind) bool { return slices.Contains(kinds, c.kind) })
}

// PackedKind returns the kind of a packed row.
func (r *Restorer) PackedKind(data []byte) (trace.Kind, error) {
	k, _, err := r.kind(&Unpacker{Data: data})
	if err != nil {
		return trace.NoKind, err
	}
	return k.kind, nil
}

// kind reads the code of a packed row, and returns its kind.
func (r *Restorer) kind(u *Unpacker) (k *packedKind, code uint64, err error) {
	code = u.Uvarint()
	if u.Err != nil {
		return nil, 0, u.Err
	}
	if code>>flagBits >= uint64(len(r.codes)) {
		return nil, 0, fmt.Errorf("packed row: found kind %d of %d", code>>flagBits, len(r.codes))
	}
	return &r.codes[code>>flagBits], code, nil
}

// Amend replaces the last row of b, which the caller has derived from the record alone, by the row that was
// packed into data. It removes the row if the record stands for no row of the trace. If data is invalid, it returns an
// error and leaves the row unchanged.
func (r *Restorer) Amend(b *trace.Batch, data []byte) error {
	u := Unpacker{Data: data}
	row := b.Len() - 1
	k, code, err := r.kind(&u)
	if err != nil {
		return err
	}
	if k.kind == trace.NoKind {
		b.DropLast()
		return nil
	}
	ref := b.Ref[row]
	if code&withRef != 0 {
		ref = uint32(u.Uvarint()) - 1
	}
	if ref != trace.NoRef && uint64(ref) >= k.refs {
		return fmt.Errorf("packed row: found reference %d to nothing", ref)
	}
	counts := u.byte()
	same, rest := int(counts>>4), uint64(counts&15)
	if rest == countFollows {
		rest += u.Uvarint()
	}
	// The operands change in place. In case of an error, they are restored.
	start := len(b.Op) - len(b.LastOps())
	if u.Err != nil || same > len(b.Op)-start {
		return errTruncated
	}
	var room [8]uint64
	replaced := append(room[:0], b.Op[start+same:]...)
	ops := b.Op[:start+same]
	for i := range same + u.count(rest) {
		typ := operandType(k.spec, i)
		if i >= same {
			v := u.Uvarint()
			switch typ {
			case trace.OpInt, trace.OpTime, trace.OpDuration:
				v = v>>1 ^ -(v & 1)
			case trace.OpFloat:
				v = bits.ReverseBytes64(v)
			default:
				v--
			}
			ops = append(ops, v)
		}
		if v := ops[start+i]; v >= r.maxOperands[typ] && v != trace.Undefined && u.Err == nil {
			u.Err = fmt.Errorf("packed row: found operand %d, a reference to nothing", v)
			break
		}
	}
	var attrs attributeList
	if code&withAttrs != 0 {
		attrs = r.attributes(&u, b)
	}
	if u.Err != nil {
		b.Op = append(ops[:start+same], replaced...)
		return u.Err
	}
	b.Kind[row], b.Ref[row], b.Op = k.kind, ref, ops
	b.EndLastOps(start)
	if code&withAttrs != 0 {
		b.DropLastAttrs()
		for i, k := range attrs.keys {
			b.AddAttr(k, attrs.values[i])
		}
	}
	if code&isDerived != 0 {
		b.MarkDerived()
	}
	return nil
}

// Continue gives the kinds of d the codes that they have in the packed rows of r, so that rows that do not change have
// the same bytes. It must be called before a row is packed.
func (r *Rows) Continue(d *trace.Definitions, x *Restorer) {
	known := map[string]trace.Kind{trace.NoKind.Spec().Name: trace.NoKind}
	for _, k := range trace.Kinds() {
		known[k.Spec().Name] = k
	}
	for i := range d.Kinds.Len() {
		known[d.Kinds.At(uint32(i)).Name] = trace.Declared + trace.Kind(i)
	}
	for _, c := range x.codes {
		k, ok := known[x.defs.Spec(c.kind).Name]
		if !ok {
			k = trace.NoKind // d has lost this kind, and no row has it
		}
		r.append(k)
	}
}

// append appends a kind to the list of kinds. The index of the entry becomes the code of the kind, unless the kind has
// a code.
func (r *Rows) append(k trace.Kind) {
	for int(k) >= len(r.codes) {
		r.codes = append(r.codes, 0)
	}
	r.kinds = append(r.kinds, k)
	if r.codes[k] == 0 {
		r.codes[k] = uint32(len(r.kinds))
	}
}

// names returns the names of the kinds in the order of their codes.
func (r *Rows) names(d *trace.Definitions) (names []string) {
	if r != nil {
		for _, k := range r.kinds {
			names = append(names, d.Spec(k).Name)
		}
	}
	return names
}
