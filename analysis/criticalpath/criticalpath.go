// Package criticalpath finds the critical path of a run: the chain of calls and of work between them that
// determines how long the run takes. Where one location waits for another one, the path goes from one to the
// other. Only a change of the work on the path can make the run shorter.
//
// The package follows the path backward. The path ends at the last location that enters MPI_Finalize or, in a
// trace without MPI_Finalize, at the last event. If a location has waited, the path continues at the location
// for which it waited, at the time at which the wait ends. The path begins at the begin of MPI_Init, or at the
// first event of the location that it has reached. The pieces of the path follow one another without a gap, so
// that their lengths add up to the length of the path. docs/analyses/path.md has the formulas of the other
// figures, which are Scalasca's.
//
// [Find] keeps the calls and waits of the trace in 12 MiB of memory and, above that, in temporary files of
// about 30 bytes per call. The pieces of its result use 16 bytes each.
package criticalpath

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/weft-trace/weft/analysis/internal/history"
	"github.com/weft-trace/weft/analysis/internal/synclog"
	"github.com/weft-trace/weft/analysis/internal/waitstate"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// Options are the settings of the analysis.
type Options struct {
	// Rows maps regions to the rows that count as one. Nil counts each region by itself.
	Rows *trace.Rows
	// WhatIf lists changes of regions. Result.WhatIf is the runtime with all of them.
	WhatIf []Change
	// Gains is the number of regions for which Result.Gains has the runtime with half of their time.
	Gains int
	// Paths requests Result.Paths, of which there can be as many as call paths times locations.
	Paths bool
}

// Change changes the exclusive times of all regions with a name, or of a call path. Waits are not part of these times.
// Of several changes of the same times, one of a call path counts, then one with locations, then the last one.
type Change struct {
	// Region is the name of a region, or Communication, Locks or Outside.
	Region string `json:"region,omitempty"`
	// Path is a call path, the outermost region first. Region is empty then.
	Path []string `json:"path,omitempty"`
	// To states to which length the times change. With ByFactor, they are multiplied by Factor.
	To     Target  `json:"to,omitempty"`
	Factor float64 `json:"factor"`
	// Locations holds the indices of the locations at which the times change, in Definitions.Locations. If it is nil,
	// the times change at all locations for which no other change of the region is given. It has no effect on
	// Communication and Locks.
	Locations []uint32 `json:"locations,omitempty"`
}

// Values of [Change].Region that are not regions.
const (
	// Communication stands for the time of communication itself. It can only change by a factor.
	Communication = "latency"
	// Locks stands for waits until others release locks. The only factor is 0: locations acquire locks without waiting,
	// but still wait for signals of conditions and semaphores. It means a region if the trace has one with this name.
	Locks = "locks"
	// Outside stands for the time outside of all regions, with the time before the first event of a location. It means a
	// region if the trace has one with this name.
	Outside = "outside"
)

// PathSeparator separates the regions of a call path in texts.
const PathSeparator = " > "

// Target is a length to which times change.
type Target string

// These are the values of Target. The times that locations spend in a call path before each call of another path are
// iterations. The n-th iterations of all locations belong together. Median and Steady change the iterations of paths
// with at least 2 % of the time of all threads and streams.
const (
	// ByFactor multiplies the times by a factor.
	ByFactor Target = ""
	// Median shortens each iteration to the median of the locations, of which there must be three.
	Median Target = "median"
	// Mean shortens the times at locations to the mean of the other locations that could do this work; if all locations
	// change, to the mean of all. It multiplies them by one factor, multiplies the times before calls of the same path by
	// one factor, or shortens each of these by the same time. The shortest runtime counts.
	Mean Target = "mean"
	// Steady takes from each iteration what the iterations have grown by since the first one. If the growth is not
	// significant, no time changes.
	Steady Target = "steady"
)

