package transform

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// numbering assigns numbers to the processors, event types and subsets of a merged trace. It is used for
// traces whose records and data refer to these by number ([trace.Conventions.EventTypes]).
type numbering struct {
	// separateRuns is set if two of the traces have records of the same processor. In that case, the traces
	// are not parts of one run.
	separateRuns bool
	traces       int
	defs         *trace.Definitions // the definitions of the merged trace
	processors   map[int64]int      // the trace to which each processor belongs; indexed by processor number
	recorded     map[int64]bool     // processors that have records
	reserved     map[int64]bool     // processors that a trace has, or to which the data of a trace refer
	next         int64              // a number that is greater than the number of each processor with records
	events       map[int64]string   // the names of each event type; indexed by its number
	byLabel      map[string]int64   // numbers of user event types by label
	nextEvent    int64
	sets         map[subsetID]string // the members of each subset as text; indexed by subset
	lowest       int64               // lower bound of the numbers of subsets in the traces
	labels       map[string]int      // the number of traces with each label; indexed by label
	written      map[string]bool     // labels that the merged trace already has
}

// subsetID identifies a subset.
type subsetID struct {
	kind string
	id   int64
}

// The kinds of sets that subset records of PICL define.
const (
	processorSets = "processors"
	processSets   = "processes"
	eventSets     = "event types"
)

// hostNumber is the processor number of the host in PICL.
const hostNumber = 32767

// ownNumbers translates the numbers of one trace to the numbers of the merged trace.
type ownNumbers struct {
	*numbering
	trace      int
	src        *trace.Definitions
	numbers    *trace.ProcessNumbers // of src
	named      *dataNumbers
	texts      map[string]bool // texts of the trace's labels
	own        []int64         // processors that have records
	processors map[int64]int64 // numbers of the processors in the merged trace, by their number in this trace
	types      map[int64]int64
	used       map[int64]bool // the values of types: new numbers of event types
	sets       map[subsetID]int64
	joint      map[int64]bool // subsets of processes that barriers join with subsets of processors
	all        int64          // the number of the subset of the processors with records; 0 until it is defined
	fields     fieldList
	changed    bool  // at least one number differs in the merged trace
	hosts      int64 // number of hosts that have become processors
	unknown    int64 // number of events whose data may contain a changed number
	dropped    int64 // number of subset definitions that are dropped
	described  int64 // number of descriptor definitions
}

// field is the meaning of the numbers in the values of an attribute.
type field uint8

const (
	noField           field = iota
	processorField          // a processor; -1 means that it is unknown
	receiverField           // a processor; -1 means all processors
	processorSetField       // a subset or a processor
	processField
	processSetField
	dataField // the meaning is unknown
)

// namedFields maps names of attributes to their meanings.
var namedFields = map[string]field{
	"destination": receiverField, "source": processorField, "requestedProcessor": processorField,
	"processor": processorField, "processorSubset": processorSetField,
	"destinationProcess": processField, "sourceProcess": processField, "requestedProcess": processField,
	"process": processField, "processSubset": processSetField, "root": processorField,
}

// fieldList holds the meanings of a trace's attributes, by attribute.
type fieldList []field

// meaning returns the meaning of the attribute with index key.
func (l *fieldList) meaning(d *trace.Definitions, key uint32) field {
	for n := len(*l); int(key) >= n; n++ {
		name := strings.TrimPrefix(d.Attributes.At(uint32(n)).Name, "exit ")
		f := namedFields[name]
		if strings.HasPrefix(name, "data") {
			f = dataField
		}
		*l = append(*l, f)
	}
	return (*l)[key]
}

// dataNumbers collects the numbers that occur as references in the data of a trace's records.
type dataNumbers struct {
	defs       *trace.Definitions
	defined    definedNumbers
	fields     fieldList
	processors map[int64]bool
	events     map[int64]bool // event types of statistics
	sets       map[subsetID]bool
}

