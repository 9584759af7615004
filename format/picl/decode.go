package picl

import (
	"cmp"
	"context"
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/carrier"
	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/lines"
	"github.com/weft-trace/weft/internal/pipeline"
	"github.com/weft-trace/weft/trace"
)

// alias makes a string of bytes without copying: the values of a record live as
// long as the text that it was read from.
func alias(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// maxRuns is how many sorted pieces of a file are merged by reading each at its
// own place; a file in more pieces is sorted into a temporary file.
const maxRuns = 64

// decoder reads a trace through the common model.
type decoder struct {
	format.EventsAlone
	src    format.Source
	opt    *format.ReadOptions
	file   *lines.File
	close  func() error
	chunks []lines.Chunk
	times  []chunkTimes
	runs   []run // pieces of the file that are in time order; nil: too many
	defs   *definitions
	model  *trace.Definitions
	digits int32 // a tick is 10^-digits seconds
	nrec   int64
	// firstRecord is the line of the first record that is no definition.
	firstRecord int64
	renamed     map[uint32]int64 // event types of regions whose type has several names
	kept        []keptRecord     // definition records, for encoders
	statistics  bool             // there are statistics records
	first, last int64            // times of the first and last event
	plainInts   bool             // no record redefines descriptors
	// slots finds the location of a processor below len(slots) quickly: that of
	// one of its processes.
	slots []slot

	locations     map[procKey]uint32
	alone         map[int64]uint32 // the only location of a processor
	growing       sync.Mutex       // guards attrs and peerLocations while blocks are parsed
	regions       map[regionKey]uint32
	direct        map[int64]uint32 // region of an event type, where it is the same everywhere
	quick         [1 << 11]int32   // the same for event types -1024 … 1023, -1 where it is not
	records       map[int64]trace.Kind
	attrs         map[string]uint32
	fields        [len(eventTable) + 2]fieldKeys // by specIndex
	wide          uint32                         // attribute for a process id that was unified
	marks         bool                           // marks of sends and receives are messages too
	restore       *carrier.Restorer
	rescale       bool   // the restored trace's clock is not the file's
	text          uint32 // the attribute for character data
	peerLocations map[procKey]uint32
	scanned       bool // defects have been reported
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

type chunkTimes struct{ min, max int64 }

// run is a piece of the file in time order: whole chunks, cut at both ends.
type run struct {
	from, to int64
	line     int64
}

// scanResult is what the first pass learns of a chunk.
type scanResult struct {
	records     int64
	scale       int32 // most digits after the point, trailing zeros not counted
	any         bool
	first       trace.Decimal
	last        trace.Decimal
	min, max    trace.Decimal
	unsorted    int64 // how often time goes back
	breaks      []run // the first places where it does
	more        bool  // and there were more
	defs        []Record
	defsAfter   []int64 // records of the chunk before each of defs
	problems    []*trace.Defect
	locations   []procKey
	events      []int64
	types       []int64 // user and unknown record types
	firstRecord int64
	statistics  bool
	carrierDef  []carrier.Pair
}

func open(ctx context.Context, src format.Source, opt *format.ReadOptions) (format.File, error) {
	f, closer, err := openText(ctx, src, opt)
	if err != nil {
		return nil, err
	}
	d := &decoder{src: src, opt: opt, file: f, close: closer, defs: newDefinitions(),
		locations: map[procKey]uint32{}, alone: map[int64]uint32{}, regions: map[regionKey]uint32{}, direct: map[int64]uint32{},
		records: map[int64]trace.Kind{}, attrs: map[string]uint32{}}
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
	var all []*scanResult
	locations := map[procKey]bool{}
	events := map[int64]bool{}
	userTypes := map[int64]bool{}
	var carried []carrier.Pair
	done := int64(0)
	chunks, err := lines.Index(ctx, d.file, d.opt.Cores(), d.scan, func(c lines.Chunk, r *scanResult) error {
		r.shift(d.file.Shift(c))
		for _, x := range r.locations {
			locations[x] = true
		}
		for _, x := range r.events {
			events[x] = true
		}
		for _, x := range r.types {
			userTypes[x] = true
		}
		for i := range r.defs {
			d.kept = append(d.kept, keptRecord{d.nrec + r.defsAfter[i], r.defs[i]})
			if p := d.defs.add(&r.defs[i]); p.rule != "" {
				if err := d.opt.Defect(p.defect(d.file.Name, r.defs[i].Line, nil)); err != nil {
					return err
				}
			}
		}
		for _, p := range r.problems {
			if err := d.opt.Defect(p); err != nil {
				return err
			}
		}
		carried = append(carried, r.carrierDef...)
		r.defs, r.locations, r.events, r.types, r.carrierDef, r.problems = nil, nil, nil, nil, nil, nil
		all = append(all, r)
		if d.nrec == 0 {
			d.firstRecord = r.firstRecord
		}
		d.nrec += r.records
		d.statistics = d.statistics || r.statistics
		done += int64(c.Len)
		if d.opt.Progress != nil {
			d.opt.Progress(done/2, d.file.Size)
		}
		return nil
	})
	if err != nil {
		return err
	}
	d.chunks = chunks
	if err := d.order(all); err != nil {
		return err
	}
	return d.define(locations, events, userTypes, carried)
}

// order chooses the tick and finds the sorted pieces of the file.
func (d *decoder) order(all []*scanResult) error {
	if d.file.Size == 0 {
		if err := d.opt.Defect(&trace.Defect{Rule: "picl.empty", Severity: trace.Warning, Position: trace.Position{File: d.file.Name}, Found: "an empty file", Expected: "records, unless the trace has no events"}); err != nil {
			return err
		}
	}
	biggest := trace.Decimal{}
	// Room is left for margins of drawings, and for differences from negative times.
	limit := int64(math.MaxInt64 / 8 * 7)
	for _, r := range all {
		d.digits = max(d.digits, r.scale)
		for _, t := range [2]trace.Decimal{r.min, r.max} {
			if t.Coef < 0 {
				t.Coef, limit = -t.Coef, math.MaxInt64/4
			}
			if r.any && t.Cmp(biggest) > 0 {
				biggest = t
			}
		}
	}
	d.digits = min(d.digits, 18)
	for d.digits > 0 {
		if t, _, ok := biggest.Ticks(d.digits); ok && t < limit {
			break
		}
		d.digits--
	}
	runs := []run{{0, d.file.Size, 1}}
	var last trace.Decimal
	any, tooMany := false, false
	breaks, where := int64(0), int64(0)
	cut := func(off, line int64) {
		if where == 0 {
			where = line
		}
		if len(runs) >= maxRuns {
			tooMany = true
			return
		}
		runs[len(runs)-1].to = off
		runs = append(runs, run{off, d.file.Size, line})
	}
	for i, r := range all {
		ct := chunkTimes{math.MaxInt64, math.MinInt64}
		if r.any {
			ct.min, _, _ = r.min.Ticks(d.digits)
			ct.max, _, _ = r.max.Ticks(d.digits)
			breaks += r.unsorted
			if any && r.first.Cmp(last) < 0 {
				breaks++
				cut(d.chunks[i].Off, d.chunks[i].Line)
			}
			for _, b := range r.breaks {
				cut(d.chunks[i].Off+b.from, b.line)
			}
			if r.more {
				tooMany = true
			}
			last, any = r.last, true
		}
		d.times = append(d.times, ct)
	}
	if !tooMany {
		d.runs = runs
	}
	d.first, d.last = math.MaxInt64, math.MinInt64
	for _, t := range d.times {
		d.first, d.last = min(d.first, t.min), max(d.last, t.max)
	}
	if breaks > 0 || tooMany {
		err := d.opt.Defect(&trace.Defect{Rule: "picl.unsorted", Severity: trace.Note, Position: trace.Position{File: d.file.Name, Line: where},
			Found: "records that are not in time order", Expected: "records sorted by time; they are sorted while reading", Count: breaks})
		if err != nil {
			return err
		}
	}
	return nil
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
	w := d.file.Walk(b)
	usual := plain(d.file, b)
	for {
		var l []byte
		var number int64
		var i int
		if usual {
			rest := w.Rest()
			if _, end := h.usual(rest); end > 0 {
				l, number = rest[:end], w.Skip(end+1)
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
		if t := h.time(); t.Scale == r.last.Scale && t.Scale <= r.scale && t.Coef >= r.last.Coef && r.any {
			r.last = t
		} else {
			r.turn(b, l, number, t)
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
			r.locations = append(r.locations, key)
		}
		if s := &seenEvent[uint8(h.f[1])]; *s != h.f[1] {
			*s = h.f[1]
			r.events = append(r.events, h.f[1])
		}
	}
	r.longest()
	return r
}

// turn takes a time that is the first, before the last one, or of another scale
// or more digits than those so far.
func (r *scanResult) turn(b *lines.Block, l []byte, number int64, t trace.Decimal) {
	if !r.any {
		r.any, r.first, r.min, r.max = true, t, t, t
	} else {
		r.longest()
		if compare(t, r.last) < 0 {
			r.unsorted++
			// The line is a part of b.Data unless it was joined.
			off, ok := offsetIn(b.Data, l)
			if ok && len(r.breaks) < maxRuns && len(b.Numbers) == 0 {
				r.breaks = append(r.breaks, run{from: off, line: number})
			} else {
				r.more = true
			}
			if compare(t, r.min) < 0 {
				r.min = t
			}
		}
	}
	r.last = t
	if t.Scale > r.scale {
		r.scale = max(r.scale, t.Trim().Scale)
	}
}

// longest widens the span of times by the last one.
func (r *scanResult) longest() {
	if r.any && compare(r.last, r.max) > 0 {
		r.max = r.last
	}
}

// shift adds n to the numbers of the lines.
func (r *scanResult) shift(n int64) {
	r.firstRecord += n
	for i := range r.breaks {
		r.breaks[i].line += n
	}
	for i := range r.defs {
		r.defs[i].Line += n
	}
	for _, p := range r.problems {
		p.Position.Line += n
	}
}

func offsetIn(data, l []byte) (int64, bool) {
	if len(l) == 0 {
		return 0, false
	}
	off := int64(uintptr(unsafe.Pointer(&l[0]))) - int64(uintptr(unsafe.Pointer(&data[0])))
	if off < 0 || off >= int64(len(data)) {
		return 0, false
	}
	// A numbered line begins before its text.
	for off > 0 && data[off-1] != '\n' {
		off--
	}
	return off, true
}

func compare(a, b trace.Decimal) int {
	if a.Scale == b.Scale {
		return cmp.Compare(a.Coef, b.Coef)
	}
	return a.Cmp(b)
}

func (d *decoder) scanDefinition(r *scanResult, h *head, l []byte, number int64) {
	i, problem, skip := parseLine(l, h)
	if skip {
		return // reported by the scan of events
	}
	var rec Record
	rec.set(h, number)
	if rec.Type == TypeDescriptor {
		rec.Values, problem = parseDescriptor(l[i:], nil)
	} else {
		rec.Values, problem = parseData(l[i:], rec.Fields, h, number, &scoped{defs: &definitions{}}, nil)
	}
	for i := range rec.Values {
		rec.Values[i].Str = strings.Clone(rec.Values[i].Str)
	}
	if problem.rule != "" {
		r.problems = append(r.problems, problem.defect(d.file.Name, number, l))
		if rec.Type == TypeDescriptor {
			return
		}
	}
	r.defs = append(r.defs, rec)
	r.defsAfter = append(r.defsAfter, r.records)
}

// define fills the model's definitions.
func (d *decoder) define(locations map[procKey]bool, events, userTypes map[int64]bool, carried []carrier.Pair) error {
	m := &trace.Definitions{Format: "picl", Origin: "picl", Conventions: format.Conventions("picl")}
	d.model = m
	m.Clock = d.fileClock()
	for i := range d.quick {
		d.quick[i] = -1
	}
	if len(carried) > 0 {
		m = &trace.Definitions{Format: "picl"}
		r, err := carrier.NewRestorer(m, carried)
		if err != nil {
			if e := d.opt.Defect(&trace.Defect{Rule: "picl.carrier", Severity: trace.Warning, Position: trace.Position{File: d.file.Name},
				Found: err.Error(), Expected: "definitions that weft wrote into event messages; they are ignored"}); e != nil {
				return e
			}
		} else {
			d.restore, d.model = r, m
			m.Clock = r.Clock
			d.rescale = r.Clock.Num != d.fileClock().Num || r.Clock.Den != 1
			return nil
		}
	}
	// In a file that is not sorted the place of a label among the records says
	// nothing once they are: its regions get labels anew.
	moved := false
	for _, k := range d.kept {
		moved = moved || k.before > 0 && len(d.runs) != 1
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
		return cmp.Or(cmp.Compare(group(a.processor), group(b.processor)), cmp.Compare(abs(a.processor), abs(b.processor)), cmp.Compare(a.process, b.process))
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
		kind := map[int64]string{TypeProcessorSet: "processors", TypeProcessSet: "processes", TypeEventSet: "event types"}[k.typ]
		m.Sets.Add(trace.Set{ID: strconv.FormatInt(k.id, 10), Kind: kind, Members: d.defs.sets[k]})
	}
	return nil
}

// maxSlots bounds the table of processors.
const maxSlots = 1 << 16

// locationOfRecord finds the location of a processor and process that have
// records.
func (d *decoder) locationOfRecord(k procKey) uint32 {
	if uint64(k.processor) < uint64(len(d.slots)) {
		if s := &d.slots[k.processor]; s.process == k.process && s.loc >= 0 {
			return uint32(s.loc)
		}
	}
	return d.locations[k]
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
	return d.model.Locations.Add(trace.Location{ID: locationID(k), Name: name, Kind: kind, Group: trace.NoRef})
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
		r = d.model.Regions.Add(trace.Region{ID: strconv.FormatInt(event, 10), Name: name, Group: group})
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
		k = d.model.Attributes.Add(a)
		d.attrs[a.Name] = k
	}
	return k
}

// kindOf is the kind of a user-defined or unknown record type.
func (d *decoder) kindOf(typ int64) trace.Kind {
	k, ok := d.records[typ]
	if !ok {
		i := d.model.Kinds.Add(trace.KindDef{Format: "picl", KindSpec: trace.KindSpec{
			Name: "record " + strconv.FormatInt(typ, 10), Doc: "PICL record of type " + strconv.FormatInt(typ, 10), Ref: trace.RefRegion}})
		k = trace.Declared + trace.Kind(i)
		d.records[typ] = k
	}
	return k
}

// Defs returns the definitions.
func (d *decoder) Defs() *trace.Definitions { return d.model }

// Prepare does nothing: opening has looked through the text.
func (d *decoder) Prepare(context.Context) error { return nil }

// Extent is the times of the first and last event.
func (d *decoder) Extent(context.Context) (first, last int64, ok bool, err error) {
	if d.restore != nil {
		clock := d.fileClock()
		first, _, ok1 := clock.Rescale(d.first, d.model.Clock)
		last, _, ok2 := clock.Rescale(d.last, d.model.Clock)
		return first, last, ok1 && ok2 && d.first <= d.last, nil
	}
	return d.first, d.last, d.first <= d.last, nil
}

// fileClock counts the file's own ticks.
func (d *decoder) fileClock() trace.Clock { return trace.Clock{Num: pow10(d.digits), Den: 1} }

// LinkCount is 0: PICL has no links, but for those of a restored trace, which
// are not counted before a scan.
func (d *decoder) LinkCount() (int64, bool) { return 0, d.restore == nil }

// Close closes the file.
func (d *decoder) Close() error { return d.close() }

// Scan delivers all events in time order, or those of each location.
func (d *decoder) Scan(ctx context.Context, sel trace.Selection, order format.Order, sink format.Sink) error {
	d.opt.Pass()
	if sel.NoEvents && d.restore == nil {
		return nil
	}
	sel, sink = format.Exactly(d.model, sel, sink)
	sink = d.paired(sink)
	if order == format.GlobalOrder {
		return d.ordered(ctx, sel, sink)
	}
	if len(d.runs) == 1 {
		return d.parseAll(ctx, d.file.Chunks(d.selected(sel)), sel, sink, false)
	}
	r := format.Regroup(sink, 1<<16)
	if err := d.ordered(ctx, sel, r); err != nil {
		return err
	}
	return r.Flush()
}

// ScanParallel delivers from one goroutine: the text is parsed on all cores before that.
func (d *decoder) ScanParallel(ctx context.Context, sel trace.Selection, begin func() func(int) format.Sink) error {
	return format.ScanInOne(ctx, d, sel, begin)
}

// selected leaves out the chunks that lie outside the time window.
func (d *decoder) selected(sel trace.Selection) []lines.Chunk {
	// A leave may need the name that its enter had, however long ago.
	if sel.From == math.MinInt64 && sel.To == math.MaxInt64 || d.restore == nil && d.renamed != nil {
		return d.chunks
	}
	var out []lines.Chunk
	for i, c := range d.chunks {
		if t := d.times[i]; t.max >= sel.From && t.min < sel.To {
			out = append(out, c)
		}
	}
	return out
}

// paired makes an exit leave the region that its entry entered: a label may
// have changed between the two, but they pair by event type.
func (d *decoder) paired(sink format.Sink) format.Sink {
	if d.restore != nil || d.renamed == nil {
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

// ordered delivers all events in time order.
func (d *decoder) ordered(ctx context.Context, sel trace.Selection, sink format.Sink) error {
	switch {
	case len(d.runs) == 1:
		return d.parseAll(ctx, d.file.Chunks(d.selected(sel)), sel, sink, true)
	case d.runs != nil:
		defer func() { d.scanned = true }()
		streams := make([]format.Stream, len(d.runs))
		var links carrier.Links
		defer links.Close()
		for i, r := range d.runs {
			streams[i] = &stream{d: d, links: &links, src: d.file.Chunks(lines.Cut(d.chunks, r.from, r.to, r.line))}
		}
		if err := format.Merge(ctx, streams, sink); err != nil || sel.Links == trace.NoLinks {
			return err
		}
		return links.Deliver(ctx, sink.Links)
	}
	s, err := d.sort(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	it, err := s.Sort(ctx)
	if err != nil {
		return err
	}
	return d.parseAll(ctx, lines.Sorted(it), sel, sink, true)
}

// sort brings the lines of the file into time order.
func (d *decoder) sort(ctx context.Context) (*extsort.Sorter, error) {
	s := extsort.New(d.opt.SortMemory(), "")
	src := d.file.Chunks(d.chunks)
	var buf []byte
	var h head
	for {
		if err := ctx.Err(); err != nil {
			s.Close()
			return nil, err
		}
		b, err := lines.Next(src)
		if err != nil || b == nil {
			if err != nil {
				s.Close()
				return nil, err
			}
			return s, nil
		}
		w := d.file.Walk(b)
		last := int64(math.MinInt64)
		for {
			l, number, ok := w.Next()
			if !ok {
				break
			}
			t := last // a line without a time stays behind the one before it
			if _, bad := h.parse(l, 3); bad < 0 {
				t, _, _ = h.time().Ticks(d.digits)
				last = t
			}
			buf = binary.LittleEndian.AppendUint64(buf[:0], uint64(number))
			buf = append(buf, l...)
			if err := s.Add(t, number, buf); err != nil {
				s.Close()
				return nil, err
			}
		}
		b.Release()
	}
}

// parseAll parses blocks on all cores and delivers their batches in order.
func (d *decoder) parseAll(ctx context.Context, src lines.Source, sel trace.Selection, sink format.Sink, mixed bool) error {
	defer func() { d.scanned = true }()
	workers := d.opt.Cores()
	turn := pipeline.NewTurn()
	free := make(chan *parsed, workers+2)
	next := func() (*lines.Block, bool, error) {
		b, err := src.Next()
		return b, b != nil, err
	}
	parsers := make([]scoped, workers)
	var links carrier.Links
	defer links.Close()
	work := func(w int, b *lines.Block) (*parsed, error) {
		var p *parsed
		select {
		case p = <-free:
		default:
			p = &parsed{}
		}
		parsers[w].defs = d.defs
		p.reset(d, b, &parsers[w], mixed)
		p.turn = turn
		err := b.Load()
		if err == nil {
			err = p.run()
		}
		turn.Done(b.Seq)
		return p, err
	}
	done := func(p *parsed) error {
		for _, x := range p.out {
			if err := sink.Batch(x); err != nil {
				return err
			}
		}
		if err := p.keep(&links); err != nil {
			return err
		}
		if d.opt.Progress != nil {
			d.opt.Progress(d.file.Size/2+(p.block.Line*d.file.Size)/max(1, 2*(d.lastLine()+1)), d.file.Size)
		}
		p.block.Release()
		p.block = nil
		select {
		case free <- p:
		default:
		}
		return nil
	}
	if err := pipeline.Run(ctx, workers, next, work, done); err != nil || sel.Links == trace.NoLinks {
		return err
	}
	return links.Deliver(ctx, sink.Links)
}

func (d *decoder) lastLine() int64 {
	if len(d.chunks) == 0 {
		return 1
	}
	return d.chunks[len(d.chunks)-1].Line
}

// keep adds the links of a block to those of the scan.
func (p *parsed) keep(links *carrier.Links) error {
	for _, l := range p.links {
		if err := links.Add(l.line, l.text); err != nil {
			return err
		}
	}
	return nil
}

// stream reads one sorted piece of the file.
type stream struct {
	d     *decoder
	links *carrier.Links
	src   lines.Source
	p     parsed
	res   scoped
	ready int
}

// Next returns the next batch of the piece.
func (s *stream) Next(ctx context.Context) (*trace.Batch, error) {
	for {
		if s.ready < len(s.p.out) {
			s.ready++
			return s.p.out[s.ready-1], nil
		}
		// The block is not released: what has been merged, but not handed on yet,
		// has texts in it.
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		b, err := lines.Next(s.src)
		if err != nil || b == nil {
			return nil, err
		}
		s.res.defs = s.d.defs
		s.p.reset(s.d, b, &s.res, true)
		s.ready = 0
		if err := s.p.run(); err != nil {
			return nil, err
		}
		if err := s.p.keep(s.links); err != nil {
			return nil, err
		}
	}
}
