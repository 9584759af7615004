package picl

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/format/carrier"
	"github.com/weft-trace/weft/internal/attrlist"
	"github.com/weft-trace/weft/internal/lines"
	"github.com/weft-trace/weft/internal/linetrace"
	"github.com/weft-trace/weft/trace"
)

// parsed is a block of lines turned into batches.
type parsed struct {
	d     *decoder
	place linetrace.Place
	res   scoped
	data  []uint32 // attributes of unnamed data fields
	mixes bool     // one batch is to have the events of all locations
	mixed *trace.Batch
	byLoc []*trace.Batch // by location
	used  []uint32       // locations in byLoc that have rows
	out   []*trace.Batch
	free  []*trace.Batch
	vals  []trace.Value
	added []trace.Attr // attributes that the event got when the trace was changed
	pairs []carrier.Pair
	links []carriedLinks
	scan  *scan
	buf   []byte
}

// carriedLinks are packed links of another format's trace with their line.
type carriedLinks struct {
	line int64
	data []byte
}

func (p *parsed) take(loc uint32) *trace.Batch {
	var b *trace.Batch
	if n := len(p.free); n > 0 {
		b, p.free = p.free[n-1], p.free[:n-1]
	} else {
		b = &trace.Batch{}
	}
	b.Reset(loc)
	return b
}

// batch is where the next row of a location goes.
func (p *parsed) batch(loc uint32) *trace.Batch {
	if p.mixed != nil {
		if p.mixed.Len() >= trace.BatchRows {
			p.out = append(p.out, p.mixed)
			p.mixed = p.take(trace.MixedLoc)
		}
		return p.mixed
	}
	for int(loc) >= len(p.byLoc) {
		p.byLoc = append(p.byLoc, nil)
	}
	b := p.byLoc[loc]
	if b == nil {
		b = p.take(loc)
		p.byLoc[loc] = b
		p.used = append(p.used, loc)
	} else if b.Len() >= trace.BatchRows {
		p.out = append(p.out, b)
		b = p.take(loc)
		p.byLoc[loc] = b
	}
	return b
}

// Parse turns the lines of a block into batches.
func (p *parsed) Parse(b *lines.Block, at linetrace.Place) error {
	p.free = append(p.free, p.out...)
	p.place, p.out, p.used, p.mixed, p.links = at, p.out[:0], p.used[:0], nil, p.links[:0]
	if p.mixes {
		p.mixed = p.take(trace.MixedLoc)
	}
	if err := p.lines(b); err != nil {
		return err
	}
	if p.mixed != nil {
		if p.mixed.Len() > 0 {
			p.out = append(p.out, p.mixed)
		}
		return nil
	}
	for _, loc := range p.used {
		if b := p.byLoc[loc]; b.Len() > 0 {
			p.out = append(p.out, b)
		}
		p.byLoc[loc] = nil
	}
	return nil
}

// lines parses all lines: those in their usual spelling in one go, the others
// through line.
func (p *parsed) lines(b *lines.Block) error {
	d := p.d
	w := d.File.Walk(b)
	usual := w.Plain()
	var h head
	for {
		if usual {
			rest := w.Rest()
			if i := h.quick(rest); i > 0 && h.event() && h.scale <= d.Digits {
				t, ok := h.f[2], true
				if h.scale != d.Digits {
					t, _, ok = h.time().Ticks(d.Digits)
				}
				if ok && d.Restore != nil {
					if n := p.quickRestored(rest, i, &h, t, w.Number()); n > 0 {
						w.Skip(n)
						continue
					}
				}
				if end := lineEnd(rest, i); end > 0 {
					l, number := rest[:end], w.Skip(end+1)
					var err error
					switch {
					case !ok:
						err = p.line(l, number)
					case d.Restore != nil:
						err = p.restoredLine(l, l[i:], &h, t, number)
					default:
						err = p.record(&h, l, i, t, number)
					}
					if err != nil {
						return err
					}
					continue
				}
			}
		}
		l, number, ok := w.Next()
		if !ok {
			return nil
		}
		if err := p.line(l, number); err != nil {
			return err
		}
	}
}

