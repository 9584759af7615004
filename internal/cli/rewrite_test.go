package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/effort"
)

// runWeft runs a command line in this process. It returns the exit code and both outputs.
func runWeft(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	code = Main(args, strings.NewReader(""), &o, &e)
	return code, o.String(), e.String()
}

// realTraces holds small real traces of each format.
var realTraces = map[string]string{
	"etf":    "../../examples/odse.etf",
	"picl":   "../../examples/ring.trf",
	"otf":    "../../format/otf/testdata/ok/mpi4/mpi4.otf",
	"otf2":   "../../format/otf2/testdata/ok/heat2d-mt/traces.otf2",
	"ring":   "../../format/otf2/testdata/ok/ring/eztrace_log.otf2",
	"pallas": "../../format/pallas/testdata/ok/abi18_mpi/trace/main.pallas",
}

// TestTransformsAreSound checks the output of all commands that write traces, for real traces of
// each format: weft check finds no errors, and OTF's and OTF2's own tools read it without messages.
func TestTransformsAreSound(t *testing.T) {
	effort.Long(t)
	for name, path := range realTraces {
		var known []byte // messages of otf2-print about the trace itself
		if filepath.Ext(path) == ".otf2" {
			_, known = runTool(t, path, "otf2-print", "-A")
		}
		for _, verb := range [][]string{
			{"cut", "--from", "30%", "--to", "60%"},
			{"cut", "--percent", "44-46", "--prune"},
			{"filter", "--not-region", "*e*", "--min-duration", "1us"},
			{"filter", "--location", "*0*", "--max-depth", "2"},
			{"repair"},
			{"anonymize"},
			{"merge", path},
		} {
			for _, ext := range []string{"otf2", "otf", "pallas", "etf", "trf"} {
				out := filepath.Join(t.TempDir(), "x."+ext)
				args := append(append([]string{}, verb...), "-q", "--allow-loss", path, out)
				if code, _, errs := runWeft(t, args...); code != 0 {
					t.Errorf("%s: %v: exit code %d: %s", name, args, code, errs)
					continue
				}
				if code, found, errs := runWeft(t, "check", "--places", "2", out); code != 0 {
					t.Errorf("%s: check of %v: exit code %d: %s%s", name, args, code, found, errs)
				}
				switch ext {
				case "otf2":
					runSilentlyOTF2(t, out, known)
				case "otf":
					runSilently(t, nil, out, "otfprint")
				}
			}
		}
	}
}

// TestMarkersOfLocations checks that markers of the whole trace stay for any choice of locations, and that those
// of a location stay with it. Markers of OTF2 are at a location of their own. The whole trace is process 0 in OTF.
func TestMarkersOfLocations(t *testing.T) {
	dir := t.TempDir()
	hand := filepath.Join(dir, "hand.otf")
	for name, text := range map[string]string{
		"hand.otf": "1:1,2\n", "hand.1.events": "1\n*1\nE1\n*2\nE1\n5\n*1\nL1\n*2\nL1\n",
		"hand.0.def":    "DV1.c.5\"salmon\"\nDTR3e8\nDP1NM\"p1\"\nDP2NM\"p2\"\nDF1G0NM\"f\"\nMD1NM\"kind\"Y1\n",
		"hand.0.marker": "2\n*0\nMS1T1P0V\"all\"\n3\n*1\nMS1T1P1V\"one\"\n4\n*2\nMS1T1P2V\"two\"\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	heat := realTraces["otf2"] // a marker "first half" of the whole trace, and "rank 1 here" of location 1
	for _, x := range []struct {
		args []string // command, flags and input
		want string
	}{
		{[]string{"filter", "--location", "0", heat}, "first half"},
		{[]string{"filter", "--location", "1", heat}, "first half,rank 1 here"},
		{[]string{"filter", "--location", "1", "--not-location", "markers", heat}, ""},
		{[]string{"filter", "--location", "1", "--not-kind", "marker", heat}, ""},
		{[]string{"filter", "--location", "markers", heat}, "first half,rank 1 here"},
		{[]string{"filter", "--not-location", "0", heat}, "first half,rank 1 here"},
		{[]string{"filter", "--not-location", "1", heat}, "first half"},
		{[]string{"merge", "--not-location", "1", heat, heat}, "first half,first half,rank 1 here"},
		{[]string{"merge", "--location", "5", heat, heat}, "first half,first half,rank 1 here"},
		{[]string{"filter", "--not-location", "1", hand}, "all,two"},
		{[]string{"cut", "--from", "0%", "--location", "1", heat}, "first half,rank 1 here"},
		{[]string{"filter", "--location", "1", hand}, "all,one"},
		{[]string{"filter", "--location", "2", hand}, "all,two"},
	} {
		out := filepath.Join(t.TempDir(), "x.etf")
		if code, _, errs := runWeft(t, append(x.args, out, "-q", "--allow-loss")...); code != 0 {
			t.Fatalf("%q: exit code %d: %s", x.args, code, errs)
		}
		_, text, _ := runWeft(t, "print", "--kind", "marker", out)
		var got []string
		for _, m := range regexp.MustCompile(`text="?([^"\n]*)`).FindAllStringSubmatch(text, -1) {
			got = append(got, strings.TrimSpace(m[1]))
		}
		if strings.Join(got, ",") != x.want {
			t.Errorf("%q: found the markers %q, expected %q", x.args, got, x.want)
		}
	}
}

// runTool runs a tool on a trace and returns its output and its complaints. Both are empty if the
// tool is not installed.
func runTool(t *testing.T, path, name string, flags ...string) (out, complaints []byte) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		return nil, nil
	}
	var errs bytes.Buffer
	c := exec.Command(name, append(flags, path)...)
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		t.Errorf("%s %q: %v: %s", name, append(flags, path), err, errs.String())
	}
	return out, errs.Bytes()
}

