// Package rma computes which locations read and write the memory of which other locations. It sums the puts,
// gets and atomic operations of remote memory access (RMA) by origin and target, with their bytes and
// durations.
//
// A transfer belongs to its origin, the location that recorded it. A transfer ends with the location's first
// completion record in the same window with the same matching number. OTF has no windows and matching numbers.
// In OTF, a transfer ends with the first RMAEnd in the same communicator with the same tag. The end of a put with
// remote end is an event of the target. Such a put is counted without an end.
//
// The order across locations does not matter, so that parts that processed different locations can be merged.
// A part uses 60 bytes per transfer in progress, and 150 bytes for each origin, target and operation.
package rma

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/weft-trace/weft/analysis/internal/durations"
	"github.com/weft-trace/weft/analysis/internal/inside"
	"github.com/weft-trace/weft/trace"
)

// Options are the settings of an analysis.
type Options struct {
	// Window limits the result to the transfers that begin in it. Nil means the whole trace. The part needs
	// all events in the window, and later events until [Part.Complete] returns true.
	Window *trace.Window
	// Regions limits the result to the transfers that begin in a visit of a region for which Regions returns
	// true. Nil means all transfers. If Regions is set, the part also needs Enter and Leave events.
	Regions func(region uint32) bool
}

// The operations of remote memory access, as the field Operation of [Transfers] names them.
const (
	Put    = "put"
	Get    = "get"
	Atomic = "atomic"
)

// Needs reports whether the analysis uses events of kind k. A scan can leave out all others.
func Needs(k trace.Kind) bool {
	switch k {
	case trace.RMAPut, trace.RMAPutRemoteEnd, trace.RMAGet, trace.RMAAtomic, trace.RMAEnd, trace.RMACompleteBlocking,
		trace.RMACompleteNonBlocking, trace.RMACompleteRemote:
		return true
	}
	return false
}

// key is the key under which transfers are summed.
type key struct {
	origin, target uint32
	operation      string
}

// sums holds the sums of the transfers of a key. time holds the durations in ticks of the transfers whose end was
// recorded.
type sums struct {
	count int64
	bytes uint64
	time  durations.Total
}

// pending is the key by which the end of a transfer finds its begin at the same location: window
// and matching number, or communicator and tag.
type pending struct {
	location             uint32
	window               uint32 // NoRef if the key is a communicator and tag
	communicator, number uint64
}

// transfer is a transfer without an end so far. It began at the time begin, in ticks.
type transfer struct {
	key
	begin int64
}

// Part holds the transfers that some locations of a trace recorded.
type Part struct {
	defs *trace.Definitions
	opt  Options
	sums map[key]*sums
	open map[pending]transfer

	visits *inside.Visits
}

// New returns an empty part for a trace.
func New(d *trace.Definitions, opt Options) *Part {
	return &Part{defs: d, opt: opt, sums: map[key]*sums{}, open: map[pending]transfer{},
		visits: inside.New(opt.Regions)}
}

// Links ignores links.
func (p *Part) Links([]trace.Link) error { return nil }

// Batch processes a batch, whose events may belong to one location or to several. The events of each location
// must come in the order of time.
func (p *Part) Batch(b *trace.Batch) error {
	if p.visits == nil && !slices.ContainsFunc(b.Kind, Needs) {
		return nil
	}
	c := b.Cursor()
	for c.Next() {
		if !Needs(c.Kind()) {
			p.visits.Take(&c)
			continue
		}
		at := pending{location: c.Location(), window: c.Ref(), communicator: trace.Undefined}
		switch c.Kind() {
		case trace.RMAPut, trace.RMAGet:
			operation := Put
			if c.Kind() == trace.RMAGet {
				operation = Get
			}
			if at.number = c.Op(2); at.window == trace.NoRef {
				at.communicator, at.number = c.Op(3), c.Op(4)
			}
			p.begin(at, c.Time(), operation, c.Op(0), durations.Bytes(c.Op(1)))
		case trace.RMAPutRemoteEnd:
			at.number = trace.Undefined
			p.begin(at, c.Time(), Put, c.Op(0), durations.Bytes(c.Op(1)))
		case trace.RMAAtomic:
			at.number = c.Op(4)
			p.begin(at, c.Time(), Atomic, c.Op(0), durations.SumBytes(durations.Bytes(c.Op(2)), durations.Bytes(c.Op(3))))
		case trace.RMAEnd:
			at.window, at.communicator, at.number = trace.NoRef, c.Op(1), c.Op(2)
			p.end(at, c.Time())
		default:
			at.number = c.Op(0)
			p.end(at, c.Time())
		}
	}
	return nil
}

