// Package carrier packs data for which a format has no record into bytes or texts that the format
// can hold, and restores them: definitions in compressed form ([Pack]), rows in a few bytes
// ([Rows]) or as readable key=value pairs, and links in blocks ([PackLinks]). Encoders use it so
// that a trace survives the conversion to a poorer format and back. Decoders recognise the data.
// docs/formats/carried.md describes the bytes.
package carrier

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/digits"
	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/trace"
)

// Pair is a key with a value.
type Pair struct{ Key, Value string }

// header is the first carried definition. It describes the carried trace and the packed rows.
type header struct {
	Version int         `json:"version"`
	Origin  string      `json:"origin"`
	Clock   trace.Clock `json:"clock"`
	// Kinds are the names of the kinds of packed rows, indexed by code.
	Kinds []string `json:"kinds,omitempty"`
	// Adds states that packed rows have only the attributes that their records lack. In traces of earlier versions, they
	// have all attributes if the record lacks any.
	Adds bool `json:"adds,omitempty"`
	// Encoding is the encoding of the file from which the definitions come.
	Encoding trace.Encoding `json:"encoding,omitempty"`
}

// table describes how one definition table is carried.
type table struct {
	name string
	len  func(*trace.Definitions) int
	get  func(*trace.Definitions, int) any
	add  func(*trace.Definitions, []byte) error
}

// tableOf describes the table called name. Function t returns that table of a trace's definitions.
func tableOf[T any](name string, t func(*trace.Definitions) *trace.Table[T]) table {
	return table{name,
		func(d *trace.Definitions) int { return t(d).Len() },
		func(d *trace.Definitions, i int) any { return t(d).At(uint32(i)) },
		func(d *trace.Definitions, b []byte) error {
			var v T
			if err := json.Unmarshal(b, &v); err != nil {
				return err
			}
			t(d).Add(v)
			return nil
		}}
}

// tables holds the tables of definitions that a written file can carry.
var tables = []table{
	tableOf("property", func(d *trace.Definitions) *trace.Table[trace.Attr] { return &d.Properties }),
	tableOf("string", func(d *trace.Definitions) *trace.Table[string] { return &d.Strings }),
	tableOf("group", func(d *trace.Definitions) *trace.Table[trace.LocationGroup] { return &d.Groups }),
	tableOf("location", func(d *trace.Definitions) *trace.Table[trace.Location] { return &d.Locations }),
	tableOf("region", func(d *trace.Definitions) *trace.Table[trace.Region] { return &d.Regions }),
	tableOf("set", func(d *trace.Definitions) *trace.Table[trace.Set] { return &d.Sets }),
	tableOf("communicator", func(d *trace.Definitions) *trace.Table[trace.Communicator] { return &d.Communicator }),
	tableOf("metric", func(d *trace.Definitions) *trace.Table[trace.MetricDef] { return &d.Metrics }),
	tableOf("resource", func(d *trace.Definitions) *trace.Table[trace.Resource] { return &d.Resources }),
	tableOf("attribute", func(d *trace.Definitions) *trace.Table[trace.AttributeDef] { return &d.Attributes }),
	tableOf("kind", func(d *trace.Definitions) *trace.Table[trace.KindDef] { return &d.Kinds }),
	tableOf("parameter", func(d *trace.Definitions) *trace.Table[trace.Named] { return &d.Parameters }),
	tableOf("window", func(d *trace.Definitions) *trace.Table[trace.Named] { return &d.Windows }),
	tableOf("context", func(d *trace.Definitions) *trace.Table[trace.Named] { return &d.Contexts }),
	tableOf("file", func(d *trace.Definitions) *trace.Table[trace.Named] { return &d.Files }),
	tableOf("handle", func(d *trace.Definitions) *trace.Table[trace.Named] { return &d.Handles }),
	tableOf("marker", func(d *trace.Definitions) *trace.Table[trace.Named] { return &d.Markers }),
	tableOf("operation", func(d *trace.Definitions) *trace.Table[trace.Named] { return &d.Operations }),
	tableOf("opaque", func(d *trace.Definitions) *trace.Table[trace.Opaque] { return &d.Opaque }),
}