// usual reads the head of an event's record that data begins
// with, if it is spelled in the usual way and the record is one line. i is where
// the head ends, end where the line does, 0 for all other lines.
func (h *head) usual(data []byte) (i, end int) {
	i = h.quick(data)
	if i <= 0 || !h.event() {
		return i, 0
	}
	return i, lineEnd(data, i)
}

// event reports whether the record is of a type that events have.
func (h *head) event() bool {
	return h.f[0] >= TypeExit && h.f[0] <= TypeMark || h.f[0] == rowType
}

// lineEnd is where the line ends whose head ends at i, 0 if another may belong
// to it.
func lineEnd(data []byte, i int) int {
	if data[i] != '\n' {
		i += bytes.IndexByte(data[i:], '\n')
	}
	if c := data[i-1]; c == '\\' || c <= ' ' {
		return 0
	}
	return i
}

func (p *parsed) defect(problem dataProblem, line int64, text []byte) error {
	if p.d.Scanned {
		return nil
	}
	return p.d.Opt.Defect(problem.defect(p.d.File.Name, line, text))
}

// line turns one line into rows.
func (p *parsed) line(l []byte, number int64) error {
	d := p.d
	var h head
	i, problem, skip := parseLine(l, &h)
	rounded := !skip && !h.exact
	if problem.rule != "" {
		if err := p.defect(problem, number, l); err != nil {
			return err
		}
	}
	if skip {
		if problem.rule != "" {
			p.scan.damaged.Add(1)
		}
		return nil
	}
	if isDefinition(h.f[0]) {
		return nil
	}
	t := h.f[2]
	if h.scale != d.Digits {
		var exact, ok bool
		t, exact, ok = h.time().Ticks(d.Digits)
		if !ok || !exact && !rounded { // not said yet
			if err := p.defect(dataProblem{"picl.time-rounded", h.time().String() + " s",
				fmt.Sprintf("at most %d digits after the point, beside the other times", d.Digits), trace.Warning}, number,
				l); err != nil {
				return err
			}
			if !ok {
				return nil
			}
			rounded = true
		}
	}
	if rounded {
		p.scan.rounded.Add(1)
	}
	typ, event := h.f[0], h.f[1]
	if typ < TypeExit {
		// It is no event, also when the definitions could not be restored,
		// which is reported: the first pass has left it out.
		if typ == TypeMessage && event == -1 {
			if _, ok := carriedDefinition(l[i:]); ok {
				return nil
			}
		}
	}
	if d.Restore != nil {
		return p.restoredLine(l, l[i:], &h, t, number)
	}
	return p.record(&h, l, i, t, number)
}

