package cli

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestMergeWithConverted merges an archive with one that has been converted to another format. otf2-print shows the
// communicators with the members that they have in the archives, no further groups of these members, and the metric
// events of two values.
func TestMergeWithConverted(t *testing.T) {
	a, b := libraryArchive(t, "counters.py", "a"), libraryArchive(t, "counters.py", "b")
	ids := regexp.MustCompile(` <\d+>`)
	metric := regexp.MustCompile(`(?m)^METRIC +\d+ +(\d+) +Metric: \d+, (.*)`)
	metrics := func(path string) (list []string) {
		out, _ := runTool(t, path, "otf2-print")
		for _, x := range metric.FindAllStringSubmatch(string(out), -1) {
			list = append(list, x[1]+" "+ids.ReplaceAllString(x[2], ""))
		}
		return list
	}
	values := slices.Sorted(slices.Values(slices.Concat(metrics(a), metrics(b))))
	group := regexp.MustCompile(`(?m)^GROUP +(\d+) .*Type: (\w+),.* Members?(.*)`)
	comm := regexp.MustCompile(`(?m)^COMM .*Name: "(.*)" <\d+>, Group: ".*" <(\d+)>`)
	rank := regexp.MustCompile(`\d+ \("(.*?)" <\d+>\)`)
	const first, second = "a rank 0, a rank 1, a rank 2, a rank 3", "b rank 0, b rank 1, b rank 2, b rank 3"
	want := []string{"all locations COMM_GROUP: " + first + ", " + second,
		"MPI_COMM_WORLD COMM_GROUP: " + first, "MPI_COMM_SELF COMM_SELF", "odd COMM_GROUP: a rank 1, a rank 3",
		"MPI_COMM_WORLD COMM_GROUP: " + second, "MPI_COMM_SELF COMM_SELF", "odd COMM_GROUP: b rank 1, b rank 3"}
	for _, name := range []string{"b.otf", "b.pallas", "b.etf", "b.trf"} {
		converted, merged := filepath.Join(t.TempDir(), name), filepath.Join(t.TempDir(), "merged.otf2")
		weft(t, 0, "convert", "-q", b, converted)
		weft(t, 0, "merge", "-q", "--anchor", "none", a, converted, merged)
		definitions, complaints := runTool(t, merged, "otf2-print", "-G")
		if len(complaints) > 0 {
			t.Errorf("%s: otf2-print: %s", name, complaints)
		}
		groups, pairs := map[string]string{}, 0
		for _, x := range group.FindAllStringSubmatch(string(definitions), -1) {
			groups[x[1]] = x[2] + rank.ReplaceAllString(x[3], "$1")
			if strings.Count(x[3], "rank") == 2 {
				pairs++
			}
		}
		var found []string
		for _, x := range comm.FindAllStringSubmatch(string(definitions), -1) {
			found = append(found, x[1]+" "+groups[x[2]])
		}
		if !slices.Equal(found, want) || pairs != 2 {
			t.Errorf("%s: otf2-print shows the communicators\n%s\nand %d groups of two ranks, expected\n%s\nand 2 groups",
				name, strings.Join(found, "\n"), pairs, strings.Join(want, "\n"))
		}
		if found := slices.Sorted(slices.Values(metrics(merged))); !slices.Equal(found, values) {
			t.Errorf("%s: otf2-print shows metric events\n%s\nexpected\n%s", name, strings.Join(found, "\n"),
				strings.Join(values, "\n"))
		}
		if out, err := exec.Command(pythonOTF2(t), "../../testdata/readotf2.py", merged).CombinedOutput(); err != nil {
			t.Errorf("%s: python3-otf2: %v: %s", name, err, out)
		}
	}
}

// TestMergeOfOneConverted merges a single OTF trace that carries definitions: otfprint shows the same, also the carried
// data.
func TestMergeOfOneConverted(t *testing.T) {
	requireOTFPrint(t)
	converted, merged := filepath.Join(t.TempDir(), "a.otf"), filepath.Join(t.TempDir(), "merged.otf")
	weft(t, 0, "convert", "-q", libraryArchive(t, "counters.py", "a"), converted)
	weft(t, 0, "merge", "-q", converted, merged)
	more, fewer := differences(toolLines(t, converted, "otfprint", "--fullkeyvalue"),
		toolLines(t, merged, "otfprint", "--fullkeyvalue"))
	if len(more)+len(fewer) > 0 {
		t.Errorf("otfprint prints anew:\n%sand no longer:\n%s", strings.Join(more, ""), strings.Join(fewer, ""))
	}
}

// TestPlainCollectives checks collective operations in plain traces. In OTF, MPI_COMM_SELF is a group without
// processes, as the loss table states, and check does not expect members. In PICL, the six operations with an event
// type of their own are visits, which profile counts beside the ten calls. The loss table states their number.
func TestPlainCollectives(t *testing.T) {
	path, there := libraryArchive(t, "counters.py", "a"), filepath.Join(t.TempDir(), "a.otf")
	loss := func(out, kind, field string) (count int64) {
		var rows []struct {
			Kind, Field, How string
			Count            int64
		}
		text := weft(t, 0, "convert", "--json", "--plain", "--allow-loss", path, out)
		if err := json.Unmarshal([]byte(text), &rows); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		for _, x := range rows {
			if x.Kind == kind && x.Field == field && x.How != "exact" {
				count += x.Count
			}
		}
		return count
	}
	if n := loss(there, "communicator", "members"); n != 1 {
		t.Errorf("the loss table counts %d communicators without members, expected 1", n)
	}
	const self = `name "MPI_COMM_SELF", procs ` + "\n"
	if out, _ := runTool(t, there, "otfprint"); out != nil && !strings.Contains(string(out), self) {
		t.Errorf("otfprint shows\n%s\nexpected MPI_COMM_SELF without processes", out)
	}
	if out := weft(t, 0, "check", there); !strings.Contains(out, "0 errors, 0 warnings, 0 notes") {
		t.Errorf("check: found %s", out)
	}
	there = filepath.Join(t.TempDir(), "a.trf")
	n := loss(there, "collective-begin", "")
	out := weft(t, 0, "profile", "--csv", there)
	if n != 6 || !strings.Contains(out, "region,MPI_Allreduce,user events,16,") {
		t.Errorf("the loss table counts %d visits, expected 6; the profile is\n%s\nexpected 10 + 6 of MPI_Allreduce", n, out)
	}
}

// TestNegativeZeroOfCounters converts values of a counter to each format and back: otfprint shows the same values.
func TestNegativeZeroOfCounters(t *testing.T) {
	requireOTFPrint(t)
	path := writeTrace(t, map[string]string{".otf": "1:1\n",
		".0.def":    "DTRf4240\nDP1NM\"p\"\nDCNT1G0NM\"c\"P121U\"#\"\n",
		".1.events": "1\n*1\nCNT1V8000000000000000\n2\n*1\nCNT1Vbff8000000000000\n3\n*1\n"})
	for _, ext := range []string{".etf", ".otf2", ".pallas", ".trf"} {
		there, back := filepath.Join(t.TempDir(), "x"+ext), filepath.Join(t.TempDir(), "back.otf")
		weft(t, 0, "convert", "-q", path, there)
		weft(t, 0, "convert", "-q", there, back)
		for _, want := range []string{"value -0.000000\n", "value -1.500000\n"} {
			if text := otfprinted(t, back); strings.Count(text, want) != 1 {
				t.Errorf("%s: otfprint shows\n%s\nexpected one %s", ext, text, want)
			}
		}
	}
}
