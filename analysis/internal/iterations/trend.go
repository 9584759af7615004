package iterations

import (
	"cmp"
	"math"
	"slices"
)

// mostBlocks is the greatest number of values in which a trend is searched. A longer series is
// averaged in blocks.
const mostBlocks = 256

// trend is a growth of the times of a series from iteration to iteration. Times are in ticks.
type trend struct {
	lead  int     // number of iterations before the first one that counts
	begin float64 // the mean time of a location in that iteration
	slope float64 // the growth per iteration
}

// trend returns the growth of the times of a series. It uses the estimator of Theil and Sen. ok is false if the test of
// Mann and Kendall finds no growth at the significance level 0.005, or if a step describes the times clearly better.
func (s *series) trend() (x trend, ok bool) {
	size := (s.iterations + mostBlocks - 1) / mostBlocks
	values := make([]float64, s.iterations/size)
	for _, loc := range s.locations {
		for i := range values {
			for _, t := range s.times[loc][i*size : (i+1)*size] {
				values[i] += float64(t.time) / float64(size*len(s.locations))
			}
		}
	}
	if !rises(values) { // most series: what follows takes longer
		return x, false
	}
	lead := idleIterations(values)
	values = values[lead:]
	if len(values)*size < fewestIterations {
		return x, false
	}
	slope := slopeOf(values)
	if slope <= 0 || !rises(values) {
		return x, false
	}
	step := deviationOfStep(values)
	for i := range values {
		values[i] -= slope * (float64(i) + float64(size-1)/float64(2*size))
	}
	line, begin := deviation(values)
	return trend{lead * size, begin, slope / float64(size)}, 2*step >= line
}

// rises reports whether the test of Mann and Kendall finds a growth at the significance level 0.005.
func rises(values []float64) bool {
	n, rises := len(values), 0
	for i := range values {
		for j := range i {
			rises += cmp.Compare(values[i], values[j])
		}
	}
	const level = 2.58 // quantile of the normal distribution
	return float64(rises-1) > level*math.Sqrt(float64(n*(n-1)*(2*n+5))/18)
}

// slopeOf returns the median of the slopes between all pairs of values.
func slopeOf(values []float64) float64 {
	slopes := make([]float64, 0, len(values)*(len(values)-1)/2)
	for i := range values {
		for j := range i {
			slopes = append(slopes, (values[i]-values[j])/float64(i-j))
		}
	}
	slices.Sort(slopes)
	return slopes[len(slopes)/2]
}

// idleIterations returns the number of iterations at the begin, less than half of all, whose values are below a tenth
// of what the trend of the second half suggests. Many programs first meet at barriers without work.
func idleIterations(values []float64) (n int) {
	half := len(values) / 2
	later := slices.Clone(values[half:])
	slope := slopeOf(later)
	for i := range later {
		later[i] -= slope * float64(half+i)
	}
	_, begin := deviation(later)
	for n < half && values[n] < (begin+slope*float64(n))/10 {
		n++
	}
	return n
}

// deviationOfStep returns the sum of the deviations from two constants, one before and one after the best place for a
// step. Both parts have at least a quarter of the values. A program whose work changes once has such a step: its times
// do not grow from iteration to iteration.
func deviationOfStep(values []float64) float64 {
	least := math.Inf(1)
	n := len(values)
	for i := (n + 3) / 4; i <= n-(n+3)/4; i++ {
		before, _ := deviation(slices.Clone(values[:i]))
		after, _ := deviation(slices.Clone(values[i:]))
		least = min(least, before+after)
	}
	return least
}

// deviation sorts values, and returns the sum of their deviations from their median, and the median.
func deviation(values []float64) (sum, median float64) {
	slices.Sort(values)
	median = values[len(values)/2]
	for _, v := range values {
		sum += math.Abs(v - median)
	}
	return sum, median
}

// Growth describes a series whose times grow from iteration to iteration. Times are in ticks.
type Growth struct {
	Iterations  int     // number of iterations that count: all but those without work at the begin
	First, Last float64 // estimates for the mean time of a location in the first and in the last of them
	Lost        float64 // the sum of all times in addition to those in the first of them
}

// WithoutGrowth returns a function that takes from each time of a path what it has grown by since the first iteration.
// If at is not nil, it changes only the times of these locations. It also describes the growth of each series with
// sufficient time. It is nil if no such series grows. If one does, the function also changes the other series of the
// path, such as that of the last stage of a pipeline, which sends nothing.
func (x *Times) WithoutGrowth(path uint32, at []uint32) (f Stretch, list []Growth) {
	var changes []Stretch
	little := 0.0 // what the other series have grown by
	for _, s := range slices.Concat(x.series, x.minor) {
		change, g := s.withoutGrowth(path, at)
		switch {
		case change == nil:
			continue
		case g.Lost >= LeastShare*x.all:
			list = append(list, g)
		default:
			little += g.Lost
		}
		changes = append(changes, change)
	}
	if list == nil {
		return nil, nil
	}
	list[0].Lost += little
	return Join(changes), list
}

// withoutGrowth does so for a series. The function is nil if the series does not grow, or has another path.
func (s *series) withoutGrowth(path uint32, at []uint32) (f Stretch, g Growth) {
	if s.path != path || s.iterations < fewestIterations {
		return nil, g
	}
	trend, ok := s.trend()
	if !ok {
		return nil, g
	}
	grown := func(i int, t int64) int64 {
		return min(t, int64(math.Round(trend.slope*float64(max(0, i-trend.lead)))))
	}
	count := s.iterations - trend.lead
	g = Growth{count, trend.begin, trend.begin + trend.slope*float64(count-1), 0}
	for _, loc := range s.locations {
		for i := range s.times[loc] {
			g.Lost += float64(grown(i, s.times[loc][i].time))
		}
	}
	return s.withTimes(func(loc uint32, i int, t int64) int64 {
		if at != nil && !slices.Contains(at, loc) {
			return t
		}
		return t - grown(i, t)
	}), g
}
