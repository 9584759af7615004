package picl

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/carrier"
	"github.com/weft-trace/weft/internal/lines"
	"github.com/weft-trace/weft/internal/linetrace"
	"github.com/weft-trace/weft/trace"
)

// alias makes a string of bytes without copying: the values of a record live as
// long as the text that it was read from.
func alias(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// decoder reads a trace through the common model.
type decoder struct {
	linetrace.Text
	src  format.Source
	defs *definitions
	nrec int64
	// firstRecord is the line of the first record that is no definition.
	firstRecord int64
	renamed     map[uint32]int64 // event types of regions whose type has several names
	kept        []keptRecord     // definition records, for encoders
	defined     []int64          // lines of all definition records
	missing     map[setKey]int64 // subsets that heads of records name and no record defines, with their first lines
	statistics  bool             // there are statistics records
	spelled     int64            // records of the last scan whose descriptor the values do not tell
	damaged     int64            // those of the last scan with defects
	rounded     int64            // times of the last scan that are rounded
	unread      int64            // definition records that cannot be read
	nesting     nesting
	sources     sources
	plainInts   bool // no record redefines descriptors
	// slots finds the location of a processor below len(slots) quickly: that of
	// one of its processes.
	slots []slot

	locations     map[procKey]uint32
	alone         map[int64]uint32 // the only location of a processor
	regions       map[regionKey]uint32
	direct        map[int64]uint32 // region of an event type, where it is the same everywhere
	quick         [1 << 11]int32   // the same for event types -1024 … 1023, -1 where it is not
	records       map[int64]trace.Kind
	attrs         map[string]uint32
	fields        [len(eventTable) + 2]fieldKeys // by specIndex
	wide          uint32                         // attribute for a process id that was unified
	marks         bool                           // marks of sends and receives are messages too
	text          uint32                         // the attribute for character data
	peerLocations map[procKey]uint32
	broadcasts    struct { // where messages to many go, by their destination
		sync.Mutex
		to map[procKey][]uint32
	}
}

type procKey struct{ processor, process int64 }

type slot struct {
	process int64
	loc     int32 // -1 none
}

type regionKey struct {
	event int64
	name  string
}

// seenAt is an id of records, and the line of the first that a chunk has.
type seenAt[T comparable] struct {
	id   T
	line int64
}

// scanResult is what the first pass learns of a chunk.
type scanResult struct {
	linetrace.Times
	records     int64
	defs        []Record
	defsAfter   []int64 // records of the chunk before each of defs
	defined     []int64 // lines of all definition records
	problems    []*trace.Defect
	unread      int64 // definition records that cannot be read
	locations   []seenAt[procKey]
	events      []seenAt[int64]
	types       []int64 // user and unknown record types
	firstRecord int64
	statistics  bool
	nesting     nesting
	unsourced   map[procKey]bool // who may have receives that do not say their source
	carrierDef  []carrier.Pair
}

func open(ctx context.Context, src format.Source, opt *format.ReadOptions) (format.File, error) {
	f, closer, err := openText(ctx, src, opt)
	if err != nil {
		return nil, err
	}
	d := &decoder{Text: linetrace.NewText(opt, f, closer), src: src, defs: newDefinitions(),
		peerLocations: map[procKey]uint32{},
		locations:     map[procKey]uint32{}, alone: map[int64]uint32{}, regions: map[regionKey]uint32{},
		direct:  map[int64]uint32{},
		records: map[int64]trace.Kind{}, attrs: map[string]uint32{}}
	d.broadcasts.to, d.sources.places = map[procKey][]uint32{}, map[procKey]bool{}
	d.marks = opt.Value("picl.marks", "marks") == "messages"
	if err := d.index(ctx); err != nil {
		closer()
		return nil, err
	}
	return d, nil
}

// index reads the file once: it finds the tick, the order of the file, all
// definitions, and which locations and event types occur.
func (d *decoder) index(ctx context.Context) error {
	var all []*linetrace.Times
	locations := map[procKey]int64{}
	events := map[int64]int64{}
	userTypes := map[int64]bool{}
	carried := map[string]string{}
	err := linetrace.Index(ctx, &d.Text, d.scan, func(r *scanResult, shift int64) error {
		r.shift(shift)
		for _, x := range r.locations {
			if _, ok := locations[x.id]; !ok {
				locations[x.id] = x.line
			}
		}
		for _, x := range r.events {
			if _, ok := events[x.id]; !ok {
				events[x.id] = x.line
			}
		}
		for _, x := range r.types {
			userTypes[x] = true
		}
		for i := range r.defs {
			d.kept = append(d.kept, keptRecord{d.nrec + r.defsAfter[i], r.defs[i]})
			if p := d.defs.add(&r.defs[i]); p.rule != "" {
				if err := d.Opt.Defect(p.defect(d.File.Name, r.defs[i].Line, nil)); err != nil {
					return err
				}
			}
		}
		for _, p := range r.problems {
			if err := d.Opt.Defect(p); err != nil {
				return err
			}
		}
		for _, p := range r.carrierDef {
			carried[p.Key] = p.Value
		}
		d.defined = append(d.defined, r.defined...)
		r.defs, r.defined, r.locations, r.events, r.types, r.carrierDef, r.problems = nil, nil, nil, nil, nil, nil, nil
		all = append(all, &r.Times)
		if d.nrec == 0 {
			d.firstRecord = r.firstRecord
		}
		d.nrec += r.records
		d.unread += r.unread
		d.statistics = d.statistics || r.statistics
		d.nesting.add(&r.nesting)
		for k := range r.unsourced {
			d.sources.places[k] = true
		}
		r.nesting = nesting{}
		return nil
	})
	if err != nil {
		return err
	}
	if err := d.order(all); err != nil {
		return err
	}
	if err := d.undefined(locations, events); err != nil {
		return err
	}
	return d.define(locations, events, userTypes, carried)
}

// undefined reports the subsets that the heads of records, and other subsets, name and no record defines.
func (d *decoder) undefined(locations map[procKey]int64, events map[int64]int64) error {
	d.missing = map[setKey]int64{}
	place := func(processor, process, line int64) {
		d.needs(d.missing, setKey{TypeProcessorSet, processor}, line)
		d.needs(d.missing, setKey{TypeProcessSet, process}, line)
	}
	for k, line := range locations {
		place(k.processor, k.process, line)
	}
	for e, line := range events {
		d.needs(d.missing, setKey{TypeEventSet, e}, line)
	}
	for _, k := range d.kept {
		place(k.rec.Processor, k.rec.Process, k.rec.Line)
		d.needs(d.missing, setKey{TypeEventSet, k.rec.Event}, k.rec.Line)
		if k.rec.Type <= TypeProcessorSet && len(k.rec.Values) > 1 {
			for _, v := range k.rec.Values[1:] {
				if v.Type == trace.Int32 || v.Type == trace.Int64 {
					d.needs(d.missing, setKey{k.rec.Type, v.Int()}, k.rec.Line)
				}
			}
		}
	}
	return d.reportMissing(d.missing)
}

// needs notes in missing the first line that names a subset, if no record defines it.
func (d *decoder) needs(missing map[setKey]int64, k setKey, line int64) {
	if k.id >= -1 || d.defs.has(k) || k.typ == TypeEventSet && (k.id >= -1000 || subset(k.id) != nil) {
		return
	}
	if first, ok := missing[k]; !ok || line < first {
		missing[k] = line
	}
}

// reportMissing reports subsets that no record defines.
func (d *decoder) reportMissing(missing map[setKey]int64) error {
	keys := slices.SortedFunc(maps.Keys(missing), func(a, b setKey) int {
		return cmp.Or(cmp.Compare(missing[a], missing[b]), -cmp.Compare(a.typ, b.typ), cmp.Compare(a.id, b.id))
	})
	for _, k := range keys {
		what := setName(k.typ)
		if err := d.Opt.Defect(&trace.Defect{Rule: "picl.undefined", Severity: trace.Warning,
			Position: trace.Position{File: d.File.Name, Line: missing[k]},
			Found:    fmt.Sprintf("subset %d of %s", k.id, what),
			Expected: fmt.Sprintf("a subset of %s that a record of type %d defines", what, k.typ)}); err != nil {
			return err
		}
	}
	return nil
}

// setName is what the subset records of a type have as members.
func setName(typ int64) string {
	return map[int64]string{TypeProcessorSet: "processors", TypeProcessSet: "processes", TypeEventSet: "event types"}[typ]
}

// order chooses the tick and finds the sorted pieces of the file.
func (d *decoder) order(all []*linetrace.Times) error {
	defect := trace.Defect{Rule: "picl.empty", Severity: trace.Warning, Position: trace.Position{File: d.File.Name},
		Found: "an empty file", Expected: "records, unless the trace has no events"}
	breaks, where := d.Order(all, 18)
	d.Lanes = len(d.Runs) == 1
	if breaks > 0 {
		defect = trace.Defect{Rule: "picl.unsorted", Severity: trace.Note,
			Position: trace.Position{File: d.File.Name, Line: where},
			Found:    "records that are not in time order", Expected: "records sorted by time; they are sorted while reading",
			Count: breaks}
	} else if d.File.Size > 0 {
		return nil
	}
	return d.Opt.Defect(&defect)
}

// scan is the first pass over a chunk.
func (d *decoder) scan(b *lines.Block) *scanResult {
	r := &scanResult{}
	var h head
	var seenLoc [256]procKey
	var seenEvent [256]int64
	for i := range seenLoc {
		seenLoc[i].processor = math.MinInt64
		seenEvent[i] = math.MinInt64
	}
	w := d.File.Walk(b)
	usual := w.Plain()
	for {
		var l []byte
		var number int64
		var i int
		counted := false // the number of data fields has been read
		if usual {
			rest := w.Rest()
			if _, end := h.usual(rest); end > 0 {
				l, number, counted = rest[:end], w.Skip(end+1), true
			}
		}
		if l == nil {
			var ok bool
			if l, number, ok = w.Next(); !ok {
				break
			}
			var bad int
			if i, bad = h.parse(l, 5); bad >= 0 {
				continue
			}
		}
		typ := h.f[0]
		if typ < TypeExit {
			if isDefinition(typ) {
				d.scanDefinition(r, &h, l, number)
				continue
			}
			if typ == TypeMessage && h.f[1] == -1 {
				if p, ok := carriedDefinition(l[i:]); ok {
					r.carrierDef = append(r.carrierDef, p)
					continue
				}
			}
			if typ <= TypeTimes && typ >= TypeSizeVolumes {
				r.statistics = true
			}
		}
		if t := h.time(); t.Scale == r.Last.Scale && t.Scale <= r.Scale && t.Coef >= r.Last.Coef && r.Any {
			r.Last = t
		} else {
			r.Add(b, l, number, t, t)
		}
		if r.records++; r.records == 1 {
			r.firstRecord = number
		}
		if typ > TypeMark || typ < TypeExit && typ != TypeMessage && (typ > TypeTimes || typ < TypeSizeVolumes) {
			if !slices.Contains(r.types, typ) && len(r.types) < 1000 {
				r.types = append(r.types, typ)
			}
		}
		key := procKey{h.f[3], h.f[4]}
		if s := &seenLoc[uint8(key.processor)^uint8(key.process*7)]; *s != key {
			*s = key
			r.locations = append(r.locations, seenAt[procKey]{key, number})
		}
		switch h.f[1] {
		case -51, -60, -52, -61, -58:
			if typ == TypeExit && (counted || h.counts(l)) && h.unsourced(l) {
				if r.unsourced == nil {
					r.unsourced = map[procKey]bool{}
				}
				r.unsourced[key] = true
			}
			if h.f[1] == -58 {
				break
			}
			r.nesting.note(typ, h.f[1], key)
			if typ == TypeEntry && (counted || h.counts(l)) && h.f[5] > 4 {
				r.nesting.found = true // it has the fields of a mark, and its exit may repeat them
			}
		}
		if s := &seenEvent[uint8(h.f[1])]; *s != h.f[1] {
			*s = h.f[1]
			r.events = append(r.events, seenAt[int64]{h.f[1], number})
		}
	}
	r.Longest()
	return r
}

// shift adds n to the numbers of the lines.
func (r *scanResult) shift(n int64) {
	r.firstRecord += n
	r.ShiftBreaks(n)
	for i := range r.locations {
		r.locations[i].line += n
	}
	for i := range r.events {
		r.events[i].line += n
	}
	for i := range r.defs {
		r.defs[i].Line += n
	}
	for i := range r.defined {
		r.defined[i] += n
	}
	for _, p := range r.problems {
		p.Position.Line += n
	}
}

func (d *decoder) scanDefinition(r *scanResult, h *head, l []byte, number int64) {
	i, problem, skip := parseLine(l, h)
	if skip {
		return // reported by the scan of events
	}
	var rec Record
	r.defined = append(r.defined, number)
	rec.set(h, number)
	problem = rec.data(l[i:], h, &scoped{defs: &definitions{}})
	for i := range rec.Values {
		rec.Values[i].Str = strings.Clone(rec.Values[i].Str)
	}
	if problem.rule != "" {
		r.problems = append(r.problems, problem.defect(d.File.Name, number, l))
		if rec.Type == TypeDescriptor {
			r.unread++
			return
		}
	}
	r.defs = append(r.defs, rec)
	r.defsAfter = append(r.defsAfter, r.records)
}

// define fills the model's definitions.
func (d *decoder) define(locations map[procKey]int64, events map[int64]int64, userTypes map[int64]bool,
	carried map[string]string) error {
	m := &trace.Definitions{Format: "picl", Origin: "picl", Conventions: format.Conventions("picl")}
	d.Model = m
	d.Clock = trace.Clock{Num: int64(math.Pow10(int(d.Digits))), Den: 1}
	m.Clock = d.Clock
	for i := range d.quick {
		d.quick[i] = -1
	}
	if err := d.RestoreFrom(carried, "picl", "event messages"); err != nil || d.Restore != nil {
		return err
	}
	// In a file that is not sorted the place of a label among the records says
	// nothing once they are: its regions get labels anew.
	moved := false
	for _, k := range d.kept {
		moved = moved || k.before > 0 && len(d.Runs) != 1
	}
	for _, k := range d.kept {
		if !moved || k.rec.Type != TypeLabel {
			if moved {
				k.before = 0
			}
			m.Opaque.Add(trace.Opaque{Format: "picl", Data: keepRecord(k.before, &k.rec)})
		}
	}
	d.kept = nil
	if !d.File.Numbered { // the lines are those of the file
		m.Native = &original{d}
	}
	d.plainInts = len(d.defs.descriptors) == 0
	eventList := slices.Collect(maps.Keys(events))
	slices.SortFunc(eventList, compareEvents)
	d.defineFields(eventList)
	keys := slices.Collect(maps.Keys(locations))
	group := func(p int64) int {
		switch {
		case p == Host:
			return 1
		case p < 0:
			return 2
		}
		return 0
	}
	slices.SortFunc(keys, func(a, b procKey) int {
		return cmp.Or(cmp.Compare(group(a.processor), group(b.processor)), cmp.Compare(abs(a.processor), abs(b.processor)),
			cmp.Compare(a.process, b.process))
	})
	byProcessor := map[int64][]procKey{}
	for _, k := range keys {
		byProcessor[k.processor] = append(byProcessor[k.processor], k)
	}
	for _, k := range keys {
		if same := byProcessor[k.processor]; k.process == -1 && len(same) == 2 && k.processor >= 0 {
			continue // -1 means the only process that there is
		}
		d.locations[k] = d.location(k, "")
	}
	for p, same := range byProcessor {
		if len(same) == 2 && same[0].process == -1 && p >= 0 {
			d.locations[same[0]] = d.locations[same[1]]
			same = same[1:]
		}
		if len(same) == 1 {
			d.alone[p] = d.locations[same[0]]
		}
	}
	for k, loc := range d.locations {
		if k.processor >= 0 && k.processor < maxSlots {
			for int(k.processor) >= len(d.slots) {
				d.slots = append(d.slots, slot{loc: -1})
			}
			if s := &d.slots[k.processor]; s.loc < 0 || k.process > s.process {
				*s = slot{k.process, int32(loc)}
			}
		}
	}
	for _, typ := range slices.Sorted(maps.Keys(userTypes)) {
		d.kindOf(typ)
	}
	d.defineRegions(eventList)
	for _, k := range slices.SortedFunc(maps.Keys(d.defs.sets), func(a, b setKey) int {
		return cmp.Or(-cmp.Compare(a.typ, b.typ), cmp.Compare(a.id, b.id))
	}) {
		m.Sets.Add(trace.Set{ID: strconv.FormatInt(k.id, 10), Kind: setName(k.typ), Members: d.defs.sets[k]})
	}
	return nil
}

// maxSlots bounds the table of processors.
const maxSlots = 1 << 16

// locationOfRecord finds the location of a processor and process if they have
// records.
func (d *decoder) locationOfRecord(k procKey) (uint32, bool) {
	if uint64(k.processor) < uint64(len(d.slots)) {
		if s := &d.slots[k.processor]; s.process == k.process && s.loc >= 0 {
			return uint32(s.loc), true
		}
	}
	loc, ok := d.locations[k]
	return loc, ok
}

func abs(x int64) int64 {
	if x < 0 {
		return -x
	}
	return x
}

func (d *decoder) location(k procKey, kind trace.LocationKind) uint32 {
	if kind == "" {
		switch {
		case k.processor == Host:
			kind = trace.HostLocation
		case k.processor < 0:
			kind = trace.ScopeLocation
		default:
			kind = trace.ProcessLocation
		}
	}
	name := d.defs.nameOf(k.processor, k.process)
	if name == "" {
		switch {
		case k.processor == Host:
			name = "host"
		case k.processor == -1:
			name = "all processors"
		case k.processor < -1:
			name = "processor subset " + strconv.FormatInt(k.processor, 10)
		}
	}
	return d.Model.Locations.Add(trace.Location{ID: locationID(k), Name: name, Kind: kind, Group: trace.NoRef})
}

// locationID is "processor/process".
func locationID(k procKey) string {
	return strconv.FormatInt(k.processor, 10) + "/" + strconv.FormatInt(k.process, 10)
}

func parseLocationID(s string) (k procKey, ok bool) {
	a, b, found := strings.Cut(s, "/")
	p, err1 := strconv.ParseInt(a, 10, 64)
	q, err2 := strconv.ParseInt(b, 10, 64)
	return procKey{p, q}, found && err1 == nil && err2 == nil
}

// compareEvents puts system events first, from -1 down, then user events from 0
// up.
func compareEvents(a, b int64) int {
	if (a < 0) != (b < 0) {
		return cmp.Compare(a, b)
	}
	return cmp.Compare(abs(a), abs(b))
}

// defineRegions makes a region of each event type and label.
func (d *decoder) defineRegions(events []int64) {
	for _, e := range events {
		labels := map[string]bool{}
		var names []string
		covered := false // a label holds for all records
		simple := true   // and it is the only one
		for _, list := range [2][]int32{d.defs.byEvent[e], d.defs.wide} {
			for _, i := range list {
				l := &d.defs.labels[i]
				if in, _ := d.defs.inEventSubset(l.event, e); l.event != e && !in {
					continue
				}
				if !labels[l.text] {
					labels[l.text] = true
					names = append(names, l.text)
				}
				if l.processor == -1 && l.process == -1 && l.line < d.firstRecord {
					covered = true
				} else {
					simple = false
				}
			}
		}
		if len(names) > 1 {
			simple = false
		}
		if !covered {
			names = append([]string{eventName(e)}, names...)
			simple = simple && len(names) == 1
		}
		for _, n := range names {
			r := d.region(e, n)
			if len(names) > 1 {
				if d.renamed == nil {
					d.renamed = map[uint32]int64{}
				}
				d.renamed[r] = e
			}
			if simple {
				d.direct[e] = r
				if i := e + 1024; i >= 0 && i < int64(len(d.quick)) {
					d.quick[i] = int32(r)
				}
			}
		}
	}
}

func (d *decoder) region(event int64, name string) uint32 {
	k := regionKey{event, name}
	r, ok := d.regions[k]
	if !ok {
		group := ""
		for _, s := range eventSubsets[2:] {
			if in, _ := d.defs.inEventSubset(s.id, event); in && s.list == nil {
				group = s.name
			}
		}
		if event >= 0 {
			group = "user events"
		}
		r = d.Model.Regions.Add(trace.Region{ID: strconv.FormatInt(event, 10), Name: name, Group: group})
		d.regions[k] = r
	}
	return r
}

// regionOf finds the region of a record.
func (d *decoder) regionOf(event, processor, process, line int64) uint32 {
	if i := event + 1024; i >= 0 && i < int64(len(d.quick)) {
		if r := d.quick[i]; r >= 0 {
			return uint32(r)
		}
	}
	if r, ok := d.direct[event]; ok {
		return r
	}
	name, ok := d.defs.labelOf(event, processor, process, line)
	if !ok {
		name = eventName(event)
	}
	if r, ok := d.regions[regionKey{event, name}]; ok {
		return r
	}
	return trace.NoRef
}

func (d *decoder) attr(name string, t trace.Type) uint32 {
	return d.attribute(trace.AttributeDef{Name: name, Type: t})
}

func (d *decoder) attribute(a trace.AttributeDef) uint32 {
	k, ok := d.attrs[a.Name]
	if !ok {
		k = d.Model.Attributes.Add(a)
		d.attrs[a.Name] = k
	}
	return k
}

// kindOf is the kind of a user-defined or unknown record type.
func (d *decoder) kindOf(typ int64) trace.Kind {
	k, ok := d.records[typ]
	if !ok {
		i := d.Model.Kinds.Add(trace.KindDef{Format: "picl", KindSpec: trace.KindSpec{
			Name: "record " + strconv.FormatInt(typ, 10), Doc: "PICL record of type " + strconv.FormatInt(typ, 10),
			Ref: trace.RefRegion}})
		k = trace.Declared + trace.Kind(i)
		d.records[typ] = k
	}
	return k
}

// LinkCount is 0: PICL has no links, but for those of a restored trace, which
// are not counted before a scan.
func (d *decoder) LinkCount() (int64, bool) { return 0, d.Restore == nil }

// Scan delivers all events in time order, or those of each location.
func (d *decoder) Scan(ctx context.Context, sel trace.Selection, order format.Order, sink format.Sink) error {
	d.Opt.Pass()
	if sel.NoEvents && d.Restore == nil {
		return nil
	}
	if len(d.sources.places) > 0 && d.Restore == nil {
		if err := d.findSources(ctx); err != nil {
			return err
		}
	}
	sel, sink = format.Exactly(d.Model, sel, sink)
	// A leave may need the name that its enter had, and a message what its call had, however
	// long ago.
	return d.Deliver(ctx, d, sel, order, d.Restore == nil && (d.renamed != nil || d.nesting.found), d.paired(sink))
}

// ScanParallel delivers from one goroutine: the text is parsed on all cores before that.
func (d *decoder) ScanParallel(ctx context.Context, sel trace.Selection, begin func() func(int) format.Sink) error {
	return format.ScanInOne(ctx, d, sel, begin)
}

// paired makes an exit leave the region that its entry entered: a label may
// have changed between the two, but they pair by event type. It also makes one message of a
// receive and the waiting inside it.
func (d *decoder) paired(sink format.Sink) format.Sink {
	if d.Restore == nil && d.nesting.found {
		sink = newOnce(d, sink)
	}
	if d.Restore != nil || d.renamed == nil {
		return sink
	}
	return &pairing{Sink: sink, d: d, open: map[procEvent][]uint32{}}
}

type pairing struct {
	format.Sink
	d    *decoder
	open map[procEvent][]uint32
}

// Batch renames the regions of leaves.
func (p *pairing) Batch(b *trace.Batch) error {
	for i, k := range b.Kind {
		if k != trace.Enter && k != trace.Leave || b.Ref[i] == trace.NoRef {
			continue
		}
		event, ok := p.d.renamed[b.Ref[i]]
		if !ok {
			continue
		}
		key := procEvent{b.Location(i), event}
		if k == trace.Enter {
			p.open[key] = append(p.open[key], b.Ref[i])
		} else if s := p.open[key]; len(s) > 0 {
			b.Ref[i] = s[len(s)-1]
			p.open[key] = s[:len(s)-1]
		}
	}
	return p.Sink.Batch(b)
}

// SortTime is the time of a record; a line without one stays behind the one before it.
func (d *decoder) SortTime(l []byte, last int64) int64 {
	var h head
	if _, bad := h.parse(l, 3); bad < 0 {
		last, _, _ = h.time().Ticks(d.Digits)
	}
	return last
}

// scan is one scan of the events.
type scan struct {
	d       *decoder
	carried carrier.Links
	wanted  bool
	spelled atomic.Int64 // records whose descriptor the values do not tell
	damaged atomic.Int64 // records with defects
	rounded atomic.Int64 // times that are rounded
}

// Begin begins a scan.
func (d *decoder) Begin(sel trace.Selection) linetrace.Scan {
	return &scan{d: d, wanted: sel.Links != trace.NoLinks}
}

// Links hands on the links of another format's trace.
func (s *scan) Links(ctx context.Context, sink format.Sink) error {
	if !s.wanted {
		return nil
	}
	return s.carried.Deliver(ctx, s.d.Model.Locations.Len(), sink.Links)
}

// Close frees the links.
func (s *scan) Close() {
	s.d.spelled, s.d.damaged, s.d.rounded = s.spelled.Load(), s.damaged.Load(), s.rounded.Load()
	s.carried.Close()
}

// Overview says how many descriptors, texts of records with defects and digits of times the events do not tell.
func (d *decoder) Overview(context.Context) (*format.Overview, error) {
	return &format.Overview{Spelled: d.spelled, Damaged: d.damaged + d.unread, Rounded: d.rounded}, nil
}

// Assembler hands on batches as they come from the blocks.
func (s *scan) Assembler(mixed bool) linetrace.Assembler { return assembler{s, mixed} }

type assembler struct {
	*scan
	mixed bool
}

// Block makes room for what a block says.
func (a assembler) Block() linetrace.Block {
	return &parsed{d: a.d, res: scoped{defs: a.d.defs}, mixes: a.mixed, scan: a.scan}
}

// Take hands on the events of a block.
func (a assembler) Take(b linetrace.Block, sink format.Sink) error {
	p := b.(*parsed)
	for _, x := range p.out {
		if err := sink.Batch(x); err != nil {
			return err
		}
	}
	for _, l := range p.links {
		if err := a.carried.Add(l.line, l.data); err != nil {
			return err
		}
	}
	return nil
}

// Finish has nothing left.
func (a assembler) Finish(format.Sink) error { return nil }