// Result is the result of the analysis. Times are in ticks.
type Result struct {
	// Begin and End are the times at which the path begins and ends, and Length is End - Begin.
	Begin  int64 `json:"begin"`
	End    int64 `json:"end"`
	Length int64 `json:"length"`
	// Regions, Paths and Locations divide the path by region, by call path and location, and by location. Each
	// list is in descending order of time. Paths is empty unless Options.Paths is set.
	Regions   []Region   `json:"regions"`
	Paths     []Path     `json:"paths"`
	Locations []Location `json:"locations"`
	// Pieces holds the pieces of the path in the order of time.
	Pieces Pieces `json:"pieces"`
	// Runtime is the time from the first event of the trace to the last one.
	Runtime int64 `json:"runtime"`
	// WhatIf is the runtime with all changes of Options.WhatIf, in ticks. It is nil if there are no changes.
	WhatIf *int64 `json:"whatIf,omitempty"`
	// Gains holds the gains of the regions with the most time on the path, in descending order of
	// Half.
	Gains []Gain `json:"gains,omitempty"`
	// Violations has the contradictions of causality, because the clocks differ. It is nil if there are none.
	Violations *Violations `json:"violations,omitempty"`
	// Unknown is the share of calls of communication libraries whose waits are unknown in the time of all threads.
	Unknown float64 `json:"unknown,omitempty"`
}

// Sentence returns a sentence about calls whose waits are unknown, or "" if these take little time.
func (r *Result) Sentence() string {
	if r.Unknown < history.MuchUnknown {
		return ""
	}
	return fmt.Sprintf("Calls whose waits are unknown take %.0f %% of the time of all threads; weft waits lists them. "+
		"The path stays at the location of such a call, even if the call waits for another location.", 100*r.Unknown)
}

// Violations counts contradictions of causality. Worst is the greatest one in ticks.
type Violations = waitstate.Violations

// Missing returns the reason why a trace has no critical path, or "" if it has one.
func (r *Result) Missing() string {
	if len(r.Regions) == 0 || len(r.Regions) == 1 && r.Regions[0].Region == "" {
		return "found no calls of regions, expected some; the trace has no critical path"
	}
	return ""
}

// Gain holds the effect of a region's time on the runtime, in ticks.
type Gain struct {
	Region string `json:"region"`
	// Half is the time by which the run would be shorter if the region took half of its time.
	Half int64 `json:"half"`
	// Curve holds the runtimes with the region's time multiplied by each of [Factors].
	Curve []int64 `json:"curve"`
}

// Factors returns the factors to which the runtimes in [Gain.Curve] belong.
func Factors() []float64 { return []float64{0.9, 0.75, 0.5, 0.25, 0} }

// TargetError reports times in Options.WhatIf that cannot change to a length.
type TargetError struct {
	Name string // of a region or call path
	To   Target
}

// Error returns a message that states what the trace must have.
func (e *TargetError) Error() string {
	switch e.To {
	case Median:
		return fmt.Sprintf("found no iterations of %q at three locations or more with 2 %% of the time of all threads; "+
			"there is no median", e.Name)
	case Steady:
		return fmt.Sprintf("found no times of %q that grow from iteration to iteration; they are steady", e.Name)
	}
	return fmt.Sprintf("found no time of %q at other locations; there is no mean", e.Name)
}

// RegionError reports a region in Options.WhatIf that the trace does not have.
type RegionError struct{ Region string }

// Error returns a message with the name of the region.
func (e *RegionError) Error() string {
	return "found no region " + strconv.Quote(e.Region) + " in the trace, expected one that it has"
}

// Region is the time of the critical path in a region, in ticks.
type Region struct {
	Region string `json:"region"` // name of the region; "" outside of all regions
	Time   int64  `json:"time"`
	// Imbalance is the difference between Time and the mean over all locations of the time in the region,
	// without waits. It is 0 if Time is less than the mean.
	Imbalance float64 `json:"imbalance"`
}

// Path compares the time of the critical path in a call path with the time of a location in this call path.
// Times are in ticks.
type Path struct {
	Path         []string `json:"path"` // the outermost region first
	Location     uint32   `json:"location"`
	LocationName string   `json:"locationName"`
	// Critical is the time of the critical path in the call path at the location.
	Critical int64 `json:"critical"`
	// Activities and NonCritical divide the location's time in the call path, without waits. Activities is the
	// smaller of this time and the time of the whole critical path in the call path. NonCritical is the rest.
	Activities  int64 `json:"activities"`
	NonCritical int64 `json:"nonCritical"`
	// Impact is the time that all locations lose because the critical path spends more time in the
	// call path than they do.
	Impact float64 `json:"impact"`
}

