package cli

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
)

// unusualDescriptors is a PICL trace whose records are formatted unlike those of weft's writer.
const unusualDescriptors = `-6 -1 -1.5 -1 -1 1 "%d %s" 7 "%d %s"
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

// unusualPieces has labels and descriptors among the records of each processor, and all records of
// a processor together.
const unusualPieces = `-6 -1 0.0 0 -1 1 "%d%s" 7 "%d %d"
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

// textFile writes a text to a file in a folder of its own and returns the path.
func textFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// lineList returns the sorted lines of a text file. It joins lines continued by a backslash.
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

// editLines compares the lines that commands write with those of the trace: commands that change
// nothing write the same lines, and others write only lines of the trace.
func editLines(t *testing.T, path string, repaired bool) {
	t.Helper()
	want := lineList(t, path)
	same := [][]string{{"filter", "--not-region", "no such region"}, {"cut", "--from", "0%"}, {"merge"}, {"align"},
		{"sort"}}
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
			t.Errorf("%s: %q writes anew:\n%s\nand no longer:\n%s", path, verb, strings.Join(more, "\n"),
				strings.Join(fewer, "\n"))
		}
	}
	part := [][]string{{"cut", "--borders", "bare", "--from", "30%", "--to", "70%"}, {"filter", "--location", "0/0"},
		{"filter", "--not-kind", "mark"}}
	if filepath.Ext(path) == ".etf" {
		part = [][]string{{"filter", "--not-kind", "mark"}, {"filter", "--not-kind", "claim"},
			{"filter", "--not-region", "f"}}
	}
	for _, verb := range part {
		out := filepath.Join(t.TempDir(), "x"+filepath.Ext(path))
		if code, _, errs := runWeft(t, append(slices.Clone(verb), "-q", "--allow-loss", path, out)...); code != 0 {
			if code != exitDefects || !strings.Contains(errs, "not written: no record is left") {
				t.Errorf("%s: %q: exit code %d: %s", path, verb, code, errs)
			}
			continue
		}
		if more, _ := lineDifferences(want, lineList(t, out)); len(more) > 0 {
			t.Errorf("%s: %q writes anew:\n%s", path, verb, strings.Join(more, "\n"))
		}
	}
}

// lineDifferences returns the lines that only the new and only the old of two sorted lists has.
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

// TestVerbsEditPICL checks that commands write PICL records that they do not change exactly as they
// were.
func TestVerbsEditPICL(t *testing.T) {
	paths, err := filepath.Glob("../../format/picl/testdata/ok/*.trf")
	if err != nil || len(paths) < 5 {
		t.Fatal(err, paths)
	}
	for _, path := range paths {
		if strings.HasPrefix(filepath.Base(path), "old-") {
			continue // weft writes it in the new form
		}
		editLines(t, path, filepath.Base(path) != "conceptual-output2.trf") // that trace needs repairs
	}
	editLines(t, textFile(t, "descriptors.trf", unusualDescriptors), false)
	editLines(t, textFile(t, "pieces.trf", unusualPieces), true)
	editLines(t, textFile(t, "ends.trf", strings.ReplaceAll(unusualPieces, "\n", "\r\n")), true)
	// The file has more sorted pieces than one merge takes.
	var b strings.Builder
	for i := range 100 {
		for k := range 20 {
			b.WriteString("-2 5 " + string('0'+rune(k/10)) + "." + string('0'+rune(k%10)) + " 0 0 1 \"(%d)\" (" +
				strings.Repeat("0", i%3) + "7)\n")
		}
	}
	editLines(t, textFile(t, "many.trf", b.String()), true)
	editLines(t, convertedFromOTF2(t, "mpi.trf"), false)
}

// convertedFromOTF2 returns the path of a trace of messages that was converted from OTF2 and
// carries its definitions.
func convertedFromOTF2(t *testing.T, name string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), name)
	if code, _, errs := runWeft(t, "convert", "-q", "--allow-loss", "../../format/otf2/testdata/ok/ring/eztrace_log.otf2",
		out); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	return out
}

