package diff

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os/exec"
	"slices"
	"testing"

	"github.com/weft-trace/weft/internal/effort"
)

// near reports whether two numbers are equal except for rounding errors.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(b)) }

// The example of R's documentation of wilcox.test (permeability, two-sided), for which R's results
// are known.
var (
	permeabilityX = []float64{0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46}
	permeabilityY = []float64{1.15, 0.88, 0.90, 0.74, 1.21}
)

// TestMannWhitney checks U and P. The exact values of P were counted by listing all ways to divide
// the values. The others follow from the formula of the normal approximation, with corrections for
// continuity and ties.
func TestMannWhitney(t *testing.T) {
	even, odd := make([]float64, 60), make([]float64, 60)
	for i := range even {
		even[i], odd[i] = float64(2*i), float64(2*i+25)
	}
	four := []float64{1, 2, 3, 4}
	for _, x := range []struct {
		b, a  []float64
		u, p  float64
		exact bool
	}{
		{permeabilityX, permeabilityY, 35, 0.2544122544122544, true},
		{[]float64{19, 22, 16, 29, 24}, []float64{20, 11, 17, 12}, 17, 1.0 / 9, true},
		{four, []float64{5, 6, 7, 8}, 0, 2.0 / 70, true},
		{[]float64{9, 8, 7, 6, 5}, four, 20, 2.0 / 126, true},
		{four, []float64{1, 1.99, 3, 3.99, 5}, 9, 0.9017048037317, false},
		{four, []float64{1, 2, 2.99, 4, 5}, 8.5, 0.804080657472, false},
		{four, []float64{1, 2, 3, 4, 5}, 8, 0.7086240584439, false},
		{four, []float64{1, 2, 3.01, 4, 5}, 7.5, 0.6197963884941, false},
		{four, []float64{1, 2.01, 3, 4.01, 5}, 7, 0.5368784563079, false},
		{even, odd, 1128, 0.00042434533759, false},
		{[]float64{7, 7, 7, 7}, []float64{7, 7, 7, 7}, 8, 1, false},
	} {
		got := mannWhitney(slices.Clone(x.a), slices.Clone(x.b), &exactU{})
		if got.U != x.u || !near(got.P, x.p) || got.Exact != x.exact {
			t.Errorf("%v, %v: found U = %g, p = %.13g, exact %v, expected %g, %.13g, %v", x.b, x.a, got.U, got.P, got.Exact, x.u,
				x.p, x.exact)
		}
	}
}

// TestShift checks the shift and the interval against those of R for its example: 0.305, from -0.15
// to 0.76.
func TestShift(t *testing.T) {
	e := &exactU{}
	x := mannWhitney(slices.Clone(permeabilityY), slices.Clone(permeabilityX), e)
	x.setShift(e)
	if !near(x.Shift, 0.305) || !near(x.Low, -0.15) || !near(x.High, 0.76) || !near(x.Confidence, 0.9600399600399601) {
		t.Errorf("found %g from %g to %g with %g, expected 0.305 from -0.15 to 0.76 with 0.96004", x.Shift, x.Low, x.High,
			x.Confidence)
	}
	// With 4 and 4 values the interval covers all differences. Its confidence is 1 - 2/70.
	x = mannWhitney([]float64{1, 2, 3, 4}, []float64{15, 16, 17, 18}, e)
	x.setShift(e)
	if x.Shift != 14 || x.Low != 11 || x.High != 17 || !near(x.Confidence, 1-2.0/70) {
		t.Errorf("found %+v, expected 14 from 11 to 17", x)
	}
}

