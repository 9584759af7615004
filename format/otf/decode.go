package otf

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/carrier"
	"github.com/weft-trace/weft/trace"
)

// decoder reads an OTF trace and delivers its contents in the common model. Times in the model are the times
// of the file minus the base of the decoder's clock.
type decoder struct {
	format.EventsOnly
	*model
	r     *Reader
	opt   *format.ReadOptions
	files []survey
	// unnamedLeaves is set if some leave records do not state a function. metUnnamedLeave is set when a
	// speculative scan finds such a leave that the surveys did not find.
	unnamedLeaves, metUnnamedLeave bool
	namedLeaves                    bool // some leave records state a function
	hasEvents                      bool
	first                          uint64
	last                           uint64
	// with strict reading: the first defect in a function that cannot return an error
	err error
	// indexed is set once all files have been surveyed.
	indexed bool
	bounds  *timeBounds // result of surveyEnds
	// complete holds the surveys of files that surveyEnds read as a whole.
	complete map[surveyedFile]survey
	// trying is set during a speculative scan. Such a scan has not checked the order of the files, and
	// several of them run at the same time (see scanSpeculatively).
	trying bool
	// severalStreams is set if a process has events in several streams.
	severalStreams bool
	// open regions of each location, for leaves that do not name a region; indexed by location
	stacks    []*openRegions
	links     *carrier.Links // the links found so far; nil if links are not selected
	linkPlace int64          // place of the last of them, see [carrier.Links.Add]
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
	d := &decoder{r: r, opt: opt}
	if d.model, err = newModel(ctx, r); err != nil {
		return nil, err
	}
	d.undefined = d.reportUndefined
	d.extent = func() (extent, error) { return d.recordExtent(context.WithoutCancel(ctx)) }
	return d, nil
}

// lenientOptions returns options under which strict reading does not stop. They are used to report defects
// that libotf accepts silently.
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
		Expected: "a definition; weft uses a stand-in"})
	if d.err == nil {
		d.err = err
	}
}

