// Package iterations compares the times of call paths that repeat: the times of several locations in the same
// iteration, and the times of the same location in successive iterations. It proposes other times, for package retime:
// those of a run in which no location is late, or in which the times do not grow.
package iterations

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/weft-trace/weft/analysis/internal/history"
	"github.com/weft-trace/weft/analysis/internal/synclog"
	"github.com/weft-trace/weft/analysis/internal/waitstate"
)

// LeastShare is the least share that a series has of the time of all threads and streams of devices. Series with less
// time are not found.
const LeastShare = 0.02

// Times holds the exclusive times of the call paths of a history.
type Times struct {
	h *history.History
	// own is the time of each path at each location, without waits, in ticks.
	own           map[synclog.PathLocation]int64
	communicating []bool // indexed by call path: whether it ends in or inside of a call of a communication library
	later         []bool // whether a location is a thread other than the first one of its process
	// streamsByProcess holds the streams of devices of each process that has some.
	streamsByProcess [][]uint32
	all              float64
	series           []*series
	// minor holds the series with less time, if they have paths of series.
	minor []*series
}

// New returns the times of a history. own holds its exclusive times, see [history.History.ExclusiveTimes]; the caller
// must not change them. New uses 16 bytes for each time that belongs to a series. The error comes from a temporary
// file.
func New(h *history.History, own map[synclog.PathLocation]int64) (*Times, error) {
	x := &Times{h: h, own: own, communicating: communicatingPaths(h.Log), later: h.Log.Defs.LaterThreads(),
		streamsByProcess: h.Log.Defs.Streams().Lists()}
	for i, l := range h.Locations {
		loc, d := uint32(i), h.Log.Defs
		if l != nil && !h.Log.Sleeps(loc) && (!d.Locations.Has(loc) || d.Locations.At(loc).Kind.IsProcessor()) {
			x.all += float64(h.Log.Last - h.Log.First)
		}
	}
	return x, x.findSeries()
}

// All returns the time of all threads and streams of devices in ticks: the runtime times their number. Threads that
// sleep in the whole piece of a trace do not count.
func (x *Times) All() float64 { return x.all }

// series holds the times that locations spend in a call path before each call of another path, in the order of
// the calls, or in each visit of a path by streams of devices. The n-th times of all locations belong to the same
// iteration.
type series struct {
	path, next uint32 // next is the path of the calls that end the times of path, or path itself
	iterations int
	// total is the sum of all times in ticks.
	total float64
	times map[uint32][]timeBefore // by location; only for locations that have all iterations
	// locations holds the keys of times in ascending order. Sums over them are the same in each run.
	locations []uint32
}

// timeBefore is a time in ticks that a location spends in a path before or, for work of devices, in the call with the
// number call.
type timeBefore struct {
	call int32
	time int64
}

// fewestIterations is the least number of iterations in which a trend is searched. In five iterations, the test of
// Mann and Kendall never finds one.
const fewestIterations = 6