func newDataNumbers(d *trace.Definitions) *dataNumbers {
	return &dataNumbers{defs: d, defined: definedNumbers{defs: d}, processors: map[int64]bool{}, events: map[int64]bool{},
		sets: map[subsetID]bool{}}
}

// addBatch adds the numbers in the data of a batch.
func (d *dataNumbers) addBatch(b *trace.Batch) error {
	for i, k := range b.AttrKey {
		if b.Kind[b.AttrRow[i]] == trace.Statistics {
			if e, err := strconv.ParseInt(d.defs.Attributes.At(k).Name, 10, 64); err == nil {
				d.events[e] = true
			}
			continue
		}
		n, whole := b.AttrVal[i].Whole()
		if !whole {
			continue
		}
		switch d.fields.meaning(d.defs, k) {
		case noField, dataField:
		case processField, processSetField:
			if n < -1 {
				d.sets[subsetID{processSets, n}] = true
			}
		default:
			if n >= 0 {
				d.processors[n] = true
			} else if n < -1 {
				d.sets[subsetID{processorSets, n}] = true
			}
		}
	}
	return nil
}

// addSets adds the event types that are members of subsets.
func (d *dataNumbers) addSets() {
	for _, s := range d.defs.Sets.All() {
		if s.Kind == eventSets {
			for _, e := range s.Members {
				d.events[e] = true
			}
		}
	}
}

// predefinedSets lists the ids of the subsets of event types that PICL itself defines. Other ids below
// -1000 belong to subsets that records of a trace define.
var predefinedSets = []int64{-1001, -1002, -1011, -1012, -1013, -1014, -1201, -1401, -1501, -1601, -1901, -1902}

// newNumbering returns the translation of numbers for each trace. It reads the traces to find the numbers in
// use. It returns nil if the traces do not refer to entries by number.
func newNumbering(ctx context.Context, list []format.Events, unify bool,
	merged *trace.Definitions) (all []*ownNumbers, err error) {
	n := &numbering{defs: merged, traces: len(list), processors: map[int64]int{}, recorded: map[int64]bool{},
		reserved: map[int64]bool{}, events: map[int64]string{}, byLabel: map[string]int64{},
		sets: map[subsetID]string{}, lowest: -2000,
		labels: map[string]int{}, written: map[string]bool{}}
	for _, d := range list {
		if d := d.Defs(); len(list) == 1 || !d.Conventions.EventTypes || d.Origin != list[0].Defs().Origin {
			return nil, nil
		}
	}
	for i, d := range list {
		x := &ownNumbers{numbering: n, trace: i, src: d.Defs(), numbers: trace.NewProcessNumbers(d.Defs()),
			named: newDataNumbers(d.Defs()), processors: map[int64]int64{}, types: map[int64]int64{}, used: map[int64]bool{},
			sets: map[subsetID]int64{}, joint: map[int64]bool{}}
		if err := d.Scan(ctx, trace.Events(), format.PerLocation, format.SinkFuncs{OnBatch: x.named.addBatch}); err != nil {
			return nil, err
		}
		x.named.addSets()
		all = append(all, x)
		x.collect(unify)
	}
	if n.separateRuns {
		n.keepPredefined(all)
	}
	for _, x := range all {
		x.define()
	}
	return all, nil
}

