package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/format"
)

// oddDescriptors is a PICL trace whose records are spelled as no writer of weft spells them.
const oddDescriptors = `-6 -1 -1.5 -1 -1 1 "%d %s" 7 "%d %s"
-6 -1 -1.5 -1 -1 1 "%d%s" 8 "%d, %d"
-6 5 -1.5 -1 -1 1 "%d%s" 2 "%d%d"
-5 5 -1.5 -1 -1 4 0 work
-5 6 -1.5 0 -1 7 0 special
-201 -1 -1.5 -1 -1 3 "%d" -5 0 1
-3 5 0.1 0 0 1 7 3 abc
-4 5 0.15 0 0 1 8 3, 4
-3 6 0.2 0 0 1 "%d %lf" 3 4.50
-4 6 2.5e-1 0 0 1 "(%d,%d)" (5,6)
1 5 0.3 0 0 1 2 3 4
1 6 0.3 0 0 2 2 3 4
2 5 0.35 1 0 1 "%*d %d" 7 8
2 5 0.36 1 0 3 "%i" 017 0x1F -0x10
2 5 0.37 1 0 1 "%2d%2d" 1234
2 5 0.38 1 0 1 "%x %o" ff 17
2 5 0.38 1 0 1 "x=%d y=%d" x=3 y=4
2 5   0.41 1 0 2   5 1.50 2.250
2 5 +0.42 1 0 2 "%ld" +007 -0
3 5 0.43 -5 0 2 4 1.5 1e3
2 5 0.44 1 -1 1 3 99999999999
-7 5 0.45 1 0 2 0 h i
-99 5 0.46 1 0 1 "%5c" ab de
-99 -888 0.47 1 0 0
-102 -1 0.5 0 0 3 "%d %d" 5 1 6 1 -901
-6 -1 0.6 -1 -1 1 "%d%s" 7 "%s %d"
2 5 0.61 1 0 1 7 abc 3
-5 5 0.62 -1 -1 5 0 later
-3 5 0.63 0 0 0
-4 5 0.64 0 0 0
2 5 0.65 1 0 1 77 unknown descriptor
-3 -21 0.7 0 0 4 "%d %d %d %d" 8 1 1 0
-4 -21 0.71 0 0 0
-3 -51 0.7 1 0 1 "%d" 01
-4 -51 0.72 1 0 4 "%i %i %i %i" 8 1 0 0
-3 -21 0.73 1 0 4 "%d %d %d %d" 8 1 0 0
-4 -21 0.74 1 0 0
-3 -51 0.74 0 0 1 "%d" 01
-4 -51 0.75 0 0 4 "%i %i %i %i" 8 1 1 0
`

// oddPieces has labels and descriptors among the records of each processor, one processor behind the
// other.
const oddPieces = `-6 -1 0.0 0 -1 1 "%d%s" 7 "%d %d"
-5 5 0.0 0 -1 1 0 a
-3 5 0.1 0 0 1 7 1 2
-4 5 0.5 0 0 0
-5 5 0.6 0 -1 1 0 c
-3 5 0.6 0 0 0
-4 5 0.7 0 0 0
-6 -1 0.0 1 -1 1 "%d%s" 7 "%d/%d"
-5 5 0.0 1 -1 1 0 b
-3 5 0.05 1 0 1 7 1/2
-4 5 0.55 1 0 0
`

// textFile writes a text to a file of its own.
func textFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// lineList are the lines of a text file in the order of their text, with those that a backslash
// continues joined.
func lineList(t *testing.T, path string) []string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for l := range strings.Lines(strings.ReplaceAll(string(b), "\\\n", " ")) {
		if l = strings.TrimRight(l, "\r\n"); l != "" {
			list = append(list, l)
		}
	}
	slices.Sort(list)
	return list
}

// editLines holds the lines that verbs write against those of the trace: verbs that change
// nothing write the same lines, and others none that the trace has not.
func editLines(t *testing.T, path string, repaired bool) {
	t.Helper()
	want := lineList(t, path)
	same := [][]string{{"filter", "--not-region", "no such region"}, {"cut", "--from", "0%"}, {"merge"}, {"align"}, {"sort"}}
	if repaired {
		same = append(same, []string{"repair"})
	}
	if filepath.Ext(path) == ".etf" {
		same = slices.DeleteFunc(same, func(verb []string) bool { return verb[0] == "sort" })
	}
	if strings.HasPrefix(filepath.Base(path), "mpi.") { // its receives precede their sends
		same = slices.DeleteFunc(same, func(verb []string) bool { return verb[0] == "align" })
	}
	for _, verb := range same {
		out := filepath.Join(t.TempDir(), "x"+filepath.Ext(path))
		if code, _, errs := runWeft(t, append(slices.Clone(verb), "-q", path, out)...); code != 0 {
			t.Errorf("%s: %q: exit code %d: %s", path, verb, code, errs)
			continue
		}
		more, fewer := lineDifferences(want, lineList(t, out))
		if len(more)+len(fewer) > 0 {
			t.Errorf("%s: %q writes anew:\n%s\nand no longer:\n%s", path, verb, strings.Join(more, "\n"), strings.Join(fewer, "\n"))
		}
	}
	part := [][]string{{"cut", "--borders", "bare", "--from", "30%", "--to", "70%"}, {"filter", "--location", "0/0"}, {"filter", "--not-kind", "mark"}}
	if filepath.Ext(path) == ".etf" {
		part = [][]string{{"filter", "--not-kind", "mark"}, {"filter", "--not-kind", "claim"}, {"filter", "--not-region", "f"}}
	}
	for _, verb := range part {
		out := filepath.Join(t.TempDir(), "x"+filepath.Ext(path))
		if code, _, errs := runWeft(t, append(slices.Clone(verb), "-q", "--allow-loss", path, out)...); code != 0 {
			t.Errorf("%s: %q: exit code %d: %s", path, verb, code, errs)
			continue
		}
		if more, _ := lineDifferences(want, lineList(t, out)); len(more) > 0 {
			t.Errorf("%s: %q writes anew:\n%s", path, verb, strings.Join(more, "\n"))
		}
	}
}

