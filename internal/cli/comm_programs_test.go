package cli

import (
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/await"
	"github.com/weft-trace/weft/internal/effort"
)

// tracedProgram runs a program of testdata/programs under EZTrace: with a number of ranks, or if that is 0 as a
// program with POSIX threads. It returns the folder in which the program ran and the trace. It skips the test where
// this is not possible.
func tracedProgram(t *testing.T, name string, ranks int) (dir, anchor string) {
	t.Helper()
	if _, err := exec.LookPath("eztrace"); err != nil {
		t.Skip("eztrace is not installed (Debian package eztrace)")
	}
	if ranks == 0 {
		dir = runProgram(t, name, "eztrace", "-t", "pthread", "./"+name)
	} else {
		dir = runProgram(t, name, "mpirun", "--oversubscribe", "-np", strconv.Itoa(ranks), "eztrace", "-t", "openmpi",
			"./"+name)
	}
	anchors, err := filepath.Glob(filepath.Join(dir, "*", "*.otf2"))
	if err != nil || len(anchors) != 1 {
		t.Fatalf("found %v, %v, expected one trace", anchors, err)
	}
	return dir, anchors[0]
}

// runProgram compiles the program with a name in testdata/programs and runs it by a command, in a new folder, which it
// returns. It skips the test if there is no MPI.
func runProgram(t *testing.T, name string, launch ...string) (dir string) {
	t.Helper()
	for tool, pkg := range map[string]string{"mpicc": "libopenmpi-dev", "mpirun": "openmpi-bin"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed (Debian package %s)", tool, pkg)
		}
	}
	source, err := filepath.Abs("testdata/programs/" + name + ".c")
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for _, args := range [][]string{{"mpicc", "-pthread", "-o", name, source}, launch} {
		c := exec.CommandContext(await.Context(t), args[0], args[1:]...)
		c.Dir = dir
		c.Env = append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
		if out, err := c.CombinedOutput(); err != nil {
			if args[0] == "mpicc" {
				t.Fatalf("%v\n%s", err, out)
			}
			t.Skipf("%s does not run here: %v\n%s", args[0], err, out)
		}
	}
	return dir
}

// TestTruth compares a trace of EZTrace with what the traced ranks themselves recorded: the
// messages and operations are the same, and messages take as long as the ranks measured. As the
// clocks of the ranks differ, the test compares times of round trips.
func TestTruth(t *testing.T) {
	effort.Long(t)
	agreeOnce(t, runTruth)
}

// agreeOnce runs a program up to eight times, until each quantity that it measures has agreed once with what weft
// finds in its trace. A busy machine can stop the program between its measurement and the recorded event. run returns
// the difference for each quantity, or an empty string if it agrees.
func agreeOnce(t *testing.T, run func(*testing.T) map[string]string) {
	t.Helper()
	agreed, wrong := map[string]bool{}, map[string]string{}
	for range 8 {
		for quantity, difference := range run(t) {
			wrong[quantity] = difference
			if agreed[quantity] = agreed[quantity] || difference == ""; agreed[quantity] {
				delete(wrong, quantity)
			}
		}
		if len(wrong) == 0 {
			return
		}
	}
	for quantity, difference := range wrong {
		t.Errorf("%s: %s", quantity, difference)
	}
}

// runTruth runs the program once and returns the differences in the times of messages, as agreeOnce expects them.
func runTruth(t *testing.T) map[string]string {
	differences := map[string]string{}
	dir, anchor := tracedProgram(t, "truth", 4)
	sent, took, calls := map[[2]string]traffic{}, map[[2]string]float64{}, map[string]int64{}
	received := int64(0)
	for rank := range 4 {
		text, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("truth.%d", rank)))
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range strings.Split(strings.TrimSpace(string(text)), "\n") {
			switch f := strings.Fields(l); f[0] {
			case "sent":
				sent[[2]string{f[1], f[2]}] = traffic{parseNumber(t, f[3]), parseNumber(t, f[4])}
			case "received":
				s, err := strconv.ParseFloat(f[4], 64)
				if err != nil {
					t.Fatal(err)
				}
				received += parseNumber(t, f[3])
				took[[2]string{f[1], f[2]}] = s / float64(parseNumber(t, f[3]))
			case "calls":
				calls[f[1]] += parseNumber(t, f[2])
			}
		}
	}
	x := commJSON(t, anchor)
	m := x.Messages
	if m.Matched != received || m.Received != received || m.SendsUnmatched+m.ReceivesUnmatched > 0 ||
		m.Latency.Count != received {
		t.Errorf("found %+v, expected %d messages", m, received)
	}
	// EZTrace writes one location for each rank, in the order of ranks.
	rank := func(loc uint32) string { return strconv.Itoa(int(loc)) }
	got, latency := map[[2]string]traffic{}, map[[2]string]float64{}
	ticks, err := strconv.ParseFloat(x.Clock.TicksPerSecond, 64)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range m.Matrix {
		k := [2]string{rank(c.Source), rank(c.Destination)}
		got[k] = traffic{c.Count, int64(c.Bytes)}
		latency[k] = c.Latency.Sum.Float() / float64(c.Latency.Count) / ticks
	}
	if !maps.Equal(got, sent) {
		t.Errorf("found %v, ranks sent %v", got, sent)
	}
	for k, there := range took {
		back := [2]string{k[1], k[0]}
		want, got := there+took[back], latency[k]+latency[back]
		pair := fmt.Sprintf("messages from %s to %s and back", k[0], k[1])
		differences[pair] = ""
		if math.Abs(got-want) > 0.1*want+0.002 {
			differences[pair] = fmt.Sprintf("found %g s, ranks measured %g s", got, want)
		}
	}
	found, operations := map[string]int64{}, int64(0)
	for _, o := range x.Collectives.Operations {
		found[o.Name] += o.Calls
		operations += o.Matched
	}
	if !maps.Equal(found, calls) || operations != 6+5+2*4 { // each half of the ranks takes part in 4 operations of its own
		t.Errorf("found %v in %d operations, ranks did %v", found, operations, calls)
	}
	// With corrected clocks the times of receives are right as well.
	clocks := filepath.Join(dir, "clocks.json")
	weft(t, 0, "align", "-q", "--correction", clocks, anchor)
	x = commJSON(t, "--clock-correction", clocks, anchor)
	early := x.Messages.Early
	for _, o := range x.Collectives.Operations {
		early += o.Early
	}
	if early > 0 || x.Messages.Latency.Min < 0 {
		t.Errorf("%d are early with corrected clocks: %+v", early, x.Messages.Latency)
	}
	return differences
}