// OpaqueLimit is the greatest size in bytes of an opaque record that is carried.
const OpaqueLimit = 4 << 10

// definitions returns all definitions of d as texts with unique keys such as "region.3". It leaves out
// reserved attributes from index used on, and opaque records of more than OpaqueLimit bytes. tooLong is the
// number of these records.
func definitions(d *trace.Definitions, rows *Rows, used int) (pairs []Pair, tooLong int64) {
	clock := d.Clock
	clock.Base = 0 // the times of the carrying file begin at 0
	h, _ := json.Marshal(header{1, d.Origin, clock, rows.names(d), rows != nil, d.Encoding})
	pairs = append(pairs, Pair{"trace", string(h)})
	for _, t := range tables {
		for i := range t.len(d) {
			v := t.get(d, i)
			if o, ok := v.(*trace.Opaque); ok && len(o.Data) > OpaqueLimit {
				tooLong++
				continue
			}
			if a, ok := v.(*trace.AttributeDef); ok && a.Reserved && i >= used {
				continue
			}
			b, err := json.Marshal(v)
			if err != nil {
				// Marshal fails only for values without a JSON form, such as infinite numbers. These are
				// written as text.
				b, _ = json.Marshal(fmt.Sprint(v))
			}
			pairs = append(pairs, Pair{t.name + "." + strconv.Itoa(i), string(b)})
		}
	}
	values := slices.SortedFunc(maps.Keys(d.ValueNames),
		func(a, b trace.Value) int { return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Num, b.Num)) })
	for i, v := range values {
		b, _ := json.Marshal(carriedName{v.Type, v.Num, d.ValueNames[v]})
		pairs = append(pairs, Pair{valueName + "." + strconv.Itoa(i), string(b)})
	}
	return pairs, tooLong
}

// valueName is the name of the table of names of values.
const valueName = "value-name"

// carriedName is the name of a value (see [trace.Definitions.ValueNames]).
type carriedName struct {
	Type trace.Type
	Num  uint64
	Name string
}

// Restorer restores definitions, events and links from carried texts and bytes.
type Restorer struct {
	defs  *trace.Definitions
	kinds map[string]trace.Kind
	codes []packedKind // kinds of packed rows, by code
	adds  bool         // packed rows have only the attributes that their records lack
	// maxOperands holds the greatest valid value of operands by type, except Undefined.
	maxOperands [trace.OpSource + 1]uint64
	// attrs holds the attributes by name.
	attrs map[string]uint32
	// Clock is the clock of the carried trace. Times inside carried texts are in its ticks. All
	// other times of the carrying file are in ticks of that file's own clock.
	Clock trace.Clock
}

// NewRestorer fills d from carried definitions, which can be in any order but must be complete. It
// returns an error for invalid ones.
func NewRestorer(d *trace.Definitions, pairs []Pair) (*Restorer, error) {
	r := &Restorer{defs: d, kinds: map[string]trace.Kind{}, attrs: map[string]uint32{}}
	byKey := make(map[string]string, len(pairs))
	for _, p := range pairs {
		byKey[p.Key] = p.Value
	}
	var h header
	if err := json.Unmarshal([]byte(byKey["trace"]), &h); err != nil || h.Version != 1 || !h.Clock.Valid() {
		return nil, fmt.Errorf("no carried definition of the trace that this version of weft knows")
	}
	for _, t := range tables {
		for i := 0; ; i++ {
			s, ok := byKey[t.name+"."+strconv.Itoa(i)]
			if !ok {
				break
			}
			if err := t.add(d, []byte(s)); err != nil {
				return nil, fmt.Errorf("carried definition %s.%d: %w", t.name, i, err)
			}
		}
	}
	if err := checkReferences(d); err != nil {
		return nil, err
	}
	for i := 0; ; i++ {
		s, ok := byKey[valueName+"."+strconv.Itoa(i)]
		if !ok {
			break
		}
		var n carriedName
		if err := json.Unmarshal([]byte(s), &n); err != nil {
			return nil, fmt.Errorf("carried definition %s.%d: %w", valueName, i, err)
		}
		d.NameValue(trace.Value{Num: n.Num, Type: n.Type}, n.Name)
	}
	d.Origin, d.Conventions, d.Encoding = h.Origin, format.Conventions(h.Origin), h.Encoding
	r.Clock, r.adds = h.Clock, h.Adds
	for _, k := range trace.Kinds() {
		r.kinds[k.Spec().Name] = k
	}
	for i := range d.Kinds.Len() {
		r.kinds[d.Kinds.At(uint32(i)).Name] = trace.Declared + trace.Kind(i)
	}
	for _, name := range h.Kinds {
		k, ok := r.kinds[name]
		if !ok && name != trace.NoKind.Spec().Name {
			return nil, fmt.Errorf("carried definitions: found kind %q, which this version of weft does not know", name)
		}
		r.codes = append(r.codes, packedKind{k, d.Spec(k), uint64(refLimit(d, d.Spec(k).Ref))})
	}
	for t := range r.maxOperands {
		r.maxOperands[t] = math.MaxUint64
		if n, ok := operandLimit(d, trace.OperandType(t)); ok {
			r.maxOperands[t] = uint64(n)
		}
	}
	for i := range d.Attributes.Len() {
		r.attrs[d.Attributes.At(uint32(i)).Name] = uint32(i)
	}
	return r, nil
}

