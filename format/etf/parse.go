package etf

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unsafe"

	"github.com/weft-trace/weft/format/carrier"
	"github.com/weft-trace/weft/internal/attrlist"
	"github.com/weft-trace/weft/internal/lines"
	"github.com/weft-trace/weft/internal/linetrace"
	"github.com/weft-trace/weft/trace"
)

// carryPrefix begins the names of the T attributes that carry the definitions of another format's
// trace.
const carryPrefix = "weft.definitions."

// carryKey is the attribute of a carried event from which the original event is restored. The id of the line is the
// position of the event among all events. For a C line the value is the region. It is "region:distance" if the leave is
// not the first event of its time; the distance is the number of events from the enter to the leave. It is "region:" if
// the visit has no leave. For an E line the value is the location, and "location:derived" for derived rows. Earlier
// versions wrote positions after the first number: "region:enter:leave", "region:enter:", "location:position" and
// "location:position:derived".
const carryKey = "weft"

// timedLine holds the values of a line with a time, before they are added to a batch.
type timedLine struct {
	kind     Keyword
	loc, ref uint32
	res      uint32
	pos      int64
	t0, t1   int64
	id       int64
	x, y, z  float64 // C: amount and offset; F: c, b and a; TSP, TSR: the value of a sample
}

// carriedOrder holds the position of a carried event among all events of the original trace, and the position
// of its leave.
type carriedOrder struct {
	order [2]int64
	flags uint8
}

// These flags describe events of other formats that the attribute "weft" of a line restores.
const (
	derivedEvent    uint8 = 1 << iota // the event is derived (see [trace.Batch.MarkDerived])
	visitNeverLeft                    // the claim stands for a visit without a leave
	fromOtherFormat                   // the line has the attribute "weft"
)

// blockEvents holds the events of a block at one location, or at all locations if the batch mixes them:
// a batch of events in time order, and the pending events that come after it.
type blockEvents struct {
	batch   trace.Batch
	columns columns // adds rows to batch, unless the file carries another format's trace
	ends    pendingHeap
}

// blockParser converts the lines of a block to events, and holds the results.
type blockParser struct {
	d           *decoder
	place       linetrace.Place
	mixed       bool
	slots       []int32        // indexed by location: 1 + its index in perLocation
	perLocation []*blockEvents // events by location; the first used elements belong to this block
	used        int
	keys        []uint32 // attributes of the current line
	vals        []trace.Value
	keyPlaces   keyPlaces[uint32]
	times       []int64        // times of the current TSP line
	raw         []Attr         // attributes of the current carried line
	pairs       []carrier.Pair // memory that the function restored reuses
	links       bool           // links are selected
	needed      neededNames
	deps        []dependency
	places      []idPlace
	texts       []carriedLinks
	rec         Record
	// skipped counts the lines of the block that cannot be read. skippedLinks counts the dependencies
	// among them.
	skipped, skippedLinks int64
	kept                  inexactCounts // counts for the lines of the block
	rounded               bool          // a rounded time in the current line has already been reported
	// Caches that remain valid for the next blocks.
	regions map[string]uint32
	attrs   map[string]uint32
	recent  [3]recentKeys // the attribute keys of the last claim, event and dependency
	// unusedAttrs is the attribute list of a dependency, without defects and with its line end. It is used if nobody
	// asks for links: most dependencies have the same list.
	unusedAttrs []byte
	last        [64]recentRegion
	amounts     amounts
}

// carriedLinks holds the packed links of a line of a restored trace.
type carriedLinks struct {
	line int64
	data []byte
}

// recentRegion is an entry of the cache of regions by activity.
type recentRegion struct {
	name string
	ref  uint32
}

// dependency holds the fields of a D line.
type dependency struct {
	line, id, typ, src, dst int64
	attrs                   []byte // the attribute list, in the memory of the block
}

// recentIndex returns the index in blockParser.recent for lines with keyword k.
func recentIndex(k Keyword) int {
	switch k {
	case C:
		return 0
	case E:
		return 1
	}
	return 2
}

