package otf

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/carrier"
	"github.com/weft-trace/weft/trace"
)

// What a trace that weft wrote carries beyond OTF's own records is in key-value
// pairs with these keys: bytes of a comment in the definitions or of an event.
// docs/formats/otf.md, "Traces of other formats", describes them.
const (
	definitionKey = 0xfffffff1 // a definition of the model, as JSON; its name is the comment's text
	rowKey        = 0xfffffff2 // the kind, operands and attributes of an event
	locationKey   = 0xfffffff3 // the index of an event's location, if its process is another one
	linkKey       = 0xfffffff4 // a link, as JSON
	firstKey      = 0xfffffff0 // no keys of a trace's own from here on
)

// carriedText begins the text of a comment that carries a definition.
const carriedText = "weft "

// Names of definitions that only this package carries.
const baseName = "otf.base" // ticks of the file at which the model's time is 0

// laneProcess is the first process that stands for a lane of a resource.
const laneProcess = 0xf0000000

// tokens are the tokens of one table's entries: their own ids where those are
// different numbers that fit, else others. They depend on the entries before, and
// so may be asked while a table grows.
type tokens struct {
	own  bool // all numbers that fit are taken as they are
	list []uint32
	used map[uint32]bool
	id   func(i int) string
}

func (t *tokens) at(i int) uint32 {
	for n := len(t.list); n <= i; n++ {
		v, err := strconv.ParseUint(t.id(n), 10, 32)
		if err == nil && t.own {
			t.add(uint32(v))
			continue
		}
		if err != nil || v == 0 || v >= laneProcess || t.used[uint32(v)] || strconv.FormatUint(v, 10) != t.id(n) {
			for v = uint64(n) + 1; t.used[uint32(v)]; v++ {
			}
		}
		t.add(uint32(v))
	}
	return t.list[i]
}

func (t *tokens) add(token uint32) {
	if t.used == nil {
		t.used = map[uint32]bool{}
	}
	t.used[token] = true
	t.list = append(t.list, token)
}

// allTokens are the tokens of a trace's definitions.
type allTokens struct {
	locations, regions, communicators, metrics, attributes, files, markers tokens
}

func (t *allTokens) all() []*tokens {
	return []*tokens{&t.locations, &t.regions, &t.communicators, &t.metrics, &t.attributes, &t.files, &t.markers}
}

func newTokens(d *trace.Definitions) *allTokens {
	return &allTokens{
		locations:     tokens{id: func(i int) string { return d.Locations.At(uint32(i)).ID }},
		regions:       tokens{id: func(i int) string { return d.Regions.At(uint32(i)).ID }},
		communicators: tokens{id: func(i int) string { return d.Communicator.At(uint32(i)).ID }},
		metrics:       tokens{id: func(i int) string { return d.Metrics.At(uint32(i)).ID }},
		attributes:    tokens{id: func(i int) string { return d.Attributes.At(uint32(i)).ID }},
		files:         tokens{id: func(i int) string { return d.Files.At(uint32(i)).ID }},
		markers:       tokens{id: func(i int) string { return d.Markers.At(uint32(i)).ID }},
	}
}

// stringToken is the token of a group whose name is this entry of the strings.
func stringToken(i uint32) uint64 { return uint64(i) + 1 }

// fileClock is how the times of a file follow from those of a model.
type fileClock struct {
	scale uint64 // ticks of the file in one of the model
	base  uint64 // the file's time at the model's time 0
}

// newFileClock is the clock of a trace whose first event has this time; a file
// has no time before 0.
func newFileClock(c trace.Clock, first int64) fileClock {
	f := fileClock{scale: uint64(c.Den)}
	if ok, base := mul(first, f.scale); ok && first < 0 {
		f.base = -base
	}
	return f
}

// file is the file's time of a model's time; ok is false if it does not fit.
func (f fileClock) file(t int64) (v uint64, ok bool) {
	if f.scale > 1 {
		if ok, v = mul(t, f.scale); !ok {
			return 0, false
		}
		t = int64(v)
	}
	v = uint64(t) + f.base // of negative times too: it wraps around
	return v, t < 0 == (v < f.base) && v < math.MaxInt64
}

// model is the model's time of a file's.
func (f fileClock) model(v uint64) int64 {
	t := int64(v - f.base)
	if f.scale > 1 {
		t /= int64(f.scale)
	}
	return t
}

// mul multiplies; ok is false if the product does not fit.
func mul(t int64, by uint64) (ok bool, v uint64) {
	if by > math.MaxInt64 {
		return false, 0
	}
	p := t * int64(by)
	return t == 0 || p/int64(by) == t && p != math.MinInt64, uint64(p)
}

// appendPairs writes the pairs of an event: lengths and bytes, one after another.
func appendPairs(b []byte, pairs []carrier.Pair) []byte {
	for _, p := range pairs {
		b = append(binary.AppendUvarint(b, uint64(len(p.Key))), p.Key...)
		b = append(binary.AppendUvarint(b, uint64(len(p.Value))), p.Value...)
	}
	return b
}

// parsePairs reads what appendPairs wrote.
func parsePairs(pairs []carrier.Pair, b []byte) ([]carrier.Pair, error) {
	next := func() (string, bool) {
		n, k := binary.Uvarint(b)
		if k <= 0 || n > uint64(len(b)-k) {
			return "", false
		}
		s := string(b[k : k+int(n)])
		b = b[k+int(n):]
		return s, true
	}
	for len(b) > 0 {
		key, ok := next()
		value, more := next()
		if !ok || !more {
			return nil, fmt.Errorf("a carried event that is cut off")
		}
		pairs = append(pairs, carrier.Pair{Key: key, Value: value})
	}
	return pairs, nil
}

