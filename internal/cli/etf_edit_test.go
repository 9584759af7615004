package cli

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// unusualLines is a TRACE file whose lines are formatted unlike those of weft's writer.
const unusualLines = `# first comment
TU  SECONDS
O 0
T name = a, x=1
T name=a
T
T name=a
  # inner
R 0 9 false ; name=CPU
R 1 1.0 TRUE ; a=1 ,b=2
TS 0 ; name=s
TSS 0 0;name=q
TSP 0 0 0.5 1.5 0.6 1.50
TSP 0 0 (0.7,2), (0.8, 3)
S 0 ; name=sig
F 0 0 1.0 1 0 0
C 0 0 1 0 1 ; name=f
X unknown
E 0 0.50 ; name=ev
C 1 0.5 1.50 0 1.0; name=g , k = v
D 1 0 0 1 ;a = b
# end
`

// TestVerbsEditTRACE checks that commands write lines and comments that they do not change exactly
// as they were.
func TestVerbsEditTRACE(t *testing.T) {
	for _, name := range []string{"doc-examples", "dialect-capella-poosl", "dialect-capella-snakes"} {
		editLines(t, "../../format/etf/testdata/ok/"+name+".etf", true)
	}
	editLines(t, textFile(t, "lines.etf", unusualLines), true)
	editLines(t, convertedFromOTF2(t, "mpi.etf"), true)
	editLines(t, textFile(t, "ends.etf", strings.ReplaceAll(unusualLines, "\n", "\r\n")), true)
	// Lines with a defect stay, except those that weft repair repairs.
	defects := strings.Replace(unusualLines, "D 1 0 0 1 ;a = b", "D 1 0 0 1", 1)
	editLines(t, textFile(t, "defects.etf", defects), false)
	in, out := textFile(t, "in.etf", defects), filepath.Join(t.TempDir(), "out.etf")
	if code, _, errs := runWeft(t, "repair", "-q", in, out); code != 0 {
		t.Fatal(errs)
	}
	more, fewer := lineDifferences(lineList(t, in), lineList(t, out))
	if !slices.Equal(more, []string{"D 1 0 0 1 ;"}) || !slices.Equal(fewer, []string{"D 1 0 0 1"}) {
		t.Errorf("repair writes %q in place of %q", more, fewer)
	}
	// No line contains a replaced name.
	if code, _, errs := runWeft(t, "anonymize", "-q", "--force", textFile(t, "in.etf", unusualLines), out); code != 0 {
		t.Fatal(errs)
	}
	got := lineList(t, out)
	for _, l := range []string{"F 0 0 1.0 1 0 0", "TSP 0 0 (0.7,2), (0.8, 3)"} {
		if !slices.Contains(got, l) {
			t.Errorf("found no %q in\n%s", l, strings.Join(got, "\n"))
		}
	}
	if text := strings.Join(got, "\n"); strings.Contains(text, "sig\n") || strings.Contains(text, "comment") ||
		strings.Contains(text, "CPU") {
		t.Errorf("names are left:\n%s", text)
	}
}

// TestAttributesOfTRACEComeBack checks that attribute lines of the trace with equal keys come back
// from PICL and from a merge of one trace.
func TestAttributesOfTRACEComeBack(t *testing.T) {
	in, over, back := textFile(t, "in.etf", "TU SECONDS\nT name=a, x=1\nT name=b\nT name=b\nE 0 1 ;\n"),
		filepath.Join(t.TempDir(), "over.trf"), filepath.Join(t.TempDir(), "back.etf")
	for _, args := range [][]string{{"convert", in, over}, {"convert", over, back}, {"merge", "--force", in, back}} {
		if code, _, errs := runWeft(t, append(args, "-q")...); code != 0 {
			t.Fatalf("%q: %s", args, errs)
		}
		if args[1] == in {
			continue
		}
		if more, fewer := lineDifferences(lineList(t, in), lineList(t, back)); len(more)+len(fewer) > 0 {
			t.Errorf("%q: found %q, expected %q", args, more, fewer)
		}
	}
}
