package picl

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/format/carrier"
	"github.com/weft-trace/weft/internal/lines"
	"github.com/weft-trace/weft/internal/linetrace"
	"github.com/weft-trace/weft/trace"
)

// blockParser converts the lines of a block to events.
type blockParser struct {
	d            *decoder
	place        linetrace.Place
	res          descriptorResolver
	data         []uint32 // attributes of data fields without a name
	mixLocations bool     // one batch holds the events of all locations
	mixed        *trace.Batch
	byLoc        []*trace.Batch // batch of each location; indexed by location
	used         []uint32       // locations whose batch in byLoc has rows
	out          []*trace.Batch
	free         []*trace.Batch
	vals         []trace.Value
	added        []trace.Attr // attributes of the current event that were added when a command changed the trace
	pairs        []carrier.Pair
	kinds        map[int64]trace.Kind // kinds of events that are marks, by event type
	links        []carriedLinks
	scan         *eventScan
	buf          []byte
}

func (p *blockParser) newBatch(loc uint32) *trace.Batch {
	var b *trace.Batch
	if n := len(p.free); n > 0 {
		b, p.free = p.free[n-1], p.free[:n-1]
	} else {
		b = &trace.Batch{}
	}
	b.Reset(loc)
	return b
}

// batch returns the batch that gets the next row of a location.
func (p *blockParser) batch(loc uint32) *trace.Batch {
	if p.mixed != nil {
		if p.mixed.Len() >= trace.BatchRows {
			p.out = append(p.out, p.mixed)
			p.mixed = p.newBatch(trace.MixedLoc)
		}
		return p.mixed
	}
	for int(loc) >= len(p.byLoc) {
		p.byLoc = append(p.byLoc, nil)
	}
	b := p.byLoc[loc]
	if b == nil {
		b = p.newBatch(loc)
		p.byLoc[loc] = b
		p.used = append(p.used, loc)
	} else if b.Len() >= trace.BatchRows {
		p.out = append(p.out, b)
		b = p.newBatch(loc)
		p.byLoc[loc] = b
	}
	return b
}