// TestDifference compares difference with a sorted list of all differences.
func TestDifference(t *testing.T) {
	g := rand.New(rand.NewPCG(1, 2))
	for range effort.Rounds(200) {
		a, b := make([]float64, 1+g.IntN(8)), make([]float64, 1+g.IntN(8))
		for _, l := range [][]float64{a, b} {
			for i := range l {
				l[i] = float64(g.IntN(20)-10) / 4
			}
			slices.Sort(l)
		}
		var all []float64
		for _, x := range a {
			for _, y := range b {
				all = append(all, y-x)
			}
		}
		slices.Sort(all)
		for k := range all {
			if got := kthDifference(a, b, k+1); got != all[k] {
				t.Fatalf("%v, %v: found %g as difference %d, expected %g", a, b, got, k+1, all[k])
			}
		}
	}
}

// TestExact compares the exact distribution of U with counts of all ways to choose values.
func TestExact(t *testing.T) {
	for n := 1; n <= 5; n++ {
		for m := 1; m <= 6; m++ {
			ways := make([]float64, n*m+1)
			all := 0.0
			for set := range 1 << (n + m) {
				chosen, u := 0, 0
				for j := range n + m {
					if set>>j&1 == 1 {
						u += j - chosen
						chosen++
					}
				}
				if chosen == n {
					ways[u]++
					all++
				}
			}
			sum := 0.0
			for u, w := range ways {
				sum += w
				if got := (&exactU{}).atMost(n, m, u); !near(got, sum/all) {
					t.Errorf("%d and %d values: found P(U <= %d) = %g, expected %g", n, m, u, got, sum/all)
				}
			}
		}
	}
}

// TestCorrect checks Q against results of R's p.adjust and results computed by hand.
func TestCorrect(t *testing.T) {
	for _, x := range []struct{ p, q []float64 }{
		{[]float64{0.01, 0.02, 0.03, 0.04, 0.05}, []float64{0.05, 0.05, 0.05, 0.05, 0.05}},
		{[]float64{0.01, 0.04, 0.03, 0.005}, []float64{0.02, 0.04, 0.04, 0.02}},
		{[]float64{0.9, 0.04, 1}, []float64{1, 0.12, 1}},
	} {
		var list []*Test
		for _, p := range x.p {
			list = append(list, &Test{P: p})
		}
		adjustForManyTests(slices.Clone(list))
		for i, q := range x.q {
			if !near(list[i].Q, q) || list[i].Significant != (q <= 0.05) {
				t.Errorf("%v: found q = %g, significant %v, expected %g", x.p, list[i].Q, list[i].Significant, q)
			}
		}
	}
}

// TestAgainstScipy compares results with those of scipy. It is skipped where scipy is not
// installed.
func TestAgainstScipy(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err == nil {
		err = exec.Command(python, "-c", "import scipy.stats").Run()
	}
	if err != nil {
		t.Skip("no scipy")
	}
	g := rand.New(rand.NewPCG(3, 4))
	type samples struct{ A, B []float64 }
	var list []samples
	for range 50 {
		x := samples{make([]float64, 4+g.IntN(60)), make([]float64, 4+g.IntN(60))}
		values := 1 + g.IntN(200)
		for i := range x.A {
			x.A[i] = float64(g.IntN(values)) + g.Float64()*float64(g.IntN(2))
		}
		for i := range x.B {
			x.B[i] = float64(g.IntN(values) + g.IntN(20))
		}
		list = append(list, x)
	}
	in, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(python, "-c", `
import json, sys
from scipy.stats import mannwhitneyu
out = []
for x in json.loads(sys.argv[1]):
    a, b = x["A"], x["B"]
    exact = len(set(a + b)) == len(a + b) and max(len(a), len(b)) <= 50
    r = mannwhitneyu(b, a, alternative="two-sided", method="exact" if exact else "asymptotic")
    out.append([r.statistic, r.pvalue])
print(json.dumps(out))`, string(in)).Output()
	if err != nil {
		t.Fatal(err)
	}
	var want [][2]float64
	if err := json.Unmarshal(out, &want); err != nil {
		t.Fatal(err)
	}
	for i, x := range list {
		if got := mannWhitney(x.A, x.B, &exactU{}); got.U != want[i][0] || !near(got.P, want[i][1]) {
			t.Error(fmt.Sprint(x), got.U, got.P, want[i])
		}
	}
}