// collect collects the numbers that a trace uses. It sets separateRuns if the trace belongs to a different run
// than the traces before it.
func (on *ownNumbers) collect(unify bool) {
	n, seen := on.numbering, map[int64]bool{}
	for _, l := range on.src.Locations.All() {
		p, q, ok := placeOf(l.ID)
		if !ok {
			continue
		}
		n.lowest = min(n.lowest, p, q)
		if p < 0 || l.Kind == trace.PeerLocation || seen[p] {
			continue
		}
		if p != hostNumber {
			n.next = max(n.next, p+1)
		}
		on.own = append(on.own, p)
		seen[p], n.reserved[p] = true, true
		n.separateRuns = n.separateRuns || n.recorded[p] && !unify
		n.recorded[p] = true
	}
	for p := range on.named.processors {
		n.reserved[p] = true
	}
	for e := range on.named.events {
		n.nextEvent, n.lowest = max(n.nextEvent, e+1), min(n.lowest, e)
	}
	for k := range on.named.sets {
		n.lowest = min(n.lowest, k.id)
	}
	for _, r := range on.src.Regions.All() {
		n.nextEvent, n.lowest = max(n.nextEvent, idNumber(r.ID)+1), min(n.lowest, idNumber(r.ID))
	}
	for _, s := range on.src.Sets.All() {
		if _, q, joint := jointSet(s.ID); joint {
			on.joint[q] = true
		}
		id := idNumber(s.ID)
		n.nextEvent, n.lowest = max(n.nextEvent, id+1), min(n.lowest, id, slices.Min(append(slices.Clone(s.Members), 0)))
		if s.Kind == processorSets {
			for _, m := range s.Members {
				n.reserved[m] = true
			}
		}
	}
	once := map[string]bool{}
	on.texts = map[string]bool{}
	for _, o := range on.src.Opaque.All() {
		if l, ok := parseDefinition(o.Data); ok && l.typ == labelRecord {
			n.nextEvent, n.lowest = max(n.nextEvent, l.event+1), min(n.lowest, l.event, l.processor, l.process)
			if l.processor >= 0 {
				on.named.processors[l.processor], n.reserved[l.processor] = true, true
			}
			on.texts[l.text()] = true
			if key := l.key(); !once[key] {
				once[key] = true
				n.labels[key]++
			}
		}
	}
}

// keepPredefined reserves the numbers of the predefined subsets of event types that a trace redefines, unless
// all traces redefine them in the same way. These subsets keep their meaning in the other traces.
func (n *numbering) keepPredefined(all []*ownNumbers) {
	same := map[string]int{}
	for _, x := range all {
		for _, s := range x.src.Sets.All() {
			if id := idNumber(s.ID); s.Kind == eventSets && (id < -1 && id >= -1000 || slices.Contains(predefinedSets, id)) {
				key := s.ID + fmt.Sprint(s.Members)
				if same[key]++; same[key] == len(all) {
					delete(n.sets, subsetID{s.Kind, id})
				} else {
					n.sets[subsetID{s.Kind, id}] = "predefined"
				}
			}
		}
	}
}

// placeOf returns the two numbers in the id PROCESSOR/PROCESS of a location. ok is false for other ids.
func placeOf(id string) (processor, process int64, ok bool) {
	a, b, _ := strings.Cut(id, "/")
	processor, err1 := strconv.ParseInt(a, 10, 64)
	process, err2 := strconv.ParseInt(b, 10, 64)
	return processor, process, err1 == nil && err2 == nil
}

// jointSet returns the two subsets that make up the set of a barrier's processes, whose id is PROCESSORS,PROCESSES. ok
// is false for other ids.
func jointSet(id string) (processors, processes int64, ok bool) {
	a, b, _ := strings.Cut(id, ",")
	processors, err1 := strconv.ParseInt(a, 10, 64)
	processes, err2 := strconv.ParseInt(b, 10, 64)
	return processors, processes, err1 == nil && err2 == nil
}

