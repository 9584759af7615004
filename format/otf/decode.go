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

// decoder reads a trace as the common model. Its ticks are those of the trace, minus the base of its
// clock.
type decoder struct {
	format.EventsAlone
	*model
	r     *Reader
	opt   *format.ReadOptions
	files []survey
	// unnamedLeaves is set if some leaves name no function. A speculative scan that meets such a leave
	// unexpectedly sets metUnnamedLeave.
	unnamedLeaves, metUnnamedLeave bool
	namedLeaves                    bool // some leaves name a function
	hasEvents                      bool
	first                          uint64
	last                           uint64
	count                          int64
	err                            error // first defect under strict reading where no error can be returned
	// indexed is set once all files have been surveyed.
	indexed bool
	bounds  *timeBounds // result of surveyEnds
	// complete holds the surveys of files that surveyEnds read as a whole.
	complete map[surveyedFile]survey
	// trying is set during a speculative scan: the order of the files is not verified yet, and other
	// scans run at the same time (see scanSpeculatively).
	trying bool
	// unlinked is set if links may be ignored.
	unlinked bool
	// home maps processes that the master file does not name to the stream in which they were first
	// found. strayed is set if a process is in several streams.
	home      map[uint64]uint32
	strayed   bool
	stacks    []*openRegions // by location, for leaves that name no region
	links     *carrier.Links // links found so far; nil if they are not selected
	linkCount int64
}

// Open opens a trace.
func (Format) Open(ctx context.Context, src format.Source, opt *format.ReadOptions) (format.File, error) {
	if err := about.CheckOptions(opt.Values); err != nil {
		return nil, err
	}
	files, err := FileManagerOf(opt.Values)
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
	d.undefined = d.reportUndefined
	return d, nil
}

// lenientOptions returns options under which strict reading does not stop. They are for defects that
// libotf accepts silently.
func lenientOptions(opt *format.ReadOptions) *format.ReadOptions {
	o := *opt
	o.Strict = false
	return &o
}

// withoutReport returns a copy of the reader that does not report defects.
func (r *Reader) withoutReport() *Reader {
	q := *r
	q.opt.Read = &format.ReadOptions{Values: r.opt.Read.Values}
	return &q
}

// reportUndefined reports a token that has no definition.
func (d *decoder) reportUndefined(what string, stream uint32, token uint64) {
	err := lenientOptions(d.opt).Defect(&trace.Defect{Rule: "otf.undefined", Severity: trace.Warning,
		Position: trace.Position{File: d.r.src.Path},
		Found:    fmt.Sprintf("%s %d in stream %x", what, token, stream),
		Expected: "a definition; a stand-in takes its place"})
	if d.err == nil {
		d.err = err
	}
}

// reportTooLate reports a record whose time does not fit the common model. The package format/otf
// itself can read it.
func (d *decoder) reportTooLate(r *Record) error {
	return lenientOptions(d.r.opt.Read).Defect(&trace.Defect{Rule: "otf.time-range", Severity: trace.Error,
		Position: trace.Position{File: d.r.src.Path},
		Found:    fmt.Sprintf("%s at %d", r.Type, r.Time),
		Expected: fmt.Sprintf("times less than 2^63 after %d; the record is skipped", d.clock.base)})
}

// Defs returns the definitions. Scans add stand-ins for undefined tokens to them.
func (d *decoder) Defs() *trace.Definitions { return d.defs }

// Close does nothing; no file stays open.
func (d *decoder) Close() error { return nil }

