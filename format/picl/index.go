package picl

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/carrier"
	"github.com/weft-trace/weft/internal/lines"
	"github.com/weft-trace/weft/internal/linetrace"
	"github.com/weft-trace/weft/trace"
)

// firstSeen holds a value that occurs in the records of a chunk, and the first line in which it occurs.
type firstSeen[T comparable] struct {
	id   T
	line int64
}

// scanResult holds the result of the first pass for a chunk.
type scanResult struct {
	linetrace.Times
	records     int64
	defs        []Record
	defsAfter   []int64 // number of records of the chunk before each element of defs
	defLines    []definitionText
	defined     []int64 // line numbers of the definitions and of the lines that cannot be read
	problems    []*trace.Defect
	unread      int64 // number of definition records that cannot be read
	malformed   int64 // number of lines without a record, not counting blank lines
	encodings   linetrace.EncodingCounts
	locations   []firstSeen[procKey]
	events      []firstSeen[int64]
	userTypes   []int64 // record types that the user defined or that are unknown
	firstRecord int64
	barriers    []placedBarrier
	// seenBarriers has the barriers since the last record of type -6.
	seenBarriers map[barrierEntry]bool
	statistics   map[int64]bool // event types of statistics records
	nesting      nesting
	// processes with receives that lack information: true if the source may be missing, false if only the
	// length or type may be missing
	open       map[procKey]bool
	carrierDef []carrier.Pair
}

// definitionText is the line of a definition whose descriptor is an integer.
type definitionText struct {
	line string
	data int // position of the text after the head in line
	// problem is the index of the definition's problem in the problems of the chunk, or -1
	problem int
}

// decodeAgain decodes the definition i of a chunk again with the definitions before it, which the first pass lacks.
func (r *scanResult) decodeAgain(i int, before *definitions, file string) {
	x := &r.defLines[i]
	if x.line == "" {
		return
	}
	problem, changed := r.defs[i].decodeAgain([]byte(x.line)[x.data:], before)
	if !changed {
		return
	}
	if x.problem >= 0 {
		r.problems[x.problem] = nil
	}
	if problem.rule != "" {
		r.problems = append(r.problems, problem.defect(file, r.defs[i].Line, []byte(x.line)))
	}
}

// decodeAgain decodes the data of a label or subset again if records of type -6 before it may have changed the meaning
// of its descriptor. l is the text after the head. changed is set if the values differ.
func (r *Record) decodeAgain(l []byte, before *definitions) (problem dataProblem, changed bool) {
	if len(before.descriptors) == 0 || r.Type == TypeDescriptor {
		return problem, false
	}
	again := *r
	again.Text, again.Values = "", nil
	h := head{f: [6]int64{r.Type, r.Event, 0, r.Processor, r.Process, r.Fields}}
	problem = again.decodeData(l, &h, &descriptorResolver{defs: before})
	if slices.Equal(again.Values, r.Values) {
		return problem, false
	}
	*r = again
	return problem, true
}