// idNumber returns an id as a number, or -1 if it is not a number.
func idNumber(id string) int64 {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// define assigns numbers to everything that the trace defines or to which its data refer.
func (on *ownNumbers) define() {
	d := on.src
	for _, p := range on.own {
		on.processor(p)
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
	labels := map[int64][]string{}
	for _, o := range d.Opaque.All() {
		if l, ok := parseDefinition(o.Data); ok && l.typ == labelRecord && l.event >= 0 && names[l.event] == nil &&
			!slices.Contains(labels[l.event], l.text()) {
			labels[l.event] = append(labels[l.event], l.text())
		}
	}
	maps.Copy(names, labels)
	for e := range on.named.events {
		if e >= 0 && names[e] == nil {
			names[e] = []string{unlabelled(e)}
		}
	}
	for _, e := range slices.Sorted(maps.Keys(names)) {
		slices.Sort(names[e])
		on.eventType(e, names[e])
	}
	for _, s := range d.Sets.All() {
		if _, _, joint := jointSet(s.ID); !joint {
			on.set(subsetID{s.Kind, idNumber(s.ID)})
		}
	}
	for _, p := range slices.Sorted(maps.Keys(on.named.processors)) {
		if !on.has(subsetID{processorSets, p}) {
			on.processor(p)
		}
	}
	for _, e := range slices.Sorted(maps.Keys(on.named.events)) {
		on.event(e)
	}
	for _, r := range d.Regions.All() {
		on.event(idNumber(r.ID))
	}
	for _, k := range slices.SortedFunc(maps.Keys(on.named.sets), func(a, b subsetID) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), -cmp.Compare(a.id, b.id))
	}) {
		on.set(k)
	}
	for _, l := range d.Locations.All() {
		if p, q, ok := placeOf(l.ID); ok {
			on.processor(p)
			on.process(q)
		}
	}
}

// unlabelled returns the name of a user event type without a label.
func unlabelled(event int64) string { return "event " + strconv.FormatInt(event, 10) }

// eventType returns the number that a user event type has in the merged trace. names holds all names of the
// event type.
func (on *ownNumbers) eventType(e int64, names []string) int64 {
	key, to := strings.Join(names, "\n"), e
	had, taken := on.events[e]
	single := len(names) == 1 && key != unlabelled(e)
	same, labelled := on.byLabel[key]
	switch {
	case taken && (had == key || !on.separateRuns && (had == unlabelled(e) || key == unlabelled(e))):
	case single && labelled && !on.used[same]:
		to = same
	case taken:
		to = on.nextEvent
	}
	on.types[e], on.used[to] = to, true
	on.changed = on.changed || to != e
	on.nextEvent = max(on.nextEvent, to+1)
	if had, taken := on.events[to]; !taken || had == unlabelled(to) {
		on.events[to] = key
	}
	if single && !labelled {
		on.byLabel[key] = to
	}
	return to
}

// processor returns the number in the merged trace of a processor, or of a subset of processors.
func (on *ownNumbers) processor(p int64) int64 {
	if p < -1 {
		return on.set(subsetID{processorSets, p})
	}
	if p == -1 || !on.separateRuns {
		return p
	}
	to, known := on.processors[p]
	if known {
		return to
	}
	to = p
	if owner, taken := on.numbering.processors[p]; taken && owner != on.trace {
		for on.next == hostNumber || on.reserved[on.next] {
			on.next++
		}
		to = on.next
		on.next++
		on.changed = true
	}
	on.processors[p], on.numbering.processors[to] = to, on.trace
	return to
}

// allProcessors returns the subset of all processors with records in the trace, except the host. If the traces
// are parts of one run, it returns -1, which stands for all processors.
func (on *ownNumbers) allProcessors() int64 {
	if !on.separateRuns {
		return -1
	}
	if on.all == 0 {
		s := trace.Set{Kind: processorSets}
		for _, p := range on.own {
			if p != hostNumber {
				s.Members = append(s.Members, on.processor(p))
			}
		}
		slices.Sort(s.Members)
		on.lowest--
		on.all = on.lowest
		on.numbering.sets[subsetID{s.Kind, on.all}] = fmt.Sprint(s.Members)
		s.ID = strconv.FormatInt(on.all, 10)
		on.defs.Sets.Add(s)
	}
	return on.all
}

// event returns the number in the merged trace of an event type, or of a subset of event types.
func (on *ownNumbers) event(e int64) int64 {
	if to, ok := on.types[e]; ok {
		return to
	}
	if e >= 0 {
		return on.eventType(e, []string{unlabelled(e)})
	}
	if e < -1000 && !slices.Contains(predefinedSets, e) {
		return on.set(subsetID{eventSets, e}) // set also handles subsets that no record defines
	}
	if to, ok := on.sets[subsetID{eventSets, e}]; ok {
		return to
	}
	return e
}

