package transform

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// numbering assigns numbers to processors, event types and subsets in a merged trace, for traces
// whose records and data refer to them by number ([trace.Conventions.EventTypes]).
type numbering struct {
	// apart reports that the traces are not parts of one run, because two of them have records of the
	// same processor.
	apart      bool
	defs       *trace.Definitions // of the merged trace
	processors map[int64]int      // the trace of each number
	next       int64              // all processors of the traces have lower numbers
	events     map[int64]string   // names of event types
	labels     map[string]int64   // user event types by label
	nextEvent  int64
	sets       map[setID]string // members of each subset
	lowest     int64            // all subsets of the traces have numbers from here on
}

type setID struct {
	kind string
	id   int64
}

// The kinds of sets that PICL's subset records define.
const (
	processorSets = "processors"
	processSets   = "processes"
	eventSets     = "event types"
)

// hostNumber is the number of PICL's host.
const hostNumber = 32767

// ownNumbers translates the numbers of one trace.
type ownNumbers struct {
	*numbering
	trace      int
	own        []int64         // processors with records
	processors map[int64]int64 // numbers in the merged trace
	given      map[int64]bool  // the values of processors
	types      map[int64]int64
	used       map[int64]bool // the values of types
	sets       map[setID]int64
	all        int64   // the subset of the processors with records, 0 if there is none
	fields     []field // by attribute
	changed    bool    // some number changes
	hosts      int64   // hosts that became processors
	unknown    int64   // events whose data may refer to something with a changed number
}

// field is the meaning of the numbers in an attribute.
type field uint8

const (
	noField           field = iota
	processorField          // -1 is unknown
	receiverField           // a processor; -1 means all
	processorSetField       // a subset, or a processor
	processField
	processSetField
	dataField // unknown
)

var namedFields = map[string]field{
	"destination": receiverField, "source": processorField, "requestedProcessor": processorField,
	"processor": processorField, "processorSubset": processorSetField,
	"destinationProcess": processField, "sourceProcess": processField, "requestedProcess": processField,
	"process": processField, "processSubset": processSetField,
}

// newNumbering assigns numbers to the definitions of traces. It returns nil if the traces do not
// refer to anything by number.
func newNumbering(list []format.Events, unify bool, merged *trace.Definitions) (all []*ownNumbers) {
	n := &numbering{defs: merged, processors: map[int64]int{}, events: map[int64]string{}, labels: map[string]int64{},
		sets: map[setID]string{}, lowest: -2000}
	for i, d := range list {
		d := d.Defs()
		if len(list) == 1 || !d.Conventions.EventTypes || d.Origin != list[0].Defs().Origin {
			return nil
		}
		x := &ownNumbers{numbering: n, trace: i, processors: map[int64]int64{}, given: map[int64]bool{}, types: map[int64]int64{},
			used: map[int64]bool{}, sets: map[setID]int64{}}
		all = append(all, x)
		seen := map[int64]bool{}
		for _, l := range d.Locations.All() {
			p, _, ok := placeOf(l.ID)
			if !ok || p < 0 {
				continue
			}
			if p != hostNumber {
				n.next = max(n.next, p+1)
			}
			_, taken := n.processors[p]
			if l.Kind == trace.PeerLocation || seen[p] {
				continue
			}
			x.own = append(x.own, p)
			if seen[p] = true; !taken {
				n.processors[p] = i
			} else {
				n.apart = !unify
			}
		}
		for _, r := range d.Regions.All() {
			n.nextEvent = max(n.nextEvent, idNumber(r.ID)+1)
		}
		for _, s := range d.Sets.All() {
			id := idNumber(s.ID)
			n.nextEvent, n.lowest = max(n.nextEvent, id+1), min(n.lowest, id)
			if s.Kind == eventSets {
				n.nextEvent = max(n.nextEvent, slices.Max(append(slices.Clone(s.Members), -1))+1)
			}
		}
	}
	for i, d := range list {
		all[i].define(d.Defs())
	}
	return all
}

// placeOf parses the id of a location.
func placeOf(id string) (processor, process int64, ok bool) {
	a, b, _ := strings.Cut(id, "/")
	processor, err1 := strconv.ParseInt(a, 10, 64)
	process, err2 := strconv.ParseInt(b, 10, 64)
	return processor, process, err1 == nil && err2 == nil
}