// findSeries finds the series with a sufficient share of the time, ordered by path. The error comes from a temporary
// file.
func (x *Times) findSeries() error {
	much := make([]float64, len(x.h.Log.Paths))
	for s, t := range x.own {
		if int64(s.Path) < int64(len(much)) && !x.Synchronises(s.Path) {
			much[s.Path] += float64(t)
		}
	}
	type key struct{ path, next uint32 }
	byKey := map[key]*series{}
	// recent holds, by path, the list to which a time of the path was added last.
	recent := make([]struct {
		next, location uint32
		list           *[]timeBefore
	}, len(much))
	var times []synclog.PathTime
	for loc, l := range x.h.Locations {
		if l == nil {
			continue
		}
		lists := map[key]*[]timeBefore{}
		chunks := x.h.Log.Chunks(uint32(loc))
		end := int32(0)
		for i := range chunks {
			end = chunks[i].First + chunks[i].Calls
		}
		for i := range chunks {
			n := chunks[i].First
			var err error
			times, err = x.h.Log.ReadChunk(uint32(loc), &chunks[i], times[:0], func(c *synclog.Call) {
				list := c.Before
				if c.Device && !c.Idle { // each piece of work is an iteration
					list = append(list[:len(list):len(list)], c.Inside...)
				}
				for _, t := range list {
					if int64(t.Path) >= int64(len(much)) || much[t.Path] < LeastShare*x.all {
						continue
					}
					r := &recent[t.Path]
					if r.list == nil || r.next != c.Path || r.location != uint32(loc) {
						k := key{t.Path, c.Path}
						if lists[k] == nil {
							lists[k] = new([]timeBefore)
						}
						r.next, r.location, r.list = c.Path, uint32(loc), lists[k]
					}
					if len(*r.list) == cap(*r.list) {
						*r.list = enlarge(*r.list, int(end-n))
					}
					*r.list = append(*r.list, timeBefore{n, t.Time})
				}
				n++
			})
			if err != nil {
				return err
			}
		}
		for k, list := range lists {
			if byKey[k] == nil {
				byKey[k] = &series{path: k.path, next: k.next, times: map[uint32][]timeBefore{}}
			}
			byKey[k].times[uint32(loc)] = *list
		}
	}
	for _, s := range byKey {
		s.chooseIterations()
		x.series = append(x.series, s)
	}
	slices.SortFunc(x.series, func(a, b *series) int {
		return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.next, b.next))
	})
	for list := x.series; len(list) > 0; {
		n := 1
		for n < len(list) && list[n].path == list[0].path {
			n++
		}
		x.removeUnlike(list[:n])
		list = list[n:]
	}
	major := map[uint32]bool{} // the paths of series with sufficient time
	for _, s := range x.series {
		for _, loc := range s.locations {
			s.total += s.sum(loc)
		}
		major[s.path] = major[s.path] || s.total >= LeastShare*x.all
	}
	x.series = slices.DeleteFunc(x.series, func(s *series) bool {
		little := s.total < LeastShare*x.all
		if little && major[s.path] {
			x.minor = append(x.minor, s)
		}
		return little
	})
	return nil
}

// chooseIterations sets the number of iterations of a series and its locations, which have all iterations. The
// locations with other numbers leave the series. The remaining ones have the most time together: a master that only
// distributes tasks has more iterations than its workers, and hardly any time.
func (s *series) chooseIterations() {
	totals := map[int]float64{}                             // the time of the locations by their number of iterations
	for _, loc := range slices.Sorted(maps.Keys(s.times)) { // the order matters for rounding
		totals[len(s.times[loc])] += s.sum(loc)
	}
	for n, total := range totals {
		if most := totals[s.iterations]; s.iterations == 0 || total > most || total == most && n > s.iterations {
			s.iterations = n
		}
	}
	maps.DeleteFunc(s.times, func(_ uint32, l []timeBefore) bool { return len(l) != s.iterations })
	s.locations = slices.Sorted(maps.Keys(s.times))
}

// leastLikeness is the least share of a series in the time of its path at a location, in relation to the greatest share
// at a location.
const leastLikeness = 0.05

// removeUnlike removes locations from series of a path that spend the time of the path before other calls. For example,
// ranks with even numbers compute before they send, and those with odd numbers before they receive. The short times
// that the latter spend between receiving and sending are no computations. A location remains if it spends its time as
// the others do, and less of it in the series.
func (x *Times) removeUnlike(list []*series) {
	shares := make([]map[uint32]float64, len(list))
	most := map[uint32]int{} // by location: the index of the series with its greatest share
	for i, s := range list {
		shares[i] = map[uint32]float64{}
		for loc := range s.times {
			share := s.sum(loc) / max(1, float64(x.own[synclog.PathLocation{Path: s.path, Location: loc}]))
			shares[i][loc] = share
			if k, ok := most[loc]; !ok || share > shares[k][loc] {
				most[loc] = i
			}
		}
	}
	for i, s := range list {
		leader := s.locations[0]
		for _, loc := range s.locations {
			if shares[i][loc] > shares[i][leader] {
				leader = loc
			}
		}
		s.locations = slices.DeleteFunc(s.locations, func(loc uint32) bool {
			other := shares[most[loc]]
			unlike := shares[i][loc] < leastLikeness*shares[i][leader] && other[leader] < leastLikeness*other[loc]
			if unlike {
				delete(s.times, loc)
			}
			return unlike
		})
	}
}

