package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/otf2"
)

// scopedArchive copies the archive heat2d-mt and adds markers of all scopes. It returns the path.
func scopedArchive(t *testing.T) string {
	t.Helper()
	from, err := otf2.Open(format.FileSource("../../format/otf2/testdata/ok/heat2d-mt/traces.otf2"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../format/otf2/testdata/ok/heat2d-mt")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "scoped.otf2")
	out, err := format.CreateFile(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := otf2.NewWriter(out, otf2.Anchor{})
	if err != nil {
		t.Fatal(err)
	}
	add := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	add(from.Markers(func(_ int64, r *otf2.Record) error { return w.Mark(r) }))
	for scope, of := range []uint64{2: 2, 3: 1, 4: 1, 5: 1} { // MPI Rank 2, node0, a group of ranks, cart
		if scope >= 2 {
			add(w.Mark(&otf2.Record{ID: 6, Values: []uint64{1037599273000, 0, 0, uint64(scope), of, 0},
				Texts: []string{fmt.Sprint("scope ", scope)}}))
		}
	}
	add(errors.Join(w.Close(), out.Commit()))
	name := filepath.Join(dir, "traces.marker")
	b, err := os.ReadFile(strings.TrimSuffix(path, ".otf2") + ".marker")
	add(err)
	add(os.WriteFile(name, b, 0o666))
	return filepath.Join(dir, "traces.otf2")
}

// TestScopesOfMergedMarkers checks that each marker of merged archives keeps its scope, also if the merged trace
// was in another format in between: otf2-marker must print the definition that has the name of the original one.
func TestScopesOfMergedMarkers(t *testing.T) {
	path := scopedArchive(t)
	dir := t.TempDir()
	// scopes returns what otf2-marker prints as the scopes of the markers, with ids as names.
	ids := map[string]map[string]bool{} // ids of the scopes of each marker text in the last archive
	scopes := func(path string) (l []string) {
		clear(ids)
		out, _ := runTool(t, path, "otf2-marker")
		if out == nil {
			t.Skip("otf2-marker is not installed")
		}
		tables := map[string]string{"LOCATION": "LOCATION", "LOCATION_GROUP": "LOCATION_GROUP",
			"SYSTEM_TREE_NODE": "SYSTEM_TREE_NODE", "COMM": "COMM", "GROUP": "GROUP"}
		defined, _ := runTool(t, path, "otf2-print", "-G")
		for _, m := range regexp.MustCompile(`Scope: (\w+)(?::(\d+))?, Text: "(.*)"`).FindAllStringSubmatch(string(out), -1) {
			name := ""
			if ids[m[3]] == nil {
				ids[m[3]] = map[string]bool{}
			}
			if ids[m[3]][m[2]] = true; m[2] != "" {
				of := regexp.MustCompile(`(?m)^` + tables[m[1]] + ` +` + m[2] + `  (.*)$`).FindStringSubmatch(string(defined))
				if of == nil {
					name = "undefined " + m[2]
				} else if name = strings.Split(of[1], " <")[0]; m[1] == "LOCATION" {
					name = regexp.MustCompile(`Group: "[^"]*`).FindString(of[1]) // all threads have one name
				}
			}
			l = append(l, m[3]+" of "+m[1]+" "+name)
		}
		slices.Sort(l)
		return l
	}
	one := scopes(path)
	if len(one) != 6 || !slices.Contains(one, `scope 2 of LOCATION_GROUP Name: "MPI Rank 2"`) {
		t.Fatalf("found %q", one)
	}
	want := slices.Sorted(slices.Values(slices.Concat(one, one)))
	for _, way := range [][]string{{"m.otf2"}, {"a.otf", "a.otf2"}, {"b.etf", "b.otf2"}, {"c/c.pallas", "d.otf2"}} {
		for i := range way {
			way[i] = filepath.Join(dir, way[i])
		}
		os.MkdirAll(filepath.Dir(way[0]), 0o777)
		weft(t, 0, "merge", "-q", "--allow-loss", path, path, way[0])
		if len(way) > 1 {
			weft(t, 0, "convert", "-q", "--allow-loss", way[0], way[1])
		}
		if got := scopes(way[len(way)-1]); !slices.Equal(got, want) {
			t.Errorf("%s: found\n%s\nexpected\n%s", filepath.Base(way[0]), strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		for text, l := range ids {
			if text != "first half" && len(l) != 2 {
				t.Errorf("%s: found the scopes %v of %s, expected two", filepath.Base(way[0]), l, text)
			}
		}
	}
}

// TestMarkersOfProcessGroups checks that a marker of a group of processes keeps its group: otfprint shows the same
// definitions and markers after edits, and after a merge of two such traces a marker of each trace's own group.
func TestMarkersOfProcessGroups(t *testing.T) {
	trace := func() string {
		return writeTrace(t, map[string]string{".otf": "1:1,2\n",
			".0.def":    "DTR3e8\nDP1NM\"a\"\nDP2NM\"b\"\nDPG64M1,2,NM\"pair\"\n",
			".0.marker": "MD1NM\"note\"Y3\nMS1T1P64V\"both\"\n",
			".1.events": "1\n*1\nPB\n*2\nPB\n5\n*1\nPE\n*2\nPE\n"})
	}
	a, b := trace(), trace()
	want := toolLines(t, a, "otfprint")
	if all := strings.Join(slices.Collect(maps.Keys(want)), ""); !strings.Contains(all, "Marker: ID 1, process 100, ") {
		t.Skipf("otfprint is not installed, or prints no marker of group 100:\n%s", all)
	}
	for _, verb := range [][]string{{"repair"}, {"filter", "--min-duration", "0"}, {"sort"}} {
		out := filepath.Join(t.TempDir(), "out.otf")
		weft(t, 0, append(verb, "-q", a, out)...)
		if more, fewer := differences(want, toolLines(t, out, "otfprint")); len(more)+len(fewer) > 0 {
			t.Errorf("%q: otfprint prints anew:\n%sand no longer:\n%s", verb, strings.Join(more, ""), strings.Join(fewer, ""))
		}
	}
	if info := weft(t, 0, "info", "-q", a); !strings.Contains(info, "pair ") || strings.Contains(info, "undefined") {
		t.Errorf("expected a location with the name of the group, weft info prints\n%s", info)
	}
	merged := filepath.Join(t.TempDir(), "merged.otf")
	weft(t, 0, "merge", "-q", "--anchor", "none", a, b, merged)
	out, _ := runTool(t, merged, "otfprint")
	groups := regexp.MustCompile(`group (\d+), name "pair"`).FindAllSubmatch(out, -1)
	markers := regexp.MustCompile(`Marker: ID \d+, process (\d+), text "both"`).FindAllSubmatch(out, -1)
	if len(groups) != 2 || len(markers) != 2 || string(groups[0][1]) != string(markers[0][1]) ||
		string(groups[1][1]) != string(markers[1][1]) {
		t.Errorf("expected a marker of each group; otfprint prints\n%s", out)
	}
}

// TestLongMarker checks that an edit keeps the duration of a marker of 2⁶³ ticks or more, as otf2-marker prints it.
func TestLongMarker(t *testing.T) {
	in := filepath.Join("..", "..", "format", "otf2", "testdata", "ok", "snapshots", "all.otf2")
	out := filepath.Join(t.TempDir(), "out.otf2")
	weft(t, exitGood, "filter", "-q", "--allow-loss", "--region", "*", in, out)
	want, _ := runTool(t, in, "otf2-marker")
	if want == nil {
		t.Skip("otf2-marker is not installed")
	}
	found, _ := runTool(t, out, "otf2-marker")
	if !bytes.Contains(want, []byte("Duration 18446744073709551615")) || !bytes.Equal(found, want) {
		t.Errorf("otf2-marker prints\n%s\nof the edit, and of the archive\n%s", found, want)
	}
}

// TestRowsForEventsOfMarkers converts an archive to other formats and back. The loss table must count the events and
// the location that otf2-print shows in addition to the markers: the original archive has two markers and four
// locations.
func TestRowsForEventsOfMarkers(t *testing.T) {
	for _, via := range []string{"etf", "otf"} {
		dir := t.TempDir()
		other, back := filepath.Join(dir, "a."+via), filepath.Join(dir, "b.otf2")
		for _, args := range [][]string{{realTraces["otf2"], other}, {other, back}, {"--plain", other, filepath.Join(dir,
			"plain.otf2")}} {
			code, out, errs := runWeft(t, append([]string{"convert", "--allow-loss", "--json"}, args...)...)
			if code != 0 {
				t.Fatalf("%v: exit %d, %s", args, code, errs)
			}
			for row, want := range map[string]int64{
				"marker|in an event at the same time, which other tools also show": 2,
				"location|have a location, which other tools also show":            1,
			} {
				if args[len(args)-1] != back {
					want = 0
				}
				if args[0] == "--plain" && strings.HasPrefix(row, "location") {
					want = 1
				}
				if got := lossCounts(t, out)[row]; got != want {
					t.Errorf("%v: found %d of %q, expected %d", args, got, row, want)
				}
			}
		}
		tool := "otf2-print"
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed (Debian package otf2-tools)", tool)
		}
		events, err := exec.Command(tool, back).Output()
		if n := strings.Count(string(events), `Value: "marker"`); err != nil || n != 2 {
			t.Errorf("otf2-print: %v, found %d events of markers, expected 2", err, n)
		}
		defs, err := exec.Command(tool, "-G", back).Output()
		if n := strings.Count("\n"+string(defs), "\nLOCATION  "); err != nil || n != 4+1 {
			t.Errorf("otf2-print -G: %v, found %d locations, expected 5", err, n)
		}
	}
}

// lossCounts returns the counts of a loss table in JSON by kind and reason.
func lossCounts(t *testing.T, text string) map[string]int64 {
	t.Helper()
	var rows []format.LossRow
	if err := json.Unmarshal([]byte(text), &rows); err != nil {
		t.Fatal(err)
	}
	counts := map[string]int64{}
	for _, r := range rows {
		counts[r.Kind+"|"+r.Reason] += r.Count
	}
	return counts
}

// TestScopesThatOTFShows converts markers of each scope to OTF. otfprint prints process 0 for that of the whole trace,
// and process 2 for that of the second location. So only the duration of the first one, and the four other scopes,
// count as not shown.
func TestScopesThatOTFShows(t *testing.T) {
	in := scopedArchive(t)
	for _, flags := range [][]string{nil, {"--plain"}} {
		path := filepath.Join(t.TempDir(), "a.otf")
		code, out, errs := runWeft(t, slices.Concat([]string{"convert", "--allow-loss", "--json"}, flags,
			[]string{in, path})...)
		var rows []format.LossRow
		if err := json.Unmarshal([]byte(out), &rows); err != nil || code != 0 {
			t.Fatalf("exit %d, %v, %s", code, err, errs)
		}
		got := map[string]int64{}
		for _, r := range rows {
			if r.Kind == "marker" {
				got[r.Field] = r.Count
			}
		}
		if want := map[string]int64{"duration": 1, "scope scopeRef": 4}; !maps.Equal(got, want) {
			t.Errorf("%v: found %v, expected %v", flags, got, want)
		}
		text, _ := runTool(t, path, "otfprint")
		for _, want := range []string{`process 0, text "first half"`, `process 2, text "rank 1 here"`} {
			if text != nil && !strings.Contains(string(text), want) {
				t.Errorf("%v: found no %s in otfprint's text", flags, want)
			}
		}
	}
}
