package otf

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/carrier"
	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/openset"
	"github.com/weft-trace/weft/trace"
)

// decoder reads a trace through the common model. Its ticks are the trace's own,
// less the base of its clock.
type decoder struct {
	format.EventsAlone
	*model
	r     *Reader
	opt   *format.ReadOptions
	files []survey
	// bare: there are leaves that do not say what they leave. An attempt that meets one without
	// knowing sets metBare.
	bare, metBare bool
	named         bool // there are leaves that say it
	any           bool
	first         uint64
	last          uint64
	count         int64
	err           error // of strict reading, from where none can be returned
	// indexed says that all files have been looked through.
	indexed bool
	bounds  *timeBounds // what surveyEnds found
	// complete are the surveys of those files that surveyEnds looked at as a whole.
	complete map[surveyedFile]survey
	// trying: nothing is known of the files' order yet, and other scans run at the
	// same time (see try).
	trying bool
	// unlinked: it does not matter that there are links.
	unlinked bool
	// Streams of processes that the master file does not name, and whether a
	// process is in several.
	home    map[uint64]uint32
	strayed bool
	stacks  []*openRegions // by location, for bare leaves
	links   *carrier.Links // those met so far; nil if they are not wanted
	met     int64
}

// Open opens a trace.
func (Format) Open(ctx context.Context, src format.Source, opt *format.ReadOptions) (format.File, error) {
	if err := about.CheckOptions(opt.Values); err != nil {
		return nil, err
	}
	files, err := FewFiles(opt.Values)
	if err != nil {
		return nil, err
	}
	r, err := Open(ctx, src, &Options{Read: opt, Files: files})
	if err != nil {
		return nil, err
	}
	if r.empty() {
		return nil, format.EmptyError(src)
	}
	d := &decoder{r: r, opt: opt, home: map[uint64]uint32{}}
	if d.model, err = newModel(ctx, r); err != nil {
		return nil, err
	}
	d.undefined = d.standIn
	return d, nil
}

// tolerated are the options for what libotf reads without a word: strict reading
// does not stop there.
func tolerated(opt *format.ReadOptions) *format.ReadOptions {
	o := *opt
	o.Strict = false
	return &o
}

// quiet is the reader without a report.
func (r *Reader) quiet() *Reader {
	q := *r
	q.opt.Read = &format.ReadOptions{Values: r.opt.Read.Values}
	return &q
}

// standIn reports a token that nothing defines.
func (d *decoder) standIn(what string, stream uint32, token uint64) {
	err := tolerated(d.opt).Defect(&trace.Defect{Rule: "otf.undefined", Severity: trace.Warning, Position: trace.Position{File: d.r.src.Path},
		Found: fmt.Sprintf("%s %d in stream %x", what, token, stream), Expected: "a definition; a stand-in takes its place"})
	if d.err == nil {
		d.err = err
	}
}

// late reports a record that is too late for the model; format/otf reads it.
func (d *decoder) late(r *Record) error {
	return tolerated(d.r.opt.Read).Defect(&trace.Defect{Rule: "otf.time-range", Severity: trace.Error, Position: trace.Position{File: d.r.src.Path},
		Found: fmt.Sprintf("%s at %d", r.Type, r.Time), Expected: fmt.Sprintf("times less than 2^63 after %d; the record is skipped", d.clock.base)})
}

// Defs are the definitions. Those of undefined tokens grow during scans.
func (d *decoder) Defs() *trace.Definitions { return d.defs }

// Close has nothing to free.
func (d *decoder) Close() error { return nil }

