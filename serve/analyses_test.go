package serve

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-trace/weft/analysis"
	"github.com/weft-trace/weft/trace"
)

// The tests in this file compare answers about wait states, the critical path and efficiency with
// the numbers that docs/analyses calculates by hand for the trace called hand. TestSameReasons in
// package cli compares the same answers with the commands.

const handTrace = "../analysis/waits/testdata/hand/traces.otf2"

// TestWaits checks the waits of the whole trace and of windows. Rank 1 waits for rank 0 from 300 to
// 600, and rank 2 for rank 1 from 400 to 700. At the barrier, rank 0 waits for rank 2 from 800 to
// 1000, and rank 1 from 900 to 1000.
func TestWaits(t *testing.T) {
	s := newTestServer(t, options(t), handTrace)
	api := waitReady(t, s, 0)
	for _, c := range []struct{ query, pattern, path, want string }{
		{"", "late-sender", "count", "2"}, {"", "late-sender", "time", "600"}, {"", "late-sender", "max", "300"},
		{"", "wait-at-barrier", "time", "300"}, {"", "wait-at-nxn", "time", "250"}, {"", "late-broadcast", "time", "150"},
		{"", "early-reduce", "time", "100"}, {"", "wait-at-finalize", "time", "60"},
		{"?from=300&to=500", "late-sender", "count", "2"}, {"?from=300&to=500", "late-sender", "time", "300"},
		{"?from=500&to=650", "late-sender", "count", "0"}, {"?from=500&to=650", "late-sender", "time", "250"},
		{"?from=800&to=950", "wait-at-barrier", "time", "200"},
		{"?tracks=1", "late-sender", "count", "1"}, {"?tracks=1-2", "late-sender", "time", "600"},
		{"?tracks=1&from=300&to=500", "late-sender", "time", "200"},
		{"", "late-sender", "regions/rows/0/name", "MPI_Recv"}, {"", "late-sender", "regions/rows/0/time", "600"},
		{"", "late-sender", "paths/rows/0/path", "[app main MPI_Recv]"},
		{"", "late-sender", "communicators/rows/0/name", "MPI_COMM_WORLD"},
		{"", "late-sender", "locations/rows/len", "2"}, {"", "late-sender", "pairs/rows/len", "2"},
		{"", "late-sender", "worst/len", "2"}, {"", "late-sender", "worst/0/path", "[app main MPI_Recv]"},
		{"", "late-sender", "worst/0/begin", "300"}, {"", "late-sender", "worst/0/time", "300"},
		{"", "late-sender", "worst/0/depth", "2"}, {"", "late-sender", "worst/0/causeDepth", "2"},
		{"", "late-sender", "worst/0/causeTime", "600"},
		{"", "wait-at-barrier", "worst/0/begin", "800"}, {"", "wait-at-barrier", "worst/0/causeTime", "1000"},
	} {
		v := get(t, s, api+"/waits"+c.query)
		checkAnswer(t, s, "Waits", v)
		list := look(v, "patterns").([]any)
		i := slices.IndexFunc(list, func(x any) bool { return look(x, "pattern") == c.pattern })
		if i < 0 {
			t.Errorf("%s: found no pattern %s", c.query, c.pattern)
			continue
		}
		if got := fmt.Sprint(look(list[i], c.path)); got != c.want {
			t.Errorf("%s %s/%s: found %s, expected %s", c.query, c.pattern, c.path, got, c.want)
		}
		if list := look(list[i], "worst").([]any); c.pattern == "late-sender" && len(list) == 2 {
			for k := range list {
				waits, cause := trackName(t, s, api, list[k], "track"), trackName(t, s, api, list[k], "cause")
				if want := fmt.Sprint(k+1, " ", k); waits+" "+cause != want {
					t.Errorf("%s: in wait %d %s waits for %s, expected %s", c.query, k, waits, cause, want)
				}
			}
		}
	}
	if v := get(t, s, api+"/waits"); v["missing"] != "" || fmt.Sprint(v["locations"]) != "3" {
		t.Errorf("found %v", v)
	}
}

// trackName returns the id of the track whose number is in the given field of an answer.
func trackName(t *testing.T, s *Server, api string, v any, field string) string {
	t.Helper()
	return fmt.Sprint(look(get(t, s, api), fmt.Sprintf("tracks/%v/id", look(v, field))))
}

