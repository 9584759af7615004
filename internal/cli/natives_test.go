package cli

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// nativesArchive returns an archive that OTF2's own writer has written (testdata/programs/natives.py).
func nativesArchive(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "in", "traces.otf2")
	out, err := exec.Command(pythonOTF2(t), "testdata/programs/natives.py", filepath.Dir(path)).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, _ := runTool(t, path, "otf2-print"); out == nil {
		t.Skip("otf2-print is not installed")
	}
	return path
}

// TestMappedGenerators checks samples of a location whose mapping table exchanges the interrupt generators: weft print
// names the same generators as otf2-print, and filter keeps them.
func TestMappedGenerators(t *testing.T) {
	path := nativesArchive(t)
	want := regexp.MustCompile(`Interrupt Generator: "(timer \d)" <\d>`)
	out, _ := runTool(t, path, "otf2-print")
	var generators []string
	for _, m := range want.FindAllStringSubmatch(string(out), -1) {
		generators = append(generators, "generator="+m[1])
	}
	found := regexp.MustCompile(`generator=timer \d`).FindAllString(weft(t, 0, "print", "-q", path), -1)
	if len(generators) != 2 || !slices.Equal(found, generators) {
		t.Errorf("weft print shows %q, otf2-print %q", found, generators)
	}
	kept := filepath.Join(t.TempDir(), "kept.otf2")
	weft(t, 0, "filter", "-q", "--min-duration", "0", path, kept)
	more, fewer := differences(toolLines(t, path, "otf2-print", "-A"), toolLines(t, kept, "otf2-print", "-A"))
	if len(more)+len(fewer) > 0 {
		t.Errorf("otf2-print prints anew:\n%sand no longer:\n%s", strings.Join(more, ""), strings.Join(fewer, ""))
	}
}

// TestPrunedScopeOfMarker checks that --prune keeps a group to which only a marker refers: otf2-marker names the group
// that has the same name and members as before.
func TestPrunedScopeOfMarker(t *testing.T) {
	path, pruned := nativesArchive(t), filepath.Join(t.TempDir(), "pruned.otf2")
	weft(t, 0, "filter", "-q", "--prune", "--kind", "enter,marker", path, pruned)
	out, _ := runTool(t, pruned, "otf2-marker")
	m := regexp.MustCompile(`Scope: GROUP:(\d+), Text: "of a group"`).FindSubmatch(out)
	if m == nil {
		t.Fatalf("otf2-marker: %s", out)
	}
	defined, _ := runTool(t, pruned, "otf2-print", "-G")
	want := fmt.Sprintf(`(?m)^GROUP +%s +Name: "marked" <\d+>, Type: LOCATIONS, .*, 1 Member: "main" <1>$`, m[1])
	if !regexp.MustCompile(want).Match(defined) || strings.Count(string(defined), `Name: "marked"`) != 1 {
		t.Errorf("expected one group marked, %s; otf2-print prints\n%s", want, defined)
	}
}

// TestGroupOfRegions checks that a group of regions, whose ids are also those of locations, has the same members in an
// archive that comes back from OTF.
func TestGroupOfRegions(t *testing.T) {
	path, dir := nativesArchive(t), t.TempDir()
	otf, back := filepath.Join(dir, "x.otf"), filepath.Join(dir, "back.otf2")
	weft(t, 0, "convert", "-q", path, otf)
	weft(t, 0, "convert", "-q", otf, back)
	group := regexp.MustCompile(`Name: "of regions" <\d+>, Type: REGIONS, .* Members?: (.*)`)
	want, _ := runTool(t, path, "otf2-print", "-G")
	got, _ := runTool(t, back, "otf2-print", "-G")
	a, b := group.FindSubmatch(want), group.FindSubmatch(got)
	if a == nil || b == nil || string(a[1]) != string(b[1]) {
		t.Errorf("found the members %s, expected %s", b, a)
	}
}

// TestExtentOfAlignedArchive checks that the clock properties of an aligned archive include all of its times. The
// correction moves the second location's events by 350 ns to before the begin that the archive stated.
func TestExtentOfAlignedArchive(t *testing.T) {
	path, aligned := nativesArchive(t), filepath.Join(t.TempDir(), "aligned.otf2")
	weft(t, 0, "align", "-q", path, aligned)
	out, _ := runTool(t, aligned, "otf2-print", "-G", "--timestamps=offset")
	if !strings.Contains(string(out), "Global Offset: 1650, Length: 950,") {
		t.Errorf("expected times from 1650 to 2600; otf2-print prints\n%s", out)
	}
}