// Scan delivers all events in the order of time, or those of each location, stream after
// stream.
func (d *decoder) Scan(ctx context.Context, sel trace.Selection, order format.Order, sink format.Sink) error {
	d.opt.Pass()
	if sel.NoEvents && !d.carried {
		return d.Prepare(ctx)
	}
	sel, sink = format.Exactly(d.defs, sel, sink)
	if sel.Few && order == format.GlobalOrder {
		if ok, err := d.few(ctx, sel, sink); ok || err != nil {
			return err
		}
	}
	files, ok, err := d.surveySelected(ctx, sel)
	if err != nil {
		return err
	}
	if !ok {
		if err := d.survey(ctx); err != nil {
			return err
		}
		files = d.files
	}
	if order == format.GlobalOrder {
		return d.ordered(ctx, files, sel, sink)
	}
	r := format.Regroup(sink, 1<<16)
	if d.marked {
		// A marker may belong to any location at any time.
		if err := d.ordered(ctx, files, sel, r); err != nil {
			return err
		}
		return r.Flush()
	}
	d.stacks = nil
	d.links = newLinks(d, sel)
	x := newBulk(d, sink)
	for i := 0; i < len(files); {
		k := i
		for k < len(files) && files[k].id == files[i].id {
			k++
		}
		var err error
		if k == i+1 && !d.sorts(&files[i]) {
			err = d.direct(ctx, x, &files[i], sel)
		} else if err = d.merge(ctx, files[i:k], sel, r); err == nil {
			err = r.Flush()
		}
		if err != nil {
			return err
		}
		i = k
	}
	d.r = d.r.quiet() // what is wrong has been reported
	if err := r.Flush(); err != nil {
		return err
	}
	return d.deliverLinks(ctx, sel, sink)
}

// few delivers the events in the order of time, window by window, so that whoever stops has read no
// more than a few times what he got. Each window trusts the files beyond it, as those of
// [decoder.surveySelected] do. ok is false, and nothing has been delivered, if the trace must be
// surveyed first.
func (d *decoder) few(ctx context.Context, sel trace.Selection, sink format.Sink) (ok bool, err error) {
	const bytes = 64 << 10 // of each stream in the first window
	ends, err := d.surveyEnds(ctx)
	if err != nil || d.indexed || !ends.trusted || !ends.any {
		return false, err
	}
	if d.carried && sel.Links != trace.NoLinks {
		if linked, err := d.linksBehind(); linked || err != nil {
			return false, err
		}
	}
	first, last := max(sel.From, d.clock.model(ends.first)), d.clock.model(ends.last)
	part := bytes * float64(d.r.master.Len()) / float64(max(ends.size, 1))
	length := max(1, int64(float64(last-first)*min(1, part)))
	r := d.r
	defer func() { d.r = r.quiet() }() // what is wrong has been reported
	for w := sel; ; length *= 4 {
		if w.To = sel.To; last-first > length {
			w.To = min(sel.To, first+length)
		}
		files, known, err := d.surveySelected(ctx, w)
		if err == nil && !known {
			if w.From == sel.From {
				return false, nil
			}
			if err = d.survey(ctx); err == nil {
				w.To, files = sel.To, d.files
			}
		}
		if err == nil {
			err = d.ordered(ctx, files, w, sink)
		}
		if err != nil || w.To == sel.To {
			return true, err
		}
		d.r, w.From, first = r, w.To, w.To
	}
}

// linksBehind tells whether a stream has links behind its events.
func (d *decoder) linksBehind() (linked bool, err error) {
	for _, id := range d.r.master.Streams() {
		s, err := d.r.open(id, Events)
		if err != nil {
			return false, err
		}
		if s != nil {
			linked = linked || s.t.zip != nil || s.t.linksBehind()
			s.t.Close()
		}
	}
	return linked, nil
}

// ordered delivers the events of files in the order of time.
func (d *decoder) ordered(ctx context.Context, files []survey, sel trace.Selection, sink format.Sink) error {
	d.stacks = nil
	d.links = newLinks(d, sel)
	err := d.merge(ctx, files, sel, sink)
	d.r = d.r.quiet() // what is wrong has been reported
	if err != nil {
		return err
	}
	return d.deliverLinks(ctx, sel, sink)
}

// ScanParallel begins at the snapshots before the selected times, if stacks are asked for and
// the trace has some. Else it first tries without looking through the trace.
func (d *decoder) ScanParallel(ctx context.Context, sel trace.Selection, begin func() func(int) format.Sink) error {
	sinks := begin()
	if sel.Stacks && sel.From > math.MinInt64 {
		ok, err := d.resume(ctx, sel, func(w int) format.Sink { return format.Trim(d.defs, sel, sinks(w)) })
		if ok || err != nil {
			return err
		}
		sinks = begin()
	}
	ask, _ := format.Exactly(d.defs, sel, nil)
	for {
		known := d.metBare
		ok, err := d.try(ctx, ask, func(w int) format.Sink { return format.Trim(d.defs, sel, sinks(w)) })
		if ok || err != nil {
			return err
		}
		sinks = begin()
		if known || !d.metBare {
			return d.Scan(ctx, sel, format.PerLocation, sinks(0))
		}
	}
}

