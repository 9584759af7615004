package cli

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/trace"
)

// TestLongCollective writes an operation as OTF that one process begins 200 000 events before it ends, and one that
// never ends. The record of the begin must have the operation, its bytes and the number of the end, as otfprint
// shows. otfprofile, which aborts on operations without a kind, must count the calls.
func TestLongCollective(t *testing.T) {
	requireOTFPrint(t)
	r := trace.NewRecorder(trace.TicksPerSecond(1_000_000_000))
	d := r.Defs()
	p, q, work := r.Location("p"), r.Location("q"), r.Region("work")
	set := d.Sets.Add(trace.Set{ID: "0", Name: "w", Kind: "locations", Members: []int64{0, 1}})
	comm := uint64(d.Communicator.Add(trace.Communicator{ID: "0", Name: "w", Set: set, Parent: trace.NoRef}))
	r.Event(p, 1, trace.CollectiveBegin, trace.NoRef, nil)
	now := int64(1)
	for range 100_000 {
		r.Event(q, now+1, trace.Enter, work, nil)
		r.Event(q, now+2, trace.Leave, work, nil)
		now += 2
	}
	r.Event(q, now+1, trace.CollectiveBegin, trace.NoRef, nil)
	const allreduce = 11
	for i, l := range []uint32{p, q} {
		r.Event(l, now+2+int64(i), trace.CollectiveEnd, trace.NoRef, []uint64{allreduce, comm, trace.Undefined, 8, 16})
	}
	r.Event(q, now+4, trace.CollectiveBegin, trace.NoRef, nil)
	r.Event(q, now+5, trace.Enter, work, nil)
	r.Event(q, now+6, trace.Leave, work, nil)
	dir := t.TempDir()
	archive, otf, back := filepath.Join(dir, "x.otf2"), filepath.Join(dir, "x.otf"), filepath.Join(dir, "y.otf2")
	writeRecorded(t, r, archive)
	weft(t, 0, "convert", "-q", archive, otf)
	text := otfprinted(t, otf)
	begins := regexp.MustCompile(`\d+ BeginCollective: process (\d+), collective 11, group \d+, matchingId (\d+), `+
		`root 0, sent 8, received 16`).FindAllStringSubmatch(text, -1)
	ends := regexp.MustCompile(`\d+ EndCollective: process (\d+), matchingId (\d+)`).FindAllStringSubmatch(text, -1)
	if len(begins) != 2 || len(ends) != 2 || begins[0][2] != ends[0][2] || begins[1][2] != ends[1][2] ||
		strings.Count(text, "BeginCollective") != 2 {
		t.Errorf("otfprint shows the begins %q and the ends %q", begins, ends)
	}
	weft(t, 0, "convert", "-q", otf, back)
	if a, b := weft(t, 0, "print", archive), weft(t, 0, "print", back); a != b {
		t.Error("the events differ after the way back")
	}
	profile, err := exec.LookPath("otfprofile")
	if err != nil {
		return
	}
	csv := filepath.Join(dir, "profile")
	if out, err := exec.Command(profile, "--csv", "--notex", "-i", otf, "-o", csv).CombinedOutput(); err != nil {
		t.Fatalf("otfprofile: %v: %s", err, out)
	}
	var calls []string
	for line := range strings.Lines(readText(t, csv+".csv")) {
		if f := strings.Split(line, ";"); f[0] == "COLLOP" && f[1] != "Process" {
			calls = append(calls, strings.Join(f[1:7], ";"))
		}
	}
	if want := []string{"p;ALL2ALL;1;1;8;16", "q;ALL2ALL;1;1;8;16"}; !slices.Equal(calls, want) {
		t.Errorf("otfprofile shows %q, expected %q", calls, want)
	}
}

// TestTextsOfDefinitionsInOTF checks that the loss tables count the names that otfprint and the lines of PICL show
// with blanks instead of quotes and line ends.
func TestTextsOfDefinitionsInOTF(t *testing.T) {
	r := trace.NewRecorder(trace.TicksPerSecond(1000))
	p := r.Location("a\nb")
	for i, name := range []string{`say "x"`, "two\nlines", "plain"} {
		region := r.Region(name)
		r.Event(p, int64(2*i), trace.Enter, region, nil)
		r.Event(p, int64(2*i+1), trace.Leave, region, nil)
	}
	dir := t.TempDir()
	archive := filepath.Join(dir, "x.otf2")
	writeRecorded(t, r, archive)
	for file, count := range map[string]int64{"x.otf": 3, "x.trf": 2} {
		for how, flags := range map[string][]string{"weft only": nil, "degraded": {"--plain", "--allow-loss"}} {
			out := filepath.Join(dir, file)
			text := weft(t, 0, append([]string{"convert", "--json", "--force", archive, out}, flags...)...)
			n := int64(0)
			for _, x := range parseLossRows(t, text) {
				if x.Kind == "text" && string(x.How) == how {
					n += x.Count
				}
			}
			if n != count {
				t.Errorf("%s %q: the table counts %d texts, expected %d: %s", file, flags, n, count, text)
			}
		}
	}
	if text := otfprinted(t, filepath.Join(dir, "x.otf")); text != "" && !strings.Contains(text, `"say  x "`) {
		t.Errorf("otfprint shows %s", text)
	}
}

