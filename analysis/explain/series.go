package explain

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/weft-trace/weft/analysis/internal/retime"
	"github.com/weft-trace/weft/analysis/internal/synclog"
	"github.com/weft-trace/weft/analysis/internal/waitstate"
	"github.com/weft-trace/weft/internal/plural"
)

// series holds the times that locations spend in a call path before each call of another path, in the order of
// the calls. The n-th times of all locations belong to the same iteration.
type series struct {
	path, next uint32 // next is the path of the calls that end the times of path
	iterations int
	// total is the sum of all times in ticks.
	total float64
	times map[uint32][]stretch // by location; only for locations that have all iterations
	// locations holds the keys of times in ascending order. Sums over them are the same in each run.
	locations []uint32
}

// stretch is a time in ticks that a location spends in a path before the call with the number call.
type stretch struct {
	call int32
	time int64
}

// fewestIterations is the least number of iterations in which a trend is searched. In five iterations, the test of
// Mann and Kendall never finds one.
const fewestIterations = 6

// findSeries returns the series with a sufficient share of the time, ordered by path. The error comes from a temporary
// file.
func (ex *explainer) findSeries() ([]*series, error) {
	much := make([]float64, len(ex.h.Log.Paths))
	for s, t := range ex.own {
		if int64(s.Path) < int64(len(much)) && !ex.synchronises(s.Path) {
			much[s.Path] += float64(t)
		}
	}
	type key struct{ path, next uint32 }
	byKey := map[key]*series{}
	// recent holds, by path, the list to which a time of the path was added last.
	recent := make([]struct {
		next, location uint32
		list           *[]stretch
	}, len(much))
	for loc, l := range ex.h.Locations {
		if l == nil {
			continue
		}
		lists := map[key]*[]stretch{}
		chunks := ex.h.Log.Chunks(uint32(loc))
		end := int32(0)
		for i := range chunks {
			end = chunks[i].First + chunks[i].Calls
		}
		for i := range chunks {
			n := chunks[i].First
			err := ex.h.Log.ReadChunk(uint32(loc), &chunks[i], func(c *synclog.Call) {
				for _, t := range c.Before {
					if int64(t.Path) >= int64(len(much)) || much[t.Path] < leastShare*ex.core {
						continue
					}
					r := &recent[t.Path]
					if r.list == nil || r.next != c.Path || r.location != uint32(loc) {
						k := key{t.Path, c.Path}
						if lists[k] == nil {
							lists[k] = new([]stretch)
						}
						r.next, r.location, r.list = c.Path, uint32(loc), lists[k]
					}
					if len(*r.list) == cap(*r.list) {
						*r.list = enlarge(*r.list, int(end-n))
					}
					*r.list = append(*r.list, stretch{n, t.Time})
				}
				n++
			})
			if err != nil {
				return nil, err
			}
		}
		for k, list := range lists {
			if byKey[k] == nil {
				byKey[k] = &series{path: k.path, next: k.next, times: map[uint32][]stretch{}}
			}
			byKey[k].times[uint32(loc)] = *list
		}
	}
	list := make([]*series, 0, len(byKey))
	for _, s := range byKey {
		for _, l := range s.times {
			s.iterations = max(s.iterations, len(l))
		}
		maps.DeleteFunc(s.times, func(_ uint32, l []stretch) bool { return len(l) != s.iterations })
		s.locations = slices.Sorted(maps.Keys(s.times))
		for _, loc := range s.locations {
			s.total += s.sum(loc)
		}
		if s.total >= leastShare*ex.core {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b *series) int {
		return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.next, b.next))
	})
	return list, nil
}

// withTimes returns options in which f changes the times of a series. The arguments of f are the location, the number
// of the iteration and the time in ticks.
func (s *series) withTimes(f func(loc uint32, iteration int, t int64) int64) retime.Options {
	// indexed by location: its times, and the iteration that was found last
	times := make([][]stretch, s.locations[len(s.locations)-1]+1)
	for loc, l := range s.times {
		times[loc] = l
	}
	latest := make([]int, len(times))
	return retime.Options{Transfer: 1, Stretch: func(p waitstate.Place, path uint32, t int64) int64 {
		if path != s.path || int64(p.Location) >= int64(len(times)) {
			return t
		}
		i, ok := findCall(times[p.Location], p.Number, latest[p.Location])
		if !ok {
			return t
		}
		latest[p.Location] = i
		return f(p.Location, i, t)
	}}
}

