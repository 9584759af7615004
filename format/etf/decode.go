package etf

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/digits"
	"github.com/weft-trace/weft/internal/lines"
	"github.com/weft-trace/weft/internal/linetrace"
	"github.com/weft-trace/weft/trace"
)

// decoder reads a trace through the common model.
type decoder struct {
	linetrace.Text
	unit string
	deps int64
	// What the last scan has found that cannot be read: lines with events or dependencies, and how many
	// of them are dependencies.
	skipped, skippedLinks atomic.Int64
	tooLong               int64 // lines that are longer than the longest one that is read

	first    int64   // line of the first record that can be read, 0 for none
	keptSize int     // of the lines for Definitions.Opaque
	opaqueAt []int64 // the lines that are there
	moved    int64   // those of them that stand behind a record
	dropped  int64   // lines that are too many for it

	activity  []string // attribute keys that name the activity
	resources map[int64]uint32
	lines     []int64          // of definitions
	defined   []int64          // line of each resource
	drawn     []int64          // line of each signal
	slots     []int32          // resources by small id, -1 none
	missing   map[int64]uint32 // stand-ins for resources that no line defines
	metrics   map[seriesKey]uint32
	regions   map[string]uint32
	attrs     map[string]uint32
	events    uint32 // location of events
}

type seriesKey struct{ group, series int64 }

// definedKey is what a line defines.
type definedKey struct {
	Keyword
	seriesKey
}

// id is what the line calls it.
func (k definedKey) id() string {
	if k.Keyword == TSS {
		return fmt.Sprintf("%d/%d", k.group, k.series)
	}
	return strconv.FormatInt(k.group, 10)
}

// lane follows the order of one kind of line.
type lane struct {
	any         bool
	first, last trace.Decimal
	unsorted    bool
}

func (a *lane) add(t trace.Decimal) {
	if !a.any {
		a.first, a.any = t, true
	} else if linetrace.Compare(t, a.last) < 0 {
		a.unsorted = true
	}
	a.last = t
}

// follow appends the lane of a later piece.
func (a *lane) follow(b *lane) {
	switch {
	case !b.any:
	case !a.any:
		*a = *b
	default:
		a.unsorted = a.unsorted || b.unsorted || linetrace.Compare(b.first, a.last) < 0
		a.last = b.last
	}
}

// scanResult is what the first pass learns of a chunk.
type scanResult struct {
	linetrace.Times
	record  int64 // line of the first event or dependency that can be read, 0 for none
	deps    int64
	events  bool
	changes []linetrace.Run // places where claims change to events or back
	kind    [2]Keyword      // of the first and the last of them
	claims  lane
	points  lane                // events
	curves  map[seriesKey]*lane // fragments (series -1) and samples
	signal  int64               // of the last usual fragment
	drawn   *lane               // and its curve
	defs    []defLine
}

// defLine is a line that is no event and no dependency.
type defLine struct {
	text  []byte
	line  int64
	other bool // a comment, or its keyword is unknown
}

// maxKept bounds the text of the lines that a trace has in Definitions.Opaque.
const maxKept = 4 << 20

// keep makes room for a line that only this format understands; false if there are too many.
func (d *decoder) keep(x *defLine) bool {
	size := len(x.text) + 100
	if d.keptSize+size > maxKept {
		d.dropped++
		return false
	}
	d.keptSize += size
	return true
}

// opaque keeps a line that does not count, as a comment unless it is no definition.
func (d *decoder) opaque(x *defLine) {
	text := strings.TrimRight(string(x.text), "\r")
	if !x.other {
		text = "# " + text
	}
	if d.first > 0 && x.line > d.first {
		d.moved++
	}
	d.Model.Opaque.Add(trace.Opaque{Format: "etf", Data: trace.Text(text)})
	d.opaqueAt = append(d.opaqueAt, x.line)
}

// Overview says how many comments there are, if the definitions do not have them as they stand, and how
// many lines cannot be read.
func (d *decoder) Overview(context.Context) (*format.Overview, error) {
	o := &format.Overview{Unread: d.unread()}
	if d.dropped+d.moved > 0 {
		o.Definitions = []format.DefinitionRecords{{Type: "comment", Count: int64(d.Model.Opaque.Len()) + d.dropped, Moved: d.moved, Dropped: d.dropped}}
	}
	return o, nil
}

// unread is how many lines of events and dependencies cannot be read.
func (d *decoder) unread() int64 { return d.skipped.Load() + d.tooLong }