// record makes rows of a record whose head ends at l[i].
func (p *parsed) record(h *head, l []byte, i int, t, number int64) error {
	d := p.d
	typ, event := h.f[0], h.f[1]
	p.vals, p.added = p.vals[:0], p.added[:0]
	quick := h.f[5] == 0 && i == len(l)
	if !quick && d.plainInts && i+2 < len(l) && l[i+1] == '2' && h.f[5] < 64 {
		p.vals, quick = integers(l[i+2:], h.f[5], p.vals)
	}
	if !quick {
		var problem dataProblem
		p.vals, problem = parseData(l[i:], h.f[5], h, number, &p.res, p.vals[:0])
		if problem.rule != "" {
			if err := p.defect(problem, number, l); err != nil {
				return err
			}
			if problem.rule != "picl.one-structure" && problem.rule != "picl.text-length" { // all is kept then
				p.scan.damaged.Add(1)
			}
		} else {
			p.noteSpelling(l[i:], h, number)
		}
		p.takeAdded()
	}
	key := procKey{h.f[3], h.f[4]}
	loc, _ := d.locationOfRecord(key)
	region := d.regionOf(event, key.processor, key.process, number)
	spec := specOf(event)
	keys := &d.fields[specIndex(event)]
	b := p.batch(loc)
	switch typ {
	case TypeEntry:
		b.Add(loc, t, trace.Enter, region)
		if event < 0 && len(p.vals) > len(keys.entry) {
			p.attributes(b, keys.mark) // an entry may have all fields of the mark form
		} else {
			p.attributes(b, keys.entry)
		}
	case TypeExit:
		if spec.send != noRole {
			// The message has arrived inside the region.
			p.message(b, loc, t, typ, event, spec, number)
		}
		b.Add(loc, t, trace.Leave, region)
		p.attributes(b, keys.exit)
	case TypeMark:
		b.Add(loc, t, trace.Mark, region)
		p.attributes(b, keys.mark)
	case TypeMessage:
		if event == -1 {
			region = trace.NoRef
		}
		b.Add(loc, t, trace.Comment, region)
		p.attributes(b, nil)
	case TypeTimes, TypeCounts, TypeVolumes, TypeRecvVolumes, TypeSizeVolumes:
		if event == -1 {
			region = d.regionOf(-1, key.processor, key.process, number)
		}
		b.Add(loc, t, trace.Statistics, region)
		b.AddOps(uint64(TypeTimes - typ))
		for j := 0; j+1 < len(p.vals); j += 2 {
			b.AddAttr(p.statisticKey(p.vals[j]), p.vals[j+1])
		}
		if n := len(p.vals); n%2 == 1 {
			b.AddAttr(p.statisticKey(p.vals[n-1]), noFigure)
		}
	default:
		b.Add(loc, t, d.records[typ], region)
		for j, v := range p.vals {
			b.AddAttr(p.dataKey(j), v)
		}
		if typ < 0 && !isDefinition(typ) {
			if err := p.defect(dataProblem{"picl.unknown-record-type", fmt.Sprintf("record type %d", typ),
				"a known record type; it is kept as it is", trace.Note}, number, l); err != nil {
				return err
			}
		}
	}
	if event < 0 && !knownEvent(event) && !d.defs.has(setKey{TypeEventSet, event}) {
		if err := p.defect(dataProblem{"picl.unknown-event-type", fmt.Sprintf("event type %d", event),
			"a known system event type", trace.Note}, number, l); err != nil {
			return err
		}
	}
	p.markAdded(b)
	if key.process == -1 && d.Model.Locations.At(loc).ID != locationID(key) {
		b.AddAttr(d.wide, trace.IntValue(-1))
	}
	b.Pos = append(b.Pos, number)
	if spec.send != noRole && typ != TypeExit {
		p.message(b, loc, t, typ, event, spec, number)
		if typ == TypeMark && !d.marks && len(p.vals) > 0 && (len(spec.entry) > 1 || len(spec.exit) > 1) {
			return p.defect(dataProblem{"picl.mark-message", "a mark of " + spec.name,
				"an entry and an exit; --option picl.marks=messages counts it as a message", trace.Note}, number, l)
		}
	} else if typ != TypeExit && (event == -913 || event == -914) {
		b.Add(loc, t, trace.Gap, trace.NoRef)
		b.MarkDerived()
		b.Pos = append(b.Pos, number)
	}
	return nil
}

// noteSpelling counts a record if its descriptor is another one than its values get when they are
// written.
func (p *parsed) noteSpelling(data []byte, h *head, line int64) {
	data = bytes.TrimLeft(data, " \t")
	if len(data) == 0 || h.f[5] == 0 {
		return
	}
	if usualDescriptor(data) {
		n := int64(data[0] - '0')
		if p.d.plainInts || p.res.control(n, h, line) == predefined[n] {
			return
		}
	}
	if n := closingQuote(data); data[0] == '"' && n > 0 {
		r := Record{Type: h.f[0], Values: p.vals}
		p.buf = r.appendData(p.buf[:0], defaultDigits)
		want := p.buf[1+bytes.IndexByte(p.buf[1:], ' ')+1:]
		if c, err := p.res.inline(string(data[1:n])); err == nil && c.simple != nil && bytes.HasPrefix(want, data[:n+1]) {
			return
		}
	}
	p.scan.spelled.Add(1)
}

