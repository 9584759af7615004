package suggest

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/analysis/internal/claims"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// Limits of a [Miner].
const (
	MaxNames  = 256     // greatest number of names of events, starts and ends that are compared
	MaxValues = 100_000 // greatest range of the values of [Options.By]
	maxPairs  = 8 << 20 // greatest number of pairs of names, added up over objects
	pairBytes = 24      // size of a pair in bytes
	// namePairs is the memory for the occurrences of a name, as a number of pairs of the same size. indexesPerPair is
	// the number of indexes of names in an object that need as much memory as a pair.
	namePairs      = 4
	indexesPerPair = pairBytes / 4
)

// LimitError reports that a trace exceeds a limit of a [Miner].
type LimitError struct{ text string }

// Error returns what was found, and what was expected.
func (e *LimitError) Error() string { return e.text }

// Event selects the states of a claim or call to which a [Name] refers.
type Event uint8

// The events of a name.
const (
	Plain Event = iota // an event that is neither a start nor an end
	Start              // the begin of a claim or call
	End                // the end of a claim or call
)

// Name identifies events that the miner compares with each other.
type Name struct {
	Event Event
	Name  string
}

// Options are the settings of [Miner.Add].
type Options struct {
	// Window selects the events in it. Nil selects all events. If a claim began before the window, only
	// its end counts.
	Window *trace.Window
	// Location selects locations. Nil selects all. The function must be safe for concurrent use.
	Location func(location uint32) bool
}

// Miner collects the delays and orders of events that it observes in traces.
type Miner struct {
	// By is the attribute that identifies objects, or "". Events with the same value of this attribute belong
	// to one object. By must not change after a trace has been added.
	By string
	// From and To are the least and the greatest whole number among the values of By. They are valid if Any is
	// set. Other is the number of values that are not whole numbers.
	From, To int64
	Any      bool
	Other    int
	// LeftOut counts the names beyond the first MaxNames, and the names that a specification cannot contain.
	LeftOut int

	names   map[Name]int32 // -1 for a name that is left out
	symbols []symbol
	pairs   [][]pair // indexed by both names of the pair
	claims  map[string]bool
	values  map[string]bool // indexed by value of By: whether the value is a whole number
}

// symbol holds the sums over the events with a name. Times are in seconds.
type symbol struct {
	Name
	count   int64
	objects int64 // number of objects in all traces
	gaps    delays
}

// delays holds statistics of differences of times, in seconds. The type [tickDelays] holds the same for a
// single trace, in ticks.
type delays struct {
	count    int64
	min, max *big.Rat
	sum      float64
}

// pair holds the sums over the events of two names, A and B, within objects.
type pair struct {
	delays             // delays from each A to the first B at the same or a later state
	undecided int64    // number of A without a B after it
	wait      *big.Rat // the greatest time from the first undecided A to the end of its trace
	answers   int64    // number of B that are the first B after an A
	ordered   int64    // number of objects in which no B comes before the first A
}

// NewMiner returns a miner for events whose attribute by has the same value, or for all events if by is "".
func NewMiner(by string) *Miner {
	return &Miner{By: by, names: map[Name]int32{}, claims: map[string]bool{}, values: map[string]bool{}}
}

// Add reads a trace. For each event, the time is proportional to the number of names in the event's object,
// which is at most [MaxNames]. The memory is about 100 bytes for each name of each object, for each pair of
// names, and for each open claim. It is 24 bytes more for each pair of names of an object that has many events
// with the same name.
func (m *Miner) Add(ctx context.Context, events format.Events, opt Options) error {
	p := &part{Miner: m, defs: events.Defs(), window: opt.Window, objects: map[string]*object{},
		open: claims.NewPairs[openClaim](events.Defs()), known: map[labelKey]*label{}}
	sel := trace.Events()
	sel.NoStates, sel.Location = true, opt.Location
	if opt.Window != nil {
		sel.To = opt.Window.To
	}
	if err := events.Scan(ctx, sel, format.GlobalOrder, p); err != nil {
		return err
	}
	p.finish()
	p.merge()
	return nil
}