// TestNothingToJudge checks that an answer about a trace without waits states the reason why it contains none.
func TestNothingToJudge(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.otf2")
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	l := r.Location("rank 0")
	r.Enter(l, 10, r.Region("MPI_Init"))
	r.Leave(l, 20, r.Region("MPI_Init"))
	save(t, path, r)
	const far = "../format/otf/testdata/ok/bigtime/bigtime.otf" // the times in this trace are 2^63 ticks apart
	s := newTestServer(t, options(t), path, far)
	api, farAPI := waitReady(t, s, 0), waitReady(t, s, 1)
	for _, x := range []string{"path", "path/line", "efficiency", "explain"} {
		if got := get(t, s, farAPI+"/"+x)["missing"]; got != analysis.ErrTimeRange.Error() {
			t.Errorf("%s of times that are too far apart: found %q, expected %q", x, got, analysis.ErrTimeRange)
		}
	}
	for _, c := range []struct{ answer, schema, want string }{
		{"waits", "Waits", "found no messages, collective operations, barriers or locks in calls that take time, " +
			"expected some of them; waits cannot be judged"},
		{"path", "Path", ""}, // a trace that has only MPI_Init has a critical path
		{"efficiency", "Efficiency", "found no useful time of processes or threads, expected some"},
		{"explain", "Explanation", "found no useful time of processes or threads, expected some"},
	} {
		v := get(t, s, api+"/"+c.answer)
		checkAnswer(t, s, c.schema, v)
		for k, x := range v { // there are only lists, not numbers and times of 0
			if _, list := x.([]any); c.want != "" && k != "missing" && k != "verdict" && !list {
				t.Errorf("%s: found %s = %v beside a reason, expected no such field", c.answer, k, x)
			}
		}
		if v["missing"] != c.want {
			t.Errorf("%s: found %q, expected %q", c.answer, v["missing"], c.want)
		}
	}
}

// number returns the number at a path in an answer.
func number(t *testing.T, v any, path string) float64 {
	t.Helper()
	n, _ := look(v, path).(json.Number)
	f, err := n.Float64()
	if err != nil {
		t.Errorf("%s: found %v, expected a number", path, look(v, path))
	}
	return f
}

// TestEfficiency checks the factors of the trace. The hybrid factors must exist for a process with threads.
func TestEfficiency(t *testing.T) {
	s := newTestServer(t, options(t), handTrace, "../analysis/waits/testdata/omp/traces.otf2")
	api := waitReady(t, s, 0)
	v := get(t, s, api+"/efficiency")
	checkAnswer(t, s, "Efficiency", v)
	for i, c := range []struct {
		name  string
		level int
		want  float64
	}{{"parallel efficiency", 0, 1045. / 1820}, {"load balance", 1, 1045. / 1200}, {"communication", 1, 1200. / 1820},
		{"serialisation", 2, 1200. / 1530}, {"transfer", 2, 1530. / 1820}} {
		x := fmt.Sprint("factors/", i)
		if got := number(t, v, x+"/value"); math.Abs(got-c.want) > 1e-9 || look(v, x+"/name") != c.name ||
			fmt.Sprint(look(v, x+"/level")) != fmt.Sprint(c.level) {
			t.Errorf("found the factor %v, expected %+v", look(v, x), c)
		}
	}
	// Rank 1 alone is outside of MPI for 825 ticks of the runtime.
	if got := number(t, get(t, s, api+"/efficiency?tracks=1"), "factors/0/value"); math.Abs(got-825./1820) > 1e-9 {
		t.Errorf("found an efficiency of %v of rank 1, expected 825/1820", got)
	}
	if w := ask(s, "GET", api+"/explain?tracks=99"); w.Code != 400 {
		t.Errorf("of a track that does not exist found status %d, expected 400", w.Code)
	}
	for _, c := range []struct{ path, want string }{
		{"missing", ""}, {"processes", "3"}, {"threads", "3"}, {"runtime", "1820"}, {"ideal", "1530"}, {"useful", "3135"},
		{"usefulMax", "1200"}, {"factors/len", "5"}, {"hybrid/len", "0"}, {"sentences/len", "1"},
	} {
		if got := fmt.Sprint(look(v, c.path)); got != c.want {
			t.Errorf("%s: found %s, expected %s", c.path, got, c.want)
		}
	}
	v = get(t, s, waitReady(t, s, 1)+"/efficiency")
	checkAnswer(t, s, "Efficiency", v)
	if fmt.Sprintf("%v %v %v", look(v, "hybrid/len"), look(v, "threads"), look(v, "processes")) != "16 3 1" {
		t.Errorf("of a trace of threads found %v", v)
	}
}

