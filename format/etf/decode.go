package etf

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
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

// maxRuns is how many sorted pieces of a file are merged by reading each at its
// own place; a file in more pieces is sorted into temporary files.
const maxRuns = 64

// decoder reads a trace through the common model.
type decoder struct {
	format.EventsAlone
	opt    *format.ReadOptions
	file   *lines.File
	close  func() error
	chunks []lines.Chunk
	times  []window // by chunk
	runs   []run    // pieces of the file in time order; nil: too many
	lanes  bool     // each location is in time order
	model  *trace.Definitions
	digits int32 // a tick is 10^-digits time units
	unit   string
	items  int64
	deps   int64

	activity  []string // attribute keys that name the activity
	growing   sync.Mutex
	resources map[int64]uint32
	defined   []int64          // line of each resource
	drawn     []int64          // line of each signal
	slots     []int32          // resources by small id, -1 none
	missing   map[int64]uint32 // stand-ins for resources that no line defines
	signals   map[int64]uint32
	series    map[seriesKey]uint32
	regions   map[string]uint32
	attrs     map[string]uint32
	events    uint32 // location of events
	restore   *carrier.Restorer
	fileClock trace.Clock
	rescale   bool // the restored trace's clock is not the file's
	scanned   bool // defects have been reported
}

type seriesKey struct{ group, series int64 }

type window struct{ min, max int64 }

type run struct {
	from, to, line int64
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
	} else if compare(t, a.last) < 0 {
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
		a.unsorted = a.unsorted || b.unsorted || compare(b.first, a.last) < 0
		a.last = b.last
	}
}

func compare(a, b trace.Decimal) int {
	if a.Scale == b.Scale {
		return cmp.Compare(a.Coef, b.Coef)
	}
	return a.Cmp(b)
}

// scanResult is what the first pass learns of a chunk.
type scanResult struct {
	items    int64
	deps     int64
	events   bool
	scale    int32
	all      lane // all timed lines
	min, max trace.Decimal
	breaks   []run
	changes  []run      // places where claims change to events or back
	kind     [2]Keyword // of the first and the last of them
	more     bool
	claims   lane
	points   lane                // events
	curves   map[seriesKey]*lane // fragments (series -1) and samples
	signal   int64               // of the last usual fragment
	drawn    *lane               // and its curve
	defs     []defLine
}

type defLine struct {
	text []byte
	line int64
}

func open(ctx context.Context, src format.Source, opt *format.ReadOptions) (format.File, error) {
	f, closer, err := openText(ctx, src, opt)
	if err != nil {
		return nil, err
	}
	d := &decoder{opt: opt, file: f, close: closer, unit: "SECONDS", events: trace.NoRef,
		activity:  strings.Split(opt.Value("etf.activity", "name,task,activity"), ","),
		resources: map[int64]uint32{}, signals: map[int64]uint32{}, series: map[seriesKey]uint32{},
		regions: map[string]uint32{}, attrs: map[string]uint32{}}
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
	done := int64(0)
	events := false
	chunks, err := lines.Index(ctx, d.file, d.opt.Cores(), d.scan, func(c lines.Chunk, r *scanResult) error {
		r.shift(d.file.Shift(c))
		defs = append(defs, r.defs...)
		r.defs = nil
		events = events || r.events
		all = append(all, r)
		d.items += r.items
		d.deps += r.deps
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
	for _, x := range defs {
		// The unit bounds the digits, so it is needed first.
		if k, i, _ := keyword(x.text); k == TU {
			if u := strings.TrimSpace(string(x.text[i:])); d.unit == "SECONDS" {
				if _, _, ok := unitOf(u); ok {
					d.unit = u
				}
			}
		}
	}
	carried := false
	for _, x := range defs {
		carried = carried || bytes.Contains(x.text, []byte(carryPrefix+"trace"))
	}
	d.order(all, carried)
	return d.define(defs, events)
}

// scan is the first pass over a chunk.
func (d *decoder) scan(b *lines.Block) *scanResult {
	r := &scanResult{}
	w := d.file.Walk(b)
	var rec Record
	usual := plain(d.file, b)
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
			return r
		}
		k, i, isBlank := keyword(l)
		if isBlank {
			continue
		}
		s := scanner{l: l, i: i}
		var t, end trace.Decimal
		two := false
		switch k {
		case C:
			s.integer("")
			t, end, two = s.decimal(""), s.decimal(""), true
			if s.bad.rule == "" {
				r.claims.add(t)
			}
		case E:
			s.integer("")
			t = s.decimal("")
			if s.bad.rule == "" {
				r.points.add(t)
				r.events = true
			}
		case F:
			id := s.integer("")
			t, end = s.decimal(""), s.decimal("")
			// The fragment is an event at its start; its end needs its digits only.
			r.scale = max(r.scale, end.Trim().Scale)
			if s.bad.rule == "" {
				r.curve(seriesKey{id, -1}).add(t)
			}
		case D:
			r.deps++
			continue
		case TSP, TSR:
			if _, p := rec.parse(k, l, i); p.severity == trace.Error || k == TSP && len(rec.Times) == 0 {
				continue
			}
			c := r.curve(seriesKey{rec.ID, rec.Series})
			if k == TSR {
				t = rec.Start
				r.scale = max(r.scale, rec.End.Trim().Scale)
				c.add(t)
			} else {
				t, end, two = rec.Times[0], rec.Times[0], true
				for _, x := range rec.Times {
					c.add(x)
					if compare(x, t) < 0 {
						t = x
					}
					if compare(x, end) > 0 {
						end = x
					}
					if x.Scale > r.scale {
						r.scale = max(r.scale, x.Trim().Scale)
					}
				}
			}
		case NoKeyword:
			continue
		default:
			r.defs = append(r.defs, defLine{append([]byte(nil), l...), number})
			continue
		}
		if s.bad.rule != "" {
			continue
		}
		if !two {
			end = t
		}
		if k == C || k == E {
			r.change(b, l, number, k)
		}
		r.timed(b, l, number, t, end)
	}
}