// anyTable is a table of definitions, reduced to its size.
type anyTable interface{ Len() int }

// checkReferences checks the references between definitions.
func checkReferences(d *trace.Definitions) error {
	for _, x := range []struct {
		what  string
		table anyTable
		to    string
		in    anyTable
		ref   func(i int) uint32
	}{
		{"group", &d.Groups, "parent", &d.Groups, func(i int) uint32 { return d.Groups.At(uint32(i)).Parent }},
		{"location", &d.Locations, "group", &d.Groups, func(i int) uint32 { return d.Locations.At(uint32(i)).Group }},
		{"communicator", &d.Communicator, "set", &d.Sets, func(i int) uint32 { return d.Communicator.At(uint32(i)).Set }},
		{"communicator", &d.Communicator, "parent", &d.Communicator,
			func(i int) uint32 { return d.Communicator.At(uint32(i)).Parent }},
		{"metric", &d.Metrics, "location", &d.Locations, func(i int) uint32 { return d.Metrics.At(uint32(i)).Location }},
		{"resource", &d.Resources, "location", &d.Locations,
			func(i int) uint32 { return d.Resources.At(uint32(i)).Location }},
	} {
		for i := range x.table.Len() {
			if v := x.ref(i); v != trace.NoRef && int64(v) >= int64(x.in.Len()) {
				return fmt.Errorf("carried definition %s.%d: %s %d of %d", x.what, i, x.to, v, x.in.Len())
			}
		}
	}
	for i := range d.Groups.Len() {
		n := 0
		for g := d.Groups.At(uint32(i)).Parent; g != trace.NoRef; g = d.Groups.At(g).Parent {
			if n++; n > d.Groups.Len() {
				return fmt.Errorf("carried definition group.%d: contains itself", i)
			}
		}
	}
	return nil
}

// refLimit returns the size of the table to which the Ref of a kind refers, or 0 for kinds without
// a table.
func refLimit(d *trace.Definitions, k trace.RefKind) int {
	tables := [...]anyTable{
		trace.RefRegion: &d.Regions, trace.RefMetric: &d.Metrics, trace.RefCommunicator: &d.Communicator,
		trace.RefParameter: &d.Parameters, trace.RefWindow: &d.Windows, trace.RefContext: &d.Contexts,
		trace.RefHandle: &d.Handles,
		trace.RefFile:   &d.Files, trace.RefMarker: &d.Markers, trace.RefString: &d.Strings}
	if int(k) >= len(tables) || tables[k] == nil {
		return 0
	}
	return tables[k].Len()
}

// IsValidOperand reports whether a value is valid for an operand's type. A value that refers to a
// definition must be the index of one in d, or Undefined.
func IsValidOperand(d *trace.Definitions, t trace.OperandType, v uint64) bool {
	n, ok := operandLimit(d, t)
	return !ok || v == trace.Undefined || v < uint64(n)
}