// index reads the file once. It finds the tick, the order of the file, all definitions, and the
// locations and event types that occur.
func (d *decoder) index(ctx context.Context) error {
	var all []*linetrace.Times
	locations := map[procKey]int64{}
	events := map[int64]int64{}
	userTypes := map[int64]bool{}
	carried := map[string]string{}
	err := linetrace.Index(ctx, &d.Text, "picl", d.scanChunk, func(r *scanResult, shift int64) error {
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
		for _, x := range r.userTypes {
			userTypes[x] = true
		}
		for i := range r.defs {
			r.decodeAgain(i, d.defs, d.File.Name)
			d.kept = append(d.kept, keptRecord{d.nrec + r.defsAfter[i], r.defs[i]})
			if p := d.defs.add(&r.defs[i]); p.rule != "" && !(r.defs[i].Type == TypeDescriptor && r.defs[i].saysMore) {
				if err := d.Opt.Defect(p.defect(d.File.Name, r.defs[i].Line, nil)); err != nil {
					return err
				}
			}
		}
		if err := r.reportProblems(d.Opt); err != nil {
			return err
		}
		for _, p := range r.carrierDef {
			carried[p.Key] = p.Value
		}
		d.defined = append(d.defined, r.defined...)
		r.defs, r.defLines, r.defined, r.locations = nil, nil, nil, nil
		r.events, r.userTypes, r.carrierDef, r.problems = nil, nil, nil, nil
		all = append(all, &r.Times)
		if d.nrec == 0 {
			d.firstRecord = r.firstRecord
		}
		d.nrec += r.records
		d.unread += r.unread
		d.malformed += r.malformed
		d.encodings.Merge(r.encodings)
		maps.Copy(d.statistics, r.statistics)
		d.nesting.add(&r.nesting)
		d.operations.addBarriers(r.barriers, d.defs)
		for k, source := range r.open {
			d.sources.receivers[k] = d.sources.receivers[k] || source
		}
		r.nesting, r.barriers, r.seenBarriers = nesting{}, nil, nil
		return nil
	})
	if err != nil {
		return err
	}
	if err := d.orderPieces(all); err != nil {
		return err
	}
	// If the file is not in order of time, the records inside a call are known only after sorting. If a process has
	// records with and without its number, they are known only with its location.
	d.nesting.found = d.nesting.found ||
		d.nesting.waits && d.nesting.places != nil && (len(d.Runs) != 1 || haveTwoNumbers(locations))
	if !d.nesting.found { // each receive is then a single record
		maps.DeleteFunc(d.sources.receivers, func(_ procKey, source bool) bool { return !source })
	}
	if err := d.reportUndefined(locations, events); err != nil {
		return err
	}
	return d.define(locations, events, userTypes, carried)
}

// haveTwoNumbers reports whether a processor has records of process -1 and of another process.
func haveTwoNumbers(locations map[procKey]int64) bool {
	numbered := map[int64]bool{}
	for k := range locations {
		numbered[k.processor] = numbered[k.processor] || k.process != -1
	}
	for k := range locations {
		if k.process == -1 && numbered[k.processor] {
			return true
		}
	}
	return false
}

// reportUndefined reports the undefined subsets in the heads of records and in the definitions of other
// subsets.
func (d *decoder) reportUndefined(locations map[procKey]int64, events map[int64]int64) error {
	d.missing = map[setKey]int64{}
	place := func(processor, process, line int64) {
		d.noteSubset(d.missing, setKey{TypeProcessorSet, processor}, line)
		d.noteSubset(d.missing, setKey{TypeProcessSet, process}, line)
	}
	for k, line := range locations {
		place(k.processor, k.process, line)
	}
	for e, line := range events {
		d.noteSubset(d.missing, setKey{TypeEventSet, e}, line)
	}
	for _, k := range d.kept {
		place(k.rec.Processor, k.rec.Process, k.rec.Line)
		d.noteSubset(d.missing, setKey{TypeEventSet, k.rec.Event}, k.rec.Line)
		if k.rec.Type <= TypeProcessorSet && len(k.rec.Values) > 1 {
			for _, v := range k.rec.Values[1:] {
				if v.Type == trace.Int32 || v.Type == trace.Int64 {
					d.noteSubset(d.missing, setKey{k.rec.Type, v.Int()}, k.rec.Line)
				}
			}
		}
	}
	return d.reportMissing(d.missing)
}

// noteSubset adds an undefined subset to missing, with the first line that uses it. It ignores defined
// subsets.
func (d *decoder) noteSubset(missing map[setKey]int64, k setKey, line int64) {
	if !d.defs.isUndefined(k) {
		return
	}
	if first, ok := missing[k]; !ok || line < first {
		missing[k] = line
	}
}

// reportMissing reports the undefined subsets in missing.
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

// setName returns the word for the members of subsets that records of the given type define.
func setName(typ int64) string {
	return map[int64]string{TypeProcessorSet: "processors", TypeProcessSet: "processes", TypeEventSet: "event types"}[typ]
}

// maxDecimals is the greatest number of decimals that a time may have.
const maxDecimals = 18