// Parse converts the lines of a block to events. The block begins at the given place of the file.
func (p *blockParser) Parse(b *lines.Block, at linetrace.Place) error {
	p.place = at
	for _, l := range p.perLocation[:p.used] {
		if l.batch.Loc != trace.MixedLoc {
			p.slots[l.batch.Loc] = 0
		}
	}
	p.used, p.skipped, p.skippedLinks, p.kept = 0, 0, 0, inexactCounts{}
	p.deps, p.places, p.texts = p.deps[:0], p.places[:0], p.texts[:0]
	w := p.d.File.Walk(b)
	usual := w.Plain() && p.d.Restore == nil
	for {
		if rest := w.Rest(); usual && len(rest) > 2 && rest[1] == ' ' {
			n := 0
			switch rest[0] {
			case 'C':
				n = p.quickClaim(rest, w.Number())
			case 'D':
				n = p.quickDependency(rest, w.Number())
			case 'E':
				n = p.quickEvent(rest, w.Number())
			case 'F':
				n = p.quickFragment(rest, w.Number())
			}
			if n > 0 {
				w.Skip(n)
				continue
			}
		}
		l, number, ok := w.Next()
		if !ok {
			break
		}
		if err := p.parseLine(l, number); err != nil {
			return err
		}
	}
	if p.skipped > 0 {
		p.d.skipped.Add(p.skipped)
		p.d.skippedLinks.Add(p.skippedLinks)
	}
	if p.kept != (inexactCounts{}) {
		p.d.lessText.Add(p.kept.lessText)
		p.d.otherForm.Add(p.kept.otherForm)
		p.d.rounded.Add(p.kept.rounded)
	}
	if p.d.Restore == nil {
		for _, l := range p.perLocation[:p.used] {
			l.columns.finish(&l.batch)
		}
	}
	return nil
}

func (p *blockParser) report(b problem, number int64, l []byte) error {
	if p.d.Scanned {
		return nil
	}
	x := b.defect(p.d.File.Name, number, l)
	if p.d.Restore == nil && p.rec.Line == number {
		x.Event = p.eventOf(&p.rec)
	}
	return p.d.Opt.Defect(x)
}

// eventOf returns the time of a line, and the location of a claim or an event.
func (p *blockParser) eventOf(rec *Record) (at trace.Place) {
	switch rec.Keyword {
	case E:
		at.Location, at.HasLocation = p.d.events, true
	case C:
		if res, ok := p.d.resourceOf(rec.Resource); ok {
			at.Location, at.HasLocation = p.d.Model.Resources.At(res).Location, true
		}
	case F, TSR:
	default:
		return at
	}
	at.Time, _, at.HasTime = rec.Start.Ticks(p.d.Digits)
	return at
}

// skip reports and counts a line that cannot be read.
func (p *blockParser) skip(b problem, number int64, l []byte) error {
	p.skipped++
	if k, _, _ := parseKeyword(l); k == D {
		p.skippedLinks++
	}
	return p.report(b, number, l)
}

// ticks converts a time of the current line to ticks.
func (p *blockParser) ticks(t trace.Decimal, number int64, l []byte) (int64, error) {
	if t.Scale == p.d.Digits {
		return t.Coef, nil
	}
	v, exact, ok := t.Ticks(p.d.Digits)
	if exact && ok || p.rounded {
		return v, nil
	}
	p.kept.rounded++
	err := p.report(problem{"etf.time-rounded", t.String(),
		fmt.Sprintf("at most %d digits after the point, because of the other times", p.d.Digits), trace.Warning}, number, l)
	return v, err
}

