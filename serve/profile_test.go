package serve

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-trace/weft/trace"
)

// TestProfileOfMany checks the profile of a window over many locations, for each grouping. The expected sums
// follow from the loop in recordMany.
func TestProfileOfMany(t *testing.T) {
	s := newTestServer(t, options(t), recordMany(t))
	api := waitReady(t, s, 0)
	sums := manySums()
	for _, by := range []string{"region", "location", "group"} {
		compareProfile(t, ask(s, "GET", api+"/profile?from=5&to=100&by="+by).Body.Bytes(), by, sums)
	}
	// The totals of an answer include the rows that exceed the limit.
	v := get(t, s, api+"/profile?from=5&to=100&by=location&limit=7")
	all, listed := int64(0), int64(0)
	for _, x := range sums {
		all += x[2]
	}
	for _, r := range append(v["rows"].([]any), v["left"]) {
		n, err := strconv.ParseInt(fmt.Sprint(look(r, "exclusive")), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		listed += n
	}
	if listed != all || fmt.Sprint(look(v, "rows/len")) != "7" ||
		fmt.Sprint(look(v, "left/rows")) != fmt.Sprint(2*manyLocations-7) {
		t.Errorf("limit 7: found %d ticks, want %d, in %v rows and %v", listed, all, look(v, "rows/len"), v["left"])
	}
}

// manyLocations is the number of locations of the trace of [TestProfileOfMany].
const manyLocations = 300

// manyNames are the names of the regions of that trace.
var manyNames = []string{"main", "a<\"&\u2028", "b", "c"}

func recordMany(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "many.otf2")
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	var regions []uint32
	for _, n := range manyNames {
		regions = append(regions, r.Region(n))
	}
	// Location i is in main from 0 to 1000, and in region 1 + i mod 3 from 10 to 20+i.
	for i := range int64(manyLocations) {
		l := r.Location(fmt.Sprint("rank ", i))
		r.Enter(l, 0, regions[0])
		r.Enter(l, 10, regions[1+i%3])
		r.Leave(l, 20+i, regions[1+i%3])
		r.Leave(l, 1000, regions[0])
	}
	save(t, path, r)
	return path
}

// manySums returns the number of visits of each region in a window, the sums of their inclusive and
// exclusive times, and the least and the greatest inclusive time.
func manySums() map[string][5]int64 {
	// In the window from 5 to 100, each location has 95 ticks of main, and min(100, 20+i) − 10
	// ticks of the other region.
	inside := func(i int64) int64 { return min(100, 20+i) - 10 }
	sums := map[string][5]int64{}
	for i := range int64(manyLocations) {
		for _, x := range []struct {
			name                 string
			inclusive, exclusive int64
		}{{manyNames[0], 95, 95 - inside(i)}, {manyNames[1+i%3], inside(i), inside(i)}} {
			o, ok := sums[x.name]
			if !ok {
				o[3] = x.inclusive
			}
			sums[x.name] = [5]int64{o[0] + 1, o[1] + x.inclusive, o[2] + x.exclusive, min(o[3], x.inclusive),
				max(o[4], x.inclusive)}
		}
	}
	return sums
}

// compareProfile compares a profile with the sums.
func compareProfile(t *testing.T, text []byte, by string, sums map[string][5]int64) {
	t.Helper()
	var a struct {
		From, To string
		Rows     []struct {
			Kind, Name           string
			Track, Group, Region int
			Count                int64
			Inclusive, Exclusive int64 `json:",string"`
			Min, Max, Sum        int64 `json:",string"`
			Mean                 string
		}
	}
	if err := json.Unmarshal(text, &a); err != nil {
		t.Fatal(err)
	}
	if a.From != "5" || a.To != "100" {
		t.Errorf("by %s: found the window %s to %s", by, a.From, a.To)
	}
	got := map[string][5]int64{}
	seen := map[string]bool{}
	last := int64(1 << 62)
	for _, x := range a.Rows {
		o, ok := got[x.Name]
		if !ok {
			o[3] = x.Min
		}
		got[x.Name] = [5]int64{o[0] + x.Count, o[1] + x.Inclusive, o[2] + x.Exclusive, min(o[3], x.Min), max(o[4], x.Max)}
		key := fmt.Sprint(x.Track, x.Group, x.Name)
		if seen[key] || x.Exclusive > last || manyNames[x.Region] != x.Name || x.Kind != "region" ||
			x.Mean != decimals(x.Sum, x.Count) || (x.Track < 0) != (by != "location") {
			t.Fatalf("by %s: found the row %+v after %d", by, x, last)
		}
		seen[key], last = true, x.Exclusive
	}
	if fmt.Sprint(got) != fmt.Sprint(sums) {
		t.Errorf("by %s: found %v, want %v", by, got, sums)
	}
	if n := len(a.Rows); by == "location" && n != 2*manyLocations || by == "region" && n != 4 {
		t.Errorf("by %s: found %d rows", by, n)
	}
}

