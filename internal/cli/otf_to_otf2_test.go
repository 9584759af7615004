package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/format"
)

// TestCountersOfOTF2 checks which counters of an archive have a key-value pair of weft in OTF: only those whose
// event has earlier values. otf2-print shows 36 events of two values each in the archive. On the way back all
// values are restored.
func TestCountersOfOTF2(t *testing.T) {
	archive, otf := "../../format/otf2/testdata/ok/heat2d-mt/traces.otf2", filepath.Join(t.TempDir(), "x.otf")
	weft(t, 0, "convert", "-q", archive, otf)
	got := weft(t, 0, "print", "--kind", "metric", otf)
	if want := weft(t, 0, "print", "--kind", "metric", archive); got != want {
		t.Errorf("the values are\n%s\nexpected\n%s", got, want)
	}
	text, _ := runTool(t, otf, "otfprint", "--fullkeyvalue")
	if text == nil {
		t.Skip("otfprint is not installed")
	}
	all, carried := regexp.MustCompile(`(?m)\d Counter: .*$`).FindAllString(string(text), -1), 0
	for _, l := range all {
		if strings.Contains(l, "KeyValue: ") {
			carried++
		}
	}
	if len(all) != 72 || carried != 36 {
		t.Errorf("otfprint shows %d values and %d pairs, expected 72 and 36", len(all), carried)
	}
}