// orderPieces chooses the tick and splits the file into sorted pieces.
func (d *decoder) orderPieces(all []*linetrace.Times) error {
	defect := trace.Defect{Rule: "picl.empty", Severity: trace.Warning, Position: trace.Position{File: d.File.Name},
		Found: "an empty file", Expected: "records, unless the trace has no events"}
	breaks, where := d.Order(all, maxDecimals)
	if err := d.ReportSpan("picl.long-span"); err != nil {
		return err
	}
	d.Lanes = len(d.Runs) == 1
	if breaks > 0 {
		defect = trace.Defect{Rule: "picl.unsorted", Severity: trace.Note,
			Position: trace.Position{File: d.File.Name, Line: where},
			Found:    "records that are not in time order",
			Expected: "records sorted by time; weft sorts them while it reads the trace",
			Count:    breaks}
	} else if d.File.Size > 0 {
		return nil
	}
	return d.Opt.Defect(&defect)
}

// scanChunk makes the first pass over a chunk.
func (d *decoder) scanChunk(b *lines.Block) *scanResult {
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
		if usual {
			rest := w.Rest()
			if _, end := h.parseFastLine(rest); end > 0 {
				l, number = rest[:end], w.Skip(end+1)
			}
		}
		if l == nil {
			var ok bool
			if l, number, ok = w.Next(); !ok {
				break
			}
			var bad int
			i, bad = h.parse(l, 5)
			if bad < 0 && !h.parseCount(l) {
				var other head
				if _, _, skip := parseLine(l, &other); skip {
					bad = 5
				}
			}
			if bad >= 0 {
				if len(bytes.TrimSpace(l)) > 0 {
					r.malformed, r.defined = r.malformed+1, append(r.defined, number)
				}
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
				if r.statistics == nil {
					r.statistics = map[int64]bool{}
				}
				r.statistics[h.f[1]] = true
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
			if n := len(r.userTypes); n == 0 || r.userTypes[n-1] != typ {
				r.userTypes = append(r.userTypes, typ)
			}
		}
		key := procKey{h.f[3], h.f[4]}
		if s := &seenLoc[uint8(key.processor)^uint8(key.process*7)]; *s != key {
			*s = key
			r.locations = append(r.locations, firstSeen[procKey]{key, number})
		}
		switch h.f[1] {
		case -51, -60, -52, -61, -58:
			r.scanReceive(&h, l, d.markMessages)
		case barrierEvent:
			r.scanBarrier(&h, l, number)
		}
		if s := &seenEvent[uint8(h.f[1])]; *s != h.f[1] {
			*s = h.f[1]
			r.events = append(r.events, firstSeen[int64]{h.f[1], number})
		}
	}
	r.ExtendMax()
	return r
}

// scanReceive notes which information about its message the record of a receive lacks.
func (r *scanResult) scanReceive(h *head, l []byte, markMessages bool) {
	typ, event, key := h.f[0], h.f[1], procKey{h.f[3], h.f[4]}
	skip := int64(0)
	if typ != TypeExit {
		skip = int64(len(specOf(event).entry))
	}
	if source, any := h.leavesOpen(l, skip); any && (typ != TypeMark || markMessages) {
		if r.open == nil {
			r.open = map[procKey]bool{}
		}
		r.open[key] = r.open[key] || source
	}
	if event != -58 {
		r.nesting.note(typ, event, key)
	}
	if typ == TypeEntry && h.mayHaveMore(l, skip) {
		r.nesting.found = true // the entry has the fields of a mark, and its exit may repeat these fields
	}
}

// reportProblems reports the problems of the chunk's definitions.
func (r *scanResult) reportProblems(opt *format.ReadOptions) error {
	for _, p := range r.problems {
		if p == nil {
			continue
		}
		if err := opt.Defect(p); err != nil {
			return err
		}
	}
	return nil
}

// shift adds n to all line numbers of the result.
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
	for i := range r.barriers {
		r.barriers[i].line += n
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
		return
	}
	var rec Record
	r.defined = append(r.defined, number)
	r.encodings.Add(l)
	rec.setHead(h, number)
	problem = rec.decodeData(l[i:], h, &descriptorResolver{defs: &definitions{}})
	for i := range rec.Values {
		rec.Values[i].Str = strings.Clone(rec.Values[i].Str)
	}
	text := definitionText{problem: -1}
	if problem.rule != "" {
		text.problem = len(r.problems)
		r.problems = append(r.problems, problem.defect(d.File.Name, number, l))
		if rec.Type == TypeDescriptor && len(rec.Values) == 0 {
			r.unread++
			return
		}
	}
	if rest := bytes.TrimLeft(l[i:], " \t"); rec.Type != TypeDescriptor && len(rest) > 0 && rest[0] != '"' {
		text.line, text.data = string(l), i
	}
	if rec.Type == TypeDescriptor {
		r.seenBarriers = nil // equal entries behind it may have other subsets
	}
	r.defLines = append(r.defLines, text)
	r.defs = append(r.defs, rec)
	r.defsAfter = append(r.defsAfter, r.records)
}