// shift adds n to the numbers of the lines.
func (r *scanResult) shift(n int64) {
	for i := range r.defs {
		r.defs[i].line += n
	}
	for _, list := range [][]run{r.breaks, r.changes} {
		for i := range list {
			list[i].line += n
		}
	}
}

// quickClaim takes the claim that rest begins with. It returns the length of the
// line, or 0 if its numbers are not spelled in the usual way.
func (r *scanResult) quickClaim(b *lines.Block, rest []byte, line int64) int {
	i := pass(rest, 2)
	t0, scale0, i := number(rest, i, ' ')
	t1, scale1, i := number(rest, i, ' ')
	if i == 0 {
		return 0
	}
	if r.kind[1] != C {
		r.change(b, rest, line, C)
	}
	c := &r.claims
	t, end := alike(t0, scale0, c.last.Scale), alike(t1, scale1, r.max.Scale)
	if c.any && r.all.last == c.last && t.Scale == c.last.Scale && t.Coef >= c.last.Coef &&
		t.Scale <= r.scale && end.Scale == r.max.Scale && end.Scale <= r.scale {
		// The claim follows another: all that timed would do.
		c.last, r.all.last = t, t
		if end.Coef > r.max.Coef {
			r.max = end
		}
		r.items++
	} else {
		c.add(t)
		r.timed(b, rest, line, t, end)
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
	t, scale, i := number(rest, pass(rest, 2), anything)
	if i == 0 || semicolon(rest, i) == 0 {
		return 0
	}
	if r.kind[1] != E {
		r.change(b, rest, line, E)
	}
	r.events = true
	at := trace.Decimal{Coef: t, Scale: scale}
	r.points.add(at)
	r.timed(b, rest, line, at, at)
	return i + skipLine(rest[i:])
}

// quickFragment takes the fragment that rest begins with, as quickClaim does a
// claim.
func (r *scanResult) quickFragment(b *lines.Block, rest []byte, line int64) int {
	id, i := integer(rest, 2)
	t0, scale0, i := number(rest, i, ' ')
	t1, scale1, i := number(rest, i, ' ')
	if i == 0 {
		return 0
	}
	if end := (trace.Decimal{Coef: t1, Scale: scale1}); scale1 > r.scale {
		r.scale = max(r.scale, end.Trim().Scale)
	}
	if r.drawn == nil || r.signal != id {
		r.signal, r.drawn = id, r.curve(seriesKey{id, -1})
	}
	at := trace.Decimal{Coef: t0, Scale: scale0}
	r.drawn.add(at)
	r.timed(b, rest, line, at, at)
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
	} else if len(r.changes) < maxRuns {
		r.changes = append(r.changes, run{from: lineStart(b.Data, l), line: number})
	}
	r.kind[1] = k
}

