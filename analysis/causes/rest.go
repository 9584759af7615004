package causes

import (
	"github.com/weft-trace/weft/analysis/internal/history"
	"github.com/weft-trace/weft/analysis/internal/synclog"
	"github.com/weft-trace/weft/analysis/internal/waitstate"
)

// mostMeetings limits the number of synchronisations from which explainRest compares two locations.
const mostMeetings = 16

// explainRest calls add for the paths that get a cost that no excess since the last synchronisation o explains. If the
// waiting location had left o before the late location came to it, the excess before o counts, as if the waiting
// location had waited in o for that time. If this leaves a cost, the same applies to the synchronisation before o.
func (f *finder) explainRest(w *history.Wait, o history.Opening, cost float64, pattern waitstate.Pattern,
	add func(path uint32, cost float64)) {
	for range mostMeetings {
		late := f.cameLate(w, &o)
		if late <= 0 || o.A < 0 {
			break
		}
		a := waitstate.Place{Location: w.Place.Location, Number: o.A}
		b := waitstate.Place{Location: w.Cause.Location, Number: o.B}
		before := f.h.Opening(a, b)
		f.earlier.sum(b, before.B, &before)
		f.meanwhile.sum(a, before.A, &before)
		own := f.ownWaits(w)
		if total := f.earlier.excess(&f.meanwhile) + own; total > 0 {
			whole := max(total, float64(late))
			f.earlier.distribute(&f.meanwhile, cost, whole, add)
			if own > 0 {
				f.passOn(&f.earlier, pattern, cost/whole)
			}
			cost -= cost * total / whole
		}
		f.earlier.clear()
		f.meanwhile.clear()
		if before.B < 0 || cost <= rounding {
			break
		}
		o = before
	}
	if cost > 0 {
		f.explainByWork(w, &o, cost, pattern, add)
	}
}

// cameLate returns the time from the end of the waiting location's call of synchronisation o to the begin of the late
// location's call. It returns 0 if that is no call, but an event outside of calls, such as the begin of a team.
func (f *finder) cameLate(w *history.Wait, o *history.Opening) int64 {
	if o.B < 0 {
		return 0
	}
	left := o.Met
	if o.A >= 0 {
		left = f.h.Locations[w.Place.Location].Call(o.A).Leave
	}
	opened := f.h.Locations[w.Cause.Location].Call(o.B)
	if opened.Kind == history.EventCall {
		return 0
	}
	return opened.Enter - left
}

// ownWaits returns the waits in f.earlier that carry costs of wait w. Without Options.Ends, none of them does.
func (f *finder) ownWaits(w *history.Wait) float64 {
	iv := &f.earlier
	if !f.opt.Ends || iv.waited == 0 {
		return 0
	}
	waited := float64(iv.waited)
	if w.Pattern != waitstate.EarlyEnd { // no call has been visited
		waited -= float64(iv.excludeVisited(w.Place, &f.passed))
	}
	return waited
}

// explainByWork distributes a cost among the paths in which the late location has worked since its last call before
// synchronisation o, in proportion to their times, if it came late to o; and among its waits since then, if they carry
// costs. Otherwise the cost is one of the path of the call of the synchronisation.
func (f *finder) explainByWork(w *history.Wait, o *history.Opening, cost float64, pattern waitstate.Pattern,
	add func(path uint32, cost float64)) {
	if o.B < 0 {
		add(synclog.NoPath, cost)
		return
	}
	l, iv := f.h.Locations[w.Cause.Location], &f.earlier
	opened := l.Call(o.B)
	path := opened.Path
	if late := f.cameLate(w, o); late > 0 {
		iv.location = w.Cause.Location
		iv.from, iv.to, iv.lock, iv.openWaited = min(l.FirstAfter(opened.Enter-late), o.B), o.B, -1, 0
		iv.addCalls(l, iv.from, iv.to)
		iv.addAll(l.Before(o.B))
	}
	waited := f.ownWaits(w)
	total := waited
	for _, p := range iv.paths {
		total += float64(max(0, iv.times[p]))
	}
	if total == 0 {
		add(path, cost)
	}
	for _, p := range iv.paths {
		if t := iv.times[p]; t > 0 {
			add(p-1, cost*float64(t)/total) // NoPath has the index 0
		}
	}
	if waited > 0 {
		f.carried.add(iv.location, iv.from, iv.to, share{pattern, cost / total})
	}
	iv.clear()
}
