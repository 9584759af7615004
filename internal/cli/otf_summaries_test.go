package cli

import (
	"path/filepath"
	"strings"
	"testing"
)

// summed is an OTF trace with summaries of all files (file 0), of a group of files, and of a function group that has no
// functions. Operations 3 and 4 occur only in a snapshot and in a summary. A definition has a pair whose key 77 is
// undefined.
var summed = map[string]string{
	".otf": "1:1\n",
	".0.def": "DTR3e8\nDK7Y5NM\"size\"T\"\"\nDP1NM\"p\"\nDPG6M1,NM\"all\"\nDFG1NM\"app\"\n" +
		"DFG2NM\"idle\"\n" +
		"K4dY2V5\nDF1G1NM\"f\"\nDCO3NM\"mine\"Y3\nDCO4NM\"yours\"Y4\nDCO5NM\"nobody's\"Y2\nDFLG9NM\"disk\"\n" +
		"DFL8NM\"in.dat\"G9\n",
	".1.events": "1\n*1\nK4dY2V8\nE1\n5\n*1\nL1\n5\n*1\n",
	".1.snaps":  "3\n*1\nTBC1CL3H1G6RT1S0R0\n3\n*1\n",
	".1.stats": "5\n*1\nSG1N1E4I4\nSG2N0E0I0\nSCO6CL4NS1NR1S0R8\nSFL0NO1NC2NRD3NW4NSK5BR6BW7\n" +
		"SFLG9NO1NC2NRD3NW4NSK5BR6BW7\n5\n*1\n",
}

// TestEditsKeepSummaryOfAllFiles checks that the file 0 of a summary, which libotf's header defines as "all files",
// stays, and that the pairs of undefined keys keep their keys.
func TestEditsKeepSummaryOfAllFiles(t *testing.T) {
	path := writeTrace(t, summed)
	for name, args := range map[string][]string{
		"filter": {"filter", "--min-duration", "0", path}, "prune": {"filter", "--min-duration", "0", "--prune", path},
		"merge": {"merge", path, path}, "repair": {"repair", path}, "anonymize": {"anonymize", path},
	} {
		out := filepath.Join(t.TempDir(), "y.otf")
		_, stderr := mustRun(t, append(args, out)...)
		if strings.Contains(stderr, "file 0") {
			t.Errorf("%s: found the message %q, expected none of file 0", name, stderr)
		}
		stub := strings.TrimSuffix(out, ".otf")
		for _, x := range [][2]string{{".1.stats", "SFL0NO1NC2NRD3NW4NSK5BR6BW7\n"}, {".1.events", "K4dY2V8\nE1\n"}} {
			if text := readText(t, stub+x[0]); !strings.Contains(text, x[1]) {
				t.Errorf("%s: found %q in %s, expected %q", name, text, x[0], x[1])
			}
		}
		if text := readText(t, stub+".0.def"); strings.Contains(text, "DFL0") {
			t.Errorf("%s: found a definition of file 0 in %q", name, text)
		}
	}
}

// TestConversionDefinesSummaries checks that a trace that has been in another format defines the operations and groups
// that only its snapshots and summaries name, and that the group of a summary is the group of the files.
func TestConversionDefinesSummaries(t *testing.T) {
	path := writeTrace(t, summed)
	for _, format := range []string{"otf2", "pallas", "etf", "trf"} {
		dir := t.TempDir()
		there, back := filepath.Join(dir, "x."+format), filepath.Join(dir, "back", "y.otf")
		mkdir(t, filepath.Dir(back))
		weft(t, 0, "convert", "-q", path, there)
		weft(t, 0, "convert", "-q", there, back)
		stub := strings.TrimSuffix(back, ".otf")
		defs, stats := "\n"+readText(t, stub+".0.def"), readText(t, stub+".1.stats")
		for _, want := range []string{"\nDCO3NM\"mine\"Y3\n", "\nDCO4NM\"yours\"Y4\n", "\nDCO5NM\"nobody's\"Y2\n",
			"\nDFLG9NM\"disk\"\n", "G9\n"} {
			if !strings.Contains(defs, want) {
				t.Errorf("%s: found the definitions %q, expected %q", format, defs, want)
			}
		}
		for _, want := range []string{"\nSFL0NO1NC2NRD3NW4NSK5BR6BW7\n", "\nSFLG9NO1NC2NRD3NW4NSK5BR6BW7\n"} {
			if !strings.Contains(stats, want) {
				t.Errorf("%s: found the summaries %q, expected %q", format, stats, want)
			}
		}
		for line := range strings.Lines(stats) {
			if group, _, ok := strings.Cut(strings.TrimPrefix(line, "SG"), "N"); ok && strings.HasPrefix(line, "SG") &&
				!strings.Contains(defs, "\nDFG"+group+"NM\"") {
				t.Errorf("%s: found no definition of the group of %q in %q", format, line, defs)
			}
		}
	}
}
