package cli

import (
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// writeTrace writes the files of an OTF trace of the name x, by what follows the name, and returns its path.
func writeTrace(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		writeText(t, filepath.Join(dir, "x"+name), text)
	}
	return filepath.Join(dir, "x.otf")
}

// requireOTFPrint skips the test if otfprint is missing.
func requireOTFPrint(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("otfprint"); err != nil {
		t.Skip("otfprint is not installed")
	}
}

// localStreams is an OTF trace in which each stream has its own definitions. Their tokens mean something else in
// each stream, and than those of the global ones.
var localStreams = map[string]string{
	".otf": "1:1,2\n2:3\n",
	".0.def": "DV1.c.5\"salmon\"\nDTR3e8\nDP1NM\"a\"\nDP2\nDP3NM\"\"\nDFG1NM\"app\"\nDF1G1NM\"main\"\nDF5G1NM\"five\"\n" +
		"DPG9M1,2,3,NM\"world\"\nDCO1NM\"MPI_Barrier\"Y1\nDCO2NM\"MPI_Bcast\"Y2\n",
	".1.def": "DCR\"first\"\nDCMT\"of stream 1\"\nDSF1NM\"one.c\"\nDS1F1LN7\nDFG7NM\"io\"\nDF5G7NM\"read\"X1\n" +
		"DCG3NM\"papi\"\nDCNT2G3NM\"cycles\"P1U\"#\"\nDK4Y5NM\"size\"T\"\"\nDCO1NM\"MPI_Allreduce\"Y4\n" +
		"DPG9M1,2,NM\"pair\"\nDFLG3NM\"disk\"\nDFL3NM\"in.dat\"G3\nDA6M1,\nDPGA1V6\n",
	".2.def": "DFG7NM\"net\"\nDF5G7NM\"send\"\nDF6G1NM\"wait\"\nDCNT2G0NM\"bytes\"P0U\"B\"\nDK4YbNM\"name\"T\"\"\n" +
		"DCO7NM\"MPI_Barrier\"Y1\nDCO1NM\"MPI_Scan\"Y0\n",
	".1.events": "1\n*1\nE1\n2\n*1\nK4Y5V8\nE5X1\n3\n*1\nCNT2V64\nF3H1OP2B8D0\n4\n*1\nCOPB1H1C9RT1S0R8\n5\n*1\nCOPE1\n" +
		"6\n*1\nL5\n6\n*2\nE1\n7\n*2\nCOPB2H2C9RT1S0R8\nCOPE2\nL1\n9\n*1\nS3L8T1C9\nL1\n9\n*1\n",
	".2.events": "2\n*3\nE5\n3\n*3\nK4YbV6162L2\nCNT2V3\n4\n*3\nL5\nE6\n5\n*3\nCOPB7H1C9RT0S1R1\nCOPE1\n" +
		"7\n*3\nL6\nCOPB1H2C9RT0S1R1\nCOPE2\n9\n*3\nR1L8T1C9\n9\n*3\n",
	".1.stats":  "9\n*1\nSF5N1E4I4\nSG7N1E4I4\nSCO9CL1NS1NR1S0R8\n9\n*1\n",
	".2.stats":  "9\n*3\nSF5N1E2I2\nSG7N1E2I2\nSCO9CL7NS1NR1S1R1\n9\n*3\n",
	".0.marker": "MD1NM\"global\"Y2\nMS1T3P1V\"g\"\n",
	".1.marker": "MD1NM\"local\"Y1\nMS1T4P2V\"l\"\n",
	".2.marker": "MS1T5P3V\"by the global one\"\nMS8T6P3V\"undefined\"\n",
}

