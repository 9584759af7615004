package otf

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/carrier"
	"github.com/weft-trace/weft/trace"
)

// What a trace that weft wrote carries beyond OTF's own records is in key-value
// pairs with these keys. docs/formats/otf.md, "Traces of other formats", describes them.
const (
	rowKey        = 1 // what the record of an event does not say of it
	locationKey   = 2 // the index of an event's location, if its process is another one
	linkKey       = 3 // packed links
	definitionKey = 4 // all definitions of the model, at the DefCreator
	lastKey       = 4 // keys of a trace's own come behind
)

// carriedName begins the names of these keys.
const carriedName = "weft."

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

// reserve keeps tokens up to the last for others.
func (t *tokens) reserve(last uint32) {
	t.used = map[uint32]bool{}
	for i := range last {
		t.used[i+1] = true
	}
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
	t := &allTokens{
		locations:     tokens{id: func(i int) string { return d.Locations.At(uint32(i)).ID }},
		regions:       tokens{id: func(i int) string { return d.Regions.At(uint32(i)).ID }},
		communicators: tokens{id: func(i int) string { return d.Communicator.At(uint32(i)).ID }},
		metrics:       tokens{id: func(i int) string { return d.Metrics.At(uint32(i)).ID }},
		attributes:    tokens{id: func(i int) string { return d.Attributes.At(uint32(i)).ID }},
		files:         tokens{id: func(i int) string { return d.Files.At(uint32(i)).ID }},
		markers:       tokens{id: func(i int) string { return d.Markers.At(uint32(i)).ID }},
	}
	t.attributes.reserve(lastKey)
	return t
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

// from is the first time of the model that is not before a file's.
func (f fileClock) from(v uint64) int64 {
	t := f.model(v)
	if x, ok := f.file(t); ok && x < v {
		t++
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

// carried finds the definitions that a trace carries, nil if it carries none.
func carried(list []*Record) []byte {
	for _, r := range list {
		if v, ok := r.Find(definitionKey); ok && r.Type == DefCreator && carrier.Packed(v.Bytes) {
			return v.Bytes
		}
	}
	return nil
}

// restore makes the model of carried definitions.
func restore(data []byte) (*model, error) {
	pairs, err := carrier.Unpack(data)
	if err != nil {
		return nil, err
	}
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
	if v, ok := r.Find(linkKey); ok && r.Type == NoOp {
		if d.links != nil {
			d.met++
			if _, err := carrier.UnpackLinks(v.Bytes, d.defs.Locations.Len()); err != nil {
				return true, d.badCarried(r, err)
			}
			return true, d.links.Add(d.met, v.Bytes)
		}
		d.odd = d.odd || d.trying && !d.unlinked // they come behind the events of all streams
		return true, nil
	}
	if v, ok := r.Find(locationKey); ok && v.Bits < uint64(len(d.model.process)) {
		r.Process = d.model.process[v.Bits]
	}
	return false, nil
}

// linksBehind tells whether the last lines of a file have links, which stand behind all events. Of a
// compressed file it does not know.
func (t *text) linksBehind() bool {
	if t.zip != nil {
		return false
	}
	var b [4 << 10]byte
	from := max(0, t.h.Size-int64(len(b)))
	n, _ := t.h.ReadAt(b[:], from)
	return bytes.Contains(b[:n], fmt.Appendf(nil, "\nK%xY%xV", linkKey, Bytes))
}

func (d *decoder) badCarried(r *Record, err error) error {
	return d.r.opt.Read.Defect(&trace.Defect{Rule: "otf.carried", Severity: trace.Error, Position: trace.Position{File: d.r.src.Path},
		Record: fmt.Sprintf("%s at %d", r.Type, r.Time), Found: err.Error(), Expected: "what weft wrote; the record is read without it"})
}

// amend makes the last row of b the one that its record carries, if it carries one that can be
// read.
func (d *decoder) amend(b *trace.Batch, r *Record) {
	v, ok := r.Find(rowKey)
	if !ok || v.Type != Bytes {
		return
	}
	if err := d.restorer.Amend(b, v.Bytes); err != nil {
		if err := d.badCarried(r, err); err != nil && d.err == nil {
			d.err = err
		}
	}
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
	return l.Deliver(ctx, d.defs.Locations.Len(), sink.Links)
}