func (d *decoder) merge(ctx context.Context, list []survey, sel trace.Selection, sink format.Sink) error {
	var streams []format.Stream
	var open []*fileStream
	defer func() {
		for _, f := range open {
			f.close()
		}
	}()
	shared := shareAhead(len(list))
	add := func(f *fileStream) {
		if f.s != nil {
			f.s.ahead.aheadShared, f.s.t.chunk = shared, shared.chunk
		}
		f.rows = min(rows, shared.rows)
		streams, open = append(streams, f), append(open, f)
	}
	for i := range list {
		f, err := d.stream(ctx, &list[i], sel)
		if f != nil {
			add(f)
		}
		if err != nil {
			return err
		}
	}
	if d.marked {
		f, err := d.markers(ctx)
		if f != nil {
			add(f)
		}
		if err != nil {
			return err
		}
	}
	return format.Merge(ctx, format.Select(d.defs, sel, streams), sink)
}

// direct delivers the events of the only file of a stream, which is in order,
// location by location.
func (d *decoder) direct(ctx context.Context, x *bulk, file *survey, sel trace.Selection) error {
	f, err := d.stream(ctx, file, sel)
	if f == nil || err != nil {
		return err
	}
	defer f.close()
	return x.run(ctx, f)
}

// fileStream delivers one file as batches in the order of time.
type fileStream struct {
	d      *decoder
	s      *stream // nil when the records come from the sorter
	sorter *extsort.Sorter
	it     *extsort.Iterator
	to     uint64 // where the records end that are wanted
	enough uint64 // from which time on a record of each process suffices, 0 if all are wanted (see bulk)
	held   bool   // the record in hand was not wanted because of to
	rows   int    // of a batch
	rec    Record
	b      trace.Batch
}

func (f *fileStream) close() {
	if f.s != nil {
		f.s.t.Close()
	}
	if f.sorter != nil {
		f.sorter.Close()
	}
}

// rows is how many rows a file's batch has: little, as there may be many files.
const rows = 256

// Next makes the next batch.
func (f *fileStream) Next(ctx context.Context) (*trace.Batch, error) {
	f.b.Reset(trace.MixedLoc)
	for f.b.Len() < max(1, f.rows) {
		r, err := f.next(ctx)
		if err != nil {
			return nil, err
		}
		if r == nil {
			break
		}
		if f.d.row(&f.b, r); f.d.err != nil {
			return nil, f.d.err
		}
	}
	if f.b.Len() == 0 {
		return nil, nil
	}
	return &f.b, nil
}

// next is the next record that the model can have, nil at the end.
func (f *fileStream) next(ctx context.Context) (*Record, error) {
	for {
		r := &f.rec
		if f.held {
			r, f.held = &f.s.rec, false
		} else if f.it == nil {
			ok, err := f.s.next(ctx)
			if !ok || err != nil {
				return nil, err
			}
			r = &f.s.rec
		} else {
			x, ok, err := f.it.Next()
			if !ok || err != nil {
				return nil, err
			}
			f.restore(x)
		}
		if r.Time >= f.to {
			f.held = f.it == nil
			return nil, nil
		}
		if f.d.carried {
			if link, err := f.d.carriedPlace(r); link || err != nil {
				if err != nil {
					return nil, err
				}
				continue
			}
			return r, nil
		}
		if r.Time-f.d.clock.base <= math.MaxInt64 {
			return r, nil
		}
		if err := f.d.late(r); err != nil {
			return nil, err
		}
	}
}