// TestPhases checks the factors of phases. The runtimes of equal parts are equal. Therefore the mean of their
// parallel efficiencies is the parallel efficiency of the whole trace.
func TestPhases(t *testing.T) {
	s := newTestServer(t, options(t), handTrace, "../examples/odse.etf")
	api := waitReady(t, s, 0) + "/efficiency/phases"
	v := get(t, s, api+"?count=4")
	checkAnswer(t, s, "Phases", v)
	sum := 0.0
	for i := range 4 {
		sum += number(t, v, fmt.Sprintf("phases/%d/values/0", i))
		if from := fmt.Sprint(look(v, fmt.Sprintf("phases/%d/from", i))); from != fmt.Sprint(455*i) {
			t.Errorf("phase %d begins at %s, expected %d", i, from, 455*i)
		}
	}
	if math.Abs(sum/4-1045./1820) > 1e-9 {
		t.Errorf("found a mean of %v, expected that of all of it, %v", sum/4, 1045./1820)
	}
	// Rank 0 is in work six times, the first time from 100 to 600.
	v = get(t, s, api+"?by=region&region=work")
	checkAnswer(t, s, "Phases", v)
	for _, c := range []struct{ path, want string }{
		{"phases/len", "6"}, {"phases/0/from", "100"}, {"left", "0"}, {"steps/len", "0"}, {"factors/len", "5"},
		{"factors/1/name", "load balance"},
	} {
		if got := fmt.Sprint(look(v, c.path)); got != c.want {
			t.Errorf("%s: found %s, expected %s", c.path, got, c.want)
		}
	}
	// A window in the first visit at rank 0, which lasts to 600, does not shorten it. The factors are the same whether the
	// server has computed them before or not.
	all := v
	for _, api := range []string{api, waitReady(t, newTestServer(t, options(t), handTrace), 0) + "/efficiency/phases"} {
		v = get(t, s, api+"?by=region&region=work&from=200&to=210")
		for _, path := range []string{"phases/0/number", "phases/0/from", "phases/0/to", "phases/0/values"} {
			if got, want := fmt.Sprint(look(v, path)), fmt.Sprint(look(all, path)); got != want {
				t.Errorf("%s: in the window found %s, expected %s", path, got, want)
			}
		}
		if n := fmt.Sprint(look(v, "phases/len")); n != "1" {
			t.Errorf("in a window of one phase found %s", n)
		}
	}
	for query, want := range map[string]string{
		"?by=region&region=work&from=0&to=50": "found no phase in this time",
		"?by=loop":                            "found no calls or events that repeat in succession, expected a loop",
		"?by=region&region=nope":              `found no visit of a region "nope"`,
		"?from=1818&to=1819&by=time":          "",
	} {
		v = get(t, s, api+query)
		checkAnswer(t, s, "Phases", v)
		if got := fmt.Sprint(look(v, "missing")); got != want {
			t.Errorf("%s: found %q, expected %q", query, got, want)
		}
	}
	if n := fmt.Sprint(look(get(t, s, api+"?from=5000&to=6000"), "phases/len")); n != "0" {
		t.Errorf("after the trace there are %s phases, expected none", n)
	}
	for _, query := range []string{"?by=region", "?by=time&region=work", "?by=none", "?count=0", "?count=201"} {
		if w := ask(s, "GET", api+query); w.Code != 400 {
			t.Errorf("%s: found status %d, expected 400", query, w.Code)
		}
	}
	v = get(t, s, waitReady(t, s, 1)+"/efficiency/phases")
	if got := fmt.Sprint(look(v, "missing")); got != "found no calls of regions, expected some" {
		t.Errorf("of a trace of claims found %q", got)
	}
}

