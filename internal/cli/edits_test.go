package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/format/pallas"
	"github.com/weft-trace/weft/internal/effort"
)

// toolLines returns the lines that a tool prints about a trace with their counts, without record
// numbers and run time.
func toolLines(t *testing.T, path, name string, flags ...string) map[string]int {
	t.Helper()
	number := regexp.MustCompile(`^\(#\d+\) *\t?`)
	out, _ := runTool(t, path, name, flags...)
	m := map[string]int{}
	for line := range strings.Lines(string(out)) {
		if !strings.HasPrefix(line, "processing time:") {
			m[number.ReplaceAllString(line, "")]++
		}
	}
	return m
}

// differences returns the lines that occur more often in b than in a, and those that occur less often.
func differences(a, b map[string]int) (more, fewer []string) {
	for line, n := range b {
		if n > a[line] {
			more = append(more, line)
		}
	}
	for line, n := range a {
		if n > b[line] {
			fewer = append(fewer, line)
		}
	}
	return more, fewer
}

// TestVerbsEdit checks that the format's own tool prints the same about a trace and about the
// output of a command that changes nothing.
func TestVerbsEdit(t *testing.T) {
	effort.Long(t)
	for _, c := range []struct {
		dir, tool, flag string
		names           []string // traces that the tool reads to the end
	}{
		{"../../format/otf2/testdata/ok/", "otf2-print", "-A",
			[]string{"heat2d-mt/traces.otf2", "omp/eztrace_log.otf2", "propvals/traces.otf2", "ring/eztrace_log.otf2"}},
		{"../../format/otf/testdata/ok/", "otfprint", "--fullkeyvalue",
			[]string{"aux_snapshots/aux_snapshots.otf", "hello/hello.otf", "kv_types/kv_types.otf", "map_1to1/map_1to1.otf",
				"map_explicit/map_explicit.otf", "mpi4/mpi4.otf", "time0/time0.otf", "tokens/tokens.otf"}},
	} {
		t.Run(c.tool, func(t *testing.T) {
			if _, err := exec.LookPath(c.tool); err != nil {
				t.Skip(c.tool + " is not installed")
			}
			for _, name := range c.names {
				path := c.dir + name
				want := toolLines(t, path, c.tool, c.flag)
				if len(want) < 15 {
					t.Errorf("%s prints %d different lines of %s", c.tool, len(want), name)
				}
				verbs := [][]string{{"filter", "--min-duration", "0"}, {"cut", "--to", "100%"}, {"merge"}, {"repair"}}
				switch filepath.Dir(name) {
				case "omp", "ring", "kv_types":
					verbs = verbs[:3] // the trace has regions that do not nest
				}
				for _, verb := range verbs {
					out := filepath.Join(t.TempDir(), "x"+filepath.Ext(path))
					if code, _, errs := runWeft(t, append(slices.Clone(verb), "-q", path, out)...); code != 0 {
						t.Errorf("%s: %q: exit code %d: %s", name, verb, code, errs)
						continue
					}
					if more, fewer := differences(want, toolLines(t, out, c.tool, c.flag)); len(more)+len(fewer) > 0 {
						t.Errorf("%s: %q: %s prints anew:\n%sand no longer:\n%s", name, verb, c.tool, strings.Join(more, ""),
							strings.Join(fewer, ""))
					}
				}
			}
		})
	}
}