// Stretch returns the new time of a path between the end of the call before p and the end of p. t is the time in
// ticks. See [retime.Options].
type Stretch = func(p waitstate.Place, path uint32, t int64) int64

// withTimes returns a function that changes the times of a series by f. The arguments of f are the location, the number
// of the iteration and the time in ticks.
func (s *series) withTimes(f func(loc uint32, iteration int, t int64) int64) Stretch {
	// indexed by location: its times, and the iteration that was found last
	times := make([][]timeBefore, s.locations[len(s.locations)-1]+1)
	for loc, l := range s.times {
		times[loc] = l
	}
	latest := make([]int, len(times))
	return func(p waitstate.Place, path uint32, t int64) int64 {
		if path != s.path || int64(p.Location) >= int64(len(times)) {
			return t
		}
		i, ok := findCall(times[p.Location], p.Number, latest[p.Location])
		if !ok {
			return t
		}
		latest[p.Location] = i
		return f(p.Location, i, t)
	}
}

// findCall returns the index of the time before a call. It first looks at the index near and the one after it, because
// the calls of a location usually come in order. ok is false if there is no such time.
func findCall(list []timeBefore, call int32, near int) (i int, ok bool) {
	for i := near; i < min(near+2, len(list)); i++ {
		if list[i].call == call {
			return i, true
		}
	}
	return slices.BinarySearchFunc(list, call, func(x timeBefore, n int32) int { return cmp.Compare(x.call, n) })
}

// medians returns the lower median of the locations' times in each iteration.
func (s *series) medians() []int64 {
	list := make([]int64, 0, len(s.locations))
	medians := make([]int64, s.iterations)
	for i := range medians {
		list = list[:0]
		for _, loc := range s.locations {
			if l := s.times[loc]; i < len(l) {
				list = append(list, l[i].time)
			}
		}
		slices.Sort(list)
		medians[i] = list[(len(list)-1)/2]
	}
	return medians
}

// compared returns the series of a path in which the times of at least three locations can be compared. If only one
// series of the path has several locations, it also gets locations that alone spend their times before other calls.
// An example is the last stage of a pipeline, which sends nothing. The lists of such locations may lack the last
// iteration.
func (x *Times) compared(path uint32) (list []*series) {
	var single []*series
	for i, s := range slices.Concat(x.series, x.minor) {
		switch {
		case s.path != path:
		case len(s.locations) == 1:
			single = append(single, s)
		case i < len(x.series):
			list = append(list, s)
		}
	}
	if len(list) == 1 && len(single) > 0 {
		list[0] = list[0].with(single)
	}
	return slices.DeleteFunc(list, func(s *series) bool { return len(s.locations) < 3 })
}

// with returns the series together with those series of single locations that have about as many iterations and about
// as much time.
func (s *series) with(single []*series) *series {
	joined := *s
	joined.times, joined.locations = maps.Clone(s.times), slices.Clone(s.locations)
	least, most := math.Inf(1), 0.0
	for _, loc := range s.locations {
		least, most = min(least, s.sum(loc)), max(most, s.sum(loc))
	}
	for _, o := range single {
		loc := o.locations[0]
		lacking := s.iterations - o.iterations
		if lacking < 0 || lacking > 1 || o.total < least/2 || o.total > 2*most || joined.times[loc] != nil {
			continue
		}
		joined.times[loc] = o.times[loc]
		joined.locations = append(joined.locations, loc)
		joined.total += o.total
	}
	slices.Sort(joined.locations)
	return &joined
}

// WithoutNoise returns a function after which no time of a path exceeds the median of all locations in the same
// iteration. If at is not nil, it changes only the times of these locations. It is nil if the path has no series of at
// least three locations.
func (x *Times) WithoutNoise(path uint32, at []uint32) Stretch {
	var list []Stretch
	for _, s := range x.compared(path) {
		m := s.medians()
		list = append(list, s.withTimes(func(loc uint32, i int, t int64) int64 {
			if at != nil && !slices.Contains(at, loc) {
				return t
			}
			return min(t, m[i])
		}))
	}
	return Join(list)
}