// firstRecord is the number of the first line of an event or a dependency that can be read, 0 if there is
// none.
func firstRecord(w lines.Walker) int64 {
	var r Record
	for l, number, ok := w.Next(); ok; l, number, ok = w.Next() {
		if k, i, _ := keyword(l); !k.defines() && r.possible(k, l, i) {
			return number
		}
	}
	return 0
}

// defines tells that a line is no event and no dependency.
func (k Keyword) defines() bool {
	switch k {
	case C, E, F, D, TSP, TSR:
		return false
	}
	return true
}

// possible is whether a line can be read, and its numbers go together.
func (r *Record) possible(k Keyword, l []byte, i int) bool {
	if _, p := r.parse(k, l, i); p.rule != "" && p.severity == trace.Error {
		return false
	}
	switch order := linetrace.Compare(r.Start, r.End); r.Keyword {
	case C, TSR:
		return order <= 0
	case F:
		return order < 0
	case D:
		return r.Type >= 0 && r.Type <= 8
	}
	return true
}

// unit is what a TU line says; ok is false for other lines and units that do not exist.
func (x *defLine) unit() (name string, ok bool) {
	k, i, _ := keyword(x.text)
	if k != TU {
		return "", false
	}
	name = strings.TrimSpace(string(x.text[i:]))
	_, _, ok = unitOf(name)
	return name, ok
}

func open(ctx context.Context, src format.Source, opt *format.ReadOptions) (format.File, error) {
	f, closer, err := openText(ctx, src, opt)
	if err != nil {
		return nil, err
	}
	d := &decoder{Text: linetrace.NewText(opt, f, closer), unit: "SECONDS", events: trace.NoRef,
		activity:  strings.Split(opt.Value("etf.activity", "name,task,activity"), ","),
		resources: map[int64]uint32{}, metrics: map[seriesKey]uint32{}, missing: map[int64]uint32{},
		regions: map[string]uint32{}, attrs: map[string]uint32{}}
	report := f.TooLong
	f.TooLong = func(line, off, length int64) error {
		d.tooLong++
		return report(line, off, length)
	}
	if err := d.index(ctx); err != nil {
		closer()
		return nil, err
	}
	return d, nil
}

// index reads the file once: it finds the tick, the order of the lines and all
// definitions.
func (d *decoder) index(ctx context.Context) error {
	var all []*scanResult
	var defs []defLine
	events := false
	err := linetrace.Index(ctx, &d.Text, d.scan, func(r *scanResult, shift int64) error {
		r.shift(shift)
		if d.first == 0 && r.record > 0 {
			d.first = r.record + shift
		}
		for _, x := range r.defs {
			if x.other && !d.keep(&x) {
				continue
			}
			defs = append(defs, x)
		}
		r.defs = nil
		events = events || r.events
		all = append(all, r)
		d.deps += r.deps
		return nil
	})
	if err != nil {
		return err
	}
	// The unit bounds the digits, so it is needed first.
	if i := slices.IndexFunc(defs, func(x defLine) bool { _, ok := x.unit(); return ok }); i >= 0 {
		d.unit, _ = defs[i].unit()
	}
	carried := false
	for _, x := range defs {
		carried = carried || bytes.Contains(x.text, []byte(carryPrefix))
	}
	d.order(all, carried)
	return d.define(defs, events)
}

// scan is the first pass over a chunk.
func (d *decoder) scan(b *lines.Block) *scanResult {
	w := d.File.Walk(b)
	all, r := w, &scanResult{}
	var rec Record
	usual := w.Plain()
	for {
		if rest := w.Rest(); usual && len(rest) > 2 && rest[1] == ' ' {
			n := 0
			switch rest[0] {
			case 'C':
				n = r.quickClaim(b, rest, w.Number())
			case 'D':
				r.deps++
				n = skipLine(rest)
			case 'E':
				n = r.quickEvent(b, rest, w.Number())
			case 'F':
				n = r.quickFragment(b, rest, w.Number())
			}
			if n > 0 {
				w.Skip(n)
				continue
			}
		}
		l, number, ok := w.Next()
		if !ok {
			if r.Any || r.deps > 0 {
				r.record = all.Number()
			}
			if len(r.defs) > 0 { // which may be what nothing comes from
				r.record = firstRecord(all)
			}
			return r
		}
		k, i, isBlank := keyword(l)
		if isBlank && i == len(l) {
			continue
		}
		switch k {
		case D:
			r.deps++
			continue
		case C, E, F, TSP, TSR:
		default:
			r.defs = append(r.defs, defLine{append([]byte(nil), l...), number, k == NoKeyword})
			continue
		}
		t, end, ok := rec.times(k, l, i)
		if !ok {
			continue
		}
		switch k {
		case C:
			r.claims.add(t)
			r.change(b, l, number, k)
		case E:
			r.points.add(t)
			r.events = true
			r.change(b, l, number, k)
		case TSP:
			c := r.curve(seriesKey{rec.ID, rec.Series})
			for _, x := range rec.Times {
				c.add(x)
				r.Scale = max(r.Scale, x.Trim().Scale)
			}
		default:
			key := seriesKey{rec.ID, -1}
			if k == TSR {
				key.series = rec.Series
			}
			r.curve(key).add(t)
		}
		r.Add(b, l, number, t, end)
	}
}