// parseLine parses a line, reports its defects, and adds its events to the block.
func (p *blockParser) parseLine(l []byte, number int64) error {
	d := p.d
	k, i, isBlank := parseKeyword(l)
	if isBlank {
		return nil
	}
	switch k {
	case NoKeyword:
		return p.report(unknownKeyword(l), number, l)
	case TU, O, T, R, S, TS, TSS:
		return nil // the line is a definition, which was read when the trace was opened
	}
	rec := &p.rec
	attrs, bad := rec.parse(k, l, i)
	if bad.severity == trace.Error && bad.rule != "" {
		return p.skip(bad, number, l)
	}
	rec.Line = number
	if bad.rule != "" {
		if err := p.report(bad, number, l); err != nil {
			return err
		}
	}
	if p.rounded = bad.rule == "etf.time-rounded"; p.rounded {
		p.kept.rounded++
	}
	if k == D {
		return p.storeDependency(attrs, number, l)
	}
	if d.Restore != nil && k != C && k != E {
		return p.reportBadCarrier(k.String()+" line", number)
	}
	if k == TSP || k == TSR {
		return p.parseSamples(number, l)
	}
	if !k.isInterval(rec.Start, rec.End) {
		return p.skipInterval(number, l)
	}
	t0, err := p.ticks(rec.Start, number, l)
	if err != nil {
		return err
	}
	it := timedLine{kind: k, pos: number, t0: t0, t1: t0, id: rec.ID, ref: trace.NoRef, loc: trace.NoRef}
	if k != E {
		if it.t1, err = p.ticks(rec.End, number, l); err != nil {
			return err
		}
	}
	if t0 < 0 {
		if err := p.report(problem{"etf.negative-time", rec.Start.String(), "a time ≥ 0", trace.Warning}, number, l); err !=
			nil {
			return err
		}
	}
	switch k {
	case C:
		if it.t1 <= t0 {
			if d.Restore != nil {
				break // the line is a visit of another format's trace, which may have no duration
			}
			if err := p.report(problem{"etf.zero-claim", "a claim of length 0 at " + rec.Start.String(), "start < end",
				trace.Warning}, number, l); err != nil {
				return err
			}
		}
		if d.Restore == nil {
			if err := p.checkClaim(&it, rec, number, l); err != nil {
				return err
			}
		}
	case E:
		it.loc = d.events
	case F:
		if it.t1 <= t0 { // rounding made the times equal
			return p.skipInterval(number, l)
		}
		it.ref, err = p.signal(rec.ID, number, l)
		if err != nil {
			return err
		}
		it.loc = d.Model.Metrics.At(it.ref).Location
		it.x, it.y, it.z = rec.C, rec.B, rec.A
	}
	if d.Restore != nil {
		return p.parseCarried(&it, rec, attrs, number, l)
	}
	p.keys, p.vals = p.keys[:0], p.vals[:0]
	if len(attrs) > 0 {
		if it.ref, err = p.parseAttributes(attrs, it.ref, k, number, l); err != nil {
			return err
		}
	}
	p.addLine(&it)
	return nil
}

// skipInterval skips a line whose end is not later than its start.
func (p *blockParser) skipInterval(number int64, l []byte) error {
	start, end := p.rec.Start.String(), p.rec.End.String()
	b := problem{"etf.fragment-times", "end " + end + ", start " + start,
		"start < end; weft skips the fragment", trace.Error}
	switch p.rec.Keyword {
	case C:
		b = problem{"etf.claim-times", "end " + end + " before start " + start,
			"start ≤ end; weft skips the claim", trace.Error}
	case TSR:
		b.found, b.expected = "end "+end+" before start "+start, "start ≤ end; weft skips the samples"
	}
	return p.skip(b, number, l)
}

// parseCarried restores an event of another format's trace from the attributes of its line.
func (p *blockParser) parseCarried(it *timedLine, rec *Record, list []byte, number int64, l []byte) error {
	it.loc = uint32(max(0, min(rec.Resource, int64(trace.NoRef))))
	p.raw = p.raw[:0]
	var r carriedOrder
	for {
		key, value, rest, defect, more := attrlist.Next(list)
		if !more {
			return p.addRestored(it, r)
		}
		list = rest
		if defect != attrlist.NoProblem {
			if err := p.report(attributeProblem(defect, key, value), number, l); err != nil {
				return err
			}
		}
		switch {
		case key == carryKey:
			if !r.parse(it, value) {
				return p.skip(problem{"etf.carrier", "weft=" + value, "a value that weft wrote; weft skips the line",
					trace.Warning}, number, l)
			}
		case it.kind == C && (key == "name" || key == "depth"), key == "name":
			// These attributes only make the line readable in TRACE's tools.
		default:
			p.raw = append(p.raw, Attr{key, value})
		}
	}
}

