package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/otf2"
	"github.com/weft-trace/weft/timeline/index"
	"github.com/weft-trace/weft/trace"
)

// TestOneNameOneRow checks a trace in which EZTrace defines MPI_Recv in each of four processes. It
// is one row with the same numbers everywhere; with --by definition there is a row for each
// process.
func TestOneNameOneRow(t *testing.T) {
	type region struct {
		Name                        string
		Count, Exclusive, Inclusive int64
		Definitions                 []string
	}
	ids := []string{"3", "536870913", "1073741824", "1610612735"}
	for _, c := range []struct {
		args []string
		key  string
	}{{[]string{"profile"}, "regions"}, {[]string{"info"}, "regions"}, {[]string{"profile", "--tree"}, "paths"}} {
		read := func(more ...string) (found []region) {
			code, out, errs := runWeft(t, append(append(c.args, "--json", realTraces["ring"]), more...)...)
			if code != 0 {
				t.Fatal(errs)
			}
			var x map[string]json.RawMessage
			if err := json.Unmarshal([]byte(out), &x); err != nil {
				t.Fatal(err)
			}
			var list []region
			if err := json.Unmarshal(x[c.key], &list); err != nil {
				t.Fatal(err)
			}
			for _, r := range list {
				if r.Name == "MPI_Recv" {
					found = append(found, r)
				}
			}
			return found
		}
		// weft plot and the viewer show 251.962 ms as well.
		if got := read(); len(got) != 1 || got[0].Count != 80 || got[0].Exclusive/1000 != 251962 ||
			got[0].Inclusive != got[0].Exclusive || !reflect.DeepEqual(got[0].Definitions, ids) {
			t.Errorf("%s: found %+v, expected one row of 80 visits, 251.962 ms and %v", c.args, got, ids)
		}
		split, sum := read("--by", "definition"), int64(0)
		for _, r := range split {
			sum += r.Exclusive
		}
		if len(split) != 4 || sum/1000 != 251962 || split[0].Definitions != nil {
			t.Errorf("%s --by definition: found %+v, expected four rows", c.args, split)
		}
	}
	// A pattern that matches any of the definitions selects the row.
	for _, name := range ids {
		_, out, _ := runWeft(t, "profile", "--region", name, realTraces["ring"])
		if !strings.Contains(out, " 80  251.962 ms") {
			t.Errorf("--region %s: found %s", name, out)
		}
	}
	for by, want := range map[string]int{"region": 1, "definition": 4} {
		out := filepath.Join(t.TempDir(), "r.html")
		if code, _, errs := runWeft(t, "report", "--by", by, "-o", out, realTraces["ring"]); code != 0 {
			t.Fatal(errs)
		}
		b, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		page := string(b)
		table := page[strings.Index(page, `id="regions"`):]
		table = table[:strings.Index(table, "</table>")]
		if n := strings.Count(table, "MPI_Recv"); n != want || by == "region" && !strings.Contains(table, "251.962 ms") {
			t.Errorf("report --by %s: found MPI_Recv %d times in %s, expected %d", by, n, fmt.Sprintf("%.3000s", table), want)
		}
	}
}