// times are the start and the end of a line that has times; ok is false for others.
func (r *Record) times(k Keyword, l []byte, i int) (t, end trace.Decimal, ok bool) {
	s := scanner{l: l, i: i}
	switch k {
	case C, F:
		r.ID, t, end = s.integer(""), s.decimal(""), s.decimal("")
	case E:
		r.ID, t = s.integer(""), s.decimal("")
		end = t
	case TSR:
		_, s.bad = r.parse(k, l, i)
		t, end = r.Start, r.End
	case TSP:
		if _, s.bad = r.parse(k, l, i); len(r.Times) > 0 {
			t, end = slices.MinFunc(r.Times, linetrace.Compare), slices.MaxFunc(r.Times, linetrace.Compare)
			break
		}
		fallthrough
	default:
		return t, end, false
	}
	return t, end, s.bad.severity != trace.Error
}

// shift adds n to the numbers of the lines.
func (r *scanResult) shift(n int64) {
	for i := range r.defs {
		r.defs[i].line += n
	}
	r.ShiftBreaks(n)
	for i := range r.changes {
		r.changes[i].Line += n
	}
}

// quickClaim takes the claim that rest begins with. It returns the length of the
// line, or 0 if its numbers are not spelled in the usual way.
func (r *scanResult) quickClaim(b *lines.Block, rest []byte, line int64) int {
	i := pass(rest, 2)
	t0, scale0, i := digits.Decimal(rest, i, ' ')
	t1, scale1, i := digits.Decimal(rest, i, ' ')
	if i == 0 {
		return 0
	}
	if r.kind[1] != C {
		r.change(b, rest, line, C)
	}
	c := &r.claims
	t, end := alike(t0, scale0, c.last.Scale), alike(t1, scale1, r.Max.Scale)
	if c.any && r.Last == c.last && t.Scale == c.last.Scale && t.Coef >= c.last.Coef &&
		t.Scale <= r.Scale && end.Scale == r.Max.Scale && end.Scale <= r.Scale {
		// The claim follows another: all that timed would do.
		c.last, r.Last = t, t
		if end.Coef > r.Max.Coef {
			r.Max = end
		}
	} else {
		c.add(t)
		r.Add(b, rest, line, t, end)
	}
	return i + skipLine(rest[i:])
}

// alike is a number with a scale that makes it easy to compare, if it can be
// had cheaply.
func alike(v int64, scale, wanted int32) trace.Decimal {
	if more := wanted - scale; uint32(more) < 4 && uint64(v) < 1e15 {
		return trace.Decimal{Coef: v * [...]int64{1, 10, 100, 1000}[more], Scale: wanted}
	}
	return trace.Decimal{Coef: v, Scale: scale}
}

// quickEvent takes the event that rest begins with, as quickClaim does a claim.
func (r *scanResult) quickEvent(b *lines.Block, rest []byte, line int64) int {
	t, scale, i := digits.Decimal(rest, pass(rest, 2), digits.Anything)
	if i == 0 || semicolon(rest, i) == 0 {
		return 0
	}
	if r.kind[1] != E {
		r.change(b, rest, line, E)
	}
	r.events = true
	at := trace.Decimal{Coef: t, Scale: scale}
	r.points.add(at)
	r.Add(b, rest, line, at, at)
	return i + skipLine(rest[i:])
}

