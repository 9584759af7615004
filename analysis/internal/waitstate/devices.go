package waitstate

import (
	"github.com/weft-trace/weft/analysis/internal/synclog"
	"github.com/weft-trace/weft/trace"
)

// devices has the work of devices, and the calls that wait for it.
type devices struct {
	defs *trace.Definitions
	// latest is the work that has ended last, by process, and streams has the processes with streams. Both have
	// trace.NoRef for the streams whose process is unknown.
	latest    map[uint32]access
	streams   map[uint32]bool
	processes int
	// syncs are calls that end at the same time and wait for devices. They are judged once all work up to their
	// end is known.
	syncs []access
}

func newDevices(d *trace.Definitions) devices {
	x := devices{defs: d, latest: map[uint32]access{}, streams: map[uint32]bool{}}
	for _, l := range d.Locations.All() {
		if l.Kind == trace.StreamLocation {
			x.streams[x.process(l.Group)] = true
		}
	}
	for _, g := range d.Groups.All() {
		if g.Kind == "process" {
			x.processes++
		}
	}
	return x
}

// process returns a location group if it is a process, and otherwise trace.NoRef.
func (d *devices) process(group uint32) uint32 {
	if d.defs.Groups.Has(group) && d.defs.Groups.At(group).Kind == "process" {
		return group
	}
	return trace.NoRef
}

// processOf returns the process of a location.
func (d *devices) processOf(loc uint32) uint32 {
	if !d.defs.Locations.Has(loc) {
		return trace.NoRef
	}
	return d.process(d.defs.Locations.At(loc).Group)
}

// add adds work.
func (d *devices) add(c *synclog.Call, at Place) { d.latest[d.processOf(c.Location)] = accessOf(c, at) }

// endSyncs reports the waits of the calls that wait for devices: until the last work in the streams of their
// process has ended, if that ends during the call. Streams whose process is unknown are those of the only one.
func (e *engine) endSyncs() {
	x := &e.devices
	for i := range x.syncs {
		a := &x.syncs[i]
		process := x.processOf(a.place.Location)
		if !x.streams[process] && x.streams[trace.NoRef] && x.processes == 1 {
			process = trace.NoRef
		}
		switch counts := e.counts(a.enter); {
		case counts && x.streams[process]:
			e.Judged++
		case counts:
			e.Unjudged[UnknownDevice]++
		}
		if w, ok := x.latest[process]; ok && a.contains(w.leave) {
			e.wait(Wait{Device, a.place, a.path, a.enter, w.leave - a.enter, w.place, w.leave, 0, false})
		}
	}
	x.syncs = x.syncs[:0]
}