// TestStoredSumsOfOneName checks the sums that a Pallas trace stores, for three regions of the same name. The second
// one is called by the first one. Calls last 3 and 4 ns in turns, so each stored mean of 3.5 ns is rounded down to
// 3 ns, and the sum of the three regions is too small by at most the sum of their errors. The calls of the row last
// 3·(50·3 + 50·4) = 1050 ns, and those of the second region, of 1 ns, lie inside of them.
func TestStoredSumsOfOneName(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000_000))
	inner := r.Defs().Regions.Add(trace.Region{ID: "10", Name: "f"})
	for i := range 3 {
		loc := r.Location(fmt.Sprint("thread ", i))
		f := r.Defs().Regions.Add(trace.Region{ID: fmt.Sprint(i), Name: "f"})
		for k := range int64(100) {
			r.Enter(loc, 10*k, f)
			r.Enter(loc, 10*k+1, inner)
			r.Leave(loc, 10*k+2, inner)
			r.Leave(loc, 10*k+3+k%2, f)
		}
	}
	t.Chdir(t.TempDir())
	writeRecorded(t, r, "f.otf2")
	weft(t, exitGood, "convert", "-q", "f.otf2", "f.pallas")
	type result struct {
		Missing *int64
		Regions []struct{ Count, Inclusive, Exclusive int64 }
	}
	read := func(args ...string) (x result) {
		if err := json.Unmarshal([]byte(weft(t, exitGood, append(args, "--json", "f.pallas")...)), &x); err != nil {
			t.Fatal(err)
		}
		return x
	}
	exact := read("profile")
	if len(exact.Regions) != 1 || exact.Regions[0].Count != 600 || exact.Regions[0].Inclusive != 1050 {
		t.Errorf("weft profile: found %+v, expected 600 visits of 1050 ns", exact)
	}
	sums := read("info")
	if len(sums.Regions) != 1 || sums.Missing == nil {
		t.Fatalf("weft info: found %+v, expected one region from stored sums", sums)
	}
	for _, x := range [][2]int64{{sums.Regions[0].Inclusive, 1050}, {sums.Regions[0].Exclusive, 1050}} {
		if x[0] >= x[1] || x[0] < x[1]-*sums.Missing {
			t.Errorf("weft info: found the time %d, expected at most %d ns less than %d", x[0], *sums.Missing, x[1])
		}
	}
}