// quickFragment takes the fragment that rest begins with, as quickClaim does a
// claim.
func (r *scanResult) quickFragment(b *lines.Block, rest []byte, line int64) int {
	id, i := integer(rest, 2)
	t0, scale0, i := digits.Decimal(rest, i, ' ')
	t1, scale1, i := digits.Decimal(rest, i, ' ')
	if i == 0 {
		return 0
	}
	if r.drawn == nil || r.signal != id {
		r.signal, r.drawn = id, r.curve(seriesKey{id, -1})
	}
	at := trace.Decimal{Coef: t0, Scale: scale0}
	r.drawn.add(at)
	r.Add(b, rest, line, at, trace.Decimal{Coef: t1, Scale: scale1})
	return i + skipLine(rest[i:])
}

// change notes that a line is a claim or an event, where the one before it was
// the other.
func (r *scanResult) change(b *lines.Block, l []byte, number int64, k Keyword) {
	if r.kind[1] == k {
		return
	}
	if r.kind[0] == NoKeyword {
		r.kind[0] = k
	} else if off, ok := linetrace.LineStart(b.Data, l); ok && len(r.changes) < linetrace.MaxRuns {
		r.changes = append(r.changes, linetrace.Run{From: off, Line: number})
	}
	r.kind[1] = k
}

func (r *scanResult) curve(k seriesKey) *lane {
	if r.curves == nil {
		r.curves = map[seriesKey]*lane{}
	}
	c := r.curves[k]
	if c == nil {
		c = &lane{}
		r.curves[k] = c
	}
	return c
}

// order chooses the tick and finds the sorted pieces of the file.
func (d *decoder) order(all []*scanResult, carried bool) {
	var claims, points lane
	curves := map[seriesKey]*lane{}
	times := make([]*linetrace.Times, len(all))
	kind := NoKeyword
	for i, r := range all {
		if carried {
			// The rank of carried events counts between sections too, so each
			// section is a piece of its own.
			if kind != NoKeyword && r.kind[0] != NoKeyword && r.kind[0] != kind {
				r.Breaks = append(r.Breaks, linetrace.Run{From: 0, Line: d.Chunks[i].Line})
			}
			r.Breaks = append(r.Breaks, r.changes...)
			slices.SortFunc(r.Breaks, func(a, b linetrace.Run) int { return cmp.Compare(a.From, b.From) })
			if r.kind[1] != NoKeyword {
				kind = r.kind[1]
			}
		}
		times[i] = &r.Times
		claims.follow(&r.claims)
		points.follow(&r.points)
		for k, c := range r.curves {
			if x := curves[k]; x != nil {
				x.follow(c)
			} else {
				curves[k] = c
			}
		}
	}
	// Ticks per second must fit 64 bits.
	_, den, _ := unitOf(d.unit)
	d.Order(times, int32(min(18, len(strconv.FormatInt(math.MaxInt64/den, 10))-1)))
	d.Lanes = !claims.unsorted && !points.unsorted
	for _, c := range curves {
		d.Lanes = d.Lanes && !c.unsorted
	}
}

