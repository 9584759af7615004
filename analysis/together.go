package analysis

import (
	"context"
	"iter"
	"math"
	"sync"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// RunTogether runs analyses of the same trace, and reads the trace once for all of them where it can. Each analysis
// gets the file, and calls its ScanParallel. The call waits until each of the other analyses also calls
// ScanParallel, or has returned. Then a single scan serves all calls that select the same times, if that is more calls
// than for other times. The others wait for further calls. Only one analysis runs at a time, except for the sinks of
// the scan. Scans of some locations, kinds or regions are not shared.
//
// RunTogether returns the error of the first analysis that fails. The other analyses then get [context.Canceled].
func RunTogether(ctx context.Context, file format.File, analyses ...func(format.File) error) error {
	errs := make([]error, len(analyses))
	resume := make([]func() (*request, bool), len(analyses))
	for i, run := range analyses {
		next, stop := iter.Pull(func(yield func(*request) bool) { errs[i] = run(&shared{file, yield}) })
		defer stop()
		resume[i] = next
	}
	waiting := make([]*request, len(analyses))
	for {
		calls := map[times]int{}
		var most times
		for i, next := range resume {
			if waiting[i] == nil {
				var ok bool
				if waiting[i], ok = next(); !ok && errs[i] != nil {
					return errs[i]
				}
			}
			if r := waiting[i]; r != nil {
				if calls[r.times()]++; calls[r.times()] > calls[most] {
					most = r.times()
				}
			}
		}
		if len(calls) == 0 {
			return nil
		}
		var list []*request
		for i, r := range waiting {
			if r != nil && r.times() == most {
				list = append(list, r)
				waiting[i] = nil
			}
		}
		if err := scanFor(ctx, file, list); err != nil {
			for _, r := range list {
				r.err = err
			}
		}
	}
}

// shared is the trace for one of the analyses that run together.
type shared struct {
	format.File
	yield func(*request) bool // waits until the trace has been scanned for a request
}

// request is a call of ScanParallel.
type request struct {
	sel   trace.Selection
	begin func() func(int) format.Sink
	mu    sync.Mutex
	err   error // the first error of a sink, or the error of the scan
}

// times is the choice of times in a selection.
type times struct {
	from, to, oneEventFrom int64
	stacks, locationBegins bool
}

func (r *request) times() times {
	before := r.sel.From > math.MinInt64 // there are earlier events
	return times{r.sel.From, r.sel.To, r.sel.OneEventFrom, before && r.sel.Stacks, before && r.sel.LocationBegins}
}

// ScanParallel scans the trace together with the other analyses if sel selects all events of its times.
func (s *shared) ScanParallel(ctx context.Context, sel trace.Selection, begin func() func(int) format.Sink) error {
	if sel.Location != nil || sel.Kind != nil || sel.Region != nil || sel.NoEvents {
		return s.File.ScanParallel(ctx, sel, begin)
	}
	r := &request{sel: sel, begin: begin}
	if !s.yield(r) {
		return context.Canceled
	}
	return r.err
}

// scanFor scans the trace once for several requests of the same times. It returns the error of the scan. The requests
// hold the errors of their sinks.
func scanFor(ctx context.Context, events format.Events, list []*request) error {
	if len(list) == 1 {
		return events.ScanParallel(ctx, list[0].sel, list[0].begin)
	}
	x := list[0].times()
	sel := trace.Selection{From: x.from, To: x.to, OneEventFrom: x.oneEventFrom, Stacks: x.stacks,
		LocationBegins: x.locationBegins, NoStates: true}
	for _, r := range list {
		sel.NoStates = sel.NoStates && r.sel.NoStates
		sel.Links = max(sel.Links, r.sel.Links)
	}
	return events.ScanParallel(ctx, sel, func() func(int) format.Sink {
		begun := make([]func(int) format.Sink, len(list))
		for i, r := range list {
			r.err, begun[i] = nil, r.begin()
		}
		return func(worker int) format.Sink {
			s := make(sharedSink, len(list))
			for i, r := range list {
				s[i] = requestSink{r, begun[i](worker)}
			}
			return s
		}
	})
}

// sharedSink is the sink of one worker of a scan for several requests.
type sharedSink []requestSink

// requestSink is the sink of a request, or nil after an error.
type requestSink struct {
	*request
	sink format.Sink
}

// each calls f for the sinks of all requests without an error.
func (s sharedSink) each(f func(r *request, sink format.Sink) error) {
	for i := range s {
		x := &s[i]
		if x.sink == nil {
			continue
		}
		if err := f(x.request, x.sink); err != nil {
			x.sink = nil
			x.mu.Lock()
			if x.err == nil {
				x.err = err
			}
			x.mu.Unlock()
		}
	}
}

// Batch passes a batch to all sinks.
func (s sharedSink) Batch(b *trace.Batch) error {
	s.each(func(_ *request, sink format.Sink) error { return sink.Batch(b) })
	return nil
}

// Links passes links to the sinks that want links.
func (s sharedSink) Links(l []trace.Link) error {
	s.each(func(r *request, sink format.Sink) error {
		if r.sel.Links == trace.NoLinks {
			return nil
		}
		return sink.Links(l)
	})
	return nil
}

// End notifies all sinks of the end of a location.
func (s sharedSink) End(location uint32) error {
	s.each(func(_ *request, sink format.Sink) error { return format.End(sink, location) })
	return nil
}
