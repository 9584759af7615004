package otf2

import (
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"sync"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/pipeline"
	"github.com/weft-trace/weft/internal/rowsort"
	"github.com/weft-trace/weft/trace"
)

// decoder reads an archive into the common model.
type decoder struct {
	format.EventsOnly
	*model
	opt *format.ReadOptions
	// unordered contains the locations whose events must be sorted. It is nil if sorting was not requested.
	unordered map[uint64]bool
	preparing sync.Mutex
	// times is the result of Extent; nil if it is unknown.
	times *extent
}

// extent is the result of [decoder.Extent].
type extent struct {
	first, last int64
	ok          bool
}

// Open opens a trace.
func (Format) Open(ctx context.Context, src format.Source, opt *format.ReadOptions) (format.File, error) {
	if err := about.CheckOptions(opt.Values); err != nil {
		return nil, err
	}
	a, err := openArchive(src, opt)
	if err != nil {
		return nil, err
	}
	m, err := newModel(a, opt)
	if err != nil {
		return nil, err
	}
	return &decoder{model: m, opt: opt}, ctx.Err()
}

// Defs returns the definitions. Scans add stand-ins for undefined ids.
func (d *decoder) Defs() *trace.Definitions { return d.defs }

// Close does nothing: each file is closed after it has been read.
func (d *decoder) Close() error { return nil }

// ScanParallel delivers several locations at a time. For locations that are far larger than the others, it
// reads several chunks at a time (see [chunkScan] for the memory). In three cases, the scan starts again with
// one goroutine. First, an id needs a stand-in: the order of stand-ins must not depend on timing. Second, a
// chunk depends on earlier chunks. Third, the trace has a defect.
func (d *decoder) ScanParallel(ctx context.Context, sel trace.Selection, begin func() func(int) format.Sink) error {
	if err := d.Prepare(ctx); err != nil {
		return err
	}
	if !d.sortsAny(sel) { // sorting uses all the memory for one location at a time
		if ok, err := d.tryParallel(ctx, sel, begin()); ok || err != nil {
			return err
		}
	}
	return d.Scan(ctx, sel, format.PerLocation, begin()(0))
}

// tryParallel scans in parallel. It returns false if the scan must be done serially.
func (d *decoder) tryParallel(ctx context.Context, sel trace.Selection, sink func(int) format.Sink) (ok bool,
	err error) {
	quiet := *d.opt
	quiet.Report, quiet.Strict = format.NewReport(), true // the scan ends at the first defect
	err = d.withOptions(&quiet).scan(ctx, sel, sink, true)
	var defect *trace.Defect
	if errors.Is(err, errStandIn) || errors.Is(err, errNeedsEarlier) || errors.As(err, &defect) ||
		err == nil && len(quiet.Report.Rules()) > 0 {
		return false, nil
	}
	return err == nil, err
}

// withOptions returns a decoder of the same archive with other options.
func (d *decoder) withOptions(opt *format.ReadOptions) *decoder {
	return &decoder{model: d.model, opt: opt, unordered: d.unordered}
}

// Prepare finds the locations with decreasing times, if sorting was requested.
func (d *decoder) Prepare(ctx context.Context) error {
	if d.opt.Value(orderOption, "raise") != "sort" {
		return nil
	}
	d.preparing.Lock()
	defer d.preparing.Unlock()
	if d.unordered != nil {
		return nil
	}
	unordered := map[uint64]bool{}
	nothing := func(int) format.Sink { return format.SinkFuncs{} }
	if sorted, err := d.tryParallel(ctx, trace.Events(), nothing); sorted || err != nil {
		if err == nil {
			d.unordered = unordered // a decreasing time is a defect
		}
		return err
	}
	next := 0
	err := pipeline.Run(ctx, d.opt.Cores(), func() (uint64, bool, error) {
		if next == len(d.locations) {
			return 0, false, nil
		}
		next++
		return d.locations[next-1], true, nil
	}, func(_ int, id uint64) (uint64, error) {
		back, err := d.goesBack(ctx, id)
		if !back {
			id = undefined64
		}
		return id, err
	}, func(id uint64) error {
		if id != undefined64 {
			unordered[id] = true
		}
		return nil
	})
	if err == nil {
		d.unordered = unordered
	}
	return err
}

