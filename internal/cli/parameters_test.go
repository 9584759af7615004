package cli

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestParametersThroughOtherFormats converts an OTF2 archive to other formats and back. otf2-print shows the same
// definition of the parameter, whose values are integers, and the same events, also with --plain. Only the ids differ.
// otf2-print does not complain about the ids.
func TestParametersThroughOtherFormats(t *testing.T) {
	archive, dir := "../../format/otf2/testdata/ok/heat2d-mt/traces.otf2", t.TempDir()
	parameters := func(path string) (list []string) {
		out := runSilently(t, nil, path, "otf2-print", "-A")
		if out == nil {
			t.Skip("otf2-print is not installed")
		}
		for l := range strings.Lines(string(out)) {
			l = strings.Join(strings.Fields(regexp.MustCompile(` <\d+>|^PARAMETER +\d+`).ReplaceAllString(l, "")), " ")
			if strings.Contains(l, `"minus rank"`) && !strings.HasPrefix(l, "STRING ") {
				list = append(list, l)
			}
		}
		slices.Sort(list)
		return list
	}
	want := parameters(archive)
	if len(want) != 5 {
		t.Fatalf("found %q in the archive, expected the definition and four events", want)
	}
	for _, name := range []string{"x.etf", "x.trf", "x.otf", "x.pallas"} {
		other := filepath.Join(dir, name)
		weft(t, 0, "convert", "-q", archive, other)
		for _, flag := range []string{"--plain=false", "--plain"} {
			back := filepath.Join(dir, name+strings.Trim(flag, "-")+".otf2")
			weft(t, 0, "convert", "-q", "--allow-loss", flag, other, back)
			if got := parameters(back); !slices.Equal(got, want) {
				t.Errorf("%s, %s: found\n%s\nexpected\n%s", name, flag, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
	}
}

// TestMetricClassesThroughOtherFormats converts an archive with classes of several metrics to TRACE and back.
// otf2-print does not complain about the ids of the classes, and the values stay the same.
func TestMetricClassesThroughOtherFormats(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "x.etf")
	weft(t, 0, "convert", "-q", "--allow-loss", "../../format/otf2/testdata/ok/snapshots/all.otf2", other)
	values := func(path string) string { return weft(t, 0, "print", "-q", "--kind", "metric", path) }
	want := values(other)
	if !strings.Contains(want, "metric") {
		t.Fatalf("found no values of metrics in %q", want)
	}
	for _, flag := range []string{"--plain=false", "--plain"} {
		back := filepath.Join(dir, "back"+strings.Trim(flag, "-")+".otf2")
		weft(t, 0, "convert", "-q", "--allow-loss", flag, other, back)
		out, complaints := runTool(t, back, "otf2-print", "-A")
		if out == nil {
			t.Skip("otf2-print is not installed")
		}
		if strings.Contains(string(complaints), "Metric definition") {
			t.Errorf("%s: otf2-print complains: %s", flag, complaints)
		}
		if got := values(back); flag != "--plain" && got != want {
			t.Errorf("found values\n%s\nexpected\n%s", got, want)
		}
	}
}

// TestGroupsThroughOtherFormats converts an archive with groups of regions, of ranks and of metrics to other formats
// and back. otf2-print shows the same types, with the same regions, ranks, and number of metrics, whose ids differ. It
// does not complain about gaps between ids of I/O paradigms and interrupt generators.
func TestGroupsThroughOtherFormats(t *testing.T) {
	archive, dir := "../../format/otf2/testdata/ok/snapshots/all.otf2", t.TempDir()
	group := regexp.MustCompile(
		`Name: "(?:y+" <\d+>, Type: COMM_GROUP|.*Type: REGIONS|.*Type: METRIC),.*, (\d+ Members?: .*)`)
	groups := func(path string) (list []string) {
		out, _ := runTool(t, path, "otf2-print", "-G")
		if out == nil {
			t.Skip("otf2-print is not installed")
		}
		for _, m := range group.FindAllStringSubmatch(string(out), -1) {
			if strings.Contains(m[0], "Type: METRIC") {
				m[1], _, _ = strings.Cut(m[1], ":")
			}
			list = append(list, m[1])
		}
		return list
	}
	want := groups(archive)
	if len(want) != 3 || want[2] != "5 Members" {
		t.Fatalf("found the groups %q in the archive, expected one of ranks, of two regions, and of five metrics", want)
	}
	for _, name := range []string{"x.etf", "x.trf", "x.otf", "x.pallas"} {
		other, back := filepath.Join(dir, name), filepath.Join(dir, "from "+name+".otf2")
		weft(t, 0, "convert", "-q", "--allow-loss", archive, other)
		weft(t, 0, "convert", "-q", "--allow-loss", other, back)
		if got := groups(back); !slices.Equal(got, want) {
			t.Errorf("%s: found the groups %q, expected %q", name, got, want)
		}
		if _, complaints := runTool(t, back, "otf2-print", "-G"); strings.Contains(string(complaints), "out of order") {
			t.Errorf("%s: otf2-print complains: %s", name, complaints)
		}
	}
}

// TestRecordsWithoutPackedRows converts archives to other formats and back. Events of parameters, and events of OpenMP
// in records of old versions, have no row for weft beside the record, which holds everything. weft reads the same
// events from it.
func TestRecordsWithoutPackedRows(t *testing.T) {
	dir := t.TempDir()
	openmp := filepath.Join(dir, "openmp", "traces.otf2")
	program := exec.Command(pythonOTF2(t), "testdata/programs/openmp.py", filepath.Dir(openmp))
	if out, err := program.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	events := regexp.MustCompile(`(?m)^(PARAMETER_INT64|OMP_\w+) +\d+ +\d+ .*\n(?: +ADDITIONAL.*)?`)
	for archive, count := range map[string]int{"../../format/otf2/testdata/ok/heat2d-mt/traces.otf2": 4, openmp: 14} {
		for _, name := range []string{"x.etf", "x.trf", "x.otf", "x.pallas"} {
			other, back := filepath.Join(t.TempDir(), name), filepath.Join(t.TempDir(), "back.otf2")
			weft(t, 0, "convert", "-q", archive, other)
			weft(t, 0, "convert", "-q", other, back)
			out, _ := runTool(t, back, "otf2-print")
			if out == nil {
				t.Skip("otf2-print is not installed")
			}
			found := events.FindAllString(string(out), -1)
			if len(found) != count {
				t.Errorf("%s, %s: found %d events, expected %d", archive, name, len(found), count)
			}
			for _, e := range found {
				if strings.Contains(e, "weft.row") {
					t.Errorf("%s, %s: an event with a row for weft: %s", archive, name, e)
				}
			}
			print := func(path string) string {
				return weft(t, 0, "print", "-q", "--kind", "parameter,thread-fork,"+
					"thread-join,lock-acquire,lock-release,task-create,task-switch,task-complete", path)
			}
			if got, want := print(back), print(other); got != want {
				t.Errorf("%s, %s: found events\n%s\nexpected\n%s", archive, name, got, want)
			}
		}
	}
}