// reportTooLate reports a record whose time does not fit the common model. [Reader] can read such a record.
func (d *decoder) reportTooLate(r *Record) error {
	return d.r.opt.Read.Defect(&trace.Defect{Rule: "otf.time-range", Severity: trace.Error,
		Position: trace.Position{File: d.r.src.Path},
		Found:    fmt.Sprintf("%s at %d", r.Type, r.Time),
		Expected: fmt.Sprintf("a time less than 2^63 ticks after %d; weft skips the record", d.clock.base)})
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
	if missed, err := d.missesLinks(ctx, sel); err != nil {
		return err
	} else if missed {
		return d.scanWithLinks(ctx, sel, order, sink)
	}
	sel, sink = format.ExactScan(d.defs, sel, sink)
	if sel.FirstEvents && order == format.GlobalOrder {
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
		return d.scanOrdered(ctx, files, sel, sink)
	}
	r := format.Regroup(sink, 1<<16)
	if d.marks.any || d.hasSpreadLanes() {
		// A marker may belong to any location at any time, so all marker records are read first.
		if err := d.scanOrdered(ctx, files, sel, r); err != nil {
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
		if k == i+1 && !d.needsSorting(&files[i]) {
			err = d.scanFile(ctx, x, &files[i], sel)
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
	return d.deliverLinks(ctx, sink)
}

// hasSpreadLanes reports whether a location may have events in several streams: those of the lanes of its resources.
// weft writes all of them to one stream, but otfmerge and otf.streams distribute processes to streams.
func (d *decoder) hasSpreadLanes() bool {
	return d.carried && d.r.master.Len() > 1 && slices.ContainsFunc(d.r.master.Streams(), func(id uint32) bool {
		return slices.ContainsFunc(d.r.master.Processes(id), func(p uint32) bool { return p >= laneProcess })
	})
}

// missesLinks reports whether a scan of the selected part of the trace may leave out selected links: they follow the
// events of one of the streams.
func (d *decoder) missesLinks(ctx context.Context, sel trace.Selection) (bool, error) {
	if !d.carried || sel.Links == trace.NoLinks || sel.To == math.MaxInt64 && sel.Location == nil {
		return false, nil
	}
	return d.hasTrailingLinks(ctx)
}

// scanWithLinks delivers the selected events, and then reads the end of the trace and delivers the selected links.
func (d *decoder) scanWithLinks(ctx context.Context, sel trace.Selection, order format.Order, sink format.Sink) error {
	events := sel
	events.Links = trace.NoLinks
	if err := d.Scan(ctx, events, order, sink); err != nil {
		return err
	}
	after := trace.Selection{From: math.MinInt64, To: math.MaxInt64, NoEvents: true, Links: trace.AllLinks}
	ends, err := d.surveyEnds(ctx)
	if err != nil {
		return err
	}
	if ends.trusted && ends.any {
		after.From = d.clock.toModel(ends.last)
	}
	_, sink = format.ExactScan(d.defs, sel, sink)
	return d.Scan(ctx, after, format.GlobalOrder, format.SinkFuncs{OnLinks: sink.Links})
}

// scanInWindows delivers the events in the order of time, one window of time after another. If the
// consumer stops early, the scan has read at most a few times as much as necessary. Like
// [decoder.surveySelected], it assumes that the files are in order outside of the windows that it
// reads. If the trace must be surveyed first, ok is false and nothing has been delivered.
func (d *decoder) scanInWindows(ctx context.Context, sel trace.Selection, sink format.Sink) (ok bool, err error) {
	const bytes = 64 << 10 // number of bytes of each stream in the first window
	ends, err := d.surveyEnds(ctx)
	if err != nil || d.indexed || !ends.trusted || !ends.any {
		return false, err
	}
	if d.carried && sel.Links != trace.NoLinks {
		if linked, err := d.hasTrailingLinks(ctx); linked || err != nil {
			return false, err
		}
	}
	first, last := max(sel.From, d.clock.toModel(ends.first)), d.clock.toModel(ends.last)
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
			err = d.scanOrdered(ctx, files, w, sink)
		}
		if err != nil || w.To == sel.To {
			return true, err
		}
		d.r, w.From, first = r, w.To, w.To
	}
}

// hasTrailingLinks reports whether a stream may have links after its events.
func (d *decoder) hasTrailingLinks(ctx context.Context) (linked bool, err error) {
	for _, id := range d.r.master.Streams() {
		s, err := d.r.open(id, Events)
		if err != nil {
			return false, err
		}
		if s != nil {
			if linked = linked || s.t.hasTrailingLinks(); !linked && s.t.zip != nil {
				linked, err = s.t.mayEndWithLinks(ctx)
			}
			s.t.Close()
			if err != nil {
				return false, err
			}
		}
	}
	return linked, nil
}

// scanOrdered delivers the events of files in the order of time.
func (d *decoder) scanOrdered(ctx context.Context, files []survey, sel trace.Selection, sink format.Sink) error {
	d.stacks = nil
	d.links = newLinks(d, sel)
	err := d.merge(ctx, files, sel, sink)
	d.r = d.r.withoutReport() // the defects have been reported
	if err != nil {
		return err
	}
	return d.deliverLinks(ctx, sink)
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
	if missed, err := d.missesLinks(ctx, sel); err != nil {
		return err
	} else if missed {
		return d.Scan(ctx, sel, format.PerLocation, sinks(0))
	}
	ask, _ := format.ExactScan(d.defs, sel, nil)
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
			f.s.ahead.aheadShared, f.s.t.readSize = shared, shared.readSize
		}
		f.rows = min(batchRows, shared.rows)
		streams, open = append(streams, f.Next), append(open, f)
	}
	sorted := 0 // number of files that are sorted, all at the same time
	for i := range list {
		if d.needsSorting(&list[i]) {
			sorted++
		}
	}
	memory := d.opt.SortMemory() / max(1, sorted)
	for i := range list {
		f, err := d.stream(ctx, &list[i], sel, memory)
		if f != nil {
			add(f)
		}
		if err != nil {
			return err
		}
	}
	if d.marks.any {
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

// scanFile delivers the events of the only file of a stream, location by location. The file must be in
// the order of time.
func (d *decoder) scanFile(ctx context.Context, x *bulkReader, file *survey, sel trace.Selection) error {
	f, err := d.stream(ctx, file, sel, d.opt.SortMemory())
	if f == nil || err != nil {
		return err
	}
	defer f.close()
	return x.run(ctx, f)
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
