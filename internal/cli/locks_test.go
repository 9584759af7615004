package cli

import (
	"encoding/json"
	"os/exec"
	"regexp"
	"strconv"
	"testing"

	"github.com/weft-trace/weft/internal/await"
	"github.com/weft-trace/weft/internal/effort"
)

// TestLocks runs a program of POSIX threads under EZTrace. It compares the waits for a mutex, a condition and a
// barrier with those that follow from the times that otf2-print writes of the same trace. How long the program has
// really waited is not compared, because a busy machine stops it anywhere.
func TestLocks(t *testing.T) {
	effort.Long(t)
	if _, err := exec.LookPath("otf2-print"); err != nil {
		t.Skip("otf2-print is not installed (Debian package otf2-tools)")
	}
	_, anchor := tracedProgram(t, "locks", 0)
	var x struct {
		Patterns []struct {
			Pattern string
			Regions []struct {
				Region string
				Time   int
			}
		}
	}
	if err := json.Unmarshal([]byte(weft(t, 0, "waits", "-q", "--json", anchor)), &x); err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, p := range x.Patterns {
		for _, r := range p.Regions {
			found[p.Pattern+" in "+r.Region] += r.Time
		}
	}
	within := func(what string, low, high int) {
		t.Helper()
		if found[what] < low || found[what] > high {
			t.Errorf("%s: found %d ns, expected %d to %d ns", what, found[what], low, high)
		}
	}

	calls := printedCalls(t, anchor)
	// Thread 1 is the one that signals: either thread can have the lower number.
	holder, waiter := "1", "2"
	if len(calls["pthread_cond_signal"][waiter]) == 0 {
		holder, waiter = waiter, holder
	}
	barriers := calls["pthread_barrier_wait"]
	if len(barriers[holder]) != 11 || len(barriers[waiter]) != 11 {
		t.Fatalf("otf2-print shows %v, expected 11 barriers in two threads", barriers)
	}
	sum := 0
	for i, a := range barriers[holder] {
		sum += max(a.enter, barriers[waiter][i].enter) - min(a.enter, barriers[waiter][i].enter)
	}
	within("wait-at-thread-barrier in pthread_barrier_wait", sum, sum)

	// Each thread locks the first mutex five times, and then the second mutex once. The program does not make a
	// thread wait for the second mutex, but this may happen.
	locks, unlocks := calls["pthread_mutex_lock"], calls["pthread_mutex_unlock"]
	sum = 0
	for i, lock := range locks[waiter][:5] {
		sum += max(0, min(unlocks[holder][i].enter, lock.leave)-lock.enter)
	}
	within("lock-contention in pthread_mutex_lock", sum, sum+locks[holder][5].duration()+locks[waiter][5].duration())

	low, high := 0, 0
	for _, wait := range calls["pthread_cond_wait"][holder] {
		low = max(0, calls["pthread_cond_signal"][waiter][0].enter-wait.enter)
		high += wait.duration()
	}
	within("lock-contention in pthread_cond_wait", low, high)
}

// printedCall is a call of a region with its times in nanoseconds.
type printedCall struct{ enter, leave int }

func (c printedCall) duration() int { return c.leave - c.enter }

var printedVisit = regexp.MustCompile(`(?m)^(ENTER|LEAVE) +(\d+) +(\d+) +Region: "([^"]*)"`)

// printedCalls returns the calls that otf2-print shows in an archive, by name of the region and by location. Calls of
// one region must not nest.
func printedCalls(t *testing.T, anchor string) map[string]map[string][]printedCall {
	t.Helper()
	out, err := exec.CommandContext(await.Context(t), "otf2-print", anchor).Output()
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string]map[string][]printedCall{}
	for _, m := range printedVisit.FindAllStringSubmatch(string(out), -1) {
		at, err := strconv.Atoi(m[3])
		if err != nil {
			t.Fatal(err)
		}
		locations := calls[m[4]]
		if locations == nil {
			locations = map[string][]printedCall{}
			calls[m[4]] = locations
		}
		if m[1] == "ENTER" {
			locations[m[2]] = append(locations[m[2]], printedCall{enter: at})
		} else if list := locations[m[2]]; len(list) > 0 {
			list[len(list)-1].leave = at
		}
	}
	return calls
}
