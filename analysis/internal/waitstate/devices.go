package waitstate

import (
	"github.com/weft-trace/weft/analysis/internal/synclog"
	"github.com/weft-trace/weft/trace"
)

// devices holds the work of devices, the calls that launch it, and the calls that wait for it.
type devices struct {
	processes *trace.Streams
	streams   map[uint32]*stream
	// syncs are calls that end at the same time and wait for devices. They are judged once all work up to their
	// end is known.
	syncs []deviceSync
}

// stream has the work in a stream of a device.
type stream struct {
	latest    access // the work that has ended last
	worked    bool   // there is such work
	ended     int64  // number of idle times before the end of latest
	idles     int64  // number of idle times so far
	kernels   workQueue
	transfers workQueue
	// unlaunched are the latest handovers of work whose launch may follow, since the call that launches it is open.
	unlaunched []unlaunched
}

// unlaunched is a handover of work that is reported once the calls that have launched it are known. ended is
// [stream.ended] at that time.
type unlaunched struct {
	Handover
	ended int64
}

// mostUnlaunched is the greatest number of handovers of a stream that wait for launches.
const mostUnlaunched = 64

// workQueue matches the calls that launch work with the work in a stream: both come in the same order. The work
// is represented by the idle time of the stream before it.
type workQueue struct {
	calls []access
	idle  []idleTime
	// broken is set if some work began before the call that belongs to it, so that the trace does not have all
	// of the calls, or not in their order.
	broken bool
}

// idleTime is an idle time of a stream. number is 1 for the first one of the stream.
type idleTime struct {
	access
	number int64
}

// deviceSync is a call that waits for all streams of its process or, if named is set, for one.
type deviceSync struct {
	access
	stream uint32
	named  bool
}

func newDevices(d *trace.Definitions) devices {
	x := devices{processes: d.Streams(), streams: map[uint32]*stream{}}
	for i := range d.Locations.Len() {
		if d.IsStream(uint32(i)) {
			x.streams[uint32(i)] = &stream{}
		}
	}
	return x
}

// processDevice processes a call that is the work or the idle time of a stream, or that launches work or waits
// for it. It returns false for all other calls, and for calls that also have points that do not concern
// devices.
func (e *engine) processDevice(c *synclog.Call, at Place) bool {
	x := &e.devices
	named := uint64(trace.Undefined)
	awaits := c.Role == trace.DeviceSyncRole
	others := 0 // number of points that have nothing to do with devices
	for i := range c.Points {
		switch p := &c.Points[i]; p.Kind {
		case synclog.Stream:
			named = p.Ops[0]
		case synclog.Work:
		case synclog.Awaits:
			awaits = true
		default:
			others++
		}
	}
	switch {
	case c.IsPoint:
		return false
	case c.Idle:
		if s := x.streams[c.Location]; s != nil && len(c.Points) > 0 {
			q := s.queue(trace.Role(c.Points[0].Ops[0]))
			s.idles++
			q.idle = append(q.idle, idleTime{accessOf(c, at), s.idles})
			e.match(s, q)
		}
	case c.Device:
		if s := x.streams[c.Location]; s != nil {
			s.latest, s.worked, s.ended = accessOf(c, at), true, s.idles
		}
	case c.Role == trace.LaunchRole, c.Role == trace.TransferRole:
		s := x.streams[uint32(named)]
		if list := x.processes.Of(c.Location); named == trace.Undefined && len(list) == 1 {
			s = x.streams[list[0]]
		}
		if s != nil {
			q := s.queue(c.Role)
			q.calls = append(q.calls, accessOf(c, at))
			e.match(s, q)
		}
	case !awaits:
		return false
	}
	if awaits {
		x.syncs = append(x.syncs, deviceSync{accessOf(c, at), uint32(named), named != trace.Undefined})
	}
	return others == 0
}

// queue returns the queue of the work, or of the calls for work, with a role.
func (s *stream) queue(role trace.Role) *workQueue {
	if role == trace.TransferRole {
		return &s.transfers
	}
	return &s.kernels
}

// match matches the idle times in queue q of stream s with the calls that launch work, in order, and reports
// the waits.
func (e *engine) match(s *stream, q *workQueue) {
	for len(q.calls) > 0 && len(q.idle) > 0 && !q.broken {
		a, b := &q.calls[0], &q.idle[0]
		if q.broken = a.enter > b.leave; q.broken {
			return
		}
		if e.counts(b.enter) {
			e.Judged++
		}
		e.reportWait(Wait{Launch, b.place, b.path, between(b.enter, a.enter), a.place, a.enter, 0, false})
		if e.hooks.Dependence != nil {
			e.hooks.Dependence(&Dependence{b.place, a.place, a.enter})
		}
		q.calls, q.idle = q.calls[1:], q.idle[1:]
	}
	for len(s.unlaunched) > 0 && s.launched(s.unlaunched[0].ended) {
		e.hooks.Handover(&s.unlaunched[0].Handover)
		s.unlaunched = s.unlaunched[1:]
	}
}

// launched reports whether the calls that have launched the first `ended` pieces of work in a stream are known.
func (s *stream) launched(ended int64) bool {
	known := func(q *workQueue) bool { return len(q.idle) == 0 || q.idle[0].number > ended }
	return known(&s.kernels) && known(&s.transfers)
}

// handOver reports that call a waits for the work that has ended last in a stream, now or when the calls that have
// launched the work are known.
func (e *engine) handOver(s *stream, a *access) {
	if e.hooks.Handover == nil || !e.log.Launches {
		return
	}
	h := Handover{s.latest.place, a.place, s.latest.leave, a.leave, false}
	switch {
	case s.launched(s.ended):
		e.hooks.Handover(&h)
	case s.kernels.broken || s.transfers.broken:
	default:
		if len(s.unlaunched) == mostUnlaunched {
			s.unlaunched = s.unlaunched[1:]
		}
		s.unlaunched = append(s.unlaunched, unlaunched{h, s.ended})
	}
}

// countUnfinishedWork counts the work whose launch is unknown.
func (e *engine) countUnfinishedWork() {
	for _, s := range e.devices.streams {
		for _, list := range [2][]idleTime{s.kernels.idle, s.transfers.idle} {
			for _, b := range list {
				if e.counts(b.enter) {
					e.Unjudged[UnknownLaunch]++
				}
			}
		}
	}
}

// endSyncs reports the waits of the calls that wait for devices: until the last work in the streams for which
// they wait has ended, if that ends during the call.
func (e *engine) endSyncs() {
	x := &e.devices
	for i := range x.syncs {
		a := &x.syncs[i]
		list := x.processes.Of(a.place.Location)
		if a.named {
			list = []uint32{a.stream}
		}
		switch counts := e.counts(a.enter); {
		case counts && len(list) > 0:
			e.Judged++
		case counts:
			e.Unjudged[UnknownDevice]++
		}
		var last *access
		for _, n := range list {
			s := x.streams[n]
			if !s.worked {
				continue
			}
			if w := &s.latest; last == nil || w.leave >= last.leave {
				last = w
			}
			e.handOver(s, &a.access)
		}
		if last != nil && a.contains(last.leave) {
			e.reportWait(Wait{Device, a.place, a.path, between(a.enter, last.leave), last.place, last.leave, 0, false})
		}
	}
	x.syncs = x.syncs[:0]
}