// operandLimit returns the size of the table to which operands of a type refer. ok is false for
// types that do not refer to a table.
func operandLimit(d *trace.Definitions, t trace.OperandType) (n int, ok bool) {
	tables := [...]anyTable{trace.OpString: &d.Strings, trace.OpLocation: &d.Locations, trace.OpRegion: &d.Regions,
		trace.OpCommunicator: &d.Communicator, trace.OpMetric: &d.Metrics, trace.OpResource: &d.Resources,
		trace.OpFile:   &d.Files,
		trace.OpHandle: &d.Handles, trace.OpWindow: &d.Windows, trace.OpContext: &d.Contexts}
	if int(t) >= len(tables) || tables[t] == nil {
		return 0, false
	}
	return tables[t].Len(), true
}

// AppendKind appends the pairs with the kind and reference of an event.
func AppendKind(pairs []Pair, d *trace.Definitions, k trace.Kind, ref uint32) []Pair {
	pairs = append(pairs, Pair{"kind", d.Spec(k).Name})
	if ref != trace.NoRef && d.Spec(k).Ref != trace.RefNone {
		pairs = append(pairs, Pair{"ref", strconv.FormatUint(uint64(ref), 10)})
	}
	return pairs
}

// AppendRow appends the pairs with an event's operands and attributes.
func AppendRow(pairs []Pair, d *trace.Definitions, c *trace.Cursor) []Pair {
	spec := d.Spec(c.Kind())
	if ops := c.Ops(); len(ops) > 0 {
		for i := 0; i < len(ops) && i < len(spec.Operands); i++ {
			o := &spec.Operands[i]
			if i == len(spec.Operands)-1 && spec.Variadic {
				var b []byte
				for j, v := range ops[i:] {
					if j > 0 {
						b = append(b, ' ')
					}
					b = appendOp(b, o.Type, v)
				}
				pairs = append(pairs, Pair{o.Name, string(b)})
				break
			}
			pairs = append(pairs, Pair{o.Name, string(appendOp(nil, o.Type, ops[i]))})
		}
	}
	return AppendAttrs(pairs, d, c)
}

// AppendPlain appends the pairs that describe an event to human readers: its kind, its operands by
// name, and its attributes. weft does not read these pairs back.
func AppendPlain(pairs []Pair, d *trace.Definitions, c *trace.Cursor) []Pair {
	spec := d.Spec(c.Kind())
	pairs = append(pairs, Pair{"kind", spec.Name})
	ops := c.Ops()
	for i := 0; i < len(ops) && i < len(spec.Operands); i++ {
		o := &spec.Operands[i]
		text := string(appendOp(nil, o.Type, ops[i]))
		if name, ok := d.EnumName(c.Kind(), o, ops[i]); ok {
			text = name
		} else if name, ok := d.OperandName(o.Type, ops[i]); ok {
			text = name
		}
		pairs = append(pairs, Pair{o.Name, text})
	}
	return AppendPlainAttrs(pairs, d, c)
}

// AppendPlainAttrs appends the pairs that describe an event's attributes to human readers. The key "@#3" stands for the
// attribute with index 3, if its name is empty.
func AppendPlainAttrs(pairs []Pair, d *trace.Definitions, c *trace.Cursor) []Pair {
	keys, values := c.Attrs()
	for i, k := range keys {
		name := d.Attributes.At(k).Name
		if name == "" {
			name = unnamed(k)
		}
		pairs = append(pairs, Pair{name, values[i].String()})
	}
	return pairs
}

// AppendAttrs appends the pairs with an event's attributes. The key is "@name" for texts and
// "@name#type" for other types. The key "@#3" stands for the attribute with index 3, if its name is
// empty, ambiguous or has line ends. The type "#quoted" stands for texts with line ends.
func AppendAttrs(pairs []Pair, d *trace.Definitions, c *trace.Cursor) []Pair {
	keys, vals := c.Attrs()
	for i, k := range keys {
		name := "@" + d.Attributes.At(k).Name
		if name == "@" || strings.ContainsAny(name, "#\r\n") {
			name = unnamed(k)
		}
		value := vals[i].String()
		switch {
		case vals[i].Type != trace.String:
			name += "#" + vals[i].Type.String()
		case strings.ContainsAny(value, "\r\n"):
			name, value = name+"#"+quoted, strconv.Quote(value)
		}
		pairs = append(pairs, Pair{name, value})
	}
	return pairs
}