// sortsAny reports whether any selected location must be sorted.
func (d *decoder) sortsAny(sel trace.Selection) bool {
	for id := range d.unordered {
		if sel.Location == nil || sel.Location(d.lookup(Locations, id)) {
			return true
		}
	}
	return false
}

// goesBack reports whether the times of a location decrease anywhere. It ignores defects, which the scan
// reports.
func (d *decoder) goesBack(ctx context.Context, id uint64) (bool, error) {
	quiet := *d.opt
	quiet.Report, quiet.Strict = format.NewReport(), false
	r, err := d.a.openEvents(id, &quiet)
	if r == nil || err != nil {
		return false, nil
	}
	defer r.Close()
	last := uint64(0)
	for n := 0; ; n++ {
		e, err := r.Next()
		if err == io.EOF {
			return false, nil
		}
		if err != nil {
			if err := reportDefect(&quiet, err); err != nil {
				return false, err
			}
			continue
		}
		if e.Time < last {
			return true, nil
		}
		if last = e.Time; n%trace.BatchRows == 0 && ctx.Err() != nil {
			return false, ctx.Err()
		}
	}
}

// Scan delivers one location after the other, or merges the locations. Merging delivers
// simultaneous events in the order of the locations' ids and holds 64 KiB and a batch per location.
func (d *decoder) Scan(ctx context.Context, sel trace.Selection, order format.Order, sink format.Sink) error {
	if err := d.Prepare(ctx); err != nil {
		return err
	}
	if order == format.PerLocation {
		return d.scan(ctx, sel, func(int) format.Sink { return sink }, false)
	}
	sel, sink = format.ExactScan(d.defs, sel, sink)
	if !sel.NoEvents {
		list, closeAll, err := d.Streams(ctx, sel)
		defer closeAll()
		if err != nil {
			return err
		}
		if err := format.Merge(ctx, format.Select(d.defs, sel, list), sink); err != nil {
			return err
		}
	}
	return d.deliverLinks(sel, sink)
}

func (d *decoder) scan(ctx context.Context, sel trace.Selection, sink func(int) format.Sink, try bool) error {
	d.opt.Pass()
	if sel.NoEvents {
		return d.deliverLinks(format.ExactScan(d.defs, sel, sink(0)))
	}
	var wanted []uint64
	for _, id := range d.locations {
		if sel.Location == nil || sel.Location(d.lookup(Locations, id)) {
			wanted = append(wanted, id)
		}
	}
	cores := 1
	if try {
		cores = d.opt.Cores()
	}
	large, others := d.splitLarge(wanted, cores)
	workers := max(1, min(cores, len(others)))
	sinks := make([]format.Sink, workers)
	asked := sel
	for w := range sinks {
		sel, sinks[w] = format.ExactScan(d.defs, asked, sink(w))
	}
	done := int64(0)
	progress := func() {
		if done++; d.opt.Progress != nil {
			d.opt.Progress(done, int64(len(d.locations)))
		}
	}
	for _, id := range large {
		x, err := d.location(id, sel, try, nil)
		if err != nil {
			return err
		}
		if x != nil {
			if err := x.scanChunks(ctx, cores, sinks[0]); err != nil {
				return err
			}
		}
		progress()
	}
	ended := make([]*locationReader, workers) // the reader that each worker has finished last
	markers := d.markerStream(sel)
	err := pipeline.Run(ctx, workers, func() (id uint64, ok bool, err error) {
		if ok = len(others) > 0; ok {
			id, others = others[0], others[1:]
		}
		return id, ok, nil
	}, func(w int, id uint64) (struct{}, error) {
		x, err := d.location(id, sel, try, ended[w])
		if x == nil || err != nil {
			return struct{}{}, err
		}
		ended[w] = x
		err = x.scan(ctx, sinks[w])
		if err == nil && markers == nil {
			err = format.End(sinks[w], x.loc)
		}
		return struct{}{}, err
	}, func(struct{}) error {
		progress()
		return nil
	})
	if err != nil {
		return err
	}
	if markers != nil {
		for {
			b, err := markers.Next(ctx)
			if err != nil {
				return err
			}
			if b == nil {
				break
			}
			if err := sinks[0].Batch(b); err != nil {
				return err
			}
		}
	}
	return d.deliverLinks(sel, sinks[0])
}