// takeAdded takes the attributes that the event got when the trace was changed from among
// the data fields, which they are the last of.
func (p *parsed) takeAdded() {
	for n := len(p.vals) - 1; n >= 0 && p.vals[n].Type == trace.String; n-- {
		text, ok := strings.CutPrefix(p.vals[n].Str, addedPrefix)
		key, value, both := strings.Cut(text, "=")
		if !ok || !both {
			break
		}
		p.vals = p.vals[:n]
		p.added = append(p.added, trace.Attr{Key: key, Value: trace.StringValue(value)})
	}
	slices.Reverse(p.added)
}

// markAdded gives the last row the attributes that the event got when the trace was changed.
func (p *parsed) markAdded(b *trace.Batch) {
	for _, a := range p.added {
		b.AddAttr(p.defineAdded(a.Key), a.Value)
	}
}

// attributes adds the data fields of a record under the names that the table
// of event types gives them.
func (p *parsed) attributes(b *trace.Batch, names []uint32) {
	n := len(p.vals)
	if n == 0 {
		return
	}
	if n <= len(names) {
		row := uint32(len(b.Time) - 1)
		for range n {
			b.AttrRow = append(b.AttrRow, row)
		}
		b.AttrKey = append(b.AttrKey, names[:n]...)
		b.AttrVal = append(b.AttrVal, p.vals...)
		return
	}
	for i := range p.vals {
		switch {
		case i < len(names):
			b.AddAttr(names[i], p.vals[i])
		case len(p.vals) == 1 && p.vals[0].Type == trace.String:
			b.AddAttr(p.d.text, p.vals[i])
		default:
			b.AddAttr(p.dataKey(i), p.vals[i])
		}
	}
}

// fieldKeys are the attributes of the data fields of an event type.
type fieldKeys struct{ entry, exit, mark []uint32 }

// defineFields makes the attributes of the named data fields of the event
// types that occur.
func (d *decoder) defineFields(events []int64) {
	for _, e := range events {
		spec, k := specOf(e), &d.fields[specIndex(e)]
		if k.mark != nil {
			continue
		}
		for _, n := range spec.entry {
			k.entry = append(k.entry, d.attr(n, trace.None))
		}
		k.mark = slices.Clone(k.entry)
		for _, n := range spec.exit {
			k.exit = append(k.exit, d.attr(n, trace.None))
			if slices.Contains(spec.entry, n) {
				// In a mark the exit's field is told from the entry's.
				n = "exit " + n
			}
			k.mark = append(k.mark, d.attr(n, trace.None))
		}
	}
	d.text = d.attr("text", trace.String)
	d.wide = d.attr("recorded process", trace.Int64)
}

// maxDataNames is how many unnamed data fields of one record have a name of
// their own.
const maxDataNames = 256

// dataKey is the attribute of an unnamed data field.
func (p *parsed) dataKey(i int) uint32 {
	i = min(i, maxDataNames)
	for i >= len(p.data) {
		n := "data" + strconv.Itoa(len(p.data))
		if len(p.data) == maxDataNames {
			n = "data"
		}
		p.data = append(p.data, p.define(n))
	}
	return p.data[i]
}

// define finds or makes the attribute of a data field while blocks are being parsed.
func (p *parsed) define(name string) uint32 {
	return p.defineAs(trace.AttributeDef{Name: name})
}

// defineAdded finds or makes an attribute that an event got when the trace was changed.
func (p *parsed) defineAdded(name string) uint32 {
	return p.defineAs(trace.AttributeDef{Name: strings.Clone(name), Type: trace.String,
		Doc: "got when the trace was changed"})
}

func (p *parsed) defineAs(a trace.AttributeDef) uint32 {
	k, _ := linetrace.Define(&p.d.Text, p.place, p.d.attrs, a.Name,
		func() (uint32, error) { return p.d.Model.Attributes.Add(a), nil })
	return k
}

// noFigure is the value of an event type that a statistics record has no figure for.
var noFigure = trace.StringValue("")