// lineDifferences are the lines of one sorted list that another has not.
func lineDifferences(old, now []string) (more, fewer []string) {
	for len(old) > 0 || len(now) > 0 {
		switch {
		case len(old) == 0 || len(now) > 0 && now[0] < old[0]:
			more, now = append(more, now[0]), now[1:]
		case len(now) == 0 || old[0] < now[0]:
			fewer, old = append(fewer, old[0]), old[1:]
		default:
			old, now = old[1:], now[1:]
		}
	}
	return more, fewer
}

// Verbs on PICL write the records that they do not change as they stand.
func TestVerbsEditPICL(t *testing.T) {
	paths, err := filepath.Glob("../../format/picl/testdata/ok/*.trf")
	if err != nil || len(paths) < 5 {
		t.Fatal(err, paths)
	}
	for _, path := range paths {
		if strings.HasPrefix(filepath.Base(path), "old-") {
			continue // it is written as the new format
		}
		editLines(t, path, filepath.Base(path) != "conceptual-output2.trf") // which has something to repair
	}
	editLines(t, textFile(t, "descriptors.trf", oddDescriptors), false)
	editLines(t, textFile(t, "pieces.trf", oddPieces), true)
	editLines(t, textFile(t, "ends.trf", strings.ReplaceAll(oddPieces, "\n", "\r\n")), true)
	// More pieces in the order of time than are merged.
	var b strings.Builder
	for i := range 100 {
		for k := range 20 {
			b.WriteString("-2 5 " + string('0'+rune(k/10)) + "." + string('0'+rune(k%10)) + " 0 0 1 \"(%d)\" (" + strings.Repeat("0", i%3) + "7)\n")
		}
	}
	editLines(t, textFile(t, "many.trf", b.String()), true)
	editLines(t, converted(t, "mpi.trf"), false)
}

// converted returns the path of a trace of messages that was written from OTF2, and carries its definitions.
func converted(t *testing.T, name string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), name)
	if code, _, errs := runWeft(t, "convert", "-q", "--allow-loss", "../../format/otf2/testdata/ok/ring/eztrace_log.otf2", out); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	return out
}

// What a verb changes of a record is the only thing that changes.
func TestVerbsChangePICL(t *testing.T) {
	for _, x := range []struct {
		name, text, want string
		verb             []string
	}{
		{"times alone", "-3 1 0.5 0 0 1 \"(%d)\" (5)\n-4 1 2.50 1 0 1 \"%x\" ff\n", "-3 1 0.5 0 0 1 \"(%d)\" (5)\n-4 1 2.700000 1 0 1 \"%x\" ff\n",
			[]string{"cut", "--from", "0%", "--clock-correction", textFile(t, "clocks.json", `{"type":"weft clock correction","version":1,"ticks":10,"perSeconds":1,"locations":[{"id":"1/0","points":[[0,2]]}]}`)}},
		{"regions of a piece end", "-3 1 0.1 0 0 1 \"%x\" ff\n-4 1 0.5 0 0 0\n", "-3 1 0.1 0 0 1 \"%x\" ff\n-4 1 0.300000 0 0 19 0 weft:cut.ends=later\n",
			[]string{"cut", "--to", "@0.3s"}},
		{"names", "-6 -1 0.0 -1 -1 1 \"%d%s\" 7 \"secret=%d\"\n-6 -1 0.0 -1 -1 1 \"%d%s\" 8 \"(%d)\"\n-5 5 0.0 -1 -1 4 0 main\n-3 5 0.1 0 0 1 7 secret=5\n-4 5 0.2 0 0 1 8 (05)\n2 5 0.3 0 0 1 \"%*s %d\" drop 7\n2 5 0.4 0 0 3 0 abc\n",
			"-6 -1 0.0 -1 -1 1 \"%d%s\" 8 \"(%d)\"\n-5 5 0.000000 -1 -1 8 0 region 1\n-3 5 0.100000 0 0 1 2 5\n-4 5 0.2 0 0 1 8 (05)\n2 5 0.300000 0 0 1 2 7\n2 5 0.400000 0 0 6 0 text 1\n",
			[]string{"anonymize"}},
		{"what is broken", "-3 5 0.1 0 0 1 2 5 extra\n-4 5 0.2 0 0 1 \"(%d)\" (5)\n", "-3 5 0.100000 0 0 1 2 5\n-4 5 0.2 0 0 1 \"(%d)\" (5)\n", []string{"repair"}},
		{"digits that are asked for", "-3 5 0.1 0 0 1 \"(%d)\" (5)\n-4 5 0.2 0 0 0\n", "-3 5 0.100 0 0 1 \"(%d)\" (5)\n-4 5 0.200 0 0 0\n", []string{"cut", "--from", "0%", "--option", "picl.digits=3"}},
		{"a descriptor that means something else", "-6 -1 0.0 -1 -1 1 \"%d%s\" 2 \"(%d)\"\n-3 5 0.1 0 0 1 2 (5)\n-4 5 0.2 0 0 1 \"%d\" 5\n2 5 0.3 0 0 1 2 5\n",
			"-6 -1 0.0 -1 -1 1 \"%d%s\" 2 \"(%d)\"\n-3 5 0.1 0 0 1 2 (5)\n-4 5 0.2 0 0 1 \"%d\" 5\n2 5 0.300000 0 0 1 \"%d\" 5\n", []string{"repair"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			in, out := textFile(t, "in.trf", x.text), filepath.Join(t.TempDir(), "out.trf")
			args := append(slices.Clone(x.verb), "-q", in, out)
			if code, _, errs := runWeft(t, args...); code != 0 {
				t.Fatalf("exit code %d: %s", code, errs)
			}
			b, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(b); got != x.want {
				t.Errorf("found\n%s\nexpected\n%s", got, x.want)
			}
		})
	}
}