// Location is the time of the critical path at a location, in ticks.
type Location struct {
	Location     uint32 `json:"location"`
	LocationName string `json:"locationName"`
	Time         int64  `json:"time"`
}

// walker follows the path backward. It collects the pieces, and the time of each path at each
// location.
type walker struct {
	h      *history.History
	times  synclog.PathTable[int64]
	pieces Pieces
}

// Find finds the critical path of a trace. The error is a [RegionError], analysis.ErrTimeRange, or
// an error of the scan, of the temporary file, or of the context.
func Find(ctx context.Context, events format.Events, opt Options) (*Result, error) {
	h, err := history.Build(ctx, events, history.Options{Rows: opt.Rows})
	if err != nil {
		return nil, err
	}
	defer h.Close()
	return FromHistory(ctx, h, opt)
}

// FromHistory finds the critical path of a history. The error is a [RegionError], or that of a
// temporary file, or of the context.
func FromHistory(ctx context.Context, h *history.History, opt Options) (*Result, error) {
	w := &walker{h: h}
	r := &Result{Regions: []Region{}, Paths: []Path{}, Locations: []Location{}, Violations: h.Violations(),
		Unknown: h.UnknownShare()}
	if at, t, ok := w.pathEnd(); ok {
		r.End = t
		var err error
		if r.Begin, err = w.walk(ctx, at, t); err != nil {
			return nil, err
		}
		r.Length = r.End - r.Begin
	}
	w.setDivisions(r, opt)
	r.Runtime = max(0, h.Log.Last-h.Log.First)
	if err := whatIf(ctx, h, r, opt); err != nil {
		return nil, err
	}
	return r, h.Err()
}

// pathEnd returns the location and the time at which the path ends. The walk starts there. ok is false if
// there are no events.
func (w *walker) pathEnd() (loc uint32, t int64, ok bool) {
	if f := w.h.Finalize; f != nil {
		return f.Last.Location, w.h.At(f.Last).Enter, true
	}
	for i, l := range w.h.Locations {
		if l != nil && (!ok || l.Last > t) {
			loc, t, ok = uint32(i), l.Last, true
		}
	}
	return loc, t, ok
}

// walk follows the path backward from a time of a location, and returns the time at which it
// begins.
func (w *walker) walk(ctx context.Context, loc uint32, t int64) (begin int64, err error) {
	still := 0 // number of successive pieces with the length 0
	for n := 0; ; n++ {
		if n&0xfff == 0 && ctx.Err() != nil {
			return 0, ctx.Err()
		}
		w.h.Reuse()
		from, next, by := w.addPiece(loc, t, still < len(w.h.Locations))
		still++
		if t > from {
			still = 0
			w.pieces.add(piece{from: from, location: loc})
		}
		if next == trace.NoRef {
			return from, nil
		}
		if k := w.pieces.n; k > 0 {
			w.pieces.at(k - 1).by = by
		}
		loc, t = next, from
	}
}

// addPiece follows the path backward at a location, from time t to the end of the latest wait, or to the begin
// of the path. It adds the times of the piece. It returns the begin of the piece, the location at which the
// path continues, and how the path reaches this location (piece.by). The location is trace.NoRef at the begin
// of the path. Unless jump is set, addPiece ignores waits that end at t, so that the walk cannot loop.
func (w *walker) addPiece(loc uint32, t int64, jump bool) (from int64, next uint32, by uint8) {
	l := w.h.Locations[loc]
	n := l.FirstAfter(t) // the call n can begin before t
	var around outerWait
	if n < l.Count() {
		if wait := lastWait(l, n); wait != nil && wait.End() < t {
			waited, _ := wait.Since(sinceOf(l, n, wait))
			w.addInside(l, loc, n, t, waited)
			if !around.addWait(l, n, wait) {
				return w.endAtWait(l, loc, n, wait)
			}
		} else {
			w.addPartial(l, loc, n, t)
		}
	}
	for n--; n >= 0; n-- {
		c := l.Call(n)
		if around.any && c.Leave <= around.end {
			break
		}
		w.addAll(loc, l.Inside(n))
		if wait := lastWait(l, n); wait != nil && (jump || wait.End() < t) {
			if !around.addWait(l, n, wait) {
				return w.endAtWait(l, loc, n, wait)
			}
		}
		if c.Init {
			return c.Enter, trace.NoRef, 0
		}
		if c.Begins {
			if p, time, ok := w.h.Fork(waitstate.Place{Location: loc, Number: n}, c.Leave); ok {
				w.add(w.firstParallelRegion(l, n), loc, c.Leave-time)
				return time, p.Location, byFork
			}
		}
		w.addAll(loc, l.Before(n))
	}
	if around.any {
		w.removeUntil(l, loc, n, &around)
		return around.end, around.cause, around.by
	}
	if l.Created {
		from = min(t, w.h.At(l.Creator).Enter)
		w.add(synclog.NoPath, loc, min(t, l.First)-from)
		return from, l.Creator.Location, byFork
	}
	return min(t, l.First), trace.NoRef, 0
}