// parse reads the value of the attribute carryKey.
func (r *carriedOrder) parse(it *timedLine, s string) bool {
	first, rest, more := strings.Cut(s, ":")
	at, err := strconv.ParseUint(first, 10, 32)
	r.order[0], r.flags = it.id, fromOtherFormat
	distance := true // the position of the leave is relative to that of the enter
	order, later, two := strings.Cut(rest, ":")
	if more && (two || it.kind != C && rest != "derived") { // the spelling of earlier versions
		enter, err := strconv.ParseUint(order, 10, 63)
		if err != nil {
			return false
		}
		r.order[0], rest, more, distance = int64(enter), later, two, false
	}
	switch {
	case err != nil:
		return false
	case it.kind != C:
		if it.loc = uint32(at); more {
			r.flags |= derivedEvent
		}
		return !more || rest == "derived"
	case !more:
		r.order[1] = firstOfTime
	case rest == "":
		r.flags |= visitNeverLeft
	default:
		leave, err := strconv.ParseUint(rest, 10, 62)
		if r.order[1] = int64(leave); distance {
			r.order[1] += r.order[0]
		}
		if err != nil || r.order[1] < 0 {
			return false
		}
	}
	it.ref = uint32(at)
	return true
}

// checkClaim finds the resource of a claim, and checks the claim's amount and offset.
func (p *blockParser) checkClaim(it *timedLine, rec *Record, number int64, l []byte) error {
	d := p.d
	res, ok := d.resourceOf(rec.Resource)
	if !ok {
		var err error
		if res, err = p.defineMissingResource(rec, number, l); err != nil {
			return err
		}
	}
	r := d.Model.Resources.At(res)
	it.res, it.loc, it.x = res, r.Location, rec.Amount
	it.y = math.NaN()
	if rec.HasOffset {
		it.y = rec.Offset
	}
	if rec.Amount < 0 {
		if err := p.report(problem{"etf.amount", fmt.Sprintf("amount %v", rec.Amount), "an amount ≥ 0", trace.Warning},
			number, l); err != nil {
			return err
		}
	}
	if !ok {
		return nil
	}
	if line := d.defined[res]; line > number {
		if err := p.report(problem{"etf.late-definition",
			"resource " + r.ID + " defined in line " + strconv.FormatInt(line, 10), "resources before their claims",
			trace.Warning}, number, l); err != nil {
			return err
		}
	}
	if rec.HasOffset != r.UsesOffset {
		found, want := "a claim with an offset", "no offset"
		if r.UsesOffset {
			found, want = "a claim without an offset", "an offset before the amount"
		}
		return p.report(problem{"etf.claim-offset", found, want + " for resource " + r.ID, trace.Error}, number, l)
	}
	if rec.Amount > r.Capacity || rec.HasOffset && (rec.Offset < 0 || rec.Offset+rec.Amount > r.Capacity) {
		found, want := fmt.Sprintf("amount %v", rec.Amount), "at most"
		if rec.HasOffset {
			found, want = fmt.Sprintf("offset %v and amount %v", rec.Offset, rec.Amount), "an offset ≥ 0, and a sum of at most"
		}
		return p.report(problem{"etf.capacity-exceeded", found,
			fmt.Sprintf("%s the capacity %v of resource %s", want, r.Capacity, r.ID), trace.Warning}, number, l)
	}
	return nil
}