// TestNativeRecordsComeBack checks that an archive converted to another format and back has the same records for
// otf2-print: those of OpenMP of old versions, metric events with several values, parameters without a further
// attribute, attributes that refer to files and handles, and the location of metrics. The row of the marker is an event
// there, too.
func TestNativeRecordsComeBack(t *testing.T) {
	path := nativesArchive(t)
	kept := regexp.MustCompile(`^(OMP_|METRIC |METRIC_CLASS|PARAMETER_| +ADDITIONAL|LOCATION .*sensor)`)
	ids := regexp.MustCompile(` <\d+>|, \("weft\.[^)]*\)|^ +ADDITIONAL ATTRIBUTES: \("weft\.[^)]*\)\n`)
	records := func(path string) map[string]int {
		m := map[string]int{}
		for line, n := range toolLines(t, path, "otf2-print", "-A") {
			line = ids.ReplaceAllString(line, "")
			if kept.MatchString(line) && !strings.Contains(line, `Parameter: "event"`) && !strings.Contains(line, "of a group") {
				m[line] += n
			}
		}
		return m
	}
	want := records(path)
	for _, name := range []string{"a.otf", "a.etf", "a.trf", "a.pallas"} {
		there := filepath.Join(t.TempDir(), name)
		back := filepath.Join(t.TempDir(), "back.otf2")
		again := filepath.Join(t.TempDir(), "again.otf2")
		weft(t, 0, "convert", "-q", path, there)
		weft(t, 0, "convert", "-q", there, back)
		weft(t, 0, "filter", "-q", "--min-duration", "0", back, again)
		for _, out := range []string{back, again} {
			if more, fewer := differences(want, records(out)); len(more)+len(fewer) > 0 {
				t.Errorf("%s: otf2-print prints anew:\n%sand no longer:\n%s", name, strings.Join(more, ""), strings.Join(fewer, ""))
			}
		}
		// the other format also keeps the names of interrupt generators
		var shown []string
		for _, p := range []string{path, there, back} {
			shown = append(shown, weft(t, 0, "print", "-q", p))
		}
		if shown[0] != shown[2] || strings.Count(shown[0], "=timer ") != strings.Count(shown[1], "=timer ") {
			t.Errorf("%s: weft print shows\n%s\nand after the way back\n%s\nexpected\n%s", name, shown[1], shown[2], shown[0])
		}
	}
}

// TestSourcePlacesComeBack checks an OTF trace whose events refer to source places, and a file to a group of files.
// After a conversion to another format and back, otfprint must show the same place for each event, and the same group.
func TestSourcePlacesComeBack(t *testing.T) {
	path := writeTrace(t, map[string]string{
		".otf": "1:1\n",
		".0.def": "DTR3e8\nDP1NM\"a\"\nDF1G0NM\"main\"X2\nDF2G0NM\"f\"\nDFLG4NM\"disk\"\nDFL1NM\"/a\"G4\n" +
			"DS1F7LNa\nDS2F8LN14\nDS9F7LN1e\nDSF7NM\"a.c\"\nDSF8NM\"b.c\"\n",
		".1.events": "1\n*1\nE1X1\n2\n*1\nE2X9\n3\n*1\nS1L8T1C0X1\n4\n*1\nL2\n5\n*1\nL1\n5\n*1\n",
	})
	if out, _ := runTool(t, path, "otfprint"); out == nil {
		t.Skip("otfprint is not installed")
	}
	kept := regexp.MustCompile(`^(Def(Scl|SclFile|File|FileGroup|Function): |\d+ )`)
	shown := func(path string) map[string]int {
		m := toolLines(t, path, "otfprint", "--nokeyvalue")
		for line := range m {
			if !kept.MatchString(line) {
				delete(m, line)
			}
		}
		return m
	}
	want := shown(path)
	if len(want) != 14 {
		t.Fatalf("otfprint prints %d lines, expected 14: %v", len(want), want)
	}
	for _, name := range []string{"a.otf2", "a.etf", "a.trf", "a.pallas"} {
		there, back := filepath.Join(t.TempDir(), name), filepath.Join(t.TempDir(), "back.otf")
		weft(t, 0, "convert", "-q", path, there)
		weft(t, 0, "convert", "-q", there, back)
		if more, fewer := differences(want, shown(back)); len(more)+len(fewer) > 0 {
			t.Errorf("%s: otfprint prints anew:\n%sand no longer:\n%s", name, strings.Join(more, ""), strings.Join(fewer, ""))
		}
	}
	// A plain archive has the tokens of events, but not their places. No other place gets these tokens.
	there, back := filepath.Join(t.TempDir(), "plain.otf2"), filepath.Join(t.TempDir(), "back.otf")
	weft(t, 0, "convert", "-q", "--plain", "--allow-loss", path, there)
	weft(t, 0, "convert", "-q", there, back)
	if out, _ := runTool(t, back, "otfprint"); regexp.MustCompile(`source (1|9), file`).Match(out) {
		t.Errorf("otfprint shows other source places for the tokens of events:\n%s", out)
	}
}

