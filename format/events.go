package format

import (
	"context"
	"iter"
	"math"
	"slices"
	"sync"

	"github.com/weft-trace/weft/trace"
)

// Events is the stream of a trace's events: those of a [File], those of a recorder, or those that a
// transform derives from another stream. It can be scanned any number of times, but only once at a
// time.
type Events interface {
	// Defs returns the trace's definitions. They are complete after Prepare, or grow during a scan,
	// always before the first batch that needs the entry.
	Defs() *trace.Definitions
	// Prepare reads what a scan must know before it can deliver events, such as whether the events are in time
	// order. Scan calls it if needed. Further calls have no effect. ScanParallel can skip it.
	Prepare(ctx context.Context) error
	// Scan delivers exactly the events and links that sel selects to one sink, from one goroutine:
	// location by location, or in time order, in batches with events of several locations. Links come after all events.
	Scan(ctx context.Context, sel trace.Selection, order Order, sink Sink) error
	// ScanParallel delivers the same events as a Scan by location, in several goroutines if the format
	// supports that. ScanParallel calls begin when it starts a scan. begin returns a function that returns the
	// sink of the worker with a given number, from 0. ScanParallel calls this function for a worker before it
	// delivers anything to the worker's sink. Each sink is called by one goroutine at a time, and gets all
	// events of a location in time order. Links go to sink 0, after all events.
	//
	// ScanParallel calls begin again if the trace turns out to need preparation or another way of reading. The
	// caller must then discard everything that the previous sinks received.
	ScanParallel(ctx context.Context, sel trace.Selection, begin func() func(worker int) Sink) error
}

// File is an opened trace: its events, and other data that its format stores. Formats that store no
// other data embed [EventsOnly].
type File interface {
	Events
	// Extent returns the time of the first event and the latest end of any event ([trace.Batch.End]).
	// ok is false if there is no event. Extent may read the trace.
	Extent(ctx context.Context) (first, last int64, ok bool, err error)
	// LinkCount returns the number of links of the trace. ok is false if the number is unknown without
	// a scan. Before a scan, the number may include records that are no links.
	LinkCount() (links int64, ok bool)
	// Overview lists files and definitions. Fields that the format does not provide are empty.
	Overview(ctx context.Context) (*Overview, error)
	// Details returns tables of information that is specific to the format. The caller must close
	// them.
	Details(ctx context.Context) ([]*Table, error)
	// Summary returns the sums over events that the trace itself stores. It returns nil unless the
	// trace stores all fields of a [Summary]. It reports no defects.
	Summary(ctx context.Context) (*Summary, error)
	// Preview returns the sums over the first part of the trace that the trace itself stores. These can have
	// fewer fields than a [Summary]. It returns nil if the trace stores no such sums, or if reading them would
	// take long. It can be called before Prepare, and reports no defects.
	Preview(ctx context.Context) (*Preview, error)
	// NewChecker returns a checker for defects that only a comparison of records can find. It returns
	// nil if opening and scanning report all defects.
	NewChecker() Checker
	// Close closes the files of the trace.
	Close() error
}

// EventsOnly is embedded by a [File] of a format that stores nothing except for events and definitions.
type EventsOnly struct{}

// LinkCount reports that the number is unknown.
func (EventsOnly) LinkCount() (int64, bool) { return 0, false }

// Overview returns an empty overview.
func (EventsOnly) Overview(context.Context) (*Overview, error) { return &Overview{}, nil }

// Details returns no tables.
func (EventsOnly) Details(context.Context) ([]*Table, error) { return nil, nil }

// Summary returns nil.
func (EventsOnly) Summary(context.Context) (*Summary, error) { return nil, nil }

// Preview returns nil.
func (EventsOnly) Preview(context.Context) (*Preview, error) { return nil, nil }

// NewChecker returns nil.
func (EventsOnly) NewChecker() Checker { return nil }

// Order is the order in which a scan delivers events.
type Order int

// These are the orders of events.
const (
	PerLocation Order = iota // each location in time order
	GlobalOrder              // all events in time order
)

// Sink consumes events. A batch is valid only during the call.
type Sink interface {
	Batch(b *trace.Batch) error
	// Links receives stored links, after the events of both ends.
	Links(l []trace.Link) error
}

// Ender is a sink that is notified after the last event of a location, so that it can free memory
// for the location. A format that detects the last event calls End in the goroutine that delivered
// it. Other formats do not call End, and a format need not call it for a location without events.
type Ender interface {
	End(location uint32) error
}

// End notifies a sink that it has received all events of a location, if the sink is an [Ender].
func End(s Sink, location uint32) error {
	if e, ok := s.(Ender); ok {
		return e.End(location)
	}
	return nil
}

// Checker examines the events of a scan and reports defects. The batches of each location must come
// in order; batches of different locations can alternate. Finish must be called after the scan.
type Checker interface {
	Sink
	Finish(ctx context.Context) error
}