// timed takes a line with a time; l is where it stands in the block.
func (r *scanResult) timed(b *lines.Block, l []byte, number int64, t, end trace.Decimal) {
	r.items++
	if t.Scale > r.scale {
		r.scale = max(r.scale, t.Trim().Scale)
	}
	if end.Scale > r.scale {
		r.scale = max(r.scale, end.Trim().Scale)
	}
	if !r.all.any {
		r.min, r.max = t, end
	} else {
		if compare(t, r.all.last) < 0 {
			if len(r.breaks) < maxRuns {
				r.breaks = append(r.breaks, run{from: lineStart(b.Data, l), line: number})
			} else {
				r.more = true
			}
			if compare(t, r.min) < 0 {
				r.min = t
			}
		}
		if compare(end, r.max) > 0 {
			r.max = end
		}
	}
	r.all.add(t)
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

// lineStart is where the line that l is a part of begins in data.
func lineStart(data, l []byte) int64 {
	off := int64(uintptr(unsafe.Pointer(&l[0]))) - int64(uintptr(unsafe.Pointer(&data[0])))
	for off > 0 && data[off-1] != '\n' {
		off--
	}
	return off
}

// order chooses the tick and finds the sorted pieces of the file.
func (d *decoder) order(all []*scanResult, carried bool) {
	var biggest trace.Decimal
	// Room is left for margins of drawings, and for differences from negative times.
	limit := int64(math.MaxInt64 / 8 * 7)
	for _, r := range all {
		d.digits = max(d.digits, r.scale)
		if !r.all.any {
			continue
		}
		for _, t := range [2]trace.Decimal{r.min, r.max} {
			if t.Coef < 0 {
				t.Coef, limit = -t.Coef, math.MaxInt64/4
			}
			if t.Cmp(biggest) > 0 {
				biggest = t
			}
		}
	}
	// Ticks per second must fit 64 bits.
	d.digits = min(d.digits, 18)
	for _, den, _ := unitOf(d.unit); d.digits > 0 && int64(math.Pow10(int(d.digits))) > math.MaxInt64/den; {
		d.digits--
	}
	for d.digits > 0 {
		if t, _, ok := biggest.Ticks(d.digits); ok && t < limit {
			break
		}
		d.digits--
	}
	runs := []run{{0, d.file.Size, 1}}
	var whole, claims, points lane
	curves := map[seriesKey]*lane{}
	tooMany, kind := false, NoKeyword
	cut := func(off, line int64) {
		if len(runs) >= maxRuns {
			tooMany = true
			return
		}
		runs[len(runs)-1].to = off
		runs = append(runs, run{off, d.file.Size, line})
	}
	for i, r := range all {
		w := window{math.MaxInt64, math.MinInt64}
		if r.all.any {
			w.min, _, _ = r.min.Ticks(d.digits)
			w.max, _, _ = r.max.Ticks(d.digits)
			if whole.any && compare(r.all.first, whole.last) < 0 {
				cut(d.chunks[i].Off, d.chunks[i].Line)
			}
			at := r.breaks
			if carried {
				// The rank of carried events counts between sections too, so each
				// section is a piece of its own.
				if kind != NoKeyword && r.kind[0] != NoKeyword && r.kind[0] != kind {
					at = append(at, run{from: 0, line: d.chunks[i].Line})
				}
				at = append(at, r.changes...)
				slices.SortFunc(at, func(a, b run) int { return cmp.Compare(a.from, b.from) })
				at = slices.CompactFunc(at, func(a, b run) bool { return a.from == b.from })
				if r.kind[1] != NoKeyword {
					kind = r.kind[1]
				}
			}
			for _, b := range at {
				if off := d.chunks[i].Off + b.from; off > runs[len(runs)-1].from {
					cut(off, b.line)
				}
			}
			tooMany = tooMany || r.more
		}
		whole.follow(&r.all)
		claims.follow(&r.claims)
		points.follow(&r.points)
		for k, c := range r.curves {
			if x := curves[k]; x != nil {
				x.follow(c)
			} else {
				curves[k] = c
			}
		}
		d.times = append(d.times, w)
	}
	d.lanes = !claims.unsorted && !points.unsorted
	for _, c := range curves {
		d.lanes = d.lanes && !c.unsorted
	}
	if !tooMany {
		d.runs = runs
	}
}

// define fills the model's definitions.
func (d *decoder) define(defs []defLine, events bool) error {
	m := &trace.Definitions{Format: "etf", Origin: "etf"}
	d.model = m
	var rec Record
	var carried []carrier.Pair
	var unitSeen, offsetSeen, hasOffset bool
	var offset int64
	type series struct {
		Record
		attrs []Attr
	}
	var resources, signals, groups, lists []series
	type definedKey struct {
		Keyword
		seriesKey
	}
	defined := map[definedKey]bool{}
	for _, x := range defs {
		report := func(p problem) error { return d.opt.Defect(p.defect(d.file.Name, x.line, x.text)) }
		ok, err := rec.read(x.text, x.line, report)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		keep := series{rec, append([]Attr(nil), rec.Attrs...)}
		twice := func(what string, list *[]series) error {
			k := definedKey{rec.Keyword, seriesKey{rec.ID, 0}}
			if rec.Keyword == TSS {
				k.series = rec.Series
			}
			if defined[k] {
				return report(problem{"etf.duplicate-id", fmt.Sprintf("%s id %d twice", what, rec.ID), "an id that is used once; the first one counts", trace.Error})
			}
			defined[k] = true
			*list = append(*list, keep)
			return nil
		}
		err = nil
		switch rec.Keyword {
		case TU:
			if unitSeen {
				err = report(problem{"etf.second-unit", "a second TU line", "one; the first one counts", trace.Error})
				break
			}
			unitSeen = true
		case O:
			if offsetSeen {
				err = report(problem{"etf.second-offset", "a second O line", "one; the first one counts", trace.Error})
				break
			}
			offsetSeen = true
			hasOffset, offset = rec.ID != 0, rec.ID
		case T:
			for _, a := range keep.attrs {
				if key, ok := strings.CutPrefix(a.Key, carryPrefix); ok {
					carried = append(carried, carrier.Pair{Key: key, Value: a.Value})
				} else {
					m.Properties.Add(trace.Attr{Key: trace.Text(a.Key), Value: trace.StringValue(trace.Text(a.Value))})
				}
			}
		case R:
			if rec.Capacity <= 0 {
				if err = report(problem{"etf.capacity", fmt.Sprintf("capacity %v", rec.Capacity), "a number above 0", trace.Warning}); err != nil {
					break
				}
			}
			err = twice("resource", &resources)
		case S:
			err = twice("signal", &signals)
		case TS:
			err = twice("time series", &groups)
		case TSS:
			err = twice("series", &lists)
		}
		if err != nil {
			return err
		}
	}
	num, den, _ := unitOf(d.unit)
	p := int64(math.Pow10(int(d.digits)))
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
	if hasOffset {
		if offset > math.MaxInt64/1_000_000 || offset < math.MinInt64/1_000_000 {
			if err := d.opt.Defect(&trace.Defect{Rule: "etf.offset-range", Severity: trace.Error, Position: trace.Position{File: d.file.Name},
				Found: fmt.Sprintf("an offset of %d ms", offset), Expected: "a date between 1678 and 2262; the offset is ignored"}); err != nil {
				return err
			}
		} else {
			c.Epoch, c.HasEpoch = offset*1_000_000, true
		}
	}
	d.fileClock = c
	m.Clock = c
	if len(carried) > 0 {
		n := &trace.Definitions{Format: "etf"}
		r, err := carrier.NewRestorer(n, carried)
		if err == nil {
			n.Clock = r.Clock
			d.restore, d.model = r, n
			d.rescale = n.Clock.Num != d.fileClock.Num || n.Clock.Den != d.fileClock.Den
			return nil
		}
		if e := d.opt.Defect(&trace.Defect{Rule: "etf.carrier", Severity: trace.Warning, Position: trace.Position{File: d.file.Name},
			Found: err.Error(), Expected: "definitions that weft wrote into trace attributes; they are ignored"}); e != nil {
			return e
		}
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
	for _, r := range resources {
		d.addResource(trace.Resource{ID: strconv.FormatInt(r.ID, 10), Name: get(r.attrs, "name"), Unit: get(r.attrs, "unit"),
			Capacity: r.Capacity, UsesOffset: r.UsesOffset, Attrs: toAttrs(r.attrs)}, r.ID)
		d.defined = append(d.defined, r.Line)
	}
	if events {
		d.events = m.Locations.Add(trace.Location{ID: "E", Name: "events", Kind: trace.EventsLocation, Group: trace.NoRef})
	}
	for _, s := range signals {
		d.addMetric(trace.MetricDef{ID: strconv.FormatInt(s.ID, 10), Name: get(s.attrs, "name"), Unit: get(s.attrs, "unit"),
			Kind: trace.SignalMetric, Type: trace.Float64, Attrs: toAttrs(s.attrs)}, seriesKey{s.ID, -1}, trace.NoRef)
		d.drawn = append(d.drawn, s.Line)
	}
	group := map[int64]uint32{}
	for _, g := range groups {
		group[g.ID] = m.Groups.Add(trace.LocationGroup{ID: strconv.FormatInt(g.ID, 10), Name: get(g.attrs, "name"), Kind: "time series",
			Parent: trace.NoRef, Attrs: toAttrs(g.attrs)})
	}
	for _, s := range lists {
		g, ok := group[s.ID]
		if !ok {
			g = trace.NoRef
			if err := d.opt.Defect((&problem{"etf.unknown-reference", fmt.Sprintf("time series %d", s.ID), "the id of a TS line", trace.Error}).defect(d.file.Name, s.Line, nil)); err != nil {
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
	r.Location = d.model.Locations.Add(trace.Location{ID: r.ID, Name: r.Name, Kind: trace.ResourceLocation, Group: trace.NoRef})
	i := d.model.Resources.Add(r)
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
	m.Location = d.model.Locations.Add(trace.Location{ID: id, Name: m.Name, Kind: trace.SignalLocation, Group: group})
	i := d.model.Metrics.Add(m)
	if k.series < 0 {
		d.signals[k.group] = i
	} else {
		d.series[k] = i
	}
	return i
}

// Defs returns the definitions; regions and attributes grow during scans.
func (d *decoder) Defs() *trace.Definitions { return d.model }

// Prepare does nothing: opening has looked through the text.
func (d *decoder) Prepare(context.Context) error { return nil }

// Extent is the times of the first and last event.
func (d *decoder) Extent(context.Context) (first, last int64, ok bool, err error) {
	first, last = math.MaxInt64, math.MinInt64
	for _, w := range d.times {
		first, last = min(first, w.min), max(last, w.max)
	}
	if first > last {
		return 0, 0, false, nil
	}
	if d.restore != nil {
		var ok1, ok2 bool
		first, _, ok1 = d.fileClock.Rescale(first, d.model.Clock)
		last, _, ok2 = d.fileClock.Rescale(last, d.model.Clock)
		return first, last, ok1 && ok2, nil
	}
	return first, last, true, nil
}

// LinkCount is the number of D lines; that of a restored trace is not known
// before a scan.
func (d *decoder) LinkCount() (int64, bool) { return d.deps, d.restore == nil }

// Close closes the file.
func (d *decoder) Close() error { return d.close() }

// Scan delivers all events in time order, or those of each location.
func (d *decoder) Scan(ctx context.Context, sel trace.Selection, order format.Order, sink format.Sink) error {
	d.opt.Pass()
	if sel.NoEvents && d.restore == nil && d.deps == 0 {
		return nil
	}
	sel, sink = format.Exactly(d.model, sel, sink)
	if order == format.GlobalOrder {
		return d.ordered(ctx, sel, sink)
	}
	if d.lanes && d.restore == nil {
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
	// A restored trace has another clock, and links name claims anywhere.
	if sel.From == math.MinInt64 && sel.To == math.MaxInt64 || d.restore != nil || sel.Links != trace.NoLinks && d.deps > 0 {
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

// ordered delivers all events in time order.
func (d *decoder) ordered(ctx context.Context, sel trace.Selection, sink format.Sink) error {
	switch {
	case len(d.runs) == 1:
		return d.parseAll(ctx, d.file.Chunks(d.selected(sel)), sel, sink, true)
	case d.runs != nil:
		defer func() { d.scanned = true }()
		l := d.newLinker(sel)
		defer l.close()
		streams := make([]format.Stream, len(d.runs))
		for i, r := range d.runs {
			streams[i] = &stream{d: d, src: d.file.Chunks(lines.Cut(d.chunks, r.from, r.to, r.line)), a: newAssembler(d, true, l)}
		}
		if err := format.Merge(ctx, streams, sink); err != nil {
			return err
		}
		return l.deliver(ctx, sink)
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

// sort brings the lines of the file into the order of their start times.
func (d *decoder) sort(ctx context.Context) (*extsort.Sorter, error) {
	s := extsort.New(d.opt.SortMemory(), "")
	src := d.file.Chunks(d.chunks)
	var buf []byte
	var rec Record
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
		for {
			l, number, ok := w.Next()
			if !ok {
				break
			}
			t := int64(math.MinInt64) // lines without a time come first
			k, i, isBlank := keyword(l)
			if isBlank {
				continue
			}
			sc := scanner{l: l, i: i}
			switch k {
			case C, E, F:
				sc.integer("")
				if x := sc.decimal(""); sc.bad.rule == "" {
					t, _, _ = x.Ticks(d.digits)
				}
			case TSP, TSR:
				if _, p := rec.parse(k, l, i); p.severity != trace.Error {
					x := rec.Start
					for j, y := range rec.Times {
						if k == TSP && (j == 0 || compare(y, x) < 0) {
							x = y
						}
					}
					t, _, _ = x.Ticks(d.digits)
				}
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

// parseAll parses blocks on all cores and assembles their events in order.
func (d *decoder) parseAll(ctx context.Context, src lines.Source, sel trace.Selection, sink format.Sink, mixed bool) error {
	defer func() { d.scanned = true }()
	l := d.newLinker(sel)
	defer l.close()
	a := newAssembler(d, mixed, l)
	turn := pipeline.NewTurn()
	var pool sync.Pool
	next := func() (*lines.Block, bool, error) {
		b, err := src.Next()
		return b, b != nil, err
	}
	work := func(_ int, b *lines.Block) (*parsed, error) {
		p, _ := pool.Get().(*parsed)
		if p == nil {
			p = newParsed()
		}
		p.reset(d, b, turn, l != nil, mixed)
		err := b.Load()
		if err == nil {
			err = p.run()
		}
		turn.Done(b.Seq)
		return p, err
	}
	done := func(p *parsed) error {
		if err := a.take(p, sink); err != nil {
			return err
		}
		if d.opt.Progress != nil && len(d.chunks) > 0 {
			last := max(1, d.chunks[len(d.chunks)-1].Line)
			d.opt.Progress(d.file.Size/2+int64(float64(d.file.Size/2)*min(1, float64(p.block.Line)/float64(last))), d.file.Size)
		}
		p.block.Release()
		p.block = nil
		pool.Put(p)
		return nil
	}
	if err := pipeline.Run(ctx, d.opt.Cores(), next, work, done); err != nil {
		return err
	}
	if err := a.finish(sink); err != nil {
		return err
	}
	return l.deliver(ctx, sink)
}

// stream reads one sorted piece of the file.
type stream struct {
	d        *decoder
	src      lines.Source
	a        *assembler
	p        *parsed
	out      []*trace.Batch
	ready    int
	finished bool
}

// Next returns the next batch of the piece.
func (s *stream) Next(ctx context.Context) (*trace.Batch, error) {
	for {
		if s.ready < len(s.out) {
			s.ready++
			return s.out[s.ready-1], nil
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if s.finished {
			return nil, nil
		}
		s.out, s.ready = s.out[:0], 0
		collect := format.SinkFuncs{OnBatch: func(b *trace.Batch) error {
			s.out = append(s.out, b.Clone())
			return nil
		}}
		b, err := lines.Next(s.src)
		if err != nil {
			return nil, err
		}
		if b == nil {
			s.finished = true
			if err := s.a.finish(collect); err != nil {
				return nil, err
			}
			continue
		}
		if s.p == nil {
			s.p = newParsed()
		}
		s.p.reset(s.d, b, nil, s.a.links != nil, true)
		if err := s.p.run(); err != nil {
			return nil, err
		}
		if err := s.a.take(s.p, collect); err != nil {
			return nil, err
		}
		b.Release()
	}
}
