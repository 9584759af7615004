package usage

import (
	"cmp"
	"slices"

	"github.com/weft-trace/weft/analysis/internal/durations"
	"github.com/weft-trace/weft/analysis/internal/signals"
	"github.com/weft-trace/weft/trace"
)

// LittleResult holds the signals of Little's law, from the earliest time of an object to the latest.
type LittleResult struct {
	Clock trace.Clock `json:"-"`
	// Objects holds all objects, sorted by their first time, then by value.
	Objects []Object `json:"objects"`
	// Instant is the number of objects that have a single time. They contribute to none of the signals.
	Instant int64 `json:"instant"`
	// Incomplete is the number of objects without an event that begins them, or without a later event that
	// ends them. Objects does not have these objects.
	Incomplete int64 `json:"incomplete"`
	// Latencies holds the statistics of the durations of stays.
	Latencies *Durations `json:"latencies"`
	// Statistics holds the statistics of the signals Throughput, WIP and Latency, also if the signals are left out.
	Statistics LittleStatistics `json:"-"`
	// Throughput is in objects per time unit. An object that stays for a time d contributes 1/d
	// while it is in the system, so that the integral of the signal is the number of objects.
	Throughput Signal `json:"throughput"`
	// WIP is the number of objects in the system (work in progress).
	WIP Signal `json:"wip"`
	// Latency is WIP / Throughput, in time units. If it is averaged, it is exact at both ends of
	// each piece and approximate between them.
	Latency Signal `json:"latency"`
	// Events is the event-based throughput in selected events per time unit, from the first selected event to
	// the last. The value is 1 divided by the time between two consecutive events. After k events at the same
	// time, the value is k times as much.
	Events Signal `json:"events,omitempty"`
}

// LittleStatistics holds the statistics of the signals of Little's law.
type LittleStatistics struct {
	Throughput, WIP Statistics
	// Latency covers only the time in which the latency is not 0, because without work in progress there is none.
	Latency Statistics
}

// Object is an object that went through the system, with the times in ticks at which it came and
// left.
type Object struct {
	Value string `json:"value"` // value of the attribute
	First int64  `json:"first"`
	Last  int64  `json:"last"`
}

// Longest returns the n objects with the longest stays, in descending order of the stay. If n is 0, it returns
// all objects. Among objects with equal stays, earlier objects come first, and then objects with lesser
// values.
func (r *LittleResult) Longest(n int) []Object {
	if n <= 0 {
		n = len(r.Objects)
	}
	order := func(a, b Object) int {
		if d := cmp.Compare(b.Last-b.First, a.Last-a.First); d != 0 {
			return d
		}
		return cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(a.Value, b.Value))
	}
	var list []Object // the n longest objects so far, followed by some other objects
	sorted := 0       // number of objects at the start of list that are sorted
	for _, o := range r.Objects {
		if sorted == n && order(o, list[n-1]) >= 0 {
			continue
		}
		if list = append(list, o); len(list) >= 2*n {
			slices.SortFunc(list, order)
			list, sorted = list[:n], n
		}
	}
	slices.SortFunc(list, order)
	return list[:min(n, len(list))]
}

// ResultOptions selects what [Little.Result] computes. The zero value selects exact signals per second.
type ResultOptions struct {
	// Window is the number of ticks over which signals are averaged, as [Signal.Window] with Shorten computes them.
	// If it is not positive, signals are not averaged.
	Window  int64
	Shorten bool
	// Unit is the time unit of the result in ticks; 0 means one second.
	Unit float64
	// NoSignals leaves the fields Throughput, WIP and Latency of the result empty. Their statistics need less time and
	// memory than the signals.
	NoSignals bool
}