// writeRecorded writes recorded events as an OTF2 archive.
func writeRecorded(t *testing.T, r *trace.Recorder, path string) {
	t.Helper()
	out, err := format.CreateFile(path)
	if err != nil {
		t.Fatal(err)
	}
	enc, err := otf2.Format{}.Create(out, &format.WriteOptions{})
	if err == nil {
		err = format.Convert(t.Context(), format.Recorded(r), trace.Everything(), enc)
	}
	if err == nil {
		err = out.Commit()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestPlacesApart checks three functions named work: their source places distinguish them in all
// lists.
func TestPlacesApart(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	rank := r.Location("rank")
	for i, line := range []int64{0, 3, 9, 3} {
		work := r.Region("work")
		if i > 0 {
			work = r.Defs().Regions.Add(trace.Region{ID: fmt.Sprint(i), Name: "work", File: "a.c", Line: line})
		}
		r.Enter(rank, int64(10*i), work)
		r.Leave(rank, int64(10*i+5), work)
	}
	path := filepath.Join(t.TempDir(), "work.otf2")
	writeRecorded(t, r, path)
	for _, args := range [][]string{{"profile"}, {"profile", "--csv"}, {"profile", "--by", "location"},
		{"profile", "--tree"}, {"profile", "--tree", "--csv"}, {"profile", "--folded"}, {"info"}, {"report", "-o", "-"},
		{"structure"}} {
		_, text, errs := runWeft(t, append(args, path)...)
		for _, want := range []string{"work (no place)", "work (a.c:3)", "work (a.c:9)"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: found no %q in %s%s", args, want, text, errs)
			}
		}
	}
	// The bar of a location has the time of each function: 5, 10 and 5 ms.
	page := strings.ReplaceAll(weft(t, 0, "report", "-o", "-", path), "\u202f", " ")
	for _, want := range []string{"work (no place): 5 ms", "work (a.c:3): 10 ms", "work (a.c:9): 5 ms"} {
		if !strings.Contains(page, want) {
			t.Errorf("report: found no %q in the bar of the location", want)
		}
	}
}

// TestStructureByName checks that weft structure has one row for MPI_Send, with the same digits as
// the mean in weft profile. Region Working has two structures: in one process
// it begins with a send, in three with a receive.
func TestStructureByName(t *testing.T) {
	_, text, _ := runWeft(t, "structure", realTraces["ring"])
	_, table, _ := runWeft(t, "profile", realTraces["ring"])
	find := func(text, name string) []string {
		for line := range strings.Lines(text) {
			if f := strings.Fields(line); len(f) > 0 && f[0] == name {
				return f
			}
		}
		t.Fatalf("found no %s in %s", name, text)
		return nil
	}
	// The columns are NAME COUNT MEAN, and NAME GROUP COUNT EXCLUSIVE % INCLUSIVE MIN MEAN.
	send, row := find(text, "MPI_Send"), find(table, "MPI_Send")
	if send[1] != "80" || row[2] != "80" || send[2] != row[10] {
		t.Errorf("found %v, expected 80 calls and the mean of %v", send, row)
	}
	for _, want := range []string{"\nWorking    ", "P#1T#0, P#2T#0, P#3T#0: "} {
		if !strings.Contains(text, want) {
			t.Errorf("found no %q in %s", want, text)
		}
	}
	_, text, _ = runWeft(t, "structure", "--by", "definition", realTraces["ring"])
	if send := find(text, "MPI_Send"); send[1] != "(2)" || send[2] != "20" {
		t.Errorf("--by definition: found %v, expected MPI_Send (2) of 20 calls", send)
	}
	if code, _, _ := runWeft(t, "structure", "--by", "location", realTraces["ring"]); code != exitUsage {
		t.Errorf("--by location: found exit code %d, expected %d", code, exitUsage)
	}
}

// TestLegendSaysWhatItMeasures checks that the legend of a picture names the kind of its times.
// Those of visits of MPI_Recv are the ones in weft profile. A barrier is a span of all of its
// processes.
func TestLegendSaysWhatItMeasures(t *testing.T) {
	// x has one claim and one visit, of 5 and 7 ms; y has one visit without duration.
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	loc, x, y, cpu := r.Location("a"), r.Region("x"), r.Region("y"), uint64(r.Resource("cpu", 1, ""))
	r.Event(loc, 0, trace.ClaimBegin, x, []uint64{1, cpu, 0, 0})
	r.Event(loc, 5, trace.ClaimEnd, x, []uint64{1, cpu})
	r.Enter(loc, 10, x, trace.Attr{Key: "length", Value: trace.IntValue(1)})
	r.Leave(loc, 17, x)
	r.Enter(loc, 18, y)
	r.Leave(loc, 18, y)
	both := filepath.Join(t.TempDir(), "both.otf2")
	writeRecorded(t, r, both)
	ring8 := "../../format/picl/testdata/ok/conceptual-ring8.trf"
	for _, c := range []struct {
		name, rows string
		want, not  []string
	}{
		{realTraces["ring"], "location", []string{">251.962 ms exclusive<", ">484.692 ms of operations<"}, nil},
		{realTraces["etf"], "location", []string{" of claims<"}, nil},
		// Z has one claim without duration.
		{"../../format/etf/testdata/ok/feature-coverage.etf", "location", []string{">6 ms of claims<", ">1 claim<"}, nil},
		{"../../format/etf/testdata/ok/feature-coverage.etf", "name", []string{" of claims<"},
			[]string{"visit", "inclusive"}},
		// weft profile shows 8 visits of "tracing" with 2.44 ms, and 32 visits of send0 without
		// duration.
		{ring8, "length", []string{">2.44 ms inclusive<", ">32 visits<"}, []string{"claim"}},
		{both, "length", []string{">12 ms inclusive, or of claims<", ">1 visit or claim<"}, nil},
	} {
		code, out, errs := runWeft(t, "plot", "--rows", c.rows, "-o", "-", c.name)
		if code != 0 {
			t.Error(errs)
		}
		for _, w := range c.want {
			if !strings.Contains(out, w) {
				t.Errorf("%s by %s: found no %q in the picture", c.name, c.rows, w)
			}
		}
		for _, w := range c.not {
			if strings.Contains(out, w) {
				t.Errorf("%s by %s: found %q in the picture", c.name, c.rows, w)
			}
		}
	}
}

// TestNamesApart checks that text with --by definition distinguishes two rows of one name by their
// ids.
func TestNamesApart(t *testing.T) {
	for _, args := range [][]string{{"profile", "--tree"}, {"profile", "--tree", "--csv"}, {"profile", "--folded"},
		{"info", "--top", "0"}, {"report", "-o", "-"}} {
		_, out, _ := runWeft(t, append(args, "--by", "definition", realTraces["ring"])...)
		for _, id := range []string{"3", "536870913", "1073741824", "1610612735"} {
			if !strings.Contains(out, "MPI_Recv ("+id+")") {
				t.Errorf("%s --by definition: found no MPI_Recv (%s)", args, id)
			}
		}
		if _, out, _ = runWeft(t, append(args, realTraces["ring"])...); strings.Contains(out, "MPI_Recv (") {
			t.Errorf("%s: found ids, expected one row of MPI_Recv", args)
		}
	}
	_, out, _ := runWeft(t, "profile", "--csv", "--by", "definition", realTraces["ring"])
	if head, _, _ := strings.Cut(out, "\n"); !strings.HasSuffix(head, ",id") || !strings.Contains(out, ",536870913\n") {
		t.Errorf("found %s, expected a column of ids", out)
	}
}

// TestRowsOfIndex checks that --rows resource is an error for an index that has the claims on a resource in a
// row for each location.
func TestRowsOfIndex(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	x, cpu := r.Region("x"), uint64(r.Resource("cpu", 4, ""))
	for i, name := range []string{"a", "b"} {
		loc, id := r.Location(name), uint64(i)
		r.Event(loc, 0, trace.ClaimBegin, x, []uint64{id, cpu, 0, 0})
		r.Event(loc, 9, trace.ClaimEnd, x, []uint64{id, cpu})
	}
	path := filepath.Join(t.TempDir(), "x.weftidx")
	if err := index.Build(t.Context(), format.Recorded(r), path, index.Options{}); err != nil {
		t.Fatal(err)
	}
	code, _, errs := runWeft(t, "plot", "--index="+path, "--rows", "resource", "-o", "-", "x.etf")
	want := "--rows resource: the index has the claims on cpu in a row for each location that made them"
	if code != exitUsage || !strings.Contains(errs, want) {
		t.Errorf("found exit code %d, %s, expected %d, %s", code, errs, exitUsage, want)
	}
	if code, _, errs := runWeft(t, "plot", "--index="+path, "-o", "-", "x.etf"); code != 0 {
		t.Error(errs)
	}
}

// TestColorsOfParts checks that a name has the same colour in all pictures of a trace with more
// names than colours, for any part that is drawn.
func TestColorsOfParts(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000))
	at := int64(0)
	for n, rank := range []string{"a", "b"} {
		loc := r.Location(rank)
		for i := range 24 {
			length := 10 + int64((i*7+n*5)%24)
			x := r.Region(fmt.Sprint("f", i))
			r.Enter(loc, at, x)
			r.Leave(loc, at+length, x)
			at += length
		}
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "x.otf2")
	writeRecorded(t, r, path)
	entry := regexp.MustCompile(`<rect [^>]*height="12" fill="(#\w+)"/>\n<text [^>]*>(f\d+)<`)
	legends := map[string]map[string]string{} // legends by command
	for _, c := range []string{"plot", "plot --index", "plot --region f?", "plot --region f1?,f20",
		"plot --kind enter,leave",
		"plot --location a", "plot --window 20%..60%", "plot --rows resource", "report", "report --region f1?,f5,f6,f7",
		"report --region f?"} {
		args := append(strings.Fields(c), "-o", "-", path)
		code, out, errs := runWeft(t, args...)
		if code != 0 {
			t.Fatal(c, errs)
		}
		legends[c] = map[string]string{}
		for _, m := range entry.FindAllStringSubmatch(out, -1) {
			if _, ok := legends[c][m[2]]; !ok { // the report has a second picture, for dark paper
				legends[c][m[2]] = m[1]
			}
		}
		if len(legends[c]) < 8 {
			t.Errorf("%s: found %d names in the legend", c, len(legends[c]))
		}
	}
	whole := legends["plot"]
	for c, legend := range legends {
		same := 0
		for name, color := range legend {
			if w, ok := whole[name]; ok {
				same++
				if w != color {
					t.Errorf("%s: found %s in %s, expected %s", c, name, color, w)
				}
			}
		}
		if same == 0 {
			t.Errorf("%s: found none of the names of the whole picture", c)
		}
	}
}

