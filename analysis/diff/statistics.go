package diff

import (
	"cmp"
	"math"
	"slices"
)

// Test holds the result of a two-sided Mann-Whitney U test between the observations of both sides, and
// the Hodges-Lehmann shift between them.
type Test struct {
	Samples [2]int `json:"samples"` // numbers of observations of A and of B
	// U is the sum over all pairs of an observation of A and an observation of B. A pair counts 1 if the value
	// of B is greater, and one half if the values are equal.
	U float64 `json:"u"`
	// P is the probability of a difference at least as large if both sides have the same
	// distribution.
	P float64 `json:"p"`
	// Exact is set if P comes from the exact distribution of U. Otherwise it comes from the normal
	// approximation.
	Exact bool `json:"exact"`
	// Q is P corrected for the number of tests of the list, by the method of Benjamini and
	// Hochberg. Significant is set if Q is at most 0.05.
	Q           float64 `json:"q"`
	Significant bool    `json:"significant"`
	// Shift is the median of the differences B - A of all pairs. The true shift lies between Low
	// and High with the probability Confidence, which is at least about 0.95. These four fields are
	// set only for reported rows, in ticks.
	Shift      float64 `json:"shift"`
	Low        float64 `json:"low"`
	High       float64 `json:"high"`
	Confidence float64 `json:"confidence"`

	a, b []float64 // sorted observations; nil once the shift is computed
}

// Parameters of the tests.
const (
	// falseDiscovery is the greatest Q of a significant row. It is the expected share of rows that are
	// wrongly called significant.
	falseDiscovery = 0.05
	// exactLimit is the greatest number of observations of each side for which the distribution of
	// U is computed exactly.
	exactLimit = 50
)

// mannWhitney tests whether the values of b are greater or less than those of a. It sorts both.
func mannWhitney(a, b []float64, exact *exactU) *Test {
	slices.Sort(a)
	slices.Sort(b)
	t := &Test{Samples: [2]int{len(a), len(b)}, a: a, b: b}
	n, m := float64(len(a)), float64(len(b))
	// Visit the values of both sides in ascending order, equal values in one step.
	ties := 0.0
	for i, j := 0, 0; i < len(a) || j < len(b); {
		v := math.Inf(1)
		if i < len(a) {
			v = a[i]
		}
		if j < len(b) {
			v = min(v, b[j])
		}
		i0, j0 := i, j
		for i < len(a) && a[i] == v {
			i++
		}
		for j < len(b) && b[j] == v {
			j++
		}
		t.U += float64(j-j0) * (float64(i0) + float64(i-i0)/2)
		same := float64(i - i0 + j - j0)
		ties += same*same*same - same
	}
	low := min(t.U, n*m-t.U)
	if ties == 0 && max(len(a), len(b)) <= exactLimit {
		t.Exact = true
		t.P = min(1, 2*exact.atMost(len(a), len(b), int(low)))
		return t
	}
	if d := deviation(n, m, ties); d > 0 {
		t.P = min(1, math.Erfc((n*m/2-low-0.5)/d/math.Sqrt2))
	} else {
		t.P = 1
	}
	return t
}

// deviation returns the standard deviation of U for n and m observations. Parameter ties is the sum
// of t^3 - t over all values that occur t times.
func deviation(n, m, ties float64) float64 {
	all := n + m
	return math.Sqrt(max(0, n*m/12*(all+1-ties/(all*(all-1)))))
}

// exactU computes the exact distributions of U, the statistic of the Mann-Whitney test, for samples without
// equal values. It stores each distribution that it has computed.
type exactU struct {
	// distributions maps pairs of sample sizes, the lesser size first, to distributions. Element u of a
	// distribution is the probability that U is at most u.
	distributions map[[2]int][]float64
}