// TestEditsOfLocalDefinitions checks that commands edit a trace with definitions of single streams: otfprint must
// print the same as before for the records that a command does not change.
func TestEditsOfLocalDefinitions(t *testing.T) {
	requireOTFPrint(t)
	path := writeTrace(t, localStreams)
	want := toolLines(t, path, "otfprint", "--fullkeyvalue")
	if len(want) < 60 {
		t.Errorf("otfprint prints %d different lines", len(want))
	}
	for _, verb := range [][]string{{"filter", "--min-duration", "0"}, {"cut", "--to", "100%"}, {"merge"}, {"convert"},
		{"align"}} {
		out := filepath.Join(t.TempDir(), "y.otf")
		weft(t, 0, append(slices.Clone(verb), "-q", path, out)...)
		if more, fewer := differences(want, toolLines(t, out, "otfprint", "--fullkeyvalue")); len(more)+len(fewer) > 0 {
			t.Errorf("%q: otfprint prints anew:\n%sand no longer:\n%s", verb, strings.Join(more, ""), strings.Join(fewer, ""))
		}
	}
	// With other names, the definitions are as many as before.
	out := filepath.Join(t.TempDir(), "y.otf")
	weft(t, 0, "anonymize", "-q", path, out)
	functions := func(lines map[string]int) (n int) {
		for line, count := range lines {
			if strings.Contains(line, "DefFunction: ") {
				n += count
			}
		}
		return n
	}
	if got := functions(toolLines(t, out, "otfprint", "--fullkeyvalue")); got != functions(want) {
		t.Errorf("anonymize: otfprint prints %d functions, expected %d", got, functions(want))
	}
	// The lines of a part are lines of the original trace.
	for _, verb := range [][]string{{"filter", "--not-region", "read"}, {"cut", "--from", "@4ms", "--to", "@7ms",
		"--borders", "bare"}, {"filter", "--location", "3", "--prune"}} {
		out := filepath.Join(t.TempDir(), "y.otf")
		weft(t, 0, append(slices.Clone(verb), "-q", path, out)...)
		more, fewer := differences(want, toolLines(t, out, "otfprint", "--fullkeyvalue"))
		if len(more) > 0 || len(fewer) == 0 {
			t.Errorf("%q: otfprint prints anew:\n%sand no longer %d lines", verb, strings.Join(more, ""), len(fewer))
		}
	}
	// --prune removes definitions of other streams to which nothing refers.
	out = filepath.Join(t.TempDir(), "y.otf")
	weft(t, 0, "filter", "--location", "3", "--prune", "-q", path, out)
	for line := range toolLines(t, out, "otfprint", "--fullkeyvalue") {
		for _, gone := range []string{`"read"`, `"cycles"`, `"five"`, `"MPI_Allreduce"`} {
			if strings.Contains(line, gone) {
				t.Errorf("pruned: %s", line)
			}
		}
	}
}

// TestMergeOfLocalDefinitions checks that the definitions of single streams become global ones of a merged trace
// with the same meaning.
func TestMergeOfLocalDefinitions(t *testing.T) {
	path := writeTrace(t, localStreams)
	out := filepath.Join(t.TempDir(), "y.otf")
	weft(t, 0, "merge", "-q", path, path, out)
	visits := func(path string) map[string]int {
		n := map[string]int{}
		for line := range strings.Lines(weft(t, 0, "profile", "-q", "--csv", path)) {
			f := strings.Split(line, ",")
			n[f[1]]++
		}
		return n
	}
	if a, b := visits(path), visits(out); !maps.Equal(a, b) || a["read"] != 1 || a["send"] != 1 {
		t.Errorf("found regions %v, expected %v", b, a)
	}
	if code, text, errs := runWeft(t, "check", out); code != 0 {
		t.Errorf("check: exit code %d: %s%s", code, text, errs)
	}
	if _, err := exec.LookPath("otfprint"); err != nil {
		return
	}
	had, has := toolLines(t, path, "otfprint", "--fullkeyvalue"), toolLines(t, out, "otfprint", "--fullkeyvalue")
	count := func(lines map[string]int, what string) (n int) {
		for l, k := range lines {
			if strings.Contains(l, what) {
				n += k
			}
		}
		return n
	}
	for _, what := range []string{" Enter: ", " Leave: ", " SendMessage: ", " ReceiveMessage: ", " Counter: ",
		" BeginCollective: ", " StatFunction: ", " Marker: "} {
		if a, b := count(had, what), count(has, what); b != 2*a || a == 0 {
			t.Errorf("%s: otfprint prints %d lines, expected twice %d", what, b, a)
		}
	}
	for _, name := range []string{"read", "send", "wait"} { // one function of both traces each
		if n := count(has, fmt.Sprintf("name %q", name)); n != 1 {
			t.Errorf("otfprint prints %d definitions of %s, expected 1", n, name)
		}
	}
}

// TestMarkersStayInStreams checks that markers stay in the file of their stream.
func TestMarkersStayInStreams(t *testing.T) {
	path := writeTrace(t, localStreams)
	for _, verb := range [][]string{{"filter", "--min-duration", "0"}, {"cut", "--to", "100%"}, {"repair"}} {
		out := filepath.Join(t.TempDir(), "y.otf")
		weft(t, 0, append(slices.Clone(verb), "-q", path, out)...)
		for _, part := range []string{".0.marker", ".1.marker", ".2.marker"} {
			got := readText(t, strings.TrimSuffix(out, ".otf")+part)
			for line := range strings.Lines(localStreams[part]) {
				if !strings.Contains(got, line) {
					t.Errorf("%q: %s: found %q, expected the line %q", verb, part, got, line)
				}
			}
		}
	}
}