// TestVerbsOnConvertedTraces checks that commands that change nothing add no definitions to a converted trace, such as
// those of the attributes that they give to events at borders: the tool of the format prints the same as before, except
// for the definitions that weft keeps for itself.
func TestVerbsOnConvertedTraces(t *testing.T) {
	path := nativesArchive(t)
	dir := t.TempDir()
	otf, otf2 := filepath.Join(dir, "a.otf"), filepath.Join(dir, "a.otf2")
	weft(t, 0, "convert", "-q", path, otf)
	weft(t, 0, "convert", "-q", otf, otf2)
	for _, c := range [][]string{{otf, "otfprint", "--fullkeyvalue"}, {otf2, "otf2-print", "-A"}} {
		shown := func(path string) map[string]int {
			m := toolLines(t, path, c[1], c[2])
			for line := range m {
				if strings.HasPrefix(line, "DefCreator") || strings.HasPrefix(line, "Property value") {
					delete(m, line)
				}
			}
			return m
		}
		want := shown(c[0])
		for _, verb := range [][]string{{"cut", "--to", "100%"}, {"repair"}} {
			out := filepath.Join(t.TempDir(), "out"+filepath.Ext(c[0]))
			weft(t, 0, append(slices.Clone(verb), "-q", c[0], out)...)
			if more, fewer := differences(want, shown(out)); len(more)+len(fewer) > 0 {
				t.Errorf("%q: %s prints anew:\n%sand no longer:\n%s", verb, c[1], strings.Join(more, ""), strings.Join(fewer, ""))
			}
		}
	}
}

// TestWindowFlags checks that otf2-print prints the same definition of a window, apart from ids, for an archive and for
// one that went through another format.
func TestWindowFlags(t *testing.T) {
	path, dir := nativesArchive(t), t.TempDir()
	other, back := filepath.Join(dir, "x.otf"), filepath.Join(dir, "back.otf2")
	weft(t, 0, "convert", "-q", path, other)
	weft(t, 0, "convert", "-q", "--allow-loss", other, back)
	window := func(path string) string {
		out, _ := runTool(t, path, "otf2-print", "-G")
		return printedID.ReplaceAllString(regexp.MustCompile(`(?m)^RMA_WIN .*`).FindString(string(out)), "")
	}
	if got, want := window(back), window(path); got != want || !strings.Contains(want, "CREATE_DESTROY_EVENTS") {
		t.Errorf("found %q, before %q", got, want)
	}
}

// TestRequestOpenOutsideRegions checks a piece that ends while a request of a location without an open region goes on:
// its records for otf2-print are those of the archive, but for one parameter that states that the request goes on.
func TestRequestOpenOutsideRegions(t *testing.T) {
	path, piece := nativesArchive(t), filepath.Join(t.TempDir(), "piece.otf2")
	weft(t, 0, "cut", "-q", "--from", "@2505ns", "--to", "@2518ns", path, piece)
	out, complaints := runTool(t, piece, "otf2-print")
	if !regexp.MustCompile(`PARAMETER_STRING +1 +2518 +Parameter: "event" <3>, Value: "no-op" <\d+>\n.*"cut.ends"`).
		Match(out) {
		t.Errorf("expected a parameter with the attribute cut.ends; otf2-print prints\n%s%s", out, complaints)
	}
	if out, _ := runTool(t, piece, "otf2-print", "-G"); !strings.Contains(string(out), `Name: "event"`) {
		t.Errorf("expected the definition of the parameter; otf2-print prints\n%s", out)
	}
	if text := weft(t, 0, "check", piece); strings.Contains(text, "trace.request-without-end") {
		t.Errorf("found %s, expected no warning about the request", text)
	}
	if out, err := exec.Command(pythonOTF2(t), "../../testdata/readotf2.py", piece).CombinedOutput(); err != nil ||
		strings.TrimSpace(string(out)) != "6" {
		t.Errorf("python3-otf2: %v: %s, expected 6 events", err, out)
	}
}

// TestTextsOfMarkersAreNotLost converts markers of OTF2 to OTF. otfprint prints their texts, also in a plain trace, so
// the loss table must not count attributes of markers.
func TestTextsOfMarkersAreNotLost(t *testing.T) {
	path := nativesArchive(t)
	for _, plain := range []string{"--plain=false", "--plain"} {
		there := filepath.Join(t.TempDir(), "a.otf")
		rows := lossRows(t, plain, path, there)
		printed, _ := runTool(t, there, "otfprint")
		if printed == nil {
			t.Skip("otfprint is not installed")
		}
		if !strings.Contains(string(printed), `text "of a group"`) {
			t.Fatalf("otfprint does not print the text of the marker:\n%s", printed)
		}
		for _, r := range rows {
			if r.Kind == "marker" && strings.Contains(r.Field, "attributes") {
				t.Errorf("%s: the loss table has the row %v", plain, r)
			}
		}
	}
}