// endAtWait ends a piece at the end of a wait of call n. It returns the results of addPiece.
func (w *walker) endAtWait(l *history.Location, loc uint32, n int32, wait *history.Wait) (int64, uint32, uint8) {
	waited, busy := wait.Since(sinceOf(l, n, wait))
	remove := func(path uint32, t int64) { w.add(path, loc, -t) }
	l.RemoveWait(n, waited, remove)
	if busy > 0 {
		l.RemoveBusy(n, busy, remove)
	}
	return wait.End(), wait.Cause.Location, uint8(wait.Pattern) + 1
}

// sinceOf returns the begin of the part of a wait of call n that is in the times of the call. These times begin after a
// call inside of it.
func sinceOf(l *history.Location, n int32, wait *history.Wait) int64 {
	if n == 0 {
		return wait.Begin
	}
	return max(wait.Begin, l.Call(n-1).Leave)
}

// outerWait is a wait of a call with other calls inside of it that end after the wait. It is valid if any is set.
type outerWait struct {
	waitstate.Interval
	end   int64 // of the interval, in ticks
	path  uint32
	cause uint32 // location
	by    uint8  // piece.by
	any   bool
}

// addWait considers the wait of call n as the wait at which the piece begins. It returns false if the piece begins at
// the end of this wait. Otherwise the piece also covers earlier time, because calls inside call n end after the wait,
// or because a call around call n has a wait that ends later. addWait stores the wait with the latest end.
func (o *outerWait) addWait(l *history.Location, n int32, wait *history.Wait) bool {
	end := wait.End()
	if o.any && end <= o.end {
		return true
	}
	if n == 0 || l.Call(n-1).Leave <= end {
		return false
	}
	interval := wait.Interval
	interval.Busy = slices.Clone(interval.Busy) // calls are unpacked again
	*o = outerWait{interval, end, l.Call(n).Path, wait.Cause.Location, uint8(wait.Pattern) + 1, true}
	return true
}

// removeUntil removes the times from the end of call n to the end of a wait of an outer call. They were added with the
// times before the next call.
func (w *walker) removeUntil(l *history.Location, loc uint32, n int32, o *outerWait) {
	since := l.First
	if n >= 0 {
		since = l.Call(n).Leave
	}
	rest := o.end - since
	_, busy := o.Since(since)
	for _, t := range l.Before(n + 1) {
		p := t.Path
		for p != synclog.NoPath && p != o.path {
			p = w.h.Log.Paths[p].Parent
		}
		if before := min(t.Time, rest); p != o.path { // the time is before the outer call
			w.add(t.Path, loc, -before)
			rest -= before
		} else if task := min(t.Time, busy); t.Path != o.path {
			w.add(t.Path, loc, -task)
			rest, busy = rest-task, busy-task
		}
	}
	w.add(o.path, loc, -rest)
}

// lastWait returns the wait of call n that ends last, or nil. Of the waits of a reduction it ignores
// EarlyReduce, so that it finds the wait for the last member, and Partial, which is not certain. It ignores waits for
// devices if the trace does not record which calls launched the work, because the path could not continue from there.
func lastWait(l *history.Location, n int32) (last *history.Wait) {
	list := l.Waits(n)
	for i := range list {
		x := &list[i]
		if x.Pattern == waitstate.EarlyReduce || x.Pattern == waitstate.Partial ||
			x.Pattern == waitstate.Device && !isSource(l, n, x.Cause) {
			continue
		}
		if last == nil || x.End() > last.End() {
			last = x
		}
	}
	return last
}