// stream opens a file for a scan, sorted if need be.
func (d *decoder) stream(ctx context.Context, x *survey, sel trace.Selection) (*fileStream, error) {
	s, err := d.r.open(x.id, x.part)
	if err != nil || s == nil {
		return nil, err
	}
	s.t.kept, x.kept = x.kept, nil
	f := &fileStream{d: d, s: s, to: math.MaxUint64}
	if !d.sorts(x) {
		if to, ok := d.clock.file(sel.To); ok {
			f.to = to
		}
		if enough, ok := d.clock.file(sel.Enough); ok && sel.Enough != 0 {
			f.enough = enough
		}
		if x.from > 0 {
			s.t.readFrom(x.from)
			return f, nil
		}
		// What a leave closes may depend on all that is before.
		if from, ok := d.clock.file(sel.From); ok && from > x.first && !d.bare {
			if err := s.t.search(from); err != nil {
				f.close()
				return nil, err
			}
		}
		return f, nil
	}
	defer s.t.Close()
	f.s = nil
	return f, f.sort(ctx, d.opt.SortMemory(), func() (*Record, error) {
		ok, err := s.next(ctx)
		if !ok || err != nil {
			return nil, err
		}
		if s.rec.Type == Counter && len(d.async) > 0 {
			for _, v := range s.rec.KeyValues {
				if d.async[v.Key] {
					s.rec.Time = v.Bits
				}
			}
		}
		return &s.rec, nil
	})
}

// sorts tells whether the records of a file have to be sorted.
func (d *decoder) sorts(x *survey) bool {
	return x.unsorted > 0 || x.part == Events && len(d.async) > 0
}

// markers brings the markers, which need not be sorted, into the order of time.
func (d *decoder) markers(ctx context.Context) (*fileStream, error) {
	c, err := d.r.quiet().Cursor(ctx, Markers) // they were read with the definitions
	if err != nil {
		return nil, err
	}
	defer c.Close()
	f := &fileStream{d: d, to: math.MaxUint64}
	return f, f.sort(ctx, 1<<20, func() (*Record, error) {
		for c.Next() {
			if r := c.Record(); r.Type == Marker {
				return r, nil
			}
		}
		return nil, c.Err()
	})
}

// sort takes all records that next gives, nil at the end, and delivers them in
// the order of time from now on.
func (f *fileStream) sort(ctx context.Context, memory int, next func() (*Record, error)) error {
	f.sorter = extsort.New(memory, "")
	var buf []byte
	for n := int64(0); ; n++ {
		r, err := next()
		if r == nil && err == nil {
			f.it, err = f.sorter.Sort(ctx)
			return err
		}
		if err == nil {
			buf = hold(buf[:0], r)
			err = f.sorter.Add(int64(r.Time^1<<63), n, buf) // as signed numbers they keep their order
		}
		if err != nil {
			return err
		}
	}
}

// hold writes a record for the sorter, restore reads it.
func hold(b []byte, r *Record) []byte {
	b = binary.LittleEndian.AppendUint64(b, r.Process)
	b = binary.LittleEndian.AppendUint32(b, r.Stream)
	b = append(b, byte(r.Type))
	return r.Append(b, false)
}

func (f *fileStream) restore(x extsort.Record) {
	r := &f.rec
	stream := binary.LittleEndian.Uint32(x.Data[8:])
	process, typ := binary.LittleEndian.Uint64(x.Data), Type(x.Data[12])
	r.reread(x.Data[13:], typ)
	r.Time, r.Process, r.Stream = uint64(x.A)^1<<63, process, stream
}

// reread reads the lines that Append made of a record of this type.
func (r *Record) reread(text []byte, typ Type) bool {
	r.KeyValues = r.KeyValues[:0]
	for {
		i := bytes.IndexByte(text, '\n')
		l := text[:max(i, 0)]
		kind, at := lineType(l)
		// The line of an unknown record may look like anything; pairs come first.
		if kind == pairLine && (typ != Unknown || i+1 < len(text)) {
			r.pair(l, at, false)
			text = text[i+1:]
			continue
		}
		if typ == Unknown {
			r.Type, r.Text = Unknown, str(l)
			return true
		}
		return r.parse(l, 0, typ.Part(), false).rule == "" && i+1 == len(text)
	}
}

// locate is the location of a record's process.
func (d *decoder) locate(r *Record) uint32 {
	if d.strayed {
		if i, ok := d.model.index[scopedToken{processes, r.Stream, r.Process}]; ok && r.Type != Marker {
			return i
		}
	}
	return d.location(r.Process)
}

