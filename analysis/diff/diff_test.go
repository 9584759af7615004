package diff_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-trace/weft/analysis/diff"
	"github.com/weft-trace/weft/analysis/profile"
	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/internal/effort"
	"github.com/weft-trace/weft/trace"
)

// tokens matches the elements of a text that describes the calls of a location (see run): the begin of a
// call, or a "]".
var tokens = regexp.MustCompile(`([A-Za-z_]+)(?:@(\d+))?:(\d+)(\[?)|\]`)

// run returns a trace with one location per text. In "main:10[solve@7:5]", main is called and 10
// ticks pass; then solve, from line 7 of x.c, is called and 5 ticks pass.
func run(locations ...string) *trace.Recorder {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	regions := map[string]uint32{}
	for i, text := range locations {
		loc := r.Location(fmt.Sprint("p", i))
		now := int64(0)
		var open []uint32
		for _, m := range tokens.FindAllStringSubmatch(text, -1) {
			if m[0] == "]" {
				last := len(open) - 1
				r.Leave(loc, now, open[last])
				open = open[:last]
				continue
			}
			id, ok := regions[m[1]+"@"+m[2]]
			if !ok {
				x := trace.Region{ID: fmt.Sprint(len(regions)), Name: m[1]}
				if m[2] != "" {
					x.File = "x.c"
					x.Line, _ = strconv.ParseInt(m[2], 10, 64)
				}
				id = r.Defs().Regions.Add(x)
				regions[m[1]+"@"+m[2]] = id
			}
			r.Enter(loc, now, id)
			d, _ := strconv.ParseInt(m[3], 10, 64)
			if now += d; m[4] == "[" {
				open = append(open, id)
			} else {
				r.Leave(loc, now, id)
			}
		}
	}
	return r
}

// compare returns the comparison of the runs a with the runs b.
func compare(t *testing.T, opt diff.Options, a, b []*trace.Recorder) *diff.Result {
	t.Helper()
	opt.Runs = [2]int{len(a), len(b)}
	c := diff.New(opt)
	for s, list := range [][]*trace.Recorder{a, b} {
		for _, r := range list {
			if err := c.Scan(context.Background(), diff.Side(s), format.Recorded(r), trace.NewRows(r.Defs())); err != nil {
				t.Fatal(err)
			}
		}
	}
	return c.Result()
}

// one returns a list of one run.
func one(r *trace.Recorder) []*trace.Recorder { return []*trace.Recorder{r} }

// lines returns each row as "kind path (was path) exclusive a>b inclusive a>b visits a>b".
func lines(rows []diff.Row) (list []string) {
	for i := range rows {
		r := &rows[i]
		s := fmt.Sprint(r.Kind, " ", r.Region)
		if r.Path != nil {
			s = fmt.Sprint(r.Kind, " ", strings.Join(r.Path, ";"))
		}
		if r.FormerPath != nil {
			s += " was " + strings.Join(r.FormerPath, ";")
		}
		list = append(list, fmt.Sprintf("%s %g>%g %g>%g %g>%g", s, r.Exclusive.A, r.Exclusive.B, r.Inclusive.A, r.Inclusive.B,
			r.Visits.A, r.Visits.B))
	}
	return list
}