// isSource reports whether the end of call n depends on a call.
func isSource(l *history.Location, n int32, call waitstate.Place) (found bool) {
	l.EachSource(n, func(s *history.Source) { found = found || s.Place == call })
	return found
}

// addPartial adds the times of a location from the end of call n-1 to t, which is before the end of
// call n.
func (w *walker) addPartial(l *history.Location, loc uint32, n int32, t int64) {
	c := l.Call(n)
	switch {
	case c.Kind == history.LastCall:
		w.addShortened(loc, l.Before(n), c.Leave-t)
	case t <= c.Enter:
		w.addShortened(loc, l.Before(n), c.Enter-t)
	default:
		w.addAll(loc, l.Before(n))
		w.addInside(l, loc, n, t, 0)
	}
}

// addInside adds the times of a location in call n up to t. The time from t to the end of the call is subtracted from
// the time outside of nested regions, of which waited ticks are waits before t, and then from that in nested regions.
func (w *walker) addInside(l *history.Location, loc uint32, n int32, t, waited int64) {
	c := l.Call(n)
	own, nested, less := int64(0), int64(0), c.Leave-t
	var list []synclog.PathTime // of nested regions
	for _, x := range l.Inside(n) {
		if x.Path == c.Path {
			own += x.Time
			continue
		}
		nested += x.Time
		list = append(list, x)
	}
	fromNested := min(nested, max(0, less-max(0, own-waited)))
	w.add(c.Path, loc, own-(less-fromNested))
	w.addShortened(loc, list, fromNested)
}

// firstParallelRegion returns the path of the first parallel region that a thread visits after it begins its
// work with call n, or synclog.NoPath if it visits none.
func (w *walker) firstParallelRegion(l *history.Location, n int32) uint32 {
	for n++; n < l.Count(); n++ {
		c := l.Call(n)
		for p := c.Path; p != synclog.NoPath; p = w.h.Log.Paths[p].Parent {
			if w.h.Log.Role(p) == trace.ForkRole {
				return p
			}
		}
		if c.Begins {
			break
		}
	}
	return synclog.NoPath
}

// add adds time to a path at a location.
func (w *walker) add(path, loc uint32, time int64) {
	*w.times.At(path, loc) += time
}

func (w *walker) addAll(loc uint32, list []synclog.PathTime) {
	for _, x := range list {
		w.add(x.Path, loc, x.Time)
	}
}

// addShortened adds the times of list, shortened by less ticks in total, because these ticks lie after
// the piece. The paths to which they belong are unknown, and so they are subtracted from the longest
// times.
func (w *walker) addShortened(loc uint32, list []synclog.PathTime, less int64) {
	if less > 0 {
		list = slices.Clone(list)
		slices.SortStableFunc(list, func(a, b synclog.PathTime) int { return cmp.Compare(b.Time, a.Time) })
		for i := range list {
			x := min(less, list[i].Time)
			list[i].Time -= x
			less -= x
		}
	}
	w.addAll(loc, list)
}

