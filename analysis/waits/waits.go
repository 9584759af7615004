package waits

import (
	"cmp"
	"context"

	"github.com/weft-trace/weft/analysis/internal/durations"
	"github.com/weft-trace/weft/analysis/internal/history"
	"github.com/weft-trace/weft/analysis/internal/synclog"
	"github.com/weft-trace/weft/analysis/internal/waitstate"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/trace"
)

// Options are the settings of the analysis.
type Options struct {
	// Window limits the result to the time in it. A wait belongs to the window in which it begins. Nil means
	// the whole trace. [Find] reads the trace up to the end of the window, and further until it knows the
	// waits in the window.
	Window *trace.Window
	// Locations reports whether the waits of a location count. Nil means that the waits of all
	// locations count.
	Locations func(location uint32) bool
	// Regions limits the result to waits in visits of regions for whose rows Regions returns true, and to
	// waits in calls below these visits. Nil means all waits.
	Regions func(row uint32) bool
	// Rows maps regions to the rows that count as one. Nil counts each region by itself.
	Rows *trace.Rows
	// Worst is the greatest number of waits of each pattern that are listed.
	Worst int
	// Bins is the number of equal parts of the window, or of the trace without a window, for which
	// waits are summed. 0 means none.
	Bins int
	// Each, if it is not nil, is called for each counted wait of a positive length, in ticks, or for each part of a wait
	// between tasks. It is not called for waits of a pattern that is part of another pattern.
	Each func(w Interval)
	// Part is set if the events are those of a part of a trace. The history of [FindWithHistory] then has the collective
	// operations that go on after the part.
	Part bool
}

// Interval is a wait of a location, or a part of a wait between tasks. Times are in ticks.
type Interval struct {
	Location      uint32 // index into Definitions.Locations
	Begin, Length int64
	Cause         uint32 // location for which Location waits
	// time at which the location Cause begins the call that ends the wait, releases the lock, or ends the work
	CauseTime int64
}

// Patterns returns the names of all patterns, in the order in which results list them.
func Patterns() []string {
	list := make([]string, waitstate.Patterns)
	for i := range list {
		list[i] = waitstate.Pattern(i).String()
	}
	return list
}

// unjudged holds texts about the kinds of events whose waits cannot be computed.
var unjudged = [waitstate.UnjudgedKinds]struct {
	one, many string // the singular and the plural of the noun
	reason    string // %s stands for the trace, or for the selected part of it
}{
	waitstate.BareReceive: {"receive", "receives",
		"not inside of a call of a communication library, so the begin of the wait is unknown"},
	waitstate.UnmatchedReceive: {"receive", "receives", "%s has no matching send"},
	waitstate.UnmatchedSend:    {"send", "sends", "%s has no matching receive"},
	waitstate.UncompletedRequest: {"non-blocking send or receive", "non-blocking sends and receives",
		"%s does not record the completion"},
	waitstate.BareCollective: {"collective call", "collective calls",
		"without duration in the trace, and not inside of a call of a communication library"},
	waitstate.UnmatchedCollective: {"collective call", "collective calls",
		"calls of other members are missing, or members disagree about the operation"},
	waitstate.UnendedCollective: {"collective call", "collective calls", "%s does not record the end"},
	waitstate.GroupsCollective: {"collective call", "collective calls",
		"the communicator connects two groups of processes, which weft does not judge"},
	waitstate.OtherCollective: {"collective call", "collective calls",
		"who waits for whom is not known in operations of this kind, such as the creation of a communicator"},
	waitstate.UnknownBarrier: {"barrier call", "barrier calls",
		"the trace does not record which calls belong to the same barrier"},
	waitstate.IncompleteBarrier: {"barrier call", "barrier calls",
		"the trace has no calls of other threads that belong to the same barrier"},
	waitstate.UnrecordedWindow: {"call of one-sided synchronisation", "calls of one-sided synchronisation",
		"no events are recorded inside, so the window and the partners are unknown"},
	waitstate.UnmatchedWindow: {"call of one-sided synchronisation", "calls of one-sided synchronisation",
		"the calls of the other side or the end are missing, or the group is unknown"},
	waitstate.UnknownChange: {"call that waits for a change of a window", "calls that wait for changes of windows",
		"the trace does not record which access made the change"},
	waitstate.UnknownDevice: {"call that waits for a device", "calls that wait for devices",
		"the trace has no streams of devices, or does not record to which process they belong"},
	waitstate.UnknownLaunch: {"kernel or transfer of a device", "kernels and transfers of devices",
		"the trace does not record the call that launched it"},
}