// statisticKey is the attribute of a statistic of an event type: the type's
// number, explained by its name.
func (p *parsed) statisticKey(event trace.Value) uint32 {
	name := strings.Clone(event.String())
	doc := ""
	if event.Type != trace.String {
		doc = eventName(event.Int())
	}
	return p.defineAs(trace.AttributeDef{Name: name, Doc: doc})
}

// message adds the send or receive that a record stands for (docs/formats/
// picl.md, "Messages"): a send at the entry, a receive at the exit, or where the entry has
// all fields.
func (p *parsed) message(b *trace.Batch, loc uint32, t, typ, event int64, spec *eventSpec, line int64) {
	vals := p.vals
	if typ == TypeMark && !p.d.marks {
		return
	}
	var kind trace.Kind
	switch {
	case typ == TypeExit && (spec.send == sendBlock || spec.send == sendPost):
		return
	case spec.send == sendBlock:
		kind = trace.Send
	case spec.send == sendPost:
		kind = trace.SendBegin
	case spec.send == recvBlock:
		kind = trace.Recv
	case spec.send == recvDone:
		kind = trace.RecvComplete
	default:
		return
	}
	if typ != TypeExit && kind.IsRecv() {
		vals = vals[min(len(spec.entry), len(vals)):]
	}
	field := [4]int64{-1, -1, -1, -1} // length, tag, processor, process
	for i := range min(len(vals), len(field)) {
		if vals[i].Type != trace.String {
			field[i] = vals[i].Int()
		}
	}
	if field == [4]int64{-1, -1, -1, -1} {
		return // nothing is known of it
	}
	add := func(other uint64) {
		b.Add(loc, t, kind, trace.NoRef)
		b.AddOps(other, trace.Undefined, uint64(field[1]), uint64(max(-1, field[0]))) // -1 is Undefined
		p.markAdded(b)
		b.MarkDerived()
		b.Pos = append(b.Pos, line)
	}
	// A destination that is left out is not known, -1 is all.
	if kind.IsSend() && len(vals) > 2 && (field[2] < 0 || p.d.several(field[2], field[3])) {
		if to := p.d.destinations(field[2], field[3], loc); len(to) > 0 && len(to) <= maxDestinations {
			for _, l := range to {
				add(uint64(l))
			}
			return
		}
	}
	if from, ok := p.d.sources.of[line]; ok && kind.IsRecv() && field[2] < 0 {
		add(uint64(from))
		return
	}
	if field[2] >= 0 {
		add(uint64(p.peer(field[2], field[3])))
		return
	}
	add(trace.Undefined)
}

// maxDestinations bounds the messages that one record stands for.
const maxDestinations = 256

// several reports whether a message to a processor may go to several of its processes: which one is not said,
// or a subset of them is.
func (d *decoder) several(processor, process int64) bool {
	if process >= 0 || processor == Host {
		return false
	}
	_, alone := d.alone[processor]
	_, itself := d.locationOfRecord(procKey{processor, process})
	return !itself && (process < -1 || !alone)
}

// destinations are the locations that a message to a processor, all processors or a subset of them
// goes to: those of the processes with records, but for the sender's.
func (d *decoder) destinations(processor, process int64, from uint32) []uint32 {
	k := procKey{processor, process}
	d.broadcasts.Lock()
	defer d.broadcasts.Unlock()
	all, ok := d.broadcasts.to[k]
	if !ok {
		for to, loc := range d.locations {
			if to.processor < 0 || to.processor == Host || processor != -1 && processor != to.processor &&
				!d.defs.inSet(TypeProcessorSet, processor, to.processor) {
				continue
			}
			if process == -1 || to.process == process || to.process == -1 || d.defs.inSet(TypeProcessSet, process, to.process) {
				all = append(all, loc)
			}
		}
		slices.Sort(all)
		all = slices.Compact(all)
		d.broadcasts.to[k] = all
	}
	if i, own := slices.BinarySearch(all, from); own {
		return append(slices.Clone(all[:i]), all[i+1:]...)
	}
	return all
}