// findCall returns the index of the time before a call. It first looks at the index near and the one after it, because
// the calls of a location usually come in order. ok is false if there is no such time.
func findCall(list []stretch, call int32, near int) (i int, ok bool) {
	for i := near; i < min(near+2, len(list)); i++ {
		if list[i].call == call {
			return i, true
		}
	}
	return slices.BinarySearchFunc(list, call, func(x stretch, n int32) int { return cmp.Compare(x.call, n) })
}

// medians returns the lower median of the locations' times in each iteration.
func (s *series) medians() []int64 {
	list := make([]int64, 0, len(s.locations))
	medians := make([]int64, s.iterations)
	for i := range medians {
		list = list[:0]
		for _, loc := range s.locations {
			list = append(list, s.times[loc][i].time)
		}
		slices.Sort(list)
		medians[i] = list[(len(list)-1)/2]
	}
	return medians
}

// noisySeries is a series with the location that alone is late, if hasLate is set.
type noisySeries struct {
	*series
	late    uint32
	hasLate bool
}

// withoutNoise returns options in which no time of a path exceeds the median of all locations in the
// same iteration, for each of the series that it also returns: those of the path. If a single location is late, only
// its times change.
func (ex *explainer) withoutNoise(path uint32) (list []retime.Options, changed []noisySeries) {
	for _, s := range ex.series {
		if s.path == path && len(s.locations) > 2 {
			m := s.medians()
			late, hasLate := s.singleLate(m)
			list = append(list, s.withTimes(func(loc uint32, i int, t int64) int64 {
				if hasLate && loc != late {
					return t
				}
				return min(t, m[i])
			}))
			changed = append(changed, noisySeries{s, late, hasLate})
		}
	}
	return list, changed
}

// varies reports whether the differences between the means of the locations are no more than what the variation from
// iteration to iteration explains: the F ratio of an analysis of variance by location and iteration is below 1. A
// single iteration does not vary.
func (s *series) varies() bool {
	if s.iterations < 2 {
		return false
	}
	n, k := float64(len(s.locations)), float64(s.iterations)
	iterations, locations := make([]float64, s.iterations), make([]float64, len(s.locations)) // means
	grand := s.total / n / k
	for j, loc := range s.locations {
		locations[j] = s.sum(loc) / k
		for i, t := range s.times[loc] {
			iterations[i] += float64(t.time) / n
		}
	}
	between, rest := 0.0, 0.0 // sums of squares
	for j, loc := range s.locations {
		between += k * (locations[j] - grand) * (locations[j] - grand)
		for i, t := range s.times[loc] {
			d := float64(t.time) - locations[j] - iterations[i] + grand
			rest += d * d
		}
	}
	return between*(k-1) < rest // between / (n - 1) < rest / ((n - 1) * (k - 1))
}

// singleLateShare is the share of the times above the medians that a location must have to be the single late one.
// Otherwise these times are noise.
const singleLateShare = 0.75

// singleLate returns the location that has most of the times above the medians of the iterations. ok is false if there
// is none. In a single iteration, no location is late more often than others.
func (s *series) singleLate(medians []int64) (loc uint32, ok bool) {
	if s.iterations < 2 {
		return 0, false
	}
	total, most := 0.0, 0.0
	for _, l := range s.locations {
		above := 0.0
		for i, t := range s.times[l] {
			above += float64(max(0, t.time-medians[i]))
		}
		total += above
		if above > most {
			loc, most = l, above
		}
	}
	return loc, most > singleLateShare*total
}