// SinkFuncs implements [Sink] with functions. Nil functions ignore their input.
type SinkFuncs struct {
	OnBatch func(b *trace.Batch) error
	OnLinks func(l []trace.Link) error
}

// Batch calls OnBatch.
func (s SinkFuncs) Batch(b *trace.Batch) error {
	if s.OnBatch == nil {
		return nil
	}
	return s.OnBatch(b)
}

// Links calls OnLinks.
func (s SinkFuncs) Links(l []trace.Link) error {
	if s.OnLinks == nil {
		return nil
	}
	return s.OnLinks(l)
}

// ScanInOne implements ScanParallel by a Scan in one goroutine.
func ScanInOne(ctx context.Context, e Events, sel trace.Selection, begin func() func(worker int) Sink) error {
	return e.Scan(ctx, sel, PerLocation, begin()(0))
}

// Batches iterates over the batches of a scan, without links. Each batch is valid until the next
// iteration. An error ends the iteration.
func Batches(ctx context.Context, e Events, sel trace.Selection, order Order) iter.Seq2[*trace.Batch, error] {
	return func(yield func(*trace.Batch, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		batches, next, end := make(chan *trace.Batch), make(chan struct{}), make(chan error, 1)
		go func() {
			// A scan can deliver batches in any goroutine, but the body of the caller's loop must run in the
			// caller's own goroutine.
			end <- e.Scan(ctx, sel, order, SinkFuncs{OnBatch: func(b *trace.Batch) error {
				select {
				case batches <- b:
				case <-ctx.Done():
					return ctx.Err()
				}
				select {
				case <-next:
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			}})
			close(end)
		}()
		defer func() {
			cancel()
			<-end
		}()
		for {
			select {
			case b := <-batches:
				if !yield(b, nil) {
					return
				}
				select {
				case next <- struct{}{}:
				case <-ctx.Done(): // cancelling the context ends the scan
				}
			case err := <-end:
				if err != nil {
					yield(nil, err)
				}
				return
			}
		}
	}
}

// Extent returns the time of the first event and the latest end of any event ([trace.Batch.End]).
// ok is false if there are no events. It reads the events, unless e is a [File] that stores these
// times.
func Extent(ctx context.Context, e Events) (first, last int64, ok bool, err error) {
	// The Extent method of a File covers the end times of the file's own records. It does not cover signals of
	// another format that the file carries.
	d := e.Defs()
	carried := d.Origin != d.Format && slices.ContainsFunc(d.Metrics.All(),
		func(m trace.MetricDef) bool { return m.Kind == trace.SignalMetric || m.Kind == trace.SeriesMetric })
	if f, is := e.(File); is && !carried {
		return f.Extent(ctx)
	}
	return ScanExtent(ctx, e)
}

// ScanExtent implements Extent for a [File] that must read its events.
func ScanExtent(ctx context.Context, e Events) (first, last int64, ok bool, err error) {
	type span struct{ first, last int64 }
	var mu sync.Mutex
	var spans []*span
	sel := trace.Everything()
	sel.Links = trace.NoLinks
	err = e.ScanParallel(ctx, sel, func() func(int) Sink {
		spans = nil
		return func(int) Sink {
			s := &span{math.MaxInt64, math.MinInt64}
			mu.Lock()
			defer mu.Unlock()
			spans = append(spans, s)
			return SinkFuncs{OnBatch: func(b *trace.Batch) error {
				for _, t := range b.Time {
					s.first = min(s.first, t)
				}
				s.last = max(s.last, b.End())
				return nil
			}}
		}
	})
	first, last = math.MaxInt64, math.MinInt64
	for _, s := range spans {
		first, last = min(first, s.first), max(last, s.last)
	}
	return first, last, first <= last, err
}

// Stream delivers a sorted sequence of events in batches. Each call returns the next batch, which is
// valid until the next call, or nil after the last batch. The texts of attributes stay valid.
type Stream func(ctx context.Context) (*trace.Batch, error)

// Streamer is implemented by Events whose format stores them in parts that can be read in parallel.
// Code that needs another order of the events can merge the parts instead of sorting.
type Streamer interface {
	Events
	// Streams returns the parts. [Merge] of all parts delivers the same events as a scan in time
	// order, without links. The caller must call closeAll, which frees the resources of the parts,
	// also after an error.
	Streams(ctx context.Context, sel trace.Selection) (list []Stream, closeAll func(), err error)
}

// Encoder writes a trace to an Output. Either Close must be called, which completes the trace, or
// Abort, which only frees the encoder's resources. Neither commits the Output.
type Encoder interface {
	// Begin is called once with the definitions, before the events. The
	// tables may grow until Close.
	Begin(d *trace.Definitions) error
	// WriteEvents writes the events that sel selects. It is called once. It scans them in the order that the
	// encoder needs, in several goroutines if the encoder can write several locations at the same time.
	WriteEvents(ctx context.Context, events Events, sel trace.Selection) error
	Close() error
	Abort()
	// Loss returns the losses so far.
	Loss() *Loss
}