// TestNativeRecordsOfOTF converts an OTF trace to OTF2, and checks the output of OTF2's own tools. Values of
// counters have no attribute of weft. Overlapping collective operations have their own fields. All markers are
// there, although two of them have the same name, which otf2-marker allows only once in a group. Texts in Latin-1
// are UTF-8, which the readers in Python need.
func TestNativeRecordsOfOTF(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"x.otf": "1:1\n",
		"x.0.def": "DTR3e8\nDP1NM\"p\"\nDPG7M1,NM\"w\"\nDF1G0NM\"MPI_Ialltoall\"\nDCNT1G0NM\"a\"P5U\"#\"\n" +
			"DCNT2G0NM\"b\"P105U\"#\"\nDCO1NM\"MPI_Alltoall\"Y4\nDCO2NM\"MPI_Bcast\"Y2\n",
		"x.1.events": "1\n*1\nCNT1V5\nCNT2V40490fdb\n2\n*1\nCOPB1H5C7RT0S8R9\n3\n*1\nCOPB2H6C7RT1S1R2\n" +
			"#\"\xe4\"\n4\n*1\nCOPE6\n5\n*1\nCOPE5\n5\n*1\n",
		"x.0.marker": "MD1NM\"m\"Y1\nMD2NM\"m\"Y3\nMS1T1P1V\"first\"\nMS2T2P1V\"second \xe4\"\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	otf, archive, back := filepath.Join(dir, "x.otf"), filepath.Join(dir, "y.otf2"), filepath.Join(dir, "z.otf")
	weft(t, 0, "convert", "-q", otf, archive)
	out, _ := runTool(t, archive, "otf2-print", "-A")
	markers, _ := runTool(t, archive, "otf2-marker")
	if out == nil || markers == nil {
		t.Skip("the tools of OTF2 are not installed")
	}
	var got []string
	counter := false // the last event is the value of a counter
	_, events, _ := strings.Cut(string(out), "=== Events")
	for l := range strings.Lines(events) {
		l = regexp.MustCompile(`" <\d+>`).ReplaceAllString(strings.Join(strings.Fields(l), " "), `"`)
		if !strings.HasPrefix(l, "ADDITIONAL") {
			counter = strings.HasPrefix(l, "METRIC ")
		}
		if counter || strings.HasPrefix(l, "MPI_COLLECTIVE_END ") {
			got = append(got, l)
		}
	}
	want := []string{
		`METRIC 0 1 Metric: 0, 1 Value: ("a" <0>; UINT64; 5)`,
		`METRIC 0 1 Metric: 1, 1 Value: ("b" <1>; DOUBLE; 3.14159)`,
		`MPI_COLLECTIVE_END 0 4 Operation: BCAST, Communicator: "w", Root: 0 ("p"), Sent: 1, Received: 2`,
		`MPI_COLLECTIVE_END 0 5 Operation: ALLTOALL, Communicator: "w", Root: NONE, Sent: 8, Received: 9`,
	}
	for i := range want {
		want[i] = regexp.MustCompile(`" <\d+>`).ReplaceAllString(want[i], `"`)
	}
	if !slices.Equal(got, want) {
		t.Errorf("found\n%s\nexpected\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, m := range []string{`Category: "m", Severity: HIGH`, `Category: "m", Severity: LOW`, `"first"`, `"second ä"`} {
		if !strings.Contains(string(markers), m) {
			t.Errorf("otf2-marker does not print %s", m)
		}
	}
	if text, err := exec.Command(pythonOTF2(t), "-c", `import sys; sys.path.append("/usr/lib/python3/dist-packages")
import otf2
with otf2.reader.open(sys.argv[1]) as trace:
    print(sum(1 for _ in trace.events))`, archive).CombinedOutput(); err != nil {
		t.Errorf("otf2 in Python: %v: %s", err, text)
	}
	weft(t, 0, "convert", "-q", archive, back)
	before, _ := runTool(t, otf, "otfprint", "--fullkeyvalue")
	after, _ := runTool(t, back, "otfprint", "--fullkeyvalue")
	for _, kind := range []string{"Counter", "BeginCollective", "EndCollective", "Marker", "DefMarker", "EventComment"} {
		lines := func(text []byte) []string {
			return regexp.MustCompile(`(?m)(\d+ | )`+kind+`: .*$`).FindAllString(string(text), -1)
		}
		if !slices.Equal(lines(before), lines(after)) {
			t.Errorf("after the way back found %q, expected %q", lines(after), lines(before))
		}
	}
}

// TestOldCollectivesOfOTF converts an OTF trace whose collective operations are single records with a duration, as old
// recorders wrote them. OTF2's own tool sees the begin and the end of each operation, in their places among the other
// events, with operation, communicator, root and bytes. The operation comes from the called function, from the name
// of the operation, or at least from its type. weft restores the single records, and finds the same traffic in all
// formats.
func TestOldCollectivesOfOTF(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"x.otf": "1:1\n2:2\n",
		"x.0.def": "DTR3e8\nDP1NM\"p\"\nDP2NM\"q\"\nDPG7M1,2,NM\"w\"\nDF1G0NM\"MPI_Bcast\"\nDF2G0NM\"mine\"\n" +
			"DCO1NM\"one\"Y2\nDCO2NM\"MPI_Allreduce\"Y4\nDCO3NM\"own\"Y3\n",
		"x.1.events": "1\n*1\nE1\nCOP1C7RT2S8R9D4\n5\n*1\nL1\n6\n*1\nE2\nCOP2C7RT0S1R1D2\n" +
			"7\n*1\nCOP3C7RT1S3R4D0\n8\n*1\nL2\n",
		"x.2.events": "2\n*2\nE1\nCOP1C7RT2S8R9D9\n5\n*2\nL1\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	otf, archive := filepath.Join(dir, "x.otf"), filepath.Join(dir, "y.otf2")
	weft(t, 0, "convert", "-q", otf, archive)
	for _, name := range []string{"y.otf2", "y.pallas", "y.etf", "y.trf"} {
		converted, back := filepath.Join(dir, name), filepath.Join(dir, "back-"+name+".otf")
		weft(t, 0, "convert", "-q", otf, converted)
		weft(t, 0, "convert", "-q", converted, back)
		for _, command := range [][]string{{"print"}, {"comm", "--csv"}} {
			want := weft(t, 0, append(command, otf)...)
			for _, path := range []string{converted, back} {
				if got := weft(t, 0, append(command, path)...); got != want {
					t.Errorf("%s of %s: found\n%s\nexpected\n%s", command[0], path, got, want)
				}
			}
		}
	}
	out, _ := runTool(t, archive, "otf2-print", "-A")
	if out == nil {
		t.Skip("otf2-print is not installed")
	}
	var got []string
	_, events, _ := strings.Cut(string(out), "=== Events")
	for l := range strings.Lines(events) {
		f := strings.Fields(regexp.MustCompile(` <\d+>`).ReplaceAllString(l, ""))
		if len(f) > 2 && regexp.MustCompile(`^(ENTER|LEAVE|MPI_)`).MatchString(f[0]) {
			got = append(got, strings.Join(f, " "))
		}
	}
	want := []string{
		`ENTER 0 1 Region: "MPI_Bcast"`,
		`MPI_COLLECTIVE_BEGIN 0 1`,
		`ENTER 1 2 Region: "MPI_Bcast"`,
		`MPI_COLLECTIVE_BEGIN 1 2`,
		`MPI_COLLECTIVE_END 0 5 Operation: BCAST, Communicator: "w", Root: 1 ("q"), Sent: 8, Received: 9`,
		`LEAVE 0 5 Region: "MPI_Bcast"`,
		`LEAVE 1 5 Region: "MPI_Bcast"`,
		`ENTER 0 6 Region: "mine"`,
		`MPI_COLLECTIVE_BEGIN 0 6`,
		`MPI_COLLECTIVE_BEGIN 0 7`,
		`MPI_COLLECTIVE_END 0 7 Operation: GATHER, Communicator: "w", Root: 0 ("p"), Sent: 3, Received: 4`,
		`MPI_COLLECTIVE_END 0 8 Operation: ALLREDUCE, Communicator: "w", Root: NONE, Sent: 1, Received: 1`,
		`LEAVE 0 8 Region: "mine"`,
		`MPI_COLLECTIVE_END 1 11 Operation: BCAST, Communicator: "w", Root: 1 ("q"), Sent: 8, Received: 9`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("found\n%s\nexpected\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestRootOutsideOfCommunicator checks that the loss table counts roots that a conversion from OTF leaves out because
// they are not in the communicator. otf2-print shows such a root as NONE. The root of the other operation is rank 1.
func TestRootOutsideOfCommunicator(t *testing.T) {
	otf := writeTrace(t, map[string]string{
		".otf": "1:1\n",
		".0.def": "DTR3e8\nDP1NM\"p\"\nDP2NM\"q\"\nDP3NM\"r\"\nDPG7M1,2,NM\"w\"\nDF1G0NM\"MPI_Bcast\"\n" +
			"DCO2NM\"MPI_Bcast\"Y2\n",
		".1.events": "1\n*1\nE1\nCOPB2H6C7RT3S0R8\nCOPE6\nCOPB2H7C7RT2S0R8\n2\n*1\nCOPE7\nL1\n2\n*1\n",
	})
	for _, to := range []string{".otf2", ".pallas"} {
		for how, flags := range map[format.Fidelity][]string{format.WeftOnly: nil, format.Lost: {"--plain", "--allow-loss"}} {
			out := filepath.Join(t.TempDir(), "x"+to)
			args := append([]string{"convert", "--json", otf, out}, flags...)
			rows := parseLossRows(t, weft(t, 0, args...))
			if !slices.ContainsFunc(rows, func(r format.LossRow) bool {
				return r.Kind == "collective-end" && r.Field == "root" && r.How == how && r.Count == 1
			}) {
				t.Errorf("to %s %q: no row for the root in %v", to, flags, rows)
			}
			if to != ".otf2" {
				continue
			}
			text, _ := runTool(t, out, "otf2-print")
			roots := regexp.MustCompile(`Root: (\S+)`).FindAllStringSubmatch(string(text), -1)
			if text != nil && (len(roots) != 2 || roots[0][1] != "NONE," || roots[1][1] != "1") {
				t.Errorf("otf2-print shows the roots %q, expected NONE and 1", roots)
			}
		}
	}
}

// TestOperationsOnlyInOTF checks that an operation that OTF2 does not have becomes one of the same kind, as
// otf2-print shows, with a row in the loss table. On the way back the trace has its own operations.
func TestOperationsOnlyInOTF(t *testing.T) {
	otf := writeTrace(t, map[string]string{
		".otf": "1:1\n",
		".0.def": "DTR3e8\nDP1NM\"p\"\nDPG7M1,NM\"w\"\nDCO1NM\"mine\"Y1\nDCO2NM\"two\"Y2\nDCO3NM\"three\"Y3\n" +
			"DCO4NM\"four\"Y4\n",
		".1.events": "1\n*1\nCOPB1H1C7RT0S0R8\nCOPE1\nCOPB2H1C7RT0S0R8\nCOPE1\nCOPB3H1C7RT0S0R8\nCOPE1\n" +
			"COPB4H1C7RT0S0R8\nCOPE1\n1\n*1\n",
	})
	archive := filepath.Join(t.TempDir(), "x.otf2")
	back := filepath.Join(t.TempDir(), "x.otf")
	rows := parseLossRows(t, weft(t, 0, "convert", "--json", otf, archive))
	if !slices.ContainsFunc(rows, func(r format.LossRow) bool {
		return r.Kind == "collective-end" && r.Field == "operation" && r.How == format.WeftOnly && r.Count == 4
	}) {
		t.Errorf("no row for the operations in %v", rows)
	}
	text, _ := runTool(t, archive, "otf2-print")
	if text == nil {
		t.Skip("otf2-print is not installed")
	}
	var got []string
	for _, m := range regexp.MustCompile(`Operation: (\w+)`).FindAllStringSubmatch(string(text), -1) {
		got = append(got, m[1])
	}
	if want := []string{"BARRIER", "BCAST", "GATHER", "ALLTOALL"}; !slices.Equal(got, want) {
		t.Errorf("otf2-print shows %q, expected %q", got, want)
	}
	weft(t, 0, "convert", "-q", archive, back)
	before, after := weft(t, 0, "comm", otf), weft(t, 0, "comm", back)
	if before != after || !strings.Contains(before, "three") {
		t.Errorf("found\n%s\nexpected\n%s", after, before)
	}
}

// TestClassOfOperation checks which operation of OTF2 stands for operations that OTF defines: the one of the same name
// or, if OTF2 has none, the one of the function, unless the class of the operation contradicts that. The loss table
// says what otf2-print does not show. All operations are in MPI_Allreduce, whose class is 4 (all-to-all).
func TestClassOfOperation(t *testing.T) {
	for _, c := range []struct {
		name, class, operation, reason string
	}{
		{"mine", "4", "ALLREDUCE", ""},
		{"mine", "0", "ALLREDUCE", ""},
		{"mine", "2", "BCAST", "another operation of the same kind stands for it"},
		{"MPI_Bcast", "2", "BCAST", ""},
		{"MPI_Allreduce", "4", "ALLREDUCE", ""},
		{"MPI_Allreduce", "2", "ALLREDUCE", "the operation of this name has another class"},
	} {
		otf := writeTrace(t, map[string]string{
			".otf": "1:1\n",
			".0.def": "DTR3e8\nDP1NM\"p\"\nDPG7M1,NM\"w\"\nDFG1NM\"MPI\"\nDF1G1NM\"MPI_Allreduce\"\n" +
				"DCO1NM\"" + c.name + "\"Y" + c.class + "\n",
			".1.events": "1\n*1\nE1\n2\n*1\nCOPB1H1C7RT0S8R8\n3\n*1\nCOPE1\nL1\n3\n*1\n",
		})
		archive := filepath.Join(t.TempDir(), "x.otf2")
		reason := ""
		for _, r := range parseLossRows(t, weft(t, 0, "convert", "--json", otf, archive)) {
			if r.Field == "operation" {
				reason = r.Reason
			}
		}
		if reason != c.reason {
			t.Errorf("%s of class %s: the loss table says %q, expected %q", c.name, c.class, reason, c.reason)
		}
		text, _ := runTool(t, archive, "otf2-print")
		if text == nil {
			t.Skip("otf2-print is not installed")
		}
		if !strings.Contains(string(text), "Operation: "+c.operation+",") {
			t.Errorf("%s of class %s: otf2-print does not show %s\n%s", c.name, c.class, c.operation, text)
		}
	}
}