// runSilently runs a tool, which may print only the known complaints, and returns its output.
func runSilently(t *testing.T, known []byte, path, name string, flags ...string) []byte {
	t.Helper()
	out, errs := runTool(t, path, name, flags...)
	// The complaints about an anonymized archive contain other names, and those about a repaired one other ids of groups.
	named := regexp.MustCompile(`".*?" <(?:\d+>)?`)
	known = named.ReplaceAll(known, nil)
	for line := range bytes.Lines(errs) {
		if !bytes.Contains(known, named.ReplaceAll(line, nil)) {
			t.Errorf("%s %q: %s", name, append(flags, path), line)
		}
	}
	return out
}

// locationEvents matches the line of otf2-print -G about a location: its groups are the id and the
// number of events.
var locationEvents = regexp.MustCompile(`(?m)^LOCATION +(\d+) .*# Events: (\d+)`)

// runSilentlyOTF2 runs otf2-print, which may print only the known complaints. libotf2 3.0 uses
// freed memory when it opens all locations of an archive and one of them has no events, even in
// archives of its own writer. For such archives this function prints the locations one by one.
func runSilentlyOTF2(t *testing.T, path string, known []byte) {
	t.Helper()
	var events []string
	empty := false
	for _, l := range locationEvents.FindAllSubmatch(runSilently(t, known, path, "otf2-print", "-G"), -1) {
		if string(l[2]) == "0" {
			empty = true
		} else {
			events = append(events, string(l[1]))
		}
	}
	if !empty {
		runSilently(t, known, path, "otf2-print", "-A")
		return
	}
	for _, id := range events {
		runSilently(t, known, path, "otf2-print", "-L", id)
	}
}

// mkdir creates a folder and its parents.
func mkdir(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
}

// TestForeignArchives checks that archives converted from formats with other records break none of
// OTF2's own rules.
func TestForeignArchives(t *testing.T) {
	for _, name := range []string{"etf", "picl", "otf", "pallas"} {
		out := filepath.Join(t.TempDir(), "x.otf2")
		if code, _, errs := runWeft(t, "convert", "-q", realTraces[name], out); code != 0 {
			t.Fatal(errs)
		}
		plain := filepath.Join(t.TempDir(), "x.otf2")
		weft(t, 0, "convert", "-q", "--plain", "--allow-loss", realTraces[name], plain)
		runSilentlyOTF2(t, plain, nil)
		if _, found, errs := runWeft(t, "check", "--rule", "otf2.*", out); !strings.Contains(found, "0 errors, 0 warnings") {
			t.Errorf("%s: %s%s", name, found, errs)
		}
	}
}