// symbol returns the index of a name, or -1 if it is left out.
func (m *Miner) symbol(n Name) int32 {
	if i, ok := m.names[n]; ok {
		return i
	}
	i := int32(len(m.symbols))
	switch {
	case n.Name == "":
		i = -1
	case i >= MaxNames || strings.Contains(n.Name, "\n"): // a specification cannot contain a line break
		m.LeftOut++
		i = -1
	default:
		m.symbols = append(m.symbols, symbol{Name: n})
	}
	m.names[Name{n.Event, strings.Clone(n.Name)}] = i
	return i
}

// isInteger reports whether a value of By is a whole number in the form that specifications use.
func (m *Miner) isInteger(value string) (bool, error) {
	if ok, known := m.values[value]; known {
		return ok, nil
	}
	n, ok := parseWhole(value)
	m.values[strings.Clone(value)] = ok
	if !ok {
		m.Other++
		return false, nil
	}
	if !m.Any {
		m.From, m.To, m.Any = n, n, true
	}
	m.From, m.To = min(m.From, n), max(m.To, n)
	if uint64(m.To)-uint64(m.From) >= MaxValues {
		return false, &LimitError{fmt.Sprintf("found values of %s from %d to %d, or more, expected a range of at most %d",
			m.By, m.From, m.To, MaxValues)}
	}
	return true, nil
}

// parseWhole parses a whole number. ok is false if the text is not in the form that a specification uses.
func parseWhole(s string) (n int64, ok bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && strconv.FormatInt(n, 10) == s
}

// part collects the observations in one trace. Times are in ticks.
type part struct {
	*Miner
	defs    *trace.Definitions
	window  *trace.Window
	objects map[string]*object
	held    int // approximate number of pairs of names that would take as much memory as all objects
	open    *claims.Pairs[openClaim]
	known   map[labelKey]*label
	ticks   [][]tickPair // indexed by both names of the pair
	gaps    []tickDelays
	counts  []int64
	full    []string // full names of locations
	base    int64    // time of the first state
	last    int64    // time of the last state
	any     bool
	current []int32 // names of the current event
}

type tickDelays struct {
	count    int64
	min, max uint64
	sum      float64
}

type tickPair struct {
	tickDelays
	undecided, answers, ordered int64
	wait                        uint64
}

// add adds n delays with the given sum. least and greatest are the extremes of these delays.
func (d *tickDelays) add(n int64, least, greatest uint64, sum float64) {
	if d.count == 0 {
		d.min = least
	}
	d.min, d.max = min(d.min, least), max(d.max, greatest)
	d.count += n
	d.sum += sum
}

// object holds the events of an object.
type object struct {
	at     []int32 // indexed by name: 1 plus the index in names
	names  []occurrences
	events int64 // number of events so far
	// open is indexed by A and B. It is nil while the occurrences of the names contain all necessary data (see
	// part.pending). A trace may have many objects, and most of them have few events with the same name.
	open [][]pending
}

// occurrences holds the occurrences of a name in an object. The events of an object are numbered from 1.
type occurrences struct {
	symbol      int32
	count       int64
	first, last int64
	sum         float64
	begin, at   int64 // numbers of the first and of the last event
	// value of at for the previous event, until the current event has been processed; 0 if there is none
	answered int64
}

// pending describes the events A after the last B.
type pending struct {
	count  int64
	oldest int64
	sum    float64
}

// openClaim is a claim or call that has begun and not ended.
type openClaim struct {
	names   []int32 // names of the end of the claim
	objects []*object
}

// labelKey identifies events without attributes that have the same names.
type labelKey struct {
	kind     trace.Kind
	ref      uint32
	location uint32
}

type label struct {
	names, ends []int32
	objects     []*object
}

// Links ignores links.
func (p *part) Links([]trace.Link) error { return nil }

// Batch processes events.
func (p *part) Batch(b *trace.Batch) error {
	c := b.Cursor()
	for c.Next() {
		k := c.Kind()
		if !k.IsEvent() || k == trace.Fragment || k == trace.Metric || k == trace.SampleRange {
			continue
		}
		counts := p.window == nil || c.Time() >= p.window.From
		if counts {
			if !p.any {
				p.base, p.any = c.Time(), true
			}
			p.last = c.Time()
		}
		var names []int32
		var objects []*object
		switch k {
		case trace.Leave, trace.ClaimEnd:
			x, _ := p.open.End(&c)
			names, objects = x.names, x.objects
		default:
			l, err := p.label(&c)
			if err != nil {
				return err
			}
			names, objects = l.names, l.objects
			if k == trace.Enter || k == trace.ClaimBegin {
				p.open.Begin(&c, openClaim{l.ends, objects})
			}
		}
		if !counts || len(names) == 0 {
			continue
		}
		for _, o := range objects {
			p.occur(o, names, c.Time())
			if p.held > maxPairs {
				return &LimitError{fmt.Sprintf("found %d objects with more events of different names than %d MiB can hold, "+
					"expected fewer; a window or a selection of locations leaves fewer", len(p.objects), maxPairs*pairBytes>>20)}
			}
		}
	}
	return nil
}