// unnamed returns the key of an attribute without a usable name.
func unnamed(k uint32) string { return "@#" + strconv.FormatUint(uint64(k), 10) }

// quoted stands for the type of texts that are carried in quotes.
const quoted = "quoted"

// appendOp appends an operand as text.
func appendOp(b []byte, t trace.OperandType, v uint64) []byte {
	if v == trace.Undefined && t != trace.OpInt && t != trace.OpFloat && t != trace.OpTime && t != trace.OpDuration {
		return append(b, '-')
	}
	switch t {
	case trace.OpInt, trace.OpTime, trace.OpDuration:
		return digits.AppendInt(b, int64(v))
	case trace.OpFloat:
		return strconv.AppendFloat(b, math.Float64frombits(v), 'g', -1, 64)
	}
	return digits.AppendUint(b, v)
}

// parseOp returns the operand that appendOp has appended.
func parseOp(t trace.OperandType, s string) (uint64, error) {
	if s == "-" {
		return trace.Undefined, nil
	}
	switch t {
	case trace.OpInt, trace.OpTime, trace.OpDuration:
		v, err := strconv.ParseInt(s, 10, 64)
		return uint64(v), err
	case trace.OpFloat:
		v, err := strconv.ParseFloat(s, 64)
		return math.Float64bits(v), err
	}
	return strconv.ParseUint(s, 10, 64)
}

// Kind returns the kind and reference of an event from the pairs "kind" and "ref". k is NoKind if
// pairs has no kind.
func (r *Restorer) Kind(pairs []Pair) (k trace.Kind, ref uint32, err error) {
	ref = trace.NoRef
	for _, p := range pairs {
		switch p.Key {
		case "kind":
			var ok bool
			if k, ok = r.kinds[p.Value]; !ok {
				return 0, ref, fmt.Errorf("kind %q", p.Value)
			}
		case "ref":
			n, err := strconv.ParseUint(p.Value, 10, 32)
			if err != nil {
				return 0, ref, fmt.Errorf("reference %q", p.Value)
			}
			ref = uint32(n)
		}
	}
	if ref != trace.NoRef && int(ref) >= refLimit(r.defs, r.defs.Spec(k).Ref) {
		return 0, ref, fmt.Errorf("reference %d to nothing", ref)
	}
	return k, ref, nil
}

// KindNamed returns the kind with a name. ok is false if the trace has none.
func (r *Restorer) KindNamed(name string) (k trace.Kind, ok bool) {
	k, ok = r.kinds[name]
	return k, ok
}

// AddOperands adds an event to b, with operands and without attributes. If the reference or an operand refers to
// nothing, it returns an error and leaves b unchanged.
func (r *Restorer) AddOperands(b *trace.Batch, loc uint32, t int64, k trace.Kind, ref uint32, ops []uint64) error {
	spec := r.defs.Spec(k)
	if ref != trace.NoRef && int(ref) >= refLimit(r.defs, spec.Ref) {
		return fmt.Errorf("reference %d to nothing", ref)
	}
	for i, v := range ops {
		if v >= r.maxOperands[operandType(spec, i)] && v != trace.Undefined {
			return fmt.Errorf("operand %d, a reference to nothing", v)
		}
	}
	b.Add(loc, t, k, ref)
	if len(ops) > 0 {
		b.AddOps(ops...)
	}
	return nil
}

// Add adds an event to b, with the operands and attributes in pairs. If they cannot be read, it
// returns an error and leaves b unchanged.
func (r *Restorer) Add(b *trace.Batch, loc uint32, t int64, k trace.Kind, ref uint32, pairs []Pair) error {
	err := r.add(b, loc, t, k, ref, pairs)
	if err != nil {
		b.DropLast()
	}
	return err
}