// Scan delivers all events in the order of time, or the events of each location in the order of time,
// stream after stream.
func (d *decoder) Scan(ctx context.Context, sel trace.Selection, order format.Order, sink format.Sink) error {
	d.opt.Pass()
	if sel.NoEvents && !d.carried {
		return d.Prepare(ctx)
	}
	sel, sink = format.Exactly(d.defs, sel, sink)
	if sel.Few && order == format.GlobalOrder {
		if ok, err := d.scanInWindows(ctx, sel, sink); ok || err != nil {
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
	d.r = d.r.withoutReport() // the defects have been reported
	if err := r.Flush(); err != nil {
		return err
	}
	return d.deliverLinks(ctx, sel, sink)
}

// scanInWindows delivers the events in the order of time, one window of time after another. A consumer
// that stops early has thus caused at most a few times the necessary reading. Like
// [decoder.surveySelected], it assumes that the files are in order outside of the windows that it
// reads. If the trace must be surveyed first, ok is false and nothing has been delivered.
func (d *decoder) scanInWindows(ctx context.Context, sel trace.Selection, sink format.Sink) (ok bool, err error) {
	const bytes = 64 << 10 // of each stream in the first window
	ends, err := d.surveyEnds(ctx)
	if err != nil || d.indexed || !ends.trusted || !ends.any {
		return false, err
	}
	if d.carried && sel.Links != trace.NoLinks {
		if linked, err := d.hasTrailingLinks(); linked || err != nil {
			return false, err
		}
	}
	first, last := max(sel.From, d.clock.model(ends.first)), d.clock.model(ends.last)
	part := bytes * float64(d.r.master.Len()) / float64(max(ends.size, 1))
	length := max(1, int64(float64(last-first)*min(1, part)))
	r := d.r
	defer func() { d.r = r.withoutReport() }() // the defects have been reported
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

// hasTrailingLinks reports whether a stream may have links after its events.
func (d *decoder) hasTrailingLinks() (linked bool, err error) {
	for _, id := range d.r.master.Streams() {
		s, err := d.r.open(id, Events)
		if err != nil {
			return false, err
		}
		if s != nil {
			linked = linked || s.t.zip != nil || s.t.hasTrailingLinks()
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
	d.r = d.r.withoutReport() // the defects have been reported
	if err != nil {
		return err
	}
	return d.deliverLinks(ctx, sel, sink)
}

// ScanParallel begins at the snapshots before the selected times, if open calls are requested and the
// trace has such snapshots. Otherwise it first tries to scan without surveying the trace.
func (d *decoder) ScanParallel(ctx context.Context, sel trace.Selection, begin func() func(int) format.Sink) error {
	sinks := begin()
	if sel.Stacks && sel.From > math.MinInt64 {
		ok, err := d.scanFromSnapshots(ctx, sel, func(w int) format.Sink { return format.Trim(d.defs, sel, sinks(w)) })
		if ok || err != nil {
			return err
		}
		sinks = begin()
	}
	ask, _ := format.Exactly(d.defs, sel, nil)
	for {
		known := d.metUnnamedLeave
		ok, err := d.scanSpeculatively(ctx, ask, func(w int) format.Sink { return format.Trim(d.defs, sel, sinks(w)) })
		if ok || err != nil {
			return err
		}
		sinks = begin()
		if known || !d.metUnnamedLeave {
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

// direct delivers the events of the only file of a stream, location by location. The file must be in
// the order of time.
func (d *decoder) direct(ctx context.Context, x *bulkReader, file *survey, sel trace.Selection) error {
	f, err := d.stream(ctx, file, sel)
	if f == nil || err != nil {
		return err
	}
	defer f.close()
	return x.run(ctx, f)
}

// fileStream delivers the records of one file as batches in the order of time.
type fileStream struct {
	d      *decoder
	s      *stream // nil when the records come from the sorter
	sorter *extsort.Sorter
	it     *extsort.Iterator
	to     uint64 // end of the selected times
	enough uint64 // from this time on one record of each process suffices (see bulkReader); 0 if all are needed
	held   bool   // the current record was not delivered because it is not before to
	rows   int    // rows of a batch
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

// rows is the number of rows of a batch. It is small because many files may be open.
const rows = 256

// Next returns the next batch, or nil at the end.
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

// next returns the next record that fits the common model, or nil at the end.
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
			if link, err := f.d.restorePlace(r); link || err != nil {
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
		if err := f.d.reportTooLate(r); err != nil {
			return nil, err
		}
	}
}

// stream opens a file for a scan. It sorts the records if necessary.
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
		// The region that an unnamed leave closes may depend on all earlier events.
		if from, ok := d.clock.file(sel.From); ok && from > x.first && !d.unnamedLeaves {
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

// sorts reports whether the records of a file have to be sorted.
func (d *decoder) sorts(x *survey) bool {
	return x.unsorted > 0 || x.part == Events && len(d.async) > 0
}

// markers returns the markers in the order of time. The files of markers need not be in that order.
func (d *decoder) markers(ctx context.Context) (*fileStream, error) {
	c, err := d.r.withoutReport().Cursor(ctx, Markers) // defects were reported when the definitions were read
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

// sort sorts all records that next returns, until it returns nil. After that the fileStream delivers
// them in the order of time.
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
			buf = appendSorted(buf[:0], r)
			err = f.sorter.Add(int64(r.Time^1<<63), n, buf) // the order of times is kept in signed numbers
		}
		if err != nil {
			return err
		}
	}
}

// appendSorted encodes a record for the sorter; restore decodes it.
func appendSorted(b []byte, r *Record) []byte {
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

// reread parses the lines that Append has written for a record of the type. It returns false if they
// are not those of such a record.
func (r *Record) reread(text []byte, typ Type) bool {
	r.KeyValues = r.KeyValues[:0]
	for {
		i := bytes.IndexByte(text, '\n')
		l := text[:max(i, 0)]
		kind, at := lineType(l)
		// The line of an unknown record may look like a pair, but pairs come first.
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

// locate returns the location of a record's process.
func (d *decoder) locate(r *Record) uint32 {
	if d.strayed {
		if i, ok := d.model.index[scopedToken{processes, r.Stream, r.Process}]; ok && r.Type != Marker {
			return i
		}
	}
	return d.location(r.Process)
}

// row adds the row of a record to b.
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
		if d.unnamedLeaves {
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
			if o.source != constant {
				v = *r.number(o.f)
			}
			switch o.source {
			case processLocation:
				v = location(v)
			case optionalLocation, optionalRoot:
				if v == 0 {
					v = trace.Undefined
				} else if o.source == optionalLocation {
					v = location(v)
				}
			case optionalCommunicator:
				v = communicator(v)
			case fileTime:
				v -= d.clock.base
			}
			ops = append(ops, v)
		}
		add(m.kind, ref, ops...)
		text, texted = r.Text, m.kind == trace.Generic || m.kind == trace.Marker
	}
	carries := false // the row is carried; attributes that repeat a field are omitted
	if d.carried {
		_, carries = r.Find(rowKey)
	}
	if texted && !carries {
		b.AddAttr(d.ownAttribute(&d.comments, textName, trace.String), trace.StringValue(strings.Clone(text)))
	}
	if r.SCL != 0 && hasSCL(r.Type) && !carries {
		b.AddAttr(d.ownAttribute(&d.scl, sclName, trace.Uint32), trace.Value{Num: r.SCL, Type: trace.Uint32})
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

// leave returns the region that a leave closes, also if the record does not name it.
func (d *decoder) leave(loc, stream uint32, function uint64) uint32 {
	switch {
	case !d.unnamedLeaves && function == 0 && d.trying:
		d.metUnnamedLeave, d.needsDefinition = true, true
		return trace.NoRef
	case !d.unnamedLeaves:
		return d.region(stream, function)
	case function == 0:
		return d.open(loc).leave(trace.NoRef)
	}
	return d.open(loc).leave(d.region(stream, function))
}

// openRegions holds the open regions of a location, innermost last.
type openRegions struct {
	list  []uint32
	among openset.Index[uint32]
}

// open returns the open regions of a location.
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

// leave closes a region, or the innermost one if region is NoRef. It returns the region that it
// closed, or NoRef if none was open.
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

// ownAttribute returns an attribute that weft adds to those of the trace. It defines the attribute on
// the first call.
func (m *model) ownAttribute(at *uint32, name string, t trace.Type) uint32 {
	if *at == trace.NoRef {
		if m.frozen {
			m.needsDefinition = true
			return trace.NoRef
		}
		*at = m.defs.Attributes.Add(trace.AttributeDef{Name: name, Type: t})
	}
	return *at
}

// named returns the definition that a token names. An undefined token gets a stand-in, which add
// makes. Token 0 of a table of groups means no group, unless it is defined.
func (m *model) named(table int, what string, stream uint32, token uint64, add func(id, name string) uint32) uint32 {
	i, ok := m.find(table, stream, token)
	if !ok && token == 0 && (table == groups || table == functionGroups || table == counterGroups || table == fileGroups) {
		return trace.NoRef
	}
	if !ok {
		if m.frozen {
			m.needsDefinition = true
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
		return m.defs.Metrics.Add(trace.MetricDef{ID: id, Name: name, Kind: trace.CounterMetric, Type: trace.Uint64,
			Location: trace.NoRef, Undefined: true})
	})
}

func (m *model) file(stream uint32, token uint64) uint32 {
	return m.named(files, "file", stream, token, func(id, name string) uint32 {
		return m.defs.Files.Add(trace.Named{ID: id, Name: name})
	})
}

// ref returns the index of the definition that a token of a table names.
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

// Raw writes the text of the trace's files, one after another.
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
				if err := r.reportMissing(id, part); err != nil {
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