// label returns the names and objects of an event.
func (p *part) label(c *trace.Cursor) (*label, error) {
	keys, values := c.Attrs()
	key := labelKey{c.Kind(), c.Ref(), c.Location()}
	claim := c.Kind() == trace.Enter || c.Kind() == trace.ClaimBegin
	operand := -1 // index of the operand whose name is By, or -1; as in package facts, the id of a mark does not count
	if !claim && c.Kind() != trace.Mark && !p.defs.AttributesAlone() && p.By != "" {
		operand = slices.IndexFunc(p.defs.Spec(c.Kind()).Operands, func(o trace.Operand) bool { return o.Name == p.By })
	}
	same := len(keys) == 0 && operand < 0 // whether the event has the same names as other events of its kind
	if l := p.known[key]; l != nil && same {
		return l, nil
	}
	l := &label{}
	name := func(s string) {
		if claim {
			p.claims[s] = true
			l.names = appendNew(l.names, p.symbol(Name{Start, s}))
			l.ends = appendNew(l.ends, p.symbol(Name{End, s}))
		} else {
			l.names = appendNew(l.names, p.symbol(Name{Plain, s}))
		}
	}
	var by []string
	for i, k := range keys {
		if !p.defs.Attributes.Has(k) {
			continue
		}
		if n := p.defs.Attributes.At(k).Name; n == "name" || n == p.By {
			v := strings.Clone(values[i].String())
			if n == "name" {
				name(v)
			}
			if n == p.By {
				by = append(by, v)
			}
		}
	}
	if !p.defs.AttributesAlone() {
		if s, ok := p.defs.RefName(p.defs.Spec(c.Kind()).Ref, c.Ref()); ok {
			name(s)
		}
		by = append(by, p.place(c)...)
		if ops := c.Ops(); operand >= 0 && operand < len(ops) && ops[operand] != trace.Undefined {
			by = append(by, p.operand(c.Kind(), operand, ops[operand]))
		}
	}
	if p.By == "" {
		by = []string{""}
	}
	for i, v := range by {
		if slices.Contains(by[:i], v) {
			continue
		}
		if p.By != "" {
			if ok, err := p.isInteger(v); err != nil {
				return nil, err
			} else if !ok {
				continue
			}
		}
		o := p.objects[v]
		if o == nil {
			o = &object{}
			p.objects[v] = o
		}
		l.objects = append(l.objects, o)
	}
	if same {
		p.known[key] = l
	}
	return l, nil
}

// operand formats an operand of an event as package verify does.
func (p *part) operand(k trace.Kind, i int, v uint64) string {
	o := &p.defs.Spec(k).Operands[i]
	if name, ok := p.defs.OperandName(o.Type, v); ok {
		return name
	}
	if name, ok := p.defs.EnumName(k, o, v); ok {
		return name
	}
	return strconv.FormatUint(v, 10)
}

// place returns the objects of an event if By is the location or the group. The objects are the id and the
// name of the location or group, if these are whole numbers.
func (p *part) place(c *trace.Cursor) []string {
	if p.By != "location" && p.By != "group" || !p.defs.Locations.Has(c.Location()) {
		return nil
	}
	l := p.defs.Locations.At(c.Location())
	list := []string{l.ID, l.Name}
	if p.By == "group" {
		if !p.defs.Groups.Has(l.Group) {
			return nil
		}
		g := p.defs.Groups.At(l.Group)
		list = []string{g.ID, g.Name}
	} else {
		if p.full == nil {
			p.full = p.defs.FullNames()
		}
		if c.Location() < uint32(len(p.full)) {
			list = append(list, p.full[c.Location()])
		}
	}
	return slices.DeleteFunc(list, func(s string) bool {
		_, ok := parseWhole(s)
		return !ok
	})
}