// row adds the row of a record.
func (d *decoder) row(b *trace.Batch, r *Record) {
	loc := d.locate(r)
	t := d.clock.model(r.Time)
	stream := r.Stream
	add := func(k trace.Kind, ref uint32, ops ...uint64) {
		b.Add(loc, t, k, ref)
		if len(ops) > 0 {
			b.AddOps(ops...)
		}
	}
	location := func(p uint64) uint64 { return uint64(d.location(p)) }
	communicator := func(c uint64) uint64 {
		if c == 0 {
			return trace.Undefined
		}
		return uint64(d.communicator(stream, c))
	}
	text, texted := "", false
	switch r.Type {
	case Enter:
		f := d.region(stream, r.Function)
		add(trace.Enter, f)
		if d.bare {
			d.open(loc).enter(f)
		}
	case Leave:
		add(trace.Leave, d.leave(loc, stream, r.Function))
	case SendMsg:
		add(trace.Send, trace.NoRef, location(r.Peer), communicator(r.Communicator), r.Tag, r.Length)
	case RecvMsg:
		add(trace.Recv, trace.NoRef, location(r.Peer), communicator(r.Communicator), r.Tag, r.Length)
	case Counter:
		add(trace.Metric, d.metric(stream, r.Counter), r.Value)
	case EventComment, SnapshotComment, SummaryComment:
		add(trace.Comment, trace.NoRef)
		text, texted = r.Text, true
	default:
		m := &eventModels[r.Type]
		if m.kind == trace.NoKind {
			m = &eventModel{kind: trace.Generic, table: noTable}
		}
		ref := trace.NoRef
		if m.table != noTable {
			ref = d.ref(m.table, stream, *r.number(m.ref))
		}
		var room [8]uint64
		ops := room[:0]
		for _, o := range m.ops {
			v := o.value
			if o.how != always {
				v = *r.number(o.f)
			}
			switch o.how {
			case peer:
				v = location(v)
			case other, root:
				if v == 0 {
					v = trace.Undefined
				} else if o.how == other {
					v = location(v)
				}
			case comm:
				v = communicator(v)
			case past:
				v -= d.clock.base
			}
			ops = append(ops, v)
		}
		add(m.kind, ref, ops...)
		text, texted = r.Text, m.kind == trace.Generic || m.kind == trace.Marker
	}
	carries := false // what the record does not say is carried, as what it repeats is not
	if d.carried {
		_, carries = r.Find(rowKey)
	}
	if texted && !carries {
		b.AddAttr(d.own(&d.comments, textName, trace.String), trace.StringValue(strings.Clone(text)))
	}
	if r.SCL != 0 && hasSCL(r.Type) && !carries {
		b.AddAttr(d.own(&d.scl, sclName, trace.Uint32), trace.Value{Num: r.SCL, Type: trace.Uint32})
	}
	for i := range r.KeyValues {
		v := &r.KeyValues[i]
		if d.carried && v.Key <= lastKey {
			continue
		}
		k, x := d.key(stream, v), v.value()
		if d.carried && x.Type == trace.Bytes && k != trace.NoRef && d.defs.Attributes.At(k).Type == trace.String {
			x.Type = trace.String
		}
		b.AddAttr(k, x)
	}
	if carries && d.restorer != nil {
		d.amend(b, r)
	}
}

func hasSCL(t Type) bool {
	l := specs[t].fields
	return len(l) > 0 && l[len(l)-1].f == fSCL
}

// leave finds the region that a leave closes when it does not say so.
func (d *decoder) leave(loc, stream uint32, function uint64) uint32 {
	switch {
	case !d.bare && function == 0 && d.trying:
		d.metBare, d.odd = true, true
		return trace.NoRef
	case !d.bare:
		return d.region(stream, function)
	case function == 0:
		return d.open(loc).leave(trace.NoRef)
	}
	return d.open(loc).leave(d.region(stream, function))
}

// openRegions are the open regions of a location, innermost last.
type openRegions struct {
	list  []uint32
	among openset.Index[uint32]
}

// open are those of a location.
func (d *decoder) open(loc uint32) *openRegions {
	for uint64(len(d.stacks)) <= uint64(loc) {
		d.stacks = append(d.stacks, &openRegions{})
	}
	return d.stacks[loc]
}

func (s *openRegions) enter(region uint32) {
	s.among.Open(region, len(s.list))
	s.list = append(s.list, region)
}