// balancedOptions returns two options that shorten the times of a path at some locations in each series of
// the path. Afterwards the sum of these times equals the mean sum of the reference locations. The first option
// shortens the times in proportion, the second one shortens each iteration by the same time. Only series with
// several iterations at all of these locations count, because the times of other series belong to different
// work. The list is empty if the path has no such series.
func (ex *explainer) balancedOptions(path uint32, shortened, reference spread) []retime.Options {
	var inProportion, equally []retime.Options
	for _, s := range ex.series {
		if s.path != path || s.iterations < 2 || !s.has(shortened) || !s.has(reference) {
			continue
		}
		mean := 0.0
		for _, t := range reference {
			mean += s.sum(t.location) / float64(len(reference))
		}
		// indexed by location: its factor for the times, and the ticks by which each time becomes shorter
		factors, cuts := make([]float64, len(ex.h.Locations)), make([]float64, len(ex.h.Locations))
		isShortened := make([]bool, len(ex.h.Locations))
		for _, t := range shortened {
			sum := s.sum(t.location)
			if f := shorteningFactor(mean, sum); f < 1 {
				factors[t.location], cuts[t.location] = f, (sum-mean)/float64(s.iterations)
				isShortened[t.location] = true
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
	if len(equally) == 0 {
		return nil
	}
	return []retime.Options{joinOptions(inProportion), joinOptions(equally)}
}

// joinOptions returns options with the new times of all series of a list. A time belongs to one series at most.
func joinOptions(list []retime.Options) retime.Options {
	return retime.Options{Transfer: 1, Stretch: func(p waitstate.Place, path uint32, t int64) int64 {
		for i := range list {
			t = list[i].Stretch(p, path, t)
		}
		return t
	}}
}

// enlarge returns a list with room for as many further elements as it has, or for most further elements if these are
// fewer. The usual growth of slices by a quarter would copy long lists several times.
func enlarge(list []stretch, most int) []stretch {
	longer := make([]stretch, len(list), len(list)+max(1, min(max(4, len(list)), most)))
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
func (s *series) has(list spread) bool {
	return !slices.ContainsFunc(list, func(t locationTime) bool { return s.times[t.location] == nil })
}

// mostBlocks is the greatest number of values in which a trend is searched. A longer series is
// averaged in blocks.
const mostBlocks = 256

// trend returns the growth of the times of a series per iteration in ticks, and their value in the first
// iteration. It uses the estimator of Theil and Sen. ok is false if the test of Mann and Kendall finds no
// growth at the significance level 0.005.
func (s *series) trend() (slope, begin float64, ok bool) {
	size := (s.iterations + mostBlocks - 1) / mostBlocks
	n := s.iterations / size
	values := make([]float64, n)
	for _, loc := range s.locations {
		for i := range values {
			for _, t := range s.times[loc][i*size : (i+1)*size] {
				values[i] += float64(t.time) / float64(size*len(s.locations))
			}
		}
	}
	rises := 0
	slopes := make([]float64, 0, n*(n-1)/2)
	for i := range values {
		for j := range i {
			d := values[i] - values[j]
			rises += cmp.Compare(d, 0)
			slopes = append(slopes, d/float64((i-j)*size))
		}
	}
	const level = 2.58 // quantile of the normal distribution
	if float64(rises-1) <= level*math.Sqrt(float64(n*(n-1)*(2*n+5))/18) {
		return 0, 0, false
	}
	slices.Sort(slopes)
	slope = slopes[len(slopes)/2]
	for i := range values {
		values[i] -= slope * (float64(i*size) + float64(size-1)/2)
	}
	slices.Sort(values)
	return slope, values[n/2], slope > 0
}

// slowing adds findings about series whose times grow from iteration to iteration.
func (ex *explainer) slowing() {
	for _, s := range ex.series {
		if s.iterations < fewestIterations {
			continue
		}
		slope, begin, ok := s.trend()
		if !ok {
			continue
		}
		grown := func(i int, t int64) int64 { return min(t, int64(math.Round(slope*float64(i)))) }
		loss := 0.0
		for _, loc := range s.locations {
			for i := range s.times[loc] {
				loss += float64(grown(i, s.times[loc][i].time))
			}
		}
		if loss < leastShare*ex.core {
			continue
		}
		names := ex.h.Log.PathNames(s.path, ex.regions)
		f := Finding{ID: "slowing", Loss: loss, Path: names,
			Title: names[len(names)-1] + " takes longer from iteration to iteration",
			Evidence: []string{fmt.Sprintf("%s in the first of %s, %s in the last one", ex.formatDuration(begin),
				plural.Of(s.iterations, "iteration"), ex.formatDuration(begin+slope*float64(s.iterations-1)))},
			Advice: "Look for what grows with each iteration: lists, files, memory that is scattered; or for a clock " +
				"frequency " +
				"that falls."}
		ex.planRuntimes(func(times []int64) {
			f.Gain = ex.gain(times[0])
			ex.addFinding(f)
		}, s.withTimes(func(_ uint32, i int, t int64) int64 { return t - grown(i, t) }))
	}
}