// Result returns the objects, and their signals with statistics. Claims without an end are closed at the last event
// of their location. The part can process further events.
func (l *Little) Result(opt ResultOptions) *LittleResult {
	if opt.Unit <= 0 {
		opt.Unit = l.defs.Clock.PerSecond()
	}
	q := &Little{opt: l.opt, objects: l.objects.clone(), times: slices.Clone(l.times)}
	closeClaim := func(x openClaim, location uint32) {
		if x.is&hasObject != 0 {
			q.objects.own(&l.objects, x.object)
		}
		q.end(x, l.last.At(location))
	}
	for k, x := range l.open.All() {
		closeClaim(x, k.Location)
	}
	if l.opt.Visits == nil {
		for k, open := range l.visits {
			for _, v := range open {
				closeClaim(v.claim, k.location)
			}
		}
	}
	r := &LittleResult{Clock: l.defs.Clock, Objects: make([]Object, 0, q.objects.n)}
	i := uint32(0)
	for value := range l.values.All() {
		s := q.objects.at(i)
		i++
		if !s.begun || !s.ended || s.last < s.first {
			r.Incomplete++
			continue
		}
		r.Objects = append(r.Objects, Object{value, s.first, s.last})
	}
	if l.messages != nil {
		r.Objects, r.Incomplete = l.messageObjects()
	}
	signals.SortNearby(r.Objects, func(a, b *Object) int {
		if a.First != b.First {
			return cmp.Compare(a.First, b.First)
		}
		return cmp.Compare(a.Value, b.Value)
	})
	r.Latencies = latencies(r.Objects)
	r.computeSignals(&opt)
	r.Events = EventThroughput(q.times, opt.Unit).Window(opt.Window, opt.Shorten)
	return r
}

// computeSignals computes the signals of the objects, and their statistics.
func (r *LittleResult) computeSignals(opt *ResultOptions) {
	stays := signals.NewStays(len(r.Objects), opt.Unit)
	var first, last int64
	for i := range r.Objects {
		o := &r.Objects[i]
		if i == 0 {
			first, last = o.First, o.Last
		}
		last = max(last, o.Last)
		if o.First == o.Last {
			r.Instant++
		}
		stays.Add(o.First, o.Last)
	}
	x := &r.Statistics
	if opt.NoSignals && opt.Window <= 0 {
		x.WIP, x.Throughput, x.Latency = stays.Statistics(first, last)
		return
	}
	wip, throughput, latency := stays.Signals(first, last, opt.Window, opt.Shorten)
	x.WIP, x.Throughput, x.Latency = wip.Statistics(false), throughput.Statistics(false), latency.Statistics(true)
	if !opt.NoSignals {
		r.WIP, r.Throughput, r.Latency = wip, throughput, latency
	}
}

// EventThroughput returns the rate of events at the given times in ticks, per unit ticks. Between two
// consecutive times, the rate is unit divided by their distance. After k events at one time, it is k times as
// much. Therefore each event contributes 1 to the integral, except for the events at the last time.
func EventThroughput(times []int64, unit float64) Signal { return signals.EventThroughput(times, unit) }

// Durations holds statistics of durations, in ticks. The percentile for a share is the least duration
// that this share of all durations does not exceed.
type Durations struct {
	Min       int64    `json:"min"`
	Mean      float64  `json:"mean"`
	Median    int64    `json:"median"`
	P90       int64    `json:"p90"`
	P99       int64    `json:"p99"`
	Max       int64    `json:"max"`
	Histogram []Bucket `json:"histogram"` // buckets of equal width, from Min to Max
}

// Bucket is the number of durations from From to less than To, in ticks. The last bucket also counts the
// durations of To ticks.
type Bucket struct {
	From  int64 `json:"from"`
	To    int64 `json:"to"`
	Count int64 `json:"count"`
}

// histogramBuckets is the number of buckets of a histogram.
const histogramBuckets = 20

// latencies returns the statistics of the durations of stays, or nil if there are no objects.
func latencies(objects []Object) *Durations {
	if len(objects) == 0 {
		return nil
	}
	list := make([]int64, len(objects))
	sum := 0.0
	for i, o := range objects {
		list[i] = o.Last - o.First
		sum += float64(list[i])
	}
	durations.Sort(list)
	n := len(list)
	at := func(percent int64) int64 { return list[durations.Rank(int64(n), percent, 100)-1] }
	d := &Durations{Min: list[0], Mean: sum / float64(n), Median: at(50), P90: at(90), P99: at(99), Max: list[n-1],
		Histogram: []Bucket{}}
	width := (d.Max-d.Min)/histogramBuckets + 1
	for _, x := range list {
		k := int((x - d.Min) / width)
		for len(d.Histogram) <= k {
			from := d.Min + int64(len(d.Histogram))*width
			d.Histogram = append(d.Histogram, Bucket{from, min(from+width, d.Max), 0})
		}
		d.Histogram[k].Count++
	}
	return d
}
