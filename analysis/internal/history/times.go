package history

import "github.com/weft-trace/weft/analysis/internal/synclog"

// RemoveWait calls f with the parts of a wait of w ticks in call n, by path. The call itself has waited or, if it was
// not long enough outside of the regions inside of it, these regions.
func (l *Location) RemoveWait(n int32, w int64, f func(path uint32, t int64)) {
	own, list := l.Call(n).Path, l.Inside(n)
	rest := w
	for _, t := range list {
		if t.Path == own {
			rest -= t.Time
		}
	}
	if rest <= 0 {
		f(own, w)
		return
	}
	inner := int64(0)
	for _, t := range list {
		if part := min(rest-inner, t.Time); t.Path != own && part > 0 {
			inner += part
			f(t.Path, part)
		}
	}
	f(own, w-inner)
}

// RemoveBusy calls f with the parts of the first t ticks in regions inside of call n, by path. Regions come in the
// order in which the location has first been in them since the end of the call before.
func (l *Location) RemoveBusy(n int32, t int64, f func(path uint32, t int64)) {
	own := l.Call(n).Path
	for _, x := range l.Inside(n) {
		if part := min(t, x.Time); x.Path != own && part > 0 {
			t -= part
			f(x.Path, part)
		}
	}
	if t > 0 {
		f(own, t)
	}
}

// Waited returns the time in ticks for which a location waits in calls of a path.
func (h *History) Waited(path, location uint32) int64 { return h.waited.Look(path, location) }

// PartialWaited returns the time in ticks of the waits of the pattern waitstate.Partial, in calls of a path at a
// location. ExclusiveTimes includes them.
func (h *History) PartialWaited(path, location uint32) int64 { return h.partial.Look(path, location) }

// ExclusiveTimes returns the time in ticks of each call path at each location, without waits. The waits of a
// reduction are those of the pattern waitstate.Reduction, which include the waits of the pattern EarlyReduce.
func (h *History) ExclusiveTimes() map[synclog.PathLocation]int64 {
	own := h.waited.Values()
	for k := range own {
		own[k] = -own[k]
	}
	later := h.Log.Defs.LaterThreads()
	for i, l := range h.Locations {
		if l == nil {
			continue
		}
		h.Log.Times(uint32(i), func(path uint32, t int64) {
			if path == synclog.NoPath && l.InTeams && i < len(later) && later[i] { // the thread has no work at this time
				return
			}
			own[synclog.PathLocation{Path: path, Location: uint32(i)}] += t
		})
	}
	h.moveWaits(own)
	return own
}

// moveWaits moves waits that are longer than the time of their path to the paths below it: regions inside of a call
// belong to the time in which it waits.
func (h *History) moveWaits(own map[synclog.PathLocation]int64) {
	lacking := map[uint32]bool{} // the locations of such waits
	for k, t := range own {
		if t < 0 {
			lacking[k.Location] = true
		}
	}
	for loc := range lacking {
		for i, p := range h.Log.Paths { // a parent has a lower index than its children
			k := synclog.PathLocation{Path: uint32(i), Location: loc}
			above := synclog.PathLocation{Path: p.Parent, Location: loc}
			if p.Parent != synclog.NoPath && own[above] < 0 && own[k] > 0 {
				part := min(own[k], -own[above])
				own[k] -= part
				own[above] += part
			}
		}
	}
}

// OutsideWork returns the time of the work of a stream outside of all regions: transfers that the trace records as
// one-sided communication.
func (l *Location) OutsideWork() (t int64) {
	if !l.stream || l.history.Log.Defs.Windows.Len() == 0 {
		return 0
	}
	for n := range l.Count() {
		if c := l.Call(n); c.Kind == WorkCall && c.Path == synclog.NoPath {
			t += c.Leave - c.Enter
		}
	}
	return t
}
