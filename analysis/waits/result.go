package waits

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/weft-trace/weft/analysis/internal/synclog"
	"github.com/weft-trace/weft/analysis/internal/waitstate"
	"github.com/weft-trace/weft/internal/plural"
	"github.com/weft-trace/weft/trace"
)

// Result is the result of the analysis. Times and durations are in ticks of Clock.
type Result struct {
	Clock trace.Clock `json:"-"`
	// Locations is the number of locations that have events in the window, or before and after it. Time is the
	// sum of the times from the first to the last event of each of these locations.
	Locations int         `json:"locations"`
	Time      trace.Ticks `json:"time"`
	// Judged is the number of calls whose waits could be computed, including waits of length 0.
	// Judged, Violations and Unjudged count the calls that begin in the window.
	Judged int64 `json:"judged"`
	// Waiting is the sum of the waits of all patterns that are not part of another pattern.
	Waiting  trace.Ticks `json:"waiting"`
	Patterns []Pattern   `json:"patterns"` // patterns with waits, in the order of docs/analyses/waits.md
	// Late lists, for each communicator, the locations that were the last to begin a collective
	// operation in which all members wait for all others, in descending order of Lost.
	Late []LateArrivals `json:"late"`
	// Violations counts the messages and operations whose times contradict causality, because
	// clocks differ. Their waits are limited to their calls. weft align corrects the clocks.
	Violations Violations `json:"violations"`
	// Unjudged counts the events whose waits cannot be computed because the trace lacks data.
	Unjudged []Unjudged `json:"unjudged"`
	part     bool       // set for a window of a trace that has calls, even if the window has none
}

// Pattern holds the waits of one pattern. Times are in ticks.
type Pattern struct {
	Pattern string `json:"pattern"`
	// PartOf is the pattern that includes the waits of this pattern, or "".
	PartOf     string      `json:"partOf,omitempty"`
	Count      int64       `json:"count"`
	Time       trace.Ticks `json:"time"`
	Statistics Statistics  `json:"statistics"`
	// The following lists divide Time, each in descending order of time.
	Regions       []Share `json:"regions"`
	Paths         []Share `json:"paths"`
	Locations     []Share `json:"locations"`
	PathLocations []Share `json:"pathLocations"`
	Communicators []Share `json:"communicators"`
	Pairs         []Share `json:"pairs"` // by waiting location and by the location for which it waits
	// Worst holds at most Options.Worst waits. These are the longest waits, in descending order of length.
	Worst []Wait `json:"worst"`
	// Bins holds the waiting times in equal parts of the window or, without one, of the trace.
	Bins []Bin `json:"bins,omitempty"`
}

// Statistics describes the lengths of the waits of a pattern, in ticks. The quartiles are exact up
// to 255 ticks, and within 0.4 % above.
type Statistics struct {
	Min      int64   `json:"min"`
	Max      int64   `json:"max"`
	Mean     float64 `json:"mean"`
	Variance float64 `json:"variance"` // of all waits, in square ticks
	Quartile int64   `json:"lowerQuartile"`
	Median   int64   `json:"median"`
	Upper    int64   `json:"upperQuartile"`
}

// Share is the part of a pattern's waits at the place that its first fields name. Fields that do
// not apply are nil or empty.
type Share struct {
	Region       string      `json:"region,omitempty"`
	Path         []string    `json:"path,omitzero"` // outermost region first
	Location     *uint32     `json:"location,omitempty"`
	LocationName string      `json:"locationName,omitempty"`
	Cause        *uint32     `json:"cause,omitempty"` // location for which Location waits
	CauseName    string      `json:"causeName,omitempty"`
	Communicator string      `json:"communicator,omitempty"`
	Count        int64       `json:"count"`
	Time         trace.Ticks `json:"time"`
}

// Wait is a single wait. Times are in ticks.
type Wait struct {
	Location     uint32   `json:"location"` // index into Definitions.Locations
	LocationName string   `json:"locationName"`
	Path         []string `json:"path"`
	Begin        int64    `json:"begin"`
	Time         int64    `json:"time"`
	Cause        uint32   `json:"cause"` // location for which Location waits
	CauseName    string   `json:"causeName"`
	CauseTime    int64    `json:"causeTime"` // time at which Cause begins the call that ends the wait
}

// Bin is the waiting time in a part of the window or trace, in ticks.
type Bin struct {
	From int64       `json:"from"`
	To   int64       `json:"to"`
	Time trace.Ticks `json:"time"`
}

// LateArrivals counts the collective operations of a communicator to which a location came last.
type LateArrivals struct {
	Communicator string `json:"communicator"`
	Location     uint32 `json:"location"`
	LocationName string `json:"locationName"`
	Operations   int64  `json:"operations"` // number of operations to which the location came last
	// AllOperations is the number of operations on the communicator in which all members wait for all others.
	AllOperations int64 `json:"of"`
	// Lost is the number of ticks that the other members waited in the operations to which the location
	// came last.
	Lost trace.Ticks `json:"lost"`
}

// Violations counts contradictions of causality. Worst is the greatest one in ticks.
type Violations = waitstate.Violations