// peer is the location of the other side of a message, which may have no
// records of its own.
func (p *parsed) peer(processor, process int64) uint32 {
	d := p.d
	key := procKey{processor, process}
	if loc, ok := d.locationOfRecord(key); ok {
		return loc
	}
	if loc, ok := d.alone[processor]; ok && process == -1 {
		return loc
	}
	loc, _ := linetrace.Define(&d.Text, p.place, d.peerLocations, key,
		func() (uint32, error) { return d.location(key, trace.PeerLocation), nil })
	return loc
}

// carryPrefix begins the texts in which definitions travel (record type -7,
// event type -1).
const carryPrefix = "weft:definitions."

// rowType is the user record type of events that travel as a whole.
const rowType = 900

// carriedDefinition reads a definition out of what follows the head of an
// event message.
func carriedDefinition(l []byte) (carrier.Pair, bool) {
	i := bytes.Index(l, []byte(carryPrefix))
	if i < 0 || i > 40 {
		return carrier.Pair{}, false
	}
	key, value, ok := strings.Cut(string(bytes.TrimRight(l[i+len(carryPrefix):], "\r\n")), " ")
	return carrier.Pair{Key: key, Value: value}, ok
}

// quickRestored turns a line of a carried trace into a row if it does no more
// than enter or leave a region or tell of a message, as most lines do. The head
// of the line ends at i. It returns the length of the line with its end, or 0 if
// it is of another kind, or not spelled in the usual way.
func (p *parsed) quickRestored(line []byte, i int, h *head, t, number int64) (end int) {
	d := p.d
	loc := locationOf(h.f[3])
	if h.f[3] < 0 || loc >= int64(d.Model.Locations.Len()) {
		return 0
	}
	if d.Rescale {
		var ok bool
		if t, _, ok = d.Clock.Rescale(t, d.Restore.Clock); !ok {
			return 0
		}
	}
	switch n := h.f[5]; {
	case n == 0 && line[i] == '\n' && h.f[0] != TypeMark && h.f[0] != rowType && h.f[1] >= 0 &&
		h.f[1] < int64(d.Model.Regions.Len()):
		kind := trace.Enter
		if h.f[0] == TypeExit {
			kind = trace.Leave
		}
		b := p.batch(uint32(loc))
		b.Add(uint32(loc), t, kind, uint32(h.f[1]))
		b.Pos = append(b.Pos, number)
	case n > 0 && h.f[0] == TypeMark && string(line[i:min(i+3, len(line))]) == " 2 " && specOf(h.f[1]).send != noRole:
		var few [16]int64
		v := few[:min(n, int64(len(few)))]
		if i = shortList(line, i+2, v); n > int64(len(few)) || i < 0 || line[i] != '\n' {
			return 0
		}
		if p.restoredMessage(p.batch(uint32(loc)), uint32(loc), t, h.f[1], v, number) != "" {
			return 0
		}
	default:
		return 0
	}
	return i + 1
}