// set returns the number in the merged trace of a subset.
func (on *ownNumbers) set(k subsetID) int64 {
	if to, ok := on.sets[k]; ok {
		return to
	}
	i, defined := on.named.defined.set(k)
	members := fmt.Sprint("of trace ", on.trace)
	switch {
	case k.kind == eventSets && k.id >= 0:
		on.sets[k] = on.event(k.id)
		return on.sets[k]
	case defined:
		on.sets[k] = k.id // set the number first, because a subset may be a member of itself
		members = fmt.Sprint(on.members(k, on.src.Sets.At(i).Members))
	case !on.separateRuns:
		return k.id // another part of the run may define the subset
	}
	to := k.id
	if had, taken := on.numbering.sets[k]; taken && had != members {
		on.lowest--
		to, on.changed = on.lowest, true
	}
	on.sets[k], on.numbering.sets[subsetID{k.kind, to}] = to, members
	return to
}

// process returns the number in the merged trace of a process, or of a subset of processes.
func (on *ownNumbers) process(q int64) int64 {
	if q < -1 {
		return on.set(subsetID{processSets, q})
	}
	return q
}

// members returns the members of a subset by their numbers in the merged trace.
func (on *ownNumbers) members(set subsetID, list []int64) []int64 {
	kind := set.kind
	out := slices.Clone(list)
	for i, m := range list {
		switch {
		case kind == processorSets && m == -1:
			out[i] = on.allProcessors()
		case kind == processorSets:
			out[i] = on.processor(m)
		case kind == eventSets:
			out[i] = on.event(m)
		case kind == processSets && m >= -1 && on.numbers.ListsProcessors(kind, list) &&
			!(on.joint[set.id] && on.numbers.KnowsProcesses(list)):
			out[i] = on.processor(m)
		case kind == processSets:
			out[i] = on.process(m)
		}
	}
	return out
}

// edit replaces the numbers in a definition by the numbers of the merged trace.
func (on *ownNumbers) edit(v any) {
	format := func(n int64) string { return strconv.FormatInt(n, 10) }
	switch v := v.(type) {
	case *trace.Location:
		p, q, ok := placeOf(v.ID)
		if !ok {
			return
		}
		to := on.processor(p)
		if p == -1 {
			to = on.allProcessors()
		}
		q = on.process(q)
		if p == hostNumber && to != p {
			on.hosts++
		}
		if p < 0 && to != p {
			v.Name = "processor subset " + format(to)
		}
		v.ID = format(to) + "/" + format(q)
	case *trace.Region:
		if e, err := strconv.ParseInt(v.ID, 10, 64); err == nil {
			to := on.event(e)
			v.ID, v.Name = format(to), on.newName(e, to, v.Name)
		}
	case *trace.Set:
		if p, q, joint := jointSet(v.ID); joint {
			v.ID = format(on.set(subsetID{processorSets, p})) + "," + format(on.set(subsetID{processSets, q}))
		} else if v.Kind != processorSets || v.ID != "-1" { // -1 is no subset that records define
			v.ID = format(on.set(subsetID{v.Kind, idNumber(v.ID)}))
		}
		v.Members = on.members(subsetID{v.Kind, idNumber(v.ID)}, v.Members)
	case *trace.AttributeDef: // the values of the attribute are event types
		if e, err := strconv.ParseInt(v.Name, 10, 64); err == nil && v.Type == trace.None {
			to := on.event(e)
			v.Name, v.Doc = format(to), on.newName(e, to, v.Doc)
		}
	}
}

// newName returns the name for an event type whose number changes. If the name contains the number because the
// event type has no label, the name also changes.
func (on *ownNumbers) newName(from, to int64, name string) string {
	if to != from && (name == unlabelled(from) || slices.Contains(predefinedSets, from) && !on.texts[name]) {
		return unlabelled(to)
	}
	return name
}