// TestRolesOfOneName checks two functions named sync: one computes for 30 ms, the other is a
// barrier of 70 ms. The report uses the role of each, in both orders of definition, and the row has
// both groups.
func TestRolesOfOneName(t *testing.T) {
	for _, barrierFirst := range []bool{false, true} {
		r := trace.NewRecorder(trace.TicksPerSecond(1000))
		rank, d := r.Location("rank"), r.Defs()
		var own, barrier uint32
		for i := range 2 {
			if (i == 0) == barrierFirst {
				barrier = d.Regions.Add(trace.Region{ID: fmt.Sprint(i), Name: "sync", Group: "MPI", Role: "barrier"})
			} else {
				own = d.Regions.Add(trace.Region{ID: fmt.Sprint(i), Name: "sync", Group: "APP", Role: "function"})
			}
		}
		r.Enter(rank, 0, own)
		r.Leave(rank, 30, own)
		r.Enter(rank, 30, barrier)
		r.Leave(rank, 100, barrier)
		path := filepath.Join(t.TempDir(), "t.otf2")
		writeRecorded(t, r, path)
		for _, by := range []string{"region", "definition"} {
			page := plainPage(weft(t, 0, "report", "--by", by, "-o", "-", path))
			for _, want := range []string{"70.0 % communicating and waiting", "rank 100 ms 100.0 % 30 ms "} {
				if !strings.Contains(page, want) {
					t.Errorf("barrier first: %t, by %s: found no %q in %s", barrierFirst, by, want, page)
				}
			}
		}
		groups := map[bool]string{false: "APP, MPI", true: "MPI, APP"}[barrierFirst]
		if text := weft(t, 0, "profile", path); !strings.Contains(text, "sync    "+groups+"      2  ") {
			t.Errorf("barrier first: %t: found no sync of %s in %s", barrierFirst, groups, text)
		}
	}
}