// leave closes a region, NoRef for the innermost one, and returns which that is; NoRef if none is
// open.
func (s *openRegions) leave(region uint32) uint32 {
	l := s.list
	i := len(l) - 1
	if region != trace.NoRef {
		i = s.among.Find(region, len(l), func(i int) uint32 { return l[i] })
	}
	if i >= 0 {
		region = l[i]
		s.list = openset.Close(&s.among, l, i, region)
	}
	return region
}

// own is an attribute that is not the trace's.
func (m *model) own(at *uint32, name string, t trace.Type) uint32 {
	if *at == trace.NoRef {
		if m.frozen {
			m.odd = true
			return trace.NoRef
		}
		*at = m.defs.Attributes.Add(trace.AttributeDef{Name: name, Type: t})
	}
	return *at
}

// named finds what a token names; what nothing defines gets a stand-in, which add
// makes. A group of the number 0 is none, if nothing defines it.
func (m *model) named(table int, what string, stream uint32, token uint64, add func(id, name string) uint32) uint32 {
	i, ok := m.find(table, stream, token)
	if !ok && token == 0 && (table == groups || table == functionGroups || table == counterGroups || table == fileGroups) {
		return trace.NoRef
	}
	if !ok {
		if m.frozen {
			m.odd = true
			return trace.NoRef
		}
		m.undefined(what, stream, token)
		i = add(id(0, token), fmt.Sprintf("undefined %s %d", what, token))
		m.index[scopedToken{table, 0, token}] = i
	}
	return i
}

func (m *model) region(stream uint32, token uint64) uint32 {
	return m.named(functions, "function", stream, token, func(id, name string) uint32 {
		return m.defs.Regions.Add(trace.Region{ID: id, Name: name})
	})
}

func (m *model) communicator(stream uint32, token uint64) uint32 {
	return m.named(groups, "process group", stream, token, func(id, name string) uint32 {
		return m.defs.Communicator.Add(trace.Communicator{ID: id, Name: name, Set: trace.NoRef, Parent: trace.NoRef})
	})
}

func (m *model) metric(stream uint32, token uint64) uint32 {
	return m.named(counters, "counter", stream, token, func(id, name string) uint32 {
		return m.defs.Metrics.Add(trace.MetricDef{ID: id, Name: name, Kind: trace.CounterMetric, Type: trace.Uint64, Location: trace.NoRef, Undefined: true})
	})
}

func (m *model) file(stream uint32, token uint64) uint32 {
	return m.named(files, "file", stream, token, func(id, name string) uint32 {
		return m.defs.Files.Add(trace.Named{ID: id, Name: name})
	})
}

// ref is what a token of a table names.
func (m *model) ref(table int, stream uint32, token uint64) uint32 {
	switch table {
	case functions:
		return m.region(stream, token)
	case groups:
		return m.communicator(stream, token)
	case counters:
		return m.metric(stream, token)
	case files:
		return m.file(stream, token)
	case markers:
		if i, ok := m.find(markers, stream, token); ok {
			return i
		}
		return trace.NoRef
	}
	return m.text(table, stream, token)
}

func (m *model) text(table int, stream uint32, token uint64) uint32 {
	return m.named(table, "group", stream, token, func(_, name string) uint32 { return m.defs.Strings.Add(name) })
}

// Raw prints the trace's files as they are, one after another.
func (Format) Raw(ctx context.Context, src format.Source, opt *format.ReadOptions, w io.Writer) error {
	r, err := Open(ctx, src, &Options{Read: opt})
	if err != nil {
		return err
	}
	if r.empty() {
		return format.EmptyError(src)
	}
	for part := range numParts {
		for _, id := range append([]uint32{0}, r.master.Streams()...) {
			s, err := r.open(id, part)
			if err != nil {
				return err
			}
			if s == nil {
				if err := r.needed(id, part); err != nil {
					return err
				}
				continue
			}
			for {
				l, _, whole, ok, err := s.t.line()
				if err != nil || !ok {
					s.t.Close()
					if err != nil {
						return err
					}
					break
				}
				if _, err := w.Write(l); err != nil {
					return err
				}
				if whole {
					if _, err := w.Write([]byte{'\n'}); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}