// Unjudged counts events of one sort whose waits cannot be computed for one reason.
type Unjudged struct {
	What   string `json:"what"` // a noun in the plural
	Count  int64  `json:"count"`
	Reason string `json:"reason"`
	// Time is the time of the calls in ticks. It is 0 for messages, non-blocking operations and devices.
	Time trace.Ticks `json:"time,omitzero"`
	one  string      // the singular of What
}

// UnknownLaunches reports whether it is unknown which calls launched some of the work of devices.
func (r *Result) UnknownLaunches() bool {
	reason := unjudged[waitstate.UnknownLaunch].reason
	return slices.ContainsFunc(r.Unjudged, func(u Unjudged) bool { return u.Reason == reason })
}

// NothingJudged returns a sentence for a trace in which no wait can be judged. Texts about the events in Unjudged can
// follow it.
func (r *Result) NothingJudged() string {
	if len(r.Unjudged) > 0 {
		return "found only events whose waits cannot be judged, expected others"
	}
	return "found no messages, collective operations, barriers or locks in calls that take time, expected some of them; " +
		"waits cannot be judged"
}

// Missing returns the reason why no wait of a trace can be judged, or "" if some waits can be judged. It also
// returns "" for a window of a trace that has barriers or calls of communication libraries.
func (r *Result) Missing() string {
	if r.Judged > 0 || r.part {
		return ""
	}
	text := r.NothingJudged()
	for _, u := range r.Unjudged {
		text += "; " + u.Text(r.Clock)
	}
	return text
}

// Text returns a text with the number of events and the reason.
func (u *Unjudged) Text(clock trace.Clock) string {
	text := plural.Of(u.Count, u.one, u.What)
	if u.Time.Float() > 0 {
		text += " with a total time of " + clock.FormatSum(u.Time)
	}
	return text + ": " + u.Reason
}

// result returns the sums as a Result.
func (a *adder) result() *Result {
	r := &Result{Clock: a.defs.Clock, Patterns: []Pattern{}, Late: []LateArrivals{}, Unjudged: []Unjudged{},
		Judged: a.counts.Judged, part: a.opt.Window != nil && (synclog.HasCalls(a.defs) || a.defs.Communicator.Len() > 0),
		Violations: a.counts.Violations}
	for _, loc := range a.log.Locations() {
		first, last, _ := a.log.Extent(loc)
		if w := a.opt.Window; !a.has(loc) || w != nil && (last < w.From || !trace.Before(first, w.To)) {
			continue
		}
		r.Locations++
		r.Time = r.Time.Plus(trace.TicksOf(a.opt.Window.Clip(last)).Minus(trace.TicksOf(a.opt.Window.Clip(first))))
	}
	for p := range waitstate.Patterns {
		s := &a.patterns[p]
		if s.total.Count == 0 {
			continue
		}
		if _, part := p.PartOf(); !part {
			r.Waiting = r.Waiting.Plus(s.total.Sum())
		}
		r.Patterns = append(r.Patterns, a.pattern(p, s))
	}
	a.addLate(r)
	read := "the trace"
	if a.opt.Part {
		read = "the selected part of the trace"
	}
	for k, u := range unjudged {
		if n := a.counts.Unjudged[k]; n > 0 {
			r.Unjudged = append(r.Unjudged, Unjudged{What: u.many, Count: n, Reason: strings.Replace(u.reason, "%s", read, 1),
				one: u.one, Time: a.counts.UnjudgedTime[k]})
		}
	}
	for _, x := range a.log.Silent {
		if a.defs.RoleOf(x.Region) == trace.BarrierRole && !x.Unended {
			continue // counted as barriers
		}
		name, reason := a.regionName(x.Region), "no events are recorded inside, so the partners are unknown"
		if role := a.defs.RoleOf(x.Region); role == trace.LockRole || role == trace.ConditionRole {
			reason = "the trace does not record which lock, condition or semaphore they wait for"
		}
		if x.Unended {
			reason = "they go on after the end of " + read + ", so it is unknown for what they wait"
		}
		if a.defs.MPICall(x.Region) == "intercomm_create" && !a.connectsGroups() {
			reason = "the trace does not show which communicators they create, so messages in these communicators have " +
				"wrong partners, and waits in their collective operations may be wrong"
		}
		r.Unjudged = append(r.Unjudged, Unjudged{What: "calls of " + name, one: "call of " + name, Count: x.Visits,
			Reason: reason, Time: x.Time})
	}
	return r
}

// connectsGroups reports whether a communicator connects two groups of locations.
func (a *adder) connectsGroups() bool {
	for c := range a.defs.Communicator.Len() {
		if a.defs.ConnectsGroups(uint64(c)) {
			return true
		}
	}
	return false
}

