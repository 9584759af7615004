package format

import (
	"context"
	"iter"
	"math"
	"slices"
	"sync"

	"github.com/weft-trace/weft/trace"
)

// Events is a stream of a trace's events: those of a [File], of a recording, or what a transform
// makes of another stream. It may be read any number of times, one scan after another.
type Events interface {
	// Defs are the trace's definitions: complete after Prepare, or grown during a
	// scan, always before the first batch that needs the entry.
	Defs() *trace.Definitions
	// Prepare reads what must be known of the trace before events can be delivered, such as
	// whether they are in the order of time. Scan does so itself if nobody has called Prepare,
	// which does nothing the second time. ScanParallel may do without.
	Prepare(ctx context.Context) error
	// Scan delivers exactly the events and links that sel selects to one sink, from one
	// goroutine: the batches of one location come one after another, or mixed batches in the
	// order of time. Links come after all events.
	Scan(ctx context.Context, sel trace.Selection, order Order, sink Sink) error
	// ScanParallel delivers the same as a scan by location, from several goroutines if the
	// format can. begin makes the sinks of a scan: one for each worker, beginning with 0, before
	// anything is delivered to it. A worker's sink is called from one goroutine at a time, and
	// gets all events of a location, in the order of time. Links go to sink 0, after all events.
	//
	// If it turns out that the trace must be prepared first, or read in another way, begin is
	// called again: what the sinks before got is void then.
	ScanParallel(ctx context.Context, sel trace.Selection, begin func() func(worker int) Sink) error
}

// File is one opened trace: its events, and what its format knows of them without reading them
// all. [EventsAlone] answers for formats that know nothing else.
type File interface {
	Events
	// Extent is the time of the first event and the time to which the last one lasts
	// ([trace.Batch.End]); ok is false if there is none. It may read the trace.
	Extent(ctx context.Context) (first, last int64, ok bool, err error)
	// LinkCount is how many links the trace has; ok is false if that is not known without a scan. Before
	// a scan, records count that turn out to be none.
	LinkCount() (links int64, ok bool)
	// Overview lists files and definitions. What the format does not know is left empty.
	Overview(ctx context.Context) (*Overview, error)
	// Details are tables of things of which only the format has a notion. Who asks for them closes them.
	Details(ctx context.Context) ([]*Table, error)
	// Summary is what the trace itself keeps of the sums of its events; nil if that is not all
	// that a [Summary] has. Nothing has been reported then.
	Summary(ctx context.Context) (*Summary, error)
	// Preview is what the trace keeps of the sums of its begin, which may be less than a
	// [Summary]; nil if it keeps none, or to read them would take long. It can be asked before
	// the trace is prepared, and reports nothing.
	Preview(ctx context.Context) (*Preview, error)
	// NewChecker makes a checker for defects that show only when records are held against each
	// other; nil if opening and scanning report all.
	NewChecker() Checker
	// Close frees the trace's files.
	Close() error
}

// EventsAlone is embedded by a [File] of a format that keeps nothing beside the events.
type EventsAlone struct{}

// LinkCount is not known.
func (EventsAlone) LinkCount() (int64, bool) { return 0, false }

// Overview knows nothing.
func (EventsAlone) Overview(context.Context) (*Overview, error) { return &Overview{}, nil }

// Details are none.
func (EventsAlone) Details(context.Context) ([]*Table, error) { return nil, nil }

// Summary is not kept.
func (EventsAlone) Summary(context.Context) (*Summary, error) { return nil, nil }

// Preview is not kept.
func (EventsAlone) Preview(context.Context) (*Preview, error) { return nil, nil }

// NewChecker makes none.
func (EventsAlone) NewChecker() Checker { return nil }

// Order is an order of events.
type Order int

// The orders.
const (
	PerLocation Order = iota // each location in time order
	GlobalOrder              // all events in time order
)

// Sink consumes events. Batches are only valid during the call.
type Sink interface {
	Batch(b *trace.Batch) error
	// Links gets stored links after the events of both ends.
	Links(l []trace.Link) error
}

// Ender is a sink that wants to know when it has got all events of a location: what it holds
// of them it need not hold any longer. Formats that know call End from the goroutine that
// delivered the events; others, and for what has no events, need not.
type Ender interface {
	End(location uint32) error
}

// End tells a sink that it has got all events of a location, if it wants to know.
func End(s Sink, location uint32) error {
	if e, ok := s.(Ender); ok {
		return e.End(location)
	}
	return nil
}

// Checker looks at the events of one scan and reports defects. It gets the batches of each location
// in their order; those of several locations may take turns. Finish is called after the scan.
type Checker interface {
	Sink
	Finish(ctx context.Context) error
}

// SinkFuncs makes a sink of functions; nil ones ignore what they get.
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

// ScanInOne is the ScanParallel of events that are delivered from one goroutine alone.
func ScanInOne(ctx context.Context, e Events, sel trace.Selection, begin func() func(worker int) Sink) error {
	return e.Scan(ctx, sel, PerLocation, begin()(0))
}

// Batches are the batches of a scan, one after another, without links. Each is valid until the
// next one is asked for. An error is the last thing that comes.
func Batches(ctx context.Context, e Events, sel trace.Selection, order Order) iter.Seq2[*trace.Batch, error] {
	return func(yield func(*trace.Batch, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		batches, next, end := make(chan *trace.Batch), make(chan struct{}), make(chan error, 1)
		go func() {
			// Scans deliver from any goroutine, a loop's body must run in its own.
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
				case <-ctx.Done(): // the scan ends with that
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

// Extent reads events to find the time of the first one and the time to which the last one lasts
// ([trace.Batch.End]); ok is false if there is none. A [File] may know them without.
func Extent(ctx context.Context, e Events) (first, last int64, ok bool, err error) {
	// Files know how long their own records last, not those of a trace that they carry.
	d := e.Defs()
	carried := d.Origin != d.Format && slices.ContainsFunc(d.Metrics.All(), func(m trace.MetricDef) bool { return m.Kind == trace.SignalMetric || m.Kind == trace.SeriesMetric })
	if f, is := e.(File); is && !carried {
		return f.Extent(ctx)
	}
	return ScanExtent(ctx, e)
}

// ScanExtent is the Extent of a [File] that must read its events to know.
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

// Stream delivers one sorted sequence of events in batches, nil at the end. A
// batch is valid until the next call of Next.
type Stream interface {
	Next(ctx context.Context) (*trace.Batch, error)
}

// Streamer is a stream of events whose format keeps them in parts that can be read side by
// side. Who has to put the events into another order can merge the parts and need not sort.
type Streamer interface {
	Events
	// Streams are the parts. Merged by [Merge] they are what a scan in the order of time
	// delivers, but for the links. closeAll frees what they hold, and is to be called in any
	// case.
	Streams(ctx context.Context, sel trace.Selection) (list []Stream, closeAll func(), err error)
}

// Encoder writes one trace to an Output. Close writes what is left; Abort frees
// what the encoder holds instead. Neither commits the Output.
type Encoder interface {
	Sink
	Order() Order
	// Begin is called once with the definitions, before the first batch. The
	// tables may grow until Close.
	Begin(d *trace.Definitions) error
	Close() error
	Abort()
	// Loss is what could not be kept so far.
	Loss() *Loss
}