// TestExplain checks the verdict, the findings and their places. Rank 0 is late by 300 of its 500
// ticks in work at the first message, but rank 2 works longer in total, and the root of the reduction waits
// for it. The mean of the useful time is 1045 of 1820 ticks, and the ideal runtime is 1530 ticks.
func TestExplain(t *testing.T) {
	s := newTestServer(t, options(t), handTrace)
	api := waitReady(t, s, 0)
	v := get(t, s, api+"/explain")
	checkAnswer(t, s, "Explanation", v)
	for _, c := range []struct {
		path string
		want float64
	}{{"factors/parallel", 1045. / 1820}, {"factors/load-balance", 1045. / 1200}, {"factors/serialisation", 1200. / 1530},
		{"factors/transfer", 1530. / 1820}} {
		if got := number(t, v, c.path); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: found %v, expected %v", c.path, got, c.want)
		}
	}
	for _, c := range []struct{ path, want string }{
		{"missing", ""}, {"ran/processes", "3"}, {"ran/threads", "3"}, {"ran/runtime", "1820"},
		{"ran/regions/0/region", "work"}, {"findings/0/id", "late"}, {"findings/0/path", "[app main work]"},
		{"findings/0/tracks/len", "2"}, {"findings/1/path", "[]"},
	} {
		if got := fmt.Sprint(look(v, c.path)); got != c.want {
			t.Errorf("%s: found %s, expected %s", c.path, got, c.want)
		}
	}
	if verdict, _ := v["verdict"].(string); !strings.HasPrefix(verdict, "57 % of the time is useful.") {
		t.Errorf("found the verdict %q", verdict)
	}
	if id := trackName(t, s, api, v, "findings/0/tracks/0"); id != "0" {
		t.Errorf("found the location %s, expected that of rank 0", id)
	}
	// Between 620 and 1000, only work, main and app are useful. The window has 380 ticks.
	if v := get(t, s, api+"/explain?from=620&to=1000"); fmt.Sprint(look(v, "ran/runtime")) != "380" {
		t.Errorf("found %v, expected a runtime of 380", look(v, "ran"))
	}
}

// TestWaitIntervals checks the waits that are shown in the time line. Rank 0 waits from 800 to 1000 at the
// barrier, from 1300 to 1400 at the all-reduce, from 1500 to 1600 at the reduction, and from 1700 to 1740 at
// the end.
func TestWaitIntervals(t *testing.T) {
	s := newTestServer(t, options(t), handTrace, "../examples/odse.etf")
	api := waitReady(t, s, 0)
	tracks := ""
	for i, x := range look(get(t, s, api), "tracks").([]any) {
		if look(x, "id") == "0" && look(x, "kind") == "location" {
			tracks = fmt.Sprint("&tracks=", i)
		}
	}
	for _, c := range []struct{ query, want string }{
		{"?width=1000&from=300&to=1000", "0:[800 1000] 1:[300 600 900 1000] 2:[400 700] "},
		{"?width=1000&from=600&to=650", "2:[400 700] "},
		{"?width=1000" + tracks, "0:[800 1000 1300 1400 1500 1600 1700 1740] "},
		// A column has 260 ticks. In the column from 780 on, 200 ticks are waits. In every other column, at
		// most 100 ticks are waits.
		{"?width=7" + tracks, "0:[780 1040] "},
		{"?from=5000&to=6000", ""},
	} {
		v := get(t, s, api+"/waits/intervals"+c.query)
		checkAnswer(t, s, "WaitIntervals", v)
		got := ""
		for _, x := range look(v, "tracks").([]any) {
			got += fmt.Sprintf("%s:%v ", trackName(t, s, api, x, "track"), look(x, "times"))
		}
		if got != c.want || fmt.Sprint(v["left"]) != "0" {
			t.Errorf("%s: found %s and %v left out, expected %s", c.query, got, v["left"], c.want)
		}
	}
	// Rank 1 waits from 300 for the send that rank 0 begins at 600. Rank 2 waits from 400 for the send that
	// rank 1 begins at 700 (docs/analyses/waits.md).
	arrows := ""
	for _, x := range look(get(t, s, api+"/waits/intervals?width=1000&from=500&to=750"), "arrows").([]any) {
		arrows += fmt.Sprintf("%s:%v from %s:%v ", trackName(t, s, api, x, "track"), look(x, "to"), trackName(t, s, api, x,
			"cause"), look(x, "from"))
	}
	if want := "1:600 from 0:600 2:700 from 1:700 "; arrows != want {
		t.Errorf("found the arrows %s, expected %s", arrows, want)
	}
	if v := get(t, s, waitReady(t, s, 1)+"/waits/intervals"); v["missing"] == "" {
		t.Error("found no reason why a trace of claims has no waits")
	}
}