// TestUnnamedLeavesBesideNamed checks that a leave without a function stays so if other leaves name a function. It
// also checks that a process without a name stays so.
func TestUnnamedLeavesBesideNamed(t *testing.T) {
	requireOTFPrint(t)
	path := writeTrace(t, map[string]string{
		".otf":      "1:1\n2:2\n",
		".0.def":    "DTR3e8\nDP1\nDP2NM\"b\"\nDF1G0NM\"f\"\nDF2G0NM\"g\"\n",
		".1.events": "1\n*1\nE1\n2\n*1\nE2\n3\n*1\nL\n4\n*1\nL1\n5\n*1\nE2\n6\n*1\nL0X7\n6\n*1\n",
		".2.events": "1\n*2\nE1\n2\n*2\nL\n2\n*2\n",
	})
	want := toolLines(t, path, "otfprint", "--fullkeyvalue")
	for _, verb := range [][]string{{"filter", "--min-duration", "0"}, {"cut", "--to", "100%"}, {"merge"}, {"repair"}} {
		out := filepath.Join(t.TempDir(), "y.otf")
		weft(t, 0, append(slices.Clone(verb), "-q", path, out)...)
		if more, fewer := differences(want, toolLines(t, out, "otfprint", "--fullkeyvalue")); len(more)+len(fewer) > 0 {
			t.Errorf("%q: otfprint prints anew:\n%sand no longer:\n%s", verb, strings.Join(more, ""), strings.Join(fewer, ""))
		}
	}
	profile := weft(t, 0, "profile", "-q", "--csv", path)
	for _, j := range []string{"1", "2", "4"} {
		if got := weft(t, 0, "profile", "-q", "--csv", "-j", j, path); got != profile {
			t.Errorf("with -j %s: found %s, expected %s", j, got, profile)
		}
	}
}

// TestTimesOfDefinitions checks that the definitions of a piece have the time range and the sample points of the
// piece, not of the whole trace.
func TestTimesOfDefinitions(t *testing.T) {
	files := map[string]string{
		".otf": "1:1\n",
		".0.def": "DTR3e8\nDTRG0T64\nDP1NM\"p\"\nDF1G0NM\"f\"\nDF2G0NM\"g\"\nDAUXaY0\nDAUX14Y0\nDAUX14Y1\nDAUX1eY0\n" +
			"DAUX32Y1\n",
		".1.events": "1\n*1\nE1\n5\n*1\nE2\n12\n*1\nL2\n16\n*1\nE2\n18\n*1\nL2\n28\n*1\nL1\n28\n*1\n",
		".1.snaps":  "a\n*1\nTE1O1\nTE2O5\n14\n*1\nTE1O1\n1e\n*1\nTE1O1\n1e\n*1\n",
		".1.stats":  "14\n*1\nSF1N0E4I13\n32\n*1\nSF1N1E4I27\n32\n*1\n",
	}
	lines := func(path string) (l []string) {
		for line := range strings.Lines(readText(t, strings.TrimSuffix(path, ".otf")+".0.def")) {
			if strings.HasPrefix(line, "DTRG") || strings.HasPrefix(line, "DAUX") {
				l = append(l, strings.TrimSpace(line))
			}
		}
		return l
	}
	all := []string{"DTRG0T64", "DAUXaY0", "DAUX14Y0", "DAUX14Y1", "DAUX1eY0", "DAUX32Y1"}
	path := writeTrace(t, files)
	for _, x := range []struct {
		verb []string
		want []string
	}{
		{[]string{"filter", "--min-duration", "0"}, all},
		{[]string{"cut", "--to", "100%"}, all},
		{[]string{"merge"}, all},
		{[]string{"align"}, all}, // there is nothing to correct
		// The next two commands cut out the time from 19 to 25 ms, in which the region f is open.
		{[]string{"cut", "--from", "@19ms", "--to", "@25ms"}, []string{"DTRG13T19", "DAUX14Y0", "DAUX14Y1"}},
		{[]string{"cut", "--from", "@19ms", "--to", "@25ms", "--prune"}, []string{"DTRG13T19", "DAUX14Y0", "DAUX14Y1"}},
		{[]string{"cut", "--to", "@11ms", "--borders", "bare"}, []string{"DTRG1Ta", "DAUXaY0"}},
	} {
		out := filepath.Join(t.TempDir(), "y.otf")
		weft(t, 0, append(slices.Clone(x.verb), "-q", path, out)...)
		if got := lines(out); !slices.Equal(got, x.want) {
			t.Errorf("%q: found %q, expected %q", x.verb, got, x.want)
		}
	}
	// A trace in another format carries the sample points. The time range of an OTF trace that is written from it
	// comes from its records.
	dir := t.TempDir()
	etf, again, piece := filepath.Join(dir, "a.etf"), filepath.Join(dir, "b.otf"), filepath.Join(dir, "c.otf")
	weft(t, 0, "convert", "-q", path, etf)
	weft(t, 0, "convert", "-q", etf, again)
	if got, want := lines(again), append([]string{"DTRG1T32"}, all[1:]...); !slices.Equal(got, want) {
		t.Errorf("converted from TRACE: found %q, expected %q", got, want)
	}
	weft(t, 0, "cut", "-q", "--from", "@19ms", "--to", "@25ms", again, piece)
	if got, want := lines(piece), []string{"DTRG13T19", "DAUX14Y0", "DAUX14Y1"}; !slices.Equal(got, want) {
		t.Errorf("piece of that: found %q, expected %q", got, want)
	}
}

