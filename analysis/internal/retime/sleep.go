package retime

import (
	"github.com/weft-trace/weft/analysis/internal/history"
	"github.com/weft-trace/weft/analysis/internal/synclog"
	"github.com/weft-trace/weft/analysis/internal/waitstate"
	"github.com/weft-trace/weft/trace"
)

// ownersOf returns, for each later thread of a process that sleeps in the end, the first thread of the process. For
// other locations it returns trace.NoRef.
func ownersOf(h *history.History) []uint32 {
	d := h.Log.Defs
	owners, first, later := make([]uint32, len(h.Locations)), map[uint32]uint32{}, d.LaterThreads()
	for i, l := range h.Locations {
		owners[i] = trace.NoRef
		if l == nil || !d.Locations.Has(uint32(i)) {
			continue
		}
		group := d.Locations.At(uint32(i)).Group
		if i >= len(later) || !later[i] {
			first[group] = uint32(i)
		} else if owner, ok := first[group]; ok && h.Log.EndsAsleep(uint32(i)) {
			owners[i] = owner
		}
	}
	return owners
}

// sleep sets the new end of the work of a location with an owner. Call p ends with the location. The time outside of
// all regions is no work, and neither is that in a barrier of a team.
func (r *retimer) sleep(p waitstate.Place, l *history.Location) {
	end := r.copyOf(r.endOf(p.Location))
	if worked := r.worked[p.Location]; worked != nil {
		copy(end, worked)
	}
	work := func(times []synclog.PathTime, add func([]int64, []synclog.PathTime, waitstate.Place)) {
		for _, x := range times {
			if x.Path != synclog.NoPath && !isThreadBarrier(r.h.Log, x.Path) {
				add(end, []synclog.PathTime{x}, p)
			}
		}
	}
	work(l.Before(p.Number), r.addBefore)
	work(l.Inside(p.Number), r.addTimes)
	r.worked[p.Location] = append(r.worked[p.Location][:0], end...)
}

// lastOf returns the new end of a location after all its calls. A thread that sleeps in the end does so until the first
// thread of its process ends.
func (r *retimer) lastOf(location uint32) []int64 {
	worked := r.worked[location]
	if worked == nil {
		return r.endOf(location)
	}
	owner := r.owners[location]
	end := r.copyOf(r.endOf(owner))
	r.shift(end, r.h.Locations[location].Last-r.h.Locations[owner].Last)
	latest(end, worked)
	return end
}