// sum is a number of waits with their total time in ticks.
type sum struct {
	count int64
	time  trace.Ticks
}

// pairKey identifies a waiting location and the location for which it waits.
type pairKey struct{ location, cause uint32 }

// lastKey identifies a location that came last to operations of a communicator.
type lastKey struct {
	communicator uint64
	location     uint32
}

// patternSums holds the sums of the waits of a pattern, in ticks.
type patternSums struct {
	total   durations.Total
	lengths durations.Histogram
	begun   int64 // number of waits that begin in the window
	// squares is the sum of the squares of the lengths.
	squares       float64
	places        map[synclog.PathLocation]*sum
	pairs         map[pairKey]*sum
	communicators map[uint64]*sum
	worst         []waitstate.Wait
	bins          []trace.Ticks
}

// compareWaits compares waits by length. Of waits with equal lengths, the wait that begins first is the greater
// one.
func compareWaits(w, o *waitstate.Wait) int {
	return cmp.Or(cmp.Compare(w.Length, o.Length), cmp.Compare(o.Begin, w.Begin),
		cmp.Compare(o.Place.Location, w.Place.Location), cmp.Compare(o.Place.Number, w.Place.Number),
		cmp.Compare(o.Cause.Location, w.Cause.Location))
}

// adder sums the waits of a trace.
type adder struct {
	log      *synclog.Log
	defs     *trace.Definitions
	opt      Options
	from, to int64 // times that the bins cover
	// names holds the full names of locations, and regions the names of regions.
	names    []string
	regions  []string
	patterns [waitstate.Patterns]patternSums
	last     map[lastKey]*sum
	joint    map[uint64]int64 // indexed by communicator: number of operations in which all members wait for all others
	counts   waitstate.Result
	inside   []bool // indexed by path: whether it is in one of the wanted regions
}

// Find finds the wait states of a trace. The error comes from the scan, the temporary file or the context.
func Find(ctx context.Context, events format.Events, opt Options) (*Result, error) {
	log, err := synclog.Read(ctx, events, synclog.Options{Rows: opt.Rows, Window: opt.Window})
	if err != nil {
		return nil, err
	}
	defer log.Close()
	a := newAdder(log, opt)
	if a.counts, err = waitstate.Run(ctx, log, a.hooks()); err != nil {
		return nil, err
	}
	return a.result(), nil
}

// FindWithHistory finds the wait states of a trace. It also returns the history of the trace's calls, which
// other analyses need. In this way, all of these analyses need only one scan. The caller must close the
// history. The error is the error of [history.Build].
func FindWithHistory(ctx context.Context, events format.Events, opt Options) (*Result, *history.History, error) {
	var a *adder
	h, err := history.Build(ctx, events, history.Options{Rows: opt.Rows, Window: opt.Window, Part: opt.Part,
		Hooks: func(log *synclog.Log) waitstate.Hooks {
			a = newAdder(log, opt)
			return a.hooks()
		}})
	if err != nil {
		return nil, nil, err
	}
	a.counts = h.Counts
	return a.result(), h, nil
}

// hooks returns the functions by which package waitstate passes waits to the sums.
func (a *adder) hooks() waitstate.Hooks {
	return waitstate.Hooks{Window: a.opt.Window, Wait: a.add, Operation: a.addOperation}
}

func newAdder(log *synclog.Log, opt Options) *adder {
	d := log.Defs
	a := &adder{log: log, defs: d, opt: opt, names: d.FullNames(), regions: d.RegionNames(opt.Rows),
		last:  map[lastKey]*sum{},
		joint: map[uint64]int64{}}
	if opt.Regions != nil {
		a.inside = make([]bool, len(log.Paths))
		for i, p := range log.Paths { // a parent has a lower index than its children
			a.inside[i] = p.Parent != synclog.NoPath && a.inside[p.Parent] || p.Region != trace.NoRef && opt.Regions(p.Region)
		}
	}
	a.from, a.to = opt.Window.Clip(log.First), opt.Window.Clip(log.Last)
	for i := range a.patterns {
		a.patterns[i] = patternSums{places: map[synclog.PathLocation]*sum{}, pairs: map[pairKey]*sum{},
			communicators: map[uint64]*sum{}}
	}
	return a
}

// has reports whether the waits of a location count.
func (a *adder) has(location uint32) bool { return a.opt.Locations == nil || a.opt.Locations(location) }

// wants reports whether the options count the waits of a location in a path.
func (a *adder) wants(location, path uint32) bool {
	return a.has(location) && (a.opt.Regions == nil || path < uint32(len(a.inside)) && a.inside[path])
}