// TestCarriedSamplePoints checks that commands keep the sample points that weft otf snapshots adds to a trace of
// another format.
func TestCarriedSamplePoints(t *testing.T) {
	dir := t.TempDir()
	plain, with, out := filepath.Join(dir, "a.otf"), filepath.Join(dir, "b.otf"), filepath.Join(dir, "c.otf")
	weft(t, 0, "convert", "-q", "../../format/otf2/testdata/ok/ring/eztrace_log.otf2", plain)
	weft(t, 0, "otf", "snapshots", "--output", with, plain)
	points := func(path string) (l []string) {
		for line := range strings.Lines(readText(t, strings.TrimSuffix(path, ".otf")+".0.def")) {
			if strings.HasPrefix(line, "DAUX") {
				l = append(l, line)
			}
		}
		return l
	}
	want := points(with)
	if len(want) < 2 {
		t.Fatalf("found the sample points %q", want)
	}
	weft(t, 0, "filter", "-q", "--min-duration", "0", with, out)
	if got := points(out); !slices.Equal(got, want) {
		t.Errorf("found %q, expected %q", got, want)
	}
}

// TestProcessesStayInStreams checks processes that the master file names for no stream, or for another stream than
// the one that contains their events. They stay as they are. repair names processes without a stream for the
// stream that contains their events.
func TestProcessesStayInStreams(t *testing.T) {
	files := map[string]string{
		".otf":      "1:1\n2:2\n",
		".0.def":    "DTR3e8\nDP1NM\"a\"\nDP2NM\"b\"\nDP5NM\"stray\"\nDF1G0NM\"f\"\n",
		".1.events": "1\n*1\nE1\n2\n*5\nE1\n3\n*1\nL1\n4\n*5\nL1\n5\n*9\nE1\n6\n*9\nL1\n6\n*9\n",
		".2.events": "1\n*2\nE1\n2\n*5\nE1\n3\n*2\nL1\n4\n*5\nL1\n5\n*1\nE1\n6\n*1\nL1\n6\n*1\n",
	}
	path := writeTrace(t, files)
	for _, verb := range [][]string{{"filter", "--min-duration", "0"}, {"cut", "--to", "100%"}, {"merge"}} {
		out := filepath.Join(t.TempDir(), "x.otf")
		weft(t, 0, append(slices.Clone(verb), "-q", path, out)...)
		for name, want := range files {
			if got := readText(t, strings.TrimSuffix(out, ".otf")+name); got != want {
				t.Errorf("%q: x%s: found %q, expected %q", verb, name, got, want)
			}
		}
	}
	out := filepath.Join(t.TempDir(), "x.otf")
	weft(t, 0, "repair", "-q", path, out)
	if got, want := strings.SplitAfter(readText(t, out), "\n")[0], "1:1,5,9\n"; got != want {
		t.Errorf("repair: found stream %q, expected %q", got, want)
	}
}