// replaceValues replaces the numbers in attribute values by the numbers of the merged trace. It reads the rows
// of b, and writes the new values to out.
func (on *ownNumbers) replaceValues(b, out *trace.Batch, d *trace.Definitions) {
	last := uint32(trace.NoRef)
	for i, k := range b.AttrKey {
		v := &out.AttrVal[i]
		f := on.fields.meaning(d, k)
		n, whole := v.Whole()
		if !whole || f == noField || f == dataField && v.Type != trace.Int32 && v.Type != trace.Int64 {
			continue
		}
		to := n
		switch {
		case f == dataField:
			if row := b.AttrRow[i]; on.changed && row != last {
				on.unknown++
				last = row
			}
		case f == processorSetField && n != -1 && on.has(subsetID{processorSets, n}):
			to = on.set(subsetID{processorSets, n})
		case f == receiverField && n == -1 && nothingKnown(b, i):
		case (f == receiverField || f == processorSetField) && n == -1:
			to = on.allProcessors()
		case f == processSetField && n == -1 && !on.hasProcessorSet(b, i, d):
			to = on.allProcessors() // the field alone may also hold a subset of processors
		case f == processorField || f == receiverField || f == processorSetField:
			to = on.processor(n)
		case n < -1 || f == processSetField && on.has(subsetID{processSets, n}):
			to = on.set(subsetID{processSets, n})
		}
		if to != n {
			*v = v.WithWhole(to)
		}
	}
}

// hasProcessorSet reports whether the row of attribute i also has a subset of processors.
func (on *ownNumbers) hasProcessorSet(b *trace.Batch, i int, d *trace.Definitions) bool {
	first := i
	for first > 0 && b.AttrRow[first-1] == b.AttrRow[i] {
		first--
	}
	for k := first; k < len(b.AttrRow) && b.AttrRow[k] == b.AttrRow[i]; k++ {
		if on.fields.meaning(d, b.AttrKey[k]) == processorSetField {
			return true
		}
	}
	return false
}

// nothingKnown reports whether the row of attribute i contains no information about its message: the length,
// type and other end of the message are all -1.
func nothingKnown(b *trace.Batch, i int) bool {
	first, end := i, i
	for first > 0 && b.AttrRow[first-1] == b.AttrRow[i] {
		first--
	}
	for end < len(b.AttrRow) && b.AttrRow[end] == b.AttrRow[i] {
		end++
	}
	return !slices.ContainsFunc(b.AttrVal[first:min(end, first+4)], func(v trace.Value) bool {
		n, whole := v.Whole()
		return v.Type != trace.String && (!whole || n != -1)
	})
}

// has reports whether the subset has a number in the merged trace.
func (on *ownNumbers) has(k subsetID) bool {
	_, ok := on.sets[k]
	return ok
}

// sameNumber returns a key that is equal for entries with the same number.
func (m *MergeOptions) sameNumber(t table, v any) string {
	switch v := v.(type) {
	case *trace.Location:
		return v.ID
	case *trace.Region:
		return v.ID + " " + v.Name
	case *trace.Set:
		return v.Kind + " " + v.ID
	case *trace.AttributeDef:
		return v.Name + "\n" + strconv.Itoa(int(v.Type)) + "\n" + v.Doc
	}
	return m.mergeKey(t, v)
}

// countLost counts the numbers that no longer refer to the right entry as losses.
func (on *ownNumbers) countLost(loss *format.Loss) {
	loss.Add("location", "processor", format.Degraded, "the host of another trace is written as a processor", on.hosts)
	loss.Add("event", "data", format.Degraded,
		"the meaning of the data is unknown; it may contain a number that was changed elsewhere", on.unknown)
	loss.Add("subset", "", format.Lost, "the definition has a defect, or a later one replaces it", on.dropped)
	loss.Add("descriptor", "", format.Degraded, "the form of the data was changed", on.described)
}
