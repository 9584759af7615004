package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/effort"
)

// sentAgain matches lines of weft print --json: sends and receives of messages that began before
// the piece.
var sentAgain = regexp.MustCompile(`"kind":"(send|recv|send-begin|recv-complete)".*"cut\.began"`)

// TestPiecesOfMessages checks that a piece contains the messages sent or received in it, each with
// its partner, and that the pieces of a real trace together contain all of its messages.
func TestPiecesOfMessages(t *testing.T) {
	type sums struct{ Sent, Received, Matched, SizeMismatches int64 }
	count := func(path string) (s sums, repeated int64) {
		code, out, errs := runWeft(t, "messages", "--json", path)
		if code != 0 {
			t.Fatal(errs)
		}
		if err := json.Unmarshal([]byte(out), &s); err != nil {
			t.Fatal(err)
		}
		_, out, _ = runWeft(t, "print", "--json", "--kind", "message", path)
		return s, int64(len(sentAgain.FindAllString(out, -1)))
	}
	for _, name := range []string{"otf", "otf2", "ring", "pallas"} {
		whole, _ := count(realTraces[name])
		var sum sums
		again := int64(0)
		bounds := []string{"", "17%", "44.5%", "45%", "80%", ""}
		for i := range len(bounds) - 1 {
			args := []string{"cut", "-q"}
			if bounds[i] != "" {
				args = append(args, "--from", bounds[i])
			}
			if bounds[i+1] != "" {
				args = append(args, "--to", bounds[i+1])
			}
			out := filepath.Join(t.TempDir(), "x.otf2")
			if code, _, errs := runWeft(t, append(args, realTraces[name], out)...); code != 0 {
				t.Fatal(errs)
			}
			s, n := count(out)
			sum.Sent += s.Sent
			sum.Received += s.Received
			sum.SizeMismatches += s.SizeMismatches
			again += n
		}
		if sum.Sent+sum.Received-again != whole.Sent+whole.Received || sum.SizeMismatches != whole.SizeMismatches {
			t.Errorf("%s: found %+v in pieces, %d of them repeated, expected %+v", name, sum, again, whole)
		}
	}
}

// TestOnePass checks that several changes in one pass have the result of the same changes one after
// the other.
func TestOnePass(t *testing.T) {
	dir := t.TempDir()
	file := func(n string) string { return filepath.Join(dir, n, "x.otf2") }
	for _, args := range [][]string{
		{"cut", "--from", "20%", "--to", "70%", realTraces["otf2"], file("a")},
		{"filter", "--region", "MPI_*", file("a"), file("b")},
		{"anonymize", file("b"), file("c")},
		{"anonymize", "--from", "20%", "--to", "70%", "--region", "MPI_*", realTraces["otf2"], file("d")},
	} {
		mkdir(t, filepath.Dir(args[len(args)-1]))
		if code, _, errs := runWeft(t, args...); code != 0 {
			t.Fatal(args, errs)
		}
	}
	// The numbers of replaced texts depend on the strings of the intermediate archive, in which
	// markers have no attributes.
	number := regexp.MustCompile(`"text \d+"`)
	events := func(path string) map[string]int {
		_, out, _ := runWeft(t, "print", "--json", path)
		m := map[string]int{}
		for _, l := range strings.Split(out, "\n") {
			if !strings.Contains(l, `"kind":"marker"`) {
				m[number.ReplaceAllString(l, `"text"`)]++
			}
		}
		return m
	}
	if a, b := events(file("c")), events(file("d")); len(a) < 10 || !maps.Equal(a, b) {
		t.Errorf("one pass gives %d different events, three give %d", len(b), len(a))
	}
}

// TestPiecesOfArchives checks that otf2-print prints for a piece only lines of the archive, except
// for numbers of events, the ends of open regions and operations, and the attributes that mark
// these.
func TestPiecesOfArchives(t *testing.T) {
	effort.Long(t)
	if _, err := exec.LookPath("otf2-print"); err != nil {
		t.Skip("otf2-print is not installed")
	}
	for _, name := range []string{"heat2d-mt/traces.otf2", "omp/eztrace_log.otf2", "ring/eztrace_log.otf2"} {
		path := "../../format/otf2/testdata/ok/" + name
		want := toolLines(t, path, "otf2-print", "-A")
		for _, verb := range [][]string{{"cut", "--from", "20%", "--to", "70%"}, {"filter", "--not-region", "*a*"}} {
			out := filepath.Join(t.TempDir(), "x.otf2")
			if code, _, errs := runWeft(t, append(slices.Clone(verb), "-q", path, out)...); code != 0 {
				t.Errorf("%s: %q: exit code %d: %s", name, verb, code, errs)
				continue
			}
			more, fewer := differences(want, toolLines(t, out, "otf2-print", "-A"))
			if len(fewer) == 0 {
				t.Errorf("%s: %q: otf2-print prints all that it prints of the archive", name, verb)
			}
			times := map[string]bool{}
			for _, line := range more {
				f := strings.Fields(line)
				switch {
				case f[0] == "LOCATION", f[0] == "Number", f[0] == "STRING", strings.Contains(line, `"cut.`):
				case len(f) > 2:
					times[f[2]] = true
				default:
					t.Errorf("%s: %q: otf2-print prints anew: %s", name, verb, line)
				}
			}
			if len(times) > 2 {
				t.Errorf("%s: %q: otf2-print prints events anew at %v, expected those at the ends of the piece", name, verb,
					slices.Collect(maps.Keys(times)))
			}
		}
	}
}

// TestEmptiedLocations checks that otf2-print finds no events at locations that a filter has
// emptied.
func TestEmptiedLocations(t *testing.T) {
	if _, err := exec.LookPath("otf2-print"); err != nil {
		t.Skip("otf2-print is not installed")
	}
	out := filepath.Join(t.TempDir(), "x.otf2")
	if code, _, errs := runWeft(t, "filter", "--location", "0", "-q", realTraces["otf2"], out); code != 0 {
		t.Fatal(errs)
	}
	defs, _ := runTool(t, out, "otf2-print", "-G")
	got := ""
	for _, l := range locationEvents.FindAllSubmatch(defs, -1) {
		got += fmt.Sprintf("%s:%s ", l[1], l[2])
	}
	if want := "0:1344 1:0 2:0 3:0 "; got != want {
		t.Errorf("otf2-print finds the events %s, expected %s", got, want)
	}
}