// define fills the model's definitions.
func (d *decoder) define(defs []defLine, events bool) error {
	m := &trace.Definitions{Format: "etf", Origin: "etf"}
	d.Model = m
	var rec Record
	carried := map[string]string{}
	var offset, offsetLine int64
	type series struct {
		Record
		attrs []Attr
	}
	lists := map[Keyword][]series{}
	names := map[Keyword]string{R: "resource", S: "signal", TS: "time series", TSS: "series"}
	defined := map[definedKey]int64{} // lines
	for _, x := range defs {
		if x.other {
			d.opaque(&x)
			continue
		}
		report := func(p problem) error { return d.Opt.Defect(p.defect(d.File.Name, x.line, x.text)) }
		ok, err := rec.read(x.text, x.line, report)
		if err != nil {
			return err
		}
		if !ok {
			d.opaque(&x)
			continue
		}
		if d.first == 0 || x.line < d.first {
			d.first = x.line
		}
		d.lines = append(d.lines, x.line)
		keep := series{rec, append([]Attr(nil), rec.Attrs...)}
		if rec.Keyword == R && rec.Capacity <= 0 {
			if err := report(problem{"etf.capacity", fmt.Sprintf("capacity %v", rec.Capacity), "a number above 0", trace.Warning}); err != nil {
				return err
			}
		}
		k := definedKey{Keyword: rec.Keyword}
		switch rec.Keyword {
		case R, S, TS:
			k.group = rec.ID
		case TSS:
			k.seriesKey = seriesKey{rec.ID, rec.Series}
		}
		if first := defined[k]; rec.Keyword != T && first > 0 {
			twice := problem{"etf.duplicate-id", fmt.Sprintf("%s id %s twice", names[rec.Keyword], k.id()), fmt.Sprintf("an id that is used once; line %d counts", first), trace.Error}
			if rule := map[Keyword]string{TU: "etf.second-unit", O: "etf.second-offset"}[rec.Keyword]; rule != "" {
				twice = problem{rule, "a second " + rec.Keyword.String() + " line", fmt.Sprintf("one; line %d counts", first), trace.Error}
			}
			if err := report(twice); err != nil {
				return err
			}
			d.opaque(&x)
			continue
		}
		defined[k] = rec.Line
		switch rec.Keyword {
		case O:
			offset, offsetLine = rec.ID, rec.Line
		case T:
			for _, a := range keep.attrs {
				if key, ok := strings.CutPrefix(a.Key, carryPrefix); ok {
					carried[key] = a.Value
				} else {
					m.Properties.Add(trace.Attr{Key: trace.Text(a.Key), Value: trace.StringValue(trace.Text(a.Value))})
				}
			}
		default:
			lists[rec.Keyword] = append(lists[rec.Keyword], keep)
		}
	}
	num, den, _ := unitOf(d.unit)
	p := int64(math.Pow10(int(d.Digits)))
	c := trace.Clock{Num: p, Den: 1, Unit: p}
	// A tick is num/den × 10^-digits seconds.
	if num > 1 {
		c.Den = num
		if g := gcd(p, num); g > 1 {
			c.Num, c.Den = p/g, num/g
		}
	} else {
		c.Num = p * den
	}
	if offset != 0 {
		if offset > math.MaxInt64/1_000_000 || offset < math.MinInt64/1_000_000 {
			if err := d.Opt.Defect(&trace.Defect{Rule: "etf.offset-range", Severity: trace.Error, Position: trace.Position{File: d.File.Name, Line: offsetLine},
				Found: fmt.Sprintf("an offset of %d ms", offset), Expected: "a date between 1678 and 2262; the offset is ignored"}); err != nil {
				return err
			}
		} else {
			c.Epoch, c.HasEpoch = offset*1_000_000, true
		}
	}
	d.Clock, m.Clock = c, c
	if err := d.RestoreFrom(carried, "etf", "trace attributes"); err != nil || d.Restore != nil {
		if d.Restore != nil {
			for _, o := range m.Opaque.All() {
				d.Model.Opaque.Add(o) // that came to the lines since
			}
		}
		d.Lanes = d.Lanes && d.Restore == nil
		return err
	}
	if !d.File.Numbered { // the lines are those of the file
		m.Native = &original{d}
	}
	toAttrs := func(in []Attr) (out []trace.Attr) {
		for _, a := range in {
			out = append(out, trace.Attr{Key: trace.Text(a.Key), Value: trace.StringValue(trace.Text(a.Value))})
		}
		return
	}
	get := func(in []Attr, key string) string {
		for _, a := range in {
			if a.Key == key {
				return trace.Text(a.Value)
			}
		}
		return ""
	}
	for _, r := range lists[R] {
		d.addResource(trace.Resource{ID: strconv.FormatInt(r.ID, 10), Name: get(r.attrs, "name"), Unit: get(r.attrs, "unit"),
			Capacity: r.Capacity, UsesOffset: r.UsesOffset, Attrs: toAttrs(r.attrs)}, r.ID)
		d.defined = append(d.defined, r.Line)
	}
	if events {
		d.events = m.Locations.Add(trace.Location{ID: "E", Name: "events", Kind: trace.EventsLocation, Group: trace.NoRef})
	}
	for _, s := range lists[S] {
		d.addMetric(trace.MetricDef{ID: strconv.FormatInt(s.ID, 10), Name: get(s.attrs, "name"), Unit: get(s.attrs, "unit"),
			Kind: trace.SignalMetric, Type: trace.Float64, Attrs: toAttrs(s.attrs)}, seriesKey{s.ID, -1}, trace.NoRef)
		d.drawn = append(d.drawn, s.Line)
	}
	group := map[int64]uint32{}
	for _, g := range lists[TS] {
		group[g.ID] = m.Groups.Add(trace.LocationGroup{ID: strconv.FormatInt(g.ID, 10), Name: get(g.attrs, "name"), Kind: "time series",
			Parent: trace.NoRef, Attrs: toAttrs(g.attrs)})
	}
	for _, s := range lists[TSS] {
		g, ok := group[s.ID]
		if !ok {
			g = trace.NoRef
			if err := d.Opt.Defect((&problem{"etf.unknown-reference", fmt.Sprintf("time series %d", s.ID), "the id of a TS line", trace.Error}).defect(d.File.Name, s.Line, nil)); err != nil {
				return err
			}
		}
		d.addMetric(trace.MetricDef{ID: fmt.Sprintf("%d/%d", s.ID, s.Series), Name: get(s.attrs, "name"), Unit: get(s.attrs, "unit"),
			Kind: trace.SeriesMetric, Type: trace.Float64, Attrs: toAttrs(s.attrs)}, seriesKey{s.ID, s.Series}, g)
	}
	return nil
}

