package cli

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/effort"
)

// TestLocks runs a program of POSIX threads under EZTrace. It compares the waits for a mutex, a condition and a
// barrier in the trace with the times that the program has measured itself. A busy machine can stop the program
// between the two measurements, so the test tries several times.
func TestLocks(t *testing.T) {
	effort.Long(t)
	var wrong []string
	for range 4 {
		if wrong = runLocks(t); len(wrong) == 0 {
			return
		}
	}
	t.Error(strings.Join(wrong, "\n"))
}

// runLocks runs the program once and returns a description of each difference.
func runLocks(t *testing.T) (wrong []string) {
	dir, anchor := tracedProgram(t, "locks", 0)
	text, err := os.ReadFile(filepath.Join(dir, "locks.0"))
	if err != nil {
		t.Fatal(err)
	}
	var measured [3]float64
	if _, err := fmt.Sscan(string(text), &measured[0], &measured[1], &measured[2]); err != nil {
		t.Fatal(err)
	}
	var x struct {
		Patterns []struct {
			Pattern string
			Regions []struct {
				Region string
				Time   float64
			}
		}
	}
	if err := json.Unmarshal([]byte(weft(t, 0, "waits", "-q", "--json", anchor)), &x); err != nil {
		t.Fatal(err)
	}
	found := map[string]float64{}
	for _, p := range x.Patterns {
		for _, r := range p.Regions {
			found[p.Pattern+" in "+r.Region] += r.Time / 1e9 // a tick of EZTrace is a nanosecond
		}
	}
	for i, what := range []string{"lock-contention in pthread_mutex_lock", "lock-contention in pthread_cond_wait",
		"wait-at-thread-barrier in pthread_barrier_wait"} {
		if d := math.Abs(found[what] - measured[i]); d > 0.05*measured[i]+0.001 {
			wrong = append(wrong, fmt.Sprintf("%s: found %g s, expected %g s", what, found[what], measured[i]))
		}
	}
	return wrong
}