// stringOf returns a string that shares the memory of b. Such a string is valid as long as its block.
func stringOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// defineMissingResource creates a stand-in for a resource that has no R line, so that its claims are not
// lost.
func (p *blockParser) defineMissingResource(rec *Record, number int64, l []byte) (uint32, error) {
	if err := p.report(problem{"etf.unknown-resource", fmt.Sprintf("resource id %d", rec.Resource), "the id of an R line",
		trace.Error}, number, l); err != nil {
		return 0, err
	}
	d := p.d
	return linetrace.Define(&d.Text, p.place, d.missing, rec.Resource, func() (uint32, error) {
		id := strconv.FormatInt(rec.Resource, 10)
		return d.Model.Resources.Add(trace.Resource{ID: id, Name: "undefined resource " + id, Undefined: true,
			Location: d.Model.Locations.Add(trace.Location{ID: id, Name: "undefined resource " + id,
				Kind: trace.ResourceLocation, Group: trace.NoRef})}), nil
	})
}

// signal returns the metric of the signal with an id.
func (p *blockParser) signal(id int64, number int64, l []byte) (uint32, error) {
	m, err := p.metric(seriesKey{kind: S, group: id}, trace.SignalMetric, strconv.FormatInt(id, 10), number, l)
	if err == nil && int(m) < len(p.d.signalDefs) && p.d.signalDefs[m] > number {
		err = p.report(problem{"etf.late-definition",
			"signal " + strconv.FormatInt(id, 10) + " defined in line " + strconv.FormatInt(p.d.signalDefs[m], 10),
			"signals before their fragments", trace.Warning}, number, l)
	}
	return m, err
}

func (p *blockParser) metric(k seriesKey, kind trace.MetricKind, id string, number int64, l []byte) (uint32, error) {
	d := p.d
	return linetrace.Define(&d.Text, p.place, d.metrics, k, func() (uint32, error) {
		what := "the id of an S line"
		if k.kind == TSS {
			what = "the ids of a TSS line"
		}
		if err := p.report(problem{"etf.unknown-reference", string(kind) + " " + id, what, trace.Error}, number, l); err !=
			nil {
			return 0, err
		}
		return d.addMetric(trace.MetricDef{ID: id, Name: "undefined " + string(kind) + " " + id, Kind: kind,
			Type: trace.Float64, Undefined: true}, k, trace.NoRef), nil
	})
}

// parseSamples adds the values of a TSP or TSR line.
func (p *blockParser) parseSamples(number int64, l []byte) error {
	rec := &p.rec
	if !rec.Keyword.isInterval(rec.Start, rec.End) {
		return p.skipInterval(number, l)
	}
	m, err := p.metric(seriesKey{TSS, rec.ID, rec.Series}, trace.SeriesMetric,
		fmt.Sprintf("%d/%d", rec.ID, rec.Series), number, l)
	if err != nil {
		return err
	}
	it := timedLine{kind: rec.Keyword, pos: number, ref: m, loc: p.d.Model.Metrics.At(m).Location}
	p.keys, p.vals = p.keys[:0], p.vals[:0]
	if rec.Keyword == TSR {
		if err := p.report(problem{"etf.tsr", "a TSR line", "TSP lines; no document specifies the times of TSR samples",
			trace.Note}, number, l); err != nil {
			return err
		}
		if it.t0, err = p.ticks(rec.Start, number, l); err != nil {
			return err
		}
		if it.t1, err = p.ticks(rec.End, number, l); err != nil {
			return err
		}
		p.addLine(&it)
		return nil
	}
	p.times = p.times[:0]
	for _, x := range rec.Times {
		t, err := p.ticks(x, number, l)
		if err != nil {
			return err
		}
		p.times = append(p.times, t)
	}
	p.addSamples(m, p.times, number)
	return nil
}

// storeDependency stores a D line for the linker.
func (p *blockParser) storeDependency(attrs []byte, number int64, l []byte) error {
	rec := &p.rec
	if rec.Type < 0 || rec.Type > 8 {
		return p.skip(problem{"etf.dependency-type", fmt.Sprintf("type %d", rec.Type),
			"0 to 8; weft skips the dependency", trace.Error}, number, l)
	}
	if rec.Src == rec.Dst && dependencyEnds[rec.Type][0] == dependencyEnds[rec.Type][1] {
		if err := p.report(problem{"etf.self-dependency", fmt.Sprintf("source and destination %d", rec.Src),
			"two different ends", trace.Warning}, number, l); err != nil {
			return err
		}
	}
	// Parse the attributes now to report their defects. The linker parses them again to use them.
	p.keys, p.vals = p.keys[:0], p.vals[:0]
	_, err := p.parseAttributes(attrs, trace.NoRef, D, number, l)
	if p.links {
		p.deps = append(p.deps, dependency{number, rec.ID, rec.Type, rec.Src, rec.Dst, attrs})
	}
	return err
}