// Streams returns the locations in the order of their ids, and the markers. One sorter sorts all
// locations whose times go back.
func (d *decoder) Streams(ctx context.Context, sel trace.Selection) (list []format.Stream, closeAll func(), err error) {
	var open []*EventReader
	sorter := rowsort.NewByLocation(d.opt.SortMemory())
	closeAll = func() {
		for _, r := range open {
			r.Close()
		}
		sorter.Close()
	}
	if err := d.Prepare(ctx); err != nil {
		return nil, closeAll, err
	}
	d.opt.Pass()
	most := max(64, min(trace.BatchRows, 1<<20/max(1, len(d.locations))))
	places := map[uint32]int{} // index in list of each location that is sorted
	for _, id := range slices.Sorted(slices.Values(d.locations)) {
		if sel.Location != nil && !sel.Location(d.lookup(Locations, id)) {
			continue
		}
		x, err := d.location(id, sel, false, nil)
		if err != nil {
			return nil, closeAll, err
		}
		if x == nil {
			continue
		}
		if x.mustSort {
			places[x.loc] = len(list)
			list = append(list, nil)
			if err := x.addTo(ctx, sorter); err != nil {
				return nil, closeAll, err
			}
			continue
		}
		open = append(open, x.r)
		x.rows = most
		list = append(list, x.Next)
	}
	sorted, err := sorter.Locations(ctx, most)
	if err != nil {
		return nil, closeAll, err
	}
	for loc, rows := range sorted {
		list[places[loc]] = rows.Next
	}
	// remove the locations without readable events
	list = slices.DeleteFunc(list, func(s format.Stream) bool { return s == nil })
	if x := d.markerStream(sel); x != nil {
		list = append(list, x.Next)
	}
	return list, closeAll, nil
}

// Extent reads the first and the last chunk of each location, when it is called for the first time. It ignores
// unreadable files, which a scan reports.
func (d *decoder) Extent(ctx context.Context) (first, last int64, ok bool, err error) {
	if err := d.Prepare(ctx); err != nil {
		return 0, 0, false, err
	}
	d.preparing.Lock()
	defer d.preparing.Unlock()
	if x := d.times; x != nil {
		return x.first, x.last, x.ok, nil
	}
	quiet := *d.opt
	quiet.Report, quiet.Strict = format.NewReport(), false
	q := d.withOptions(&quiet)
	first, last = math.MaxInt64, math.MinInt64
	for _, id := range q.locations {
		if err := ctx.Err(); err != nil {
			return 0, 0, false, err
		}
		if a, b, any := q.extent(id); any {
			first, last, ok = min(first, a), max(last, b), true
		}
	}
	if x := q.markerStream(trace.Everything()); x != nil {
		for {
			b, err := x.Next(ctx)
			if b == nil || err != nil {
				break
			}
			first, last, ok = min(first, b.Time[0]), max(last, b.Time[b.Len()-1]), true
		}
	}
	d.times = &extent{first, last, ok}
	return first, last, ok, nil
}

// extent returns the times of the first and the last event of a location.
func (d *decoder) extent(id uint64) (first, last int64, ok bool) {
	each := func(end bool, f func(t int64) (more bool)) {
		r, err := d.a.openEvents(id, d.opt)
		if r == nil || err != nil {
			return
		}
		defer r.Close()
		if end {
			r.Seek(math.MaxInt64)
		}
		for {
			if end {
				if t, ok := r.skipPlain(); ok && !f(int64(t-d.base)) {
					return
				}
			}
			e, err := r.Next()
			if err == io.EOF {
				return
			}
			if err != nil {
				if reportDefect(d.opt, err) != nil {
					return
				}
				continue
			}
			if e.Time <= math.MaxInt64 && !f(int64(e.Time-d.base)) {
				return
			}
		}
	}
	sorted := d.unordered[id] // the first event in the file is not the earliest
	first, last = math.MaxInt64, math.MinInt64
	each(false, func(t int64) bool {
		first, last, ok = min(first, t), max(last, t), true
		return sorted
	})
	if !ok || sorted {
		return first, last, ok
	}
	any := false
	each(true, func(t int64) bool {
		last, any = max(last, t), true
		return true
	})
	if !any { // the last chunk is damaged
		each(false, func(t int64) bool {
			last = max(last, t)
			return true
		})
	}
	return first, last, true
}