// Varies reports whether the differences between the means of the locations are no more than what the variation from
// iteration to iteration explains, in the series of a path with several iterations: the F ratio of an analysis of
// variance by location and iteration is below 1.
func (x *Times) Varies(path uint32) bool {
	between, rest := 0.0, 0.0
	for _, s := range x.compared(path) {
		if s.iterations > 1 {
			b, r := s.variances()
			between, rest = between+b, rest+r
		}
	}
	return between < rest
}

// variances returns the sums of squares of the differences between locations, and of the rest that neither the location
// nor the iteration explains. The first one is multiplied by the quotient of the degrees of freedom: it is less than
// the second one if the F ratio is below 1.
func (s *series) variances() (between, rest float64) {
	iterations, locations := make([]float64, s.iterations), make([]float64, len(s.locations)) // means
	all := 0                                                                                  // number of times
	for j, loc := range s.locations {
		k := len(s.times[loc])
		all += k
		locations[j] = s.sum(loc) / float64(k)
	}
	for i := range iterations {
		n := 0
		for _, loc := range s.locations {
			if l := s.times[loc]; i < len(l) {
				iterations[i] += float64(l[i].time)
				n++
			}
		}
		iterations[i] /= float64(n)
	}
	grand := s.total / float64(all)
	for j, loc := range s.locations {
		list := s.times[loc]
		between += float64(len(list)) * (locations[j] - grand) * (locations[j] - grand)
		for i, t := range list {
			d := float64(t.time) - locations[j] - iterations[i] + grand
			rest += d * d
		}
	}
	return between * float64(s.iterations-1), rest // between / (n - 1) < rest / ((n - 1) * (k - 1))
}

// singleLateShare is the share of the times above the medians that a location must have to be the single late one.
// Otherwise these times are noise.
const singleLateShare = 0.75

// SingleLate returns the location that has most of the times of a path above the medians of the iterations. ok is false
// if there is none. In a single iteration, no location is late more often than others.
func (x *Times) SingleLate(path uint32) (loc uint32, ok bool) {
	total, most := 0.0, 0.0
	above := make([]float64, len(x.h.Locations))
	for _, s := range x.compared(path) {
		ok = ok || s.iterations > 1
		m := s.medians()
		for _, l := range s.locations {
			for i, t := range s.times[l] {
				above[l] += float64(max(0, t.time-m[i]))
			}
		}
	}
	for l, t := range above {
		if total += t; t > most {
			loc, most = uint32(l), t
		}
	}
	return loc, ok && most > singleLateShare*total
}

// Balance holds four ways to make times of a path as long as a mean.
type Balance struct {
	// Factors holds a factor of at most 1 by location.
	Factors map[uint32]float64
	// InProportion multiplies the times in each series by one factor, Equally shortens all of them by the same time. Both
	// are nil if the path has no series with several iterations at all locations.
	InProportion, Equally Stretch
	// Limited shortens the longest times of a location to a limit, and leaves the others: so a delay in a single iteration
	// goes. It is nil if the path has no series with several iterations at any of these locations.
	Limited Stretch
}

// Balance makes the times of a path at some locations, which have longer times than reference, as long as the mean of
// the reference locations. Only series with several iterations at all of these locations count for InProportion and
// Equally, because the times of other series belong to different work.
func (x *Times) Balance(path uint32, shortened, reference Spread) Balance {
	b := Balance{Factors: map[uint32]float64{}}
	target := reference.Mean()
	for _, t := range shortened {
		b.Factors[t.Location] = shorteningFactor(target, float64(t.Time))
	}
	var inProportion, equally []Stretch
	for _, s := range x.series {
		if s.path != path || s.iterations < 2 || !s.has(shortened) || !s.has(reference) {
			continue
		}
		mean := 0.0
		for _, t := range reference {
			mean += s.sum(t.Location) / float64(len(reference))
		}
		// indexed by location: its factor for the times, and the ticks by which each time becomes shorter
		factors, cuts := make([]float64, len(x.h.Locations)), make([]float64, len(x.h.Locations))
		isShortened := make([]bool, len(x.h.Locations))
		for _, t := range shortened {
			sum := s.sum(t.Location)
			if f := shorteningFactor(mean, sum); f < 1 {
				factors[t.Location], cuts[t.Location] = f, (sum-mean)/float64(s.iterations)
				isShortened[t.Location] = true
			}
		}
		inProportion = append(inProportion, s.withTimes(func(loc uint32, _ int, t int64) int64 {
			if !isShortened[loc] {
				return t
			}
			return int64(math.Round(factors[loc] * float64(t)))
		}))
		equally = append(equally, s.withTimes(func(loc uint32, _ int, t int64) int64 {
			return max(min(t, 0), t-int64(math.Round(cuts[loc])))
		}))
	}
	b.InProportion, b.Equally = Join(inProportion), Join(equally)
	b.Limited = x.limited(path, shortened, target)
	return b
}