// TestProfileJSON compares the JSON of a profile with the result of json.Marshal.
func TestProfileJSON(t *testing.T) {
	of := func(n int64) sum { return sum(trace.TicksOf(n)) }
	long := sum(trace.TicksOf(4e18).Times(3))
	a := profileAnswer{-1, 2, []profileRow{
		{visitRows, 1, -1, 2, "x<>&\"\\\u2028\x01\xff", 3, of(4), of(5), 6, 7, mean{trace.TicksOf(23), 2}, of(9)},
		{claimRows, 1, -1, 2, "", 3, long, of(5), 6, 7, mean{}, of(9)}}, omittedRows{9, of(10), long}}
	want, err := json.Marshal(&a)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := a.appendJSON(nil); err != nil || string(got) != string(want) {
		t.Errorf("found %s, %v, want %s", got, err, want)
	}
}

// decimals formats sum / n in the way in which the API formats means.
func decimals(sum, n int64) string {
	return strings.TrimSuffix(strings.TrimRight(new(big.Rat).SetFrac64(sum, n).FloatString(3), "0"), ".")
}

// TestMean checks that means are not rounded to ticks; the mean of 10 and 13 is 11.5. Latencies may
// be negative.
func TestMean(t *testing.T) {
	for _, x := range []struct {
		sum, n int64
		want   string
	}{
		{23, 2, "11.5"}, {2, 3, "0.667"}, {-2, 3, "-0.667"}, {-1, 4000, "0"}, {0, 7, "0"}, {12, 3, "4"}, {1, 16, "0.063"},
		{math.MaxInt64, 2, "4611686018427387903.5"}, {5, 0, ""}} {
		if got := string((mean{trace.TicksOf(x.sum), x.n}).append(nil)); got != x.want {
			t.Errorf("%d by %d: found %q, expected %q", x.sum, x.n, got, x.want)
		}
	}
}