// add adds a wait to the sums if the options count it.
func (a *adder) add(w *waitstate.Wait) {
	if w.Pattern.Explains() || !a.wants(w.Place.Location, w.Path) {
		return
	}
	window := a.opt.Window
	if w.Pattern.AllForAll() && w.Length > 0 && window.Has(w.CauseTime) {
		a.lastOf(w.Communicator, w.Cause.Location).time.Add(w.Length)
	}
	length := w.Within(window)
	begins := window.Has(w.Begin)
	if length <= 0 && !begins {
		return
	}
	s := &a.patterns[w.Pattern]
	s.count(w, length, begins)
	if _, part := w.Pattern.PartOf(); a.opt.Each != nil && !part && w.Length > 0 {
		w.Each(func(begin, end int64) {
			a.opt.Each(Interval{w.Place.Location, begin, end - begin, w.Cause.Location, w.CauseTime})
		})
	}
	if begins {
		s.keepWorst(w, a.opt.Worst)
	}
	if a.opt.Bins > 0 {
		w.Each(func(begin, end int64) { a.addToBins(s, begin, end) })
	}
}

// addOperation adds an operation in which all members wait for all others to the counts of the member
// that arrived last.
func (a *adder) addOperation(o *waitstate.Operation) {
	if !o.Collective || o.Relation != waitstate.AllWait {
		return
	}
	if last := waitstate.LastToArrive(o.Members); a.opt.Window.Has(last.Arrival) {
		a.joint[o.Communicator]++
		a.lastOf(o.Communicator, last.Place.Location).count++
	}
}

// lastOf returns the sum for the operations of a communicator to which a location came last.
func (a *adder) lastOf(communicator uint64, location uint32) *sum {
	k := lastKey{communicator, location}
	if a.last[k] == nil {
		a.last[k] = &sum{}
	}
	return a.last[k]
}

// count adds a wait. length is the part of the wait that counts, in ticks. begins must be set if the wait
// begins in the window.
func (s *patternSums) count(w *waitstate.Wait, length int64, begins bool) {
	s.total.Add(length)
	s.lengths.Add(length)
	s.squares += float64(length) * float64(length)
	n := int64(1)
	if !begins {
		n = 0
	}
	s.begun += n
	increase(s.places, synclog.PathLocation{Path: w.Path, Location: w.Place.Location}, n, length)
	increase(s.pairs, pairKey{w.Place.Location, w.Cause.Location}, n, length)
	if w.HasCommunicator {
		increase(s.communicators, w.Communicator, n, length)
	}
}

// increase adds n waits of a total length to the sum of a key.
func increase[K comparable](sums map[K]*sum, k K, n, length int64) {
	s := sums[k]
	if s == nil {
		s = &sum{}
		sums[k] = s
	}
	s.count += n
	s.time.Add(length)
}

// keepWorst keeps the n longest waits in a heap whose first element is the shortest.
func (s *patternSums) keepWorst(w *waitstate.Wait, n int) {
	list := s.worst
	if len(list) < n {
		list = append(list, *w)
		for i := len(list) - 1; i > 0; {
			up := (i - 1) / 2
			if compareWaits(&list[up], &list[i]) <= 0 {
				break
			}
			list[up], list[i] = list[i], list[up]
			i = up
		}
		s.worst = list
		return
	}
	if len(list) == 0 || compareWaits(w, &list[0]) <= 0 {
		return
	}
	list[0] = *w
	for i := 0; ; {
		least := i
		for _, c := range [2]int{2*i + 1, 2*i + 2} {
			if c < len(list) && compareWaits(&list[c], &list[least]) < 0 {
				least = c
			}
		}
		if least == i {
			return
		}
		list[i], list[least] = list[least], list[i]
		i = least
	}
}

// addToBins adds a time to the bins that it overlaps.
func (a *adder) addToBins(s *patternSums, from, to int64) {
	if s.bins == nil {
		s.bins = make([]trace.Ticks, a.opt.Bins)
	}
	from, to = max(from, a.from), min(to, a.to)
	if from >= to {
		return
	}
	width := float64(uint64(a.to)-uint64(a.from)) / float64(a.opt.Bins)
	i := max(0, min(int(float64(uint64(from)-uint64(a.from))/width), a.opt.Bins-1))
	for i > 0 && a.binStart(i) > from {
		i--
	}
	for ; i < a.opt.Bins && a.binStart(i) < to; i++ {
		if n := min(to, a.binStart(i+1)) - max(from, a.binStart(i)); n > 0 {
			s.bins[i].Add(n)
		}
	}
}