func (r *Restorer) add(b *trace.Batch, loc uint32, t int64, k trace.Kind, ref uint32, pairs []Pair) error {
	b.Add(loc, t, k, ref)
	spec := r.defs.Spec(k)
	var few [12]uint64
	ops := few[:0]
	for i := range spec.Operands {
		o := &spec.Operands[i]
		found := false
		for j := range pairs {
			if pairs[j].Key != o.Name {
				continue
			}
			found = true
			rest, more := pairs[j].Value, true
			for more {
				var s string
				s, rest, more = strings.Cut(rest, " ")
				v, err := parseOp(o.Type, s)
				if err != nil || !IsValidOperand(r.defs, o.Type, v) {
					return fmt.Errorf("operand %s=%q", o.Name, pairs[j].Value)
				}
				ops = append(ops, v)
			}
		}
		if !found {
			break
		}
		if variadic := spec.Variadic && i == len(spec.Operands)-1; len(ops) > i+1 && !variadic {
			return fmt.Errorf("operand %s with several values, expected one", o.Name)
		}
	}
	if len(ops) > 0 {
		b.AddOps(ops...)
	}
	return r.addAttrs(b, pairs)
}

// addAttrs adds the attributes in pairs to the last row of b.
func (r *Restorer) addAttrs(b *trace.Batch, pairs []Pair) error {
	for _, p := range pairs {
		name, ok := strings.CutPrefix(p.Key, "@")
		if !ok {
			continue
		}
		typ, value := trace.String, p.Value
		if i := strings.LastIndexByte(name, '#'); i > 0 {
			if t, ok := trace.ParseType(name[i+1:]); ok {
				typ, name = t, name[:i]
			} else if text, err := strconv.Unquote(value); err == nil && name[i+1:] == quoted {
				name, value = name[:i], text
			}
		}
		key, ok := r.attrs[name]
		if number, is := strings.CutPrefix(name, "#"); !ok && is {
			n, err := strconv.ParseUint(number, 10, 32)
			key, ok = uint32(n), err == nil && n < uint64(r.defs.Attributes.Len())
		}
		if !ok {
			return fmt.Errorf("attribute %q", name)
		}
		v, err := trace.ParseValue(typ, value)
		if err != nil {
			return fmt.Errorf("attribute %s: %w", name, err)
		}
		b.AddAttr(key, v)
	}
	return nil
}

// Links collects the links of a scan, in a temporary file if there are many, and delivers them
// after the events. The zero Links is ready to use.
type Links struct {
	mu     sync.Mutex
	sorter *extsort.Sorter
}

// Add adds links that [PackLinks] has packed. Blocks of links are delivered in the order of place. Several goroutines
// may call Add.
func (l *Links) Add(place int64, data []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sorter == nil {
		l.sorter = extsort.New(4<<20, "")
	}
	return l.sorter.Add(place, 0, data)
}

// Deliver delivers the links in batches. It returns an error if an end of a link is not at one of
// the given number of locations.
func (l *Links) Deliver(ctx context.Context, locations int, sink func([]trace.Link) error) error {
	if l.sorter == nil {
		return nil
	}
	it, err := l.sorter.Sort(ctx)
	if err != nil {
		return err
	}
	for {
		r, ok, err := it.Next()
		if err != nil || !ok {
			return err
		}
		links, err := UnpackLinks(r.Data, locations)
		if err != nil {
			return err
		}
		if err := sink(links); err != nil {
			return err
		}
	}
}

// Close frees the temporary files.
func (l *Links) Close() {
	if l.sorter != nil {
		l.sorter.Close()
	}
}

// Label returns the name of an event's kind and of the entry to which it refers, as a text for
// tools of a format without such events. defs must be the definitions of the cursor.
func Label(defs *trace.Definitions, c *trace.Cursor) string {
	spec := defs.Spec(c.Kind())
	if i := int(c.Ref()); c.Ref() != trace.NoRef {
		switch spec.Ref {
		case trace.RefRegion:
			return spec.Name + " " + defs.Regions.At(uint32(i)).Name
		case trace.RefMetric:
			return spec.Name + " " + defs.Metrics.At(uint32(i)).Name
		case trace.RefParameter:
			return spec.Name + " " + defs.Parameters.At(uint32(i)).Name
		case trace.RefString:
			return spec.Name + " " + *defs.Strings.At(uint32(i))
		}
	}
	return spec.Name
}