// TestEventsOfProcessZero checks that events of process 0, which stands for all processes in markers, stay in the
// file of their stream when a trace is merged or pruned.
func TestEventsOfProcessZero(t *testing.T) {
	path := writeTrace(t, map[string]string{
		".otf":      "1:1\n2:2\n",
		".0.def":    "DTR3e8\nDP1NM\"a\"\nDP2NM\"b\"\nDF1G0NM\"f\"\n",
		".1.events": "1\n*1\nE1\n2\n*1\nL1\n2\n*1\n",
		".2.events": "1\n*2\nE1\n2\n*0\nE1\n3\n*0\nL1\n4\n*2\nL1\n4\n*2\n",
		".0.marker": "MD1NM\"m\"Y1\nMS1T0P0V\"all\"\n",
	})
	for _, verb := range [][]string{{"merge", path}, {"filter", "--prune", "--min-duration", "0"}} {
		out := filepath.Join(t.TempDir(), "x.otf")
		weft(t, 0, append(slices.Clone(verb), "-q", path, out)...)
		text := readText(t, strings.TrimSuffix(out, ".otf")+".2.events")
		if want := "2\n*0\nE1\n3\n*0\nL1\n"; !strings.Contains(text, want) {
			t.Errorf("%q: found %q, expected %q in it", verb, text, want)
		}
		if master := readText(t, out); strings.Contains(master, ":0") {
			t.Errorf("%q: found the master file %q, expected none with process 0", verb, master)
		}
	}
}

// TestRepairLeavesMarkersOfTheTrace checks that repair defines no process 0 for markers of the whole trace: it has
// nothing to change.
func TestRepairLeavesMarkersOfTheTrace(t *testing.T) {
	files := map[string]string{
		".otf":      "1:1\n",
		".0.def":    "DTR3e8\nDP1NM\"a\"\nDF1G0NM\"f\"\n",
		".1.events": "1\n*1\nE1\n2\n*1\nL1\n2\n*1\n",
		".0.marker": "MD1NM\"m\"Y1\nMS1T1P0V\"all\"\n",
	}
	path, out := writeTrace(t, files), filepath.Join(t.TempDir(), "x.otf")
	weft(t, 0, "repair", path, out)
	for name, want := range files {
		if got := readText(t, strings.TrimSuffix(out, ".otf")+name); got != want {
			t.Errorf("x%s: found %q, expected %q", name, got, want)
		}
	}
}

// TestLastLineOutOfOrder checks that a last line without a line end becomes an event, and that this event is
// sorted by its time.
func TestLastLineOutOfOrder(t *testing.T) {
	path := writeTrace(t, map[string]string{
		".otf":      "1:1\n",
		".0.def":    "DTR3e8\nDP1NM\"a\"\nDF1G0NM\"f\"\n",
		".1.events": "3\n*1\nE1\n2\n*1\nL1",
	})
	for _, verb := range []string{"states", "print", "comm"} {
		weft(t, 0, verb, "-q", path)
	}
	if text := weft(t, 0, "print", "-q", path); strings.Index(text, "L1") > strings.Index(text, "enter") {
		t.Errorf("print: found the cut-off line at 2 after the event at 3: %s", text)
	}
}

// TestEditsKeepSpelling checks that edits of a compressed trace in the long spelling are compressed and have the long
// spelling, unless options ask for others.
func TestEditsKeepSpelling(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.otf")
	weft(t, 0, "convert", "-q", "--option", "otf.spelling=long", "--option", "otf.level=4", writeTrace(t, localStreams),
		path)
	for i, c := range []struct {
		args, file, begin string
	}{
		{"filter --min-duration 0", ".1.events.z", "\nENTER 1\n"},
		{"cut --from @1ms", ".1.events.z", "\nENTER 1\n"},
		{"merge " + path, ".1.events.z", "\nENTER 1\n"},
		{"filter --min-duration 0 --option otf.level=0", ".1.events", "\nENTER 1\n"},
		{"filter --min-duration 0 --option otf.spelling=short", ".1.events.z", "\nE1\n"},
	} {
		stub := filepath.Join(dir, fmt.Sprint(i))
		weft(t, 0, append(strings.Fields(c.args), "-q", path, stub+".otf")...)
		file := stub + c.file
		if strings.HasSuffix(file, ".z") {
			weft(t, 0, "otf", "decompress", file)
			file = strings.TrimSuffix(file, ".z")
		}
		if text := readText(t, file); !strings.Contains(text, c.begin) {
			t.Errorf("%s: found %q, expected %q in it", c.args, text, c.begin)
		}
	}
}
