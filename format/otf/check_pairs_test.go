package otf

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
	"github.com/weft-trace/weft/tracetest"
)

// checkFiles checks a trace with the given files, and returns its defects, without those of unknown records, as
// "file:offset: rule: found".
func checkFiles(t *testing.T, files map[string]string, opt *format.ReadOptions) (list []string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		writeFile(t, filepath.Join(dir, name), text)
	}
	opt.Report = format.NewReport()
	if err := checkTrace(t, dir, opt); err != nil {
		t.Fatal(err)
	}
	for _, r := range opt.Report.Rules() {
		if int64(len(r.First)) != r.Count {
			t.Errorf("%s: %d defects with %d places", r.Rule, r.Count, len(r.First))
		}
		for _, d := range r.First {
			list = append(list, fmt.Sprintf("%s:%d: %s: %s", filepath.Base(d.Position.File), d.Position.Offset, d.Rule, d.Found))
		}
	}
	return list
}

// TestPairs_6_check checks what section 6 of the format to the byte demands of key-value pairs: one value for a key of
// a record, the length of an array, and a record after the pairs.
func TestPairs_6_check(t *testing.T) {
	hundred := strings.Repeat("ab", arrayLine)
	for _, x := range []struct{ name, pairs, after, want string }{
		{"sound", "K1Y6V5\nK2YbV0102L2\n", "", ""},
		{"no length", "K2YbV0102\n", "", ""},
		{"long array", "K2YbV" + hundred + "La0\nK2YbV" + strings.Repeat("cd", 60) + "L3c\n", "", ""},
		{"long spelling", "KEY 1 TYPE 6 VALUE 5\nKEY 2 TYPE b VALUE 0102LEN2\n", "", ""},
		{"repeated", "K1Y6V5\nK1Y6V6\n", "", "x.1.events:20: otf.repeated-key: a second value for key 1"},
		{"repeated array", "K2YbV0102L2\nK2YbV0102L2\n", "",
			"x.1.events:25: otf.repeated-key: a second value for key 2"},
		{"other type", "K2YbV0102L2\nK2Y6V5\n", "", "x.1.events:25: otf.repeated-key: a second value for key 2"},
		{"too long", "K2YbV0102L5\n", "", "x.1.events:13: otf.array-length: a byte array with the length 5 and 2 bytes"},
		{"too short", "K2YbV0102L1\n", "", "x.1.events:13: otf.array-length: a byte array with the length 1 and 2 bytes"},
		{"no rest", "K2YbV" + hundred + "La0\n", "",
			"x.1.events:13: otf.array-length: a byte array without its last 60 bytes"},
		{"no rest before a pair", "K2YbV" + hundred + "La0\nK1Y6V5\n", "",
			"x.1.events:13: otf.array-length: a byte array without its last 60 bytes"},
		{"wrong rest", "K2YbV" + hundred + "La0\nK2YbV" + strings.Repeat("cd", 60) + "L3b\n", "",
			"x.1.events:222: otf.array-length: a byte array with the length 59 and 60 bytes"},
		{"half a byte", "K2YbV012L1\n", "",
			`x.1.events:13: otf.ignored-text: key-value pair: "2L1" after the last field`},
		{"text", "K2YbV01L1Z\n", "", `x.1.events:13: otf.ignored-text: key-value pair: "Z" after the last field`},
		{"unused", "", "K1Y6V5\nK2YbV01L1\n", "x.1.events:24: otf.unused-pair: 2 key-value pairs after the last record"},
	} {
		for _, count := range []int{1, 3000} { // with many lines, fast paths read most of them
			files := soundTrace()
			before := "1\n*1\nE1\n2\n*1\n"
			files["x.1.events"] = before + x.pairs + "L1\n" + x.after + "3\n*1\n"
			want := []string{}
			if x.want != "" {
				want = append(want, x.want)
			}
			if x.after != "" {
				files["x.1.events"] = before + "L1\n3\n*1\n" + x.after
				want = []string{strings.Replace(x.want, ":24:", fmt.Sprintf(":%d:", len(before)+8), 1),
					`x.1.events:38: otf.no-trailer: an end with the line "K2YbV01L1"`}
			}
			if count > 1 {
				at := strings.Repeat("E2\nL2\n", count)
				files["x.1.events"] = before[:8] + at + files["x.1.events"][8:]
				for i := range want {
					var off int
					_, rest, _ := strings.Cut(want[i], ":")
					fmt.Sscanf(rest, "%d", &off)
					want[i] = strings.Replace(want[i], fmt.Sprintf(":%d:", off), fmt.Sprintf(":%d:", off+len(at)), 1)
				}
			}
			for _, workers := range []int{1, 2} {
				got := checkFiles(t, files, &format.ReadOptions{Workers: workers})
				slices.Sort(got)
				slices.Sort(want)
				if !slices.Equal(got, want) {
					t.Errorf("%s, %d times, %d workers: found %q, expected %q", x.name, count, workers, got, want)
				}
			}
		}
	}
}