// lineOf is the line that defines a signal, 0 if none does.
func (d *decoder) lineOf(metric uint32) int64 {
	if int(metric) < len(d.drawn) {
		return d.drawn[metric]
	}
	return 0
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func (d *decoder) addResource(r trace.Resource, id int64) uint32 {
	r.Location = d.Model.Locations.Add(trace.Location{ID: r.ID, Name: r.Name, Kind: trace.ResourceLocation, Group: trace.NoRef})
	i := d.Model.Resources.Add(r)
	d.resources[id] = i
	if id >= 0 && id < maxSlots {
		for int(id) >= len(d.slots) {
			d.slots = append(d.slots, -1)
		}
		d.slots[id] = int32(i)
	}
	return i
}

// maxSlots bounds the table that finds resources by small ids.
const maxSlots = 1 << 16

// resourceOf finds a resource by its id.
func (d *decoder) resourceOf(id int64) (uint32, bool) {
	if uint64(id) < uint64(len(d.slots)) {
		if i := d.slots[id]; i >= 0 {
			return uint32(i), true
		}
		return 0, false
	}
	i, ok := d.resources[id]
	return i, ok
}

func (d *decoder) addMetric(m trace.MetricDef, k seriesKey, group uint32) uint32 {
	id := "S" + m.ID
	if k.series >= 0 {
		id = "TS" + m.ID
	}
	m.Location = d.Model.Locations.Add(trace.Location{ID: id, Name: m.Name, Kind: trace.SignalLocation, Group: group})
	i := d.Model.Metrics.Add(m)
	d.metrics[k] = i
	return i
}

// LinkCount is the number of D lines, after a scan without those that cannot be read; that of a restored
// trace is not known before a scan.
func (d *decoder) LinkCount() (int64, bool) { return d.deps - d.skippedLinks.Load(), d.Restore == nil }

// Scan delivers all events in time order, or those of each location.
func (d *decoder) Scan(ctx context.Context, sel trace.Selection, order format.Order, sink format.Sink) error {
	d.Opt.Pass()
	if sel.NoEvents && d.Restore == nil && d.deps == 0 {
		return nil
	}
	sel, sink = format.Exactly(d.Model, sel, sink)
	// Links name claims anywhere.
	return d.Deliver(ctx, d, sel, order, d.Restore != nil || sel.Links != trace.NoLinks && d.deps > 0, sink)
}

// ScanParallel delivers from one goroutine: the text is parsed on all cores before that.
func (d *decoder) ScanParallel(ctx context.Context, sel trace.Selection, begin func() func(int) format.Sink) error {
	return format.ScanInOne(ctx, d, sel, begin)
}

// SortTime is the start time of a line; lines without a time come first.
func (d *decoder) SortTime(l []byte, _ int64) int64 {
	k, i, _ := keyword(l)
	var rec Record
	t, _, ok := rec.times(k, l, i)
	if !ok {
		return math.MinInt64
	}
	ticks, _, _ := t.Ticks(d.Digits)
	return ticks
}

// scan is one scan of the events.
type scan struct {
	d *decoder
	*linker
}

// Begin begins a scan.
func (d *decoder) Begin(sel trace.Selection) linetrace.Scan {
	d.skipped.Store(0)
	d.skippedLinks.Store(0)
	return scan{d, d.newLinker(sel)}
}

// Assembler puts the ends of claims between the events of later blocks.
func (s scan) Assembler(mixed bool) linetrace.Assembler {
	return &assembler{d: s.d, mixed: mixed, links: s.linker}
}