// carried finds the definitions that a trace carries.
func carried(list []*Record) (pairs []carrier.Pair) {
	for _, r := range list {
		name, ok := strings.CutPrefix(r.Text, carriedText)
		if v, found := r.Find(definitionKey); ok && found && r.Type == DefinitionComment {
			pairs = append(pairs, carrier.Pair{Key: name, Value: string(v.Bytes)})
		}
	}
	return pairs
}

// restore makes the model of carried definitions.
func restore(pairs []carrier.Pair) (*model, error) {
	d := &trace.Definitions{Format: "otf"}
	r, err := carrier.NewRestorer(d, pairs)
	if err != nil {
		return nil, err
	}
	d.Clock = r.Clock
	m := emptyModel(d)
	m.restorer, m.carried = r, true
	m.clock = fileClock{scale: uint64(d.Clock.Den)}
	for _, p := range pairs {
		if p.Key == baseName {
			if m.clock.base, err = strconv.ParseUint(p.Value, 10, 63); err != nil {
				return nil, fmt.Errorf("carried definition %s: found %q, expected a time", p.Key, p.Value)
			}
		}
	}
	m.learn(newTokens(d))
	return m, nil
}

// learn notes what the tokens of carried definitions name, of those that it does
// not know yet.
func (m *model) learn(t *allTokens) {
	d := m.defs
	for i := len(m.process); i < d.Locations.Len(); i++ {
		p := uint64(t.locations.at(i))
		m.process = append(m.process, p)
		m.locations[p] = uint32(i)
	}
	for _, x := range []struct {
		table, n int
		t        *tokens
	}{{functions, d.Regions.Len(), &t.regions}, {groups, d.Communicator.Len(), &t.communicators}, {counters, d.Metrics.Len(), &t.metrics},
		{keys, d.Attributes.Len(), &t.attributes}, {files, d.Files.Len(), &t.files}, {markers, d.Markers.Len(), &t.markers}} {
		for ; m.learnt[x.table] < x.n; m.learnt[x.table]++ {
			m.index[scopedToken{x.table, 0, uint64(x.t.at(m.learnt[x.table]))}] = uint32(m.learnt[x.table])
		}
	}
	for ; m.learnt[functionGroups] < d.Strings.Len(); m.learnt[functionGroups]++ {
		i := uint32(m.learnt[functionGroups])
		m.index[scopedToken{functionGroups, 0, stringToken(i)}] = i
		m.index[scopedToken{fileGroups, 0, stringToken(i)}] = i
	}
	for i := d.Attributes.Len() - 1; i >= 0; i-- {
		switch d.Attributes.At(uint32(i)).Name {
		case sclName:
			m.scl = uint32(i)
		case textName:
			m.comments = uint32(i)
		}
	}
}

// carriedPlace takes a link out of the events, and gives an event on a lane of a
// resource back to its location.
func (d *decoder) carriedPlace(r *Record) (link bool, err error) {
	if v, ok := r.Find(linkKey); ok && r.Type == EventComment {
		if d.links != nil {
			d.met++
			if _, err := carrier.ParseLink(string(v.Bytes)); err != nil {
				return true, d.badCarried(r, err)
			}
			return true, d.links.Add(d.met, string(v.Bytes))
		}
		d.odd = d.odd || d.trying // they come behind the events of all streams
		return true, nil
	}
	if v, ok := r.Find(locationKey); ok && v.Bits < uint64(len(d.model.process)) {
		r.Process = d.model.process[v.Bits]
	}
	return false, nil
}

func (d *decoder) badCarried(r *Record, err error) error {
	return d.r.opt.Read.Defect(&trace.Defect{Rule: "otf.carried", Severity: trace.Error, Position: trace.Position{File: d.r.src.Path},
		Record: fmt.Sprintf("%s at %d", r.Type, r.Time), Found: err.Error(), Expected: "what weft wrote; the record is read without it"})
}

// restoreRow adds the row that a record carries; if that cannot be read, one that
// says what the record says without it.
func (d *decoder) restoreRow(b *trace.Batch, loc uint32, t int64, r *Record, v *KeyValue) {
	pairs, err := parsePairs(nil, v.Bytes)
	if err == nil {
		var k trace.Kind
		var ref uint32
		if k, ref, err = d.restorer.Kind(pairs); err == nil && k == trace.NoKind {
			err = fmt.Errorf("a carried event without kind")
		}
		if err == nil {
			err = d.restorer.Add(b, loc, t, k, ref, pairs)
		}
	}
	if err == nil {
		for _, p := range pairs {
			if p.Key == derivedPair {
				b.MarkDerived()
			}
		}
		return
	}
	if err := d.badCarried(r, err); err != nil && d.err == nil {
		d.err = err
	}
	for i := range r.KeyValues {
		if r.KeyValues[i].Key == rowKey {
			r.KeyValues = append(r.KeyValues[:i], r.KeyValues[i+1:]...)
			break
		}
	}
	d.row(b, r)
}

func newLinks(d *decoder, sel trace.Selection) *carrier.Links {
	if sel.Links == trace.NoLinks || !d.carried {
		return nil
	}
	d.met = 0
	return &carrier.Links{}
}

// deliverLinks hands on the links that a scan met.
func (d *decoder) deliverLinks(ctx context.Context, sel trace.Selection, sink format.Sink) error {
	if d.links == nil {
		return nil
	}
	l := d.links
	d.links = nil
	defer l.Close()
	return l.Deliver(ctx, sink.Links)
}