// distribution returns the distribution for samples of n and m observations. Element u is the
// probability that U is at most u.
func (e *exactU) distribution(n, m int) []float64 {
	key := [2]int{min(n, m), max(n, m)}
	if d := e.distributions[key]; d != nil {
		return d
	}
	n, m = key[0], key[1]
	// ways[k][u] is the number of ways to choose k of the values so far such that U is u. If value
	// number j, from 0 on, is the (k+1)-th that is chosen, it is greater than j-k values that are
	// not chosen.
	ways := make([][]float64, n+1)
	for k := range ways {
		ways[k] = make([]float64, k*m+1)
	}
	ways[0][0] = 1
	for j := range n + m {
		for k := min(j, n-1); k >= max(0, j-m); k-- {
			for u, w := range ways[k] {
				if w > 0 {
					ways[k+1][u+j-k] += w
				}
			}
		}
	}
	d := ways[n]
	sum := 0.0
	for u, w := range d {
		sum += w
		d[u] = sum
	}
	for u := range d {
		d[u] /= sum
	}
	if e.distributions == nil {
		e.distributions = map[[2]int][]float64{}
	}
	e.distributions[key] = d
	return d
}

// atMost returns the probability that U is at most u, for n and m observations.
func (e *exactU) atMost(n, m, u int) float64 {
	if u < 0 {
		return 0
	}
	return e.distribution(n, m)[min(u, n*m)]
}

// setShift computes the Hodges-Lehmann shift and its confidence interval, and sets their fields.
func (t *Test) setShift(exact *exactU) {
	a, b := t.a, t.b
	n, m := len(a), len(b)
	pairs := n * m
	t.Shift = (kthDifference(a, b, (pairs+1)/2) + kthDifference(a, b, pairs/2+1)) / 2
	// The interval leaves out the k-1 least and the k-1 greatest differences, where k is the least
	// number with P(U <= k) >= 2.5 %, but at least 1.
	k := 1
	if max(n, m) <= exactLimit {
		d := exact.distribution(n, m)
		u, _ := slices.BinarySearch(d, 0.025)
		k = max(1, u)
		t.Confidence = 1 - 2*exact.atMost(n, m, k-1)
	} else {
		const z = 1.9599639845400542
		k = max(1, int(float64(pairs)/2-z*deviation(float64(n), float64(m), 0)))
		t.Confidence = 0.95
	}
	t.Low, t.High = kthDifference(a, b, k), kthDifference(a, b, pairs+1-k)
}

// kthDifference returns the k-th least of the differences b - a of all pairs, counted from 1. Both
// lists must be sorted.
func kthDifference(a, b []float64, k int) float64 {
	low, high := ordinal(b[0]-a[len(a)-1]), ordinal(b[len(b)-1]-a[0])
	for low < high {
		mid := low + int64(uint64(high-low)/2)
		d, count, j := fromOrdinal(mid), 0, 0
		for _, x := range a {
			for j < len(b) && b[j]-x <= d {
				j++
			}
			count += j
		}
		if count >= k {
			high = mid
		} else {
			low = mid + 1
		}
	}
	return fromOrdinal(low)
}

// ordinal maps floats to integers in the same order, with consecutive integers for neighbouring
// floats.
func ordinal(x float64) int64 {
	i := int64(math.Float64bits(x + 0)) // adding 0 turns -0 into 0
	if i < 0 {
		i ^= math.MaxInt64
	}
	return i
}

// fromOrdinal is the inverse of ordinal.
func fromOrdinal(i int64) float64 {
	if i < 0 {
		i ^= math.MaxInt64
	}
	return math.Float64frombits(uint64(i)) + 0
}

// adjustForManyTests sets Q and Significant of all tests in a list. It changes the order of the list.
func adjustForManyTests(tests []*Test) {
	slices.SortStableFunc(tests, func(x, y *Test) int { return cmp.Compare(y.P, x.P) })
	q := 1.0
	for i, t := range tests { // in descending order of P
		q = min(q, t.P*float64(len(tests))/float64(len(tests)-i))
		t.Q, t.Significant = q, q <= falseDiscovery
	}
}