// limited returns the field Limited of a balance. target is the mean of the reference locations. The series of a path
// have different times, so the limit is one for all of them.
func (x *Times) limited(path uint32, shortened Spread, target float64) Stretch {
	var all []*series
	for _, s := range x.series {
		if s.path == path && s.iterations > 1 {
			all = append(all, s)
		}
	}
	if len(all) == 0 {
		return nil
	}
	limits := make([]int64, len(x.h.Locations)) // indexed by location
	for i := range limits {
		limits[i] = math.MaxInt64
	}
	var list []Stretch
	for _, t := range shortened {
		if excess := float64(t.Time) - target; excess > 0 {
			limits[t.Location] = limitOf(all, t.Location, excess)
		}
	}
	for _, s := range all {
		if slices.ContainsFunc(s.locations, func(loc uint32) bool { return limits[loc] < math.MaxInt64 }) {
			list = append(list, s.withTimes(func(loc uint32, _ int, t int64) int64 { return min(t, limits[loc]) }))
		}
	}
	return Join(list)
}

// limitOf returns the least limit to which the longest times of a location can be shortened so that all become shorter
// by no more than excess ticks together. It is at least 0.
func limitOf(list []*series, loc uint32, excess float64) int64 {
	above := func(limit int64) float64 { // the time that a limit takes away
		sum := 0.0
		for _, s := range list {
			for _, t := range s.times[loc] {
				sum += float64(max(0, t.time-limit))
			}
		}
		return sum
	}
	least, most := int64(0), int64(0) // the limit is in between
	for _, s := range list {
		for _, t := range s.times[loc] {
			most = max(most, t.time)
		}
	}
	for least < most {
		if middle := least + (most-least)/2; above(middle) <= excess {
			most = middle
		} else {
			least = middle + 1
		}
	}
	return most
}

// Join returns a function that applies all functions of a list. A time must belong to one of them at most. It is nil if
// the list is empty.
func Join(list []Stretch) Stretch {
	if len(list) < 2 {
		return slices.Concat(list, []Stretch{nil})[0]
	}
	return func(p waitstate.Place, path uint32, t int64) int64 {
		for _, f := range list {
			t = f(p, path, t)
		}
		return t
	}
}

// enlarge returns a list with room for as many further elements as it has, or for most further elements if these are
// fewer. The usual growth of slices by a quarter would copy long lists several times.
func enlarge(list []timeBefore, most int) []timeBefore {
	longer := make([]timeBefore, len(list), len(list)+max(1, min(max(4, len(list)), most)))
	copy(longer, list)
	return longer
}

// sum returns the sum of the times at a location in ticks.
func (s *series) sum(loc uint32) float64 {
	sum := 0.0
	for _, t := range s.times[loc] {
		sum += float64(t.time)
	}
	return sum
}

// has reports whether all locations of a list have all iterations.
func (s *series) has(list Spread) bool {
	return !slices.ContainsFunc(list, func(t LocationTime) bool { return s.times[t.Location] == nil })
}

// Paths returns the paths that have series, in ascending order.
func (x *Times) Paths() (list []uint32) {
	for _, s := range x.series {
		list = append(list, s.path)
	}
	return slices.Compact(list)
}