// setDivisions sets the result's fields Regions, Paths, Locations and Pieces.
func (w *walker) setDivisions(r *Result, opt Options) {
	log := w.h.Log
	names, regions := log.Defs.FullNames(), log.Defs.RegionNames(opt.Rows)
	own, times := w.h.ExclusiveTimes(), w.times.Values()
	for k := range times {
		own[k] += 0 // adds an entry for each path and location on the critical path
	}
	locations := log.Locations()
	critical := map[uint32]int64{} // indexed by path
	onPath := map[uint32]int64{}   // indexed by location
	for k, t := range times {
		critical[k.Path] += t
		onPath[k.Location] += t
	}
	var impact map[uint32]float64
	if opt.Paths {
		impact = w.impact(r.Length, own, locations, critical)
	}
	for k, t := range own {
		if !opt.Paths || t == 0 && times[k] == 0 {
			continue
		}
		x := Path{Path: log.PathNames(k.Path, regions), Location: k.Location, LocationName: locationName(names, k.Location),
			Critical: times[k], Activities: min(t, critical[k.Path])}
		x.NonCritical = t - x.Activities
		if c := critical[k.Path]; c > 0 {
			x.Impact = impact[k.Path] * float64(x.Critical) / float64(c)
		}
		r.Paths = append(r.Paths, x)
	}
	slices.SortFunc(r.Paths, func(a, b Path) int {
		return cmp.Or(cmp.Compare(b.Critical, a.Critical), slices.Compare(a.Path, b.Path), cmp.Compare(a.Location,
			b.Location))
	})
	r.Regions = w.regions(times, own, len(locations), regions)
	for loc, t := range onPath {
		r.Locations = append(r.Locations, Location{loc, locationName(names, loc), t})
	}
	slices.SortFunc(r.Locations, func(a, b Location) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.Location, b.Location))
	})
	w.pieces.end, w.pieces.names = r.End, names
	r.Pieces = w.pieces
}

// impact returns for each call path the time that locations lose because the critical path spends more time in
// the call path than they do. For each location, the length of the critical path minus the location's own work is
// divided among the call paths in which the location spends less time than the critical path.
func (w *walker) impact(length int64, own map[synclog.PathLocation]int64, locations []uint32,
	critical map[uint32]int64) map[uint32]float64 {
	// Most locations visit few of the call paths. Therefore the loop over own examines only visited call paths. In
	// all other call paths, a location spends no time. The difference is then the whole time that the critical path
	// spends there. all is the sum of these times over all call paths.
	all := int64(0)
	for _, t := range critical {
		all += max(0, t)
	}
	excess, busy := map[uint32]int64{}, map[uint32]int64{}
	for k, t := range own {
		busy[k.Location] += t
		c := max(0, critical[k.Path])
		excess[k.Location] -= c - max(0, c-t)
	}
	// by location: the impact for each tick by which its time is less than that on the path
	share := map[uint32]float64{}
	whole, shares := 0.0, 0 // their sum and number
	for _, loc := range locations {
		if e := excess[loc] + all; e > 0 {
			share[loc] = float64(length-busy[loc]) / float64(e)
			whole, shares = whole+share[loc], shares+1
		}
	}
	visits := make([]synclog.PathLocation, 0, len(own))
	for k := range own {
		if critical[k.Path] > 0 {
			visits = append(visits, k)
		}
	}
	// The order of adding floats must not depend on the order of the maps.
	slices.SortFunc(visits, func(a, b synclog.PathLocation) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Location, b.Location))
	})
	out := map[uint32]float64{}
	for len(visits) > 0 {
		path, lost, others, n, counted := visits[0].Path, 0.0, whole, 0, 0
		c := critical[path]
		for ; n < len(visits) && visits[n].Path == path; n++ {
			if x, ok := share[visits[n].Location]; ok {
				lost += x * float64(max(0, c-own[visits[n]]))
				others -= x
				counted++
			}
		}
		if counted < shares {
			lost += others * float64(c)
		}
		out[path], visits = max(0, lost), visits[n:]
	}
	return out
}

// regions returns the times of the path by region, in descending order of time. own holds the exclusive times of all
// locations.
func (w *walker) regions(times, own map[synclog.PathLocation]int64, locations int, names []string) []Region {
	region := func(path uint32) uint32 {
		if path == synclog.NoPath {
			return trace.NoRef
		}
		return w.h.Log.Paths[path].Region
	}
	critical, all := map[uint32]int64{}, map[uint32]trace.Ticks{}
	for k, t := range times {
		critical[region(k.Path)] += t
	}
	for k, t := range own {
		all[region(k.Path)] = all[region(k.Path)].Plus(trace.TicksOf(t))
	}
	out := []Region{}
	for r, t := range critical {
		if t == 0 {
			continue
		}
		x := Region{Time: t, Imbalance: math.Max(0, float64(t)-all[r].Float()/float64(locations))}
		if int64(r) < int64(len(names)) {
			x.Region = names[r]
		}
		out = append(out, x)
	}
	slices.SortFunc(out, func(a, b Region) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.Region, b.Region))
	})
	return out
}