// withBareLeaves copies an OTF trace with leaves that name no function, as VampirTrace writes them.
func withBareLeaves(t *testing.T, path string) string {
	t.Helper()
	dir, leave := t.TempDir(), regexp.MustCompile(`(?m)^L[0-9a-f]+$`)
	stub := strings.TrimSuffix(filepath.Base(path), ".otf")
	files, err := filepath.Glob(filepath.Join(filepath.Dir(path), stub+".*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Ext(name) == ".events" {
			b = leave.ReplaceAll(b, []byte("L0"))
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, stub+".otf")
}

// TestBareLeaves checks leaves that name no function. Such a leave belongs to the innermost region, with any
// number of cores, and commands write it unchanged.
func TestBareLeaves(t *testing.T) {
	large := filepath.Join(t.TempDir(), "large.otf") // larger than a piece that a core reads
	weft(t, 0, "generate", "--workload", "stencil", "--events", "300000", large)
	for _, path := range []string{realTraces["otf"], large} {
		bare := withBareLeaves(t, path)
		for _, args := range [][]string{{"print", "-q", "-j", "1"},
			{"print", "-q", "-j", "3", "--from", "60%", "--to", "70%"}, {"profile", "-q", "-j", "1", "--csv"},
			{"profile", "-q", "-j", "4", "--csv"},
			{"profile", "-q", "-j", "2", "--csv", "--from", "30%", "--to", "80%"}, {"comm", "-q", "-j", "2"}} {
			code, want, _ := runWeft(t, append(slices.Clone(args), path)...)
			if c, got, errs := runWeft(t, append(slices.Clone(args), bare)...); c != code || got != want || len(want) < 100 {
				t.Errorf("%s: %q: exit code %d, %d bytes other than expected: %s", filepath.Base(path), args, c, len(got), errs)
			}
		}
	}
	if _, err := exec.LookPath("otfprint"); err != nil {
		t.Skip("otfprint is not installed")
	}
	bare := withBareLeaves(t, realTraces["otf"])
	want := toolLines(t, bare, "otfprint", "--fullkeyvalue")
	for _, verb := range [][]string{{"filter", "--min-duration", "0"}, {"cut", "--to", "100%"}, {"merge"}, {"repair"}} {
		out := filepath.Join(t.TempDir(), "x.otf")
		weft(t, 0, append(slices.Clone(verb), "-q", bare, out)...)
		if more, fewer := differences(want, toolLines(t, out, "otfprint", "--fullkeyvalue")); len(more)+len(fewer) > 0 {
			t.Errorf("%q: otfprint prints anew:\n%sand no longer:\n%s", verb, strings.Join(more, ""), strings.Join(fewer, ""))
		}
	}
}

// TestVerbsEditPallas checks that commands that change nothing in a Pallas trace leave its events,
// as printed by pallas_print, its definitions and its metadata unchanged.
func TestVerbsEditPallas(t *testing.T) {
	for _, name := range []string{"abi16_attrs", "abi17_metadata", "abi18_mpi", "abi19_loops", "allrecords", "attrs",
		"deep99", "empty_thread", "global_locations", "mismatched_leave", "samets", "sparse_ids"} {
		path := "../../format/pallas/testdata/ok/" + name + "/trace/main.pallas"
		_, want, _ := runWeft(t, "print", "-q", "--compat", path)
		for _, verb := range [][]string{{"filter", "--min-duration", "0"}, {"cut", "--to", "100%"}, {"merge"}, {"repair"}} {
			if name == "mismatched_leave" && verb[0] != "filter" {
				continue // the trace needs repairs and has open regions at its end
			}
			out := filepath.Join(t.TempDir(), "x.pallas")
			if code, _, errs := runWeft(t, append(slices.Clone(verb), "-q", path, out)...); code != 0 {
				t.Errorf("%s: %q: exit code %d: %s", name, verb, code, errs)
				continue
			}
			if _, got, _ := runWeft(t, "print", "-q", "--compat", out); got != want {
				t.Errorf("%s: %q: the events are other ones:\n%s", name, verb, cmp.Diff(want, got))
			}
			if a, b := pallasDefinitions(t, path), pallasDefinitions(t, out); a != b {
				t.Errorf("%s: %q: definitions:\n%s", name, verb, cmp.Diff(a, b))
			}
		}
	}
}

// pallasDefinitions returns the definitions and metadata of a trace and its archives as text.
func pallasDefinitions(t *testing.T, path string) string {
	t.Helper()
	x, err := pallas.Open(format.FileSource(path))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	// The writer sorts definitions by their refs.
	tables := func(d *pallas.Definitions) {
		var lines []string
		for _, x := range d.Strings {
			lines = append(lines, fmt.Sprintf("string %v", x))
		}
		for _, x := range d.Regions {
			lines = append(lines, fmt.Sprintf("region %v", x))
		}
		for _, x := range d.Attributes {
			lines = append(lines, fmt.Sprintf("attribute %v", x))
		}
		for _, x := range d.Groups {
			lines = append(lines, fmt.Sprintf("group %v", x))
		}
		for _, x := range d.Comms {
			lines = append(lines, fmt.Sprintf("comm %v", x))
		}
		slices.Sort(lines)
		b.WriteString(strings.Join(lines, "\n") + "\n")
	}
	tables(x.Definitions)
	fmt.Fprintf(&b, "groups %v\nmetadata %v\n", x.LocationGroups, x.Metadata)
	for _, id := range x.ArchiveIDs() {
		a, err := x.Archive(id)
		if err != nil {
			continue // a machine has no archive
		}
		fmt.Fprintf(&b, "archive %d: locations %v\nmetadata %v\n", id, a.Locations, a.Metadata)
		tables(a.Definitions)
	}
	return b.String()
}

// TestVerbsKeepRecords checks that commands which change nothing write unusual records as they were, with their
// pairs: leaves of no function, messages of process 0, undefined groups of functions and files, and an array
// whose key the record already has, as libotf's list of pairs allows.
func TestVerbsKeepRecords(t *testing.T) {
	const events = "1\n*1\nE1\nK1Y5V1\nS0L1T1C3\n2\n*1\nK1Y5V1\nR0L1T1C3\nK1Y5V1\nK2Y5V2\nK1YbVaaL1\nN\n" +
		"3\n*1\nK1Y5V1\nL\n3\n*1\n"
	const stats = "3\n*1\nSG7N1E1I1\nSFLG8NO1NC1NRD1NW1NSK1BR1BW1\n3\n*1\n"
	dir := t.TempDir()
	for part, text := range map[string]string{"otf": "1:1\n", "1.events": events, "1.stats": stats,
		"0.def": "DTR3e8\nDK1Y5NM\"k\"T\"\"\nDK2Y5NM\"l\"T\"\"\nDP1NM\"p\"\nDF1G0NM\"f\"\nDPG3M1,NM\"c\"\n"} {
		if err := os.WriteFile(filepath.Join(dir, "x."+part), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, verb := range []string{"filter --not-kind claim", "cut --to 100%", "merge", "align", "anonymize", "convert",
		"convert --option otf.streams=1"} {
		args := append(strings.Fields(verb), "-q", "--force", filepath.Join(dir, "x.otf"), filepath.Join(dir, "y.otf"))
		if code, _, errs := runWeft(t, args...); code != 0 {
			t.Errorf("%s: exit code %d: %s", verb, code, errs)
			continue
		}
		for part, want := range map[string]string{"1.events": events, "1.stats": stats} {
			got, _ := os.ReadFile(filepath.Join(dir, "y."+part))
			if string(got) != want && (verb != "anonymize" || part != "1.events") {
				t.Errorf("%s: %s: found %q, expected %q", verb, part, got, want)
			}
		}
	}
}
