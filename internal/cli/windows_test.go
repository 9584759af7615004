package cli

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/effort"
)

// TestWindows compares the waits of a real program with one-sided communication with the times that its ranks have
// measured themselves. EZTrace does not record windows. So a script writes the records of the ranks with OTF2's
// library, in the way of Score-P. On a busy machine a rank can be late for other reasons, so the test tries again.
func TestWindows(t *testing.T) {
	effort.Long(t)
	var wrong []string
	for range 4 {
		if wrong = runWindows(t); len(wrong) == 0 {
			return
		}
	}
	t.Error(strings.Join(wrong, "\n"))
}

// windowCall is a call that a rank has recorded. Its times are in seconds.
type windowCall struct {
	name       string
	begin, end float64
}

// readWindowCalls reads the calls of a rank.
func readWindowCalls(t *testing.T, path string) (list []windowCall) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var rank, other int
		var begin, end int64
		var x windowCall
		if _, err := fmt.Sscan(line, &rank, &x.name, &begin, &end, &other); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		x.begin, x.end = float64(begin)/1e9, float64(end)/1e9
		list = append(list, x)
	}
	return list
}

// runWindows runs the MPI program once. It returns a description of each wait for which weft waits finds another time
// than the program's own log shows.
func runWindows(t *testing.T) (wrong []string) {
	python := pythonOTF2(t)
	dir := runProgram(t, "windows", "mpirun", "--oversubscribe", "-np", "2", "./windows")
	logs := []string{filepath.Join(dir, "windows.0"), filepath.Join(dir, "windows.1")}
	archive := filepath.Join(dir, "archive")
	c := exec.Command(python, append([]string{"testdata/programs/windows.py", archive}, logs...)...)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var calls [2][]windowCall
	for i := range calls {
		calls[i] = readWindowCalls(t, logs[i])
	}
	// call returns the n-th call of a rank with a name, from 0.
	call := func(rank int, name string, n int) windowCall {
		for _, x := range calls[rank] {
			if x.name == name {
				if n == 0 {
					return x
				}
				n--
			}
		}
		t.Fatalf("rank %d has too few calls of %s", rank, name)
		return windowCall{}
	}
	var x struct {
		Patterns []struct {
			Pattern string
			Worst   []struct{ Time int64 }
		}
	}
	if err := json.Unmarshal([]byte(weft(t, 0, "waits", "-q", "--json", filepath.Join(archive, "traces.otf2"))),
		&x); err != nil {
		t.Fatal(err)
	}
	found := map[string]float64{}
	for _, p := range x.Patterns {
		if len(p.Worst) > 0 {
			found[p.Pattern] = float64(p.Worst[0].Time) / 1e9
		}
	}
	for _, w := range []struct {
		pattern string
		time    float64
	}{
		{"wait-at-rma-create", call(1, "MPI_Win_allocate", 0).begin - call(0, "MPI_Win_allocate", 0).begin},
		{"wait-at-rma-fence", call(1, "MPI_Win_fence", 1).begin - call(0, "MPI_Win_fence", 1).begin},
		{"late-post", call(1, "MPI_Win_post", 0).begin - call(0, "MPI_Win_start", 0).begin},
		{"early-wait", call(0, "MPI_Win_complete", 1).begin - call(1, "MPI_Win_wait", 1).begin},
		// the lock becomes free at the begin of MPI_Win_unlock
		{"rma-lock-contention", call(0, "MPI_Win_unlock", 0).begin - call(1, "MPI_Win_lock", 0).begin},
	} {
		if d := math.Abs(found[w.pattern] - w.time); d > 0.05*w.time+0.001 {
			wrong = append(wrong, fmt.Sprintf("%s: found %g s, expected %g s", w.pattern, found[w.pattern], w.time))
		}
	}
	return wrong
}