// What other formats do not keep of PICL's records is in the loss table; an event type without a figure
// comes back.
func TestPICLThroughOthers(t *testing.T) {
	const text = `-6 -1 -1.000000 -1 -1 1 "%d%s" 7 "%d %d"
3 5 0.100000 0 0 1 7 1 2
3 5 0.200000 0 0 1 "(%d,%d)" (5,6)
3 5 0.300000 0 0 1 "%*d %d" 7 8
3 5 0.400000 0 0 1 "%d %lf" 3 4.5
3 5 0.500000 0 0 1 "%d%lf" 3 4.5
3 5 0.600000 0 0 2 2 3 4
-102 -1 0.700000 0 0 3 2 5 1 -901
-101 -1 0.800000 0 0 1 "%d%lf" -901 0.500000
`
	in := textFile(t, "in.trf", text)
	for _, ext := range []string{".etf", ".otf", ".otf2", ".pallas"} {
		out, back := filepath.Join(t.TempDir(), "out"+ext), filepath.Join(t.TempDir(), "back.trf")
		code, loss, errs := runWeft(t, "convert", "--json", in, out)
		if _, err := os.Stat(out); err != nil { // it may have got a folder of its own
			found, globErr := filepath.Glob(filepath.Join(filepath.Dir(out), "*", "*"+ext))
			if globErr != nil || len(found) != 1 {
				t.Fatalf("%s: exit code %d: %s", ext, code, errs)
			}
			out = found[0]
		}
		var rows []format.LossRow
		if err := json.Unmarshal([]byte(loss), &rows); err != nil {
			t.Fatal(err)
		}
		n := int64(0)
		for _, r := range rows {
			if r.Kind == "record" && r.Field == "spelling" && r.How == format.Degraded {
				n += r.Count
			}
		}
		if n != 4 {
			t.Errorf("%s: %d records are said to lose their spelling, expected 4: %s", ext, n, loss)
		}
		if code, _, errs := runWeft(t, "convert", "-q", out, back); code != 0 {
			t.Fatalf("%s: exit code %d: %s", ext, code, errs)
		}
		if got := lineList(t, back); !slices.Contains(got, "-102 -1 0.700000 0 0 3 2 5 1 -901") {
			t.Errorf("%s: the incomplete pair is gone:\n%s", ext, strings.Join(got, "\n"))
		}
	}
	// What records with defects say beside their values is there, too. The line that cannot be read is lost.
	damaged := textFile(t, "damaged.trf", "-6 -1 -1.0 -1 -1 1 \"%d%s\" 6\n-7 3 0.1 0 0 1 \"%3d\" 12345\n-2 6 0.2 0 0 1 9 5 and text\n-2 6 x 0 0 0\n5 1 0.3 0 0 1\n-2 6 0.4 0 0 1 2 5\n")
	for want, args := range map[string][]string{
		`"count": 4`: {"convert", "--json", "--allow-loss", damaged, filepath.Join(t.TempDir(), "x.etf")},
		`"count": 1`: {"convert", "--json", "--allow-loss", "--option", "picl.brackets=mark",
			textFile(t, "pair.trf", "-3 6 0.2 0 0 1 2 5 6\n-4 6 0.2 0 0 0\n"), filepath.Join(t.TempDir(), "x.trf")},
	} {
		_, loss, errs := runWeft(t, args...)
		var rows []format.LossRow
		if err := json.Unmarshal([]byte(loss), &rows); err != nil {
			t.Fatal(err, errs)
		}
		rows = slices.DeleteFunc(rows, func(r format.LossRow) bool { return !strings.Contains(r.Reason, "beside their values") })
		if len(rows) != 1 || !strings.Contains(loss, want) {
			t.Errorf("%q: expected one row with %s: %s", args, want, loss)
		}
	}
	// A copy and a verb keep all, and lose nothing.
	for _, args := range [][]string{{"convert"}, {"filter", "--not-region", "no such region"}} {
		out := filepath.Join(t.TempDir(), "out.trf")
		if _, loss, _ := runWeft(t, append(args, "-q", in, out)...); strings.Contains(loss, "spelling") {
			t.Errorf("%q: %s", args, loss)
		}
	}
}