// parseAttributes parses the attributes of a line. It returns the region that the attributes name, or ref if they
// name no region.
func (p *blockParser) parseAttributes(list []byte, ref uint32, kind Keyword, number int64, l []byte) (uint32, error) {
	recent := &p.recent[recentIndex(kind)]
	named := (kind == C || kind == E) && !p.needed.noRegions
	from := len(p.keys)
	rank := int8(math.MaxInt8)
	all, isClear := list, true
	for n := 0; ; n++ {
		key, value, rest, defect, more := attrlist.Next(list)
		if !more {
			if !isClear {
				p.kept.add(all)
			}
			return ref, nil
		}
		list = rest
		if defect != attrlist.NoProblem {
			isClear = false
			if err := p.report(attributeProblem(defect, key, value), number, l); err != nil {
				return ref, err
			}
		}
		var k uint32
		var act int8
		if n < len(recent.list) && recent.list[n].name == key && key != "" {
			k, act = recent.list[n].key, recent.list[n].activity
		} else {
			k, act = p.attribute(key)
			if !named {
				act = 0
			}
			if n <= len(recent.list) && n < 64 {
				name := p.d.Model.Attributes.At(k).Name
				wanted := kind != D && (p.needed.attribute == nil || p.needed.attribute(name))
				recent.put(n, recentKey{name: name, key: k, activity: act, wanted: wanted})
			}
		}
		v := trace.Value{Str: value, Type: trace.String}
		if i := p.keyPlaces.find(p.keys[from:], k); i < 0 {
			p.keys = append(p.keys, k)
			p.vals = append(p.vals, v)
		} else {
			if err := p.report(repeatedKey(key), number, l); err != nil {
				return ref, err
			}
			p.vals[from+i] = v
			isClear = false
		}
		if named && act > 0 && act <= rank {
			rank = act
			ref = p.region(value)
		}
	}
}

// attribute returns the id of the attribute with a name, which it defines if needed, and the name's
// position among the keys that name an activity.
func (p *blockParser) attribute(name string) (uint32, int8) {
	act := int8(0)
	for i, a := range p.d.activity {
		if a == name && i < 100 {
			act = int8(i + 1)
		}
	}
	if k, ok := p.attrs[name]; ok {
		return k, act
	}
	d := p.d
	name = strings.Clone(name)
	k, _ := linetrace.Define(&d.Text, p.place, d.attrs, name, func() (uint32, error) {
		return d.Model.Attributes.Add(trace.AttributeDef{Name: trace.ToUTF8(name), Type: trace.String}), nil
	})
	p.attrs[name] = k
	return k, act
}

// region returns the region of an activity, which it defines if needed.
func (p *blockParser) region(name string) uint32 {
	slot := &p.last[0]
	if n := len(name); n > 0 {
		slot = &p.last[(int(name[0])+int(name[n-1])*3+n*7)&63]
	}
	if slot.name == name && name != "" {
		return slot.ref
	}
	if r, ok := p.regions[name]; ok {
		// The cache outlives the block, so the name must not share its memory.
		*slot = recentRegion{strings.Clone(name), r}
		return r
	}
	d := p.d
	name = strings.Clone(name)
	r, _ := linetrace.Define(&d.Text, p.place, d.regions, name, func() (uint32, error) {
		return d.Model.Regions.Add(trace.Region{Name: trace.ToUTF8(name)}), nil
	})
	// A trace can have as many activities as claims, so each parser limits its cache.
	if len(p.regions) > 1<<14 {
		clear(p.regions)
	}
	p.regions[name] = r
	return r
}