// begin counts a transfer of size bytes, with location remote as target, and opens it for its end.
func (p *Part) begin(at pending, t int64, operation string, remote, size uint64) {
	target := trace.NoRef
	if remote < uint64(p.defs.Locations.Len()) {
		target = uint32(remote)
	}
	delete(p.open, at) // a transfer whose number is used again has no end
	if !p.opt.Window.Has(t) || !p.visits.At(at.location) {
		return
	}
	k := key{at.location, target, operation}
	s := p.sum(k)
	s.count++
	s.bytes = durations.SumBytes(s.bytes, size)
	if at.number != trace.Undefined {
		p.open[at] = transfer{k, t}
	}
}

// end ends the open transfer with the key at. t is the time of the end. It does nothing if no such transfer is open.
func (p *Part) end(at pending, t int64) {
	x, ok := p.open[at]
	if !ok {
		return
	}
	delete(p.open, at)
	p.sum(x.key).time.Add(durations.Between(x.begin, t))
}

// sum returns the sums of a key. It creates the sums if there are none.
func (p *Part) sum(k key) *sums {
	s := p.sums[k]
	if s == nil {
		s = &sums{}
		p.sums[k] = s
	}
	return s
}

// Complete reports whether all transfers that begin in the window have ended. If so, later events do not
// change the result.
func (p *Part) Complete() bool { return len(p.open) == 0 }

// Merge adds another part of the same trace, which must have processed other locations and have the same
// options. The other part must not be used afterwards.
func (p *Part) Merge(o *Part) error {
	if p.defs != o.defs || !p.opt.Window.Equal(o.opt.Window) {
		return fmt.Errorf("rma: found parts of different traces or options")
	}
	for k, s := range o.sums {
		if p.sums[k] != nil {
			return fmt.Errorf("rma: location %d was seen by both parts; expected parts of different locations", k.origin)
		}
		p.sums[k] = s
	}
	maps.Copy(p.open, o.open)
	return nil
}

// Result holds the sums of all transfers.
type Result struct {
	Count int64  `json:"count"` // number of transfers
	Bytes uint64 `json:"bytes"`
	// Transfers are ordered by origin, then by target, then by the name of the operation. Origins and targets
	// are in the order of the definitions; unknown targets come last.
	Transfers []Transfers `json:"transfers"`
}

// Transfers sums the transfers of one operation from one origin to one target.
type Transfers struct {
	Origin     uint32 `json:"origin"`   // index into Definitions.Locations
	Target     uint32 `json:"target"`   // index into Definitions.Locations, NoRef when unknown
	OriginID   string `json:"originId"` // the file's own ids of the locations
	TargetID   string `json:"targetId,omitempty"`
	OriginName string `json:"originName,omitempty"`
	TargetName string `json:"targetName,omitempty"`
	Operation  string `json:"operation"` // put, get or atomic
	Count      int64  `json:"count"`
	// Bytes is the number of bytes that the transfers read or wrote; atomic operations count both
	// directions.
	Bytes uint64 `json:"bytes"`
	// Completed is the number of transfers with a recorded end. Sum, Min and Max are of their
	// durations in ticks.
	Completed int64       `json:"completed"`
	Sum       trace.Ticks `json:"sum"`
	Min       int64       `json:"min"`
	Max       int64       `json:"max"`
}

// Result returns the sums of the transfers so far. The part can process further events.
func (p *Part) Result() *Result {
	r := &Result{Transfers: []Transfers{}}
	for k, s := range p.sums {
		x := Transfers{Origin: k.origin, Target: k.target, Operation: k.operation, Count: s.count, Bytes: s.bytes,
			Completed: s.time.Count, Sum: s.time.Sum(), Min: s.time.Min, Max: s.time.Max}
		x.OriginID, x.OriginName = p.defs.LocationName(k.origin)
		x.TargetID, x.TargetName = p.defs.LocationName(k.target)
		r.Transfers = append(r.Transfers, x)
		r.Count += s.count
		r.Bytes = durations.SumBytes(r.Bytes, s.bytes)
	}
	slices.SortFunc(r.Transfers, func(a, b Transfers) int {
		return cmp.Or(cmp.Compare(a.Origin, b.Origin), cmp.Compare(a.Target, b.Target), cmp.Compare(a.Operation, b.Operation))
	})
	return r
}