// define converts the definitions to those of the model.
func (d *decoder) define(locations map[procKey]int64, events map[int64]int64, userTypes map[int64]bool,
	carried map[string]string) error {
	m := &trace.Definitions{Format: "picl", Origin: "picl", Conventions: format.Conventions("picl"),
		Encoding: d.encodings.Encoding()}
	d.Model = m
	d.Clock = trace.Clock{Num: int64(math.Pow10(int(d.Digits))), Den: 1}
	m.Clock = d.Clock
	for i := range d.directSmall {
		d.directSmall[i] = -1
	}
	if err := d.RestoreFrom(carried, "picl", "event messages"); err != nil || d.Restore != nil {
		return err
	}
	// In a file that is not in order of time, the position of a label loses its meaning when the records are
	// sorted. The encoder then writes labels for the regions, and keeps only the labels that these do not
	// replace.
	moved := false
	for _, k := range d.kept {
		moved = moved || k.before > 0 && len(d.Runs) != 1
	}
	for _, k := range d.kept {
		switch {
		case moved && k.rec.Type == TypeLabel:
			k.before = withoutPlace
		case moved:
			k.before = 0
		}
		m.Opaque.Add(trace.Opaque{Format: "picl", Type: definitionTypes[k.rec.Type], Data: keepRecord(k.before, &k.rec)})
	}
	d.kept = nil
	if !d.File.Numbered { // numbered lines come from a converted file and have other positions
		m.Native = &originalFile{d}
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
		if same := byProcessor[k.processor]; k.process == -1 && len(same) == 2 && same[1].process >= 0 && k.processor >= 0 {
			continue // -1 stands for the only process, which gets the location
		}
		d.locations[k] = d.location(k, "")
	}
	for p, same := range byProcessor {
		if len(same) == 2 && same[0].process == -1 && same[1].process >= 0 && p >= 0 {
			d.locations[same[0]] = d.locations[same[1]]
			same = same[1:]
		}
		if len(same) == 1 {
			d.onlyLocation[p] = d.locations[same[0]]
		}
	}
	for k := range d.locations {
		d.addSlot(k)
	}
	for _, typ := range slices.Sorted(maps.Keys(userTypes)) {
		d.declareKind(typ)
	}
	d.defineRegions(eventList)
	for _, k := range slices.SortedFunc(maps.Keys(d.defs.sets), func(a, b setKey) int {
		return cmp.Or(-cmp.Compare(a.typ, b.typ), cmp.Compare(a.id, b.id))
	}) {
		m.Sets.Add(trace.Set{ID: strconv.FormatInt(k.id, 10), Kind: setName(k.typ), Members: d.defs.sets[k]})
	}
	d.defineOperations()
	return nil
}

// maxSlots limits the table of locations by processor.
const maxSlots = 1 << 16

// addSlot adds the location of a process to the table of locations by processor. Of several processes
// of a processor, the table holds the one with the greatest number.
func (d *decoder) addSlot(k procKey) {
	if k.processor < 0 || k.processor >= maxSlots {
		return
	}
	for int(k.processor) >= len(d.slots) {
		d.slots = append(d.slots, slot{loc: -1})
	}
	if s := &d.slots[k.processor]; s.loc < 0 || k.process > s.process {
		*s = slot{k.process, int32(d.locations[k])}
	}
}

// defineRegions adds a region for each event type and each label of it.
func (d *decoder) defineRegions(events []int64) {
	for _, e := range events {
		labels := map[string]bool{}
		var names []string
		covered := false // a label applies to all records
		simple := true   // no other label applies to the event type
		for _, i := range d.defs.labelsOf(e) {
			l := &d.defs.labels[i]
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
				if i := e + 1024; i >= 0 && i < int64(len(d.directSmall)) {
					d.directSmall[i] = int32(r)
				}
			}
		}
	}
}