// TestMergeKeepsRoots merges two OTF traces with the same processes, directly and after a conversion to OTF2.
// OTF states the root of an operation as a process. The processes 1 and 2 of the second trace become 3 and 4, so the
// root 1 of its gather must become 3. In OTF2 it stays rank 0 of a communicator that begins with location 2.
func TestMergeKeepsRoots(t *testing.T) {
	requireOTFPrint(t)
	if _, err := exec.LookPath("otf2-print"); err != nil {
		t.Skip("otf2-print is not installed")
	}
	path := writeTrace(t, map[string]string{
		".otf":   "1:1,2\n",
		".0.def": "DTR3e8\nDP1NM\"a\"\nDP2NM\"b\"\nDPG9M1,2,NM\"w\"\nDCO3NM\"MPI_Gather\"Y3\n",
		".1.events": "1\n*1\nCOPB3H1C9RT1S0R8\n2\n*2\nCOPB3H1C9RT1S8R0\n3\n*2\nCOPE1\n4\n*1\nCOPE1\n" +
			"4\n*1\n",
	})
	dir := t.TempDir()
	archive := filepath.Join(dir, "x.otf2")
	weft(t, 0, "convert", "-q", path, archive)
	for _, in := range []string{path, archive} {
		otf, otf2 := filepath.Join(dir, "m.otf"), filepath.Join(dir, "m.otf2")
		weft(t, 0, "merge", "-q", "--force", in, in, otf)
		begins := regexp.MustCompile(`BeginCollective: process \d+, collective 3, group \d+, matchingId 1, root \d+`).
			FindAllString(otfprinted(t, otf), -1)
		slices.Sort(begins)
		if want := []string{"BeginCollective: process 1, collective 3, group 9, matchingId 1, root 1",
			"BeginCollective: process 2, collective 3, group 9, matchingId 1, root 1",
			"BeginCollective: process 3, collective 3, group 10, matchingId 1, root 3",
			"BeginCollective: process 4, collective 3, group 10, matchingId 1, root 3"}; !slices.Equal(begins, want) {
			t.Errorf("%s: otfprint shows %q, expected %q", in, begins, want)
		}
		weft(t, 0, "merge", "-q", "--force", in, in, otf2)
		printed, _ := runTool(t, otf2, "otf2-print")
		roots := regexp.MustCompile(`Communicator: "w" <\d+>, Root: [^,]*,`).FindAllString(string(printed), -1)
		slices.Sort(roots)
		if want := []string{`Communicator: "w" <1>, Root: 0 ("a" <0>),`, `Communicator: "w" <1>, Root: 0 ("a" <0>),`,
			`Communicator: "w" <2>, Root: 0 ("a" <2>),`, `Communicator: "w" <2>, Root: 0 ("a" <2>),`,
		}; !slices.Equal(roots, want) {
			t.Errorf("%s: otf2-print shows %q, expected %q", in, roots, want)
		}
	}
}

// TestPrunedBarrier checks that a pruned trace keeps the definition of the operation with the token 0, to which its
// events refer. otfprofile aborts on operations that are not defined.
func TestPrunedBarrier(t *testing.T) {
	requireOTFPrint(t)
	dir := t.TempDir()
	path, pruned := filepath.Join(dir, "x.otf"), filepath.Join(dir, "pruned.otf")
	weft(t, 0, "generate", "--plain", "--workload", "phases", "--locations", "3", "--events", "300", path)
	weft(t, 0, "filter", "-q", "--prune", "--location", "1", path, pruned)
	for _, path := range []string{path, pruned} {
		out, _ := runTool(t, path, "otfprint")
		if text := string(out); !strings.Contains(text, `collective 0, name "barrier"`) ||
			!strings.Contains(text, "BeginCollective: process 1, collective 0,") {
			t.Errorf("%s: expected barriers and their definition, otfprint shows\n%s", path, text)
		}
	}
	if profile, err := exec.LookPath("otfprofile"); err == nil {
		out, err := exec.Command(profile, "-i", pruned, "-o", filepath.Join(dir, "profile")).CombinedOutput()
		if err != nil {
			t.Errorf("otfprofile: %v: %s", err, out)
		}
	}
}

// TestRootsInSnapshots adds a snapshot to an OTF trace that weft converted from OTF2, inside of a reduction whose root
// is the first process, and filters the trace. otfprint must show the same open operations as before.
func TestRootsInSnapshots(t *testing.T) {
	requireOTFPrint(t)
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.otf"), filepath.Join(dir, "out.otf")
	weft(t, exitGood, "convert", "../../format/otf2/testdata/ok/heat2d-mt/traces.otf2", in)
	weft(t, exitGood, "otf", "snapshots", "--at", "@1037604733099", in)
	weft(t, exitGood, "filter", "--not-kind", "metric", in, out)
	var open [2][]string
	for i, path := range []string{in, out} {
		printed, _ := runTool(t, path, "otfprint", "--fullkeyvalue")
		open[i] = regexp.MustCompile(`SnapBeginCollop: .*`).FindAllString(string(printed), -1)
	}
	if len(open[0]) != 2 || !strings.Contains(open[0][1], " root 1, ") || !slices.Equal(open[0], open[1]) {
		t.Errorf("found %q, expected the operation of two processes with root 1 in %q", open[1], open[0])
	}
}