// TestPairsOfDefinitions_6_check checks that pairs of definitions and markers are checked, too.
func TestPairsOfDefinitions_6_check(t *testing.T) {
	files := soundTrace()
	at := len(files["x.0.def"])
	files["x.0.def"] += "K1Y6V5\nK1Y6V6\nDCR\"c\"\nK1Y6V5\n"
	files["x.0.marker"] = "K2YbV0102L3\nMD1NM\"m\"Y1\n"
	want := []string{"x.0.marker:0: otf.array-length: a byte array with the length 3 and 2 bytes",
		fmt.Sprintf("x.0.def:%d: otf.repeated-key: a second value for key 1", at+7),
		fmt.Sprintf("x.0.def:%d: otf.unused-pair: 1 key-value pair after the last record", at+21)}
	if got := checkFiles(t, files, &format.ReadOptions{}); !slices.Equal(got, want) {
		t.Errorf("found %q, expected %q", got, want)
	}
}

// TestDuplicateDefinitions_8 checks that different definitions of a token in one scope are reported, and that the last
// one counts, as in the tables of otfprofile. A definition of a single stream may differ from the global one.
func TestDuplicateDefinitions_8(t *testing.T) {
	files := soundTrace()
	at := len(files["x.0.def"])
	files["x.0.def"] += "DF1G0NM\"f\"\nDF1G0NM\"h\"\nDP2NM\"II\"\nDTR64\n"
	files["x.0.def"] += "DCO1NM\"o1\"Y1\nDCO1NM\"o2\"Y4\n"
	files["x.a.def"] = "DF1G0NM\"local\"\nDP3NM\"III\"\nDF1G0NM\"own\"\n"
	files["x.0.marker"] = "MD1NM\"m\"Y1\nMD1NM\"m\"Y1\nMD1NM\"m\"Y2\n"
	want := []string{
		`x.0.marker:22: otf.duplicate: another DefMarker: "MD1NM\"m\"Y2"`,
		`x.a.def:15: otf.duplicate: another DefProcess: "DP3NM\"III\""`,
		`x.a.def:26: otf.duplicate: another DefFunction: "DF1G0NM\"own\""`,
		fmt.Sprintf(`x.0.def:%d: otf.duplicate: another DefFunction: "DF1G0NM\"h\""`, at+11),
		fmt.Sprintf(`x.0.def:%d: otf.duplicate: another DefProcess: "DP2NM\"II\""`, at+22),
		fmt.Sprintf(`x.0.def:%d: otf.duplicate: another DefTimerResolution: "DTR64"`, at+32),
		fmt.Sprintf(`x.0.def:%d: otf.duplicate: another DefCollectiveOperation: "DCO1NM\"o2\"Y4"`, at+51),
	}
	got := checkFiles(t, files, &format.ReadOptions{})
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("found %q, expected %q", got, want)
	}
	dir := t.TempDir()
	for name, text := range files {
		writeFile(t, filepath.Join(dir, name), text)
	}
	d := tracetest.Open(t, Format{}, format.FileSource(filepath.Join(dir, "x.otf")), nil).(*decoder)
	defer d.Close()
	for i, name := range []string{"one", "II", "III"} {
		if l := d.Defs().Locations.At(uint32(i)); l.Name != name {
			t.Errorf("process %s has the name %q, expected %q", l.ID, l.Name, name)
		}
	}
	for stream, name := range map[uint32]string{1: "h", 10: "own"} {
		if i, ok := d.model.find(functions, stream, 1); !ok || d.Defs().Regions.At(i).Name != name {
			t.Errorf("function 1 of stream %d is %q, expected %q", stream, d.Defs().Regions.At(i).Name, name)
		}
	}
	if x := &d.Defs().Operations; x.Len() != 1 || x.At(0).Name != "o2" {
		t.Errorf("found %d collective operations, the first is %q, expected o2", x.Len(), x.At(0).Name)
	}
	if n := d.Defs().Clock.PerSecond(); n != 100 {
		t.Errorf("found %v ticks per second, expected 100", n)
	}
}