// idNumber returns the number in an id, or -1 if the id is none.
func idNumber(id string) int64 {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// define assigns numbers to the definitions of the trace.
func (x *ownNumbers) define(d *trace.Definitions) {
	for _, p := range x.own {
		x.processor(p)
	}
	names := map[int64][]string{}
	for _, r := range d.Regions.All() {
		if e := idNumber(r.ID); e >= 0 {
			names[e] = append(names[e], r.Name)
		}
	}
	for _, s := range d.Sets.All() {
		if e := idNumber(s.ID); s.Kind == eventSets && e >= 0 {
			names[e] = append(names[e], fmt.Sprint(s.Members))
		}
	}
	for _, e := range slices.Sorted(maps.Keys(names)) {
		slices.Sort(names[e])
		x.eventType(e, names[e])
	}
	for _, s := range d.Sets.All() {
		x.set(setID{s.Kind, idNumber(s.ID)}, fmt.Sprint(x.members(s.Kind, s.Members)))
	}
}

// unlabelled returns the name of a user event type that has no label.
func unlabelled(event int64) string { return "event " + strconv.FormatInt(event, 10) }

// eventType assigns a number to a user event type with all of its names.
func (x *ownNumbers) eventType(e int64, names []string) int64 {
	key, to := strings.Join(names, "\n"), e
	had, taken := x.events[e]
	single := len(names) == 1 && key != unlabelled(e)
	same, labelled := x.labels[key]
	switch {
	case taken && (had == key || !x.apart && (had == unlabelled(e) || key == unlabelled(e))):
	case single && labelled && !x.used[same]:
		to = same
	case taken:
		to = x.nextEvent
	}
	x.types[e], x.used[to] = to, true
	x.changed = x.changed || to != e
	x.nextEvent = max(x.nextEvent, to+1)
	if _, taken := x.events[to]; !taken {
		x.events[to] = key
	}
	if single && !labelled {
		x.labels[key] = to
	}
	return to
}

// processor returns the number of a processor, or a subset of them, in the merged trace.
func (x *ownNumbers) processor(p int64) int64 {
	if p < -1 {
		return x.set(setID{processorSets, p}, "")
	}
	if p == -1 || !x.apart {
		return p
	}
	to, known := x.processors[p]
	if known {
		return to
	}
	to = p
	// A processor that data alone name may have the number that another one of the trace has been given.
	if owner, taken := x.numbering.processors[p]; taken && (owner != x.trace || x.given[p]) {
		if x.next == hostNumber {
			x.next++
		}
		to = x.next
		x.changed = true
	}
	if to != hostNumber {
		x.next = max(x.next, to+1)
	}
	x.processors[p], x.numbering.processors[to] = to, x.trace
	x.given[to] = true
	return to
}

// everyone returns the subset of the trace's processors with records, without the host, or -1 if
// the traces are parts of one run.
func (x *ownNumbers) everyone() int64 {
	if !x.apart {
		return -1
	}
	if x.all == 0 {
		s := trace.Set{Kind: processorSets}
		for _, p := range x.own {
			if p != hostNumber {
				s.Members = append(s.Members, x.processor(p))
			}
		}
		slices.Sort(s.Members)
		x.lowest--
		x.all = x.lowest
		x.numbering.sets[setID{s.Kind, x.all}] = fmt.Sprint(s.Members)
		s.ID = strconv.FormatInt(x.all, 10)
		x.defs.Sets.Add(s)
	}
	return x.all
}

// event returns the number of an event type, or a subset of them.
func (x *ownNumbers) event(e int64) int64 {
	if to, ok := x.types[e]; ok {
		return to
	}
	if e >= 0 {
		return x.eventType(e, []string{unlabelled(e)})
	}
	if to, ok := x.sets[setID{eventSets, e}]; ok {
		return to
	}
	return e
}

// set returns the number of a subset. members is "" if no record defines it.
func (x *ownNumbers) set(k setID, members string) int64 {
	if to, ok := x.sets[k]; ok {
		return to
	}
	to := k.id
	had, taken := x.numbering.sets[k]
	switch {
	case k.kind == eventSets && to >= 0:
		to = x.event(to)
	case members == "" && !x.apart:
		return to // another part of the run may define it
	case members == "":
		members = fmt.Sprint("of trace ", x.trace)
		fallthrough
	default:
		if taken && had != members {
			x.lowest--
			to, x.changed = x.lowest, true
		}
	}
	x.sets[k], x.numbering.sets[setID{k.kind, to}] = to, members
	return to
}

// members returns the members of a subset in the merged trace.
func (x *ownNumbers) members(kind string, list []int64) []int64 {
	out := slices.Clone(list)
	for i, m := range list {
		switch {
		case kind == processorSets && m == -1:
			out[i] = x.everyone()
		case kind == processorSets:
			out[i] = x.processor(m)
		case kind == eventSets:
			out[i] = x.event(m)
		case kind == processSets && m < -1:
			out[i] = x.set(setID{kind, m}, "")
		}
	}
	return out
}

// edit changes the numbers in a definition to those of the merged trace.
func (x *ownNumbers) edit(v any) {
	format := func(n int64) string { return strconv.FormatInt(n, 10) }
	switch v := v.(type) {
	case *trace.Location:
		p, q, ok := placeOf(v.ID)
		if !ok {
			return
		}
		to := x.processor(p)
		if p == -1 {
			to = x.everyone()
		}
		if q < -1 {
			q = x.set(setID{processSets, q}, "")
		}
		if p == hostNumber && to != p {
			x.hosts++
		}
		if p < 0 && to != p {
			v.Name = "processor subset " + format(to)
		}
		v.ID = format(to) + "/" + format(q)
	case *trace.Region:
		if e, err := strconv.ParseInt(v.ID, 10, 64); err == nil {
			v.ID = format(x.event(e))
		}
	case *trace.Set:
		v.ID, v.Members = format(x.set(setID{v.Kind, idNumber(v.ID)}, "")), x.members(v.Kind, v.Members)
	case *trace.AttributeDef: // the figure of an event type
		if e, err := strconv.ParseInt(v.Name, 10, 64); err == nil && v.Type == trace.None {
			if to := x.event(e); to != e {
				v.Name = format(to)
				if v.Doc == unlabelled(e) {
					v.Doc = unlabelled(to)
				}
			}
		}
	}
}

// values changes the numbers in attribute values to those of the merged trace. It reads the rows of
// b and writes to out.
func (x *ownNumbers) values(b, out *trace.Batch, d *trace.Definitions) {
	last := uint32(trace.NoRef)
	for i, k := range b.AttrKey {
		for n := len(x.fields); int(k) >= n; n++ {
			name := strings.TrimPrefix(d.Attributes.At(uint32(n)).Name, "exit ")
			f := namedFields[name]
			if strings.HasPrefix(name, "data") {
				f = dataField
			}
			x.fields = append(x.fields, f)
		}
		v := &out.AttrVal[i]
		if v.Type != trace.Int32 && v.Type != trace.Int64 || x.fields[k] == noField {
			continue
		}
		n := v.Int()
		to := n
		switch f := x.fields[k]; {
		case f == dataField:
			if row := b.AttrRow[i]; x.changed && row != last {
				x.unknown++
				last = row
			}
		case f == processorSetField && x.has(setID{processorSets, n}):
			to = x.set(setID{processorSets, n}, "")
		case (f == receiverField || f == processorSetField) && n == -1:
			to = x.everyone()
		case f == processorField || f == receiverField || f == processorSetField:
			to = x.processor(n)
		case n < -1 || f == processSetField && x.has(setID{processSets, n}):
			to = x.set(setID{processSets, n}, "")
		}
		if to != n {
			if *v = trace.IntValue(to); int64(int32(to)) == to {
				v.Type = trace.Int32
			}
		}
	}
}

// has reports whether a record of the trace defines a subset.
func (x *ownNumbers) has(k setID) bool {
	_, ok := x.sets[k]
	return ok
}

// sameNumber returns the key that entries with the same number share.
func (m *Merging) sameNumber(t table, v any) string {
	switch v := v.(type) {
	case *trace.Location:
		return v.ID
	case *trace.Region:
		return v.ID + " " + v.Name
	case *trace.Set:
		return v.Kind + " " + v.ID
	}
	return m.same(t, v)
}

// lost counts what the translation of the trace's numbers could not keep.
func (x *ownNumbers) lost(loss *format.Loss) {
	loss.Add("location", "processor", format.Degraded, "the host of another trace became a processor", x.hosts)
	loss.Add("event", "data", format.Degraded, "data of unknown meaning may name what has another number", x.unknown)
}