// TestVerbsChangePICL checks that commands change only the affected fields of a record.
func TestVerbsChangePICL(t *testing.T) {
	for _, x := range []struct {
		name, text, want string
		verb             []string
	}{
		{"times alone", "-3 1 0.5 0 0 1 \"(%d)\" (5)\n-4 1 2.50 1 0 1 \"%x\" ff\n",
			"-3 1 0.5 0 0 1 \"(%d)\" (5)\n-4 1 2.700000 1 0 1 \"%x\" ff\n",
			[]string{"cut", "--from", "0%", "--clock-correction",
				textFile(t, "clocks.json",
					`{"type":"weft clock correction","version":1,"ticks":10,"perSeconds":1,"locations":[`+
						`{"id":"1/0","points":[[0,2]]}]}`)}},
		{"regions of a piece end", "-3 1 0.1 0 0 1 \"%x\" ff\n-4 1 0.5 0 0 0\n",
			"-3 1 0.1 0 0 1 \"%x\" ff\n-4 1 0.300000 0 0 19 0 weft:cut.ends=later\n",
			[]string{"cut", "--to", "@0.3s"}},
		{"names", "-6 -1 0.0 -1 -1 1 \"%d%s\" 7 \"secret=%d\"\n-6 -1 0.0 -1 -1 1 \"%d%s\" 8 \"(%d)\"\n-5 5 0.0 -1 -1 4 0 " +
			"main\n-3 5 0.1 0 0 1 7 secret=5\n-4 5 0.2 0 0 1 8 (05)\n2 5 0.3 0 0 1 \"%*s %d\" drop 7\n2 5 0.4 0 0 3 0 abc\n",
			"-6 -1 0.0 -1 -1 1 \"%d%s\" 8 \"(%d)\"\n-5 5 0.000000 -1 -1 8 0 region 1\n-3 5 0.100000 0 0 1 2 5\n-4 5 0.2 0 0 " +
				"1 8 (05)\n2 5 0.300000 0 0 1 2 7\n2 5 0.400000 0 0 6 0 text 1\n",
			[]string{"anonymize"}},
		{"names that stay", "2 5 0.1 0 0 1 1 word\n2 5 0.2 0 0 1 \"%s\" word\n2 5 0.3 0 0 1 \"%*s %s\" no word\n" +
			"2 5 0.4 0 0 1 \"x%d\" x5\n2 5 0.5 0 0 1 1 secret\n",
			"-5 5 -1.000000 -1 -1 8 0 region 1\n2 5 0.1 0 0 1 1 word\n2 5 0.2 0 0 1 \"%s\" word\n2 5 0.300000 0 0 4 0 word\n" +
				"2 5 0.400000 0 0 1 2 5\n2 5 0.500000 0 0 6 0 text 1\n",
			[]string{"anonymize", "--keep", "word"}},
		{"what is broken", "-3 5 0.1 0 0 1 2 5 extra\n-4 5 0.2 0 0 1 \"(%d)\" (5)\n",
			"-3 5 0.100000 0 0 1 2 5\n-4 5 0.2 0 0 1 \"(%d)\" (5)\n", []string{"repair"}},
		{"digits that are asked for", "-3 5 0.1 0 0 1 \"(%d)\" (5)\n-4 5 0.2 0 0 0\n",
			"-3 5 0.100 0 0 1 \"(%d)\" (5)\n-4 5 0.200 0 0 0\n", []string{"cut", "--from", "0%", "--option", "picl.digits=3"}},
		{"a descriptor that means something else", "-6 -1 0.0 -1 -1 1 \"%d%s\" 2 \"(%d)\"\n-3 5 0.1 0 0 1 2 (5)\n-4 5 0.2 " +
			"0 0 1 \"%d\" 5\n2 5 0.3 0 0 1 2 5\n",
			"-6 -1 0.0 -1 -1 1 \"%d%s\" 2 \"(%d)\"\n-3 5 0.1 0 0 1 2 (5)\n-4 5 0.2 0 0 1 \"%d\" 5\n2 5 0.300000 0 0 1 \"%d\" " +
				"5\n", []string{"repair"}},
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

// TestPICLThroughOthers checks that the loss table lists what other formats do not keep of PICL's
// records. An event type without a number comes back.
func TestPICLThroughOthers(t *testing.T) {
	const text = `-6 -1 -1.000000 -1 -1 1 "%d%s" 7 "%d %d"
3 5 0.100000 0 0 1 7 1 2
3 5 0.200000 0 0 1 "(%d,%d)" (5,6)
3 5 0.300000 0 0 1 "%*d %d" 7 8
3 5 0.400000 0 0 1 "%d %lf" 3 4.5
3 5 0.500000 0 0 1 "%d%lf" 3 4.5
3 5 0.600000 0 0 2 2 3 4
3 5 0.650000 0 0 2 2 3 2147483648
-102 -1 0.700000 0 0 3 2 5 1 -901
-101 -1 0.800000 0 0 1 "%d%lf" -901 0.500000
-102 -1 0.900000 0 0 2 2 5 7
`
	in := textFile(t, "in.trf", text)
	for _, ext := range []string{".etf", ".otf", ".otf2", ".pallas"} {
		out, back := filepath.Join(t.TempDir(), "out"+ext), filepath.Join(t.TempDir(), "back.trf")
		code, loss, errs := runWeft(t, "convert", "--json", in, out)
		if _, err := os.Stat(out); err != nil { // some formats write into a folder of their own
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
		// the records with control strings except one, the record with an integer that needs %ld, and the statistics
		// that are no pairs in the file
		if n != 6 {
			t.Errorf("%s: %d records are said to lose their spelling, expected 6: %s", ext, n, loss)
		}
		if code, _, errs := runWeft(t, "convert", "-q", out, back); code != 0 {
			t.Fatalf("%s: exit code %d: %s", ext, code, errs)
		}
		if got := lineList(t, back); !slices.Contains(got, "-102 -1 0.700000 0 0 3 2 5 1 -901") {
			t.Errorf("%s: the incomplete pair is gone:\n%s", ext, strings.Join(got, "\n"))
		}
	}
	// The data of records with defects are in the loss table as well.
	damaged := textFile(t, "damaged.trf", "-6 -1 -1.0 -1 -1 1 \"%d%s\" 6\n-7 3 0.1 0 0 1 \"%3d\" 12345\n-2 6 0.2 0 0 1 "+
		"9 5 and text\n-2 6 x 0 0 0\n5 1 0.3 0 0 1\n-2 6 0.4 0 0 1 2 5\n")
	for want, args := range map[string][]string{
		`"count": 3`: {"convert", "--json", "--allow-loss", damaged, filepath.Join(t.TempDir(), "x.etf")},
		`"count": 1`: {"convert", "--json", "--allow-loss", "--option", "picl.brackets=mark",
			textFile(t, "pair.trf", "-3 6 0.2 0 0 1 2 5 6\n-4 6 0.2 0 0 1 2 7\n"), filepath.Join(t.TempDir(), "x.trf")},
	} {
		_, loss, errs := runWeft(t, args...)
		var rows []format.LossRow
		if err := json.Unmarshal([]byte(loss), &rows); err != nil {
			t.Fatal(err, errs)
		}
		rows = slices.DeleteFunc(rows,
			func(r format.LossRow) bool { return !strings.Contains(r.Reason, "apart from the values") })
		if len(rows) != 1 || !strings.Contains(loss, want) {
			t.Errorf("%q: expected one row with %s: %s", args, want, loss)
		}
	}
	// A copy and a filter keep everything and lose nothing.
	for _, args := range [][]string{{"convert"}, {"filter", "--not-region", "no such region"}} {
		out := filepath.Join(t.TempDir(), "out.trf")
		if _, loss, _ := runWeft(t, append(args, "-q", in, out)...); strings.Contains(loss, "spelling") {
			t.Errorf("%q: %s", args, loss)
		}
	}
}

// TestLossOfPICLWrittenAnew checks that definitions of unused subsets, and data that a descriptor
// skips, are in the loss table.
func TestLossOfPICLWrittenAnew(t *testing.T) {
	const defects = "-201 -1 -1 -1 -1 0\n-202 -1 -1 -1 -1 2 1 -7 x\n-201 -1 -1 -1 -1 2 2 -8 1\n-201 -1 -1 -1 -1 2 2 -8 " +
		"2\n-2 3 0.1 5 0 0\n"
	const literal = "-3 6 0.1 0 0 1 \"id=%d\" id=3\n"
	const both = "-3 -51 0.1 9 0 1 \"%d%*s\" 8 secret\n-4 -51 0.2 9 0 2 2 8 1\n"
	const numbers = "0 7 0.1 9 0 2 2 9 20\n0 7 0.2 9 0 1 5 9\n0 7 0.3 9 0 2 1 9 x\n-2 7 0.4 9 0 5 2 1 2 3 4 9\n-2 7 " +
		"0.5 9 0 2 2 1 2\n"
	marks := []string{"convert", "--option", "picl.brackets=mark"}
	const skipped = "-3 -21 0.1 9 0 1 \"%d%d%d%*s\" 8 1 9 secret\n-4 -21 0.2 9 0 0\n"
	for _, x := range []struct {
		kind, field string
		count       int64
		text        string
		args        []string
	}{
		{"subset", "", 3, defects, []string{"merge", "--allow-loss"}},
		{"subset", "", 0, "-201 -1 -1 -1 -1 1 \"%d %d\" -8 1\n-201 -1 -1 -1 -1 1 \"(%d,%d)\" (-9,1)\n-2 3 0.1 5 0 0\n",
			[]string{"merge"}},
		{"descriptor", "", 1, "-6 -1 -1 -1 -1 1 \"%d%s\" 7 \"%d %d\"\n-2 3 0.1 5 0 0\n", []string{"merge"}},
		{"record", "text", 1, skipped, []string{"merge"}},
		{"record", "text", 1, skipped, []string{"filter", "--prune"}},
		{"record", "text", 1, skipped, []string{"convert", "--option", "picl.paragraph=true"}},
		{"record", "text", 0, skipped, []string{"convert", "--allow-loss", "--option", "picl.brackets=mark"}},
		{"record", "text", 1, both, []string{"convert", "--allow-loss", "--option", "picl.brackets=mark"}},
		{"record", "text", 1, both,
			[]string{"filter", "--kind", "enter,leave", "--allow-loss", "--option", "picl.brackets=mark"}},
		{"record", "spelling", 0, literal + "-4 6 0.1 0 0 0\n", marks},
		{"record", "spelling", 1, literal + "-4 6 0.1 0 0 1 2 4\n", marks},
		{"record", "spelling", 2, literal + "-4 6 0.1 0 0 1 \"%x\" ff\n", marks},
		{"record", "spelling", 1, "-3 6 0.1 0 0 1 2 4\n-4 6 0.1 0 0 1 \"%x\" ff\n", marks},
		{"record", "spelling", 0, "-3 6 0.1 0 0 2 2 4 5\n-4 6 0.1 0 0 1 2 4\n", marks},
		{"record", "spelling", 1, "-6 -1 0 -1 -1 1 \"%d%s\" 7 \"%x\"\n-3 6 0.1 0 0 2 2 4 5\n-4 6 0.1 0 0 1 7 4\n", marks},
		{"record", "spelling", 1, "-3 -21 0.1 9 0 1 \"%d,%d,%d\" 8,1,9\n-4 -21 0.2 9 0 0\n",
			[]string{"convert", "--option", "picl.paragraph=true"}},
		{"record", "spelling", 1, "-6 -1 0 -1 -1 1 \"%d%s\" 7 \"%x\"\n-2 5 0.5 0 0 1 7 ff\n-6 -1 0 -1 -1 1 \"%d%s\" " +
			"7 \"%d\"\n-2 5 0.1 0 0 1 7 2\n", []string{"filter", "--not-region", "none"}},
		{"record", "spelling", 0, literal, []string{"filter", "--not-region", "none"}},
		{"record", "text", 1, "-6 -1 0 -1 -1 1 \"%d%s\" 7 \"%*s %d\"\n-2 5 0.5 0 0 1 7 secret 3\n-6 -1 0 -1 -1 1 \"%d%s\" " +
			"7 \"%d %d\"\n-2 5 0.1 0 0 1 7 1 2\n",
			[]string{"filter", "--not-region", "none"}},
		{"record", "data", 2, numbers, []string{"convert", "--option", "picl.paragraph=true"}},
		{"record", "data", 0, strings.ReplaceAll(numbers, " 9 0 ", " 0 0 "), []string{"convert", "--option",
			"picl.paragraph=true"}},
		{"record", "spelling", 1, "-3 -911 0.1 0 0 2 \"%d %s\" 4 x\n-4 -911 0.2 0 0 0\n", []string{"convert", "--to", "etf"}},
		{"record", "spelling", 1, "-7 5 0.1 0 0 9 0 hello\n-4 5 0.2 0 0 0\n", []string{"convert", "--to", "etf"}},
		{"record", "spelling", 0, "-7 5 0.1 0 0 5 0 hello\n-4 5 0.2 0 0 0\n", []string{"convert", "--to", "etf"}},
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

// TestUnreadablePICL checks the loss of lines that cannot be read. Every output that does not keep them counts them as
// lost, except that of repair. Commands that edit PICL keep malformed lines and records that define a descriptor; they
// do not keep lines that are too long, and records of the old format.
func TestUnreadablePICL(t *testing.T) {
	dir := t.TempDir()
	other := textFile(t, "other.trf", "-2 3 0.1 1 0 0\n")
	for _, x := range []struct {
		text string
		lost int64
		kept bool // an edited PICL file keeps the line
	}{
		{"-3 5 1.0 0 0 0\n-3 7 x 0 0 0\n-2 8 2.1 zero 0 0\n-2 8 2.1 0 0 1.5\n-4 5 3.0 0 0 0\n", 3, true},
		{"-3 5 1.0 0 0 0\n-7 -1 1.5 0 0 3000 0 " + strings.Repeat("x", 3000) + "\n-4 5 3.0 0 0 0\n", 1, false},
		{"-6 -1 0.0 -1 -1 1 \"%d%s\" 20\n-3 5 1.0 0 0 0\n-4 5 2.0 0 0 0\n", 1, true},
		{"1 0 0 0 4 4 4\n3 0 4 0 1\n9 0 5 0\n2 0 x 0\n19 0 9 0 1\n", 3, false},
	} {
		in := textFile(t, "in.trf", x.text)
		for _, args := range [][]string{{"convert", in, filepath.Join(dir, "o.etf")}, {"convert", in, filepath.Join(dir,
			"o.trf")},
			{"filter", "--not-region", "none", in, filepath.Join(dir, "o.trf")},
			{"filter", "--prune", "--not-region", "none", in, filepath.Join(dir, "o.trf")},
			{"merge", in, filepath.Join(dir, "o.trf")}, {"merge", in, other, filepath.Join(dir, "o.trf")},
			{"merge", other, in, filepath.Join(dir, "o.trf")}, {"merge", "--unify", in, in, filepath.Join(dir, "o.trf")},
			{"repair", in, filepath.Join(dir, "o.trf")}, {"repair", in, filepath.Join(dir, "o.etf")}} {
			code, shown, errs := runWeft(t, append(slices.Clone(args), "--json", "--force", "--option", "picl.max-line=2000")...)
			var rows []format.LossRow
			if err := json.Unmarshal([]byte(shown), &rows); err != nil {
				var res struct{ Loss []format.LossRow }
				if err := json.Unmarshal([]byte(shown), &res); err != nil {
					t.Fatal(args, err, shown, errs)
				}
				rows = res.Loss
			}
			n := int64(0)
			for _, r := range rows {
				if r.Reason == "cannot be read" && r.How == format.Lost {
					n += r.Count
				}
			}
			want := x.lost
			switch {
			case args[0] == "repair", x.kept && strings.HasSuffix(args[len(args)-1], ".trf") && args[1] != "--prune" &&
				args[1] != "--unify" && !slices.Contains(args, other):
				want = 0
			case args[1] == "--unify":
				want *= 2
			}
			if n != want || (code != 0) != (want > 0) {
				t.Errorf("%q of %.80q: exit code %d, %d lost, expected %d: %s", args[:len(args)-1], x.text, code, n, want, shown)
			}
		}
	}
}

// TestBytesOfPICL checks that labels whose bytes are not UTF-8 keep them in PICL, and that the loss table of a
// conversion to another format counts them.
func TestBytesOfPICL(t *testing.T) {
	const latin = "-5 5 0.0 -1 -1 4 0 ta\xe9k\n-5 -1 0.0 0 -1 3 0 n\xe8d\n-5 6 0.0 -1 -1 1 \"%4c\" ta\xe9l\n-3 5 1.0 0 " +
		"0 0\n" +
		"-4 5 2.0 0 0 2 1 w\xe9 x\n-2 6 2.2 0 0 0\n-7 -1 2.5 0 0 3 0 m\xe9 \n"
	const utf8 = "-5 7 0.0 -1 -1 5 0 ta\xc3\xa9k\n-2 7 1.0 1 0 0\n"
	labels := func(path string) (found []string) {
		for _, l := range lineList(t, path) {
			if f := strings.SplitN(l, " ", 8); f[0] == "-5" {
				found = append(found, f[1]+" "+f[5]+" "+f[7])
			}
		}
		slices.Sort(found)
		return slices.Compact(found)
	}
	plain := []string{"-1 3 n\xe8d", "5 4 ta\xe9k", "6 4 ta\xe9l"}
	spelled := []string{"-1 3 n\xe8d", "5 4 ta\xe9k", "6 1 ta\xe9l"} // the label with its own descriptor
	in, other, mixed := textFile(t, "in.trf", latin), textFile(t, "other.trf", "-5 6 0.0 -1 -1 1 0 x\n-2 6 0.1 1 0 0\n"),
		textFile(t, "mixed.trf", utf8)
	out := filepath.Join(t.TempDir(), "out.trf")
	for _, x := range []struct {
		args []string
		want []string
		loss int64
	}{
		{[]string{"convert", in}, spelled, 0},
		{[]string{"filter", "--region", "ta*", in}, spelled, 0},
		{[]string{"cut", "--from", "0.5s", in}, spelled, 0},
		{[]string{"sort", in}, spelled, 0},
		{[]string{"merge", in}, spelled, 0},
		{[]string{"filter", "--prune", "--region", "ta*", in}, plain, 0},
		{[]string{"merge", in, other}, append(slices.Clone(plain), "7 1 x"), 0},
		{[]string{"merge", "--unify", in, mixed},
			[]string{"-1 4 n\xc3\xa8d", "5 5 ta\xc3\xa9k", "6 5 ta\xc3\xa9l"}, 3},
	} {
		shown := weft(t, 0, append(slices.Clone(x.args), "--force", "--json", out)...)
		if n := encodingRows(t, shown); n != x.loss {
			t.Errorf("%q: %d texts in the loss table, expected %d: %s", x.args, n, x.loss, shown)
		}
		if got := labels(out); !slices.Equal(got, x.want) {
			t.Errorf("%q: found the labels %q, expected %q", x.args, got, x.want)
		}
	}
	for _, ext := range []string{".etf", ".otf", ".otf2"} {
		dir := t.TempDir()
		shown := weft(t, 0, "convert", "--json", in, filepath.Join(dir, "x"+ext))
		if n := encodingRows(t, shown); n != 3 {
			t.Errorf("%s: %d texts in the loss table, expected 3: %s", ext, n, shown)
		}
		weft(t, 0, "convert", "--force", "-q", filepath.Join(dir, "x"+ext), out)
		if got := labels(out); !slices.Equal(got, plain) {
			t.Errorf("by way of %s: found the labels %q, expected %q", ext, got, plain)
		}
		if text := strings.Join(lineList(t, out), "\n"); !strings.Contains(text, "w\xe9 x") || !strings.Contains(text,
			"m\xe9 ") {
			t.Errorf("by way of %s: the texts of events have changed:\n%q", ext, text)
		}
	}
}

// encodingRows returns the number of texts in a loss table whose encoding changes.
func encodingRows(t *testing.T, shown string) (n int64) {
	t.Helper()
	var rows []format.LossRow
	if err := json.Unmarshal([]byte(shown), &rows); err != nil {
		var res struct{ Loss []format.LossRow }
		if err := json.Unmarshal([]byte(shown), &res); err != nil {
			t.Fatal(err, shown)
		}
		rows = res.Loss
	}
	for _, r := range rows {
		if r.Field == "encoding" {
			n += r.Count
		}
	}
	return n
}

// TestParaGraphLoses checks that the ParaGraph form of another format's trace loses what only weft
// reads, and that a trace without processors has no such form.
func TestParaGraphLoses(t *testing.T) {
	in := textFile(t, "in.etf", "TU SECONDS\nS 1 ; name=s\nF 1 0 2 1 0 0\nC 1 0 1 1 1 ; name=c\nR 1 1 false ;\n")
	out := filepath.Join(t.TempDir(), "out.trf")
	loss := weft(t, 0, "convert", "--json", "--allow-loss", "--option", "picl.paragraph=true", in, out)
	if !strings.Contains(loss, `"lost"`) || strings.Contains(loss, `"weft only"`) {
		t.Error(loss)
	}
	if got := readText(t, out); strings.Contains(got, "kind=") {
		t.Errorf("found records of weft:\n%s", got)
	}
	for name, text := range map[string]string{"host.trf": "-2 3 1.0 32767 0 0\n", "all.trf": "-2 3 1.0 -1 -1 0\n"} {
		code, _, errs := runWeft(t, "convert", "--allow-loss", "--option", "picl.paragraph=true", textFile(t, name, text),
			filepath.Join(t.TempDir(), "none.trf"))
		if code != 1 || !strings.Contains(errs, "no event of a processor") {
			t.Errorf("%s: exit code %d: %s", name, code, errs)
		}
	}
}

// TestRoundedPICL checks that a time with too many digits is rounded, that this is reported once
// and that the loss table counts it.
func TestRoundedPICL(t *testing.T) {
	for _, x := range []struct {
		time, last string // a smaller greatest time leaves room for more digits
		copy       int    // number of times rounded in a copy, which keeps the digits of the file
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
		if _, out, _ := runWeft(t, "check", textFile(t, "in.trf", text)); strings.Count(out,
			"in.trf:2: warning: picl.time-rounded") != 1 {
			t.Errorf("beside %s: expected one warning: %s", x.last, out)
		}
	}
}

// TestPICLDerivedEvents checks that filter reports the events that it cannot remove, because PICL has them only as
// fields of calls that remain. conceptual-pingpong2.trf has 2 calls of send0 and 2 of recv0.
func TestPICLDerivedEvents(t *testing.T) {
	const in = "../../format/picl/testdata/ok/conceptual-pingpong2.trf"
	original := readText(t, in)
	for _, c := range []struct {
		flags string
		lines int // number of removed lines
		want  map[string]int64
	}{
		{"--not-kind=send,recv", 0, map[string]int64{"send": 2, "recv": 2}},
		{"--not-kind=send", 0, map[string]int64{"send": 2}},
		{"--not-kind=metric", 0, nil},
		{"--not-region=send0", strings.Count(original, " -21 "), nil},
	} {
		out := filepath.Join(t.TempDir(), "out.trf")
		text := weft(t, 0, "filter", "-q", "--json", c.flags, in, out)
		var result rewriteResult
		if err := json.Unmarshal([]byte(text), &result); err != nil {
			t.Fatal(err)
		}
		var got map[string]int64
		for _, r := range result.Loss {
			if got == nil {
				got = map[string]int64{}
			}
			got[r.Kind] = r.Count
		}
		if !maps.Equal(got, c.want) {
			t.Errorf("%s: found losses %v, expected %v", c.flags, got, c.want)
		}
		if got, want := strings.Count(readText(t, out), "\n"), strings.Count(original, "\n")-c.lines; got != want {
			t.Errorf("%s: found %d lines, expected %d", c.flags, got, want)
		}
	}
}