// oddLines is a TRACE file whose lines are not spelled as weft spells them.
const oddLines = `# first comment
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

// Verbs on TRACE write the lines that they do not change as they stand, with comments.
func TestVerbsEditTRACE(t *testing.T) {
	for _, name := range []string{"doc-examples", "dialect-capella-poosl", "dialect-capella-snakes"} {
		editLines(t, "../../format/etf/testdata/ok/"+name+".etf", true)
	}
	editLines(t, textFile(t, "lines.etf", oddLines), true)
	editLines(t, converted(t, "mpi.etf"), true)
	editLines(t, textFile(t, "ends.etf", strings.ReplaceAll(oddLines, "\n", "\r\n")), true)
	// Lines with a defect stay, but for what repair mends.
	defects := strings.Replace(oddLines, "D 1 0 0 1 ;a = b", "D 1 0 0 1", 1)
	editLines(t, textFile(t, "defects.etf", defects), false)
	in, out := textFile(t, "in.etf", defects), filepath.Join(t.TempDir(), "out.etf")
	if code, _, errs := runWeft(t, "repair", "-q", in, out); code != 0 {
		t.Fatal(errs)
	}
	more, fewer := lineDifferences(lineList(t, in), lineList(t, out))
	if !slices.Equal(more, []string{"D 1 0 0 1 ;"}) || !slices.Equal(fewer, []string{"D 1 0 0 1"}) {
		t.Errorf("repair writes %q in place of %q", more, fewer)
	}
	// Names that are replaced are in no line.
	if code, _, errs := runWeft(t, "anonymize", "-q", "--force", textFile(t, "in.etf", oddLines), out); code != 0 {
		t.Fatal(errs)
	}
	got := lineList(t, out)
	for _, l := range []string{"F 0 0 1.0 1 0 0", "TSP 0 0 (0.7,2), (0.8, 3)"} {
		if !slices.Contains(got, l) {
			t.Errorf("found no %q in\n%s", l, strings.Join(got, "\n"))
		}
	}
	if text := strings.Join(got, "\n"); strings.Contains(text, "sig\n") || strings.Contains(text, "comment") || strings.Contains(text, "CPU") {
		t.Errorf("names are left:\n%s", text)
	}
}

// Lines of the trace's attributes with the same key come back from PICL, and from a merge of one trace.
func TestAttributesOfTRACEComeBack(t *testing.T) {
	in, over, back := textFile(t, "in.etf", "TU SECONDS\nT name=a, x=1\nT name=b\nT name=b\nE 0 1 ;\n"), filepath.Join(t.TempDir(), "over.trf"), filepath.Join(t.TempDir(), "back.etf")
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

// Where the records of a file change places, each has the name that it had.
func TestSortedPICLKeepsNames(t *testing.T) {
	for _, text := range []string{
		"-5 5 0.0 -1 -1 1 0 a\n1 5 0.4 0 0 0\n-5 5 0.0 -1 -1 1 0 b\n1 5 0.3 0 0 0\n", // the later label stands first
		"1 5 0.4 1 -1 0\n1 5 0.5 1 0 0\n-5 5 0.0 -1 -1 1 0 b\n1 5 0.3 1 -1 0\n",      // of records whose process is not known
		"-4 5 0.4 0 0 0\n-5 5 0.0 -1 -1 1 0 b\n-3 5 0.1 0 0 0\n-4 5 0.2 0 0 0\n",     // an exit without entry
		"-5 5 0.0 0 -1 1 0 a\n1 5 0.4 0 0 0\n-5 5 0.0 1 -1 1 0 b\n1 5 0.3 1 0 0\n",   // of two processors
	} {
		in, out := textFile(t, "in.trf", text), filepath.Join(t.TempDir(), "out.trf")
		if code, _, errs := runWeft(t, "sort", "-q", in, out); code != 0 {
			t.Fatal(errs)
		}
		_, want, _ := runWeft(t, "print", "-q", "--json", in)
		if _, got, _ := runWeft(t, "print", "-q", "--json", out); got != want {
			t.Errorf("%s: found\n%s\nexpected\n%s", text, got, want)
		}
	}
}

// In merged PICL traces, and pruned ones, all that names a processor, an event type or a subset by its
// number names the same as before.
func TestNumbersPICL(t *testing.T) {
	const (
		ring = "-201 -1 -1 -1 -1 3 2 -7 0 1\n-3 -21 0.1 0 0 4 2 8 1 1 0\n-4 -51 0.4 1 0 4 2 8 1 0 0\n-3 -402 0.5 0 0 2 2 -7 -1\n"
		// The second trace's processors are 2 and 3, its subset another one.
		rings = "-201 -1 -2.000000 -1 -1 3 2 -7 0 1\n-201 -1 -2.000000 -1 -1 3 2 -2001 2 3\n-3 -21 0.100000 0 0 4 2 8 1 1 0\n" +
			"-3 -21 0.100000 2 0 4 2 8 1 3 0\n-4 -51 0.400000 1 0 4 2 8 1 0 0\n-4 -51 0.400000 3 0 4 2 8 1 2 0\n" +
			"-3 -402 0.500000 0 0 2 2 -7 -1\n-3 -402 0.500000 2 0 2 2 -2001 -1\n"
		first  = "-5 4 -1 -1 -1 1 0 A\n-2 4 0.1 0 0 0\n-2 5 0.2 0 0 0\n-102 -1 1 0 0 2 \"%d%d\" 4 1 5 1\n"
		second = "-5 4 -1 -1 -1 1 0 B\n-5 5 -1 -1 -1 1 0 C\n-2 4 0.1 0 0 0\n-2 5 0.2 0 0 0\n-102 4 1 0 0 2 \"%d%d\" 4 1 5 1\n"
	)
	// Labels of what only a statistics record, a destination or a subset names.
	const (
		labels  = "-5 8 -1.0 -1 -1 4 0 idle\n-5 -1 -1.0 1 -1 4 0 peer\n-5 9 -1.0 -1 -1 4 0 nine\n-5 11 -1.0 -1 -1 6 0 unused\n"
		records = "-203 -1 -1.0 -1 -1 2 2 -2000 9\n-3 -21 0.1 0 0 3 2 8 1 1\n-4 -21 0.2 0 0 0\n-102 -1 0.3 0 0 1 \"%d%d\" 8 3\n"
		written = "-203 -1 -1.000000 -1 -1 2 2 -2000 9\n-3 -21 0.100000 0 0 3 2 8 1 1\n-4 -21 0.200000 0 0 0\n-102 -1 0.300000 0 0 1 \"%d%d\" 8 3\n"
	)
	pruned := strings.ReplaceAll(labels, "-5 11 -1.0 -1 -1 6 0 unused\n", "")
	defects := "-201 -1 -1.0 -1 -1 0\n-201 -1 -1.0 -1 -1 2 2 -1 5\n-202 -1 -1.0 -1 -1 2 1 -7 x\n"
	host := "-3 -503 0.1 32767 0 3 0 a.x\n-4 -503 0.2 32767 0 2 2 1 100\n-2 4 0.3 1 100 0\n"
	for _, x := range []struct {
		name         string
		verb, traces []string
		want         string
	}{
		{"clash", []string{"merge"}, []string{ring, ring}, rings},
		{"parts of one run", []string{"merge"}, []string{"-3 -21 0.1 0 0 4 2 8 1 1 0\n-3 -21 0.3 0 0 3 2 8 1 -1\n", "-4 -51 0.2 1 0 4 2 8 1 0 0\n-2 4 0.3 -1 -1 0\n"},
			"-3 -21 0.100000 0 0 4 2 8 1 1 0\n-4 -51 0.200000 1 0 4 2 8 1 0 0\n-3 -21 0.300000 0 0 3 2 8 1 -1\n-2 4 0.300000 -1 -1 0\n"},
		{"unify", []string{"merge", "--unify"}, []string{"-3 4 0.1 0 0 0\n", "-4 4 0.2 0 0 0\n"}, "-3 4 0.100000 0 0 0\n-4 4 0.200000 0 0 0\n"},
		{"all and broadcasts", []string{"merge"}, []string{"-3 -21 0.1 0 0 3 2 8 1 -1\n-2 4 0.2 -1 -1 0\n", "-3 -21 0.1 0 0 3 2 8 1 -1\n-2 4 0.2 1 0 0\n"},
			"-201 -1 -1.000000 -1 -1 2 2 -2001 0\n-201 -1 -1.000000 -1 -1 3 2 -2002 1 2\n-3 -21 0.100000 0 0 3 2 8 1 -2001\n-3 -21 0.100000 2 0 3 2 8 1 -2002\n" +
				"-2 4 0.200000 -2001 -1 0\n-2 4 0.200000 1 0 0\n"},
		{"other side without records", []string{"merge"}, []string{"-3 -21 0.1 0 0 3 2 8 1 7\n", "-3 -21 0.2 0 0 3 2 8 1 7\n-4 -51 0.3 0 0 4 2 8 1 -1 -1\n"},
			"-3 -21 0.100000 0 0 3 2 8 1 7\n-3 -21 0.200000 1 0 3 2 8 1 2\n-4 -51 0.300000 1 0 4 2 8 1 -1 -1\n"},
		{"named by data alone", []string{"merge"}, []string{"-3 -21 0.1 6 0 3 2 8 1 7\n", "-3 -21 0.2 6 0 3 2 8 1 7\n"},
			"-3 -21 0.100000 6 0 3 2 8 1 7\n-3 -21 0.200000 8 0 3 2 8 1 9\n"},
		{"spawned alone", []string{"merge"}, []string{"-4 -503 0.1 6 0 2 2 7 0\n", "-4 -503 0.2 6 0 2 2 7 0\n"},
			"-4 -503 0.100000 6 0 2 2 7 0\n-4 -503 0.200000 8 0 2 2 9 0\n"},
		{"a statistic of an event type that the second trace calls otherwise", []string{"merge"},
			[]string{"-2 3 0.1 6 0 0\n-102 -1 0.2 6 0 1 \"%d%d\" 4 1\n", "-5 4 -1 -1 -1 1 0 B\n-2 4 0.1 6 0 0\n"},
			"-5 5 -1.000000 -1 -1 1 0 B\n-2 3 0.100000 6 0 0\n-2 5 0.100000 7 0 0\n-102 -1 0.200000 6 0 1 \"%d%d\" 4 1\n"},
		{"nothing known and unknown", []string{"merge"}, []string{"-3 -21 0.1 5 0 3 2 -1 -1 -1\n", "-3 -21 0.2 5 0 3 2 -1 -1 -1\n-4 -51 0.3 5 0 4 2 8 1 -1 -1\n"},
			"-3 -21 0.100000 5 0 3 2 -1 -1 -1\n-3 -21 0.200000 6 0 3 2 -1 -1 -1\n-4 -51 0.300000 6 0 4 2 8 1 -1 -1\n"},
		{"a subset of event types that one trace defines", []string{"merge"},
			[]string{"-203 -1 -1 -1 -1 2 2 -2000 3\n-2 3 0.1 7 0 0\n", "-2 3 0.1 7 0 0\n-102 -1 0.2 7 0 1 \"%d%d\" -2000 5\n"},
			"-203 -1 -1.000000 -1 -1 2 2 -2000 3\n-2 3 0.100000 7 0 0\n-2 3 0.100000 8 0 0\n-102 -1 0.200000 8 0 1 \"%d%d\" -2001 5\n"},
		{"a subset of PICL that one trace defines anew", []string{"merge"},
			[]string{"-203 -1 -1 -1 -1 2 2 -1012 3\n-2 3 0.1 7 0 0\n-102 -1 0.2 7 0 1 \"%d%d\" -1012 5\n", "-2 3 0.1 7 0 0\n-102 -1 0.3 7 0 1 \"%d%d\" -1012 5\n"},
			"-203 -1 -1.000000 -1 -1 2 2 -2001 3\n-2 3 0.100000 7 0 0\n-2 3 0.100000 8 0 0\n-102 -1 0.200000 7 0 1 \"%d%d\" -2001 5\n-102 -1 0.300000 8 0 1 \"%d%d\" -1012 5\n"},
		{"subsets of subsets", []string{"merge"},
			[]string{"-203 -1 -1 -1 -1 2 2 -2000 3\n-2 3 0.1 7 0 0\n", "-203 -1 -1 -1 -1 2 2 -2001 -2000\n-203 -1 -1 -1 -1 2 2 -2000 9\n-2 3 0.1 7 0 0\n"},
			"-203 -1 -1.000000 -1 -1 2 2 -2000 3\n-203 -1 -1.000000 -1 -1 2 2 -2001 -2002\n-203 -1 -1.000000 -1 -1 2 2 -2002 9\n-2 3 0.100000 7 0 0\n-2 3 0.100000 8 0 0\n"},
		{"labels of what has no records", []string{"merge"}, []string{labels + records, "-2 3 0.15 5 0 0\n"},
			labels + strings.Replace(written, "-4 -21", "-2 3 0.150000 5 0 0\n-4 -21", 1)},
		{"labels of what has no records, two names", []string{"merge"}, []string{"-5 8 -1 -1 -1 1 0 A\n-5 -31 -1 -1 -1 1 0 W\n-2 3 0.1 5 0 0\n-102 -1 0.2 5 0 2 \"%d%d\" 8 1 -31 2\n", "-5 8 -1 -1 -1 1 0 B\n-2 3 0.1 5 0 0\n-102 -1 0.2 5 0 1 \"%d%d\" 8 1\n"},
			"-5 8 -1.000000 -1 -1 1 0 A\n-5 -31 -1.000000 -2001 -1 1 0 W\n-5 9 -1.000000 -1 -1 1 0 B\n-201 -1 -1.000000 -1 -1 2 2 -2001 5\n-2 3 0.100000 5 0 0\n-2 3 0.100000 6 0 0\n" +
				"-102 -1 0.200000 5 0 2 \"%d%d\" 8 1 -31 2\n-102 -1 0.200000 6 0 1 \"%d%d\" 9 1\n"},
		{"labels of what has no records, pruned", []string{"filter", "--prune"}, []string{labels + records}, pruned + written},
		{"defective subsets, pruned", []string{"filter", "--prune"}, []string{defects + "-2 3 0.1 5 0 0\n"}, defects + "-2 3 0.100000 5 0 0\n"},
		{"event types", []string{"merge"}, []string{first, second},
			"-5 4 -1.000000 -1 -1 1 0 A\n-5 6 -1.000000 -1 -1 1 0 B\n-5 7 -1.000000 -1 -1 1 0 C\n-2 4 0.100000 0 0 0\n-2 6 0.100000 1 0 0\n" +
				"-2 5 0.200000 0 0 0\n-2 7 0.200000 1 0 0\n-102 -1 1.000000 0 0 2 \"%d%d\" 4 1 5 1\n-102 6 1.000000 1 0 2 \"%d%d\" 6 1 7 1\n"},
		{"one label, two numbers", []string{"merge"}, []string{"-5 4 -1 -1 -1 1 0 A\n-2 4 0.1 0 0 0\n", "-5 9 -1 -1 -1 1 0 A\n-2 9 0.1 0 0 0\n"},
			"-5 4 -1.000000 -1 -1 1 0 A\n-2 4 0.100000 0 0 0\n-2 4 0.100000 1 0 0\n"},
		{"subsets of event types", []string{"merge"}, []string{"-203 -1 -1 -1 -1 3 2 -2001 4 5\n-2 4 0.1 0 0 0\n-102 -1 0.2 0 0 1 \"%d%d\" -2001 1\n",
			"-5 4 -1 -1 -1 1 0 B\n-203 -1 -1 -1 -1 2 2 -2001 4\n-2 4 0.1 0 0 0\n-102 -1 0.2 0 0 1 \"%d%d\" -2001 1\n"},
			"-5 6 -1.000000 -1 -1 1 0 B\n-203 -1 -1.000000 -1 -1 3 2 -2001 4 5\n-203 -1 -1.000000 -1 -1 2 2 -2002 6\n" +
				"-2 4 0.100000 0 0 0\n-2 6 0.100000 1 0 0\n-102 -1 0.200000 0 0 1 \"%d%d\" -2001 1\n-102 -1 0.200000 1 0 1 \"%d%d\" -2002 1\n"},
		{"spawned, and the host of the second", []string{"merge"}, []string{host, host},
			"-5 -1 -1.000000 3 0 4 0 host\n-3 -503 0.100000 32767 0 3 0 a.x\n-3 -503 0.100000 3 0 3 0 a.x\n-4 -503 0.200000 32767 0 2 2 1 100\n" +
				"-4 -503 0.200000 3 0 2 2 2 100\n-2 4 0.300000 1 100 0\n-2 4 0.300000 2 100 0\n"},
		{"labels of one processor", []string{"filter", "--prune"}, []string{"-5 4 -1 0 -1 1 0 A\n-5 4 -1 1 -1 1 0 B\n-2 4 0.1 0 0 0\n-2 4 0.15 1 0 0\n-2 5 0.2 1 0 0\n"},
			"-5 4 0.100000 0 0 1 0 A\n-2 4 0.100000 0 0 0\n-5 4 0.150000 1 0 1 0 B\n-2 4 0.150000 1 0 0\n-2 5 0.200000 1 0 0\n"},
		{"a label that is not needed, later labels", []string{"filter", "--prune", "--not-region", "two"},
			[]string{"-5 9 -1 -1 -1 1 0 X\n-5 4 -1 -1 -1 3 0 one\n-2 4 0.1 0 0 0\n-2 5 0.2 0 0 0\n-5 4 0.3 -1 -1 3 0 two\n-2 4 0.3 0 0 0\n-5 4 0.4 -1 -1 3 0 one\n-2 4 0.5 0 0 0\n"},
			"-5 4 -1.000000 -1 -1 3 0 one\n-2 4 0.100000 0 0 0\n-2 5 0.200000 0 0 0\n-2 4 0.500000 0 0 0\n"},
		{"subsets that data name", []string{"filter", "--prune"}, []string{ring},
			"-201 -1 -2.000000 -1 -1 3 2 -7 0 1\n-3 -21 0.100000 0 0 4 2 8 1 1 0\n-4 -51 0.400000 1 0 4 2 8 1 0 0\n-3 -402 0.500000 0 0 2 2 -7 -1\n"},
	} {
		t.Run(x.name, func(t *testing.T) {
			args := append(slices.Clone(x.verb), "-q")
			for i, text := range x.traces {
				args = append(args, textFile(t, strconv.Itoa(i)+".trf", text))
			}
			out := filepath.Join(t.TempDir(), "out.trf")
			weft(t, 0, append(args, out)...)
			got, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			// The header's records are before all others, at the time that leaves room for them.
			headerTime := regexp.MustCompile(`(?m)^(-5|-20\d) (\S+) -\d\.0+ `)
			same := func(s string) string { return headerTime.ReplaceAllString(s, "$1 $2 HEADER ") }
			if diff := cmp.Diff(same(x.want), same(string(got))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Labels of what has no records come back from another format, also where the file is not in the order of time.
func TestLabelsWithoutRecordsPICL(t *testing.T) {
	for _, text := range []string{
		"-5 8 0.0 -1 -1 4 0 idle\n-5 -1 0.0 1 -1 4 0 peer\n-5 -1012 0.0 -1 -1 5 0 SENDS\n-3 -21 1.0 0 0 3 2 8 1 1\n-4 -21 2.0 0 0 0\n-102 -1 3.0 0 0 1 \"%d%d\" 8 3\n",
		"-5 -1 0.0 1 -1 4 0 peer\n-5 -1012 0.0 -1 -1 5 0 SENDS\n-4 -21 2.0 0 0 0\n-5 8 0.0 -1 -1 4 0 idle\n-3 -21 1.0 0 0 3 2 8 1 1\n-102 -1 3.0 0 0 1 \"%d%d\" 8 3\n",
	} {
		over, back := filepath.Join(t.TempDir(), "over.etf"), filepath.Join(t.TempDir(), "back.trf")
		weft(t, 0, "convert", "-q", textFile(t, "in.trf", text), over)
		weft(t, 0, "convert", "-q", over, back)
		if got := textOf(t, back); strings.Count(got, "\n-5 ")+1 != 3 || !strings.Contains(got, " 4 0 idle\n") || !strings.Contains(got, " 4 0 peer\n") || !strings.Contains(got, "-5 -1012 ") {
			t.Errorf("%s became\n%s", text, got)
		}
	}
}

// Where another format's file lost records ahead of a label, the label still stands ahead of the records that it names.
func TestLabelsOfChangedPICL(t *testing.T) {
	in := textFile(t, "in.trf", "-2 3 0.1 0 0 0\n-2 4 0.2 0 0 0\n-2 3 0.3 0 0 0\n-5 3 0.35 -1 -1 5 0 later\n-2 3 0.4 0 0 0\n-2 4 0.5 0 0 0\n")
	over, back := filepath.Join(t.TempDir(), "over.etf"), filepath.Join(t.TempDir(), "back.trf")
	weft(t, 0, "convert", "-q", in, over)
	weft(t, 0, "filter", "-q", "--not-region", "event 4", over, back)
	const want = "-2 3 0.100000 0 0 0\n-2 3 0.300000 0 0 0\n-5 3 0.350000 -1 -1 5 0 later\n-2 3 0.400000 0 0 0\n"
	if got := textOf(t, back); got != want {
		t.Errorf("found\n%s\nexpected\n%s", got, want)
	}
	// The record is ahead of the label now, and keeps its name.
	weft(t, 0, "align", "-q", "--force", "--clock-correction", textFile(t, "clocks.json",
		`{"type":"weft clock correction","version":1,"ticks":10,"perSeconds":1,"locations":[{"id":"0/0","points":[[0,-2]]}]}`), over, back)
	if got := textOf(t, back); !strings.Contains(got, "0 0 5 0 later\n-2 3 0.200000") && !strings.Contains(got, " later\n-2 3 0.200000") {
		t.Errorf("found\n%s", got)
	}
}

// Definitions of subsets that do not count, and data that a descriptor skips, are in the loss table.
func TestLossOfPICLWrittenAnew(t *testing.T) {
	const defects = "-201 -1 -1 -1 -1 0\n-202 -1 -1 -1 -1 2 1 -7 x\n-201 -1 -1 -1 -1 2 2 -8 1\n-201 -1 -1 -1 -1 2 2 -8 2\n-2 3 0.1 5 0 0\n"
	const skipped = "-3 -21 0.1 9 0 1 \"%d%d%d%*s\" 8 1 9 secret\n-4 -21 0.2 9 0 0\n"
	for _, x := range []struct {
		kind, field string
		count       int64
		text        string
		args        []string
	}{
		{"subset", "", 3, defects, []string{"merge", "--allow-loss"}},
		{"subset", "", 0, "-201 -1 -1 -1 -1 1 \"%d %d\" -8 1\n-201 -1 -1 -1 -1 1 \"(%d,%d)\" (-9,1)\n-2 3 0.1 5 0 0\n", []string{"merge"}},
		{"descriptor", "", 1, "-6 -1 -1 -1 -1 1 \"%d%s\" 7 \"%d %d\"\n-2 3 0.1 5 0 0\n", []string{"merge"}},
		{"record", "text", 1, skipped, []string{"merge"}},
		{"record", "text", 1, skipped, []string{"filter", "--prune"}},
		{"record", "text", 1, skipped, []string{"convert", "--option", "picl.paragraph=true"}},
		{"record", "text", 1, skipped, []string{"convert", "--allow-loss", "--option", "picl.brackets=mark"}},
		{"record", "text", 1, skipped, []string{"filter", "--kind", "enter,leave", "--allow-loss", "--option", "picl.brackets=mark"}},
		{"record", "text", 1, "-6 -1 0 -1 -1 1 \"%d%s\" 7 \"%*s %d\"\n-2 5 0.5 0 0 1 7 secret 3\n-6 -1 0 -1 -1 1 \"%d%s\" 7 \"%d %d\"\n-2 5 0.1 0 0 1 7 1 2\n",
			[]string{"filter", "--not-region", "none"}},
		{"record", "text", 0, skipped, []string{"filter", "--not-region", "none"}},
		{"record", "text", 0, skipped, []string{"convert"}},
		{"record", "text", 0, skipped, []string{"convert", "--option", "picl.brackets=entry-exit"}},
	} {
		args := append(slices.Clone(x.args), "--json", textFile(t, "in.trf", x.text))
		if x.args[0] == "merge" {
			args = append(args, textFile(t, "other.trf", "-2 3 0.1 1 0 0\n"))
		}
		shown := weft(t, 0, append(args, filepath.Join(t.TempDir(), "out.trf"))...)
		var rows []format.LossRow
		if err := json.Unmarshal([]byte(shown), &rows); err != nil {
			var res struct{ Loss []format.LossRow }
			if err := json.Unmarshal([]byte(shown), &res); err != nil {
				t.Fatal(err, shown)
			}
			rows = res.Loss
		}
		n := int64(0)
		for _, r := range rows {
			if r.Kind == x.kind && r.Field == x.field {
				n += r.Count
			}
		}
		if n != x.count {
			t.Errorf("%q of %q: found %d of %s %s, expected %d: %s", x.args, x.text, n, x.kind, x.field, x.count, shown)
		}
	}
}

// ParaGraph's form of another format's trace loses what only weft reads, and a trace without processors has none.
func TestParaGraphLoses(t *testing.T) {
	in := textFile(t, "in.etf", "TU SECONDS\nS 1 ; name=s\nF 1 0 2 1 0 0\nC 1 0 1 1 1 ; name=c\nR 1 1 false ;\n")
	out := filepath.Join(t.TempDir(), "out.trf")
	loss := weft(t, 0, "convert", "--json", "--allow-loss", "--option", "picl.paragraph=true", in, out)
	if !strings.Contains(loss, `"lost"`) || strings.Contains(loss, `"weft only"`) {
		t.Error(loss)
	}
	if got := textOf(t, out); strings.Contains(got, "kind=") {
		t.Errorf("found records of weft:\n%s", got)
	}
	for name, text := range map[string]string{"host.trf": "-2 3 1.0 32767 0 0\n", "all.trf": "-2 3 1.0 -1 -1 0\n"} {
		code, _, errs := runWeft(t, "convert", "--allow-loss", "--option", "picl.paragraph=true", textFile(t, name, text), filepath.Join(t.TempDir(), "none.trf"))
		if code != 1 || !strings.Contains(errs, "no event of a processor") {
			t.Errorf("%s: exit code %d: %s", name, code, errs)
		}
	}
}

// Data that nobody knows the meaning of stay when numbers change; the loss table says so.
func TestUnknownNumbersPICL(t *testing.T) {
	const text = "17 4 0.1 0 0 2 2 0 1\n-3 5 0.2 0 0 3 2 0 1 0\n-4 5 0.3 0 0 0\n"
	for _, x := range []struct {
		other, want string
	}{
		{text, "data of unknown meaning may name what has another number"},
		{strings.ReplaceAll(text, " 0 0 ", " 1 0 "), ""},
	} {
		out := filepath.Join(t.TempDir(), "out.trf")
		shown := weft(t, 0, "merge", "--json", textFile(t, "a.trf", text), textFile(t, "b.trf", x.other), out)
		if got := strings.Contains(shown, "data of unknown meaning"); got != (x.want != "") || got && !strings.Contains(shown, `"count": 2`) {
			t.Errorf("want %q: %s", x.want, shown)
		}
	}
}

// A time of more digits than fit is rounded. That is said once, and the loss table counts it.
func TestRoundedPICL(t *testing.T) {
	for _, x := range []struct {
		time, last string // more digits fit beside a smaller greatest time
		copy       int    // times that a copy rounds, whose times have digits of their own
	}{
		{"1.0000000000000000012", "1000", 1},
		{"1.0000000000000000012", "2", 1},
		{"1.0000000000000001", "100000", 0},
	} {
		text := "-3 -901 0 0 0 0\n-2 4 " + x.time + " 0 0 0\n-4 -901 " + x.last + " 0 0 0\n"
		for ext, want := range map[string]int{".trf": x.copy, ".etf": 1} {
			loss := weft(t, 0, "convert", "--json", textFile(t, "in.trf", text), filepath.Join(t.TempDir(), "out"+ext))
			var rows []format.LossRow
			if err := json.Unmarshal([]byte(loss), &rows); err != nil {
				t.Fatal(err)
			}
			rows = slices.DeleteFunc(rows, func(r format.LossRow) bool { return r.Kind != "time" })
			if len(rows) != want || want > 0 && (rows[0].How != format.Degraded || rows[0].Count != 1) {
				t.Errorf("%s beside %s to %s: %+v, expected one row for %d times", x.time, x.last, ext, rows, want)
			}
		}
		if _, out, _ := runWeft(t, "check", textFile(t, "in.trf", text)); strings.Count(out, "in.trf:2: warning: picl.time-rounded") != 1 {
			t.Errorf("beside %s: expected one warning: %s", x.last, out)
		}
	}
}

// Processors that data alone name are of two runs, too: nobody sends to itself, or to a processor of the other run,
// and the first trace keeps its numbers.
func TestMergeOfPICLWithProcessorsInDataAlone(t *testing.T) {
	in := textFile(t, "in.trf", "-3 -21 1.0 6 0 3 2 8 1 7\n-4 -21 2.0 6 0 0\n")
	out := filepath.Join(t.TempDir(), "out.trf")
	weft(t, 0, "merge", "-q", in, in, out)
	const want = "-3 -21 1.000000 6 0 3 2 8 1 7\n-3 -21 1.000000 8 0 3 2 8 1 9\n-4 -21 2.000000 6 0 0\n-4 -21 2.000000 8 0 0\n"
	if got := textOf(t, out); got != want {
		t.Errorf("found %q, expected %q", got, want)
	}
}