// TestPath checks the critical path, backwards from the end: on rank 2 to 1200, where its wait in
// MPI_Bcast ends; on rank 0 to 1000; on rank 2 to 700; on rank 1 to 600; and on rank 0 to the begin
// of MPI_Init at 10.
func TestPath(t *testing.T) {
	s := newTestServer(t, options(t), handTrace)
	api := waitReady(t, s, 0)
	v := get(t, s, api+"/path")
	checkAnswer(t, s, "Path", v)
	for _, c := range []struct{ path, want string }{
		{"missing", ""}, {"begin", "10"}, {"end", "1740"}, {"length", "1730"}, {"runtime", "1820"}, {"count", "5"},
		{"pieces/len", "5"}, {"pieces/0/from", "10"}, {"pieces/0/to", "600"}, {"regions/0/name", "work"},
		{"locations/len", "3"}, {"gains/0/curve/len", "5"}, {"factors", "[0.9 0.75 0.5 0.25 0]"},
	} {
		if got := fmt.Sprint(look(v, c.path)); got != c.want {
			t.Errorf("%s: found %s, expected %s", c.path, got, c.want)
		}
	}
	for _, field := range []string{"regions", "locations"} {
		all := 0.
		for i := range look(v, field).([]any) {
			text, _ := look(v, fmt.Sprint(field, "/", i, "/time")).(string)
			time, err := strconv.ParseFloat(text, 64)
			if err != nil {
				t.Error(err)
			}
			all += time
		}
		if all != 1730 {
			t.Errorf("%s have %v ticks of the path, expected 1730", field, all)
		}
	}
	for query, want := range map[string]string{
		"":                   "0:10~600 1:600~700 2:700~1000 0:1000~1200 2:1200~1740 ",
		"?from=650&to=900":   "1:600~700 2:700~1000 ",
		"?from=5000&to=6000": "",
		// These are the first and the last piece, and the first piece on the highest rank.
		"?width=1&from=0":       "0:10~600 2:700~1000 2:1200~1740 ",
		"?from=0&to=9000000000": "0:10~600 1:600~700 2:700~1000 0:1000~1200 2:1200~1740 ",
	} {
		v := get(t, s, api+"/path/line"+query)
		checkAnswer(t, s, "PathLine", v)
		got := ""
		for _, p := range look(v, "pieces").([]any) {
			got += fmt.Sprintf("%s:%v~%v ", trackName(t, s, api, p, "track"), look(p, "from"), look(p, "to"))
		}
		if got != want {
			t.Errorf("%s: found the pieces %s, expected %s", query, got, want)
		}
	}
	if w := ask(s, "GET", api+"/path/line?width=0"); w.Code != 400 {
		t.Errorf("found status %d for a width of 0, expected 400", w.Code)
	}
}

// TestPathOfClaims checks that the path consists of the claims a [0, 10) and b [10, 14). Claim c
// [2, 5) overlaps a and is not on the path.
func TestPathOfClaims(t *testing.T) {
	path := filepath.Join(t.TempDir(), "claims.etf")
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
	one, two := r.Resource("one", 1, ""), r.Resource("two", 1, "")
	a := r.Claim(one, 0, r.Region("a"), 1)
	c := r.Claim(two, 2, r.Region("c"), 1)
	r.Release(c, 5)
	r.Release(a, 10)
	r.Release(r.Claim(two, 10, r.Region("b"), 1), 14)
	save(t, path, r)
	s := newTestServer(t, options(t), path)
	api := waitReady(t, s, 0)
	v := get(t, s, api+"/path")
	checkAnswer(t, s, "Path", v)
	line := get(t, s, api+"/path/line")
	checkAnswer(t, s, "PathLine", line)
	got := fmt.Sprintf("%v %v %v", v["length"], v["claims"], line["joined"])
	for _, p := range look(line, "pieces").([]any) {
		got += fmt.Sprintf(" %v:%v~%v", look(get(t, s, api), fmt.Sprintf("tracks/%v/name", look(p, "track"))), look(p,
			"from"),
			look(p, "to"))
	}
	if want := "14 map[claims:3 dependencies:0 inferred:1] false one:0~10 two:10~14"; got != want {
		t.Errorf("found %s, expected %s", got, want)
	}
}

// TestThinned checks that for each column the first piece, the last piece, and the pieces on the lowest and
// highest track are kept, and that pieces in separate columns stay.
func TestThinned(t *testing.T) {
	piece := func(track int, from, to int64) interval { return interval{track: track, from: from, to: to} }
	list := []interval{piece(0, 0, 10), piece(3, 10, 11), piece(9, 11, 12), piece(4, 12, 13), piece(1, 13, 14),
		piece(5, 14, 15), piece(6, 15, 16), piece(2, 16, 30)}
	want := []interval{piece(0, 0, 10), piece(3, 10, 11), piece(9, 11, 12), piece(1, 13, 14), piece(6, 15, 16),
		piece(2, 16, 30)}
	if got := thinPath(slices.Clone(list), columns{0, 30, 3}); !slices.Equal(got, want) {
		t.Errorf("found %v, expected %v", got, want)
	}
	if got := thinPath(slices.Clone(list), columns{0, 30, 30}); !slices.Equal(got, list) {
		t.Errorf("found %v, expected all of %v", got, list)
	}
}