// TestTimeRange_5 checks that a time range that ends before it begins is reported.
func TestTimeRange_5(t *testing.T) {
	files := soundTrace()
	at := len(files["x.0.def"])
	files["x.0.def"] += "DTRG5T5\nDTRG64T5\n"
	want := []string{fmt.Sprintf("x.0.def:%d: otf.reversed-range: a time range from 100 to 5", at+8)}
	if got := checkFiles(t, files, &format.ReadOptions{}); !slices.Equal(got, want) {
		t.Errorf("found %q, expected %q", got, want)
	}
}

// TestResolution_5 checks that a trace without a resolution of its times gets a note.
func TestResolution_5(t *testing.T) {
	for text, found := range map[string]bool{"": true, "DTR0\n": true, "DTR1\n": false, "DTR0\nDTR3e8\n": false} {
		files := soundTrace()
		files["x.0.def"] = text + strings.TrimPrefix(files["x.0.def"], "DTR3e8\n")
		got := checkFiles(t, files, &format.ReadOptions{})
		got = slices.DeleteFunc(got, func(d string) bool { return strings.Contains(d, "otf.duplicate") })
		if want := []string{"x.0.def:0: otf.resolution: no DefTimerResolution above 0"}; found != slices.Equal(got, want) ||
			!found && len(got) > 0 {
			t.Errorf("%q: found %q, expected a note: %t", text, got, found)
		}
	}
}

// TestZeroBytes_2 checks that bytes 0 in texts are reported. otfprint prints the text before the byte.
func TestZeroBytes_2(t *testing.T) {
	files := soundTrace()
	at := len(files["x.0.def"])
	files["x.0.def"] += "DP4NM\"a\x00b\"\n"
	files["x.0.marker"] = "MD1NM\"m\x00\"Y1\n"
	// otfprint 1.12.5 prints the comment "c".
	files["x.1.events"] = "1\n*1\n#\"c\x00d\"\n2\n*1\n"
	files["x.1.stats"] = "1\n*1\nSC\"\x00\"\n1\n*1\n"
	want := []string{fmt.Sprintf(`x.0.def:%d: otf.zero-byte: "DP4NM\"a\x00b\"" with a byte 0`, at),
		`x.0.marker:0: otf.zero-byte: "MD1NM\"m\x00\"Y1" with a byte 0`,
		`x.1.events:5: otf.zero-byte: "#\"c\x00d\"" with a byte 0`,
		`x.1.stats:5: otf.zero-byte: "SC\"\x00\"" with a byte 0`}
	got := checkFiles(t, files, &format.ReadOptions{})
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("found %q, expected %q", got, want)
	}
}

// TestStrictReportsWhatLibotfIgnores checks that strict checking reports text that libotf ignores, although it does
// not stop there, as it reports other defects that libotf passes over.
func TestStrictReportsWhatLibotfIgnores(t *testing.T) {
	files := soundTrace()
	files["x.1.events"] = "1\n*1\nE1\n2\n*1 Z\nK1Y6V5 Z\nL1\n2\n*1\n"
	want := []string{`x.1.events:10: otf.ignored-text: process line: "Z" after the last field`,
		`x.1.events:15: otf.ignored-text: key-value pair: "Z" after the last field`}
	if got := checkFiles(t, files, &format.ReadOptions{Strict: true}); !slices.Equal(got, want) {
		t.Errorf("found %q, expected %q", got, want)
	}
}

// TestProbeDamagedMaster checks that a byte 0 in a line of a master file does not make the trace unknown: libotf, too,
// reads the other lines.
func TestProbeDamagedMaster(t *testing.T) {
	for text, known := range map[string]bool{
		"1:1\n2\x00:2\n": true, "1\x00:1\n2:2\n": true, "OTTO\x00\x0c\x00\x80\n1\n": false,
	} {
		if got := (Format{}).Probe("x.otf", []byte(text)) > 0; got != known {
			t.Errorf("%q: found %t, expected %t", text, got, known)
		}
	}
}
