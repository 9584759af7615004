package synclog

import (
	"context"
	"maps"
	"math"
	"slices"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// flow identifies messages whose sends and receives can match each other.
type flow struct {
	source, destination uint32
	communicator, tag   uint64
}

// ends counts the ends of the messages of a flow.
type ends struct{ sends, receives int64 }

// count counts an end of a message.
func (w *worker) count(loc uint32, k trace.Kind, ops []uint64) {
	peer := uint32(min(operand(ops, 0), uint64(trace.NoRef)))
	f := flow{loc, peer, operand(ops, 1), operand(ops, 2)}
	if k.IsRecv() {
		f.source, f.destination = peer, loc
	}
	n := w.flows[f]
	if n == nil {
		n = &ends{}
		w.flows[f] = n
	}
	if k.IsSend() {
		n.sends++
	} else {
		n.receives++
	}
}

// horizon determines up to which time a trace must be read so that the waits in a window are known. The
// calls that are open at the end of the window must have ended. The messages and operations that have
// begun before these ends must be complete.
type horizon struct {
	defs    *trace.Definitions
	workers []*worker
	to      int64    // end of the window
	main    []uint32 // the first thread of each process

	// ended is a time at which the calls of the window have ended. It is valid if any is set. The following
	// maps count the messages, the operations, and the calls that initialise or finalise MPI, that have begun
	// before this time.
	ended      int64
	any        bool
	messages   map[flow]int64
	operations map[Sequence]int64
	joins      map[worldRegion]int64
	worlds     []uint32 // indexed by location: the world of the location; nil if there is only one world
}

// worldRegion is a region that the processes of a world visit.
type worldRegion struct{ region, world uint32 }

// world returns the world of a location.
func (h *horizon) world(loc uint32) uint32 {
	if int64(loc) < int64(len(h.worlds)) {
		return h.worlds[loc]
	}
	return 0
}

func newHorizon(d *trace.Definitions, to int64, workers []*worker) *horizon {
	h := &horizon{defs: d, to: to, workers: workers, worlds: d.Worlds()}
	later := d.LaterThreads() // scans may have added locations
	for i, l := range d.Locations.All() {
		if l.Kind.IsProcessor() && !later[i] {
			h.main = append(h.main, uint32(i))
		}
	}
	return h
}

// reached reports whether the waits in the window are known after the trace has been read up to a time.
func (h *horizon) reached(upTo int64) bool {
	lanes := map[uint32]*lane{}
	for _, w := range h.workers {
		for loc, l := range w.lanes {
			if l == nil {
				continue
			}
			lanes[uint32(loc)] = l
			if len(l.visits) > 0 || len(l.barriers) > 0 || l.accesses || w.launches {
				return false // the other ends are known only at the end of the trace
			}
		}
	}
	begun := h.to
	if h.any {
		begun = h.ended
	}
	for _, l := range lanes {
		if slices.ContainsFunc(l.calls, func(c *openCall) bool { return c.enter < begun }) {
			return false
		}
		for _, t := range l.requests {
			if t < begun { // the order of posting determines which calls belong to one operation or message
				return false
			}
		}
	}
	if !h.any {
		h.any, h.ended = true, upTo
		h.mark(lanes)
	}
	return h.complete(lanes)
}

// mark stores the messages, operations and calls that must be complete before the waits are known.
func (h *horizon) mark(lanes map[uint32]*lane) {
	h.messages, h.operations, h.joins = map[flow]int64{}, map[Sequence]int64{},
		map[worldRegion]int64{}
	for f, n := range h.flows() {
		if n.sends != n.receives {
			h.messages[f] = max(n.sends, n.receives)
		}
	}
	for loc, l := range lanes {
		for s, n := range l.sequences {
			h.operations[s] = max(h.operations[s], n)
		}
		for r, n := range l.regions {
			if k := l.worker.kind(r); k.init || k.finalize {
				w := worldRegion{r, h.world(loc)}
				h.joins[w] = max(h.joins[w], n)
			}
		}
	}
}

// flows returns the ends of messages that all workers together have counted.
func (h *horizon) flows() map[flow]ends {
	all := map[flow]ends{}
	for _, w := range h.workers {
		for f, n := range w.flows {
			sum := all[f]
			all[f] = ends{sum.sends + n.sends, sum.receives + n.receives}
		}
	}
	return all
}

// complete reports whether everything that mark has stored has been completed.
func (h *horizon) complete(lanes map[uint32]*lane) bool {
	flows := h.flows()
	for f, n := range h.messages {
		if min(flows[f].sends, flows[f].receives) < n {
			return false
		}
	}
	for s, n := range h.operations {
		communicator := s.Communicator
		if s.Windows {
			communicator = uint64(h.defs.WindowCommunicator(uint32(min(communicator, uint64(trace.NoRef)))))
		}
		if communicator >= uint64(h.defs.Communicator.Len()) && !s.Windows {
			continue // without a definition, calls cannot be matched
		}
		members, known := h.defs.MemberCount(uint32(min(communicator, uint64(trace.NoRef))))
		for _, l := range lanes {
			if l.sequences[s] >= n {
				members--
			}
		}
		if !known || members > 0 {
			return false
		}
	}
	for r, n := range h.joins {
		if slices.ContainsFunc(h.main, func(loc uint32) bool {
			return h.world(loc) == r.world && (lanes[loc] == nil || lanes[loc].regions[r.region] < n)
		}) {
			return false
		}
	}
	return true
}

// Batch passes events to the workers that have processed the earlier events of their locations.
func (h *horizon) Batch(b *trace.Batch) error {
	if b.Loc != trace.MixedLoc {
		return h.workerOf(b.Loc).Batch(b)
	}
	var one trace.Batch
	c := b.Cursor()
	for c.Next() {
		one.Reset(c.Location())
		one.AppendRow(&c)
		if err := h.workerOf(c.Location()).Batch(&one); err != nil {
			return err
		}
	}
	return nil
}

// Links ignores links.
func (h *horizon) Links([]trace.Link) error { return nil }

// workerOf returns the worker that has the events of a location. If there is none, it returns the first
// worker.
func (h *horizon) workerOf(loc uint32) *worker {
	for _, w := range h.workers {
		if int64(loc) < int64(len(w.lanes)) && w.lanes[loc] != nil {
			return w
		}
	}
	return h.workers[0]
}

// findLater searches for a later event of each location whose latest known event is before the end of the
// window. The search begins at the time from. findLater sets the latest time of the location to the time of
// the event that it finds.
func (h *horizon) findLater(ctx context.Context, events format.Events, from int64) error {
	ended := map[uint32]*lane{}
	for _, w := range h.workers {
		for loc, l := range w.lanes {
			if l != nil && l.latest < h.to {
				ended[uint32(loc)] = l
			}
		}
	}
	missing := maps.Clone(ended)
	sel := trace.Selection{From: from, To: math.MaxInt64, NoStates: true,
		Location: func(loc uint32) bool { return ended[loc] != nil }}
	for b, err := range format.Batches(ctx, events, sel, format.PerLocation) {
		if err != nil {
			return err
		}
		for i, k := range b.Kind {
			if l := missing[b.Location(i)]; l != nil && k.IsEvent() {
				l.latest = max(l.latest, b.Time[i])
				delete(missing, b.Location(i))
			}
		}
		if len(missing) == 0 {
			break
		}
	}
	return nil
}
