package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/weft-trace/weft/internal/await"
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