// TestReportWaitsOfThreads checks that waits for threads and locks are no work. In the trace, threads 0 and 1 wait for
// 60 and 115 µs in the implicit barrier (scout.txt), and thread 0 for 5 µs at the critical section. The threads are in
// regions for 710, 426 and 422 µs; 180 of 1558 are 11.6 %.
func TestReportWaitsOfThreads(t *testing.T) {
	page := plainPage(weft(t, 0, "report", "-o", "-", "../../analysis/waits/testdata/omp/traces.otf2"))
	for _, want := range []string{"11.6 % communicating and waiting", "thread 0 710 µs 100.0 % 645 µs",
		"thread 1 426 µs 60.0 % 311 µs", "thread 2 422 µs 59.4 % 422 µs", "shown by weft view --finding 2"} {
		if !strings.Contains(page, want) {
			t.Errorf("found no %q in %s", want, page)
		}
	}
}

// plainPage returns the text of an HTML page with single spaces between words.
func plainPage(page string) string {
	page = regexp.MustCompile(`(?s)<(style|svg).*?</(style|svg)>|<[^>]*>`).ReplaceAllString(page, " ")
	return strings.Join(strings.Fields(strings.ReplaceAll(page, "\u202f", " ")), " ")
}

// TestPlotOfClaimsThatTakeTurns checks that a picture states no overload where claims begin at the time at which
// others end, whatever the order of their lines. Here the resource always holds 4, as weft usage and weft check say.
func TestPlotOfClaimsThatTakeTurns(t *testing.T) {
	claims := []string{"C 0 0 5 0 2 ; name=A\n", "C 1 5 9 0 4 ; name=B\n", "C 2 0 5 0 2 ; name=C\n",
		"C 3 9 9 0 4 ; name=D\n", "C 4 9 12 0 4 ; name=E\n"}
	for i := range len(claims) {
		in := textFile(t, "in.etf", "R 0 4 false ; name=CPU\n"+strings.Join(slices.Concat(claims[i:], claims[:i]), ""))
		out := filepath.Join(t.TempDir(), "out.svg")
		mustRun(t, "plot", "-q", "--rows", "resource", "-o", out, in)
		if text := readText(t, out); strings.Contains(text, "claims hold up to") {
			t.Errorf("order %d: found a note about an overload, expected none", i)
		}
		code, printed, _ := runWeft(t, "check", in)
		if code != exitGood || strings.Contains(printed, "etf.overload") {
			t.Errorf("order %d: check finds %s", i, printed)
		}
	}
}