// Parse converts the lines of a block to events. The block begins at the given place of the file.
func (p *blockParser) Parse(b *lines.Block, at linetrace.Place) error {
	p.free = append(p.free, p.out...)
	p.place, p.out, p.used, p.mixed, p.links = at, p.out[:0], p.used[:0], nil, p.links[:0]
	if p.mixLocations {
		p.mixed = p.newBatch(trace.MixedLoc)
	}
	if err := p.parseLines(b); err != nil {
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

// parseLines parses all lines. It reads lines in the usual spelling itself, and calls parseLine for the
// others.
func (p *blockParser) parseLines(b *lines.Block) error {
	d := p.d
	w := d.File.Walk(b)
	usual := w.Plain()
	var h head
	for {
		if usual {
			rest := w.Rest()
			if i := h.parseFast(rest); i > 0 && h.isEvent() && h.scale <= d.Digits {
				t, ok := h.f[2], true
				if h.scale != d.Digits {
					t, _, ok = h.time().Ticks(d.Digits)
				}
				if ok && d.Restore != nil {
					if n := p.restoreFast(rest, i, &h, t, w.Number()); n > 0 {
						w.Skip(n)
						continue
					}
				}
				if end := lineEnd(rest, i); end > 0 {
					l, number := rest[:end], w.Skip(end+1)
					var err error
					switch {
					case !ok:
						err = p.parseLine(l, number)
					case d.Restore != nil:
						err = p.restoreLine(l, l[i:], &h, t, number)
					default:
						err = p.addRecord(&h, l, i, t, number)
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
		if err := p.parseLine(l, number); err != nil {
			return err
		}
	}
}

// parseFastLine parses the head of an event record at the start of data, if the head has the usual
// spelling and the record is a single line. It returns the ends of the head and of the line. end is 0
// for all other lines.
func (h *head) parseFastLine(data []byte) (i, end int) {
	i = h.parseFast(data)
	if i <= 0 || !h.isEvent() {
		return i, 0
	}
	return i, lineEnd(data, i)
}

// isEvent reports whether the record is an event.
func (h *head) isEvent() bool {
	return h.f[0] >= TypeExit && h.f[0] <= TypeMark || h.f[0] == rowType
}

// lineEnd returns the end of the line whose head ends at i, or 0 if the next line may continue it.
func lineEnd(data []byte, i int) int {
	if data[i] != '\n' {
		i += bytes.IndexByte(data[i:], '\n')
	}
	if c := data[i-1]; c == '\\' || c <= ' ' {
		return 0
	}
	return i
}

func (p *blockParser) reportDefect(problem dataProblem, line int64, text []byte) error {
	if p.d.Scanned {
		return nil
	}
	return p.d.Opt.Defect(problem.defect(p.d.File.Name, line, text))
}

// parseLine converts one line to events.
func (p *blockParser) parseLine(l []byte, number int64) error {
	d := p.d
	var h head
	i, problem, skip := parseLine(l, &h)
	rounded := !skip && !h.exact
	if problem.rule != "" {
		if err := p.reportDefect(problem, number, l); err != nil {
			return err
		}
	}
	if skip {
		return nil
	}
	if isDefinition(h.f[0]) {
		return nil
	}
	t := h.f[2]
	if h.scale != d.Digits {
		var exact, ok bool
		t, exact, ok = h.time().Ticks(d.Digits)
		if !ok || !exact && !rounded { // this defect has not been reported yet
			if err := p.reportDefect(dataProblem{"picl.time-rounded", h.time().String() + " s",
				fmt.Sprintf("at most %d digits after the point, because of the other times", d.Digits), trace.Warning}, number,
				l); err != nil {
				return err
			}
			if !ok {
				p.scan.unreadable.Add(1)
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
		// Such a record carries definitions. It is not an event, even if the definitions could not be
		// restored. That defect has been reported, and the first pass also ignores the record.
		if typ == TypeMessage && event == -1 {
			if _, ok := carriedDefinition(l[i:]); ok {
				return nil
			}
		}
	}
	if d.Restore != nil {
		return p.restoreLine(l, l[i:], &h, t, number)
	}
	return p.addRecord(&h, l, i, t, number)
}

// addRecord adds the events of a record whose head ends at l[i].
func (p *blockParser) addRecord(h *head, l []byte, i int, t, number int64) error {
	d := p.d
	typ, event := h.f[0], h.f[1]
	p.vals, p.added = p.vals[:0], p.added[:0]
	quick := h.f[5] == 0 && i == len(l)
	if !quick && d.plainInts && typ > TypeTimes && i+2 < len(l) && l[i+1] == '2' && h.f[5] < 64 {
		p.vals, quick = parseIntegers(l[i+2:], h.f[5], p.vals)
	}
	if !quick {
		var problem dataProblem
		p.vals, problem = parseData(l[i:], h.f[5], h, number, &p.res, p.vals[:0])
		if problem.rule != "" {
			if err := p.reportDefect(problem, number, l); err != nil {
				return err
			}
			// the values hold the complete data in spite of these problems
			if problem.rule == "picl.one-structure" || problem.rule == "picl.text-length" {
				p.scan.spelled.Add(1)
			} else {
				p.scan.damaged.Add(1)
			}
		} else {
			p.countRespelled(l[i:], h, number)
		}
		p.takeAddedAttributes()
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
		names := keys.entry
		if event < 0 && len(p.vals) > len(names) {
			names = keys.mark // an entry may have all fields of a mark
		}
		p.appendAttributes(b, names)
	case TypeExit:
		if spec.send != noRole { // the message arrived inside the visit of the region
			p.addMessage(b, loc, t, typ, spec, number)
		}
		p.addOperation(b, loc, t, trace.CollectiveEnd, event, number)
		b.Add(loc, t, trace.Leave, region)
		p.appendAttributes(b, keys.exit)
	case TypeMark:
		b.Add(loc, t, trace.Mark, region)
		p.appendAttributes(b, keys.mark)
	case TypeMessage:
		if event == -1 {
			region = trace.NoRef
		}
		b.Add(loc, t, trace.Comment, region)
		p.appendAttributes(b, nil)
	case TypeTimes, TypeCounts, TypeVolumes, TypeRecvVolumes, TypeSizeVolumes:
		if event == -1 {
			region = d.regionOf(-1, key.processor, key.process, number)
		}
		b.Add(loc, t, trace.Statistics, region)
		p.appendStatistics(b, typ, key, number)
	default:
		b.Add(loc, t, d.records[typ], region)
		for j, v := range p.vals {
			b.AddAttr(p.dataKey(j), v)
		}
		if typ < 0 && !isDefinition(typ) {
			if err := p.reportDefect(dataProblem{"picl.unknown-record-type", fmt.Sprintf("record type %d", typ),
				"a known record type; weft keeps the record unchanged", trace.Note}, number, l); err != nil {
				return err
			}
		}
	}
	if event < 0 && !knownEvent(event) && !d.defs.hasSubset(setKey{TypeEventSet, event}) {
		if err := p.reportDefect(dataProblem{"picl.unknown-event-type", fmt.Sprintf("event type %d", event),
			"a known system event type", trace.Note}, number, l); err != nil {
			return err
		}
	}
	p.appendAddedAttributes(b)
	if key.process == -1 && d.Model.Locations.At(loc).ID != locationID(key) {
		b.AddAttr(d.recordedProcess, trace.IntValue(-1))
	}
	b.Pos = append(b.Pos, number)
	if typ == TypeEntry {
		p.addOperation(b, loc, t, trace.CollectiveBegin, event, number)
	}
	if spec.send != noRole && typ != TypeExit {
		p.addMessage(b, loc, t, typ, spec, number)
		if typ == TypeMark && !d.markMessages && len(p.vals) > 0 && spec.send != probeRole && spec.send != recvPost &&
			(len(spec.entry) > 1 || len(spec.exit) > 1) {
			return p.reportDefect(dataProblem{"picl.mark-message", "a mark of " + spec.name,
				"an entry and an exit; --option picl.marks=messages counts marks as messages", trace.Note}, number, l)
		}
	} else if typ != TypeExit && (event == -913 || event == -914) {
		p.addGaps(loc, key, t, number)
	}
	return nil
}

// appendStatistics adds the values of a statistics record to the last row. typ is the type of the
// record.
func (p *blockParser) appendStatistics(b *trace.Batch, typ int64, process procKey, line int64) {
	b.AddOps(uint64(TypeTimes - typ))
	for j := 0; j+1 < len(p.vals); j += 2 {
		b.AddAttr(p.statisticKey(p.vals[j], process, line), p.vals[j+1])
	}
	if n := len(p.vals); n%2 == 1 {
		b.AddAttr(p.statisticKey(p.vals[n-1], process, line), noValue)
	}
}

// countRespelled counts a record if weft would write another descriptor for its values.
func (p *blockParser) countRespelled(data []byte, h *head, line int64) {
	data = bytes.TrimLeft(data, " \t")
	if len(data) == 0 || h.f[5] == 0 {
		return
	}
	// weft writes values of the descriptor 2 with 64 bits with %ld
	isInt64 := func(v trace.Value) bool { return v.Type == trace.Int64 }
	// and statistics as pairs
	pairs := h.f[0] <= TypeTimes && h.f[0] >= TypeSizeVolumes && len(p.vals) > 0 && len(p.vals)%2 == 0
	if usualDescriptor(data) && !pairs && !(data[0] == '2' && slices.ContainsFunc(p.vals, isInt64)) {
		n := int64(data[0] - '0')
		if p.d.plainInts || p.res.control(n, h, line) == predefined[n] {
			return
		}
	}
	if n := closingQuote(data); data[0] == '"' && n > 0 {
		r := Record{Type: h.f[0], Values: p.vals}
		p.buf = r.appendData(p.buf[:0], defaultDigits)
		want := p.buf[1+bytes.IndexByte(p.buf[1:], ' ')+1:]
		if c, err := p.res.inline(string(data[1:n])); err == nil && c.simpleTypes != nil &&
			bytes.HasPrefix(want, data[:n+1]) {
			return
		}
	}
	p.scan.spelled.Add(1)
	if skipsData(data, h, line, &p.res) {
		p.scan.damaged.Add(1)
	}
}

// takeAddedAttributes removes the attributes that were added when a command changed the trace from the data
// fields. They are the last data fields.
func (p *blockParser) takeAddedAttributes() {
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

// appendAddedAttributes adds the attributes that takeAddedAttributes removed to the last row.
func (p *blockParser) appendAddedAttributes(b *trace.Batch) {
	for _, a := range p.added {
		b.AddAttr(p.defineAdded(a.Key), a.Value)
	}
}

// appendAttributes adds the data fields of a record as attributes. names are the attributes of the
// event type's named fields.
func (p *blockParser) appendAttributes(b *trace.Batch, names []uint32) {
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

// fieldKeys holds the attributes of the data fields of an event type.
type fieldKeys struct{ entry, exit, mark []uint32 }

// defineFields defines the attributes of the named data fields of the event types that occur.
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
				// In a mark, "exit" distinguishes a field of the exit from the field of the entry with
				// the same name.
				n = "exit " + n
			}
			k.mark = append(k.mark, d.attr(n, trace.None))
		}
	}
	d.text = d.attr("text", trace.String)
	d.recordedProcess = d.attr("recorded process", trace.Int64)
}

// maxDataNames limits how many unnamed data fields of a record get attributes of their own.
const maxDataNames = 256

// dataKey returns the attribute of the unnamed data field i.
func (p *blockParser) dataKey(i int) uint32 {
	i = min(i, maxDataNames)
	for i >= len(p.data) {
		n := "data" + strconv.Itoa(len(p.data))
		if len(p.data) == maxDataNames {
			n = "data"
		}
		p.data = append(p.data, p.defineAs(trace.AttributeDef{Name: n}))
	}
	return p.data[i]
}

// defineAdded returns the attribute for a data field that was added when a command changed the trace. It
// defines the attribute if necessary.
func (p *blockParser) defineAdded(name string) uint32 {
	return p.defineAs(trace.AttributeDef{Name: strings.Clone(name), Type: trace.String,
		Doc: "got when the trace was changed"})
}

func (p *blockParser) defineAs(a trace.AttributeDef) uint32 { return p.defineKeyed(a.Name, a) }

// defineKeyed returns the attribute with the given key. If there is none, it defines the attribute as
// a.
func (p *blockParser) defineKeyed(key string, a trace.AttributeDef) uint32 {
	k, _ := linetrace.Define(&p.d.Text, p.place, p.d.attrs, key,
		func() (uint32, error) { return p.d.Model.Attributes.Add(a), nil })
	return k
}

// noValue takes the place of the value if a statistics record names an event type without a value.
var noValue = trace.StringValue("")

// statisticKey returns the attribute for the statistics of an event type. The name of the attribute is
// the number of the event type. Its description is the name that the event type has for the processor
// and process of the record.
func (p *blockParser) statisticKey(event trace.Value, process procKey, line int64) uint32 {
	number := event.String()
	typ, ok := event.Whole()
	if !ok {
		return p.defineAs(trace.AttributeDef{Name: strings.Clone(number)})
	}
	name, ok := p.d.defs.labelOf(typ, process.processor, process.process, line)
	if !ok {
		name = eventName(typ)
	}
	return p.defineKeyed(number+"\x00"+name, trace.AttributeDef{Name: number, Doc: name})
}