// TestOneNameOneRow checks that regions with the same name, file and line share a row. Nested visits of these
// regions count once, as in `weft profile`. A region with another line has its own row.
func TestOneNameOneRow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "names.otf2")
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
	r.Defs().Regions.Add(trace.Region{ID: "8", Name: "work", File: "a.c", Line: 3})
	f1, f2, other := r.Region("fib"), r.Defs().Regions.Add(trace.Region{ID: "9", Name: "fib"}),
		r.Defs().Regions.Add(trace.Region{ID: "10", Name: "work", File: "a.c", Line: 9})
	group := r.Defs().Groups.Add(trace.LocationGroup{ID: "0", Name: "R0", Parent: trace.NoRef})
	l := r.Location("M")
	r.Defs().Locations.At(l).Group = group
	r.Enter(l, 0, f1)
	r.Enter(l, 100, f2)
	r.Enter(l, 200, f1)
	r.Leave(l, 300, f1)
	r.Leave(l, 800, f2)
	r.Leave(l, 1000, f1)
	r.Enter(l, 1000, 0)
	r.Leave(l, 1010, 0)
	r.Enter(l, 1010, other)
	r.Leave(l, 1013, other)
	save(t, path, r)
	s := newTestServer(t, options(t), path, "../format/otf2/testdata/ok/ring/eztrace_log.otf2")
	api := waitReady(t, s, 0)
	for _, q := range []string{"by=region", "by=location", "by=group", "tracks=0", "by=region&from=0&to=1013"} {
		got := ""
		for _, r := range get(t, s, api+"/profile?"+q)["rows"].([]any) {
			got += fmt.Sprintln(look(r, "name"), look(r, "count"), look(r, "inclusive"), look(r, "exclusive"), look(r, "min"),
				look(r, "max"), look(r, "mean"))
		}
		if want := "fib 3 1000 1000 100 1000 600\nwork 1 10 10 10 10 10\nwork 1 3 3 3 3 3\n"; got != want {
			t.Errorf("%s: found %s, expected %s", q, got, want)
		}
	}
	if v := get(t, s, api); fmt.Sprint(look(v, "regions/0/file"), look(v, "regions/0/line"), look(v, "regions/3/line")) !=
		"a.c39" {
		t.Errorf("found the regions %v, expected their places", v["regions"])
	}
	checkAnswer(t, s, "Trace", get(t, s, api))
	// The details of visits are found for each of the definitions, and no visit is shown as open.
	for _, q := range []string{"depth=0&time=5", "depth=1&time=150", "depth=2&time=250"} {
		v := get(t, s, api+"/span?track=0&"+q)
		if look(v, "span/name") != "fib" || fmt.Sprint(look(v, "span/open")) != "false" ||
			fmt.Sprint(look(v, "span/region")) != "1" {
			t.Errorf("%s: found %v", q, v["span"])
		}
	}
	// In this trace of EZTrace, each of four processes defines the same six regions.
	api = waitReady(t, s, 1)
	var origin, length int64
	v := get(t, s, api)
	fmt.Sscan(fmt.Sprint(v["origin"], " ", v["length"]), &origin, &length)
	for _, w := range [][2]int64{{0, length + 1}, {length / 5, length * 3 / 5}} {
		want := map[string]string{}
		for _, r := range profileOfEvents(t, s, "otf2", s.traceAt(t, 1).given.Source,
			&trace.Window{From: origin + w[0], To: origin + w[1]}).Regions {
			if r.Count > 0 {
				want[r.Name] = fmt.Sprintln(r.Count, r.Inclusive, r.Exclusive, r.Min, r.Max, r.Sum)
			}
		}
		rows := get(t, s, fmt.Sprintf("%s/profile?from=%d&to=%d", api, w[0], w[1]))["rows"].([]any)
		for _, r := range rows {
			name := fmt.Sprint(look(r, "name"))
			if got := fmt.Sprintln(look(r, "count"), look(r, "inclusive"), look(r, "exclusive"), look(r, "min"), look(r, "max"),
				look(r, "sum")); got != want[name] {
				t.Errorf("%v: %s: found %s, expected %s", w, name, got, want[name])
			}
		}
		if len(rows) != len(want) || len(rows) > 6 {
			t.Errorf("%v: found %d rows, expected %d", w, len(rows), len(want))
		}
	}
}

// TestProfileLimit checks that a limited profile contains the rows with the most exclusive time, and the sum
// of the other rows. The expected numbers follow from the loop that writes the trace.
func TestProfileLimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "many.etf")
	var text strings.Builder
	text.WriteString("TU SECONDS\n")
	// Claim i is on resource i and lasts 1 + i*7 mod 50 s, so that each duration from 1 to 50 s
	// occurs once.
	const many = 50
	for i := range many {
		fmt.Fprintf(&text, "R %d 1 false ; name=r%d\nC %d 0 %d %d 1 ; name=work\n", i, i, i, 1+i*7%many, i)
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	s := newTestServer(t, options(t), path)
	api := waitReady(t, s, 0)
	for _, x := range []struct {
		limit, rows, left int
		held              string
	}{{1, 1, 49, "1225"}, {10, 10, 40, "820"}, {49, 49, 1, "1"}, {50, 50, 0, "0"}, {1000000, 50, 0, "0"}} {
		v := get(t, s, fmt.Sprintf("%s/profile?by=location&limit=%d", api, x.limit))
		checkAnswer(t, s, "Profile", v)
		rows := v["rows"].([]any)
		for i, r := range rows {
			if got, want := fmt.Sprint(look(r, "exclusive")), fmt.Sprint(many-i); got != want {
				t.Fatalf("limit %d: row %d holds %s, want %s", x.limit, i, got, want)
			}
		}
		if got := fmt.Sprintln(look(v, "left/rows"), look(v, "left/exclusive"), look(v, "left/held")); len(rows) != x.rows ||
			got != fmt.Sprintln(x.left, 0, x.held) {
			t.Errorf("limit %d: found %d rows, left out %s, want %d, %d and %s", x.limit, len(rows), got, x.rows, x.left, x.held)
		}
	}
	if v := get(t, s, api+"/profile"); fmt.Sprint(look(v, "left/rows")) != "0" ||
		fmt.Sprint(look(v, "rows/0/exclusive")) != "1275" {
		t.Errorf("by region: found %v", v)
	}
	if w := ask(s, "GET", api+"/profile?limit=0"); w.Code != 400 {
		t.Errorf("limit 0: status %d", w.Code)
	}
}