// check checks that lists of lines are equal.
func check(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\nfound\n%s\nexpected\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestRepetitions checks which paths are repeated differently: solve calls step 10 times in A and 12 times in B, and
// each step calls send twice; main is at two locations of A and at three of B, and calls solve once at each of them. io
// occurs only in A.
func TestRepetitions(t *testing.T) {
	text := func(steps int, io string) string {
		return "main:10[solve:5[" + strings.Repeat("step:7[send:1 send:1 ]", steps) + "]" + io + "]"
	}
	a, b := run(text(10, "io:9"), text(10, "io:9")), run(text(12, ""), text(12, ""), text(12, ""))
	for _, c := range []struct {
		change   float64
		expected []string
	}{{0.02, []string{"main;solve;step 10>12 20>36"}}, {0.21, nil}} {
		var found []string
		for _, x := range compare(t, diff.Options{Least: 0.5, Change: c.change}, one(a), one(b)).Repetitions {
			found = append(found, fmt.Sprintf("%s %g>%g %g>%g", strings.Join(x.Path, ";"), x.Times.A, x.Times.B, x.Visits.A,
				x.Visits.B))
		}
		check(t, fmt.Sprint("repetitions that change by ", c.change), found, c.expected...)
	}
	// outermost paths: visits at each location
	twice := compare(t, diff.Options{Change: 0.02}, one(run("work:5", "work:5")), one(run("work:5work:5", "work:5work:5")))
	if l := twice.Repetitions; len(l) != 1 || l[0].Times.A != 1 || l[0].Times.B != 2 {
		t.Errorf("found %+v, expected work to occur once at each location of A, and twice in B", l)
	}
}

// TestExample checks the numbers of the example in docs/analyses/diff.md.
func TestExample(t *testing.T) {
	a := run("main:10[init:20 solve:100[send:10] solve:100[send:10] io:50]")
	b := run("main:10[init:20 calc:120[send:10] calc:130[send:10] check:30 ]")
	r := compare(t, diff.Options{Least: 0.001, Change: 0.02}, one(a), one(b))
	check(t, "paths", lines(r.Paths),
		"regression main;calc was main;solve 200>250 220>270 2>2",
		"added main;check 0>30 0>30 0>1",
		"removed main;io 50>0 50>0 1>0")
	check(t, "regions", lines(r.Regions),
		"regression calc was solve 200>250 220>270 2>2",
		"added check 0>30 0>30 0>1",
		"removed io 50>0 50>0 1>0")
	if r.Time.A != 300 || r.Time.B != 330 || r.Runtime.A != 300 || r.Runtime.B != 330 || *r.Time.Ratio != 1.1 {
		t.Errorf("found %+v and %+v, expected 300 and 330", r.Time, r.Runtime)
	}
	if r.Paths[0].PerVisit.A != 110 || r.Paths[0].PerVisit.B != 135 || r.Unit != diff.Locations || r.Paths[0].Test != nil {
		t.Errorf("found %+v, unit %s", r.Paths[0], r.Unit)
	}
	if r.ComparedPaths != 6 {
		t.Errorf("found %d paths, expected main, init, solve, send, check and io", r.ComparedPaths)
	}
}

// TestAlign checks which paths are matched.
func TestAlign(t *testing.T) {
	for _, x := range []struct {
		what, a, b string
		want       []string
	}{
		{"another line of the source", "main:1[f@3:50 g@9:20]", "main:1[f@5:60 g@11:20]",
			[]string{"regression main;f 50>60 50>60 1>1"}},
		{"the same name twice", "main:1[f@3:50 f@9:20]", "main:1[f@3:50 f@9:30]",
			[]string{"regression main;f (x.c:9) 20>30 20>30 1>1"}},
		{"another order", "main:1[f:50 g:20]", "main:1[g:30 f:50]", []string{"regression main;g 20>30 20>30 1>1"}},
		{"a frame around", "main:1[f:50[g:20]]", "main:1[w:5[f:50[g:30]]]",
			[]string{"regression main;w;f;g was main;f;g 20>30 20>30 1>1", "added main;w 0>5 0>85 0>1"}},
		{"a frame less", "main:1[w:5[f:50]]", "main:1[f:60]",
			[]string{"regression main;f was main;w;f 50>60 50>60 1>1", "removed main;w 5>0 55>0 1>0"}},
		{"too different for another name", "main:1[f:50]", "main:1[g:39]",
			[]string{"added main;g 0>39 0>39 0>1", "removed main;f 50>0 50>0 1>0"}},
		{"other visits", "main:1[f:10 f:10 f:10]", "main:1[g:30]",
			[]string{"added main;g 0>30 0>30 0>1", "removed main;f 30>0 30>0 3>0"}},
		{"renamed with what is inside", "main:1[f:1[x:20 y:20] k:5]", "main:1[g:1[x:20 y:25] k:5]",
			[]string{"regression main;g;y was main;f;y 20>25 20>25 1>1"}},
		{"not after what comes before", "main:1[f:50 k:5]", "main:1[k:5 g:50]",
			[]string{"added main;g 0>50 0>50 0>1", "removed main;f 50>0 50>0 1>0"}},
		{"the more similar one", "main:1[f:50]", "main:1[g:70 h:51]",
			[]string{"added main;g 0>70 0>70 0>1", "regression main;h was main;f 50>51 50>51 1>1"}},
		{"another name at one of two places", "main:1[f:50[x:9] w:1[f:9]]", "main:1[g:50[x:9] w:1[f:10]]",
			[]string{"regression main;w;f 9>10 9>10 1>1"}},
		{"recursion", "main:1[f:10[f:10]]", "main:1[f:10[f:20]]", []string{"regression main;f;f 10>20 10>20 1>1"}},
	} {
		check(t, x.what, lines(compare(t, diff.Options{}, one(run(x.a)), one(run(x.b))).Paths), x.want...)
	}
}

// TestRegionsOfPaths checks that a region that exists on both sides does not count as renamed if
// one of its paths was renamed.
func TestRegionsOfPaths(t *testing.T) {
	r := compare(t, diff.Options{}, one(run("main:1[f:50[x:9] w:1[f:9]]")), one(run("main:1[g:50[x:9] w:1[f:10]]")))
	check(t, "regions", lines(r.Regions), "added g 0>50 0>59 0>1", "improvement f 59>10 68>10 2>1")
	r = compare(t, diff.Options{}, one(run("main:1[f:50[x:9] w:1[g:9]]")), one(run("main:1[g:50[x:9] w:1[g:10]]")))
	check(t, "regions", lines(r.Regions), "regression g 9>60 9>69 1>2", "removed f 50>0 59>0 1>0")
}

// TestThresholds checks that a row is reported only if it reaches both thresholds. The time of A is
// 100000.
func TestThresholds(t *testing.T) {
	a := run("main:96900[f:2000 g:1000 h:100]")
	b := run("main:96900[f:2100 g:1099 h:199]")
	opt := diff.Options{Least: 0.001, Change: 0.05}
	check(t, "both", lines(compare(t, opt, one(a), one(b)).Regions), "regression f 2000>2100 2000>2100 1>1")
	opt.Change = 0.051
	check(t, "change", lines(compare(t, opt, one(a), one(b)).Regions))
	// 15 % exactly: with floating-point numbers, 230/200 - 1 is less than 0.15
	check(t, "exact", lines(compare(t, diff.Options{Change: 0.15}, one(run("f:200")), one(run("f:230"))).Regions),
		"regression f 200>230 200>230 1>1")
	check(t, "inclusive", lines(compare(t, diff.Options{Metric: diff.Inclusive, Least: 0.00101}, one(a), one(b)).Regions),
		"regression main 96900>96900 100000>100298 1>1")
	check(t, "visits", lines(compare(t, diff.Options{}, one(run("f:6")), one(run("f:3 f:3"))).Regions),
		"visits f 6>6 6>6 1>2")
}

// TestUnits checks the observations of each unit. All p-values are 2/70, that of 4 and 4
// observations where each of B is greater than each of A; see TestMannWhitney.
func TestUnits(t *testing.T) {
	test := func(what string, r *diff.Result, unit diff.Unit, samples [2]int, u, p, shift float64) {
		t.Helper()
		if r.Unit != unit || r.Samples != samples {
			t.Errorf("%s: found unit %s with %v, expected %s with %v", what, r.Unit, r.Samples, unit, samples)
		}
		if len(r.Regions) == 0 || r.Regions[0].Region != "f" || r.Regions[0].Test == nil {
			t.Fatalf("%s: found %+v, expected a tested row of f", what, r.Regions)
		}
		x := r.Regions[0].Test
		if x.U != u || x.P < p-1e-9 || x.P > p+1e-9 || x.Shift != shift {
			t.Errorf("%s: found %+v, expected U = %g, p = %g, shift %g", what, x, u, p, shift)
		}
	}
	runs := func(times ...int) (list []*trace.Recorder) {
		for _, f := range times {
			list = append(list, run(fmt.Sprintf("main:1[f:%d]", f), fmt.Sprintf("main:1[f:%d]", f)))
		}
		return list
	}
	r := compare(t, diff.Options{}, runs(1, 2, 3, 4), runs(15, 16, 17, 18))
	test("runs", r, diff.Runs, [2]int{4, 4}, 16, 2.0/70, 28)
	if x := r.Regions[0].Exclusive; x.A != 5 || x.B != 33 {
		t.Errorf("found %+v, expected the means of two times 1 to 4 and 15 to 18", x)
	}
	if x := r.RuntimeTest; x == nil || x.P != r.Regions[0].Test.P || x.Shift != 14 {
		t.Errorf("found %+v, expected a shift of the runtime of 14", x)
	}
	if q := r.Regions[0].Test.Q; q < 2*2.0/70-1e-9 || q > 2*2.0/70+1e-9 {
		t.Errorf("found q = %g, expected p doubled: there are two regions, and main is the same", q)
	}

	// The fifth location of B has no partner in A, and f is not called at the first one of either
	// side. Locations that do not call f on either side do not count.
	a := run("main:1", "main:1[f:1]", "main:1[f:2]", "main:1[f:3]", "main:1[f:4]")
	b := run("main:1", "main:1[f:15]", "main:1[f:16]", "main:1[f:17]", "main:1[f:18]", "main:1[f:1000]")
	test("locations", compare(t, diff.Options{}, one(a), one(b)), diff.Locations, [2]int{5, 6}, 16, 2.0/70, 14)
	several := compare(t, diff.Options{}, []*trace.Recorder{a, a}, one(b))
	test("locations of several runs", several, diff.Locations, [2]int{5, 6}, 16, 2.0/70, 14)
	several.Regions = several.Paths
	test("paths at locations of several runs", several, diff.Locations, [2]int{5, 6}, 16, 2.0/70, 14)

	// An iteration is the sum of the visits at all locations. Rows outside of the loop have no
	// test.
	a = run("main:1[f:9 step:0[f:1] step:0[f:1] step:0[f:1] step:0[f:2]]",
		"main:1[step:0 step:0[f:1] step:0[f:2] step:0[f:2]]")
	b = run("main:1[f:9 step:0[f:15] step:0[f:8] f:100 step:0[f:17] step:0[f:18]]", "main:1[step:0 step:0[f:8]]")
	for _, m := range []diff.Metric{diff.Exclusive, diff.Inclusive} {
		r = compare(t, diff.Options{Loop: "step", Metric: m}, one(a), one(b))
		i := slices.IndexFunc(r.Paths, func(p diff.Row) bool { return slices.Equal(p.Path, []string{"main", "f"}) })
		if i < 0 || r.Paths[i].Test != nil {
			t.Errorf("found %+v, expected a row of main, f without a test", r.Paths)
		}
		r.Regions = slices.DeleteFunc(r.Regions, func(x diff.Row) bool { return x.Region != "f" })
		test("iterations", r, diff.Iterations, [2]int{4, 4}, 16, 2.0/70, 14)
	}
}

// TestIterationsOfRuns checks that the iterations of different runs are different observations.
func TestIterationsOfRuns(t *testing.T) {
	r := compare(t, diff.Options{Loop: "s"}, []*trace.Recorder{run("s:1 s:2"), run("s:3 s:4")},
		one(run("s:15 s:16 s:17 s:18")))
	if x := r.Regions[0].Test; r.Samples != [2]int{4, 4} || x.U != 16 || x.Shift != 14 || !x.Exact {
		t.Errorf("found %v and %+v, expected U = 16 and a shift of 14 of 4 and 4 iterations", r.Samples, x)
	}
}

// TestRecursion checks that the time in nested visits of a region counts once, also in the tests.
func TestRecursion(t *testing.T) {
	var a, b []string
	for i := range 4 {
		a, b = append(a, fmt.Sprintf("f:1[g:0[f:%d]]", i)), append(b, fmt.Sprintf("f:1[g:0[f:%d]]", i+10))
	}
	for _, loop := range []string{"", "f"} {
		r := compare(t, diff.Options{Metric: diff.Inclusive, Loop: loop}, one(run(a...)), one(run(b...)))
		i := slices.IndexFunc(r.Regions, func(r diff.Row) bool { return r.Region == "f" })
		if x := r.Regions[i]; x.Inclusive.A != 10 || x.Inclusive.B != 50 || loop == "" && x.Test.Shift != 10 {
			t.Errorf("found %+v with %+v, expected inclusive times of 4 + 6 and 4 + 46, and a shift of 10", x, x.Test)
		}
	}
}

// TestOrder checks that rows that are not significant come last regardless of their difference.
func TestOrder(t *testing.T) {
	a := run("f:1 g:1000 h:5", "f:2 g:2000 h:6", "f:3 g:3000 h:7", "f:4 g:4000 h:8")
	b := run("f:11 g:2500 h:1", "f:12 g:3500 h:2", "f:13 g:1500 h:3", "f:14 g:4500 h:4")
	check(t, "regions", lines(compare(t, diff.Options{}, one(a), one(b)).Regions), "regression f 10>50 10>50 4>4",
		"improvement h 26>10 26>10 4>4", "regression g 10000>12000 10000>12000 4>4")
}

// randomTrace returns a trace in which regions overlap, are left without an enter, and stay open.
func randomTrace(seed uint64) *trace.Recorder {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	g := rand.New(rand.NewPCG(seed, 1))
	var regions []uint32
	for _, n := range strings.Split("abcde", "") {
		regions = append(regions, r.Region(n))
	}
	for range 5 {
		loc := r.Location("p")
		now := int64(0)
		for range 200 {
			if now += g.Int64N(5); g.IntN(2) == 0 {
				r.Enter(loc, now, regions[g.IntN(5)])
			} else {
				r.Leave(loc, now, regions[g.IntN(5)])
			}
		}
	}
	return r
}

// TestSelf checks that the comparison of a trace with itself reports no row, with any options.
func TestSelf(t *testing.T) {
	for seed := range uint64(effort.Rounds(30)) {
		r := randomTrace(seed)
		for _, opt := range []diff.Options{{}, {Loop: "a"}, {Metric: diff.Inclusive}, {Loop: "b", Metric: diff.Inclusive}} {
			x := compare(t, opt, one(r), one(r))
			if len(x.Regions)+len(x.Paths) > 0 || x.Time.Difference != 0 || x.Runtime.Difference != 0 {
				t.Fatalf("seed %d: found %v and %v", seed, lines(x.Regions), lines(x.Paths))
			}
			if x = compare(t, opt, []*trace.Recorder{r, r, r}, one(r)); len(x.Regions)+len(x.Paths) > 0 {
				t.Fatalf("seed %d, three times: found %v and %v", seed, lines(x.Regions), lines(x.Paths))
			}
		}
	}
}

// TestProfile checks that times and visits equal those of package profile.
func TestProfile(t *testing.T) {
	nothing := run("main:0")
	for seed := range uint64(effort.Rounds(50)) {
		r := randomTrace(seed)
		p := profile.New(r.Defs(), profile.Options{})
		if err := format.Recorded(r).Scan(context.Background(), trace.Everything(), format.PerLocation, p); err != nil {
			t.Fatal(err)
		}
		want := p.Result()
		for _, opt := range []diff.Options{{}, {Metric: diff.Inclusive}} {
			x := compare(t, opt, one(nothing), one(r))
			if x.Time.B != want.Covered.Float() {
				t.Errorf("found %g, expected the covered time %s", x.Time.B, want.Covered)
			}
			for _, y := range want.Regions {
				i := slices.IndexFunc(x.Regions, func(r diff.Row) bool { return r.Region == y.Name })
				if i < 0 {
					t.Fatalf("found no region %s in %v", y.Name, lines(x.Regions))
				}
				g := &x.Regions[i]
				if g.Exclusive.B != y.Exclusive.Float() || g.Inclusive.B != y.Inclusive.Float() || g.Visits.B != float64(y.Count) {
					t.Errorf("seed %d, %s: found %v, expected %s, %s, %d", seed, y.Name, lines(x.Regions[i:i+1]), y.Exclusive,
						y.Inclusive, y.Count)
				}
				if c, ok := x.Region(y.Name); !ok || c != g.Inclusive && c.B != g.Inclusive.B {
					t.Errorf("%s: found %+v, expected %+v", y.Name, c, g.Inclusive)
				}
			}
			sum := 0.0
			if err := x.Stacks(3, func(path []string, deeper bool, a, b float64) error {
				if len(path) > 3 || deeper && len(path) < 3 {
					t.Errorf("found the stack %v", path)
				}
				sum += b
				return nil
			}); err != nil || sum != x.Time.B {
				t.Errorf("found stacks of %g in all, expected %g (%v)", sum, x.Time.B, err)
			}
		}
	}
}

// TestParts checks that the result does not depend on how locations are distributed over parts.
func TestParts(t *testing.T) {
	result := func(parts int, opt diff.Options) string {
		opt.Runs = [2]int{1, 1}
		c := diff.New(opt)
		for s := range 2 {
			r := randomTrace(uint64(s))
			rows := trace.NewRows(r.Defs())
			list := make([]*diff.Part, parts)
			for i := range list {
				list[i] = diff.NewPart(r.Defs(), rows, opt.Loop)
			}
			for loc := range uint32(5) {
				for _, b := range r.Batches(loc) {
					if err := list[int(loc*3)%parts].Batch(b); err != nil {
						t.Fatal(err)
					}
				}
			}
			for _, p := range list[1:] {
				if err := list[0].Merge(p); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.Add(diff.Side(s), list[0]); err != nil {
				t.Fatal(err)
			}
		}
		text, err := json.Marshal(c.Result())
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for _, opt := range []diff.Options{{}, {Loop: "a"}, {Metric: diff.Inclusive}, {Loop: "b", Metric: diff.Inclusive}} {
		want := result(1, opt)
		for parts := 2; parts < 5; parts++ {
			if got := result(parts, opt); got != want {
				t.Errorf("%d parts: found %s, expected %s", parts, got, want)
			}
		}
	}
}

// TestClocks checks that times of a run with another clock are converted to the clock of the first
// run.
func TestClocks(t *testing.T) {
	a, b := run("main:10[f:20]"), trace.NewRecorder(trace.TicksPerSecond(4000))
	loc, m, f := b.Location("p"), b.Region("main"), b.Region("f")
	b.Enter(loc, 1000, m)
	b.Enter(loc, 1040, f)
	b.Leave(loc, 1130, f)
	b.Leave(loc, 1130, m)
	check(t, "clocks", lines(compare(t, diff.Options{}, one(a), one(b)).Paths), "regression main;f 20>22.5 20>22.5 1>1")
}

// TestUnitOfFragments checks that the unit in which fragments of signals count time does not change times.
func TestUnitOfFragments(t *testing.T) {
	a, b := run("main:10[f:20]"), run("main:10[f:30]")
	b.Defs().Clock.Unit = 5
	check(t, "units", lines(compare(t, diff.Options{}, one(a), one(b)).Paths), "regression main;f 20>30 20>30 1>1")
}

// TestClaims checks that the claims of an activity on the resources of a location are visits of one path, which
// overlap, and that claims without an end end at the last event.
func TestClaims(t *testing.T) {
	side := func(second int64) *trace.Recorder {
		r := trace.NewRecorder(trace.TicksPerSecond(1000))
		work, named := r.Resource("cpu", 2, ""), r.Region("A")
		first := r.Claim(work, 0, named, 1)
		other := r.Claim(work, 5, named, 1)
		r.Release(first, 10)              // 10
		r.Release(other, second)          // second - 5
		r.Claim(work, 90, trace.NoRef, 1) // 10
		r.Mark(r.Defs().Resources.At(work).Location, 100, named)
		loc := r.Location("p")
		r.Enter(loc, 0, named)
		r.Leave(loc, 7, named)
		return r
	}
	x := compare(t, diff.Options{}, one(side(20)), one(side(40)))
	check(t, "claims", lines(x.Paths), "regression A (claims) 25>45 25>45 2>2")
	if x.ComparedPaths != 3 || x.ComparedRegions != 3 {
		t.Errorf("found %d paths and %d regions, expected A, its claims, and claims without a region", x.ComparedPaths,
			x.ComparedRegions)
	}
	if c, ok := x.Region("A"); !ok || c.A != 25+7 || c.B != 45+7 {
		t.Errorf("found %v, expected visits and claims of A, 32 and 52", c)
	}
	few := compare(t, diff.Options{Regions: func(names ...string) bool { return slices.Contains(names, "A (claims)") }},
		one(side(20)), one(side(40)))
	if few.ComparedRegions != 1 {
		t.Errorf("found %d regions, expected the claims of A", few.ComparedRegions)
	}
}

// TestDeep checks that paths of deep recursion are compared without deep recursion, and in little
// time.
func TestDeep(t *testing.T) {
	deep := func(n int, last int64) *trace.Recorder {
		r := trace.NewRecorder(trace.TicksPerSecond(1000))
		loc, f := r.Location("p"), r.Region("f")
		for i := range n {
			r.Enter(loc, int64(i), f)
		}
		r.Leave(loc, int64(n)+last, f)
		return r
	}
	r := compare(t, diff.Options{}, one(deep(100_000, 0)), one(deep(100_000, 7)))
	if len(r.Paths) != 1 || len(r.Paths[0].Path) != 200 || r.Paths[0].Path[1] != "[99801 calls]" {
		t.Errorf("found %d paths, expected one that has all 100000 names but 199 left out", len(r.Paths))
	}
	if x := r.Regions[0]; x.Inclusive.A != 100_000 || x.Inclusive.B != 100_007 {
		t.Errorf("found %+v, expected 100000 and 100007", x.Inclusive)
	}
}

// TestJSON checks that lists without rows are [] in JSON, and not null.
func TestJSON(t *testing.T) {
	r := run("main:10")
	text, err := json.Marshal(compare(t, diff.Options{}, one(r), one(r)))
	if err != nil {
		t.Fatal(err)
	}
	var x map[string]any
	if err := json.Unmarshal(text, &x); err != nil || !reflect.DeepEqual(x["paths"], []any{}) ||
		!reflect.DeepEqual(x["regions"], []any{}) {
		t.Errorf("found %s, expected empty lists (%v)", text, err)
	}
}

// TestGrows checks the bound of --fail-if with integers: a growth by exactly the share is not more than the share, and
// one more tick is. With floating-point numbers, 100 * 1.15 is less than 115.
func TestGrows(t *testing.T) {
	for percent := int64(0); percent <= 100; percent++ {
		for _, hundreds := range []int64{1, 3, 7, 10, 49, 1e9 + 7} {
			c := diff.Change{A: float64(100 * hundreds), B: float64((100 + percent) * hundreds)}
			share := float64(percent) / 100
			if c.Grows(share) {
				t.Errorf("%v to %v: found a growth of more than %d %%", c.A, c.B, percent)
			}
			if c.B++; !c.Grows(share) {
				t.Errorf("%v to %v: found no growth of more than %d %%", c.A, c.B, percent)
			}
		}
	}
}

// TestRuntimeOfProfile checks that the runtime of a trace is measured as that of a profile with which it is compared.
// Location a works from 0 to 10, and b from 5 to 20: b has the most time, 15, and the trace lasts for 20.
func TestRuntimeOfProfile(t *testing.T) {
	rec := trace.NewRecorder(trace.TicksPerSecond(1))
	for i, visit := range [][2]int64{{0, 10}, {5, 20}} {
		loc := rec.Location(string(rune('a' + i)))
		rec.Enter(loc, visit[0], rec.Region("work"))
		rec.Leave(loc, visit[1], rec.Region("work"))
	}
	cube := &diff.Profile{Clock: trace.TicksPerSecond(1), Regions: []trace.Region{{Name: "work"}},
		Paths: []diff.ProfilePath{{Parent: -1, Visits: []int64{1, 1}, Exclusive: []int64{10, 15}}}}
	for _, profiled := range []bool{false, true} {
		c := diff.New(diff.Options{})
		err := c.Scan(t.Context(), diff.A, format.Recorded(rec), nil)
		expected := 20.0
		if profiled {
			err = cmp.Or(err, c.AddProfile(diff.B, cube))
			expected = 15
		} else {
			err = cmp.Or(err, c.Scan(t.Context(), diff.B, format.Recorded(rec), nil))
		}
		if err != nil {
			t.Fatal(err)
		}
		if r := c.Result().Runtime; r.A != expected || r.B != expected {
			t.Errorf("profile %v: found the runtimes %v and %v, expected %v", profiled, r.A, r.B, expected)
		}
	}
}

// TestSmallRows checks that rows that are too small to be reported do not count for Q. Both main and f differ in all 4
// runs, so that p is 2/70 for both: the pair of them has q = p. With the three others, q would be 5/2 * 2/70 = 0.071.
func TestSmallRows(t *testing.T) {
	var sides [2][]*trace.Recorder
	for i := range 4 {
		sides[0] = append(sides[0], run(fmt.Sprintf("main:%d[f:%d x:1 y:1 z:1]", 1000+i, 2000+i)))
		sides[1] = append(sides[1], run(fmt.Sprintf("main:%d[f:%d x:1 y:1 z:1]", 1100+i, 2200+i)))
	}
	r := compare(t, diff.Options{Least: 0.001, Change: 0.02}, sides[0], sides[1])
	for _, rows := range [][]diff.Row{r.Regions, r.Paths} {
		if len(rows) != 2 {
			t.Fatalf("found %d rows, expected main and f", len(rows))
		}
		for _, row := range rows {
			if q := row.Test.Q; q < 2.0/70-1e-9 || q > 2.0/70+1e-9 || !row.Significant() {
				t.Errorf("%s: found q = %g, expected p = 2/70", row.Region, q)
			}
		}
	}
}
