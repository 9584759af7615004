package iterations

// Outliers are the few iterations that take a location longer than all its others.
type Outliers struct {
	Longer     int   // number of these iterations
	Iterations int   // number of all iterations
	Time       int64 // time by which these iterations together are longer than the longest other one, in ticks
}

// mostOutliers is the greatest number of iterations that are outliers.
const mostOutliers = 3

// Outliers returns the fewest iterations of a path at a location that together are longer by more than least ticks than
// the longest other one. Of several series, the one with the longest outliers counts. If there are none, the result is
// zero.
func (x *Times) Outliers(path, loc uint32, least float64) (longest Outliers) {
	for _, s := range x.series {
		times := s.times[loc]
		if s.path != path || len(times) <= mostOutliers {
			continue
		}
		var greatest [mostOutliers + 1]int64 // in descending order
		for _, t := range times {
			for i, g := range greatest {
				if t.time > g {
					copy(greatest[i+1:], greatest[i:])
					greatest[i] = t.time
					break
				}
			}
		}
		sum := int64(0)
		for n, t := range greatest[:mostOutliers] {
			sum += t
			above := sum - int64(n+1)*greatest[n+1]
			if float64(above) > least {
				if above > longest.Time {
					longest = Outliers{n + 1, len(times), above}
				}
				break
			}
		}
	}
	return longest
}