// pattern returns the sums of a pattern.
func (a *adder) pattern(k waitstate.Pattern, s *patternSums) Pattern {
	t := &s.total
	n := float64(t.Count)
	mean := t.Sum().Float() / n
	p := Pattern{Pattern: k.String(), Count: s.begun, Time: t.Sum(),
		Statistics: Statistics{Min: t.Min, Max: t.Max, Mean: mean, Variance: max(0, s.squares/n-mean*mean),
			Quartile: s.lengths.Percentile(25, t), Median: s.lengths.Percentile(50, t), Upper: s.lengths.Percentile(75, t)}}
	if whole, part := k.PartOf(); part {
		p.PartOf = whole.String()
	}
	regions, paths, locations := map[uint32]*sum{}, map[uint32]*sum{}, map[uint32]*sum{}
	for k, x := range s.places {
		region := trace.NoRef
		if k.Path < uint32(len(a.log.Paths)) {
			region = a.log.Paths[k.Path].Region
		}
		merge(regions, region, x)
		merge(paths, k.Path, x)
		merge(locations, k.Location, x)
	}
	p.Regions = shares(regions, func(r uint32) Share { return Share{Region: a.regionName(r)} })
	p.Paths = shares(paths, func(path uint32) Share { return Share{Path: a.log.PathNames(path, a.regions)} })
	p.Locations = shares(locations, func(l uint32) Share { return Share{Location: &l, LocationName: a.locationName(l)} })
	p.PathLocations = shares(s.places, func(k synclog.PathLocation) Share {
		return Share{Path: a.log.PathNames(k.Path, a.regions), Location: &k.Location,
			LocationName: a.locationName(k.Location)}
	})
	p.Communicators = shares(s.communicators, func(c uint64) Share { return Share{Communicator: a.communicatorName(c)} })
	p.Pairs = shares(s.pairs, func(k pairKey) Share {
		return Share{Location: &k.location, LocationName: a.locationName(k.location),
			Cause: &k.cause, CauseName: a.locationName(k.cause)}
	})
	p.Worst = make([]Wait, 0, len(s.worst))
	slices.SortFunc(s.worst, func(a, b waitstate.Wait) int { return compareWaits(&b, &a) })
	for i := range s.worst {
		w := &s.worst[i]
		p.Worst = append(p.Worst, Wait{w.Place.Location, a.locationName(w.Place.Location), a.log.PathNames(w.Path,
			a.regions), w.Begin,
			w.Length, w.Cause.Location, a.locationName(w.Cause.Location), w.CauseTime})
	}
	if len(s.bins) > 0 {
		for i := range s.bins {
			p.Bins = append(p.Bins, Bin{a.binStart(i), a.binStart(i + 1), s.bins[i]})
		}
	}
	return p
}

// merge adds x to the sum of a key.
func merge[K comparable](to map[K]*sum, k K, x *sum) {
	s := to[k]
	if s == nil {
		s = &sum{}
		to[k] = s
	}
	s.count += x.count
	s.time = s.time.Plus(x.time)
}

// shares returns the sums as shares, in descending order of time. Function share returns the fields
// that name a key.
func shares[K comparable](sums map[K]*sum, share func(K) Share) []Share {
	list := make([]Share, 0, len(sums))
	for k, s := range sums {
		x := share(k)
		x.Count, x.Time = s.count, s.time
		list = append(list, x)
	}
	number := func(p *uint32) int64 {
		if p == nil {
			return -1
		}
		return int64(*p)
	}
	slices.SortFunc(list, func(a, b Share) int {
		return cmp.Or(b.Time.Cmp(a.Time), cmp.Compare(b.Count, a.Count), cmp.Compare(a.Region, b.Region),
			slices.Compare(a.Path, b.Path), cmp.Compare(number(a.Location), number(b.Location)),
			cmp.Compare(number(a.Cause), number(b.Cause)), cmp.Compare(a.Communicator, b.Communicator))
	})
	return list
}

// addLate adds the locations that came last to operations.
func (a *adder) addLate(r *Result) {
	for k, x := range a.last {
		r.Late = append(r.Late, LateArrivals{a.communicatorName(k.communicator), k.location,
			a.locationName(k.location), x.count, a.joint[k.communicator], x.time})
	}
	slices.SortFunc(r.Late, func(a, b LateArrivals) int {
		return cmp.Or(b.Lost.Cmp(a.Lost), cmp.Compare(b.Operations, a.Operations), cmp.Compare(a.Communicator,
			b.Communicator),
			cmp.Compare(a.Location, b.Location))
	})
}

// outside is the name of the region of waits outside of all regions.
const outside = "(outside of all regions)"

func (a *adder) regionName(r uint32) string {
	if r == trace.NoRef {
		return outside
	}
	if int64(r) < int64(len(a.regions)) {
		return a.regions[r]
	}
	return "unknown"
}

func (a *adder) locationName(l uint32) string {
	if a.defs.Locations.Has(l) {
		return a.names[l]
	}
	return "unknown"
}

func (a *adder) communicatorName(c uint64) string {
	if c >= uint64(a.defs.Communicator.Len()) {
		return "unknown"
	}
	x := a.defs.Communicator.At(uint32(c))
	return cmp.Or(x.Name, x.ID)
}

// binStart returns the time at which bin i begins.
func (a *adder) binStart(i int) int64 {
	span := float64(uint64(a.to)-uint64(a.from)) * float64(i) / float64(a.opt.Bins)
	return a.from + int64(min(math.Round(span), float64(uint64(a.to)-uint64(a.from))))
}
