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

// TestSummaryBeyond64Bits checks that sums of an interval that exceed 64 bits are the greatest number, with a line that
// says so, and that sums of parts of the trace are exact. Process 1 sends 2^64-2 and 5 bytes, and reads twice 2^63
// bytes of a file. A recursion of depth 2 lasts 2^63 ticks.
func TestSummaryBeyond64Bits(t *testing.T) {
	path := writeTrace(t, map[string]string{
		".otf": "1:1\n", ".0.def": "DTR3b9aca00\nDP1NM\"p\"\nDF1G0NM\"f\"\nDCO2NM\"c\"Y3\nDFL8NM\"in\"G0\n",
		".1.events": "10\n*1\nE1\n10\n*1\nE1\n20\n*1\nCOPB2H1C0RT1SfffffffffffffffeR0\n20\n*1\nCOPE1\n" +
			"30\n*1\nCOPB2H1C0RT1S5R0\n30\n*1\nCOPE1\n" +
			"40\n*1\nF8H1OP2B8000000000000000D1\n50\n*1\nF8H1OP2B8000000000000000D1\n8000000000000010\n*1\nL1\n" +
			"8000000000000010\n*1\nL1\n",
	})
	const saturated = "exceed 64 bits"
	for window, want := range map[string]struct {
		sums []string
		note bool
	}{
		"": {[]string{`"sentBytes": 18446744073709551615`, `"bytesRead": 18446744073709551615`,
			`"inclusive": 18446744073709551615`, `"exclusive": 9223372036854775808`, `"saturated": true`}, true},
		"@32..@48": {[]string{`"sentBytes": 18446744073709551614`, `"inclusive": 32`}, false},
		"@48..@80": {[]string{`"sentBytes": 5`, `"bytesRead": 9223372036854775808`, `"inclusive": 64`}, false},
		"@80..@96": {[]string{`"bytesRead": 9223372036854775808`, `"inclusive": 32`}, false},
	} {
		args := []string{"otf", "summary", "--process", "1", "--json", path}
		if window != "" {
			from, to, _ := strings.Cut(window, "..")
			args = append(args, "--from", from+"ns", "--to", to+"ns")
		}
		out, errs := mustRun(t, args...)
		for _, s := range want.sums {
			if !strings.Contains(out, s) {
				t.Errorf("%s: found no %s in\n%s", window, s, out)
			}
		}
		if strings.Contains(errs, saturated) != want.note || strings.Contains(out, "saturated") != want.note {
			t.Errorf("%s: found the messages %q, expected a note: %t", window, errs, want.note)
		}
	}
}