// restoredLine turns a line of a carried trace into a row.
func (p *parsed) restoredLine(text, data []byte, h *head, t, number int64) error {
	d := p.d
	ok := true
	if d.Rescale {
		t, _, ok = d.Clock.Rescale(t, d.Restore.Clock)
	}
	bad := func(found string) error {
		return p.defect(dataProblem{"picl.carrier", found, "a record as weft writes it; it is skipped", trace.Warning},
			number, text)
	}
	loc := locationOf(h.f[3])
	if !ok || loc >= int64(d.Model.Locations.Len()) {
		return bad(fmt.Sprintf("processor %d", h.f[3]))
	}
	if h.f[0] <= TypeTimes && h.f[0] >= TypeSizeVolumes {
		return nil // figures that were asked for; they are no events of the trace
	}
	if h.f[1] == -901 && (h.f[0] == TypeEntry || h.f[0] == TypeExit) {
		return nil // added around the events of each process
	}
	p.pairs = p.pairs[:0]
	var vals []trace.Value
	if h.f[5] > 0 {
		var problem dataProblem
		p.vals, problem = parseData(data, h.f[5], h, number, &p.res, p.vals[:0])
		if problem.rule != "" {
			if err := p.defect(problem, number, text); err != nil {
				return err
			}
		}
		vals = p.vals
		if len(vals) == 1 && vals[0].Type == trace.String {
			for rest := []byte(vals[0].Str); ; {
				key, value, r, _, more := attrlist.Next(rest)
				if !more {
					break
				}
				p.pairs = append(p.pairs, carrier.Pair{Key: key, Value: value})
				rest = r
			}
		}
	}
	if h.f[0] == rowType && len(p.pairs) == 1 && p.pairs[0].Key == "links" {
		data, err := carrier.FromText(p.pairs[0].Value)
		if err == nil {
			_, err = carrier.UnpackLinks(data, p.d.Model.Locations.Len())
		}
		if err != nil {
			return bad(err.Error())
		}
		p.links = append(p.links, carriedLinks{number, data})
		return nil
	}
	if h.f[3] < 0 {
		return bad(fmt.Sprintf("processor %d", h.f[3]))
	}
	location := uint32(loc)
	b := p.batch(location)
	var kind trace.Kind
	ref := trace.NoRef
	if e := h.f[1]; e >= 0 && e < int64(d.Model.Regions.Len()) {
		ref = uint32(e)
	}
	switch h.f[0] {
	case TypeEntry, TypeExit:
		kind = trace.Enter
		claim := len(p.pairs) > 0 && p.pairs[0].Key == "claim"
		switch {
		case claim && h.f[0] == TypeEntry:
			kind = trace.ClaimBegin
		case claim:
			kind = trace.ClaimEnd
		case h.f[0] == TypeExit:
			kind = trace.Leave
		}
	case TypeMark:
		if spec := specOf(h.f[1]); spec.send != noRole {
			var few [16]int64
			v := few[:0]
			for _, x := range vals[:min(len(vals), len(few))] {
				v = append(v, x.Int())
			}
			if found := p.restoredMessage(b, location, t, h.f[1], v, number); found != "" {
				return bad(found)
			}
			return nil
		}
		kind = trace.Mark
	case rowType:
		var err error
		if kind, ref, err = d.Restore.Kind(p.pairs); err != nil || kind == trace.NoKind {
			return bad(fmt.Sprintf("an event with %v", err))
		}
	default:
		return bad(fmt.Sprintf("record type %d", h.f[0]))
	}
	if err := d.Restore.Add(b, location, t, kind, ref, p.pairs); err != nil {
		return bad(err.Error())
	}
	b.Pos = append(b.Pos, number)
	return nil
}

// restoredMessage turns the fields of a mark of a message into a row, or says
// what was found that cannot be one.
func (p *parsed) restoredMessage(b *trace.Batch, loc uint32, t, event int64, v []int64, line int64) (bad string) {
	m := messageOf(trace.NoKind, event)
	n := 0
	if m != nil {
		n = len(m.entry) + len(m.exit)
	}
	if m == nil || len(v) < n || m.ops == 1 && len(v) > n {
		return fmt.Sprintf("event type %d with %d values", event, len(v))
	}
	ops := [5]uint64{trace.Undefined, trace.Undefined}
	for _, fields := range [2]string{m.entry, m.exit} {
		for i := range len(fields) {
			switch fields[i] {
			case 'l':
				ops[3] = uint64(v[i])
			case 't':
				ops[2] = uint64(v[i])
			case 'p':
				ops[0] = uint64(max(-1, locationOf(v[i]))) // -1 is Undefined
			case 'r':
				ops[m.ops-1] = uint64(v[i])
			}
		}
		v = v[len(fields):]
	}
	if m.ops > 1 {
		if len(v) > 0 {
			ops[1] = uint64(max(-1, v[0]))
		}
		if d := p.d.Model; !carrier.Refers(d, trace.OpLocation, ops[0]) || !carrier.Refers(d, trace.OpCommunicator, ops[1]) {
			if m.kind.IsSend() {
				return "a message to nobody"
			}
			return "a message from nobody"
		}
	}
	b.Add(loc, t, m.kind, trace.NoRef)
	b.AddOps(ops[:m.ops]...)
	b.Pos = append(b.Pos, line)
	return ""
}
