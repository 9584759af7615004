package picl

import (
	"cmp"
	"context"
	"math"
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

// alias returns a string that shares the memory of b. The values of a record are valid as long as the
// text from which they were read.
func alias(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// decoder reads a PICL trace and delivers its contents in the common model.
type decoder struct {
	linetrace.Text
	src  format.Source
	defs *definitions
	nrec int64
	// firstRecord is the number of the first line whose record is not a definition.
	firstRecord int64
	renamed     map[uint32]int64 // event types of regions whose event type has several names
	kept        []keptRecord     // definition records, kept for the encoder
	defined     []int64          // line numbers of the definitions and of the lines that cannot be read
	missing     map[setKey]int64 // undefined subsets in the heads of records, with the first line that uses each
	statistics  map[int64]bool   // event types of statistics records
	// number of records of the last scan for which weft would write another descriptor
	spelled    int64
	damaged    int64 // number of records of the last scan whose text holds more than their values
	rounded    int64 // number of times of the last scan that were rounded
	unread     int64 // number of definition records that cannot be read
	malformed  int64 // number of lines without a record, not counting blank lines
	encodings  linetrace.EncodingCounts
	unreadable int64 // number of records of the last scan whose times do not fit
	nesting    nesting
	sources    sources
	operations readOperations
	plainInts  bool // no record gives an integer descriptor another meaning
	// slots makes the usual lookup of locations fast. It holds the location of one process for each
	// processor below len(slots).
	slots []slot

	locations    map[procKey]uint32
	onlyLocation map[int64]uint32 // location by processor, for processors with only one location
	regions      map[regionKey]uint32
	direct       map[int64]uint32 // region by event type, for event types with only one region
	directSmall  [1 << 11]int32   // direct for event types from -1024 to 1023; -1 if a type has no region
	records      map[int64]trace.Kind
	attrs        map[string]uint32
	fields       [len(eventTable) + 2]fieldKeys // attributes of the data fields, by specIndex
	// the attribute that holds the process id of the record, if the event's location has another process id
	recordedProcess uint32
	markMessages    bool   // marks of sends and receives also become messages
	text            uint32 // the attribute that holds character data
	peerLocations   map[procKey]uint32
	scopes          struct { // the locations that stand for groups of processors and processes in records
		sync.Mutex
		locations map[processes][]uint32
		// the keys of the decoder's locations by processor and by process; nil until they are needed
		byProcessor, byProcess map[int64][]procKey
	}
}

type procKey struct{ processor, process int64 }

type slot struct {
	process int64
	loc     int32 // -1 if no process is known
}

type regionKey struct {
	event int64
	name  string
}

// Open opens a trace.
func (Format) Open(ctx context.Context, src format.Source, opt *format.ReadOptions) (format.File, error) {
	if err := about.CheckOptions(opt.Values); err != nil {
		return nil, err
	}
	f, closer, err := openText(ctx, src, opt)
	if err != nil {
		return nil, err
	}
	d := newDecoder(opt, f, closer)
	d.src = src
	if err := d.index(ctx); err != nil {
		closer()
		return nil, err
	}
	return d, nil
}

// newDecoder returns a decoder for a file that has not been read yet.
func newDecoder(opt *format.ReadOptions, f *lines.File, closer func() error) *decoder {
	d := &decoder{Text: linetrace.NewText(opt, f, closer), defs: newDefinitions(), statistics: map[int64]bool{},
		peerLocations: map[procKey]uint32{},
		locations:     map[procKey]uint32{}, onlyLocation: map[int64]uint32{}, regions: map[regionKey]uint32{},
		direct:  map[int64]uint32{},
		records: map[int64]trace.Kind{}, attrs: map[string]uint32{}}
	d.scopes.locations, d.sources.receivers = map[processes][]uint32{}, map[procKey]bool{}
	d.markMessages = opt.Value("picl.marks", "marks") == "messages"
	return d
}

// locationOfRecord returns the location of records with the given processor and process.
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

// locationID returns the id of a location: "processor/process".
func locationID(k procKey) string {
	return strconv.FormatInt(k.processor, 10) + "/" + strconv.FormatInt(k.process, 10)
}

func parseLocationID(s string) (k procKey, ok bool) {
	a, b, found := strings.Cut(s, "/")
	p, err1 := strconv.ParseInt(a, 10, 64)
	q, err2 := strconv.ParseInt(b, 10, 64)
	return procKey{p, q}, found && err1 == nil && err2 == nil
}

// compareEvents orders system events before user events. Within both groups, it orders events by absolute
// value.
func compareEvents(a, b int64) int {
	if (a < 0) != (b < 0) {
		return cmp.Compare(a, b)
	}
	return cmp.Compare(abs(a), abs(b))
}

func (d *decoder) region(event int64, name string) uint32 {
	k := regionKey{event, name}
	r, ok := d.regions[k]
	if !ok {
		group := ""
		for _, s := range eventSubsets[2:] {
			if s.list == nil && d.defs.inEventSubset(s.id, event) {
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

// regionOf returns the region of a record, given the fields of its head.
func (d *decoder) regionOf(event, processor, process, line int64) uint32 {
	if i := event + 1024; i >= 0 && i < int64(len(d.directSmall)) {
		if r := d.directSmall[i]; r >= 0 {
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

// declareKind adds a kind for a record type that the user defined or that is unknown, unless it exists.
func (d *decoder) declareKind(typ int64) {
	if _, ok := d.records[typ]; !ok && d.Model.Kinds.Len() <= math.MaxUint16-int(trace.Declared) {
		i := d.Model.Kinds.Add(trace.KindDef{Format: "picl", KindSpec: trace.KindSpec{
			Name: "record " + strconv.FormatInt(typ, 10), Doc: "PICL record of type " + strconv.FormatInt(typ, 10),
			Ref: trace.RefRegion}})
		d.records[typ] = trace.Declared + trace.Kind(i)
	}
}

// LinkCount returns 0, because PICL has no links. For a restored trace, the number is unknown before a
// scan.
func (d *decoder) LinkCount() (int64, bool) { return 0, d.Restore == nil }

// Scan delivers the selected events in time order, or location by location.
func (d *decoder) Scan(ctx context.Context, sel trace.Selection, order format.Order, sink format.Sink) error {
	d.Opt.Pass()
	if sel.NoEvents && d.Restore == nil {
		return nil
	}
	if len(d.sources.receivers) > 0 && d.Restore == nil {
		if err := d.findSources(ctx); err != nil {
			return err
		}
	}
	sel, sink = format.ExactScan(d.Model, sel, sink)
	// A leave may need the name of its enter, and a message may need its call. Enter and call may have
	// occurred long before.
	whole := d.Restore == nil && (d.renamed != nil || d.nesting.found || d.operations.regions != nil)
	return d.Deliver(ctx, d, sel, order, whole, d.pairLeaves(sink))
}

// ScanParallel delivers the selected events from a single goroutine. All cores parse the text.
func (d *decoder) ScanParallel(ctx context.Context, sel trace.Selection, begin func() func(int) format.Sink) error {
	return format.ScanInOne(ctx, d, sel, begin)
}

// pairLeaves returns a sink that gives each leave the region of its enter. Entry and exit belong
// together by event type, but a label between them may change the name of that type. The sink also
// drops the second of two messages where a receive and the waiting inside it both have one.
func (d *decoder) pairLeaves(sink format.Sink) format.Sink {
	if d.Restore == nil && d.nesting.found {
		sink = newReceiveFilter(d, sink)
	}
	if d.operations.regions != nil {
		sink = newOperationEnds(d, sink)
	}
	if d.Restore != nil || d.renamed == nil {
		return sink
	}
	return &pairing{Sink: sink, d: d, open: map[locationEvent][]uint32{}}
}

type pairing struct {
	format.Sink
	d    *decoder
	open map[locationEvent][]uint32
}

// Batch replaces the regions of leaves and delivers the batch.
func (p *pairing) Batch(b *trace.Batch) error {
	for i, k := range b.Kind {
		if k != trace.Enter && k != trace.Leave || b.Ref[i] == trace.NoRef {
			continue
		}
		event, ok := p.d.renamed[b.Ref[i]]
		if !ok {
			continue
		}
		key := locationEvent{b.Location(i), event}
		if k == trace.Enter {
			p.open[key] = append(p.open[key], b.Ref[i])
		} else if s := p.open[key]; len(s) > 0 {
			b.Ref[i] = s[len(s)-1]
			p.open[key] = s[:len(s)-1]
		}
	}
	return p.Sink.Batch(b)
}

// SortTime returns the time by which a line is sorted. A line without a time stays after the line
// before it.
func (d *decoder) SortTime(l []byte, last int64) int64 {
	var h head
	if _, bad := h.parse(l, 3); bad < 0 {
		last, _, _ = h.time().Ticks(d.Digits)
	}
	return last
}

// eventScan is a single pass over the events.
type eventScan struct {
	d       *decoder
	carried carrier.Links
	wanted  bool
	spelled atomic.Int64 // number of records for which weft would write another descriptor
	damaged atomic.Int64 // number of records whose text holds more than their values
	rounded atomic.Int64 // number of rounded times

	unreadable atomic.Int64 // number of records whose times do not fit
}

// Begin begins a scan with the given selection.
func (d *decoder) Begin(sel trace.Selection) linetrace.Scan {
	return &eventScan{d: d, wanted: sel.Links != trace.NoLinks}
}

// Links delivers the links that another format's trace carries.
func (s *eventScan) Links(ctx context.Context, sink format.Sink) error {
	if !s.wanted {
		return nil
	}
	return s.carried.Deliver(ctx, s.d.Model.Locations.Len(), sink.Links)
}

// Close stores the counts of the scan in the decoder and deletes the temporary files of the links.
func (s *eventScan) Close() {
	s.d.spelled, s.d.damaged, s.d.rounded = s.spelled.Load(), s.damaged.Load(), s.rounded.Load()
	s.d.unreadable = s.unreadable.Load()
	s.carried.Close()
}

// Overview returns the counts of the parts of the file that the events do not reproduce: descriptors, lines
// and definitions that cannot be read, records with defects, definitions that are not UTF-8, and rounded
// times.
func (d *decoder) Overview(context.Context) (*format.Overview, error) {
	return &format.Overview{Respelled: d.spelled, Unread: d.malformed + d.unreadable + d.unread + *d.File.Skipped,
		Damaged: d.damaged, Recoded: d.encodings.Other, Rounded: d.rounded}, nil
}

// Assembler returns an assembler that delivers batches in the order of the blocks.
func (s *eventScan) Assembler(mixed bool) linetrace.Assembler { return assembler{s, mixed} }

type assembler struct {
	*eventScan
	mixed bool
}

// Block returns an empty parser for one block of lines. It holds the events of the block.
func (a assembler) Block() linetrace.Block {
	return &blockParser{d: a.d, res: descriptorResolver{defs: a.d.defs}, mixLocations: a.mixed, scan: a.eventScan}
}

// Take delivers the events of a block.
func (a assembler) Take(b linetrace.Block, sink format.Sink) error {
	p := b.(*blockParser)
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

// Finish does nothing, because Take delivers all events.
func (a assembler) Finish(format.Sink) error { return nil }
